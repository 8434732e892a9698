"""How arguments are brought into the one form that patterns match."""

from __future__ import annotations

import pytest

from policy.compare.witness import CallShape
from policy.core import values
from policy.core.decision import Reason
from policy.core.effect import Effect
from policy.files.trees import Memory
from policy.hosts.workspace import load_tree
from policy.patterns import notations
from policy.patterns.domains import PATHS
from policy.patterns.pattern import Pattern, PatternKind
from policy.tables.calls import (
    Unreadable,
    argument_text,
    canonical_path,
    case_variant,
    is_within,
    parameter_text,
    real_path,
)
from policy.tables.dialect import Argument, ArgumentKind, Dialect
from policy.tables.row import NO_FIELD
from policy.tables.ruleset import Entry, RuleSet
from policy.tables.table import Table
from tests.strategies import table

PLAIN = Dialect("test", cwd="/site", home="/home/me")
TEXT = Argument(ArgumentKind.TEXT, ("text",))
ANY = Argument(ArgumentKind.TEXT, ())
URL = Argument(ArgumentKind.URL, ("url",))


@pytest.mark.parametrize(
    ("path", "canonical"),
    [
        ("a", "/site/a"),
        ("./a", "/site/a"),
        ("a/", "/site/a"),
        ("a//b", "/site/a/b"),
        ("a/./b", "/site/a/b"),
        ("a/../b", "/site/b"),
        ("../a", "/a"),
        ("../../../a", "/a"),
        ("/a", "/a"),
        ("//a", "/a"),
        ("/", ""),
        ("/..", ""),
        (".", "/site"),
        ("..", ""),
        ("~", "/home/me"),
        ("~/", "/home/me"),
        ("~/a/../b", "/home/me/b"),
        ("~/../a", "/home/a"),
        ("~me/a", "/site/~me/a"),
        ("a~", "/site/a~"),
        (" a", "/site/ a"),
        ("...", "/site/..."),
        ("A", "/site/A"),
        (".a/..b/c..", "/site/.a/..b/c.."),
        ("a\\b", "/site/a\\b"),
        ("\u00e9", "/site/\u00e9"),
    ],
)
def test_a_path_is_absolute_and_canonical(path: str, canonical: str) -> None:
    found = canonical_path(path, PLAIN)
    assert found == canonical
    assert canonical_path(found or "/", PLAIN) == found
    assert PATHS.holds(found)


@pytest.mark.parametrize("blank", [" ", "\t", "\ufeff"])
@pytest.mark.parametrize("path", ["/a", "/a/b", "/.x", "/ a", "/a /b", "/..a", "/a /", "/", "/.."])
def test_a_path_of_a_witness_is_read_as_it_stands(path: str, blank: str) -> None:
    trimming = Argument(ArgumentKind.PATH, ("file",), trimmed=True)
    for argument in (trimming, values.evolve(trimming, trimmed=False)):
        domain = CallShape(PLAIN, argument).domain
        for text in (path, path + blank):
            try:
                stands = argument_text(argument, PLAIN, {"file": text}) == text
            except Unreadable:
                stands = False
            assert domain.holds(text) == stands, text


@pytest.mark.parametrize("path", ["", "\0", "a\0b", "a/\0"])
def test_a_path_that_is_no_name_cannot_be_read(path: str) -> None:
    with pytest.raises(Unreadable):
        canonical_path(path, PLAIN)


def test_a_home_or_folder_at_the_root_leaves_one_slash() -> None:
    at_root = values.evolve(PLAIN, cwd="", home="")
    assert [canonical_path(path, at_root) for path in ("a", "~/a", "~", ".")] == [
        "/a",
        "/a",
        "",
        "",
    ]


def test_case_is_folded_where_the_host_does() -> None:
    folding = values.evolve(PLAIN, fold=True)
    assert canonical_path("A/B", folding) == "/site/a/b"
    assert canonical_path("STRA\xdfE/\xc9", folding) == "/site/stra\xdfe/\xe9"
    for other in ("STRASSE", "stra\u1e9ee"):  # one letter each, and neither is another's capital
        assert canonical_path(other, folding) != canonical_path("stra\xdfe", folding)


@pytest.mark.parametrize(
    ("url", "host"),
    [
        ("https://example.com/x", "example.com"),
        ("HTTP://Example.COM.", "example.com"),
        ("https://user:secret@example.com:8080/", "example.com"),
        ("https://example.com@evil.test/", "evil.test"),
        ("https://example.com#@evil.test/", "example.com"),
        ("https://example.com?@evil.test/", "example.com"),
        ("https://b\xfccher.example/", "xn--bcher-kva.example"),
        ("https://127.0.0.1/", "127.0.0.1"),
        ("https://[::1]/", "::1"),
        ("https://example.com/a%20b", "example.com"),
    ],
)
def test_the_host_of_a_url(url: str, host: str) -> None:
    assert argument_text(URL, PLAIN, {"url": url}) == host


@pytest.mark.parametrize(
    "url",
    [
        "",
        "example.com",
        "/a",
        "https://",
        "https:///evil.test",
        "http://evil.test\\@example.com/",
        "http://example.com\\.evil.test/",
        "https://exa\tmple.com/",
        "https://example.com/\n",
        " https://example.com",
        "https://exam%70le.com/",
        "https://fa\xdf.de/",
        "https://a\u200db.example/",
        "https://[::1",
        "https://0x7f.1/",
        "https://2130706433/",
        "https://127.1/",
        "https://0177.0.0.1/",
    ],
)
def test_a_url_that_programs_read_differently_is_not_read(url: str) -> None:
    with pytest.raises(Unreadable):
        argument_text(URL, PLAIN, {"url": url})
    assert table("allow WebFetch(*)").decide("WebFetch", {"url": url}).effect is Effect.DENY


def test_names_of_one_argument_must_agree() -> None:
    both = Argument(ArgumentKind.TEXT, ("a", "b"))
    assert argument_text(both, PLAIN, {"b": "x"}) == "x"
    assert argument_text(both, PLAIN, {"a": "x", "b": "x"}) == "x"
    for call in ({"a": "x", "b": "y"}, {"a": "x", "b": None}, {"a": 1}, {}):
        with pytest.raises(Unreadable):
            argument_text(both, PLAIN, call)


def test_an_argument_may_be_left_out_where_that_means_something() -> None:
    folder = Argument(ArgumentKind.PATH, ("path",), absent=".")
    assert argument_text(folder, PLAIN, {}) == "/site"
    with pytest.raises(Unreadable):
        argument_text(folder, PLAIN, {"path": None})


def test_a_tool_nobody_described_has_one_text_or_all_of_it() -> None:
    assert argument_text(ANY, PLAIN, {"x": "a b"}) == "a b"
    assert argument_text(ANY, PLAIN, {"b": 1, "a": "\xe9"}) == '{"a":"\xe9","b":1}'
    assert argument_text(ANY, PLAIN, {}) == "{}"
    with pytest.raises(Unreadable):
        argument_text(ANY, PLAIN, {"a": object()})


def test_a_call_that_holds_itself_cannot_be_read() -> None:
    call: dict[str, object] = {"a": 1}
    call["b"] = call
    with pytest.raises(Unreadable):
        argument_text(ANY, PLAIN, call)


@pytest.mark.parametrize(
    ("fields", "names"),
    [(("a",), ("a", None)), (("a", "b"), ("a", "b")), (("a", "b", "c"), (None, None)), ((), ())],
)
def test_an_argument_of_one_or_two_names_decides_alone(fields, names) -> None:
    argument = Argument(ArgumentKind.TEXT, fields)
    entry = Entry("t", Effect.ALLOW, Pattern.text("x*"))
    row = RuleSet((entry,), Effect.DENY, Dialect("test", {"t": argument})).row("t")
    assert [row.field, row.alias] == [name or NO_FIELD for name in (*names, None, None)[:2]]
    table = Table.of(row.ruleset)
    for name in fields or ("q",):
        assert table.decide("t", {name: "x"}).effect is Effect.ALLOW
        assert table.decide("t", {name: "y"}).effect is Effect.DENY
    for other in fields[1:]:
        both = table.decide("t", {"a": "x", other: "y"})
        assert (both.effect, both.reason) == (Effect.DENY, Reason.MALFORMED)


@pytest.mark.parametrize(
    ("effects", "kept", "told"),
    [
        ("allow=x allow", [], "allow"),
        ("deny=x allow=y allow", ["deny=x"], "allow"),
        ("allow=x deny=y allow", ["allow=x", "deny=y"], "allow"),
        ("allow=x deny=y deny=z deny", ["allow=x"], "deny"),
        ("allow allow=x deny", [], "allow"),
        ("ask=x", ["ask=x"], ""),
    ],
)
def test_a_row_has_no_rule_that_one_for_every_call_makes_needless(effects, kept, told) -> None:
    lines = []
    for rule in effects.split():
        effect, _, text = rule.partition("=")
        lines.append(Entry("t", Effect(effect), Pattern.text(text) if text else None, rule=rule))
    row = RuleSet(tuple(lines), Effect.ASK, Dialect("test")).row("t")
    assert [entry.rule for entry in row.entries] == kept
    assert [entry.rule for entry in row.default.entries] == [told] * bool(told)
    assert (row.constant is row.default) is (not kept)


def test_a_rule_with_another_reason_stays_in_a_row() -> None:
    lines = (
        Entry("t", Effect.DENY, Pattern.text("x"), reason=Reason.DEPTH),
        Entry("t", Effect.DENY),
    )
    assert RuleSet(lines, Effect.ASK, Dialect("test")).row("t").entries == lines[:1]


def test_so_many_links_are_followed() -> None:
    for count, is_found in ((39, True), (40, False)):
        links = [(f"/{number}", f"/{number + 1}") for number in range(count)]
        if is_found:
            assert real_path("/0/x", links) == f"/{count}/x"
        else:
            with pytest.raises(Unreadable):
                real_path("/0/x", links)


@pytest.mark.parametrize(
    ("path", "host", "is_inside"),
    [
        ("/w/App", {"cwd": "/w/App"}, True),
        ("/w/App/a", {"cwd": "/w/App"}, True),
        ("/w/Apple", {"cwd": "/w/App"}, False),
        ("/w/app/a", {"cwd": "/w/App"}, False),
        ("/w/app/a", {"cwd": "/w/App", "fold": True}, True),
        ("/w/app/a", {"cwd": "/w/App", "cased": ("/q", "/w/App"), "fold": True}, True),
        ("/w/App/a", {"cwd": "/w/App", "cased": ("/q",)}, False),
    ],
)
def test_a_path_is_within_a_folder_of_the_host(path, host, is_inside) -> None:
    assert is_within(path, Dialect("test", **host)) is is_inside


@pytest.mark.parametrize(
    ("path", "host", "variant"),
    [
        ("A", {}, "/site/A"),
        ("A", {"fold": True}, "/site/a"),
        ("/w/App/A", {"cased": ("/w/App",)}, "/w/app/a"),
        ("/W/App/A", {"cased": ("/w/App",)}, "/\x1f/\x1f\x1f\x1f/a"),
        ("/Q/A", {"cased": ("/w/App", "/q")}, "/\x1f/a"),
    ],
)
def test_a_path_in_other_letters_may_be_another_file(path, host, variant) -> None:
    assert case_variant(path, values.evolve(PLAIN, **host)) == variant


def test_an_argument_that_is_absent_is_what_the_host_says() -> None:
    for kind, fields in (
        (ArgumentKind.LENIENT, ("a",)),
        (ArgumentKind.FILES, ("a", "b")),
        (ArgumentKind.TEXT, ("a",)),
    ):
        argument = Argument(kind, fields, absent="x")
        assert argument_text(argument, PLAIN, {}) == "x"
        assert argument_text(argument, PLAIN, {"a": ""}) == ""


def test_a_url_that_a_browser_reads_is_one_for_a_host_that_browses() -> None:
    browsed = values.evolve(URL, browsed=True)
    assert argument_text(browsed, PLAIN, {"url": "https://[::1]/"}) == "[::1]"
    assert argument_text(browsed, PLAIN, {"url": "https://a.com/"}) == "a.com"
    with pytest.raises(Unreadable):
        argument_text(browsed, PLAIN, {"url": "https://a.com./"})


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("a", "a"),
        (True, "true"),
        (False, "false"),
        (5, "5"),
        (1.5, "1.5"),
        (None, None),
        ([], None),
    ],
)
def test_a_parameter_is_a_scalar_as_rules_write_it(value: object, text: str | None) -> None:
    assert parameter_text(value) == text


@pytest.mark.parametrize(
    ("url", "effect"),
    [
        ("https://a.com/docs", Effect.ALLOW),
        ("https://a.com/docs/x", Effect.ALLOW),
        ("https://a.com/docsx", Effect.ASK),
        ("https://a.com/x/../docs", Effect.ALLOW),
        ("https://a.com/docs/../x", Effect.ASK),
        ("https://a.com/docs/private", Effect.DENY),  # by an earlier entry
        ("https://a.com", Effect.ASK),
        ("https://b.com/docs", Effect.ASK),
    ],
)
def test_a_host_may_be_named_with_a_part_of_a_path(url: str, effect: Effect) -> None:
    said = (("a.com/docs/private", Effect.DENY), ("a.com/docs", Effect.ALLOW))
    entries = [
        Entry("fetch", each, Pattern.exactly(name, PatternKind.HOST))
        for name, each in (*said, ("a.com/docs", Effect.ASK))
    ]
    dialect = Dialect("test", arguments={"fetch": URL})
    rules = Table.of(RuleSet(tuple(entries), Effect.ASK, dialect))
    assert rules.decide("fetch", {"url": url}).effect is effect


@pytest.mark.parametrize("call", [{"path": "SRC/a"}, {"path": "SRC/a", "file_path": "SRC/a"}])
@pytest.mark.parametrize("links", [(), (("/@project/l", "/etc"),)])
def test_a_host_that_minds_the_case_of_paths_judges_them_in_one(call, links) -> None:
    arguments = {"read": Argument(ArgumentKind.PATH, ("path", "file_path"))}
    dialect = Dialect("test", arguments=arguments, links=links)
    (pattern,) = notations.paths("SRC/**", dialect.cwd, fold=False)
    table = Table.of(RuleSet((Entry("read", Effect.ALLOW, pattern),), Effect.DENY, dialect))
    assert table.decide("read", call).effect is Effect.ALLOW
    assert table.decide("read", {"path": "src/a"}).effect is Effect.DENY


def test_a_text_in_place_of_the_arguments_is_an_error_that_names_the_mend() -> None:
    chain = load_tree(Memory({"main.policy": "agent main {\n    allow Bash(ls *)\n}\n"})).chain(
        "main"
    )
    for decide in (chain.decide, chain.table.decide):
        with pytest.raises(TypeError, match=r"pass them as \{'command': 'ls'\}"):
            decide("Bash", "ls")


@pytest.mark.parametrize("tool", [None, 5, b"Bash", ["Bash"]])
def test_what_is_no_name_of_a_tool_is_said_to_be_none(tool) -> None:
    project = load_tree(Memory({".claude/settings.json": "{}"})).chain("main")
    for decider in (project, project.table):
        with pytest.raises(TypeError, match="expected the name of a tool, found"):
            decider.decide(tool, {})
