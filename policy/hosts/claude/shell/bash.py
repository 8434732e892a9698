"""Reads a shell command by the grammar of tree-sitter-bash, an optional dependency.

`read_script` makes a `Script` of the tree. The grammar accepts more than a shell does, and reads
some commands otherwise. So `_SHAPES` lists which nodes may contain which, and `_LEAVES` how a leaf
is written. A script of other shapes is ambiguous: deny rules match its commands all the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache, cached_property
from itertools import pairwise

from policy.commands.reader import DIFFER, UNKNOWN, UNSEEN, Redirection, has_half, missing_extras
from policy.commands.words import (
    DESCRIPTOR,
    FOLDERS,
    HARMLESS_TARGETS,
    SET_BY_SHELL,
    Script,
    SimpleCommand,
    Statement,
    Word,
    is_assignment,
    targets_of,
    with_home,
)
from policy.core import expressions as re
from policy.core import limits
from policy.core.values import TYPE_CHECKING, Final, frozen
from policy.hosts.claude.shell.doubtful import TESTS, is_plain_test
from policy.hosts.claude.shell.match_texts import HEREDOC, is_requoted

if TYPE_CHECKING:
    from tree_sitter import Language, Node

    from policy.commands.knowledge import Shell


# Kinds of nodes that `_TreeReader.word` reads.
WORDS: Final = frozenset(
    "word number raw_string string concatenation simple_expansion expansion ansi_c_string"
    " translated_string command_substitution process_substitution arithmetic_expansion"
    " brace_expression extglob_pattern regex variable_name special_variable_name test_operator"
    " file_descriptor array subscript".split()
)
# Statements that the host looks into, and those whose redirections it reads.
_STATEMENTS: Final = frozenset(
    "command variable_assignment declaration_command unset_command test_command"
    " redirected_statement negated_command pipeline list if_statement while_statement".split()
)
_REDIRECTED: Final = _STATEMENTS - {
    *"unset_command test_command if_statement while_statement".split()
}
# Nodes that contain statements; the host does not look into a pipeline in one of these.
_COMPOUND: Final = frozenset(
    "if_statement while_statement for_statement c_style_for_statement case_statement"
    " function_definition compound_statement subshell command_substitution"
    " process_substitution".split()
)
_REDIRECTIONS: Final = frozenset({"file_redirect", "herestring_redirect"})
_SPACED: Final = (WORDS - {"file_descriptor"}) | {
    *"command_name variable_assignment [ ] [[ ]] ! unary_expression binary_expression".split(),
    "parenthesized_expression",
}
_OPERATORS: Final = frozenset("> >> >| < &> &>> >& <&".split())

_LINES: Final = re.compile(r"(?:[ \t\n]|\\\n)*")
_BLANKS: Final = re.compile(r"(?:[ \t]|\\\n)*")
_SOME_BLANK: Final = re.compile(r"[ \t]")
_NOTHING: Final = re.compile(r"")
_INSIDE_QUOTES: Final = re.compile(r"[ \t\n]*")


@frozen
class _Shape:
    """What a node may contain."""

    children: frozenset[str]  # kinds of nodes, and operators
    between: re.Pattern[str] = _BLANKS  # what is written between two of them
    # Whether it contains statements, with a line break or an operator between any two.
    statements: bool = False
    spaced: bool = False  # whether there is a blank between any two words


def _block(*operators: str) -> _Shape:
    return _Shape(frozenset({"comment", *operators}), _LINES, statements=True)


def _word_shape(*others: str, between: re.Pattern[str] = _BLANKS) -> _Shape:
    return _Shape(WORDS | {*others}, between, spaced=between is _BLANKS)


_TEST: Final = _word_shape(
    *"[ ] [[ ]] ( ) ! && || = == != =~ < > -a -o unary_expression binary_expression".split(),
    "parenthesized_expression",
)
_SHAPES: Final = {
    "program": _block(";", ";;", "&", "\n"),
    "list": _block("&&", "||"),
    "pipeline": _block("|", "|&"),
    "negated_command": _Shape(frozenset({"!"}), statements=True),
    "if_statement": _block("if", "then", "fi", ";", "&", "\n", "elif_clause", "else_clause"),
    "elif_clause": _block("elif", "then", ";", "&", "\n"),
    "else_clause": _block("else", ";", "&", "\n"),
    "while_statement": _block("while", "until", ";", "&", "\n", "do_group"),
    "for_statement": _Shape(
        WORDS | {"for", "in", ";", "\n", "variable_name", "do_group", "comment"}, _LINES
    ),
    "do_group": _block("do", "done", ";", "&", "\n"),
    "command_substitution": _block("$(", "`", ")"),
    "redirected_statement": _Shape(
        frozenset({*_REDIRECTIONS, "heredoc_redirect"}), _BLANKS, statements=True
    ),
    "command": _word_shape("variable_assignment", "command_name", *_REDIRECTIONS),
    "command_name": _word_shape(between=_NOTHING),
    "declaration_command": _word_shape(
        *"export declare local readonly typeset variable_assignment".split()
    ),
    "unset_command": _word_shape("unset"),
    "test_command": _TEST,
    "unary_expression": _TEST,
    "binary_expression": _TEST,
    "parenthesized_expression": _TEST,
    "variable_assignment": _Shape(WORDS - {"array", "subscript"} | {"=", "+="}, between=_NOTHING),
    "file_redirect": _word_shape(*_OPERATORS),
    "herestring_redirect": _word_shape("<<<"),
    "heredoc_redirect": _Shape(
        frozenset("<< <<- heredoc_start heredoc_body heredoc_end".split()), _LINES
    ),
    "concatenation": _word_shape("$", between=_NOTHING),
    "string": _Shape(WORDS | {'"', "string_content", "$"}, _INSIDE_QUOTES),
    "simple_expansion": _Shape(
        frozenset({"$", "variable_name", "special_variable_name"}), _NOTHING
    ),
}
# Kind of a leaf -> how it is written.
_LEAVES: Final = {
    "word": re.compile(r"(?:[^\s\\'\"`$;&|<>()]|\\[^\n])+"),
    "number": re.compile(r"-?(?:0[xX][0-9a-fA-F]+|[0-9]+(?:#[0-9A-Za-z@_]+)?)"),
    "raw_string": re.compile(r"'[^']*'"),
    "string_content": re.compile(r"(?:[^\"\\`]|\\.)*", re.DOTALL),
    "variable_name": re.compile(r"[A-Za-z_][A-Za-z0-9_]*"),
    "file_descriptor": re.compile(r"[0-9]+"),
    "comment": re.compile(r"#[^\n]*"),
}
_ANY_TEXT: Final = frozenset(
    "heredoc_start heredoc_body heredoc_end special_variable_name test_operator regex"
    " extglob_pattern ansi_c_string".split()
)
# Expansions, which `ill_formed` does not look into: `_TreeReader` reads them.
_EXPANSIONS: Final = frozenset(
    "expansion translated_string process_substitution arithmetic_expansion brace_expression".split()
)


def ill_formed(
    node: Node, source: bytes, depth: int = 0, *, in_compound: bool = False, quoted: bool = False
) -> Node | None:
    """Return the first node, from *node* down, of a shape that the host does not read, or None.

    *depth* counts the nodes above it, of which one is compound if *in_compound*; in double quotes
    (*quoted*) an operator may have blanks.
    """
    kind, children = node.type, node.children
    if depth > limits.NESTING:
        return node
    if kind in _EXPANSIONS:
        return None
    shape = _SHAPES.get(kind)
    if shape is None or (not children and kind != "program"):
        return None if not children and _is_leaf(node, source, quoted=quoted) else node
    in_compound |= kind in _COMPOUND
    quoted = kind == "string" or (quoted and kind == "simple_expansion")
    position, before, has_operator = children[0].start_byte if children else 0, "", True
    for child in children:
        gap = source[position : child.start_byte].decode()
        is_broken = (
            child.start_byte < position
            or not shape.between.fullmatch(gap)
            or (before == "comment" and "\n" not in gap)
            or ({before, child.type} <= _SPACED and not _SOME_BLANK.search(gap) and shape.spaced)
            or (child.type in _STATEMENTS and not (has_operator or "\n" in gap))
        )
        if is_broken:
            return node
        position, before = child.end_byte, child.type
        has_operator = before not in _STATEMENTS and (has_operator or not child.is_named)
        is_expected = before in shape.children or (
            shape.statements
            and not (before == "pipeline" and in_compound)
            and before in (_REDIRECTED if kind == "redirected_statement" else _STATEMENTS)
        )
        if not is_expected:
            return child if child.is_named else node
        found = ill_formed(child, source, depth + 1, in_compound=in_compound, quoted=quoted)
        if found is not None:
            return found
    return None


def _is_leaf(node: Node, source: bytes, *, quoted: bool) -> bool:
    kind, text = node.type, source[node.start_byte : node.end_byte].decode()
    if not node.is_named:
        return (text.lstrip(" \t\n") if quoted else text) == kind
    leaf = _LEAVES.get(kind)
    return kind in _ANY_TEXT or (leaf is not None and leaf.fullmatch(text) is not None)


_ESCAPE: Final = re.compile(r"\\(\n|.)", re.DOTALL)
_QUOTED_ESCAPE: Final = re.compile(r'\\([$`"\\\n])')
# Expansions in double quotes that only zsh has: `"$x[1]"`, `"$x:h"`, `"$=x"`.
_ZSH_EXPANSION: Final = re.compile(
    r"(?<!\\)(?:\\\\)*\$(?:(?:\w+|[-?*@!#$](?:\w*|[-?*@!#]))(?:\[|:[A-Za-z&])|[+^=~\[])"
)
# `${x}` and `${x:?message}`.
_BRACED_VARIABLE: Final = re.compile(r"\$\{([A-Za-z_]\w*)(?::\?[^{}$`]*)?\}")
_UNQUOTED_GLOB: Final = re.compile(r"(?:^|[^\\])(?:\\\\)*[*?\[]")
_ARITHMETIC: Final = re.compile(
    r"\$\(\((?:0[xX][0-9a-fA-F]+|[0-9]+#[0-9a-zA-Z]+|[^A-Za-z_$`\[\]])*\)\)"
)
# `${x}`, `${x%.py}`, `${x:-"$y"}`: an expansion that every shell ends at the same brace.
_OPERAND: Final = (
    r"(?:[\w \t./,:@%+=~*#?!^-]|\\[^{}\n]|'[^'{}\n]*'|\$\w+|\$\{\w+\}"
    r'|"(?:[^"\\`${}\n]|\$\w+|\$\{\w+\})*")*'
)
_EXPANSION: Final = re.compile(
    r"\$\{(?:[#!]?[A-Za-z_]\w*(?:\[[\w@*]+\])?|[0-9]+|[?$#!@*-])"
    rf"(?:(?::?[-=?+]|##?|%%?|//?|\^\^?|,,?){_OPERAND}|@[A-Za-z]|[*@]|:[\w :-]*)?\}}"
)
_CAT_HEREDOC: Final = re.compile(r"\$\(\s*cat\s*<<\s*['\"]")
_CASE_ENDS: Final = frozenset({";;", ";&", ";;&"})
# `"$HOME`: a word that begins with the home folder.
_HOME: Final = re.compile(r"""["']*\$HOME(?!\w)""")
_QUOTING: Final = re.compile(r"['\"\\]")
# Braces that the host may not expand as a shell does: escaped, or quoted with `,` or `..`.
_ESCAPED_BRACES: Final = re.compile(r"\{[^{]*\\\}|\{[^}]*\\\{")
_QUOTED_BRACES: Final = re.compile(r"\{\S*(?:,|\.\.)\S")

_QUOTED: Final = frozenset({"string", "raw_string", "ansi_c_string", "expansion"})

# Kinds of nodes that are plain text in an expansion.
_TEXT_KINDS: Final = frozenset("word raw_string regex extglob_pattern number".split())

_NO_EXPANSION: Final = re.compile(r"[A-Za-z0-9./_-]+")

# An expansion or a command substitution, perhaps in single quotes.
_HAS_EXPANSION: Final = re.compile(r"(?:^|[^\\])(?:\\\\)*[`$]")

# Keywords that end a part of a statement.
_CLOSING_KEYWORDS: Final = frozenset("then do done elif else fi esac }".split())

# An expansion in the regular expression behind `=~`, all of which is text to the grammar.
_EXPANDS: Final = re.compile(r"^[^']*(?:[$`]|[<>]\()")

_GLUED_BRACE: Final = re.compile(r"\{\S")


class _NotRead(Exception):
    """A shell may end a statement or an expansion elsewhere than the grammar does."""


class _TreeReader:
    """Reads one tree into a script. Its methods raise `_NotRead`."""

    def __init__(self, source: bytes, shell: Shell) -> None:
        self.source = source
        self.shell = shell
        self.script = Script()
        self.variables: dict[str, str] = {}
        self.compound_depth = 0  # compound nodes around the one that is read
        self.substitution_depth = 0  # of these, the substitutions `$(…)`
        self._has_unknown_value = False  # whether a word has an expansion of an unknown value

    def text_of(self, node: Node) -> str:
        """Return the text of *node*."""
        return self._text(node.start_byte, node.end_byte)

    def _text(self, start: int, end: int) -> str:
        return self.source[start:end].decode("utf-8").replace(_DASH, "-")

    @staticmethod
    def refuse_if(is_misread: bool) -> None:  # noqa: FBT001  # the only argument
        """Raise `_NotRead` if *is_misread*."""
        if is_misread:
            raise _NotRead

    def word(self, node: Node, depth: int) -> Word:
        """Return the word of *node*, and add its command substitutions to the script before it."""
        word = Word(self.text_of(node))
        self.refuse_if(depth > limits.NESTING)
        first = len(self.script.commands)
        pieces: list[str] = []
        self._piece(node, word, pieces, depth)
        word.value = "".join(pieces)
        if word.value[1:2] not in ("", "/") and word.value[0] == "~" and _HOME.match(word.raw):
            # `"$HOME x"` is not in the home folder.
            word.value, word.literal, word.known = "$HOME" + word.value[1:], False, False
        word.inner = (first, len(self.script.commands))
        if not word.literal:
            self._has_unknown_value = False
            word.vetted = self._is_accepted(node, word) and not (
                self._has_unknown_value and word.value.startswith("-")
            )
        return word

    def _piece(self, node: Node, word: Word, pieces: list[str], depth: int) -> None:
        """Add the unquoted text of *node* to *pieces*, and note in *word* what it expands."""
        kind, text = node.type, self.text_of(node)
        if kind == "raw_string":
            pieces.append(text[1:-1])
        elif kind == "string":
            self._string(node, word, pieces, depth)
        elif kind == "concatenation":
            for child in node.children:
                self._piece(child, word, pieces, depth + 1)
            if self._may_expand_braces(node, "".join(pieces)):
                word.literal = word.known = False
        elif kind in ("word", "number", "regex", "extglob_pattern") or (
            not node.is_named and not node.children
        ):
            word.glob |= bool(_UNQUOTED_GLOB.search(text))
            word.literal &= kind != "$"
            if (kind == "number" and node.children) or self._may_expand_braces(node, text):
                word.literal = word.known = False
            pieces.append(_ESCAPE.sub(lambda found: found[1].strip("\n"), text))
        elif kind == "ansi_c_string":
            word.literal = word.known = False
            pieces.append(text[2:-1])
        elif kind in ("variable_name", "special_variable_name", "test_operator", "file_descriptor"):
            pieces.append(text)
        else:
            self._expansion(node, word, pieces, depth, first=text == "$HOME" and not any(pieces))

    def _string(self, node: Node, word: Word, pieces: list[str], depth: int) -> None:
        position = node.start_byte + 1
        if _ZSH_EXPANSION.search(self.text_of(node)):
            self.script.note(self.text_of(node), DIFFER)
        for child in node.named_children:
            if child.type == "string_content":
                continue
            text = self.text_of(child)
            # The grammar counts blanks before a variable as part of it.
            blanks = len(text) - len(text.lstrip()) if child.type == "simple_expansion" else 0
            self._quoted(position, child.start_byte + blanks, pieces)
            position = child.end_byte
            self._expansion(child, word, pieces, depth + 1, first=not any(pieces))
        self._quoted(position, node.end_byte - 1, pieces)

    def _quoted(self, start: int, end: int, pieces: list[str]) -> None:
        text = self._text(start, end)
        pieces.append(_QUOTED_ESCAPE.sub(lambda found: found[1].strip("\n"), text))

    def _expansion(
        self, node: Node, word: Word, pieces: list[str], depth: int, *, first: bool
    ) -> None:
        """Read an expansion or a substitution; *first* where `$HOME` begins a word."""
        text = self.text_of(node)
        braced = _BRACED_VARIABLE.fullmatch(text)
        if node.type == "simple_expansion":
            name, folder = (text.lstrip()[1:], FOLDERS.get(text.lstrip()[1:]) if first else None)
        elif braced is not None and braced[1] in self.variables:
            name, folder = braced[1], None
        else:
            word.literal = word.known = False
            pieces.append(text)
            self.substitutions(node, depth)
            return
        value = self.variables.get(name)
        if value is None and folder is not None and self._is_inherited(name):
            value = folder
            word.literal &= name == "HOME"
        else:
            word.literal = False
            word.guessed |= value is not None
        word.known &= value is not None
        pieces.append("$" + name if value is None else value)

    def substitutions(self, node: Node, depth: int) -> None:
        """Read the commands of every substitution in *node*."""
        if node.type == "expansion":
            self.refuse_if(not _EXPANSION.fullmatch(self.text_of(node)))
        elif node.type == "arithmetic_expansion":
            self.refuse_if(not {"'", "`"}.isdisjoint(self.text_of(node)))
        self.refuse_if(depth > limits.NESTING)
        if node.type in ("command_substitution", "process_substitution"):
            text = self.text_of(node)
            # Escaped backquotes are a substitution within another, and text to the grammar; a
            # shell looks in another way for the end of a substitution that begins with backquotes.
            self.refuse_if("\\`" in text or text.startswith("$(`"))
            # `$(a=(b))`: `))` may end arithmetic.
            self.refuse_if(text.endswith("))") and "=(" in text)
            self.compound_depth += 1
            self.substitution_depth += (is_dollar := text.startswith("$("))
            for child in node.children:
                if child.is_named:
                    self.statement(child, depth + 1)
                elif child.type in _CASE_ENDS:
                    self.refuse_if(node.children[0].type == "$(")
                elif child.type == "&":
                    self.script.background = True
            self.compound_depth -= 1
            self.substitution_depth -= is_dollar
        else:
            # In an expansion backquotes are text to the grammar: `${x:-`ls`}`.
            self.refuse_if(node.type in _TEXT_KINDS and "`" in self.text_of(node))
            for child in node.named_children:
                self.substitutions(child, depth + 1)

    def _may_expand_braces(self, node: Node, value: str) -> bool:
        """Whether a shell may expand braces in *node*, whose text without quotes is *value*."""
        text = self.text_of(node)
        if "{" not in text or node.type not in ("word", "concatenation"):
            return False
        bare = (node.children or [node]) if node.type == "concatenation" else [node]
        if any("{" in self.text_of(each) and each.type not in _QUOTED for each in bare):
            parts_words = "," in value or ".." in value
        else:
            parts_words = _QUOTED_BRACES.search(text) is not None
        return parts_words or _ESCAPED_BRACES.search(text) is not None

    def _is_accepted(self, node: Node, word: Word) -> bool:
        """Whether the host accepts an expansion in *node*, whatever its value: `"is $(date)"`."""
        kind = node.type
        if kind == "concatenation":
            return not self._may_expand_braces(node, word.value) and all(
                self._is_accepted(child, word) for child in node.children
            )
        if kind == "word":
            return not self._may_expand_braces(node, self.text_of(node))
        if kind == "string":
            return self._is_accepted_string(node)
        if kind == "simple_expansion":
            return self.text_of(node) == "$HOME" and self._is_inherited("HOME")
        if kind == "arithmetic_expansion":
            self._has_unknown_value = True
            return _ARITHMETIC.fullmatch(self.text_of(node)) is not None
        return kind in ("number", "raw_string", "variable_name", "test_operator")

    def _is_accepted_string(self, node: Node) -> bool:
        """Whether the host accepts a double-quoted string: two of its characters are literal."""
        characters, has_unknown_value = len(self.text_of(node)) - 2, False
        for child in node.named_children:
            kind, text = child.type, self.text_of(child).lstrip()
            if kind == "string_content":
                continue
            if kind == "simple_expansion":
                name = text[1:]
                is_fixed = name in SET_BY_SHELL or self._is_inherited(name)
                if name not in self.shell.variables.texts or not is_fixed:
                    return False
            elif kind == "arithmetic_expansion":
                if not _ARITHMETIC.fullmatch(text):
                    return False
            elif kind != "command_substitution":
                return False
            if text == "$HOME":
                characters += 2
            elif kind == "command_substitution" and self._is_quoted_heredoc(child):
                characters += 2 - len(text)
            else:
                characters -= len(text)
                has_unknown_value = True
        self._has_unknown_value |= has_unknown_value
        return characters >= 2 or not has_unknown_value

    def _is_inherited(self, name: str) -> bool:
        """Whether the command sets no variable *name*: the name occurs behind `$` alone."""
        return re.search(rf"(?<![$\w]){re.escape(name)}(?!\w)", self._unquoted) is None

    @cached_property
    def _unquoted(self) -> str:
        return _QUOTING.sub("", self.source.decode("utf-8"))

    def _is_quoted_heredoc(self, node: Node) -> bool:
        """Whether *node* is a here-document that quotes text: ``$(cat <<'E'``, lines, ``E)``."""
        kinds = [child.type for child in node.named_children]
        is_document = _CAT_HEREDOC.match(self.text_of(node)) is not None
        return kinds == ["redirected_statement"] and is_document

    def redirection(self, node: Node, depth: int) -> list[Word]:
        """Read a redirection; return the words that the grammar counts as further targets."""
        operator, targets = "", []
        for child in node.children:
            if not child.is_named:
                operator = child.type
            elif child.type != "file_descriptor":
                targets.append(self.word(child, depth + 1))
                if child.type == "concatenation" and _HAS_EXPANSION.search(self.text_of(child)):
                    self.script.note(self.text_of(child), UNKNOWN)
        if operator == "<<<":
            for word in targets:
                if not (word.literal or word.vetted):
                    self.script.note(word.raw, UNKNOWN)
            return []
        if operator not in _OPERATORS or not targets:
            self.script.note(self.text_of(node), UNSEEN)
            return targets
        target, writes, copies = targets[0], operator[0] in ">&", operator[1:] == "&"
        if (
            target.raw == "}"
            or target.value[:1] == "!"
            or (copies and target.value[:1] == "-")
            # `>&` expands its target twice.
            or (operator == ">&" and not _NO_EXPANSION.fullmatch(target.value))
        ):
            self.script.note(self.text_of(node), DIFFER)
        is_number = copies and DESCRIPTOR.match(target.value)
        if not is_number and target.value not in HARMLESS_TARGETS:
            named = target.literal or (writes and with_home(target))
            if not named or target.raw[:1] == "$":
                self.script.note(target.raw, UNKNOWN)
            self.script.targets += targets_of(target, writes=writes)
            if target.known and not target.literal:  # its value was set before
                self.script.targets.append(Redirection(target.value, writes))
        return targets[1:]

    def here_document(self, node: Node, depth: int) -> None:
        """Read a here-document, and the commands on the line that begins it."""
        start = next((child for child in node.children if child.type == "heredoc_start"), None)
        word = self.text_of(start) if start is not None else ""
        quoted = any(mark in word for mark in "'\"\\")
        if word[:1] in ("'", '"') and word[-1:] != word[:1]:
            self.script.note(word, DIFFER)
        for child in node.children:
            if child.type == "heredoc_body":
                found = len(self.script.commands)
                if not quoted:
                    self.substitutions(child, depth + 1)
                    text = self.text_of(child)
                    is_unseen = len(self.script.commands) == found
                    self.refuse_if(is_unseen and ("$(" in text or "`" in text))
            elif child.type == "heredoc_end" and self.compound_depth:
                behind = self.source[child.end_byte :].partition(b"\n")[0]
                if behind:  # to a shell the here-document goes on
                    self.script.note(behind.decode("utf-8"), DIFFER)
                self.refuse_if(behind.lstrip(b" \t")[:1] not in (b"", b")"))
            elif child.is_named and child.type not in ("heredoc_start", "heredoc_end"):
                self.statement(child, depth + 1)
        if not quoted:
            self.script.note(self.text_of(start or node), "does not quote its word")

    def statement(self, node: Node, depth: int) -> None:
        """Read a statement and all that it contains."""
        kind = node.type
        self.refuse_if(depth > limits.NESTING)
        if kind == "command":
            self._command(node, depth)
        elif kind in ("variable_assignment", "variable_assignments"):
            self._assignments(node, depth)
        elif kind in ("declaration_command", "unset_command", "test_command"):
            self._declaration_or_test(node, depth)
        elif kind == "redirected_statement":
            self._redirected(node, depth)
        elif kind in WORDS:
            self.word(node, depth)
        elif kind == "heredoc_redirect":
            self.here_document(node, depth)
        elif kind in ("file_redirect", "herestring_redirect"):
            self.redirection(node, depth)  # of no command
        elif kind != "comment":
            self._children(node, kind, depth)

    def _children(self, node: Node, kind: str, depth: int) -> None:
        self.refuse_if(kind == "c_style_for_statement")
        if kind in ("subshell", "compound_statement"):
            text = self.text_of(node)
            self.refuse_if(text.startswith("(("))  # arithmetic, or two subshells
            # To a shell `{a` is a program, so `}` ends the compound statement around it.
            self.refuse_if(self.compound_depth > 0 and _GLUED_BRACE.match(text) is not None)
        # Among the words of a command a shell sees none.
        between = node.parent is not None and node.parent.type == "command"
        if kind == "subshell" and self.substitution_depth and not between:
            # `$(a; (b))`: shells differ on `))`.
            self.refuse_if(self.source[node.end_byte : node.end_byte + 1] == b")")
        self.script.split |= kind in ("pipeline", "subshell") and not between
        if kind in _COMPOUND and not self.compound_depth:
            self.script.statements.append(Statement(self.text_of(node), _is_piped(node)))
        self.compound_depth += kind in _COMPOUND
        for child in node.children:
            if child.is_named:
                self.statement(child, depth + 1)
            if child.type == "&":
                self.script.background = True
        self.compound_depth -= kind in _COMPOUND

    def _command(self, node: Node, depth: int) -> None:
        command = SimpleCommand(requoted=is_requoted(self.text_of(node)))
        words, count_before, precedes_program = command.words, 0, False
        for child in node.children:
            kind = child.type
            if kind in ("file_redirect", "herestring_redirect"):
                self._remove_descriptor(words, child.start_byte)
                count_before = count_before or len(words)
                command.redirected = True
                command.redirected_first |= not words
                precedes_program |= all(map(is_assignment, words))
                first_target = len(self.script.targets)
                extra = self.redirection(child, depth + 1)
                words += extra
                command.has_words_behind |= bool(extra)
                command.writes_file |= any(t.writes for t in self.script.targets[first_target:])
                continue
            command.has_words_behind |= count_before > 0
            if kind == "variable_assignment":
                words.append(self._assignment(child, depth + 1))
            elif kind == "command_name":
                words.append(self.word(child.children[0], depth + 1))
            elif child.is_named and kind not in WORDS:
                self.refuse_if(self.text_of(child).startswith("(("))
                self.statement(child, depth + 1)
            else:
                words.append(self.word(child, depth + 1))
        texts = [child for child in node.children if child.type != "file_redirect"]
        is_fed = any(child.type == "herestring_redirect" for child in texts)
        command.input_text = " ".join(map(self.text_of, texts)) if is_fed else ""
        if precedes_program or all(not word.raw or is_assignment(word) for word in words):
            self._match_beginnings(node)
        # The words behind the redirection may be further targets.
        self._add(SimpleCommand(words[:count_before] if command.has_words_behind else []))
        while len(words) > 1 and words[0].raw == "!":
            if command.redirected_first:  # `<a ! ls`: `!` is a program
                self.script.note(self.text_of(node), DIFFER)
            del words[0]  # `! ! ls`: the second `!` is a program to the grammar
        if not words and node.children:
            words.append(Word())  # a redirection without a program
        if words:
            # A test that is a command to the grammar; an assignment behind a redirection.
            if words[0].raw in TESTS or (command.redirected_first and is_assignment(words[0])):
                self.script.note(self.text_of(node), DIFFER)
            self.refuse_if(self.compound_depth > 0 and words[0].raw in _CLOSING_KEYWORDS)
        self._add(command)

    def _match_beginnings(self, node: Node) -> None:
        """Let deny and ask rules match *node*, which runs no program, by each beginning of it."""
        for child in node.children[: limits.NESTING]:
            for each in child.named_children if child.type == "file_redirect" else [child]:
                text = self._text(node.start_byte, each.end_byte)
                self.script.texts += dict.fromkeys((text, text.lstrip("! ")))

    def _add(self, command: SimpleCommand) -> None:
        if command.words:
            self.script.commands.append(command)

    def _declaration_or_test(self, node: Node, depth: int) -> None:
        """Read a declaration or a test as one list of words and operators."""
        words: list[Word] = []

        def walk(child: Node, depth: int) -> None:
            self.refuse_if(depth > limits.NESTING)
            if child.type == "variable_assignment":
                words.append(self._assignment(child, depth))
            elif child.type in WORDS or not child.children:
                words.append(self.word(child, depth))
            else:
                for each in child.children:
                    walk(each, depth + 1)

        for child in node.children:
            walk(child, depth + 1)
            if node.type == "declaration_command" and child.type == "concatenation":
                self.script.note(self.text_of(child), UNSEEN)
        if node.type == "declaration_command" and all(map(is_assignment, words[1:])):
            self._remember(words[1:])
        if words[0].raw in TESTS:
            # To a shell `[[a` is a program.
            after_bracket = self.text_of(node)[len(words[0].raw) :][:1]
            expands = any(a.raw == "=~" and _EXPANDS.search(b.raw) for a, b in pairwise(words))
            if expands or not (after_bracket.isspace() and is_plain_test(words)):
                self.script.note(self.text_of(node), DIFFER)
            for word in words:
                if "$" in word.raw and word.raw[0] != "'":
                    word.literal, word.vetted = False, word.literal or word.vetted
        self._add(SimpleCommand(words))

    def _assignments(self, node: Node, depth: int) -> None:
        nodes = [node] if node.type == "variable_assignment" else node.named_children
        words = [self._assignment(each, depth + 1) for each in nodes]
        self._remember(words)
        if len(nodes) > 1:  # no rule matches a single assignment
            self._match_beginnings(node)
        self._add(SimpleCommand(words, piped=_is_piped(node)))

    def _remember(self, words: list[Word]) -> None:
        """Remember the values that *words* set, for the commands that follow."""
        for word in words:
            name, _, value = word.value.partition("=")
            if word.known and not word.glob:
                self.variables[name] = value
            else:
                self.variables.pop(name, None)

    def _assignment(self, node: Node, depth: int) -> Word:
        value = node.child_by_field_name("value")
        raw = self.text_of(node)
        if value is None:
            return Word(raw, raw)
        word = self.word(value, depth)
        name = self._text(node.start_byte, value.start_byte)
        word.raw = raw
        word.value = name + word.value
        return word

    def _remove_descriptor(self, words: list[Word], at: int) -> None:
        """Remove the last word where it belongs to the redirection at *at*: `{fd}>a`."""
        if len(words) < 2 or not _DESCRIPTOR.fullmatch(words[-1].raw):
            return
        raw = words[-1].raw.encode("utf-8")
        if self.source[at - len(raw) : at] == raw and self.source[at : at + 1] in (b"<", b">"):
            del words[-1]

    def _redirected(self, node: Node, depth: int) -> None:
        body = node.child_by_field_name("body")
        first = len(self.script.commands)
        words_before: list[Word] = []  # the words of the last command before its redirection
        if body is not None:
            self.statement(body, depth + 1)
        else:
            self._add(SimpleCommand([Word()]))
        if body is None or body.type.startswith(("variable_assignment", "negated_command")):
            self._match_beginnings(node)
        if body is not None and _last(body).type == "test_command":
            self.script.note(self.text_of(node), UNSEEN)  # `a | [ b ] >&2`
        count, first_target = len(self.script.commands), len(self.script.targets)
        if count > first:
            self.script.commands[-1].redirected = True
            end = body.end_byte if body is not None else 0
            self._remove_descriptor(self.script.commands[-1].words, end)
        for child in node.children:
            if child.type == "heredoc_redirect":
                self.here_document(child, depth + 1)
            elif child.type in ("file_redirect", "herestring_redirect"):
                extra = self.redirection(child, depth + 1)
                if extra and body is not None and 0 < len(self.script.commands) == count:
                    # `> f b`: to the grammar `b` is a further target.
                    last = self.script.commands[-1]
                    words_before = words_before or [*last.words]
                    last.words += extra
                    last.has_words_behind = True
                elif extra:
                    self._add(SimpleCommand(extra, has_words_behind=True))
        if any(target.writes for target in self.script.targets[first_target:]):
            commands = self.script.commands[first:count]
            within = {n for each in commands for word in each.words for n in range(*word.inner)}
            for number, command in enumerate(commands, first):
                command.writes_file |= number not in within
        self._add(SimpleCommand(words_before))


def _last(body: Node) -> Node:
    """Return the last statement of a pipeline or a list, to which a redirection belongs."""
    while body.type in ("negated_command", "pipeline", "list"):
        body = body.children[-1]
    return body


# `{fd}>a` sets a variable; `{fd}` is a word to the grammar.
_DESCRIPTOR: Final = re.compile(r"\{[A-Za-z_]\w*(?:\[[^\]]*\])?\}")

# What separates words. Any other blank behind a backslash belongs to a word.
_BLANK: Final = re.compile(rb"[ \t\n]|\\\n")

# Tokens that `_TreeReader` makes words of, with all of their text.
_WORD_TOKENS: Final = frozenset({"$", "``"})


def _uncovered(root: Node, source: bytes) -> Iterator[bytes]:
    """Yield the text of *source* that no node below *root* covers, without blanks."""
    nodes, gaps = [root], [(0, root.start_byte), (root.end_byte, len(source))]
    while nodes:
        node = nodes.pop()
        at = node.start_byte
        if node.child_count and node.type != "heredoc_body":  # its text has no nodes
            for child in node.children:
                gaps.append((at, child.start_byte))
                at = max(at, child.end_byte)
            gaps.append((at, node.end_byte))
            nodes += node.children
        elif not node.is_named and node.type not in _WORD_TOKENS:
            extra = source[at : node.end_byte].removesuffix(node.type.encode("utf-8"))
            gaps.append((at, at + len(extra)))
    return filter(None, (_BLANK.sub(b"", source[slice(*gap)]) for gap in gaps))


def _is_piped(node: Node) -> bool:
    above = node.parent
    while above is not None and above.type in ("redirected_statement", "negated_command"):
        above = above.parent
    return above is not None and above.type == "pipeline"


@cache
def _language() -> Language | None:
    try:
        import tree_sitter_bash  # noqa: PLC0415 - an extra, and 27 ms
        from tree_sitter import Language  # noqa: PLC0415
    except ImportError:
        missing_extras.add("bash")
        return None
    return Language(tree_sitter_bash.language())


def is_installed() -> bool:
    """Return whether the grammar is installed."""
    return _language() is not None


def read_script(text: str, shell: Shell) -> Script | None:
    """Return the script of *text*; None without the grammar, or if it misreads *text*."""
    language = _language()
    if language is None or has_half(text) or _is_misread(text):
        return None
    from tree_sitter import Parser  # noqa: PLC0415 - as above

    source = _DASH_BEFORE_HEREDOC.sub(_DASH, text).encode("utf-8")
    root = Parser(language).parse(source).root_node  # threads must not share a parser
    if root.has_error or any(_uncovered(root, source)):
        return None
    reader = _TreeReader(source, shell)
    try:
        reader.statement(root, 0)
    except _NotRead:
        return None
    ill = ill_formed(root, source)
    if ill is not None:
        reader.script.note(reader.text_of(ill), UNSEEN)
    return reader.script


# The grammar has no node for a dash before a here-document (`cat - <<E`): a letter replaces it.
_DASH: Final = "\ue000"
_DASH_BEFORE_HEREDOC: Final = re.compile(r"(?<=[ \t])-(?=[ \t]*<<)")


def _is_misread(text: str) -> bool:
    """Return whether the grammar reads *text* otherwise than a shell.

    It adds a line break to the word behind it if that begins with a backslash, ends a here-document
    at a line that only begins with its delimiter, and knows no redirection behind `!`.
    """
    if "\n\\" in text or ("!" in text and _NEGATED_REDIRECTION.search(text)):
        return True
    if "<<" not in text:
        return False
    found = HEREDOC.findall(text)
    if len(found) < len(_HEREDOCS.findall(text)):
        return True  # an unknown delimiter
    words = {"".join(names) for names in found}
    lines = [line.lstrip("\t") for line in text.split("\n")[1:]]
    return any(
        line.startswith(word) and line not in words and line[len(word) :].lstrip(" \t")[:1] != ")"
        for word in words
        for line in lines
    )


_NEGATED_REDIRECTION = re.compile(r"(?<![^\s;&|({])!(?=[ \t]+(?:![ \t]+)*(?:[0-9]*[<>](?!\()|&>))")
_HEREDOCS = re.compile(r"(?<!<)<<(?!<)")
