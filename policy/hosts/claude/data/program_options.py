"""How tables of programs spell out the options that a host knows of one."""

from __future__ import annotations

from typing import Any

from policy.programs import Program

__all__ = ["options"]


def options(
    letters: str = "",
    names: str = "",
    *,
    values: str = "",
    counts: str = "",
    attached: str = "",
    joined: bool = True,
    pairs: str = "",
    also: str = "",
    **rest: Any,  # noqa: ANN401 - whatever a program has besides
) -> Program:
    """Return a program with which a host takes these options, and no other.

    Args:
        letters: options of one letter; several of them may be one word.
        names: long options, without the dashes.
        values: options with a value, as a word of its own or behind ``=``; those of
            one letter begin with one dash.
        counts: the same where the value is a number.
        attached: letters whose value may be in the same word, if it is a number.
        joined: whether a value may stand behind ``=``.
        pairs: an expression for an option, a blank and its value.
        also: an expression for others.
        rest: what else is known of the program.

    """
    some, numbers = _either(values), _either(counts)
    flags = [
        f"-[{letters}]+" if letters else "",
        f"--({names.replace(' ', '|')})" if names else "",
        f"({some})=[^-].*" if some and joined else "",
        f"({numbers})=[0-9]+" if numbers and joined else "",
        f"-[{attached}][0-9]+" if attached else "",
        also,
    ]
    both = filter(None, (f"({numbers}) [0-9]+" if numbers else "", pairs))
    return Program(flags="|".join(filter(None, flags)), values=some, pairs="|".join(both), **rest)


def _either(names: str) -> str:
    letters = "".join(name for name in names.split() if len(name) == 1)
    words = "|".join(name for name in names.split() if len(name) > 1)
    both = (f"-[{letters}]" if letters else "", f"--({words})" if words else "")
    return "|".join(filter(None, both))
