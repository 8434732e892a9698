"""Read and write JSON without importing `json`, and show the arguments of a call to a person."""

from __future__ import annotations

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any, Final


_BLANKS: Final = " \t\n\r"


def parsed(text: str) -> object:
    """Return the JSON value that *text* spells.

    Raises:
        ValueError: it is no JSON, has more than one value, or repeats a key.
        RecursionError: it is nested too deep.

    """
    text = text.strip(_BLANKS)
    try:
        value, end = _SCAN(text, 0)
    except StopIteration:
        raise ValueError("this is no value") from None
    if end != len(text):
        raise ValueError("there is more than one value")
    result: object = value
    return result


def written(value: object, *, ascii_only: bool = False) -> str:
    """Return *value* as JSON on one line, as `json.dumps` does.

    Args:
        value: of the types that JSON has.
        ascii_only: whether to escape characters beyond ASCII.

    Raises:
        TypeError: JSON has no such type.
        ValueError: a list or an object contains itself.

    """
    try:
        from _json import encode_basestring, encode_basestring_ascii, make_encoder  # noqa: PLC0415
    except ImportError:
        from json import dumps  # noqa: PLC0415

        return dumps(value, ensure_ascii=ascii_only)
    encode = encode_basestring_ascii if ascii_only else encode_basestring
    sort_keys, skip_keys, allow_nan = False, False, True
    encoder = make_encoder({}, _nothing, encode, None, ": ", ", ", sort_keys, skip_keys, allow_nan)
    return "".join(encoder(value, 0))


def _nothing(value: object) -> object:
    raise TypeError(type(value).__name__)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) < len(pairs):
        raise ValueError("a key is there twice")
    return value


def _no_number(text: str) -> float:
    raise ValueError(text)


class _Context:
    """The options that the scanner of `_json` reads."""

    strict = True
    object_hook = None
    object_pairs_hook = staticmethod(_once)
    parse_float = float
    parse_int = int
    parse_constant = staticmethod(_no_number)
    memo: Final[dict[str, str]] = {}


def _scanner() -> Callable[[str, int], tuple[Any, int]]:
    try:
        from _json import make_scanner  # noqa: PLC0415
    except ImportError:
        from json import JSONDecoder  # noqa: PLC0415

        decoder: Any = JSONDecoder(object_pairs_hook=_once, parse_constant=_no_number)
        scan: Callable[[str, int], tuple[Any, int]] = decoder.scan_once
        return scan
    return make_scanner(_Context())  # type: ignore[arg-type]  # it has all that the scanner reads


_SCAN: Final = _scanner()


# How many characters of the arguments a person is shown.
_ARGUMENTS = 2_000


def shown(arguments: Mapping[str, object]) -> str:
    """Return *arguments* as JSON, with hidden characters spelled out, cut if it is too long."""
    try:
        text = written(arguments)
    except (TypeError, ValueError, RecursionError):
        text = _of_anything(arguments)
    if not (text.isascii() and text.isprintable()):
        from policy.core.source import visible  # noqa: PLC0415  # calls rarely have such letters

        text = visible(text)
    if len(text) > _ARGUMENTS:
        # The person who approves a call sees that a part is not shown.
        text = f"{text[:_ARGUMENTS]}… ({len(text) - _ARGUMENTS} more characters)"
    return text


def _of_anything(arguments: Mapping[str, object]) -> str:
    import json  # noqa: PLC0415  # only for arguments that were no JSON

    try:
        return json.dumps(arguments, ensure_ascii=False, default=repr)
    except (TypeError, ValueError, RecursionError):
        return repr(arguments)
