"""Text for people: widths, colours, excerpts with carets, and Markdown."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence

import attrs

from policy.core.credentials import masked
from policy.core.decision import Because, Decision, Reason
from policy.core.effect import Effect
from policy.core.errors import PolicyError, PolicyErrors
from policy.core.finding import Finding
from policy.core.source import Span, visible

__all__ = [
    "Ink",
    "PageLayout",
    "because_line",
    "call_text",
    "chain_text",
    "clipped",
    "code",
    "count",
    "error_report",
    "excerpt",
    "explained",
    "finding_report",
    "item",
    "line_around",
    "listed",
    "prose",
    "quoted",
    "rule_text",
    "says_more",
    "table",
    "verb",
    "width",
]


# The codes of styles on a terminal (ECMA-48, "select graphic rendition").
_STYLES = {
    "allow": "32",
    "ask": "33",
    "deny": "31",
    "error": "1;31",
    "warning": "1;33",
    "note": "1;36",
    "widened": "1;31",
    "narrowed": "1;32",
    "good": "32",
    "bold": "1",
    "dim": "2",
}

_ESCAPES = re.compile(r"\x1b\[[0-9;]*m")

# The least columns behind a label, however narrow the page.
_LEAST = 16


def width(text: str) -> int:
    """Return the columns that *text* takes up on a terminal."""
    if "\x1b" in text:
        text = _ESCAPES.sub("", text)
    if text.isascii():
        return len(text)
    return sum(map(_columns, text))


def _columns(character: str) -> int:
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def clipped(text: str, columns: int) -> str:
    """Return *text*, with ``…`` for its end where it is wider than *columns*."""
    if width(text) <= columns:
        return text
    return _fitting(text, max(columns - 1, 0)) + "…"


def _fitting(text: str, columns: int) -> str:
    """Return the longest start of *text* that fits."""
    if text.isascii():
        return text[:columns]
    taken = 0
    for index, character in enumerate(text):
        taken += _columns(character)
        if taken > columns:
            return text[:index]
    return text


@attrs.frozen
class Ink:
    """A piece of text in a style, which is broken over lines only where it must be."""

    text: str
    style: str = ""


@attrs.frozen
class PageLayout:
    """The width of lines, and whether they have colour."""

    width: int = 100
    colour: bool = False

    def paint(self, text: str, style: str) -> str:
        """Return *text* in a style."""
        code = _STYLES.get(style) if self.colour and text else None
        return f"\x1b[{code}m{text}\x1b[0m" if code else text

    def effect(self, effect: Effect) -> str:
        """Return the word for *effect*, in its colour."""
        return self.paint(effect.value, effect.value)

    def flow(
        self,
        pieces: Iterable[str | Ink],
        head: str = "",
        *,
        indent: int | None = None,
        separator: str = ", ",
    ) -> list[str]:
        """Return *pieces* filled into lines, a piece in one line where it fits.

        Args:
            pieces: to fill in.
            head: of the first line, painted or not.
            indent: of the lines that follow; by default the width of *head*.
            separator: between two pieces; at the end of a line without blanks.

        """
        margin = width(head) if indent is None else indent
        if self.width - margin < _LEAST:
            margin = min(margin, 4)
        lines, line, taken, empty = list[str](), head, width(head), True
        if self.width - taken < _LEAST and head.strip():
            lines, line, taken = [head.rstrip()], " " * margin, margin
        inks = [piece if isinstance(piece, Ink) else Ink(piece) for piece in pieces]
        tail = width(separator.rstrip())
        for number, piece in enumerate(inks):
            ink = piece
            last = number == len(inks) - 1
            needed = width(ink.text) + (0 if last else tail)
            if not empty and taken + width(separator) + needed > self.width:
                lines.append(line + separator.rstrip())
                line, taken, empty = " " * margin, margin, True
                ink = attrs.evolve(ink, text=ink.text.lstrip(" "))
            elif not empty:
                line, taken = line + separator, taken + width(separator)
            chunks = _broken(ink.text, self.width - taken, self.width - margin, 0 if last else tail)
            for chunk in chunks[:-1]:
                lines.append(line + self.paint(chunk.rstrip(" "), ink.style))
                line, taken = " " * margin, margin
            line += self.paint(chunks[-1], ink.style)
            taken += width(chunks[-1])
            empty = False
        return [*lines, line.rstrip() if empty else line]

    def prose(
        self, text: str, head: str = "", *, indent: int | None = None, style: str = ""
    ) -> list[str]:
        """Return *text* filled into lines between its words."""
        words = [Ink(word, style) for word in text.split(" ") if word]
        return self.flow(words, head, indent=indent, separator=" ")


def _broken(text: str, first: int, rest: int, tail: int) -> list[str]:
    """Return *text* in parts: the first fits *first* columns, the others *rest*."""
    parts, room = list[str](), first
    while width(text) + tail > room and width(text) > 1:
        fitting = _fitting(text, max(room, 1)) or text[0]
        if len(fitting) == len(text):  # only what follows it does not fit
            fitting = fitting[: max(len(fitting) - tail, 1)]
        # Better between the parts of a command or a path than within a word.
        cut = max(fitting.rfind(" "), fitting.rfind("/")) + 1
        fitting = fitting[:cut] if cut > len(fitting) // 2 else fitting
        parts.append(fitting)
        text, room = text[len(fitting) :], rest
    return [*parts, text]


# --- calls, chains, reasons and rules ------------------------------------------------------
#
# Names and rules may come from untrusted files, so all of them pass through `visible`.


# Arguments that a rule of some host matches.
_PRIMARY = frozenset(
    {
        "agent",
        "argument",
        "command",
        "filePath",
        "file_path",
        "notebook_path",
        "path",
        "query",
        "skill",
        "subagent_type",
        "url",
    }
)


def call_text(tool: str, call: Mapping[str, object]) -> str:
    """Return a call as our notation writes it, or with its arguments as JSON; no credentials."""
    return masked(_call_text(tool, call))


def _call_text(tool: str, call: Mapping[str, object]) -> str:
    if not call:
        return visible(tool)
    if len(call) == 1:
        ((field, value),) = call.items()
        if isinstance(value, str) and value:
            for mark, does in _FILES.items():
                if tool.endswith(mark):
                    return f"{visible(tool.removesuffix(mark))} {does} {visible(_path(value))}"
            if field in _PATHS:
                value = _path(value)
            if field in _PRIMARY:
                return f"{visible(tool)}({visible(value)})"
    try:
        arguments = json.dumps(call, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):
        arguments = "{…}"
    return f"{visible(tool)} {visible(arguments)}"


# What a command does to a file, by the suffix of the host's name for it.
_FILES = {
    ":read": "reading",
    ":write": "writing",
    ":remove": "removing",
    "<": "reading from",
    ">": "writing to",
}

_PATHS = frozenset({"filePath", "file_path", "notebook_path", "path"})


def _path(path: str) -> str:
    """Return *path* relative to the folder of the agent."""
    for anchor, shown in (("/@project", ""), ("/@home", "~/")):
        if path == anchor:
            return shown or "."
        if path.startswith(f"{anchor}/"):
            return shown + path.removeprefix(f"{anchor}/")
    return path


def chain_text(chain: Iterable[str]) -> str:
    """Return a chain, e.g. ``main > explore``."""
    return " > ".join(map(visible, chain))


def rule_text(because: Because) -> str:
    """Return a rule with its effect, e.g. ``ask Bash(git push *)``."""
    rule = visible(masked(because.rule))
    return f"{because.effect} {rule}" if rule else str(because.effect)


def quoted(names: Sequence[str], most: int = 6, *, last: str = "and") -> str:
    """Return names in backticks, e.g. ```a`, `b` and `c```; *last* precedes the last one."""
    shown = [f"`{visible(name)}`" for name in names[:most]]
    if len(names) > most:
        return ", ".join(shown) + f" {last} {len(names) - most} more"
    return f" {last} ".join(filter(None, (", ".join(shown[:-1]), *shown[-1:])))


def listed(names: Sequence[str], most: int | None) -> list[str]:
    """Return the first *most* names, and the number of the others."""
    if most is None or len(names) <= most + 1:
        return [visible(name) for name in names]
    return [*(visible(name) for name in names[:most]), f"and {len(names) - most:,} more"]


def count(number: int, noun: str) -> str:
    """Return a number and its noun: ``1 agent``, ``2 agents``, ``no agents``."""
    if number == 1:
        return f"1 {noun}"
    return f"{number:,} {noun}s" if number else f"no {noun}s"


_VERBS = {Effect.ALLOW: "allowed", Effect.ASK: "asked for", Effect.DENY: "denied"}


def verb(effect: Effect) -> str:
    """Return the verb of an effect: ``allowed``, ``asked for``, ``denied``."""
    return _VERBS[effect]


# Reasons without a named rule. `{who}` are the links that decide, `{any}` is one of them.
_WHY: dict[Reason, dict[Effect | None, str]] = {
    Reason.RULE: {
        Effect.ALLOW: "a rule of {who} allows it",
        Effect.ASK: "{who} must confirm it",
        Effect.DENY: "a rule of {who} denies it",
    },
    Reason.DEFAULT: {
        Effect.ALLOW: "no rule of {any} matches it, so it is allowed",
        Effect.ASK: "no rule of {any} matches it, so it is asked for",
        Effect.DENY: "nothing in {any} grants it",
    },
    Reason.UNRESTRICTED: {None: "no policy applies to it"},
    Reason.UNAVAILABLE: {None: "{who} does not have this tool"},
    Reason.MALFORMED: {
        None: "its arguments cannot be read, so no rule of {any} can be trusted to match it"
    },
    Reason.TOO_LONG: {None: "an argument is longer than any rule of {any} is asked about"},
    Reason.PROTECTED: {None: "the host guards this against every rule of {any} that allows"},
    Reason.CLASSIFIER: {None: "a model of the host decides, which nothing here foresees"},
    Reason.NO_TOOLS: {None: "the agent would have no tool, so the host does not start it"},
    Reason.DEPTH: {None: "{who} may start no agent: a limit of depth is reached"},
    Reason.NO_ROOT: {
        None: "it names a file outside of the project, whose folder is not known (`--root`)"
    },
    Reason.UNANALYSABLE: {None: "no rule of {who} can be shown to match all of the command"},
}


def explained(decision: Decision, agent: str = "") -> str:
    """Return why a call got its effect, in a clause; *agent* made the call."""
    whose = decision.links or ((agent,) if agent else ())
    if decision.reason is Reason.UNAVAILABLE:
        whose = whose[:1]
    who, any_ = (quoted(whose, last=last) if whose else "the policy" for last in ("and", "or"))
    sentences = _WHY.get(decision.reason, {})
    text = sentences.get(decision.effect) or sentences.get(None) or decision.reason.value
    return text.format(who=who, any=any_)


# --- lines of files with carets ------------------------------------------------------------


_LEAST_EXCERPT = 24  # columns of a line that are shown, however narrow the page
_EFFECTS = {"", *(effect.value for effect in Effect)}
_BEFORE = 40  # columns in front of the carets that are kept where a line is cut


def excerpt(span: Span, page: PageLayout, *, style: str = "error", indent: str = "") -> list[str]:
    """Return the line of *span* with carets below, not wider than *page*."""
    number, column = span.source.line_and_column(span.start)
    text = masked(span.source.line(number))
    gutter = " " * len(str(number))
    room = page.width - len(indent) - len(gutter) - 3
    if room < _LEAST_EXCERPT:
        indent, room = "", max(page.width - len(gutter) - 3, _LEAST_EXCERPT)
    before = _shown(text[: column - 1])
    marked = _shown(text[column - 1 : column - 1 + max(span.end - span.start, 0)])
    after = _shown(text[column - 1 + max(span.end - span.start, 0) :])
    if width(before + marked + after) > room:
        keep = max(min(_BEFORE, room - width(marked) - 2), room // 4)
        if width(before) > keep:
            before = "…" + _end(before, keep - 1)
    shown = clipped(before + marked + after, room)
    marks = max(min(width(marked), room - width(before)), 1)
    carets = " " * width(before) + page.paint("^" * marks, style)
    return [
        indent + page.paint(f"{gutter} |", "dim"),
        indent + page.paint(f"{number} |", "dim") + f" {shown}".rstrip(),
        indent + page.paint(f"{gutter} |", "dim") + f" {carets}",
    ]


def says_more(span: Span) -> bool:
    """Return whether the line of the rule *span* has more than its effect: rules, a comment."""
    line = span.source.line(span.place.line)
    return line.replace(span.text, "", 1).strip(" \t-,;") not in _EFFECTS


def line_around(span: Span, most: int) -> str:
    """Return at most *most* characters of the line of *span*, with the start of *span*."""
    number, column = span.source.line_and_column(span.start)
    line = masked(span.source.line(number))
    text = line.strip()
    start = column - 1 - (len(line) - len(line.lstrip()))
    if len(text) <= most:
        return text
    first = min(max(start - most // 4, 0), len(text) - most)
    shown = text[first : first + most]
    return f"{'…' if first else ''}{shown}{'…' if first + most < len(text) else ''}"


def _shown(text: str) -> str:
    return visible(text.replace("\t", "    "))


def _end(text: str, columns: int) -> str:
    """Return the longest end of *text* that fits."""
    while width(text) > columns:
        text = text[max(1, (width(text) - columns) // 2) :]
    return text


def error_report(error: PolicyError, page: PageLayout) -> list[str]:
    """Return every error in *error*, each with its place and its line."""
    errors = error.errors if isinstance(error, PolicyErrors) else (error,)
    lines: list[str] = []
    for one in errors:
        place = str(one.place) if one.span else visible(one.file)
        lines += _head(place, "error", one.message, page)
        lines += _rest(one.span, one.help, "error", page)
    return lines


def finding_report(finding: Finding, page: PageLayout) -> list[str]:
    """Return a finding with its place, its line and its help."""
    place = str(finding.place) if finding.span else visible(finding.file)
    word = finding.severity.value
    lines = _head(place, word, f"{finding.message} [{finding.code}]", page)
    return lines + _rest(finding.span, finding.help, word, page)


def _head(place: str, word: str, message: str, page: PageLayout) -> list[str]:
    pieces = [Ink(f"{place}:", "bold")] if place else []
    pieces += [Ink(f"{word}:", word), *(Ink(part) for part in _words(message))]
    return page.flow(pieces, indent=4, separator=" ")


def _rest(span: Span | None, help: str, word: str, page: PageLayout) -> list[str]:
    lines = excerpt(span, page, style=word) if span is not None else []
    if help:
        lines += page.prose(" ".join(_words(help)), "  = help: ")
    return lines


def _words(text: str) -> list[str]:
    return [visible(word) for word in masked(text).split()]


def because_line(because: Because, page: PageLayout, head: str) -> Sequence[str]:
    """Return a rule with its place in one line, or two."""
    pieces = [Ink(because.effect.value, because.effect.value), Ink(visible(masked(because.rule)))]
    if because.place is not None:
        pieces.append(Ink(f" {because.place}", "dim"))
    return page.flow([piece for piece in pieces if piece.text], head, separator=" ")


# --- Markdown that no name of a file can break out of --------------------------------------


# Characters with a meaning in Markdown.
_SPECIAL = str.maketrans({char: f"\\{char}" for char in "\\`*_{}[]<>()#|!~&@"})


def code(text: str) -> str:
    """Return *text* as code."""
    shown = visible(masked(text)).replace("|", "\\|")
    longest = run = 0
    for character in shown:
        run = run + 1 if character == "`" else 0
        longest = max(longest, run)
    fence = "`" * (longest + 1)
    pad = " " if longest or shown.startswith(" ") else ""
    return f"{fence}{pad}{shown}{pad}{fence}" if shown else ""


def prose(text: str) -> str:
    """Return *text* as text on one line, with code for its parts in backticks."""
    parts = visible(masked(" ".join(text.split()))).split("`")
    if len(parts) % 2 == 0:
        return "`".join(parts).translate(_SPECIAL)
    return "".join(
        code(part) if index % 2 else part.translate(_SPECIAL) for index, part in enumerate(parts)
    )


def item(text: str, level: int = 0) -> str:
    """Return an item of a list."""
    return f"{'  ' * level}- {text}"


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Return a table of cells that are Markdown already."""
    lines = [f"| {' | '.join(heads)} |", f"| {' | '.join('---' for _ in heads)} |"]
    return [*lines, *(f"| {' | '.join(row)} |" for row in rows)]
