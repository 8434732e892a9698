"""Random chains of mixed definitions: what a child may do, and where the readings part."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from policy.core import values
from policy.core.effect import Effect
from policy.hosts import zeph
from policy.hosts.zeph.definition import (
    MemoryScope,
    PermissionMode,
    Permissions,
    SubAgentDef,
    ToolPolicy,
)
from policy.hosts.zeph.session import TrustLevel
from policy.hosts.zeph.spawning import AgentsConfig, Forward, SpawnContext, ZephOptions
from policy.tables.chain import Chain, SpawnDenied

TOOLS = ("read", "write", "bash", "fetch", "mcp__a__b")
CALLS = [
    ("read", {"path": "a"}),
    ("write", {"path": "a"}),
    ("bash", {"command": "git status"}),
    ("bash", {"command": "rm a"}),
    ("fetch", {"url": "https://example.com/"}),
    ("mcp__a__b", {"x": "y"}),
    ("other", {"x": "y"}),
]
PLAIN = st.lists(st.sampled_from(TOOLS), max_size=4).map(tuple)
ODD = st.lists(
    st.sampled_from([*TOOLS, "*", "Bash(git *)", "SHELL", "mcp__a", "Task(b)"]), max_size=4
).map(tuple)


def agents(names: st.SearchStrategy[tuple[str, ...]]) -> st.SearchStrategy[dict[str, SubAgentDef]]:
    """Return three definitions with lists of *names*."""
    lists = st.just(ToolPolicy()) | st.builds(ToolPolicy, names) | st.builds(ToolPolicy, deny=names)
    one = st.builds(
        SubAgentDef, name=st.just("x"), description=st.just("b"), tools=lists, disallowed_tools=names,
        permissions=st.builds(
            Permissions, permission_mode=st.sampled_from([PermissionMode.DEFAULT, PermissionMode.PLAN])
        ),
        memory=st.sampled_from([None, None, MemoryScope.USER]),
    )  # fmt: skip
    return st.tuples(one, one, one).map(
        lambda three: {n: values.evolve(d, name=n) for n, d in zip("abc", three, strict=True)}
    )


CONTEXTS = st.builds(
    SpawnContext,
    max_trust_level=st.none() | st.sampled_from(TrustLevel),
    inherited_tool_allowlist=st.none() | PLAIN,
    network_denied=st.booleans(),
)
CHAINS = st.lists(st.sampled_from("abc"), min_size=1, max_size=3)


def _effects(chain: Chain) -> list[object]:
    return [chain.decide(tool, call).effect for tool, call in CALLS]


@settings(deadline=None)
@given(agents(ODD), CONTEXTS, CHAINS)
def test_a_child_never_gains(definitions: dict, context: SpawnContext, names: list[str]) -> None:
    project = zeph.project(definitions, ZephOptions(context=context))
    chain = Chain.start(zeph.MAIN, project.attenuated)
    for name in names:
        try:
            child = chain.spawn(name)
        except SpawnDenied:
            return
        assert all(b <= a for a, b in zip(_effects(chain), _effects(child), strict=True))
        chain = child


@settings(deadline=None)
@given(agents(PLAIN), CONTEXTS, CHAINS)
def test_plain_lists_that_are_handed_on_are_enforced_as_declared_but_for_known_gaps(
    definitions: dict, context: SpawnContext, names: list[str]
) -> None:
    # No memory, no `except` and no deny list above the last, which are never handed on.
    definitions = {
        name: values.evolve(
            d, memory=None, permissions=Permissions(), disallowed_tools=(),
            tools=ToolPolicy(d.tools.deny) if d.tools.allow is None and d.tools.deny is not None else d.tools,
        )
        for name, d in definitions.items()
    }  # fmt: skip
    options = ZephOptions(
        context=context, forward=Forward.EFFECTIVE, config=AgentsConfig(max_spawn_depth=9)
    )
    project = zeph.project(definitions, options)
    chains = [Chain.start(zeph.MAIN, r) for r in (project.enforced, project.attenuated)]
    for name in names:
        chains = [chain.spawn(name) for chain in chains]
    assert _effects(chains[0]) == _effects(chains[1])


@settings(deadline=None)
@given(agents(PLAIN), st.none() | PLAIN)
def test_one_agent_with_plain_lists_is_enforced_as_declared(
    definitions: dict, inherited: tuple | None
) -> None:
    context = SpawnContext(inherited_tool_allowlist=inherited)
    for name, definition in definitions.items():
        project = zeph.project({name: definition}, ZephOptions(context=context))
        real, declared = (
            Chain.start(zeph.MAIN, reading).spawn(name)
            for reading in (project.enforced, project.attenuated)
        )
        for (tool, _), one, other in zip(CALLS, _effects(real), _effects(declared), strict=True):
            memory = definition.memory is not None and tool in ("read", "write", "edit")
            if not (memory and inherited is not None):
                assert one is other, tool
            else:
                assert one >= other


# --- one agent, as the executor of Zeph decides ---------------------------------------------


def _decides(definition: SubAgentDef, config: AgentsConfig, got: SpawnContext, tool: str) -> bool:
    """Return whether a call of *tool* goes on, step by step."""
    denied = [*map(_id, (*definition.disallowed_tools, *config.default_disallowed_tools))]
    isolated = config.worktree_manager and config.bg_isolation != "none"
    if definition.permissions.worktree and isolated:
        denied.append("set_working_directory")
    tools = definition.tools
    allows: list[str] | None = None
    listed = [_id(name) for name in tools.allow or tools.deny or ()]
    if tools.restricts:
        allows, listed = listed, []
    if got.inherited_tool_allowlist is not None:
        handed = [_id(name) for name in got.inherited_tool_allowlist]
        allows = [name for name in (handed if allows is None else allows) if name in handed]
        # What was a list that denies is one that allows from here on, also for the memory.
        allows, listed = [name for name in allows if name not in listed], []
    files = ("read", "write", "edit")
    is_off = set(files) <= set(denied) or set(files) <= set(listed)
    remembers = definition.memory or config.default_memory_scope
    if remembers and allows is not None and not is_off:
        allows = [*allows, *files]
    mode = definition.permissions.permission_mode
    if mode is PermissionMode.DEFAULT and config.default_permission_mode is not None:
        mode = config.default_permission_mode
    if tool in denied or mode is PermissionMode.PLAN:
        return False
    if got.network_denied and tool in ("fetch", "web_scrape", "web_search"):
        return False
    if got.max_trust_level is TrustLevel.BLOCKED:
        return False
    if got.max_trust_level is TrustLevel.QUARANTINED and tool in ("bash", "write", "edit", "fetch"):
        return False
    return tool in allows if allows is not None else tool not in listed


def _id(name: str) -> str:
    return name.split("(", maxsplit=1)[0].strip().lower()


NAMES = st.lists(
    st.sampled_from(
        ["Bash(git *)", " READ ", "read", "Write", "edit", "*", "shell", "set_working_directory"]
    ),
    max_size=4,
).map(tuple) | st.just(("read", "write", "edit"))
LISTS = st.just(ToolPolicy()) | st.builds(ToolPolicy, NAMES) | st.builds(ToolPolicy, deny=NAMES)
PERMISSIONS = st.builds(
    Permissions,
    permission_mode=st.sampled_from([PermissionMode.DEFAULT, PermissionMode.PLAN]),
    worktree=st.booleans(),
)
MEMORY = st.none() | st.just(MemoryScope.USER)
CONFIGS = st.builds(
    AgentsConfig,
    default_permission_mode=st.none() | st.just(PermissionMode.PLAN),
    default_disallowed_tools=NAMES,
    default_memory_scope=MEMORY,
    worktree_manager=st.booleans(),
    bg_isolation=st.sampled_from(["none", "worktree"]),
)
DEFINITIONS = st.builds(
    SubAgentDef, name=st.just("a"), description=st.just("b"), tools=LISTS,
    disallowed_tools=NAMES, permissions=PERMISSIONS, memory=MEMORY,
)  # fmt: skip
HANDED = st.builds(
    SpawnContext,
    max_trust_level=st.none() | st.sampled_from(TrustLevel),
    inherited_tool_allowlist=st.none() | NAMES,
    network_denied=st.booleans(),
)


@settings(deadline=None)
@given(DEFINITIONS, CONFIGS, HANDED)
def test_the_enforced_table_of_an_agent_is_what_the_executor_does(
    definition: SubAgentDef, config: AgentsConfig, context: SpawnContext
) -> None:
    options = ZephOptions(config=config, context=context)
    chain = Chain.start(zeph.MAIN, zeph.project({"a": definition}, options).enforced).spawn("a")
    for tool in ("bash", "read", "write", "edit", "fetch", "shell", "set_working_directory"):
        goes_on = chain.decide(tool, {}).effect is Effect.ALLOW
        assert goes_on is _decides(definition, config, context, tool), tool
