"""What one simple command is by itself: texts, scripts, whether it is auto-allowed or ambiguous."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import takewhile

from policy.commands.knowledge import Shell
from policy.commands.reader import BOXES, KEYWORDS, SHELLS
from policy.commands.words import (
    SET_BY_SHELL,
    Script,
    SimpleCommand,
    Target,
    Word,
    as_written,
    basename,
    is_assignment,
    is_evaluated,
    is_expanded,
    is_quoted,
)
from policy.core import expressions as re
from policy.core import limits
from policy.core.values import TYPE_CHECKING, Final, evolve
from policy.hosts.claude.shell.match_texts import (
    ClaudeCommand,
    ClaudeRedirection,
    as_granted,
    behind_all,
    carries_files,
    exposed,
    is_fragment,
    is_quiet,
    match_stages,
    match_texts,
    may_vanish,
    possible_texts,
    requoted,
    shortened,
)
from policy.hosts.claude.shell.programs import (
    Examined,
    examine,
    is_home_of_other,
    is_indirect,
    is_unwritable,
    looks_for_one,
    planted,
)
from policy.patterns.tokens import Gap, OneOf, Token

if TYPE_CHECKING:
    from policy.commands.knowledge import Kinds, Shell
    from policy.commands.words import SimpleCommand

__all__ = [
    "COMPOUND",
    "GUARDED",
    "TESTS",
    "AutoAllowed",
    "CommandFacts",
    "NestedScripts",
    "Texts",
    "doubtful",
    "facts_of",
    "guards",
    "has_background",
    "has_half_assignment",
    "has_late_keyword",
    "hides",
    "is_harmless",
    "is_misread",
    "is_no_expansion",
    "is_plain_test",
    "is_unchecked_target",
    "redirected",
    "removes",
    "removes_unknown",
    "seems_to_remove",
    "sets_in_pipe",
    "spelled",
    "traced",
    "with_text",
    "without_quoted",
]


# --- what shells read differently, or whose effect on the rest is unknown ----------------------

# What looks like a blank and is none to a shell.
ODD_BLANKS: Final = frozenset(
    "\xa0\xad\u1680\u180e\u2028\u2029\u202f\u205f\u2060\u3000\ufeff"
    + "".join(map(chr, [*range(0x2000, 0x2010), *range(0x202A, 0x202F), *range(0x2061, 0x206A)]))
)


def _cased(name: str) -> Iterator[Token]:
    return (OneOf(frozenset({letter, letter.upper()})) for letter in name)


_GIVEN_SCRIPTS: Final = sorted(SHELLS | BOXES)
_FOR_WINDOWS: Final[tuple[Token, ...]] = (Gap.PART, ".", *_cased("exe"))
COMPOUND: Final[tuple[tuple[Token, ...], ...]] = (
    (Gap.ANY, " =", Gap.ANY),
    (Gap.ANY, "~[", Gap.ANY),
    ("-", Gap.ANY),
    (Gap.ANY, "/proc/", Gap.ANY, "/environ", Gap.ANY),
    (Gap.ANY, OneOf(ODD_BLANKS), Gap.ANY),
    *((program,) for program in _GIVEN_SCRIPTS),
    *((*_cased(program), Gap.PART, " ", Gap.ANY) for program in _GIVEN_SCRIPTS),
    _FOR_WINDOWS,
    (*_FOR_WINDOWS, " ", Gap.ANY),
)


def traced(kinds: Kinds) -> Iterator[tuple[Token, ...]]:
    """Yield patterns of commands that may read files, where reads are kept in working folders."""
    yield (Gap.ANY, " ", Gap.ANY)
    yield (Gap.ANY, OneOf(frozenset("/~")), Gap.ANY)
    for program in sorted(kinds.interpreters | kinds.movers):
        yield (program,)


TESTS: Final = frozenset({"[", "[["})
_ENDS: Final = frozenset({"]", "]]"})
_JOINING: Final = frozenset({"=", "==", "!=", "=~", "<", ">"})
_PARTING: Final = frozenset({"-a", "-o", "&&", "||"})
_COMPARING: Final = frozenset("-eq -ne -lt -le -gt -ge".split())
_OPERATOR: Final = re.compile(r"-[A-Za-z_]\w*", re.ASCII)
_NUMBER: Final = re.compile(r"[+-]?[0-9]+")


def is_plain_test(words: Sequence[Word]) -> bool:
    """Return whether every reader parses the *words* of a test, brackets included, alike."""
    raw = [word.raw for word in words]
    if raw[0] == "[" and not _PARTING.isdisjoint(raw):
        return False  # to a shell `&&` and `||` end the command that `[` is
    if raw[0] == "[[" and any(word.glob for word in words[1:]):
        return False
    return _is_taken_apart(words[1:-1]) and _is_counted(words)


def _is_taken_apart(words: Sequence[Word]) -> bool:
    """Whether a test is one that every reader takes apart alike: `x`, `-f x`, `a = b`."""
    tests: list[list[str]] = [[]]
    for word in words:
        if word.raw in ("&&", "||"):
            tests.append([])
        elif word.raw not in ("(", ")") and (tests[-1] or word.raw != "!"):
            tests[-1].append(word.raw)
    if any(word.raw in _ENDS for word in words):
        return False  # to some the test ends there
    return all(word.raw for word in words) and all(map(_is_one, tests))


def _is_one(test: Sequence[str]) -> bool:
    """Whether a test is `WORD`, `OP WORD` or `WORD OP WORD`."""
    if len(test) == 2:
        return _OPERATOR.fullmatch(test[0]) is not None
    if len(test) == 3 and not _OPERATOR.fullmatch(test[0]):
        return test[1] in _JOINING or _OPERATOR.fullmatch(test[1]) is not None
    return len(test) == 1


def _is_counted(words: Sequence[Word]) -> bool:
    """Whether every operand that must be a number is a literal: a shell evaluates any other."""
    plain = [word.plain for word in words]
    for at, word in enumerate(plain[:-1]):
        if word in _COMPARING and not all(
            _NUMBER.fullmatch(each) for each in (plain[at - 1], plain[at + 1])
        ):
            return False
        if word == "-t" and not _NUMBER.fullmatch(plain[at + 1]):
            return False
        if word == "-v" and ("[" in plain[at + 1] or not words[at + 1].literal):
            return False
    return True


# Builtins before which a variable that is set may stay set.
_KEEPING: Final = frozenset(
    "declare typeset local export readonly : break continue return exit shift times set"
    " unset".split()
)

# A number as every shell reads it, and a home folder that some put there, quoted or not.
_DECIMAL: Final = re.compile(r"0|[1-9][0-9]{0,17}")
_AT_HOME: Final = re.compile(r"(?:^|:)~")


def is_worked_out(words: Sequence[Word], shell: Shell) -> bool:
    """Whether a variable is set to what a shell works out, quoted or not: a sum, a home folder."""
    for word in takewhile(is_assignment, words):
        name, _, value = word.plain.partition("=")
        if _AT_HOME.search(value) and ("$" not in word.raw or "~" in word.raw):
            return True
        if name.rstrip("+") in shell.variables.counted and not _DECIMAL.fullmatch(value):
            return True
    return False


def guards(words: Sequence[Word], shell: Shell, *, first: bool) -> bool:
    """Whether a variable is set that changes how a shell reads what follows."""
    set_before = [*takewhile(is_assignment, words)]
    program = words[len(set_before) :]
    name = program[0].plain if program else ""
    guarded = _expression(shell.variables.guarded)
    if "=" in name and guarded.fullmatch(_variable(name)):
        return True  # spelled in another way it is a name to shells, and a variable to the host
    for word in set_before:
        variable = _variable(word.raw)
        if variable == "IFS" or ((not first or name in _KEEPING) and guarded.fullmatch(variable)):
            return True
    if name == "export" and (not first or program[0].raw != name):
        # What is spelled in another way is read by all shells as a command, and as no more.
        declared = (word.plain for word in program[1:] if "=" in word.plain)
        if any(guarded.fullmatch(_variable(text)) for text in declared):
            return True
    return is_worked_out(words, shell)


def exports_inherited(program: Sequence[Word], shell: Shell) -> bool:
    """Whether a command gives a variable of the environment to what follows it."""
    if program[0].plain != "export":
        return False
    names = {_variable(word.plain) for word in program[1:] if "=" in word.plain}
    guarded = _expression(shell.variables.guarded)
    return any(name in shell.variables.inherited or guarded.fullmatch(name) for name in names)


def sets_in_pipe(commands: Iterable[SimpleCommand]) -> bool:
    """Whether a part of a pipeline only sets variables, so that their scope is unknown."""
    return any(each.piped and all(map(is_assignment, each.words)) for each in commands)


def _variable(text: str) -> str:
    return text.partition("=")[0].rstrip("+")


def may_be_set(name: str, shell: Shell) -> bool:
    """Whether a command that does nothing but set a variable of this name does no harm."""
    if _expression(shell.variables.guarded).fullmatch(name):
        return name in shell.variables.counted and name in shell.variables.harmless
    return name in shell.variables.harmless


_ODD_BLANK = re.compile("[" + "".join(sorted(ODD_BLANKS)) + "]")

# A comment behind a target, or behind an operator.
_TARGET = r"[<>][&|]?[ \t]*(?:[^\s;|&<>'\"]|'[^']*'|\"(?:\\.|[^\\\"])*\")+"
_COMMENT = rf"{_TARGET}(?:[ \t]|\\\n)+#|(?:&&|\|\|)\s*#"

# Text that the host finds by its letters, wherever it stands, and asks for.
_DOUBTFUL = re.compile(
    r"\\[ \t]|(?:^|[^ \t])\\\n|\\\n\s*\||\\\$\$\(|(?:^|[\s;&|(])=[A-Za-z_]|\\\{[^\n]*[,.]"
    rf"|\|[ \t]*\\\n|\s\]\]?#|{_COMMENT}|\\\Z"
)
# What is negated without a blank before its redirection.
_NEGATED = re.compile(r"(?:^|[\s;&|({])!(?:[<>]|&>)")


# What zsh expands: a folder that it names itself, and numbers in a range.
_OF_ZSH = re.compile(r"~\[|<[0-9]*-[0-9]*>")

# `{fd}> a` sets a variable, wherever a grammar takes `{fd}` for a word.
_NAMED_DESCRIPTOR = re.compile(r"\{\w+(?:\[[^\]]*\])?\}[ \t]*(?:[<>](?!\()|&>)")

# Digits that some shells take for an argument, and some for what is redirected.
_DIGITS = re.compile(r"(?:^|[\s;&|()])(?:[0-9]{2,}[<>](?!\()|[0-9]&>)|[<>][|&]?[ \t]*[0-9]+[<>]")

# A quote behind a brace that is not closed before.
_QUOTE_IN_BRACES = re.compile(r"\{[^}]*['\"]")
_SPELLED = re.compile(r"\\.|'[^']*'|\"(?:\\.|[^\"\\])*\"|`[^`]*`", re.DOTALL)


# The same, or a comment, in which a host does not pass over what is quoted.
_SAID = re.compile(rf"(?<![^\s;&|()<>])#[^\n]*|{_SPELLED.pattern}", re.DOTALL)


def _quote_in_braces(text: str) -> re.Match[str] | None:
    """Return braces that are not quoted and may hold a quote, by which the rest is hidden."""
    bare = _SAID.sub(lambda m: m[0] if m[0][0] in "\\#" else m[0].replace("{", " "), text)
    return _QUOTE_IN_BRACES.search(bare)


def doubtful(text: str) -> str | None:
    """Return the first ambiguous text in *text*, however the rest is read; None for nothing."""
    return _first(_doubtful(text))


def _doubtful(text: str) -> Iterator[re.Match[str] | None]:
    if "\\" in text or "=" in text or "#" in text:
        yield _DOUBTFUL.search(text)
    if not text.isascii():
        yield _ODD_BLANK.search(text)
    if "<" in text or ">" in text:
        yield _DIGITS.search(text)
        yield _NEGATED.search(text) if "!" in text else None
        yield _left_open(text)
    if "}" in text:
        yield _NAMED_DESCRIPTOR.search(text)
    if "<" in text or "~[" in text:
        yield _OF_ZSH.search(text)
    if "{" in text:
        yield _quote_in_braces(text)


def _left_open(text: str) -> re.Match[str] | None:
    """Return the operator at the end of a text that has a here-string (`<<<`)."""
    return _JOINING_END.search(text) if "<<<" in text and text.rstrip()[-1:] in "&|" else None


_JOINING_END = re.compile(r"(?:&&|\|\|?)\s*\Z")


def _first(found: Iterable[re.Match[str] | None]) -> str | None:
    return next((match[0].lstrip() or match[0] for match in found if match), None)


def is_misread(text: str) -> bool:
    """Whether readers differ on what begins behind two dollars, escaped or quoted or not."""
    return "$$" in text and _BEHIND_DOLLARS.search(text) is not None


def is_no_expansion(text: str) -> bool:
    """Whether braces behind a dollar name no variable that may end there: `${2X}`."""
    return "${" in text and _NO_EXPANSION.search(_LITERAL.sub("", text)) is not None


_LITERAL = re.compile(r"\\.|'[^']*'", re.DOTALL)
_NO_EXPANSION = re.compile(
    r"\$\{[#!]?(?:(?:[0-9]+|[A-Za-z_]\w*)(?:\[[^\]]*\])?|[?$@*!-])[^\w}:#%/^,@=+?\[*-]"
    r"|\$\{[0-9]+[A-Za-z_]"
)
_BEHIND_DOLLARS = re.compile(r"\$\$[({[]")


# What may stand before a program, with the blank behind it.
_PREFIX = (
    r"(?:[A-Za-z_]\w*(?:\[[^\]\s]*\])?\+?=(?:[^\s;&|()<>]|\$\([^()]*\))*"
    r"|[0-9]*(?:&>>?|<>|<<<|[<>]{1,2}[&|]?)[ \t]*[^\s;&|()<>]*)[ \t]+"
)
_KEYWORD = "(?:if|then|elif|else|fi|while|until|for|do|done|case|esac|function|select)"
_SOME_KEYWORD = re.compile(rf"[ \t]{_KEYWORD}\b|\([ \t]*\)")
_LATE_KEYWORD = re.compile(
    r"(?:\A|[;&|\n(){`!]|(?<!\w)(?:then|do|else|if|elif|while|until|time)[ \t])[ \t]*"
    rf"(?:{_PREFIX})+"
    rf"(?:{_KEYWORD}(?![^\s;&|()<>])"
    r"|[^\s;&|()<>=$`]+[ \t]*\([ \t]*\))"
)


def has_late_keyword(text: str) -> bool:
    """Whether a statement or a function begins behind a variable or a redirection."""
    if not ("=" in text or "<" in text or ">" in text) or not _SOME_KEYWORD.search(text):
        return False
    return _LATE_KEYWORD.search(without_quoted(text)) is not None


def without_quoted(text: str) -> str:
    """Return *text* without what is quoted or escaped in it."""
    return _SPELLED.sub("", text)


# What zsh expands once the pieces of a word are put together: `'x '=ls`, `'~'[x]`.
_JOINED = re.compile(r"~\[|(?:^|[\s;&|])=[A-Za-z]")
_ONE_PIECE = re.compile(r"'[^']*'|\"(?:\\.|[^\"\\])*\"", re.DOTALL)


# A sum behind what begins the name of a program to zsh, or a list of words.
_BEFORE_SUM = re.compile(r"\A(?:=|\"=\"|'=')\$\(\(|\{[^}\s'\"]*\$\(\(")


def is_joined_oddly(word: Word) -> bool:
    """Whether joined pieces form an expansion that no piece has, e.g. `'~'[x]` in zsh."""
    if "$((" in word.raw and _BEFORE_SUM.search(word.raw):
        return True
    if word.raw == word.plain or not _JOINED.search(word.plain):
        return False
    return _ONE_PIECE.fullmatch(word.raw) is None


_HIDDEN = re.compile(r"\n[ \t]*#")
# `$(cat <<'E'`, a text and `E)`, in double quotes: what it holds is no comment (2.1.329, observed).
_QUOTED_DOCUMENT = re.compile(
    r"\$\(\s*cat\s*<<[ \t]*(['\"])([\w.]+)\1\n(?:[^\n]*(?<!\\)\n)*?\2\n\s*\)"
)


def hides(words: Sequence[Word]) -> bool:
    """Whether quoted text has a line that looks like a comment, behind which more may stand."""
    return any(
        "\n" in word.raw and _HIDDEN.search(word.raw) and _HIDDEN.search(_without_documents(word))
        for word in words
    )


def _without_documents(word: Word) -> str:
    rest = _QUOTED_DOCUMENT.sub("", word.raw) if word.vetted else word.raw
    # In a word of one piece nothing that looks like a document is one in single quotes.
    return rest if rest.count('"') == 2 and rest.endswith('"') else word.raw


def is_unchecked(words: Sequence[Word], shell: Shell) -> bool:
    """Whether no rule may allow this command, nor what stands beside it.

    `Program.unchecked` and `Shell.variables` (`policy.commands.knowledge`) list such commands:
    arguments that may run or be evaluated, and variables that change how a shell reads what
    follows. The rest holds of every host that looks into commands: an option is no program, and a
    wrapper with an option that it does not have may run anything.
    """
    if any(guards(stage, shell, first=stage is words) for stage in match_stages(words, shell)):
        return True
    return any(is_environment(word.plain) for word in words) or any(
        is_fragment(stage, shell) or _has_unchecked_arguments(stage, shell)
        for stage in match_stages(words, shell)
    )


# What a process was started with, its secrets among it.
_ENVIRONMENT = re.compile(r"/proc/.*/environ", re.DOTALL)


def is_environment(name: str) -> bool:
    """Whether *name* may be that of a file with what a process was started with."""
    return "/environ" in name and _ENVIRONMENT.search(name) is not None


@lru_cache(maxsize=256)
def _expression(text: str) -> re.Pattern[str]:
    return re.compile(text, re.DOTALL)


def _has_unchecked_arguments(words: Sequence[Word], shell: Shell) -> bool:
    program = shell.programs.known.get(basename(words[0].plain))
    if program is None:
        return False
    if program.settled and not all(word.literal for word in words[1:]):
        return True
    if program.unexpanded and any(word.glob or is_home_of_other(word) for word in words[1:]):
        return True
    if program.unexpanded and any(_may_be_option(word, words[0]) for word in words[1:]):
        return True
    if program.unchecked is None:
        return False
    if program.spelled and any(word.raw != word.plain for word in words[1:]):
        return True
    arguments = "\0".join([word.plain for word in words[1:]]) or "\0" * len(words[1:])
    return _expression(program.unchecked).fullmatch(arguments) is not None


def _may_be_option(word: Word, program: Word) -> bool:
    """Whether the value of an unknown word may be an option, or empty."""
    if word.literal or word.plain[:1] not in ("$", "`", "-", "+"):
        return False
    return program.plain not in {*TESTS, "test"} or "/" not in _PUT_IN.sub("", word.plain)


_PUT_IN = re.compile(r"\$\(.*\)|`.*`", re.DOTALL)


def has_half_assignment(words: Sequence[Word]) -> bool:
    """Whether a word is a lone ``=``, which a grammar may take for half an assignment."""
    return any(word.raw == "=" for word in words) and words[0].plain not in TESTS


_BACKGROUND = re.compile(r"(?<![&<>|])&(?![&>])")


def has_background(text: str) -> bool:
    """Whether *text* has a background command."""
    return "&" in text and _BACKGROUND.search(text) is not None


# A file of which nothing is known, and that no rule allows.
GUARDED: Final = ClaudeRedirection(None, writes=False, guarded=True)


# A shell opens a connection by these, and no file.
_NETWORK: Final = ("/dev/tcp/", "/dev/udp/")


def redirected(targets: Iterable[Target]) -> Iterator[ClaudeRedirection]:
    """Yield the files of redirections, and what their names may be those of besides."""
    for target in targets:
        yield ClaudeRedirection(target.name, target.writes)
        if target.name == "":
            yield ClaudeRedirection(".", target.writes)  # the folder that it runs in
        if target.name is not None:
            if is_indirect(target.name) or target.name.startswith(_NETWORK):
                yield ClaudeRedirection(None, target.writes)
            if target.writes and is_unwritable(target.name):
                yield GUARDED


def is_unchecked_target(targets: Iterable[Target]) -> bool:
    """Whether no rule may allow a command that opens one of these."""
    names = [target.name or "" for target in targets]
    return any("\n" in name or is_environment(name) for name in names)


# --- a simple command by itself ----------------------------------------------------------------

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

    `Word.inner` holds the numbers of the commands that are substituted into a word.
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
            and may_be_set(name, self._shell)
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

_PLAIN_NAME: Final = re.compile(r"[\w./+-]+")
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
    """Return the texts of a command (see `policy.commands.reader.CommandPart`).

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
    if is_quoted(name) and _PLAIN_NAME.fullmatch(name.plain):
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
        self.exports = exports_inherited(program, shell)
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
        ) and is_unchecked(words, shell)
        plain = [word for word in words if "$" not in word.raw]
        self.ambiguous = (
            _is_negated_late(words)
            or any(map(is_joined_oddly, words))
            or has_half_assignment(words)
            or is_worked_out(plain, shell)
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
