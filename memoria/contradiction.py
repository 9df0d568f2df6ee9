"""Tell whether two statements say the same, give one thing different values, or state that it has changed.

Pure rules over words: no model, no network. Two statements are about the same thing when they share most of their
telling words. They differ in a value when what one puts in a place of the other is a number, a date, a name, a
negation, an opposite, or simply another word. `benchmarks/updates` measures both directions: updates that must be
found, and synonyms that must not.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from enum import StrEnum
from functools import lru_cache
from itertools import takewhile

from memoria.lexical import query_terms
from memoria.values import (
    ADDRESSES,
    CHANGE_PHRASES,
    CONTRASTS,
    FILLERS,
    GENERAL_WORDS,
    HEDGES,
    NEGATIONS,
    OPPOSITES,
    PREDICATES,
    RESTRICTIONS,
    SYNONYMS,
    number_of,
    value_class,
)
from memoria.vocabulary import (
    CONTRADICTION_ALIGNED,
    CONTRADICTION_SHARED,
    CONTRADICTION_WORDS,
    HEDGED_COSINE,
    NAMED_COSINE,
    NAMESAKE_COSINE,
    NAMESAKE_WORDS,
    RESTRICTION_COSINE,
    RESTRICTION_WORDS,
    SPEECH_ALIGNED,
    SPEECH_COSINE,
    STATEMENT_WORDS,
    SUBJECT_COSINE,
    SYNONYM_COSINE,
)

_WORD = re.compile(r"[^\W_]+(?:['’.,:/-][^\W_]+)*")
_SPEAKER = re.compile(r"[^\W\d_]+(?: [^\W\d_]+)?: ")
_SENTENCE_START = re.compile(r"(?:^|[.!?]\s+|\n\s*)([^\W_]+)")


class Verdict(StrEnum):
    """Say how a newer statement stands to an older one.

    `UNRELATED`: they are about different things, or one only adds to the other. `AGREE`: they say the same. `DIFFER`:
    they give one thing different values. `CHANGES`: the newer one says that it has changed.
    """

    UNRELATED = "unrelated"
    AGREE = "agree"
    DIFFER = "differ"
    CHANGES = "changes"


@dataclass(frozen=True, slots=True)
class Statement:
    """Hold a text read once: its words as written, in small letters, and what they are worth.

    `names` are its proper names (`name_order`: as they first occur), `numbers` its numbers in figures, `labels` those
    that tell one thing from another of its kind (run 12), `negated` whether it denies, `restricts` whether it narrows
    down (only, instead, rather), `contrasts` whether it sets one thing against another (while, but), `hedges` whether
    it only supposes, `named` whom or what it says to be a such-and-such ('' if none), `changed` whether it states a
    change, `asserts` whether it says anything of a subject, `spoken` whether it is a line of a conversation, `terms`
    the stems of its telling words.
    """

    words: tuple[str, ...]
    names: frozenset[str]
    numbers: frozenset[str]
    labels: frozenset[str]
    name_order: tuple[str, ...]
    negated: bool
    restricts: bool
    contrasts: bool
    hedges: bool
    named: str
    changed: bool
    asserts: bool
    spoken: bool
    terms: frozenset[str]


def judge(older: str, newer: str, cosine: float) -> Verdict:
    """Compare a newer statement with an older one; `cosine` is that of their vectors."""
    first, second = read_statement(older), read_statement(newer)
    if first.words == second.words:
        return Verdict.AGREE
    if not (first.asserts and second.asserts) or max(len(first.words), len(second.words)) > STATEMENT_WORDS:
        return Verdict.UNRELATED
    if not _same_subject(first, second, cosine):
        return Verdict.UNRELATED
    if not _differs(first, second, cosine):
        return Verdict.AGREE if values_agree(older, newer) else Verdict.UNRELATED
    return Verdict.CHANGES if second.changed else Verdict.DIFFER


def values_agree(first: str, second: str) -> bool:
    """Say whether two texts give everything the same value, so that one may stand for both.

    Strict: numbers, dates, names and negations are equal, and no telling word of one stands in the place of another
    of the other, but for inflection and a short list of synonyms.
    """
    one, two = read_statement(first), read_statement(second)
    if one.negated != two.negated or one.numbers != two.numbers or one.labels != two.labels or one.names != two.names:
        return False
    if _values(one) != _values(two) or _swapped(one, two):
        return False
    return all(_same_words(removed, added) for removed, added in _replacements(one, two))


@lru_cache(maxsize=4096)
def read_statement(text: str) -> Statement:
    """Read what a text states."""
    written = _WORD.findall(text.replace("’", "'"))
    small = tuple(word.casefold() for word in written)
    starts = {match.casefold() for match in _SENTENCE_START.findall(text)}
    inside = {word.casefold() for word in written[1:] if word[:1].isupper() and word.casefold() not in starts}
    names = set(inside)
    for word, following in zip(written, [*written[1:], ""], strict=False):
        # A capital at the start of a sentence is a name's only where another follows, as in "Ada Lovelace".
        if word[:1].isupper() and following[:1].isupper() and word.casefold() not in NEGATIONS:
            names |= {word.casefold(), following.casefold()}
    names = {_bare(name) for name in names if name not in FILLERS and len(name) > 1 and not value_class(name)}
    joined = f" {' '.join(small)} "
    labels = _labels(small)
    return Statement(
        words=small,
        names=frozenset(names),
        name_order=tuple(dict.fromkeys(bare for word in small if (bare := _bare(word)) in names)),
        restricts=not RESTRICTIONS.isdisjoint(small),
        named=_named(small, names),
        hedges=not HEDGES.isdisjoint(small),
        contrasts=not CONTRASTS.isdisjoint(small),
        numbers=frozenset(number for word in small if (number := number_of(word)) is not None) - labels,
        labels=labels,
        negated=any(word in NEGATIONS or word.endswith("n't") for word in small),
        changed=any(f" {phrase} " in joined for phrase in CHANGE_PHRASES),
        asserts=_asserts(small),
        spoken=_is_speech(text, small),
        terms=frozenset(query_terms(text)),
    )


def _labels(words: Sequence[str]) -> frozenset[str]:
    """Find the numbers that stand by a noun before anything is said of it: they name the thing, as in `deploy 412`."""
    labels: set[str] = set()
    for place, word in enumerate(words):
        if word in PREDICATES or (place and word.endswith(("ed", "s"))):
            break
        if place and word[0].isdigit() and words[place - 1] not in FILLERS and (number := number_of(word)):
            labels.add(number)
    return frozenset(labels)


def _named(words: Sequence[str], names: set[str]) -> str:
    """Name the subject of `<names> is a ...`; '' where a text says no such thing, or says it besides (also)."""
    subject = list(takewhile(lambda word: _bare(word) in names, words))
    says = tuple(words[len(subject) : len(subject) + 2])
    return " ".join(subject) if says in (("is", "a"), ("is", "an")) and "also" not in words else ""


def _asserts(words: Sequence[str]) -> bool:
    """Say whether a text says something of its subject; a mere name (`deploy of the shop`) does not."""
    return any(word in PREDICATES or not word.isascii() or word.endswith(("ed", "s")) for word in words[1:])


def _is_speech(text: str, words: Sequence[str]) -> bool:
    """Say whether a text is a line of a conversation rather than a statement: who speaks, to whom, asking what."""
    return bool(_SPEAKER.match(text)) or "?" in text or "!" in text or not ADDRESSES.isdisjoint(words)


def _same_subject(first: Statement, second: Statement, cosine: float) -> bool:
    """Say whether two statements are about the same thing: alike, and with most telling words in common.

    What is said in a conversation asserts little: two lines of speech must be nearly the same.
    """
    if first.spoken or second.spoken:
        return cosine >= SPEECH_COSINE and _aligned(first, second) >= SPEECH_ALIGNED
    if cosine < SUBJECT_COSINE or first.labels != second.labels:
        return False
    if first.names & second.names:
        besides = len(first.terms & second.terms - _stems(first.names | second.names))
        if second.restricts and cosine >= RESTRICTION_COSINE and besides >= RESTRICTION_WORDS:
            return True
        if first.named and first.named == second.named and cosine >= NAMED_COSINE:
            return True
        if first.hedges and not second.hedges and cosine >= HEDGED_COSINE:
            return True
        if first.names == second.names and cosine >= NAMESAKE_COSINE and besides >= NAMESAKE_WORDS:
            return True
    shared, all_terms = first.terms & second.terms, first.terms | second.terms
    if _aligned(first, second) >= CONTRADICTION_ALIGNED and shared:
        return True
    return len(shared) >= CONTRADICTION_WORDS and len(shared) >= CONTRADICTION_SHARED * len(all_terms)


def _differs(first: Statement, second: Statement, cosine: float) -> bool:
    """Say whether something in the one has another value in the other."""
    if first.negated != second.negated or (second.restricts and not first.restricts):
        return True
    if _swapped(first, second) or (second.contrasts and not first.contrasts and second.names - first.names):
        return True
    for ours, theirs in (
        (first.numbers, second.numbers),
        (first.names, second.names),
        (_values(first), _values(second)),
    ):
        if _excluding(ours - theirs, theirs - ours):
            return True
    if cosine >= SYNONYM_COSINE:
        return False
    return any(
        not _same_words(removed, added)
        and _tells(removed)
        and _tells(added)
        and not (_is_general(removed) or _is_general(added))
        for removed, added in _replacements(first, second)
    )


def _swapped(first: Statement, second: Statement) -> bool:
    """Say whether two statements are word for word the same, but that names have changed their places."""
    if first.name_order == second.name_order or set(first.name_order) != set(second.name_order):
        return False
    ours, theirs = ([word for word in each.words if _bare(word) not in each.names] for each in (first, second))
    matched = sum(block.size for block in SequenceMatcher(None, ours, theirs, autojunk=False).get_matching_blocks())
    return "and" not in ours and matched >= CONTRADICTION_ALIGNED * max(len(ours), len(theirs))


def _excluding(ours: Iterable[object], theirs: Iterable[object]) -> bool:
    """Say whether each has a value of a kind of which the other has another."""
    kinds = [{value[0] if isinstance(value, tuple) else "" for value in values} for values in (ours, theirs)]
    return bool(kinds[0] & kinds[1])


def _aligned(first: Statement, second: Statement) -> float:
    """Return which share of the shorter statement's words stand in the longer one in the same order."""
    matcher = SequenceMatcher(None, first.words, second.words, autojunk=False)
    matched = sum(block.size for block in matcher.get_matching_blocks())
    return matched / max(1, min(len(first.words), len(second.words)))


def _replacements(first: Statement, second: Statement) -> list[tuple[Sequence[str], Sequence[str]]]:
    """List what one statement has in the place of something of the other."""
    matcher = SequenceMatcher(None, first.words, second.words, autojunk=False)
    return [
        (first.words[i:j], second.words[k:m])
        for kind, i, j, k, m in matcher.get_opcodes()
        if kind != "equal" and (_telling(first.words[i:j]) or _telling(second.words[k:m]))
    ]


def _values(statement: Statement) -> frozenset[tuple[str, str]]:
    """Collect the words that exclude others of their kind: weekdays, months, colours, opposites …"""
    found = ((value_class(word), _bare(word)) for word in statement.words)
    return frozenset((kind, word) for kind, word in found if kind)


def _stems(names: frozenset[str]) -> frozenset[str]:
    return frozenset(query_terms(" ".join(sorted(names))))


def _telling(words: Sequence[str]) -> list[str]:
    return [word for word in words if word not in FILLERS]


def _tells(words: Sequence[str]) -> bool:
    return bool(query_terms(" ".join(_telling(words)))) if _telling(words) else False


def _is_general(words: Sequence[str]) -> bool:
    """Say whether words name a kind of things only: in the place of one of the kind they contradict nothing."""
    telling = _telling(words)
    return len(telling) == 1 and _bare(telling[0]) in GENERAL_WORDS


def _same_words(removed: Sequence[str], added: Sequence[str]) -> bool:
    """Say whether two runs of words mean the same: equal but for inflection, fillers and synonyms."""
    ours, theirs = _telling(removed), _telling(added)
    if not ours or not theirs:
        return not (set(ours) | set(theirs)) & OPPOSITES
    return {_meaning(word) for word in ours} == {_meaning(word) for word in theirs}


@lru_cache(maxsize=8192)
def _meaning(word: str) -> str:
    """Name what a word means: the first of its synonyms, or its stem."""
    bare = number_of(word) or _bare(word)
    return SYNONYMS.get(bare, bare)


def _bare(word: str) -> str:
    """Take the plural and the possessive off a word."""
    word = word.removesuffix("'s").removesuffix("'")
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    if word.endswith("s") and not word.endswith(("ss", "us", "is")) and len(word) > 3:
        return word[:-1]
    return word
