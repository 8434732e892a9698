"""The statements of a shell command, read from the tree of a grammar (`policy.shell.bash`)."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING, Final

import attrs

from policy import limits
from policy.shell.bash_redirections import RedirectionReader
from policy.shell.bash_tests import TESTS, is_plain_test
from policy.shell.doubts import has_sum
from policy.shell.parts import DIFFER, UNSEEN
from policy.shell.readings import is_assignment
from policy.shell.rewording import is_reworded
from policy.shell.shapes import INSIDE, WORDS
from policy.shell.words import (
    Script,
    Simple,
    Statement,
    Word,
    otherwise,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tree_sitter import Node

    from policy.shells import Shell

__all__ = ["StatementReader"]


# Words that end a part of a statement, and are no names of programs.
_ENDING: Final = frozenset("then do done elif else fi esac }".split())


# In an expression that a text is matched with; a grammar takes all of it for text.
_PUT_IN: Final = re.compile(r"^[^']*(?:[$`]|[<>]\()")

_GLUED: Final = re.compile(r"\{\S")


# Statements whose parts no host follows one by one.
_ASIDE: Final = frozenset("function_definition case_statement c_style_for_statement".split())


def _is_aside(node: Node) -> bool:
    return node.type in _ASIDE or (
        node.type == "for_statement" and node.children[0].type == "select"
    )


class StatementReader(RedirectionReader):
    """Walks a tree once.

    Attributes:
        lost: where text stands that is in no node and no word: from, and up to.
        recovered: where text stands that is in no node, and in a word all the same.
    """

    def __init__(self, source: bytes, shell: Shell, *, closed: bool) -> None:
        super().__init__(source, shell, closed=closed)
        self.lost: list[tuple[int, int]] = []
        self.recovered: list[tuple[int, int]] = []

    def read(self, root: Node) -> Script:
        """Return what a tree comes to; `lost` is what is missing in that."""
        self.lost = [*_uncovered(root, self.source)]
        self.statement(root, 0)
        if self.unclosed is not None:
            self.script.commands += self._otherwise(self.unclosed)
        return self.script

    def _otherwise(self, word: Word) -> Iterator[Simple]:
        """Yield what a command comes to besides whose last word has a quote that is not closed."""
        for command in self.script.commands[:]:
            if command.words and command.words[-1] is word:
                for others in otherwise(word):
                    yield attrs.evolve(command, words=[*command.words[:-1], *others])

    # --- statements ----------------------------------------------------------------

    def statement(self, node: Node, depth: int) -> None:
        """Read a statement and all that it holds."""
        kind = node.type
        if depth > limits.NESTING:
            self.give_up(node)
            return
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
        if kind == "c_style_for_statement":
            self.script.unclosed |= not has_sum(self.text_of(node))
        if kind in ("subshell", "compound_statement"):
            text = self.text_of(node)
            self.script.unclosed |= text.startswith("((") and not has_sum(text)
            # `{a` is a program to a shell, so that its `}` ends what it stands in.
            self.script.unclosed |= self.inside > 0 and _GLUED.match(text) is not None
        # Between the words of a command none can stand.
        between = node.parent is not None and node.parent.type == "command"
        if kind == "subshell" and self.substituted and not between:
            # `$(a; (b))`: do both parentheses end together?
            self.script.unclosed |= self.source[node.end_byte : node.end_byte + 1] == b")"
        self.script.split |= kind in ("pipeline", "subshell") and not between
        self.script.grouped |= kind == "subshell" and node.named_child_count > 1
        if kind in INSIDE and not self.inside:
            self.script.statements.append(Statement(self.text_of(node), _is_piped(node)))
        self.inside += kind in INSIDE
        self.aside += (is_aside := _is_aside(node))
        for child in node.children:
            if child.is_missing and child.next_sibling is not None:
                self.script.unclosed |= self.text_of(child.next_sibling).startswith("((")
            if child.is_named:
                self.statement(child, depth + 1)
            if child.type == "&":
                self.script.background = True
                self.script.background_inside |= self.inside > 0
        self.inside -= kind in INSIDE
        self.aside -= is_aside

    def _command(self, node: Node, depth: int) -> None:
        command = Simple(reworded=is_reworded(self.text_of(node)), aside=self.aside > 0)
        words, redirected, leads = command.words, False, False
        for child in node.children:
            kind = child.type
            if kind in ("file_redirect", "herestring_redirect"):
                self._drop_descriptor(words, child.start_byte)
                redirected |= bool(words)
                command.ahead = command.ahead or len(words)
                command.directed = True
                command.led |= not words
                leads |= all(map(is_assignment, words))
                before, known = not words, len(self.script.targets)
                extra = self.redirect(child, depth + 1)
                words += extra
                command.swallowed |= bool(extra)
                command.fills |= any(t.writes for t in self.script.targets[known:])
                command.writes |= before and command.fills
                continue
            command.swallowed |= redirected
            if kind == "variable_assignment":
                words.append(self._assignment(child, depth + 1))
            elif kind == "command_name":
                words.append(self.word(child.children[0], depth + 1))
            elif child.is_named and kind not in WORDS:
                self.script.unclosed |= self.text_of(child).startswith("((")
                self.statement(child, depth + 1)
            elif kind != "ERROR":
                words.append(self.word(child, depth + 1))
        command.fed = self._with_text(node)
        if leads or command.directed:
            command.bare = self._bare(node, words, leads=leads)
        while len(words) > 1 and words[0].raw == "!":
            if command.led:  # `<a ! ls`: it is one
                self.script.doubt(self.text_of(node), DIFFER)
            del words[0]  # `! ! ls`: the grammar takes the second for a program
            command.ahead = max(0, command.ahead - 1)
        if not words and node.children:
            words.append(Word())  # a redirection alone, which is no program
        if words:
            # No test of a grammar, or what no shell but one begins with something redirected.
            if words[0].raw in TESTS or (command.led and is_assignment(words[0])):
                self.script.doubt(self.text_of(node), DIFFER)
            self.script.unclosed |= self.inside > 0 and words[0].raw in _ENDING
        self._add(command)

    def _bare(self, node: Node, words: list[Word], *, leads: bool) -> str:
        """Return by which text rules know a command that redirects before its program, or none."""
        if all(not word.raw or is_assignment(word) for word in words):
            return self._without_last_assignments(node)
        if not leads:
            return ""
        broken = any(child.type == "ERROR" for child in node.children)
        return self._without_last_assignments(node) if broken else self.text_of(node)

    def _without_last_assignments(self, node: Node) -> str:
        """Return what stands in a statement before the variables that are set at its end.

        It ends where the grammar gets it wrong: `> x A=1; ls` is two to a shell.
        """
        end = node.start_byte
        for child in node.children:
            if child.type == "ERROR":
                break
            if child.type != "variable_assignment" and child.end_byte > child.start_byte:
                end = child.end_byte
        return self.source[node.start_byte : end].decode("utf-8")

    def _with_text(self, node: Node) -> str:
        """Return a command with the text that is put on its input, but no files; "" for none."""
        if all(child.type != "herestring_redirect" for child in node.children):
            return ""
        left = (child for child in node.children if child.type != "file_redirect")
        return " ".join([self.text_of(child) for child in left])

    def _add(self, command: Simple) -> None:
        if command.words:
            self.script.commands.append(command)

    def _flat(self, node: Node, depth: int) -> None:
        """Read a declaration or a test: words and operators, however they nest."""
        words: list[Word] = []

        def walk(child: Node, depth: int) -> None:
            if depth > limits.NESTING:
                self.give_up(child)
            elif child.type == "variable_assignment":
                words.append(self._assignment(child, depth))
            elif child.type in WORDS or not child.children:
                words.append(self.word(child, depth))
            else:
                for each in child.children:
                    walk(each, depth + 1)

        for child in node.children:
            walk(child, depth + 1)
            if node.type == "declaration_command" and child.type == "concatenation":
                self.script.doubt(self.text_of(child), UNSEEN)
        if node.type == "declaration_command" and all(map(is_assignment, words[1:])):
            self._remember(words[1:])
        if words[0].raw in TESTS:
            # `[[a` is a program to a shell.
            begun = self.text_of(node)[len(words[0].raw) :][:1]
            put_in = any(a.raw == "=~" and _PUT_IN.search(b.raw) for a, b in pairwise(words))
            if put_in or not (begun.isspace() and is_plain_test(words)):
                self.script.doubt(self.text_of(node), DIFFER)
            for word in words:
                if "$" in word.raw and word.raw[0] != "'":
                    word.literal, word.vetted = False, word.literal or word.vetted
        self._add(Simple(words))

    def _assignments(self, node: Node, depth: int) -> None:
        nodes = [node] if node.type == "variable_assignment" else node.named_children
        words = [self._assignment(each, depth + 1) for each in nodes]
        self._remember(words)
        # One alone is no command to rules, and several are that stand in no other statement.
        bare = self.text_of(node) if len(nodes) > 1 and _is_outermost(node) else ""
        self._add(Simple(words, piped=_is_piped(node), bare=bare))

    def _remember(self, words: list[Word]) -> None:
        """Note the values of variables that are set for what follows."""
        for word in words:
            name, _, value = word.plain.partition("=")
            if word.known and not word.glob:
                self.variables[name] = value
                (self.guessed.add if word.guessed else self.guessed.discard)(name)
            else:
                self.variables.pop(name, None)

    def _assignment(self, node: Node, depth: int) -> Word:
        value = node.child_by_field_name("value")
        raw = self.text_of(node)
        if value is None:
            return Word(raw, raw)
        word = self.word(value, depth)
        name = self.source[node.start_byte : value.start_byte].decode("utf-8")
        word.raw = raw[:-1] if word is self.unclosed else raw
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
        if body is not None:
            self.statement(body, depth + 1)
        else:
            self._add(Simple([Word()], bare=self.text_of(node)))
        count, inner = len(self.script.commands), len(self.script.targets)
        if count > first:
            self._direct(self.script.commands[-1], node, body)
        for child in node.children:
            if child.type == "heredoc_redirect":
                self.document(child, depth + 1)
            elif child.type in ("file_redirect", "herestring_redirect"):
                extra = self.redirect(child, depth + 1)
                if extra and body is not None and 0 < len(self.script.commands) == count:
                    # `> f b`: the grammar takes `b` for another target.
                    last = self.script.commands[-1]
                    last.ahead = last.ahead or len(last.words)
                    last.words += extra
                    last.swallowed = True
                elif extra:
                    self._add(Simple(extra, swallowed=True))
                if extra and body is None and all(map(is_assignment, extra)):
                    last = self.script.commands[first]
                    last.bare = _without_end(self.text_of(node), extra)
        if any(target.writes for target in self.script.targets[inner:]):
            commands = self.script.commands[first:count]
            within = {n for each in commands for word in each.words for n in range(*word.inner)}
            for number, command in enumerate(commands, first):
                command.fills |= number not in within

    def _direct(self, command: Simple, node: Node, body: Node | None) -> None:
        """Note that *node* redirects a command, the last of its *body*."""
        if body is not None and not command.directed:
            self._recover_dash(command, body)
        command.directed = True
        self._drop_descriptor(command.words, body.end_byte if body is not None else 0)
        negated = _negated(body)
        if negated is not None and negated.type.startswith("variable_assignment"):
            command.bare = self.source[negated.start_byte : node.end_byte].decode("utf-8")

    def _recover_dash(self, command: Simple, body: Node) -> None:
        """Give the last command of *body* the dash before a here-document: `cat - <<E`.

        The grammar has no node for it, or takes it for a part of the operator.
        """
        end = body.end_byte
        while body.type in ("negated_command", "pipeline", "list"):
            body = body.children[-1]
        for start, stop in self.lost:
            between = self.source[end:stop]
            if between[:1] in (b" ", b"\t") and between.strip(b" \t") == b"-" and start >= end:
                if body.type == "command":
                    command.words.append(Word("-", "-"))
                    self.lost.remove((start, stop))
                    self.recovered.append((start, stop))
                return


# `{fd}>a`, which sets a variable: a grammar takes it for a word.
_DESCRIPTOR: Final = re.compile(r"\{[A-Za-z_]\w*(?:\[[^\]]*\])?\}")


def _negated(node: Node | None) -> Node | None:
    """Return the statement that another negates, however often; the node of any other."""
    while node is not None and node.type == "negated_command":
        node = node.children[-1]
    return node


def _without_end(text: str, words: Sequence[Word]) -> str:
    """Return what stands in a text before *words*, with which it ends; else all of it."""
    left = text.rstrip()
    for word in reversed(words):
        left = left.removesuffix(word.raw).rstrip()
    return left


# What parts words; a backslash before any other blank makes that a word.
_BLANK: Final = re.compile(rb"[ \t\n]|\\\n")

# Tokens that become words with all of their text, whatever that is.
_IN_WORDS: Final = frozenset({"$", "``"})


def _uncovered(root: Node, source: bytes) -> Iterator[tuple[int, int]]:
    """Yield where *source* has text that is in no node below *root*: from, and up to.

    Blanks aside. An operator covers no more text than it consists of.
    """
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
    return (gap for gap in gaps if _BLANK.sub(b"", source[slice(*gap)]))


def _is_outermost(node: Node) -> bool:
    """Return whether a statement is joined with others at most."""
    above = node.parent
    while above is not None and above.type in _JOINING:
        above = above.parent
    return above is None


_JOINING: Final = frozenset("program list pipeline redirected_statement".split())


def _is_piped(node: Node) -> bool:
    above = node.parent
    while above is not None and above.type in ("redirected_statement", "negated_command"):
        above = above.parent
    return above is not None and above.type == "pipeline"
