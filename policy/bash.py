"""A shell command read by a real grammar, for hosts that look inside commands themselves.

The grammar is that of tree-sitter-bash, an optional dependency. Its tree becomes
a `Script`, the same form that `policy.words` gives plain commands. What the host
does not look through (`Shell.structures`) is taken apart all the same, so that a
rule can deny what is inside, and makes the script *opaque*.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from policy import limits
from policy.words import DESCRIPTOR, FOLDERS, HARMLESS_TARGETS, Script, Target, Word

if TYPE_CHECKING:
    from policy.dialect import Shell

__all__ = ["is_installed", "read_script"]


@cache
def _parser() -> Any:
    try:
        import tree_sitter_bash  # noqa: PLC0415 - an extra, and 27 ms
        from tree_sitter import Language, Parser  # noqa: PLC0415
    except ImportError:
        return None
    return Parser(Language(tree_sitter_bash.language()))


def is_installed() -> bool:
    """Return whether the grammar is there: the extra ``bash``."""
    return _parser() is not None


def read_script(text: str, shell: Shell) -> Script | None:
    """Return what the grammar makes of *text*; None where it is not installed.

    Never fails, and never vouches for what it has not read to the end.
    """
    parser = _parser()
    if parser is None:
        return None
    reader = _Reader(text.encode("utf-8", "surrogatepass"), shell)
    root = parser.parse(reader.source).root_node
    reader.script.opaque |= root.has_error
    reader.statement(root, 0)
    return reader.script


# Statements that hold others, and how deep a pipeline may be in what is looked through.
_INSIDE: Final = frozenset(
    "if_statement while_statement for_statement c_style_for_statement case_statement"
    " function_definition compound_statement subshell command_substitution"
    " process_substitution".split()
)
_WORDS: Final = frozenset(
    "word number raw_string string concatenation simple_expansion expansion ansi_c_string"
    " translated_string command_substitution process_substitution arithmetic_expansion"
    " brace_expression extglob_pattern regex variable_name special_variable_name test_operator"
    " file_descriptor array subscript".split()
)
_ESCAPE: Final = re.compile(r"\\(\n|.)", re.DOTALL)
_QUOTED_ESCAPE: Final = re.compile(r'\\([$`"\\\n])')
_UNQUOTED_GLOB: Final = re.compile(r"(?:^|[^\\])(?:\\\\)*[*?\[]")
_BRACES: Final = re.compile(r"\{[^{}]*(?:,|\.\.)")


class _Reader:
    """Walks a tree once. Its methods never raise, and their depth is bounded."""

    def __init__(self, source: bytes, shell: Shell) -> None:
        self.source = source
        self.shell = shell
        self.script = Script()
        self._variables: dict[str, str] = {}
        self._inside = 0  # statements that hold others

    def _text(self, node: Any) -> str:
        return self.source[node.start_byte : node.end_byte].decode("utf-8", "surrogatepass")

    # --- statements ----------------------------------------------------------------

    def statement(self, node: Any, depth: int) -> None:
        """Read a statement and all that it holds."""
        kind = node.type
        if depth > limits.NESTING:
            self.script.opaque = self.script.unread = True
            return
        if kind == "command":
            self._command(node, depth)
        elif kind in ("variable_assignment", "variable_assignments"):
            self._assignments(node, depth)
        elif kind in ("declaration_command", "unset_command", "test_command"):
            self._check(kind)
            self._flat(node, depth)
        elif kind == "redirected_statement":
            self._redirected(node, depth)
        elif kind in _WORDS:
            self.word(node, depth)
        elif kind == "heredoc_redirect":
            self._heredoc(node, depth)
        elif kind in ("file_redirect", "herestring_redirect"):
            self._redirect(node, depth)
        elif kind != "comment":
            self._children(node, kind, depth)

    def _check(self, kind: str) -> None:
        self.script.opaque |= kind not in self.shell.structures

    def _children(self, node: Any, kind: str, depth: int) -> None:
        self._check(kind if kind != "pipeline" or not self._inside else "inner pipeline")
        self._inside += kind in _INSIDE
        for child in node.children:
            if child.is_named:
                self.statement(child, depth + 1)
            elif child.type == "&" or (child.type == ";" and kind in _UNSEPARATED):
                self.script.opaque = True
        self._inside -= kind in _INSIDE

    def _command(self, node: Any, depth: int) -> None:
        words: list[Word] = []
        led = False
        for child in node.children:
            kind = child.type
            if kind in ("file_redirect", "herestring_redirect"):
                led |= not words and kind == "file_redirect"
                words += self._redirect(child, depth + 1)
            elif kind == "variable_assignment":
                words.append(self._assignment(child, depth + 1))
            elif kind == "command_name":
                words.append(self.word(child.children[0], depth + 1))
            elif child.is_named and kind not in _WORDS:
                self.statement(child, depth + 1)
            elif kind != "ERROR":
                words.append(self.word(child, depth + 1))
        self._add(words, led=led)

    def _add(self, words: list[Word], *, led: bool = False) -> None:
        if words:
            self.script.commands.append(words)
            if led:
                self.script.led.add(len(self.script.commands) - 1)

    def _flat(self, node: Any, depth: int) -> None:
        """Read a declaration or a test: words and operators, however they nest."""
        words: list[Word] = []

        def walk(child: Any, depth: int) -> None:
            if depth > limits.NESTING:
                self.script.opaque = self.script.unread = True
            elif child.type == "variable_assignment":
                words.append(self._assignment(child, depth))
            elif child.type in _WORDS or not child.children:
                words.append(self.word(child, depth))
            else:
                for each in child.children:
                    walk(each, depth + 1)

        for child in node.children:
            walk(child, depth + 1)
        self._add(words)

    def _assignments(self, node: Any, depth: int) -> None:
        nodes = [node] if node.type == "variable_assignment" else node.named_children
        words = [self._assignment(each, depth + 1) for each in nodes]
        if len(words) > 1:
            self._check(node.type)
        for word in words:
            name, _, value = word.plain.partition("=")
            if word.known and not word.glob:
                self._variables[name] = value
            else:
                self._variables.pop(name, None)
        self._add(words)

    def _assignment(self, node: Any, depth: int) -> Word:
        value = node.child_by_field_name("value")
        raw = self._text(node)
        if value is None:
            return Word(raw, raw)
        if value.type == "array" or node.children[0].type == "subscript":
            self.script.opaque = True
        word = self.word(value, depth)
        name = self.source[node.start_byte : value.start_byte].decode("utf-8", "surrogatepass")
        word.raw, word.plain = raw, name + word.plain
        return word

    def _redirected(self, node: Any, depth: int) -> None:
        body = node.child_by_field_name("body")
        if body is not None and body.type not in self.shell.redirected:
            self.script.opaque = True
        if body is not None:
            self.statement(body, depth + 1)
        count = len(self.script.commands)
        for child in node.children:
            if child.type == "heredoc_redirect":
                self._heredoc(child, depth + 1)
            elif child.type in ("file_redirect", "herestring_redirect"):
                extra = self._redirect(child, depth + 1)
                if extra and body is not None and len(self.script.commands) == count:
                    # `> f b`: the grammar takes `b` for another target.
                    self.script.commands[-1:] = [[*self.script.commands[-1], *extra]]
                elif extra:
                    self._add(extra)

    # --- redirections --------------------------------------------------------------

    def _redirect(self, node: Any, depth: int) -> list[Word]:
        """Read a redirection; return words that only look like more targets."""
        operator, targets = "", []
        for child in node.children:
            if child.type == "file_descriptor":
                self.script.opaque |= not self._text(child).isdigit()
            elif not child.is_named:
                operator = child.type
            else:
                targets.append(self.word(child, depth + 1))
        if operator == "<<<":
            self.script.opaque |= not all(word.literal or word.vetted for word in targets)
            return []
        if operator not in (">", ">>", ">|", "<", "&>", "&>>", ">&", "<&") or not targets:
            self.script.opaque = True
            return targets
        target = targets[0]
        if not (operator in (">&", "<&") and DESCRIPTOR.match(target.plain)) and (
            target.plain not in HARMLESS_TARGETS
        ):
            clean = target.literal and not re.search(r"[*?\[~]", target.plain)
            self.script.opaque |= not target.literal
            self.script.targets.append(
                Target(target.plain if clean else None, writes=operator[0] in ">&")
            )
        return targets[1:]

    def _heredoc(self, node: Any, depth: int) -> None:
        start = next((child for child in node.children if child.type == "heredoc_start"), None)
        quoted = start is not None and any(mark in self._text(start) for mark in "'\"\\")
        self._check("heredoc_redirect")
        for child in node.children:
            if child.type == "heredoc_body":
                self.script.opaque |= not quoted
                if not quoted:
                    self._substitutions(child, depth + 1)
            elif child.type not in ("heredoc_start", "heredoc_end", "<<", "<<-"):
                self.script.opaque = True
                if child.is_named:
                    self.statement(child, depth + 1)
        self.script.opaque |= not quoted

    # --- words ---------------------------------------------------------------------

    def word(self, node: Any, depth: int) -> Word:
        """Return a word; commands that are substituted in it become commands before it."""
        word = Word(self._text(node))
        if depth > limits.NESTING:
            self.script.opaque = self.script.unread = True
            word.literal = word.known = False
            return word
        first = len(self.script.commands)
        pieces: list[str] = []
        self._piece(node, word, pieces, depth)
        word.plain = "".join(pieces)
        word.inner = (first, len(self.script.commands))
        if not word.literal and self.shell.control:
            runtime = "\0" in word.plain
            word.plain = word.plain.replace("\0", "")
            word.vetted = self._is_vetted(node, word) and not (
                runtime and word.plain.startswith("-")
            )
        return word

    def _piece(self, node: Any, word: Word, pieces: list[str], depth: int) -> None:
        kind, text = node.type, self._text(node)
        if kind == "raw_string":
            pieces.append(text[1:-1])
        elif kind == "string":
            self._string(node, word, pieces, depth)
        elif kind == "concatenation":
            for child in node.children:
                self._piece(child, word, pieces, depth + 1)
            if _BRACES.search(text):
                word.literal = word.known = False
        elif kind == "simple_expansion":
            self._variable(text[1:], word, pieces, quoted=False)
        elif kind in ("word", "number", "regex", "extglob_pattern") or (
            not node.is_named and not node.children
        ):
            word.glob |= bool(_UNQUOTED_GLOB.search(text))
            if kind == "number" and node.children:
                word.literal = word.known = False
            pieces.append(_ESCAPE.sub(lambda found: found[1].strip("\n"), text))
        elif kind in ("variable_name", "special_variable_name", "test_operator", "file_descriptor"):
            pieces.append(text)
        else:
            word.literal = word.known = False
            pieces.append(text)
            self._substitutions(node, depth)

    def _string(self, node: Any, word: Word, pieces: list[str], depth: int) -> None:
        position = node.start_byte + 1
        for child in node.named_children:
            if child.type == "string_content":
                continue
            self._quoted(position, child.start_byte, pieces)
            position = child.end_byte
            if child.type == "simple_expansion":
                self._variable(self._text(child)[1:], word, pieces, quoted=not any(pieces))
            else:
                word.literal = word.known = False
                pieces.append(self._text(child))
                self._substitutions(child, depth + 1)
        self._quoted(position, node.end_byte - 1, pieces)

    def _quoted(self, start: int, end: int, pieces: list[str]) -> None:
        text = self.source[start:end].decode("utf-8", "surrogatepass")
        pieces.append(_QUOTED_ESCAPE.sub(lambda found: found[1].strip("\n"), text))

    def _variable(self, name: str, word: Word, pieces: list[str], *, quoted: bool) -> None:
        value = self._variables.get(name)
        folder = FOLDERS.get(name) if quoted else None
        if value is None and folder is not None:
            value = folder
        else:
            word.literal = False
        word.known &= value is not None
        pieces.append("$" + name if value is None else value)

    def _substitutions(self, node: Any, depth: int) -> None:
        """Read the commands of every substitution below *node*, which stands in a word."""
        if depth > limits.NESTING:
            self.script.opaque = self.script.unread = True
        elif node.type in ("command_substitution", "process_substitution"):
            self._inside += 1
            for child in node.children:
                if child.is_named:
                    self.statement(child, depth + 1)
                elif child.type in ("&", ";"):
                    self.script.opaque = True
            self._inside -= 1
        else:
            for child in node.named_children:
                self._substitutions(child, depth + 1)

    def _is_vetted(self, node: Any, word: Word) -> bool:
        """Whether the host takes a word that it cannot know: a text with something put in."""
        kind = node.type
        if kind == "concatenation":
            return not _BRACES.search(self._text(node)) and all(
                self._is_vetted(child, word) for child in node.children
            )
        if kind == "string":
            return self._is_vetted_text(node)
        if kind == "simple_expansion":
            return self._text(node) == "$HOME"
        if kind == "arithmetic_expansion":
            return _is_number(node)
        return kind in ("word", "number", "raw_string", "variable_name", "test_operator")

    def _is_vetted_text(self, node: Any) -> bool:
        """Whether quoted text has two characters of its own beside what is put in."""
        own, put_in = node.end_byte - node.start_byte - 2, False
        for child in node.named_children:
            text = self._text(child)
            if child.type == "string_content" or text == "$HOME":
                own += 2 * (text == "$HOME")
                continue
            own -= child.end_byte - child.start_byte
            if child.type == "simple_expansion":
                put_in = True
                if text[1:] not in self.shell.texts:
                    return False
            elif child.type == "arithmetic_expansion":
                put_in = True
                if not _is_number(child):
                    return False
            elif child.type == "command_substitution":
                if self._is_document(child):
                    own += 2
                else:
                    put_in = True
            else:
                return False
        return own >= 2 or not put_in

    def _is_document(self, node: Any) -> bool:
        """Whether it is ``$(cat <<'E'``, a text and ``E)``: quoted in another way."""
        if node.named_child_count != 1 or node.named_children[0].type != "redirected_statement":
            return False
        text = self._text(node)
        return re.match(r"\$\(\s*cat\s*<<\s*['\"]", text) is not None


def _is_number(node: Any) -> bool:
    """Whether arithmetic has numbers and operators only."""
    if node.type in ("variable_name", "simple_expansion", "expansion", "command_substitution"):
        return False
    return node.type not in ("string", "word") and all(map(_is_number, node.named_children))


_UNSEPARATED: Final = frozenset({"subshell", "command_substitution", "process_substitution"})
