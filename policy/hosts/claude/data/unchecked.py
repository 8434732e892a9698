"""The programs of ``unchecked.toml``, whose arguments the host does not check."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from policy.hosts.claude.data import each_name, expression, table
from policy.hosts.claude.data.shell import COUNTED

_DATA: Final[Mapping[str, Any]] = table("unchecked")

# What sets one of these, or takes it away, changes how a shell reads what follows.
GUARDED: Final = "|".join([*_DATA["guarded"], *sorted(COUNTED)])

UNCHECKED_WRAPPERS: Final = tuple(_DATA["wrappers"].split())
SETTLED: Final = frozenset(_DATA["settled"].split())
UNEXPANDED: Final = SETTLED | frozenset(_DATA["unexpanded"].split())

_REFUSED: Final = (*_DATA["evaluating"].split(), *_DATA["of_zsh"].split())
_NAMED: Final = {**_DATA["expressions"], "GUARDED": GUARDED}
_ARGUMENTS: Final = each_name(_DATA["arguments"])
_SOME_ARGUMENT: Final = each_name(_DATA["some_argument"])


def _unchecked(name: str) -> str:
    found = [expression(_ARGUMENTS[name], _NAMED)] if name in _ARGUMENTS else []
    if name in _SOME_ARGUMENT:
        found.append(rf"(?:.*\0)?(?:{expression(_SOME_ARGUMENT[name], _NAMED)})(?:\0.*)?")
    return f"(?s:{'|'.join(found)})"


# Program -> what its arguments match, with a NUL between them.
UNCHECKED: Final = {
    **dict.fromkeys((*_DATA["keywords"].split(), *_REFUSED), "(?s:.*)"),
    **dict.fromkeys(UNCHECKED_WRAPPERS, "(?s:.+)"),
    **{name: _unchecked(name) for name in (*_ARGUMENTS, *_SOME_ARGUMENT)},
}

# The same as patterns of commands, as far as the name of a program tells.
EXACT_ONLY: Final = (
    *(pattern for name in _REFUSED for pattern in (name, name + " *")),
    *(name + " *" for name in UNCHECKED_WRAPPERS),
    *_DATA["exact_only"],
)
