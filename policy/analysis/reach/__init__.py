"""What agents may do over all chains: positions, privileges, gaps, queries, proofs."""
