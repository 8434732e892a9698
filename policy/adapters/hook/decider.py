"""One call, decided at length: options, variables and an event to an answer."""

from __future__ import annotations

import argparse
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, NoReturn

import attrs

from policy.adapters.hook.answers import printed
from policy.adapters.hook.build import build
from policy.adapters.hook.cache import Cache
from policy.adapters.hook.deciding import HookCall, asked
from policy.adapters.hook.event import Event, read_event
from policy.adapters.hook.preparing import leave
from policy.adapters.hook.sources import Places, read_sources
from policy.adapters.hook.walked import file_digest, kept_calls, name_of
from policy.analysis.records.record import add_recording
from policy.core.errors import PolicyError
from policy.core.source import visible
from policy.core.symlinks import other_names
from policy.tables.codec import compiled_from_json
from policy.tables.codec.reading import compiled_bytes
from policy.tables.placement import ProjectFolders
from policy.tables.projects import Compiled

__all__ = ["FoundCall", "HookDecider", "blocked", "options_of"]

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
        help="compiled policies that decide, as they are called in the folder of the project,"
        " since calls are made in any folder (default: what the files of project and user say)",
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


@attrs.frozen
class FoundCall:
    """A call, and what decides it.

    Attributes:
        asked: the call, and where whoever makes it stands.
        places: where the files of the session are.
        paths: of the compiled policies that decide, if they do.
        digests: of what decides.

    """

    asked: HookCall
    places: Places
    paths: tuple[str, ...]
    digests: tuple[str, ...]

    def answer(self, options: argparse.Namespace) -> bytes:
        """Return the JSON object that answers the call, which is written down if it shall be.

        Raises:
            PolicyError: it cannot be written down.

        """
        answer = self.asked.answer()
        event = self.asked.event
        if options.record:
            from policy.adapters.hook.recording import record_of  # noqa: PLC0415  # needed only here
            from policy.analysis.records.record import Recorder  # noqa: PLC0415

            # What cannot be written down is not granted either: this raises.
            recorder = Recorder(self.places.project / Path(options.record), options.redact)
            recorder.append(record_of(event, answer, self.places.project))
        effect = "" if answer.effect is None else str(answer.effect)
        return printed(effect, answer.message(event))

    def leave(self, arguments: Sequence[str], environment: Mapping[str, str]) -> None:
        """Leave to the processes that follow what decides further calls like this one.

        Args:
            arguments: of the hook, as they were given.
            environment: the variables that it depends on.

        """
        cache = kept_calls(environment)
        event = self.asked.event
        name = name_of(arguments, environment, event, self.paths, self.digests)
        if cache is not None and name:
            leave(self.asked, cache, name)


@attrs.define(eq=False)
class HookDecider:
    """Answers calls; what it compiled it knows again by content, never by name or time."""

    _known: dict[str, Compiled] = attrs.field(factory=dict)
    _folders: dict[ProjectFolders, ProjectFolders] = attrs.field(factory=dict)

    def answer(
        self, options: argparse.Namespace, environment: Mapping[str, str], data: bytes
    ) -> bytes:
        """Return the JSON object that answers the event *data*.

        Raises:
            PolicyError: it cannot be answered, so the call must be blocked.

        """
        found = self.found(options, environment, data)
        return found.answer(options)

    def found(
        self, options: argparse.Namespace, environment: Mapping[str, str], data: bytes
    ) -> FoundCall:
        """Return the call of the event *data*, and what decides it.

        Raises:
            PolicyError: as for `answer`.

        """
        event = read_event(data)
        places = Places.of(environment)
        if options.files:
            paths = [os.path.join(places.project, name) for name in options.files]  # noqa: PTH118
            found = [self._file(path, options.hash) for path in paths]
        else:
            paths, found = [], [self._sources(places, environment)]
        projects = [project for _, each in found for project in each.projects]
        folders = self._placed(places, event)
        files = _deciding(options, places)
        return FoundCall(
            asked(event, projects, folders, options.root, files),
            places,
            tuple(paths),
            tuple(digest for digest, _ in found),
        )

    def _file(self, path: str, expected: str) -> tuple[str, Compiled]:
        data = compiled_bytes(path)
        digest = file_digest(path, data)
        compiled = self._known.get(digest)
        if compiled is None:
            compiled = self._kept(digest, compiled_from_json(data, path))
        if expected and compiled.hash != expected:
            msg = f"expected the policy `{expected}`, found `{compiled.hash}`"
            raise PolicyError(msg, file=path)
        return digest, compiled

    def _sources(self, places: Places, environment: Mapping[str, str]) -> tuple[str, Compiled]:
        sources = read_sources(places)
        digest = sources.digest
        known = self._known.get(digest)
        if known is not None:
            return digest, known
        cache = Cache.of(environment)
        name = f"{digest}-{build()}"
        text = cache.get(name) if cache else None
        if text is None:
            from policy.adapters.hook.compiling import compiled_sources  # noqa: PLC0415  # a parser

            text = compiled_sources(sources)
            if cache:
                cache.put(name, text)
        return digest, self._kept(digest, compiled_from_json(text, places.project))

    def _kept(self, digest: str, compiled: Compiled) -> Compiled:
        if len(self._known) >= _REMEMBERED:
            self._known.clear()
        self._known[digest] = compiled
        return compiled

    def _placed(self, places: Places, event: Event) -> ProjectFolders:
        # What is made of a table in these folders is kept with them.
        if len(self._folders) >= _REMEMBERED:
            self._folders.clear()
        also = other_names(places.project)
        folders = ProjectFolders(places.project, places.home, also, event.cwd)
        return self._folders.setdefault(folders, folders)


def _deciding(options: argparse.Namespace, places: Places) -> tuple[str, ...]:
    """Return the files that decide, besides those that every project has, and the record."""
    kept = [options.record] if options.record else []
    named = [str(places.project / Path(name)) for name in (*options.files, *kept)]
    if places.user:
        named.append(places.user)
    return tuple(dict.fromkeys(each for name in named for each in (name, os.path.realpath(name))))


def blocked(error: PolicyError) -> str:
    """Return what is said of a call that is blocked since nobody can decide it."""
    place = f"{error.place}: " if error.span or error.file else ""
    return f"This call is blocked: {place}{visible(error.message)}\n"
