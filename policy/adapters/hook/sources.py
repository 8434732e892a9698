"""The files of the policies of one session as they are at one moment, and compiling them."""

from __future__ import annotations

import errno
import os
import stat
import time
from collections.abc import Iterator, Mapping

from policy.adapters.hook.store import digest_of
from policy.core import limits
from policy.core.errors import PolicyError
from policy.core.values import TYPE_CHECKING, Final, frozen

if TYPE_CHECKING:
    from policy.core.source import Source

__all__ = ["NO_POLICY", "Places", "Sources", "compiled_sources", "content", "read_sources"]

NO_POLICY: Final = "no policy here says what an agent of this host may do"

# Files of a user come behind those of the project, which win where names are equal.
_USER: Final = "~user"
_MANAGED_NAME: Final = "managed-settings.json"
_SUFFIX: Final = ".policy"
_MANAGED: Final = "/etc/claude-code/managed-settings.json"

_FILES: Final = 5_000
_DEPTH: Final = 16
_TRIES: Final = 8
# The clock of a file system stands still between its ticks, 10 ms at most where files are local.
_TICK_NS: Final = 20_000_000


@frozen
class Places:
    """The places of the files of a session.

    Attributes:
        project: the folder of the project, absolute.
        home: the home folder, absolute, or "".
        user: the folder of the user's settings for every project, absolute, or "".
        managed: the settings of an administrator.

    """

    project: str
    home: str = ""
    user: str = ""
    managed: str = _MANAGED

    @classmethod
    def of(cls, environment: Mapping[str, str]) -> Places:
        """Return the places that the host gives in *environment*.

        The event gives the folder of the call, which may be any folder.

        Raises:
            PolicyError: a place is no absolute path.

        """
        project = environment.get("CLAUDE_PROJECT_DIR") or ""
        home = environment.get("HOME") or ""
        user = environment.get("CLAUDE_CONFIG_DIR") or (home and f"{home}/.claude")
        for name, path in (
            ("CLAUDE_PROJECT_DIR", project or "."),
            ("HOME", home),
            ("CLAUDE_CONFIG_DIR", user),
        ):
            if path and not path.startswith("/"):
                raise PolicyError(f"expected an absolute path in `{name}`")
        return cls(project, home, user)

    def below(self, name: str) -> str:
        """Return the path of a file, which may be relative to the project."""
        return os.path.join(self.project, name)  # noqa: PTH118


@frozen
class Sources:
    """Files by path, with a digest of their content and places."""

    places: Places
    files: Mapping[str, bytes]

    @property
    def digest(self) -> str:
        """Equal where the files and the places are equal."""
        places = (self.places.project, self.places.home, self.places.user)
        texts = [os.fsencode(place) for place in places]
        for path in sorted(self.files):
            texts += (os.fsencode(path), self.files[path])
        return digest_of(texts)


def read_sources(places: Places) -> Sources:
    """Return the files at *places* as they were at one moment.

    The files are read until two readings are equal: a reading halfway through an edit of
    several files could hold what no moment held. Where a file changed within the last tick of
    the clock, a change back would show the same time, so the files are read again a tick later.
    The same holds for a time in the future, since then the clock of the file system is ahead.

    Raises:
        PolicyError: a file cannot be read, or the files keep changing.

    """
    last = None
    waited: list[int] = []  # times of change that are at least a tick old
    for _ in range(_TRIES):
        began = time.time_ns()
        try:
            read = {path: content(file, path) for path, file in _counted(places)}
        except FileNotFoundError:
            last = None  # deleted since it was listed
            continue
        if read == last:
            return Sources(places, {path: data for path, (data, _) in read.items()})
        last = read
        changes = [changed for _, changed in read.values()]
        if changes != waited and any(changed >= began - _TICK_NS for changed in changes):
            last, waited = None, changes
            time.sleep(_TICK_NS / 1e9)
    raise PolicyError("the files of the policy change while they are read", file=places.project)


def _counted(places: Places) -> Iterator[tuple[str, str]]:
    for count, (path, file) in enumerate(_named(places)):
        if count >= _FILES:
            raise PolicyError(
                f"there are more than {_FILES:,} files of agents", file=places.project
            )
        yield path, file


def _named(places: Places) -> Iterator[tuple[str, str]]:
    """Yield each file: the path that messages show, and where it is."""
    top = _names(places.project)
    yield from ((name, f"{places.project}/{name}") for name in top if name.endswith(_SUFFIX))
    yield from _folder(f"{places.project}/.claude", ".claude/", ("settings.local.json",))
    if places.user and places.user != f"{places.project}/.claude":
        yield from _folder(places.user, f".claude/{_USER}/", ())
    folder, name = os.path.split(places.managed)
    if name in _names(folder):
        yield _MANAGED_NAME, places.managed


def _folder(folder: str, prefix: str, more: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    names = _names(folder)
    for name in names:
        if name in ("settings.json", *more) or name.endswith(_SUFFIX):
            yield f"{prefix}{name}", f"{folder}/{name}"
    if "agents" in names:
        # In one folder of agents, where the host looks for them.
        inner = f"{prefix.removesuffix(_USER + '/')}agents/"
        inner += f"{_USER}/" if _USER in prefix else ""
        yield from _markdown(f"{folder}/agents", inner, _DEPTH)
    if "skills" in names and _USER not in prefix:
        for skill in _names(f"{folder}/skills"):
            if "SKILL.md" in _names(f"{folder}/skills/{skill}"):
                yield f"{prefix}skills/{skill}/SKILL.md", f"{folder}/skills/{skill}/SKILL.md"


def _markdown(folder: str, prefix: str, depth: int) -> Iterator[tuple[str, str]]:
    if depth == 0:
        raise PolicyError(f"there are more than {_DEPTH} folders in one another", file=prefix)
    for name in _names(folder):
        if name.endswith(".md"):
            yield f"{prefix}{name}", f"{folder}/{name}"
        elif os.path.isdir(f"{folder}/{name}"):  # noqa: PTH112
            yield from _markdown(f"{folder}/{name}", f"{prefix}{name}/", depth - 1)


def _names(folder: str) -> list[str]:
    """Return the names in a folder, sorted; none where there is no such folder."""
    try:
        return sorted(os.listdir(folder))  # noqa: PTH208
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        raise _unreadable(error, folder) from None


def content(file: str, path: str, most: int = limits.FILE_BYTES) -> tuple[bytes, int]:
    """Return the content of a file, and the time of its last change in nanoseconds.

    Args:
        file: where it is.
        path: the path that messages show.
        most: bytes that it may have.

    Raises:
        FileNotFoundError: it does not exist.
        PolicyError: it cannot be read.

    """
    try:
        handle = os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise _unreadable(error, path) from None
    found = os.fstat(handle)
    if not stat.S_ISREG(found.st_mode):
        os.close(handle)
        raise PolicyError("not a file", file=path)
    with os.fdopen(handle, "rb") as stream:
        data = stream.read(most + 1)
    if len(data) > most:
        raise PolicyError(f"the file has more than {most:,} bytes", file=path)
    return data, found.st_ctime_ns


def _unreadable(error: OSError, path: str) -> PolicyError:
    why = (error.strerror or errno.errorcode.get(error.errno or 0, "")).lower()
    return PolicyError(f"cannot be read: {why}", file=path)


# Reading and compiling load the parsers, which no call needs once the policy is compiled.


def compiled_sources(sources: Sources) -> bytes:
    """Return the compiled policy of *sources*.

    Raises:
        PolicyError: a file cannot be read, or there is no file.

    """
    from policy.files.opening import is_unreadable  # noqa: PLC0415
    from policy.files.trees import Memory  # noqa: PLC0415
    from policy.hosts import notation  # noqa: PLC0415
    from policy.hosts.claude import front_end as claude  # noqa: PLC0415
    from policy.hosts.workspace import load_tree  # noqa: PLC0415
    from policy.tables.compiled import compiled_to_json  # noqa: PLC0415

    files = dict(sources.files)
    if not files:
        raise PolicyError(NO_POLICY, file=sources.places.project)
    options = claude.ClaudeOptions(
        # The host itself asks for what its mode asks for.
        mode="default",
        cwd=sources.places.project.rstrip("/"),
        home=sources.places.home.rstrip("/"),
        # Unknown agents have the rights of the agent that starts them.
        unknown_agents=True,
        user=_settings(files, f".claude/{_USER}/settings.json"),
        managed=_settings(files, _MANAGED_NAME),
    )
    tree = Memory(files, sources.places.project)
    workspace = load_tree(tree, front_ends=(claude.ClaudeFrontEnd(options), notation))
    for finding in workspace.findings:
        if is_unreadable(finding):
            raise PolicyError(finding.message, finding.span, help=finding.help, file=finding.file)
    return compiled_to_json(workspace).encode()


def _settings(files: dict[str, bytes], name: str) -> Source | None:
    from policy.files.text import decode  # noqa: PLC0415

    data = files.pop(name, None)
    return None if data is None else decode(name, data)
