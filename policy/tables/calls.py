"""Read the argument of a call that rules apply to, in canonical form.

An argument that cannot be read raises `Unreadable`, and the table denies the call, since a rule
that denies it may match.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterable, Mapping

from policy.core import limits
from policy.core.decision import Reason
from policy.core.values import Final
from policy.patterns.tokens import BLANKS, CONTROLS, folded
from policy.tables.dialect import Argument, ArgumentKind, Dialect


class Unreadable(Exception):
    """The argument is missing, of the wrong type, too long, or contradicts itself."""

    def __init__(self, reason: Reason = Reason.MALFORMED) -> None:
        self.reason = reason


def argument_text(
    argument: Argument, dialect: Dialect, call: Mapping[str, object], *, variant: bool = False
) -> str:
    """Return the text of *call* that patterns match; for a path and *variant*, its `case_variant`.

    Raises:
        Unreadable: there is no such text.
    """
    text = given_text(argument, call)
    checked = argument.kind is ArgumentKind.COMMAND and dialect.checks
    if checked and not CONTROLS.isdisjoint(text):
        raise Unreadable
    if len(text) > limits.CALL_CHARACTERS:
        raise Unreadable(Reason.TOO_LONG)
    match argument.kind:
        case ArgumentKind.PATH:
            text = text.strip(BLANKS) if argument.trimmed else text
            return (case_variant if variant else canonical_path)(text, dialect)
        case ArgumentKind.URL:
            return _host(text, is_browsed=argument.browsed)
        case _:
            return text


def given_text(argument: Argument, call: Mapping[str, object]) -> str:
    """Return the text of *call* as given, not canonical. Raises Unreadable if there is none."""
    return _READERS.get(argument.kind, _raw)(argument, call)


def _lenient(argument: Argument, call: Mapping[str, object]) -> str:
    value = call.get(argument.fields[0])
    return value if isinstance(value, str) else argument.absent or ""


def _files(argument: Argument, call: Mapping[str, object]) -> str:
    # `{"file_path": …}`, or `{"files": [{"path": …}, …]}`.
    one, several = argument.fields
    value, listed = call.get(one), call.get(several)
    if isinstance(value, str):
        return value
    if not isinstance(listed, (list, tuple)):
        return argument.absent or ""
    paths = [item.get("path") for item in listed if isinstance(item, Mapping)]
    return "\n".join(path for path in paths if isinstance(path, str))


def _joined(argument: Argument, call: Mapping[str, object]) -> str:
    values = [call.get(field) for field in argument.fields]
    return " ".join(value if isinstance(value, str) else "" for value in values)


def _json(_: Argument, call: Mapping[str, object], *, allow_nan: bool = False) -> str:
    import json  # noqa: PLC0415  # few tools need it

    try:
        return json.dumps(
            call, sort_keys=True, ensure_ascii=False, allow_nan=allow_nan, separators=(",", ":")
        )
    except (TypeError, ValueError, RecursionError):
        raise Unreadable from None


_READERS: Final[dict[ArgumentKind, Callable[[Argument, Mapping[str, object]], str]]] = {
    ArgumentKind.LENIENT: _lenient,
    ArgumentKind.FILES: _files,
    ArgumentKind.JOINED: _joined,
    ArgumentKind.JSON: _json,
}


def _raw(argument: Argument, call: Mapping[str, object]) -> str:
    if not argument.fields:
        # The dialect does not describe the tool: its argument is the only text, or the whole call.
        only = next(iter(call.values())) if len(call) == 1 else None
        return only if isinstance(only, str) else _json(argument, call, allow_nan=True)
    values = [call[field] for field in argument.fields if field in call]
    if not values:
        if argument.absent is None:
            raise Unreadable
        return argument.absent
    first = values[0]
    if not isinstance(first, str) or values.count(first) < len(values):
        raise Unreadable
    return first


def parameter_text(value: object) -> str | None:
    """Return a scalar argument as rules write it, e.g. ``true``; None for any other value."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, (int, float)) else None


def canonical_path(path: str, dialect: Dialect) -> str:
    """Return *path* absolute, without ``.``, ``..`` and empty segments; the root is "".

    Raises:
        Unreadable: the path is empty, or holds a NUL, which ends names below.
    """
    text = _absolute(path, dialect)
    return folded(text) if dialect.fold else text


def _absolute(path: str, dialect: Dialect) -> str:
    if not path or "\0" in path:
        raise Unreadable
    path = rooted_path(path, dialect.cwd, dialect.home)
    # Most paths are canonical already.
    if "//" not in path and "/." not in path and not path.endswith("/"):
        return path
    # POSIX leaves the meaning of two leading slashes open; they count as one.
    below = posixpath.normpath(path).lstrip("/")
    return f"/{below}" if below else ""


def rooted_path(path: str, cwd: str, home: str) -> str:
    """Return *path* as an absolute path; ``..`` stays, and no link is followed."""
    if path == "~" or path.startswith("~/"):
        return home + path[1:]
    return path if path.startswith("/") else f"{cwd}/{path}"


def case_variant(path: str, dialect: Dialect) -> str:
    """Return the canonical path of the other file that *path* may name, where case is ignored.

    Rules ignore the case of letters, and a working folder keeps its own. A path that names the
    folder in other letters is below it for a rule, and below no folder for the host. Each letter
    of the folder's name is then replaced, so that no rule about the folder matches. Raises as
    `canonical_path` does.
    """
    text = _absolute(path, dialect)
    if not dialect.cased:
        return folded(text) if dialect.fold else text
    path = folded(text)
    if any(_is_below(text, folder) for folder in dialect.cased):
        return path
    for folder in dialect.cased:
        if _is_below(path, folded(folder)):
            hidden = "".join(letter if letter == "/" else _NO_LETTER for letter in folder)
            return hidden + path[len(folder) :]
    return path


_NO_LETTER = "\x1f"


def is_within(path: str, dialect: Dialect) -> bool:
    """Return whether a canonical *path* is below a folder that the dialect names."""
    folders = dialect.cased or (dialect.cwd,)
    return any(_is_below(path, folded(f) if dialect.fold else f) for f in folders)


def _is_below(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder + "/")


def real_path(path: str, links: Iterable[tuple[str, str]]) -> str:
    """Return the real path of a canonical *path*. Raises Unreadable if links form a circle."""
    for _ in range(limits.LINKS):
        for link, target in links:
            if path == link or path.startswith(link + "/"):
                path = target + path[len(link) :]
                break
        else:
            return path
    raise Unreadable


def _host(url: str, *, is_browsed: bool) -> str:
    from policy.core.urls import read_url  # noqa: PLC0415  # for URLs alone

    host = (read_url(url) or ("",))[0]
    # Browsers compare known names without the final dot, and rules ignore this dot.
    if not host or (is_browsed and host.endswith(".")):
        raise Unreadable
    return host if is_browsed else host.removesuffix(".").strip("[]")
