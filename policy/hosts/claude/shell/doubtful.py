"""Finds text that shells read differently: a command with such text is ambiguous."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from policy.commands.knowledge import Kinds
from policy.commands.reader import BOXES, SHELLS
from policy.commands.words import Word
from policy.core import expressions as re
from policy.core.values import Final
from policy.patterns.tokens import Gap, OneOf, Token

# Characters that look like blanks and separate no words.
_ODD_BLANKS: Final = frozenset(
    "\xa0\xad\u1680\u180e\u2028\u2029\u202f\u205f\u2060\u3000\ufeff"
    + "".join(map(chr, [*range(0x2000, 0x2010), *range(0x202A, 0x202F), *range(0x2061, 0x206A)]))
)


def _in_any_case(name: str) -> Iterator[Token]:
    return (OneOf(frozenset({letter, letter.upper()})) for letter in name)


_SHELL_NAMES: Final = sorted(SHELLS | BOXES)
_WINDOWS_PROGRAM: Final[tuple[Token, ...]] = (Gap.PART, ".", *_in_any_case("exe"))
# Commands of plain words that need a reader all the same.
COMPOUND: Final[tuple[tuple[Token, ...], ...]] = (
    (Gap.ANY, " =", Gap.ANY),
    (Gap.ANY, "~[", Gap.ANY),
    ("-", Gap.ANY),
    (Gap.ANY, "/proc/", Gap.ANY, "/environ", Gap.ANY),
    (Gap.ANY, OneOf(_ODD_BLANKS), Gap.ANY),
    *((program,) for program in _SHELL_NAMES),
    *((*_in_any_case(program), Gap.PART, " ", Gap.ANY) for program in _SHELL_NAMES),
    _WINDOWS_PROGRAM,
    (*_WINDOWS_PROGRAM, " ", Gap.ANY),
)


def traced_patterns(kinds: Kinds) -> Iterator[tuple[Token, ...]]:
    """Yield patterns of commands that may read files, for settings that keep reads in folders."""
    yield (Gap.ANY, " ", Gap.ANY)
    yield (Gap.ANY, OneOf(frozenset("/~")), Gap.ANY)
    yield from ((program,) for program in sorted(kinds.interpreters | kinds.movers))


_TARGET = r"[<>][&|]?[ \t]*(?:[^\s;|&<>'\"]|'[^']*'|\"(?:\\.|[^\\\"])*\")+"
# Backslashes before blanks, line breaks, substitutions and braces; comments behind a bracket, a
# target or an operator; and two expansions of zsh: `=program` and `~[folder]`.
_DOUBTFUL = re.compile(
    r"\\[ \t]|(?:^|[^ \t])\\\n|\\\n\s*\||\\\$\$\(|\\\{[^\n]*[,.]|\|[ \t]*\\\n|\\\Z"
    rf"|\s\]\]?#|{_TARGET}(?:[ \t]|\\\n)+#|(?:&&|\|\|)\s*#|(?:^|[\s;&|(])=[A-Za-z_]|~\["
)
# Digits that are an argument to some shells and a descriptor to others; `!> a`; `{fd}> a`, which
# sets a variable; `<1-5>`, a glob of zsh; and an operator at the end.
_REDIRECTED = re.compile(
    r"(?:^|[\s;&|()])(?:[0-9]{2,}[<>](?!\()|[0-9]&>)|[<>][|&]?[ \t]*[0-9]+[<>]"
    r"|(?:^|[\s;&|({])!(?:[<>]|&>)|\{\w+(?:\[[^\]]*\])?\}[ \t]*(?:[<>](?!\()|&>)"
    r"|<[0-9]*-[0-9]*>|(?:&&|\|\|?)\s*\Z"
)
_ODD_BLANK = re.compile("[" + "".join(sorted(_ODD_BLANKS)) + "]")
_QUOTED_TEXT = re.compile(r"\\.|'[^']*'|\"(?:\\.|[^\"\\])*\"|`[^`]*`", re.DOTALL)
# The same, or a comment: the host does not skip quoted text in comments.
_SKIPPED = re.compile(rf"(?<![^\s;&|()<>])#[^\n]*|{_QUOTED_TEXT.pattern}", re.DOTALL)
# A quote behind an open brace, which may hide the rest.
_QUOTE_IN_BRACES = re.compile(r"\{[^}]*['\"]")


def doubtful(text: str) -> str | None:
    """Return the first piece of *text* that shells read differently, or None."""
    found = None
    if "\\" in text or "=" in text or "#" in text or "~" in text:
        found = _DOUBTFUL.search(text)
    if found is None and ("<" in text or ">" in text):
        found = _REDIRECTED.search(text)
    if found is None and not text.isascii():
        found = _ODD_BLANK.search(text)
    if found is None and "{" in text:
        bare = _SKIPPED.sub(lambda m: m[0] if m[0][0] in "\\#" else m[0].replace("{", " "), text)
        found = _QUOTE_IN_BRACES.search(bare)
    return (found[0].lstrip() or found[0]) if found else None


_LITERAL = re.compile(r"\\.|'[^']*'", re.DOTALL)
_BAD_EXPANSION = re.compile(
    r"\$\{[#!]?(?:(?:[0-9]+|[A-Za-z_]\w*)(?:\[[^\]]*\])?|[?$@*!-])[^\w}:#%/^,@=+?\[*-]"
    r"|\$\{[0-9]+[A-Za-z_]"
)
_BEHIND_DOLLARS = re.compile(r"\$\$[({[]")


def ends_unknown(text: str) -> bool:
    """Return whether readers differ on where an expansion ends: `$$(a)`, `${2X}`."""
    return ("$$" in text and _BEHIND_DOLLARS.search(text) is not None) or (
        "${" in text and _BAD_EXPANSION.search(_LITERAL.sub("", text)) is not None
    )


# An assignment or a redirection before a program, with the blank behind it.
_PREFIX = (
    r"(?:[A-Za-z_]\w*(?:\[[^\]\s]*\])?\+?=(?:[^\s;&|()<>]|\$\([^()]*\))*"
    r"|[0-9]*(?:&>>?|<>|<<<|[<>]{1,2}[&|]?)[ \t]*[^\s;&|()<>]*)[ \t]+"
)
_KEYWORD = "(?:if|then|elif|else|fi|while|until|for|do|done|case|esac|function|select)"
_SOME_KEYWORD = re.compile(rf"[ \t]{_KEYWORD}\b|\([ \t]*\)")
_LATE_KEYWORD = re.compile(
    r"(?:\A|[;&|\n(){`!]|(?<!\w)(?:then|do|else|if|elif|while|until|time)[ \t])[ \t]*"
    rf"(?:{_PREFIX})+"
    rf"(?:{_KEYWORD}(?![^\s;&|()<>])"
    r"|[^\s;&|()<>=$`]+[ \t]*\([ \t]*\))"
)


def has_late_keyword(text: str) -> bool:
    """Whether a keyword or a function stands behind an assignment or a redirection: `A=1 if`."""
    if not ("=" in text or "<" in text or ">" in text) or not _SOME_KEYWORD.search(text):
        return False
    return _LATE_KEYWORD.search(_QUOTED_TEXT.sub("", text)) is not None


# Expansions of zsh in the joined pieces of a word: `'x '=ls`, `'~'[x]`.
_JOINED = re.compile(r"~\[|(?:^|[\s;&|])=[A-Za-z]")
_ONE_PIECE = re.compile(r"'[^']*'|\"(?:\\.|[^\"\\])*\"", re.DOTALL)

# Arithmetic behind `=`, an expansion of zsh, or in braces.
_BEFORE_SUM = re.compile(r"\A(?:=|\"=\"|'=')\$\(\(|\{[^}\s'\"]*\$\(\(")


def is_joined_oddly(word: Word) -> bool:
    """Whether joined pieces form an expansion that no piece has, e.g. `'~'[x]` in zsh."""
    if "$((" in word.raw and _BEFORE_SUM.search(word.raw):
        return True
    if word.raw == word.value or not _JOINED.search(word.value):
        return False
    return _ONE_PIECE.fullmatch(word.raw) is None


_COMMENT = re.compile(r"\n[ \t]*#")
# `$(cat <<'E'`, lines and `E)`, in double quotes: no line of it is a comment (2.1.329, observed).
_QUOTED_HEREDOC = re.compile(
    r"\$\(\s*cat\s*<<[ \t]*(['\"])([\w.]+)\1\n(?:[^\n]*(?<!\\)\n)*?\2\n\s*\)"
)


def hides_text(words: Sequence[Word]) -> bool:
    """Whether quoted text has a line like a comment, so that the host may skip what follows."""
    return any(
        "\n" in word.raw and _COMMENT.search(word.raw) and _COMMENT.search(_without_heredocs(word))
        for word in words
    )


def _without_heredocs(word: Word) -> str:
    rest = _QUOTED_HEREDOC.sub("", word.raw) if word.vetted else word.raw
    # Surely a here-document only where the word is one double-quoted string.
    return rest if rest.count('"') == 2 and rest.endswith('"') else word.raw


TESTS: Final = frozenset({"[", "[["})
_ENDING: Final = r"(?:\0|\Z)"
_NUMBER: Final = rf"[+-]?[0-9]+(?={_ENDING})"
_OPERAND: Final = rf"(?!(?:\]\]?|-a|-o|&&|\|\||[()!]){_ENDING})[^\0]+"
_COMPARING: Final = rf"-(?:eq|ne|lt|le|gt|ge)(?={_ENDING})"
_OPERATOR: Final = rf"-[A-Za-z_]\w*(?={_ENDING})"
_COMPARISON: Final = re.compile(
    rf"(?:!\0)*(?:{_OPERAND}|-t\0{_NUMBER}|-v\0[A-Za-z_]\w*|(?!-[tv]\0){_OPERATOR}\0{_OPERAND}"
    rf"|{_NUMBER}\0{_COMPARING}\0{_NUMBER}"
    rf"|(?!{_OPERATOR}){_OPERAND}\0(?:==?|!=|=~|[<>]|(?!{_COMPARING}){_OPERATOR})\0{_OPERAND})",
    re.ASCII,
)
_TEST_OPERATOR: Final = re.compile(r"\0(?:&&|\|\|)\0")


def is_plain_test(words: Sequence[Word]) -> bool:
    """Return whether all shells parse a test in the same way: one of `x`, `-f x` and `a = b`."""
    text = "\0".join([word.raw for word in words[1:-1]])
    if words[0].raw != "[[":
        return _COMPARISON.fullmatch(text) is not None
    is_pattern = any(word.glob for word in words[1:-1])
    return not is_pattern and all(map(_COMPARISON.fullmatch, _TEST_OPERATOR.split(text)))
