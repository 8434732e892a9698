"""The plain reader: words, operators, redirections, and wrappers as data.

Words and operators are read by one expression (`plain.py`), all else by a scanner (`scanner.py`).
What that does not know makes the command ambiguous: no rule allows it, and a rule that denies a
part of it still does.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import attrs

from policy.commands.compound import KEYWORDS
from policy.commands.knowledge import Shell
from policy.commands.parts import DIFFER, UNKNOWN, Ambiguity, Command, CommandPart, Redirection
from policy.commands.scanner import Scanner, read_plain
from policy.commands.words import (
    Script,
    Word,
    as_written,
    is_evaluated,
    is_expanded,
    is_quoted,
    without_vanishing,
)
from policy.commands.wrappers import basename, command_prefix, is_assignment
from policy.core import limits
from policy.patterns.automaton import has_half

__all__ = ["PlainReader", "note_unknown"]

# Programs that change the folder of what follows.
_MOVERS = frozenset("cd chdir pushd popd".split())


@attrs.frozen
class PlainReader:
    """Reads commands by what a `Shell` says of wrappers."""

    shell: Shell

    def read(self, text: str) -> Command:
        """Return the parts of a command and the files it opens. Never fails."""
        short = len(text) <= limits.COMMAND_PIECES and not has_half(text)
        script = (read_plain(text) if short else None) or Scanner(text).run()
        note_unknown(script)
        ambiguities = list(script.ambiguities)
        parts, moves = [], 0
        for command in filter(None, (each.words for each in script.commands)):
            program = command[command_prefix(command, self.shell).program :]
            moves += program[0].plain in _MOVERS
            why = _ambiguity(command, program, self.shell)
            if why is not None and not script.opaque:
                ambiguities.append(why)
            parts.append(_part(command, self.shell, grantable=not (script.opaque or why)))
        files = [Redirection(target.name, target.writes) for target in script.targets]
        if files and moves:
            files += [_elsewhere(file) for file in files]
        if files and moves > 1:
            ambiguities.append(Ambiguity(text, "goes to more than one folder"))
            parts = [attrs.evolve(part, grantable=False) for part in parts]
        return Command(
            tuple(parts),
            tuple(files),
            unread=script.unread,
            opaque=script.opaque,
            ambiguities=tuple(dict.fromkeys(ambiguities)),
        )


def note_unknown(script: Script) -> None:
    """Note that a script is ambiguous where the value of a word is unknown."""
    if script.opaque:
        return
    words = (word for command in script.commands for word in command.words)
    unknown = next((word for word in words if not (word.literal or word.vetted)), None)
    if unknown is not None:
        script.note(unknown.raw, UNKNOWN)


def _elsewhere(file: Redirection) -> Redirection:
    """Return *file* as what it is after a change of folder: unknown, if it is relative."""
    relative = file.target is not None and file.target[:1] not in ("/", "~")
    return attrs.evolve(file, target=None) if relative or file.writes else file


def _ambiguity(words: Sequence[Word], program: Sequence[Word], shell: Shell) -> Ambiguity | None:
    """Return why no rule may allow a command, of which *program* is the last that it runs."""
    around = len(words) - len(program)
    if (
        around >= limits.NESTING
        or is_evaluated(program)
        or any(map(is_expanded, words[: around + 1]))
        or (len(words) > 1 and all(map(is_assignment, words)))
    ):
        return Ambiguity(as_written(words), DIFFER)
    name = words[command_prefix(words, shell).granted]
    if name.raw in KEYWORDS or is_assignment(name) or name.raw != name.plain:
        return Ambiguity(name.raw, "is no plain name of a program")
    return None


def _part(words: Sequence[Word], shell: Shell, *, grantable: bool) -> CommandPart:
    prefix, name = command_prefix(words, shell), words[0]
    text = as_written(words[prefix.granted :])
    if not (
        prefix.program
        or name.plain in shell.wrapping.names
        or basename(name.plain) != name.plain
        or is_quoted(name)
        or is_assignment(name)
    ):
        plain = " ".join([word.plain for word in words])
        return CommandPart(text, () if plain == text else (plain,), grantable)
    starts = (known for start in prefix.starts for known in _names(words[start:]))
    known = dict.fromkeys((*starts, as_written(words)))
    known.pop(text, None)
    possible = (known for start in prefix.possible for known in _names(words[start:]))
    texts = tuple(dict.fromkeys(possible)) if prefix.program else ()
    return CommandPart(text, tuple(known), grantable, possible_texts=texts)


def _names(words: Sequence[Word]) -> Iterator[str]:
    """Yield a command without quotes, without empty words, and without the folder it lies in."""
    rest = [word.plain for word in words]
    yield " ".join(rest)
    yield from without_vanishing(words)
    if "/" in rest[0]:
        yield " ".join([rest[0].rsplit("/", 1)[1], *rest[1:]])
