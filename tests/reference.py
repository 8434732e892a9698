"""What a policy means, written for obviousness: the compiled table must agree with it.

A loop over rules. It knows the words of our own notation and nothing of rows,
automata and lookups; texts are matched by regular expressions and recursion.
Of shell commands it knows simple ones, joined by ``&&``, ``;`` and ``|``.
"""

from __future__ import annotations

import json
import posixpath
import re
from collections.abc import Iterator, Mapping, Sequence

from policy.core import values
from policy.core.effect import Effect

__all__ = ["Said", "Scope", "decide", "decide_in_chain"]

Call = Mapping[str, object]

COMMANDS = {"Bash"}
PATHS = {"Read", "Edit"}
URLS = {"WebFetch"}
FIELDS = {
    "Bash": ["command"],
    "Read": ["file_path", "path"],
    "Edit": ["file_path", "path"],
    "WebFetch": ["url"],
    "Task": ["subagent_type", "agent"],
}
ALIASES = {"Agent": "Task"}
PARAMETERS = {"Bash": {"timeout", "description", "run_in_background"}}


@values.frozen
class Said:
    """One rule, as people write it: ``deny Bash(git push *)``."""

    effect: Effect
    matcher: str

    @property
    def tool(self) -> str:
        return self.matcher.partition("(")[0]

    @property
    def specifier(self) -> str | None:
        return self.matcher.partition("(")[2][:-1] if "(" in self.matcher else None


@values.frozen
class Scope:
    """What one agent says: rules in the order written, and what they come to."""

    rules: tuple[Said, ...] = ()
    default: Effect = Effect.DENY
    precedence: str = "strictest"
    delegate: tuple[str, ...] | None = None


def decide_in_chain(scopes: Sequence[Scope], tool: str, call: Call) -> Effect:
    """What the last agent may use, as far as each one before it may delegate that."""
    handed_on = [_delegated(scope) for scope in scopes[:-1]]
    return min(decide(scope, tool, call) for scope in (*handed_on, scopes[-1]))


def _delegated(scope: Scope) -> Scope:
    if scope.delegate is None:
        return scope
    denied = tuple(said for said in scope.rules if said.effect is Effect.DENY)
    handed_on = tuple(Said(Effect.ALLOW, matcher) for matcher in scope.delegate)
    return Scope((*denied, *handed_on), Effect.DENY, scope.precedence)


def decide(scope: Scope, tool: str, call: Call) -> Effect:
    tool = ALIASES.get(tool, tool)
    rules = [said for said in _in_order(scope) if _names(said, tool)]
    try:
        texts = _texts(tool, call) if _argument_matters(rules, tool) else [""]
    except ValueError:
        return Effect.DENY
    if not texts:  # an empty command: nothing that a rule could grant
        return min(Effect.ASK, _decide_text(rules, scope.default, tool, "", call))
    return min(_decide_text(rules, scope.default, tool, text, call) for text in texts)


def _decide_text(
    rules: Sequence[Said], default: Effect, tool: str, text: str, call: Call
) -> Effect:
    for said in rules:
        if _matches(said, tool, text, call):
            return said.effect
    return default


def _in_order(scope: Scope) -> Iterator[Said]:
    """The rules, those first that win over the others."""
    if scope.precedence == "last match":
        yield from reversed(scope.rules)
    elif scope.precedence == "strictest":
        for effect in (Effect.DENY, Effect.ASK, Effect.ALLOW):
            yield from (said for said in scope.rules if said.effect is effect)
    else:
        assert scope.precedence == "exact first"
        for exact in (True, False):
            for effect in (Effect.DENY, Effect.ASK):
                for said in scope.rules:
                    if said.effect is effect and _is_exact(said) is exact:
                        yield said
        yield from (said for said in scope.rules if said.effect is Effect.ALLOW)


def _is_exact(said: Said) -> bool:
    return said.specifier is not None and "*" not in said.matcher


def _names(said: Said, tool: str) -> bool:
    spelled = [tool, *(alias for alias, real in ALIASES.items() if real == tool)]
    if "*" in said.tool:
        return any(_stars(said.tool, name) for name in spelled)
    return ALIASES.get(said.tool, said.tool) == tool


def _argument_matters(rules: Sequence[Said], tool: str) -> bool:
    """Whether a rule that looks at the argument stands before one for every call."""
    for said in rules:
        if said.specifier is None:
            return False
        if _parameter(said, tool) is None:
            return True
    return False


# --- calls ------------------------------------------------------------------


def _texts(tool: str, call: Call) -> list[str]:
    """The texts rules speak of, each of which must be granted. ValueError: unreadable."""
    if tool not in FIELDS:
        values = list(call.values())
        if len(values) == 1 and isinstance(values[0], str):
            return [values[0]]
        return [json.dumps(dict(call), sort_keys=True, ensure_ascii=False, separators=(",", ":"))]
    values = [call[field] for field in FIELDS[tool] if field in call]
    if not values or not isinstance(values[0], str) or any(v != values[0] for v in values):
        raise ValueError
    text = values[0]
    if tool in COMMANDS:
        parts = [" ".join(part.split(" ")) for part in re.split("&&|;|[|]", text)]
        return [re.sub(" +", " ", part).strip() for part in parts if part.strip()]
    if tool in PATHS:
        if not text:
            raise ValueError
        return [_absolute(text)]
    if tool in URLS:
        found = re.match(r"https?://([a-z.]+)(/|$)", text)
        if not found:
            raise ValueError
        return [found[1].removesuffix(".")]
    return [text]


def _absolute(path: str) -> str:
    if path == "~" or path.startswith("~/"):
        path = "/@home" + path[1:]
    return "/" + posixpath.normpath(posixpath.join("/@project", path)).lstrip("/").lower()


# --- matchers ---------------------------------------------------------------


def _matches(said: Said, tool: str, text: str, call: Call) -> bool:
    specifier = said.specifier
    if specifier is None:
        return True
    parameter = _parameter(said, tool)
    if parameter is not None:
        name, wanted = parameter
        given = call.get(name)
        shown = json.dumps(given) if isinstance(given, (bool, int)) else given
        return isinstance(shown, str) and _stars(wanted, shown)
    if tool in COMMANDS:
        specifier = specifier[:-2] + " *" if specifier.endswith(":*") else specifier
        if specifier.endswith(" *") and specifier.count("*") == 1 and specifier[:-2].strip():
            bare = specifier[:-2].rstrip()
            return text == bare or text.startswith(bare + " ")
        return _stars(specifier, text)
    if tool in PATHS:
        return _below(specifier.lower(), text)
    if tool in URLS:
        return _host(specifier.removeprefix("domain:").removesuffix("."), text)
    if tool == "Task":
        return any(_stars(name.strip(), text) for name in specifier.split(","))
    return _stars(specifier, text)


def _parameter(said: Said, tool: str) -> tuple[str, str] | None:
    name, colon, value = (said.specifier or "").partition(":")
    if not colon or not name.isalpha() or tool in PATHS | URLS:
        return None
    if tool in COMMANDS and name not in PARAMETERS[tool]:
        return None
    return None if name in FIELDS.get(tool, ()) else (name, value)


def _stars(pattern: str, text: str) -> bool:
    return re.fullmatch(".*".join(map(re.escape, pattern.split("*"))), text, re.DOTALL) is not None


def _host(pattern: str, host: str) -> bool:
    if pattern == "*":
        return True
    subdomains = pattern.startswith("*.")
    labels = "[^.]*".join(map(re.escape, pattern.removeprefix("*.").split("*")))
    return re.fullmatch((r"(.*\.)" if subdomains else "") + labels, host) is not None


def _below(glob: str, path: str) -> bool:
    """Whether *path* is, or lies below, what a ``.gitignore`` glob names."""
    anchor, floating = "/@project", "/" not in glob.rstrip("/")
    if glob.startswith("//"):
        anchor, glob = "", glob[1:]
        floating = False
    elif glob.startswith("~/"):
        anchor, glob = "/@home", glob[1:]
        floating = False
    if anchor and not (path + "/").startswith(anchor + "/"):
        return False
    segments = [segment for segment in glob.split("/") if segment]
    if glob.endswith("/"):
        segments.append("**")
    if floating and segments != ["**"]:
        segments.insert(0, "**")
    return _walk(segments, [part for part in path[len(anchor) :].split("/") if part])


def _walk(segments: Sequence[str], parts: Sequence[str]) -> bool:
    if not segments:
        return True  # and all that is below
    if segments == ["**"]:
        return len(parts) > 0
    if segments[0] == "**":
        return _walk(segments[1:], parts) or (len(parts) > 0 and _walk(segments, parts[1:]))
    if not parts:
        return False
    expression = "".join({"*": ".*", "?": "."}.get(c, re.escape(c)) for c in segments[0])
    return re.fullmatch(expression, parts[0]) is not None and _walk(segments[1:], parts[1:])
