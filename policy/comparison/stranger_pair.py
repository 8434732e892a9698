"""Paths that name folders in other letters than their own, as two lookups decide them."""

from __future__ import annotations

from collections.abc import Iterator

import attrs

from policy.comparison.edited import Side
from policy.comparison.pair import Difference
from policy.comparison.strangers import NESTED, Strange, behind, strange_folders
from policy.comparison.tool_pair import ToolPair
from policy.effect import Effect
from policy.patterns.folding import folded

__all__ = ["stranger_differences"]


def stranger_differences(pair: ToolPair, seen: set[tuple[Effect, Effect]]) -> Iterator[Difference]:
    """Yield differences of paths that name folders in other letters than their own.

    One for each pair of effects that was not *seen* in others.
    """
    folders, exact = strange_folders(pair.lookups)
    if not exact:
        pair.why[NESTED] = None
    for folder in folders:
        yield from _StrangerPair(pair, folder, seen).differences()


class _StrangerPair(ToolPair):
    """Paths below a folder, in other letters than its own."""

    def __init__(self, pair: ToolPair, folder: Strange, shown: set[tuple[Effect, Effect]]) -> None:
        self._folder = folder
        self._shown_effects = shown
        super().__init__(pair.tool, *pair.lookups, attrs.evolve(pair.shape, behind=folder.name))
        self.why, self.doubts = pair.why, pair.doubts

    def differences(self) -> Iterator[Difference]:
        """Yield a difference for each pair of effects that no other path shows."""
        # The widest first, of which there are short paths.
        for view, line in sorted(self.edits, key=lambda edit: len(str(self.pattern(*edit) or ""))):
            yield from self.by_line(view, line, self._shown_effects)

    def seen_as(self, sides: tuple[Side, Side]) -> tuple[Side, Side]:
        before, after = (
            attrs.evolve(
                side,
                views=tuple(
                    behind(view, name)
                    for view, (row, _) in zip(side.views, lookup.rows, strict=True)
                    for name in (
                        folded(self._folder.name),
                        self._folder.hidden[row.ruleset.dialect],
                    )
                    if name
                ),
            )
            for side, lookup in zip(sides, self.lookups, strict=True)
        )
        return before, after
