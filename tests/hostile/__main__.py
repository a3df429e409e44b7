import sys

from tests.hostile.harness import main

sys.exit(main())
