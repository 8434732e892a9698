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

A change that the fold returns and that no text shows is tried on samples: commands of the changed
rules behind wrappers, in quotes and scripts, beside other commands, and with files. If no sample
shows it either, the comparison is not exact.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from itertools import chain, islice, product
from typing import Final, cast

import attrs

from policy.commands.compound import BOXES, SHELLS
from policy.commands.knowledge import Files, Program, Shell
from policy.commands.match_texts import MORE
from policy.commands.parts import Redirection
from policy.compare.meaning import meaning
from policy.compare.overlap import leads_another, may_unwrap
from policy.compare.pair import OVERLAPS, search_together
from policy.compare.reads import read_alike
from policy.compare.sides import ListSide, Sides
from policy.compare.tool_pair import ToolPair
from policy.compare.view import View, by_rules, grants_whole, prefix_of, runs_no_more
from policy.compare.witness import CHANGES, CallShape, Difference, Effects, signature, weaker
from policy.core.effect import Effect
from policy.patterns.domains import ANY_TEXT
from policy.patterns.expressions import expression
from policy.patterns.pattern import Pattern, freeze
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

# Pairs of rows that are folded, before any change is taken to be possible.
_ROW_PAIRS: Final = 36

# Changed rules of each kind whose commands are tried, and rules that allow tried beside them.
_CHANGED: Final = 6
_BESIDE: Final = 12
_SAMPLES: Final = 4_000


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
        del chosen
        named = text.replace(self.fresh, "q7z")
        again = chain([f"{named} $x"], _in_quotes(named), _wrapped(named, self.shell))
        for each in again:
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
        shown = weaker(effects) | self.precluded
        left = self._possible(CHANGES - shown)
        if not left:
            return
        files = self._files()
        for text in islice(dict.fromkeys(self._samples(files)), _SAMPLES):
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

    # --- which changes are possible

    def _possible(self, wanted: Collection[Effects]) -> dict[Effects, str]:
        """Return those of *wanted* that some command may show, and why it would be missed."""
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
                some: dict[Effects, str] = dict.fromkeys(left, OVERLAPS)
                for other in others:
                    pair = (row, other) if widened else (other, row)
                    folded = _Fold(*pair, waits=waits, files=self._opened(*pair)).changes()
                    reasons = _up_to(folded, widened=widened)
                    some = {
                        each: reasons[each] if why == OVERLAPS else why
                        for each, why in some.items()
                        if each in reasons
                    }
                    if not some:
                        break
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
                for each in islice(chain(stated, plain), 8)
            ]
            for tool, plain, stated in self._differences(rows)
        }

    def _differences(
        self, sides: Sequence[Sequence[Row]]
    ) -> Iterator[tuple[str, Sequence[Difference], Sequence[Difference]]]:
        """Yield tools of files, with the differences of all files, and of those rules apply to."""
        whole = any(grants_whole(row) for side in sides for row in side)
        for tool in self.shell.files.opening:
            files = [[row.opening(tool) for row in side] for side in sides]
            if [*map(meaning, files[0])] == [*map(meaning, files[1])]:
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
        yield from (freeze(pattern, "q7z") for pattern in islice(self._allowing(), 100))
        for text in changed:
            yield from _forms(text, shell)
            for start in starts:
                yield start + text
                yield f"{start}-c {shlex.quote(text)}"
                yield f"{start}{shlex.quote(text)}"
            for other in (*allowed, *read_only[:2], "q7z"):
                yield from (f"{text} | {other}", f"{other} | {text}", f"{other}; {text} > q7z")
        for text in (*read_only[:2], *allowed, "q7z"):
            yield from (f"{text} &", f"{text} $x", f"{text} > q7z", f"({text}")
        for text in read_only:
            yield from _wrapped(text, shell)
        yield from _joined(self.views, changed, [*allowed, *read_only[:2], "q7z"])
        yield from self._with_files(files, [*read_only[:2], *allowed, "q7z"], starts)

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
        for view in self.views:
            for entry, pattern in zip(view.entries, view.patterns, strict=True):
                if entry.effect is ALLOW:
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
        by_default: whether nobody wrote that.
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
        strict = [entry.effect for entry, _ in self.lines if entry.effect is not ALLOW]
        return self.shell.control and strict != sorted(strict)

    @cached_property
    def shell(self) -> Shell:
        """How it reads commands."""
        return self.row.ruleset.dialect.shell if self.row else Shell()

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

    def outcomes(self) -> set[Effect]:
        """Return the effects that some command may get."""
        if self.row is None or self.view is None:
            return {self.default}
        found = {self.unsure, self.doubted, *(self.answers - {_NONE})}
        if _NONE in self.answers:
            found |= {self.default, *([ALLOW] if self.by_default and self.shell.programs else [])}
        for tool in self.shell.files.opening:
            files = self.row.opening(tool)
            found.update((files.default.effect, *(entry.effect for entry in files.entries)))
        return found

    @cached_property
    def _is_limited(self) -> bool:
        """Whether a rule about another argument decides where no rule matches the text."""
        return self.view is not None and self.view.shell is not self.shell

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
            return effect & ASK  # nobody but a rule for all commands allows that it goes on
        return effect & self.unsure if background > 1 else effect


def _rows(lookup: Lookup, views: Sequence[View]) -> list[_Row]:
    rows = [_Row.of(row, view) for (row, _), view in zip(lookup.rows, views, strict=True)]
    return [*rows, _Row(lookup.floor, lookup.floor)]


class _Answers(Sides):
    """The answers of two rows to the same text, of those where they differ.

    Attributes:
        pairs: each pair of different answers to some text.
        exact: whether these are all.

    """

    def __init__(self, one: View, other: View) -> None:
        sides = (ListSide((attrs.evolve(view, default=_NONE),)) for view in (one, other))
        super().__init__(*sides)
        self.pairs: set[Effects] = set()
        self.exact = True
        for view, line in self.edits if len(self.views) > 1 else ():
            own = self.views[view].effect(line)
            others = [each for each in (*Effect, _NONE) if each is not own]
            while not self.pairs.issuperset((own, e) if view == 0 else (e, own) for e in others):
                found = search_together(self, [ANY_TEXT], (), seen=self.pairs, view=view, line=line)
                self.exact &= found.exact
                if found.text is None:
                    break
                self.pairs.add(self.answers(found.text))

    def changed(self, may: Callable[[Pattern], bool]) -> set[Effects]:
        """Return the pairs that may come of a changed rule whose pattern *may* be of some kind."""
        own = {
            (view, self.views[view].effect(line))
            for view, line in self.edits
            if (pattern := self.pattern(view, line)) is not None and may(pattern)
        }
        return {pair for pair in self.pairs if (0, pair[0]) in own or (1, pair[1]) in own}

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
        rewritten: whether rules match the same and are written in another way.

    """

    plain: Sequence[Effects]
    stated: Sequence[Effects]
    rewritten: bool


class _Fold:
    """What two rows may say of a command, folded from their answers to texts.

    Args:
        one: a row.
        other: the other.
        waits: whether commands in the background may differ.
        files: how both decide files differently that commands open, by tools.

    """

    def __init__(self, one: _Row, other: _Row, *, waits: bool, files: Mapping[str, _Files]) -> None:
        self._rows = (one, other)
        self._waits = waits
        self._files = files

    def changes(self) -> dict[Effects, str]:
        """Return the pairs of effects, and what has to stand together in a command with each."""
        one, other = self._rows
        if one.view is None or other.view is None:
            pairs = product(one.outcomes(), other.outcomes())
            return {pair: TOGETHER for pair in pairs if pair[0] is not pair[1]}
        answers = self._answers = _Answers(one.view, other.view)
        if not answers.exact:
            return dict.fromkeys(CHANGES, OVERLAPS)
        texts = self._texts(answers)
        parts, scripts = self._parts(texts)
        found = dict.fromkeys(parts, WRAPPED)
        together = _closed(parts | self._unread())
        files = self._with_files(together, scripts)
        together = _closed(together | self._joined(together, texts, files))
        found = dict.fromkeys(together, TOGETHER) | found
        with_files = _closed(together | self._with_files(together, scripts))
        found = dict.fromkeys(with_files, FILES) | found
        return {pair: why for pair, why in found.items() if pair[0] is not pair[1]}

    def _texts(self, answers: _Answers) -> dict[Effects, bool]:
        """Return pairs of answers to some text, and whether a read-only command may have it."""
        views = [row.view for row in self._rows if row.view is not None]
        said = [row.answers for row in self._rows]
        texts = dict.fromkeys(answers.pairs, False)
        texts |= dict.fromkeys(answers.changed(self._may_be_read_only), True)
        texts |= {(each, each): True for each in said[0] & said[1]}
        if not self._rows[0].shell.control or len(answers.views) == 1:
            return texts
        # A rule that allows may not match what its text goes on with, or not complete a word.
        for view in views:
            for entry, pattern in zip(view.entries, view.patterns, strict=True):
                if entry.effect is ALLOW and isinstance(pattern.tokens[-1], str):
                    text = freeze(pattern, answers.fresh)
                    (one, other), more = answers.answers(text), answers.answers(text + MORE)
                    one = more[0] if one is ALLOW else one
                    other = more[1] if other is ALLOW else other
                    texts.setdefault((one, other), True)
        ends = [{each for each in view.patterns if _ends_within_word(each)} for view in views]
        for pair in [*texts] if any(ends) else ():
            if pair in answers.pairs or (pair == (ALLOW, ALLOW) and ends[0] != ends[1]):
                ways = [(each, _NONE) if each is ALLOW else (each,) for each in pair]
                texts = {(ways[0][-1], ways[1][-1]): True, (ways[0][0], ways[1][-1]): True} | texts
                texts.setdefault((ways[0][-1], ways[1][0]), True)
        return texts

    def _parts(self, texts: Mapping[Effects, bool]) -> tuple[set[Effects], set[Effects]]:
        """Return what both may say of one simple command, and of one that runs a script."""
        leads = self._leading(texts, may_unwrap)
        # A rule that allows matches what is behind some wrappers.
        through = self._leading(texts, _may_be_unseen)
        strict, unseen = self._all_strict(leads), self._all_strict(through)
        written = {(False, False)} | {(one is ALLOW, other is ALLOW) for one, other in through}
        commands: dict[tuple[Effects, Effects, tuple[bool, bool]], bool] = {}
        for (text, read_only), known in product(texts.items(), unseen):
            for key in product([text], self._strict(known, text), written):
                commands[key] = commands.get(key, False) or read_only
        for (text, read_only), known in product(texts.items(), strict):
            for lead, inner in product(leads, self._strict(known, text)):
                for key in product([lead], self._strict(inner, lead), written):
                    commands[key] = commands.get(key, False) or (read_only and texts[lead])
        found = set[Effects]()
        for key, read_only in commands.items():
            found |= self._said(*key, harmless=read_only)
        scripts = set[Effects]()
        doubts = {tuple(each is DENY for each in text) for text in texts}
        shells = self._leading(texts, _may_run_script) if self._rows[0].shell.programs else ()
        for lead, known, way in product(shells, strict, written):
            for pair, doubt in product(self._said(lead, known, way, harmless=False), doubts):
                one, other = (
                    effect & row.doubted if is_doubted else effect
                    for effect, row, is_doubted in zip(pair, self._rows, doubt, strict=True)
                )
                scripts.add((one, other))
        return found | scripts, scripts

    def _leading(
        self, texts: Iterable[Effects], may_lead: Callable[[Pattern, Shell], bool]
    ) -> set[Effects]:
        """Return those of *texts* that a command with further match texts may have."""
        shell = self._rows[0].shell
        own = [
            {e.effect for e, pattern in row.lines if may_lead(pattern, shell)} | {_NONE}
            for row in self._rows
        ]
        others = self._answers.pairs - self._answers.changed(lambda each: may_lead(each, shell))
        return {text for text in {*texts} - others if text[0] in own[0] and text[1] in own[1]}

    def _may_be_read_only(self, pattern: Pattern) -> bool:
        return any(_may_be_read_only(pattern, row.shell) for row in self._rows)

    def _strict(self, one: Effects, other: Effects) -> set[Effects]:
        """Return which answers of those to two match texts of one command may decide it.

        That is the strictest, unless a row ranks its rules, and some that ask before others.
        """
        ways = []
        for row, answers in zip(self._rows, zip(one, other, strict=True), strict=True):
            known = {each for each in answers if each in (DENY, ASK)} or {_NONE}
            ways.append(known if row.is_ranked else {min(known)} if _NONE not in known else known)
        return {(before, after) for before, after in product(*ways)}

    def _all_strict(self, texts: Collection[Effects]) -> set[Effects]:
        """Return the same of any of *texts*, and of none."""
        found = {(_NONE, _NONE)}
        for _ in range(4):
            for one, other in product([*found], texts):
                found |= self._strict(one, other)
        return found

    def _said(
        self, text: Effects, strict: Effects, written: tuple[bool, bool], *, harmless: bool
    ) -> set[Effects]:
        """Return what both may say of a simple command.

        Args:
            text: the answers to the text that rules which allow match.
            strict: the answers to its match texts that deny or ask, of which one decides.
            written: whether a rule allows it by its wrapper.
            harmless: whether it may be read-only.

        """
        one, other = self._rows
        either = [(False, False), (True, True)]
        grantable = [*either]
        if (one.default is ALLOW) is not (other.default is ALLOW):
            grantable += [(False, True), (True, False)]  # of a command that runs no program
        background = [(0, 0), (1, 1)]
        if self._waits and one.beside != other.beside:
            background += [(1, 2), (2, 1)]
        read_only = either[: 1 + harmless]
        if harmless:
            read_only += [(True, False)] * _runs_more(one, other)
            read_only += [(False, True)] * _runs_more(other, one)
        found = set()
        for flags in product(read_only, grantable, background):
            if any(flags[0]) and not all(flags[1]):
                continue  # what is read-only a rule may allow
            pair = [
                row.said(
                    text[n],
                    strict[n],
                    written=written[n],
                    read_only=flags[0][n],
                    grantable=flags[1][n],
                    background=flags[2][n],
                )
                for n, row in enumerate(self._rows)
            ]
            found.add((pair[0], pair[1]))
        return found

    def _unread(self) -> set[Effects]:
        """Return what both say of a command that may hold others, beside the rest of it."""
        one, other = (
            row.unsure if row.lines else row.default if row.default is ALLOW else ASK
            for row in self._rows
        )
        return {(one, other)} if one is not other else set()

    def _joined(
        self,
        together: Collection[Effects],
        texts: Mapping[Effects, bool],
        files: Collection[Effects],
    ) -> set[Effects]:
        """Return what both may say of commands that a rule matches with the operators between them.

        A rule with a star that denies or asks counts for a pipe unless all of it is allowed by
        other rules, and for another compound command unless another rule asks for or denies a part.
        """
        found = set[Effects]()
        if not self._rows[0].shell.control:
            return found
        if _spells_otherwise(*self._rows):
            found |= {(ASK, ALLOW), (ALLOW, ASK)}
        rules = [
            {
                pattern: entry.effect
                for entry, pattern in reversed(row.lines)
                if entry.reason not in BY_DEFAULT
                and (may_join(pattern) or (pattern.exact and _OPERATORS.search(str(pattern))))
            }
            for row in self._rows
        ]
        changed = {*self._answers.pairs}
        if len({(row.default, row.by_default, row.programs) for row in self._rows}) > 1:
            changed.add((_NONE, _NONE))
        none = (_NONE, _NONE), (False, False)
        own = set[Effects]().union(
            *(self._said(pair, *none, harmless=texts.get(pair, False)) for pair in changed),
            files,
        )
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
        begun = _OPERATORS.split(prefix_of(pattern), maxsplit=1)[0]
        whole = begun != prefix_of(pattern)
        allows = row.default is ALLOW or any(
            entry.effect is ALLOW
            and (prefix_of(each).startswith(begun) or begun.startswith(prefix_of(each)))
            for entry, each in row.lines
        )
        reads = Pattern.exactly(begun.strip()) if whole else Pattern.text(f"{begun.rstrip()} *")
        return ALLOW if allows or not begun or _may_be_read_only(reads, row.shell) else ASK

    def _with_files(
        self, commands: Collection[Effects], scripts: Collection[Effects]
    ) -> set[Effects]:
        """Return what both may say of *commands* and *scripts* that open files."""
        found = set[Effects]()
        for tool, files in self._files.items():
            opened, scripted = self._opened(tool, files)
            opens = [self._may_open(row, tool) for row in self._rows]
            beside = {
                (was if opens[0] else was & ASK, now if opens[1] else now & ASK)
                for was, now in commands
            }
            found |= _met(beside, opened) | _met(scripts, scripted)
        return found

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
        scripted = set[Effects]()
        for pair in files.plain if one.shell.programs else ():
            denied = [each is DENY for each in pair]
            doubts = [
                row.doubted if no else ALLOW for row, no in zip(self._rows, denied, strict=True)
            ]
            scripted.add((doubts[0], doubts[1]))
            found.add((DENY if denied[0] else ALLOW, DENY if denied[1] else ALLOW))
        for shadowed in (False, True):
            file = Redirection(None, writes=False, tool=tool, shadowed=shadowed)
            if one.row is not None and other.row is not None:
                said = [redirection_outcome(row, file).effect for row in (one.row, other.row)]
                found.add((said[0], said[1]))
        return found, found | scripted

    def _may_open(self, row: _Row, tool: str) -> bool:
        """Return whether a command that is allowed may open a file as a call of *tool*."""
        shell = row.shell
        if tool in (shell.files.output, shell.files.input) or row.default is ALLOW:
            return True
        names = {
            text.partition(" ")[0]: alone for text, alone in _openers(shell).get(tool, {}).items()
        }
        return any(names.values()) or any(
            entry.effect is ALLOW
            and (may_unwrap(pattern, shell) or prefix_of(pattern).partition(" ")[0] in names)
            for entry, pattern in row.lines
        )


# --- what the fold asks of patterns and effects


_OPERATORS: Final = re.compile(r"[;&|\n()<>]")


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


def _denies_otherwise(one: Row, other: Row) -> bool:
    """Return whether rules that deny a folder, or what is in it, match the same."""
    within = [
        {e.pattern: e.form is Form.WITHIN for e in row.entries if e.effect is DENY}
        for row in (one, other)
    ]
    return any(within[1].get(pattern, way) is not way for pattern, way in within[0].items())


def _ends_within_word(pattern: Pattern) -> bool:
    return len(pattern.tokens) > 1 and prefix_of(pattern)[-1:] not in ("", " ")


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


def _may_be_read_only(pattern: Pattern, shell: Shell) -> bool:
    """Return whether a read-only command may have a text that *pattern* matches."""
    if not shell.programs:
        return False
    start = pattern.tokens[0] if pattern.tokens else ""
    words = start.split(" ") if isinstance(start, str) else [""]
    if not (pattern.exact or words[-1] == ""):
        words[-1] = _OPEN  # goes on
    name = words[0]
    if name in ("", _OPEN):
        begun = start if isinstance(start, str) else ""
        return not begun or any(each.startswith(begun) for each in shell.programs)
    program = shell.programs.get(name)
    if name[:1] == "[":
        return True
    if leads_another(name, shell) and not (program and not _runs_another(program)):
        wrappers = (shell.wrapping.granting.get(name), shell.wrapping.denying.get(name))
        known = [each for each in wrappers if each is not None]
        return program is not None or not known or any(each.quiet for each in known)
    return program is not None and _may_take(program, [w for w in words[1:] if w])


def _runs_another(program: Program) -> bool:
    return program.runs or any(form.runs for form in program.forms)


def _may_take(program: Program, words: Sequence[str]) -> bool:
    """Return whether a program may be read-only with *words* behind its name, and more."""
    word = words[0] if words else _OPEN
    if program.subcommands and word != _OPEN and not word.startswith("-"):
        below = program.subcommands.get(word)
        return below is not None and _may_take(below, words[1:])
    if program.subcommands and word == _OPEN:
        return True
    return any(form.harmless and _allows(form, words) for form in (program, *program.forms))


def _allows(form: Program, words: Sequence[str]) -> bool:
    """Return whether a form of a program may have the first of *words*."""
    word = words[0] if words else _OPEN
    if word == _OPEN or form.flags is None or form.pairs or word.startswith("--"):
        return True
    if not word.startswith("-"):
        return form.most != 0 and not (form.first and not re.fullmatch(form.first, word))
    known = (form.flags, form.values, form.files, form.needs, form.given, form.skipped)
    return any(re.fullmatch(each, word) for each in known if each)


def _runs_more(one: _Row, other: _Row) -> bool:
    """Return whether *one* may take a command to be read-only that *other* does not."""
    if other.denies_files and not one.denies_files:
        return True
    shells = (attrs.evolve(row.shell, awaited=None) for row in (one, other))
    return one.programs != other.programs and not runs_no_more(*shells)


# A word that a pattern does not end.
_OPEN: Final = "\0"


# --- samples

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
