"""The arguments of a call as a person is shown them."""

from __future__ import annotations

from policy.plain_json import written

TYPE_CHECKING = False  # `typing` takes longer to import than a hook has
if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["shown"]

# Characters of the arguments that a person is shown.
_ARGUMENTS = 2_000


def shown(arguments: Mapping[str, object]) -> str:
    """Return *arguments* as JSON, without what the eye would not see, and not too long."""
    try:
        text = written(arguments)
    except (TypeError, ValueError, RecursionError):
        text = _of_anything(arguments)
    if not (text.isascii() and text.isprintable()):
        from policy.source import visible  # noqa: PLC0415  # for letters that a hook has seldom

        text = visible(text)
    if len(text) > _ARGUMENTS:
        # Nobody approves what they do not see without being told so.
        text = f"{text[:_ARGUMENTS]}… ({len(text) - _ARGUMENTS} more characters)"
    return text


def _of_anything(arguments: Mapping[str, object]) -> str:
    import json  # noqa: PLC0415  # needed for what came from no JSON

    try:
        return json.dumps(arguments, ensure_ascii=False, default=repr)
    except (TypeError, ValueError, RecursionError):
        return repr(arguments)
