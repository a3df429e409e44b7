"""Readers, one per format. No reader runs code from a file."""
