"""What settings files of every scope say: rules, a mode, folders and switches."""

from __future__ import annotations

import attrs

from policy.effect import Effect
from policy.finding import Finding
from policy.hosts.claude.hooks import Hook
from policy.source import Span

__all__ = ["Sandbox", "Settings", "Written"]


@attrs.frozen
class Written:
    """A rule as it stands in a list."""

    text: str
    effect: Effect
    span: Span


@attrs.frozen
class Sandbox:
    """What one settings file says of the sandbox that commands run in.

    Attributes:
        on: whether there is one, and where that stands; None where it is not said.
        unasked: whether what runs in it runs unasked, likewise.
        outside: the commands that never run in it, as rules that ask for them.
    """

    on: tuple[bool, Span] | None = None
    unasked: tuple[bool, Span] | None = None
    outside: tuple[Written, ...] = ()


@attrs.frozen
class Settings:
    """What one settings file says.

    Attributes:
        scope: ``project``, ``local``, ``user``, ``managed``, ``cli`` or ``flag``.
        rules: in the order written.
        mode: ``defaultMode``; None where it is not said or no mode.
        mode_span: where it stands.
        folders: ``additionalDirectories``.
        tools: the built-in tools that are offered at all; None is all.
        managed_only: whether the rules of other files are left out.
        fences: what is kept in working folders, by the names that settings have for it.
        no_bypass: whether no session may go without permissions.
        no_auto: whether no session may have its calls judged by a model.
        silent: whether nobody is asked, and what would be asked for is denied.
        agent: the agent that a session is started as, or "".
        hooks: what runs at events of a session.
        hooks_off: whether hooks are switched off, and where that stands; None where it
            is not said.
        hooks_managed: whether hooks of an administrator alone run.
        plugins: where the plugins stand that are switched on.
        sandbox: what it says of one.
        switches: what it says of the keys that switch tools off.
        overrides: what it makes of skills, by their names.
        variables: what it sets in the environment of the host, by name.
        findings: what is wrong with the file.
        unreadable: whether nothing in it is in force.
        unknown: whether the host may read what was not read here: a bound of this
            program, not of the host, so that nobody knows what else is denied.
    """

    scope: str
    rules: tuple[Written, ...] = ()
    mode: str | None = None
    mode_span: Span | None = attrs.field(default=None, repr=False)
    folders: tuple[str, ...] = ()
    tools: tuple[str, ...] | None = None
    managed_only: bool = False
    fences: frozenset[str] = frozenset()
    no_bypass: bool = False
    no_auto: bool = False
    silent: bool = False
    agent: str = ""
    hooks: tuple[Hook, ...] = ()
    hooks_off: tuple[bool, Span] | None = attrs.field(default=None, repr=False)
    hooks_managed: bool = False
    plugins: tuple[Span, ...] = ()
    sandbox: Sandbox = Sandbox()
    switches: tuple[tuple[str, bool], ...] = ()
    overrides: tuple[tuple[str, str], ...] = ()
    variables: tuple[tuple[str, str], ...] = ()
    findings: tuple[Finding, ...] = ()
    unreadable: bool = False
    unknown: bool = False
