"""Finds the calls that a project and its conversion decide differently, chain by chain.

The search walks every chain that either side has. At each position it translates both tables to the
names of our notation ("common words") and compares them. The comparison is exact if both hosts read
the argument of a tool in the same way; else it tries sample calls and reports the tool as unproven.

The calls that start agents are compared too: the usual call, which names the agent alone, and calls
with further arguments that rules look at, as ``Task(model:opus)`` does.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain as chained
from itertools import islice, product
from typing import Final

from policy.compare.compare import Known, compare
from policy.compare.tables import Tools, compare_others, glob_pattern, internal_tools
from policy.compare.witness import Call, Difference, ordinary, witness_call
from policy.core.decision import Decision, Reason
from policy.core.effect import Effect
from policy.core.progress import reached
from policy.core.values import evolve, field, frozen
from policy.hosts.notation import DIALECT
from policy.hosts.project import Project
from policy.patterns.pattern import Pattern, PatternKind, freeze, is_glob
from policy.patterns.tokens import in_any_case
from policy.tables.chain import Chain, SpawnDenied
from policy.tables.dialect import Argument, ArgumentKind, Dialect
from policy.tables.parameters import TOO_MANY_PARAMETERS, beside
from policy.tables.row import Row
from policy.tables.ruleset import Entry, RuleSet
from policy.tables.table import SPAWN_TOOL, Ceiling, LinkedRules, Lookup, Table

# The dialect in which tables of all hosts are compared.
COMMON: Final = DIALECT


class CommonWords:
    """Translates tables to our notation; *counterparts* is tool of the host -> its name there."""

    def __init__(self, counterparts: Mapping[str, str]) -> None:
        self._counterparts = counterparts
        self._known: dict[RuleSet, RuleSet] = {}

    def table(self, table: Table) -> Table:
        """Return the use of *table* in common words."""
        parts = (LinkedRules(self._rules(part.rules), part.links) for part in table.use.parts)
        return Table(Ceiling.of(parts), bounds=table.bounds)

    def _rules(self, rules: RuleSet) -> RuleSet:
        if rules not in self._known:
            dialect = rules.dialect
            names = {dialect.key(tool): name for tool, name in self._counterparts.items()}
            moved = (_common_path(entry, dialect) for entry in rules.entries)
            entries = (named for entry in moved for named in self._named(entry, dialect, names))
            self._known[rules] = RuleSet(
                tuple(entries), rules.default, _common(dialect, names), rules.default_reason
            )
        return self._known[rules]

    def _named(self, entry: Entry, dialect: Dialect, names: Mapping[str, str]) -> Iterator[Entry]:
        """Yield *entry* by the common names of its tools; *names* is host key -> common name."""
        if not is_glob(entry.tool):
            key = dialect.key(entry.tool)
            yield evolve(entry, tool=names.get(key, dialect.canonical(entry.tool)))
            return
        pattern = glob_pattern(entry.tool)
        # A tool that the glob matches by the host's name only gets an entry of its common name.
        for tool, name in self._counterparts.items():
            if tool != name and pattern.matches(tool) and not pattern.matches(name):
                yield evolve(entry, tool=name)
        if pattern.exact:
            yield evolve(entry, tool=names.get(str(pattern), str(pattern)))
        else:
            yield entry


def _common(dialect: Dialect, names: Mapping[str, str]) -> Dialect:
    """Return *dialect* with common names and folders."""
    arguments = {
        names.get(key, key): _argument(argument, names.get(key, key))
        for key, argument in dialect.arguments.items()
    }
    for name in names.values():
        if name not in arguments and name in COMMON.arguments:
            arguments[name] = _argument(dialect.other, name)
    files = dialect.shell.files
    output, given = (names.get(tool, tool) for tool in (files.output, files.input))
    files = evolve(files, output=output, input=given)
    return evolve(
        dialect,
        arguments=arguments,
        aliases={},
        shell=evolve(dialect.shell, files=files),
        cwd=COMMON.cwd,
        home=COMMON.home,
        fold=False,
        loose=False,
        fold_names=False,
    )


def _common_path(entry: Entry, dialect: Dialect) -> Entry:
    """Return *entry* with its path below the common folders, in any case if its host folds case."""
    pattern = entry.pattern
    if pattern is None or pattern.kind is not PatternKind.PATH or not pattern.tokens:
        return entry
    tokens = pattern.tokens
    if dialect.fold:
        tokens = tuple(in_any_case(tokens, (dialect.cwd, dialect.home)))
    first = tokens[0]
    for old, new in ((dialect.cwd, COMMON.cwd), (dialect.home, COMMON.home)):
        if isinstance(first, str) and f"{first}/".startswith(f"{old}/"):
            tokens = (new + first.removeprefix(old), *tokens[1:])
            break
    return evolve(entry, pattern=Pattern.of(PatternKind.PATH, tokens))


# Kinds that put several arguments together; common words have one text for them.
_AS_TEXT: Final = (ArgumentKind.FILES, ArgumentKind.JOINED, ArgumentKind.JSON, ArgumentKind.LENIENT)


def _argument(argument: Argument, tool: str) -> Argument:
    """Return *argument* with the field names that our notation has for *tool*."""
    common = COMMON.arguments.get(tool)
    if common is None:
        return argument
    if argument.kind is common.kind:
        return common
    if argument.kind in _AS_TEXT:
        return Argument(ArgumentKind.TEXT, common.fields, absent=common.absent)
    return evolve(argument, fields=common.fields, absent=common.absent)


@frozen
class Unproven:
    """A tool for which looser calls, beyond the losses found, are not ruled out."""

    tool: str
    why: str
    rules: tuple[str, ...] = ()  # of the source about the tool, as written


# Tools have no such names: stars of some hosts match no line break, so witnesses may have one.
_NO_NAME: Final = re.compile(r"\s")

_OTHER_TOOLS: Final = "the hosts know different names of tools that no rule names"
_READ_OTHERWISE: Final = (
    "the hosts read the argument in different ways; no call that was tried gets more"
)
_COMMANDS: Final = "the hosts split commands in different ways; no plain command gets more"

# Calls that two tables decide differently, but for those that start agents, and tools of which more
# calls may differ.
_Compared = tuple[list[Difference], list[Unproven]]


def _compare_tables(before: Table, after: Table, fixed: frozenset[str], known: Known) -> _Compared:
    """Return the differences of two tables in common words, without the tools *fixed*."""
    sets = [[part.rules for part in table.use.parts] for table in (before, after)]
    tools = Tools.of(chained(*sets))
    # Special, so that no fixed tool is the representative of others.
    tools = evolve(tools, special=tools.special | fixed)
    left_out = internal_tools(rules.dialect for rules in chained(*sets)) | {SPAWN_TOOL} | fixed
    found: list[Difference] = []
    unproven: list[Unproven] = []
    for tool in sorted({*tools.spelled, *COMMON.arguments} - left_out):
        was, now = before.lookup(tool), after.lookup(tool)
        compared = compare(tool, was, now, known)
        found += compared.differences
        if compared.exact:
            continue
        found += _sample_differences(tool, was, now)
        # Unproven, unless the source grants every call as much as the target grants any.
        least = was.constant.effect if was.constant is not None else Effect.DENY
        most = now.constant.effect if now.constant is not None else now.floor
        if least < most and not _is_finite(now):
            kinds = {row.argument.kind for lookup in (was, now) for row, _ in lookup.rows}
            why = _COMMANDS if kinds == {ArgumentKind.COMMAND} else _READ_OTHERWISE
            entries = (entry for row, _ in was.rows for entry in row.entries)
            rules = dict.fromkeys(f"{e.effect} {e.rule}" for e in entries if e.place is not None)
            unproven.append(Unproven(tool, why, tuple(rules)))
    others = compare_others(sets, tools, (before.lookup, after.lookup), known)
    found += (
        one
        for one in others.differences
        if one.tool not in left_out and not _NO_NAME.search(one.tool)
    )
    if not (others.exact and tools.exact):
        unproven.append(Unproven("*", _OTHER_TOOLS))
    dialect = next((rules.dialect for rules in chained(*sets)), Dialect(""))
    look_up = before.lookup, after.lookup
    return [*ordinary(filter(_is_read, found), dialect, look_up)], unproven


def _is_read(difference: Difference) -> bool:
    """Return whether the host of the source can read the call; else its tool never gets it."""
    return difference.before.reason not in (Reason.MALFORMED, Reason.TOO_LONG)


# Commands around a text that a rule matches, which hosts may split differently.
_FORMS: Final = ("{} && {}", "{}; zz", "zz; {}", "{} > zz", "{}\nzz", "$({})", "{} 'a\nb'")
# The most entries of a row that are tried.
_TRIED: Final = 400


def _is_finite(lookup: Lookup) -> bool:
    """Return whether only a few exact texts are granted, so that trying them is a proof."""
    return any(
        row.default.effect is Effect.DENY
        and row.argument.kind is not ArgumentKind.COMMAND
        and len(row.entries) <= _TRIED
        and all(
            entry.pattern is not None and entry.pattern.exact and not entry.field
            for entry in row.entries
            if entry.effect is not Effect.DENY
        )
        for row, _ in lookup.rows
    )


def _sample_differences(tool: str, before: Lookup, after: Lookup) -> Iterator[Difference]:
    """Yield the differences of sample calls that entries of either side match."""
    reported: set[object] = set()
    for call in _samples(row for lookup in (before, after) for row, _ in lookup.rows):
        decided = (lookup.decide(call, remember=False) for lookup in (before, after))
        found = Difference(tool, call, *decided)
        # A widened call is reported for each rule, a narrowed one once.
        because = found.after.because if found.widened else ()
        key = *found.effects, because
        differs = found.before.effect is not found.after.effect
        if differs and key not in reported and _is_read(found):
            reported.add(key)
            yield found


def _samples(rows: Iterable[Row]) -> Iterator[Call]:
    """Yield calls that entries of *rows* match, and one that may match none; simple ones first."""
    for row in rows:
        entries = (entry for entry in islice(row.entries, _TRIED) if not entry.field)
        patterns = [entry.pattern for entry in entries if entry.pattern is not None]
        texts = [freeze(each, word) for each in patterns for word in ("x", "", "a/b", "/x")]
        texts.append("zz")
        if row.argument.kind is ArgumentKind.COMMAND:
            filled = [*(freeze(each, "x") for each in patterns), "zz"]
            texts += (form.format(text, text) for form, text in product(_FORMS, filled))
        for text in dict.fromkeys(texts):
            yield witness_call(row.ruleset.dialect, row.argument, text)


@frozen
class Loss:
    """A call that the conversion decides differently, for all calls lost in the same way."""

    chain: tuple[str, ...]  # the shortest chain that decides it so, in names of the source
    also: tuple[tuple[str, ...], ...]  # other such chains
    tool: str  # in common words
    call: Call = field(eq=False)
    before: Decision  # of the source
    after: Decision  # of the conversion

    @property
    def looser(self) -> bool:
        """Whether the conversion grants more."""
        return self.before.effect < self.after.effect

    @property
    def direction(self) -> str:
        """``looser`` or ``stricter``."""
        return "looser" if self.looser else "stricter"


_UNAVAILABLE: Final = Decision(Effect.DENY, Reason.UNAVAILABLE)


@frozen
class ConversionSide:
    """A project, with the translation of its words and names."""

    project: Project
    words: CommonWords
    # Agent of the source -> its name in this project, if that differs.
    names: Mapping[str, str] = field(factory=dict)
    above: tuple[str, ...] = ()  # agents that this project puts before each chain

    def spawn(self, parent: Chain | None, agent: str) -> Chain | None:
        """Return the chain of *agent* behind *parent*, or as a root; None if it is refused."""
        names = [self.names.get(agent, agent)]
        names = names if parent else [*self.above, *names]
        try:
            chain = parent or Chain.start(names.pop(0), self.project.enforced)
            for name in names:
                chain = chain.spawn(name)
        except SpawnDenied:
            return None
        return chain

    def decide_spawn(
        self, parent: Chain | None, agent: str, started: Chain | None, more: Mapping[str, str]
    ) -> Decision:
        """Return the decision on the call by which *parent* starts *agent*, at a root ALLOW.

        *more* are further arguments, such as the model; only the tool `SPAWN_TOOL` takes them.
        *started* is the chain that the usual call makes, None if it makes none.
        """
        decision = Decision(Effect.ALLOW, Reason.DEFAULT)
        if parent is not None:
            tool, call = parent.reading.spawn_call(self.names.get(agent, agent))
            call = {**call, **more} if tool == SPAWN_TOOL else call
            decision = parent.table.decide(tool, call)
        # The host may refuse the start of a call that no rule denies, e.g. by a limit of depth.
        return decision if decision.effect is Effect.DENY or started else _UNAVAILABLE


# The most pairs of positions that are compared.
_POSITIONS: Final = 3_000
# Chains longer than this count as equally long.
_DEEP: Final = 6


def losses(
    source: ConversionSide,
    target: ConversionSide,
    starts: Iterable[str],
    known: Known,
    *,
    fixed: frozenset[str] = frozenset(),
) -> tuple[tuple[Loss, ...], tuple[Unproven, ...]]:
    """Return the calls that *target* decides differently, and the tools not proven to be no looser.

    *starts* are the agents of *source* that start chains. The tools *fixed*, which no file of the
    target can deny, are left out. *known* is a cache of comparisons, which grows.
    """
    walk = _Walk((source, target), known, fixed)
    for agent in starts:
        walk.start(agent, (), (None, None), [{}])
    walk.run()
    found = sorted(
        walk.losses(), key=lambda o: (not o.looser, len(o.chain), o.chain, o.tool, str(o.call))
    )
    rules: dict[tuple[str, str], dict[str, None]] = {}
    for one in walk.unproven:  # one for each chain
        rules.setdefault((one.tool, one.why), {}).update(dict.fromkeys(one.rules))
    return tuple(found), tuple(Unproven(*about, tuple(some)) for about, some in rules.items())


_Names = tuple[str, ...]
_Chains = tuple[Chain, Chain]


class _Walk:
    """The search over the chains that both sides have, from the roots down."""

    def __init__(
        self, sides: tuple[ConversionSide, ConversionSide], known: Known, fixed: frozenset[str]
    ) -> None:
        self.sides, self.known, self.fixed = sides, known, fixed
        self.unproven: dict[Unproven, None] = {}
        source, target = sides
        back = {new: old for old, new in target.names.items()}
        theirs = (a for a in target.project.enforced.agents if a not in target.above)
        agents = (*source.project.enforced.agents, *(back.get(agent, agent) for agent in theirs))
        self.agents = tuple(dict.fromkeys(agents))
        self._queue: deque[tuple[_Chains, _Names]] = deque()
        self._seen: set[object] = set()
        self._found: dict[object, list[tuple[_Names, Difference]]] = {}

    def run(self) -> None:
        """Compare the tables of all chains, and the calls that start agents."""
        while self._queue:
            reached("comparing chains", len(self._seen) - len(self._queue), len(self._seen))
            chains, names = self._queue.popleft()
            # Most positions have equal tables.
            key = _compare_tables, *(chain.table.use.sets for chain in chains), self.fixed
            if key not in self.known:
                pairs = zip(self.sides, chains, strict=True)
                was, now = (side.words.table(chain.table) for side, chain in pairs)
                self.known[key] = _compare_tables(was, now, self.fixed, self.known)
            found, unproven = self.known[key]
            self.unproven.update(dict.fromkeys(unproven))
            for difference in found:
                self._add(names, difference)
            rows = [row for chain in chains for row, _ in chain.table.lookup(SPAWN_TOOL).rows]
            # The first is {}, for the usual call.
            arguments = beside(rows)
            if arguments is None:
                self.unproven[Unproven(SPAWN_TOOL, TOO_MANY_PARAMETERS)] = None
            for agent in self.agents:
                self.start(agent, names, chains, arguments or [{}])

    def start(
        self,
        agent: str,
        names: _Names,
        parents: _Chains | tuple[None, None],
        arguments: Iterable[Mapping[str, str]],
    ) -> None:
        """Compare the calls that start *agent* with each of *arguments*, and queue its chains."""
        pairs = tuple(zip(self.sides, parents, strict=True))
        one, other = (side.spawn(parent, agent) for side, parent in pairs)
        compared: list[tuple[Mapping[str, str], tuple[Effect, Effect]]] = []
        for more in arguments:
            before, after = (
                side.decide_spawn(parent, agent, chain, more)
                for (side, parent), chain in zip(pairs, (one, other), strict=True)
            )
            effects = before.effect, after.effect
            # More arguments are reported only if they change the effects.
            if any(less.items() <= more.items() and effects == old for less, old in compared):
                continue
            if more and Reason.MALFORMED in (before.reason, after.reason):
                continue  # e.g. a model that one of the hosts does not have
            compared.append((more, effects))
            if before.effect is not after.effect:
                call: Call = {"subagent_type": agent, **more}
                self._add(names or (agent,), Difference(SPAWN_TOOL, call, before, after))
        if one is None or other is None:
            return
        key = agent, *map(_state, (one, other))
        if key not in self._seen and len(self._seen) < _POSITIONS:
            self._seen.add(key)
            self._queue.append(((one, other), (*names, agent)))
        elif key not in self._seen:
            self.unproven[Unproven(SPAWN_TOOL, "there are more chains than are followed")] = None

    def _add(self, names: _Names, difference: Difference) -> None:
        before, after = difference.before, difference.after
        key: object = (difference.tool, str(difference.call), before.effect, after.effect)
        if before.effect > after.effect and difference.tool != SPAWN_TOOL:
            # For narrowed calls, one witness is enough for all that the same rules granted.
            rules = tuple((because.rule, because.effect) for because in before.because)
            key = (difference.tool, before.effect, after.effect, rules)
        self._found.setdefault(key, []).append((names, difference))

    def losses(self) -> Iterator[Loss]:
        """Yield each difference once, with all chains that have it."""
        for members in self._found.values():
            # A call with an argument is the better witness.
            members.sort(key=lambda m: (len(m[0]), m[0], not any(m[1].call.values())))
            (names, one), *others = members
            also = tuple(dict.fromkeys(other for other, _ in others if other != names))
            yield Loss(names, also, one.tool, one.call, one.before, one.after)


def _state(chain: Chain) -> object:
    table, last = chain.table, chain.links[-1]
    depth = min(len(chain.links), _DEEP)
    return table.use.sets, table.delegated.sets, table.bounds, last.state, depth
