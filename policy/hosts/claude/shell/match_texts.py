"""The texts by which rules know a command: of each simple command, and of all of it.

A rule that denies or asks knows a simple command behind every assignment and wrapper, without
quotes, and by the bare name of its program. One that allows knows it as it is written, behind
assignments and wrappers that change nothing of note.

Wrappers are known by their options: `timeout 5 make`, `env -S 'make x'`. Where one is *loose*,
rules that deny unwrap it whatever options it has.
"""

from __future__ import annotations

import enum
from collections import deque
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import dropwhile, islice, takewhile

from policy.commands.reader import KEYWORDS, SOME_VALUE, Command, CommandPart, Redirection
from policy.commands.words import (
    ASSIGNMENT,
    VANISHING,
    VANISHING_FIRST,
    Word,
    as_written,
    basename,
    expression,
    is_assignment,
    without_vanishing,
)
from policy.core import expressions as re
from policy.core import limits
from policy.core.values import TYPE_CHECKING, Final, evolve, frozen

if TYPE_CHECKING:
    from policy.commands.knowledge import Shell, Wrapper

__all__ = [
    "DOCUMENT",
    "MORE",
    "ClaudeCommand",
    "ClaudePart",
    "ClaudeRedirection",
    "ExactCommand",
    "ExactMatch",
    "around",
    "as_granted",
    "as_text",
    "behind_all",
    "carries_files",
    "exposed",
    "innermost",
    "is_fragment",
    "is_quiet",
    "is_requoted",
    "match_stages",
    "match_texts",
    "may_vanish",
    "possible_texts",
    "requoted",
    "shortened",
    "stages",
    "unwrapped",
]


# --- what was read, as this host has it --------------------------------------------------------


@frozen(cache_hash=True)
class ClaudePart(CommandPart):
    """One simple command of a command.

    Attributes:
        blind: whether it is harmless only where no rule denies files: it reads files whose
            names are not known.
        fed: whether a text is put on its input, which is part of its text for rules that allow.
        extended: whether it will have more arguments, for rules that allow.
    """

    blind: bool = False
    fed: bool = False
    extended: bool = False


@frozen
class ClaudeRedirection(Redirection):
    """A file that a command reads from or writes to.

    Attributes:
        guarded: whether no rule may allow it.
        deep: whether it stands for the host's own files that are below it.
        part: the number of the simple command that opens it; None where that is not known.
        scripted: whether a script in an argument opens it: a rule that denies it makes the
            command ambiguous, and no other rule applies.
    """

    guarded: bool = False
    deep: bool = False
    part: int | None = None
    scripted: bool = False

    @classmethod
    def of(cls, file: Redirection) -> ClaudeRedirection:
        """Return *file* as this host has it."""
        if isinstance(file, cls):
            return file
        return cls(file.target, file.writes, file.tool, file.shadowed, file.adrift)


@frozen
class ClaudeCommand(Command):
    """A command, read.

    Attributes:
        exact: all of it, as rules that spell it out know it.
        foreground: a background command as it is in the foreground; None for any other, and for
            one that is ambiguous besides.
    """

    exact: ExactCommand | None = None
    foreground: ClaudeCommand | None = None


# --- texts of simple commands ------------------------------------------------------------------


def behind_wrapper(
    words: Sequence[Word], start: int, wrapper: Wrapper, *, quoted: bool = True, ends: bool = False
) -> int | None:
    """Return the number of the program that the wrapper at *start* runs; None of none known.

    Options and operands are taken in quotes where *quoted* says so, and with *ends* ``--``
    may end those of any wrapper.
    """
    if wrapper.loose:
        index, script = _behind_loosely(words, start, wrapper, wide=None)
        return index if index < len(words) and not (script and index == start) else None
    behind = behind_options(words, start, wrapper, quoted=quoted, ends=ends)
    return behind if behind is not None and behind < len(words) else None


def behind_options(
    words: Sequence[Word], start: int, wrapper: Wrapper, *, quoted: bool, ends: bool = False
) -> int | None:
    """Return the number of the word behind all of a wrapper; None where that is not known."""
    index, last, ended = start + 1, len(words) - 1, False
    texts = [word.plain if quoted else word.raw for word in words]
    while index <= last and texts[index].startswith("-"):
        option = texts[index]
        if option == "--" and (wrapper.ends or ends):
            ended = True
            break
        if wrapper.single and index > start + 1:
            return None
        if wrapper.flags and expression(wrapper.flags).fullmatch(option):
            index += 1
        elif (
            wrapper.values
            and index < last
            and expression(wrapper.values).fullmatch(option)
            and expression(wrapper.value).fullmatch(texts[index + 1])
        ):
            index += 2
        else:
            return None
    if wrapper.needs and index == start + 1:
        return None
    index += ended
    for operand in wrapper.operands:
        if index <= last and expression(operand).fullmatch(texts[index]):
            index += 1
        elif not wrapper.optional:
            return None
    while wrapper.assignments and index <= last and ASSIGNMENT.match(texts[index]):
        index += 1
    return index


def carries_files(words: Sequence[Word], end: int, shell: Shell) -> bool:
    """Return whether the host looks for the files of the program at *end*, behind wrappers."""
    start = 0
    while start < end and (ASSIGNMENT.match(words[start].raw) or words[start].raw == "!"):
        start += 1
    while start < end:
        wrapper = shell.wrapping.carrying.known.get(basename(words[start].plain))
        if wrapper is None:
            return not shell.wrapping.carrying.known
        behind = behind_wrapper(words, start, wrapper, ends=True)
        if behind is None:
            return False
        start = behind
    return True


_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\+?=")
_CLUSTER: Final = re.compile(r"-[A-Za-z]+")


def _behind_loosely(
    words: Sequence[Word], start: int, wrapper: Wrapper, *, wide: bool | None
) -> tuple[int, str]:
    """Return the number of the word behind a wrapper, and the command it is given as a text.

    Read *wide* or not as by rules that deny, or, with None, as by whoever looks for files.
    Where there is such a text, the number is that of the word that holds it, or that of the
    wrapper where it is only part of a word.
    """
    index, last, taken = start + 1, len(words) - 1, False
    operand = wrapper.operands[0] if wrapper.operands else ""
    while index <= last:
        text = words[index].plain
        is_operand = bool(operand) and expression(operand).fullmatch(text) is not None
        if text == "--":
            index += 1
            if not taken and index < last and operand and _is(operand, words[index].plain):
                taken = True
                index += 1
                continue
            break
        if wrapper.scripts:
            found = _script(words, index, wrapper)
            if found is not None:
                at, script = found
                if script:
                    return (start if at == index else at), script
                index = at + 1
                continue
        if text.startswith("-") and (text != "-" or not operand):
            if wrapper.idle and _is(wrapper.idle, text):
                return len(words), ""
            takes = _is(wrapper.values, text) or (wide and _takes_at_end(text, wrapper))
            index += 2 if takes and index < last else 1
        elif _assigns(words[start].plain, text, wrapper, wide=wide):
            index += 1
        elif not taken and is_operand and index < last:
            taken = True
            index += 1
        else:
            break
    return index, ""


def _is(known: str, text: str) -> bool:
    return bool(known) and expression(known).fullmatch(text) is not None


def _takes_at_end(text: str, wrapper: Wrapper) -> bool:
    """Whether the last letter of several is the first of them that takes a value."""
    if not _CLUSTER.fullmatch(text):
        return False
    takes = [_is(wrapper.values, f"-{letter}") for letter in text[1:]]
    return takes.index(True) == len(takes) - 1 if True in takes else False


def _assigns(program: str, text: str, wrapper: Wrapper, *, wide: bool | None) -> bool:
    if wide is None:
        return wrapper.assignments and "=" in text
    if not wide:
        return wrapper.assignments and _NAME.match(text) is not None
    return "=" in text and (wrapper.assignments or (basename(program) == "sudo" and text[0] != "/"))


def _script(words: Sequence[Word], index: int, wrapper: Wrapper) -> tuple[int, str] | None:
    """Return where the command of an option stands, and its text; None if it is no such option."""
    text = words[index].plain
    if _is(wrapper.scripts, text) and index + 1 < len(words):
        return index + 1, words[index + 1].plain.strip()
    name, joined, value = text.partition("=")
    if joined and name and _is(wrapper.scripts, name):
        return index, value.strip()
    if len(text) > 2 and text[1] != "-" and _is(wrapper.scripts, text[:2]):
        return index, text[2:].strip()
    return None


def unwrapped(words: Sequence[Word], shell: Shell, *, wide: bool) -> Iterator[Sequence[Word]]:
    """Yield a command from each assignment on that its wrappers lead to, then what runs in the end.

    So rules that deny look for programs. Read *wide*, several letters behind one dash may end in
    one with a value, and `sudo` takes assignments.
    """
    for _ in range(limits.NESTING):
        while words and _NAME.match(words[0].plain):
            yield words
            words = words[1:]
        wrapper = shell.wrapping.denying.known.get(basename(words[0].plain)) if words else None
        if wrapper is None or wrapper.unruled:
            break
        if not wrapper.loose:
            behind = behind_options(words, 0, wrapper, quoted=True)
            if behind is None or behind >= len(words):
                break  # a wrapper of nothing is the program itself
            words = words[behind:]
            continue
        index, script = _behind_loosely(words, 0, wrapper, wide=wide)
        if index >= len(words) and not script:
            break
        words = [Word(one, one) for one in script.split()] if script else words[index:]
    yield words


def innermost(words: Sequence[Word], shell: Shell, *, wide: bool) -> Sequence[Word]:
    """Return the last that `unwrapped` yields."""
    return deque(unwrapped(words, shell, wide=wide), maxlen=1)[0]


def is_quiet(around: Sequence[Word], shell: Shell, *, moves: bool) -> bool:
    """Whether a harmless program, perhaps one that *moves*, is as harmless behind these words."""
    found = [shell.wrapping.granting.known.get(word.plain) for word in around]
    wrappers = [wrapper for wrapper in found if wrapper is not None]
    if any(not wrapper.quiet for wrapper in wrappers):
        return False
    if not any(wrapper.bare for wrapper in wrappers):
        return True
    # It runs programs, and nothing that is part of a shell.
    if moves or not wrappers[-1].bare:
        return False
    return not any(word.plain.startswith("-") for word in around)


_REQUOTED: Final = re.compile(r"\n|\$[A-Za-z_]")
_QUOTED: Final = re.compile(r"""\A\Z|["'\\ \t\n$`;|&<>(){}#]""")
_EXPANDED: Final = re.compile(r"[*?]|\[.*\]")
_SUBSTITUTED: Final = re.compile(r"\$\(|`|[<>]\(")
_VARIABLE: Final = re.compile(r"\$\w+")
_FOLDER: Final = re.compile(r"\A[~.](?=/|\Z)")


def is_requoted(text: str) -> bool:
    """Return whether a simple command that is written so is put together anew."""
    return _REQUOTED.search(text) is not None


def requoted(words: Sequence[Word], name: int) -> list[Word]:
    """Return the words of such a command, from the one behind its *name* on as they are put."""
    return [*words[: name + 1], *map(_requoted, words[name + 1 :])]


def _requoted(word: Word) -> Word:
    text = word.plain
    if not word.literal:
        if not word.vetted:
            return word  # which no rule grants
        if _SUBSTITUTED.search(word.raw):
            text = SOME_VALUE
        else:
            text = _FOLDER.sub(SOME_VALUE, _VARIABLE.sub(SOME_VALUE, text))
    return evolve(word, raw=_put(text))


def _put(text: str) -> str:
    if not _QUOTED.search(text):
        return text
    return "'" + text.replace("'", "'\\''") + "'"


def exposed(words: Sequence[Word]) -> list[Word]:
    """Return the words of such a command, with the stars that are quoted no more."""
    return [
        evolve(word, glob=True)
        if _EXPANDED.search(word.plain) and not _QUOTED.search(word.plain)
        else word
        for word in words
    ]


_LOCALE: Final = re.compile(r"C|POSIX|UTF-?8|[\w-]+\.UTF-?8(?:@\w+)?", re.IGNORECASE | re.ASCII)
_SIMPLE_VALUE: Final = re.compile(r"[A-Za-z0-9_./:-]+")
# A value that names a file outside of the working folder, or may.
_ELSEWHERE: Final = re.compile(r"^[.~]*[/\\]|[/\\][/\\]|:[/\\.]|(?:^|[/\\])\.\.(?:[/\\]|$)")


def as_granted(words: Sequence[Word], shell: Shell, *, harmless: bool = False) -> Sequence[Word]:
    """Return the command behind what rules that allow unwrap.

    A *harmless* command runs behind more assignments than rules unwrap.
    """
    start = 0
    if "=" in words[0].raw:
        start = _safe_assignments(words, shell, harmless=harmless)
    while start < limits.NESTING and (
        wrapper := shell.wrapping.granting.known.get(words[start].plain)
    ):
        behind = behind_wrapper(words, start, wrapper, quoted=False)
        if behind is None or _is_keyword(words[behind], shell):
            break
        start = behind
        if wrapper.appends:
            break
    return words[start:] if start else words


def is_fragment(words: Sequence[Word], shell: Shell) -> bool:
    """Whether it is an option alone, or nothing, or its wrapper has no such option or program."""
    name = words[0]
    if name.plain.startswith(("-", "|", "&")) or not name.plain or not name.literal:
        return True
    wrapper = shell.wrapping.granting.known.get(words[0].plain)
    if wrapper is None or wrapper.appends or len(words) == 1:
        return False
    if wrapper.idle and expression(wrapper.idle).fullmatch(words[1].plain):
        return False
    behind = behind_options(words, 0, wrapper, quoted=True)
    if wrapper.runs:
        started = words[1 if behind is None or behind == len(words) else behind]
        if not expression(wrapper.runs).fullmatch(started.plain):
            return True
    return behind is None and (words[1].plain.startswith("-") or bool(wrapper.operands))


def _safe_assignments(words: Sequence[Word], shell: Shell, *, harmless: bool) -> int:
    index = 0
    while index < len(words) - 1 and is_safe_assignment(words[index], shell, harmless=harmless):
        index += 1
    return index


def is_safe_assignment(word: Word, shell: Shell, *, harmless: bool = False) -> bool:
    """Whether *word* sets a variable that the host takes for harmless to a plain value.

    Before a *harmless* command the value may be quoted, or empty.
    """
    match = ASSIGNMENT.match(word.raw)
    if match is None or match[2] or word.raw[match.end() - 2] == "+":
        return False
    name, value = match[1], word.raw[match.end() :]
    if name not in shell.variables.harmless or value[:1] == "=":
        return False
    if harmless:
        if not word.literal or word.glob:
            return False
        value = word.plain[match.end() :]
        if "$" in word.raw and "~" in value:
            return False  # it is the name of a home folder
    elif not _SIMPLE_VALUE.fullmatch(value):
        return False
    if name in shell.variables.locales:
        return _LOCALE.fullmatch(value) is not None or (not value and name == "LANG")
    return not _ELSEWHERE.search(value)


def behind_all(words: Sequence[Word], shell: Shell) -> Sequence[Word]:
    """Return the program and its arguments behind every assignment and wrapper."""
    start, last = 0, min(len(words) - 1, limits.NESTING)
    while start < last and (behind := _behind_known(words, start, shell)) is not None:
        start = behind
    return words[start:] if start else words


def match_stages(words: Sequence[Word], shell: Shell) -> Iterator[Sequence[Word]]:
    """Yield the command, and what it is behind each of its assignments and wrappers."""
    at: int | None = 0
    for _ in range(limits.NESTING):
        if at is None:
            return
        yield words[at:] if at else words
        at = _behind_known(words, at, shell)


def match_texts(words: Sequence[Word], shell: Shell) -> Iterator[str]:
    """Yield every text by which a rule that denies may know the command."""
    # Blanks at both ends are no part of it, quoted or not.
    yield from dict.fromkeys(text.strip() for text in _known_by(words, shell))


# A variable in front of a text, set to what holds nothing that is put in.
_SET: Final = re.compile(
    r"[A-Za-z_]\w*(?:\[[^\]]*\])?\+?="
    r"(?:'[^'\n\r]*'|\"(?:\\.|[^\"$`\\\n\r])*\"|\\.|[^\s$`;|&()<>\\'\"])*[ \t]+"
)


def as_text(bare: str) -> Iterator[str]:
    """Yield how rules that deny or ask know a command by its text: without what it sets, too.

    It runs no program, or redirects something before it. Nothing of "".
    """
    start = 0
    if not bare:
        return
    while found := _SET.match(bare, start):
        start = found.end()
    yield " ".join(bare.split())
    if start:
        yield " ".join(bare[start:].split())


def possible_texts(words: Sequence[Word], shell: Shell) -> tuple[str, ...]:
    """Return the texts of a command that only rules which deny or ask match, each by itself.

    How it is written behind each of its wrappers, quotes and all, and what `xargs` runs, with and
    without an argument more.
    """
    known = {*match_texts(words, shell), as_written(words)}
    *behind, last = _behind_each(words, shell)
    behind = [*behind[: limits.NESTING], last]  # a hostile command has thousands of wrappers
    found = [text for one in behind if one for text in (as_written(one), as_written(_named(one)))]
    for text in (*known, *found):
        if _XARGS.match(text):
            run = text.removeprefix("xargs ")
            found += (run, run + MORE)
    return tuple(text for text in dict.fromkeys(found) if text not in known)


# Any other argument, or the text that a command is given to read: to rules it is part of it.
MORE: Final = f" {SOME_VALUE}"


def _behind_each(words: Sequence[Word], shell: Shell) -> Iterator[Sequence[Word]]:
    """Yield a command behind each assignment and keyword, and behind all of its wrappers."""
    while len(words) > 1 and _is_before(words[0], shell):
        words = words[1:]
        yield words
    yield from unwrapped(words, shell, wide=False)
    yield from unwrapped(words, shell, wide=True)


def _known_by(words: Sequence[Word], shell: Shell) -> Iterator[str]:
    """Yield the texts of a command and of what its wrappers run in the end."""
    program = words
    while len(program) > 1 and _is_before(program[0], shell):
        program = program[1:]
    inside = [innermost(program, shell, wide=False)]
    if any(_is_loose(word, shell) for word in program[:-1]):
        inside.append(innermost(program, shell, wide=True))
    found: list[str] = []
    for one in (words, program, *inside):
        if one:
            found += (" ".join([word.plain for word in one]), *shortened(one))
    for one in inside:
        if one and (named := _named(one)) is not one:
            found += (" ".join([word.plain for word in named]), *shortened(named))
    for text in found:
        if (closer := _closer(text, shell)) is not None and closer not in found:
            found.append(closer)
    yield from found


def _named(words: Sequence[Word]) -> Sequence[Word]:
    """Return a command with the bare name of its program."""
    name = basename(words[0].plain)
    if name == words[0].raw:
        return words
    return [Word(name, name), *words[1:]] if name or len(words) == 1 else words[1:]


def _is_loose(word: Word, shell: Shell) -> bool:
    wrapper = shell.wrapping.denying.known.get(basename(word.plain))
    return wrapper is not None and wrapper.loose


_XARGS: Final = re.compile(r"xargs (?!-)")


def _is_keyword(word: Word, shell: Shell) -> bool:
    return word.raw in KEYWORDS and word.raw not in shell.wrapping.names


def _is_before(word: Word, shell: Shell) -> bool:
    """Whether the command that *word* begins goes on behind it: it sets a variable, or is `!`."""
    return is_assignment(word) or (_is_keyword(word, shell) and word.raw != "coproc")


def _closer(text: str, shell: Shell) -> str | None:
    """Return *text* behind its first assignments and wrappers, read once more; None for neither."""
    first = text.split(" ", 1)[0]
    known = shell.wrapping.granting.known
    if not first or not ("=" in first or first in known or _QUOTE.search(first)):
        return None
    words = [Word(piece, piece) for piece in text.split()]
    while len(words) > 1 and is_assignment(words[0]):
        words = words[1:]
    for _ in range(limits.NESTING):
        name = _QUOTE.sub("", words[0].plain)
        words[0] = Word(name, name)
        wrapper = shell.wrapping.granting.known.get(name)
        behind = (
            None
            if wrapper is None or wrapper.appends
            else behind_wrapper(words, 0, wrapper, quoted=False, ends=True)
        )
        if behind is None:
            break
        words = words[behind:]
    return " ".join([word.plain for word in words])


_QUOTE: Final = re.compile(r"['\"\\]")


_MAY_VANISH: Final = re.compile(r"[$`]|''|\"\"|[<>]\(| =(?: |\Z)")


def may_vanish(text: str) -> bool:
    """Whether some word of *text* may be one that a shell leaves out."""
    return _MAY_VANISH.search(text) is not None


def shortened(words: Sequence[Word]) -> tuple[str, ...]:
    """Return the text without those words, and up to the first into which a command is put.

    There Claude Code 2.1.329 ends, and where `=` stands alone it sees no word.
    """
    begun = [words[0], *takewhile(lambda word: not _is_put_into(word), words[1:])]
    left = [
        word.plain
        for word in begun
        if word.raw[:1] not in _LEFT_OUT_FIRST or not _LEFT_OUT.fullmatch(word.raw)
    ]
    cut = (" ".join(left),) if left and len(left) < len(words) else ()
    return tuple(dict.fromkeys((*without_vanishing(words), *cut)))


_LEFT_OUT: Final = re.compile(
    rf"{VANISHING.pattern}|=|\$\[[^\]]*\]|\$'(?:\\.|[^'\\])*'|\$\{{(?:[^{{}}]|\{{[^{{}}]*\}})*\}}",
    re.DOTALL,
)
_LEFT_OUT_FIRST: Final = VANISHING_FIRST | {"="}
_SPELLED: Final = re.compile(r"\\.|'[^']*'|\"(?:\\.|[^\"\\])*\"", re.DOTALL)
_PUT_IN: Final = re.compile(r"\$\((?!\()|`|[<>]\(")


def _is_put_into(word: Word) -> bool:
    """Whether a word holds a substitution outside of its quotes."""
    return not word.literal and _PUT_IN.search(_SPELLED.sub("", word.raw)) is not None


def _behind_known(words: Sequence[Word], start: int, shell: Shell) -> int | None:
    """Return the number of the program behind the word at *start*; None if that is one."""
    if start >= len(words) - 1:
        return None
    word = words[start]
    if is_assignment(word):
        while start < len(words) and is_assignment(words[start]):
            start += 1
        return start if start < len(words) else None
    if word.raw in KEYWORDS and word.raw not in shell.wrapping.names:
        return start + 1 if word.raw != "coproc" else None
    for wrapper in (
        shell.wrapping.granting.known.get(word.plain),
        shell.wrapping.denying.known.get(basename(word.plain)),
    ):
        if wrapper and (behind := behind_wrapper(words, start, wrapper)) is not None:
            return behind
    return None


_PIPE: Final = re.compile(r"(?<!\|)\|(?!\|)")
_STAGE: Final = re.compile(r"\\.|'[^']*'|\"(?:\\.|[^\"\\])*\"|\|\||(\|&?)", re.DOTALL)
# What joins commands but a pipe, and where a word begins.
_JOINED: Final = re.compile(r"(?<![<>])&(?!>)|;|\n|\|\|")
_BEGUN: Final = re.compile(r"(?<!\S)\S")
_BESIDES: Final = re.compile(r"[&|;\n#<>]")
# Where a statement is one of several in another, the text between them is as it stands.
_NESTS: Final = re.compile(r"\b(?:do|then|case|esac)\b|[(){}]|;;|<<(?!<)")
DOCUMENT: Final = re.compile(r"(?<!<)<<-?[ \t]*(?:'([^'\n]*)'|\"([^\"\n]*)\"|\\?([\w.+-]+))")

_TARGET: Final = r"(?:\\.|'[^']*'|\"(?:\\.|[^\"\\])*\"|[^\s;|&<>'\"\\])+"
_AROUND: Final = re.compile(
    # Most letters begin none of these, which one look shows.
    r"(?=[\\'\"\s0-9&<>|;#])(?:(\\.|'[^']*'|\"(?:\\.|[^\"\\])*\")"
    rf"|(?:(?<!\s)\s+)?(?<!\w)[0-9]*(?:&>>?|>>|>[|&]?|<&?)(?![<(])[ \t]*{_TARGET}"
    r"|(?:(?<!\s)\s+)?(&&?|\|\|?|;|\n)\s*|(?<!\S)#[^\n]*)",
    re.DOTALL,
)


class ExactMatch(enum.Enum):
    """Which rules allow a command that they spell out as a whole.

    Attributes:
        APART: none: each of its parts is looked at by itself.
        VERBATIM: one of the same text alone, since it is ambiguous.
        AS_A_WHOLE: one of the same text, or a prefix of it.

    """

    APART = enum.auto()
    VERBATIM = enum.auto()
    AS_A_WHOLE = enum.auto()


@frozen
class ExactCommand:
    """All of a command. Its texts are made once a rule may match them.

    Attributes:
        spelled: which rules allow it that spell it out.
        astray: whether it goes to several folders, so that no rule matches its text as it is.
        several: whether it has several simple commands.
        doubtful: whether the host asks for it whatever is allowed, unless all commands are.
    """

    _text: str
    _first: Sequence[Word]  # its first simple command
    _shell: Shell
    spelled: ExactMatch
    astray: bool
    several: bool
    doubtful: bool

    @cached_property
    def piped(self) -> bool:
        """Whether it may have pipes."""
        return self.several and "|" in self._text and _PIPE.search(self._text) is not None

    @cached_property
    def texts(self) -> tuple[str, ...]:
        """Its text, and the same with its pipes as rules have them."""
        whole = self._text.strip(" \t\n")
        if self.astray or whole.startswith("$"):
            return ()  # no rule spells out an unknown program
        if not self.piped:
            return (whole,)
        bare = _without_documents(whole)
        piped = " | ".join(piece.strip(" \t\n") for piece in _PIPE.split(bare))
        return tuple(dict.fromkeys((whole, piped))) if bare is whole else (piped,)

    @property
    def stages(self) -> Iterator[str]:
        """Its stages of several commands, by which rules that deny or ask know them.

        Each as it stands and without what is redirected, from every word of its first command
        on: any of these may be a prefix.
        """
        for stage in stages(_without_documents(self._text)) if self.piped else ():
            stripped = stage.strip(" \t\n")
            if _JOINED.search(stripped) is None:
                continue
            alone, spaced = _AROUND.sub(_quoted_only, stripped), _AROUND.sub(_without, stripped)
            for text in dict.fromkeys((stripped, alone.strip(), spaced.strip())):
                joined = _JOINED.search(text)
                starts = _BEGUN.finditer(text, 0, joined.start() if joined else 0)
                for begun in islice(starts, limits.NESTING):
                    yield text[begun.start() :]

    @cached_property
    def bare(self) -> str:
        """Its text without what is redirected, comments, and what stands around its first program.

        So rules that deny or ask spell out what is joined; "" where it is nothing else.
        """
        if not _BESIDES.search(self._text):
            return ""
        bare = _without_documents(self._text)
        if _NESTS.search(bare):
            return bare if bare != self._text else ""
        bare = _AROUND.sub(_without, bare)
        bare = bare.strip().removeprefix(around(self._first, self._shell)).strip()
        return bare if bare != self._text or not self.texts else ""


def around(words: Sequence[Word], shell: Shell) -> str:
    """Return what stands around the program of a command, in front of it."""
    program = [*dropwhile(is_assignment, words)]
    return as_written(words[: len(words) - len(as_granted(program, shell))]) if program else ""


def stages(text: str) -> list[str]:
    """Return what stands between the pipes of a text, quoted ones left alone."""
    pipes = [found.span() for found in _STAGE.finditer(text) if found[1]]
    starts, ends = [0, *(end for _, end in pipes)], [*(start for start, _ in pipes), len(text)]
    return [text[start:end] for start, end in zip(starts, ends, strict=True)]


def _without_documents(text: str) -> str:
    """Return a text without those that it puts on the input of commands: all, or none."""
    if "<<" not in text:
        return text
    kept: list[str] = []
    ends: list[str] = []
    for line in text.split("\n"):
        if ends:
            if line.lstrip("\t") == ends[0]:
                del ends[0]
            continue
        ends = ["".join(names) for names in DOCUMENT.findall(line)]
        kept.append(DOCUMENT.sub("", line))
    return text if ends else "\n".join(kept)


def _quoted_only(found: re.Match[str]) -> str:
    """Return what is quoted and what joins as it stands, and nothing of the rest."""
    return found[0] if found[2] else found[1] or ""


def _without(found: re.Match[str]) -> str:
    """Return what is quoted as it stands, what joins between blanks, and nothing of the rest."""
    return found[1] or (f" {found[2].strip()} ".replace("  ", " ") if found[2] else "")
