"""The policy as a hook of Claude Code: one process a call, one answer, and a block on failure.

Claude Code starts a process for every call (`client`, `entry`) and waits for it. The process reads
the files of every policy in force (`sources`), finds their compiled form by a digest of them, or
compiles them (`store`), finds the chain of the agent that calls (`event`, `chains`), and decides: a
call gets the strictest answer of every policy, along every possible chain (`deciding`). Writing a
file of the policy needs approval (`protection`).

With ``--resident``, the first process leaves a copy of itself running with compiled policies in
memory (`resident`). Later processes send it their call, for which it reads the files again.

A missing or altered entry of the store only costs time. Every other failure blocks the call.

`settings` adds the hook to a settings file and finds settings that keep it from running.
"""
