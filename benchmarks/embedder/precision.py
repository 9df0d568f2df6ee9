"""Compare fp32 with int8 weights of the bundled embedder: speed, recall, and how stable the vectors are.

    python -m benchmarks.embedder.precision DATA

DATA is a folder that holds `conversations/locomo/*.json` (LoCoMo, https://github.com/snap-research/locomo,
one file a conversation: `turns` with `id`, `speaker`, `text`; `questions` with `category`, `evidence`).
"""

import json
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import bm25s
import numpy as np
import onnx
import Stemmer
from onnxruntime.quantization import QuantType, quantize_dynamic
from tokenizers import Encoding

from memoria.embedding import MiniLM, Vectors
from memoria.embedding.minilm import prepare_graph

TOP = 10
REPEATS = 5
TIMED_TEXTS = 96
UNANSWERABLE = 5
# What the lexical half of a normalised sum weighs.
LEXICAL_WEIGHT = 0.8


@dataclass(frozen=True, slots=True)
class Question:
    text: str
    evidence: frozenset[str]


@dataclass(frozen=True, slots=True)
class Conversation:
    turn_ids: list[str]
    turns: list[str]
    questions: list[Question]
    lexical: Vectors  # BM25 of every question (row) and turn (column)


def main() -> None:
    if len(sys.argv) != 2 or not (Path(sys.argv[1]) / "conversations/locomo").is_dir():
        print(__doc__)
        raise SystemExit(2)
    conversations = list(read_conversations(Path(sys.argv[1]) / "conversations/locomo"))
    with tempfile.TemporaryDirectory() as folder:
        graphs = make_graphs(Path(folder))
        report_speed(graphs, conversations[0].turns[:TIMED_TEXTS])
        report_quality(graphs, conversations)


def read_conversations(folder: Path) -> Iterator[Conversation]:
    for path in sorted(folder.glob("*.json")):
        content = json.loads(path.read_text(encoding="utf-8"))
        turns = [f"{turn['speaker']}: {turn['text']}" for turn in content["turns"]]
        questions = [
            Question(question["question"], frozenset(question["evidence"]))
            for question in content["questions"]
            if question["category"] != UNANSWERABLE and question["evidence"]
        ]
        yield Conversation(
            [turn["id"] for turn in content["turns"]], turns, questions, lexical_scores(turns, questions)
        )


def lexical_scores(turns: list[str], questions: list[Question]) -> Vectors:
    stemmer = Stemmer.Stemmer("english")
    retriever = bm25s.BM25(k1=1.2, b=0.75)
    retriever.index(bm25s.tokenize(turns, stemmer=stemmer, show_progress=False), show_progress=False)
    words = bm25s.tokenize(
        [question.text for question in questions], stemmer=stemmer, return_ids=False, show_progress=False
    )
    return np.array([retriever.get_scores(tokens) for tokens in words], np.float32)


def make_graphs(folder: Path) -> dict[str, Path]:
    fp32 = prepare_graph(folder)
    graphs = {"fp32": fp32}
    for name, per_channel in (("int8, one scale a matrix", False), ("int8, per channel", True)):
        graphs[name] = folder / f"{per_channel}.onnx"
        quantize_dynamic(
            fp32,
            graphs[name],
            op_types_to_quantize=["MatMul", "Attention"],
            per_channel=per_channel,
            weight_type=QuantType.QInt8,
            extra_options={"DefaultTensorType": onnx.TensorProto.FLOAT},
        )
    for name, path in graphs.items():
        print(f"{name:26} {path.stat().st_size / 1e6:5.0f} MB")
    return graphs


def report_speed(graphs: dict[str, Path], texts: list[str]) -> None:
    """Print milliseconds a text: the best of the repeats of each call, as neighbours only ever slow it."""
    for threads in (1, 2):
        for name, graph in graphs.items():
            model = MiniLM(graph, threads)
            prepared = sorted(model.prepare(texts), key=len)
            single = [best_ms(model.encode, [one]) for one in prepared[::4]]
            batches = [best_ms(model.encode, prepared[at : at + 32]) for at in range(0, len(prepared), 32)]
            print(
                f"{name:26} {threads} thread(s): alone {np.mean(single):5.2f} ms, "
                f"in batches of 32 {sum(batches) / len(prepared):5.2f} ms a text",
                flush=True,
            )


def best_ms(encode: Callable[[Sequence[Encoding]], Vectors], prepared: Sequence[Encoding]) -> float:
    seconds = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        encode(prepared)
        seconds.append(time.perf_counter() - start)
    return min(seconds) * 1000


def report_quality(graphs: dict[str, Path], conversations: list[Conversation]) -> None:
    exact: Vectors | None = None
    for name, graph in graphs.items():
        model = MiniLM(graph, 2)
        alone, fused, vectors = [], [], []
        for conversation in conversations:
            turns = embed(model, conversation.turns)
            cosines = embed(model, [question.text for question in conversation.questions]) @ turns.T
            both = to_unit(cosines) + LEXICAL_WEIGHT * to_unit(conversation.lexical)
            alone += recalls(conversation, cosines)
            fused += recalls(conversation, both)
            vectors.append(turns)
        everything = np.concatenate(vectors)
        exact = everything if exact is None else exact
        to_exact = (everything * exact).sum(axis=1)
        stability = (batch_of_one(model, conversations[0].turns[:200]) * everything[:200]).sum(axis=1)
        print(
            f"{name:26} recall@{TOP} vectors {np.mean(alone):.4f}, with BM25 {np.mean(fused):.4f} "
            f"({len(alone)} questions); cosine to fp32 mean {to_exact.mean():.4f} min {to_exact.min():.4f}; "
            f"cosine of a text alone to itself in a batch, min {stability.min():.5f}",
            flush=True,
        )


def embed(model: MiniLM, texts: list[str]) -> Vectors:
    prepared = model.prepare(texts)
    order = sorted(range(len(texts)), key=lambda place: len(prepared[place]))
    vectors = np.empty((len(texts), model.dimensions), np.float32)
    for start in range(0, len(order), 32):
        members = order[start : start + 32]
        vectors[members] = model.encode([prepared[member] for member in members])
    return vectors


def batch_of_one(model: MiniLM, texts: list[str]) -> Vectors:
    return np.concatenate([model.encode(model.prepare([text])) for text in texts])


def to_unit(scores: Vectors) -> Vectors:
    low, high = scores.min(axis=1, keepdims=True), scores.max(axis=1, keepdims=True)
    return (scores - low) / np.maximum(high - low, 1e-9)


def recalls(conversation: Conversation, scores: Vectors) -> list[float]:
    best = np.argsort(-scores, axis=1, kind="stable")[:, :TOP]
    return [
        len(question.evidence & {conversation.turn_ids[place] for place in places}) / len(question.evidence)
        for question, places in zip(conversation.questions, best, strict=True)
    ]


if __name__ == "__main__":
    main()
