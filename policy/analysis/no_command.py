"""Rules that no command matches: a shell, or the host, refuses every one that they are about."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from policy.analysis.running import ANYTHING, head_of
from policy.compare.witness import witness_call
from policy.core import expressions as re
from policy.core.effect import Effect
from policy.hosts.data import data_table
from policy.patterns.pattern import Pattern, freeze
from policy.tables.dialect import ArgumentKind, Dialect
from policy.tables.ruleset import Entry, RuleSet
from policy.tables.table import Table

_DATA: Final = data_table("policy.analysis.lint", "commands")
_CONTINUING: Final = frozenset(_DATA["shell"]["continuing"])
_DOCUMENT_END: Final = re.compile(_DATA["shell"]["document_ends"])
# The first word of a command, or the operator that it begins with.
_FIRST: Final = re.compile(r"[|&;]+|[()]|[^\s|&;()]+(?=[\s|&;()]|\Z)")
_WORDS: Final = re.compile(r"[()]|[^\s;()]+")
_OPERATOR_AT_END: Final = re.compile(r"(?<!\\)(&&|\|\|?|\|&|[<>])\s*\Z")
_FUNCTION: Final = re.compile(r"[\w-]+ *\( *\)(?! *\()")
# What is closed, with nothing open within: an escape, a quote, a substitution or a group.
_CLOSED: Final = re.compile(
    r"""\\.|'[^']*'|"(?:[^"$`\\]|\$(?![({]))*"|`[^`'"]*`|\$\{[^{}'"`$]*\}|[$<>]?\([^()'"`]*\)""",
    re.DOTALL,
)
_CLOSING: Final = {'"': '"', "'": "'", "`": "`", "${": "}", "(": ")"}
# Behind these a quote or a parenthesis may be a plain character.
_OTHERWISE: Final = re.compile(r"<<|#|\$'|\bcase\b")


@lru_cache(maxsize=4096)
def why_no_command(entry: Entry, tool: str, dialect: Dialect) -> tuple[str, str] | None:
    """Return the case of the finding that no command matches a line, and its words, or None.

    A host looks for what is denied, or asked for, in each piece of a command that it cannot read:
    `for ((i=0; i<3; i++)); do rm x; done` has the piece `do rm x`.
    """
    pattern, head = entry.pattern, head_of(entry.pattern)
    if pattern is None or not head or dialect.argument(tool).kind is not ArgumentKind.COMMAND:
        return None
    allows = entry.effect is Effect.ALLOW

    def is_matched(pattern: Pattern, text: str) -> bool:
        """Return whether the rule alone, with *pattern*, decides the command *text*."""
        otherwise = Effect.ASK if allows else Effect.ALLOW
        line = Entry(tool, entry.effect, pattern, rule=entry.rule, form=entry.form)
        table = Table.of(RuleSet((line,), otherwise, dialect))
        call = witness_call(dialect, dialect.argument(tool), text)
        return table.decide(tool, call).effect is not otherwise

    if allows:
        found = _FIRST.match(head.lstrip(" \t\n"))
        # The rest of a word may stand in the star.
        first = found[0] if found and (pattern.exact or found[0] != head) else ""
        first = "function" if _FUNCTION.match(head) else first
        if first in _CONTINUING:
            return "continuing", first
        needed, sample = _DATA["compound"].get(first, ("", ""))
        if sample and pattern.exact and head == first:
            return "compound", first
        if pattern.exact and (missing := _missing(head, needed)):
            return "unfinished", missing
        if pattern.exact and _DOCUMENT_END.fullmatch(head):
            return "document", head
        compound, star = sample.replace("ANY", ANYTHING), Pattern.text(f"{first} *")
        if sample and not pattern.exact and not is_matched(star, compound):
            return "compound", first
    ends = head[:1] + (head[-1:] if pattern.exact else "")
    if ends.strip(" \t\n") != ends and not is_matched(pattern, freeze(pattern, "x")):
        return "blanks" if allows else "guarding", "a line break" if "\n" in ends else "a blank"
    return None


def _missing(text: str, needed: str) -> str:
    """Return what a shell lacks to complete *text*, e.g. *needed*; "" if it is complete."""
    if needed and needed not in _WORDS.findall(text):
        return f"`{needed}`"
    if _OTHERWISE.search(text):
        return ""
    before = ""
    while text != before:
        before, text = text, _CLOSED.sub("x", text)
    operator = _OPERATOR_AT_END.search(text)
    closing = next((each for opening, each in _CLOSING.items() if opening in text), "")
    return f"`{closing}`" if closing else f"what follows `{operator[1]}`" if operator else ""
