"""Do in the background what no request should wait for."""

import os

# Requests come first: what a job multiplies leaves the other cores to them. NumPy reads this once, when it is imported.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
