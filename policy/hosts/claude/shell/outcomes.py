"""Decides a command as Claude Code does: its parts, its files, and its whole text."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Mapping, Sequence
from functools import cache

from policy.commands.reader import KEYWORDS, Command, CommandPart, Redirection, in_home
from policy.core import expressions as re
from policy.core import limits
from policy.core.decision import Reason
from policy.core.effect import Effect
from policy.core.values import TYPE_CHECKING, Final, frozen
from policy.hosts.claude.shell.match_texts import (
    ClaudeCommand,
    ClaudeRedirection,
    WholeCommand,
    spells_several,
    with_single_blanks,
)
from policy.patterns.automaton import NO_MATCH
from policy.patterns.index import Index
from policy.patterns.pattern import Pattern, PatternKind
from policy.patterns.tokens import Gap, folded
from policy.tables.calls import Unreadable, canonical_path, case_variant, rooted_path
from policy.tables.command_outcome import CommandEvaluator, Subject, may_join
from policy.tables.file_outcome import file_outcome, led_outcome, links_of_processes, named_outcome
from policy.tables.row import BY_DEFAULT, HARMLESS, Outcome, guarded, strictness, unsure
from policy.tables.ruleset import Form

if TYPE_CHECKING:
    from policy.commands.knowledge import Shell
    from policy.tables.dialect import Dialect
    from policy.tables.row import Row


class Evaluator(CommandEvaluator):
    """Decides a command: parts and files, rules for the whole text, background commands."""

    def whole_outcomes(
        self, row: Row, command: Command, found: Sequence[tuple[Subject, Outcome]]
    ) -> list[Outcome]:
        """Return the outcomes that decide *command*; *found* are those of its parts and files.

        An exact rule allows the whole command if no rule denies or asks for a part, it may read
        the files that it opens, and it writes none.
        """
        outcomes = [outcome for _, outcome in found]
        whole = command.whole if isinstance(command, ClaudeCommand) else None
        if whole is None:
            return outcomes
        spelled = _WholeRules.of(row).spelled if whole.spelled else {}
        index = next((spelled[text] for text in whole.texts if text in spelled), None)
        restrictions = _restrictions(row, whole)
        if index is None and not restrictions:
            return outcomes
        parts = [(part, outcome) for part, outcome in found if isinstance(part, CommandPart)]
        opened = [(file, outcome) for file, outcome in found if isinstance(file, Redirection)]
        # Each part is harmless, or allowed by more than the default for commands.
        granted = not command.opaque and all(
            one.effect is Effect.ALLOW and (one is not row.default or part.harmless)
            for part, one in parts
        )
        may_open = all(outcome.effect is Effect.ALLOW for _, outcome in opened)
        if granted and may_open and (whole.piped or not command.redirections):
            # Rules with a star do not count where each part is allowed by itself.
            restrictions = [n for n in restrictions if (p := row.entries[n].pattern) and p.exact]
        if (
            index is not None
            and not restrictions
            and may_open
            and not any(file.writes for file, _ in opened)
            and all(each.effect is Effect.ALLOW or each.reason in BY_DEFAULT for _, each in parts)
        ):
            return [row.at(index), *(outcome for subject, outcome in found if subject is None)]
        return [*outcomes, *map(row.at, restrictions)]

    def in_background(self, row: Row, command: Command) -> Iterator[Outcome]:
        """Yield an ask for a background command that a rule for every command allows.

        The host asks if another rule, or none, would let it run as well.
        """
        if not isinstance(command, ClaudeCommand) or not command.background:
            return
        default, rules = row.default, row.ruleset
        if rules.default is Effect.ALLOW or (default.effect, default.reason) != _BY_RULE:
            return
        is_piped = command.whole is None or command.whole.piped
        is_doubtful = is_piped or any(doubt.text != "&" for doubt in command.ambiguities)
        is_alone = all(entry.form is Form.ALONE for entry in default.entries)
        shell = rules.dialect.shell
        needs_rule = any(_needs_rule(part.text, shell) for part in command.parts)
        if is_doubtful or not (is_alone and needs_rule):
            yield unsure(rules)

    def part_outcome(self, row: Row, part: CommandPart, last: int) -> Outcome:
        """Return the outcome of one simple command; for *last* see `decide_command`."""
        first = NO_MATCH  # where nothing runs
        if part.text or not part.harmless:
            first = row.first(part.text)
            first = first if _has_plain_rest(row, first, part.text) else NO_MATCH
        granted = self.known_outcome(row, part, min(first, last))
        if granted.reason in BY_DEFAULT:
            for text in part.grant_texts:
                written = row.first(text)
                if written != NO_MATCH and row.at(written).effect is Effect.ALLOW:
                    granted = row.at(written) if _has_plain_rest(row, written, text) else granted
                    break
        if granted.effect is Effect.ALLOW and last == NO_MATCH and _runs_anyway(row, part.text):
            granted = row.default
        is_default = granted is row.default
        if part.harmless and is_default and granted.effect is not Effect.ALLOW:
            return HARMLESS if row.default.reason in BY_DEFAULT else granted
        if granted.effect is Effect.ALLOW and not part.grantable:
            return (
                granted if is_default and row.ruleset.dialect.shell.whole else unsure(row.ruleset)
            )
        return granted

    def opened(
        self, row: Row, command: Command, outcomes: Sequence[Outcome]
    ) -> Iterator[tuple[Redirection, Outcome]]:
        """Yield the files that a command opens and that count, each with its outcome."""
        is_whole = (
            row.ruleset.dialect.shell.whole
            and row.default.effect is Effect.ALLOW
            and all(outcome is row.default for outcome in outcomes)
        )
        for redirection in command.redirections:
            outcome = self.file_outcome(row, redirection)
            if not (is_whole and outcome.reason in BY_DEFAULT):
                yield redirection, outcome

    def file_outcome(self, row: Row, file: Redirection) -> Outcome:
        """Return the outcome of a file that a command opens; *row* is of the tool for commands."""
        rules = row.ruleset
        shell = rules.dialect.shell
        tool = file.tool or (shell.files.output if file.writes else shell.files.input)
        if not tool:
            return HARMLESS
        files = row.opening(tool)
        if files.constant is not None and not shell.whole:
            return files.constant
        if file.shadowed and not _denies_files(row, tool):
            return HARMLESS
        if self.is_hidden(file):
            return guarded(rules)
        if file.shadowed:
            return unsure(rules)
        if file.adrift and file.target is not None:
            return _outcome_in_some_folder(files, file.target)
        if file.target is None:
            # A rule that denies every file denies an unknown one.
            constant = files.constant
            return constant if constant and constant.effect is Effect.DENY else unsure(rules)
        if files.constant is not None:
            return files.constant
        if isinstance(file, ClaudeRedirection) and file.deep:
            return _kept_below(files, file.target)
        target = in_home(file.target, rules.dialect.home)
        return _named_outcome(files, target)

    def is_hidden(self, file: Redirection) -> bool:
        """Return whether a file has no name that can be shown."""
        return isinstance(file, ClaudeRedirection) and file.guarded


_BY_RULE: Final = (Effect.ALLOW, Reason.RULE)

_PLAIN_WORDS: Final = re.compile(r"[\w-]+(?: [\w./:=@,+-]+)*", re.ASCII)


def _needs_rule(text: str, shell: Shell) -> bool:
    """Return whether the host surely runs a simple command only by a rule."""
    program, _, rest = text.partition(" ")
    if program in shell.wrapping.names or program in KEYWORDS or not _PLAIN_WORDS.fullmatch(text):
        return False
    known = shell.programs.known.get(program)
    if known is None:
        return True
    is_option = rest[:1] in ("", "-") or rest.partition(" ")[0] in known.subcommands
    return not (known.harmless or known.forms or is_option)


@frozen
class _WholeRules:
    """The entries of a row that match several commands, or the whole text of one."""

    spelled: Mapping[str, int]  # text of an exact allow rule -> the first such entry
    joining: tuple[int, ...]  # deny and ask rules that may match several commands
    joined: Index  # their patterns

    @classmethod
    def of(cls, row: Row) -> _WholeRules:
        """Return those of *row*."""
        found = row.memory.get("whole rules")
        if isinstance(found, cls):
            return found
        spelled: dict[str, int] = {}
        joining: list[int] = []
        patterns: list[Pattern] = []
        for index in row.indices:
            entry = row.entries[index]
            if entry.pattern is None or entry.reason in BY_DEFAULT:
                continue
            text = str(entry.pattern) if entry.pattern.exact else ""
            if entry.effect is Effect.ALLOW:
                if entry.pattern.exact and entry.form is Form.ORDINARY:
                    spelled.setdefault(text, index)
            elif may_join(entry.pattern) or spells_several(text):
                joining.append(index)
                patterns.append(entry.pattern)
        joined = Index([pattern.tokens for pattern in patterns])
        made = row.memory["whole rules"] = cls(spelled, tuple(joining), joined)
        return made


def _restrictions(row: Row, whole: WholeCommand) -> list[int]:
    """Return the deny and ask rules that match the whole text, or several parts of it."""
    rules = _WholeRules.of(row)
    texts = [each for text in whole.texts for each in with_single_blanks(text)]
    found = [index for text in texts if (index := row.first(text)) != NO_MATCH]
    for text in whole.pieces if rules.joining else ():
        found += sorted(rules.joining[number] for number in rules.joined.matching(text))
    return [
        index
        for index in dict.fromkeys(found)
        if row.entries[index].effect is not Effect.ALLOW
        and row.entries[index].reason not in BY_DEFAULT
    ]


_PLAIN: Final = re.compile(r"[\w.+\-:@%,~/]*")
_ODD: Final = re.compile(r"[$`\x1f]|(?:\A|[\\/])\.\\?[.?*\[]")
_QUOTES: Final = re.compile(r"['\"]")


def _has_plain_rest(row: Row, index: int, text: str) -> bool:
    """Return whether a rule may allow *text*: `git s*` allows `git status`, not `git s"tatus"`."""
    entry = None if index == NO_MATCH else row.entries[index]
    if entry is None or entry.effect is not Effect.ALLOW or entry.pattern is None:
        return True
    pattern = entry.pattern
    literal = pattern.tokens[0] if len(pattern.tokens) > 1 else ""
    if not isinstance(literal, str) or literal[-1:] in ("", " ") or not text.startswith(literal):
        return True
    word_start, rest = literal.rpartition(" ")[2], text[len(literal) :].partition(" ")[0]
    if "=" in word_start:
        return True
    if _ODD.search(_QUOTES.sub("", word_start.rpartition("/")[2] + rest)) is not None:
        return False
    return _PLAIN.fullmatch(rest) is not None


def _named_outcome(files: Row, name: str) -> Outcome:
    """Return the stricter outcome of a file and of that to which ``..`` leads behind a link."""
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
    """Return the path of a file if ``..`` leaves the target of a link. Raises Unreadable."""
    links = dict(dialect.links)
    if dialect.processes:
        links |= {**_links_of_system(), **dict(links_of_processes(dialect))}
    rooted = rooted_path(name, dialect.cwd, dialect.home)
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
    # A thread has these in common with its process.
    own = {f"/proc/{name}": f"/proc/self/{name}" for name in ("mounts", "net")}
    return {"/dev/fd": "/proc/self/fd", "/proc/thread-self": "/proc/self/task/self", **own}


def _kept_below(files: Row, name: str) -> Outcome:
    """Return the outcome of moving or removing the folder *name* with the host's own files."""
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


def _denies_files(row: Row, tool: str) -> bool:
    """Return whether a rule denies any file as a call of *tool*."""
    shadows = row.ruleset.dialect.shell.files.shadows
    any_file = row.ruleset.row(shadows) if shadows else row
    entries = row.ruleset.row(tool).entries + (any_file.entries if shadows else ())
    effects = {(entry.effect, entry.reason) for entry in entries}
    effects.add((any_file.default.effect, any_file.default.reason))
    return (Effect.DENY, Reason.RULE) in effects


def _outcome_in_some_folder(files: Row, name: str) -> Outcome:
    """Return the outcome of a rule that denies a file of this name in some folder."""
    name = posixpath.normpath("/" + _UP.sub("", name))
    somewhere = Pattern.of(PatternKind.PATH, [Gap.DEEP, folded(name)])
    for index, entry in enumerate(files.entries if name != "/" else ()):
        denies = entry.effect is Effect.DENY and entry.reason is Reason.RULE
        if denies and entry.pattern is not None and _may_meet(entry.pattern, entry.form, somewhere):
            return files.at(index)
    return HARMLESS


def _may_meet(pattern: Pattern, form: Form, other: Pattern) -> bool:
    """Return whether a file of *other* may have a name of *pattern*, or be in that folder."""
    if form is not Form.WITHIN and pattern.tokens[-1] is Gap.DEEP:  # all below what it names
        pattern = Pattern.of(PatternKind.PATH, pattern.tokens[:-1])
    try:
        return not (pattern & other).is_empty()
    except OverflowError:
        return True


_UP: Final = re.compile(r"(?:\.{0,2}/)*")


def _runs_anyway(row: Row, text: str) -> bool:
    """Return whether *text* is allowed by default too, where a sandbox runs commands.

    A sandbox runs what no rule denies or asks for, and an allow rule must not make that stricter.
    """
    allows = row.default.effect is Effect.ALLOW and row.default.reason in BY_DEFAULT
    if not (allows and row.ruleset.dialect.shell.whole):
        return False
    kept = row.memory.get("kept")
    if not isinstance(kept, tuple):
        first = next((n for n, e in enumerate(row.entries) if e.effect is Effect.ALLOW), None)
        kept = row.memory["kept"] = tuple(
            entry.pattern
            for entry in (() if first is None else row.entries[first:])
            if entry.effect is not Effect.ALLOW and entry.pattern and not entry.field
        )
    return not any(pattern.matches(text) for pattern in kept)
