"""Commands with something put in, left out or said twice: near to what is allowed stands the rest."""

from __future__ import annotations

from random import Random

__all__ = ["altered"]

_LETTERS = (*" \t\n;&|<>()$`\\\"'*?[]#~=%!{},.+-/:@^_0129aAexX", "\u00e9", "\u00a0", "\u200b")
_PIECES = (
    *("<<<x", "<<<'a b'", "<<<$X", "<a", "< a", "<>a", "3<a", "{fd}<a", ">/dev/null", "2>&1"),
    *(">out", "> 'out'", ">>out", ">|out", "&>out", "2>/dev/null", "<<E\nx\nE", "<<'E'\nx\nE"),
    *(
        "&&",
        "||",
        "|",
        ";",
        "|&",
        "\n",
        "\\\n",
        "#",
        "#x",
        "!",
        "=",
        "=~",
        "!=",
        "(",
        ")",
        "{",
        "}",
    ),
    *(
        "cd src &&",
        "cd . &&",
        "cd .",
        "cd ./ ;",
        "cd /srv/app &&",
        "true &&",
        "false ||",
        "echo x |",
    ),
    *(
        "[[",
        "]]",
        "[",
        "]",
        "-f a",
        "-a",
        "-o",
        "-t",
        "-v",
        "-eq",
        "-nt",
        "if",
        "then",
        "fi",
        "while",
    ),
    *("for i in a b; do", "done", "do", "time", "noglob", "builtin", "command", "command -p"),
    *("timeout 5", "timeout 5s", "nice", "nohup", "stdbuf -oL", "xargs", "env", "env A=1"),
    *("COLUMNS=80", "LANG=C", "TZ=UTC", "NODE_ENV=x", "CI=''", "X=a", "X=$(ls)", "NO_COLOR=$HOME"),
    *(
        "$X",
        '"$X"',
        "${X}",
        "$((1))",
        "$[1]",
        '"ab$(ls)"',
        '"$HOME/x"',
        "<(ls)",
        ">(ls)",
        "''",
        '""',
    ),
    *("{a,b}", "{a},b}", "a{b", "\\{a,b\\}", "a\\", "a'b", "a'b'c", 'a"b', "'a\nb'", "\\ ", "é"),
    *("*.py", "a*", "[ab]", "=ls", "~", "~/x", "~+", "~b", "/etc/passwd", "../app/a", "/srv/app/a"),
    *(
        "-",
        "--",
        "-x",
        "+x",
        "+5",
        "5x",
        "1",
        "0x1",
        "a[0]",
        "a[$x]",
        "--x=y",
        "-x5",
        "-l",
        "--list",
    ),
)


def altered(text: str, chance: Random) -> str:
    """Return *text* with one to three such changes."""
    for _ in range(chance.choice((1, 1, 1, 2, 2, 3))):
        text = chance.choice(_CHANGES)(text, chance)
    return text


def _with_letter(text: str, chance: Random) -> str:
    at = chance.randrange(len(text) + 1)
    return text[:at] + chance.choice(_LETTERS) + text[at:]


def _without_letter(text: str, chance: Random) -> str:
    at = chance.randrange(len(text) + 1)
    return text[:at] + text[at + 1 :]


def _with_piece(text: str, chance: Random) -> str:
    words = text.split(" ")
    words.insert(chance.randrange(len(words) + 1), chance.choice(_PIECES))
    return " ".join(words)


def _with_word_twice(text: str, chance: Random) -> str:
    words = text.split(" ")
    words[chance.randrange(len(words))] = chance.choice(words)
    return " ".join(words)


def _with_words_moved(text: str, chance: Random) -> str:
    name, *rest = text.split(" ")
    chance.shuffle(rest)
    return " ".join([name, *rest])


_CHANGES = (
    *(_with_letter, _with_letter, _without_letter, _with_piece, _with_piece, _with_piece),
    *(_with_word_twice, _with_words_moved),
)
