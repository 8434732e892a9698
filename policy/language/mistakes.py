"""Messages for syntax errors: what was expected, what was found, and how to mend it."""

from __future__ import annotations

import itertools
import unicodedata
from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from functools import cache
from pathlib import Path
from typing import Final

from policy.core import expressions as re
from policy.core.source import visible
from policy.core.values import frozen

# The keywords that start a statement of a file, and of an agent.
FILE_WORDS: Final = ("root", "agent", "test", "never")
AGENT_WORDS: Final = ("allow", "ask", "deny", "expect", "inherit", "delegate", "trust", "limit")
WORDS: Final = FILE_WORDS + AGENT_WORDS


@frozen
class Mistake:
    """A syntax error: its range in the text, a message, and a help text or ""."""

    start: int
    end: int
    message: str
    help: str = ""


# Comparing two words takes time quadratic in their length, and a hostile file has long words.
_LONG_WORD: Final = 64
_MANY_WORDS: Final = 1000


def closest(word: str, words: Iterable[str]) -> str:
    """Return ``did you mean `…`?`` with the most similar of *words*; "" if none is similar."""
    if len(word) > _LONG_WORD:
        return ""
    from difflib import get_close_matches  # noqa: PLC0415  # for mistakes alone

    some = (other for other in itertools.islice(words, _MANY_WORDS) if len(other) <= _LONG_WORD)
    near = get_close_matches(word, some, n=1)
    return f"did you mean {quoted(near[0])}?" if near else ""


def quoted(text: str, most: int = 60) -> str:
    """Return *text* in backticks, shortened to *most* characters."""
    cut = text if len(text) <= most else text[: most - 1] + "…"
    return f"`{visible(cut)}`"


def character(char: str) -> str:
    """Return the name of *char* in messages; beyond ASCII with its Unicode name."""
    if char in " \t\u00a0":
        return "a blank" if char != "\t" else "a tab"
    if char in "\r\n":
        return "a line break"
    if char == "`":
        return "a backtick"
    if char.isascii() and char.isprintable():
        return f"`{char}`"
    name = unicodedata.name(char, f"U+{ord(char):04X}")
    return f"`{visible(char)}` ({name})"


NAME_CHARACTERS: Final = "a tool's name holds letters, digits and `_`, `-`, `.`, `:`, `*`"


@frozen
class _Form:
    """A kind of mistake: an expression that matches it, with its message and help."""

    expression: re.Pattern[str]  # the error underlines its group `at`
    message: str  # `{name}` is the text of a group, or a value of `filling`
    help: str
    where: frozenset[str]  # facts that must hold at the place


@cache
def _forms(file: Path) -> tuple[_Form, ...]:
    """Return the forms in *file*, a TOML file; names of its `parts` are expanded."""
    import tomllib  # noqa: PLC0415  # for mistakes alone

    shape = tomllib.loads(file.read_text("utf-8"))
    parts = shape["parts"]

    def whole(expression: str) -> str:
        return re.sub("|".join(parts), lambda name: whole(parts[name[0]]), expression)

    return tuple(
        _Form(
            re.compile(f"(?{shape['flags']}){whole(each['form'])}"),
            each.get("message", ""),
            each.get("help", ""),
            frozenset(each.get("where", "").split()),
        )
        for each in shape["form"]
    )


def explained(
    file: Path,
    text: str,
    start: int,
    end: int,
    *,
    where: AbstractSet[str] = frozenset(),
    filling: Mapping[str, str] | None = None,
) -> Mistake | None:
    """Return the mistake for the first form in *file* that matches at *start*; None for no form.

    Args:
        file: a list of forms, such as `json_mistakes.toml`.
        text: the text with the mistake.
        start: the offset at which a form must match.
        end: the offset up to which it may match.
        where: facts that hold at the place: terminals that the grammar accepts, and others.
        filling: values for `{name}` in messages; for a key of one character, its `meaning`.

    """
    for form in _forms(file):
        match = form.expression.match(text, start, end) if form.where <= where else None
        if match is not None:
            at = match["at"]
            odd = match.groupdict().get("odd") or at[:1] or " "
            names = {"character": character(odd), "code": f"U+{ord(odd):04X}"}
            names |= filling or {}
            names["meaning"] = names.get(at[:1], "")
            first, last = match.start("at"), match.start("at") + len(at.rstrip() or at)
            message, help_ = (_filled(each, match, names) for each in (form.message, form.help))
            return Mistake(first, last, message, help_)
    return None


_HERE: Final = Path(__file__).parent
_FILLED: Final = re.compile(r"`([^`{]*\{(\w+)\}[^`]*)`|\{(\w+)\}")


def _filled(template: str, match: re.Match[str], filling: Mapping[str, str]) -> str:
    groups = {name: (text or "").rstrip() or text for name, text in match.groupdict().items()}

    def fill(hole: re.Match[str]) -> str:
        if hole[3]:
            return filling[hole[3]]
        return quoted(hole[1].format(**groups)) if hole[2] in groups else hole[0]

    return _FILLED.sub(fill, template)


def in_matcher(text: str) -> Mistake:
    """Return the mistake in *text*, a matcher that does not parse."""
    mistake = explained(_HERE / "matcher_mistakes.toml", text, 0, len(text))
    if mistake is None:
        raise AssertionError(text)  # the last form matches any text
    return mistake


_WORD = re.compile(r"[\w.:*@/-]+")
_STRING = re.compile(r'"(?:\\.|[^"\\\n])*"')


def in_notation(
    text: str, at: int, accepted: frozenset[str], opened: tuple[int, str] | None
) -> Mistake:
    """Return the syntax error at offset *at*, where the grammar accepts the terminals *accepted*.

    *opened* is the offset of the unclosed `{` before it and the text of its statement, or None.
    """
    if at >= len(text) and opened and "RBRACE" in accepted:
        message = "expected `}` for this `{`, found the end of the file"
        mend = f"close {quoted(opened[1])} with `}}` on a line of its own"
        return Mistake(opened[0], opened[0] + 1, message, mend)
    start, end, found = _found(text, at)
    word, before = text[start:end], text[:at].rstrip()
    words = AGENT_WORDS if "INHERIT" in accepted else ("allow", "ask", "deny")
    near = closest(word, FILE_WORDS if "AGENT" in accepted else words)
    # Facts about the place that forms test, in addition to the terminals that the grammar accepts.
    known = {
        "open": opened is not None,
        "a_bound": accepted == {"NAME"},
        "behind_limit": before.endswith(("limit", ",")),
        "behind_comma": before.endswith(","),
        "behind_colon": ":" in "".join(before.split()[-1:]),
        "near": near,
        "file_word": word in FILE_WORDS,
        "agent_word": word in AGENT_WORDS,
        "a_word": word in WORDS,
    }
    where = accepted.union(name for name, holds in known.items() if holds)
    *statements, last = (f"`{each}`" for each in AGENT_WORDS)
    filling = {
        "near": near,
        "braces": "`agent name { }`",
        "owner": quoted(opened[1] if opened else ""),
        "statements": f"{', '.join(statements)} and {last}",
        "head": quoted(before.rpartition("\n")[2].strip() + " {"),
        "name_characters": NAME_CHARACTERS,
    }
    wanted = explained(_HERE / "notation_expected.toml", text, at, len(text), where=where)
    mended = explained(
        _HERE / "notation_mistakes.toml", text, at, len(text), where=where, filling=filling
    )
    expected = wanted.message if wanted else ""
    return Mistake(start, end, f"expected {expected}, found {found}", mended.help if mended else "")


def _found(text: str, at: int) -> tuple[int, int, str]:
    """Return the range to underline at *at*, and its name in messages."""
    if at >= len(text):
        at = len(text.rstrip())
        return at, at, "the end of the file"
    if text[at] in "\r\n":
        at = len(text[:at].rstrip(" \t\r"))
        return at, at, "the end of the line"
    token = _STRING.match(text, at) or _WORD.match(text, at)
    if token is None:
        return at, at + 1, character(text[at])
    return token.start(), token.end(), quoted(token[0])
