"""``policy check``: decide one call, or a stream of calls, and explain."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from policy.cli.console import Console
from policy.cli.options import Hosts
from policy.cli.outputs import file_errors, written
from policy.cli.policies import (
    DecidingPolicy,
    chain_of,
    compiled_at,
    dialect_of,
    policy_of,
)
from policy.cli.report.as_json import Object, because_json, decision_json, dumps
from policy.cli.report.document import Block, Excerpt, Ink, Item, Labelled, Report, Text, joined
from policy.cli.report.terminal import terminal
from policy.cli.report.words import because_text, call, chain_text, effect, explained, quoted, rule
from policy.core import limits
from policy.core.decision import Because, Clause, Decision, Does, Reason
from policy.core.effect import Effect
from policy.core.errors import PolicyError
from policy.core.finding import Finding
from policy.core.source import Source, Span
from policy.core.values import evolve, field, frozen
from policy.language.mistakes import closest
from policy.tables.chain import READINGS, CallPlace, Chain, SpawnDenied
from policy.tables.projects import Offered, told_apart

if TYPE_CHECKING:
    from policy.analysis.remedy import Remedy

__all__ = ["CheckAnswer", "blocks", "clause_rows", "run"]


def run(options: argparse.Namespace, console: Console) -> int:
    """Decide the calls, and return the exit status."""
    found, words = _path_and_words(options, console)
    checker = _Checker(found, chain_of(options.chain) if options.chain else (), options.reading)
    keep = _recording(options, checker) if options.record else None
    answers: list[CheckAnswer] = []
    status = 0
    for number, asked in enumerate(_requests(options, words)):
        answer = checker.answer(asked)
        if keep is not None and not answer.problem:
            keep(answer)
        # A stream of calls is answered call by call.
        if options.format == "json":
            console.line(dumps(_json(answer), indent=None))
        elif options.format == "text":
            console.line("\n" * bool(number) + terminal(_shown(answer, found), console.page)[:-1])
        if options.output or options.format not in {"json", "text"}:
            answers.append(answer)
        status = max(status, _status(answer))
    _write(answers, found, options, console)
    # An unreadable file may hold a rule about these calls.
    return 2 if console.unreadable(checker.findings()) else status


def _recording(options: argparse.Namespace, checker: _Checker) -> Callable[[CheckAnswer], None]:
    from policy.analysis.records.record import Record, Recorder  # noqa: PLC0415  # rarely asked for

    recorder = Recorder(Path(options.record), options.redact)

    def keep(answer: CheckAnswer) -> None:
        record = Record.of(answer.chain, answer.tool, answer.call, answer.decision)
        recorder.append(evolve(record, project=checker.told_apart(answer.project)))

    return keep


def _shown(answer: CheckAnswer, found: DecidingPolicy) -> list[Block]:
    return blocks(answer, found.spans(answer.decision.because))


def _write(
    answers: list[CheckAnswer],
    found: DecidingPolicy,
    options: argparse.Namespace,
    console: Console,
) -> None:
    """Write the answers in the formats that have them all together."""
    report = Report(
        "Calls and what they get",
        lambda: {"answers": [_json(answer) for answer in answers]},
        lambda _: [block for answer in answers for block in _shown(answer, found)],
    )
    for file, form in options.output.items():
        with file_errors(file):
            file.write_text(written(report, form, None), "utf-8", "backslashreplace")
    if options.format not in {"json", "text"}:
        console.write(written(report, options.format, None))


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
        raise PolicyError("expected `--tool` with `--input`")
    if options.calls and options.tool:
        raise PolicyError("expected `--calls` or `--tool`, found both")
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
        raise PolicyError(
            "expected a call", help="write `policy check . 'Bash(git push)'`; see --help"
        )
    if words and not needed:
        raise PolicyError("expected a path alone beside `--tool` or `--calls`, found two arguments")
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


# --- calls ------------------------------------------------------------------------


@frozen
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
    call: dict[str, object] = field(factory=dict)
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
        raise PolicyError("expected the name of a tool as `tool`", source.whole())
    if not isinstance(call, dict):
        raise PolicyError("expected an object as `input`", source.whole())
    if isinstance(chain, str):
        chain = chain_of(chain)
    if not isinstance(chain, (list, tuple)) or not all(isinstance(name, str) for name in chain):
        raise PolicyError("expected names of agents as `chain`", source.whole())
    return CallRequest(tool, call, tuple(chain))


def _object(text: str, source: Source) -> dict[str, object]:
    if len(text) > limits.CALL_CHARACTERS:
        raise PolicyError("the call is longer than any call that is looked at")
    try:
        value = json.loads(text, object_pairs_hook=_once, parse_constant=_no_number)
    except json.JSONDecodeError as error:
        span = source.span(min(error.pos, len(text)), min(error.pos + 1, len(text)))
        raise PolicyError(f"this is not JSON: {error.msg.lower()}", span) from None
    except (ValueError, RecursionError) as error:
        raise PolicyError(f"this is not JSON: {str(error)[:100]}", source.whole()) from None
    if not isinstance(value, dict):
        help_ = 'write `{"command": "git push"}`'
        raise PolicyError("expected a JSON object", source.whole(), help=help_)
    return value


def _once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    value = dict(pairs)
    if len(value) < len(pairs):
        raise ValueError("a key is there twice")
    return value


def _no_number(text: str) -> float:
    raise ValueError(f"{text} is no number")


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
            remedy=None if denied else self._remedy(chain, tool, call, decision),
        )

    def _remedy(
        self, chain: Chain, tool: str, call: dict[str, object], decision: Decision
    ) -> Remedy | None:
        """Return what would allow the call, for a policy whose files can be changed."""
        if self.policy.files is None or decision.reason is not Reason.DEFAULT:
            return None
        from policy.analysis.remedy import remedy  # noqa: PLC0415  # loads parsers

        return remedy(chain, tool, call)

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
            raise PolicyError(f"no agent starts a chain{why}", file=label)
        msg = f"{len(starts)} agents start chains"
        raise PolicyError(
            msg,
            file=label,
            help=f"name one of {quoted(starts)} with --chain",
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


# --- what an answer looks like -----------------------------------------------------


@frozen
class CheckAnswer:
    """The answer to one call.

    Attributes:
        chain: all the links that were asked for.
        tool: the tool.
        call: its arguments.
        decision: the answer.
        reading: ``attenuated`` or ``enforced``.
        project: its `Project.title`.
        profile: host and version.
        denied: the agent of the chain that may not be started, or "".
        confirm: agent of the chain -> the links that must confirm its start.
        instead: the decision of the other reading, where it differs.
        problem: why the call is invalid, or "".
        message: the reason as a sentence, where the decision has none.
        clauses: what a shell command does, one by one.
        remedy: rules that would allow the call, where no rule denies it or asks for it.

    """

    chain: tuple[str, ...]
    tool: str
    call: Mapping[str, object]
    decision: Decision
    reading: str
    project: str
    profile: str
    denied: str = ""
    confirm: Mapping[str, tuple[str, ...]] = field(factory=dict)
    instead: Decision | None = None
    problem: str = ""
    message: str = ""
    clauses: tuple[Clause, ...] = ()
    remedy: Remedy | None = None

    @property
    def agent(self) -> str:
        """The agent that calls, or ""."""
        return self.chain[-1] if self.chain else ""

    @property
    def why(self) -> str:
        """The reason, as a clause."""
        return self.problem or self.message or explained(self.decision, self.agent)


def _json(answer: CheckAnswer) -> Object:
    """Return the JSON shape of an answer."""
    shape = decision_json(answer.chain, answer.tool, answer.call, answer.decision)
    shape |= {
        "message": answer.why,
        "reading": answer.reading,
        "project": answer.project,
        "profile": answer.profile,
    }
    if answer.clauses:
        shape["clauses"] = [_clause_json(clause) for clause in answer.clauses]
    if answer.denied:
        shape["denied_agent"] = answer.denied
    if answer.confirm:
        shape["confirm"] = [
            {"agent": agent, "by": list(by)} for agent, by in answer.confirm.items()
        ]
    if answer.instead is not None:
        shape["other_reading"] = {
            "effect": answer.instead.effect.value,
            "reason": answer.instead.reason.value,
            "because": because_json(answer.instead.because),
        }
    if answer.remedy is not None:
        shape["remedy"] = {"rules": list(answer.remedy.rules), "links": list(answer.remedy.links)}
    if answer.problem:
        shape["error"] = answer.problem
    return shape


def _clause_json(clause: Clause) -> Object:
    """Return the JSON shape of a clause."""
    return {
        "does": clause.does.value,
        "text": clause.text,
        "effect": clause.decision.effect.value,
        "reason": clause.decision.reason.value,
        "because": because_json(clause.decision.because),
        "why": clause.why,
    }


def blocks(answer: CheckAnswer, spans: Mapping[Because, Span]) -> list[Block]:
    """Return an answer; *spans* are the places of its rules."""
    decision = answer.decision
    who = f"{chain_text(answer.chain)} in {answer.project}, {answer.reading}"
    rows: list[tuple[str, Text]] = []
    plain = decision.because and decision.reason is Reason.RULE and not answer.message
    if not plain:
        rows.append(("why", answer.why))
    for number, because in enumerate(decision.because):
        of = f"  (of {because.link})" if because.link else ""
        label = "why" if plain else "rule"
        rows.append(("" if number else label, (rule(because), of)))
    if _says_more(answer.clauses, answer.call, decision):
        rows += clause_rows(answer.clauses)
    if answer.remedy is not None:
        rules = joined((Ink(each, "code") for each in answer.remedy.rules), " and ")
        rows.append(("fix", ("it is allowed with ", rules, f" in `allow` of {_of(answer.remedy)}")))
    rows.append(("chain", who))
    if len(decision.links) > 1 and decision.effect is Effect.ASK:
        some = f"each of {quoted(decision.links)}; some hosts need every one of them to confirm"
        rows.append(("asked by", some))
    for agent, by in answer.confirm.items():
        told = f"starting `{agent}` must be confirmed first: {quoted(by)} asks"
        rows.append(("note", told))
    if answer.instead is not None:
        other = next(reading for reading in READINGS if reading != answer.reading)
        instead: Text = (f"in the {other} reading it is ", effect(answer.instead.effect))
        rows.append(("but", (instead, ": ", because_text(answer.instead, answer.agent))))
    shown = [Excerpt(spans[one], one.effect.value) for one in decision.because if one in spans]
    head = (effect(decision.effect), "  ", call(answer.tool, answer.call))
    return [Item(head, (Labelled(tuple(rows)), *shown))]


def _of(remedy: Remedy) -> str:
    return quoted(remedy.links) if remedy.links else "the policy"


def _says_more(clauses: Sequence[Clause], call: Mapping[str, object], decision: Decision) -> bool:
    """Return whether the clauses of a call add to its decision."""
    if not clauses:
        return False
    first = clauses[0]
    alone = first.does is Does.RUNS and first.text in call.values()
    return len(clauses) > 1 or not alone or first.decision != decision


# Clauses of one command that are shown; a hostile command has thousands.
_MOST = 12
# Characters of unsupported syntax that are shown: it may be a whole statement.
_LONGEST = 60


def clause_rows(clauses: Sequence[Clause]) -> list[tuple[str, Text]]:
    """Return what a command does in its order; files only where they are not simply allowed.

    Of many clauses the strictest are shown, and the others counted.
    """
    told = [
        clause
        for clause in clauses
        if clause.does is Does.RUNS or clause.decision.effect is not Effect.ALLOW
    ]
    strict = sorted(range(len(told)), key=lambda number: (told[number].decision.effect, number))
    texts = [_clause(told[number]) for number in sorted(strict[:_MOST])]
    if len(told) > _MOST:
        texts.append(f"and {len(told) - _MOST:,} more, none of them stricter")
    return [("" if number else "parts", text) for number, text in enumerate(texts)]


def _clause(clause: Clause) -> Text:
    hides = clause.does is Does.HIDES
    does = "" if hides else f"{clause.does.value} "
    shown = clause.text
    if hides and len(shown) > _LONGEST:
        shown = f"{shown[:_LONGEST]}…"
    what: Text = Ink(shown, "code") if shown else "it" if clause.why else _UNKNOWN[clause.does]
    why = clause.why or (" (", _why(clause), ")")
    word = effect(clause.decision.effect)
    return (word, " " * (6 - len(word.text)), does, what, " " if clause.why else "", why)


_UNKNOWN = {
    Does.RUNS: "a program whose name is unknown",
    Does.READS: "a file whose name is unknown",
    Does.WRITES: "a file whose name is unknown",
    Does.REMOVES: "a file whose name is unknown",
    Does.HIDES: "what it may do besides",
}


def _why(clause: Clause) -> Text:
    if clause.decision.because:
        rules = ((f"{b.effect} ", Ink(b.rule, "rule")) for b in clause.decision.because)
        return joined(rules, " and ")
    if clause.does is Does.HIDES:
        return "it may hold commands that were not found"
    reason = clause.decision.reason
    return _WHY.get(reason, reason.value)


_WHY = {
    Reason.DEFAULT: "no rule",
    Reason.CLASSIFIER: "a model decides",
    Reason.PROTECTED: "guarded by the host",
    Reason.UNANALYSABLE: "no rule counts that allows it",
}
