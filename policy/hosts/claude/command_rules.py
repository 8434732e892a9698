"""Rules for shell commands: what stands between the parentheses of ``Bash(...)``."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from policy.effect import Effect
from policy.finding import Severity
from policy.hosts.claude.data.powershell import ALIASES
from policy.hosts.claude.data.unchecked import STARTING
from policy.hosts.claude.lines import Line, Lines, RuleText
from policy.patterns import notations
from policy.patterns.pattern import Kind, Pattern
from policy.patterns.tokens import BLANKS, Gap
from policy.rows.entry import Form
from policy.shell.plain import read_plain
from policy.shell.powershell import canonical_powershell
from policy.shell.readings import as_written
from policy.shell.words import Script

__all__ = ["command_lines", "power_shell_lines"]


def command_lines(rule: RuleText, content: str) -> Lines:
    """Return what ``Bash(content)`` comes to."""
    # Only what the rule ends in is special: behind `:*` no blank may stand, nor a line end before.
    text, is_prefix = content, _PREFIX.fullmatch(content) is not None
    if text.endswith(":*") and not is_prefix and text != ":*":
        return _lines(rule, [Pattern.exactly(text)], Form.PLAIN, exact=True)
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
        return _lines(rule, literal, Form.PREFIX) + rule.finding(
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
    if rule.scope.behaves.stars_end:
        findings += _joined(rule, text, is_prefix=is_prefix)
    patterns = _patterns(text, is_prefix=is_prefix, stars=rule.scope.behaves.command_stars)
    if rule.effect is Effect.ALLOW and _ASSIGNING.match(text):
        patterns = tuple(one for one in patterns if not one.exact)
    exact = "*" not in _ESCAPED.findall(text)
    form = Form.PLAIN if exact else Form.PREFIX if is_prefix else Form.BARE
    lines = _lines(rule, patterns, form, exact=exact)
    if rule.effect is not Effect.ALLOW and "*" in text and not text.strip("* "):
        # What is nothing but stars speaks of all that is monitored, whatever it is.
        lines += Lines((Line(rule.entry("Monitor", reason=rule.removal)),))
    return lines + findings


def _lines(
    rule: RuleText, patterns: Sequence[Pattern], form: Form, *, exact: bool = False
) -> Lines:
    """Return lines of which those of one text have a *form*."""
    tools = "Bash", "Monitor"
    spelled = [pattern for pattern in patterns if pattern.exact]
    others = [pattern for pattern in patterns if not pattern.exact]
    return rule.lines(tools, spelled, exact=exact, form=form) + rule.lines(tools, others)


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


def _joined(rule: RuleText, text: str, *, is_prefix: bool) -> Lines:
    """Return the finding that no command is all that a rule spells out, if none is."""
    script = read_plain(text)
    if script is None or len(script.commands) < 2:  # nothing is joined
        return Lines()
    if script.split and rule.effect is Effect.ALLOW:
        why = "each part of a pipe is looked at by itself"
    elif script.split or is_prefix:
        return Lines()
    elif "*" in text:
        why = (
            "its star takes none of several commands, but where one opens a file that is asked for"
        )
    elif rule.effect is Effect.ASK:
        why = "what asks for one of several commands must name it"
    else:
        return Lines()
    return rule.finding(
        "dead-compound-rule",
        f"`{rule.text}` {_DOES[rule.effect]} no command that the host looks into: {why}",
        Severity.WARNING if rule.effect is Effect.ALLOW else Severity.ERROR,
        help=f"write a rule for each: {', '.join(f'`Bash({part})`' for part in _parts(script))}",
    )


_DOES: Final = {Effect.ALLOW: "allows", Effect.ASK: "asks for", Effect.DENY: "denies"}


def _parts(script: Script) -> tuple[str, ...]:
    return (*dict.fromkeys(as_written(command.words) for command in script.commands),)


def power_shell_lines(rule: RuleText, content: str) -> Lines:
    """Return what ``PowerShell(content)`` comes to."""
    text = content.rstrip(" ") if content.rstrip(" ").endswith("*") else content
    patterns = notations.commands(canonical_powershell(text, ALIASES))
    return rule.lines(["PowerShell"], patterns, exact="*" not in text)


_PREFIX: Final = re.compile(r"[^\n\r\u2028\u2029]+:\*")
# An assignment alone, with which no command begins.
_ASSIGNING: Final = re.compile(r"\w+\+?=[^ ]*(?: |:)\*\Z")
_EXACT_ONLY: Final = re.compile(
    rf"(?:{STARTING.replace(' ', '|')})\b|find\b.*-(?:exec|ok|delete|fprint)"
)
