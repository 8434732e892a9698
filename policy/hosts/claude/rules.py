"""One rule of a settings file: text to the lines of a table, and what is wrong with it.

What a rule matches depends on its tool, its list and the scope it stands in.
Everything here is as Claude Code 2.1.329 was observed to decide. A rule that
the host skips or never matches gives no line and a finding.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

import attrs

from policy.decision import Reason
from policy.effect import Effect
from policy.errors import PolicyError
from policy.finding import Finding, Severity
from policy.hosts.claude.data import tools as known
from policy.hosts.claude.paths import Anchors, Negation, looks_absolute, path_patterns
from policy.parse import parse_matcher
from policy.patterns import notations
from policy.patterns.pattern import Kind, Pattern
from policy.patterns.tokens import OneOf, Token
from policy.ruleset import Entry
from policy.source import Span
from policy.syntax import Matcher

__all__ = ["Line", "Lines", "agent_pattern", "read_rule"]


@attrs.frozen
class Line:
    """What one rule says of one tool.

    Attributes:
        entry: the line of a table.
        exact: whether the rule has no wildcard, which decides when it is asked.
    """

    entry: Entry
    exact: bool = False


@attrs.frozen
class Lines:
    """What came of one rule."""

    lines: tuple[Line, ...] = ()
    findings: tuple[Finding, ...] = ()

    def __add__(self, other: Lines) -> Lines:
        return Lines(self.lines + other.lines, self.findings + other.findings)


def read_rule(
    text: str,
    span: Span,
    effect: Effect,
    anchors: Anchors,
    agents: Iterable[str] = (),
    *,
    flag: bool = False,
) -> Lines:
    """Return what one rule comes to in the list of *effect*.

    Args:
        text: the rule as its file says it.
        span: where it stands.
        effect: of the list.
        anchors: of the scope.
        agents: names of the agents that can be started.
        flag: whether it was given on the command line, where MCP tools have parameters.

    """
    try:
        matcher = parse_matcher(text, span)
    except PolicyError as error:
        code = "unknown-tool" if _WORDS.fullmatch(text) else "malformed-rule"
        return Lines((), Finding.of(error, code, consequence=_SKIPPED))
    return _Rule(text, matcher, span, effect, anchors, frozenset(agents), flag).read()


_SKIPPED: Final = "the host skips the rule; nothing it says is in force"

# What the host shows a tool as, e.g. `Stop Task`, instead of its name.
_WORDS: Final = re.compile(r"[A-Z][A-Za-z]*(?: [A-Z][A-Za-z]*)+")

_LITERAL_SERVER: Final = re.compile(r"mcp__[^*]+?__")
_PARAMETER: Final = re.compile(r"\s*([A-Za-z_]\w*)\s*:\s*(.*)", re.DOTALL)


@attrs.frozen
class _Rule:
    text: str
    matcher: Matcher
    span: Span
    effect: Effect
    anchors: Anchors
    agents: frozenset[str]
    flag: bool

    def read(self) -> Lines:
        tool = self.matcher.tool
        specifier = self.matcher.specifier
        content = None if specifier is None else specifier.text
        if content is not None and not content.strip():
            return self._skipped(
                "empty-specifier", "has an empty specifier", f"write `{tool}` for every call"
            )
        if tool.startswith("mcp__") and content is not None:
            parameter = _PARAMETER.fullmatch(content)
            if self.flag and self.effect is Effect.DENY and parameter and "*" not in tool:
                return self._parameter(tool, parameter[1], parameter[2].strip())
            return self._skipped(
                "mcp-specifier",
                "has a specifier, which rules for MCP tools cannot have",
                f"write `{tool}`",
            )
        if "*" in tool:
            return self._glob(tool, content)
        if tool.startswith("mcp__"):
            return self._server(tool)
        if not tool[:1].isupper():
            return self._unknown(tool)
        name = known.ALIASES.get(tool, tool)
        if content is None or (content.strip(" ") == "*" and content.startswith("*")):
            if name not in known.NAMES:
                return self._unknown(tool)
            if name == "Edit" and content is not None and self.effect is Effect.ALLOW:
                return self._lines([name], notations.paths("**", self.anchors.cwd, fold=True))
            return self._whole(name)
        return self._specified(name, content)

    # --- tools -----------------------------------------------------------

    def _glob(self, tool: str, content: str | None) -> Lines:
        if content not in (None, "*"):
            return self._skipped("glob-specifier", "has a specifier behind a glob of tools")
        if self.effect is Effect.ALLOW and not _LITERAL_SERVER.match(tool):
            return self._skipped(
                "allow-glob-ignored",
                "allows tools by a glob, which the host ignores in `allow`",
                "name the tools, or a server as in `mcp__github__*`",
            )
        return self._whole(tool)

    def _server(self, tool: str) -> Lines:
        server, _, name = tool.removeprefix("mcp__").partition("__")
        if server and not name and not tool.endswith("_"):
            return self._whole(tool + "__*") + self._unverified(tool)
        return self._whole(tool) + self._unverified(tool)

    def _unverified(self, tool: str) -> Lines:
        # Nothing in the files says which tools a server offers.
        if self.effect is Effect.ALLOW:
            return Lines()
        message = (
            f"nothing here tells whether there is a tool `{tool}`, and the host does not check"
        )
        return self._finding("unknown-tool-unreported", message, Severity.NOTE)

    def _unknown(self, tool: str) -> Lines:
        unreported = self.effect is Effect.ALLOW or "_" in tool
        code = "unknown-tool-unreported" if unreported else "unknown-tool"
        entry = Line(self._entry(tool, reason=self._removal))
        found = self._finding(
            code, f"there is no tool `{tool}`", help="tool names are written as in `Bash`"
        )
        return Lines((entry,) if self.matcher.specifier is None else ()) + found

    @property
    def _removal(self) -> Reason:
        return Reason.UNAVAILABLE if self.effect is Effect.DENY else Reason.RULE

    def _whole(self, tool: str) -> Lines:
        lines = [Line(self._entry(tool, reason=self._removal))]
        if tool == "Read" and self.effect is Effect.DENY:
            lines += [Line(self._entry(name)) for name in ("Edit", "Write")]
        return Lines(tuple(lines))

    def _entry(
        self,
        tool: str,
        pattern: Pattern | None = None,
        field: str = "",
        reason: Reason = Reason.RULE,
    ) -> Entry:
        return Entry(
            tool, self.effect, pattern, field, reason, rule=self.text, place=self.span.place
        )

    def _lines(
        self, tools: Iterable[str], patterns: Iterable[Pattern], *, exact: bool = False
    ) -> Lines:
        found = tuple(patterns)
        return Lines(
            tuple(Line(self._entry(tool, pattern), exact) for tool in tools for pattern in found)
        )

    # --- specifiers ------------------------------------------------------

    def _specified(self, tool: str, content: str) -> Lines:
        parameter = _PARAMETER.fullmatch(content)
        if parameter and parameter[1] == known.PRIMARY.get(tool):
            return self._skipped(
                "primary-field-param",
                f"speaks of `{parameter[1]}`, which is what `{tool}(...)` itself speaks of",
                f"write `{tool}({parameter[2]})`",
            )
        is_prefix = tool in _DEAD and content.endswith(":*")
        if parameter and not is_prefix and parameter[1] in known.PARAMETERS.get(tool, ()):
            return self._parameter(tool, parameter[1], parameter[2].strip())
        if tool in _DEAD:
            return self._skipped(
                "dead-file-rule",
                f"is never consulted: files are governed by `{_DEAD[tool]}(...)` rules",
                f"write `{_DEAD[tool]}({content})`",
            )
        match tool:
            case "Bash" | "Monitor":
                return self._command(tool, content)
            case "PowerShell":
                return self._lines([tool], notations.commands(content), exact="*" not in content)
            case "Read" | "Edit":
                return self._path(tool, content)
            case "WebFetch":
                return self._host(content)
            case "Skill":
                return self._skill(content)
            case "Agent":
                return self._agent(content)
        if tool not in known.NAMES:
            return self._unknown(tool)
        return self._skipped(
            "specifier-not-accepted",
            f"has a specifier, which `{tool}` does not take",
            f"write `{tool}`",
        )

    def _parameter(self, tool: str, name: str, value: str) -> Lines:
        if self.effect is Effect.ALLOW:
            return self._skipped(
                "param-in-allow",
                f"allows by the parameter `{name}`, which only `deny` and `ask` can",
            )
        if tool == "Skill" and name == "skill" and self.effect is Effect.DENY:
            return self._skill(value)
        return Lines((Line(self._entry(tool, notations.single(value), name)),))

    def _command(self, tool: str, content: str) -> Lines:
        text = content.rstrip(" ") if content.rstrip(" ").endswith("*") else content
        text = "*" if text.strip(" ") == "*" else text
        findings = Lines()
        if text == ":*":
            return self._skipped("empty-prefix", "has no command before `:*`", f"write `{tool}`")
        if text.endswith(":*") and "*" in text[:-2]:
            return self._skipped(
                "prefix-with-star",
                "matches nothing: a star stands before `:*`",
                f"write `{tool}({text[:-2]} *)`",
            )
        if ":*" in text[:-2]:
            findings = self._finding(
                "colon-star-not-at-end",
                f"`:*` is special at the end only; here `{tool}` commands"
                " must have a literal colon",
            )
        if self.effect is Effect.ALLOW:
            findings += self._doubtful(text)
        tools = ("Bash", "Monitor") if tool == "Bash" else ("Monitor",)
        return self._lines(tools, notations.commands(text), exact="*" not in text) + findings

    def _doubtful(self, text: str) -> Lines:
        if _EARLY_STAR.match(text):
            return self._finding(
                "wildcard-before-subcommand",
                "a star before the subcommand also stands for options that run other programs",
            )
        if _EXACT_ONLY.match(text) and "*" in text:
            return self._finding(
                "exec-wrapper-not-approvable",
                "the host allows a command that runs another by an exact rule only",
            )
        return Lines()

    def _path(self, tool: str, content: str) -> Lines:
        try:
            patterns = path_patterns(content, self.anchors, self.effect)
        except Negation as error:
            if self.effect is Effect.ALLOW:
                return self._skipped("negation-in-allow", "is a negation, which `allow` has not")
            return self._finding(
                "negation-not-modelled", f"{error}; what it opens counts as closed", Severity.NOTE
            )
        except notations.Unusable as unusable:
            return self._skipped("dead-path-rule", f"matches no file: {unusable}")
        findings = Lines()
        if content.startswith("/") and looks_absolute(content):
            findings = self._finding(
                "looks-absolute",
                "a path with one slash is relative to the folder of the settings",
                help=f"write `{tool}(/{content})` for the root of the file system",
            )
        return self._lines(self._governed(tool), patterns) + findings

    def _governed(self, tool: str) -> tuple[str, ...]:
        if tool == "Read":
            return known.READING + (("Edit", "Write") if self.effect is Effect.DENY else ())
        return known.EDITING + (known.READING if self.effect is Effect.ALLOW else ())

    def _host(self, content: str) -> Lines:
        if not content.startswith("domain:"):
            return self._skipped(
                "unprefixed-webfetch-specifier",
                "names no domain",
                f"write `WebFetch(domain:{content.removeprefix('https://').split('/')[0]})`",
            )
        try:
            patterns = notations.hosts(content.removeprefix("domain:"))
        except notations.Unusable as unusable:
            return self._skipped("dead-host-rule", f"matches no host: {unusable}")
        return self._lines(["WebFetch"], patterns)

    def _skill(self, content: str) -> Lines:
        if self.effect is Effect.ASK:
            return self._skipped(
                "ask-ignored",
                "asks for nothing: skills are asked for by a parameter only",
                f"write `Skill(skill:{content})`",
            )
        name, prefix = content, False
        for tail in (" *", ":*"):
            if content.endswith(tail):
                name, prefix = content[: -len(tail)], True
        name = name.removeprefix("/")
        if "*" in name:
            return self._skipped("dead-skill-rule", "has a star that names no skill")
        texts = [name, "/" + name]
        if self.effect is Effect.DENY:
            texts.append("*:" + name)
        if prefix:
            texts += [text + "*" for text in (name, "/" + name)]
        return self._lines(["Skill"], map(Pattern.text, texts))

    def _agent(self, content: str) -> Lines:
        if self.effect is Effect.ALLOW:
            return self._finding(
                "agent-allow-ignored", "starting an agent needs no permission", Severity.NOTE
            )
        if self.effect is Effect.ASK:
            return self._skipped(
                "ask-ignored",
                "asks for nothing: agents are asked for by a parameter only",
                f"write `Agent(subagent_type:{content})`",
            )
        if content in self.agents:
            return self._lines(["Agent"], [agent_pattern(content)])
        found = self._finding(
            "unknown-agent", f"there is no agent `{content}`", help="names are matched exactly"
        )
        return Lines((Line(self._entry("Agent", Pattern.exactly(content))),)) + found

    # --- findings --------------------------------------------------------

    def _finding(
        self, code: str, message: str, severity: Severity = Severity.WARNING, help: str = ""
    ) -> Lines:
        return Lines((), (Finding(code, message, severity, self.span, help=help),))

    def _skipped(self, code: str, message: str, help: str = "") -> Lines:
        severity = Severity.WARNING if self.effect is Effect.ALLOW else Severity.ERROR
        return self._finding(code, f"`{self.text}` {message}; it has no effect", severity, help)


_DEAD: Final = {
    "Write": "Edit",
    "NotebookEdit": "Edit",
    "MultiEdit": "Edit",
    "Update": "Edit",
    "Glob": "Read",
    "Grep": "Read",
    "LS": "Read",
    "View": "Read",
    "LSP": "Read",
}

_EARLY_STAR: Final = re.compile(r"(?:git|gh|npm|docker|kubectl|aws|gcloud) \*(?: [^-*\s]\S*)+")
_EXACT_ONLY: Final = re.compile(
    r"(?:watch|setsid|ionice|flock)\b|find\b.*-(?:exec|ok|delete|fprint)"
)


def agent_pattern(name: str) -> Pattern:
    """Return the names of a call that the host resolves to the agent *name*."""
    return Pattern.of(Kind.TEXT, _spellings(name))


_BETWEEN: Final = OneOf(frozenset("-_ "))


def _spellings(name: str) -> Iterator[Token]:
    for character in name:
        if character in "-_ ":
            yield _BETWEEN
        elif len(character.lower()) == len(character.upper()) == 1:
            yield OneOf(frozenset({character.lower(), character.upper()}))
        else:
            yield character
