"""Reading logs: records of our own, calls as `policy check` reads them, transcripts, Parquet.

Each line says itself what it is. A line that is none of these is a `LogProblem`, so that nothing
is left out in silence. Large logs and Parquet are read by DuckDB (the extra ``replay``), which
counts equal calls first. Without it logs of lines are read line by line, with the same result,
and Parquet is refused.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from itertools import chain as chained
from pathlib import Path
from typing import Final

from policy.analysis.checking import call_of
from policy.analysis.records.record import Record
from policy.core import expressions as re
from policy.core.effect import Effect
from policy.core.errors import PolicyError
from policy.core.progress import reached
from policy.core.values import evolve, frozen

__all__ = ["LogProblem", "is_installed", "log_files", "read_log"]


@frozen
class LogProblem:
    """A line that holds no call that could be read.

    Attributes:
        source: where, e.g. ``a.jsonl:12``.
        message: why.
        times: how many lines are like it.

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


# Bytes of a log of lines from which counting first is worth starting DuckDB.
_LARGE = 4 * 2**20


def read_log(file: Path, name: str) -> Iterator[Record | LogProblem]:
    """Yield what each line of a log holds; *name* stands in places.

    Raises:
        PolicyError: the file cannot be read.

    """
    if file.suffix == ".parquet":
        yield from _counted(file, name)
        return
    try:
        values = _values(file)
        first = next(values, None)
        if first is None:
            return
        values = chained([first], values)
        if _is_transcript(first[1]):
            yield from _transcript(file, name, values)
            return
        if is_installed() and file.stat().st_size >= _LARGE:
            try:
                yield from _counted(file, name)
            except PolicyError:
                pass  # nothing was counted yet, and line by line its mistakes have places
            else:
                return
        yield from (_read(value, f"{name}:{number}") for number, value in values)
    except OSError as error:
        msg = f"cannot be read: {(error.strerror or str(error)).lower()}"
        raise PolicyError(msg, file=str(file)) from None


def _values(file: Path) -> Iterator[tuple[int, object]]:
    """Yield the number and the value of each line that is not blank; a mistake is a value too."""
    done, total = 0, file.stat().st_size
    with file.open("rb") as lines:
        for number, line in enumerate(lines, 1):
            reached(f"bytes of {file.name}", done, total)
            done += len(line)
            if not line.isspace():
                yield number, _parsed(line)


def _parsed(line: bytes | str) -> object:
    try:
        return json.loads(line)
    except (ValueError, RecursionError) as error:
        return PolicyError(f"this is not JSON: {str(error)[:100]}")


# --- records, and calls as `policy check` reads them ---------------------------------


_EFFECTS: Final = {effect.value: effect for effect in Effect}
_ARGUMENTS: Final = ("gen_ai.tool.call.arguments", "input")
_OURS: Final = ("gen_ai.tool.name", "gen_ai.tool.call.arguments", "policy.chain")


def _read(value: object, source: str) -> Record | LogProblem:
    try:
        return _record(value, source)
    except PolicyError as error:
        return LogProblem(source, error.message)


def _record(value: object, source: str) -> Record:
    if isinstance(value, PolicyError):
        raise value
    said: dict[str, object] = {}
    if isinstance(value, dict):
        said = {name: each for name, each in value.items() if each is not None}
        value = said
    agent = said.get("gen_ai.agent.name")
    ours = "gen_ai.tool.name" in said
    if ours and agent is not None:
        said.setdefault("policy.chain", [agent])
    for name in _ARGUMENTS:
        # As the conventions have it where attributes are texts.
        if isinstance(text := said.get(name), str):
            said[name] = _parsed(text)
    tool, call, chain = call_of(value, _OURS if ours else ("tool", "input", "chain"))
    effect = said.get("policy.effect" if ours else "effect", "")
    if effect and (not isinstance(effect, str) or effect not in _EFFECTS):
        raise PolicyError("expected `allow`, `ask` or `deny` as the effect")
    redacted, rules = said.get("policy.redacted"), said.get("policy.rules")
    return Record(
        chain,
        tool,
        call,
        _EFFECTS.get(_text(effect)),
        source=source,
        reason=_text(said.get("policy.reason", said.get("reason"))),
        rules=tuple(map(str, rules)) if isinstance(rules, list) else (),
        table=_text(said.get("policy.table", said.get("table"))),
        time=_text(said.get("time")),
        cwd=_text(said.get("policy.cwd")),
        redacted=tuple(map(str, redacted)) if isinstance(redacted, list) else (),
        project=_text(said.get("policy.project")),
        agent="" if chain else _text(agent),
    )


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


# --- by DuckDB ---------------------------------------------------------------------


# What a row may say: what tells calls apart.
_FIELDS: Final = (
    *_OURS,
    *("tool", "input", "chain", "effect", "gen_ai.agent.name"),
    *("policy.effect", "policy.cwd", "policy.project", "policy.redacted"),
)
_ROWS: Final = 10_000  # taken from the result at a time


def is_installed() -> bool:
    """Return whether DuckDB is there."""
    return find_spec("duckdb") is not None


def _counted(file: Path, name: str) -> Iterator[Record | LogProblem]:
    """Yield each distinct call of *file*, and how often it is there.

    Raises:
        PolicyError: before anything is yielded, where DuckDB is missing or cannot read the file.

    """
    parquet = file.suffix == ".parquet"
    if not is_installed():
        msg = "Parquet is read by DuckDB, which is missing"
        raise PolicyError(
            msg, file=str(file), help="pip install '.[replay]' in a clone of agent-policy"
        )
    import duckdb  # noqa: PLC0415  # 0.1 s that small logs need not pay

    columns = ", ".join(f"'{field}': 'JSON'" for field in _FIELDS)
    lines = f"read_json($1, format='newline_delimited', columns={{{columns}}})"
    source = "read_parquet($1)" if parquet else lines
    fields = "|".join(map(re.escape, _FIELDS))
    query = (
        f"SELECT to_json(said), count(*) FROM (SELECT COLUMNS('^({fields})$') FROM {source}) said"  # noqa: S608  # names of ours
        " GROUP BY ALL"
    )
    try:
        with duckdb.connect() as connection:
            result = connection.execute(query, [str(file)])
            while rows := result.fetchmany(_ROWS):
                for text, times in rows:
                    value = json.loads(text)
                    yield evolve(_read(_given(value) if parquet else value, name), times=times)
    except duckdb.Error as error:
        msg = f"cannot be read: {str(error).partition(chr(10))[0]}"
        raise PolicyError(msg, file=str(file)) from None


def _given(said: dict[str, object]) -> dict[str, object]:
    """Return a row without null arguments: a column has every argument of any call."""
    for name in _ARGUMENTS:
        if isinstance(call := said.get(name), dict):
            said[name] = {key: value for key, value in call.items() if value is not None}
    return said


# --- transcripts of sessions ------------------------------------------------------


# The agent that a session is.
_ROOT = "main"

# More levels than any version of the host starts; a circle ends here.
_DEEPEST = 16


def _is_transcript(value: object) -> bool:
    keys = value if isinstance(value, dict) else ()
    return "type" in keys and ("sessionId" in keys or "leafUuid" in keys)


def _transcript(
    file: Path, name: str, values: Iterator[tuple[int, object]]
) -> Iterator[Record | LogProblem]:
    """Yield the calls of one transcript, in the order of their results."""
    try:
        chain = _chain(file)
    except PolicyError as error:
        yield LogProblem(name, error.message)
        return
    cwd = ""
    open_calls: dict[str, Record] = {}
    for number, said in values:
        source = f"{name}:{number}"
        if isinstance(said, PolicyError):
            # The last line of a session that runs is often written in part.
            yield LogProblem(source, said.message)
        if not isinstance(said, dict):
            continue
        cwd = cwd or _text(said.get("cwd"))
        time = _text(said.get("timestamp"))
        for block in _blocks(said):
            match block:
                case {"type": "tool_use", "id": str(key), "name": str(tool), "input": dict(call)}:
                    call_made = Record(chain, tool, call, time=time, cwd=cwd, source=source)
                    open_calls[key] = call_made
                case {"type": "tool_result", "tool_use_id": str(key)} if key in open_calls:
                    effect = _effect(said.get("permissionDecision"))
                    yield evolve(open_calls.pop(key), effect=effect)
    yield from open_calls.values()


def _blocks(said: Mapping[str, object]) -> list[object]:
    match said.get("message"):
        case {"content": list(content)}:
            return content
        case _:
            return []


def _effect(said: object) -> Effect | None:
    """Return what the host decided, without the answer of a person who was asked."""
    match said:
        case {"source": str(source)} if source.startswith("user_"):
            return Effect.ASK
        case {"decision": "accept", "source": "config"}:
            return Effect.ALLOW
        case {"decision": "reject", "source": "config"}:
            return Effect.DENY
        case _:
            return None  # a hook, say: it was not the host's rules that decided


def _chain(file: Path) -> tuple[str, ...]:
    """Return who made the calls of a transcript, by the files that lie beside it.

    Raises:
        PolicyError: they do not say who started the agent.

    """
    if file.parent.name != "subagents" or not file.stem.startswith("agent-"):
        return (_ROOT,)
    names: list[str] = []
    parent: str | None = file.stem.removeprefix("agent-")
    while parent is not None and len(names) < _DEEPEST:
        name, parent = _started(file.parent / f"agent-{parent}.meta.json")
        names.append(name)
    if parent is not None:
        msg = "the agents that started one another go round in a circle"
        raise PolicyError(msg, file=str(file.parent))
    return (_ROOT, *reversed(names))


def _started(file: Path) -> tuple[str, str | None]:
    """Return the name of an agent, and the id of the one that started it."""
    try:
        said = json.loads(file.read_text("utf-8"))
    except (OSError, ValueError, RecursionError):
        said = None
    name, parent, depth = (
        said.get(key) if isinstance(said, dict) else None
        for key in ("agentType", "parentAgentId", "spawnDepth")
    )
    if isinstance(name, str) and isinstance(parent, str) and _is_id(parent):
        return name, parent
    # At another depth an agent started it.
    if isinstance(name, str) and parent is None and depth in (None, 1):
        return name, None
    msg = "it does not say which agent made the calls, or who started it"
    raise PolicyError(msg, file=str(file))


def _is_id(text: str) -> bool:
    """Return whether *text* is the id of an agent, so that it names a file of the same folder."""
    return text.replace("-", "").replace("_", "").isalnum()
