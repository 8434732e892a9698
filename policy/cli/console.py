"""The terminal, or what stands in its place: where text goes and how wide it may be."""

from __future__ import annotations

import os
import shutil
import sys
import time
from collections.abc import Iterable
from typing import TextIO

import attrs

from policy.cli.report.text import PageLayout, clipped, error_report
from policy.core.errors import PolicyError
from policy.core.source import visible

__all__ = ["Console"]

# Columns where there is no terminal.
_WIDTH = 100

_PAUSE = 0.1  # seconds between two lines of progress
_PATIENCE = 0.5  # seconds before the first


def _page(stream: TextIO, colour: str) -> PageLayout:
    tty = _is_terminal(stream)
    width = shutil.get_terminal_size((_WIDTH, 24)).columns if tty else _WIDTH
    if colour == "auto":
        wanted = tty and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    else:
        wanted = colour == "always"
    return PageLayout(max(width, 20), wanted)


def _is_terminal(stream: TextIO) -> bool:
    try:
        return stream.isatty()
    except ValueError:  # closed
        return False


@attrs.define(eq=False)
class Console:
    """Standard output and standard error.

    Attributes:
        page: of standard output.
        errors: of standard error.

    """

    page: PageLayout
    errors: PageLayout
    _shown: bool = False
    _next: float = attrs.field(factory=lambda: time.monotonic() + _PATIENCE)

    @classmethod
    def of(cls, colour: str = "auto") -> Console:
        """Return the console of this process; *colour* is ``auto``, ``always`` or ``never``."""
        return cls(_page(sys.stdout, colour), _page(sys.stderr, colour))

    def write(self, text: str) -> None:
        """Write *text* to standard output."""
        self.quiet()
        sys.stdout.write(text)

    def line(self, text: str) -> None:
        """Write one line to standard output at once, for whoever reads as it comes."""
        self.write(text + "\n")
        sys.stdout.flush()

    def error(self, error: PolicyError) -> None:
        """Write a mistake to standard error."""
        self.complain(error_report(error, self.errors))

    def complain(self, lines: Iterable[str]) -> None:
        """Write *lines* to standard error, behind all that was written so far."""
        self.quiet()
        sys.stdout.flush()
        sys.stderr.write("".join(f"{line}\n" for line in lines))
        sys.stderr.flush()

    def progress(self, text: str) -> None:
        """Show what is being done, on a terminal and where it takes long."""
        now = time.monotonic()
        if now < self._next or not _is_terminal(sys.stderr):
            return
        self._next = now + _PAUSE
        self._shown = True
        sys.stderr.write("\r\x1b[K" + clipped(visible(text), self.errors.width - 1))
        sys.stderr.flush()

    def quiet(self) -> None:
        """Take the line of progress away."""
        if self._shown:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
            self._shown = False
