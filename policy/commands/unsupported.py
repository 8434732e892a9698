"""Text that a host gives up: it asks for all of it, and looks for no files in it.

Such a host looks at the files of a command only once it has taken all of it apart. At the
first thing that it does not look into it stops: rules about commands are looked for in the
text then, and what is removed, but nobody looks which files it opens.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from policy.commands import ambiguities as doubts
from policy.commands.match_texts import as_written, is_assignment
from policy.commands.parts import DIFFER, SWALLOWED, UNCLOSED, UNKNOWN, UNSEEN, Doubt
from policy.commands.simple import alone

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tree_sitter import Node

    from policy.commands.knowledge import Shell
    from policy.commands.words import Script, Word

__all__ = ["abandoned", "gives_up", "is_substituted"]


def abandoned(text: str, script: Script, shell: Shell) -> Doubt | None:
    """Return why a host gives up *text*, which was read as *script*; None where it does not."""
    if not shell.syntax.abandoned:
        return None
    if script.abandoned is not None:
        return script.abandoned
    if (found := doubts.refused(text)) is not None:
        return Doubt(found, DIFFER)
    for command in script.commands:
        if command.words and alone(command, script, shell).worked_out:
            return Doubt(as_written(command.words), UNKNOWN)
    if "<<<" in text or script.broken:
        return None
    swallowing = next((command for command in script.commands if command.swallowed), None)
    return Doubt(as_written(swallowing.words), SWALLOWED) if swallowing is not None else None


def gives_up(root: Node, text: str, script: Script, shell: Shell) -> Doubt | None:
    """Return why a host gives up *text*, which has the tree *root* and was read as *script*."""
    told = _QUOTING.sub("", text)
    for command in script.commands:
        for word in _unknown(command.words, told, shell):
            return Doubt(word.raw, UNKNOWN)
    if root.has_error:
        return Doubt("", UNCLOSED) if _has_loose_end(text) else None
    for word in script.given:
        if _is_unknown(word, told):
            return Doubt(word.raw, UNKNOWN)
    refused = _refused(root, shell)
    return refused and Doubt((refused.text or b"").decode("utf-8"), UNSEEN)


def _unknown(words: Sequence[Word], told: str, shell: Shell) -> Iterable[Word]:
    """Yield the words of a command, and its assignments, of which nobody knows what they are."""
    return (
        word
        for word in words
        if not (word.literal or word.vetted)
        and not (is_assignment(word) and _is_followed(word, shell))
        and _is_unknown(word, told)
    )


def _is_followed(word: Word, shell: Shell) -> bool:
    """Whether an assignment may be one that the host follows."""
    value = word.raw.partition("=")[2]
    if is_substituted(word) or value[:1] == "`" or "$?" in value:
        return True
    return not shell.variables.texts.isdisjoint(_VARIABLE.findall(value))


def is_substituted(word: Word) -> bool:
    """Whether an assignment sets what one substitution comes to, without quotes around it."""
    value = word.raw.partition("=")[2]
    return (value[:2] == "$(" and value[:3] != "$((" and value[-1:] == ")") or (
        value[:1] == "`" == value[-1:]
    )


def _is_unknown(word: Word, told: str) -> bool:
    """Whether a word names no variable that the text itself may set, which the host follows."""
    return not any(
        re.search(rf"(?<![\w$])(?<!\$[{{]){name}(?!\w)", told)
        for name in dict.fromkeys(_VARIABLE.findall(word.raw))
    )


_QUOTING: Final = re.compile(r"['\"\\]")
_VARIABLE: Final = re.compile(r"\$[{]?([A-Za-z_]\w*)")
_QUOTES: Final = frozenset(b"'\"\\")
_HEREDOC: Final = frozenset({"<<", "<<-", "heredoc_start", "heredoc_body", "heredoc_end"})


def _refused(root: Node, shell: Shell) -> Node | None:
    nodes = [root]
    while nodes:
        node = nodes.pop()
        if node.type in shell.syntax.abandoned or _is_refused(node):
            return node
        nodes += node.children
    return None


def _is_refused(node: Node) -> bool:
    """Whether this is one of the forms of a node that no host looks into."""
    children = node.children
    match node.type:
        case "for_statement":
            return children[0].type == "select"
        case "subshell" | "command_substitution":
            return any(child.type in (";", "&") for child in children)
        case "redirected_statement":
            return children[0].type == "subshell"
        case "heredoc_redirect":
            start = next((c.text for c in children if c.type == "heredoc_start"), None) or b""
            return _QUOTES.isdisjoint(start) or any(c.type not in _HEREDOC for c in children)
        case _:
            return False


_LOOSE: Final = re.compile(
    r"\A\s*(?:&&|\|\||[;|](?!;))|(?:&&|\|\|)\s*\Z|<>"
    r"|(?<![;&|<>])(?>&&|\|\||\|&|[;&])[ \t]+(?:&&|\|\||[;&|])(?!;)|\|[ \t]+\|"
)
# A group that begins, and a brace that begins none, do not count as one that does not end.
_OPEN: Final = re.compile(r"[({]\s*\Z|\(\s*[;&]|(?<![^\s;&|(])\{[^\s{}]+(?!\S)")


def _has_loose_end(text: str) -> bool:
    """Whether a text that is no command lacks an end that every reader looks for."""
    bare = doubts.without_quoted(text)
    if not _UNQUOTED.isdisjoint(bare) or _OPEN.search(bare):
        return False
    return (
        _LOOSE.search(bare) is not None
        or bare.count("(") != bare.count(")")
        or bare.count("{") != bare.count("}")
    )


# With these in what is left after quotes nobody tells what is text and what is not.
_UNQUOTED: Final = frozenset("'\"`#")
