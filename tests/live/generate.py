"""Scenarios and calls from a seed. A scenario speaks of few programs, so its rules meet calls."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any, TypeVar

import attrs

from tests.live import oddities, options, programs
from tests.live import vocabulary as words
from tests.live.altered import altered
from tests.live.command_rules import command_rule, spelled_oddly
from tests.live.scenario import LISTS, SCOPES, Call, Scenario
from tests.live.wide import wide_command, wide_rule

__all__ = ["Generator"]

T = TypeVar("T")

# What a scenario is about: the kinds of its rules, and of its calls, a letter each.
_THEMES = (
    ("BBBBBBBBBRE", "B"),
    ("BBBBBBBBBRE", "B"),
    ("BBBBBBBRRREEEWMSAT", "BBBBBBBBBBBBBBBBBBBBBRRREEEWFNQMMSSAO"),
    ("RRRREEEEEBT", "RRRRREEEEWWNBBBBB"),
    ("BREWWWMMMMSSSAAAT", "BBRRFFFQMMMMSSSAAAO"),
)
# The same of all that is no command.
_BESIDE_COMMANDS = (
    ("RRREEEWWMMSSAAT", "RRREEEWNFFQMMSSA"),
    ("RRRREEEEET", "RRRREEEEWWN"),
    ("WWWMMMSSSAAAT", "RFFFQMMMMSSSAAA"),
)


@attrs.define
class Generator:
    """Everything drawn from one source of chance.

    Attributes:
        chance: what decides.
        commands: whether some rules and calls are about commands.
        wide: whether half of these are made of more words, which shells read in several ways.

    """

    chance: Random
    commands: bool = True
    wide: bool = False
    programs: tuple[str, ...] = ()
    named: tuple[str, ...] = ()
    rules: str = ""
    kinds: str = ""
    spelled: list[str] = attrs.field(factory=list)  # commands that rules name as a whole

    def scenario(self) -> Scenario:
        """Return a scenario, of whose programs `calls` then speaks."""
        self.programs = tuple(self.chance.sample(sorted(words.PROGRAMS), 4))
        self.named = tuple(self.chance.sample(programs.PROGRAMS, 6))
        self.rules, self.kinds = self.pick(_THEMES if self.commands else _BESIDE_COMMANDS)
        self.spelled = []
        draw = self.chance.random
        settings: dict[str, Any] = {}
        for scope in self.chance.sample(SCOPES, self.pick((1, 1, 1, 2, 3))):
            settings[scope] = self.settings(scope)
        names = self.chance.sample(words.AGENT_NAMES, self.pick((0, 1, 2, 3)))
        for scope in ("managed", "flag", "local", "project", "user"):
            if scope in settings and names and draw() < 0.03:
                settings[scope]["agent"] = names[0]
        skills = {**words.SKILLS, "commit": self.pick(words.SKILL_LISTS)}
        skills = skills if "S" in self.kinds and draw() < 0.8 else {}
        return Scenario(
            settings=settings,
            agents={name: self.agent() for name in names},
            skills=skills,
            servers=words.SERVERS if "M" in self.kinds and draw() < 0.8 else {},
            links=words.LINKS if draw() < 0.2 else {},
            mode=None if draw() < 0.1 else self.pick(words.MODES),
            trusted=draw() < 0.95,
            background=draw() < 0.7,
            depth=self.pick((None, None, None, None, None, None, 1, 2)),
            main_agent=names[0] if names and draw() < 0.06 else "",
            automatic=draw() < 0.5,
            skill="commit" if skills and draw() < 0.4 else "",
            guards=tuple(self.pick(words.MATCHERS) for _ in range(self.pick((0, 0, 0, 0, 1, 2)))),
        )

    def settings(self, scope: str) -> dict[str, Any]:
        """Return the settings of one scope."""
        permissions: dict[str, Any] = {}
        for effect, most in zip(LISTS, (3, 2, 6), strict=True):
            if scope == "cli" and effect == "ask":  # there is no such flag
                continue
            if rules := [self.rule() for _ in range(self.chance.randint(0, most))]:
                permissions[effect] = list(dict.fromkeys(rules))
        if scope == "cli":
            return {"permissions": permissions}
        if self.chance.random() < 0.2:
            permissions["additionalDirectories"] = self.chance.sample(words.FOLDERS, 2)
        if self.chance.random() < 0.08:
            permissions["defaultMode"] = self.pick(words.MODES)
        if self.chance.random() < 0.03:
            permissions["disableBypassPermissionsMode"] = "disable"
        if self.chance.random() < 0.04:
            permissions["blockReadsOutsideWorkingDirectories"] = True
        if scope == "flag" and self.chance.random() < 0.06:
            permissions["blockFileToolReadsOutsideWorkingDirectories"] = True
        settings = {"permissions": permissions}
        if self.chance.random() < 0.06:
            settings |= self.pick(words.OTHER_SETTINGS)
        if scope == "managed" and self.chance.random() < 0.15:
            settings["allowManagedPermissionRulesOnly"] = self.pick((True, True, False, None))
        return settings

    def rule(self) -> str:
        """Return a rule of any tool, now and then a malformed one."""
        match self.pick(self.rules):
            case "B" if self.wide and self.chance.random() < 0.5:
                return wide_rule(self.chance)
            case "B" if self.chance.random() < 0.12:
                spelled = self.command()
                if self.chance.random() < 0.6:
                    spelled = spelled_oddly(self.chance, self.bare(), self.bare())
                self.spelled.append(spelled)
                return f"Bash({self.spelled[-1]}{self.pick(('', '', '', '', ':*', ' *'))})"
            case "B":
                return command_rule(self.chance, self.programs, self.named)
            case "R":
                return self.file_rule("Read")
            case "E":
                return self.file_rule(self.pick(("Edit", "Edit", "Edit", "Write", "NotebookEdit")))
            case "W":
                return f"WebFetch({self.pick(words.DOMAINS)})"
            case "M":
                return self.pick(words.MCP_RULES)
            case "S":
                return "Skill" + self.pick(words.SKILL_RULES)
            case "A":
                return self.pick(("Agent", "Task")) + self.pick(words.AGENT_RULES)
            case _:
                bare = ("WebFetch", "WebSearch", "Write", "Monitor", "bash(ls)", "Web*")
                return self.pick((*bare, *oddities.PARAMETER_RULES))

    def file_rule(self, tool: str) -> str:
        """Return a rule of a tool that takes a path."""
        if self.chance.random() < 0.12:
            return tool
        odd = self.chance.random() < 0.12
        return f"{tool}({self.pick(oddities.PATTERNS if odd else words.PATTERNS)})"

    def agent(self) -> dict[str, Any]:
        """Return the front matter of an agent."""
        keys: dict[str, Any] = {"description": "d"}
        if self.chance.random() < 0.6:
            keys["tools"] = self.pick(words.TOOL_LISTS)
        if self.chance.random() < 0.25:
            keys["disallowedTools"] = self.pick(words.DENY_LISTS)
        if self.chance.random() < 0.3:
            keys["permissionMode"] = self.pick(words.MODES)
        if self.chance.random() < 0.1:
            keys["memory"] = self.pick(("project", "user", "local", "true"))
        return keys

    def calls(self, scenario: Scenario, count: int) -> list[Call]:
        """Return *count* calls of the main conversation and of agents below it."""
        names = (*scenario.agents, *scenario.agents, "general-purpose", "Explore")
        chains = [tuple(self.pick(names) for _ in range(n)) for n in (1, 1, 2, self.pick((2, 3)))]
        chains = [(), (), *chains] if self.chance.random() < 0.4 else [()]
        return [
            attrs.evolve(
                oddities.with_more(self.call(scenario), self.chance), chain=self.pick(chains)
            )
            for _ in range(count)
        ]

    def call(self, scenario: Scenario) -> Call:  # noqa: PLR0912 - one for each tool
        """Return a call of any tool that is there."""
        kinds = self.kinds
        if not scenario.servers:
            kinds = kinds.replace("M", "")
        if not scenario.skills:
            kinds = kinds.replace("S", "")
        match self.pick(kinds):
            case "B":
                return Call("Bash", self.bash())
            case "R":
                return Call("Read", {"file_path": self.path(scenario)})
            case "E":
                return Call("Edit", {"file_path": self.path(scenario)})
            case "W":
                new = self.path(scenario).rpartition("/")[0]
                return Call("Write", {"file_path": f"{new}/new.txt" if new else "new.txt"})
            case "F":
                return Call(
                    "WebFetch", {"url": self.pick(words.URLS).format(self.pick(words.HOSTS))}
                )
            case "N":
                return Call("NotebookEdit", {"notebook_path": self.pick(words.NOTEBOOKS)})
            case "Q":
                return Call("WebSearch", {"query": self.pick(("news", "python docs"))})
            case "O":
                return Call("Monitor", {"command": self.command()})
            case "M":
                server = self.pick(tuple(scenario.servers))
                return Call(f"mcp__{server}__{self.pick(scenario.servers[server])}", {})
            case "S":
                return Call("Skill", {"skill": self.pick(words.SKILL_CALLS)})
            case _:
                known = (*scenario.agents, "Explore", "general-purpose", "nosuch")
                return Call("Agent", {"subagent_type": self.pick(known)})

    def path(self, scenario: Scenario) -> str:
        """Return a path to a file that is there."""
        if self.chance.random() < 0.1:
            return self.pick(oddities.PATHS)
        return self.pick((*words.PATHS, *words.LINKED) if scenario.links else words.PATHS)

    def bash(self) -> dict[str, Any]:
        """Return the input of a call of `Bash`."""
        given: dict[str, Any] = {"command": self.command()}
        if self.chance.random() < 0.03:
            given["timeout"] = 5000
        if self.chance.random() < 0.02:
            given["run_in_background"] = True
        return given

    def command(self, depth: int = 0) -> str:
        """Return a shell command: plain ones of any shape, put together."""
        if self.spelled and not depth and self.chance.random() < 0.12:
            spelled = self.pick(self.spelled)
            before = self.pick(("", "", "X=1 ", "CI=1 ", f"{self.pick(words.WRAPPERS)} "))
            shape = self.pick(("{}", "{}", self.pick(words.SHAPES)))
            return shape.format(before + spelled, self.bare())
        if self.wide and not depth and self.chance.random() < 0.7:
            near = wide_command(self.chance) if self.chance.random() < 0.6 else self.simple()
            return altered(near, self.chance) if self.chance.random() < 0.5 else near
        if depth < 3 and self.chance.random() < (0.5 if not depth else 0.12):
            shape = self.pick(words.SHAPES)
            return shape.format(self.command(depth + 1), self.command(depth + 1))
        return self.simple()

    def simple(self) -> str:
        """Return one plain command, with what may stand around it."""
        if self.chance.random() < 0.03:
            return f"{self.pick(words.DASHES)} {self.pick(words.HEREDOCS)}"
        text = self.bare()
        draw = self.chance.random
        if draw() < 0.12:
            text += " " + self.pick(words.WORDS)
        if draw() < 0.06:
            text += " " + self.pick(words.SUBSTITUTIONS).format(self.bare())
        if draw() < 0.06:
            text = self.quoted(text)
        if draw() < 0.12:
            wrapper = self.pick(words.WRAPPERS)
            inner = f"'{text}'" if wrapper.endswith("c") and draw() < 0.9 else text
            text = f"{wrapper} {inner}"
        if draw() < 0.08:
            text = f"{self.assignment()} {text}"
        if draw() < 0.12:
            text += " " + self.pick(words.REDIRECTIONS)
        elif draw() < 0.03:
            text += " " + self.pick(words.HEREDOCS)
        return text

    def bare(self) -> str:
        """Return a program with operands."""
        if self.chance.random() < 0.15:
            return self.named_call()
        if self.chance.random() < 0.02:
            return self.pick(words.VARIABLE_REMOVALS).format(self.pick(words.SETTINGS))
        kind = self.chance.random()
        if kind < 0.45:
            name = self.pick(self.programs)
            return f"{name} {self.pick(words.PROGRAMS[name])}".strip()
        if kind < 0.65:
            return self.pick(words.READ_ONLY)
        if kind < 0.72:
            return f"git {self.pick(words.GIT)}"
        if kind < 0.92:
            return self.invocation()
        path = self.pick(words.PATHS).replace("a b", "a\\ b")
        return self.pick(words.OPENERS).format(path)

    def named_call(self) -> str:
        """Return a call of a program that rules name, or of one that only begins alike."""
        name = self.pick(self.named)
        shapes = (
            name,
            f"{name} x",
            f"{name} arg",
            f"{name}x",
            f"{name} {self.pick(programs.SCRIPTS)} a",
        )
        return self.pick(shapes)

    def assignment(self) -> str:
        """Return an assignment before a command."""
        if self.chance.random() < 0.5:
            return self.pick(words.ASSIGNMENTS)
        return f"{self.pick(programs.VARIABLES)}={self.pick(programs.VALUES)}"

    def invocation(self) -> str:
        """Return a program that may only read, with options and operands of any kind."""
        name = self.pick(tuple(options.OPTIONS))
        parts = [name, *(self.option(name) for _ in range(self.pick((0, 1, 1, 2))))]
        parts += (self.pick(options.OPERANDS) for _ in range(self.pick((0, 1, 1, 2))))
        return " ".join(parts)

    def option(self, name: str) -> str:
        """Return an option that people give the program *name*, or any at all."""
        known = options.OPTIONS[name]
        if known and self.chance.random() < 0.7:
            return self.pick(known)
        letter, value = self.pick(options.LETTERS), self.pick(options.VALUES)
        long = f"--{self.pick(options.LONG_OPTIONS)}"
        letters = f"-{letter}{self.pick(options.LETTERS)}"
        shapes = (f"-{letter}", letters, f"-{letter} {value}", f"-{letter}{value}", long)
        return self.pick((*shapes, f"{long}={value}", f"{long} {value}"))

    def quoted(self, text: str) -> str:
        """Return *text* with its first word spelt in another way."""
        name, blank, rest = text.partition(" ")
        spelt = self.pick(
            (
                *(
                    f"'{name}'",
                    f'"{name}"',
                    f"\\{name}",
                    f"{name[:1]}\\{name[1:]}",
                    f"/usr/bin/{name}",
                ),
                *(f'{name[:1]}""{name[1:]}', f"./{name}", f"$'{name}'", f"  {name}", f"{name}  "),
            )
        )
        return spelt + blank + rest

    def pick(self, choices: Sequence[T]) -> T:
        """Return one of *choices*."""
        return self.chance.choice(choices)
