"""A path is walked as it is given only where that says what its canonical form would."""

from __future__ import annotations

from collections.abc import Iterator

import attrs
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from policy.core import limits
from policy.core.effect import Effect
from policy.patterns import notations
from policy.patterns.automaton import Automaton
from policy.patterns.pattern import Pattern
from policy.tables.calls import Unreadable, canonical_path, case_variant
from policy.tables.dialect import Argument, ArgumentKind, Dialect
from policy.tables.row import GivenPaths, given_paths
from policy.tables.ruleset import Entry, RuleSet
from policy.tables.table import Table

_GLOBS = ("src/**", "*.py", "/**", "a", "a/*/b", "**/.env", "~/x/**", "A/**", "\xdf/**", "b?/**")

pieces = st.sampled_from(
    "a|b|A|/|/|.|..|./|/.|~|~/|\0|src|x.py|//|\xdf|\u0130|\ufb01|/@project/|/@Project/|\n| ".split(
        "|"
    )
)
paths = st.lists(pieces, max_size=6).map("".join)
folders = st.sampled_from(["/@project", "", "/", "/a", "/A/b", "/a/.b", "/a/../b", "/\u0130", "/~"])


@st.composite
def dialects(draw: st.DrawFn) -> Dialect:
    cwd, fold = draw(folders), draw(st.booleans())
    cased = draw(st.sampled_from([(), (), (cwd,), ("/A",), ("/a", cwd)])) if fold else ()
    home = draw(st.sampled_from(["/@home", "/"]))
    return Dialect("test", cwd=cwd, home=home, fold=fold, cased=cased)


def _patterns(globs: list[str], dialect: Dialect) -> Iterator[Pattern]:
    for glob in globs:
        root = dialect.home if glob.startswith("~") else dialect.cwd
        yield from notations.paths(glob.removeprefix("~/"), root, fold=dialect.fold)


def _said(automaton: Automaton, path: str, dialect: Dialect) -> int | None:
    try:
        text = canonical_path(path, dialect)
    except Unreadable:
        return None
    return automaton.first(text) if case_variant(path, dialect) == text else None


@given(st.lists(st.sampled_from(_GLOBS), min_size=1, max_size=3), dialects(), st.lists(paths))
@example(["**/.env"], Dialect("x", cwd="/@project"), ["../.env", "a/./.env", "~", "", "a//.env"])
@example(["\xdf/**"], Dialect("x", cwd="/a", fold=True), ["\xdf/a", "SS/a", "s/a", "\xdf"])
def test_what_is_plain_is_judged_as_its_canonical_form(globs, dialect, asked) -> None:
    tokens = tuple(pattern.tokens for pattern in _patterns(globs, dialect))
    base = Automaton(tokens, "/")
    walked = given_paths(base, tokens, dialect)
    for path in asked if walked else ():
        for _ in range(2):  # the second time by what the first one left
            plain = walked.state(path).plain
            assert plain is None or plain == _said(base, path, dialect), path


@pytest.mark.parametrize(
    ("path", "is_plain"),
    [
        *((path, True) for path in ("src/a.py", "/etc/passwd", ".github/x", "a..b/c", "~x/y")),
        *((path, True) for path in ("a/.b", "...", "SRC/A", "a\nb")),
        *((path, False) for path in ("", "/", "a/", "./a", "a/.", "../a", "a/..", "a/../b")),
        *((path, False) for path in ("~", "~/a", "a//b", "a\0", "\0")),
        *((path, False) for path in (" a", "a ", "\ufeffa", "/a\n")),
    ],
)
@pytest.mark.parametrize("fold", [False, True])
def test_paths_with_nothing_to_mend_are_plain(path: str, is_plain: bool, fold: bool) -> None:
    dialect = Dialect("test", cwd="/@project/.x", fold=fold)
    walked = given_paths(Automaton(()), (), dialect)
    assert walked is not None
    assert (walked.state(path).plain is not None) is is_plain


def test_paths_that_may_be_others_are_not_walked() -> None:
    dialect = Dialect("test", cwd="/repo", fold=True)
    for unsure in ({"links": (("/l", "/t"),)}, {"drives": True}, {"cased": ("/Repo",)}):
        assert given_paths(Automaton(()), (), attrs.evolve(dialect, **unsure)) is None


def test_what_is_forgotten_is_walked_again_from_the_same_beginning(monkeypatch) -> None:
    monkeypatch.setattr(limits, "CACHE_ENTRIES", 3)
    tokens = tuple(pattern.tokens for pattern in notations.paths("src/**", "/@project", fold=False))
    walked = GivenPaths(tokens, "/@project")
    for number in range(50):
        plain = [walked.state(path + str(number)).plain for path in ("src/", "other/", "/src/")]
        assert plain[0] == 0
        assert plain[1] == plain[2] != 0


@pytest.mark.parametrize("call", [{"path": "SRC/a"}, {"path": "SRC/a", "file_path": "SRC/a"}])
@pytest.mark.parametrize("links", [(), (("/@project/l", "/etc"),)])
def test_a_host_that_minds_the_case_of_paths_judges_them_in_one(call, links) -> None:
    arguments = {"read": Argument(ArgumentKind.PATH, ("path", "file_path"))}
    dialect = Dialect("test", arguments=arguments, links=links)
    (pattern,) = notations.paths("SRC/**", dialect.cwd, fold=False)
    table = Table.of(RuleSet((Entry("read", Effect.ALLOW, pattern),), Effect.DENY, dialect))
    assert table.decide("read", call).effect is Effect.ALLOW
    assert table.decide("read", {"path": "src/a"}).effect is Effect.DENY
