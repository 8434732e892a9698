"""Scripts that stand in an argument and remove files, as Claude Code 2.1.329 looks for them.

It looks at the text alone: for a word that is `rm` or `rmdir` where a program may stand, or
beside what runs others. Only such a script is judged as the command that it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import dropwhile
from typing import TYPE_CHECKING, Final

import attrs

from policy.shell.parts import DIFFER, Command, Redirection
from policy.shell.readings import as_written
from policy.shell.targets import GUARDED
from policy.shell.wrappers import basename

if TYPE_CHECKING:
    from policy.shell.words import Script, Word
    from policy.shells import Shell

__all__ = ["judged", "lacks_arguments", "removes", "seems_to_remove"]

_RUNNERS: Final = frozenset(
    "sudo doas exec command env nice nohup busybox time timeout stdbuf setsid ionice pkexec"
    " runuser eval xargs do then else elif if while until ! { coproc builtin noglob toybox trap"
    " watch flock chroot script".split()
)
_QUOTED: Final = re.compile(r"""\\[\s\S]|'[^']*'|"(?:[^"\\]|\\.)*\"""")
_PARTING: Final = re.compile(r"[\s;&|()`{}!]")
_DUPLICATED: Final = re.compile(r"(?<!\d)\d*[<>]&(?:\d+-?|-)(?![^\s;&|()])")
_OUTPUTS: Final = re.compile(r"(?<!\d)\d*[<>]&|&>>?|>\|")
_QUOTES: Final = re.compile(r"""\$(?=['"])|['"\\]""")
_STATEMENTS: Final = re.compile(r"[;&|()`{}\n!]|\$\(")
_REDIRECTS: Final = re.compile(r"\d*[<>]")
_REDIRECTS_NEXT: Final = re.compile(r"\d*[<>]+")
_ASSIGNS: Final = re.compile(r"\w+\+?=")
_REMOVAL: Final = re.compile(r"(?:\w*=)?rm(?:dir)?", re.IGNORECASE)
_SET_TO_REMOVAL: Final = re.compile(r"\w+=(?:\S*/)?rm(?:dir)?", re.IGNORECASE)
_OPTION: Final = re.compile(r"-[A-Za-z]*c[A-Za-z]*|-(?:exec|ok)(?:dir)?")
_GIVEN: Final = re.compile(r"\$\{?([1-9@*])")


def removes(script: str) -> bool:
    """Return whether a script names a program that removes files where one may stand."""
    return any(map(_removes, _statements(script)))


def judged(
    inside: Command, shell: Shell, *, whole: bool
) -> tuple[tuple[str, ...], list[Redirection]]:
    """Return what is doubtful of a script in an argument, and the files that it opens.

    Args:
        inside: the script as it was read.
        shell: what the host knows of commands.
        whole: whether all of it is judged; else nobody looks at more than what it removes.

    """
    readings = tuple(
        reading
        for each in inside.parts
        for reading in (each.text, *each.readings, *each.doubtful, *each.feared)
        if whole or basename(reading.partition(" ")[0]) in shell.kinds.scripted
    )
    # Nobody knows what it removes where no rule may allow it: that is asked for here too.
    kept = (GUARDED,) if whole and not shell.traced else ()
    tool = shell.files.removes
    removed = [f for f in inside.redirections if f.tool == tool or f in kept]
    others = [f for f in inside.redirections if whole and f not in removed]
    return readings, [*removed, *(attrs.evolve(f, scripted=True, part=None) for f in others)]


def seems_to_remove(words: Sequence[Word], script: Script) -> bool:
    """Return whether a command that not all read alike seems to run a script that removes."""
    text = as_written(words)
    differs = any(doubt.why == DIFFER and doubt.text in text for doubt in script.doubts)
    return differs and removes(text)


def lacks_arguments(script: str, words: Sequence[Word]) -> bool:
    """Return whether a script names arguments that *words*, which run it, do not tell."""
    named = {*_GIVEN.findall(script)}
    if not named:
        return False
    behind = [*dropwhile(lambda word: word.plain != script, words)][2:]
    return "'" in script or not behind or any(int(each) > len(behind) for each in named - {*"@*"})


def _statements(script: str) -> Iterator[list[str]]:
    """Yield the words of what seems to be its statements, with what is quoted in one and not."""
    for text in (_QUOTED.sub(_joined, script), script):
        bare = _QUOTES.sub("", _OUTPUTS.sub(">", _DUPLICATED.sub(" ", text)))
        for statement in _STATEMENTS.split(bare):
            yield [*_words(re.split("[ \t]+", statement.strip(" \t")))]


def _joined(quoted: re.Match[str]) -> str:
    return quoted[0] if quoted[0][0] == "\\" else _PARTING.sub("\0", quoted[0])


def _words(words: list[str]) -> Iterator[str]:
    """Yield words but for redirections, and assignments in front of all others."""
    before, leads = "", True
    for word in words:
        leads = leads and _ASSIGNS.match(word) is not None
        aside = _REDIRECTS.match(word) or _REDIRECTS_NEXT.fullmatch(before)
        if word and not leads and not aside:
            yield word
        before = word


def _removes(words: list[str]) -> bool:
    runs = [_name(word).lower() in _RUNNERS for word in words]
    beside = any(runs) or any(map(_OPTION.fullmatch, words))
    for at, word in enumerate(words):
        removal = _REMOVAL.fullmatch(_name(re.sub(r"\d*[<>].*", "", word, flags=re.DOTALL)))
        first = at == 0 or runs[at - 1]
        if (removal and (first or beside)) or (first and word[0] == "$"):
            return True
        if _SET_TO_REMOVAL.fullmatch(word):
            return True
    return False


def _name(word: str) -> str:
    return re.split(r"[\\/]", word)[-1]
