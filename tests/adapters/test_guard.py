"""What every adapter relies on, without any library."""

from __future__ import annotations

import asyncio
import contextvars
import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pytest

import policy
from policy.adapters import CallDenied, Guard, Verdict
from policy.adapters.guard import Seals
from policy.analysis.records.record import Recorder
from policy.core.effect import Effect
from policy.core.errors import PolicyError
from policy.tables.chain import Chain
from tests.adapters import Broken
from tests.adapters.conftest import STARTS


def test_a_denied_call_does_not_run_and_its_message_names_the_rule_and_what_remains(
    guard: Guard,
) -> None:
    ran: list[str] = []

    with pytest.raises(CallDenied) as denied:
        guard.call("shell", {"command": "rm x"}, lambda: ran.append("rm"))

    assert str(denied.value) == (
        "This call of `shell` is denied: rule `Bash(rm *)` of `main`."
        " Of this tool, allowed `Bash(ls *)`."
    )
    assert guard.call("shell", {"command": "ls x"}, lambda: "listed") == "listed"
    assert not ran


def test_of_a_command_that_does_several_things_the_model_is_told_which_are_denied(
    guard: Guard,
) -> None:
    verdict = guard.check("shell", {"command": "ls x && make all > y; rm x"})
    assert verdict.message == (
        "This call of `shell` is denied: rule `Bash(rm *)` of `main`, since it runs `rm x`."
        " Of this tool, allowed `Bash(ls *)`."
    )
    verdict = guard.check("shell", {"command": "ls x && make all > y"})
    assert verdict.message == (
        "This call of `shell` is denied: no rule grants it, since it runs `make all` and writes"
        " `y`. Of this tool, allowed `Bash(ls *)`."
    )


def test_a_denied_tool_is_answered_with_the_tools_that_remain_by_the_names_of_the_runtime(
    guard: Guard,
) -> None:
    verdict = guard.check("erase", {})

    assert verdict.effect is Effect.DENY
    assert verdict.message == (
        "This call of `erase` is denied: no rule grants it."
        " Tools that may be called: `Task`, `ask_explorer`, `look`, `send`, `shell`."
    )


def test_agents_with_the_same_rules_are_told_their_own_names(tmp_path: Path) -> None:
    rules = "{ allow Bash(ls *)\ndeny Bash(rm *) }\n"
    text = f"root main\nagent main {{ allow *, Task }}\nagent one {rules}agent two {rules}"
    (tmp_path / "x.policy").write_text(text)
    workspace = policy.load(tmp_path)
    both = Guard(workspace.chain("main"), starts={"ask_one": "one", "ask_two": "two"})

    for name in ("one", "two"):
        guard = both.agent(name)
        verdict = both.call(f"ask_{name}", {}, partial(guard.check, "Bash", {"command": "rm x"}))
        assert f"of `{name}`" in verdict.message


def test_a_message_shows_no_credential_of_a_rule(tmp_path: Path) -> None:
    rules = "allow Bash(API_KEY=a1b2c3d4e5f6 make)\ndeny Bash(PGPASSWORD=hunter2xy psql *)"
    (tmp_path / "t.policy").write_text(f"root m\nagent m {{\n{rules}\n}}\n")
    guard = Guard(policy.load(tmp_path).chain("m"))
    message = guard.check("Bash", {"command": "PGPASSWORD=hunter2xy psql -h db"}).message
    assert "PGPASSWORD=********* psql *" in message
    assert "a1b2c3d4e5f6" not in message


def test_a_message_shows_no_hidden_character_of_a_rule(tmp_path: Path) -> None:
    (tmp_path / "x.policy").write_text(
        "root main\nagent main { deny Bash(rm \u202e*)\nallow Bash }\n"
    )
    hidden = Guard(policy.load(tmp_path).chain("main"))

    assert "\\u202e" in hidden.check("Bash", {"command": "rm \u202ex"}).message
    assert "\u202e" not in hidden.check("Bash", {"command": "rm \u202ex"}).message


def test_an_asked_call_runs_when_a_person_says_yes_and_on_no_other_answer(guard: Guard) -> None:
    ran: list[str] = []

    def call(**options: object) -> None:
        guard.call("send", {"to": "bob"}, lambda: ran.append("sent"), **options)

    for answer in (False, None, 1, "yes"):
        with pytest.raises(CallDenied, match="not approved"):
            call(ask=lambda verdict, answer=answer: answer)
    with pytest.raises(CallDenied, match="not approved"):
        call()
    assert not ran
    questions: list[Verdict] = []
    call(ask=lambda verdict: questions.append(verdict) or True)
    assert ran == ["sent"]
    assert questions[0].message == (
        'Allow `send` with {"to": "bob"}? It is asked for: rule `send` of `main`.'
    )


def test_a_failure_while_asking_is_raised_and_the_call_does_not_run(guard: Guard) -> None:
    def interrupted(verdict: Verdict) -> bool:
        raise KeyError("interrupted")

    ran: list[str] = []
    with pytest.raises(KeyError):
        guard.call("send", {"to": "bob"}, lambda: ran.append("sent"), ask=interrupted)
    assert not ran


def test_an_exception_in_the_checker_denies_and_offers_nothing() -> None:
    broken = Guard(Broken())

    assert broken.check("look", {}).effect is Effect.DENY
    assert broken.agent("explore").check("look", {}).effect is Effect.DENY
    assert broken.offered(["look"]) == []
    with pytest.raises(CallDenied, match="could not be asked"):
        broken.call("look", {}, lambda: None)


def test_arguments_that_are_none_deny(guard: Guard) -> None:
    for arguments in (None, "ls x", ["ls"], 7):
        assert guard.check("shell", arguments).effect is Effect.DENY


def test_a_tool_is_offered_where_some_call_of_it_can_be_allowed(guard: Guard) -> None:
    tools = ["look", "send", "erase", "shell", "ask_explore", "ask_careful", "ask_nobody"]

    assert guard.offered(tools) == ["look", "send", "shell", "ask_explore", "ask_careful"]


def test_a_tool_of_which_two_links_grant_different_calls_is_not_offered(tmp_path: Path) -> None:
    text = (
        "root main\nagent main { allow Bash(git *), look, Task(child) }\n"
        "agent child { allow Bash(ls *), look }\n"
    )
    (tmp_path / "x.policy").write_text(text)
    child = Guard(policy.load(tmp_path).chain("main", "child"))

    assert child.offered(["Bash", "look"]) == ["look"]
    assert Guard(policy.load(tmp_path).chain("main")).offered(["Bash"]) == ["Bash"]


def test_an_agent_that_a_tool_starts_has_the_narrower_chain(guard: Guard) -> None:
    explore = guard.agent("explore")

    def inside() -> list[Effect]:
        calls = [
            ("look", {}),
            ("shell", {"command": "ls x"}),
            ("shell", {"command": "cat x"}),
            ("send", {"to": "x"}),
            ("ask_explore", {}),
        ]
        return [explore.check(tool, arguments).effect for tool, arguments in calls]

    # `cat` is granted to explore, and not to main; `send` is asked for of main alone.
    assert guard.call("ask_explore", {}, inside) == [Effect.ALLOW] * 2 + [Effect.DENY] * 3


def test_an_agent_whose_own_policy_allows_all_gains_nothing(guard: Guard) -> None:
    careless = guard.agent("careless")

    def inside() -> list[Effect]:
        calls = [("erase", {}), ("shell", {"command": "rm x"}), ("look", {})]
        return [careless.check(tool, arguments).effect for tool, arguments in calls]

    assert guard.call("ask_careless", {}, inside) == [Effect.DENY] * 3


def test_an_agent_that_was_not_started_is_denied(guard: Guard) -> None:
    verdict = guard.agent("explore").check("look", {})

    assert (verdict.effect, verdict.message) == (
        Effect.DENY,
        "The agent `explore` may not be started here.",
    )
    assert guard.agent("explore").offered(["look"]) == []


def test_an_agent_that_has_to_be_asked_for_does_not_start_by_the_way(guard: Guard) -> None:
    careful = guard.agent("careful")

    def look() -> Effect:
        return careful.check("look", {}).effect

    assert guard.call("look", {}, look) is Effect.DENY
    assert guard.call("ask_careful", {}, look, ask=lambda verdict: True) is Effect.ALLOW


def test_an_agent_started_within_an_agent_is_below_it(guard: Guard) -> None:
    explore, careless = guard.agent("explore"), guard.agent("careless")

    def second() -> str:
        return careless.check("look", {}).message

    # explore may start nobody, though main may start careless.
    told = guard.call("ask_explore", {}, lambda: explore.call("look", {}, second))
    assert told == "The agent `careless` may not be started here."


def test_calls_at_once_keep_their_chains_in_tasks(guard: Guard) -> None:
    explore, careless = guard.agent("explore"), guard.agent("careless")

    async def run() -> list[Effect]:
        barrier = asyncio.Barrier(20)

        async def agent(tool: str, one: Guard) -> Effect:
            async def inside() -> Effect:
                await barrier.wait()  # all of them run now
                return (await asyncio.to_thread(one.check, "look", {})).effect

            return await guard.acall(tool, {}, inside)

        calls = [("ask_explore", explore), ("ask_careless", careless)] * 10
        return await asyncio.gather(*(agent(tool, one) for tool, one in calls))

    assert asyncio.run(run()) == [Effect.ALLOW, Effect.DENY] * 10


def test_a_thread_without_the_context_leads_to_no_agent(guard: Guard) -> None:
    explore = guard.agent("explore")

    def look() -> Effect:
        return explore.check("look", {}).effect

    def inside() -> tuple[Effect, Effect]:
        with ThreadPoolExecutor(1) as pool:
            alone = pool.submit(look).result()
            along = pool.submit(contextvars.copy_context().run, look).result()
        return alone, along

    assert guard.call("ask_explore", {}, inside) == (Effect.DENY, Effect.ALLOW)


def test_two_guarded_programs_do_not_see_each_other(chain: Chain) -> None:
    first, second = Guard(chain, starts=STARTS), Guard(chain, starts=STARTS)

    def inside() -> Effect:
        return second.agent("explore").check("look", {}).effect

    assert first.call("ask_explore", {}, inside) is Effect.DENY


def test_a_seal_is_good_for_one_call_of_one_process() -> None:
    seals = Seals()
    seal = seals.seal("send", {"to": "bob", "text": "x"})

    assert seals.knows(seal, "send", {"text": "x", "to": "bob"})
    assert not seals.knows(seal, "send", {"to": "eve", "text": "x"})
    assert not seals.knows(seal, "drop", {"to": "bob", "text": "x"})
    assert not Seals().knows(seal, "send", {"to": "bob", "text": "x"})
    for other in (None, "", 7, "\ud800", "policy:"):
        assert not seals.knows(other, "send", {})


def test_every_decision_of_a_call_is_recorded(chain: Chain, tmp_path: Path) -> None:
    file = tmp_path / "calls.jsonl"
    one = Guard(chain, names={"shell": "Bash"}, starts=STARTS, recorder=Recorder(file))

    one.check("shell", {"command": "rm x"})
    one.check("send", {"to": "bob"}, recorded=False)
    one.check("ask_nobody", {})
    one.call("ask_explore", {}, lambda: one.agent("explore").check("look", {}))
    one.offered(["look", "ask_careful"])
    one.agent("careful").check("look", {})  # which nobody started
    read = [json.loads(line) for line in file.read_text().splitlines()]
    found = [(r["policy.chain"], r["gen_ai.tool.name"], r["policy.effect"]) for r in read]
    assert found == [
        (["main"], "Bash", "deny"),
        (["main"], "ask_nobody", "deny"),
        (["main"], "Task", "allow"),
        (["main", "explore"], "look", "allow"),
        ([], "look", "deny"),
    ]
    assert read[-1]["gen_ai.agent.name"] == "careful"


def test_a_call_that_cannot_be_recorded_is_denied(chain: Chain, tmp_path: Path) -> None:
    one = Guard(chain, recorder=Recorder(tmp_path))  # a folder

    assert one.check("look", {}).effect is Effect.DENY
    assert one.agent("careful").check("look", {}).effect is Effect.DENY


FILES = """
root main
agent main {
    allow     Edit, Read(src/**)
    deny      Edit(secret/**), Edit(~/.ssh/**)
}
"""


@pytest.fixture
def files(tmp_path: Path) -> Chain:
    (tmp_path / "x.policy").write_text(FILES)
    return policy.load(tmp_path).chain("main")


def test_a_command_opens_the_targets_of_links(tmp_path: Path) -> None:
    (tmp_path / "x.policy").write_text(
        "agent main {\n    allow Bash(echo *), Write(*)\n    deny Write(secret/**)\n}\n"
    )
    (tmp_path / "secret").mkdir()
    (tmp_path / "link").symlink_to("secret")
    one = Guard(policy.load(tmp_path).chain("main"), project=tmp_path)

    found = {
        name: one.check("Bash", {"command": f"echo x > {name}"}).effect
        for name in ("a", "secret/a", "link/a")
    }
    assert found == {"a": Effect.ALLOW, "secret/a": Effect.DENY, "link/a": Effect.DENY}


def test_rules_about_files_know_the_absolute_names_of_this_machine(
    files: Chain, tmp_path: Path
) -> None:
    project, home = tmp_path / "App", tmp_path / "Home"
    project.mkdir()
    (tmp_path / "link").symlink_to(project)
    one = Guard(files, project=tmp_path / "link", home=home)

    for folder in (project, tmp_path / "link"):
        assert one.check("Edit", {"file_path": f"{folder}/secret/key"}).effect is Effect.DENY
        assert one.check("Edit", {"file_path": f"{folder}/x/../Secret/k"}).effect is Effect.DENY
        assert one.check("Edit", {"file_path": f"{folder}/app.py"}).effect is Effect.ALLOW
        assert one.check("Read", {"file_path": f"{folder}/src/app.py"}).effect is Effect.ALLOW
    assert one.check("Edit", {"file_path": f"{home}/.ssh/id"}).effect is Effect.DENY
    assert one.check("Edit", {"file_path": "secret/key"}).effect is Effect.DENY
    assert one.check("Read", {"file_path": "/elsewhere/src/app.py"}).effect is Effect.DENY


def test_a_path_is_decided_as_the_file_that_it_leads_to_as_well(
    files: Chain, tmp_path: Path
) -> None:
    for folder in ("secret", "src", "notes"):
        (tmp_path / folder).mkdir()
    (tmp_path / "notes/key").symlink_to(tmp_path / "secret/key")
    (tmp_path / "notes/all").symlink_to(tmp_path / "secret", target_is_directory=True)
    (tmp_path / "src/out").symlink_to("/etc", target_is_directory=True)
    (tmp_path / "src/in").symlink_to("app", target_is_directory=True)
    one = Guard(files, project=tmp_path)

    def effect(tool: str, path: str) -> Effect:
        return one.check(tool, {"file_path": path}).effect

    assert effect("Edit", "notes/new") is Effect.ALLOW
    for path in ("notes/key", f"{tmp_path}/notes/key", "notes/all/new", "notes/all/../secret/x"):
        assert effect("Edit", path) is Effect.DENY, path
    # What is granted below `src` is what lies there.
    assert effect("Read", "src/in/x") is Effect.ALLOW
    assert effect("Read", "src/out/passwd") is Effect.DENY


def test_a_missing_library_is_named_with_the_extra_that_brings_it() -> None:
    code = (
        "import sys\n"
        "class Gone:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name.split('.')[0] == 'fastmcp':\n"
        "            raise ModuleNotFoundError(f'No module named {name!r}', name=name)\n"
        "sys.meta_path.insert(0, Gone())\n"
        "import policy.adapters.fastmcp\n"
    )
    ended = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False
    )

    assert ended.returncode == 1
    assert "this adapter needs `fastmcp`, which is not installed" in ended.stderr
    assert "pip install '.[fastmcp]'" in ended.stderr


def test_an_agent_that_the_policy_does_not_have_has_no_guard(chain: Chain) -> None:
    with pytest.raises(PolicyError, match="there is no agent `explorer`"):
        Guard(chain).agent("explorer")
    with pytest.raises(PolicyError, match="there is no agent `explorer`"):
        Guard(chain, starts={"ask": "explorer"})
