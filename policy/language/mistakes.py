"""What is wrong with a text that does not parse, in words for its author."""

from __future__ import annotations

import itertools
import unicodedata
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Final

from policy.core import expressions as re
from policy.core.source import visible
from policy.core.values import frozen

__all__ = [
    "AGENT_WORDS",
    "BOUNDS",
    "FILE_WORDS",
    "WORDS",
    "Block",
    "Expected",
    "Mistake",
    "character",
    "closest",
    "in_matcher",
    "in_notation",
    "looks_absolute",
    "mistake",
    "quoted",
]


# Words that begin a statement of a file, and of an agent.
FILE_WORDS: Final = ("root", "agent", "test", "never")
AGENT_WORDS: Final = (
    "allow",
    "ask",
    "deny",
    "expect",
    "inherit",
    "delegate",
    "trust",
    "limit",
)
WORDS: Final = FILE_WORDS + AGENT_WORDS

# What `limit` bounds.
BOUNDS: Final = ("depth", "turns")


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


_NAME_CHARACTERS: Final = "a tool's name holds letters, digits and `_`, `-`, `.`, `:`, `*`"


@cache
def _texts() -> Mapping[str, Mapping[str, str]]:
    import tomllib  # noqa: PLC0415  # for mistakes alone

    return tomllib.loads(
        Path(__file__).with_name("data").joinpath("mistakes.toml").read_text("utf-8")
    )


def mistake(which: str, start: int, end: int, *, help: str = "", **words: object) -> Mistake:
    """Return the mistake *which* of ``data/mistakes.toml``, with *words* in its texts.

    Args:
        which: a key.
        start: where it begins.
        end: where it ends.
        help: how to mend it, if that is known better.
        words: what stands for the names in braces.

    """
    said = _texts()[which]
    mend = help or said.get("help", "").format(**words)
    return Mistake(start, end, said["message"].format(**words), mend)


def in_matcher(text: str, at: int) -> Mistake:
    """Return what is wrong with a matcher that parses up to *at* only."""
    head = text.partition("(")[0]
    if not text.strip():
        return mistake("no-matcher", 0, len(text))
    if "(" in text[1 : at + 1]:
        return _after_specifier(text, at, head)
    if at == 0 and text[0].isspace():
        end = len(text) - len(text.lstrip())
        return mistake("blank-before-tool", 0, end, right=quoted(text.strip()))
    if text[0] == "(":
        return mistake("no-tool", 0, 1, right=quoted("Bash" + text))
    if "/" in head:
        right = quoted(f"Read({head})")
        return mistake("path-as-tool", 0, len(head), found=quoted(head), right=right)
    return _in_tool(text, at)


def _after_specifier(text: str, at: int, head: str) -> Mistake:
    opened = len(head)
    if ")" not in text[opened:]:
        right = quoted(text.rstrip() + ")")
        return mistake("unclosed-specifier", opened, opened + 1, right=right)
    rest = text[at:]
    if not rest.strip():
        return mistake("blank-at-end", at, len(text), right=quoted(text[:at]))
    start = at + len(rest) - len(rest.lstrip())
    found = quoted(text[start:].rstrip())
    return mistake("behind-specifier", start, len(text.rstrip()), found=found)


_BEHIND_TOOL: Final = {
    ")": "parenthesis-too-many",
    ",": "list-of-matchers",
    **dict.fromkeys("\"'`", "quoted-matcher"),
}


def _in_tool(text: str, at: int) -> Mistake:
    char, tool, rest = text[at], text[:at], text[at:].strip()
    if not char.isspace():
        name = _BEHIND_TOOL.get(char, "tool-of-other-characters")
        return mistake(name, at, at + 1, found=character(char))
    if not rest:
        return mistake("blank-at-end", at, len(text), right=quoted(tool))
    start = text.index(rest, at)
    if rest.startswith("("):
        right = quoted(tool + rest)
        return mistake("blank-before-specifier", at, start, tool=quoted(tool), right=right)
    words = {"tool": quoted(tool), "found": quoted(rest), "right": quoted(f"{tool}({rest})")}
    return mistake("specifier-without-parentheses", start, start + len(rest), **words)


# A file of our notation.


@frozen
class Block:
    """A block that is open.

    Attributes:
        brace: where it was opened.
        owner: the statement that did; "" where that was a mistake itself.

    """

    brace: int
    owner: str


@frozen
class _Found:
    """What stands somewhere instead of what was expected.

    Attributes:
        word: what is underlined; the character, where that is no word.
        before: the text in front of it, without blanks.
        block: the one that it stands in.

    """

    word: str
    before: str
    block: Block | None

    @property
    def is_line_end(self) -> bool:
        """Whether the line is over."""
        return self.word in ("", "\r", "\n")


@frozen(eq=False)
class Expected:
    """What may stand at some place.

    Attributes:
        phrase: what a person calls it.
        mend: how to mend what stands there instead, or "".

    """

    phrase: str
    mend: Callable[[_Found], str] = lambda _: ""


_WORD = re.compile(r"[\w.:*@/-]+")
_STRING = re.compile(r'"(?:\\.|[^"\\\n])*"')
_COMMA_LAST: Final = "the `,` at the end of the line before continues the statement: remove it"
_EFFECTS: Final = ("allow", "ask", "deny")


def in_notation(text: str, at: int, expected: Expected, block: Block | None) -> Mistake:
    """Return what is wrong at *at*, in a *block* that is still open."""
    phrase = expected.phrase
    if at < len(text):
        start, end, shown = _found(text, at)
        found = _Found(text[at : max(end, at + 1)], text[:start].rstrip(" \t"), block)
        mend = expected.mend(found)
        return mistake("unexpected", start, end, help=mend, expected=phrase, found=shown)
    if block and expected in (IN_AGENT, IN_TEST):
        at = block.brace
        return mistake("unclosed-block", at, at + 1, owner=quoted(block.owner))
    end = len(text.rstrip())
    mend = _COMMA_LAST if text[:end].endswith(",") else ""
    shown = "the end of the file"
    return mistake("unexpected", end, end, help=mend, expected=phrase, found=shown)


def _found(text: str, at: int) -> tuple[int, int, str]:
    """Return the range to underline at *at* and what a person calls it."""
    if text[at] in "\r\n":
        at = len(text[:at].rstrip(" \t\r"))
        return at, at, "the end of the line"
    token = _STRING.match(text, at) or _WORD.match(text, at)
    if token is None:
        return at, at + 1, character(text[at])
    return token.start(), token.end(), quoted(token[0])


def _mend_in_file(found: _Found) -> str:
    if found.word == "}":
        return "there is no `{` for it: remove it"
    if found.word in AGENT_WORDS:
        braces = "`agent name { }`"
        return f"{quoted(found.word)} is said of an agent: write it between the braces of {braces}"
    return closest(found.word, FILE_WORDS)


def _mend_in_block(words: tuple[str, ...], otherwise: str) -> Callable[[_Found], str]:
    def mend(found: _Found) -> str:
        if found.word in FILE_WORDS and found.block:
            return f"close {quoted(found.block.owner)} with `}}` first: these do not nest"
        return closest(found.word, words) or otherwise

    return mend


def _mend_entry(found: _Found) -> str:
    if found.word == ")":
        return r"it closes nothing: remove it, or write `\(` for a parenthesis without a partner"
    if _WORD.fullmatch(found.word) and found.word.isascii():
        return "separate entries with `,` and statements with a line break"
    return _foreign(found.word)


def _mend_behind_tool(found: _Found) -> str:
    if found.word.startswith("/"):
        return "a tool's name holds no `/`: a path goes into its parentheses"
    return _mend_entry(found)


def _mend_header(found: _Found) -> str:
    if found.is_line_end:
        head = found.before.rpartition("\n")[2].strip()
        return f"its statements stand between braces: {quoted(head + ' {')}"
    if _WORD.fullmatch(found.word):
        return 'a name with blanks is written in quotes: `"a name"`'
    return _IN_QUOTES


_IN_QUOTES: Final = 'a name of other characters is written in quotes: `"a name"`'


def _mend_name(found: _Found) -> str:
    return "" if found.is_line_end else _IN_QUOTES


def _mend_tool(found: _Found) -> str:
    word, after_comma = found.word, found.before.rstrip().endswith(",")
    if word in WORDS:
        removing = f"remove the `,` before {quoted(word)}, or " if after_comma else ""
        return f'{removing}write `"{word}"` if it is a tool'
    if word.startswith("("):
        return "write the tool first: `Bash(git diff *)`"
    if word.startswith("~") or "/" in word:
        return "a path goes into the parentheses of a tool: `Read(src/**)`"
    if after_comma:
        return _COMMA_LAST
    return _foreign(word) or "write a tool: `Read`, or `Bash(git diff *)`"


def _foreign(word: str) -> str:
    """Return which character of *word* no tool has, or ""."""
    char = next((char for char in word if not char.isascii()), "")
    return f"{character(char)} is not for tools: {_NAME_CHARACTERS}" if char else ""


def _mend_colon(found: _Found) -> str:
    return "write a blank after the `:`" if ":" in found.before.split()[-1] else ""


def _mend_bound(_: _Found) -> str:
    return "write it like `limit depth 2, turns 20`"


def _mend_parenthesis(_: _Found) -> str:
    return r"close it on the same line; write `\(` for a parenthesis without a partner"


_LISTED: Final = [f"`{word}`" for word in AGENT_WORDS]
_STATEMENTS: Final = f"{', '.join(_LISTED[:-1])} and {_LISTED[-1]}"

IN_FILE: Final = Expected("`root`, `agent`, `test` or `never`", _mend_in_file)
IN_AGENT: Final = Expected(
    "a statement or `}`",
    _mend_in_block(AGENT_WORDS, f"the statements of an agent are {_STATEMENTS}"),
)
IN_TEST: Final = Expected(
    "`allow`, `ask`, `deny` or `}`",
    _mend_in_block(_EFFECTS, "a test says what its calls must get"),
)
EFFECT: Final = Expected(
    "`allow`, `ask` or `deny`",
    _mend_in_block(_EFFECTS, "say what the calls must get: `expect deny Bash(git push)`"),
)
TOOL: Final = Expected("a tool", _mend_tool)
NAME: Final = Expected("a name", _mend_name)
LINK: Final = Expected("an agent, `*` or `**`", _mend_name)
CHAIN_OR_LIST: Final = Expected("`>` or `:`", _mend_colon)
CHAIN_OR_BODY: Final = Expected("`>` or `{`", _mend_header)
BODY: Final = Expected("`{`", _mend_header)
CLOSING: Final = Expected("`)`", _mend_parenthesis)
BOUND: Final = Expected("`depth` or `turns`", _mend_bound)
NUMBER: Final = Expected("a number", _mend_bound)
ENTRY: Final = Expected("`,` or the end of the line", _mend_behind_tool)
BEHIND_ENTRY: Final = Expected("`,` or the end of the line", _mend_entry)
END: Final = Expected("the end of the line")
END_IN_BLOCK: Final = Expected("the end of the line or `}`")


# First folders of absolute paths.
_TOP_FOLDERS: Final = frozenset(
    "Users Volumes bin boot dev etc home lib mnt opt private proc root run sbin srv sys tmp usr"
    " var".split()
)


def looks_absolute(text: str) -> bool:
    """Return whether *text* looks like an absolute path, though it starts with one slash."""
    segments = text.split("/")
    return len(segments) > 2 and segments[0] == "" and segments[1] in _TOP_FOLDERS
