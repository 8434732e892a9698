"""Paths walked as they are given, where that says what their canonical form would.

Most paths have nothing to mend, and are relative to the working folder or
absolute. Whatever else there may be about one, e.g. a ``..`` or a ``~``, is a
flag of the automaton, so that to find nothing costs nothing.
"""

from __future__ import annotations

from policy.patterns.automaton import Automaton
from policy.patterns.folding import folded
from policy.patterns.state import State
from policy.patterns.tokens import BLANKS, Gap, OneOf

TYPE_CHECKING = False  # `typing` takes longer to import than a hook has
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from policy.patterns.tokens import Token

__all__ = ["GivenPaths"]

_BLANK = OneOf(frozenset(BLANKS))

# What `policy.calls` trims, mends or refuses, wherever it stands.
_MENDED: Sequence[Sequence[Token]] = (
    (Gap.ANY, _BLANK),
    (Gap.ANY, "\0", Gap.ANY),
    (Gap.ANY, "//", Gap.ANY),
    (Gap.ANY, "/./", Gap.ANY),
    (Gap.ANY, "/../", Gap.ANY),
    *((Gap.ANY, end) for end in ("/", "/.", "/..")),
    ("/proc/", Gap.ANY),  # where a process finds others by names of its own
)


class GivenPaths(Automaton):
    """An automaton over paths as calls give them.

    A state that is plain says which pattern is the first that matches the
    canonical form of the path that leads there.

    Attributes:
        base: the automaton over canonical paths, where there is one.
        folders: the folder that relative paths are relative to, and those that a path is
            below only in their own letters.
        fold: whether the case of paths is ignored.

    """

    __slots__ = ("base", "fold", "folders")

    def __init__(
        self,
        patterns: Sequence[Sequence[Token]],
        cwd: str,
        cased: Sequence[str] = (),
        *,
        fold: bool = False,
    ) -> None:
        self.base: Automaton | None = None
        self.folders, self.fold = (cwd, *cased), fold
        here = (folded(cwd) if fold else cwd) + "/"
        home = here + "~"
        begun = ((home,), (home + "/", Gap.ANY), (here, _BLANK, Gap.ANY))
        super().__init__(patterns, "/", (*_MENDED, *begun))

    def step(self, nodes: Sequence[Any], character: str) -> State:
        """Return the state that *character* leads to from *nodes*, as the dialect folds it."""
        return super().step(nodes, folded(character) if self.fold else character)

    def _begin(self) -> State:
        absolute = start = super()._begin()
        cwd, *cased = self.folders
        relative = self._behind(start, f"{cwd}/")
        if cased:
            # What is below one of these in other letters is below none of them.
            folders = [f"{folder}/" for folder in cased]
            absolute = _Below({folder: self._behind(start, folder) for folder in folders})
            if not f"{cwd}/".startswith(tuple(folders)):
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
