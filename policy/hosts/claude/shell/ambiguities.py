"""Text that shells read differently, or whose effect on the rest is unknown.

Tests, variables that change how a shell reads what follows, odd characters, arguments that no rule
may allow, and files that a redirection may open besides.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import dropwhile, takewhile

from policy.commands.compound import BOXES, SHELLS
from policy.commands.words import SimpleCommand, Target, Word
from policy.commands.wrappers import basename, is_assignment
from policy.core import expressions as re
from policy.core.values import TYPE_CHECKING, Final
from policy.hosts.claude.shell.match_texts import is_fragment, match_stages
from policy.hosts.claude.shell.parts import ClaudeRedirection
from policy.hosts.claude.shell.programs import is_home_of_other, is_indirect, is_unwritable
from policy.patterns.tokens import Gap, OneOf, Token

if TYPE_CHECKING:
    from policy.commands.knowledge import Kinds, Shell

__all__ = [
    "COMPOUND",
    "GUARDED",
    "TESTS",
    "doubtful",
    "exports_inherited",
    "guards",
    "has_background",
    "has_half_assignment",
    "has_late_keyword",
    "has_sum",
    "hides",
    "is_joined_oddly",
    "is_misread",
    "is_no_expansion",
    "is_plain_test",
    "is_unchecked",
    "is_unchecked_target",
    "is_worked_out",
    "may_be_set",
    "redirected",
    "sets_in_pipe",
    "traced",
    "without_quoted",
]


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
    """Return whether the *words* of a test, its brackets among them, are of a plain one."""
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
    """Whether it is a word, an operator and a word, or an operator between two."""
    if len(test) == 2:
        return _OPERATOR.fullmatch(test[0]) is not None
    if len(test) == 3 and not _OPERATOR.fullmatch(test[0]):
        return test[1] in _JOINING or _OPERATOR.fullmatch(test[1]) is not None
    return len(test) == 1


def _is_counted(words: Sequence[Word]) -> bool:
    """Whether what a test takes for a number is one: else a shell works out what it says."""
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


# Builtins that set variables, and those before which what is set may stay set.
SETTING: Final = frozenset("declare typeset local export readonly".split())
_KEEPING: Final = SETTING | frozenset(": break continue return exit shift times set unset".split())

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
    if name in SETTING and (not first or program[0].raw != name):
        # What is spelled in another way is read by all shells as a command, and as no more.
        declared = (word.plain for word in program[1:] if "=" in word.plain)
        if any(guarded.fullmatch(_variable(text)) for text in declared):
            return True
    if name in _FILLING_OTHERS and fills_guarded(program, shell):
        return True
    return is_worked_out(words, shell)


def exports_inherited(program: Sequence[Word], shell: Shell) -> bool:
    """Whether a command gives a variable of the environment to what follows it."""
    if program[0].plain != "export":
        return False
    names = {_variable(word.plain) for word in program[1:] if "=" in word.plain}
    guarded = _expression(shell.variables.guarded)
    return any(name in shell.variables.inherited or guarded.fullmatch(name) for name in names)


def fills_guarded(words: Sequence[Word], shell: Shell) -> bool:
    """Whether a builtin may fill a variable by which commands are read, or clear it.

    Any word that it is given counts for the name of one.
    """
    names = [word.plain for word in words if not is_assignment(word)]
    while names and names[0] in _AROUND:
        names = [*dropwhile(_OPTION.fullmatch, names[1:])]
    if names and names[0] in _CLEARING:
        cleared = dropwhile(("-f", "-v").__contains__, names[1:])
        return any(not _is_cleared(each, shell, by=names[0]) for each in cleared)
    letter = _FILLING.get(names[0]) if names else None
    if letter is None:
        return False
    if letter and not any(each[:1] == "-" and letter in each for each in names[1:]):
        return False
    found = (_FILLED.match(each) for each in names[1:])
    guarded = _expression(shell.variables.guarded)
    return any(each is not None and guarded.fullmatch(each[1]) for each in found)


def _is_cleared(name: str, shell: Shell, *, by: str) -> bool:
    """Whether a builtin that clears variables clears this one, and no command is read by it."""
    if not _NAME.fullmatch(name):
        return False
    return by != "unset" or not _expression(shell.variables.guarded).fullmatch(name)


_CLEARING: Final = frozenset({"unset", "unsetenv"})
_NAME: Final = re.compile(r"[A-Za-z_]\w*", re.ASCII)
# Builtins that put what they read into variables that they name, and the option without which
# they do not.
_FILLING: Final = {
    **dict.fromkeys("read mapfile readarray getopts".split(), ""),
    "print": "v",
    "printf": "v",
    "set": "A",
    "wait": "p",
}
# Those that no data of a host describes.
_FILLING_OTHERS: Final = frozenset("getopts print set wait".split())
_AROUND: Final = frozenset("builtin command noglob !".split())
_OPTION: Final = re.compile(r"-[-pvV]*")
# A variable, perhaps in one word with the option that names it: `-vPATH`, `PATH[0]`.
_FILLED: Final = re.compile(r"(?:-[a-zA-Z]*?[vapA])?([A-Za-z_]\w*)")


def sets_in_pipe(commands: Iterable[SimpleCommand]) -> bool:
    """Whether a part of a pipeline only sets variables, so that their scope is unknown."""
    return any(each.piped and all(map(is_assignment, each.words)) for each in commands)


def _variable(text: str) -> str:
    return text.partition("=")[0].rstrip("+")


def may_be_set(name: str, shell: Shell) -> bool:
    """Whether a command that does nothing but set a variable of this name does no harm."""
    if _expression(shell.variables.guarded).fullmatch(name):
        return name in shell.variables.counted and name in shell.variables.harmless
    return shell.setting or name in shell.variables.harmless


_ODD_BLANK = re.compile("[" + "".join(sorted(ODD_BLANKS)) + "]")

# A comment behind a target, or behind an operator.
_COMMENT = (
    r"[<>]&?[ \t]*(?:[^\s;|&<>'\"]|'[^']*'|\"(?:\\.|[^\\\"])*\")+(?:[ \t]|\\\n)+#|(?:&&|\|\|)\s*#"
)

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
    """Return the operator at the end of a text behind one that is put on an input."""
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
    """Whether a word of several pieces has together what none of them has."""
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

    What such commands are is data (`policy.tables.dialect`): arguments that may run or be
    evaluated, and variables that change how a shell reads what follows. The rest holds of
    every host that looks into commands: an option is no program, and a wrapper with one
    that it does not have may run anything.
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


# What every reader takes for a sum; with anything else in it some see two groups.
_SUM = re.compile(r"(?!.*(?:<<<|\$\())(?:[\w \t.,:;?+\-*/%<>=!&|^~$()\[\]]|\$\{#?\w+\})*", re.ASCII)
_OPENING = {")": "(", "]": "["}


def has_sum(text: str) -> bool:
    """Whether the first two parentheses of *text* begin what every reader takes for a sum."""
    start = text.index("((") + 2
    opened: list[str] = []
    for place in range(start, len(text)):
        one = text[place]
        if one in "([":
            opened.append(one)
        elif one == ")" and not opened:
            return text.startswith("))", place) and _SUM.fullmatch(text, start, place) is not None
        elif one in _OPENING and (not opened or opened.pop() != _OPENING[one]):
            break  # some look for the end behind that of its brackets
    return False


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
