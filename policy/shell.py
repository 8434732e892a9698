"""A shell command, taken apart into what each rule must speak of.

A command is decided part by part: denied when any part is, allowed only when
every part is. This reader knows words, quotes, operators and redirections. All
else (expansions, substitutions, groups, control flow, here-documents) it takes
apart far enough to deny, and never vouches for: no rule can grant a part whose
``grantable`` is False.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from itertools import pairwise

import attrs

from policy import limits
from policy.dialect import Shell
from policy.patterns.automaton import NO_MATCH, Automaton
from policy.patterns.tokens import Gap, OneOf, Token
from policy.programs import examine
from policy.words import ASSIGNMENT, Scanner, Word

__all__ = ["Command", "Part", "Redirection", "compound", "read_command"]


@attrs.frozen
class Part:
    """One simple command of a command.

    Attributes:
        text: as written, blanks between words folded: what a rule that allows
            must match.
        readings: what a rule that denies or asks may match instead: without
            quotes, assignments, wrappers, the folder of the program.
        grantable: whether a rule may allow it at all.
        harmless: whether the host runs it where no rule speaks of it.
        doubtful: readings that a rule which denies makes doubtful, not denied.
        written: the command with the wrappers that a rule may allow by name; "" if there are none.

    """

    text: str
    readings: tuple[str, ...] = ()
    grantable: bool = True
    harmless: bool = False
    doubtful: tuple[str, ...] = ()
    written: str = ""


@attrs.frozen
class Redirection:
    """A file that a command reads from or writes to.

    Attributes:
        target: its name; None when that is not a literal.
        writes: whether it is written to.
        tool: the tool that this is a call of; "" for that of a redirection.
        guarded: whether no rule may allow it.

    """

    target: str | None
    writes: bool
    tool: str = ""
    guarded: bool = False


@attrs.frozen
class Command:
    """A command taken apart.

    Attributes:
        parts: its simple commands.
        redirections: the files it opens.
        whole: its text as a whole, and as one pipeline where it is one.
    """

    parts: tuple[Part, ...]
    redirections: tuple[Redirection, ...] = ()
    whole: tuple[str, ...] = ()


# The first words of commands that hold other commands.
_KEYWORDS = frozenset(
    "if then elif else fi for while until do done case esac select function coproc time"
    " ! { }".split()
)


_ACTED_ON = OneOf(frozenset(";&|<>()`$\\{}\"'#\t\n\r\v\f\0"))


# What looks like a blank and is none to a shell.
_ODD_BLANKS = frozenset(
    "\xa0\xad\u1680\u180e\u2028\u2029\u202f\u205f\u2060\u3000\ufeff"
    + "".join(map(chr, [*range(0x2000, 0x2010), *range(0x202A, 0x202F), *range(0x2061, 0x206A)]))
)


@cache
def compound(shell: Shell) -> tuple[tuple[Token, ...], ...]:
    """Return patterns of every command that `read_command` does not return as it stands.

    They are for words: PART is text without a blank. Whoever matches none of
    them is one part: a program, and words without anything a shell acts on.
    """
    programs = sorted(shell.wrappers | shell.programs.keys() | _KEYWORDS)
    return (
        (),
        (Gap.ANY, _ACTED_ON, Gap.ANY),
        (" ", Gap.ANY),
        (Gap.ANY, " "),
        (Gap.ANY, "  ", Gap.ANY),
        *(((Gap.ANY, OneOf(_ODD_BLANKS), Gap.ANY),) if shell.control else ()),
        (Gap.PART, OneOf(frozenset("/=!~*?[")), Gap.ANY),  # in the first word
        *((program,) for program in programs),
        *((program + " ", Gap.ANY) for program in programs),
    )


@cache
def _compound(shell: Shell) -> Automaton:
    return Automaton(compound(shell), " ")


def read_command(text: str, shell: Shell) -> Command:
    """Return the parts and redirections of *text*. Never fails; never vouches for a guess."""
    if _compound(shell).first(text) == NO_MATCH:
        return Command((Part(text),))
    scanner = Scanner(text)
    scanner.run()
    commands = [words for words in scanner.commands if words]
    opaque = scanner.opaque
    if shell.control:
        opaque |= scanner.dangling or scanner.leading or not _ODD_BLANKS.isdisjoint(text)
        opaque |= 0 < shell.longest < len(text)
        commands = list(filter(None, map(_controlled, commands)))
    files = [Redirection(target.name, target.writes) for target in scanner.targets]
    parts: list[Part] = []
    moved = False
    for words in commands:
        part = _part(words, shell, opaque=opaque)
        if shell.programs:
            part, opened, moves = _examined(part, words, shell, opaque=opaque, moved=moved)
            files += opened
            moved |= moves
        else:
            moved |= bool(files) and _behind_all(words, shell)[0].plain in _MOVERS
        parts.append(part)
    if moved:
        files += [_somewhere(file) for file in files if file.writes or not shell.programs]
    return Command(tuple(parts), tuple(files), _whole(text, scanner) if shell.control else ())


def _whole(text: str, scanner: Scanner) -> tuple[str, ...]:
    """Return the command as a whole, as rules that spell it out know it."""
    whole = text.strip(" \t\n")
    if whole.startswith("$"):
        return ()  # no rule spells out a program that nobody knows
    if len(scanner.commands) > 1 and not re.search(r"&&|\|\||[;&\n]", whole):
        return (whole, re.sub(r"\s*\|\s*", " | ", whole))
    return (whole,)


# Programs that change the folder of what follows.
_MOVERS = frozenset("cd chdir pushd popd".split())


def _somewhere(file: Redirection) -> Redirection:
    """Return *file* as what it is after a change of folder: nobody knows which."""
    relative = file.target is not None and file.target[:1] not in ("/", "~")
    return attrs.evolve(file, target=None) if relative else file


_OPENERS = frozenset("if elif then else while until do !".split())
_CLOSERS = frozenset("fi done".split())


def _controlled(words: list[Word]) -> list[Word]:
    """Return the command behind the words of a loop or condition."""
    start = 0
    while start < len(words) and words[start].raw in _OPENERS:
        start += 1
    rest = words[start:]
    return [] if len(rest) == 1 and rest[0].raw in _CLOSERS else rest


def _examined(
    part: Part, words: list[Word], shell: Shell, *, opaque: bool, moved: bool
) -> tuple[Part, tuple[Redirection, ...], bool]:
    """Return *part* with what is known of its program, the files it opens, whether it moves."""
    outer = shell.programs.get(words[0].plain)
    program = words if outer is not None and outer.runs else _behind_all(words, shell)
    known = examine(program, shell)
    files = tuple(
        Redirection(file.name, file.tool == shell.writes, file.tool, file.guarded)
        for file in known.opened
    )
    script = _script(program)
    if script is not None:
        inside = read_command(script, shell)
        texts = [text for each in inside.parts for text in (each.text, *each.readings)]
        part = attrs.evolve(part, doubtful=tuple(texts))
        files += tuple(file for file in inside.redirections if file.tool == shell.removes)
    literal = all(word.literal for word in words)
    direct = program is words or _is_granted(words, program, shell)
    harmless = known.harmless and literal and not opaque and direct
    harmless &= words[0].plain not in _TIMED and (not known.direct or len(program) == len(words))
    harmless |= not opaque and _only_assigns(words, shell)
    if moved and known.stays:
        return attrs.evolve(part, grantable=False), files, known.moves
    return attrs.evolve(part, harmless=harmless), files, known.moves


_TIMED = frozenset({"time"})


def _only_assigns(words: list[Word], shell: Shell) -> bool:
    """Whether the command is one assignment that is safe before any command."""
    return len(words) == 1 and not _safe_assignments([*words, *words], shell)[1:]


_SHELLS = frozenset("bash sh zsh dash ksh".split())


def _script(words: list[Word]) -> str | None:
    """Return the script of ``bash -c SCRIPT``."""
    if len(words) > 2 and words[0].plain.rsplit("/", 1)[-1] in _SHELLS:
        for option, script in pairwise(words[1:]):
            if re.fullmatch(r"-[a-z]*c", option.plain):
                return script.plain
    return None


def _is_granted(words: list[Word], program: list[Word], shell: Shell) -> bool:
    """Whether rules that allow see the program where it is."""
    granted = words
    for strip in (_safe_assignments, _transparent):
        granted = strip(granted, shell)
    return len(granted) == len(program) and bool(program)


def _behind_all(words: list[Word], shell: Shell) -> list[Word]:
    """Return the program and its arguments behind every assignment and wrapper."""
    start = 0
    while start < min(len(words) - 1, limits.NESTING) and _is_around(words, start, shell):
        start += 1
    return words[start:]


_LOCALES = frozenset({"C", "C.UTF-8", "en_US.UTF-8", "POSIX"})
_SIMPLE_VALUE = re.compile(r"(?!.*\.\.)[A-Za-z0-9_./:-]+\Z")


def _part(words: list[Word], shell: Shell, *, opaque: bool) -> Part:
    text = " ".join(word.raw for word in words)
    grantable = not opaque and all(word.literal for word in words)
    granted = words
    for strip in (_safe_assignments, _transparent):
        granted = strip(granted, shell)
    readings = dict.fromkeys(_readings(words, shell))
    program = _behind_all(words, shell)
    around = len(words) - len(program)
    if around >= limits.NESTING or any(map(_is_expanded, words[: around + 1])):
        grantable = False  # nobody knows which program it is
    if not granted or granted[0].raw in _KEYWORDS or ASSIGNMENT.match(granted[0].raw):
        grantable = False
    if granted and granted[0].raw != granted[0].plain:
        if not shell.control or granted[0].raw != "\\" + granted[0].plain:
            grantable = False  # a quoted or escaped program name
        else:
            granted = [attrs.evolve(granted[0], raw=granted[0].plain), *granted[1:]]
    granted_text = " ".join(word.raw for word in granted)
    readings.pop(granted_text, None)
    if granted_text != text:
        readings[text] = None
    written = text if granted_text != text and shell.control else ""
    return Part(granted_text, tuple(readings), grantable, written=written)


def _safe_assignments(words: list[Word], shell: Shell) -> list[Word]:
    index = 0
    while index < len(words) - 1:
        match = ASSIGNMENT.match(words[index].raw)
        if match is None:
            break
        value = words[index].raw[match.end() :]
        if match[1] in shell.locales:
            if value not in _LOCALES:
                break
        elif match[1] not in shell.variables or not _SIMPLE_VALUE.match(value):
            break
        index += 1
    return words[index:]


def _transparent(words: list[Word], shell: Shell) -> list[Word]:
    for _ in range(limits.NESTING):
        if len(words) < 2 or words[0].raw.removeprefix("\\") not in shell.transparent:
            break
        words = _behind_options(words)
    return words


def _is_expanded(word: Word) -> bool:
    """Whether a shell puts the name of a file for *word*; `[` is a program, `=x` one of zsh."""
    return (word.glob and word.plain not in ("[", "[[")) or word.plain.startswith("=")


# The values of these options of `time` are not the program.
_BARE_OPTIONS: dict[str, frozenset[str]] = {"time": frozenset()}

_DURATION = re.compile(r"[0-9]+(\.[0-9]+)?[smhd]?\Z")

# Wrappers with an operand before the program.
_TAKES_ONE = frozenset("chroot flock taskset".split())


def _behind_options(words: list[Word]) -> list[Word]:
    """Return the words behind a wrapper, its options and its plain numbers."""
    index = 1
    bare = _BARE_OPTIONS.get(words[0].raw)
    if bare is not None and words[1].plain.startswith("-") and words[1].plain not in bare:
        return words
    while index < len(words) - 1 and (
        (words[index].plain.startswith("-") and not _is_unread(words[0], words[index]))
        or _DURATION.match(words[index].plain)
    ):
        index += 1
    return words[index:]


def _is_unread(wrapper: Word, option: Word) -> bool:
    return "=" in option.plain and wrapper.plain in ("nice", "stdbuf")


def _readings(words: list[Word], shell: Shell) -> Iterator[str]:
    """Yield every text by which a rule that denies may know the command."""
    for start in range(min(len(words), limits.NESTING)):
        rest = words[start:]
        program = rest[0].plain
        yield " ".join(word.plain for word in rest)
        if "/" in program:
            name = program.rsplit("/", 1)[1]
            yield " ".join([name, *(word.plain for word in rest[1:])])
        if not _is_around(words, start, shell):
            return


def _is_around(words: list[Word], index: int, shell: Shell) -> bool:
    """Whether the word at *index* is no program, or one that runs the command behind it."""
    return _looks_through(words[index].plain, shell) or (
        index > 0 and _in_wrapper(words[index], words[:index], shell)
    )


def _looks_through(program: str, shell: Shell) -> bool:
    name = program.rsplit("/", 1)[-1]
    return bool(ASSIGNMENT.match(program)) or name in shell.wrappers or name in _KEYWORDS


def _in_wrapper(word: Word, before: list[Word], shell: Shell) -> bool:
    """Return whether *word* may be an option, or the value of one, of a wrapper before it."""
    if word.plain.startswith("-") or _DURATION.match(word.plain) or "=" in word.plain:
        return True
    if before[-1].plain.rsplit("/", 1)[-1] in _TAKES_ONE or before[-1].plain == "function":
        return True
    return before[-1].plain.startswith("-") and any(
        _looks_through(earlier.plain, shell) for earlier in before
    )
