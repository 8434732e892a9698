"""The positions of a project, and the checks of lint that need only a text.

A check is a function that yields findings. To add one, call it with the others of its kind: checks
of the text of a rule in `spelling_findings`, checks of commands in `_CHECKS` of `commands.py`. Its
texts are in `data/findings.toml`, its page in `policy/analysis/catalogue`.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from typing import Any, Final

from policy.analysis.inputs import rule_span
from policy.analysis.reach.worklist import reach
from policy.core import expressions as re
from policy.core.credentials import credentials, masked, masked_source
from policy.core.decision import Because, Reason
from policy.core.effect import Effect
from policy.core.finding import Finding
from policy.core.source import Place, Source, Span, visible
from policy.core.values import evolve, field, frozen
from policy.hosts.data import FindingTexts
from policy.hosts.project import Project
from policy.tables.chain import Chain
from policy.tables.ruleset import Entry, RuleSet

find: Final = FindingTexts(__package__)


@frozen
class Positions:
    """The positions of one project as its host has them, and the rules behind them."""

    project: Project
    # File -> its text, or None where it cannot be read.
    source: Callable[[str], Source | None] = field(repr=False)

    @cached_property
    def chains(self) -> tuple[Chain, ...]:
        """A shortest chain for each table."""
        project = self.project
        return reach(project, project.enforced, alone=project.variants).by_table

    @cached_property
    def lines(self) -> Mapping[tuple[Place, str], list[Entry]]:
        """The place and the text of every rule in a file -> its entries in tables."""
        sets: dict[int, RuleSet] = {}
        tables = [chain.table for chain in self.chains]
        for table in [*tables, *(entry.declared for entry in self.project.agents.values())]:
            for ceiling in (table.use, table.delegated):
                sets |= {id(part.rules): part.rules for part in ceiling.parts}
        found: dict[tuple[Place, str], list[Entry]] = {}
        for rules in sets.values():
            for entry in rules.entries:
                if entry.place is not None and entry.rule and entry.reason is not Reason.DEPTH:
                    found.setdefault((entry.place, entry.rule), []).append(entry)
        return found

    def span(self, place: Place | None, rule: str) -> Span | None:
        """Return where a rule stands, if its file can be read."""
        source = self.source(place.file) if place else None
        return rule_span(Because(rule, Effect.DENY, "", place), source) if source else None

    def finding(self, code: str, rule: Because | Entry, **words: Any) -> Finding:  # noqa: ANN401
        """Return the finding *code* about a rule, with *words* in its texts."""
        span, file = self.span(rule.place, rule.rule), rule.place.file if rule.place else ""
        return find(code, span, file=file, rule=rule.rule, **words)


def spelling_findings(rule: str, span: Span) -> Iterator[Finding]:
    """Yield findings for invisible characters in *rule*, and for letters that look like others."""
    # A line break is spelled out in the file, as `\\n`, or visible.
    for at, character in enumerate(rule):
        if character not in "\n\t" and visible(character) != character:
            shown = visible(rule[max(0, at - _AROUND) : at + _AROUND])
            yield find("hidden-character", span, character=_named(character), shown=shown)
            break
    for word in _WORD.findall(rule) if not rule.isascii() else ():
        kinds = {unicodedata.name(letter, "").partition(" ")[0] for letter in word}
        if kinds & _FORMS or len(kinds & _SCRIPTS) > 1:
            odd = next(letter for letter in word if not letter.isascii())
            yield find("look-alike-letter", span, word=word, character=_named(odd))
            return


_AROUND: Final = 100
_WORD: Final = re.compile(r"\w+")
# The scripts that have letters which look like those of another.
_SCRIPTS: Final = {"LATIN", "CYRILLIC", "GREEK", "ARMENIAN", "CHEROKEE", "COPTIC", "LISU"}
# Other forms of letters, which people read as the usual letters.
_FORMS: Final = {"FULLWIDTH", "MATHEMATICAL"}


def _named(character: str) -> str:
    name = unicodedata.name(character, "a control character").lower()
    return f"U+{ord(character):04X} ({name})"


def secret_in_policy(source: Source) -> Iterator[Finding]:
    """Yield a finding for each text in *source* that looks like a credential."""
    prose = _HEADER.match(source.text) if source.name.endswith(".md") else None
    for name, start, end in credentials(source.text, prose and prose.end()):
        yield find("secret-in-policy", source.span(start, end), name=name)


# The front matter of a file for people, whose text shows made-up passwords.
_HEADER: Final = re.compile(r"(?:---\n.*?\n---)?", re.DOTALL)


def without_secrets(finding: Finding) -> Finding:
    """Return *finding* with the credentials in its texts and its line masked; its edits stay."""
    span = finding.span
    if span is not None:
        span = Span(masked_source(span.source), span.start, span.end)
    return evolve(finding, message=masked(finding.message), help=masked(finding.help), span=span)
