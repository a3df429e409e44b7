"""Commands of families that are not rebuilt."""
