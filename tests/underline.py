"""What an error underlines, as text rather than as offsets."""

from __future__ import annotations

from policy.core.errors import PolicyError


def assert_underlines(error: PolicyError, text: str) -> None:
    """Assert that *error* marks exactly *text*."""
    assert error.span is not None, f"no text is marked: {error}"
    assert error.span.text == text, str(error)
