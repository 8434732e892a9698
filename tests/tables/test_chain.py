"""Chains: who may start whom, and what that leaves of what they may do."""

from __future__ import annotations

import pytest

from policy.adapters.guard import Guard
from policy.core import values
from policy.core.effect import Effect
from policy.core.errors import PolicyError
from policy.files.trees import Memory
from policy.hosts.workspace import load_tree
from policy.tables.chain import Attenuated, Chain, SpawnDenied, attenuate, known_names
from policy.tables.projects import CompiledProject, Projects, distinguishing_name
from policy.tables.table import Bounds, Table
from tests.strategies import table

ALLOW, ASK, DENY = Effect.ALLOW, Effect.ASK, Effect.DENY


def _with(rules: Table, *, delegate: Table | None = None, bounds: Bounds = Bounds()) -> Table:
    return values.evolve(rules, delegate=delegate.use if delegate else None, bounds=bounds)


def _reading(**tables: Table) -> Attenuated:
    return Attenuated(tables)


def test_the_start_of_an_agent_is_decided_by_what_else_the_call_says() -> None:
    chain = Chain.start("main", _reading(main=table("allow Task(model:haiku)"), worker=table()))
    said = {"model": "haiku", "prompt": "go"}
    assert chain.spawning("worker").effect is DENY
    assert chain.spawning("worker", said).effect is ALLOW
    assert chain.spawning("worker", {"model": "opus"}).effect is DENY
    # What no rule looks at is left out.
    call = {"subagent_type": "worker", "model": "haiku"}
    assert chain.start_call("worker", said) == ("Task", call)


def test_a_chain_grants_what_every_link_grants() -> None:
    reading = _reading(
        main=table("allow Task", "allow Bash(git *)", link="main"),
        worker=table("allow Bash", "allow Read", link="worker"),
    )
    chain = Chain.start("main", reading).spawn("worker")
    assert str(chain) == "main>worker"
    assert chain.decide("Bash", {"command": "git push"}).effect is ALLOW
    assert chain.decide("Bash", {"command": "rm x"}).effect is DENY
    assert chain.decide("Bash", {"command": "rm x"}).links == ("main",)
    assert chain.decide("Read", {"file_path": "a"}).effect is DENY


class _Anywhere:
    """A place in which a table decides as it does without one."""

    def decider(self, table: Table) -> Table:
        return table


def test_chains_of_agents_with_equal_tables_are_equal_wherever_they_are() -> None:
    tables = {"main": table("allow Task"), "worker": table("allow Read")}
    one, other = (Chain.start("main", _reading(**tables), _Anywhere()) for _ in range(2))
    assert one == other == Chain.start("main", _reading(**tables))
    assert one.spawn("worker") == other.spawn("worker") != one
    assert len({one, other, one.spawn("worker")}) == 2
    assert one != Chain.start("main", _reading(main=table("allow Read")))


def test_a_lead_may_hand_on_what_it_may_not_use() -> None:
    lead = _with(table("allow Task", "allow Read"), delegate=table("allow Task", "allow Edit"))
    reading = _reading(lead=lead, writer=table("allow Edit(a)", "allow Read", "allow Task"))
    chain = Chain.start("lead", reading)
    assert chain.decide("Edit", {"file_path": "a"}).effect is DENY
    writer = chain.spawn("writer")
    assert writer.decide("Edit", {"file_path": "a"}).effect is ALLOW
    assert writer.decide("Edit", {"file_path": "b"}).effect is DENY
    assert writer.decide("Read", {"file_path": "a"}).effect is DENY


def test_what_was_not_handed_on_never_comes_back() -> None:
    hands_on_less = _with(table("allow *"), delegate=table("allow Read", "allow Task"))
    reading = _reading(a=hands_on_less, b=table("allow *"), c=table("allow *"))
    last = Chain.start("a", reading).spawn("b").spawn("c")
    assert last.decide("Read", {"file_path": "x"}).effect is ALLOW
    assert last.decide("Bash", {"command": "x"}).effect is DENY


@pytest.mark.parametrize(
    ("rules", "reason"),
    [
        (["allow Task(other)"], "default"),
        (["deny Task(worker)", "allow Task"], "rule"),
    ],
)
def test_an_agent_that_may_not_be_started_is_not(rules: list[str], reason: str) -> None:
    reading = _reading(main=table(*rules, link="main"), worker=table())
    with pytest.raises(SpawnDenied) as denied:
        Chain.start("main", reading).spawn("worker")
    assert denied.value.agent == "worker"
    assert denied.value.link == "main"
    assert denied.value.reason == reason
    assert bool(denied.value.because) == (reason == "rule")


def test_an_agent_that_is_not_there_is_not_started() -> None:
    reading = _reading(main=table("allow Task"))
    with pytest.raises(SpawnDenied, match="no such agent"):
        Chain.start("other", reading)
    with pytest.raises(SpawnDenied, match="no such agent"):
        Chain.start("main", reading).spawn("other")


def test_a_denied_start_names_the_agent_above_that_hands_on_no_right_to_it() -> None:
    lead = _with(table("allow Task(coder)", link="lead"), delegate=table("allow Read", link="lead"))
    coder = table("allow Task(worker)", link="coder")
    reading = _reading(lead=lead, coder=coder, worker=table())
    with pytest.raises(SpawnDenied) as denied:
        Chain.start("lead", reading).spawn("coder").spawn("worker")
    assert str(denied.value) == "`worker` may not be started here: nothing in `lead` grants it"


@pytest.mark.parametrize(
    ("granted", "said"),
    [
        (
            "allow Task(coder)",
            r"nothing in `.*` grants it; there is no agent `codr`, did you mean `coder`\?",
        ),
        ("deny Task", r"deny Task.*; there is no agent `codr`, did you mean `coder`\?"),
        ("allow Task", r"there is no such agent; did you mean `coder`\?"),
    ],
)
def test_a_name_that_no_agent_has_is_said_to_be_one(granted: str, said: str) -> None:
    reading = _reading(lead=table(granted), coder=table())
    with pytest.raises(SpawnDenied, match=said):
        Chain.start("lead", reading).spawn("codr")
    with pytest.raises(SpawnDenied, match="known are `coder`, `lead`"):
        Chain.start("x", reading)


def test_of_many_names_eight_are_said_and_the_others_counted() -> None:
    eight = "known are " + ", ".join(f"`{name}`" for name in "abcdefgh")
    assert known_names("hgfedcba") == eight
    assert known_names("abcdefghi") == f"{eight} and 1 more"


def test_a_child_hands_on_no_more_than_it_says_and_its_parent_hands_on() -> None:
    wide, narrow = table("allow *"), table("allow Read", "allow Task")
    less = table("allow Edit", "allow Read")
    for parent, child, is_same in (
        (wide, _with(wide, delegate=narrow), False),
        (_with(wide, delegate=narrow), wide, True),  # no less than it may use
        (_with(wide, delegate=narrow), _with(wide, delegate=less), False),
        (wide, wide, True),
    ):
        found = attenuate(parent, child)
        assert found.use == (child.use & parent.delegated)
        assert found.delegated == (child.delegated & parent.delegated)
        assert (found.delegate is None) is is_same


def test_the_call_that_starts_an_agent_has_the_arguments_that_grant_most() -> None:
    chain = Chain.start("main", _reading(main=table("allow Task(model:haiku)"), worker=table()))
    tool, call, decision = chain.most_starting("worker")
    assert (tool, call) == ("Task", {"subagent_type": "worker", "model": "haiku"})
    assert decision.effect is ALLOW
    assert chain.spawn("worker").names == ("main", "worker")
    with pytest.raises(SpawnDenied):
        chain.spawn("worker", {"model": "opus"})
    both = table("allow Task(model:haiku)") & table("allow Task(worker)")
    chain = Chain.start("main", _reading(main=both, worker=table()))
    assert chain.most_starting("worker")[1:] == (call, chain.spawning("worker", {"model": "haiku"}))
    asked = table("ask Task(model:a)", "allow Task(model:b)", "deny Task(model:c)")
    chain = Chain.start("main", _reading(main=asked, worker=table()))
    assert chain.most_starting("worker")[1:] == (
        {"subagent_type": "worker", "model": "b"},
        chain.spawning("worker", {"model": "b"}),
    )
    assert Chain.start("main", _reading(main=table("allow Task(x)"))).most_starting("x")[:2] == (
        "Task",
        {"subagent_type": "x"},
    )


def test_what_is_no_name_of_an_agent_is_not_started() -> None:
    chain = Chain.start("a", _reading(a=table("allow Task"), b=table()))
    for agent in (None, 5, ["b"]):
        with pytest.raises(TypeError, match="expected the name of an agent as `agent`, found"):
            chain.spawn(agent)  # type: ignore[arg-type]  # is refused


def test_a_chain_is_shown_with_its_agents_its_reading_and_its_table() -> None:
    chain = Chain.start("a", _reading(a=table("allow Task"), b=table())).spawn("b")
    assert repr(chain) == f"<Chain a>b attenuated {chain.table!r}>"


def test_agents_are_started_and_known_once_each() -> None:
    one, other, aside = table("allow Read"), table("allow Task"), table("allow Edit")
    reading = Attenuated({"a": one, "b": one}, {"a": other, "c": other}, {"d": aside})
    assert reading.agents == ("a", "b", "c")
    assert [reading.start(agent).table for agent in "abcd"] == [other, one, other, aside]
    assert reading.start("a").depth == 0
    assert reading.step(reading.start("c"), "a").table.use == (one.use & other.use)
    with pytest.raises(KeyError):
        reading.start("e")
    assert reading.spawn_call("a") == ("Task", {"subagent_type": "a"})
    called = values.evolve(reading, calls={"a": ("Start", {"name": "a"})})
    assert called.spawn_call("a") == ("Start", {"name": "a"})


def test_who_may_start_nobody_is_told_with_the_link_that_denies() -> None:
    reading = _reading(
        a=_with(
            table("allow Task", link="a"), delegate=table("deny Task(c)", "allow Task", link="a")
        ),
        b=table("allow Task", link="b"),
        c=table(),
    )
    with pytest.raises(SpawnDenied) as denied:
        Chain.start("a", reading).spawn("b").spawn("c")
    assert (denied.value.link, denied.value.reason) == ("a", "rule")
    assert denied.value.decision.effect is DENY
    assert denied.value.decision.links == ("a",)
    limited = Chain.start("x", _reading(x=_with(table("allow Task"), bounds=Bounds(depth=0))))
    with pytest.raises(SpawnDenied) as denied:
        limited.spawn("x")
    assert (denied.value.link, denied.value.reason) == ("x", "depth")
    # Where no rule denies the start, since the host starts agents in another way.
    free = Attenuated({"x": _with(table("allow *"), bounds=Bounds(depth=0))})
    with pytest.raises(SpawnDenied, match="the limit of depth of `x` is reached") as denied:
        Chain.start("x", values.evolve(free, calls={"x": ("Other", {})})).spawn("x")
    assert denied.value.reason == "depth"


def test_who_asks_for_a_start_by_default_is_the_link_that_starts() -> None:
    asking = Chain.start("a", _reading(a=table(default=ASK), b=table()))
    assert asking.spawn("b").links[-1].confirm == ("agent",)
    nameless = Chain.start("a", _reading(a=Table.of(asking.table.use.parts[0].rules), b=table()))
    assert nameless.spawn("b").links[-1].confirm == ("a",)


def test_what_is_no_name_of_an_agent_is_said_to_be_none() -> None:
    files = {"t.policy": "root lead\nagent lead {\n    allow Task(coder)\n}\nagent coder {\n}\n"}
    for given in (None, ["lead", "coder"], b"lead"):
        for names in ((given,), ("lead", given)):
            with pytest.raises(TypeError, match="expected the name of an agent as `names`, found"):
                load_tree(Memory(files)).chain(*names)
    with pytest.raises(PolicyError, match="found an empty chain"):
        load_tree(Memory(files)).chain()
    with pytest.raises(PolicyError, match="there is no reading `both`"):
        load_tree(Memory(files)).chain("lead", reading="both")
    with pytest.raises(TypeError, match=r'expected a chain, .* as `chain`, found `"<Workspace'):
        Guard(load_tree(Memory(files)))  # type: ignore[arg-type]  # is refused
    with pytest.raises(PolicyError, match="no file here says what an agent may do"):
        load_tree(Memory({})).chain("lead")
    for names in ((), ("lead>coder",)):
        with pytest.raises(PolicyError, match=r'each agent from the root on: `chain\("main", "exp'):
            load_tree(Memory(files)).chain(*names)


TWO_HOSTS = {
    ".claude/settings.json": "{}",
    "sub/.claude/settings.json": "{}",
    "t.policy": "root main\nagent main {\n    allow Read\n}\n",
}


def test_an_agent_of_several_projects_is_named_by_its_host_or_folder() -> None:
    team = load_tree(Memory(TWO_HOSTS))
    with pytest.raises(PolicyError, match="`main` stands for 3 agents") as several:
        team.find("main")
    assert "`claude-code@sub:main`" in str(several.value.help)
    with pytest.raises(PolicyError, match="there is no agent `claude-code:x`"):
        team.find("claude-code:x")
    titles = [project.title for project in team.projects]
    assert [team.find(f"{title}:main")[0].title for title in titles] == titles
    assert repr(team).endswith(f": {', '.join(titles)}>")
    (alone,) = load_tree(Memory({"t.policy": TWO_HOSTS["t.policy"]})).projects
    assert distinguishing_name(alone, [alone]) == ""
    assert [distinguishing_name(project, team.projects) for project in team.projects] == [
        project.title if project.host == "claude-code" else project.host
        for project in team.projects
    ]


def _project(host: str, root: str = "", *agents: str) -> CompiledProject:
    declared = _reading(**dict.fromkeys(agents or ("main",), table()))
    return CompiledProject(host, "1", root, tuple(declared.tables), declared)


def test_many_projects_are_told_in_part() -> None:
    several = [_project("h", f"f{number}") for number in range(7)]
    many = Projects("here", tuple(several))
    with pytest.raises(PolicyError, match="`main` stands for 7 agents") as found:
        many.find("main")
    names = ", ".join(f"`h@f{number}:main`" for number in range(6))
    assert found.value.help == f"name one of {names}"
    titles = "h@f0, h@f1, h@f2, h@f3"
    assert repr(many) == f"<Projects here: {titles} and 3 more>"
    assert repr(Projects("here", tuple(several[:5]))) == f"<Projects here: {titles} and 1 more>"
    assert repr(Projects("here", tuple(several[:4]))) == f"<Projects here: {titles}>"
    assert repr(Projects("here", ())) == "<Projects here: no projects>"


def test_an_agent_that_starts_chains_is_meant_before_one_that_does_not() -> None:
    starting = _project("a", "", "main", "worker")
    started = values.evolve(_project("b", "", "main", "worker"), starts=("worker",))
    both = Projects("here", (started, starting))
    assert both.find("main") == (starting, "main")
    assert both.find("b:main") == (started, "main")
    with pytest.raises(PolicyError, match="stands for 2 agents"):
        both.find("worker")
    with pytest.raises(PolicyError, match="did you mean `worker`"):
        both.find("workr")


@pytest.mark.parametrize(
    ("others", "name"),
    [
        ([], ""),
        ([_project("b", "", "other")], ""),
        ([_project("b")], "a"),
        ([_project("b"), _project("a", "sub", "other")], "a@x"),
        ([_project("a", "sub")], "a@x"),
    ],
)
def test_a_project_is_named_where_another_starts_such_an_agent(
    others: list[CompiledProject], name: str
) -> None:
    project = _project("a", "x")
    assert distinguishing_name(project, [project, *others]) == name


def test_a_compiled_project_has_the_reading_that_its_host_enforces() -> None:
    project = _project("h")
    assert project.reading("attenuated") is project.attenuated
    with pytest.raises(PolicyError, match="does not hold what `h` does"):
        project.reading("enforced")
    enforcing = values.evolve(project, enforces=True)
    assert enforcing.reading("enforced").name == "enforced"
    with pytest.raises(KeyError):
        enforcing.reading("both")


def test_who_asks_must_confirm() -> None:
    reading = _reading(
        a=table("ask Task(b)", "allow Task", link="a"),
        b=table("allow Task", link="b"),
        c=table("allow Task", link="c"),
    )
    chain = Chain.start("a", reading).spawn("b").spawn("c")
    assert [link.confirm for link in chain.links] == [(), ("a",), ()]


def test_depth_is_counted_down_and_never_given_back() -> None:
    everything = table("allow *")
    reading = _reading(
        a=_with(everything, bounds=Bounds(depth=2)),
        b=_with(everything, bounds=Bounds(depth=9)),
        c=everything,
    )
    chain = Chain.start("a", reading)
    depths = [chain.table.bounds.depth]
    for agent in ("b", "c"):
        chain = chain.spawn(agent)
        depths.append(chain.table.bounds.depth)
    assert depths == [2, 1, 0]
    with pytest.raises(SpawnDenied) as denied:
        chain.spawn("a")
    assert denied.value.reason == "depth"
    assert [link.depth for link in chain.links] == [0, 1, 2]


def test_trust_and_turns_only_shrink() -> None:
    parent = Table(bounds=Bounds(turns=5, trust="verified"))
    assert attenuate(parent, Table(bounds=Bounds(turns=9, trust="trusted"))).bounds == Bounds(
        turns=5, trust="verified"
    )
    assert attenuate(parent, Table(bounds=Bounds(turns=2, trust="blocked"))).bounds == Bounds(
        turns=2, trust="blocked"
    )


def test_links_that_say_the_same_cost_one_rule_set() -> None:
    reading = Attenuated({name: table("allow *", link=name) for name in "abcdefgh"})
    chain = Chain.start("a", reading)
    for name in "bcdefgh":
        chain = chain.spawn(name)
    (part,) = chain.table.use.parts
    assert part.links == tuple("hgfedcba") or set(part.links) == set("abcdefgh")
