"""Files in their canonical form, shown to be read as before."""

from __future__ import annotations

from collections.abc import Iterable

from policy.analysis.diff import objection
from policy.core.errors import PolicyError
from policy.core.source import Source
from policy.files.text import BYTE_ORDER_MARK, has_byte_order_mark
from policy.files.trees import Memory
from policy.hosts.front_ends import FRONT_ENDS
from policy.hosts.project import FrontEnd
from policy.hosts.workspace import load_tree

__all__ = ["canonical"]


def canonical(
    path: str, source: Source, *, front_ends: Iterable[FrontEnd] = FRONT_ENDS
) -> str | None:
    """Return *source* in the canonical form of the first front end whose file it is, or None.

    Args:
        path: with slashes, with as many folders above the file as are known; by
            these a front end knows its files.
        source: the text, whose name is that of errors.
        front_ends: who is asked, in this order.

    Raises:
        PolicyError: it cannot be read, or its canonical form would be read as
            something else.

    """
    front_ends = tuple(front_ends)
    for front_end in front_ends:
        printed = front_end.canonical(path, source)
        if printed is not None:
            if printed != source.text:
                _check(path, source, printed, front_ends)
            return printed
    return None


def _check(path: str, source: Source, printed: str, front_ends: tuple[FrontEnd, ...]) -> None:
    """Raise unless every front end reads *printed* as it reads *source*."""
    mark = BYTE_ORDER_MARK if has_byte_order_mark(source) else ""
    written = mark + source.text.removeprefix(mark)
    before, after = (
        load_tree(Memory({path: text}), front_ends=front_ends) for text in (written, printed)
    )
    if objection(before, after, any_change=True):
        msg = "its canonical form cannot be shown to mean the same"
        raise PolicyError(msg, file=source.name, help="the file is left as it is")
