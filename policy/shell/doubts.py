"""Text that readers of shell take for different things, so that nobody vouches for it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from policy.shell.bash_tests import TESTS
from policy.shell.opened import is_home_of_other
from policy.shell.readings import is_fragment, stages
from policy.shell.variables import DECLARING, SETTING, fills_guarded, guards
from policy.shell.words import Word
from policy.shell.wrappers import basename

if TYPE_CHECKING:
    from policy.shells import Shell

__all__ = [
    "ODD_BLANKS",
    "doubtful",
    "has_background",
    "has_half_assignment",
    "has_late_keyword",
    "has_sum",
    "hides",
    "is_environment",
    "is_evaluated",
    "is_joined_oddly",
    "is_misread",
    "is_no_expansion",
    "is_unchecked",
    "refused",
    "without_quoted",
]

# What looks like a blank and is none to a shell.
ODD_BLANKS = frozenset(
    "\xa0\xad\u1680\u180e\u2028\u2029\u202f\u205f\u2060\u3000\ufeff"
    + "".join(map(chr, [*range(0x2000, 0x2010), *range(0x202A, 0x202F), *range(0x2061, 0x206A)]))
)

_ODD_BLANK = re.compile("[" + "".join(sorted(ODD_BLANKS)) + "]")

# A comment behind a target, or behind an operator.
_COMMENT = (
    r"[<>]&?[ \t]*(?:[^\s;|&<>'\"]|'[^']*'|\"(?:\\.|[^\\\"])*\")+(?:[ \t]|\\\n)+#|(?:&&|\|\|)\s*#"
)

# Text that a host finds by eye, wherever it stands, and does not vouch for.
_DOUBTFUL = re.compile(
    r"\\[ \t]|(?:^|[^ \t])\\\n|\\\n\s*\||\\\$\$\(|(?:^|[\s;&|(])=[A-Za-z_]|\\\{[^\n]*[,.]"
    rf"|\|[ \t]*\\\n|\s\]\]?#|{_COMMENT}"
)
# What is negated without a blank before its redirection.
_NEGATED = re.compile(r"(?:^|[\s;&|({])!(?:[<>]|&>)")


# What zsh expands: a folder that it names itself, and numbers in a range.
_OF_ZSH = re.compile(r"~\[|<[0-9]*-[0-9]*>")

# `{fd}> a` sets a variable, wherever a grammar takes `{fd}` for a word.
_NAMED_DESCRIPTOR = re.compile(r"\{\w+(?:\[[^\]]*\])?\}[ \t]*(?:[<>](?!\()|&>)")

# Digits that some shells take for an argument, and some for what is redirected.
_DIGITS = re.compile(r"(?:^|[\s;&|()])(?:[0-9]{2,}[<>](?!\()|[0-9]&>)|[<>][|&]?[ \t]*[0-9]+[<>]")

# A quote behind a brace that is not closed before.
_QUOTE_IN_BRACES = re.compile(r"\{[^}]*['\"]")
_SPELLED = re.compile(r"\\.|'[^']*'|\"(?:\\.|[^\"\\])*\"|`[^`]*`", re.DOTALL)


# The same, or a comment, in which a host does not pass over what is quoted.
_SAID = re.compile(rf"(?<![^\s;&|()<>])#[^\n]*|{_SPELLED.pattern}", re.DOTALL)


def _quote_in_braces(text: str) -> re.Match[str] | None:
    """Return braces that are not quoted and may hold a quote, by which the rest is hidden."""
    bare = _SAID.sub(lambda m: m[0] if m[0][0] in "\\#" else m[0].replace("{", " "), text)
    return _QUOTE_IN_BRACES.search(bare)


def doubtful(text: str) -> str | None:
    """Return what of *text* a host does not vouch for, whatever else is in it; None for nothing."""
    return _first(_doubtful(text))


def _doubtful(text: str) -> Iterator[re.Match[str] | None]:
    if "\\" in text or "=" in text or "#" in text:
        yield _DOUBTFUL.search(text)
    if not text.isascii():
        yield _ODD_BLANK.search(text)
    if "<" in text or ">" in text:
        yield _DIGITS.search(text)
        yield _NEGATED.search(text) if "!" in text else None
        yield _left_open(text)
    yield from _refused(text)


def _left_open(text: str) -> re.Match[str] | None:
    """Return the operator at the end of a text behind one that is put on an input."""
    return _JOINING_END.search(text) if "<<<" in text and text.rstrip()[-1:] in "&|" else None


_JOINING_END = re.compile(r"(?:&&|\|\|?)\s*\Z")


def _refused(text: str) -> Iterator[re.Match[str] | None]:
    if "}" in text:
        yield _NAMED_DESCRIPTOR.search(text)
    if "<" in text or "~[" in text:
        yield _OF_ZSH.search(text)
    if "{" in text:
        yield _quote_in_braces(text)


def _first(found: Iterable[re.Match[str] | None]) -> str | None:
    return next((match[0].lstrip() or match[0] for match in found if match), None)


# What of it makes a host give up before it takes anything apart.
_REFUSED = re.compile(
    rf"\\[ \t]|(?:^|[^ \t])\\\n(?!\s*\|)|(?:^|[\s;&|(])=[A-Za-z_]|{_COMMENT}|\\\Z"
)


def refused(text: str) -> str | None:
    """Return what of *text* makes a host give it up for how it looks; None for nothing."""
    marked = "\\" in text or "=" in text or "#" in text
    return _first((_REFUSED.search(text) if marked else None, *_refused(text)))


def is_misread(text: str) -> bool:
    """Whether readers differ on what begins behind two dollars, escaped or quoted or not."""
    return "$$" in text and _BEHIND_DOLLARS.search(text) is not None


def is_no_expansion(text: str) -> bool:
    """Whether braces behind a dollar name no variable that may end there: `${2X}`."""
    return "${" in text and _NO_EXPANSION.search(_LITERAL.sub("", text)) is not None


_LITERAL = re.compile(r"\\.|'[^']*'", re.DOTALL)
_NO_EXPANSION = re.compile(
    r"\$\{[#!]?(?:(?:[0-9]+|[A-Za-z_]\w*)(?:\[[^\]]*\])?|[?$@*!-])[^\w}:#%/^,@=+?\[*-]"
    r"|\$\{[0-9]+[A-Za-z_]"
)
_BEHIND_DOLLARS = re.compile(r"\$\$[({[]")


# What may stand before a program, with the blank behind it.
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
    """Whether a statement or a function begins behind a variable or a redirection."""
    if not ("=" in text or "<" in text or ">" in text) or not _SOME_KEYWORD.search(text):
        return False
    return _LATE_KEYWORD.search(without_quoted(text)) is not None


def without_quoted(text: str) -> str:
    """Return *text* without what is quoted or escaped in it."""
    return _SPELLED.sub("", text)


# What zsh expands once the pieces of a word are put together: `'x '=ls`, `'~'[x]`.
_JOINED = re.compile(r"~\[|(?:^|[\s;&|])=[A-Za-z]")
_ONE_PIECE = re.compile(r"'[^']*'|\"(?:\\.|[^\"\\])*\"", re.DOTALL)


# A sum behind what begins the name of a program to zsh, or a list of words.
_BEFORE_SUM = re.compile(r"\A(?:=|\"=\"|'=')\$\(\(|\{[^}\s'\"]*\$\(\(")


def is_joined_oddly(word: Word) -> bool:
    """Whether a word of several pieces has together what none of them has."""
    if "$((" in word.raw and _BEFORE_SUM.search(word.raw):
        return True
    if word.raw == word.plain or not _JOINED.search(word.plain):
        return False
    return _ONE_PIECE.fullmatch(word.raw) is None


_HIDDEN = re.compile(r"\n[ \t]*#")


def hides(words: Sequence[Word]) -> bool:
    """Whether quoted text has a line that looks like a comment, behind which more may stand."""
    return any("\n" in word.raw and _HIDDEN.search(word.raw) for word in words)


# Builtins that run what stands in the subscript of a name: `printf -v 'a[$(ls)]'`.
_EVALUATING = frozenset(
    "printf test [ [[ read let declare typeset local export readonly unset mapfile wait print"
    " getopts set zparseopts zformat zstyle autoload shift exit return break continue bye logout"
    " vared private getln zregexparse float integer".split()
)
_SUBSCRIPT = re.compile(r"(?=.*\[).*[$`]", re.DOTALL)


def is_evaluated(program: Sequence[Word]) -> bool:
    """Whether a literal word may hold a command all the same."""
    return program[0].plain in _EVALUATING and any(
        _SUBSCRIPT.search(word.plain) for word in program[1:]
    )


def is_unchecked(words: Sequence[Word], shell: Shell) -> bool:
    """Whether nobody vouches for this command, nor for what stands beside it.

    What such commands are is data (`policy.dialect`): arguments that may run or be
    evaluated, and variables that change how a shell reads what follows. The rest holds of
    every host that looks into commands: an option is no program, and a wrapper with one
    that it does not have runs nobody knows what.
    """
    if any(guards(stage, shell, first=stage is words) for stage in stages(words, shell)):
        return True
    if shell.kinds.trusting:
        return any(_sets_oddly(stage, shell) for stage in stages(words, shell))
    return any(is_environment(word.plain) for word in words) or any(
        is_fragment(stage, shell) or _has_unchecked_arguments(stage, shell)
        for stage in stages(words, shell)
    )


def _sets_oddly(words: Sequence[Word], shell: Shell) -> bool:
    """Whether a builtin sets variables, or takes them away, that a host finds before all rules."""
    if words[0].plain not in DECLARING:
        return fills_guarded(words, shell)
    odd = words[0].plain not in SETTING or any(word.plain[:1] in ("-", "+") for word in words[1:])
    return odd and _has_unchecked_arguments(words, shell)


# What a process was started with, its secrets among it.
_ENVIRONMENT = re.compile(r"/proc/.*/environ", re.DOTALL)


def is_environment(name: str) -> bool:
    """Whether *name* may be that of a file with what a process was started with."""
    return "/environ" in name and _ENVIRONMENT.search(name) is not None


@lru_cache(maxsize=256)
def _expression(text: str) -> re.Pattern[str]:
    return re.compile(text, re.DOTALL)


def _has_unchecked_arguments(words: Sequence[Word], shell: Shell) -> bool:
    program = shell.programs.known.get(basename(words[0].plain))
    if program is None:
        return False
    if program.settled and not all(word.literal for word in words[1:]):
        return True
    if program.unexpanded and any(word.glob or is_home_of_other(word) for word in words[1:]):
        return True
    if program.unexpanded and any(_may_be_option(word, words[0]) for word in words[1:]):
        return True
    if program.unchecked is None:
        return False
    if program.spelled and any(word.raw != word.plain for word in words[1:]):
        return True
    arguments = "\0".join([word.plain for word in words[1:]]) or "\0" * len(words[1:])
    return _expression(program.unchecked).fullmatch(arguments) is not None


def _may_be_option(word: Word, program: Word) -> bool:
    """Whether a word that is not known may come to an option, or to nothing."""
    if word.literal or word.plain[:1] not in ("$", "`", "-", "+"):
        return False
    return program.plain not in {*TESTS, "test"} or "/" not in _PUT_IN.sub("", word.plain)


_PUT_IN = re.compile(r"\$\(.*\)|`.*`", re.DOTALL)


def has_half_assignment(words: Sequence[Word]) -> bool:
    """Whether a word is a lone ``=``, which a grammar may take for half an assignment."""
    return any(word.raw == "=" for word in words) and words[0].plain not in TESTS


_BACKGROUND = re.compile(r"(?<![&<>|])&(?![&>])")


def has_background(text: str) -> bool:
    """Whether nobody waits for some command of *text*."""
    return "&" in text and _BACKGROUND.search(text) is not None


# What every reader takes for a sum; with anything else in it some see two groups.
_SUM = re.compile(r"(?!.*(?:<<<|\$\())(?:[\w \t.,:;?+\-*/%<>=!&|^~$()\[\]]|\$\{#?\w+\})*", re.ASCII)
_OPENING = {")": "(", "]": "["}


def has_sum(text: str) -> bool:
    """Whether the first two parentheses of *text* begin what every reader takes for a sum."""
    start = text.index("((") + 2
    opened: list[str] = []
    for place in range(start, len(text)):
        one = text[place]
        if one in "([":
            opened.append(one)
        elif one == ")" and not opened:
            told = text.startswith("))", place)
            return told and _SUM.fullmatch(text, start, place) is not None
        elif one in _OPENING and (not opened or opened.pop() != _OPENING[one]):
            break  # some look for the end behind that of its brackets
    return False
