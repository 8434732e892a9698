"""Rules and calls to measure with, drawn from a seed, and what the calls should get.

The mix of rules: 30 % exact tool names, 10 % globs over tool names, 35 % shell
commands (62 % of them prefixes, 18 % exact, 13 % with an inner star, 7 % with a
leading one), 15 % paths, 10 % agents; one in five denies, some of these a part of
what another rule allows, and deny wins. The mix of calls: 55 % are instances of a
rule, 20 % one character away from one, 25 % of the same families with no rule in mind.

Every engine is given the same star patterns, in which ``*`` is any text. Where
our notation says more than a star does (``Bash(ls *)`` matches a bare ``ls``),
no call is drawn that would show it.
"""

from __future__ import annotations

import itertools
import random
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache

import attrs

__all__ = [
    "FIELDS",
    "Call",
    "Compound",
    "Rule",
    "Workload",
    "commands",
    "compounds",
    "decide",
    "denying",
    "drawn",
    "edited",
    "fresh",
    "hosts",
    "in_a_row",
    "more_calls",
    "policy_text",
    "settings",
    "workload",
]

SEED = 20_261_121

_PROGRAMS = """git npm pnpm yarn docker kubectl helm cargo rustc go python pip pytest ruff mypy make
cmake terraform aws gcloud az gh psql redis-cli node deno rg grep sed awk find ls cat tail head jq
curl tar rsync ssh scp systemctl""".split()
_VERBS = """add apply build bump check clean clone commit config copy create delete deploy describe
diff exec fetch fix fmt get import init install lint list log login merge move open pack pause plan
prune publish pull push rebase reset restore resume rollout run scan search show start status stop
sync tag test trace update upload verify view wait watch""".split()
_FLAGS = """--all --amend --cached --check --debug --depth --dry-run --exit --fast --filter --force
--format --global --json --limit --long --no-cache --offline --online --output --quiet --raw
--recursive --release --rm --short --since --skip --staged --strict --tree --verbose -a -b -c -f -i
-k -l -n -o -p -q -r -s -t -u -v -w -x""".split()
_NOUNS = """account alert api app archive asset branch bucket build cache chart client cluster
comment commit config core dashboard data database device disk doc draft event export feature field
file filter folder form gateway graph group guide host image index input invoice issue item job key
label layer ledger level link list log main map member menu message metric model module node note
order owner package page parser patch path pipeline plan pod policy port project pull queue quota
record region release report request review role route rule schema script secret server service
session setting shard signal site source stack stage state store stream table task team tenant test
theme ticket token topic trace type unit user vault vendor view volume web widget worker
zone""".split()
_TRADES = "auditor builder editor explorer fixer linter planner reviewer runner tester".split()
_ENDINGS = "py ts rs go md json yaml toml sql css".split()
_PATH_TOOLS = ("Read", "Edit", "Write")

# One cycle of the mix, spread so that its first ten rules are in proportion too.
_MIX = (
    "name bash path name task bash name bash path glob "
    "name bash task bash name path bash name glob bash"
).split()
_NAMES = ("name", "glob")
_MANY = tuple(kind for kind in _MIX if kind not in ("task", "glob"))

# The argument that the specifier of a tool speaks of.
FIELDS = {
    "Bash": "command",
    "Read": "file_path",
    "Edit": "file_path",
    "Write": "file_path",
    "Task": "subagent_type",
    "WebFetch": "url",
}


@attrs.frozen
class Rule:
    """``allow Read(src/**)``, with its argument as every engine can be told it.

    Attributes:
        allows: the alternative is that it denies.
        tool: a name, or a star pattern over names.
        specifier: as written in a policy; None is any argument.
        argument: the same as a star pattern; None is any argument.

    """

    allows: bool
    tool: str
    specifier: str | None = None
    argument: str | None = None

    @property
    def effect(self) -> str:
        """The word for it."""
        return "allow" if self.allows else "deny"

    def __str__(self) -> str:
        return self.tool if self.specifier is None else f"{self.tool}({self.specifier})"

    def matches(self, tool: str, argument: str) -> bool:
        """Return whether the rule speaks of a call."""
        return _holds(self.tool, tool) and (
            self.argument is None or _holds(self.argument, argument)
        )


def _holds(pattern: str, text: str) -> bool:
    return pattern == text if "*" not in pattern else _compiled(pattern).match(text) is not None


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(".*".join(map(re.escape, pattern.split("*"))) + r"\Z", re.DOTALL)


@attrs.frozen
class Call:
    """A tool, the argument that rules speak of, and the whole of the arguments."""

    tool: str
    argument: str

    @property
    def input(self) -> dict[str, object]:
        """The arguments as an agent gives them."""
        return {FIELDS.get(self.tool, "query"): self.argument}


@attrs.frozen
class Compound:
    """A shell command of several, with a call of each of them."""

    text: str
    calls: tuple[Call, ...]


@attrs.frozen
class Workload:
    """Rules, calls, and whether each call is allowed: deny wins, nothing is granted unsaid."""

    rules: tuple[Rule, ...]
    calls: tuple[Call, ...]
    allowed: tuple[bool, ...]


def decide(rules: Iterable[Rule], call: Call) -> bool:
    """Return whether *call* is allowed: the reference, written for obviousness."""
    allowed = False
    for rule in rules:
        if rule.matches(call.tool, call.argument):
            if not rule.allows:
                return False
            allowed = True
    return allowed


@cache
def workload(size: int, calls: int = 1000) -> Workload:
    """Return the workload of *size* rules; always the same one."""
    draw = _Draw(random.Random(f"{SEED} {size}"))
    rules = tuple(draw.rules(size))
    drawn = tuple(draw.calls(rules, calls))
    return Workload(rules, drawn, tuple(decide(rules, call) for call in drawn))


@cache
def drawn(size: int) -> tuple[Rule, ...]:
    """Return the rules of the workload of *size*; of a large one without agents and globs.

    Names do not suffice for so many.
    """
    draw = _Draw(random.Random(f"{SEED} {size}"))
    return tuple(draw.rules(size, _MIX if size <= 10_000 else _MANY))


def more_calls(rules: tuple[Rule, ...], number: int) -> tuple[Call, ...]:
    """Return further calls of *rules*."""
    draw = _Draw(random.Random(f"{SEED} more"))
    return tuple(draw.calls(rules, number))


def compounds(source: Workload, number: int) -> tuple[Compound, ...]:
    """Return commands of two to four simple ones, drawn from the calls of *source*."""
    draw = random.Random(f"{SEED} compound")
    commands = [call for call in source.calls if call.tool == "Bash"]
    made = []
    for _ in range(number):
        parts = draw.choices(commands, k=draw.choice((2, 2, 2, 3, 4)))
        text = parts[0].argument
        for part in parts[1:]:
            text += draw.choice((" && ", " | ", "; ", " || ")) + part.argument
        made.append(Compound(text, tuple(parts)))
    return tuple(made)


def hosts(size: int, calls: int) -> tuple[tuple[Rule, ...], tuple[Call, ...]]:
    """Return rules for host names, and calls of URLs."""
    draw = random.Random(f"{SEED} hosts {size}")

    def name() -> str:
        return f"{draw.choice(_NOUNS)}-{draw.choice(_VERBS)}.example"

    rules = {}
    while len(rules) < size:
        host = name() if draw.random() < 0.6 else f"*.{name()}"
        rules[host] = Rule(draw.random() < 0.8, "WebFetch", f"domain:{host}", host)
    written = list(rules)
    drawn = []
    for _ in range(calls):
        host = draw.choice(written) if draw.random() < 0.6 else name()
        host = host.replace("*", draw.choice(_NOUNS))
        drawn.append(Call("WebFetch", f"https://{host}/{draw.choice(_NOUNS)}?q=1"))
    return tuple(rules.values()), tuple(drawn)


def named(size: int) -> tuple[Rule, ...]:
    """Return rules that look at the name of a tool alone."""
    draw = _Draw(random.Random(f"{SEED} names {size}"))
    return tuple(draw.rule(_NAMES[n % len(_NAMES)], allows=n % 5 != 0) for n in range(size))


def commands(size: int) -> tuple[Rule, ...]:
    """Return rules for shell commands alone."""
    draw = _Draw(random.Random(f"{SEED} commands {size}"))
    return tuple(draw.rule("bash", allows=n % 5 != 0) for n in range(size))


def denying(size: int) -> tuple[Rule, ...]:
    """Return the rules of a workload, of which each denies."""
    return tuple(attrs.evolve(rule, allows=False) for rule in workload(size).rules)


def edited(
    rules: Iterable[Rule], edits: int, kinds: Sequence[str] | None = None
) -> tuple[Rule, ...]:
    """Return *rules* after edits: a third each leave, are replaced, and are added.

    What is added is of *kinds*, or of those of a workload.
    """
    mix = kinds or _MIX
    draw = _Draw(random.Random(f"{SEED} edits"))
    after = list(rules)
    draw.written.update((rule.tool, rule.argument) for rule in after)
    for edit in range(edits):
        at = draw.random.randrange(len(after))
        if edit % 3 == 0:
            del after[at]
        elif edit % 3 == 1:
            after[at] = draw.rule(draw.random.choice(mix), allows=draw.random.random() < 0.8)
        else:
            rule = draw.rule(draw.random.choice(mix), allows=draw.random.random() < 0.8)
            after.insert(at, rule)
    return tuple(after)


def fresh(rules: Iterable[Rule]) -> tuple[Rule, ...]:
    """Return *rules* and two that were never there, so that nothing made of them is known yet."""
    command, names = f"fresh {next(_numbers)}", f"fresh_{next(_numbers)}_*"
    return (*rules, Rule(False, "Bash", command, command), Rule(False, names))


_numbers = itertools.count()


def policy_text(
    rules: Iterable[Rule],
    agents: Iterable[str] = ("main",),
    *,
    more: Mapping[str, str] | None = None,
) -> str:
    """Return *rules* in our notation, as the policy of each of *agents*, a rule a line."""
    body = "".join(f"    {rule.effect} {rule}\n" for rule in rules)
    more = more or {}
    return "\n".join(f"agent {name} {{\n{body}{more.get(name, '')}}}\n" for name in agents)


def settings(rules: Iterable[Rule]) -> dict[str, object]:
    """Return *rules* as settings of Claude Code."""
    written = [(rule.effect, str(rule)) for rule in rules]
    permissions = {
        effect: [text for each, text in written if each == effect] for effect in ("allow", "deny")
    }
    return {"permissions": permissions}


def team(agents: int, tables: int) -> str:
    """Return *agents* in our notation with so many different policies; each starts ten others."""
    draw = random.Random(f"{SEED} team {agents} {tables}")
    bodies = []
    for number in range(tables):
        others = ", ".join(f"agent-{draw.randrange(agents)}" for _ in range(10))
        bodies.append(
            f"    allow Task({others}), Read({draw.choice(_NOUNS)}/**), Bash(do {number} *)\n"
            "    delegate *\n"
        )
    return "root agent-0\n" + "".join(
        f"agent agent-{number} {{\n{bodies[number % tables]}}}\n" for number in range(agents)
    )


def handing_down(agents: int) -> str:
    """Return *agents* of which each starts ten others and denies them something of its own.

    Hardly two chains to an agent then grant the same.
    """
    draw = random.Random(f"{SEED} handing down {agents}")
    text = "root agent-0\n"
    for number in range(agents):
        others = ", ".join(f"agent-{draw.randrange(agents)}" for _ in range(10))
        text += (
            f"agent agent-{number} {{\n    allow Task({others}), Read\n"
            f"    deny Bash(do {number} *)\n    delegate *\n}}\n"
        )
    return text


def spread(agents: int, tables: int) -> str:
    """Return *agents* of which each may start all others, with so many different policies."""
    draw = random.Random(f"{SEED} spread {agents} {tables}")
    nouns = [draw.choice(_NOUNS) for _ in range(tables)]
    return "root agent-0\n" + "".join(
        f"agent agent-{number} {{\n    allow Task, Read({nouns[number % tables]}/**)\n"
        f"    deny Bash(do {number % tables} *)\n    delegate *\n}}\n"
        for number in range(agents)
    )


def in_a_row(agents: int) -> str:
    """Return *agents* of which each starts the next, and hands on all that it may do."""
    return "root agent-0\n" + "".join(
        f"agent agent-{number} {{\n    allow Task(agent-{number + 1}), Read(src/**), Bash(make *)\n"
        "    delegate *\n}\n"
        for number in range(agents)
    )


class _Draw:
    """Rules and calls from one source of randomness."""

    def __init__(self, source: random.Random) -> None:
        self.random = source
        self.written: set[tuple[str, str | None]] = set()
        self.open: dict[str, list[Rule]] = {}  # what allows anything that starts alike, by kind

    def rules(self, size: int, mix: Sequence[str] = _MIX) -> Iterator[Rule]:
        denying: list[int] = []
        for number in range(size):
            if number % 10 == 0:
                denying = self.random.sample(range(number, number + 10), 2)
            kind, allows = mix[number % len(mix)], number not in denying
            rule = None if allows else self._exception(kind)
            rule = rule or self.rule(kind, allows=allows)
            if rule.allows and rule.argument is not None and rule.argument.endswith("*"):
                self.open.setdefault(kind, []).append(rule)
            yield rule

    def _exception(self, kind: str) -> Rule | None:
        """Return a denial of some of what a rule before it allows; of half of them, and if any does."""
        if kind not in self.open or self.random.random() < 0.5:
            return None
        wider = self.random.choice(self.open[kind])
        more = f"{self._noun()} *" if kind == "bash" else f"{self._noun()}/**"
        specifier = str(wider.specifier).rstrip("*") + more
        argument = specifier.replace("**", "*")
        if (wider.tool, argument) in self.written:
            return None
        self.written.add((wider.tool, argument))
        return Rule(False, wider.tool, specifier, argument)

    def rule(self, kind: str, *, allows: bool = True) -> Rule:
        """Return a rule that was not drawn before."""
        while True:
            tool, specifier = getattr(self, f"_{kind}")()
            # `src/**/*.py` also matches directly below `src`, as does this star.
            argument = specifier and specifier.replace("**/*", "*").replace("**", "*")
            if (tool, argument) not in self.written:
                self.written.add((tool, argument))
                return Rule(allows, tool, specifier, argument)

    def _name(self) -> tuple[str, str | None]:
        pick = self.random.choice
        return f"mcp__{pick(_NOUNS)}__{pick(_VERBS)}_{pick(_NOUNS)}", None

    def _glob(self) -> tuple[str, str | None]:
        pick = self.random.choice
        if self.random.random() < 0.75:
            return f"mcp__{pick(_NOUNS)}__{pick(_VERBS)}_*", None
        return f"mcp__*__{pick(_VERBS)}_{pick(_NOUNS)}", None

    def _bash(self) -> tuple[str, str]:
        program, rest = self.random.choice(_PROGRAMS), self._words()
        shape = self.random.random()
        if shape < 0.62:
            return "Bash", f"{program} {rest} *"
        if shape < 0.80:
            return "Bash", f"{program} {rest}"
        if shape < 0.93:
            return "Bash", f"{program} * {rest}"
        return "Bash", f"* {rest}"

    def _words(self) -> str:
        pick = self.random.choice
        words = [pick(_VERBS), pick(_FLAGS), pick(_NOUNS)]
        return " ".join(words[: self.random.choice((2, 3, 3))])

    def _path(self) -> tuple[str, str]:
        pick = self.random.choice
        folder = f"{pick(_NOUNS)}/{pick(_NOUNS)}"
        shape = pick(
            (f"{folder}/**", f"{folder}/**/*.{pick(_ENDINGS)}", f"{folder}/{pick(_NOUNS)}.py")
        )
        return pick(_PATH_TOOLS), shape

    def _task(self) -> tuple[str, str]:
        pick = self.random.choice
        return "Task", f"{pick(_NOUNS)}-{pick(_TRADES)}"

    def calls(self, rules: tuple[Rule, ...], number: int) -> Iterator[Call]:
        prefixes = {rule.argument for rule in rules if rule.tool == "Bash"}
        while number:
            kind = self.random.random()
            if kind < 0.55:
                call = self._instance(self.random.choice(rules))
            elif kind < 0.75:
                call = self._slipped(self._instance(self.random.choice(rules)))
            else:
                call = self._instance(_Draw(self.random).rule(self.random.choice(_MIX)))
            # A bare command is where our notation says more than a star does.
            if f"{call.argument} *" not in prefixes:
                number -= 1
                yield call

    def _instance(self, rule: Rule) -> Call:
        tool = re.sub(r"\*", self._noun, rule.tool)
        if rule.argument is None:
            return Call(tool, f"{self._noun()} {self._noun()}")
        if tool == "Bash":
            return Call(tool, re.sub(r"\*", self._some_words, rule.argument))
        argument = rule.argument.replace("*.", f"{self._noun()}.")
        return Call(tool, argument.replace("*", f"{self._noun()}/{self._noun()}.py"))

    def _noun(self, _: object = None) -> str:
        return self.random.choice(_NOUNS)

    def _some_words(self, _: object) -> str:
        return " ".join(self._noun() for _ in range(self.random.choice((1, 1, 2, 3))))

    def _slipped(self, call: Call) -> Call:
        """Return *call* with one letter changed, of the name where that is all a rule has."""
        if call.tool in FIELDS:
            return attrs.evolve(call, argument=self._slip(call.argument))
        return attrs.evolve(call, tool=self._slip(call.tool))

    def _slip(self, text: str) -> str:
        at = self.random.choice([at for at, letter in enumerate(text) if letter.isalpha()])
        letter = self.random.choice([each for each in "aeioubcdrst" if each != text[at]])
        return text[:at] + letter + text[at + 1 :]
