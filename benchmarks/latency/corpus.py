"""Make memories that cost like real ones: their words, their likeness and their conversations are skewed as in life.

A few thousand sentences are embedded by the bundled model. A memory is three of them, two from its conversation's
topic; its vector is the direction of their sum and some noise, which is close to what the model itself would say and
costs microseconds. Words come from the model's own vocabulary, drawn by a Zipf-Mandelbrot law.
"""

import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import numpy as np
from tokenizers import Tokenizer

from memoria.embedding import Embedder, Vectors
from memoria.embedding.minilm_weights import model_file
from memoria.records import NewMemory

SENTENCES = 3000
TOPICS = 100
TOPIC_WORDS = 150
WORDS_FROM_TOPIC = 0.7
SENTENCE_WORDS = (5, 6)  # content words; three sentences have about 21 distinct terms, with the words around them
FREQUENT_WORDS = 150  # the most frequent words of the vocabulary, mostly function words, are left out
VOCABULARY_WORDS = 12_000
ZIPF_SHIFT = 25.0
SENTENCES_A_MEMORY = 3
MEMORIES_A_CONVERSATION = 20
NOISE = 0.35  # length of the noise beside a sum of three unit vectors
EPOCH = datetime(2026, 1, 1, tzinfo=UTC)
FRAMES = ("the {} was about {}.", "we have {} for the {}.", "they said {} is in the {}.")


@dataclass(frozen=True, slots=True)
class Corpus:
    """Hold the sentences, sentence after sentence of each topic, and draw memories and questions from them."""

    sentences: tuple[str, ...]
    content_words: tuple[tuple[str, ...], ...]

    def texts(self, first: int, count: int) -> list[str]:
        """Write the memories numbered from `first`; the same number is always the same text."""
        return [
            " ".join(self.sentences[part] for part in self._parts(number)) for number in range(first, first + count)
        ]

    def memories(self, first: int, count: int) -> list[NewMemory]:
        """Make the memories numbered from `first`, a minute apart, in conversations of 20."""
        return [
            NewMemory(
                content=text,
                context={"session_id": f"conversation-{number // MEMORIES_A_CONVERSATION}"},
                occurred_at=EPOCH + timedelta(minutes=number),
            )
            for number, text in enumerate(self.texts(first, count), first)
        ]

    def questions(self, count: int, memories: int, seed: int) -> list[str]:
        """Ask for some of the first `memories` memories, by four or five of their words each."""
        draw = np.random.default_rng(seed)
        asked = []
        for number in draw.integers(memories, size=count).tolist():
            words = [word for part in self._parts(number)[:2] for word in self.content_words[part]]
            chosen = draw.choice(words, size=int(draw.integers(4, 6)), replace=False).tolist()
            asked.append(f"what did we say about the {' '.join(chosen[:2])} and the {' '.join(chosen[2:])}?")
        return asked

    def _parts(self, number: int) -> list[int]:
        draw = np.random.default_rng(number + 1)
        conversation = number // MEMORIES_A_CONVERSATION
        topic = zlib.crc32(str(conversation).encode()) % TOPICS
        a_topic = len(self.sentences) // TOPICS
        own = topic * a_topic + draw.choice(a_topic, size=SENTENCES_A_MEMORY - 1, replace=False)
        return [*own.tolist(), int(draw.integers(len(self.sentences)))]


def make_corpus(seed: int = 7) -> Corpus:
    """Draw the topics' words and write the sentences."""
    draw = np.random.default_rng(seed)
    vocabulary = _vocabulary()
    chances = 1.0 / (np.arange(len(vocabulary)) + ZIPF_SHIFT)
    chances /= chances.sum()
    sentences, content_words = [], []
    for _ in range(TOPICS):
        topic = draw.choice(len(vocabulary), size=TOPIC_WORDS, replace=False, p=chances)
        for _ in range(SENTENCES // TOPICS):
            words = [vocabulary[index] for index in _draw_words(draw, topic, chances)]
            middle = len(words) // 2
            frame = FRAMES[int(draw.integers(len(FRAMES)))]
            sentences.append(frame.format(" ".join(words[:middle]), " ".join(words[middle:])))
            content_words.append(tuple(words))
    return Corpus(tuple(sentences), tuple(content_words))


def _vocabulary() -> list[str]:
    """List the model's words, the most frequent first: its vocabulary is in that order."""
    pieces = Tokenizer.from_str(model_file("tokenizer.json").read_text(encoding="utf-8")).get_vocab()
    words = [word for word in sorted(pieces, key=pieces.__getitem__) if word.isascii() and word.isalpha()]
    return [word for word in words if len(word) > 2][FREQUENT_WORDS:][:VOCABULARY_WORDS]


def _draw_words(draw: np.random.Generator, topic: np.ndarray, chances: np.ndarray) -> list[int]:
    count = int(draw.integers(SENTENCE_WORDS[0], SENTENCE_WORDS[1] + 1))
    from_topic = int(draw.binomial(count, WORDS_FROM_TOPIC))
    common = draw.choice(len(chances), size=count - from_topic, p=chances)
    return [*draw.choice(topic, size=from_topic, replace=False).tolist(), *common.tolist()]


class MixingEmbedder:
    """Answer for texts of a corpus as the bundled model would, without computing it; it bears the model's name."""

    def __init__(self, model: Embedder, vectors: dict[str, np.ndarray]) -> None:
        self._model = model
        self._vectors = vectors
        self.name, self.dimensions, self.max_tokens = model.name, model.dimensions, model.max_tokens

    @classmethod
    async def make(cls, model: Embedder, corpus: Corpus) -> "MixingEmbedder":
        """Embed the sentences with the real model."""
        vectors = await model.embed(corpus.sentences)
        return cls(model, dict(zip(corpus.sentences, vectors, strict=True)))

    def count_tokens(self, text: str) -> int:
        """Count tokens as the model does."""
        return self._model.count_tokens(text)

    def token_offsets(self, text: str) -> list[tuple[int, int]]:
        """Locate tokens as the model does."""
        return self._model.token_offsets(text)

    async def embed(self, texts: Sequence[str]) -> Vectors:
        """Mix the vectors of each text's sentences."""
        return np.array([self._mix(text) for text in texts], np.float32).reshape(-1, self.dimensions)

    async def close(self) -> None:
        """Leave the model open: it is somebody else's."""

    def _mix(self, text: str) -> np.ndarray:
        noise = np.random.default_rng(zlib.crc32(text.encode())).standard_normal(self.dimensions)
        mixed = sum(self._vectors[sentence] for sentence in _sentences_of(text))
        mixed = mixed + NOISE * noise / np.linalg.norm(noise)
        direction: np.ndarray = mixed / np.linalg.norm(mixed)
        return direction


def _sentences_of(text: str) -> Iterator[str]:
    return (f"{sentence}." for sentence in text.removesuffix(".").split(". "))
