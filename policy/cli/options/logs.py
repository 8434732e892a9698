"""The options of verbs that decide logged calls again."""

from __future__ import annotations

import argparse
from pathlib import Path

from policy.chain import READINGS

__all__ = ["add_logs"]


def add_logs(parser: argparse.ArgumentParser) -> None:
    """Add what is read, and what calls of it are decided as."""
    parser.add_argument("logs", nargs="+", type=Path, metavar="LOGS", help="files and folders")
    parser.add_argument(
        "--reading",
        choices=READINGS,
        default="attenuated",
        help="what the files declare along the chain, or what the host does (default: attenuated)",
    )
    parser.add_argument(
        "--root", default="", metavar="AGENT", help="the agent that starts every chain of the logs"
    )
    parser.add_argument(
        "--home",
        default=str(Path("~").expanduser()),
        metavar="FOLDER",
        help="the home folder of those who called (default: yours)",
    )
