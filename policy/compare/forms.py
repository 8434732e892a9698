"""Programs that do no harm as comparisons read them: each way to call one, its expressions read."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property, lru_cache, reduce
from itertools import pairwise
from typing import Final

from policy.commands.knowledge import Files, Program, Shell
from policy.compare.overlap import ODD
from policy.core.values import frozen
from policy.patterns.expressions import (
    ALL,
    ANY_LETTER,
    EMPTY,
    NOTHING,
    Expression,
    both,
    expression,
    literal,
    mask_of,
    then,
    without,
)
from policy.patterns.pattern import Pattern
from policy.patterns.tokens import Gap, Token

__all__ = ["EXPRESSIONS", "OF_OPERANDS", "OF_OPTIONS", "ReadOnlyForm", "is_unchecked", "unvouched"]

# What no plain word holds.
_NEVER: Final = mask_of(" ;&|<>()`$\\{}\"'")
_GLOBS: Final = mask_of("*?[")

# What is said of a word of a program that is an option, and of one that is an operand.
OF_OPTIONS: Final = ("flags", "values", "pairs", "files", "unsafe", "needs")
OF_OPERANDS: Final = ("first", "operands")
EXPRESSIONS: Final = (*OF_OPTIONS, *OF_OPERANDS)


@frozen(eq=False, slots=False)
class ReadOnlyForm:
    """One way to call a program that does no harm, its expressions read.

    Attributes:
        program: what is known of it.
        reads: expressions, by what they are about.
        closed: whether calls that open files are left out.
        quoted: whether words may be in quotes, and hold whatever a shell would act on.
        unchecked: the arguments, with a blank between each two, that nobody vouches for.
    """

    program: Program
    reads: dict[str, Expression]
    closed: bool
    quoted: bool = False
    unchecked: Expression = NOTHING

    @classmethod
    def each(
        cls, program: Program, shell: Shell, *, closed: bool, quoted: bool = False
    ) -> Iterator[ReadOnlyForm]:
        """Yield the forms of a program."""
        for form in (program, *program.forms):
            if form.harmless or form.runs:
                reads = {name: expression(getattr(form, name) or "") for name in EXPRESSIONS}
                if form.runs:
                    piped = (name for name, each in shell.programs.known.items() if each.piped)
                    reads["first"] = literal(piped)
                yield cls(form, reads, closed, quoted, _unchecked(program))

    @property
    def letters(self) -> int:
        """What a word may hold."""
        if self.quoted:
            return ANY_LETTER
        return ANY_LETTER & ~_NEVER & ~(0 if self.program.globs else _GLOBS)

    @cached_property
    def counted(self) -> int:
        """How many operands are told apart: what is the same for all texts is searched once."""
        known = self.program
        if known.most is not None:
            return max(2, known.most)
        opening = self.closed and not (known.reads is known.writes is Files.NONE)
        return 1 if known.first or known.runs or known.leading or opening else 0

    @property
    def lenient(self) -> bool:
        """Whether any word may be an operand, wherever it stands."""
        known = self.program
        return not (self.counted or known.operands or (self.closed and known.removes))

    def opens(self, operands: int) -> bool:
        """Whether the operand behind so many may be a file that it opens."""
        known = self.program
        if Files.NONE is known.reads is known.writes:
            return known.removes
        return operands > 0 or known.reads is not Files.REST or known.writes is not Files.NONE


def _unchecked(program: Program) -> Expression:
    # No word that is read here has a blank.
    return _understood((program.unchecked or "").replace(r"\0", " "))


def _understood(text: str) -> Expression:
    try:
        return expression(text) if text else NOTHING
    except ValueError:  # more is searched then, and what is found is harmful is shown by no command
        return NOTHING


def _alternatives(text: str) -> Iterator[str]:
    """Yield an expression for each alternative of the first group that has some: `a(?:b|c)d`."""
    opened: list[list[int]] = []  # where each open group begins, and its alternatives
    pieces = list(re.finditer(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|\(\?:|.", text, re.DOTALL))
    for piece in pieces:
        match piece.group():
            case "(" | "(?:":
                opened.append([piece.end()])
            case "|" if opened:
                opened[-1].append(piece.end())
            case ")" if opened:
                ends = opened.pop()
                outer = not opened and text[: ends[0]].endswith("(?:")
                if outer and len(ends) > 1 and text[piece.end() : piece.end() + 1] not in _COUNTS:
                    before, behind = text[: ends[0]], text[piece.start() :]
                    for start, end in pairwise((*ends, piece.end())):
                        yield before + text[start : end - 1] + behind
                    return


_COUNTS: Final = frozenset("*+?{")


@lru_cache(maxsize=4096)  # tools and agents share their rules
def is_unchecked(pattern: Pattern, shell: Shell) -> bool:
    """Whether every command that a pattern with stars matches is ambiguous.

    No rule with a star allows such a command. What is not settled within a bound is not
    ambiguous.
    """
    start = pattern.tokens[0] if pattern.tokens else ""
    if pattern.exact or not isinstance(start, str) or not ODD.isdisjoint(start) or "  " in start:
        return False
    name, blank, arguments = start.partition(" ")
    program = shell.programs.known.get(name)
    if program is None or not blank or not all(_is_plain(token) for token in pattern.tokens):
        return False
    asked = _texts((arguments, *pattern.tokens[1:]))
    text = (program.unchecked or "").replace(r"\0", " ")
    # Of several expressions one may be read where all of them together are not.
    return any(
        both((asked, without(_understood(each)))).is_empty(_STATES)
        for each in (text, *_alternatives(text))
    )


def unvouched(command: str, shell: Shell) -> Iterator[str]:
    """Yield *command* with an option that no host vouches for: `find -exec`, `git diff --x`."""
    programs: Mapping[str, Program] = shell.programs.known
    program = None
    for word in command.split():
        known = programs.get(word)
        if known is None:
            break
        program, programs = known, known.subcommands
    if program is None:
        return
    option = _understood(program.unsafe).shortest()
    if option:
        yield f"{command} {option}"
    yield f"{command} --x"


# What is left of expressions that is looked at to see whether one of them is inside the other.
_STATES: Final = 500


def _is_plain(token: Token) -> bool:
    """Whether a token of a pattern without separators is text, or any text."""
    return isinstance(token, str) or token in (Gap.ANY, Gap.PART)


def _texts(tokens: Iterable[Token]) -> Expression:
    """Return the texts of a pattern of plain tokens."""
    parts = (literal((token,)) if isinstance(token, str) else ALL for token in tokens)
    return reduce(then, parts, EMPTY)
