"""A tree with the edits of its findings made, proven to grant no more in any permission mode.

Edits are made in memory, the tree is loaded again, and the exact difference of the two
says whether anything is granted that was not. An edit that takes out a rule which decides
nothing must change no decision at all. Only what passes is returned; nothing here writes
a file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Final

from policy.core.errors import PolicyError
from policy.core.finding import Finding
from policy.core.source import Edit, edited
from policy.core.values import evolve, frozen
from policy.files.opening import Overlay, Tree
from policy.files.text import BYTE_ORDER_MARK, decode
from policy.hosts.workspace import Workspace, load_tree

__all__ = ["Mended", "UnmadeEdits", "mend"]


@frozen
class UnmadeEdits:
    """Files whose edits are not made, and why."""

    files: tuple[str, ...]
    why: str


@frozen
class Mended:
    """What edits make of a tree.

    Attributes:
        contents: path -> the bytes that are there, and those that belong there.
        made: the findings whose edits these are.
        refused: what must stay as it is.

    """

    contents: Mapping[str, tuple[bytes, bytes]]
    made: tuple[Finding, ...]
    refused: tuple[UnmadeEdits, ...]


_Contents = dict[str, tuple[bytes, bytes]]


def mend(
    tree: Tree,
    workspace: Workspace,
    findings: Iterable[Finding],
    *,
    load: Callable[[Tree], Workspace] = load_tree,
) -> Mended:
    """Return *tree* with the edits of *findings* made, as far as they grant no more.

    Files that one finding edits are taken together. Of edits that overlap the first is made.

    Args:
        tree: what was read.
        workspace: what was found in it.
        findings: those that are to be mended.
        load: reads the tree with its edits.
    """
    from policy.analysis.diff import objection  # noqa: PLC0415  # where something is mended

    contents: _Contents = {}
    made, refused = list[Finding](), list[UnmadeEdits]()
    for files, members in _grouped(findings):
        trial, taken = _edited(tree, members)
        if isinstance(trial, str):
            refused.append(UnmadeEdits(files, trial))
            continue
        # On top of what passed already: two edits may widen that alone do not.
        after = _loaded(tree, {**contents, **trial}, load)
        live = [finding for finding in taken if finding.code not in _WITHOUT_EFFECT]
        why = objection(workspace, after) if live else ""
        if not why and len(live) < len(taken):
            others, _ = _edited(tree, live)
            kept = {**contents, **({} if isinstance(others, str) else others)}
            why = objection(_loaded(tree, kept, load), after, any_change=True)
        if why:
            refused.append(UnmadeEdits(files, why))
        else:
            contents |= trial
            made += taken
    return Mended(contents, tuple(made), tuple(refused))


# Their edits take out a rule that changes no decision.
_WITHOUT_EFFECT: Final = frozenset({"redundant-rule", "shadowed-rule"})


def _loaded(tree: Tree, contents: _Contents, load: Callable[[Tree], Workspace]) -> Workspace:
    return load(Overlay(tree, {path: new for path, (_, new) in contents.items()}))


def _grouped(findings: Iterable[Finding]) -> list[tuple[tuple[str, ...], list[Finding]]]:
    """Return the findings with edits by the files that must be written together."""
    groups: list[tuple[set[str], list[Finding]]] = []
    for finding in findings:
        files = {edit.span.source.name for edit in finding.edits}
        if not files:
            continue
        members = [finding]
        apart = []
        for other, others in groups:
            if files & other:
                files |= other
                members = [*others, *members]
            else:
                apart.append((other, others))
        groups = [*apart, (files, members)]
    return [(tuple(sorted(files)), members) for files, members in groups]


def _edited(tree: Tree, findings: Iterable[Finding]) -> tuple[_Contents | str, list[Finding]]:
    """Return the bytes of the files that *findings* edit, or why there are none."""
    edits: dict[str, list[Edit]] = {}
    taken: list[Finding] = []
    for finding in findings:
        wanted = {path: list(known) for path, known in edits.items()}
        for edit in finding.edits:
            wanted.setdefault(edit.span.source.name, []).append(edit)
        try:
            for some in wanted.values():
                edited(some[0].span.source.text, some)
        except ValueError:
            continue  # two edits of one text
        edits = wanted
        taken.append(finding)
    contents = {}
    for path, some in edits.items():
        try:
            old = tree.read(path)
            source = decode(path, old)
        except PolicyError as error:
            return error.message, []
        if any(edit.span.source.text != source.text for edit in some):
            return "the file has changed since it was read", []
        newline = "\r\n" if 2 * source.text.count("\r\n") > source.text.count("\n") else "\n"
        texts = (edit.text.replace("\r\n", "\n").replace("\n", newline) for edit in some)
        fitting = [evolve(edit, text=text) for edit, text in zip(some, texts, strict=True)]
        mark = BYTE_ORDER_MARK if source.byte_order_mark else ""
        contents[path] = (old, (mark + edited(source.text, fitting)).encode("utf-8"))
    return contents, taken
