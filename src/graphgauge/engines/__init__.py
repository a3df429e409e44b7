"""Engines: one fold on many machines. Parts are counted into states, states are merged, the last one is evaluated."""
