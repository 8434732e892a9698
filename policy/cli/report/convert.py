"""The losses of a conversion: text, JSON and Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from policy.analysis.conversion.converting import Conversion
from policy.analysis.conversion.losses import Loss
from policy.cli.report.as_json import Object, because_json
from policy.cli.report.text import (
    Ink,
    PageLayout,
    because_line,
    call_text,
    chain_text,
    code,
    count,
    explained,
    item,
    prose,
    quoted,
    table,
)
from policy.core.decision import Decision
from policy.core.source import visible
from policy.tables.chain import SPAWN_TOOL

__all__ = ["conversions_json", "conversions_markdown", "conversions_text"]

_MOST = 30
_COLUMN = 8


def _summary(conversion: Conversion) -> str:
    """Return a conversion on one line."""
    parts = [
        f"{len(conversion.looser):,} looser",
        f"{len(conversion.stricter):,} stricter",
        f"{len(conversion.dropped):,} dropped",
    ]
    if conversion.unproven:
        tools = ", ".join(one.tool for one in conversion.unproven)
        parts.append(f"not proven for {visible(tools)}")
    files = count(len(conversion.files), "file")
    title = f"{visible(conversion.source)} -> {conversion.host}"
    return f"{title}: {files}; {', '.join(parts)}"


def conversions_text(
    conversions: Iterable[Conversion], page: PageLayout, *, everything: bool = False
) -> str:
    """Return the losses of each conversion as lines that fit *page*."""
    lines: list[str] = []
    for conversion in conversions:
        for title, style, losses in (
            ("looser: the conversion grants more", "widened", conversion.looser),
            ("stricter: the conversion grants less", "narrowed", conversion.stricter),
        ):
            lines += _losses(title, style, losses, page, everything=everything)
        lines += _items("dropped: no file of the other host says it", _dropped(conversion), page)
        lines += _items("not proven to be no looser", _unproven(conversion), page)
        lines += _items("names", _names(conversion), page)
        lines += _items("as declared, whatever is enforced", _declared(conversion), page)
        lines += [*page.prose(_summary(conversion), indent=2), ""]
    return "\n".join(lines[:-1]) + "\n"


def _losses(
    title: str, style: str, losses: Sequence[Loss], page: PageLayout, *, everything: bool
) -> list[str]:
    if not losses:
        return []
    lines = [page.paint(f"{title} ({len(losses):,})", style), ""]
    groups = _together(losses)
    most = len(groups) if everything else _MOST
    for group in groups[:most]:
        loss = group[0]
        before, after = loss.before, loss.after
        arrow = f"{page.effect(before.effect)} -> {page.effect(after.effect)}"
        calls = [Ink(call_text(one.tool, one.call), "bold") for one in group]
        *above, last = page.flow(calls, "  ", indent=4)
        lines += [*above, f"{last}  {arrow}"]
        lines += page.prose(_chains(loss), _label("chain"))
        lines += _why("before", before, loss.chain[-1], page)
        lines += [*_why("after", after, loss.chain[-1], page), ""]
    if rest := groups[most:]:
        more = f"  … {sum(map(len, rest)):,} more, shown with --all"
        lines += [page.paint(more, "dim"), ""]
    return lines


def _together(losses: Iterable[Loss]) -> list[list[Loss]]:
    """Return the losses, grouped for agents that are started alike."""
    groups: dict[object, list[Loss]] = {}
    for number, loss in enumerate(losses):
        effects = loss.before.effect, loss.after.effect
        is_start = loss.tool == SPAWN_TOOL
        key: object = (effects, loss.chain, loss.also) if is_start else number
        groups.setdefault(key, []).append(loss)
    return list(groups.values())


def _why(title: str, decision: Decision, agent: str, page: PageLayout) -> list[str]:
    if decision.because:
        return list(because_line(decision.because[0], page, _label(title)))
    return page.prose(explained(decision, agent), _label(title))


def _chains(loss: Loss) -> str:
    more = f", and {count(len(loss.also), 'more chain')}" if loss.also else ""
    return chain_text(loss.chain) + more


def _label(text: str) -> str:
    return f"    {text:<{_COLUMN}}"


def _items(title: str, items: Sequence[str], page: PageLayout) -> list[str]:
    if not items:
        return []
    lines = [page.paint(f"{title} ({len(items):,})", "bold")]
    for text in items:
        lines += page.prose(text, "  ", indent=4)
    return [*lines, ""]


def _dropped(conversion: Conversion) -> list[str]:
    return [
        visible(one.what) + (f" (of `{visible(one.agent)}`)" if one.agent else "")
        for one in conversion.dropped
    ]


def _unproven(conversion: Conversion) -> list[str]:
    return [f"{visible(one.tool)}: {one.why}" for one in conversion.unproven]


def _names(conversion: Conversion) -> list[str]:
    renamed = [
        f"the agent `{visible(old)}` is called `{visible(new)}`"
        for old, new in conversion.names.items()
    ]
    if not conversion.tools:
        return renamed
    tools = quoted(conversion.tools, len(conversion.tools))
    return [*renamed, f"tools that the host does not know keep theirs: {tools}"]


def _declared(conversion: Conversion) -> list[str]:
    looser = sum(loss.looser for loss in conversion.declared)
    if not conversion.declared:
        return []
    return [f"{looser:,} looser, {len(conversion.declared) - looser:,} stricter"]


def conversions_json(conversions: Iterable[Conversion], refused: str) -> Object:
    """Return the JSON shape of conversions; with their files unless they are refused."""
    return {
        "conversions": [
            {
                "source": one.source,
                "host": one.host,
                "files": {} if refused else dict(one.files),
                "losses": [
                    *(_loss_json(loss) for loss in one.losses),
                    *(
                        {"direction": "dropped", "what": d.what, "agent": d.agent}
                        for d in one.dropped
                    ),
                ],
                "unproven": [{"tool": u.tool, "why": u.why} for u in one.unproven],
                "names": dict(one.names),
                "without_counterpart": list(one.tools),
                "declared": [_loss_json(loss) for loss in one.declared],
                "exact": not one.unproven,
            }
            for one in conversions
        ],
        "refused": refused or None,
    }


def _loss_json(loss: Loss) -> Object:
    return {
        "direction": loss.direction,
        "chain": list(loss.chain),
        "also": [list(chain) for chain in loss.also],
        "tool": loss.tool,
        "from": loss.before.effect.value,
        "to": loss.after.effect.value,
        "witness": {"tool": loss.tool, "input": dict(loss.call)},
        "before": because_json(loss.before.because),
        "because": because_json(loss.after.because),
    }


def conversions_markdown(conversions: Iterable[Conversion], refused: str) -> str:
    """Return conversions as Markdown, with their files unless they are refused."""
    lines: list[str] = []
    for one in conversions:
        lines += [f"**{prose(_summary(one))}**", ""]
        rows = [
            [
                loss.direction,
                code(call_text(loss.tool, loss.call)),
                f"{loss.before.effect} → {loss.after.effect}",
                code(_chains(loss)),
            ]
            for loss in one.losses
        ]
        lines += [*table(("loss", "call", "effect", "chain"), rows), ""] if rows else []
        others = [*_dropped(one), *_unproven(one), *_names(one)]
        lines += [*(item(prose(text)) for text in others), ""] if others else []
        for path, text in () if refused else one.files.items():
            fence = "`" * (max((len(run) for run in _runs(text)), default=2) + 1)
            lines += [code(path), "", fence, text.rstrip("\n"), fence, ""]
    return "\n".join([*lines, *([f"{prose(refused)}"] if refused else [])]).rstrip() + "\n"


def _runs(text: str) -> list[str]:
    runs, run = ["``"], ""
    for character in text:
        run = run + "`" if character == "`" else ""
        runs.append(run)
    return runs
