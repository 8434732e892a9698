"""Which files of a tree are Claude Code's, and to which project each belongs.

Every folder with a ``.claude/`` is a project, every folder with a ``.claude-plugin/plugin.json`` a
plugin. A session has the agents, skills and commands of all folders above too, the nearest of a
name, and the local settings of the top; other settings are those of its own folder (2.1.329,
observed). A tree with neither may hold such files to be copied: then those are projects, with the
reason.
"""

from __future__ import annotations

import os
import posixpath
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import Final

from policy.core import expressions as re
from policy.core import limits
from policy.core.errors import PolicyError
from policy.core.source import Source
from policy.core.values import define, evolve, field, frozen
from policy.files.json_nodes import read_json
from policy.files.nodes import MappingNode, Node, ScalarNode, SequenceNode, describe
from policy.files.opening import StartPlace
from policy.files.trees import Problem, Tree
from policy.hosts.claude.agents import looks_like_agent
from policy.hosts.claude.data.tools import server_name
from policy.hosts.claude.settings import looks_like_settings
from policy.hosts.claude.skills import looks_like_skill
from policy.hosts.fields import value_of

_MANIFEST: Final = ".claude-plugin/plugin.json"


def _command_name(segments: list[str]) -> str:
    """Return the name of the command whose file is at *segments*, e.g. ``web:deploy``."""
    return ":".join(segments).removesuffix(".md")


def _plugin_files(source: Source, texts: list[str]) -> Iterator[tuple[str, str, str]]:
    """Yield path, kind and name of each file of a plugin; of an agent what precedes its name.

    If the manifest, *source*, lists agents or commands, it has no others. Raises `PolicyError`
    where the host does not load it.
    """
    node = read_json(source)
    if not isinstance(node, MappingNode):
        raise PolicyError(f"expected an object, found {describe(node)}", node.span)
    named, version, commands = node.get("name"), node.get("version"), node.get("commands")
    if not isinstance(named, ScalarNode) or not re.fullmatch(r"[^\s:]+", str(named.value)):
        span = node.span if named is None else named.span
        raise PolicyError("expected a name without blanks and colons", span)
    if version and not isinstance(value_of(version), str):
        raise PolicyError(f"expected a string, found {describe(version)}", version.span)
    name, agents = str(named.value), _places(node.get("agents"), ".md")
    entries = commands.entries if isinstance(commands, MappingNode) else ()
    given = {e.name: e.value.get("source") for e in entries if isinstance(e.value, MappingNode)}
    by_source = {_place(source): short for short, source in given.items() if source is not None}
    listed = [] if isinstance(commands, MappingNode) else _places(commands)
    for place in (*_places(node.get("skills")), "skills"):
        yield from ((path, "skill", f"{name}:{short}") for path, short in _skills(place, texts))
    for place in listed:
        yield from ((path, "command", f"{name}:{short}") for path, short in _commands(place, texts))
    for path in texts:
        folder, *rest = path.split("/")
        if path in by_source:
            yield path, "command", f"{name}:{by_source[path]}"
        if folder == "agents" and rest and node.get("agents") is None:
            yield path, "agent", ":".join((name, *rest[:-1]))
        elif folder == "commands" and rest and commands is None:
            yield path, "command", f"{name}:{_command_name(rest)}"
        elif path in agents:
            yield path, "agent", name


def _places(node: Node | None, ending: str = "") -> list[str]:
    if node is None:
        return []
    items = node.items if isinstance(node, SequenceNode) else (node,)
    return [_place(item, ending) for item in items]


def _place(node: Node, ending: str = "") -> str:
    """Return the path of *node* in the plugin; one that leads out of it begins with ``..``."""
    text = value_of(node)
    if not isinstance(text, str) or not text.startswith("./") or not text.endswith(ending):
        wanted = "the file of an agent, `./….md`" if ending else "a path that begins with `./`"
        msg = f"expected {wanted}, found {node.span.text if text else describe(node)}"
        raise PolicyError(msg, node.span)
    place = posixpath.normpath(text)
    return "" if place == "." else place


def _below(place: str, texts: Iterable[str]) -> Iterator[tuple[str, list[str]]]:
    """Yield the files below a place, each with its segments from there."""
    for path in texts:
        if not place or path.startswith(f"{place}/"):
            yield path, path.removeprefix(f"{place}/").split("/")


def _skills(place: str, texts: Collection[str]) -> Iterator[tuple[str, str]]:
    """Yield the skills at a place, which may be a folder of skills, or that of one."""
    for path, segments in _below(place, texts):
        if segments[-1] == "SKILL.md" and len(segments) < 3:
            yield path, path.split("/")[-2] if "/" in path else path


def _commands(place: str, texts: Collection[str]) -> Iterator[tuple[str, str]]:
    """Yield the commands at a place."""
    if place in texts:
        yield place, _command_name(place.split("/")[-1:])
    for path, segments in _below(place, texts):
        is_skill = segments[-1] == "SKILL.md" and len(segments) > 1
        yield path, ":".join(segments[:-1]) if is_skill else _command_name(segments)


FOLDER: Final = ".claude"
_NAMES: Final = {"settings.json": "project", "settings.local.json": "local"}
_FOLDERS: Final = {"agents": "agent", "commands": "command", "skills": "skill"}
# What the program writes into the home folder of a user, and nowhere else.
_OF_HOMES: Final = (
    ".claude.json",
    ".claude/.credentials.json",
    ".claude/history.jsonl",
    ".claude/plugins/installed_plugins.json",
)


@frozen
class Role:
    """What one file is read as."""

    path: str  # relative to the tree
    kind: str  # ``settings``, ``agent``, ``skill`` or ``command``
    scope: str = ""  # of settings; the name of a skill, of a command or of the plugin of an agent
    source: Source | None = field(default=None, repr=False)  # its text, where it was read already
    assumed: str = ""  # why that is a guess, or ""
    error: PolicyError | None = None  # why it cannot be read, or None
    above: bool = False  # whether it is of a folder above the project
    outside: bool = False  # whether it is outside of the tree


@define
class FoundProject:
    """A folder with files of the host, or one in which a session is started."""

    root: str  # its folder
    # In the order of their paths, behind them those of folders above.
    files: list[Role] = field(factory=list)
    # Settings of folders above, which are not in force in it.
    passed: list[Role] = field(factory=list)
    # Why the host does not load plugins in it, or in a folder of no project.
    refused: list[PolicyError] = field(factory=list)
    is_home: bool = False  # whether it is the home folder of a user
    # Names of the MCP servers that ``.mcp.json`` configures, as the host calls them.
    servers: tuple[str, ...] = ()


def discover(tree: Tree, start: str | None = None) -> tuple[FoundProject, ...]:
    """Return every project of *tree*, by folder, and the one of a session started in *start*.

    Settings in the home folder of a user are in force below it as those of the user, and
    in that folder itself as those of a project too.
    """
    paths = set(tree.paths())
    plugins, refused = _plugins(tree, paths)
    found: dict[str, FoundProject] = {}
    roles = tuple(_roles(tree, plugins)) or (tuple(_strays(tree)) if start is None else ())
    for root, role in roles:
        found.setdefault(root, FoundProject(root)).files.append(role)
    if start is not None:
        found.setdefault(start, FoundProject(start))
    for root, error in refused.items():
        at = root if root in found or not found else min(found)
        found.setdefault(at, FoundProject(at)).refused.append(error)
    own_home = os.path.realpath(os.path.expanduser("~"))  # noqa: PTH111  # there may be none
    for root, project in found.items():
        is_own = tree.root is not None and os.path.realpath(tree.root / root) == own_home
        if is_own or any(f"{root}/{name}".lstrip("/") in paths for name in _OF_HOMES):
            settings = [role for role in project.files if _is_of_user(role, root)]
            project.files += (evolve(role, scope="user") for role in settings)
            project.is_home = True
        project.servers = tuple(_servers(tree, f"{root}/.mcp.json".lstrip("/")))
    own = {root: tuple(r for r in each.files if _is_of(r, root)) for root, each in found.items()}
    for root, project in found.items():
        # A session may be started in each folder with such files.
        for above in _above(root) if own[root] or root == start else ():
            is_home = above in found and found[above].is_home
            for role in own.get(above, ()):
                if is_home and _is_of_user(role, above):
                    continue
                is_top_local = not above and role.scope == "local" and not is_home
                holds = role.kind != "settings" or role.scope == "user" or is_top_local
                (project.files if holds else project.passed).append(evolve(role, above=True))
    return tuple(found[root] for root in sorted(found))


def _plugins(
    tree: Tree, paths: Collection[str]
) -> tuple[dict[str, tuple[str, str, str]], dict[str, PolicyError]]:
    """Return root, kind and name of each file of a plugin; and why others are not loaded."""
    files: dict[str, tuple[str, str, str]] = {}
    refused: dict[str, PolicyError] = {}
    for path in sorted(each for each in paths if f"/{each}".endswith(f"/{_MANIFEST}")):
        root = path.removesuffix(_MANIFEST).rstrip("/")
        prefix = f"{root}/" if root else ""
        below = [p[len(prefix) :] for p in paths if p.startswith(prefix) and p.endswith(".md")]
        try:
            source = tree.source(path, limits.AGENT_BYTES)
            for inner, kind, name in _plugin_files(source, sorted(below)):
                files[prefix + inner] = (root, kind, name)
        except PolicyError as error:
            refused[root] = error
    return files, refused


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
        root = root.rpartition("/")[0]
        yield root


def _is_of(role: Role, folder: str) -> bool:
    return f"{role.path}/".startswith(f"{folder}/{FOLDER}/".lstrip("/"))


def _is_of_user(role: Role, root: str) -> bool:
    return role.kind == "settings" and role.scope == "project" and _is_of(role, root)


def _roles(tree: Tree, plugins: dict[str, tuple[str, str, str]]) -> Iterator[tuple[str, Role]]:
    """Yield what the host reads, with the project of each."""
    unread = {problem.path for problem in tree.problems()}
    for path in tree.named():
        segments = path.split("/")
        root = kind = scope = ""
        if path in unread:
            root, kind, scope = _unread_role(segments)
        elif FOLDER in segments[:-1]:
            root, kind, scope = _role_below(segments)
        elif path in plugins:
            root, kind, scope = plugins[path]
        if kind:
            yield root, _read_role(tree, path, kind, scope)


def _role_below(segments: list[str]) -> tuple[str, str, str]:
    """Return the project of a file in ``.claude``, its kind or "", and its scope or name."""
    at = len(segments) - 2 - segments[:-1][::-1].index(FOLDER)
    root = "/".join(segments[:at])
    match segments[at + 1 :]:
        case [name] if name in _NAMES:
            return root, "settings", _NAMES[name]
        case ["agents", *_, name] if name.endswith(".md"):
            return root, "agent", ""
        case ["skills", name, "SKILL.md"]:
            return root, "skill", name
        case ["commands", *names] if names and names[-1].endswith(".md"):
            return root, "command", _command_name(names)
        case _:
            return root, "", ""


def _unread_role(segments: list[str]) -> tuple[str, str, str]:
    """Return the same for a file that cannot be read, such as a link out of the tree."""
    if FOLDER not in segments:
        return "", "", ""
    at = len(segments) - 1 - segments[::-1].index(FOLDER)
    root = "/".join(segments[:at])
    name, *inner = segments[at + 1 :] or ["settings.json"]
    if name in _NAMES and not inner:
        return root, "settings", _NAMES[name]
    kind = _FOLDERS.get(name, "")
    return root, kind, "" if kind == "agent" else segments[-1].removesuffix(".md")


def _read_role(tree: Tree, path: str, kind: str, scope: str, assumed: str = "") -> Role:
    limit = limits.FILE_BYTES if kind == "settings" else limits.AGENT_BYTES
    try:
        return Role(path, kind, scope, tree.source(path, limit), assumed)
    except PolicyError as error:
        return Role(path, kind, scope, None, assumed, error)


# Folders of other hosts, whose agents have front matter of their own; in two of them settings of
# this host are kept too.
_OTHERS: Final = re.compile(
    r"(^|/)(\.(a3s|codex|continue|copilot|cursor|gemini|kiro|opencode|pikuri|qwen|windsurf|zeph)"
    r"|\.config/(zeph|opencode))/"
)
_SHARED: Final = re.compile(r"(^|/)\.(agents|github)/")
_STRAY_SKILL: Final = (
    "the host looks for skills and commands in `.claude/skills`, `.claude/commands` and in plugins"
)


def _strays(tree: Tree) -> Iterator[tuple[str, Role]]:
    """Yield agents, skills and settings in a tree without `.claude`, by what the files hold."""
    files = {path: path.split("/") for path in tree.paths()}
    if any(FOLDER in segments for segments in files.values()):
        return
    for path, segments in files.items():
        if _OTHERS.search(path):
            continue
        if path.endswith(".md") and not _SHARED.search(path):
            skills = tuple(_stray_skill(tree, path, segments))
            yield from skills or _stray_agent(tree, path, segments)
        elif path.endswith(".json"):
            yield from _stray_settings(tree, path)


def _stray_skill(tree: Tree, path: str, segments: list[str]) -> Iterator[tuple[str, Role]]:
    folders = segments[:-1]
    if segments[-1] == "SKILL.md" and folders[-2:-1] == ["skills"]:
        kind, name, at = "skill", folders[-1], len(folders) - 2
    elif "commands" in folders:
        at = len(folders) - 1 - folders[::-1].index("commands")
        kind, name = "command", _command_name(segments[at + 1 :])
    else:
        return
    role = _read_role(tree, path, kind, name, _STRAY_SKILL)
    if role.source is not None and looks_like_skill(role.source):
        yield "/".join(segments[:at]), role


def _stray_agent(tree: Tree, path: str, segments: list[str]) -> Iterator[tuple[str, Role]]:
    if segments[-1] == "SKILL.md":
        return
    assumed = "the host looks for agents in `.claude/agents` and in plugins"
    role = _read_role(tree, path, "agent", "", assumed)
    if role.source is None:
        return
    if "agents" in segments[:-1]:
        if looks_like_agent(role.source):
            yield "/".join(segments[: segments.index("agents")]), role
    elif looks_like_agent(role.source, certainly=True) and not any(
        name.startswith("commands") for name in segments[:-1]
    ):
        yield "", evolve(role, assumed="only its front matter says that it is an agent")


def _stray_settings(tree: Tree, path: str) -> Iterator[tuple[str, Role]]:
    folder, _, name = path.rpartition("/")
    try:
        source = tree.source(path, limits.AGENT_BYTES)
    except PolicyError:
        return
    words = ('"allow"', '"ask"', '"deny"', '"defaultMode"')
    if '"permissions"' not in source.text or not any(word in source.text for word in words):
        return
    try:
        is_settings = looks_like_settings(read_json(source))
    except PolicyError:
        is_settings = name in _NAMES
    if is_settings:
        scope = "managed" if name == "managed-settings.json" else _NAMES.get(name, "project")
        assumed = "the host does not look for settings here"
        role = Role(path, "settings", scope, source, assumed)
        yield folder if name in _NAMES else path, role


# Agents of an administrator come before those of a project, and those of a user behind them; the
# skills of all of them count (2.1.329, observed).

# The names in each folder that are read.
OF_ABOVE: Final = frozenset({"agents", "commands", "skills"})
OF_USERS: Final = OF_ABOVE | {"settings.json"}
OF_ADMINISTRATORS: Final = frozenset({".claude", "managed-settings.d", "managed-settings.json"})


def read_of_main(start: StartPlace) -> frozenset[str]:
    """Return the names read in the main checkout of a linked worktree (2.1.329, observed).

    Its local settings are, but not those of a bare repository; agents, commands and skills are if
    the worktree has no such folder.
    """
    lacking = {name for name in OF_ABOVE if not (start.top / FOLDER / name).exists()}
    is_checkout = start.main is not None and (start.main / ".git").exists()
    return frozenset(lacking | ({"settings.local.json"} if is_checkout else set()))


def read_beside(start: StartPlace) -> tuple[Path, ...]:
    """Return the existing files outside of its checkout that a session reads."""
    folders = [(each, OF_ABOVE) for each in start.above]
    if start.main is not None:
        folders.append((start.main, read_of_main(start)))
    paths = (folder / FOLDER / name for folder, names in folders for name in sorted(names))
    return tuple(path for path in paths if path.exists())


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
    """Return the files that are read in the folder of a user, ``~/.claude``."""
    return [
        evolve(role, scope="user") if role.kind == "settings" else role
        for role in _roles_outside(_Placed(tree, f"~/{FOLDER}"), "~")
        if (role.kind, role.scope) != ("settings", "local")
    ]


def roles_beside(tree: Tree) -> list[Role]:
    """Return the files of *tree*, the ``.claude`` of the main checkout, or of a folder above."""
    folder = "" if tree.root is None else tree.root.parent.as_posix()
    return _roles_outside(_Placed(tree, f"{folder}/{FOLDER}"), folder)


def managed_roles(tree: Tree) -> list[Role]:
    """Return the files that are read in the folder of an administrator, ``/etc/claude-code``."""
    placed = _Placed(tree, _MANAGED)
    roles = [role for role in _roles_outside(placed, _MANAGED) if role.kind != "settings"]
    refused = {problem.path for problem in placed.problems()}
    # A later part counts before an earlier one, and before the file itself.
    for path in sorted(placed.named(), key=lambda path: (path != _WHOLE, path), reverse=True):
        folder, _, part = path.removeprefix(f"{_MANAGED}/").rpartition("/")
        is_part = folder == "managed-settings.d" and part.endswith(".json") and part[0] != "."
        unread = path in refused and path in (_MANAGED, f"{_MANAGED}/managed-settings.d")
        if path == _WHOLE or is_part or unread:
            roles.append(_read_role(placed, path, "settings", "managed"))
    return roles


def _roles_outside(tree: Tree, root: str) -> list[Role]:
    found = [role for each in discover(tree) if each.root == root for role in each.files]
    own = (role for role in found if not (role.assumed or role.above))
    return [evolve(role, above=True, outside=True) for role in own]
