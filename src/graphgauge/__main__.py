import sys
from pathlib import Path

# `python -m` lets files of the current folder pass for libraries, and that may be a folder of somebody else.
if not sys.flags.safe_path and Path(sys.path[0]) != Path(__file__).parents[1]:
    del sys.path[0]

from graphgauge.cli import main

main()
