"""Which rules that allow are left to the model where one judges (2.1.329).

In `auto` a rule with a star allows nothing where what stands before the star may lead to a
program that runs what it is told to: an interpreter or a runner, by itself or behind programs
that start others, or the beginning of its name. Nor does it where that cannot be read.
"""

from __future__ import annotations

import re
from typing import Final

from policy.hosts.claude.data.versions import Behaviour
from policy.hosts.claude.lines import Line

__all__ = ["is_left_to_model"]

# Interpreters and runners, which no rule with a star may hand to.
_RUNNERS: Final = frozenset(
    "python node deno tsx ruby perl php lua npx bunx pnpx bash sh ssh zsh fish eval exec env xargs"
    " sudo".split()
)
_SCRIPTS: Final = frozenset(
    f"{manager} {verb}"
    for manager, verbs in {
        "npm": ("run", "exec", "x"),
        "yarn": ("run", "exec", "dlx"),
        "pnpm": ("run", "exec", "dlx"),
        "bun": ("run", "exec", "x"),
    }.items()
    for verb in verbs
)
# Programs that start others, which are named behind them.
_STARTERS: Final = frozenset(
    "sh bash zsh fish csh tcsh ksh mksh dash ash hush rbash rsh busybox toybox wsl cmd powershell"
    " pwsh env xargs command builtin noglob nice stdbuf nohup timeout time watch ionice chrt setsid"
    " taskset strace ltrace script flock unshare nsenter sandbox-exec sudo doas pkexec su"
    " runuser".split()
)
# As they are written, with their versions: names that only begin like a text count by these.
_NAMES: Final = _RUNNERS | _STARTERS | {"python2", "python3"}

_FIXED: Final = re.compile(r"(?:\\[*\\]|[^*])*")
_WORD: Final = re.compile(r"""\s*((?:\\.|'[^']*'|"(?:\\.|[^"\\])*"|[^\s\\'"])+)(?=\s)""", re.DOTALL)
# What is not the name of a program: an assignment, an option, a number, signs alone, quoting.
_BESIDE: Final = re.compile(
    r"\w+\+?=|-|/+\w\Z|\d[\d.]*[smhd]?\Z|[^a-z0-9]*\Z|.*[^\w .+@%,:~/-]",
    re.ASCII | re.IGNORECASE | re.DOTALL,
)
_CODE: Final = re.compile(r"(?:-\w*c|/c)\Z", re.ASCII | re.IGNORECASE)
_ELSEWHERE: Final = re.compile(
    r"[/~\\]|[a-z]:|(?:.*[\\/])?\.\.(?:[\\/]|\Z)", re.IGNORECASE | re.DOTALL
)
_OPTION: Final = re.compile(r"-|[^a-z0-9:]*\Z")


def is_left_to_model(line: Line, behaves: Behaviour) -> bool:
    """Return whether a rule that allows is left to the model, where one judges."""
    entry = line.entry
    if entry.tool != "Bash" and not (entry.tool == "Monitor" and behaves.monitor_judged):
        return False
    if entry.pattern is None:
        return True
    text = entry.rule.partition("(")[2].removesuffix(")")
    return _may_lead_to_runner(text) or _names_runner(text)


def _may_lead_to_runner(text: str) -> bool:
    """Return whether what stands before a star may be, or become, a command of a runner."""
    spaced = re.sub(r":\*\Z", " *", text)
    found = _FIXED.match(spaced)
    fixed = found[0] if found else ""
    if fixed == spaced:
        return False
    words = _plain(fixed).split(" ")
    while words and _OPTION.match(words[-1]):
        words.pop()
    if " ".join(words) in _SCRIPTS | _RUNNERS:
        return True
    at = 0
    while word := _WORD.match(fixed, at):
        name = _unquoted(word[1])
        if _CODE.match(name):
            return True
        if not _BESIDE.match(name) and _program(name) not in _NAMES:
            return False
        at = word.end()
    last = _unquoted(fixed[at:].strip())
    program = _program(last)
    return bool(
        _BESIDE.match(last)
        or _ELSEWHERE.match(last)
        or (program and any(name.startswith(program) for name in _NAMES))
    )


def _names_runner(text: str) -> bool:
    """Return whether a rule is a runner by itself, whatever follows it or options of it."""
    plain = _plain(text)
    for runner in _RUNNERS | _SCRIPTS:
        if plain in (runner, f"{runner}:*", f"{runner} *", f"{runner}*"):
            return True
        rest = plain.removeprefix(f"{runner} ")
        if rest != plain and rest.endswith("*") and rest.startswith("-"):
            # A module of a package is a program of its own.
            module = re.match(r"-m\s+\w+\.[\w.]+(\s*:|\s+)\*\Z", rest, re.ASCII)
            return not (runner == "python" and module)
    return False


def _plain(text: str) -> str:
    """Return *text* with single blanks and stars, its program by its bare name."""
    text = re.sub(r"[ \t]+", " ", text.strip().lower())
    text = re.sub(r"\*[ *]*\*", "*", text)
    program = re.match(r"""(?:"[^"*]*"|'[^'*]*'|[^ *='"])+?(?= |:\*\Z|\Z)""", text)
    if program:
        text = _program(_unquoted(program[0])) + text[program.end() :]
    return _unquoted(text)


def _program(name: str) -> str:
    """Return the bare name of a program: without folders, version and suffix."""
    bare = re.sub(r"\A.*[\\/]", "", name, flags=re.DOTALL).lower()
    found = re.match(r"(.*?[^\d.])?[\d.]*(?:\.exe)?\Z", bare, re.ASCII | re.DOTALL)
    return (found[1] or "") if found else bare


def _unquoted(text: str) -> str:
    return text.replace("'", "").replace('"', "")
