"""Run a worker that does what is enqueued for consolidation, and nothing by itself."""

import os
import sys
from dataclasses import replace

from workers.__main__ import main
from workers.tasks.consolidate import KIND

if __name__ == "__main__":
    sys.exit(main([], os.environ, kinds=(replace(KIND, schedule=None),), tasks=()))
