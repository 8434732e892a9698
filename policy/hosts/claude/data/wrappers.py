"""Programs behind which Claude Code 2.1.329 looks for another, as it was observed to."""

from __future__ import annotations

from typing import Final

import attrs

from policy.commands.knowledge import Wrapper, Wrappers

__all__ = ["CARRYING", "GRANTING", "WRAPPING"]

_DURATION: Final = r"[0-9]+(\.[0-9]+)?[smhd]?"
_NAMED: Final = "[A-Za-z0-9_.+-]+"
_TIMEOUT: Final = Wrapper(
    flags=rf"--foreground|--preserve-status|-v|--verbose|--(kill-after|signal)={_NAMED}"
    rf"|-[ks]{_NAMED}",
    values=r"-[ks]|--kill-after|--signal",
    value=_NAMED,
    operands=(_DURATION,),
    quiet=True,
    bare=True,
)
# No shell but one has this word, which is no program to it there.
_SHARED: Final = r"(?!noglob$)[^\0]*"
_STARTED: Final = "[A-Za-z0-9_./+~-]+"
_NICE: Final = Wrapper(flags=r"-[0-9]+", values="-n", value=r"-?[0-9]+", single=True)
_STDBUF: Final = Wrapper(flags=r"-[ioe][LN0-9]+", needs=True)

# What rules that allow look through.
GRANTING: Final = Wrappers(
    {
        "timeout": _TIMEOUT,
        "time": Wrapper(runs=rf"(?!time$){_STARTED}"),
        "nice": _NICE,
        "nohup": Wrapper(runs=_STARTED),
        "stdbuf": _STDBUF,
        "command": Wrapper(flags="-p+", ends=True, quiet=True, idle="-p?[vV]", runs=_SHARED),
        "builtin": Wrapper(ends=True, quiet=True, runs=_SHARED),
        "noglob": Wrapper(quiet=True),
        "xargs": Wrapper(appends=True),
    }
)


def _loose(
    letters: str = "",
    names: str = "",
    *,
    scripts: str = "",
    operands: str = "",
    assignments: bool = False,
    idle: str = "",
) -> Wrapper:
    """Return a wrapper of which the options with a value are known.

    Args:
        letters: those of one letter.
        names: long ones, without the dashes.
        scripts: options whose value is a command.
        operands: what one operand matches that may stand before the program.
        assignments: whether these may stand there.
        idle: options with which it runs no program.

    """
    some = (f"-[{letters}]" if letters else "", f"--({names.replace(' ', '|')})" if names else "")
    return Wrapper(
        values="|".join(filter(None, some)),
        operands=(operands,) if operands else (),
        assignments=assignments,
        idle=idle,
        loose=True,
        scripts=scripts,
    )


# What rules that deny or ask look through beside these, behind options of any kind.
WRAPPING: Final = Wrappers(
    {
        "timeout": attrs.evolve(_TIMEOUT, ends=True),
        "time": Wrapper(flags="-p", ends=True),
        "nohup": Wrapper(ends=True),
        "nice": Wrapper(flags=r"-[0-9]+", values="-n", value=r"-?[0-9]+", ends=True),
        "stdbuf": Wrapper(
            flags=r"-[ioe].+|--(input|output|error)=.+", values="-[ioe]", needs=True, unruled=True
        ),
        "command": _loose(idle="-p*[vV]"),
        "builtin": _loose(),
        "noglob": _loose(),
        "nocorrect": _loose(),
        "exec": _loose("a"),
        "env": _loose("uC", "unset chdir", scripts="-S|--split-string", assignments=True),
        "sudo": _loose(
            "ugUCDhprRtTa",
            "user group other-user close-from chdir host prompt role chroot type command-timeout"
            " auth-type",
        ),
        "doas": _loose("auC"),
        "pkexec": _loose("", "user"),
        "watch": _loose("n", "interval equexit"),
        "ionice": _loose("cnpPu", "class classdata pid pgid uid"),
        "setsid": _loose(),
        "taskset": _loose("c", "cpu-list", operands="(?i:0x[0-9a-f]+|[0-9]+)"),
        "chrt": _loose(
            "pTPD", "pid sched-runtime sched-period sched-deadline", operands="[0-9]+"
        ),
        "strace": _loose(
            "eopsEPSabIuXOU",
            "output trace expr attach string-limit env trace-path columns user interruptible"
            " detach-on const-print-style summary-sort-by summary-syscall-overhead"
            " summary-columns",
        ),
        "ltrace": _loose(
            "aAelnopsuxDFw",
            "align config debug indent library output string-max where",
        ),
        "flock": _loose(
            "wE", "timeout wait conflict-exit-code", scripts="-c|--command", operands=".*"
        ),
        "script": _loose(
            "ETmoOBI",
            "echo log-timing logging-format output-limit log-out log-io log-in",
            scripts="-c|--command",
            operands=".*",
        ),
        "unshare": _loose(
            "RwSG", "setuid setgid root wd propagation setgroups monotonic boottime"
        ),
        "nsenter": _loose("tSG", "target setuid setgid"),
        "sandbox-exec": _loose("fnpD"),
    }
)  # fmt: skip

# Behind these it looks for the files that a program opens, and behind no others, whatever rules
# that deny look through.
CARRYING: Final = Wrappers(
    {
        "time": Wrapper(ends=True),
        **{name: WRAPPING[name] for name in ("timeout", "nohup", "nice", "stdbuf", "env")},
        "command": Wrapper(flags="-p+", ends=True),
        "builtin": Wrapper(ends=True),
        "noglob": Wrapper(),
    }
)
