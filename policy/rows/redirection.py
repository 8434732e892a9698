"""What a row says of the files that a shell command opens: of each as a call of another tool."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Final

import attrs

from policy.calls import Unreadable, canonical_path, is_within, stranger_path
from policy.decision import Reason
from policy.effect import Effect
from policy.patterns.automaton import NO_MATCH
from policy.patterns.pattern import Pattern
from policy.patterns.tokens import Gap, OneOf
from policy.rows.entry import Form
from policy.rows.file import file_outcome, named_outcome
from policy.rows.outcome import BY_DEFAULT, HARMLESS, Outcome, doubted, guarded, strictness, unsure
from policy.shell.parts import Command, Redirection
from policy.shell.words import in_home

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from policy.rows.row import Row

__all__ = ["denies_files", "is_unchecked", "opened", "redirection_outcome"]


def opened(
    row: Row, command: Command, outcomes: Sequence[Outcome]
) -> Iterator[tuple[Redirection, Outcome]]:
    """Yield the files that a command opens, and what counts of what *row* says of each.

    Args:
        row: the row of the tool that runs it.
        command: its redirections.
        outcomes: what the row says of the rest of it.

    """
    is_whole = (
        row.ruleset.dialect.shell.whole
        and row.default.effect is Effect.ALLOW
        and all(outcome is row.default for outcome in outcomes)
    )
    for redirection in command.redirections:
        outcome = redirection_outcome(row, redirection)
        if redirection.scripted or not (is_whole and outcome.reason in BY_DEFAULT):
            yield redirection, outcome


def is_unchecked(row: Row, file: Redirection, outcomes: Sequence[Outcome]) -> bool:
    """Return whether nothing but what all commands may do allows a file to be opened."""
    shell = row.ruleset.dialect.shell
    if file.scripted or file.again or file.tool == shell.files.removes:
        return False
    if not file.writes:
        found = redirection_outcome(row, file)
        return found.effect is not Effect.ALLOW or (not found.entries and _is_outside(row, file))
    part = file.part if file.tool else None
    if part is not None and part < len(outcomes) and outcomes[part] is not row.default:
        # A rule that allows the command allows it to write what it is given in a working folder.
        return redirection_outcome(row, file).effect is not Effect.ALLOW
    found = redirection_outcome(row, attrs.evolve(file, tool=""))
    by_mode = found.effect is Effect.ALLOW and found.entries and found.reason in BY_DEFAULT
    return not (by_mode or found is HARMLESS)


def _is_outside(row: Row, file: Redirection) -> bool:
    """Return whether a file is in no working folder, so far as its name tells."""
    dialect = row.ruleset.dialect
    if file.target is None or file.shadowed or file.adrift:
        return False
    try:
        path = canonical_path(file.target, dialect)
    except Unreadable:
        return True
    return not is_within(path, dialect)


def redirection_outcome(row: Row, redirection: Redirection) -> Outcome:
    """Return what *row*, of the tool that runs a command, says of a file that this opens."""
    rules = row.ruleset
    if redirection.scripted or redirection.again:
        return _if_denied(row, redirection)
    shell = rules.dialect.shell
    tool = redirection.tool or (shell.files.output if redirection.writes else shell.files.input)
    if not tool:
        return HARMLESS
    files = row.opening(tool)
    if files.constant is not None and not shell.whole:
        return files.constant
    if redirection.shadowed and not denies_files(row, tool):
        return HARMLESS
    if redirection.guarded:
        return guarded(rules)
    if redirection.shadowed:
        return unsure(rules)
    if redirection.adrift and redirection.target is not None:
        return _adrift(files, redirection.target)
    if redirection.target is None:
        # Whichever file it is, what denies every file denies it.
        constant = files.constant
        return constant if constant and constant.effect is Effect.DENY else unsure(rules)
    if files.constant is not None:
        return files.constant
    if redirection.deep:
        return _kept_below(files, redirection.target)
    target = in_home(redirection.target, rules.dialect.home, control=shell.control)
    path, found = named_outcome(files, target)
    return _undenied(files, path, found) if redirection.copied and path is not None else found


def _if_denied(row: Row, redirection: Redirection) -> Outcome:
    """Return what a file gets of which only a rule that denies it counts."""
    found = redirection_outcome(row, attrs.evolve(redirection, scripted=False, again=False))
    if found.effect is not Effect.DENY or found.reason is not Reason.RULE:
        return HARMLESS
    return found if redirection.again else doubted(row.ruleset)


def _undenied(files: Row, path: str, found: Outcome) -> Outcome:
    """Return what is said of a file where no rule that denies counts."""
    if found.effect is not Effect.DENY or found.reason is not Reason.RULE:
        return found
    for index, entry in enumerate(files.entries):
        denies = entry.effect is Effect.DENY and entry.reason is Reason.RULE
        if entry.pattern is not None and not denies and entry.pattern.matches(path):
            return files.at(index)
    return files.default


def _kept_below(files: Row, name: str) -> Outcome:
    """Return what is said of the host's own files in a folder that is moved or removed."""
    dialect = files.ruleset.dialect
    try:
        path = canonical_path(name, dialect)
        kept = [(canonical_path(f, dialect), stranger_path(f, dialect)) for f in dialect.shell.kept]
    except Unreadable:
        return unsure(files.ruleset)
    found = [
        file_outcome(files, *paths) for paths in kept if (paths[0] + "/").startswith(path + "/")
    ]
    return min(found, key=strictness, default=HARMLESS)


def denies_files(row: Row, tool: str) -> bool:
    """Return whether a rule denies some file, or every one, as a call of *tool*."""
    shadows = row.ruleset.dialect.shell.files.shadows
    any_file = row.ruleset.row(shadows) if shadows else row
    entries = row.ruleset.row(tool).entries + (any_file.entries if shadows else ())
    said = {(entry.effect, entry.reason) for entry in entries}
    said.add((any_file.default.effect, any_file.default.reason))
    return (Effect.DENY, Reason.RULE) in said


def _adrift(files: Row, name: str) -> Outcome:
    """Return what a rule says that denies a file of this name in a folder that it names."""
    name = _UP.sub("", name)
    for entry in files.entries:
        if entry.effect is not Effect.DENY or entry.pattern is None or name in _HERE:
            continue
        for folder in _folders(entry.pattern, deep=entry.form is Form.WITHIN):
            try:
                path = canonical_path(f"{folder}/{name}", files.ruleset.dialect)
            except Unreadable:
                continue
            index = files.first(path)
            found = files.default if index == NO_MATCH else files.at(index)
            if found.effect is Effect.DENY and found.reason is Reason.RULE:
                return found
    return HARMLESS


_HERE: Final = frozenset({"", ".", ".."})
_UP: Final = re.compile(r"(?:\.{0,2}/)*")


@lru_cache(maxsize=256)
def _folders(pattern: Pattern, *, deep: bool) -> tuple[str, ...]:
    """Return the folders that a rule about paths names on the way to what it matches.

    One that is *deep* speaks of what is in the last of them.
    """
    found: list[str] = []
    for each in pattern.spelled_out:
        text = ""
        for token in each.tokens:
            if isinstance(token, str):
                text += token
            elif isinstance(token, OneOf):
                text += "q" if token.negated else min(token.characters)
            elif token is not Gap.DEEP:
                text += "q7z"
        text += "/" * deep
        names = text.split("/")
        found += ("/".join(names[:number]) for number in range(1, len(names)))
    return tuple(found)
