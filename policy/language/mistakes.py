"""What is wrong with a text that does not parse, in words for its author."""

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

__all__ = [
    "AGENT_WORDS",
    "FILE_WORDS",
    "NAME_CHARACTERS",
    "WORDS",
    "Mistake",
    "MistakeForm",
    "character",
    "closest",
    "explained",
    "forms",
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


@frozen
class MistakeForm:
    """What a text that is wrong looks like, and what is said of it.

    Attributes:
        expression: its group `at` is underlined.
        message: with what the groups matched, in backticks.
        help: the same.
        where: what must be known of the place.

    """

    expression: re.Pattern[str]
    message: str
    help: str
    where: frozenset[str]


@cache
def forms(file: Path) -> tuple[MistakeForm, ...]:
    """Return the forms that *file* lists; its `parts` stand in their expressions by name."""
    import tomllib  # noqa: PLC0415  # for mistakes alone

    shape = tomllib.loads(file.read_text("utf-8"))
    parts = shape["parts"]

    def whole(expression: str) -> str:
        return re.sub("|".join(parts), lambda name: whole(parts[name[0]]), expression)

    return tuple(
        MistakeForm(
            re.compile(f"(?{shape['flags']}){whole(each['form'])}"),
            each["message"],
            each.get("help", ""),
            frozenset(each.get("where", "").split()),
        )
        for each in shape["form"]
    )


def explained(
    forms: Iterable[MistakeForm],
    text: str,
    start: int,
    end: int,
    *,
    where: AbstractSet[str] = frozenset(),
    said: Mapping[str, str] | None = None,
) -> Mistake | None:
    """Return what the first of *forms* says that *text* has at *start*.

    Args:
        forms: from a file.
        text: is looked at up to *end*.
        start: where the form begins.
        end: of the text.
        where: what is known of the place.
        said: more that messages say, by name; what the first character underlined is called
            there is its `meaning`.

    """
    for form in forms:
        found = form.expression.match(text, start, end) if form.where <= where else None
        if found is not None:
            at = found["at"]
            names = {"character": character(at[:1]), "code": f"U+{ord(at[:1] or ' '):04X}"}
            names |= said or {}
            names["meaning"] = names.get(at[:1], "")
            first, last = found.start("at"), found.start("at") + len(at.rstrip() or at)
            message, help_ = (_filled(each, found, names) for each in (form.message, form.help))
            return Mistake(first, last, message, help_)
    return None


_FILLED: Final = re.compile(r"`([^`{]*\{(\w+)\}[^`]*)`|\{(\w+)\}")


def _filled(template: str, found: re.Match[str], said: Mapping[str, str]) -> str:
    groups = {name: (text or "").rstrip() or text for name, text in found.groupdict().items()}

    def fill(hole: re.Match[str]) -> str:
        if hole[3]:
            return said[hole[3]]
        return quoted(hole[1].format(**groups)) if hole[2] in groups else hole[0]

    return _FILLED.sub(fill, template)


def in_matcher(text: str) -> Mistake:
    """Return what is wrong with a matcher that does not parse."""
    found = explained(forms(Path(__file__).with_name("matcher_mistakes.toml")), text, 0, len(text))
    if found is None:
        raise AssertionError(text)  # the last form is that of any text
    return found


_WORD = re.compile(r"[\w.:*@/-]+")
_STRING = re.compile(r'"(?:\\.|[^"\\\n])*"')


# What the parser would have taken, and what a person calls it. The first whose terminals are all
# among them is the one that counts.
_EXPECTED: Final = (
    ("AGENT", "`root`, `agent`, `test` or `never`"),
    ("EFFECT INHERIT", "a statement or `}`"),
    ("EFFECT RBRACE", "`allow`, `ask`, `deny` or `}`"),
    ("EFFECT", "`allow`, `ask` or `deny`"),
    ("TOOL", "a tool"),
    ("NAME STARS", "an agent, `*` or `**`"),
    ("NAME STRING", "a name"),
    ("LBRACE MORETHAN", "`>` or `{`"),
    ("COLON MORETHAN", "`>` or `:`"),
    ("LBRACE", "`{`"),
    ("RPAR", "`)`"),
    ("_CLOSE", "`)`"),
    ("COMMA", "`,` or the end of the line"),
    ("RBRACE", "the end of the line or `}`"),
)


def in_notation(
    text: str, at: int, accepted: frozenset[str], opened: tuple[int, str] | None
) -> Mistake:
    """Return what is wrong at *at*.

    *accepted* are the terminals the grammar takes there; *opened* is the
    unclosed `{` before it, with the statement it belongs to.
    """
    expected = next(
        (name for needed, name in _EXPECTED if accepted.issuperset(needed.split())),
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
