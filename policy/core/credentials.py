"""Find keys and passwords in a text by the forms in `credentials.txt`, and mask them.

Reports and logs show parts of files, but never a credential.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cache, lru_cache

from policy.core import expressions as re
from policy.core.source import Source
from policy.core.values import Final

# Which values of arguments a log masks: none, credentials, or all.
REDACTIONS: Final = ("none", "credentials", "all")

# A value in a shell, in JSON or in a program: in quotes, where it may have blanks, or without.
_VALUE: Final = (
    r"(?:\\*\"((?!\s)[^\"\\$*{<\n]{4,200}+)(?=\\*\")|'((?!\s)[^'\\$*{<\n]{4,200}+)(?=')"
    r"|([^\s\"'`$*{}<>&|;()\\,]{4,200}+)(?![$({*]|`[\w$/~-]))"
)
_Form = tuple[str, bool, tuple[str, ...], str, Callable[[str], bool]]


@cache
def _forms() -> tuple[_Form, ...]:
    """Return the forms of credentials.

    Each is a name, whether only credentials have the form, texts of which one must occur, an
    expression, and a test of the value that it finds.
    """
    with open(__file__.removesuffix(".py") + ".txt", encoding="utf-8") as file:  # noqa: PTH123
        lines = file.read().splitlines()  # importing `pathlib` takes as long as deciding a call
    rows = [line.split(" | ", 3) for line in lines if line and line[0] != "#"]
    harmless = re.compile(
        "|".join(form for kind, *_, form in rows if kind == "harmless"), re.IGNORECASE
    )

    def token(value: str) -> bool:
        return _REPEATED.search(value) is None

    def password(value: str) -> bool:
        return not harmless.search(value) and len(set(value)) > 1 and value.count(" ") < _WORDS

    def key(value: str) -> bool:
        varied = len(set(value)) >= _DIFFERENT
        return varied and _RANDOM.match(value) is not None and password(value)

    kinds = {"token": token, "key": key, "password": password}
    return tuple(
        (
            name,
            kind == "token",
            tuple(hints.split(",")),
            form.replace("VALUE", _VALUE),
            kinds[kind],
        )
        for kind, name, hints, form in rows
        if kind in kinds
    )


_REPEATED: Final = re.compile(r"(.)\1{7}")
_DIFFERENT: Final = 5  # characters, at least, of a key
_WORDS: Final = 4
_RANDOM: Final = re.compile(r"(?=\S*\d)(?=\S*[A-Za-z])\S{8,}\Z")


def credentials(text: str, prose: int | None = None) -> Iterator[tuple[str, int, int]]:
    """Yield the kind, start and end of each part of *text* that looks like a credential.

    From the offset *prose* on the text is prose; passwords in it are examples and do not count.
    """
    small = text.lower()
    spans: list[tuple[int, int, str]] = []
    for name, alone, hints, form, may in _forms():
        if any(hint in small for hint in hints):
            end = len(text) if alone or prose is None else prose
            for match in re.compile(form).finditer(text, 0, end):
                group = next((n for n, value in enumerate(match.groups(), 1) if value), 0)
                if may(match[group]):
                    start, end = match.span(group)
                    spans.append((start, -end, name))
    last = 0
    for start, end, name in sorted(spans):
        if start >= last:
            last = -end
            yield name, start, last


def masked(text: str) -> str:
    """Return *text* with stars for credentials; lengths and line breaks stay the same."""
    return _short(text) if len(text) <= _SHORT else _starred(text)


_SHORT: Final = 200


def _starred(text: str) -> str:
    for _, start, end in credentials(text):
        text = text[:start] + re.sub(r"\S| ", "*", text[start:end]) + text[end:]
    return text


# Reports show the same few rules many times.
_short = lru_cache(maxsize=4096)(_starred)


@lru_cache(maxsize=8)
def masked_source(source: Source) -> Source:
    """Return *source* with stars for credentials; lines and columns stay the same."""
    text = masked(source.text)
    return source if text == source.text else Source(source.name, text)


def masked_value(value: object, name: str = "") -> object:
    """Return *value*, of the types of JSON, with stars for credentials.

    *name* is the key of *value*; a key such as `password` marks its value as a credential.
    """
    if isinstance(value, str):
        before = "" if " " in value else f"{name}="
        return masked(before + value)[len(before) :]
    if isinstance(value, Mapping):
        return {masked(str(key)): masked_value(each, str(key)) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [masked_value(each, name) for each in value]
    return value
