"""Files printed in their canonical form, or with no rule that could be left out."""
