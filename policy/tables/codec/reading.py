"""JSON to tables and projects: strictly, and never without the hash that the text states."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, TypeVar

import attrs

import policy
from policy.core import limits
from policy.core.errors import PolicyError
from policy.core.source import visible
from policy.tables import projects as compiled
from policy.tables.codec.json_text import (
    COMPILED,
    VERSION,
    CompiledShape,
    Content,
    DeclaredShape,
    Offer,
    OriginShape,
    Rules,
    SpawnCallShape,
    StepsShape,
    TableShape,
    WalkedShape,
    Wrong,
    cited,
    read_object,
    structured,
)
from policy.tables.codec.writing import sources_hash
from policy.tables.dialect import Dialect
from policy.tables.placement import place_at
from policy.tables.projects import Compiled, CompiledProject
from policy.tables.ruleset import Entry, RuleSet
from policy.tables.table import Ceiling, Part, Table

__all__ = [
    "at",
    "ceiling",
    "compiled_bytes",
    "compiled_from_json",
    "load_compiled",
    "ruleset",
    "table_from_json",
]


_T = TypeVar("_T")


def ruleset(
    rules: Rules, origins: Sequence[OriginShape], dialects: Sequence[Dialect], path: str
) -> RuleSet:
    """Return the rule set at *path*; raise `Wrong` where a part of it is not there."""
    if len(rules.entries) > limits.RULES:
        msg = f"expected at most {limits.RULES:,} lines at {path}"
        raise Wrong(msg)
    if len(origins) != len(rules.entries):
        msg = f"expected the source of every line of {path}"
        raise Wrong(msg)
    entries = (
        Entry(
            line.tool,
            line.effect,
            line.pattern,
            line.field,
            line.reason,
            o.rule,
            o.place,
            line.form,
        )
        for line, o in zip(rules.entries, origins, strict=True)
    )
    dialect = at(dialects, rules.dialect, f"{path}.dialect")
    return RuleSet(tuple(entries), rules.default, dialect, rules.default_reason)


def ceiling(
    numbers: Sequence[int],
    links: Sequence[tuple[str, ...]],
    sets: Sequence[RuleSet],
    path: str,
    links_path: str,
) -> Ceiling:
    """Return the ceiling at *path*; raise `Wrong` where a part of it is not there."""
    if len(numbers) != len(links):
        msg = f"expected the links of every part at {links_path}"
        raise Wrong(msg)
    return Ceiling.of(
        Part(at(sets, number, path), of) for number, of in zip(numbers, links, strict=True)
    )


def at(values: Sequence[_T], number: int, path: str) -> _T:
    """Return what has *number*; raise `Wrong` where nothing has."""
    if not 0 <= number < len(values):
        msg = f"there is no number {number} at {path}"
        raise Wrong(msg)
    return values[number]


# JSON to tables: strictly, and not without the hash that the text states.


def table_from_json(text: str) -> Table:
    """Return the table that *text* is.

    Raises:
        PolicyError: it is none, or not the one it says it is.

    """
    value = read_object(text, limit=limits.COMPILED_BYTES, what="a table")
    version = value.get("version")
    if type(version) is not int or version != VERSION:
        help_ = "compile the table again with this version of the package"
        msg = f"expected a table of version {VERSION}, found {cited(version)}"
        raise PolicyError(msg, help=help_)
    try:
        file = structured(value, CompiledShape)
        table = _table(file)
    except Wrong as error:
        msg = f"this is not a table: {error}"
        raise PolicyError(msg) from None
    except RecursionError:
        msg = "this is not a table: it is nested too deep"
        raise PolicyError(msg) from None
    if table.hash != file.hash:
        msg = f"the table states the hash {cited(file.hash)} and has `{table.hash}`"
        help_ = "it was changed after it was compiled; compile it again"
        raise PolicyError(msg, help=help_)
    sources = {key: part for key, part in value["sources"].items() if key != "hash"}
    found = sources_hash(sources)
    if found != file.sources.hash:
        msg = f"the sources state the hash {cited(file.sources.hash)} and have `{found}`"
        help_ = "the places of rules were changed after the table was compiled"
        raise PolicyError(msg, help=help_)
    return table


def _table(file: CompiledShape) -> Table:
    if len(file.sources.rules) != len(file.rules):
        msg = "expected the sources of every rule set at $.sources.rules"
        raise Wrong(msg)
    sets = [
        ruleset(rules, origins, file.dialects, f"$.rules[{number}]")
        for number, (rules, origins) in enumerate(zip(file.rules, file.sources.rules, strict=True))
    ]
    use = ceiling(file.use, file.sources.use, sets, "$.use", "$.sources.use")
    delegate = None
    if file.delegate is not None:
        delegate = ceiling(
            file.delegate, file.sources.delegate, sets, "$.delegate", "$.sources.delegate"
        )
    return Table(use, delegate, file.bounds)


# Compiled policies to projects: strictly, and not without the hash that the text states.


_START: Final = '{"compiled":'
_AGAIN: Final = "compile it again, with `policy compile`"


def load_compiled(path: str | Path, *, root: str | Path | None = None) -> Compiled:
    """Return the compiled policy in the file at *path*.

    Args:
        path: the file.
        root: the folder of the project, for which chains decide paths. Without one, a path
            that is absolute or leaves the project is denied (``no-root``).

    Raises:
        PolicyError: it cannot be read, is none, is of another version, or not the one
            it says it is.

    """
    found = compiled_from_json(compiled_bytes(path), str(path))
    return attrs.evolve(found, place=place_at(root))


def compiled_bytes(path: str | Path) -> bytes:
    """Return the bytes of the file at *path*; raise `PolicyError` where it cannot be read."""
    label = str(path)
    try:
        # A pipe would wait for ever for somebody to write.
        with os.fdopen(os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0)), "rb") as stream:
            if not stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
                raise PolicyError("not a file", file=label)
            data = stream.read(limits.COMPILED_BYTES + 1)
    except (OSError, ValueError) as error:
        why = (getattr(error, "strerror", None) or str(error)).lower()
        raise PolicyError(f"cannot be read: {why}", file=label) from None
    return data


def compiled_from_json(data: bytes, label: str = "<compiled>") -> Compiled:
    """Return the compiled policy that *data* is.

    Raises:
        PolicyError: it is none, is of another version, or not the one it says it is.

    """
    content, digest = _content(data, label)
    try:
        value = read_object(content, limit=limits.COMPILED_BYTES, what="a compiled policy")
        return Compiled(label, _Building(structured(value, Content)).projects(), digest)
    except Wrong as error:
        message = f"this is not a compiled policy: {error}"
    except RecursionError:
        message = "this is not a compiled policy: it is nested too deep"
    except PolicyError as error:
        message = error.message
    raise PolicyError(message, file=label, help=_AGAIN)


def _content(data: bytes, label: str) -> tuple[str, str]:
    """Return the content and its hash, which is that of the very bytes."""
    if len(data) > limits.COMPILED_BYTES:
        msg = f"expected a compiled policy of at most {limits.COMPILED_BYTES:,} bytes"
        raise PolicyError(msg, file=label)
    try:
        text = data.decode()
    except UnicodeDecodeError:
        raise PolicyError("this is not UTF-8", file=label) from None
    if not text.startswith(_START):
        msg = f"expected a compiled policy, found `{visible(text[:40])}`"
        raise PolicyError(msg, file=label, help=_AGAIN)
    rest = text.removeprefix(_START)
    for key, found, expected in (
        ("", f"{COMPILED}", "the form"),
        (',"by":', f'"{policy.__version__}"', "the version"),
    ):
        if not rest.startswith(key + found):
            shown = visible(rest.removeprefix(key)[:20])
            msg = f"expected {expected} {found}, found `{shown}`"
            raise PolicyError(msg, file=label, help=_AGAIN)
        rest = rest.removeprefix(key + found)
    stated, separator, content = rest.partition(',"content":')
    if not (separator and content.endswith("}\n")):
        raise PolicyError("the compiled policy is cut off", file=label, help=_AGAIN)
    content = content.removesuffix("}\n")
    digest = f"sha256:{hashlib.sha256(content.encode()).hexdigest()}"
    if stated != f',"hash":"{digest}"':
        msg = f"the content has the hash `{digest}`, which is not the one that is stated"
        help_ = f"it was changed after it was compiled; {_AGAIN}"
        raise PolicyError(msg, file=label, help=help_)
    return content, digest


class _Building:
    """Tables and projects out of the numbers that stand for them."""

    def __init__(self, content: Content) -> None:
        self.content = content
        if len(content.origins) != len(content.rules):
            raise Wrong("expected the origins of every rule set at $.origins")
        self.sets: list[RuleSet] = [
            ruleset(rules, origins, content.dialects, f"$.rules[{number}]")
            for number, (rules, origins) in enumerate(
                zip(content.rules, content.origins, strict=True)
            )
        ]
        self.tables = [
            self._table(numbers, f"$.tables[{number}]")
            for number, numbers in enumerate(content.tables)
        ]

    def projects(self) -> tuple[CompiledProject, ...]:
        """Return the projects."""
        return tuple(
            self._project(offer, f"$.projects[{number}]")
            for number, offer in enumerate(self.content.projects)
        )

    def _table(self, numbers: TableShape, path: str) -> Table:
        use = ceiling(numbers.use, numbers.links, self.sets, f"{path}.use", f"{path}.links")
        delegate = None
        if numbers.delegate is not None:
            where = f"{path}.delegate", f"{path}.delegate_links"
            delegate = ceiling(numbers.delegate, numbers.delegate_links, self.sets, *where)
        return Table(use, delegate, numbers.bounds)

    def _project(self, offer: Offer, path: str) -> CompiledProject:
        attenuated = self._declared(offer.attenuated, "attenuated", f"{path}.attenuated")
        unknown = set(offer.starts) - set(attenuated.agents)
        if unknown:
            raise Wrong(f"there is no agent {cited(min(unknown))} at {path}.starts")
        if offer.enforced is None:
            enforced = self._declared(offer.attenuated, "enforced", f"{path}.attenuated")
            return CompiledProject(
                offer.host, offer.profile, offer.root, offer.starts, attenuated, enforced
            )
        walked = self._walked(offer.enforced, f"{path}.enforced")
        return CompiledProject(
            offer.host, offer.profile, offer.root, offer.starts, attenuated, walked
        )

    def _declared(self, shape: DeclaredShape, name: str, path: str) -> compiled.CompiledDeclared:
        return compiled.CompiledDeclared(
            tables={a: at(self.tables, n, f"{path}.steps") for a, n in shape.steps.items()},
            name=name,
            starts={a: at(self.tables, n, f"{path}.starts") for a, n in shape.starts.items()},
            calls=_calls(shape.calls),
            listed=shape.agents,
        )

    def _walked(self, shape: WalkedShape, path: str) -> compiled.Walked:
        refusals = [
            compiled.Refusal(each.agent, each.link, each.reason, each.message)
            for each in shape.refusals
        ]

        def steps(found: StepsShape, where: str) -> compiled.Steps:
            for number in found.to.values():
                at(shape.positions, number, where)
            refused = {agent: at(refusals, n, where) for agent, n in found.refused.items()}
            return compiled.Steps(found.to, refused, found.ends)

        every = [steps(found, f"{path}.steps") for found in shape.steps]
        positions = [
            compiled.CompiledPosition(
                position.name,
                at(self.tables, position.table, f"{path}.positions"),
                position.depth,
                at(every, position.steps, f"{path}.positions"),
            )
            for position in shape.positions
        ]
        starts = steps(shape.starts, f"{path}.starts")
        return compiled.Walked(shape.agents, starts, positions, _calls(shape.calls))


def _calls(calls: Mapping[str, SpawnCallShape]) -> dict[str, tuple[str, dict[str, object]]]:
    return {agent: (call.tool, dict(call.input)) for agent, call in calls.items()}
