"""How Claude Code reads the calls of a session: what its modes know of commands."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from policy.commands.knowledge import FileTools, Kinds, Shell, Variables, Wrapping
from policy.core.values import evolve
from policy.hosts.claude.data import programs
from policy.hosts.claude.data import shell as commands
from policy.hosts.claude.data import tools as known
from policy.hosts.claude.data.guarded import OWN
from policy.hosts.claude.data.unchecked import GUARDED, UNCHECKED, UNEXPANDED
from policy.hosts.claude.options import VERSION
from policy.hosts.claude.session import EDITING_MODES, ClaudeSession
from policy.hosts.claude.shell.doubtful import COMPOUND
from policy.patterns.tokens import folded
from policy.tables.dialect import Dialect

_SHELL: Final = Shell(
    reader="claude",
    wrapping=Wrapping(names=programs.WRAPPING, granting=programs.GRANTING),
    variables=Variables(
        harmless=commands.VARIABLES | commands.LOCALES,
        locales=commands.LOCALES,
        texts=commands.TEXTS,
        guarded=GUARDED,
        counted=commands.COUNTED,
    ),
    files=FileTools(
        output=known.REDIRECT_OUT,
        input=known.REDIRECT_IN,
        reads=known.OPERAND_READ,
        writes=known.OPERAND_WRITE,
        removes=known.OPERAND_REMOVE,
        shadows=known.ANY_READ,
        inner=known.INNER,
    ),
    programs=programs.READ_ONLY_PROGRAMS,
    kinds=Kinds(
        scripted=frozenset({"rm", "rmdir"}),
        odd=frozenset(UNCHECKED) | UNEXPANDED | frozenset(programs.GRANTING),
        interpreters=commands.INTERPRETERS,
        movers=commands.MOVERS,
        versioning=commands.VERSIONING,
        planting=commands.PLANTING,
        repository=commands.REPOSITORY,
    ),
    whole=True,
    compound=COMPOUND,
    longest=10_000,
)
_EDITING_SHELL: Final = evolve(_SHELL, programs=programs.EDITING_PROGRAMS)


@lru_cache(maxsize=64)  # one object for all equal ones, a key of caches
def _shell_below(cwd: str, home: str, edits: bool) -> Shell:  # noqa: FBT001  # one question
    """Return what a session in the folder *cwd* knows of commands, in a mode that *edits*."""
    shell = _EDITING_SHELL if edits else _SHELL
    return evolve(shell, cwd=cwd, kept=tuple(f"{home}/{name}" for name in OWN))


def dialect(session: ClaudeSession, mode: str) -> Dialect:
    """Return how calls are read in *mode*."""
    return session.cached(("dialect", mode), lambda: _shared(_dialect(session, mode)))


@lru_cache(maxsize=64)
def _shared(dialect: Dialect) -> Dialect:
    """Return one object for all equal dialects, which tables compare often."""
    return dialect


def _dialect(session: ClaudeSession, mode: str) -> Dialect:
    options = session.options
    return Dialect(
        f"claude-code@{VERSION}",
        arguments=known.ARGUMENTS,
        inputs=known.INPUTS,
        aliases=known.ALIASES,
        aliased=False,
        shell=_shell_below(options.cwd, options.home, mode in EDITING_MODES),
        cwd=options.cwd,
        home=options.home,
        fold=True,
        cased=session.folders,
        commands=commands.ALIASES,
        links=tuple((folded(link), folded(target)) for link, target in options.links.items()),
        processes=True,
        checks=True,  # `InputValidationError`, 2.1.329
        asks=not session.denies_rest(mode),
    )
