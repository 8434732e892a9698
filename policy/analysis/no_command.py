"""Rules that no command matches: a shell, or the host, refuses every one that they are about."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from policy.compare.witness import witness_call
from policy.core import expressions as re
from policy.core.effect import Effect
from policy.hosts.data import data_table
from policy.patterns.pattern import Pattern, freeze
from policy.tables.dialect import ArgumentKind, Dialect
from policy.tables.ruleset import Entry, RuleSet
from policy.tables.table import Table

__all__ = ["ANYTHING", "QUOTED", "head_of", "why_no_command"]

# Stands for any command: no rule names it.
ANYTHING: Final = "policy-witness"

_DATA: Final = data_table("policy.analysis.lint", "commands")
_CONTINUING: Final = frozenset(_DATA["shell"]["continuing"])
_DOCUMENT_END: Final = re.compile(_DATA["shell"]["document_ends"])
_COMPOUND: Final[dict[str, tuple[str, str]]] = {
    word: (needed, sample.replace("ANY", ANYTHING))
    for word, (needed, sample) in _DATA["compound"].items()
}
# The first word of a command, or the operator that it begins with.
_FIRST: Final = re.compile(r"[|&;]+|[()]|[^\s|&;()]+(?=[\s|&;()]|\Z)")
QUOTED: Final = re.compile(r"""\\.|'[^']*'|"(?:\\.|[^"\\])*\"""", re.DOTALL)
# Behind these, a quote may stand for itself; within the others, quotes stand in quotes.
_LITERAL: Final = ("<<", "#", "$'", "${")
_NESTING: Final = ("$(", "`")
_AT_END: Final = re.compile(r"(?<!\\)(&&|\|\|?|\|&|[<>])\s*\Z")


def head_of(pattern: Pattern | None) -> str:
    """Return what every text of *pattern* begins with, as far as that is plain."""
    tokens = pattern.tokens if pattern is not None else ()
    return tokens[0] if tokens and isinstance(tokens[0], str) else ""


@lru_cache(maxsize=4096)
def why_no_command(entry: Entry, tool: str, dialect: Dialect) -> tuple[str, str] | None:
    """Return the case of the finding that no command matches a line, and its words, or None.

    A host looks for what is denied, or asked for, in each piece of a command that it cannot read:
    `for ((i=0; i<3; i++)); do rm x; done` has the piece `do rm x`.
    """
    pattern, head = entry.pattern, head_of(entry.pattern)
    if pattern is None or not head or dialect.argument(tool).kind is not ArgumentKind.COMMAND:
        return None
    if entry.effect is Effect.ALLOW and (why := _refused(entry, pattern, tool, dialect)):
        return why
    ends = head[:1] + (head[-1:] if pattern.exact else "")
    if ends.strip(" \t\n") != ends and not _matches(
        entry, pattern, freeze(pattern, "x"), tool, dialect
    ):
        case = "blanks" if entry.effect is Effect.ALLOW else "guarding"
        return case, "a line break" if "\n" in ends else "a blank"
    return None


def _refused(entry: Entry, pattern: Pattern, tool: str, dialect: Dialect) -> tuple[str, str] | None:
    """Return why a shell refuses every command that a line is about, or its host does."""
    head = head_of(pattern)
    found = _FIRST.match(head.lstrip(" \t\n"))
    # The rest of a word may stand in the star.
    first = found[0] if found and (pattern.exact or found[0] != head) else ""
    if first in _CONTINUING:
        return "continuing", first
    needed, sample = _COMPOUND.get(first, ("", ""))
    if pattern.exact:
        if sample and head == first:
            return "compound", first
        missing = _missing(head, needed)
        if missing:
            return "unfinished", missing
        return ("document", head) if _DOCUMENT_END.fullmatch(head) else None
    if sample and not _matches(entry, Pattern.text(first + " *"), sample, tool, dialect):
        return "compound", first
    return None


def _missing(text: str, needed: str) -> str:
    """Return what a shell misses in *text*, which needs a word *needed*; "" for nothing."""
    if needed and needed not in _WORDS.findall(text):
        return f"`{needed}`"
    plain = QUOTED.sub("", text)
    if any(mark in text for mark in _LITERAL):
        return ""
    if any(mark in text for mark in _NESTING):
        return "`)`" if "$(" in plain and ")" not in text else ""
    operator = _AT_END.search(plain)
    quote = next((each for each in "'\"" if each in plain), "")
    return f"`{quote}`" if quote else f"what follows `{operator[1]}`" if operator else ""


_WORDS: Final = re.compile(r"[()]|[^\s;()]+")


def _matches(entry: Entry, pattern: Pattern, text: str, tool: str, dialect: Dialect) -> bool:
    """Return whether a rule alone, with *pattern*, decides the command *text*."""
    otherwise = Effect.ASK if entry.effect is Effect.ALLOW else Effect.ALLOW
    line = Entry(tool, entry.effect, pattern, rule=entry.rule, form=entry.form)
    rules = RuleSet((line,), otherwise, dialect)
    call = witness_call(dialect, dialect.argument(tool), text)
    return Table.of(rules).decide(tool, call).effect is not otherwise
