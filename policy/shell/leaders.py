"""What programs take that run the program named behind them, as their manuals say: data.

Those of GNU coreutils and findutils, of util-linux, `sudo`, `doas`, `strace` and shells. Which of
them a host looks behind is its own to say (`policy.dialect.Shell`).
"""

from __future__ import annotations

from typing import Final

import attrs

__all__ = ["LEADERS", "Leader"]


@attrs.frozen(cache_hash=True)
class Leader:
    """What may stand between a program and the one that it runs.

    Attributes:
        flags: what an option matches that takes no other word, as an expression, or of which the
            next word is a command.
        values: options whose value is the next word, likewise.
        value: what such a value matches where it has one, likewise.
        operand: what the operand matches that stands before the program, likewise; "" for none.
        harmless: whether all that its options do is to run the program otherwise.

    """

    flags: str = ""
    values: str = ""
    value: str = ".+"
    operand: str = ""
    harmless: bool = True


def _leader(
    flags: str = "",
    letters: str = "",
    names: str = "",
    *,
    joined: str = "",
    long: str = "",
    operand: str = "",
) -> Leader:
    """Return one whose options are one letter or long.

    Args:
        flags: the letters of options without a value.
        letters: those of options with one.
        joined: those of options with one, if any, in the same word: one of more than letters.
        names: long options with one, without the dashes.
        long: long options without one, likewise.
        operand: what its operand matches.

    """
    alone = (
        f"-[{flags}{joined}]+" if flags or joined else "",
        f"-[{joined}][^A-Za-z].*" if joined else "",
        _long(long),
        f"-[{letters}].+" if letters else "",
    )
    valued = (f"-[{letters}]" if letters else "", _long(names))
    return Leader("|".join(filter(None, alone)), "|".join(filter(None, valued)), operand=operand)


def _long(names: str) -> str:
    return f"--({names.replace(' ', '|')})" if names else ""


_PLAIN: Final = Leader()
_NUMBER: Final = "-?[0-9]+"
_BUFFERED: Final = "L|[0-9]+[KMGTPE]?B?"

LEADERS: Final[dict[str, Leader]] = {
    "builtin": _PLAIN,
    "chroot": _leader(long="skip-chdir", operand=".+"),
    "chrt": _leader(
        "abdfimoprRv",
        "DPT",
        "sched-deadline sched-period sched-runtime",
        long="all-tasks batch deadline fifo idle max other pid reset-on-fork rr verbose",
        operand="[0-9]+",
    ),
    "command": Leader("-[pvV]+"),
    "doas": _leader("Lns", "aCu"),
    "env": _leader(
        "0iSv",
        "Cu",
        "chdir unset",
        long="block-signal debug default-signal ignore-environment ignore-signal"
        " list-signal-handling null split-string",
    ),
    "exec": _leader("cl", "a"),
    "flock": _leader(
        "cenosuxF",
        "Ew",
        "conflict-exit-code timeout wait",
        long="close command exclusive nb no-fork nonblock shared unlock verbose",
        operand=".+",
    ),
    "function": Leader(operand=".+"),
    "ionice": _leader("t", "cnpPu", "class classdata pgid pid uid", long="ignore"),
    "nice": Leader(rf"-n?{_NUMBER}|--adjustment={_NUMBER}", "-n|--adjustment", _NUMBER),
    "nocorrect": _PLAIN,
    "noglob": _PLAIN,
    "nohup": _PLAIN,
    "nsenter": _leader(
        "aFeZ",
        "GSt",
        "setgid setuid target",
        joined="CimnprTUuWw",
        long="all cgroup env follow-context ipc mount net no-fork pid preserve-credentials root"
        " time user uts wd wdns",
    ),
    "pkexec": _leader("", "", "user", long="disable-internal-agent keep-cwd"),
    "setsid": _leader("cfw", long="ctty fork wait"),
    "stdbuf": Leader(
        f"-[eio]({_BUFFERED})|--(error|input|output)=({_BUFFERED})",
        "-[eio]|--(error|input|output)",
        _BUFFERED,
    ),
    "strace": _leader(
        "cCdfFhiknqrtTvVwxyYzZD",
        "abeEIoOpPsSuUX",
        "attach columns detach-on env expr interruptible output string-limit summary-columns"
        " summary-sort-by trace trace-path user",
    ),
    "sudo": _leader(
        "ABbEeHiKklNnPSsVv",
        "CDghpRrTtUu",
        "chdir chroot close-from command-timeout group host other-user prompt role type user",
        long="askpass background bell edit login non-interactive preserve-env preserve-groups"
        " reset-timestamp set-home shell stdin",
    ),
    "taskset": _leader(
        "acp", long="all-tasks cpu-list pid", operand="(?i:(0x)?[0-9a-f,]+)|[0-9,:-]+"
    ),
    # What it measures it may write to a file.
    "time": attrs.evolve(
        _leader("apqvV", "fo", "format output", long="append portability quiet verbose"),
        harmless=False,
    ),
    "timeout": Leader(
        "-[fpv]+|--(foreground|preserve-status|verbose)|-[ks][A-Za-z0-9_.+-]+"
        "|--(kill-after|signal)=[A-Za-z0-9_.+-]+",
        "-[ks]|--(kill-after|signal)",
        "[A-Za-z0-9_.+-]+",
        "(?i:[0-9.][0-9a-fx.]*(e[+-]?[0-9]+)?|inf(inity)?)[smhd]?",
    ),
    "unshare": _leader(
        "cfr",
        "GRSw",
        "boottime map-group map-groups map-user map-users monotonic propagation root setgid"
        " setgroups setuid wd",
        joined="CimnpTUu",
        long="cgroup fork ipc keep-caps kill-child map-auto map-current-user map-root-user mount"
        " mount-proc net pid time user uts",
    ),
    "watch": _leader("bcdegptwx", "nq", "equexit interval", long="beep chgexit color errexit exec"),
    "xargs": _leader(
        "0oprtx",
        "adEILnPs",
        "arg-file delimiter max-args max-chars max-procs process-slot-var",
        joined="eil",
        long="eof exit interactive max-lines no-run-if-empty null open-tty replace show-limits"
        " verbose",
    ),
}  # fmt: skip
