"""Which calls a hook sees: its condition is a rule, and means less than one in `deny`.

It looks through assignments and substitutions but through hardly any wrapper, and it
speaks of its own tool alone. What cannot be taken apart is seen (2.1.329, observed).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Final

import attrs

from policy.calls import Unreadable, argument_text
from policy.dialect import Dialect
from policy.effect import Effect
from policy.errors import PolicyError
from policy.hosts.claude.data import hooks as known
from policy.hosts.claude.data.tools import ALIASES, NAMES
from policy.hosts.claude.data.wrappers import GRANTING, WRAPPING
from policy.hosts.claude.hooks import LIST, Hook, takes
from policy.hosts.claude.paths import Anchors, path_patterns
from policy.language.parse import parse_matcher
from policy.language.syntax import Matcher
from policy.patterns import notations
from policy.patterns.pattern import Pattern
from policy.programs import Wrapper, Wrappers
from policy.ruleset import Entry, RuleSet
from policy.shell.abandoned import is_substituted
from policy.shell.bash import read_script
from policy.shell.doubts import (
    doubtful,
    has_half_assignment,
    is_unchecked,
)
from policy.shell.plain import read_plain
from policy.shell.readings import KEYWORDS, is_assignment
from policy.shell.variables import fills_guarded, is_worked_out
from policy.shell.words import Script, Word
from policy.shells import Shell
from policy.source import Span
from policy.table import Table

__all__ = ["Condition", "of_conditions", "why_never"]


def of_conditions(dialect: Dialect) -> Dialect:
    """Return how conditions read calls that rules read as *dialect* says."""
    wrapping = attrs.evolve(
        dialect.shell.wrapping,
        names=frozenset({"xargs"}),
        denying=Wrappers({"xargs": Wrapper()}),
        granting=Wrappers(),
    )
    return attrs.evolve(dialect, shell=attrs.evolve(dialect.shell, wrapping=wrapping))


@attrs.frozen(slots=False)
class Condition:
    """The `if` of a hook, which is one rule.

    Raises `PolicyError` where the text is no rule.
    """

    text: str
    span: Span = attrs.field(repr=False)

    @cached_property
    def matcher(self) -> Matcher:
        """The rule."""
        return parse_matcher(self.text, self.span)

    @property
    def tool(self) -> str:
        """The tool that it speaks of."""
        return ALIASES.get(self.matcher.tool, self.matcher.tool)

    @property
    def content(self) -> str:
        """What stands in the parentheses, "" for all calls of the tool."""
        specifier = self.matcher.specifier
        text = "" if specifier is None else specifier.text
        return "" if text.strip() in ("", "*") else text

    def sees(
        self, tool: str, call: Mapping[str, object], dialect: Dialect, anchors: Anchors
    ) -> bool:
        """Return whether it holds for a call; where that cannot be told, it does.

        A program is taken for the one of its name wherever it lies, which the host does not.

        Args:
            tool: of the call.
            call: its arguments.
            dialect: how the host reads calls.
            anchors: the folders that paths are relative to.

        """
        if tool != self.tool and (self.tool, tool) != ("Bash", "Monitor"):
            return False
        if not self.content:
            return True
        if tool in _SHELLS and _is_unclear(
            str(call.get("command", "")), dialect.shell, self.content
        ):
            return True
        if tool in known.OF_FILES and self._names(tool, call, dialect):
            return True
        entries = tuple(
            Entry(tool, Effect.DENY, p, rule=self.text) for p in self._patterns(anchors)
        )
        return (
            Table.of(RuleSet(entries, Effect.ALLOW, dialect)).decide(tool, call).effect
            < Effect.ALLOW
        )

    def _names(self, tool: str, call: Mapping[str, object], dialect: Dialect) -> bool:
        """Return whether it begins with a star, and its text is that of a path as a whole.

        Such a text is matched with the path wherever the file lies, in its own letters.
        """
        text = self.content.strip(" \t")
        if not text.startswith("*"):
            return False
        lettered = attrs.evolve(dialect, fold=False)
        try:
            path = argument_text(dialect.argument(tool), lettered, call)
        except Unreadable:
            return True
        texts = dict.fromkeys((text, text.replace("/**/", "/")))
        return any(Pattern.text(each).matches(path) for each in texts)

    def _patterns(self, anchors: Anchors) -> tuple[Pattern, ...]:
        if self.tool in _SHELLS:
            return notations.commands(self.content)
        if self.tool in known.OF_FILES:
            try:
                return path_patterns(self.content, anchors, Effect.ALLOW)
            except notations.Unusable:
                return ()
        return ()


_SHELLS: Final = ("Bash", "Monitor", "PowerShell")
# What the host does not take apart: a program that is the value of something, process
# substitution, escaped blanks, braces, `${`, a lone `$`, files that are redirected to by the value
# of something, and values within a pipeline.
_UNREAD: Final = re.compile(
    r"(?:^|[;&|({\n])\s*(?:!\s+)*[$`]|[<>]\(|\$['\"]|\\[ \t]|\$\{|\$(?=\s|$)|\bIFS=|\{\w+\}[<>]"
    r"|\{[^{}\s,.]*(?:,|\.\.)|(?<!<)[<>][|&]?[ \t]*\$[A-Za-z_]"
)
_QUOTED_DOCUMENT: Final = re.compile(
    r"(<<-?[ \t]*(?:'([\w.]+)'|\"([\w.]+)\")[^\n]*\n)(?:[^\n]*\n)*?(\t*(?:\2|\3)(?!\w))"
)
_VALUE: Final = re.compile(r"\$\(|`")
_PIPE: Final = re.compile(r"(?<!\|)\|(?!\|)")


def _is_unclear(command: str, shell: Shell, content: str) -> bool:
    """Return whether the host takes it for one that it cannot take apart.

    With values that nobody knows it still tells a plain program from one that *content*,
    a condition such as ``git *``, names.
    """
    if 0 < shell.longest < len(command):
        return True
    around = _QUOTED_DOCUMENT.sub(r"\1\4", command) if "<<" in command else command
    if _UNREAD.search(around) or (_VALUE.search(around) and _PIPE.search(around)):
        return True
    structures = shell.syntax.structures | {"subshell"}
    looked_into = attrs.evolve(shell, syntax=attrs.evolve(shell.syntax, structures=structures))
    script = read_plain(command) or read_script(command, looked_into)
    if (
        script is None
        or script.opaque
        or (script.background and script.statements)
        or script.grouped
        or any(command.swallowed for command in script.commands)
        or doubtful(command) is not None
    ):
        return True
    plain = _NAMES_PROGRAM.fullmatch(content) is not None
    return any(
        _is_unclear_part(command.words, script, shell, plain=plain)
        for command in script.commands
        if command.words
    )


_SPECIAL: Final = re.compile(r"\$[^A-Za-z_({]")
_DECLARING: Final = frozenset("declare export local readonly typeset unset".split())


def _is_unclear_part(words: Sequence[Word], script: Script, shell: Shell, *, plain: bool) -> bool:
    if has_half_assignment(words) or is_worked_out(words, shell) or fills_guarded(words, shell):
        return True
    program = next((word for word in words if not is_assignment(word)), words[-1])
    if program.raw in _OF_LANGUAGE:
        return True
    unknown = [word for word in words if not word.literal and not word.vetted]
    several = sum(bool(command.words) for command in script.commands)
    unknown = [word for word in unknown if not (is_assignment(word) and is_substituted(word))]
    if program.plain in _DECLARING and _is_unclear_declaration(words, unknown, shell):
        return True
    if program.plain in _TYPED and any(_is_typed(word, program) for word in words[1:]):
        return True
    alone = all(map(is_assignment, words))
    guarded = shell.variables.guarded
    if alone and (len(words) > 1 or re.fullmatch(guarded, words[0].raw.partition("=")[0])):
        return True
    plain &= (
        sum(bool(command.words) for command in script.commands) == 1
        and words[0].plain not in _WRAPPERS
    )
    plain &= _PROGRAM.fullmatch(words[0].raw) is not None
    return any(
        (is_assignment(word) and not alone)
        or word.raw.startswith('"')
        or bool(script.targets)
        or _SPECIAL.search(word.raw) is not None
        or (word.raw[0] in "$`" and 1 < several - (word.inner[1] - word.inner[0]) < several)
        or (not alone and any(len(script.commands[each].words) > 1 for each in range(*word.inner)))
        or (
            word.inner[0] == word.inner[1]
            and not word.known
            and not (plain and _VARIABLE.fullmatch(word.raw))
        )
        for word in unknown
    )


def _is_unclear_declaration(words: Sequence[Word], unknown: Sequence[Word], shell: Shell) -> bool:
    sets = all(map(is_assignment, words[1:]))
    return (
        bool(unknown)
        or words[0].plain not in _DECLARING
        or is_worked_out(words[1:], shell)
        or (is_unchecked(words, shell) and not sets)
    )


def _is_typed(word: Word, program: Word) -> bool:
    return program.plain != "private" or not _PLAIN.fullmatch(word.raw)


# Builtins of zsh that declare variables: what they are given it works out.
_TYPED: Final = frozenset("private float integer".split())
_PLAIN: Final = re.compile(r"[A-Za-z_]\w*")
_WRAPPERS: Final = frozenset(GRANTING) | frozenset(WRAPPING)
_NAMES_PROGRAM: Final = re.compile(r"[a-z]+[ :]\*")
_PROGRAM: Final = re.compile(r"[a-z]+")
_VARIABLE: Final = re.compile(r"\$[A-Za-z_]\w*")
# Words of the language that no program is called by: a command that begins with one was not
# taken apart as it was meant.
_OF_LANGUAGE: Final = (KEYWORDS | {"in", "for"}) - {"time", "coproc", "function", "select"}


def why_never(hook: Hook) -> str:
    """Return why no call is seen by a hook, "" where one may be."""
    if hook.event not in known.EVENTS:
        return f"`{hook.event}` is no event"
    if hook.event not in known.TOOL_EVENTS:
        return "only hooks about the calls of tools have an `if`" if hook.condition else ""
    tools = [tool for tool in sorted(NAMES) if takes(hook.matcher, tool) is not False]
    if not tools and not _may_be_of_servers(hook.matcher):
        return f"the matcher `{hook.matcher}` takes no tool"
    return _never_holds(hook, tools) if hook.condition else ""


def _may_be_of_servers(matcher: str) -> bool:
    if LIST.fullmatch(matcher):
        names = (name.strip() for name in re.split(r"[|,]", matcher))
        return any(name.startswith("mcp__") and name.count("__") > 1 for name in names)
    return "mcp" in matcher or takes(matcher, "mcp__server__tool") is not False


def _never_holds(hook: Hook, tools: list[str]) -> str:
    if _SEVERAL.search(hook.condition):
        return "a condition is one rule, and this is several"
    condition = Condition(hook.condition, hook.span)
    try:
        tool = condition.tool
    except PolicyError as error:
        return f"the condition is no rule: {error.message}"
    if "*" in tool:
        return "the tool of a condition has no star"
    if tool.startswith("mcp__"):
        return "" if tool.count("__") > 1 else f"`{tool}` is a server, and a condition names a tool"
    if tool not in NAMES:
        return f"there is no tool `{tool}`"
    if tool not in tools and not (tool == "Bash" and "Monitor" in tools):
        return f"the matcher `{hook.matcher}` does not take `{tool}`"
    if condition.content and tool in _WITHOUT:
        return f"a condition on `{tool}` with a specifier never holds"
    if tool in known.OF_FILES and condition.content:
        try:
            path_patterns(condition.content, _ANYWHERE, Effect.ALLOW)
        except notations.Unusable as unusable:
            return f"the condition matches no file: {unusable}"
    return ""


_ANYWHERE: Final = Anchors("/@project", "/@home", "/@project")
_SEVERAL: Final = re.compile(r"\)\s*[|,;]\s*\w+\(|^\w+\s*\|")
_WITHOUT: Final = frozenset({"Agent", "Skill", "WebFetch"})
