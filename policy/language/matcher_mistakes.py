"""What is wrong with a matcher that does not parse."""

from __future__ import annotations

from policy.language.mistakes import NAME_CHARACTERS, Mistake, character, quoted

__all__ = ["in_matcher"]


def in_matcher(text: str, at: int) -> Mistake:
    """Return what is wrong with a matcher that parses up to *at* only."""
    head = text.partition("(")[0]
    if not text.strip():
        return Mistake(
            0,
            len(text),
            "expected a tool, found nothing",
            "write a tool: `Read`, or `Bash(git diff *)`",
        )
    if "(" in text[1 : at + 1]:
        return _after_specifier(text, at, head)
    if at == 0 and text[0].isspace():
        end = len(text) - len(text.lstrip())
        return Mistake(0, end, "expected a tool, found a blank", f"write {quoted(text.strip())}")
    if text[0] == "(":
        return Mistake(
            0, 1, "expected a tool, found `(`", f"write the tool first: {quoted('Bash' + text)}"
        )
    if "/" in head:
        return Mistake(
            0,
            len(head),
            f"expected a tool, found the path {quoted(head)}",
            f"a path goes into the parentheses of a tool: {quoted(f'Read({head})')}",
        )
    return _in_tool(text, at)


def _after_specifier(text: str, at: int, head: str) -> Mistake:
    opened = len(head)
    if ")" not in text[opened:]:
        return Mistake(
            opened,
            opened + 1,
            "expected `)` for this `(`, found the end of the rule",
            f"close it: {quoted(text.rstrip() + ')')}",
        )
    rest = text[at:]
    if not rest.strip():
        return Mistake(
            at,
            len(text),
            "expected the end of the rule, found a blank",
            f"write {quoted(text[:at])}",
        )
    start = at + len(rest) - len(rest.lstrip())
    return Mistake(
        start,
        len(text.rstrip()),
        f"expected the end of the rule after `)`, found {quoted(text[start:].rstrip())}",
        "the specifier ends at the last `)`: move the text into it, or remove it",
    )


def _in_tool(text: str, at: int) -> Mistake:
    char, tool, rest = text[at], text[:at], text[at:].strip()
    if char.isspace():
        if not rest:
            return Mistake(
                at,
                len(text),
                "expected the end of the rule, found a blank",
                f"write {quoted(tool)}",
            )
        if rest.startswith("("):
            gap = len(text[at:]) - len(text[at:].lstrip())
            return Mistake(
                at,
                at + gap,
                f"expected `(` right after {quoted(tool)}, found a blank",
                f"write {quoted(tool + rest)}",
            )
        start = text.index(rest, at)
        return Mistake(
            start,
            start + len(rest),
            f"expected `(` or the end of the rule after {quoted(tool)}, found {quoted(rest)}",
            f"what the tool may be called with goes into parentheses: {quoted(f'{tool}({rest})')}",
        )
    found = character(char)
    if char == ")":
        return Mistake(
            at,
            at + 1,
            "expected `(` or the end of the rule, found `)`",
            "write `Tool(specifier)`, or the tool alone",
        )
    if char == ",":
        return Mistake(
            at,
            at + 1,
            "expected one matcher, found a list of them",
            "write each matcher as an entry of its own",
        )
    if char in "\"'`":
        return Mistake(at, at + 1, f"expected a tool, found {found}", "remove the quotes")
    return Mistake(at, at + 1, f"expected a tool, found {found}", NAME_CHARACTERS)
