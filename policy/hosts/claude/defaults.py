"""What calls get that no rule speaks of, and what comes before every rule."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from itertools import chain
from typing import Final

import attrs

from policy.decision import Reason
from policy.effect import Effect
from policy.hosts.claude.built_in import built_in, by_default, inside, is_judged
from policy.hosts.claude.data import tools as known
from policy.hosts.claude.data.web import PREAPPROVED
from policy.hosts.claude.modes import EDITING_MODES
from policy.hosts.claude.session import Session
from policy.hosts.claude.skills import Skill
from policy.hosts.claude.specifiers import agent_pattern
from policy.patterns import notations
from policy.patterns.folding import folded
from policy.patterns.pattern import Kind, Pattern
from policy.patterns.tokens import Gap
from policy.ruleset import Entry

__all__ = [
    "agents",
    "defaults",
    "folders_to_enter",
    "known_hosts",
    "removals",
    "skills_of_users",
]


def defaults(session: Session, mode: str) -> Iterator[Entry]:
    """Yield what is allowed, or asked for, where no rule says so."""
    judged, reason = is_judged(session, mode), by_default(session, mode)
    if judged:
        for tool in known.FILE_TOOLS["Read"]:
            yield built_in(tool, Effect.ALLOW, why=f"mode {mode}")
    for tool in (*known.READING, known.OPERAND_WRITE):
        yield from inside(session.folders, tool, Effect.ASK, reason)
    if mode in EDITING_MODES:
        for tool in (*known.FILE_TOOLS["Edit"], known.REDIRECT_OUT):
            yield from inside(session.folders, tool, Effect.ASK, reason, f"mode {mode}")
    yield from known_hosts(session)
    yield from _skills(session, mode)
    yield from agents(session, mode)
    unasked = known.UNASKED - {"Agent"}
    if judged:
        unasked = unasked - _JUDGED
    for tool in sorted(unasked):
        yield built_in(tool, Effect.ALLOW, why="needs no permission")


_JUDGED: Final = frozenset({"CronCreate", "CronDelete", "ScheduleWakeup", "SendMessage"})


def _skills(session: Session, mode: str) -> Iterator[Entry]:
    reason = by_default(session, mode)
    for skill in session.skills.values():
        if skill.asked and not skill.typed:
            for name in _names(skill):
                yield built_in("Skill", Effect.ASK, Pattern.exactly(name), reason, "lists tools")


def skills_of_users(session: Session) -> Iterator[Entry]:
    """Yield the skills that the host lets no agent invoke, whatever rules and modes say."""
    for skill in session.skills.values():
        if skill.typed:
            for name in _names(skill):
                pattern, why = Pattern.exactly(name), "for the user alone"
                yield built_in("Skill", Effect.DENY, pattern, Reason.UNAVAILABLE, why)


def _names(skill: Skill) -> Iterator[str]:
    for name in (skill.name, skill.called) if skill.called else (skill.name,):
        yield name
        yield f"/{name}"


def folders_to_enter(session: Session) -> Iterator[Entry]:
    """Yield what the user may enter where no rule says so."""
    # One rule that allows folders makes of all of them the only ones.
    if session.enters:
        effect = Effect.DENY if Effect.ALLOW in session.enters else Effect.ALLOW
        yield built_in(known.ENTER, effect, why="the user enters it")


def agents(session: Session, mode: str) -> Iterator[Entry]:
    """Yield which agents there are to be started."""
    if is_judged(session, mode):
        # The model is asked before anybody looks whether there is such an agent.
        yield built_in("Agent", Effect.ASK, reason=Reason.CLASSIFIER)
        return
    found = agent_pattern if session.options.behaves.loose_types else Pattern.exactly
    for name in session.agents:
        yield built_in("Agent", Effect.ALLOW, found(name), why="needs no permission")
    if session.options.strangers:
        yield built_in("Agent", Effect.ALLOW, why="may be defined elsewhere")
    else:
        yield built_in("Agent", Effect.DENY, reason=Reason.DEFAULT, why="no such agent")


def removals(session: Session, mode: str) -> Iterator[Entry]:
    """Yield what says of every removal that it is critical, or that others decide."""
    effect, reason = Effect.ASK, Reason.PROTECTED
    if is_judged(session, mode):
        if session.options.behaves.removals_asked:
            effect = Effect.DENY
        else:
            reason = Reason.CLASSIFIER
    for pattern in _critical(session):
        yield built_in(known.OPERAND_REMOVE, effect, pattern, reason, "critical path")
    # What a script removes that stands in an argument is asked for where a rule denies it,
    # but no rule is asked for a name that a shell might expand.
    for tokens in _EXPANDED:
        pattern = Pattern.of(Kind.PATH, tokens)
        yield built_in(known.OPERAND_REMOVE, Effect.ALLOW, pattern, why="no critical path")
    for entry in (*(line.entry for line in session.lines), *chain(*session.reopened)):
        if (entry.tool, entry.effect) == (known.OPERAND_WRITE, Effect.DENY):
            yield attrs.evolve(entry, tool=known.OPERAND_REMOVE, effect=effect, reason=reason)
    yield built_in(known.OPERAND_REMOVE, Effect.ALLOW, why="no critical path")


_EXPANDED: Final = (
    *((Gap.ANY, one, Gap.ANY) for one in "*?{}$`"),
    (Gap.ANY, "[", Gap.ANY, "]", Gap.ANY),
)


def _critical(session: Session) -> Iterator[Pattern]:
    """Yield what must not be removed: with what an added folder is in, it must not be emptied."""
    yield Pattern.of(Kind.PATH, ["/", Gap.PART])
    yield Pattern.of(Kind.PATH, ["/", Gap.PART, "/*"])
    yield Pattern.exactly("", Kind.PATH)
    removed = dict.fromkeys(_upwards(session.home, session.cwd))
    for path in removed:
        yield Pattern.exactly(path, Kind.PATH)
    for path in dict.fromkeys((*removed, *_upwards(*session.folders))):
        yield Pattern.exactly(f"{path}/*", Kind.PATH)


def _upwards(*folders: str) -> Iterator[str]:
    """Yield folders, and each that they are in but for the root."""
    for folder in folders:
        path = folded(folder)
        while path:
            yield path
            path = path.rpartition("/")[0]


def known_hosts(session: Session) -> tuple[Entry, ...]:
    """Return the addresses that are fetched from unasked."""
    hosts = session.options.preapproved
    return _fetched_from(PREAPPROVED if hosts is None else hosts)


@lru_cache(maxsize=64)
def _fetched_from(hosts: tuple[str, ...]) -> tuple[Entry, ...]:
    return tuple(
        built_in("WebFetch", Effect.ALLOW, pattern, why="known host")
        for name in hosts
        for pattern in (
            (Pattern.exactly(name, Kind.HOST),) if "/" in name else notations.hosts(name)
        )
    )
