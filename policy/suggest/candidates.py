"""Rules for calls that were made: each call by itself, or several by what they share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Final

import attrs

from policy.calls import Unreadable, argument_text
from policy.dialect import ArgumentKind, Dialect
from policy.effect import Effect
from policy.language.syntax import Matcher, specifier
from policy.shell.commands import read_command
from policy.shell.words import in_home
from policy.source import Source
from policy.suggest.usage import Call

__all__ = ["NOWHERE", "Candidate", "candidates", "exact", "matcher_of"]

# Where a rule that nobody wrote stands.
NOWHERE: Final = Source("suggested", "").whole()


def matcher_of(tool: str, text: str | None = None) -> Matcher:
    """Return the matcher of *tool*, with *text* as its specifier."""
    return Matcher(tool, None if text is None else specifier(tool, text), span=NOWHERE)


@attrs.frozen
class Candidate:
    """A rule that may be proposed.

    Attributes:
        effect: what it says.
        matcher: what it matches.
        texts: what it was made of: arguments, as rules speak of them.
        tool: of the calls.

    """

    effect: Effect
    matcher: Matcher
    texts: tuple[str, ...] = attrs.field(eq=False)
    tool: str = attrs.field(eq=False)

    @property
    def is_wide(self) -> bool:
        """Whether it may match calls that were not made."""
        return len(self.texts) > 1


def candidates(calls: Iterable[Call], dialect: Dialect, least: int) -> Iterator[Candidate]:
    """Yield the rules for calls of one agent.

    Args:
        calls: that were made.
        dialect: how they are read.
        least: how many distinct calls have to share a beginning, or a folder,
            before one rule is made of it.

    """
    used: dict[tuple[str, Effect], set[str | None]] = {}
    for call in calls:
        for tool, text in _units(call, dialect):
            used.setdefault((tool, call.effect), set()).add(text)
    for (tool, effect), found in sorted(used.items(), key=str):
        texts = sorted(text for text in found if text is not None)
        if None in found:
            yield Candidate(effect, matcher_of(tool), (), tool)
            continue
        kind = dialect.argument(tool).kind
        for pattern, members in _groups(texts, kind, least):
            yield from _written(tool, effect, kind, pattern, members)


def exact(candidate: Candidate, dialect: Dialect) -> Iterator[Candidate]:
    """Yield a rule for each of the calls that *candidate* was made of."""
    kind = dialect.argument(candidate.tool).kind
    for text in candidate.texts:
        yield from _written(candidate.tool, candidate.effect, kind, "", (text,))


def _units(call: Call, dialect: Dialect) -> Iterator[tuple[str, str | None]]:
    """Yield what rules have to speak of for *call*: its argument, or the parts of a command."""
    tool = dialect.canonical(call.tool)
    argument = dialect.argument(tool)
    if not call.arguments:
        yield tool, None
        return
    here = attrs.evolve(dialect, cwd=call.cwd or dialect.cwd, fold=False)
    try:
        text = argument_text(argument, here, call.arguments)
    except Unreadable:
        yield tool, None
        return
    if argument.kind is ArgumentKind.PATH and f"{text}/".startswith(f"{here.cwd}/"):
        text = dialect.cwd + text.removeprefix(here.cwd)
    if argument.kind is ArgumentKind.COMMAND:
        command = read_command(text, dialect.shell)
        for part in command.parts:
            yield tool, part.text
        tools = dialect.shell.files
        for file in command.redirections:
            opens = file.tool or (tools.output if file.writes else tools.input)
            if file.target is not None and opens and opens not in tools.inner:
                name = in_home(file.target, dialect.home, control=dialect.shell.control)
                arguments: dict[str, object] = {dialect.argument(opens).fields[0]: name}
                yield from _units(attrs.evolve(call, tool=opens, arguments=arguments), dialect)
    else:
        yield tool, text if _speaks(argument.kind) else None


def _speaks(kind: ArgumentKind) -> bool:
    return kind in {ArgumentKind.TEXT, ArgumentKind.PATH, ArgumentKind.URL, ArgumentKind.LENIENT}


_Group = tuple[str, tuple[str, ...]]


def _groups(texts: list[str], kind: ArgumentKind, least: int) -> Iterator[_Group]:
    """Yield a pattern, or "" for the text itself, and the texts it is made of."""
    match kind:
        case ArgumentKind.COMMAND:
            yield from _merged([("", (text,)) for text in texts], _beginning, least)
        case ArgumentKind.PATH:
            groups: list[_Group] = [("", (text,)) for text in texts]
            known: list[_Group] = []
            while groups != known:  # folders share a folder in turn
                known, groups = groups, list(_merged(groups, _folder, least))
            yield from _absorbed(groups)
        case _:
            yield from (("", (text,)) for text in texts)


def _merged(groups: list[_Group], shared: Callable[[str], str], least: int) -> Iterator[_Group]:
    """Yield *groups*, those that share a pattern as one where there are enough of them."""
    by_pattern: dict[str, list[_Group]] = {}
    for pattern, texts in groups:
        by_pattern.setdefault(shared(pattern or texts[0]), []).append((pattern, texts))
    for pattern, members in by_pattern.items():
        if pattern and len(members) >= least:
            yield pattern, tuple(text for _, texts in members for text in texts)
        else:
            yield from members


def _absorbed(groups: list[_Group]) -> Iterator[_Group]:
    """Yield *groups* of paths, without those that lie in the folder of another."""
    folders = sorted({pattern.removesuffix("**") for pattern, _ in groups if pattern}, key=len)
    inside: dict[str, list[str]] = {}
    for pattern, texts in groups:
        path = pattern.removesuffix("**") or texts[0]
        around = next((folder for folder in folders if path.startswith(folder)), "")
        inside.setdefault(around and f"{around}**", []).extend(texts)
    for pattern, members in inside.items():
        if pattern:
            yield pattern, tuple(members)
        else:
            yield from (("", (text,)) for text in members)


def _folder(path: str) -> str:
    """Return ``/@project/src/**`` for what lies in that folder; "" for the project's own."""
    folder, _, name = path.removesuffix("/**").rpartition("/")
    return f"{folder}/**" if name and folder.count("/") > 1 else ""


def _beginning(text: str) -> str:
    """Return ``git diff *`` for ``git diff HEAD``: a program with what it is told to do."""
    words = text.split(" ")
    if len(words) < 2 or not words[1].isidentifier() or not words[0].isascii():
        return ""
    return f"{words[0]} {words[1]} *"


def _written(
    tool: str, effect: Effect, kind: ArgumentKind, pattern: str, texts: tuple[str, ...]
) -> Iterator[Candidate]:
    told = _path(pattern or texts[0]) if kind is ArgumentKind.PATH else pattern or texts[0]
    if kind is ArgumentKind.URL:
        told = f"domain:{told}"
    special = _GLOBS if kind is ArgumentKind.PATH else "*"
    if not told.strip() or any(character in text for text in texts for character in special):
        return  # as a pattern it would match other calls
    yield Candidate(effect, matcher_of(tool, told), texts, tool)


# What means more than itself in the pattern of a path.
_GLOBS = "*?[]\\!#"


def _path(text: str) -> str:
    """Return a path as rules write it: from the project, the home folder or the root."""
    for anchor, written in (("/@project/", "/"), ("/@home/", "~/")):
        if text.startswith(anchor):
            return written + text.removeprefix(anchor)
    return f"/{text}"
