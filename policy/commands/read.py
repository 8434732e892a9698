"""Reads a command that is more than a program and plain words (`policy.commands.reader`)."""

from __future__ import annotations

from collections.abc import Iterator

from policy.commands import ambiguities, bash
from policy.commands.knowledge import Shell
from policy.commands.match_texts import ExactCommand, ExactMatch, as_written, stages
from policy.commands.parts import DIFFER, NO_COMMAND, UNKNOWN, Ambiguity, Command
from policy.commands.plain import read_plain
from policy.commands.scanner import Scanner
from policy.commands.scripts import ScriptReading
from policy.commands.simple import facts_of
from policy.commands.words import ASSIGNMENT, Script
from policy.core import limits
from policy.core.values import evolve
from policy.patterns.automaton import has_half

__all__ = ["read_whole"]


def read_whole(text: str, shell: Shell) -> Command:
    """Return the parts and redirections of *text*. Never fails; grants nothing by a guess."""
    script = _read(text, shell)
    command = _command(text, script, shell)
    if script.background and shell.awaited is not None:
        return evolve(command, awaited=(*_awaited(text, shell.awaited),))
    return command


def _awaited(text: str, shell: Shell) -> Iterator[Command]:
    """Yield *text* as a foreground command, and each stage of its pipes.

    Nothing where it is ambiguous. Claude Code 2.1.329 reads no background command inside another
    statement, and no file that a stage is redirected to.
    """
    script = _read(text, shell)
    # A variable that is set to the output of a command does not stop the host here.
    script.ambiguities = [
        d for d in script.ambiguities if d.why != UNKNOWN or not ASSIGNMENT.match(d.text)
    ]
    if script.broken and all(doubt.why == NO_COMMAND for doubt in script.ambiguities):
        script.ambiguities.clear()  # some shells read what ends too soon
    if script.opaque or script.background_inside:
        return
    yield _command(text, evolve(script, background=False), shell)
    for stage in stages(text) if script.split else ():
        script = _read(stage, shell)
        if script.background and not (script.opaque or script.background_inside):
            targets = [target for target in script.targets if not target.writes]
            alone = evolve(script, background=False, targets=targets)
            yield _command(stage, alone, shell)


def _read(text: str, shell: Shell) -> Script:
    short = len(text) <= limits.COMMAND_PIECES and not has_half(text)
    script = (read_plain(text) if short else None) or _read_at_length(text, shell)
    if shell.control:
        _note_ambiguities(text, script, shell)
    if not script.opaque:
        words = (word for command in script.commands for word in command.words)
        unknown = next((word for word in words if not (word.literal or word.vetted)), None)
        if unknown is not None:
            script.note(unknown.raw, UNKNOWN)
    return script


def _command(text: str, script: Script, shell: Shell) -> Command:
    opaque = script.opaque
    if script.background:
        script.note("&", "starts a background command")
    read = ScriptReading(text, script, shell, read_whole)
    read.run()
    return Command(
        tuple(read.parts),
        tuple(read.files),
        _whole(read, opaque=opaque) if shell.control else None,
        script.unread,
        opaque or read.grantability.unchecked,
        (*dict.fromkeys((*script.ambiguities, *read.grantability.ambiguities)),),
        removing=read.nested.depth,
    )


def _note_ambiguities(text: str, script: Script, shell: Shell) -> None:
    """Note the ambiguities of *text*, however the rest of it was read."""
    script.unclosed |= ambiguities.is_misread(text) or ambiguities.is_no_expansion(text)
    odd = ambiguities.doubtful(text)
    if odd is not None and "#" in text:
        # What looks like a comment may be none to whoever cannot read the rest.
        script.commands += Scanner(text.replace("#", " ")).run().commands
        script.plain = False
    if odd is not None:
        script.note(odd, DIFFER)
    if 0 < shell.longest < len(text):
        script.ambiguities.insert(0, _long(shell))
    for command in script.commands:
        hides = "\n" in text and ambiguities.hides(command.words)
        ambiguous = bool(command.words) and facts_of(command, script, shell).ambiguous
        if command.swallowed or hides or ambiguous:
            script.note(as_written(command.words), DIFFER)


def _read_at_length(text: str, shell: Shell) -> Script:
    if not shell.syntax.structures:
        return Scanner(text).run()
    if len(text) <= shell.longest:
        script = bash.read_script(text, shell)
        if script is not None:
            script.unclosed |= shell.control and ambiguities.has_late_keyword(text)
            return script
    # Without a grammar it is not read.
    script = Scanner(text).run()
    script.ambiguities.insert(
        0, Ambiguity("", _UNREAD) if len(text) <= shell.longest else _long(shell)
    )
    script.unread = True
    script.unclosed = "((" in text
    return script


def _whole(read: ScriptReading, *, opaque: bool) -> ExactCommand:
    """Return all of what was read."""
    script, spelled = read.script, ExactMatch.AS_A_WHOLE
    split = script.split and not script.broken
    if split or script.background or read.astray or read.is_scattered:
        spelled = ExactMatch.APART
    elif "&" in read.text and (script.broken or _has_half_assignment(script)):
        spelled = ExactMatch.APART  # which command runs in the background is unknown
    elif opaque or read.grantability.unchecked:
        spelled = ExactMatch.VERBATIM
    first = script.commands[0].words if script.commands else []
    several = len(script.commands) > 1
    doubtful = opaque or read.grantability.unchecked or read.astray or read.is_scattered
    return ExactCommand(read.text, first, read.shell, spelled, read.astray, several, doubtful)


def _has_half_assignment(script: Script) -> bool:
    return any(c.words and ambiguities.has_half_assignment(c.words) for c in script.commands)


_UNREAD = "is not looked into without a grammar: the extra `bash` is not installed"


def _long(shell: Shell) -> Ambiguity:
    return Ambiguity("", f"has more than {shell.longest:,} characters, so it is not looked into")
