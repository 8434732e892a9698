"""The host and the path of a URL that every program reads alike."""

from __future__ import annotations

import pytest

from policy.core.urls import read_url


@pytest.mark.parametrize(
    ("url", "host"),
    [
        ("https://example.com", "example.com"),
        ("HTTPS://Example.COM:8443/x", "example.com"),
        ("https://example.com./", "example.com."),
        ("https://user:p@example.com/", "example.com"),
        ("https://a@b@example.com/", "example.com"),
        ("https://example.com@evil.test/", "evil.test"),
        ("https://example.com#@evil.test/", "example.com"),
        ("https://example\u3002com/", "example.com"),
        ("https://\uff45xample.com/", "example.com"),
        ("https://exam\xadple.com/", "example.com"),
        ("https://B\xdcCHER.example/", "xn--bcher-kva.example"),
        ("http://127.0.0.1/", "127.0.0.1"),
        ("https://[0:0::1]:8/", "[::1]"),
        ("ftp://example.com", "example.com"),
    ],
)
def test_a_host_is_read_however_it_is_spelled(url: str, host: str) -> None:
    found = read_url(url)
    assert found is not None
    assert found[0] == host


@pytest.mark.parametrize(
    "url",
    [
        "",
        "example.com",
        "https:example.com",
        r"https:\\example.com\x",
        "https:///example.com",
        " https://example.com\n",
        "https://exam\tple.com/",
        "https://ex%61mple%2Ecom/",
        r"https://example.com\@evil.test/",
        "https://fa\xdf.example/",
        "https://%C3%BC.example/",
        "http://0x7f000001/",
        "http://0177.0.0x1/",
        "http://2130706433/",
        "http://127.0.0.1./",
        "http://1.2.3/",
        "https://a..b/",
        "//example.com",
        "https://",
        "https://user@/",
        "https://exa mple.com/",
        "https://exa%00mple.com/",
        "https://evil.test%2f.example.com/",
        "https://example.com:99999/",
        "https://example.com:8a/",
        "https://1.2.3.4.5/",
        "https://256.1.1.1/",
        "https://1.2.3.09/",
        "https://0x100000000/",
        "https://[::1/",
        "https://[::1]x/",
        "https://[::g]/",
        "https://a\u200db.example/",
        "https://\ufffd.example/",
        "file:///etc/passwd",
        "data:text/html,x",
        "blob:https://example.com/x",
    ],
)
def test_what_some_program_reads_otherwise_has_no_host(url: str) -> None:
    assert read_url(url) is None


def test_a_path_ends_before_what_is_asked_for() -> None:
    assert read_url("https://a.test/b/c?d#e") == ("a.test", "/b/c")
    assert read_url("https://a.test?d/e") == ("a.test", "/")
