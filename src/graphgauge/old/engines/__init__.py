"""Engines of families that are not rebuilt."""
