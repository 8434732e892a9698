"""Decides a command as Claude Code does: its parts, its files, and all of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache, lru_cache
from itertools import chain, product

from policy.commands.reader import Command, CommandPart, Redirection, in_home
from policy.commands.words import basename
from policy.core import expressions as re
from policy.core import limits
from policy.core.decision import Reason
from policy.core.effect import Effect
from policy.core.values import TYPE_CHECKING, Final, evolve, frozen
from policy.hosts.claude.shell.match_texts import (
    MORE,
    ClaudeCommand,
    ClaudePart,
    ClaudeRedirection,
    ExactCommand,
    ExactMatch,
)
from policy.patterns.automaton import NO_MATCH
from policy.patterns.pattern import Pattern
from policy.patterns.tokens import Gap, OneOf, folded
from policy.tables.calls import (
    Unreadable,
    canonical_path,
    case_variant,
    rooted_path,
)
from policy.tables.command_row import PARTING, PartRules, may_join
from policy.tables.entry import (
    BY_DEFAULT,
    HARMLESS,
    Form,
    Outcome,
    doubted,
    guarded,
    strictness,
    unsure,
)
from policy.tables.file_row import (
    file_outcome,
    led_outcome,
    links_of_processes,
    named_outcome,
)

if TYPE_CHECKING:
    from policy.tables.dialect import Dialect
    from policy.tables.entry import RowEntry
    from policy.tables.row import Row

__all__ = ["CommandRules"]


class CommandRules(PartRules):
    """Decides a command: parts and files, exact rules for all of it, background commands."""

    def whole_outcomes(self, row: Row, command: Command, parts: Sequence[Outcome]) -> list[Outcome]:
        """Return the outcomes that count of a command whose parts have the outcomes *parts*."""
        files = [*self.opened(row, command, parts)]
        return [*with_whole(row, command, parts, files), *_denied_behind(row, command)]

    def unawaited(self, row: Row, command: Command) -> Iterator[Outcome]:
        """Yield what a background command gets, if that is a reason of its own.

        The host asks for one that it would allow without the rule for every command, and runs any
        other by that rule. What it would do with pipes and unchecked arguments is not modelled:
        they are asked for.
        """
        waited = command.foreground if isinstance(command, ClaudeCommand) else None
        beside = row.beside if waited else None
        if beside is None or waited is None:
            return
        doubted = waited.opaque or waited.ambiguities or (waited.exact and waited.exact.piped)
        if doubted or self.command_outcome(beside, waited).effect is Effect.ALLOW:
            yield unsure(row.ruleset)

    def own_outcome(self, row: Row, part: CommandPart, limit: int) -> Outcome:
        """Return what *row* says of a part, but for its possible texts."""
        first = min(_granting(row, part), limit)
        # A rule that knows the command under any of its match_texts holds. Of several it
        # is the first, since the rules are ranked.
        known = [index for reading in part.match_texts if (index := row.first(reading)) != NO_MATCH]
        known = [index for index in known if row.at(index).effect is not Effect.ALLOW]
        granted = row.at(first)
        if known:
            if first != NO_MATCH and granted.effect is not Effect.ALLOW:
                known.append(first)
            granted = row.at(min(known))
        is_fed = isinstance(part, ClaudePart) and part.fed
        if part.grant_texts and granted.reason in BY_DEFAULT:
            for text in part.grant_texts:
                written = row.first(text + MORE if is_fed else text)
                if written != NO_MATCH and row.at(written).effect is Effect.ALLOW:
                    if _is_granted_of_command(row, written, text):
                        granted = row.at(written)
                    break
        for reading in part.script_texts:
            index = row.first(reading)
            if index != NO_MATCH and row.at(index).effect is Effect.DENY:
                granted = min(granted, doubted(row.ruleset), key=strictness)
        if granted.effect is Effect.ALLOW and limit == NO_MATCH and _is_idle(row, part.text):
            granted = row.default
        is_default = granted is row.default
        if part.harmless and is_default and granted.effect is not Effect.ALLOW:
            is_blind = isinstance(part, ClaudePart) and part.blind
            if is_blind and denies_files(row, row.ruleset.dialect.shell.files.reads):
                return granted
            return HARMLESS if row.default.reason in BY_DEFAULT else granted
        if granted.effect is Effect.ALLOW and not part.grantable:
            return (
                granted if is_default and row.ruleset.dialect.shell.whole else unsure(row.ruleset)
            )
        return granted

    def opened(
        self, row: Row, command: Command, outcomes: Sequence[Outcome]
    ) -> Iterator[tuple[Redirection, Outcome]]:
        """Yield the files that a command opens, and what counts of what *row* says of each.

        Args:
            row: the row of the tool that runs it.
            command: its redirections.
            outcomes: what the row says of the rest of it.

        """
        is_whole = (
            row.ruleset.dialect.shell.whole
            and row.default.effect is Effect.ALLOW
            and all(outcome is row.default for outcome in outcomes)
        )
        for redirection in command.redirections:
            outcome = self.file_outcome(row, redirection)
            if ClaudeRedirection.of(redirection).scripted or not (
                is_whole and outcome.reason in BY_DEFAULT
            ):
                yield redirection, outcome

    def file_outcome(self, row: Row, redirection: Redirection) -> Outcome:
        """Return what *row*, of the tool that runs a command, says of a file that this opens."""
        file = ClaudeRedirection.of(redirection)
        rules = row.ruleset
        if file.scripted:
            return self._if_denied(row, file)
        shell = rules.dialect.shell
        tool = file.tool or (shell.files.output if file.writes else shell.files.input)
        if not tool:
            return HARMLESS
        files = row.opening(tool)
        if files.constant is not None and not shell.whole:
            return files.constant
        if file.shadowed and not denies_files(row, tool):
            return HARMLESS
        if file.guarded:
            return guarded(rules)
        if file.shadowed:
            return unsure(rules)
        if file.adrift and file.target is not None:
            return _adrift(files, file.target)
        if file.target is None:
            # Whichever file it is, what denies every file denies it.
            constant = files.constant
            return constant if constant and constant.effect is Effect.DENY else unsure(rules)
        if files.constant is not None:
            return files.constant
        if file.deep:
            return _kept_below(files, file.target)
        target = in_home(file.target, rules.dialect.home)
        return _named_outcome(files, target)

    def is_hidden(self, file: Redirection) -> bool:
        """Return whether a file has no name that an account could give."""
        return ClaudeRedirection.of(file).guarded

    def _if_denied(self, row: Row, redirection: ClaudeRedirection) -> Outcome:
        """Return what a file gets of which only a rule that denies it counts."""
        found = self.file_outcome(row, evolve(redirection, scripted=False))
        if found.effect is not Effect.DENY or found.reason is not Reason.RULE:
            return HARMLESS
        return doubted(row.ruleset)


# How the entries of a row apply to a command as a whole.


@frozen
class ExactRules:
    """How the entries of a row apply to a command as a whole.

    Attributes:
        exact: the texts that entries spell out, and the index of the first that does.
        withheld: those of them that a rule denies or asks for.
        joining: the indices of such rules that may match several commands, and no first of them;
            those that spell them out come last.
        joined: whether one of them has a star.

    """

    exact: Mapping[str, int]
    withheld: frozenset[str]
    joining: tuple[int, ...]
    joined: bool

    @classmethod
    def of(cls, entries: Sequence[RowEntry], indices: Sequence[int]) -> ExactRules:
        """Return how *entries* do; those of *indices* look at the command itself."""
        exact: dict[str, int] = {}
        for index in indices:
            pattern, form = entries[index].pattern, entries[index].form
            if pattern is not None and pattern.exact and form is not Form.BARE:
                exact.setdefault(str(pattern), index)
        withheld = {text: index for text, index in exact.items() if _withholds(entries[index])}
        starred = [
            index
            for index, entry in enumerate(entries)
            if _withholds(entry) and entry.pattern is not None and may_join(entry.pattern)
        ]
        spelled = (index for text, index in withheld.items() if not PARTING.isdisjoint(text))
        return cls(exact, frozenset(withheld), (*starred, *spelled), bool(starred))


def exact_rules(row: Row) -> ExactRules:
    """Return how the entries of *row* apply to a command as a whole."""
    found = row.memory.get("exact rules")
    if not isinstance(found, ExactRules):
        found = row.memory["exact rules"] = ExactRules.of(row.entries, row.indices)
    return found


def _withholds(entry: RowEntry) -> bool:
    """Return whether a rule denies or asks; what a host does by itself is no rule."""
    return entry.effect is not Effect.ALLOW and entry.reason not in BY_DEFAULT


# Whether a pattern that allows a command ends at the end of a word of it.

_PLAIN: Final = re.compile(r"[\w.+\-:@%,~/]*")
_ODD: Final = re.compile(r"[$`\x1f]|(?:\A|[\\/])\.\\?[.?*\[]")
_QUOTES: Final = re.compile(r"['\"]")
# A file by its path, or quoted from its first letter on, is none that a name goes on to.
_SPELLED: Final = re.compile(r"['\"]|(?!\d+<)[\w.+\-:@%,~]*[</]")
_ASSIGNING: Final = frozenset({"env", "sudo"})


def is_completed(pattern: Pattern, text: str) -> bool:
    """Return whether *pattern*, which allows and matches *text*, is completed plainly there."""
    literal = pattern.tokens[0] if len(pattern.tokens) > 1 else ""
    if not isinstance(literal, str) or literal[-1:] in ("", " ") or not text.startswith(literal):
        return True
    begun, rest = literal.rpartition(" ")[2], text[len(literal) :].partition(" ")[0]
    if "=" in begun:
        return True
    if _ODD.search(_QUOTES.sub("", begun.rpartition("/")[2] + rest)) is not None:
        return False
    if _PLAIN.fullmatch(rest):
        return True
    assigns = any(basename(word) in _ASSIGNING for word in literal.split()[:-1])
    return not assigns and _SPELLED.match(begun + rest) is not None


# Rules that spell out a compound command: `Bash(make && npm test)`.
#
# An exact rule, or a prefix that is all of the text, allows a command that was read, unless one
# part alone is not allowed and something asks for that. Only an exact rule allows an ambiguous
# command. No rule allows a command with pipes as a whole, and a rule with a star denies one only
# where not all of it is allowed. A rule with a star denies another compound command where it is
# ambiguous, opens a file, or has a part that only a rule or a mode for every command allows. Rules
# that deny or ask match several commands between two pipes as they match all of a command.


def with_whole(
    row: Row,
    command: Command,
    parts: Sequence[Outcome],
    files: Sequence[tuple[Redirection, Outcome]],
) -> list[Outcome]:
    """Return the outcomes of which the strictest is what *row* says of a command.

    Args:
        row: of the tool that runs it.
        command: what it was read as.
        parts: what the row says of each of its simple commands.
        files: what it opens, and what is said of that.

    """
    opened = [outcome for _, outcome in files]
    found = [*parts, *opened]
    whole = command.exact if isinstance(command, ClaudeCommand) else None
    if whole is None:
        return found
    rules, piped = exact_rules(row), whole.piped
    if rules.joining and piped:
        found += _joined(row, whole, starred=not _is_granted(row, command, parts, opened))
    texts, bare = _texts(rules, whole, piped=piped)
    for text in texts:
        index, spelled = row.first(text), rules.exact.get(text, NO_MATCH)
        if index == NO_MATCH:
            continue
        outcome = row.at(index)
        if outcome.effect is not Effect.ALLOW and outcome.reason not in BY_DEFAULT:
            counts = outcome.effect is Effect.DENY or command.opaque
            if piped:
                starred = not _is_granted(row, command, parts, opened)
            else:  # to one with a star what is redirected is no part of it
                starred = (text is bare or not bare) and (
                    whole.doubtful
                    or bool(command.redirections)
                    or not _is_granted(row, command, parts, opened)
                )
            if (counts and index == spelled) or starred:
                found.append(outcome)
        elif text is bare:
            continue  # it allows nothing
        elif spelled != NO_MATCH and _is_allowed(
            row.entries[spelled].form, whole.spelled, command, parts, files
        ):
            forbidden = [each for each in opened if not _is_open(each)]
            is_verbatim = whole.spelled is ExactMatch.VERBATIM
            return [row.at(spelled), *(opened if is_verbatim else forbidden)]
    return found


def _denied_behind(row: Row, command: Command) -> Iterator[Outcome]:
    """Yield what rules say that deny all of a command behind assignments and wrappers.

    `Bash(id > x)` denies `A=1 id > x` and `nice id > x`. A rule with a star does where the command
    is ambiguous.
    """
    rules, whole = exact_rules(row), command.exact if isinstance(command, ClaudeCommand) else None
    if not (whole and command.parts and (rules.withheld or command.opaque)):
        return
    begins = [command.parts[0], *(part for part in command.parts[1:] if not part.text)]
    behind = [(each.text, *each.match_texts, *each.possible_texts) for each in begins]
    for text, known in product(whole.texts, filter(None, chain.from_iterable(behind))):
        at = text.find(known)
        rest = text[at:] if at > 0 else ""
        index = rules.exact[rest] if rest in rules.withheld else NO_MATCH
        if rest and command.opaque:
            index = min(index, row.first(rest))
        if index != NO_MATCH and row.at(index).effect is Effect.DENY:
            yield row.at(index)


def _texts(rules: ExactRules, whole: ExactCommand, *, piped: bool) -> tuple[Sequence[str], str]:
    """Return the texts of a command by which a rule may match all of it.

    And its bare one, which is the last of them where it is another.
    """
    # One with a star may.
    joined = (whole.several or whole.doubtful) and rules.joined
    if not (piped or joined):
        texts = [text for text in whole.texts if text in rules.exact]
        bare = whole.bare if texts or rules.withheld else ""
        return (*texts, *[bare] * (bare in rules.withheld)), bare
    bare = whole.bare
    return (*whole.texts, bare) if bare else whole.texts, bare


def _joined(row: Row, whole: ExactCommand, *, starred: bool) -> Iterator[Outcome]:
    """Yield what rules say of several commands between pipes, or beside one.

    Rules with a star count where *starred* says so.
    """
    rules = [(index, row.entries[index].pattern) for index in exact_rules(row).joining]
    for text, (index, pattern) in product(whole.stages, rules):
        if pattern is not None and (starred or pattern.exact) and pattern.matches(text):
            yield row.at(index)


def _is_granted(
    row: Row, command: Command, parts: Sequence[Outcome], opened: Sequence[Outcome]
) -> bool:
    """Return whether all of a command is allowed, and by more than what all commands may do."""
    return all(one.effect is Effect.ALLOW for one in (*parts, *opened)) and all(
        one is not row.default or part.harmless
        for part, one in zip(command.parts, parts, strict=False)
    )


def _is_open(outcome: Outcome) -> bool:
    """Return whether no rule stops what gets *outcome*."""
    return outcome.effect is Effect.ALLOW or outcome.reason in BY_DEFAULT


def _is_allowed(
    form: Form,
    spelled: ExactMatch,
    command: Command,
    parts: Sequence[Outcome],
    files: Sequence[tuple[Redirection, Outcome]],
) -> bool:
    """Return whether a rule of a *form* allows a command whose parts, and *files*, get these."""
    if spelled is ExactMatch.APART:
        return False
    asked = [one for one in parts if not _is_open(one)]
    if spelled is ExactMatch.VERBATIM and (asked or form is not Form.PLAIN):
        return False
    stopped = {
        number
        for number, (part, one) in enumerate(zip(command.parts, parts, strict=False))
        if part.text and one.effect is not Effect.ALLOW
    }
    opened = [
        file
        for file, one in ((ClaudeRedirection.of(file), one) for file, one in files)
        if one.effect is not Effect.ALLOW or (file.writes and file.part in stopped)
    ]
    stopped |= {file.part for file in opened if file.part is not None}
    if any(one.effect is not Effect.ASK for one in asked):
        return False
    if form is Form.PREFIX and any(not file.tool for file in opened):
        return False
    return len(stopped) > 1 or not (asked or opened)


def _named_outcome(files: Row, name: str) -> Outcome:
    """Return what is said of a file, and of the one where ``..`` leads, too."""
    path, found = named_outcome(files, name)
    if path is None or ".." not in name:
        return found
    try:
        walked = _walked_path(name, files.ruleset.dialect)
    except Unreadable:
        return unsure(files.ruleset)
    if walked == path:
        return found
    others = file_outcome(files, walked, walked), led_outcome(files, path, walked)
    return min(found, *others, key=strictness)


def _walked_path(name: str, dialect: Dialect) -> str:
    """Return the canonical path of a file as a system finds it: ``..`` is what a link led into.

    Raises:
        Unreadable: links lead in a circle.

    """
    links = dict(dialect.links)
    if dialect.processes:
        links |= {**_links_of_system(), **dict(links_of_processes(dialect))}
    rooted = rooted_path(name, dialect)
    rest = (folded(rooted) if dialect.fold else rooted).split("/")[::-1]
    path, followed = "", 0
    while rest:
        segment = rest.pop()
        if segment == "..":
            path = path.rpartition("/")[0]
        elif segment not in ("", "."):
            path = f"{path}/{segment}"
            if (target := links.get(path)) is not None:
                followed += 1
                if followed > limits.LINKS:
                    raise Unreadable
                rest += target.split("/")[::-1]
                path = ""
    return path


@cache
def _links_of_system() -> dict[str, str]:
    # What a thread has of its own is what its process has.
    own = {f"/proc/{name}": f"/proc/self/{name}" for name in ("mounts", "net")}
    return {"/dev/fd": "/proc/self/fd", "/proc/thread-self": "/proc/self/task/self", **own}


def _kept_below(files: Row, name: str) -> Outcome:
    """Return what is said of the host's own files in a folder that is moved or removed."""
    dialect = files.ruleset.dialect
    try:
        path = canonical_path(name, dialect)
        kept = [(canonical_path(f, dialect), case_variant(f, dialect)) for f in dialect.shell.kept]
    except Unreadable:
        return unsure(files.ruleset)
    found = [
        file_outcome(files, *paths) for paths in kept if (paths[0] + "/").startswith(path + "/")
    ]
    return min(found, key=strictness, default=HARMLESS)


def denies_files(row: Row, tool: str) -> bool:
    """Return whether a rule denies some file, or every one, as a call of *tool*."""
    shadows = row.ruleset.dialect.shell.files.shadows
    any_file = row.ruleset.row(shadows) if shadows else row
    entries = row.ruleset.row(tool).entries + (any_file.entries if shadows else ())
    said = {(entry.effect, entry.reason) for entry in entries}
    said.add((any_file.default.effect, any_file.default.reason))
    return (Effect.DENY, Reason.RULE) in said


def _adrift(files: Row, name: str) -> Outcome:
    """Return what a rule says that denies a file of this name in a folder that it names."""
    name = _UP.sub("", name)
    for entry in files.entries:
        if entry.effect is not Effect.DENY or entry.pattern is None or name in _HERE:
            continue
        for folder in _folders(entry.pattern, deep=entry.form is Form.WITHIN):
            try:
                path = canonical_path(f"{folder}/{name}", files.ruleset.dialect)
            except Unreadable:
                continue
            index = files.first(path)
            found = files.default if index == NO_MATCH else files.at(index)
            if found.effect is Effect.DENY and found.reason is Reason.RULE:
                return found
    return HARMLESS


_HERE: Final = frozenset({"", ".", ".."})
_UP: Final = re.compile(r"(?:\.{0,2}/)*")


@lru_cache(maxsize=256)
def _folders(pattern: Pattern, *, deep: bool) -> tuple[str, ...]:
    """Return the folders that a rule about paths names on the way to what it matches.

    One that is *deep* matches what is in the last of them.
    """
    found: list[str] = []
    for each in pattern.spelled_out:
        text = ""
        for token in each.tokens:
            if isinstance(token, str):
                text += token
            elif isinstance(token, OneOf):
                text += "q" if token.negated else min(token.characters)
            elif token is not Gap.DEEP:
                text += "q7z"
        text += "/" * deep
        names = text.split("/")
        found += ("/".join(names[:number]) for number in range(1, len(names)))
    return tuple(found)


def _is_idle(row: Row, text: str) -> bool:
    """Return whether rules that allow a text say nothing, since the host allows every command.

    A sandbox runs what no rule denies or asks for, and consults none that allows: with such a
    rule less would run.
    """
    allows = row.default.effect is Effect.ALLOW and row.default.reason in BY_DEFAULT
    return allows and row.ruleset.dialect.shell.whole and not _is_kept(row, text)


def _is_kept(row: Row, text: str) -> bool:
    """Return whether an entry behind the first that allows matches, and does not allow."""
    kept = row.memory.get("kept")
    if not isinstance(kept, tuple):
        first = next((n for n, e in enumerate(row.entries) if e.effect is Effect.ALLOW), None)
        kept = row.memory["kept"] = tuple(
            entry.pattern
            for entry in (() if first is None else row.entries[first:])
            if entry.effect is not Effect.ALLOW and entry.pattern and not entry.field
        )
    return any(pattern.matches(text) for pattern in kept)


def _granting(row: Row, part: CommandPart) -> int:
    """Return the first entry that matches a part as rules that allow know it."""
    if part.harmless and not part.text:
        return NO_MATCH  # nothing runs
    first = row.first(part.text)
    goes_on = isinstance(part, ClaudePart) and (part.fed or part.extended)
    if (part.inexact or goes_on) and first != NO_MATCH and row.at(first).effect is Effect.ALLOW:
        pattern = row.entries[first].pattern
        if pattern is not None and (goes_on or pattern.exact):
            return row.first(part.text + MORE)
    return first if first == NO_MATCH or _is_granted_of_command(row, first, part.text) else NO_MATCH


def _is_granted_of_command(row: Row, index: int, text: str) -> bool:
    """Return whether an entry that matches a text holds for it."""
    entry = row.entries[index]
    if entry.effect is not Effect.ALLOW or entry.pattern is None:
        return True
    return is_completed(entry.pattern, text)
