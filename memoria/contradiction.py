"""Judge by rule whether a newer statement contradicts an older one, changes it, or leaves it as it is.

Two statements are aligned word by word. They contradict each other where one denies what the other says, or where they
run alike and have different values in the same place. Likeness of topic alone decides nothing.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from enum import StrEnum
from itertools import groupby

from memoria.vocabulary import (
    COMPARED_CLAUSES,
    COMPARED_REPEATS,
    COMPARED_WORDS,
    CONTRADICTION_CHARACTERS,
    DENIED_SHARE,
    FRAME_COSINE,
    FRAME_WORDS,
    MERGED_CHARACTERS,
    NAMED_WORDING_SHARE,
    NAMES_SHARE,
    NARROW_SLOT_WORDS,
    NEWER_SENTENCES,
    OLDER_SENTENCES,
    SAME_EVENT_WORDS,
    SUBJECT_COSINE,
    SUBJECT_SHARE,
    SUPPOSED_COSINE,
    VALUE_SHARE,
    WIDE_VALUE_SHARE,
    WORDING_COSINE,
    WORDING_SHARE,
)
from memoria.wording import (
    Kind,
    Reading,
    Word,
    are_opposites,
    collected_word,
    count_statements,
    exclude_each_other,
    is_broader,
    is_value,
    mean_the_same,
    read_everything,
    read_statement,
    relation_of,
    subject_of,
    synonyms_of,
)


class Verdict(StrEnum):
    """Say how a newer statement stands to an older one.

    `DIFFER`: both cannot hold, and neither says which does. `CHANGES`: the newer one says that it has become so.
    """

    AGREE = "agree"
    DIFFER = "differ"
    CHANGES = "changes"
    UNRELATED = "unrelated"


@dataclass(frozen=True, slots=True)
class Slot:
    """Be a place where two statements that otherwise run alike say different things."""

    older: tuple[Word, ...]
    newer: tuple[Word, ...]

    @property
    def narrow(self) -> bool:
        """Tell whether it is small enough to hold one value."""
        return max(len(self.older), len(self.newer)) <= NARROW_SLOT_WORDS

    @property
    def excludes(self) -> bool:
        """Tell whether one side has a value that a value of the other excludes."""
        return any(exclude_each_other(first, second) for first in self.older for second in self.newer)

    @property
    def excludes_always(self) -> bool:
        """Tell whether they exclude each other even where many things hold at once: by number, or as opposites."""
        return any(
            are_opposites(first.key, second.key) or (first.kind is second.kind is Kind.NUMBER)
            for first in self.older
            for second in self.newer
        )

    @property
    def broadens(self) -> bool:
        """Tell whether one side is a single word for the kind of thing that the other names."""
        return any(
            len(one) == 1 and any(is_broader(one[0], word) for word in other)
            for one, other in ((self.older, self.newer), (self.newer, self.older))
        )


@dataclass(frozen=True, slots=True)
class Alignment:
    """Hold how two statements run alongside each other: what they share, where they differ, what only one says."""

    shared: tuple[tuple[Word, Word], ...]
    slots: tuple[Slot, ...]
    only_older: tuple[Word, ...]
    only_newer: tuple[Word, ...]

    def missing(self) -> list[Word]:
        """List the older statement's words that the newer one lacks."""
        return [*(word for slot in self.slots for word in slot.older), *self.only_older]

    def added(self) -> list[Word]:
        """List the newer statement's words that the older one lacks."""
        return [*(word for slot in self.slots for word in slot.newer), *self.only_newer]


def align(older: Sequence[Word], newer: Sequence[Word]) -> Alignment:
    """Align two statements by their words; what moved, or has a synonym on the other side, is shared, too."""
    first = [relation_of(word.key) for word in older]
    second = [relation_of(word.key) for word in newer]
    shared: list[tuple[Word, Word]] = []
    gaps: list[tuple[range, range]] = []
    for tag, start, end, other_start, other_end in SequenceMatcher(None, first, second, autojunk=False).get_opcodes():
        if tag == "equal":
            shared += zip(older[start:end], newer[other_start:other_end], strict=True)
        else:
            gaps.append((range(start, end), range(other_start, other_end)))
    left = {position for positions, _ in gaps for position in positions}
    free = {position for _, positions in gaps for position in positions}
    for position in sorted(left):
        alike = synonyms_of(older[position].key) | {older[position].key}
        same = next((other for other in sorted(free) if newer[other].key in alike), None)
        if same is not None:
            left.discard(position)
            free.discard(same)
            shared.append((older[position], newer[same]))
    rest = [
        (tuple(older[p] for p in one if p in left), tuple(newer[p] for p in other if p in free)) for one, other in gaps
    ]
    return Alignment(
        tuple(shared),
        tuple(Slot(one, other) for one, other in rest if one and other),
        tuple(word for one, other in rest if not other for word in one),
        tuple(word for one, other in rest if not one for word in other),
    )


def values_agree(first: str, second: str) -> bool:
    """Tell whether two texts may be merged as repetitions of each other.

    Numbers, dates, names, negations, who speaks and what is only possible must be the same on both sides, and in the
    same order; no word may stand where the other text has another one. One of them may say more in plain words.
    """
    if first == second:
        return True
    if max(len(first), len(second)) > MERGED_CHARACTERS:
        return False
    one, other = read_everything(first), read_everything(second)
    if not (_is_bounded(one) and _is_bounded(other)):
        return False
    if not one.words or not other.words or _manner(one) != _manner(other) or _values(one) != _values(other):
        return False
    if one.places - other.places and other.places - one.places:
        return False
    return _same_words(one, other) and _same_words(other, one)


def _is_bounded(reading: Reading) -> bool:
    """Tell a statement from a heap of words: aligning costs the product of both lengths, or more where words repeat."""
    keys = Counter(word.key for word in reading.words)
    return keys.total() <= COMPARED_WORDS and max(keys.values(), default=0) <= COMPARED_REPEATS


def _same_words(one: Reading, other: Reading) -> bool:
    """Tell whether two texts run alike, of which one may say more."""
    mine, theirs = [word.key for word in one.words], [word.key for word in other.words]
    if Counter(mine) == Counter(theirs):
        return _turned(mine, theirs)
    aligned = align(one.words, other.words)
    if aligned.slots or (aligned.only_older and aligned.only_newer):
        return False
    common = set(mine) & set(theirs)
    orders = ([key for key, _ in groupby(each) if key in common] for each in (mine, theirs))
    return next(orders) == next(orders)


def judge(older: str, newer: str, cosine: float) -> Verdict:
    """Judge a newer statement against an older one; `cosine` is that of their vectors.

    Questions, orders and exclamations state nothing, and a text of many sentences is not one statement: about those
    the verdict is `unrelated`, unless the newer one holds a sentence that the older one is contradicted by.
    """
    if cosine < SUBJECT_COSINE or max(len(older), len(newer)) > CONTRADICTION_CHARACTERS:
        return Verdict.UNRELATED
    if count_statements(older) > OLDER_SENTENCES or count_statements(newer) > NEWER_SENTENCES:
        return Verdict.UNRELATED
    before, after = read_statement(older), read_statement(newer)
    if not _comparable(before, after):
        return Verdict.UNRELATED
    clauses = [_compare(before, after, part, cosine) for part in (*after.clauses(), after.words)]
    if any(clause.contradicts() for clause in clauses):
        return Verdict.CHANGES if after.changes else Verdict.DIFFER
    return Verdict.AGREE if max(clause.share for clause in clauses) >= WORDING_SHARE else Verdict.UNRELATED


def _comparable(older: Reading, newer: Reading) -> bool:
    """Tell whether two readings are statements, by and about the same person, and not of two occasions."""
    if not older.words or not newer.words or older.asks:
        return False
    if not (_is_bounded(older) and _is_bounded(newer)) or len(newer.clauses()) > COMPARED_CLAUSES:
        return False
    if older.labels != newer.labels:
        return False
    persons = set(older.persons), set(newer.persons)
    if older.author != newer.author and ((older.author and newer.author) or "I" in persons[0] | persons[1]):
        return False
    if (persons[0] ^ persons[1]) & {"I", "you"}:
        return False
    others = [each & {"he", "she"} for each in persons]
    if all(others) and others[0].isdisjoint(others[1]) and not subject_of(older.words) and not subject_of(newer.words):
        return False
    return newer.changes or not (older.occasion and newer.occasion)


def _compare(older: Reading, newer: Reading, part: tuple[Word, ...], cosine: float) -> "Comparison":
    """Align two statements, leaving out the places where one only says it more broadly."""
    found = align(older.words, part)
    slots = tuple(slot for slot in found.slots if not slot.broadens)
    shared_words = sum(word.kind is not Kind.NAME for word, _ in found.shared)
    plain = sum(word.kind is not Kind.NAME for word in older.words)
    return Comparison(
        older,
        newer,
        part,
        cosine,
        Alignment(found.shared, slots, found.only_older, found.only_newer),
        (subject_of(older.words), subject_of(part)),
        shared_words,
        shared_words / plain if plain else len(found.shared) / len(older.words),
    )


@dataclass(frozen=True, slots=True)
class Comparison:
    """Compare an older statement with one clause of a newer one, or with all of it (`part`).

    `subjects` are the names that the two begin with, `shared_words` counts the words besides names that both have,
    `share` is their share of the older statement's, 0-1.
    """

    older: Reading
    newer: Reading
    part: tuple[Word, ...]
    cosine: float
    aligned: Alignment
    subjects: tuple[frozenset[str], frozenset[str]]
    shared_words: int
    share: float

    @property
    def same_name(self) -> bool:
        """Tell whether both begin with the same name."""
        return bool(self.subjects[0]) and self.subjects[0] == self.subjects[1]

    def contradicts(self) -> bool:
        """Tell whether both cannot hold."""
        if self._is_denied() or self._has_another_role() or self._was_only_supposed():
            return True
        mine, theirs = self.subjects
        if mine and theirs and mine.isdisjoint(theirs):
            return self._happened_to_another()
        if len(self.aligned.slots) > 1 and not mine & theirs and not self.newer.changes:
            return False  # with another subject, other things are said of it
        if self._has_another_value() or self._turns_to_the_opposite():
            return True
        if any(map(self._collects, self.aligned.slots)):
            return False
        return self._names_others() or self._is_limited() or self._goes_on_otherwise() or self._is_worded_otherwise()

    def _is_denied(self) -> bool:
        """Tell whether one denies what the other says of the same."""
        flipped = [word for word, other in self.aligned.shared if word.negated != other.negated]
        named = any(word.kind is Kind.NAME and word.key not in self.subjects[0] for word in flipped)
        return bool(flipped) and (self.share >= DENIED_SHARE or (named and self.same_name))

    def _has_another_role(self) -> bool:
        """Tell whether the two give the same person different occupations."""
        roles, others = self.older.roles, self.newer.roles
        return bool(roles and others) and roles.isdisjoint(others) and self.subjects[0] == self.subjects[1]

    def _was_only_supposed(self) -> bool:
        """Tell whether the older statement only supposes what the newer one knows better."""
        known = self.older.supposes and not self.newer.supposes
        return known and self.same_name and self.cosine >= SUPPOSED_COSINE

    def _happened_to_another(self) -> bool:
        """Tell whether the newer statement says of another what the older says of someone.

        Two may do the same, unless it is told in so many words that it is one event, or the first is named in contrast.
        """
        if self.share < SUBJECT_SHARE:
            return False
        own = {word.key for word in self.part}
        moved = {word.key for _, word in self.aligned.shared}
        elsewhere = {word.key for word in self.newer.words} - own
        return self.shared_words >= SAME_EVENT_WORDS or not self.subjects[0].isdisjoint(moved | elsewhere)

    def _has_another_value(self) -> bool:
        """Tell whether a value stands where the other has one that excludes it."""
        if self.share < VALUE_SHARE:
            return False
        slots = [slot for slot in self.aligned.slots if slot.narrow or self.share >= WIDE_VALUE_SHARE]
        return any(slot.excludes_always if self._collects(slot) else slot.excludes for slot in slots)

    def _turns_to_the_opposite(self) -> bool:
        """Tell whether the same person does the opposite: "enjoys ..." and "dislikes ..."."""
        verbs = [next((word for word in words if word.kind is not Kind.NAME), None) for words in self._both]
        return self.same_name and None not in verbs and are_opposites(*(word.key for word in verbs if word))

    def _names_others(self) -> bool:
        """Tell whether each names someone whom the other does not, in words that are otherwise much the same."""
        if self.share < NAMES_SHARE:
            return False
        return all(
            any(word.kind is Kind.NAME for word in words) for words in (self.aligned.missing(), self.aligned.added())
        )

    def _is_limited(self) -> bool:
        """Tell whether the newer statement says "only" and leaves out a value that the older one has."""
        return (
            self.newer.limits
            and self.same_name
            and self.shared_words > 0
            and any(is_value(word) for word in self.aligned.missing())
        )

    def _goes_on_otherwise(self) -> bool:
        """Tell whether both begin with the same name and words, and go on with something else."""
        if not self.same_name or not self.aligned.slots:
            return False
        alike = 0
        for word, other in zip(*self._both, strict=False):
            if not mean_the_same(word, other):
                break
            alike += 1
        alike -= len(self.subjects[0])
        return alike >= FRAME_WORDS or (alike > 0 and self.cosine >= FRAME_COSINE)

    def _is_worded_otherwise(self) -> bool:
        """Tell whether near-equal statements about the same have different words in one place."""
        least = NAMED_WORDING_SHARE if self.same_name else WORDING_SHARE
        if self.subjects[0] != self.subjects[1] or self.share < least or self.cosine < WORDING_COSINE:
            return False
        return bool(self.aligned.slots) or bool(self.aligned.only_older and self.aligned.only_newer)

    def _collects(self, slot: Slot) -> bool:
        """Tell whether a slot holds one of the things that may hold at once: what someone likes, or has seen."""
        return collected_word(self.older.words) is slot.older[0]

    @property
    def _both(self) -> tuple[tuple[Word, ...], tuple[Word, ...]]:
        return self.older.words, self.part


def _manner(reading: Reading) -> tuple[object, ...]:
    """Say how a text states what it states: asking, denying, as possible, by whom; "we" may be left out."""
    persons = [person for person in reading.persons if person != "we"]
    return reading.asks, reading.negations, reading.stances, persons, reading.marks


def _values(reading: Reading) -> tuple[Counter[str], set[str]]:
    """Collect the numbers of a text, and the other values that it has."""
    values = [word for word in reading.words if is_value(word)]
    return Counter(word.key for word in values if word.kind is Kind.NUMBER), {word.key for word in values}


def _turned(first: Sequence[str], second: Sequence[str]) -> bool:
    """Tell whether one text is the other with its end moved to the front, as in "On Fridays we deploy"."""
    doubled = [*first, *first]
    return any(doubled[start : start + len(first)] == list(second) for start in range(len(first) or 1))
