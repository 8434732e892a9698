"""The one text that decides a call alone, and the automaton that it is walked through.

A row is of rules; which of them is the first that matches, its walk tells of most calls.

Paths are walked as they are given, where that says what their canonical form would. Most have
nothing to mend, and are relative to the working folder or absolute. Whatever else there may be
about one, e.g. a ``..`` or a ``~``, is a flag of the automaton, so that to find nothing costs
nothing.
"""

from __future__ import annotations

from policy.patterns.automaton import Automaton, AutomatonState
from policy.patterns.tokens import BLANKS, Gap, OneOf, folded

TYPE_CHECKING = False  # `typing` takes longer to import than a hook has
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from policy.patterns.tokens import Token

__all__ = ["NO_FIELD", "NO_WALK", "GivenPaths", "Walk"]

# Where no argument alone decides: a name that no call has, not even "".
NO_FIELD: Any = object()

_BLANK = OneOf(frozenset(BLANKS))

# What `policy.tables.calls` trims, mends or refuses, wherever it stands.
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

    def step(self, nodes: Sequence[Any], character: str) -> AutomatonState:
        """Return the state that *character* leads to from *nodes*, as the dialect folds it."""
        return super().step(nodes, folded(character) if self.fold else character)

    def _begin(self) -> AutomatonState:
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

    def _behind(self, start: AutomatonState, folder: str) -> AutomatonState:
        for character in folder:
            self._remembered = 0  # the beginning itself is never too much
            start = start.after(character)
        return start


class _Start(AutomatonState):
    """The state in front of a path, of which nothing is known yet."""

    __slots__ = ("_absolute", "_relative")

    def __init__(self, absolute: AutomatonState, relative: AutomatonState) -> None:
        super().__init__(None, (), frozenset())
        self.final = False
        self.plain = None
        self._absolute, self._relative = absolute, relative

    def _step(self, character: str) -> AutomatonState:
        return (self._absolute if character == "/" else self._relative).after(character)


class _Below(AutomatonState):
    """A state that is plain nowhere but behind some names, in just these letters."""

    __slots__ = ("_names",)

    def __init__(self, names: Mapping[str, AutomatonState]) -> None:
        super().__init__(None, (), frozenset())
        self.final = not names
        self.plain = None
        self._names = names

    def _step(self, character: str) -> AutomatonState:
        names = {name[1:]: end for name, end in self._names.items() if name[0] == character}
        return names.get("") or _Below(names)


class Walk:
    """The walk of one row.

    Attributes:
        direct: the argument that decides alone, where it is a text of at most *longest*
            characters and *alias* is not in the call; None where there is none such.
        alias: the other name of that argument, or None.
        longest: the number of its characters.
        automaton: of the patterns, over texts as they are given.

    """

    __slots__ = ("alias", "automaton", "direct", "longest")

    def __init__(
        self, direct: str | None, alias: str | None, longest: int, automaton: Automaton
    ) -> None:
        self.direct = direct
        self.alias = alias
        self.longest = longest
        self.automaton = automaton

    def state(self, call: Mapping[str, object]) -> AutomatonState | None:
        """Return where the text leads that decides *call*; None where none does alone.

        Where the state is plain, all texts that lead there get the same.
        """
        text = call.get(self.direct)  # type: ignore[arg-type]  # no call has None
        if type(text) is not str or len(text) > self.longest or self.alias in call:
            return None
        return self.automaton.state(text)


# Where no text decides alone.
NO_WALK = Walk(None, None, -1, Automaton(()))
