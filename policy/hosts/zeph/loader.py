"""Definitions, taken one after the other: which of them count, and what is left out."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import PurePath
from typing import Final

import attrs

from policy.documents.text import decode
from policy.errors import PolicyError
from policy.finding import Finding, Severity
from policy.hosts.zeph.definition import Hooks, Profile, SubAgentDef
from policy.hosts.zeph.errors import Kind, ZephError, ZephErrors
from policy.hosts.zeph.parsing import parse
from policy.source import Source

__all__ = ["MOST_FILES", "Loaded", "Loader", "parse_file", "with_scope"]

# Files of one folder, before any of them is read.
MOST_FILES: Final = 100

_SKIPPED: Final = "Zeph leaves the file out, so there is no such agent"

# What is refused here and is YAML to Zeph.
_OURS: Final = re.compile(r"\b(?:anchors|aliases|tags) are not read")
_UNTOLD: Final = "Zeph reads it, and what the agent may do is not told here"


@attrs.frozen
class Loaded:
    """What came of a load.

    Attributes:
        definitions: those that count, in the order they were found.
        findings: what is the matter with the files.
        absent: folders that are not there.
        errors: why files were left out.

    """

    definitions: tuple[SubAgentDef, ...] = ()
    findings: tuple[Finding, ...] = ()
    absent: tuple[str, ...] = ()
    errors: tuple[ZephError, ...] = ()

    def by_name(self) -> dict[str, SubAgentDef]:
        """Return the definitions by the names they are started by."""
        return {definition.name: definition for definition in self.definitions}


def parse_file(name: str, data: bytes, profile: Profile) -> SubAgentDef:
    """Return the definition that the bytes of a file are.

    Raises:
        ZephError: as `parse`, and of kind ``Parse`` where they are no UTF-8.

    """
    try:
        source = decode(name, data)
    except PolicyError as error:
        raise ZephError(
            Kind.PARSE, error.message, error.span, help=error.help, file=error.file
        ) from None
    return parse(source, profile)


_STRICTLY_STRIPPED: Final = ("user", "extra", "unknown")


def with_scope(
    definition: SubAgentDef, scope: str | None, *, strict: bool = False
) -> tuple[SubAgentDef, tuple[Finding, ...]]:
    """Return *definition* as its scope leaves it, and what the scope takes away.

    Args:
        definition: as written.
        scope: its label, or None where it was read by itself.
        strict: whether hooks are left to projects and the command line alone,
            as documented; Zeph takes them from nobody but users.

    """
    stripped = _STRICTLY_STRIPPED if strict else ("user",)
    if scope not in stripped or not len(definition.hooks):
        return definition, ()
    finding = Finding(
        "hooks-stripped",
        f"the hooks of `{definition.name}` are not in force: its file is of the scope `{scope}`",
        Severity.WARNING,
        definition.span("hooks"),
        help="move the file to `.zeph/agents`",
    )
    return attrs.evolve(definition, hooks=Hooks()), (finding,)


@attrs.define
class Loader:
    """Takes definitions one after the other; the first of a name counts.

    Attributes:
        profile: which Zeph reads them.
        strict: see `with_scope`.

    """

    profile: Profile = Profile.ZEPH
    strict: bool = False
    definitions: dict[str, SubAgentDef] = attrs.field(factory=dict)
    findings: list[Finding] = attrs.field(factory=list)
    absent: list[str] = attrs.field(factory=list)
    errors: list[ZephError] = attrs.field(factory=list)
    _unread: dict[str, ZephError] = attrs.field(factory=dict)

    def take(self, definition: SubAgentDef, scope: str | None) -> None:
        """Add *definition*, unless its name is taken."""
        earlier = self.definitions.get(definition.name)
        if earlier is not None:
            self.findings.append(_shadowed(definition, earlier))
            return
        lost = self._unread.get(definition.name)
        if lost is not None:
            self.findings.append(_exposed(definition, lost))
        kept, findings = with_scope(definition, scope, strict=self.strict)
        self.findings += findings
        self.definitions[definition.name] = kept

    def skip(self, error: ZephError, source: Source | None = None) -> None:
        """Leave a file out, and remember which agent it may have been to define."""
        self.errors.append(error)
        mistakes = error.errors if isinstance(error, ZephErrors) else (error,)
        ours = all(_OURS.search(one.message) for one in mistakes)
        consequence = _UNTOLD if ours else _SKIPPED
        self.findings += Finding.of(error, "unreadable-definition", consequence=consequence)
        text = source or (error.span.source if error.span else None)
        name = _meant(text) if text else None
        self._unread.setdefault(name or PurePath(error.file).stem, error)

    def cut(self, folder: str, names: Sequence[str]) -> Sequence[str]:
        """Return the files of one folder that are looked at: the first hundred."""
        if len(names) > MOST_FILES:
            left = len(names) - MOST_FILES
            message = f"{left} of {len(names)} files are left out, from `{names[MOST_FILES]}` on"
            self.findings.append(
                Finding("too-many-definitions", message, Severity.ERROR, file=folder)
            )
        return names[:MOST_FILES]

    @property
    def loaded(self) -> Loaded:
        """What came of it."""
        return Loaded(
            tuple(self.definitions.values()),
            tuple(self.findings),
            tuple(self.absent),
            tuple(self.errors),
        )


_NAME: Final = re.compile(r"(?m)^name[ \t]*[:=][ \t]*[\"']?([A-Za-z0-9][A-Za-z0-9_-]*)")


def _meant(source: Source) -> str | None:
    """Return the name that a file gives, as far as lines tell."""
    found = _NAME.search(source.text)
    return found[1] if found else None


def _shadowed(definition: SubAgentDef, earlier: SubAgentDef) -> Finding:
    span = earlier.span("name")
    at = f" at {span.place}" if span else ""
    return Finding(
        "shadowed-definition",
        f"`{definition.name}` is defined{at} already, and that is the one that counts",
        Severity.WARNING,
        definition.span("name"),
    )


def _exposed(definition: SubAgentDef, error: ZephError) -> Finding:
    span = definition.span("name")
    return Finding(
        "exposed-definition",
        f"a file that cannot be read lets another definition of `{definition.name}` take over"
        + (f", at {span.place}" if span else ""),
        Severity.ERROR,
        error.span,
        file=error.file,
        help="mend or remove the file",
    )
