"""A shell command read by the grammar of tree-sitter-bash, an optional dependency.

The tree becomes a `Script`. The grammar accepts more than a shell does, and takes some of it for
something else. So shapes are listed: which nodes may stand in which, how a leaf is written, what
may stand between. Other text is cut too, for rules that deny, and makes the script ambiguous.
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
from policy.hosts.claude.shell.match_texts import DOCUMENT, is_requoted

if TYPE_CHECKING:
    from tree_sitter import Language, Node, Parser

    from policy.commands.knowledge import Shell


# The kinds of words. Which of them are taken for what they are is for who reads words to say.
WORDS: Final = frozenset(
    "word number raw_string string concatenation simple_expansion expansion ansi_c_string"
    " translated_string command_substitution process_substitution arithmetic_expansion"
    " brace_expression extglob_pattern regex variable_name special_variable_name test_operator"
    " file_descriptor array subscript".split()
)
# The statements that the host looks into, and those whose redirections it reads.
_STATEMENTS: Final = frozenset(
    "command variable_assignment declaration_command unset_command test_command"
    " redirected_statement negated_command pipeline list if_statement while_statement".split()
)
_REDIRECTED: Final = _STATEMENTS - {
    *"unset_command test_command if_statement while_statement".split()
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
_SOME_BLANK: Final = re.compile(r"[ \t]")
_NOTHING: Final = re.compile(r"")
_INSIDE_QUOTES: Final = re.compile(r"[ \t\n]*")


@frozen
class _Shape:
    """What a node may consist of."""

    children: frozenset[str]  # the kinds of nodes and the operators that may stand in it
    between: re.Pattern[str] = _BLANKS  # what is written between two of them
    # It holds statements: two of them never without a line break or an operator between them.
    statements: bool = False
    apart: bool = False  # there is a blank between any two words in it


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
    "variable_assignment": _Shape(WORDS - {"array", "subscript"} | {"=", "+="}, between=_NOTHING),
    "file_redirect": _words(*_OPERATORS),
    "herestring_redirect": _words("<<<"),
    "heredoc_redirect": _Shape(
        frozenset("<< <<- heredoc_start heredoc_body heredoc_end".split()), _LINES
    ),
    "concatenation": _words("$", between=_NOTHING),
    "string": _Shape(WORDS | {'"', "string_content", "$"}, _INSIDE_QUOTES),
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


def ill_formed(
    node: Node, source: bytes, depth: int = 0, *, inside: bool = False, quoted: bool = False
) -> Node | None:
    """Return the first node of *node* and all that it holds that has no shape that the host reads.

    It stands in *depth* others; *inside* a statement that holds others; in *quoted* text, where
    blanks may belong to an operator.
    """
    kind, children = node.type, node.children
    if depth > limits.NESTING:
        return node
    if kind in _CLOSED:
        return None
    shape = _SHAPES.get(kind)
    if shape is None or (not children and kind != "program"):
        return None if not children and _is_leaf(node, source, quoted=quoted) else node
    inside |= kind in INSIDE
    quoted = kind == "string" or (quoted and kind == "simple_expansion")
    position, before, separated = children[0].start_byte if children else 0, "", True
    for child in children:
        gap = source[position : child.start_byte].decode()
        is_broken = (
            child.start_byte < position
            or not shape.between.fullmatch(gap)
            or (before == "comment" and "\n" not in gap)
            or ({before, child.type} <= _APART and not _SOME_BLANK.search(gap) and shape.apart)
            or (child.type in _STATEMENTS and not (separated or "\n" in gap))
        )
        if is_broken:
            return node
        position, before = child.end_byte, child.type
        separated = before not in _STATEMENTS and (separated or not child.is_named)
        may_stand = before in shape.children or (
            shape.statements
            and not (before == "pipeline" and inside)
            and before in (_REDIRECTED if kind == "redirected_statement" else _STATEMENTS)
        )
        if not may_stand:
            return child if child.is_named else node
        found = ill_formed(child, source, depth + 1, inside=inside, quoted=quoted)
        if found is not None:
            return found
    return None


def _is_leaf(node: Node, source: bytes, *, quoted: bool) -> bool:
    kind, text = node.type, source[node.start_byte : node.end_byte].decode()
    if not node.is_named:
        return (text.lstrip(" \t\n") if quoted else text) == kind
    leaf = _LEAVES.get(kind)
    return kind in _FREE or (leaf is not None and leaf.fullmatch(text) is not None)


_ESCAPE: Final = re.compile(r"\\(\n|.)", re.DOTALL)
_QUOTED_ESCAPE: Final = re.compile(r'\\([$`"\\\n])')
# What zsh reads beside a variable in a text: `"$x[1]"`, `"$x:h"`, `"$=x"`.
_OF_ZSH: Final = re.compile(
    r"(?<!\\)(?:\\\\)*\$(?:(?:\w+|[-?*@!#$](?:\w*|[-?*@!#]))(?:\[|:[A-Za-z&])|[+^=~\[])"
)
# A variable in braces.
_BRACED: Final = re.compile(r"\$\{([A-Za-z_]\w*)(?::\?[^{}$`]*)?\}")
_UNQUOTED_GLOB: Final = re.compile(r"(?:^|[^\\])(?:\\\\)*[*?\[]")
_NUMBERS: Final = re.compile(
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
_CAT_DOCUMENT: Final = re.compile(r"\$\(\s*cat\s*<<\s*['\"]")
_OF_CASES: Final = frozenset({";;", ";&", ";;&"})
# A word that begins with the home folder.
_HOMED: Final = re.compile(r"""["']*\$HOME(?!\w)""")
_QUOTING: Final = re.compile(r"['\"\\]")
# Braces that a host may not read as a shell does: escaped, or, quoted, with what parts words.
_ESCAPED_BRACES: Final = re.compile(r"\{[^{]*\\\}|\{[^}]*\\\{")
_QUOTED_BRACES: Final = re.compile(r"\{\S*(?:,|\.\.)\S")

_QUOTED: Final = frozenset({"string", "raw_string", "ansi_c_string", "expansion"})

# What a grammar takes for a text in an expansion.
_TEXTS: Final = frozenset("word raw_string regex extglob_pattern number".split())

_TWICE_ALIKE: Final = re.compile(r"[A-Za-z0-9./_-]+")

# What a shell puts something else for, or would without the quotes around it.
_EXPANDED: Final = re.compile(r"(?:^|[^\\])(?:\\\\)*[`$]")

# Words that end a part of a statement, and are no names of programs.
_ENDING: Final = frozenset("then do done elif else fi esac }".split())

# In an expression that a text is matched with; a grammar takes all of it for text.
_PUT_IN: Final = re.compile(r"^[^']*(?:[$`]|[<>]\()")

_GLUED: Final = re.compile(r"\{\S")


class _NotRead(Exception):
    """A shell may see another end of a statement or an expansion than the grammar does."""


class _TreeReader:
    """Walks a tree once, and reads it into a script. Its methods raise `_NotRead`."""

    def __init__(self, source: bytes, shell: Shell) -> None:
        self.source = source
        self.shell = shell
        self.script = Script()
        self.variables: dict[str, str] = {}
        self.inside = 0  # statements that hold others
        self.substituted = 0  # of these, that are `$(...)`
        self._put_in = False  # whether a word holds an unknown value

    def text_of(self, node: Node) -> str:
        """Return what was written."""
        return self._text(node.start_byte, node.end_byte)

    def _text(self, start: int, end: int) -> str:
        return self.source[start:end].decode("utf-8").replace(_DASH, "-")

    @staticmethod
    def refuse(unread: bool) -> None:  # noqa: FBT001  # it is all that counts
        """Raise where the grammar may have *unread* something."""
        if unread:
            raise _NotRead

    def word(self, node: Node, depth: int) -> Word:
        """Return a word; commands that are substituted in it become commands before it."""
        word = Word(self.text_of(node))
        self.refuse(depth > limits.NESTING)
        first = len(self.script.commands)
        pieces: list[str] = []
        self._piece(node, word, pieces, depth)
        word.plain = "".join(pieces)
        if word.plain[1:2] not in ("", "/") and word.plain[0] == "~" and _HOMED.match(word.raw):
            # `"$HOME x"`: a file beside the home folder.
            word.plain, word.literal, word.known = "$HOME" + word.plain[1:], False, False
        word.inner = (first, len(self.script.commands))
        if not word.literal:
            self._put_in = False
            word.vetted = self._is_vetted(node, word) and not (
                self._put_in and word.plain.startswith("-")
            )
        return word

    def _piece(self, node: Node, word: Word, pieces: list[str], depth: int) -> None:
        kind, text = node.type, self.text_of(node)
        if kind == "raw_string":
            pieces.append(text[1:-1])
        elif kind == "string":
            self._string(node, word, pieces, depth)
        elif kind == "concatenation":
            for child in node.children:
                self._piece(child, word, pieces, depth + 1)
            if self._has_braces(node, "".join(pieces)):
                word.literal = word.known = False
        elif kind in ("word", "number", "regex", "extglob_pattern") or (
            not node.is_named and not node.children
        ):
            word.glob |= bool(_UNQUOTED_GLOB.search(text))
            word.literal &= kind != "$"
            if (kind == "number" and node.children) or self._has_braces(node, text):
                word.literal = word.known = False
            pieces.append(_ESCAPE.sub(lambda found: found[1].strip("\n"), text))
        elif kind == "ansi_c_string":
            word.literal = word.known = False
            pieces.append(text[2:-1])
        elif kind in ("variable_name", "special_variable_name", "test_operator", "file_descriptor"):
            pieces.append(text)
        else:
            self._expansion(node, word, pieces, depth, homed=text == "$HOME" and not any(pieces))

    def _string(self, node: Node, word: Word, pieces: list[str], depth: int) -> None:
        position = node.start_byte + 1
        if _OF_ZSH.search(self.text_of(node)):
            self.script.note(self.text_of(node), DIFFER)
        for child in node.named_children:
            if child.type == "string_content":
                continue
            text = self.text_of(child)
            # The grammar counts blanks before a variable as part of it.
            blanks = len(text) - len(text.lstrip()) if child.type == "simple_expansion" else 0
            self._quoted(position, child.start_byte + blanks, pieces)
            position = child.end_byte
            self._expansion(child, word, pieces, depth + 1, homed=not any(pieces))
        self._quoted(position, node.end_byte - 1, pieces)

    def _quoted(self, start: int, end: int, pieces: list[str]) -> None:
        text = self._text(start, end)
        pieces.append(_QUOTED_ESCAPE.sub(lambda found: found[1].strip("\n"), text))

    def _expansion(
        self, node: Node, word: Word, pieces: list[str], depth: int, *, homed: bool
    ) -> None:
        """Read what a shell puts something else for; *homed* where a folder may begin with it."""
        text = self.text_of(node)
        braced = _BRACED.fullmatch(text)
        if node.type == "simple_expansion":
            name, folder = text.lstrip()[1:], FOLDERS.get(text.lstrip()[1:]) if homed else None
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
        """Read the commands of every substitution below *node*, which stands in a word."""
        if node.type == "expansion":
            self.refuse(not _EXPANSION.fullmatch(self.text_of(node)))
        elif node.type == "arithmetic_expansion":
            self.refuse(not {"'", "`"}.isdisjoint(self.text_of(node)))
        self.refuse(depth > limits.NESTING)
        if node.type in ("command_substitution", "process_substitution"):
            text = self.text_of(node)
            # One within another, which the grammar takes for a text; or a shell looks for the end
            # of what begins so in another way.
            self.refuse("\\`" in text or text.startswith("$(`"))
            # An array that ends where the substitution does: or is it a sum?
            self.refuse(text.endswith("))") and "=(" in text)
            self.inside += 1
            self.substituted += (is_put_in := text.startswith("$("))
            for child in node.children:
                if child.is_named:
                    self.statement(child, depth + 1)
                elif child.type in _OF_CASES:
                    self.refuse(node.children[0].type == "$(")
                elif child.type == "&":
                    self.script.background = True
            self.inside -= 1
            self.substituted -= is_put_in
        else:
            # In an expansion the grammar takes one for a text: `${x:-`ls`}`.
            self.refuse(node.type in _TEXTS and "`" in self.text_of(node))
            for child in node.named_children:
                self.substitutions(child, depth + 1)

    def _has_braces(self, node: Node, plain: str) -> bool:
        """Whether a shell may make several words of one that is *plain* without braces."""
        text = self.text_of(node)
        if "{" not in text or node.type not in ("word", "concatenation"):
            return False
        bare = (node.children or [node]) if node.type == "concatenation" else [node]
        if any("{" in self.text_of(each) and each.type not in _QUOTED for each in bare):
            parts_words = "," in plain or ".." in plain
        else:
            parts_words = _QUOTED_BRACES.search(text) is not None
        return parts_words or _ESCAPED_BRACES.search(text) is not None

    def _is_vetted(self, node: Node, word: Word) -> bool:
        """Whether the host takes a word that it cannot know: a text with something put in."""
        kind = node.type
        if kind == "concatenation":
            return not self._has_braces(node, word.plain) and all(
                self._is_vetted(child, word) for child in node.children
            )
        if kind == "word":
            return not self._has_braces(node, self.text_of(node))
        if kind == "string":
            return self._is_vetted_text(node)
        if kind == "simple_expansion":
            return self.text_of(node) == "$HOME" and self._is_inherited("HOME")
        if kind == "arithmetic_expansion":
            self._put_in = True
            return _NUMBERS.fullmatch(self.text_of(node)) is not None
        return kind in ("number", "raw_string", "variable_name", "test_operator")

    def _is_vetted_text(self, node: Node) -> bool:
        """Whether quoted text has two characters of its own beside what is put in."""
        own, put_in = len(self.text_of(node)) - 2, False
        for child in node.named_children:
            kind, text = child.type, self.text_of(child).lstrip()
            if kind == "string_content":
                continue
            if kind == "simple_expansion":
                name = text[1:]
                is_own = name in SET_BY_SHELL or self._is_inherited(name)
                if name not in self.shell.variables.texts or not is_own:
                    return False
            elif kind == "arithmetic_expansion":
                if not _NUMBERS.fullmatch(text):
                    return False
            elif kind != "command_substitution":
                return False
            if text == "$HOME":
                own += 2
            elif kind == "command_substitution" and self._is_document(child):
                own += 2 - len(text)
            else:
                own -= len(text)
                put_in = True
        self._put_in |= put_in
        return own >= 2 or not put_in

    def _is_inherited(self, name: str) -> bool:
        """Whether nothing in the text may set a variable: its name stands behind a `$` alone."""
        return re.search(rf"(?<![$\w]){re.escape(name)}(?!\w)", self._unquoted) is None

    @cached_property
    def _unquoted(self) -> str:
        return _QUOTING.sub("", self.source.decode("utf-8"))

    def _is_document(self, node: Node) -> bool:
        """Whether it is ``$(cat <<'E'``, a text and ``E)``: quoted in another way."""
        kinds = [child.type for child in node.named_children]
        is_document = _CAT_DOCUMENT.match(self.text_of(node)) is not None
        return kinds == ["redirected_statement"] and is_document

    def redirect(self, node: Node, depth: int) -> list[Word]:
        """Read a redirection; return words that only look like more targets."""
        operator, targets = "", []
        for child in node.children:
            if not child.is_named:
                operator = child.type
            elif child.type != "file_descriptor":
                targets.append(self.word(child, depth + 1))
                if child.type == "concatenation" and _EXPANDED.search(self.text_of(child)):
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
            or target.plain[:1] == "!"
            or (copies and target.plain[:1] == "-")
            # A name that is not the same once it was expanded again, as `>&` does.
            or (operator == ">&" and not _TWICE_ALIKE.fullmatch(target.plain))
        ):
            self.script.note(self.text_of(node), DIFFER)
        is_number = copies and DESCRIPTOR.match(target.plain)
        if not is_number and target.plain not in HARMLESS_TARGETS:
            named = target.literal or (writes and with_home(target))
            if not named or target.raw[:1] == "$":
                self.script.note(target.raw, UNKNOWN)
            self.script.targets += targets_of(target, writes=writes)
            if target.known and not target.literal:  # its value was set before
                self.script.targets.append(Redirection(target.plain, writes))
        return targets[1:]

    def document(self, node: Node, depth: int) -> None:
        """Read a here-document, and what stands behind the word that ends it."""
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
                    self.refuse(is_unseen and ("$(" in text or "`" in text))
            elif child.type == "heredoc_end" and self.inside:
                behind = self.source[child.end_byte :].partition(b"\n")[0]
                if behind:  # the text goes on, to a shell
                    self.script.note(behind.decode("utf-8"), DIFFER)
                self.refuse(behind.lstrip(b" \t")[:1] not in (b"", b")"))
            elif child.is_named and child.type not in ("heredoc_start", "heredoc_end"):
                self.statement(child, depth + 1)
        if not quoted:
            self.script.note(self.text_of(start or node), "does not quote its word")

    def statement(self, node: Node, depth: int) -> None:
        """Read a statement and all that it holds."""
        kind = node.type
        self.refuse(depth > limits.NESTING)
        if kind == "command":
            self._command(node, depth)
        elif kind in ("variable_assignment", "variable_assignments"):
            self._assignments(node, depth)
        elif kind in ("declaration_command", "unset_command", "test_command"):
            self._flat(node, depth)
        elif kind == "redirected_statement":
            self._redirected(node, depth)
        elif kind in WORDS:
            self.word(node, depth)
        elif kind == "heredoc_redirect":
            self.document(node, depth)
        elif kind in ("file_redirect", "herestring_redirect"):
            self.redirect(node, depth)  # of no command
        elif kind != "comment":
            self._children(node, kind, depth)

    def _children(self, node: Node, kind: str, depth: int) -> None:
        self.refuse(kind == "c_style_for_statement")
        if kind in ("subshell", "compound_statement"):
            text = self.text_of(node)
            self.refuse(text.startswith("(("))  # some see a sum, some two groups
            # `{a` is a program to a shell, so that its `}` ends what it stands in.
            self.refuse(self.inside > 0 and _GLUED.match(text) is not None)
        # Between the words of a command none can stand.
        between = node.parent is not None and node.parent.type == "command"
        if kind == "subshell" and self.substituted and not between:
            # `$(a; (b))`: do both parentheses end together?
            self.refuse(self.source[node.end_byte : node.end_byte + 1] == b")")
        self.script.split |= kind in ("pipeline", "subshell") and not between
        if kind in INSIDE and not self.inside:
            self.script.statements.append(Statement(self.text_of(node), _is_piped(node)))
        self.inside += kind in INSIDE
        for child in node.children:
            if child.is_named:
                self.statement(child, depth + 1)
            if child.type == "&":
                self.script.background = True
        self.inside -= kind in INSIDE

    def _command(self, node: Node, depth: int) -> None:
        command = SimpleCommand(requoted=is_requoted(self.text_of(node)))
        words, ahead, leads = command.words, 0, False
        for child in node.children:
            kind = child.type
            if kind in ("file_redirect", "herestring_redirect"):
                self._drop_descriptor(words, child.start_byte)
                ahead = ahead or len(words)
                command.redirected = True
                command.redirected_first |= not words
                leads |= all(map(is_assignment, words))
                known = len(self.script.targets)
                extra = self.redirect(child, depth + 1)
                words += extra
                command.has_words_behind |= bool(extra)
                command.writes_file |= any(t.writes for t in self.script.targets[known:])
                continue
            command.has_words_behind |= ahead > 0
            if kind == "variable_assignment":
                words.append(self._assignment(child, depth + 1))
            elif kind == "command_name":
                words.append(self.word(child.children[0], depth + 1))
            elif child.is_named and kind not in WORDS:
                self.refuse(self.text_of(child).startswith("(("))
                self.statement(child, depth + 1)
            else:
                words.append(self.word(child, depth + 1))
        left = [child for child in node.children if child.type != "file_redirect"]
        is_fed = any(child.type == "herestring_redirect" for child in left)
        command.input_text = " ".join(map(self.text_of, left)) if is_fed else ""
        if leads or all(not word.raw or is_assignment(word) for word in words):
            self._know_as_written(node)
        # Some read the rest as more targets.
        self._add(SimpleCommand(words[:ahead] if command.has_words_behind else []))
        while len(words) > 1 and words[0].raw == "!":
            if command.redirected_first:  # `<a ! ls`: it is one
                self.script.note(self.text_of(node), DIFFER)
            del words[0]  # `! ! ls`: the grammar takes the second for a program
        if not words and node.children:
            words.append(Word())  # a redirection alone, which is no program
        if words:
            # No test of a grammar, or what no shell but one begins with something redirected.
            if words[0].raw in TESTS or (command.redirected_first and is_assignment(words[0])):
                self.script.note(self.text_of(node), DIFFER)
            self.refuse(self.inside > 0 and words[0].raw in _ENDING)
        self._add(command)

    def _know_as_written(self, node: Node) -> None:
        """Let rules that deny or ask know what runs no program by each beginning of its text."""
        for child in node.children[: limits.NESTING]:
            for each in child.named_children if child.type == "file_redirect" else [child]:
                text = self._text(node.start_byte, each.end_byte)
                self.script.texts += dict.fromkeys((text, text.lstrip("! ")))

    def _add(self, command: SimpleCommand) -> None:
        if command.words:
            self.script.commands.append(command)

    def _flat(self, node: Node, depth: int) -> None:
        """Read a declaration or a test: words and operators, however they nest."""
        words: list[Word] = []

        def walk(child: Node, depth: int) -> None:
            self.refuse(depth > limits.NESTING)
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
            # `[[a` is a program to a shell.
            begun = self.text_of(node)[len(words[0].raw) :][:1]
            put_in = any(a.raw == "=~" and _PUT_IN.search(b.raw) for a, b in pairwise(words))
            if put_in or not (begun.isspace() and is_plain_test(words)):
                self.script.note(self.text_of(node), DIFFER)
            for word in words:
                if "$" in word.raw and word.raw[0] != "'":
                    word.literal, word.vetted = False, word.literal or word.vetted
        self._add(SimpleCommand(words))

    def _assignments(self, node: Node, depth: int) -> None:
        nodes = [node] if node.type == "variable_assignment" else node.named_children
        words = [self._assignment(each, depth + 1) for each in nodes]
        self._remember(words)
        if len(nodes) > 1:  # one alone is no command to rules
            self._know_as_written(node)
        self._add(SimpleCommand(words, piped=_is_piped(node)))

    def _remember(self, words: list[Word]) -> None:
        """Note the values of variables that are set for what follows."""
        for word in words:
            name, _, value = word.plain.partition("=")
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
        word.plain = name + word.plain
        return word

    def _drop_descriptor(self, words: list[Word], at: int) -> None:
        """Take the last word away where it is part of what is redirected at *at*: `{fd}>a`."""
        if len(words) < 2 or not _DESCRIPTOR.fullmatch(words[-1].raw):
            return
        raw = words[-1].raw.encode("utf-8")
        if self.source[at - len(raw) : at] == raw and self.source[at : at + 1] in (b"<", b">"):
            del words[-1]

    def _redirected(self, node: Node, depth: int) -> None:
        body = node.child_by_field_name("body")
        first = len(self.script.commands)
        begun: list[Word] = []  # the words of the last command before those that look like targets
        if body is not None:
            self.statement(body, depth + 1)
        else:
            self._add(SimpleCommand([Word()]))
        if body is None or body.type.startswith(("variable_assignment", "negated_command")):
            self._know_as_written(node)
        if body is not None and _last(body).type == "test_command":
            self.script.note(self.text_of(node), UNSEEN)  # `a | [ b ] >&2`
        count, inner = len(self.script.commands), len(self.script.targets)
        if count > first:
            self.script.commands[-1].redirected = True
            end = body.end_byte if body is not None else 0
            self._drop_descriptor(self.script.commands[-1].words, end)
        for child in node.children:
            if child.type == "heredoc_redirect":
                self.document(child, depth + 1)
            elif child.type in ("file_redirect", "herestring_redirect"):
                extra = self.redirect(child, depth + 1)
                if extra and body is not None and 0 < len(self.script.commands) == count:
                    # `> f b`: the grammar takes `b` for another target.
                    last = self.script.commands[-1]
                    begun = begun or [*last.words]
                    last.words += extra
                    last.has_words_behind = True
                elif extra:
                    self._add(SimpleCommand(extra, has_words_behind=True))
        if any(target.writes for target in self.script.targets[inner:]):
            commands = self.script.commands[first:count]
            within = {n for each in commands for word in each.words for n in range(*word.inner)}
            for number, command in enumerate(commands, first):
                command.writes_file |= number not in within
        self._add(SimpleCommand(begun))


def _last(body: Node) -> Node:
    """Return the last statement of a pipe or a list, to which a redirection belongs."""
    while body.type in ("negated_command", "pipeline", "list"):
        body = body.children[-1]
    return body


# `{fd}>a`, which sets a variable: a grammar takes it for a word.
_DESCRIPTOR: Final = re.compile(r"\{[A-Za-z_]\w*(?:\[[^\]]*\])?\}")

# What parts words; a backslash before any other blank makes that a word.
_BLANK: Final = re.compile(rb"[ \t\n]|\\\n")

# Tokens that become words with all of their text, whatever that is.
_IN_WORDS: Final = frozenset({"$", "``"})


def _uncovered(root: Node, source: bytes) -> Iterator[bytes]:
    """Yield the text of *source* that no node below *root* covers, blanks aside."""
    nodes, gaps = [root], [(0, root.start_byte), (root.end_byte, len(source))]
    while nodes:
        node = nodes.pop()
        at = node.start_byte
        if node.child_count and node.type != "heredoc_body":  # which is text beside its nodes
            for child in node.children:
                gaps.append((at, child.start_byte))
                at = max(at, child.end_byte)
            gaps.append((at, node.end_byte))
            nodes += node.children
        elif not node.is_named and node.type not in _IN_WORDS:
            own = source[at : node.end_byte].removesuffix(node.type.encode("utf-8"))
            gaps.append((at, at + len(own)))
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
    """Return whether the grammar is there."""
    return _language() is not None


def _parser() -> Parser | None:
    # One for each command: threads must not share it.
    language = _language()
    if language is None:
        return None
    from tree_sitter import Parser  # noqa: PLC0415 - as above

    return Parser(language)


def read_script(text: str, shell: Shell) -> Script | None:
    """Return what the grammar, if installed, reads of all of *text*; else None. Never fails."""
    parser = _parser()
    if parser is None or has_half(text) or _is_read_otherwise(text):
        return None
    source = _BEFORE_DOCUMENT.sub(_DASH, text).encode("utf-8")
    root = parser.parse(source).root_node
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


# For a dash before a here-document (`cat - <<E`) the grammar has no node: a letter stands there.
_DASH: Final = "\ue000"
_BEFORE_DOCUMENT: Final = re.compile(r"(?<=[ \t])-(?=[ \t]*<<)")


def _is_read_otherwise(text: str) -> bool:
    """Return whether the grammar reads *text* in another way than a shell.

    It puts a line break into a word that begins with a backslash, ends a here-document where a
    line begins with its last word, and knows no statement that negates a redirection alone.
    """
    if "\n\\" in text or ("!" in text and _NEGATING.search(text)):
        return True
    if "<<" not in text:
        return False
    found = DOCUMENT.findall(text)
    if len(found) < len(_DOCUMENTS.findall(text)):
        return True  # a word that is not known
    words = {"".join(names) for names in found}
    lines = [line.lstrip("\t") for line in text.split("\n")[1:]]
    return any(
        line.startswith(word) and line not in words and line[len(word) :].lstrip(" \t")[:1] != ")"
        for word in words
        for line in lines
    )


_NEGATING = re.compile(r"(?<![^\s;&|({])!(?=[ \t]+(?:![ \t]+)*(?:[0-9]*[<>](?!\()|&>))")
_DOCUMENTS = re.compile(r"(?<!<)<<(?!<)")
