"""A shell command read by a real grammar, for hosts that look inside commands themselves.

The grammar is that of tree-sitter-bash, an optional dependency. Its tree becomes
a `Script`, the same form that `policy.shell.words` gives plain commands. What the host
does not look through (`Shell.structures`) is taken apart all the same, so that a
rule can deny what is inside, and makes the script *opaque*.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING, Final

from policy import limits
from policy.shell.bash_words import WordReader
from policy.shell.rewording import is_reworded
from policy.shell.scanner import Scanner
from policy.shell.words import DESCRIPTOR, HARMLESS_TARGETS, Script, Word, targets_of

if TYPE_CHECKING:
    from tree_sitter import Language, Node, Parser

    from policy.dialect import Shell

__all__ = ["is_installed", "read_script"]


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


def read_script(text: str, shell: Shell) -> Script | None:
    """Return what the grammar makes of *text*; None where it is not installed.

    Never fails, and never vouches for what it has not read to the end.
    """
    parser = _parser()
    if parser is None:
        return None
    reader = _Reader(text.encode("utf-8", "surrogatepass"), shell)
    root = parser.parse(reader.source).root_node
    if root.has_error:
        for mended in _mended(reader.source):
            other = parser.parse(mended).root_node
            if not other.has_error:
                reader.closed = mended.endswith(b"'")
                reader.source, root = mended, other
                break
    reader.script.broken = root.has_error
    reader.script.opaque |= root.has_error
    reader.statement(root, 0)
    if root.has_error:
        # What stands in a wrong tree may stand nowhere in it.
        reader.script.commands += Scanner(text).run().commands
    return reader.script


def _mended(source: bytes) -> Iterator[bytes]:
    """Yield what the host takes an unfinished command for. A shell runs nothing of it."""
    for operator in (b"|&", b"|"):
        if source.rstrip().endswith(operator) and source.strip() != operator:
            yield source.rstrip().removesuffix(operator)
    if b"'" in source:
        yield source + b"'"


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


class _Reader(WordReader):
    """Walks a tree once."""

    # --- statements ----------------------------------------------------------------

    def statement(self, node: Node, depth: int) -> None:
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
            self.script.opaque = True  # of no command
            self._redirect(node, depth)
        elif kind != "comment":
            self._children(node, kind, depth)

    def _check(self, kind: str) -> None:
        self.script.opaque |= kind not in self.shell.structures

    def _children(self, node: Node, kind: str, depth: int) -> None:
        self._check(kind if kind != "pipeline" or not self.inside else "inner pipeline")
        if kind in _INSIDE and not self.inside:
            self.script.statements.append(self.text_of(node))
            if _is_piped(node):
                self.script.piped.append(self.text_of(node))
        self.inside += kind in _INSIDE
        for child in node.children:
            if child.is_missing and child.next_sibling is not None:
                self.script.stray |= self.text_of(child.next_sibling).startswith("((")
            if child.is_named:
                self.statement(child, depth + 1)
            elif child.type == "&":
                self.script.background = True
            elif child.type == ";" and kind in _UNSEPARATED:
                self.script.opaque = True
        self.inside -= kind in _INSIDE

    def _command(self, node: Node, depth: int) -> None:
        words: list[Word] = []
        led = redirected = writing = False
        for child in node.children:
            kind = child.type
            if kind in ("file_redirect", "herestring_redirect"):
                redirected |= bool(words)
            else:
                self.script.swallowed |= redirected
            if kind in ("file_redirect", "herestring_redirect"):
                led |= not words
                before, known = not words, len(self.script.targets)
                words += self._redirect(child, depth + 1)
                writing |= before and any(t.writes for t in self.script.targets[known:])
            elif kind == "variable_assignment":
                words.append(self._assignment(child, depth + 1))
            elif kind == "command_name":
                words.append(self.word(child.children[0], depth + 1))
            elif child.is_named and kind not in _WORDS:
                self.script.stray |= self.text_of(child).startswith("((")
                self.statement(child, depth + 1)
            elif kind != "ERROR":
                words.append(self.word(child, depth + 1))
        while len(words) > 1 and words[0].raw == "!":
            del words[0]  # `! ! ls`: the grammar takes the second for a program
        self.script.opaque |= bool(words) and words[0].raw in ("[", "[[")  # no test of a grammar
        self._add(words, led=led, writing=writing, reworded=is_reworded(self.text_of(node)))

    def _add(self, words: list[Word], **noted: bool) -> None:
        """Add a command, and note its number in the sets of the script that are named."""
        if words:
            self.script.commands.append(words)
            for name, holds in noted.items():
                if holds:
                    getattr(self.script, name).add(len(self.script.commands) - 1)

    def _flat(self, node: Node, depth: int) -> None:
        """Read a declaration or a test: words and operators, however they nest."""
        words: list[Word] = []

        def walk(child: Node, depth: int) -> None:
            if depth > limits.NESTING:
                self.script.opaque = self.script.unread = True
            elif child.type == "~":
                self.script.opaque = True  # of somebody's home
            elif child.type == "variable_assignment":
                words.append(self._assignment(child, depth))
            elif child.type in _WORDS or not child.children:
                words.append(self.word(child, depth))
            else:
                for each in child.children:
                    walk(each, depth + 1)

        for child in node.children:
            walk(child, depth + 1)
        raw = [word.raw for word in words]
        if raw[0] in ("[", "[["):  # `[[a` is a program to a shell
            self.script.opaque |= not self.text_of(node)[len(raw[0]) :][:1].isspace()
        if raw[0] in ("[", "[["):
            self.script.opaque |= not _is_test(words[1:-1])
            for word in words:
                if "$" in word.raw and word.raw[0] != "'":
                    word.literal, word.vetted = False, word.literal or word.vetted
        self.script.opaque |= raw[0] == "[" and not {"-a", "-o"}.isdisjoint(raw)
        self.script.opaque |= raw[0] == "[[" and any(word.glob for word in words[1:])
        self.script.opaque |= raw[0] in ("[", "[[") and not _is_counted(words)
        self._add(words)

    def _assignments(self, node: Node, depth: int) -> None:
        nodes = [node] if node.type == "variable_assignment" else node.named_children
        words = [self._assignment(each, depth + 1) for each in nodes]
        if len(words) > 1:
            self._check(node.type)
        for word in words:
            name, _, value = word.plain.partition("=")
            if word.known and not word.glob:
                self.variables[name] = value
            else:
                self.variables.pop(name, None)
        self._add(words)

    def _assignment(self, node: Node, depth: int) -> Word:
        value = node.child_by_field_name("value")
        raw = self.text_of(node)
        if value is None:
            return Word(raw, raw)
        if value.type == "array" or node.children[0].type == "subscript":
            self.script.opaque = True
        word = self.word(value, depth)
        name = self.source[node.start_byte : value.start_byte].decode("utf-8", "surrogatepass")
        word.raw, word.plain = raw, name + word.plain
        return word

    def _redirected(self, node: Node, depth: int) -> None:
        body = node.child_by_field_name("body")
        if body is None or body.type not in self.shell.redirected:
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

    def _redirect(self, node: Node, depth: int) -> list[Word]:
        """Read a redirection; return words that only look like more targets."""
        operator, targets = "", []
        for child in node.children:
            if child.type == "file_descriptor":
                self.script.opaque |= not self.text_of(child).isdigit()
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
            self.script.opaque |= not target.literal
            self.script.targets += targets_of(target, writes=operator[0] in ">&")
        self.script.swallowed |= len(targets) > 1
        return targets[1:]

    def _heredoc(self, node: Node, depth: int) -> None:
        start = next((child for child in node.children if child.type == "heredoc_start"), None)
        quoted = start is not None and any(mark in self.text_of(start) for mark in "'\"\\")
        self._check("heredoc_redirect")
        for child in node.children:
            if child.type == "heredoc_body":
                self.script.opaque |= not quoted
                if not quoted:
                    self._document(child, depth + 1)
            elif child.type not in ("heredoc_start", "heredoc_end", "<<", "<<-"):
                self.script.opaque = True
                if child.is_named:
                    self.statement(child, depth + 1)
        self.script.opaque |= not quoted

    def _document(self, node: Node, depth: int) -> None:
        """Read the substitutions of a text, also where the grammar does not see them."""
        found = len(self.script.commands)
        self.substitutions(node, depth)
        text = self.text_of(node)
        if len(self.script.commands) == found and ("$(" in text or "`" in text):
            quoted = text.replace("\\", "").replace('"', "")
            self.script.commands += Scanner(f'"{quoted}"').run().commands[:-2]


def _is_piped(node: Node) -> bool:
    above = node.parent
    if above is not None and above.type == "redirected_statement":
        above = above.parent
    return above is not None and above.type == "pipeline"


def _is_test(words: list[Word]) -> bool:
    """Whether a test is one that every reader takes apart alike: `x`, `-f x`, `a = b`."""
    tests: list[list[str]] = [[]]
    for word in words:
        if word.raw in ("&&", "||"):
            tests.append([])
        elif word.raw not in ("(", ")") and (tests[-1] or word.raw != "!"):
            tests[-1].append(word.raw)
    return all(word.raw for word in words) and all(
        len(test) == 1
        or (len(test) == 2 and test[0].startswith("-"))
        or (len(test) == 3 and (test[1] in _JOINING or test[1].startswith("-")))
        for test in tests
    )


_JOINING: Final = frozenset({"=", "==", "!=", "=~", "<", ">"})
_COMPARING: Final = frozenset("-eq -ne -lt -le -gt -ge".split())
_NUMBER: Final = re.compile(r"[+-]?[0-9]+")


def _is_counted(words: list[Word]) -> bool:
    """Whether what a test takes for a number is one: else a shell works out what it says."""
    plain = [word.plain for word in words]
    for at, word in enumerate(plain[:-1]):
        if word in _COMPARING and not all(
            _NUMBER.fullmatch(each) for each in (plain[at - 1], plain[at + 1])
        ):
            return False
        if word == "-t" and not _NUMBER.fullmatch(plain[at + 1]):
            return False
        if word == "-v" and ("[" in plain[at + 1] or not words[at + 1].literal):
            return False
    return True


_UNSEPARATED: Final = frozenset({"subshell", "command_substitution", "process_substitution"})
