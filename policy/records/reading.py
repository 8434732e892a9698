"""Reading logs: records of our own, calls in the form that `policy check` reads, transcripts.

What a line is, it says itself. A line that is none of these is a `Problem`;
nothing is left out in silence.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from itertools import chain as chained
from pathlib import Path

import attrs

from policy.effect import Effect
from policy.errors import PolicyError
from policy.records.grouped import GroupingFailed, groups, is_installed
from policy.records.record import Record
from policy.records.transcripts import is_transcript, read_transcript

__all__ = ["Problem", "log_files", "read_log"]


@attrs.frozen
class Problem:
    """A line that holds no call that could be read.

    Attributes:
        source: where, e.g. ``a.jsonl:12``.
        message: why.

    """

    source: str
    message: str


_KINDS = ("*.jsonl", "*.parquet")


def log_files(paths: list[Path]) -> dict[Path, str]:
    """Return the logs at *paths*, and how people know each, in order.

    A file is a log whatever its name, below a folder ``*.jsonl`` and ``*.parquet`` are.

    Raises:
        PolicyError: there is none.

    """
    found: dict[Path, str] = {}
    for path in paths:
        if path.is_dir():
            below = sorted(file for kind in _KINDS for file in path.rglob(kind))
            found |= {file: file.relative_to(path).as_posix() for file in below}
        elif path.exists():
            found[path] = str(path)
        else:
            msg = "there is no such file or folder"
            raise PolicyError(msg, file=str(path))
    if not found:
        msg = "no log lies in it: no `*.jsonl` and no `*.parquet`"
        raise PolicyError(msg, file=str(paths[0]), help="name the logs themselves")
    return found


def read_log(file: Path, name: str) -> Iterator[Record | Problem]:
    """Yield what each line of a log holds; *name* is what its places are told by.

    Raises:
        PolicyError: the file cannot be read.

    """
    if file.suffix == ".parquet" or (is_installed() and _is_large(file)):
        try:
            yield from _counted(file, name)
        except GroupingFailed:
            pass
        else:
            return
    values = _values(file)
    try:
        head: list[object] = []
        while not head or head[-1] is _BLANK:
            value = next(values, _END)
            if value is _END:
                return
            head.append(value)
        first, values = head[-1], chained(head, values)
        if isinstance(first, dict) and is_transcript(first):
            yield from _transcript(file, name, values)
        else:
            yield from _lines(name, values)
    except OSError as error:
        msg = f"cannot be read: {(error.strerror or str(error)).lower()}"
        raise PolicyError(msg, file=str(file)) from None


# Bytes of a log of lines from which counting first is worth starting DuckDB.
_LARGE = 32 * 2**20


def _is_large(file: Path) -> bool:
    try:
        return file.stat().st_size >= _LARGE and not _begins_transcript(file)
    except OSError:
        return False


def _begins_transcript(file: Path) -> bool:
    first = next((value for value in _values(file) if value is not _BLANK), None)
    return isinstance(first, dict) and is_transcript(first)


def _counted(file: Path, name: str) -> Iterator[Record | Problem]:
    for said, times in groups(file):
        read = _record(said, name)
        if isinstance(read, str):
            yield from [Problem(name, read)] * times
        else:
            yield attrs.evolve(read, times=times)


def _values(file: Path) -> Iterator[object]:
    with file.open("rb") as lines:
        for line in lines:
            if not line.isspace():
                yield _value(line)
            else:
                yield _BLANK


_BLANK, _END = object(), object()


def _value(line: bytes) -> object:
    try:
        return json.loads(line)
    except (ValueError, RecursionError) as error:
        return PolicyError(f"this is not JSON: {str(error)[:100]}")


def _transcript(file: Path, name: str, values: Iterator[object]) -> Iterator[Record | Problem]:
    problems: list[Problem] = []

    def lines() -> Iterator[Mapping[str, object]]:
        for number, value in enumerate(values, 1):
            if isinstance(value, PolicyError):
                # The last line of a session that runs is often written in part.
                problems.append(Problem(f"{name}:{number}", value.message))
            yield value if isinstance(value, dict) else {}

    try:
        yield from read_transcript(file, name, lines())
    except PolicyError as error:
        yield Problem(name, error.message)
    yield from problems


def _lines(name: str, values: Iterator[object]) -> Iterator[Record | Problem]:
    for number, value in enumerate(values, 1):
        if value is _BLANK:
            continue
        if isinstance(value, PolicyError):
            yield Problem(f"{name}:{number}", value.message)
            continue
        source = f"{name}:{number}"
        read = _record(value, source) if isinstance(value, dict) else "expected a JSON object"
        yield Problem(source, read) if isinstance(read, str) else read


_EFFECTS = {effect.value: effect for effect in Effect}


def _record(value: dict[str, object], source: str) -> Record | str:
    said = {name: each for name, each in value.items() if each is not None}
    ours = "gen_ai.tool.name" in said
    tool = said.get("gen_ai.tool.name" if ours else "tool")
    call = said.get("gen_ai.tool.call.arguments" if ours else "input", {})
    chain = said.get("policy.chain" if ours else "chain", [])
    effect = said.get("policy.effect" if ours else "effect")
    if ours and "policy.chain" not in said and "gen_ai.agent.name" in said:
        chain = [said["gen_ai.agent.name"]]
    if isinstance(call, str):
        # As the conventions have it where attributes are texts.
        call = _value(call.encode("utf-8", "surrogatepass"))
    if isinstance(chain, str):
        chain = [name.strip() for name in chain.split(">")]
    if not isinstance(tool, str) or not tool:
        return "expected the name of a tool as `tool` or `gen_ai.tool.name`"
    if not isinstance(call, dict):
        return "expected an object as the arguments of the call"
    if not isinstance(chain, list) or not all(isinstance(name, str) for name in chain):
        return "expected names of agents as the chain"
    if effect is not None and (not isinstance(effect, str) or effect not in _EFFECTS):
        return "expected `allow`, `ask` or `deny` as the effect"
    redacted = value.get("policy.redacted")
    rules = value.get("policy.rules")
    return Record(
        tuple(chain),
        tool,
        call,
        _EFFECTS[str(effect)] if effect else None,
        source=source,
        reason=_text(value.get("policy.reason", value.get("reason"))),
        rules=tuple(map(str, rules)) if isinstance(rules, list) else (),
        table=_text(value.get("policy.table", value.get("table"))),
        time=_text(value.get("time")),
        cwd=_text(value.get("policy.cwd")),
        redacted=tuple(map(str, redacted)) if isinstance(redacted, list) else (),
        project=_text(value.get("policy.project")),
        agent="" if chain else _text(value.get("gen_ai.agent.name")),
    )


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
