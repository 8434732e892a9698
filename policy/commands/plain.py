"""A command of plain words and operators, read by one expression.

Most commands are: `git add . && git commit -m 'x' 2>&1 | tail -5`. Whatever has
more (an expansion, an escape, a group, a keyword) is left to those who read it
at length.
"""

from __future__ import annotations

from functools import lru_cache

from policy.commands.compound import KEYWORDS
from policy.commands.match_texts import is_requoted
from policy.commands.words import Script, SimpleCommand, Target, Word
from policy.core import expressions as re
from policy.core.values import Final

__all__ = ["read_plain"]

_LETTERS: Final = r"A-Za-z0-9_./:@%+,\-"
_GLOBS: Final = r"A-Za-z0-9_./:@%+,^~*?\-"
_END: Final = r"(?=[ \t;|&<>\n]|\Z)"

# What is quoted holds nothing that a shell acts on.
_TOKEN: Final = re.compile(
    rf"""[ \t]*(?:
    ([0-9]*>&[0-9]+|[0-9]*(?:>>|>\|?|<|&>>?)[ ]?/dev/null){_END}
    |[0-9]*(&?>>?|>\||<)[ ]?([{_LETTERS}][{_LETTERS}=]*+){_END}
    |([{_LETTERS}][{_LETTERS}=]*+){_END}
    |((?:[{_GLOBS}]|'[^'\0\n\\]*'|"[^"\\$`\0\n]*")(?:[{_GLOBS}=]++|'[^'\0\n\\]*'|"[^"\\$`\0\n]*")*+){_END}
    |(&&|\|\||\|&|\||;(?![;&])|\n)
    )""",
    re.VERBOSE,
)
_FILE, _PLAIN, _QUOTED, _OPERATOR = 3, 4, 5, 6
# A name that one of these sets is read in the pieces that it has.
_DECLARING: Final = frozenset("export declare typeset readonly local".split())
_NOT_FIRST: Final = KEYWORDS | {"[[", "["}


def read_plain(text: str) -> Script | None:  # noqa: PLR0912  # one loop over five kinds
    """Return what a command of plain words and operators consists of; None for any other."""
    command = SimpleCommand()
    words, commands = command.words, [command]
    targets: list[Target] = []
    position, operator, redirected = 0, "", False
    text = text.strip(" \t\n")
    length, match_at = len(text), _TOKEN.match
    while position < length:
        match = match_at(text, position)
        if match is None:
            return None
        position, kind = match.end(), match.lastindex
        if command.directed and kind in (_PLAIN, _QUOTED):
            command.swallowed |= redirected
            if (redirected or command.led) and all("=" in word.raw for word in words):
                return None  # rules know it by its text as well
        if kind == _PLAIN:
            raw = match[4]
            if raw in _NOT_FIRST and all("=" in word.raw for word in words):
                return None
            words.append(_plain(raw))
        elif kind == _QUOTED:
            raw = match[5]
            in_pieces = "{" in raw or (words and words[0].raw in _DECLARING)
            if in_pieces and not _is_one_piece(raw):
                return None
            words.append(_quoted(raw))
            if words[0].plain in _NOT_FIRST:
                return None
        elif kind == _OPERATOR:
            if not words and (match[6] != "\n" or operator in ("|", "|&")):
                return None  # nothing to join
            operator = match[6] if words or match[6] != "\n" else operator
            redirected = False
            if words:
                is_pipe = match[6] in ("|", "|&")
                command.piped |= is_pipe
                command = SimpleCommand(piped=is_pipe)
                words = command.words
                commands.append(command)
        else:
            redirected |= bool(words)
            command.ahead = command.ahead or len(words)
            command.directed = True
            command.led |= not words
            if kind == _FILE and (
                match[3][:2] == "//" or _is_descriptor(match[3], text[position:])
            ):
                return None
            if kind == _FILE:
                writes = ">" in match[2]
                targets.append(Target(match[3], writes))
                command.writes |= writes and not words
    if not words:
        if operator != ";" or command.led:
            return None  # nothing, or a redirection alone
        commands.pop()
    if not commands or ("=" in text and any(map(_sets_at_length, commands))):
        return None
    if "$" in text:
        for command in commands:
            command.requoted = _is_requoted(command.words)
    return Script(commands, targets, split=any(each.piped for each in commands), plain=True)


def _sets_at_length(command: SimpleCommand) -> bool:
    """Whether a command sets variables alone, several or beside what is redirected."""
    several = command.directed or len(command.words) > 1
    return several and all("=" in word.raw for word in command.words)


@lru_cache(maxsize=2048)
def _plain(raw: str) -> Word:
    return Word(raw, raw)


def _is_one_piece(raw: str) -> bool:
    """Whether all of a word stands in one pair of quotes."""
    return raw[0] in "'\"" and raw.find(raw[0], 1) == len(raw) - 1


def _is_descriptor(name: str, rest: str) -> bool:
    """Whether what looks like the name of a file belongs to the redirection behind it."""
    return name.isdigit() and rest[:1] in ("<", ">")


def _is_requoted(words: list[Word]) -> bool:
    return any("$" in word.raw and is_requoted(word.raw) for word in words)


def _quoted(raw: str) -> Word:
    if "'" not in raw and '"' not in raw:
        return Word(raw, raw, glob="*" in raw or "?" in raw)
    plain, glob, quote = [], False, ""
    for character in raw:
        if quote:
            if character == quote:
                quote = ""
            else:
                plain.append(character)
        elif character in "'\"":
            quote = character
        else:
            glob |= character in "*?"
            plain.append(character)
    return Word(raw, "".join(plain), glob=glob)
