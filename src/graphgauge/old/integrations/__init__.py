"""Integrations of families that are not rebuilt."""
