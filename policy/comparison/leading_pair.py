"""Commands of lines that tell a change which a first text of theirs does not show.

That the text does not may hold for it alone, or for all that begins with the same words
(`policy.comparison.leading`). What that does not tell is left undecided.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from policy.comparison.effects import CHANGES, Difference, Effects, weaker
from policy.comparison.leading import search_behind
from policy.comparison.pair import OPAQUE
from policy.comparison.tool_pair import ToolPair
from policy.effect import Effect
from policy.patterns.search import Found

__all__ = ["leading_differences"]

# Searches of one comparison, each of a few hundred states at most where it tells something.
_SEARCHES: Final = 64


def leading_differences(pair: ToolPair, known: Iterable[Effects]) -> Iterator[Difference]:
    """Yield a difference of commands that begin alike for each change that has one.

    Args:
        pair: the calls of the tool that runs commands, its lines compared.
        known: the changes that need no further one.

    """
    shown = weaker({*known})
    rows = [row for lookup in pair.lookups for row, _ in lookup.rows]
    asks = {row.ruleset.dialect.asks for row in rows}
    told = len(asks) == 1 and not any(row.has_parameters for row in rows)
    unsure = Effect.ASK if True in asks else Effect.DENY
    for number, (guides, wanted) in enumerate(pair.hidden):
        if wanted in shown:
            continue
        found: Found | None = None
        if told and number < _SEARCHES:
            found = search_behind(pair, guides, wanted, pair.shell, unsure)
        if found == Found(None):
            continue
        if found is not None and found.text is not None:
            difference = pair.asked(found.text.replace(pair.fresh, "q7z"))
            if difference.effects in CHANGES and difference.effects not in shown:
                shown |= weaker([difference.effects])
                yield difference
        if wanted not in shown:
            pair.doubt(OPAQUE, wanted)
