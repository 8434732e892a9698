"""``python -m tests.benchmark [--quick] [--first [PART …] | --peers] [--json]``.

The exit status is 1 where deciders disagree, and 0 else: a figure that misses
its target is a figure.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain

import attrs

import policy
from tests.benchmark.deciders import Disagreement
from tests.benchmark.figures import (
    QUICK,
    Figure,
    Scale,
    agreement,
    figures,
    installed,
    peer_figures,
)
from tests.benchmark.first import PARTS
from tests.benchmark.peers import INSTALL
from tests.benchmark.processes import process_figures

Say = Callable[[str], None]


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print, and return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmark", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small workloads, in seconds")
    parser.add_argument("--peers", action="store_true", help="compare with engines installed here")
    parser.add_argument(
        "--first", nargs="*", choices=PARTS, metavar="PART", help=f"only {', '.join(PARTS)}"
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args(arguments)
    scale = QUICK if options.quick else Scale()
    say = _silent if options.json else _say
    say(_header(scale))
    if options.first is not None:
        parts = (PARTS[name](scale) for name in options.first or PARTS)
        firsts = list(_shown(chain.from_iterable(parts), say, "figure"))
        if options.json:
            print(_as_json(scale, [("figure", firsts)], ()))
        return 0
    wrong = agreement(scale)
    if not wrong:
        say(_agreed(scale))
    report: list[tuple[str, list[Figure]]] = []
    if not wrong:
        measured = chain(figures(scale), process_figures(scale))
        report.append(("figure", list(_shown(measured, say, "figure"))))
    if options.peers and not wrong:
        report.append(("peers", list(_peers(scale, say, wrong))))
    for disagreement in wrong[:20]:
        print(disagreement, file=sys.stderr)
    if options.json:
        print(_as_json(scale, report, wrong))
    return 1 if wrong else 0


def _say(line: str) -> None:
    print(line, flush=True)


def _silent(line: str) -> None:
    pass


def _header(scale: Scale) -> str:
    python = f"{platform.python_implementation()} {platform.python_version()}"
    return (
        f"agent-policy {policy.__version__}, {python}, {os.cpu_count()} cores\n"
        f"Thread CPU time of one call: the least of {scale.rounds} rounds of {scale.repeat};"
        f" median / p99 over {scale.calls:,} calls."
    )


def _agreed(scale: Scale) -> str:
    sizes = ", ".join(f"{size:,}" for size in scale.sizes)
    return f"Every decider agrees with the reference on every call of {sizes} rules.\n"


def _peers(scale: Scale, say: Say, wrong: list[Disagreement]) -> Iterator[Figure]:
    there, missing = installed()
    for peer in missing:
        how = "measured where it is installed" if peer.optional else INSTALL
        say(f"{peer.name} is not installed ({how})")
    if there:
        say("")
        yield from _shown(peer_figures(scale, there, wrong), say, "engine")
    if not wrong and there:
        say("Every peer gave the reference's answer to every call it was measured on.")


def _shown(measured: Iterable[Figure], say: Say, title: str) -> Iterator[Figure]:
    """Yield *measured*, each as soon as it is there, and its line said."""
    say(_line(title, "measured", "target", "met"))
    for figure in measured:
        met = {None: "", True: "yes", False: "no"}[figure.met]
        say(_line(figure.name, figure.shown, figure.target, met))
        yield figure


def _line(name: str, measured: str, target: str, met: str) -> str:
    return f"{name:<64} {measured:<30} {target:<16} {met}".rstrip()


def _as_json(
    scale: Scale, report: Iterable[tuple[str, list[Figure]]], wrong: Iterable[Disagreement]
) -> str:
    content = {
        "version": policy.__version__,
        "python": platform.python_version(),
        "cores": os.cpu_count(),
        "sizes": scale.sizes,
        "calls": scale.calls,
        "figures": [
            attrs.asdict(figure) for title, rows in report if title == "figure" for figure in rows
        ],
        "peers": [
            attrs.asdict(figure) for title, rows in report if title == "peers" for figure in rows
        ],
        "disagreements": [str(each) for each in wrong],
    }
    return json.dumps(content, indent=2, ensure_ascii=False)


if __name__ == "__main__":
    sys.exit(main())
