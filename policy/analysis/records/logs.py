"""Reading logs: records of our own, calls as `policy check` reads them, transcripts, Parquet.

Each line says itself what it is. A line that is none of these is a `LogProblem`, so that nothing
is left out in silence. Large logs and Parquet are read by DuckDB (the extra ``replay``), which
counts equal calls first. Without it logs of lines are read line by line, with the same result,
and Parquet is refused.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from importlib.util import find_spec
from itertools import chain as chained
from pathlib import Path
from typing import Final

from policy.analysis.records.record import Record
from policy.core.effect import Effect
from policy.core.errors import PolicyError
from policy.core.progress import reached
from policy.core.values import evolve, frozen

__all__ = [
    "LogProblem",
    "groups",
    "is_installed",
    "log_files",
    "read_log",
]


# The agent that a session is.
_ROOT = "main"

# More levels than any version of the host starts; a circle ends here.
_DEEPEST = 16


def _is_transcript(value: Mapping[str, object]) -> bool:
    """Return whether a line, parsed, is one of a transcript."""
    return "type" in value and ("sessionId" in value or "leafUuid" in value)


def _chain_of_agent(folder: Path, agent: str) -> tuple[str, ...]:
    """Return the chain of the subagent with the id *agent*, by the files in *folder*.

    Args:
        folder: ``SESSION/subagents``.
        agent: its id.

    Raises:
        PolicyError: the files do not say who started it.

    """
    names: list[str] = []
    parent: str | None = agent
    for _ in range(_DEEPEST):
        if parent is None:
            return (_ROOT, *reversed(names))
        name, parent = _started(folder / f"agent-{parent}.meta.json")
        names.append(name)
    msg = "the agents that started one another go round in a circle"
    raise PolicyError(msg, file=str(folder))


def _started(file: Path) -> tuple[str, str | None]:
    """Return the name of an agent, and the id of the one that started it."""
    try:
        said = json.loads(file.read_text("utf-8"))
    except (OSError, ValueError, RecursionError):
        said = None
    name = said.get("agentType") if isinstance(said, dict) else None
    parent = said.get("parentAgentId") if isinstance(said, dict) else None
    depth = said.get("spawnDepth") if isinstance(said, dict) else None
    # An id is the name of a file in the same folder, and of no other.
    if not isinstance(name, str) or not (parent is None or _is_id(parent)):
        msg = "it does not say which agent made the calls, or who started it"
        raise PolicyError(msg, file=str(file))
    if parent is None and depth not in (None, 1):
        msg = f"an agent at depth {depth} was started by another, and it does not say by which"
        raise PolicyError(msg, file=str(file))
    return name, parent if isinstance(parent, str) else None


def _is_id(value: object) -> bool:
    return isinstance(value, str) and value.replace("-", "").replace("_", "").isalnum()


def _read_transcript(
    file: Path, name: str, lines: Iterable[Mapping[str, object]]
) -> Iterator[Record]:
    """Yield the calls of one transcript, in the order of their results.

    Args:
        file: where it lies, which tells whose it is.
        name: the name of the log in places.
        lines: its lines, parsed, in order.

    Raises:
        PolicyError: it does not say which chain made the calls.

    """
    chain = _chain(file)
    cwd = ""
    open_calls: dict[str, Record] = {}
    for number, said in enumerate(lines, 1):
        folder = said.get("cwd")
        cwd = cwd or (folder if isinstance(folder, str) else "")
        time = said.get("timestamp")
        for block in _blocks(said):
            match block:
                case {"type": "tool_use", "id": str(key), "name": str(tool), "input": dict(call)}:
                    open_calls[key] = Record(
                        chain,
                        tool,
                        call,
                        time=time if isinstance(time, str) else "",
                        cwd=cwd,
                        source=f"{name}:{number}",
                    )
                case {"type": "tool_result", "tool_use_id": str(key)} if key in open_calls:
                    effect = _effect(said.get("permissionDecision"))
                    yield evolve(open_calls.pop(key), effect=effect)
    yield from open_calls.values()


def _chain(file: Path) -> tuple[str, ...]:
    if file.parent.name == "subagents" and file.stem.startswith("agent-"):
        return _chain_of_agent(file.parent, file.stem.removeprefix("agent-"))
    return (_ROOT,)


def _blocks(said: Mapping[str, object]) -> list[object]:
    message = said.get("message")
    content = message.get("content") if isinstance(message, dict) else None
    return content if isinstance(content, list) else []


def _effect(said: object) -> Effect | None:
    """Return what the host decided, without the answer of a person who was asked."""
    if not isinstance(said, dict):
        return None
    source = said.get("source")
    if isinstance(source, str) and source.startswith("user_"):
        return Effect.ASK
    match said.get("decision"), source:
        case "accept", "config":
            return Effect.ALLOW
        case "reject", "config":
            return Effect.DENY
        case _:
            return None  # a hook, say: it was not the host's rules that decided


# What a row may say, under the names that lines have for it.
_FIELDS: Final = (
    "gen_ai.tool.name",
    "tool",
    "gen_ai.tool.call.arguments",
    "input",
    "policy.chain",
    "chain",
    "gen_ai.agent.name",
    "policy.effect",
    "effect",
    "policy.cwd",
    "policy.project",
    "policy.redacted",
)
_ARGUMENTS: Final = ("gen_ai.tool.call.arguments", "input")
_ROWS: Final = 10_000  # taken from the result at a time


class _GroupingFailed(Exception):
    """The log is not what DuckDB can read; line by line it may be, or its mistakes have places."""


def is_installed() -> bool:
    """Return whether DuckDB is there."""
    return find_spec("duckdb") is not None


def groups(file: Path) -> Iterator[tuple[dict[str, object], int]]:
    """Yield what each distinct row of *file* says, as a line of a log would, and how often.

    Raises:
        PolicyError: it is Parquet and DuckDB is missing, or it cannot be read.
        _GroupingFailed: it is no Parquet, and not JSON in each line.

    """
    parquet = file.suffix == ".parquet"
    if not is_installed():
        msg = "Parquet is read by DuckDB, which is missing"
        raise PolicyError(msg, file=str(file), help="pip install 'agent-policy[replay]'")
    import duckdb  # noqa: PLC0415  # 0.1 s that small logs need not pay

    connection = duckdb.connect()
    started = False  # once rows were yielded, reading again would count them twice
    try:
        kinds: dict[str, str] | None = None
        if parquet:
            described = connection.execute("DESCRIBE SELECT * FROM read_parquet($1)", [str(file)])
            kinds = {str(row[0]): str(row[1]) for row in described.fetchall()}
        structured = any((kinds or {}).get(name, "").startswith("STRUCT") for name in _ARGUMENTS)
        result = connection.execute(_query(kinds), [str(file)])
        while rows := result.fetchmany(_ROWS):
            for *values, times in rows:
                started = True
                yield _said(values, structured=structured), int(times)
    except duckdb.Error as error:
        if not parquet and not started:
            raise _GroupingFailed(str(error)) from None
        msg = f"cannot be read: {str(error).partition(chr(10))[0]}"
        raise PolicyError(msg, file=str(file)) from None
    finally:
        connection.close()


def _query(kinds: dict[str, str] | None) -> str:
    """Return the question to ask; *kinds* is of the columns of Parquet, None of lines."""
    if kinds is None:
        columns = ", ".join(f"'{field}': 'JSON'" for field in _FIELDS)
        source = f"read_json($1, format='newline_delimited', columns={{{columns}}})"
        chosen = [f'"{field}"' for field in _FIELDS]
    else:
        source = "read_parquet($1)"
        chosen = [f'to_json("{field}")' if field in kinds else "NULL" for field in _FIELDS]
    names = ", ".join(f"{each} AS f{number}" for number, each in enumerate(chosen))
    return f"SELECT {names}, count(*) FROM {source} GROUP BY ALL"  # noqa: S608  # names of ours


def _said(values: list[object], *, structured: bool) -> dict[str, object]:
    said: dict[str, object] = {}
    for field, text in zip(_FIELDS, values, strict=True):
        value = None if text is None else _value(str(text))
        if structured and isinstance(value, dict):
            # A column has every argument of any call; those that a call has not are null.
            value = {name: each for name, each in value.items() if each is not None}
        if value is not None:
            said[field] = value
    return said


def _value(text: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return ()  # nothing that JSON can say, and so nothing that a field may hold


@frozen
class LogProblem:
    """A line that holds no call that could be read.

    Attributes:
        source: where, e.g. ``a.jsonl:12``.
        message: why.
        times: that it is one line.

    """

    source: str
    message: str
    times: int = 1


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


def read_log(file: Path, name: str) -> Iterator[Record | LogProblem]:
    """Yield what each line of a log holds; *name* stands in places.

    Raises:
        PolicyError: the file cannot be read.

    """
    if file.suffix == ".parquet" or (is_installed() and _is_large(file)):
        try:
            yield from _counted(file, name)
        except _GroupingFailed:
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
        if isinstance(first, dict) and _is_transcript(first):
            yield from _transcript(file, name, values)
        else:
            yield from _lines(name, values)
    except OSError as error:
        msg = f"cannot be read: {(error.strerror or str(error)).lower()}"
        raise PolicyError(msg, file=str(file)) from None


# Bytes of a log of lines from which counting first is worth starting DuckDB.
_LARGE = 4 * 2**20


def _is_large(file: Path) -> bool:
    try:
        return file.stat().st_size >= _LARGE and not _begins_transcript(file)
    except OSError:
        return False


def _begins_transcript(file: Path) -> bool:
    first = next((value for value in _values(file) if value is not _BLANK), None)
    return isinstance(first, dict) and _is_transcript(first)


def _counted(file: Path, name: str) -> Iterator[Record | LogProblem]:
    for said, times in groups(file):
        read = _record(said, name)
        if isinstance(read, str):
            yield from [LogProblem(name, read)] * times
        else:
            yield evolve(read, times=times)


def _values(file: Path) -> Iterator[object]:
    done, total = 0, file.stat().st_size
    with file.open("rb") as lines:
        for line in lines:
            reached(f"bytes of {file.name}", done, total)
            done += len(line)
            if not line.isspace():
                yield _parsed(line)
            else:
                yield _BLANK


_BLANK, _END = object(), object()


def _parsed(line: bytes) -> object:
    try:
        return json.loads(line)
    except (ValueError, RecursionError) as error:
        return PolicyError(f"this is not JSON: {str(error)[:100]}")


def _transcript(file: Path, name: str, values: Iterator[object]) -> Iterator[Record | LogProblem]:
    problems: list[LogProblem] = []

    def lines() -> Iterator[Mapping[str, object]]:
        for number, value in enumerate(values, 1):
            if isinstance(value, PolicyError):
                # The last line of a session that runs is often written in part.
                problems.append(LogProblem(f"{name}:{number}", value.message))
            yield value if isinstance(value, dict) else {}

    try:
        yield from _read_transcript(file, name, lines())
    except PolicyError as error:
        yield LogProblem(name, error.message)
    yield from problems


def _lines(name: str, values: Iterator[object]) -> Iterator[Record | LogProblem]:
    for number, value in enumerate(values, 1):
        if value is _BLANK:
            continue
        if isinstance(value, PolicyError):
            yield LogProblem(f"{name}:{number}", value.message)
            continue
        source = f"{name}:{number}"
        read = _record(value, source) if isinstance(value, dict) else "expected a JSON object"
        yield LogProblem(source, read) if isinstance(read, str) else read


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
        call = _parsed(call.encode("utf-8", "surrogatepass"))
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
