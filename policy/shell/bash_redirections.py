"""What a shell command redirects, read from the tree of a grammar (`policy.shell.bash`)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from policy.shell.bash_words import WordReader
from policy.shell.parts import DIFFER, UNKNOWN, UNSEEN
from policy.shell.scanner import Scanner
from policy.shell.words import (
    DESCRIPTOR,
    HARMLESS_TARGETS,
    Target,
    Word,
    otherwise,
    targets_of,
    with_home,
)

if TYPE_CHECKING:
    from tree_sitter import Node

__all__ = ["RedirectionReader"]

# A name that is the same once it was expanded again, as one operator does.
_TWICE_ALIKE: Final = re.compile(r"[A-Za-z0-9./_-]+")

# A text in double quotes into which nothing but variables are put, and those.
_QUOTED: Final = re.compile(r'"((?:[^"\\`$]|\$[A-Za-z_]\w*)*)"')
_NAMED: Final = re.compile(r"\$([A-Za-z_]\w*)")

# What a shell puts something else for, or would without the quotes around it.
_EXPANDED: Final = re.compile(r"(?:^|[^\\])(?:\\\\)*[`$]")


class RedirectionReader(WordReader):
    """Reads redirections and documents: the files that they name, and the words in them."""

    def redirect(self, node: Node, depth: int) -> list[Word]:
        """Read a redirection; return words that only look like more targets."""
        operator, targets = "", []
        for child in node.children:
            if not child.is_named:
                operator = child.type
            elif child.type != "file_descriptor":
                targets.append(self.word(child, depth + 1))
                if child.type == "concatenation" and _EXPANDED.search(self.text_of(child)):
                    self.script.doubt(self.text_of(child), UNKNOWN)
        if operator == "<<<":
            given = [word for word in targets if not (word.literal or word.vetted)]
            for word in given:
                self.script.doubt(word.raw, UNKNOWN)
            self.script.given += given
            return []
        if operator not in (">", ">>", ">|", "<", "&>", "&>>", ">&", "<&") or not targets:
            self.script.doubt(self.text_of(node), UNSEEN)
            return targets
        target = targets[0]
        if target.raw == "}" or (operator[1:] == "&" and target.plain[:1] == "-"):
            self.script.doubt(self.text_of(node), DIFFER)
        if not (operator in (">&", "<&") and DESCRIPTOR.match(target.plain)) and (
            target.plain not in HARMLESS_TARGETS
        ):
            told = target.literal or (operator[0] in ">&" and with_home(target))
            if not told or target.raw[:1] == "$":
                self.script.doubt(target.raw, UNKNOWN)
                self.script.given.append(target)
            if target.plain[:1] == "!" or (
                operator == ">&" and not _TWICE_ALIKE.fullmatch(target.plain)
            ):
                self.script.doubt(self.text_of(node), DIFFER)
            self._aim(target, writes=operator[0] in ">&")
            if self._is_followed(target):
                self.script.targets.append(Target(target.plain, operator[0] in ">&"))
        return targets[1:]

    def _is_followed(self, target: Word) -> bool:
        """Whether a host knows what a quoted text comes to: each variable in it is set once."""
        text = _QUOTED.fullmatch(target.raw)
        if text is None or target.literal or not target.known:
            return False
        told = self.source.decode("utf-8")
        names = set(_NAMED.findall(text[1]))
        return all(len(re.findall(rf"(?<![$\w]){name}\+?=", told)) == 1 for name in names)

    def _aim(self, target: Word, *, writes: bool) -> None:
        self.script.targets += targets_of(target, writes=writes)
        if target is self.unclosed:
            for others in otherwise(target):
                for other in others:
                    self.script.targets += targets_of(other, writes=writes)
                self.script.targets += [Target(None, writes)] * (writes and len(others) > 1)

    def document(self, node: Node, depth: int) -> None:
        """Read a here-document, and what stands behind the word that ends it."""
        start = next((child for child in node.children if child.type == "heredoc_start"), None)
        word = self.text_of(start) if start is not None else ""
        quoted = any(mark in word for mark in "'\"\\")
        if word[:1] in ("'", '"') and word[-1:] != word[:1]:
            self.script.doubt(word, DIFFER)
        for child in node.children:
            if child.type == "heredoc_body":
                if not quoted:
                    self._substituted(child, depth + 1)
            elif child.type == "heredoc_end" and self.inside:
                behind = self.source[child.end_byte :].partition(b"\n")[0]
                if behind:  # the text goes on, to a shell
                    self.script.doubt(behind.decode("utf-8"), DIFFER)
                self.script.unclosed |= behind.lstrip(b" \t")[:1] not in (b"", b")")
            elif child.is_named and child.type not in ("heredoc_start", "heredoc_end"):
                self.statement(child, depth + 1)
        if not quoted:
            self.script.doubt(self.text_of(start or node), "does not quote its word")

    def _substituted(self, node: Node, depth: int) -> None:
        """Read the substitutions of a text, also where the grammar does not see them."""
        found = len(self.script.commands)
        self.substitutions(node, depth)
        text = self.text_of(node)
        if len(self.script.commands) == found and ("$(" in text or "`" in text):
            quoted = text.replace("\\", "").replace('"', "")
            self.script.commands += Scanner(f'"{quoted}"').run().commands[:-2]
