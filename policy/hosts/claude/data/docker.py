"""What Claude Code 2.1.329 knows of docker, as it was observed to."""

from __future__ import annotations

from typing import Any, Final

from policy.hosts.claude.data.program_options import options
from policy.programs import Program

__all__ = ["DOCKER"]

_NO_HOME: Final = "(?!(.*[=:])?~|.*\\{.*~|.*~.*\\{).*"
# Options by which it speaks to another host, alone, in one word with others or with a value.
_ANY: Final = "(.|\n)*"
_ELSEWHERE: Final = (
    f"-[a-zA-Z]*[cHr]{_ANY}|--(host|context|config|tlscacert|tlscert|tlskey|url|connection|identity"
    f"|remote|module|out)(={_ANY})?|{_ANY}[=:]~{_ANY}|[^~{{]*(~[^{{]*\\{{|\\{{[^~]*~){_ANY}"
)
_LOCAL: Final[dict[str, Any]] = {
    "globs": False,
    "operands": f"(?!({_ELSEWHERE})$){_NO_HOME}",
    "unsafe": _ELSEWHERE,
}
_LIST: Final = Program(**_LOCAL)

DOCKER: Final = Program(
    harmless=False,
    subcommands={
        "ps": _LIST,
        "images": _LIST,
        "logs": options(
            "ft",
            "details follow timestamps",
            **_LOCAL,
            pairs=rf"(-n|--(since|tail|until)) (?!-){_NO_HOME}",
            also=rf"--(since|tail|until)=(?!-){_NO_HOME}",
        ),
        "inspect": options(
            "s",
            "size",
            **_LOCAL,
            pairs=rf"(-f|--(format|type)) (?!-){_NO_HOME}",
            also=rf"(-f|--(format|type))=(?!-){_NO_HOME}",
        ),
    },
)
