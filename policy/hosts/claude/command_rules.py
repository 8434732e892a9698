"""Rules for shell commands: what stands between the parentheses of ``Bash(...)``."""

from __future__ import annotations

import re
from typing import Final

from policy.effect import Effect
from policy.finding import Severity
from policy.hosts.claude.data.powershell import ALIASES
from policy.hosts.claude.data.unchecked import STARTING
from policy.hosts.claude.lines import Line, Lines, RuleText
from policy.patterns import notations
from policy.patterns.pattern import Kind, Pattern
from policy.patterns.tokens import BLANKS, Gap
from policy.shell.powershell import canonical_powershell

__all__ = ["command_lines", "power_shell_lines"]


def command_lines(rule: RuleText, content: str) -> Lines:
    """Return what ``Bash(content)`` comes to."""
    # Only what the rule ends in is special: behind `:*` no blank may stand.
    is_prefix = content.endswith(":*")
    text = content
    if "*" in text:
        text = re.sub("[ \\t]+", " ", text if is_prefix else text.strip(BLANKS))
    findings = Lines()
    if text == ":*":
        return rule.skipped("empty-prefix", "has no command before `:*`", "write `Bash`")
    if is_prefix and text[:-2].endswith(" "):
        return rule.skipped(
            "empty-prefix",
            "has a blank before `:*`, with which no command goes on",
            f"write `Bash({text[:-3]}:*)`",
        )
    if is_prefix and "*" in text[:-2]:
        literal = [Pattern.of(Kind.TEXT, [text[:-2]])]
        literal.append(Pattern.of(Kind.TEXT, [text[:-2] + " ", Gap.ANY]))
        return rule.lines(("Bash", "Monitor"), literal) + rule.finding(
            "prefix-with-star",
            f"`{rule.text}` matches commands with a literal star alone: one stands before `:*`",
            Severity.WARNING if rule.effect is Effect.ALLOW else Severity.ERROR,
            help=f"write `Bash({text[:-2]} *)`",
        )
    inside = ":*" in (text[:-2] if is_prefix else text)
    if inside and not rule.scope.behaves.colon_star_inside:
        return rule.skipped("colon-star-not-at-end", "has a `:*` before its end")
    if inside:
        findings = rule.finding(
            "colon-star-not-at-end",
            "`:*` is special at the end only; here commands must have a literal colon",
        )
    if rule.effect is Effect.ALLOW:
        findings += _doubtful(rule, text)
    patterns = _patterns(text, is_prefix=is_prefix, stars=rule.scope.behaves.command_stars)
    if rule.effect is Effect.ALLOW and "*" in text:
        # A command of several parts is allowed as a whole by a rule without a star alone.
        patterns = tuple(one for one in patterns if not (one.exact and _COMPOUND.search(text)))
    lines = rule.lines(("Bash", "Monitor"), patterns, exact="*" not in text)
    if rule.effect is not Effect.ALLOW and "*" in text and not text.strip("* "):
        # What is nothing but stars speaks of all that is monitored, whatever it is.
        lines += Lines((Line(rule.entry("Monitor", reason=rule.removal)),))
    return lines + findings


def _patterns(text: str, *, is_prefix: bool, stars: bool) -> tuple[Pattern, ...]:
    if is_prefix:
        return notations.commands(text)
    if not stars:
        return (Pattern.exactly(text),)
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
    found = (Pattern.of(Kind.TEXT, tokens),)
    if pieces[-2:] == [" ", "*"] and pieces.count("*") == 1:
        return (Pattern.of(Kind.TEXT, tokens[:-2]), *found)
    return found


_ESCAPED: Final = re.compile(r"\\[*\\]|.", re.DOTALL)
_LITERALS: Final = {r"\*": "*", r"\\": "\\"}


def _doubtful(rule: RuleText, text: str) -> Lines:
    if _EXACT_ONLY.match(text) and "*" in text:
        return rule.finding(
            "exec-wrapper-not-approvable",
            "the host allows a command that runs another by an exact rule only",
        )
    return Lines()


def power_shell_lines(rule: RuleText, content: str) -> Lines:
    """Return what ``PowerShell(content)`` comes to."""
    text = content.rstrip(" ") if content.rstrip(" ").endswith("*") else content
    patterns = notations.commands(canonical_powershell(text, ALIASES))
    return rule.lines(["PowerShell"], patterns, exact="*" not in text)


_COMPOUND: Final = re.compile(r"[;&|<>()$`\n]|\A\w+\+?=[^ ]*(?: |:)\*\Z")
_EXACT_ONLY: Final = re.compile(
    rf"(?:{STARTING.replace(' ', '|')})\b|find\b.*-(?:exec|ok|delete|fprint)"
)
