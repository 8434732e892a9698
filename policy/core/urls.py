r"""What a URL says, as browsers read it (WHATWG URL): the host behind every way to spell it.

    >>> read_url(" HTTPS:/user@Ex%61mple.COM:8443\\docs?x")
    ('example.com', '/docs')
    >>> read_url("http://0x7f.1/")
    ('127.0.0.1', '/')

What is invalid there is None here, and so is what has no host or belongs to no scheme of the
web, e.g. ``file:`` and ``data:``.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from urllib.parse import unquote_to_bytes, urlsplit

from policy.core import expressions as re
from policy.core.values import Final

__all__ = ["addresses", "plain_host", "read_url", "sixth_address"]

_AROUND: Final = "".join(map(chr, range(33)))
_BREAKS: Final = str.maketrans("", "", "\t\n\r")
_URL: Final = re.compile(
    r"(?:https?|wss?|ftp):[/\\]*"
    r"(?:[^/\\?#]*@)?(?P<host>\[[^/\\?#]*\]|[^/\\?#:]*)(?::(?P<port>[0-9]*))?"
    r"(?P<path>(?:[/\\][^?#]*)?)(?:[?#].*)?",
    re.IGNORECASE | re.DOTALL,
)
_HIGHEST_PORT: Final = 65_535

_FORBIDDEN: Final = re.compile(r"[\x00-\x20\"#%/:<>?@\[\\\]^`{|}\x7f]")
_DOTS: Final = re.compile("[.\u3002\uff0e\uff61]")
# What an older standard, that of Python, reads as other letters, and this one as themselves.
_KEPT: Final = re.compile("([\xdf\u03c2])")
_NUMBER: Final = re.compile(r"[0-9]+|0x[0-9a-f]*")


def read_url(text: str) -> tuple[str, str] | None:
    """Return the host of a URL, without a port, and its path; None where it has none."""
    found = _URL.fullmatch(text.strip(_AROUND).translate(_BREAKS))
    if found is None or int(found["port"] or 0) > _HIGHEST_PORT:
        return None
    host = _host(found["host"])
    return None if host is None else (host, found["path"].replace("\\", "/") or "/")


def _host(text: str) -> str | None:
    if text.startswith("["):
        return sixth_address(text[1:-1])
    try:
        name = unquote_to_bytes(text).decode()
        host = name.lower() if name.isascii() else ".".join(map(_label, _DOTS.split(name)))
    except UnicodeError:
        return None
    if not host or _FORBIDDEN.search(host):
        return None
    labels = host.removesuffix(".").split(".")
    return _address(labels) if _NUMBER.fullmatch(labels[-1]) else host


def _label(label: str) -> str:
    """Return one label of a name in letters of ASCII.

    Raises:
        UnicodeError: there is no such label, or standards differ on what it is.

    """
    from encodings.idna import nameprep  # noqa: PLC0415  # few names need it

    if label.isascii():
        return label.lower()
    if any(map(_is_doubtful, label)):
        msg = "a label that not every standard reads alike"
        raise UnicodeError(msg)
    known = "".join(p if _KEPT.fullmatch(p) else nameprep(p) for p in _KEPT.split(label))
    return known if known.isascii() else "xn--" + known.encode("punycode").decode()


def _is_doubtful(letter: str) -> bool:
    unknown = unicodedata.ucd_3_2_0.category(letter) == "Cn"  # to the standard that Python has
    return unknown or letter in "\u1e9e\u200c\u200d"


def _address(labels: list[str]) -> str | None:
    """Return an address of four numbers, of which the last may stand for several."""
    numbers = [_number(label) for label in labels]
    *bytes_, last = numbers
    rest = 4 - len(bytes_)
    if rest < 1 or last is None or last >= 256**rest:
        return None
    value = last
    for index, byte in enumerate(bytes_):
        if byte is None or byte > 255:
            return None
        value += byte << 8 * (3 - index)
    return ".".join(str(byte) for byte in value.to_bytes(4, "big"))


def _number(label: str) -> int | None:
    if not _NUMBER.fullmatch(label):
        return None
    if label.startswith("0x"):
        return int(label[2:] or "0", 16)
    if label.startswith("0"):
        return int(label, 8) if not set(label) & set("89") else None
    return int(label)


def sixth_address(text: str) -> str | None:
    """Return an IPv6 address in brackets as browsers write it, e.g. ``[::1]``; None for no such.

    Args:
        text: the address without the brackets. One with a zone is none.

    """
    from ipaddress import AddressValueError, IPv6Address  # noqa: PLC0415  # few URLs need it

    try:
        address = None if "%" in text else IPv6Address(text)
    except AddressValueError:
        return None
    if address is None:
        return None
    mapped = int(address.ipv4_mapped or 0)
    # Later versions of Python write the end of these with dots.
    end = f"::ffff:{mapped >> 16:x}:{mapped & 0xFFFF:x}"
    return f"[{end if address.ipv4_mapped else address.compressed}]"


# A browser reads these otherwise than `urlsplit` does, or each version by itself.
_AMBIGUOUS = re.compile(r"[\\\s\x00-\x1f\x7f]|//[^/?#]*%")
_OTHER_IN_IDNA = frozenset("\xdf\u1e9e\u03c2\u200c\u200d")
_NUMERIC = re.compile(r"(?:.*\.)?(?:[0-9]+|0x[0-9a-f]*)")
_ADDRESS = re.compile(r"(?:(?:0|[1-9][0-9]{0,2})\.){3}(?:0|[1-9][0-9]{0,2})")


def plain_host(url: str) -> str | None:
    """Return the host of a URL that every program reads alike; None for any other URL."""
    if _AMBIGUOUS.search(url):
        return None
    try:
        host = urlsplit(url).hostname
    except ValueError:
        host = None
    if not host:
        return None
    if not _OTHER_IN_IDNA.isdisjoint(host):
        return None
    host = host.casefold().removesuffix(".")
    if not host.isascii():
        try:
            host = host.encode("idna").decode("ascii")
        except UnicodeError:
            return None
    if _NUMERIC.fullmatch(host) and not _ADDRESS.fullmatch(host):
        return None  # `0x7f.1` is an address too
    return host


_DOT: Final = re.compile("%2e", re.IGNORECASE)


def addresses(url: str) -> Iterator[str]:
    """Yield what of a URL a host may know by heart: its host, and that with each part of the path.

    The host as browsers read it, with its final dot, the path from ``/`` to ``/``
    once ``..`` is followed: ``example.com``, ``example.com/docs``, ``example.com/docs/api``.
    """
    found, path = read_url(url) or ("", "")
    yield found
    segments: list[str] = []
    for segment in path.split("/")[1:]:
        match _DOT.sub(".", segment):
            case "..":
                del segments[-1:]
            case ".":
                pass
            case _:
                segments.append(segment)
    for segment in segments:
        found += "/" + segment
        yield found
