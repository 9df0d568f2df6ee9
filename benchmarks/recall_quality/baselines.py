"""Rank by the simple methods that the engine has to beat: vectors, BM25, and their reciprocal-rank fusion."""

from collections import defaultdict
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from benchmarks.recall_quality.dataset import Conversation
from memoria.embedding.port import Embedder
from memoria.lexical import POSTING, bm25_scores, query_terms, terms
from memoria.passages import passages_of

RRF_CONSTANT = 60
EMBED_BATCH = 256
Scores = npt.NDArray[np.float64]
Rankings = dict[str, list[list[str]]]


async def rank_simply(conversation: Conversation, embedder: Embedder) -> Rankings:
    """Rank the units for each question, by method; a unit stands where its best turn does."""
    texts = [turn.content for turn in conversation.turns]
    questions = [question.text for question in conversation.questions]
    cosines = await _cosines(texts, questions, embedder)
    lexical = _bm25(texts, questions)
    rankings: Rankings = {"vectors": [], "BM25": [], "rank fusion": []}
    for place, question in enumerate(conversation.questions):
        allowed = np.array([question.before is None or t.occurred_at < question.before for t in conversation.turns])
        by_cosine = _order(cosines[place], allowed)
        by_bm25 = _order(lexical[place], allowed)
        fused = np.zeros(len(texts))
        for order in (by_cosine, by_bm25):
            fused[order] += 1.0 / (RRF_CONSTANT + 1 + np.arange(len(order)))
        for method, order in zip(rankings, (by_cosine, by_bm25, _order(fused, allowed)), strict=True):
            rankings[method].append(units_in_order(conversation, order.tolist()))
    return rankings


def units_in_order(conversation: Conversation, turns: Sequence[int]) -> list[str]:
    """Name the units of turns, each once, where it first occurs."""
    return list(dict.fromkeys(conversation.turns[turn].unit for turn in turns))


def _order(scores: Scores, allowed: npt.NDArray[np.bool_]) -> npt.NDArray[np.int64]:
    order = np.argsort(-scores, kind="stable")
    return order[allowed[order]]


async def _cosines(texts: Sequence[str], questions: Sequence[str], embedder: Embedder) -> Scores:
    """Compare each question with each text; of long ones the nearest passages count."""
    text_vectors, text_of = await _passages(texts, embedder)
    question_vectors, question_of = await _passages(questions, embedder)
    products = question_vectors @ text_vectors.T
    nearest = np.full((len(questions), len(texts)), -1.0)
    for place, question in enumerate(question_of):
        np.maximum.at(nearest[question], text_of, products[place])
    return nearest


async def _passages(texts: Sequence[str], embedder: Embedder) -> tuple[Scores, npt.NDArray[np.int64]]:
    pieces = [(piece, place) for place, text in enumerate(texts) for piece in passages_of(embedder, text)]
    batches = [
        await embedder.embed([piece for piece, _ in pieces[start : start + EMBED_BATCH]])
        for start in range(0, len(pieces), EMBED_BATCH)
    ]
    return np.concatenate(batches).astype(np.float64), np.array([place for _, place in pieces], np.int64)


def _bm25(texts: Sequence[str], questions: Sequence[str]) -> Scores:
    documents = [terms(text) for text in texts]
    lengths = [sum(document.values()) for document in documents]
    postings: dict[str, list[tuple[int, int, int]]] = defaultdict(list)
    for place, document in enumerate(documents):
        for term, count in document.items():
            postings[term].append((place, count, lengths[place]))
    scores = np.zeros((len(questions), len(texts)))
    for row, question in zip(scores, questions, strict=True):
        wanted = {term: weight for term, weight in query_terms(question).items() if term in postings}
        packed = [np.array(postings[term], POSTING).tobytes() for term in wanted]
        found = bm25_scores(packed, len(texts), sum(lengths), list(wanted.values()))
        row[found.memory_ids] = found.scores
    return scores
