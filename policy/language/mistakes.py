"""What is wrong with a text that does not parse, in words for its author."""

from __future__ import annotations

import itertools
import unicodedata
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any, Final

from policy.core import expressions as re
from policy.core.source import visible
from policy.core.values import frozen

__all__ = [
    "AGENT_WORDS",
    "FILE_WORDS",
    "NAME_CHARACTERS",
    "WORDS",
    "Mistake",
    "character",
    "closest",
    "in_matcher",
    "in_notation",
    "looks_absolute",
    "quoted",
]


# Words that begin a statement of a file, and of an agent.
FILE_WORDS: Final = ("root", "agent", "test", "never")
AGENT_WORDS: Final = ("allow", "ask", "deny", "expect", "inherit", "delegate", "trust", "limit")
WORDS: Final = FILE_WORDS + AGENT_WORDS


@frozen
class Mistake:
    """The range that is wrong, what is wrong with it, and the mend."""

    start: int
    end: int
    message: str
    help: str = ""


# Comparing words costs their length squared, and a hostile file has long ones.
_LONG_WORD: Final = 64
_MANY_WORDS: Final = 1000


def closest(word: str, words: Iterable[str]) -> str:
    """Return ``did you mean `…`?``, or "" where nothing is near."""
    if len(word) > _LONG_WORD:
        return ""
    from difflib import get_close_matches  # noqa: PLC0415  # for mistakes alone

    some = (other for other in itertools.islice(words, _MANY_WORDS) if len(other) <= _LONG_WORD)
    near = get_close_matches(word, some, n=1)
    return f"did you mean {quoted(near[0])}?" if near else ""


def quoted(text: str, most: int = 60) -> str:
    """Return *text* in backticks, cut to what a line can hold."""
    cut = text if len(text) <= most else text[: most - 1] + "…"
    return f"`{visible(cut)}`"


def character(char: str) -> str:
    """Return what a person calls *char*; look-alikes get their full name."""
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


# The texts, and the forms of matchers, in which TOOL stands for this.
_TOOL: Final = r"(?P<tool>[A-Za-z0-9_.:*-]+)"


@cache
def _texts() -> dict[str, Any]:
    import tomllib  # noqa: PLC0415  # for mistakes alone

    return tomllib.loads(Path(__file__).with_name("mistakes.toml").read_text("utf-8"))


_FILLED: Final = re.compile(r"`([^`]*\{\w+\}[^`]*)`|\{character\}")


def in_matcher(text: str) -> Mistake:
    """Return what is wrong with a matcher that does not parse."""
    for each in _texts()["matcher"]:
        found = re.fullmatch(each["form"].replace("TOOL", _TOOL), text, re.DOTALL)
        if found is not None:
            texts = found.groupdict()
            said = (_filled(each[key], texts) for key in ("message", "help"))
            return Mistake(*found.span("at"), *said)
    raise AssertionError(text)  # the last form is that of any text


def _filled(template: str, texts: dict[str, str]) -> str:
    def fill(found: re.Match[str]) -> str:
        return quoted(found[1].format(**texts)) if found[1] else character(texts["at"])

    return _FILLED.sub(fill, template)


_WORD = re.compile(r"[\w.:*@/-]+")
_STRING = re.compile(r'"(?:\\.|[^"\\\n])*"')


def in_notation(
    text: str, at: int, accepted: frozenset[str], opened: tuple[int, str] | None
) -> Mistake:
    """Return what is wrong at *at*.

    *accepted* are the terminals the grammar takes there; *opened* is the
    unclosed `{` before it, with the statement it belongs to.
    """
    expected = next(
        (name for needed, name in _texts()["expected"] if accepted.issuperset(needed.split())),
        "the end of the line",
    )
    if accepted == {"NAME"}:
        names_bound = text[:at].rstrip().endswith(("limit", ","))
        expected = "`depth` or `turns`" if names_bound else "a number"
    if at >= len(text):
        return _at_the_end(text, expected, accepted, opened)
    start, end, found = _found(text, at)
    return Mistake(
        start, end, f"expected {expected}, found {found}", _mend(text, start, end, accepted, opened)
    )


def _at_the_end(
    text: str, expected: str, accepted: frozenset[str], opened: tuple[int, str] | None
) -> Mistake:
    if opened and "RBRACE" in accepted:
        brace, owner = opened
        return Mistake(
            brace,
            brace + 1,
            "expected `}` for this `{`, found the end of the file",
            f"close {quoted(owner)} with `}}` on a line of its own",
        )
    end = len(text.rstrip())
    return Mistake(
        end,
        end,
        f"expected {expected}, found the end of the file",
        _COMMA_LAST if text[:end].endswith(",") else "",
    )


_COMMA_LAST: Final = "the `,` at the end of the line before continues the statement: remove it"


def _found(text: str, at: int) -> tuple[int, int, str]:
    """Return the range to underline at *at* and what a person calls it."""
    if text[at] in "\r\n":
        at = len(text[:at].rstrip(" \t\r"))
        return at, at, "the end of the line"
    token = _STRING.match(text, at) or _WORD.match(text, at)
    if token is None:
        return at, at + 1, character(text[at])
    return token.start(), token.end(), quoted(token[0])


def _mend(
    text: str, at: int, end: int, accepted: frozenset[str], opened: tuple[int, str] | None
) -> str:
    word, before = text[at:end], text[:at].rstrip(" \t")
    if accepted & {"EFFECT", "AGENT"}:
        return _mend_statement(word, accepted, opened)
    if "TOOL" in accepted:
        return _mend_matcher(text, at, word, before)
    if accepted & {"RPAR", "_CLOSE"}:
        return r"close it on the same line; write `\(` for a parenthesis without a partner"
    if "COLON" in accepted and ":" in before.split()[-1]:
        return "write a blank after the `:`"
    if "LBRACE" in accepted:
        return _mend_header(text, at, word, before)
    if accepted == {"NAME"}:
        return "write it like `limit depth 2, turns 20`"
    if "COMMA" in accepted:
        return _mend_list(text, at, word, accepted)
    if "STRING" in accepted and text[at] not in "\r\n":
        return _IN_QUOTES
    return ""


_IN_QUOTES: Final = 'a name of other characters is written in quotes: `"a name"`'


def _mend_statement(word: str, accepted: frozenset[str], opened: tuple[int, str] | None) -> str:
    if "AGENT" in accepted:
        if word == "}":
            return "there is no `{` for it: remove it"
        if word in AGENT_WORDS:
            braces = "`agent name { }`"
            return f"{quoted(word)} is said of an agent: write it between the braces of {braces}"
        return closest(word, FILE_WORDS)
    if word in FILE_WORDS and opened:
        return f"close {quoted(opened[1])} with `}}` first: these do not nest"
    if "RBRACE" not in accepted:
        near = closest(word, ("allow", "ask", "deny"))
        return near or "say what the calls must get: `expect deny Bash(git push)`"
    if "INHERIT" in accepted:
        statements = f"the statements of an agent are {_listed(AGENT_WORDS)}"
        return closest(word, AGENT_WORDS) or statements
    return closest(word, ("allow", "ask", "deny")) or "a test says what its calls must get"


def _mend_list(text: str, at: int, word: str, accepted: frozenset[str]) -> str:
    if "_OPEN" in accepted and text[at] == "/":
        return "a tool's name holds no `/`: a path goes into its parentheses"
    if text[at] == ")":
        return r"it closes nothing: remove it, or write `\(` for a parenthesis without a partner"
    if _WORD.fullmatch(word) and word.isascii():
        return "separate entries with `,` and statements with a line break"
    return _foreign(word)


def _mend_header(text: str, at: int, word: str, before: str) -> str:
    head = before.rpartition("\n")[2].strip()
    if text[at] in "\r\n":
        return f"its statements stand between braces: {quoted(head + ' {')}"
    if _WORD.fullmatch(word):
        return 'a name with blanks is written in quotes: `"a name"`'
    return _IN_QUOTES


def _mend_matcher(text: str, at: int, word: str, before: str) -> str:
    if word in WORDS:
        if before.rstrip().endswith(","):
            return f'remove the `,` before {quoted(word)}, or write `"{word}"` if it is a tool'
        return f'write `"{word}"` if it is a tool'
    if text[at] == "(":
        return "write the tool first: `Bash(git diff *)`"
    if text[at] in "/~" or "/" in word:
        return "a path goes into the parentheses of a tool: `Read(src/**)`"
    if before.rstrip().endswith(","):
        return _COMMA_LAST
    return _foreign(word) or "write a tool: `Read`, or `Bash(git diff *)`"


def _foreign(word: str) -> str:
    """Return which character of *word* no tool has, or ""."""
    char = next((char for char in word if not char.isascii()), "")
    return f"{character(char)} is not for tools: {NAME_CHARACTERS}" if char else ""


def _listed(words: tuple[str, ...]) -> str:
    return ", ".join(f"`{word}`" for word in words[:-1]) + f" and `{words[-1]}`"


# First folders of absolute paths.
_TOP_FOLDERS: Final = frozenset(
    "Users Volumes bin boot dev etc home lib mnt opt private proc root run sbin srv sys tmp usr"
    " var".split()
)


def looks_absolute(text: str) -> bool:
    """Return whether *text* looks like an absolute path, though it starts with one slash."""
    segments = text.split("/")
    return len(segments) > 2 and segments[0] == "" and segments[1] in _TOP_FOLDERS
