"""Answers one call in full: options, variables and an event to an answer."""

from __future__ import annotations

import argparse
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, NoReturn

import attrs

from policy.adapters.hook.cached_answers import answers_store, entry_name, file_digest
from policy.adapters.hook.deciding import HookCall, hook_call
from policy.adapters.hook.event import Event, answer_json, read_event
from policy.adapters.hook.sources import Places, read_sources
from policy.adapters.hook.store import Store, package_digest
from policy.adapters.hook.warm_up import store_answers
from policy.analysis.records.record import Record, Recorder, add_recording
from policy.core.errors import PolicyError
from policy.core.source import visible
from policy.core.symlinks import other_names
from policy.tables.codec.compiled import compiled_bytes, compiled_from_json
from policy.tables.placement import ProjectFolders
from policy.tables.projects import Compiled

__all__ = ["DecidedCall", "HookDecider", "block_message", "options_of"]

_REMEMBERED: Final = 64


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise PolicyError(message)


def options_of(arguments: Sequence[str]) -> argparse.Namespace:
    """Return the options of the hook.

    Raises:
        PolicyError: *arguments* are no valid options.

    """
    parser = _Parser(
        prog="policy hook",
        allow_abbrev=False,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        description=(
            "Answer the PreToolUse event of Claude Code on standard input: print one JSON object,"
            " or block the\ncall with status 2 on any failure. `policy install claude-code`"
            " writes the settings for it."
        ),
    )
    parser.add_argument(
        "files",
        nargs="*",
        metavar="FILE",
        help="compiled policies that decide, relative to the folder of the project"
        " (default: the policy files of the project and the user)",
    )
    parser.add_argument("--hash", default="", help="the hash of the one FILE, sha256:…")
    parser.add_argument("--root", default="", help="the agent of the main conversation")
    parser.add_argument(
        "--resident", action="store_true", help="keep a process running that answers later calls"
    )
    add_recording(parser)
    parser.add_argument(
        "--deadline", type=float, default=20.0, help="seconds before the call is blocked (20)"
    )
    options = parser.parse_args(list(arguments))
    if options.hash and len(options.files) != 1:
        raise PolicyError("expected one file with `--hash`")
    return options


def block_message(error: PolicyError) -> str:
    """Return the message for a call that is blocked because of *error*."""
    place = f"{error.place}: " if error.span or error.file else ""
    return f"This call is blocked: {place}{visible(error.message)}\n"


@attrs.frozen
class DecidedCall:
    """A call, and what decides it.

    Attributes:
        call: with the standing of its agent.
        places: of the files of the session.
        paths: of the compiled policies that decide, if any.
        digests: of the policies that decide.

    """

    call: HookCall
    places: Places
    paths: tuple[str, ...]
    digests: tuple[str, ...]

    def answer(self, options: argparse.Namespace) -> bytes:
        """Return the JSON object that answers the call, and record it with ``--record``.

        Raises:
            PolicyError: the record cannot be written, so the call must be blocked.

        """
        answer, event, project = self.call.answer(), self.call.event, self.places.project
        if options.record:
            # A call that is left to the host has no effect in the record.
            record = attrs.evolve(
                Record.of(answer.chain, event.tool, event.call, answer.decision),
                agent="" if answer.chain else event.agent_type,
                effect=answer.effect,
                cwd=project,
                project=answer.project,
            )
            Recorder(project / Path(options.record), options.redact).append(record)
        effect = "" if answer.effect is None else str(answer.effect)
        return answer_json(effect, event.message(answer.parts))

    def store(self, arguments: Sequence[str], environment: Mapping[str, str]) -> None:
        """Store what decides further calls like this one, for later processes.

        Args:
            arguments: of the hook, as they were given.
            environment: the variables that the answer depends on.

        """
        store = answers_store(environment)
        name = entry_name(arguments, environment, self.call.event, self.paths, self.digests)
        if store is not None and name:
            store_answers(self.call, store, name)


@attrs.define(eq=False)
class HookDecider:
    """Answers calls, and keeps compiled policies by the digest of their files."""

    _known: dict[str, Compiled] = attrs.field(factory=dict)
    _folders: dict[ProjectFolders, ProjectFolders] = attrs.field(factory=dict)

    def answer(
        self, options: argparse.Namespace, environment: Mapping[str, str], data: bytes
    ) -> bytes:
        """Return the JSON object that answers the event *data*.

        Raises:
            PolicyError: the call must be blocked.

        """
        return self.decide(options, environment, data).answer(options)

    def decide(
        self, options: argparse.Namespace, environment: Mapping[str, str], data: bytes
    ) -> DecidedCall:
        """Return the call of the event *data*, and what decides it.

        Raises:
            PolicyError: as for `answer`.

        """
        event = read_event(data)
        places = Places.of(environment)
        if options.files:
            paths = [os.path.join(places.project, name) for name in options.files]  # noqa: PTH118
            found = [self._from_file(path, options.hash) for path in paths]
        else:
            paths, found = [], [self._from_sources(places, environment)]
        projects = [project for _, compiled in found for project in compiled.projects]
        call = hook_call(
            event,
            projects,
            self._placed(places, event),
            options.root,
            _deciding_files(options, places),
        )
        return DecidedCall(call, places, tuple(paths), tuple(digest for digest, _ in found))

    def _from_file(self, path: str, expected: str) -> tuple[str, Compiled]:
        data = compiled_bytes(path)
        digest = file_digest(path, data)
        compiled = self._known.get(digest)
        if compiled is None:
            compiled = self._remember(digest, compiled_from_json(data, path))
        if expected and compiled.hash != expected:
            msg = f"expected the policy `{expected}`, found `{compiled.hash}`"
            raise PolicyError(msg, file=path)
        return digest, compiled

    def _from_sources(self, places: Places, environment: Mapping[str, str]) -> tuple[str, Compiled]:
        sources = read_sources(places)
        digest = sources.digest
        known = self._known.get(digest)
        if known is not None:
            return digest, known
        store = Store.of(environment)
        name = f"{digest}-{package_digest()}"
        text = store.get(name) if store else None
        if text is None:
            from policy.adapters.hook.compiling import compiled_sources  # noqa: PLC0415  # loads parsers

            text = compiled_sources(sources)
            if store:
                store.put(name, text)
        return digest, self._remember(digest, compiled_from_json(text, places.project))

    def _remember(self, digest: str, compiled: Compiled) -> Compiled:
        if len(self._known) >= _REMEMBERED:
            self._known.clear()
        self._known[digest] = compiled
        return compiled

    def _placed(self, places: Places, event: Event) -> ProjectFolders:
        # The folders keep the tables that were placed in them.
        if len(self._folders) >= _REMEMBERED:
            self._folders.clear()
        also = other_names(places.project)
        folders = ProjectFolders(places.project, places.home, also, event.cwd)
        return self._folders.setdefault(folders, folders)


def _deciding_files(options: argparse.Namespace, places: Places) -> tuple[str, ...]:
    """Return the files that decide besides those that every project has, and the record."""
    record = [options.record] if options.record else []
    named = [str(places.project / Path(name)) for name in (*options.files, *record)]
    if places.user:
        named.append(places.user)
    return tuple(dict.fromkeys(each for name in named for each in (name, os.path.realpath(name))))
