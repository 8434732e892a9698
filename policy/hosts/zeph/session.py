"""The gates of a session, which calls of all its agents pass.

These are rules, grants, scopes, trust, autonomy and refused commands.
"""

from __future__ import annotations

import enum
import string
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from itertools import chain, product, starmap, takewhile
from pathlib import Path
from typing import Final

from policy.commands.knowledge import FileTools, Shell
from policy.commands.words import all_wrappers
from policy.core import expressions as re
from policy.core.decision import Decision, Reason
from policy.core.effect import Effect
from policy.core.errors import PolicyError
from policy.core.finding import Finding
from policy.core.source import Source, Span, place_of
from policy.core.values import evolve, field, frozen
from policy.files.text import decode
from policy.files.toml_nodes import read_toml
from policy.hosts.data import Grade, arguments_of
from policy.hosts.fields import Fields, Keys, as_host_errors
from policy.hosts.project import ReadFile
from policy.hosts.zeph.definition import GROUPS, PROGRAMS, SHELLS, TOOLS, find, normalize, refused
from policy.patterns.notations import Unusable, characters_of
from policy.patterns.pattern import Pattern, PatternKind, is_glob
from policy.patterns.tokens import Gap, OneOf, Token
from policy.tables.dialect import BLANKS, Argument, ArgumentKind, Dialect
from policy.tables.ruleset import Entry, RuleSet
from policy.tables.table import SPAWN_TOOL, Table

# Tokens of a glob: `**` as a whole part of a path, other wildcards, a set, a character.
_PART: Final = re.compile(
    r"(?P<deep>(?:^|(?<=/))\*\*(?:/|\Z))|(?P<star>\*)(?!\*)|(?P<one>\?)"
    r"|\[(?P<negated>!?+)(?P<set>.[^]]*)\]|(?P<text>[^*?[])",
    re.DOTALL,
)

# The limit of patterns for one glob: each `**/` doubles their number.
_BRANCHES = 64


def glob(text: str, *, ignore_case: bool = False) -> tuple[Pattern, ...]:
    """Return the patterns of the glob *text*. Raises Unusable if it is none."""
    branches: list[list[Token]] = [[]]
    position, text = 0, text.lower() if ignore_case else text
    while position < len(text):
        part = _PART.match(text, position)
        if part is None:
            is_set = text[position] == "["
            raise Unusable(
                "`[` is never closed" if is_set else "`**` must be a whole part of a path"
            )
        position = part.end()
        branches = [[*branch, *option] for branch in branches for option in _options(part)]
        if len(branches) > _BRANCHES:
            raise Unusable("it has too many `**`")
    if ignore_case:
        branches = [[*cased(branch)] for branch in branches]
    return tuple(Pattern.of(PatternKind.TEXT, branch) for branch in branches)


def _options(part: re.Match[str]) -> tuple[list[Token], ...]:
    """Return the alternatives of a part of a glob, as lists of tokens."""
    match part.lastgroup:
        case "deep" if part[0].endswith("/"):
            return [], [Gap.ANY, "/"]
        case "deep" | "star":
            return ([Gap.ANY],)
        case "one":
            return ([Gap.ONE],)
        case "set":
            return ([OneOf(frozenset(characters_of(part["set"])), bool(part["negated"]))],)
        case _:
            return ([part[0]],)


def cased(tokens: Iterable[Token]) -> Iterator[Token]:
    """Yield tokens that match texts which *tokens* match in lower case."""
    for token in tokens:
        if isinstance(token, OneOf):
            yield OneOf(frozenset().union(*map(_cases, token.characters)), token.negated)
        elif isinstance(token, str):
            every = ((character, _cases(character)) for character in token)
            yield from (OneOf(cases) if len(cases) > 1 else one for one, cases in every)
        else:
            yield token


# Signs whose small letter is a common letter.
_SIGNS = {"k": "\u212a", "\xe5": "\u212b", "\u03c9": "\u2126"}


def _cases(character: str) -> frozenset[str]:
    lower = character.lower()
    found = {character, lower, character.upper(), _SIGNS.get(lower, lower)}
    return frozenset(one for one in found if len(one) == 1 and one.lower() == lower)


FILE_BYTES: Final = 256 * 1024
_EFFECTS: Final = (Effect.ALLOW, Effect.DENY)

# Zeph ignores other keys, so a misspelt condition is missing; `capabilities` it never uses.
_KEYS: Final = {"": Keys("effect tool paths env trust_level args_match capabilities".split())}


@frozen
class PolicyRule:
    """A policy rule as written; a condition that is None or empty always holds."""

    effect: Effect  # ALLOW or DENY
    tool: str = "*"  # a glob over names of tools
    paths: tuple[str, ...] = ()  # globs, one of which must match a path of the call
    env: tuple[str, ...] = ()  # environment variables, all of which must be set
    trust_level: TrustLevel | None = None  # the least trust of the caller
    args_match: str | None = None  # a regular expression that must match some argument
    span: Span | None = field(default=None, eq=False, repr=False)
    unapplied: tuple[Finding, ...] = field(default=(), eq=False, repr=False)

    @cached_property
    def _tools(self) -> tuple[Pattern, ...]:
        return glob(_tool(self.tool))

    @cached_property
    def _paths(self) -> tuple[Pattern, ...]:
        return tuple(pattern for path in self.paths for pattern in glob(path))

    @cached_property
    def _expression(self) -> re.Pattern[str]:
        return re.compile(self.args_match or "")

    def check(self, number: int) -> None:
        """Raise HostError if the *number*-th rule has an invalid glob or expression."""
        try:
            _ = self._tools, self._paths
        except Unusable as unusable:
            raise refused("InvalidGlob", self.span, number=number, why=unusable) from None
        text = self.args_match or ""
        if len(text.encode()) > _REGEX_BYTES:
            raise refused("RegexTooLong", self.span, number=number, most=_REGEX_BYTES)
        why = "it could take too long" if _COSTLY.search(text) else ""
        try:
            self._expression.search("")  # it is compiled when it is first used
        except (re.error, RecursionError, OverflowError) as error:
            why = str(error)
        if why:
            raise refused("InvalidRegex", self.span, number=number, why=why)

    def matches(self, tool: str, params: Mapping[str, object]) -> bool:
        """Return whether the conditions on a call hold."""
        if not self.names(_tool(tool)):
            return False
        paths = tuple(_paths(params)) if self.paths else ()
        if self.paths and not any(one.matches(path) for one in self._paths for path in paths):
            return False
        if self.args_match is None:
            return True
        texts = [value for value in params.values() if isinstance(value, str)]
        if any(len(text) > _TEXT for text in texts):
            return self.effect is Effect.DENY
        return any(self._expression.search(text) for text in texts)

    def names(self, tool: str) -> bool:
        """Return whether the rule names *tool*."""
        return any(pattern.matches(tool) for pattern in self._tools)

    @property
    def is_exact(self) -> bool:
        """Whether an entry can state the rule in full."""
        return not (_NO_STAR.search(self.tool) or self.paths or self.args_match is not None)

    def entries(self, number: int, tool: str) -> Iterator[Entry]:
        """Yield the entry of the rule for *tool*; none if it would grant more."""
        if self.is_exact or self.effect is Effect.DENY:
            rule = f"rule[{number}]: {self.tool}"
            yield Entry(tool, self.effect, rule=rule, place=place_of(self.span))

    def findings(self, number: int) -> Iterator[Finding]:
        """Yield the findings about the *number*-th rule."""
        span, tool, denies = self.span, self.tool, self.effect is Effect.DENY
        yield from self.unapplied
        if denies and self.trust_level not in (None, TrustLevel.BLOCKED):
            yield find("trust-exempts-from-deny", span, number=number, tool=tool)
        bash = any(pattern.matches(name) for pattern in glob(tool) for name in _SHELLS)
        if bash and not self.names(_SHELL):
            yield find("rule-misses-shell", span, number=number, shell=_SHELL, tool=tool)
        if not self.is_exact:
            does = "denies every call of its tool" if denies else "grants no call"
            yield find("rule-beyond-tables", span, number=number, does=does)


# Expressions that may take exponential time, or that linear engines lack.
_COSTLY: Final = re.compile(r"\((?:[^()\\]|\\.)*[*+}](?:[^()\\]|\\.)*\)[*+{]|\(\?[=!<]|\\[1-9]")


def read_policy_file(path: str | Path, cwd: str | Path) -> tuple[PolicyRule, ...]:
    """Return the rules of a file below *cwd*, links resolved; or raise HostError.

    A ``default_effect`` in it is ignored, since only that of the configuration counts.
    """
    name = str(path)
    try:
        real, root = (Path(cwd) / path).resolve(strict=True), Path(cwd).resolve(strict=True)
        if not real.is_relative_to(root):
            raise refused("FileEscapesRoot", file=name)
        if real.stat().st_size > FILE_BYTES:
            raise refused("FileTooLarge", file=name)
        return read_rules(decode(name, real.read_bytes()))
    except OSError as error:
        why = str(error.strerror or error).lower()
        raise refused("FileLoad", file=name, why=why) from None
    except PolicyError as error:
        raise as_host_errors(error, "FileParse") from None


def read_rules(source: Source) -> tuple[PolicyRule, ...]:
    """Return the rules of a policy file; raise HostError of kind ``FileParse`` for mistakes."""
    root = Fields.read(partial(read_toml, source, 0, len(source.text)), "FileParse")
    rules, _ = rules_at(root)
    root.check()
    return rules


def rules_at(section: Fields) -> tuple[tuple[PolicyRule, ...], Effect]:
    """Return ``rules`` and ``default_effect`` of *section*, which collects the mistakes."""
    rules = []
    for fields in section.each("rules"):
        if fields.entry("effect") is None:
            fields.missing("effect")
        effect, span = fields.choice("effect", Effect.DENY, _EFFECTS), fields.span("")
        unapplied = fields.unapplied(_KEYS)
        usual = PolicyRule(effect, fields.text("tool"), span=span, unapplied=unapplied)
        rules.append(fields.values(usual, ("paths", "env", "trust_level", "args_match")))
    return tuple(rules), section.choice("default_effect", Effect.DENY, _EFFECTS)


_RULES: Final = 256
_REGEX_BYTES: Final = 1024

# The longest argument that an expression is matched with; longer ones are never allowed.
_TEXT: Final = 4096


@frozen
class RuleVerdict:
    """The effect of the rules on a call."""

    effect: Effect
    rule: int | None  # the number of the deciding rule; None is the default
    trace: str  # the line that Zeph logs


@frozen
class PolicyEnforcer:
    """Checked policy rules, and the effect of a call that none matches.

    Deny rules are tried first, then allow rules, in the order written; every condition must hold.
    Tables have no conditions on paths and arguments. There such a rule denies every call of its
    tool, or grants none, and a finding reports it.
    """

    rules: tuple[PolicyRule, ...]
    default: Effect

    @classmethod
    def of(cls, rules: Iterable[PolicyRule], default: Effect = Effect.DENY) -> PolicyEnforcer:
        """Return *rules* checked; raise HostError for an invalid one, or too many."""
        listed = tuple(rules)
        if len(listed) > _RULES:
            raise refused("TooManyRules", number=len(listed), most=_RULES)
        for number, rule in enumerate(listed):
            rule.check(number)
        return cls(listed, default)

    def _in_force(self, trust: TrustLevel, env: Iterable[str]) -> Iterator[tuple[int, PolicyRule]]:
        """Yield number and rule for a caller with *trust*, deny rules first."""
        variables = frozenset(env)
        numbered = enumerate(self.rules)
        for number, rule in sorted(numbered, key=lambda one: one[1].effect is not Effect.DENY):
            least = rule.trust_level
            if (least is None or trust >= least) and variables.issuperset(rule.env):
                yield number, rule

    def decide(
        self, tool: str, params: Mapping[str, object], trust: TrustLevel, env: Iterable[str] = ()
    ) -> RuleVerdict:
        """Return the verdict on a call of a caller with *trust* in the environment *env*."""
        for number, rule in self._in_force(trust, env):
            if rule.matches(tool, params):
                trace = f"rule[{number}] {rule.effect}: tool={tool} matched {_tool(rule.tool)}"
                return RuleVerdict(rule.effect, number, trace)
        return RuleVerdict(self.default, None, f"default: {self.default} (no matching rules)")

    def rule_set(self, trust: TrustLevel, env: Iterable[str] = ()) -> RuleSet:
        """Return the rules in force as a rule set."""
        active = [*self._in_force(trust, env)]
        entries = [STARTING]
        # The shell comes first, since globs must not match its other names.
        for name in _SHELLS:
            for number, rule in active:
                entries += rule.entries(number, name) if rule.names(_SHELL) else ()
            entries.append(Entry(name, self.default, rule="default_effect"))
        for number, rule in active:
            # A pattern with stars may match more tools.
            entries += rule.entries(number, _NO_STAR.sub("*", _tool(rule.tool)))
        return RuleSet(tuple(entries), self.default, ENFORCED)

    def findings(self) -> Iterator[Finding]:
        """Yield the findings about the rules."""
        for number, rule in enumerate(self.rules):
            yield from rule.findings(number)


# Parts of globs that a star widens, and a sign with another meaning in entries.
_NO_STAR: Final = re.compile(r"\[!?\]?[^\]]*\]|\?|/?\*\*/?|\A=")

# Rules see the shell under this name only.
_SHELL: Final = "shell"
_SHELLS: Final = ("bash", "sh", _SHELL)


def _tool(name: str) -> str:
    name = name.strip(BLANKS).lower()
    return _SHELL if name in _SHELLS else name


_PATH_KEYS: Final = ("file_path", "path", "uri", "url", "query")
_ABSOLUTE: Final = re.compile(r"/[^\s;|&<>]+")


def _paths(params: Mapping[str, object]) -> Iterator[str]:
    for key in _PATH_KEYS:
        value = params.get(key)
        if isinstance(value, str):
            yield _normal(value)
    command = params.get("command")
    if isinstance(command, str):
        yield from map(_normal, _ABSOLUTE.findall(command))


def _normal(path: str) -> str:
    """Return *path* without ``.``, ``..`` and empty parts; ``..`` never removes the first."""
    is_rooted = path.startswith("/")
    parts: list[str] = []
    for part in path.split("/"):
        if part == "..":
            if len(parts) > (0 if is_rooted else 1):
                parts.pop()
        elif part not in ("", "."):
            parts.append(part)
    return ("/" if is_rooted else "") + "/".join(parts) or path


@frozen
class PermissionGrants:
    """The grants of a run in order: name, and whether it is active. They never widen a policy.

    A grant that has ended stays in the list, since it denies its tool.
    """

    records: tuple[tuple[str, bool], ...] = ()

    @property
    def ended(self) -> frozenset[str]:
        """The tools whose last grant has ended."""
        return frozenset(name for name, active in dict(self.records).items() if not active)

    def rule_set(self, dialect: Dialect) -> RuleSet:
        """Return a rule set that denies the tools whose grant has ended."""
        # No id contains a star, and an entry with one would match several tools.
        named = (name for name in sorted(self.ended) if not is_glob(name))
        entries = (Entry(name, Effect.DENY, rule="a grant that has ended") for name in named)
        return RuleSet(tuple(entries), Effect.ALLOW, dialect)


def check_secret(
    name: str, listed: Collection[str], approved: Collection[str], *, background: bool = False
) -> None:
    """Raise HostError for a secret that is not listed, or has no active grant."""
    if name not in listed:
        raise refused("Invalid", None, "unlisted_secret", name=name)
    if background:
        raise refused("Invalid", None, "background_secret", name=name)
    if name not in approved:
        raise refused("Invalid", None, "secret", name=name)


_BUILT_IN: Final = "builtin:"

# Namespaces that are complete at the start of a session, so that a pattern without match is wrong.
_STATIC: Final = (_BUILT_IN, "skill:")


@frozen
class ToolScope:
    """The ids of the tools in scope, with findings about patterns that match none yet."""

    tools: frozenset[str]
    findings: tuple[Finding, ...] = ()

    @classmethod
    def of(
        cls, patterns: Iterable[str], registry: Iterable[str], *, general: bool = False
    ) -> ToolScope:
        """Return the tools of *registry* that match *patterns*, globs over ids with namespaces.

        Raises HostError for an id without a namespace, a pattern that is no glob, one of a static
        namespace that matches no tool, or one that matches all tools unless the scope is *general*.
        """
        registered = tuple(registry)
        for tool in registered:
            if ":" not in tool:
                raise refused("UnqualifiedId", tool=tool)
        found: set[str] = set()
        findings: list[Finding] = []
        for pattern in patterns:
            try:
                globs = [each for option in _options_of_scopes(pattern) for each in glob(option)]
            except Unusable as unusable:
                raise refused("InvalidPattern", pattern=pattern, why=unusable) from None
            matched = [tool for tool in registered if any(each.matches(tool) for each in globs)]
            if registered and not general and len(matched) == len(registered):
                raise refused("AccidentallyFull", pattern=pattern)
            if not matched:
                why = f"scope 'scope': pattern '{pattern}' matched zero registered tools"
                if pattern.startswith(_STATIC):
                    raise refused("DeadPattern", why=why)
                help_ = "" if ":" in pattern else f"`{_BUILT_IN}{pattern}`?"
                findings.append(find("dead-scope-pattern", why=why, help=help_))
            found.update(matched)
        return cls(frozenset(found), tuple(findings))

    def holds(self, tool: str) -> bool:
        """Return whether *tool* is in scope; without a namespace it is built in."""
        return (tool if ":" in tool else _BUILT_IN + tool) in self.tools


# The limit of globs for one pattern: each `{a,b}` multiplies their number.
_CHOICES: Final = 256
_STARS: Final = re.compile(r"(?<![/*])\*{2,}|\*{2,}(?![/*])")
_BRACES: Final = re.compile(r"\{([^{}]*)\}")


def _options_of_scopes(pattern: str) -> Iterator[str]:
    """Yield the globs of a pattern with ``{a,b}``; ``**`` within a part is one star."""
    texts = _BRACES.split(pattern)  # every second text was in braces
    if set("{}") & set("".join(texts)):
        raise Unusable("`{` and `}` enclose choices, and no braces")
    options = (text.split(",") if index % 2 else [text] for index, text in enumerate(texts))
    for number, option in enumerate(product(*options)):
        if number >= _CHOICES:
            raise Unusable("it has too many `{…}`")
        text = "".join(option)
        yield text if set(text) == {"*"} else _STARS.sub("*", text)


_SPAWN: Final = {SPAWN_TOOL: Argument(ArgumentKind.TEXT, ("subagent_type", "agent"))}

# No list of Zeph applies to a start of an agent.
STARTING: Final = Entry(SPAWN_TOOL, Effect.ALLOW, rule="starting an agent")

# Starting an agent is not a tool of Zeph; a tool called `task` is a different one.
_ALIASES: Final = {SPAWN_TOOL: SPAWN_TOOL}

# The gates match the first of these arguments that a call has, for any tool; without one they
# match the empty text. So no rule of a session applies to an argument ``path``.
_INPUT: Final = Argument(
    ArgumentKind.TEXT, ("command", "file_path", "query", "url", "uri"), absent=""
)

# For lists of agents as enforced: the argument of ``Bash(cargo *)`` is ignored.
ENFORCED: Final = Dialect("zeph", _SPAWN, _INPUT, _ALIASES, loose=True)

# For the gates of a session: names are compared as written, and commands as a whole.
RAW: Final = Dialect("zeph, names as written", _SPAWN, _INPUT, _ALIASES)

# For lists of agents as declared: ``Bash(cargo *)`` applies to each part of a command.
DECLARED: Final = Dialect(
    "zeph, as declared",
    arguments={**arguments_of(TOOLS["arguments"]), **_SPAWN},
    aliases={**_ALIASES, "shell": "bash", "sh": "bash"},
    shell=Shell(
        wrapping=all_wrappers(),
        files=FileTools(output="write", input="read"),
    ),
    loose=True,
)

# The shell, which refuses commands: whether names are compared loosely -> dialect.
_SHELL_DIALECTS: Final = {
    loose: evolve(DECLARED, name="zeph, its shell", aliases=_ALIASES, loose=loose)
    for loose in (False, True)
}

# A refused program, or the words that begin a refused command; and its span.
BlockedCommand = tuple[str, Span | None]


def blocked_rules(commands: Iterable[BlockedCommand], dialect: Dialect) -> RuleSet:
    """Return rules that deny *commands*, also behind wrappers that Zeph does not know."""
    entries: list[Entry] = []
    for command, span in commands:
        rule = f"blocked command: {command}"
        made = partial(Entry, "bash", Effect.DENY, rule=rule, place=place_of(span))
        words = command.lower().split()
        text, ends = [*cased([" ".join(words)])], _AFTER if len(words) == 1 else _FURTHER
        entries += (made(_joined(b, text, e)) for b in _BEFORE for e in ends)
    return RuleSet(tuple(entries), Effect.ALLOW, _SHELL_DIALECTS[dialect.loose])


def _joined(*tokens: Iterable[Token]) -> Pattern:
    return Pattern.of(PatternKind.TEXT, [*chain.from_iterable(tokens)])


# The folder before the name of a program, its arguments or suffix, and the rest of a command.
_BEFORE: Final[tuple[list[Token], ...]] = ([], [Gap.ANY, "/"])
_AFTER: Final[tuple[list[Token], ...]] = ([], [" ", Gap.ANY], [".", Gap.ANY])
_FURTHER: Final[tuple[list[Token], ...]] = ([Gap.ANY],)

# A character that ends the name of a program.
_END: Final = OneOf(frozenset(string.ascii_letters + string.digits + "_-."), negated=True)


def network_rules(dialect: Dialect) -> RuleSet:
    """Return rules that deny network access, but for tools of servers, as in Zeph."""
    rule = "network denied"
    mentioned = [(text, _mentions(text.split())) for text in PROGRAMS["reaching"]]
    mentioned += [(text, iter([Pattern.text(f"*{text}*")])) for text in PROGRAMS["devices"]]
    commands = (
        Entry("bash", Effect.DENY, pattern, rule=f"{rule}: {text}")
        for text, patterns in mentioned
        for pattern in patterns
    )
    tools = (Entry(name, Effect.DENY, rule=rule) for name in GROUPS["network"])
    return RuleSet((*tools, *commands), Effect.ALLOW, dialect)


def _mentions(words: list[str]) -> Iterator[Pattern]:
    """Yield patterns for commands that contain *words* in this order."""
    parts: list[tuple[list[Token], ...]] = [_START]
    for word in words:
        parts += [([word],), _GAPS]
    return starmap(_joined, product(*parts[:-1], _REST))


# Tokens between two words, before the first and after the last.
_GAPS: Final[tuple[list[Token], ...]] = ([_END], [_END, Gap.ANY, _END])
_START: Final[tuple[list[Token], ...]] = ([], [Gap.ANY, _END])
_REST: Final[tuple[list[Token], ...]] = ([], [_END, Gap.ANY])


class TrustLevel(Grade):
    """``BLOCKED < QUARANTINED < VERIFIED < TRUSTED``, in the order of what they grant."""

    BLOCKED = "blocked"
    QUARANTINED = "quarantined"
    VERIFIED = "verified"
    TRUSTED = "trusted"


# The trust of a skill without one.
DEFAULT_TRUST: Final = TrustLevel.QUARANTINED


def effective_trust(own: TrustLevel, cap: TrustLevel | None) -> TrustLevel:
    """Return the lesser of both; None is no cap."""
    return own if cap is None else min(own, cap)


def fold(levels: Iterable[TrustLevel]) -> TrustLevel:
    """Return the least trust of the active skills; TRUSTED if there is none."""
    return min(levels, default=TrustLevel.TRUSTED)


def trust_rules(level: TrustLevel, servers: Iterable[str], dialect: Dialect) -> RuleSet:
    """Return rules for the tools that *level* denies; quarantine also denies *servers*."""
    if level >= TrustLevel.VERIFIED:
        return RuleSet((), Effect.ALLOW, dialect)
    rule, blocked, names = f"trust: {level.value}", level is TrustLevel.BLOCKED, ["*"]
    if not blocked:
        listed = GROUPS["quarantined"]
        names = [*listed, *(f"*_{name}" for name in listed), *servers]
    denied = (Entry(name, Effect.DENY, rule=rule) for name in names)
    spawns = Entry(SPAWN_TOOL, Effect.ALLOW, rule=rule)
    return RuleSet((spawns, *denied), Effect.DENY if blocked else Effect.ALLOW, dialect)


class Autonomy(enum.Enum):
    """How much a session does without a person."""

    READ_ONLY = "readonly"
    SUPERVISED = "supervised"  # the first rule that matches decides; without one it asks
    FULL = "full"


_CATCH_ALL: Final = ("", "*", "**")


@frozen
class SessionRule:
    """A glob over the input of a tool, the effect of the calls that it matches, and its place."""

    text: str
    effect: Effect
    span: Span | None = field(default=None, eq=False, repr=False)

    @cached_property
    def problem(self) -> str:
        """Why Zeph ignores the rule: its text is no glob; or ""."""
        try:
            glob(self.text, ignore_case=True)
        except Unusable as unusable:
            return str(unusable)
        return ""

    def entries(self, tool: str) -> Iterator[Entry]:
        """Yield the entries of the rule for *tool*."""
        made = partial(Entry, tool, self.effect, rule=f"{tool}: {self.text}")
        for pattern in () if self.problem else glob(self.text, ignore_case=True):
            yield made(pattern, place=place_of(self.span))


@frozen
class SessionPermissions:
    """The permissions of a session: tool -> its rules, in force if the session is supervised."""

    autonomy: Autonomy = Autonomy.SUPERVISED
    rules: Mapping[str, Sequence[SessionRule]] = field(factory=dict, hash=False)

    @classmethod
    def from_legacy(
        cls, blocked: Iterable[str], confirm: Iterable[str], spans: Mapping[str, Span] | None = None
    ) -> SessionPermissions:
        """Return the permissions of the older form: two lists of texts in commands."""
        lists = {
            "blocked_commands": (blocked, Effect.DENY),
            "confirm_patterns": (confirm, Effect.ASK),
        }
        rules = [
            SessionRule(f"*{text}*", effect, (spans or {}).get(f"tools.shell.{key}[{index}]"))
            for key, (texts, effect) in lists.items()
            for index, text in enumerate(texts)
        ]
        return cls(rules={"bash": (*rules, SessionRule("*", Effect.ALLOW))})

    def check(self, tool: str, text: str) -> Decision:
        """Return the decision on a call of *tool* with the input *text*."""
        argument = RAW.argument(tool)
        field = argument.fields[0] if argument.fields else "input"
        return Table.of(self.rule_set(RAW)).decide(tool, {field: text})

    def rule_set(self, dialect: Dialect, *, gated: bool = False) -> RuleSet:
        """Return the permissions as a rule set; if *gated* by trust, tools without rules pass."""
        named = f"autonomy: {self.autonomy.value}"
        if self.autonomy is Autonomy.FULL:
            return RuleSet((Entry("*", Effect.ALLOW, rule=named),), Effect.ALLOW, dialect)
        if self.autonomy is Autonomy.READ_ONLY:
            listed = (Entry(name, Effect.ALLOW, rule=named) for name in GROUPS["read_only"])
            return RuleSet((STARTING, *listed), Effect.DENY, dialect)
        entries = [STARTING]
        for tool, rules in self.rules.items():
            entries += (entry for rule in rules for entry in rule.entries(tool))
            if gated and rules:
                entries.append(Entry(tool, Effect.ASK, rule=f"{tool}: no rule matches"))
        return RuleSet(tuple(entries), Effect.ALLOW if gated else Effect.ASK, dialect)

    def findings(self) -> Iterator[Finding]:
        """Yield findings about rules that Zeph ignores."""
        for tool, rules in self.rules.items():
            meant = "bash" if tool in SHELLS else normalize(tool)
            if tool != meant:
                span = rules[0].span if rules else None
                yield find("rule-of-no-tool", span, tool=tool, meant=meant)
            for rule in rules:
                text, span = rule.text, rule.span
                if why := rule.problem:
                    case = "deny" if rule.effect is Effect.DENY else "other"
                    yield find("rule-is-no-glob", span, case=case, rule=text, tool=tool, why=why)

    def effective_tool_allowlist(self, universe: Iterable[str]) -> tuple[str, ...] | None:
        """Return the tools of *universe* that the rules do not deny; None if they deny none.

        A tool is denied if a rule denies every input before any rule allows or asks.
        """
        denied = {normalize(tool) for tool, rules in self.rules.items() if _denies_all(rules)}
        tools = tuple(universe)
        left = tuple(tool for tool in tools if normalize(tool) not in denied)
        return None if self.autonomy is not Autonomy.SUPERVISED or left == tools else left


def _denies_all(rules: Iterable[SessionRule]) -> bool:
    in_force = (rule for rule in rules if not rule.problem)
    denials = takewhile(lambda rule: rule.effect is Effect.DENY, in_force)
    return any(rule.text in _CATCH_ALL for rule in denials)


@frozen
class ZephSession:
    """The gates of one session."""

    policy: SessionPermissions | None = None
    trust: TrustLevel | None = None
    servers: tuple[str, ...] = ()  # ids of the tools that servers offer
    scope: ToolScope | None = None
    peers: bool = False  # whether agents get tools to talk to one another
    rules: PolicyEnforcer | None = None
    env: tuple[str, ...] = ()  # environment variables that are set
    grants: PermissionGrants = PermissionGrants()
    blocked: tuple[BlockedCommand, ...] = ()  # refused by the shell, whatever rules allow

    def rule_sets(self, dialect: Dialect, cap: TrustLevel | None = None) -> tuple[RuleSet, ...]:
        """Return the rule sets of the gates; *cap* limits the trust of the caller."""
        sets = []
        if self.rules is not None:
            trust = effective_trust(self.trust or TrustLevel.TRUSTED, cap)
            sets.append(self.rules.rule_set(trust, self.env))
        if self.grants.records:
            sets.append(self.grants.rule_set(dialect))
        if self.blocked:
            sets.append(blocked_rules(self.blocked, dialect))
        if self.policy is not None:
            sets.append(self.policy.rule_set(dialect, gated=True))
        if self.trust is not None:
            sets.append(trust_rules(self.trust, self.servers, dialect))
        if self.scope is not None:
            names = {*self.scope.tools, *(n.removeprefix(_BUILT_IN) for n in self.scope.tools)}
            entries = (Entry(name, Effect.ALLOW, rule="in scope") for name in sorted(names))
            sets.append(RuleSet((STARTING, *entries), Effect.DENY, dialect, Reason.UNAVAILABLE))
        return tuple(sets)


# Opens a file by name.
Open = Callable[[str], Source]


def session_at(root: Fields, opened: Open) -> tuple[ZephSession, list[ReadFile], list[Finding]]:
    """Return session, files and findings of a configuration; *root* collects the mistakes."""
    files: list[ReadFile] = []
    tools, security = root.below("tools"), root.below("security")
    if tools.node is None and security.node is None:
        return ZephSession(), files, []
    shell, section = tools.below("shell"), tools.below("policy")
    autonomy = security.choice("autonomy_level", Autonomy.SUPERVISED)
    policy = evolve(_permissions(tools, shell), autonomy=autonomy)
    session = ZephSession(policy, blocked=tuple(_blocked(shell)))
    rules, default = rules_at(section)
    name, spans = section.text("policy_file", ""), section.spans
    if not section.truth("enabled"):
        span = spans.get("tools.policy.enabled") or spans.get("tools.policy")
        return session, files, [find("policy-switched-off", span)] if rules or name else []
    try:
        if name:
            source = opened(name)
            files.append(ReadFile(source.name, "policy"))
            rules = read_rules(source)
        # The environment is unknown, so deny rules apply in every one.
        held = (evolve(rule, env=()) if rule.effect is Effect.DENY else rule for rule in rules)
        return evolve(session, rules=PolicyEnforcer.of(held, default)), files, []
    except PolicyError as error:
        span = spans.get("tools.policy.policy_file")
        placed = error if error.span else PolicyError(error.message, span, help=error.help)
        findings = Finding.of(placed, "unreadable-config", consequence=_ALL_DENIED)
        return evolve(session, rules=NOTHING), files, [*findings]


# For unreadable policy rules, which might deny any call.
NOTHING: Final = PolicyEnforcer.of(())
_ALL_DENIED: Final = "every call is denied here, since the policy rules cannot be read"


def _permissions(tools: Fields, shell: Fields) -> SessionPermissions:
    """Return the rules of ``permissions``, or else of the lists of the shell."""
    blocked, confirmed = shell.texts("blocked_commands"), shell.optional_texts("confirm_patterns")
    if tools.entry("permissions") is None:
        asked = PROGRAMS["confirmed"] if confirmed is None else confirmed
        return SessionPermissions.from_legacy(blocked, asked, shell.spans)
    section = tools.below("permissions")
    rules: dict[str, list[SessionRule]] = {}
    for entry in section.entries:
        own = rules.setdefault(entry.name, [])
        for item in section.each(entry.name):
            if item.node and item.entry("action") is None:
                item.missing("action")
            text, effect = item.text("pattern"), item.choice("action", Effect.ASK, Effect)
            own.append(SessionRule(text, effect, item.node.span if item.node else None))
    # Without rules the shell asks for every command.
    rules.setdefault("bash", [SessionRule("*", Effect.ASK)])
    return SessionPermissions(rules=rules)


def _blocked(shell: Fields) -> list[BlockedCommand]:
    """Return the commands that the shell always refuses."""
    allowed = {text.strip().lower() for text in shell.texts("allowed_commands")}
    written = shell.texts("blocked_commands")
    found: list[BlockedCommand] = [(t, None) for t in PROGRAMS["blocked"] if t not in allowed]
    if not shell.truth("allow_network", default=True):
        span = shell.spans.get("tools.shell.allow_network")
        found += [(text, span) for text in PROGRAMS["network"]]
    found += [
        (text, shell.spans.get(f"tools.shell.blocked_commands[{index}]"))
        for index, text in enumerate(written)
    ]
    return [(text, span) for text, span in found if text.split()]
