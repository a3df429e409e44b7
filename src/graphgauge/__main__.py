import sys
from pathlib import Path

# `python -m` imports files of the current folder as libraries, and that folder may not be trusted.
if not sys.flags.safe_path and Path(sys.path[0]) != Path(__file__).parents[1]:
    del sys.path[0]

from graphgauge.cli import main

main()
