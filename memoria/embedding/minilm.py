"""The bundled model, all-MiniLM-L6-v2, run by onnxruntime."""

import functools
import hashlib
import logging
import os
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

# onnxruntime reports its use to its makers over the network, unless this is set before it is loaded.
os.environ["ORT_DISABLE_TELEMETRY"] = "1"

import numpy as np
import onnxruntime
from tokenizers import Encoding, Tokenizer

from memoria.embedding.batching import BatchingEmbedder
from memoria.embedding.minilm_weights import WIDTH, load_weights, model_file
from memoria.embedding.port import TextTooLongError, Vectors
from memoria.errors import EmbedderUnavailableError

# Raise this with every change to the assembled graph: caches of other versions are then not read.
GRAPH_VERSION = 1

_NAME = "minilm-l6-v2"
_SPECIAL_TOKENS = 2  # [CLS] before the text, [SEP] after it
# The published window. The position table has 512 rows, but the model was trained on far shorter texts.
_WINDOW_TOKENS = 256 - _SPECIAL_TOKENS
# Texts go through the network together while the longest has at most this share more tokens than the
# shortest (and always within _CLOSE_TOKENS): padding is computed like text.
_LENGTH_SPREAD = 1.25
_CLOSE_TOKENS = 8
_MOST_THREADS = 4  # short texts are too little work to share among more

_log = logging.getLogger(__name__)


@functools.cache
def _tokenizer() -> Tokenizer:
    tokenizer = Tokenizer.from_str(model_file("tokenizer.json").read_text(encoding="utf-8"))
    # The published file cuts at 128 tokens and pads to 128.
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer


class MiniLM:
    """all-MiniLM-L6-v2 in the calling thread: mean-pooled, 384 dimensions, 254 word pieces a text.

    `encode` may be called from several threads. A word of more than 100 characters is one unknown token to
    this model, as it was in its training: it adds nothing to the vector.
    """

    name = _NAME
    dimensions = WIDTH
    max_tokens = _WINDOW_TOKENS

    def __init__(self, graph: Path, threads: int) -> None:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        # Spinning threads answer a little sooner and burn whole cores between two answers.
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        self._session: onnxruntime.InferenceSession | None = onnxruntime.InferenceSession(
            graph, options, providers=["CPUExecutionProvider"]
        )

    @classmethod
    def load(cls, cache_dir: Path, threads: int | None = None) -> "MiniLM":
        """Load the model, assembling its graph into `cache_dir` the first time (about 2 seconds).

        `threads` is the number of cores that one batch may use; by default all
        that the process may run on, at most four.
        Raises EmbedderUnavailableError when the weights are missing or are not the published ones.
        """
        return cls(prepare_graph(cache_dir), threads or min(_usable_cores(), _MOST_THREADS))

    def count_tokens(self, text: str) -> int:
        """Count the word pieces of a text."""
        return len(_tokenizer().encode(text, add_special_tokens=False))

    def token_offsets(self, text: str) -> list[tuple[int, int]]:
        """Locate every word piece as (first, end) character positions."""
        return list(_tokenizer().encode(text, add_special_tokens=False).offsets)

    def prepare(self, texts: Sequence[str]) -> list[Encoding]:
        """Tokenise; raises TextTooLongError when a text exceeds the window."""
        encodings = _tokenizer().encode_batch_fast(list(texts))
        longest = max(map(len, encodings), default=0) - _SPECIAL_TOKENS
        if longest > _WINDOW_TOKENS:
            raise TextTooLongError(longest, _WINDOW_TOKENS)
        return encodings

    def encode(self, prepared: Sequence[Encoding]) -> Vectors:
        """Compute the vectors, float32 of shape (len(prepared), 384), each row of length 1."""
        vectors = np.empty((len(prepared), WIDTH), np.float32)
        for members in _groups_of_like_length([len(encoding) for encoding in prepared]):
            vectors[members] = self._infer([prepared[member] for member in members])
        return vectors

    def close(self) -> None:
        """Release the network's memory."""
        self._session = None

    def _infer(self, encodings: Sequence[Encoding]) -> Vectors:
        if self._session is None:
            raise EmbedderUnavailableError("the embedding model is closed")
        token_ids = np.zeros((len(encodings), max(map(len, encodings))), np.int32)
        mask = np.zeros_like(token_ids)
        for row, encoding in enumerate(encodings):
            token_ids[row, : len(encoding)] = encoding.ids
            mask[row, : len(encoding)] = 1
        (vectors,) = self._session.run(["vectors"], {"token_ids": token_ids, "mask": mask})
        return np.asarray(vectors, np.float32)


def open_minilm(cache_dir: Path, threads: int | None = None) -> BatchingEmbedder[Encoding]:
    """Open the bundled model as an Embedder; parameters and errors are those of `MiniLM.load`."""
    return BatchingEmbedder(MiniLM.load(cache_dir, threads))


def prepare_graph(cache_dir: Path) -> Path:
    """Find the assembled graph in the cache, or assemble it there.

    The file carries its own SHA-256 in its name and is renamed into place whole: any number of processes may
    start at once, and a damaged file is noticed and replaced.
    """
    cache_dir.mkdir(parents=True, exist_ok=True)
    prefix = f"{_NAME}.v{GRAPH_VERSION}."
    for cached in sorted(cache_dir.glob(f"{prefix}*.onnx")):
        if _file_sha256(cached) == cached.name.removeprefix(prefix).removesuffix(".onnx"):
            return cached
        _log.warning("cached_graph_damaged", extra={"path": str(cached)})
    # Slow to import, and needed only here.
    from memoria.embedding.minilm_graph import assemble

    graph = assemble(load_weights()).SerializeToString()
    target = cache_dir / f"{prefix}{hashlib.sha256(graph).hexdigest()}.onnx"
    _write_whole(target, graph)
    return target


def _usable_cores() -> int:
    if hasattr(os, "sched_getaffinity"):  # Linux; elsewhere a process may run on every core
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _write_whole(target: Path, content: bytes) -> None:
    descriptor, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name[:24]}.")
    partial = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        partial.replace(target)
    finally:
        partial.unlink(missing_ok=True)


def _file_sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _groups_of_like_length(lengths: Sequence[int]) -> Iterator[list[int]]:
    """Yield the positions in groups whose lengths are close, shortest first."""
    group: list[int] = []
    for position in sorted(range(len(lengths)), key=lengths.__getitem__):
        if group and lengths[position] > max(lengths[group[0]] * _LENGTH_SPREAD, lengths[group[0]] + _CLOSE_TOKENS):
            yield group
            group = []
        group.append(position)
    if group:
        yield group
