"""Which commands are plain: one program and words without anything a shell acts on."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from policy.core.values import TYPE_CHECKING, Final
from policy.patterns.automaton import NO_MATCH, Automaton, has_half
from policy.patterns.tokens import CONTROLS, Gap, OneOf, Token

if TYPE_CHECKING:
    from policy.commands.knowledge import Shell

__all__ = ["BOXES", "KEYWORDS", "ODD_BLANKS", "SHELLS", "compound", "is_plain"]


KEYWORDS: Final = frozenset(
    "if then elif else fi for while until do done case esac select function coproc time"
    " ! { }".split()
)
SHELLS: Final = frozenset("bash sh zsh dash ksh mksh ash hush rbash".split())
BOXES: Final = frozenset({"busybox", "toybox"})

# What looks like a blank and is none to a shell.
ODD_BLANKS: Final = frozenset(
    "\xa0\xad\u1680\u180e\u2028\u2029\u202f\u205f\u2060\u3000\ufeff"
    + "".join(map(chr, [*range(0x2000, 0x2010), *range(0x202A, 0x202F), *range(0x2061, 0x206A)]))
)

_ACTED_ON = frozenset(";&|<>()`$\\{}\"'#\t\n") | CONTROLS


def _shells(shell: Shell) -> frozenset[str]:
    return SHELLS | BOXES if shell.kinds.scripted else frozenset()


@cache
def compound(shell: Shell) -> tuple[tuple[Token, ...], ...]:
    """Return patterns of every command that `read_command` does not return as it stands.

    They are for words: PART is text without a blank. Whoever matches none of
    them is one part: a program, and words without anything a shell acts on.
    """
    programs = sorted(shell.wrapping.names | shell.programs.keys() | KEYWORDS | _shells(shell))
    return (
        (),
        (Gap.ANY, OneOf(_ACTED_ON), Gap.ANY),
        *(_suspicious() if shell.control else ()),
        (" ", Gap.ANY),
        (Gap.ANY, " "),
        (Gap.ANY, "  ", Gap.ANY),
        *(((Gap.ANY, OneOf(ODD_BLANKS), Gap.ANY),) if shell.control else ()),
        (Gap.PART, OneOf(frozenset("/=!~*?[]^")), Gap.ANY),  # in the first word
        *((program,) for program in programs),
        *((program + " ", Gap.ANY) for program in programs),
        *((*_cased(program), Gap.PART, " ", Gap.ANY) for program in sorted(_shells(shell))),
        *(_named_for_windows() if shell.control else ()),
        *(_traced(shell) if shell.traced else ()),
    )


def _suspicious() -> Iterator[tuple[Token, ...]]:
    """Yield patterns of plain commands that are read for what nobody vouches for."""
    yield (Gap.ANY, " =", Gap.ANY)
    yield (Gap.ANY, "~[", Gap.ANY)
    yield ("-", Gap.ANY)
    yield (Gap.ANY, "/proc/", Gap.ANY, "/environ", Gap.ANY)


def _named_for_windows() -> Iterator[tuple[Token, ...]]:
    """Yield patterns of programs whose names have an ending that rules do not speak of."""
    ending: tuple[Token, ...] = (".", *_cased("exe"))
    yield (Gap.PART, *ending)
    yield (Gap.PART, *ending, " ", Gap.ANY)


def _cased(name: str) -> Iterator[Token]:
    return (OneOf(frozenset({letter, letter.upper()})) for letter in name)


def _traced(shell: Shell) -> Iterator[tuple[Token, ...]]:
    """Yield patterns of plain commands that are read all the same, for the files they may name."""
    yield (Gap.ANY, " ", Gap.ANY)
    yield (Gap.ANY, OneOf(frozenset("/~")), Gap.ANY)
    for program in sorted(shell.kinds.interpreters | shell.kinds.movers):
        yield (program,)


@cache
def _compound(shell: Shell) -> Automaton:
    return Automaton(compound(shell), " ")


def is_plain(text: str, shell: Shell) -> bool:
    """Return whether no pattern of `compound` matches *text*."""
    # Those of letters and programs need no walk.
    if not _ACTED_ON.isdisjoint(text) or text.partition(" ")[0] in shell.programs.known:
        return False
    if has_half(text):
        return False
    return _compound(shell).first(text) == NO_MATCH
