"""Read the keys of files of hosts, with a place for every mistake.

`HostError` is a mistake with a kind, `HostVersion` a version of a host with its features, `Keys`
the keys that a host knows, and `Fields` the reader of one mapping.
"""

from __future__ import annotations

import difflib
import enum
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Any, ClassVar, Final, Self, TypeVar, get_args, get_type_hints

from policy.core import expressions as re
from policy.core.errors import PolicyError, PolicyErrors
from policy.core.finding import Finding, Severity
from policy.core.source import Span
from policy.core.values import attributes, define, evolve, field, frozen
from policy.files.nodes import (
    MappingNode,
    Node,
    NodeEntry,
    ScalarNode,
    SequenceNode,
    describe,
    python_value,
)
from policy.files.text import cite
from policy.hosts.data import host_table
from policy.language.syntax import Matcher


class HostError(PolicyError):
    """A mistake for which a host refuses a file, an agent or a call.

    Its kind is a table of ``data/errors.toml`` of the host. Kinds are a contract: never rename one.
    """

    def __init__(
        self, kind: str, message: str, span: Span | None = None, *, help: str = "", file: str = ""
    ) -> None:
        super().__init__(message, span, help=help, file=file)
        self.kind = kind


@frozen
class ErrorTexts:
    """The texts of the errors of one host, by kind and case: its ``data/errors.toml``."""

    host: str  # its name

    def __call__(
        self,
        kind: str,
        span: Span | None = None,
        case: str = "other",
        /,
        *,
        file: str = "",
        **words: object,
    ) -> HostError:
        """Return the error of a *kind*; *words* replace the names in braces."""
        text = host_table(self.host, "errors")[kind][case]
        message, *helps = [text] if isinstance(text, str) else text
        help_ = "".join(helps).format(**words)
        return HostError(kind, message.format(**words), span, help=help_, file=file)


class HostErrors(HostError, PolicyErrors):
    """All independent mistakes of one file, with the kind of the first."""

    def __init__(self, errors: Iterable[HostError]) -> None:
        PolicyErrors.__init__(self, errors)
        self.kind = next(error.kind for error in self.errors if isinstance(error, HostError))

    __str__ = PolicyErrors.__str__


def as_host_errors(error: PolicyError, kind: str, prefix: str = "") -> HostErrors:
    """Return the mistakes in *error* as HostErrors of *kind*, with *prefix* before messages."""
    errors = error.errors if isinstance(error, PolicyErrors) else (error,)
    return HostErrors(
        one
        if isinstance(one, HostError)
        else HostError(kind, f"{prefix}{one.message}", one.span, help=one.help, file=one.file)
        for one in errors
    )


class Since:
    """A feature of a host: an attribute of `HostVersion` that is true from one version on."""

    def __init__(self, *first: int) -> None:
        self._first = first

    def __get__(self, version: HostVersion, owner: type[HostVersion]) -> bool:
        """Return whether *version* has the feature."""
        return version.numbers >= self._first


@frozen
class HostVersion:
    """One version of a host. A subclass lists its features, each as a `Since`."""

    HOST: ClassVar[str]
    EXAMPLE: ClassVar[str]

    numbers: tuple[int, int, int]  # major, minor and patch

    @classmethod
    def of(cls, text: str) -> Self:
        """Return the version that *text* names: ``9.0`` or ``a3s@9.0.1``. Raises ValueError.

        *text* has at least as many numbers as `EXAMPLE`; missing numbers are 0.
        """
        found = re.fullmatch(rf"(?:{cls.HOST}@)?(\d+(?:\.\d+){{0,2}})", text)
        numbers = found[1].split(".") if found else []
        if len(numbers) <= cls.EXAMPLE.count("."):
            raise ValueError(f"expected a version such as `{cls.EXAMPLE}`, found `{text}`")
        major, minor, patch = (int(number) for number in (*numbers, "0", "0")[:3])
        return cls((major, minor, patch))

    def __str__(self) -> str:
        return f"{self.HOST}@" + ".".join(map(str, self.numbers))


@frozen
class Keys:
    """The keys of a section that a host knows.

    Most hosts ignore an unknown key silently. If it is about permissions, a rule is not in force,
    so the front end reports it.
    """

    known: Collection[str]  # keys that the host applies, or that are not about permissions
    # Key that the host applies and this program does not -> its value without an effect; None if
    # every value has an effect.
    skipped: Mapping[str, object] = field(factory=dict)
    # Whether the host knows further keys. Then an unknown key is reported only if its name is about
    # permissions, or resembles one of `known`.
    is_open: bool = False


def unapplied_keys(node: Node, sections: Mapping[str, Keys]) -> Iterator[Finding]:
    """Yield a finding for each key in the document *node* that this program does not apply.

    *sections* is path -> its keys. A path has names with dots between them; ``[]`` is each item of
    a list, ``*`` each value of an object, and ``""`` the document.
    """
    for path, keys in sections.items():
        start = f"{path}." if path else ""
        inner = (other.removeprefix(start) for other in sections if other.startswith(start))
        known = {*keys.known, *(other.partition(".")[0] for other in inner)}
        for section, at in _sections(node, path.split(".") if path else [], ""):
            for entry in section.entries:
                name, key = at + entry.name, entry.name
                if not key[:1].isalpha():
                    continue  # such a key holds a comment
                if key in keys.skipped:
                    if not _has_no_effect(python_value(entry.value), keys.skipped[key]):
                        yield _unapplied(name, "decides calls in the host", entry.key.span)
                elif key not in known:
                    near = difflib.get_close_matches(key, [*known, *keys.skipped], 1, 0.8)
                    if near or not keys.is_open or _PERMISSIONS.search(key):
                        help_ = f"did you mean `{near[0]}`?" if near else ""
                        yield _unapplied(name, "is not a known key", entry.key.span, help_)


def _unapplied(name: str, why: str, span: Span, help_: str = "") -> Finding:
    message = f"`{name}` {why}, and is not applied"
    return Finding("key-not-applied", message, Severity.WARNING, span, help=help_)


def _has_no_effect(value: object, default: object) -> bool:
    """Return whether *value* is *default*, or an object with all that *default* has."""
    if not isinstance(value, dict) or not isinstance(default, dict):
        return value == default
    return all(value.get(key, known) == known for key, known in default.items())


# A key whose name has one of these parts is about permissions.
_PERMISSIONS: Final = re.compile(
    "allow|deny|denied|permi|block|forbid|restrict|sandbox|trust|polic|approv|bypass|tools",
    re.IGNORECASE,
)


def _sections(node: Node, path: list[str], at: str) -> Iterator[tuple[MappingNode, str]]:
    """Yield the mappings at *path* below *node*, each with the path of its keys."""
    if not path:
        if isinstance(node, MappingNode):
            yield node, at
        return
    name, rest = path[0], path[1:]
    if name == "[]" and isinstance(node, SequenceNode):
        for item in node.items:
            yield from _sections(item, rest, at)
    for entry in node.entries if isinstance(node, MappingNode) else ():
        if name in ("*", entry.name):
            yield from _sections(entry.value, rest, f"{at}{entry.name}.")


U32: Final = 2**32 - 1

_E = TypeVar("_E", bound=enum.Enum)
_T = TypeVar("_T")
_V = TypeVar("_V", bound=HostVersion)


def content(node: Node) -> Span:
    """Return the span of the value of a node, without its quotes."""
    return (node.content_span() if isinstance(node, ScalarNode) else None) or node.span


def is_null(node: Node | None) -> bool:
    """Return whether a value is absent or null."""
    return value_of(node) is None


def value_of(node: Node | None) -> object:
    """Return the value of a scalar, None for None, and a collection as it is."""
    return node.value if isinstance(node, ScalarNode) else node


@define
class Fields:
    """The keys of one mapping, and the methods that read their values.

    A method notes a mistake about a wrong value, and returns what it returns for an absent one.
    `check` raises all mistakes of the document.
    """

    node: MappingNode | None  # the mapping; None is a mapping without keys
    kind: str  # the kind of all mistakes
    prefix: str = ""  # the text before every message
    path: str = ""  # the path of the mapping from the top of the document, with a dot at its end
    # Whether unquoted words have types. A host may read all of YAML as strings: then ``5`` and
    # ``null`` are text where text is expected, and a key without a value is an empty collection.
    typed: bool = True
    filled: bool = False  # whether an empty text is a mistake
    # All mistakes so far, including those in inner mappings.
    errors: list[HostError] = field(factory=list)
    # Path of a value, e.g. ``tools.allow[0]`` -> its span.
    spans: dict[str, Span] = field(factory=dict)

    @classmethod
    def read(
        cls,
        read: Callable[[], Node],
        kind: str,
        prefix: str = "",
        *,
        at: Span | None = None,
        typed: bool = True,
        filled: bool = False,
    ) -> Fields:
        """Return the keys of the document that *read* returns.

        Raises HostErrors if it is no mapping; *at* is the place of the mistake, by default the
        document.
        """
        try:
            node = read()
        except PolicyError as error:
            raise as_host_errors(error, kind, prefix) from None
        if not isinstance(node, MappingNode):
            msg = f"{prefix}expected keys and values, found {describe(node)}"
            raise HostErrors([HostError(kind, msg, at or node.span)])
        return cls(node, kind, prefix, typed=typed, filled=filled)

    def check(self) -> None:
        """Raise `HostErrors` if any mistake was noted."""
        if self.errors:
            raise HostErrors(self.errors)

    def note(self, message: str, span: Span | None = None, help: str = "") -> None:
        """Note a mistake at *span*, by default at the mapping."""
        at = span or (self.node.span if self.node else None)
        self.errors.append(HostError(self.kind, f"{self.prefix}{message}", at, help=help))

    @property
    def entries(self) -> tuple[NodeEntry, ...]:
        """The entries: every key with its value."""
        return self.node.entries if self.node else ()

    def unapplied(self, sections: Mapping[str, Keys]) -> tuple[Finding, ...]:
        """Return a finding for each key that this program does not apply (`unapplied_keys`)."""
        return tuple(unapplied_keys(self.node, sections)) if self.node else ()

    def entry(self, name: str) -> NodeEntry | None:
        """Return the key and value of *name*, or None."""
        return None if self.node is None else self.node.entry(name)

    def get(self, name: str) -> Node | None:
        """Return the value of *name*, or None."""
        return None if self.node is None else self.node.get(name)

    def span(self, name: str) -> Span | None:
        """Return the span of the value of *name*; without one, the span of the mapping."""
        found = self.get(name) or self.node
        return found.span if found else None

    def known(self, *names: str, hints: Mapping[str, str] | None = None) -> None:
        """Note every key that is not in *names*; *hints* is key -> what to write instead."""
        for entry in self.entries:
            if entry.name not in names:
                listed = ", ".join(f"`{name}`" for name in names)
                message = f"unknown field {cite(entry.name)}, expected one of {listed}"
                self.note(message, entry.key.span, (hints or {}).get(entry.name, ""))

    def below(self, name: str) -> Fields:
        """Return the keys of the mapping at *name*."""
        entry = self.entry(name)
        node: MappingNode | None = None
        if entry is not None:
            self.spans[self.path + name] = entry.key.span
            if isinstance(entry.value, MappingNode):
                node = entry.value
            elif not self._is_empty(entry.value):
                self.wrong(name, "keys and values", entry.value)
        return evolve(self, node=node, path=f"{self.path}{name}.")

    def item(self, node: Node, name: str) -> Fields:
        """Return the keys of *node*, an item of a list, whose path from here is *name*."""
        self.spans[self.path + name] = node.span
        keys = node if isinstance(node, MappingNode) else None
        if keys is None:
            self.wrong(name, "keys and values", node)
        return evolve(self, node=keys, path=f"{self.path}{name}.")

    def each(self, name: str) -> Iterator[Fields]:
        """Yield the keys of each item of the list at *name*."""
        for index, node in enumerate(self.sequence(name)):
            yield self.item(node, f"{name}[{index}]")

    def text(self, name: str, default: str | None = None) -> str:
        """Return the text at *name*. Without a default it must be there."""
        node = self.get(name)
        if node is None or (self.typed and default is None and is_null(node)):
            if default is None:
                self.missing(name)
            return default or ""
        return self._text(node, name)

    def optional(self, name: str) -> str | None:
        """Return the text at *name*, or None where it is null or absent."""
        node = self.get(name)
        return None if node is None or is_null(node) else self._text(node, name)

    def items(self, name: str) -> tuple[tuple[str, Span], ...]:
        """Return the texts of the list at *name*, each with its span without quotes."""
        entry = self.entry(name)
        if entry is None:
            return ()
        self.spans[self.path + name] = entry.value.span
        return tuple(
            (self._text(node, f"{name}[{index}]"), content(node))
            for index, node in enumerate(self.sequence(name))
        )

    def texts(self, name: str) -> tuple[str, ...]:
        """Return the texts of the list at *name*; none where it is absent."""
        return tuple(text for text, _ in self.items(name))

    def optional_texts(self, name: str) -> tuple[str, ...] | None:
        """Return the texts of the list at *name*, or None where it is null or absent."""
        return None if is_null(self.get(name)) else self.texts(name)

    def sequence(self, name: str) -> tuple[Node, ...]:
        """Return the items of the list at *name*; none where it is absent."""
        node = self.get(name)
        if isinstance(node, SequenceNode):
            return node.items
        if node is not None and not self._is_empty(node):
            self.wrong(name, "a list", node)
        return ()

    def number(self, name: str, default: int, least: int = 0) -> int:
        """Return the whole number at *name*, from *least* to the most that 32 bits hold."""
        expected = f"a whole number from {least} to {U32}"
        found = self._value(name, expected, lambda v: type(v) is int and least <= v <= U32)
        return default if found is None else int(found)

    def optional_number(self, name: str) -> int | None:
        """Return the whole number at *name*, or None where it is null or absent."""
        return None if is_null(self.get(name)) else self.number(name, 0)

    def fraction(self, name: str) -> float | None:
        """Return the number from 0 to 1 at *name*, or None where it is absent."""
        expected = "a number from 0 to 1"
        found = self._value(name, expected, lambda v: type(v) in (int, float) and 0 <= v <= 1)
        return None if found is None else float(found)

    def truth(self, name: str, *, default: bool = False) -> bool:
        """Return the truth value at *name*."""
        found = self._value(name, "`true` or `false`", lambda value: isinstance(value, bool))
        return default if found is None else bool(found)

    def values(self, usual: _T, known: Collection[str] | None = None) -> _T:
        """Return *usual* with the values of keys that are its attributes, and in *known* if given.

        The type of an attribute is the expected type of its value.
        """
        kinds = get_type_hints(type(usual))
        found = {
            name: self._of_type(kinds[name], name, getattr(usual, name))
            for name in attributes(type(usual))
            if self.entry(name) is not None and (known is None or name in known)
        }
        return evolve(usual, **found)  # type: ignore[misc]  # any class of values

    def _of_type(self, kind: Any, name: str, default: Any) -> object:  # noqa: ANN401
        if kind is bool:
            return self.truth(name, default=default)
        if kind is int:
            return self.number(name, default)
        readers: dict[Any, Callable[[str], object]] = {
            tuple[str, ...]: self.texts,
            str | None: self.optional,
            int | None: self.optional_number,
            float | None: self.fraction,
        }
        if kind in readers:
            return readers[kind](name)
        if default is not None:
            return self.choice(name, default)
        return self.optional_choice(name, get_args(kind)[0])

    def choice(self, name: str, default: _E, among: Iterable[_E] | None = None) -> _E:
        """Return the member of an enum, or of *among*, that the text at *name* names."""
        node = self.get(name)
        words = {str(member.value): member for member in among or type(default)}
        found = None if node is None else self._named(node, name, words)
        return default if found is None else found

    def optional_choice(self, name: str, kind: Iterable[_E]) -> _E | None:
        """Return the member of the enum *kind* at *name*; None if it is null or absent."""
        return self.optional_word(name, {str(member.value): member for member in kind})

    def optional_word(self, name: str, values: Mapping[str, _T]) -> _T | None:
        """Return the value in *values* for the text at *name*; None if it is null or absent."""
        node = self.get(name)
        return None if node is None or is_null(node) else self._named(node, name, values)

    def version(self, name: str, newest: _V, help: str = "") -> _V:
        """Return the version at *name*; *newest* if it is absent or wrong."""
        node = self.get(name)
        try:
            text = node.raw.strip("\"'") if isinstance(node, ScalarNode) else ""
            return newest if node is None else newest.of(text)
        except ValueError as error:
            self.note(str(error), node.span if node else None, help)
            return newest

    def missing(self, name: str) -> None:
        """Note that *name* must be there."""
        span = self.node.span if self.node else None
        if span is not None and not self.typed:
            span = span.source.span(span.start, min(span.end, span.start + 1))
        self.note(f"missing field `{self.path}{name}`", span)

    def wrong(self, name: str, expected: str, node: Node) -> None:
        """Note that *node*, the value of *name*, is not *expected*."""
        bare = node.raw if expected == "a string" and isinstance(node, ScalarNode) else ""
        help_ = f'text needs quotes here: `"{bare}"`' if bare else ""
        where, found = f"`{self.path}{name}`", describe(node)
        self.note(f"invalid type at {where}: expected {expected}, found {found}", node.span, help_)

    def _is_empty(self, node: Node) -> bool:
        return not self.typed and isinstance(node, ScalarNode) and not node.raw

    def _value(self, name: str, expected: str, accepts: Callable[[Any], bool]) -> Any:  # noqa: ANN401
        """Return the value at *name*; None if it is absent or not *expected*."""
        node = self.get(name)
        if node is None:
            return None
        self.spans[self.path + name] = node.span
        if not isinstance(node, ScalarNode):
            self.wrong(name, "a single value", node)
            return None
        value = node.value if self.typed or isinstance(node.value, bool) else _whole(node)
        if accepts(value):
            return value
        self.wrong(name, expected, node)
        return None

    def _text(self, node: Node, name: str) -> str:
        self.spans[self.path + name] = node.span
        value = value_of(node)
        if isinstance(node, ScalarNode) and not self.typed and not isinstance(value, str):
            return node.raw
        if not isinstance(value, str) or (self.filled and not value):
            self.wrong(name, "text" if value == "" else "a string", node)
        return value if isinstance(value, str) else ""

    def _named(self, node: Node, name: str, known: Mapping[str, _T]) -> _T | None:
        before, text = len(self.errors), self._text(node, name)
        if text not in known and len(self.errors) == before:
            listed = ", ".join(f"`{value}`" for value in known)
            help_ = f"did you mean `{text.lower()}`?" if text.lower() in known else ""
            self.note(f"unknown variant `{text}`, expected one of {listed}", node.span, help_)
        return known.get(text)


# A number with leading zeros is text. A number may have another base.
_WHOLE: Final = re.compile(
    r"\+?(?:0x[0-9a-fA-F]{1,9}|0o[0-7]{1,12}|0b[01]{1,33}|0|[1-9][0-9]{0,10})"
)


def _whole(scalar: ScalarNode) -> int | None:
    """Return the whole number that an unquoted word spells, if it may fit 32 bits; else None."""
    is_whole = not scalar.quoted and _WHOLE.fullmatch(scalar.raw)
    return int(scalar.raw, 0) if is_whole else None


class Presence(enum.Enum):
    """Whether a file has a list, and which. The host defines the meaning of each."""

    ABSENT = "absent"
    NULL = "null"
    EMPTY = "empty"
    LISTED = "listed"
    ILL_TYPED = "ill-typed"


@frozen
class DeclaredTools:
    """A list of tools as a file declares it, e.g. the ``tools`` of an agent."""

    presence: Presence
    matchers: tuple[Matcher, ...] = ()
    span: Span | None = field(default=None, eq=False, repr=False, kw_only=True)
