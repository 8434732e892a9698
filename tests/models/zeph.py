"""What Zeph itself does, and the product does not decide: a reference for tests.

Definitions as Zeph saves and deletes them; the folders and files that its command line names;
lists of tools that are met; policy rules with conditions that tables have not; secrets, skills,
hooks and fenced blocks; agents that go on. The product reads definitions in trees, and denies
where a table cannot state a rule.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import takewhile
from pathlib import Path, PurePath
from typing import Final

from policy.core.effect import Effect
from policy.core.errors import PolicyError
from policy.core.values import evolve
from policy.files.text import decode
from policy.files.writing import write_beside
from policy.hosts.fields import HostError, as_host_errors
from policy.hosts.zeph.definition import (
    DEFINITION_BYTES,
    PermissionMode,
    Permissions,
    SkillFilter,
    SubAgentDef,
    ToolPolicy,
    ZephProfile,
    _written,
    _written_lists,
    header,
    normalize,
    serialize_to_markdown,
    upstream_text,
    validate_name,
)
from policy.hosts.zeph.loading import PROJECT, USER, Loaded, _parse_file
from policy.hosts.zeph.session import (
    FILE_BYTES,
    RAW,
    Autonomy,
    PolicyEnforcer,
    PolicyRule,
    SessionPermissions,
    SessionRule,
    TrustLevel,
    glob,
    read_rules,
)
from policy.hosts.zeph.spawning import SpawnContext, SpawnOrigin, ZephOptions, check_globs
from policy.tables.dialect import BLANKS
from policy.tables.table import Table

# Kind of error that only this module raises -> how Zeph prints it.
_PRINTED: Final = {
    "Io": "I/O error at {file}: {message}",
    "String": "{message}",
    "FileLoad": "failed to load policy file {file}: {message}",
    "FileTooLarge": "{message}: {file}",
    "FileEscapesRoot": "{message}: {file}",
}


def printed(error: HostError) -> str:
    """Return the text that Zeph prints for *error*."""
    if error.kind in _PRINTED:
        return _PRINTED[error.kind].format(file=error.file, message=error.message)
    return upstream_text(error)


def _why(error: OSError) -> str:
    return str(error.strerror or error).lower()


# --- definitions that are written


def as_derived(definition: SubAgentDef) -> str:
    """Return *definition* as Zeph's derived serializer writes it, which no reader accepts."""
    keys = header(definition)
    tools = definition.tools
    listed: object = "InheritAll"
    if tools != ToolPolicy():
        tag = "Both" if tools.is_both else "DenyList" if tools.allow is None else "AllowList"
        listed = {tag: dict(_written_lists(definition))}
    keys |= {"tools": listed, "disallowed_tools": list(definition.disallowed_tools)}
    lines = (f"{key}: {_written(value)}" for key, value in keys.items())
    return "\n".join(["---", *lines, "---", ""])


def as_zeph_saves(definition: SubAgentDef) -> SubAgentDef:
    """Return *definition* as it is after Zeph has saved and read it.

    Zeph never writes the length of the history, nor permissions of which only `worktree` is set.
    """
    usual = Permissions()
    saved = evolve(definition.permissions, max_history_messages=usual.max_history_messages)
    if evolve(saved, worktree=usual.worktree) == usual:
        saved = usual
    return evolve(definition, permissions=saved)


def save_atomic(definition: SubAgentDef, folder: str | Path) -> Path:
    """Write *definition* to ``<folder>/<name>.md`` atomically; return it. Raises HostError."""
    validate_name(definition.name)
    target = Path(folder) / f"{definition.name}.md"
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        written = write_beside(target, serialize_to_markdown(definition).encode(), 0o600)
        try:
            written.replace(target)
        finally:
            written.unlink(missing_ok=True)
    except OSError as error:
        raise _failed(target, error) from None
    return target


def delete_file(path: str | Path) -> None:
    """Remove the file of a definition. Raises HostError: of kind ``Io``."""
    try:
        Path(path).unlink()
    except OSError as error:
        raise _failed(Path(path), error) from None


def _failed(path: Path, error: OSError) -> HostError:
    return HostError("Io", _why(error), file=str(path))


# --- definitions that the command line and the disk hold

Named = str | PurePath


def scope_label(
    path: Named,
    cli: Iterable[Named] = (),
    user_dir: Named | None = None,
    extra_dirs: Iterable[Named] = (),
) -> str:
    """Return the scope of a file, by the start of its path as written."""
    folders = {"cli": cli, "project": (PROJECT,), "user": (user_dir,), "extra": extra_dirs}
    for scope, named in folders.items():
        if any(folder and PurePath(path).is_relative_to(folder) for folder in named):
            return scope
    return "unknown"


def resolve_paths(
    cli: Sequence[Named] = (),
    user_dir: Named | None = None,
    extra_dirs: Sequence[Named] = (),
    *,
    folder: Path = Path(),
    home: Path | None = None,
) -> tuple[Path, ...]:
    """Return the folders of definitions, highest priority first.

    As *user_dir*, None is the default folder and "" is none. Raises HostError for a path of *cli*
    that does not exist.
    """
    for given in cli:
        if not (folder / given).exists():
            raise HostError("String", f"--agents path does not exist: {given}")
    users = (home or Path.home()) / USER if user_dir is None else user_dir
    paths = [Path(path) for path in (*cli, PROJECT, users, *extra_dirs) if path != ""]
    # A folder that occurs twice, also through a link, keeps its first place.
    unique = {os.path.realpath(folder / path): path for path in reversed(paths)}
    return tuple(path for path in dict.fromkeys(paths) if path in unique.values())


def load(
    path: Named,
    boundary: Named | None = None,
    *,
    folder: Path = Path(),
    profile: ZephProfile = ZephProfile.ZEPH,
    scope: str | None = None,
) -> SubAgentDef:
    """Return the definition in one file, labelled with its scope.

    With links resolved, the file must be in *boundary*. Raises HostError of kind ``Parse``, or as
    `parse`.
    """
    name, failed = str(path), "cannot resolve path"
    try:
        real = (folder / path).resolve(strict=True)
        failed = "cannot read file"
        if boundary is not None and not real.is_relative_to((folder / boundary).resolve()):
            text = f"definition file escapes allowed directory boundary ({boundary})"
            raise HostError("Parse", text, file=name)
        if real.stat().st_size > DEFINITION_BYTES:
            text = "definition file exceeds maximum size of 256 KiB"
            raise HostError("Parse", text, file=name)
        data = real.read_bytes()
    except OSError as error:
        raise HostError("Parse", f"{failed}: {error.strerror}", file=name) from None
    definition = _parse_file(name, data, profile)
    label = PurePath(path).name
    return evolve(definition, source=f"{scope}/{label}" if scope else label)


def load_named(
    paths: Iterable[Named],
    cli: Sequence[Named] = (),
    user_dir: Named | None = None,
    extra_dirs: Sequence[Named] = (),
    *,
    folder: Path = Path(),
    profile: ZephProfile = ZephProfile.ZEPH,
    strict: bool = False,
) -> Loaded:
    """Return the definitions of *paths*, files and folders, each with the scope of its path.

    If *strict*, as documented: linked folders must be in *folder*, and only definitions of projects
    and of the command line keep hooks. Raises HostError for an unreadable file among *cli*.
    """
    loaded = Loaded()
    named = frozenset(map(PurePath, cli))
    for given in map(Path, paths):
        is_named, boundary, scope = given in named, None, "cli"
        files: Iterable[Path] = [given]
        # Zeph labels every single file as one of the command line.
        if not (folder / given).is_file():
            scope = scope_label(given, cli, user_dir, extra_dirs)
            boundary = folder if strict and scope == "project" else None if is_named else given
            inside = (folder / given).iterdir() if (folder / given).is_dir() else ()
            names = sorted(entry.name for entry in inside if entry.suffix == ".md")
            files = [given / name for name in loaded.cut(str(given), names)]
        for file in files:
            read = partial(load, file, boundary, folder=folder, profile=profile, scope=scope)
            kept = partial(_with_hooks, read, scope) if strict else read
            if is_named:
                loaded.take(kept(), scope)
            else:
                loaded.add(kept, scope)
    return loaded


def _with_hooks(read: Callable[[], SubAgentDef], scope: str) -> SubAgentDef:
    return documented_hooks(read(), scope)


def documented_hooks(definition: SubAgentDef, scope: str | None) -> SubAgentDef:
    """Return *definition* without hooks if its scope must not have any, as documented."""
    return evolve(definition, hooks={}) if scope in {"user", "extra", "unknown"} else definition


def load_definitions(
    paths: Sequence[Named], *, folder: Path = Path(), home: Path | None = None
) -> Loaded:
    """Return the definitions of *paths*; raise HostError for a mode other than ``default``.

    Zeph has this entry point and does not use it. It checks modes only if ``~/.zeph/agents`` is one
    of *paths*, which is not the folder that it loads.
    """
    gate = (home or Path.home()) / ".zeph/agents"
    gated = os.path.realpath(gate)
    loaded = load_named(paths, folder=folder)
    read = {os.path.realpath(folder / path) for path in paths}
    for definition in loaded.by_name.values() if gate.parent.is_dir() and gated in read else ():
        if definition.permissions.permission_mode is not PermissionMode.DEFAULT:
            text = (
                f"sub-agent '{definition.name}': non-default permission_mode is not allowed for"
                " user-level definitions (~/.zeph/agents/)"
            )
            raise HostError("Invalid", text, definition.span("permissions.permission_mode"))
    return loaded


# --- lists of tools that are met


def intersect_allowlists(
    one: Iterable[str] | None, other: Iterable[str] | None, *, exactly: bool = False
) -> frozenset[str] | None:
    """Return the tools that both lists allow; None is no restriction, an empty list no tool.

    If *exactly*, names in another case are dropped, as in Zeph.
    """
    if one is None or other is None:
        given = one if other is None else other
        return None if given is None else frozenset(given)
    if exactly:
        return frozenset(one) & frozenset(other)
    wanted = set(map(normalize, other))
    return frozenset(name for name in one if normalize(name) in wanted)


# --- policy rules


def read_policy_file(path: str | Path, cwd: str | Path) -> tuple[PolicyRule, ...]:
    """Return the rules of a file below *cwd*, links resolved; or raise HostError.

    A ``default_effect`` in it is ignored, since only that of the configuration counts.
    """
    name = str(path)
    try:
        real, root = (Path(cwd) / path).resolve(strict=True), Path(cwd).resolve(strict=True)
        if not real.is_relative_to(root):
            raise HostError("FileEscapesRoot", "policy file escapes project root", file=name)
        if real.stat().st_size > FILE_BYTES:
            raise HostError("FileTooLarge", "policy file too large", file=name)
        return read_rules(decode(name, real.read_bytes()))
    except OSError as error:
        raise HostError("FileLoad", _why(error), file=name) from None
    except PolicyError as error:
        raise as_host_errors(error, "FileParse") from None


# The longest argument that an expression is matched with; longer ones are never allowed.
_TEXT: Final = 4096


def ruled(
    enforcer: PolicyEnforcer,
    tool: str,
    params: Mapping[str, object],
    trust: TrustLevel,
    env: Iterable[str] = (),
) -> Effect:
    """Return the effect of the rules on a call of a caller with *trust* in *env*.

    Deny rules are tried first, then allow rules, in the order written.
    """
    name = tool.strip(BLANKS).lower()
    name, set_here = "shell" if name in {"bash", "sh"} else name, frozenset(env)
    for wanted in (Effect.DENY, Effect.ALLOW):
        for rule in enforcer.rules:
            least = rule.trust_level
            met = (least is None or trust >= least) and set_here.issuperset(rule.env)
            if rule.effect is wanted and met and _matches(rule, name, params):
                return rule.effect
    return enforcer.default


def _matches(rule: PolicyRule, tool: str, params: Mapping[str, object]) -> bool:
    """Return whether the conditions on a call hold."""
    named = rule.tool.strip(BLANKS).lower()
    named = "shell" if named in {"bash", "sh"} else named
    if not any(pattern.matches(tool) for pattern in glob(named)):
        return False
    globs = [pattern for path in rule.paths for pattern in glob(path)]
    if globs and not any(one.matches(path) for one in globs for path in _paths(params)):
        return False
    if rule.args_match is None:
        return True
    texts = [value for value in params.values() if isinstance(value, str)]
    if any(len(text) > _TEXT for text in texts):
        return rule.effect is Effect.DENY
    return any(re.search(rule.args_match, text) for text in texts)


_PATH_KEYS: Final = ("file_path", "path", "uri", "url", "query")
_ABSOLUTE: Final = re.compile(r"/[^\s;|&<>]+")


def _paths(params: Mapping[str, object]) -> Iterator[str]:
    for key in _PATH_KEYS:
        value = params.get(key)
        if isinstance(value, str):
            yield _normal(value)
    command = params.get("command")
    if isinstance(command, str):
        yield from map(_normal, _ABSOLUTE.findall(command))


def _normal(path: str) -> str:
    """Return *path* without ``.``, ``..`` and empty parts; ``..`` never removes the first."""
    is_rooted = path.startswith("/")
    parts: list[str] = []
    for part in path.split("/"):
        if part == "..":
            if len(parts) > (0 if is_rooted else 1):
                parts.pop()
        elif part not in ("", "."):
            parts.append(part)
    return ("/" if is_rooted else "") + "/".join(parts) or path


# --- permissions of a session


def permitted(policy: SessionPermissions, tool: str, text: str) -> Effect:
    """Return what permissions alone say of a call of *tool* with the input *text*.

    Behind the gate, which the product decides, a tool without rules passes; here it is asked for.
    """
    if policy.autonomy is Autonomy.SUPERVISED and not policy.rules.get(tool):
        return Effect.ASK
    argument = RAW.argument(tool)
    field = argument.fields[0] if argument.fields else "input"
    return Table.of(policy.rule_set(RAW)).decide(tool, {field: text}).effect


def effective_tool_allowlist(
    policy: SessionPermissions, universe: Iterable[str]
) -> tuple[str, ...] | None:
    """Return the tools of *universe* that the rules do not deny; None if they deny none.

    A tool is denied if a rule denies every input before any rule allows or asks.
    """
    denied = {normalize(tool) for tool, rules in policy.rules.items() if _denies_all(rules)}
    tools = tuple(universe)
    left = tuple(tool for tool in tools if normalize(tool) not in denied)
    return None if policy.autonomy is not Autonomy.SUPERVISED or left == tools else left


def _denies_all(rules: Iterable[SessionRule]) -> bool:
    in_force = (rule for rule in rules if not rule.problem)
    denials = takewhile(lambda rule: rule.effect is Effect.DENY, in_force)
    return any(rule.text in _CATCH_ALL for rule in denials)


_CATCH_ALL: Final = ("", "*", "**")


# --- secrets, trust, skills, hooks and fenced blocks


def check_secret(
    name: str, listed: Collection[str], approved: Collection[str], *, background: bool = False
) -> None:
    """Raise HostError for a secret that is not listed, or has no active grant."""
    if name not in listed:
        raise HostError("Invalid", f"secret '{name}' is not in permissions.secrets")
    if background:
        raise HostError("Invalid", f"secret '{name}' is denied to an agent in the background")
    if name not in approved:
        raise HostError("Invalid", f"no active grant for secret '{name}'")


# The trust of a skill without one.
DEFAULT_TRUST: Final = TrustLevel.QUARANTINED


def fold(levels: Iterable[TrustLevel]) -> TrustLevel:
    """Return the least trust of the active skills; TRUSTED if there is none."""
    return min(levels, default=TrustLevel.TRUSTED)


def _is_shown_by(pattern: str, name: str) -> bool:
    """Return whether *pattern* matches a skill; only its first ``*`` is a wildcard."""
    prefix, star, suffix = pattern.partition("*")
    if not star:
        return pattern == name
    long_enough = len(name) >= len(prefix) + len(suffix)
    return long_enough and name.startswith(prefix) and name.endswith(suffix)


def sees(skills: SkillFilter, name: str) -> bool:
    """Return whether *skills* shows an agent the skill *name*. Raises as `check_globs`."""
    check_globs(SubAgentDef("a", "b", skills=skills))
    included = not skills.include or any(_is_shown_by(glob, name) for glob in skills.include)
    return included and not any(_is_shown_by(glob, name) for glob in skills.exclude)


def fires(matcher: str, tool: str) -> bool:
    """Return whether *tool* contains one of the texts between ``|``, in exact case."""
    return any(token in tool for token in matcher.split("|") if token)


# What happens to a call of an agent, in order.
STEPS: Final = (
    "tool grant check",
    "PreToolUse hooks",
    "FilteredToolExecutor",
    "PostToolUse hooks",
    "secret masking",
)

# No list applies to a call that an agent writes as a fenced block; it is refused by this name.
COMMAND: Final = "fenced-block"


def blocked_fence(text: str, tags: Iterable[str]) -> str | None:
    """Return the first of *tags* on a closed fence in *text*, or None."""
    # `bashrc` and `bash-x` are other tags than `bash`.
    closed = r"```{}(?![\w-]).*?```"
    return next(
        (tag for tag in tags if re.search(closed.format(re.escape(tag)), text, re.DOTALL)), None
    )


# --- agents that go on


def going_on(
    definitions: Mapping[str, SubAgentDef], options: ZephOptions, context: SpawnContext | None
) -> tuple[dict[str, SubAgentDef], ZephOptions]:
    """Return the definitions and options with which a new agent is one that goes on.

    Its checks are those of an explicit start, without depth and reserved agents. Memory adds no
    tool, and a worktree no denial.
    """
    config = evolve(
        options.config,
        max_spawn_depth=1,
        default_memory_scope=None,
        worktree_manager=False,
    )
    found = {name: evolve(one, memory=None) for name, one in definitions.items()}
    given = evolve(context or SpawnContext(), origin=SpawnOrigin.EXPLICIT, spawn_depth=0)
    usage = evolve(options.usage, reserved=0)
    return found, evolve(options, config=config, context=given, usage=usage)
