"""Lines that the host itself adds to what rules say, and why it asks."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from policy.decision import Reason
from policy.effect import Effect
from policy.hosts.claude.data.guarded import (
    ALIKE,
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
from policy.hosts.claude.modes import is_judged_plan
from policy.hosts.claude.options import Options
from policy.hosts.claude.session import Session
from policy.patterns import notations
from policy.patterns.folding import folded
from policy.patterns.pattern import Kind, Pattern
from policy.patterns.tokens import Gap, Token
from policy.ruleset import Entry

__all__ = [
    "below",
    "built_in",
    "by_default",
    "files_of_settings",
    "guarded_files",
    "guarded_last",
    "inside",
    "is_judged",
    "led_out_names",
    "misread_files",
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


@lru_cache(maxsize=64)
def guarded_files(folder: str = "") -> tuple[Pattern, ...]:
    """Return the patterns of files below *folder* that are asked for before they are written."""
    names = (*GUARDED, f"{GUARDED_LAST}/**/{GUARDED_LAST}", f"*[{IGNORED}]*")
    within = [pattern for name in names for pattern in _guarded(name, folder)]
    files = [pattern for name in GUARDED_FILES for pattern in _guarded(name, folder)]
    # What lies below a folder of such a name is none.
    return (*within, *(Pattern.of(each.kind, each.tokens[:-1]) for each in files))


@lru_cache(maxsize=64)
def guarded_last(folder: str = "") -> tuple[Pattern, ...]:
    """Return those of the guarded folder in which one is left open."""
    return tuple(_guarded(GUARDED_LAST, folder))


def _guarded(name: str, folder: str) -> Iterator[Pattern]:
    spellings = [name.split("/")]
    for index in range(len(spellings[0])):
        spellings += [
            [*each[:index], each[index] + STREAM, *each[index + 1 :]] for each in spellings
        ]
    for spelling in spellings if "*" not in name else spellings[:1]:
        for pattern in notations.paths("/".join(("**", *spelling)), folder, fold=True):
            yield _spelled(pattern, below=len(folder))


def _spelled(pattern: Pattern, below: int) -> Pattern:
    """Return a pattern behind whose first characters letters that look alike count as one."""
    tokens: list[Token] = []
    for token in pattern.tokens:
        if isinstance(token, str):
            tokens += (token[:below], *(ALIKE.get(each, each) for each in token[below:]))
        else:
            tokens.append(token)
        below = 0
    return Pattern.of(pattern.kind, tokens)


@lru_cache(maxsize=1)
def misread_files() -> tuple[Pattern, ...]:
    """Return the patterns of names that Windows reads as those of other files."""
    parts = [pattern for name in MISREAD for pattern in notations.paths(f"**/{name}", fold=True)]
    ends = [
        pattern for name in MISREAD_ENDS for pattern in notations.paths(f"**/{name}", fold=True)
    ]
    # What lies below one of these is none.
    return (*parts, *(Pattern.of(each.kind, each.tokens[:-1]) for each in ends))


def files_of_settings(options: Options) -> tuple[Pattern, ...]:
    """Return the patterns of settings that lie in no ``.claude``: their edits are asked for."""
    found = list(_of_administrators(MANAGED.get(options.os, MANAGED["linux"])))
    if options.flag is not None and options.flag.name.startswith("/"):
        found.append(Pattern.exactly(folded(options.flag.name), Kind.PATH))
    return tuple(found)


@lru_cache(maxsize=8)
def _of_administrators(folder: str) -> tuple[Pattern, ...]:
    return tuple(
        p for name in MANAGED_FILES for p in notations.paths("/" + name, folder, fold=True)
    )


def inside(
    session: Session, tool: str, effect: Effect, reason: Reason, why: str = "working folder"
) -> Iterator[Entry]:
    """Yield what lets *tool* do as it likes in working folders, and *effect* where a name is odd.

    Args:
        session: whose folders they are.
        tool: that is let.
        effect: for a file whose name leads out of its folder, as Windows reads it.
        reason: for that effect.
        why: it may.

    """
    yield from led_out_names(session, tool, effect, reason)
    for folder in session.folders:
        yield built_in(tool, Effect.ALLOW, below(folder), why=why)


def led_out_names(session: Session, tool: str, effect: Effect, reason: Reason) -> Iterator[Entry]:
    """Yield *effect* for the names in working folders that lead out of them to Windows."""
    for folder in session.folders:
        for pattern in _leading_out(folder):
            yield built_in(tool, effect, pattern, reason, "odd name")


@lru_cache(maxsize=64)
def _leading_out(folder: str) -> tuple[Pattern, ...]:
    names = (f"**/{name}" for name in LEADING_OUT)
    return tuple(pattern for name in names for pattern in notations.paths(name, folder, fold=True))


def is_judged(session: Session, mode: str) -> bool:
    """Return whether a model decides what no rule speaks of: in plans too, where there is one."""
    return mode == "auto" or (is_judged_plan(mode) and not session.no_auto)


def by_default(session: Session, mode: str) -> Reason:
    """Return why a call is asked for that no rule speaks of."""
    return Reason.CLASSIFIER if is_judged(session, mode) else Reason.DEFAULT
