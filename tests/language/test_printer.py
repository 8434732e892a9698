"""Printing parses back to an equal tree, and is settled after once."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from syrupy.assertion import SnapshotAssertion

from policy.core.effect import Effect
from policy.core.source import Source
from policy.language.parse import parse_matcher, parse_notation
from policy.language.printer import print_document, print_matcher, print_name
from policy.language.syntax import (
    Agent,
    Comment,
    Comments,
    Delegate,
    Document,
    Expect,
    Grant,
    Inherit,
    Limit,
    Matcher,
    Never,
    Root,
    Test,
    Text,
    Trust,
    specifier,
)

SPAN = Source("", "").span(0, 0)

TOOLS = st.sampled_from(
    ["Read", "Bash", "Task", "Agent", "mcp__*", "*", "fs.read", "allow", "test", "agent"]
)
INSIDE = st.text(
    st.sampled_from("ab:,* ()\\n\n#\"'{}>\r\u00e9\u202e"), max_size=12
) | st.sampled_from(["a, b", "model:opus", "team:a, team:b", "src/**", "\\)", "\\n", "((", ")("])
MATCHERS = st.builds(
    lambda tool, inside: Matcher(
        tool, None if inside is None else specifier(tool, inside), span=SPAN
    ),
    TOOLS,
    st.none() | INSIDE,
)
NAMES = st.sampled_from(
    ["main", "code-reviewer", "claude:main", "root", "a b", '"', "\\n", "\u00e9", "a\nb"]
) | st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=6
).filter(lambda name: name.strip() and name not in {"*", "**"})
COMMENT_TEXT = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\n\0"), max_size=12
).map(str.rstrip)


@st.composite
def _comments(draw: st.DrawFn, entries: int) -> Comments:
    found = []
    for number in range(1, entries):
        if draw(st.integers(0, 5)) == 0:
            texts = draw(st.lists(COMMENT_TEXT, min_size=1, max_size=2))
            first = draw(st.booleans())
            found += [
                (number, Comment(text, first and i == 0, span=SPAN)) for i, text in enumerate(texts)
            ]
    return tuple(found)


@st.composite
def _lists(draw: st.DrawFn) -> tuple[tuple[Matcher, ...], Comments]:
    matchers = draw(st.lists(MATCHERS, min_size=1, max_size=8))
    return tuple(matchers), draw(_comments(len(matchers)))


GRANTS = st.builds(
    lambda effect, entries: Grant(effect, entries[0], entries[1], span=SPAN),
    st.sampled_from(Effect),
    _lists(),
)
# Behind rules only, which is where the parser takes them.
EXPECTED = st.builds(
    lambda grant, examples: [
        grant,
        *(Expect(effect, *entries, span=SPAN) for effect, entries in examples),
    ],
    GRANTS,
    st.lists(st.tuples(st.sampled_from(Effect), _lists()), max_size=2),
)
DELEGATES = st.builds(lambda entries: Delegate(entries[0], entries[1], span=SPAN), _lists())
LIMITS = st.builds(
    lambda bounds: Limit(tuple(bounds.items()), span=SPAN),
    st.dictionaries(st.sampled_from(["depth", "turns"]), st.integers(0, 999), min_size=1),
)
ONCE = [
    st.just(Inherit(span=SPAN)),
    st.builds(lambda level: Trust(level, span=SPAN), NAMES),
    LIMITS,
]


@st.composite
def _with_comments(draw: st.DrawFn, nodes: list[object], *, inside: bool) -> tuple[object, ...]:
    """Return *nodes* with comments, a trailing one only where a line can take it."""
    body: list[object] = []
    takes = inside
    for node in [None, *nodes]:
        if node is not None:
            body.append(node)
            takes = True
        for text in (
            draw(st.lists(COMMENT_TEXT, max_size=2)) if draw(st.integers(0, 3)) == 0 else []
        ):
            body.append(Comment(text, takes and draw(st.booleans()), span=SPAN))
            takes = False
    return tuple(body)


@st.composite
def _documents(draw: st.DrawFn) -> Document:
    names = draw(st.lists(NAMES, min_size=1, max_size=3, unique=True))
    nodes: list[object] = []
    for name in names:
        once = [draw(strategy) for strategy in ONCE if draw(st.booleans())]
        apart = [[statement] for statement in (*draw(st.lists(DELEGATES, max_size=2)), *once)]
        groups = draw(st.permutations(draw(st.lists(EXPECTED, max_size=3)) + apart))
        statements = [statement for group in groups for statement in group]
        body = draw(_with_comments(statements, inside=True))
        nodes.append(Agent(name, body, span=SPAN))  # type: ignore[arg-type]
    chains = st.lists(st.sampled_from(names), min_size=1, max_size=3).map(tuple)
    if draw(st.booleans()):
        nodes.append(Root(draw(st.sampled_from(names)), span=SPAN))
    if draw(st.booleans()):
        tests = draw(_with_comments(draw(st.lists(GRANTS, max_size=2)), inside=True))
        nodes.append(Test(draw(chains), tests, span=SPAN))  # type: ignore[arg-type]
    if draw(st.booleans()):
        links = st.lists(st.sampled_from([*names, "*", "**"]), min_size=1, max_size=3).map(tuple)
        nodes.append(Never(draw(links), *draw(_lists()), span=SPAN))
    body = draw(_with_comments(draw(st.permutations(nodes)), inside=False))
    return Document(body, span=SPAN)  # type: ignore[arg-type]


def parsed(text: str) -> Document:
    return parse_notation(Source("team.policy", text))


@given(_documents())
def test_printing_parses_back(document: Document) -> None:
    assert parsed(print_document(document)) == document


@given(_documents())
def test_printing_twice_changes_nothing(document: Document) -> None:
    once = print_document(document)
    assert print_document(parsed(once)) == once


@given(MATCHERS)
def test_a_matcher_parses_back(matcher: Matcher) -> None:
    assert parse_matcher(str(matcher)) == matcher
    assert str(parse_matcher(str(matcher))) == str(matcher)


@given(MATCHERS)
def test_a_matcher_reads_the_same_in_the_notation(matcher: Matcher) -> None:
    (agent,) = parsed(f"agent a {{ allow {print_matcher(matcher)} }}").body
    assert isinstance(agent, Agent)
    grant = agent.body[0]
    assert isinstance(grant, Grant)
    assert [str(found) for found in grant.matchers] == [str(matcher)]


def test_only_what_must_be_is_escaped() -> None:
    def printed(text: str) -> str:
        return print_matcher(Matcher("Bash", Text(text), span=SPAN))

    assert printed(r"grep \d (a|b)") == r"Bash(grep \d (a|b))"
    assert printed("echo )") == r"Bash(echo \))"
    assert printed("a\nb") == r"Bash(a\nb)"
    assert printed(r"a\nb") == r"Bash(a\\nb)"
    assert printed("end\\") == r"Bash(end\\)"


def test_a_name_is_quoted_where_it_must_be() -> None:
    assert print_name("claude:main") == "claude:main"
    assert print_name("two words") == '"two words"'
    assert print_name("root") == '"root"'


UNTIDY = """\
#!/usr/bin/env policy
# a team
root   main
agent main{ # may do most
allow Read,Grep,   Bash( git diff *),Task(explore,reviewer)
  # a question of taste
  ask Edit(src/**), # sources
  # and the manual
    Edit(docs/**)  # both
  deny mcp__github__create_the_issue, mcp__github__delete_issue, mcp__github__merge,
    mcp__github__close_issue


  trust   verified
}
agent explore {allow Read}
   # nothing
agent reviewer {}  # yet
never **>explore : Edit,Write # proven
never main > * > reviewer: Bash
## end
"""


def test_a_file_is_printed_in_canonical_form(text: SnapshotAssertion) -> None:
    printed = print_document(parsed(UNTIDY))
    assert printed == text
    assert printed.count("#") == UNTIDY.count("#")
