"""The smallest policy that covers what was used, proven not to exceed the one in force.

`usage_of` reads the distinct calls of a log that the policy in force grants. A rule is made of
each call, or of several by the beginning or the folder that they share. The draft of these
rules is compared with the policy in force and narrowed where it grants more.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from typing import Final

from policy.analysis.lint import lint
from policy.analysis.records.logs import LogProblem
from policy.analysis.records.record import Record
from policy.analysis.records.replay import RecordDecider, Undecided, decidable
from policy.analysis.remedy import begun, clauses_of, hidden_kind, spelled, subcommand
from policy.commands.reader import SOME_VALUE, Ambiguity, in_home, read_command
from policy.compare.tables import differences
from policy.compare.witness import Difference
from policy.core.credentials import masked
from policy.core.decision import Decision, Reason
from policy.core.effect import Effect
from policy.core.errors import PolicyError
from policy.core.finding import Severity
from policy.core.source import Source
from policy.core.values import evolve, field, frozen
from policy.files.opening import Memory
from policy.hosts.notation import SEMANTICS
from policy.hosts.notation.semantics import dialect_of, semantics
from policy.hosts.portable import RuleFile
from policy.hosts.workspace import load_tree
from policy.language.parse import parse_matcher
from policy.language.printer import print_document
from policy.language.syntax import (
    Agent,
    Delegate,
    Document,
    Grant,
    Matcher,
    Policy,
    Root,
    Rule,
    Statement,
    specifier,
)
from policy.tables.calls import Unreadable, argument_text
from policy.tables.chain import SPAWN_TOOL, Chain, attenuate
from policy.tables.compile import compile_policy
from policy.tables.dialect import ArgumentKind, Dialect
from policy.tables.table import Table

__all__ = ["Proposal", "Usage", "propose", "usage_of"]


def _session(file: RuleFile, text: str) -> Chain:
    """Return the first chain of a project whose one file is *file* with this *text*."""
    (project,) = load_tree(Memory({file.path: text})).projects
    return Chain.start(file.agent, project.enforced)


def _dialect(file: RuleFile | None) -> Dialect:
    """Return how calls are read where *file* decides; None is a policy in our notation."""
    return SEMANTICS.dialect if file is None else dialect_of([_session(file, file.write({})).table])


_SPAWNS = frozenset({SPAWN_TOOL, "Agent"})


@frozen
class UsedCall:
    """A distinct call that was made.

    Attributes:
        chain: who called.
        tool: the tool.
        arguments: of the call.
        effect: what it gets of the policy in force, or got, as the log has it.
        cwd: the folder of the project, or "".
        project: whose agents they are, as the log says, or "".
        times: how often it was made.
        why: why no rule covers it, or "".

    """

    chain: tuple[str, ...]
    tool: str
    arguments: dict[str, object] = field(eq=False)
    effect: Effect
    cwd: str = ""
    project: str = ""
    times: int = field(default=1, eq=False)
    why: str = field(default="", eq=False)

    @property
    def record(self) -> Record:
        """The call as a line of a log."""
        return Record(self.chain, self.tool, self.arguments, cwd=self.cwd)


@frozen
class Usage:
    """What was used.

    Attributes:
        calls: that are allowed or asked for.
        left_out: why calls are not covered.

    """

    calls: tuple[UsedCall, ...]
    left_out: Undecided

    @property
    def chains(self) -> tuple[tuple[str, ...], ...]:
        """Every chain that called, and those it came about by, the shortest first."""
        found = {call.chain[:n] for call in self.calls for n in range(1, len(call.chain) + 1)}
        return tuple(sorted(found, key=lambda chain: (len(chain), chain)))

    def projects(self, chain: tuple[str, ...]) -> tuple[str, ...]:
        """Return whose agents *chain* is made of, as the log says of calls by it and below it."""
        length = len(chain)
        return tuple(dict.fromkeys(c.project for c in self.calls if c.chain[:length] == chain))


def usage_of(
    records: Iterable[Record | LogProblem],
    decider: RecordDecider | None = None,
    *,
    root: str = "",
    file: RuleFile | None = None,
) -> Usage:
    """Return what the calls of a log use.

    Args:
        records: of `policy.analysis.records.logs.read_log`.
        decider: the policy in force; without one a log says what its calls got.
        root: the agent that starts every chain, in place of the one in the log.
        file: of a host, which is to cover them for every agent; None is a policy in our notation.

    """
    dialect = _dialect(file)
    found: dict[object, UsedCall] = {}
    left_out = Undecided()
    for record in records:
        try:
            call = _call(record, decider, root)
            _check_rules(call, dialect)
        except PolicyError as error:
            left_out.add(record, error)
            continue
        if call.tool in _SPAWNS:
            said = "the chains of the other calls say which agents are started"
            left_out.add(record, PolicyError(said))
            continue
        if file is not None:
            call = evolve(call, chain=call.chain[:1])
        arguments = json.dumps(call.arguments, sort_keys=True)
        key = call.project, call.chain, call.tool, call.cwd, arguments
        known = found.get(key)
        found[key] = evolve(call, times=record.times + (known.times if known else 0))
    return Usage(tuple(found.values()), left_out)


def _call(record: Record | LogProblem, decider: RecordDecider | None, root: str) -> UsedCall:
    """Return the call to cover. Raises PolicyError where there is none."""
    asked = decidable(record, root)
    effect = asked.effect if decider is None else decider.decide(asked).effect
    if effect is None:
        raise PolicyError("the log does not say what the call got")
    if effect is Effect.DENY:
        raise PolicyError("the call is denied")
    return UsedCall(asked.chain, asked.tool, asked.call, effect, asked.cwd, asked.project)


def _check_rules(call: UsedCall, dialect: Dialect) -> None:
    """Raise PolicyError for a call that no rule can allow, or should name."""
    argument = dialect.argument(dialect.canonical(call.tool))
    try:
        text = argument_text(argument, dialect, call.arguments)
    except Unreadable:
        return
    if masked(text) != text:
        raise PolicyError("no rule may hold a credential")
    if argument.kind is not ArgumentKind.COMMAND:
        return
    command = read_command(text, dialect.shell)
    if command.unread or command.opaque or not all(part.grantable for part in command.parts):
        hidden = command.ambiguities[0] if command.ambiguities else Ambiguity("", "")
        raise PolicyError(f"no rule can allow {hidden_kind(hidden.text, hidden.why)}")


# Where a rule stands that is written in no file.
_NOWHERE: Final = Source("suggested", "").whole()


def _matcher(tool: str, text: str | None = None) -> Matcher:
    """Return the matcher of *tool*, with *text* as its specifier."""
    return Matcher(tool, None if text is None else specifier(tool, text), span=_NOWHERE)


@frozen
class _Candidate:
    """A rule that may be proposed.

    Attributes:
        effect: what it says.
        matcher: what it matches.
        texts: what it was made of: arguments, as rules match them.
        tool: of the calls.

    """

    effect: Effect
    matcher: Matcher
    texts: tuple[str, ...] = field(eq=False)
    tool: str = field(eq=False)

    @property
    def is_wide(self) -> bool:
        """Whether it may match calls that were not made."""
        return len(self.texts) > 1


def _candidates_of(calls: Iterable[UsedCall], dialect: Dialect, least: int) -> Iterator[_Candidate]:
    """Yield the rules for calls of one agent.

    Args:
        calls: that were made.
        dialect: how they are read.
        least: how many distinct calls have to share a beginning, or a folder,
            before one rule is made of it.

    """
    used: dict[tuple[str, Effect], set[str | None]] = {}
    for effect, (tool, text) in _effects(calls, dialect):
        used.setdefault((tool, effect), set()).add(text)
    for (tool, effect), found in sorted(used.items(), key=str):
        texts = sorted(text for text in found if text is not None)
        if None in found:
            yield _Candidate(effect, _matcher(tool), (), tool)
            continue
        kind = dialect.argument(tool).kind
        for pattern, members in _groups(texts, kind, least):
            yield from _written(tool, effect, dialect, pattern, members)


def _effects(
    calls: Iterable[UsedCall], dialect: Dialect
) -> Iterator[tuple[Effect, tuple[str, str | None]]]:
    """Yield what rules have to match, each with the effect of these rules.

    What is allowed by itself is not what a call of several parts is asked for.
    """
    found = [(call.effect, tuple(_units(call, dialect))) for call in calls]
    allowed = {unit for effect, units in found if effect is Effect.ALLOW for unit in units}
    asked: set[tuple[str, str | None]] = set()
    for effect, units in found:
        if effect is Effect.ASK:
            asked.update([unit for unit in units if unit not in allowed] or units)
    yield from ((Effect.ALLOW, unit) for unit in sorted(allowed - asked, key=str))
    yield from ((Effect.ASK, unit) for unit in sorted(asked, key=str))


def _exact(candidate: _Candidate, dialect: Dialect) -> Iterator[_Candidate]:
    """Yield a rule for each of the calls that *candidate* was made of."""
    for text in candidate.texts:
        yield from _written(candidate.tool, candidate.effect, dialect, "", (text,))


def _units(call: UsedCall, dialect: Dialect) -> Iterator[tuple[str, str | None]]:
    """Yield what rules have to match for *call*: its argument, or the parts of a command."""
    tool = dialect.canonical(call.tool)
    argument = dialect.argument(tool)
    if not call.arguments:
        yield tool, None
        return
    here = evolve(dialect, cwd=call.cwd or dialect.cwd, fold=False)
    try:
        text = argument_text(argument, here, call.arguments)
    except Unreadable:
        yield tool, None
        return
    if argument.kind is ArgumentKind.PATH and f"{text}/".startswith(f"{here.cwd}/"):
        text = dialect.cwd + text.removeprefix(here.cwd)
    if argument.kind is ArgumentKind.COMMAND:
        command = read_command(text, dialect.shell)
        for part in command.parts:
            if not part.harmless:
                # Another argument that a command will have is no text of a rule.
                bare = part.text.removesuffix(f" {SOME_VALUE}")
                yield tool, bare if bare in part.match_texts else part.text
        tools = dialect.shell.files
        for file in command.redirections:
            opens = file.tool or (tools.output if file.writes else tools.input)
            if opens in tools.inner and file.writes and not file.tool:
                opens = "Edit"  # rules for it hold for redirections
            if file.target is not None and opens and opens not in tools.inner:
                name = in_home(file.target, dialect.home)
                arguments: dict[str, object] = {dialect.argument(opens).fields[0]: name}
                yield from _units(evolve(call, tool=opens, arguments=arguments), dialect)
    else:
        yield tool, text if argument.kind in _MATCHED else None


# Arguments that rules match by a text.
_MATCHED: Final = frozenset(
    {ArgumentKind.TEXT, ArgumentKind.PATH, ArgumentKind.URL, ArgumentKind.LENIENT}
)


_Group = tuple[str, tuple[str, ...]]


def _groups(texts: list[str], kind: ArgumentKind, least: int) -> Iterator[_Group]:
    """Yield a pattern, or "" for the text itself, and the texts it is made of."""
    match kind:
        case ArgumentKind.COMMAND:
            yield from _merged([("", (text,)) for text in texts], _beginning, least)
        case ArgumentKind.PATH:
            groups: list[_Group] = [("", (text,)) for text in texts]
            known: list[_Group] = []
            while groups != known:  # folders share a folder in turn
                known, groups = groups, list(_merged(groups, _folder, least))
            yield from _absorbed(groups)
        case _:
            yield from (("", (text,)) for text in texts)


def _merged(groups: list[_Group], shared: Callable[[str], str], least: int) -> Iterator[_Group]:
    """Yield *groups*; enough groups that share a pattern become one."""
    by_pattern: dict[str, list[_Group]] = {}
    for pattern, texts in groups:
        by_pattern.setdefault(shared(pattern or texts[0]), []).append((pattern, texts))
    for pattern, members in by_pattern.items():
        if pattern and len(members) >= least:
            yield pattern, tuple(text for _, texts in members for text in texts)
        else:
            yield from members


def _absorbed(groups: list[_Group]) -> Iterator[_Group]:
    """Yield *groups* of paths, without those that lie in the folder of another."""
    folders = sorted({pattern.removesuffix("**") for pattern, _ in groups if pattern}, key=len)
    inside: dict[str, list[str]] = {}
    for pattern, texts in groups:
        path = pattern.removesuffix("**") or texts[0]
        around = next((folder for folder in folders if path.startswith(folder)), "")
        inside.setdefault(around and f"{around}**", []).extend(texts)
    for pattern, members in inside.items():
        if pattern:
            yield pattern, tuple(members)
        else:
            yield from (("", (text,)) for text in members)


def _folder(path: str) -> str:
    """Return ``/@project/src/**`` for what lies in that folder; "" for the project's own."""
    folder, _, name = path.removesuffix("/**").rpartition("/")
    return f"{folder}/**" if name and folder.count("/") > 1 else ""


def _beginning(text: str) -> str:
    """Return ``git diff *`` for ``git diff HEAD``: a program and its subcommand."""
    shared = subcommand(text)
    return f"{shared} *" if " " in shared and shared.isascii() else ""


def _written(
    tool: str, effect: Effect, dialect: Dialect, pattern: str, texts: tuple[str, ...]
) -> Iterator[_Candidate]:
    kind = dialect.argument(tool).kind
    written = (
        _path(pattern or texts[0]) if kind is ArgumentKind.PATH else begun(pattern or texts[0])
    )
    if kind is ArgumentKind.URL:
        written = f"domain:{written}"
    special = _GLOBS if kind is ArgumentKind.PATH else "*"
    rule = spelled(tool, written, dialect) if written.strip() else None
    if rule is None or (rule[1] and any(each in text for text in texts for each in special)):
        return  # as a pattern it would match other calls
    yield _Candidate(effect, _matcher(*rule), texts, tool)


# What means more than itself in the pattern of a path.
_GLOBS = "*?[]\\!#"


def _path(text: str) -> str:
    """Return a path as rules write it: from the project, the home folder or the root."""
    for anchor, written, itself in (("/@project/", "/", "."), ("/@home/", "~/", "~")):
        if f"{text}/".startswith(anchor):
            return written + text.removeprefix(anchor) if text.startswith(anchor) else itself
    return f"/{text}"


_ROUNDS = 64  # each mends what the comparison found in the one before

# Rules that take something away, at most: an agent with more is better off with narrow ones.
_CARVED = 40

_Granted = tuple[Effect, Matcher]


class _Draft:
    """Rules for each agent that called, and which agents they start."""

    def __init__(
        self, usage: Usage, decider: RecordDecider | None, least: int, file: RuleFile | None
    ) -> None:
        self._file = file
        self._dialect = _dialect(file)
        self._chains = usage.chains
        self._projects = {chain: usage.projects(chain) for chain in self._chains}
        self._decider = decider
        self.agents = list(dict.fromkeys(chain[-1] for chain in self._chains))
        self._candidates: dict[str, list[_Candidate]] = {}
        self._carved: dict[str, dict[_Granted, None]] = {agent: {} for agent in self.agents}
        alone = _decisions(usage, file.write({}), file) if file is not None else []
        # Which calls the host allows without a rule.
        self.needless = [each.effect is Effect.ALLOW for each in alone] or [False] * len(
            usage.calls
        )
        needing = [
            call for call, is_one in zip(usage.calls, self.needless, strict=True) if not is_one
        ]
        for agent in self.agents:
            calls = [call for call in needing if call.chain[-1] == agent]
            self._candidates[agent] = list(_candidates_of(calls, self._dialect, least))
        # Texts that calls of the log were asked for.
        self._asked = {
            (each.tool, text)
            for found in self._candidates.values()
            for each in found
            if each.effect is Effect.ASK
            for text in each.texts
        }
        self._exceeding: set[tuple[str, str | None]] = set()
        if file is not None:
            self._leave_asking_to_host(usage)
        self._narrow_what_lint_finds()

    def why_not(self, call: UsedCall, got: Decision) -> str:
        """Return why *call* gets something else than it did."""
        rules = [because.rule for because in got.because if because.place is not None]
        if rules:
            does = {Effect.ALLOW: "allows it", Effect.ASK: "asks for it", Effect.DENY: "denies it"}
            return f"`{rules[0]}` {does[got.effect]}"
        units = [*_units(call, self._dialect)]
        for unit in units:
            if unit in self._asked:
                return f"another call with `{unit[1]}` was asked for"
        if not self._exceeding.isdisjoint(units):
            return "its rule would grant more than the policy in force"
        return "no rule can name it alone"

    def _texts(self) -> set[tuple[str, str | None]]:
        """Return what the rules are made of: tools and arguments."""
        every = (each for found in self._candidates.values() for each in found)
        return {(each.tool, text) for each in every for text in each.texts}

    def _narrow_what_lint_finds(self) -> None:
        """Write rules for single calls instead of wide ones that lint warns of."""
        for _ in range(2):  # then those of single calls are taken out
            tree = _tree(self.text(), self._file)
            found = lint(tree, load_tree(tree), most=0).findings
            shown = {
                each.span.text for each in found if each.span and each.severity is not Severity.NOTE
            }
            for agent, candidates in self._candidates.items():
                blamed = [
                    str(each.matcher)
                    for each in candidates
                    if not shown.isdisjoint({str(each.matcher), json.dumps(str(each.matcher))})
                ]
                if blamed:
                    self._candidates[agent] = list(self._narrowed(agent, blamed, ""))

    def _leave_asking_to_host(self, usage: Usage) -> None:
        """Take out the rules that ask, but for calls that a rule would allow then."""
        candidates, asked = self._candidates, self.decisions(usage)
        self._keep(lambda each: each.effect is Effect.ALLOW)
        needed = {
            because.rule
            for call, before, after in zip(usage.calls, asked, self.decisions(usage), strict=True)
            if call.effect is before.effect is Effect.ASK and after.effect is Effect.ALLOW
            for because in before.because
        }
        self._candidates = candidates
        self._keep(lambda each: each.effect is Effect.ALLOW or str(each.matcher) in needed)

    def drop_needless(self, usage: Usage) -> None:
        """Take out the rules that allow no call of the log."""
        candidates, before = self._candidates, self.decisions(usage)
        printed = _printed(self.text(), self._file)
        named = {rule for call in usage.calls for rule in _named(printed, call)}
        self._keep(lambda each: each.effect is not Effect.ALLOW or str(each.matcher) in named)
        if [each.effect for each in self.decisions(usage)] != [each.effect for each in before]:
            self._candidates = candidates

    def _keep(self, kept: Callable[[_Candidate], bool]) -> None:
        self._candidates = {
            agent: list(filter(kept, found)) for agent, found in self._candidates.items()
        }

    def decisions(self, usage: Usage) -> list[Decision]:
        """Return what each call gets of the policy as it is printed."""
        return _decisions(usage, self.text(), self._file)

    def mend(self) -> tuple[str, ...]:
        """Take away what the policy in force does not grant, and return why not all was found."""
        drafted = self._texts()
        why = () if self._decider is None else self._mended(self._decider)
        self._exceeding = drafted - self._texts()
        return why

    def _mended(self, decider: RecordDecider) -> tuple[str, ...]:
        why: tuple[str, ...] = ()
        for _ in range(_ROUNDS):
            excess: list[tuple[str, Difference]] = []
            why = ()
            for chain in self._chains:
                for project in self._projects[chain]:
                    found, unproven = self._compared(chain, project, decider)
                    excess += ((chain[-1], difference) for difference in found)
                    why = tuple(dict.fromkeys((*why, *unproven)))
            if not excess:
                return why
            # A rule that is taken over may mend more than it was taken over for.
            if not [None for agent, one in excess if self._take_over(agent, one)]:
                for agent, difference in excess:
                    self._take_away(agent, difference)
        return (*why, f"after {_ROUNDS} rounds of mending some rule still grants more")

    def document(self) -> Document:
        """Return the policy."""
        body: list[Agent | Root] = [Root(root, span=_NOWHERE) for root in self._roots()]
        for agent in self.agents:
            statements: list[Statement] = []
            granted = self._granted(agent)
            for effect in (Effect.ALLOW, Effect.ASK, Effect.DENY):
                matchers = tuple(matcher for one, matcher in granted if one is effect)
                if matchers:
                    statements.append(Grant(effect, matchers, span=_NOWHERE))
            if handed_on := self._handed_on(agent):
                statements.append(Delegate(handed_on, span=_NOWHERE))
            body.append(Agent(agent, tuple(statements), span=_NOWHERE))
        return Document(tuple(body), span=_NOWHERE)

    def text(self) -> str:
        """Return the policy as a file."""
        if self._file is None:
            return print_document(self.document())
        rules: dict[Effect, dict[str, None]] = {}
        for agent in self.agents:
            for effect, matcher in self._granted(agent):
                rules.setdefault(effect, {})[str(matcher)] = None
        return self._file.write({effect: tuple(texts) for effect, texts in rules.items()})

    @property
    def rules(self) -> int:
        """How many rules it has."""
        return sum(len(self._granted(agent)) for agent in self.agents)

    def _roots(self) -> list[str]:
        return list(dict.fromkeys(chain[0] for chain in self._chains))

    def _granted(self, agent: str, *, spawns: bool = True) -> list[_Granted]:
        """Return what *agent* may do: its rules, whom it starts, what is taken away."""
        rules: dict[_Granted, None] = {}
        for each in self._candidates[agent]:
            rules[each.effect, each.matcher] = None
        if spawns:
            rules |= dict.fromkeys(self._spawns(agent))
        return [*rules, *self._carved[agent]]

    def _spawns(self, agent: str) -> Iterator[_Granted]:
        for chain in self._chains:
            if len(chain) > 1 and chain[-2] == agent:
                yield self._starting(chain), _matcher(SPAWN_TOOL, chain[-1])

    def _starting(self, chain: tuple[str, ...]) -> Effect:
        if self._decider is None:
            return Effect.ALLOW
        above, agent = chain[:-1], chain[-1]
        parents = [self._decider.chain(above, project=one) for one in self._projects[chain]]
        said = [one.spawning(agent).effect for one in parents if isinstance(one, Chain)]
        return min(said, default=Effect.ALLOW)

    def _handed_on(self, agent: str) -> tuple[Matcher, ...]:
        """Return what the agents below need, where *agent* may not do all of it itself."""
        below = {
            later
            for chain in self._chains
            if agent in chain
            for later in chain[chain.index(agent) + 1 :]
        }
        own = {matcher: effect for effect, matcher in reversed(self._granted(agent))}
        needed = [
            granted
            for later in self.agents
            if later in below
            for granted in self._granted(later)
            if granted[0] is not Effect.DENY
        ]
        if all(own.get(matcher, Effect.DENY) >= effect for effect, matcher in needed):
            return ()
        kept = [matcher for effect, matcher in self._granted(agent) if effect is not Effect.DENY]
        return tuple(dict.fromkeys((*kept, *(matcher for _, matcher in needed))))

    def _compared(
        self, chain: tuple[str, ...], project: str, decider: RecordDecider
    ) -> tuple[list[Difference], tuple[str, ...]]:
        """Return what *chain* would be granted beyond the policy, and why that may not be all."""
        current = decider.chain(chain, project=project)
        if not isinstance(current, Chain):
            return [], (f"the policy in force has no chain {' > '.join(chain)}",)
        proposed = self._table(chain, current.table)
        comparison = differences(current.table & proposed, proposed)
        return [
            difference
            for difference in comparison.differences
            if difference.widened and not _is_guarded(difference.before)
        ], comparison.why

    def _table(self, chain: tuple[str, ...], current: Table) -> Table:
        """Return what *chain* may do, its calls read as the host of the policy in force does."""
        if self._file is not None:
            return _session(self._file, self.text()).table
        read = semantics(dialect_of([current]))
        table: Table | None = None
        for position, agent in enumerate(chain):
            granted = self._granted(agent, spawns=False)
            rules = tuple(Rule(effect, matcher, span=_NOWHERE) for effect, matcher in granted)
            handed = self._handed_on(agent)
            delegate = (
                tuple(Rule(Effect.ALLOW, matcher, span=_NOWHERE) for matcher in handed)
                if handed
                else None
            )
            policy = Policy(agent, rules, delegate)
            own = compile_policy(policy, read, root=position == 0)
            table = own if table is None else attenuate(table, own)
        return table or Table()

    def _take_over(self, agent: str, difference: Difference) -> bool:
        """Give *agent* the rule that *difference* lacks, if there is one."""
        carved = self._carved[agent]
        for because in difference.before.because:
            granted = self._taken_over(difference.tool, because.rule, because.effect)
            if granted is not None and granted not in carved:
                carved[granted] = None
                return True
        return False

    def _take_away(self, agent: str, difference: Difference) -> None:
        """Take the call of *difference* away from *agent*, or narrow the rule that allows it."""
        carved = self._carved[agent]
        granted = self._call_taken(difference)
        if granted is not None and len(carved) < _CARVED and granted not in carved:
            carved[granted] = None
            return
        blamed = {because.rule for because in difference.after.because}
        self._candidates[agent] = list(self._narrowed(agent, blamed, difference.tool))

    def _taken_over(self, tool: str, rule: str, effect: Effect) -> _Granted | None:
        """Return a rule of the policy in force, as one about calls of *tool*."""
        try:
            matcher = parse_matcher(rule)
        except PolicyError:
            return None
        if effect is Effect.ALLOW or "*" in tool:
            return None
        if self._file is not None:
            return effect, matcher
        return effect, Matcher(tool, matcher.specifier, span=_NOWHERE)

    def _call_taken(self, difference: Difference) -> _Granted | None:
        """Return a rule about the call that shows the excess alone."""
        if difference.before.effect is Effect.ALLOW or not difference.before.because:
            return None
        call = UsedCall(("",), difference.tool, difference.call, difference.before.effect)
        found = list(_candidates_of([call], self._dialect, least=2))
        return (found[0].effect, found[0].matcher) if len(found) == 1 else None

    def _narrowed(self, agent: str, blamed: Iterable[str], tool: str) -> Iterator[_Candidate]:
        matching = [each for each in self._candidates[agent] if str(each.matcher) in blamed]
        # A rule of an agent above may be named instead: then the tool is what is too wide.
        guilty = matching or [each for each in self._candidates[agent] if each.tool == tool]
        for each in self._candidates[agent]:
            if each not in guilty:
                yield each
            elif each.is_wide:
                yield from _exact(each, self._dialect)


def _is_guarded(decision: Decision) -> bool:
    """Return whether the host itself keeps the call back, whatever rules say."""
    if decision.reason is Reason.PROTECTED:
        return True
    return bool(decision.because) and all(one.place is None for one in decision.because)


@frozen
class Proposal:
    """A policy that covers what was used.

    Attributes:
        text: in our notation.
        agents: how many agents it is about.
        rules: how many rules it has.
        covered: how many calls get what they got.
        uncovered: calls that no rule could be written for, or that get less.
        why: why it is not proven that nothing exceeds the policy in force;
            nothing where it is, or where there is none.

    """

    text: str
    agents: int
    rules: int
    covered: int
    uncovered: tuple[UsedCall, ...]
    why: tuple[str, ...] = ()


def propose(
    usage: Usage,
    decider: RecordDecider | None = None,
    *,
    least: int = 3,
    file: RuleFile | None = None,
) -> Proposal:
    """Return the smallest policy found that covers *usage*.

    Args:
        usage: what was used.
        decider: the policy in force, which nothing of the proposal exceeds but
            what its host guards against every rule.
        least: how many distinct calls one rule is made of, at least, that
            matches more than they.
        file: of a host that it is written as, as *usage* was read; None is our notation.

    Raises:
        PolicyError: nothing was used.

    """
    if not usage.calls:
        msg = "the logs hold no call to cover"
        if usage.left_out:
            msg += f": {', '.join(usage.left_out)}"
        told = "name the policy in force with --policy, other logs, or the first agent with --root"
        raise PolicyError(msg, help=told)
    draft = _Draft(usage, decider, least, file)
    why = draft.mend()
    draft.drop_needless(usage)
    uncovered = tuple(_uncovered(usage, draft))
    missing = sum(call.times for call in uncovered)
    return Proposal(
        text=draft.text(),
        agents=len(draft.agents),
        rules=draft.rules,
        covered=sum(call.times for call in usage.calls) - missing,
        uncovered=uncovered,
        why=why,
    )


def _tree(text: str, file: RuleFile | None) -> Memory:
    return Memory({file.path if file else "suggested.policy": text})


def _decisions(usage: Usage, text: str, file: RuleFile | None) -> list[Decision]:
    """Return what each call gets of *text*, a policy or the settings of a host."""
    printed = _printed(text, file)
    return [printed.decide(call.record) for call in usage.calls]


def _printed(text: str, file: RuleFile | None) -> RecordDecider:
    return RecordDecider(load_tree(_tree(text, file)), "enforced" if file else "attenuated")


def _named(printed: RecordDecider, call: UsedCall) -> Iterator[str]:
    """Yield the rules that decide *call*, or a part of it."""
    chain = printed.chain(call.chain, call.cwd)
    parts = clauses_of(chain, call.tool, call.arguments) if isinstance(chain, Chain) else ()
    for decision in (printed.decide(call.record), *(part.decision for part in parts)):
        yield from (because.rule for because in decision.because)


def _uncovered(usage: Usage, draft: _Draft) -> Iterator[UsedCall]:
    """Yield the calls that do not get what they got, each with the reason."""
    for call, got, needless in zip(
        usage.calls, draft.decisions(usage), draft.needless, strict=True
    ):
        if got.effect is call.effect or (needless and got.effect is Effect.ALLOW):
            continue
        yield evolve(call, why=draft.why_not(call, got))
