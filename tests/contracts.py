"""Functions that say they return a bool, each call of which is checked."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from functools import wraps
from types import FunctionType, ModuleType
from typing import Any

import pytest

__all__ = ["check_bools"]


def check_bools(patch: pytest.MonkeyPatch, package: str) -> list[str]:
    """Have calls fail of functions of *package* that say bool and return no bool; return which."""
    modules = {name: m for name, m in sys.modules.items() if name.startswith("policy.")}
    checked: list[str] = []
    for name, module in modules.items():
        for owner in _owners(module) if name.startswith(f"{package}.") else ():
            for attribute, function in list(vars(owner).items()):
                if not _is_of_bool(function, module):
                    continue
                wrapped = _checked(function)
                for each in (owner, *modules.values()):
                    if vars(each).get(attribute) is function:
                        patch.setattr(each, attribute, wrapped)
                checked.append(attribute)
    return checked


def _owners(module: ModuleType) -> Iterator[Any]:
    yield module
    for value in vars(module).values():
        if isinstance(value, type) and value.__module__ == module.__name__:
            yield value


def _is_of_bool(function: object, module: ModuleType) -> bool:
    plain = getattr(function, "__wrapped__", function)
    return (
        isinstance(plain, FunctionType)
        and plain.__module__ == module.__name__
        and plain.__annotations__.get("return") == "bool"
    )


def _checked(function: Callable[..., object]) -> Callable[..., object]:
    @wraps(function)
    def called(*given: object, **named: object) -> object:
        found = function(*given, **named)
        assert found is NotImplemented or type(found) is bool, function
        return found

    return called
