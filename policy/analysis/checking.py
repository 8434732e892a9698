"""What a call gets along a chain of agents, in both readings, and what would change that.

A compiled policy needs no parser, so modules that have one are imported where they are needed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from functools import cache
from itertools import chain as chained
from typing import TYPE_CHECKING, Any, Final

from policy.core import expressions as re
from policy.core import limits
from policy.core.decision import Clause, Decision, Reason
from policy.core.effect import Effect
from policy.core.errors import PolicyError
from policy.core.source import cited, quoted
from policy.core.values import evolve, field, frozen
from policy.language.mistakes import closest
from policy.tables.chain import READINGS, Chain, SpawnDenied
from policy.tables.projects import BaseProject, Compiled, Projects, distinguishing_name
from policy.tables.table import SPAWN_TOOL

if TYPE_CHECKING:
    from policy.analysis.remedy import Remedy
    from policy.tables.dialect import Dialect
    from policy.tables.table import Table


@frozen
class CallRequest:
    """A call to decide."""

    tool: str = ""
    call: dict[str, object] = field(factory=dict)
    chain: tuple[str, ...] = ()  # of the agent that calls; () for the chain of `--chain`
    text: str = ""  # the call in our notation, instead of tool and call
    problem: str = ""  # why the call is invalid


def requests_of(lines: Iterable[bytes], name: str) -> Iterator[CallRequest]:
    """Yield the call of each line that is not blank; an invalid call has a `problem`."""
    from policy.core.call_json import parsed  # noqa: PLC0415  # of a stream alone

    for number, line in enumerate(lines, 1):
        # A line that is not UTF-8 is reported as a line that is not JSON.
        text = line.decode("utf-8", "surrogateescape").strip()
        if not text:
            continue
        problem = "the call is longer than any call that is looked at"
        try:
            if len(text) <= limits.CALL_CHARACTERS:
                yield CallRequest(*call_of(parsed(text)))
                continue
        except PolicyError as error:
            problem = error.message
        except (ValueError, RecursionError):
            problem = "this is not JSON"
        yield CallRequest(problem=f"line {number:,} of {name}: {problem}")


_KEYS: Final = ("tool", "input", "chain")


def call_of(
    value: object, keys: tuple[str, str, str] = _KEYS
) -> tuple[str, dict[str, object], tuple[str, ...]]:
    """Return tool, arguments and chain of a call in JSON. Raises PolicyError for no such call."""
    if not isinstance(value, dict):
        raise PolicyError("expected a JSON object")
    tool, call, chain = (value.get(key) for key in keys)
    if not isinstance(tool, str) or not tool:
        raise PolicyError(f"expected the name of a tool as `{keys[0]}`")
    if call is None and keys == _KEYS:
        other = next((key for key, each in value.items() if isinstance(each, dict)), None)
        if other is not None:  # what is not read must not be decided as a call without arguments
            raise PolicyError(f"expected the arguments as `input`, found an object as `{other}`")
    call = {} if call is None else call
    if not isinstance(call, dict):
        raise PolicyError(f"expected an object as `{keys[1]}`")
    chain = chain_of(chain) if isinstance(chain, str) else chain or ()
    if not isinstance(chain, list | tuple) or not all(isinstance(name, str) for name in chain):
        raise PolicyError(f"expected names of agents as `{keys[2]}`")
    return tool, call, tuple(chain)


def chain_of(text: str) -> tuple[str, ...]:
    """Return the chain written as ``main>explore``. Raises PolicyError for an empty name."""
    names = tuple(name.strip() for name in text.split(">"))
    if not all(names):
        help_ = "a chain is written `main>explore>worker`"
        raise PolicyError(f"expected agents between `>`, found `{text}`", help=help_)
    return names


@frozen
class CheckAnswer:
    """The answer to one call."""

    chain: tuple[str, ...]  # all the links that were asked for
    tool: str
    call: Mapping[str, object]
    decision: Decision
    reading: str  # ``attenuated`` or ``enforced``
    project: str  # its `Project.title`
    profile: str  # host and version
    denied: str = ""  # the agent of the chain that may not be started
    # Agent of the chain -> the links that must confirm its start.
    confirm: Mapping[str, tuple[str, ...]] = field(factory=dict)
    instead: Decision | None = None  # of the other reading, where it differs
    problem: str = ""  # why the call is invalid
    message: str = ""  # the reason as a sentence, where the decision has none
    clauses: tuple[Clause, ...] = ()  # what a shell command does, one by one
    # Rules that would allow the call, where no rule denies it or asks for it; of an allowed call
    # one that would deny it.
    remedy: Remedy | None = None
    # Permission mode -> what the call gets in it; None where that was not asked.
    modes: Mapping[str, Effect] | None = None
    starts: tuple[str, ...] = ()  # who starts chains, if the first of the chain does not
    hint: str = ""  # what is probably wrong with the call as a person wrote it

    @property
    def agent(self) -> str:
        """The agent that calls, or ""."""
        return self.chain[-1] if self.chain else ""


class Checker:
    """Decides calls by one policy, in one reading, or with *modes* in each permission mode too.

    The agents of *chain* make the calls that name none.
    """

    def __init__(
        self, projects: Projects[Any], chain: tuple[str, ...], reading: str, *, modes: bool = False
    ) -> None:
        self.projects, self.chain, self.reading, self.modes = projects, chain, reading, modes
        self.asked: dict[str, BaseProject] = {}  # title -> project of the calls so far
        self._of = cache(lambda title, *rest: _walked(projects, self.asked[title], *rest))

    def answer(self, asked: CallRequest) -> CheckAnswer:
        """Return what a call gets. An invalid one is denied in a stream, else PolicyError."""
        try:
            if not asked.problem:
                return self._answer(asked)
            problem = asked.problem
        except PolicyError as error:
            if not asked.chain:
                raise
            problem = error.message
        decision = Decision(Effect.DENY, Reason.MALFORMED)
        chain = asked.chain or self.chain
        return CheckAnswer(
            chain, asked.tool, asked.call, decision, self.reading, "", "", problem=problem
        )

    def distinguishing_name(self, title: str) -> str:
        """Return the host or title of a project that was asked; "" if no other shares a start."""
        return distinguishing_name(self.asked[title], self.projects.projects)

    def _answer(self, asked: CallRequest) -> CheckAnswer:
        names = asked.chain or self.chain or self._only_start()
        project, first = self.projects.find(names[0])
        self.asked[project.title] = project
        names = (first, *names[1:])
        chain, denied = self._of(project.title, names, self.reading)
        tool, call, hint = asked.tool, asked.call, ""
        if asked.text:
            # Written as a matcher, so reading it takes a parser.
            from policy.hosts.claims import call_of  # noqa: PLC0415
            from policy.hosts.notation.semantics import dialect_of  # noqa: PLC0415
            from policy.language.parse import parse_matcher  # noqa: PLC0415

            dialect = dialect_of([chain.table])
            tool, call = call_of(parse_matcher(asked.text), dialect)
            hint = _misspelt(project, chain.table, dialect, tool, call)
        decision = instead = _decided(chain, denied, tool, call)
        if decision.reason is Reason.MALFORMED:
            hint = _unreadable(chain.table, tool, call) or hint
        other = next(reading for reading in READINGS if reading != self.reading)
        with suppress(PolicyError):  # it may have no such chain
            instead = _decided(*self._of(project.title, names, other), tool, call)
        # A person may start more agents; a compiled policy does not hold them.
        starting = getattr(project, "all_starts", project.starts)
        # No rule gives an agent a tool that it does not have.
        no_remedy = denied or hint or instead.reason is Reason.UNAVAILABLE
        return CheckAnswer(
            chain=names,
            tool=tool,
            call=call,
            decision=decision,
            reading=self.reading,
            project=project.title,
            profile=project.profile,
            denied=denied.agent if denied else "",
            message=str(denied) if denied else "",
            confirm={link.name: link.confirm for link in chain.links if link.confirm},
            instead=instead if instead.effect is not decision.effect else None,
            clauses=() if denied else chain.account(tool, call),
            remedy=None if no_remedy else self._remedy(asked, project.host, chain, tool, call),
            modes=self._by_mode(project, names, tool, call) if self.modes else None,
            starts=() if first in starting else project.starts,
            hint=hint,
        )

    def _by_mode(
        self, project: BaseProject, names: tuple[str, ...], tool: str, call: dict[str, object]
    ) -> dict[str, Effect]:
        """Return what the call gets in each permission mode; nothing for a host without modes."""
        if isinstance(self.projects, Compiled):
            raise PolicyError("a compiled policy holds one mode", help="name the files it is of")
        every: Any = (project, *getattr(project, "modes", {}).values())
        walked = {e.mode: _walked(self.projects, e, names, self.reading) for e in every if e.mode}
        return {mode: _decided(*each, tool, call).effect for mode, each in walked.items()}

    def _remedy(
        self, asked: CallRequest, host: str, chain: Chain, tool: str, call: dict[str, object]
    ) -> Remedy | None:
        """Return what would allow the call, or deny it, for a policy whose files can be changed."""
        decision = chain.decide(tool, call)
        allowed = decision.effect is Effect.ALLOW
        # A stream of calls asks for no advice on what is allowed.
        wanted = asked.text if allowed else decision.reason is Reason.DEFAULT
        if isinstance(self.projects, Compiled) or not wanted:
            return None
        from policy.analysis.remedy import denial, remedy  # noqa: PLC0415  # loads parsers
        from policy.hosts.front_ends import RULE_FILES  # noqa: PLC0415  # as above

        # Other hosts spell denials in ways of their own.
        if allowed and host not in {*RULE_FILES, "policy"}:
            return None
        found = (denial if allowed else remedy)(chain, tool, call)
        # There the rules of one file are those of every agent.
        return evolve(found, links=()) if found and host in RULE_FILES else found

    def _only_start(self) -> tuple[str, ...]:
        """Return the one agent that starts chains. Raises PolicyError for none, or several."""
        label, projects = self.projects.label, self.projects.projects
        starts = [
            name if len(projects) == 1 else f"{project.title}:{name}"
            for project in projects
            for name in project.starts
        ]
        if len(starts) > 1:
            msg = f"{len(starts)} agents start chains"
            raise PolicyError(msg, file=label, help=f"name one of {quoted(starts)} with --chain")
        if not starts:
            findings = getattr(self.projects, "findings", ())
            errors = [each for each in findings if each.severity.value == "error"]
            why = f"; {errors[0].place}: {errors[0].message}" if errors else ""
            raise PolicyError(f"no agent starts a chain{why}", file=label)
        return (starts[0],)


# The end of a call, and the start of another one.
_NEXT_CALL: Final = re.compile(r"\)[\s,;]+[A-Z]\w*\(")


def _misspelt(
    project: BaseProject, table: Table, dialect: Dialect, tool: str, call: Mapping[str, object]
) -> str:
    """Return what is probably wrong with a call that a person wrote, or ""."""
    text = next((value for value in call.values() if isinstance(value, str)), "")
    # Behind `(` and before `)`, which belong to the call.
    if _NEXT_CALL.search(f"({text})"):
        return "this is one call: write each call as an argument of its own"
    classes = getattr(project, "tool_classes", {})
    named = {*dialect.arguments, *dialect.aliases, *chained(*classes.values())}
    for part in table.use.parts:
        named |= part.rules.names
    if dialect.canonical(tool) not in named and not tool.startswith("mcp__"):
        near = closest(tool, [name for name in sorted(named) if abs(len(name) - len(tool)) < 2])
        return f"no rule names a tool `{tool}`; {near}" if near else ""
    agents = project.reading("attenuated").agents
    starts = dialect.canonical(tool) == dialect.canonical(SPAWN_TOOL)
    near = closest(text, agents) if starts and text and text not in agents else ""
    return f"there is no agent `{text}`; {near}" if near else ""


def _unreadable(table: Table, tool: str, call: Mapping[str, object]) -> str:
    """Return which argument of a call cannot be read, or ""."""
    for row, _ in table.lookup(tool).rows:
        fields = row.argument.fields
        given = [name for name in fields if name in call]
        if fields and not given:
            found = quoted(list(call)) or "no argument"
            return f"expected {quoted(fields, last='or')}, found {found}"
        for name in given:
            if call[name] == "" or not isinstance(call[name], str):
                return f"expected a text as `{name}`, found {cited(call[name])}"
    return ""


# A chain as far as it goes, and the denial that ends it.
_Walked = tuple[Chain, SpawnDenied | None]


def _walked(
    projects: Projects[Any], project: BaseProject, names: tuple[str, ...], reading: str
) -> _Walked:
    """Return the chain of agents *names*. Raises PolicyError for an unknown agent or start."""
    agents = project.reading(reading).agents
    for name in names:
        if name not in agents:
            msg = f"there is no agent {quoted([name])} in {quoted([project.title])}"
            raise PolicyError(msg, help=closest(name, agents) or f"there are {quoted(agents)}")
    try:
        chain = Chain.start(names[0], project.reading(reading), projects.place_of(project))
    except SpawnDenied as denied:
        raise PolicyError(str(denied)) from None
    for name in names[1:]:
        try:
            chain = chain.spawn(name)
        except SpawnDenied as denied:
            return chain, denied
    return chain, None


def _decided(
    chain: Chain, denied: SpawnDenied | None, tool: str, call: dict[str, object]
) -> Decision:
    """Return what a call gets. An agent that is never started makes none."""
    if denied is None:
        return chain.decide(tool, call)
    return evolve(denied.decision, table=chain.table.hash)
