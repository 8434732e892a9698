"""Paths walked as they are given, where that says what their canonical form would.

Most paths have nothing to mend, and are relative to the working folder or
absolute. Whatever else there may be about one, e.g. a ``..`` or a ``~``, is a
flag of the automaton, so that to find nothing costs nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from weakref import WeakValueDictionary

from policy.dialect import Dialect
from policy.patterns.automaton import Automaton, State
from policy.patterns.tokens import Gap, Token

__all__ = ["GivenPaths"]

# What `policy.calls.canonical_path` mends or refuses, wherever it stands.
_MENDED: Sequence[Sequence[Token]] = (
    (Gap.ANY, "\0", Gap.ANY),
    (Gap.ANY, "//", Gap.ANY),
    (Gap.ANY, "/./", Gap.ANY),
    (Gap.ANY, "/../", Gap.ANY),
    *((Gap.ANY, end) for end in ("/", "/.", "/..")),
)


class GivenPaths(Automaton):
    """An automaton over paths as calls give them.

    A state that is plain says which pattern is the first that matches the
    canonical form of the path that leads there.
    """

    __slots__ = ("_base", "_cased", "_cwd", "_fold")

    def __init__(
        self, base: Automaton, patterns: Sequence[Sequence[Token]], dialect: Dialect
    ) -> None:
        self._base = base  # alive as long as this is: `of` knows this by it
        self._cwd, self._cased, self._fold = dialect.cwd, dialect.cased, dialect.fold
        home = (self._cwd.casefold() if self._fold else self._cwd) + "/~"
        super().__init__(patterns, "/", (*_MENDED, (home,), (home + "/", Gap.ANY)))

    @classmethod
    def of(
        cls, base: Automaton, patterns: Sequence[Sequence[Token]], dialect: Dialect
    ) -> GivenPaths | None:
        """Return the automaton of the *patterns* of *base*; None where it would say nothing."""
        if dialect.links or dialect.drives:
            return None
        key = (id(base), dialect.cwd, dialect.cased, dialect.fold)
        return _SHARED.get(key) or _SHARED.setdefault(key, cls(base, patterns, dialect))

    def step(self, nodes: Sequence[Any], character: str) -> State:
        """Return the state that *character* leads to from *nodes*, as the dialect folds it."""
        if not self._fold:
            return super().step(nodes, character)
        folded = character.casefold()
        state = super().step(nodes, folded[0])
        for more in folded[1:]:
            state = state.after(more)
        return state

    def _begin(self) -> State:
        absolute = start = super()._begin()
        relative = self._behind(start, f"{self._cwd}/")
        if self._cased:
            # What is below one of these in other letters is below none of them.
            folders = [f"{folder}/" for folder in self._cased]
            absolute = _Below({folder: self._behind(start, folder) for folder in folders})
            if not f"{self._cwd}/".startswith(tuple(folders)):
                relative = _Below({})
        return _Start(absolute, relative)

    def _behind(self, start: State, folder: str) -> State:
        for character in folder:
            self._remembered = 0  # the beginning itself is never too much
            start = start.after(character)
        return start


class _Start(State):
    """The state in front of a path, of which nothing is known yet."""

    __slots__ = ("_absolute", "_relative")

    def __init__(self, absolute: State, relative: State) -> None:
        super().__init__(None, (), frozenset())
        self.final = False
        self.plain = None
        self._absolute, self._relative = absolute, relative

    def _step(self, character: str) -> State:
        return (self._absolute if character == "/" else self._relative).after(character)


class _Below(State):
    """A state that is plain nowhere but behind some names, in just these letters."""

    __slots__ = ("_names",)

    def __init__(self, names: Mapping[str, State]) -> None:
        super().__init__(None, (), frozenset())
        self.final = not names
        self.plain = None
        self._names = names

    def _step(self, character: str) -> State:
        names = {name[1:]: end for name, end in self._names.items() if name[0] == character}
        return names.get("") or _Below(names)


_SHARED: WeakValueDictionary[object, GivenPaths] = WeakValueDictionary()
