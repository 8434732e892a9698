"""A tree with the edits of its findings made, proven to grant no more in any permission mode.

Edits are made in memory, the tree is loaded again, and the exact difference of the two says
whether anything is granted that was not. An edit that takes out a rule which decides nothing must
change no decision at all. Only what passes is returned; nothing here writes a file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Final

from policy.core.errors import PolicyError
from policy.core.finding import Finding
from policy.core.source import edited
from policy.core.values import frozen
from policy.files.opening import Overlay
from policy.files.text import BYTE_ORDER_MARK, FileText, decode
from policy.files.trees import Tree
from policy.hosts.workspace import Workspace, load_tree

# Their edits take out a rule that changes no decision.
_WITHOUT_EFFECT: Final = frozenset({"redundant-rule", "shadowed-rule"})


@frozen
class Mended:
    """What edits make of a tree."""

    contents: Mapping[str, tuple[bytes, bytes]]  # path -> what is there, and what belongs there
    made: tuple[Finding, ...]  # the findings whose edits these are
    refused: Mapping[str, str]  # path of a file whose edits are not made -> why


def mend(
    tree: Tree,
    workspace: Workspace,
    findings: Iterable[Finding],
    *,
    load: Callable[[Tree], Workspace] = load_tree,
) -> Mended:
    """Return *tree*, in which *workspace* is, with the edits made that grant no more.

    All edits of a finding are of one file. Of edits that overlap the first is made.
    """
    from policy.analysis.diff import objection  # noqa: PLC0415  # where something is mended

    by_file: dict[str, list[Finding]] = {}
    for finding in (each for each in findings if each.edits):
        by_file.setdefault(finding.edits[0].span.source.name, []).append(finding)
    contents: dict[str, tuple[bytes, bytes]] = {}
    made, refused = list[Finding](), dict[str, str]()
    for path, members in by_file.items():
        try:
            old = tree.read(path)
            source = decode(path, old)
        except PolicyError as error:
            refused[path] = error.message
            continue
        if any(each.edits[0].span.source.text != source.text for each in members):
            refused[path] = "the file has changed since it was read"
            continue
        taken = _apart(source, members)
        live = [finding for finding in taken if finding.code not in _WITHOUT_EFFECT]
        # On top of what passed already: two edits may widen that alone do not.
        others = {other: new for other, (_, new) in contents.items()}
        new = _edited(source, taken)
        after = load(Overlay(tree, {**others, path: new}))
        why = objection(workspace, after) if live else ""
        if not why and len(live) < len(taken):
            kept = load(Overlay(tree, {**others, path: _edited(source, live)}))
            why = objection(kept, after, any_change=True)
        if why:
            refused[path] = why
        else:
            contents[path] = old, new
            made += taken
    return Mended(contents, tuple(made), refused)


def _apart(source: FileText, findings: Iterable[Finding]) -> list[Finding]:
    """Return the *findings* whose edits do not overlap those of an earlier one."""
    taken: list[Finding] = []
    for finding in findings:
        try:
            _edited(source, [*taken, finding])
        except ValueError:
            continue
        taken.append(finding)
    return taken


def _edited(source: FileText, findings: Iterable[Finding]) -> bytes:
    """Return the bytes of a file with the edits of *findings* made; ValueError if two overlap."""
    mark = BYTE_ORDER_MARK if source.byte_order_mark else ""
    edits = [edit for finding in findings for edit in finding.edits]
    return (mark + edited(source.text, edits)).encode("utf-8")
