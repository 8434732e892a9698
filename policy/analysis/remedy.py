"""Which rules would allow a call, or deny it: the narrowest, and proven by deciding it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from itertools import takewhile
from typing import Final
from urllib.parse import urlsplit

from policy.commands.reader import DIFFER, SOME_VALUE, UNKNOWN, UNSEEN
from policy.core.credentials import masked
from policy.core.decision import HIDDEN_TEXT, Clause, Does
from policy.core.effect import Effect
from policy.core.errors import PolicyError
from policy.core.values import frozen
from policy.hosts.front_ends import entries_of
from policy.hosts.notation.semantics import dialect_of
from policy.tables.chain import Attenuated, Chain, Decider
from policy.tables.dialect import ArgumentKind, Dialect
from policy.tables.placement import ProjectFolders
from policy.tables.ruleset import Entry, RuleSet
from policy.tables.table import Ceiling, LinkedRules, Table

__all__ = [
    "Remedy",
    "begun",
    "clauses_of",
    "denial",
    "folders_of",
    "lacking",
    "remedy",
    "remedy_of",
    "rules_for",
    "spelled",
    "subcommand",
    "with_rules",
]


@frozen
class Remedy:
    """Rules that allow a call together.

    Attributes:
        rules: as matchers.
        links: the agents whose rules they have to be among; () where all have the same.
        delegating: those of them that have a list of what they hand on, where they belong.

    """

    rules: tuple[str, ...]
    links: tuple[str, ...]
    delegating: tuple[str, ...] = ()


# Rules of which each is left out in turn.
_TRIED: Final = 12


def remedy(chain: Chain, tool: str, call: Mapping[str, object]) -> Remedy | None:
    """Return the rules that would allow a call of *chain*; None where none is known to.

    A call that a rule denies or asks for needs a change of that rule, which none of these is.
    """
    return remedy_of(chain, rules_for(chain, tool, call), [(tool, call)])


def remedy_of(
    chain: Chain, rules: Sequence[str], calls: Sequence[tuple[str, Mapping[str, object]]]
) -> Remedy | None:
    """Return those of *rules* that are needed to allow all *calls*; None where all do not.

    Args:
        chain: that makes the calls.
        rules: as matchers.
        calls: tools and arguments; the agents that lack rules for the first lack all of them.

    """
    parts = lacking(chain, *calls[0])

    def allow(some: Iterable[str]) -> bool:
        try:
            table = placed(chain, with_rules(chain, some, parts))
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
    return Remedy(kept, links, tuple(link for link in links if _hands_on_a_list(chain, link)))


def _hands_on_a_list(chain: Chain, link: str) -> bool:
    """Return whether what *link* allows itself is not what agents behind it may get."""
    reading = chain.reading
    if link == chain.names[-1] or not isinstance(reading, Attenuated):
        return False
    own = reading.roots.get(link) or reading.tables.get(link)
    return own is not None and own.delegate is not None


def denial(chain: Chain, tool: str, call: Mapping[str, object]) -> Remedy | None:
    """Return a rule that denies an allowed call of *chain*; None where none is known to.

    It is the first of those that match as little as can be written, and it is the last agent's.
    """
    link = chain.names[-1]
    parts = [part for part in chain.table.use.parts if link in part.links]
    for rule in rules_for(chain, tool, call):
        with suppress(PolicyError):
            table = placed(chain, with_rules(chain, [rule], parts, Effect.DENY))
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
    chain: Chain,
    rules: Iterable[str],
    parts: Sequence[LinkedRules],
    effect: Effect = Effect.ALLOW,
) -> Table:
    """Return the table of *chain* with *rules* behind those of *parts*; in front if they deny.

    Raises:
        PolicyError: one of *rules* cannot be read.

    """
    dialect = dialect_of([chain.table])
    entries = [entry for rule in rules for entry in entries_of(rule, effect, dialect)]
    return Table(
        Ceiling.of(
            LinkedRules(_with(part.rules, entries), part.links) if part in parts else part
            for part in chain.table.use.parts
        )
    )


def placed(chain: Chain, table: Table) -> Decider:
    """Return what decides calls of *table* where those of *chain* are made."""
    return table if chain.place is None else chain.place.of(table)


def clauses_of(chain: Chain, tool: str, call: Mapping[str, object]) -> tuple[Clause, ...]:
    """Return what a command does, by the last agent of *chain* that has a rule for the tool."""
    # An agent without one reads no command.
    above = (
        Chain(chain.links[:number], chain.reading, chain.place)
        for number in range(len(chain.links), 0, -1)
    )
    return next(filter(None, (each.account(tool, call) for each in above)), ())


def rules_for(chain: Chain, tool: str, call: Mapping[str, object]) -> tuple[str, ...]:
    """Return rules for the call, each as narrow as it can be written; none where none is."""
    clauses = clauses_of(chain, tool, call)
    dialect = dialect_of([chain.table])
    argument = dialect.argument(tool)
    texts = [str(call[name]) for name in argument.fields if name in call]
    if clauses:
        texts = [clause.text for clause in clauses if clause.does is Does.RUNS]
    elif argument.kind is ArgumentKind.URL:
        texts = [f"domain:{urlsplit(text).hostname or ''}" for text in texts]
    elif argument.kind is ArgumentKind.PATH:
        texts = [_path(text, chain) for text in texts]
    if not texts and (not call or argument.kind not in _ALONE):
        return (tool,)
    opens = {Does.READS: "Read", Does.WRITES: "Edit"}
    named = [(tool, text) for text in texts]
    named += [
        (opens[clause.does], _path(clause.text, chain))
        for clause in clauses
        if clause.does in opens and clause.text
    ]
    rules = [spelled(name, begun(text), dialect) for name, text in named]
    # A star would stand for more than itself, and a credential is shown as stars.
    if any(
        rule is None or (rule[1] and "*" in masked(text))
        for rule, (_, text) in zip(rules, named, strict=True)
    ):
        return ()
    return tuple(
        dict.fromkeys(
            rule[0] if rule[1] is None else f"{rule[0]}({rule[1]})" for rule in rules if rule
        )
    )


# Tools with one of these are never allowed as a whole instead.
_ALONE: Final = frozenset(
    {ArgumentKind.COMMAND, ArgumentKind.POWERSHELL, ArgumentKind.PATH, ArgumentKind.URL}
)


def spelled(tool: str, text: str, dialect: Dialect) -> tuple[str, str | None] | None:
    """Return the narrowest rule that the host reads for calls of *tool*: a tool and its text.

    A host may know files by the rules of another tool, or have no rules about arguments: then
    the text is None. Returns None where it has no such rule.
    """
    kind = dialect.argument(tool).kind
    forms: list[tuple[str, str | None]] = [(tool, text)]
    if kind is ArgumentKind.PATH:
        forms += [("Read", text), ("Edit", text)]
    elif kind not in _ALONE:
        forms.append((tool, None))
    return next((form for form in forms if _is_read(form, tool, dialect)), None)


def _is_read(form: tuple[str, str | None], tool: str, dialect: Dialect) -> bool:
    name, text = form
    try:
        rule = name if text is None else f"{name}({text})"
        entries = entries_of(rule, Effect.ALLOW, dialect)
    except PolicyError:
        return False
    return any(entry.tool == tool for entry in entries)


def begun(text: str) -> str:
    """Return *text* with a star from the first substitution on, which stands for any text."""
    known, hidden, _ = text.replace(SOME_VALUE, HIDDEN_TEXT).partition(HIDDEN_TEXT)
    return f"{known}*" if hidden and known else text


def folders_of(chain: Chain) -> ProjectFolders | None:
    """Return the folders in which calls of *chain* are made, where they are known."""
    found = getattr(chain.place, "folders", chain.place)
    return found if isinstance(found, ProjectFolders) else None


def _path(text: str, chain: Chain) -> str:
    """Return the name of a file as rules write it: from the project, the home or the root."""
    folders = folders_of(chain)
    if text.startswith("$HOME/"):
        return "~" + text.removeprefix("$HOME")
    if not text.startswith("/"):
        return text
    for folder, written in ((folders.cwd, ""), (folders.home, "~")) if folders else ():
        if folder and text.startswith(f"{folder}/"):
            return written + text.removeprefix(folder)
    return f"/{text}"


def _with(rules: RuleSet, entries: Sequence[Entry]) -> RuleSet:
    """Return *rules* with further ones: denials in front, others where each rule counts before."""
    denying = bool(entries) and entries[0].effect is Effect.DENY
    both = (*entries, *rules.entries) if denying else (*rules.entries, *entries)
    return RuleSet(both, rules.default, rules.dialect, rules.default_reason)


def _cut(rule: str) -> tuple[str, str]:
    tool, _, text = rule.removesuffix(")").partition("(")
    return tool, text


def program(rule: str) -> tuple[str, str]:
    """Return what the rules of one group share: the program, or the folder."""
    tool, text = _cut(rule)
    return kin(rule) if tool in _FILES else (tool, text.partition(" ")[0])


def kin(rule: str) -> tuple[str, str]:
    """Return what rules share that may become one: a program and its subcommand, or a folder."""
    tool, text = _cut(rule)
    if tool in _FILES:
        return tool, text.rpartition("/")[0]
    return tool, subcommand(text)


def subcommand(text: str) -> str:
    """Return ``git diff`` of ``git diff HEAD``, and ``make`` of ``make -j``."""
    words = text.split(" ")
    return " ".join(words[: 2 if words[1:] and words[1].isidentifier() else 1])


_FILES: Final = frozenset({"Read", "Edit", "Write"})


def folded(rules: Sequence[str]) -> tuple[str, ...]:
    """Return *rules*, those that are alike as one: `Bash(git diff *)`, `Edit(docs/**)`."""
    groups: dict[tuple[str, str], list[str]] = {}
    for rule in rules:
        groups.setdefault(kin(rule), []).append(rule)
    return tuple(
        rule
        for (_, shared), alike in groups.items()
        for rule in ([pattern_of(alike)] if shared and len(alike) > 1 else alike)
    )


def pattern_of(rules: Sequence[str]) -> str:
    """Return the narrowest rule with a star that matches all that *rules*, of one kin, do."""
    tool, shared = kin(rules[0])
    if tool in _FILES:
        return f"{tool}({shared}/**)"
    texts = [_cut(rule)[1].removesuffix(" *").split(" ") for rule in rules]
    words = [column[0] for column in takewhile(_is_one, zip(*texts, strict=False))]
    while any(" ".join(words).count(quote) % 2 for quote in "\"'"):
        words.pop()
    return f"{tool}({' '.join(words)} *)"


def _is_one(words: Sequence[str]) -> bool:
    return len(set(words)) == 1


# The beginning of a text that no rule can know -> what the text is.
_HIDDEN: Final = (
    ("$(", "a command substitution"),
    ("`", "a command substitution"),
    ("<(", "a process substitution"),
    ("<<", "a here-document"),
    (">", "a redirection that is not read"),
    ("$", "a variable"),
    ('"$(', "a command substitution"),
    ('"$', "a variable"),
    ("for ", "a loop"),
    ("while ", "a loop"),
    ("until ", "a loop"),
    ("if ", "a condition"),
    ("case ", "a condition"),
)


def hidden_kind(text: str, why: str) -> str:
    """Return what a text is that no rule can know, e.g. `a loop`; *why* is a predicate for it."""
    for begins, kind in _HIDDEN:
        if text.startswith(begins):
            return kind
    return _KINDS.get(why) or (f"text that {why}" if why else "a command that is not read")


# What is said of a text that no rule can know -> what the text is.
_KINDS: Final = {
    "is no plain name of a program": "a program behind an assignment, or whose name is not plain",
    "goes to more than one folder": "a command that goes to more than one folder",
    "starts a background command": "a command in the background",
    "does not quote its word": "a here-document whose last word is not quoted",
    UNSEEN: "syntax that is not looked into",
    UNKNOWN: "text that is not known before it runs",
    DIFFER: "text that not all shells read alike",
}
