"""Trees become tables; tables meet along a chain and decide calls."""
