"""Shells that are given a script by an option: `bash -c SCRIPT`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from policy.shell.words import Word

__all__ = ["BOXES", "SHELLS", "script_of", "shell_of", "unread_options"]

# Programs that are given a script by an option, and those that are each of them.
SHELLS: Final = frozenset("bash sh zsh dash ksh mksh ash hush rbash".split())
BOXES: Final = frozenset({"busybox", "toybox"})
_VERSION: Final = re.compile(r"-\d+(?:\.\d+)*\Z")
_NAMED: Final = re.compile(
    r"--.*|-(?:login|posix|noprofile|norc|noediting|verbose|restricted|debugger|wordexp"
    r"|pretty-print|help|version|rcfile|init-file|dump-(?:po-)?strings)"
)

_OWN_LETTERS: Final = re.compile(r"[abcefhiklmnoprstuvxBCDEHIOPT]*")
_SH: Final = frozenset({"sh", "bash", "rbash"})
_GIVES: Final = re.compile(r"-[A-Za-z]*c")
_KNOWN_NAME: Final = re.compile(
    r"--?(?:login|posix|noprofile|norc|noediting|verbose|restricted|debugger|dump-(?:po-)?strings"
    r"|wordexp|pretty-print|help|version|rcfile|init-file)"
)


def shell_of(name: str) -> str:
    """Return the name of a shell without its folder, its version and capital letters."""
    return _VERSION.sub("", name.rsplit("/", 1)[-1].lower())


def script_of(words: Sequence[Word]) -> str | None:
    """Return the script of ``bash -c SCRIPT``: behind its options, each with its values."""
    if len(words) > 1 and shell_of(words[0].plain) in BOXES and shell_of(words[1].plain) in SHELLS:
        words = words[1:]
    if len(words) < 3 or shell_of(words[0].plain) not in SHELLS:
        return None
    taken, index = False, 1
    while index < len(words):
        text = words[index].plain
        index += 1
        if text in ("-", "--"):
            break
        if len(text) < 2 or text[0] not in "-+":
            index -= 1
            break
        if _NAMED.fullmatch(text):
            index += text.endswith("file")
        else:
            taken |= text[0] == "-" and "c" in text
            index += text.count("o") + text.count("O")
    return words[index].plain if taken and index < len(words) else None


def unread_options(words: Sequence[Word]) -> str | None:
    """Return all that a shell is given, where hosts do not know an option of it; else None.

    Any of it may be a script then, where an option says that there is one.
    """
    if len(words) > 1 and shell_of(words[0].plain) in BOXES and shell_of(words[1].plain) in SHELLS:
        words = words[1:]
    name = shell_of(words[0].plain)
    if name not in SHELLS:
        return None
    given = [word.plain for word in words[1:]]
    if not any(_GIVES.match(text) for text in given):
        return None
    return " ".join(given) if _has_unknown_option(name, given) else None


def _has_unknown_option(name: str, given: Sequence[str]) -> bool:
    index = 0
    while index < len(given):
        text = given[index]
        index += 1
        if text in ("-", "--") or len(text) < 2 or text[0] not in "-+":
            return False
        if name in _SH and _KNOWN_NAME.fullmatch(text):
            index += text.endswith("file")
            continue
        if text.startswith("--") or (name in _SH and not _OWN_LETTERS.fullmatch(text[1:])):
            return True
        if name.endswith("ksh") and re.search("[oO].", text):
            return True
        index += text.count("o") + text.count("O")
    return False
