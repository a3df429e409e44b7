"""`make hostile`: damaged files, killed commands and full disks, in numbers that take minutes.

`python -m tests.hostile [PART…] [--scale SHARE]` runs all parts, or some, and prints the counts.
Every part counts attempts and failures, and ends with exit code 1 if anything failed.
"""
