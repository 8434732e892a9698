"""The policy as a hook of Claude Code: one process a call, one answer, and a block on failure.

Claude Code starts a process for every call (`client`) and waits for it. Deciding *in full* takes
about twenty times as long as Python takes to start: the process imports the package, reads the
files of the policy, compiles them or loads the compiled policy, finds the chain of the agent that
calls, and decides. Two shorter ways reuse what a full decision has found. `entry` tries the three
ways in this order:

1. **Resident.** With ``--resident``, a process that decided in full leaves a copy of itself
   running (`resident`). It keeps compiled policies in memory. Later processes send it their call
   (`handover`), and it decides in full.
2. **Cached answers.** A process that decided in full stores what answers similar calls: the
   automata of the rules, and the answer for each outcome (`warm_up`). Where one text decides
   a call, a later process runs these automata (`cached_answers`). It imports neither rules nor
   the `json` library.
3. **In full.** Everything else (`decider`). Only this way defines what a call gets
   (`deciding`): the strictest answer of every policy in force (`sources`, `compiling`), along
   every possible chain (`event`, `ancestry`, `chains`). Writing a file of the policy needs
   approval.

No answer is older than the files. Each way reads them for each call. Compiled policies and
cached answers are found by a digest of the files, the options, the variables and this package,
and are signed (`store`). So the first call after an edit is decided in full. A missing or altered
entry of the store only costs time.

Every other failure blocks the call: an invalid event, an unreadable policy, a broken connection
to the resident process, a deadline.

`settings` adds the hook to a settings file and finds settings that keep it from running.
"""
