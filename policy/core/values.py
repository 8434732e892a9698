"""Value classes as attrs makes them, for processes that are started for one question.

Importing attrs takes three times as long as Python takes to start, and attrs writes the methods of
each class when the module is imported. Here the methods of all classes are the same functions, so
that a class which a call does not use costs next to nothing. Values have a `__dict__`, no slots.

`frozen`, `define`, `field` and `evolve` mean what they mean in attrs, and to type checkers they
are those of attrs. What classes need of `typing` at run time is here as well.
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
    """One attribute of a value: the arguments of `attrs.field`."""

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
        """What it is by default."""
        return self.default if self.factory is None else self.factory()


if not TYPE_CHECKING:
    # What annotations name, which are not evaluated.
    Any = ClassVar = Final = Literal = NoReturn = None

    class Protocol:
        """What other classes are like."""

        __slots__ = ()

    class Generic:
        """A class with parameters, which no one asks for at run time."""

        __slots__ = ()

        def __class_getitem__(cls, _):
            return cls

    def TypeVar(name, *_, **__):  # noqa: N802  # the name that `typing` gives it
        """Return the name, in place of a type variable."""
        return name

    field = _Field

    def frozen(cls=None, **how):
        """Return *cls* as an immutable value, with the options that `attrs.frozen` has."""
        return (lambda cls: _made(cls, **how)) if cls is None else _made(cls, **how)

    def define(cls=None, **how):
        """Return *cls* as a value that changes, with the options that `attrs.define` has."""
        return frozen(cls, **{"frozen": False, **how})

    def evolve(value, /, **changes):
        """Return *value* with other values of some attributes, named as its class takes them."""
        same = {one.alias: getattr(value, one.name) for one in value.__fields__}
        return value.__class__(**{**same, **changes})


def attributes(cls: Any) -> dict[str, bool]:
    """Return the attributes of a class of values, and whether each has a default."""
    return {one.name: one.is_optional for one in cls.__fields__}


def stated(value: Any) -> Iterator[tuple[str, object]]:
    """Yield the attributes of a value, by name, that are not what they are by default."""
    for one in value.__fields__:
        found = getattr(value, one.name)
        if found != one.usual:
            yield one.name, found


def content(value: Any) -> object:
    """Return the attributes of a value that are not defaults, in one order in every process."""
    if hasattr(value, "__fields__"):
        return {name: content(found) for name, found in stated(value)}
    if isinstance(value, dict):
        return {name: content(found) for name, found in sorted(value.items())}
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
    names = {one.name for one in own}
    inherited = [one for one in getattr(cls, "__fields__", []) if one.name not in names]
    cls.__fields__ = [*inherited, *own]
    methods: dict[str, Any] = {
        "__init__": _init_of(cls),
        "__getstate__": _state,
        "__match_args__": tuple([one.name for one in cls.__fields__ if not one.kw_only]),
    }
    if frozen:
        methods |= {"__setattr__": _refuse, "__delattr__": _refuse}
    if repr:
        methods["__repr__"] = _repr
    if eq:
        compared = _content([one for one in cls.__fields__ if one.eq])
        methods["__eq__"] = _eq_of(compared)
        methods["__hash__"] = None
        if frozen:
            hashed = _content([one for one in cls.__fields__ if one.hash])
            methods["__hash__"] = _hash_of(hashed, is_kept=cache_hash)
        if order:
            methods["__lt__"] = lambda self, other: compared(self) < compared(other)
    for name, method in methods.items():
        if cls.__dict__.get(name) is None:
            setattr(cls, name, method)
    return cls


def _own_fields(cls: Any) -> list[_Field]:
    """Take the attributes that a class itself states out of it."""
    own = []
    for name, hint in dict(cls.__dict__).get("__annotations__", {}).items():
        if not hint.startswith("ClassVar"):
            found = cls.__dict__.get(name, _UNSET)
            if found is not _UNSET:
                delattr(cls, name)
            one = found if type(found) is _Field else _Field(default=found)
            one.name, one.alias = name, one.alias or name.lstrip("_")
            own.append(one)
    return own


def _refuse(value: object, name: str, *_: object) -> None:
    msg = f"{type(value).__qualname__}.{name} cannot be set: the value is frozen"
    raise AttributeError(msg)


def _state(value: Any) -> dict[str, object]:
    """Return what is copied and pickled of a value: not what it has remembered."""
    return {one.name: getattr(value, one.name) for one in value.__fields__}


def _content(fields: list[_Field]) -> Callable[[Any], Any]:
    """Return what returns that of a value which counts."""
    return attrgetter(*[one.name for one in fields]) if fields else lambda _: ()


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
        found: int | None = self.__dict__.get("_cached_hash")
        if found is None:
            found = self.__dict__["_cached_hash"] = hash(content(self))
        return found

    return kept if is_kept else __hash__


def _repr(self: Any) -> str:
    shown = ", ".join(
        f"{one.name}={getattr(self, one.name)!r}" for one in self.__fields__ if one.repr
    )
    return f"{self.__class__.__name__}({shown})"


def _init_of(cls: Any) -> Any:
    fields: list[_Field] = cls.__fields__
    names = {one.alias: one.name for one in fields}
    in_order = [one.alias for one in fields if not one.kw_only]
    defaults = {one.alias: one.default for one in fields if one.default is not _UNSET}
    adapted = [one for one in fields if one.factory or one.converter or one.alias != one.name]
    known, most, has_more = names.keys(), len(in_order), hasattr(cls, "__attrs_post_init__")

    def __init__(self: Any, /, *arguments: Any, **named: Any) -> None:  # noqa: N807
        values = defaults | named
        values.update(zip(in_order, arguments))  # noqa: B905  # compared below
        for one in adapted:
            if one.factory and one.alias not in values:
                values[one.alias] = one.factory()
        if values.keys() != known or len(arguments) > most:
            msg = f"{cls.__qualname__} expects {[*names]}, found {arguments} and {named}"
            raise TypeError(msg)
        for one in adapted:
            found = values.pop(one.alias)
            values[one.name] = one.converter(found) if one.converter else found
        object.__setattr__(self, "__dict__", values)
        if has_more:
            self.__attrs_post_init__()

    return __init__
