"""What rules say of a command that they spell out as a whole: `Bash(make && npm test)`.

As Claude Code 2.1.329 decides. What it takes apart it allows by a rule of the same text, or of
a prefix that is all of it, unless one part alone is not allowed and something asks for that.
What it does not look into only a rule of the same text allows. What is parted by pipes no rule
allows as a whole, and one with a star denies it only where not all of it is allowed. What is
joined otherwise, one with a star denies where the host would ask if it were not for a rule for
all commands, or for a mode: nobody vouches for it, or it opens a file that nothing else allows.
Rules that deny or ask match several commands between two pipes as they match all of a command.
"""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

from policy.effect import Effect
from policy.patterns.automaton import NO_MATCH
from policy.rows.entry import Form
from policy.rows.outcome import BY_DEFAULT, Outcome
from policy.shell.parts import Command, Redirection
from policy.shell.whole import Spelled, Whole

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from policy.rows.row import Row

__all__ = ["with_whole"]


def with_whole(
    row: Row,
    command: Command,
    parts: Sequence[Outcome],
    files: Sequence[tuple[Redirection, Outcome]],
    unchecked: Callable[[], bool],
) -> list[Outcome]:
    """Return the outcomes of which the strictest is what *row* says of a command.

    Args:
        row: of the tool that runs it.
        command: what it was read as.
        parts: what the row says of each of its simple commands.
        files: what it opens, and what is said of that.
        unchecked: whether it opens a file that nothing but what all commands may do allows.

    """
    opened = [outcome for _, outcome in files]
    found, whole = [*parts, *opened], command.whole
    if whole is None:
        return found
    piped = whole.piped
    if row.spellings.joining and piped:
        found += _joined(row, whole, starred=not _is_granted(row, command, parts, opened))
    texts, bare = _texts(row, whole, piped=piped)
    for text in texts:
        index, spelled = row.first(text), row.spellings.exact.get(text, NO_MATCH)
        if index == NO_MATCH:
            continue
        outcome = row.at(index)
        if outcome.effect is not Effect.ALLOW and outcome.reason not in BY_DEFAULT:
            counts = outcome.effect is Effect.DENY or command.opaque
            if piped:
                starred = not _is_granted(row, command, parts, opened)
            else:  # to one with a star what is redirected is no part of it
                told = text is bare or not bare
                starred = told and (whole.doubtful or (all(map(_is_open, parts)) and unchecked()))
            if (counts and index == spelled) or starred:
                found.append(outcome)
        elif text is bare:
            continue  # it allows nothing
        elif row.ruleset.dialect.shell.spanning and outcome.effect is Effect.ALLOW:
            if all(map(_is_open, parts)):
                return [outcome, *opened]
        elif spelled != NO_MATCH and _is_allowed(
            row.entries[spelled].form, whole.spelled, command, parts, files
        ):
            forbidden = [each for each in opened if not _is_open(each)]
            is_verbatim = whole.spelled is Spelled.VERBATIM
            return [row.at(spelled), *(opened if is_verbatim else forbidden)]
    return found


def _texts(row: Row, whole: Whole, *, piped: bool) -> tuple[Sequence[str], str]:
    """Return the texts of a command by which a rule of *row* may speak of all of it.

    And its bare one, which is the last of them where it is another.
    """
    # One with a star may.
    joined = (whole.several or whole.doubtful) and row.spellings.joined
    exact = row.spellings.exact
    if not (piped or row.ruleset.dialect.shell.spanning or joined):
        texts = [text for text in whole.texts if text in exact]
        bare = whole.bare if texts or row.spellings.withheld else ""
        return (*texts, *[bare] * (bare in row.spellings.withheld)), bare
    bare = whole.bare
    return (*whole.texts, bare) if bare else whole.texts, bare


def _joined(row: Row, whole: Whole, *, starred: bool) -> Iterator[Outcome]:
    """Yield what rules say of several commands between pipes, or beside one.

    Rules with a star count where *starred* says so.
    """
    rules = [(index, row.entries[index].pattern) for index in row.spellings.joining]
    for text, (index, pattern) in product(whole.stages, rules):
        if pattern is not None and (starred or pattern.exact) and pattern.matches(text):
            yield row.at(index)


def _is_granted(
    row: Row, command: Command, parts: Sequence[Outcome], opened: Sequence[Outcome]
) -> bool:
    """Return whether all of a command is allowed, and by more than what all commands may do."""
    return all(one.effect is Effect.ALLOW for one in (*parts, *opened)) and all(
        one is not row.default or part.harmless
        for part, one in zip(command.parts, parts, strict=False)
    )


def _is_open(outcome: Outcome) -> bool:
    """Return whether no rule stops what gets *outcome*."""
    return outcome.effect is Effect.ALLOW or outcome.reason in BY_DEFAULT


def _is_allowed(
    form: Form,
    spelled: Spelled,
    command: Command,
    parts: Sequence[Outcome],
    files: Sequence[tuple[Redirection, Outcome]],
) -> bool:
    """Return whether a rule of a *form* allows a command whose parts, and *files*, get these."""
    if spelled is Spelled.APART:
        return False
    asked = [one for one in parts if not _is_open(one)]
    if spelled is Spelled.VERBATIM and (asked or form is not Form.PLAIN):
        return False
    stopped = {
        number
        for number, (part, one) in enumerate(zip(command.parts, parts, strict=False))
        if part.text and one.effect is not Effect.ALLOW
    }
    opened = [
        file
        for file, one in files
        if one.effect is not Effect.ALLOW or (file.writes and file.part in stopped)
    ]
    stopped |= {file.part for file in opened if file.part is not None}
    if any(one.effect is not Effect.ASK for one in asked):
        return False
    if form is Form.PREFIX and any(not file.tool for file in opened):
        return False
    return len(stopped) > 1 or not (asked or opened)
