"""The risk of a shell command, as a guardrail sees it: what stands where a command stands.

A word that is only an argument is data: ``rg mkfs`` makes no file system.
"""

from __future__ import annotations

import enum
import re
from typing import Final

import attrs

__all__ = ["Risk", "command_risk"]


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
        open: whether a glob, a redirection, a substitution or a variable is in it.

    """

    words: tuple[str, ...]
    operator: str
    open: bool


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
    operator, is_open = "", False
    for token in _TOKEN.finditer(command):
        text = token[0]
        match token.lastgroup:
            case "blank":
                pass
            case "operator":
                if words:
                    found.append(_Part(tuple(words), operator, is_open))
                words, operator, is_open = [], text, text in "()"
            case "word":
                quoted = text.startswith("'") and text.endswith("'") and text.count("'") == 2
                is_open = is_open or (not quoted and bool(_EXPANDED.search(text)))
                words.append(_unquoted(text))
            case _:
                is_open = True
    if words:
        found.append(_Part(tuple(words), operator, is_open))
    return found


# What the shell puts something else for, outside single quotes.
_EXPANDED: Final = re.compile(r"[$`]|^[^\"]*[*?\[\]{}~][^\"]*$")


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
_FORK_BOMB: Final = re.compile(r"(\S+)\s*\(\)\s*\{[^}]*\1\s*\|\s*\1\s*&?[^}]*\}")
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

_LOOKING: Final = frozenset(
    "pwd ls cat head tail wc echo printf which whoami date uname hostname id env printenv stat file"
    " du df tree basename dirname realpath readlink sort uniq cut tr rg grep egrep fgrep find fd"
    " diff cmp comm nl seq true false test type jq column rev tac md5sum sha256sum".split()
)

# Options by which one of them writes or runs something; a name stands for all that start so.
_WRITING: Final = {
    "sort": ("-o", "--output", "--compress-program"),
    "find": ("-exec", "-ok", "-delete", "-fprint", "-fls"),
    "fd": ("-x", "-X", "--exec"),
    "rg": ("--pre",),
    "tree": ("-o",),
    "date": ("-s", "--set"),
    "file": ("-C", "--compile"),
    "env": ("",),
    "hostname": ("",),
}
_GIT_LOOKING: Final = frozenset(
    "status log diff show blame rev-parse describe ls-files shortlog reflog".split()
)


def command_risk(command: str) -> Risk:
    """Return the risk of a command; one that is not known to only look is high."""
    if len(command) > _LONGEST:
        return Risk.HIGH
    parts = _parts(command)
    if _FORK_BOMB.search(command) or _is_critical(parts):
        return Risk.CRITICAL
    for found in _SUBSTITUTED.finditer(command):
        if command_risk(found[1] or found[2] or "") is Risk.CRITICAL:
            return Risk.CRITICAL
    if parts and all(_only_looks(part) for part in parts):
        return Risk.ROUTINE
    return Risk.HIGH


def _only_looks(part: _Part) -> bool:
    if part.open or part.operator == "&":
        return False
    program, arguments = part.words[0], part.words[1:]
    if program == "git":
        return bool(arguments) and _git_looks(arguments)
    if program not in _LOOKING or any(_leads_out(a) for a in arguments):
        return False
    writing = _WRITING.get(program, ())
    if program == "uniq" and len([a for a in arguments if not a.startswith("-")]) > 1:
        return False  # the second file is written
    return not any(a.startswith(option) for a in arguments for option in writing)


def _git_looks(arguments: tuple[str, ...]) -> bool:
    return arguments[0] in _GIT_LOOKING and not any(
        a.startswith(("--output", "--ext-diff", "--textconv", "-O")) or _leads_out(a)
        for a in arguments[1:]
    )


def _leads_out(argument: str) -> bool:
    return argument.startswith(("/", "~")) or ".." in argument.split("/")
