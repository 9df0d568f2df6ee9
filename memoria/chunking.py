"""Cut long texts: into chunks on sentence and code-block borders, and into the overlapping passages of an embedder."""

import re
from collections.abc import Callable, Iterator, Sequence

from memoria.errors import InvalidInputError
from memoria.records import Chunk
from memoria.vocabulary import MAX_CHUNK_TOKENS, MIN_CHUNK_TOKENS

PASSAGE_OVERLAP_TOKENS = 32  # so that a sentence on a border stands whole in one of the two passages

FENCE = re.compile(r"^(```|~~~)[^\n]*\n.*?(?:^\1[^\n]*(?:\n|\Z)|\Z)", re.MULTILINE | re.DOTALL)
# A sentence ends after its mark and white space, after a CJK mark, or at a blank line.
SENTENCE_END = re.compile(r"(?<=[.!?…])[\"')\]]*\s+|(?<=[。！？])|\n\s*\n")
LINE_END = re.compile(r"\n")
WORD_END = re.compile(r"\s+")

Span = tuple[int, int]


def split_at(text: str, span: Span, border: re.Pattern[str]) -> Iterator[Span]:
    """Cut a span after each border, losing nothing: the pieces join to the span."""
    start, end = span
    for match in border.finditer(text, *span):
        if start < match.end() < end:
            yield start, match.end()
            start = match.end()
    if start < end:
        yield start, end


def split_blocks(text: str) -> Iterator[tuple[Span, bool]]:
    """Cut a text into fenced code blocks (True) and the prose between them (False)."""
    start = 0
    for match in FENCE.finditer(text):
        if start < match.start():
            yield (start, match.start()), False
        yield match.span(), True
        start = match.end()
    if start < len(text):
        yield (start, len(text)), False


def split_evenly(text: str, span: Span, max_tokens: int, count_tokens: Callable[[str], int]) -> Iterator[Span]:
    """Halve a span without any border (base64, an unbroken line) until each piece fits."""
    start, end = span
    if end - start <= 1 or count_tokens(text[start:end]) <= max_tokens:
        yield span
        return
    middle = (start + end) // 2
    yield from split_evenly(text, (start, middle), max_tokens, count_tokens)
    yield from split_evenly(text, (middle, end), max_tokens, count_tokens)


def split_to_fit(
    text: str, span: Span, borders: Sequence[re.Pattern[str]], max_tokens: int, count_tokens: Callable[[str], int]
) -> Iterator[Span]:
    """Cut a span at ever finer borders until each piece fits."""
    if count_tokens(text[slice(*span)]) <= max_tokens:
        yield span
    elif not borders:
        yield from split_evenly(text, span, max_tokens, count_tokens)
    else:
        for piece in split_at(text, span, borders[0]):
            yield from split_to_fit(text, piece, borders[1:], max_tokens, count_tokens)


def chunk_text(content: str, max_tokens: int, count_tokens: Callable[[str], int]) -> tuple[Chunk, ...]:
    """Cut a text into chunks of at most `max_tokens`; joined in order they are the text again.

    Fenced code blocks stay whole where they fit, and sentences do; only what has no border at all is cut anywhere.
    Raises InvalidInputError for a size outside 20–8,192 tokens.
    """
    if not MIN_CHUNK_TOKENS <= max_tokens <= MAX_CHUNK_TOKENS:
        raise InvalidInputError(
            f"`max_tokens` must be between {MIN_CHUNK_TOKENS} and {MAX_CHUNK_TOKENS}.", field="max_tokens"
        )
    pieces: list[Span] = []
    for span, is_code in split_blocks(content):
        borders = (LINE_END, WORD_END) if is_code else (SENTENCE_END, LINE_END, WORD_END)
        if is_code or count_tokens(content[slice(*span)]) > max_tokens:
            pieces.extend(split_to_fit(content, span, borders, max_tokens, count_tokens))
        else:
            pieces.extend(split_at(content, span, SENTENCE_END))
    groups = pack_pieces([(span, count_tokens(content[slice(*span)])) for span in pieces], max_tokens)
    spans = [span for group in groups for span in join_pieces(content, group, max_tokens, count_tokens)]
    return tuple(
        Chunk(index, content[start:end], start, end, count_tokens(content[start:end]))
        for index, (start, end) in enumerate(spans)
    )


def pack_pieces(pieces: Sequence[tuple[Span, int]], max_tokens: int) -> list[list[Span]]:
    """Group neighbouring pieces greedily while their summed tokens fit."""
    groups: list[list[Span]] = []
    used = 0
    for span, tokens in pieces:
        if groups and used + tokens <= max_tokens:
            groups[-1].append(span)
            used += tokens
        else:
            groups.append([span])
            used = tokens
    return groups


def join_pieces(
    text: str, group: Sequence[Span], max_tokens: int, count_tokens: Callable[[str], int]
) -> Iterator[Span]:
    """Join a group into one span; where two pieces joined have more tokens than apart, the last piece stands alone."""
    span = group[0][0], group[-1][1]
    if count_tokens(text[slice(*span)]) <= max_tokens:
        yield span
    elif len(group) == 1:
        yield from split_evenly(text, span, max_tokens, count_tokens)
    else:
        yield from join_pieces(text, group[:-1], max_tokens, count_tokens)
        yield from join_pieces(text, group[-1:], max_tokens, count_tokens)


def split_passages(
    text: str, offsets: Sequence[Span], max_tokens: int, count_tokens: Callable[[str], int]
) -> list[str]:
    """Cut a text into overlapping windows of the embedder's tokens; a text that fits is one passage.

    `offsets` are the character spans of the text's tokens. Every token is in at least one passage. A window that
    begins inside a word may have more tokens than it had in the whole; such a one is halved.
    """
    if len(offsets) <= max_tokens:
        return [text]
    starts = range(0, len(offsets) - PASSAGE_OVERLAP_TOKENS, max_tokens - PASSAGE_OVERLAP_TOKENS)
    windows = [offsets[start : start + max_tokens] for start in starts]
    spans = [(window[0][0], window[-1][1]) for window in windows]
    pieces = [piece for span in spans for piece in split_evenly(text, span, max_tokens, count_tokens)]
    return [text[start:end] for start, end in pieces]
