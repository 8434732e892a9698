"""What is said of every call, rule, chain and edit, of policies that say all that their files can."""

from __future__ import annotations

import pytest

from tests.law.test_every_call import draw_diff
from tests.law.test_every_chain import draw_never, draw_query
from tests.law.test_every_edit import draw_mended
from tests.law.test_every_gap import draw_audit
from tests.law.test_every_rule import draw_standings, draw_told
from tests.universes import WIDE, tried

# Law -> how it is tried, and how many policies take a few seconds.
LAWS = {
    "diff": (draw_diff, 125),
    "shadowing": (draw_standings, 75),
    "lint": (draw_told, 150),
    "query": (draw_query, 150),
    "never": (draw_never, 150),
    "audit": (draw_audit, 100),
    "mend": (draw_mended, 75),
}


@pytest.mark.slow
@pytest.mark.parametrize("host", WIDE)
@pytest.mark.parametrize("law", LAWS)
def test_it_holds_whatever_files_can_say(law: str, host: str) -> None:
    draw, examples = LAWS[law]
    tried(draw, WIDE[host], examples)
