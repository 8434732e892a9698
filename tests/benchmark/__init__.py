"""What deciding, compiling and comparing cost, and what it costs in other engines.

Run ``python -m tests.benchmark``. Every decider answers every call first, and
has to answer like a loop over the rules written for obviousness (`workload`).
"""
