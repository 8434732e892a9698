"""Which commands are asked for where reads are kept in working folders (`Shell.traced`).

Such a host asks for every command of which it cannot tell which files it reads: behind a wrapper
or an assignment, a script in an argument, a change of folder, a word that is not known. Any word
of another command may be the name of a file that it reads.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from policy.commands.knowledge import Files
from policy.commands.match_texts import is_assignment
from policy.commands.opened import is_abroad, is_indirect
from policy.commands.wrappers import basename, carries_files
from policy.core import expressions as re
from policy.core.values import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from policy.commands.folders import Examined
    from policy.commands.knowledge import Shell
    from policy.commands.words import Word

__all__ = ["is_untraced", "named"]

# The name of a script.
_NAME: Final = re.compile(r"[\w./@:=+,%~][\w./@:=+,%~-]*")
# A pattern that may stand for the folder above: `.*`.
_CLIMBS: Final = re.compile(r"(?:^|/)(?:\.[^/]*[*?\[]|\[)|\[:")


def is_untraced(
    words: Sequence[Word], program: Sequence[Word], known: Examined | None, shell: Shell
) -> bool:
    """Return whether it is unknown which files a command reads.

    Args:
        words: the command.
        program: the same behind its wrappers and assignments.
        known: what is known of the program.
        shell: what the host knows of commands.

    """
    name, kinds = basename(program[0].plain), shell.kinds
    arguments = [word.plain for word in program[1:]]
    if len(program) < len(words) or is_assignment(words[0]) or name in ("xargs", "command"):
        return True
    if any(not word.literal for word in words):
        return True
    if name in kinds.movers:
        return arguments != [shell.cwd]
    if name in kinds.interpreters:
        script = arguments[1:2] if arguments[:1] == ["-m"] else arguments[:1]
        if not script or script == ["eval"] or not _NAME.fullmatch(script[0]):
            return True
    if name not in kinds.speechless and any(map(_is_elsewhere, arguments)):
        return True
    return _is_unusual_reader(program, known, shell)


def _is_elsewhere(name: str) -> bool:
    other_home = name.startswith("~") and name[1:2] not in ("", "/")
    return is_indirect(name) or is_abroad(name) or other_home or _CLIMBS.search(name) is not None


def _is_unusual_reader(program: Sequence[Word], known: Examined | None, shell: Shell) -> bool:
    """Whether a read-only program that reads files is called in a way that is not read-only."""
    of_host = shell.programs.known.get(program[0].plain)
    if of_host is None or known is None or known.harmless:
        return False
    return of_host.harmless and of_host.reads is not Files.NONE


# The value of an option or of an assignment: `--file=a`, `-fa`.
_ATTACHED: Final = re.compile(
    r"(?:--?[\w-]+|\w+)=(.*)|-[a-zA-Z]([^-].*)|-[^-](\.\.|~.*)", re.DOTALL
)


def named(words: Sequence[Word], program: Sequence[Word], shell: Shell) -> Iterator[str]:
    """Yield the names of files that a command may read, beside those that it is known to read."""
    around = len(words) - len(program)
    if program[0].plain in shell.kinds.speechless and carries_files(words, around, shell):
        return
    of_host = shell.programs.known.get(program[0].plain)
    rest = [*words[1:around], *program[1:]]
    if of_host is not None and of_host.reads is Files.BUT_LAST:
        rest = rest[:-1]
    if is_assignment(words[0]):
        rest.insert(0, words[0])
    for word in rest:
        attached = _ATTACHED.fullmatch(word.plain)
        name = (attached[1] or attached[2] or attached[3]) if attached else word.plain
        if name and name[0] != "-":
            yield name
