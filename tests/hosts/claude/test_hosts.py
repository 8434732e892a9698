"""Addresses that Claude Code 2.1.329 fetches from without asking, as they are spelled."""

from __future__ import annotations

import json

import pytest

from policy.files.trees import Memory
from policy.hosts.claude.front_end import ClaudeOptions, load
from policy.tables.chain import Chain


def _enforced(**lists: list[str]) -> Chain:
    files = {".claude/settings.json": json.dumps({"permissions": lists})}
    (project,) = load(Memory(files), ClaudeOptions())
    return Chain.start("main", project.enforced)


def _fetched(url: str, **lists: list[str]) -> str:
    return str(_enforced(**lists).decide("WebFetch", {"url": url}).effect)


@pytest.mark.parametrize(
    ("url", "effect"),
    [
        ("https://nodejs.org/", "allow"),
        ("http://NODEJS.org:8443/a?b#c", "allow"),
        ("https://nodejs.org./", "deny"),
        ("https://www.nodejs.org/", "ask"),
        ("https://github.com/anthropics", "allow"),
        ("https://GITHUB.com:8443/anthropics/x", "allow"),
        ("https://github.com/anthropics?x", "allow"),
        ("https://github.com/x/../anthropics/y", "allow"),
        ("https://github.com/anthropics/../x", "ask"),
        ("https://github.com/anthropics/%2e%2E/x", "ask"),
        ("https://github.com/anthropicsx", "ask"),
        ("https://github.com/Anthropics/x", "ask"),
        ("https://github.com//anthropics/x", "ask"),
        ("https://github.com/%61nthropics/x", "ask"),
        ("https://github.com./anthropics/x", "deny"),
        ("https://github.com/", "ask"),
        ("https://huggingface.co/docs/x", "allow"),
        ("https://kaggle.com/docs", "ask"),
    ],
)
def test_a_known_address_is_auto_allowed_as_it_is_spelled_alone(url: str, effect: str) -> None:
    assert _fetched(url) == effect


@pytest.mark.parametrize(
    "url",
    ["https://NODEJS.org/", "https://github.com/y", "https://github.com/anthropics/x"],
)
@pytest.mark.parametrize("effect", ["deny", "ask", "allow"])
def test_a_rule_applies_to_a_host_however_it_is_spelled(url: str, effect: str) -> None:
    rules = ["WebFetch(domain:nodejs.org)", "WebFetch(domain:github.com)"]

    assert _fetched(url, **{effect: rules}) == effect


@pytest.mark.parametrize(
    "url",
    [
        "http://0x7f000001/",
        "http://127.1",
        "http://127%2e0.0.1/",
        r"http:\\127.0.0.1\x",
        " http://127.0.0.1/",
        "http://127.0.0.1../",
    ],
)
@pytest.mark.parametrize("effect", ["deny", "ask", "allow"])
def test_an_address_that_browsers_alone_read_so_is_denied(url: str, effect: str) -> None:
    assert _fetched(url, **{effect: ["WebFetch(domain:127.0.0.1)"]}) == "deny"


@pytest.mark.parametrize("url", ["https://a..test/", "https://.test/", "data:text/html,x"])
def test_what_has_no_name_is_not_fetched_from(url: str) -> None:
    assert _fetched(url, allow=["WebFetch(domain:*.test)"]) == "deny"


def test_dots_at_the_end_of_a_name_are_no_part_of_it() -> None:
    assert _fetched("https://a.test./", deny=["WebFetch(domain:a.test..)"]) == "deny"


@pytest.mark.parametrize(
    ("rule", "url", "denied"),
    [
        ("[::1]", "https://[::1]/", True),
        ("[::1]", "https://[0:0::1]:8080/x", True),
        ("[::1]", "http://u:p@[::1]", True),
        ("[::1].", "https://[::1]/", True),
        ("[::1]", "https://[::2]/", False),
        ("[2001:DB8::1]", "https://[2001:db8:0:0::1]:443/", True),
        ("[::ffff:102:304]", "https://[::FFFF:1.2.3.4]/", True),
        ("[2001:db8::*]", "https://[2001:DB8::1]/", True),
        ("[0::1]", "https://[::1]/", False),
        ("::1", "https://[::1]/", False),
        ("[::1]:8080", "https://[::1]:8080/", False),
        ("[fe80::1%eth0]", "https://[fe80::1]/", False),
        ("x.com", "https://[fe80::1%25eth0]/", True),
        ("x.com", "https://[::1/", True),
        ("x.com", "https://[::g]/", True),
    ],
)
def test_a_rule_that_denies_matches_an_address_in_brackets(
    rule: str, url: str, *, denied: bool
) -> None:
    found = _fetched(url, deny=[f"WebFetch(domain:{rule})"], allow=["WebFetch"])
    assert found == ("deny" if denied else "allow")


@pytest.mark.parametrize(
    ("rule", "effect"), [("[::1]", "allow"), ("*", "allow"), ("[*]", "ask"), ("*]", "ask")]
)
def test_no_star_beside_a_bracket_allows(rule: str, effect: str) -> None:
    assert _fetched("https://[::1]/", allow=[f"WebFetch(domain:{rule})"]) == effect
