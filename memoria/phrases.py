"""Tell whether a phrase stands in a text, word by word, by the stems of words.

`art` stands in "the arts" and not in "start"; `e-mail` in "emails", and the other way round. A phrase of a script
without spaces (Chinese, Japanese, Thai ...) stands wherever its characters do: nothing says where words end.
"""

from collections.abc import Iterable, Sequence
from functools import lru_cache

from memoria.lexical import Word, latin_language, words


class Spoken:
    """Be a text whose words can be looked up."""

    def __init__(self, text: str) -> None:
        self._ways: dict[
            int, list[tuple[tuple[str, ...], int]]
        ] = {}  # from a place: the forms, and the place after them
        self._places: dict[str, list[int]] = {}  # of a form: where it begins
        self._language = latin_language(text)
        place = 0
        for word in words(text, self._language):
            if word.whole:
                self._add(place, word.whole, place + len(word.parts))
            for number, forms in enumerate(word.parts):
                self._add(place + number, forms, place + number + 1)
            place += len(word.parts)

    def holds(self, phrase: str) -> bool:
        """Say whether the words of a phrase stand here, one after the other."""
        sought = read_phrase(phrase, self._language)
        places = self._beginnings(sought[0]) if sought else set()
        for word in sought:
            places = {end for place in places for end in self._ends(place, word)}
        return bool(places)

    def _add(self, place: int, forms: tuple[str, ...], end: int) -> None:
        self._ways.setdefault(place, []).append((forms, end))
        for form in forms:
            self._places.setdefault(form, []).append(place)

    def _beginnings(self, word: Word) -> set[int]:
        return {place for form in (*word.parts[0], *word.whole) for place in self._places.get(form, ())}

    def _ends(self, place: int, word: Word) -> set[int]:
        """Find where a word that begins at a place may end: read part by part, or as one."""
        ends = self._after({place}, word.whole) if word.whole else set()
        places = {place}
        for forms in word.parts:
            places = self._after(places, forms)
        return ends | places

    def _after(self, places: Iterable[int], forms: Sequence[str]) -> set[int]:
        return {
            end for place in places for known, end in self._ways.get(place, ()) if any(form in known for form in forms)
        }


@lru_cache(maxsize=16_384)
def read_phrase(phrase: str, language: str = "english") -> tuple[Word, ...]:
    """Read the words of a phrase by the stems of a language: a few words do not tell their own.

    There are none in mere punctuation.
    """
    return tuple(words(phrase, language))
