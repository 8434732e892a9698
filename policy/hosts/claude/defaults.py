"""Entries that no rule stands for: guarded files, and what calls get that no rule applies to."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Final

from policy.core.decision import Reason
from policy.core.effect import Effect
from policy.core.values import evolve
from policy.hosts.claude.data import tools as known
from policy.hosts.claude.data.guarded import (
    GUARDED,
    GUARDED_FILES,
    GUARDED_LAST,
    IGNORED,
    LEADING_OUT,
    MANAGED,
    MANAGED_FILES,
    MISREAD,
    MISREAD_ENDS,
    STREAM,
)
from policy.hosts.claude.data.tools import PREAPPROVED
from policy.hosts.claude.options import ClaudeOptions
from policy.hosts.claude.rules import agent_pattern
from policy.hosts.claude.session import EDITING_MODES, ClaudeSession, is_judged_plan
from policy.hosts.claude.skills import Skill
from policy.patterns import notations
from policy.patterns.pattern import Pattern, PatternKind
from policy.patterns.tokens import Alternatives, Gap, Token, folded, with_others
from policy.tables.ruleset import Entry

__all__ = [
    "agents",
    "below",
    "built_in",
    "by_default",
    "defaults",
    "files_of_settings",
    "folders_to_enter",
    "guarded_files",
    "guarded_last",
    "inside",
    "invisible_files",
    "is_judged",
    "leading_out",
    "led_out_names",
    "misread_files",
    "removals",
    "skills_of_users",
]

# --- files that are guarded, or whose names are odd ----------------------------------

# A name of a file, or of a folder with all below it.
_Name = tuple[Token, ...]


@lru_cache(maxsize=64)
def guarded_files(folder: str = "") -> Pattern:
    """Return the files below *folder* that are asked for before they are written."""
    inside = f"{GUARDED_LAST}/**/{GUARDED_LAST}"
    folders = [_in_every_spelling(_glob(name)) for name in (*GUARDED, inside)]
    # What lies below a folder of such a name is none.
    files = (_in_every_spelling(_glob(name)[:-1]) for name in GUARDED_FILES)
    return _anywhere(folder, *folders, *files)


@lru_cache(maxsize=64)
def invisible_files(folder: str = "") -> Pattern:
    """Return those below *folder* whose names hold characters that a system ignores."""
    return _anywhere(folder, _glob(f"*[{IGNORED}]*"))


@lru_cache(maxsize=64)
def guarded_last(folder: str = "") -> Pattern:
    """Return those in the guarded folder in which one is left open."""
    return _anywhere(folder, _in_every_spelling(_glob(GUARDED_LAST)))


@lru_cache(maxsize=1)
def misread_files() -> tuple[Pattern, ...]:
    """Return the files whose names Windows reads as those of others, a pattern for each kind."""
    # What lies below one that ends as a device does is none.
    ends = _anywhere("", *(_glob(name)[:-1] for name in MISREAD_ENDS))
    return (*(_anywhere("", *map(_glob, names)) for names in MISREAD), ends)


@lru_cache(maxsize=64)
def leading_out(folder: str) -> Pattern:
    """Return the files below *folder* whose names lead out of it to Windows."""
    return _anywhere(folder, *map(_glob, LEADING_OUT))


def _anywhere(folder: str, *names: _Name) -> Pattern:
    return Pattern.of(PatternKind.PATH, (folded(folder), Gap.DEEP, Alternatives.of(*names)))


def _glob(name: str) -> _Name:
    """Return a glob behind its slash, with all below what it names."""
    (pattern,) = notations.paths("/" + name, fold=True)
    return pattern.tokens


def _in_every_spelling(name: _Name) -> _Name:
    return tuple(_spelled(name))


def _spelled(name: _Name) -> Iterator[Token]:
    for token in name:
        segments = token.split("/") if isinstance(token, str) else [""]
        for segment in filter(None, segments):
            yield "/"
            yield from with_others(segment)
            yield Alternatives.of((), (STREAM, Gap.PART))
        if not isinstance(token, str):
            yield token


def files_of_settings(options: ClaudeOptions) -> tuple[Pattern, ...]:
    """Return the patterns of settings that lie in no ``.claude``: their edits are asked for."""
    found = list(_of_administrators(MANAGED.get(options.os, MANAGED["linux"])))
    if options.flag is not None and options.flag.name.startswith("/"):
        found.append(Pattern.exactly(folded(options.flag.name), PatternKind.PATH))
    return tuple(found)


@lru_cache(maxsize=8)
def _of_administrators(folder: str) -> tuple[Pattern, ...]:
    return tuple(
        p for name in MANAGED_FILES for p in notations.paths("/" + name, folder, fold=True)
    )


# --- entries of the host ----------------------------------------------------------------


def built_in(
    tool: str,
    effect: Effect,
    pattern: Pattern | None = None,
    reason: Reason = Reason.DEFAULT,
    why: str = "built in",
) -> Entry:
    """Return an entry that comes of no rule."""
    return Entry(tool, effect, pattern, reason=reason, rule=f"{tool} ({why})")


def below(folder: str) -> Pattern:
    """Return the pattern of a folder and all below it."""
    return Pattern.of(PatternKind.PATH, [folded(folder.rstrip("/")), Gap.DEEP])


def inside(
    folders: Iterable[str], tool: str, effect: Effect, reason: Reason, why: str = "working folder"
) -> Iterator[Entry]:
    """Yield what allows *tool* everything in *folders*, and *effect* where a name is odd.

    Args:
        folders: canonical.
        tool: that is allowed.
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
        yield built_in(tool, effect, leading_out(folder), reason, "ambiguous name")


def is_judged(session: ClaudeSession, mode: str) -> bool:
    """Return whether a model decides the calls that no rule applies to: in plans too, if any."""
    return mode == "auto" or (is_judged_plan(mode) and not session.no_auto)


def by_default(session: ClaudeSession, mode: str) -> Reason:
    """Return the reason why a call is asked for that no rule applies to."""
    return Reason.CLASSIFIER if is_judged(session, mode) else Reason.DEFAULT


# --- what calls get that no rule applies to ------------------------------------------


def defaults(session: ClaudeSession, mode: str) -> Iterator[Entry]:
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
    for tool in sorted(known.UNASKED - {"Agent"} - (_JUDGED if judged else set())):
        yield built_in(tool, Effect.ALLOW, why="needs no permission")


_JUDGED: Final = frozenset({"CronCreate", "CronDelete", "ScheduleWakeup", "SendMessage"})


def _skills(session: ClaudeSession, mode: str) -> Iterator[Entry]:
    reason = by_default(session, mode)
    for skill in session.skills.values():
        if skill.asked and not skill.typed:
            for name in _names(skill):
                yield built_in("Skill", Effect.ASK, Pattern.exactly(name), reason, "lists tools")


def skills_of_users(session: ClaudeSession) -> Iterator[Entry]:
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


def folders_to_enter(session: ClaudeSession) -> Iterator[Entry]:
    """Yield what the user may enter where no rule says so."""
    # One rule that allows folders makes of all of them the only ones.
    if session.enters:
        effect = Effect.DENY if Effect.ALLOW in session.enters else Effect.ALLOW
        yield built_in(known.ENTER, effect, why="the user enters it")


def agents(session: ClaudeSession, mode: str) -> Iterator[Entry]:
    """Yield which agents there are to be started."""
    if is_judged(session, mode):
        # The model is asked before the host checks whether there is such an agent.
        yield built_in("Agent", Effect.ASK, reason=Reason.CLASSIFIER)
        return
    for name in session.agents:
        yield built_in("Agent", Effect.ALLOW, agent_pattern(name), why="needs no permission")
    if session.options.unknown_agents:
        yield built_in("Agent", Effect.ALLOW, why="may be defined elsewhere")
    else:
        yield built_in("Agent", Effect.DENY, reason=Reason.DEFAULT, why="no such agent")


def removals(session: ClaudeSession, mode: str) -> Iterator[Entry]:
    """Yield what says of every removal that it is critical, or that others decide."""
    effect = Effect.DENY if is_judged(session, mode) else Effect.ASK
    reason = Reason.PROTECTED
    for pattern in _critical(session):
        yield built_in(known.OPERAND_REMOVE, effect, pattern, reason, "critical path")
    # What a script removes that stands in an argument is asked for where a rule denies it,
    # but no rule is asked for a name that a shell might expand.
    for tokens in _EXPANDED:
        pattern = Pattern.of(PatternKind.PATH, tokens)
        yield built_in(known.OPERAND_REMOVE, Effect.ALLOW, pattern, why="no critical path")
    for entry in (line.entry for line in session.lines):
        if (entry.tool, entry.effect) == (known.OPERAND_WRITE, Effect.DENY):
            yield evolve(entry, tool=known.OPERAND_REMOVE, effect=effect, reason=reason)
    yield built_in(known.OPERAND_REMOVE, Effect.ALLOW, why="no critical path")


_EXPANDED: Final = (
    *((Gap.ANY, one, Gap.ANY) for one in "*?{}$`"),
    (Gap.ANY, "[", Gap.ANY, "]", Gap.ANY),
)


def _critical(session: ClaudeSession) -> Iterator[Pattern]:
    """Yield what must not be removed: with what an added folder is in, it must not be emptied."""
    yield Pattern.of(PatternKind.PATH, ["/", Gap.PART])
    yield Pattern.of(PatternKind.PATH, ["/", Gap.PART, "/*"])
    yield Pattern.exactly("", PatternKind.PATH)
    removed = dict.fromkeys(_upwards(session.home, session.cwd))
    for path in removed:
        yield Pattern.exactly(path, PatternKind.PATH)
    for path in dict.fromkeys((*removed, *_upwards(*session.folders))):
        yield Pattern.exactly(f"{path}/*", PatternKind.PATH)


def _upwards(*folders: str) -> Iterator[str]:
    """Yield folders, and each that they are in but for the root."""
    for folder in folders:
        path = folded(folder)
        while path:
            yield path
            path = path.rpartition("/")[0]


def known_hosts(session: ClaudeSession) -> tuple[Entry, ...]:
    """Return what allows the addresses that are fetched from without asking."""
    hosts = session.options.preapproved
    return _fetched_from(PREAPPROVED if hosts is None else hosts)


@lru_cache(maxsize=64)
def _fetched_from(hosts: tuple[str, ...]) -> tuple[Entry, ...]:
    return tuple(
        built_in("WebFetch", Effect.ALLOW, pattern, why="documentation sites")
        for name in hosts
        for pattern in (
            (Pattern.exactly(name, PatternKind.HOST),) if "/" in name else notations.hosts(name)
        )
    )
