"""Pikuri: each kind of case through the part of the front end that decides it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from functools import reduce
from operator import or_
from typing import Any

from policy.core.effect import Effect
from policy.hosts.fields import HostError
from policy.hosts.pikuri.host import (
    NEWEST,
    AgentNode,
    AllowAll,
    Confirmer,
    Destination,
    Filesystem,
    Host,
    Payload,
    Persona,
    PersonaSet,
    PikuriProfile,
    SubAgent,
    Tool,
    TrifectaLegs,
    Untrusted,
    configure,
    confirmation,
    declared_reading,
    enforced_reading,
    walk,
)
from policy.tables.chain import Chain, SpawnDenied
from tests.conformance.suite import Case

__all__ = ["decide"]

Given = Mapping[str, Any]
_KNOWN = {
    "type",
    "tools",
    "sub_agent_tools",
    "personas",
    "registered_before_extension",
}


def decide(case: Case) -> tuple[str, str]:
    """Return what *case* must get and what it gets."""
    kind = case["definition"]["type"].removeprefix("pikuri.")
    try:
        got = _KINDS[kind](case)
    except HostError as error:
        got = f"error:{error.kind}"
    return str(case["expected"]), str(got)


def _profile(text: str | None) -> PikuriProfile:
    found = re.fullmatch(r"pikuri\s*(?:<=|==?|@)?\s*(\d+\.\d+(?:\.\d+)?)(?:-[\d.]+)?", text or "")
    return PikuriProfile.of(found[1]) if found else NEWEST


def _tools(names: Iterable[str], **kinds: Any) -> list[Tool]:
    return [Tool(name, **kinds) for name in names]


def _host(case: Case) -> Host:
    given = case["definition"]
    profile = _profile(case.get("profile"))
    own = _tools(given.get("tools") or ())
    pool = _tools(given.get("sub_agent_tools") or (), sub_agents_only=True)
    before = given.get("registered_before_extension")
    first = [t for t in (*own, *pool) if before is None or t.name in before]
    rest = [t for t in (*own, *pool) if t not in first]
    servers = [
        tool
        for key, value in given.items()
        if key not in _KNOWN and isinstance(value, list)
        for tool in _tools((str(name) for name in value), server=key)
    ]
    extension = (
        PersonaSet(tuple(Persona(**_persona(persona)) for persona in given.get("personas") or ()))
        if profile.has_personas
        else SubAgent()
    )
    return Host("host", (*first, extension, *rest, *servers), profile=profile)


def _persona(given: Given) -> dict[str, Any]:
    return {key: value for key, value in given.items() if key != "type"}


def _of_host(case: Case) -> Effect:
    host = _host(case)
    done = configure(host)
    tool, chain = case["query"]["tool"], tuple(case["chain"])
    found = done.available(chain[1:], tool) if host.profile.has_personas else None
    if chain[1:] and host.profile.has_personas and "name" in case["query"].get("args", {}):
        done.persona(case["query"]["args"]["name"])
    # The tables of both readings must agree.
    said = []
    for reading in (declared_reading(host, done), enforced_reading(host, done)):
        try:
            link = Chain.start("host", reading)
            for agent in chain[1:]:
                link = link.spawn(agent)
            said.append(_table_has(link, tool, host))
        except SpawnDenied:
            said.append(False)
    if found is None:
        found = said[0]
    assert said == [found, found], (said, found)
    return Effect.ALLOW if found else Effect.DENY


def _table_has(chain: Chain, tool: str, host: Host) -> bool:
    if tool == host.profile.spawn_tool:
        agents = [agent for agent in chain.reading.agents if agent != "host"]
        calls: list[dict[str, object]] = [{"name": agent} for agent in agents]
    else:
        calls = [{"path": "x", "command": "x"}]
    return any(chain.decide(tool, call).effect is not Effect.DENY for call in calls)


def _of_workspace(case: Case) -> Effect:
    given, query = case["definition"], case["query"]
    write = query["op"] != "read"
    if given.get("allow_all") or given.get("variant") in {"allow_all", "AllowAll"}:
        return AllowAll().decide(query["path"], write=write)
    workspace = Filesystem(
        given["project_root"],
        tuple(given.get("readable") or ()),
        tuple(given.get("writable") or ()),
        given.get("symlinks") or {},
    )
    return workspace.decide(query["path"], write=write)


def _of_confirmer(case: Case) -> Effect:
    query = case["query"]
    return confirmation(
        Confirmer(case["definition"]["confirmer"].lower()),
        query["tool"],
        exists=bool(query.get("exists")),
        identical=bool(query.get("identical")),
    )


def _legs(given: Given) -> TrifectaLegs:
    egress = bool(given.get("egress"))
    untrusted = given.get("untrusted") or "none"
    grades = {grade.value: grade for grade in Untrusted}
    return TrifectaLegs(
        bool(given.get("private")),
        grades.get(str(untrusted), Untrusted.SOFT),
        Destination.OPEN if egress else Destination.NO_EGRESS,
        Payload.UNREVIEWED if egress else Payload.NO_EGRESS,
    )


def _node(name: str, given: Given) -> AgentNode:
    return AgentNode(
        name,
        reduce(or_, map(_legs, given.get("tools") or ()), TrifectaLegs()),
        tuple(
            _node(child.get("name", "child"), child)
            for child in given.get("children") or given.get("personas") or ()
        ),
    )


def _of_trifecta(case: Case) -> str:
    report = walk(_node("host", case["definition"]))
    wanted = case.get("extra", {}).get("verdict")
    if wanted == "not silent":
        met = report.verdict.value != "silent"
    else:
        met = wanted in {None, report.verdict.value}
    # A report decides nothing, so every audit passes.
    return str(Effect.ALLOW) if met else f"verdict {report.verdict.value}"


_KINDS: dict[str, Callable[[Case], Effect | str]] = {
    "host": _of_host,
    "workspace": _of_workspace,
    "confirmer": _of_confirmer,
    "trifecta": _of_trifecta,
}
