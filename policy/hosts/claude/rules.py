"""One rule of a settings file: text to the lines of a table, and what is wrong with it.

What a rule matches depends on its tool, its list and the scope it stands in, as Claude Code 2.1.329
was observed to decide. A rule that the host skips or never matches gives no line and a finding.
"""

from __future__ import annotations

import difflib
import itertools
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property, lru_cache, partial
from typing import Any, Final

from policy.commands.words import as_written
from policy.core import expressions as re
from policy.core import values
from policy.core.decision import Reason
from policy.core.effect import Effect
from policy.core.errors import PolicyError
from policy.core.finding import Finding, Severity
from policy.core.limits import PATTERN_CHARACTERS
from policy.core.source import Edit, Place, Source, Span
from policy.files.text import removal
from policy.hosts.claude.data import find
from policy.hosts.claude.data import tools as known
from policy.hosts.claude.data.shell import ALIASES
from policy.hosts.claude.data.unchecked import UNCHECKED_WRAPPERS
from policy.hosts.claude.paths import Anchors, path_patterns
from policy.hosts.claude.shell import canonical_powershell
from policy.hosts.claude.shell.plain import read_plain
from policy.hosts.pattern_text import looks_absolute
from policy.language.parse import parse_matcher
from policy.language.syntax import Matcher
from policy.patterns import notations
from policy.patterns.notations import names
from policy.patterns.pattern import Pattern, PatternKind, is_glob
from policy.patterns.tokens import BLANKS, Gap, OneOf, Token
from policy.tables.command_outcome import PARTING
from policy.tables.dialect import Dialect
from policy.tables.ruleset import Entry, Form


@values.frozen
class RuleLine:
    """A rule for one tool."""

    entry: Entry  # the line of a table
    exact: bool = False  # whether the rule has no wildcard, which decides its place in the order


@values.frozen
class RuleLines:
    """The lines of one rule, and what is wrong with it."""

    lines: tuple[RuleLine, ...] = ()
    findings: tuple[Finding, ...] = ()

    def __add__(self, other: RuleLines) -> RuleLines:
        return RuleLines(self.lines + other.lines, self.findings + other.findings)


@values.frozen
class RuleScope:
    """What decides the meaning of a rule in addition to its text; one for each file."""

    anchors: Anchors  # the folders that its paths are relative to
    agents: frozenset[str] = frozenset()  # names of the agents that can be started
    flag: bool = False  # whether it was given on the command line, where MCP tools have parameters
    # Other names of skills, and the skill that each is.
    aliases: Mapping[str, str] = values.field(factory=dict, hash=False)
    # Tools of MCP servers, by server; None is not known.
    servers: Mapping[str, tuple[str, ...]] | None = values.field(default=None, hash=False)
    configured: tuple[str, ...] = ()  # names of servers that a file of the project configures
    # The rules of the file, each with the effect of its list.
    file_rules: frozenset[tuple[Effect, str]] = values.field(default=frozenset(), hash=False)


@values.frozen
class RuleText:
    """A rule of a file, with its place and its scope."""

    text: str
    matcher: Matcher
    span: Span
    effect: Effect
    scope: RuleScope

    @cached_property
    def place(self) -> Place:
        """Where it begins."""
        return self.span.place

    @property
    def lost(self) -> Severity:
        """How bad it is that the rule has no effect."""
        return Severity.WARNING if self.effect is Effect.ALLOW else Severity.ERROR

    def lines(
        self,
        tools: Iterable[str],
        patterns: Iterable[Pattern | None] = (None,),
        field: str = "",
        *,
        exact: bool = False,
        form: Form = Form.ORDINARY,
        removes: bool = False,
    ) -> RuleLines:
        """Return a line for every tool and pattern, which may be one that *removes* the tool."""
        reason = Reason.UNAVAILABLE if removes and self.effect is Effect.DENY else Reason.RULE
        others = reason, self.text, self.place, form
        calls = itertools.product(tools, patterns)
        entries = (Entry(tool, self.effect, pattern, field, *others) for tool, pattern in calls)
        return RuleLines(tuple(RuleLine(entry, exact) for entry in entries))

    def finding(self, code: str, severity: Severity | None = None, **words: Any) -> RuleLines:  # noqa: ANN401
        """Return a finding about the rule, of another *severity* than its texts say, if given."""
        found = find(code, self.span, **{"rule": self.text, **words})
        return RuleLines((), (values.evolve(found, severity=severity or found.severity),))

    def skipped(self, code: str, **words: Any) -> RuleLines:  # noqa: ANN401
        """Return the finding that the rule has no effect."""
        return self.finding(code, self.lost, **words)


_PREFIX: Final = re.compile(r"[^\n\r\u2028\u2029]+:\*")
# An assignment alone, with which no command begins.
_ASSIGNING: Final = re.compile(r"\w+\+?=[^ ]*(?: |:)\*\Z")
_EXACT_ONLY: Final = re.compile(
    rf"(?:{'|'.join(UNCHECKED_WRAPPERS)}|eval|exec|source|trap)\b|\. "
    r"|find\b.*-(?:exec|ok|delete|fprint)"
)
# A star or a backslash that is escaped, or any other character.
_PIECE: Final = re.compile(r"\\[*\\]|.", re.DOTALL)


def _command_lines(rule: RuleText, content: str) -> RuleLines:
    """Return the lines of ``Bash(content)``."""
    # `:*` is special at the very end alone, and not behind a line break.
    is_prefix, allows = _PREFIX.fullmatch(content) is not None, rule.effect is Effect.ALLOW
    if content == ":*":
        return rule.skipped("empty-prefix", case="nothing")
    if content.endswith(":*") and not is_prefix:
        return rule.lines(_RUNNING, [Pattern.exactly(content)], exact=True)
    text = content.strip(BLANKS) if "*" in content and not is_prefix else content
    if "*" in text or not allows:
        text = re.sub("[ \\t]+", " ", text)
    prefix = text[:-2] if is_prefix else ""
    if prefix.endswith(" "):
        return rule.skipped("empty-prefix", case="blank", prefix=prefix[:-1])
    if "*" in prefix:
        literal = Pattern.of(PatternKind.TEXT, [prefix])
        extended = Pattern.of(PatternKind.TEXT, [prefix + " ", Gap.ANY])
        lines = rule.lines(_RUNNING, [literal], form=Form.PREFIX) + rule.lines(_RUNNING, [extended])
        return lines + rule.skipped("prefix-with-star", prefix=prefix)
    pieces = _PIECE.findall(text)
    exact = "*" not in pieces
    if is_prefix or not ("\\" in text or text.endswith(":*")):
        patterns = notations.commands(text)
    else:
        patterns = _unescaped(text, pieces)
    if allows and _ASSIGNING.match(text):
        patterns = tuple(one for one in patterns if not one.exact)
    form = Form.ORDINARY if exact else Form.PREFIX if is_prefix else Form.BARE
    found = rule.lines(_RUNNING, [p for p in patterns if p.exact], exact=exact, form=form)
    found += rule.lines(_RUNNING, [p for p in patterns if not p.exact])
    if not allows and "*" in text and not text.strip("* "):
        # A rule of stars alone applies to everything that is monitored.
        found += rule.lines(["Monitor"], removes=True)
    if ":*" in (prefix or text):
        found += rule.finding("colon-star-not-at-end")
    if allows and "*" in text and (exact_only := _EXACT_ONLY.match(text)):
        words = exact_only[0].split()  # as `find`, and the option behind its folders
        command = " ".join(dict.fromkeys((words[0], words[-1])))
        found += rule.finding("exec-wrapper-not-approvable", command=command)
    return found + _compound(rule, text, is_prefix=is_prefix)


_RUNNING: Final = ("Bash", "Monitor")


def _unescaped(text: str, pieces: list[str]) -> tuple[Pattern, ...]:
    r"""Return the patterns of a rule with backslashes; ``\*`` is a star if it has another one."""
    if "*" not in pieces:
        return (Pattern.exactly(text),)
    spelled: dict[str, Token] = {r"\*": "*", r"\\": "\\", "*": Gap.ANY}
    tokens = [spelled.get(piece, piece) for piece in pieces]
    found = (Pattern.of(PatternKind.TEXT, tokens),)
    if pieces[-2:] == [" ", "*"] and pieces.count("*") == 1:
        return (Pattern.of(PatternKind.TEXT, tokens[:-2]), *found)
    return found


def _compound(rule: RuleText, text: str, *, is_prefix: bool) -> RuleLines:
    """Return the finding that a rule for a compound command matches no single command."""
    script = None if PARTING.isdisjoint(text) else read_plain(text)
    if script is None or len(script.commands) < 2:  # no compound command
        return RuleLines()
    which = "that the host looks into"
    if script.split and rule.effect is Effect.ALLOW:
        # Quotes in place of a star may take the bar in.
        which, why = "with this pipe", "each part of a pipe is looked at by itself"
    elif script.split or is_prefix:
        return RuleLines()
    elif "*" in text:
        why = "its star takes none of several commands"
        which = which if rule.effect is Effect.ALLOW else "of which every part is allowed"
    elif rule.effect is Effect.ASK:
        why = "what asks for one of several commands must name it"
    else:
        return RuleLines()
    parts = dict.fromkeys(as_written(command.words) for command in script.commands)
    return rule.skipped(
        "dead-compound-rule",
        does={Effect.ALLOW: "allows", Effect.ASK: "asks for", Effect.DENY: "denies"}[rule.effect],
        which=which,
        why=why,
        rules=", ".join(f"`Bash({part})`" for part in parts),
    )


def _power_shell_lines(rule: RuleText, content: str) -> RuleLines:
    """Return the lines of ``PowerShell(content)``."""
    text = content.rstrip(" ") if content.rstrip(" ").endswith("*") else content
    patterns = notations.commands(canonical_powershell(text, ALIASES))
    return rule.lines(["PowerShell"], patterns, exact="*" not in text)


_PARAMETER: Final = re.compile(r"\s*([A-Za-z_]\w*)\s*:\s*(.*)", re.DOTALL)

# The program of that name.
_COMMAND: Final = ("Bash", "command:*")


def _specified(rule: RuleText, tool: str, content: str) -> RuleLines | None:
    """Return the lines of ``tool(content)``; None for a tool that has no specifiers."""
    parameter = _PARAMETER.fullmatch(content)
    name, value = (parameter[1], parameter[2]) if parameter else ("", "")
    allows, is_program = rule.effect is Effect.ALLOW, tool == "Bash" and content.endswith(":*")
    if parameter and name == known.PRIMARY.get(tool) and (tool, content) != _COMMAND:
        return rule.skipped("primary-field-param", name=name, tool=tool, value=value)
    reader = _READERS.get(tool)
    of_files = tool in known.FILE_TOOLS
    if ":*" in content and (of_files or tool in _DEAD) and not (allows or rule.scope.flag):
        if of_files:
            prefix = content.partition(":*")[0]
            return rule.skipped("dead-path-rule", case="prefix", tool=tool, content=prefix)
    elif parameter and not (is_program and allows) and _has_parameter(rule, tool, name):
        found = _parameter_lines(rule, tool, name, value.strip())
        # The rule applies to a command of that name as well and, if it denies or asks, to a file.
        is_both = tool == "Bash" or (of_files and not allows)
        return found + reader(rule, content) if reader and is_both else found
    if tool in _DEAD:
        twin = f"{_DEAD[tool]}({content})"
        if (rule.effect, twin) in rule.scope.file_rules:
            edits = removal(rule.span)
            return rule.finding("dead-file-rule", case="beside", twin=twin, edits=edits)
        return rule.skipped("dead-file-rule", case="alone", other=_DEAD[tool], twin=twin)
    if tool == "Monitor":
        return rule.skipped("monitor-rule-ignored", content=content)
    return reader(rule, content) if reader else None


def _has_parameter(rule: RuleText, tool: str, name: str) -> bool:
    if tool == "WebFetch":  # rules about which settings have for domains alone
        return rule.scope.flag and rule.effect is Effect.DENY and name == "prompt"
    # A tool without specifiers accepts any parameter.
    if tool in known.NAMES and tool not in known.SPECIFIED and tool not in known.PARAMETERS:
        return True
    return name in known.PARAMETERS.get(tool, ())


def _parameter_lines(rule: RuleText, tool: str, name: str, value: str) -> RuleLines:
    """Return the lines of ``tool(name:value)``."""
    if rule.effect is Effect.ALLOW:
        return rule.skipped("param-in-allow", name=name)
    if tool == "WebSearch" and "*" in value and not rule.scope.flag:
        return rule.skipped("specifier-not-accepted", case="star")
    values = [value]
    if (tool, name, rule.effect) == ("Skill", "skill", Effect.DENY) and not value.startswith("/"):
        if "*" not in value:
            return _skill_lines(rule, value)
        values.append("/" + value)
    patterns = [notations.single(text) for text in values]
    found = rule.lines([tool], patterns, name)
    assumed = known.ASSUMED.get((tool, name))
    if assumed is not None and any(pattern.matches(assumed) for pattern in patterns):
        # It applies to calls without the parameter as well, and so to more than a line can match.
        return rule.lines([tool]) + found
    return found


def _path_lines(rule: RuleText, content: str, *, tool: str) -> RuleLines:
    try:
        patterns = path_patterns(content, rule.scope.anchors, rule.effect)
    except notations.Unusable as unusable:
        # A rule that matches no file counts as one that denies reads.
        denies_reads = (tool, rule.effect) == ("Read", Effect.DENY)
        nothing = Pattern.exactly("", PatternKind.PATH)
        counted = rule.lines([known.ANY_READ] if denies_reads else [], [nothing])
        if not content.startswith("!"):
            return counted + rule.skipped("dead-path-rule", case="file", why=unusable)
        if rule.effect is Effect.ALLOW:
            return rule.skipped("negation-in-allow")
        return counted + rule.finding("negation-ineffective")
    # What commands do to files is denied and allowed by rules about files, but never asked for.
    if rule.effect is Effect.ASK:
        tools = known.FILE_TOOLS[tool]
    elif tool != "Read":
        tools = known.EDITING
    else:
        tools = (*known.READING, *(UNREAD if rule.effect is Effect.DENY else ()))
    form = Form.WITHIN if content.endswith("**") else Form.ORDINARY
    lines = rule.lines(tools, patterns, form=form)
    if content.startswith("/") and looks_absolute(content):
        lines += rule.finding("looks-absolute", tool=tool, content=content)
    return lines


# The tools that may not change a file that a rule denies to read.
UNREAD: Final = ("Edit", "Write")

# Dots at the end of a host name are no part of it.
_FINAL_DOTS: Final = re.compile(r"(?<=[^*.])\.+\Z")


def _host_lines(rule: RuleText, content: str) -> RuleLines:
    name = content.removeprefix("domain:")
    if name == content:
        host = content.removeprefix("https://").split("/")[0]
        return rule.skipped("unprefixed-webfetch-specifier", host=host)
    if rule.effect is Effect.ALLOW and "*" in name and ("[" in name or "]" in name):
        return rule.skipped("dead-host-rule", case="brackets")
    try:
        patterns = notations.hosts(_FINAL_DOTS.sub("", name))
    except notations.Unusable as unusable:
        return rule.skipped("dead-host-rule", case="none", why=unusable)
    return rule.lines(["WebFetch"], patterns)


def _skill_lines(rule: RuleText, content: str) -> RuleLines:
    if rule.effect is Effect.ASK:
        return rule.skipped("ask-ignored", case="skill", content=content)
    is_prefix = content.endswith((" *", ":*"))
    name = (content[:-2] if is_prefix else content).removeprefix("/")
    if "*" in name:
        return rule.skipped("dead-skill-rule")
    texts = [name, "/" + name]
    if rule.effect is Effect.DENY:
        texts.append("*:" + name)
        aliases = rule.scope.aliases
        skill = aliases.get(name, name)
        called = [skill, *(alias for alias, real in aliases.items() if real == skill)]
        texts += [*called, *(f"/{each}" for each in called)]
    if is_prefix:
        texts += [name + "*", f"/{name}*"]
    return rule.lines(["Skill"], map(Pattern.text, texts))


def _agent_lines(rule: RuleText, content: str) -> RuleLines:
    if rule.effect is Effect.ALLOW:
        return rule.finding("agent-allow-ignored")
    if rule.effect is Effect.ASK:
        return rule.skipped("ask-ignored", case="agent", content=content)
    if content in rule.scope.agents:
        return rule.lines(["Agent"], [agent_pattern(content)])
    unknown = rule.lines(["Agent"], [Pattern.exactly(content)])
    return unknown + rule.finding("unknown-agent", content=content)


_READERS: Final[Mapping[str, Callable[[RuleText, str], RuleLines]]] = {
    "Bash": _command_lines,
    "PowerShell": _power_shell_lines,
    "WebFetch": _host_lines,
    "Skill": _skill_lines,
    "Agent": _agent_lines,
    **{tool: partial(_path_lines, tool=tool) for tool in known.FILE_TOOLS},
}

# Tools about whose files the rules of another decide.
_DEAD: Final = {
    **dict.fromkeys(("Write", "NotebookEdit", "MultiEdit", "Update"), "Edit"),
    **dict.fromkeys(("Glob", "Grep", "LS", "View", "LSP"), "Read"),
}


@lru_cache(maxsize=4096)  # each agent may be started from many positions
def agent_pattern(name: str) -> Pattern:
    """Return the names of a call that the host resolves to the agent *name*."""
    spellings = (
        {*"-_ "} if character in "-_ " else {character.lower(), character.upper()}
        for character in name
    )
    return Pattern.of(PatternKind.TEXT, [OneOf(frozenset(each)) for each in spellings])


# What the host shows a tool as, e.g. `Stop Task`, instead of its name.
_WORDS: Final = re.compile(r"[A-Z][A-Za-z]*(?: [A-Z][A-Za-z]*)+")


def read_rule(text: str, span: Span, effect: Effect, scope: RuleScope) -> RuleLines:
    """Return the lines of one rule, which stands at *span* in the list of *effect*."""
    try:
        matcher = _matcher(text, span)
    except PolicyError as error:
        if effect is not Effect.ALLOW and ("\0" in text or len(text) > PATTERN_CHARACTERS):
            # A rule that cannot be read here counts for more calls than it names.
            consequence = "it is taken for a rule about every call of its tool"
            found = Finding.of(error, "malformed-rule", consequence=consequence)
            tool = text.partition("(")[0]
            # Rules about paths apply to what commands do to files, rules about tools do not.
            wider = f"{tool}(//**)" if tool in known.FILE_TOOLS else tool
            wider = "*" if "\0" in tool or len(tool) > PATTERN_CHARACTERS else wider
            return read_rule(wider, span, effect, scope) + RuleLines((), found)
        if text.startswith("mcp__") and "(" not in text:  # with a blank in it
            return RuleLines((), misnamed(text, span, effect))
        code = "unknown-tool" if _WORDS.fullmatch(text) else "malformed-rule"
        consequence = "the host skips the rule; nothing it says is in force"
        return RuleLines((), Finding.of(error, code, consequence=consequence))
    return _read(RuleText(text, matcher, span, effect, scope))


def _matcher(text: str, span: Span) -> Matcher:
    if "\0" in text:
        raise PolicyError("expected a rule, found a NUL in it, which no call can hold", span)
    return parse_matcher(text, span)


def entries_of(rule: str, effect: Effect, dialect: Dialect) -> tuple[Entry, ...]:
    """Return the entries of *rule* in project settings; raise `PolicyError` if it has none."""
    scope = RuleScope(Anchors(dialect.cwd, dialect.home, dialect.cwd))
    lines = read_rule(rule, Source("<rule>", rule).whole(), effect, scope).lines
    if not lines:
        raise PolicyError(f"`{rule}` matches no call")
    return tuple(line.entry for line in lines)


_ESCAPED: Final = re.compile(r"\\([()\\])")  # as the host saves them
_ESCAPED_PARENTHESIS: Final = re.compile(r"(?:^|[^\\])\\[()]")
_LITERAL_SERVER: Final = re.compile(r"mcp__[^*]+?__")


def _read(rule: RuleText) -> RuleLines:
    tool, specifier, effect = rule.matcher.tool, rule.matcher.specifier, rule.effect
    content = None if specifier is None else specifier.text
    of_server = tool.startswith("mcp__")
    is_blank = content is not None and not content.strip()
    if is_blank and rule.scope.flag and effect is Effect.DENY:
        content = None  # such a flag takes the tool away
    elif is_blank:
        found = rule.skipped("empty-specifier", tool=tool)
        # Of blanks alone it applies to everything that is monitored (2.1.329, observed).
        monitored = tool == "Bash" and content and effect is not Effect.ALLOW
        return found + rule.lines(["Monitor"] if monitored else [], removes=True)
    if of_server and content is not None:
        parameter = _PARAMETER.fullmatch(content)
        if rule.scope.flag and effect is Effect.DENY and parameter and "*" not in tool:
            return _parameter_lines(rule, tool, parameter[1], parameter[2].strip())
        return rule.skipped("mcp-specifier", tool=tool)
    if content is not None and not rule.scope.flag and _ESCAPED_PARENTHESIS.search(content):
        bare = re.sub(r"\\.", "", content)
        if bare.count("(") != bare.count(")"):  # it is unknown which parentheses are meant
            return rule.skipped("malformed-rule", case="escaped")
    content = content and _ESCAPED.sub(r"\1", content)
    misnaming = misnamed(tool, rule.span, effect) if of_server else ()
    if misnaming:
        return RuleLines((), misnaming)
    if "*" in tool:
        return _glob_lines(rule, tool, content)
    if of_server:
        return _server_lines(rule, tool)
    return _built_in_lines(rule, tool, content) if tool[:1].isupper() else _unknown(rule, tool)


def _glob_lines(rule: RuleText, tool: str, content: str | None) -> RuleLines:
    if content not in (None, "*"):
        return rule.skipped("glob-specifier")
    if not rule.scope.flag and "_" not in tool and tool[0].islower():
        return rule.skipped("malformed-rule", case="glob")
    if rule.effect is Effect.ALLOW and not _LITERAL_SERVER.match(tool):
        return rule.skipped("allow-glob-ignored")
    return _whole(rule, tool)


def _built_in_lines(rule: RuleText, tool: str, content: str | None) -> RuleLines:
    name = known.ALIASES.get(tool, tool)
    # For a shell a star with blanks behind it is a pattern like others.
    if content is None or (content if name in known.SHELLS else content.rstrip(" ")) == "*":
        if name not in known.NAMES:
            return _unknown(rule, tool)
        if name in _OF_FILES and content is not None and rule.effect is Effect.ALLOW:
            return rule.lines([name], notations.paths("**", rule.scope.anchors.cwd, fold=True))
        return _whole(rule, name)
    found = _specified(rule, name, content)
    if found is not None:
        return found
    if name not in known.NAMES:
        return _unknown(rule, tool)
    return rule.skipped("specifier-not-accepted", case="any", name=name)


_OF_FILES: Final = frozenset({"Read", *known.FILE_TOOLS["Edit"]})


def _server_lines(rule: RuleText, tool: str) -> RuleLines:
    server, _, name = tool.removeprefix("mcp__").partition("__")
    all_of_it = bool(server) and not name and not tool.endswith("_")
    lines = _whole(rule, f"{tool}__*" if all_of_it else tool)
    # Nothing in the files says which tools a server offers.
    configured = rule.scope.configured
    if rule.effect is Effect.ALLOW or (server in configured and name in ("", "*")):
        return lines
    near = difflib.get_close_matches(server, configured, 1) if server not in configured else ()
    help_line = f"`.mcp.json` has a server `{near[0]}`" if near else ""
    return lines + rule.finding("unknown-tool-unreported", case="server", tool=tool, help=help_line)


def misnamed(name: str, span: Span, effect: Effect) -> tuple[Finding, ...]:
    """Return the finding that no tool is called *name*: the host rewrites names of servers."""
    called = known.server_name(name.replace(":*", "*"))  # which is special behind commands alone
    if called == name:
        return ()
    allows, at = effect is Effect.ALLOW, span.text.find(name)
    edits: tuple[Edit, ...] = ()
    if at >= 0 and not allows:
        start = span.start + at
        edits = (Edit(span.source.span(start, start + len(name)), called),)
    found = find("server-name-rewritten", span, name=name, called=called, edits=edits)
    return (values.evolve(found, severity=Severity.WARNING if allows else Severity.ERROR),)


def _unknown(rule: RuleText, tool: str) -> RuleLines:
    unreported = rule.effect is Effect.ALLOW or "_" in tool or tool in known.REMOVED
    code = "unknown-tool-unreported" if unreported else "unknown-tool"
    lines = rule.lines([tool] if rule.matcher.specifier is None else [], removes=True)
    return lines + rule.finding(code, case="rule", tool=tool)


def _whole(rule: RuleText, tool: str) -> RuleLines:
    """Return the lines of a rule for every call of a tool, or of those of a glob."""
    # `mcp__x__y__z` is a tool of `x__y` or of `x`: with such servers no allow rule counts.
    of_two = tool.startswith("mcp__") and any("__" in name for name in rule.scope.servers or ())
    if of_two and rule.effect is Effect.ALLOW:
        return RuleLines()
    applies_to = names(tool).matches if is_glob(tool) else tool.__eq__
    lines = rule.lines([tool], removes=True)
    # As a flag it takes the tool away, and counts as one that denies some file.
    if applies_to("Read") and rule.effect is Effect.DENY and not rule.scope.flag:
        lines += rule.lines((*UNREAD, known.ANY_READ))
    elif tool == "Read" and rule.effect is Effect.DENY:
        lines += rule.lines([known.ANY_READ])
    if rule.effect is not Effect.ALLOW and applies_to("Bash"):
        lines += rule.lines(["Monitor"], removes=True)
    return lines
