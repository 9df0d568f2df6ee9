"""Token counts for budgets of language models."""

import base64
import functools
import hashlib
from importlib import resources

import tiktoken

# Of cl100k_base.tiktoken as its makers publish it, the value that tiktoken itself checks.
_VOCABULARY_SHA256 = "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7"
# How cl100k_base cuts a text before it merges bytes, as published with tiktoken.
_PIECES = (
    r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+"
    r"| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|\s+(?!\S)|\s"
)


def count_tokens(text: str) -> int:
    """Count the tokens of a text in `cl100k_base`, a byte-level tokenizer of language models.

    Other models cut text a little differently: read the count as a close estimate for them. Every byte
    counts, so emoji, base64 and long runs without a space do too; a text has at most as many tokens as UTF-8
    bytes. Markers such as `<|endoftext|>` count as plain text. The first call reads the vocabulary (about
    0.3 s, 30 to 50 MB); after it 64 KiB of English took 4 ms, and of one repeated letter 20 ms.
    """
    return len(_encoding().encode_ordinary(text))


@functools.cache
def _encoding() -> tiktoken.Encoding:
    # Read here and not by tiktoken, which would copy the file into a shared temporary folder.
    vocabulary = (resources.files("tiktoken_ext") / "data" / "cl100k_base.tiktoken").read_bytes()
    if hashlib.sha256(vocabulary).hexdigest() != _VOCABULARY_SHA256:
        raise RuntimeError("the installed cl100k_base vocabulary differs from the published one (SHA-256)")
    lines = (line.split() for line in vocabulary.splitlines() if line)
    ranks = {base64.b64decode(piece): int(rank) for piece, rank in lines}
    return tiktoken.Encoding("cl100k_base", pat_str=_PIECES, mergeable_ranks=ranks, special_tokens={})
