"""Answers one call: by our own policies, by what the host's files declare, or by both.

The host decides by its own rules afterwards. So where only the host's files apply, the hook
leaves the call to it, except for what the host does not enforce: the lists of tools of the agents
that started an agent. Where our policy allows a call and the host's files ask for it or protect
it, the hook leaves the call to the host as well, and the host asks.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache, partial
from pathlib import Path
from typing import Final, NoReturn

import attrs

from policy.adapters.hook.chains import FORK, HOST, chains_of, met, started_by
from policy.adapters.hook.event import SPAWNING, Event, answer_json, read_event
from policy.adapters.hook.sources import NO_POLICY, Places, compiled_sources, read_sources
from policy.adapters.hook.store import Store, digest_of, package_digest
from policy.adapters.messages import question, refusal, remainder, spawn_denial
from policy.analysis.records.record import Record, Recorder, add_recording
from policy.core.decision import Decision, Reason
from policy.core.effect import Effect
from policy.core.errors import PolicyError
from policy.core.memory import Memo
from policy.core.source import visible
from policy.core.symlinks import other_names
from policy.patterns import notations
from policy.patterns.pattern import Pattern, PatternKind
from policy.patterns.tokens import Gap, folded, in_any_case
from policy.tables.chain import Chain, SpawnDenied
from policy.tables.codec.compiled import compiled_bytes, compiled_from_json
from policy.tables.dialect import ArgumentKind, Dialect
from policy.tables.placement import ProjectFolders, ways
from policy.tables.projects import Compiled, Offered, told_apart
from policy.tables.ruleset import Entry, RuleSet
from policy.tables.table import Table

__all__ = ["HookDecider", "block_message", "options_of"]

_OURS: Final = "policy"
# Policies, and folders, that a process keeps.
_KEPT: Final = 64
_REMAINDERS_KEPT: Final = 1024
# Modes in which an allowed call runs; in other modes the host judges it.
_PLAIN: Final = frozenset({"", "default", "acceptEdits", "dontAsk"})


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise PolicyError(message)


def options_of(arguments: Sequence[str]) -> argparse.Namespace:
    """Return the options of the hook.

    Raises:
        PolicyError: *arguments* are no valid options.

    """
    parser = _Parser(
        prog="policy hook",
        allow_abbrev=False,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        description=(
            "Answer the PreToolUse event of Claude Code on standard input: print one JSON object,"
            " or block the\ncall with status 2 on any failure. `policy install claude-code`"
            " writes the settings for it."
        ),
    )
    parser.add_argument(
        "files",
        nargs="*",
        metavar="FILE",
        help="compiled policies that decide, relative to the folder of the project"
        " (default: the policy files of the project and the user)",
    )
    parser.add_argument("--hash", default="", help="the hash of the one FILE, sha256:…")
    parser.add_argument("--root", default="", help="the agent of the main conversation")
    parser.add_argument(
        "--resident", action="store_true", help="keep a process running that answers later calls"
    )
    add_recording(parser)
    parser.add_argument(
        "--deadline", type=float, default=20.0, help="seconds before the call is blocked (20)"
    )
    options = parser.parse_args(list(arguments))
    if options.hash and len(options.files) != 1:
        raise PolicyError("expected one file with `--hash`")
    return options


def block_message(error: PolicyError) -> str:
    """Return the message for a call that is blocked because of *error*."""
    place = f"{error.place}: " if error.span or error.file else ""
    return f"This call is blocked: {place}{visible(error.message)}\n"


@attrs.define(eq=False)
class HookDecider:
    """Answers calls, and keeps compiled policies by the digest of their files."""

    _known: Memo[str, Compiled] = attrs.field(factory=lambda: Memo(_KEPT))
    _folders: Memo[ProjectFolders, ProjectFolders] = attrs.field(factory=lambda: Memo(_KEPT))

    def answer(
        self, options: argparse.Namespace, environment: Mapping[str, str], data: bytes
    ) -> bytes:
        """Return the JSON object that answers the event *data*; record the call if wanted.

        Args:
            options: of the hook.
            environment: the variables that the answer depends on.
            data: the event.

        Raises:
            PolicyError: the call must be blocked.

        """
        event = read_event(data)
        places = Places.of(environment)
        if options.files:
            paths = [os.path.join(places.project, name) for name in options.files]  # noqa: PTH118
            found = [self._from_file(path, options.hash) for path in paths]
        else:
            found = [self._from_sources(places, environment)]
        projects = [project for compiled in found for project in compiled.projects]
        folders = self._placed(places, event)
        call = _hook_call(event, projects, folders, options.root, _deciding_files(options, places))
        answer = call.answer()
        if options.record:
            # A call that is left to the host has no effect in the record.
            record = attrs.evolve(
                Record.of(answer.chain, event.tool, call.event.call, answer.decision),
                agent="" if answer.chain else event.agent_type,
                effect=answer.effect,
                cwd=places.project,
                project=answer.project,
            )
            Recorder(places.project / Path(options.record), options.redact).append(record)
        return answer_json("" if answer.effect is None else str(answer.effect), answer.message)

    def _from_file(self, path: str, expected: str) -> Compiled:
        data = compiled_bytes(path)
        digest = digest_of((os.fsencode(path), data))
        compiled = self._known.get(digest)
        if compiled is None:
            compiled = self._known.keep(digest, compiled_from_json(data, path))
        if expected and compiled.hash != expected:
            msg = f"expected the policy `{expected}`, found `{compiled.hash}`"
            raise PolicyError(msg, file=path)
        return compiled

    def _from_sources(self, places: Places, environment: Mapping[str, str]) -> Compiled:
        sources = read_sources(places)
        digest = sources.digest
        known = self._known.get(digest)
        if known is not None:
            return known
        store = Store.of(environment)
        name = f"{digest}-{package_digest()}"
        text = store.get(name) if store else None
        if text is None:
            text = compiled_sources(sources)
            if store:
                store.put(name, text)
        return self._known.keep(digest, compiled_from_json(text, places.project))

    def _placed(self, places: Places, event: Event) -> ProjectFolders:
        # The folders keep the tables that were placed in them.
        also = other_names(places.project)
        folders = ProjectFolders(places.project, places.home, also, event.cwd)
        return self._folders.get(folders) or self._folders.keep(folders, folders)


def _deciding_files(options: argparse.Namespace, places: Places) -> tuple[str, ...]:
    """Return the files that decide besides those that every project has, and the record."""
    record = [options.record] if options.record else []
    named = [str(places.project / Path(name)) for name in (*options.files, *record)]
    if places.user:
        named.append(places.user)
    return tuple(dict.fromkeys(each for name in named for each in (name, os.path.realpath(name))))


@attrs.frozen
class HookAnswer:
    """What the host is answered, and why.

    Attributes:
        effect: the answer; None leaves the call to the host.
        message: for the model, or for the person who approves.
        chain: of the agent that calls, from the root down; () where it is not certain.
        project: of these agents, where several projects have such a root; or "".
        decision: of the policy, for records.

    """

    effect: Effect | None
    message: str
    chain: tuple[str, ...]
    project: str
    decision: Decision


@attrs.frozen
class ProjectVerdict:
    """What one project says of a call, with what makes the message."""

    decision: Decision
    message: Callable[[], str] = str
    chain: tuple[str, ...] = ()
    project: str = ""

    @property
    def effect(self) -> Effect:
        """The effect alone."""
        return self.decision.effect

    @property
    def is_default(self) -> bool:
        """Whether no rule is the reason."""
        return self.decision.reason is Reason.DEFAULT

    def answer(self, effect: Effect | None) -> HookAnswer:
        """Return the answer *effect*, for the reason of this verdict."""
        message = self.message() if effect is self.effect else ""
        return HookAnswer(effect, message, self.chain, self.project, self.decision)


@attrs.frozen
class Standing:
    """The place of the agent that calls in one project.

    Attributes:
        project: which may be that of the agent.
        title: what distinguishes the project, or "".
        chain: of the agent, as far as it is certain; None where there is no such chain.
        names: the agents of the chain, where it is certain.
        own: the table that decides.
        table: the same, placed in the folders of the call.
        denial: the reason why there is no chain.

    """

    project: Offered
    title: str
    chain: Chain | None
    names: tuple[str, ...]
    own: Table
    table: Table
    denial: SpawnDenied | None = None


@attrs.frozen
class HookCall:
    """A call, and the standing of its agent in each project."""

    event: Event
    folders: ProjectFolders
    standings: tuple[Standing, ...]

    def answer(self) -> HookAnswer:
        """Return what the host is answered."""
        ours: list[ProjectVerdict] = []
        theirs: list[ProjectVerdict] = []
        for standing in self.standings:
            verdicts = [*self._from_table(standing), *self._from_start(standing)]
            # The strictest of one project; among equals, one with a rule.
            strictest = min(verdicts, key=lambda verdict: (verdict.effect, verdict.is_default))
            verdict = attrs.evolve(strictest, chain=standing.names, project=standing.title)
            (ours if standing.project.host == _OURS else theirs).append(verdict)
        strictest = min((*ours, *theirs), key=lambda verdict: verdict.effect)
        if strictest.effect is Effect.DENY:
            return strictest.answer(Effect.DENY)
        if not ours:
            return strictest.answer(None)
        own = min(ours, key=lambda verdict: verdict.effect)
        if own.effect is Effect.ASK:
            return own.answer(Effect.ASK)
        silent = all(each.effect is Effect.ALLOW or each.is_default for each in theirs)
        plain = self.event.mode in _PLAIN
        return own.answer(Effect.ALLOW) if silent and plain else strictest.answer(None)

    def _from_table(self, standing: Standing) -> Iterator[ProjectVerdict]:
        """Yield the verdicts of the table: on the call, and on the files where links lead."""
        if standing.chain is None:
            return
        event, own, placed = self.event, standing.own, standing.table
        for table, call in ways(own, placed, event.tool, event.call, self.folders, cwd=event.cwd):
            decision = table.decide(event.tool, call, checked=True)
            yield ProjectVerdict(decision, partial(self._message, table, decision, call))

    def _from_start(self, standing: Standing) -> Iterator[ProjectVerdict]:
        """Yield the verdicts on starting agents: the one that calls, and the one it starts."""
        if standing.denial is not None:
            yield _denied(standing.denial)
        elif self.event.tool in SPAWNING and standing.chain is not None:
            try:
                yield from self._starting(standing.project, standing.chain)
            except SpawnDenied as denied:
                yield _denied(denied)

    def _message(self, table: Table, decision: Decision, call: Mapping[str, object]) -> str:
        """Return the message for the *decision* of a table."""
        tool = self.event.tool
        if decision.effect is Effect.ALLOW:
            return ""
        clauses = table.account(tool, call)
        if decision.effect is Effect.ASK:
            return question(tool, call, decision, clauses)
        return refusal(tool, decision, clauses) + _remainder(table, tool)

    def _starting(self, project: Offered, chain: Chain) -> Iterator[ProjectVerdict]:
        """Yield the verdicts on starting every agent that the host may take the name for."""
        name = self.event.call["subagent_type"]
        if type(name) is not str:
            denied = Decision(Effect.DENY, Reason.MALFORMED, table=chain.table.hash)
            yield ProjectVerdict(denied, lambda: "This call is denied: it names no agent.")
            return
        agents = project.attenuated.agents
        # The host ignores case and separators in the name of an agent.
        meant = [agent for agent in agents if _letters(agent) == _letters(name)] or [name]
        for agent in meant:
            if agent != FORK and (project.host != HOST or agent in agents):
                started = chain.spawning(agent, self.event.call)
                chain.spawn(agent, self.event.call)
                asked = partial(question, "Agent", self.event.call, started)
                yield ProjectVerdict(started, asked)


def _denied(denied: SpawnDenied) -> ProjectVerdict:
    return ProjectVerdict(denied.decision, partial(spawn_denial, denied))


def _hook_call(
    event: Event,
    projects: Iterable[Offered],
    folders: ProjectFolders,
    root: str = "",
    files: tuple[str, ...] = (),
) -> HookCall:
    """Return a call with the standing of its agent in each project.

    Args:
        event: the call.
        projects: of every policy in force.
        folders: of the call.
        root: the agent of the main conversation.
        files: whose writing needs approval, besides those of `_protected`.

    Raises:
        PolicyError: no policy applies to this host.

    """
    offered = list(projects)
    ours = [project for project in offered if project.host == _OURS]
    declared = [each for each in offered if each.host == HOST and not each.root]
    if not ours and not declared:
        raise PolicyError(NO_POLICY)
    event = event.with_agent()
    types = started_by(event)
    standings = []
    for project in (*ours, *declared):
        title = told_apart(project, offered)
        try:
            chains = chains_of(project, event, types, root)
            chain = met(chains)
        except SpawnDenied as denied:
            standings.append(Standing(project, title, None, (), Table(), Table(), denied))
            continue
        own = _protected(chain.table, files) if project.host == _OURS else chain.table
        names = chain.names if len(chains) == 1 else ()
        standings.append(Standing(project, title, chain, names, own, folders.table(own)))
    return HookCall(event, folders, tuple(standings))


# What remains allowed, by the hash of a table and a tool: finding it takes longer than deciding.
_REMAINDERS: Final[Memo[tuple[str, str], str]] = Memo(_REMAINDERS_KEPT)


def _remainder(table: Table, tool: str) -> str:
    key = (table.hash, tool)
    found = _REMAINDERS.get(key)
    return _REMAINDERS.keep(key, remainder(table, tool, str)) if found is None else found


def _letters(name: str) -> str:
    return "".join(letter for letter in name.casefold() if letter.isalnum())


# --- the files of the policy ---------------------------------------------------------
#
# An agent that may edit any file could grant itself everything with one edit. So writing a file
# of the policy needs approval.

_WRITING: Final = ("Edit", "MultiEdit", "NotebookEdit", "Write")
_LINK: Final = "policy hook"
# Below the project, and below the home folder.
_IN_PROJECT: Final = ("/*.policy", "/.claude/**")
_IN_HOME: Final = (
    "/.claude/**",
    "/.config/agent-policy/**",
    "/.cache/agent-policy/**",
    "/.cache/agent-policy-hook/**",
)


def _protected(table: Table, files: tuple[str, ...]) -> Table:
    """Return *table*, with rules that ask before a file of the policy is written.

    Args:
        table: of a policy of ours.
        files: more such files, or folders of them, absolute.

    """
    for dialect in dict.fromkeys(part.rules.dialect for part in table.use.parts):
        if dialect.name:
            table &= _protection(dialect, files)
    return table


@lru_cache(maxsize=16)
def _protection(dialect: Dialect, files: tuple[str, ...]) -> Table:
    rules = RuleSet(tuple(_protecting_entries(dialect, files)), Effect.ALLOW, dialect)
    return Table.of(rules, link=_LINK)


def _protecting_entries(dialect: Dialect, files: tuple[str, ...]) -> Iterator[Entry]:
    for tool in _WRITING:
        for text, pattern in _policy_files(dialect, files):
            yield Entry(tool, Effect.ASK, pattern, rule=f"{tool}({text})")
    for tool, argument in dialect.arguments.items():
        if argument.kind is ArgumentKind.COMMAND:
            # The files that a command writes are looked at where a rule applies to commands.
            yield Entry(tool, Effect.ALLOW, Pattern.text("*"), rule=tool)


def _policy_files(dialect: Dialect, files: tuple[str, ...]) -> Iterator[tuple[str, Pattern]]:
    for anchor, prefix, texts in ((dialect.cwd, "", _IN_PROJECT), (dialect.home, "~", _IN_HOME)):
        for text in texts:
            for pattern in notations.paths(
                text, anchor, fold=dialect.fold, any_case=not dialect.fold
            ):
                yield prefix + text, pattern
    for file in files:
        named = [folded(file)] if dialect.fold else list(in_any_case([file]))
        yield "/" + file, Pattern.of(PatternKind.PATH, named)
        yield f"/{file}/**", Pattern.of(PatternKind.PATH, [*named, "/", Gap.PART, Gap.DEEP])
