"""``policy check``: decide one call, or a stream of calls, and explain."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from policy.cli.console import Console
from policy.cli.options import Hosts
from policy.cli.outputs import file_errors, publish
from policy.cli.policies import (
    DecidingPolicy,
    chain_of,
    compiled_at,
    dialect_of,
    policy_of,
)
from policy.cli.report import document as doc
from policy.cli.report.as_json import Object, dumps, shape
from policy.cli.report.terminal import terminal
from policy.cli.report.words import (
    because_text,
    call,
    chain_text,
    effect,
    explained,
    quoted,
    rule,
    sentences,
)
from policy.core import limits
from policy.core.decision import Clause, Decision, Does, Reason
from policy.core.effect import Effect
from policy.core.errors import PolicyError
from policy.core.finding import Finding
from policy.core.values import Final, evolve, field, frozen
from policy.language.mistakes import closest
from policy.tables.chain import READINGS, Chain, SpawnDenied
from policy.tables.projects import Offered, Projects, told_apart

if TYPE_CHECKING:
    from policy.analysis.remedy import Remedy


def run(options: argparse.Namespace, console: Console) -> int:
    """Decide the calls, and return the exit status."""
    found, words = _path_and_words(options)
    checker = _Checker(
        found,
        chain_of(options.chain) if options.chain else (),
        options.reading,
        modes=options.modes,
    )
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
            console.line("\n" * bool(number) + terminal(blocks(answer, found), console.page)[:-1])
        if options.output or options.format not in {"json", "text"}:
            answers.append(answer)
        status = max(status, answer.status)
    report = doc.Report(
        "Calls and what they get",
        lambda: {"answers": [_json(answer) for answer in answers]},
        lambda _: [block for answer in answers for block in blocks(answer, found)],
    )
    publish(report, options, console, printed=options.format not in {"json", "text"})
    # An unreadable file may hold a rule about these calls.
    return 2 if console.unreadable(checker.findings()) else status


def _recording(options: argparse.Namespace, checker: _Checker) -> Callable[[CheckAnswer], None]:
    from policy.analysis.records.record import Record, Recorder  # noqa: PLC0415  # rarely asked for

    recorder = Recorder(Path(options.record), options.redact)

    def keep(answer: CheckAnswer) -> None:
        record = Record.of(answer.chain, answer.tool, answer.call, answer.decision)
        recorder.append(evolve(record, project=checker.told_apart(answer.project)))

    return keep


def _path_and_words(options: argparse.Namespace) -> tuple[DecidingPolicy, list[str]]:
    """Return the policy, and the words that are calls.

    The first word is a path before it is a revision, and a revision before it is a call.
    """
    words: list[str] = options.words
    found: DecidingPolicy | None = None
    if options.start:
        words = words[1:] if words and Path(words[0]).is_dir() else words
    elif words and (options.calls or len(words) > 1 or Path(words[0]).exists()):
        found = compiled_at(words[0], Hosts.of(options), options.root)
        found = found or _files(words[0], options)
        words = words[1:] if found else words
    if words and options.calls:
        raise PolicyError("expected a path alone beside `--calls`, found two arguments")
    if not words and not options.calls:
        raise PolicyError(
            "expected a call", help="write `policy check . 'Bash(git push)'`; see --help"
        )
    if found is None:
        from policy.cli.inputs import load_here  # noqa: PLC0415  # loads parsers

        every = bool(options.chain or options.calls)
        found = policy_of(load_here(".", Hosts.of(options), options.root, every=every))
    return found, words


def _files(word: str, options: argparse.Namespace) -> DecidingPolicy | None:
    """Return the policy in the files at *word*; None where it is no path and need not be one."""
    from policy.cli.inputs import read  # noqa: PLC0415  # loads parsers
    from policy.files.opening import open_tree  # noqa: PLC0415  # the same

    try:
        tree = open_tree(word)
    except PolicyError:
        if options.calls:
            raise
        return None
    return policy_of(read(tree, Hosts.of(options), options.root))


def _requests(options: argparse.Namespace, words: list[str]) -> Iterator[CallRequest]:
    if options.calls == "-":
        yield from _from_lines(sys.stdin.buffer, "standard input")
    elif options.calls:
        with file_errors(options.calls, "cannot be read"), Path(options.calls).open("rb") as lines:
            yield from _from_lines(lines, options.calls)
    else:
        yield from (CallRequest(text=word) for word in words)


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


def _from_lines(lines: Iterable[bytes], name: str) -> Iterator[CallRequest]:
    """Yield the call of each line that is not blank; an invalid call has a `problem`."""
    for number, line in enumerate(lines, 1):
        # A line that is not UTF-8 is reported as a line that is not JSON.
        text = line.decode("utf-8", "surrogateescape").strip()
        try:
            if text:
                yield _from_line(text)
        except PolicyError as error:
            yield CallRequest(problem=f"line {number:,} of {name}: {error.message}")


def _from_line(text: str) -> CallRequest:
    from policy.core.call_json import parsed  # noqa: PLC0415  # of a stream alone

    if len(text) > limits.CALL_CHARACTERS:
        raise PolicyError("the call is longer than any call that is looked at")
    try:
        value = parsed(text)
    except (ValueError, RecursionError) as error:
        raise PolicyError(f"this is not JSON: {str(error)[:100]}") from None
    if not isinstance(value, dict):
        raise PolicyError("expected a JSON object")
    tool, call, chain = value.get("tool"), value.get("input", {}), value.get("chain", [])
    if not isinstance(tool, str) or not tool:
        raise PolicyError("expected the name of a tool as `tool`")
    if not isinstance(call, dict):
        raise PolicyError("expected an object as `input`")
    if isinstance(chain, str):
        chain = chain_of(chain)
    if not isinstance(chain, (list, tuple)) or not all(isinstance(name, str) for name in chain):
        raise PolicyError("expected names of agents as `chain`")
    return CallRequest(tool, call, tuple(chain))


# --- answers ----------------------------------------------------------------------


class _Checker:
    """Decides calls by one policy, in one reading."""

    def __init__(
        self, policy: DecidingPolicy, chain: tuple[str, ...], reading: str, *, modes: bool = False
    ) -> None:
        self.policy = policy
        self.modes = modes
        self.chain = chain
        self.reading = reading
        self._projects: dict[str, Offered] = {}
        self._of = cache(
            lambda title, *rest: _CheckedChain.of(policy.projects, self._projects[title], *rest)
        )

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
        checked = self._of(project.title, names, self.reading)
        chain, denied = checked.chain, checked.denied
        tool, call = asked.tool, asked.call
        if asked.text:
            # Written as a matcher, so reading it takes a parser.
            from policy.hosts.claims import call_of  # noqa: PLC0415
            from policy.language.parse import parse_matcher  # noqa: PLC0415

            tool, call = call_of(parse_matcher(asked.text), dialect_of(chain.table))
        decision = checked.decide(tool, call)
        other = self._otherwise(project.title, names)
        instead = other.decide(tool, call) if other else decision
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
            remedy=None if denied else self._remedy(chain, tool, call, decision),
            modes=self._by_mode(project, names, tool, call) if self.modes else None,
            starts=() if first in self._starting(project) else project.starts,
        )

    def _starting(self, project: Offered) -> tuple[str, ...]:
        """Return the agents that start chains, or that a person may start."""
        if self.policy.files is None:
            return project.starts
        from policy.hosts.project import Project  # noqa: PLC0415  # compiled policies need none

        return project.all_starts if isinstance(project, Project) else project.starts

    def _by_mode(
        self, project: Offered, names: tuple[str, ...], tool: str, call: dict[str, object]
    ) -> dict[str, Effect]:
        """Return what the call gets in each permission mode; nothing for a host without modes."""
        from policy.hosts.project import Project  # noqa: PLC0415  # compiled policies need none

        if not isinstance(project, Project):
            raise PolicyError("a compiled policy holds one mode", help="name the files it is of")
        modes = (each for each in (project, *project.modes.values()) if each.mode)
        chains = {
            each.mode: _CheckedChain.of(self.policy.projects, each, names, self.reading)
            for each in modes
        }
        return {mode: chain.decide(tool, call).effect for mode, chain in chains.items()}

    def _remedy(
        self, chain: Chain, tool: str, call: dict[str, object], decision: Decision
    ) -> Remedy | None:
        """Return what would allow the call, for a policy whose files can be changed."""
        if self.policy.files is None or decision.reason is not Reason.DEFAULT:
            return None
        from policy.analysis.remedy import remedy  # noqa: PLC0415  # loads parsers

        return remedy(chain, tool, call)

    def _otherwise(self, title: str, names: tuple[str, ...]) -> _CheckedChain | None:
        """Return the chain in the other reading; None where it was not compiled."""
        other = next(reading for reading in READINGS if reading != self.reading)
        try:
            found: _CheckedChain = self._of(title, names, other)
        except PolicyError:
            return None
        return None if found.denied and found.denied.reason == "not-compiled" else found

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
        raise PolicyError(msg, file=label, help=f"name one of {quoted(starts)} with --chain")


@frozen
class _CheckedChain:
    """A chain as far as it goes, and the denial that ends it."""

    chain: Chain
    denied: SpawnDenied | None = None

    @classmethod
    def of(
        cls, projects: Projects[Any], project: Offered, names: tuple[str, ...], reading: str
    ) -> _CheckedChain:
        """Return that of agents *names*.

        Raises:
            PolicyError: an agent is unknown, or the first one starts no chain.

        """
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
                return cls(chain, denied)
        return cls(chain)

    def decide(self, tool: str, call: dict[str, object]) -> Decision:
        """Return what a call gets. An agent that is never started makes none."""
        if self.denied is None:
            return self.chain.decide(tool, call)
        return evolve(self.denied.decision, table=self.chain.table.hash)


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
        modes: permission mode -> what the call gets in it; None where that was not asked.
        starts: the agents that start chains, if the first of the chain is none of them.

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
    modes: Mapping[str, Effect] | None = None
    starts: tuple[str, ...] = ()

    @property
    def agent(self) -> str:
        """The agent that calls, or ""."""
        return self.chain[-1] if self.chain else ""

    @property
    def status(self) -> int:
        """The exit status."""
        return 2 if self.problem else int(self.decision.effect is not Effect.ALLOW)

    @property
    def why(self) -> str:
        """The reason, as a clause."""
        return self.problem or self.message or explained(self.decision, self.agent)


def _json(answer: CheckAnswer) -> Object:
    """Return the JSON shape of an answer, without what does not apply to it."""
    found = {**shape(answer), "table": answer.decision.table, "message": answer.why}
    found = {"call": found.pop("witness"), **found}
    return {key: value for key, value in found.items() if value or key not in _OPTIONAL}


_OPTIONAL = frozenset(
    {"clauses", "confirm", "denied", "instead", "modes", "problem", "remedy", "starts"}
)


# What a reading says that a call gets.
_SAID: Final = {"attenuated": "declared", "enforced": "enforced"}


def blocks(answer: CheckAnswer, found: DecidingPolicy) -> list[doc.Block]:
    """Return an answer, with the lines of the rules of *found* behind it."""
    decision = answer.decision
    spans = found.spans(decision.because)
    who = f"{chain_text(answer.chain)} in {answer.project}, {_SAID[answer.reading]}"
    other = next(reading for reading in READINGS if reading != answer.reading)
    rows: list[tuple[str, doc.Text]] = []
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
        rules = doc.joined((doc.Ink(each, "code") for each in answer.remedy.rules), " and ")
        whose = quoted(answer.remedy.links) if answer.remedy.links else "the policy"
        rows.append(("fix", ("it is allowed with ", rules, f" in `allow` of {whose}")))
    if answer.modes is not None:
        rows.append(("modes", _modes(answer.modes)))
    rows.append(("chain", who))
    if len(decision.links) > 1 and decision.effect is Effect.ASK:
        some = f"each of {quoted(decision.links)}; some hosts need every one of them to confirm"
        rows.append(("asked by", some))
    if answer.starts:
        first = answer.chain[0]
        told = (
            f"chains start at {quoted(answer.starts)}; this holds if a session starts as `{first}`"
        )
        rows.append(("note", told))
    for agent, by in answer.confirm.items():
        told = f"starting `{agent}` must be confirmed first: {quoted(by)} asks"
        rows.append(("note", told))
    if answer.instead is not None:
        rows.append((_SAID[other], because_text(answer.instead, answer.agent)))
    shown = [doc.Excerpt(spans[one], one.effect.value) for one in decision.because if one in spans]
    instead: doc.Text = ""
    if answer.instead is not None:
        other_effect = effect(answer.instead.effect)
        instead = (f"  as {_SAID[answer.reading]}; ", other_effect, f" as {_SAID[other]}")
    head = (effect(decision.effect), "  ", call(answer.tool, answer.call), instead)
    return [doc.Item(head, (doc.Labelled(tuple(rows)), *shown))]


def _modes(modes: Mapping[str, Effect]) -> doc.Text:
    if not modes:
        return "the host has none"
    by_effect = {one: [m for m, got in modes.items() if got is one] for one in reversed(Effect)}
    told = ((effect(one), f" in {quoted(some)}") for one, some in by_effect.items() if some)
    return doc.joined(told, "; ")


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


def clause_rows(clauses: Sequence[Clause]) -> list[tuple[str, doc.Text]]:
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


def _clause(clause: Clause) -> doc.Text:
    hides = clause.does is Does.HIDES
    does = "" if hides else f"{clause.does.value} "
    shown = clause.text
    if hides and len(shown) > _LONGEST:
        shown = f"{shown[:_LONGEST]}…"
    what: doc.Text = (
        doc.Ink(shown, "code")
        if shown
        else "it"
        if clause.why
        else sentences()["unknown"][clause.does.value]
    )
    why = clause.why or (" (", _why(clause), ")")
    word = effect(clause.decision.effect)
    return (word, " " * (6 - len(word.text)), does, what, " " if clause.why else "", why)


def _why(clause: Clause) -> doc.Text:
    if clause.decision.because:
        rules = ((f"{b.effect} ", doc.Ink(b.rule, "rule")) for b in clause.decision.because)
        return doc.joined(rules, " and ")
    if clause.does is Does.HIDES:
        return "it may hold commands that were not found"
    reason = clause.decision.reason.value
    return str(sentences()["parts"].get(reason, reason))
