"""What runs behind a program that runs another: `timeout 5 make`, `env -S 'make x'`.

A host knows such programs by their options (`policy.programs.Wrapper`). Where one is
*loose*, rules that deny look for the program behind it whatever options it has.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from policy import limits
from policy.shell.words import ASSIGNMENT, Word

if TYPE_CHECKING:
    from policy.programs import Wrapper
    from policy.shells import Shell

__all__ = [
    "basename",
    "behind_options",
    "behind_wrapper",
    "carries_files",
    "expression",
    "innermost",
    "is_quiet",
    "unwrapped",
]


@lru_cache(maxsize=1024)
def expression(text: str) -> re.Pattern[str]:
    """Return the expression that data of a host spells out."""
    return re.compile(text)


_PROGRAM: Final = re.compile(r"(?:.*[/\\])?(.*?)(?:\.exe)?", re.DOTALL | re.IGNORECASE)


def basename(program: str) -> str:
    """Return the name of a program without its folder, and without its ending on Windows."""
    if "/" not in program and "\\" not in program and program[-4:].lower() != ".exe":
        return program
    match = _PROGRAM.fullmatch(program)
    return match[1] if match else program


def behind_wrapper(
    words: Sequence[Word], start: int, wrapper: Wrapper, *, quoted: bool = True, ends: bool = False
) -> int | None:
    """Return the number of the program that the wrapper at *start* runs; None of none known.

    Options and operands are taken in quotes where *quoted* says so, and with *ends* ``--``
    may end those of any wrapper.
    """
    if wrapper.loose:
        index, script = _behind_loosely(words, start, wrapper, wide=None)
        return index if index < len(words) and not (script and index == start) else None
    behind = behind_options(words, start, wrapper, quoted=quoted, ends=ends)
    return behind if behind is not None and behind < len(words) else None


def behind_options(
    words: Sequence[Word], start: int, wrapper: Wrapper, *, quoted: bool, ends: bool = False
) -> int | None:
    """Return the number of the word behind all of a wrapper; None where that is not known."""
    index, last, ended = start + 1, len(words) - 1, False
    texts = [word.plain if quoted else word.raw for word in words]
    while index <= last and texts[index].startswith("-"):
        option = texts[index]
        if option == "--" and (wrapper.ends or ends):
            ended = True
            break
        if wrapper.single and index > start + 1:
            return None
        if wrapper.flags and expression(wrapper.flags).fullmatch(option):
            index += 1
        elif (
            wrapper.values
            and index < last
            and expression(wrapper.values).fullmatch(option)
            and expression(wrapper.value).fullmatch(texts[index + 1])
        ):
            index += 2
        else:
            return None
    if wrapper.needs and index == start + 1:
        return None
    index += ended
    for operand in wrapper.operands:
        if index <= last and expression(operand).fullmatch(texts[index]):
            index += 1
        elif not wrapper.optional:
            return None
    while wrapper.assignments and index <= last and ASSIGNMENT.match(texts[index]):
        index += 1
    return index


def carries_files(words: Sequence[Word], end: int, shell: Shell) -> bool:
    """Return whether the host looks for the files of the program at *end*, behind wrappers."""
    start = 0
    while start < end and (ASSIGNMENT.match(words[start].raw) or words[start].raw == "!"):
        start += 1
    while start < end:
        wrapper = shell.wrapping.carrying.known.get(basename(words[start].plain))
        if wrapper is None:
            return not shell.wrapping.carrying.known
        behind = behind_wrapper(words, start, wrapper, ends=True)
        if behind is None:
            return False
        start = behind
    return True


_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\+?=")
_CLUSTER: Final = re.compile(r"-[A-Za-z]+")


def _behind_loosely(
    words: Sequence[Word], start: int, wrapper: Wrapper, *, wide: bool | None
) -> tuple[int, str]:
    """Return the number of the word behind a wrapper, and the command it is given as a text.

    Read *wide* or not as by rules that deny, or, with None, as by whoever looks for files.
    Where there is such a text, the number is that of the word that holds it, or that of the
    wrapper where it is only part of a word.
    """
    index, last, taken = start + 1, len(words) - 1, False
    operand = wrapper.operands[0] if wrapper.operands else ""
    while index <= last:
        text = words[index].plain
        is_operand = bool(operand) and expression(operand).fullmatch(text) is not None
        if text == "--":
            index += 1
            if not taken and index < last and operand and _is(operand, words[index].plain):
                taken = True
                index += 1
                continue
            break
        if wrapper.scripts:
            found = _script(words, index, wrapper)
            if found is not None:
                at, script = found
                if script:
                    return (start if at == index else at), script
                index = at + 1
                continue
        if text.startswith("-") and (text != "-" or not operand):
            if wrapper.idle and _is(wrapper.idle, text):
                return len(words), ""
            takes = _is(wrapper.values, text) or (wide and _takes_at_end(text, wrapper))
            index += 2 if takes and index < last else 1
        elif _assigns(words[start].plain, text, wrapper, wide=wide):
            index += 1
        elif not taken and is_operand and index < last:
            taken = True
            index += 1
        else:
            break
    return index, ""


def _is(known: str, text: str) -> bool:
    return bool(known) and expression(known).fullmatch(text) is not None


def _takes_at_end(text: str, wrapper: Wrapper) -> bool:
    """Whether the last letter of several is the first of them that takes a value."""
    if not _CLUSTER.fullmatch(text):
        return False
    takes = [_is(wrapper.values, f"-{letter}") for letter in text[1:]]
    return takes.index(True) == len(takes) - 1 if True in takes else False


def _assigns(program: str, text: str, wrapper: Wrapper, *, wide: bool | None) -> bool:
    if wide is None:
        return wrapper.assignments and "=" in text
    if not wide:
        return wrapper.assignments and _NAME.match(text) is not None
    return "=" in text and (wrapper.assignments or (basename(program) == "sudo" and text[0] != "/"))


def _script(words: Sequence[Word], index: int, wrapper: Wrapper) -> tuple[int, str] | None:
    """Return where the command of an option stands, and its text; None if it is no such option."""
    text = words[index].plain
    if _is(wrapper.scripts, text) and index + 1 < len(words):
        return index + 1, words[index + 1].plain.strip()
    name, joined, value = text.partition("=")
    if joined and name and _is(wrapper.scripts, name):
        return index, value.strip()
    if len(text) > 2 and text[1] != "-" and _is(wrapper.scripts, text[:2]):
        return index, text[2:].strip()
    return None


def unwrapped(words: Sequence[Word], shell: Shell, *, wide: bool) -> Iterator[Sequence[Word]]:
    """Yield a command from each assignment on that its wrappers lead to, then what runs in the end.

    So rules that deny look for programs. Read *wide*, several letters behind one dash may end in
    one with a value, and `sudo` takes assignments.
    """
    for _ in range(limits.NESTING):
        while words and _NAME.match(words[0].plain):
            yield words
            words = words[1:]
        wrapper = shell.wrapping.denying.known.get(basename(words[0].plain)) if words else None
        if wrapper is None or wrapper.unruled:
            break
        if not wrapper.loose:
            behind = behind_options(words, 0, wrapper, quoted=True)
            if behind is None:
                break
            words = words[behind:]
            continue
        index, script = _behind_loosely(words, 0, wrapper, wide=wide)
        if index >= len(words) and not script:
            break
        words = [Word(one, one) for one in script.split()] if script else words[index:]
    yield words


def innermost(words: Sequence[Word], shell: Shell, *, wide: bool) -> Sequence[Word]:
    """Return the last that `unwrapped` yields."""
    return deque(unwrapped(words, shell, wide=wide), maxlen=1)[0]


def is_quiet(around: Sequence[Word], shell: Shell, *, moves: bool) -> bool:
    """Whether a harmless program, perhaps one that *moves*, is as harmless behind these words."""
    found = [shell.wrapping.granting.known.get(word.plain) for word in around]
    wrappers = [wrapper for wrapper in found if wrapper is not None]
    if any(not wrapper.quiet for wrapper in wrappers):
        return False
    if not any(wrapper.bare for wrapper in wrappers):
        return True
    # It runs programs, and nothing that is part of a shell.
    if moves or not wrappers[-1].bare:
        return False
    return not any(word.plain.startswith("-") for word in around)
