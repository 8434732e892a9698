"""The host and the path of a URL that all programs read alike.

A URL that programs read differently, such as ``http://0x7f.1``, has none.

    >>> read_url("https://user@Example.COM:8443/docs?x")
    ('example.com', '/docs')
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from urllib.parse import urlsplit

from policy.core import expressions as re
from policy.core.values import Final

_SCHEMES: Final = frozenset({"http", "https", "ws", "wss", "ftp"})
_AMBIGUOUS: Final = re.compile(r"[\\\s\x00-\x1f\x7f]|//[^/?#]*(?:%|\][^:/?#])")
_FORBIDDEN: Final = re.compile(r"[\x00-\x20\"#%/:<>?@\[\\\]^`{|}\x7f]")
# Letters that browsers encode by a newer standard of IDNA than Python.
_OTHER_IN_IDNA: Final = frozenset("\xdf\u1e9e\u03c2\u200c\u200d")
_NUMERIC: Final = re.compile(r"(?:.*\.)?(?:[0-9]+|0x[0-9a-f]*)\.?")
_ADDRESS: Final = re.compile(r"(?:(?:[1-9]?[0-9]|1[0-9]{2}|2[0-4][0-9]|25[0-5])(?:\.(?!\Z)|\Z)){4}")


def read_url(text: str) -> tuple[str, str] | None:
    """Return the host of a URL, without a port, and its path; None if it has no certain host."""
    if _AMBIGUOUS.search(text):
        return None
    try:
        parts = urlsplit(text)
        host, _ = parts.hostname, parts.port
        name = _name(host) if host and parts.scheme in _SCHEMES else None
    except ValueError:
        return None
    return None if name is None else (name, parts.path or "/")


def _name(host: str) -> str | None:
    """Return the canonical form of *host* in ASCII, or None. Raises UnicodeError by IDNA."""
    if ":" in host:
        return sixth_address(host)
    if not host.isascii():
        for letter in host:
            if letter in _OTHER_IN_IDNA or unicodedata.ucd_3_2_0.category(letter) == "Cn":
                return None
        host = host.encode("idna").decode("ascii")
    host = host.lower()
    if "" in host.removesuffix(".").split(".") or _FORBIDDEN.search(host):
        return None
    return None if _NUMERIC.fullmatch(host) and not _ADDRESS.fullmatch(host) else host


def sixth_address(text: str) -> str | None:
    """Return the IPv6 address *text* as browsers write it, ``[::1]``; None for any other text."""
    from ipaddress import AddressValueError, IPv6Address  # noqa: PLC0415  # few URLs have one

    try:
        address = IPv6Address(text)
    except AddressValueError:
        return None
    if "%" in text:
        return None
    mapped = int(address.ipv4_mapped or 0)
    # Later versions of Python write the end of these with dots.
    end = f"::ffff:{mapped >> 16:x}:{mapped & 0xFFFF:x}"
    return f"[{end if address.ipv4_mapped else address.compressed}]"


_DOT: Final = re.compile("%2e", re.IGNORECASE)


def addresses(url: str) -> Iterator[str]:
    """Yield the host of a URL with each part of its path: ``a.com/docs``, ``a.com/docs/api``."""
    address, path = read_url(url) or ("", "")
    segments: list[str] = []
    for segment in path.split("/")[1:]:
        decoded = _DOT.sub(".", segment)
        if decoded == "..":
            del segments[-1:]
        elif decoded != ".":
            segments.append(segment)
    for segment in segments:
        address += "/" + segment
        yield address
