"""Witnesses, which are calls that show a difference: from a text, and as people write them."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import chain, combinations, count, islice, permutations, product
from pathlib import Path
from typing import Final

from policy.core import expressions as re
from policy.core.decision import Decision
from policy.core.effect import Effect
from policy.core.values import field, frozen
from policy.patterns.domains import BRACED, COMMANDS, DEAD, OBJECTS, TRIMMED_PATHS, Domain, joined
from policy.patterns.tokens import BLANKS, folded
from policy.tables.dialect import Argument, ArgumentKind, Dialect
from policy.tables.row import KINDS
from policy.tables.table import Lookup

Call = dict[str, object]

# Arguments of these kinds count as empty where they cannot be read.
_EMPTY_IF_UNREAD: Final = frozenset(
    (ArgumentKind.LENIENT, ArgumentKind.FILES, ArgumentKind.JOINED, ArgumentKind.JSON)
)

# Names for an argument that no rule names; rules may name some of them.
_NAMES: Final = ("argument", "input", "text", "value", "content")


@frozen
class CallShape:
    """Calls of one tool that differ in one text only.

    Attributes:
        dialect: how the host reads the calls.
        argument: the argument that rules apply to.
        parameters: other arguments, the same in all of these calls.
        sole: the one argument of a call that has no other, of a tool that no one described:
            a rule that names it and one that does not apply to the same text.
        named: the arguments that rules name.
        behind: the folder, as it is spelled, behind whose name the text of a path begins.

    """

    dialect: Dialect
    argument: Argument
    parameters: Mapping[str, str] = field(factory=dict)
    sole: str = ""
    named: frozenset[str] = frozenset()
    behind: str = ""

    @classmethod
    def each(
        cls,
        dialect: Dialect,
        argument: Argument,
        cases: Iterable[Mapping[str, str]],
        named: Iterable[str],
    ) -> list[CallShape]:
        """Return the shapes of all calls that can be read, for the cases of their parameters."""
        names = sorted(named)
        shapes = [cls(dialect, argument, case, named=frozenset(names)) for case in cases]
        if argument.kind is ArgumentKind.TEXT and not argument.fields:
            shapes += (cls(dialect, argument, sole=name) for name in names)
        return shapes

    @property
    def domain(self) -> Domain:
        """The texts that a witness may have."""
        match self.argument.kind:
            case ArgumentKind.COMMAND:
                return COMMANDS
            case ArgumentKind.JSON:
                return OBJECTS
            case ArgumentKind.PATH if self.argument.trimmed:
                return TRIMMED_PATHS
            case ArgumentKind.JOINED:
                return joined(len(self.argument.fields))
            case kind:
                return _framed(*self._frame) if self._is_whole else KINDS[kind].domain

    @property
    def wider(self) -> Domain | None:
        """All possible texts, where *domain* is only some of them."""
        return BRACED if self.argument.kind is ArgumentKind.JSON or self._is_whole else None

    @property
    def _is_whole(self) -> bool:
        """Whether the text is the JSON of all arguments, since there are several."""
        return not self.argument.fields and bool(self.parameters) and not self.sole

    @property
    def _free(self) -> str:
        return next(name for name in chain(_NAMES, map(str, count())) if name not in self.named)

    @property
    def _frame(self) -> tuple[str, str]:
        """What is before and after the one text in the JSON of all arguments."""
        mark = "\uf8ff"
        arguments = {**self.parameters, self._free: mark}
        shown = json.dumps(arguments, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
        before, _, after = shown.partition(mark)
        return before, after

    def call(self, text: str) -> Call:
        """Return the call whose argument is read as *text*, or any call where none is."""
        if self.sole:
            return {self.sole: text}
        if self._is_whole:
            before, after = self._frame
            inside = text.removeprefix(before).removesuffix(after)
            return {**self.parameters, self._free: inside}
        if not self.argument.fields and self.argument.kind is ArgumentKind.TEXT:
            return {self._free: text}
        if self.behind:
            path = _as_typed(self.dialect, self.behind + text)
            return {self.argument.fields[0]: path, **self.parameters}
        return {**witness_call(self.dialect, self.argument, text), **self.parameters}

    def unreadable(self) -> Call | None:
        """Return a call whose argument cannot be read, or None where there is none.

        All such calls get the same decision, and so do calls that are too long.
        """
        argument = self.argument
        is_any = argument.kind is ArgumentKind.TEXT and not argument.fields
        if is_any or argument.kind in _EMPTY_IF_UNREAD:
            return None  # whatever it is called with is read
        unread = {} if argument.absent is None else {argument.fields[0]: None}
        return {**unread, **self.parameters}


def _framed(before: str, after: str) -> Domain:
    """Return the texts between two others that JSON writes as they stand."""
    table: dict[str, dict[str, str]] = {}
    for number, letter in enumerate(before):
        following = f"before {number + 1}" if number + 1 < len(before) else "inside"
        table[f"before {number}"] = {letter: following, "": DEAD}
    odd = dict.fromkeys(("\\", *map(chr, range(32))), DEAD)
    table["inside"] = {**odd, after[0]: "after 1", "": "inside"}
    for number, letter in enumerate(after[1:], 1):
        table[f"after {number}"] = {letter: f"after {number + 1}", "": DEAD}
    table[f"after {len(after)}"] = {"": DEAD}
    return Domain(table, frozenset({f"after {len(after)}"}), unlocks=before + after)


def witness_call(dialect: Dialect, argument: Argument, text: str) -> Call:
    """Return a call whose argument is read as *text*, or any call where none is."""
    match argument.kind:
        case ArgumentKind.URL:
            text = f"https://{text}/"
        case ArgumentKind.PATH:
            text = _as_typed(dialect, _in_own_letters(dialect, text))
        case ArgumentKind.JOINED:
            parts = text.split(" ", len(argument.fields) - 1)
            return dict(zip(argument.fields, parts, strict=False))
        case ArgumentKind.JSON:
            with suppress(ValueError, RecursionError):
                if isinstance(found := json.loads(text), dict):
                    return found
            return {"argument": text}
        case _:
            pass
    return {argument.fields[0] if argument.fields else "argument": text}


def _as_typed(dialect: Dialect, path: str) -> str:
    """Return a canonical path as people write it: from the folder they are in, or from home."""
    if path == dialect.cwd:
        return "."
    if path.startswith(dialect.cwd + "/"):
        path = path[len(dialect.cwd) + 1 :]
        return f"./{path}" if path[:1] in BLANKS else path  # else it could be trimmed
    if path == dialect.home or path.startswith(dialect.home + "/"):
        return "~" + path[len(dialect.home) :]
    return path or "/"


def _in_own_letters(dialect: Dialect, path: str) -> str:
    """Return a path with the folder it is below as that is spelled (`Dialect.cased`)."""
    for folder in sorted(dialect.cased, key=len, reverse=True):
        name = folded(folder)
        if path == name or path.startswith(name + "/"):
            return folder + path[len(name) :]
    return path


# The effects of a call before and after. A comparison reports every pair that some call has: from
# denied to allowed is another change than from denied to asked.
Effects = tuple[Effect, Effect]

CHANGES: Final = frozenset((one, other) for one, other in product(Effect, Effect) if one != other)


@frozen
class Difference:
    """Calls of one tool that two sides decide differently, with one of them as a witness.

    Attributes:
        tool: its name.
        call: the witness, on which both decisions are.
        before: the decision of the first side.
        after: the decision of the other side.

    """

    tool: str
    call: Call = field(eq=False)
    before: Decision
    after: Decision

    @property
    def effects(self) -> Effects:
        """The effects of both decisions."""
        return self.before.effect, self.after.effect

    @property
    def widened(self) -> bool:
        """Whether the call is granted more than before."""
        return self.before.effect < self.after.effect

    def is_like(self, effects: Effects) -> bool:
        """Whether the difference and a change with these *effects* have the same direction."""
        return self.widened is (effects[0] < effects[1])


def signature(found: Difference) -> object:
    """Return a key that distinguishes differences: the effects and the rules of both decisions."""
    return *found.effects, found.before.because, found.after.because


def _written(found: Difference) -> object:
    """Return the same key, with only the rules that a file has."""
    by_rules = (
        tuple(because for because in decision.because if because.place is not None)
        for decision in (found.before, found.after)
    )
    return *found.effects, *by_rules


def of_direction(*, widened: bool) -> frozenset[Effects]:
    """Return the changes that grant more, or those that grant less."""
    return frozenset(combinations(sorted(Effect, reverse=not widened), 2))


def weakened(changes: Iterable[Effects]) -> set[Effects]:
    """Return *changes*, and what they become where another part of the command is asked for."""
    return {
        (before & floor, after & floor)
        for before, after in changes
        for floor in (Effect.ALLOW, Effect.ASK)
    } & CHANGES


def stronger(changes: Container[Effects]) -> set[Effects]:
    """Return *changes*, and the changes that can weaken into one of them."""
    return {each for each in CHANGES if any(left in changes for left in weakened([each]))}


# How many differences get a better call: a reader sees fewer.
_MOST: Final = 100

# Words that people complete rules with.
_KNOWN: Final = tomllib.loads(Path(__file__).with_name("ordinary.toml").read_text("utf-8"))
_COMMANDS, _FILES, _WORDS = (_KNOWN[name] for name in ("commands", "files", "words"))

# Marks of calls that a search made up: short names, and odd paths and redirections.
_FOUND: Final = re.compile(
    r"~\d|worktrees|-x$| &$|<|(?<!echo )(?:^|(?<=[\s/'>]))[a-z0](?=[\s/.'>]|$)"
)

# A rule: its tool and its specifier.
_RULE: Final = re.compile(r"([^\s()]+)\((?:domain:)?(.*)\)", re.DOTALL)


# A function for each side that returns the lookup of a tool.
LookUps = Sequence[Callable[[str], Lookup]]


def ordinary(
    differences: Iterable[Difference], dialect: Dialect, look_up: LookUps
) -> Iterator[Difference]:
    """Yield *differences*, the first ones with calls that people would make."""
    for number, difference in enumerate(differences):
        yield _ordinary(difference, dialect, look_up) if number < _MOST else difference


def _ordinary(difference: Difference, dialect: Dialect, look_up: LookUps) -> Difference:
    """Return a difference with a call that people would make and that is decided the same way."""

    def decided(call: Call, tool: str = difference.tool) -> Difference:
        lookups = (each(tool) for each in look_up)
        return Difference(tool, call, *(each.decide(call, remember=False) for each in lookups))

    tool, found = difference.tool, difference
    if tool.endswith("__x"):  # of a server whose tools no rule names
        named = decided(difference.call, f"{tool.removesuffix('x')}search")
        return named if signature(named) == signature(found) else found
    argument = dialect.argument(tool)
    field = next((name for name in argument.fields if name in found.call), "")
    if not isinstance(found.call.get(field), str):
        return found
    rules = [
        because.rule
        for decision in (found.after, found.before)
        for because in decision.because
        if because.place is not None
    ]
    further = _KNOWN["any"].get(field, ())
    for text in dict.fromkeys((*_texts(dialect, argument.kind, rules), *further)):
        one = decided({**found.call, field: text})
        if _written(one) == _written(found):
            return one
    return found


def is_ordinary(call: Call) -> bool:
    """Return whether people would make a call, as opposed to one that a search made up."""
    return not any(isinstance(text, str) and _FOUND.search(text) for text in call.values())


def _texts(dialect: Dialect, kind: ArgumentKind, rules: Sequence[str]) -> Iterator[str]:
    """Yield arguments that rules may match, those with words of the rules first."""
    of_paths: list[str] = []
    for found in filter(None, map(_RULE.fullmatch, rules)):
        of_rule = dialect.argument(found[1]).kind
        match kind, of_rule:
            case ArgumentKind.COMMAND, ArgumentKind.COMMAND:
                yield from _commands(found[2])
            case ArgumentKind.COMMAND, ArgumentKind.PATH:
                paths = _paths(found[2])
                yield from (f"{program} {path}" for path in paths for program in _KNOWN["opening"])
            case ArgumentKind.PATH, ArgumentKind.PATH:
                of_paths.append(next(_paths(found[2])))
                yield from _paths(found[2])
            case ArgumentKind.URL, ArgumentKind.URL:
                host = found[2].replace("*.", "api.").replace("*", "example")
                yield f"https://{host}/"
            case _:
                yield from found[2].split(", ") if "*" not in found[2] else ()
    for folder, name in permutations(of_paths, 2):
        yield f"{folder.rpartition('/')[0]}/{name.rpartition('/')[2]}"
    yield from _KNOWN["any"].get(kind.name, ())
    if kind is ArgumentKind.COMMAND:
        # What runs without a rule needs one behind a program that starts it, or in quotes.
        for found in filter(None, map(_RULE.fullmatch, rules)):
            texts = islice(_commands(found[2]), 2)
            yield from (form.format(text) for text, form in product(texts, _KNOWN["behind"]))


def _commands(pattern: str) -> Iterator[str]:
    """Yield commands that a pattern may match."""
    start = re.sub(r"(?::| )\*$", "", pattern)
    before, star, _ = start.partition("*")
    if not start.strip("* "):
        return
    if star:
        words = [word for form, word in _KNOWN["stars"].items() if re.search(form, start)]
        words += _following(before) if before.endswith(" ") else []
        words += _WORDS if before else _KNOWN["programs"]
        # A star before an option, or at the end of a word, is left empty; the last of several
        # that is a word of its own needs a word.
        spare = re.sub(r"\*(?=-)|(?<=\w)\*$", "", start) + " *" * (start != pattern)
        yield from (_filled(spare, word) for word in words)
    elif start == pattern:
        yield pattern
    else:
        yield from (f"{start} {rest}" for rest in _following(start))
        yield start
        yield from (f"{start} {word}" for word in _WORDS if word)


def _following(start: str) -> list[str]:
    """Return the words that may follow *start*: of all of it, without options, or its last word."""
    short = re.sub(r"( -\w+)+$", "", start.strip())
    texts = (start.strip(), short, short.rpartition(" ")[2])
    return next((_COMMANDS[text].split("|") for text in texts if text in _COMMANDS), [])


def _filled(pattern: str, word: str) -> str:
    """Return *pattern* with *word* for its first star, and for others a word that may follow."""
    text = pattern.replace("*", word, 1)
    while "*" in text:
        before, _, behind = text.partition("*")
        text = before + [*_following(before), _WORDS[0]][0] + behind
    return " ".join(text.split())


def _paths(pattern: str) -> Iterator[str]:
    """Yield paths that a pattern may match: as people write them, in the folder they are in."""
    rooted = re.sub(r"^/+", "/", pattern)  # two slashes lead out of the project in some hosts
    for path in dict.fromkeys((rooted, rooted.removeprefix("/"))):
        folder, _, name = path.removeprefix("./").rpartition("/")
        folder = re.sub(r"(?<![^/])\*\*/?", "", folder).replace("*", "app").rstrip("/")
        stem, dot, ending = name.rpartition(".")
        if not name.strip("*"):
            names = [
                _FILES.get(folder.rpartition("/")[2], _KNOWN["file"]),
                "notes.txt",
                "",
            ]
            folder = folder or ("src" if "**" in path and not path.startswith("/") else "")
        elif not stem.strip("*") and stem:
            names = [_KNOWN["stems"].get(ending, "app") + dot + ending]
        elif name.startswith(".env"):
            names = [re.sub(r"\*+", "", name).rstrip("."), re.sub(r"\*+", "local", name)]
        else:
            word = re.sub(r"^\*(?=[^\W_])|(?<=[^\W_])\*$", "", name)
            names = [word.replace("*", "app"), name.replace("*", "app")]
        root = "/" if path.startswith("/") and not folder else ""
        yield from (f"{root}{folder}{'/' if folder and each else ''}{each}" for each in names)
