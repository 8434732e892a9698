"""`Tool::Parameters`: what a call must bring, and every way in which one does not."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs

from policy.hosts.pikuri.errors import Kind, PikuriError

__all__ = ["Parameter", "problems"]


@attrs.frozen
class Parameter:
    """One argument of a tool.

    Attributes:
        name: its name.
        required: whether it must be there.
        values: the only texts it may be, or None for any.

    """

    name: str
    required: bool = True
    values: tuple[str, ...] | None = None

    def __attrs_post_init__(self) -> None:
        if self.values is not None and not (self.values and all(self.values)):
            msg = f"expected texts that are not empty for `{self.name}`"
            raise PikuriError(Kind.INVALID_PARAMETERS, msg)


def problems(parameters: tuple[Parameter, ...], call: Mapping[str, Any]) -> tuple[str, ...]:
    """Return everything that is wrong with a call, in the order of the parameters."""
    found = []
    for parameter in parameters:
        if parameter.name not in call:
            if parameter.required:
                found.append(f"`{parameter.name}` is missing")
        elif parameter.values is not None and call[parameter.name] not in parameter.values:
            found.append(f"`{parameter.name}` is none of {', '.join(parameter.values)}")
    known = {parameter.name for parameter in parameters}
    found += [f"`{name}` is not a parameter" for name in sorted(set(call) - known)]
    return tuple(found)
