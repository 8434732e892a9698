"""Write calls, chains, effects, rules, reasons and findings as text."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Final

from policy.cli.report import document as doc
from policy.core.credentials import masked
from policy.core.decision import Because, Decision, Reason
from policy.core.effect import Effect
from policy.core.errors import PolicyError, PolicyErrors
from policy.core.finding import Finding, Severity
from policy.core.source import Span, quoted, visible
from policy.tables.dialect import relative_path

# Arguments that rules of some host match.
_PRIMARY: Final = frozenset(
    "agent argument command filePath file_path notebook_path path query skill subagent_type"
    " url".split()
)


def call(tool: str, arguments: Mapping[str, object]) -> doc.Ink:
    """Return the text of a call, as an ink."""
    return doc.Ink(call_text(tool, arguments), "call")


# Arguments that no rule matches.
_ASIDE: Final = frozenset("description prompt content old_string new_string timeout".split())


def logged_call(tool: str, arguments: Mapping[str, object]) -> doc.Ink:
    """Return a call without the arguments that no rule matches, unless it has no others."""
    kept = {name: value for name, value in arguments.items() if name not in _ASIDE}
    return call(tool, kept or arguments)


def call_text(tool: str, call: Mapping[str, object]) -> str:
    """Return a call in our notation, or with arguments in JSON; no credentials."""
    return masked(_call_text(tool, call))


def _call_text(tool: str, call: Mapping[str, object]) -> str:
    tool = "any other tool" if tool == _OTHER else tool
    if not call:
        return visible(tool)
    if len(call) == 1:
        ((field, value),) = call.items()
        if isinstance(value, str) and value:
            for mark, does in _FILES.items():
                if tool.endswith(mark):
                    file = visible(relative_path(value))
                    return f"{visible(tool.removesuffix(mark))} {does} {file}"
            if field in _PATHS:
                value = relative_path(value)
            if field in _PRIMARY:
                return f"{visible(tool)}({visible(value)})"
    try:
        arguments = json.dumps(call, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):
        arguments = "{…}"
    return f"{visible(tool)} {visible(arguments)}"


_OTHER = "OtherTool"  # `policy.compare.tables` names a tool without rules so

# Suffix of a tool, by which hosts name what a command does to a file -> its verb.
_FILES = {
    ":read": "reading",
    ":write": "writing",
    ":remove": "removing",
    "<": "reading from",
    ">": "writing to",
}

_PATHS = frozenset({"filePath", "file_path", "notebook_path", "path"})


# The name of a project at the root of the files.
HERE: Final = "(this folder)"

# A reading -> the word for what it says.
READING_WORDS: Final = {"attenuated": "declared", "enforced": "enforced"}


def chain_text(chain: Iterable[str]) -> str:
    """Return a chain, e.g. ``main > explore``."""
    return " > ".join(map(visible, chain))


def effect(effect: Effect) -> doc.Ink:
    """Return the name of an effect, as an ink."""
    return doc.Ink(effect.value, effect.value)


def arrow(before: Effect | None, after: Effect) -> doc.Text:
    """Return the effects before and after a change, with an arrow."""
    return ("?" if before is None else effect(before), " → ", effect(after))


def rule(because: Because) -> doc.Text:
    """Return the effect, the text and the place of a rule."""
    place = ("  ", doc.Ink(str(because.place), "file")) if because.place else ""
    named = (" ", doc.Ink(because.rule, "rule")) if because.rule else ""
    return (effect(because.effect), named, place)


def because_text(decision: Decision, agent: str = "", most: int | None = None) -> doc.Text:
    """Return the determining rules of a decision, at most *most*, or else its reason."""
    if not decision.because:
        return explained(decision, agent)
    return doc.joined(map(rule, decision.because), "; ", most)


def names(names: Iterable[str], most: int | None = None, role: str = "") -> doc.Text:
    """Return at most *most* names with commas between them, and the number of others."""
    return doc.joined((doc.Ink(name, role) for name in names), most=most)


def reasons(why: Iterable[str]) -> str:
    """Return the reasons *why* an answer is not exact, each once, behind its tools."""
    alike: dict[str, list[str]] = {}
    for each in why:
        tool, _, reason = each.partition(": ")
        alike.setdefault(reason, []).append(tool)
    return "; ".join(
        ", ".join(tools) + (reason and f": {reason}") for reason, tools in alike.items()
    )


def count(number: int, noun: str) -> str:
    """Return a number and its noun: ``1 agent``, ``2 agents``, ``no agents``."""
    if number == 1:
        return f"1 {noun}"
    return f"{number:,} {noun}s" if number else f"no {noun}s"


@cache
def sentences() -> dict[str, Any]:
    """Return the content of `words.toml`: sentences for reasons, clauses and codes."""
    content: dict[str, Any] = json.loads(Path(__file__).with_name("words.json").read_text("utf-8"))
    return content


def explained(decision: Decision, agent: str = "") -> str:
    """Return the sentence for the reason of a decision; *agent* made the call."""
    whose = decision.links or ((agent,) if agent else ())
    if decision.reason is Reason.UNAVAILABLE:
        whose = whose[:1]
    who, any_ = (quoted(whose, last=last) if whose else "the policy" for last in ("and", "or"))
    text = sentences()["reasons"].get(decision.reason.value, decision.reason.value)
    if isinstance(text, dict):
        text = text.get(decision.effect.value, decision.reason.value)
    return str(text).format(who=who, any=any_)


# The first line above findings.
EXPLAIN: Final = "`policy rule CODE` says what a code means"


def error_items(error: PolicyError) -> list[doc.Block]:
    """Return an item for each mistake in *error*, with its place and its line."""
    errors = error.errors if isinstance(error, PolicyErrors) else (error,)
    return [_problem("error", each.message, each.span, each.file, each.help) for each in errors]


def finding_item(finding: Finding) -> doc.Item:
    """Return the item of a finding, with its place, its line and its help."""
    message = f"{finding.message} [{finding.code}]"
    return _problem(finding.severity.value, message, finding.span, finding.file, finding.help)


def _problem(word: str, message: str, span: Span | None, file: str, help_: str) -> doc.Item:
    place = str(span.place) if span else file
    where = (doc.Ink(f"{place}:", "strong"), " ") if place else ""
    body: list[doc.Block] = [doc.Excerpt(span, word)] if span else []
    if help_:
        body.append(doc.Labelled((("help", " ".join(help_.split())),)))
    return doc.Item((where, doc.Ink(f"{word}:", word), " ", " ".join(message.split())), tuple(body))


def by_severity(findings: Iterable[Finding]) -> list[Finding]:
    """Return *findings* by severity, then by the order of codes in `words.toml`."""
    first = sentences()["first"]["codes"]
    rank = {code: number - len(first) for number, code in enumerate(first)}
    order = [*Severity]
    return sorted(findings, key=lambda one: (order.index(one.severity), rank.get(one.code, 0)))


def is_reached(findings: Iterable[Finding], least: str) -> bool:
    """Return whether one of *findings* has at least the severity *least*."""
    order = [*Severity]
    counting = order[: order.index(Severity(least)) + 1]
    return any(finding.severity in counting for finding in findings)


def finding_lines(findings: Iterable[Finding], most: int) -> list[doc.Block]:
    """Return a line for each of at most *most* codes of *findings*, errors first."""
    alike = doc.grouped(by_severity(findings), lambda finding: finding.code)
    blocks: list[doc.Block] = []
    for members in alike[:most]:
        first = members[0]
        place = str(first.place) if first.span else first.file
        also = f" and {len(members) - 1:,} more" if len(members) > 1 else ""
        word = doc.Ink(first.severity.value, first.severity.value)
        # The help of an error starts with its consequence or its remedy.
        then = first.help.partition(";")[0] if first.severity is Severity.ERROR else ""
        text = f"{also}  {first.message}{then and '; '}{then} [{first.code}]"
        blocks.append(doc.Item((word, "  ", doc.Ink(place, "file"), text)))
    left = [finding for members in alike[most:] for finding in members]
    return [*blocks, *doc.more(len(left), f"({findings_summary(left)})")]


def findings_blocks(findings: Iterable[Finding], most: int | None) -> list[doc.Block]:
    """Return *findings*, errors first, at most *most* of a code; equal ones share an item."""

    def key(one: Finding) -> object:
        # Messages about one text may name its file or its agent.
        about = one.message if most is None else (one.span and one.span.text, one.help)
        return one.code, about

    alike = doc.grouped(by_severity(findings), key)
    blocks: list[doc.Block] = []
    for groups in doc.grouped(alike, lambda members: members[0].code):
        code, shown = groups[0][0].code, groups
        if most is not None and len(groups) > most + 1:
            shown = groups[:most]
        blocks += (_finding_item(members, most) for members in shown)
        blocks += doc.more(len(groups) - len(shown), f"[{code}]")
    return blocks


def _finding_item(members: Sequence[Finding], most: int | None) -> doc.Block:
    item = finding_item(members[0])
    if len(members) == 1:
        return item
    places = (doc.Ink(str(each.place) if each.span else each.file, "file") for each in members[1:])
    also = doc.Labelled((("also", doc.joined(places, most=most)),))
    return doc.Item(item.head, (*item.body, also))


def findings_summary(findings: Iterable[Finding]) -> str:
    """Return the numbers of findings by severity, e.g. "1 error, 2 notes"."""
    totals = Counter(finding.severity.value for finding in findings)
    parts = [count(totals[word], word) for word in ("error", "warning", "note") if totals[word]]
    return ", ".join(parts) or "no findings"
