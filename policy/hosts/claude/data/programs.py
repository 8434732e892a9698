"""The programs and wrappers of ``programs.toml`` and ``wrappers.toml``."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, Final

from policy.commands.knowledge import Files, Program, Programs, Wrapper, Wrappers
from policy.core.values import evolve
from policy.hosts.claude.data import each_name, expression, table
from policy.hosts.claude.data.unchecked import SETTLED, UNCHECKED, UNEXPANDED

_FILES: Final = {"reads", "writes", "uproots"}
_OPTIONS: Final = {"letters", "names", "values", "counts", "attached", "numbered", "also", "flags"}


class _Reader:
    """Reads tables whose expressions may name others, and that may be like others."""

    def __init__(self, name: str) -> None:
        read = table(name)
        self.expression = partial(expression, named=read.get("expressions", {}))
        self._attributes: Mapping[str, str] = read["attributes"]
        self._tables = dict(read.get("templates", {})) | each_name(read.get("programs", {}))

    def full(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Return *given* with what it inherits from the program that it is `like`."""
        like = given.get("like")
        above = self.full(self._tables[like]) if like is not None else {}
        return {**above, **{key: value for key, value in given.items() if key != "like"}}

    def program(self, given: Mapping[str, Any]) -> Program:
        """Return the program that a table describes."""
        given = self.full(given)
        values: dict[str, Any] = {}
        for key, value in given.items():
            name = self._attributes.get(key, key)
            if key in _OPTIONS or key == "pairs":
                continue
            if key == "subcommands":
                values[name] = {n: self.program(each) for n, each in each_name(value).items()}
            elif key == "forms":
                values[name] = tuple(map(self.program, value))
            elif key in _FILES:
                values[name] = Files(value)
            else:
                values[name] = value if isinstance(value, bool | int) else self.expression(value)
        if _OPTIONS & given.keys():
            values |= self._options(given)
        return Program(**values)

    def wrapper(self, given: Mapping[str, Any]) -> Wrapper:
        """Return the wrapper that a table describes."""
        values: dict[str, Any] = {}
        for key, value in self.full(given).items():
            if key == "values":
                values["values"] = _either(value)
            elif key == "operands":
                values[key] = tuple(map(self.expression, value))
            else:
                name = self._attributes.get(key, key)
                values[name] = value if isinstance(value, bool) else self.expression(value)
        return Wrapper(**values)

    def _options(self, given: Mapping[str, Any]) -> dict[str, str]:
        """Return the expressions of options that a table lists by their names."""
        letters, attached = given.get("letters", ""), given.get("attached", "")
        names = "|".join(given.get("names", "").split())
        values, counts = _either(given.get("values", "")), _either(given.get("counts", ""))
        flags = (
            f"-[{letters}]+" if letters else "",
            f"--({names})" if names else "",
            f"({values})=[^-].*" if values else "",
            f"({counts})=[0-9]+" if counts else "",
            f"-[{attached}][0-9]+" if attached else "",
            self.expression(given.get("also", "")),
            "-[0-9]+" if given.get("numbered") else "",
            self.expression(given.get("flags", "")),
        )
        pairs = (f"({counts}) [0-9]+" if counts else "", self.expression(given.get("pairs", "")))
        found = {"flags": "|".join(filter(None, flags)), "pairs": "|".join(filter(None, pairs))}
        return {**found, "values": values} if values else found


def _either(names: str) -> str:
    """Return an expression for options: those of one letter have one dash."""
    letters = "".join(name for name in names.split() if len(name) == 1)
    words = "|".join(name for name in names.split() if len(name) > 1)
    both = (f"-[{letters}]" if letters else "", f"--({words})" if words else "")
    return "|".join(filter(None, both))


def _programs(section: str) -> dict[str, Program]:
    reader = _Reader("programs")
    given = table("programs")[section]
    return each_name({names: reader.program(each) for names, each in given.items()})


_KNOWN: Final = _programs("programs")
_UNKNOWN: Final = Program(harmless=False)

# Those that run without a rule, and what those that do not are known to do with files.
READ_ONLY_PROGRAMS: Final = Programs(
    _KNOWN
    | {
        name: evolve(
            _KNOWN.get(name, _UNKNOWN),
            unchecked=UNCHECKED.get(name),
            settled=name in SETTLED,
            unexpanded=name in UNEXPANDED,
        )
        for name in sorted(UNCHECKED.keys() | UNEXPANDED)
    }
)

# The same in the mode that accepts edits.
EDITING_PROGRAMS: Final = Programs({**READ_ONLY_PROGRAMS, **_programs("editing")})

# The wrappers that rules which allow unwrap, and the names of those that others unwrap too.
_WRAPPER: Final = _Reader("wrappers").wrapper
_GRANTING: Final = each_name(table("wrappers")["granting"])
GRANTING: Final = Wrappers({name: _WRAPPER(each) for name, each in _GRANTING.items()})
WRAPPING: Final = frozenset(table("wrappers")["denying"]["names"].split()) | frozenset(GRANTING)
