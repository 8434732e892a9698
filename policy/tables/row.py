"""A row: the entries of one rule set for one tool, in order; the first match decides.

An index finds the first pattern that matches (`policy.patterns.index`), and the outcome of each
entry is built once, so a decision costs about the same for any number of rules.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from weakref import WeakValueDictionary

from policy.core import limits
from policy.core.decision import Decision, Reason
from policy.core.effect import Effect
from policy.core.memory import Memo
from policy.core.values import TYPE_CHECKING, Any, Final, frozen
from policy.patterns.automaton import NO_MATCH, Automaton
from policy.patterns.index import Indexed
from policy.patterns.pattern import PatternKind
from policy.tables.dialect import ArgumentKind, Inputs

if TYPE_CHECKING:
    from policy.tables.ruleset import Entry, RuleSet


# Kind of argument -> the kind of patterns that match it.
KINDS: Final = {
    **dict.fromkeys(ArgumentKind, PatternKind.TEXT),
    ArgumentKind.PATH: PatternKind.PATH,
    ArgumentKind.URL: PatternKind.HOST,
}


@frozen(eq=False)
class Outcome:
    """The answer of one row to a call: an effect, a reason, and the determining entries.

    Outcomes are compared by identity, since outcomes of different entries have different rules.
    """

    effect: Effect
    reason: Reason
    entries: tuple[Entry, ...] = ()


# The reasons that a rule for any command overrides in some hosts.
BY_DEFAULT: Final = frozenset({Reason.DEFAULT, Reason.CLASSIFIER, Reason.UNANALYSABLE})


def strictness(outcome: Outcome | Decision) -> tuple[Effect, bool]:
    """Return a sort key: the strictest effect first, and of equal effects rules before defaults."""
    return outcome.effect, outcome.reason in BY_DEFAULT


def unsure(rules: RuleSet) -> Outcome:
    """Return the outcome of a call if the engine cannot tell which rules match it."""
    if not rules.dialect.asks:
        return _REFUSED
    return _JUDGED if rules.default_reason is Reason.CLASSIFIER else UNANALYSABLE


def guarded(rules: RuleSet) -> Outcome:
    """Return the outcome of a call that no rule can allow."""
    return _GUARDED if unsure(rules) is UNANALYSABLE else _GUARDED_REFUSED


UNREADABLE: Final = {
    reason: Outcome(Effect.DENY, reason) for reason in (Reason.MALFORMED, Reason.TOO_LONG)
}
UNANALYSABLE: Final = Outcome(Effect.ASK, Reason.UNANALYSABLE)
HARMLESS: Final = Outcome(Effect.ALLOW, Reason.DEFAULT)
_JUDGED: Final = Outcome(Effect.ASK, Reason.CLASSIFIER)
_REFUSED: Final = Outcome(Effect.DENY, Reason.UNANALYSABLE)
_GUARDED: Final = Outcome(Effect.ASK, Reason.PROTECTED)
_GUARDED_REFUSED: Final = Outcome(Effect.DENY, Reason.PROTECTED)


_COMMANDS: Final = frozenset({ArgumentKind.COMMAND, ArgumentKind.POWERSHELL})

# How many calls and files a row caches.
_KEPT: Final = 2048

# The name of no argument, for rows that no argument alone decides.
NO_FIELD: Final[Any] = object()


class Row:
    """An ordered first-match list for one tool of one rule set.

    Attributes:
        tool: the canonical name of the tool.
        ruleset: the rule set.
        argument: the argument that the rules apply to.
        entries: the entries with a pattern, up to the first entry without one.
        default: the outcome of a call that no entry matches.
        opens_files: whether rules about files decide calls that no entry matches.
        constant: the outcome of every call if all calls get the same, else None.
    """

    def __init__(
        self, entries: Iterable[Entry], default: Outcome, tool: str, ruleset: RuleSet
    ) -> None:
        self.tool = tool
        self.ruleset = ruleset
        self.argument = ruleset.dialect.argument(tool)
        self.default = default
        kept: list[Entry] = []
        for entry in entries:
            if entry.pattern is None:
                self.default = Outcome(entry.effect, entry.reason, (entry,))
                # The entries before it with the same effect and reason add nothing.
                while kept and kept[-1].effect is entry.effect and kept[-1].reason is entry.reason:
                    kept.pop()
                break
            kept.append(entry)
        self.entries = tuple(kept)
        self._outcomes = {NO_MATCH: self.default}
        self._opening: dict[str, Row] = {}
        # The cache of outcomes, by the text of the argument that decides alone; that of files: name
        # in a command -> canonical path and outcome; and the values that a host caches, by name.
        self._known: Memo[str, Outcome] = Memo(_KEPT)
        self.named: Memo[str, tuple[str | None, Outcome]] = Memo(_KEPT)
        self.memory: dict[str, object] = {}
        self.opens_files = self._opens_files()
        self.constant = None if kept or self.opens_files else self.default

    @property
    def kind(self) -> PatternKind:
        """The kind of the patterns."""
        return KINDS[self.argument.kind]

    @property
    def inputs(self) -> Inputs | None:
        """The valid values of the arguments; None if all values are valid."""
        dialect = self.ruleset.dialect
        return dialect.inputs.get(dialect.key(self.tool))

    @property
    def has_parameters(self) -> bool:
        """Whether entries match arguments other than `argument`."""
        return bool(self._parameters)

    @cached_property
    def field(self) -> str:
        """The name of the argument that decides alone if it is text and *alias* is absent."""
        names = self.argument.fields
        alone = self.constant is None and not self._parameters and len(names) in (1, 2)
        return names[0] if alone else NO_FIELD

    @cached_property
    def alias(self) -> str:
        """The other name of this argument; `NO_FIELD` without one."""
        names = self.argument.fields
        return names[1] if self.field is not NO_FIELD and len(names) > 1 else NO_FIELD

    @cached_property
    def automaton(self) -> Automaton:
        """The automaton of the patterns, for canonical arguments."""
        return self._run(self.indices, self.kind.separator)

    def outcome(self, call: Mapping[str, object]) -> Outcome:
        """Return the outcome of a call with these arguments. Never raises."""
        if self.constant is not None:
            return self.constant
        text: Any = call.get(self.field)
        if type(text) is not str or self.alias in call:
            return self._outcome_of_argument(call)
        found = self._known.get(text)
        if found is None:
            is_plain = self.argument.kind is ArgumentKind.COMMAND and self._is_plain(text)
            found = self.at(self.first(text)) if is_plain else self._outcome_of_argument(call)
            if len(text) <= limits.CACHED_CHARACTERS:
                self._known.keep(text, found)
        return found

    @cached_property
    def _is_plain(self) -> Callable[[str], bool]:
        """A function that returns whether a command is plain, so that no reader is needed."""
        from policy.commands.reader import is_plain  # noqa: PLC0415  # for commands alone

        shell = self.ruleset.dialect.shell
        longest = shell.longest or limits.CALL_CHARACTERS
        return lambda text: len(text) <= longest and is_plain(text, shell)

    def _outcome_of_argument(self, call: Mapping[str, object]) -> Outcome:
        """Return the outcome of a call whose argument must be made canonical first."""
        dialect, kind = self.ruleset.dialect, self.argument.kind
        last = self.first_parameter(call)
        if not self.indices and not self.opens_files:
            return self.at(last)
        # Not for plain commands; an import with `from` takes as long as reading a short text.
        import policy.tables.calls as calls  # noqa: PLC0415, PLR0402

        try:
            text = calls.argument_text(self.argument, dialect, call)
            other = text
            if kind is ArgumentKind.PATH and dialect.cased:
                other = calls.argument_text(self.argument, dialect, call, variant=True)
        except calls.Unreadable as unreadable:
            asked = self.indices or dialect.shell.whole
            if not asked and unreadable.reason is Reason.MALFORMED:
                return self.at(last)  # no command, so it opens no file
            return UNREADABLE[unreadable.reason]
        if kind in _COMMANDS:
            import policy.tables.command_outcome as commands  # noqa: PLC0415

            return commands.decide_command(self, text, last)
        if kind is ArgumentKind.PATH:
            if text == other and not (dialect.links or dialect.processes):
                return self.at(min(self.first(text), last))
            from policy.tables.file_outcome import file_outcome  # noqa: PLC0415  # for paths alone

            return file_outcome(self, text, other, last)
        if kind is ArgumentKind.URL:
            known = self._addresses
            if known:
                from policy.core.urls import addresses  # noqa: PLC0415  # for URLs alone

                each = addresses(calls.given_text(self.argument, call))
                last = min(last, *(known.get(address, NO_MATCH) for address in each))
        return self.at(min(self.first(text), last))

    def first(self, text: str) -> int:
        """Return the index of the first entry that matches an argument, or NO_MATCH."""
        index = self.automaton.first(text)
        return NO_MATCH if index == NO_MATCH else self.indices[index]

    def at(self, index: int) -> Outcome:
        """Return the outcome if the entry at *index* decides; the default for NO_MATCH."""
        found = self._outcomes.get(index)
        if found is None:
            entry = self.entries[index]
            found = self._outcomes[index] = Outcome(entry.effect, entry.reason, (entry,))
        return found

    def first_parameter(self, call: Mapping[str, object]) -> int:
        """Return the index of the first entry that matches another argument, or NO_MATCH."""
        if not self._parameters:
            return NO_MATCH
        from policy.tables.calls import parameter_text  # noqa: PLC0415  # few rules look at one

        first = NO_MATCH
        for field, automaton, indices in self._parameters:
            text = parameter_text(call[field]) if field in call else None
            index = NO_MATCH if text is None else automaton.first(text)
            if index != NO_MATCH:
                first = min(first, indices[index])
        return first

    def opening(self, tool: str) -> Row:
        """Return the row for files that a command opens, each as a call of the file tool *tool*.

        A rule for all commands grants the files that they open too, unless a rule about files
        applies to them. With `Shell.whole` the command decides that.
        """
        rules = self.ruleset
        files = rules.row(tool)
        if rules.dialect.shell.whole or files.default.entries or not self.default.entries:
            return files
        found = self._opening.get(tool)
        if found is None:
            entries = (*files.entries, *self.default.entries)
            found = self._opening[tool] = Row(entries, rules.otherwise, files.tool, rules)
        return found

    def _opens_files(self) -> bool:
        if self.argument.kind is not ArgumentKind.COMMAND or self.default.effect is Effect.DENY:
            return False
        rules, shell = self.ruleset, self.ruleset.dialect.shell
        if shell.whole and rules.default_reason not in BY_DEFAULT:
            return False
        if shell.whole and (shell.traced or rules.default is not Effect.ALLOW):
            return True
        rows = [self.opening(tool) for tool in shell.files.opening]
        entries = [entry for row in rows for entry in (*row.entries, *row.default.entries)]
        return any(entry.effect < self.default.effect for entry in entries)

    @cached_property
    def _addresses(self) -> dict[str, int]:
        """Host with a part of a path, ``a.com/docs`` -> the index of the entry for it."""
        exact = [(n, e.pattern) for n, e in enumerate(self.entries) if e.pattern and not e.field]
        named = [(str(p), n) for n, p in exact if p.exact and "/" in str(p)]
        return dict(reversed(named))

    @cached_property
    def _by_field(self) -> dict[str, list[int]]:
        fields: dict[str, list[int]] = {}
        for index, entry in enumerate(self.entries):
            fields.setdefault(entry.field, []).append(index)
        return fields

    @cached_property
    def indices(self) -> Sequence[int]:
        """The indices of the entries that match `argument`."""
        return self._by_field.get("", ())

    @cached_property
    def _parameters(self) -> list[tuple[str, Automaton, list[int]]]:
        return [(name, self._run(at, ""), at) for name, at in self._by_field.items() if name]

    def _run(self, indices: Sequence[int], separator: str) -> Automaton:
        patterns = [self.entries[index].pattern for index in indices]
        key = tuple([each.tokens for each in patterns if each is not None]), separator
        return _AUTOMATA.get(key) or _AUTOMATA.setdefault(key, Indexed(*key))


# Rows with the same patterns share an automaton and its states.
_AUTOMATA: WeakValueDictionary[object, Automaton] = WeakValueDictionary()
