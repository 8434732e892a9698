"""A command as a whole, in the texts by which rules that spell it out know it."""

from __future__ import annotations

import enum
import re
from collections.abc import Iterator, Sequence
from itertools import dropwhile, islice
from typing import TYPE_CHECKING, Final

import attrs

from policy import limits
from policy.shell.readings import as_granted, as_written, is_assignment

if TYPE_CHECKING:
    from policy.shell.words import Word
    from policy.shells import Shell

__all__ = ["JOINS", "Spelled", "Whole", "around", "bare_piece", "stages"]

_PIPE: Final = re.compile(r"(?<!\|)\|(?!\|)")
_STAGE: Final = re.compile(r"\\.|'[^']*'|\"(?:\\.|[^\"\\])*\"|\|\||(\|&?)", re.DOTALL)
# What joins commands but a pipe, and where a word begins.
_JOINED: Final = re.compile(r"(?<![<>])&(?!>)|;|\n|\|\|")
_BEGUN: Final = re.compile(r"(?<!\S)\S")
_BESIDES: Final = re.compile(r"[&|;\n#<>]")
# What is joined by one operator between two blanks, each time, and has nothing else of these.
_EVENLY: Final = re.compile(
    r"(?:[^&|;\n#<>\\]+|(?<=[^\s&|] )(?:&&|\|\|?)(?= [^\s&|]))*+",
)
# Where a statement is one of several in another, the text between them is as it stands.
_NESTS: Final = re.compile(r"\b(?:do|then|case|esac)\b|[(){}]|;;|<<(?!<)")
_DOCUMENT: Final = re.compile(r"(?<!<)<<-?[ \t]*(?:'([^'\n]*)'|\"([^\"\n]*)\"|\\?([\w.+-]+))")

_TARGET: Final = r"(?:\\.|'[^']*'|\"(?:\\.|[^\"\\])*\"|[^\s;|&<>'\"\\])+"
_AROUND: Final = re.compile(
    r"(\\.|'[^']*'|\"(?:\\.|[^\"\\])*\")"
    rf"|(?:(?<!\s)\s+)?(?<!\w)[0-9]*(?:&>>?|>>|>[|&]?|<&?)(?![<(])[ \t]*{_TARGET}"
    r"|(?:(?<!\s)\s+)?(&&?|\|\|?|;|\n)\s*|(?<!\S)#[^\n]*",
    re.DOTALL,
)


class Spelled(enum.Enum):
    """Which rules allow a command that they spell out as a whole.

    Attributes:
        APART: none: each of its parts is looked at by itself.
        VERBATIM: one of the same text alone, since nobody looks into it.
        AS_A_WHOLE: one of the same text, or a prefix of it.

    """

    APART = enum.auto()
    VERBATIM = enum.auto()
    AS_A_WHOLE = enum.auto()


@attrs.frozen
class Whole:
    """All of a command. Its texts are made once a rule may speak of them.

    Attributes:
        spelled: which rules allow it that spell it out.
        astray: whether it goes to several folders, so that no rule speaks of its text as it is.
        several: whether it has several simple commands.
        doubtful: whether the host asks for it whatever is allowed, unless all commands are.
        told: its *bare* text, where its pieces told that.
    """

    _text: str
    _first: Sequence[Word]  # its first simple command
    _shell: Shell
    spelled: Spelled
    astray: bool
    several: bool
    doubtful: bool
    told: str | None = attrs.field(default=None, eq=False)

    @property
    def piped(self) -> bool:
        """Whether it may have pipes."""
        return self.several and "|" in self._text and _PIPE.search(self._text) is not None

    @property
    def _is_even(self) -> bool:
        """Whether its operators stand as they do where rules are asked for it."""
        return _EVENLY.fullmatch(self._text) is not None

    @property
    def texts(self) -> tuple[str, ...]:
        """Its text, and the same with its pipes as rules have them."""
        whole = self._text.strip(" \t\n")
        if self.astray or whole.startswith("$"):
            return ()  # no rule spells out a program that nobody knows
        if not self.piped or self._is_even:
            return (whole,)
        told = _without_documents(whole)
        piped = " | ".join(piece.strip(" \t\n") for piece in _PIPE.split(told))
        return (whole, piped) if told is whole else (piped,)

    @property
    def stages(self) -> Iterator[str]:
        """Its stages of several commands, by which rules that deny or ask know them.

        Each as it stands and without what is redirected, from every word of its first command
        on: nobody looks which of these lead others.
        """
        for stage in stages(_without_documents(self._text)) if self.piped else ():
            stripped = stage.strip(" \t\n")
            if _JOINED.search(stripped) is None:
                continue
            alone, spaced = _AROUND.sub(_alone, stripped), _AROUND.sub(_without, stripped)
            for text in dict.fromkeys((stripped, alone.strip(), spaced.strip())):
                joined = _JOINED.search(text)
                starts = _BEGUN.finditer(text, 0, joined.start() if joined else 0)
                for begun in islice(starts, limits.NESTING):
                    yield text[begun.start() :]

    @property
    def bare(self) -> str:
        """Its text without what is redirected, comments, and what stands around its first program.

        So rules that deny or ask spell out what is joined; "" where it is nothing else.
        """
        if self.told is not None:
            return self.told
        if not _BESIDES.search(self._text):
            return ""
        bare = _without_documents(self._text)
        if _may_nest(bare) and _NESTS.search(bare):
            return bare if bare != self._text else ""
        bare = bare if self._is_even else _AROUND.sub(_without, bare)
        bare = bare.strip().removeprefix(around(self._first, self._shell)).strip()
        return bare if bare != self._text or not self.texts else ""


def around(words: Sequence[Word], shell: Shell) -> str:
    """Return what stands around the program of a command, in front of it."""
    program = [*dropwhile(is_assignment, words)]
    return as_written(words[: len(words) - len(as_granted(program, shell))]) if program else ""


def bare_piece(text: str) -> str | None:
    """Return what a simple command adds to the bare text of a whole.

    None where it looks like more than one.
    """
    if _may_nest(text) and _NESTS.search(text):
        return None
    return _AROUND.sub(_without, text).strip()


# What joins commands, as it stands in the bare text of a whole.
JOINS: Final = {"&&": " && ", "||": " || ", "|": " | ", ";": " ; ", "\n": " "}


def stages(text: str) -> list[str]:
    """Return what stands between the pipes of a text, quoted ones left alone."""
    pipes = [found.span() for found in _STAGE.finditer(text) if found[1]]
    starts, ends = [0, *(end for _, end in pipes)], [*(start for start, _ in pipes), len(text)]
    return [text[start:end] for start, end in zip(starts, ends, strict=True)]


def _may_nest(text: str) -> bool:
    # An expression looks at every letter for the first of a word.
    return any(each in text for each in _NESTING)


_NESTING: Final = ("do", "then", "case", "esac", "(", ")", "{", "}", ";;", "<<")


def _without_documents(text: str) -> str:
    """Return a text without those that it puts on the input of commands: all, or none."""
    if "<<" not in text:
        return text
    kept: list[str] = []
    ends: list[str] = []
    for line in text.split("\n"):
        if ends:
            if line.lstrip("\t") == ends[0]:
                del ends[0]
            continue
        ends = ["".join(names) for names in _DOCUMENT.findall(line)]
        kept.append(_DOCUMENT.sub("", line))
    return text if ends else "\n".join(kept)


def _alone(found: re.Match[str]) -> str:
    """Return what is quoted and what joins as it stands, and nothing of the rest."""
    return found[0] if found[2] else found[1] or ""


def _without(found: re.Match[str]) -> str:
    """Return what is quoted as it stands, what joins between blanks, and nothing of the rest."""
    return found[1] or (f" {found[2].strip()} ".replace("  ", " ") if found[2] else "")
