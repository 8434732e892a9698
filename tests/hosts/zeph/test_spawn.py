"""Starting agents: rows 2.1 to 2.18, B.3, B.4, B.10 and B.14 to B.18, in the order of the checks."""

from __future__ import annotations

import pytest

from policy.core import values
from policy.core.effect import Effect
from policy.hosts import zeph
from policy.hosts.fields import HostError
from policy.hosts.zeph.definition import (
    MemoryScope,
    PermissionMode,
    Permissions,
    SkillFilter,
    SubAgentDef,
    ToolPolicy,
    ZephProfile,
    intersect_allowlists,
    upstream_text,
)
from policy.hosts.zeph.session import TrustLevel, ZephSession, effective_trust, fold
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
    propagate,
    resume,
)
from policy.tables.chain import Chain, SpawnDenied


def _agent(name: str = "a", tools: ToolPolicy = ToolPolicy(), **fields: object) -> SubAgentDef:
    return SubAgentDef(name, "b", tools=tools, **fields)


def _named(*definitions: SubAgentDef) -> dict[str, SubAgentDef]:
    return {definition.name: definition for definition in definitions}


def _chain(
    *definitions: SubAgentDef, options: ZephOptions = ZephOptions(), reading: str = "enforced"
) -> Chain:
    project = zeph.project(_named(*definitions), options)
    chain = Chain.start(zeph.MAIN, project.reading(reading))
    for definition in definitions:
        chain = chain.spawn(definition.name)
    return chain


def _allows(chain: Chain, tool: str) -> bool:
    return chain.decide(tool, {}).effect is Effect.ALLOW


BAD = _agent(
    permissions=Permissions(permission_mode=PermissionMode.BYPASS_PERMISSIONS),
    skills=SkillFilter(("**",)),
)

# What is wrong, one after the other as it is asked for, and what Zeph says.
CHECKS = [
    (
        "DelegationDenied",
        "delegation denied: mode=Disabled origin=Autonomous agent='a'",
    ),
    ("SessionSpawnLimit", "session spawn limit reached (spawned: 1, max: 1) — raise"),
    ("MaxDepthExceeded", "max spawn depth exceeded (depth: 3, max: 3)"),
    ("NotFound", "agent not found: a"),
    (
        "Invalid",
        "invalid definition: sub-agent 'a' requests bypass_permissions mode but it is not",
    ),
    ("ConcurrencyLimit", "concurrency limit reached (active: 5, max: 5)"),
    ("Invalid", "glob pattern '**' uses '**' which is not supported"),
]


@pytest.mark.parametrize("mended", range(len(CHECKS) + 1))
def test_checks_are_made_in_the_order_of_zeph_and_in_its_words(mended: int) -> None:
    config = AgentsConfig(enabled=mended > 0, max_spawns_per_session=1)
    config = values.evolve(config, allow_bypass_permissions=mended > 4)
    usage = SpawnUsage(0 if mended > 1 else 1, active=3, reserved=2 if mended <= 5 else 0)
    context = SpawnContext(spawn_depth=0 if mended > 2 else 3)
    definitions = _named(BAD if mended < 7 else _agent()) if mended > 3 else {}
    manager = SubAgentManager(definitions, config, usage)
    if mended == len(CHECKS):
        assert manager.check_spawn("a", context).tools == ToolPolicy()
        return
    with pytest.raises(HostError) as caught:
        manager.check_spawn("a", context)
    kind, text = CHECKS[mended]
    assert caught.value.kind == kind
    assert text in upstream_text(caught.value)


@pytest.mark.parametrize("mode", DelegationMode)
@pytest.mark.parametrize("origin", SpawnOrigin)
def test_who_may_delegate(mode: DelegationMode, origin: SpawnOrigin) -> None:
    manager = SubAgentManager(_named(_agent()), AgentsConfig(delegation_mode=mode))
    allowed = mode is DelegationMode.PROACTIVE or (
        mode is DelegationMode.EXPLICIT_REQUEST_ONLY and origin is SpawnOrigin.EXPLICIT
    )
    if allowed:
        manager.check_spawn("a", SpawnContext(origin=origin))
    else:
        with pytest.raises(HostError):
            manager.check_spawn("a", SpawnContext(origin=origin))
    assert SpawnContext().origin is SpawnOrigin.AUTONOMOUS


@pytest.mark.parametrize(
    ("depth", "most", "allowed"), [(0, 3, True), (2, 3, True), (3, 3, False), (0, 0, False)]
)
def test_depth_is_compared_with_its_limit(depth: int, most: int, allowed: bool) -> None:
    manager = SubAgentManager(_named(_agent()), AgentsConfig(max_spawn_depth=most))
    try:
        manager.check_spawn("a", SpawnContext(spawn_depth=depth))
    except HostError as error:
        assert (error.kind, allowed) == ("MaxDepthExceeded", False)
    else:
        assert allowed


def test_a_budget_of_none_is_no_limit() -> None:
    manager = SubAgentManager(
        _named(_agent()), AgentsConfig(max_spawns_per_session=0), SpawnUsage(1000)
    )
    manager.check_spawn("a")


def test_to_go_on_is_not_to_start() -> None:
    definition = _agent(tools=ToolPolicy(("bash",)), memory=MemoryScope.USER,
                        permissions=Permissions(worktree=True))  # fmt: skip
    config = AgentsConfig(max_spawn_depth=0, max_concurrent=4, worktree_manager=True)
    manager = SubAgentManager(_named(definition), config, SpawnUsage(active=3, reserved=1))
    effective = manager.check_resume("a")

    assert (effective.memory, effective.added, effective.disallowed) == (None, (), ())
    narrowed = manager.check_resume("a", SpawnContext(inherited_tool_allowlist=["read"]))
    assert narrowed.tools == ToolPolicy(allow=())
    link = resume(_named(definition), ZephOptions(config=config), "a")
    assert link.table.decide("write", {}).effect is Effect.DENY
    asked = values.evolve(config, delegation_mode=DelegationMode.EXPLICIT_REQUEST_ONLY)
    SubAgentManager(_named(definition), asked).check_resume("a")
    full = values.evolve(config, max_concurrent=3)
    with pytest.raises(HostError) as caught:
        SubAgentManager(_named(definition), full, SpawnUsage(active=3)).check_resume("a")
    assert caught.value.kind == "ConcurrencyLimit"


@pytest.mark.parametrize(
    ("tools", "inherited", "left"),
    [
        (ToolPolicy(("Shell", "Web")), None, ToolPolicy(("Shell", "Web"))),
        (ToolPolicy(("Shell", "Web")), ["shell"], ToolPolicy(("Shell",))),
        (ToolPolicy(), ["b", "a"], ToolPolicy(("a", "b"))),
        (ToolPolicy(deny=("Bash",)), ["bash", "read"], ToolPolicy(("read",))),
        (ToolPolicy(deny=()), [], ToolPolicy(allow=())),
        (ToolPolicy(deny=("*",)), ["read"], ToolPolicy(("read",))),  # a star is a letter there
        (ToolPolicy(), [], ToolPolicy(allow=())),
        (ToolPolicy(("bash",)), ["Bash(git *)"], ToolPolicy(("bash",))),
        (ToolPolicy(("bash",)), ["*"], ToolPolicy(allow=())),
        (ToolPolicy((), ("x",)), ["x", "y"], ToolPolicy(("y",))),
        (ToolPolicy(("x", "y", "z"), ("y",)), ["x", "y"], ToolPolicy(("x",))),
        (ToolPolicy((), ("*",)), ["x"], ToolPolicy(allow=())),
    ],
)
def test_a_list_is_narrowed_by_what_is_inherited(
    tools: ToolPolicy, inherited: list[str] | None, left: ToolPolicy
) -> None:
    assert propagate(tools, inherited) == left


def test_no_list_and_an_empty_list_differ() -> None:
    assert _allows(_chain(_agent()), "read")
    nothing = ZephOptions(context=SpawnContext(inherited_tool_allowlist=[]))
    for reading in ("enforced", "attenuated"):
        assert not _allows(_chain(_agent(), options=nothing, reading=reading), "read")
    assert intersect_allowlists(None, None) is None
    assert intersect_allowlists([], None) == frozenset()
    assert intersect_allowlists(["Read"], ["read"]) == {"Read"}
    assert intersect_allowlists(["Read"], ["read"], exactly=True) == frozenset()


PARENT = _agent("parent", ToolPolicy(("read",)))
CHILD = _agent("child")
INHERITED = SpawnContext(inherited_tool_allowlist=["read", "grep", "bash"])


@pytest.mark.parametrize(
    ("forward", "profile", "left"),
    [
        (Forward.NOTHING, ZephProfile.ZEPH, {"read", "grep", "bash", "write"}),
        (None, ZephProfile.ZEPH, {"read", "grep", "bash", "write"}),
        (Forward.RECEIVED, ZephProfile.ZEPH, {"read", "grep", "bash"}),
        (Forward.EFFECTIVE, ZephProfile.ZEPH, {"read"}),
        (None, ZephProfile.SPEC, {"read"}),
    ],
)
def test_the_parent_decides_what_an_agent_inherits(
    forward: Forward | None, profile: ZephProfile, left: set[str]
) -> None:
    options = ZephOptions(profile, context=INHERITED, forward=forward)
    chain = _chain(PARENT, CHILD, options=options)
    assert {t for t in ("read", "grep", "bash", "write") if _allows(chain, t)} == left
    declared = _chain(PARENT, CHILD, options=options, reading="attenuated")
    assert [t for t in ("read", "grep", "bash", "write") if _allows(declared, t)] == ["read"]


def test_what_a_star_denies_is_not_handed_on_where_it_is_every_tool() -> None:
    options = ZephOptions(ZephProfile.ISSUE_970, forward=Forward.EFFECTIVE)
    parent = _agent("parent", ToolPolicy(("read",), ("*",)))
    assert not _allows(_chain(parent, options=options), "read")
    assert not _allows(_chain(parent, CHILD, options=options), "read")


def test_a_control_is_no_blank_around_a_name() -> None:
    assert _allows(_chain(_agent(tools=ToolPolicy(("\u3000Bash\x85",)))), "bash")
    assert not _allows(_chain(_agent(tools=ToolPolicy(("\x1cbash",)))), "bash")
    assert _allows(_chain(_agent(tools=ToolPolicy(deny=("bash\x1f",)))), "bash")


def test_the_engine_counts_the_depth_where_it_is_handed_on() -> None:
    agents = [_agent(name) for name in "abcd"]
    assert len(_chain(*agents).links) == 5
    for options, reading in (
        (ZephOptions(forward=Forward.EFFECTIVE), "enforced"),
        (ZephOptions(), "attenuated"),
    ):
        with pytest.raises(SpawnDenied) as caught:
            _chain(*agents, options=options, reading=reading)
        assert (caught.value.agent, caught.value.reason) == ("d", "depth")


def test_a_refusal_has_the_error_of_zeph() -> None:
    with pytest.raises(SpawnRefused) as caught:
        _chain(BAD)
    assert (caught.value.agent, caught.value.reason) == ("a", "invalid")
    assert "requests bypass_permissions" in str(caught.value)


def test_a_chain_starts_at_the_session() -> None:
    options = ZephOptions(context=INHERITED)
    project = zeph.project(_named(PARENT, CHILD), options)
    for reading in (project.enforced, project.attenuated):
        assert not _allows(Chain.start("child", reading), "write")
        with pytest.raises(SpawnDenied):
            Chain.start(zeph.MAIN, reading).spawn(zeph.MAIN)
    assert project.starts == (zeph.MAIN,)
    named = zeph.project(_named(_agent(zeph.MAIN, ToolPolicy(allow=()))), ZephOptions())
    assert _allows(Chain.start(zeph.MAIN, named.enforced), "read")
    assert not _allows(Chain.start(zeph.MAIN, named.enforced).spawn(zeph.MAIN), "read")


def test_trust_is_capped_and_never_raised() -> None:
    for own in TrustLevel:
        assert effective_trust(own, None) is own
        for cap in TrustLevel:
            assert effective_trust(own, cap) is min(own, cap)
    assert fold([]) is TrustLevel.TRUSTED
    assert fold([TrustLevel.VERIFIED, TrustLevel.QUARANTINED]) is TrustLevel.QUARANTINED
    cap = ZephOptions(context=SpawnContext(max_trust_level=TrustLevel.QUARANTINED))
    for reading in ("enforced", "attenuated"):
        assert not _allows(_chain(_agent(), options=cap, reading=reading), "bash")
        assert _allows(_chain(_agent(), options=cap, reading=reading), "read")
    # All agents share one gate, so a cap stays even if no agent hands it on.
    assert not _allows(_chain(_agent("a"), _agent("b"), options=cap), "bash")


def test_the_network_stays_denied_where_that_is_handed_on() -> None:
    denied = ZephOptions(context=SpawnContext(network_denied=True), forward=Forward.EFFECTIVE)
    for reading in ("enforced", "attenuated"):
        assert not _allows(
            _chain(_agent("a"), _agent("b"), options=denied, reading=reading), "fetch"
        )
    assert _allows(
        _chain(_agent("a"), _agent("b"), options=values.evolve(denied, forward=None)), "fetch"
    )


def test_what_is_not_a_permission_is_handed_on_too() -> None:
    above = SpawnContext(
        seed_trajectory_score=0.5, content_isolation=frozenset({"quote", "strip"}),
        orchestrator_name="lead\nagent", orchestrator_role="x" * 200, mcp_tool_names=("t",),
        session_mcp_servers=("s",),
    )  # fmt: skip
    below = above.then(allowlist=None, forward=Forward.EFFECTIVE)

    assert (below.spawn_depth, below.seed_trajectory_score) == (1, 0.5)
    assert below.content_isolation == {"quote", "strip"}
    assert len(below.identity) == 128
    assert below.identity.startswith("lead agent (xxx")
    assert SpawnContext(orchestrator_role="role").identity == ""
    assert below.session_mcp_servers == ("s",)
    assert list(above.weakened(below)) == []
    forgotten = above.then(allowlist=None, forward=Forward.NOTHING)
    assert [f.code for f in above.weakened(forgotten)] == ["isolation-weakened"] * 2


def test_an_audit_shows_what_the_session_hands_on() -> None:
    tools = ("mcp__github__create_issue", "mcp__web__get")
    context = SpawnContext(
        mcp_tool_names=tools, session_mcp_servers=("github", "x"), orchestrator_name="planner",
        orchestrator_role="router", content_isolation=frozenset({"quote"}),
    )  # fmt: skip
    names = ("mcp__github__create_isue", "create_issue", *tools)
    agent = _agent(tools=ToolPolicy(deny=names))

    def shown(options: ZephOptions) -> list[tuple[str, str]]:
        found = zeph.project({"a": agent}, options).findings
        return [(f.code, f.help or f.message) for f in found if f.code != "not-handed-down"]

    assert shown(ZephOptions(context=context)) == [
        ("unknown-tool", "did you mean `mcp__github__create_issue`?"),
        ("unknown-tool", "did you mean `mcp__github__create_issue`?"),
        ("server-offers-tools",
         "the server `github` offers tools to agents: `mcp__github__create_issue`"),
        ("server-offers-tools", "the server `x` offers tools to agents: none that is known here"),
        ("told-to-obey", "prompts of agents name the orchestrator `planner (router)`"),
        ("isolation-weakened", "`quote` is not in force for the agents"),
    ]  # fmt: skip
    kept = shown(ZephOptions(ZephProfile.SPEC, context=context))
    assert "isolation-weakened" not in dict(kept)
    # What they are called has no effect on what they may do.
    for reading in ("enforced", "attenuated"):
        chain = _chain(agent, options=ZephOptions(context=context), reading=reading)
        bare = _chain(agent, reading=reading)
        assert all(_allows(chain, t) == _allows(bare, t) for t in (*names, "mcp__a__b", "bash"))


def test_the_default_context_constrains_nothing() -> None:
    context = SpawnContext()
    assert context.max_trust_level is context.inherited_tool_allowlist is None
    assert (context.spawn_depth, context.network_denied) == (0, False)


def test_the_configuration_is_merged_before_anything_is_inherited() -> None:
    config = AgentsConfig(
        default_disallowed_tools=("Web",), default_memory_scope=MemoryScope.PROJECT,
        default_permission_mode=PermissionMode.PLAN,
    )  # fmt: skip
    for reading in ("enforced", "attenuated"):
        options = ZephOptions(config=values.evolve(config, default_permission_mode=None))
        chain = _chain(_agent(tools=ToolPolicy(("web", "bash"))), options=options, reading=reading)
        assert [_allows(chain, tool) for tool in ("web", "bash", "read")] == [False, True, True]
        because = chain.decide("web", {}).because
        assert any("web" in one.rule.lower() for one in because)
        plan = _chain(_agent(), options=ZephOptions(config=config), reading=reading)
        assert not _allows(plan, "read")


@pytest.mark.parametrize(
    ("tools", "disallowed", "allowed"),
    [
        (ToolPolicy(("shell",)), (), True),
        (ToolPolicy(()), (), True),
        (ToolPolicy(("shell",)), ("Write",), False),
        (ToolPolicy(("shell",)), ("read", "WRITE", "edit"), False),
        (ToolPolicy(deny=("read", "write", "edit")), (), False),
        (ToolPolicy(deny=("write",)), (), False),
        (ToolPolicy(), (), True),
    ],
)
def test_a_memory_adds_to_a_list_what_it_needs(
    tools: ToolPolicy, disallowed: tuple[str, ...], allowed: bool
) -> None:
    definition = _agent(tools=tools, disallowed_tools=disallowed, memory=MemoryScope.USER)
    for reading in ("enforced", "attenuated"):
        assert _allows(_chain(definition, reading=reading), "write") is allowed


def test_a_memory_adds_beyond_what_was_inherited_in_zeph_alone() -> None:
    definition = _agent(tools=ToolPolicy(deny=("write",)), memory=MemoryScope.USER)
    options = ZephOptions(context=SpawnContext(inherited_tool_allowlist=["shell"]))
    assert _allows(_chain(definition, options=options), "write")
    assert not _allows(_chain(definition, options=options, reading="attenuated"), "write")


def test_a_worktree_keeps_the_folder_where_there_is_one() -> None:
    definition = _agent(permissions=Permissions(worktree=True))
    for manager, isolation, denied in (
        (True, "worktree", True),
        (True, "none", False),
        (False, "x", False),
    ):
        config = AgentsConfig(worktree_manager=manager, bg_isolation=isolation)
        chain = _chain(definition, options=ZephOptions(config=config))
        assert _allows(chain, "set_working_directory") is not denied


def test_bypass_lifts_no_list() -> None:
    definition = values.evolve(BAD, tools=ToolPolicy(("read",)), skills=SkillFilter())
    options = ZephOptions(config=AgentsConfig(allow_bypass_permissions=True))
    assert not _allows(_chain(definition, options=options), "write")


def test_peers_are_granted_beside_every_list() -> None:
    definition = _agent(tools=ToolPolicy(()), disallowed_tools=("list_peers",))
    with_peers = _chain(definition, options=ZephOptions(session=ZephSession(peers=True)))
    assert _allows(with_peers, "send_peer_message")
    assert not _allows(_chain(definition), "send_peer_message")


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("Parse", "parse error in a.md: m"), ("Invalid", "invalid definition: m"),
        ("NotFound", "agent not found: m"), ("Io", "I/O error at a.md: m"),
        ("Spawn", "spawn failed: m"), ("Cancelled", "cancelled"),
        ("InvalidCommand", "invalid command: m"), ("Transcript", "transcript error: m"),
        ("Integrity", "m"), ("Memory", "memory error for agent m"),
        ("Llm", "LLM call failed: m"), ("Channel", "channel send failed: m"),
        ("TaskPanic", "task panicked: m"), ("WorktreeSetup", "worktree setup failed: m"),
        ("Durable", "durable error: m"), ("FileTooLarge", "m: a.md"),
        ("FileLoad", "failed to load policy file a.md: m"),
    ],
)  # fmt: skip
def test_an_error_is_printed_in_the_words_of_zeph(kind: str, text: str) -> None:
    assert upstream_text(HostError(kind, "m", file="a.md")) == text


def test_an_error_of_a_text_without_a_file_has_the_name_that_zeph_gives_it() -> None:
    assert upstream_text(HostError("Parse", "m")) == "parse error in <unknown>: m"
