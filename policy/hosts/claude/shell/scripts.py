"""Reads one script: which of its commands a rule may allow, and the files that they open."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from policy.commands.knowledge import Shell
from policy.commands.read import Scanner, note_unknown
from policy.commands.reader import (
    DIFFER,
    NO_COMMAND,
    SHELLS,
    Ambiguity,
    CommandPart,
    Redirection,
    has_half,
)
from policy.commands.words import (
    SET_BY_SHELL,
    Script,
    SimpleCommand,
    Word,
    as_written,
    is_assignment,
)
from policy.core import expressions as re
from policy.core import limits
from policy.core.values import Final, evolve
from policy.hosts.claude.shell import bash, programs, simple
from policy.hosts.claude.shell.doubtful import doubtful, ends_unknown, has_late_keyword, hides
from policy.hosts.claude.shell.match_texts import (
    MORE,
    ClaudeCommand,
    ClaudeRedirection,
    WholeCommand,
    as_text,
    is_requoted,
)
from policy.hosts.claude.shell.plain import read_plain

# A file of which nothing is known, and that no rule allows.
_GUARDED: Final = ClaudeRedirection(None, writes=False, guarded=True)

# A shell opens a connection by these, and no file.
_NETWORK: Final = ("/dev/tcp/", "/dev/udp/")


def _redirected(targets: Iterable[Redirection]) -> Iterator[ClaudeRedirection]:
    """Yield the files of redirections, and what their names may be those of besides."""
    for file in targets:
        name, writes = file.target, file.writes
        yield ClaudeRedirection(name, writes)
        if name == "":
            yield ClaudeRedirection(".", writes)  # the folder that it runs in
        if name is not None:
            if programs.is_indirect(name) or name.startswith(_NETWORK):
                yield ClaudeRedirection(None, writes)
            if writes and programs.is_unwritable(name):
                yield _GUARDED


# A program that removes files: `rm` as a word, whatever is quoted in it; `r{m,x}`, `{rm,y}`.
_REMOVAL: Final = re.compile(r"(?<![\w.-])rm(?:dir)?(?![\w.-])", re.IGNORECASE)
_QUOTES: Final = re.compile(r"""\$(?=['"])|['"\\]""")
_BRACES: Final = re.compile(r"\{[^{}]*(?:,|\.\.)")
_OF_BRACES: Final = re.compile(r"[{},]")
_BLANK: Final = re.compile(r"\\[ntr]")
_GIVES_SCRIPT: Final = re.compile(r"[-+]\S*c\S*")


def _removes(text: str) -> bool:
    """Return whether a text names a program that removes files, quoted or not."""
    spaced = _BLANK.sub(" ", text)
    bare = [_QUOTES.sub("", each) for each in (text, spaced)]
    return any(map(_REMOVAL.search, (text, spaced, *bare))) or any(
        _BRACES.search(each) and "rm" in _OF_BRACES.sub("", each) for each in bare
    )


def _may_give_removal(text: str) -> bool:
    """Return whether *text* may give a shell a script that removes files."""
    bare = _QUOTES.sub("", text)
    words = bare.split() if "sh" in bare.lower() else []
    return (
        any(simple.shell_of(word.strip("(){};&|`")) in SHELLS for word in words)
        and any(map(_GIVES_SCRIPT.fullmatch, words))
        and (_removes(text) or ("$'" in text and "\\" in text))
    )


def _removes_unknown(text: str, commands: Iterable[SimpleCommand]) -> bool:
    """Return whether *text* removes files while a variable is unknown or a critical folder."""
    sets = any(
        is_assignment(word)
        and (
            word.guessed
            or not word.known
            or word.plain.partition("=")[2].rstrip("/") in ("", ".", "..", "~")
        )
        for command in commands
        for word in command.words
    )
    return sets and "$" in text and _removes(text)


_CHANGES = "may change how the rest is read, or run what it names"
# Changes of the folder that are followed into a script; behind more its folder is unknown.
_FOLLOWED = 8

# What stands in one of these is looked at for itself.
_APART: Final = re.compile(r"(?<!\|)\|(?!\|)|\(|`")
_BACKGROUND = re.compile(r"(?<![&<>|])&(?![&>])")
# A pattern that is put on the input of a command, where a host looks for one in all of its text.
_GIVEN_GLOB = re.compile(r"<<<[ \t]*[^\s'\"]*[*?\[]")
_SET_BY_SHELL = re.compile(rf"\$[{re.escape(''.join(SET_BY_SHELL))}]")


class _ScriptReading:
    """Reads one script: its parts, and the files they open."""

    def __init__(
        self, text: str, script: Script, shell: Shell, read: Callable[[str, Shell], ClaudeCommand]
    ) -> None:
        self.text = text
        self.script = script
        self.shell = shell
        self.parts: list[CommandPart] = []
        self.files = [*_redirected(script.targets)]
        self.astray = False  # one of them names several folders to go to
        # Why no rule may allow some, beside the ambiguities of the script; or may allow any.
        self.ambiguities: list[Ambiguity] = []
        names = [file.target or "" for file in script.targets]
        self.unchecked = any("\n" in name or simple.is_environment(name) for name in names)
        self._moves = programs.FolderChanges(text, shell)
        self._moved: list[str] = []  # the commands that change the folder
        self._read = read
        self._entered: list[ClaudeRedirection] = []  # the folders
        self._empties = False  # whether all of a folder is removed that its name does not tell
        self._opaque = script.opaque
        self._versioned = False  # whether one of them looks for a repository
        self._planted: list[str] = []  # what they may write of one
        self._exports = False  # whether one changes the environment of those that follow
        self._only_read: list[bool] = []  # of each command: it is harmless, and changes no file
        self._followed = not (script.split or script.background or script.ambiguities)
        self._edits = False  # whether the command that is looked at changes files
        # No exact rule allows a part of it: it has other blanks, or a text on an input.
        self._inexact = any(each in text for each in ("  ", "\t", "<<<"))

    def run(self) -> None:
        """Read the whole script."""
        count = len(self.files)
        for command in self.script.commands:
            harmless = False
            if command.words:
                part = self._part(command)
                self.parts.append(part)
                harmless = part.harmless
            self._only_read.append(harmless and not (self._edits or command.writes_file))
        self.parts += self._statements()
        if self._moves.count:
            self.files += [*self._moves.elsewhere(self.files[:count])]
            self.files += [programs.somewhere(file) for file in self.files[:count]]
            self.files += [programs.somewhere(file) for file in self.files[count:] if file.writes]
        self._compare_commands()
        if self._moves.count < programs.SEVERAL or _APART.search(self.text):
            self.files += self._entered  # else it is asked for before these are
        if self._moves.count and self._moves.relative:
            self._read_any()
        if not (self.parts or self.files or self._opaque):
            self.parts.append(CommandPart("", harmless=True))  # nothing runs
        if self._is_guarded():
            self.files.append(_GUARDED)

    def _read_any(self) -> None:
        """Note that any file may be read, which counts where a rule denies one."""
        reads = self.shell.files.reads
        self.files.append(ClaudeRedirection(None, writes=False, tool=reads, shadowed=True))

    def _compare_commands(self) -> None:
        """Let no rule allow any command where one changes what another does."""
        # It is unknown how far a variable holds that a part of a pipe sets.
        if any(each.piped and all(map(is_assignment, each.words)) for each in self.script.commands):
            self._uncheck(self.text, "sets a variable as a part of a pipe")
        if self._versioned and programs.plants(self._planted, self.script.targets, self.shell):
            self._uncheck(self.text, "makes a repository that it runs a program in")
        if self._exports:  # rules alone allow what runs beside that
            if "|" in self.text.replace("||", ""):
                self._uncheck(self.text, "sets for its pipe what programs look at")
            self.parts = [evolve(part, harmless=False) for part in self.parts]
        if self.is_scattered:
            self._note(self.text, "goes to more than one folder")
        if self.unchecked or self.is_scattered:
            self.parts = [evolve(part, grantable=False, harmless=False) for part in self.parts]

    @property
    def is_scattered(self) -> bool:
        """Whether it is unknown in which of several folders a command runs that reads them."""
        return self._moves.count > 1 or (self._moves.count > 0 and self._moves.stays)

    def _is_guarded(self) -> bool:
        """Whether it opens a file that no rule may allow, since the file is unknown."""
        if self._moves.count and (
            # Where the commands behind a background command run is unknown.
            self._empties or ("&" in self.text and _BACKGROUND.search(self.text) is not None)
        ):
            return True
        return (
            self.shell.traced
            or self.script.unclosed
            or _may_give_removal(self.text)
            or _removes_unknown(self.text, self.script.commands)
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
        facts = simple.facts_of(command, self.script, shell)
        self._versioned |= facts.versioned
        self._planted += facts.planted
        if facts.leaves:
            self._moved.append(as_written(facts.program) + "\n")
        self._edits = False
        inner = () if facts.script is None else self._look_into(facts.script)
        harmless = self._opens(facts, redirected_first=command.redirected_first)
        harmless &= not (command.redirected_first and (command.writes_file or self._edits))
        harmless &= not (command.redirected and facts.sets)
        grantable = self._is_grantable(command, facts)
        text, known, written = facts.texts
        self._exports |= facts.exports
        known = (*self._known(command, text, known), *inner)
        if text and (self._inexact or facts.extended):
            known, text = (text, *known), text + MORE
            written = tuple(each + MORE for each in written)
        return CommandPart(text, known, grantable, harmless, written)

    def _known(self, command: SimpleCommand, text: str, known: Sequence[str]) -> Sequence[str]:
        """Return the texts by which rules that deny know a command; *text* is that of others."""
        if not text and self._followed and len(command.words) == 1 and _SETS.match("".join(known)):
            known = ()  # the host knows that it sets a variable
        if "!" in self.text:
            whole = as_written(command.words)
            if re.search(rf"![ \t]+{re.escape(whole)}", self.text):
                known = (*known, f"! {whole}")  # so rules that deny or ask match it in a pipe
        if command.input_text:
            written = as_written(command.words)
            fed = [command.input_text.replace(written, each, 1) for each in (written, text, *known)]
            known = tuple(dict.fromkeys((*known, *fed)))
        return known

    def _look_into(self, text: str) -> Sequence[str]:
        """Return texts of a script that a command is given, for rules that deny; note its files."""
        lost = len(self._moved) > _FOLLOWED
        inside = self._read(("" if lost else "".join(self._moved)) + text, self.shell)
        files = [ClaudeRedirection.of(file) for file in inside.redirections]
        self.files += (file for file in files if file != _GUARDED or not self.shell.traced)
        return [known for part in inside.parts for known in (part.text, *part.match_texts)]

    def _opens(self, facts: simple.CommandFacts, *, redirected_first: bool) -> bool:
        """Note the files of a command, and return whether it is harmless."""
        shell, program, known = self.shell, facts.examined, facts.known
        moves = program[0].plain.rsplit("/", 1)[-1] in shell.kinds.movers
        if known is None:
            if moves:
                self._moves.move(program)
            return facts.sets and len(facts.words) == 1 and self._is_set(facts.words[0])
        self._moves.look(known, facts.words, first=not self.parts)
        self.astray |= known.moves > 1
        if known.blind:
            self._read_any()
        self._edits |= facts.edits
        self._moves.stays |= facts.edits and not known.opened
        self._empties |= known.empties
        enters = known.moves == 1 or (known.moves > 1 and program[1].plain[:1] not in ("/", "~"))
        files = self._entered if enters else self.files
        for file in known.opened:
            self._edits |= file.tool in (shell.files.writes, shell.files.removes)
            files.append(file)
            if known.moves < programs.SEVERAL:
                files += self._moves.elsewhere([file])

        if moves:  # its own folder is looked for where it was before
            self._moves.move(program)
        return self._is_harmless(facts, known, redirected_first=redirected_first)

    def _is_set(self, word: Word) -> bool:
        """Whether a variable is set, and to what the host can tell, that changes nothing."""
        variables = self.shell.variables
        name = word.raw.partition("=")[0].rstrip("+")
        return (
            not self._opaque
            and name in variables.harmless
            and (name in variables.counted or not re.fullmatch(variables.guarded, name))
            and (word.literal or (word.vetted and all(self._only_read[slice(*word.inner)])))
        )

    def _is_harmless(
        self, facts: simple.CommandFacts, known: programs.Examined, *, redirected_first: bool
    ) -> bool:
        """Return whether a command is harmless, with what is put into its words."""
        program, text = known.program, self.text
        if not facts.harmless or self._opaque:
            return False
        if redirected_first and (program.spelled or program.spelling):
            return False
        if "<<<" in text and (program.spelled or "$" in text or _GIVEN_GLOB.search(text)):
            return False
        return all(
            word.literal
            # What a shell sets by itself (`$?`) is left to rules.
            or (
                word.vetted
                and all(self._only_read[slice(*word.inner)])
                and not _SET_BY_SHELL.search(word.raw)
            )
            for word in facts.words
        )

    def _is_grantable(self, command: SimpleCommand, facts: simple.CommandFacts) -> bool:
        """Return whether a rule may allow *command*: every shell reads it alike."""
        words, doubts = facts.words, len(self.ambiguities)
        if facts.differs and not self._opaque:
            self._note(as_written(words), DIFFER)
        if command.redirected_first:
            self._note(as_written(words), "stands behind its redirection")
        if facts.nameless:
            self._note(facts.granted[0].raw, "is no name of a program")
        grantable = not self._opaque and len(self.ambiguities) == doubts
        if facts.unchecked:
            self._uncheck(as_written(words), _CHANGES)
        if simple.has_half_assignment(words):
            self._uncheck(as_written(words), DIFFER)
        return grantable

    def _note(self, text: str, why: str) -> None:
        """Note why no rule may allow *text*."""
        self.ambiguities.append(Ambiguity(text, why))

    def _uncheck(self, text: str, why: str) -> None:
        """Note why no rule may allow any command beside *text*."""
        self.unchecked = True
        self._note(text, why)


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
    read = _ScriptReading(text, script, shell, read_whole)
    read.run()
    # Where a word is a lone `=`, it is unknown which command runs in the background.
    is_halved = "&" in text and any(
        command.words and simple.has_half_assignment(command.words) for command in script.commands
    )
    is_several = script.split or script.background or read.astray or read.is_scattered
    is_spelled = not (is_several or is_halved or script.unread or text.startswith("$"))
    return ClaudeCommand(
        tuple(read.parts),
        tuple(read.files),
        unread=script.unread,
        opaque=opaque or read.unchecked,
        ambiguities=(*dict.fromkeys((*script.ambiguities, *read.ambiguities)),),
        whole=WholeCommand(text, is_spelled),
        background=script.background,
    )


def _read(text: str, shell: Shell) -> Script:
    is_short = len(text) <= min(limits.COMMAND_PIECES, shell.longest) and not has_half(text)
    script = read_plain(text) if is_short else None
    if script is None or any(command.has_words_behind for command in script.commands):
        script = _read_at_length(text, shell)
    elif "$" in text:
        for command in script.commands:
            words = (word.raw for word in command.words if "$" in word.raw)
            command.requoted = any(map(is_requoted, words))
    # However the rest of it was read.
    script.unclosed |= ends_unknown(text)
    odd = doubtful(text)
    if odd is not None and "#" in text:
        # What looks like a comment may be none to whoever cannot read the rest.
        script.commands += Scanner(text.replace("#", " ")).run().commands
        script.plain = False
    if odd is not None:
        script.note(odd, DIFFER)
    for command in script.commands:
        hidden = "\n" in text and hides(command.words)
        ambiguous = bool(command.words) and simple.facts_of(command, script, shell).ambiguous
        if command.has_words_behind or hidden or ambiguous:
            script.note(as_written(command.words), DIFFER)
    note_unknown(script)
    return script


def _read_at_length(text: str, shell: Shell) -> Script:
    """Return what the grammar reads; else what a scanner finds, so that rules may deny it alone."""
    is_long = len(text) > shell.longest
    script = None if is_long else bash.read_script(text, shell)
    if script is not None:
        script.unclosed |= has_late_keyword(text)
        return script
    unclosed = bash.is_installed() and not is_long
    why = NO_COMMAND if unclosed else _NO_GRAMMAR
    if is_long:
        why = f"has more than {shell.longest:,} characters, so it is not looked into"
    script = Scanner(text, resumes=unclosed).run()
    # Others overlook a quote that does not end, and look into backquotes within others.
    overlooked = [each for each, odd in (("'", text.count("'") % 2), ("\\`", "\\`" in text)) if odd]
    for each in overlooked:
        other = Scanner(text.replace(each, " ; "), resumes=unclosed).run()
        script.commands += other.commands
        script.targets += other.targets
    script.ambiguities = [Ambiguity("", why)]
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

_NO_GRAMMAR = "is not looked into without a grammar: the extra `bash` is not installed"
