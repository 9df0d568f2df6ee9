import hashlib
import math
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from memoria.embedding import EmbedderUnavailableError, MiniLM, TextTooLongError, open_minilm
from memoria.embedding import minilm_weights as published
from memoria.embedding.minilm import GRAPH_VERSION, prepare_graph
from memoria.embedding.minilm_weights import Dense, Norm, Tensor, Weights

TEXTS = [
    "I went to a support group yesterday.",
    "Postgres keeps one version of each row per update.",
    "naïve café, 北京, שלום, emoji 🎉!",
    "word " * 250,
]


def embed(model: MiniLM, texts: list[str]) -> Tensor:
    return model.encode(model.prepare(texts))


def dense(x: Tensor, part: Dense) -> Tensor:
    return x @ part.weight + part.bias


def normalise(x: Tensor, norm: Norm) -> Tensor:
    centred = x - x.mean(axis=-1, keepdims=True)
    return (
        centred / np.sqrt(centred.var(axis=-1, keepdims=True) + published.LAYER_NORM_EPSILON) * (norm.scale)
        + norm.shift
    )


def gelu(x: Tensor) -> Tensor:
    return x * 0.5 * (1.0 + np.vectorize(math.erf)(x / math.sqrt(2.0)))


def softmax(x: Tensor) -> Tensor:
    powers = np.exp(x - x.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)


def reference_vector(weights: Weights, token_ids: list[int]) -> Tensor:
    """Run the published network on one text, step by step, in double precision."""
    count = len(token_ids)
    x = weights.words[token_ids].astype(np.float64) + weights.positions[:count] + weights.segments[0]
    x = normalise(x, weights.norm)
    for layer in weights.layers:
        packed = dense(x, layer.attention_input).reshape(count, 3, published.HEADS, -1)
        query, key, value = packed.transpose(1, 2, 0, 3)
        attention = softmax(query @ key.transpose(0, 2, 1) / math.sqrt(query.shape[-1]))
        joined = (attention @ value).transpose(1, 0, 2).reshape(count, -1)
        x = normalise(x + dense(joined, layer.attention_output), layer.attention_norm)
        x = normalise(x + dense(gelu(dense(x, layer.intermediate)), layer.output), layer.output_norm)
    mean = x.mean(axis=0)
    return mean / np.linalg.norm(mean)


def test_vectors_equal_an_independent_forward_pass(minilm: MiniLM) -> None:
    weights = published.load_weights()
    prepared = minilm.prepare(TEXTS)
    expected = np.array([reference_vector(weights, encoding.ids) for encoding in prepared])
    cosines = (minilm.encode(prepared) * expected).sum(axis=1)
    assert cosines.min() > 0.9999


def test_every_vector_is_float32_of_length_one(minilm: MiniLM) -> None:
    vectors = embed(minilm, [*TEXTS, "", "x" * 300])
    assert vectors.shape == (6, 384)
    assert vectors.dtype == np.float32
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1.0, atol=1e-5)


def test_a_vector_does_not_depend_on_its_neighbours_in_the_batch(minilm: MiniLM) -> None:
    alone = np.concatenate([embed(minilm, [text]) for text in TEXTS])
    assert np.allclose(embed(minilm, TEXTS), alone, atol=1e-5)


def test_sentences_of_like_meaning_are_closer(minilm: MiniLM) -> None:
    cat, kitten, shares = embed(
        minilm,
        [
            "The cat sleeps on the sofa.",
            "A kitten naps on the couch.",
            "Shares fell after the bank's report.",
        ],
    )
    assert cat @ kitten > 0.6
    assert cat @ shares < 0.2


def test_a_text_at_the_window_is_embedded_and_one_beyond_is_refused(minilm: MiniLM) -> None:
    assert minilm.count_tokens("word " * 254) == minilm.max_tokens == 254
    assert embed(minilm, ["word " * 254]).shape == (1, 384)
    with pytest.raises(TextTooLongError, match=r"255 tokens .* 254 tokens") as refused:
        minilm.prepare(["short", "word " * 255])
    assert isinstance(refused.value, ValueError)
    assert refused.value.tokens == 255


def test_the_last_words_of_a_full_window_change_the_vector(minilm: MiniLM) -> None:
    first, second = embed(minilm, ["word " * 253 + "elephant", "word " * 253 + "money"])
    assert np.abs(first - second).max() > 1e-3  # cut off, the two would be equal


def test_token_offsets_cover_the_words_in_order(minilm: MiniLM) -> None:
    text = "Unbelievable: Zürich, naïve 北京!"
    offsets = minilm.token_offsets(text)
    assert len(offsets) == minilm.count_tokens(text)
    assert offsets == sorted(offsets)
    covered = {place for first, end in offsets for place in range(first, end)}
    assert {place for place, letter in enumerate(text) if letter != " "} <= covered


def test_the_cached_graph_is_used_again(graph_cache: Path, minilm: MiniLM) -> None:
    before = {path: path.stat().st_mtime_ns for path in graph_cache.iterdir()}
    prepare_graph(graph_cache)
    assert {path: path.stat().st_mtime_ns for path in graph_cache.iterdir()} == before
    assert len(before) == 1


def test_a_damaged_cached_graph_is_replaced(tmp_path: Path, graph_cache: Path, minilm: MiniLM) -> None:
    sound = prepare_graph(graph_cache)
    damaged = tmp_path / sound.name
    damaged.write_bytes(sound.read_bytes()[:-1] + b"\x00")
    repaired = prepare_graph(tmp_path)
    assert repaired.read_bytes() == sound.read_bytes()
    assert [path.name for path in tmp_path.iterdir()] == [sound.name]


def test_a_graph_of_another_version_is_not_read(tmp_path: Path) -> None:
    stale = b"another graph"
    digest = hashlib.sha256(stale).hexdigest()
    (tmp_path / f"minilm-l6-v2.v{GRAPH_VERSION + 1}.{digest}.onnx").write_bytes(stale)
    assert prepare_graph(tmp_path).stat().st_size > 1_000_000


def test_starts_at_the_same_moment_agree_on_one_graph(tmp_path: Path) -> None:
    with ThreadPoolExecutor(3) as starts:
        graphs = list(starts.map(prepare_graph, [tmp_path] * 3))
    assert len(set(graphs)) == 1
    assert list(tmp_path.iterdir()) == [graphs[0]]


def test_altered_weights_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(published, "WEIGHTS_SHA256", "0" * 64)
    with pytest.raises(EmbedderUnavailableError, match="SHA-256"):
        published.load_weights()


def test_a_start_with_a_cached_graph_does_not_import_onnx(graph_cache: Path, minilm: MiniLM) -> None:
    program = (
        "import sys; from pathlib import Path; from memoria.embedding import MiniLM;"
        "MiniLM.load(Path(sys.argv[1]), 1); print('onnx' in sys.modules, 'torch' in sys.modules)"
    )
    answer = subprocess.run(
        [sys.executable, "-c", program, str(graph_cache)], capture_output=True, text=True, check=True
    )
    assert answer.stdout.split() == ["False", "False"]


def test_the_model_runs_without_reporting_to_anyone(graph_cache: Path, minilm: MiniLM, tmp_path: Path) -> None:
    program = (
        "import sys; from pathlib import Path; from memoria.embedding import MiniLM;"
        "model = MiniLM.load(Path(sys.argv[1]), 1); model.encode(model.prepare(['one']))"
    )
    # Before it reports its use, onnxruntime keeps what it will send, and an id of the device, in the home folder.
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": os.pathsep.join(sys.path), "HOME": str(tmp_path)}
    subprocess.run([sys.executable, "-c", program, str(graph_cache)], env=environment, check=True)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.anyio
async def test_the_opened_embedder_embeds_and_refuses_after_close(graph_cache: Path) -> None:
    embedder = open_minilm(graph_cache, threads=1)
    assert (embedder.name, embedder.dimensions, embedder.max_tokens) == ("minilm-l6-v2", 384, 254)
    assert (await embedder.embed(["one", "two"])).shape == (2, 384)
    await embedder.close()
    with pytest.raises(EmbedderUnavailableError):
        await embedder.embed(["three"])
