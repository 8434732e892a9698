"""What each verb may not get wrong: every failure is a line, with its kind before a colon."""

from __future__ import annotations

from collections.abc import Iterator

from policy.analysis.diff import Change, Diff, diff_workspaces
from policy.analysis.reach.audit import AgentAudit, audit
from policy.analysis.reach.never import check
from policy.analysis.reach.privileges import AtMost
from policy.analysis.reach.query import exceeds, query, read_maximum
from policy.core.effect import Effect
from policy.core.source import Source
from policy.hosts.notation.semantics import DIALECT, dialect_of
from policy.hosts.project import Project
from policy.language.parse import parse_matcher
from policy.tables.chain import Chain, SpawnDenied
from tests.law import decider
from tests.law.decider import DENY, EFFECTS, Call, Policies
from tests.law.drawing import CALLS, Case
from tests.law.worlds import (
    LONGEST,
    Names,
    World,
    arguments,
    call_of,
    named,
    number_of,
)

PROJECT = DIALECT.cwd


def check_failures(world: World) -> Iterator[str]:
    """`check`: the engine has the same chains, and decides every call of each alike."""
    seen = set()
    for chain in world.chains:
        seen.add(chain)
        try:
            known = world.workspace.chain(*chain)
        except SpawnDenied as error:
            yield f"check chain: {'>'.join(chain)}: {error}"
            continue
        for _, call, effect in world.decided(chain):
            found = known.decide(call.tool, arguments(call)).effect
            if found.name.lower() != EFFECTS[effect]:
                kind = f"check {call.tool}"
                yield f"{kind}: {'>'.join(chain)} {call}: {found}, not {EFFECTS[effect]}"
    for chain in _engine_chains(world.project):
        if chain not in seen:
            yield f"check chain: the engine has {'>'.join(chain)}"


def _engine_chains(project: Project) -> Iterator[Names]:
    layer = [Chain.start(name, project.attenuated) for name in project.starts]
    while layer:
        yield from (chain.names for chain in layer)
        layer = [following for chain in layer for following in _spawned(project, chain)]


def _spawned(project: Project, chain: Chain) -> Iterator[Chain]:
    for name in project.agents if len(chain.names) < LONGEST else ():
        try:
            yield chain.spawn(name)
        except SpawnDenied:
            continue


def diff_failures(old: World, new: World) -> Iterator[str]:
    """`diff`: every change is one, and nothing else changes."""
    found = diff_workspaces(old.workspace, new.workspace)
    if not found.exact:
        yield f"diff exact: {found.why}"
    for change in found.changes:
        yield from _unconfirmed(change, old, new)
    told = {
        (named(change.difference.tool), change.difference.effects, chain)
        for change in found.changes
        if change.what == "rule"
        for chain in (change.chain, *change.also)
    }
    names = [{agent.name for agent in world.policies.agents} for world in (old, new)]
    one_sided = names[0] ^ names[1]
    for chain in (chain for chain in old.chains if chain in set(new.chains)):
        compared = {number for number, _, _ in new.decided(chain)}
        for number, call, before in old.decided(chain):
            after = new.effects(chain)[number]
            if before == after or number not in compared:
                continue
            is_told = any(
                tool == named(call.tool)
                and other[-1] == chain[-1]
                and _covers(effects, (before, after))
                and _moves(old, new, other, number) == (after > before)
                for tool, effects, other in told
            )
            is_start = call.tool == "Task" and call.argument in one_sided
            if not is_told and not (
                is_start and _is_lonely(found, call.argument, widened=after > before)
            ):
                said = f"{call}: {EFFECTS[before]} -> {EFFECTS[after]}"
                yield f"diff misses {call.tool}: {'>'.join(chain)} {said}"
    yield from _lonely_failures(found, old, new, widened=False)
    yield from _lonely_failures(found, new, old, widened=True)


def _covers(told: tuple[Effect, Effect], change: tuple[int, int]) -> bool:
    """Whether a change that is told is in the direction of another, and as far."""
    (before, after), (lower, upper) = map(number_of, told), sorted(change)
    if (before < after) != (change[0] < change[1]):
        return False
    return min(before, after) <= lower and upper <= max(before, after)


def _moves(old: World, new: World, chain: Names, number: int) -> bool | None:
    """Whether a call is granted more than before, or less, at the end of a chain."""
    before, after = old.effects(chain)[number], new.effects(chain)[number]
    return None if before == after else after > before


def _is_lonely(found: Diff, agent: str, *, widened: bool) -> bool:
    """Whether `agent` is told to be an agent that comes, or goes."""
    return any(
        change.what != "rule" and change.widened == widened and change.chain[-1] == agent
        for change in found.changes
    )


def _unconfirmed(change: Change, old: World, new: World) -> Iterator[str]:
    before, after = change.difference.before.effect, change.difference.after.effect
    for chain in (change.chain, *change.also):
        said = f"{'>'.join(chain)} {change.difference.tool} {change.difference.call}"
        if len(chain) > LONGEST:
            continue
        if change.what != "rule":
            yield from _unconfirmed_agent(change, chain, old, new)
            continue
        if chain not in old.chains or chain not in new.chains:
            yield f"diff chain: {said} is not on both sides"
            continue
        if before == after:
            yield f"diff no change: {said}"
        call = change.difference.tool, change.difference.call
        decided = old.decide(chain, *call), new.decide(chain, *call)
        if chain == change.chain and decided != (before, after):
            yield f"diff witness {call[0]}: {said}: {before} -> {after}, by the decider {decided}"
        if (decided[0] < decided[1]) != change.widened or decided[0] == decided[1]:
            yield f"diff direction {call[0]}: {said}: {decided}"


def _unconfirmed_agent(change: Change, chain: Names, old: World, new: World) -> Iterator[str]:
    here, there = (new, old) if change.what == "agent-added" else (old, new)
    said = f"{change.what} {'>'.join(chain)}"
    if chain not in here.chains or chain in there.chains:
        yield f"diff {change.what}: {said}"
    elif len(chain) > 1:
        start = decider.decide(here.policies, chain[:-1], Call("Task", chain[-1]))
        if number_of(max(change.difference.effects)) != start:
            yield f"diff start: {said}: {change.difference.effects}, not {EFFECTS[start]}"


def _lonely_failures(found: Diff, here: World, there: World, *, widened: bool) -> Iterator[str]:
    """What an agent may do behind a chain that is on one side only, and nowhere else there."""
    shared = [chain for chain in here.chains if chain in set(there.chains)]
    for chain in here.chains:
        if chain in shared or _is_lonely(found, chain[-1], widened=widened):
            continue
        others = [here.effects(other) for other in shared if other[-1] == chain[-1]]
        for number, call, effect in here.decided(chain):
            if effect > max((other[number] for other in others), default=DENY):
                yield f"diff misses chain: {'>'.join(chain)} {call} {EFFECTS[effect]}"
                break


def query_failures(world: World, case: Case) -> Iterator[str]:
    """`query`: whoever can make such a call is told, with the most that it gets."""
    found = query(world.workspace, parse_matcher(str(case.asked)), readings=("attenuated",))
    if not found.exact:
        yield f"query exact: {found.why}"
    told = {}
    for answer in found.answers:
        told[answer.agent] = answer
        call = call_of(answer.tool, answer.call)
        decided = world.decide(answer.chain, answer.tool, answer.call)
        said = f"{'>'.join(answer.chain)} {answer.tool} {answer.call}"
        if decided is not answer.decision.effect or decided is Effect.DENY:
            yield f"query witness: {said}: {answer.decision.effect}, by the decider {decided}"
        if call is not None and not decider.speaks_of(case.asked, call):
            yield f"query other call: {said}"
    for chain in world.chains:
        for call, effect in world.granted(chain):
            if not decider.speaks_of(case.asked, call):
                continue
            said = f"{'>'.join(chain)} {call} {EFFECTS[effect]}"
            answer = told.get(chain[-1])
            if answer is None:
                yield f"query misses: {said}"
            elif number_of(answer.decision.effect) < effect:
                yield f"query less: {said}, told {answer.decision.effect}"
            elif number_of(answer.decision.effect) == effect and len(answer.chain) > len(chain):
                yield f"query longer: {said}, told {'>'.join(answer.chain)}"


def audit_failures(world: World) -> Iterator[str]:
    """`audit`: who starts whom, and what each agent may do at most."""
    (found,) = audit(world.workspace).projects
    if not found.exact:
        yield "audit exact: not all chains"
    for agent in found.agents:
        yield from _agent_failures(world, agent)


def _agent_failures(world: World, agent: AgentAudit) -> Iterator[str]:
    if agent.escalations or agent.dead_letters:
        yield f"audit gap: {agent.name}"
    chains = [chain for chain in world.chains if chain[-1] == agent.name]
    if bool(chains) != bool(agent.attenuated):
        yield f"audit reached: {agent.name}"
    starts = {chain[-1] for chain in world.chains if chain[-2:-1] == (agent.name,)}
    if starts != set(agent.spawns[0]):
        yield f"audit starts: {agent.name} {agent.spawns[0]}, not {starts}"
    yield from _most_failures(world, agent, chains)


def _most_failures(world: World, agent: AgentAudit, chains: list[Names]) -> Iterator[str]:
    told = {each.tool: each for each in agent.most["attenuated"]}
    for number, call in enumerate(CALLS):
        # What is told is told of one simple command, and of a path in its plainest spelling.
        whole = len(call.parts) > 1 or any(part.redirections for part in call.parts)
        odd = call.tool in decider.PATHS and (
            "./" in call.argument or call.argument.lower() != call.argument
        )
        if call.tool not in told or whole or odd:
            continue
        wanted = max((world.effects(chain)[number] for chain in chains), default=DENY)
        text = str(call.parts[0]) if call.parts else call.argument
        if call.tool in decider.PATHS:
            text = f"{PROJECT}/{text}"
        most = _at_most(told[call.tool], text)
        if most is not None and number_of(most) != wanted:
            yield f"audit most: {agent.name} {call}: {most}, not {EFFECTS[wanted]}"


def _at_most(told: AtMost, text: str) -> Effect | None:
    """What `text` gets: of the patterns that match it, the narrowest holds."""
    if told.why:
        return None
    matching = [
        (pattern, grant.effect)
        for grant in told.grants
        for pattern in grant.patterns
        if pattern.matches(text)
    ]
    for pattern, effect in matching:
        if all(pattern <= other for other, _ in matching):
            return effect
    return None if matching else told.grants[-1].effect


def maximum_failures(world: World, case: Case) -> Iterator[str]:
    """`--max`: what exceeds the maximum is told, and nothing else."""
    text = str(case.most)
    maximum = read_maximum(Source("max.policy", text))
    found, why = exceeds(world.workspace, maximum, readings=("attenuated",))
    if why:
        yield f"max exact: {why}"
    most = World(Policies("most", (case.most,)))
    for excess in found:
        each = excess.difference
        decided = world.decide(excess.chain, each.tool, each.call)
        limit = most.decide(("most",), each.tool, each.call)
        if not decided > limit:
            yield f"max witness: {excess.chain} {each.tool} {each.call}: {decided}, at most {limit}"
    told = [(excess.chain, named(excess.difference.tool)) for excess in found]
    limits = most.effects(("most",))
    for chain in world.chains:
        for number, call, effect in world.decided(chain):
            if effect > limits[number] and not any(
                tool == named(call.tool) and world.effects(other)[number] > limits[number]
                for other, tool in told
            ):
                yield f"max misses: {'>'.join(chain)} {call} {EFFECTS[effect]}"


def never_failures(world: World, case: Case) -> Iterator[str]:
    """`never`: proven if and only if no chain of the shape can make such a call."""
    if any(set(link) != {"*"} and world.policies.agent(link) is None for link in case.shape):
        return  # such a statement refuses its file
    project = World(world.policies, case.never).project
    dialect = dialect_of(entry.declared for entry in project.agents.values())
    (verdict,) = check(project, dialect)
    refuting = [
        f"{'>'.join(chain)} {call}"
        for chain in world.chains
        if decider.shaped(case.shape, chain)
        for call, _ in world.granted(chain)
        if decider.speaks_of(case.asked, call)
    ]
    if verdict.holds is None:
        yield f"never undecided: {verdict.why}"
    elif verdict.holds and refuting:
        yield f"never proven: {refuting[0]}"
    elif not verdict.holds:
        assert verdict.call is not None
        tool, given = verdict.call
        call = call_of(tool, given)
        said = f"{'>'.join(verdict.chain)} {tool} {given}"
        if world.decide(verdict.chain, tool, given) is Effect.DENY:
            yield f"never witness: {said}"
        if call is not None and not decider.speaks_of(case.asked, call):
            yield f"never other call: {said}"
        if not decider.shaped(case.shape, verdict.chain):
            yield f"never other chain: {said}"


VERBS = ("check", "diff", "query", "audit", "max", "never")


def failures(case: Case, verbs: tuple[str, ...] = VERBS) -> Iterator[str]:
    old, new = World(case.old), World(case.new)
    for verb in verbs:
        match verb:
            case "check":
                yield from check_failures(old)
                yield from check_failures(new)
            case "diff":
                yield from diff_failures(old, new)
            case "query":
                yield from query_failures(new, case)
            case "audit":
                yield from audit_failures(new)
            case "max":
                yield from maximum_failures(new, case)
            case "never":
                yield from never_failures(new, case)
