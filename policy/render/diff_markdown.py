"""What a change grants and takes away, as Markdown for the review of a pull request."""

from __future__ import annotations

from policy.decision import Decision
from policy.diff import Change
from policy.render.changes import FILES, Report, headline, summary, verdict
from policy.render.markdown import code, item, prose, table
from policy.render.privileges import Summary
from policy.render.words import chain_text, count, explained

__all__ = ["diff_markdown"]

_MOST_CHANGES = 50
_MOST_FILES = 20


def diff_markdown(report: Report, *, everything: bool = False) -> str:
    """Return *report* as Markdown; *everything* leaves no list short."""
    lines = [f"**{prose(summary(report))}**", ""]
    numbered = list(enumerate(report.diff.changes))
    for title in ("widened", "narrowed"):
        changes = [(n, change) for n, change in numbered if change.direction == title]
        if not changes:
            continue
        most = len(changes) if everything else _MOST_CHANGES
        rows = [_row(change, report.grants.get(n), everything=everything) for n, change in changes]
        lines += [f"### {title.capitalize()} ({len(changes)})", ""]
        lines += table(("call", "chain", "effect", "before", "after"), rows[:most])
        if len(changes) > most:
            lines += ["", f"and {len(changes) - most} more"]
        lines.append("")
    for effect, told in FILES.items():
        files = report.files(effect)
        if not files or effect == "decisions":
            continue
        most = len(files) if everything else _MOST_FILES
        lines += [f"{prose(told.capitalize())}:", ""]
        lines += [item(f"{code(file.path)} ({prose(file.what)})") for file in files[:most]]
        lines += [item(f"and {len(files) - most} more")] if len(files) > most else []
        lines.append("")
    return "\n".join(lines).rstrip() + "\n"


def _row(change: Change, grants: Summary | None, *, everything: bool) -> list[str]:
    chain = code(chain_text(change.chain))
    if everything:
        chain = "<br>".join([chain, *(code(chain_text(also)) for also in change.also)])
    elif change.also:
        chain += f"<br>and {count(len(change.also), 'more chain')}"
    if len(change.readings) == 1:
        chain += f"<br>{change.readings[0]} only"
    decisions = verdict(change)
    if decisions is None:
        may = _grants(grants)
        sides = ["", may] if change.widened else [may, ""]
        return [prose(headline(change)), chain, "", *sides]
    before, after = decisions
    agent = change.chain[-1]
    effect = f"{before.effect} → **{after.effect}**"
    return [code(headline(change)), chain, effect, _why(before, agent), _why(after, agent)]


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
