"""Random chains of mixed definitions: what a child may do, and where the readings part."""

from __future__ import annotations

import attrs
from hypothesis import given, settings
from hypothesis import strategies as st

from policy.chain import Chain, SpawnDenied
from policy.hosts import zeph
from policy.hosts.zeph.context import AgentsConfig, Forward, SpawnContext
from policy.hosts.zeph.definition import (
    AllowList,
    DenyList,
    InheritAll,
    MemoryScope,
    PermissionMode,
    Permissions,
    SubAgentDef,
)
from policy.hosts.zeph.options import Options
from policy.hosts.zeph.trust import TrustLevel

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
    lists = st.just(InheritAll()) | st.builds(AllowList, names) | st.builds(DenyList, names)
    one = st.builds(
        SubAgentDef, name=st.just("x"), description=st.just("b"), tools=lists, disallowed_tools=names,
        permissions=st.builds(
            Permissions, permission_mode=st.sampled_from([PermissionMode.DEFAULT, PermissionMode.PLAN])
        ),
        memory=st.sampled_from([None, None, MemoryScope.USER]),
    )  # fmt: skip
    return st.tuples(one, one, one).map(
        lambda three: {n: attrs.evolve(d, name=n) for n, d in zip("abc", three, strict=True)}
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
    project = zeph.project(definitions, Options(context=context))
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
        name: attrs.evolve(
            d, memory=None, permissions=Permissions(), disallowed_tools=(),
            tools=AllowList(d.tools.tools) if isinstance(d.tools, DenyList) else d.tools,
        )
        for name, d in definitions.items()
    }  # fmt: skip
    options = Options(
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
        project = zeph.project({name: definition}, Options(context=context))
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
