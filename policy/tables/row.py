"""What one rule set says of one tool: an ordered first-match list."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Final
from weakref import WeakValueDictionary

import attrs

from policy.commands.knowledge import Shell
from policy.commands.powershell import read_powershell
from policy.commands.read import Command, CommandPart, compound, is_plain, read_command
from policy.core import limits
from policy.core.decision import Reason
from policy.core.effect import Effect
from policy.patterns.automaton import NO_MATCH, Automaton, AutomatonState
from policy.patterns.ends import Indexed
from policy.patterns.pattern import Pattern
from policy.patterns.tokens import Gap, Token
from policy.tables.calls import (
    NO_FIELD,
    Unreadable,
    addresses,
    argument_text,
    given_text,
    parameter_text,
)
from policy.tables.command_row import command_outcome
from policy.tables.dialect import Argument, ArgumentKind, Dialect, Inputs
from policy.tables.entry import BY_DEFAULT, KINDS, UNREADABLE, Form, Outcome, RowEntry
from policy.tables.file_row import file_outcome
from policy.tables.walk import NO_WALK, GivenPaths, Walk

if TYPE_CHECKING:
    from policy.tables.ruleset import RuleSet

__all__ = [
    "ArgumentMeaning",
    "Key",
    "KnownAddresses",
    "ReadCommand",
    "Row",
    "RowMeaning",
    "Spellings",
    "given_paths",
    "lines_of",
    "may_join",
    "shared_automaton",
    "spellings",
    "words_of",
]


def shared_automaton(
    patterns: tuple[tuple[Token, ...], ...],
    separator: str,
    flags: tuple[tuple[Token, ...], ...],
) -> Automaton:
    """Return the one automaton of these patterns: what it has walked serves all who have it."""
    key = (patterns, separator, flags)
    return _AUTOMATA.get(key) or _AUTOMATA.setdefault(key, Indexed(patterns, separator, flags))


def given_paths(
    base: Automaton, patterns: Sequence[Sequence[Token]], dialect: Dialect
) -> GivenPaths | None:
    """Return the automaton over paths as they are given; None where it would say nothing.

    Args:
        base: the automaton over canonical paths.
        patterns: those of *base*.
        dialect: how paths are read.

    """
    if dialect.links or dialect.drives:
        return None
    key = (id(base), dialect.cwd, dialect.cased, dialect.fold)
    known = _GIVEN.get(key)
    if known is None:
        found = GivenPaths(patterns, dialect.cwd, dialect.cased, fold=dialect.fold)
        found.base = base  # alive as long as this is, since it is known by it
        known = _GIVEN.setdefault(key, found)
    return known


_AUTOMATA: WeakValueDictionary[object, Automaton] = WeakValueDictionary()
_GIVEN: WeakValueDictionary[object, GivenPaths] = WeakValueDictionary()


# What a row says of a URL: its rules speak of the host, lines of the host program of addresses.
#
# A rule for ``example.com`` speaks of every way to spell that name. What a program fetches
# from unasked it knows by heart instead: a name, or one with a part of the path, as it is
# spelled. ``example.com.`` with its final dot is another to it.


class KnownAddresses:
    """The lines of a row over hosts, those that know addresses by heart apart from the others."""

    __slots__ = ("_automaton", "_indices", "_known")

    def __init__(self, entries: Sequence[RowEntry], indices: Sequence[int], separator: str) -> None:
        self._known: dict[str, int] = {}
        self._indices: list[int] = []
        tokens = []
        for index in indices:
            pattern = entries[index].pattern
            if pattern is None:
                continue
            if pattern.exact and entries[index].reason in BY_DEFAULT:
                self._known.setdefault(str(pattern), index)
            else:
                self._indices.append(index)
                tokens.append(pattern.tokens)
        self._automaton = shared_automaton(tuple(tokens), separator, ())

    def first(self, host: str, url: str) -> int:
        """Return the index of the first line that speaks of *url*, or NO_MATCH.

        Args:
            host: the name that rules speak of.
            url: as it is called with.

        """
        found = self._automaton.first(host)
        index = NO_MATCH if found == NO_MATCH else self._indices[found]
        if not self._known:
            return index
        known = (self._known.get(address, NO_MATCH) for address in addresses(url))
        return min(index, *known)


# How the entries of a row speak of a command as a whole.


@attrs.frozen
class Spellings:
    """How entries speak of a command as a whole.

    Attributes:
        exact: the texts that they spell out, and the index of the first that does.
        withheld: those of them that a rule denies or asks for.
        joining: the indices of such rules that may match several commands, and no first of them;
            those that spell them out come last.
        joined: whether one of them has a star.

    """

    exact: Mapping[str, int]
    withheld: frozenset[str]
    joining: tuple[int, ...]
    joined: bool


def spellings(entries: Sequence[RowEntry], indices: Sequence[int]) -> Spellings:
    """Return how *entries* speak of a command; those of *indices* look at its text."""
    exact: dict[str, int] = {}
    for index in indices:
        pattern, form = entries[index].pattern, entries[index].form
        if pattern is not None and pattern.exact and form is not Form.BARE:
            exact.setdefault(str(pattern), index)
    withheld = {text: index for text, index in exact.items() if _withholds(entries[index])}
    starred = [
        index
        for index, entry in enumerate(entries)
        if _withholds(entry) and entry.pattern is not None and may_join(entry.pattern)
    ]
    spelled = (index for text, index in withheld.items() if not _PARTING.isdisjoint(text))
    return Spellings(exact, frozenset(withheld), (*starred, *spelled), bool(starred))


def _withholds(entry: RowEntry) -> bool:
    """Return whether a rule denies or asks: what a host does by itself is said of no whole."""
    return entry.effect is not Effect.ALLOW and entry.reason not in BY_DEFAULT


def may_join(pattern: Pattern) -> bool:
    """Return whether a pattern may match several commands, and no first of them."""
    if pattern.exact:
        return False
    texts = [token for token in pattern.tokens if isinstance(token, str)]
    return (
        pattern.tokens[-1] is not Gap.ANY
        or len(pattern.tokens) > _BEGUN  # it has more than one gap
        or not _PARTING.isdisjoint("".join(texts))  # or names what parts or groups commands
    )


# A text and what stands behind it.
_BEGUN: Final = 2
_PARTING: Final = frozenset(";&|\n(")


# What rows are compared by: those that have the same of it grant the same.


# A command opens files: other rows are asked as well.
_OPENING: Final = frozenset({ArgumentKind.COMMAND, ArgumentKind.POWERSHELL})


@attrs.frozen(cache_hash=True)
class Key:
    """What things have in common, however much that is: hashed once."""

    value: object


@attrs.frozen(cache_hash=True)
class ArgumentMeaning:
    """All that decides, for every argument, what a row grants.

    Attributes:
        entries: what counts of all, and of which somebody wrote it, each in order.
        default: the effect where none of them matches, and the reason.
        beside: what else is asked.

    """

    entries: tuple[tuple[object, ...], ...]
    default: tuple[Effect, Reason]
    beside: object


@attrs.frozen(cache_hash=True)
class RowMeaning:
    """All that decides, for every call, what a row grants.

    Attributes:
        said: of its argument.
        argument: which that is.
        inputs: what arguments may be.
        unawaited: the same of commands that nobody waits for, where other lines decide these.

    """

    said: ArgumentMeaning
    argument: Argument
    inputs: Inputs | None
    unawaited: RowMeaning | None

    @property
    def of_text(self) -> object:
        """The same of calls with that argument alone, whatever it is called."""
        return self.said, self.unawaited and self.unawaited.said


def lines_of(row: Row) -> RowMeaning:
    """Return all that decides what *row* grants."""
    dialect = row.ruleset.dialect
    alone = row.argument.kind not in _OPENING and not dialect.links
    beside = dialect if alone else (row.ruleset, dialect.links and _opens(row))
    default = row.default.effect, row.default.reason
    said = ArgumentMeaning(_columns(row.entries, linked=bool(dialect.links)), default, beside)
    unawaited = row.beside.lines if row.beside is not None else None
    return RowMeaning(said, row.argument, row.inputs, unawaited)


def words_of(row: Row) -> Key:
    """Return what *row* says of its arguments, in the words of its rules."""
    said, others = (
        tuple((e.pattern, e.field, e.effect, e.rule, e.form) for e in entries)
        for entries in (row.entries, row.others or ())
    )
    return Key((said, others, row.default.effect, row.default.reason))


def _opens(row: Row) -> tuple[bool, bool]:
    """Return whether *row* is of the files that a command reads, or writes."""
    files = row.ruleset.dialect.shell.files
    return row.tool in (files.reads, files.input), row.tool in (files.writes, files.output)


def _columns(entries: Sequence[RowEntry], *, linked: bool) -> tuple[tuple[object, ...], ...]:
    """Return what counts of entries, a tuple for each kind of thing: of each it would take more."""
    columns = zip(*entries, strict=True) if entries else _NONE
    patterns, fields, effects, reasons, _, places, forms = columns
    if not linked and Form.LENT in forms:
        # For which tool a rule is written counts behind links alone.
        forms = tuple([Form.PLAIN if form is Form.LENT else form for form in forms])
    return patterns, fields, effects, reasons, tuple([place is None for place in places]), forms


_NONE: Final[tuple[tuple[()], ...]] = ((),) * len(RowEntry._fields)


# What one rule set says of one tool: an ordered first-match list.
#
# Cost does not grow with the number of rules: all patterns of a row run at once
# (`policy.patterns.automaton`), and the outcome of each entry is made once.


ReadCommand = Callable[[str, Shell], Command]

# Arguments that patterns are matched with as they stand.
_AS_IT_STANDS = frozenset({ArgumentKind.TEXT, ArgumentKind.COMMAND, ArgumentKind.LENIENT})


class Row:
    """An ordered first-match list for one tool of one rule set.

    Attributes:
        entries: the lines that look at the arguments.
        default: the outcome where none of them matches.
        constant: the outcome of every call, where all get the same one.
        argument: what the rules speak of.
        inputs: what the arguments may be; None where nothing is said of that.
        field: the argument that decides alone where it is a text and *alias*
            is not in the call; `NO_FIELD` where there is none such.
        alias: the other name of that argument, or `NO_FIELD`.
        automaton: of the patterns, over arguments that were read.
        walk: of the text that decides alone as it is given, where one does.
        kind: the kind of its patterns.
        named: what was found of the names of files, by `policy.tables.file_row.named_outcome`.
        parts: what was found of simple commands, by `policy.tables.command_row.part_outcome`.
        others: its lines without any that says of every command that it is allowed; nothing
            where none does, or where that makes no difference.

    """

    __slots__ = (
        "_addresses",
        "_beside",
        "_files",
        "_indices",
        "_keeping",
        "_lines",
        "_once",
        "_opening",
        "_outcomes",
        "_parameters",
        "_spellings",
        "_worded",
        "alias",
        "argument",
        "automaton",
        "constant",
        "default",
        "entries",
        "field",
        "inputs",
        "kind",
        "named",
        "others",
        "parts",
        "ruleset",
        "tool",
        "walk",
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
        self.inputs = ruleset.dialect.inputs.get(ruleset.dialect.key(tool))
        self.kind = KINDS[self.argument.kind]
        self.default = Outcome(default, default_reason)
        self.others: tuple[RowEntry, ...] | None = None
        self._beside: Row | None = None
        self._keeping: tuple[Pattern, ...] | None = None
        self._opening: dict[str, Row] = {}
        kept: list[RowEntry] = []
        if ruleset.dialect.shell.awaited and self.argument.kind is ArgumentKind.COMMAND:
            entries = self._set_aside(tuple(entries))
        for entry in entries:
            if entry.pattern is None:
                self.default = Outcome(entry.effect, entry.reason, (entry,))
                # Neighbours that say the same of some calls add nothing, in any order.
                while kept and kept[-1].effect is entry.effect and kept[-1].reason is entry.reason:
                    kept.pop()
                break
            kept.append(entry)
        self.entries = tuple(kept)
        self._outcomes: dict[int, Outcome] = {NO_MATCH: self.default}
        self._once: dict[str, Outcome] = {}  # by the text that decides alone
        self.named: dict[str, tuple[str | None, Outcome]] = {}
        self.parts: dict[CommandPart, Outcome] = {}
        self._files = self._opens_files()
        self.constant = None if kept or self._files else self.default
        self._compile()

    def _set_aside(self, entries: tuple[RowEntry, ...]) -> tuple[RowEntry, ...]:
        """Return *entries*, and keep those beside the first if it allows every command."""
        last = next((entry for entry in entries if entry.pattern is None), None)
        if last is not None and last.effect is Effect.ALLOW and last.reason is Reason.RULE:
            self.others = tuple([entry for entry in entries if not _allows_all(entry)])
        return entries

    @property
    def beside(self) -> Row | None:
        """What the rules come to without those that allow every command; None where none does."""
        if self._beside is None and self.others is not None:
            rules = self.ruleset
            others = (entry for entry in self.others if not entry.is_built_in)
            row = Row(others, rules.default, rules.default_reason, self.tool, rules)
            self._beside = row if row.default.effect is not Effect.ALLOW else None
        return self._beside

    def is_kept(self, text: str) -> bool:
        """Return whether an entry that allows nothing matches an argument, behind others."""
        if self._keeping is None:
            first = next((n for n, e in enumerate(self.entries) if e.effect is Effect.ALLOW), None)
            behind = () if first is None else self.entries[first:]
            self._keeping = tuple(
                entry.pattern
                for entry in behind
                if entry.effect is not Effect.ALLOW and entry.pattern and not entry.field
            )
        return any(pattern.matches(text) for pattern in self._keeping)

    def _opens_files(self) -> bool:
        """Whether rules about files decide calls that no rule of this row looks at."""
        if self.argument.kind is not ArgumentKind.COMMAND or self.default.effect is Effect.DENY:
            return False
        rules, shell = self.ruleset, self.ruleset.dialect.shell
        if shell.whole and rules.default_reason not in BY_DEFAULT:
            return False
        if shell.whole and (shell.traced or rules.default is not Effect.ALLOW):
            return True
        rows = [self.opening(tool) for tool in shell.files.opening]
        said = [entry for row in rows for entry in (*row.entries, *row.default.entries)]
        return any(entry.effect < self.default.effect for entry in said)

    def opening(self, tool: str) -> Row:
        """Return what the rules say of a file that a command opens, as a call of *tool*.

        A rule for the whole tool that runs commands grants their files too, where no rule about
        files speaks of them. Claude Code decides that by the command (`Shell.whole`).
        """
        rules = self.ruleset
        files = rules.row(tool)
        if rules.dialect.shell.whole or files.default.entries or not self.default.entries:
            return files
        found = self._opening.get(tool)
        if found is None:
            entries = (*files.entries, *self.default.entries)
            found = Row(entries, rules.default, rules.default_reason, files.tool, rules)
            self._opening[tool] = found
        return found

    def _compile(self) -> None:
        self._lines: RowMeaning | None = None
        self._worded: Key | None = None
        self._spellings: Spellings | None = None
        self._addresses: KnownAddresses | None = None
        self._indices: Sequence[int] = []
        self._parameters: list[tuple[str, Automaton, list[int]]] = []
        if self.constant is not None:  # whatever a call says
            self.automaton, self.walk = NO_WALK.automaton, NO_WALK
            self.field = self.alias = NO_FIELD
            return
        fields: dict[str, list[int]] = {}
        for index, entry in enumerate(self.entries):
            fields.setdefault(entry.field, []).append(index)
        self._indices = fields.pop("", [])
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
        self.walk = self._walk()

    def _walk(self) -> Walk:
        automaton, kind = self.automaton, self.argument.kind
        walked: Automaton | None = automaton if kind in _AS_IT_STANDS else None
        if kind is ArgumentKind.PATH:
            tokens = self._tokens(self._indices)
            walked = given_paths(automaton, tokens, self.ruleset.dialect)
        if walked is None or self.field is NO_FIELD:
            return NO_WALK
        longest = self.ruleset.dialect.shell.longest if kind is ArgumentKind.COMMAND else 0
        alias = None if self.alias is NO_FIELD else self.alias
        return Walk(self.field, alias, longest or limits.CALL_CHARACTERS, walked)

    @property
    def lines(self) -> RowMeaning:
        """All that decides what the row grants: rows with equal ones grant the same."""
        if self._lines is None:
            self._lines = lines_of(self)
        return self._lines

    @property
    def worded(self) -> Key:
        """What rows have in common that say the same of their arguments in the same words."""
        if self._worded is None:
            self._worded = words_of(self)
        return self._worded

    @property
    def spellings(self) -> Spellings:
        """How its entries speak of a command as a whole."""
        if self._spellings is None:
            self._spellings = spellings(self.entries, self._indices)
        return self._spellings

    def _run(
        self, indices: Sequence[int], separator: str, flags: Sequence[Sequence[Token]] = ()
    ) -> Automaton:
        return shared_automaton(self._tokens(indices), separator, tuple(map(tuple, flags)))

    def _tokens(self, indices: Sequence[int]) -> tuple[tuple[Token, ...], ...]:
        return tuple(p.tokens for i in indices if (p := self.entries[i].pattern) is not None)

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
        return self.outcome_behind(self.walk.state(call), call, read)

    def outcome_once(self, call: Mapping[str, object], read: ReadCommand = read_command) -> Outcome:
        """Return the same, and walk nothing that serves calls alone as they are given.

        Comparisons ask for it: the same of all tools and chains with the same lines.
        """
        text = call.get(self.field)
        alone = text if type(text) is str and self.alias not in call else None
        found = None if alone is None else self._once.get(alone)
        if found is None:
            if alone is not None and self._is_plain(alone):
                found = self.at(self.first(alone))
            else:
                found = self._outcome(call, read)
            if alone is not None:
                if len(self._once) >= limits.CACHE_ENTRIES:
                    self._once.clear()
                self._once[alone] = found
        return found

    def _is_plain(self, text: str) -> bool:
        """Return whether *text*, that decides alone, is a command that is one part as it stands."""
        is_command = self.argument.kind is ArgumentKind.COMMAND and self.constant is None
        shell = self.ruleset.dialect.shell
        return is_command and len(text) <= self.walk.longest and is_plain(text, shell)

    def outcome_behind(
        self,
        state: AutomatonState | None,
        call: Mapping[str, object],
        read: ReadCommand = read_command,
    ) -> Outcome:
        """Return what the row says of a call of which the walk leads to *state*."""
        if state is not None and state.plain is not None:
            return self.at(state.plain)
        return self._outcome(call, read)

    def _outcome(self, call: Mapping[str, object], read: ReadCommand) -> Outcome:
        if self.constant is not None:
            return self.constant
        try:
            limit = self.first_parameter(call) if self._parameters else NO_MATCH
            if not self._indices and not self._files:
                return self.at(limit)
            text = argument_text(self.argument, self.ruleset.dialect, call)
        except Unreadable as unreadable:
            asked = self._indices or self.ruleset.dialect.shell.whole
            if self._files and not asked and unreadable.reason is Reason.MALFORMED:
                return self.at(limit)  # no command, so it opens no file
            return UNREADABLE[unreadable.reason]
        if self.argument.kind is ArgumentKind.COMMAND:
            return command_outcome(self, read(text, self.ruleset.dialect.shell), limit)
        if self.argument.kind is ArgumentKind.POWERSHELL:
            command = read_powershell(text, self.ruleset.dialect.commands)
            return command_outcome(self, command, limit)
        if self.argument.kind is ArgumentKind.URL:
            return self.at(min(self._by_address(text, call), limit))
        if self.argument.kind is not ArgumentKind.PATH:
            return self.at(min(self.first(text), limit))
        stranger = argument_text(self.argument, self.ruleset.dialect, call, stranger=True)
        return file_outcome(self, text, stranger, limit)

    def _by_address(self, host: str, call: Mapping[str, object]) -> int:
        if self._addresses is None:
            self._addresses = KnownAddresses(self.entries, self._indices, self.kind.separator)
        return self._addresses.first(host, given_text(self.argument, call))

    def first(self, text: str) -> int:
        """Return the index of the first entry that matches an argument, or NO_MATCH."""
        index = self.automaton.first(text)
        return NO_MATCH if index == NO_MATCH else self._indices[index]

    def outcome_at(self, text: str) -> Outcome:
        """Return what the row says of an argument that was read already."""
        return self.at(self.first(text))

    def at(self, index: int) -> Outcome:
        """Return what the row says where the entry of an index decides; NO_MATCH is none."""
        found = self._outcomes.get(index)
        if found is None:
            entry = self.entries[index]
            found = self._outcomes[index] = Outcome(entry.effect, entry.reason, (entry,))
        return found

    def first_parameter(self, call: Mapping[str, object]) -> int:
        """Return the index of the first entry that matches another argument, or NO_MATCH."""
        first = NO_MATCH
        for field, automaton, indices in self._parameters:
            text = parameter_text(call[field]) if field in call else None
            index = NO_MATCH if text is None else automaton.first(text)
            if index != NO_MATCH:
                first = min(first, indices[index])
        return first


def _allows_all(entry: RowEntry) -> bool:
    allows = entry.effect is Effect.ALLOW and entry.reason is Reason.RULE
    return allows and entry.pattern is None and not entry.field
