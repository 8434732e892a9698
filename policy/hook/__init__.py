"""The checker as a hook of Claude Code: one process a call, one answer, and a block where it fails.

`client` is what the host starts. It imports next to nothing: it hands the call to a
resident process, where there is one, and is that process's work itself where there is none.
"""
