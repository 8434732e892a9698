"""Which files of a tree are Claude Code's, and to which project each belongs.

Every folder with a ``.claude/`` is a project, every folder with a ``.claude-plugin/plugin.json`` a
plugin. A session in a folder also has the agents, skills and commands of every folder above it, the
nearest of a name, and the local settings of the top; of other settings it has those of its own
folder alone (2.1.329, observed). A tree with no ``.claude`` and no plugin may hold such files to be
copied from there: then those are read, as projects of their own, with the reason.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Final

from policy.core import expressions as re
from policy.core import limits
from policy.core.errors import PolicyError
from policy.core.source import Source
from policy.core.values import define, evolve, field, frozen
from policy.files.json_nodes import read_json
from policy.files.nodes import MappingNode, Node, ScalarNode, SequenceNode, describe
from policy.files.opening import StartPlace, Tree
from policy.files.trees import Problem
from policy.hosts.claude.agents import looks_like_agent
from policy.hosts.claude.data.tools import server_name
from policy.hosts.claude.settings import looks_like_settings
from policy.hosts.claude.skills import looks_like_skill

__all__ = [
    "OF_ABOVE",
    "OF_ADMINISTRATORS",
    "OF_MAIN",
    "OF_USERS",
    "FoundProject",
    "Role",
    "above_roles",
    "command_name",
    "discover",
    "main_roles",
    "managed_roles",
    "read_beside",
    "user_roles",
]

# --- plugins --------------------------------------------------------------------------

_MANIFEST: Final = ".claude-plugin/plugin.json"


def command_name(segments: list[str]) -> str:
    """Return the name of the command whose file is at *segments*, e.g. ``web:deploy``."""
    return ":".join(segments).removesuffix(".md")


# A folder of skills, or the folder of one.
_SKILL_DEPTH: Final = 3
_KINDS: Final = ("agents", "commands", "skills")


# The root of the plugin that a file is of, the kind of the file, and its name; of an agent the name
# is what stands before its own.
PluginFile = tuple[str, str, str]


@frozen
class _Manifest:
    """What a manifest says: the name, and by kind the places it lists; None where it is quiet."""

    name: str
    listed: dict[str, tuple[str, ...] | None]
    commands: dict[str, str]


def plugin_files(
    tree: Tree, paths: Collection[str]
) -> tuple[dict[str, PluginFile], dict[str, PolicyError]]:
    """Return each file of a plugin, and of those that the host does not load the root, and why."""
    files: dict[str, PluginFile] = {}
    refused: dict[str, PolicyError] = {}
    for path in sorted(each for each in paths if each.endswith(_MANIFEST)):
        root = path.removesuffix(_MANIFEST).rstrip("/")
        if path != f"{root}/{_MANIFEST}".lstrip("/"):
            continue
        try:
            manifest = _read(tree.source(path, limits.AGENT_BYTES))
        except PolicyError as error:
            refused[root] = error
            continue
        prefix = f"{root}/" if root else ""
        below = sorted(p[len(prefix) :] for p in paths if p.startswith(prefix))
        texts = [inner for inner in below if inner.endswith(".md")]
        for inner, kind, name in _files(manifest, texts):
            files[prefix + inner] = (root, kind, name)
    return files, refused


def _files(manifest: _Manifest, texts: list[str]) -> Iterator[tuple[str, str, str]]:
    """Yield the files of a plugin: what it lists of agents and commands is all it has of them."""
    listed = manifest.listed
    skills = (*(listed["skills"] or ()), "skills")
    for kind, places in (("skill", skills), ("command", listed["commands"] or ())):
        for place in places:
            for inner, short in _named_below(kind, place, texts):
                yield inner, kind, f"{manifest.name}:{short}"
    for inner, short in manifest.commands.items():
        if inner in texts:
            yield inner, "command", f"{manifest.name}:{short}"
    for inner in texts:
        folder, *rest = inner.split("/")
        if folder == "agents" and rest and listed["agents"] is None:
            yield inner, "agent", ":".join((manifest.name, *rest[:-1]))
        elif folder == "commands" and rest and listed["commands"] is None:
            yield inner, "command", f"{manifest.name}:{command_name(rest)}"
        elif inner in (listed["agents"] or ()):
            yield inner, "agent", manifest.name


def _named_below(kind: str, at: str, texts: list[str]) -> Iterator[tuple[str, str]]:
    """Yield the skills or commands at a place that a manifest names, with their names."""
    for path in texts:
        inner = path.removeprefix(f"{at}/" if at else "")
        if path == at:
            inner = path.rpartition("/")[2] if kind == "command" else ""
        elif at and inner == path:
            continue
        segments = inner.split("/")
        if kind == "command" and segments[-1] == "SKILL.md" and len(segments) > 1:
            yield path, ":".join(segments[:-1])
        elif kind == "command":
            yield path, command_name(segments)
        elif segments[-1] == "SKILL.md" and len(segments) < _SKILL_DEPTH:
            yield path, path.split("/")[-2] if "/" in path else path


def _read(source: Source) -> _Manifest:
    """Return what a manifest says.

    Raises:
        PolicyError: the host does not load the plugin.

    """
    node = read_json(source)
    if not isinstance(node, MappingNode):
        msg = f"expected an object, found {describe(node)}"
        raise PolicyError(msg, node.span)
    name = node.get("name")
    if not isinstance(name, ScalarNode) or not _NAME.fullmatch(str(name.value)):
        msg = "expected a name without blanks and colons"
        raise PolicyError(msg, name.span if name is not None else node.span)
    version = node.get("version")
    if version is not None and not (
        isinstance(version, ScalarNode) and isinstance(version.value, str)
    ):
        msg = f"expected a string, found {describe(version)}"
        raise PolicyError(msg, version.span)
    listed = {kind: _places(node.get(kind), kind) for kind in _KINDS}
    return _Manifest(str(name.value), listed, dict(_named_commands(node.get("commands"))))


_NAME: Final = re.compile(r"[^\s:]+")


def _places(node: Node | None, kind: str) -> tuple[str, ...] | None:
    if node is None:
        return None
    if kind == "commands" and isinstance(node, MappingNode):
        return ()
    ending = ".md" if kind == "agents" else ""
    items = node.items if isinstance(node, SequenceNode) else (node,)
    return tuple(_place(item, ending) for item in items)


def _place(node: Node, ending: str = "") -> str:
    """Return a place below the plugin; what leads out of it begins with ``..``, as no file does."""
    text = node.value if isinstance(node, ScalarNode) else None
    if not isinstance(text, str) or not text.startswith("./") or not text.endswith(ending):
        wanted = "the file of an agent, `./….md`" if ending else "a path that begins with `./`"
        msg = f"expected {wanted}, found {node.span.text if text else describe(node)}"
        raise PolicyError(msg, node.span)
    segments: list[str] = []
    for segment in text.split("/"):
        if segment == ".." and segments and segments[-1] != "..":
            segments.pop()
        elif segment not in ("", "."):
            segments.append(segment)
    return "/".join(segments)


def _named_commands(node: Node | None) -> Iterator[tuple[str, str]]:
    for entry in node.entries if isinstance(node, MappingNode) else ():
        source = entry.value.get("source") if isinstance(entry.value, MappingNode) else None
        if source is not None:
            yield _place(source), entry.name


# --- projects -------------------------------------------------------------------------

FOLDER: Final = ".claude"
# Folders of other hosts, whose agents have front matter of their own.
_OTHERS: Final = frozenset(
    ".a3s .agents .codex .continue .copilot .cursor .gemini .github .kiro .opencode .pikuri"
    " .qwen .windsurf .zeph".split()
)
# Those in which settings of this host are kept too.
_SHARED: Final = frozenset({".agents", ".github"})
_CONFIGURED: Final = frozenset({(".config", "zeph"), (".config", "opencode")})
_STRAY: Final = "the host looks for agents in `.claude/agents` and in plugins"
_STRAY_SKILL: Final = (
    "the host looks for skills and commands in `.claude/skills`, `.claude/commands` and in plugins"
)
_ALONE: Final = "only its front matter says that it is an agent"
_NAMES: Final = {"settings.json": "project", "settings.local.json": "local"}
_STRAY_NAMES: Final = {**_NAMES, "managed-settings.json": "managed"}
_FOLDERS: Final = {"agents": "agent", "commands": "command", "skills": "skill"}


@frozen
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
    source: Source | None = field(default=None, repr=False)
    assumed: str = ""
    error: PolicyError | None = None
    above: bool = False
    beside: bool = False


@define
class FoundProject:
    """A project.

    Attributes:
        root: its folder.
        files: in the order of their paths, behind them those of folders above.
        passed: settings of folders above, which are not in force in it.
        refused: why the host does not load plugins that lie there, or elsewhere in no project.
        is_home: whether it is the home folder of a user.
        servers: names of the MCP servers that ``.mcp.json`` configures, as the host calls them.
    """

    root: str
    files: list[Role] = field(factory=list)
    passed: list[Role] = field(factory=list)
    refused: list[PolicyError] = field(factory=list)
    is_home: bool = False
    servers: tuple[str, ...] = ()


def discover(tree: Tree, start: str | None = None) -> tuple[FoundProject, ...]:
    """Return every project of *tree*, by folder, and the one of a session started in *start*.

    Settings in the home folder of a user are in force below it as those of the user, and
    in that folder itself as those of a project too.
    """
    discovery = _Discovery(tree, set(tree.paths()))
    found: dict[str, FoundProject] = {}
    for root, role in tuple(discovery.run()) or (discovery.strays() if start is None else ()):
        found.setdefault(root, FoundProject(root)).files.append(role)
    if start is not None:
        found.setdefault(start, FoundProject(start))
    for root, error in discovery.refused.items():
        at = root if root in found or not found else min(found)
        found.setdefault(at, FoundProject(at)).refused.append(error)
    for root, project in found.items():
        if _is_home(tree, root, discovery.paths):
            settings = [role for role in project.files if _is_of_user(role, root)]
            project.files += (evolve(role, scope="user") for role in settings)
            project.is_home = True
        project.servers = tuple(_servers(tree, f"{root}/.mcp.json".lstrip("/")))
    own = {root: tuple(project.files) for root, project in found.items()}
    for root, project in found.items():
        # A session may be started in a folder that has such files as it is.
        if any(_is_of(role, root) for role in own[root]) or root == start:
            for above in _above(root):
                for role in own.get(above, ()):
                    if _is_of(role, above) and not (
                        found[above].is_home and _is_of_user(role, above)
                    ):
                        holds = _holds_below(role, above, home=found[above].is_home)
                        lists = project.files if holds else project.passed
                        lists.append(evolve(role, above=True))
    return tuple(found[root] for root in sorted(found))


def _servers(tree: Tree, path: str) -> Iterator[str]:
    """Yield the names of the servers in a file, which is read for nothing else."""
    try:
        node = read_json(tree.source(path, limits.FILE_BYTES))
    except PolicyError:
        return
    listed = node.get("mcpServers") if isinstance(node, MappingNode) else None
    for entry in listed.entries if isinstance(listed, MappingNode) else ():
        yield server_name(entry.name)


def _above(root: str) -> Iterator[str]:
    """Yield the folders above *root*, the nearest first."""
    while root:
        root = _parent(root)
        yield root


def _is_of(role: Role, folder: str) -> bool:
    return f"{role.path}/".startswith(f"{folder}/{FOLDER}/".lstrip("/"))


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


def _is_home(tree: Tree, root: str, paths: Collection[str]) -> bool:
    own = tree.root is not None and os.path.realpath(tree.root / root) == _own_home()
    return own or any(f"{root}/{name}".lstrip("/") in paths for name in _OF_HOMES)


def _own_home() -> str:
    return os.path.realpath(os.path.expanduser("~"))  # noqa: PTH111  # there may be none


def _is_of_user(role: Role, root: str) -> bool:
    return role.kind == "settings" and role.scope == "project" and _is_of(role, root)


def _role_below(segments: list[str]) -> tuple[str, str, str]:
    """Return the project of a file in ``.claude``, its kind and its scope or name; or "" each."""
    if FOLDER not in segments[:-1]:
        return "", "", ""
    at = len(segments) - 2 - segments[:-1][::-1].index(FOLDER)
    root, rest = "/".join(segments[:at]), segments[at + 1 :]
    match rest:
        case [name] if name in _NAMES:
            return root, "settings", _NAMES[name]
        case ["agents", *_, name] if name.endswith(".md"):
            return root, "agent", ""
        case ["skills", name, "SKILL.md"]:
            return root, "skill", name
        case ["commands", *names] if names and names[-1].endswith(".md"):
            return root, "command", command_name(names)
        case _:
            return root, "", ""


def _parent(path: str) -> str:
    return path.rpartition("/")[0]


def _read_role(tree: Tree, path: str, kind: str, scope: str, assumed: str = "") -> Role:
    limit = limits.FILE_BYTES if kind == "settings" else limits.AGENT_BYTES
    try:
        return Role(path, kind, scope, tree.source(path, limit), assumed)
    except PolicyError as error:
        return Role(path, kind, scope, None, assumed, error)


@define
class _Discovery:
    tree: Tree
    paths: set[str]
    refused: dict[str, PolicyError] = field(factory=dict)

    def run(self) -> Iterator[tuple[str, Role]]:
        """Yield what the host reads, with the project of each."""
        plugins, self.refused = plugin_files(self.tree, self.paths)
        unread = {problem.path for problem in self.tree.problems()}
        for path in self.tree.named():
            segments = path.split("/")
            if path in unread:
                yield from self._unread(path, segments)
            elif FOLDER in segments[:-1]:
                root, kind, scope = _role_below(segments)
                if kind:
                    yield root, _read_role(self.tree, path, kind, scope)
            elif path in plugins:
                root, kind, name = plugins[path]
                yield root, _read_role(self.tree, path, kind, name)

    def _unread(self, path: str, segments: list[str]) -> Iterator[tuple[str, Role]]:
        """Yield what is not read here, such as a link out of the tree, and the host may read."""
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
        yield "/".join(segments[:at]), _read_role(self.tree, path, kind, scope)

    # --- files in other places -----------------------------------------------

    def strays(self) -> Iterator[tuple[str, Role]]:
        """Yield what is written as the host wants it, in a tree with no folder of the host."""
        files = {path: path.split("/") for path in self.tree.paths()}
        if any(FOLDER in segments for segments in files.values()):
            return
        for path, segments in files.items():
            if path.endswith(".md"):
                skills = tuple(self._stray_skill(path, segments))
                yield from skills or self._stray_agent(path, segments)
            elif path.endswith(".json"):
                yield from self._stray_settings(path, segments)

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
        role = _read_role(self.tree, path, kind, name, _STRAY_SKILL)
        if role.source is not None and looks_like_skill(role.source):
            yield "/".join(segments[:at]), role

    def _stray_agent(self, path: str, segments: list[str]) -> Iterator[tuple[str, Role]]:
        if not _OTHERS.isdisjoint(segments) or segments[-1] == "SKILL.md":
            return
        if any(pair in _CONFIGURED for pair in pairwise(segments)):
            return
        role = _read_role(self.tree, path, "agent", "", _STRAY)
        if role.source is None:
            return
        if "agents" in segments[:-1]:
            if looks_like_agent(role.source):
                yield "/".join(segments[: segments.index("agents")]), role
        elif looks_like_agent(role.source, certainly=True) and not any(
            name.startswith("commands") for name in segments[:-1]
        ):
            yield "", evolve(role, assumed=_ALONE)

    def _stray_settings(self, path: str, segments: list[str]) -> Iterator[tuple[str, Role]]:
        if not _OTHERS.isdisjoint({*segments} - _SHARED):
            return  # rules of another host look alike
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


# --- what users and administrators keep beside a project -----------------------------

# Agents of an administrator come before those of a project, and those of a user behind
# them; skills of all are there (2.1.329, observed).

# The names in each folder that are read.
OF_MAIN: Final = frozenset({"agents", "settings.local.json"})
OF_ABOVE: Final = frozenset({"agents", "commands", "skills"})
OF_USERS: Final = OF_ABOVE | {"settings.json"}
OF_ADMINISTRATORS: Final = frozenset({".claude", "managed-settings.d", "managed-settings.json"})


def read_beside(start: StartPlace) -> tuple[Path, ...]:
    """Return what a session also reads that is in no folder of its checkout, and is there."""
    folders = [(each, OF_ABOVE) for each in start.above]
    if start.main is not None:
        folders.append((start.main, OF_MAIN))
    paths = (folder / FOLDER / name for folder, names in folders for name in sorted(names))
    return tuple(path for path in paths if path.exists())


_HOME: Final = "~"
_USER: Final = "~/.claude"
_MANAGED: Final = "/etc/claude-code"
_WHOLE: Final = f"{_MANAGED}/managed-settings.json"


@frozen
class _Placed(Tree):
    """A tree as it is seen from outside: every path below one folder."""

    tree: Tree
    folder: str

    @property
    def label(self) -> str:
        return self.tree.label

    def paths(self) -> tuple[str, ...]:
        return tuple(f"{self.folder}/{path}" for path in self.tree.paths())

    def problems(self) -> tuple[Problem, ...]:
        return tuple(
            evolve(problem, path=f"{self.folder}/{problem.path}".removesuffix("/."))
            for problem in self.tree.problems()
        )

    def read(self, path: str, limit: int = limits.FILE_BYTES) -> bytes:
        try:
            return self.tree.read(path.removeprefix(f"{self.folder}/"), limit)
        except PolicyError as error:
            raise PolicyError(error.message, file=path, help=error.help) from None


def user_roles(tree: Tree) -> list[Role]:
    """Return what is read of the folder of a user, ``~/.claude``."""
    roles = _roles(_Placed(tree, _USER), _HOME)
    return [
        evolve(role, scope="user") if role.kind == "settings" else role
        for role in roles
        if (role.kind, role.scope) != ("settings", "local")
    ]


def main_roles(tree: Tree) -> list[Role]:
    """Return what counts of the main checkout in a linked worktree (2.1.329, observed).

    These are its agents and its local settings, in the place of those of the worktree's top.
    """
    return [role for role in above_roles(tree) if role.kind == "agent" or role.scope == "local"]


def above_roles(tree: Tree) -> list[Role]:
    """Return what *tree* holds, ``.claude`` of a folder above that is in no checkout."""
    folder = "" if tree.root is None else tree.root.parent.as_posix()
    return _roles(_Placed(tree, f"{folder}/{FOLDER}"), folder)


def managed_roles(tree: Tree) -> list[Role]:
    """Return what is read of the folder of an administrator, e.g. ``/etc/claude-code``."""
    placed = _Placed(tree, _MANAGED)
    roles = [role for role in _roles(placed, _MANAGED) if role.kind != "settings"]
    refused = {problem.path for problem in placed.problems()}
    # What a later part says counts before what an earlier one does, or the file itself.
    for path in sorted(placed.named(), key=lambda path: (path != _WHOLE, path), reverse=True):
        name = path.removeprefix(f"{_MANAGED}/")
        folder, _, part = name.rpartition("/")
        in_parts = folder == "managed-settings.d" and not part.startswith(".")
        unread = path in refused and path in (_MANAGED, f"{_MANAGED}/managed-settings.d")
        if path == _WHOLE or (in_parts and name.endswith(".json")) or unread:
            roles.append(_read_role(placed, path, "settings", "managed"))
    return roles


def _roles(tree: Tree, root: str) -> list[Role]:
    found = [each for each in discover(tree) if each.root == root]
    return [
        evolve(role, above=True, beside=True)
        for each in found
        for role in each.files
        if not role.assumed and not role.above
    ]
