"""Settings files: what one says, and what is wrong with it.

The host reads a file as strict JSON. One comment, one trailing comma or one value of a wrong type,
and nothing in the file is in force, its deny rules included. Two things are milder: of an
administrator's file the host skips the value, and of a list of rules it skips single entries
(2.1.329, observed). `read_settings` returns a `Settings` with the findings; the functions behind it
say what the files of a session come to together, from the strongest on.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from policy.core import expressions as re
from policy.core import limits
from policy.core.decision import Reason
from policy.core.effect import Effect
from policy.core.errors import PolicyError
from policy.core.finding import Finding, Severity
from policy.core.source import Source, Span
from policy.core.values import define, evolve, field, frozen
from policy.files.json_nodes import read_json
from policy.files.nodes import (
    ListOf,
    MappingNode,
    Node,
    ScalarNode,
    SequenceNode,
    ValueKind,
    ValueShape,
    describe,
)
from policy.files.nodes import MappingNode as Object
from policy.hosts.claude.agents import Definition, entries_in
from policy.hosts.claude.data import find
from policy.hosts.claude.data import settings as known
from policy.hosts.claude.data.settings import (
    EDITS_INSIDE,
    FENCES,
    FILE_READS_INSIDE,
    NO_AUTO,
    READS_INSIDE,
    SECTIONS,
    SILENT,
    SILENT_SCOPES,
    VALUES,
)
from policy.hosts.claude.data.tools import MODES, WAITING
from policy.hosts.claude.hooks import Hook, read_hooks
from policy.hosts.claude.options import ClaudeOptions
from policy.hosts.claude.rules import RuleLine, is_set, lost_lists
from policy.hosts.claude.skills import Skill
from policy.hosts.fields import unapplied_keys
from policy.language.syntax import DeclaredTools, Presence
from policy.tables.ruleset import Entry

__all__ = [
    "LISTS",
    "OF_PROJECT",
    "UNKNOWN",
    "Mistakes",
    "Settings",
    "SettingsRule",
    "auto_allowing_sandbox",
    "connected",
    "cut_flag",
    "invocable",
    "is_ignored",
    "kept_outside",
    "left_out",
    "looks_like_settings",
    "no_auto",
    "offered",
    "read_settings",
    "sandbox_findings",
    "started",
    "strictest",
    "switched_off",
]


@frozen
class SettingsRule:
    """A rule as it stands in a list."""

    text: str
    effect: Effect
    span: Span


@frozen
class Sandbox:
    """What one settings file says of the sandbox that commands run in.

    Attributes:
        on: whether there is one, and where that stands; None where it is not said.
        auto_allowed: whether what runs in it is auto-allowed, and where that stands.
        outside: the commands that never run in it, as rules that ask for them.
    """

    on: tuple[bool, Span] | None = None
    auto_allowed: tuple[bool, Span] | None = None
    outside: tuple[SettingsRule, ...] = ()


@frozen
class Settings:
    """What one settings file says.

    Attributes:
        scope: ``project``, ``local``, ``user``, ``managed``, ``cli`` or ``flag``.
        rules: in the order written.
        mode: ``defaultMode``; None where it is not said or no mode.
        mode_span: where it stands.
        folders: ``additionalDirectories``.
        folder_spans: where each of them stands.
        tools: the built-in tools that are offered at all; None is all.
        managed_only: whether the rules of other files are left out.
        fences: what is kept in working folders, by the names that settings have for it.
        no_bypass: whether no session may go without permissions.
        no_auto: whether no session may have its calls judged by a model.
        silent: whether what would be asked for is denied.
        agent: the agent that a session is started as, or "".
        hooks: what runs at events of a session.
        hooks_off: whether hooks are switched off, and where that stands; None where it
            is not said.
        plugins: where the plugins stand that are switched on.
        sandbox: what it says of one.
        switches: what it says of the keys that switch tools off.
        overrides: what it makes of skills, by their names.
        variables: what it sets in the environment of the host, by name.
        findings: what is wrong with the file.
        unreadable: whether nothing in it is in force.
        unknown: whether the host may read what was not read here: a limit of this
            program, not of the host, so that the rest may deny more.
    """

    scope: str
    rules: tuple[SettingsRule, ...] = ()
    mode: str | None = None
    mode_span: Span | None = field(default=None, repr=False)
    folders: tuple[str, ...] = ()
    folder_spans: tuple[Span, ...] = field(default=(), repr=False)
    tools: tuple[str, ...] | None = None
    managed_only: bool = False
    fences: frozenset[str] = frozenset()
    no_bypass: bool = False
    no_auto: bool = False
    silent: bool = False
    agent: str = ""
    hooks: tuple[Hook, ...] = ()
    hooks_off: tuple[bool, Span] | None = field(default=None, repr=False)
    plugins: tuple[Span, ...] = ()
    sandbox: Sandbox = Sandbox()
    switches: tuple[tuple[str, bool], ...] = ()
    overrides: tuple[tuple[str, str], ...] = ()
    variables: tuple[tuple[str, str], ...] = ()
    findings: tuple[Finding, ...] = ()
    unreadable: bool = False
    unknown: bool = False


# --- the sandbox: whether commands are auto-allowed in it, and which run outside -----

# No file tells whether a machine has a sandbox, and a host without one asks as usual. So chains
# that start with `main` have none; chains that start with `main+sandbox` are those of a machine
# that has one. What the keys mean is documented; the text of 2.1.329 was read as well. It describes
# `autoAllowBashIfSandboxed` as off by default, though a value served beside the settings decides.
# It is taken to be on.

_ON: Final = "enabled"
_AUTO_ALLOWED: Final = "autoAllowBashIfSandboxed"
_OUTSIDE: Final = "excludedCommands"


def read_sandbox(node: Node | None) -> Sandbox:
    """Return what the value of ``sandbox`` in one file says."""
    if not isinstance(node, MappingNode):
        return Sandbox()
    listed = node.get(_OUTSIDE)
    return Sandbox(
        _switch(node, _ON),
        _switch(node, _AUTO_ALLOWED),
        tuple(
            SettingsRule(f"Bash({item.value})", Effect.ASK, item.span)
            for item in (listed.items if isinstance(listed, SequenceNode) else ())
            if isinstance(item, ScalarNode) and isinstance(item.value, str)
        ),
    )


def _switch(node: MappingNode, name: str) -> tuple[bool, Span] | None:
    entry = node.entry(name)
    if entry is None or not isinstance(entry.value, ScalarNode):
        return None
    return entry.value.value is True, Span(
        entry.key.span.source, entry.key.span.start, entry.value.span.end
    )


def auto_allowing_sandbox(files: Iterable[Settings]) -> Span | None:
    """Return where settings auto-allow commands in a sandbox; None where they do not.

    Args:
        files: from the strongest on; the first that has a switch decides it.

    """
    said = [each.sandbox for each in files]
    on = next((each.on for each in said if each.on), None)
    allowed = next((each.auto_allowed for each in said if each.auto_allowed), None)
    if on is None or not on[0] or (allowed and not allowed[0]):
        return None
    return (allowed or on)[1]


def kept_outside(files: Iterable[Settings]) -> Iterator[SettingsRule]:
    """Yield the commands that never run in a sandbox, as rules that ask for them."""
    for each in files:
        yield from each.sandbox.outside


def sandbox_findings(span: Span | None) -> Iterator[Finding]:
    """Yield that commands are auto-allowed in a sandbox, where *span* says so."""
    if span is not None:
        yield find("sandbox-runs-unasked", span, key=_AUTO_ALLOWED)


# --- what is wrong with a file --------------------------------------------------------

REJECTED: Final = "the host rejects the file: nothing in it is in force, deny rules included"
NO_START: Final = "the host does not start"
_SKIPPED: Final = "the host skips it; nothing it says is in force"


@define
class Mistakes:
    """What was found in a file so far.

    Attributes:
        scope: of the file.
        findings: in the order found.
        rejected: whether one of them costs all of the file.
    """

    scope: str
    findings: list[Finding] = field(factory=list)
    rejected: bool = False

    def reject(self, code: str, message: str, span: Span, more: str = "") -> None:
        """Add what costs all of the file, or the value where it is an administrator's."""
        self.rejected = self.scope != "managed"
        lost = REJECTED if self.rejected else _SKIPPED
        help_line = f"{lost}; {more}" if more else lost
        self.findings.append(Finding(code, message, Severity.ERROR, span, help=help_line))

    def shaped(self, shape: ValueShape, node: Node, name: str) -> bool:
        """Return whether *node* has a shape; where it has not, it costs all of the file."""
        wrong = list(shape.mistakes(node, name))
        for mistake in wrong:
            self.reject("wrong-type", mistake.message, mistake.node.span)
        return not wrong

    def wrong(self, name: str, wanted: str, node: Node) -> None:
        """Add a value of a wrong type that costs all of the file."""
        message = f"expected {wanted} for {name}, found {describe(node)}"
        self.reject("wrong-type", message, node.span)

    def repeated(self, node: MappingNode) -> None:
        """Add the keys of *node* that stand there twice."""
        for lost, _ in node.repeated():
            self.findings.append(find("repeated-key", lost.key.span, name=lost.name))

    def strings(self, node: Node, name: str) -> Iterator[tuple[str, Span]]:
        """Yield the strings of a list; what else is in it the host skips."""
        if not isinstance(node, SequenceNode):
            self.wrong(name, "a list", node)
            return
        for item in node.items:
            if isinstance(item, ScalarNode) and isinstance(item.value, str):
                yield item.value, item.span
            else:
                message = f"expected a string for an entry of `{name}`, found {describe(item)}"
                self.findings.append(
                    Finding("wrong-type", message, Severity.ERROR, item.span, help=_SKIPPED)
                )


# --- rules given as flags, `--allowedTools` and `--disallowedTools` -------------------

# Each value is a list, cut at commas and spaces outside parentheses. The first that closes counts
# for all that are open, so that `Bash(echo $(date) && make)` falls into `Bash(echo $(date)`, `&&`
# and `make)`; beside these a value denies what is cut outside parentheses that match (2.1.329, by
# its text and observed).
_ENTRY: Final = re.compile(r"(?:\([^)]*(?:\)|\Z)|[^, (])+")
# A rule that falls apart; one that begins with a negation opens no more than its pieces do.
_APART: Final = re.compile(r"[^( ]+\((?![\s./~\\]*!).*\)[ ,].*\)", re.DOTALL)


def cut_flag(text: str, effect: Effect) -> Iterator[str]:
    """Yield the rules of *effect* that one value of a flag holds."""
    yield from (entry.strip() for entry in _ENTRY.findall(text))
    if effect is Effect.DENY:
        # An escaped parenthesis is none.
        whole = (text[start:end] for start, end in entries_in(_ESCAPED.sub("xx", text)))
        yield from filter(_APART.fullmatch, whole)


_ESCAPED: Final = re.compile(r"\\.", re.DOTALL)


# --- `permissions`: rules, a mode, folders and switches ------------------------------

_TEXTS: Final = ListOf(ValueKind.TEXT, "a list of strings")
LISTS: Final = {"deny": Effect.DENY, "ask": Effect.ASK, "allow": Effect.ALLOW}
_SWITCHES: Final = (NO_AUTO, "disableBypassPermissionsMode")
# Modes that allow nothing that others ask for.
_CAREFUL: Final = frozenset({"default", "plan", "dontAsk"})
_KEYS: Final = frozenset(
    {*LISTS, *FENCES, *_SWITCHES, SILENT, "additionalDirectories", "defaultMode"}
)


UNKNOWN: Final = "every call is denied here, since the rest of it may deny any"


@define
class PermissionsReader:
    """Reads ``permissions``.

    Attributes:
        mistakes: of the file, to which those found here are added.
    """

    mistakes: Mistakes

    def read(self, node: MappingNode, settings: Settings) -> Settings:
        """Return *settings* with what ``permissions`` says."""
        keys = _KEYS if self.mistakes.scope == "flag" else _KEYS - {FILE_READS_INSIDE}
        if self.mistakes.scope not in SILENT_SCOPES:
            keys -= {SILENT}
        self._check_keys(node, keys)
        rules = self._rules(node)
        mode, span = self._mode(node)
        listed = node.get("additionalDirectories")
        listed_folders = self._folders(listed) if listed is not None else {}
        folders = tuple(listed_folders)
        if self.mistakes.scope == "managed" and self._holds_back(node):
            mode, folders = mode and (mode if mode in _CAREFUL else "default"), ()
            rules = rules and tuple(rule for rule in rules if rule.effect is not Effect.ALLOW)
        return evolve(
            settings,
            rules=rules or (),
            mode=mode,
            mode_span=span,
            folders=folders,
            folder_spans=tuple(listed_folders[name] for name in folders),
            silent=self._is_true(node, SILENT) and SILENT in keys,
            fences=frozenset(name for name in FENCES if self._is_true(node, name)) & keys,
            no_bypass=self._switch(node, "disableBypassPermissionsMode"),
            no_auto=self._switch(node, NO_AUTO),
            unknown=rules is None,
        )

    def _holds_back(self, node: MappingNode) -> bool:
        """Return whether the host holds back what an administrator's file allows."""
        lost = list(lost_lists(node))
        for name, listed in lost:
            self.mistakes.findings.append(find("allows-held-back", listed.span, name=name))
        return bool(lost)

    def _check_keys(self, node: MappingNode, keys: frozenset[str]) -> None:
        self.mistakes.repeated(node)
        for entry in node.entries:
            if entry.name not in keys:
                near = difflib.get_close_matches(entry.name, sorted(keys), 1)
                help_ = (
                    f"did you mean `{near[0]}`?" if near else "the lists are allow, ask and deny"
                )
                case = _case("".join(near), entry.value)
                found = find("unknown-key", entry.key.span, case=case, name=entry.name, help=help_)
                self.mistakes.findings.append(found)

    def _rules(self, node: MappingNode) -> tuple[SettingsRule, ...] | None:
        """Return the rules of all lists; None of too many, which is an error."""
        rules = tuple(
            SettingsRule(text, effect, span)
            for name, effect in LISTS.items()
            if (listed := node.get(name)) is not None
            for value, span in self.mistakes.strings(listed, f"permissions.{name}")
            for text in (cut_flag(value, effect) if self.mistakes.scope == "cli" else [value])
        )
        if len(rules) <= limits.RULES:
            return rules
        self.mistakes.findings.append(
            find(
                "too-many-rules",
                rules[limits.RULES].span,
                most=limits.RULES,
                count=len(rules),
                help=UNKNOWN,
            )
        )
        return None

    def _mode(self, node: MappingNode) -> tuple[str | None, Span | None]:
        value = node.get("defaultMode")
        if value is None:
            return None, None
        mode = value.value if isinstance(value, ScalarNode) else None
        if mode == "manual":
            mode = "default"
        if not isinstance(mode, str) or mode not in MODES:
            self.mistakes.reject(
                "unknown-mode",
                f"expected a mode, found {_shown(value)}",
                value.span,
                "a mode is one of " + ", ".join(MODES),
            )
            # What an administrator says of it keeps others from saying anything.
            return ("default" if self.mistakes.scope == "managed" and is_set(value) else None), None
        if is_ignored(self.mistakes.scope, mode):
            self.mistakes.findings.append(find("project-mode-ignored", value.span, mode=mode))
        return mode, value.span

    def _switch(self, node: MappingNode, name: str) -> bool:
        value = node.get(name)
        if value is None:
            return False
        if isinstance(value, ScalarNode) and value.value == "disable":
            return True
        self.mistakes.reject(
            "switch-ignored",
            f'expected the string "disable" for `{name}`, found {_shown(value)}',
            value.span,
        )
        return self.mistakes.scope == "managed" and is_set(value)

    def _is_true(self, node: MappingNode, name: str) -> bool:
        value = node.get(name)
        if value is not None and not ValueKind.TRUTH.holds(value):
            self.mistakes.wrong(f"`{name}`", ValueKind.TRUTH.wanted, value)
        if self.mistakes.scope == "managed":
            return is_set(value)
        return isinstance(value, ScalarNode) and value.value is True

    def _folders(self, node: Node) -> dict[str, Span]:
        if not self.mistakes.shaped(_TEXTS, node, "permissions.additionalDirectories"):
            return {}
        found = dict(self.mistakes.strings(node, "permissions.additionalDirectories"))
        for name, span in found.items():
            if "*" in name:
                self.mistakes.findings.append(
                    find("folder-not-there", span, case="star", name=name)
                )
        return found


# Scopes of a project, which may not say of some modes that a session begins in them.
OF_PROJECT: Final = ("project", "local")


def is_ignored(scope: str, mode: str | None) -> bool:
    """Return whether a mode counts for nothing in a file of *scope*."""
    return scope in OF_PROJECT and mode in ("auto", "bypassPermissions")


def strictest(settings: Settings) -> Settings:
    """Return the settings of an administrator's file whose restrictions cannot be read."""
    fences = frozenset({READS_INSIDE, EDITS_INSIDE})
    return evolve(settings, fences=fences, silent=True, no_bypass=True, no_auto=True)


def _shown(node: Node) -> str:
    return f"`{node.raw}`" if isinstance(node, ScalarNode) else describe(node)


# --- tools and skills that settings switch off ---------------------------------------

# Of several files the strongest that has a key, or names a skill, decides (2.1.329, observed).


def read_switches(node: Object) -> tuple[tuple[str, bool], ...]:
    """Return what one file says of the keys that switch tools off."""
    return tuple(
        (entry.name, entry.value.value)
        for entry in node.entries
        if entry.name in known.TOOLS_OFF
        and isinstance(entry.value, ScalarNode)
        and isinstance(entry.value.value, bool)
    )


def read_overrides(node: Node | None) -> tuple[tuple[str, str], ...]:
    """Return what the value of ``skillOverrides`` says of skills, by name."""
    return tuple(
        (entry.name, str(entry.value.value))
        for entry in (node.entries if isinstance(node, Object) else ())
        if isinstance(entry.value, ScalarNode)
    )


def no_auto(node: Object) -> bool:
    """Return whether a file says, beside its permissions, that no model judges calls."""
    value = node.get(known.NO_AUTO)
    return isinstance(value, ScalarNode) and value.value == "disable"


def switched_off(files: Iterable[Settings]) -> Iterator[RuleLine]:
    """Yield what takes away the tools that *files* switch off, from the strongest on."""
    said: dict[str, bool] = {}
    for each in files:
        for key, value in each.switches:
            off, tools = known.TOOLS_OFF[key]
            if said.setdefault(key, value) is off:
                for tool in tools:
                    rule = f"{tool} (off by {key})"
                    yield RuleLine(Entry(tool, Effect.DENY, reason=Reason.UNAVAILABLE, rule=rule))


_WITHOUT: Final = DeclaredTools(Presence.ABSENT)


def invocable(skills: Mapping[str, Skill], files: Iterable[Settings]) -> dict[str, Skill]:
    """Return *skills* as *files* override them, from the strongest on.

    One that is ``off`` is never invoked, so that what it allows is never in force.
    """
    said: dict[str, str] = {}
    for each in files:
        for name, word in each.overrides:
            said.setdefault(name, word)
    found = dict(skills)
    for name, word in said.items():
        if name in found and word in ("off", "user-invocable-only"):
            allowed = _WITHOUT if word == "off" else found[name].allowed
            found[name] = evolve(found[name], typed=True, allowed=allowed)
    return found


def connected(servers: Mapping[str, object] | None) -> Iterator[RuleLine]:
    """Yield what takes away the tool that waits for *servers*, where it is known what all offer.

    The tool is there as long as a server is not connected (2.1.329, observed), and what such a
    server offers is not known.
    """
    if servers is not None:
        rule = f"{WAITING} (no server is waited for)"
        yield RuleLine(Entry(WAITING, Effect.DENY, reason=Reason.UNAVAILABLE, rule=rule))


# --- `env`: variables of the host that decide calls ----------------------------------

# The `env` of a project counts whether or not the user trusts the project, and before what the
# host was started with (2.1.329, observed).

_LEVELS: Final = re.compile(r"\s*0*([1-9][0-9]*)\s*", re.ASCII)
# Every level is followed: agents on this one start no others here.
_MOST: Final = 20


def read_variables(node: Node | None) -> tuple[tuple[str, str], ...]:
    """Return the variables that the value of ``env`` sets."""
    return tuple(
        (entry.name, str(entry.value.value))
        for entry in (node.entries if isinstance(node, Object) else ())
        if isinstance(entry.value, ScalarNode) and entry.value.value is not None
    )


def _is_on(variables: Mapping[str, str], name: str) -> bool:
    return variables.get(name, "").strip().lower() in known.ON


def started(options: ClaudeOptions, variables: Mapping[str, str]) -> ClaudeOptions:
    """Return how a session is started where these variables are set."""
    levels = _LEVELS.fullmatch(variables.get(known.DEPTH, ""))
    if levels:
        depth = int(levels[1][:3])  # three digits are more than enough
        options = evolve(options, depth=min(depth, _MOST))
    if _is_on(variables, known.FOREGROUND):
        options = evolve(options, background=False)
    return options


def offered(
    agents: Mapping[str, Definition], variables: Mapping[str, str]
) -> Mapping[str, Definition]:
    """Return the agents that there are: those of files, and of the host those left on."""
    off = {n for switch, ns in known.AGENTS_OFF.items() if _is_on(variables, switch) for n in ns}
    if not off:
        return agents
    return {name: each for name, each in agents.items() if each.place or name not in off}


def left_out(variables: Mapping[str, str]) -> Iterator[RuleLine]:
    """Yield what takes away the tools that are switched off."""
    for switch, tools in known.TOOLS_OFF_VARIABLE.items():
        if _is_on(variables, switch):
            for tool in tools:
                rule = f"{tool} (off by {switch})"
                yield RuleLine(Entry(tool, Effect.DENY, reason=Reason.UNAVAILABLE, rule=rule))


# --- a whole file ---------------------------------------------------------------------


def looks_like_settings(node: Node) -> bool:
    """Return whether a JSON document has the lists of a settings file."""
    permissions = node.get("permissions") if isinstance(node, MappingNode) else None
    return (
        isinstance(permissions, MappingNode)
        and any(isinstance(permissions.get(name), SequenceNode) for name in LISTS)
    ) or (isinstance(permissions, MappingNode) and permissions.get("defaultMode") is not None)


def read_settings(source: Source, scope: str) -> Settings:
    """Return what *source* says, with what is wrong with it among the findings."""
    if not source.text.strip():
        return Settings(scope)  # a file without a text says nothing
    try:
        node = read_json(source, byte_order_mark=True)
    except PolicyError as error:
        consequence = NO_START if scope == "managed" else REJECTED
        findings = Finding.of(error, "invalid-json", consequence=consequence)
        return Settings(scope, findings=findings, unreadable=True)
    if not isinstance(node, MappingNode):
        finding = find(
            "invalid-settings",
            node.span,
            found=describe(node),
            help=NO_START if scope == "managed" else REJECTED,
        )
        return Settings(scope, findings=(finding,), unreadable=True)
    return _read(node, Mistakes(scope))


def _read(node: MappingNode, mistakes: Mistakes) -> Settings:
    scope = mistakes.scope
    mistakes.repeated(node)
    settings = _of_permissions(node.get("permissions"), mistakes)
    mistakes.shaped(VALUES, node, "")
    hooks, wrong = read_hooks(node.get("hooks"))
    for mistake in wrong:
        mistakes.reject("wrong-type", mistake.message, mistake.node.span)
    mistakes.findings += _misplaced(node)
    for key in unapplied_keys(node, SECTIONS):
        lost = bool(_case("", node.get(key.name)))
        mistakes.findings.append(key.with_rules if lost else key.finding)
    tools = node.get("tools") if scope == "cli" else None
    offered = None if tools is None else tuple(t for t, _ in mistakes.strings(tools, "tools"))
    if mistakes.rejected:
        return Settings(scope, findings=tuple(mistakes.findings), unreadable=True)
    agent = node.get("agent")
    off = node.get("disableAllHooks")
    return evolve(
        settings,
        tools=offered,
        managed_only=scope == "managed" and is_set(node.get("allowManagedPermissionRulesOnly")),
        hooks=hooks,
        hooks_off=(_is_true(off), off.span) if off and ValueKind.TRUTH.holds(off) else None,
        agent=agent.value if isinstance(agent, ScalarNode) and isinstance(agent.value, str) else "",
        plugins=tuple(_switched_on(node.get("enabledPlugins"))),
        no_auto=settings.no_auto or no_auto(node),
        sandbox=read_sandbox(node.get("sandbox")),
        switches=read_switches(node),
        overrides=read_overrides(node.get("skillOverrides")),
        variables=read_variables(node.get("env")),
        findings=tuple(mistakes.findings),
    )


def _of_permissions(node: Node | None, mistakes: Mistakes) -> Settings:
    settings = Settings(mistakes.scope)
    if isinstance(node, MappingNode):
        return PermissionsReader(mistakes).read(node, settings)
    if node is not None:
        mistakes.wrong("permissions", "an object", node)
        if mistakes.scope == "managed" and is_set(node):
            return strictest(settings)
    return settings


def _is_true(node: Node) -> bool:
    return isinstance(node, ScalarNode) and node.value is True


def _misplaced(node: MappingNode) -> Iterator[Finding]:
    for entry in node.entries:
        if entry.name in LISTS and isinstance(entry.value, SequenceNode):
            case = _case(entry.name, entry.value)
            yield find("misplaced-list", entry.key.span, case=case, name=entry.name)


def _case(name: str, value: Node | None) -> str:
    """Return ``lost`` for a list *name* that means nothing here, if it denies or asks."""
    if isinstance(value, MappingNode):
        lists = [each.value for each in value.entries if each.name in {"deny", "ask"}]
    else:
        lists = [value] if value is not None and name in {"deny", "ask"} else []
    return "lost" if any(isinstance(e, SequenceNode) and e.items for e in lists) else ""


def _switched_on(node: Node | None) -> Iterator[Span]:
    for entry in node.entries if isinstance(node, MappingNode) else ():
        # A list of versions switches a plugin on as well.
        if not (isinstance(entry.value, ScalarNode) and entry.value.value in (False, None)):
            yield entry.key.span
