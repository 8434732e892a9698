"""Answers one call, by policies in our notation, by the files of the host, or by both.

The host decides by its own rules afterwards. So where only the host's files apply, the hook
leaves the call to it, except for what the host does not enforce: the lists of tools of the agents
that started an agent. Where our policy allows a call and the host's files ask for it or protect
it, the hook leaves the call to the host as well, and the host asks.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial

from policy.adapters.hook.chains import FORK, HOST, chains_of, met, started_by
from policy.adapters.hook.event import SPAWNING, Event, answer_json, read_event
from policy.adapters.hook.packed import packed, unpacked
from policy.adapters.hook.sources import NO_POLICY, Places, content, read_sources
from policy.adapters.hook.store import Store, digest_of, package_digest
from policy.core import limits
from policy.core.decision import Decision, Reason
from policy.core.effect import Effect
from policy.core.errors import PolicyError
from policy.core.memory import Memo
from policy.core.source import visible
from policy.core.symlinks import other_names
from policy.core.values import Final, evolve, frozen
from policy.tables.chain import Chain, SpawnDenied
from policy.tables.placement import PlacedTable, ProjectFolders, Rooted
from policy.tables.projects import BaseProject, Compiled, distinguishing_name
from policy.tables.table import Table

# Those of `policy.analysis.records.record`, which takes longer to import.
_REDACTIONS: Final = ("", "none", "credentials", "all")
_OURS: Final = "policy"
# The most policies, and folders, that a process keeps.
_KEPT: Final = 64
# Modes in which an allowed call runs; in other modes the host judges it.
_PLAIN: Final = frozenset({"", "default", "acceptEdits", "dontAsk"})


@frozen
class HookOptions:
    """The options of one hook."""

    files: tuple[str, ...]  # compiled policies that decide; () if the files of the project do
    resident: bool  # whether to start the resident process
    given: Mapping[str, str]  # the other options by their names, without the dashes in front


_FLAGS: Final = frozenset({"-h", "--help", "--resident"})
_GIVEN: Final = ("hash", "root", "record", "redact", "deadline")


def options_of(arguments: Iterable[str]) -> HookOptions | None:
    """Return the options of the hook; None if it printed the help.

    `argparse` takes as long to import as a call to decide. Raises PolicyError for other options.
    """
    files, flags, given = list[str](), set[str](), dict.fromkeys(_GIVEN, "")
    waiting = iter(arguments)
    for argument in waiting:
        name, _, value = argument.removeprefix("--").partition("=")
        if argument == "--":
            files += waiting
        elif argument in _FLAGS:
            flags.add(argument)
        elif argument.startswith("--") and name in given:
            given[name] = value or next(waiting, "")
            if not given[name] or given[name].startswith("-"):
                raise PolicyError(f"expected a value behind `--{name}`")
        elif argument.startswith("-"):
            raise PolicyError(f"there is no option `{argument}`")
        else:
            files.append(argument)
    if flags - {"--resident"}:
        from pathlib import Path  # noqa: PLC0415  # a call is decided without

        sys.stdout.write(Path(__file__).with_name("help.txt").read_text("utf-8"))
        return None
    if given["hash"] and len(files) != 1:
        raise PolicyError("expected one file with `--hash`")
    if given["redact"] not in _REDACTIONS:
        raise PolicyError(f"expected one of{', '.join(_REDACTIONS)} behind `--redact`")
    try:
        float(given["deadline"] or 1)
    except ValueError:
        raise PolicyError("expected seconds behind `--deadline`") from None
    return HookOptions(tuple(files), "--resident" in flags, given)


def block_message(error: PolicyError) -> str:
    """Return the message for a call that is blocked because of *error*."""
    from policy.core.credentials import masked  # noqa: PLC0415  # few calls are blocked

    at = error.span.place if error.span else visible(error.file)
    place = f"{at}: " if at else ""
    return f"This call is blocked: {place}{visible(masked(error.message))}\n"


class HookDecider:
    """Answers calls, and keeps compiled policies by the digest of their files."""

    def __init__(self) -> None:
        self.package = package_digest()
        self._known: Memo[str, Compiled] = Memo(_KEPT)
        self._places: Memo[ProjectFolders, Rooted] = Memo(_KEPT)

    def answer(self, options: HookOptions, environment: Mapping[str, str], data: bytes) -> bytes:
        """Return the JSON object that answers the event *data*; record the call if wanted.

        *environment* has the places of files. Raises PolicyError if the call must be blocked.
        """
        event = read_event(data)
        places = Places.of(environment)
        files = _deciding_files(options, places)
        if options.files:
            expected, paths = options.given["hash"], map(places.below, options.files)
            found = [self._from_file(path, environment, files, expected) for path in paths]
        else:
            sources = read_sources(places)
            make = partial(_from_json, sources.compiled, places.project)
            found = [self._compiled(sources.digest, environment, files, make)]
        projects = [project for compiled in found for project in compiled.projects]
        # A place keeps the tables that are decided there.
        also = other_names(places.project)
        folders = ProjectFolders(places.project, places.home, also, event.cwd)
        place = self._places.get(folders) or self._places.keep(folders, Rooted(folders))
        known = (self.package, repr(place.folders), *(compiled.hash for compiled in found))
        remains = partial(_remainder, Store.of(environment), known)
        call = _hook_call(event, projects, place, remains, options.given["root"])
        effect, verdict = call.answer()
        if options.given["record"]:
            from pathlib import Path  # noqa: PLC0415  # few calls are recorded

            from policy.analysis.records.record import Record, Recorder  # noqa: PLC0415

            file = Path(places.project, options.given["record"])
            record = Record.of(verdict.chain, call.event.tool, call.event.call, verdict.decision)
            agent = "" if verdict.chain else call.event.agent_type
            record = evolve(record, cwd=places.project, project=verdict.project)
            # A call that is left to the host has no effect in the record.
            record = evolve(record, agent=agent, effect=effect)
            Recorder(file, options.given["redact"] or "credentials").append(record)
        message = verdict.message() if effect is verdict.effect else ""
        return answer_json("" if effect is None else str(effect), message)

    def _from_file(
        self, path: str, environment: Mapping[str, str], files: tuple[str, ...], expected: str
    ) -> Compiled:
        try:
            data, _ = content(path, path, limits.COMPILED_BYTES)
        except FileNotFoundError:
            raise PolicyError("cannot be read: there is no such file", file=path) from None
        digest = digest_of((os.fsencode(path), data))
        make = partial(_from_json, lambda: data, path)
        compiled = self._compiled(digest, environment, files, make)
        if expected and compiled.hash != expected:
            msg = f"expected the policy `{expected}`, found `{compiled.hash}`"
            raise PolicyError(msg, file=path)
        return compiled

    def _compiled(
        self,
        digest: str,
        environment: Mapping[str, str],
        files: tuple[str, ...],
        compile_: Callable[[], Compiled],
    ) -> Compiled:
        """Return the policy with *digest*, kept, stored, or compiled with *files* protected."""
        key = digest_of((digest.encode(), *map(os.fsencode, files)))
        known = self._known.get(key)
        if known is not None:
            return known
        store = Store.of(environment)
        name = digest_of((key.encode(), self.package.encode(), sys.version.encode()))
        data = store.get(name) if store else None
        if data is not None:
            return self._known.keep(key, unpacked(data))
        from policy.adapters.hook.protection import protected  # noqa: PLC0415  # once a policy

        compiled = protected(compile_(), files)
        if store:
            store.put(name, packed(compiled))
        return self._known.keep(key, compiled)


def _from_json(read: Callable[[], bytes], label: str) -> Compiled:
    from policy.tables.compiled import compiled_from_json  # noqa: PLC0415  # once a policy

    return compiled_from_json(read(), label)


def _deciding_files(options: HookOptions, places: Places) -> tuple[str, ...]:
    """Return the files of the options that decide or record, to be protected."""
    given = (*options.files, options.given["record"])
    named = [*map(places.below, filter(None, given)), *filter(None, [places.user])]
    return tuple(dict.fromkeys(each for name in named for each in (name, os.path.realpath(name))))


@frozen
class ProjectVerdict:
    """The verdict of one project on a call."""

    decision: Decision
    # Returns the message for the model, or for the person who approves.
    message: Callable[[], str] = str
    chain: tuple[str, ...] = ()  # of the agent that calls, if certain
    project: str = ""  # of these agents, if several projects have the root

    @property
    def effect(self) -> Effect:
        """The effect of the decision."""
        return self.decision.effect

    @property
    def is_default(self) -> bool:
        """Whether no rule decided."""
        return self.decision.reason is Reason.DEFAULT


@frozen
class Standing:
    """The chain and the table of the agent that calls, in one project."""

    project: BaseProject
    title: str  # of the project
    chain: Chain | None  # None if there is none
    names: tuple[str, ...]  # of the chain, if certain
    table: PlacedTable | None  # in the folder of the call
    denial: SpawnDenied | None = None  # why there is no chain


def _remainder(
    store: Store | None, known: tuple[str, ...], standing: Standing, table: Table, tool: str
) -> str:
    """Return the calls of *tool* that *table* allows, from the store, since the search is slow."""
    project = standing.project
    which = (project.host, project.root, standing.title, *standing.names)
    # A certain chain identifies the table, whose hash takes long to compute.
    texts = ("remainder", *known, *(which if standing.names else [table.hash]), tool)
    name = digest_of(text.encode("utf-8", "surrogatepass") for text in texts)
    data = store.get(name) if store else None
    if data is None:
        from policy.adapters.messages import remainder  # noqa: PLC0415  # compares tables

        data = remainder(table, tool, str).encode("utf-8", "surrogatepass")
        if store:
            store.put(name, data)
    return data.decode("utf-8", "surrogatepass")


@frozen
class HookCall:
    """A call, with the standing of its agent in each project."""

    event: Event
    standings: tuple[Standing, ...]
    remains: Callable[[Standing, Table, str], str]

    def answer(self) -> tuple[Effect | None, ProjectVerdict]:
        """Return the effect to answer, None to leave the call to the host; and the verdict."""
        ours: list[ProjectVerdict] = []
        theirs: list[ProjectVerdict] = []
        for standing in self.standings:
            # The strictest verdict; among equals, one with a rule.
            verdicts = self._verdicts(standing)
            strictest = min(verdicts, key=lambda verdict: (verdict.effect, verdict.is_default))
            verdict = evolve(strictest, chain=standing.names, project=standing.title)
            if verdict.effect is Effect.DENY:
                return Effect.DENY, verdict
            (ours if standing.project.host == _OURS else theirs).append(verdict)
        strictest = min((*ours, *theirs), key=lambda verdict: verdict.effect)
        if not ours:
            return None, strictest
        own = min(ours, key=lambda verdict: verdict.effect)
        if own.effect is Effect.ASK:
            return Effect.ASK, own
        silent = all(each.effect is Effect.ALLOW or each.is_default for each in theirs)
        return (Effect.ALLOW, own) if silent and self.event.mode in _PLAIN else (None, strictest)

    def _verdicts(self, standing: Standing) -> Iterator[ProjectVerdict]:
        """Yield the verdict of the table, and those on a start of an agent."""
        if standing.table is not None:
            decision = standing.table.decide(self.event.tool, self.event.call, checked=True)
            yield ProjectVerdict(decision, partial(self._message, standing, decision))
        if standing.denial is not None:
            yield _denied(standing.denial)
        elif self.event.tool in SPAWNING and standing.chain is not None:
            try:
                yield from self._starting(standing.project, standing.chain)
            except SpawnDenied as denied:
                yield _denied(denied)

    def _message(self, standing: Standing, decision: Decision) -> str:
        """Return the message for the *decision* of a table."""
        tool, call, table = self.event.tool, self.event.call, standing.table
        if table is None or decision.effect is Effect.ALLOW:
            return ""
        from policy.adapters.messages import question, refusal  # noqa: PLC0415  # compares tables

        clauses = table.account(tool, call)
        if decision.effect is Effect.ASK:
            return question(tool, call, decision, clauses)
        return refusal(tool, decision, clauses) + self.remains(standing, table.moved, tool)

    def _question(self, started: Decision) -> str:
        from policy.adapters.messages import question  # noqa: PLC0415  # as above

        return question("Agent", self.event.call, started)

    def _starting(self, project: BaseProject, chain: Chain) -> Iterator[ProjectVerdict]:
        """Yield the verdicts on starting each agent that the host may mean by the name."""
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
                yield ProjectVerdict(started, partial(self._question, started))


def _denied(denied: SpawnDenied) -> ProjectVerdict:
    from policy.adapters.messages import spawn_denial  # noqa: PLC0415  # compares tables

    return ProjectVerdict(denied.decision, partial(spawn_denial, denied))


def _hook_call(
    event: Event,
    projects: Iterable[BaseProject],
    place: Rooted,
    remains: Callable[[Standing, Table, str], str],
    root: str = "",
) -> HookCall:
    """Return the call of *event* with its standings. Raises PolicyError if there is none."""
    offered = list(projects)
    ours = [project for project in offered if project.host == _OURS]
    declared = [each for each in offered if each.host == HOST and not each.root]
    if not ours and not declared:
        raise PolicyError(NO_POLICY)
    if event.tool in SPAWNING and event.call.get("subagent_type") is None:
        # The host starts this agent for a call without a name.
        agent = event.call.get("agent", "general-purpose")
        event = evolve(event, call={**event.call, "subagent_type": agent})
    types = started_by(event)
    standings = []
    for project in (*ours, *declared):
        title = distinguishing_name(project, offered)
        try:
            chains = chains_of(project, event, types, root)
            chain = met(chains)
        except SpawnDenied as denied:
            standings.append(Standing(project, title, None, (), None, denied))
            continue
        names = chain.names if len(chains) == 1 else ()
        standings.append(Standing(project, title, chain, names, place.decider(chain.table)))
    return HookCall(event, tuple(standings), remains)


def _letters(name: str) -> str:
    return "".join(letter for letter in name.casefold() if letter.isalnum())
