"""Print a syntax tree in the canonical form of our own notation; it parses to an equal tree."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, assert_never

from policy.core.errors import expect
from policy.language.mistakes import WORDS
from policy.language.syntax import (
    Agent,
    Comment,
    Comments,
    Delegate,
    Document,
    Expect,
    Grant,
    Inherit,
    Limit,
    Matcher,
    Never,
    Root,
    Statement,
    Test,
    Trust,
    is_bare_name,
)

_WIDTH: Final = 100
_INDENT: Final = "    "
_COLUMN: Final = len("delegate") + 2


def print_document(document: Document) -> str:
    """Return *document* in canonical form, ending in a line break."""
    expect("a document, as `policy.parse_notation` returns it,", "document", document, Document)
    lines: list[str] = []
    apart = False  # whether a blank line must follow the last node, a statement
    for node in document.body:
        if isinstance(node, Comment) and node.trailing and apart:
            lines[-1] += _trailing(node)
            continue
        lines += ["", *_statement(node)] if apart else _statement(node)
        apart = not isinstance(node, Comment)
    return "".join(f"{line}\n" for line in lines)


def print_matcher(matcher: Matcher) -> str:
    """Return *matcher* in our notation: on one line, with unpaired parentheses escaped."""
    tool = f'"{matcher.tool}"' if matcher.tool in WORDS else matcher.tool
    return tool if matcher.specifier is None else f"{tool}({_escaped(matcher.specifier.text)})"


def print_name(name: str) -> str:
    """Return *name* in our notation: in quotes if it is a keyword or has other characters."""
    if is_bare_name(name) and name not in WORDS:
        return name
    return '"' + name.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


def _block(head: str, body: Sequence[Statement]) -> list[str]:
    if not body:
        return [f"{head} {{}}"]
    lines = [f"{head} {{"]
    takes_comment = True
    for node in body:
        if not isinstance(node, Comment):
            lines += _statement(node)
        elif node.trailing and takes_comment:
            lines[-1] += _trailing(node)
        else:
            lines.append(_INDENT + _own_line(node))
        takes_comment = not isinstance(node, Comment)
    return [*lines, "}"]


def _statement(node: Agent | Root | Test | Never | Statement) -> list[str]:
    matchers = map(print_matcher, getattr(node, "matchers", ()))
    match node:
        case Root(name=name):
            return [f"root {print_name(name)}"]
        case Agent(name=name, body=body):
            return _block(f"agent {print_name(name)}", body)
        case Test(chain=chain, body=body):
            return _block(f"test {' > '.join(map(print_name, chain))}", body)
        case Never(chain=chain, comments=comments):
            links = (link if link in {"*", "**"} else print_name(link) for link in chain)
            return _listed(f"never {' > '.join(links)}: ", matchers, comments, _INDENT)
        case Grant(effect=effect, comments=comments):
            return _listed(_head(effect.value), matchers, comments)
        case Expect(effect=effect, comments=comments):
            return _listed(f"{_head('expect')}{effect} ", matchers, comments)
        case Delegate(comments=comments):
            return _listed(_head("delegate"), matchers, comments)
        case Limit(bounds=bounds, comments=comments):
            return _listed(_head("limit"), (f"{n} {bound}" for n, bound in bounds), comments)
        case Trust(level=level):
            return [_head("trust") + print_name(level)]
        case Inherit():
            return [f"{_INDENT}inherit"]
        case Comment():
            return [_own_line(node)]
        case _:
            assert_never(node)


def _head(word: str) -> str:
    return _INDENT + word.ljust(_COLUMN)


def _listed(
    head: str, entries: Iterable[str], comments: Comments, indent: str | None = None
) -> list[str]:
    """Return the lines of a statement: filled, or one entry a line if it has comments."""
    texts, indent = list(entries), " " * len(head) if indent is None else indent
    if comments:
        return _commented(head, indent, texts, comments)
    lines, line = [], head + texts[0]
    for text in texts[1:]:
        if len(line) + len(text) + 3 > _WIDTH:  # the blank and a comma on either side
            lines.append(line + ",")
            line = indent + text
        else:
            line += ", " + text
    return [*lines, line]


def _commented(head: str, indent: str, texts: list[str], comments: Comments) -> list[str]:
    after: dict[int, list[Comment]] = {}
    for entries, comment in comments:
        after.setdefault(entries, []).append(comment)
    lines: list[str] = []
    for number, text in enumerate(texts, 1):
        lines.append((indent if lines else head) + text + ("," if number < len(texts) else ""))
        for place, comment in enumerate(after.get(number, ())):
            if comment.trailing and place == 0:
                lines[-1] += _trailing(comment)
            else:
                lines.append(indent + _own_line(comment))
    return lines


def _own_line(comment: Comment) -> str:
    # `#!` and `##` get no blank.
    gap = "" if comment.text.startswith(("#", "!")) or not comment.text else " "
    return f"#{gap}{comment.text}"


def _trailing(comment: Comment) -> str:
    return "  " + _own_line(comment)


def _escaped(text: str) -> str:
    """Return *text* with escapes for line breaks and for unpaired parentheses."""
    alone = _without_partner(text)
    if not alone and "\\" not in text and "\n" not in text:
        return text
    pieces = []
    for at, char in enumerate(text):
        following = text[at + 1 : at + 2]
        if char == "\n":
            pieces.append("\\n")
        elif at in alone or (char == "\\" and (not following or following in "()n\\\n")):
            pieces.append("\\" + char)
        else:
            pieces.append(char)
    return "".join(pieces)


def _without_partner(text: str) -> set[int]:
    opened: list[int] = []
    alone = set()
    for at, char in enumerate(text):
        if char == "(":
            opened.append(at)
        elif char == ")" and opened:
            opened.pop()
        elif char == ")":
            alone.add(at)
    return alone.union(opened)
