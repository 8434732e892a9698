"""What agents may do over all chains: positions, privileges, gaps, questions, proofs."""
