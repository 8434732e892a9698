"""The checker as a hook of Claude Code: one process a call, one answer, and a block where it fails.

The host starts a process for every call (`client`), and waits for it. What that needs to come to
an answer *at length* takes some twenty times as long as Python takes to start: it imports the
package, reads the files of the policy, compiles them or loads what was compiled from them,
finds the chain of whoever calls, and decides. So there are two shorter ways, which are nothing
but what the long one left behind. They are tried in this order (`started`):

1. **Resident.** With ``--resident``, a process that decided at length leaves a copy of itself
   (`resident`). It has in memory what was compiled, and answers calls that are handed to it
   (`handover`) as at length.
2. **Walks left behind.** A process that decided at length keeps, beside its answer, what else
   the same agent gets from the same tool in the same folder: the automata of the rules, and the
   answer for each outcome that they can come to (`preparing`). Where one text decides a call, a
   later process only walks it (`walked`): it imports neither the rules nor the library of JSON.
3. **At length.** Everything else, and whatever one of the others is not sure of (`process`,
   `decider`). What a call gets is defined here alone (`deciding`): by every policy in force
   (`sources`, `compiling`), along every chain that is possible (`event`, `spawned`, `chains`),
   with the files that decide kept from being written (`guarded`).

No answer is older than the files. Each way reads them anew for each call, and what was compiled
or left behind is known by a digest of their content, of the options, the variables and this
package (`digest`, `build`); in the cache it is signed (`cache`). So the first call after an edit
finds nothing, and is decided at length. Where nothing can be kept, or is not as it was written,
calls are decided at length as well: the shorter ways save time, and nothing depends on them.

Whatever else goes wrong blocks: an event that is none, a policy that cannot be read, a resident
process that breaks off, a deadline.

`settings` puts the hook into a settings file, `silenced` finds what keeps it from being run,
`recording` is what is written down of a call, `answers` how the host is told.
"""
