"""``policy check``: decide one call, or a stream of calls, and explain."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain as chained
from pathlib import Path

from policy.analysis.checking import CallRequest, CheckAnswer, Checker, chain_of, requests_of
from policy.analysis.inputs import DecidingPolicy, Hosts, compiled_at, load_here, read
from policy.cli.console import Console, publish
from policy.cli.report import document as doc
from policy.cli.report.as_json import Object, dumps, shape
from policy.cli.report.terminal import terminal
from policy.cli.report.words import (
    READING_WORDS,
    because_text,
    call,
    chain_text,
    effect,
    explained,
    rule,
    sentences,
)
from policy.core.decision import Clause, Decision, Does, Reason
from policy.core.effect import Effect
from policy.core.errors import PolicyError
from policy.core.source import quoted, visible
from policy.core.values import TYPE_CHECKING, evolve
from policy.files.writing import file_errors
from policy.tables.chain import READINGS

if TYPE_CHECKING:
    from policy.analysis.remedy import Remedy


def run(options: argparse.Namespace, console: Console) -> int:
    """Decide the calls, and return the exit status."""
    found, words = _path_and_words(options)
    chain = chain_of(options.chain) if options.chain else ()
    checker = Checker(found.projects, chain, options.reading, modes=options.modes)
    recorder = None
    if options.record:
        from policy.analysis.records.record import Record, Recorder  # noqa: PLC0415  # rare

        recorder = Recorder(Path(options.record), options.redact)
    answers: list[CheckAnswer] = []
    status = 0
    for number, asked in enumerate(_requests(options, words)):
        answer = checker.answer(asked)
        if recorder is not None and not answer.problem:
            record = Record.of(answer.chain, answer.tool, answer.call, answer.decision)
            recorder.append(evolve(record, project=checker.distinguishing_name(answer.project)))
        # A stream of calls is answered call by call.
        if options.format == "json":
            console.write(dumps(_json(answer), indent=None) + "\n")
        elif options.format == "text":
            console.line("\n" * bool(number) + terminal(blocks(answer, found), console.page)[:-1])
        if options.output or options.format not in {"json", "text"}:
            answers.append(answer)
        denied = int(answer.decision.effect is not Effect.ALLOW)
        status = max(status, 2 if answer.problem else denied)
    report = doc.Report(
        "Calls and what they get",
        lambda: {"answers": [_json(answer) for answer in answers]},
        lambda _: [block for answer in answers for block in blocks(answer, found)],
    )
    publish(report, options, console, printed=options.format not in {"json", "text"})
    # An unreadable file may hold a rule about these calls.
    return 2 if console.unreadable(found.findings(checker.asked.values())) else status


def _path_and_words(options: argparse.Namespace) -> tuple[DecidingPolicy, list[str]]:
    """Return the policy and the calls: a word is a path, else a revision, else a call."""
    words: list[str] = options.words
    # The path may stand last, as `policy query` has it.
    if len(words) > 1 and "(" in words[0] and Path(words[-1]).exists():
        words = [words[-1], *words[:-1]]
    found: DecidingPolicy | None = None
    is_here = words[:1] == ["."]  # as without a path
    if is_here:
        words = words[1:]
    elif options.start:
        words = words[1:] if words and Path(words[0]).is_dir() else words
    elif words and (options.calls or len(words) > 1 or Path(words[0]).exists()):
        found = compiled_at(words[0], Hosts.of(options), options.root)
        found = found or _files(words[0], options)
        words = words[1:] if found else words
    if words and options.calls:
        raise PolicyError("expected a path alone beside `--calls`, found two arguments")
    if not words and not options.calls:
        help_ = "write `policy check . 'Bash(git push)'`; see --help"
        raise PolicyError("expected a call", help=help_)
    if found is None:
        every = bool(options.chain or options.calls)
        files = load_here(".", Hosts.of(options), options.root, every=every)
        named = [each for one in files.workspace.projects for each in one.tool_classes.values()]
        first = words[0] if len(words) > 1 and not is_here else ""
        is_tool = "(" in first or first != first.lower() or first in chained(*named)
        if first and not is_tool:
            raise PolicyError(
                f"{quoted([first])} is neither a folder nor a file, a revision or a known tool",
                help=f"if it is a tool, name the folder first: `policy check . {visible(first)}`",
            )
        found = DecidingPolicy(files.workspace, files)
    return found, words


def _files(word: str, options: argparse.Namespace) -> DecidingPolicy | None:
    """Return the policy in the files at *word*; None where it is no path and need not be one."""
    from policy.files.opening import open_tree  # noqa: PLC0415  # compiled policies need none

    try:
        tree = open_tree(word)
    except PolicyError:
        if options.calls:
            raise
        return None
    files = read(tree, Hosts.of(options), options.root)
    return DecidingPolicy(files.workspace, files)


def _requests(options: argparse.Namespace, words: list[str]) -> Iterator[CallRequest]:
    if options.calls == "-":
        yield from requests_of(sys.stdin.buffer, "standard input")
    elif options.calls:
        with file_errors(options.calls, "cannot be read"), Path(options.calls).open("rb") as lines:
            yield from requests_of(lines, options.calls)
    else:
        yield from (CallRequest(text=word) for word in words)


def _why_of(answer: CheckAnswer) -> str:
    """Return the reason, as a clause."""
    return answer.problem or answer.message or explained(answer.decision, answer.agent)


def _json(answer: CheckAnswer) -> Object:
    """Return the JSON shape of an answer, without optional keys that are empty."""
    found = {**shape(answer), "table": answer.decision.table, "message": _why_of(answer)}
    found = {"call": found.pop("witness"), **found}
    return {key: value for key, value in found.items() if value or key not in _OPTIONAL}


_OPTIONAL = frozenset("clauses confirm denied hint instead modes problem remedy starts".split())


def blocks(answer: CheckAnswer, found: DecidingPolicy) -> list[doc.Block]:
    """Return an answer, with the lines of the rules of *found* behind it."""
    decision, chain, instead = answer.decision, answer.chain, answer.instead
    spans = found.spans(decision.because)
    rows: list[tuple[str, doc.Text]] = []
    by_rule = decision.reason in {Reason.RULE, Reason.DEFAULT} and not answer.message
    is_by_rule = decision.because and by_rule
    if not is_by_rule:
        rows.append(("why", _why_of(answer)))
    for number, because in enumerate(decision.because):
        of = f"  (of {because.link})" if because.link else ""
        label = "why" if is_by_rule else "rule"
        rows.append(("" if number else label, (rule(because), of)))
    if _says_more(answer.clauses, answer.call, decision):
        rows += clause_rows(answer.clauses)
    if answer.remedy is not None:
        rows += _advice(answer.remedy, "deny" if decision.effect is Effect.ALLOW else "allow")
    if answer.hint:
        rows.append(("note", answer.hint))
    if answer.modes is not None:
        modes = answer.modes.items()
        by_effect = {e: [mode for mode, got in modes if got is e] for e in reversed(Effect)}
        text = [(effect(e), f" in {quoted(some)}") for e, some in by_effect.items() if some]
        rows.append(("modes", doc.joined(text, "; ") if text else "the host has none"))
    who = f"{chain_text(chain)} in {answer.project}, {READING_WORDS[answer.reading]}"
    rows.append(("chain", who))
    if len(decision.links) > 1 and decision.effect is Effect.ASK:
        some = f"each of {quoted(decision.links)}; some hosts need every one of them to confirm"
        rows.append(("asked by", some))
    if answer.starts:
        first = f"this holds if a session starts as `{chain[0]}`"
        rows.append(("note", f"chains start at {quoted(answer.starts)}; {first}"))
    # What a session also reads where the files lie, and what none reads.
    if found.files is not None and found.files.guesses:
        rows.append(("note", found.files.guesses))
    if found.files is not None and found.files.not_read:
        rows.append(("note", found.files.not_read))
    for agent, by in answer.confirm.items():
        rows.append(("note", f"starting `{agent}` must be confirmed first: {quoted(by)} asks"))
    head: list[doc.Text] = [effect(decision.effect), "  ", call(answer.tool, answer.call)]
    if instead is not None:
        other = READING_WORDS[next(reading for reading in READINGS if reading != answer.reading)]
        rows.append((other, because_text(instead, answer.agent)))
        head += [f"  as {READING_WORDS[answer.reading]}; ", effect(instead.effect), f" as {other}"]
    shown = [doc.Excerpt(spans[one], one.effect.value) for one in decision.because if one in spans]
    return [doc.Item(tuple(head), (doc.Labelled(tuple(rows)), *shown))]


def _advice(remedy: Remedy, verb: str) -> Iterator[tuple[str, doc.Text]]:
    """Yield which rules to add to which lists of agents."""
    own = [link for link in remedy.links if link not in remedy.delegating]
    lists = {verb: own, "delegate": remedy.delegating}
    parts = [f"`{name}` of {quoted(links)}" for name, links in lists.items() if links]
    rules = doc.joined((doc.Ink(each, "code") for each in remedy.rules), " and ")
    yield f"to {verb}", ("add ", rules, f" to {' and to '.join(parts) or f'`{verb}`'}")
    if remedy.runs:
        yield "", ("that allows any command, e.g. ", doc.Ink(remedy.runs, "code"))


def _says_more(clauses: Sequence[Clause], call: Mapping[str, object], decision: Decision) -> bool:
    """Return whether the clauses of a call add to its decision."""
    if not clauses:
        return False
    first = clauses[0]
    alone = first.does is Does.RUNS and first.text in call.values()
    one, other = ((each.effect, each.because) for each in (first.decision, decision))
    return len(clauses) > 1 or not alone or one != other


# Clauses of one command that are shown; a hostile command has thousands.
_MOST = 12
# Characters of unsupported syntax that are shown: it may be a whole statement.
_LONGEST = 60


def clause_rows(clauses: Sequence[Clause]) -> list[tuple[str, doc.Text]]:
    """Return a row for each clause of a command, in its order; of many only the strictest.

    Files that it reads are shown only if that is not allowed.
    """
    some = [
        clause
        for clause in clauses
        if clause.does is Does.RUNS
        or clause.decision.effect is not Effect.ALLOW
        # A written rule allows that a file is changed.
        or (clause.does in _CHANGES and any(rule.place for rule in clause.decision.because))
    ]
    strict = sorted(range(len(some)), key=lambda number: (some[number].decision.effect, number))
    texts = [_clause(some[number]) for number in sorted(strict[:_MOST])]
    if len(some) > _MOST:
        texts.append(f"and {len(some) - _MOST:,} more, none of them stricter")
    return [("" if number else "parts", text) for number, text in enumerate(texts)]


_CHANGES = (Does.WRITES, Does.REMOVES)


def _clause(clause: Clause) -> doc.Text:
    decision, hides = clause.decision, clause.does is Does.HIDES
    shown = clause.text
    if hides and len(shown) > _LONGEST:
        shown = f"{shown[:_LONGEST]}…"
    what: doc.Text = doc.Ink(shown, "code")
    if not shown:
        what = "it" if clause.why else sentences()["unknown"][clause.does.value]
    why: doc.Text = ""
    if decision.because:
        rules = ((f"{b.effect} ", doc.Ink(b.rule, "rule")) for b in decision.because)
        why = doc.joined(rules, " and ")
    elif hides:
        why = "it may hold commands that were not found"
    else:
        by_default = decision.effect is Effect.ALLOW and decision.reason is Reason.DEFAULT
        key = "allowed" if by_default else decision.reason.value
        why = str(sentences()["parts"].get(key, decision.reason.value))
    word = effect(decision.effect)
    end = (" ", clause.why) if clause.why else (" (", why, ")")
    return (word, " " * (6 - len(word.text)), "" if hides else f"{clause.does.value} ", what, *end)
