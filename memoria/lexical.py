"""Turn text into search terms, and score postings by BM25.

Both sides of a match run through the same steps, so a text always finds itself: compatibility normalisation, words
of any script, compounds whole and by parts, stems. A Latin text that is not English yields the stem of its language
and the English one, so that a short query whose language cannot be told still matches.
"""

import re
import unicodedata
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import Stemmer

from memoria.stopwords import LATIN_LANGUAGES, STOP_WORDS
from memoria.vocabulary import BM25_B, BM25_K1

POSTING = np.dtype([("memory_id", ">i8"), ("tf", ">i2"), ("dl", ">i4")])
"""One packed posting, 14 bytes: `int8send(memory_id) || int2send(tf) || int4send(dl)`."""

_MARKS = "".join(chr(c) for c in range(0x300, 0x10000) if unicodedata.category(chr(c)) in ("Mn", "Mc"))
_WORD = rf"[^\W_][^\W_{_MARKS}]*".replace(f"[^\\W_{_MARKS}]", f"(?:[^\\W_]|[{_MARKS}])")
_CONNECTORS = r"[-_/.:@#&+\\'~=]"
_SYMBOLS = "\u20a0-\u20cf\u2100-\u214f\u2190-\u23ff\u2460-\u27bf\u2900-\u2bff\U0001f000-\U0001faff"
_CHUNK = re.compile(rf"{_WORD}(?:{_CONNECTORS}{_WORD})*(?:\+\+|#(?!\w))?|[{_SYMBOLS}]")
_PART = re.compile(_WORD)
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_CONTRACTION = re.compile(r"'(?:s|t|re|ve|ll|d|m)$")
_ACCENTS = re.compile("[\u0300-\u036f\u0591-\u05bd\u05bf-\u05c7\u064b-\u065f\u0670]")
_UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
    "\U00020000-\U0002ffff]+"
)
_SCRIPTS = (
    ("\u0370", "\u03ff", "greek"),
    ("\u0400", "\u052f", "russian"),
    ("\u0530", "\u058f", "armenian"),
    ("\u0590", "\u05ff", "hebrew"),
    ("\u0600", "\u06ff", "arabic"),
    ("\u0900", "\u097f", "hindi"),
    ("\u0b80", "\u0bff", "tamil"),
)
_HEBREW_PREFIX = re.compile("^(?:ו?(?:כש|מש|לכש)?[השבלמכ]?|ו?[בלכמש]ה)(?=.{3})")
_HEBREW_ENDING = re.compile("(?<=..)(?:ים|ות|יים|ית)$")
_HEBREW_FINALS = str.maketrans("ךםןףץ", "כמנפצ")


def terms(text: str) -> Counter[str]:
    """Count the search terms of a text that is stored.

    The sum of the counts is the text's length (`dl`) for BM25.
    """
    counted: Counter[str] = Counter()
    chunks = _chunks(text)
    language = _latin_language(chunks)
    for chunk in chunks:
        for group in _term_groups(chunk, language, stored=True):
            counted.update(group)
    return counted


def query_terms(text: str) -> dict[str, float]:
    """Weigh the search terms of a question; stop words count only where there is nothing else.

    Each word weighs 1; where a word has several forms (its stem by language, without a prefix), they share it.
    """
    chunks = _chunks(text)
    language = _latin_language(chunks)
    kept = [chunk for chunk in chunks if not _is_stop_word(chunk, language)] or chunks
    weights: dict[str, float] = {}
    for chunk in kept:
        for group in _term_groups(chunk, language, stored=False):
            for term in group:
                weights[term] = max(weights.get(term, 0.0), 1.0 / len(group))
    return weights


@dataclass(frozen=True, slots=True)
class Word:
    """Be one word of a text as it stands: the forms of each of its parts in order, and those of all parts as one.

    A word has one part, a compound several (`whole` is empty for the former); scripts without spaces have one part a
    character.
    """

    parts: tuple[tuple[str, ...], ...]
    whole: tuple[str, ...] = ()


def words(text: str, latin_language: str) -> Iterator[Word]:
    """Read a text as words in order, stop words included, each by the forms of its stems; these cost the most."""
    return (_word(chunk, latin_language) for chunk in _chunks(text))


def latin_language(text: str) -> str:
    """Tell the language of what is written in Latin letters, by its stop words; English where none has more."""
    return _latin_language(_chunks(text))


def term_hash(term: str) -> int:
    """Hash a term to the signed 32-bit number under which its postings are stored (CRC-32, the same everywhere)."""
    unsigned = zlib.crc32(term.encode("utf-8", "surrogatepass"))
    return unsigned - (1 << 32) if unsigned >= 1 << 31 else unsigned


@dataclass(frozen=True, slots=True)
class TermMatches:
    """Say how often which memory holds which term of a query: one match an element of `holders`, `terms`, `counts`.

    `holders` point into `memory_ids`, which rise, and `terms` into `weights`, those of the query's terms.
    """

    memory_ids: npt.NDArray[np.int64]
    holders: npt.NDArray[np.int64]
    terms: npt.NDArray[np.int64]
    counts: npt.NDArray[np.float64]
    weights: npt.NDArray[np.float64]


NO_MATCHES = TermMatches(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0), np.empty(0))


@dataclass(frozen=True, slots=True)
class LexicalScores:
    """Hold the memories that share a term with a query, ids rising.

    `scores` are by BM25; `coverages` say what share of the idf of all the query's terms a memory's own terms make up.
    """

    memory_ids: npt.NDArray[np.int64]
    scores: npt.NDArray[np.float64]
    coverages: npt.NDArray[np.float64]
    matches: TermMatches


def bm25_scores(
    postings: Sequence[bytes | memoryview],
    memory_count: int,
    total_length: int,
    weights: Sequence[float] | None = None,
    unknown_weight: float = 0.0,
) -> LexicalScores:
    """Score every memory that holds a query term, by BM25 with Lucene's idf, `ln(1 + (N - df + 0.5) / (df + 0.5))`.

    `postings` holds one packed run of `POSTING` records per query term, `weights` the terms' weights (1 if left out),
    `memory_count` and `total_length` the namespace's number of memories and the sum of their lengths. `unknown_weight`
    is that of the terms that no memory holds. The order of the records does not matter.
    """
    runs = [np.frombuffer(packed, POSTING) for packed in postings]
    records = np.concatenate(runs) if runs else np.empty(0, POSTING)
    if not len(records):
        return LexicalScores(np.empty(0, np.int64), np.empty(0), np.empty(0), NO_MATCHES)
    frequency = np.array([len(run) for run in runs], np.float64)
    count = max(float(memory_count), frequency.max())
    weighed = np.ones(len(runs)) if weights is None else np.asarray(weights, np.float64)
    idf = np.log1p((count - frequency + 0.5) / (frequency + 0.5)) * weighed
    tf = records["tf"].astype(np.float64)
    relative_length = records["dl"].astype(np.float64) * (count / max(total_length, 1))
    saturation = tf / (tf + BM25_K1 * (1 - BM25_B + BM25_B * relative_length))
    terms_held = np.repeat(np.arange(len(runs)), frequency.astype(np.int64))
    repeated = idf[terms_held]
    memory_ids, slot = np.unique(records["memory_id"].astype(np.int64), return_inverse=True)
    whole = idf.sum() + unknown_weight * np.log1p((count + 0.5) / 0.5)
    return LexicalScores(
        memory_ids,
        np.bincount(slot, repeated * saturation, len(memory_ids)).astype(np.float64),
        np.bincount(slot, repeated, len(memory_ids)) / whole,
        TermMatches(memory_ids, slot, terms_held, tf, weighed),
    )


def score_groups(
    matches: TermMatches,
    memory_ids: npt.NDArray[np.int64],
    groups: npt.NDArray[np.int64],
    lengths: npt.NDArray[np.float64],
) -> npt.NDArray[np.float64]:
    """Score groups of memories by BM25 as if each group were one text, and the groups all there is.

    `memory_ids` are distinct, `groups` their groups, numbered from 0 without a gap, `lengths` theirs in terms.
    """
    size = int(groups.max()) + 1 if len(groups) else 0
    if not len(matches.memory_ids) or not size:
        return np.zeros(size)
    places = np.minimum(np.searchsorted(matches.memory_ids, memory_ids), len(matches.memory_ids) - 1)
    holds = matches.memory_ids[places] == memory_ids
    group_of = np.full(len(matches.memory_ids), -1, np.int64)
    group_of[places[holds]] = groups[holds]
    group = group_of[matches.holders]
    kept = group >= 0
    cells = matches.terms[kept] * size + group[kept]
    term_count = len(matches.weights)
    tf = np.bincount(cells, matches.counts[kept], term_count * size).reshape(term_count, size)
    frequency = (tf > 0.0).sum(axis=1)
    idf = np.log1p((size - frequency + 0.5) / (frequency + 0.5)) * matches.weights
    length = np.bincount(groups, lengths, size)
    relative_length = length / max(float(length.mean()), 1.0)
    saturation = tf / (tf + BM25_K1 * (1 - BM25_B + BM25_B * relative_length))
    scores: npt.NDArray[np.float64] = idf @ saturation
    return scores


def _chunks(text: str) -> list[str]:
    """Cut a text into words, compounds and symbols, normalised but with their capitals."""
    return _CHUNK.findall(unicodedata.normalize("NFKC", text).replace("\u2019", "'"))


def _latin_language(chunks: Iterable[str]) -> str:
    """Tell a Latin text's language by its stop words; English where none has more."""
    words = [chunk.casefold() for chunk in chunks]
    return max(LATIN_LANGUAGES, key=lambda language: sum(word in STOP_WORDS[language] for word in words))


def _is_stop_word(chunk: str, latin_language: str) -> bool:
    word = chunk.casefold()
    language = _script_language(word) or latin_language
    return word in STOP_WORDS.get(language, frozenset()) or word in STOP_WORDS["english"]


def _term_groups(chunk: str, language: str, *, stored: bool) -> Iterator[tuple[str, ...]]:
    """Yield the terms of one chunk; the terms of one group are forms of the same word."""
    parts = [part for piece in _pieces(chunk) for part in _CAMEL.split(piece)]
    for part in parts:
        yield from _word_groups(part.casefold(), language, stored)
    if len(parts) > 1:
        yield ("".join(parts).casefold(),)
    if chunk.endswith(("++", "#")):
        yield (chunk.casefold(),)


def _word(chunk: str, language: str) -> Word:
    if chunk.endswith(("++", "#")):
        return Word(((chunk.casefold(),),))
    written = [part.casefold() for piece in _pieces(chunk) for part in _CAMEL.split(piece)]
    parts = tuple(forms for part in written for forms in _forms_in_order(part, language))
    return Word(parts, _forms("".join(written), language) if len(written) > 1 else ())


def _forms_in_order(word: str, language: str) -> Iterator[tuple[str, ...]]:
    """Yield the forms of a word without connectors; scripts without spaces go character by character."""
    position = 0
    for run in _UNSPACED.finditer(word):
        if run.start() > position:
            yield _forms(word[position : run.start()], language)
        yield from ((character,) for character in run.group())
        position = run.end()
    if position < len(word):
        yield _forms(word[position:], language)


def _pieces(chunk: str) -> list[str]:
    """Take a compound apart, but leave an English contraction or possessive to the stemmer."""
    if _CONTRACTION.search(chunk.casefold()):
        head, _, tail = chunk.rpartition("'")
        pieces = _PART.findall(head)
        return [*pieces[:-1], f"{pieces[-1]}'{tail}"]
    return _PART.findall(chunk) or [chunk]


def _word_groups(word: str, language: str, stored: bool) -> Iterator[tuple[str, ...]]:
    """Yield the forms of a word without connectors; scripts without spaces become pairs of characters.

    Stored texts also keep each single character of such scripts, for queries that consist of one.
    """
    position = 0
    for run in _UNSPACED.finditer(word):
        if run.start() > position:
            yield _forms(word[position : run.start()], language)
        characters = run.group()
        for first, second in pairwise(characters):
            yield (first + second,)
        if stored or len(characters) == 1:
            yield from ((character,) for character in characters)
        position = run.end()
    if position < len(word):
        yield _forms(word[position:], language)


@lru_cache(maxsize=65_536)
def _forms(word: str, latin_language: str) -> tuple[str, ...]:
    """Name the stems under which a word is found, without accents."""
    language = _script_language(word)
    if language == "hebrew":
        return _hebrew_forms(_fold(word))
    if language is not None:
        return (_fold(_stemmer(language).stemWord(word)),)
    english = _fold(_stemmer("english").stemWord(word))
    if latin_language == "english":
        return (english,)
    return tuple(dict.fromkeys((_fold(_stemmer(latin_language).stemWord(word)), english)))


def _hebrew_forms(word: str) -> tuple[str, ...]:
    """Name a Hebrew word, and the same without its attached prepositions, article and plural ending."""
    bare = _HEBREW_ENDING.sub("", _HEBREW_PREFIX.sub("", word))
    return tuple(dict.fromkeys(form.translate(_HEBREW_FINALS) for form in (word, bare)))


def _fold(word: str) -> str:
    if word.isascii():
        return word
    return unicodedata.normalize("NFC", _ACCENTS.sub("", unicodedata.normalize("NFD", word)))


def _script_language(word: str) -> str | None:
    """Name the language whose stemmer serves a script other than Latin."""
    first = word[0]
    if first < "\u0370":
        return None
    return next((language for low, high, language in _SCRIPTS if low <= first <= high), None)


@cache
def _stemmer(language: str) -> Stemmer.Stemmer:
    return Stemmer.Stemmer(language, 0)
