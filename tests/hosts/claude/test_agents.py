"""What agents of Claude Code 2.1.329 were observed to have and to do below one another."""

from __future__ import annotations

from contextlib import suppress
from typing import Final

import pytest

from policy.core import values
from policy.core.decision import Reason
from policy.core.effect import Effect
from policy.core.source import Source
from policy.files.trees import Memory
from policy.hosts.claude.front_end import ClaudeOptions, load
from policy.tables.chain import Chain, SpawnDenied


def _chained(modes: tuple[str, ...], options: ClaudeOptions, settings: str = "") -> Chain:
    """Return the chain of agents of these modes, one below the other."""
    names = [f"a{number}" for number, _ in enumerate(modes)]
    files = {
        f".claude/agents/{name}.md": f"---\nname: {name}\ndescription: d\npermissionMode: {mode}\n---\n"
        for name, mode in zip(names, modes, strict=True)
    }
    if settings:
        files[".claude/settings.json"] = settings
    (project,) = load(Memory(files), options)
    chain = Chain.start("main", project.enforced)
    for name in names:
        chain = chain.spawn(name)
    return chain


def _told(chain: Chain, tool: str, call: dict[str, object]) -> str:
    decision = chain.decide(tool, call)
    judged = decision.reason is Reason.CLASSIFIER and decision.effect is Effect.ASK
    return "judged" if judged else str(decision.effect)


_MAKE: Final = ("Bash", {"command": "make"})
_EDIT_A: Final = ("Edit", {"file_path": "/srv/app/a"})
_NO_MODEL: Final = Source("<user>", '{"permissions": {"disableAutoMode": "disable"}}')


@pytest.mark.parametrize(
    ("root", "below", "judged", "command", "edit"),
    [
        ("default", ("plan",), True, "ask", "ask"),
        ("dontAsk", ("plan",), True, "ask", "ask"),
        ("plan", ("default",), True, "judged", "ask"),
        ("plan", ("default",), False, "ask", "ask"),
        ("plan", ("dontAsk",), True, "judged", "deny"),
        ("plan", ("dontAsk",), False, "deny", "deny"),
        ("plan", ("dontAsk", "default"), False, "deny", "deny"),
        ("plan", ("dontAsk", "acceptEdits"), False, "deny", "deny"),
        ("plan", ("dontAsk", "default", "plan"), False, "deny", "deny"),
        ("default", ("plan", "acceptEdits"), True, "ask", "ask"),
        ("default", ("plan", "auto"), True, "ask", "ask"),
        ("default", ("plan", "dontAsk"), True, "deny", "deny"),
        ("default", ("dontAsk", "plan"), False, "ask", "ask"),
        ("dontAsk", ("default",), False, "ask", "ask"),
        ("dontAsk", ("acceptEdits", "plan"), False, "ask", "allow"),
    ],
)
def test_a_plan_holds_for_all_below_it_and_only_that_of_a_session_is_judged(
    root: str, below: tuple[str, ...], judged: bool, command: str, edit: str
) -> None:
    options = ClaudeOptions(mode=root, cwd="/srv/app", user=None if judged else _NO_MODEL)
    chain = _chained(below, options)
    assert (_told(chain, *_MAKE), _told(chain, *_EDIT_A)) == (command, edit)


def test_what_a_rule_asks_is_denied_below_an_agent_that_does_not_ask_though_a_model_judges() -> (
    None
):
    settings = '{"permissions": {"ask": ["Bash(make)"]}}'
    options = ClaudeOptions(mode="plan", cwd="/srv/app")
    assert _told(_chained(("default",), options, settings), *_MAKE) == "ask"
    for modes in (("dontAsk",), ("dontAsk", "default"), ("default", "dontAsk")):
        assert _told(_chained(modes, options, settings), *_MAKE) == "deny"
        assert _told(_chained(modes, options, settings), "Bash", {"command": "npm x"}) == "judged"
    silent = values.evolve(options, user=_NO_MODEL)
    assert _told(_chained(("dontAsk",), silent, settings), *_MAKE) == "deny"


def _pool(front: str) -> set[str]:
    """Return which of a few tools an agent of this front matter has."""
    text = f"---\nname: a\ndescription: d\n{front}\n---\n"
    (project,) = load(Memory({".claude/agents/a.md": text}), ClaudeOptions(cwd="/srv/app"))
    try:
        chain = Chain.start("main", project.enforced).spawn("a")
    except SpawnDenied:
        return set()
    calls = {
        "Bash": {"command": "ls"},
        **{name: {"file_path": "/srv/app/a"} for name in ("Read", "Edit", "Write")},
    }
    return {
        tool
        for tool, call in calls.items()
        if chain.decide(tool, call).reason is not Reason.UNAVAILABLE
    }


@pytest.mark.parametrize(
    ("front", "tools"),
    [
        ("memory: project\ntools: Grep", {"Read", "Edit", "Write"}),
        ("memory: project\ntools: Grep\ndisallowedTools: Read", {"Edit", "Write"}),
        ("memory: project\ndisallowedTools: Edit, Write", {"Bash", "Read"}),
        ("tools: Read\tBash", set()),
        ("tools: |\n  Read\n  Bash", set()),
        ("tools: |\n  Read,\n  Bash", {"Read", "Bash"}),
        ('tools: "Read\\tBash"', set()),
        ("tools: Read  ,  Bash", {"Read", "Bash"}),
        ("tools:\n  - Read\n  -", {"Read"}),
        ("disallowedTools: Read\tBash", {"Read", "Bash", "Edit", "Write"}),
        ("disallowedTools:\n  - Read\n  -", {"Bash", "Edit", "Write"}),
    ],
)
def test_lists_are_cut_at_commas_and_spaces_and_a_memory_gives_back_nothing(
    front: str, tools: set[str]
) -> None:
    assert _pool(front) == tools


@pytest.mark.parametrize("name", ["settings.json", "settings.local.json"])
def test_settings_name_the_agent_that_a_session_is_started_as(name: str) -> None:
    files = {
        f".claude/{name}": '{"agent": "a"}',
        ".claude/agents/a.md": "---\nname: a\ndescription: d\ntools: Read\n---\n",
    }
    (project,) = load(Memory(files))
    decision = Chain.start("main", project.enforced).decide("Bash", {"command": "ls"})
    assert decision.reason is Reason.UNAVAILABLE


def test_a_fork_may_not_start_a_fork() -> None:
    (project,) = load(Memory({".claude/agents/a.md": "---\nname: a\ndescription: d\n---\n"}))
    chain = Chain.start("main", project.enforced).spawn("a")
    call: dict[str, object] = {"subagent_type": "fork"}
    assert chain.decide("Agent", call).effect is Effect.ALLOW
    assert chain.spawn("fork").decide("Agent", call).effect is Effect.DENY


def test_a_tool_that_is_lacking_is_lacking_where_the_user_is_never_asked_too() -> None:
    (project,) = load(
        Memory({".claude/agents/a.md": "---\nname: a\ndescription: d\n---\n"}),
        ClaudeOptions(mode="dontAsk"),
    )
    decision = Chain.start("main", project.enforced).spawn("a").decide("AskUserQuestion", {})
    assert decision.reason is Reason.UNAVAILABLE


# --- what holds whatever else is said ---------------------------------------------------


def _main(settings: str, options: ClaudeOptions) -> Chain:
    (project,) = load(Memory({".claude/settings.json": settings}), options)
    return Chain.start("main", project.enforced)


@pytest.mark.parametrize("mode", ["default", "bypassPermissions", "dontAsk"])
def test_reads_that_are_kept_inside_are_denied_whatever_asks_for_them(mode: str) -> None:
    settings = """{"permissions": {
        "blockReadsOutsideWorkingDirectories": true, "ask": ["Read(//opt/**)", "Read(a)"]}}"""
    chain = _main(settings, ClaudeOptions(mode=mode, cwd="/srv/app"))
    assert chain.decide("Read", {"file_path": "/opt/x"}).effect is Effect.DENY
    asked = Effect.DENY if mode == "dontAsk" else Effect.ASK
    assert chain.decide("Read", {"file_path": "/srv/app/a"}).effect is asked
    assert chain.decide("Read", {"file_path": "/srv/app/b"}).effect is Effect.ALLOW


@pytest.mark.parametrize(
    ("value", "locked"),
    [("true", True), ('"no"', True), ("1", True), ("false", False), ("null", False)],
)
def test_a_lock_that_is_neither_false_nor_null_is_on(value: str, locked: bool) -> None:
    managed = Source("<managed>", f'{{"allowManagedPermissionRulesOnly": {value}}}')
    chain = _main('{"permissions": {"allow": ["Bash(make)"]}}', ClaudeOptions(managed=managed))
    assert chain.decide(*_MAKE).effect is (Effect.ASK if locked else Effect.ALLOW)


@pytest.mark.parametrize(
    ("scope", "rule", "told"),
    [
        ("command_line", "Read", "ask"),
        ("command_line", "Read()", "ask"),
        ("command_line", "Read(**)", "deny"),
        ("user", "Read", "deny"),
        ("managed", "Read", "deny"),
    ],
)
def test_a_flag_that_takes_reading_away_leaves_writing(scope: str, rule: str, told: str) -> None:
    given = Source("<given>", f'{{"permissions": {{"deny": ["{rule}"]}}}}')
    chain = _main("{}", ClaudeOptions(cwd="/srv/app", **{scope: given}))  # type: ignore[arg-type]
    assert _told(chain, "Write", {"file_path": "/srv/app/new.txt"}) == told
    assert chain.decide("Read", {"file_path": "/srv/app/a"}).effect is Effect.DENY


@pytest.mark.parametrize(
    ("tools", "started", "effect"),
    [
        ("Agent(worker), Read", "worker", Effect.ALLOW),
        ("Agent(worker), Read", "other", Effect.DENY),
        ("Agent(worker), Read", "Explore", Effect.DENY),
        ("Agent(worker), Read", "fork", Effect.DENY),
        ("Agent, Read", "other", Effect.ALLOW),
        ("Agent(*), Read", "other", Effect.ALLOW),
    ],
)
@pytest.mark.parametrize("chain", [(), ("worker",), ("worker", "worker")])
@pytest.mark.parametrize("flag", [True, False])
def test_the_types_of_the_agent_of_a_session_count_for_every_agent(
    tools: str, started: str, effect: Effect, chain: tuple[str, ...], *, flag: bool
) -> None:
    front = "---\nname: {}\ndescription: d\ntools: {}\n---\n"
    files = {
        f".claude/agents/{name}.md": front.format(name, listed)
        for name, listed in (("m", tools), ("worker", "Agent(Explore), Read"), ("other", "Read"))
    }
    (project,) = load(Memory(files), ClaudeOptions(main_agent="m" if flag else ""))
    found = Chain.start("main" if flag else "m", project.enforced)
    for agent in chain:
        found = found.spawn(agent)
    assert found.decide("Agent", {"subagent_type": started}).effect is effect


@pytest.mark.parametrize(
    ("chain", "background", "effect"),
    [
        (("a",), None, Effect.DENY),
        (("a", "a"), None, Effect.ALLOW),
        (("a", "a", "a"), None, Effect.ALLOW),
        (("a", "a"), True, Effect.DENY),
        (("a",), False, Effect.ALLOW),
    ],
)
def test_only_the_main_conversation_starts_agents_in_the_background_by_default(
    chain: tuple[str, ...], background: bool | None, effect: Effect
) -> None:
    files = {".claude/agents/a.md": "---\nname: a\ndescription: d\n---\n"}
    (project,) = load(Memory(files), ClaudeOptions(background=background))
    found = Chain.start("main", project.enforced)
    for agent in chain:
        found = found.spawn(agent)
    assert found.decide("CronList", {}).effect is effect


@pytest.mark.parametrize(
    ("tools", "taken"),
    [
        ("Bash", "Bash"),  # the program starts it where all of the list are tools, taken as a whole
        ("Bash, Nope", "Bash"),
        ("Nope", "Bash"),
        ("Bash", "Bash(git *)"),
        ("Task", "Agent"),
        ("mcp__git", "mcp__git__log"),
    ],
)
def test_an_agent_whose_tools_are_all_taken_away_does_not_start(tools: str, taken: str) -> None:
    front = f"tools: {tools}\ndisallowedTools: {taken}"
    text = f"---\nname: a\ndescription: d\n{front}\n---\n"
    (project,) = load(
        Memory({".claude/agents/a.md": text}),
        ClaudeOptions(cwd="/srv/app", servers={"git": ("log",)}),
    )
    with pytest.raises(SpawnDenied):
        Chain.start("main", project.enforced).spawn("a")


_GROUP = "[{matcher: Bash, hooks: [{type: command, command: x}]}]"


@pytest.mark.parametrize(
    ("front", "is_there"),
    [
        ("hooks: {PreToolUse: %s}" % _GROUP, True),  # noqa: UP031  # braces
        ("hooks: ''", True),
        ("hooks: {PreToolUse: null}", True),
        ("hooks: {PreToolUse: []}", True),
        ("hooks: {Stop: x}", True),
        ("hooks: {other: x}", True),
        ("hooks: {preToolUse: %s}" % _GROUP, True),  # noqa: UP031
        ("PreToolUse: []", True),
        ("metadata: {PreToolUse: x}", True),
        ("hooks: []", False),
        ("hooks: x", False),
        ("hooks: true", False),
        ("hooks: {PreToolUse: x}", False),
        ("hooks: {PreToolUse: [{matcher: Bash}]}", False),
        ("hooks: {PreToolUse: [{hooks: [{type: command}]}]}", False),
        ("hooks: {other: {PreToolUse: [x]}}", False),
        ("hooks: {matcher: Bash, hooks: [{type: command, command: x}]}", False),
        ("PreToolUse: x", False),
        ("guards: {PermissionRequest: [x]}", False),
    ],
)
def test_an_agent_whose_guards_cannot_be_loaded_is_not_there(front, is_there) -> None:
    text = f"---\nname: a\ndescription: d\n{front}\n---\n"
    (found,) = load(Memory({".claude/agents/a.md": text}))

    assert ("a" in found.agents) is is_there
    assert ("bad-front-matter" in {each.code for each in found.findings}) is not is_there


def test_an_agent_of_a_file_is_no_fork_whatever_its_name_is() -> None:
    files = {".claude/agents/fork.md": "---\nname: fork\ndescription: d\ntools: Read\n---\n"}
    (project,) = load(Memory(files))
    chain = Chain.start("main", project.enforced).spawn("fork")

    assert chain.decide("Bash", {"command": "ls"}).reason is Reason.UNAVAILABLE
    assert chain.decide("Read", {"file_path": "a"}).effect is Effect.ALLOW


def test_an_agent_that_would_have_no_tool_on_the_last_level_is_not_started_there() -> None:
    # On the third level nobody starts others, and `ann` has nothing else.
    files = {
        f".claude/agents/{name}.md": f"---\nname: {name}\ndescription: works\ntools: {tools}\n---\nWork.\n"
        for name, tools in (("ann", "Agent"), ("bob", "Agent, Bash"))
    }
    (project,) = load(Memory(files))
    chain = Chain.start("main", project.enforced)
    for effect in (Effect.ALLOW, Effect.ALLOW, Effect.DENY):
        decision = chain.decide("Agent", {"subagent_type": "ann", "prompt": "", "description": ""})
        assert (decision.effect, decision.reason is Reason.NO_TOOLS) == (
            effect,
            effect is Effect.DENY,
        )
        started = []
        with suppress(SpawnDenied):
            started.append(chain.spawn("ann"))
        assert bool(started) is (effect is Effect.ALLOW)
        chain = chain.spawn("bob")
