"""Decides a shell command by a row: each part, each file that it opens, and all of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from itertools import product

from policy.commands.match_texts import MORE, ExactCommand, ExactMatch
from policy.commands.parts import Ambiguity, Command, CommandPart, Redirection
from policy.commands.powershell import read_powershell
from policy.commands.reader import read_command
from policy.commands.words import Word, in_home
from policy.commands.wrappers import basename, innermost
from policy.core import expressions as re
from policy.core.decision import Does, Reason
from policy.core.effect import Effect
from policy.core.values import TYPE_CHECKING, evolve, frozen
from policy.patterns.automaton import NO_MATCH
from policy.patterns.pattern import Pattern
from policy.patterns.tokens import Gap, OneOf
from policy.tables.calls import Unreadable, argument_text, canonical_path, case_variant, is_within
from policy.tables.dialect import ArgumentKind
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
from policy.tables.file_row import file_outcome, named_outcome

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Final

    from policy.commands.knowledge import Shell
    from policy.tables.dialect import Dialect
    from policy.tables.entry import RowEntry
    from policy.tables.row import ReadCommand, Row

__all__ = [
    "AccountPiece",
    "ExactRules",
    "account",
    "command_outcome",
    "decide_command",
    "denies_files",
    "idle_outcome",
    "is_completed",
    "is_unchecked",
    "may_join",
    "opened",
    "part_outcome",
    "redirection_outcome",
    "unawaited",
    "with_whole",
]


def decide_command(row: Row, text: str, limit: int, read: ReadCommand | None) -> Outcome:
    """Return what *row* says of the command *text*; for *limit* see `command_outcome`."""
    command = _read(text, row.argument.kind, row.ruleset.dialect, read)
    return command_outcome(row, command, limit)


def _read(
    text: str, kind: ArgumentKind, dialect: Dialect, read: ReadCommand | None = None
) -> Command:
    if kind is ArgumentKind.POWERSHELL:
        return read_powershell(text, dialect.commands)
    return (read or read_command)(text, dialect.shell)


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
        spelled = (index for text, index in withheld.items() if not _PARTING.isdisjoint(text))
        return cls(exact, frozenset(withheld), (*starred, *spelled), bool(starred))


def _withholds(entry: RowEntry) -> bool:
    """Return whether a rule denies or asks; what a host does by itself is no rule."""
    return entry.effect is not Effect.ALLOW and entry.reason not in BY_DEFAULT


def may_join(pattern: Pattern) -> bool:
    """Return whether a pattern may match several commands, and no first of them."""
    if pattern.exact:
        return False
    texts = [token for token in pattern.tokens if isinstance(token, str)]
    return (
        pattern.tokens[-1] is not Gap.ANY
        or len(pattern.tokens) > _BEGUN  # it has more than one gap
        or not _PARTING.isdisjoint("".join(texts))  # or names what parts or groups commands
    )


# A text and the gap behind it.
_BEGUN: Final = 2
_PARTING: Final = frozenset(";&|\n(")


# Whether a pattern that allows a command ends at the end of a word of it.

_PLAIN: Final = re.compile(r"[\w.+\-:@%,~/]*")
_ODD: Final = re.compile(r"[$`\x1f]|(?:\A|[\\/])\.\\?[.?*\[]")
_QUOTES: Final = re.compile(r"['\"]")
# A file by its path, or quoted from its first letter on, is none that a name goes on to.
_SPELLED: Final = re.compile(r"['\"]|(?!\d+<)[\w.+\-:@%,~]*[</]")
_ASSIGNING: Final = frozenset({"env", "sudo"})


def is_completed(pattern: Pattern, text: str, shell: Shell) -> bool:
    """Return whether *pattern*, which allows and matches *text*, is completed plainly there."""
    literal = pattern.tokens[0] if len(pattern.tokens) > 1 else ""
    if not isinstance(literal, str) or literal[-1:] in ("", " ") or not text.startswith(literal):
        return True
    begun, rest = literal.rpartition(" ")[2], text[len(literal) :].partition(" ")[0]
    if "=" in begun:
        return True
    odd = _ODD.search(_QUOTES.sub("", begun.rpartition("/")[2] + rest)) is not None
    if not odd and _PLAIN.fullmatch(rest):
        return True
    words = [Word(piece, piece) for piece in literal.split()]
    assigning = [at for at, word in enumerate(words[:-1]) if basename(word.plain) in _ASSIGNING]
    if not odd and not assigning and _SPELLED.match(begun + rest):
        return True
    words = words[assigning[-1] if assigning else 0 :]
    return all(len(innermost(words, shell, wide=wide)) > 1 for wide in (False, True))


# Rules that spell out a compound command: `Bash(make && npm test)`.
#
# An exact rule, or a prefix that is all of the text, allows a command that was read, unless one
# part alone is not allowed and something asks for that. Only an exact rule allows an ambiguous
# command. No rule allows a command with pipes as a whole, and a rule with a star denies one only
# where not all of it is allowed. A rule with a star denies another compound command where it is
# ambiguous, or opens a file that only a rule or a mode for every command allows. Rules that deny or
# ask match several commands between two pipes as they match all of a command.


def with_whole(
    row: Row,
    command: Command,
    parts: Sequence[Outcome],
    files: Sequence[tuple[Redirection, Outcome]],
    unchecked: Callable[[], bool],
) -> list[Outcome]:
    """Return the outcomes of which the strictest is what *row* says of a command.

    Args:
        row: of the tool that runs it.
        command: what it was read as.
        parts: what the row says of each of its simple commands.
        files: what it opens, and what is said of that.
        unchecked: whether it opens a file that nothing but what all commands may do allows.

    """
    opened = [outcome for _, outcome in files]
    found, whole = [*parts, *opened], command.exact
    if whole is None:
        return found
    piped = whole.piped
    if row.exact_rules.joining and piped:
        found += _joined(row, whole, starred=not _is_granted(row, command, parts, opened))
    texts, bare = _texts(row, whole, piped=piped)
    for text in texts:
        index, spelled = row.first(text), row.exact_rules.exact.get(text, NO_MATCH)
        if index == NO_MATCH:
            continue
        outcome = row.at(index)
        if outcome.effect is not Effect.ALLOW and outcome.reason not in BY_DEFAULT:
            counts = outcome.effect is Effect.DENY or command.opaque
            if piped:
                starred = not _is_granted(row, command, parts, opened)
            else:  # to one with a star what is redirected is no part of it
                is_bare = text is bare or not bare
                starred = is_bare and (
                    whole.doubtful or (all(map(_is_open, parts)) and unchecked())
                )
            if (counts and index == spelled) or starred:
                found.append(outcome)
        elif text is bare:
            continue  # it allows nothing
        elif row.ruleset.dialect.shell.spanning and outcome.effect is Effect.ALLOW:
            if all(map(_is_open, parts)):
                return [outcome, *opened]
        elif spelled != NO_MATCH and _is_allowed(
            row.entries[spelled].form, whole.spelled, command, parts, files
        ):
            forbidden = [each for each in opened if not _is_open(each)]
            is_verbatim = whole.spelled is ExactMatch.VERBATIM
            return [row.at(spelled), *(opened if is_verbatim else forbidden)]
    return found


def _texts(row: Row, whole: ExactCommand, *, piped: bool) -> tuple[Sequence[str], str]:
    """Return the texts of a command by which a rule of *row* may match all of it.

    And its bare one, which is the last of them where it is another.
    """
    # One with a star may.
    joined = (whole.several or whole.doubtful) and row.exact_rules.joined
    exact = row.exact_rules.exact
    if not (piped or row.ruleset.dialect.shell.spanning or joined):
        texts = [text for text in whole.texts if text in exact]
        bare = whole.bare if texts or row.exact_rules.withheld else ""
        return (*texts, *[bare] * (bare in row.exact_rules.withheld)), bare
    bare = whole.bare
    return (*whole.texts, bare) if bare else whole.texts, bare


def _joined(row: Row, whole: ExactCommand, *, starred: bool) -> Iterator[Outcome]:
    """Yield what rules say of several commands between pipes, or beside one.

    Rules with a star count where *starred* says so.
    """
    rules = [(index, row.entries[index].pattern) for index in row.exact_rules.joining]
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
        for file, one in files
        if one.effect is not Effect.ALLOW or (file.writes and file.part in stopped)
    ]
    stopped |= {file.part for file in opened if file.part is not None}
    if any(one.effect is not Effect.ASK for one in asked):
        return False
    if form is Form.PREFIX and any(not file.tool for file in opened):
        return False
    return len(stopped) > 1 or not (asked or opened)


def opened(
    row: Row, command: Command, outcomes: Sequence[Outcome]
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
        outcome = redirection_outcome(row, redirection)
        if redirection.scripted or not (is_whole and outcome.reason in BY_DEFAULT):
            yield redirection, outcome


def is_unchecked(row: Row, file: Redirection, outcomes: Sequence[Outcome]) -> bool:
    """Return whether nothing but what all commands may do allows a file to be opened."""
    shell = row.ruleset.dialect.shell
    if file.scripted or file.tool == shell.files.removes:
        return False
    if not file.writes:
        found = redirection_outcome(row, file)
        return found.effect is not Effect.ALLOW or (not found.entries and _is_outside(row, file))
    part = file.part if file.tool else None
    if part is not None and part < len(outcomes) and outcomes[part] is not row.default:
        # A rule that allows the command allows it to write what it is given in a working folder.
        return redirection_outcome(row, file).effect is not Effect.ALLOW
    found = redirection_outcome(row, evolve(file, tool=""))
    by_mode = found.effect is Effect.ALLOW and found.entries and found.reason in BY_DEFAULT
    return not (by_mode or found is HARMLESS)


def _is_outside(row: Row, file: Redirection) -> bool:
    """Return whether a file is in no working folder, so far as its name tells."""
    dialect = row.ruleset.dialect
    if file.target is None or file.shadowed or file.adrift:
        return False
    try:
        path = canonical_path(file.target, dialect)
    except Unreadable:
        return True
    return not is_within(path, dialect)


def redirection_outcome(row: Row, redirection: Redirection) -> Outcome:
    """Return what *row*, of the tool that runs a command, says of a file that this opens."""
    rules = row.ruleset
    if redirection.scripted:
        return _if_denied(row, redirection)
    shell = rules.dialect.shell
    tool = redirection.tool or (shell.files.output if redirection.writes else shell.files.input)
    if not tool:
        return HARMLESS
    files = row.opening(tool)
    if files.constant is not None and not shell.whole:
        return files.constant
    if redirection.shadowed and not denies_files(row, tool):
        return HARMLESS
    if redirection.guarded:
        return guarded(rules)
    if redirection.shadowed:
        return unsure(rules)
    if redirection.adrift and redirection.target is not None:
        return _adrift(files, redirection.target)
    if redirection.target is None:
        # Whichever file it is, what denies every file denies it.
        constant = files.constant
        return constant if constant and constant.effect is Effect.DENY else unsure(rules)
    if files.constant is not None:
        return files.constant
    if redirection.deep:
        return _kept_below(files, redirection.target)
    target = in_home(redirection.target, rules.dialect.home, control=shell.control)
    path, found = named_outcome(files, target)
    return _undenied(files, path, found) if redirection.copied and path is not None else found


def _if_denied(row: Row, redirection: Redirection) -> Outcome:
    """Return what a file gets of which only a rule that denies it counts."""
    found = redirection_outcome(row, evolve(redirection, scripted=False))
    if found.effect is not Effect.DENY or found.reason is not Reason.RULE:
        return HARMLESS
    return doubted(row.ruleset)


def _undenied(files: Row, path: str, found: Outcome) -> Outcome:
    """Return what is said of a file where no rule that denies counts."""
    if found.effect is not Effect.DENY or found.reason is not Reason.RULE:
        return found
    for index, entry in enumerate(files.entries):
        denies = entry.effect is Effect.DENY and entry.reason is Reason.RULE
        if entry.pattern is not None and not denies and entry.pattern.matches(path):
            return files.at(index)
    return files.default


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


# Characters of the parts whose outcome a row remembers.
_LONGEST: Final = 1024


def command_outcome(row: Row, command: Command, limit: int = NO_MATCH) -> Outcome:
    """Return what *row* says of a command that was taken apart: the strictest of all.

    Args:
        row: the row of the tool that runs it.
        command: its parts and redirections.
        limit: an entry of the row that decides in any case; those in front of it may
            decide before.

    """
    outcomes = [part_outcome(row, part, limit) for part in command.parts]
    if command.opaque:
        outcomes = [*outcomes, *_denied(row, command, tuple(outcomes))]
    parts = outcomes
    outcomes = with_whole(
        row,
        command,
        parts,
        [*opened(row, command, parts)],
        lambda: (
            any(is_unchecked(row, file, parts) for file in command.redirections)
            or any(
                part.checked and outcome is row.default
                for part, outcome in zip(command.parts, parts)  # noqa: B905  # denials follow
            )
        ),
    )
    outcomes += unawaited(row, command)
    if command.unread and row.entries:
        outcomes.append(unsure(row.ruleset))  # a rule that might match it cannot be asked
    if not command.parts:
        outcomes.append(idle_outcome(row, limit))
    return min(outcomes, key=strictness)


def idle_outcome(row: Row, limit: int) -> Outcome:
    """Return what *row* says where no command runs; for *limit* see `command_outcome`.

    A rule for the whole tool allows that, as it allows any command. No other rule does.
    """
    return part_outcome(row, CommandPart("", grantable=row.default.effect is Effect.ALLOW), limit)


def unawaited(row: Row, command: Command) -> Iterator[Outcome]:
    """Yield what a background command gets, if that is a reason of its own.

    A host with `Command.awaited` asks for one that it would allow without the rule for every
    command, and runs any other by that rule.
    """
    beside = row.beside if command.awaited else None
    if beside is None:
        return
    if any(command_outcome(beside, each).effect is Effect.ALLOW for each in command.awaited):
        yield unsure(row.ruleset)


def _denied(row: Row, command: Command, outcomes: tuple[Outcome, ...]) -> Iterator[Outcome]:
    """Yield what rules that deny say of parts that a rule in front of them asks for."""
    for part, outcome in zip(command.parts, outcomes, strict=True):
        if outcome.effect is not Effect.ASK or outcome.reason is not Reason.RULE:
            continue
        for index, entry in enumerate(row.entries):
            if (
                entry.effect is Effect.DENY
                and not entry.field
                and any(
                    entry.pattern is None or entry.pattern.matches(text)
                    for text in (part.text, *part.match_texts, *part.possible_texts)
                )
            ):
                yield row.at(index)
                break


def part_outcome(row: Row, part: CommandPart, limit: int) -> Outcome:
    """Return what *row* says of one simple command; for *limit* see `command_outcome`."""
    if limit != NO_MATCH:
        return _outcome_of_texts(row, part, limit)
    found = row.parts.get(part)
    if found is None:
        found = _outcome_of_texts(row, part, limit)
        texts = (
            part.text,
            *part.match_texts,
            *part.script_texts,
            *part.grant_texts,
            *part.possible_texts,
        )
        if sum(map(len, texts)) <= _LONGEST:  # a text that is put on an input is one of them
            row.parts.keep(part, found)
    return found


def _outcome_of_texts(row: Row, part: CommandPart, limit: int) -> Outcome:
    outcome = _part_outcome(row, part, limit)
    for text in part.possible_texts:
        index = row.first(text)
        if index != NO_MATCH and row.at(index).effect is not Effect.ALLOW:
            outcome = min(outcome, row.at(index), key=strictness)
    return outcome


def _part_outcome(row: Row, part: CommandPart, limit: int) -> Outcome:
    first = min(_granting(row, part), limit)
    # A rule that knows the command under any of its match_texts holds. Of several it
    # is the strictest, wherever each stands, but where a host ranks its rules.
    known = [index for reading in part.match_texts if (index := row.first(reading)) != NO_MATCH]
    known = [index for index in known if row.at(index).effect is not Effect.ALLOW]
    granted = row.at(first)
    if known:
        if first != NO_MATCH and granted.effect is not Effect.ALLOW:
            known.append(first)
        ranked = row.ruleset.dialect.shell.control
        granted = row.at(min(known, key=None if ranked else lambda one: (row.at(one).effect, one)))
    if part.grant_texts and granted.reason in BY_DEFAULT:
        for text in part.grant_texts:
            written = row.first(text + MORE if part.fed else text)
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
        if part.blind and denies_files(row, row.ruleset.dialect.shell.files.reads):
            return granted
        return HARMLESS if row.default.reason in BY_DEFAULT else granted
    if granted.effect is Effect.ALLOW and not part.grantable:
        return granted if is_default and row.ruleset.dialect.shell.whole else unsure(row.ruleset)
    return granted


def _is_idle(row: Row, text: str) -> bool:
    """Return whether rules that allow a text say nothing, since the host allows every command.

    A sandbox runs what no rule denies or asks for, and consults none that allows: with such a
    rule less would run.
    """
    allows = row.default.effect is Effect.ALLOW and row.default.reason in BY_DEFAULT
    return allows and row.ruleset.dialect.shell.whole and not row.is_kept(text)


def _granting(row: Row, part: CommandPart) -> int:
    """Return the first entry that matches a part as rules that allow know it."""
    if part.harmless and not part.text:
        return NO_MATCH  # nothing runs
    first = row.first(part.text)
    goes_on = part.fed or part.extended
    if (part.inexact or goes_on) and first != NO_MATCH and row.at(first).effect is Effect.ALLOW:
        pattern = row.entries[first].pattern
        if pattern is not None and (goes_on or pattern.exact):
            return row.first(part.text + MORE)
    return first if first == NO_MATCH or _is_granted_of_command(row, first, part.text) else NO_MATCH


def _is_granted_of_command(row: Row, index: int, text: str) -> bool:
    """Return whether an entry that matches a text holds for it."""
    shell, entry = row.ruleset.dialect.shell, row.entries[index]
    if not shell.control or entry.effect is not Effect.ALLOW or entry.pattern is None:
        return True
    return is_completed(entry.pattern, text, shell)


@frozen
class AccountPiece:
    """What a command does, of which simple command or file, and what a row says of that.

    Attributes:
        does: which kind of thing.
        text: of what; "" where that is not known.
        outcome: what the row says.
        why: why no rule may allow it, where that is so.
    """

    does: Does
    text: str
    outcome: Outcome
    why: str = ""


def account(
    row: Row, call: Mapping[str, object], read: ReadCommand | None = None
) -> tuple[AccountPiece, ...]:
    """Return the pieces of the command that *call* runs, in their order, each once.

    Nothing of a call that is no command, or that all of *row* decides alike; pieces that
    every policy lets pass are left out. The strictest of them is what the row says of the
    call, unless a rule spells out the command as a whole.

    Args:
        row: of the tool.
        call: its arguments.
        read: reads a command; by default `read_command`.

    """
    command = _command(row, call, read)
    if command is None or row.constant is not None:
        return ()
    return tuple({(p.does, p.text): p for p in _pieces(row, command, call)}.values())


def _command(row: Row, call: Mapping[str, object], read: ReadCommand | None) -> Command | None:
    dialect, kind = row.ruleset.dialect, row.argument.kind
    if kind not in (ArgumentKind.COMMAND, ArgumentKind.POWERSHELL):
        return None
    try:
        text = argument_text(row.argument, dialect, call)
    except Unreadable:
        return None
    return _read(text, kind, dialect, read)


def _pieces(row: Row, command: Command, call: Mapping[str, object]) -> Iterator[AccountPiece]:
    limit = row.first_parameter(call)
    said = [(part, part_outcome(row, part, limit)) for part in command.parts]
    for part, outcome in said:
        if part.text:
            yield AccountPiece(Does.RUNS, part.text, outcome)
    doubted = unsure(row.ruleset)
    hidden = [outcome for part, outcome in said if not part.text or outcome is doubted]
    for file, outcome in opened(row, command, [outcome for _, outcome in said]):
        if file.guarded:
            hidden.append(outcome)
        elif outcome is not HARMLESS:
            control = row.ruleset.dialect.shell.control
            name = in_home(file.target or "", "$HOME", control=control)
            yield AccountPiece(_does(row, file), name, outcome)
    hidden += unawaited(row, command)
    if command.unread and row.entries:
        hidden.append(doubted)
    if not command.parts:
        hidden.append(idle_outcome(row, limit))
    strictest = min(hidden, key=strictness, default=HARMLESS)
    if strictest is not HARMLESS:
        for doubt in command.ambiguities or _ANY:
            yield AccountPiece(Does.HIDES, doubt.text, strictest, doubt.why)


_ANY: Final = (Ambiguity("", ""),)


def _does(row: Row, file: Redirection) -> Does:
    shell = row.ruleset.dialect.shell
    if file.tool and file.tool == shell.files.removes:
        return Does.REMOVES
    return Does.WRITES if file.writes else Does.READS
