"""What Claude Code 2.1.329 denies, asks for or allows, whatever rules say.

Entries of `policy.hosts.claude.rulesets`, in five parts: reads and edits that settings keep in
working folders, what a mode holds back, critical removals in PowerShell, what rules for `Edit` mean
for reads and for links, and which rules are left to the model in `auto`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Final

from policy.core import expressions as re
from policy.core.decision import Reason
from policy.core.effect import Effect
from policy.core.values import evolve, frozen
from policy.hosts.claude.data import tools as known
from policy.hosts.claude.data.guarded import LEFT_OPEN, LINKED
from policy.hosts.claude.data.settings import EDITS_INSIDE, FILE_READS_INSIDE, READS_INSIDE
from policy.hosts.claude.data.shell import RUN_SCRIPTS, RUNNERS, STARTERS, SYSTEM_FOLDERS
from policy.hosts.claude.defaults import (
    below,
    built_in,
    by_default,
    files_of_settings,
    guarded_files,
    guarded_last,
    inside,
    invisible_files,
    is_judged,
    led_out_names,
    misread_files,
)
from policy.hosts.claude.rules import RuleLine
from policy.hosts.claude.session import EDITING_MODES, ClaudeSession, is_plan
from policy.patterns import notations
from policy.patterns.families import within
from policy.patterns.pattern import Pattern, PatternKind
from policy.patterns.tokens import Gap, OneOf, Token, folded
from policy.tables.ruleset import Entry

__all__ = [
    "fences",
    "guards",
    "guards_before",
    "held",
    "is_left_to_model",
    "led_out",
    "lent",
    "misread",
    "power_shell_removals",
]

_READING: Final = known.FILE_TOOLS["Read"]
_EDITING: Final = known.FILE_TOOLS["Edit"]


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
        yield from guards(session, mode, Reason.CLASSIFIER if judged else Reason.PROTECTED)
    if is_plan(mode):
        held = Effect.DENY if session.asks_nobody(mode) else Effect.ASK
        yield from (built_in(tool, held) for tool in _NOT_PLANNED)


def guards(session: ClaudeSession, mode: str, reason: Reason) -> Iterator[Entry]:
    """Yield what is asked, for *reason*, before a guarded file is written."""
    opened = () if is_plan(mode) else _of_work_trees(session, mode)
    return _guards(session, Effect.ASK, reason, opened)


def guards_before(asked: Entry, session: ClaudeSession, mode: str) -> Iterator[Entry]:
    """Yield what comes of guarded files before a hook asks, as *asked* does of all others.

    Where the mode takes the guard away, such a file is not asked for at all.
    """
    opened = (
        evolve(asked, tool=tool, pattern=trees)
        for tool in known.EDITING
        for trees in notations.paths("**/" + LEFT_OPEN, fold=True)
    )
    effect = Effect.ALLOW if mode == "bypassPermissions" else Effect.ASK
    return _guards(session, effect, Reason.PROTECTED, opened)


def _guards(
    session: ClaudeSession, effect: Effect, reason: Reason, opened: Iterable[Entry]
) -> Iterator[Entry]:
    # Names with invisible characters stand behind those that people know.
    settings = files_of_settings(session.options)
    files = (*misread_files(), *settings, guarded_files(), invisible_files())
    yield from _guarded(files, effect, reason)
    yield from opened
    yield from _guarded((guarded_last(),), effect, reason)


@lru_cache(maxsize=64)
def _guarded(files: tuple[Pattern, ...], effect: Effect, reason: Reason) -> tuple[Entry, ...]:
    return tuple(
        built_in(tool, effect, pattern, reason, "guarded file")
        for tool in known.EDITING
        for pattern in files
    )


_LEFT_OPEN: Final = tuple(LEFT_OPEN.split("/"))


def _of_work_trees(session: ClaudeSession, mode: str) -> Iterator[Entry]:
    """Yield what rules and the mode allow of the one folder that no guard is on."""
    elsewhere = session.options.links.keys() - LINKED.keys()
    for line in () if elsewhere else session.lines:
        entry = line.entry
        if entry.effect is Effect.ALLOW and entry.tool in known.EDITING and not line.borrowed:
            above = entry.pattern or below("")
            for trees in within(above, _LEFT_OPEN):
                yield evolve(entry, pattern=trees)
    for folder in session.folders if mode in EDITING_MODES else ():
        for trees in notations.paths("**/" + LEFT_OPEN, folder, fold=True):
            for tool in known.EDITING:
                yield built_in(tool, Effect.ALLOW, trees, why="a work tree")


def misread(session: ClaudeSession, mode: str) -> Iterator[Entry]:
    """Yield what is asked for because a name is odd, unless every such call is allowed.

    The program lets a rule about paths allow a name that leads out of its folder. Such a
    name is asked for here, so a rule about files in a working folder allows nothing more
    than the folder does.
    """
    reason = by_default(session, mode)
    for tool in known.FILE_TOOLS["Read"] if not is_judged(session, mode) else ():
        for pattern in misread_files():
            yield built_in(tool, Effect.ASK, pattern, reason, "ambiguous name")
    for tool in (*known.READING, *known.EDITING):
        yield from led_out_names(session.folders, tool, Effect.ASK, reason)


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
