"""Value classes as attrs makes them, for processes that are started for one question.

Importing attrs takes three times as long as Python takes to start, and attrs writes the methods of
each class when the module is imported. Here `__init__` is written when it has been called some
times, and the other methods are the same function for all classes, so that a class which a call
does not use costs next to nothing.

`frozen`, `define`, `field` and `evolve` mean what they mean in attrs, and to type checkers they
are those of attrs. What classes need of `typing` at run time is here as well.
"""

from __future__ import annotations

from functools import cached_property
from operator import attrgetter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import Any, ClassVar, Final, Generic, Literal, NoReturn, Protocol, TypeVar

    from attrs import define, evolve, field, frozen

__all__ = [
    "TYPE_CHECKING", "Any", "ClassVar", "Final", "Generic", "Literal", "NoReturn", "Protocol",
    "TypeVar", "attributes", "content", "define", "evolve", "field", "frozen", "stated",
]  # fmt: skip


_UNSET: Any = object()
_HASH = "_cached_hash"


class _Field:
    """One attribute of a value: the arguments of `attrs.field`."""

    def __init__(
        self,
        *,
        default: Any = _UNSET,
        factory: Callable[[], Any] | None = None,
        eq: Any = True,
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
        self.key = eq if callable(eq) else None
        self.eq = bool(eq)
        self.hash = self.eq if hash is None else hash
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
        """Return what stands for a parameter."""
        return name

    field = _Field

    def frozen(cls=None, **how):
        """Return *cls* as an immutable value, with the options that `attrs.frozen` has."""
        return (lambda cls: _made(cls, **how)) if cls is None else _made(cls, **how)

    def define(cls=None, **how):
        """Return *cls* as a value that changes, with the options that `attrs.define` has."""
        return frozen(cls, **{"frozen": False, **how})

    def evolve(value, **changes):
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
    """Return what a value holds beside its defaults, in one order in every process."""
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
    slots: bool = True,
    eq: bool = True,
    repr: bool = True,
    cache_hash: bool = False,
    order: bool = False,
) -> Any:
    body = dict(cls.__dict__)
    own = _own_fields(body)
    names = {one.name for one in own}
    inherited = getattr(cls, "__fields__", [])
    fields = body["__fields__"] = [*(one for one in inherited if one.name not in names), *own]
    body["__match_args__"] = tuple([one.name for one in fields if not one.kw_only])
    if frozen:
        body["__setattr__"] = body["__delattr__"] = _refuse
    if slots:
        _add_slots(cls, body, [*(one.name for one in own), *((_HASH,) if cache_hash else ())])
    methods: dict[str, Any] = {"__init__": _init_of(fields)}
    if repr:
        methods["__repr__"] = _repr
    if eq:
        compared = _content([one for one in fields if one.eq])
        methods["__eq__"] = _eq_of(compared)
        body.setdefault("__hash__", None)
        if frozen:
            hashed = _content([one for one in fields if one.hash])
            methods["__hash__"] = _hash_of(hashed, is_kept=cache_hash)
        if order:
            methods["__lt__"] = lambda self, other: compared(self) < compared(other)
    body |= {name: each for name, each in methods.items() if cls.__dict__.get(name) is None}
    return type(cls)(cls.__name__, cls.__bases__, body) if slots else _changed(cls, body)


def _own_fields(body: dict[str, Any]) -> list[_Field]:
    """Take the attributes that a class itself has out of its *body*."""
    own = []
    for name, hint in body.get("__annotations__", {}).items():
        if not hint.startswith("ClassVar"):
            found = body.pop(name, _UNSET)
            one = found if type(found) is _Field else _Field(default=found)
            one.name, one.alias = name, one.alias or name.lstrip("_")
            own.append(one)
    return own


def _add_slots(cls: Any, body: dict[str, Any], names: list[str]) -> None:
    if not any(hasattr(base, "__weakref__") for base in cls.__mro__[1:]):
        names.append("__weakref__")
    in_dict = any(base.__dictoffset__ for base in cls.__mro__[1:])
    if not in_dict and any(type(value) is cached_property for value in body.values()):
        names.append("__dict__")
    body["__slots__"] = tuple(names)
    body.pop("__dict__", None)
    body.pop("__weakref__", None)
    body["__getstate__"], body["__setstate__"] = _state, _restore


def _changed(cls: Any, body: dict[str, Any]) -> Any:
    for name in cls.__dict__.keys() - body.keys():
        delattr(cls, name)  # the default of an attribute
    for name, value in body.items():
        if cls.__dict__.get(name, _UNSET) is not value:
            setattr(cls, name, value)
    return cls


def _refuse(value: object, name: str, *_: object) -> None:
    msg = f"{type(value).__qualname__}.{name} cannot be set: the value is frozen"
    raise AttributeError(msg)


def _state(value: Any) -> tuple[object, ...]:
    return tuple([getattr(value, one.name) for one in type(value).__fields__])


def _restore(value: Any, state: Iterable[object]) -> None:
    for one, content in zip(type(value).__fields__, state, strict=True):
        object.__setattr__(value, one.name, content)


def _content(fields: list[_Field]) -> Callable[[Any], Any]:
    """Return what returns that of a value which counts."""
    if any(one.key for one in fields):
        pairs = [(attrgetter(one.name), one.key or (lambda found: found)) for one in fields]
        return lambda value: tuple([key(get(value)) for get, key in pairs])
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
        try:
            found: int = self._cached_hash
        except AttributeError:
            found = hash(content(self))
            object.__setattr__(self, _HASH, found)
        return found

    return kept if is_kept else __hash__


def _repr(self: Any) -> str:
    shown = ", ".join(
        f"{one.name}={getattr(self, one.name)!r}" for one in self.__fields__ if one.repr
    )
    return f"{self.__class__.__name__}({shown})"


# So many calls of `__init__` take less time than writing it.
_OFTEN = 16


def _init_of(fields: list[_Field]) -> Any:
    """Return an `__init__` that puts a written one into its place where it is called often."""
    calls = 0

    def __init__(self: Any, /, *arguments: Any, **named: Any) -> None:  # noqa: N807
        nonlocal calls
        calls += 1
        if calls < _OFTEN:
            _fill(self, fields, list(arguments[::-1]), named)
            return
        cls: Any = next(c for c in type(self).__mro__ if c.__dict__.get("__fields__") is fields)
        known = {"_set": object.__setattr__, "_UNSET": _UNSET}
        for number, one in enumerate(fields):
            known |= {f"c{number}": one.converter, f"d{number}": one.default}
            known[f"f{number}"] = one.factory
        exec(_written(cls, fields), known)  # noqa: S102  # of the names of attributes
        method = known["__init__"]
        method.__qualname__ = f"{cls.__qualname__}.__init__"
        setattr(cls, "__init__", method)  # noqa: B010  # to type checkers it is never another
        method(self, *arguments, **named)

    return __init__


def _fill(value: Any, fields: list[_Field], rest: list[Any], named: dict[str, Any]) -> None:
    """Do what the `__init__` of these fields does. *rest* is what is given in order, backwards."""
    for one in fields:
        if rest and not one.kw_only:
            found = rest.pop()
        elif one.alias in named:
            found = named.pop(one.alias)
        elif one.is_optional:
            found = one.usual
        else:
            msg = f"{type(value).__qualname__} expects {one.alias!r}"
            raise TypeError(msg)
        if one.converter is not None:
            found = one.converter(found)
        object.__setattr__(value, one.name, found)
    if rest or named:
        msg = f"{type(value).__qualname__} does not expect {[*rest, *named]}"
        raise TypeError(msg)
    if hasattr(value, "__attrs_post_init__"):
        value.__attrs_post_init__()


def _written(cls: Any, fields: list[_Field]) -> str:
    """Return the source of the `__init__` of a class."""
    parameters, lines = ["self"], []
    ordered = sorted(enumerate(fields), key=lambda pair: pair[1].kw_only)
    for number, one in ordered:
        if one.kw_only and "*" not in parameters:
            parameters.append("*")
        value = one.alias
        if one.factory is not None:
            parameters.append(f"{value}=_UNSET")
            value = f"f{number}() if {value} is _UNSET else {value}"
        else:
            parameters.append(f"{value}=d{number}" if one.is_optional else value)
        if one.converter is not None:
            value = f"c{number}({value})"
        lines.append(f"_set(self, {one.name!r}, {value})")
    if hasattr(cls, "__attrs_post_init__"):
        lines.append("self.__attrs_post_init__()")
    return f"def __init__({', '.join(parameters)}):\n " + "\n ".join(lines or ["pass"])
