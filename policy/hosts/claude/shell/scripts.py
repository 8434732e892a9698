"""Reads one script: which of its commands a rule may allow, and the files that they open."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

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
    shell_of,
)
from policy.core import expressions as re
from policy.core import limits
from policy.core.values import Final, evolve
from policy.hosts.claude.shell import programs, simple
from policy.hosts.claude.shell.doubtful import doubtful, ends_unknown, has_late_keyword, hides_text
from policy.hosts.claude.shell.match_texts import (
    MORE,
    ClaudeCommand,
    ClaudeRedirection,
    WholeCommand,
    is_requoted,
    statement_texts,
)
from policy.hosts.claude.shell.plain import read_plain

# An unknown file that no rule may allow.
_GUARDED: Final = ClaudeRedirection(None, writes=False, guarded=True)

# Names by which a shell opens a connection, and no file.
_NETWORK: Final = ("/dev/tcp/", "/dev/udp/")


def _redirected_files(targets: Iterable[Redirection]) -> Iterator[ClaudeRedirection]:
    """Yield the files of redirections, and unknown ones where a name may lead elsewhere."""
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


# `rm` or `rmdir` as a word.
_REMOVAL: Final = re.compile(r"(?<![\w.-])rm(?:dir)?(?![\w.-])", re.IGNORECASE)
_QUOTES: Final = re.compile(r"""\$(?=['"])|['"\\]""")
_BRACES: Final = re.compile(r"\{[^{}]*(?:,|\.\.)")
_OF_BRACES: Final = re.compile(r"[{},]")
_BLANK: Final = re.compile(r"\\[ntr]")
_GIVES_SCRIPT: Final = re.compile(r"[-+]\S*c\S*")


def _removes(text: str) -> bool:
    """Return whether *text* names `rm` or `rmdir`, also with quotes or braces in it: `r{m,x}`."""
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
        any(shell_of(word.strip("(){};&|`")) in SHELLS for word in words)
        and any(map(_GIVES_SCRIPT.fullmatch, words))
        and (_removes(text) or ("$'" in text and "\\" in text))
    )


def _removes_unknown(text: str, commands: Iterable[SimpleCommand]) -> bool:
    """Return whether *text* removes files, and sets a variable that may be a critical folder."""
    words = (word for command in commands for word in command.words if is_assignment(word))
    return (
        "$" in text
        and _removes(text)
        and any(
            word.guessed
            or not word.known
            or word.value.partition("=")[2].rstrip("/") in ("", ".", "..", "~")
            for word in words
        )
    )


_CHANGES = "may change how the rest is read, or run what it names"
# With more changes of folder, a nested script is read without any of them.
_FOLLOWED = 8

# A pipe, a subshell or a substitution.
_PIPE_OR_SUBSHELL: Final = re.compile(r"(?<!\|)\|(?!\|)|\(|`")
_BACKGROUND = re.compile(r"(?<![&<>|])&(?![&>])")
# `<<< *.py`: the host looks for globs in the whole text.
_GIVEN_GLOB = re.compile(r"<<<[ \t]*[^\s'\"]*[*?\[]")
_SET_BY_SHELL = re.compile(rf"\$[{re.escape(''.join(SET_BY_SHELL))}]")


class _ScriptReading:
    """Reads one script: its parts, and the files they open."""

    def __init__(self, text: str, script: Script, shell: Shell) -> None:
        self.text = text
        self.script = script
        self.shell = shell
        self.parts: list[CommandPart] = []
        self.files = [*_redirected_files(script.targets)]
        self.several_folders = False  # whether a command names several folders to change to
        # Why no rule may allow a part, in addition to the script's; if `unchecked`, any part.
        self.ambiguities: list[Ambiguity] = []
        names = [file.target or "" for file in script.targets]
        self.unchecked = any("\n" in name or simple.is_environment(name) for name in names)
        self._folders = programs.FolderChanges(text, shell)
        self._folder_commands: list[str] = []  # commands that change the folder
        self._new_folders: list[ClaudeRedirection] = []  # folders that commands change to
        self._empties = False  # whether a command empties a folder that depends on where it runs
        self._opaque = script.opaque
        self._uses_repository = False  # whether a command uses a git repository
        self._written_names: list[str] = []  # names of files that commands write, perhaps of one
        self._exports = False  # whether a command sets a variable for those that follow
        self._read_only: list[bool] = []  # of each command, whether it changes no file
        self._is_list = not (script.split or script.background or script.ambiguities)
        self._edits = False  # whether the current command changes files
        # Whether no exact rule may allow a part: the text has several blanks, or a here-string.
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
            self._read_only.append(harmless and not (self._edits or command.writes_file))
        self.parts += self._statement_parts()
        if self._folders.count:
            self.files += [*self._folders.elsewhere(self.files[:count])]
            self.files += [programs.somewhere(file) for file in self.files[:count]]
            self.files += [programs.somewhere(file) for file in self.files[count:] if file.writes]
        self._compare_commands()
        if self._folders.count < programs.SEVERAL or _PIPE_OR_SUBSHELL.search(self.text):
            self.files += self._new_folders  # else the host asks before it looks at these
        if self._folders.count and self._folders.relative:
            self._add_any_read()
        if not (self.parts or self.files or self._opaque):
            self.parts.append(CommandPart("", harmless=True))  # nothing runs
        if self._is_guarded():
            self.files.append(_GUARDED)

    def _add_any_read(self) -> None:
        """Add a read of an unknown file, which counts where a rule denies any file."""
        reads = self.shell.files.reads
        self.files.append(ClaudeRedirection(None, writes=False, tool=reads, shadowed=True))

    def _compare_commands(self) -> None:
        """Let no rule allow any command where one changes what another does."""
        # A variable that a stage of a pipeline sets may last, or may not.
        if any(each.piped and all(map(is_assignment, each.words)) for each in self.script.commands):
            self._uncheck(self.text, "sets a variable as a part of a pipe")
        if self._uses_repository and programs.writes_repository(
            self._written_names, self.script.targets, self.shell
        ):
            self._uncheck(self.text, "makes a repository that it runs a program in")
        if self._exports:  # every command of the script needs a rule
            if "|" in self.text.replace("||", ""):
                self._uncheck(self.text, "sets for its pipe what programs look at")
            self.parts = [evolve(part, harmless=False) for part in self.parts]
        if self.is_scattered:
            self._note(self.text, "goes to more than one folder")
        if self.unchecked or self.is_scattered:
            self.parts = [evolve(part, grantable=False, harmless=False) for part in self.parts]

    @property
    def is_scattered(self) -> bool:
        """Whether commands may run in several folders, and it is unknown in which."""
        return self._folders.count > 1 or (self._folders.count > 0 and self._folders.stays)

    def _is_guarded(self) -> bool:
        """Whether the script may open an unknown file that no rule may allow."""
        if self._folders.count and (
            # Behind a background command the folder is unknown.
            self._empties or ("&" in self.text and _BACKGROUND.search(self.text) is not None)
        ):
            return True
        return (
            self.shell.traced
            or self.script.unclosed
            or _may_give_removal(self.text)
            or _removes_unknown(self.text, self.script.commands)
        )

    def _statement_parts(self) -> Iterator[CommandPart]:
        """Yield parts for text that is no simple command, which deny and ask rules match."""
        if self._opaque:
            yield CommandPart("", grantable=False)
        for statement in self.script.statements:
            if statement.piped or self._opaque:
                yield CommandPart("", (re.sub("[ \t]+", " ", statement.text),), harmless=True)
        if self.script.texts:
            texts = (each for text in self.script.texts for each in statement_texts(text))
            yield CommandPart("", tuple(dict.fromkeys(texts)), harmless=True)

    def _part(self, command: SimpleCommand) -> CommandPart:
        shell, words = self.shell, command.words
        if shell.traced:
            self.files += _possible_reads(words[1:], shell.files.reads)
        facts = simple.facts_of(command, self.script, shell)
        self._uses_repository |= facts.uses_repository
        self._written_names += facts.written_names
        if facts.changes_folder:
            self._folder_commands.append(as_written(facts.program) + "\n")
        self._edits = False
        inner = () if facts.script is None else self._read_nested(facts.script)
        harmless = self._add_files(facts, redirected_first=command.redirected_first)
        harmless &= not (command.redirected_first and (command.writes_file or self._edits))
        harmless &= not (command.redirected and facts.assigns)
        grantable = self._is_grantable(command, facts)
        text, matched, written = facts.texts
        self._exports |= facts.exports
        matched = (*self._texts(command, text, matched), *inner)
        if text and (self._inexact or facts.gets_arguments):
            matched, text = (text, *matched), text + MORE
            written = tuple(each + MORE for each in written)
        return CommandPart(text, matched, grantable, harmless, written)

    def _texts(self, command: SimpleCommand, text: str, found: Sequence[str]) -> Sequence[str]:
        """Return the match texts of a command, given *text* for allow rules and those *found*."""
        if not text and self._is_list and len(command.words) == 1 and _SETS.match("".join(found)):
            found = ()  # rules do not match a single assignment
        if "!" in self.text:
            whole = as_written(command.words)
            if re.search(rf"![ \t]+{re.escape(whole)}", self.text):
                found = (*found, f"! {whole}")  # in a pipeline rules match it so
        if command.input_text:
            written = as_written(command.words)
            fed = [command.input_text.replace(written, each, 1) for each in (written, text, *found)]
            found = tuple(dict.fromkeys((*found, *fed)))
        return found

    def _read_nested(self, text: str) -> Sequence[str]:
        """Return the match texts of *text*, the nested script of a command, and add its files."""
        lost = len(self._folder_commands) > _FOLLOWED
        inside = read_whole(("" if lost else "".join(self._folder_commands)) + text, self.shell)
        files = inside.redirections
        self.files += (file for file in files if file != _GUARDED or not self.shell.traced)
        return [matched for part in inside.parts for matched in (part.text, *part.match_texts)]

    def _add_files(self, facts: simple.CommandFacts, *, redirected_first: bool) -> bool:
        """Add the files of a command, and return whether it is harmless."""
        shell, program, known = self.shell, facts.examined, facts.known
        moves = program[0].value.rsplit("/", 1)[-1] in shell.kinds.movers
        if known is None:
            if moves:
                self._folders.follow(program)
            return facts.assigns and len(facts.words) == 1 and self._is_safe(facts.words[0])
        self._folders.count_changes(known, facts.words, first=not self.parts)
        self.several_folders |= known.moves > 1
        if known.unnamed:
            self._add_any_read()
        self._edits |= facts.edits
        self._folders.stays |= facts.edits and not known.opened
        self._empties |= known.empties
        enters = known.moves == 1 or (known.moves > 1 and program[1].value[:1] not in ("/", "~"))
        files = self._new_folders if enters else self.files
        for file in known.opened:
            self._edits |= file.tool in (shell.files.writes, shell.files.removes)
            files.append(file)
            if known.moves < programs.SEVERAL:
                files += self._folders.elsewhere([file])
        if moves:  # the folder is looked up from the one before
            self._folders.follow(program)
        return self._is_harmless(facts, known, redirected_first=redirected_first)

    def _is_safe(self, word: Word) -> bool:
        """Whether *word* sets a harmless variable to a value that the host accepts."""
        variables = self.shell.variables
        name = word.raw.partition("=")[0].rstrip("+")
        return (
            not self._opaque
            and name in variables.harmless
            and (name in variables.counted or not re.fullmatch(variables.guarded, name))
            and (word.literal or (word.vetted and all(self._read_only[slice(*word.inner)])))
        )

    def _is_harmless(
        self, facts: simple.CommandFacts, known: programs.Behavior, *, redirected_first: bool
    ) -> bool:
        """Return whether a command is harmless, with the substitutions in its words."""
        program, text = known.program, self.text
        if not facts.harmless or self._opaque:
            return False
        if redirected_first and (program.spelled or program.spelling):
            return False
        if "<<<" in text and (program.spelled or "$" in text or _GIVEN_GLOB.search(text)):
            return False
        return all(
            word.literal
            # A word with `$?` needs a rule.
            or (
                word.vetted
                and all(self._read_only[slice(*word.inner)])
                and not _SET_BY_SHELL.search(word.raw)
            )
            for word in facts.words
        )

    def _is_grantable(self, command: SimpleCommand, facts: simple.CommandFacts) -> bool:
        """Return whether a rule may allow *command*: all shells read it in the same way."""
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
        if simple.has_lone_equals(words):
            self._uncheck(as_written(words), DIFFER)
        return grantable

    def _note(self, text: str, why: str) -> None:
        """Note why no rule may allow *text*."""
        self.ambiguities.append(Ambiguity(text, why))

    def _uncheck(self, text: str, why: str) -> None:
        """Note that no rule may allow any command of the script, and why: *text*."""
        self.unchecked = True
        self._note(text, why)


_SETS = re.compile(r"[A-Za-z_]\w*\+?=(?!\()")


def _possible_reads(words: Sequence[Word], tool: str) -> Iterator[ClaudeRedirection]:
    """Yield reads of the files that *words* may name: `a`, `--file=a`, `-fa`."""
    for text in (word.value for word in words):
        behind_letter = text[2:] if text.startswith("-") else ""
        for name in filter(None, (text, text.partition("=")[2], behind_letter)):
            yield ClaudeRedirection(name, writes=False, tool=tool)


def read_whole(text: str, shell: Shell) -> ClaudeCommand:
    """Return the parts and files of *text*. Never raises; what is in doubt, no rule may allow."""
    script = _read(text, shell)
    opaque = script.opaque
    if script.background:
        script.note("&", "starts a background command")
    read = _ScriptReading(text, script, shell)
    read.run()
    # With a word that is a lone `=`, it is unknown which command runs in the background.
    has_equals = "&" in text and any(
        command.words and simple.has_lone_equals(command.words) for command in script.commands
    )
    is_several = script.split or script.background or read.several_folders or read.is_scattered
    is_spelled = not (is_several or has_equals or script.unread or text.startswith("$"))
    return ClaudeCommand(
        tuple(read.parts),
        redirections=tuple(read.files),
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
        script = _read_by_grammar(text, shell)
    elif "$" in text:
        for command in script.commands:
            words = (word.raw for word in command.words if "$" in word.raw)
            command.requoted = any(map(is_requoted, words))
    script.unclosed |= ends_unknown(text)
    odd = doubtful(text)
    if odd is not None and "#" in text:
        # The host may read commands in what looks like a comment.
        script.commands += Scanner(text.replace("#", " ")).run().commands
        script.plain = False
    if odd is not None:
        script.note(odd, DIFFER)
    for command in script.commands:
        hidden = "\n" in text and hides_text(command.words)
        ambiguous = bool(command.words) and simple.facts_of(command, script, shell).ambiguous
        if command.has_words_behind or hidden or ambiguous:
            script.note(as_written(command.words), DIFFER)
    note_unknown(script)
    return script


def _read_by_grammar(text: str, shell: Shell) -> Script:
    """Return the script that the grammar reads; else what a scanner finds, for deny rules alone."""
    from policy.hosts.claude.shell import bash  # noqa: PLC0415  # plain commands need no grammar

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
    # Other readers overlook an open quote, and look into nested backquotes.
    overlooked = [each for each, odd in (("'", text.count("'") % 2), ("\\`", "\\`" in text)) if odd]
    for each in overlooked:
        other = Scanner(text.replace(each, " ; "), resumes=unclosed).run()
        script.commands += other.commands
        script.targets += other.targets
    script.ambiguities = [Ambiguity("", why)]
    script.unread = True
    script.unclosed = unclosed or "((" in text
    script.texts += dict.fromkeys(one for each in _SPLIT.split(text) for one in _beginnings(each))
    return script


def _beginnings(statement: str) -> Iterator[str]:
    """Yield *statement*, and its beginnings if it starts with an assignment or a redirection."""
    yield statement
    words = _LEADING.sub("", statement).split()[: limits.NESTING]
    if words and _NO_PROGRAM.match(words[0]):
        yield from (" ".join(words[:end]) for end in range(1, len(words) + 1))


_NO_PROGRAM: Final = re.compile(r"\d*[<>]|\w+\+?=")
_LEADING: Final = re.compile(r"\A(?:[!({\s]|(?:if|then|elif|else|while|until|do)\s)*")
_SPLIT: Final = re.compile(r"\s*(?:[;|\n]+|&(?![>&])|&&)\s*")

_NO_GRAMMAR = "is not looked into without a grammar: the extra `bash` is not installed"
