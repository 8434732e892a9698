"""The checks of lint: functions that yield findings.

A check is a function of one thing that is read: the text of a rule or a file (here), or the
commands of a table (`commands.py`). To add one, call it with the others of that thing and write
the page of its code in `policy/analysis/catalogue`. `lint` calls what needs a project.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from typing import Any, Final

from policy.analysis.reach.worklist import reach
from policy.core import expressions as re
from policy.core.credentials import credentials, masked, masked_source
from policy.core.decision import Because, rule_span
from policy.core.finding import Finding
from policy.core.source import Place, Source, Span, visible
from policy.core.values import evolve, field, frozen
from policy.hosts.data import FindingTexts
from policy.hosts.project import Project
from policy.tables.chain import Chain
from policy.tables.ruleset import Entry, RuleSet

__all__ = [
    "Positions",
    "RuleSpelling",
    "find",
    "rule_findings",
    "secret_in_policy",
    "without_secrets",
]

find: Final = FindingTexts(__package__)


@frozen(slots=False)
class Positions:
    """The positions of one project as its host has them, and the rules behind them.

    Attributes:
        project: whose.
        source: file -> its text, or None where it cannot be read.

    """

    project: Project
    source: Callable[[str], Source | None] = field(repr=False)

    @cached_property
    def chains(self) -> tuple[Chain, ...]:
        """A shortest chain for each table."""
        project = self.project
        return reach(project, project.enforced, alone=project.asides).by_table

    @property
    def modes(self) -> Iterator[Positions]:
        """The same in each other permission mode that a session may be started in."""
        for project in self.project.modes.values():
            yield Positions(project, self.source)

    @cached_property
    def lines(self) -> Mapping[tuple[Place, str], tuple[Entry, ...]]:
        """Place and text of every rule that is written in a file -> its lines in tables."""
        sets: dict[int, RuleSet] = {}
        tables = [chain.table for chain in self.chains]
        for table in [*tables, *(entry.declared for entry in self.project.agents.values())]:
            for ceiling in (table.use, table.delegated):
                sets |= {id(part.rules): part.rules for part in ceiling.parts}
        found: dict[tuple[Place, str], list[Entry]] = {}
        for rules in sets.values():
            for entry in rules.entries:
                if entry.place is not None and entry.rule:
                    found.setdefault((entry.place, entry.rule), []).append(entry)
        return {key: tuple(entries) for key, entries in found.items()}

    def span(self, because: Because) -> Span | None:
        """Return where a rule stands, if its file can be read."""
        source = self.source(because.place.file) if because.place else None
        return rule_span(because, source) if source is not None else None

    def finding(self, code: str, because: Because, **words: Any) -> Finding:  # noqa: ANN401
        """Return the finding *code* about a rule, with *words* in its texts."""
        file = because.place.file if because.place else ""
        return find(code, self.span(because), file=file, rule=because.rule, **words)


@frozen
class RuleSpelling:
    """The text of a rule as its host reads it, and where it is written."""

    text: str
    span: Span


def rule_findings(rule: RuleSpelling) -> Iterator[Finding]:
    """Yield the findings about the text of a rule."""
    yield from hidden_character(rule)
    yield from look_alike_letter(rule)


# --- characters that a reviewer does not see, or takes for others --------------


def hidden_character(rule: RuleSpelling) -> Iterator[Finding]:
    """Yield a character that is not displayed."""
    hidden = next((at for at, character in enumerate(rule.text) if _is_hidden(character)), None)
    if hidden is not None:
        around = rule.text[max(0, hidden - _AROUND) : hidden + _AROUND]
        named = _named(rule.text[hidden])
        yield find("hidden-character", rule.span, character=named, shown=visible(around))


_AROUND: Final = 100


def _is_hidden(character: str) -> bool:
    # A file spells these out, as `\\n`, or they are seen.
    return character not in "\n\t" and visible(character) != character


def look_alike_letter(rule: RuleSpelling) -> Iterator[Finding]:
    """Yield a letter that looks like one of another script."""
    for word in _WORD.findall(rule.text) if not rule.text.isascii() else ():
        scripts = {script for letter in word if (script := _script(letter))}
        if len(scripts) > 1 or any(_looks_plain(letter) for letter in word):
            odd = next(letter for letter in word if not letter.isascii())
            yield find("look-alike-letter", rule.span, word=word, character=_named(odd))
            return


_WORD: Final = re.compile(r"\w+")

# The scripts that have letters which look like those of another.
_SCRIPTS: Final = ("LATIN", "CYRILLIC", "GREEK", "ARMENIAN", "CHEROKEE", "COPTIC", "LISU")

# Letters of other forms that are read as plain ones: full width, mathematical.
_FORMS: Final = ("FULLWIDTH ", "MATHEMATICAL ")


def _named(character: str) -> str:
    name = unicodedata.name(character, "a control character").lower()
    return f"U+{ord(character):04X} ({name})"


def _script(letter: str) -> str:
    if letter.isascii():
        return "LATIN" if letter.isalpha() else ""
    name = unicodedata.name(letter, "")
    return next((script for script in _SCRIPTS if name.startswith(script)), "")


def _looks_plain(letter: str) -> bool:
    return not letter.isascii() and unicodedata.name(letter, "").startswith(_FORMS)


# --- keys and passwords --------------------------------------------------------


def secret_in_policy(source: Source) -> Iterator[Finding]:
    """Yield what looks like a credential.

    A rule is often made of a command that was run once, its credentials included, and
    settings are read by everyone who has the repository.
    """
    prose = _HEADER.match(source.text) if source.name.endswith(".md") else None
    for name, start, end in credentials(source.text, prose and prose.end()):
        yield find("secret-in-policy", source.span(start, end), name=name)


# The front matter of a file for people, whose text shows made-up passwords.
_HEADER: Final = re.compile(r"(?:---\n.*?\n---)?", re.DOTALL)


def without_secrets(finding: Finding) -> Finding:
    """Return *finding* with the credentials in its texts and its line masked.

    Its edits are of the text as it is.
    """
    span = finding.span
    if span is not None:
        span = Span(masked_source(span.source), span.start, span.end)
    return evolve(finding, message=masked(finding.message), help=masked(finding.help), span=span)
