"""From a call and a chain to an answer that explains itself."""

from __future__ import annotations

from policy.chain import READINGS, Chain, Place, SpawnDenied
from policy.cli.calls import Asked
from policy.cli.given import Given
from policy.decision import Decision, Reason
from policy.dialect import Dialect
from policy.effect import Effect
from policy.errors import PolicyError
from policy.finding import Finding
from policy.language.mistakes import closest
from policy.projects import Offered, told_apart
from policy.render.check_text import Answer
from policy.render.words import quoted
from policy.table import Table

__all__ = ["Asking", "dialect_of"]

_Walk = tuple[Chain, SpawnDenied | None]


def dialect_of(table: Table) -> Dialect:
    """Return how the host of *table* reads calls; as our notation does where it has no rule."""
    for part in table.use.parts:
        if part.rules.dialect.name:
            return part.rules.dialect
    from policy.hosts.notation import SEMANTICS  # noqa: PLC0415  # seldom needed

    return SEMANTICS.dialect


class Asking:
    """Answers calls of one policy, in one reading."""

    def __init__(self, policy: Given, chain: tuple[str, ...], reading: str) -> None:
        self.policy = policy
        self.chain = chain
        self.reading = reading
        self._projects: dict[str, Offered] = {}
        self._walks: dict[tuple[str, tuple[str, ...]], _Walk] = {}

    def answer(self, asked: Asked) -> Answer:
        """Return what a call gets. A call that cannot be read, of a stream, is denied.

        Raises:
            PolicyError: the call was written by hand, or the chain that all calls
                have is none.

        """
        if asked.problem:
            return self._refused(asked, asked.problem)
        try:
            return self._answer(asked)
        except PolicyError as error:
            if not asked.chain:
                raise
            return self._refused(asked, error.message)

    def findings(self) -> tuple[Finding, ...]:
        """Return what is the matter with the projects that were asked about."""
        return self.policy.findings(self._projects.values())

    def told_apart(self, title: str) -> str:
        """Return what tells a project that was asked about from others; "" where none is alike."""
        return told_apart(self._projects[title], self.policy.projects.projects)

    def _answer(self, asked: Asked) -> Answer:
        names = asked.chain or self.chain or self._only_start()
        project, first = self.policy.projects.find(names[0])
        self._projects[project.title] = project
        names = (first, *names[1:])
        chain, denied = self._walk(project, names, self.reading)
        tool, call = asked.tool, asked.call
        if asked.text:
            # What is written as a matcher is read as one, which takes a parser.
            from policy.claims import call_of  # noqa: PLC0415
            from policy.language.parse import parse_matcher  # noqa: PLC0415

            tool, call = call_of(parse_matcher(asked.text), dialect_of(chain.table))
        decision = _decision(chain, denied, tool, call)
        instead = self._otherwise(project, names, tool, call)
        differs = instead is not None and instead.effect is not decision.effect
        return Answer(
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
            instead=instead if differs else None,
            clauses=() if denied else chain.account(tool, call),
        )

    def _otherwise(
        self, project: Offered, names: tuple[str, ...], tool: str, call: dict[str, object]
    ) -> Decision | None:
        """Return what the other reading decides; None where it was not compiled that far."""
        other = next(reading for reading in READINGS if reading != self.reading)
        try:
            chain, denied = self._walk(project, names, other)
        except PolicyError:
            return None
        if denied is not None and denied.reason == "not-compiled":
            return None
        return _decision(chain, denied, tool, call)

    def _refused(self, asked: Asked, problem: str) -> Answer:
        decision = Decision(Effect.DENY, Reason.MALFORMED)
        chain = asked.chain or self.chain
        return Answer(
            chain, asked.tool, asked.call, decision, self.reading, "", "", problem=problem
        )

    def _only_start(self) -> tuple[str, ...]:
        """Return the chain of the one agent that starts chains.

        Raises:
            PolicyError: there is none, or there are several.

        """
        label, projects = self.policy.projects.label, self.policy.projects.projects
        starts = [
            name if len(projects) == 1 else f"{project.title}:{name}"
            for project in projects
            for name in project.starts
        ]
        if len(starts) == 1:
            return (starts[0],)
        if not starts:
            reports = [f for f in self.policy.findings() if f.severity.value == "error"]
            why = f"; {reports[0].place}: {reports[0].message}" if reports else ""
            msg = f"no agent starts a chain{why}"
            raise PolicyError(msg, file=label)
        msg = f"{len(starts)} agents start chains"
        raise PolicyError(
            msg,
            file=label,
            help=f"name one of {quoted(starts)} with --chain",
        )

    def _walk(self, project: Offered, names: tuple[str, ...], reading: str) -> _Walk:
        """Return the chain as far as it goes, and what keeps it from going on.

        Raises:
            PolicyError: there is no such agent, or no chain begins with the first.

        """
        key = (f"{project.title} {reading}", names)
        if key not in self._walks:
            place = self.policy.projects.place_of(project)
            self._walks[key] = _walked(project, names, reading, place)
        return self._walks[key]


def _walked(project: Offered, names: tuple[str, ...], reading: str, place: Place) -> _Walk:
    agents = project.reading(reading).agents
    for name in names:
        if name not in agents:
            msg = f"there is no agent {quoted([name])} in {quoted([project.title])}"
            raise PolicyError(
                msg,
                help=closest(name, agents) or f"there are {quoted(agents)}",
            )
    try:
        chain = Chain.start(names[0], project.reading(reading), place)
    except SpawnDenied as denied:
        raise PolicyError(str(denied)) from None
    for name in names[1:]:
        try:
            chain = chain.spawn(name)
        except SpawnDenied as denied:
            return chain, denied
    return chain, None


def _decision(
    chain: Chain, denied: SpawnDenied | None, tool: str, call: dict[str, object]
) -> Decision:
    if denied is None:
        return chain.decide(tool, call)
    # An agent that is never started makes no call.
    reason = _REASONS.get(denied.reason, Reason.DEFAULT)
    return Decision(Effect.DENY, reason, denied.because, (denied.link,), chain.table.hash)


_REASONS = {reason.value: reason for reason in Reason}
