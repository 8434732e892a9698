"""Reading logs: records of our own, calls as `policy check` reads them, transcripts, Parquet.

Each line says itself what it is. One that is none of these is a `LogProblem`, so that nothing is
left out in silence. DuckDB (the extra ``replay``) reads large logs and Parquet, and counts equal
calls first. Without it logs of lines are read line by line, with the same result.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
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


@frozen
class LogProblem:
    """A line that holds no call that could be read."""

    source: str  # where, e.g. ``a.jsonl:12``
    message: str  # why
    times: int = 1  # how many lines are like it


def log_files(paths: list[Path]) -> dict[Path, str]:
    """Return the logs at *paths*, and how people know each. Raises PolicyError where there is none.

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


# Bytes of a log of lines from which counting first is worth starting DuckDB.
_LARGE = 4 * 2**20


def read_log(file: Path, name: str) -> Iterator[Record | LogProblem]:
    """Yield what each line of a log holds; *name* stands in places. May raise PolicyError."""
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
        if is_installed() and file.stat().st_size >= _LARGE:
            try:
                yield from _counted(file, name)
            except PolicyError:
                pass  # nothing was counted yet, and line by line its mistakes have places
            else:
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
    """Return the value of JSON text, which is a `LogProblem` where it is none."""
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
    """Return what deciding the call again needs. Raises PolicyError where it is no call."""
    said: dict[str, object] = {}
    if isinstance(value, dict):
        value = said = {name: each for name, each in value.items() if each is not None}
    agent = said.get("gen_ai.agent.name")
    ours = "gen_ai.tool.name" in said
    if ours and agent is not None:
        said.setdefault("policy.chain", [agent])
    for name in _ARGUMENTS:
        # As the conventions have it where attributes are texts.
        if isinstance(text := said.get(name), str):
            said[name] = _parsed(text, source)
    tool, call, chain = call_of(value, _OURS if ours else _CHECKED)
    effect = said.get("policy.effect" if ours else "effect", "")
    if effect and (not isinstance(effect, str) or effect not in _EFFECTS):
        raise PolicyError("expected `allow`, `ask` or `deny` as the effect")
    redacted = said.get("policy.redacted")
    return Record(
        chain,
        tool,
        call,
        _EFFECTS.get(_text(effect)),
        source=source,
        cwd=_text(said.get("policy.cwd")),
        redacted=tuple(map(str, redacted)) if isinstance(redacted, list) else (),
        project=_text(said.get("policy.project")),
        agent="" if chain else _text(agent),
    )


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


# What a row may say: what tells calls apart.
_FIELDS: Final = (
    *_OURS,
    *_CHECKED,
    *("effect", "gen_ai.agent.name"),
    *("policy.effect", "policy.cwd", "policy.project", "policy.redacted"),
)
_ROWS: Final = 10_000  # taken from the result at a time


def is_installed() -> bool:
    """Return whether DuckDB is there."""
    return find_spec("duckdb") is not None


def _counted(file: Path, name: str) -> Iterator[Record | LogProblem]:
    """Yield each distinct call of *file*, and how often it is there.

    Raises PolicyError before anything is yielded, where DuckDB is missing or cannot read the file.
    """
    if not is_installed():
        msg = "Parquet is read by DuckDB, which is missing"
        help_ = "pip install '.[replay]' in a clone of agent-policy"
        raise PolicyError(msg, file=str(file), help=help_)
    import duckdb  # noqa: PLC0415  # 0.1 s that small logs need not pay

    source = "read_parquet($1)"
    if file.suffix != ".parquet":
        columns = ", ".join(f"'{field}': 'JSON'" for field in _FIELDS)
        source = f"read_json($1, format='newline_delimited', columns={{{columns}}})"
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
                    said = json.loads(text)
                    for key in _ARGUMENTS if file.suffix == ".parquet" else ():
                        # A column has every argument of any call.
                        if isinstance(call := said.get(key), dict):
                            said[key] = {k: v for k, v in call.items() if v is not None}
                    yield evolve(_read(said, name), times=times)
    except duckdb.Error as error:
        msg = f"cannot be read: {str(error).partition(chr(10))[0]}"
        raise PolicyError(msg, file=str(file)) from None


# The agent that a session is.
_ROOT = "main"

# More levels than any version of the host starts; a circle ends here.
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
    for source, said in values:
        if isinstance(said, LogProblem):
            # The last line of a session that runs is often written in part.
            yield said
        if not isinstance(said, dict):
            continue
        cwd = cwd or _text(said.get("cwd"))
        message = said.get("message")
        content = message.get("content") if isinstance(message, dict) else ()
        for block in content if isinstance(content, list) else ():
            match block:
                case {"type": "tool_use", "id": str(key), "name": str(tool), "input": dict(call)}:
                    open_calls[key] = Record(chain, tool, call, cwd=cwd, source=source)
                case {"type": "tool_result", "tool_use_id": str(key)} if key in open_calls:
                    effect = _effect(said.get("permissionDecision"))
                    yield evolve(open_calls.pop(key), effect=effect)
    yield from open_calls.values()


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
    """Return who made the calls of a transcript, by files beside it, or raise PolicyError."""
    if file.parent.name != "subagents" or not file.stem.startswith("agent-"):
        return (_ROOT,)
    names: list[str] = []
    key: str | None = file.stem.removeprefix("agent-")
    while key is not None:
        try:
            said = json.loads((file.parent / f"agent-{key}.meta.json").read_text("utf-8"))
        except (OSError, ValueError, RecursionError):
            said = None
        name, parent, depth = (
            said.get(each) if isinstance(said, dict) else None
            for each in ("agentType", "parentAgentId", "spawnDepth")
        )
        # An id is a part of the name of a file, so it must not lead out of the folder.
        is_id = isinstance(parent, str) and parent.replace("-", "").replace("_", "").isalnum()
        is_first = parent is None and depth in (None, 1)  # at another depth an agent started it
        if not isinstance(name, str) or not (is_id or is_first) or len(names) == _DEEPEST:
            msg = "it does not say which agent made the calls, or who started it"
            raise PolicyError(msg, file=str(file))
        names.append(name)
        key = parent
    return (_ROOT, *reversed(names))
