"""What a change grants and takes away, for people: widened before narrowed."""

from __future__ import annotations

from policy.decision import Decision
from policy.diff import Change
from policy.render.changes import FILES, Report, headline, summary, verdict
from policy.render.excerpt import because_line
from policy.render.layout import Ink, Page
from policy.render.privileges import LABELS, Summary
from policy.render.words import chain_text, count, explained
from policy.source import visible

__all__ = ["diff_text"]

_MOST_CHANGES = 40
_MOST_FILES = 10
_MOST_RULES = 3
_COLUMN = 9


def diff_text(report: Report, page: Page, *, everything: bool = False) -> str:
    """Return *report* as lines that fit *page*; *everything* leaves no list short."""
    lines: list[str] = []
    numbered = list(enumerate(report.diff.changes))
    for title in ("widened", "narrowed"):
        changes = [(n, change) for n, change in numbered if change.direction == title]
        if not changes:
            continue
        lines += [page.paint(f"{title} ({len(changes):,})", title), ""]
        most = len(changes) if everything else _MOST_CHANGES
        for number, change in changes[:most]:
            lines += [*_change(change, report.grants.get(number), page, everything=everything), ""]
        if len(changes) > most:
            lines += [page.paint(f"  … {len(changes) - most:,} more, shown with --all", "dim"), ""]
    lines += _files(report, page, everything=everything)
    lines += page.prose(summary(report), indent=2)
    return "\n".join(lines) + "\n"


def _change(change: Change, grants: Summary | None, page: Page, *, everything: bool) -> list[str]:
    lines = _head(change, page)
    lines += _chains(change, page, everything=everything)
    decisions = verdict(change)
    if decisions is not None:
        agent = change.chain[-1]
        lines += _why("before", decisions[0], agent, page)
        lines += _why("after", decisions[1], agent, page)
    elif grants is not None:
        word = "it may" if change.widened else "it could"
        for label in LABELS:
            if items := grants.lines.get(label):
                lines += page.flow(items, f"{_label(word)}{label:<{_LABEL}}")
                word = ""
        for tool, layers in grants.layered.items():
            lines += page.prose(f"{tool}: the strictest of", f"{_label(word)}{'depends':<{_LABEL}}")
            word = ""
            for layer in layers:
                lines += page.prose(layer, _label("") + " " * _LABEL + "- ")
    if len(change.readings) == 1:
        lines.append(f"{_label('reading')}{change.readings[0]} only")
    if not change.exact:
        lines += page.prose("further calls of this chain may differ", _label("not exact"))
    return lines


_LABEL = max(map(len, LABELS)) + 2


def _label(text: str) -> str:
    return f"    {text:<{_COLUMN}}"


def _head(change: Change, page: Page) -> list[str]:
    if change.what != "rule":
        return page.prose(headline(change), "  ", indent=4, style="bold")
    before, after = change.difference.before.effect, change.difference.after.effect
    pieces = [
        Ink(headline(change), "bold"),
        Ink(""),
        Ink(before.value, before.value),
        Ink("->"),
        Ink(after.value, after.value),
    ]
    return page.flow(pieces, "  ", indent=4, separator=" ")


def _chains(change: Change, page: Page, *, everything: bool) -> list[str]:
    shown = f"{chain_text(change.chain)} in {visible(change.project)}"
    if not change.also:
        return page.prose(shown, _label("chain"))
    if not everything:
        more = f"and {count(len(change.also), 'more chain')}"
        return page.flow([shown, more], _label("chain"))
    return page.flow([shown, *map(chain_text, change.also)], _label("chain"))


def _why(title: str, decision: Decision, agent: str, page: Page) -> list[str]:
    if not decision.because:
        return page.prose(explained(decision, agent), _label(title))
    lines: list[str] = []
    for because in decision.because[:_MOST_RULES]:
        lines += because_line(because, page, _label("" if lines else title))
    if len(decision.because) > _MOST_RULES:
        lines.append(f"{_label('')}and {len(decision.because) - _MOST_RULES} more rules")
    return lines


def _files(report: Report, page: Page, *, everything: bool) -> list[str]:
    lines: list[str] = []
    for effect, told in FILES.items():
        files = report.files(effect)
        if not files or (effect == "decisions" and not everything):
            continue
        most = len(files) if everything else _MOST_FILES
        style = "warning" if effect in {"unread", "error"} else "bold"
        lines += page.prose(told, style=style)
        for file in files[:most]:
            lines += page.prose(f"{visible(file.path)} ({visible(file.what)})", "  ", indent=4)
        if len(files) > most:
            lines.append(page.paint(f"  … {len(files) - most:,} more, shown with --all", "dim"))
        lines.append("")
    return lines
