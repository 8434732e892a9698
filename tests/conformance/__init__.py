"""Decision cases of real runtimes, run through the public API."""
