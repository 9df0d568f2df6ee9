"""Assemble the bundled model into a folder of the image, and remove from the image what only that step needs.

    python deploy/bake_model.py /opt/memoria/models

The weights (87 MB) are in the assembled graph once more, and `onnx` (27 MB) does nothing but assemble it.
"""

import shutil
import sys
from importlib import resources
from pathlib import Path

from memoria.embedding.minilm import prepare_graph
from memoria.embedding.minilm_weights import model_file


def main(folder: Path) -> int:
    """Bake the model; the folder is readable by everyone, because the image does not run as who builds it."""
    graph = prepare_graph(folder)
    graph.chmod(0o644)
    Path(str(model_file("model.safetensors"))).unlink()
    shutil.rmtree(str(resources.files("onnx")))
    print(f"baked {graph}")  # noqa: T201 - the only output of a build step
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
