"""Write summaries by quoting, and judge those that a language model has written.

A summary says nothing that its members do not say: it is one member's text whole, and of the others the sentences that
add something to it. Pure functions.
"""

import re
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from memoria.chunking import SENTENCE_END
from memoria.lexical import terms
from memoria.stopwords import STOP_WORDS
from memoria.vocabulary import (
    EPISODE_CHARACTERS,
    EPISODE_SENTENCES,
    EPISODE_TITLE_CHARACTERS,
    SUMMARY_CHARACTERS,
    SUMMARY_NEW_SHARE,
)

CUT_MARK = "…"
FOREIGN_SHARE = 0.3  # of a written summary's words, that may be in no member: a language model joins sentences
_WORD = re.compile(r"\w+(?:[-_/.:@#&+'’%°]\w+)*%?")
_NEGATION = re.compile(
    r"\b(?:no|not|never|none|neither|nor|nothing|nobody|without|cannot|\w+n['’]t)\b|(?<!\w)(?:לא|אין|בלי)(?!\w)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Summary:
    """Be the text of a summary. `is_quote` says that it is the text of the member at `quoted`, and no more."""

    text: str
    quoted: int
    is_quote: bool


@dataclass(frozen=True, slots=True)
class Outline:
    """Be the text of an episode: the opening of its first member, and its most telling sentences in their order."""

    title: str
    text: str


def summarize(texts: Sequence[str], quoted: int) -> Summary:
    """Quote the member at `quoted` whole, and after it each sentence of the others that adds to what stands there.

    A sentence adds something when it holds a number that is not there yet, or when a good part of its words are new.
    Sentences are added while the summary stays short; the members keep the rest.
    """
    text = texts[quoted].strip()
    for other in (each for place, each in enumerate(texts) if place != quoted):
        for sentence in sentences_of(other):
            longer = f"{text}\n{sentence}"
            if len(longer) <= max(SUMMARY_CHARACTERS, len(text)) and adds_to(sentence, text):
                text = longer
    return Summary(text, quoted, text == texts[quoted].strip())


def adds_to(sentence: str, text: str) -> bool:
    """Say whether a sentence tells something that is not in the text."""
    if _numbers(sentence) - _numbers(text):
        return True
    own = {term for term in terms(sentence) if term not in STOP_WORDS["english"]}
    new = own - set(terms(text))
    return bool(own) and len(new) >= 2 and len(new) / len(own) >= SUMMARY_NEW_SHARE


def outline(texts: Sequence[str]) -> Outline:
    """Quote the opening of the first text as a title, and the few sentences that most of the others touch on.

    `texts` are in the order in which they happened; so are the sentences. None is cut but the title and the first.
    """
    sentences = [sentence for text in texts for sentence in sentences_of(text)]
    weights = Counter(term for sentence in sentences for term in set(terms(sentence)))
    telling = sorted(range(1, len(sentences)), key=lambda place: (-_centrality(sentences[place], weights), place))
    chosen = {0}
    length = min(len(sentences[0]), EPISODE_CHARACTERS)
    for place in telling:
        if len(chosen) == EPISODE_SENTENCES:
            break
        if length + 1 + len(sentences[place]) <= EPISODE_CHARACTERS:
            chosen.add(place)
            length += 1 + len(sentences[place])
    quoted = [shorten(sentences[place], EPISODE_CHARACTERS) for place in sorted(chosen)]
    return Outline(shorten(sentences[0], EPISODE_TITLE_CHARACTERS), "\n".join(quoted))


def _centrality(sentence: str, weights: Counter[str]) -> float:
    own = set(terms(sentence))
    return sum(weights[term] - 1 for term in own) / (len(own) + 3.0) if own else 0.0


def shorten(text: str, most: int) -> str:
    """Cut a text at a word, and mark it, if it is longer than `most` characters."""
    if len(text) <= most:
        return text
    kept = text[: most - 1]
    ends_a_word = kept[-1].isspace() or text[most - 1].isspace()
    return (kept if ends_a_word else kept.rsplit(None, 1)[0]).rstrip() + CUT_MARK


def sentences_of(text: str) -> list[str]:
    """Cut a text into its sentences, without blank ones; a line end ends one too."""
    pieces = (piece.strip() for line in text.splitlines() for piece in SENTENCE_END.split(line))
    return [piece for piece in pieces if piece] or [text.strip()]


def says_only(summary: str, texts: Sequence[str]) -> bool:
    """Say whether a written summary keeps to what its members say.

    Every number and every name in it must stand in a member, nearly all its words too, and it must not deny what they
    affirm or affirm what they deny.
    """
    told = {word.casefold() for text in texts for word in _WORD.findall(text)}
    known = {term for text in texts for term in terms(text)}
    if any(word.casefold() not in told for word in _values(summary, known)):
        return False
    if bool(_NEGATION.search(summary)) != any(_NEGATION.search(text) for text in texts):
        return False
    own = [term for term in terms(summary) if term not in STOP_WORDS["english"]]
    foreign = [term for term in own if term not in known]
    return bool(own) and len(foreign) <= FOREIGN_SHARE * len(own)


def _values(text: str, known: Collection[str]) -> set[str]:
    """List the words that name a value: those with a digit, and capitalised ones.

    The first word of a sentence has its capital from there: it is a name only where its stem is not among the known.
    """
    values: set[str] = set()
    for sentence in sentences_of(text):
        for place, word in enumerate(_WORD.findall(sentence)):
            has_capital = any(letter.isupper() for letter in word)
            is_opening = place == 0 and not any(letter.isupper() for letter in word[1:])
            is_plain = word.casefold() in STOP_WORDS["english"] or (is_opening and not set(terms(word)) - set(known))
            if any(map(str.isdigit, word)) or (has_capital and not is_plain):
                values.add(word)
    return values


def _numbers(text: str) -> set[str]:
    return {word.casefold() for word in _WORD.findall(text) if any(map(str.isdigit, word))}
