"""Changes that may come of lines, and that no command which was tried shows: all are searched.

That the first does not may hold for it alone, or for all that the lines match: what `timeout 5 rm`
begins with no rule that allows is asked about, and `./a` is denied wherever `a` is.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from policy.compare.command_pair import CommandPair
from policy.compare.overlap import is_disguise
from policy.compare.pair import OPAQUE, OVERLAPS
from policy.compare.simple import SimpleSearch
from policy.compare.witness import Difference, Effects, stronger, weaker
from policy.compare.words import is_told
from policy.core.effect import Effect

__all__ = ["hidden_differences"]

# Places that all searches of one comparison may look at.
_PLACES: Final = 60_000


def hidden_differences(pair: CommandPair, known: Iterable[Effects]) -> Iterator[Difference]:
    """Yield a difference for each of these changes that has one, and is not *known*.

    Args:
        pair: the calls of the tool that runs commands, its lines compared.
        known: the changes that need no further one.

    """
    shown = weaker({*known})
    wanted = (pair.untold | {*pair.hidden}) - shown
    simple = _simple(pair) if wanted else None
    if simple is not None and not _is_open(pair):
        wanted &= {*pair.hidden}
    wanted = stronger(wanted)
    while simple is not None and wanted:
        found = simple.search(wanted)
        if found.text is None:
            if not found.exact:
                pair.doubts |= dict.fromkeys((OVERLAPS, each) for each in wanted)
            break
        difference = pair.asked(found.text.replace(pair.fresh, "q7z"))
        if difference.effects not in wanted:
            pair.doubts |= dict.fromkeys((OPAQUE, each) for each in wanted)
            break
        yield difference
        shown |= weaker([difference.effects])
        wanted -= shown
    # Of what a shell acts on no more is tried.
    for change, is_plain in pair.hidden.items():
        if change not in shown and not (simple and is_plain):
            pair.doubt(OPAQUE, change)


def _is_open(pair: CommandPair) -> bool:
    """Whether a line knows what stands before a program, or leaves it open."""
    return any(is_disguise(each, pair.shell) for each in pair.patterns)


def _simple(pair: CommandPair) -> SimpleSearch | None:
    """Return the commands of plain words; None where more than lines decides."""
    rows = [row for lookup in pair.lookups for row, _ in lookup.rows]
    asks = {row.ruleset.dialect.asks for row in rows}
    if len(asks) != 1:
        return None
    if any(row.has_parameters or not is_told(row.ruleset.dialect.shell) for row in rows):
        return None
    return SimpleSearch(pair, pair.shell, Effect.ASK if True in asks else Effect.DENY, _PLACES)
