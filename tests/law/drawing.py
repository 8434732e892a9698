"""Small policies, pairs of them, and the calls that they are compared over."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from tests.law.decider import PATHS, Agent, Call, Matcher, Part, Policies, Rule

NAMES = ("main", "ann", "bob", "cy")
FILES = ("a", "src/a", "src/b.py", "src/lib/a", "docs/a", ".env", "src/.env", "SRC/a", "src/A")
COMMANDS = ("git", "git x", "git x y", "gitk", "rm a", "rm", "ls -l")
SPECIFIERS = {
    "Read": (
        *("src/**", "src/*", "src", "/src/a", "*.py", ".env", "**", "*", "docs/**", "**/a"),
        *("src/**/a", "src/?", "src/[ab]", "./docs/a", "/a", "src/[ab]*", "**/lib/**"),
    ),
    "Bash": (
        *("git *", "git", "git:*", "git x *", "git*", "rm *", "rm a", "* y", "git * y", "ls *"),
        *("* x", "*", "gi*"),
    ),
    "Task": (*NAMES, "ann, bob", "bob, main", "cy, ann", "a*", "zz", "zz, ann", "ann, zz"),
}
SPECIFIERS |= dict.fromkeys(("Edit", "Write", "Grep"), SPECIFIERS["Read"])
TOOLS = ("Read", "Edit", "Write", "Bash", "Bash", "Task", "Task", "Grep", "mcp__hub__get")


def _calls() -> Iterator[Call]:
    for tool in PATHS:
        for path in (*FILES, "./src/a", "src/../docs/a"):
            yield Call(tool, path)
    for command in COMMANDS:
        yield Call("Bash", parts=(Part(command),))
    for command in ("git x", "rm a"):
        for file in ("a", "src/a", ".env"):
            yield Call("Bash", parts=(Part(command, ((">", file),)),))
        yield Call("Bash", parts=(Part(command, (("<", "docs/a"),)),))
        yield Call("Bash", parts=(Part(command, ((">>", "src/b.py"),)),))
        yield Call("Bash", parts=(Part(command), Part("ls -l", ((">", "src/a"),))))
    for first, second in (("git", "rm a"), ("git x", "ls -l"), ("rm a", "git x y")):
        yield Call("Bash", parts=(Part(first), Part(second)))
    yield Call("Bash", parts=(Part("git x", (("<", "a"), (">", "docs/a"))),))
    for name in (*NAMES, "zz"):
        yield Call("Task", name)
    for between in (" ; ", " | ", " || ", "; "):
        yield Call("Bash", parts=(Part("git x"), Part("rm a")), between=between)
    yield Call("Bash", parts=(Part("git x", ((">", "SRC/a"),)),))
    for tool in ("mcp__hub__get", "mcp__hub__put", "Other"):
        yield Call(tool)


CALLS = tuple(_calls())
# Calls of which the README does not say everything: `check` decides them for the other verbs.
OPAQUE = (
    *(
        Call("Bash", command)
        for command in (
            *("timeout 5 git x", "sudo rm a", "sudo git x y", "X=1 git x", "git 'x'", "(git x)"),
            *("git $X", "$(rm a)", "git x $(rm a)", "git x\nrm a", "if git x; then rm a; fi"),
            *("git x &", "xargs rm a", "bash -c 'rm a'", "git x > $F", "> src/a", "git x > /tmp/a"),
            *("git x >> ../a", "git x 2>&1", "git x 2> src/a", "cat <<'E'\nx\nE", "gitk > SRC/a"),
            *("/usr/bin/git x", "git \\\n x", "git x > src/../docs/a", "", "# git", "git x < ~/a"),
        )
    ),
    *(
        Call(tool, path)
        for tool in PATHS
        for path in ("/etc/a", "../a", "~/a", "../src/a", "src/../../a", ".", "src/", "src//a")
    ),
)


@dataclass(frozen=True)
class Case:
    """Two policies, a maximum, and a question for the second."""

    old: Policies
    new: Policies
    most: Agent
    asked: Matcher
    shape: tuple[str, ...]

    def __str__(self) -> str:
        return (
            f"--- old\n{self.old}\n--- new\n{self.new}\n--- maximum\n{self.most}\n"
            f"--- asked\n{self.asked}\n--- never\n{self.never}"
        )

    @property
    def never(self) -> str:
        """The question as a statement."""
        return f"never {' > '.join(self.shape)}: {self.asked}\n"


class Drawing:
    """Everything that is drawn from one seed."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)  # reproducible draws

    def matcher(self) -> Matcher:
        tool = self.random.choice(TOOLS)
        if self.random.random() < 0.04:
            return Matcher(self.random.choice(("*", "mcp__hub__*", "mcp__*")))
        if tool not in SPECIFIERS or self.random.random() < 0.3:
            return Matcher(tool)
        return Matcher(tool, self.random.choice(SPECIFIERS[tool]))

    def rule(self) -> Rule:
        effect = self.random.choice(("allow", "allow", "allow", "ask", "deny"))
        return Rule(effect, self.matcher())

    def agent(self, name: str) -> Agent:
        chance = self.random.random
        rules = [self.rule() for _ in range(self.random.randint(1, 5))]
        if chance() < 0.6:
            rules.append(Rule("allow", self.matcher_of("Task")))
        return Agent(
            name,
            tuple(rules),
            delegates=self.delegates() if chance() < 0.2 else None,
            inherits=name != "main" and chance() < 0.3,
            depth=self.random.choice((1, 1, 2, 3)) if chance() < 0.15 else None,
            trust=self.random.choice(TRUST) if chance() < 0.1 else None,
        )

    def matcher_of(self, tool: str) -> Matcher:
        if self.random.random() < 0.3:
            return Matcher(tool)
        return Matcher(tool, self.random.choice(SPECIFIERS[tool]))

    def delegates(self) -> tuple[Matcher, ...]:
        found = [self.matcher() for _ in range(self.random.randint(1, 3))]
        return (*found, Matcher("Task")) if self.random.random() < 0.5 else tuple(found)

    def policies(self) -> Policies:
        names = NAMES[: self.random.randint(2, 4)]
        return Policies("main", tuple(map(self.agent, names)))

    def edited(self, old: Policies) -> Policies:
        """Return *old* with some changes."""
        if self.random.random() < 0.15:
            return self.policies()
        new = old
        for _ in range(self.random.randint(1, 3)):
            new = self._edited(new)
        return new

    def _edited(self, old: Policies) -> Policies:
        agents = list(old.agents)
        others = [name for name in NAMES if old.agent(name) is None]
        place = self.random.randrange(len(agents))
        agent = agents[place]
        match self.random.randrange(9):
            case 8 if len(agents) > 1 and self.random.random() < 0.3:
                return Policies(self.random.choice(agents).name, tuple(agents))
            case 0 if others:
                agents.append(self.agent(self.random.choice(others)))
            case 1 if agent.name != old.root:
                del agents[place]
            case 2:
                agents[place] = replace(agent, delegates=self.delegates())
            case 3 if agent.name != old.root:
                agents[place] = replace(agent, inherits=not agent.inherits)
            case 4:
                agents[place] = replace(agent, depth=self.random.choice((None, 1, 2)))
            case 5 if agent.rules:
                rules = list(agent.rules)
                rules.pop(self.random.randrange(len(rules)))
                agents[place] = replace(agent, rules=tuple(rules))
            case 6 if agent.rules:
                rules = list(agent.rules)
                rules[self.random.randrange(len(rules))] = self.rule()
                agents[place] = replace(agent, rules=tuple(rules))
            case _:
                agents[place] = replace(agent, rules=(*agent.rules, self.rule()))
        return Policies(old.root, tuple(agents))

    def case(self) -> Case:
        old = self.policies()
        new = self.edited(old)
        most = replace(self.agent("most"), inherits=False, delegates=None, depth=None)
        shape = self.random.choice((("**", "NAME"), ("main", "*"), ("**",), ("*", "**", "NAME")))
        name = self.random.choice([agent.name for agent in new.agents])
        links = tuple(name if link == "NAME" else link for link in shape)
        return Case(old, new, most, self.matcher(), links)


TRUST = ("verified", "trusted")


# --- the smallest case that fails alike


def shrunk(case: Case, fails: Callable[[Case], bool]) -> Case:
    """Return a case that fails as *case* does and of which nothing can be left out."""
    again = True
    while again:
        again = False
        for smaller in _smaller(case):
            if fails(smaller):
                case, again = smaller, True
                break
    return case


def _smaller(case: Case) -> Iterator[Case]:
    for name in [agent.name for agent in (*case.old.agents, *case.new.agents)]:
        if name != "main":
            yield replace(case, old=_without(case.old, name), new=_without(case.new, name))
    for old in _fewer(case.old):
        for new in _fewer(case.new):
            if str(old) == str(new):
                yield replace(case, old=old, new=new)
    for new in _fewer(case.new):
        yield replace(case, new=new)
    for old in _fewer(case.old):
        yield replace(case, old=old)
    for most in _less(case.most):
        yield replace(case, most=most)


def _without(policies: Policies, name: str) -> Policies:
    agents = tuple(agent for agent in policies.agents if agent.name != name)
    return replace(policies, agents=agents)


def _fewer(policies: Policies) -> Iterator[Policies]:
    for place, agent in enumerate(policies.agents):
        if agent.name != policies.root:
            yield _without(policies, agent.name)
        for less in _less(agent):
            agents = [*policies.agents]
            agents[place] = less
            yield replace(policies, agents=tuple(agents))


def _less(agent: Agent) -> Iterator[Agent]:
    for place in range(len(agent.rules)):
        yield replace(agent, rules=agent.rules[:place] + agent.rules[place + 1 :])
    for plain in ("delegates", "depth", "trust"):
        if getattr(agent, plain) is not None:
            yield replace(agent, **{plain: None})
    if agent.inherits:
        yield replace(agent, inherits=False)
    for place in range(len(agent.delegates or ())):
        delegates = agent.delegates[:place] + agent.delegates[place + 1 :]
        if delegates:
            yield replace(agent, delegates=delegates)
