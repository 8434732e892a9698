"""The `program` tool: what it may be given to run. Nothing is ever run here."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from policy.hosts.a3s.errors import A3sError, Kind
from policy.hosts.a3s.scripts import excluded
from policy.hosts.a3s.versions import NEWEST, Profile

__all__ = ["SOURCE_BYTES", "check_program", "check_source", "program_tools"]

SOURCE_BYTES: Final = 192 * 1024

# Refused wherever they stand, in strings too.
_FORBIDDEN: Final = (
    "import ",
    "import(",
    "eval(",
    "Function(",
    "Worker(",
    "WebSocket",
    "fetch(",
)

# As the host looks for it: `function runner` will do.
_ENTRY: Final = "function run"


def check_program(args: Mapping[str, Any]) -> None:
    """Refuse arguments that the host would not run.

    Raises:
        A3sError: for the first reason there is.

    """
    kind = args.get("type", "script")
    if kind != "script":
        raise A3sError(
            Kind.PROGRAM_TYPE, f"unsupported program type '{kind}'", help="only `script` is run"
        )
    language = args.get("language", "javascript")
    if language != "javascript":
        raise A3sError(
            Kind.LANGUAGE, f"unsupported language '{language}'", help="only `javascript` is run"
        )
    source = args.get("source")
    if isinstance(source, str):
        check_source(source)


def check_source(source: str) -> None:
    """Refuse a source that the host would not run.

    Raises:
        A3sError: it is too long, has no function `run`, or holds what is refused.

    """
    size = len(source.encode("utf-8", "surrogatepass"))
    if size > SOURCE_BYTES:
        msg = f"the source has {size:,} bytes; at most {SOURCE_BYTES:,} are run"
        raise A3sError(Kind.SOURCE_SIZE, msg)
    found = next((text for text in _FORBIDDEN if text in source), None)
    if found is not None:
        raise A3sError(
            Kind.SOURCE_FORBIDDEN,
            f"the source holds `{found.strip()}`, which is refused",
            help="it is refused in strings and comments too",
        )
    if _ENTRY not in source:
        raise A3sError(
            Kind.NO_ENTRY_POINT,
            "the source has no function `run`",
            help="write `async function run(ctx, inputs) { … }`",
        )


def program_tools(
    args: Mapping[str, Any], registered: Iterable[str], profile: Profile = NEWEST
) -> tuple[str, ...]:
    """Return what a program may call.

    Its list has the opposite default of that of a script tool: absent, or no
    list, it is every tool that is registered.
    """
    listed = args.get("allowed_tools")
    tools = tuple(registered)
    if isinstance(listed, (list, tuple)):
        tools = tuple(name for name in listed if isinstance(name, str))
    return tuple(name for name in tools if name not in excluded(profile))
