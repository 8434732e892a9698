"""``policy check``: decide one call, or a stream of calls, and explain."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

import attrs

from policy.analysis.records.record import Record, Recorder
from policy.cli.asking import Asking, CallRequest, chain_of, from_lines, from_options, from_word
from policy.cli.console import Console
from policy.cli.given import DecidingPolicy, compiled_at, given, given_by
from policy.cli.hosts import Hosts
from policy.cli.report.as_json import dumps
from policy.cli.report.check import CheckAnswer, answer_json, answer_markdown, answer_text
from policy.core.effect import Effect
from policy.core.errors import PolicyError
from policy.files.opening import is_unreadable

__all__ = ["run"]


def run(options: argparse.Namespace, console: Console) -> int:
    """Decide the calls, and return the exit status."""
    found, words = _path_and_words(options, console)
    asking = Asking(found, chain_of(options.chain) if options.chain else (), options.reading)
    recorder = Recorder(Path(options.record), options.redact) if options.record else None
    status = 0
    for number, asked in enumerate(_asked(options, words)):
        answer = asking.answer(asked)
        if recorder is not None and not answer.problem:
            record = Record.of(answer.chain, answer.tool, answer.call, answer.decision)
            recorder.append(attrs.evolve(record, project=asking.told_apart(answer.project)))
        _show(answer, options.format, found, console, first=number == 0)
        status = max(status, _status(answer))
    # Below what was asked about may be a rule that nobody could read.
    unreadable = [finding for finding in asking.findings() if is_unreadable(finding)]
    if not unreadable:
        return status
    from policy.cli.report.findings import findings_report  # noqa: PLC0415  # seldom needed

    console.complain(findings_report(unreadable, console.errors))
    return 2


def _status(answer: CheckAnswer) -> int:
    if answer.problem:
        return 2
    return 0 if answer.decision.effect is Effect.ALLOW else 1


def _path_and_words(
    options: argparse.Namespace, console: Console
) -> tuple[DecidingPolicy, list[str]]:
    """Return what is asked about, and the words that are calls.

    A path beats a revision beats a call.
    """
    words: list[str] = options.words
    needs_calls = not (options.calls or options.tool)
    if options.input is not None and not options.tool:
        msg = "expected `--tool` with `--input`"
        raise PolicyError(msg)
    if options.calls and options.tool:
        msg = "expected `--calls` or `--tool`, found both"
        raise PolicyError(msg)
    if words and (not needs_calls or len(words) > 1 or Path(words[0]).exists()):
        found = compiled_at(words[0], Hosts.of(options), options.root)
        if found is None:
            found = _files(words[0], options, console, needed=not needs_calls)
        if found is not None:
            return found, _calls(words[1:], needed=needs_calls)
    found = given(".", console.progress, Hosts.of(options), options.root)
    return found, _calls(words, needed=needs_calls)


def _files(
    word: str, options: argparse.Namespace, console: Console, *, needed: bool
) -> DecidingPolicy | None:
    """Return what the files at *word* come to; None where it is no path, and need not be one."""
    from policy.cli.inputs import read  # noqa: PLC0415  # a parser
    from policy.files.opening import open_tree  # noqa: PLC0415  # the same

    try:
        tree = open_tree(word)
    except PolicyError:
        if needed:
            raise
        return None
    return given_by(read(tree, console.progress, Hosts.of(options), options.root))


def _calls(words: list[str], *, needed: bool) -> list[str]:
    if needed and not words:
        msg = "expected a call"
        raise PolicyError(msg, help="write `policy check . 'Bash(git push)'`; see --help")
    if words and not needed:
        msg = "expected a path alone beside `--tool` or `--calls`, found two arguments"
        raise PolicyError(msg)
    return words


def _asked(options: argparse.Namespace, words: list[str]) -> Iterator[CallRequest]:
    if options.calls:
        yield from _stream(options.calls)
    elif options.tool:
        yield from_options(options.tool, options.input)
    else:
        yield from map(from_word, words)


def _stream(name: str) -> Iterator[CallRequest]:
    if name == "-":
        yield from from_lines(_decoded(sys.stdin.buffer), "standard input")
        return
    try:
        with Path(name).open("rb") as lines:
            yield from from_lines(_decoded(lines), name)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        msg = f"cannot be read: {reason}"
        raise PolicyError(msg, file=name) from None


def _decoded(lines: Iterable[bytes]) -> Iterator[str]:
    # What is not UTF-8 is not JSON either, and is said to be so line by line.
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
