"""Reads the policy files of a session as of one moment, and compiles them."""

from __future__ import annotations

import errno
import os
import stat
import time
from collections.abc import Iterator, Mapping
from itertools import islice

from policy.adapters.hook.store import digest_of
from policy.core import limits
from policy.core.errors import PolicyError
from policy.core.values import Final, frozen

NO_POLICY: Final = "no policy is here: start the session in the folder of the `*.policy` files"

# The files of a user follow those of the project, which win if names are equal.
_USER: Final = "~user"
_MANAGED_NAME: Final = "managed-settings.json"
_SUFFIX: Final = ".policy"

_FILES: Final = 5_000
_DEPTH: Final = 16
_TRIES: Final = 8
# The ticks of the clock of a local file system are 10 ms apart at most.
_TICK_NS: Final = 20_000_000


@frozen
class Places:
    """The places of the files of a session, as absolute paths, or ""."""

    project: str
    home: str = ""
    user: str = ""  # the folder of the user's settings for every project
    managed: str = "/etc/claude-code/managed-settings.json"  # the settings of an administrator

    @classmethod
    def of(cls, environment: Mapping[str, str]) -> Places:
        """Return the places that the host gives in *environment*, or raise PolicyError.

        The folder of the event may be any folder, so it does not count.
        """
        project = environment.get("CLAUDE_PROJECT_DIR") or ""
        home = environment.get("HOME") or ""
        user = environment.get("CLAUDE_CONFIG_DIR") or (home and f"{home}/.claude")
        paths = {"CLAUDE_PROJECT_DIR": project or ".", "HOME": home, "CLAUDE_CONFIG_DIR": user}
        for name, path in paths.items():
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
        """Equal for equal files at equal places."""
        places = (self.places.project, self.places.home, self.places.user)
        texts = [os.fsencode(place) for place in places]
        for path in sorted(self.files):
            texts += (os.fsencode(path), self.files[path])
        return digest_of(texts)

    def compiled(self) -> bytes:
        """Return the compiled policy. Raises PolicyError for no file, or one that is unreadable."""
        # The parsers are loaded here, since no call needs them once the policy is compiled.
        from policy.files.opening import is_unreadable  # noqa: PLC0415
        from policy.files.text import decode  # noqa: PLC0415
        from policy.files.trees import Memory  # noqa: PLC0415
        from policy.hosts import notation  # noqa: PLC0415
        from policy.hosts.claude.front_end import ClaudeFrontEnd  # noqa: PLC0415
        from policy.hosts.claude.options import ClaudeOptions  # noqa: PLC0415
        from policy.hosts.workspace import load_tree  # noqa: PLC0415
        from policy.tables.compiled import compiled_to_json  # noqa: PLC0415

        files, places = dict(self.files), self.places
        if not files:
            raise PolicyError(NO_POLICY, file=places.project)
        user, managed = (
            decode(name, files.pop(name)) if name in files else None
            for name in (f".claude/{_USER}/settings.json", _MANAGED_NAME)
        )
        options = ClaudeOptions(
            mode="default",  # the host itself asks for what its mode asks for
            cwd=places.project.rstrip("/"),
            home=places.home.rstrip("/"),
            unknown_agents=True,  # they have the rights of the agent that starts them
            user=user,
            managed=managed,
        )
        tree = Memory(files, places.project)
        workspace = load_tree(tree, front_ends=(ClaudeFrontEnd(options), notation))
        for found in workspace.findings:
            if is_unreadable(found):
                raise PolicyError(found.message, found.span, help=found.help, file=found.file)
        return compiled_to_json(workspace).encode()


def read_sources(places: Places) -> Sources:
    """Return the files at *places* as they were at one moment, or raise PolicyError.

    The files are read until two readings are equal, since one reading may fall into an edit of
    several files. If a file changed within the last tick of the clock, the next change may show the
    same time, so the files are read again a tick later. A time in the future counts as such.
    """
    last = None
    waited: list[int] = []  # times of change that are at least a tick old
    for _ in range(_TRIES):
        began = time.time_ns()
        try:
            named = list(islice(_named(places), _FILES + 1))
            if len(named) > _FILES:
                msg = f"there are more than {_FILES:,} files of agents"
                raise PolicyError(msg, file=places.project)
            read = {path: content(file, path) for path, file in named}
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


def _named(places: Places) -> Iterator[tuple[str, str]]:
    """Yield the path in messages, and the real path, of each file."""
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
        # The agents of all folders go into one, where the front end reads them.
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
    """Return the names in a folder, sorted; [] if it does not exist."""
    try:
        return sorted(os.listdir(folder))  # noqa: PTH208
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        raise _unreadable(error, folder) from None


def content(file: str, path: str, most: int = limits.FILE_BYTES) -> tuple[bytes, int]:
    """Return the content of *file*, which messages call *path*, and its last change in nanoseconds.

    Raises FileNotFoundError for no file, else PolicyError, also for more than *most* bytes.
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
