"""``policy convert``: write policies as files of another host, and report the losses."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path

from policy.analysis.conversion.converting import Conversion, convert
from policy.analysis.conversion.losses import Loss
from policy.cli.console import Console, publish
from policy.cli.report import document as doc
from policy.cli.report.as_json import FileContent, Object, shape
from policy.cli.report.words import arrow, because_text, call, chain_text, count
from policy.core.errors import PolicyError
from policy.core.source import quoted
from policy.files.opening import open_tree
from policy.files.writing import content_of, replace_files

_MOST = 30
_MOST_CALLS = 4  # of one loss


def run(options: argparse.Namespace, console: Console) -> int:
    """Convert, and return the exit status."""
    tree = open_tree(options.path)
    found = convert(tree, options.to, source=options.source, allow_looser=options.allow_looser)
    reasons = (
        one.refusal(looser=options.allow_looser, unproven=options.allow_unproven) for one in found
    )
    refused = next(filter(None, reasons), "")
    files = {path: text for one in found for path, text in one.files.items()}
    targets = {} if refused or not options.folder else _targets(files, options)
    shown = {} if refused or options.folder else files
    alone = len(shown) == 1 and options.format == "text"
    report = doc.Report(
        f"Conversion to `{options.to}`",
        partial(_json, found, refused),
        partial(_blocks, found, {} if alone else shown),
        _MOST,
        content="".join(shown.values()) if alone else "",
    )
    publish(report, options, console)
    if refused:
        console.say(refused)
        return 1
    replace_files(targets)
    for target in targets:
        console.say(f"wrote {target}")
    return 0


def _targets(
    files: Mapping[str, str], options: argparse.Namespace
) -> dict[Path, tuple[bytes | None, bytes]]:
    """Return each file -> its bytes and the new ones. Raises PolicyError if another is there."""
    targets = {}
    for name, text in files.items():
        path, new = Path(options.folder) / name, text.encode()
        old = content_of(path)
        if old not in {None, new} and not options.force:
            msg = "there is another file of that name"
            help_ = "replace it with --force, or name another folder"
            raise PolicyError(msg, file=str(path), help=help_)
        targets[path] = old, new
    return targets


def _blocks(
    conversions: Iterable[Conversion], files: Mapping[str, str], most: int | None
) -> list[doc.Block]:
    """Return a summary of each conversion, and its losses; then *files*."""
    blocks: list[doc.Block] = []
    for one in conversions:
        blocks.append(doc.Paragraph(_summary(one), "strong"))
        for title, losses in (
            ("looser: the conversion grants more", one.looser),
            ("stricter: the conversion grants less", one.stricter),
        ):
            if losses:
                groups = doc.grouped(losses, _together)
                items = tuple(_loss(group, most) for group in groups[:most])
                left = doc.more(sum(map(len, groups[len(items) :])))
                blocks.append(doc.Section(f"{title} ({len(losses):,})", (*items, *left)))
        for title, notes in _notes(one).items():
            if notes:
                blocks.append(doc.Section(f"{title} ({len(notes):,})", tuple(map(doc.Item, notes))))
    return [*blocks, *(doc.Verbatim(text, path) for path, text in files.items())]


def _summary(conversion: Conversion) -> str:
    kinds = ("looser", "stricter", "dropped")
    parts = [f"{len(getattr(conversion, kind)):,} {kind}" for kind in kinds]
    if conversion.unproven:
        parts.append(f"not proven for {', '.join(one.tool for one in conversion.unproven)}")
    files = count(len(conversion.files), "file")
    return f"{conversion.source} -> {conversion.host}: {files}; {', '.join(parts)}"


def _together(loss: Loss) -> object:
    """Return a key by which losses are grouped: calls that the same rules or reasons decide."""
    reasons = (because_text(one, loss.chain[-1], 1) for one in (loss.before, loss.after))
    return loss.before.effect, loss.after.effect, loss.chain, loss.also, *reasons


def _loss(group: Sequence[Loss], most: int | None) -> doc.Item:
    loss = group[0]
    also = f", and {count(len(loss.also), 'more chain')}" if loss.also else ""
    rows = [
        ("chain", chain_text(loss.chain) + also),
        ("before", because_text(loss.before, loss.chain[-1], 1)),
        ("after", because_text(loss.after, loss.chain[-1], 1)),
    ]
    calls = doc.joined((call(one.tool, one.call) for one in group), most=most and _MOST_CALLS)
    changed = arrow(loss.before.effect, loss.after.effect)
    return doc.Item((changed, "  ", calls), (doc.Labelled(tuple(rows)),))


def _notes(conversion: Conversion) -> dict[str, list[str]]:
    """Return the notes on a conversion: a title -> its items."""
    names = [f"the agent `{old}` is called `{new}`" for old, new in conversion.names.items()]
    return {
        "dropped: no file of the other host says it": [
            one.what + (f" (of `{one.agent}`)" if one.agent else "") for one in conversion.dropped
        ],
        "not proven to be no looser": [
            f"{', '.join(one.tool for one in some)}: {some[0].why}"
            + (f": {quoted(some[0].rules, 6)}" if some[0].rules else "")
            for some in doc.grouped(conversion.unproven, lambda one: (one.why, one.rules))
        ],
        "names": names,
    }


def _json(conversions: Iterable[Conversion], refused: str) -> Object:
    """Return the JSON shape of conversions; with their files unless they are refused."""
    found = []
    for one in conversions:
        files = {} if refused else {path: FileContent(text) for path, text in one.files.items()}
        found.append({**shape(one), "files": files, "exact": not one.unproven})
    return {"conversions": found, "refused": refused or None}
