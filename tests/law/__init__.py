"""Laws that compare every answer of the engine with a decider of their own."""
