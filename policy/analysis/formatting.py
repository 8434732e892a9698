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


def canonical(source: Source) -> str:
    """Return *source* in its canonical form.

    Raises PolicyError where it cannot be parsed, or that would be read as something else.
    """
    printed = print_document(parse_notation(source))
    if printed == source.text:
        return printed
    mark = BYTE_ORDER_MARK if has_byte_order_mark(source) else ""
    before, after = (
        load_tree(Memory({f"file{notation.SUFFIX}": text}), front_ends=(notation,))
        for text in (mark + source.text.removeprefix(mark), printed)
    )
    if objection(before, after, any_change=True):
        msg = "its canonical form cannot be shown to mean the same"
        raise PolicyError(msg, file=source.name, help="the file is left as it is")
    return printed
