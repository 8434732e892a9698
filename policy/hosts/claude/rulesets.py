"""The rule sets of a session in one permission mode.

The order of 2.1.329, as observed: what the host itself decides, exact deny, exact ask, other deny,
other ask, interactive tools, guarded files, exact allow, other allow, what the mode allows, and the
default of a tool. `bypassPermissions` has no allow rules. What holds in any order, as the folders
of a sandbox, is another rule set; the strictest decides.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache

from policy.core.decision import Reason
from policy.core.effect import Effect
from policy.core.values import evolve
from policy.hosts.claude import defaults
from policy.hosts.claude.data import tools as known
from policy.hosts.claude.data.settings import EDITS_INSIDE, READS_INSIDE
from policy.hosts.claude.data.unchecked import EXACT_ONLY
from policy.hosts.claude.defaults import built_in
from policy.hosts.claude.dialect import dialect
from policy.hosts.claude.rules import RuleLine
from policy.hosts.claude.session import ClaudeSession, is_plan
from policy.hosts.claude.shell.doubtful import traced_patterns
from policy.patterns.pattern import Pattern, PatternKind, is_glob
from policy.patterns.tokens import folded
from policy.tables.ruleset import Entry, Form, RuleSet


def rule_sets(session: ClaudeSession, mode: str) -> tuple[RuleSet, ...]:
    """Return the rule sets whose meet decides calls in *mode*."""
    return session.cached(("rules", mode), lambda: tuple(_rule_sets(session, mode)))


def _rule_sets(session: ClaudeSession, mode: str) -> Iterator[RuleSet]:
    reading = dialect(session, mode)
    if READS_INSIDE in session.fences:
        # A command is asked for if the files that it reads are unknown.
        shell = reading.shell
        compound = (*shell.compound, *traced_patterns(shell.kinds))
        shell = evolve(shell, traced=True, compound=compound)
        traced = evolve(reading, shell=shell, asks=not session.never_asks(mode))
        kept = _without_asking(defaults.reads_inside(session), session, mode)
        yield RuleSet(tuple(kept), Effect.ALLOW, traced)
    if EDITS_INSIDE in session.fences:
        yield RuleSet(tuple(defaults.edits_inside(session)), Effect.ALLOW, reading)
    yield _rule_set(session, mode)


def _without_asking(entries: Iterable[Entry], session: ClaudeSession, mode: str) -> Iterator[Entry]:
    """Yield *entries*, which deny what would be asked for where the mode never asks the user."""
    silent = session.never_asks(mode)
    for entry in entries:
        asks = entry.effect is Effect.ASK and entry.reason is not Reason.CLASSIFIER
        yield evolve(entry, effect=Effect.DENY) if silent and asks else entry


def _rule_set(session: ClaudeSession, mode: str) -> RuleSet:
    reading, reason = dialect(session, mode), Reason.DEFAULT
    if not session.starts:
        return RuleSet((), Effect.DENY, reading, Reason.UNAVAILABLE)
    entries: list[Entry] = []
    if not session.is_removed(known.LAST):
        entries.append(built_in(known.LAST, Effect.ALLOW, why="needs no permission"))
    entries += defaults.skills_of_users(session)
    entries += defaults.removals(session, mode)
    entries += defaults.power_shell_removals()
    for tool in known.FILE_TOOLS["Edit"]:
        for link in session.options.links if not session.is_removed(tool) else ():
            pattern = Pattern.exactly(folded(link), PatternKind.PATH)
            entries.append(built_in(tool, Effect.DENY, pattern, Reason.PROTECTED, "a link itself"))
    entries += _pick(session.lines, Effect.DENY, exact=True)
    entries += _pick(session.lines, Effect.ASK, exact=True)
    entries += _pick(session.lines, Effect.DENY, exact=False)
    # A sandbox replaces the ask rules for every command, and no others.
    skips = _runs_in_sandbox(session, mode)
    asked = _pick(session.lines, Effect.ASK, exact=False)
    entries += (e for e in asked if not (skips and e.tool == "Bash" and e.pattern is None))
    entries += (
        built_in(tool, Effect.ASK, reason=Reason.PROTECTED, why="asks the user")
        for tool in sorted({*known.INTERACTIVE, *session.options.interactive})
    )
    if mode == "bypassPermissions":
        entries += defaults.agents(session, mode)
        default = Effect.ALLOW
    else:
        entries += defaults.before_allow_rules(session, mode)
        entries += _allowed_or_default(session, mode)
        reason = session.reason(mode)
        default = Effect.DENY if session.denies_rest(mode) else Effect.ASK
    return RuleSet(tuple(_without_asking(entries, session, mode)), default, reading, reason)


def _allowed_or_default(session: ClaudeSession, mode: str) -> Iterator[Entry]:
    """Yield the entries of allow rules, and those for calls that no rule matches."""
    opened = [*_allowed(session, mode), *defaults.defaults(session, mode)]
    is_alone = not any(
        entry.effect is Effect.ALLOW
        and (entry.tool == "Bash" or is_glob(entry.tool))
        and (entry.pattern is not None or entry.reason is not Reason.RULE)
        for entry in opened
    )
    for entry in opened:
        yield evolve(entry, form=Form.ALONE) if is_alone and entry.tool == "Bash" else entry


def _pick(lines: Iterable[RuleLine], effect: Effect, *, exact: bool) -> Iterator[Entry]:
    return (line.entry for line in lines if line.entry.effect is effect and line.exact is exact)


def _runs_in_sandbox(session: ClaudeSession, mode: str) -> bool:
    return (session.options.sandboxed or session.confined) and not is_plan(mode)


def _in_sandbox(session: ClaudeSession, mode: str) -> Iterator[Entry]:
    """Yield the entries that allow commands in a sandbox, and ask for those outside of it.

    Those need a rule without a star that allows them; the program takes some with a star too.
    """
    if not _runs_in_sandbox(session, mode):
        return
    reason = session.reason(mode)
    if not session.confined:
        outside, why = Pattern.exactly("true"), "outside the sandbox"
        entry = built_in("Bash", Effect.ASK, outside, reason, why)
        yield evolve(entry, field=known.UNSANDBOXED)
    yield from (evolve(entry, reason=reason) for entry in session.outside)
    place = session.sandbox.place if session.sandbox else None
    yield evolve(built_in("Bash", Effect.ALLOW, why="in a sandbox"), place=place)


def _allowed(session: ClaudeSession, mode: str) -> Iterator[Entry]:
    # Starting an agent needs no permission: a rule that allows it adds nothing, and no agent.
    lines = (line for line in session.lines if line.entry.effect is Effect.ALLOW)
    allowed = [line for line in lines if line.entry.tool != "Agent"]
    if session.is_judged(mode):
        allowed = [line for line in allowed if not defaults.is_left_to_model(line)]
    # Rules without a star; one that repeats a prefix rule before it has the form of that.
    prefixes: set[Pattern | None] = set()
    for entry, exact in ((line.entry, line.exact) for line in allowed):
        if entry.form is Form.PREFIX:
            prefixes.add(entry.pattern)
        elif exact:
            yield evolve(entry, form=Form.PREFIX) if entry.pattern in prefixes else entry
    others = list(_pick(allowed, Effect.ALLOW, exact=False))
    yield from defaults.edits_by_links(session)
    yield from (entry for entry in others if entry.pattern is None)
    yield from _in_sandbox(session, mode)
    yield from defaults.misread(session, mode)
    yield from _run_exactly(session.reason(mode))
    yield from (entry for entry in others if entry.pattern is not None)


@lru_cache(maxsize=64)
def _run_exactly(reason: Reason) -> tuple[Entry, ...]:
    """Return the entries that ask for programs that run others, behind exact rules."""
    return tuple(
        built_in(tool, Effect.ASK, Pattern.text(text), reason, "runs another command")
        for text in EXACT_ONLY
        for tool in ("Bash", "Monitor")
    )
