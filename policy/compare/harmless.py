"""The words of a command that does no harm, read letter by letter.

The reader of a host applies what is known of a program to the words of one command.
Here each word is what is left of the expressions that it may match, and between two words
is all that those before them say of those to come.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from policy.compare.forms import EXPRESSIONS, OF_OPERANDS, OF_OPTIONS, ReadOnlyForm
from policy.core.values import Factory, evolve, field, frozen
from policy.patterns.expressions import NOTHING, Expression, character_of, letter_of, mask_of

__all__ = ["BLANK", "NEVER_FIRST", "SIGNS", "Between", "PartialWord"]

BLANK: Final = letter_of(" ")
SIGNS: Final = frozenset({mask_of("-"), mask_of("+")})

# What no plain word begins with.
NEVER_FIRST: Final = mask_of("=#")

_NO_LEFT: Final = (NOTHING,) * len(EXPRESSIONS)


@frozen(cache_hash=True)
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


@frozen(cache_hash=True)
class Between:
    """Where a command of a form stands between two words."""

    form: ReadOnlyForm
    operands: int = 0
    needed: bool = False
    ended: bool = False
    option: _Option | None = None
    # Whether no word came yet, where that is told.
    fresh: bool = field(default=Factory(lambda it: _is_told(it.form), takes_self=True))
    unchecked: Expression = field(default=Factory(lambda it: it.form.unchecked, takes_self=True))

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

    def word(self) -> PartialWord:
        """Return the beginning of one more word."""
        reads = self.form.reads
        pairs = NOTHING if self.option is None else self.option.pairs
        typed = "" if self.fresh and self.form.program.subcommands else None
        unchecked = self.unchecked if self.fresh else self.unchecked.after(BLANK)
        return PartialWord(
            self, tuple(reads[name] for name in EXPRESSIONS), pairs, "", typed, unchecked
        )


def _is_told(form: ReadOnlyForm) -> bool:
    return bool(form.program.subcommands) or form.unchecked is not NOTHING


@frozen(cache_hash=True)
class PartialWord:
    """A word that has begun: what is left of each expression, and how it begins."""

    before: Between
    left: tuple[Expression, ...]
    pairs: Expression
    start: str
    typed: str | None
    unchecked: Expression

    def after(self, letter: int) -> PartialWord | None:
        """Return the word with one more letter, if it may be harmless."""
        if not self.before.form.letters >> letter & 1:
            return None
        if not self.start and NEVER_FIRST >> letter & 1 and not self.before.form.quoted:
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
        word = PartialWord(
            self.before,
            tuple(each.after(letter) for each in self.left),
            self.pairs.after(letter),
            start,
            typed,
            self.unchecked.after(letter),
        )
        return word._told() if word.hopes() else None

    def _told(self) -> PartialWord:
        """Return the word without what makes no difference any more."""
        option = self.before.option
        wanted: tuple[str, ...] = EXPRESSIONS
        if option is not None:
            if option.takes and self.start[0] != "-":
                return evolve(self, left=_NO_LEFT, pairs=NOTHING)
        elif len(self.start) > 1:
            wanted = OF_OPTIONS if self.is_option() else OF_OPERANDS
        left = tuple(
            each if name in wanted else NOTHING
            for name, each in zip(EXPRESSIONS, self.left, strict=True)
        )
        return self if left == self.left else evolve(self, left=left)

    def _left(self, name: str) -> Expression:
        return self.left[EXPRESSIONS.index(name)]

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
        return all(self._left(name) is not NOTHING for name in self._wanted())

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
        before = evolve(before, option=None, fresh=False, unchecked=self.unchecked)
        if option is not None:
            if self.pairs.nullable or (option.takes and self.start[0] != "-"):
                return before
            if not option.known:
                return None
        if self.start == "--" and known.ends and self.is_option():
            return None if known.flags == "" else evolve(before, ended=True)
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
        needs = bool(known.needs) and self._left("needs").nullable
        if known.once and needs and before.needed:
            return None
        needed = before.needed or needs
        return evolve(before, option=option, needed=needed)

    def _wanted(self) -> Iterator[str]:
        """Yield the expressions that the word must match as an operand."""
        known, leads = self.before.form.program, not self.before.operands
        if leads and (known.first or known.runs):
            yield "first"
        if known.operands and not (leads and known.first):
            yield "operands"

    def _as_operand(self, before: Between) -> Between | None:
        known, count = before.form.program, before.operands
        if known.runs and count:
            return before
        if known.most is not None and count >= known.most:
            return None
        if not all(self._left(name).nullable for name in self._wanted()):
            return None
        if before.form.closed and before.form.opens(count):
            return None
        return evolve(before, operands=min(count + 1, before.form.counted))
