"""``policy convert``: write policies as files of another host, and report the losses."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from policy.analysis.conversion.converting import Conversion, convert
from policy.cli.console import Console
from policy.cli.outputs import file_errors, outputs_of, write_outputs
from policy.cli.report.as_json import dumps
from policy.cli.report.convert import conversions_json, conversions_markdown, conversions_text
from policy.cli.report.text import PageLayout
from policy.core.errors import PolicyError
from policy.core.source import visible
from policy.files.opening import open_tree

__all__ = ["run"]


def run(options: argparse.Namespace, console: Console) -> int:
    """Convert, and return the exit status."""
    outputs = outputs_of(options)
    found = convert(
        open_tree(options.path),
        options.to,
        source=options.source,
        allow_looser=options.allow_looser,
    )
    refused = _refused(found, options)
    files = {path: text for one in found for path, text in one.files.items()}
    targets = {} if refused or not options.folder else _targets(files, options)

    def text(page: PageLayout) -> str:
        return conversions_text(found, page, everything=options.all)

    formats = {
        "text": lambda: text(console.page),
        "json": lambda: dumps(conversions_json(found, refused)) + "\n",
        "markdown": lambda: conversions_markdown(found, refused),
    }
    write_outputs(outputs, formats)
    if options.format != "text":
        console.write(formats[options.format]())
    elif refused or options.folder or len(files) != 1:
        if not refused and not options.folder:
            _show(files, console)
        console.write(text(console.page))
    else:
        (only,) = files.values()
        console.write(only)
        console.complain(text(console.errors).splitlines())
    if refused:
        console.complain([refused])
        return 1
    for path, content in targets.items():
        _write(path, content)
        console.complain([f"wrote {visible(str(path))}"])
    return 0


def _refused(found: tuple[Conversion, ...], options: argparse.Namespace) -> str:
    """Return why nothing is written, or ""."""
    reasons = [
        one.refusal(looser=options.allow_looser, unproven=options.allow_unproven) for one in found
    ]
    return next(filter(None, reasons), "")


def _show(files: dict[str, str], console: Console) -> None:
    for path, content in files.items():
        console.line(console.page.paint(f"--- {visible(path)}", "bold"))
        console.write(content if content.endswith("\n") else content + "\n")
    console.line("")


def _targets(files: dict[str, str], options: argparse.Namespace) -> dict[Path, str]:
    """Return where each file goes.

    Raises:
        PolicyError: another file exists, and `--force` was not given.

    """
    targets = {Path(options.folder) / path: text for path, text in files.items()}
    for path, text in targets.items():
        if options.force or not os.path.lexists(path):
            continue
        if path.is_dir() or path.read_bytes() != text.encode():
            msg = "there is another file of that name"
            raise PolicyError(
                msg, file=str(path), help="replace it with --force, or name another folder"
            )
    return targets


def _write(path: Path, text: str) -> None:
    with file_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8", newline="")
