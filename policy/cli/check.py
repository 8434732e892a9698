"""``policy check``: decide one call, or a stream of calls, and explain."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

import attrs

from policy.analysis.records.record import Record, Recorder
from policy.cli.console import Console
from policy.cli.options import Hosts
from policy.cli.outputs import file_errors
from policy.cli.policies import (
    DecidingPolicy,
    chain_of,
    compiled_at,
    dialect_of,
    policy_of,
)
from policy.cli.report.as_json import dumps
from policy.cli.report.check import CheckAnswer, answer_json, answer_markdown, answer_text
from policy.cli.report.text import quoted
from policy.core import limits
from policy.core.decision import Decision, Reason
from policy.core.effect import Effect
from policy.core.errors import PolicyError
from policy.core.finding import Finding
from policy.core.source import Source
from policy.files.opening import is_unreadable
from policy.language.mistakes import closest
from policy.tables.chain import READINGS, CallPlace, Chain, SpawnDenied
from policy.tables.projects import Offered, told_apart

__all__ = ["run"]


def run(options: argparse.Namespace, console: Console) -> int:
    """Decide the calls, and return the exit status."""
    found, words = _path_and_words(options, console)
    checker = _Checker(found, chain_of(options.chain) if options.chain else (), options.reading)
    recorder = Recorder(Path(options.record), options.redact) if options.record else None
    status = 0
    for number, asked in enumerate(_requests(options, words)):
        answer = checker.answer(asked)
        if recorder is not None and not answer.problem:
            record = Record.of(answer.chain, answer.tool, answer.call, answer.decision)
            recorder.append(attrs.evolve(record, project=checker.told_apart(answer.project)))
        _show(answer, options.format, found, console, first=number == 0)
        status = max(status, _status(answer))
    # An unreadable file may hold a rule about these calls.
    unreadable = [finding for finding in checker.findings() if is_unreadable(finding)]
    if not unreadable:
        return status
    from policy.cli.report.findings import findings_report  # noqa: PLC0415  # rarely needed

    console.complain(findings_report(unreadable, console.errors))
    return 2


def _status(answer: CheckAnswer) -> int:
    if answer.problem:
        return 2
    return 0 if answer.decision.effect is Effect.ALLOW else 1


def _path_and_words(
    options: argparse.Namespace, console: Console
) -> tuple[DecidingPolicy, list[str]]:
    """Return the policy, and the words that are calls.

    The first word is a path before it is a revision, and a revision before it is a call.
    """
    words: list[str] = options.words
    needs_calls = not (options.calls or options.tool)
    if options.input is not None and not options.tool:
        msg = "expected `--tool` with `--input`"
        raise PolicyError(msg)
    if options.calls and options.tool:
        msg = "expected `--calls` or `--tool`, found both"
        raise PolicyError(msg)
    if options.start:
        words = words[1:] if words and Path(words[0]).is_dir() else words
    elif words and (not needs_calls or len(words) > 1 or Path(words[0]).exists()):
        found = compiled_at(words[0], Hosts.of(options), options.root)
        if found is None:
            found = _files(words[0], options, console, needed=not needs_calls)
        if found is not None:
            return found, _calls(words[1:], needed=needs_calls)
    from policy.cli.inputs import load_here  # noqa: PLC0415  # loads parsers

    every = bool(options.chain or options.calls)
    hosts = Hosts.of(options)
    found = policy_of(load_here(".", console.progress, hosts, options.root, every=every))
    return found, _calls(words, needed=needs_calls)


def _files(
    word: str, options: argparse.Namespace, console: Console, *, needed: bool
) -> DecidingPolicy | None:
    """Return the policy in the files at *word*; None where it is no path and need not be one."""
    from policy.cli.inputs import read  # noqa: PLC0415  # loads parsers
    from policy.files.opening import open_tree  # noqa: PLC0415  # the same

    try:
        tree = open_tree(word)
    except PolicyError:
        if needed:
            raise
        return None
    return policy_of(read(tree, console.progress, Hosts.of(options), options.root))


def _calls(words: list[str], *, needed: bool) -> list[str]:
    if needed and not words:
        msg = "expected a call"
        raise PolicyError(msg, help="write `policy check . 'Bash(git push)'`; see --help")
    if words and not needed:
        msg = "expected a path alone beside `--tool` or `--calls`, found two arguments"
        raise PolicyError(msg)
    return words


def _requests(options: argparse.Namespace, words: list[str]) -> Iterator[CallRequest]:
    if options.calls:
        yield from _stream(options.calls)
    elif options.tool:
        yield _from_options(options.tool, options.input)
    else:
        yield from (CallRequest(text=word) for word in words)


def _stream(name: str) -> Iterator[CallRequest]:
    if name == "-":
        yield from _from_lines(_decoded(sys.stdin.buffer), "standard input")
        return
    with file_errors(name, "cannot be read"), Path(name).open("rb") as lines:
        yield from _from_lines(_decoded(lines), name)


def _decoded(lines: Iterable[bytes]) -> Iterator[str]:
    # A line that is not UTF-8 is reported as a line that is not JSON.
    for line in lines:
        yield line.decode("utf-8", "surrogateescape")


def _show(
    answer: CheckAnswer, form: str, found: DecidingPolicy, console: Console, *, first: bool
) -> None:
    if form == "json":
        console.line(dumps(answer_json(answer), indent=None))
        return
    if form == "markdown":
        console.write("".join(f"{line}\n" for line in answer_markdown(answer)))
        return
    lines = answer_text(answer, found.spans(answer.decision.because), console.page)
    console.line("\n".join(lines if first else ["", *lines]))


# --- calls ------------------------------------------------------------------------


@attrs.frozen
class CallRequest:
    """A call to decide.

    Attributes:
        tool: its name.
        call: its arguments.
        chain: of the agent that calls; () for the chain of `--chain`.
        text: the call in our notation, instead of the two.
        problem: why the call is invalid, or "".

    """

    tool: str = ""
    call: dict[str, object] = attrs.field(factory=dict)
    chain: tuple[str, ...] = ()
    text: str = ""
    problem: str = ""


def _from_options(tool: str, text: str | None) -> CallRequest:
    """Return the call of ``--tool`` and ``--input``.

    Raises:
        PolicyError: *text* is not a JSON object.

    """
    return CallRequest(tool, {} if text is None else _object(text, Source("--input", text)))


def _from_lines(lines: Iterable[str], name: str) -> Iterator[CallRequest]:
    """Yield the call of each line that is not blank; an invalid call has a `problem`."""
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            yield _from_line(line.strip(), Source(name, line.strip()))
        except PolicyError as error:
            yield CallRequest(problem=f"line {number:,} of {name}: {error.message}")


def _from_line(line: str, source: Source) -> CallRequest:
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
        msg = "a key is there twice"
        raise ValueError(msg)
    return value


def _no_number(text: str) -> float:
    msg = f"{text} is no number"
    raise ValueError(msg)


# --- answers ----------------------------------------------------------------------

_Walk = tuple[Chain, SpawnDenied | None]


class _Checker:
    """Decides calls by one policy, in one reading."""

    def __init__(self, policy: DecidingPolicy, chain: tuple[str, ...], reading: str) -> None:
        self.policy = policy
        self.chain = chain
        self.reading = reading
        self._projects: dict[str, Offered] = {}
        self._walks: dict[tuple[str, tuple[str, ...]], _Walk] = {}

    def answer(self, asked: CallRequest) -> CheckAnswer:
        """Return what a call gets. An invalid call of a stream is denied.

        Raises:
            PolicyError: the call is invalid and not of a stream, or `--chain` is no chain.

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
        """Return the findings of the projects of the calls so far."""
        return self.policy.findings(self._projects.values())

    def told_apart(self, title: str) -> str:
        """Return what distinguishes a project of the calls so far; "" where no other is alike."""
        return told_apart(self._projects[title], self.policy.projects.projects)

    def _answer(self, asked: CallRequest) -> CheckAnswer:
        names = asked.chain or self.chain or self._only_start()
        project, first = self.policy.projects.find(names[0])
        self._projects[project.title] = project
        names = (first, *names[1:])
        chain, denied = self._walk(project, names, self.reading)
        tool, call = asked.tool, asked.call
        if asked.text:
            # Written as a matcher, so reading it takes a parser.
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
        """Return the decision of the other reading; None where it was not compiled."""
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
            help=f"name one of {quoted(starts)} with --chain, or a folder with --from",
        )

    def _walk(self, project: Offered, names: tuple[str, ...], reading: str) -> _Walk:
        """Return the chain as far as it goes, and the denial that ends it.

        Raises:
            PolicyError: an agent is unknown, or the first one starts no chain.

        """
        key = (f"{project.title} {reading}", names)
        if key not in self._walks:
            place = self.policy.projects.place_of(project)
            self._walks[key] = _walked(project, names, reading, place)
        return self._walks[key]


def _walked(project: Offered, names: tuple[str, ...], reading: str, place: CallPlace) -> _Walk:
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
