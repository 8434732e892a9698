"""Splits the front matter of Markdown files, between ``---`` (YAML) or ``+++`` (TOML)."""

from __future__ import annotations

import enum
from typing import Final

from policy.core import expressions as re
from policy.core.errors import PolicyError
from policy.core.source import Source, Span
from policy.core.values import frozen
from policy.files.text import BYTE_ORDER_MARK


class HeaderLanguage(enum.Enum):
    """The language of front matter: YAML or TOML."""

    YAML = "yaml"
    TOML = "toml"


@frozen
class FrontMatter:
    """The parts of a file: its first fence, the lines between the fences, and the body."""

    kind: HeaderLanguage
    opening: Span
    header: Span
    body: Span


_OPENING: Final = re.compile(r"(---|\+\+\+)[ \t]*(?=\r?\n|\Z)")
_FENCE: Final = re.compile(r"^(?:---|\+\+\+)(?=[ \t]*\r?$)", re.MULTILINE)
_LINE_BREAK: Final = re.compile(r"[ \t]*(?:\r?\n)?")


def split_front_matter(source: Source) -> FrontMatter | None:
    """Return the parts of *source*, None without a fence; raise PolicyError for an open one."""
    text = source.text
    start = len(BYTE_ORDER_MARK) if text.startswith(BYTE_ORDER_MARK) else 0
    opening = _OPENING.match(text, start)
    if not opening:
        return None
    header = _next_line(text, opening.end())
    fences = _FENCE.finditer(text, header)
    closing = next((fence for fence in fences if fence[0] == opening[1]), None)
    if not closing or header == opening.end():
        raise PolicyError(
            f"the header is not closed: no line `{opening[1]}` follows",
            source.span(*opening.span(1)),
            help=f"write `{opening[1]}` on a line of its own after the last key",
        )
    return FrontMatter(
        HeaderLanguage.YAML if opening[1] == "---" else HeaderLanguage.TOML,
        source.span(*opening.span()),
        source.span(header, closing.start()),
        source.span(_next_line(text, closing.end()), len(text)),
    )


def _next_line(text: str, offset: int) -> int:
    match = _LINE_BREAK.match(text, offset)
    return match.end() if match else offset


# Text above front matter, or in place of its fence: usual mistakes.
_LATE: Final = re.compile(
    r"(?:[\s\ufeff]|<!--(?:(?!-->).)*+-->|\#[^\n]*\n|```[a-z]*\n)*+"
    r"(?P<fence>-{2,}|\u2014-?|\u2013-?)[ \t]*\r?\n(?=[A-Za-z_-]+:)",
    re.DOTALL,
)


def misplaced_front_matter(source: Source) -> PolicyError | None:
    """Return the mistake in front matter that `split_front_matter` does not find, or None."""
    match = _LATE.match(source.text)
    if not match or _OPENING.match(source.text):
        return None
    start, end = match.span("fence")
    above = source.text[:start].strip(BYTE_ORDER_MARK + " \t\r\n")
    if match["fence"] != "---":
        message = f"`{match['fence']}` does not start a header; `---` does"
    elif above or "\n" in source.text[:start]:
        message = "`---` starts a header on the first line of a file only"
    else:
        message = "`---` starts a header at the start of its line only"
    return PolicyError(
        message, source.span(start, end), help="make `---` the first three characters of the file"
    )
