"""Zeph: a case becomes a definition, files or a session, and its query a call of the public API."""

from __future__ import annotations

import json
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from policy.core.effect import Effect
from policy.core.source import Source
from policy.files.json_nodes import read_json
from policy.hosts import zeph
from policy.hosts.fields import Fields, HostError
from policy.hosts.zeph import findings as fences
from policy.hosts.zeph import findings as hooks
from policy.hosts.zeph import loading
from policy.hosts.zeph import session as autonomy
from policy.hosts.zeph import session as enforcer
from policy.hosts.zeph import session as grants
from policy.hosts.zeph import session as scopes
from policy.hosts.zeph import session as trust
from policy.hosts.zeph.definition import (
    MemoryScope,
    PermissionMode,
    SubAgentDef,
    ZephProfile,
    as_derived,
    as_zeph_saves,
    default_template,
    delete_file,
    intersect_allowlists,
    normalize,
    parse,
    save_atomic,
    serialize_to_markdown,
    upstream_text,
)
from policy.hosts.zeph.session import RAW, ZephSession, network_rules
from policy.hosts.zeph.spawning import (
    AgentsConfig,
    DelegationMode,
    Forward,
    SpawnContext,
    SpawnOrigin,
    SpawnRefused,
    SpawnUsage,
    SubAgentManager,
    ZephOptions,
    resume,
    sees,
)
from policy.tables.chain import Chain, SpawnDenied
from policy.tables.table import Table
from tests.conformance.suite import Case

__all__ = ["decide"]

# What a query gets: a word, and the values that come of it, by name or as one.
Answer = tuple[str, Any]


def decide(case: Case) -> tuple[str, str]:
    """Return what *case* must get and what it gets, with the values it names."""
    expected, wanted = str(case["expected"]), case.get("yields")
    try:
        got, found = _ANSWERS[case["query"]["kind"]](case)
    except SpawnRefused as refused:
        got, found = f"error:{refused.error.kind}", upstream_text(refused.error)
    except HostError as error:
        got, found = f"error:{error.kind}", upstream_text(error)
    for text in case.get("error_contains") or _context(case).get("error_contains") or ():
        expected, got = f"{expected} {text}", f"{got} {text if text in str(found) else found}"
    if wanted is None:
        return expected, got
    return f"{expected} {_sorted(wanted)}", f"{got} {_sorted(_chosen(found, wanted))}"


def _chosen(found: Any, wanted: Any) -> Any:
    """Return what *found* says of the names in *wanted*."""
    if not isinstance(wanted, Mapping) or not isinstance(found, Mapping):
        return found
    chosen = {name: found.get(name) for name in wanted}
    if "body_contains" in wanted:
        chosen["body_contains"] = [
            t for t in wanted["body_contains"] if t in found["system_prompt"]
        ]
    return chosen


def _sorted(value: Any) -> str:
    if isinstance(value, Mapping):
        return str({key: value[key] for key in sorted(value)})
    if isinstance(value, list | tuple | set | frozenset):
        return str(sorted(map(str, value)))
    return str(value)


def _context(case: Case) -> Mapping[str, Any]:
    return case.get("context") or {}


def _profile(case: Case) -> ZephProfile:
    return {"issue-970": ZephProfile.ISSUE_970, "zeph-spec": ZephProfile.SPEC}.get(
        case["profile"], ZephProfile.ZEPH
    )


def _is_ideal(case: Case) -> bool:
    return bool(case["profile"] == "ideal")


# --- definitions --------------------------------------------------------------------


def _view(definition: SubAgentDef) -> dict[str, Any]:
    """Return what cases name of a definition."""
    permissions = definition.permissions
    allow, deny = definition.tools.allow, definition.tools.deny
    listed: Any = "InheritAll"
    if allow is not None and deny is not None:
        listed = {"allow": list(allow), "deny": list(deny)}
    elif allow is not None or deny is not None:
        listed = {"DenyList" if allow is None else "AllowList": list(allow or deny or ())}
    return {
        "name": definition.name,
        "description": definition.description,
        "model": definition.model,
        "tools": listed,
        "disallowed_tools": list(definition.disallowed_tools),
        "secrets": list(permissions.secrets),
        "max_turns": permissions.max_turns,
        "background": permissions.background,
        "timeout_secs": permissions.timeout_secs,
        "ttl_secs": permissions.ttl_secs,
        "permission_mode": permissions.permission_mode.value,
        "max_history_messages": permissions.max_history_messages,
        "worktree": permissions.worktree,
        "skills_include": list(definition.skills.include),
        "skills_exclude": list(definition.skills.exclude),
        "hooks_pre": len(definition.hooks.get("PreToolUse", ())),
        "hooks_post": len(definition.hooks.get("PostToolUse", ())),
        "memory": definition.memory.value if definition.memory else None,
        "system_prompt": definition.system_prompt,
        "allowed_spawns": definition.allowed_spawns,
        "source": definition.source,
    }


def _parse(case: Case) -> Answer:
    return "allow", _view(parse(case["definition"], _profile(case)))


def _roundtrip(case: Case) -> Answer:
    definition = parse(case["definition"], _profile(case))
    if "derive" in case["query"]["via"]:
        return "allow", _view(parse(as_derived(definition)))
    if parse(serialize_to_markdown(definition), _profile(case)) != definition:
        return "a definition that differs", None
    # What is asked of is what Zeph itself keeps.
    return "allow", _view(definition if _is_ideal(case) else as_zeph_saves(definition))


def _save(case: Case) -> Answer:
    query = case["query"]
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / query.get("dir", "")
        if query.get("existing"):
            (target / f"{query['name']}.md").write_text("old")
        definition = default_template(query["name"], "A description")
        path = save_atomic(definition, target)
        left = [file.name for file in path.parent.iterdir()]
        if loading.load(path) != definition or left != [path.name]:
            return "another file", left
        return "allow", {"file": path.name}


def _delete(case: Case) -> Answer:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.md"
        if case["query"].get("exists"):
            path.write_text("text")
        delete_file(path)
        return ("deny" if path.exists() else "allow"), None


def _template(case: Case) -> Answer:
    query = case["query"]
    definition = default_template(query.get("name", "a"), query.get("description", "b"))
    return "allow", _view(parse(serialize_to_markdown(definition)))


# --- files ----------------------------------------------------------------------------

_TEXT = "---\nname: linked\ndescription: b\n---\n\nbody\n"


class _Disk:
    """The files of a case below one folder; what is absolute there is below it too."""

    def __init__(self, folder: str, case: Case) -> None:
        self.folder = Path(folder).resolve() / "cwd"
        self.folder.mkdir()
        self.case = case
        for name, content in (_context(case).get("files") or {}).items():
            self._write(name, content)

    def path(self, name: str) -> str:
        """Return where *name* is, as it is written where it is relative."""
        return str(self.folder.parent / "root" / name[1:]) if name.startswith("/") else name

    def paths(self, key: str) -> list[str]:
        """Return the paths that the case has under *key*."""
        return [
            self.path(name) for name in _context(self.case).get(key) or self.case.get(key) or ()
        ]

    def _at(self, name: str) -> Path:
        return self.folder / self.path(name)

    def _write(self, name: str, content: str) -> None:
        link, _, target = name.partition(" -> ")
        file = self._at(link)
        file.parent.mkdir(parents=True, exist_ok=True)
        if target:
            self._link(file, link, target)
        elif content.startswith("<bytes"):
            file.write_bytes(bytes.fromhex(content[6:].strip(" <>")))
        elif content.startswith("<") and content.split()[0][1:].isdigit():
            size = int(content.split()[0][1:])
            file.write_text(_TEXT.replace("body", "x" * (size - len(_TEXT) + 4)))
        else:
            file.write_text(content)

    def _link(self, file: Path, link: str, target: str) -> None:
        if target.startswith((".", "/")):
            real = self._at(target) if target.startswith("/") else file.parent / target
        else:
            real = self._at(target)
        if not real.exists() and f"{target}/" not in str(_context(self.case)["files"]):
            real.parent.mkdir(parents=True, exist_ok=True)
            if real.suffix == ".md":
                real.write_text(_TEXT)
            else:
                real.mkdir()
        file.symlink_to(real)


def _load(case: Case) -> Answer:
    query = case["query"]
    with tempfile.TemporaryDirectory() as folder:
        disk = _Disk(folder, case)
        cli = disk.paths("cli")
        paths = [disk.path(name) for name in query.get("paths", ())]
        if case.get("boundary"):
            files = [f for path in paths for f in sorted((disk.folder / path).iterdir())]
            for file in files:
                loading.load(file, case["boundary"], folder=disk.folder)
            return "allow", None
        missing = [path for path in paths if path.endswith(".md") and path not in cli]
        if missing and not (disk.folder / missing[0]).exists():
            loading.load(missing[0], folder=disk.folder)
        user = _context(case).get("user_dir")
        loaded = loading.load_all_with_sources(
            paths, cli, disk.path(user) if user else user, disk.paths("extra_dirs"),
            folder=disk.folder, profile=_profile(case), strict=_is_ideal(case),
        )  # fmt: skip
    if loaded.errors and not loaded.definitions and "yields" not in case:
        raise loaded.errors[0]
    found: dict[str, Any] = {
        "count": len(loaded.definitions),
        "names": [definition.name for definition in loaded.definitions],
    }
    for definition in loaded.definitions:
        for key, value in _view(definition).items():
            found.setdefault(key, value)
            found[f"{definition.name}.{key}"] = value
    return "allow" if loaded.definitions or not paths or loaded.absent else "deny", found


def _load_single(case: Case) -> Answer:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / Path(case["query"]["path"]).name
        path.write_text(case["definition"] or _TEXT)
        return "allow", _view(loading.load(path))


def _load_hooks(case: Case) -> Answer:
    definition, _ = loading.with_scope(
        parse(case["definition"]), case["query"]["scope"], strict=_is_ideal(case)
    )
    return ("allow" if len(definition.hooks) else "deny"), _view(definition)


def _load_definitions(case: Case) -> Answer:
    context = _context(case)
    mode = context.get("definition_mode", "default")
    text = f"---\nname: a\ndescription: b\npermissions:\n  permission_mode: {mode}\n---\n\nbody\n"
    with tempfile.TemporaryDirectory() as folder:
        home, work = Path(folder) / "home", Path(folder) / "work"
        work.mkdir()
        paths = [name.replace("~", str(home), 1) for name in context["dirs"]]
        for path in paths:
            (work / path).mkdir(parents=True)
        (work / paths[0] / "a.md").write_text(text)
        if context.get("api", "").endswith("with_sources"):
            loaded = loading.load_all_with_sources(paths, folder=work)
        else:
            loaded = loading.load_definitions(paths, folder=work, home=home)
    return ("allow" if loaded.definitions else "deny"), {"count": len(loaded.definitions)}


def _scope(case: Case) -> Answer:
    context = _context(case)
    label = loading.scope_label(
        case["query"]["path"],
        context.get("cli") or (),
        context.get("user_dir"),
        context.get("extra_dirs") or (),
    )
    return "allow", label


def _resolve(case: Case) -> Answer:
    context = _context(case)
    with tempfile.TemporaryDirectory() as folder:
        disk = _Disk(folder, case)
        given = [*(context.get("cli") or ()), *(context.get("extra") or ()), context.get("user")]
        for name in filter(None, given):
            if "missing" not in name:
                (disk.folder / disk.path(name)).mkdir(parents=True, exist_ok=True)
        user = context.get("user", "")
        paths = loading.resolve_paths(
            disk.paths("cli"), disk.path(user) if user else user, disk.paths("extra"),
            folder=disk.folder, home=Path("/home/user"),
        )  # fmt: skip
        root = str(disk.folder.parent / "root")
        return "allow", [str(path).removeprefix(root) for path in paths]


# --- agents ---------------------------------------------------------------------------


def _options(case: Case) -> ZephOptions:
    context = _context(case)
    given, root = context.get("config") or {}, context.get("root_context") or {}
    config = AgentsConfig(
        **{key: value for key, value in given.items() if key in _AS_GIVEN},
        delegation_mode=DelegationMode(
            context.get("delegation_mode") or given.get("delegation_mode") or "proactive"
        ),
        default_permission_mode=_member(PermissionMode, given.get("default_permission_mode")),
        default_disallowed_tools=tuple(given.get("default_disallowed_tools") or ()),
        default_memory_scope=_member(MemoryScope, given.get("default_memory_scope")),
        worktree_manager=bool(context.get("worktree_manager")),
        bg_isolation=context.get("bg_isolation") or "worktree",
        max_concurrent=context.get("max_concurrent", given.get("max_concurrent", 5)),
    )
    return ZephOptions(
        _profile(case),
        config,
        SpawnContext(
            max_trust_level=_member(trust.TrustLevel, root.get("max_trust_level")),
            inherited_tool_allowlist=root.get("inherited_tool_allowlist"),
            network_denied=bool(root.get("network_denied", context.get("network_denied"))),
            spawn_depth=context.get("spawn_depth", root.get("spawn_depth", 0)),
            origin=SpawnOrigin(context.get("origin") or root.get("origin") or "autonomous"),
        ),
        SpawnUsage(context.get("spawned", 0), context.get("active", 0), context.get("reserved", 0)),
        _FORWARD[root.get("forward")],
    )


# Whatever is not named otherwise is what the agent has left.
_FORWARD: Mapping[Any, Forward | None] = defaultdict(
    lambda: Forward.EFFECTIVE,
    {None: None, "none": Forward.NOTHING, "copy_received": Forward.RECEIVED},
)
_AS_GIVEN = {"enabled", "max_spawns_per_session", "max_spawn_depth", "allow_bypass_permissions"}


def _member(kind: Any, value: Any) -> Any:
    return None if value is None else kind(value)


def _definitions(case: Case) -> dict[str, SubAgentDef]:
    chain = case.get("chain") or []
    texts = [link["definition"] for link in chain] or [case["definition"]]
    found = [parse(text, _profile(case)) for text in texts if text is not None]
    return {definition.name: definition for definition in found}


def _chain(case: Case) -> Chain:
    definitions, options = _definitions(case), _options(case)
    project = zeph.project(definitions, options)
    reading = project.attenuated if _is_ideal(case) else project.enforced
    chain = Chain.start(zeph.MAIN, reading)
    for name in [link["name"] for link in case.get("chain") or ()] or definitions:
        chain = chain.spawn(name)
    return chain


def _spawn(case: Case) -> Answer:
    name, options = case["query"]["name"], _options(case)
    definitions = _definitions(case)
    chain = case.get("chain") or []
    if chain or options.profile is ZephProfile.ISSUE_970 or _speaks_of_spawns(definitions):
        definitions.setdefault(name, default_template(name, "started"))
        project = zeph.project(definitions, options)
        reading = project.attenuated if _is_ideal(case) else project.enforced
        parents = Chain.start(zeph.MAIN, reading)
        for parent in [link["name"] for link in chain] or [next(iter(definitions))]:
            parents = parents.spawn(parent)
        try:
            parents.spawn(name)
        except SpawnRefused:
            raise
        except SpawnDenied as denied:
            return "error:SpawnDenied", f"{denied} {denied.agent}"
        return "allow", None
    manager = SubAgentManager(definitions, options.config, options.usage)
    if _context(case).get("via") == "resume":
        manager.check_resume(name, options.context)
    else:
        manager.check_spawn(name, options.context)
    return "allow", None


def _speaks_of_spawns(definitions: Mapping[str, SubAgentDef]) -> bool:
    return any("Task" in (each.text.text if each.text else "") for each in definitions.values())


def _catalog(case: Case) -> Answer:
    table = _without_plan(case)
    universe = case["query"]["universe"]
    left = [tool for tool in universe if table(tool) is Effect.ALLOW]
    return "allow", left


def _without_plan(case: Case) -> Callable[[str], Effect]:
    # A plan still shows its tools; only calls of them are denied.
    text = (case.get("definition") or "").replace(
        "permission_mode: plan", "permission_mode: default"
    )
    chain = _chain({**case, "definition": text or None})
    return lambda tool: chain.decide(normalize(tool), {}).effect


def _skill(case: Case) -> Answer:
    definition = parse(case["definition"], _profile(case))
    return ("allow" if sees(definition.skills, case["query"]["name"]) else "deny"), None


# --- calls ----------------------------------------------------------------------------


def _tool(case: Case) -> Answer:
    """Return the strictest answer of whatever the case sets up."""
    context, query = _context(case), case["query"]
    answers = [gate(case) for key, gate in _GATES.items() if key in context]
    if case.get("definition") or case.get("chain"):
        call = query.get("params") or ({"command": query["input"]} if "input" in query else {})
        if context.get("via") == "resume":
            answers.append(_resumed(case))
        else:
            answers.append(_chain(case).decide(normalize(query["name"]), call).effect)
    elif context.get("network_denied"):
        table = Table.of(network_rules(RAW))
        answers.append(table.decide(query["name"], query.get("params") or {}).effect)
    return _word(min(answers))


def _resumed(case: Case) -> Effect:
    options, definitions = _options(case), _definitions(case)
    name = next(iter(definitions))
    given = options.context if "root_context" in _context(case) else None
    link = resume(definitions, options, name, given)
    return link.table.decide(normalize(case["query"]["name"]), {}).effect


def _word(effect: Effect) -> Answer:
    return {Effect.ASK: "error:ConfirmationRequired"}.get(effect, effect.value), None


def _policy(case: Case) -> autonomy.SessionPermissions | None:
    context = _context(case)
    rules = context.get("rules")
    if "blocked" in context or "confirm" in context:
        return autonomy.SessionPermissions.from_legacy(
            context.get("blocked") or (), context.get("confirm") or ()
        )
    if "autonomy" not in context and not isinstance(rules, Mapping):
        return None
    return autonomy.SessionPermissions(
        autonomy.Autonomy(context.get("autonomy", "supervised")),
        {
            tool: [autonomy.SessionRule(text, Effect(effect)) for text, effect in listed]
            for tool, listed in (rules or {}).items()
        },
    )


def _input(case: Case) -> dict[str, Any]:
    query = case["query"]
    argument = RAW.argument(query["name"])
    field = argument.fields[0] if argument.fields else "input"
    return query.get("params") or {field: query.get("input", "")}


def _by_autonomy(case: Case) -> Effect:
    policy, query = _policy(case), case["query"]
    assert policy is not None
    if "effective_trust" in _context(case):
        return Effect.ALLOW  # the gate asks it
    return policy.check(query["name"], next(iter(_input(case).values()))).effect


def _by_trust(case: Case) -> Effect:
    context, query = _context(case), case["query"]
    session = ZephSession(
        policy=None if query.get("confirmed") else _policy(case),
        trust=trust.TrustLevel(context["effective_trust"]),
        servers=tuple(context.get("mcp_tool_ids") or ()),
    )
    project = zeph.project({}, ZephOptions(session=session))
    return Chain.start(zeph.MAIN, project.enforced).decide(query["name"], _input(case)).effect


def _by_rules(case: Case) -> Effect:
    context, query = _context(case), case["query"]
    if not isinstance(context["rules"], list):
        return Effect.ALLOW
    values = {"rules": context["rules"], "default_effect": context.get("default_effect", "deny")}
    rules = enforcer.PolicyEnforcer.of(*rules_of(values))
    level = trust.TrustLevel(context.get("trust", "trusted"))
    params = query.get("params") or {}
    return rules.decide(query["name"], params, level, _env(case)).effect


def rules_of(values: Mapping[str, object]) -> tuple[tuple[enforcer.PolicyRule, ...], Effect]:
    """Return the ``rules`` of a policy and its ``default_effect``."""
    source = Source("<policy>", json.dumps(values, ensure_ascii=False))
    root = Fields.read(lambda: read_json(source), "FileParse")
    found = enforcer.rules_at(root)
    root.check()
    return found


def _env(case: Case) -> list[str]:
    env = _context(case).get("env") or case["query"].get("env") or ()
    return list(env)


def _by_grants(case: Case) -> Effect:
    context, name = _context(case), case["query"]["name"]
    ended = name in grants.PermissionGrants(tuple(_records(context))).ended
    found = Effect.DENY if ended else Effect.ALLOW
    static = (v for k, v in context.items() if k.startswith("static") or k.endswith("policy"))
    return min([found, *(_static(said, name) for said in static)])


def _static(said: str | Mapping[str, Any], name: str) -> Effect:
    """Return what a policy says of a tool: a word, or lists of tools under words."""
    if isinstance(said, str):
        return Effect(said)
    lists = {key[:4].lower(): value for key, value in said.items()}
    denied = name in lists.get("deny", ()) or name not in lists.get("allo", [name])
    return Effect.DENY if denied else Effect.ALLOW


def _records(context: Mapping[str, Any]) -> Iterator[tuple[str, bool]]:
    """Yield the grants of a case; a state that is not one in force ends the grant."""
    for name, state, *_ in context.get("grants") or ():
        yield name, state in ("active", "granted", "fresh")


def _by_scope(case: Case) -> Effect:
    context = _context(case)
    patterns = context.get("scope") or context.get("patterns") or ()
    scope = scopes.ToolScope.of(patterns, context["registry"])
    return Effect.ALLOW if scope.holds(case["query"]["name"]) else Effect.DENY


_GATES: dict[str, Callable[[Case], Effect]] = {
    "autonomy": _by_autonomy,
    "blocked": _by_autonomy,
    "confirm": _by_autonomy,
    "effective_trust": _by_trust,
    "rules": _by_rules,
    "grants": _by_grants,
    "registry": _by_scope,
}


# --- the rest of a session --------------------------------------------------------------


def _allowlist(case: Case) -> Answer:
    policy = _policy(case)
    assert policy is not None
    return "allow", policy.effective_tool_allowlist(case["query"]["universe"])


def _intersect(case: Case) -> Answer:
    query = case["query"]
    return "allow", intersect_allowlists(query["a"], query["b"], exactly=not _is_ideal(case))


def _compile(case: Case) -> Answer:
    query = case["query"]
    if "policy_file" in query:
        return _policy_file(query["policy_file"])
    rule: dict[str, Any] = {"effect": "deny", "tool": query.get("tool", "shell")}
    for key in ("paths", "args_match"):
        if key in query:
            rule[key] = query[key]
    if "args_match_len" in query:
        rule["args_match"] = "x" * query["args_match_len"]
    rules = query.get("rules", 1)
    listed = rules if isinstance(rules, list) else [rule] * rules
    compiled = enforcer.PolicyEnforcer.of(*rules_of({"rules": listed}))
    return "allow", len(compiled.rules)


def _policy_file(what: str) -> Answer:
    with tempfile.TemporaryDirectory() as folder:
        inside, outside = Path(folder) / "cwd", Path(folder) / "outside.toml"
        inside.mkdir()
        file = inside / "policy.toml"
        text = "default_effect = 'deny'\n"
        if "outside" in what:
            outside.write_text(text)
            file.symlink_to(outside)
        elif "KiB" in what or "large" in what or "bytes" in what:
            file.write_text("#" * (256 * 1024 + 1))
        elif "invalid" in what or "malformed" in what:
            file.write_text("[")
        elif "missing" not in what:
            file.write_text(text)
        enforcer.PolicyEnforcer.of(enforcer.read_policy_file("policy.toml", inside))
    return "allow", None


def _scope_compile(case: Case) -> Answer:
    query = case["query"]
    general = bool(query.get("general") or query.get("is_general_scope"))
    scope = scopes.ToolScope.of(query["patterns"], query["registry"], general=general)
    return "allow", scope.tools


def _fenced(case: Case) -> Answer:
    query = case["query"]
    tag = fences.blocked_fence(query["text"], [query["registered_tag"]])
    return ("deny" if tag is not None else "allow"), fences.COMMAND


def _hook_match(case: Case) -> Answer:
    query = case["query"]
    fires = hooks.matches(query["matcher"], query["tool"]) if "matcher" in query else True
    fires = fires and hooks.condition_holds(query.get("if"), query["tool"])
    return ("allow" if fires else "deny"), None


def _order(case: Case) -> Answer:
    places = [hooks.STEPS.index(step) for step in case["query"]["of"]]
    return ("allow" if places == sorted(places) else "deny"), None


def _secret(case: Case) -> Answer:
    context, name = _context(case), case["query"]["name"]
    listed = context.get("secrets") or ()
    # What was approved is the first of those listed, unless the case says which.
    approved = context.get("approved")
    keys = listed[:1] if approved is True else approved or ()
    if "grants" in context:
        ended = grants.PermissionGrants(tuple(_records(context))).ended
        keys = [key for key, _ in _records(context) if key not in ended]
    if context.get("expired"):
        keys = ()
    grants.check_secret(name, listed, keys, background=bool(context.get("background")))
    return "allow", None


def _trust(case: Case) -> Answer:
    query = case["query"]
    own, cap = trust.TrustLevel(query["own"]), _member(trust.TrustLevel, query["cap"])
    return "allow", trust.effective_trust(own, cap).value


def _parent_trust(case: Case) -> Answer:
    skills = _context(case).get("active_skills") or case["query"].get("active_skills") or ()
    return "allow", trust.fold(map(trust.TrustLevel, skills)).value


def _trust_default(case: Case) -> Answer:
    return "allow", trust.DEFAULT_TRUST.value


_ANSWERS: dict[str, Callable[[Case], Answer]] = {
    "catalog": _catalog,
    "compile": _compile,
    "delete": _delete,
    "effective_allowlist": _allowlist,
    "fenced": _fenced,
    "hook_match": _hook_match,
    "intersect": _intersect,
    "load": _load,
    "load_definitions": _load_definitions,
    "load_hooks": _load_hooks,
    "load_single": _load_single,
    "order": _order,
    "parent_trust": _parent_trust,
    "parse": _parse,
    "resolve_paths": _resolve,
    "roundtrip": _roundtrip,
    "save": _save,
    "scope": _scope,
    "scope_compile": _scope_compile,
    "secret": _secret,
    "skill": _skill,
    "spawn": _spawn,
    "template": _template,
    "tool": _tool,
    "trust": _trust,
    "trust_default": _trust_default,
}
