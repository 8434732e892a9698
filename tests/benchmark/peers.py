"""Engines that people would use instead, given the same rules in their own words.

Each is a function from rules to a decider, ``(tool, argument) -> allowed``. The
decider holds whatever the engine can prepare: parsed policies, a loaded model.
What is timed is what a host would have to do for every call, which includes
making the engine's kind of request.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Sequence
from fnmatch import fnmatchcase
from importlib import metadata
from importlib.util import find_spec
from typing import Any

import attrs

from tests.benchmark.workload import Rule

__all__ = ["INSTALL", "PEERS", "Decider", "Peer"]

Decider = Callable[[str, str], bool]

INSTALL = "pip install -e '.[bench]'"


@attrs.frozen
class Peer:
    """An engine that may be installed.

    Attributes:
        name: as people call it.
        module: what is imported.
        distribution: what is installed.
        load: makes a decider of rules.
        optional: whether the extra ``bench`` leaves it out.
        most: the most rules worth trying; beyond, it gives up by itself.

    """

    name: str
    module: str
    distribution: str
    load: Callable[[Sequence[Rule]], Decider]
    optional: bool = False
    most: int = 10_000

    @property
    def installed(self) -> bool:
        """Whether it is there."""
        return find_spec(self.module) is not None

    @property
    def version(self) -> str:
        """The version that is there."""
        return metadata.version(self.distribution)


# --- Cedar ------------------------------------------------------------------


def _cedar(rules: Sequence[Rule]) -> Decider:
    import cedarpy

    policies = cedarpy.PolicySet.from_str("\n".join(map(_cedar_policy, rules)))
    nothing = cedarpy.Entities.from_json_str("[]")
    ask = cedarpy.is_authorized

    def decide(tool: str, argument: str) -> bool:
        request = {
            "principal": 'Agent::"main"',
            "action": f'Action::"{tool}"',
            "resource": 'Host::"here"',
            "context": {"tool": tool, "argument": argument},
        }
        return bool(ask(request, policies, nothing).allowed)

    return decide


def _cedar_policy(rule: Rule) -> str:
    effect = "permit" if rule.allows else "forbid"
    action, conditions = f'action == Action::"{rule.tool}"', []
    if "*" in rule.tool:
        action = "action"
        conditions.append(f'context.tool like "{rule.tool}"')
    if rule.argument is not None:
        test = "like" if "*" in rule.argument else "=="
        conditions.append(f'context.argument {test} "{rule.argument}"')
    when = f" when {{ {' && '.join(conditions)} }}" if conditions else ""
    return f"{effect} (principal, {action}, resource){when};"


# --- Casbin -----------------------------------------------------------------

_CASBIN_MODEL = """
[request_definition]
r = tool, argument
[policy_definition]
p = tool, argument, eft
[policy_effect]
e = some(where (p.eft == allow)) && !some(where (p.eft == deny))
[matchers]
m = star(r.tool, p.tool) && star(r.argument, p.argument)
"""


def _casbin(rules: Sequence[Rule]) -> Decider:
    import casbin

    logging.getLogger("casbin").setLevel(logging.WARNING)
    model = casbin.Model()
    model.load_model_from_text(_CASBIN_MODEL)
    enforcer = casbin.Enforcer(model)
    enforcer.add_function("star", fnmatchcase)
    enforcer.add_policies([[rule.tool, rule.argument or "*", rule.effect] for rule in rules])
    return enforcer.enforce


# --- vakt -------------------------------------------------------------------


def _vakt(rules: Sequence[Rule]) -> Decider:
    import vakt

    storage = vakt.MemoryStorage()
    for number, rule in enumerate(rules):
        storage.add(
            vakt.Policy(
                str(number),
                actions=[_vakt_rule(rule.tool)],
                resources=[_vakt_rule(rule.argument or "*")],
                subjects=[vakt.rules.Any()],
                effect=vakt.ALLOW_ACCESS if rule.allows else vakt.DENY_ACCESS,
            )
        )
    guard = vakt.Guard(storage, vakt.RulesChecker())
    inquiry = vakt.Inquiry

    def decide(tool: str, argument: str) -> bool:
        return bool(guard.is_allowed(inquiry(action=tool, resource=argument, subject="main")))

    return decide


def _vakt_rule(pattern: str) -> Any:
    from vakt import rules

    before, star, behind = pattern.partition("*")
    if not star:
        return rules.Eq(pattern)
    if not behind:
        return rules.StartsWith(before) if before else rules.Any()
    if not before and "*" not in behind:
        return rules.EndsWith(behind)
    expression = ".*".join(literal.replace(".", r"\.") for literal in pattern.split("*"))
    return rules.RegexMatch(expression + r"\Z")


# --- Oso --------------------------------------------------------------------


def _oso(rules: Sequence[Rule]) -> Decider:
    import oso

    engine = oso.Oso()
    engine.register_constant(fnmatchcase, "star")
    lines = ['allow("main", t, a) if granted(t, a) and not denied(t, a);']
    lines += [f"{effect}(_: String, _: String) if false;" for effect in ("granted", "denied")]
    lines += [_oso_rule(rule) for rule in rules]
    engine.load_str("\n".join(lines))

    def decide(tool: str, argument: str) -> bool:
        return any(True for _ in engine.query_rule("allow", "main", tool, argument))

    return decide


def _oso_rule(rule: Rule) -> str:
    head, conditions = [], []
    for name, pattern in (("t", rule.tool), ("a", rule.argument or "*")):
        before, star, behind = pattern.partition("*")
        if not star:
            head.append(f'"{pattern}"')
            continue
        head.append(f"{name}: String" if before or behind else f"_{name}: String")
        if not behind:
            conditions += [f'{name}.startswith("{before}")'] if before else []
        elif not before and "*" not in behind:
            conditions.append(f'{name}.endswith("{behind}")')
        else:
            conditions.append(f'star.__call__({name}, "{pattern}")')
    head = ", ".join(head)
    when = f" if {' and '.join(conditions)}" if conditions else ""
    return f"{'granted' if rule.allows else 'denied'}({head}){when};"


# --- Rego -------------------------------------------------------------------

_REGO = """package tools
import rego.v1

default allowed := false

allowed if {
    speaks("allow")
    not speaks("deny")
}

speaks(effect) if data.rules[effect].tools[input.tool]

speaks(effect) if strings.any_prefix_match(input.tool, data.rules[effect].tool_prefixes)

speaks(effect) if {
    some pattern in data.rules[effect].tool_globs
    glob.match(pattern, null, input.tool)
}

speaks(effect) if data.rules[effect].exact[input.tool][input.argument]

speaks(effect) if strings.any_prefix_match(
    input.argument, data.rules[effect].prefixes[input.tool])

speaks(effect) if strings.any_suffix_match(
    input.argument, data.rules[effect].suffixes[input.tool])

speaks(effect) if {
    some pattern in data.rules[effect].globs[input.tool]
    glob.match(pattern, null, input.argument)
}
"""


def _rego_data(rules: Sequence[Rule]) -> str:
    data: dict[str, Any] = {
        effect: {
            "tools": {},
            "tool_prefixes": [],
            "tool_globs": [],
            "exact": {},
            "prefixes": {},
            "suffixes": {},
            "globs": {},
        }
        for effect in ("allow", "deny")
    }
    for rule in rules:
        of = data[rule.effect]
        if rule.argument is None:
            if "*" not in rule.tool:
                of["tools"][rule.tool] = True
            elif rule.tool.find("*") == len(rule.tool) - 1:
                of["tool_prefixes"].append(rule.tool[:-1])
            else:
                of["tool_globs"].append(rule.tool)
            continue
        before, star, behind = rule.argument.partition("*")
        if not star:
            of["exact"].setdefault(rule.tool, {})[rule.argument] = True
        elif not behind:
            of["prefixes"].setdefault(rule.tool, []).append(before)
        elif not before and "*" not in behind:
            of["suffixes"].setdefault(rule.tool, []).append(behind)
        else:
            of["globs"].setdefault(rule.tool, []).append(rule.argument)
    return json.dumps({"rules": data})


def _rego(rules: Sequence[Rule]) -> Decider:
    import regorus

    regorus.set_cache_config(glob=100_000)
    engine = regorus.Engine()
    engine.add_policy("tools.rego", _REGO)
    engine.add_data_json(_rego_data(rules))

    def decide(tool: str, argument: str) -> bool:
        engine.set_input({"tool": tool, "argument": argument})
        return bool(engine.eval_rule("data.tools.allowed"))

    return decide


def _rego_bytecode(rules: Sequence[Rule]) -> Decider:
    import regorus

    regorus.set_cache_config(glob=100_000)
    data = _rego_data(rules)
    machine = regorus.Rvm()
    modules, entry = [("tools.rego", _REGO)], "data.tools.allowed"
    machine.load_program(regorus.Program.compile_from_modules(data, modules, [entry]))
    machine.set_data_json(data)
    write = json.dumps

    def decide(tool: str, argument: str) -> bool:
        machine.set_input_json(write({"tool": tool, "argument": argument}))
        return machine.execute() == "true"

    return decide


# The first three are the extra `bench`; the others are measured where they are there.
PEERS = (
    Peer("cedarpy", "cedarpy", "cedarpy", _cedar),
    Peer("casbin", "casbin", "casbin", _casbin),
    Peer("vakt", "vakt", "vakt", _vakt),
    Peer("oso", "oso", "oso", _oso, optional=True, most=1_000),
    Peer("regorus", "regorus", "gordon-to-regorus", _rego, optional=True),
    Peer("regorus RVM", "regorus", "gordon-to-regorus", _rego_bytecode, optional=True),
)
