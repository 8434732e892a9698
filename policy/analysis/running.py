"""Commands by which a rule that names a program runs any command.

What a rule spells is read as words of a command of `data/commands.toml`: options, and words where
that has some, may differ. What is missing of the command is what its star may stand for.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Final

from policy.core import expressions as re
from policy.core.values import frozen
from policy.hosts.data import data_table
from policy.patterns.pattern import Pattern, freeze

# Stands for any command: no rule names it.
ANYTHING: Final = "ANYTHING"

QUOTED: Final = re.compile(r"""\\.|'[^']*'|"(?:\\.|[^"\\])*\"""", re.DOTALL)

_DATA: Final = data_table("policy.analysis.lint", "commands")
_LANGUAGES: Final = tuple(f"{name} " for name in _DATA["languages"]["options"])
_VALUES: Final = {name: frozenset(some.split()) for name, some in _DATA["values"].items()}
_ENDING: Final = {name: frozenset(some) for name, some in _DATA["ending"].items()}
_READING: Final = [program.split() for program in _DATA["reading"]["programs"]]

_WORDS: Final = re.compile(r"""(?:\\.|'[^']*'|"(?:\\.|[^"\\])*"|[^\s'"\\])+""", re.DOTALL)
_ASSIGNMENT: Final = re.compile(r"\w+=.*", re.DOTALL)
_NO_PROGRAM: Final = re.compile(r"[-<'].*|.*ANY.*", re.DOTALL)
_CLUSTER: Final = re.compile(r"-[A-Za-z0]{1,4}")
_MINOR_VERSION: Final = re.compile(r"\.[0-9]+\Z")


@frozen
class Running:
    """A command that runs any command, by a rule."""

    command: str  # a call that the rule may match
    case: str  # of the finding
    program: str  # what runs the command


@frozen
class _Form:
    """A command of the data, of which the first *named* words name a program and subcommands."""

    case: str
    program: str
    words: tuple[str, ...]
    named: int

    @property
    def is_loose(self) -> bool:
        """Whether words in front of its options change nothing."""
        return self.case != "runners"


def _forms() -> Iterator[_Form]:
    for case in ("runners", "anywhere", "installers"):
        for program, texts in _DATA[case].items():
            for words in map(_WORDS.findall, texts):
                named = next((i for i, w in enumerate(words) if _NO_PROGRAM.fullmatch(w)), None)
                yield _Form(case, program, tuple(words), len(words) if named is None else named)


_FORMS: Final = tuple(_forms())
_OF_PROGRAM: Final[dict[str, list[_Form]]] = {}
for _form in _FORMS:
    _OF_PROGRAM.setdefault(_form.words[0], []).append(_form)


def head_of(pattern: Pattern | None) -> str:
    """Return the literal text that every match of *pattern* begins with, or ""."""
    tokens = pattern.tokens if pattern is not None else ()
    return tokens[0] if tokens and isinstance(tokens[0], str) else ""


@lru_cache(maxsize=4096)
def running(pattern: Pattern) -> tuple[Running, ...]:
    """Return commands that *pattern* may match and that run any given command."""
    head = head_of(pattern)
    quote = next((each for each in "'\"" if each in QUOTED.sub("", head)), "")
    if pattern.exact:
        return tuple(_by_input(head)) if head and not quote else ()
    rest = freeze(Pattern.of(pattern.kind, pattern.tokens[2 if head else 1 :]), "x")
    return tuple(_by_star(head, quote, rest, freeze(pattern, ANYTHING)))


def _by_input(text: str) -> Iterator[Running]:
    """Yield commands in which the program of *text* runs commands from its standard input."""
    program, *given = _WORDS.findall(text) or [""]
    words = [word for word in given if word not in _DATA["reading"]["options"]]
    for name, *wanted in _READING:
        if _name(program) != name or len(words) != len(wanted) or _ending(name) & {*given}:
            continue
        pairs = zip(wanted, words, strict=True)
        if all(one == word or (one[0] == "<" and word[0] != "-") for one, word in pairs):
            yield Running(f"echo {ANYTHING} | {text}", "runners", name)
            yield Running(f"{text} <<< {ANYTHING}", "runners", name)


def _by_star(head: str, quote: str, tail: str, whole: str) -> Iterator[Running]:
    """Yield commands that begin with *head*, in which *quote* is open, and end with *tail*."""
    language = next((name for name in _LANGUAGES if head.startswith(name)), "")
    # Text after a closing quote is an argument of the program.
    if language and (quote or head == language):
        yield Running(whole + ("" if quote in tail else quote), "languages", language.strip())
    start = f"{head}x{quote}" if quote else head
    is_open = bool(start) and (bool(quote) or not start[-1].isspace())
    for lacking, form in _lacking(_WORDS.findall(start), is_open=is_open):
        if form.is_loose and not _ENDING["options"].isdisjoint(tail.split()):
            continue
        again = f" {quote}" if quote and quote in tail else " " if tail[:1].strip() else ""
        case = "installers" if form.case == "installers" else "runners"
        yield Running(f"{start}{lacking}{again}{tail}", case, form.program)


def _lacking(words: list[str], *, is_open: bool) -> Iterator[tuple[str, _Form]]:
    """Yield the text to append to *words* so that they run any command, and the form used."""
    names = [_name(word) for word in words if not _ASSIGNMENT.fullmatch(word)] or [""]
    if names == [""] or (is_open and len(names) == 1):
        forms = [form for form in _FORMS if form.words[0].startswith(names[0])]
    else:
        forms = _OF_PROGRAM.get(names[0], [])
    for form in forms:
        place, wanted = _read(form, words, is_open=is_open) or (0, [])
        if 0 < place < len(words):
            yield from _lacking(words[place:], is_open=is_open)
        elif wanted:
            unmarked = (word[1:-1] if word.startswith("<") else word for word in wanted)
            yield " ".join(unmarked).replace("ANY", ANYTHING), form


def _read(form: _Form, words: list[str], *, is_open: bool) -> tuple[int, list[str]] | None:
    """Return the index in *words* of the program that the form runs, and the words still missing.

    None if the form runs nothing after *words*.
    """
    ending = _ending(form.words[0])
    wanted, place = list(form.words), 0
    while place < len(words):
        word, is_last = words[place], place + 1 == len(words)
        first = wanted[0] if wanted else ""
        done = min(len(form.words) - len(wanted), form.named)
        place += 1
        # `-euo` is `-o` behind others.
        options = {word, f"-{word[-1]}" if _CLUSTER.fullmatch(word) else word}
        # Another option of the kind may follow the one that has its value.
        is_program_next = wanted[1:2] == ["ANY"] and not form.is_loose
        is_free = first[:1] != "-" or first == "--" or is_program_next or is_last
        if wanted and is_free and first in (options if done else {_name(word)}):
            del wanted[0]
        elif is_open and is_last and first.startswith(word):
            return place, [first[len(word) :], *wanted[1:]]
        elif word[0] == "-" and done:
            if word in ending or (word == "--" and (not first or first.startswith(("-", "<-")))):
                return None
            place += not options.isdisjoint(_VALUES.get(" ".join(form.words[:done]), ()))
            if first.startswith("<-"):
                del wanted[0]
        elif _ASSIGNMENT.fullmatch(word):
            continue
        elif first[:1] == "<" and done == form.named:
            del wanted[0]
        elif wanted == ["ANY"] and not form.is_loose and done == form.named:
            return place - 1, []
        elif not form.is_loose or done < form.named:
            return None
    # What the last option takes, if it takes some.
    is_between = bool(words and wanted) and words[-1][0] == wanted[0][0] == "-"
    if place > len(words) or (is_between and form.is_loose):
        wanted.insert(0, "x")
    return len(words), ["", *wanted] if is_open and wanted else wanted


def _ending(program: str) -> frozenset[str]:
    """Return the options with which a program ends without running anything."""
    return _ENDING["options"] | _ENDING.get(program, frozenset())


def _name(word: str) -> str:
    """Return the program that *word* names, without its folder and its minor version."""
    return _MINOR_VERSION.sub("", word.rpartition("/")[2])
