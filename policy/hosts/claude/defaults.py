"""Entries that no rule stands for: what Claude Code 2.1.329 denies, asks for or allows by itself.

`policy.hosts.claude.rulesets` puts them in order with those of rules.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Final

from policy.core import expressions as re
from policy.core.decision import Reason
from policy.core.effect import Effect
from policy.core.values import evolve, frozen
from policy.hosts.claude.data import guarded
from policy.hosts.claude.data import tools as known
from policy.hosts.claude.data.settings import EDITS_INSIDE, FILE_READS_INSIDE, READS_INSIDE
from policy.hosts.claude.data.shell import RUN_SCRIPTS, RUNNERS, STARTERS, SYSTEM_FOLDERS
from policy.hosts.claude.options import ClaudeOptions
from policy.hosts.claude.rules import RuleLine, agent_pattern
from policy.hosts.claude.session import EDITING_MODES, ClaudeSession, is_judged_plan, is_plan
from policy.hosts.claude.skills import Skill
from policy.patterns import notations
from policy.patterns.families import within
from policy.patterns.pattern import Pattern, PatternKind
from policy.patterns.tokens import Alternatives, Gap, OneOf, Token, folded, with_others
from policy.tables.ruleset import Entry

__all__ = [
    "agents",
    "built_in",
    "by_default",
    "defaults",
    "fences",
    "held",
    "is_judged",
    "is_left_to_model",
    "led_out",
    "lent",
    "misread",
    "power_shell_removals",
    "removals",
    "skills_of_users",
]

_READING: Final = known.FILE_TOOLS["Read"]
_EDITING: Final = known.FILE_TOOLS["Edit"]


# --- files that are guarded, or whose names are odd ----------------------------------

# A name of a file, or of a folder with all below it.
_Name = tuple[Token, ...]


@lru_cache(maxsize=1)
def guarded_files() -> Pattern:
    """Return the files that are asked for before they are written."""
    inside = f"{guarded.GUARDED_LAST}/**/{guarded.GUARDED_LAST}"
    folders = [_in_every_spelling(_glob(name)) for name in (*guarded.GUARDED, inside)]
    # What lies below a folder of such a name is none.
    files = (_in_every_spelling(_glob(name)[:-1]) for name in guarded.GUARDED_FILES)
    return _anywhere(*folders, *files)


@lru_cache(maxsize=1)
def invisible_files() -> Pattern:
    """Return those whose names hold characters that a system ignores."""
    return _anywhere(_glob(f"*[{guarded.IGNORED}]*"))


@lru_cache(maxsize=1)
def guarded_last() -> Pattern:
    """Return those in the guarded folder in which one is left open."""
    return _anywhere(_in_every_spelling(_glob(guarded.GUARDED_LAST)))


@lru_cache(maxsize=1)
def misread_files() -> tuple[Pattern, ...]:
    """Return the files whose names Windows reads as those of others, a pattern for each kind."""
    # What lies below one that ends as a device does is none.
    ends = _anywhere(*(_glob(name)[:-1] for name in guarded.MISREAD_ENDS))
    return (*(_anywhere(*map(_glob, names)) for names in guarded.MISREAD), ends)


@lru_cache(maxsize=1)
def leading_out() -> Pattern:
    """Return the files whose names lead out of their folder to Windows."""
    return _anywhere(*map(_glob, guarded.LEADING_OUT))


def _anywhere(*names: _Name) -> Pattern:
    return Pattern.of(PatternKind.PATH, (Gap.DEEP, Alternatives.of(*names)))


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
            yield Alternatives.of((), (guarded.STREAM, Gap.PART))
        if not isinstance(token, str):
            yield token


def files_of_settings(options: ClaudeOptions) -> tuple[Pattern, ...]:
    """Return the patterns of settings that lie in no ``.claude``: their edits are asked for."""
    given = options.flag.name if options.flag is not None else ""
    flag = (Pattern.exactly(folded(given), PatternKind.PATH),) if given.startswith("/") else ()
    return (*_of_administrators(), *flag)


@lru_cache(maxsize=1)
def _of_administrators() -> tuple[Pattern, ...]:
    return tuple(
        pattern
        for folder in guarded.MANAGED.values()
        for name in guarded.MANAGED_FILES
        for pattern in notations.paths("/" + name, folder, fold=True)
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
    yield built_in(tool, effect, leading_out(), reason, "ambiguous name")
    for folder in folders:
        yield built_in(tool, Effect.ALLOW, below(folder), why=why)


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
        for tool in _READING:
            yield built_in(tool, Effect.ALLOW, why=f"mode {mode}")
    for tool in (*known.READING, known.OPERAND_WRITE):
        yield from inside(session.folders, tool, Effect.ASK, reason)
    if mode in EDITING_MODES:
        for tool in (*_EDITING, known.REDIRECT_OUT):
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
    return _fetched_from(known.PREAPPROVED if hosts is None else hosts)


@lru_cache(maxsize=64)
def _fetched_from(hosts: tuple[str, ...]) -> tuple[Entry, ...]:
    return tuple(
        built_in("WebFetch", Effect.ALLOW, pattern, why="documentation sites")
        for name in hosts
        for pattern in (
            (Pattern.exactly(name, PatternKind.HOST),) if "/" in name else notations.hosts(name)
        )
    )


# --- reads and edits that settings keep in working folders ---------------------------


@frozen
class Fence:
    """The entries of one setting.

    Attributes:
        entries: in order.
        traces: whether a command is asked for if the files that it reads cannot be told.
    """

    entries: tuple[Entry, ...]
    traces: bool = False


def fences(session: ClaudeSession) -> Iterator[Fence]:
    """Yield the fence of each setting that is on."""
    if READS_INSIDE in session.fences:
        yield Fence(tuple(_reads(session, session.fences[READS_INSIDE])), traces=True)
    if EDITS_INSIDE in session.fences:
        yield Fence(tuple(_edits(session.fences[EDITS_INSIDE])))
    if FILE_READS_INSIDE in session.fences:
        # Who edits a file reads it; of commands this says nothing.
        folders = session.fences[FILE_READS_INSIDE]
        yield Fence(tuple(_denied(folders, (*_READING, *_EDITING), "outside reads are blocked")))


def _denied(folders: Iterable[str], tools: Iterable[str], why: str) -> Iterator[Entry]:
    for tool in tools:
        yield from inside(folders, tool, Effect.DENY, Reason.PROTECTED)
        yield built_in(tool, Effect.DENY, reason=Reason.PROTECTED, why=why)


def _reads(session: ClaudeSession, folders: Iterable[str]) -> Iterator[Entry]:
    # Any word of a command may be the name of a file that a rule denies.
    for line in session.lines:
        if (line.entry.tool, line.entry.effect) == (known.OPERAND_READ, Effect.DENY):
            yield line.entry
    for tool in known.READING:
        # What a tool may not read, a command asks for.
        effect = Effect.DENY if tool in _READING else Effect.ASK
        yield from inside(folders, tool, effect, Reason.PROTECTED)
        yield built_in(tool, effect, reason=Reason.PROTECTED, why="outside reads are blocked")


def _edits(folders: Iterable[str]) -> Iterator[Entry]:
    """Yield what keeps edits inside, and denies those of settings, which could lift that."""
    for tool in _EDITING:
        for pattern in notations.paths("**/.claude/settings*.json", fold=True):
            yield built_in(tool, Effect.DENY, pattern, Reason.PROTECTED, "settings are kept")
    yield from _denied(folders, _EDITING, "outside edits are blocked")


# --- what a mode holds back, whatever rules allow ------------------------------------

# What a plan changes only after it was agreed to, whatever rules allow.
_NOT_PLANNED: Final = ("Edit", "Write", "NotebookEdit", "mcp__*")


def held(session: ClaudeSession, mode: str) -> Iterator[Entry]:
    """Yield what the host guards, and what it asks for until a plan is agreed to."""
    judged = is_judged(session, mode)
    if session.guarded:
        yield from _guards(session, mode, Reason.CLASSIFIER if judged else Reason.PROTECTED)
    if is_plan(mode):
        held = Effect.DENY if session.asks_nobody(mode) else Effect.ASK
        yield from (built_in(tool, held) for tool in _NOT_PLANNED)


def _guards(session: ClaudeSession, mode: str, reason: Reason) -> Iterator[Entry]:
    """Yield what is asked, for *reason*, before a guarded file is written."""
    # Names with invisible characters stand behind those that people know.
    settings = files_of_settings(session.options)
    yield from _guarded((*misread_files(), *settings, guarded_files(), invisible_files()), reason)
    if not is_plan(mode):
        yield from _of_work_trees(session, mode)
    yield from _guarded((guarded_last(),), reason)


@lru_cache(maxsize=64)
def _guarded(files: tuple[Pattern, ...], reason: Reason) -> tuple[Entry, ...]:
    return tuple(
        built_in(tool, Effect.ASK, pattern, reason, "guarded file")
        for tool in known.EDITING
        for pattern in files
    )


_LEFT_OPEN: Final = tuple(guarded.LEFT_OPEN.split("/"))


def _of_work_trees(session: ClaudeSession, mode: str) -> Iterator[Entry]:
    """Yield what rules and the mode allow of the one folder that no guard is on."""
    elsewhere = session.options.links.keys() - guarded.LINKED.keys()
    for line in () if elsewhere else session.lines:
        entry = line.entry
        if entry.effect is Effect.ALLOW and entry.tool in known.EDITING and not line.borrowed:
            above = entry.pattern or below("")
            for trees in within(above, _LEFT_OPEN):
                yield evolve(entry, pattern=trees)
    for folder in session.folders if mode in EDITING_MODES else ():
        for trees in notations.paths("**/" + guarded.LEFT_OPEN, folder, fold=True):
            for tool in known.EDITING:
                yield built_in(tool, Effect.ALLOW, trees, why="a worktree")


def misread(session: ClaudeSession, mode: str) -> Iterator[Entry]:
    """Yield what is asked for because a name is odd, unless every such call is allowed.

    The program lets a rule about paths allow a name that leads out of its folder. Such a
    name is asked for here, so a rule about files in a working folder allows nothing more
    than the folder does.
    """
    reason = by_default(session, mode)
    for tool in _READING if not is_judged(session, mode) else ():
        for pattern in misread_files():
            yield built_in(tool, Effect.ASK, pattern, reason, "ambiguous name")
    for tool in (*known.READING, *known.EDITING):
        yield built_in(tool, Effect.ASK, leading_out(), reason, "ambiguous name")


# --- critical removals in PowerShell (documented, not observed) ----------------------

_LETTERS: Final = OneOf(frozenset("abcdefghijklmnopqrstuvwxyz"))
_BEFORE: Final = OneOf(frozenset(" '\""))
_SLASH: Final = OneOf(frozenset("/\\"))


@lru_cache(maxsize=1)
def power_shell_removals() -> tuple[Entry, ...]:
    """Return the removals that no mode allows: all of a folder, and the system's own."""
    drive: tuple[Token, ...] = (_BEFORE, _LETTERS, ":", _SLASH)
    targets: list[tuple[Token, ...]] = [
        (_SLASH, "*", Gap.ANY),
        (" *",),
        drive,
        (*drive, OneOf(frozenset(" '\"")), Gap.ANY),
        (_BEFORE, "/"),
        (_BEFORE, "~"),
    ]
    targets += ((*drive, folder, Gap.ANY) for folder in SYSTEM_FOLDERS)
    return tuple(
        Entry(
            "PowerShell",
            Effect.DENY,
            Pattern.of(PatternKind.TEXT, ["remove-item", Gap.ANY, *target]),
            reason=Reason.PROTECTED,
            rule="PowerShell (critical path)",
        )
        for target in targets
    )


# --- what a rule for `Edit` means for reads, and for files behind links --------------

# A file that a rule allows to edit may be read, unless the edit would be held back: by another path
# rule, or since the file is guarded. A rule for every edit allows no reads, and takes none back
# (2.1.329, observed).


def lent(session: ClaudeSession, mode: str) -> Iterator[Entry]:
    """Yield what may be read since rules allow to edit it."""
    lending = [line.entry for line in session.lines if line.borrowed]
    if not lending or is_judged(session, mode):
        return  # where a model judges, every file may be read
    kept = [*_kept(session), *files_of_settings(session.options)]
    # What is kept where a link leads to is kept under the name of the link.
    for link, target in session.options.links.items():
        if any(_may_share(_beginning(pattern), folded(target)) for pattern in kept):
            kept.append(below(link))
    kept += (guarded_files(), invisible_files(), guarded_last())
    reason = by_default(session, mode)
    for tool in _READING:
        for pattern in kept:
            yield built_in(tool, Effect.ASK, pattern, reason, "is not edited")
    yield from lending


def _kept(session: ClaudeSession) -> Iterator[Pattern]:
    """Yield what path rules for `Edit` deny or ask for."""
    for entry in (line.entry for line in session.lines):
        is_kept = entry.tool == "Edit" and entry.effect is not Effect.ALLOW and not entry.field
        # What may not be read at all is decided before.
        if is_kept and entry.pattern is not None and not entry.rule.startswith("Read"):
            yield entry.pattern


def _beginning(pattern: Pattern) -> str:
    first = pattern.tokens[0] if pattern.tokens else ""
    return first if isinstance(first, str) else ""


def _may_share(one: str, other: str) -> bool:
    """Return whether files of one beginning may be in a folder, or hold it."""
    return f"{one}/".startswith(f"{other}/") or other.startswith(one)


def led_out(session: ClaudeSession) -> Iterator[Entry]:
    """Yield what asks for edits through links that lead out.

    In the program two rules about paths lift that: one that applies to the name of the link, and
    one to the file that it leads to.
    """
    for link, target in session.options.links.items():
        if not any(f"{target}/".startswith(f"{folder}/") for folder in session.folders):
            for tool in _EDITING:
                yield built_in(tool, Effect.ASK, below(link), Reason.PROTECTED, "a link leads out")


# --- rules that are left to the model where one judges (2.1.329) ---------------------

# In `auto` a rule with a star allows nothing where what stands before the star may lead to a
# program that runs what it is told to: an interpreter, a runner, or what starts another program.
# Nor does it where that is no plain name of another program.

# Names as they are written, with their versions.
_NAMES: Final = RUNNERS | STARTERS | {"python2", "python3"}
_OTHER: Final = re.compile(r"(?![-\d]|/+\w )([\w./~+-]*[a-z][\w.+-]*) ", re.ASCII | re.IGNORECASE)


def is_left_to_model(line: RuleLine) -> bool:
    """Return whether a rule that allows is left to the model, where one judges."""
    entry = line.entry
    if entry.tool not in ("Bash", "Monitor"):
        return False
    if entry.pattern is None:
        return True
    text = entry.rule.partition("(")[2].removesuffix(")")
    plain, runs = _plain(text), RUNNERS | RUN_SCRIPTS
    if "*" not in text:
        return plain in runs
    other = _OTHER.match(re.sub(r":\*\Z", " *", text))
    if other is None or _program(other[1]) in _NAMES:
        return True
    begun = tuple(f"{runner}{end}" for runner in runs for end in (" *", ":*", "*", " -"))
    return plain.startswith(begun)


def _plain(text: str) -> str:
    """Return *text* with single blanks and stars, its program by its bare name."""
    text = re.sub(r"[ \t]+", " ", text.strip().lower())
    text = re.sub(r"\*[ *]*\*", "*", text)
    program = re.match(r"""(?:"[^"*]*"|'[^'*]*'|[^ *='"])+?(?= |:\*\Z|\Z)""", text)
    if program:
        text = _program(_unquoted(program[0])) + text[program.end() :]
    return _unquoted(text)


def _program(name: str) -> str:
    """Return the bare name of a program: without folders, version and suffix."""
    bare = re.sub(r"\A.*[\\/]", "", name, flags=re.DOTALL).lower()
    found = re.match(r"(.*?[^\d.])?[\d.]*(?:\.exe)?\Z", bare, re.ASCII | re.DOTALL)
    return (found[1] or "") if found else bare


def _unquoted(text: str) -> str:
    return text.replace("'", "").replace('"', "")
