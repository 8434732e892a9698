"""Text becomes the tree it says, or a mistake that can be mended."""

from __future__ import annotations

from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from policy.core import limits
from policy.core.effect import Effect
from policy.core.errors import PolicyError, PolicyErrors
from policy.core.limits import FILE_BYTES, PATTERN_CHARACTERS
from policy.core.source import Source
from policy.language import parse
from policy.language.parse import parse_matcher, parse_notation
from policy.language.syntax import (
    Agent,
    Agents,
    Comment,
    Delegate,
    Document,
    Grant,
    Inherit,
    Limit,
    Matcher,
    Never,
    Parameter,
    Root,
    Specifier,
    Test,
    Text,
    Trust,
)
from tests.conftest import cases
from tests.effort import is_linear
from tests.underline import assert_underlines


def document(text: str) -> Document:
    return parse_notation(Source("team.policy", text))


def matchers(text: str) -> tuple[Matcher, ...]:
    """Return the matchers of one statement in an agent."""
    (agent,) = document(f"agent main {{\n    {text}\n}}\n").body
    assert isinstance(agent, Agent)
    (grant,) = agent.body
    assert isinstance(grant, Grant)
    return grant.matchers


def mistakes(text: str) -> tuple[PolicyError, ...]:
    with pytest.raises(PolicyErrors) as caught:
        document(text)
    return caught.value.errors


# --- one matcher ------------------------------------------------------------


@pytest.mark.parametrize(
    "tool",
    [
        "Read",
        "mcp__github__get_issue",
        "mcp__*",
        "*",
        "*__get_issue",
        "fs.read",
        "shell-exec",
        "TaskMaster",
    ],
)
def test_a_tool_alone_has_no_specifier(tool: str) -> None:
    matcher = parse_matcher(tool)
    assert (matcher.tool, matcher.specifier) == (tool, None)


def test_empty_parentheses_are_not_the_same_as_none() -> None:
    assert parse_matcher("Tool()").specifier == Text("")
    assert parse_matcher("Tool()") != parse_matcher("Tool")


@pytest.mark.parametrize(
    ("text", "inside"),
    [
        ("Edit(./Finance (2024)/**)", "./Finance (2024)/**"),
        ('Bash(node -e "f()")', 'node -e "f()"'),
        ("Bash(echo \\))", "echo \\)"),
        ("Bash(two\nlines)", "two\nlines"),
        ("Bash(a) b)", "a) b"),
        ("Bash())", ")"),
        ("Bash(()", "("),
        ("Bash( )", " "),
        ("TaskMaster(x)", "x"),
        ("Read(a, b)", "a, b"),
        ("Task(a,)", "a,"),
        ("Task(a;b)", "a;b"),
    ],
)
def test_a_specifier_runs_to_the_final_parenthesis(text: str, inside: str) -> None:
    assert parse_matcher(text).specifier == Text(inside)


@pytest.mark.parametrize(
    ("text", "specifier"),
    [
        ("Bash(git:*)", Parameter("git", "*", "git:*")),
        (
            "WebFetch(domain: example.com)",
            Parameter("domain", "example.com", "domain: example.com"),
        ),
        ("Agent(model : opus)", Parameter("model", "opus", "model : opus")),
        ("Agent(model:)", Parameter("model", "", "model:")),
        ("Bash(npm run:*)", Text("npm run:*")),
        ("Task(explore)", Agents(("explore",), "explore")),
        (
            "Task(explore, code reviewer)",
            Agents(("explore", "code reviewer"), "explore, code reviewer"),
        ),
        ("Agent(team:a , team:b)", Agents(("team:a", "team:b"), "team:a , team:b")),
        ("Agent(*)", Agents(("*",), "*")),
    ],
)
def test_a_specifier_has_the_shape_it_is_written_in(text: str, specifier: Specifier) -> None:
    found = parse_matcher(text).specifier
    assert found == specifier
    assert found is not None
    assert found.text == specifier.text == text.partition("(")[2][:-1]


@pytest.mark.parametrize(
    ("text", "underlined"),
    [
        ("", ""),
        ("  ", "  "),
        ("**/.env*", "**/.env*"),
        ("src/**", "src/**"),
        ("Bash ls", "ls"),
        ("Bash (ls)", " "),
        ("Bash(ls", "("),
        ("Bash(", "("),
        ("Bash)", ")"),
        ("Bash(ls) x", "x"),
        ("Bash(ls) ", " "),
        ("(ls)", "("),
        (" Read", " "),
        ("Read\n", "\n"),
        ("Read, Grep", ","),
        ('"Bash"', '"'),
        ("\u0412ash(ls)", "\u0412"),
        ("Re\u200bad", "\u200b"),
    ],
)
def test_a_mistake_in_a_matcher_is_underlined(text: str, underlined: str) -> None:
    with pytest.raises(PolicyError) as caught:
        parse_matcher(text)
    assert_underlines(caught.value, underlined)
    assert caught.value.help


def test_a_matcher_of_a_file_is_underlined_in_the_file() -> None:
    source = Source("agent.md", "tools: 'Bash ls', Read")
    with pytest.raises(PolicyError) as caught:
        parse_matcher("Bash ls", source.span(7, 16))
    assert_underlines(caught.value, "ls")
    assert str(caught.value.place) == "agent.md:1:14"


def test_a_matcher_the_file_spells_otherwise_is_underlined_as_a_whole() -> None:
    source = Source("settings.json", r'["Bash\u0020ls"]')
    with pytest.raises(PolicyError) as caught:
        parse_matcher("Bash ls", source.span(1, 15))
    assert_underlines(caught.value, r'"Bash\u0020ls"')


def test_a_matcher_knows_its_place() -> None:
    source = Source("agent.md", "tools: Read")
    assert str(parse_matcher("Read", source.span(7, 11)).span.place) == "agent.md:1:8"


def test_mistakes_in_matchers_read_well(text: SnapshotAssertion) -> None:
    reports = []
    for wrong in (
        "",
        "# Git: status, diff/log",
        "**/.env*",
        "Bash ls",
        "Bash (ls)",
        "Bash(ls",
        "Bash)",
        "Bash(ls) x",
        "(ls)",
        "Read, Grep",
        '"Bash"',
        " Read",
        "\u0412ash(ls)",
        "Re\u200bad",
    ):
        with pytest.raises(PolicyError) as caught:
            parse_matcher(wrong)
        reports.append(str(caught.value))
    assert "\n".join(reports) == text


# --- a file -------------------------------------------------------------------

TEAM = """\
# team.policy
root main

agent main {
    allow     Read, Grep, Bash(git diff *), Task(explore, reviewer)
    ask       Edit(src/**),
              Bash(git push *)
    deny      Bash(git push --force *)
}

agent reviewer { # reads only
    inherit
    delegate  Read(docs/**)
    trust     verified
    limit     depth 2, turns 20
}
agent explore { allow Read }

test main > reviewer {
    deny      Edit(src/app.py)
}

never ** > reviewer: Edit, Write          # proven
"""


def at(tool: str, specifier: Specifier | None = None) -> Matcher:
    return Matcher(tool, specifier, span=Source("", "").span(0, 0))


def test_a_file_becomes_its_tree() -> None:
    span = Source("", "").span(0, 0)
    main = (
        Grant(
            Effect.ALLOW,
            (
                at("Read"),
                at("Grep"),
                at("Bash", Text("git diff *")),
                at("Task", Agents(("explore", "reviewer"), "explore, reviewer")),
            ),
            span=span,
        ),
        Grant(Effect.ASK, (at("Edit", Text("src/**")), at("Bash", Text("git push *"))), span=span),
        Grant(Effect.DENY, (at("Bash", Text("git push --force *")),), span=span),
    )
    reviewer = (
        Comment("reads only", trailing=True, span=span),
        Inherit(span=span),
        Delegate((at("Read", Text("docs/**")),), span=span),
        Trust("verified", span=span),
        Limit((("depth", 2), ("turns", 20)), span=span),
    )
    assert document(TEAM).body == (
        Comment("team.policy", span=span),
        Root("main", span=span),
        Agent("main", main, span=span),
        Agent("reviewer", reviewer, span=span),
        Agent("explore", (Grant(Effect.ALLOW, (at("Read"),), span=span),), span=span),
        Test(
            ("main", "reviewer"),
            (Grant(Effect.DENY, (at("Edit", Text("src/app.py")),), span=span),),
            span=span,
        ),
        Never(("**", "reviewer"), (at("Edit"), at("Write")), span=span),
        Comment("proven", trailing=True, span=span),
    )


def test_every_node_knows_its_text() -> None:
    body = document(TEAM).body
    agent = body[2]
    assert isinstance(agent, Agent)
    assert agent.span.text.startswith("agent main {")
    assert agent.span.text.endswith("}")
    assert [node.span.text for node in agent.body][2] == "deny      Bash(git push --force *)"
    assert body[-1].span.text == "# proven"
    assert body[-2].span.text == "never ** > reviewer: Edit, Write"


@pytest.mark.parametrize(
    ("written", "said"),
    [
        (r"Edit(./Finance (2024)/**)", "./Finance (2024)/**"),
        (r"Bash(echo \))", "echo )"),
        (r"Bash(echo \(\()", "echo (("),
        (r"Bash(two\nlines)", "two\nlines"),
        (r"Bash(a\\nb)", r"a\nb"),
        (r"Bash(grep \d+ *)", r"grep \d+ *"),
        (r"Bash(end\\)", "end\\"),
        (r"Bash(echo # no comment, (((deep)) too))", "echo # no comment, (((deep)) too)"),
        (r"Bash()", ""),
    ],
)
def test_a_specifier_of_the_notation_balances_or_is_escaped(written: str, said: str) -> None:
    (matcher,) = matchers(f"allow {written}")
    assert matcher.specifier == Text(said)


def test_words_of_the_notation_are_names_where_names_stand() -> None:
    tree = document('root allow\nagent allow {\n    allow "test"(x), "ask", asks\n}\n')
    agent = tree.body[1]
    assert isinstance(agent, Agent)
    assert agent.name == "allow"
    grant = agent.body[0]
    assert isinstance(grant, Grant)
    assert [matcher.tool for matcher in grant.matchers] == ["test", "ask", "asks"]


def test_names_may_have_colons_and_more_in_quotes() -> None:
    tree = document('agent code-reviewer {}\nagent claude:main {}\nagent "a \\"b\\" (c)" {}\n')
    assert [agent.name for agent in tree.body if isinstance(agent, Agent)] == [
        "code-reviewer",
        "claude:main",
        'a "b" (c)',
    ]


def test_comments_within_a_list_keep_their_place() -> None:
    (agent,) = document("agent a {\n  deny Read, # one\n  # two\n\n  Grep # three\n}").body
    assert isinstance(agent, Agent)
    grant, three = agent.body
    assert isinstance(grant, Grant)
    assert [(n, c.text, c.trailing) for n, c in grant.comments] == [
        (1, "one", True),
        (1, "two", False),
    ]
    assert isinstance(three, Comment)
    assert (three.text, three.trailing) == ("three", True)


@pytest.mark.parametrize("text", ["", "\n", "   \n\t\n", "# only\n", "# only", "\r\nroot a\r\n"])
def test_little_is_enough_for_a_file(text: str) -> None:
    assert len(document(text).body) <= 1


def test_a_file_of_tests_alone_may_name_agents_of_other_files() -> None:
    document("test main > worker {\n    deny Bash(ls)\n}\n")


# --- mistakes ---------------------------------------------------------------


@pytest.mark.parametrize("case", cases("errors"))
def test_error_report(case: Path, text: SnapshotAssertion) -> None:
    source = Source("policy.policy", (case / "policy.policy").read_text(encoding="utf-8"))
    with pytest.raises(PolicyErrors) as caught:
        parse_notation(source)
    assert str(caught.value) == text


def test_every_independent_mistake_is_reported_in_the_order_of_the_text() -> None:
    source = (cases_folder() / "four-mistakes" / "policy.policy").read_text(encoding="utf-8")
    found = mistakes(source)
    assert [error.place.line for error in found] == [4, 6, 7, 14]
    assert_underlines(found[0], "alow")
    assert_underlines(found[2], "many")
    assert_underlines(found[3], "wroker")


def cases_folder() -> Path:
    return Path(__file__).resolve().parents[2] / "fixtures" / "errors"


def test_a_mistake_hides_no_other_and_makes_no_other() -> None:
    good = TEAM.splitlines()
    for number in range(len(good)):
        if good[number].startswith(("    a", "    d", "    l", "    t")):
            wrong = "\n".join([*good[:number], "    ! " + good[number], *good[number + 1 :]])
            assert [error.place.line for error in mistakes(wrong)] == [number + 1]


@pytest.mark.parametrize(
    "text",
    [
        "!" * 1000,
        "agent a {\n" * 500,
        "}\n" * 500,
        "x\n" * 100_000,
        "agent a {" + "\n!" * 100_000,
        '"' * 99,
    ],
)
def test_nonsense_has_an_end(text: str) -> None:
    assert 1 <= len(mistakes(text)) <= 101


@pytest.mark.parametrize(
    "header", ["agent x y { inherit }", "agnet x { inherit }", "agent x y {\n}", "agent x y\n{\n}"]
)
def test_a_wrong_header_makes_no_other_mistake(header: str) -> None:
    (error,) = mistakes(f"root x\n{header}\nagent z {{\n    allow Read\n}}\n")
    assert error.place.line == 2


def test_a_missing_brace_needs_no_end() -> None:
    text = "agent a\n  allow Read\n\nagent b\n  deny Read\n"
    assert [each.message for each in mistakes(text)] == [
        "expected `{`, found the end of the line",
        "expected `{`, found the end of the line",
    ]


def test_many_mistakes_in_one_line_have_an_end() -> None:
    many = " > ".join(f"agent-{n}" for n in range(50_000))
    found = mistakes("".join(f"agent a{n} {{}}\n" for n in range(5_000)) + f"test {many} {{}}\n")
    assert len(found) == 100


# --- limits and speed ---------------------------------------------------------


def test_a_matcher_is_of_bounded_length() -> None:
    parse_matcher("Bash(" + "x" * (PATTERN_CHARACTERS - 6) + ")")
    with pytest.raises(PolicyError, match=f"at most {PATTERN_CHARACTERS:,} characters"):
        parse_matcher("Bash(" + "x" * 10_000_000 + ")")


@pytest.mark.parametrize(
    "inside", ["x" * 10_000_000, "(" * 5_000_000, "()" * 5_000_000, "\\(" * 5_000_000]
)
def test_a_specifier_of_the_notation_is_of_bounded_length(inside: str) -> None:
    found = mistakes(f"agent a {{\n    allow Bash({inside})\n    alow Read\n}}\n")
    assert f"at most {PATTERN_CHARACTERS:,} characters" in found[0].message
    assert_underlines(found[-1], "alow")


def test_parentheses_nest_deeply() -> None:
    depth = PATTERN_CHARACTERS // 2 - 10
    (matcher,) = matchers("allow Bash(" + "(" * depth + ")" * depth + ")")
    assert matcher.specifier == Text("(" * depth + ")" * depth)


def test_a_file_is_of_bounded_size() -> None:
    assert "at most 16,777,216 bytes" in mistakes("#" * (FILE_BYTES + 1))[0].message
    assert "at most 16,777,216 bytes" in mistakes("#" + "\u00e4" * (FILE_BYTES // 2))[0].message


def test_a_file_has_a_bounded_number_of_rules(monkeypatch) -> None:
    assert parse.RULES == limits.RULES == 200_000
    monkeypatch.setattr(parse, "RULES", 2_000)
    document("agent a {\n allow " + "a, " * 1_998 + "a\n}\n")
    (error,) = mistakes("agent a {\n allow " + "a, " * 1_999 + "a\n}\n")
    assert "at most 2,000 rules, names and comments" in error.message
    document("#\n" * 2_000)
    (error,) = mistakes("#\n" * 2_001)
    assert "at most 2,000 rules" in error.message


def test_reading_is_linear() -> None:
    def read(entries: int) -> None:
        document(
            "agent a {\n allow " + ", ".join(f"Bash(run {n} *)" for n in range(entries)) + "\n}\n"
        )

    assert is_linear(read, 20_000)


@pytest.mark.parametrize("text", ["agent a {\n    deny Bash(rm\0 *)\n}\n", "# a\0\n"])
def test_a_nul_is_refused_at_its_place(text: str) -> None:
    (error,) = mistakes(text)
    assert error.message == "expected text, found a NUL"
    assert error.span is not None
    assert error.span.text == "\0"
