"""What says it returns a bool does, where tables of all kinds are read, compared and asked."""

from __future__ import annotations

from policy.patterns import notations
from policy.patterns.pattern import Pattern, PatternKind
from policy.tables.codec import table_from_json, table_to_json
from policy.tables.command_outcome import may_join
from policy.tables.dialect import Input, InputKind, Inputs
from tests.contracts import check_bools
from tests.strategies import table

RULES = [
    *("deny Bash(git push *)", "ask Bash(sudo *)", "allow Bash", "allow Bash(a && *)"),
    *("allow Read(src/**)", "deny Read(.env)", "ask Edit", "allow Task(model:x)", "allow mcp__a"),
]
CALLS: list[tuple[str, dict[str, object]]] = [
    *(
        ("Bash", {"command": text})
        for text in ("git push x", "sudo ls > src/a", "a && b", "", "$x")
    ),
    *(("Read", {"file_path": path}) for path in ("src/a", ".env", "/etc/x", "~/x", "src/../.env")),
    *(("Task", {"model": model, "subagent_type": "a"}) for model in ("x", "y")),
    *(("mcp__a", {}), ("Edit", {"file_path": 1}), ("Other", {})),
]


def test_what_says_it_returns_a_bool_does(monkeypatch) -> None:
    for package in ("policy.tables", "policy.patterns", "policy.commands"):
        assert check_bools(monkeypatch, package)
    tables = [table(*RULES[:count]) for count in range(len(RULES) + 1)]
    for one in tables:
        assert table_from_json(table_to_json(one)) == one
        assert (one <= tables[-1]) in (True, False)
        for tool, call in CALLS:
            assert one.decide(tool, call) == one.decide(tool, call)
    assert tables[0] <= tables[1]
    assert not tables[-1] <= tables[0]


def test_what_says_it_returns_a_bool_does_for_any_argument(monkeypatch) -> None:
    check_bools(monkeypatch, "policy.tables")
    values = ["x", "1", "true", "[]", '["a"]', "{}", "{", 1, 1.5, True, None, [], ["a"], [{}], {}]
    for kind in InputKind:
        for one in (Input("a", kind), Input("a", kind, ("1",), "1", whole=True, least=1, most=1)):
            for closed in (True, False):
                taken = [Inputs((one,), closed).takes({"a": value}) for value in values]
                assert {*taken} <= {True, False}
            assert Inputs((one,), closed=True).takes({"b": 1}) is False
            assert Inputs((one,)).takes({"b": 1}) is True


def test_what_says_it_returns_a_bool_does_of_patterns(monkeypatch) -> None:
    check_bools(monkeypatch, "policy.patterns")
    texts = ["", "a", "a *", "*", "a*b", "* | b", "a && *", "a b"]
    patterns = [Pattern.text(text) for text in texts]
    patterns += [each for glob in ("/a/**", "/a/[!b]*", "**/x") for each in notations.paths(glob)]
    for one in patterns:
        for other in patterns:
            if one.kind is other.kind:
                assert (one <= other) in (True, False)
            assert one.matches(str(other)) in (True, False)
        if one.kind is PatternKind.TEXT:
            assert may_join(one) in (True, False)
