"""Words for calls that we allow: builtins, files by every kind of name, rules that people write."""

from __future__ import annotations

from random import Random

__all__ = ["wide_command", "wide_rule"]

_BUILTINS = (
    "alias break builtin bye caller cd chdir command compgen complete continue declare dirs disown"
    " echo enable eval exec exit export false fc fg bg getopts hash help history jobs kill let local"
    " logout mapfile noglob nocorrect popd print printf private pushd pwd read readonly return set"
    " shift shopt source stat suspend test times trap true type typeset ulimit umask unalias unset"
    " unsetenv wait whence which zparseopts vared float integer setopt autoload rehash time ["
).split()
_PROGRAMS = (
    "make npm git docker kubectl cargo curl python3 pytest node npx uv gh jq awk gawk sed find xargs"
    " sort uniq tee touch mkdir cp mv rm rmdir ln chmod grep rg fd ls cat head tail wc diff tr cut"
    " base64 tree file ps lsof man tput ip date hostname env sudo watch script strace flock setsid"
    " nohup timeout nice stdbuf ionice bash sh busybox su coproc dd rsync tar ssh go"
).split()
# Rules as people write them, for programs and their subcommands.
_RULES = (
    *("npm run test:*", "npm run *", "npm test", "git diff:*", "git log *", "git add:*", "git *"),
    *("git commit:*", "git push:*", "git push --force *", "git reset --hard *", "rm -rf *", "rm:*"),
    *("find:*", "python3:*", "python:*", "node:*", "uv run:*", "cargo:*", "docker compose *"),
    *("gh pr:*", "gh api:*", "kubectl get:*", "curl:*", "sudo:*", "bash:*", "env:*", "xargs:*"),
    *("timeout:*", "echo:*", "cat:*", "ls:*", "grep:*", "mkdir:*", "cp:*", "mv:*", "touch:*"),
    *("sed:*", "tee:*", "cd:*", "make:*", "make *", "export:*", "test:*", "source:*", "which:*"),
)
_WORDS = (
    "-a -A -b -c -d -e -f -F -g -i -I -l -L -m -n -o -p -P -r -R -s -t -u -v -x -z -1 -5 -- - + +x -pv"
    " -rf -nt -eq -ne -lt -exec -delete -print0 --help --version --output=x --exec --file=a --no-x"
    " -k5 -n5 -oL -fprint -name -newer a b A A=1 B=x A+=1 A[0]=1 a[0] a[$x] 'a[$(ls)]' PATH PATH=x"
    " LANG HOME IFS IFS=, REPLY OPTIND SECONDS=5 COLUMNS=80 path x y 1 5 0x1 5s 1.5 .env a.py *.py a?"
    ' [ab] {a,b} ~ ~/x ~bob $X "$X" "a$X" "ab$X" "$HOME/x" $HOME $((1)) $(ls) "a$(ls)" "abc$(ls)"'
    " `ls` '' \"\" \\; 'x;y' 'a|b' '{print}' '.a' 'env' '$ENV' 's/a/b/' '1p' '1,5p' '/x/d' '@load'"
    " =a =ls a=b #x x#y é ! !x %1 & && || ; | > >> < 2>&1 >/dev/null <<<a >out >$X <a /etc/passwd"
    ' ../x . .. / /tmp/x src secrets/k pipefail extglob ls make rm git if do { } ( ) ] == != "$HOME:h"'
    " ' 'a a' b' [ * ? [a] a[b 'a[b]' \\a \\* ''a --x=/etc/x --x=../x --x=.env -f.env -C/etc /opt/data/*"
    ' "$=x" "ab$USER[1]" -gt SIGINT EXIT 9 %% +1 100 http://x x:y @x ,'
).split(" ")
_NAMES = (
    "a b a.py .env secrets/k src/a.py src src/sub/c.py docs conf/.env /srv/app/a /srv/app/.env"
    " /opt/data/x /opt/data /srv/docs/a.md ../docs/a.md ../app/a ../app/.env src/../a src/../.env ./a"
    " .//a //srv/app/a /srv//app/a /srv/app/../app/.env ~/x ~/notes/n.md ~ ~/ ~bob/x ~+/a ~-"
    ' "$HOME/x" $HOME/x "$HOME" "$PWD/a" "$PWD/.env" $PWD/a ~/.bashrc .bashrc .git/config .git'
    " .claude/settings.json .vscode/x.json *.py *.* a* ? [ab] {a,b} a{b,c} 'a' \"a\" 'a'b '*.py' \"*\""
    " '$X' \\$X \"ab$USER\" $USER '' - -- -x ./-x a~1 x. .../x y.con a: a:b a=b a=~/x =a !a a! #a a#b %a"
    " @a +a a] [a {a} {a,} a} $'a' A .ENV SRC/a.py /SRV/app/a /srv/app /srv / /etc/passwd /etc /tmp/x"
    " /dev/null /dev/stdout /dev/tty /dev/tcp/x/1 /proc/self/environ /proc/self/cwd/.env /proc/cpuinfo"
    " /dev/fd/../cwd/.env /proc/self/cwd/../app/.env /proc/mounts/../cwd/a link/../x up/../x \"\" a' a'b"
    " src/* src/*.py /opt/data/* ~/*.md [a].py a[b] '[ab]' *(a) !(a) a*b/../.env **/*.py .* .e*"
    " . .. ./ ../.. src/. a/ é HEAD hooks/x refs a.py/ 1 2 &2 2>&1"
).split(" ")
_FILES = (
    *(
        "cat {}",
        "head {}",
        "ls {}",
        "wc -l {}",
        "grep x {}",
        "grep -r x {}",
        "grep -f {} a",
        "rg x {}",
    ),
    *(
        "sed -n 1p {}",
        "sed s/a/b/ {}",
        "sed -i s/a/b/ {}",
        "sed -n -f {} a",
        "sort {}",
        "sort -o {} a",
    ),
    *(
        "diff {} {}",
        "cp {} {}",
        "mv {} {}",
        "rm {}",
        "rm -rf {}",
        "rmdir {}",
        "touch {}",
        "mkdir -p {}",
    ),
    *(
        "tee {}",
        "echo x > {}",
        "echo x >> {}",
        "cat a >{}",
        "cat < {}",
        "echo x >& {}",
        "echo x &> {}",
    ),
    *(
        "echo x >| {}",
        "ls 2> {}",
        "find {} -name x",
        "find . -newer {}",
        "cd {} && ls",
        "cd {} && cat {}",
    ),
    *(
        "cd {} && touch {}",
        "cd {} && echo x > {}",
        "cd {} && rm {}",
        "pushd {}",
        "jq . {}",
        "awk 1 {}",
    ),
    *("stat {}", "file {}", "du {}", "tree {}", "md5sum {}", "cat -- {}", "rm -- {}", "cp a b {}"),
    *(
        "cat {} | head",
        "cat {} > {}",
        "test -f {}",
        "[[ -f {} ]] && cat {}",
        "for i in {}; do ls; done",
    ),
    *(
        "X={} cat a",
        "NODE_ENV=x cat {}",
        "timeout 5 cat {}",
        "nice cat {}",
        "command cat {}",
        "/bin/cp {} b",
    ),
    *("xargs cat < {}", "ls | xargs cat {}", "git diff {}", "git log > {}", "touch {} && git log"),
    *("source {}", "bash {}", "cat <<'E' > {}\nx\nE", "! cat {}", "time cat {}", "cat $(echo {})"),
    *(
        'cat "$(echo {})"',
        "comm {} b",
        "od {}",
        "rev {}",
        "tr a b < {}",
        "base64 {}",
        "column -t {}",
    ),
)
_WRAPPERS = (
    *("timeout 5", "timeout -k 5 10", "timeout --foreground 5", "timeout 5x", "nice", "nice -n 5"),
    *(
        "nohup",
        "time",
        "time -p",
        "\\time",
        "command",
        "command -p",
        "command -v",
        "builtin",
        "noglob",
    ),
    *("exec", "env", "env A=1", "env -i", "stdbuf -oL", "xargs", "xargs -n1", "sudo", "!", "FOO=1"),
    *("NODE_ENV=test", "LANG=C", "PATH=x", "CI=1", "A=1 B=2", "COLUMNS=80", "IFS=,", "NODE_ENV=$X"),
    *("nohup nice", "timeout 5 nice -n 1", "env NODE_ENV=x", "builtin noglob", "TZ=*"),
)
_JOINED = (
    *("{0} && {1}", "{0} || {1}", "{0}; {1}", "{0} | {1}", "{0}\n{1}", "{0} |& {1}", "x=$({0})"),
    *("if {0}; then {1}; fi", "for i in a b; do {0}; done", 'echo "ab$({0})"', "{0} 2>/dev/null"),
    *("{0} > out", "{0} < a", "cd src && {0}", "[ -f a ] && {0}", "{0} && git status"),
    *(
        "make x && {0}",
        "{0} & {1}",
        "({0})",
        "{{ {0}; }}",
        "{0} <<< x",
        "{0} <<< 'a b'",
        '{0} <<<"$HOME"',
    ),
    *(
        "{0} 2>&1 | {1}",
        "{0} >/dev/null 2>&1",
        "{0} &> out",
        "X=1; {0}",
        "CI=1; {0} | {1}",
        "{0} | CI=1",
    ),
    *("diff <({0}) <({1})", "cat <({0})", "(({0}))", "((1)); {0}", "[[ a == b ]] && {0}", "! {0}"),
    *("{0} <<'E'\nx\nE", "{0} <<'E' | {1}\nx\nE", "{0} <<E\n$X\nE", "while {0}; do {1}; done"),
    *("case x in a) {0};; esac", "f() {{ {0}; }}; f", "{0} || true", "cd .. && {0}", "cd src; {0}"),
    *("for f in *.py; do {0}; done", "for f in a b; do {0} $f; done", "{0} # x", "{0} \\\n{1}"),
    *(
        "export X=1; {0}",
        "X=$({0}); {1}",
        "X=a; {0} $X",
        "{0} $(echo a)",
        '{0} "ab$(echo a)"',
        "{0} $((1))",
    ),
    *(
        "{0} <in >out",
        "{0} >>out 2>&1",
        "{0} 2>err",
        "{0} 3<a",
        "{0} <a <b",
        "{0} >out >b",
        ">out {0}",
    ),
    *(
        "{0} >|out",
        "{0} <>a",
        "{0} >&2",
        "{0} 2>&-",
        "<a {0}",
        "<<<x {0}",
        "{0} {{a,b}}",
        "set -e; {0}",
    ),
    *(
        "pushd src; {0}",
        "pushd src && {0} && popd",
        "until {0}; do {1}; done",
        "{0} &",
        "wait; {0}",
    ),
    *(
        "{0} |\n{1}",
        "{0} &&\n{1}",
        "# x\n{0}",
        "{0} \\\n-x",
        "echo x | {0}",
        "{0} | tee out",
        "{0};",
    ),
)


def wide_rule(chance: Random) -> str:
    """Return a rule of `Bash` for all calls of a program, or of one of its subcommands."""
    if chance.random() < 0.4:
        return f"Bash({chance.choice(_RULES)})"
    return f"Bash({chance.choice((*_BUILTINS, *_PROGRAMS))}:*)"


def wide_command(chance: Random) -> str:
    """Return a command of words that shells and hosts read in several ways."""
    if chance.random() < 0.25:
        return chance.choice(_JOINED).format(_simple(chance), _simple(chance))
    return _simple(chance)


def _simple(chance: Random) -> str:
    if chance.random() < 0.4:
        shape = chance.choice(_FILES)
        return shape.format(*(chance.choice(_NAMES) for _ in range(shape.count("{}"))))
    name = chance.choice(_BUILTINS if chance.random() < 0.5 else _PROGRAMS)
    count = chance.choice((0, 1, 1, 2, 2, 3))
    text = " ".join([name, *(chance.choice(_WORDS) for _ in range(count))])
    return f"{chance.choice(_WRAPPERS)} {text}" if chance.random() < 0.25 else text
