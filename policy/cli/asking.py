"""From a call and a chain on the command line to an answer that explains itself."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

import attrs

from policy.cli.given import DecidingPolicy
from policy.cli.report.check import CheckAnswer
from policy.cli.report.text import quoted
from policy.core import limits
from policy.core.decision import Decision, Reason
from policy.core.effect import Effect
from policy.core.errors import PolicyError
from policy.core.finding import Finding
from policy.core.source import Source
from policy.language.mistakes import closest
from policy.tables.chain import READINGS, Chain, Place, SpawnDenied
from policy.tables.dialect import Dialect
from policy.tables.projects import Offered, told_apart
from policy.tables.table import Table

__all__ = [
    "Asking",
    "CallRequest",
    "chain_of",
    "dialect_of",
    "from_lines",
    "from_options",
    "from_word",
]


@attrs.frozen
class CallRequest:
    """A call somebody asks about.

    Attributes:
        tool: its name.
        call: its arguments.
        chain: who calls, or () for the chain that all calls have.
        text: the call in our notation, in place of the two.
        problem: why there is no such call, or "".

    """

    tool: str = ""
    call: dict[str, object] = attrs.field(factory=dict)
    chain: tuple[str, ...] = ()
    text: str = ""
    problem: str = ""


def chain_of(text: str) -> tuple[str, ...]:
    """Return the chain written as ``main>explore``.

    Raises:
        PolicyError: a link has no name.

    """
    names = tuple(name.strip() for name in text.split(">"))
    if not all(names):
        msg = f"expected agents between `>`, found `{text}`"
        raise PolicyError(msg, help="a chain is written `main>explore>worker`")
    return names


def from_word(word: str) -> CallRequest:
    """Return the call that one argument of the command is."""
    return CallRequest(text=word)


def from_options(tool: str, text: str | None) -> CallRequest:
    """Return the call of ``--tool`` and ``--input``.

    Raises:
        PolicyError: *text* is not a JSON object.

    """
    return CallRequest(tool, {} if text is None else _object(text, Source("--input", text)))


def from_lines(lines: Iterable[str], name: str) -> Iterator[CallRequest]:
    """Yield the call of each line that is not blank; one that is no call has a problem."""
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            yield _asked(line.strip(), Source(name, line.strip()))
        except PolicyError as error:
            yield CallRequest(problem=f"line {number:,} of {name}: {error.message}")


def _asked(line: str, source: Source) -> CallRequest:
    value = _object(line, source)
    tool, call, chain = value.get("tool"), value.get("input", {}), value.get("chain", [])
    if not isinstance(tool, str) or not tool:
        msg = "expected the name of a tool as `tool`"
        raise PolicyError(msg, source.whole())
    if not isinstance(call, dict):
        msg = "expected an object as `input`"
        raise PolicyError(msg, source.whole())
    if isinstance(chain, str):
        chain = chain_of(chain)
    if not isinstance(chain, (list, tuple)) or not all(isinstance(name, str) for name in chain):
        msg = "expected names of agents as `chain`"
        raise PolicyError(msg, source.whole())
    return CallRequest(tool, call, tuple(chain))


def _object(text: str, source: Source) -> dict[str, object]:
    if len(text) > limits.CALL_CHARACTERS:
        msg = "the call is longer than any call that is looked at"
        raise PolicyError(msg)
    try:
        value = json.loads(text, object_pairs_hook=_once, parse_constant=_no_number)
    except json.JSONDecodeError as error:
        span = source.span(min(error.pos, len(text)), min(error.pos + 1, len(text)))
        msg = f"this is not JSON: {error.msg.lower()}"
        raise PolicyError(msg, span) from None
    except (ValueError, RecursionError) as error:
        msg = f"this is not JSON: {str(error)[:100]}"
        raise PolicyError(msg, source.whole()) from None
    if not isinstance(value, dict):
        help_ = 'write `{"command": "git push"}`'
        msg = "expected a JSON object"
        raise PolicyError(msg, source.whole(), help=help_)
    return value


def _once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    value = dict(pairs)
    if len(value) < len(pairs):
        # Which of the two the tool would take, nobody can know.
        msg = "a key is there twice"
        raise ValueError(msg)
    return value


def _no_number(text: str) -> float:
    msg = f"{text} is no number"
    raise ValueError(msg)


# From a call and a chain to an answer that explains itself.


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

    def __init__(self, policy: DecidingPolicy, chain: tuple[str, ...], reading: str) -> None:
        self.policy = policy
        self.chain = chain
        self.reading = reading
        self._projects: dict[str, Offered] = {}
        self._walks: dict[tuple[str, tuple[str, ...]], _Walk] = {}

    def answer(self, asked: CallRequest) -> CheckAnswer:
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

    def _answer(self, asked: CallRequest) -> CheckAnswer:
        names = asked.chain or self.chain or self._only_start()
        project, first = self.policy.projects.find(names[0])
        self._projects[project.title] = project
        names = (first, *names[1:])
        chain, denied = self._walk(project, names, self.reading)
        tool, call = asked.tool, asked.call
        if asked.text:
            # What is written as a matcher is read as one, which takes a parser.
            from policy.hosts.claims import call_of  # noqa: PLC0415
            from policy.language.parse import parse_matcher  # noqa: PLC0415

            tool, call = call_of(parse_matcher(asked.text), dialect_of(chain.table))
        decision = _decision(chain, denied, tool, call)
        instead = self._otherwise(project, names, tool, call)
        differs = instead is not None and instead.effect is not decision.effect
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

    def _refused(self, asked: CallRequest, problem: str) -> CheckAnswer:
        decision = Decision(Effect.DENY, Reason.MALFORMED)
        chain = asked.chain or self.chain
        return CheckAnswer(
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
