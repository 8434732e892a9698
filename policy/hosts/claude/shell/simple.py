"""What one simple command is by itself: texts, scripts, whether it is auto-allowed or ambiguous."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import chain, takewhile

from policy.commands.knowledge import Shell
from policy.commands.reader import BOXES, KEYWORDS, SHELLS, Redirection
from policy.commands.words import (
    SET_BY_SHELL,
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
)
from policy.core import expressions as re
from policy.core import limits
from policy.core.values import TYPE_CHECKING, Final, evolve
from policy.hosts.claude.shell.match_texts import (
    ClaudeRedirection,
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
    "may_give_removal",
    "redirected",
    "removes",
    "removes_unknown",
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
_PARTING: Final = frozenset({"-a", "-o", "&&", "||", "(", ")"})
_COMPARING: Final = frozenset("-eq -ne -lt -le -gt -ge".split())
_OPERATOR: Final = re.compile(r"-[A-Za-z_]\w*", re.ASCII)
_NUMBER: Final = re.compile(r"[+-]?[0-9]+")


def is_plain_test(words: Sequence[Word]) -> bool:
    """Return whether every reader parses the *words* of a test, brackets included, alike.

    It is made of `x`, `-f x` and `a = b`; a shell evaluates an operand that should be a number.
    """
    tests: list[list[Word]] = [[]]
    for word in words[1:-1]:
        if words[0].raw == "[[" and (word.raw in ("&&", "||") or word.glob):
            if word.glob:
                return False
            tests.append([])
        elif word.raw != "!" or tests[-1]:
            tests[-1].append(word)
    return all(map(_is_plain_comparison, tests))


def _is_plain_comparison(words: Sequence[Word]) -> bool:
    raw, plain = [word.raw for word in words], [word.plain for word in words]
    if not all(raw) or not (_ENDS | _PARTING).isdisjoint(raw):
        return False
    match raw:
        case ["-t", _]:
            return _NUMBER.fullmatch(plain[1]) is not None
        case ["-v", _]:
            return words[1].literal and "[" not in plain[1]
        case [_, operator, _] if operator in _COMPARING:
            return all(map(_NUMBER.fullmatch, (plain[0], plain[2])))
        case [first, operator, _] if not _OPERATOR.fullmatch(first):
            return operator in _JOINING or _OPERATOR.fullmatch(operator) is not None
        case [operator, _]:
            return _OPERATOR.fullmatch(operator) is not None
        case _:
            return len(raw) == 1


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


def exports(program: Sequence[Word]) -> bool:
    """Whether a command gives a variable of the environment to what follows it."""
    return program[0].plain == "export" and any("=" in word.plain for word in program[1:])


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
    begun = [*_separate_stages(words, shell)]
    return (
        any(guards(stage, shell, first=number == 0) for number, stage in enumerate(begun))
        or any(is_environment(word.plain) for word in words)
        or any(is_fragment(each, shell) or _has_unchecked_arguments(each, shell) for each in begun)
    )


def _separate_stages(words: Sequence[Word], shell: Shell) -> Iterator[Sequence[Word]]:
    """Yield what `stages_of` does, but for those that begin with the second of two assignments."""
    before: Sequence[Word] = ()
    for stage in stages_of(words, shell):
        if not (before and is_assignment(before[0]) and is_assignment(stage[0])):
            yield stage
        before = stage


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


def redirected(targets: Iterable[Redirection]) -> Iterator[ClaudeRedirection]:
    """Yield the files of redirections, and what their names may be those of besides."""
    for target in targets:
        yield ClaudeRedirection(target.target, target.writes)
        if target.target == "":
            yield ClaudeRedirection(".", target.writes)  # the folder that it runs in
        if target.target is not None:
            if is_indirect(target.target) or target.target.startswith(_NETWORK):
                yield ClaudeRedirection(None, target.writes)
            if target.writes and is_unwritable(target.target):
                yield GUARDED


def is_unchecked_target(targets: Iterable[Redirection]) -> bool:
    """Whether no rule may allow a command that opens one of these."""
    names = [target.target or "" for target in targets]
    return any("\n" in name or is_environment(name) for name in names)


# --- a simple command by itself ----------------------------------------------------------------

_VERSION: Final = re.compile(r"-\d+(?:\.\d+)*\Z")
_LONG_OPTION: Final = re.compile(
    r"--.*|-(?:login|posix|noprofile|norc|noediting|verbose|restricted|debugger|wordexp"
    r"|pretty-print|help|version|rcfile|init-file|dump-(?:po-)?strings)"
)
_GIVES_SCRIPT: Final = re.compile(r"[-+]\S*c\S*")


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


def may_give_removal(text: str) -> bool:
    """Return whether *text* may give a shell a script that removes files."""
    words = _QUOTES.sub("", text).split()
    if not any(shell_of(word.strip("(){};&|`")) in SHELLS for word in words):
        return False
    if not any(map(_GIVES_SCRIPT.fullmatch, words)):
        return False
    return removes(_BLANK.sub(" ", text)) or _CODED.search(text) is not None


def removes_unknown(text: str, commands: Iterable[SimpleCommand]) -> bool:
    """Return whether *text* removes files, and what a variable holds that one of *commands* sets.

    Its value is unknown, or that of a critical folder.
    """
    names = {
        word.raw.partition("=")[0].rstrip("+")
        for command in commands
        for word in command.words
        if is_assignment(word) and not _is_harmless(word)
    }
    return bool(names) and "$" in text and removes(text)


def _is_harmless(assignment: Word) -> bool:
    """Return whether a variable is set to what is known, and is the name of no critical folder."""
    if assignment.guessed or not assignment.known:
        return False
    return assignment.plain.partition("=")[2].rstrip("/") not in ("", ".", "..", "~")


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
        if not command.harmless or known is None or self._opaque:
            return False
        if led and (known.program.spelled or known.program.spelling):
            return False
        if self._fed and ("$" in self._text or known.program.spelled):
            return False
        if self._fed and _GIVEN_GLOB.search(self._text):
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
    return not any(map(is_home_of_other, words))


# The text for rules that allow, those for rules that deny, and others for rules that allow.
Texts = tuple[str, tuple[str, ...], tuple[str, ...]]


def program_of(words: Sequence[Word], shell: Shell) -> Sequence[Word]:
    """Return the program and its arguments behind every assignment and wrapper."""
    start = command_prefix(words, shell).program
    return words[start:] if start else words


_PLAIN_NAME: Final = re.compile(r"[\w./+-]+")
_SPACED: Final = re.compile(r"\t|  ")


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
        vanishing = shortened(words) if may_vanish(text) else ()
        found = (text, plain) if _SPACED.search(text) else (plain,)
        known = dict.fromkeys((*chain.from_iterable(map(with_single_blanks, found)), *vanishing))
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
        script: the script that it is given to run, if it is.
        sets: whether it sets variables, and does nothing else.
        leaves: whether what follows it may run in another folder.
        versioned: whether it looks for a repository.
        planted: the files that it may write, of one or not.
        exports: whether it changes the environment of what follows it.
        extended: whether a wrapper will add arguments.
        edits: whether its program changes files that it names, or runs a script.
        harmless: whether it runs where no rule applies to it, as far as its own words tell.
        differs: whether shells differ on what it is.
        nameless: whether its program is no name of one.
        unchecked: whether no rule may allow what stands beside it either.
        ambiguous: whether shells read another word in it, or another value of a variable.

    """

    def __init__(self, words: Sequence[Word], shell: Shell, *, anew: bool) -> None:
        """Look at *words*; *anew* where the host puts them together anew."""
        self.words = words
        self.program = program = program_of(words, shell)
        self.granted = granted = words if program is words else as_granted(words, shell)
        self.texts: Texts = spelled(words, program, granted, shell, anew=anew)
        self.script = script_of(program)
        self.sets = all(map(is_assignment, words))
        self.leaves = program[0].plain in shell.kinds.movers
        self.versioned = looks_for_one(program, shell)
        self.planted = planted(program, shell)
        self.exports = exports(program)
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
