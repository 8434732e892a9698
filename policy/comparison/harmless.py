"""The words of a command that does no harm, read letter by letter.

`policy.shell.programs` applies what is known of a program to the words of one command.
Here each word is what is left of the expressions that it may match, and between two words
is all that those before them say of those to come.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property, lru_cache, reduce
from itertools import pairwise
from typing import Final

import attrs

from policy.comparison.overlap import ODD
from policy.dialect import Shell
from policy.patterns.expression_text import expression
from policy.patterns.expressions import (
    ALL,
    ANY_LETTER,
    NOTHING,
    Expression,
    character_of,
    letter_of,
    literal,
    mask_of,
)
from policy.patterns.pattern import Pattern
from policy.programs import Files, Program

__all__ = ["BLANK", "NEVER_FIRST", "SIGNS", "Between", "Form", "Word", "is_unchecked"]

BLANK: Final = letter_of(" ")
SIGNS: Final = frozenset({mask_of("-"), mask_of("+")})

# What no plain word holds, and what none begins with.
_NEVER: Final = mask_of(" ;&|<>()`$\\{}\"'")
NEVER_FIRST: Final = mask_of("=#")
_GLOBS: Final = mask_of("*?[")


@attrs.frozen(eq=False, slots=False)
class Form:
    """One way to call a program that does no harm, its expressions read.

    Attributes:
        program: what is known of it.
        reads: expressions, by what they are about.
        closed: whether calls that open files are left out.
        unchecked: the arguments, with a blank between each two, that nobody vouches for.
    """

    program: Program
    reads: dict[str, Expression]
    closed: bool
    unchecked: Expression = NOTHING

    @classmethod
    def each(cls, program: Program, shell: Shell, *, closed: bool) -> Iterator[Form]:
        """Yield the forms of a program."""
        for form in (program, *program.forms):
            if form.harmless or form.runs:
                reads = {name: expression(getattr(form, name) or "") for name in _EXPRESSIONS}
                if form.runs:
                    piped = (name for name, each in shell.programs.known.items() if each.piped)
                    reads["first"] = literal(piped)
                yield cls(form, reads, closed, _unchecked(program))

    @property
    def letters(self) -> int:
        """What a word may hold."""
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
    """Whether nobody vouches for any command that a pattern with stars matches.

    That is plain where all that may follow its first words leaves them unchecked. No rule
    with a star allows such a command (`policy.shell.doubts`).
    """
    start = pattern.tokens[0] if pattern.tokens else ""
    if pattern.exact or not isinstance(start, str) or not ODD.isdisjoint(start) or "  " in start:
        return False
    name, _, arguments = start.partition(" ")
    program = shell.programs.known.get(name)
    if program is None:
        return False
    text = (program.unchecked or "").replace(r"\0", " ")
    # Of several expressions one may be read where all of them together are not.
    return any(
        reduce(Expression.after, map(letter_of, arguments), _understood(each)) is ALL
        for each in (text, *_alternatives(text))
    )


_OF_OPTIONS: Final = ("flags", "values", "pairs", "files", "unsafe", "needs")
_OF_OPERANDS: Final = ("first", "operands")
_EXPRESSIONS: Final = (*_OF_OPTIONS, *_OF_OPERANDS)
_NO_LEFT: Final = (NOTHING,) * len(_EXPRESSIONS)


@attrs.frozen(cache_hash=True)
class _Option:
    """An option that the next word may belong to.

    Attributes:
        takes: whether any word that begins with no dash does.
        pairs: what a word must be that does in any case.
        known: whether the option does no harm without it.
    """

    takes: bool
    pairs: Expression
    known: bool


@attrs.frozen(cache_hash=True)
class Between:
    """Where a command of a form stands between two words."""

    form: Form
    operands: int = 0
    needed: bool = False
    ended: bool = False
    option: _Option | None = None
    fresh: bool = attrs.field()  # whether no word came yet
    unchecked: Expression = attrs.field()

    @fresh.default
    def _is_told(self) -> bool:
        return bool(self.form.program.subcommands) or self.form.unchecked is not NOTHING

    @unchecked.default
    def _at_first(self) -> Expression:
        return self.form.unchecked

    def accepts(self) -> bool:
        """Whether the command may end here."""
        known = self.form.program
        if self.unchecked.nullable:
            return False
        if known.runs:
            return self.option is None or self.option.known
        return (
            (self.option is None or self.option.known)
            and (self.needed or not known.needs)
            and (self.operands > 0 or not known.first)
            and not (self.form.closed and (known.lists or known.moves))
        )

    def word(self) -> Word:
        """Return the beginning of one more word."""
        reads = self.form.reads
        pairs = NOTHING if self.option is None else self.option.pairs
        typed = "" if self.fresh and self.form.program.subcommands else None
        unchecked = self.unchecked if self.fresh else self.unchecked.after(BLANK)
        return Word(self, tuple(reads[name] for name in _EXPRESSIONS), pairs, "", typed, unchecked)


@attrs.frozen(cache_hash=True)
class Word:
    """A word that has begun: what is left of each expression, and how it begins."""

    before: Between
    left: tuple[Expression, ...]
    pairs: Expression
    start: str
    typed: str | None
    unchecked: Expression

    def after(self, letter: int) -> Word | None:
        """Return the word with one more letter, if it may be harmless."""
        if not self.before.form.letters >> letter & 1:
            return None
        if not self.start and NEVER_FIRST >> letter & 1:
            return None
        character = character_of(letter)
        start = self.start
        if len(start) < 2 or start == "--":
            start += character if character in ("-", "+") else "x"
        typed = None if self.typed is None else self.typed + character
        if typed is not None and not any(
            name.startswith(typed) for name in self.before.form.program.subcommands
        ):
            typed = None
        word = Word(
            self.before,
            tuple(each.after(letter) for each in self.left),
            self.pairs.after(letter),
            start,
            typed,
            self.unchecked.after(letter),
        )
        return word._told() if word.hopes() else None

    def _told(self) -> Word:
        """Return the word without what makes no difference any more."""
        option = self.before.option
        wanted: tuple[str, ...] = _EXPRESSIONS
        if option is not None:
            if option.takes and self.start[0] != "-":
                return attrs.evolve(self, left=_NO_LEFT, pairs=NOTHING)
        elif len(self.start) > 1:
            wanted = _OF_OPTIONS if self.is_option() else _OF_OPERANDS
        left = tuple(
            each if name in wanted else NOTHING
            for name, each in zip(_EXPRESSIONS, self.left, strict=True)
        )
        return self if left == self.left else attrs.evolve(self, left=left)

    def _left(self, name: str) -> Expression:
        return self.left[_EXPRESSIONS.index(name)]

    def is_option(self) -> bool:
        """Whether the word is one, if nothing before it takes it."""
        before = self.before
        inner = before.form.program.runs and before.operands
        return len(self.start) > 1 and self.start[0] in "-+" and not (before.ended or inner)

    def hopes(self) -> bool:
        """Whether what comes may still make it a word of a harmless command."""
        known = self.before.form.program
        if self.before.option is not None or len(self.start) < 2:
            return True
        if self.is_option():
            some = ("flags", "values", "files", "pairs")
            ends = known.ends and self.start == "--"
            return known.flags is None or ends or any(self._left(n) is not NOTHING for n in some)
        wanted = []
        if not self.before.operands and (known.first or known.runs):
            wanted.append("first")
        if known.operands:
            wanted.append("operands")
        return all(self._left(name) is not NOTHING for name in wanted)

    def ended(self) -> Between | None:
        """Return where the command stands behind the word; None where it does harm."""
        before, known = self.before, self.before.form.program
        if not self.start:
            return None
        if (known.subcommands and before.fresh) and (
            self.typed in known.subcommands or self.start[0] != "-"
        ):
            return None  # another program, known or not
        option = before.option
        before = attrs.evolve(before, option=None, fresh=False, unchecked=self.unchecked)
        if option is not None:
            if self.pairs.nullable or (option.takes and self.start[0] != "-"):
                return before
            if not option.known:
                return None
        if self.start == "--" and known.ends and self.is_option():
            return None if known.flags == "" else attrs.evolve(before, ended=True)
        if self.is_option():
            return self._as_option(before)
        return self._as_operand(before)

    def _as_option(self, before: Between) -> Between | None:
        known = before.form.program
        if (known.leading and before.operands) or self._left("unsafe").nullable:
            return None
        files = self._left("files").nullable
        takes = files or self._left("values").nullable
        option: _Option | None = _Option(
            takes and not (files and before.form.closed),
            self._left("pairs").after(BLANK),
            known.flags is None or self._left("flags").nullable,
        )
        if option and option.pairs is NOTHING:
            if not option.takes and not option.known:
                return None
            if option.known and (not option.takes or before.form.lenient):
                option = None
        needed = before.needed or self._left("needs").nullable
        return attrs.evolve(before, option=option, needed=needed)

    def _as_operand(self, before: Between) -> Between | None:
        known, count = before.form.program, before.operands
        if known.runs and count:
            return before
        if known.most is not None and count >= known.most:
            return None
        if not count and (known.first or known.runs) and not self._left("first").nullable:
            return None
        if known.operands and not self._left("operands").nullable:
            return None
        if before.form.closed and before.form.opens(count):
            return None
        return attrs.evolve(before, operands=min(count + 1, before.form.counted))
