"""Which commands are plain: one program and words without anything a shell acts on."""

from __future__ import annotations

from functools import cache

from policy.core.values import TYPE_CHECKING, Final
from policy.patterns.automaton import NO_MATCH, Automaton, has_half
from policy.patterns.tokens import CONTROLS, Gap, OneOf, Token

if TYPE_CHECKING:
    from policy.commands.knowledge import Shell

__all__ = ["BOXES", "KEYWORDS", "SHELLS", "compound", "is_plain"]


KEYWORDS: Final = frozenset(
    "if then elif else fi for while until do done case esac select function coproc time"
    " ! { }".split()
)
SHELLS: Final = frozenset("bash sh zsh dash ksh mksh ash hush rbash".split())
BOXES: Final = frozenset({"busybox", "toybox"})

_ACTED_ON = frozenset(";&|<>()`$\\{}\"'#\t\n") | CONTROLS


@cache
def compound(shell: Shell) -> tuple[tuple[Token, ...], ...]:
    """Return patterns of every command that `read_command` does not return as it stands.

    They are for words: PART is text without a blank. Whoever matches none of
    them is one part: a program, and words without anything a shell acts on.
    """
    programs = sorted(shell.wrapping.names | shell.programs.keys() | KEYWORDS)
    return (
        (),
        (Gap.ANY, OneOf(_ACTED_ON), Gap.ANY),
        (" ", Gap.ANY),
        (Gap.ANY, " "),
        (Gap.ANY, "  ", Gap.ANY),
        (Gap.PART, OneOf(frozenset("/=!~*?[]^")), Gap.ANY),  # in the first word
        *((program,) for program in programs),
        *((program + " ", Gap.ANY) for program in programs),
        *shell.compound,
    )


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
