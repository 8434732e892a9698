"""What a change grants and takes away, as Markdown for the review of a pull request.

A comment on GitHub holds 65,536 characters; what does not fit is counted. What
widens and what nobody reads is in sight, the rest is folded away.
"""

from __future__ import annotations

import html
from collections.abc import Iterable
from typing import Final

import attrs

from policy.credentials import masked
from policy.decision import Decision
from policy.render.changes import (
    BEYOND,
    FILES,
    MEANINGS,
    NEW_FINDINGS,
    NO_EFFECT,
    Report,
    Spans,
    beyond,
    churn_words,
    file_words,
    summary,
    verdict,
)
from policy.render.excerpt import line_around, says_more
from policy.render.groups import Told, amount, headline, pool_headline, told
from policy.render.markdown import code, item, prose, table
from policy.render.mermaid import spawn_mermaid
from policy.render.privileges import Summary
from policy.render.words import call_text, chain_text, count, explained
from policy.source import Span, visible

__all__ = ["LIMIT", "diff_markdown"]

# Bytes of a comment, with room for a line above it.
LIMIT: Final = 65_000

_HEADS: Final = ("", "call", "chain", "before", "after")
_LINE: Final = 80  # characters of a line that an author wrote
_WORDS: Final = {what: title.rpartition(": ")[2] for what, title in MEANINGS.items()}


@attrs.frozen
class _Room:
    """How much is shown: agents, changes of one, calls of one, files, characters of a cell.

    And whether the lines of authors are.
    """

    agents: int
    changes: int
    calls: int
    files: int
    cell: int = 400
    lines: bool = True


_EVERYTHING: Final = _Room(10**9, 10**9, 10**9, 10**9, 10**9)
_ROOMS: Final = (
    _Room(40, 50, 8, 40),
    _Room(20, 20, 6, 20, 200),
    _Room(10, 10, 3, 10, 120, lines=False),
    _Room(5, 5, 1, 5, 80, lines=False),
    _Room(0, 0, 0, 3, 80, lines=False),
)


def diff_markdown(report: Report, *, everything: bool = False) -> str:
    """Return *report* as Markdown; *everything* leaves no list short, whatever the size."""
    if everything:
        return _Writer(report, _EVERYTHING).text()
    texts = (_Writer(report, room).text() for room in _ROOMS)
    return next((text for text in texts if len(text.encode()) <= LIMIT), summary(report)[:LIMIT])


@attrs.frozen
class _Writer:
    report: Report
    room: _Room

    def text(self) -> str:
        """Return the whole comment."""
        blocks = [
            [f"**{prose(summary(self.report))}**", ""],
            *self._agents(),
            self._beyond(),
            *self._graphs(),
            self._findings(),
            self._churn(),
            *self._files(),
        ]
        return "\n".join(line for block in blocks for line in block).rstrip() + "\n"

    def _agents(self) -> Iterable[list[str]]:
        """Yield a block for each agent; what is told of several is told of the first."""
        by_agent: dict[tuple[str, str], list[tuple[str, Told]]] = {}
        for what in MEANINGS:
            for group in told(self.report, what):
                key = (group.lead.project, group.lead.chain[-1])
                by_agent.setdefault(key, []).append((what, group))
        blocks = list(by_agent.items())
        for (_, name), groups in blocks[: self.room.agents]:
            yield self._block(name, groups)
        rest = [group for _, groups in blocks[self.room.agents :] for _, group in groups]
        if rest:
            yield [f"and {amount(rest, 'more change')}, in `policy diff --format json`", ""]

    def _block(self, name: str, groups: list[tuple[str, Told]]) -> list[str]:
        by_meaning: dict[str, list[Told]] = {}
        for what, group in groups:
            by_meaning.setdefault(what, []).append(group)
        said = ", ".join(f"{_WORDS[what]} {amount(some)}" for what, some in by_meaning.items())
        is_open = " open" if any(group.lead.widened for _, group in groups) else ""
        head = f"<code>{self._html(name)}</code>: {html.escape(said)}"
        lines = [f"<details{is_open}><summary>{head}</summary>", ""]
        rows = [self._row(what, group) for what, group in groups[: self.room.changes]]
        lines += table(_HEADS, rows)
        if rest := [group for _, group in groups[self.room.changes :]]:
            lines += ["", f"and {amount(rest, 'more change')}"]
        return [*lines, "", "</details>", ""]

    def _row(self, what: str, group: Told) -> list[str]:
        change = group.lead
        first, *rest = group.in_order
        chain = self._code(chain_text(first))
        if self.room is _EVERYTHING:
            chain = "<br>".join([chain, *(code(chain_text(also)) for also in rest)])
        elif rest:
            chain += f"<br>and {count(len(rest), 'more chain')}"
        if len(group.readings) == 1:
            chain += f"<br>{next(iter(group.readings))} only"
        word = f"**{prose(_WORDS[what])}**" if change.widened else prose(_WORDS[what])
        decisions = verdict(change)
        if decisions is None:
            may = "" if group.renamed else self._grants(group.grants)
            sides = ["", may] if change.widened else [may, ""]
            return [word, prose(self._cut(headline(group, self.room.calls))), chain, *sides]
        agent = change.chain[-1]
        if group.by_effect:
            open_ = "<br>".join(
                f"{effect}: {self._calls(list(calls))}"
                for effect, calls in sorted(group.by_effect.items(), reverse=True)
            )
            shut = self._why(decisions[not change.widened], agent, {})
            sides = [shut, open_] if change.widened else [open_, shut]
            return [word, prose(self._cut(pool_headline(group))), chain, *sides]
        return [
            word,
            self._calls(list(group.calls)),
            chain,
            *(
                self._why(decision, agent, spans)
                for decision, spans in zip(decisions, self.report.spans, strict=True)
            ),
        ]

    def _calls(self, calls: list[str]) -> str:
        cell = "<br>".join(map(self._code, calls[: self.room.calls]))
        rest = len(calls) - self.room.calls
        return f"{cell}<br>and {rest} more" if rest > 0 else cell

    def _why(self, decision: Decision, agent: str, spans: Spans) -> str:
        if not decision.because:
            return f"{decision.effect}: {prose(explained(decision, agent))}"
        because = decision.because[: max(self.room.calls, 1)]
        lines = [
            f"{one.effect} {self._code(one.rule)}"
            + (f" at {self._code(str(one.place))}" if one.place else "")
            + self._line(spans.get(one))
            for one in because
        ]
        rest = len(decision.because) - len(because)
        return "<br>".join([*lines, *([f"and {rest} more rules"] if rest else [])])

    def _line(self, span: Span | None) -> str:
        """Return the author's line, where it says more than the rule."""
        if span is None or not self.room.lines or not says_more(span):
            return ""
        return f"<br>{code(line_around(span, _LINE))}"

    def _grants(self, grants: Summary | None) -> str:
        if grants is None:
            return ""
        lines = [f"{label}: {self._listed(items)}" for label, items in grants.lines.items()]
        lines += [
            f"{self._code(tool)}: strictest of {'; '.join(map(self._code, layers))}"
            for tool, layers in grants.layered.items()
        ]
        return "<br>".join(lines[: self.room.changes])

    def _listed(self, items: tuple[str, ...]) -> str:
        shown = ", ".join(map(self._code, items[: self.room.changes]))
        rest = len(items) - self.room.changes
        return f"{shown} and {rest} more" if rest > 0 else shown

    def _graphs(self) -> Iterable[list[str]]:
        """Yield a picture of each spawn graph that changed."""
        for project, edges in list(self.report.spawns.items())[: self.room.agents]:
            totals = [sum(e.change == change for e in edges) for change in ("added", "removed")]
            said = f"{totals[0]:,} added, {totals[1]:,} removed"
            title = f"<summary>spawn graph of <code>{self._html(project)}</code>: {said}</summary>"
            picture = spawn_mermaid(edges) or ["too many edges changed to be drawn"]
            yield [f"<details>{title}", "", *picture, "", "</details>", ""]

    def _beyond(self) -> list[str]:
        excess = beyond(self.report)
        if not excess:
            return []
        rows = [
            [
                self._code(call_text(one.difference.tool, one.difference.call)),
                self._code(chain_text(one.chain))
                + ("" if len(readings) > 1 else f"<br>{readings[0]} only"),
                str(one.difference.before.effect),
                self._why(one.difference.after, one.chain[-1], self.report.spans[1]),
            ]
            for one, readings in excess[: self.room.changes]
        ]
        head = f"<summary>{BEYOND}: {len(excess):,}</summary>"
        rest = len(excess) - len(rows)
        return [
            f"<details open>{head}",
            "",
            *table(("call", "chain", "at most", "granted"), rows),
            *(["", f"and {rest} more"] if rest else []),
            "",
            "</details>",
            "",
        ]

    def _findings(self) -> list[str]:
        found = self.report.findings
        if not found:
            return []
        lines = [f"<details open><summary>{NEW_FINDINGS}: {len(found):,}</summary>", ""]
        for one in found[: self.room.files]:
            said = prose(self._cut(masked(f"{one.severity.value}: {one.message}")))
            place = str(one.place) if one.span else one.place.file
            lines.append(item(f"{said} (`{one.code}`) at {self._code(place)}"))
        return [*lines, *self._more(len(found)), "", "</details>", ""]

    def _churn(self) -> list[str]:
        churn = self.report.review.churn
        if not churn:
            return []
        lines = [f"<details><summary>{NO_EFFECT}: {len(churn):,}</summary>", ""]
        for change in churn[: self.room.files]:
            what, rule, place = churn_words(change)
            lines.append(item(f"{what} {self._code(rule)} at {self._code(place)}"))
        lines += self._more(len(churn))
        return [*lines, "", "</details>", ""]

    def _files(self) -> Iterable[list[str]]:
        """Yield what is said of the files that differ, but of those that rules name."""
        for effect, what in FILES.items():
            files = self.report.files(effect)
            if not files or effect == "decisions":
                continue
            shown = files[: self.room.files]
            lines = [f"{prose(what.capitalize())}:", ""]
            lines += [
                item(f"{self._code(file.path)} ({prose(file_words(file))})") for file in shown
            ]
            yield [*lines, *self._more(len(files)), ""]

    def _more(self, total: int) -> list[str]:
        rest = total - self.room.files
        return [item(f"and {rest} more")] if rest > 0 else []

    def _cut(self, text: str) -> str:
        shown = visible(text)
        return shown if len(shown) <= self.room.cell else f"{shown[: self.room.cell - 1]}…"

    def _code(self, text: str) -> str:
        return code(self._cut(text))

    def _html(self, text: str) -> str:
        return html.escape(self._cut(text))
