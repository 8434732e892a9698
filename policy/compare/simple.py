"""Search simple commands of plain words by every text that rules match: as written and unwrapped.

The automata of all lines run along each text. Wrappers come first, word by word; the command
behind them is searched letter by letter (as in `policy.patterns.search`). The search finds a
command that two sides decide in a wanted way, or proves that there is none. That is exact where
only the names of wrappers are known. Quoted words, expansions and globs are left out.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Generator, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from itertools import chain, product
from typing import Final

from policy.commands.knowledge import Shell
from policy.commands.reader import KEYWORDS
from policy.commands.words import ASSIGNMENT, Word, WordPlace, is_assignment
from policy.compare.auto_allowed import ACTED_ON
from policy.compare.commands import CommandPair
from policy.compare.lists import Sides, View
from policy.compare.witness import CHANGES, Difference, Effects, stronger, weakened
from policy.core.effect import Effect
from policy.core.values import define, evolve, frozen
from policy.patterns.automaton import NO_MATCH, Automaton, AutomatonState
from policy.patterns.pattern import Pattern
from policy.patterns.search import SearchResult

# Effects in order of what they grant, and their numbers, which compare much faster.
_BY_RANK: Final = sorted(Effect)
_RANK: Final = {effect: rank for rank, effect in enumerate(_BY_RANK)}


@frozen(eq=False)
class _List:
    """One list of rules, with its changed lines."""

    view: View
    otherwise: Effect  # the effect of a text that no line matches
    edits: frozenset[int]  # the changed lines: one of them decides any difference

    def effect(self, line: int) -> Effect:
        return self.otherwise if line == NO_MATCH else self.view.effect(line)


class Texts:
    """All texts, where texts that leave the lists of both sides in the same states are one.

    Args:
        sides: both sides.
        strict: whether only lines that deny or ask count, and the lines before them.

    Attributes:
        lists: the lists of both sides.
        start: the empty text.

    """

    def __init__(self, sides: Sides, *, strict: bool) -> None:
        self._sides, self._strict = sides, strict
        self.lists: list[_List] = []
        states: list[AutomatonState] = []
        for number, view in enumerate(sides.views):
            end = view.last_strict + 1 if strict else NO_MATCH + 1
            edits = frozenset(line for each, line in sides.edits if each == number and line < end)
            self.lists.append(_List(view, Effect.ALLOW if strict else view.default, edits))
            # The row's own automaton also has the patterns that split commands before any rule.
            states.append(Automaton([each.tokens for each in view.patterns[:end]]).start)
        self._made: dict[object, _ListedText] = {}
        self.start = self.of(states)

    def of(self, states: Sequence[AutomatonState]) -> _ListedText:
        """Return the text that leaves the lists in these *states*."""
        key = tuple([state.key for state in states])
        found = self._made.get(key)
        return found or self._made.setdefault(key, _ListedText(self, states))

    def changes(self, most: Sequence[Effect]) -> frozenset[Effects]:
        """Return the changes that are possible where each list grants at most its effect of *most*.

        Where no line allows this text, a line may still ask for the command by another text.
        """
        if not self._strict:
            most = [max(each, Effect.ASK) for each in most]
        was, now = self._sides.granted(most)
        return frozenset(each for each in CHANGES if each[0] <= was and each[1] <= now)


class _ListedText:
    """One of *texts*, with the state in which it leaves the automaton of each list."""

    def __init__(self, texts: Texts, states: Sequence[AutomatonState]) -> None:
        self._texts = texts
        self._states = states
        self._after: dict[str, _ListedText] = {}

    def after(self, letters: str) -> _ListedText:
        """Return this text with some letters added."""
        found = self._after.get(letters)
        if found is None:
            states = self._states
            for letter in letters:
                states = [state.after(letter) for state in states]
            found = self._after[letters] = self._texts.of(states)
        return found

    @cached_property
    def letters(self) -> frozenset[str]:
        """The characters that some line names as the next one."""
        return frozenset[str]().union(*(state.letters() for state in self._states))

    @cached_property
    def ranks(self) -> tuple[int, ...]:
        """The rank of the effect that each list gives this text."""
        lists = zip(self._texts.lists, self._states, strict=True)
        return tuple(_RANK[each.effect(state.first)] for each, state in lists)

    @cached_property
    def matched(self) -> tuple[bool, ...]:
        """Whether a line matches this text, for each list."""
        return tuple(state.first != NO_MATCH for state in self._states)

    @cached_property
    def changes(self) -> frozenset[Effects]:
        """The possible changes of commands that rules match by a text that begins with this one."""
        lists = zip(self._texts.lists, self._states, strict=True)
        return self._texts.changes([max(map(each.effect, s.possible)) for each, s in lists])

    @cached_property
    def may_restrict(self) -> bool:
        """Whether any list may deny or ask for a text that begins with this one."""
        lists = zip(self._texts.lists, self._states, strict=True)
        return any(each.effect(n) is not Effect.ALLOW for each, s in lists for n in s.possible)

    @cached_property
    def differs(self) -> bool:
        """Whether a changed line may decide a text that begins with this one."""
        lists = zip(self._texts.lists, self._states, strict=True)
        return any(not each.edits.isdisjoint(state.possible) for each, state in lists)


# The words of a command that lines distinguish: leading words, and letters of a program.


# Leading words of each kind: wrappers that allow rules unwrap or not, with no, one or two words
# before the command, in a folder, their options, and operands that a wrapper does not take.
_LEADING: Final = (
    *("nohup", "timeout", "sudo", "flock", "nice", "stdbuf", "time", "!", "./sudo", "Q/timeout"),
    *("Q=7", "7", "-u", "-k", "-n", "-oL", "--", "--Q=7"),
)

# An option that no wrapper is known to take.
_UNKNOWN: Final = "-Q"

# What options and operands of wrappers begin with, where not every word is one.
_FIRST: Final = "-.,:0123456789abcdef"


# A word that no wrapper takes for an option or an operand, unless it takes any.
_ANY_WORD: Final = Word("q7z", "q7z")

# How many words are tried that begin as in one line and end as in another.
_JOINED: Final = 64


@frozen
class _Step:
    """A leading word at some place: a wrapper, what a wrapper takes, or an assignment."""

    word: str
    begins: tuple[str, ...]  # the program's names, where a strict rule matches a command from here
    sure: bool  # a command surely starts here
    grants: bool  # a rule that allows matches a command from here on
    refused: bool  # no rule may allow that command
    place: WordPlace  # what is known of the next word


@lru_cache(maxsize=20_000)
def _step(place: WordPlace, text: str, shell: Shell) -> _Step | None:
    """Return the step that a word is at *place*; None if it is no leading word there."""
    word = Word(text, text)
    behind = place.after(word, shell)
    if not behind.leads:
        return None
    begins = tuple(dict.fromkeys((text, text.rpartition("/")[2]))) if place.begins(word) else ()
    refused = text in KEYWORDS or is_assignment(word)
    return _Step(text, begins, place.sure, place.grants(word), refused, behind)


class Names:
    """The wrappers and keywords of a shell, which stand before another command.

    Args:
        shell: how commands are read.

    Attributes:
        known: the names of the wrappers, and the keywords.

    """

    def __init__(self, shell: Shell) -> None:
        self._shell = shell
        self.known = shell.wrapping.names | KEYWORDS

    def steps(self, place: WordPlace, words: tuple[str, ...]) -> list[_Step]:
        """Return the steps of those *words* that may lead a command at *place*.

        An option that no wrapper is known to take counts only where lines distinguish such options.
        """
        tries_unknown = _UNKNOWN in words
        found = (_step(place, text, self._shell) for text in words)
        return [step for step in found if step is not None and (tries_unknown or step.place.sure)]

    def beginning(self, place: WordPlace) -> _Spelling | None:
        """Return how a program's name begins at *place*.

        None where a wrapper takes any word there.
        """
        if place.after(_ANY_WORD, self._shell).leads:
            return None
        letters = (Word(letter, letter) for letter in _FIRST)
        starts = (each.value for each in letters if place.after(each, self._shell).leads)
        return _Spelling(operand_starts=frozenset(starts))

    def leading(self, patterns: Collection[Pattern], fresh: str) -> Iterator[str]:
        """Yield the leading words that lines with these patterns distinguish.

        Args:
            patterns: of the lines.
            fresh: a character that none of them names.

        """
        pieces = {piece for each in patterns for piece in _pieces(each)}
        words: dict[str, None] = dict.fromkeys((*_LEADING, fresh))
        if any(self._tells_unknown(each) for each in patterns):
            words[_UNKNOWN] = None
        letters = {text.rpartition("/")[2] for text, *_ in pieces} - {""}
        names = [name for name in sorted(self.known) if any(each in name for each in letters)]
        words |= dict.fromkeys(names)
        starts, ends = [""], [""]
        for text, before, behind in pieces:
            words[text] = None
            if behind:
                starts.append(f"{fresh}{text}" if before else text)
            if before:
                ends.append(f"{text}{fresh}" if behind else text)
        ways = (fresh, "=7", "/sudo", "/timeout", *(f"/{name}" for name in names))
        for start in starts[1:]:
            folder, slash, _ = start.rpartition("/")
            words |= dict.fromkeys(f"{start}{way}" for way in ways)
            words |= dict.fromkeys(f"{folder}/{name}" for name in names if slash)
        words |= dict.fromkeys(f"{way}{end}" for end in ends[1:] for way in (fresh, "Q=7"))
        if len(starts) * len(ends) <= _JOINED:
            both = product(starts[1:], (fresh, "=7"), ends[1:])
            words |= dict.fromkeys(map("".join, both))
        yield from (word for word in words if ACTED_ON.isdisjoint(word) and word[0] != "=")

    def _tells_unknown(self, pattern: Pattern) -> bool:
        """Whether *pattern* distinguishes options that a wrapper is not known to take."""
        place: WordPlace | None = WordPlace()
        sets = False
        for text, before, behind in _pieces(pattern):
            # Behind an assignment, options of a wrapper before it may follow.
            if before or behind or place is None or (sets and text.startswith("-")):
                place = None
                if text.startswith("-") or (before and "-" in text):
                    return True
                continue
            place = place.after(Word(text, text), self._shell)
            if not place.leads:
                return False
            if not place.sure:
                return True
            sets = ASSIGNMENT.match(text) is not None
        return False


# A piece of a pattern between blanks, and whether a gap stands before and behind it.
_Piece = tuple[str, bool, bool]


def _pieces(pattern: Pattern) -> Iterator[_Piece]:
    last = len(pattern.tokens) - 1
    for number, token in enumerate(pattern.tokens):
        if not isinstance(token, str):
            continue
        pieces = token.split(" ")
        for at, piece in enumerate(pieces):
            before = at == 0 and number > 0
            behind = at == len(pieces) - 1 and number < last
            if piece:
                yield piece, before, behind


_LETTERS: Final = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_")


@frozen(cache_hash=True)
class _Spelling:
    """The letters typed so far of the name of a program that is no wrapper."""

    typed: str | None = ""  # those after the last slash; None once no wrapper's name begins so
    slashed: bool = False  # the name has a slash
    named: bool = True  # the letters so far may name a variable
    # The letters that an operand of the wrapper may begin with; only before the first letter.
    operand_starts: frozenset[str] = frozenset()

    def after(self, letter: str, names: Names) -> _Spelling | None:
        """Return the spelling with one more letter; None if no program's name goes on with it."""
        if (letter == "=" and self.named) or letter in self.operand_starts:
            return None
        typed = "" if letter == "/" else None if self.typed is None else self.typed + letter
        if typed is not None and not any(name.startswith(typed) for name in names.known):
            typed = None
        is_part = letter in _LETTERS or (self.typed != "" and letter in "0123456789+")
        return _Spelling(typed, self.slashed or letter == "/", self.named and is_part)


# The search itself.


_MOST: Final = len(_BY_RANK) - 1
_ASKED: Final = frozenset(each for each in CHANGES if Effect.ALLOW not in each)


@frozen(cache_hash=True)
class _At:
    """The state of a command that the search has written so far."""

    granted: _ListedText  # the text that rules which allow match
    known: frozenset[_ListedText]  # the texts that strict rules match
    ambiguous: frozenset[_ListedText] = frozenset()  # the texts that strict rules may match
    refused: bool = False  # no rule may allow the command
    parted: bool = True  # a word must follow
    program: _Spelling | None = None  # the program's letters, while it is the last word
    named: _ListedText | None = None  # the text from the program's name on, without its folder
    sure: bool = True  # strict rules surely match *named*

    @property
    def strict(self) -> Iterator[_ListedText]:
        """All texts that strict rules may match."""
        return chain(*self.texts)

    @property
    def texts(self) -> tuple[frozenset[_ListedText], frozenset[_ListedText]]:
        """The texts that strict rules match, and the texts that they may match."""
        if self.named is None:
            return self.known, self.ambiguous
        if self.sure:
            return self.known | {self.named}, self.ambiguous
        return self.known, self.ambiguous | {self.named}


@define
class Steps:
    """How many words and letters searches may still try, in one comparison or a whole lint."""

    left: int = 1_000_000


class SimpleSearch:
    """A search for a simple command that changes in a wanted way from one side to the other.

    Args:
        lists: both sides.
        shell: how commands are read.
        unsure: the effect of a call that no rule can allow.
        allowed: how many steps all searches may take.

    """

    def __init__(self, lists: Sides, shell: Shell, unsure: Effect, allowed: Steps) -> None:
        self._lists = lists
        self._unsure = unsure
        self._allowed = allowed
        self._granted = Texts(lists, strict=False).start
        self._known = Texts(lists, strict=True).start
        self._names = Names(shell)
        self._words = tuple(self._names.leading(lists.patterns, lists.fresh))
        # The search meets few states, and makes each once.
        self._made: dict[_At, _At] = {}
        self._steps: dict[object, tuple[_At, _At]] = {}

    def search(self, wanted: Collection[Effects]) -> SearchResult:
        """Return a command with one of the *wanted* changes, or that there is none.

        Args:
            wanted: the changes.

        """
        first = self._one(_At(self._granted, _still_open([self._known])))
        places: deque[tuple[str, WordPlace, _At]] = deque([("", WordPlace(), first)])
        tried, ends = set[object](), set[_At]()
        programs: dict[_At, str] = {}
        while places:
            text, place, at = places.popleft()
            program = self._begun(place, at)
            if program is not None:
                programs.setdefault(program, text)
            steps = self._names.steps(place, self._words)
            self._allowed.left -= len(steps)
            if self._allowed.left < 0:
                return SearchResult(None, exact=False)
            for step in steps:
                end, behind = self._behind(at, step)
                if end not in ends:
                    ends.add(end)
                    if self._effects(end) in wanted:
                        return SearchResult(text + step.word)
                following = step.place, behind
                if following in tried:
                    continue
                tried.add(following)
                # What may follow these words, by any text that begins there.
                grants = step.place.granting is not None
                granted = [behind.granted, *[self._granted] * grants]
                begun = evolve(behind, refused=False) if grants else behind
                if not self._may_show(begun, wanted, granted, [self._known]):
                    continue
                places.append((f"{text}{step.word} ", *following))
        return self._spelled(programs, wanted)

    def _spelled(self, programs: Mapping[_At, str], wanted: Collection[Effects]) -> SearchResult:
        """Return a command with a *wanted* change that goes on from one of *programs*."""
        tried = set(programs)
        queue = deque((text, at) for at, text in programs.items())
        while queue:
            text, at = queue.popleft()
            program = at.program
            # Keywords are tried as leading words.
            is_keyword = program is not None and not program.slashed and program.typed in KEYWORDS
            if not (at.parted or is_keyword) and self._effects(at) in wanted:
                return SearchResult(text)
            letters = sorted(self._letters(at))
            self._allowed.left -= len(letters)
            if self._allowed.left < 0:
                return SearchResult(None, exact=False)
            for letter in letters:
                following = self._after(at, letter)
                if following is None or following in tried:
                    continue
                tried.add(following)
                if not self._may_show(following, wanted, [following.granted]):
                    continue
                queue.append((text + letter, following))
        return SearchResult(None)

    def _one(self, at: _At) -> _At:
        return self._made.setdefault(at, at)

    def _behind(self, at: _At, step: _Step) -> tuple[_At, _At]:
        """Return the state after one more leading word, and the state after a blank behind it."""
        key = at, step.word, step.begins, step.sure, step.grants
        found = self._steps.get(key)
        if found is None:
            granted, refused = at.granted, at.refused
            known, ambiguous = ([text.after(step.word) for text in each] for each in at.texts)
            (known if step.sure else ambiguous).extend(map(self._known.after, step.begins))
            if step.grants:
                granted, refused = self._granted, step.refused
            granted = granted.after(step.word)
            end = self._one(_At(granted, _still_open(known), _still_open(ambiguous), refused))
            found = self._steps[key] = end, self._one(self._parted(end))
        return found

    def _begun(self, place: WordPlace, at: _At) -> _At | None:
        """Return the state in which a program begins at *place*; None if none may begin there."""
        spelling = self._names.beginning(place)
        if spelling is None:
            return None
        granted, refused = at.granted, at.refused
        if place.grants(_ANY_WORD):
            granted, refused = self._granted, False
        found = _At(granted, at.known, at.ambiguous, refused, program=spelling)
        if place.sure:
            return self._one(evolve(found, known=at.known | {self._known}))
        return self._one(evolve(found, ambiguous=at.ambiguous | {self._known}, sure=False))

    def _after(self, at: _At, letter: str) -> _At | None:
        """Return the state after one more letter; None if the command cannot go on with it."""
        program, named = at.program, at.named
        if letter == " ":
            leads = program is not None and program.typed in self._names.known
            return None if at.parted or leads else self._parted(at)
        if program is not None:
            program = program.after(letter, self._names)
            if program is None:
                return None
            named = self._known if letter == "/" else named and named.after(letter)
        return evolve(
            at,
            granted=at.granted.after(letter),
            known=_still_open(each.after(letter) for each in at.known),
            ambiguous=_still_open(each.after(letter) for each in at.ambiguous),
            parted=False,
            program=program,
            named=named,
        )

    def _parted(self, at: _At) -> _At:
        """Return the state after a blank behind a word."""
        known, ambiguous = (_still_open(text.after(" ") for text in each) for each in at.texts)
        return _At(at.granted.after(" "), known, ambiguous, at.refused)

    def _effects(self, at: _At) -> Effects:
        """Return the effects that both sides give a command that ends in this state."""
        known, ambiguous = ([text.ranks for text in each] for each in at.texts)
        effects = []
        for number, (rank, matched) in enumerate(
            zip(at.granted.ranks, at.granted.matched, strict=True)
        ):
            strictest = min([each[number] for each in known], default=_MOST)
            if matched or strictest == _MOST:
                strictest = min(strictest, rank)
            is_unsure = at.refused and strictest == _MOST
            effect = self._unsure if is_unsure else _BY_RANK[strictest]
            # What is asked for there and granted by nothing else is not asked for.
            effects.append(min([effect, *(_BY_RANK[each[number]] for each in ambiguous)]))
        return self._lists.granted(effects)

    def _may_show(
        self,
        at: _At,
        wanted: Collection[Effects],
        granted: Sequence[_ListedText],
        more: Sequence[_ListedText] = (),
    ) -> bool:
        """Return whether a command that goes on from this state may show a *wanted* change.

        Args:
            at: the state of the command.
            wanted: the changes.
            granted: the texts, of which rules that allow match one.
            more: texts that may begin in this state.

        """
        left = _ASKED.intersection(wanted) if at.refused else frozenset(wanted)
        left &= frozenset[Effects]().union(*(text.changes for text in granted))
        left = left.intersection(*(text.changes for text in at.strict))
        return bool(left) and any(text.differs for text in chain(at.strict, granted, more))

    def _letters(self, at: _At) -> set[str]:
        lists = self._lists
        named = set[str]().union(at.granted.letters, *(text.letters for text in at.strict))
        return (named | {lists.fresh, " ", "/"} | lists.extra) - ACTED_ON


def _still_open(texts: Iterable[_ListedText]) -> frozenset[_ListedText]:
    """Return the texts that a line may still deny or ask for."""
    return frozenset([text for text in texts if text.may_restrict])


def simple_differences(
    pair: CommandPair, wanted: Iterable[Effects], allowed: Steps
) -> Generator[Difference, None, set[Effects]]:
    """Yield a difference for each *wanted* change that has one; return the undecided changes.

    All stay undecided where a host knows more of commands than the names of wrappers.

    Args:
        pair: the calls of the tool that runs commands, its lines compared.
        wanted: changes that no command shows so far.
        allowed: how many steps searches may still take.

    """
    left = {*wanted}
    rows = [row for lookup in pair.lookups for row, _ in lookup.rows]
    asks = {row.ruleset.dialect.asks for row in rows}
    shells = {row.ruleset.dialect.shell for row in rows}
    decides_more = any(row.has_parameters for row in rows) or any(
        shell.reader or shell.whole or not shell.wrapping.names for shell in shells
    )
    if not left or len(asks) != 1 or decides_more:
        return left
    unsure = Effect.ASK if True in asks else Effect.DENY
    search = SimpleSearch(pair, pair.shell, unsure, allowed)
    while left:
        found = search.search(stronger(left))
        if found.text is None:
            return left if not found.exact else set()
        difference = pair.asked(found.text.replace(pair.fresh, "q7z"))
        if difference.effects not in stronger(left):
            break
        yield difference
        left -= weakened([difference.effects])
    return left
