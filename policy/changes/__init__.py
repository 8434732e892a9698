"""What a change of policies grants or takes away."""
