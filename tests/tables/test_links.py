"""What a file gets that another name leads to, and what arguments of calls may be."""

from __future__ import annotations

import pytest

from policy.commands.knowledge import FileTools, Shell
from policy.core import limits, values
from policy.core.decision import Reason
from policy.core.effect import Effect
from policy.patterns import notations
from policy.patterns.pattern import Pattern
from policy.tables.calls import Unreadable, argument_text, case_variant, real_path
from policy.tables.dialect import (
    Argument,
    ArgumentKind,
    Dialect,
    Input,
    InputKind,
    Inputs,
    relative_path,
)
from policy.tables.parameters import beside, calls_beside, parameter_cases
from policy.tables.ruleset import Entry, RuleSet
from policy.tables.table import Table

ALLOW, ASK, DENY = Effect.ALLOW, Effect.ASK, Effect.DENY

# A tool whose calls agents make, and those that stand for what commands do with files.
_TOOLS = ("open", "cat", "put", "out")
LINKED = Dialect(
    "test",
    arguments={tool: Argument(ArgumentKind.PATH, ("path",)) for tool in _TOOLS},
    shell=Shell(files=FileTools(reads="cat", input="cat", writes="put", output="out")),
    links=(("/@project/l", "/etc"), ("/@project/m", "/@project/src"), ("/a", "/b"), ("/b", "/a")),
)


# Of the host with this name a model judges what no rule decides.
REASONS = {"judging": Reason.CLASSIFIER}


def decided(
    rules: str, tool: str, path: str, dialect: Dialect = LINKED, default: Effect = ASK
) -> tuple[Effect, Reason]:
    """Return what a file gets by rules such as ``allow l/**``; ``(allow l/**)`` is a default."""
    entries = []
    for rule in filter(None, rules.split("; ")):
        effect, glob = rule.strip("()").split(" ")
        why = Reason.DEFAULT if rule[0] == "(" else Reason.RULE
        for pattern in notations.paths(glob.lstrip("!"), "" if "!" in glob else "/@project"):
            entries += [Entry(each, Effect(effect), pattern, reason=why) for each in _TOOLS]
    table = Table.of(
        RuleSet(tuple(entries), default, dialect, REASONS.get(dialect.name, Reason.DEFAULT))
    )
    decision = table.decide(tool, {"path": path})
    return decision.effect, decision.reason


@pytest.mark.parametrize(
    ("rules", "tool", "expected"),
    [
        # What a rule denies under either name is denied.
        *((rules, tool, (DENY, Reason.RULE))
          for rules in ("deny !/etc/**; allow !/**", "deny l/**; allow !/**")
          for tool in _TOOLS),
        # The file that a command reads decides alone.
        ("allow !/etc/**; ask l/**", "cat", (ALLOW, Reason.RULE)),
        ("ask !/etc/**; allow l/**", "cat", (ASK, Reason.RULE)),
        ("allow l/**", "cat", (ASK, Reason.DEFAULT)),
        # What it writes needs a rule for both names, or is asked for.
        ("allow !/etc/**; allow l/**", "put", (ALLOW, Reason.RULE)),
        ("allow !/etc/**; allow l/**", "out", (ALLOW, Reason.RULE)),
        ("allow l/**", "put", (ASK, Reason.PROTECTED)),
        ("allow !/etc/**", "out", (ASK, Reason.PROTECTED)),
        ("(allow !/@project/**)", "out", (ASK, Reason.PROTECTED)),
        # A tool needs both names.
        ("allow !/etc/**; allow l/**", "open", (ALLOW, Reason.RULE)),
        ("allow l/**", "open", (ASK, Reason.DEFAULT)),
        ("allow !/etc/**", "open", (ASK, Reason.DEFAULT)),
        ("ask !/etc/**; allow l/**", "open", (ASK, Reason.RULE)),
    ],
)  # fmt: skip
def test_a_file_behind_a_link_is_judged_by_both_names(
    rules: str, tool: str, expected: tuple[Effect, Reason]
) -> None:
    assert decided(rules, tool, "l/x") == expected


@pytest.mark.parametrize("tool", ["put", "out"])
def test_a_link_within_the_working_folder_is_written_as_the_folder_is(tool: str) -> None:
    assert decided("(allow !/@project/**)", tool, "m/x") == (ALLOW, Reason.DEFAULT)
    assert decided("allow m/**; (allow !/@project/**)", tool, "m/x") == (ASK, Reason.PROTECTED)


@pytest.mark.parametrize("tool", _TOOLS)
def test_where_all_is_allowed_a_link_changes_nothing_inside(tool: str) -> None:
    assert decided("deny s", tool, "l/x", default=ALLOW) == (ALLOW, Reason.DEFAULT)
    assert decided("allow m/**", tool, "m/x", default=ALLOW)[0] is ALLOW


def test_a_rule_for_one_name_alone_is_no_rule_for_a_file_outside() -> None:
    unsure = (ASK, Reason.UNANALYSABLE)
    assert decided("allow !/etc/**", "open", "l/x", default=ALLOW) == unsure
    assert decided("allow l/**", "open", "l/x", default=ALLOW)[0] is ALLOW
    refusing = values.evolve(LINKED, asks=False)
    refused = decided("allow !/etc/**", "open", "l/x", refusing, ALLOW)
    assert refused == (DENY, Reason.UNANALYSABLE)
    refused = decided("allow !/etc/**", "put", "l/x", refusing)
    assert refused == (DENY, Reason.PROTECTED)


def test_a_person_is_asked_of_a_link_where_a_model_would_judge() -> None:
    judging = values.evolve(LINKED, name="judging")
    for path, reason in (("l/x", Reason.UNANALYSABLE), ("x", Reason.CLASSIFIER)):
        assert decided("deny s", "open", path, judging) == (ASK, reason)


def test_links_in_a_circle_lead_nowhere() -> None:
    for tool in _TOOLS:
        assert decided("allow !/**", tool, "/a/x") == (DENY, Reason.MALFORMED)
    with pytest.raises(Unreadable):
        real_path("/a", LINKED.links)
    assert real_path("/ab", LINKED.links) == "/ab"
    assert real_path("/@project/l", LINKED.links) == "/etc"


@pytest.mark.parametrize("of", ["/proc/self", "/proc/thread-self"])
def test_a_file_found_by_way_of_its_process_is_judged_by_its_own_name_too(of: str) -> None:
    found = values.evolve(LINKED, processes=True, links=())
    for path in ("cwd/s", "root/@project/s"):
        assert decided("deny s; allow !/**", "open", f"{of}/{path}", found)[0] is DENY
        assert decided("deny s; allow !/**", "open", f"{of}/{path}x", found)[0] is ALLOW
        assert decided("allow s", "open", f"{of}/{path}", found)[0] is ASK
        elsewhere = values.evolve(LINKED, links=())
        assert decided("deny s; allow !/**", "open", f"{of}/{path}", elsewhere)[0] is ALLOW
    circular = values.evolve(found, cwd=f"{of}/cwd")
    assert decided("allow !/**", "open", f"{of}/cwd/s", circular) == (DENY, Reason.MALFORMED)
    folding = values.evolve(found, cwd="/P", fold=True)
    assert decided("deny !/p/s; allow !/**", "open", f"{of}/cwd/s", folding)[0] is DENY


def test_a_folder_keeps_its_letters_where_rules_ignore_them() -> None:
    dialect = Dialect("test", cwd="/w/App", fold=True, cased=("/w/App",))
    assert case_variant("/w/App/X", dialect) == "/w/app/x"
    assert case_variant("/w/app/X", dialect) == "/\x1f/\x1f\x1f\x1f/x"
    assert case_variant("/w/Apple/X", dialect) == "/w/apple/x"
    assert case_variant("/W/X", dialect) == "/w/x"
    judging = values.evolve(LINKED, cwd="/w/App", fold=True, cased=("/w/App",), links=())
    assert decided("allow !/w/app/**", "open", "/w/App/X", judging)[0] is ALLOW
    assert decided("allow !/w/app/**", "open", "X", judging)[0] is ALLOW
    assert decided("allow !/w/app/**", "open", "/w/app/X", judging)[0] is ASK
    assert decided("deny !/w/app/**; allow !/**", "open", "/w/app/X", judging)[0] is DENY


@pytest.mark.parametrize(
    ("path", "shown"),
    [
        ("/@project", "."),
        ("/@project/a", "a"),
        ("/@home", "~/"),
        ("/@home/a", "~/a"),
        ("/@temp/a", "$TMPDIR/a"),
        ("/@projects/a", "/@projects/a"),
        ("/etc/a", "/etc/a"),
    ],
)
def test_a_path_is_shown_from_the_folder_of_the_agent(path: str, shown: str) -> None:
    assert relative_path(path) == shown


# --- what arguments may be ------------------------------------------------------------


@pytest.mark.parametrize(
    ("argument", "yes", "no"),
    [
        (Input("a"), ["", "x"], [1, None, True, ["x"]]),
        (Input("a", words=("x", "y")), ["x", "y"], ["", "z", 1]),
        (Input("a", spelling="x+"), ["x", "xx"], ["", "xy", 1]),
        (Input("a", words=("x", "y"), spelling="x"), ["x"], ["y", "z"]),
        (Input("a", InputKind.FLAG), [True, False, "true", "false"], ["x", 1, None]),
        (
            Input("a", InputKind.NUMBER),
            [1, 1.5, "2", " -2.5 "],
            [True, "x", "1e3", None, [1], float("inf"), float("nan")],
        ),
        (Input("a", InputKind.NUMBER, spelling="[0-9]"), [10, "1"], ["10"]),
        (Input("a", InputKind.NUMBER, whole=True), [1, 1.0, "2"], [1.5, "2.5"]),
        (Input("a", InputKind.NUMBER, least=2), [2, 3, 2.0], [1, 1.9, "1"]),
        (Input("a", InputKind.NUMBER, most=2), [2, -3], [3, 2.1]),
        (Input("a", InputKind.ANY), [None, 1, "x", []], []),
        (Input("a", InputKind.NONE), [], [None, 1, "x", []]),
        (Input("a", InputKind.TEXTS), [[], ["x"], ("x",), '["x"]'], ["x", [1], {}, "{}", 1]),
        (Input("a", InputKind.RECORDS), [[], [{}], "[{}]"], ["x", ["x"], {}, '["x"]']),
        (Input("a", InputKind.RECORD), [{}, {"b": 1}, "{}"], ["x", [], "[]", 1]),
    ],
)
def test_an_argument_is_what_it_may_be(
    argument: Input, yes: list[object], no: list[object]
) -> None:
    taken = [argument.takes(value) for value in (*yes, *no)]
    assert {*map(type, taken)} == {bool}
    assert [value for value, is_taken in zip((*yes, *no), taken, strict=True) if is_taken] == yes
    if argument.type is not None:
        assert all(argument.takes(argument.type(value)) for value in (0, 1, -5))


def test_a_type_is_that_of_which_every_value_may_be_given() -> None:
    kinds = InputKind
    arguments = (
        Input("a"), Input("b", words=("x",)), Input("c", spelling="x"), Input("d", kinds.NUMBER),
        Input("e", kinds.NUMBER, least=0), Input("f", kinds.NUMBER, most=0), Input("g", kinds.FLAG),
        Input("h", kinds.ANY),
    )  # fmt: skip
    assert Inputs(arguments).types == {"a": str, "d": int, "g": bool}


def test_a_call_has_other_arguments_where_that_is_not_closed() -> None:
    assert Inputs((Input("a"),)).takes({"a": "x", "b": 1}) is True
    assert Inputs((Input("a"),), closed=True).takes({"a": "x", "b": 1}) is False
    assert Inputs((Input("a"),)).takes({"a": 1}) is False
    assert Inputs((Input("a"),), closed=True).takes({}) is True


@pytest.mark.parametrize(
    ("value", "so"),
    [
        (Input("a"), set()),
        (Inputs(()), set()),
        (Argument(ArgumentKind.PATH, ()), set()),
        (Dialect(""), {"asks", "aliased"}),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_is_not_said_of_a_host_is_not_so_but_for_this(value: object, so: set[str]) -> None:
    said = {name: getattr(value, name) for name in values.attributes(type(value))}
    assert {name for name, each in said.items() if isinstance(each, int) and each} == so


@pytest.mark.parametrize(
    ("host", "names"),
    [
        ({}, {"Read": "Read", "sh": "Bash", "SH": "SH", "Read(x)": "Read(x)", " read ": " read "}),
        ({"loose": True}, {"Read": "read", "sh": "Bash", "SH": "Bash", " Read (x)(y)": "read"}),
    ],
)
def test_a_tool_has_one_name(host: dict[str, bool], names: dict[str, str]) -> None:
    dialect = Dialect("test", aliases={"sh": "Bash"}, **host)
    assert {name: dialect.canonical(name) for name in names} == names
    assert {name: dialect.key(name) for name in names} == names


def test_a_host_may_ignore_the_case_of_names_for_ascii_letters() -> None:
    dialect = Dialect("test", aliases={"sh": "Bash"}, fold_names=True)
    assert [dialect.key(name) for name in ("sh", "READ", "\xc9a")] == ["bash", "read", "\xc9a"]
    assert dialect.canonical("READ") == "READ"


@pytest.mark.parametrize(
    ("argument", "named"),
    [
        (Argument(ArgumentKind.TEXT, ("a",)), {"b", "c"}),
        (Argument(ArgumentKind.PATH, ("a",)), set()),
        (Argument(ArgumentKind.TEXT, ("a",), parameters=frozenset("ab")), {"a", "b"}),
        (Argument(ArgumentKind.PATH, ("a",), parameters=frozenset("b")), {"b"}),
    ],
)
def test_a_rule_names_the_arguments_that_are_listed_or_any_beside_a_text(
    argument: Argument, named: set[str]
) -> None:
    has = {name: argument.has(name) for name in "abc"}
    assert {name for name, is_named in has.items() if is_named} == named
    assert {*has.values()} <= {True, False}


@pytest.mark.parametrize(
    ("kind", "call", "text"),
    [
        (ArgumentKind.LENIENT, {"a": "x"}, "x"),
        (ArgumentKind.LENIENT, {"a": 1}, ""),
        (ArgumentKind.LENIENT, {}, ""),
        (ArgumentKind.JOINED, {"a": "x", "b": "y"}, "x y"),
        (ArgumentKind.JOINED, {"a": 1, "b": "y"}, " y"),
        (ArgumentKind.FILES, {"a": "x", "b": [{"path": "y"}]}, "x"),
        (ArgumentKind.FILES, {"b": [{"path": "y"}, 1, {"path": 2}, {"path": "z"}]}, "y\nz"),
        (ArgumentKind.FILES, {"b": "y"}, ""),
        (ArgumentKind.JSON, {"b": [1], "a": "é"}, '{"a":"é","b":[1]}'),
        (ArgumentKind.TEXT, {"a": "\n"}, "\n"),
    ],
)
def test_an_argument_is_read_as_its_kind_says(
    kind: ArgumentKind, call: dict[str, object], text: str
) -> None:
    fields = ("a", "b") if kind in (ArgumentKind.JOINED, ArgumentKind.FILES) else ("a",)
    assert argument_text(Argument(kind, fields), LINKED, call) == text


def test_a_number_that_json_does_not_have_is_not_read_as_json() -> None:
    with pytest.raises(Unreadable):
        argument_text(Argument(ArgumentKind.JSON, ("a",)), LINKED, {"a": float("nan")})


def test_a_command_with_controls_is_refused_where_the_host_does() -> None:
    checking = values.evolve(LINKED, checks=True)
    command = Argument(ArgumentKind.COMMAND, ("a",))
    assert argument_text(command, LINKED, {"a": "ls \x07"}) == "ls \x07"
    assert argument_text(command, checking, {"a": "ls\t\n"}) == "ls\t\n"
    with pytest.raises(Unreadable):
        argument_text(command, checking, {"a": "ls \x07"})
    assert argument_text(values.evolve(command, kind=ArgumentKind.TEXT), checking, {"a": "\x07"})


# --- arguments beside the one that rules apply to -----------------------------------------


def _entry(effect: Effect, field: str, stars: str) -> Entry:
    return Entry("t", effect, Pattern.text(stars), field=field)


def test_parameters_are_told_apart_one_a_list() -> None:
    first = [_entry(ALLOW, "m", "x"), _entry(DENY, "n", "y*")]
    assert parameter_cases([first]) == [{}, {"m": "x"}, {"n": "y"}]
    both = parameter_cases([first, [_entry(ASK, "m", "x")]])
    assert both == [{}, {"m": "x"}, {"n": "y"}, {"m": "x", "n": "y"}]
    assert parameter_cases([first], whole=True) == both
    assert parameter_cases([first], most=2) is None
    assert parameter_cases([first], most=3) is not None
    assert parameter_cases([[Entry("t", ALLOW)], []]) == [{}]


def test_a_parameter_is_a_value_that_the_argument_may_have() -> None:
    def cases(stars: str, *given: Input) -> list[dict[str, str]] | None:
        return parameter_cases(
            [[_entry(ALLOW, "m", stars)]], inputs=[Inputs(given)] if given else []
        )

    assert cases("tr*") == [{}, {"m": "tr"}]
    assert cases("tr*", Input("m", InputKind.FLAG)) == [{}, {"m": "true"}]
    assert cases("*", Input("m", InputKind.NUMBER)) == [{}, {"m": "1"}]
    assert cases("a*", Input("m", words=("bb", "ab"))) == [{}, {"m": "ab"}]
    assert cases("5*", Input("m", InputKind.NUMBER, least=100)) == [{}, {"m": "5000"}]
    # Another text may match the pattern, or none can.
    assert cases("7*", Input("m", InputKind.NUMBER, spelling="79")) is None
    assert cases("7", Input("m", InputKind.NUMBER, spelling="79")) == [{}]


def test_parameters_that_no_search_tells_apart_are_too_many(monkeypatch) -> None:
    monkeypatch.setattr(limits, "SEARCH_STATES", 3)
    assert parameter_cases([[_entry(ALLOW, "m", "abcdefgh")]]) is None


@pytest.mark.parametrize(("count", "is_told"), [(63, True), (64, False)])
def test_so_many_combinations_are_told_apart(count: int, is_told: bool) -> None:
    entries = [_entry(ALLOW, "m", f"x{number}") for number in range(count)]
    assert (parameter_cases([entries]) is not None) is is_told
    rows = [RuleSet(tuple(entries), ASK, Dialect("test")).row("t")]
    found = beside(rows)
    assert found is None if not is_told else len(found or ()) == count + 1


@pytest.mark.parametrize(("counts", "calls"), [((31, 31), 1024), ((24, 40), 1)])  # 32², 25 · 41
def test_more_combinations_are_tried_of_one_call(counts: tuple[int, int], calls: int) -> None:
    rows = [
        RuleSet(tuple(_entry(ALLOW, field, f"x{n}") for n in range(count)), ASK, Dialect("test"))
        for field, count in zip("mn", counts, strict=True)
    ]
    assert len([*calls_beside([each.row("t") for each in rows], {"q": "x"})]) == calls


def test_an_argument_that_rules_name_as_their_own_is_no_other() -> None:
    dialect = Dialect("test", arguments={"t": Argument(ArgumentKind.TEXT, ("m",))})
    entries = (_entry(ALLOW, "m", "x"), _entry(ASK, "n", "y"), _entry(DENY, "", "z"))
    assert beside([RuleSet(entries, ASK, dialect).row("t")]) == [{}, {"n": "y"}]
    unsaid = RuleSet(entries[2:], ASK, dialect).row("t")
    assert [said for said, _ in calls_beside([unsaid], {"m": "z"})] == [{"m": "z"}]


def test_calls_of_too_many_parameters_get_the_most_that_each_row_says() -> None:
    dialect = Dialect("test")
    rows = [
        RuleSet(tuple(_entry(effect, f"{name}{n}", "x") for n in range(12)), ASK, dialect).row("t")
        for name, effect in (("a", ALLOW), ("b", ALLOW), ("c", DENY), ("d", DENY))
    ]
    ((call, outcomes),) = calls_beside(rows, {"q": "x"})
    assert call == {"q": "x"}
    assert [each.effect for each in outcomes] == [ALLOW, ALLOW, ASK, ASK]
    silent = RuleSet((Entry("t", ALLOW, Pattern.text("x")),), ASK, dialect).row("t")
    assert len([*calls_beside([rows[0], silent], {"q": "x"})]) == 13
    few = [*calls_beside(rows[:1], {"q": "x"})]
    assert {said.keys() - {"q"} == set() for said, _ in few} == {True, False}
    assert all((said.keys() == {"q"}) is (out[0].effect is ASK) for said, out in few)
