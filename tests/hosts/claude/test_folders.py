"""What a pattern has in some folder: just the paths that both match."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from policy.hosts.claude.paths import moved, within
from policy.patterns import notations
from policy.patterns.pattern import Pattern

NAMES = ("a", "b")
GLOBS = (
    *("**", "a/**", "/a/b/**", "/a", "b", "*", "/*", "/x/*/b", "**/a/*/b", "*.x", "/a/b", "/a/b/c"),
    *("**/b/a/b/**", "/?/b*/x", "/[ab]/[!x]/**", "a/**/b", "/**/a/**/a/b", "/a*/*b/", "x/**"),
)
paths = st.lists(st.sampled_from(["a", "b", "x", "ab", "a.x"]), min_size=1, max_size=6)


def _matches(patterns: tuple[Pattern, ...], path: str) -> bool:
    return any(Pattern.exactly(path, each.kind) <= each for each in patterns)


@given(st.sampled_from(GLOBS), st.sampled_from(["", "/x", "/a"]), paths)
def test_a_pattern_is_moved_with_what_it_matches_in_a_folder(glob, anchor, segments) -> None:
    whole = notations.paths(glob, anchor)
    there = tuple(part for pattern in whole for part in moved(pattern, "/a/b", "/x"))
    behind = "/".join(["", *segments])

    assert _matches(there, "/x" + behind) == _matches(whole, "/a/b" + behind)


@given(st.sampled_from(GLOBS), st.sampled_from(["", "/x", "/a"]), paths)
def test_what_a_pattern_has_in_a_folder_is_what_both_match(glob, anchor, segments) -> None:
    whole = notations.paths(glob, anchor)
    inside = tuple(part for pattern in whole for part in within(pattern, NAMES))
    path = "/" + "/".join(segments)
    held = _matches(notations.paths("**/" + "/".join(NAMES)), path)

    assert _matches(inside, path) == (held and _matches(whole, path))
