"""Tell whether a phrase stands in a text, word by word, by the stems of words.

`art` stands in "the arts" and not in "start"; `e-mail` in "emails", and the other way round. A phrase of a script
without spaces (Chinese, Japanese, Thai ...) stands wherever its characters do: nothing says where words end.
"""

from collections.abc import Sequence

from memoria.lexical import Word, latin_language, words


class Spoken:
    """Be a text whose words can be looked up."""

    def __init__(self, text: str) -> None:
        self._ends: dict[str, dict[int, list[int]]] = {}  # of a form: where it begins, and the places after it
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
        sought = []
        for word in words(phrase, self._language):
            # A word that stands nowhere settles it, before others are read or their places walked.
            if not any(form in self._ends for form in (*word.parts[0], *word.whole)):
                return False
            sought.append(word)
        if not sought:
            return False
        places = {place for form in (*sought[0].parts[0], *sought[0].whole) for place in self._ends.get(form, ())}
        for word in sought:
            places = self._after_word(places, word)
            if not places:
                return False
        return True

    def _add(self, place: int, forms: tuple[str, ...], end: int) -> None:
        for form in forms:
            self._ends.setdefault(form, {}).setdefault(place, []).append(end)

    def _after_word(self, places: set[int], word: Word) -> set[int]:
        """Find where a word that begins at one of the places may end: read part by part, or as one."""
        ends = self._after(places, word.whole)
        for forms in word.parts:
            places = self._after(places, forms)
        return ends | places

    def _after(self, places: set[int], forms: Sequence[str]) -> set[int]:
        ends: set[int] = set()
        for form in forms:
            known = self._ends.get(form, {})
            for place in known.keys() & places:
                ends.update(known[place])
        return ends


def read_phrase(phrase: str, language: str = "english") -> tuple[Word, ...]:
    """Read the words of a phrase by the stems of a language: a few words do not tell their own.

    There are none in mere punctuation.
    """
    return tuple(words(phrase, language))
