"""Programs behind which Claude Code 2.1.329 looks for another, as it was observed to."""

from __future__ import annotations

from typing import Final

import attrs

from policy.programs import Wrapper, Wrappers

__all__ = ["GRANTING", "WRAPPING"]

_DURATION: Final = r"[0-9]+(\.[0-9]+)?[smhd]?"
_TIMEOUT: Final = Wrapper(
    flags=r"--foreground|--preserve-status|-v|--verbose|--(kill-after|signal)=.*|-[ks].+",
    values=r"-[ks]|--kill-after|--signal",
    operands=(_DURATION,),
    quiet=True,
    bare=True,
)
_NICE: Final = Wrapper(flags=r"-[0-9]+", values="-n", value=r"-?[0-9]+")
_STDBUF: Final = Wrapper(flags=r"-[ioe].+", needs=True)

# What rules that allow look through.
GRANTING: Final = Wrappers(
    {
        "timeout": _TIMEOUT,
        "time": Wrapper(),
        "nice": _NICE,
        "nohup": Wrapper(),
        "stdbuf": _STDBUF,
        "command": Wrapper(flags="-p|--", quiet=True, idle="-p?[vV]"),
        "builtin": Wrapper(flags="--", quiet=True),
        "noglob": Wrapper(quiet=True),
        "xargs": Wrapper(appends=True),
    }
)


def _also(wrapper: Wrapper, flags: str) -> Wrapper:
    return attrs.evolve(wrapper, flags="|".join(filter(None, (wrapper.flags, flags))))


_ANY_FLAG: Final = "-.*"

# What rules that deny or ask look through.
WRAPPING: Final = Wrappers(
    {
        **{name: _also(wrapper, "--") for name, wrapper in GRANTING.items()},
        "xargs": Wrapper(),
        "time": Wrapper(flags="-p|--"),
        "nocorrect": Wrapper(),
        "exec": Wrapper(flags="-[cl]+|--", values="-[cl]*a"),
        "env": Wrapper(
            values="-u|-C|--unset|--chdir",
            flags="(?!-[uC]$|--unset$|--chdir$)-.*",
            assignments=True,
        ),
        "sudo": Wrapper(
            values="-[ugCphrtDRTU]|--(user|group|prompt|host|role|type|chdir|chroot|close-from"
            "|command-timeout|other-user)",
            flags="(?!-[ugCphrtDRTU]$|--(user|group|prompt|host|role|type|chdir|chroot|close-from"
            "|command-timeout|other-user)$)-.*",
            assignments=True,
        ),
        "doas": Wrapper(values="-[uC]", flags="(?!-[uC]$)-.*"),
        "pkexec": Wrapper(values="--user|-u", flags="(?!--user$|-u$)-.*"),
        "watch": Wrapper(values="-n|--interval|-q", flags="(?!-[nq]$|--interval$)-.*"),
        "ionice": Wrapper(
            values="-[cnpPu]|--(class|classdata)", flags="(?!-[cnpPu]$|--(class|classdata)$)-.*"
        ),
        "setsid": Wrapper(flags=_ANY_FLAG),
        "flock": Wrapper(
            values="-[wE]|--(timeout|wait|conflict-exit-code)",
            flags="(?!-[wE]$|--(timeout|wait|conflict-exit-code)$)-.*",
            operands=(".*", "-c|--command"),
            optional=True,
        ),
        "chrt": Wrapper(flags=_ANY_FLAG, operands=("[0-9]+",), optional=True),
        "taskset": Wrapper(flags=_ANY_FLAG, operands=(r"[0-9][0-9a-fx,-]*",)),
        "strace": Wrapper(
            values="-[oeaEIOpPsSuXb]", flags="(?!-[oeaEIOpPsSuXb]$)-.*"
        ),
        "ltrace": Wrapper(values="-[oeaElnpsuxF]", flags="(?!-[oeaElnpsuxF]$)-.*"),
        "unshare": Wrapper(values="-[SGRw]", flags="(?!-[SGRw]$)-.*"),
        "nsenter": Wrapper(values="-[tSG]|--target", flags="(?!-[tSG]$|--target$)-.*"),
        "script": Wrapper(flags="-[qaef]+|-c|--command", operands=("/.*",), optional=True),
    }
)  # fmt: skip
