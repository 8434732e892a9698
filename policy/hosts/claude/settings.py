"""Settings files, and the mistakes in them.

The host reads strict JSON: after one comment, trailing comma or value of a wrong type nothing in
the file is in force, deny rules included. It skips only the value in an administrator's file, and
only the entry in a list of rules (2.1.329, observed).
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Final

from policy.core import expressions as re
from policy.core import limits
from policy.core.effect import Effect
from policy.core.errors import PolicyError
from policy.core.finding import Finding, Severity
from policy.core.source import Source, Span
from policy.core.values import define, evolve, field, frozen
from policy.files.json_nodes import read_json
from policy.files.nodes import (
    MappingNode,
    Node,
    ScalarNode,
    SequenceNode,
    ShapeMistake,
    describe,
    shape_mistakes,
)
from policy.hosts.claude.agents import entries_in
from policy.hosts.claude.data import find
from policy.hosts.claude.data import settings as known
from policy.hosts.claude.data.tools import MODES
from policy.hosts.claude.hooks import Hook, read_hooks
from policy.hosts.claude.paths import Anchors
from policy.hosts.claude.rules import RuleScope, read_rule
from policy.hosts.fields import is_null, unapplied_keys, value_of


@frozen
class SettingsRule:
    """A rule as it stands in a list."""

    text: str
    effect: Effect
    span: Span


# The value of a switch and its place; None if it is absent.
Switch = tuple[bool, Span] | None


@frozen
class Settings:
    """What one settings file says."""

    scope: str  # ``project``, ``local``, ``user``, ``managed``, ``cli`` or ``flag``
    rules: tuple[SettingsRule, ...] = ()  # in the order written
    mode: str | None = None  # ``defaultMode``; None if absent or unknown
    # ``additionalDirectories`` -> where each is written.
    folders: Mapping[str, Span] = field(factory=dict)
    tools: tuple[str, ...] | None = None  # the built-in tools that are offered at all; None is all
    managed_only: bool = False  # whether the rules of other files are left out
    # The keys that keep reads or edits in working folders.
    fences: frozenset[str] = frozenset()
    no_bypass: bool = False  # whether no session may go without permissions
    no_auto: bool = False  # whether no session may have its calls judged by a model
    silent: bool = False  # whether what would be asked for is denied
    hooks: tuple[Hook, ...] = ()  # what runs at events of a session
    hooks_off: Switch = None  # whether hooks are switched off
    plugins: tuple[Span, ...] = ()  # the places of the plugins that are switched on
    sandbox: Switch = None  # whether commands run in a sandbox
    auto_allowed: Switch = None  # whether what runs in it is auto-allowed
    # The commands that never run in it, as rules that ask for them.
    outside: tuple[SettingsRule, ...] = ()
    keys: Mapping[str, object] = field(factory=dict)  # the keys of the file that have single values
    overrides: Mapping[str, str] = field(factory=dict)  # what it makes of skills, by their names
    # What it sets in the environment of the host, by name.
    variables: Mapping[str, str] = field(factory=dict)
    findings: tuple[Finding, ...] = ()  # what is wrong with the file
    unreadable: bool = False  # whether nothing in it is in force
    # Whether this program read only a part of the file, so that the rest may deny more.
    unknown: bool = False


# Each value is a list, cut at commas and spaces outside parentheses. The first that closes counts
# for all that are open, so that `Bash(echo $(date) && make)` falls into `Bash(echo $(date)`, `&&`
# and `make)`. A value also denies what is cut outside parentheses that match (2.1.329, by
# its text and observed).
_ENTRY: Final = re.compile(r"(?:\([^)]*(?:\)|\Z)|[^, (])+")
# A rule that falls apart; one that begins with a negation opens no more than its pieces do.
_APART: Final = re.compile(r"[^( ]+\((?![\s./~\\]*!).*\)[ ,].*\)", re.DOTALL)


def cut_flag(text: str, effect: Effect) -> Iterator[str]:
    """Yield the rules of *effect* that one value of a flag holds."""
    yield from (entry.strip() for entry in _ENTRY.findall(text))
    if effect is Effect.DENY:
        # An escaped parenthesis is none.
        bare = re.sub(r"\\.", "xx", text, flags=re.DOTALL)
        yield from filter(_APART.fullmatch, (text[start:end] for start, end in entries_in(bare)))


LISTS: Final = {"deny": Effect.DENY, "ask": Effect.ASK, "allow": Effect.ALLOW}
# Scopes of a project, which may not begin a session in some modes.
OF_PROJECT: Final = ("project", "local")

_REJECTED: Final = "the host rejects the file: nothing in it is in force, deny rules included"
_SKIPPED: Final = "the host skips it; nothing it says is in force"
UNKNOWN: Final = "every call is denied here, since the rest of it may deny any"


def looks_like_settings(node: Node) -> bool:
    """Return whether a JSON document has the lists of a settings file, or its mode."""
    permissions = node.get("permissions") if isinstance(node, MappingNode) else None
    if not isinstance(permissions, MappingNode):
        return False
    listed = any(isinstance(permissions.get(name), SequenceNode) for name in LISTS)
    return listed or permissions.get("defaultMode") is not None


def is_ignored(scope: str, mode: str | None) -> bool:
    """Return whether a mode counts for nothing in a file of *scope*."""
    return scope in OF_PROJECT and mode in ("auto", "bypassPermissions")


@lru_cache(maxsize=512)  # a diff reads the same text many times
def read_settings(source: Source, scope: str) -> Settings:
    """Return the settings of *source*, with its mistakes as findings."""
    if not source.text.strip():
        return Settings(scope)  # a file without a text says nothing
    lost = "the host does not start" if scope == "managed" else _REJECTED
    try:
        node = read_json(source, byte_order_mark=True)
    except PolicyError as error:
        findings = Finding.of(error, "invalid-json", consequence=lost)
        return Settings(scope, findings=findings, unreadable=True)
    if not isinstance(node, MappingNode):
        finding = find("invalid-settings", node.span, found=describe(node), help=lost)
        return Settings(scope, findings=(finding,), unreadable=True)
    return _Reader(scope).read(node)


@define
class _Reader:
    """Reads one file, and notes what is wrong with it."""

    scope: str  # of the file
    findings: list[Finding] = field(factory=list)  # in the order found
    rejected: bool = False  # whether one of them voids the file

    def read(self, node: MappingNode) -> Settings:
        """Return what the document says."""
        self._note_repeated(node)
        settings = self._permissions(node.get("permissions"))
        hooks, wrong = read_hooks(node.get("hooks"))
        for mistake in (*shape_mistakes(known.VALUES, node, ""), *wrong):
            self._reject(_wrong(mistake))
        for entry in node.entries:
            if entry.name in LISTS and isinstance(entry.value, SequenceNode):
                case = _case(entry.name, entry.value)
                found = find("misplaced-list", entry.key.span, case=case, name=entry.name)
                self.findings.append(found)
        values = {entry.key.span: entry.value for entry in node.entries}
        for finding in unapplied_keys(node, known.SECTIONS):
            lost = finding.span is not None and _case("", values.get(finding.span))
            message = f"{finding.message}: its rules that deny or ask are not in force"
            worse = evolve(finding, severity=Severity.ERROR, message=message)
            self.findings.append(worse if lost else finding)
        tools = node.get("tools") if self.scope == "cli" else None
        offered = None if tools is None else tuple(t for t, _ in self._strings(tools, "tools"))
        if self.rejected:
            return Settings(self.scope, findings=tuple(self.findings), unreadable=True)
        keys, sandbox = _singles(node), node.get("sandbox")
        locks = self._is_on(node, "allowManagedPermissionRulesOnly")
        return evolve(
            settings,
            tools=offered,
            managed_only=locks and self.scope == "managed",
            hooks=hooks,
            hooks_off=_switch(node, "disableAllHooks"),
            plugins=tuple(_switched_on(node.get("enabledPlugins"))),
            no_auto=settings.no_auto or keys.get(known.NO_AUTO) == "disable",
            sandbox=_switch(sandbox, "enabled"),
            auto_allowed=_switch(sandbox, AUTO_ALLOWED),
            outside=tuple(_outside(sandbox)),
            keys=keys,
            overrides=_texts(node.get("skillOverrides")),
            variables=_texts(node.get("env")),
            findings=tuple(self.findings),
        )

    def _reject(self, finding: Finding) -> None:
        """Add a mistake that voids the file, or only the value in an administrator's file."""
        self.rejected = self.scope != "managed"
        lost = _REJECTED if self.rejected else _SKIPPED
        self.findings.append(evolve(finding, help="; ".join(filter(None, (lost, finding.help)))))

    def _note_repeated(self, node: MappingNode) -> None:
        for lost, _ in node.repeated():
            self.findings.append(find("repeated-key", lost.key.span, name=lost.name))

    def _strings(self, node: Node, name: str) -> Iterator[tuple[str, Span]]:
        """Yield the strings of a list; the host skips its other entries."""
        if not isinstance(node, SequenceNode):
            self._reject(_wrong(ShapeMistake("a list", name, node)))
            return
        for item in node.items:
            if isinstance(item, ScalarNode) and isinstance(item.value, str):
                yield item.value, item.span
            else:
                wrong = _wrong(ShapeMistake("a string", f"an entry of `{name}`", item))
                self.findings.append(evolve(wrong, help=_SKIPPED))

    def _is_on(self, node: MappingNode, name: str, word: object = True) -> bool:  # noqa: FBT002  # a value
        """Return whether a switch is true, or *word*; an administrator's may have any value."""
        value = node.get(name)
        if self.scope == "managed":
            return is_set(value)
        return value_of(value) == word

    def _permissions(self, node: Node | None) -> Settings:
        """Return what the value of ``permissions`` says."""
        settings = Settings(self.scope)
        inside = frozenset({known.READS_INSIDE, known.EDITS_INSIDE})
        if not isinstance(node, MappingNode):
            if self.scope != "managed" or not is_set(node):
                return settings
            return evolve(settings, fences=inside, silent=True, no_bypass=True, no_auto=True)
        self._note_repeated(node)
        keys = self._keys(node)
        rules, mode = self._rules(node), self._mode(node)
        folders = self._folders(node.get("additionalDirectories"))
        if self.scope == "managed" and self._holds_back(node, rules):
            # A mode that allows more than others does not count.
            mode, folders = mode and (mode if mode in ("plan", "dontAsk") else "default"), {}
            rules = tuple(rule for rule in rules if rule.effect is not Effect.ALLOW)
        unknown = len(rules) > limits.RULES
        fences = frozenset(name for name in inside if self._is_on(node, name))
        if known.FILE_READS_INSIDE in keys and self._is_on(node, known.FILE_READS_INSIDE):
            fences = inside | {known.FILE_READS_INSIDE}
        return evolve(
            settings,
            rules=() if unknown else rules,
            mode=mode,
            folders=folders,
            silent=known.SILENT in keys and self._is_on(node, known.SILENT),
            fences=fences,
            no_bypass=self._is_on(node, known.NO_BYPASS, "disable"),
            no_auto=self._is_on(node, known.NO_AUTO, "disable"),
            unknown=unknown,
        )

    def _keys(self, node: MappingNode) -> frozenset[str]:
        """Return the keys that count in a file of the scope, and note those that do not."""
        keys = _KEYS if self.scope == "flag" else _KEYS - {known.FILE_READS_INSIDE}
        keys = keys if self.scope in known.SILENT_SCOPES else keys - {known.SILENT}
        for entry in node.entries:
            if entry.name not in keys:
                near = "".join(difflib.get_close_matches(entry.name, sorted(keys), 1))
                help_ = f"did you mean `{near}`?" if near else "the lists are allow, ask and deny"
                case, span = _case(near, entry.value), entry.key.span
                found = find("unknown-key", span, case=case, name=entry.name, help=help_)
                self.findings.append(found)
        return keys

    def _rules(self, node: MappingNode) -> tuple[SettingsRule, ...]:
        """Return the rules of all lists; more than a file may have are an error."""
        rules = tuple(
            SettingsRule(text, effect, span)
            for name, effect in LISTS.items()
            if (listed := node.get(name)) is not None
            for value, span in self._strings(listed, f"permissions.{name}")
            for text in (cut_flag(value, effect) if self.scope == "cli" else [value])
        )
        most = limits.RULES
        if len(rules) > most:
            span, count = rules[most].span, len(rules)
            found = find("too-many-rules", span, most=most, count=count, help=UNKNOWN)
            self.findings.append(found)
        return rules

    def _mode(self, node: MappingNode) -> str | None:
        value = node.get("defaultMode")
        if value is None:
            return None
        mode = "default" if value_of(value) == "manual" else value_of(value)
        if isinstance(mode, str) and mode in MODES:
            if is_ignored(self.scope, mode):
                self.findings.append(find("project-mode-ignored", value.span, mode=mode))
            return mode
        shown = f"`{value.raw}`" if isinstance(value, ScalarNode) else describe(value)
        modes = ", ".join(MODES)
        self._reject(find("unknown-mode", value.span, case="settings", found=shown, modes=modes))
        # Any value of an administrator overrides the values of others.
        return "default" if self.scope == "managed" and is_set(value) else None

    def _folders(self, node: Node | None) -> dict[str, Span]:
        items = node.items if isinstance(node, SequenceNode) else ()
        if not all(isinstance(value_of(each), str) for each in items):
            return {}
        found = {str(value_of(each)): each.span for each in items}
        for name, span in found.items():
            if "*" in name:
                self.findings.append(find("folder-not-there", span, case="star", name=name))
        return found

    def _holds_back(self, node: MappingNode, rules: Iterable[SettingsRule]) -> bool:
        """Return whether allow rules do not count: a deny or ask list has entries and no rule."""
        are_rules = {rule.effect for rule in rules if _is_rule(rule)}
        holds = False
        for name in ("deny", "ask"):
            listed = node.get(name)
            is_empty = isinstance(listed, SequenceNode) and not listed.items
            if not (listed is None or is_null(listed) or is_empty or LISTS[name] in are_rules):
                self.findings.append(find("allows-held-back", listed.span, name=name))
                holds = True
        return holds


def _is_rule(rule: SettingsRule) -> bool:
    """Return whether an entry is surely a rule that matches calls."""
    is_named = rule.text[:1].isupper() or rule.text.startswith("mcp__")
    if not is_named or rule.text.endswith("\\)"):
        return False
    scope = RuleScope(Anchors("/@project", "/@home", "/@project"))
    lines = read_rule(rule.text, rule.span, rule.effect, scope).lines
    return any(line.entry.tool != "Monitor" for line in lines)


def is_set(node: Node | None) -> bool:
    """Return whether a switch is on: whatever is neither false nor null is on."""
    return not is_null(node) and value_of(node) is not False


_KEYS: Final = frozenset(
    {*LISTS, "additionalDirectories", "defaultMode", known.READS_INSIDE, known.EDITS_INSIDE}
    | {known.FILE_READS_INSIDE, known.NO_AUTO, known.NO_BYPASS, known.SILENT}
)


def _wrong(mistake: ShapeMistake) -> Finding:
    return Finding("wrong-type", mistake.message, Severity.ERROR, mistake.node.span)


def _singles(node: Node | None) -> dict[str, object]:
    """Return the keys of an object that have single values other than null."""
    return {
        entry.name: entry.value.value
        for entry in (node.entries if isinstance(node, MappingNode) else ())
        if isinstance(entry.value, ScalarNode) and entry.value.value is not None
    }


def _texts(node: Node | None) -> dict[str, str]:
    return {name: str(value) for name, value in _singles(node).items()}


# Of the sandbox that only chains from `main in a sandbox` have. What its keys mean is documented.
# The text of 2.1.329 has this one off by default, but a server may switch it on: it counts as on.
AUTO_ALLOWED: Final = "autoAllowBashIfSandboxed"


def _switch(node: Node | None, name: str) -> Switch:
    entry = node.entry(name) if isinstance(node, MappingNode) else None
    if entry is None or not isinstance(entry.value, ScalarNode):
        return None
    key = entry.key.span
    return entry.value.value is True, Span(key.source, key.start, entry.value.span.end)


def _outside(node: Node | None) -> Iterator[SettingsRule]:
    listed = node.get("excludedCommands") if isinstance(node, MappingNode) else None
    for item in listed.items if isinstance(listed, SequenceNode) else ():
        if isinstance(value_of(item), str):
            yield SettingsRule(f"Bash({value_of(item)})", Effect.ASK, item.span)


def _case(name: str, value: Node | None) -> str:
    """Return ``lost`` for a list *name* that means nothing here, if it denies or asks."""
    if isinstance(value, MappingNode):
        lists = [each.value for each in value.entries if each.name in {"deny", "ask"}]
    else:
        lists = [value] if value is not None and name in {"deny", "ask"} else []
    return "lost" if any(isinstance(e, SequenceNode) and e.items for e in lists) else ""


def _switched_on(node: Node | None) -> Iterator[Span]:
    for entry in node.entries if isinstance(node, MappingNode) else ():
        if is_set(entry.value):  # a list of versions switches a plugin on as well
            yield entry.key.span
