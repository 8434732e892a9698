"""What is compared: a scenario is everything but the call; both are plain values."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

import attrs

__all__ = ["CWD", "FLAG_FOLDER", "HOME", "Call", "Scenario", "front_matter"]

HOME = "/home/alice"
CWD = "/srv/app"
FLAG_FOLDER = "/etc/policies"
SCOPES = ("managed", "cli", "flag", "local", "project", "user")
LISTS = ("deny", "ask", "allow")

_SORTS = (
    ("Bash, substitution", re.compile(r"\$\(|`|[<>]\(")),
    ("Bash, control flow", re.compile(r"\b(if|for|while|until|case|select|function)\b|[({] ")),
    ("Bash, compound", re.compile(r"[;&|\n]")),
    ("Bash, redirection", re.compile(r"[<>]")),
    ("Bash, expansion", re.compile(r"[$*?~{\[]")),
    ("Bash, assignment", re.compile(r"^\w+\+?=")),
    ("Bash, quotes", re.compile(r"['\"\\]")),
)


@attrs.frozen
class Call:
    """A call, and the agents below the main conversation, the last of which makes it."""

    tool: str
    input: Mapping[str, Any]
    chain: tuple[str, ...] = ()

    @property
    def sort(self) -> str:
        """What it is counted as: its tool, and how a command is put together."""
        if self.tool not in ("Bash", "Monitor"):
            return "mcp" if self.tool.startswith("mcp__") else self.tool
        text = self.input["command"]
        return next((name for name, holds in _SORTS if holds.search(text)), "Bash, plain")

    def __str__(self) -> str:
        way = "".join(f"{name} > " for name in ("main", *self.chain)) if self.chain else ""
        return f"{way}{self.tool} {json.dumps(dict(self.input), ensure_ascii=False)}"


@attrs.frozen
class Scenario:
    """Everything that decides, besides the call.

    Attributes:
        settings: by scope, as JSON has them.
        agents: of the project, by name: their front matter.
        skills: of the project, by name: their front matter.
        servers: the tools of MCP servers.
        links: symbolic links, and where each leads.
        mode: given as a flag; None leaves it to the settings.
        trusted: whether the user trusts the folder.
        background: whether agents are started in the background.
        depth: levels of agents below the main conversation.
        main_agent: the agent a session is started as, or "".
        automatic: whether there is the mode in which a model decides.
        skill: the skill that the main conversation invokes before all else, or "".
        guards: the matchers of hooks of the user that refuse what they see.

    """

    settings: Mapping[str, Any] = attrs.field(factory=dict)
    agents: Mapping[str, Mapping[str, Any]] = attrs.field(factory=dict)
    skills: Mapping[str, Mapping[str, Any]] = attrs.field(factory=dict)
    servers: Mapping[str, tuple[str, ...]] = attrs.field(factory=dict)
    links: Mapping[str, str] = attrs.field(factory=dict)
    mode: str | None = "default"
    trusted: bool = True
    background: bool = True
    depth: int | None = None
    main_agent: str = ""
    automatic: bool = False
    skill: str = ""
    guards: tuple[str, ...] = ()

    @property
    def key(self) -> str:
        """Two scenarios are the same iff their keys are."""
        return json.dumps(attrs.asdict(self), sort_keys=True)

    def scopes(self) -> Mapping[str, Any]:
        """Return the settings as both sides get them."""
        settings = dict(self.settings)
        if not self.automatic:
            user = dict(settings.get("user", {}))
            user["permissions"] = {**_permissions(user), "disableAutoMode": "disable"}
            settings["user"] = user
        if self.guards:
            groups = [_group(matcher) for matcher in self.guards]
            settings["user"] = {**settings.get("user", {}), "hooks": {"PreToolUse": groups}}
        return settings

    def files(self) -> Iterator[tuple[str, str]]:
        """Yield the files of the project, relative to its folder."""
        scopes = self.scopes()
        for scope, name in (("project", "settings.json"), ("local", "settings.local.json")):
            if scope in scopes:
                yield f".claude/{name}", json.dumps(scopes[scope], indent=1)
        for name, keys in self.agents.items():
            yield f".claude/agents/{name}.md", front_matter({"name": name, **keys})
        for name, keys in self.skills.items():
            yield (
                f".claude/skills/{name}/SKILL.md",
                front_matter({"name": name, "description": "d", **keys}),
            )

    def describe(self) -> str:
        """Return what differs from an empty scenario, in a few lines."""
        lines = []
        for field in attrs.fields(Scenario):
            value = getattr(self, field.name)
            default = field.default
            if isinstance(value, Mapping):
                lines += [
                    f"{field.name}.{name}: {json.dumps(each, ensure_ascii=False)}"
                    for name, each in value.items()
                ]
            elif value != default:
                lines.append(f"{field.name}: {value}")
        return "\n".join(lines)


def _group(matcher: str) -> Mapping[str, Any]:
    hook = {"type": "command", "command": "cat > /dev/null; echo no >&2; exit 2"}
    return {"hooks": [hook], **({"matcher": matcher} if matcher else {})}


def _permissions(settings: object) -> Mapping[str, Any]:
    found = settings.get("permissions", {}) if isinstance(settings, Mapping) else {}
    return found if isinstance(found, Mapping) else {}


def front_matter(keys: Mapping[str, Any]) -> str:
    """Return a definition; a string value is YAML as it stands."""
    lines = [f"{k}: {v if isinstance(v, str) else json.dumps(v)}" for k, v in keys.items()]
    return "\n".join(["---", *lines, "---", "You are an agent.", ""])
