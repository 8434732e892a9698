"""Facts about one simple command: its match texts, its nested script, whether it is harmless."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise, takewhile

from policy.commands.knowledge import Shell
from policy.commands.reader import KEYWORDS, is_bare
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
    script_of,
)
from policy.core import expressions as re
from policy.core import limits
from policy.core.memory import Memo
from policy.core.values import Final, evolve
from policy.hosts.claude.shell import programs
from policy.hosts.claude.shell.doubtful import TESTS, is_joined_oddly
from policy.hosts.claude.shell.match_texts import (
    granted_words,
    is_fragment,
    keeps_harmless,
    match_texts,
    requoted,
    stages_of,
    with_bare_globs,
)

# Builtins that may keep the assignments before them in force.
_KEEPING_VARIABLES: Final = frozenset(
    "declare typeset local export readonly : break continue return exit shift times set"
    " unset".split()
)

# A number that all shells read in the same way; a home folder, which some expand in quotes.
_DECIMAL: Final = re.compile(r"0|[1-9][0-9]{0,17}")
_AT_HOME: Final = re.compile(r"(?:^|:)~")


def _sets_evaluated(words: Sequence[Word], shell: Shell) -> bool:
    """Whether a variable gets a value that shells evaluate even in quotes: arithmetic, `~`."""
    for word in takewhile(is_assignment, words):
        name, _, value = word.value.partition("=")
        if _AT_HOME.search(value) and ("$" not in word.raw or "~" in word.raw):
            return True
        if name.rstrip("+") in shell.variables.counted and not _DECIMAL.fullmatch(value):
            return True
    return False


def _changes_reading(words: Sequence[Word], shell: Shell, *, first: bool) -> bool:
    """Whether *words* set a variable that changes how a shell reads what follows."""
    assignments = [*takewhile(is_assignment, words)]
    program = words[len(assignments) :]
    name = program[0].value if program else ""
    guarded = expression(shell.variables.guarded)
    if "=" in name and guarded.fullmatch(_variable(name)):
        return True  # in quotes: a program to shells, an assignment to the host
    names = [_variable(word.raw) for word in assignments]
    if "IFS" in names or _sets_evaluated(words, shell):
        return True
    lasting = names if not first or name in _KEEPING_VARIABLES else []
    if name == "export" and (not first or program[0].raw != name):
        # In quotes `export` is a command to all shells, and no keyword.
        lasting += [_variable(word.value) for word in program[1:] if "=" in word.value]
    return any(map(guarded.fullmatch, lasting))


def _variable(text: str) -> str:
    return text.partition("=")[0].rstrip("+")


def _is_unchecked(words: Sequence[Word], prefix: CommandPrefix, shell: Shell) -> bool:
    """Whether no rule may allow this command, nor any other of its script.

    `Program.unchecked` and `Shell.variables` list arguments and variables that may run a command,
    or change how a shell reads what follows. A wrapper with an unknown option may run anything.
    """
    stages = [*stages_of(words, prefix)]
    # Without the stages that begin with a second assignment.
    selected = stages[:1] + [
        stage
        for before, stage in pairwise(stages)
        if not (is_assignment(before[0]) and is_assignment(stage[0]))
    ]
    return (
        any(_changes_reading(stage, shell, first=stage is stages[0]) for stage in selected)
        or any(is_environment(word.value) for word in words)
        or any(is_fragment(each, shell) or _has_unchecked(each, shell) for each in selected)
    )


# The environment of a process, which may hold secrets.
_ENVIRONMENT = re.compile(r"/proc/.*/environ", re.DOTALL)


def is_environment(name: str) -> bool:
    """Whether *name* may be the environment of a process, `/proc/1/environ`."""
    return "/environ" in name and _ENVIRONMENT.search(name) is not None


def _has_unchecked(words: Sequence[Word], shell: Shell) -> bool:
    program = shell.programs.known.get(basename(words[0].value))
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
    if program.spelled and any(word.raw != word.value for word in words[1:]):
        return True
    arguments = "\0".join([word.value for word in words[1:]]) or "\0" * len(words[1:])
    return expression(program.unchecked).fullmatch(arguments) is not None


def _may_be_option(word: Word, program: Word) -> bool:
    """Whether the value of an unknown word may be an option, or empty."""
    if word.literal or word.value[:1] not in ("$", "`", "-", "+"):
        return False
    return program.value not in {*TESTS, "test"} or "/" not in _SUBSTITUTION.sub("", word.value)


_SUBSTITUTION = re.compile(r"\$\(.*\)|`.*`", re.DOTALL)


def has_lone_equals(words: Sequence[Word]) -> bool:
    """Whether a word is a lone ``=``, which may be half an assignment to the grammar."""
    return any(word.raw == "=" for word in words) and words[0].value not in TESTS


# The text for allow rules, the match texts, and further texts for allow rules.
Texts = tuple[str, tuple[str, ...], tuple[str, ...]]

_PLAIN_NAME: Final = re.compile(r"[\w./+-]+")


def _texts(
    words: Sequence[Word], prefix: CommandPrefix, granted: Sequence[Word], shell: Shell
) -> Texts:
    """Return the texts of a command, with and without the prefix that rules skip."""
    text, name = as_written(words), granted[0]
    if all(map(is_assignment, words)):
        return "", (text,), ()  # only an exact rule for the whole command may allow it
    if is_quoted(name) and _PLAIN_NAME.fullmatch(name.value):
        granted = [evolve(name, raw=name.value), *granted[1:]]
    granted_text = as_written(granted)
    named = dict.fromkeys((*match_texts(words, prefix, shell), text))
    named.pop(granted_text, None)
    # Behind a prefix an allow rule matches the program without quotes alone.
    written = (text,) if text != granted_text else ()
    return granted_text, tuple(named), written


# Characters of the longest cached command, and commands in a cache: a few megabytes.
_LONGEST_CACHED: Final = 256
_MOST_CACHED: Final = 2048


class CommandFacts:
    """What is known of a simple command from its words, of which there is at least one.

    The attributes of the class are those of bare words (`is_bare`).
    """

    script: str | None = None  # `ls` of `bash -c ls`
    assigns = False  # whether it is assignments alone
    gets_arguments = False  # whether a wrapper appends arguments
    differs = False  # whether shells read it differently
    nameless = False  # whether its first word is no name of a program
    ambiguous = False  # whether shells differ on its words, or on the value of a variable

    def __init__(self, words: Sequence[Word], text: str, shell: Shell, *, anew: bool) -> None:
        """Examine *words*, written as *text*; *anew*: the host quotes them anew (`requoted`)."""
        self.words = words
        # The words behind its wrappers and assignments, and behind those that allow rules skip; and
        # those that are examined.
        self.program = self.granted = self.examined = words
        self.texts: Texts = text, (), ()
        bare = not anew and is_bare(text, shell)
        if bare:
            # Whether no rule may allow any command of its script.
            self.unchecked = words[0].value in shell.kinds.odd and _has_unchecked(words, shell)
        else:
            self._look_behind_prefix(shell, anew=anew)
        program = self.program
        name, kinds = program[0].value, shell.kinds
        self.changes_folder = name in kinds.movers  # whether it may change the folder
        self.uses_repository = programs.uses_repository(program, shell)  # a git repository
        # Names of files that it may write, perhaps of a repository.
        self.written_names = programs.written_names(program, shell)
        # Whether it sets a variable for the commands that follow.
        self.exports = name == "export" and any("=" in word.value for word in program[1:])
        # Whether it changes files or runs a script, what is known of it, and whether it is harmless
        # by its own words.
        examined = self.examined
        self.edits = examined[0].value in kinds.planting or examined[0].value in kinds.scripted
        self.known = programs.examine(with_bare_globs(examined) if anew else examined, shell)
        self.harmless = (
            self.known is not None
            and self.known.harmless
            and not any(map(programs.is_home_of_other, words))
            and (bare or self._stays_harmless(self.known, shell))
        )

    def _stays_harmless(self, known: programs.Behavior, shell: Shell) -> bool:
        """Return whether a harmless program stays so with its quotes and what stands before it."""
        words, count = self.words, len(self.examined)
        if self.examined is not words and count != len(self.granted):
            return False  # behind a wrapper that only deny rules skip
        before, is_listed = words[: len(words) - count], known.program.flags is not None
        return not (
            is_evaluated(self.examined)
            or (known.direct and (before or is_quoted(words[0])))
            or (known.program.spelled and any(map(is_quoted, words)))
            or (before and not keeps_harmless(before, shell, moves=known.moves > 0))
            # The host looks for options behind one assignment or wrapper, and not behind both.
            or (is_listed and before and is_assignment(before[0]) and not is_assignment(before[-1]))
            or (is_listed and any(is_quoted(word) for word in before if not is_assignment(word)))
        )

    def _look_behind_prefix(self, shell: Shell, *, anew: bool) -> None:
        words = self.words
        prefix = command_prefix(words, shell)
        self.program = program = words[prefix.program :] if prefix.program else words
        self.granted = granted = words if program is words else granted_words(words, shell)
        self.texts = _texts(words, prefix, granted, shell)
        begins = len(words) - len(granted)
        if anew:
            quoted = requoted(words, begins)
            matched = (*self.texts[1], " ".join([word.value for word in granted]))
            text, _, written = _texts(quoted, prefix, quoted[begins:], shell)
            self.texts = text, matched, written
        self.script = script_of(program)
        self.assigns = all(map(is_assignment, words))
        wrappers = (shell.wrapping.granting.known.get(word.value) for word in words[:begins])
        self.gets_arguments = any(wrapper.appends for wrapper in wrappers if wrapper)
        outer = shell.programs.known.get(words[0].value)
        self.examined = words if outer is not None and outer.runs else program
        self._judge(prefix, shell)

    def _judge(self, prefix: CommandPrefix, shell: Shell) -> None:
        """Find out whether a rule may allow the command, and whether all shells read it alike."""
        words, program = self.words, self.program
        prefix_length, name = prefix.program, self.granted[0]
        self.differs = (
            prefix_length >= limits.NESTING
            or is_evaluated(program)
            or any(map(is_expanded, words[: prefix_length + 1]))
            or (len(words) > 1 and self.assigns)
            or _begins_statement(words, prefix_length)
        )
        self.nameless = not name.literal or "$" in name.raw or name.value[:1] in ("", "-", "}")
        self.unchecked = (
            program is not words
            or basename(program[0].value) in shell.kinds.odd
            or any("/environ" in word.value for word in words)
            or name.value[:1] == "-"
            or "=" in name.value
        ) and _is_unchecked(words, prefix, shell)
        behind = next((word.raw for word in words if not is_assignment(word)), "")
        self.ambiguous = (
            (is_assignment(words[0]) and _STATEMENT_START.match(behind) is not None)
            or any(map(is_joined_oddly, words))
            or has_lone_equals(words)
            or _sets_evaluated([word for word in words if "$" not in word.raw], shell)
            or any(_SETS_IFS.match(word.raw) for word in takewhile(is_assignment, words))
        )


_SETS_IFS: Final = re.compile(r"IFS\+?=")

# `!`, a brace or a bracket, looked for behind an assignment.
_STATEMENT_START: Final = re.compile(r"[{}]|(?:!|\[\[|\]\])\Z")


def _begins_statement(words: Sequence[Word], prefix_length: int) -> bool:
    """Whether a keyword stands in the place of a program: `time for a`, `builtin [[`."""
    before = [word.raw for word in words[: prefix_length + 1]]
    if prefix_length and before[-1] == "[[" and before[-2] not in _BEFORE_STATEMENTS:
        return True
    return next((raw for raw in before if raw not in _BEFORE_STATEMENTS), "") in KEYWORDS


# Keywords that may stand before every statement.
_BEFORE_STATEMENTS: Final = frozenset({"!", "time"})


def facts_of(command: SimpleCommand, script: Script, shell: Shell) -> CommandFacts:
    """Return the facts about a command of *script* that has a word."""
    facts: CommandFacts | None = command.own
    if facts is not None:
        return facts
    text, cache = as_written(command.words), _cache(shell)
    is_kept = script.plain and not command.requoted and len(text) <= _LONGEST_CACHED
    facts = cache.get(text) if is_kept else None
    if facts is None:
        facts = CommandFacts(command.words, text, shell, anew=command.requoted)
        if is_kept:
            cache.keep(text, facts)
    command.own = facts
    return facts


@lru_cache(maxsize=16)
def _cache(shell: Shell) -> Memo[str, CommandFacts]:  # noqa: ARG001  # the key of the cache
    return Memo(_MOST_CACHED)
