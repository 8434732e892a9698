"""Each adapter against its real library, offline, with a scripted model.

`pip install -e '.[adapters,test]' && python -m pytest -m adapters` runs them all; a
library that is not installed has its tests skipped, and says so.
"""

from __future__ import annotations

from importlib.util import find_spec
from types import SimpleNamespace
from typing import Any

import pytest

from policy.tables.chain import Chain

__all__ = ["Broken", "runtime"]


def runtime(install: str, library: str) -> list[Any]:
    """Return the marks of tests that need *library*, which is installed by *install*."""
    return [
        pytest.mark.adapters,
        pytest.mark.skipif(
            _is_missing(library),
            reason=f"`{library}` is not installed: pip install {install}",
        ),
        # What a library warns of is between it and the libraries it uses.
        pytest.mark.filterwarnings("default"),
    ]


def _is_missing(library: str) -> bool:
    try:
        return find_spec(library) is None
    except ModuleNotFoundError:
        return True


class Broken(Chain):
    """A chain whose table fails."""

    names = ("main",)

    def __init__(self) -> None:
        super().__init__((), SimpleNamespace(agents=("explore",)))

    @property
    def table(self) -> object:
        msg = "the table is gone"
        raise RuntimeError(msg)

    def spawn(self, agent: str, said: object = None) -> object:
        return self.table
