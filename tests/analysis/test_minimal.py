"""Rules left out: the result decides alike, and none of what is left can go."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from policy.analysis.formatting import minimal
from policy.core.errors import PolicyError
from policy.files.opening import Memory
from tests.analysis.test_convert import CALLS as HOST_CALLS
from tests.analysis.test_convert import FILES as GENERATED
from tests.analysis.test_convert import all_chains, chain_of, in_words_of, project_of
from tests.effort import examples
from tests.reference import Said, Scope, decide
from tests.strategies import matchers, table

FILE = "a.policy"


def shortest(text: str) -> str:
    return minimal(Memory({FILE: text}), FILE).text


def agent(*rules: str) -> str:
    return "agent a {\n" + "".join(f"    {rule}\n" for rule in rules) + "}\n"


# A small universe, in which every call is tried.
_LETTERS = ["".join(w) for n in range(4) for w in itertools.product("abz", repeat=n)]
CALLS = [
    *(("m__a", {"argument": text}) for text in _LETTERS),
    *(("m__b", {"argument": text}) for text in _LETTERS if len(text) < 3),
    *(("Bash", {"command": text}) for text in [*filter(None, _LETTERS), "a b", "a z", "b a"]),
    ("Read", {"file_path": "a"}),
    ("Glob", {"path": "a"}),
]

# Such as begin as one rule has it, and are known to another by what they run.
WRAPPED = [
    f"{start}{way} {end}" for start in _LETTERS[1:13] for way in ("/sudo", "=7") for end in _LETTERS[1:]
]  # fmt: skip

_pieces = st.lists(st.sampled_from(["a", "b", "*"]), min_size=1, max_size=3).map("".join)
_matchers = st.one_of(
    st.builds("m__a({})".format, _pieces),
    st.builds("Bash({})".format, _pieces),
    st.sampled_from(["m__a", "m__b", "m__*", "*", "Bash", "Bash(a *)", "Read"]),
)
_rules = st.lists(st.tuples(st.sampled_from(["allow", "ask", "deny"]), _matchers), max_size=6)


def _effects(rules: list[tuple[str, str]]) -> list[str]:
    from policy.core.effect import Effect

    scope = Scope(tuple(Said(Effect(effect), matcher) for effect, matcher in rules))
    return [str(decide(scope, tool, call)) for tool, call in CALLS]


def _wrapped(rules: Iterable[tuple[str, str]]) -> list[str]:
    """Return what commands get that run another, of which the reference knows nothing."""
    decides = table(*(" ".join(rule) for rule in rules))
    return [str(decides.decide("Bash", {"command": text}).effect) for text in WRAPPED]


@given(_rules)
@examples(20)
def test_no_set_of_the_rules_that_are_left_can_be_left_out(rules) -> None:
    text = shortest(agent(*(f"{effect} {matcher}" for effect, matcher in rules)))
    left = [tuple(line.split(None, 1)) for line in text.splitlines() if line.startswith(" ")]
    expected = _effects(rules)
    assert _effects(left) == expected
    assert _wrapped(left) == _wrapped(rules)
    for size in range(len(left)):
        for fewer in itertools.combinations(left, size):
            alike = _effects(list(fewer)) == expected
            assert not alike or _wrapped(fewer) != _wrapped(left), (left, fewer)
    assert shortest(text) == text


@given(st.lists(st.tuples(st.sampled_from(["allow", "ask", "deny"]), matchers()), max_size=5))
@examples(40)
def test_a_minimal_file_is_minimal(rules) -> None:
    once = shortest(agent(*(f"{effect} {matcher}" for effect, matcher in rules)))
    assert shortest(once) == once


def test_what_an_agent_hands_on_is_kept_and_so_is_an_agent_that_is_never_started() -> None:
    text = (
        "root a\n\nagent a {\n    allow     Read, Task(b)\n    deny      Bash(x)\n"
        "    delegate  Bash, Read\n}\n\nagent b {\n    allow     Bash\n}\n\n"
        "agent lost {\n    allow     Edit\n}\n"
    )
    assert shortest(text) == text


def test_an_empty_list_of_what_is_handed_on_is_not_the_same_as_none() -> None:
    text = "agent a {\n    allow     Read\n    deny      Bash\n    delegate  Bash\n}\n"
    assert "delegate  Bash" in shortest(text)


def test_what_is_handed_on_anyway_is_not_stated() -> None:
    lead = "root a\n\nagent a {\n    allow     Read, Task(b)\n}\n\n"
    inherits = "agent b {\n    inherit\n    deny      Bash(x)\n"
    assert (
        shortest(f"{lead}{inherits}    delegate  Read\n    delegate  *\n}}\n")
        == f"{lead}{inherits}}}\n"
    )
    # As a root it may use less than it hands on.
    assert "delegate" in shortest(f"{inherits}    allow     Task(b)\n    delegate  *\n}}\n")


@pytest.mark.parametrize(
    "permissions",
    [
        # The default asks as well, but in `bypassPermissions` nothing else does.
        {"ask": ["Edit"]},
        {"ask": ["Edit(.claude/settings.json)"], "allow": ["Edit(.claude/**)"]},
        # The mode edits without asking, and a session can be started in another one.
        {"allow": ["Edit(src/**)"], "defaultMode": "acceptEdits"},
    ],
)
def test_a_rule_that_counts_in_another_mode_is_kept(permissions) -> None:
    path, text = ".claude/settings.json", json.dumps({"permissions": permissions})
    assert minimal(Memory({path: text}), path).text == text


def test_comments_stay_with_the_rules_they_are_about() -> None:
    written = """\
# of the file
agent a {
    # of all
    allow Read, # one
          Bash(git *), # two
          Bash(git push *) # three
    # between
    deny Edit(src/**)  # five
    deny WebFetch  # six
    allow Edit
}
"""
    assert (
        shortest(written)
        == """\
# of the file
agent a {
    # of all
    allow     Read,  # one
              Bash(git *)  # two
    # between
    deny      Edit(src/**)  # five
    allow     Edit
}
"""
    )


def test_a_rule_that_another_file_could_bring_to_life_is_judged_with_that_file() -> None:
    project = json.dumps({"permissions": {"deny": ["Bash(rm *)", "Bash(rm -rf x)"]}})
    path = ".claude/settings.json"
    alone = minimal(Memory({path: project}), path)
    assert json.loads(alone.text)["permissions"]["deny"] == ["Bash(rm *)"]

    # The host takes this rule before a denial with a star.
    local = json.dumps({"permissions": {"ask": ["Bash(rm -rf x)"]}})
    together = Memory({path: project, ".claude/settings.local.json": local})
    assert minimal(together, path).text == project


@pytest.mark.parametrize(
    ("path", "written", "left"),
    [
        (
            ".claude/settings.json",
            (
                '{"permissions": {\n  "deny": ["Bash(rm *)", "Bash(rm -rf *)", "Edit"],\n'
                '  "allow": ["Bash(rm -i *)"]}}'
            ),
            '{"permissions": {\n  "deny": ["Bash(rm *)", "Edit"],\n  "allow": []}}',
        ),
        (
            ".claude/agents/x.md",
            "---\nname: x\ndescription: One, two.\ntools: Read, Grep, Read # why\n---\nBody.\n",
            "---\nname: x\ndescription: One, two.\ntools: Read, Grep # why\n---\nBody.\n",
        ),
        (
            ".a3s/agents/x.yaml",
            (
                "name: x\ndescription: x\npermissions:\n  deny:\n    # all of it\n    - bash\n    - Bash(rm:*)  # narrow\n"
                "    # files\n    - write\n"
            ),
            "name: x\ndescription: x\npermissions:\n  deny:\n    # all of it\n    - bash\n    # files\n    - write\n",
        ),
        (
            ".zeph/agents/old.md",
            (
                '+++\nname = "x"\ndescription = "x"\n[tools]\nallow = [\n    "read", # one\n    "grep",\n    "read",\n]\n'
                'except = ["bash"] # never\n+++\n'
            ),
            (
                '+++\nname = "x"\ndescription = "x"\n[tools]\nallow = [\n    "read", # one\n    "grep",\n]\n'
                "except = [] # never\n+++\n"
            ),
        ),
        (
            ".zeph/agents/x.md",
            "---\nname: x\ndescription: x\ntools:\n  allow: [read]\n  except:\n    - bash\n---\n",
            "---\nname: x\ndescription: x\ntools:\n  allow: [read]\n  except: []\n---\n",
        ),
        (  # either of two lists that deny is enough
            ".zeph/agents/x.md",
            "---\nname: x\ndescription: x\ntools:\n  deny: [bash]\n  except: [bash]\n---\n",
            "---\nname: x\ndescription: x\ntools:\n  deny: []\n  except: [bash]\n---\n",
        ),
        (  # of both it reads `bash` alone, which is denied beside what a configuration denies
            ".zeph/agents/x.md",
            "---\nname: x\ndescription: x\ntools:\n  except: ['Bash(a)', bash, 'Bash(a *)']\n---\n",
            "---\nname: x\ndescription: x\ntools:\n  except: [bash]\n---\n",
        ),
        (  # whoever plans calls no tool, and may start any agent whether `Task` is listed or not
            ".zeph/agents/x.md",
            "---\nname: x\ndescription: x\ntools:\n  allow: ['Task(y)', Task]\npermissions: {permission_mode: plan}\n---\n",
            "---\nname: x\ndescription: x\ntools:\n  allow: []\npermissions: {permission_mode: plan}\n---\n",
        ),
        (
            ".zeph/agents/x.md",
            "---\nname: x\ndescription: x\ntools:\n  deny: [fetch, 'BASH']\n  except: [bash]\n---\n",
            "---\nname: x\ndescription: x\ntools:\n  deny: [fetch]\n  except: [bash]\n---\n",
        ),
    ],
)
def test_files_of_hosts_lose_items_of_their_lists_and_nothing_else(path, written, left) -> None:
    found = minimal(Memory({path: written}), path)
    assert found.text == left
    assert minimal(Memory({path: left}), path).removed == ()


@pytest.mark.slow
@pytest.mark.parametrize("host", GENERATED)
@given(data=st.data())
@settings(examples(8), suppress_health_check=list(HealthCheck))
def test_files_of_every_host_decide_alike_with_fewer_rules(host: str, data) -> None:
    files = data.draw(GENERATED[host])
    fewer = dict(files)
    for path in files:
        fewer[path] = minimal(Memory(fewer), path).text
    before, after = project_of(files, host), project_of(fewer, host)
    for reading, names in itertools.product(
        ("attenuated", "enforced"), all_chains(before, [*before.agents], 3)
    ):
        chains = [chain_of(project, names, reading) for project in (before, after)]
        assert [chain is None for chain in chains] in ([True, True], [False, False]), names
        one, other = chains
        for tool, call in ((tool, call) for tool, call in HOST_CALLS if one and other):
            called = in_words_of(host, tool, call)
            assert one.decide(*called).effect is other.decide(*called).effect, (names, called)


def test_a_rule_with_examples_is_not_taken_from_above_them() -> None:
    text = (
        "agent a {\n    allow     Read\n    allow     Read(src/**)\n"
        "    expect    allow Read(src/a)\n}\n"
    )
    found = minimal(Memory({FILE: text}), FILE)
    assert found.text == text
    (kept,) = found.kept
    assert kept.span.text == "Read(src/**)"
    assert kept.why.endswith("but the example below is of it")
    text = text.replace("Read(src/**)", "Read(src/**), Edit")
    found = minimal(Memory({FILE: text}), FILE)
    assert found.text == text, "the example says that this rule decides"
    (kept,) = found.kept
    assert kept.span.text == "Read(src/**)"
    assert "expected a rule of line 3 to decide it" in kept.why


def test_what_cannot_be_shown_to_decide_alike_is_refused(monkeypatch) -> None:
    import policy.analysis.diff as module
    from policy.analysis.diff import Diff

    monkeypatch.setattr(module, "diff_workspaces", lambda *_, **__: Diff((), (), ("too many",)))
    with pytest.raises(PolicyError, match="the comparison is not exact"):
        shortest(agent("allow Read, Read"))


def test_more_rules_than_are_tried_are_refused() -> None:
    many = ", ".join(f"m__{number}" for number in range(2_001))
    with pytest.raises(PolicyError, match="2,001 rules are more"):
        shortest(agent(f"allow {many}"))
