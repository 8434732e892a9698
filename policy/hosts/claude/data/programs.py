"""The programs and wrappers of ``programs.toml`` and ``wrappers.toml``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from policy.commands.knowledge import Files, Program, Programs, Wrapper, Wrappers
from policy.core import expressions as re
from policy.core.values import evolve
from policy.hosts.claude.data import table
from policy.hosts.claude.data.unchecked import SETTLED, UNCHECKED, UNEXPANDED

__all__ = ["EDITING_PROGRAMS", "GRANTING", "READ_ONLY_PROGRAMS", "WRAPPING"]

# A key of a program in the file -> the attribute of `Program`, where the names differ.
_ATTRIBUTES: Final = {
    "auto_allowed": "harmless",
    "value_options": "values",
    "file_options": "files",
    "skipped_options": "skipped",
    "unsafe_options": "unsafe",
    "needed_options": "needs",
    "needed_once": "once",
    "options_first": "leading",
    "double_dash": "ends",
    "first_operand": "first",
    "most_operands": "most",
    "no_expression": "given",
    "changes_folder": "moves",
    "runs_operands": "runs",
    "expansions": "texts",
    "unquoted": "spelled",
    "unwrapped": "direct",
    "options_before": "before",
    "folder_options": "enters",
}
_WRAPPER_ATTRIBUTES: Final = {
    "value_options": "values",
    "needs_option": "needs",
    "one_option": "single",
    "double_dash": "ends",
    "program": "runs",
    "appends_operands": "appends",
    "idle_options": "idle",
}
_FILES: Final = {"reads", "writes", "uproots"}
_OPTIONS: Final = {"letters", "names", "values", "counts", "attached", "numbered", "also", "flags"}


class _Reader:
    """Reads tables whose expressions may name others, and that may be like others."""

    def __init__(self, name: str) -> None:
        read = table(name)
        self._expressions: Mapping[str, Any] = read.get("expressions", {})
        self._tables = dict(read.get("templates", {})) | _each(read.get("programs", {}))

    def full(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Return *given* with what it inherits from the program that it is `like`."""
        like = given.get("like")
        above = self.full(self._tables[like]) if like is not None else {}
        return {**above, **{key: value for key, value in given.items() if key != "like"}}

    def expression(self, given: str | list[str]) -> str:
        """Return an expression, or the union of several, with those that it names."""
        text = given if isinstance(given, str) else "|".join(given)
        return re.sub("<([A-Z_]+)>", lambda name: self.expression(self._expressions[name[1]]), text)

    def program(self, given: Mapping[str, Any]) -> Program:
        """Return the program that a table describes."""
        given = self.full(given)
        values: dict[str, Any] = {}
        for key, value in given.items():
            name = _ATTRIBUTES.get(key, key)
            if key in _OPTIONS or key == "pairs":
                continue
            if key == "subcommands":
                values[name] = {n: self.program(each) for n, each in _each(value).items()}
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
                name = _WRAPPER_ATTRIBUTES.get(key, key)
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


def _each(tables: Mapping[str, Any]) -> dict[str, Any]:
    """Return *tables* by single names, where one key may hold several."""
    return {name: each for names, each in tables.items() for name in names.split()}


def _either(names: str) -> str:
    """Return an expression for options: those of one letter have one dash."""
    letters = "".join(name for name in names.split() if len(name) == 1)
    words = "|".join(name for name in names.split() if len(name) > 1)
    both = (f"-[{letters}]" if letters else "", f"--({words})" if words else "")
    return "|".join(filter(None, both))


def _wrappers(section: str) -> Wrappers:
    reader = _Reader("wrappers")
    given = _each(table("wrappers")[section])
    return Wrappers({name: reader.wrapper(each) for name, each in given.items()})


def _programs(section: str) -> Iterator[tuple[str, Program]]:
    reader = _Reader("programs")
    for names, given in table("programs")[section].items():
        known = reader.program(given)
        for name in names.split():
            yield name, known


_KNOWN: Final = dict(_programs("programs"))
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
EDITING_PROGRAMS: Final = Programs({**READ_ONLY_PROGRAMS, **dict(_programs("editing"))})

# The wrappers that rules which allow unwrap, and the names of those that others unwrap too.
GRANTING: Final = _wrappers("granting")
WRAPPING: Final = frozenset(table("wrappers")["denying"]["names"].split()) | frozenset(GRANTING)
