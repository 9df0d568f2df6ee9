"""Read a statement as the words that carry its meaning: values, names, negations, and what it says of time."""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import lru_cache

from memoria.intents import author_of
from memoria.lexical import terms
from memoria.lexicon import (
    BROADER,
    CLASSES,
    COLLECTING,
    HEDGES,
    LIMITS,
    NEGATORS,
    NUMBER_WORDS,
    OPPOSITES,
    ORDINAL_WORDS,
    PERSONS,
    PLACES,
    PREDICATES,
    RELATIONS,
    SMALL_STANCES,
    SMALL_WORDS,
    STANCES,
    SYNONYMS,
)

_WORD = re.compile(r"(?:(?<![^\s(])-(?=\d))?[^\W_]+(?:[-'.,:/@+][^\W_]+)*(?:\+\+|#|%)?")
_PLAIN_PUNCTUATION = re.compile(r"""[\s\w.,;:?'"()\[\]\-–—…“”‘’/]|!(?!=)""")
_CLAUSE_END = re.compile(r"[,;:.!?()\n]|\s[-–—]\s|\s(?:but|אבל)\s")
_CONTRASTED = re.compile(r";|,?\s(?:while|whereas|but|though|although|אבל|ואילו)\s", re.IGNORECASE)
_SENTENCE = re.compile(r"[^.!?\n]*(?:[.!?](?=\w)[^.!?\n]*)*[.!?\n]?")
_TITLE = re.compile(r"\b(Mrs?|Ms|Dr|Prof|St)\.")
_NUMBER = re.compile(r"^(-?\d+(?:[.,]\d+)*)(st|nd|rd|th)?$")
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_HEBREW_PREFIX = re.compile("^[ובלהמשכ]{1,2}(?=[\u05d0-\u05ea]{3})")
_ROLE = re.compile(
    r"\b(?:is|am|was|'m|'s|became|becomes?|works? as|working as)\s(?:now\s)?an?\s(?:[\w-]+\s){0,3}?"
    r"([\w-]*(?:er|or|ist|ian|eer|chef|nurse|pilot|lawyer))s?\b",
)
# A sentence that begins so asks for something.
_ORDER = re.compile(
    r"\W*(?:please\s)?(?:write|give|tell|show|explain|create|make|list|continue|let|describe|generate|rewrite|translate|"
    r"summari[sz]e|provide|add|remove|fix|help|elaborate|revise|suggest|imagine|act|do|don't|remember|remind)\s",
    re.IGNORECASE,
)
_CHANGE = re.compile(
    r"\b(?:now|no longer|any ?more|moved to|moving to|relocated|switched|migrated|changed|replaced|instead|renamed|"
    r"from now on|as of|these days|nowadays|used to|became|quit|stopped|"
    r"עכשיו|מעכשיו|כעת|כיום|כבר לא|במקום|עבר(?:ה|נו|תי|ו)? ל|החלפ(?:תי|נו)|החליפ(?:ה|ו)|החליף|"
    r"מעתה)(?![^\W\u05d0-\u05ea])",
    re.IGNORECASE,
)
_CONTRAST = re.compile(
    r"\b(?:instead of|rather than|as opposed to|no longer|stopped|quit|gave up|במקום|כבר לא)\b", re.IGNORECASE
)
_OCCASION = re.compile(
    r"\b(?:today|yesterday|tonight|tomorrow|ago|just|recently|earlier|"
    r"(?:this|last|next|the other) (?:morning|afternoon|evening|night|day|week|weekend|month|year|summer|winter|fall|"
    r"spring|time|monday|tuesday|wednesday|thursday|friday|saturday|sunday)|"
    r"היום|אתמול|מחר|הערב|אמש|לאחרונה|לפני)\b",
    re.IGNORECASE,
)
_NEGATORS = frozenset(NEGATORS.split())
_SMALL_STANCES = frozenset(SMALL_STANCES.split())
_STANCES = _SMALL_STANCES | frozenset(STANCES.split())
_SMALL = _SMALL_STANCES | frozenset(SMALL_WORDS.split())
_PLACES = frozenset(PLACES.split())
_PREDICATES = frozenset(PREDICATES.split())
_LIMITS = frozenset(LIMITS.split())
_PERSONS = {word: person for person, words in PERSONS.items() for word in words.split()}
_ACRONYMS = frozenset(("US", "IT"))  # in small letters they are other words
_BEFORE_NAMES = frozenset(("both", "all"))
_HEDGES = frozenset(HEDGES.split())
AUTHOR_WORDS = 3  # before a colon: more of them are what is said, not who says it
_NO_LINES: frozenset[int] = frozenset()
_NO_KEYS: frozenset[str] = frozenset()


class Kind(StrEnum):
    """Say what a word is to a statement."""

    WORD = "word"
    NUMBER = "number"
    NAME = "name"


@dataclass(frozen=True, slots=True)
class Word:
    """Be one word with meaning: `key` is equal for its inflections, `negated` says that the statement denies it.

    `follows` tells that no word but "and" stands between it and the one before.
    """

    key: str
    kind: Kind
    negated: bool
    clause: int
    follows: bool


@dataclass(frozen=True, slots=True)
class Reading:
    """Be a text's words with meaning, and what else decides whether two statements can both hold.

    `roles` are the occupations that it gives to someone, `labels` the numbers that tell its subject from others of its
    kind ("run 12 failed"), `persons` whom it means by pronouns, in order, `stances` the words that say how far
    something holds, `places` its prepositions, `marks` the signs that are no punctuation, and identifiers as written.
    `asks` tells that a question, an order or an exclamation is in it, `supposes` that it is only supposed, `limits`
    that it says "only", `changes` that it states a change, `occasion` that it speaks of one occasion, not of what
    holds.
    """

    words: tuple[Word, ...]
    roles: frozenset[str]
    labels: frozenset[str]
    persons: tuple[str, ...]
    stances: frozenset[str]
    places: frozenset[str]
    negations: int
    marks: tuple[str, ...]
    sentences: int
    asks: bool
    supposes: bool
    limits: bool
    changes: bool
    occasion: bool
    author: str | None = None

    def clauses(self) -> list[tuple[Word, ...]]:
        """List the words of each clause, where there are several."""
        numbers = sorted({word.clause for word in self.words})
        if len(numbers) < 2:
            return []
        return [tuple(word for word in self.words if word.clause == number) for number in numbers]


@lru_cache(maxsize=4096)
def read_statement(text: str) -> Reading:
    """Read what a text states: without its questions, orders and exclamations, and apart from who says it."""
    author, said = _part_author(text)
    spoken = _sentences(said)
    stated = _stated(spoken)
    return replace(_read(stated, said, asks=len(stated) < len(spoken)), author=author)


@lru_cache(maxsize=16_384)
def count_statements(text: str) -> int:
    """Count the sentences of a text that state something, the `sentences` of its reading, without reading them."""
    return len(_stated(_sentences(_part_author(text)[1])))


def _part_author(text: str) -> tuple[str | None, str]:
    author = author_of(text, {})
    if not author or len(author.split()) > AUTHOR_WORDS:
        return None, text
    return author, text[len(author) + 1 :]


def _stated(spoken: Sequence[str]) -> list[str]:
    return [each for each in spoken if not each.rstrip().endswith(("?", "!")) and not _ORDER.match(each)]


def read_everything(text: str) -> Reading:
    """Read all that a text says, also who says it."""
    spoken = _sentences(text)
    return _read(spoken, text, asks=any(each.rstrip().endswith("?") for each in spoken))


def _sentences(text: str) -> list[str]:
    said = _TITLE.sub(r"\1", unicodedata.normalize("NFKC", text).replace("\u2019", "'"))
    return [each for each in _SENTENCE.findall(said) if each.strip()]


def _read(sentences: list[str], text: str, *, asks: bool) -> Reading:
    clauses = [clause for sentence in sentences for clause in _CONTRASTED.split(sentence) if clause.strip()]
    whole = " ".join(sentences)
    written = _WORD.findall(whole)
    bare = [word.casefold() for word in written]
    return Reading(
        words=tuple(word for number, clause in enumerate(clauses) for word in _read_clause(clause, number)),
        roles=frozenset(role for role in map(str.casefold, _ROLE.findall(whole)) if _is_occupation(role)),
        labels=_labels(bare),
        persons=tuple(_PERSONS[word] for word in map(_without_ending, bare) if word in _PERSONS),
        stances=_STANCES.intersection(bare),
        places=_PLACES.intersection(bare),
        negations=sum(_negates(word) for word in bare),
        marks=(*sorted(_PLAIN_PUNCTUATION.sub("", text)), *filter(_is_identifier, written)),
        sentences=len(sentences),
        asks=asks,
        supposes=not _HEDGES.isdisjoint(bare),
        limits=not _LIMITS.isdisjoint(bare),
        changes=bool(_CHANGE.search(whole)),
        occasion=bool(_OCCASION.search(whole)),
    )


def _read_clause(clause: str, number: int) -> Iterator[Word]:
    """Yield the words with meaning; a negation denies what follows it, as far as the next comma."""
    contrasts = {found.start() for found in _CONTRAST.finditer(clause)}
    ends = [found.end() for found in _CLAUSE_END.finditer(clause)]
    found_words = list(_WORD.finditer(clause))
    denied_from: int | None = None
    follows = False
    for position, found in enumerate(found_words):
        start = found.start()
        if denied_from is not None and any(denied_from < end <= start for end in ends):
            denied_from = None
        word = found.group().casefold()
        if _negates(word) or start in contrasts:
            denied_from = start
        if _is_small(word) and found.group() not in _ACRONYMS:
            follows = follows and word in ("and", "ו")
            continue
        # A capital at the beginning tells nothing, unless the next word has one, too.
        begins = position == 0 and not (len(found_words) > 1 and found_words[1].group()[0].isupper())
        key = key_of(word)
        yield Word(key, _kind(found.group(), key, begins), denied_from is not None, number, follows)
        follows = True


def subject_of(words: Sequence[Word]) -> frozenset[str]:
    """Name whom a statement speaks of: the names that it begins with."""
    found: set[str] = set()
    for word in words:
        if word.kind is Kind.NAME and (word.follows or not found):
            found.add(word.key)
        elif found or word.key not in _BEFORE_NAMES:
            break
    return frozenset(found)


def collected_word(words: Sequence[Word]) -> Word | None:
    """Find the word after a verb that many things can be said of at once, None after any other verb.

    The verb is the first word besides names; the first word of all may be a name that no capital tells.
    """
    plain = [position for position, word in enumerate(words) if word.kind is not Kind.NAME]
    for position in plain[: 2 if plain[:1] == [0] else 1]:
        if words[position].key in _COLLECTING:
            return words[position + 1] if position + 1 < len(words) else None
    return None


def _labels(words: Sequence[str]) -> frozenset[str]:
    """Find the numbers that stand by a noun before anything is said of it: they name the thing, as in "run 12"."""
    labels: set[str] = set()
    for position, word in enumerate(words):
        if word in _PREDICATES or (position and word.endswith(("ed", "s"))):
            break
        if position and word[0].isdigit() and not _is_small(words[position - 1]):
            labels.add(key_of(word))
    return frozenset(labels)


def _is_identifier(word: str) -> bool:
    return any(character.isdigit() for character in word) and any(character.isalpha() for character in word)


def _negates(word: str) -> bool:
    return word in _NEGATORS or word.endswith("n't")


def _without_ending(word: str) -> str:
    """Take a contraction's second part off: "I'm", "she's"."""
    return word.partition("'")[0]


def _is_small(word: str) -> bool:
    bare = _without_ending(word)
    return bare in _SMALL or bare in _PERSONS or _negates(word)


def _is_occupation(role: str) -> bool:
    return role.endswith(("ist", "ician")) or "occupation" in _CLASSES_OF.get(key_of(role), _NO_KEYS)


def _kind(surface: str, key: str, begins: bool) -> Kind:
    if any(character.isdigit() for character in key):
        return Kind.NUMBER
    if surface[0].isupper() and key not in _CLASSES_OF and not (begins and surface[1:].islower()):
        return Kind.NAME
    return Kind.WORD


@lru_cache(maxsize=65_536)
def key_of(word: str) -> str:
    """Name a word (in small letters) by what it has in common with its inflections; numbers by their value."""
    word = word.removesuffix("'s").removesuffix("'")
    for values in (NUMBER_WORDS, ORDINAL_WORDS):
        if word in values:
            return values[word]
    if number := _NUMBER.match(_THOUSANDS.sub("", word)):
        return number[1] + ("." if number[2] else "")
    if any(character.isdigit() for character in word) or word.endswith(("+", "#")):
        return word
    for form in (word, _HEBREW_PREFIX.sub("", word)):
        if form in _FIRST_NAMES:
            return _FIRST_NAMES[form]
    return next(reversed(terms(word)), word)


def _first_names() -> dict[str, str]:
    """Map the names of one value, and their plurals, to the first of them: mon, mondays -> monday."""
    first: dict[str, str] = {}
    for members in CLASSES.values():
        for member in members.split("|"):
            names = member.split()
            for name in names:
                first.setdefault(name, names[0])
                if name.isascii():
                    first.setdefault(f"{name}s", names[0])
    return {name: value for name, value in first.items() if name not in NUMBER_WORDS}


def _classes() -> dict[str, frozenset[str]]:
    found: dict[str, set[str]] = {}
    for name, members in CLASSES.items():
        for member in members.split("|"):
            found.setdefault(key_of(member.split()[0]), set()).add(name)
    return {key: frozenset(names) for key, names in found.items()}


def _lines(lines: tuple[str, ...]) -> dict[str, frozenset[int]]:
    """Map each word to the numbers of the lines that it stands in."""
    found: dict[str, set[int]] = {}
    for number, line in enumerate(lines):
        for word in line.split():
            found.setdefault(key_of(word), set()).add(number)
    return {key: frozenset(numbers) for key, numbers in found.items()}


def _synonyms() -> dict[str, frozenset[str]]:
    found: dict[str, set[str]] = {}
    for line in SYNONYMS:
        keys = {key_of(word) for word in line.split()}
        for key in keys:
            found.setdefault(key, set()).update(keys - {key})
    return {key: frozenset(keys) for key, keys in found.items()}


_FIRST_NAMES = _first_names()
_CLASSES_OF = _classes()
_SYNONYMS_OF = _synonyms()
_RELATION_LINES = _lines(RELATIONS)
_BROADER = _lines(tuple(line.partition(" ")[0] for line in BROADER))
_NARROWER = _lines(tuple(line.partition(" ")[2] for line in BROADER))
_LEFT = _lines(tuple(line.partition(" / ")[0] for line in OPPOSITES))
_RIGHT = _lines(tuple(line.partition(" / ")[2] for line in OPPOSITES))
_COLLECTING = frozenset(map(key_of, COLLECTING.split()))


def relation_of(key: str) -> str:
    """Name the relation that a verb states, or the word itself: to move to a place is to live there."""
    lines = _RELATION_LINES.get(key)
    return f"relation {min(lines)}" if lines else key


def synonyms_of(key: str) -> frozenset[str]:
    """List what else says the same as a word."""
    return _SYNONYMS_OF.get(key, _NO_KEYS)


def mean_the_same(first: Word, second: Word) -> bool:
    """Tell whether two words are equal or synonyms."""
    return first.key == second.key or second.key in synonyms_of(first.key)


def is_broader(first: Word, second: Word) -> bool:
    """Tell whether the first word names a kind of things that the second is one of."""
    return bool(_BROADER.get(first.key, _NO_LINES) & _NARROWER.get(second.key, _NO_LINES))


def are_opposites(first: str, second: str) -> bool:
    """Tell whether two words, by their keys, are opposites."""
    return bool(
        _LEFT.get(first, _NO_LINES) & _RIGHT.get(second, _NO_LINES)
        or _RIGHT.get(first, _NO_LINES) & _LEFT.get(second, _NO_LINES)
    )


def exclude_each_other(first: Word, second: Word) -> bool:
    """Tell whether two words cannot both stand in the same place: numbers, names, members of a class, opposites."""
    if first.key == second.key:
        return False
    if first.kind is second.kind and first.kind is not Kind.WORD:
        return True
    if _CLASSES_OF.get(first.key, _NO_KEYS) & _CLASSES_OF.get(second.key, _NO_KEYS):
        return True
    return are_opposites(first.key, second.key)


def is_value(word: Word) -> bool:
    """Tell whether a word is a value by itself: a number, a name, a date, a colour."""
    return word.kind is not Kind.WORD or word.key in _CLASSES_OF
