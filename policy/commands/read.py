"""A shell command, taken apart into what rules apply to."""

from __future__ import annotations

from collections.abc import Iterator

import attrs

from policy.commands import ambiguities as doubts
from policy.commands import bash
from policy.commands.compound import is_plain
from policy.commands.knowledge import Shell
from policy.commands.match_texts import Spelled, Whole, as_written, stages
from policy.commands.parts import (
    DIFFER,
    NO_COMMAND,
    UNKNOWN,
    Command,
    CommandPart,
    Doubt,
    Redirection,
)
from policy.commands.plain import read_plain
from policy.commands.scanner import Scanner
from policy.commands.scripts import ScriptReading
from policy.commands.simple import alone
from policy.commands.words import ASSIGNMENT, Script
from policy.core import limits
from policy.patterns.automaton import has_half

__all__ = [
    "Command",
    "CommandPart",
    "Redirection",
    "read_command",
]


def read_command(text: str, shell: Shell) -> Command:
    """Return the parts and redirections of *text*. Never fails; grants nothing by a guess."""
    if not 0 < shell.longest < len(text) and is_plain(text, shell):
        return Command((CommandPart(text),))
    script = _read(text, shell)
    command = _command(text, script, shell)
    if script.background and shell.awaited is not None:
        return attrs.evolve(command, awaited=(*_awaited(text, shell.awaited),))
    return command


def _awaited(text: str, shell: Shell) -> Iterator[Command]:
    """Yield what *text* would be read as if somebody waited for it, and what each stage of a pipe.

    Nothing where nobody can tell. Claude Code 2.1.329 looks no further than to what a statement
    holds that nobody waits for, and at no file that a stage is redirected to.
    """
    script = _read(text, shell)
    # A variable that is set to the output of a command does not stop the host here.
    script.doubts = [d for d in script.doubts if d.why != UNKNOWN or not ASSIGNMENT.match(d.text)]
    if script.broken and all(doubt.why == NO_COMMAND for doubt in script.doubts):
        script.doubts.clear()  # what ends too soon some read all the same
    if script.opaque or script.background_inside:
        return
    yield _command(text, attrs.evolve(script, background=False), shell)
    for stage in stages(text) if script.split else ():
        script = _read(stage, shell)
        if script.background and not (script.opaque or script.background_inside):
            targets = [target for target in script.targets if not target.writes]
            alone = attrs.evolve(script, background=False, targets=targets)
            yield _command(stage, alone, shell)


def _read(text: str, shell: Shell) -> Script:
    short = len(text) <= limits.COMMAND_PIECES and not has_half(text)
    script = (read_plain(text) if short else None) or _read_at_length(text, shell)
    if shell.control:
        _doubt(text, script, shell)
    for command in script.commands:
        unknown = next((word for word in command.words if not (word.literal or word.vetted)), None)
        if unknown is not None:
            script.doubt(unknown.raw, UNKNOWN)
    return script


def _command(text: str, script: Script, shell: Shell) -> Command:
    opaque = script.opaque
    if script.background:
        script.doubt("&", "starts what nobody waits for")
    read = ScriptReading(text, script, shell, read_command)
    read.run()
    return Command(
        tuple(read.parts),
        tuple(read.files),
        _whole(read, opaque=opaque) if shell.control else None,
        script.unread,
        opaque or read.vouching.unchecked,
        (*dict.fromkeys((*script.doubts, *read.vouching.doubts)),),
        removing=read.nested.depth,
    )


def _doubt(text: str, script: Script, shell: Shell) -> None:
    """Note what nobody vouches for, however the rest of *text* was read."""
    script.unclosed |= doubts.is_misread(text) or doubts.is_no_expansion(text)
    odd = doubts.doubtful(text)
    if odd is not None and "#" in text:
        # What looks like a comment may be none to whoever cannot read the rest.
        script.commands += Scanner(text.replace("#", " ")).run().commands
        script.plain = False
    if odd is not None:
        script.doubt(odd, DIFFER)
    if 0 < shell.longest < len(text):
        script.doubts.insert(0, _long(shell))
    for command in script.commands:
        hides = "\n" in text and doubts.hides(command.words)
        joined = bool(command.words) and alone(command, script, shell).joined
        if command.swallowed or hides or joined:
            script.doubt(as_written(command.words), DIFFER)


def _read_at_length(text: str, shell: Shell) -> Script:
    if not shell.syntax.structures:
        return Scanner(text).run()
    if len(text) <= shell.longest:
        script = bash.read_script(text, shell)
        if script is not None:
            script.unclosed |= shell.control and doubts.has_late_keyword(text)
            return script
    # Without a grammar nobody looks into it.
    script = Scanner(text).run()
    script.doubts.insert(0, Doubt("", _UNREAD) if len(text) <= shell.longest else _long(shell))
    script.unread = True
    script.unclosed = "((" in text
    return script


def _whole(read: ScriptReading, *, opaque: bool) -> Whole:
    """Return all of what was read."""
    script, spelled = read.script, Spelled.AS_A_WHOLE
    split = script.split and not script.broken
    if split or script.background or read.astray or read.is_scattered:
        spelled = Spelled.APART
    elif "&" in read.text and (script.broken or _has_half_assignment(script)):
        spelled = Spelled.APART  # who knows for which command nobody waits
    elif opaque or read.vouching.unchecked:
        spelled = Spelled.VERBATIM
    first = script.commands[0].words if script.commands else []
    several = len(script.commands) > 1
    doubtful = opaque or read.vouching.unchecked or read.astray or read.is_scattered
    return Whole(read.text, first, read.shell, spelled, read.astray, several, doubtful)


def _has_half_assignment(script: Script) -> bool:
    return any(c.words and doubts.has_half_assignment(c.words) for c in script.commands)


_UNREAD = "is not looked into without a grammar: the extra `bash` is not installed"


def _long(shell: Shell) -> Doubt:
    return Doubt("", f"has more than {shell.longest:,} characters, so it is not looked into")
