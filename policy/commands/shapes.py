"""Which shapes a tree of the grammar may have for a rule to allow what was read from it.

A grammar of the shell accepts far more than a shell does, and some of it for something
else: two parentheses behind a word, a program whose name begins with a line break. So what
is not listed here is ambiguous: which kinds of nodes may stand in which, what a leaf
may be written as, and what may stand between two nodes of a kind.
"""

from __future__ import annotations

from policy.core import expressions as re
from policy.core import limits
from policy.core.values import TYPE_CHECKING, Final, frozen

if TYPE_CHECKING:
    from tree_sitter import Node

    from policy.commands.knowledge import Shell

__all__ = ["INSIDE", "WORDS", "ill_formed"]

# The kinds of words. Which of them are taken for what they are is for who reads words to say.
WORDS: Final = frozenset(
    "word number raw_string string concatenation simple_expansion expansion ansi_c_string"
    " translated_string command_substitution process_substitution arithmetic_expansion"
    " brace_expression extglob_pattern regex variable_name special_variable_name test_operator"
    " file_descriptor array subscript".split()
)
_STATEMENTS: Final = frozenset(
    "command variable_assignment variable_assignments declaration_command unset_command"
    " test_command redirected_statement negated_command pipeline list if_statement"
    " while_statement for_statement c_style_for_statement case_statement function_definition"
    " compound_statement subshell".split()
)
_LOOKED_INTO: Final = _STATEMENTS | {
    "elif_clause",
    "else_clause",
    "do_group",
    "heredoc_redirect",
    "command_substitution",
}
# Statements in which others stand, so that a pipeline among these is not looked into.
INSIDE: Final = frozenset(
    "if_statement while_statement for_statement c_style_for_statement case_statement"
    " function_definition compound_statement subshell command_substitution"
    " process_substitution".split()
)
_REDIRECTIONS: Final = frozenset({"file_redirect", "herestring_redirect"})
_APART: Final = (WORDS - {"file_descriptor"}) | {
    *"command_name variable_assignment [ ] [[ ]] ! unary_expression binary_expression".split(),
    "parenthesized_expression",
}
_OPERATORS: Final = frozenset("> >> >| < &> &>> >& <&".split())

_LINES: Final = re.compile(r"(?:[ \t\n]|\\\n)*")
_BLANKS: Final = re.compile(r"(?:[ \t]|\\\n)*")
_BLANK: Final = re.compile(r"[ \t]")
_NOTHING: Final = re.compile(r"")
_QUOTED: Final = re.compile(r"[ \t\n]*")


@frozen
class _Shape:
    """What a node may consist of.

    Attributes:
        children: the kinds of nodes and the operators that may stand in it.
        between: what is written between two of them.
        statements: whether it holds statements: those that the host reads, two of
            them never without a line break or an operator between them.
        apart: whether there is a blank between any two words in it.
    """

    children: frozenset[str]
    between: re.Pattern[str] = _BLANKS
    statements: bool = False
    apart: bool = False


def _holding(*operators: str) -> _Shape:
    return _Shape(frozenset({"comment", *operators}), _LINES, statements=True)


def _words(*others: str, between: re.Pattern[str] = _BLANKS) -> _Shape:
    return _Shape(WORDS | {*others}, between, apart=between is _BLANKS)


_TEST: Final = _words(
    *"[ ] [[ ]] ( ) ! && || = == != =~ < > -a -o unary_expression binary_expression".split(),
    "parenthesized_expression",
)
_SHAPES: Final = {
    "program": _holding(";", ";;", "&", "\n"),
    "list": _holding("&&", "||"),
    "pipeline": _holding("|", "|&"),
    "negated_command": _Shape(frozenset({"!"}), statements=True),
    "if_statement": _holding("if", "then", "fi", ";", "&", "\n", "elif_clause", "else_clause"),
    "elif_clause": _holding("elif", "then", ";", "&", "\n"),
    "else_clause": _holding("else", ";", "&", "\n"),
    "while_statement": _holding("while", "until", ";", "&", "\n", "do_group"),
    "for_statement": _Shape(
        WORDS | {"for", "in", ";", "\n", "variable_name", "do_group", "comment"}, _LINES
    ),
    "do_group": _holding("do", "done", ";", "&", "\n"),
    "subshell": _holding("(", ")", ";", "&", "\n"),
    "command_substitution": _holding("$(", "`", ")"),
    "redirected_statement": _Shape(
        frozenset({*_REDIRECTIONS, "heredoc_redirect"}), _BLANKS, statements=True
    ),
    "command": _words("variable_assignment", "command_name", *_REDIRECTIONS),
    "command_name": _words(between=_NOTHING),
    "declaration_command": _words(
        *"export declare local readonly typeset variable_assignment".split()
    ),
    "unset_command": _words("unset"),
    "test_command": _TEST,
    "unary_expression": _TEST,
    "binary_expression": _TEST,
    "parenthesized_expression": _TEST,
    "variable_assignments": _Shape(frozenset({"variable_assignment"})),
    "variable_assignment": _Shape(WORDS - {"array", "subscript"} | {"=", "+="}, between=_NOTHING),
    "file_redirect": _words(*_OPERATORS),
    "herestring_redirect": _words("<<<"),
    "heredoc_redirect": _Shape(
        frozenset("<< <<- heredoc_start heredoc_body heredoc_end".split()), _LINES
    ),
    "concatenation": _words("$", between=_NOTHING),
    "string": _Shape(WORDS | {'"', "string_content", "$"}, _QUOTED),
    "simple_expansion": _Shape(
        frozenset({"$", "variable_name", "special_variable_name"}), _NOTHING
    ),
}
# What a leaf is written as. A word that is not here is unknown.
_LEAVES: Final = {
    "word": re.compile(r"(?:[^\s\\'\"`$;&|<>()]|\\[^\n])+"),
    "number": re.compile(r"-?(?:0[xX][0-9a-fA-F]+|[0-9]+(?:#[0-9A-Za-z@_]+)?)"),
    "raw_string": re.compile(r"'[^']*'"),
    "string_content": re.compile(r"(?:[^\"\\`]|\\.)*", re.DOTALL),
    "variable_name": re.compile(r"[A-Za-z_][A-Za-z0-9_]*"),
    "file_descriptor": re.compile(r"[0-9]+"),
    "comment": re.compile(r"#[^\n]*"),
}
_FREE: Final = frozenset(
    "heredoc_start heredoc_body heredoc_end special_variable_name test_operator regex"
    " extglob_pattern ansi_c_string".split()
)
# What is read for its own sake by whoever reads words, and not taken for anything otherwise.
_CLOSED: Final = frozenset(
    "expansion translated_string process_substitution arithmetic_expansion brace_expression".split()
)


def ill_formed(root: Node, source: bytes, shell: Shell) -> Node | None:
    """Return what of *root*, read from *source*, has no shape that the host reads.

    None where all of it has. Of a tree with errors it is the first of them.
    """
    return _error(root) if root.has_error else _Check(source, shell).ill_formed(root, 0)


def _error(node: Node) -> Node:
    for child in node.children:
        if child.has_error and not child.is_missing:
            return child if child.is_error else _error(child)
    return node


class _Check:
    def __init__(self, source: bytes, shell: Shell) -> None:
        self._source = source
        self._shell = shell

    def ill_formed(
        self, node: Node, depth: int, *, inside: bool = False, quoted: bool = False
    ) -> Node | None:
        """Return the first node of *node* and all that it holds that has no such shape.

        Args:
            node: the node.
            depth: how many others it stands in.
            inside: whether one of these is a statement that holds others.
            quoted: whether it is part of a quoted text, where blanks may belong to an operator.

        """
        kind, children = node.type, node.children
        if depth > limits.NESTING or node.is_missing:
            return node
        if kind in _CLOSED:
            return None
        shape = _SHAPES.get(kind)
        if shape is None or (not children and kind != "program"):
            is_leaf = not children and self._is_leaf(node, kind, quoted=quoted)
            return None if is_leaf else node
        inside |= kind in INSIDE
        quoted = kind == "string" or (quoted and kind == "simple_expansion")
        position, before, separated = children[0].start_byte if children else 0, "", True
        for child in children:
            gap = self._text(position, child.start_byte)
            if child.start_byte < position or not shape.between.fullmatch(gap):
                return node
            if before == "comment" and "\n" not in gap:
                return node
            if {before, child.type} <= _APART and not _BLANK.search(gap) and shape.apart:
                return node
            position, before = child.end_byte, child.type
            if before in _STATEMENTS:
                if not (separated or "\n" in gap):
                    return node
                separated = False
            elif not child.is_named:
                separated = True
            if not self._may_stand(before, kind, shape, inside=inside):
                return child if child.is_named else node
            found = self.ill_formed(child, depth + 1, inside=inside, quoted=quoted)
            if found is not None:
                return found
        return None

    def _may_stand(self, kind: str, above: str, shape: _Shape, *, inside: bool) -> bool:
        """Return whether a node of a *kind* may stand in one of the kind *above*."""
        if above == "redirected_statement" and kind in _STATEMENTS:
            looked_into = kind in self._shell.syntax.redirected
        elif kind == "pipeline" and inside:
            looked_into = "inner pipeline" in self._shell.syntax.structures
        else:
            looked_into = kind not in _LOOKED_INTO or kind in self._shell.syntax.structures
        return looked_into and (
            kind in shape.children or (shape.statements and kind in _STATEMENTS)
        )

    def _is_leaf(self, node: Node, kind: str, *, quoted: bool) -> bool:
        if kind in _FREE:
            return True
        text = self._text(node.start_byte, node.end_byte)
        if not node.is_named:
            return (text.lstrip(" \t\n") if quoted else text) == kind
        leaf = _LEAVES.get(kind)
        return leaf is not None and leaf.fullmatch(text) is not None

    def _text(self, start: int, end: int) -> str:
        return self._source[start:end].decode("utf-8", "surrogatepass")
