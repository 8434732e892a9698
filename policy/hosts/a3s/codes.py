"""Every finding of this front end: its code, how much it matters, and what it means."""

from __future__ import annotations

from typing import Final

from policy.finding import Finding, Severity
from policy.source import Span

__all__ = ["CODES", "finding"]

_ERROR, _WARNING, _NOTE = Severity.ERROR, Severity.WARNING, Severity.NOTE

# Code -> severity, and what somebody should know who meets it.
CODES: Final[dict[str, tuple[Severity, str]]] = {
    "a3s-malformed-rule": (
        _ERROR,
        (
            "The host refuses no rule. One that is malformed names a tool that there is none of, so"
            " it does nothing, and what it was to deny is not denied."
        ),
    ),
    "a3s-inert-spawn-rule": (
        _ERROR,
        (
            "The host has no rule about which agents may be started. `Task(explore)` is compared"
            " with the JSON of all arguments and never matches."
        ),
    ),
    "a3s-inert-lane": (
        _ERROR,
        (
            "A lane counts among the rules that allow, since version 9. Elsewhere it is the name of"
            " a tool that there is none of."
        ),
    ),
    "a3s-ask-after-allow": (
        _WARNING,
        (
            "Rules that allow are asked before rules that ask, so a broad one of these leaves the"
            " others nothing."
        ),
    ),
    "a3s-allow-after-deny": (
        _WARNING,
        "A rule that denies every call of a tool leaves the rules that allow it nothing.",
    ),
    "a3s-prefix-without-boundary": (
        _WARNING,
        (
            "`:*` is a prefix of raw text: it ends at no word, and does not look at what follows"
            " `&&` or `;`."
        ),
    ),
    "a3s-star-and-lines": (
        _WARNING,
        (
            "`*` matches line breaks and no slash; `**` matches slashes and no line break. So a"
            " second command rides on `*`, and a command of several lines evades `**`."
        ),
    ),
    "a3s-path-walks-out": (
        _WARNING,
        "Paths are compared as written: `src/../../etc/passwd` starts with `src/`.",
    ),
    "a3s-multi-file-read": (
        _WARNING,
        (
            "A read of several files is compared as one text with a path a line. A pattern that"
            " denies misses it; a prefix that allows sees the first path alone."
        ),
    ),
    "a3s-optional-destination": (
        _WARNING,
        "A download without a destination has an empty text, which no pattern of paths matches.",
    ),
    "a3s-json-arguments": (
        _WARNING,
        "Of this tool a rule sees all arguments, as JSON; a pattern needs `**` on both sides.",
    ),
    "a3s-server-prefix": (
        _WARNING,
        (
            "The name of a server without a wildcard is a prefix: it covers other servers whose"
            " names start the same."
        ),
    ),
    "a3s-unknown-tool": (
        _WARNING,
        (
            "The host has no tool of this name, so the rule grants or denies nothing. Names of"
            " other hosts are not translated, `WebFetch` for one."
        ),
    ),
    "a3s-policy-disabled": (
        _ERROR,
        "A policy that is not enabled allows everything, also what it denies.",
    ),
    "a3s-allowed-but-hidden": (
        _NOTE,
        "A lane allows the tool, but under a default of deny the model is not shown it.",
    ),
    "a3s-definition-dropped": (
        _ERROR,
        (
            "Rules that ask, and a default, do not count as permissions: such a definition is"
            " dropped and the agent has those of whoever starts it."
        ),
    ),
    "a3s-permissions-replaced": (
        _ERROR,
        "A list of tools replaces the permissions beside it, rules that deny included.",
    ),
    "a3s-empty-tools": (
        _ERROR,
        "A list of no tools, or what is no list, counts as absent: the agent is not restricted.",
    ),
    "a3s-list-split": (
        _ERROR,
        (
            "A list in one text is split at every comma, also between parentheses; both halves do"
            " nothing."
        ),
    ),
    "a3s-second-list": (_WARNING, "Of several names of one list the first that is there counts."),
    "a3s-unknown-key": (_WARNING, "The host ignores keys that it does not know."),
    "a3s-header-cut": (
        _ERROR,
        "The header ends at the second `---` wherever it stands, so what follows it is lost.",
    ),
    "a3s-auto-approve": (
        _WARNING,
        "What this agent asks for is approved at once, since it has permissions of its own.",
    ),
    "a3s-agent-skipped": (_ERROR, "The host skips a file that it cannot read, and goes on."),
    "a3s-exposed-definition": (
        _ERROR,
        (
            "A file that cannot be read would replace an agent of the same name, which is in force"
            " in its place."
        ),
    ),
    "a3s-agent-overridden": (_WARNING, "A later definition of the same name replaces this one."),
    "a3s-reserved-name": (_ERROR, "The name stands for the session itself in chains."),
    "a3s-confirmation-off": (_ERROR, "Nobody is asked: what rules ask for happens."),
    "a3s-bad-directory": (_ERROR, "A mistake anywhere in an agent directory refuses all of it."),
    "a3s-script-excluded-tool": (_WARNING, "No script may call this tool, listed or not."),
    "a3s-script-literal": (
        _ERROR,
        "The list of a script is exact names: no wildcard and no pattern over arguments.",
    ),
    "a3s-script-without-tools": (
        _NOTE,
        "A script without a list may call nothing; each tool must be named.",
    ),
    "a3s-script-list-only": (
        _ERROR,
        (
            "Before version 5 the list of a script is all that bounds its calls: what the session"
            " denies, a script may do."
        ),
    ),
    "a3s-limit-ignored": (_WARNING, "Limits are written in camel case; other keys are ignored."),
    "a3s-shadowed-tool": (_WARNING, "The host has a tool of this name and keeps its own."),
    "a3s-left-out": (_WARNING, "The file leads out of the folder and is not read."),
    "a3s-unattended": (_NOTE, "A schedule starts the agent with nobody there to confirm."),
    "a3s-bad-session": (_ERROR, "The session cannot be read, so it is taken to have nothing."),
}


def finding(
    code: str, message: str, span: Span | None = None, *, help: str = "", file: str = ""
) -> Finding:
    """Return the finding of that code."""
    return Finding(code, message, CODES[code][0], span, file, help)
