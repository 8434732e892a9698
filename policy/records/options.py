"""The options of every command that writes records: where to, and what is kept from them."""

from __future__ import annotations

import argparse

from policy.records.record import REDACTIONS

__all__ = ["add_recording"]


def add_recording(parser: argparse.ArgumentParser) -> None:
    """Add ``--record`` and ``--redact`` (see `policy.records.recorder.Recorder`)."""
    parser.add_argument(
        "--record",
        metavar="FILE",
        help="append each decision to FILE, a JSON line each, for `policy replay`",
    )
    parser.add_argument(
        "--redact",
        choices=REDACTIONS,
        default="credentials",
        help="what of the arguments to keep from the record (default: credentials)",
    )
