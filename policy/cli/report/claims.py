"""The results of the claims of policies, as a test runner shows them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import attrs

from policy.cli.report.as_json import Object, place_json
from policy.cli.report.text import (
    Ink,
    PageLayout,
    call_text,
    chain_text,
    code,
    excerpt,
    explained,
    item,
    prose,
    rule_text,
)
from policy.core.source import visible
from policy.hosts.claims import ClaimVerdict

__all__ = ["Tested", "claims_json", "claims_markdown", "claims_text", "tally"]

_WORDS = {True: "pass", False: "FAIL", None: "not proven"}
_STYLES = {True: "good", False: "error", None: "warning"}
_WIDTH = max(map(len, _WORDS.values())) + 2


@attrs.frozen
class Tested:
    """A project and the verdicts on its claims."""

    project: str
    verdicts: tuple[ClaimVerdict, ...]


def tally(tested: Iterable[Tested]) -> dict[bool | None, int]:
    """Return the numbers of claims that hold, fail, and could not be proven."""
    totals: dict[bool | None, int] = {True: 0, False: 0, None: 0}
    for one in tested:
        for verdict in one.verdicts:
            totals[verdict.holds] += 1
    return totals


def claims_text(tested: Sequence[Tested], page: PageLayout, *, verbose: bool = False) -> str:
    """Return the claims that do not hold, and a summary; *verbose* shows those that do."""
    lines: list[str] = []
    for one in tested:
        shown = [v for v in one.verdicts if verbose or not v.holds]
        if shown:
            lines += [page.paint(visible(one.project), "bold")]
        for verdict in shown:
            lines += _verdict(verdict, page)
        lines += [""] if shown else []
    lines += page.flow(_summary(tested), separator=", ")
    return "\n".join(lines) + "\n"


def _verdict(verdict: ClaimVerdict, page: PageLayout) -> list[str]:
    word, style = _WORDS[verdict.holds], _STYLES[verdict.holds]
    head = "  " + page.paint(word, style) + " " * (_WIDTH - len(word))
    lines = page.prose(visible(verdict.claim), head)
    if verdict.holds:
        return lines
    indent = " " * (2 + _WIDTH)
    lines += page.prose(_why(verdict), indent)
    lines += page.prose(f"{verdict.span.place}", indent)
    return lines + excerpt(verdict.span, page, style=style, indent=indent)


def _why(verdict: ClaimVerdict) -> str:
    """Return the result instead of the claimed one, and its reason."""
    decision = verdict.decision
    if decision is None:
        return visible(verdict.why)
    because = [f"{rule_text(one)} at {one.place}" for one in decision.because]
    told = f"{decision.effect}: {'; '.join(because) or explained(decision)}"
    if verdict.call is None:
        return f"it is {told}"
    return f"{chain_text(verdict.chain)} can: {call_text(*verdict.call)} is {told}"


def _summary(tested: Sequence[Tested]) -> list[Ink]:
    totals = tally(tested)
    parts = [Ink(f"{totals[True]} passed", "good" if totals[True] else "")]
    if totals[False]:
        parts.append(Ink(f"{totals[False]} failed", "error"))
    if totals[None]:
        parts.append(Ink(f"{totals[None]} not proven", "warning"))
    return parts


def claims_json(tested: Sequence[Tested]) -> Object:
    """Return the JSON shape of the verdicts; ``holds`` is null where it is not proven."""
    totals = tally(tested)
    return {
        "claims": [
            {
                "project": one.project,
                "claim": verdict.claim,
                "holds": verdict.holds,
                "why": verdict.why,
                **_witness(verdict),
                **place_json(verdict.span.place),
            }
            for one in tested
            for verdict in one.verdicts
        ],
        "passed": totals[True],
        "failed": totals[False],
        "not_proven": totals[None],
    }


def _witness(verdict: ClaimVerdict) -> Object:
    if verdict.call is None:
        return {}
    tool, call = verdict.call
    return {"chain": list(verdict.chain), "witness": {"tool": tool, "input": call}}


def claims_markdown(tested: Sequence[Tested]) -> str:
    """Return the claims that do not hold as Markdown."""
    totals = tally(tested)
    told = f"{totals[True]} passed, {totals[False]} failed, {totals[None]} not proven"
    lines = [f"**{told}**", ""]
    for one in tested:
        for verdict in one.verdicts:
            if not verdict.holds:
                place = code(str(verdict.span.place))
                told = f"**{_WORDS[verdict.holds]}** {code(verdict.claim)} at {place}"
                lines.append(item(f"{told}: {prose(_why(verdict))}"))
    return "\n".join(lines).rstrip() + "\n"
