"""Small policies of every host, drawn at random, and every call of a small universe."""

from __future__ import annotations

from tests.universes.a3s import A3S
from tests.universes.a3s_wide import A3S_WIDE
from tests.universes.claude import CLAUDE, CLAUDE_WRITTEN
from tests.universes.model import Call, Model, Universe, edits, models, tried, walks
from tests.universes.notation import POLICY
from tests.universes.notation_wide import POLICY_WIDE
from tests.universes.pikuri import PIKURI
from tests.universes.pikuri_wide import PIKURI_WIDE
from tests.universes.zeph import ZEPH
from tests.universes.zeph_wide import ZEPH_WIDE

__all__ = ["UNIVERSES", "WIDE", "Call", "Model", "Universe", "edits", "models", "tried", "walks"]

UNIVERSES = {each.host: each for each in (POLICY, CLAUDE, ZEPH, A3S, PIKURI)}
UNIVERSES["claude-code-written"] = CLAUDE_WRITTEN

# Those in which files say all that they can: of two rules that are drawn fewer meet.
WIDE = {each.host: each for each in (POLICY_WIDE, ZEPH_WIDE, A3S_WIDE, PIKURI_WIDE)}
