"""What people meet first: verbs as processes, growth, real repositories, calls never seen.

Processes are measured by their own CPU time. Each has a limit of time, and one that did not
end within it is said so.
"""

from __future__ import annotations

import json
import math
import subprocess
import sys
import tarfile
import tempfile
import time
import tracemalloc
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from operator import itemgetter
from pathlib import Path
from statistics import median

import attrs

import policy
from policy.analysis.diff import diff_workspaces
from policy.files.trees import Memory
from policy.hosts.workspace import load_tree
from policy.tables.table import Table
from tests.benchmark import running
from tests.benchmark import workload as workloads
from tests.benchmark.clock import cost_of_each, seconds
from tests.benchmark.deciders import table_of
from tests.benchmark.figures import Figure, Scale, at_most, installed
from tests.benchmark.peers import Decider
from tests.benchmark.processes import process_figures
from tests.benchmark.workload import Call, Rule, policy_text
from tests.golden.inputs import CORPUS

__all__ = ["PARTS", "PROJECTS", "Growth", "Run", "grown", "run"]

# Texts by path: `now` is a project, `before` the same before an edit, and a log of calls.
Files = Mapping[str, str]

_VERBS = {
    "check": ("check", "now", "Bash(git push origin main)"),
    "lint": ("lint", "now"),
    "audit": ("audit", "now"),
    "audit as JSON": ("audit", "now", "--format", "json"),
    "diff": ("diff", "before", "now"),
    "suggest": ("suggest", "calls.jsonl", "--policy", "now"),
}


@attrs.frozen
class Run:
    """What one process took."""

    seconds: float  # of CPU
    mib: float  # of memory, at most
    written: float  # MiB of output
    status: int  # its exit status; negative where it was ended

    @property
    def answered(self) -> bool:
        """Whether it ended by itself, with an answer."""
        return self.status in (0, 1)

    @property
    def shown(self) -> str:
        """Its time for people."""
        if self.answered:
            return f"{self.seconds:.3g}"
        return f"not ended in {self.seconds:.0f}" if self.status < 0 else "failed"


def run(arguments: Iterable[str], folder: Path, limit: float) -> Run:
    """Return what Python takes with *arguments* in *folder*; ended after *limit* seconds."""
    command = [sys.executable, "-I", "-S", running.__file__, str(limit), sys.executable, *arguments]
    environment = {"PYTHONPATH": str(Path(policy.__file__).parents[1])}
    ended = subprocess.run(command, cwd=folder, env=environment, stdout=subprocess.PIPE, check=True)
    return Run(**json.loads(ended.stdout))


def _verb(verb: str, folder: Path, scale: Scale) -> Run:
    return run(("-m", "policy", *_VERBS[verb]), folder, scale.limit)


def _write(folder: Path, files: Files) -> Path:
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    return folder


# --- start ------------------------------------------------------------------

_SMALL = """root main

agent main {
    allow Read, Grep, Glob, Bash(git diff *), Bash(npm test), Task(explore)
    deny Bash(git push --force *), Read(.env)
}

agent explore {
    allow Read, Grep, Glob
}
"""
_TARGETS = {"check": 6, "lint": 10, "audit": 15}  # times `python -c pass`


def _start(scale: Scale) -> Iterator[Figure]:
    """Yield what a verb costs in a project of two agents and eleven rules."""
    calls = (Call("Bash", "npm test"), Call("Read", "README.md"), Call("Bash", "make"))
    before = _SMALL.replace("git diff *", "git *")
    files = {"now/team.policy": _SMALL, "before/team.policy": before, "calls.jsonl": _log(calls)}
    verbs = ("check", "lint", "audit", "diff", "suggest")
    with tempfile.TemporaryDirectory() as name:
        folder = _write(Path(name), files)
        runs: dict[str, list[Run]] = {verb: [] for verb in ("bare", *verbs)}
        for _ in range(1 + scale.rounds):  # the first of them writes what Python compiles
            runs["bare"].append(run(("-c", "pass"), folder, scale.limit))
            for verb in verbs:
                runs[verb].append(_verb(verb, folder, scale))
    spent = {verb: median(each.seconds for each in took[1:]) for verb, took in runs.items()}
    for verb in verbs:
        ratio = spent[verb] / spent["bare"]
        figure = Figure(f"{verb} of 11 rules : python -c pass", {"ratio": ratio}, f"{ratio:.1f}x")
        yield at_most(figure.name, ratio, _TARGETS[verb]) if verb in _TARGETS else figure


def _log(calls: Iterable[Call]) -> str:
    return "".join(json.dumps({"tool": each.tool, "input": each.input}) + "\n" for each in calls)


# --- growth -----------------------------------------------------------------


def _notation(rules: Sequence[Rule]) -> Files:
    before = workloads.edited(rules, len(rules) // 20)
    return {"now/a.policy": policy_text(rules), "before/a.policy": policy_text(before)}


def _settings(size: int) -> Files:
    return {"now/.claude/settings.json": json.dumps(workloads.settings(workloads.drawn(size)))}


def _calls(number: int) -> Files:
    rules = workloads.workload(100).rules
    calls = workloads.more_calls(rules, number)
    return {"now/a.policy": policy_text(rules), "calls.jsonl": _log(calls)}


# What grows -> the project of so many.
PROJECTS: dict[str, Callable[[int], Files]] = {
    "rules of our notation": lambda size: _notation(workloads.drawn(size)),
    "commands of our notation": lambda size: _notation(workloads.commands(size)),
    "rules of Claude settings": _settings,
    "agents": lambda number: {"now/a.policy": workloads.team(number, -(-number // 10))},
    "agents in one chain": lambda number: {"now/a.policy": workloads.in_a_row(number)},
    "logged calls": _calls,
}


@attrs.frozen
class Growth:
    """A verb over projects of several sizes."""

    verb: str
    what: str
    sizes: tuple[int, ...]
    most: dict[int, float]  # seconds that are aimed at, by size
    mib: float = math.inf  # of memory that is aimed at


_SIZES = (100, 1_000, 10_000)
_MANY = (*_SIZES, 100_000)
_RULES = (
    Growth("check", "rules of our notation", _MANY, {100_000: 5}),
    Growth("diff", "rules of our notation", _MANY, {100_000: 10}),
    Growth("lint", "rules of our notation", _MANY, {}),
    Growth("audit", "rules of our notation", _MANY, {}),
    Growth("lint", "commands of our notation", _SIZES, {}),
    Growth("check", "rules of Claude settings", _SIZES, {}),
    Growth("lint", "rules of Claude settings", _SIZES, {10_000: 5}),
    Growth("audit", "rules of Claude settings", _SIZES, {10_000: 5}),
)
_TEAMS = (
    Growth("check", "agents", _SIZES, {}),
    Growth("lint", "agents", _SIZES, {1_000: 3, 10_000: 30}),
    Growth("audit", "agents", _SIZES, {1_000: 3, 10_000: 30}),
    Growth("audit as JSON", "agents in one chain", _SIZES[:2], {1_000: 3}, 300),
)
_SUGGEST = (Growth("suggest", "logged calls", (500, 1_500, 5_000), {5_000: 10}, 300),)


def _growth(table: Iterable[Growth]) -> Callable[[Scale], Iterator[Figure]]:
    def figures(scale: Scale) -> Iterator[Figure]:
        for each in table:
            yield grown(each, scale)

    return figures


def grown(growth: Growth, scale: Scale) -> Figure:
    """Return what a verb takes at each size, up to the first at which it does not end."""
    sizes = growth.sizes if scale.largest >= max(_SIZES) else (10, 100)
    runs: dict[int, Run] = {}
    for size in sizes:
        with tempfile.TemporaryDirectory() as name:
            runs[size] = _verb(growth.verb, _write(Path(name), PROJECTS[growth.what](size)), scale)
        if not runs[size].answered:
            break
    ended = [size for size, each in runs.items() if each.answered]
    values = {f"seconds_{size}": runs[size].seconds for size in ended}
    shown = " / ".join(each.shown for each in runs.values()) + " s"
    if len(ended) > 1:
        one, two = ended[-2:]
        ratio = runs[two].seconds / runs[one].seconds
        values["exponent"] = math.log(ratio) / math.log(two / one)
        shown += f", n^{values['exponent']:.2f}"
    if ended:
        last = runs[ended[-1]]
        values |= {"mib": last.mib, "written_mib": last.written}
        shown += f", {last.mib:.0f} MiB"
        shown += f", {last.written:.1f} MiB written" if last.written > 1 else ""
    aims = {size: most for size, most in growth.most.items() if size in sizes}
    met = all(size in ended and runs[size].seconds <= most for size, most in aims.items())
    met = met and values.get("mib", 0) <= growth.mib
    target = " / ".join(f"≤ {most:g}" for most in aims.values())
    name = f"{growth.verb}, {' / '.join(f'{size:,}' for size in sizes)} {growth.what}"
    return Figure(name, values, shown, f"{target} s" if aims else "", met if aims else None)


# --- real repositories ------------------------------------------------------

_REAL = {"lint": (1, 5, None), "audit": (2, 10, 300)}  # p90 and worst in seconds, MiB


def _real(scale: Scale) -> Iterator[Figure]:
    """Yield what lint and audit cost over the corpus beside the checkout, where it is there."""
    archive = CORPUS / "files.tar.gz"
    if not archive.exists():
        yield Figure("real repositories", {}, "not there")
        return
    with tempfile.TemporaryDirectory() as name:
        with tarfile.open(archive) as files:
            files.extractall(name, filter="data")
        folders = sorted(each for each in Path(name, "files").iterdir() if each.is_dir())
        for verb, targets in _REAL.items():
            yield _over(verb, folders[: scale.calls], targets, scale)


def _over(
    verb: str, folders: Sequence[Path], targets: tuple[float, float, float | None], scale: Scale
) -> Figure:
    runs = [run(("-m", "policy", verb, "."), folder, scale.limit) for folder in folders]
    spent = sorted(each.seconds for each in runs)
    middle, p90, worst = median(spent), spent[len(spent) * 9 // 10], spent[-1]
    peak = max(each.mib for each in runs)
    slow = sum(each.status < 0 for each in runs)  # one with files that cannot be read ends with 2
    shown = f"{middle:.2f} / {p90:.2f} / {worst:.1f} s, {peak:.0f} MiB"
    met = p90 <= targets[0] and worst <= targets[1] and peak <= (targets[2] or math.inf)
    return Figure(
        f"{verb} of {len(runs)} real repositories, median / p90 / worst",
        {"median_s": middle, "p90_s": p90, "worst_s": worst, "mib": peak, "not_ended": slow},
        f"{shown}, {slow} not ended" if slow else shown,
        f"≤ {targets[0]} / {targets[1]} s" + (f", {targets[2]} MiB" if targets[2] else ""),
        met and not slow,
    )


# --- calls never seen -------------------------------------------------------

_KIND = {"Bash": "command", "Task": "agent", "WebFetch": "URL"}
_KIND |= dict.fromkeys(("Read", "Edit", "Write"), "path")


def _unseen(scale: Scale) -> Iterator[Figure]:
    """Yield what calls cost that nobody made before: on a new table, and after many others."""
    sizes = (10, 1_000, 10_000, 100_000) if scale.largest >= max(_SIZES) else scale.sizes
    for size in sizes:
        rules = workloads.drawn(size)
        urls, asked = workloads.hosts(min(size // 10, 1_000), 2 * scale.calls)
        calls = list(dict.fromkeys(workloads.more_calls(rules, 40 * scale.calls)))
        others = [calls.pop() for _ in range(20 * scale.calls)]
        kinds: dict[str, list[Call]] = {}
        for call in dict.fromkeys((*calls, *asked)):
            kinds.setdefault(_KIND.get(call.tool, "MCP tool"), []).append(call)
        both = zip(kinds["command"][::-1], kinds["command"][-2::-1], strict=False)
        texts = (f"{one.argument} && {two.argument}" for one, two in both)
        kinds["compound command"] = [Call("Bash", text) for text in texts][: 2 * scale.calls]
        for kind, same in kinds.items():
            name = f"{kind} never seen, {size:,} rules: mean / p50 / p99, and later"
            yield _first_calls(name, same, table_of((*rules, *urls)), others, scale.calls)
    yield from _of_a_table(workloads.drawn(scale.largest), scale)


def _first_calls(
    name: str, calls: list[Call], table: Table, others: Sequence[Call], most: int
) -> Figure:
    most = min(most, len(calls) // 2)
    values: dict[str, float] = {}
    for when, some in (("first", calls[:most]), ("later", calls[most : 2 * most])):
        asked = [(call.tool, call.input) for call in some]
        cost = cost_of_each(table.decide, asked, repeat=1, rounds=1)
        costs = {"mean": cost.mean, "p50": cost.median, "p99": cost.p99}
        values |= {f"{when}_{name}_us": spent for name, spent in costs.items()}
        for call in others if when == "first" else ():
            table.decide(call.tool, call.input)
    shown = " / ".join(f"{value:.0f}" for value in values.values())
    if name.startswith("compound"):
        return Figure(name, values, f"{shown} µs", "p50 ≤ 150 µs", values["first_p50_us"] <= 150)
    met = values["first_mean_us"] <= 10 and values["first_p50_us"] <= 5
    return Figure(name, values, f"{shown} µs", "≤ 10 / 5 µs", met)


def _of_a_table(rules: Sequence[Rule], scale: Scale) -> Iterator[Figure]:
    """Yield the first decision of a table, what it keeps, and whether a small edit is exact."""
    call = workloads.more_calls(rules, 1)[0]
    spent = seconds(
        lambda table: table.decide(call.tool, call.input),
        lambda: table_of(workloads.fresh(rules)),
    )
    yield at_most(f"first decision of a table of {len(rules):,} rules", spent, 0.02, "s")
    calls = workloads.more_calls(rules, 100 * scale.calls)
    tracemalloc.start()
    try:
        table = table_of(workloads.fresh(rules))
        for call in calls:
            table.decide(call.tool, call.input)
        mib = tracemalloc.get_traced_memory()[0] / 2**20
    finally:
        tracemalloc.stop()
    name = f"memory of a table of {len(rules):,} rules after {len(calls):,} calls"
    yield Figure(name, {"mib": mib}, f"{mib:.1f} MiB", "≤ 30 MiB", mib <= 30)
    some = rules[:1_000]
    pair = [json.dumps(workloads.settings(each)) for each in (some, workloads.edited(some, 7))]
    sides = (load_tree(Memory({".claude/settings.json": text})) for text in pair)
    exact = diff_workspaces(*sides).exact
    name = f"an edit of 7 of {len(some):,} rules of Claude settings"
    yield Figure(name, {"exact": exact}, "exact" if exact else "not exact", "exact", exact)


# --- peers ------------------------------------------------------------------

_AHEAD = {10: 3, 1_000: 30, 10_000: 100}  # times the fastest peer, by rules


def _peers(scale: Scale) -> Iterator[Figure]:
    """Yield how many times longer other engines take on the same calls, each asked once."""
    there, missing = installed()
    for peer in missing:
        yield Figure(peer.name, {}, f"not installed ({peer.distribution})")
    for size in (tuple(_AHEAD) if scale.largest in _AHEAD else scale.sizes) if there else ():
        rules = workloads.drawn(size)
        calls = list(dict.fromkeys(workloads.more_calls(rules, 20 * scale.calls)))
        first, later = calls[: scale.calls], calls[scale.calls : 2 * scale.calls]
        table = table_of(rules)
        engines = {peer.name: peer.load(rules) for peer in there if size <= peer.most}
        for when, same in (("first", first), ("later", later), ("seen", first)):
            asked = [(call.tool, call.input) for call in same]
            repeat = scale.repeat if when == "seen" else 1
            ours = cost_of_each(table.decide, asked, repeat=repeat, rounds=1).mean
            means = {name: _mean(decide, same, scale) for name, decide in engines.items()}
            yield from _ahead(f"{len(same):,} {when} calls, {size:,} rules", ours, means, size)
            for call in calls[2 * scale.calls :] if when == "first" else ():
                table.decide(call.tool, call.input)


def _mean(decide: Decider, calls: Sequence[Call], scale: Scale) -> float:
    """Return the mean cost of a peer on as many of *calls* as it can answer in its time."""
    start = time.thread_time()
    decide(calls[-1].tool, calls[-1].argument)
    most = max(20, int(scale.seconds / 4 / (time.thread_time() - start)))
    asked = [(call.tool, call.argument) for call in calls[:most]]
    return cost_of_each(decide, asked, repeat=1, rounds=1).mean


def _ahead(name: str, ours: float, peers: Mapping[str, float], size: int) -> Iterator[Figure]:
    """Yield how many times longer each takes, the fastest first: it has the target."""
    least = _AHEAD.get(size)
    for peer, mean in sorted(peers.items(), key=itemgetter(1)):
        ratio, values = mean / ours, {"ratio": mean / ours, "peer_us": mean, "ours_us": ours}
        shown = f"{ratio:,.2f}x, {mean:,.3f} : {ours:.3f} µs"
        target, met = (f"≥ {least}x", ratio >= least) if least else ("", None)
        yield Figure(f"{peer} : ours, {name}", values, shown, target, met)
        least = None


PARTS: dict[str, Callable[[Scale], Iterator[Figure]]] = {
    "calls": _unseen,
    "peers": _peers,
    "start": _start,
    "hook": process_figures,
    "rules": _growth(_RULES),
    "agents": _growth(_TEAMS),
    "suggest": _growth(_SUGGEST),
    "repositories": _real,
}
