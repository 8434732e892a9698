"""One call, decided in this process: options and standard input to an answer."""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, NoReturn

import attrs

from policy.anchors import Folders
from policy.codec import compiled_from_json
from policy.codec.loading import compiled_bytes
from policy.compiled import Compiled
from policy.errors import PolicyError
from policy.hook.build import build
from policy.hook.cache import Cache
from policy.hook.client import VARIABLES, variables
from policy.hook.deciding import Answer, decided
from policy.hook.event import LONGEST, Event, read_event
from policy.hook.sources import Places, read_sources
from policy.records.options import add_recording
from policy.source import visible

__all__ = ["Decider", "answered", "blocked", "options_of"]

_REMEMBERED: Final = 64


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise PolicyError(message)


def options_of(arguments: Sequence[str]) -> argparse.Namespace:
    """Return the options of the hook.

    Raises:
        PolicyError: there are no such options.

    """
    parser = _Parser(
        prog="policy hook",
        allow_abbrev=False,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        description=(
            "Answer the PreToolUse event of Claude Code on standard input: print one JSON object,"
            " or block the\ncall with status 2, whatever goes wrong. `policy install claude-code`"
            " writes the settings for it."
        ),
    )
    parser.add_argument(
        "files",
        nargs="*",
        metavar="FILE",
        help="compiled policies that decide (default: what the files of project and user say)",
    )
    parser.add_argument("--hash", default="", help="what the one FILE must hold, sha256:…")
    parser.add_argument("--root", default="", help="the agent that the main conversation is")
    parser.add_argument(
        "--resident", action="store_true", help="let a process of its own answer further calls"
    )
    add_recording(parser)
    parser.add_argument(
        "--deadline", type=float, default=20.0, help="seconds before the call is blocked (20)"
    )
    options = parser.parse_args(list(arguments))
    if options.hash and len(options.files) != 1:
        raise PolicyError("expected one file with `--hash`")
    return options


@attrs.define(eq=False)
class Decider:
    """Answers calls; what it compiled it knows again by content, never by name or time."""

    _known: dict[str, Compiled] = attrs.field(factory=dict)
    _folders: dict[Folders, Folders] = attrs.field(factory=dict)

    def answer(
        self, options: argparse.Namespace, environment: Mapping[str, str], data: bytes
    ) -> bytes:
        """Return the JSON object that answers the event *data*.

        Raises:
            PolicyError: it cannot be answered, so the call must be blocked.

        """
        event = read_event(data)
        places = Places.of(environment)
        if options.files:
            found = [self._file(Path(name), places, options.hash) for name in options.files]
        else:
            found = [self._sources(places, environment)]
        projects = [project for each in found for project in each.projects]
        folders = self._placed(places, event)
        answer = decided(event, projects, folders, options.root, _deciding(options, places))
        if options.record:
            _record(options, places, event, answer)
        return _written(answer)

    def _file(self, path: Path, places: Places, expected: str) -> Compiled:
        path = places.project / path
        data = compiled_bytes(path)
        compiled = self._of(f"{path}\0".encode() + data, data, str(path))
        if expected and compiled.hash != expected:
            msg = f"expected the policy `{expected}`, found `{compiled.hash}`"
            raise PolicyError(msg, file=str(path))
        return compiled

    def _sources(self, places: Places, environment: Mapping[str, str]) -> Compiled:
        sources = read_sources(places)
        digest = sources.digest
        known = self._known.get(digest)
        if known is not None:
            return known
        cache = Cache.of(environment)
        name = f"{digest}-{build()}"
        text = cache.get(name) if cache else None
        if text is None:
            from policy.hook.compiling import compiled_sources  # noqa: PLC0415  # a parser

            text = compiled_sources(sources)
            if cache:
                cache.put(name, text)
        return self._kept(digest, compiled_from_json(text, places.project))

    def _of(self, key: bytes, data: bytes, label: str) -> Compiled:
        digest = hashlib.sha256(key).hexdigest()
        known = self._known.get(digest)
        return known or self._kept(digest, compiled_from_json(data, label))

    def _kept(self, digest: str, compiled: Compiled) -> Compiled:
        if len(self._known) >= _REMEMBERED:
            self._known.clear()
        self._known[digest] = compiled
        return compiled

    def _placed(self, places: Places, event: Event) -> Folders:
        # What is made of a table in these folders is kept with them.
        if len(self._folders) >= _REMEMBERED:
            self._folders.clear()
        real = os.path.realpath(places.project)
        also = () if real == places.project else (real,)
        folders = Folders(places.project, places.home, also, event.cwd)
        return self._folders.setdefault(folders, folders)


def _deciding(options: argparse.Namespace, places: Places) -> tuple[str, ...]:
    """Return the files that decide, besides those that every project has, and the record."""
    kept = [options.record] if options.record else []
    named = [str(places.project / Path(name)) for name in (*options.files, *kept)]
    if places.user:
        named.append(places.user)
    return tuple(dict.fromkeys(each for name in named for each in (name, os.path.realpath(name))))


def _record(options: argparse.Namespace, places: Places, event: Event, answer: Answer) -> None:
    from policy.hook.recording import record_of  # noqa: PLC0415  # what is needed only here
    from policy.records.recorder import Recorder  # noqa: PLC0415

    # What cannot be written down is not granted either: this raises, and the call is blocked.
    recorder = Recorder(places.project / Path(options.record), options.redact)
    recorder.append(record_of(event, answer, places.project))


def _written(answer: Answer) -> bytes:
    said: dict[str, object] = {}
    if answer.effect is not None:
        output = {"hookEventName": "PreToolUse", "permissionDecision": str(answer.effect)}
        if answer.message:
            output["permissionDecisionReason"] = answer.message
        said["hookSpecificOutput"] = output
    return json.dumps(said).encode() + b"\n"


def answered(arguments: Sequence[str]) -> int:
    """Answer the call on standard input, and return the exit status."""
    decider = Decider()
    try:
        try:
            options = options_of(arguments)
        except SystemExit:  # `--help` was all that was asked
            return 0
        data = sys.stdin.buffer.read(LONGEST + 1)
        written = decider.answer(options, variables(VARIABLES), data)
    except PolicyError as error:
        sys.stderr.write(blocked(error))
        sys.stderr.flush()
        return 2
    # Not buffered: what cannot be written is not an answer, and is seen at once.
    while written:
        written = written[os.write(1, written) :]
    if options.resident:
        from policy.hook.resident import leave_behind  # noqa: PLC0415  # what is needed only here

        leave_behind(decider)
    return 0


def blocked(error: PolicyError) -> str:
    """Return what is said of a call that is blocked since nobody can decide it."""
    place = f"{error.place}: " if error.span or error.file else ""
    return f"This call is blocked: {place}{visible(error.message)}\n"
