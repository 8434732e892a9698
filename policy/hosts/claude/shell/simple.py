"""What one simple command is by itself: its texts, its scripts, whether it is auto-allowed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import takewhile

from policy.commands.compound import BOXES, KEYWORDS, SHELLS
from policy.commands.knowledge import Shell
from policy.commands.words import (
    SET_BY_SHELL,
    Script,
    Word,
    as_written,
    is_evaluated,
    is_expanded,
    is_quoted,
)
from policy.commands.wrappers import basename, is_assignment
from policy.core import expressions as re
from policy.core import limits
from policy.core.values import TYPE_CHECKING, Final, evolve
from policy.hosts.claude.shell import ambiguities
from policy.hosts.claude.shell.ambiguities import GUARDED
from policy.hosts.claude.shell.match_texts import (
    as_granted,
    behind_all,
    carries_files,
    exposed,
    is_quiet,
    match_texts,
    may_vanish,
    possible_texts,
    requoted,
    shortened,
)
from policy.hosts.claude.shell.parts import ClaudeCommand, ClaudeRedirection
from policy.hosts.claude.shell.programs import (
    Examined,
    examine,
    is_home_of_other,
    looks_for_one,
    planted,
)

if TYPE_CHECKING:
    from policy.commands.words import SimpleCommand

__all__ = [
    "AutoAllowed",
    "CommandFacts",
    "NestedScripts",
    "Texts",
    "facts_of",
    "is_harmless",
    "removes",
    "removes_unknown",
    "seems_to_remove",
    "spelled",
    "with_text",
]


_VERSION: Final = re.compile(r"-\d+(?:\.\d+)*\Z")
_LONG_OPTION: Final = re.compile(
    r"--.*|-(?:login|posix|noprofile|norc|noediting|verbose|restricted|debugger|wordexp"
    r"|pretty-print|help|version|rcfile|init-file|dump-(?:po-)?strings)"
)
_GIVES_SCRIPT: Final = re.compile(r"-[A-Za-z]*c[A-Za-z]*")


def shell_of(name: str) -> str:
    """Return the name of a shell without its folder, its version and capital letters."""
    return _VERSION.sub("", name.rsplit("/", 1)[-1].lower())


def _without_box(words: Sequence[Word]) -> Sequence[Word]:
    """Return a command without the `busybox` before a shell."""
    boxed = len(words) > 1 and shell_of(words[0].plain) in BOXES
    return words[1:] if boxed and shell_of(words[1].plain) in SHELLS else words


def script_of(words: Sequence[Word]) -> str | None:
    """Return the script of ``bash -c SCRIPT``: behind its options, each with its values."""
    words = _without_box(words)
    if len(words) < 3 or shell_of(words[0].plain) not in SHELLS:
        return None
    taken, index = False, 1
    while index < len(words):
        text = words[index].plain
        index += 1
        if text in ("-", "--"):
            break
        if len(text) < 2 or text[0] not in "-+":
            index -= 1
            break
        if _LONG_OPTION.fullmatch(text):
            index += text.endswith("file")
        else:
            taken |= text[0] == "-" and "c" in text
            index += text.count("o") + text.count("O")
    return words[index].plain if taken and index < len(words) else None


# A program that removes files: `rm` as a word, whatever is quoted in it.
_REMOVAL: Final = re.compile(r"(?<![\w.-])rm(?:dir)?(?![\w.-])", re.IGNORECASE)
_QUOTES: Final = re.compile(r"""\$(?=['"])|['"\\]""")
_BRACES: Final = re.compile(r"\{[^{}]*(?:,|\.\.)")
_OF_BRACES: Final = re.compile(r"[{},]")
_CODED: Final = re.compile(r"\$'(?:\\'|[^'])*?\\[a-zA-Z0-7]")
_BLANK: Final = re.compile(r"\\[ntr]")


def removes(text: str) -> bool:
    """Return whether a text names a program that removes files, quoted or not."""
    bare = _QUOTES.sub("", text)
    if _REMOVAL.search(bare) or _REMOVAL.search(text):
        return True
    # `r{m,x}`, `{rm,y}`
    return _BRACES.search(bare) is not None and "rm" in _OF_BRACES.sub("", bare)


def gives_removal(program: Sequence[Word]) -> bool:
    """Return whether a shell is given a script that names a program which removes files."""
    words = _without_box(program)
    return (
        shell_of(words[0].plain) in SHELLS
        and any(word.plain[:1] in ("-", "+") and "c" in word.plain for word in words[1:])
        and removes(" ".join([word.plain for word in words[1:]]))
    )


def seems_to_remove(text: str) -> bool:
    """Return whether an ambiguous text may give a shell a script that removes files."""
    words = _QUOTES.sub("", text).split()
    if not any(shell_of(word.strip("(){};&|`")) in SHELLS for word in words):
        return False
    if not any(map(_GIVES_SCRIPT.fullmatch, words)):
        return False
    return removes(_BLANK.sub(" ", text)) or _CODED.search(text) is not None


def removes_unknown(text: str, commands: Iterable[SimpleCommand]) -> bool:
    """Return whether *text* removes files and then names a variable of an unknown value.

    One of *commands*, those of the text, sets it.
    """
    names = {
        word.raw.partition("=")[0].rstrip("+")
        for command in commands
        for word in command.words
        if is_assignment(word) and not _is_harmless(word)
    }
    if not names or not removes(text):
        return False
    named = re.compile(rf"\$\{{?[#!]?(?:{'|'.join(map(re.escape, names))})(?!\w)")
    bare = _QUOTES.sub("", text)
    removal = _REMOVAL.search(bare)
    return named.search(bare, removal.end() if removal else 0) is not None


def _is_harmless(assignment: Word) -> bool:
    """Return whether a variable is set to what is known, and is the name of no critical folder."""
    if assignment.guessed or not assignment.known:
        return False
    return assignment.plain.partition("=")[2].rstrip("/") not in ("", ".", "..", "~")


# Changes of the folder that are followed into a script; behind more its folder is unknown.
_FOLLOWED: Final = 8


class NestedScripts:
    """The scripts in the arguments of a command, each read in the folder it runs in."""

    def __init__(self, shell: Shell, read: Callable[[str, Shell], ClaudeCommand]) -> None:
        self._shell = shell
        self._read = read
        self._moved: list[str] = []

    def follow(self, program: Sequence[Word]) -> None:
        """Note a command that changes the folder."""
        self._moved.append(as_written(program) + "\n")

    def look(self, text: str) -> tuple[tuple[str, ...], list[ClaudeRedirection]]:
        """Return the match texts of the commands of the script *text*, and the files it opens."""
        shell = self._shell
        if not shell.kinds.scripted:
            return (), []
        lost = len(self._moved) > _FOLLOWED
        inside = self._read(("" if lost else "".join(self._moved)) + text, shell)
        texts = tuple(
            reading
            for part in inside.parts
            for reading in (part.text, *part.match_texts, *part.script_texts, *part.possible_texts)
        )
        opened = [ClaudeRedirection.of(file) for file in inside.redirections]
        removed = [file for file in opened if file.tool == shell.files.removes]
        others = [file for file in opened if file not in removed and file != GUARDED]
        files = [*removed, *(evolve(file, scripted=True, part=None) for file in others)]
        if GUARDED in opened and not shell.traced:
            files.append(GUARDED)
        return texts, files


class AutoAllowed:
    """Which commands of one script are harmless, asked in their order.

    What is put into a word by a command that the script holds is known by the number of that one.
    """

    def __init__(self, text: str, script: Script, shell: Shell) -> None:
        self._text = text
        self._shell = shell
        self._opaque = script.opaque
        self._noted: list[bool] = []
        self._reading: list[bool] = []  # and it changes no file either
        # Looked for once: a long command has as many parts as would look for it.
        self._fed = "<<<" in text

    def note(self, *, harmless: bool, edits: bool) -> None:
        """Note of the next command whether it is harmless, and whether it changes files."""
        self._noted.append(harmless)
        self._reading.append(harmless and not edits)

    def is_set(self, word: Word) -> bool:
        """Whether a variable is set, and to what the host can tell, that changes nothing."""
        name = word.raw.partition("=")[0].rstrip("+")
        return (
            not self._opaque
            and is_assignment(word)
            and ambiguities.may_be_set(name, self._shell)
            and (word.literal or (word.vetted and all(self._noted[slice(*word.inner)])))
        )

    def is_harmless(self, command: CommandFacts, *, led: bool) -> bool:
        """Return whether a command is harmless; *led* if its program stands behind a target."""
        known = command.known
        if not command.harmless or known is None or self._opaque or (led and known.leads):
            return False
        if known.literal_input and self._fed and "$" in self._text:
            return False
        if self._fed and (known.spelled or _GIVEN_GLOB.search(self._text)):
            return False
        return all(
            word.literal or (word.vetted and self._may_be_put_in(word)) for word in command.words
        )

    def _may_be_put_in(self, word: Word) -> bool:
        """Whether nothing is put into a word but the output of read-only commands.

        What a shell sets by itself (`$?`) is left to rules.
        """
        return all(self._reading[slice(*word.inner)]) and not _SET_BY_SHELL.search(word.raw)


# A pattern that is put on the input of a command, where a host looks for one in all of its text.
_GIVEN_GLOB = re.compile(r"<<<[ \t]*[^\s'\"]*[*?\[]")
_SET_BY_SHELL = re.compile(rf"\$[{re.escape(''.join(SET_BY_SHELL))}]")


def is_harmless(
    known: Examined, words: Sequence[Word], program: Sequence[Word], shell: Shell
) -> bool:
    """Return whether a command is harmless by its own words.

    Args:
        known: what is known of the program.
        words: the command.
        program: the same behind its wrappers and assignments.
        shell: what the host knows of commands.

    """
    if not known.harmless or is_evaluated(program):
        return False
    if shell.foreground:
        return True  # behind some wrappers it is not, and is asked for all the same
    behind = words
    if program is not words:
        behind = as_granted(words, shell, harmless=not known.carried)
    if len(behind) != len(program):
        return False  # behind a wrapper that only rules which deny unwrap
    around = words[: len(words) - len(program)]
    if known.direct and (around or is_quoted(words[0])):
        return False
    if known.spelled and any(map(is_quoted, words)):
        return False
    if known.carried:
        if not carries_files(words, len(around), shell):
            return False
    elif around and not is_quiet(around, shell, moves=known.moves > 0 or known.internal):
        return False
    if known.listed and around and is_assignment(around[0]) and not is_assignment(around[-1]):
        return False  # its options are looked for behind one of both
    if known.listed and any(is_quoted(word) for word in around if not is_assignment(word)):
        return False
    return not any(map(is_home_of_other, words))


# The text for rules that allow, those for rules that deny, and others for rules that allow.
Texts = tuple[str, tuple[str, ...], tuple[str, ...]]

_NAME: Final = re.compile(r"[\w./+-]+")
_BLANKS: Final = re.compile(r"[ \t]+")


def with_text(fed: str, written: str, known: Sequence[str]) -> Iterator[str]:
    """Yield the texts by which rules that deny know a command that is given a text to read.

    Args:
        fed: the command with that text.
        written: the command without it.
        known: how they know this.

    """
    yield from dict.fromkeys((fed, *(fed.replace(written, each, 1) for each in known)))


def spelled(
    words: Sequence[Word],
    program: Sequence[Word],
    granted: Sequence[Word],
    shell: Shell,
    *,
    anew: bool,
) -> Texts:
    """Return the texts of a command (see `policy.commands.parts.CommandPart`).

    Args:
        words: all of it.
        program: what is behind its wrappers and assignments.
        granted: what is behind those that rules which allow unwrap.
        shell: what the host knows of commands.
        anew: whether the host puts it together anew (`match_texts.py`).

    """
    text, known, written = _spelled(words, program, granted, shell)
    if anew:
        said = requoted(words, len(words) - len(granted))
        behind = said[len(words) - len(program) :], said[len(words) - len(granted) :]
        known = (*known, " ".join([word.plain for word in granted]))
        text, _, written = _spelled(said, *behind, shell)
    return text, known, written


def _spelled(
    words: Sequence[Word], program: Sequence[Word], granted: Sequence[Word], shell: Shell
) -> Texts:
    text, name = as_written(words), granted[0]
    if (
        len(program) == len(words)
        and name.plain not in shell.wrapping.names
        and basename(name.plain) == name.plain
        and not is_quoted(name)
        and not is_assignment(name)
    ):
        plain = " ".join([word.plain for word in words])
        plain = plain.strip()
        vanishing = shortened(words) if may_vanish(text) else ()
        # Several blanks are one to rules with a star, quoted or not.
        known = dict.fromkeys((plain, _BLANKS.sub(" ", plain), *vanishing))
        return text, (() if [*known] == [text] else tuple(known)), ()
    if all(map(is_assignment, words)):
        return "", (text,), ()  # no command: no rule allows it, unless that spells out all of it
    if is_quoted(name) and _NAME.fullmatch(name.plain):
        granted = [evolve(name, raw=name.plain), *granted[1:]]
    granted_text = as_written(granted)
    named = dict.fromkeys((*match_texts(words, shell), text))
    named.pop(granted_text, None)
    # Quotes around the program count for a rule that allows only where the command begins with it.
    written = (text,) if text != granted_text else ()
    return granted_text, tuple(named), written


# The longest command that is kept, and how many: a few megabytes for each host that is read.
_LONGEST_KEPT: Final = 256
_MOST: Final = 2048


class CommandFacts:
    """A simple command of a word or more, looked at by itself.

    Attributes:
        words: all of it.
        program: the same behind its wrappers and assignments.
        granted: the same behind those that rules which allow unwrap.
        examined: what of it is looked at for what its program does.
        known: what is known of that; None where nothing is.
        texts: by which rules know it.
        possible_texts: those of what it may be besides.
        script: the script that it is given to run, if it is.
        sets: whether it sets variables, and does nothing else.
        leaves: whether what follows it may run in another folder.
        versioned: whether it looks for a repository.
        planted: the files that it may write, of one or not.
        exports: whether it changes the environment of what follows it.
        extended: whether a wrapper will add arguments.
        carried: whether files are looked for behind what stands around its program.
        edits: whether its program changes files that it names, or runs a script.
        harmless: whether it runs where no rule applies to it, as far as its own words tell.
        differs: whether shells differ on what it is.
        nameless: whether its program is no name of one.
        unchecked: whether no rule may allow what stands beside it either.
        ambiguous: whether shells read another word in it, or another value of a variable.
        suspect: whether it gives a shell a script that names a program which removes files.

    """

    __slots__ = (
        "ambiguous",
        "carried",
        "differs",
        "edits",
        "examined",
        "exports",
        "extended",
        "granted",
        "harmless",
        "known",
        "leaves",
        "nameless",
        "planted",
        "possible_texts",
        "program",
        "script",
        "sets",
        "suspect",
        "texts",
        "unchecked",
        "versioned",
        "words",
    )

    def __init__(self, words: Sequence[Word], shell: Shell, *, anew: bool) -> None:
        """Look at *words*; *anew* where the host puts them together anew."""
        self.words = words
        self.program = program = behind_all(words, shell)
        self.granted = granted = words if program is words else as_granted(words, shell)
        self.texts: Texts = spelled(words, program, granted, shell, anew=anew)
        self.possible_texts = () if program is words else possible_texts(words, shell)
        self.script = script_of(program)
        self.sets = all(map(is_assignment, words))
        self.suspect = bool(shell.kinds.scripted) and gives_removal(program)
        self.leaves = program[0].plain in shell.kinds.movers
        self.versioned = looks_for_one(program, shell)
        self.planted = planted(program, shell)
        self.exports = ambiguities.exports_inherited(program, shell)
        self.extended = any(
            wrapper.appends
            for word in words[: len(words) - len(granted)]
            if (wrapper := shell.wrapping.granting.known.get(word.plain))
        )
        self._examine(shell, anew=anew)
        self._judge(shell)

    def _examine(self, shell: Shell, *, anew: bool) -> None:
        words, examined = self.words, self.program
        if examined is not words:
            outer = shell.programs.known.get(words[0].plain)
            if outer is not None and outer.runs:
                examined = words
        self.examined = examined
        self.carried = carries_files(words, len(words) - len(examined), shell)
        self.edits = examined[0].plain in (shell.kinds.planting | shell.kinds.scripted)
        self.known = examine(exposed(examined) if anew else examined, shell)
        self.harmless = self.known is not None and is_harmless(self.known, words, examined, shell)

    def _judge(self, shell: Shell) -> None:
        words, program, name = self.words, self.program, self.granted[0]
        around = len(words) - len(program)
        self.differs = (
            around >= limits.NESTING
            or is_evaluated(program)
            or any(map(is_expanded, words[: around + 1]))
            or (len(words) > 1 and self.sets)
            or _is_no_program(words, around)
        )
        self.nameless = not name.literal or "$" in name.raw or name.plain[:1] in ("", "-", "}")
        self.unchecked = (
            program is not words
            or basename(program[0].plain) in shell.kinds.odd
            or any("/environ" in word.plain for word in words)
            or name.plain[:1] == "-"
            or "=" in name.plain
        ) and ambiguities.is_unchecked(words, shell)
        plain = [word for word in words if "$" not in word.raw]
        self.ambiguous = (
            _is_negated_late(words)
            or any(map(ambiguities.is_joined_oddly, words))
            or ambiguities.has_half_assignment(words)
            or ambiguities.is_worked_out(plain, shell)
            or any(_PARTING_ALONE.match(word.raw) for word in takewhile(is_assignment, words))
        )


_PARTING_ALONE: Final = re.compile(r"IFS\+?=")


def _is_negated_late(words: Sequence[Word]) -> bool:
    """Whether a variable is set before what negates a command, or begins a statement."""
    behind = next((word for word in words if not is_assignment(word)), None)
    if behind is None or behind is words[0]:
        return False
    return behind.raw in ("!", "[[", "]]") or behind.raw[:1] in ("{", "}")


def _is_no_program(words: Sequence[Word], around: int) -> bool:
    """Whether what begins a statement stands where a program does: `time for a`, `builtin [[`."""
    if around and words[around].raw == "[[" and words[around - 1].raw not in _BEFORE_ALL:
        return True
    before = words[: around + 1]
    behind = next((word.raw for word in before if word.raw not in _BEFORE_ALL), "")
    return behind in KEYWORDS


# What may stand before every statement.
_BEFORE_ALL: Final = frozenset({"!", "time"})


def facts_of(command: SimpleCommand, script: Script, shell: Shell) -> CommandFacts:
    """Return what a command of *script*, which has a word, is by itself.

    What a command of plain words is follows from how it is written, and is kept: the same ones
    stand in many scripts (`git status`, `tail -5`).
    """
    if command.own is None:
        command.own = _facts_of(command, script, shell)
    facts: CommandFacts = command.own
    return facts


def _facts_of(command: SimpleCommand, script: Script, shell: Shell) -> CommandFacts:
    words, anew = command.words, command.requoted
    if anew or not script.plain:
        return CommandFacts(words, shell, anew=anew)
    kept, text = _kept(shell), as_written(words)
    found = kept.get(text)
    if found is None:
        found = CommandFacts(words, shell, anew=False)
        if len(text) <= _LONGEST_KEPT:
            if len(kept) >= _MOST:
                kept.clear()
            kept[text] = found
    return found


@lru_cache(maxsize=16)
def _kept(shell: Shell) -> dict[str, CommandFacts]:  # noqa: ARG001  # what is kept is of this one
    return {}
