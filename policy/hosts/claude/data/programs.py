"""What Claude Code 2.1.329 knows of programs, as it was observed to.

Where it takes any option of a program, so does this table; everywhere else an
option counts as known only if it was seen to run, so that one nobody tried is
never taken for harmless.
"""

from __future__ import annotations

from typing import Final

import attrs

from policy.hosts.claude.data.changing_programs import CHANGING, COPY, MOVE, REMOVE, UPROOT
from policy.hosts.claude.data.docker import DOCKER
from policy.hosts.claude.data.git import GIT
from policy.hosts.claude.data.program_options import options
from policy.hosts.claude.data.unchecked import SETTLED, UNCHECKED, UNEXPANDED
from policy.programs import Files, Program, Programs

__all__ = ["EDITING_PROGRAMS", "READ_ONLY_PROGRAMS"]

# --- programs with which it takes any option -------------------------------------

_READS: Final = Program(reads=Files.ALL, texts=True)
_COUNTED: Final = Program(reads=Files.ALL, files="-[nc]", texts=True, piped=True)
_TEXTS: Final = Program(texts=True)
_NAME: Final = r"[^/~\\]*"
_NO_OPTION: Final = r"(?!-)(.|\n)*"
_NO_DASH: Final = r"(?!-$)(.|\n)*"
# The name of what tells the variables of a shell may stand nowhere, not even in a file's.
_NO_ENV: Final = r"(?!((.|\n)*\W)?env(\W(.|\n)*)?$)(.|\n)*"
_ANY: Final = "(.|\n)*"
_ALONE: Final = Program(flags="", most=0)

_FREE: Final = {
    **dict.fromkeys(
        "cat diff cmp rev tac nl column od hexdump strings".split(), _READS,
    ),
    "ls": attrs.evolve(_READS, lists=True),
    "stat": attrs.evolve(_READS, unsafe="-[a-zA-Z]*[AH].*"),
    **dict.fromkeys(
        "comm paste fold fmt expand unexpand tsort pr numfmt".split(),
        attrs.evolve(_READS, globs=False),
    ),
    "wc": attrs.evolve(_READS, piped=True),
    "head": _COUNTED,
    "tail": _COUNTED,
    "cut": Program(
        reads=Files.ALL, texts=True,
        values="-[nswz]*[bcdf]|--(bytes|characters|delimiter|fields|output-delimiter)",
        sure="-[nswz]*([bcdf](.|\n)*)?|-[0-9]+|--(complement|only-delimited|zero-terminated|bytes"
        "|characters|delimiter|fields|output-delimiter|(.|\n)*=(.|\n)*)",
    ),
    **dict.fromkeys("readlink realpath du df basename dirname".split(), _TEXTS),
    "tr": Program(reads=Files.SETS, texts=True),
    **dict.fromkeys(
        "id uname free cal true false seq expr locale sleep groups uptime nproc".split(),
        attrs.evolve(_TEXTS, globs=False),
    ),
    "type": Program(texts=True, globs=False, internal=True),
    "echo": Program(piped=True, texts=True),
    "[": Program(direct=True, globs=False),
    "[[": Program(direct=True),
    "find": Program(
        reads=Files.LEADING, trailing=False, globs=False, lists=True, ends=False,
        files="-([acm]?newer|samefile|i?path|i?wholename|i?lname|newer[acmBt][acmtB])",
        unsafe="-(exec|ok|fprint|fls|files0-from).*|-delete",
    ),
    "jq": Program(
        reads=Files.REST, trailing=False, files="-f|--from-file|--file",
        leading=True, ends=False, globs=False, direct=True,
        spelling=r"""'[^'`]*'|"[^"`]*"|[^-\s'"]\S*|-[a-zA-Z]+|--[a-zA-Z-]+(=\S+)?""",
        first=rf"(?!-|(.|\n)*(`|\$ENV)){_NO_ENV}",
        operands=_NO_ENV,
        unsafe=r"(?!-[a-zA-Z]+$|--[a-zA-Z-]+(=.+)?$)-.*|-[a-zA-Z]*[fL][a-zA-Z]*|-(.*\W)?env(\W.*)?"
        "|--(from-file|file|argfile|rawfile|slurpfile|run-tests|library-path).*",
    ),
    "uniq": Program(
        flags="-[a-zA-Z]+|--count(=.+)?", most=0, direct=True, ends=False, globs=False,
        reads=Files.ALL, spelled=True,
    ),
}  # fmt: skip

# --- programs whose options it knows one by one ----------------------------------

_CHECKSUM: Final = options(
    "bctwz",
    "binary check tag text zero ignore-missing quiet status strict warn help version",
    reads=Files.ALL,
)
_GIVEN: Final = r"-[a-zA-Z]*f|-[ef].*|--(regexp|file)(=.*)?"
_SEARCH: Final = options(
    "abchilnoqrsuvwxzEFGHILPRTUVZ",
    "extended-regexp fixed-strings basic-regexp perl-regexp ignore-case no-ignore-case word-regexp"
    " line-regexp null-data no-messages invert-match version help byte-offset line-number"
    " line-buffered with-filename no-filename only-matching quiet silent text recursive"
    " dereference-recursive files-without-match files-with-matches count initial-tab null"
    " no-group-separator binary",
    values="e d D regexp label binary-files directories devices include exclude"
    " exclude-from exclude-dir group-separator color colour",
    counts="m A B C max-count before-context after-context context",
    attached="edDmABC",
    skipped="-[efmABC]|--(regexp|file|exclude|include|exclude-from|exclude-dir|max-count|context"
    "|(after|before)-context)",
    files="-f|--file|--exclude-from",
    given=_GIVEN,
    lines=False,
    lists=True,
    lists_if="-[a-zA-Z]*[rR][a-zA-Z]*|--(dereference-)?recursive",
    reads=Files.REST,
    piped=True,
)
_FIND_FILES: Final = options(
    "aghipqsFHILV01",
    "hidden no-ignore no-ignore-vcs no-ignore-parent case-sensitive ignore-case glob regex"
    " fixed-strings absolute-path follow full-path print0 prune quiet show-errors strip-cwd-prefix"
    " one-file-system help version",
    values="c e o t E S and type extension size changed-within changed-before owner exclude"
    " ignore-file color max-buffer-time base-directory path-separator search-path format hyperlink",
    counts="d j max-depth min-depth exact-depth batch-size threads max-results",
    globs=False,
)
_PS_LETTERS: Final = "acdfjlmwyAFHLNTV"
_PS_NAMES: Final = "help deselect forest headers no-headers info version"
_PRINTED: Final = r" ?(\d+(,\d+)?)?p(;(\d+(,\d+)?)?p)* ?"
# Of ASCII all but / ; ! # { } $ ` and the end of a line: an expression that says which
# characters it is not takes 4 ms to compile.
_TEXT: Final = r"[\x00-\x09\x0b- \"%-.0-:<-_a-z|~]*"
_REPLACED: Final = rf" ?s/{_TEXT}/{_TEXT}/[gpiIm0-9]* ?"
# Names of files that it can take for nothing else where `-i` may have a suffix behind it, as it has
# elsewhere: `sed -i s/a/b/ a` would put the text before a line. Those with an `s` or a `y` before
# what could write or run (`s.a.b.w x`) are left out, few of which it really takes for commands.
_EDITED: Final = (
    r"(?!e|w|W|[0-9]|-|[sy][^a-zA-Z0-9]|[rR]($|/|\./|\.\./)|[aAcCdDgGhHiIlnNpPqQtTxz]$)"
    r"(?!/[^/]*/[IMim]*([ewWsyrR]|[aAcCdDgGhHiIlnNpPqQtTxz]$))"
    r"(?!.*\.\.)(?!.*s.*[wWeE])(?!.*y..*)[A-Za-z0-9_./@+-]+"
)
_LSOF_PLUS: Final = r"\+([DEMdew]|c[0-9]*|f[cfgGn]*|[Lr][0-9]*)?"
# What a terminal does that is told to start anew, to print, or to be programmed.
_SET_UP: Final = (
    "clear|flash|if|init|iprog|is[123]|mc(0|4|5[ip]?)|pf(key|loc|xl?)|reset|rf|rmcup|rs[123]|smcup"
)
# It runs them with this option alone, and not with the same given twice.
_VERSION: Final = Program(harmless=False, subcommands={"--version": _ALONE})

_SED: Final = options(
    "nzrE",
    "quiet silent posix regexp-extended",
    needs="-[a-zA-Z]*n[a-zA-Z]*|--quiet|--silent",
    first=_PRINTED,
    operands=_NO_OPTION,
    reads=Files.REST,
    files="-f|--file",
    unsafe="-f|--file",
    given="-.*[ef].*",
    writes=Files.REST,
    spares=True,
    globs=False,
    forms=(Program(flags="-[Er]", first=_REPLACED, most=1, globs=False),),
)

_KNOWN: Final = {
    **dict.fromkeys("md5sum sha1sum sha256sum".split(), _CHECKSUM),
    **dict.fromkeys("grep egrep fgrep".split(), _SEARCH),
    **dict.fromkeys("fd fdfind".split(), _FIND_FILES),
    **dict.fromkeys("arch whoami pwd".split(), _ALONE),
    "sort": options(
        "bcdfghimnrsuzCMRV",
        "ignore-leading-blanks dictionary-order ignore-case general-numeric-sort"
        " ignore-nonprinting month-sort human-numeric-sort numeric-sort random-sort reverse"
        " version-sort check merge stable unique zero-terminated help version",
        values="k t S sort key buffer-size field-separator",
        files="-[ktS]|--(sort|key|buffer-size|field-separator)",
        counts="batch-size parallel",
        reads=Files.ALL, globs=False,
    ),
    "base64": options(
        "dhD", "decode ignore-garbage help version",
        values="i input", counts="b w wrap break", reads=Files.ALL, globs=False,
        files="-i|--input", ends=False,
    ),
    "tree": options(
        "acdfghilnpqrstuvxACDFJNQSUX",
        "fromfile gitignore info filesfirst dirsfirst du device inodes noreport"
        " matchdirs ignore-case prune metafirst si nolinks version help",
        values="H I P T gitfile infofile timefmt hintro houtro charset sort",
        counts="L filelimit",
        globs=False,
    ),
    "rg": options(
        "achilnoquvwFHLS",
        "column count debug files-with-matches files-without-match fixed-strings follow heading"
        " hidden ignore-case invert-match json line-number no-heading no-ignore only-matching quiet"
        " smart-case stats text type-list version word-regexp help",
        values="e g t T color glob regexp type type-not", files="-f|--file", given=_GIVEN,
        unsafe="--file(=.*)?",
        counts="d m A B C after-context before-context context max-count max-depth",
        attached="egtTdmABC",
        skipped="-[efgtTmABC]|--(regexp|file|glob|type|type-not|max-count|max-depth|context"
        "|(after|before)-context)",
        lines=False, reads=Files.REST, lists=True, globs=False,
    ),
    "which": options("apsvwV", globs=False, operands="(?!-$).*"),
    "test": options(
        values="b c d e f g h k n p r s u w x z G L N O S",
        counts="t", pairs="-(nt|ot|ef) [^-].*", globs=False, ends=False,
        # A bracket may begin a subscript, which the shell works out.
        operands="(?!=$).*", spelling=r"[^\[]*",
        # Words that are no numbers are worked out by the shell.
        forms=(
            Program(
                flags="-(eq|ne|lt|le|gt|ge)", globs=False, ends=False, most=2,
                first="[+-]?[0-9]+", operands="[+-]?[0-9]+",
            ),
        ),
    ),
    "help": options("d", globs=False, operands=_NAME, internal=True),
    "lsof": options(
        "abghilnorstvxCEFHKLNOPQRSTUVX", globs=False,
        pairs=rf"-[cdekpuA] ([^-+]{_ANY})?|-[cdekpuA] {_LSOF_PLUS}",
        operands=rf"(?!\+|-[a-zA-Z]*[^a-zA-Z]){_ANY}|{_LSOF_PLUS}",
        # What would be looked up, and what is a value to some and a name to others.
        beside=rf"-[a-zA-Z]*i ([^@]*@[^:]*[a-zA-Z]{_ANY}|{_ANY}~{_ANY})"
        rf"|[-+][a-zA-Z]*[LSor] [0-9]+[^0-9]{_ANY}",
    ),
    "pgrep": options(
        "acfilnovwxLV",
        "list-name list-full inverse lightweight count full ignore-case newest oldest exact"
        " logpidfile help version",
        values="d g r s t u F G O P U delimiter pgroup group older parent session terminal euid"
        " uid pidfile runstates ns nslist",
        globs=False,
    ),
    "ss": options(
        "abdehilmnopstuwxzEHMOSVZ046",
        "help version numeric all listening options extended memory processes info tipcinfo"
        " summary tos cgroup bpf events context contexts ipv4 ipv6 packet tcp mptcp sctp udp dccp"
        " raw unix tipc vsock no-header oneline inet-sockopt",
        values="f A family query socket", operands="[.:0-9-]*", globs=False,
    ),
    "netstat": options("agilmnrsvL", values="f I", globs=False),
    "tput": options(
        "xV", values="T", globs=False,
        operands=rf"(?!({_SET_UP})$).*",
    ),
    "man": options(
        "adhwfk", "whatis apropos all", pairs="-[sS] [A-Za-z0-9:,]+", leading=True, globs=False,
        operands=rf"(?!-){_NAME}", reads=Files.SLASHED, trailing=False,
        given="--local-file|-[^-]*l.*", files="-C|--config-file", unsafe="-C|--config-file",
    ),
    "printf": options(
        piped=True, globs=False, first=r"(?!-$)([^%]|%([sbq]|%))*", operands="(?!-$).*"
    ),
    "file": options(
        "bchiklnprsvL0",
        "help version brief mime mime-type mime-encoding apple keep-going list dereference"
        " no-dereference no-buffer print0 preserve-date raw special-files",
        values="F exclude exclude-quiet separator", reads=Files.ALL, globs=False,
        files="-F|--(exclude|exclude-quiet|separator)",
    ),
    "ps": options(
        _PS_LETTERS, _PS_NAMES,
        pairs="-[gnpqstuCGU] [^eE-][^eE]*|--(pid|quick-pid|sid|tty|user|sort) [^eE-][^eE]*"
        "|--width [0-9]+",
        also="--(pid|quick-pid|sid|tty|user|sort)=[^e-][^e]*|--width=[0-9]+",
        globs=False, operands="-|[^~eE-][^eE]*",
        forms=(options(_PS_LETTERS + "e", _PS_NAMES, most=0, ends=False),),
    ),
    "date": options(
        "uIR", "utc universal debug rfc-email help version",
        values="d r date rfc-3339 reference", also=r"\+.*|--iso-8601=.+", operands=r"\+.*",
        globs=False,
    ),
    "hostname": options(
        names="version help alias all-fqdns domain fqdn long ip-address all-ip-addresses short",
        also="-[adfhisvAIV]", most=0, direct=True, spelled=True, ends=False,
    ),
    "history": Program(flags="", most=1, operands=r"\d+", internal=True),
    "ifconfig": Program(flags="", most=1, globs=False, operands="[a-zA-Z][a-zA-Z0-9._:/ -]*"),
    "ip": Program(harmless=False, subcommands={"addr": _ALONE}),
    "sed": _SED,
    "xargs": options("rtx0", counts="n L s P", pairs=r"-d [^~]|-I \{\}", runs=True),
    "node": Program(harmless=False, subcommands={"-v": _ALONE, "--version": _ALONE}),
    "python": _VERSION,
    "python3": _VERSION,
    "docker": DOCKER,
    "git": GIT,
}  # fmt: skip

# --- all of them together -----------------------------------------------------------

_UNKNOWN: Final = Program(harmless=False)
_ALL: Final = {**_FREE, **_KNOWN, **CHANGING}

READ_ONLY_PROGRAMS: Final = Programs(
    _ALL
    | {
        name: attrs.evolve(
            _ALL.get(name, _UNKNOWN),
            unchecked=UNCHECKED.get(name),
            settled=name in SETTLED,
            unexpanded=name in UNEXPANDED,
        )
        for name in sorted(UNCHECKED.keys() | UNEXPANDED)
    }
)

_TOUCHED: Final = r"['\"]?[A-Za-z0-9_./+~{]\S*"

# What the mode that accepts edits runs beside these.
EDITING_PROGRAMS: Final = Programs(
    {
        **READ_ONLY_PROGRAMS,
        "touch": Program(
            direct=True, flags="", operands=r"(?!\+$)[A-Za-z0-9_./+~{].*|'.+", writes=Files.ALL,
            # Between blanks, quoted or not, stand names to the program.
            spelling=rf"{_TOUCHED}(?:\s+{_TOUCHED})*",
        ),
        "mkdir": Program(carried=True, writes=Files.ALL),
        "rm": attrs.evolve(UPROOT, harmless=True, carried=True),
        "rmdir": attrs.evolve(REMOVE, harmless=True, carried=True),
        **{
            name: attrs.evolve(
                known, harmless=True, carried=True, flags="", operands=_NO_DASH, globs=False
            )
            for name, known in (("mv", MOVE), ("cp", COPY))
        },
        "sed": Program(
            direct=True, flags="-[Er]", unsafe="-f|--file", first=_REPLACED, operands=_NO_OPTION,
            reads=Files.REST, files=_SED.files, given=_SED.given,
            writes=Files.REST, globs=False,
            forms=(
                Program(
                    direct=True, flags="-[Er]*i[Er]*|-[Er]+|--in-place|--posix|--regexp-extended",
                    needs="-[Er]*i[Er]*|--in-place", once=True, first=_REPLACED, operands=_EDITED,
                    reads=Files.REST, writes=Files.REST, globs=False,
                ),
                _SED, *_SED.forms,
            ),
        ),
    }
)  # fmt: skip
