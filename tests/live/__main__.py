"""``python -m tests.live [--calls N] [--seed N]``: compare with the real program, offline."""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from pathlib import Path

from tests.live import sandbox
from tests.live.compare import Disagreement, Outcome, batches, compare
from tests.live.memory import Memory
from tests.live.shrink import shrink


def main() -> int:
    """Return 0 if fewer than one call in a hundred differs, none of them looser; else 1, or 2."""
    parser = argparse.ArgumentParser(prog="python -m tests.live", description=__doc__)
    parser.add_argument("--calls", type=int, default=2000, help="how many (2000)")
    parser.add_argument("--seed", type=int, default=0, help="where they come from (0)")
    parser.add_argument("--jobs", type=int, default=2, help="sessions at a time (2)")
    parser.add_argument("--shrink", type=int, default=10, help="disagreements to minimise (10)")
    parser.add_argument(
        "--beside-commands", action="store_true", help="of files, hosts, servers, skills and agents"
    )
    parser.add_argument(
        "--allowed-only", action="store_true", help="what we allow, and some of what we ask for"
    )
    parser.add_argument(
        "--answers",
        type=Path,
        metavar="FILE",
        help="keep what the program did, and take it from there",
    )
    options = parser.parse_args()
    if lacking := sandbox.missing():
        print(lacking, file=sys.stderr)
        return 2
    started = time.monotonic()
    total = Outcome()
    memory = Memory(options.answers)
    given = batches(
        options.seed,
        options.calls,
        commands=not options.beside_commands,
        granted=options.allowed_only,
    )
    for number, outcome in enumerate(compare(given, memory, options.jobs), 1):
        differ, seconds = len(outcome.disagreements), time.monotonic() - started
        print(f"session {number}: {differ} differ, {seconds:.0f} s", file=sys.stderr, flush=True)
        for each in outcome.disagreements:
            print(f"{each.kind}: ours {each.ours}, the program {each.theirs.word}: {each.call}")
        total.agreed += outcome.agreed
        total.unstable += outcome.unstable
        total.undecided += outcome.undecided
        total.disagreements += outcome.disagreements
    _summary(total, options.seed, time.monotonic() - started)
    total.disagreements.sort(key=lambda each: ("looser", "stricter", "reason").index(each.kind))
    for small in shrink(total.disagreements[: options.shrink], memory, options.jobs):
        _show(small)
    for call, told in total.undecided[:5]:
        print(f"\nundecided: {call}\n  {told[:200]}")
    decided = len(total.agreed) + len(total.disagreements)
    looser = any(each.kind == "looser" for each in total.disagreements)
    return 1 if looser or len(total.disagreements) * 100 >= decided else 0


def _summary(total: Outcome, seed: int, seconds: float) -> None:
    decided = len(total.agreed) + len(total.disagreements)
    kinds = Counter(each.kind for each in total.disagreements)
    print(f"seed {seed}: {decided} calls decided by both in {seconds:.0f} s")
    print("  " + ", ".join(f"{n} {w}" for w, n in Counter(w for _, w in total.agreed).items()))
    calls = [call for call, _ in total.agreed] + [each.call for each in total.disagreements]
    print("  " + ", ".join(f"{n} {sort}" for sort, n in Counter(c.sort for c in calls).items()))
    depths = Counter(len(call.chain) for call in calls)
    print("  " + ", ".join(f"{n} at depth {depth}" for depth, n in sorted(depths.items())))
    print(f"  {len(total.disagreements)} disagreements: ", end="")
    print(", ".join(f"{count} {name}" for name, count in kinds.items()) or "none")
    tools = Counter((each.call.tool, each.ours, each.theirs.word) for each in total.disagreements)
    for (tool, ours, theirs), count in tools.most_common():
        print(f"    {count} {tool}: ours {ours}, the program {theirs}")
    print(f"  {len(total.unstable)} alike when they come alone, {len(total.undecided)} not decided")


def _show(found: Disagreement) -> None:
    print(f"\n{found.kind}: ours {found.ours}, the program {found.theirs.word}")
    print(f"  {found.call}")
    print("".join(f"  {line}\n" for line in found.scenario.describe().splitlines()), end="")
    print(f"  told: {found.theirs.told[:160]!r}")


if __name__ == "__main__":
    sys.exit(main())
