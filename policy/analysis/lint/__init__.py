"""Findings of a workspace: what front ends met, what shows in tables, and how both are mended."""

from __future__ import annotations

from policy.analysis.lint.mending import Mended, UnmadeEdits, mend
from policy.analysis.lint.running import Linted, Suppressing, lint
from policy.analysis.lint.suppression import Compared, baseline_text, compare_with_baseline

__all__ = [
    "Compared",
    "Linted",
    "Mended",
    "Suppressing",
    "UnmadeEdits",
    "baseline_text",
    "compare_with_baseline",
    "lint",
    "mend",
]
