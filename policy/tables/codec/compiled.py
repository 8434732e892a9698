"""Compiled policies to projects: strictly, and never without the hash that the text states."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Mapping
from pathlib import Path

import policy
from policy.core import limits
from policy.core.errors import PolicyError
from policy.core.source import visible
from policy.core.values import Final, evolve
from policy.tables import projects as compiled
from policy.tables.codec.reading import (
    COMPILED,
    Content,
    DeclaredShape,
    Offer,
    SpawnCallShape,
    StepsShape,
    TableShape,
    WalkedShape,
    Wrong,
    at,
    ceiling,
    cited,
    read_object,
    ruleset,
    structured,
)
from policy.tables.placement import place_at
from policy.tables.projects import Compiled, CompiledProject
from policy.tables.ruleset import RuleSet
from policy.tables.table import Table

__all__ = ["compiled_bytes", "compiled_from_json", "load_compiled"]


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
    return evolve(found, place=place_at(root))


def compiled_bytes(path: str | Path) -> bytes:
    """Return the bytes of the file at *path*; raise `PolicyError` where it cannot be read."""
    label = str(path)
    try:
        # A pipe without a writer would block for ever.
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
