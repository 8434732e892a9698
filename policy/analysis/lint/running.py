"""Commands by which a rule that names a program runs any command.

What a rule spells is read as words of a command of `data/commands.toml`: options, and words where
that has some, may differ. What is missing of the command is what its star may stand for.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Final

from policy.analysis.no_command import ANYTHING, QUOTED, head_of
from policy.core import expressions as re
from policy.core.values import frozen
from policy.hosts.data import data_table
from policy.patterns.pattern import Pattern, freeze

__all__ = ["Running", "running"]

_DATA: Final = data_table(__package__, "commands")
_LANGUAGES: Final[tuple[str, ...]] = tuple(f"{name} " for name in _DATA["languages"]["options"])
_VALUES: Final = {name: frozenset(some.split()) for name, some in _DATA["values"].items()}
_ENDING: Final = {name: frozenset(some) for name, some in _DATA["ending"].items()}
_READING: Final = frozenset(_DATA["reading"]["options"])
_DETACHED: Final = frozenset(_DATA["reading"]["detached"])

_WORDS: Final = re.compile(r"""(?:\\.|'[^']*'|"(?:\\.|[^"\\])*"|[^\s'"\\])+""", re.DOTALL)
_ASSIGNMENT: Final = re.compile(r"\w+=.*", re.DOTALL)
_NO_PROGRAM: Final = re.compile(r"[-<'].*|.*ANY.*", re.DOTALL)
# `-it`: the input of what is run is that of the program.
_ATTACHED: Final = re.compile(r"-[a-z]*i[a-z]*|--(interactive|stdin)")


@frozen
class Running:
    """A command that runs any command, by a rule.

    Attributes:
        command: a call that the rule may match.
        case: of the finding.
        program: what runs the command.

    """

    command: str
    case: str
    program: str


@frozen
class _Form:
    """A command of the data, whose first words name a program and its subcommand."""

    case: str
    program: str
    words: tuple[str, ...]
    named: int

    @property
    def is_loose(self) -> bool:
        """Whether words in front change nothing."""
        return self.case in {"anywhere", "installers"}


def _forms() -> Iterator[_Form]:
    commands = {case: _DATA[case] for case in ("runners", "anywhere", "installers")}
    commands["reading"] = {name.partition(" ")[0]: [name] for name in _DATA["reading"]["programs"]}
    for case, programs in commands.items():
        for name, texts in programs.items():
            for words in map(_WORDS.findall, texts):
                named = next((i for i, w in enumerate(words) if _NO_PROGRAM.fullmatch(w)), None)
                yield _Form(case, name, tuple(words), len(words) if named is None else named)


_FORMS: Final = tuple(_forms())
_OF_PROGRAM: Final[dict[str, list[_Form]]] = {}
for _form in _FORMS:
    _OF_PROGRAM.setdefault(_form.words[0], []).append(_form)


@lru_cache(maxsize=4096)
def running(pattern: Pattern) -> tuple[Running, ...]:
    """Return commands that *pattern* may match, by which it runs any command."""
    head = head_of(pattern)
    quote = next((each for each in "'\"" if each in QUOTED.sub("", head)), "")
    if pattern.exact:
        return () if quote else tuple(_reading(head))
    rest = Pattern.of(pattern.kind, pattern.tokens[2 if head else 1 :])
    return tuple(_behind(head, quote, freeze(rest, "x"), freeze(pattern, ANYTHING)))


def _reading(text: str) -> Iterator[Running]:
    for _, form in _missing(_WORDS.findall(text), is_open=False, is_whole=True):
        for command in (f"echo {ANYTHING} | {text}", f"{text} <<< {ANYTHING}"):
            yield Running(command, "runners", form.program)


def _behind(head: str, quote: str, tail: str, text: str) -> Iterator[Running]:
    program = next((name for name in _LANGUAGES if head.startswith(name)), "")
    # Behind a quote that ends stands what is given to the program.
    if program and (quote or head == program):
        end = "" if quote in tail else quote
        yield Running(text + end, "languages", program.strip())
    start = f"{head}x{quote}" if quote else head
    words = _WORDS.findall(start)
    is_open = bool(quote) or not start[-1:].isspace()
    for missing, form in _missing(words, is_open=is_open and bool(start), is_whole=False):
        if form.is_loose and not _ENDING["options"].isdisjoint(tail.split()):
            continue
        again = f" {quote}" if quote and quote in tail else " " if tail[:1].strip() else ""
        case = "runners" if form.case == "anywhere" else form.case
        yield Running(f"{start}{missing}{again}{tail}", case, form.program)


def _missing(words: list[str], *, is_open: bool, is_whole: bool) -> Iterator[tuple[str, _Form]]:
    """Yield what *words* lack to run any command, and the form that they have then.

    Args:
        words: what a rule begins with.
        is_open: whether the last may go on.
        is_whole: whether nothing may follow: then they must run what they read.

    """
    for form in _begun(words, is_open=is_open):
        found = _read(form, words, is_open=is_open)
        if found is None:
            continue
        place, left = found
        if place < len(words):
            attached = form.words[0] not in _DETACHED or any(map(_ATTACHED.fullmatch, words))
            if not is_whole or attached:
                yield from _missing(words[place:], is_open=is_open, is_whole=is_whole)
        elif (form.case == "reading") is is_whole and bool(left) is not is_whole:
            yield left, form


def _begun(words: Sequence[str], *, is_open: bool) -> Sequence[_Form]:
    """Return the forms whose program *words* begin with, as far as they name one."""
    named = [_name(word) for word in words if not _ASSIGNMENT.fullmatch(word)]
    if named and (len(named) > 1 or not is_open):
        return _OF_PROGRAM.get(named[0], ())
    return [form for form in _FORMS if form.words[0].startswith(named[0] if named else "")]


def _read(form: _Form, words: Sequence[str], *, is_open: bool) -> tuple[int, str] | None:
    """Return which of *words* is a program that the form runs, and else what they lack of it."""
    wanted = list(form.words)
    place = 0
    while place < len(words):
        word = words[place]
        done = min(len(form.words) - len(wanted), form.named)
        place += 1
        if wanted and _is_of(form, wanted, word if done else _name(word), words[place:]):
            del wanted[0]
        elif is_open and place == len(words) and wanted and wanted[0].startswith(word):
            wanted[0] = wanted[0][len(word) :]
            return place, _text(wanted)
        elif word[0] == "-" and done:
            takes = _words_of_option(form, word, done, wanted)
            if not takes:
                return None
            place += takes - 1
            if wanted and wanted[0].startswith("<-"):
                del wanted[0]
        elif _ASSIGNMENT.fullmatch(word):
            continue
        elif wanted and wanted[0][0] == "<" and done == form.named:
            del wanted[0]
        elif wanted == ["ANY"] and form.case == "runners" and done == form.named:
            return place - 1, ""
        elif not form.is_loose or done < form.named:
            return None
    # What an option takes, if it takes some.
    is_option = form.is_loose and bool(words) and words[-1][0] == "-"
    is_taken = place > len(words) or (is_option and bool(wanted) and wanted[0][0] == "-")
    end = words[-1][-1] if is_open and wanted else " "
    joint = " " if end.isalnum() or end in "'\"" else "x "
    return len(words), ("" if end == " " else joint) + ("x " if is_taken else "") + _text(wanted)


def _is_of(form: _Form, wanted: Sequence[str], word: str, following: Sequence[str]) -> bool:
    """Return whether *word* is the first that is wanted, and no option with a value of its own."""
    first, *others = wanted
    if first[0] != "-" or first == "--":
        return word == first
    # `-lc` is `-c` behind another one.
    is_same = word == first or (len(first) == 2 and _last_of(word) == first)
    is_run = form.case == "runners" and others[:1] == ["ANY"]
    return is_same and (is_run or not following or following[0] == "".join(others[:1]))


def _last_of(word: str) -> str:
    """Return the last option of a few that are one word, or *word*."""
    return f"-{word[-1]}" if _CLUSTER.fullmatch(word) else word


_CLUSTER: Final = re.compile(r"-[A-Za-z0]{1,4}")


def _words_of_option(form: _Form, word: str, done: int, wanted: Sequence[str]) -> int:
    """Return how many words an option is, 0 if the form runs nothing behind it."""
    takes = not {word, _last_of(word)}.isdisjoint(_VALUES.get(" ".join(form.words[:done]), ()))
    is_end = word == "--" and (not wanted or wanted[0].startswith(("-", "<-")))
    is_read = form.case != "reading" or takes or word in _READING
    ending = _ENDING["options"] | _ENDING.get(form.words[0], frozenset())
    return 0 if is_end or not is_read or word in ending else 1 + takes


def _name(word: str) -> str:
    """Return the program that *word* names, without its folder and its minor version."""
    return _MINOR.sub("", word.rpartition("/")[2])


_MINOR: Final = re.compile(r"\.[0-9]+\Z")


def _text(words: Sequence[str]) -> str:
    plain = (word[1:-1] if word[0] == "<" and word[-1] == ">" else word for word in words)
    return " ".join(plain).replace("ANY", ANYTHING)
