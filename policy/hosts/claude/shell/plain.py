"""Plain commands, which need no grammar: `git add . && git commit -m 'x' 2>&1 | tail -5`.

One expression knows their words, redirections and operators.
"""

from __future__ import annotations

from functools import lru_cache

from policy.commands.reader import KEYWORDS, Redirection
from policy.commands.words import Script, SimpleCommand, Word
from policy.core import expressions as re
from policy.core.values import Final

_LETTERS: Final = r"A-Za-z0-9_./:@%+,\-"
_GLOBS: Final = r"A-Za-z0-9_./:@%+,^~*?\-"
_END: Final = r"(?=[ \t;|&<>\n]|\Z)"

# Quoted text has no expansion.
_TOKEN: Final = re.compile(
    rf"""[ \t]*(?:
    (?P<descriptor>[0-9]*>&[0-9]+|[0-9]*(?:>>|>\|?|<|&>>?)[ ]?/dev/null){_END}
    |[0-9]*(?P<directs>&?>>?|>\||<)[ ]?(?P<file>[{_LETTERS}][{_LETTERS}=]*+){_END}
    |(?P<word>[{_LETTERS}][{_LETTERS}=]*+){_END}
    |(?P<quoted>(?:[{_GLOBS}]|'[^'\0\n\\]*'|"[^"\\$`\0\n]*")(?:[{_GLOBS}=]++|'[^'\0\n\\]*'|"[^"\\$`\0\n]*")*+){_END}
    |(?P<operator>&&|\|\||\|&|\||;(?![;&])|\n)
    )""",
    re.VERBOSE,
)
_PIPES: Final = ("|", "|&")
_IN_QUOTES: Final = re.compile(r"""'[^']*'|"[^"]*\"""")
# Behind one of these a partly quoted word may be an assignment.
_DECLARING: Final = frozenset("export declare typeset readonly local".split())
_NO_PROGRAMS: Final = KEYWORDS | {"[[", "["}


def read_plain(text: str) -> Script | None:
    """Return the script of a command of plain words and operators; None for any other."""
    text = text.strip(" \t\n")
    command = SimpleCommand()
    commands, targets = [command], list[Redirection]()
    position, operator = 0, ""
    while position < len(text):
        token = _TOKEN.match(text, position)
        if token is None:
            return None
        position = token.end()
        if token.lastgroup != "operator":
            if not _add(token, command, targets):
                return None
        elif command.words:
            operator = token["operator"]
            is_pipe = operator in _PIPES
            command.piped |= is_pipe
            command = SimpleCommand(piped=is_pipe)
            commands.append(command)
        elif token["operator"] != "\n" or operator in _PIPES:
            return None  # nothing to join
    if not command.words:
        if operator != ";":
            return None
        commands.pop()
    if any(map(_only_assigns, commands)):
        return None
    return Script(commands, targets, split=any(each.piped for each in commands), plain=True)


def _add(token: re.Match[str], command: SimpleCommand, targets: list[Redirection]) -> bool:
    """Add a word or a redirection; return whether all shells read it in the same way there."""
    if token.lastgroup == "word":
        return _add_word(_plain(token["word"]), command)
    if token.lastgroup == "quoted":
        raw, words = token["quoted"], command.words
        in_pieces = "{" in raw or (words and words[0].raw in _DECLARING)
        if in_pieces and not _IN_QUOTES.fullmatch(raw):
            return False
        return _add_word(_quoted(raw), command)
    if not command.words:
        return False  # a redirection before the program, or without one
    command.redirected = True
    name = token["file"]
    if name is not None:
        if name.startswith("//") or name.isdigit():
            return False  # digits may belong to the redirection behind them
        writes = ">" in token["directs"]
        targets.append(Redirection(name, writes))
        command.writes_file |= writes
    return True


def _add_word(word: Word, command: SimpleCommand) -> bool:
    command.has_words_behind |= command.redirected
    # `A=1 > f b` has more match texts, and behind `A=1 if` a statement begins.
    is_odd = command.redirected or word.value in _NO_PROGRAMS
    if is_odd and all("=" in each.raw for each in command.words):
        return False
    command.words.append(word)
    return True


def _only_assigns(command: SimpleCommand) -> bool:
    """Whether a command is several assignments, or one with a redirection."""
    several = command.redirected or len(command.words) > 1
    return several and all("=" in word.raw for word in command.words)


@lru_cache(maxsize=2048)
def _plain(raw: str) -> Word:
    return Word(raw, raw)


_PIECE: Final = re.compile(r"""'[^']*'|"[^"]*"|[^'"]+""")


def _quoted(raw: str) -> Word:
    pieces, glob = [], False
    for piece in _PIECE.findall(raw):
        if piece[0] in "'\"":
            pieces.append(piece[1:-1])
        else:
            pieces.append(piece)
            glob |= "*" in piece or "?" in piece
    return Word(raw, "".join(pieces), glob=glob)
