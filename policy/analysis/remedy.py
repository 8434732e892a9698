"""Which rules would allow a call, or deny it: the narrowest, and proven by deciding it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import takewhile
from typing import Final
from urllib.parse import urlsplit

from policy.commands.reader import (
    DIFFER,
    IN_DOCUMENT,
    IN_STATEMENT,
    UNKNOWN,
    UNSEEN,
    Command,
    read_command,
)
from policy.core import expressions as re
from policy.core.credentials import masked
from policy.core.decision import HIDDEN_TEXT, Clause, Does, Reason
from policy.core.effect import Effect
from policy.core.errors import PolicyError
from policy.core.values import evolve, frozen
from policy.hosts.front_ends import entries_of
from policy.hosts.notation.semantics import dialect_of
from policy.tables.calls import Unreadable, argument_text, canonical_path, given_text
from policy.tables.chain import Attenuated, Chain, Decider
from policy.tables.dialect import ArgumentKind, Dialect
from policy.tables.placement import ProjectFolders
from policy.tables.ruleset import RuleSet
from policy.tables.table import Ceiling, LinkedRules, Table


@frozen
class Remedy:
    """Rules that allow a call together."""

    rules: tuple[str, ...]  # as matchers
    # The agents whose rules they have to be among; () where all have the same.
    links: tuple[str, ...]
    # Those of them that have a list of what they hand on, where they belong.
    delegating: tuple[str, ...] = ()
    runs: str = ""  # a command by which the rules allow any command, or ""


# The most rules of which each is left out in turn, to find those that are needed.
_TRIED: Final = 12


def remedy(chain: Chain, tool: str, call: Mapping[str, object]) -> Remedy | None:
    """Return the rules that would allow a call of *chain*; None if none are known.

    A call that a rule denies or asks for gets None: that rule itself would have to change.
    """
    return remedy_of(chain, rules_for(chain, tool, call), [(tool, call)])


def remedy_of(
    chain: Chain, rules: Sequence[str], calls: Sequence[tuple[str, Mapping[str, object]]]
) -> Remedy | None:
    """Return the *rules* that are needed to allow all *calls*; None if all rules do not allow them.

    The rules go to the agents of *chain* that do not allow the first call.
    """
    parts = lacking(chain, *calls[0])

    def allow(some: Iterable[str]) -> bool:
        try:
            table = _placed(chain, with_rules(chain, some, parts))
        except PolicyError:
            return False
        return all(table.decide(*each).effect is Effect.ALLOW for each in calls)

    kept = tuple(rules)
    if not kept or not allow(kept):
        return None
    for rule in kept if len(kept) <= _TRIED else ():
        fewer = tuple(each for each in kept if each != rule)
        kept = fewer if allow(fewer) else kept
    links = tuple(dict.fromkeys(link for part in parts for link in part.links))
    delegating = tuple(link for link in links if _hands_on_a_list(chain, link))
    return Remedy(kept, links, delegating, _runs(with_rules(chain, kept, parts), kept))


def _runs(table: Table, rules: Iterable[str]) -> str:
    """Return a command by which *rules*, which *table* has, allow any command; "" for none."""
    dialect = dialect_of([table])
    for entry in (entry for rule in rules for entry in entries_of(rule, Effect.ALLOW, dialect)):
        argument = dialect.argument(entry.tool)
        if argument.kind is not ArgumentKind.COMMAND or entry.pattern is None or entry.field:
            continue
        # Few remedies are of commands.
        from policy.analysis.running import running  # noqa: PLC0415

        for found in running(entry.pattern):
            from policy.compare.witness import witness_call  # noqa: PLC0415  # few rules run any

            decision = table.decide(entry.tool, witness_call(dialect, argument, found.command))
            if decision.effect is Effect.ALLOW and decision.reason is Reason.RULE:
                return found.command
    return ""


def _hands_on_a_list(chain: Chain, link: str) -> bool:
    """Return whether *link* lists what it hands on apart from what it may use itself."""
    reading = chain.reading
    if link == chain.names[-1] or not isinstance(reading, Attenuated):
        return False
    own = reading.roots.get(link) or reading.tables.get(link)
    return own is not None and own.delegate is not None


def denial(chain: Chain, tool: str, call: Mapping[str, object]) -> Remedy | None:
    """Return a new rule for the last agent that denies an allowed call; None if none is known.

    It is the first of the narrowest rules that does; rules for commands that run without a rule
    are tried last.
    """
    command = command_of(tool, call, dialect_of([chain.table]))
    idle = {f"{tool}({part.text})" for part in (command.parts if command else ()) if part.harmless}
    link = chain.names[-1]
    parts = [part for part in chain.table.use.parts if link in part.links]
    for rule in sorted(rules_for(chain, tool, call), key=idle.__contains__):
        with suppress(PolicyError):
            table = _placed(chain, with_rules(chain, [rule], parts, Effect.DENY))
            if table.decide(tool, call).effect is Effect.DENY:
                return Remedy((rule,), (link,))
    return None


def lacking(chain: Chain, tool: str, call: Mapping[str, object]) -> list[LinkedRules]:
    """Return the rules of each agent of *chain* that do not allow a call."""
    return [
        part
        for part in chain.table.use.parts
        if Table(Ceiling.of([part])).decide(tool, call).effect is not Effect.ALLOW
    ]


def with_rules(
    chain: Chain, rules: Iterable[str], parts: Sequence[LinkedRules], effect: Effect = Effect.ALLOW
) -> Table:
    """Return the table of *chain* with *rules* added behind those of *parts*; denials in front.

    Raises PolicyError where one of *rules* cannot be read.
    """
    dialect = dialect_of([chain.table])
    new = tuple(entry for rule in rules for entry in entries_of(rule, effect, dialect))
    changed = []
    for part in chain.table.use.parts:
        old = part.rules
        if part in parts:
            entries = (*new, *old.entries) if effect is Effect.DENY else (*old.entries, *new)
            rule_set = RuleSet(entries, old.default, old.dialect, old.default_reason)
            changed.append(LinkedRules(rule_set, part.links))
        else:
            changed.append(part)
    return Table(Ceiling.of(changed))


def _placed(chain: Chain, table: Table) -> Decider:
    """Return the decider for calls of *table* in the folder of *chain*."""
    return table if chain.place is None else chain.place.decider(table)


def clauses_of(chain: Chain, tool: str, call: Mapping[str, object]) -> tuple[Clause, ...]:
    """Return the clauses of a command, by the last agent of *chain* with a rule for the tool."""
    # An agent without one reads no command.
    above = (
        Chain(chain.links[:number], chain.reading, chain.place)
        for number in range(len(chain.links), 0, -1)
    )
    return next(filter(None, (each.account(tool, call) for each in above)), ())


def command_of(tool: str, call: Mapping[str, object], dialect: Dialect) -> Command | None:
    """Return the command that a call runs; None where it runs none, or none that can be read."""
    argument = dialect.argument(tool)
    if argument.kind is not ArgumentKind.COMMAND:
        return None
    try:
        return read_command(argument_text(argument, dialect, call), dialect.shell)
    except Unreadable:
        return None


def holds_credential(call: Mapping[str, object]) -> bool:
    """Return whether a text of the call looks like a key or a password."""
    return any(isinstance(each, str) and masked(each) != each for each in call.values())


# Tools with one of these are never allowed as a whole instead.
_ALONE: Final = frozenset(
    {ArgumentKind.COMMAND, ArgumentKind.POWERSHELL, ArgumentKind.PATH, ArgumentKind.URL}
)
# Arguments that rules match by a text.
_MATCHED: Final = _ALONE | {ArgumentKind.TEXT, ArgumentKind.LENIENT}
# What means more than itself in the pattern of a path.
_GLOBS: Final = "*?[]\\!#"


def rules_for(
    chain: Chain, tool: str, call: Mapping[str, object], *, lacking: bool = False
) -> tuple[str, ...]:
    """Return rules for a call of *chain*, each as narrow as it can be written; none where none is.

    *lacking* leaves out those for what a command does that is allowed without them.
    """
    dialect = dialect_of([chain.table])
    argument = dialect.argument(tool)
    clauses = clauses_of(chain, tool, call)
    if lacking:
        clauses = tuple(one for one in clauses if one.decision.effect is not Effect.ALLOW)
    if clauses:
        named = [*_named(tool, clauses, dialect)]
    else:
        try:
            text = given_text(argument, call) if argument.kind in _MATCHED else ""
        except Unreadable:
            text = ""
        if not text or (not call and argument is dialect.other):
            return () if call and argument.kind in _ALONE else (tool,)
        named = [(tool, text)]
    place = getattr(chain.place, "folders", chain.place)
    if isinstance(place, ProjectFolders):
        dialect = evolve(dialect, cwd=place.cwd, home=place.home or dialect.home)
    rules = [_rule(name, text, dialect) for name, text in named]
    return tuple(dict.fromkeys(filter(None, rules))) if all(rules) else ()


def rule_for_all_of(chain: Chain, tool: str, call: Mapping[str, object]) -> str | None:
    """Return the rule that spells a whole command, if it allows it; None for another call."""
    dialect = dialect_of([chain.table])
    if dialect.argument(tool).kind is not ArgumentKind.COMMAND:
        return None
    with suppress(Unreadable):
        rule = _rule(tool, given_text(dialect.argument(tool), call), dialect)
        if rule and remedy_of(chain, (rule,), [(tool, call)]):
            return rule
    return None


def _named(tool: str, clauses: Iterable[Clause], dialect: Dialect) -> Iterator[tuple[str, str]]:
    """Yield the tools and texts that rules have to match for *clauses*."""
    tools = dialect.shell.files
    # If opening a file is a call of no tool that agents have, rules for Read and Edit decide it.
    opens = {
        Does.READS: "Read" if tools.input in tools.inner else tools.input,
        Does.WRITES: "Edit" if tools.output in tools.inner else tools.output,
    }
    for clause in clauses:
        is_known = clause.does is Does.HIDES and HIDDEN_TEXT in clause.text
        if clause.does is Does.RUNS or is_known:
            yield tool, clause.text
        elif clause.text and opens.get(clause.does):
            yield opens[clause.does], clause.text


def _rule(tool: str, text: str, dialect: Dialect) -> str | None:
    """Return the narrowest rule for one argument; None where it would match others."""
    if "\0" in text:
        return None
    kind = dialect.argument(tool).kind
    # A star replaces the text from the first substitution on, if there are two words before it.
    known, hidden, _ = text.partition(HIDDEN_TEXT)
    written, special = f"{known}*" if hidden and " " in known.strip() else text, "*"
    if kind is ArgumentKind.URL:
        written = f"domain:{urlsplit(text).hostname or text}"
    elif kind is ArgumentKind.PATH:
        written, special = _path(text, dialect), _GLOBS
    # A host may know files by the rules of another tool, or have no rules about arguments.
    forms = [f"{tool}({written})"]
    if kind is ArgumentKind.PATH:
        forms += [f"Read({written})", f"Edit({written})"]
    elif kind not in _ALONE:
        forms.append(tool)
    has_escape = "\\" in written and kind is ArgumentKind.COMMAND
    if has_escape:  # some hosts read it as one
        forms.append(f"{tool}({_ESCAPE.sub(_ESCAPED, written)})")
    # A credential is shown as stars.
    is_pattern = any(each in masked(text) for each in special) or HIDDEN_TEXT in written
    for form in forms:
        with suppress(PolicyError):
            own = [one for one in entries_of(form, Effect.ALLOW, dialect) if one.tool == tool]
            misses = has_escape and not any(e.pattern and e.pattern.matches(text) for e in own)
            if not own or misses or (is_pattern and "(" in form):
                continue
            # A text may read as the name of a parameter, a colon and its value.
            if not own[0].field:
                return form
            if dialect.argument(tool) is not dialect.other:
                return None
    return None


# A backslash that may be an escape, and one that is none.
_ESCAPE: Final = re.compile(r"\\(?=[()\\]|\Z)")
_ESCAPED: Final = r"\\\\"


def _path(text: str, dialect: Dialect) -> str:
    """Return the name of a file as rules write it: from the project, the home or the root."""
    text = text.replace("$HOME", "~", 1) if text.startswith("$HOME/") else text
    path = canonical_path(text, evolve(dialect, fold=False))
    for folder, written, itself in ((dialect.cwd, "", "."), (dialect.home, "~", "~")):
        if f"{path}/".startswith(f"{folder}/"):
            return written + path.removeprefix(folder) if path != folder else itself
    return f"/{path}"


def folded(rules: Iterable[str], least: int, dialect: Dialect) -> dict[str, tuple[str, ...]]:
    """Return *rules*, with similar ones folded into a pattern: rule -> the rules that it replaces.

    Commands with the same program and subcommand are similar, files in one folder, and all calls
    of a tool that the host does not know: `Bash(git diff *)`, `Edit(docs/**)`, `mcp__db__query`;
    then also folders in one folder. A pattern replaces at least *least* rules.
    """
    groups: dict[str, tuple[str, ...]] = {rule: (rule,) for rule in rules}
    # A rule for a command that is not known to its end is a pattern already.
    patterns = {rule: [rule] for rule in groups if rule.endswith(" *)")}
    while True:
        for pattern, members in patterns.items():
            # Of files also those that lie deeper.
            begin = begin_of(pattern)
            inside = [rule for rule in groups if rule in members or rule.startswith(begin)]
            if inside:
                groups[pattern] = tuple(one for rule in inside for one in groups.pop(rule))
        by_stem: dict[tuple[str, str], list[str]] = {}
        for rule in groups:
            by_stem.setdefault(stem(rule, dialect), []).append(rule)
        alike = [each for (_, shared), each in by_stem.items() if shared and len(each) >= least]
        patterns = {_pattern_of(each, dialect): each for each in alike}
        patterns.pop("", None)
        if not patterns:
            return groups


def begin_of(rule: str) -> str:
    """Return the text with which all begin that *rule*, a pattern or a tool, stands for."""
    for end in ("/**)", " *)"):
        if rule.endswith(end):
            return rule.removesuffix(end) + end[0]
    return f"{rule}("


def stem(rule: str, dialect: Dialect) -> tuple[str, str]:
    """Return the tool of a rule, and what similar rules share: a program, subcommand or folder."""
    tool, _, text = rule.removesuffix(")").partition("(")
    match dialect.argument(tool).kind:
        case ArgumentKind.PATH:
            folder = text.removesuffix("/**").rpartition("/")[0]
            return tool, folder if folder.strip("/~") else ""
        case ArgumentKind.COMMAND:
            words = text.split(" ")
            return tool, " ".join(words[: 2 if words[1:] and words[1].isidentifier() else 1])
        case _:
            return tool, tool if dialect.argument(tool) is dialect.other else text


def _pattern_of(rules: Sequence[str], dialect: Dialect) -> str:
    """Return the narrowest pattern of *rules*, which have one stem; "" for a program alone."""
    tool, shared = stem(rules[0], dialect)
    if dialect.argument(tool).kind is ArgumentKind.PATH:
        return f"{tool}({shared}/**)"
    if dialect.argument(tool) is dialect.other:
        return tool
    texts = [rule.removesuffix(")").partition("(")[2].removesuffix(" *") for rule in rules]
    columns = zip(*(text.split(" ") for text in texts), strict=False)
    words = [column[0] for column in takewhile(lambda column: len(set(column)) == 1, columns)]
    while any(" ".join(words).count(quote) % 2 for quote in "\"'"):
        words.pop()
    return f"{tool}({' '.join(words)} *)" if len(words) > 1 else ""


# How a text begins that no rule can know -> what the text is.
_HIDDEN: Final = tuple(
    (re.compile(begins), kind)
    for begins, kind in (
        (r'"?\$\(|`', "a command substitution"),
        (r"<\(", "a process substitution"),
        ("<<", "a here-document"),
        (">", "a redirection that is not read"),
        (r'"?\$', "a variable"),
        (r"\w+\+?=", "an assignment"),
        (r"(?:for|while|until|select|do)(?: |$)", "a loop"),
        (r"(?:if|then|elif|else|case)(?: |$)", "a condition"),
        (r"\{(?: |$)", "a group of commands"),
        (r"!(?: |$)", "a negation"),
    )
)
# Why a part is no command that rules can know -> what the text is.
_KINDS: Final = {
    "is no plain name of a program": "a program whose name is not plain",
    "goes to more than one folder": "a command that goes to more than one folder",
    "starts a background command": "a command in the background",
    "does not quote its word": "a here-document whose last word is not quoted",
    IN_DOCUMENT: "a here-document",
    IN_STATEMENT: "a statement of the shell",
    UNSEEN: "syntax that is not looked into",
    UNKNOWN: "text that is not known before it runs",
    DIFFER: "text that not all shells read alike",
}


def hidden_kind(text: str, why: str) -> str:
    """Return the kind of a text that no rule can match, e.g. `a loop`; *why* is its predicate."""
    for begins, kind in _HIDDEN:
        if begins.match(text):
            return kind
    return _KINDS.get(why) or (f"text that {why}" if why else "a command that is not read")
