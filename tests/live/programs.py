"""Names that rules and commands speak of: programs of every kind, and variables."""

from __future__ import annotations

__all__ = ["PROGRAMS", "SCRIPTS", "VALUES", "VARIABLES"]

# Of a rule that names one, and of calls of it, of another that begins alike, and beside others.
PROGRAMS = tuple(
    name.replace("_", " ")
    for name in (
        "alias ansible awk aws bash bat brew bun bundle_exec bzip2 c++ cargo_clippy cd chmod chown claude"
        " clang cmake code command composer conda cp crontab curl cut dd deno_fmt df diff dig docker_compose"
        " docker_exec dotnet_build echo egrep env exit export fd file find flutter gcc gem gh_pr_view gh_run"
        " git_add git_commit git_push git_push_--force git_rebase git_reset_--hard git_stash git_worktree"
        " go_build go_test gradle grep gunzip gzip hash head helm history htop id ip java jest jq just kill"
        " killall kubectl_delete kubectl_get less ln ls lsof make man mix mkdir mkfs mount mv mypy mysql nc"
        " netstat nix node nohup npm_ci npm_publish npm_run npm_run_lint npx_tsc open openssl passwd perl"
        " php ping pip_install pkill pnpm poetry_run prettier ps psql pwd pytest_-q python python3 rails"
        " rake read reboot redis-cli rg rm_-rf rmdir rsync ruby ruff_check rustc scp screen sed service set"
        " sh shasum shutdown sleep sort source sqlite3 ssh stat strace su sudo systemctl tail tar tee telnet"
        " terraform_plan test time timeout tmux touch tree true tsc type ulimit uname uniq unzip uv_run vim"
        " vite wait watch wc wget whereis which who xargs xxd yarn yarn_test yes zip zsh"
    ).split()
)

VARIABLES = tuple(
    "A APP_ENV AWS_PROFILE BASH_ENV BLOCKSIZE BUILD_ID CARGO_HOME CC CDPATH CFLAGS CGO_ENABLED CHARSET CI"
    " CLICOLOR COLORTERM COLUMNS CXX DATABASE_URL DEBUG DISPLAY DJANGO_SETTINGS_MODULE EDITOR ENV FOO"
    " FORCE_COLOR GIT_DIR GIT_PAGER GIT_SSH_COMMAND GIT_TERMINAL_PROMPT GO111MODULE GOFLAGS GOOS GOPATH"
    " GREP_COLOR GREP_OPTIONS HOME HOST HTTPS_PROXY IFS JAVA_HOME LANG LANGUAGE LC_ALL LC_COLLATE LC_CTYPE"
    " LC_MESSAGES LC_NUMERIC LC_TIME LD_LIBRARY_PATH LD_PRELOAD LESS LINES LOG_LEVEL LSCOLORS MAKEFLAGS"
    " NODE_ENV NODE_OPTIONS NODE_PATH NO_COLOR OPENAI_API_KEY PAGER PATH PERL5LIB PGPASSWORD PORT PS4"
    " PYTEST_ADDOPTS PYTHONHASHSEED PYTHONPATH PYTHONUNBUFFERED RAILS_ENV RUBYOPT RUSTFLAGS RUST_LOG SHELL"
    " TERM TIME_STYLE TMPDIR TZ UID USER VIRTUAL_ENV XDG_CONFIG_HOME http_proxy npm_config_yes".split()
)
VALUES = (
    *(
        "1",
        "C",
        "C.UTF-8",
        "POSIX",
        "en_US.UTF-8",
        "test",
        "a/b",
        "../x",
        "/opt/data",
        "~",
        "~/x",
        "a:b",
    ),
    *(
        "",
        "''",
        '"a"',
        "'a b'",
        "$X",
        '"$X"',
        "$HOME",
        "*",
        "a,b",
        "{a,b}",
        "$(ls)",
        "`ls`",
        "a=b",
        "-x",
    ),
    *(
        "debug,hyper=info",
        "é",
        "1;ls",
        "a\\ b",
        "@x",
        "%s",
        "#x",
        "+1",
        "$((1))",
        "[a]",
        "x&y",
        "|x",
    ),
)

# Scripts, and text that only looks like one, for programs that run them.
SCRIPTS = (
    *(
        "'{print $1}'",
        "'BEGIN{system(\"ls\")}'",
        "'{print | \"sh\"}'",
        "'{print > \"out\"}'",
        "'1'",
    ),
    *(
        "'s/a/b/e'",
        "'1w out'",
        "'1r a'",
        "'/x/d'",
        "'y/a/b/'",
        "'$!d'",
        "'.a'",
        "'include \"x\"; .'",
    ),
    *(
        "'env'",
        "'input'",
        "'system(\"x\")'",
        "'import \"a\" as b; .'",
        "'getline < \"a\"'",
        "'.[] | .x'",
    ),
)
