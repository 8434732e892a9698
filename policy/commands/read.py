"""The default reader: words, operators, redirections, and wrappers as data.

A scanner knows quotes, operators, redirections and nesting. What it does not know (expansions,
substitutions, groups, here-documents) it cuts far enough for a rule to deny what is inside, and
makes the command ambiguous: no rule allows it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from policy.commands.knowledge import Shell
from policy.commands.reader import (
    DIFFER,
    GIVEN_COMMANDS,
    KEYWORDS,
    RUN_TEXT,
    UNCLOSED,
    UNKNOWN,
    UNSEEN,
    Ambiguity,
    Command,
    CommandPart,
)
from policy.commands.words import (
    ASSIGNMENT,
    DESCRIPTOR,
    FOLDERS,
    HARMLESS_TARGETS,
    CommandPrefix,
    Script,
    SimpleCommand,
    Word,
    as_written,
    basename,
    command_prefix,
    is_assignment,
    is_evaluated,
    is_expanded,
    is_quoted,
    script_of,
    shell_of,
    targets_of,
    without_vanishing,
)
from policy.core import expressions as re
from policy.core import limits
from policy.core.values import Final, evolve

# An operator, longest first. `&>` and friends are redirections.
_REDIRECTION = re.compile(r"[0-9]*(?:&>>|&>|>>|>\||>&|<<<|<<-|<<|<&|<>|>|<)")
_OPERATOR = re.compile(r"&&|\|\||;;&|;;|;&|\|&|[;&|\n]")
_COMMENT = re.compile(r"#[^\n]*")
_SINGLE = re.compile(r"'[^']*('?)")
_SUBSTITUTION = re.compile(r"\$\(|`")
_ORDINARY = re.compile(r"[^ \t\n'\"\\`$();&|<>]+")
_QUOTED = re.compile(r"[^\"\\`$]+")
_GLOBS = frozenset("*?[")
_VARIABLE = re.compile(r"\$(?:\{([A-Za-z_]\w*)\}|([A-Za-z_]\w*))")


class Scanner:
    """Cuts a command into words and operators, quotes and nesting respected.

    *script* is what was read so far. With *resumes*, a command may go on behind a group in
    parentheses, as some read it.
    """

    def __init__(self, text: str, depth: int = 0, start: int = 0, *, resumes: bool = False) -> None:
        self.text = text
        self.depth = depth
        self.resumes = resumes
        self.position = start
        self.script = Script([SimpleCommand()])
        self._variables: dict[str, str] = {}
        self._word = Word()
        self._started = False
        self._raw: list[str] = []  # of the word, until it ends
        self._value: list[str] = []
        self._quote: int | None = None  # where the double quote is that is open
        self._pieces = 0
        self._open = 0  # parentheses
        self._held: list[tuple[int, list[Word]]] = []  # words before each of those
        self._resumed: list[Word] = []  # of them, with which the next command may go on
        self._awaiting: str | None = None  # the redirection whose target comes next

    def run(self, *, within: bool = False) -> Script:
        """Scan to the end, or *within* a ``$(`` to its parenthesis."""
        text, length = self.text, len(self.text)
        while self.position < length:
            character = text[self.position]
            if self._pieces > limits.COMMAND_PIECES:
                self.script.note("", "is too long to be read to its end")
                self.script.unread = True
                self.position = length
            elif self._quote is not None:
                self._character(character)
            elif within and character == ")" and not self._open:
                break
            elif character in " \t":
                self._end_word()
                self.position += 1
            elif not self._started and (match := _COMMENT.match(text, self.position)):
                self.position = match.end()
            elif character in "()":
                self._parenthesis(character)
            elif (match := _REDIRECTION.match(text, self.position)) and not (
                self._started and match[0][0].isdigit()
            ):
                self._end_word()
                self._awaiting = match[0].lstrip("0123456789")
                self._pass(match, unseen=self._awaiting in ("<<", "<<-", "<>"))
            elif match := _OPERATOR.match(text, self.position):
                self._end_command()
                self._pass(match, unseen=match[0] in ("&", ";;", ";&", ";;&"))
            else:
                self._character(character)
        if self._quote is not None:
            self.script.note(text[self._quote :], UNCLOSED)
        self._end_command()
        return self.script

    def _pass(self, operator: re.Match[str], *, unseen: bool) -> None:
        if unseen:
            self.script.note(operator[0], UNSEEN)
        self.position = operator.end()

    def _parenthesis(self, character: str) -> None:
        """Take a parenthesis of a group, subshell or function; the text inside is a command too."""
        self.script.note(character, UNSEEN)
        self._open += 1 if character == "(" else -1
        held = self._held_back(character) if self.resumes else []
        self._end_command()
        self._resumed = held or self._resumed
        self.position += 1

    def _held_back(self, parenthesis: str) -> list[Word]:
        """Return the words that a command goes on from behind *parenthesis*, if one is there.

        To some it does so: behind a group that no command has, without the word next to that.
        """
        if parenthesis == "(":
            words = [*self._resumed, *self.script.commands[-1].words]
            self._held.append((self._open, words if len(words) <= limits.NESTING else []))
        behind: list[Word] = []
        while self._held and self._held[-1][0] > self._open:
            opened, words = self._held.pop()
            behind = words if opened == self._open + 1 else []
        return behind

    def _character(self, character: str) -> None:
        """Take what begins with a character of a word."""
        quoted, self._started = self._quote is not None, True
        if match := (_QUOTED if quoted else _ORDINARY).match(self.text, self.position):
            self._ordinary(match[0], quoted=quoted)
        elif character == '"':
            self._quote = None if quoted else self.position
            self._take('"', "")
        elif character == "\\":
            following = self.text[self.position + 1 : self.position + 2]
            if following == "\n" or not (following or quoted):
                self.script.note(character + following, DIFFER if quoted else UNCLOSED)
            is_escape = not quoted or following in '$`"\\'
            value = following if is_escape else character + following
            self._take(character + following, "" if following == "\n" else value)
        elif match := _SINGLE.match(self.text, self.position):
            if not match[1]:
                self.script.note(match[0], UNCLOSED)
            if "\0" in match[0]:
                self.script.note(match[0], DIFFER)
            self._take(match[0], match[0].strip("'"))
        elif match := _SUBSTITUTION.match(self.text, self.position):
            self._substitution(match[0])
        else:
            self._variable(quoted=quoted)

    def _ordinary(self, run: str, *, quoted: bool) -> None:
        if not quoted:
            if "{" in run or "}" in run:
                self._word.literal = self._word.known = False
            self._word.glob |= not _GLOBS.isdisjoint(run)
        # A carriage return is no blank. A NUL is nothing at all to a shell.
        if "\0" in run or ("\r" in run and not quoted):
            self.script.note(run, DIFFER)
        self._take(run, run)

    def _take(self, raw: str, value: str) -> None:
        self._raw.append(raw)
        self._value.append(value)
        self._pieces += 1
        self.position += len(raw)

    def _variable(self, *, quoted: bool) -> None:
        word = self._word
        match = _VARIABLE.match(self.text, self.position)
        name = (match[1] or match[2]) if match else ""
        written = match[0] if match else "$"
        value = self._variables.get(name)
        folder = FOLDERS.get(name) if quoted and not any(self._value) else None
        if value is None and folder is not None:
            value = folder
        else:
            word.literal, word.guessed = False, True
        word.known &= value is not None
        self._take(written, written if value is None else value)

    def _substitution(self, opening: str) -> None:
        # What is substituted runs as well: its text becomes commands of its
        # own, and the word it stands in is not a literal any more.
        began, start = self.position, self.position + len(opening)
        self._word.literal = self._word.known = False
        self._take(opening, "")
        if self.depth >= limits.NESTING:
            self.script.note(opening, UNSEEN)
            self._open += opening == "$("
            return  # what is inside is read as if it stood here
        text, begins = self.text, start
        if opening == "`":
            end = text.find("`", start)
            self.position = len(text) if end < 0 else end
            text, begins = text[start : self.position], 0
        inside = Scanner(text, self.depth + 1, begins, resumes=self.resumes)
        inside._pieces = self._pieces
        inside.run(within=opening == "$(")
        if opening == "$(":
            self.position = inside.position
        self.position += 1
        self._pieces = inside._pieces
        self.script.note(self.text[began : self.position], UNKNOWN)
        # Before the command that they are part of.
        self.script.commands[-1:-1] = inside.script.commands
        self.script.targets += inside.script.targets
        self.script.unread |= inside.script.unread

    def _end_word(self) -> None:
        word = self._word
        if not self._started:
            return
        word.raw, word.value = "".join(self._raw), "".join(self._value)
        self._word, self._raw, self._value = Word(), [], []
        self._started = False
        operator, self._awaiting = self._awaiting, None
        command = self.script.commands[-1]
        if operator is None:
            command.words.append(word)
            return
        command.redirected_first |= not command.words and operator[0] != "<"
        if operator in ("<<", "<<-", "<<<"):
            if not word.literal:
                self.script.note(word.raw, UNKNOWN)
        elif not (
            (operator in (">&", "<&") and DESCRIPTOR.match(word.value))
            or word.value in HARMLESS_TARGETS
        ):
            self.script.targets += targets_of(word, writes=operator[0] in ">&")

    def _end_command(self) -> None:
        self._pieces += 1
        self._end_word()
        if self._awaiting is not None:
            self.script.note(self._awaiting, UNCLOSED)
            self._awaiting = None
        self._remember(self.script.commands[-1].words)
        if self._resumed:
            words = [*self._resumed, *self.script.commands[-1].words]
            self.script.commands.append(SimpleCommand(words))
            self._resumed = []
        self.script.commands.append(SimpleCommand())

    def _remember(self, words: list[Word]) -> None:
        """Note the values of variables that a command of assignments alone sets."""
        found: list[tuple[Word, re.Match[str]]] = []
        for word in words:
            match = ASSIGNMENT.match(word.value)
            if match is None:
                return
            found.append((word, match))
        for word, match in found:
            if word.literal and not word.glob:
                self._variables[match[1]] = word.value[match.end() :]


# Programs that change the folder of what follows.
_MOVERS = frozenset("cd chdir pushd popd".split())


def read(text: str, shell: Shell) -> Command:
    """Return the parts of a command and the files it opens; *shell* has the wrappers."""
    script = _with_scripts(Scanner(text).run(), shell)
    ambiguities = list(script.ambiguities)
    parts, moves = [], 0
    for words in filter(None, (each.words for each in script.commands)):
        prefix = command_prefix(words, shell)
        moves += words[prefix.program].value in _MOVERS
        why = None if script.opaque else _ambiguity(words, prefix)
        if why is not None:
            ambiguities.append(why)
        parts.append(_part(words, prefix, shell, grantable=not (script.opaque or why)))
    files = script.targets
    if files and moves:
        # After a change of folder it is unknown which file a relative name means.
        files += [
            evolve(file, target=None)
            if file.writes or (file.target is not None and file.target[:1] not in ("/", "~"))
            else file
            for file in files
        ]
    if files and moves > 1:
        ambiguities.append(Ambiguity(text, "goes to more than one folder"))
        parts = [evolve(part, grantable=False) for part in parts]
    return Command(
        tuple(parts),
        tuple(files),
        unread=script.unread,
        opaque=script.opaque,
        ambiguities=tuple(dict.fromkeys(ambiguities)),
    )


def _with_scripts(script: Script, shell: Shell) -> Script:
    """Return *script* with the commands of the scripts in it: `rm x` of ``bash -c 'rm x'``."""
    note_unknown(script)
    level, depth = script.commands, 0
    while level:
        scripts = [text for command in level for text in _scripts_in(command.words, shell)]
        if scripts and depth == limits.NESTING:
            script.note(scripts[0], UNSEEN)
            break
        inside = [Scanner(text).run() for text in scripts]
        for each in inside:
            note_unknown(each)
            script.targets += each.targets
            script.ambiguities += each.ambiguities
            script.unread |= each.unread
        level, depth = [command for each in inside for command in each.commands], depth + 1
        script.commands += level
    return script


def _scripts_in(words: Sequence[Word], shell: Shell) -> Iterator[str]:
    """Yield the texts that a command, or one that a wrapper runs, gives to a shell."""
    if not any(shell_of(word.value) in RUN_TEXT for word in words):
        return
    prefix = command_prefix(words, shell)
    for start in (*prefix.starts, *prefix.possible):
        program, rest = words[start:], [word.value for word in words[start + 1 :]]
        name = basename(program[0].value)
        if name == "eval":
            yield " ".join(rest)
        elif name in GIVEN_COMMANDS:
            for number, text in enumerate(rest, 1):
                if option := _COMMAND_OPTION.fullmatch(text):
                    yield option[1] or " ".join(rest[number : number + 1])
        elif (script := script_of(program)) is not None:
            yield script


# An option with a command, which is the next word if it is not a part of the option.
_COMMAND_OPTION: Final = re.compile(
    r"(?:-[A-Za-z]*?c|--(?:session-)?command(?:=|\Z))(.*)", re.DOTALL
)


def note_unknown(script: Script) -> None:
    """Note that a script is ambiguous where the value of a word is unknown."""
    if script.opaque:
        return
    words = (word for command in script.commands for word in command.words)
    unknown = next((word for word in words if not (word.literal or word.vetted)), None)
    if unknown is not None:
        script.note(unknown.raw, UNKNOWN)


def _ambiguity(words: Sequence[Word], prefix: CommandPrefix) -> Ambiguity | None:
    """Return why no rule may allow a command; None if a rule may."""
    if (
        prefix.program >= limits.NESTING
        or is_evaluated(words[prefix.program :])
        or any(map(is_expanded, words[: prefix.program + 1]))
        or (len(words) > 1 and all(map(is_assignment, words)))
    ):
        return Ambiguity(as_written(words), DIFFER)
    name = words[prefix.granted]
    is_odd = name.raw in KEYWORDS or is_assignment(name) or is_quoted(name)
    return Ambiguity(name.raw, "is no plain name of a program") if is_odd else None


def _part(
    words: Sequence[Word], prefix: CommandPrefix, shell: Shell, *, grantable: bool
) -> CommandPart:
    name, text = words[0], as_written(words[prefix.granted :])
    if not (
        prefix.program
        or name.value in shell.wrapping.names
        or basename(name.value) != name.value
        or is_quoted(name)
        or is_assignment(name)
    ):
        value = " ".join([word.value for word in words])
        return CommandPart(text, () if value == text else (value,), grantable)
    starts = (known for start in prefix.starts for known in _names(words[start:]))
    known = dict.fromkeys((*starts, as_written(words)))
    known.pop(text, None)
    possible = (known for start in prefix.possible for known in _names(words[start:]))
    texts = tuple(dict.fromkeys(possible)) if prefix.program else ()
    return CommandPart(text, tuple(known), grantable, possible_texts=texts)


def _names(words: Sequence[Word]) -> Iterator[str]:
    """Yield the texts of a command: unquoted, without empty words, without the program's folder."""
    rest = [word.value for word in words]
    yield " ".join(rest)
    yield from without_vanishing(words)
    if "/" in rest[0]:
        yield " ".join([rest[0].rsplit("/", 1)[1], *rest[1:]])
