"""A shell command read by a real grammar, for hosts that look inside commands themselves.

The grammar is that of tree-sitter-bash, an optional dependency. Its tree becomes
a `Script`, the same form that `policy.shell.plain` gives plain commands. Whatever has not one
of the shapes that the host looks through (`policy.shell.shapes`) is taken apart all the same,
so that a rule can deny what is inside, and makes the script a doubtful one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import dropwhile
from typing import TYPE_CHECKING

import attrs

from policy import limits
from policy.shell.abandoned import gives_up
from policy.shell.bash_statements import StatementReader
from policy.shell.doubts import has_background, has_sum, without_quoted
from policy.shell.leading import KEYWORDS
from policy.shell.parts import DIFFER, NO_COMMAND, UNSEEN
from policy.shell.scanner import Scanner
from policy.shell.shapes import ill_formed
from policy.shell.words import Script, Simple

if TYPE_CHECKING:
    from tree_sitter import Language, Node, Parser

    from policy.shells import Shell

__all__ = ["is_installed", "parsed", "read_script"]


@cache
def _language() -> Language | None:
    try:
        import tree_sitter_bash  # noqa: PLC0415 - an extra, and 27 ms
        from tree_sitter import Language  # noqa: PLC0415
    except ImportError:
        return None
    return Language(tree_sitter_bash.language())


def _parser() -> Parser | None:
    # One for each command: threads must not share it.
    language = _language()
    if language is None:
        return None
    from tree_sitter import Parser  # noqa: PLC0415 - as above

    return Parser(language)


def is_installed() -> bool:
    """Return whether the grammar is there: the extra ``bash``."""
    return _language() is not None


def parsed(source: bytes) -> Node | None:
    """Return the tree of the grammar, None where it is not installed."""
    parser = _parser()
    return parser and parser.parse(source).root_node


def read_script(text: str, shell: Shell) -> Script | None:
    """Return what the grammar makes of *text*; None where it is not installed.

    Never fails, and never vouches for what it has not read to the end.
    """
    parser = _parser()
    if parser is None:
        return None
    given, text = text, _HALF.sub("\ufffd", text)
    source, closed = text.encode("utf-8"), False
    root = parser.parse(source).root_node
    swallowed = [*_swallowed_breaks(root)] if b"\n\\" in source else []
    if swallowed:
        source = bytes(59 if at in swallowed else byte for at, byte in enumerate(source))
        root = parser.parse(source).root_node
    source, root = _as_a_shell(parser, source, root)
    if root.has_error:
        for mended in _mended(source):
            other = parser.parse(mended).root_node
            if not other.has_error:
                source, root, closed = mended, other, mended.endswith(b"'")
                break
    reader = StatementReader(source, shell, closed=closed)
    script = reader.read(root)
    script.closed = closed
    if given != text:
        script.doubt("", DIFFER)
    if swallowed:
        script.doubt("\\\n", DIFFER)
    if "<<" in text and _may_end_before(text):
        script.doubt("<<", DIFFER)
    covered = bytearray(source)
    for start, end in reader.recovered:
        covered[start:end] = b" " * (end - start)
    ill = ill_formed(root, bytes(covered), shell)
    if ill is not None:
        script.doubt(reader.text_of(ill), NO_COMMAND if root.has_error else UNSEEN)
    script.abandoned = gives_up(root, text, script, shell)
    for start, end in reader.lost:
        script.doubt(source[start:end].decode("utf-8").strip(), UNSEEN)
    if root.has_error or reader.lost:
        # What stands in a wrong tree, or beside all nodes, may stand nowhere in the script.
        scanned = Scanner(text, sums=True).run()
        script.commands += scanned.commands
        script.commands += _begun(scanned.commands)
        # `x#y < a`: to the grammar of some versions a comment begins there.
        script.targets += scanned.targets if "#" in text else []
        script.unclosed |= _is_unfinished(root)
        script.background |= has_background(without_quoted(text))
        script.broken = True
    return script


def _as_a_shell(parser: Parser, source: bytes, root: Node) -> tuple[bytes, Node]:
    """Return a text that the grammar reads as a shell reads *source*, and its tree."""
    if b"!" in source and (negating := _negations(root, source)):
        source = bytes(32 if at in negating else byte for at, byte in enumerate(source))
        root = parser.parse(source).root_node
    for _ in range(limits.NESTING if b"<<" in source else 0):
        longer = _with_whole_documents(source, root)
        if longer == source:
            break
        source = longer
        root = parser.parse(source).root_node
    return source, root


def _begun(commands: Iterable[Simple]) -> Iterator[Simple]:
    """Yield the commands that stand behind a word that begins a statement, or a part of one."""
    for command in commands:
        behind = [*dropwhile(lambda word: word.raw in KEYWORDS, command.words)]
        if behind and len(behind) < len(command.words):
            yield attrs.evolve(command, words=behind)


# Half a character, which no program is given.
_HALF = re.compile("[\ud800-\udfff]")


def _swallowed_breaks(node: Node) -> Iterator[int]:
    """Yield where lines end that the grammar puts into a word that is the name of a program."""
    if node.type == "word" and not node.child_count and (node.text or b"").startswith(b"\n"):
        yield node.start_byte
    for child in node.children:
        yield from _swallowed_breaks(child)


def _negations(root: Node, source: bytes) -> set[int]:
    """Return where something negates what redirects alone: the grammar knows of no such statement.

    It takes that for an error, or `!` for a program.
    """
    nodes, found, misread = [(root, root.has_error)], set[int](), False
    while nodes:
        node, wrong = nodes.pop()
        if node.child_count:
            nodes += ((child, wrong or node.type == "command_name") for child in node.children)
        elif node.text == b"!" and _REDIRECTING.match(source, node.end_byte):
            found.add(node.start_byte)
            misread |= wrong
    return found if misread else set()


_REDIRECTING = re.compile(rb"[ \t]+(?:![ \t]+)*(?:[0-9]*[<>](?!\()|&>)")


def _with_whole_documents(source: bytes, root: Node) -> bytes:
    """Return *source* with its first here-document as long as it is to a shell.

    The grammar ends one where a line begins with its last word, a shell where that is all of the
    line, or the text ends. What closes a substitution behind the word may close it all the same.
    """
    for node in _ends_of_documents(root):
        behind = source[node.end_byte :].partition(b"\n")[0]
        if not behind or behind.lstrip(b" \t")[:1] == b")":
            continue
        word = source[node.start_byte : node.end_byte].lstrip(b"\t")
        at = node.end_byte - len(word)
        longer = source[:at] + b"." * len(word) + source[at + len(word) :]
        lines = longer[at:].split(b"\n")[1:]
        if not any(line.lstrip(b"\t") == word for line in lines):
            longer += b"\n" + word
        return longer
    return source


def _ends_of_documents(node: Node) -> Iterator[Node]:
    if node.type == "heredoc_end":
        yield node
    for child in node.children:
        yield from _ends_of_documents(child)


# Behind the word; a parenthesis right behind it may end a substitution, and is looked at there.
_ENDING = re.compile(r"[`}]|[^ \t)].*\)")


def _may_end_before(text: str) -> bool:
    """Whether a line begins with the word that ends a here-document, and goes on to end more."""
    words = {found[1] for found in _DOCUMENT.findall(text.encode("utf-8"))}
    if not words:
        return False
    begun = tuple(word.decode("utf-8") for word in words)
    for line in text.split("\n")[1:]:
        word = next(filter(line.lstrip("\t").startswith, begun), None)
        if word is not None and _ENDING.search(line.lstrip("\t"), len(word)):
            return True
    return False


_OPENING = frozenset({"$(", "${", "$((", "$["})


def _is_unfinished(node: Node) -> bool:
    """Return whether a sum, an expansion or a substitution begins there that may not end."""
    if not node.has_error:
        return False
    children, text = node.children, (node.text or b"").decode("utf-8")
    if node.type == "ERROR":
        if any(child.type in _OPENING for child in children):
            return True
        if "((" in text and not has_sum(text):
            return True
    if node.type == "arithmetic_expansion":
        ends = "((" in text and has_sum(text)
        return children[-1].is_missing or children[-1].is_named or not ends
    if node.type in ("command_substitution", "expansion") and children[0].type in _OPENING:
        return text != "$()"
    return any(_is_unfinished(child) for child in children)


_DOCUMENT = re.compile(rb"<<-?[ \t]*(['\"]?)([\w.]+)\1")


def _mended(source: bytes) -> Iterator[bytes]:
    """Yield what the host takes an unfinished command for. A shell runs nothing of most."""
    if begun := _DOCUMENT.findall(source):
        yield source + b"\n" + begun[-1][1]
    for operator in (b"|&", b"|"):
        before = source.rstrip().removesuffix(operator)
        if before != source.rstrip() and before.rstrip(b" \t")[-1:] not in b";&|\n":
            yield before
    if b"'" in source and not source.endswith(b"\\"):
        yield source + b"'"
