"""Generators of samples: whether what they make is valid, new, diverse and like real data."""
