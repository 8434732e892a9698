"""The risk of a shell command, as a guardrail sees it: what stands where a command stands.

A word that is only an argument is data: ``rg mkfs`` makes no file system.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Callable
from typing import Final

import attrs

__all__ = ["Risk", "command_risk", "words_of"]


class Risk(enum.Enum):
    """How much harm a call may do; the values are in this order."""

    ROUTINE = 0
    BOUNDED = 1
    HIGH = 2
    CRITICAL = 3

    __hash__ = object.__hash__


@attrs.frozen
class _Part:
    """A simple command: its words, and what else is in it.

    Attributes:
        words: without quotes.
        operator: what stands in front of it.

    """

    words: tuple[str, ...]
    operator: str


_TOKEN: Final = re.compile(
    r"(?P<blank>[ \t]+)|(?P<operator>&&|\|\||\|&|[;|&\n]|[()])"
    r"|(?P<redirect>\d*(?:>>|>\||>&|&>|<<<|<<|<>|>|<))"
    r"|(?P<word>(?:'[^']*'|\"(?:[^\"\\]|\\.)*\"|\\.|[^\s;|&()<>'\"\\])+)|(?P<other>.)",
    re.DOTALL,
)
_LONGEST: Final = 100_000


def _parts(command: str) -> list[_Part]:
    found: list[_Part] = []
    words: list[str] = []
    operator = ""
    for token in _TOKEN.finditer(command):
        match token.lastgroup:
            case "operator":
                if words:
                    found.append(_Part(tuple(words), operator))
                words, operator = [], token[0]
            case "word":
                words.append(_unquoted(token[0]))
            case _:
                pass
    if words:
        found.append(_Part(tuple(words), operator))
    return found


def _unquoted(word: str) -> str:
    return re.sub(
        r"'([^']*)'|\"((?:[^\"\\]|\\.)*)\"|\\(.)", lambda m: m[1] or m[2] or m[3] or "", word
    )


# --- what must never happen ------------------------------------------------------

_ROOT: Final = frozenset({"sudo", "doas", "su", "shutdown", "reboot", "halt", "poweroff"})
_SHELLS: Final = frozenset({"sh", "bash", "zsh", "dash", "ksh", "fish"})
_WRAPPERS: Final = frozenset(
    "command exec env nohup nice time timeout stdbuf setsid xargs builtin ionice".split()
)
_FORK_BOMB: Final = re.compile(r"(\S{1,80})\s*\(\)\s*\{[^}]{0,200}\1\s*\|\s*\1\s*&?[^}]{0,200}\}")

# What is refused wherever it stands, in lower case and with one blank between words: the
# host does not look whether it is data.
_CATASTROPHES: Final = (
    *("diskutil erase", ":(){", "kill -9 -1"),
    *(f"rm -{options} {what}" for options in ("rf", "fr") for what in ("/", "~", "$home", "*")),
)
_FETCHERS: Final = ("curl ", "wget ")
_PIPED: Final = tuple(f"|{blank}{shell}" for blank in ("", " ") for shell in ("sh", "bash", "zsh"))


def _is_catastrophe(command: str) -> bool:
    plain = " ".join(command.split()).lower()
    return (
        plain.startswith(("shutdown", "reboot"))
        or any(text in plain for text in _CATASTROPHES)
        or (any(text in plain for text in _FETCHERS) and any(text in plain for text in _PIPED))
        or ("of=/dev/" in plain and f" {plain}".find(" dd ") >= 0)
        or bool(_FORK_BOMB.search(command))
    )


_SUBSTITUTED: Final = re.compile(r"\$\(([^()]*)\)|`([^`]*)`")
_EVERYTHING: Final = frozenset(
    {"/", "/*", "~", "~/", "~/*", "$HOME", "${HOME}", "*", ".", "./", "..", "$HOME/", "./*"}
)


def _command_words(words: tuple[str, ...]) -> tuple[str, ...]:
    """Return the words from the program on, wrappers and assignments left out."""
    position = 0
    while position < len(words):
        word = words[position].rpartition("/")[2]
        if re.fullmatch(r"[A-Za-z_]\w*=.*", words[position], re.DOTALL):
            position += 1
        elif word in _WRAPPERS:
            position += 1
            while position < len(words) and (
                words[position].startswith("-") or re.fullmatch(r"[0-9.]+[smhd]?", words[position])
            ):
                position += 1
        else:
            break
    return words[position:]


def _is_critical(parts: list[_Part]) -> bool:
    fetched = False
    for part in parts:
        words = _command_words(part.words)
        if not words:
            continue
        program, arguments = words[0].rpartition("/")[2], words[1:]
        if part.operator in {"|", "|&"} and fetched and program in _SHELLS:
            return True
        fetched = program in {"curl", "wget"} or (fetched and part.operator in {"|", "|&"})
        if program in _ROOT or program.startswith("mkfs"):
            return True
        if program == "diskutil" and any(a.lower().startswith("erase") for a in arguments):
            return True
        if program == "dd" and any(a.startswith("of=/dev") for a in arguments):
            return True
        if program == "rm" and _removes_everything(arguments):
            return True
        if program in _SHELLS and "-c" in arguments[:-1]:
            inner = arguments[arguments.index("-c") + 1]
            if command_risk(inner) is Risk.CRITICAL:
                return True
    return False


def _removes_everything(arguments: tuple[str, ...]) -> bool:
    options = [a for a in arguments if a.startswith("-")]
    recursive = any(
        option == "--recursive" or (not option.startswith("--") and set(option) & {"r", "R"})
        for option in options
    )
    return recursive and any(a in _EVERYTHING for a in arguments if not a.startswith("-"))


# --- what only looks --------------------------------------------------------------


@attrs.frozen
class _Options:
    """Options with which a program does more than look.

    Attributes:
        words: whole options; ``--x`` stands for ``--x=…`` too.
        letters: of options with one dash, wherever they stand among others.

    """

    words: tuple[str, ...] = ()
    letters: str = ""

    def hold(self, argument: str) -> bool:
        """Return whether *argument* is one of them."""
        if argument in self.words or argument.startswith(tuple(f"{w}=" for w in self.words)):
            return True
        short = argument.startswith("-") and not argument.startswith("--")
        return short and not set(self.letters).isdisjoint(argument[1:])


_ANY_PROGRAM: Final = _Options(("--output", "--exec", "--command", "--config", "--files-from"))

# Programs that only look, and the options with which each does not.
_LOOKING: Final = {
    **dict.fromkeys("pwd cat head tail wc stat file cut tr whoami df uname".split(), _Options()),
    "ls": _Options(("--dereference", "--recursive"), "LR"),
    "du": _Options(("--dereference",), "L"),
    "date": _Options(("--set",), "s"),
    "rg": _Options(("--pre", "--hostname-bin", "-L", "--follow")),
    "grep": _Options(
        tuple("-R -r --recursive --dereference-recursive --include --exclude-from --file".split()),
        "f",
    ),
    "sort": _Options(("--temporary-directory", "--compress-program"), "oT"),
    "find": _Options(("-L", "-H")),
    "uniq": _Options(),
    "printf": _Options(),
    "echo": _Options(),
}

# What `find` does something with, wherever it stands in a word.
_FIND_ACTIONS: Final = re.compile(r" -(?:delete|exec|ok|fprint|fls|follow|lname)")

_GIT_OPTIONS: Final = _Options(
    ("--ext-diff", "--textconv", "--exec-path", "--config-env", "--paginate", "-p")
)
_GIT_LOOKING: Final = frozenset("status diff log show blame grep ls-files rev-parse".split())
_GIT_BRANCH: Final = frozenset("--all -a --list --show-current --verbose -v -vv".split())
_GIT_BEFORE: Final = ("--no-pager", "-P", "--no-optional-locks")

# With any of these in it a command is not taken apart; of blanks only the space is.
_NOT_PLAIN: Final = re.compile(r"""['"*?\[\]{};<>`$&]|[^\S ]|\|\|""")

_EDGES: Final = "'\"()[]{},:"


def words_of(command: str) -> list[str]:
    """Return the words of a command without what is around them, as paths are looked for."""
    return [word for word in (part.strip(_EDGES) for part in command.split()) if word]


def command_risk(command: str, outside: Callable[[str], bool] = bool) -> Risk:
    """Return the risk of a command; one that is not known to only look is high.

    Args:
        command: the text.
        outside: whether a word, taken for a path, leads out of the workspace.

    """
    command = command.strip()
    if len(command) > _LONGEST:
        return Risk.HIGH
    if _is_catastrophe(command) or _is_critical(_parts(command)):
        return Risk.CRITICAL
    for found in _SUBSTITUTED.finditer(command):
        if command_risk(found[1] or found[2] or "") is Risk.CRITICAL:
            return Risk.CRITICAL
    if not command or _NOT_PLAIN.search(command) or any(map(outside, words_of(command))):
        return Risk.HIGH
    looks = all(_only_looks(segment.split()) for segment in command.split("|"))
    return Risk.ROUTINE if looks else Risk.HIGH


def _only_looks(words: list[str]) -> bool:
    if not words:
        return False
    program, arguments = words[0].strip(_EDGES), words[1:]
    if program == "git":
        return words[0] == "git" and _git_looks(arguments)
    options = _LOOKING.get(program)
    if options is None or any(_ANY_PROGRAM.hold(a) or options.hold(a) for a in arguments):
        return False
    match program:
        case "uniq":  # a second file is written
            return sum(not a.startswith("-") for a in arguments) <= 1
        case "printf" | "echo":
            return not any(a.startswith("-") for a in arguments)
        case "find":
            return not _FIND_ACTIONS.search(" ".join(words).lower())
        case _:
            return True


def _git_looks(arguments: list[str]) -> bool:
    while arguments and arguments[0] in _GIT_BEFORE:
        arguments = arguments[1:]
    if not arguments or any(_ANY_PROGRAM.hold(a) or _GIT_OPTIONS.hold(a) for a in arguments):
        return False
    command, rest = arguments[0], arguments[1:]
    match command:
        case "remote":
            return not rest or rest[0] in {"-v", "show"}
        case "branch":
            return _GIT_BRANCH.issuperset(rest)
        case _:
            return command in _GIT_LOOKING
