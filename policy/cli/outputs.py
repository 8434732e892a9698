"""One answer in several formats: a run is asked once, and a forge wants files."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from policy.errors import PolicyError
from policy.source import visible

__all__ = ["MACHINE", "add_output", "outputs_of", "write_outputs"]

# Formats that tell results one by one.
MACHINE = ("sarif", "github", "junit")


def add_output(parser: argparse.ArgumentParser) -> None:
    """Add the option."""
    parser.add_argument(
        "--output",
        action="append",
        default=[],
        metavar="FORMAT=FILE",
        help="write the answer to a file as well, in that format; may be given again",
    )


def outputs_of(given: Iterable[str], formats: tuple[str, ...]) -> dict[Path, str]:
    """Return file -> format.

    Raises:
        PolicyError: there is no such format, or no file.

    """
    outputs = {}
    for text in given:
        form, _, file = text.partition("=")
        if form not in formats or not file:
            raise PolicyError(
                f"expected FORMAT=FILE, found `{visible(text)}`",
                help=f"the formats are {', '.join(formats)}",
            )
        outputs[Path(file)] = form
    return outputs


def write_outputs(outputs: Mapping[Path, str], text: Callable[[str], str]) -> None:
    """Write each file; *text* is the answer in a format.

    Raises:
        PolicyError: a file cannot be written.

    """
    for file, form in outputs.items():
        try:
            file.write_text(text(form), "utf-8", "backslashreplace")
        except OSError as error:
            why = (error.strerror or str(error)).lower()
            raise PolicyError(f"cannot be written: {why}", file=str(file)) from None
