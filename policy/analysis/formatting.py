"""Files of our notation in their canonical form, shown to be read as before."""

from __future__ import annotations

from policy.analysis.diff import objection
from policy.core.errors import PolicyError
from policy.core.source import Source
from policy.files.text import BYTE_ORDER_MARK, has_byte_order_mark
from policy.files.trees import Memory
from policy.hosts import notation
from policy.hosts.workspace import load_tree
from policy.language.parse import parse_notation
from policy.language.printer import print_document

__all__ = ["canonical"]


def canonical(source: Source) -> str:
    """Return *source* in its canonical form.

    Raises:
        PolicyError: it cannot be parsed, or its canonical form would be read as something else.

    """
    printed = print_document(parse_notation(source))
    if printed != source.text:
        _check(source, printed)
    return printed


def _check(source: Source, printed: str) -> None:
    """Raise unless *printed* is read as *source* is."""
    mark = BYTE_ORDER_MARK if has_byte_order_mark(source) else ""
    written = mark + source.text.removeprefix(mark)
    before, after = (
        load_tree(Memory({f"file{notation.SUFFIX}": text}), front_ends=(notation,))
        for text in (written, printed)
    )
    if objection(before, after, any_change=True):
        msg = "its canonical form cannot be shown to mean the same"
        raise PolicyError(msg, file=source.name, help="the file is left as it is")
