"""Commands of one tool as two lookups decide them: by their text exactly, else on samples.

A row answers a match text with the effect of the first rule that matches it, or with none. Which
pairs of answers two rows give to some text is searched exactly (`_Answers`). What a row says of a
command is a fold over such answers: that of the text which rules that allow match, those of the
further match texts of each simple command, the parts of the command, and the files it opens.

`_Fold` folds pairs of answers instead, one of each row. It lets any texts stand together in one
command, with two exceptions: only a text that a wrapper, a path, an assignment or a quote may begin
has further match texts (`may_unwrap`), and where a rule spells out a program or an option that no
read-only command has, it matches none. Every command is taken to have each property that a row may
look at: ambiguous, read-only, in the background. So if both rows read commands alike, a change that
the fold does not return does not happen. If they do not, `policy.compare.compare` says so.

Of several rows on a side the strictest decides. A change to more is then one of a row of the first
side alone, against each row of the other; a change to less is the mirror image.

The fold is asked twice: of all commands at once, and, if a change is left, of the commands of each
program that rules name, since texts of two programs are never those of one simple command. Where a
host knows the names of wrappers only, `policy.compare.simple` searches simple commands instead.

A change that the fold returns and that no text shows is tried on samples: commands of the changed
rules behind wrappers, in quotes and scripts, beside other commands, and with files. If no sample
shows it either, the comparison is not exact.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, lru_cache, partial
from itertools import chain, islice, product, zip_longest
from typing import Final, cast

import attrs

from policy.commands.compound import BOXES, SHELLS
from policy.commands.knowledge import Files, Program, Shell
from policy.commands.parts import MORE, Redirection
from policy.commands.words import ASSIGNMENT
from policy.compare.calls import ToolPair, meaning, read_alike
from policy.compare.lists import (
    OVERLAPS,
    ListSide,
    Sides,
    View,
    by_rules,
    grants_whole,
    is_inside,
    is_stricter,
    may_meet,
    prefix_of,
    runs_no_more,
    search_together,
)
from policy.compare.overlap import ODD, leads_another, may_unwrap, runners
from policy.compare.simple import ACTED_ON, SimpleSearch, knows_wrappers_only
from policy.compare.witness import (
    CHANGES,
    CallShape,
    Difference,
    Effects,
    of_direction,
    signature,
    stronger,
    weaker,
)
from policy.core.decision import Decision, Reason
from policy.core.effect import Effect
from policy.patterns.domains import ANY_TEXT
from policy.patterns.expressions import NOTHING, expression, letter_of
from policy.patterns.pattern import Pattern, freeze, named, tokens_of
from policy.tables.command_row import denies_files, may_join, redirection_outcome
from policy.tables.entry import BY_DEFAULT, Form, RowEntry, doubted, unsure
from policy.tables.lookup import Lookup
from policy.tables.row import Row

__all__ = ["FILES", "TOGETHER", "WRAPPED", "CommandPair", "are_rewritten"]

WRAPPED = "rules may match a command behind a wrapper or in quotes in a way that no sample shows"
TOGETHER = "rules may match several commands at once in a way that no sample shows"
FILES = "rules about files may meet rules about commands in a way that no sample shows"

# Compares two lookups of one tool, for the files that commands open.
_Compare = Callable[[str, Lookup, Lookup], Iterable[Difference]]

ALLOW, ASK, DENY = Effect.ALLOW, Effect.ASK, Effect.DENY

# The answer of a row of which no rule matches.
_NONE: Final = cast("Effect", "none")

_ANYTHING: Final = Pattern.text("*")

# Of each of two rows, whether something holds.
_Flags = tuple[bool, bool]

# Pairs of rows that are folded, before any change is taken to be possible.
_ROW_PAIRS: Final = 36

# Programs that rules name, up to which the commands of each are folded by themselves.
_PROGRAMS: Final = 60

# Changed rules of each kind whose commands are tried, and rules that allow tried beside them.
_CHANGED: Final = 6
_BESIDE: Final = 12
_SAMPLES: Final = 4_000

# Places that the search through all simple commands of plain words may look at.
_PLACES: Final = 60_000


class CommandPair(ToolPair):
    """Commands that differ in their text only, one argument of a tool that runs them.

    Args:
        tool: its name.
        before: what one side says of it.
        after: what the other says.
        shape: the calls.
        compare: compares what both sides say of a tool of files.

    """

    def __init__(
        self, tool: str, before: Lookup, after: Lookup, shape: CallShape, compare: _Compare
    ) -> None:
        super().__init__(tool, before, after, shape)
        self._compare = compare

    @property
    def shell(self) -> Shell:
        """How commands are read."""
        return self.shape.dialect.shell

    @cached_property
    def shells(self) -> tuple[Shell, ...]:
        """How commands are read, once for each set of programs that some row knows."""
        views = (view for side in self.given for view in side.views)
        return tuple({view.shell.programs: view.shell for view in views}.values())

    def doubt(self, why: str, wanted: Effects) -> None:
        """Do nothing: `search` says which changes are possible."""

    def otherwise(
        self, text: str, chosen: Mapping[int, int], wanted: Effects
    ) -> Iterator[Difference]:
        """Yield a difference that commands show which rules match by *text* as well."""
        named = text.replace(self.fresh, "q7z")
        known = (each for one in self.shells for each in _read_only_like(named, one))
        read_only = (each for each in known if self._decided(each, chosen))
        for each in chain(
            read_only,
            [f"{named} --x", f"{named} $x"],
            _in_quotes(named),
            _wrapped(named, self.shell),
        ):
            found = self.asked(each)
            if found.effects == wanted:
                yield found
                return

    def search(self, effects: Collection[Effects]) -> Iterator[Difference]:
        """Yield every difference; *effects* are those that were found so far."""
        yield from map(self._in_words, self.differences())
        yield from map(self._in_words, self._finish(effects))

    def _in_words(self, found: Difference) -> Difference:
        """Return a difference with words that people read, where the same rules decide these."""
        text = str(next(iter(found.call.values()), ""))
        named = text.replace("q7z", "x").replace("q7y", "y")
        again = self.asked(named) if named != text else found
        return again if signature(again) == signature(found) else found

    def _finish(self, effects: Collection[Effects]) -> Iterator[Difference]:
        """Yield what samples show of the changes that are left, and note those that none shows.

        Args:
            effects: the changes that need no further sample.

        """
        told, files = set(effects), self._files()
        shown = weaker(effects) | self.precluded | (set() if files else self._unheard)
        for text in self._redirected(files):
            found = self.asked(text)
            if found.effects in CHANGES - told:
                told.add(found.effects)
                shown |= weaker([found.effects])
                yield found
        for found in self._unasked():
            shown |= weaker([found.effects])
            yield found
        if len({view.shell.reader for side in self.given for view in side.views}) > 1:
            return  # `policy.compare.compare` says so, and each form of a command may differ
        left = self._possible(CHANGES - shown)
        if left and self._is_searched:
            for found in self._in_plain_words({*left}):
                shown |= weaker([found.effects])
                yield found
            left = self._possible(left.keys() - shown, simple=not self._is_settled)
        elif left:
            left = self._possible({*left}, apart=True)
        for text in islice(dict.fromkeys(self._samples(files) if left else ()), _SAMPLES):
            found = self.asked(text)
            if found.effects in CHANGES and found.effects not in shown:
                shown |= weaker([found.effects])
                yield found
                if shown.issuperset(left):
                    return
        self.doubts |= {(why, change): None for change, why in left.items() if change not in shown}

    def left(self, effects: Collection[Effects]) -> Iterator[str]:
        """Yield why more commands may change than those that change with *effects*."""
        return super().left(weaker(effects) | self.precluded)

    @cached_property
    def _unheard(self) -> set[Effects]:
        """The changes that no command shows, by whatever texts rules match it.

        Where the same rules stand in the same order, and some of one side deny what those of the
        other ask for, the rule that decides a text is the same on both sides, or a stricter one.
        """
        if are_rewritten(*([row for row, _ in lookup.rows] for lookup in self.lookups)):
            return set()
        before, after = (side.views for side in self.given)
        return set[Effects]().union(
            *(
                of_direction(widened=widened)
                for widened, (less, more) in ((False, (before, after)), (True, (after, before)))
                if self.floors[widened] <= self.floors[not widened]
                and all(any(is_stricter(one, other) for one in less) for other in more)
            )
        )

    @cached_property
    def _is_searched(self) -> bool:
        """Whether all simple commands of plain words are searched."""
        rows = [row for lookup in self.lookups for row, _ in lookup.rows]
        return len({row.ruleset.dialect.asks for row in rows}) == 1 and not any(
            row.has_parameters or not knows_wrappers_only(row.ruleset.dialect.shell) for row in rows
        )

    @property
    def _is_settled(self) -> bool:
        """Whether a simple command shows no change that one of plain words does not.

        A quote leaves a command the match texts that a folder before its program does, unless a
        rule spells it out.
        """
        tokens = tokens_of(self.patterns)
        spaced = any("  " in each for each in tokens if isinstance(each, str))
        edged = any(str(each) != str(each).strip() for each in self.patterns)
        return ACTED_ON.isdisjoint(named(tokens)) and not (spaced or edged or self.doubts)

    def _in_plain_words(self, wanted: set[Effects]) -> Iterator[Difference]:
        """Yield what simple commands of plain words show of these changes."""
        asks = all(row.ruleset.dialect.asks for lookup in self.lookups for row, _ in lookup.rows)
        simple = SimpleSearch(self, self.shell, ASK if asks else DENY, _PLACES)
        wanted = stronger(wanted)
        while wanted:
            found = simple.search(wanted)
            if found.text is not None:
                words = found.text.replace(self.fresh, "q7z").split(" ")
                shown = self.asked(" ".join(_quoted_operators(word) for word in words))
                if shown.effects in wanted:
                    yield shown
                    wanted -= weaker([shown.effects])
                    continue
            if found.text is not None or not found.exact:
                self.doubts |= dict.fromkeys((OVERLAPS, each) for each in wanted)
            return

    # --- which changes are possible

    def _possible(
        self, wanted: Collection[Effects], *, simple: bool = True, apart: bool = False
    ) -> dict[Effects, str]:
        """Return those of *wanted* that some command may show, and why it would be missed.

        Args:
            wanted: the changes.
            simple: whether a simple command may show one, or only the files of one.
            apart: whether the commands of each program that rules name are folded apart.

        """
        rows = [
            _rows(lookup, side.views) for lookup, side in zip(self.lookups, self.given, strict=True)
        ]
        before, after = rows
        if len(before) * len(after) > _ROW_PAIRS:
            return dict.fromkeys(wanted, OVERLAPS)
        # `_awaited` of `policy.compare.compare` compares the rest where all allow any command.
        waits = not all(row.default is ALLOW for side in rows for row in side)
        found: dict[Effects, str] = {}
        for widened, (own, others) in ((True, (before, after)), (False, (after, before))):
            alike = {row.key for row in others}
            left = {each for each in wanted if (each[0] < each[1]) is widened} - found.keys()
            for row in own:
                if row.key in alike or not left:
                    continue
                pairs = [(row, other) if widened else (other, row) for other in others]
                folds = [
                    _Fold(*each, waits=waits, files=self._opened(*each), apart=apart)
                    for each in pairs
                ]
                some = _of_all(folds, left, widened=widened, simple=simple)
                found |= some
                left -= some.keys()
        return found

    def _opened(self, one: _Row, other: _Row) -> Mapping[str, _Files]:
        """Return how two rows decide files differently that commands open, by tools."""
        if one.row is None or other.row is None:
            return {}
        return {
            tool: _Files(
                plain=[each.effects for each in plain],
                stated=[each.effects for each in stated],
                denied=_denied(plain, one.row.opening(tool), other.row.opening(tool)),
                rewritten=_denies_otherwise(one.row.opening(tool), other.row.opening(tool)),
            )
            for tool, plain, stated in self._differences([[one.row], [other.row]])
        }

    def _files(self) -> dict[str, list[str]]:
        """Return the files that both sides decide differently, by tools."""
        rows = [[row for row, _ in lookup.rows] for lookup in self.lookups]
        return {
            tool: [
                str(next(iter(each.call.values()), "q7z"))
                for each in islice(_some_of_each([*stated, *plain]), 12)
            ]
            for tool, plain, stated in self._differences(rows)
        }

    def _differences(
        self, sides: Sequence[Sequence[Row]]
    ) -> Iterator[tuple[str, Sequence[Difference], Sequence[Difference]]]:
        """Yield tools of files, with the differences of all files, and of those rules apply to."""
        whole = any(grants_whole(row) for side in sides for row in side)
        for tool in self.shell.files.opening:
            tools = [tool, *_opened_too(tool, self.shell)]
            files = [[row.opening(each) for row in side for each in tools] for side in sides]
            own = [[meaning(row.opening(tool)) for row in side] for side in sides]
            if own[0] == own[1]:
                continue
            found = []
            # A command that is allowed as every command opens what no rule stops.
            for some in (files, [[by_rules(row) for row in side] for side in files])[: 1 + whole]:
                lookups = [Lookup(((row, ()) for row in side), "") for side in some]
                found.append([*self._compare(tool, *lookups)])
            yield tool, found[0], found[-1]

    # --- samples

    def _samples(self, files: Mapping[str, Sequence[str]]) -> Iterator[str]:
        """Yield commands that may show a change that their text alone does not."""
        shell, changed = self.shell, self._changed()
        allowed = [freeze(pattern, "q7z") for pattern in islice(self._allowing(), _BESIDE)]
        starts = [*islice(dict.fromkeys(self._starts()), _BESIDE)]
        read_only = [text for one in self.shells for text in _read_only(one)]
        for text in changed:
            yield text
            yield from (each for one in self.shells for each in _read_only_like(text, one))
        yield from read_only
        for one in self.shells:
            for openers in _openers(one).values():
                yield from (text.replace(_FILE, "q7z") for text, alone in openers.items() if alone)
        yield from (freeze(pattern, "q7z") for pattern in islice(self._allowing(), 100))
        asked = [freeze(pattern, "q7z") for pattern in islice(self._patterns_of(ASK), 4)]
        beside = [*read_only[:2], *allowed, *asked, "q7z"]
        yield from islice(self._with_files(files, beside, starts), _SAMPLES // 2)
        for text in changed:
            yield from _forms(text, shell)
            for start in starts:
                yield start + text
                yield f"{start}-c {shlex.quote(text)}"
                yield f"{start}{shlex.quote(text)}"
            for other in (*allowed, *read_only[:2], "q7z"):
                yield from (f"{text} | {other}", f"{other} | {text}", f"{other}; {text} > q7z")
        for text in (*read_only[:2], *allowed, "q7z"):
            yield from (f"{text} &", f"{text} $x", f"{text} > q7z", f"({text}", f"{text} '")
        for text in (*read_only, *allowed[:4]):
            yield from _wrapped(text, shell)
        yield from _joined(self.views, changed, [*allowed, *read_only[:2], "q7z"])

    def _unasked(self) -> Iterator[Difference]:
        """Yield what read-only commands show of each changed rule that matches some."""
        quiet = [text for one in self.shells for text in _read_only(one)[:1]]
        several = any(len(side.views) > 1 for side in self.given)
        for view, line in self.edits if quiet else ():
            pattern = self.pattern(view, line)
            if pattern is None:
                continue
            texts: Iterable[str] = ()
            if _program_of(pattern, self.shell) is None:
                texts = (f"{text} {freeze(pattern, 'q7z')}" for text in quiet)
            elif several and self.views[view].effect(line) is ALLOW:
                named = freeze(pattern, "q7z")
                texts = (each for one in self.shells for each in _read_only_like(named, one))
            for text in texts:
                if pattern.matches(text):
                    found = self.asked(text)
                    if found.effects in CHANGES:
                        yield found
                        break

    def _redirected(self, files: Mapping[str, Sequence[str]]) -> Iterator[str]:
        """Yield commands that redirect *files*, and those of rules that allow that open them."""
        shell, cwd = self.shell, self.shape.dialect.cwd
        for tool, paths in files.items():
            for path in paths:
                for sign, each in ((">", shell.files.output), ("<", shell.files.input)):
                    if each == tool:
                        yield f"q7z {sign} {_as_named(path, cwd)}"
        openers = {
            text.partition(" ")[0]: tool
            for tool in (shell.files.reads, shell.files.writes, shell.files.removes)
            if tool in files
            for text in _openers(shell).get(tool, ())
        }
        for pattern in self._allowing() if openers else ():
            opened = openers.get(prefix_of(pattern).partition(" ")[0])
            if opened is not None and not pattern.exact:
                yield from (freeze(pattern, _as_named(path, cwd)) for path in files[opened])

    def _changed(self) -> list[str]:
        """Return commands of the changed rules, some of each kind that both sides tell apart."""
        kinds: dict[object, list[str]] = {}
        for view, line in self.edits:
            pattern = self.pattern(view, line)
            frozen = self.fresh if pattern is None else freeze(pattern, self.fresh)
            firsts = [
                (each.effect(first := each.automaton.first(frozen)), first < 0)
                for each in self.views
            ]
            is_odd = pattern is not None and may_unwrap(pattern, self.shell)
            program = frozen.partition(" ")[0] if self.shell.programs else ""
            kinds.setdefault((*firsts, is_odd, program), []).append(
                frozen.replace(self.fresh, "q7z")
            )
        found = chain.from_iterable(texts[:_CHANGED] for texts in kinds.values())
        return [*islice(dict.fromkeys(found), 10 * _CHANGED)]

    def _allowing(self) -> Iterator[Pattern]:
        """Yield what rules match that allow."""
        return self._patterns_of(ALLOW)

    def _patterns_of(self, effect: Effect) -> Iterator[Pattern]:
        """Yield what rules match that have an effect."""
        for view in self.views:
            for entry, pattern in zip(view.entries, view.patterns, strict=True):
                if entry.effect is effect:
                    yield pattern

    def _starts(self) -> Iterator[str]:
        """Yield what stands before another command in rules, the ones that allow first."""
        lines = (
            (entry.effect is not ALLOW, prefix_of(pattern))
            for view in self.views
            for entry, pattern in zip(view.entries, view.patterns, strict=True)
            if may_unwrap(pattern, self.shell)
        )
        for _, start in sorted({*lines}):
            yield from (start[:end] for end, letter in enumerate(start, 1) if letter in " /")

    def _with_files(
        self, files: Mapping[str, Sequence[str]], beside: Sequence[str], starts: Sequence[str]
    ) -> Iterator[str]:
        """Yield commands that open *files*."""
        shell = self.shell
        for tool, paths in files.items():
            for sign, each in ((">", shell.files.output), ("<", shell.files.input)):
                if each == tool:
                    yield from (f"{text} {sign} $x" for text in beside)
            openers = [
                text
                for one in self.shells or (shell,)
                for text in islice(_openers(one).get(tool, {}), 40)
            ]
            for text, name in product(openers, ("$x", "q7z")):
                unknown = text.replace(_FILE, name)
                yield from (unknown, f"cd q7y && {unknown}", f"cd; {unknown}")
            for path in paths:
                name = _as_named(path, self.shape.dialect.cwd)
                opening = [text.replace(_FILE, name) for text in openers]
                for sign, each in ((">", shell.files.output), ("<", shell.files.input)):
                    if each == tool:
                        yield from (f"{text} {sign} {name}" for text in beside)
                        opening.append(f"q7z {sign} {name}")
                yield from opening
                yield from (freeze(pattern, name) for pattern in islice(self._allowing(), 100))
                for start, text in product(("bash ", "sh ", *starts), opening[:20]):
                    yield f"{start}-c {shlex.quote(text)}"
                yield from (f"{start}{text}" for start in starts for text in opening[:20])


# --- what two rows may say of a command


@attrs.frozen(eq=False)
class _Row:
    """What the fold asks of a row.

    Attributes:
        key: equal for rows that decide every command alike.
        default: the effect where no rule matches.
        by_default: whether it is the host's own.
        row: the row; None where all commands get the default.
        view: its rules.

    """

    key: object
    default: Effect
    by_default: bool = False
    row: Row | None = None
    view: View | None = None

    @classmethod
    def of(cls, row: Row, view: View) -> _Row:
        """Return the same of a row."""
        parameters = view.entries is not row.entries and view.key
        by_default = row.default.reason in BY_DEFAULT
        return cls((meaning(row), parameters), view.default, by_default, row, view)

    @cached_property
    def is_ranked(self) -> bool:
        """Whether the place of a rule counts for the match texts of one command."""
        return self.view is not None and _is_ranked(self.view)

    @cached_property
    def shell(self) -> Shell:
        """How it reads commands."""
        return self.view.shell if self.view else Shell()

    @cached_property
    def lines(self) -> list[tuple[RowEntry, Pattern]]:
        """Its rules about the text, in order, each with its pattern."""
        return [*zip(self.view.entries, self.view.patterns, strict=True)] if self.view else []

    @cached_property
    def answers(self) -> set[Effect]:
        """What it answers to some text."""
        found = {entry.effect for entry, _ in self.lines}
        return found if any(pattern == _ANYTHING for _, pattern in self.lines) else {*found, _NONE}

    @property
    def programs(self) -> object:
        """Which programs it knows to be read-only."""
        return self.shell.programs

    def may_open(self, text: str, tool: str) -> bool:
        """Return whether it may allow a command that opens a file as *text* does."""
        alone = _openers(self.shell).get(tool, {}).get(text, False)
        return (self.by_default and alone) or self.may_allow(
            lambda pattern: _may_open_as(pattern, text, self.shell)
        )

    @cached_property
    def denies_files(self) -> bool:
        """Whether it denies some file that a command reads."""
        return self.row is not None and denies_files(self.row, self.shell.files.reads)

    @cached_property
    def beside(self) -> object:
        """What it says of commands in the background, if that is something else."""
        beside = self.row.beside if self.row else None
        return meaning(beside) if beside else None

    @cached_property
    def unsure(self) -> Effect:
        """The effect of a command that no rule may allow."""
        return unsure(self.row.ruleset).effect if self.row else self.default

    @cached_property
    def doubted(self) -> Effect:
        """The effect of a command that a rule may deny."""
        return doubted(self.row.ruleset).effect if self.row else self.default

    def stops(self, answer: Effect) -> Effect | None:
        """Return the effect of a rule that denies or asks for a part with this answer, if any."""
        if answer is _NONE:
            return None if self.by_default or self.default is ALLOW else self.default
        return None if answer is ALLOW else answer

    def beside_files(self, effects: Collection[Effect]) -> set[Effect]:
        """Return what it says of commands of which it says *effects*, with the files they open."""
        found = {*effects}
        rows = [self.row.opening(tool) for tool in self.shell.files.opening] if self.row else []
        for files in rows:
            said = {files.default.effect, *(entry.effect for entry in files.entries)}
            found |= {each & effect for each, effect in product(said, effects)}
        return found

    def as_list(self, other: _Row) -> _Row:
        """Return the same with a list without rules, beside the list of *other*."""
        if self.view is not None or other.view is None:
            return self
        return attrs.evolve(self, view=attrs.evolve(other.view, entries=(), row=None))

    @cached_property
    def _is_limited(self) -> bool:
        """Whether a rule about another argument decides where no rule matches the text."""
        return self.view is not None and self.view.shell is not self.shell

    def most(self, *, allowed: bool) -> Effect:
        """Return the most that it says of a command, which a rule *allowed* or none did."""
        if allowed or self.default is ALLOW:
            return ALLOW
        asks = any(entry.effect is ASK for entry, _ in self.lines)
        return max(self.default, ASK) if asks else self.default

    def may_allow(self, may: Callable[[Pattern], bool]) -> bool:
        """Return whether it has a rule that allows, whose pattern *may* be of some kind."""
        return any(entry.effect is ALLOW and may(pattern) for entry, pattern in self.lines)

    def said(
        self,
        text: Effect,
        strict: Effect,
        *,
        written: bool,
        read_only: bool,
        grantable: bool,
        background: int,
    ) -> Effect:
        """Return what it says of a simple command, as `policy.tables.command_row` has it."""
        if self.row is None:
            return self.default
        is_default = text is strict is _NONE
        effect = strict if strict is not _NONE else text
        if is_default:
            effect = self.default
            if written and self.by_default:
                effect, is_default = ALLOW, False
        is_default = is_default and not self._is_limited
        whole = self.shell.whole
        if effect is self.default is ALLOW and self.by_default and whole:
            is_default = True  # a rule that allows says nothing in a sandbox
        if read_only and is_default and effect is not ALLOW and self.by_default:
            effect = ALLOW
        elif effect is ALLOW and not grantable and not (is_default and whole):
            effect = self.unsure
        if background and self.default is not ALLOW:
            return effect & ASK  # only a rule for all commands allows that it goes on
        return effect & self.unsure if background > 1 else effect


def _is_ranked(view: View) -> bool:
    """Return whether the place of a rule counts for the match texts of one command."""
    strict = [entry.effect for entry in view.entries if entry.effect is not ALLOW]
    return bool(view.shell.reader) and strict != sorted(strict)


def _answers(view: View, fresh: str) -> set[Effect]:
    """Return what rules answer to some text; of star patterns the first on the frozen one does."""
    lines = enumerate(zip(view.entries, view.patterns, strict=True))
    return {_NONE} | {
        entry.effect
        for line, (entry, pattern) in lines
        if not view.is_plain or view.automaton.first(freeze(pattern, fresh)) == line
    }


def _rows(lookup: Lookup, views: Sequence[View]) -> list[_Row]:
    rows = [_Row.of(row, view) for (row, _), view in zip(lookup.rows, views, strict=True)]
    return [*rows, _Row(lookup.floor, lookup.floor)]


class _Answers(Sides):
    """The answers of two rows to the same text, of those where they differ."""

    def __init__(self, one: View, other: View) -> None:
        sides = (ListSide((attrs.evolve(view, default=_NONE),)) for view in (one, other))
        super().__init__(*sides)

    def search(self, edits: Iterable[tuple[int, int]]) -> tuple[set[Effects], bool]:
        """Return each pair of different answers to a text that some of *edits* decide.

        And whether these are all.
        """
        pairs, exact = set[Effects](), True
        for view, line in edits if len(self.views) > 1 else ():
            own = self.views[view].effect(line)
            others = [each for each in (*Effect, _NONE) if each is not own]
            while not pairs.issuperset((own, e) if view == 0 else (e, own) for e in others):
                found = search_together(self, [ANY_TEXT], (), seen=pairs, view=view, line=line)
                exact &= found.exact
                if found.text is None:
                    break
                pairs.add(self.answers(found.text))
        return pairs, exact

    def granted(self, effects: Mapping[int, Effect] | Sequence[Effect]) -> Effects:
        """Return what both rows answer."""
        return effects[0], effects[1]

    def answers(self, text: str) -> Effects:
        """Return what both rows answer to *text*."""
        one, other = (each.effect(each.automaton.first(text)) for each in self.views)
        return one, other


@attrs.frozen
class _Files:
    """How two rows decide differently which files commands open with one tool.

    Attributes:
        plain: what both say of some file.
        stated: the same where defaults do not count.
        denied: whether a rule of each denies some file.
        rewritten: whether rules match the same and are written in another way.

    """

    plain: Sequence[Effects]
    stated: Sequence[Effects]
    denied: Collection[_Flags]
    rewritten: bool


# The program of a command, as rules name it: all of its name, or how that begins; or any.
_Program = tuple[str, bool] | None

# One that no rule names.
_ANOTHER: Final = ("\0", True)


@lru_cache(maxsize=65_536)  # tools and agents share their rules
def _program_of(pattern: Pattern, shell: Shell) -> _Program:
    """Return the program of every command of which *pattern* matches some text.

    None where that may be any: the pattern leaves its name open, or names what runs another.
    """
    name, blank, _ = prefix_of(pattern).partition(" ")
    if not name or not ODD.isdisjoint(name):
        return None
    if leads_another(name, shell):
        return _program_behind(pattern, shell)
    if blank or pattern.exact:
        return name, True
    known = chain(runners(shell), shell.variables.harmless)
    return None if any(each.startswith(name) for each in known) else (name, False)


def _program_behind(pattern: Pattern, shell: Shell) -> _Program:
    """Return the program that a wrapper or a folder is spelled out before, if it surely is."""
    start = prefix_of(pattern)
    if not _PLAIN.fullmatch(start) or (not pattern.exact and not start.endswith(" ")):
        return None
    spelled = start if pattern.exact else f"{start}{_FILE}"
    (part, *others) = read_alike(spelled, shell).parts or (None,)
    if part is None or others or part.possible_texts or part.script_texts:
        return None
    texts = [text for text in (part.text, *part.match_texts) if spelled.endswith(text)]
    name = min(texts, key=len, default=_FILE).partition(" ")[0]
    return None if name.startswith(_FILE) or leads_another(name, shell) else (name, True)


def _may_be_of(
    pattern: Pattern, program: _Program, shell: Shell, but: Collection[_Program]
) -> bool:
    """Return whether *pattern* may match a text of a command of *program*, or of any *but* some."""
    own = _program_of(pattern, shell)
    if own is None or program is None:
        return True
    if program == _ANOTHER:
        return own not in but
    (name, whole), (other, is_whole) = own, program
    longer, shorter = (name, other) if len(name) > len(other) else (other, name)
    open_ended = not (is_whole if longer == name else whole)
    return name == other or (open_ended and longer.startswith(shorter))


class _Part:
    """What two rows may say of a simple command, folded from their answers to its texts.

    Args:
        one: a row, with rules.
        other: the other.
        program: which commands.
        waits: whether commands in the background may differ.
        apart: whether commands of the programs that rules name are folded by themselves.
        but: the programs that `_ANOTHER` does not stand for.

    Attributes:
        exact: whether these are all answers.
        answers: those that differ.
        texts: pairs of answers to some text, and of which rows the text may be read-only.
        leads: those that a command with further match texts may have.
        shells: those that one which runs a script may have.

    """

    def __init__(
        self,
        one: _Row,
        other: _Row,
        program: _Program,
        *,
        waits: bool,
        apart: bool = False,
        but: Collection[_Program] = (),
    ) -> None:
        self._rows = (one, other)
        self._shells = (one.shell, other.shell)
        self._program = program
        self._waits = waits
        shell = one.shell
        views = [
            row.view
            if program is None
            else attrs.evolve(
                row.view,
                entries=tuple(e for e, each in row.lines if _may_be_of(each, program, shell, but)),
                row=None,
            )
            for row in (one, other)
            if row.view is not None
        ]
        self._ranked = [_is_ranked(view) for view in views]
        self.views = views
        self.answers = _Answers(*views)
        patterns = [(edit, self.answers.pattern(*edit)) for edit in self.answers.edits]
        edits = {edit: pattern for edit, pattern in patterns if pattern is not None}
        is_ranked = one.is_ranked or other.is_ranked
        if (
            apart
            and program is None
            and not (is_ranked or any(_program_of(each, shell) is None for each in edits.values()))
        ):
            edits = {}  # they are compared by their programs
        # Of which rows a text may be read-only that an edit decides.
        kinds: dict[_Flags, list[tuple[int, int]]] = {}
        for edit, pattern in edits.items():
            flags = _may_be_read_only(pattern, one.shell), _may_be_read_only(pattern, other.shell)
            kinds.setdefault(flags, []).append(edit)
        self._edits = {*edits.values()}
        self.exact = True
        self.texts: dict[Effects, _Flags] = {}
        for flags, some in sorted(kinds.items(), reverse=True):
            pairs, exact = self.answers.search(some)
            self.exact &= exact
            for pair in pairs:
                known = self.texts.get(pair, (False, False))
                self.texts[pair] = known[0] or flags[0], known[1] or flags[1]
        self.pairs = frozenset(self.texts)
        runs = [bool(row.shell.programs) for row in (one, other)]
        if program not in (None, _ANOTHER):
            runs = [any(each[n] for each in kinds) for n in (0, 1)]
        self._add_texts((runs[0], runs[1]))
        self.leads = self._leading(may_unwrap)
        self.shells = self._leading(_may_run_script) if shell.programs else set()

    def _add_texts(self, flags: _Flags) -> None:
        """Add the pairs of equal answers, and those of texts that a rule does not hold for."""
        said = [_answers(view, self.answers.fresh) for view in self.views]
        for each in said[0] & said[1]:
            self.texts[each, each] = flags
        if self._rows[0].shell.reader:
            for pair in self._uncompleted():
                self.texts.setdefault(pair, flags)

    def _uncompleted(self) -> set[Effects]:
        """Return further pairs: a rule that allows may not hold for a text that it matches.

        It may not match what the text goes on with, or not complete a word.
        """
        found = set[Effects]()
        answers = self.answers
        if len(answers.views) == 1 or not self._edits:
            return found
        edits = {*self._edits}
        lines = [
            [p for e, p in zip(view.entries, view.patterns, strict=True) if e.effect is ALLOW]
            for view in self.views
        ]
        for pattern in {*lines[0], *lines[1]}:
            if pattern.exact:
                text = str(pattern)
                (one, other), more = answers.answers(text), answers.answers(text + MORE)
                found.add((more[0] if one is ALLOW else one, more[1] if other is ALLOW else other))
        pairs = self.pairs
        for number, own in enumerate(lines):
            for pattern in own:
                ends, starts = _ends_within_word(pattern), isinstance(pattern.tokens[-1], str)
                if not ends and (pattern.exact or not starts):
                    continue
                others = {
                    each
                    for each in lines[1 - number]
                    if each != pattern and (pattern in edits or each in edits)
                }
                ways = {_NONE}
                if starts:
                    ways |= {e.effect for e in self.views[number].entries if e.effect is not ALLOW}
                against = {pair[1 - number] for pair in pairs if pair[number] is ALLOW}
                if pattern not in edits:
                    against = set()
                for each in others:
                    if may_meet(each, pattern):
                        against.add(ALLOW)
                        if _ends_within_word(each) or isinstance(each.tokens[-1], str):
                            against.add(_NONE)
                found |= {
                    (way, effect) if number == 0 else (effect, way)
                    for way, effect in product(ways, against)
                }
        return found

    @cached_property
    def commands(self) -> set[Effects]:
        """What both may say of one simple command, scripts apart."""
        # A rule that allows matches what is behind some wrappers.
        through = self._leading(_may_be_unseen)
        found = set[Effects]()
        written = {(False, False)} | {(one is ALLOW, other is ALLOW) for one, other in through}
        for quiet in self._read_only():
            # All texts of what is read-only are such.
            texts = {
                pair
                for pair, flags in self.texts.items()
                if all(flag or not needed for flag, needed in zip(flags, quiet, strict=True))
            }
            leads = self.leads & texts
            strict, unseen = self._all_strict(leads), self._all_strict(through & texts)
            commands = {
                (text, key)
                for text, known in product(texts, unseen)
                for key in self._strict(known, text)
            }
            inner = {
                key for text, known in product(texts, strict) for key in self._strict(known, text)
            }
            commands |= {
                (lead, key)
                for lead, known in product(leads, inner)
                for key in self._strict(known, lead)
            }
            for (text, key), way in product(commands, written):
                found |= self._said(text, key, way, quiet)
        return found

    @cached_property
    def others(self) -> set[Effects]:
        """What both may say of a script, of a statement as a whole, and where no command runs."""
        idle = self._idle() if self._program is None else set[Effects]()
        return self._scripts() | self._statements() | idle

    def _idle(self) -> set[Effects]:
        """Return what both say where no command runs, which rules for all commands may allow."""
        said = [
            row.said(
                view.effect(view.automaton.first("")),
                _NONE,
                written=False,
                read_only=False,
                grantable=row.default is ALLOW,
                background=0,
            )
            for row, view in zip(self._rows, self._bare, strict=True)
        ]
        return {(said[0], said[1])}

    @property
    def _bare(self) -> list[View]:
        """The rules of both rows, with no default."""
        return [attrs.evolve(view, default=_NONE) for view in self.views]

    def _statements(self) -> set[Effects]:
        """Return what both may say of a statement as a whole, beside its first command.

        Rules that deny or ask match it. One that begins with a text begins with a command that it
        matches too, if a rule matches that text as well.
        """
        if not self._shells[0].reader:
            return set()
        alone = self._changed(lambda each: not self._matches_first(each))
        one, other = (
            row.most(allowed=self._allows(view) or self._runs_read_only(row.shell))
            for row, view in zip(self._rows, self.views, strict=True)
        )
        unsure = self._rows[0].unsure, self._rows[1].unsure
        beside = _met(map(self._stated, alone), [(one, other)])
        return beside | _met(map(self._stated, self.texts), [unsure])

    def _stated(self, answers: Effects) -> Effects:
        """Return what both say of a statement by the *answers* to its text."""
        one, other = (
            each if each in (DENY, ASK) else ALLOW if row.by_default else row.default
            for row, each in zip(self._rows, answers, strict=True)
        )
        return one, other

    def _matches_first(self, pattern: Pattern) -> bool:
        """Return whether rules with this pattern say of a statement what they say of a command."""
        if pattern.exact:
            return not _PARTS.search(str(pattern))
        begun = prefix_of(pattern)
        if may_join(pattern) or not begun:
            return False
        first = begun.rstrip(" ")
        return first == begun or all(
            view.effect(view.automaton.first(first))
            is view.effect(view.automaton.first(begun + self.answers.fresh))
            for view in self.views
        )

    def _allows(self, view: View) -> bool:
        return any(entry.effect is ALLOW for entry in view.entries)

    def _runs_read_only(self, shell: Shell) -> bool:
        if self._program in (None, _ANOTHER):
            return bool(shell.programs)
        name, whole = self._program or _ANOTHER
        return name in shell.programs if whole else any(e.startswith(name) for e in shell.programs)

    def _read_only(self) -> list[_Flags]:
        """Return to which rows a command may be read-only."""
        one, other = self._rows
        found = [(False, False), (True, True)]
        found += [(True, False)] * _runs_more(one, other)
        found += [(False, True)] * _runs_more(other, one)
        return found

    def _scripts(self) -> set[Effects]:
        """Return what both may say of one that runs a script."""
        scripts = set[Effects]()
        doubts = {(one is DENY, other is DENY) for one, other in self.texts}
        known = self._all_strict(self.leads) if self.shells else ()
        keys = {
            (lead, key)
            for lead in self.shells
            for each in known
            for key in self._strict(each, lead)
        }
        for lead, strict in keys:
            said = self._said(lead, strict, (lead[0] is ALLOW, lead[1] is ALLOW), (False, False))
            for pair, doubt in product(said, doubts):
                one, other = (
                    effect & row.doubted if is_doubted else effect
                    for effect, row, is_doubted in zip(pair, self._rows, doubt, strict=True)
                )
                scripts.add((one, other))
        return scripts

    def _changed(self, may: Callable[[Pattern], bool]) -> set[Effects]:
        """Return the pairs that may come of a changed rule whose pattern *may* be of some kind."""
        own = {
            (view, self.answers.views[view].effect(line))
            for view, line in self.answers.edits
            if (pattern := self.answers.pattern(view, line)) is not None
            and pattern in self._edits
            and may(pattern)
        }
        return {pair for pair in self.pairs if not own.isdisjoint(enumerate(pair))}

    def _leading(self, may_lead: Callable[[Pattern, Shell], bool]) -> set[Effects]:
        """Return the pairs that a command with further match texts may have."""
        shell = self._shells[0]
        own = [
            {
                e.effect
                for e, p in zip(view.entries, view.patterns, strict=True)
                if may_lead(p, shell)
            }
            | {_NONE}
            for view in self.views
        ]
        others = self.pairs - self._changed(lambda each: may_lead(each, shell))
        return {text for text in {*self.texts} - others if text[0] in own[0] and text[1] in own[1]}

    def _strict(self, one: Effects, other: Effects) -> set[Effects]:
        """Return which answers of those to two match texts of one command may decide it.

        That is the strictest, unless a row ranks its rules, and some that ask before others.
        """
        ways = []
        for ranked, answers in zip(self._ranked, zip(one, other, strict=True), strict=True):
            known = {each for each in answers if each in (DENY, ASK)} or {_NONE}
            ways.append(known if ranked else {min(known)} if _NONE not in known else known)
        return {(before, after) for before, after in product(*ways)}

    def _all_strict(self, texts: Collection[Effects]) -> set[Effects]:
        """Return the same of any of *texts*, and of none."""
        found = {(_NONE, _NONE)}
        for _ in range(4):
            for one, other in product([*found], texts):
                found |= self._strict(one, other)
        return found

    def _said(self, text: Effects, strict: Effects, written: _Flags, quiet: _Flags) -> set[Effects]:
        """Return what both may say of a simple command.

        Args:
            text: the answers to the text that rules which allow match.
            strict: the answers to its match texts that deny or ask, of which one decides.
            written: whether a rule allows it by its wrapper.
            quiet: to which rows it is read-only.

        """
        one, other = self._rows
        grantable = [(False, False), (True, True)]
        background = [(0, 0), (1, 1)]
        if self._waits and one.beside != other.beside:
            background += [(1, 2), (2, 1)]
        found = set()
        for way, level in product(grantable, background):
            if any(quiet) and not all(way):
                continue  # what is read-only a rule may allow
            pair = [
                row.said(
                    text[n],
                    strict[n],
                    written=written[n],
                    read_only=quiet[n],
                    grantable=way[n],
                    background=level[n],
                )
                for n, row in enumerate(self._rows)
            ]
            found.add((pair[0], pair[1]))
        return found


class _Fold:
    """What two rows may say of a command, folded from its parts.

    Args:
        one: a row.
        other: the other.
        waits: whether commands in the background may differ.
        files: how both decide files differently that commands open, by tools.
        apart: whether the commands of each program that rules name are folded by themselves.

    """

    def __init__(
        self, one: _Row, other: _Row, *, waits: bool, files: Mapping[str, _Files], apart: bool
    ) -> None:
        self._rows = (one.as_list(other), other.as_list(one))
        self._waits = waits
        self._files = files
        self._apart = apart
        self.tools = [*files]
        self._known: dict[_Program, _Part] = {}
        self._said: dict[_Program, dict[Effects, str]] = {}

    @property
    def is_constant(self) -> bool:
        """Whether one row says the same of every command."""
        return any(row.row is None for row in self._rows)

    @cached_property
    def programs(self) -> set[_Program]:
        """The programs whose commands are folded by themselves; None stands for all others."""
        one, other = self._rows
        if not self._apart or one.view is None or other.view is None:
            return {None}
        written = {
            _program_of(pattern, one.shell)
            for entry, pattern in chain(one.lines, other.lines)
            if entry.reason not in BY_DEFAULT
        }
        if len(written) <= _PROGRAMS:
            return {None, _ANOTHER, *written}
        if one.is_ranked or other.is_ranked:
            return {None}
        lists = _Answers(one.view, other.view)
        floor = one.default if one.row is None else other.default if other.row is None else None
        patterns = (
            lists.pattern(view, line)
            for view, line in lists.edits
            if lists.views[view].effect(line) is not floor
        )
        return {None} | {_program_of(each, one.shell) for each in patterns if each is not None}

    def of_program(self, program: _Program) -> dict[Effects, str]:
        """Return the pairs of effects of a simple command, with why samples may miss each."""
        if any(row.view is None for row in self._rows):
            return {(self._rows[0].default, self._rows[1].default): TOGETHER}
        if program not in self.programs and _ANOTHER not in self.programs:
            program = None
        if program not in self._said:
            self._said[program] = self._of_program(program)
        return self._said[program]

    def _of_program(self, program: _Program) -> dict[Effects, str]:
        part = self._part(program)
        if not part.exact:
            return dict.fromkeys(product(Effect, Effect), OVERLAPS)
        each_apart = _ANOTHER in self.programs
        pairs = part.others if each_apart and program is None else part.commands | part.others
        pairs = pairs | (self._unread(pairs) if each_apart or program is None else set())
        if self.is_constant:
            own = [{pair[n] for pair in pairs} for n in (0, 1)]
            one, other = (row.beside_files(said) for row, said in zip(self._rows, own, strict=True))
            return dict.fromkeys(product(one, other), TOGETHER)
        return dict.fromkeys(pairs, WRAPPED)

    def _part(self, program: _Program) -> _Part:
        if program not in self._known:
            but = self.programs if program == _ANOTHER else ()
            self._known[program] = _Part(
                *self._rows, program, waits=self._waits, apart=self._apart, but=but
            )
        return self._known[program]

    @cached_property
    def _simple(self) -> dict[Effects, str]:
        """The pairs of effects of any simple command."""
        found: dict[Effects, str] = {}
        for program in self.programs:
            found |= self.of_program(program)
        return found

    def of_files(self, tool: str) -> dict[Effects, str]:
        """Return the pairs of effects of commands that open files as calls of *tool*."""
        if self.is_constant:
            return self._simple
        if tool not in self._files:
            return {}  # such a file does not decide
        return dict.fromkeys(self._with_files(tool), FILES)

    @cached_property
    def joined(self) -> set[Effects]:
        """What both may say of commands that a rule matches with what stands between them."""
        return set() if self.is_constant else self._joined()

    def of_any(self) -> dict[Effects, str]:
        """Return the pairs of effects of any command."""
        found = dict.fromkeys(self.joined, TOGETHER)
        for tool in self._files:
            found |= self.of_files(tool)
        return found | self._simple

    def _unread(self, simple: Collection[Effects]) -> set[Effects]:
        """Return what both say of a command that may hold others, beside the rest of it.

        Args:
            simple: what both say of its simple commands.

        """
        one, other = (
            row.unsure if row.lines or row.row is None else max(row.default, ASK)
            for row in self._rows
        )
        return _met([(one, other)], simple)

    def _joined(self) -> set[Effects]:
        """Return what both may say of commands that a rule matches with the operators between them.

        A rule with a star that denies or asks counts for a pipe unless all of it is allowed by
        other rules, and for another compound command unless another rule asks for or denies a part.
        """
        found = set[Effects]()
        if not self._rows[0].shell.reader:
            return found
        if _spells_otherwise(*self._rows):
            found |= {(ASK, ALLOW), (ALLOW, ASK)}
        rules = [
            {
                pattern: entry.effect
                for entry, pattern in reversed(row.lines)
                if entry.reason not in BY_DEFAULT
                and (may_join(pattern) or (pattern.exact and _PARTS.search(str(pattern))))
            }
            for row in self._rows
        ]
        if not any(rules):
            return found
        simple = {*self._simple}
        files = set[Effects]().union(*map(self._with_files, self._files))
        changed = {pair for each in self.programs for pair in self._part(each).pairs}
        if len({(row.default, row.by_default, row.programs) for row in self._rows}) > 1:
            changed.add((_NONE, _NONE))
        together = _closed(simple | files)
        own = {pair for pair in simple | files if pair[0] is not pair[1]}
        beside = _met(own, together)  # what both may say of commands of which a part changes
        for pattern in {**rules[0], **rules[1]}:
            one, other = (some.get(pattern, ALLOW) for some in rules)
            most = [self._most_beside(pattern, row) for row in self._rows]
            if one is other and (one is ALLOW or not (changed or files)):
                continue
            if one is other:
                # It counts on one side, and on the other all is allowed, or a rule stops a part.
                for was, now in beside:
                    found |= {(was & one, now)} if now is most[1] is ALLOW else set()
                    found |= {(was, now & other)} if was is most[0] is ALLOW else set()
                for pair in changed:
                    stops = [row.stops(each) for row, each in zip(self._rows, pair, strict=True)]
                    found |= {(one, effect) for effect in stops[1:] if effect and not stops[0]}
                    found |= {(effect, other) for effect in stops[:1] if effect and not stops[1]}
                continue
            if ALLOW in (one, other) and pattern.exact:
                found |= {(one & ASK, other)} if other is ALLOW and pattern in rules[1] else set()
                found |= {(one, other & ASK)} if one is ALLOW and pattern in rules[0] else set()
            for was, now in together:
                if was <= most[0] and now <= most[1]:
                    found |= set(product((was, was & one), (now, now & other)))
        return found

    def _most_beside(self, pattern: Pattern, row: _Row) -> Effect:
        """Return the most that a row may say of commands the first of which *pattern* begins."""
        begun = _PARTS.split(prefix_of(pattern), maxsplit=1)[0]
        whole = begun != prefix_of(pattern)
        allows = row.default is ALLOW or any(
            entry.effect is ALLOW
            and (prefix_of(each).startswith(begun) or begun.startswith(prefix_of(each)))
            for entry, each in row.lines
        )
        reads = Pattern.exactly(begun.strip()) if whole else Pattern.text(f"{begun.rstrip()} *")
        return ALLOW if allows or not begun or _may_be_read_only(reads, row.shell) else ASK

    def _with_files(self, tool: str) -> set[Effects]:
        """Return what both may say of a command that opens a file as a call of *tool*."""
        opened, scripted = self._opened(tool, self._files[tool])
        one, other = self._rows
        scripts = tuple(
            row.most(allowed=row.may_allow(lambda each: _may_run_script(each, one.shell)))
            for row in self._rows
        )
        found = _met(scripted, [(scripts[0], scripts[1])]) if one.shell.programs else set()
        openers = {*_openers(one.shell).get(tool, ()), *_openers(other.shell).get(tool, ())}
        most = {self._most_opening(text, tool) for text in openers}
        if tool == one.shell.files.writes:
            copying = {
                self._most_opening(text, tool) for text in openers if _copies(text, one.shell)
            }
            found |= _met(_undenied(self._files[tool].plain), copying)
        files = one.shell.files
        if tool in (files.output, files.input) or one.shell.traced or not openers:
            most |= {*self._simple}
        # Where the rest of a command decides, it shows the change without the file.
        return found | {
            (was & one, now & other)
            for (was, now), (one, other) in product(opened, most)
            if (was <= one and was < min(now, other)) or (now <= other and now < min(was, one))
        }

    def _most_opening(self, text: str, tool: str) -> Effects:
        """Return the most that both say of commands that open a file as *text* does."""
        one, other = (row.most(allowed=row.may_open(text, tool)) for row in self._rows)
        return one, other

    def _opened(self, tool: str, files: _Files) -> tuple[set[Effects], set[Effects]]:
        """Return what both may say of a file that a command opens, and that a script does."""
        one, other = self._rows
        found = weaker(files.stated)
        if all(row.default is ALLOW and row.shell.whole and row.by_default for row in self._rows):
            # Beside what is allowed as every command is, no default counts.
            found |= _met(files.plain, [(ASK, ASK)])
        else:
            found |= weaker(files.plain)
        if files.rewritten:
            found |= CHANGES
        unknown = set[Effects]()
        for shadowed in (False, True) if tool == one.shell.files.reads else (False,):
            file = Redirection(None, writes=False, tool=tool, shadowed=shadowed)
            if one.row is not None and other.row is not None:
                said = [redirection_outcome(row, file).effect for row in (one.row, other.row)]
                unknown.add((said[0], said[1]))
        found |= unknown
        scripted = set[Effects]()
        for denied in files.denied if one.shell.programs else ():
            doubts = [
                row.doubted if no else ALLOW for row, no in zip(self._rows, denied, strict=True)
            ]
            scripted.add((doubts[0], doubts[1]))
            if tool in (one.shell.files.input, one.shell.files.reads):
                # Where the folder is not known, a rule that denies a file of this name may match.
                adrift = DENY if denied[0] else ALLOW, DENY if denied[1] else ALLOW
                found |= _met([adrift], unknown)
        return found, found | scripted


# --- what the fold asks of patterns and effects


_PARTS: Final = re.compile(r"[;&|\n()<>]")


def _of_all(
    folds: Sequence[_Fold],
    wanted: Collection[Effects],
    *,
    widened: bool,
    simple: bool,
) -> dict[Effects, str]:
    """Return those of *wanted* that some command shows in all of *folds*, and why it is missed.

    All parts of a command but one may be allowed: the strictest of them decides, on the side
    that grants less, and the others grant no more alone. So it is enough to compare commands
    program by program, and files tool by tool.
    """
    asks: list[Callable[[_Fold], Mapping[Effects, str]]] = [
        *(
            partial(_Fold.of_program, program=program)
            for program in set[_Program]().union(*(fold.programs for fold in folds if simple))
        ),
        *(
            partial(_Fold.of_files, tool=tool)
            for tool in dict.fromkeys(tool for fold in folds for tool in fold.tools)
        ),
    ]
    if any(fold.joined for fold in folds):
        asks.append(_Fold.of_any)
    found: dict[Effects, str] = {}
    for ask in asks:
        some = dict.fromkeys(wanted, OVERLAPS)
        for fold in sorted(folds, key=lambda fold: fold.is_constant):
            if not some:
                break
            reasons = _up_to(ask(fold), widened=widened)
            some = {
                each: reasons[each] if why == OVERLAPS else why
                for each, why in some.items()
                if each in reasons
            }
        found = some | found
    return found


def _closed(pairs: Iterable[Effects]) -> set[Effects]:
    """Return *pairs*, and the strictest of any of them."""
    found = {*pairs}
    for _ in Effect:
        found |= _met(found, found)
    return found


def _met(some: Iterable[Effects], others: Iterable[Effects]) -> set[Effects]:
    return {(one[0] & other[0], one[1] & other[1]) for one, other in product(some, others)}


def _up_to(changes: Mapping[Effects, str], *, widened: bool) -> dict[Effects, str]:
    """Return *changes* in one direction, and those that do not go as far."""
    found: dict[Effects, str] = {}
    for (was, now), why in changes.items():
        if (was < now) is widened:
            low, high = min(was, now), max(was, now)
            for between in Effect:
                if low < between <= high:
                    found.setdefault((low, between) if widened else (between, low), why)
    return found


def are_rewritten(before: Iterable[Row], after: Iterable[Row]) -> bool:
    """Return whether rules match the same on both sides, and are written in another way.

    `Bash(make:*)` spells out `make` and `Bash(make *)` does not; `Read(src)` is the folder and
    `Read(src/**)` what is in it (`policy.tables.entry.Form`).
    """
    forms: list[dict[object, set[Form]]] = []
    for rows in (before, after):
        known: dict[object, set[Form]] = {}
        for entry in (entry for row in rows for entry in row.entries):
            known.setdefault((entry.pattern, entry.field, entry.effect), set()).add(entry.form)
        forms.append(known)
    return any(forms[1].get(said, own) != own for said, own in forms[0].items())


def _spells_otherwise(one: _Row, other: _Row) -> bool:
    """Return whether rules that spell out what a shell acts on are written in another way."""
    forms: list[dict[Pattern, set[Form]]] = []
    for row in (one, other):
        known: dict[Pattern, set[Form]] = {}
        for entry, pattern in row.lines:
            if pattern.exact and not _PLAIN.fullmatch(str(pattern)):
                known.setdefault(pattern, set()).add(entry.form)
        forms.append(known)
    return any(forms[1].get(pattern, own) != own for pattern, own in forms[0].items())


# Texts in which a shell acts on nothing.
_PLAIN: Final = re.compile(r"[\w ./:=@%+,-]*")


def _denied(found: Iterable[Difference], one: Row, other: Row) -> set[_Flags]:
    """Return of which rows a rule denies a file, for files that they decide differently."""
    denied = {(_is_denied_by_rule(each.before), _is_denied_by_rule(each.after)) for each in found}
    # What one denies by a rule the other may deny by default.
    own, others = (
        {
            e.pattern
            for e in row.entries
            if e.pattern is not None and e.effect is DENY and e.reason is Reason.RULE
        }
        for row in (one, other)
    )
    denied |= {(True, False)} if _reach_further(own, others) else set()
    return denied | ({(False, True)} if _reach_further(others, own) else set())


def _reach_further(some: Collection[Pattern], others: Collection[Pattern]) -> bool:
    """Return whether any of *some* may match what no other does that names the same folder."""
    folders: dict[str, list[Pattern]] = {}
    for pattern in others:
        folders.setdefault(prefix_of(pattern).rpartition("/")[0], []).append(pattern)
    return any(
        not any(is_inside(each, other) for other in folders.get(folder, ()))
        for each in some
        for folder in [prefix_of(each).rpartition("/")[0]]
    )


def _is_denied_by_rule(said: Decision) -> bool:
    """Return whether a rule denies a call."""
    return said.effect is DENY and said.reason is Reason.RULE


def _denies_otherwise(one: Row, other: Row) -> bool:
    """Return whether rules that deny a folder, or what is in it, match the same."""
    within = [
        {e.pattern: e.form is Form.WITHIN for e in row.entries if e.effect is DENY}
        for row in (one, other)
    ]
    return any(within[1].get(pattern, way) is not way for pattern, way in within[0].items())


def _ends_within_word(pattern: Pattern) -> bool:
    return len(pattern.tokens) > 1 and prefix_of(pattern)[-1:] not in ("", " ")


def _copies(text: str, shell: Shell) -> bool:
    """Return whether the program of a command may copy files, which no rule denies then."""
    known = shell.programs.get(text.partition(" ")[0])
    forms = (known, *known.forms) if known else ()
    return any(each.copies is not Files.NONE for each in forms)


def _undenied(pairs: Iterable[Effects]) -> Iterator[Effects]:
    """Yield what both may say of files where no rule that denies counts."""
    for was, now in pairs:
        if DENY in (was, now):
            yield from product(*([ASK, ALLOW] if each is DENY else [each] for each in (was, now)))


def _may_open_as(pattern: Pattern, text: str, shell: Shell) -> bool:
    """Return whether *pattern* may match a command of the program, and subcommand, of *text*."""
    if may_unwrap(pattern, shell):
        return True
    name, *words = text.split(" ")
    own, *others = prefix_of(pattern).split(" ")
    if own != name:
        return False
    known = shell.programs.get(name)
    for number, (word, other) in enumerate(zip(words, others, strict=False)):
        known = known.subcommands.get(word) if known else None
        if known is None or other.startswith("-"):
            break
        is_open = number == len(others) - 1 and not pattern.exact
        if not (word.startswith(other) if is_open else word == other):
            return False
    return True


def _may_run_script(pattern: Pattern, shell: Shell) -> bool:
    """Return whether a command that *pattern* matches may run a script in an argument."""
    program, blank, _ = prefix_of(pattern).partition(" ")
    is_named = bool(blank) or pattern.exact
    return not is_named or leads_another(program.rpartition("/")[2], shell)


def _may_be_unseen(pattern: Pattern, shell: Shell) -> bool:
    """Return whether rules that allow may match a command behind what *pattern* begins with."""
    program, blank, _ = prefix_of(pattern).partition(" ")
    wrapping = shell.wrapping
    seen = {*wrapping.names, *wrapping.denying, *SHELLS, *BOXES}
    seen -= {*wrapping.transparent, *wrapping.granting}
    return may_unwrap(pattern, shell) and not ((blank or pattern.exact) and program in seen)


@lru_cache(maxsize=65_536)
def _may_be_read_only(pattern: Pattern, shell: Shell) -> bool:
    """Return whether a read-only command may have a text that *pattern* matches."""
    if not shell.programs:
        return False
    start = prefix_of(pattern)
    if pattern.exact and _PLAIN.fullmatch(start):
        return _is_read_only(start, shell)
    name, *words = start.split(" ")
    if words and ASSIGNMENT.match(name) and _PLAIN.fullmatch(name):
        return any(_is_read_only(f"{name} {text}", shell) for text in _read_only(shell))
    if not words and not pattern.exact:
        return (
            not start
            or any(each.startswith(start) for each in chain(shell.programs, runners(shell)))
            or not _PLAIN.fullmatch(start)
        )
    if words and not pattern.exact:
        words[-1] += _OPEN  # goes on
    if not ODD.isdisjoint(name) or not _NO_ODD.fullmatch(name):
        return True
    program = shell.programs.get(name)
    if name in runners(shell) and not (program and not _runs_another(program)):
        wrappers = (shell.wrapping.granting.get(name), shell.wrapping.denying.get(name))
        known = [each for each in wrappers if each is not None]
        return program is not None or not known or any(each.quiet for each in known)
    return program is not None and _may_take(program, [word for word in words if word])


# The name of a program that is no path, assignment or pattern.
_NO_ODD: Final = re.compile(r"[^/=!~?\[]*")


def _runs_another(program: Program) -> bool:
    return program.runs or any(form.runs for form in program.forms)


def _may_take(program: Program, words: Sequence[str]) -> bool:
    """Return whether a program may be read-only with *words* behind its name, and more."""
    word = words[0] if words else _OPEN
    if program.subcommands and not word.startswith("-"):
        if word.endswith(_OPEN):
            begun = word.removesuffix(_OPEN)
            return any(
                name.startswith(begun) and _may_take(each, ())
                for name, each in program.subcommands.items()
            )
        below = program.subcommands.get(word)
        return below is not None and _may_take(below, words[1:])
    return any(
        form.harmless and _may_take_all(form, words) for form in (program, *program.forms)
    ) or (bool(program.subcommands) and not words)


def _may_take_all(form: Program, words: Sequence[str]) -> bool:
    """Return whether a form of a program may have *words*."""
    for number, word in enumerate(words):
        if word.endswith(_OPEN) or not ODD.isdisjoint(word) or word == "--":
            break
        if not word.startswith("-"):
            if number:
                continue  # the value of an option, or an operand
            if form.most == 0 or (form.first and not re.fullmatch(form.first, word)):
                return False
        elif form.flags is not None and len(word) > 1 and not (form.runs and number):
            known = (form.flags, form.values, form.files, form.needs, form.given, form.skipped)
            pair = f"{words[number - 1]} {word}" if number else ""
            if not (
                any(re.fullmatch(each, word) for each in known if each)
                or (
                    form.pairs
                    and (_may_begin(form.pairs, f"{word} ") or re.fullmatch(form.pairs, pair))
                )
            ):
                return False
    return True


@lru_cache(maxsize=4096)
def _may_begin(pattern: str, text: str) -> bool:
    """Return whether a text that the expression *pattern* matches may begin with *text*."""
    left = expression(pattern)
    for letter in text:
        left = left.after(letter_of(letter))
    return left is not NOTHING


def _runs_more(one: _Row, other: _Row) -> bool:
    """Return whether *one* may take a command to be read-only that *other* does not."""
    if other.denies_files and not one.denies_files:
        return True
    shells = (attrs.evolve(row.shell, awaited=None) for row in (one, other))
    return one.programs != other.programs and not runs_no_more(*shells)


# A word that a pattern does not end.
_OPEN: Final = "\0"


# --- samples


def _some_of_each(found: Sequence[Difference]) -> Iterator[Difference]:
    """Yield differences, those first that show another change than the ones before."""
    kinds: dict[Effects, list[Difference]] = {}
    for each in found:
        kinds.setdefault(each.effects, []).append(each)
    for some in zip_longest(*kinds.values()):
        yield from filter(None, some)


# Stands for a file in a command that opens it.
_FILE: Final = "q7w"


def _forms(text: str, shell: Shell) -> Iterator[str]:
    """Yield commands with the simple command *text* in them."""
    yield from _wrapped(text, shell)
    yield from _in_quotes(text)
    quoted = shlex.quote(text)
    for name in sorted(shell.kinds.scripted):
        yield f"bash -c {shlex.quote(f'{text}; {name} q7z')}"
    yield from (f"bash -c {quoted}", f"sh -c {quoted}", f"eval {text}", f"{text} $x", f"{text} &")
    yield from (f"({text})", f"$({text})", f"echo $({text})", f"cd q7y && {text}", f"{text} > q7z")
    yield from (f"if q7z; then {text}; fi", f"({text}", f"{text} <<< q7z", f"q7z | {text}")


def _wrapped(text: str, shell: Shell) -> Iterator[str]:
    wrapping = shell.wrapping
    names = sorted({*wrapping.transparent, *wrapping.granting, *wrapping.names})
    yield from (
        f"{each} {text}" for each in ("sudo", "timeout 5", "A=1", "LANG=C", "nice -n 5", "!")
    )
    yield from (f"{name} {text}" for name in names if name != "sudo")
    yield from (f"timeout 5 sudo {text}", f"A=1 sudo {text}", f"xargs sudo {text}", f"/bin/{text}")
    yield f"./{text}"


def _quoted_operators(word: str) -> str:
    return shlex.quote(word) if _PARTS.search(word) else word


def _in_quotes(text: str) -> Iterator[str]:
    """Yield *text* with quotes or blanks that no rule spells out."""
    program, blank, rest = text.partition(" ")
    yield f"'{program}'{blank}{rest}"
    yield f"\\{text}"
    if rest:
        yield f"{program} {shlex.quote(rest)}"
        yield f"{program}  {rest}"
        last = rest.rpartition(" ")[2]
        yield f"{text.removesuffix(last)}'{last}'"
        yield f"{program} '{rest.partition(' ')[0]}'{rest.removeprefix(rest.partition(' ')[0])}"
    yield f"{text} 'q'"


def _joined(views: Sequence[View], changed: Sequence[str], others: Sequence[str]) -> Iterator[str]:
    """Yield compound commands that a rule matches as a whole."""
    wholes = dict.fromkeys(
        pattern
        for view in views
        for entry, pattern in zip(view.entries, view.patterns, strict=True)
        if entry.effect is not ALLOW and entry.reason not in BY_DEFAULT and may_join(pattern)
    )
    for whole in islice(wholes, _BESIDE):
        text = freeze(whole, "q7z")
        yield from (text, f"q7z | {text}", f"{text} > q7z")
        begins = [
            one
            for one in (*changed, *others)
            if whole.tokens and one.startswith(prefix_of(whole).split(" ")[0])
        ]
        for one, other in product(
            dict.fromkeys([*begins, "q7z"]), dict.fromkeys((*changed, *others))
        ):
            for sign in (" | ", "; ", " && "):
                both = f"{one}{sign}{other}"
                filled = freeze(whole, f"q7z{sign}{other}")
                for each in (both, filled):
                    if whole.matches(each):
                        yield from (each, f"{each} > q7z")


def _read_only_like(text: str, shell: Shell) -> Iterator[str]:
    """Yield read-only commands of the program that *text* names."""
    name = text.partition(" ")[0]
    yield from _known_read_only(name, shell)
    if name in ("[", "[["):
        yield f"{text} {']' * len(name)}"


@lru_cache(maxsize=4096)
def _known_read_only(name: str, shell: Shell) -> tuple[str, ...]:
    program = shell.programs.get(name)
    known = _calls("", {name: program}) if program else ()
    return tuple(text for text in dict.fromkeys(known) if _is_read_only(text, shell))


@lru_cache(maxsize=16)
def _read_only(shell: Shell) -> tuple[str, ...]:
    """Return read-only commands that open no file."""
    texts = (text for name in shell.programs for text in (name, f"{name} q7z"))
    quiet = (
        text
        for text in texts
        if _is_read_only(text, shell) and not read_alike(text, shell).redirections
    )
    return tuple(islice(quiet, 6))


def _is_read_only(text: str, shell: Shell) -> bool:
    return [part.harmless for part in read_alike(text, shell).parts] == [True]


def _calls(before: str, programs: Mapping[str, Program]) -> Iterator[str]:
    for name, program in programs.items():
        for form in (program, *program.forms):
            needs, first = _shortest(form.needs), _shortest(form.first)
            for words in product(dict.fromkeys(("", needs)), dict.fromkeys(("", first, "q7z"))):
                yield " ".join(filter(None, (f"{before}{name}", *words)))
        yield from _calls(f"{before}{name} ", program.subcommands)


@lru_cache(maxsize=16)
def _openers(shell: Shell) -> dict[str, dict[str, bool]]:
    """Return commands that open a file, by the tool that this is a call of.

    Each with whether it is read-only; those that are come first.
    """
    found: dict[str, dict[str, bool]] = {}
    for text in _opening("", shell.programs):
        command = read_alike(text, shell)
        for file in command.redirections:
            if file.target == _FILE:
                read_only = all(part.harmless for part in command.parts)
                found.setdefault(file.tool, {})[text] = read_only
    return {
        tool: dict(sorted(texts.items(), key=lambda each: not each[1]))
        for tool, texts in found.items()
    }


def _opened_too(tool: str, shell: Shell) -> list[str]:
    """Return the other tools as which each program opens a file that it opens as *tool*.

    What removes a file writes to it too.
    """
    openers = _openers(shell)
    texts = openers.get(tool, {}).keys()
    return [also for also in openers if texts and also != tool and texts <= openers[also].keys()]


def _opening(before: str, programs: Mapping[str, Program]) -> Iterator[str]:
    for name, program in programs.items():
        for form in (program, *program.forms):
            if form.reads is form.writes is Files.NONE and not form.removes:
                continue
            option, first = _shortest(form.needs), _shortest(form.first)
            for operands in ((first, _FILE), ("q7z", _FILE), (_FILE, "q7z")):
                yield " ".join(filter(None, (f"{before}{name}", option, *operands)))
        yield from _opening(f"{before}{name} ", program.subcommands)


@lru_cache(maxsize=4096)
def _shortest(text: str) -> str:
    return (expression(text).shortest() or "") if text else ""


def _as_named(path: str, cwd: str) -> str:
    """Return a file as a command may name it."""
    return shlex.quote(path.removeprefix(cwd.rstrip("/") + "/") or "/")
