"""A rule set: one ordered list of rules over every tool, first match decides.

The front end of a host compiles its precedence into this order. A *row* has the entries for one
tool: those whose tool pattern matches its name, in order.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterator, Sequence
from functools import cache, cached_property, lru_cache
from itertools import groupby
from weakref import WeakValueDictionary

from policy.core import limits, values
from policy.core.decision import Reason
from policy.core.effect import Effect
from policy.core.memory import Key
from policy.core.source import Place
from policy.core.values import frozen
from policy.patterns.index import Index
from policy.patterns.pattern import Pattern, is_glob
from policy.tables.dialect import Dialect
from policy.tables.row import Outcome, Row


class Form(enum.Enum):
    """The spelling of a rule. In some hosts it decides together with the pattern."""

    ORDINARY = "plain"  # any other spelling; content hashes contain the value
    PREFIX = "prefix"  # the text before `:*`: `git` of `Bash(git:*)`
    BARE = "bare"  # the text before ` *`: `git` of `Bash(git *)`
    WITHIN = "within"  # all files in a folder: `Read(src/**)`
    ALONE = "alone"  # the only rule that allows calls of its tool: `Bash` without `Bash(git *)`

    # As for reasons: each entry hashes its form, and the hash of an enum is slow.
    __hash__ = object.__hash__


@frozen
class Entry:
    """One line of a rule set, and of the rows of the tools that it applies to."""

    tool: str  # a tool name, or a glob over names (`policy.patterns.notations.names`)
    effect: Effect  # the effect of calls that match
    pattern: Pattern | None = None  # the pattern of the argument; None matches every call
    # The parameter that *pattern* matches; "" is the argument that the dialect names for the tool.
    field: str = ""
    reason: Reason = Reason.RULE  # the reason of a decision by this entry
    rule: str = values.field(default="", hash=False)  # the rule as written
    place: Place | None = None  # where it is written
    form: Form = Form.ORDINARY  # its spelling


# Of one entry: tool, field, pattern and form.
EntryKey = tuple[str, str, Pattern | None, Form]

# Groups of neighbouring entries with one effect and reason, in order.
Runs = tuple[tuple[Effect, Reason, frozenset[EntryKey]], ...]


class EntriesOnDemand:
    """A sequence that builds each entry at first use; *tools* has the name or glob of each."""

    def __init__(self, tools: Sequence[str], build: Callable[[int], Entry]) -> None:
        self.tools = tools
        self._entry = cache(build)

    def __len__(self) -> int:
        """Return the number of entries."""
        return len(self.tools)

    def __getitem__(self, number: int) -> Entry:
        """Return the entry at an index."""
        return self._entry(number)

    def __iter__(self) -> Iterator[Entry]:
        """Return all entries."""
        return map(self._entry, range(len(self.tools)))


@frozen(eq=False, repr=False)
class RuleSet:
    """An ordered first-match list of entries with a default.

    Two rule sets are equal if their canonical entries, defaults and dialects are. The canonical
    entries have none that an earlier entry always precedes, and adjacent entries with one effect
    have no order. Places and the wording of rules do not count.
    """

    entries: tuple[Entry, ...]  # or `EntriesOnDemand`
    default: Effect
    dialect: Dialect
    default_reason: Reason = Reason.DEFAULT

    @property
    def written_tools(self) -> Sequence[str]:
        """The tool name or glob of each entry."""
        found = getattr(self.entries, "tools", None)
        return found or [entry.tool for entry in self.entries]

    @cached_property
    def by_tool(self) -> dict[str, list[int]]:
        """Name or glob of a tool -> the indices of its entries."""
        by_tool: dict[str, list[int]] = {}
        for number, tool in enumerate(self.written_tools):
            by_tool.setdefault(tool, []).append(number)
        return by_tool

    @cached_property
    def names(self) -> frozenset[str]:
        """The canonical names of tools in entries without a glob."""
        return frozenset(self._by_name)

    @cached_property
    def globs(self) -> tuple[str, ...]:
        """The globs over names of tools in entries."""
        return tuple(filter(is_glob, self.by_tool))

    @cached_property
    def looking(self) -> frozenset[str]:
        """The canonical names and the globs of tools whose entries match an argument."""
        tools = {entry.tool for entry in self.entries if entry.pattern is not None}
        return frozenset(tool if is_glob(tool) else self.dialect.key(tool) for tool in tools)

    @cached_property
    def _by_name(self) -> dict[str, list[int]]:
        by_name: dict[str, list[int]] = {}
        for tool, numbers in self.by_tool.items():
            if not is_glob(tool):
                by_name.setdefault(self.dialect.key(tool), []).extend(numbers)
        return by_name

    @cached_property
    def _globs(self) -> tuple[Index, list[list[int]]]:
        """The globs, each with the indices of its entries."""
        numbers = [self.by_tool[tool] for tool in self.globs]
        return Index([_glob(tool).tokens for tool in self.globs]), numbers

    @cached_property
    def _rows(self) -> dict[str, Row]:
        return {}

    def row(self, tool: str) -> Row:
        """Return the row for *tool*."""
        name = self.dialect.canonical(tool)
        row = self._rows.get(name)
        if row is None:
            row = Row(self.lines(name), self.otherwise, name, self)
            if len(self._rows) < limits.CACHED_NAMES or (row.entries and name in self.names):
                self._rows[name] = row
        return row

    def lines(self, tool: str) -> list[Entry]:
        """Return the entries that apply to calls of *tool*, in order."""
        name = self.dialect.canonical(tool)
        spelled = [name]
        if self.dialect.aliased:
            spelled += (alias for alias, real in self.dialect.aliases.items() if real == name)
        matching = set(self._by_name.get(self.dialect.key(name), ()))
        globs, numbers = self._globs
        for spelling in spelled:
            matching.update(*(numbers[glob] for glob in globs.matching(spelling)))
        if name in self.dialect.shell.files.inner:
            # No call has this name, so `*` is the only glob that applies.
            matching.difference_update(
                number for tool in self.globs if tool != "*" for number in self.by_tool[tool]
            )
        return [self.entries[number] for number in sorted(matching)]

    @property
    def otherwise(self) -> Outcome:
        """The outcome of a call that no entry matches."""
        return Outcome(self.default, self.default_reason)

    @property
    def is_constant(self) -> bool:
        """Whether it has no entries, so that every call gets the default."""
        return not self.entries

    @cached_property
    def _meaning(self) -> tuple[Runs, Effect, Reason]:
        """The values that decide equality, without the dialect."""
        return self._runs, self.default, self.default_reason

    @cached_property
    def _runs(self) -> Runs:
        """The canonical entries, in groups of adjacent entries with one effect."""
        runs: list[tuple[Effect, Reason, set[EntryKey]]] = []
        seen: set[EntryKey] = set()
        whole: set[str] = set()  # tools of which earlier entries decide every call
        key_of = {tool: tool if is_glob(tool) else self.dialect.key(tool) for tool in self.by_tool}
        for (effect, reason), entries in groupby(self.entries, lambda e: (e.effect, e.reason)):
            keys = {(key_of[e.tool], e.field, e.pattern, e.form) for e in entries}
            kept = {key for key in keys - seen if whole.isdisjoint((key[0], "*"))}
            seen |= keys
            wholly = {key[0] for key in kept if key[2] is None}
            whole |= wholly
            if "*" in wholly:
                kept = {key for key in kept if key[0] == "*" and key[2] is None}
            elif wholly:
                # In a group, an entry for every call of a tool makes its other entries superfluous.
                kept = {key for key in kept if key[2] is None or key[0] not in wholly}
            if kept and runs and runs[-1][:2] == (effect, reason):
                runs[-1][2].update(kept)
            elif kept:
                runs.append((effect, reason, kept))
        return tuple((effect, reason, frozenset(kept)) for effect, reason, kept in runs)

    @cached_property
    def digest(self) -> str:
        """A hash of entries, default and dialect, equal for equal rule sets."""
        import hashlib  # noqa: PLC0415  # a decision needs no hash

        runs = [
            (effect.value, reason.value, sorted(map(_text, keys)))
            for effect, reason, keys in self._runs
        ]
        default = self.default.value, self.default_reason.value
        content = f"{runs}{default}{_dialect_text(self.dialect)}"
        return hashlib.sha256(content.encode("utf-8", "surrogatepass")).hexdigest()

    @cached_property
    def interned(self) -> RuleSet:
        """The shared rule set with these rules and places, whose rows are built once."""
        written = tuple(self.entries), self.default, self.default_reason, self.dialect
        return _INTERNED.setdefault(Key(written), self)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, RuleSet):
            return NotImplemented
        alike = self.dialect is other.dialect or self.dialect == other.dialect
        return alike and self._meaning == other._meaning

    def __repr__(self) -> str:
        rules = len(self.entries)
        what = f"{rules} line{'' if rules == 1 else 's'}, otherwise {self.default}"
        return f"<RuleSet {self.dialect.name}: {what}>"

    @cached_property
    def _hash(self) -> int:
        return hash(self._meaning)

    def __hash__(self) -> int:
        return self._hash


def _glob(tool: str) -> Pattern:
    if not tool.startswith("="):
        return Pattern.text(tool)
    from policy.patterns.notations import names  # noqa: PLC0415  # few globs are so

    return names(tool)


def _text(key: EntryKey) -> str:
    tool, field, pattern, form = key
    what = "" if pattern is None else f"{pattern.kind.value}{pattern.tokens}"
    return f"{tool!r},{field!r},{what},{form.value}"


@lru_cache(maxsize=64)  # a host has one or two
def _dialect_text(dialect: Dialect) -> str:
    return repr(values.content(dialect))


# Weak references: a key must not be the set itself.
_INTERNED: WeakValueDictionary[object, RuleSet] = WeakValueDictionary()
