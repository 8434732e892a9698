"""Text that a host gives up for words behind a redirection, and reads again for what it removes.

Claude Code 2.1.329 takes nothing apart where words stand behind the target of a redirection. If
some word of all of it is `rm` or `rmdir` it reads the text once more, without what is redirected
before such words (`mkdir d > a rm x` as `mkdir d     rm x`): a rule that denies that counts, and
what is asked for whatever rules and modes say.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Final

import attrs

from policy.shell.bash import parsed
from policy.shell.parts import Command, Redirection

if TYPE_CHECKING:
    from tree_sitter import Node

    from policy.shells import Shell

__all__ = ["files_read_again"]

_REMOVAL: Final = re.compile(r"(?:^|[^\w.-])rm(?:dir)?(?:\.exe)?(?![\w.-])", re.IGNORECASE)
_QUOTING: Final = re.compile(r"\\\n|\$(?=['\"])|['\"\\]")


def files_read_again(
    text: str, shell: Shell, read: Callable[[str, Shell], Command]
) -> Iterator[Redirection]:
    """Yield the files that count in a *text* that was given up for words behind a redirection.

    Args:
        text: the command.
        shell: what the host knows of commands.
        read: how to read one.

    """
    if not (_REMOVAL.search(text) or _REMOVAL.search(_QUOTING.sub("", text))):
        return
    source = text.encode("utf-8", "replace")
    for start, end in _heads(source):
        source = source[:start] + b" " * (end - start) + source[end:]
    again = source.decode("utf-8")
    if again != text:
        for file in read(again, shell).redirections:
            yield file if file.guarded else attrs.evolve(file, again=True, part=None)


def _heads(source: bytes) -> Iterator[tuple[int, int]]:
    """Yield where each redirection stands that has words behind it, up to the end of its target."""
    root = parsed(source)
    nodes = [root] if root is not None else []
    while nodes:
        node = nodes.pop()
        nodes += node.children
        redirections = [child for child in node.children if child.type == "file_redirect"]
        if redirections:
            last = max((start for start in _behind(node, redirections)), default=-1)
            yield from (
                (each.start_byte, _targets(each)[0].end_byte)
                for each in redirections
                if each.start_byte < last and _targets(each)
            )


def _behind(node: Node, redirections: list[Node]) -> Iterator[int]:
    """Yield where the words begin that stand behind a redirection of a statement."""
    for each in redirections:
        yield from (target.start_byte for target in _targets(each)[1:])
    first = redirections[0].start_byte
    named = any(c.type == "command_name" and c.start_byte < first for c in node.children)
    if node.type == "command" and named:
        yield from (
            child.start_byte
            for child in node.children
            if child.start_byte > first and not child.type.endswith("_redirect")
        )


def _targets(node: Node) -> list[Node]:
    return [child for child in node.named_children if child.type != "file_descriptor"]
