"""Value classes with the interface of attrs, for processes that answer one question.

Importing attrs takes three times as long as starting Python, and attrs compiles the methods of each
class when its module is imported. Here all classes share the same functions, so a class that is not
used costs almost nothing; the `__init__` of a class that makes many values is compiled then. Values
have a `__dict__`, no slots.

`frozen`, `define`, `field` and `evolve` behave as in attrs; type checkers see those of attrs. The
names of `typing` that classes need at run time are here too.
"""

from __future__ import annotations

from operator import attrgetter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any, ClassVar, Final, Generic, Literal, NoReturn, Protocol, TypeVar

    from attrs import define, evolve, field, frozen

__all__ = [
    "TYPE_CHECKING", "Any", "ClassVar", "Final", "Generic", "Literal", "NoReturn", "Protocol",
    "TypeVar", "attributes", "content", "define", "evolve", "field", "frozen", "stated",
]  # fmt: skip


_UNSET: Any = object()


class _Field:
    """An attribute of a class, with the arguments of `attrs.field`."""

    def __init__(
        self,
        *,
        default: Any = _UNSET,
        factory: Callable[[], Any] | None = None,
        eq: bool = True,
        hash: bool | None = None,
        repr: bool = True,
        alias: str = "",
        kw_only: bool = False,
        converter: Callable[[Any], Any] | None = None,
    ) -> None:
        self.name = ""
        self.default = default
        self.factory = factory
        self.converter = converter
        self.eq = eq
        self.hash = eq if hash is None else hash
        self.repr = repr
        self.alias = alias
        self.kw_only = kw_only

    @property
    def is_optional(self) -> bool:
        return self.default is not _UNSET or self.factory is not None

    @property
    def usual(self) -> Any:
        """The default value."""
        return self.default if self.factory is None else self.factory()


if not TYPE_CHECKING:
    # Annotations name these, and are not evaluated.
    Any = ClassVar = Final = Literal = NoReturn = None

    class Protocol:
        """In place of `typing.Protocol`."""

        __slots__ = ()

    class Generic:
        """In place of `typing.Generic`; parameters are ignored."""

        __slots__ = ()

        def __class_getitem__(cls, _):
            return cls

    def TypeVar(name, *_, **__):  # noqa: N802  # the name that `typing` gives it
        """Return *name*, in place of a type variable."""
        return name

    field = _Field

    def frozen(cls=None, **how):
        """Return *cls* as a class of immutable values, as `attrs.frozen` does."""
        return (lambda cls: _made(cls, **how)) if cls is None else _made(cls, **how)

    def define(cls=None, **how):
        """Return *cls* as a class of mutable values, as `attrs.define` does."""
        return frozen(cls, **{"frozen": False, **how})

    def evolve(value, /, **changes):
        """Return a copy of *value* with *changes*: argument of its class -> value."""
        for attr in value.__fields__:
            if attr.alias not in changes:
                changes[attr.alias] = getattr(value, attr.name)
        return value.__class__(**changes)


def attributes(cls: Any) -> dict[str, bool]:
    """Return the attributes of *cls*, each with whether it has a default."""
    return {attr.name: attr.is_optional for attr in cls.__fields__}


def stated(value: Any) -> Iterator[tuple[str, object]]:
    """Yield the name and the value of each attribute of *value* that is not the default."""
    for attr in value.__fields__:
        current = getattr(value, attr.name)
        if current != attr.usual:
            yield attr.name, current


def content(value: Any) -> object:
    """Return *value* as dictionaries and lists, without defaults, equal in every process."""
    if hasattr(value, "__fields__"):
        return {name: content(each) for name, each in stated(value)}
    if isinstance(value, dict):
        return {name: content(each) for name, each in sorted(value.items())}
    if isinstance(value, frozenset):
        return sorted(value)
    if isinstance(value, (tuple, list)):
        return [content(each) for each in value]
    return getattr(value, "value", value)


def _made(
    cls: Any,
    *,
    frozen: bool = True,
    eq: bool = True,
    repr: bool = True,
    cache_hash: bool = False,
    order: bool = False,
) -> Any:
    own = _own_fields(cls)
    names = {attr.name for attr in own}
    inherited = [attr for attr in getattr(cls, "__fields__", []) if attr.name not in names]
    cls.__fields__ = [*inherited, *own]
    methods: dict[str, Any] = {
        "__init__": _init_of(cls),
        "__getstate__": _state,
        "__match_args__": tuple([attr.name for attr in cls.__fields__ if not attr.kw_only]),
    }
    if frozen:
        methods |= {"__setattr__": _refuse, "__delattr__": _refuse}
    if repr:
        methods["__repr__"] = _repr
    if eq:
        compared = _content([attr for attr in cls.__fields__ if attr.eq])
        methods["__eq__"] = _eq_of(compared)
        methods["__hash__"] = None
        if frozen:
            hashed = _content([attr for attr in cls.__fields__ if attr.hash])
            methods["__hash__"] = _hash_of(hashed, is_kept=cache_hash)
        if order:
            methods["__lt__"] = lambda self, other: compared(self) < compared(other)
    for name, method in methods.items():
        if cls.__dict__.get(name) is None:
            setattr(cls, name, method)
    return cls


def _own_fields(cls: Any) -> list[_Field]:
    """Return the attributes that the body of *cls* declares, and remove their defaults from it."""
    own = []
    for name, hint in dict(cls.__dict__).get("__annotations__", {}).items():
        if not hint.startswith("ClassVar"):
            default = cls.__dict__.get(name, _UNSET)
            if default is not _UNSET:
                delattr(cls, name)
            attr = default if type(default) is _Field else _Field(default=default)
            attr.name, attr.alias = name, attr.alias or name.lstrip("_")
            own.append(attr)
    return own


def _refuse(value: object, name: str, *_: object) -> None:
    msg = f"{type(value).__qualname__}.{name} cannot be set: the value is frozen"
    raise AttributeError(msg)


def _state(value: Any) -> dict[str, object]:
    """Return the attributes to copy and pickle, without cached properties."""
    return {attr.name: getattr(value, attr.name) for attr in value.__fields__}


def _content(fields: list[_Field]) -> Callable[[Any], Any]:
    """Return a function that returns the values of *fields* of a value."""
    return attrgetter(*[attr.name for attr in fields]) if fields else lambda _: ()


def _eq_of(content: Callable[[Any], Any]) -> Any:
    def __eq__(self: Any, other: Any) -> Any:  # noqa: N807
        if other.__class__ is not self.__class__:
            return NotImplemented
        return content(self) == content(other)

    return __eq__


def _hash_of(content: Callable[[Any], Any], *, is_kept: bool) -> Any:
    def __hash__(self: Any) -> int:  # noqa: N807
        return hash(content(self))

    def kept(self: Any) -> int:
        cached: int | None = self.__dict__.get("_cached_hash")
        if cached is None:
            cached = self.__dict__["_cached_hash"] = hash(content(self))
        return cached

    return kept if is_kept else __hash__


def _repr(self: Any) -> str:
    shown = ", ".join(
        f"{attr.name}={getattr(self, attr.name)!r}" for attr in self.__fields__ if attr.repr
    )
    return f"{self.__class__.__name__}({shown})"


# So many calls of the `__init__` that serves any class take longer than writing one.
_OFTEN: Any = 64


def _init_of(cls: Any) -> Any:
    fields: list[_Field] = cls.__fields__
    names = {attr.alias: attr.name for attr in fields}
    in_order = [attr.alias for attr in fields if not attr.kw_only]
    defaults = {attr.alias: attr.default for attr in fields if attr.default is not _UNSET}
    adapted = [attr for attr in fields if attr.factory or attr.converter or attr.alias != attr.name]
    known, most, has_more = names.keys(), len(in_order), hasattr(cls, "__attrs_post_init__")
    is_simple = not has_more and not any(attr.kw_only or attr.converter for attr in fields)
    calls = 0

    def __init__(self: Any, /, *arguments: Any, **named: Any) -> None:  # noqa: N807
        nonlocal calls
        calls += 1
        if calls == _OFTEN and is_simple:
            cls.__init__ = _written(fields)
        values = defaults | named
        values.update(zip(in_order, arguments))  # noqa: B905  # the number is checked below
        for attr in adapted:
            if attr.factory and attr.alias not in values:
                values[attr.alias] = attr.factory()
        if values.keys() != known or len(arguments) > most:
            msg = f"{cls.__qualname__} expects {[*names]}, found {arguments} and {named}"
            raise TypeError(msg)
        for attr in adapted:
            given = values.pop(attr.alias)
            values[attr.name] = attr.converter(given) if attr.converter else given
        object.__setattr__(self, "__dict__", values)
        if has_more:
            self.__attrs_post_init__()

    return __init__


def _written(fields: list[_Field]) -> Any:
    """Return an `__init__` for these attributes alone, which is three times as fast."""
    known = {"_unset": _UNSET}
    parameters, lines = ["self"], ["_own = self.__dict__"]
    for number, attr in enumerate(fields):
        known |= {f"_{number}": attr.default, f"_make{number}": attr.factory}
        parameters.append(f"{attr.alias}=_{number}" if attr.is_optional else attr.alias)
        made = f"_make{number}() if {attr.alias} is _unset else " if attr.factory else ""
        lines.append(f"_own[{attr.name!r}] = {made}{attr.alias}")
    exec(f"def __init__({', '.join(parameters)}):\n " + "\n ".join(lines), known)  # noqa: S102
    return known["__init__"]
