"""Engines: one evaluation on many machines. Parts are counted into states, which are merged and evaluated."""
