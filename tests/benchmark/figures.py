"""What is measured, and against which target."""

from __future__ import annotations

import gc
import itertools
import json
import time
import tracemalloc
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import attrs

from policy.analysis.diff import Diff, diff_workspaces
from policy.analysis.reach.audit import audit
from policy.analysis.reach.worklist import Reach, reach
from policy.compare.compare import Comparison
from policy.compare.tables import differences
from policy.core.decision import Decision
from policy.files.trees import Memory
from policy.hosts.project import Project
from policy.hosts.workspace import Workspace, load_tree
from policy.tables.table import Table
from tests.benchmark import workload as workloads
from tests.benchmark.clock import Cost, cost_of_each, seconds
from tests.benchmark.deciders import (
    OURS,
    Disagreement,
    anew,
    check,
    check_compounds,
    compiled,
    parsed,
    ready,
    table_of,
    workspace_of,
)
from tests.benchmark.peers import PEERS, Peer
from tests.benchmark.workload import Call, Rule, Workload, policy_text, workload

__all__ = ["Figure", "Scale", "agreement", "at_most", "figures", "peer_figures"]


@attrs.frozen
class Scale:
    """How much is measured.

    Attributes:
        sizes: rules of the workloads.
        calls: of each.
        repeat: repetitions of a call in one round.
        rounds: of which the best counts.
        seconds: that a slow peer may take for one size, answers and all.
        limit: of one process, in seconds of CPU.

    """

    sizes: tuple[int, ...] = (10, 100, 1_000, 10_000)
    calls: int = 1_000
    repeat: int = 50
    rounds: int = 5
    seconds: float = 20.0
    limit: float = 120.0

    @property
    def largest(self) -> int:
        """The most rules."""
        return self.sizes[-1]

    def workload(self, size: int) -> Workload:
        """Return the workload of *size* rules."""
        return workload(size, self.calls)

    def cost(self, decide: Callable[..., object], calls: Iterable[tuple[object, ...]]) -> Cost:
        """Return what *decide* costs on *calls*."""
        return cost_of_each(decide, calls, repeat=self.repeat, rounds=self.rounds)


QUICK = Scale((10, 100), calls=100, repeat=5, rounds=2, seconds=1.0, limit=20.0)


@attrs.frozen
class Figure:
    """One line of the report.

    Attributes:
        name: what was measured.
        values: the numbers, by what they are; their units are in their names.
        shown: the same for people.
        target: for people; "" where there is none.
        met: whether it was reached; None where there is none.

    """

    name: str
    values: dict[str, float]
    shown: str
    target: str = ""
    met: bool | None = None


def agreement(scale: Scale, extra: Iterable[Peer] = ()) -> list[Disagreement]:
    """Return every call that one of our deciders, or of *extra*, answers wrongly."""
    wrong: list[Disagreement] = []
    for size in scale.sizes:
        work = scale.workload(size)
        for name, load in OURS.items():
            wrong += check(name, load(work.rules), work)
        commands = workloads.compounds(work, scale.calls // 5)
        wrong += check_compounds(OURS["matched anew"](work.rules), work, commands)
        for peer in extra:
            wrong += check(peer.name, peer.load(work.rules), work)
    return wrong


def figures(scale: Scale) -> Iterator[Figure]:
    """Yield every figure of our own."""
    yield from _decide(scale)
    yield from _kinds(scale)
    yield from _compound(scale)
    yield from _commands_of_settings(scale)
    yield from _chains(scale)
    yield from _compile(scale)
    yield from _settings(scale)
    yield from _differences(scale)
    yield from _settings_differences(scale)
    yield from _agents(scale)
    yield from _memory(scale)


# --- decide -----------------------------------------------------------------


def _asked(calls: Iterable[Call]) -> list[tuple[object, ...]]:
    return [(call.tool, call.input) for call in calls]


def _shown(cost: Cost) -> str:
    return f"{cost.median:.2f} / {cost.p99:.2f} µs"


def _cost(name: str, cost: Cost, median: float | None = None, p99: float | None = None) -> Figure:
    values = {"median_us": cost.median, "p99_us": cost.p99}
    if median is None:
        return Figure(name, values, _shown(cost))
    met = cost.median <= median and (p99 is None or cost.p99 <= p99)
    target = f"≤ {median:g} / {p99:g} µs" if p99 else f"≤ {median:g} µs"
    return Figure(name, values, _shown(cost), target, met)


def at_most(name: str, value: float, most: float, unit: str = "x") -> Figure:
    """Return the figure of a value that is not to exceed *most*."""
    key = {"x": "ratio", "s": "seconds"}[unit]
    space = " " if unit != "x" else ""
    shown = f"{value:.2f}{space}{unit}" if value >= 0.1 else f"{value:.3f}{space}{unit}"
    return Figure(name, {key: value}, shown, f"≤ {most:g}{space}{unit}", value <= most)


def _decide(scale: Scale) -> Iterator[Figure]:
    costs: dict[int, Cost] = {}
    repeated: dict[int, Cost] = {}
    for size in scale.sizes:
        work = scale.workload(size)
        table = table_of(work.rules)
        calls = _asked(work.calls)
        costs[size] = scale.cost(anew(table), calls)
        yield _cost(f"decide, {size:,} rules", costs[size], 1.5, 5)
        repeated[size] = scale.cost(table.decide, calls)
    low, high = scale.sizes[0], scale.largest
    ratio = costs[high].median / costs[low].median
    yield at_most(f"decide, {high:,} rules : {low:,} rules", ratio, 2)
    for size in (low, high):
        yield _cost(f"the same call again, {size:,} rules", repeated[size], 0.3)
    for size in (low, high):
        yield _unseen(scale, size)


def _unseen(scale: Scale, size: int) -> Figure:
    """Return what calls cost on average that nobody made before, on a table just made."""
    work = scale.workload(size)
    table = table_of(workloads.fresh(work.rules))
    decide = table.decide
    seen = {call: call.input for call in workloads.more_calls(work.rules, 10 * scale.calls)}
    start = time.thread_time_ns()
    for call, asked in seen.items():
        decide(call.tool, asked)
    spent = (time.thread_time_ns() - start) / 1000 / len(seen)
    name = f"the first {len(seen):,} calls of a new table, {size:,} rules, mean"
    return Figure(name, {"mean_us": spent}, f"{spent:.1f} µs")


_KINDS = {
    "shell command": ("Bash",),
    "path": ("Read", "Edit", "Write"),
    "agent": ("Task",),
}


def _kinds(scale: Scale) -> Iterator[Figure]:
    work = scale.workload(scale.largest)
    table = table_of(work.rules)
    decide = anew(table)
    kinds = {
        kind: [call for call in work.calls if call.tool in tools] for kind, tools in _KINDS.items()
    }
    kinds["MCP tool"] = [call for call in work.calls if call.tool.startswith("mcp__")]
    for kind, calls in kinds.items():
        asked = _asked(calls)
        yield _cost(
            f"decide a call of one {kind}, {scale.largest:,} rules", scale.cost(decide, asked)
        )
        yield _cost("    the same call again", scale.cost(table.decide, asked), 0.3)
    rules, calls = workloads.hosts(scale.largest // 10, scale.calls)
    table = table_of(rules)
    asked = _asked(calls)
    name = f"decide a call of one URL, {len(rules):,} rules"
    yield _cost(name, scale.cost(anew(table), asked))
    yield _cost("    the same call again", scale.cost(table.decide, asked), 0.3)


def _compound(scale: Scale) -> Iterator[Figure]:
    work = scale.workload(scale.largest)
    commands = workloads.compounds(work, max(20, scale.calls // 5))
    decide = anew(table_of(work.rules))
    name = f"compound shell command, {scale.largest:,} rules"
    for parts, target in ((None, 40), (2, None)):
        chosen = [each.text for each in commands if parts in (None, len(each.calls))]
        cost = scale.cost(decide, [("Bash", {"command": text}) for text in chosen])
        yield _cost(name if parts is None else f"    of {parts} commands", cost, target)


def _commands_of_settings(scale: Scale) -> Iterator[Figure]:
    """Yield what commands cost by settings of Claude Code, which looks into each of them."""
    work = scale.workload(scale.largest)
    settings = json.dumps(workloads.settings(work.rules))
    workspace = load_tree(Memory({".claude/settings.json": settings}))
    (project,) = workspace.projects
    decide = anew(workspace.chain(f"{project.title}:{project.starts[0]}").table)
    plain = _asked(call for call in work.calls if call.tool == "Bash")
    name = f"{scale.largest:,} rules of .claude/settings.json"
    yield _cost(f"plain shell command, {name}", scale.cost(decide, plain))
    commands = workloads.compounds(work, max(20, scale.calls // 5))
    asked = [("Bash", {"command": each.text}) for each in commands]
    yield _cost(f"compound shell command, {name}", scale.cost(decide, asked), 40)
    new = [
        ("Bash", {"command": "; ".join(f"{part.argument} {number}" for part in each.calls)})
        for number, each in enumerate(commands)
    ]
    yield _cost("    of commands never seen", cost_of_each(decide, new, repeat=1, rounds=1))


# --- chains -----------------------------------------------------------------


def _chains(scale: Scale) -> Iterator[Figure]:
    """Yield what a chain of eight costs more than its root alone."""
    size = scale.sizes[-2]
    work = scale.workload(size)
    agents = [f"agent-{number}" for number in range(8)]
    calls = _asked(work.calls)
    starts = "    allow Task(agent-*)\n"
    shared = workspace_of(policy_text(work.rules, agents, more=dict.fromkeys(agents, starts)))
    kept = dict.fromkeys(agents[1:], starts)
    own = {
        name: f"{more}    deny Bash(only {name} *), Read(only/{name}/**)\n"
        for name, more in kept.items()
    }
    several = workspace_of(policy_text(work.rules, agents, more={agents[0]: starts, **own}))
    one, eight = (anew(shared.chain(*names).table) for names in (agents[:1], agents))
    # In turns, so that a busy minute is not taken for a longer chain.
    ones, eights = [], []
    for _ in range(3):
        ones.append(scale.cost(one, calls))
        eights.append(scale.cost(eight, calls))
    alone, together = (min(costs, key=lambda cost: cost.median) for costs in (ones, eights))
    yield _cost(f"decide, chain of 1, {size:,} rules", alone)
    yield _cost(f"decide, chain of 8 that share {size:,} rules", together)
    yield at_most("    chain of 8 : chain of 1", together.median / alone.median, 1.5)
    cost = scale.cost(anew(several.chain(*agents).table), calls)
    yield _cost(f"decide, chain of 8 with {size:,} rules each, all different", cost)


# --- compile ----------------------------------------------------------------


def _compile(scale: Scale) -> Iterator[Figure]:
    work = scale.workload(scale.largest)
    size = f"{scale.largest:,} rules"
    tools = sorted({call.tool for call in work.calls})
    names = sorted({rule.tool for rule in work.rules})

    def text() -> str:
        return policy_text(workloads.fresh(work.rules))

    parsed("")  # the parser itself is made once in a process
    reading = seconds(parsed, text)
    making = seconds(lambda tree: ready(compiled(tree), tools), lambda: parsed(text()))
    everything = seconds(lambda tree: ready(compiled(tree), names), lambda: parsed(text()))
    yield Figure(f"parse {size} of our notation", {"seconds": reading}, f"{reading:.2f} s")
    for looked_up, spent in ((tools, making), (names, everything)):
        name = f"compile {size}, {len(looked_up):,} tools looked up"
        yield Figure(name, {"seconds": spent}, f"{spent:.2f} s")
    yield at_most("    text to a table that is ready", reading + making, 1, "s")


def _settings(scale: Scale) -> Iterator[Figure]:
    """Yield what loading settings of Claude Code costs, where that host is read."""
    work = scale.workload(scale.largest)
    name = f"load {scale.largest:,} rules of .claude/settings.json, first decision"

    def tree() -> Memory:
        settings = workloads.settings(workloads.fresh(work.rules))
        return Memory({".claude/settings.json": json.dumps(settings, indent=2)})

    projects = load_tree(tree()).projects
    if not any(project.files for project in projects):
        yield Figure(name, {}, "not read yet")
        return
    (project,) = projects
    root = f"{project.title}:{project.starts[0]}"

    def load(files: Memory) -> Decision:
        return load_tree(files).chain(root).decide("Bash", {"command": "git status"})

    yield at_most(name, seconds(load, tree), 1, "s")


# --- differences ------------------------------------------------------------


def _differences(scale: Scale) -> Iterator[Figure]:
    pairs = ((1_000, 50), (10_000, 500)) if scale.largest == 10_000 else ((scale.largest, 10),)
    workloads_of = {
        "rules": lambda size: scale.workload(size).rules,
        "names": workloads.named,
        "commands": workloads.commands,
        "denials": workloads.denying,
    }
    for (size, edits), kind in itertools.product(pairs, workloads_of):
        rules = workloads_of[kind](size)
        kinds = {"names": ("name", "glob"), "commands": ("bash",)}.get(kind)
        found: list[Comparison] = []

        def tables(
            rules: Sequence[Rule] = rules,
            edits: int = edits,
            kinds: Sequence[str] | None = kinds,
        ) -> tuple[Table, Table]:
            whole = workloads.fresh(rules)
            after = workloads.edited(rules, edits, kinds)
            one, two = table_of(whole), table_of((*after, *whole[-2:]))
            _ = one.hash, two.hash
            return one, two

        spent = seconds(
            lambda pair, found=found: found.append(differences(pair[0], pair[1])), tables
        )
        comparison = found[-1]
        exact = "exact" if comparison.exact else "not exact"
        widened = sum(difference.widened for difference in comparison.differences)
        yield attrs.evolve(
            at_most(f"differences of {size:,} {kind}, {edits:,} edits", spent, 1, "s"),
            met=spent <= 1 and comparison.exact,
            target="≤ 1 s, exact",
        )
        narrowed = len(comparison.differences) - widened
        values: dict[str, float] = {
            "widened": widened,
            "narrowed": narrowed,
            "exact": comparison.exact,
        }
        yield Figure("    found", values, f"{widened} + {narrowed}, {exact}")


def _settings_differences(scale: Scale) -> Iterator[Figure]:
    """Yield what it costs to compare settings of Claude Code in both readings, all chains."""
    size, edits = (10_000, 500) if scale.largest == 10_000 else (scale.largest, 10)
    for kind, rules in (
        ("rules", scale.workload(size).rules),
        ("commands", workloads.commands(size)),
    ):
        kinds = ("bash",) if kind == "commands" else None
        found: list[Diff] = []

        def pair(
            rules: Sequence[Rule] = rules, kinds: Sequence[str] | None = kinds, edits: int = edits
        ) -> list[Workspace]:
            whole = workloads.fresh(rules)
            after = (*workloads.edited(rules, edits, kinds), *whole[-2:])
            texts = (json.dumps(workloads.settings(each)) for each in (whole, after))
            return [_ready(load_tree(Memory({".claude/settings.json": text}))) for text in texts]

        spent = seconds(lambda both, found=found: found.append(diff_workspaces(*both)), pair)
        name = f"diff of {size:,} {kind} of .claude/settings.json, {edits:,} edits"
        yield attrs.evolve(
            at_most(name, spent, 1, "s"),
            met=spent <= 1 and found[-1].exact,
            target="≤ 1 s, exact",
        )


def _ready(workspace: Workspace) -> Workspace:
    """Return *workspace* with its tables built, as what is read and asked once has them."""
    for project in workspace.projects:
        for reading in (project.attenuated, project.enforced):
            for agent in reading.agents:
                reading.start(agent)
        list(project.agents.values())
    return workspace


# --- agents -----------------------------------------------------------------


def _agents(scale: Scale) -> Iterator[Figure]:
    """Yield what it costs to find every position of agents that start others.

    Where each hands on all that it may not do itself, a chain narrows nothing and
    an agent has one position. Where each denies what it starts something of its
    own, positions are beyond number, and left out beyond the bound of `policy.analysis.reach.worklist`.
    """
    agents = scale.largest
    few = agents // 10
    for name, text, target in (
        (f"{agents:,} agents, 100 tables, 10 spawns each", workloads.team(agents, 100), 10),
        (f"{agents:,} agents, all tables different", workloads.team(agents, agents), 30),
        (f"{few:,} agents, 100 tables, each starts all", workloads.spread(few, 100), 10),
        (f"{few:,} agents, each hands down a denial", workloads.handing_down(few), 10),
    ):
        (project,) = load_tree(Memory({"team.policy": text})).projects
        # Of a team that shares ten targets a root alone would reach hardly a tenth.
        starts = tuple(project.agents) if "spawns" in name else project.starts
        yield from _positions(name, project, starts, target)
    yield from _audit(agents)


def _positions(
    name: str, project: Project, starts: tuple[str, ...], target: float
) -> Iterator[Figure]:
    found: list[Reach] = []

    def search(project: Project) -> None:
        found.append(reach(project, project.attenuated, starts))

    spent = seconds(search, lambda: project)
    chains = sum(map(len, found[-1].chains.values()))
    exact = "exact" if found[-1].exact else f"{len(found[-1].most):,} agents at most"
    yield at_most(f"positions of {name}", spent, target, "s")
    yield Figure(
        "    found",
        {"chains": chains, "agents": len(found[-1].chains), "left out": len(found[-1].most)},
        f"{chains:,} of {len(found[-1].chains):,} agents, {exact}",
    )


def _audit(agents: int) -> Iterator[Figure]:
    workspaces = [
        # Without a root every agent starts chains, so that all of them are told.
        load_tree(Memory({"team.policy": workloads.team(size, 100).partition("\n")[2]}))
        for size in (agents // 10, agents)
    ]
    peaks = []
    for workspace in workspaces:
        tracemalloc.start()
        try:
            audit(workspace)
            peaks.append(tracemalloc.get_traced_memory()[1])
        finally:
            tracemalloc.stop()
    small = seconds(audit, lambda: workspaces[0])
    spent = seconds(audit, lambda: workspaces[1])
    yield at_most(f"audit of {agents:,} agents, 100 tables, loaded before", spent, 10, "s")
    yield at_most(f"    time, {agents:,} : {agents // 10:,} agents", spent / small, 15)
    yield at_most(f"    memory, {agents:,} : {agents // 10:,} agents", peaks[1] / peaks[0], 15)


# --- memory -----------------------------------------------------------------


def _memory(scale: Scale) -> Iterator[Figure]:
    """Yield what a table takes, without the text it was made of, and after calls."""
    work = scale.workload(scale.largest)
    document = parsed(policy_text(workloads.fresh(work.rules)))
    asked = _asked(work.calls)
    gc.collect()
    tracemalloc.start()
    try:
        base = tracemalloc.get_traced_memory()[0]
        table = compiled(document)
        ready(table, ("Bash", "Read", "Task"))
        gc.collect()
        made = tracemalloc.get_traced_memory()[0] - base
        for tool, call in asked:
            table.decide(str(tool), call)  # type: ignore[arg-type]
        gc.collect()
        used = tracemalloc.get_traced_memory()[0] - base
    finally:
        tracemalloc.stop()
    for name, size in (("", made), (f" after {len(asked):,} calls", used)):
        values = {"mib": size / 2**20}
        yield Figure(
            f"memory of a table, {scale.largest:,} rules{name}", values, f"{size / 2**20:.1f} MiB"
        )


# --- peers ------------------------------------------------------------------

# How many times faster than the fastest peer, by rules.
_AHEAD = {10: 5, 100: None, 1_000: 50, 10_000: 500}


def peer_figures(
    scale: Scale, peers: Sequence[Peer], wrong: list[Disagreement]
) -> Iterator[Figure]:
    """Yield what the peers cost on the same calls, and how much faster we are.

    A peer answers first; what it answers wrongly is added to *wrong*.
    """
    for size in scale.sizes:
        work = scale.workload(size)
        ours = scale.cost(anew(table_of(work.rules)), _asked(work.calls))
        yield _cost(f"agent-policy, {size:,} rules", ours)
        medians: dict[str, float] = {}
        for peer in peers:
            if size > peer.most:
                yield Figure(f"{peer.name} {peer.version}, {size:,} rules", {}, "gives up")
                continue
            cost = _peer(scale, peer, work, wrong)
            medians[peer.name] = cost.median
            note = f", {cost.calls} calls" if cost.calls < len(work.calls) else ""
            figure = _cost(f"{peer.name} {peer.version}, {size:,} rules{note}", cost)
            yield attrs.evolve(figure, shown=f"{figure.shown}   {cost.median / ours.median:,.0f}x")
        yield _ahead(size, ours, medians)


def _ahead(size: int, ours: Cost, medians: dict[str, float]) -> Figure:
    fastest = min(medians, key=medians.__getitem__)
    ratio = medians[fastest] / ours.median
    least = _AHEAD.get(size)
    name = f"    {fastest} : agent-policy"
    if least is None:
        return Figure(name, {"ratio": ratio}, f"{ratio:,.1f}x")
    return Figure(name, {"ratio": ratio}, f"{ratio:,.1f}x", f"≥ {least}x", ratio >= least)


def _peer(scale: Scale, peer: Peer, work: Workload, wrong: list[Disagreement]) -> Cost:
    """Return what a peer costs on as many calls as there is time for."""
    decide: Any = peer.load(work.rules)
    first = work.calls[0]
    start = time.perf_counter()
    decide(first.tool, first.argument)
    decide(first.tool, first.argument)
    once = (time.perf_counter() - start) / 2
    # Twenty repetitions in three rounds where time allows; slow engines get
    # fewer, then fewer calls. What is slow needs no repetition to be seen.
    repeat, rounds = min(20, scale.repeat), min(3, scale.rounds)
    while repeat > 1 and once * repeat * rounds * len(work.calls) > scale.seconds:
        repeat -= 1
    if once * repeat * rounds * len(work.calls) > scale.seconds:
        rounds = 2
    most = max(20, min(len(work.calls), int(scale.seconds / (once * (repeat * rounds + 1)))))
    wrong += check(peer.name, decide, work, most)
    calls = [(call.tool, call.argument) for call in work.calls[:most]]
    return cost_of_each(decide, calls, repeat=repeat, rounds=rounds)


def installed() -> tuple[list[Peer], list[Peer]]:
    """Return the peers that are installed and those that are not."""
    return (
        [peer for peer in PEERS if peer.installed],
        [peer for peer in PEERS if not peer.installed],
    )
