"""What one rule set says of one tool: an ordered first-match list.

Cost does not grow with the number of rules: all patterns of a row run at once
(`policy.patterns.automaton`), and the outcome of each entry is made once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import attrs

from policy import limits
from policy.calls import (
    NO_FIELD,
    Unreadable,
    argument_text,
    canonical_path,
    parameter_text,
    real_path,
    stranger_path,
)
from policy.decision import Reason
from policy.dialect import Argument, ArgumentKind, Shell
from policy.effect import Effect
from policy.patterns.automaton import NO_MATCH, Automaton, State
from policy.patterns.pattern import Kind, Pattern
from policy.patterns.tokens import Token
from policy.shell.commands import Command, Part, Redirection, compound, read_command
from policy.shell.powershell import read_powershell

if TYPE_CHECKING:
    from policy.ruleset import RuleSet
    from policy.source import Place

__all__ = ["KINDS", "Lines", "Outcome", "ReadCommand", "Row", "RowEntry"]

ReadCommand = Callable[[str, Shell], Command]


@attrs.frozen
class RowEntry:
    """One line of a row; without a pattern it decides every call that reaches it."""

    pattern: Pattern | None
    field: str
    effect: Effect
    reason: Reason
    rule: str
    place: Place | None


@attrs.frozen(eq=False)
class Outcome:
    """What a row says of a call: the entries are the reasons."""

    effect: Effect
    reason: Reason
    entries: tuple[RowEntry, ...] = ()


# The patterns that each kind of argument is matched with.
KINDS: Final = {
    ArgumentKind.TEXT: Kind.TEXT,
    ArgumentKind.COMMAND: Kind.TEXT,
    ArgumentKind.POWERSHELL: Kind.TEXT,
    ArgumentKind.PATH: Kind.PATH,
    ArgumentKind.URL: Kind.HOST,
    ArgumentKind.LENIENT: Kind.TEXT,
    ArgumentKind.FILES: Kind.TEXT,
    ArgumentKind.JOINED: Kind.TEXT,
    ArgumentKind.JSON: Kind.TEXT,
}


@attrs.frozen(cache_hash=True)
class Lines:
    """All that decides, for every call, what a row grants.

    Attributes:
        entries: of each what counts, and whether somebody wrote it.
        default: the effect where none of them matches, and the reason.
        argument: what they speak of.
        beside: what else is asked.

    """

    entries: tuple[tuple[Pattern | None, str, Effect, Reason, bool], ...]
    default: tuple[Effect, Reason]
    argument: Argument
    beside: object


# A command opens files: other rows are asked as well.
_OPENING = frozenset({ArgumentKind.COMMAND, ArgumentKind.POWERSHELL})

# Arguments of which one text is all that is read.
_ONE_TEXT = frozenset(
    {ArgumentKind.TEXT, ArgumentKind.COMMAND, ArgumentKind.LENIENT, ArgumentKind.PATH}
)


class Row:
    """An ordered first-match list for one tool of one rule set.

    Attributes:
        entries: the lines that look at the arguments.
        default: the outcome where none of them matches.
        constant: the outcome of every call, where all get the same one.
        argument: what the rules speak of.
        field: the argument that decides alone where it is a text and *alias*
            is not in the call; `NO_FIELD` where there is none such.
        alias: the other name of that argument, or `NO_FIELD`.
        kind: the kind of its patterns.

    """

    __slots__ = (
        "_direct",
        "_files",
        "_indices",
        "_is_path",
        "_lines",
        "_longest",
        "_outcomes",
        "_parameters",
        "alias",
        "argument",
        "automaton",
        "constant",
        "default",
        "entries",
        "field",
        "kind",
        "ruleset",
        "tool",
    )

    def __init__(
        self,
        entries: Iterable[RowEntry],
        default: Effect,
        default_reason: Reason,
        tool: str,
        ruleset: RuleSet,
    ) -> None:
        self.tool = tool
        self.ruleset = ruleset
        self.argument = ruleset.dialect.argument(tool)
        self.kind = KINDS[self.argument.kind]
        self.default = Outcome(default, default_reason)
        kept: list[RowEntry] = []
        for entry in entries:
            if entry.pattern is None:
                self.default = Outcome(entry.effect, entry.reason, (entry,))
                # Neighbours that say the same of some calls add nothing, in any order.
                while kept and kept[-1].effect is entry.effect and kept[-1].reason is entry.reason:
                    kept.pop()
                break
            kept.append(entry)
        self.entries = tuple(kept)
        self._outcomes = [Outcome(e.effect, e.reason, (e,)) for e in kept]
        self._files = self._opens_files()
        self.constant = None if kept or self._files else self.default
        self._compile()

    def _opens_files(self) -> bool:
        """Whether rules about files decide calls that no rule of this row looks at."""
        if self.argument.kind is not ArgumentKind.COMMAND or self.default.effect is Effect.DENY:
            return False
        shell = self.ruleset.dialect.shell
        if shell.whole:
            return self.ruleset.default_reason in _BY_DEFAULT
        rows = [self.ruleset.row(tool) for tool in (shell.output, shell.input) if tool]
        said = [entry for row in rows for entry in (*row.entries, *row.default.entries)]
        return any(entry.effect < self.default.effect for entry in said)

    def _compile(self) -> None:
        fields: dict[str, list[int]] = {}
        for index, entry in enumerate(self.entries):
            fields.setdefault(entry.field, []).append(index)
        self._indices: Sequence[int] = fields.pop("", [])
        self._parameters = [
            (field, self._run(indices, ""), indices) for field, indices in fields.items()
        ]
        # Beside the rules of a command run the patterns of what must be taken
        # apart before any rule is asked.
        is_command = self.argument.kind is ArgumentKind.COMMAND
        separator = " " if is_command else self.kind.separator
        flags = compound(self.ruleset.dialect.shell) if is_command else ()
        self.automaton = self._run(self._indices, separator, flags)
        named = self.argument.fields
        simple = not self._parameters and len(named) in (1, 2)
        self.field = named[0] if simple else NO_FIELD
        self.alias = named[1] if simple and len(named) > 1 else NO_FIELD
        self._is_path = self.argument.kind is ArgumentKind.PATH
        direct = self.argument.kind in _ONE_TEXT and not (
            self._is_path and self.ruleset.dialect.links
        )
        self._direct = self.field if direct else NO_FIELD
        longest = self.ruleset.dialect.shell.longest if is_command else 0
        self._longest = longest or limits.CALL_CHARACTERS
        self._lines: Lines | None = None

    @property
    def lines(self) -> Lines:
        """All that decides what the row grants: rows with equal ones grant the same."""
        if self._lines is None:
            entries = (
                (e.pattern, e.field, e.effect, e.reason, e.place is None) for e in self.entries
            )
            dialect = self.ruleset.dialect
            alone = self.argument.kind not in _OPENING and not dialect.links
            beside = dialect if alone else (self.ruleset, dialect.links and self.tool)
            default = self.default.effect, self.default.reason
            self._lines = Lines(tuple(entries), default, self.argument, beside)
        return self._lines

    def _run(
        self, indices: Sequence[int], separator: str, flags: Sequence[Sequence[Token]] = ()
    ) -> Automaton:
        tokens = tuple(p.tokens for i in indices if (p := self.entries[i].pattern) is not None)
        return Automaton.shared(tokens, separator, tuple(map(tuple, flags)))

    @property
    def grants_whole(self) -> bool:
        """Whether files that a command opens count only where a rule speaks of them."""
        return self.ruleset.dialect.shell.whole and self.default.effect is Effect.ALLOW

    @property
    def by_rules(self) -> Row:
        """The same where nothing counts that is said by default."""
        entries = (
            attrs.evolve(entry, effect=Effect.ALLOW) if entry.reason in _BY_DEFAULT else entry
            for entry in self.entries
        )
        default = Effect.ALLOW if self.default.reason in _BY_DEFAULT else self.default.effect
        return Row(entries, default, self.default.reason, self.tool, self.ruleset)

    @property
    def unasked(self) -> Effect:
        """The effect of what runs where no rule speaks of it, where no entry matches."""
        by_default = self.default.reason in _BY_DEFAULT
        return Effect.ALLOW if by_default else self.default.effect

    @property
    def grants_nothing(self) -> bool:
        """Whether it is plain that every call is denied; a host may know more of commands."""
        dialect = self.ruleset.dialect
        plain = self.argument.kind not in _OPENING or (
            self.argument.kind is ArgumentKind.COMMAND and not dialect.shell.programs
        )
        return (
            plain
            and not dialect.links
            and self.default.effect is Effect.DENY
            and all(entry.effect is Effect.DENY for entry in self.entries)
        )

    @property
    def has_parameters(self) -> bool:
        """Whether entries look at other arguments than the one."""
        return bool(self._parameters)

    def outcome(self, call: Mapping[str, object], read: ReadCommand = read_command) -> Outcome:
        """Return what the row says of a call with these arguments. Never raises.

        Args:
            call: the arguments.
            read: `read_command`, or what remembers its answers.

        """
        text = call.get(self._direct)
        if type(text) is not str or len(text) > self._longest or self.alias in call:
            return self._outcome(call, read)
        if self._is_path:
            given = text
            try:
                text = canonical_path(given, self.ruleset.dialect)
            except Unreadable:
                return self._outcome(call, read)
            if text != given and self.ruleset.dialect.cased:
                return self._outcome(call, read)
        # `Automaton.first`, written out: this is where a call spends its time.
        edges: Any = self.automaton.start.edges
        try:
            for character in text:
                edges = edges[character]
            state: State = edges[""]
        except KeyError:
            state = self.automaton.walk(text)
        if state.flagged:
            return self._command(read(text, self.ruleset.dialect.shell), NO_MATCH)
        return self.default if state.first == NO_MATCH else self._outcomes[state.first]

    def _outcome(self, call: Mapping[str, object], read: ReadCommand) -> Outcome:
        if self.constant is not None:
            return self.constant
        try:
            limit = self._first_parameter(call) if self._parameters else NO_MATCH
            if not self._indices and not self._files:
                return self._at(limit)
            text = argument_text(self.argument, self.ruleset.dialect, call)
        except Unreadable as unreadable:
            asked = self._indices or self.ruleset.dialect.shell.whole
            if self._files and not asked and unreadable.reason is Reason.MALFORMED:
                return self._at(limit)  # no command, so it opens no file
            return _UNREADABLE[unreadable.reason]
        if self.argument.kind is ArgumentKind.COMMAND:
            return self._command(read(text, self.ruleset.dialect.shell), limit)
        if self.argument.kind is ArgumentKind.POWERSHELL:
            return self._command(read_powershell(text, self.ruleset.dialect.commands), limit)
        if self.argument.kind is not ArgumentKind.PATH:
            return self._at(min(self.first(text), limit))
        stranger = argument_text(self.argument, self.ruleset.dialect, call, stranger=True)
        return self.file_outcome(text, stranger, limit)

    def file_outcome(self, path: str, stranger: str, limit: int = NO_MATCH) -> Outcome:
        """Return what the row says of a path, and of the other as which it is judged too."""
        found = self.path_outcome(path, limit)
        if stranger == path:
            return found
        return min(found, self.path_outcome(stranger, limit), key=_strictness)

    def path_outcome(self, path: str, limit: int = NO_MATCH) -> Outcome:
        """Return what the row says of a canonical path, and of the file that it leads to.

        What a rule denies under either name is denied. Otherwise the file that a
        command reads decides alone; what it writes behind a link out of the
        working folders is asked for in any case; and a tool needs both names.
        """
        named = self._at(min(self.first(path), limit))
        if not self.ruleset.dialect.links:
            return named
        try:
            real = real_path(path, self.ruleset.dialect)
        except Unreadable as unreadable:
            return _UNREADABLE[unreadable.reason]
        if real == path:
            return named
        led_to = self._at(min(self.first(real), limit))
        found = min(named, led_to, key=_strictness)
        if found.effect is Effect.DENY and found.reason not in _BY_DEFAULT:
            return found
        shell = self.ruleset.dialect.shell
        if self.tool in (shell.reads, shell.input):
            return led_to
        if self.tool in (shell.writes, shell.output):
            writes = self.ruleset.row(shell.writes).outcome_at(real)
            inside = writes.effect is Effect.ALLOW and writes.reason in _BY_DEFAULT
            alike = named.reason is led_to.reason and (inside or named.reason is Reason.RULE)
            return found if alike or self.default.effect is Effect.ALLOW else self._guarded
        if found.effect is Effect.ALLOW:
            from_default = named.reason in _BY_DEFAULT and led_to.reason not in _BY_DEFAULT
            return self._unsure if from_default else named
        # Whoever else could judge a call, this is asked of somebody.
        return _UNANALYSABLE if found.reason is Reason.CLASSIFIER else found

    def first(self, text: str) -> int:
        """Return the index of the first entry that matches an argument, or NO_MATCH."""
        index = self.automaton.first(text)
        return NO_MATCH if index == NO_MATCH else self._indices[index]

    def outcome_at(self, text: str) -> Outcome:
        """Return what the row says of an argument that was read already."""
        return self._at(self.first(text))

    def _at(self, index: int) -> Outcome:
        return self.default if index == NO_MATCH else self._outcomes[index]

    def _first_parameter(self, call: Mapping[str, object]) -> int:
        first = NO_MATCH
        for field, automaton, indices in self._parameters:
            text = parameter_text(call[field]) if field in call else None
            index = NO_MATCH if text is None else automaton.first(text)
            if index != NO_MATCH:
                first = min(first, indices[index])
        return first

    def _command(self, command: Command, limit: int) -> Outcome:
        outcomes = [self._part(part, limit) for part in command.parts]
        outcomes = self._spelled_out(command.whole, outcomes)
        shell = self.ruleset.dialect.shell
        passed = _BY_DEFAULT if shell.whole else _SILENT
        whole = (self.default.effect is Effect.ALLOW if shell.whole else not self.entries) and all(
            outcome is self.default for outcome in outcomes
        )
        if command.unread and self.entries:
            outcomes.append(self._unsure)  # a rule that might speak of it cannot be asked
        for redirection in command.redirections:
            outcome = self._redirection(redirection)
            if not (whole and outcome.reason in passed):
                outcomes.append(outcome)
        if not command.parts:
            # No parts is never allowed: there is nothing that a rule granted.
            outcomes.append(self._part(Part("", grantable=False), limit))
        return min(outcomes, key=_strictness)

    def _spelled_out(self, texts: tuple[str, ...], outcomes: list[Outcome]) -> list[Outcome]:
        """Return *outcomes* with what rules say that spell out the command as a whole."""
        for number, text in enumerate(texts):
            index = self.first(text)
            if index == NO_MATCH:
                continue
            pattern, outcome = self.entries[index].pattern, self._at(index)
            exact = pattern is not None and pattern.exact
            if outcome.effect is Effect.ALLOW:
                if exact and all(one.reason in _BY_DEFAULT for one in outcomes):
                    return [outcome]
            elif exact or number:
                outcomes = [*outcomes, outcome]
        return outcomes

    def _part(self, part: Part, limit: int) -> Outcome:
        first = min(self._granting(part), limit)
        # A rule that knows the command under any of its readings holds. Of several it
        # is the strictest, wherever each stands, but where a host ranks its rules.
        known = [index for reading in part.readings if (index := self.first(reading)) != NO_MATCH]
        known = [index for index in known if self._at(index).effect is not Effect.ALLOW]
        is_granted = first != NO_MATCH and self._at(first).effect is Effect.ALLOW
        if not known or not (is_granted or first == NO_MATCH):
            known.append(first)
        ranked = self.ruleset.dialect.shell.control
        granted = self._at(
            min(known) if ranked else min(known, key=lambda one: (self._at(one).effect, one))
        )
        if part.written and granted.effect is not Effect.DENY and granted.reason in _BY_DEFAULT:
            for text in part.written:
                written = self.first(text)
                if written != NO_MATCH and self._at(written).effect is Effect.ALLOW:
                    granted = self._at(written)
                    break
        for reading in part.doubtful:
            index = self.first(reading)
            if index != NO_MATCH and self._at(index).effect is Effect.DENY:
                granted = min(granted, self._unsure, key=_strictness)
        is_default = granted is self.default
        if part.harmless and is_default and granted.effect is not Effect.ALLOW:
            return _HARMLESS if self.default.reason in _BY_DEFAULT else granted
        if part.deferred and is_default and granted.reason not in _BY_DEFAULT:
            return min(granted, self._unsure, key=_strictness)
        if granted.effect is Effect.ALLOW and not part.grantable:
            return granted if is_default and self.ruleset.dialect.shell.whole else self._unsure
        return granted

    def _granting(self, part: Part) -> int:
        """Return the first entry that matches a part as rules that allow know it."""
        first = self.first(part.text)
        if part.inexact and first != NO_MATCH and self._at(first).effect is Effect.ALLOW:
            pattern = self.entries[first].pattern
            if pattern is not None and pattern.exact:
                return self.first(part.text + " \x1f")  # any other argument
        return first

    @property
    def _unsure(self) -> Outcome:
        if not self.ruleset.dialect.asks:
            return _REFUSED
        return _JUDGED if self.ruleset.default_reason is Reason.CLASSIFIER else _UNANALYSABLE

    @property
    def _guarded(self) -> Outcome:
        return _GUARDED if self._unsure is _UNANALYSABLE else _GUARDED_REFUSED

    def _redirection(self, redirection: Redirection) -> Outcome:
        shell = self.ruleset.dialect.shell
        tool = redirection.tool or (shell.output if redirection.writes else shell.input)
        if not tool:
            return _HARMLESS
        if redirection.guarded:
            return self._guarded
        row = self.ruleset.row(tool)
        if redirection.shadowed:
            every = self.ruleset.row(shell.shadows).default if shell.shadows else self.default
            said = {(entry.effect, entry.reason) for entry in row.entries}
            said.add((every.effect, every.reason))
            return self._unsure if (Effect.DENY, Reason.RULE) in said else _HARMLESS
        if redirection.target is None:
            # Whichever file it is, what denies every file denies it.
            constant = row.constant
            return constant if constant and constant.effect is Effect.DENY else self._unsure
        if row.constant is not None:
            return row.constant
        try:
            path = canonical_path(redirection.target, self.ruleset.dialect)
            if not self.ruleset.dialect.cased:
                return row.path_outcome(path)
            stranger = stranger_path(redirection.target, self.ruleset.dialect)
            return row.file_outcome(path, stranger)
        except Unreadable:
            return self._unsure


_UNREADABLE = {
    reason: Outcome(Effect.DENY, reason) for reason in (Reason.MALFORMED, Reason.TOO_LONG)
}


def _strictness(outcome: Outcome) -> tuple[Effect, bool]:
    # Of two that are equally strict, a rule says more than a default.
    return outcome.effect, outcome.reason in _BY_DEFAULT


# What a rule for any command overrides where the host's shell says so.
_BY_DEFAULT = frozenset({Reason.DEFAULT, Reason.CLASSIFIER, Reason.UNANALYSABLE})
_SILENT = frozenset({Reason.DEFAULT})
_UNANALYSABLE = Outcome(Effect.ASK, Reason.UNANALYSABLE)
_JUDGED = Outcome(Effect.ASK, Reason.CLASSIFIER)
_REFUSED = Outcome(Effect.DENY, Reason.UNANALYSABLE)
_GUARDED = Outcome(Effect.ASK, Reason.PROTECTED)
_GUARDED_REFUSED = Outcome(Effect.DENY, Reason.PROTECTED)
_HARMLESS = Outcome(Effect.ALLOW, Reason.DEFAULT)
