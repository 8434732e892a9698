"""Standard output and standard error: answers, errors, progress, differences of files."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Iterable, Sequence
from functools import partial
from itertools import chain as chained
from typing import TextIO

from policy.cli.report.as_json import dumps
from policy.cli.report.document import Block, Paragraph, Report
from policy.cli.report.terminal import PageLayout, clipped, lines, terminal
from policy.cli.report.words import EXPLAIN, error_items, finding_item
from policy.core.credentials import masked
from policy.core.errors import PolicyError
from policy.core.finding import Finding
from policy.core.source import visible
from policy.core.values import define, field
from policy.files.opening import is_unreadable
from policy.files.writing import file_errors

# Columns where there is no terminal.
_WIDTH = 100

_PATIENCE = 1.0  # seconds before progress is shown
_PAUSE = 0.1  # seconds between two of its lines
_BAR = 20  # columns


def _page(stream: TextIO, colour: str) -> PageLayout:
    tty = stream.isatty()
    width = _WIDTH
    if tty:
        from shutil import get_terminal_size  # noqa: PLC0415  # a pipe has no width

        width = get_terminal_size((_WIDTH, 24)).columns
    shows = tty and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    wanted = colour == "always" or (colour == "auto" and shows)
    return PageLayout(max(width, 20), wanted)


@define(eq=False)
class Console:
    """Standard output and standard error."""

    page: PageLayout  # of standard output
    errors: PageLayout  # of standard error
    _shown: bool = False
    _next: float = field(factory=lambda: time.monotonic() + _PATIENCE)

    @classmethod
    def of(cls, colour: str = "auto") -> Console:
        """Return the console of this process; *colour* is ``auto``, ``always`` or ``never``."""
        return cls(_page(sys.stdout, colour), _page(sys.stderr, colour))

    def write(self, text: str) -> None:
        """Write *text* to standard output at once, as it is: a file, or a report."""
        self.clear()
        sys.stdout.write(text)
        sys.stdout.flush()

    def line(self, text: str) -> None:
        """Write a line to standard output; no credentials."""
        self.write(masked(text) + "\n")

    def progress(self, what: str, done: int, total: int) -> None:
        """Show on a terminal how far long work is."""
        now = time.monotonic()
        if now < self._next or not sys.stderr.isatty():
            return
        self._next = now + _PAUSE
        self._shown = True
        bar = "#" * (_BAR * done // max(total, 1))
        text = f"[{bar:-<{_BAR}}] {done:,} of {total:,}  {visible(what)}"
        sys.stderr.write("\r\x1b[K" + clipped(text, self.errors.width - 1))
        sys.stderr.flush()

    def clear(self) -> None:
        """Remove the line of progress."""
        if self._shown:
            self._shown = False
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()

    def error(self, error: PolicyError) -> None:
        """Write *error* to standard error."""
        self.complain(*error_items(error))

    def complain(self, *blocks: Block) -> None:
        """Write *blocks* to standard error, after everything that was written so far."""
        self.clear()
        sys.stdout.flush()
        sys.stderr.write("".join(f"{line}\n" for line in lines(blocks, self.errors)))
        sys.stderr.flush()

    def say(self, text: str) -> None:
        """Write one sentence to standard error."""
        self.complain(Paragraph(text))

    def note(self, text: str) -> None:
        """Write a note to standard error; nothing for none."""
        if text:
            self.say(f"note: {text.replace('(`--from`)', '(see `policy audit --from`)')}")

    def unreadable(self, findings: Iterable[Finding]) -> bool:
        """Report the *findings* about unreadable files; return whether there are any."""
        bad = [finding for finding in findings if is_unreadable(finding)]
        if bad:
            self.complain(*map(finding_item, bad), Paragraph(EXPLAIN, "dim"))
        return bool(bad)

    def internal_error(self, error: Exception) -> None:
        """Report a bug of this program; with a traceback where POLICY_DEBUG is 1."""
        self.say(f"policy: internal error: {type(error).__name__}: {str(error)[:300]}")
        self.say("  help  this is a mistake of this program; POLICY_DEBUG=1 shows where it is")
        if os.environ.get("POLICY_DEBUG") == "1":
            import traceback  # noqa: PLC0415  # for these alone

            traceback.print_exception(error, file=sys.stderr)

    def confirms(self, question: str) -> bool:
        """Ask a person at a terminal; return whether the answer is yes."""
        if not sys.stdin.isatty():
            self.say(f"{question} Standard input is no terminal, so no: use --yes")
            return False
        try:
            return input(f"{question} [y/N] ").strip().lower() in ("y", "yes")
        except EOFError:
            return False

    def difference(self, name: str, before: str, after: str, title: str) -> None:
        """Write the difference of two texts, credentials masked; *title* names the new one."""
        from difflib import unified_diff  # noqa: PLC0415  # most verbs change no file

        name = visible(name)
        lines = unified_diff(
            before.splitlines(), after.splitlines(), name, f"{name} ({title})", lineterm=""
        )
        kept = chained(before.splitlines(), after.splitlines())
        shown = chained(masked(before).splitlines(), masked(after).splitlines())
        hidden = {text: each for text, each in zip(kept, shown, strict=True) if text != each}
        for line in lines:
            style = {"+": "good", "-": "deny", "@": "dim"}.get(line[:1], "")
            if line.startswith(("+++", "---")):
                style = "bold"
            text = line[:1] + hidden.get(line[1:], line[1:])
            self.line(self.page.paint(visible(text.replace("\t", "    ")), style))


def publish(
    report: Report, options: argparse.Namespace, console: Console, *, printed: bool = True
) -> None:
    """Write *report* to the files of ``--output``, and print it in the format of ``--format``.

    Where the answer is a file, the text on standard output is that file alone.
    """
    most = None if options.all else report.most
    for file, form in options.output.items():
        with file_errors(file):
            file.write_text(_written(report, form, most), "utf-8", "backslashreplace")
    if not printed:
        return
    if options.format == "text" and report.content:
        console.write(report.content)
        console.complain(*report.blocks(most))
    else:
        console.write(_written(report, options.format, most, console.page))


def _written(report: Report, form: str, most: int | None, page: PageLayout | None = None) -> str:
    """Return *report* in a format; *page* is that of a terminal."""
    # Each format is imported where it is asked for.
    match form:
        case "text":
            return report.content or terminal(
                report.fitting(most, partial(_fits, report)), page or PageLayout()
            )
        case "json":
            return dumps(report.json()) + "\n"
        case "markdown":
            from policy.cli.report.markdown import report_markdown  # noqa: PLC0415

            return report_markdown(report, most)
        case "html":
            from policy.cli.report import html  # noqa: PLC0415

            return html.page(report.title, report.blocks(None))
        case _:
            from policy.cli.report.results import report_results  # noqa: PLC0415

            return report_results(report, form)


def _fits(report: Report, blocks: Sequence[Block]) -> bool:
    return report.lines is None or len(lines(blocks, PageLayout())) <= report.lines
