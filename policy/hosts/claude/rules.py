"""One rule of a settings file: text to the lines of a table, and what is wrong with it.

What a rule matches depends on its tool, its list and the scope it stands in. Everything here is as
Claude Code 2.1.329 was observed to decide. A rule that the host skips or never matches gives no
line and a finding.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from typing import Any, Final

from policy.commands.read import read_plain
from policy.commands.words import Script, as_written
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
from policy.hosts.claude.data.unchecked import STARTING
from policy.hosts.claude.paths import Anchors, Negation, path_patterns
from policy.hosts.claude.shell import canonical_powershell
from policy.language.mistakes import looks_absolute
from policy.language.parse import parse_matcher
from policy.language.syntax import Matcher
from policy.patterns import notations
from policy.patterns.notations import is_glob, names
from policy.patterns.pattern import Pattern, PatternKind
from policy.patterns.tokens import BLANKS, Gap, OneOf, Token
from policy.tables.command_row import PARTING
from policy.tables.dialect import Dialect
from policy.tables.entry import Form
from policy.tables.ruleset import Entry

__all__ = [
    "UNREAD",
    "RuleLine",
    "RuleLines",
    "RuleScope",
    "agent_pattern",
    "entries_of",
    "misnamed",
    "read_rule",
]


@values.frozen
class RuleLine:
    """A rule for one tool.

    Attributes:
        entry: the line of a table.
        exact: whether the rule has no wildcard, which decides its place in the order.
    """

    entry: Entry
    exact: bool = False

    @property
    def borrowed(self) -> bool:
        """Whether it allows to read files since they may be edited."""
        return self.entry.form is Form.LENT


@values.frozen
class RuleLines:
    """The lines of one rule, and what is wrong with it."""

    lines: tuple[RuleLine, ...] = ()
    findings: tuple[Finding, ...] = ()

    def __add__(self, other: RuleLines) -> RuleLines:
        return RuleLines(self.lines + other.lines, self.findings + other.findings)


@values.frozen
class RuleScope:
    """What decides the meaning of a rule beside its text, the same for all of one file.

    Attributes:
        anchors: the folders that its paths are relative to.
        agents: names of the agents that can be started.
        flag: whether it was given on the command line, where MCP tools have parameters.
        aliases: other names of skills, and the skill that each is.
        servers: tools of MCP servers, by server; None is not known.
        configured: names of servers that a file of the project configures.
        beside: the rules of the file, each with the effect of its list.
    """

    anchors: Anchors
    agents: frozenset[str] = frozenset()
    flag: bool = False
    aliases: Mapping[str, str] = values.field(factory=dict, hash=False)
    servers: Mapping[str, tuple[str, ...]] | None = values.field(default=None, hash=False)
    configured: tuple[str, ...] = ()
    beside: frozenset[tuple[Effect, str]] = values.field(default=frozenset(), hash=False)


@values.frozen(slots=False)
class RuleText:
    """A rule, and all that decides what it means.

    Attributes:
        text: as its file says it.
        matcher: what it is.
        span: where it stands.
        effect: of its list.
        scope: of its file.
    """

    text: str
    matcher: Matcher
    span: Span
    effect: Effect
    scope: RuleScope

    @property
    def removal(self) -> Reason:
        """Why a call is denied where the rule takes the whole tool away."""
        return Reason.UNAVAILABLE if self.effect is Effect.DENY else Reason.RULE

    @cached_property
    def place(self) -> Place:
        """Where it begins."""
        return self.span.place

    @property
    def lost(self) -> Severity:
        """How bad it is that the rule has no effect."""
        return Severity.WARNING if self.effect is Effect.ALLOW else Severity.ERROR

    def entry(
        self,
        tool: str,
        pattern: Pattern | None = None,
        field: str = "",
        reason: Reason = Reason.RULE,
        form: Form = Form.PLAIN,
    ) -> Entry:
        """Return a line of a table."""
        return Entry(tool, self.effect, pattern, field, reason, self.text, self.place, form)

    def lines(
        self,
        tools: Iterable[str],
        patterns: Iterable[Pattern],
        *,
        exact: bool = False,
        form: Form = Form.PLAIN,
    ) -> RuleLines:
        """Return a line for every tool and pattern."""
        found = tuple(patterns)
        return RuleLines(
            tuple(
                RuleLine(self.entry(tool, pattern, form=form), exact)
                for tool in tools
                for pattern in found
            )
        )

    def finding(self, code: str, severity: Severity | None = None, **words: Any) -> RuleLines:  # noqa: ANN401
        """Return a finding about the rule, of another *severity* than its texts say, if given."""
        found = find(code, self.span, **{"rule": self.text, **words})
        return RuleLines((), (values.evolve(found, severity=severity or found.severity),))

    def skipped(self, code: str, **words: Any) -> RuleLines:  # noqa: ANN401
        """Return the finding that the rule has no effect."""
        return self.finding(code, self.lost, **words)


# --- commands: `Bash(...)` and `PowerShell(...)` -------------------------------------


def command_lines(rule: RuleText, content: str) -> RuleLines:
    """Return the lines of ``Bash(content)``."""
    # Only what the rule ends in is special: behind `:*` no blank may stand, nor a line end before.
    text, is_prefix = content, _PREFIX.fullmatch(content) is not None
    if text.endswith(":*") and not is_prefix and text != ":*":
        return _lines(rule, [Pattern.exactly(text)], Form.PLAIN, exact=True)
    if "*" in text:
        text = text if is_prefix else text.strip(BLANKS)
    if "*" in text or rule.effect is not Effect.ALLOW:
        text = re.sub("[ \\t]+", " ", text)
    findings = RuleLines()
    if text == ":*":
        return rule.skipped("empty-prefix", case="nothing")
    if is_prefix and text[:-2].endswith(" "):
        return rule.skipped("empty-prefix", case="blank", prefix=text[:-3])
    if is_prefix and "*" in text[:-2]:
        literal = [Pattern.of(PatternKind.TEXT, [text[:-2]])]
        literal.append(Pattern.of(PatternKind.TEXT, [text[:-2] + " ", Gap.ANY]))
        return _lines(rule, literal, Form.PREFIX) + rule.finding(
            "prefix-with-star",
            prefix=text[:-2],
            severity=rule.lost,
        )
    inside = ":*" in (text[:-2] if is_prefix else text)
    if inside:
        findings = rule.finding("colon-star-not-at-end")
    if rule.effect is Effect.ALLOW and "*" in text and _EXACT_ONLY.match(text):
        findings += rule.finding("exec-wrapper-not-approvable")
    findings += _compound(rule, text, is_prefix=is_prefix)
    patterns = _patterns(text, is_prefix=is_prefix)
    if rule.effect is Effect.ALLOW and _ASSIGNING.match(text):
        patterns = tuple(one for one in patterns if not one.exact)
    exact = "*" not in _ESCAPED.findall(text)
    form = Form.PLAIN if exact else Form.PREFIX if is_prefix else Form.BARE
    lines = _lines(rule, patterns, form, exact=exact)
    if rule.effect is not Effect.ALLOW and "*" in text and not text.strip("* "):
        # A rule of stars alone applies to everything that is monitored.
        lines += RuleLines((RuleLine(rule.entry("Monitor", reason=rule.removal)),))
    return lines + findings


def _lines(
    rule: RuleText, patterns: Sequence[Pattern], form: Form, *, exact: bool = False
) -> RuleLines:
    """Return lines of which those of one text have a *form*."""
    tools = "Bash", "Monitor"
    spelled = [pattern for pattern in patterns if pattern.exact]
    others = [pattern for pattern in patterns if not pattern.exact]
    return rule.lines(tools, spelled, exact=exact, form=form) + rule.lines(tools, others)


def _patterns(text: str, *, is_prefix: bool) -> tuple[Pattern, ...]:
    if is_prefix:
        return notations.commands(text)
    if "\\" in text:
        return _unescaped(text)
    # What is no prefix has a colon before its star.
    return (Pattern.text(text),) if text.endswith(":*") else notations.commands(text)


def _unescaped(text: str) -> tuple[Pattern, ...]:
    """Return what a rule with backslashes matches: beside a star of its own they spell others."""
    pieces = _ESCAPED.findall(text)
    if "*" not in pieces:
        return (Pattern.exactly(text),)
    tokens = [Gap.ANY if piece == "*" else _LITERALS.get(piece, piece) for piece in pieces]
    found = (Pattern.of(PatternKind.TEXT, tokens),)
    if pieces[-2:] == [" ", "*"] and pieces.count("*") == 1:
        return (Pattern.of(PatternKind.TEXT, tokens[:-2]), *found)
    return found


_ESCAPED: Final = re.compile(r"\\[*\\]|.", re.DOTALL)
_LITERALS: Final = {r"\*": "*", r"\\": "\\"}


def _compound(rule: RuleText, text: str, *, is_prefix: bool) -> RuleLines:
    """Return the finding that a rule for a compound command matches no single command."""
    script = None if PARTING.isdisjoint(text) else read_plain(text)
    if script is None or len(script.commands) < 2:  # no compound command
        return RuleLines()
    which = "that the host looks into"
    if script.split and rule.effect is Effect.ALLOW:
        why = "each part of a pipe is looked at by itself"
    elif script.split or is_prefix:
        return RuleLines()
    elif "*" in text:
        why = "its star takes none of several commands"
        which = which if rule.effect is Effect.ALLOW else "of which every part is allowed"
    elif rule.effect is Effect.ASK:
        why = "what asks for one of several commands must name it"
    else:
        return RuleLines()
    return rule.finding(
        "dead-compound-rule",
        does=_DOES[rule.effect],
        which=which,
        why=why,
        rules=", ".join(f"`Bash({part})`" for part in _parts(script)),
        severity=rule.lost,
    )


_DOES: Final = {Effect.ALLOW: "allows", Effect.ASK: "asks for", Effect.DENY: "denies"}


def _parts(script: Script) -> tuple[str, ...]:
    return (*dict.fromkeys(as_written(command.words) for command in script.commands),)


def power_shell_lines(rule: RuleText, content: str) -> RuleLines:
    """Return the lines of ``PowerShell(content)``."""
    text = content.rstrip(" ") if content.rstrip(" ").endswith("*") else content
    patterns = notations.commands(canonical_powershell(text, ALIASES))
    return rule.lines(["PowerShell"], patterns, exact="*" not in text)


_PREFIX: Final = re.compile(r"[^\n\r\u2028\u2029]+:\*")
# An assignment alone, with which no command begins.
_ASSIGNING: Final = re.compile(r"\w+\+?=[^ ]*(?: |:)\*\Z")
_EXACT_ONLY: Final = re.compile(
    rf"(?:{STARTING.replace(' ', '|')}|eval|exec|source|trap)\b|\. "
    r"|find\b.*-(?:exec|ok|delete|fprint)"
)


# --- specifiers, tool by tool ---------------------------------------------------------

PARAMETER: Final = re.compile(r"\s*([A-Za-z_]\w*)\s*:\s*(.*)", re.DOTALL)


def read_specifier(rule: RuleText, tool: str, content: str) -> RuleLines | None:
    """Return the lines of ``tool(content)``; None for a tool that has no specifiers."""
    parameter = PARAMETER.fullmatch(content)
    if (
        parameter
        and parameter[1] == known.PRIMARY.get(tool)
        and not (tool == "Bash" and content == "command:*")  # the program of that name
    ):
        return rule.skipped("primary-field-param", name=parameter[1], tool=tool, value=parameter[2])
    of_files = tool in _DEAD or tool in known.FILE_TOOLS
    if of_files and ":*" in content and rule.effect is not Effect.ALLOW and not rule.scope.flag:
        if tool not in _DEAD:
            return rule.skipped(
                "dead-path-rule", case="prefix", tool=tool, content=content.partition(":*")[0]
            )
    elif parameter and _has_parameter(rule, tool, parameter[1]):
        own = _own(rule, tool, content)
        if tool == "Bash" and content.endswith(":*") and rule.effect is Effect.ALLOW:
            return own  # it is the name of a program
        found = read_parameter(rule, tool, parameter[1], parameter[2].strip())
        # The rule applies to a command of that name as well and, if it denies or asks, to a file.
        return found + own if tool == "Bash" or rule.effect is not Effect.ALLOW else found
    if tool in _DEAD:
        twin = f"{_DEAD[tool]}({content})"
        if (rule.effect, twin) in rule.scope.beside:
            return rule.finding(
                "dead-file-rule", case="beside", twin=twin, edits=removal(rule.span)
            )
        return rule.skipped("dead-file-rule", case="alone", other=_DEAD[tool], twin=twin)
    if tool == "Monitor":
        return rule.skipped("monitor-rule-ignored", content=content)
    if tool == "PowerShell":
        return power_shell_lines(rule, content)
    if tool == "Bash" or tool in known.FILE_TOOLS:
        return _own(rule, tool, content)
    reader = _READERS.get(tool)
    return reader(rule, content) if reader else None


def _own(rule: RuleText, tool: str, content: str) -> RuleLines:
    """Return the lines for the commands, or for the files, that *content* matches."""
    if tool == "Bash":
        return command_lines(rule, content)
    return _path(rule, tool, content) if tool in known.FILE_TOOLS else RuleLines()


def _has_parameter(rule: RuleText, tool: str, name: str) -> bool:
    if tool == "WebFetch":  # rules about which settings have for domains alone
        return rule.scope.flag and rule.effect is Effect.DENY and name == "prompt"
    # A tool without specifiers of its own takes those of any parameter.
    if tool in known.NAMES and tool not in known.SPECIFIED and tool not in known.PARAMETERS:
        return True
    return name in known.PARAMETERS.get(tool, ())


def read_parameter(rule: RuleText, tool: str, name: str, value: str) -> RuleLines:
    """Return the lines of ``tool(name:value)``."""
    if rule.effect is Effect.ALLOW:
        return rule.skipped("param-in-allow", name=name)
    if tool == "WebSearch" and "*" in value and not rule.scope.flag:
        return rule.skipped("specifier-not-accepted", case="star")
    values = [value]
    if (tool, name, rule.effect) == ("Skill", "skill", Effect.DENY) and not value.startswith("/"):
        if "*" not in value:
            return _skill(rule, value)
        values.append("/" + value)
    patterns = [notations.single(text) for text in values]
    found = RuleLines(tuple(RuleLine(rule.entry(tool, pattern, name)) for pattern in patterns))
    assumed = known.ASSUMED.get((tool, name))
    if assumed is not None and any(pattern.matches(assumed) for pattern in patterns):
        # It applies to calls without the parameter as well, and so to more than a line can match.
        return RuleLines((RuleLine(rule.entry(tool)),)) + found
    return found


def _path(rule: RuleText, tool: str, content: str) -> RuleLines:
    try:
        patterns = path_patterns(content, rule.scope.anchors, rule.effect)
    except Negation:
        if rule.effect is Effect.ALLOW:
            return rule.skipped("negation-in-allow")
        return _counted(rule, tool) + rule.finding("negation-ineffective")
    except notations.Unusable as unusable:
        dead = rule.skipped("dead-path-rule", case="file", why=unusable)
        return _counted(rule, tool) + dead
    findings = RuleLines()
    if content.startswith("/") and looks_absolute(content):
        findings = rule.finding("looks-absolute", tool=tool, content=content)
    form = Form.WITHIN if content.endswith("**") else Form.PLAIN
    lines = rule.lines(_governed(rule, tool), patterns, form=form) + findings
    if (tool, rule.effect) == ("Edit", Effect.ALLOW):
        lines += rule.lines(known.FILE_TOOLS["Read"], patterns, form=Form.LENT)
    return lines


def _counted(rule: RuleText, tool: str) -> RuleLines:
    """Return the lines of a rule that matches no file: it counts as one that denies reads."""
    if (tool, rule.effect) != ("Read", Effect.DENY):
        return RuleLines()
    return rule.lines([known.ANY_READ], [_NO_FILE])


_NO_FILE: Final = Pattern.exactly("", PatternKind.PATH)


# The tools that may not change a file that a rule denies to read.
UNREAD: Final = ("Edit", "Write")


def _governed(rule: RuleText, tool: str) -> tuple[str, ...]:
    # What commands do to files is denied and allowed by rules about files, but
    # never asked for.
    tools = known.FILE_TOOLS
    match tool, rule.effect:
        case "Read", Effect.DENY:
            return (*known.READING, *UNREAD)
        case _, Effect.ASK:
            return tools[tool]
        case "Read", _:
            return known.READING
        case _:
            return known.EDITING


# However many dots stand at the end of a name, they are no part of it.
_FINAL_DOTS: Final = re.compile(r"(?<=[^*.])\.+\Z")


_BRACKETS: Final = frozenset("[]")


def _host(rule: RuleText, content: str) -> RuleLines:
    if not content.startswith("domain:"):
        return rule.skipped(
            "unprefixed-webfetch-specifier", host=content.removeprefix("https://").split("/")[0]
        )
    if rule.effect is Effect.ALLOW and "*" in content and not _BRACKETS.isdisjoint(content):
        return rule.skipped("dead-host-rule", case="brackets")
    try:
        patterns = notations.hosts(_FINAL_DOTS.sub("", content.removeprefix("domain:")))
    except notations.Unusable as unusable:
        return rule.skipped("dead-host-rule", case="none", why=unusable)
    return rule.lines(["WebFetch"], patterns)


def _skill(rule: RuleText, content: str) -> RuleLines:
    if rule.effect is Effect.ASK:
        return rule.skipped("ask-ignored", case="skill", content=content)
    name, prefix = content, False
    for tail in (" *", ":*"):
        if content.endswith(tail):
            name, prefix = content[: -len(tail)], True
    name = name.removeprefix("/")
    if "*" in name:
        return rule.skipped("dead-skill-rule")
    texts = [name, "/" + name]
    if rule.effect is Effect.DENY:
        texts.append("*:" + name)
        aliases = rule.scope.aliases
        skill = aliases.get(name, name)
        known = [skill, *(alias for alias, real in aliases.items() if real == skill)]
        texts += [*known, *(f"/{each}" for each in known)]
    if prefix:
        texts += [text + "*" for text in (name, "/" + name)]
    return rule.lines(["Skill"], map(Pattern.text, texts))


def _agent(rule: RuleText, content: str) -> RuleLines:
    if rule.effect is Effect.ALLOW:
        return rule.finding("agent-allow-ignored")
    if rule.effect is Effect.ASK:
        return rule.skipped("ask-ignored", case="agent", content=content)
    if content in rule.scope.agents:
        return rule.lines(["Agent"], [agent_pattern(content)])
    found = rule.finding("unknown-agent", content=content)
    return RuleLines((RuleLine(rule.entry("Agent", Pattern.exactly(content))),)) + found


_READERS: Final = {"WebFetch": _host, "Skill": _skill, "Agent": _agent}

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


@lru_cache(maxsize=4096)  # each agent may be started from many positions
def agent_pattern(name: str) -> Pattern:
    """Return the names of a call that the host resolves to the agent *name*."""
    return Pattern.of(PatternKind.TEXT, _spellings(name))


_BETWEEN: Final = OneOf(frozenset("-_ "))


def _spellings(name: str) -> Iterator[Token]:
    for character in name:
        if character in "-_ ":
            yield _BETWEEN
        elif len(character.lower()) == len(character.upper()) == 1:
            yield OneOf(frozenset({character.lower(), character.upper()}))
        else:
            yield character


# --- parentheses ----------------------------------------------------------------------

_ESCAPED_PARENTHESIS: Final = re.compile(r"(?:^|[^\\])\\[()]")
_BARE: Final = {each: re.compile(rf"(?<!\\)(?:\\\\)*\{each}") for each in "()"}


def is_ambiguous(content: str) -> bool:
    """Return whether it cannot be told which parentheses are meant: in a file it is no rule."""
    if not _ESCAPED_PARENTHESIS.search(content):
        return False
    opened, closed = (len(bare.findall(content)) for bare in _BARE.values())
    return opened != closed


# --- a whole rule ---------------------------------------------------------------------


def read_rule(text: str, span: Span, effect: Effect, scope: RuleScope) -> RuleLines:
    """Return the lines of one rule in the list of *effect*.

    Args:
        text: the rule as its file says it.
        span: where it stands.
        effect: of the list.
        scope: of the file.

    """
    try:
        matcher = _matcher(text, span)
    except PolicyError as error:
        if effect is not Effect.ALLOW and ("\0" in text or len(text) > PATTERN_CHARACTERS):
            found = Finding.of(error, "malformed-rule", consequence=_WIDENED)
            return read_rule(_wider(text), span, effect, scope) + RuleLines((), found)
        if text.startswith("mcp__") and "(" not in text:  # with a blank in it
            return RuleLines((), misnamed(text, span, effect))
        code = "unknown-tool" if _WORDS.fullmatch(text) else "malformed-rule"
        return RuleLines((), Finding.of(error, code, consequence=_SKIPPED))
    return _read(RuleText(text, matcher, span, effect, scope))


def _matcher(text: str, span: Span) -> Matcher:
    if "\0" in text:
        raise PolicyError("expected a rule, found a NUL in it, which no call can hold", span)
    return parse_matcher(text, span)


def entries_of(rule: str, effect: Effect, dialect: Dialect) -> tuple[Entry, ...]:
    """Return the entries of *rule* in the list of project settings for *effect*.

    Raises:
        PolicyError: it matches no call.

    """
    scope = RuleScope(Anchors(dialect.cwd, dialect.home, dialect.cwd))
    lines = read_rule(rule, Source("<rule>", rule).whole(), effect, scope).lines
    if not lines:
        raise PolicyError(f"`{rule}` matches no call")
    return tuple(line.entry for line in lines)


# A rule that cannot be read here is taken for more than it says.
_WIDENED: Final = "it is taken for a rule about every call of its tool"


def _wider(text: str) -> str:
    """Return a short rule that applies to every call that *text* may apply to."""
    tool = text.partition("(")[0]
    if len(tool) > PATTERN_CHARACTERS or "\0" in tool:
        return "*"
    # Rules about paths apply to what commands do to files, rules about tools do not.
    return f"{tool}(//**)" if tool in known.FILE_TOOLS else tool


_SKIPPED: Final = "the host skips the rule; nothing it says is in force"

# What the host shows a tool as, e.g. `Stop Task`, instead of its name.
_WORDS: Final = re.compile(r"[A-Z][A-Za-z]*(?: [A-Z][A-Za-z]*)+")


_GIVEN_EMPTY: Final = frozenset({"Bash", "WebFetch", "WebSearch"})


def _may_be_empty(rule: RuleText) -> bool:
    """Return whether it is a flag that takes a tool away or gives it, with empty parentheses."""
    if not rule.scope.flag:
        return False
    if rule.effect is Effect.ALLOW:
        return rule.matcher.tool in _GIVEN_EMPTY and rule.text.endswith("()")
    return rule.effect is Effect.DENY and not rule.matcher.tool.startswith("mcp")


_LITERAL_SERVER: Final = re.compile(r"mcp__[^*]+?__")


def _read(rule: RuleText) -> RuleLines:
    tool = rule.matcher.tool
    specifier = rule.matcher.specifier
    content = None if specifier is None else specifier.text
    if content == "" and _may_be_empty(rule):
        content = None
    if content is not None and not content.strip() and not _may_be_empty(rule):
        found = rule.skipped("empty-specifier", tool=tool)
        # Of blanks alone it applies to everything that is monitored (2.1.329, observed).
        monitored = tool == "Bash" and content and rule.effect is not Effect.ALLOW
        line = RuleLine(rule.entry("Monitor", reason=rule.removal))
        return found + RuleLines((line,)) if monitored else found
    if tool.startswith("mcp__") and content is not None:
        return _call_of_server(rule, tool, content)
    if content is not None and not rule.scope.flag and is_ambiguous(content):
        return rule.skipped("malformed-rule", case="escaped")
    misnaming = misnamed(tool, rule.span, rule.effect) if tool.startswith("mcp__") else ()
    if misnaming:
        return RuleLines((), misnaming)
    if "*" in tool:
        return _glob(rule, tool, content)
    if tool.startswith("mcp__"):
        return RuleLines() if _is_of_unknown_server(rule) else _server(rule, tool)
    if not tool[:1].isupper():
        return _unknown(rule, tool)
    return _built_in(rule, tool, content)


def _built_in(rule: RuleText, tool: str, content: str | None) -> RuleLines:
    name = known.ALIASES.get(tool, tool)
    if content is None or _is_every(name, content):
        if name not in known.NAMES:
            return _unknown(rule, tool)
        below = {"Read", *known.FILE_TOOLS["Edit"]}
        if name in below and content is not None and rule.effect is Effect.ALLOW:
            return rule.lines([name], notations.paths("**", rule.scope.anchors.cwd, fold=True))
        return _whole(rule, name)
    found = read_specifier(rule, name, content)
    if found is not None:
        return found
    if name not in known.NAMES:
        return _unknown(rule, tool)
    return rule.skipped("specifier-not-accepted", case="any", name=name)


def _is_every(tool: str, content: str) -> bool:
    # For a shell a star with blanks behind it is a pattern like others.
    return (content if tool in known.SHELLS else content.rstrip(" ")) == "*"


def _call_of_server(rule: RuleText, tool: str, content: str) -> RuleLines:
    parameter = PARAMETER.fullmatch(content)
    if rule.scope.flag and rule.effect is Effect.DENY and parameter and "*" not in tool:
        return read_parameter(rule, tool, parameter[1], parameter[2].strip())
    return rule.skipped("mcp-specifier", tool=tool)


def _glob(rule: RuleText, tool: str, content: str | None) -> RuleLines:
    if content not in (None, "*"):
        return rule.skipped("glob-specifier")
    if not rule.scope.flag and "_" not in tool and tool[0].islower():
        return rule.skipped("malformed-rule", case="glob")
    if rule.effect is Effect.ALLOW and not _LITERAL_SERVER.match(tool):
        return rule.skipped("allow-glob-ignored")
    if tool.startswith("mcp__") and _is_of_unknown_server(rule):
        return RuleLines()
    return _whole(rule, tool)


def _is_of_unknown_server(rule: RuleText) -> bool:
    """Return whether a rule allows tools whose names do not tell whose they are.

    Of a server `x__y` the tool `z` is called as `y__z` of the server `x` is.
    """
    servers = rule.scope.servers or {}
    return rule.effect is Effect.ALLOW and any("__" in server for server in servers)


def _server(rule: RuleText, tool: str) -> RuleLines:
    server, _, name = tool.removeprefix("mcp__").partition("__")
    all_of_it = bool(server) and not name and not tool.endswith("_")
    return _whole(rule, f"{tool}__*" if all_of_it else tool) + _unverified(rule, tool)


def _unverified(rule: RuleText, tool: str) -> RuleLines:
    # Nothing in the files says which tools a server offers.
    server, _, name = tool.removeprefix("mcp__").partition("__")
    if rule.effect is Effect.ALLOW or (server in rule.scope.configured and name in ("", "*")):
        return RuleLines()
    near = difflib.get_close_matches(server, {*rule.scope.configured} - {server}, 1)
    help_line = f"`.mcp.json` has a server `{near[0]}`" if near else ""
    return rule.finding("unknown-tool-unreported", case="server", tool=tool, help=help_line)


def misnamed(name: str, span: Span, effect: Effect) -> tuple[Finding, ...]:
    """Return the finding that no tool is called *name*, since the host calls it otherwise."""
    called = known.server_name(name.replace(":*", "*"))  # which is special behind commands alone
    if called == name:
        return ()
    at = span.text.find(name)
    edits: tuple[Edit, ...] = ()
    if at >= 0 and effect is not Effect.ALLOW:
        start = span.start + at
        edits = (Edit(span.source.span(start, start + len(name)), called),)
    found = find("server-name-rewritten", span, name=name, called=called, edits=edits)
    allows = effect is Effect.ALLOW
    return (values.evolve(found, severity=Severity.WARNING if allows else Severity.ERROR),)


def _unknown(rule: RuleText, tool: str) -> RuleLines:
    unreported = rule.effect is Effect.ALLOW or "_" in tool or tool in known.REMOVED
    code = "unknown-tool-unreported" if unreported else "unknown-tool"
    entry = RuleLine(rule.entry(tool, reason=rule.removal))
    found = rule.finding(code, case="rule", tool=tool)
    return RuleLines((entry,) if rule.matcher.specifier is None else ()) + found


def _whole(rule: RuleText, tool: str) -> RuleLines:
    lines = [RuleLine(rule.entry(tool, reason=rule.removal))]
    # As a flag it takes the tool away, and adds of files only that some are denied.
    if _applies_to("Read", tool) and rule.effect is Effect.DENY and not rule.scope.flag:
        lines += [RuleLine(rule.entry(name)) for name in (*UNREAD, known.ANY_READ)]
    elif tool == "Read" and rule.effect is Effect.DENY:
        lines.append(RuleLine(rule.entry(known.ANY_READ)))
    if rule.effect is not Effect.ALLOW and _applies_to("Bash", tool):
        lines.append(RuleLine(rule.entry("Monitor", reason=rule.removal)))
    return RuleLines(tuple(lines))


def _applies_to(name: str, tool: str) -> bool:
    return names(tool).matches(name) if is_glob(tool) else tool == name
