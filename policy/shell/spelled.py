"""The texts by which rules know a simple command."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import attrs

from policy.shell.harmless import is_quoted
from policy.shell.readings import (
    as_written,
    is_assignment,
    may_vanish,
    readings,
    shortened,
)
from policy.shell.rewording import reworded
from policy.shell.wrappers import basename

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from policy.shell.words import Word
    from policy.shells import Shell

__all__ = ["Texts", "spelled", "with_text"]

# The text for rules that allow, those for rules that deny, and others for rules that allow.
Texts = tuple[str, tuple[str, ...], tuple[str, ...]]

_NAME: Final = re.compile(r"[\w./+-]+")
_BLANKS: Final = re.compile(r"[ \t]+")


def with_text(fed: str, written: str, known: Sequence[str]) -> Iterator[str]:
    """Yield the texts by which rules that deny know a command that is given a text to read.

    Args:
        fed: the command with that text.
        written: the command without it.
        known: how they know this.

    """
    yield from dict.fromkeys((fed, *(fed.replace(written, each, 1) for each in known)))


def spelled(
    words: Sequence[Word],
    program: Sequence[Word],
    granted: Sequence[Word],
    shell: Shell,
    *,
    anew: bool,
) -> Texts:
    """Return the texts of a command (see `policy.shell.parts.Part`).

    Args:
        words: all of it.
        program: what is behind its wrappers and assignments.
        granted: what is behind those that rules which allow look through.
        shell: what the host knows of commands.
        anew: whether the host puts it together anew (`policy.shell.rewording`).

    """
    text, known, written = _spelled(words, program, granted, shell)
    if anew:
        said = reworded(words, len(words) - len(granted))
        behind = said[len(words) - len(program) :], said[len(words) - len(granted) :]
        known = (*known, " ".join([word.plain for word in granted]))
        text, _, written = _spelled(said, *behind, shell)
    return text, known, written


def _spelled(
    words: Sequence[Word], program: Sequence[Word], granted: Sequence[Word], shell: Shell
) -> Texts:
    text, name = as_written(words), granted[0]
    if (
        len(program) == len(words)
        and name.plain not in shell.wrapping.names
        and basename(name.plain) == name.plain
        and not is_quoted(name)
        and not is_assignment(name)
    ):
        plain = " ".join([word.plain for word in words])
        if not shell.control:
            return text, (() if plain == text else (plain,)), ()
        plain = plain.strip()
        vanishing = shortened(words) if may_vanish(text) else ()
        # Several blanks are one to rules with a star, quoted or not.
        known = dict.fromkeys((plain, _BLANKS.sub(" ", plain), *vanishing))
        return text, (() if [*known] == [text] else tuple(known)), ()
    if shell.control and all(map(is_assignment, words)):
        return "", (), ()  # no command: a rule may spell out all of the text alone
    if shell.control and is_quoted(name) and _NAME.fullmatch(name.plain):
        granted = [attrs.evolve(name, raw=name.plain), *granted[1:]]
    granted_text = as_written(granted)
    named = dict.fromkeys((*readings(words, shell), text))
    named.pop(granted_text, None)
    # Quotes around the program count for a rule that allows only where the command begins with it.
    written = (text,) if shell.control and text != granted_text else ()
    return granted_text, tuple(named), written
