"""Read the notations of patterns: stars in text, ``.gitignore`` globs, host names with ``*``."""

from __future__ import annotations

from collections.abc import Iterator

from policy.core import expressions as re
from policy.core import limits
from policy.core.urls import sixth_address
from policy.core.values import Final
from policy.patterns.pattern import Pattern, PatternKind
from policy.patterns.tokens import Gap, OneOf, Run, Token, folded, in_any_case


class Unusable(ValueError):
    """Raised for a pattern that no text matches; the message is the reason."""


def single(text: str) -> Pattern:
    """Return the pattern of *text*, in which ``*`` is any text."""
    _bounded(text)
    return Pattern.text(text)


def commands(text: str) -> tuple[Pattern, ...]:
    """Return the patterns of ``Bash(text)``, as most hosts read it.

    ``ls:*`` is ``ls *``. If its only star is at the end, it also matches the command ``ls`` alone:
    two patterns.
    """
    _bounded(text)
    if text.endswith(":*"):
        text = text.removesuffix(":*") + " *"
    bare = text.removesuffix(" *").rstrip(" ")
    if text.endswith(" *") and "*" not in bare and bare.strip():
        return Pattern.exactly(bare), Pattern.text(bare + " *")
    return (Pattern.text(text),)


def hosts(text: str) -> tuple[Pattern, ...]:
    """Return the pattern of ``domain:text``; case and a final dot of host names do not count.

    ``*.example.com`` matches every subdomain, at any depth, but not ``example.com``; any other
    ``*`` stays within one label. Raises Unusable for no host name, or an IP address in another form
    than browsers write.
    """
    _bounded(text)
    name = text.casefold().removesuffix(".")
    is_address = name.startswith("[") and name.endswith("]")
    if is_address and "*" not in name and name != (known := sixth_address(name[1:-1])):
        msg = f"browsers write that address `{known}`" if known else "that is no address"
        raise Unusable(msg)
    for stray in (" ", "/", ":", ",", "@"):
        if stray in name and not (is_address and stray == ":"):
            msg = f"a host name has no `{stray}`"
            raise Unusable(msg)
    if not name or ".." in name or name.startswith("."):
        msg = "a host name has no empty label"
        raise Unusable(msg)
    if name == "*":
        return (Pattern.of(PatternKind.HOST, [Gap.ANY]),)
    tokens: list[Token] = []
    if name.startswith("*."):
        tokens, name = [Gap.ANY, "."], name[2:]
    for index, literal in enumerate(name.split("*")):
        tokens += [Gap.PART, literal] if index else [literal]
    return (Pattern.of(PatternKind.HOST, tokens),)


def paths(
    text: str,
    anchor: str = "",
    *,
    floating: bool = True,
    fold: bool = False,
    any_case: bool = False,
) -> tuple[Pattern, ...]:
    """Return the patterns of a ``.gitignore`` glob below *anchor*.

    ``*`` and ``?`` stay within a segment, ``**`` spans any number of segments, and a glob also
    matches all paths below a match. With ``/`` or ``/**`` at the end it matches only those.

    Args:
        text: the glob; a leading ``/`` anchors it.
        anchor: canonical absolute path it is relative to; "" is the root.
        floating: whether a name without ``/`` is found at any depth.
        fold: whether paths are folded to one case before they are matched.
        any_case: whether letters match in any case, for paths that are not folded.

    Raises:
        Unusable: no path matches the glob: a ``.`` or ``..`` segment, an unclosed ``[``.

    """
    _bounded(text)
    glob = folded(text) if fold else text
    below_only = glob.endswith("/")
    anchored = "/" in glob.rstrip("/")
    segments = [segment for segment in glob.split("/") if segment]
    tokens: list[Token] = []
    if not anchored and floating and segments:
        tokens.append(Gap.DEEP)
    for index, segment in enumerate(segments):
        if segment in (".", ".."):
            msg = f"no canonical path has a segment `{segment}`"
            raise Unusable(msg)
        if segment != "**":
            tokens += ["/", *_segment(segment)]
        elif index < len(segments) - 1:
            tokens.append(Gap.DEEP)
        else:
            # `**/` matches all in folders below the anchor; the outermost contains the others.
            if below_only and not index:
                tokens += ["/", Gap.PART]
            below_only = True
    tokens += ["/", Gap.PART, Gap.DEEP] if below_only else [Gap.DEEP]
    start = folded(anchor) if fold else anchor
    below = in_any_case(tokens) if any_case else tokens
    return (Pattern.of(PatternKind.PATH, [start, *below]),)


_PIECE: Final = re.compile(
    r"(?P<star>\*)|(?P<one>\?)|\[(?P<negated>[!^]?+)(?P<set>(?:(?<=\[)\])?+.[^\]]*)\]|(?P<open>\[)"
    r"|\\(?P<escaped>.)|(?P<text>[^*?\[\\]+|\\)",
    re.DOTALL,
)


def _segment(text: str) -> Iterator[Token]:
    for piece in _PIECE.finditer(text):
        match piece.lastgroup:
            case "star":
                yield Gap.PART
            case "one":
                yield Gap.ONE
            case "set":
                characters = characters_of(piece["set"]) - {"/"}
                if not characters and not piece["negated"]:
                    msg = f"`[{piece['set']}]` stands for no character"
                    raise Unusable(msg)
                yield OneOf(frozenset(characters), negated=piece["negated"] != "")
            case "open":
                msg = "`[` is never closed"
                raise Unusable(msg)
            case _:
                yield piece["escaped"] or piece["text"]


def characters_of(body: str) -> set[str]:
    """Return the characters of a set such as ``a-z_``. Raises Unusable for too large a range."""
    characters: set[str] = set()
    for start, end, one in re.findall(r"(?s)(.)-(.)|(.)", body):
        low, high = ord(start or one), ord(end or one)
        if high - low >= limits.CLASS_CHARACTERS:
            most = limits.CLASS_CHARACTERS
            msg = f"`{start}-{end}` stands for more than {most} characters"
            raise Unusable(msg)
        characters.update(map(chr, range(low, high + 1)))
    return characters


# Separators of paths on any system.
_SLASHES = frozenset("/\\")


def slashed(text: str) -> Pattern:
    """Return the pattern of a glob over texts whose parts are separated by ``/``.

    ``ls:*`` matches every text that starts with ``ls``. Else ``*`` is any text without a slash,
    ``**`` any text on one line and the ``/`` behind it, and ``?`` one character but a slash. Text
    may have slashes or backslashes.

    >>> slashed("src/**/*.rs").matches("src/main.rs")
    True
    """
    _bounded(text)
    if text.endswith(":*"):
        return Pattern.of(PatternKind.TEXT, [text.removesuffix(":*"), Gap.ANY])
    return Pattern.of(PatternKind.TEXT, _slashed(text))


_SLASHED: Final = re.compile(r"(\*\*/?|[*?/\\])|[^*?/\\]+")


def _slashed(text: str) -> Iterator[Token]:
    for piece in _SLASHED.finditer(text):
        match piece[1]:
            case "**" | "**/":
                yield Run(frozenset("\n"))
            case "*":
                yield Run(_SLASHES)
            case "?":
                yield OneOf(_SLASHES, negated=True)
            case "/":
                yield OneOf(_SLASHES)
            case "\\":
                msg = "no text has a backslash once its slashes are all of one kind"
                raise Unusable(msg)
            case _:
                yield piece[0]


def names(tool: str) -> Pattern:
    """Return the pattern of tool names for *tool*: with ``*``, or a glob behind ``=``."""
    return slashed(tool[1:]) if tool.startswith("=") else Pattern.text(tool)


def _bounded(text: str) -> None:
    if len(text) > limits.PATTERN_CHARACTERS:
        msg = f"a pattern has at most {limits.PATTERN_CHARACTERS:,} characters"
        raise Unusable(msg)
