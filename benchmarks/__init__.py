"""Time and memory of graphgauge, compared with other libraries and with one read of the input."""
