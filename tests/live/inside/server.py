"""An MCP server on standard input and output, inside the sandbox; its arguments name its tools."""

from __future__ import annotations

import json
import sys


def _result(method: str, parameters: dict) -> dict:
    if method == "initialize":
        return {
            "protocolVersion": parameters.get("protocolVersion", "2024-11-05"),
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "server", "version": "1"},
        }
    if method == "tools/list":
        schema = {"type": "object", "properties": {}, "additionalProperties": True}
        names = sys.argv[1:]
        return {"tools": [{"name": n, "description": "d", "inputSchema": schema} for n in names]}
    if method == "tools/call":
        return {"content": [{"type": "text", "text": "done"}]}
    return {}


for line in sys.stdin:
    message = json.loads(line)
    if "id" in message:
        result = _result(message.get("method", ""), message.get("params") or {})
        reply = {"jsonrpc": "2.0", "id": message["id"], "result": result}
        print(json.dumps(reply), flush=True)
