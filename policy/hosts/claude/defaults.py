"""Entries without a rule: what Claude Code 2.1.329 denies, asks for or allows by itself.

`policy.hosts.claude.rulesets` puts them in order with those of rules.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache, lru_cache
from typing import Final

from policy.core import expressions as re
from policy.core.decision import Reason
from policy.core.effect import Effect
from policy.core.values import evolve
from policy.hosts.claude.data import guarded
from policy.hosts.claude.data import tools as known
from policy.hosts.claude.data.shell import LAUNCHERS, RUN_SCRIPTS, RUNNERS, SYSTEM_FOLDERS
from policy.hosts.claude.paths import within
from policy.hosts.claude.rules import RuleLine, agent_pattern
from policy.hosts.claude.session import EDITING_MODES, ClaudeSession, is_plan
from policy.hosts.claude.skills import Skill
from policy.patterns import notations
from policy.patterns.pattern import Pattern, PatternKind
from policy.patterns.tokens import Alternatives, Gap, OneOf, Token, folded
from policy.tables.ruleset import Entry

_READING: Final = known.FILE_TOOLS["Read"]
_EDITING: Final = known.FILE_TOOLS["Edit"]


def _names(
    globs: Iterable[str], *, below: bool = True, spelled: bool = False
) -> Iterator[tuple[Token, ...]]:
    """Yield the tokens of *globs*, with all *below* them, or as systems may have *spelled* them."""
    for glob in globs:
        (pattern,) = notations.paths("/" + glob, fold=True)
        tokens = pattern.tokens if below else pattern.tokens[:-1]
        yield tuple(_spelled(tokens)) if spelled else tokens


# Letters whose capital or small letter is in ASCII: `i` without a dot, long `s`, the kelvin sign.
_OTHERS = {each[0]: OneOf(frozenset(each)) for each in ("i\u0131", "s\u017f", "k\u212a")}


def with_others(text: str) -> Iterator[Token]:
    """Yield *text* in lower case, with a set for each letter that some programs read for others."""
    for letter in folded(text):
        yield _OTHERS.get(letter, letter)


def _spelled(name: Iterable[Token]) -> Iterator[Token]:
    for token in name:
        for segment in filter(None, token.split("/") if isinstance(token, str) else ()):
            yield "/"
            yield from with_others(segment)
            yield Alternatives.of((), (guarded.STREAM, Gap.PART))
        if not isinstance(token, str):
            yield token


def _anywhere(names: Iterable[tuple[Token, ...]]) -> Pattern:
    return Pattern.of(PatternKind.PATH, (Gap.DEEP, Alternatives.of(*names)))


@cache
def _guarded_files() -> tuple[Pattern, ...]:
    """Return the files that are asked for before they are written."""
    inside = f"{guarded.GUARDED_LAST}/**/{guarded.GUARDED_LAST}"
    folders = _names((*guarded.GUARDED, inside), spelled=True)
    files = _names(guarded.GUARDED_FILES, below=False, spelled=True)
    of_administrators = (
        pattern
        for folder in guarded.MANAGED.values()
        for name in guarded.MANAGED_FILES
        for pattern in notations.paths("/" + name, folder, fold=True)
    )
    # Names with ignored characters come behind those that people know.
    invisible = _anywhere(_names([f"*[{guarded.IGNORED}]*"]))
    return (*_misread_files(), *of_administrators, _anywhere((*folders, *files)), invisible)


@cache
def _guarded_last() -> tuple[Pattern, ...]:
    """Return the files in the guarded folder that contains an unguarded one."""
    return (_anywhere(_names([guarded.GUARDED_LAST], spelled=True)),)


@cache
def _misread_files() -> tuple[Pattern, ...]:
    """Return the files whose names Windows reads as other names, a pattern for each kind."""
    # A file below the name of a device is not misread.
    ends = _anywhere(_names(guarded.MISREAD_ENDS, below=False))
    return (*(_anywhere(_names(globs)) for globs in guarded.MISREAD), ends)


@cache
def _leading_out() -> Pattern:
    """Return the files whose names lead out of their folder on Windows."""
    return _anywhere(_names(guarded.LEADING_OUT))


def built_in(
    tool: str,
    effect: Effect,
    pattern: Pattern | None = None,
    reason: Reason = Reason.DEFAULT,
    why: str = "built in",
) -> Entry:
    """Return an entry without a rule."""
    return Entry(tool, effect, pattern, reason=reason, rule=f"{tool} ({why})")


def below(folder: str) -> Pattern:
    """Return the pattern of a folder and all below it."""
    return Pattern.of(PatternKind.PATH, [folded(folder.rstrip("/")), Gap.DEEP])


def inside(
    folders: Iterable[str], tool: str, effect: Effect, reason: Reason, why: str = "working folder"
) -> Iterator[Entry]:
    """Yield entries that allow *tool* in *folders*; a name that leads out of them gets *effect*."""
    yield built_in(tool, effect, _leading_out(), reason, "ambiguous name")
    for folder in folders:
        yield built_in(tool, Effect.ALLOW, below(folder), why=why)


def defaults(session: ClaudeSession, mode: str) -> Iterator[Entry]:
    """Yield the entries for calls that no rule matches."""
    judged, reason = session.is_judged(mode), session.reason(mode)
    if judged:
        for tool in _READING:
            yield built_in(tool, Effect.ALLOW, why=f"mode {mode}")
    for tool in (*known.READING, known.OPERAND_WRITE):
        yield from inside(session.folders, tool, Effect.ASK, reason)
    if mode in EDITING_MODES:
        for tool in (*_EDITING, known.REDIRECT_OUT):
            yield from inside(session.folders, tool, Effect.ASK, reason, f"mode {mode}")
    hosts = session.options.preapproved
    yield from _fetched_from(known.PREAPPROVED if hosts is None else hosts)
    for skill in session.skills.values():
        if skill.asked and not skill.typed:
            for name in _skill_names(skill):
                yield built_in("Skill", Effect.ASK, Pattern.exactly(name), reason, "lists tools")
    yield from agents(session, mode)
    for tool in sorted(known.UNASKED - {"Agent"} - (_JUDGED if judged else frozenset())):
        yield built_in(tool, Effect.ALLOW, why="needs no permission")


_JUDGED: Final = frozenset({"CronCreate", "CronDelete", "ScheduleWakeup", "SendMessage"})


def skills_of_users(session: ClaudeSession) -> Iterator[Entry]:
    """Yield denials of the skills that only a user may invoke, whatever rules and modes say."""
    for skill in session.skills.values():
        if skill.typed:
            for name in _skill_names(skill):
                pattern, why = Pattern.exactly(name), "for the user alone"
                yield built_in("Skill", Effect.DENY, pattern, Reason.UNAVAILABLE, why)


def _skill_names(skill: Skill) -> Iterator[str]:
    for name in filter(None, (skill.name, skill.called)):
        yield from (name, f"/{name}")


def agents(session: ClaudeSession, mode: str) -> Iterator[Entry]:
    """Yield the entries for starting agents."""
    if session.is_judged(mode):
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
    """Yield the entries for removals: critical ones first, and then all others."""
    effect = Effect.DENY if session.is_judged(mode) else Effect.ASK
    reason, tool = Reason.PROTECTED, known.OPERAND_REMOVE
    for tokens in _critical(session):
        pattern = Pattern.of(PatternKind.PATH, tokens)
        yield built_in(tool, effect, pattern, reason, "critical path")
    # A deny rule applies to the removals of a nested script, except to names with expansions.
    expanded = [(Gap.ANY, one, Gap.ANY) for one in "*?{}$`"]
    for tokens in (*expanded, (Gap.ANY, "[", Gap.ANY, "]", Gap.ANY)):
        pattern = Pattern.of(PatternKind.PATH, tokens)
        yield built_in(tool, Effect.ALLOW, pattern, why="no critical path")
    for entry in (line.entry for line in session.lines):
        if (entry.tool, entry.effect) == (known.OPERAND_WRITE, Effect.DENY):
            yield evolve(entry, tool=tool, effect=effect, reason=reason)
    yield built_in(tool, Effect.ALLOW, why="no critical path")


def _critical(session: ClaudeSession) -> Iterator[tuple[Token, ...]]:
    """Yield the paths that must not be removed, and the folders that must not be emptied."""
    yield from (("/", Gap.PART), ("/", Gap.PART, "/*"), ("",))
    removed = dict.fromkeys(_upwards(session.options.home, session.options.cwd))
    yield from ((path,) for path in removed)
    emptied = dict.fromkeys((*removed, *_upwards(*session.folders)))
    yield from ((f"{path}/*",) for path in emptied)


def _upwards(*folders: str) -> Iterator[str]:
    """Yield *folders*, and the folders above each but the root."""
    for folder in folders:
        path = folded(folder)
        while path:
            yield path
            path = path.rpartition("/")[0]


@lru_cache(maxsize=64)
def _fetched_from(hosts: tuple[str, ...]) -> tuple[Entry, ...]:
    return tuple(
        built_in("WebFetch", Effect.ALLOW, pattern, why="documentation sites")
        for name in hosts
        for pattern in (
            (Pattern.exactly(name, PatternKind.HOST),) if "/" in name else notations.hosts(name)
        )
    )


def reads_inside(session: ClaudeSession) -> Iterator[Entry]:
    """Yield the entries that keep reads in working folders."""
    # Any word of a command may be the name of a file that a rule denies.
    for line in session.lines:
        if (line.entry.tool, line.entry.effect) == (known.OPERAND_READ, Effect.DENY):
            yield line.entry
    for tool in known.READING:
        # A file tool is denied, a command is asked for.
        effect = Effect.DENY if tool in _READING else Effect.ASK
        yield from inside(session.fenced, tool, effect, Reason.PROTECTED)
        yield built_in(tool, effect, reason=Reason.PROTECTED, why="outside reads are blocked")


def edits_inside(session: ClaudeSession) -> Iterator[Entry]:
    """Yield the entries that keep edits in working folders, and deny edits of settings."""
    for tool in _EDITING:
        for pattern in notations.paths("**/.claude/settings*.json", fold=True):
            yield built_in(tool, Effect.DENY, pattern, Reason.PROTECTED, "settings are kept")
    for tool in _EDITING:
        yield from inside(session.fenced, tool, Effect.DENY, Reason.PROTECTED)
        yield built_in(tool, Effect.DENY, reason=Reason.PROTECTED, why="outside edits are blocked")


def before_allow_rules(session: ClaudeSession, mode: str) -> Iterator[Entry]:
    """Yield the entries before allow rules: for guarded files, and in a plan for all edits."""
    if session.guarded:
        yield from _guards(session, mode)
    if is_plan(mode):
        effect = Effect.DENY if session.never_asks(mode) else Effect.ASK
        yield from (built_in(tool, effect) for tool in ("Edit", "Write", "NotebookEdit", "mcp__*"))


def _guards(session: ClaudeSession, mode: str) -> Iterator[Entry]:
    """Yield the entries that ask before a guarded file is written."""
    reason = Reason.CLASSIFIER if session.is_judged(mode) else Reason.PROTECTED
    given = session.options.flag
    if given is not None and given.name.startswith("/"):
        settings = Pattern.exactly(folded(given.name), PatternKind.PATH)
        yield from _guarded((settings,), reason)
    yield from _guarded(_guarded_files(), reason)
    if not is_plan(mode):
        yield from _in_worktrees(session, mode)
    yield from _guarded(_guarded_last(), reason)


@lru_cache(maxsize=64)
def _guarded(files: tuple[Pattern, ...], reason: Reason) -> tuple[Entry, ...]:
    return tuple(
        built_in(tool, Effect.ASK, pattern, reason, "guarded file")
        for tool in known.EDITING
        for pattern in files
    )


def _in_worktrees(session: ClaudeSession, mode: str) -> Iterator[Entry]:
    """Yield what rules and the mode allow in the one unguarded folder, `.claude/worktrees`."""
    # The real name of a file behind a link may be another than rules were read for.
    leads = any(_may_lead_in(session, *link) for link in session.options.links.items())
    for line in () if leads else session.lines:
        entry = line.entry
        if entry.effect is Effect.ALLOW and entry.tool in known.EDITING:
            above = entry.pattern or below("")
            for trees in within(above, tuple(guarded.LEFT_OPEN.split("/"))):
                yield evolve(entry, pattern=trees)
    for folder in session.folders if mode in EDITING_MODES else ():
        for trees in notations.paths("**/" + guarded.LEFT_OPEN, folder, fold=True):
            for tool in known.EDITING:
                yield built_in(tool, Effect.ALLOW, trees, why="a worktree")


def _may_lead_in(session: ClaudeSession, link: str, target: str) -> bool:
    """Return whether a link may lead into `.claude`, or lies in it."""
    if link in guarded.LINKED:
        return False
    is_inside = any(link.startswith(f"{folder}/") for folder in session.folders)
    is_above = any(f"{folder}/".startswith(f"{target.rstrip('/')}/") for folder in session.folders)
    return not is_inside or is_above or guarded.GUARDED_LAST in f"{link} {target}".lower()


def misread(session: ClaudeSession, mode: str) -> Iterator[Entry]:
    """Yield the entries that ask for ambiguous names of files.

    In the program a rule about paths allows a name that leads out of its folder.
    """
    reason = session.reason(mode)
    for tool in _READING if not session.is_judged(mode) else ():
        for pattern in _misread_files():
            yield built_in(tool, Effect.ASK, pattern, reason, "ambiguous name")
    for tool in (*known.READING, *known.EDITING):
        yield built_in(tool, Effect.ASK, _leading_out(), reason, "ambiguous name")


_LETTERS: Final = OneOf(frozenset("abcdefghijklmnopqrstuvwxyz"))
_BEFORE: Final = OneOf(frozenset(" '\""))
_SLASH: Final = OneOf(frozenset("/\\"))


@cache
def power_shell_removals() -> tuple[Entry, ...]:
    """Return the removals that no mode allows (documented, not observed)."""
    drive: tuple[Token, ...] = (_BEFORE, _LETTERS, ":", _SLASH)
    targets: list[tuple[Token, ...]] = [
        (_SLASH, "*", Gap.ANY),
        (" *",),
        drive,
        (*drive, _BEFORE, Gap.ANY),
        (_BEFORE, "/"),
        (_BEFORE, "~"),
        *((*drive, folder, Gap.ANY) for folder in SYSTEM_FOLDERS),
    ]
    return tuple(
        built_in("PowerShell", Effect.DENY, pattern, Reason.PROTECTED, "critical path")
        for target in targets
        for pattern in [Pattern.of(PatternKind.TEXT, ["remove-item", Gap.ANY, *target])]
    )


def edits_by_links(session: ClaudeSession) -> Iterator[Entry]:
    """Yield the entries that ask for edits by links to files outside the working folders."""
    for link, target in session.options.links.items():
        if not any(f"{target}/".startswith(f"{folder}/") for folder in session.folders):
            for tool in _EDITING:
                yield built_in(tool, Effect.ASK, below(link), Reason.PROTECTED, "a link leads out")


# Names of programs as written, with versions.
_RUN_OTHERS: Final = RUNNERS | LAUNCHERS | {"python2", "python3"}
_OTHER: Final = re.compile(r"(?![-\d]|/+\w )([\w./~+-]*[a-z][\w.+-]*) ", re.ASCII | re.IGNORECASE)
_QUOTES: Final = str.maketrans("", "", "'\"")


def is_left_to_model(line: RuleLine) -> bool:
    """Return whether an allow rule does not count in `auto`, where a model judges (2.1.329).

    In `auto` a rule with a star counts only behind the plain name of a program that runs no other:
    no interpreter, no runner, nothing that starts programs.
    """
    entry = line.entry
    if entry.tool not in ("Bash", "Monitor"):
        return False
    if entry.pattern is None:
        return True
    text, runs = entry.rule.partition("(")[2].removesuffix(")"), RUNNERS | RUN_SCRIPTS
    # With single blanks and stars, its program by its bare name.
    command = re.sub(r"[ \t]+", " ", text.strip().lower()).translate(_QUOTES)
    command = re.sub(r"\*[ *]*\*", "*", command)
    if "*" not in text:
        return _program(command) in runs
    other = _OTHER.match(re.sub(r":\*\Z", " *", text))
    if other is None or _program(other[1]) in _RUN_OTHERS:
        return True
    first, blank, rest = command.partition(" ")
    starts = tuple(run + end for run in runs for end in (" *", ":*", "*", " -"))
    return (_program(first) + blank + rest).startswith(starts)


def _program(name: str) -> str:
    """Return the bare name of a program: without folders, version and suffix."""
    bare = re.sub(r"\A.*[\\/]", "", name, flags=re.DOTALL).lower()
    found = re.match(r"(.*?[^\d.])?[\d.]*(?:\.exe)?\Z", bare, re.ASCII | re.DOTALL)
    return (found[1] or "") if found else bare
