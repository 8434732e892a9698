"""What is odd about a document that can be read all the same."""

from __future__ import annotations

import enum

import attrs

from policy.source import Span

__all__ = ["Remark", "Trap"]


class Trap(enum.Enum):
    """Ways in which a file says something else than its author meant."""

    SPLIT = "split-in-parentheses"
    COMMENT = "comment-in-rule"
    MAPPING = "mapping-for-rule"
    UNBALANCED = "unbalanced-parentheses"
    WORD = "word-or-truth-value"
    LATE_FENCE = "late-front-matter"


@attrs.frozen
class Remark:
    """One trap somebody may have walked into: where, what happened, how to mend it."""

    trap: Trap
    message: str
    span: Span
    help: str = ""
