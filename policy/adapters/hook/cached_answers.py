"""Calls answered from what a full decision of a similar call has stored.

The answer to a call depends on the agent, the folder, the policy and the arguments. Where one
text among the arguments decides, running the automata of a few rows over it is enough. So a full
decision stores these automata and the answer for each of their outcomes, under a digest of
everything else: the files of the policy, this package, the options. They are the automata of the
same rules, loaded without the modules that read and compare rules. For a URL, and for a command
that is cut into parts, it stores the answer itself.

Where anything has changed, or a call needs more than one text, there is no cached answer, and the
call is decided in full.
"""

from __future__ import annotations

import marshal
import os
import sys

from policy.adapters.hook.ancestry import started_by
from policy.adapters.hook.event import SPAWNING, answer_json, read_event
from policy.adapters.hook.sources import Places, content, read_sources
from policy.adapters.hook.store import Store, digest_of, package_digest
from policy.core.limits import COMPILED_BYTES
from policy.core.symlinks import beyond, followed, other_names
from policy.tables.walk import Walk

TYPE_CHECKING = False  # importing `typing` takes too long for a hook
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Final

    from policy.adapters.hook.event import Event, Parts

    # The outcomes of all walks by number -> the effect or "", and the message.
    Answers = dict[tuple[int, ...], tuple[str, Parts]]

__all__ = [
    "TEXTS",
    "NumberedWalk",
    "StoredAnswer",
    "StoredWalks",
    "answers_store",
    "cached_answer",
    "entry_name",
    "file_digest",
    "text_entry_name",
]

_FORM: Final = 2
_KEPT: Final = 1024

# Arguments of which one may decide alone, though its walk gives no outcome.
TEXTS: Final = ("command", "url")


class StoredAnswer:
    """The answer to one command or URL, whatever the other arguments of the call are.

    Attributes:
        effect: of the answer, or "".
        parts: of the message.
        files: that the command opens. A link that leads elsewhere may change the answer.

    """

    __slots__ = ("effect", "files", "parts")

    def __init__(self, effect: str, parts: Parts, files: Sequence[str]) -> None:
        self.effect = effect
        self.parts = parts
        self.files = files

    def packed(self) -> bytes:
        """Return it as bytes, for the same version of Python."""
        return marshal.dumps((self.effect, self.parts, tuple(self.files)))

    @classmethod
    def unpacked(cls, data: bytes) -> StoredAnswer:
        """Return what `packed` gave; *data* must come from the `Store`, which checks its origin."""
        return cls(*marshal.loads(data))  # noqa: S302  # signed

    def answer(self, event: Event, places: Places) -> bytes | None:
        """Return the answer to *event*; None where links lead to other files."""
        project = places.project
        also = other_names(project) if self.files else ()
        for file in self.files:
            if beyond(file, event.cwd, places.home, project, also) is not None:
                return None
        return answer_json(self.effect, event.message(self.parts))


class NumberedWalk:
    """The walk of one row, with equal numbers for outcomes that give the same answer.

    Attributes:
        walk: of one row.
        numbers: the number of each pattern.
        default: the number where no pattern matches.

    """

    __slots__ = ("default", "numbers", "walk")

    def __init__(self, walk: Walk, numbers: Sequence[int], default: int) -> None:
        self.walk = walk
        self.numbers = numbers
        self.default = default

    def number(self, call: Mapping[str, object]) -> int | None:
        """Return the number of the outcome for *call*; None where the walk does not give it."""
        state = self.walk.state(call)
        if state is None or state.plain is None:
            return None
        return self.numbers[state.plain] if state.plain < len(self.numbers) else self.default


class StoredWalks:
    """What decides the calls of one tool by one agent in one folder.

    Attributes:
        walks: of every row that looks at the arguments.
        fields: arguments that are paths.
        answers: by the outcomes of the walks.

    """

    __slots__ = ("answers", "fields", "walks")

    def __init__(
        self, walks: Sequence[NumberedWalk], fields: Iterable[str], answers: Answers
    ) -> None:
        self.walks = walks
        self.fields = fields
        self.answers = answers

    def packed(self) -> bytes:
        """Return it as bytes, for the same version of Python."""
        walks = tuple(
            (each.walk.packed(), tuple(each.numbers), each.default) for each in self.walks
        )
        return marshal.dumps((walks, tuple(sorted(self.fields)), self.answers))

    @classmethod
    def unpacked(cls, data: bytes) -> StoredWalks:
        """Return what `packed` gave; *data* must come from the `Store`, which checks its origin."""
        walks, fields, answers = marshal.loads(data)  # noqa: S302  # signed
        numbered = [
            NumberedWalk(Walk.of(walk), numbers, default) for walk, numbers, default in walks
        ]
        return cls(numbered, fields, answers)

    def answer(self, event: Event, home: str) -> bytes | None:
        """Return the answer to *event*; None where the walks do not give it."""
        event = event.with_agent()
        calls = [event.call]
        real = followed(event.call, self.fields, event.cwd, home)
        if real is not None:
            calls.append(real)
        # A link and its target must have the same outcomes; other calls are decided in full.
        found = {tuple([walk.number(call) for walk in self.walks]) for call in calls}
        answer = self.answers.get(found.pop())  # type: ignore[arg-type]  # no key contains None
        if answer is None or found:
            return None
        effect, parts = answer
        return answer_json(effect, event.message(parts))


def cached_answer(
    options: Sequence[str], environment: Mapping[str, str], data: bytes
) -> bytes | None:
    """Return the answer to the event *data*; None where it must be decided in full.

    Args:
        options: of the hook.
        environment: the variables that the answer depends on.
        data: the event.

    """
    files = _files(options)
    store = answers_store(environment) if files is not None else None
    if files is None or store is None:
        return None
    event, places = read_event(data), Places.of(environment)
    if files:
        paths = [os.path.join(places.project, file) for file in files]  # noqa: PTH118
        digests = [file_digest(path, content(path, path, COMPILED_BYTES)[0]) for path in paths]
    else:
        paths, digests = [], [read_sources(places).digest]
    name = entry_name(options, environment, event, paths, digests)
    if not name:
        return None
    for field in TEXTS:
        text = event.call.get(field)
        if type(text) is not str:
            continue
        found = store.get(text_entry_name(name, field, text))
        if found is not None:
            return StoredAnswer.unpacked(found).answer(event, places)
    found = store.get(name)
    return None if found is None else StoredWalks.unpacked(found).answer(event, places.home)


def answers_store(environment: Mapping[str, str]) -> Store | None:
    """Return the store of cached answers; None where no folder can hold it."""
    return Store.of(environment, "calls", _KEPT)


def _files(options: Sequence[str]) -> list[str] | None:
    """Return the FILE arguments among *options*; None where `options_of` must read them.

    Where `options_of` reads other files, there is no entry for the files returned here.
    """
    files = []
    waiting = iter(options)
    for option in waiting:
        if option in ("--root", "--hash", "--deadline"):
            next(waiting, None)
        elif option.startswith("-") and option != "--resident":
            return None
        elif option != "--resident":
            files.append(option)
    return files


def file_digest(path: str, data: bytes) -> str:
    """Return the digest of a compiled policy and of its path."""
    return digest_of((os.fsencode(path), data))


def text_entry_name(name: str, field: str, text: str) -> str:
    """Return the name of the entry for calls of `entry_name` whose argument *field* is *text*."""
    return digest_of((name.encode(), field.encode(), text.encode("utf-8", "surrogatepass")))


def entry_name(
    options: Sequence[str],
    environment: Mapping[str, str],
    event: Event,
    files: Sequence[str],
    digests: Iterable[str],
) -> str:
    """Return a digest of everything that an answer depends on, except the texts of the call.

    "" where the answer depends on more.

    Args:
        options: of the hook.
        environment: the variables that say where the files are.
        event: the call.
        files: the compiled policies that decide, absolute; none where the project's files do.
        digests: of the files that decide.

    """
    event = event.with_agent()
    agent = event.call["subagent_type"] if event.tool in SPAWNING else ""
    if type(agent) is not str:
        return ""
    project = environment.get("CLAUDE_PROJECT_DIR", "")
    user = environment.get("CLAUDE_CONFIG_DIR") or environment.get("HOME", "") + "/.claude"
    types = started_by(event)
    groups: tuple[Iterable[str], ...] = (
        (str(_FORM), sys.version, package_digest()),
        options,
        (f"{name}={value}" for name, value in sorted(environment.items())),
        (event.tool, event.cwd, event.mode, event.agent_type, agent),
        ("unknown",) if types is None else ("these", *types),
        ("an agent",) if event.agent_id else (),
        (os.path.realpath(path) for path in (project, user, *files)),
        digests,
    )
    return digest_of(
        digest_of(text.encode("utf-8", "surrogatepass") for text in group).encode()
        for group in groups
    )
