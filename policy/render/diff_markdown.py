"""What a change grants and takes away, as Markdown for the review of a pull request."""

from __future__ import annotations

from policy.decision import Decision
from policy.render.changes import FILES, Report, Told, headline, summary, told, verdict
from policy.render.markdown import code, item, prose, table
from policy.render.privileges import Summary
from policy.render.words import chain_text, count, explained

__all__ = ["diff_markdown"]

_MOST_CHANGES = 50
_MOST_FILES = 20
_MOST_CALLS = 8


def diff_markdown(report: Report, *, everything: bool = False) -> str:
    """Return *report* as Markdown; *everything* leaves no list short."""
    lines = [f"**{prose(summary(report))}**", ""]
    for title in ("widened", "narrowed"):
        groups = told(report, title)
        total = report.diff.widened if title == "widened" else report.diff.narrowed
        if not total:
            continue
        most = len(groups) if everything else _MOST_CHANGES
        rows = [_row(group, everything=everything) for group in groups[:most]]
        lines += [f"### {title.capitalize()} ({total})", ""]
        lines += table(("call", "chain", "effect", "before", "after"), rows)
        if rest := sum(group.members for group in groups[most:]):
            lines += ["", f"and {rest} more"]
        lines.append("")
    for effect, what in FILES.items():
        files = report.files(effect)
        if not files or effect == "decisions":
            continue
        most = len(files) if everything else _MOST_FILES
        lines += [f"{prose(what.capitalize())}:", ""]
        lines += [item(f"{code(file.path)} ({prose(file.what)})") for file in files[:most]]
        lines += [item(f"and {len(files) - most} more")] if len(files) > most else []
        lines.append("")
    return "\n".join(lines).rstrip() + "\n"


def _row(group: Told, *, everything: bool) -> list[str]:
    change = group.lead
    first, *rest = group.in_order
    chain = code(chain_text(first))
    if everything:
        chain = "<br>".join([chain, *(code(chain_text(also)) for also in rest)])
    elif rest:
        chain += f"<br>and {count(len(rest), 'more chain')}"
    if len(group.readings) == 1:
        chain += f"<br>{next(iter(group.readings))} only"
    decisions = verdict(change)
    if decisions is None:
        may = _grants(group.grants)
        return [prose(headline(group)), chain, "", *(["", may] if change.widened else [may, ""])]
    before, after = decisions
    agent = change.chain[-1]
    effect = f"{before.effect} → **{after.effect}**"
    calls = list(group.calls)
    most = len(calls) if everything else _MOST_CALLS
    cell = "<br>".join(map(code, calls[:most]))
    cell += f"<br>and {len(calls) - most} more" if len(calls) > most else ""
    return [cell, chain, effect, _why(before, agent), _why(after, agent)]


def _why(decision: Decision, agent: str) -> str:
    if not decision.because:
        return prose(explained(decision, agent))
    return "<br>".join(
        f"{because.effect} {code(because.rule)}"
        + (f" at {code(str(because.place))}" if because.place else "")
        for because in decision.because
    )


def _grants(grants: Summary | None) -> str:
    if grants is None:
        return ""
    lines = [f"{label}: {', '.join(map(code, items))}" for label, items in grants.lines.items()]
    lines += [
        f"{code(tool)}: strictest of {'; '.join(map(code, layers))}"
        for tool, layers in grants.layered.items()
    ]
    return "<br>".join(lines)
