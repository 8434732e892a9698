"""Findings of a workspace: what front ends met, what shows in tables, and how both are mended."""

from __future__ import annotations

from policy.lint.baseline import Compared, baseline_text, compare_with_baseline
from policy.lint.mending import Mended, Refused, mend
from policy.lint.running import Linted, Suppressing, lint

__all__ = [
    "Compared",
    "Linted",
    "Mended",
    "Refused",
    "Suppressing",
    "baseline_text",
    "compare_with_baseline",
    "lint",
    "mend",
]
