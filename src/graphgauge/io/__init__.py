"""Files: found, opened as arrays and tables, hashed. No reader runs code from a file."""
