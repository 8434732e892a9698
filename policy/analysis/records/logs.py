"""Reads logs: our own records, calls as `policy check` reads them, transcripts and Parquet.

Keys of a line decide its form. A line of no known form becomes a `LogProblem`. DuckDB (the extra
``replay``) reads Parquet, and counts equal calls first.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
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


@frozen
class LogProblem:
    """A line without a readable call."""

    source: str  # its place, e.g. ``a.jsonl:12``
    message: str
    times: int = 1  # how often the line occurs


def log_files(paths: list[Path]) -> dict[Path, str]:
    """Return the logs at *paths*, each with its name in messages. Raises PolicyError for none.

    A file is a log whatever its name; below a folder ``*.jsonl`` and ``*.parquet`` are.
    """
    found: dict[Path, str] = {}
    for path in paths:
        if path.is_dir():
            below = sorted(chained(path.rglob("*.jsonl"), path.rglob("*.parquet")))
            found |= {file: file.relative_to(path).as_posix() for file in below}
        elif path.exists():
            found[path] = str(path)
        else:
            raise PolicyError("there is no such file or folder", file=str(path))
    if not found:
        msg = "no log lies in it: no `*.jsonl` and no `*.parquet`"
        raise PolicyError(msg, file=str(paths[0]), help="name the logs themselves")
    return found


def read_log(file: Path, name: str) -> Iterator[Record | LogProblem]:
    """Yield the calls of a log, called *name* in places. Raises PolicyError if it is unreadable."""
    if file.suffix == ".parquet":
        yield from _counted(file, name)
        return
    try:
        values = _values(file, name)
        first = next(values, ("", None))
        values = chained([first], values) if first[0] else values
        keys = first[1] if isinstance(first[1], dict) else ()
        if "type" in keys and ("sessionId" in keys or "leafUuid" in keys):
            yield from _transcript(file, name, values)
            return
        yield from (_read(value, source) for source, value in values)
    except OSError as error:
        msg = f"cannot be read: {(error.strerror or str(error)).lower()}"
        raise PolicyError(msg, file=str(file)) from None


def _values(file: Path, name: str) -> Iterator[tuple[str, object]]:
    """Yield the place and the value of each line that is not blank."""
    done, total = 0, file.stat().st_size
    with file.open("rb") as lines:
        for number, line in enumerate(lines, 1):
            reached(f"bytes of {file.name}", done, total)
            done += len(line)
            if not line.isspace():
                source = f"{name}:{number}"
                yield source, _parsed(line, source)


def _parsed(text: bytes | str, source: str) -> object:
    """Return the value of JSON text, or a `LogProblem` if it is none."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return LogProblem(source, "this is not JSON")


_EFFECTS: Final = {effect.value: effect for effect in Effect}
_ARGUMENTS: Final = ("gen_ai.tool.call.arguments", "input")
_OURS: Final = ("gen_ai.tool.name", "gen_ai.tool.call.arguments", "policy.chain")
_CHECKED: Final = ("tool", "input", "chain")


def _read(value: object, source: str) -> Record | LogProblem:
    if isinstance(value, LogProblem):
        return value
    try:
        return _record(value, source)
    except PolicyError as error:
        return LogProblem(source, error.message)


def _record(value: object, source: str) -> Record:
    """Return the record in *value*; raise PolicyError if it is no call."""
    fields: dict[str, object] = {}
    if isinstance(value, dict):
        value = fields = {name: each for name, each in value.items() if each is not None}
    agent = fields.get("gen_ai.agent.name")
    ours = "gen_ai.tool.name" in fields
    if ours and agent is not None:
        fields.setdefault("policy.chain", [agent])
    for name in _ARGUMENTS:
        # OpenTelemetry allows arguments as JSON text.
        if isinstance(text := fields.get(name), str):
            fields[name] = _parsed(text, source)
    tool, call, chain = call_of(value, _OURS if ours else _CHECKED)
    effect = fields.get("policy.effect" if ours else "effect", "")
    if effect and (not isinstance(effect, str) or effect not in _EFFECTS):
        raise PolicyError("expected `allow`, `ask` or `deny` as the effect")
    redacted = fields.get("policy.redacted")
    return Record(
        chain,
        tool,
        call,
        _EFFECTS.get(_text(effect)),
        source=source,
        cwd=_text(fields.get("policy.cwd")),
        redacted=tuple(map(str, redacted)) if isinstance(redacted, list) else (),
        project=_text(fields.get("policy.project")),
        agent="" if chain else _text(agent),
    )


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


# The columns that tell calls apart.
_FIELDS: Final = (
    *_OURS,
    *_CHECKED,
    *("effect", "gen_ai.agent.name"),
    *("policy.effect", "policy.cwd", "policy.project", "policy.redacted"),
)
_ROWS: Final = 10_000  # taken from the result at a time


def _counted(file: Path, name: str) -> Iterator[Record | LogProblem]:
    """Yield each distinct call of a Parquet file, with its number.

    Raises PolicyError if DuckDB is missing or cannot read the file.
    """
    try:
        import duckdb  # noqa: PLC0415  # an extra
    except ImportError:
        msg = "Parquet is read by DuckDB, which is missing"
        help_ = "pip install '.[replay]' in a clone of agent-policy"
        raise PolicyError(msg, file=str(file), help=help_) from None
    fields = "|".join(map(re.escape, _FIELDS))
    kept = f"SELECT COLUMNS('^({fields})$') FROM read_parquet($1)"  # noqa: S608  # names of ours
    query = f"SELECT to_json(kept), count(*) FROM ({kept}) kept GROUP BY ALL"  # noqa: S608  # as above
    try:
        with duckdb.connect() as connection:
            result = connection.execute(query, [str(file)])
            while rows := result.fetchmany(_ROWS):
                for text, times in rows:
                    row = json.loads(text)
                    for key in _ARGUMENTS:
                        # A column of Parquet has the arguments of all calls, null if absent.
                        if isinstance(call := row.get(key), dict):
                            row[key] = {k: v for k, v in call.items() if v is not None}
                    yield evolve(_read(row, name), times=times)
    except duckdb.Error as error:
        msg = f"cannot be read: {str(error).partition(chr(10))[0]}"
        raise PolicyError(msg, file=str(file)) from None


# The agent of a session.
_ROOT = "main"

# A limit against circles; no version of the host starts so many levels.
_DEEPEST = 16


def _transcript(
    file: Path, name: str, values: Iterator[tuple[str, object]]
) -> Iterator[Record | LogProblem]:
    """Yield the calls of one transcript, in the order of their results."""
    try:
        chain = _chain(file)
    except PolicyError as error:
        yield LogProblem(name, error.message)
        return
    cwd = ""
    open_calls: dict[str, Record] = {}
    for source, entry in values:
        if isinstance(entry, LogProblem):
            # The last line of a running session is often incomplete.
            yield entry
        if not isinstance(entry, dict):
            continue
        cwd = cwd or _text(entry.get("cwd"))
        message = entry.get("message")
        content = message.get("content") if isinstance(message, dict) else ()
        for block in content if isinstance(content, list) else ():
            match block:
                case {"type": "tool_use", "id": str(key), "name": str(tool), "input": dict(call)}:
                    open_calls[key] = Record(chain, tool, call, cwd=cwd, source=source)
                case {"type": "tool_result", "tool_use_id": str(key)} if key in open_calls:
                    effect = _effect(entry.get("permissionDecision"))
                    yield evolve(open_calls.pop(key), effect=effect)
    yield from open_calls.values()


def _effect(decision: object) -> Effect | None:
    """Return the effect that the rules of the host gave, whatever a person answered."""
    match decision:
        case {"source": str(source)} if source.startswith("user_"):
            return Effect.ASK
        case {"decision": "accept", "source": "config"}:
            return Effect.ALLOW
        case {"decision": "reject", "source": "config"}:
            return Effect.DENY
        case _:
            return None  # something else decided, such as a hook


def _chain(file: Path) -> tuple[str, ...]:
    """Return the chain of a transcript, from ``.meta.json`` files. Raises PolicyError for none."""
    if file.parent.name != "subagents" or not file.stem.startswith("agent-"):
        return (_ROOT,)
    names: list[str] = []
    key: str | None = file.stem.removeprefix("agent-")
    while key is not None:
        try:
            meta = json.loads((file.parent / f"agent-{key}.meta.json").read_text("utf-8"))
        except (OSError, ValueError, RecursionError):
            meta = None
        name, parent, depth = (
            meta.get(each) if isinstance(meta, dict) else None
            for each in ("agentType", "parentAgentId", "spawnDepth")
        )
        # The id becomes part of a path, so it must not lead out of the folder.
        is_id = isinstance(parent, str) and parent.replace("-", "").replace("_", "").isalnum()
        is_first = parent is None and depth in (None, 1)  # deeper, an agent must have started it
        if not isinstance(name, str) or not (is_id or is_first) or len(names) == _DEEPEST:
            msg = "it does not say which agent made the calls, or who started it"
            raise PolicyError(msg, file=str(file))
        names.append(name)
        key = parent
    return (_ROOT, *reversed(names))
