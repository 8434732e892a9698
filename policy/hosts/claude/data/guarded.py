"""The guarded files and folders of ``guarded.toml``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from policy.hosts.claude.data import table
from policy.patterns.tokens import BLANKS

_DATA: Final[dict[str, Any]] = table("guarded")

GUARDED: Final = tuple(_DATA["folders"].split())
GUARDED_FILES: Final = tuple(_DATA["files"].split())
GUARDED_LAST: Final[str] = _DATA["last"]
LEFT_OPEN: Final[str] = _DATA["left_open"]
OWN: Final = tuple(_DATA["own"])
STREAM: Final[str] = _DATA["stream"]
IGNORED: Final[str] = _DATA["ignored"]
LEADING_OUT: Final = tuple(_DATA["leading_out"])
MISREAD: Final = tuple(
    tuple(name.replace("<BLANKS>", BLANKS) for name in names) for names in _DATA["misread"]
)
MISREAD_ENDS: Final = tuple(_DATA["misread_ends"])
MANAGED: Final[Mapping[str, str]] = _DATA["managed"]
MANAGED_FILES: Final = tuple(_DATA["managed_files"])
LINKED: Final[Mapping[str, str]] = _DATA["linked"]
