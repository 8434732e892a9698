"""Files that the host asks for by their names, wherever they lie: one pattern for all of a list.

A name is there once. Which letters count as which is said by
`policy.patterns.folding`, and what else a system reads as that file by `STREAM`.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

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
from policy.hosts.claude.options import Options
from policy.patterns import notations
from policy.patterns.folding import folded, with_others
from policy.patterns.pattern import Kind, Pattern
from policy.patterns.tokens import Either, Gap, Token

__all__ = [
    "disguised_files",
    "files_of_settings",
    "guarded_files",
    "guarded_last",
    "leading_out",
    "misread_files",
]

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
def disguised_files(folder: str = "") -> Pattern:
    """Return those below *folder* whose names hold what a system passes over."""
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
    return Pattern.of(Kind.PATH, (folded(folder), Gap.DEEP, Either(*names)))


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
            yield Either((), (STREAM, Gap.PART))
        if not isinstance(token, str):
            yield token


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
