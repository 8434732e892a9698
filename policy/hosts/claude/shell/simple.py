"""What one simple command is by itself: its texts, its script, whether it is auto-allowed."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import chain, pairwise, takewhile

from policy.commands.knowledge import Shell
from policy.commands.reader import BOXES, KEYWORDS, SHELLS
from policy.commands.words import (
    CommandPrefix,
    Script,
    SimpleCommand,
    Word,
    as_written,
    basename,
    command_prefix,
    expression,
    is_assignment,
    is_evaluated,
    is_expanded,
    is_quoted,
)
from policy.core import expressions as re
from policy.core import limits
from policy.core.values import Final, evolve
from policy.hosts.claude.shell import programs
from policy.hosts.claude.shell.doubtful import TESTS, is_joined_oddly
from policy.hosts.claude.shell.match_texts import (
    as_granted,
    exposed,
    is_fragment,
    is_quiet,
    match_texts,
    may_vanish,
    requoted,
    shortened,
    stages_of,
    with_single_blanks,
)

# Builtins before which a variable that is set may stay set.
_KEEPING: Final = frozenset(
    "declare typeset local export readonly : break continue return exit shift times set"
    " unset".split()
)

# A number as every shell reads it, and a home folder that some put there, quoted or not.
_DECIMAL: Final = re.compile(r"0|[1-9][0-9]{0,17}")
_AT_HOME: Final = re.compile(r"(?:^|:)~")


def _is_worked_out(words: Sequence[Word], shell: Shell) -> bool:
    """Whether a variable is set to what a shell works out, quoted or not: a sum, a home folder."""
    for word in takewhile(is_assignment, words):
        name, _, value = word.plain.partition("=")
        if _AT_HOME.search(value) and ("$" not in word.raw or "~" in word.raw):
            return True
        if name.rstrip("+") in shell.variables.counted and not _DECIMAL.fullmatch(value):
            return True
    return False


def _guards(words: Sequence[Word], shell: Shell, *, first: bool) -> bool:
    """Whether a variable is set that changes how a shell reads what follows."""
    set_before = [*takewhile(is_assignment, words)]
    program = words[len(set_before) :]
    name = program[0].plain if program else ""
    guarded = expression(shell.variables.guarded)
    if "=" in name and guarded.fullmatch(_variable(name)):
        return True  # spelled in another way it is a name to shells, and a variable to the host
    names = [_variable(word.raw) for word in set_before]
    if "IFS" in names or _is_worked_out(words, shell):
        return True
    stay = names if not first or name in _KEEPING else []
    if name == "export" and (not first or program[0].raw != name):
        # What is spelled in another way is read by all shells as a command, and as no more.
        stay += [_variable(word.plain) for word in program[1:] if "=" in word.plain]
    return any(map(guarded.fullmatch, stay))


def _variable(text: str) -> str:
    return text.partition("=")[0].rstrip("+")


def _is_unchecked(words: Sequence[Word], prefix: CommandPrefix, shell: Shell) -> bool:
    """Whether no rule may allow this command, nor what stands beside it.

    `Program.unchecked` and `Shell.variables` list what may run or be evaluated, or changes how a
    shell reads on. An option is no program, and a wrapper with an unknown option may run anything.
    """
    stages = [*stages_of(words, prefix)]
    # Not those that begin with the second of two assignments.
    begun = stages[:1]
    begun += (
        stage
        for before, stage in pairwise(stages)
        if not (is_assignment(before[0]) and is_assignment(stage[0]))
    )
    return (
        any(_guards(stage, shell, first=number == 0) for number, stage in enumerate(begun))
        or any(is_environment(word.plain) for word in words)
        or any(is_fragment(each, shell) or _has_unchecked_arguments(each, shell) for each in begun)
    )


# What a process was started with, its secrets among it.
_ENVIRONMENT = re.compile(r"/proc/.*/environ", re.DOTALL)


def is_environment(name: str) -> bool:
    """Whether *name* may be that of a file with what a process was started with."""
    return "/environ" in name and _ENVIRONMENT.search(name) is not None


def _has_unchecked_arguments(words: Sequence[Word], shell: Shell) -> bool:
    program = shell.programs.known.get(basename(words[0].plain))
    if program is None:
        return False
    if program.settled and not all(word.literal for word in words[1:]):
        return True
    if program.unexpanded and any(
        word.glob or programs.is_home_of_other(word) or _may_be_option(word, words[0])
        for word in words[1:]
    ):
        return True
    if program.unchecked is None:
        return False
    if program.spelled and any(word.raw != word.plain for word in words[1:]):
        return True
    arguments = "\0".join([word.plain for word in words[1:]]) or "\0" * len(words[1:])
    return expression(program.unchecked).fullmatch(arguments) is not None


def _may_be_option(word: Word, program: Word) -> bool:
    """Whether the value of an unknown word may be an option, or empty."""
    if word.literal or word.plain[:1] not in ("$", "`", "-", "+"):
        return False
    return program.plain not in {*TESTS, "test"} or "/" not in _PUT_IN.sub("", word.plain)


_PUT_IN = re.compile(r"\$\(.*\)|`.*`", re.DOTALL)


def has_half_assignment(words: Sequence[Word]) -> bool:
    """Whether a word is a lone ``=``, which a grammar may take for half an assignment."""
    return any(word.raw == "=" for word in words) and words[0].plain not in TESTS


_VERSION: Final = re.compile(r"-\d+(?:\.\d+)*\Z")
_LONG_OPTION: Final = re.compile(
    r"--.*|-(?:login|posix|noprofile|norc|noediting|verbose|restricted|debugger|wordexp"
    r"|pretty-print|help|version|rcfile|init-file|dump-(?:po-)?strings)"
)


def shell_of(name: str) -> str:
    """Return the name of a shell without its folder, its version and capital letters."""
    return _VERSION.sub("", name.rsplit("/", 1)[-1].lower())


def _script_of(words: Sequence[Word]) -> str | None:
    """Return the script of ``bash -c SCRIPT``: behind its options, each with its values."""
    if len(words) > 1 and shell_of(words[0].plain) in BOXES and shell_of(words[1].plain) in SHELLS:
        words = words[1:]
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


def _is_harmless(
    known: programs.Examined, words: Sequence[Word], program: Sequence[Word], shell: Shell
) -> bool:
    """Return whether a command is harmless by its own words; *known* is of its *program*."""
    if not known.harmless or is_evaluated(program):
        return False
    behind = words
    if program is not words:
        behind = as_granted(words, shell)
    if len(behind) != len(program):
        return False  # behind a wrapper that only rules which deny unwrap
    around = words[: len(words) - len(program)]
    if known.direct and (around or is_quoted(words[0])):
        return False
    if known.program.spelled and any(map(is_quoted, words)):
        return False
    if around and not is_quiet(around, shell, moves=known.moves > 0):
        return False
    is_listed = known.program.flags is not None
    if is_listed and around and is_assignment(around[0]) and not is_assignment(around[-1]):
        return False  # its options are looked for behind one of both
    if is_listed and any(is_quoted(word) for word in around if not is_assignment(word)):
        return False
    return not any(map(programs.is_home_of_other, words))


# The text for rules that allow, those for rules that deny, and others for rules that allow.
Texts = tuple[str, tuple[str, ...], tuple[str, ...]]

_PLAIN_NAME: Final = re.compile(r"[\w./+-]+")
_SPACED: Final = re.compile(r"\t|  ")


def _texts(
    words: Sequence[Word], prefix: CommandPrefix, granted: Sequence[Word], shell: Shell
) -> Texts:
    """Return the texts of a command: of all of it, and behind what rules unwrap."""
    text, name = as_written(words), granted[0]
    if (
        not prefix.program
        and name.plain not in shell.wrapping.names
        and basename(name.plain) == name.plain
        and not is_quoted(name)
        and not is_assignment(name)
    ):
        plain = " ".join([word.plain for word in words])
        vanishing = shortened(words) if may_vanish(text) else ()
        found = (text, plain) if _SPACED.search(text) else (plain,)
        known = dict.fromkeys((*chain.from_iterable(map(with_single_blanks, found)), *vanishing))
        return text, (() if [*known] == [text] else tuple(known)), ()
    if all(map(is_assignment, words)):
        return "", (text,), ()  # no command: no rule allows it, unless that spells out all of it
    if is_quoted(name) and _PLAIN_NAME.fullmatch(name.plain):
        granted = [evolve(name, raw=name.plain), *granted[1:]]
    granted_text = as_written(granted)
    named = dict.fromkeys((*match_texts(words, prefix, shell), text))
    named.pop(granted_text, None)
    # Quotes around the program count for a rule that allows only where the command begins with it.
    written = (text,) if text != granted_text else ()
    return granted_text, tuple(named), written


# The longest command that is kept, and how many: a few megabytes for each host that is read.
_LONGEST_KEPT: Final = 256
_MOST: Final = 2048


class CommandFacts:
    """A simple command of a word or more, looked at by itself."""

    def __init__(self, words: Sequence[Word], shell: Shell, *, anew: bool) -> None:
        """Look at *words*; *anew* where the host puts them together anew (`match_texts.py`)."""
        self.words = words
        prefix = command_prefix(words, shell)
        # The same behind its wrappers and assignments, and behind those that rules which allow
        # unwrap.
        self.program = program = words[prefix.program :] if prefix.program else words
        self.granted = granted = words if program is words else as_granted(words, shell)
        self.texts = _texts(words, prefix, granted, shell)
        if anew:
            begins = len(words) - len(granted)
            said = requoted(words, begins)
            known = (*self.texts[1], " ".join([word.plain for word in granted]))
            text, _, written = _texts(said, prefix, said[begins:], shell)
            self.texts = text, known, written
        self.script = _script_of(program)  # that it is given to run
        self.sets = all(map(is_assignment, words))  # variables, and it does nothing else
        self.leaves = program[0].plain in shell.kinds.movers  # another folder may be next
        self.versioned = programs.looks_for_one(program, shell)  # a repository
        # The files that it may write, of one or not.
        self.planted = programs.planted(program, shell)
        # It changes the environment of what follows it.
        self.exports = program[0].plain == "export" and any("=" in w.plain for w in program[1:])
        # A wrapper will add arguments.
        self.extended = any(
            wrapper.appends
            for word in words[: len(words) - len(granted)]
            if (wrapper := shell.wrapping.granting.known.get(word.plain))
        )
        # What is looked at for what it does; whether that changes files, or runs a script; what is
        # known of it; and whether it runs where no rule applies, as far as its own words tell.
        outer = shell.programs.known.get(words[0].plain)
        self.examined = examined = words if outer is not None and outer.runs else program
        self.edits = examined[0].plain in (shell.kinds.planting | shell.kinds.scripted)
        self.known = programs.examine(exposed(examined) if anew else examined, shell)
        self.harmless = self.known is not None and _is_harmless(self.known, words, examined, shell)
        self._judge(prefix, shell)

    def _judge(self, prefix: CommandPrefix, shell: Shell) -> None:
        words, program, name = self.words, self.program, self.granted[0]
        around = prefix.program
        # Shells differ on what it is.
        self.differs = (
            around >= limits.NESTING
            or is_evaluated(program)
            or any(map(is_expanded, words[: around + 1]))
            or (len(words) > 1 and self.sets)
            or _is_no_program(words, around)
        )
        # Its program is no name of one.
        self.nameless = not name.literal or "$" in name.raw or name.plain[:1] in ("", "-", "}")
        # No rule may allow what stands beside it either.
        self.unchecked = (
            program is not words
            or basename(program[0].plain) in shell.kinds.odd
            or any("/environ" in word.plain for word in words)
            or name.plain[:1] == "-"
            or "=" in name.plain
        ) and _is_unchecked(words, prefix, shell)
        # Shells read another word in it, or another value of a variable.
        behind = next((word.raw for word in words if not is_assignment(word)), "")
        self.ambiguous = (
            (is_assignment(words[0]) and _BEGINNING.match(behind) is not None)
            or any(map(is_joined_oddly, words))
            or has_half_assignment(words)
            or _is_worked_out([word for word in words if "$" not in word.raw], shell)
            or any(_PARTING_ALONE.match(word.raw) for word in takewhile(is_assignment, words))
        )


_PARTING_ALONE: Final = re.compile(r"IFS\+?=")

# What negates a command or begins a statement, where it stands behind a variable.
_BEGINNING: Final = re.compile(r"[{}]|(?:!|\[\[|\]\])\Z")


def _is_no_program(words: Sequence[Word], around: int) -> bool:
    """Whether what begins a statement stands where a program does: `time for a`, `builtin [[`."""
    before = [word.raw for word in words[: around + 1]]
    if around and before[-1] == "[[" and before[-2] not in _BEFORE_ALL:
        return True
    return next((raw for raw in before if raw not in _BEFORE_ALL), "") in KEYWORDS


# What may stand before every statement.
_BEFORE_ALL: Final = frozenset({"!", "time"})


def facts_of(command: SimpleCommand, script: Script, shell: Shell) -> CommandFacts:
    """Return what a command of *script*, which has a word, is by itself."""
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
