"""Which of two hosts runs no more commands unasked: one mode edits files where others ask."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

import attrs

from policy.programs import Program, Programs
from policy.shells import Shell

__all__ = ["runs_no_more"]


@lru_cache(maxsize=64)  # a host has two or three
def runs_no_more(one: Shell, other: Shell) -> bool:
    """Return whether all commands that *one* runs where no rule speaks of them *other* does too.

    And whether they read commands alike in all else. False where that is not plain.
    """
    if one.traced or attrs.evolve(one, programs=other.programs) != other:
        return False
    return _within(one.programs, other.programs)


def _within(some: Programs, others: Programs) -> bool:
    return some == others or (
        some.keys() == others.keys() and all(_is_within(some[name], others[name]) for name in some)
    )


def _is_within(one: Program, other: Program) -> bool:
    """Return whether each way to call a program that *one* knows to do no harm *other* knows."""
    if one == other:
        return True
    known = _ways(one)
    alike = not known or all(getattr(one, name) == getattr(other, name) for name in _OF_ALL_FORMS)
    listed = not known or (one.flags is None) is (other.flags is None)
    return (
        alike
        and listed
        and known <= _ways(other)
        and one.opening == other.opening
        and one.subcommands.keys() == other.subcommands.keys()
        and all(_is_within(each, other.subcommands[n]) for n, each in one.subcommands.items())
    )


# What holds of a program in whichever form it is called, beside the files that it opens.
_OF_ALL_FORMS: Final = ("texts", "piped", "spelled", "spelling")


def _ways(program: Program) -> set[Program]:
    """Return the forms of a program that do no harm, each by itself."""
    forms = (attrs.evolve(form, forms=(), subcommands={}) for form in (program, *program.forms))
    return {form for form in forms if form.harmless}
