"""Which files of a tree are Claude Code's, and to which project each belongs.

Every folder with a ``.claude/`` is a project, every folder with a
``.claude-plugin/plugin.json`` a plugin. A session in a folder also has the agents,
skills and commands of every folder above it, the nearest of a name, and the local
settings of the top; of other settings it has those of its own folder alone (2.1.329,
observed). Repositories also keep such files where the host does not look, to be
copied from there: those are read as well, as projects of their own, and the
reason is said.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from itertools import pairwise
from typing import Final

import attrs

from policy import limits
from policy.documents.json_nodes import read_json
from policy.errors import PolicyError
from policy.files.opening import Tree
from policy.hosts.claude.agents import looks_like_agent
from policy.hosts.claude.plugins import command_name, plugin_files
from policy.hosts.claude.settings_files import looks_like_settings
from policy.hosts.claude.skills import looks_like_skill
from policy.source import Source

__all__ = ["Found", "Role", "discover", "kind_of"]

FOLDER: Final = ".claude"
# Folders of other hosts, whose agents have front matter of their own.
_OTHERS: Final = frozenset(
    ".a3s .agents .codex .continue .copilot .cursor .gemini .github .kiro .opencode .pikuri"
    " .windsurf .zeph".split()
)
_CONFIGURED: Final = frozenset({(".config", "zeph"), (".config", "opencode")})
_STRAY: Final = "the host looks for agents in `.claude/agents` and in plugins"
_STRAY_SKILL: Final = (
    "the host looks for skills and commands in `.claude/skills`, `.claude/commands` and in plugins"
)
_ALONE: Final = "only its front matter says that it is an agent"
_STRAY_NAMES: Final = {
    "settings.local.json": "local",
    "managed-settings.json": "managed",
}
_NAMES: Final = {"settings.json": "project", "settings.local.json": "local"}
_FOLDERS: Final = {"agents": "agent", "commands": "command", "skills": "skill"}


@attrs.frozen
class Role:
    """What one file is read as.

    Attributes:
        path: relative to the tree.
        kind: ``settings``, ``agent``, ``skill`` or ``command``.
        scope: of settings; the name of a skill, of a command or of the plugin of an agent.
        source: its text, where it was read already.
        assumed: why that is a guess, or "".
        error: why it cannot be read, or None.
        above: whether it is of a folder above the project.
        beside: whether it is of a user or an administrator, who keep theirs elsewhere.
    """

    path: str
    kind: str
    scope: str = ""
    source: Source | None = attrs.field(default=None, repr=False)
    assumed: str = ""
    error: PolicyError | None = None
    above: bool = False
    beside: bool = False


@attrs.define
class Found:
    """A project.

    Attributes:
        root: its folder.
        files: in the order of their paths, behind them those of folders above.
        passed: settings of folders above, which are not in force in it.
        refused: why the host loads nothing of the plugin that lies there, or None.
        is_home: whether it is the home folder of a user.
    """

    root: str
    files: list[Role] = attrs.field(factory=list)
    passed: list[Role] = attrs.field(factory=list)
    refused: PolicyError | None = None
    is_home: bool = False


def discover(tree: Tree) -> tuple[Found, ...]:
    """Return every project of *tree*, by folder.

    Settings in the home folder of a user are in force below it as those of the user, and
    in that folder itself as those of a project too.
    """
    discovery = _Discovery(tree, set(tree.paths()))
    for root, role in discovery.run():
        discovery.found.setdefault(root, Found(root)).files.append(role)
    found = discovery.found
    discovery.part()
    for root, error in discovery.refused.items():
        if root in found:
            found[root].refused = error
    for root in found:
        if _is_home(root, discovery.paths):
            settings = [role for role in found[root].files if _is_of_user(role, root)]
            found[root].files += (attrs.evolve(role, scope="user") for role in settings)
            found[root].is_home = True
    own = {root: tuple(found[root].files) for root in found}
    for root in found:
        if discovery.is_project(root):
            for above in _above(root):
                for role in own.get(above, ()):
                    if _is_of(role, above) and not (
                        found[above].is_home and _is_of_user(role, above)
                    ):
                        there = found[root]
                        holds = _holds_below(role, above, home=found[above].is_home)
                        (there.files if holds else there.passed).append(
                            attrs.evolve(role, above=True)
                        )
    return tuple(found[root] for root in sorted(found))


def _is_stray(role: Role) -> bool:
    return role.kind == "settings" and bool(role.assumed)


def _above(root: str) -> Iterator[str]:
    """Yield the folders above *root*, the nearest first."""
    while root:
        root = _parent(root)
        yield root


def _is_of(role: Role, folder: str) -> bool:
    return f"{role.path}/".startswith(f"{folder}/{FOLDER}/".lstrip("/")) and not role.assumed


def _holds_below(role: Role, folder: str, *, home: bool) -> bool:
    """Return whether a file of *folder* counts in the folders below it."""
    if role.kind != "settings" or role.scope == "user":
        return True
    return not folder and role.scope == "local" and not home


# What the program writes into the home folder of a user, and nowhere else.
_OF_HOMES: Final = (
    ".claude.json",
    ".claude/.credentials.json",
    ".claude/history.jsonl",
    ".claude/plugins/installed_plugins.json",
)


def _is_home(root: str, paths: Collection[str]) -> bool:
    return any(f"{root}/{name}".lstrip("/") in paths for name in _OF_HOMES)


def _is_of_user(role: Role, root: str) -> bool:
    return role.kind == "settings" and role.scope == "project" and _is_of(role, root)


def kind_of(path: str) -> str:
    """Return what the host reads the file at *path* as: ``settings``, ``agent`` or ""."""
    _, found, below = f"/{path}".rpartition(f"/{FOLDER}/")
    if found and below in _NAMES:
        return "settings"
    return "agent" if found and below.startswith("agents/") and path.endswith(".md") else ""


def _parent(path: str) -> str:
    return path.rpartition("/")[0]


@attrs.define
class _Discovery:
    tree: Tree
    paths: set[str]
    found: dict[str, Found] = attrs.field(factory=dict)
    refused: dict[str, PolicyError] = attrs.field(factory=dict)

    def run(self) -> Iterator[tuple[str, Role]]:
        plugins, self.refused = plugin_files(self.tree, self.paths)
        unread = {problem.path for problem in self.tree.problems()}
        for path in self.tree.named():
            segments = path.split("/")
            if path in unread:
                yield from self._unread(path, segments)
            elif FOLDER in segments[:-1]:
                yield from self._below(path, segments)
            elif path in plugins:
                file = plugins[path]
                yield file.root, self._read(path, file.kind, file.name, limits.AGENT_BYTES)
            elif path.endswith(".md"):
                yield from self._stray_text(path, segments)
            elif path.endswith(".json"):
                yield from self._stray_settings(path, segments)

    def _below(self, path: str, segments: list[str]) -> Iterator[tuple[str, Role]]:
        at = len(segments) - 2 - segments[:-1][::-1].index(FOLDER)
        root, rest = "/".join(segments[:at]), segments[at + 1 :]
        if len(rest) == 1 and rest[0] in _NAMES:
            yield root, self._read(path, "settings", _NAMES[rest[0]], limits.FILE_BYTES)
        elif rest[0] == "agents" and path.endswith(".md"):
            yield root, self._read(path, "agent", "", limits.AGENT_BYTES)
        elif len(rest) == 3 and rest[0] == "skills" and rest[2] == "SKILL.md":
            yield root, self._read(path, "skill", rest[1], limits.AGENT_BYTES)
        elif len(rest) > 1 and rest[0] == "commands" and path.endswith(".md"):
            yield root, self._read(path, "command", command_name(rest[1:]), limits.AGENT_BYTES)
        elif path.endswith(".json"):
            yield from self._stray_settings(path, segments)
        elif path.endswith(".md"):
            yield from self._stray_text(path, segments)

    def _unread(self, path: str, segments: list[str]) -> Iterator[tuple[str, Role]]:
        """Yield what is not looked at, such as a link out of the tree, and the host may read."""
        if FOLDER not in segments:
            return
        at = len(segments) - 1 - segments[::-1].index(FOLDER)
        rest = segments[at + 1 :]
        name = rest[0] if rest else "settings.json"
        if name in _NAMES and len(rest) < 2:
            kind, scope = "settings", _NAMES[name]
        elif name in _FOLDERS:
            kind = _FOLDERS[name]
            scope = "" if kind == "agent" else rest[-1].removesuffix(".md")
        else:
            return
        yield "/".join(segments[:at]), self._read(path, kind, scope, limits.AGENT_BYTES)

    def part(self) -> None:
        """Make of settings beside a project, in no place of the host, projects of their own."""
        for root in filter(self.is_project, tuple(self.found)):
            files = self.found[root].files
            self.found[root].files = [role for role in files if not _is_stray(role)]
            for role in filter(_is_stray, files):
                self.found.setdefault(role.path, Found(role.path)).files.append(role)

    def is_project(self, root: str) -> bool:
        """Return whether a session may be started in the folder *root* as it is."""
        return any(_is_of(role, root) for role in self.found[root].files)

    def _read(self, path: str, kind: str, scope: str, limit: int, assumed: str = "") -> Role:
        try:
            return Role(path, kind, scope, self.tree.source(path, limit), assumed)
        except PolicyError as error:
            return Role(path, kind, scope, None, assumed, error)

    # --- files in other places -----------------------------------------------

    def _stray_text(self, path: str, segments: list[str]) -> Iterator[tuple[str, Role]]:
        yield from tuple(self._stray_skill(path, segments)) or self._stray_agent(path, segments)

    def _stray_skill(self, path: str, segments: list[str]) -> Iterator[tuple[str, Role]]:
        if not _OTHERS.isdisjoint(segments):
            return
        folders = segments[:-1]
        if segments[-1] == "SKILL.md" and folders[-2:-1] == ["skills"]:
            kind, name, at = "skill", folders[-1], len(folders) - 2
        elif "commands" in folders:
            at = len(folders) - 1 - folders[::-1].index("commands")
            kind, name = "command", command_name(segments[at + 1 :])
        else:
            return
        role = self._read(path, kind, name, limits.AGENT_BYTES, _STRAY_SKILL)
        if role.source is not None and looks_like_skill(role.source):
            yield "/".join(segments[:at]), role

    def _stray_agent(self, path: str, segments: list[str]) -> Iterator[tuple[str, Role]]:
        if not _OTHERS.isdisjoint(segments) or segments[-1] == "SKILL.md":
            return
        if any(pair in _CONFIGURED for pair in pairwise(segments)):
            return
        role = self._read(path, "agent", "", limits.AGENT_BYTES, _STRAY)
        if role.source is None:
            return
        if "agents" in segments[:-1]:
            if looks_like_agent(role.source):
                yield "/".join(segments[: segments.index("agents")]), role
        elif looks_like_agent(role.source, certainly=True) and not any(
            name.startswith("commands") for name in segments[:-1]
        ):
            yield "", attrs.evolve(role, assumed=_ALONE)

    def _stray_settings(self, path: str, segments: list[str]) -> Iterator[tuple[str, Role]]:
        try:
            source = self.tree.source(path, limits.AGENT_BYTES)
        except PolicyError:
            return
        if not _mentions_rules(source.text):
            return
        named = segments[-1] in _NAMES
        try:
            if not looks_like_settings(read_json(source)):
                return
        except PolicyError:
            if not named:
                return
        scope = _STRAY_NAMES.get(segments[-1], "project")
        role = Role(path, "settings", scope, source, "the host does not look for settings here")
        yield _parent(path) if named else path, role


def _mentions_rules(text: str) -> bool:
    return '"permissions"' in text and any(
        f'"{name}"' in text for name in ("allow", "ask", "deny", "defaultMode")
    )
