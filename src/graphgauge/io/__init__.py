"""Readers, one per format: files are data, never code."""
