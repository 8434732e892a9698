"""Changes that lines tell, and that a first command of theirs does not show: all commands searched.

That the first does not may hold for it alone, or for all that the lines match: what `timeout 5 rm`
begins with no rule that allows is asked about, and `./a` is denied wherever `a` is.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from policy.comparison.command_pair import CommandPair
from policy.comparison.effects import CHANGES, Difference, Effects, weaker
from policy.comparison.pair import OPAQUE
from policy.comparison.simple import Simple
from policy.comparison.words import ACTED_ON, is_told
from policy.effect import Effect
from policy.patterns.letters import named, tokens_of

__all__ = ["hidden_differences"]

# Places that all searches of one comparison may visit.
_PLACES: Final = 6_000


def hidden_differences(pair: CommandPair, known: Iterable[Effects]) -> Iterator[Difference]:
    """Yield a difference for each of these changes that has one, and is not *known*.

    Args:
        pair: the calls of the tool that runs commands, its lines compared.
        known: the changes that need no further one.

    """
    shown, simple = weaker({*known}), _simple(pair)
    for guides, wanted in pair.hidden:
        if wanted in shown:
            continue
        if simple is not None and ACTED_ON.isdisjoint(named(tokens_of(guides))):
            found = simple.search({wanted}, guides=guides)
            if found.text is not None:
                difference = pair.asked(found.text.replace(pair.fresh, "q7z"))
                if difference.effects in CHANGES - shown:
                    shown |= weaker([difference.effects])
                    yield difference
            elif found.exact:
                continue
        if wanted not in shown:
            pair.doubt(OPAQUE, wanted)


def _simple(pair: CommandPair) -> Simple | None:
    """Return the commands of plain words; None where more than lines decides."""
    rows = [row for lookup in pair.lookups for row, _ in lookup.rows]
    asks = {row.ruleset.dialect.asks for row in rows}
    if len(asks) != 1 or not pair.hidden:
        return None
    if any(row.has_parameters or not is_told(row.ruleset.dialect.shell) for row in rows):
        return None
    return Simple(pair, pair.shell, Effect.ASK if True in asks else Effect.DENY, _PLACES)
