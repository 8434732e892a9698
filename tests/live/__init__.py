"""Generated settings, agents and calls, decided by the real program and by the package.

The program runs offline in a sandbox, against a scripted model: nothing of the
machine can be changed, and nothing leaves it.
"""
