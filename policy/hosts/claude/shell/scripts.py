"""Reads one script: which of its commands a rule may allow, and the files that they open."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from policy.commands.knowledge import Shell
from policy.commands.read import Scanner, note_unknown, read_plain
from policy.commands.reader import (
    DIFFER,
    NO_COMMAND,
    Ambiguity,
    CommandPart,
    has_half,
)
from policy.commands.words import Script, SimpleCommand, Word, as_written
from policy.core import expressions as re
from policy.core import limits
from policy.core.values import Final, Literal, evolve
from policy.hosts.claude.shell import bash
from policy.hosts.claude.shell.match_texts import (
    MORE,
    ClaudeCommand,
    ClaudeRedirection,
    WholeCommand,
    as_text,
    is_requoted,
)
from policy.hosts.claude.shell.programs import (
    SEVERAL,
    Examined,
    FolderChanges,
    plants,
    somewhere,
)
from policy.hosts.claude.shell.simple import (
    GUARDED,
    AutoAllowed,
    CommandFacts,
    Texts,
    doubtful,
    facts_of,
    has_background,
    has_half_assignment,
    has_late_keyword,
    hides,
    is_misread,
    is_no_expansion,
    is_unchecked_target,
    may_give_removal,
    redirected,
    removes_unknown,
    sets_in_pipe,
    with_text,
)

__all__ = ["read_whole"]


_CHANGES = "may change how the rest is read, or run what it names"
# Changes of the folder that are followed into a script; behind more its folder is unknown.
_FOLLOWED = 8


class ScriptReading:
    """Reads one script: its parts, and the files they open.

    Attributes:
        parts: its simple commands.
        files: what they open.
        astray: whether one of them names several folders to go to.
        ambiguities: why no rule may allow some, beside the ambiguities of the script.
        unchecked: whether one of them is such that no rule may allow any.
    """

    def __init__(
        self, text: str, script: Script, shell: Shell, read: Callable[[str, Shell], ClaudeCommand]
    ) -> None:
        self.text = text
        self.script = script
        self.shell = shell
        self.parts: list[CommandPart] = []
        self.files = [*redirected(script.targets)]
        self._redirected = len(self.files)
        self.astray = False
        self.ambiguities: list[Ambiguity] = []
        self.unchecked = is_unchecked_target(script.targets)
        self._moves = FolderChanges(text, shell)
        self._moved: list[str] = []  # the commands that change the folder
        self._read = read
        self._empties = False  # whether all of a folder is removed that its name does not tell
        self._opaque = script.opaque
        self._versioned = False  # whether one of them looks for a repository
        self._planted: list[str] = []  # what they may write of one
        self._exports = False  # whether one changes the environment of those that follow
        self._harmless = AutoAllowed(text, script, shell)
        self._followed = not (script.split or script.background or script.ambiguities)
        self._after_first = False  # whether something is redirected before its program
        self._edits = False  # whether the command that is looked at changes files
        # No exact rule allows a part of it: it has other blanks, or a text on an input.
        self._inexact = any(each in text for each in ("  ", "\t", "<<<"))

    def run(self) -> None:
        """Read the whole script."""
        count = self._redirected
        for command in self.script.commands:
            harmless = False
            if command.words:
                part = self._part(command)
                self.parts.append(part)
                harmless = part.harmless
            self._harmless.note(harmless=harmless, edits=self._edits or command.fills)
        self.parts += self._statements()
        if self._moves.count:
            self.files += [*self._moves.elsewhere(self.files[:count])]
            self.files += [somewhere(file) for file in self.files[:count]]
            self.files += [somewhere(file) for file in self.files[count:] if file.writes]
        self._compare_commands()
        self.files = self._moves.looked_at(self.files)
        if self._moves.count and self._moves.relative:
            reads = self.shell.files.reads
            self.files.append(ClaudeRedirection(None, writes=False, tool=reads, shadowed=True))
        if not (self.parts or self.files or self._opaque):
            self.parts.append(CommandPart("", harmless=True))  # nothing runs
        if self._is_guarded():
            self.files.append(GUARDED)

    def _compare_commands(self) -> None:
        """Let no rule allow any command where one changes what another does."""
        if sets_in_pipe(self.script.commands):
            self.uncheck(self.text, "sets a variable as a part of a pipe")
        if self._versioned and plants(self._planted, self.script.targets, self.shell):
            self.uncheck(self.text, "makes a repository that it runs a program in")
        if self._exports:  # rules alone allow what runs beside that
            if "|" in self.text.replace("||", ""):
                self.uncheck(self.text, "sets for its pipe what programs look at")
            self.parts = [evolve(part, harmless=False) for part in self.parts]
        if self.is_scattered:
            self.note(self.text, "goes to more than one folder")
        if self.unchecked or self.is_scattered:
            self.parts = [evolve(part, grantable=False, harmless=False) for part in self.parts]

    @property
    def is_scattered(self) -> bool:
        """Whether it is unknown in which of several folders its commands run."""
        return self._moves.scatter

    def _is_guarded(self) -> bool:
        """Whether it opens a file that no rule may allow, since the file is unknown."""
        if self._moves.count and self._empties:
            return True
        if self.shell.traced:
            return True
        if self._moves.count and has_background(self.text):
            return True  # where the commands behind a background command run is unknown
        return (
            self.script.unclosed
            or may_give_removal(self.text)
            or removes_unknown(self.text, self.script.commands)
        )

    def _statements(self) -> Iterator[CommandPart]:
        """Yield parts for unread text: to be asked for, and denied by all of it."""
        if self._opaque:
            yield CommandPart("", grantable=False)
        for statement in self.script.statements:
            if statement.piped or self._opaque:
                yield CommandPart("", (re.sub("[ \t]+", " ", statement.text),), harmless=True)
        if self.script.texts:
            texts = (each for text in self.script.texts for each in as_text(text))
            yield CommandPart("", tuple(dict.fromkeys(texts)), harmless=True)

    def _part(self, command: SimpleCommand) -> CommandPart:
        shell, words = self.shell, command.words
        if shell.traced:
            self.files += _named(words[1:], shell.files.reads)
        facts = facts_of(command, self.script, shell)
        self._versioned |= facts.versioned
        self._planted += facts.planted
        if facts.leaves:
            self._moved.append(as_written(facts.program) + "\n")
        self._edits = False
        self._after_first = command.led
        harmless, inner = self._effects(facts)
        harmless &= not (command.led and (command.fills or self._edits))
        harmless &= not (command.directed and facts.sets)
        grantable = self.is_grantable(command, facts)
        text, known, written = self._texts(command, facts)
        self._exports |= facts.exports
        known = (*known, *inner)
        if text and (self._inexact or facts.extended):
            known, text = (text, *known), text + MORE
            written = tuple(each + MORE for each in written)
        return CommandPart(text, known, grantable, harmless, written)

    def _texts(self, command: SimpleCommand, facts: CommandFacts) -> Texts:
        """Return the texts of a command: of rules that allow, of those that deny, as written."""
        text, known, written = facts.texts
        if not text and self._followed and len(command.words) == 1 and _SETS.match("".join(known)):
            known = ()  # the host knows that it sets a variable
        if "!" in self.text and command.words:
            whole = as_written(command.words)
            if re.search(rf"![ \t]+{re.escape(whole)}", self.text):
                known = (*known, f"! {whole}")  # so rules that deny or ask match it in a pipe
        if command.fed:
            known = (*known, *with_text(command.fed, as_written(command.words), (text, *known)))
        return text, known, written

    def _effects(self, facts: CommandFacts) -> tuple[bool, Sequence[str]]:
        """Return whether a command is harmless, and the texts of a script that it is given.

        Note the files that it opens.
        """
        shell, words, program, known = self.shell, facts.words, facts.examined, facts.known
        inner: Sequence[str] = ()
        if facts.script is not None:
            inner = self._look_into(facts.script)
        moves = program[0].plain.rsplit("/", 1)[-1] in shell.kinds.movers
        if known is None:
            if moves:
                self._moves.move(program)
            return len(words) == 1 and self._harmless.is_set(words[0]), inner
        self._moves.look(known, words, first=not self.parts)
        self.astray |= known.moves > 1
        if known.blind:
            reads = shell.files.reads
            self.files.append(ClaudeRedirection(None, writes=False, tool=reads, shadowed=True))
        self._edits |= facts.edits
        self._moves.stays |= facts.edits and not known.opened
        self._open(facts, known)
        if moves:  # its own folder is looked for where it was before
            self._moves.move(program)
        return self._harmless.is_harmless(facts, led=self._after_first), inner

    def _look_into(self, text: str) -> Sequence[str]:
        """Return the texts by which rules that deny know a script that a command is given.

        It runs in the folder of the command. Note the files that it opens.
        """
        lost = len(self._moved) > _FOLLOWED
        inside = self._read(("" if lost else "".join(self._moved)) + text, self.shell)
        files = [ClaudeRedirection.of(file) for file in inside.redirections]
        self.files += (file for file in files if file != GUARDED or not self.shell.traced)
        return [known for part in inside.parts for known in (part.text, *part.match_texts)]

    def is_grantable(self, command: SimpleCommand, facts: CommandFacts) -> bool:
        """Return whether a rule may allow *command*: every shell reads it alike."""
        words, grantable = facts.words, not self._opaque
        if grantable and facts.differs:
            grantable = self.note(as_written(words), DIFFER)
        if command.led:
            grantable = self.note(as_written(words), "stands behind its redirection")
        if facts.nameless:
            grantable = self.note(facts.granted[0].raw, "is no name of a program")
        if facts.unchecked:
            self.uncheck(as_written(words), _CHANGES)
        if has_half_assignment(words):
            self.uncheck(as_written(words), DIFFER)
        return grantable

    def note(self, text: str, why: str) -> Literal[False]:
        """Note why no rule may allow *text*."""
        self.ambiguities.append(Ambiguity(text, why))
        return False

    def uncheck(self, text: str, why: str) -> None:
        """Note why no rule may allow any command beside *text*."""
        self.unchecked = True
        self.note(text, why)

    def _open(self, facts: CommandFacts, known: Examined) -> None:
        """Note the files that a command opens, wherever it may run, and the folders it goes to."""
        shell, before = self.shell, len(self.files)
        self._empties |= known.empties
        for file in known.opened:
            self._edits |= file.tool in (shell.files.writes, shell.files.removes)
            self.files.append(file)
            if known.moves < SEVERAL:
                self.files += [*self._moves.elsewhere(self.files[-1:])]
        self._moves.enter(known, facts.examined, self.files[before:])


_SETS = re.compile(r"[A-Za-z_]\w*\+?=(?!\()")


def _named(words: Sequence[Word], tool: str) -> Iterator[ClaudeRedirection]:
    """Yield the files that *words* may name: by all of a word, or by the end of it."""
    for text in (word.plain for word in words):
        behind_letter = text[2:] if text.startswith("-") else ""
        for name in filter(None, (text, text.partition("=")[2], behind_letter)):
            yield ClaudeRedirection(name, writes=False, tool=tool)


def read_whole(text: str, shell: Shell) -> ClaudeCommand:
    """Return the parts and redirections of *text*. Never fails; grants nothing by a guess."""
    script = _read(text, shell)
    opaque = script.opaque
    if script.background:
        script.note("&", "starts a background command")
    read = ScriptReading(text, script, shell, read_whole)
    read.run()
    return ClaudeCommand(
        tuple(read.parts),
        tuple(read.files),
        unread=script.unread,
        opaque=opaque or read.unchecked,
        ambiguities=(*dict.fromkeys((*script.ambiguities, *read.ambiguities)),),
        whole=WholeCommand(text, _is_spelled(read)),
        background=script.background,
    )


def _read(text: str, shell: Shell) -> Script:
    short = len(text) <= limits.COMMAND_PIECES and not has_half(text)
    script = read_plain(text) if short else None
    if script is None or any(command.swallowed for command in script.commands):
        script = _read_at_length(text, shell)
    elif "$" in text:
        for command in script.commands:
            words = (word.raw for word in command.words if "$" in word.raw)
            command.requoted = any(map(is_requoted, words))
    _note_ambiguities(text, script, shell)
    note_unknown(script)
    return script


def _note_ambiguities(text: str, script: Script, shell: Shell) -> None:
    """Note the ambiguities of *text*, however the rest of it was read."""
    script.unclosed |= is_misread(text) or is_no_expansion(text)
    odd = doubtful(text)
    if odd is not None and "#" in text:
        # What looks like a comment may be none to whoever cannot read the rest.
        script.commands += Scanner(text.replace("#", " ")).run().commands
        script.plain = False
    if odd is not None:
        script.note(odd, DIFFER)
    if 0 < shell.longest < len(text):
        script.ambiguities.insert(0, _long(shell))
    for command in script.commands:
        hidden = "\n" in text and hides(command.words)
        ambiguous = bool(command.words) and facts_of(command, script, shell).ambiguous
        if command.swallowed or hidden or ambiguous:
            script.note(as_written(command.words), DIFFER)


def _read_at_length(text: str, shell: Shell) -> Script:
    is_long, knows_grammar = len(text) > shell.longest, bash.is_installed()
    script = None if is_long else bash.read_script(text, shell)
    if script is not None:
        script.unclosed |= has_late_keyword(text)
        return script
    why = _long(shell) if is_long else Ambiguity("", NO_COMMAND if knows_grammar else _NO_GRAMMAR)
    return _scanned(text, why, unclosed=knows_grammar and not is_long)


def _scanned(text: str, why: Ambiguity, *, unclosed: bool) -> Script:
    """Return what a scanner finds in *text*, so that rules may deny it, and none may allow it."""
    script = Scanner(text, resumes=unclosed).run()
    # Others overlook a quote that does not end, and look into backquotes within others.
    overlooked = [each for each, odd in (("'", text.count("'") % 2), ("\\`", "\\`" in text)) if odd]
    for each in overlooked:
        other = Scanner(text.replace(each, " ; "), resumes=unclosed).run()
        script.commands += other.commands
        script.targets += other.targets
    script.ambiguities = [why]
    script.unread = True
    script.unclosed = unclosed or "((" in text
    script.texts += dict.fromkeys(known for each in _BETWEEN.split(text) for known in _begun(each))
    return script


def _begun(statement: str) -> Iterator[str]:
    """Yield a statement, and each beginning of one that sets a variable or redirects first."""
    yield statement
    words = _LEADING.sub("", statement).split()[: limits.NESTING]
    if words and _NO_PROGRAM.match(words[0]):
        yield from (" ".join(words[:end]) for end in range(1, len(words) + 1))


_NO_PROGRAM: Final = re.compile(r"\d*[<>]|\w+\+?=")
_LEADING: Final = re.compile(r"\A(?:[!({\s]|(?:if|then|elif|else|while|until|do)\s)*")
_BETWEEN: Final = re.compile(r"\s*(?:[;|\n]+|&(?![>&])|&&)\s*")


def _is_spelled(read: ScriptReading) -> bool:
    """Return whether a rule that spells out what was read allows it."""
    script, text = read.script, read.text
    if script.split or script.background or read.astray or read.is_scattered:
        return False
    if "&" in text and any(c.words and has_half_assignment(c.words) for c in script.commands):
        return False  # which command runs in the background is unknown
    return not (script.unread or text.startswith("$"))


_NO_GRAMMAR = "is not looked into without a grammar: the extra `bash` is not installed"


def _long(shell: Shell) -> Ambiguity:
    return Ambiguity("", f"has more than {shell.longest:,} characters, so it is not looked into")
