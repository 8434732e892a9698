"""Find keys and passwords in a text by the forms in `credentials.txt`, and mask them.

Comments on forges and logs show the content of others' files, but never a credential.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cache, lru_cache

from policy.core import expressions as re
from policy.core.source import Source
from policy.core.values import Final

# Which values of arguments a log masks, the fewest first.
REDACTIONS: Final = ("none", "credentials", "all")

# One value in a shell, in JSON or in a program: quoted, with blanks, or plain.
_VALUE: Final = (
    r"(?:\\*\"((?!\s)[^\"\\$*{<\n]{4,200}+)(?=\\*\")|'((?!\s)[^'\\$*{<\n]{4,200}+)(?=')"
    r"|([^\s\"'`$*{}<>&|;()\\,]{4,200}+)(?![$({*]|`[\w$/~-]))"
)
_Form = tuple[str, bool, tuple[str, ...], str, Callable[[str], bool]]


@cache
def _forms() -> tuple[_Form, ...]:
    """Return of each form its name, whether nothing else has it, hints, expression and test."""
    with open(__file__.removesuffix(".py") + ".txt", encoding="utf-8") as file:  # noqa: PTH123
        lines = file.read().splitlines()  # `pathlib` takes as long to import as a call to decide
    said = [line.split(" | ", 3) for line in lines if line and line[0] != "#"]
    harmless = re.compile(
        "|".join(form for kind, *_, form in said if kind == "harmless"), re.IGNORECASE
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
        for kind, name, hints, form in said
        if kind in kinds
    )


_REPEATED: Final = re.compile(r"(.)\1{7}")
_DIFFERENT: Final = 5  # characters, at least, of a key
_WORDS: Final = 4
_RANDOM: Final = re.compile(r"(?=\S*\d)(?=\S*[A-Za-z])\S{8,}\Z")


def credentials(text: str, prose: int | None = None) -> Iterator[tuple[str, int, int]]:
    """Yield each text in *text* that looks like a credential: its kind, start and end.

    From the index *prose* on the text is prose for people, whose passwords are examples.
    """
    small = text.lower()
    found: list[tuple[int, int, str]] = []
    for name, alone, hints, form, may in _forms():
        if any(hint in small for hint in hints):
            end = len(text) if alone or prose is None else prose
            for match in re.compile(form).finditer(text, 0, end):
                group = next((n for n, value in enumerate(match.groups(), 1) if value), 0)
                if may(match[group]):
                    start, end = match.span(group)
                    found.append((start, -end, name))
    last = 0
    for start, end, name in sorted(found):
        if start >= last:
            last = -end
            yield name, start, last


def masked(text: str) -> str:
    """Return *text* with stars for every credential; its length and its lines stay the same."""
    return _short(text) if len(text) <= _SHORT else _starred(text)


_SHORT: Final = 200


def _starred(text: str) -> str:
    for _, start, end in credentials(text):
        text = text[:start] + re.sub(r"\S| ", "*", text[start:end]) + text[end:]
    return text


# The same few rules are shown many times.
_short = lru_cache(maxsize=4096)(_starred)


@lru_cache(maxsize=8)
def masked_source(source: Source) -> Source:
    """Return *source* with stars for every credential; its lines and columns are as they were."""
    text = masked(source.text)
    return source if text == source.text else Source(source.name, text)


def masked_value(value: object, name: str = "") -> object:
    """Return *value*, as JSON has it, with stars for every credential; *name* may show one."""
    if isinstance(value, str):
        before = "" if " " in value else f"{name}="
        return masked(before + value)[len(before) :]
    if isinstance(value, Mapping):
        return {masked(str(key)): masked_value(each, str(key)) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [masked_value(each, name) for each in value]
    return value
