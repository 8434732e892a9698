"""The words that scenarios and calls are made of. Few of each, so that rules meet calls."""

from __future__ import annotations

from typing import Any, Final

from tests.live.scenario import CWD, HOME

# Programs that rules speak of, each with operands that make it a command.
PROGRAMS = {
    "make": ("", "test", "-j4", "all V=1", "-C src"),
    "npm": ("test", "run build", "install", "ci", "run test:unit", "-v"),
    "git": ("push", "push origin main", "commit -m x", "checkout main", "add .", "pull --rebase"),
    "docker": ("run x", "ps", "build .", "compose up", "images"),
    "kubectl": ("get pods", "delete pod x", "apply -f a.yaml"),
    "cargo": ("test", "build --release", "run"),
    "curl": ("https://example.com", "-s http://localhost:3000", "-o out https://x.com"),
    "python3": ("a.py", "-c 'print(1)'", "-m pytest", "--version", "-V"),
    "rm": ("x", "-rf build", "-f a.txt", "-rf /", "-rf ~", "*.txt", "-r src/sub", "-- -f"),
    "pytest": ("", "-q", "tests/t.py", "-k 'a and b'"),
    "node": ("-v", "a.js", "-e 1", "--version"),
    "ssh": ("host ls", "-V"),
    "npx": ("eslint .", "tsc"),
    "uv": ("run a.py", "pip install x"),
    "eval": ("ls", "'rm x'"),
    "gh": ("pr list", "api /x", "pr view 1"),
}

# What needs no rule, and what is near to it.
READ_ONLY = (
    *("ls", "ls -la src", "cat a.txt", "cat -n a b", "head -5 a", "tail -n 3 a", "wc -l a.txt"),
    *("grep x a", "grep -rn x src", "grep -f a b", "rg x", "rg --pre cat x", "find . -name '*.py'"),
    *("find . -type f", "find . -exec rm {} \\;", "find . -delete", "find src -maxdepth 1 -print"),
    *("find . -name x -execdir ls {} +", "find . -fprint out", "pwd", "echo hi", "echo 'a  b'"),
    *("whoami", "date", "date +%F", "date -s x", "uname -a", "id", "hostname", "hostname x"),
    *("sort a", "sort -u a", "sort -o out a", "uniq a", "cut -d: -f1 a", "tr a b", "diff a b"),
    *("stat a", "file a", "which make", "type ls", "basename a/b", "dirname a/b", "realpath a"),
    *("sed -n 1,5p a", "sed s/x/y/ a", "sed -i s/x/y/ a", "sed -n '/x/p' a", "sed -n 1,5w a"),
    *("sed -e s/x/y/ -e s/a/b/g a", "sed 's/x/y/e' a", "sed '1d' a", "sed -n '$p' a", "sed = a"),
    *("awk '{print $1}' a", "jq . package.json", "jq -r .x package.json", "jq -f a package.json"),
    *("tree", "tree -o out", "du -sh .", "df -h", "ps aux", "ps", "free -m", "uptime", "nproc"),
    *("test -f a", "[ -f a ]", "[[ -f a ]]", "true", "false", "expr 1 + 2", "seq 3", "printf x"),
    *("printf '%s\\n' a", "printf -v PATH x", "env", "printenv PATH", "set", "history", "alias"),
    *("md5sum a", "sha256sum a", "sha1sum -c a", "base64 a", "base64 -d a", "od -c a", "xxd a"),
    *("strings a", "hexdump -C a", "tac a", "nl a", "rev a", "comm a b", "paste a b", "join a b"),
    *("man ls", "man -P cat ls", "help cd", "cal", "groups", "locale", "arch", "readlink a"),
    *("lsof -i", "ss -tln", "netstat -an", "ip addr", "ifconfig", "ifconfig eth0 up", "pgrep x"),
    *("sleep 0.1", "fd x", "fd -x rm", "fd -e py", "less a", "more a", "column -t a", "fold a"),
    *("node --version", "python3 --version", "npm --version", "docker ps -a", "docker logs x"),
    *("docker inspect x", "docker exec x ls", "xargs echo", "xargs rm", "xargs -n1 echo"),
    *("command -v make", "time ls", "yes", "cmp a b", "tput cols", "info ls", "test a -nt b"),
    *("pr a", "fmt a", "expand a", "numfmt 1", "tsort a", "cksum a", "sum a", "dd if=a of=b"),
    *("tee out", "touch a", "mkdir -p build/x", "rmdir build", "cp a b", "cp -r src build"),
    *("cd a b", "cd 'src'", "cd", "rm ''", "declare -x a", "declare -I a", "export A", "unset X"),
    *("A=1 B=2", "tr -d a ~/x", "tr a b c", "jq --rawfile x a .", "'' x", "-x", "read x", ":"),
    *("find . -files0-from a", "awk -v x=1 1 a", "cat -- a", "ls -- src", "type -a ls", "hash -r"),
    *("mv a b", "ln -s a l", "chmod +x a", "chown root a", "install a b", "truncate -s0 a"),
)

GIT = (
    *("status", "status -s", "log", "log --oneline -5", "log -p a.py", "diff", "diff HEAD~1"),
    *("diff --stat", "diff --output=out", "diff --ext-diff", "show HEAD", "show HEAD:a", "branch"),
    *("branch -a", "branch -D x", "branch x", "branch --show-current", "tag", "tag -l", "tag v1"),
    *("tag -d v1", "remote", "remote -v", "remote add x y", "remote show origin", "stash list"),
    *("stash", "stash show", "stash pop", "reflog", "reflog expire --all", "rev-parse HEAD"),
    *("ls-files", "ls-files --others", "ls-remote", "ls-remote origin", "ls-tree HEAD"),
    *("describe --tags", "blame a.py", "shortlog -sn", "cat-file -p HEAD", "config --list"),
    *("config --get user.name", "config user.name x", "grep x", "grep -O x", "worktree list"),
    *("worktree add ../x", "rev-list --count HEAD", "merge-base a b", "for-each-ref", "fetch"),
    *("log --format='%h %s'", "log --grep=x --all", "log -S x", "log HEAD..main", "diff -- a b"),
    *("--no-pager log", "-C src status", "-c a=b status", "--git-dir=x log", "status --porcelain"),
    *(
        "check-ignore a",
        "show --stat",
        "diff --no-index a b",
        "log --output=x",
        "symbolic-ref HEAD",
    ),
)

WRAPPERS = (
    *("timeout 5", "timeout -k 5 10", "timeout --signal=KILL 5", "nice", "nice -n 5", "nice -5"),
    *("nohup", "time", "time -p", "command", "command -p", "builtin", "exec", "env", "env A=1"),
    *("env -i", "env -u X", "sudo", "sudo -u bob", "doas", "stdbuf -oL", "stdbuf -o0 -eL"),
    *("setsid", "ionice -c3", "chroot /", "xargs", "xargs -n1", "xargs -0", "watch", "strace"),
    *("noglob", "nocorrect", "!", "busybox", "unbuffer", "flock /tmp/l", "parallel", "coproc"),
    *("bash -c", "sh -c", "zsh -lc", "eval", "su -c", "/usr/bin/time", "\\time", "script -c"),
)

ASSIGNMENTS = (
    *("NODE_ENV=test", "NODE_ENV='test x'", "LANG=C", "LC_ALL=C.UTF-8", "TZ=UTC", "CI=1", "CI="),
    *("FOO=bar", "FOO=$BAR", "FOO=$(ls)", "PATH=/tmp:$PATH", "LD_PRELOAD=x.so", "IFS=,", "A+=1"),
    *("RUST_LOG=debug", "GOOS=linux", "NO_COLOR=1", "PYTHONPATH=src", "GIT_PAGER=cat", "A[0]=1"),
    *("DEBUG=1", "PAGER=less", "HOME=/tmp", "NODE_OPTIONS=--x", "RUST_BACKTRACE=full", 'CI="1"'),
)

# Commands that open a file.
OPENERS = (
    *(
        "cat {}",
        "ls {}",
        "head {}",
        "rm {}",
        "touch {}",
        "mkdir {}",
        "cp a {}",
        "mv a {}",
        "tee {}",
    ),
    *("grep x {}", "cp {} b", "cp -r {} b", "mv {} b", "mv -f {} src", "cp {} src", "rmdir {}"),
    *("/bin/rm {}", "/usr/bin/cp {} b", "/bin/cat {}", "bash -c 'rm {}'", "ln -s {} b"),
    *("sed -i s/a/b/ {}", "cp -t src {}", "wc -l {}"),
)

REDIRECTIONS = (
    *("> out", ">> out", "2>&1", "2>/dev/null", "> /dev/null", "&> out", "&>> out", ">| out"),
    *("< a", "< /opt/data/x", "> /opt/data/x", "> ../out", "> src/out", "> .git/config"),
    *("> $X", "> ~/out", "2> err", "1>&2", ">&2", "> /dev/stderr", "<<< x", "<<< $X", "<> a"),
    *("> .env", "< .env", '> "a b"', "> 'out'", "> src/../out", "> *.txt", "2>&1 > out", ">&out"),
    *("> x~1", "> x.", "> y.con", "> '.../x'"),
    *("> .claude/settings.json", "> .bashrc", "3> out", "{fd}> out", "> /tmp/x", "< ~/x", "2>&-"),
    *("> ~/x", ">> ~/.bashrc", "> ~/notes/n.md", '> "$HOME/x"', '< "$HOME/x"'),
)

HEREDOCS = (
    "<<E\nx\nE",
    "<<'E'\nx\nE",
    "<<E\n$(rm x)\nE",
    "<<-E\n\tx\n\tE",
    '<<"E"\n$(rm x)\nE',
    "<<E\n$X\nE",
    "<<E\nx",
)

# Programs that read what a here-document gives them, as a dash tells them.
DASHES = (
    *(
        "python3 -",
        "cat -",
        "git commit -F -",
        "python3 - x",
        "kubectl apply -f -",
        "docker load -",
    ),
    *("gh pr create -F -", "curl -d @- -", "node - -", "timeout 5 python3 -", "CI=1 python3 -"),
)

# Removals of what a variable holds: where it is set, and what removes it.
SETTINGS = (
    *("D=$(pwd)", "D=`pwd`", "D=$PWD", 'D="$PWD"', "D=build", "D='build/o'", "D=/", "D=.", "D=~"),
    *("export D=$(pwd)", "export D=build", "D=$(ls)", "E=$(pwd); D=$E", "E=build; D=$E", "D=$HOME"),
    *("D=$PWD/build", 'D="$HOME/x"', "declare D=$PWD", "D=${PWD}", "D=$(git rev-parse HEAD)"),
    *("D=$(git rev-parse --show-toplevel)", "read D", "D=$X", "D=a; D=$(pwd)", "D=build; D+=/x"),
)
VARIABLE_REMOVALS = (
    *('{}; rm -rf "$D"', "{}; rm -r $D", '{}; rmdir "$D"', '{} && rm -f "$D"', '{}; rm "${{D}}"'),
    *('({}; rm -rf "$D")', 'if true; then {}; rm -rf "$D"; fi', '{}; sudo rm -rf "$D"'),
    *('{}; timeout 5 rm -rf "$D"', '{}; find . -exec rm -rf "$D" {{}} +', "{}; ls | xargs rm $D"),
    *('{}; /bin/rm "$D"', "{}; trap 'rm -rf \"$D\"' EXIT", "{}; bash -c 'rm -rf \"$D\"'"),
    *('{}; rm -rf "$D"/*', '{}; rm -rf "$D/build"', '{}; cd src; rm -rf "$D"', '{}; rm "${{D:?}}"'),
)

# `{}` is a command.
SUBSTITUTIONS = ("$({})", "`{}`", "<({})", ">({})", '"$({})"', "'$({})'", "${{X:-$({})}}")

WORDS = (
    *("x", "'a b'", '"a b"', "$X", '"$X"', "${X}", "${X:-y}", "$HOME", "~", "~/x", "*.py", "a?"),
    *("{a,b}", "[ab]", "$'a'", "a\\ b", "''", '"', "'", "\\", "$1", "$?", "$((1+2))", "-n", "--"),
    *("#x", "é", "x;", "a=b", "/etc/passwd", "../x", ".env", "secrets/k", "src/a.py", "$", "%"),
    *("'*'", '"a*b"', "'$X'", "'a\nb'", "\\*", "'[a]'", '"$HOME"', '"x $HOME"', '"a$(ls)b"'),
    *("\\;", "a#b", '"$HOME/x"', "'x'y", 'x"y"z', "@(a|b)", "!x", "\t", "$_", "${#X}", "$$", "$@"),
)

# `{0}` and `{1}` are commands.
SHAPES = (
    *(
        "{0} && {1}",
        "{0} || {1}",
        "{0}; {1}",
        "{0} | {1}",
        "{0} |& {1}",
        "{0}\n{1}",
        "{0} & {1}",
        "{0} &",
    ),
    *("({0})", "({0}; {1})", "{{ {0}; {1}; }}", "if {0}; then {1}; fi", "while {0}; do {1}; done"),
    *(
        "for i in a b; do {0}; done",
        "for i in $({0}); do {1}; done",
        "for i in *.py; do {0} $i; done",
    ),
    *(
        "case x in a) {0};; *) {1};; esac",
        "f() {{ {0}; }}; {1}",
        "function f {{ {0}; }}; f",
        "! {0}",
    ),
    *(
        "cd src && {0}",
        "cd /tmp && {0}",
        "cd src; {0} && {1}",
        "cd .. && {0}",
        "cd {0} && {1}",
        "cd && {0}",
    ),
    *(
        "{0} # {1}",
        "# x\n{0}",
        "{0} \\\n x",
        "x=1; {0}",
        "x=$({0})",
        "export A=1; {0}",
        "{0};",
        "{0} && (",
    ),
    *(
        "{0} && exit 1",
        "set -e; {0}",
        "{0} || true",
        "{0} | head -5",
        "echo x | {0}",
        "pushd src; {0}",
    ),
    *(
        "{0}\n\n{1}\n",
        "until {0}; do {1}; done",
        "[[ -f a ]] && {0}",
        "[ -f a ] || {0}",
        "time {0}",
    ),
    *(
        "(({0}))",
        "select i in a; do {0}; done",
        "{0} && {1} || {0}",
        "trap '{0}' EXIT",
        "{0} ; ; {1}",
    ),
    *(
        "echo $({0}) | {1}",
        "diff <({0}) <({1})",
        "source a; {0}",
        ". ./a && {0}",
        "test -f a && {0}",
    ),
    *("{0}&&{1}", "{0};{1}", "{0}|{1}", "{0}||{1}", "{0}&{1}", "true&&{0}", '"$({0})"', "`{0}`"),
    *("$({0}", "(({0}", "({0}", "{{ {0}", "{0} )", "echo '{0}", "<({0}", "{0} &&", "x=$({0}; {1}"),
    *("export A=$({0})", "{0} <<< $({1})", "cat <<E\n$({0})\nE", "{0} 2>&1 | tee out", "{0};;"),
    *(
        "git add . && {0}",
        "wait; {0}",
        "unset X; {0}",
        "  {0}  ",
        "{0} |\n{1}",
        "{0} \\\n '*'",
        "{0} '$X'",
        "{0} &&\n{1}",
    ),
)

# Absolute, relative to the working folder, outside of it, and guarded by the host.
PATHS = (
    *(f"{CWD}/{name}" for name in ("a", "a.py", "b.txt", "README.md", "src/a.py", "src/sub/c.py")),
    *(f"{CWD}/{name}" for name in (".env", "conf/.env", "secrets/k", "docs/a.md", "tests/t.py")),
    *(f"{CWD}/{name}" for name in (".vscode/x.json", ".gitmodules", "SRC/a.py", "a b.txt")),
    *(f"{CWD}/{name}" for name in ("src/../a", "./a.py", ".github/w.yml", "node_modules/m/i.js")),
    *(f"{CWD}/{name}" for name in ("build/o", ".env.local", ".idea/x")),
    *("/srv/docs/a.md", "/srv/docs/sub/b.md", "/opt/data/x", "/opt/data/sub/y", "/srv/other/f"),
    *(f"{HOME}/x", f"{HOME}/.bashrc", f"{HOME}/.ssh/id_rsa", f"{HOME}/notes/n.md", "/data/d/f"),
    *("~/x", "~/notes/n.md", "a.py", "src/a.py", "../docs/a.md"),
    *(f"{CWD}/a~1.py", f"{CWD}/x.", f"{CWD}/y.con", f"{CWD}/.../x", "/opt/data/x~1"),
    *("/srv/.env", f"{CWD}/conf/a/.env", f"{CWD}/prod.env", f"{CWD}/.ENV"),
)

NOTEBOOKS = (f"{CWD}/n.ipynb", f"{CWD}/src/n.ipynb", "/opt/data/n.ipynb", f"{HOME}/n.ipynb")

PATTERNS = (
    *("*", "**", "src", "src/", "src/*", "src/**", "src/*.py", "**/*.py", "*.py", "*.md", ".env"),
    *(".env*", ".env.*", "**/.env", "./src/**", "./a.py", "/a.py", "/src/**", "/secrets/**"),
    *("secrets/**", "secrets", "secrets/k", "//srv/docs/**", "//opt/data", "//opt/**", "~/**"),
    *("~/notes/*", "~/x", "~", "//home/alice/.ssh/**", "!a.py", "!src/sub", "../docs/**", "a"),
    *("SRC/**", "a b.txt", "?.py", "[ab].py", "{a,b}.py", "src/**/c.py", "**/sub/**", "docs/a.md"),
    *("//**", "/**", "./**", "conf/", "*/a.py", "src//a.py", "$HOME/x", "link/**", "inner/*", "//"),
    *(".env/", ".env/**", "conf/**/.env", "conf/*/.env", "*env", ".*", "**/.*", "//srv/app/.env"),
    *("!.env", "[.]env", ".en?", "**/conf/**", "src/**/*", "/srv/app/**", "~/.env", "**/*.env"),
    *(
        ".git/**",
        ".claude/**",
        ".vscode/**",
        "tests/",
        "**/",
        "a.py ",
        " a.py",
        "build",
        "/srv/app/a",
    ),
)

HOSTS = (
    *("example.com", "www.example.com", "a.b.example.com", "notexample.com", "EXAMPLE.com"),
    *(
        "[::1]",
        "docs.python.org",
        "github.com",
        "x.com",
        "localhost",
        "127.0.0.1",
        "example.com.evil.org",
    ),
    *(
        "nodejs.org.",
        "NodeJS.org",
        "github.com/anthropics",
        "github.com/anthropicsx",
        "example.com.",
    ),
    *("github.com/a/../anthropics", "www.kaggle.com/docs", "vercel.com/doc", "huggingface.co/docs"),
)
URLS = ("https://{}/", "http://{}/x?y=1", "https://{}:8443/", "https://u:p@{}/", "https://{}")
DOMAINS = (
    *(
        "domain:example.com",
        "domain:[::1]",
        "domain:[*]",
        "domain:*.example.com",
        "domain:*",
        "domain:*example.com",
        "domain:x.com",
    ),
    *("domain:EXAMPLE.com", "domain: example.com", "domain:example.*", "domain:*.com", "domain:"),
    *("domain:docs.python.org", "domain:a.*.example.com", "domain:localhost", "example.com"),
    *("https://example.com/*", "domain:example.com:8443", "domain:example.com/x", "*"),
)

SERVERS = {"github": ("get_issue", "delete_repo"), "git": ("x",)}
MCP_RULES = (
    *("mcp__github", "mcp__github__*", "mcp__github__get_issue", "mcp__github__get_*", "mcp__*"),
    *("mcp__git", "mcp__git__x", "mcp__*__get_issue", "*__get_issue", "mcp__GitHub__get_issue"),
    *("mcp__github__get_issue(x)", "mcp__github__", "mcp__git*", "*", "mcp__github__delete_repo"),
)

SKILLS = {
    "deploy": {},
    "commit": {"allowed-tools": "Bash(git *)"},
    "deploy-all": {},
    "renamed": {"name": "other", "allowed-tools": "Read"},
}
# What one of the skills allows and takes away while it is active.
SKILL_LISTS = (
    *(
        {"allowed-tools": each}
        for each in ("Bash(git *)", "Bash", "Bash(make *), Edit", "Read, Grep")
    ),
    *({"allowed-tools": each} for each in ("Edit(src/**)", "mcp__github__*", '"*"', "Bash(npm:*)")),
    {"allowed-tools": '["Bash(docker *)", "WebFetch(domain:example.com)"]'},
    {"allowed-tools": "Bash(git *)", "disallowed-tools": "Bash(git push *)"},
    {"disallowed-tools": "Bash(rm *), WebSearch"},
)
SKILL_RULES = (
    "",
    "(deploy)",
    "(deploy *)",
    "(deploy:*)",
    "(commit)",
    "(Deploy)",
    "(*)",
    "(/deploy)",
    "(dep*)",
    "(other)",
    "(renamed)",
)
SKILL_CALLS = ("deploy", "commit", "deploy-all", "/deploy", "other", "renamed", "/other")

# Matchers of hooks; none sees what starts agents and skills, or what reads.
MATCHERS = (
    *("Bash", "Edit|Write", "^Bash$", "Bash, Edit", "mcp__.*", "mcp__github", "bash", "WebFetch"),
    *("Edit|Bash*", "NotebookEdit", "Monitor", "Bash(git *)", "[", "mcp__github__get_issue", "Ba"),
)

AGENT_NAMES = ("worker", "lead", "code-reviewer")
AGENT_RULES = (
    "",
    "(worker)",
    "(Explore)",
    "(code-reviewer)",
    "(Worker)",
    "(work*)",
    "(*)",
    "(worker, lead)",
)
TOOL_LISTS = (
    *(
        "Bash",
        "Read, Bash",
        "Read Edit Bash",
        "Bash, Read, Edit, Write, Agent",
        "Read",
        '["Bash", "Read"]',
    ),
    *("Bash(git *), Read", "Agent, Bash", "Agent(worker), Bash, Read", '"*"', "read, Bash", "Nope"),
    *(
        "mcp__github, Bash",
        "mcp__github__get_issue, Read",
        "Bash, WebFetch, Skill",
        "Task, Edit, Bash",
        "[]",
        '"Read\\tBash"',
        "Grep",
        "|\n  Read,\n  Bash",
    ),
)
DENY_LISTS = (
    *(
        "Bash",
        "Edit",
        "Write, Edit",
        "Bash(git *)",
        "mcp__github",
        "mcp__*",
        "Agent",
        "WebFetch",
        "B*",
    ),
    *("Read", "Agent(worker)", "bash", '["Skill"]', "Skill", "Read, Edit", '"Bash\\tEdit"'),
)
# As often as people work in each.
MODES = (
    *(["default"] * 9),
    *(["acceptEdits"] * 4),
    *(["plan"] * 3),
    *(["auto"] * 3),
    *(["dontAsk"] * 2),
    *(["bypassPermissions"] * 2),
)
LINKED = (
    *(f"{CWD}/link/x", f"{CWD}/link/sub/y", f"{CWD}/inner/a.py", f"{CWD}/up/a.md"),
    "/opt/data/back/a.py",
)
LINKS = {
    f"{CWD}/link": "/opt/data",
    f"{CWD}/inner": f"{CWD}/src",
    f"{CWD}/up": "/srv/docs",
    "/opt/data/back": f"{CWD}/src",
}
FOLDERS = ("../docs", "/opt/data", "~/notes", "/srv/docs/", "/data/d")

# What settings say beside rules: the last ones cost all of their file, unless an
# administrator wrote it.
OTHER_SETTINGS: Final[tuple[dict[str, Any], ...]] = (
    {"disableAutoMode": "disable"},
    {"disableWorkflows": True},
    {"enableWorkflows": False},
    {"skillOverrides": {"commit": "off", "deploy": "on"}},
    {"skillOverrides": {"commit": "user-invocable-only"}},
    {"sandbox": {"enabled": False, "excludedCommands": ["docker *"]}},
    {"enabledMcpjsonServers": "all", "effortLevel": 5, "theme": 5},
    {"availableModels": "opus"},
    {"sandbox": {"enabled": "yes"}},
    {"statusLine": {"type": "command"}},
    {"enabledPlugins": {"a@b": 5}},
)
