"""Calls decided by what an earlier process left behind.

What a call gets depends on who makes it, where, on the policy, and on the arguments. Where one
text among these decides, all that is left to do is to walk the patterns of a few rows. So a
process that decided a call of a tool leaves these walks, and the answers to which they lead,
under a digest of everything else: the files of the policy, this package, the options. It is
the same walk, of the same patterns, loaded without what rules are read and compared with.
Of a command that had to be taken apart, and of a URL, it leaves the answer.

Where anything is not as it was, or more must be known of a call, nothing is found here, and
the call is decided at length.
"""

from __future__ import annotations

import marshal
import os
import sys

from policy.adapters.hook.answers import joined, printed
from policy.adapters.hook.build import build
from policy.adapters.hook.cache import Cache
from policy.adapters.hook.digest import digest_of
from policy.adapters.hook.event import SPAWNING, read_event
from policy.adapters.hook.sources import Places, content, read_sources
from policy.adapters.hook.spawned import started_by
from policy.core.limits import COMPILED_BYTES
from policy.core.symlinks import beyond, followed, other_names
from policy.tables.walk import Walk

TYPE_CHECKING = False  # `typing` takes longer to import than a hook has
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Final

    from policy.adapters.hook.answers import Parts
    from policy.adapters.hook.event import Event

    # Of the numbers that the walks come to: the effect or "", and the message.
    Answers = dict[tuple[int, ...], tuple[str, Parts]]

__all__ = [
    "TEXTS",
    "KnownAnswer",
    "Numbered",
    "StoredWalk",
    "answered",
    "file_digest",
    "kept_calls",
    "name_of",
    "text_name",
]

_FORM: Final = 2
_KEPT: Final = 1024

# Arguments of which one may decide alone, though a walk of it does not tell how.
TEXTS: Final = ("command", "url")


class KnownAnswer:
    """The answer to one command or URL, which does not depend on the other arguments of the call.

    Attributes:
        effect: of the answer, or "".
        parts: of the message.
        files: that the command opens. Where links lead elsewhere, another answer may hold.

    """

    __slots__ = ("effect", "files", "parts")

    def __init__(self, effect: str, parts: Parts, files: Sequence[str]) -> None:
        self.effect = effect
        self.parts = parts
        self.files = files

    def written(self) -> bytes:
        """Return it as bytes, for this very Python."""
        return marshal.dumps((self.effect, self.parts, tuple(self.files)))

    @classmethod
    def read(cls, data: bytes) -> KnownAnswer:
        """Return what `written` gave: *data* must be known to come from there."""
        return cls(*marshal.loads(data))  # noqa: S302  # `Cache` checked whose it is

    def answer(self, event: Event, places: Places) -> bytes | None:
        """Return what answers *event*; None where links lead to other files."""
        project = places.project
        also = other_names(project) if self.files else ()
        for file in self.files:
            if beyond(file, event.cwd, places.home, project, also) is not None:
                return None
        return printed(self.effect, joined(self.parts, event))


class Numbered:
    """A walk, and a number for each pattern of it: equal where the answers are.

    Attributes:
        walk: of one row.
        kinds: of each pattern its number.
        default: the same where no pattern matches.

    """

    __slots__ = ("default", "kinds", "walk")

    def __init__(self, walk: Walk, kinds: Sequence[int], default: int) -> None:
        self.walk = walk
        self.kinds = kinds
        self.default = default

    def kind(self, call: Mapping[str, object]) -> int | None:
        """Return the number of what decides *call*; None where more must be known of it."""
        state = self.walk.state(call)
        if state is None or state.plain is None:
            return None
        return self.kinds[state.plain] if state.plain < len(self.kinds) else self.default


class StoredWalk:
    """What decides the calls of one tool, made by one agent in one folder.

    Attributes:
        walks: of every row that looks at the arguments.
        fields: arguments that are paths.
        answers: by what the walks come to.

    """

    __slots__ = ("answers", "fields", "walks")

    def __init__(self, walks: Sequence[Numbered], fields: Iterable[str], answers: Answers) -> None:
        self.walks = walks
        self.fields = fields
        self.answers = answers

    def written(self) -> bytes:
        """Return it as bytes, for this very Python."""
        walks = tuple((each.walk.packed(), tuple(each.kinds), each.default) for each in self.walks)
        return marshal.dumps((walks, tuple(sorted(self.fields)), self.answers))

    @classmethod
    def read(cls, data: bytes) -> StoredWalk:
        """Return what `written` gave: *data* must be known to come from there."""
        walks, fields, answers = marshal.loads(data)  # noqa: S302  # `Cache` checked whose it is
        numbered = [Numbered(Walk.of(walk), kinds, default) for walk, kinds, default in walks]
        return cls(numbered, fields, answers)

    def answer(self, event: Event, home: str) -> bytes | None:
        """Return what answers *event*; None where more must be known of its call."""
        event = event.named()
        calls = [event.call]
        real = followed(event.call, self.fields, event.cwd, home)
        if real is not None:
            calls.append(real)
        # What a path leads to is judged as well. Where that is not the same it is not for here.
        found = {tuple([walk.kind(call) for walk in self.walks]) for call in calls}
        answer = self.answers.get(found.pop())  # type: ignore[arg-type]  # None leads to none
        if answer is None or found:
            return None
        effect, parts = answer
        return printed(effect, joined(parts, event))


def answered(arguments: Sequence[str], environment: Mapping[str, str], data: bytes) -> bytes | None:
    """Return what answers the event *data*; None where it must be decided at length.

    Args:
        arguments: of the hook, as they were given.
        environment: the variables that it depends on.
        data: the event.

    """
    files = _files(arguments)
    cache = kept_calls(environment) if files is not None else None
    if files is None or cache is None:
        return None
    event, places = read_event(data), Places.of(environment)
    if files:
        paths = [os.path.join(places.project, file) for file in files]  # noqa: PTH118
        digests = [file_digest(path, content(path, path, COMPILED_BYTES)[0]) for path in paths]
    else:
        paths, digests = [], [read_sources(places).digest]
    name = name_of(arguments, environment, event, paths, digests)
    if not name:
        return None
    for field in TEXTS:
        text = event.call.get(field)
        if type(text) is str and (kept := cache.get(text_name(name, field, text))) is not None:
            return KnownAnswer.read(kept).answer(event, places)
    kept = cache.get(name)
    return None if kept is None else StoredWalk.read(kept).answer(event, places.home)


def text_name(name: str, field: str, text: str) -> str:
    """Return the name of what is known where the argument *field* is *text*, besides all else."""
    return digest_of((name.encode(), field.encode(), text.encode("utf-8", "surrogatepass")))


def kept_calls(environment: Mapping[str, str]) -> Cache | None:
    """Return where what decides calls is kept; None where they cannot be."""
    return Cache.of(environment, "calls", _KEPT)


def _files(arguments: Sequence[str]) -> list[str] | None:
    """Return the files that decide, as `options_of` reads them; None where it must be asked.

    Were it to read others, they would have left nothing under the name of these.
    """
    files = []
    waiting = iter(arguments)
    for argument in waiting:
        if argument in ("--root", "--hash", "--deadline"):
            next(waiting, None)
        elif argument.startswith("-") and argument != "--resident":
            return None
        elif argument != "--resident":
            files.append(argument)
    return files


def file_digest(path: str, data: bytes) -> str:
    """Return the digest of a compiled policy and of where it is."""
    return digest_of((os.fsencode(path), data))


def name_of(
    arguments: Sequence[str],
    environment: Mapping[str, str],
    event: Event,
    files: Sequence[str],
    digests: Iterable[str],
) -> str:
    """Return a digest of all that an answer depends on besides what the walks look at.

    "" where it depends on more.

    Args:
        arguments: of the hook, which say what decides and whom.
        environment: the variables that say where everything is.
        event: the call.
        files: the compiled policies that decide, absolute; none where those of the project do.
        digests: of what decides.

    """
    event = event.named()
    agent = event.call["subagent_type"] if event.tool in SPAWNING else ""
    if type(agent) is not str:
        return ""
    project = environment.get("CLAUDE_PROJECT_DIR", "")
    user = environment.get("CLAUDE_CONFIG_DIR") or environment.get("HOME", "") + "/.claude"
    types = started_by(event)
    groups: tuple[Iterable[str], ...] = (
        (str(_FORM), sys.version, build()),
        arguments,
        (f"{name}={value}" for name, value in sorted(environment.items())),
        (event.tool, event.cwd, event.mode, event.agent_type, agent),
        ("somebody",) if types is None else ("these", *types),
        ("an agent",) if event.agent_id else (),
        (os.path.realpath(path) for path in (project, user, *files)),
        digests,
    )
    return digest_of(
        digest_of(text.encode("utf-8", "surrogatepass") for text in group).encode()
        for group in groups
    )
