"""The words of a shell command, read from the tree of a grammar (`policy.shell.bash`)."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections import Counter
from functools import cached_property
from typing import TYPE_CHECKING, Final

from policy import limits
from policy.shell.expansions import has_stray, is_ended_oddly, is_inner
from policy.shell.parts import DIFFER, UNKNOWN
from policy.shell.scanner import Scanner
from policy.shell.words import FOLDERS, SET_BY_SHELL, Script, Word

if TYPE_CHECKING:
    from tree_sitter import Node

    from policy.shells import Shell

__all__ = ["WordReader"]

_ESCAPE: Final = re.compile(r"\\(\n|.)", re.DOTALL)
_QUOTED_ESCAPE: Final = re.compile(r'\\([$`"\\\n])')
# What zsh reads beside a variable in a text: `"$x[1]"`, `"$x:h"`, `"$=x"`.
_OF_ZSH: Final = re.compile(
    r"(?<!\\)(?:\\\\)*\$(?:(?:\w+|[-?*@!#$](?:\w*|[-?*@!#]))(?:\[|:[A-Za-z&])|[+^=~\[])"
)
# A variable in braces.
_BRACED: Final = re.compile(r"\$\{([A-Za-z_]\w*)(?::\?[^{}$`]*)?\}")
# What may be the name of a variable that is set: no option, and no part of a path.
_NAME: Final = re.compile(r"(?<![\w$/.-])(?<!\$[{])[A-Za-z_]\w*(?![\w/.-])", re.ASCII)
# What a shell makes several words of, where no quotes are around it.
_PARTED: Final = re.compile(r"[\s*?\[]")
_UNQUOTED_GLOB: Final = re.compile(r"(?:^|[^\\])(?:\\\\)*[*?\[]")
_NUMBERS: Final = re.compile(
    r"\$\(\((?:0[xX][0-9a-fA-F]+|[0-9]+#[0-9a-zA-Z]+|[^A-Za-z_$`\[\]])*\)\)"
)
_OF_CASES: Final = frozenset({";;", ";&", ";;&"})
# A word that begins with the home folder.
_HOMED: Final = re.compile(r"""["']*\$HOME(?!\w)""")
_QUOTING: Final = re.compile(r"['\"\\]")
# Braces that a host may not read as a shell does, whatever else is in them.
_ESCAPED_BRACES: Final = re.compile(r"\{[^{]*\\\}|\{[^}]*\\\{")


class WordReader(ABC):
    """Reads words into a script; whoever reads statements derives from it.

    Its methods never raise, and their depth is bounded.
    """

    def __init__(self, source: bytes, shell: Shell, *, closed: bool) -> None:
        self.source = source
        self.shell = shell
        self.script = Script()
        self.variables: dict[str, str] = {}
        self.guessed: set[str] = set()  # those of the variables that were set from a guess
        self.inside = 0  # statements that hold others
        self.aside = 0  # of these, whose parts no host follows
        self.substituted = 0  # of these, that are `$(...)`
        self.closed = closed  # whether the last quote is one that nobody wrote
        self.unclosed: Word | None = None  # the one with that quote, which is no part of its text
        self._put_in = False  # into a word: what nobody knows

    def text_of(self, node: Node) -> str:
        """Return what was written."""
        return self.source[node.start_byte : node.end_byte].decode("utf-8")

    def _at(self, node: Node) -> int:
        """Return at which character of the text a node begins."""
        return len(self.source[: node.start_byte].decode("utf-8"))

    def give_up(self, node: Node) -> None:
        """Note that what stands in *node* is not read: it is nested too deep."""
        self.script.doubt(self.text_of(node), "is nested too deep to be read")
        self.script.unread = True

    @abstractmethod
    def statement(self, node: Node, depth: int) -> None:
        """Read a statement and all that it holds."""

    def word(self, node: Node, depth: int) -> Word:
        """Return a word; commands that are substituted in it become commands before it."""
        word = Word(self.text_of(node))
        if depth > limits.NESTING:
            self.give_up(node)
            word.literal = word.known = False
            return word
        first = len(self.script.commands)
        pieces: list[str] = []
        self._piece(node, word, pieces, depth)
        word.plain = "".join(pieces)
        if word.plain[1:2] not in ("", "/") and word.plain[0] == "~" and _HOMED.match(word.raw):
            # `"$HOME x"`: a file beside the home folder.
            word.plain, word.literal, word.known = "$HOME" + word.plain[1:], False, False
        word.inner = (first, len(self.script.commands))
        if self.closed and node.end_byte == len(self.source):
            word.raw, self.unclosed = word.raw[:-1], word
            # Where something stands before the quote, nobody knows which braces are quoted.
            if "{" in word.raw and node.type != "raw_string":
                self.script.doubt(word.raw, DIFFER)
        if not word.literal and self.shell.control:
            self._put_in = False
            word.vetted = self._is_vetted(node, word) and not (
                self._put_in and word.plain.startswith("-")
            )
        return word

    def _piece(self, node: Node, word: Word, pieces: list[str], depth: int) -> None:
        kind, text = node.type, self.text_of(node)
        if kind == "raw_string":
            ends = self.closed and node.end_byte == len(self.source)
            pieces.append(text[:-1] if ends else text[1:-1])
        elif kind == "string":
            self._string(node, word, pieces, depth)
        elif kind == "concatenation":
            for child in node.children:
                self._piece(child, word, pieces, depth + 1)
            if self._has_braces(node, "".join(pieces)):
                word.literal = word.known = False
        elif kind == "simple_expansion":
            self._variable(text[1:], word, pieces, quoted=text == "$HOME" and not any(pieces))
            word.guessed |= _PARTED.search(pieces[-1]) is not None  # it may be several words
        elif (name := self._braced(text)) is not None:
            self._variable(name, word, pieces, quoted=False)
            word.guessed |= _PARTED.search(pieces[-1]) is not None
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
            word.literal = word.known = False
            pieces.append(text)
            self.substitutions(node, depth)

    def _string(self, node: Node, word: Word, pieces: list[str], depth: int) -> None:
        position = node.start_byte + 1
        if _OF_ZSH.search(self.text_of(node)):
            self.script.doubt(self.text_of(node), DIFFER)
        for child in node.named_children:
            if child.type == "string_content":
                continue
            text = self.text_of(child)
            # The grammar counts blanks before a variable as part of it.
            blanks = len(text) - len(text.lstrip()) if child.type == "simple_expansion" else 0
            self._quoted(position, child.start_byte + blanks, pieces)
            position = child.end_byte
            if child.type == "simple_expansion":
                self._variable(text[blanks + 1 :], word, pieces, quoted=not any(pieces))
            elif (name := self._braced(text)) is not None:
                self._variable(name, word, pieces, quoted=False)
            else:
                word.literal = word.known = False
                pieces.append(self.text_of(child))
                self.substitutions(child, depth + 1)
        last = node.children[-1]
        ends = node.child_count > 1 and last.type == '"' and not last.is_missing
        self._quoted(position, node.end_byte - ends, pieces)

    def _quoted(self, start: int, end: int, pieces: list[str]) -> None:
        text = self.source[start:end].decode("utf-8")
        pieces.append(_QUOTED_ESCAPE.sub(lambda found: found[1].strip("\n"), text))

    def _variable(self, name: str, word: Word, pieces: list[str], *, quoted: bool) -> None:
        value = self.variables.get(name)
        folder = FOLDERS.get(name) if quoted else None
        if value is None and folder is not None and self._is_inherited(name):
            value = folder
            word.literal &= name == "HOME"
        else:
            word.literal = False
            word.guessed |= value is not None and (
                name in self.guessed or not self._is_set_once(name)
            )
        word.known &= value is not None
        pieces.append("$" + name if value is None else value)

    def _braced(self, text: str) -> str | None:
        """Return the variable whose value `${x}` comes to, None where that is not known."""
        found = _BRACED.fullmatch(text)
        return found[1] if found is not None and found[1] in self.variables else None

    def substitutions(self, node: Node, depth: int) -> None:
        """Read the commands of every substitution below *node*, which stands in a word."""
        self.script.unclosed |= has_stray(node)
        if node.type == "expansion" and not (self.script.unclosed or is_inner(node)):
            self.script.unclosed = is_ended_oddly(self.source.decode("utf-8"), self._at(node))
        if depth > limits.NESTING:
            self.give_up(node)
        elif node.type in ("command_substitution", "process_substitution"):
            if "\\`" in (text := self.text_of(node)):
                # One within another, which the grammar takes for a text.
                inner = text.strip("`").replace("\\`", "`")
                self.script.commands += Scanner(inner).run().commands
                self.script.doubt(text, UNKNOWN)
            # A shell looks for the end of what begins so in another way.
            self.script.unclosed |= text.startswith("$(`")
            # An array that ends where the substitution does: or is it a sum?
            self.script.unclosed |= text.endswith("))") and _ends_in_array(node.children[-2])
            self.inside += 1
            self.substituted += (is_put_in := text.startswith("$("))
            for child in node.children:
                if child.is_named:
                    self.statement(child, depth + 1)
                elif child.type in _OF_CASES:
                    self.script.unclosed |= node.children[0].type == "$("
                elif child.type == "&":
                    self.script.background = self.script.background_inside = True
            self.inside -= 1
            self.substituted -= is_put_in
        else:
            if node.type in _TEXTS and "`" in (text := self.text_of(node)):
                # In an expansion the grammar takes one for a text: `${x:-`ls`}`.
                self.script.commands += Scanner(text).run().commands
                self.script.doubt(text, DIFFER)
                # Between double quotes a single one is none.
                quoted = node.type == "raw_string"
                self.script.unclosed |= quoted or not _is_in_default(node)
            for child in node.named_children:
                self.substitutions(child, depth + 1)

    def _has_braces(self, node: Node, plain: str) -> bool:
        """Whether a shell may put several words for one that comes to *plain* without braces."""
        text = self.text_of(node)
        if "{" not in text or node.type not in ("word", "concatenation"):
            return False
        bare = (node.children or [node]) if node.type == "concatenation" else [node]
        if any("{" in self.text_of(each) and each.type not in _QUOTED for each in bare):
            return _has_several(plain) or _ESCAPED_BRACES.search(text) is not None
        return _has_braces(text)

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
            return self._is_number(node)
        return kind in ("number", "raw_string", "variable_name", "test_operator")

    def _is_vetted_text(self, node: Node) -> bool:
        """Whether quoted text has two characters of its own beside what is put in."""
        own, put_in = len(self.text_of(node)) - 2, False
        for child in node.named_children:
            text = self.text_of(child).lstrip()
            if child.type == "string_content":
                continue
            if (
                child.type == "simple_expansion"
                and text[1:] not in SET_BY_SHELL
                and not self._is_inherited(text[1:])
            ):
                return False
            if text == "$HOME":
                own += 2
                continue
            own -= len(text)
            if child.type == "simple_expansion":
                put_in = True
                if text[1:] not in self.shell.variables.texts:
                    return False
            elif child.type == "arithmetic_expansion":
                put_in = True
                if not self._is_number(child):
                    return False
            elif child.type == "command_substitution":
                if self._is_document(child):
                    own += 2
                else:
                    put_in = True
            else:
                return False
        self._put_in |= put_in
        return own >= 2 or not put_in

    def _is_inherited(self, name: str) -> bool:
        """Whether nothing in the text may set a variable: its name stands behind a `$` alone."""
        return re.search(rf"(?<![$\w]){re.escape(name)}(?!\w)", self._unquoted) is None

    def _is_set_once(self, name: str) -> bool:
        """Whether the text has the name of a variable once, but for where its value is put in.

        Any other place may set it too: `x+=1`, `read x`, `for x in a`, `unset x`.
        """
        return self._names[name] == 1

    @cached_property
    def _unquoted(self) -> str:
        return _QUOTING.sub("", self.source.decode("utf-8"))

    @cached_property
    def _names(self) -> Counter[str]:
        return Counter(_NAME.findall(self._unquoted))

    def _is_number(self, node: Node) -> bool:
        """Whether arithmetic has numbers and operators only."""
        return _NUMBERS.fullmatch(self.text_of(node)) is not None

    def _is_document(self, node: Node) -> bool:
        """Whether it is ``$(cat <<'E'``, a text and ``E)``: quoted in another way."""
        if node.named_child_count != 1 or node.named_children[0].type != "redirected_statement":
            return False
        text = self.text_of(node)
        return re.match(r"\$\(\s*cat\s*<<\s*['\"]", text) is not None


_QUOTED: Final = frozenset({"string", "raw_string", "ansi_c_string", "expansion"})


def _has_several(text: str) -> bool:
    """Whether there is what parts several words in braces."""
    return "," in text or ".." in text


def _has_braces(text: str) -> bool:
    """Whether a shell may put several words for *text*, which is not quoted as a whole.

    Each stretch of it counts from its first brace to its last, quotes and all.
    """
    if "{" not in text:
        return False
    for stretch in text.split():
        within = stretch[stretch.index("{") : stretch.rfind("}")] if "{" in stretch else ""
        if "," in within or ".." in within:
            return True
    return _ESCAPED_BRACES.search(text) is not None


# What a grammar takes for a text in an expansion.
_TEXTS: Final = frozenset("word raw_string regex extglob_pattern number".split())
_DEFAULTS: Final = frozenset({":-", "-", ":=", "=", ":?", "?", ":+", "+"})


def _is_in_default(node: Node) -> bool:
    """Whether it is part of what an expansion comes to where its variable has no value."""
    above = node.parent
    while above is not None and above.type == "concatenation":
        above = above.parent
    return above is not None and any(child.type in _DEFAULTS for child in above.children)


def _ends_in_array(node: Node) -> bool:
    while node.children and node.type != "array":
        node = node.children[-1]
    return node.type == "array"
