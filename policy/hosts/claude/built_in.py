"""Lines that the host itself adds to what rules say, and why it asks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from policy.decision import Reason
from policy.effect import Effect
from policy.hosts.claude.file_names import leading_out
from policy.hosts.claude.modes import is_judged_plan
from policy.hosts.claude.session import Session
from policy.patterns.folding import folded
from policy.patterns.pattern import Kind, Pattern
from policy.patterns.tokens import Gap
from policy.ruleset import Entry

__all__ = [
    "below",
    "built_in",
    "by_default",
    "inside",
    "is_judged",
    "led_out_names",
]


def built_in(
    tool: str,
    effect: Effect,
    pattern: Pattern | None = None,
    reason: Reason = Reason.DEFAULT,
    why: str = "built in",
) -> Entry:
    """Return a line that no rule is behind."""
    return Entry(tool, effect, pattern, reason=reason, rule=f"{tool} ({why})")


def below(folder: str) -> Pattern:
    """Return the pattern of a folder and all below it."""
    return Pattern.of(Kind.PATH, [folded(folder.rstrip("/")), Gap.DEEP])


def inside(
    folders: Iterable[str], tool: str, effect: Effect, reason: Reason, why: str = "working folder"
) -> Iterator[Entry]:
    """Yield what lets *tool* do as it likes in *folders*, and *effect* where a name is odd.

    Args:
        folders: canonical.
        tool: that is let.
        effect: for a file whose name leads out of its folder, as Windows reads it.
        reason: for that effect.
        why: it may.

    """
    folders = tuple(folders)
    yield from led_out_names(folders, tool, effect, reason)
    for folder in folders:
        yield built_in(tool, Effect.ALLOW, below(folder), why=why)


def led_out_names(
    folders: Iterable[str], tool: str, effect: Effect, reason: Reason
) -> Iterator[Entry]:
    """Yield *effect* for the names in *folders* that lead out of them to Windows."""
    for folder in folders:
        yield built_in(tool, effect, leading_out(folder), reason, "odd name")


def is_judged(session: Session, mode: str) -> bool:
    """Return whether a model decides what no rule speaks of: in plans too, where there is one."""
    return mode == "auto" or (is_judged_plan(mode) and not session.no_auto)


def by_default(session: Session, mode: str) -> Reason:
    """Return why a call is asked for that no rule speaks of."""
    return Reason.CLASSIFIER if is_judged(session, mode) else Reason.DEFAULT
