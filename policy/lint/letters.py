"""Characters of rules that a reviewer does not see, or takes for others."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from typing import Final

from policy.finding import Finding, Severity
from policy.source import Span, visible

__all__ = ["letter_findings"]

_WORD: Final = re.compile(r"\w+")

# The scripts that have letters which look like those of another.
_SCRIPTS: Final = ("LATIN", "CYRILLIC", "GREEK", "ARMENIAN", "CHEROKEE", "COPTIC", "LISU")

# Letters of other forms that are read as plain ones: full width, mathematical.
_FORMS: Final = ("FULLWIDTH ", "MATHEMATICAL ")


def letter_findings(rule: str, span: Span) -> Iterator[Finding]:
    """Yield what is odd about the characters of one rule.

    Args:
        rule: its text as the host reads it.
        span: where it stands.

    """
    if rule.isascii() and rule.isprintable():
        return
    if visible(rule) != rule:
        hidden = next(character for character in rule if visible(character) != character)
        yield Finding(
            "hidden-character",
            f"the rule holds {_named(hidden)}, which nobody sees",
            Severity.ERROR,
            span,
            help=f"as it is matched: `{visible(rule)}`",
        )
    for word in _WORD.findall(rule):
        scripts = {script for letter in word if (script := _script(letter))}
        if len(scripts) > 1 or any(_looks_plain(letter) for letter in word):
            odd = next(letter for letter in word if not letter.isascii())
            yield Finding(
                "look-alike-letter",
                f"`{word}` holds {_named(odd)}, which looks like another letter",
                Severity.ERROR,
                span,
                help="write the word anew on a keyboard; the rule does not match what it seems to",
            )
            return


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
