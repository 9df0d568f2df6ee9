"""Tell by rule what a query asks for, and whom it names."""

import re
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence

from memoria.vocabulary import AUTHOR_MIN_MEMORIES, Intent

# In the order they are tried: a question for the latest state, a cause or a procedure is also a question.
_RULES: tuple[tuple[Intent, re.Pattern[str]], ...] = tuple(
    (intent, re.compile(rf"(?<!\w)(?:{words})(?!\w)", re.IGNORECASE))
    for intent, words in (
        (
            Intent.CAUSAL,
            r"why|how come|because of|what caused|causes?|caused by|reasons?|root cause|led to|due to|warum|wieso|"
            r"weshalb|pourquoi|por qué|perché|почему|зачем|למה|מדוע|لماذا|为什么|なぜ|どうして",
        ),
        (
            Intent.PROCEDURAL,
            r"how (?:to|do (?:i|we|you|they)|can (?:i|we|you)|should (?:i|we|you))|steps? (?:to|for)|procedure|"
            r"instructions?|wie (?:kann|mache|macht) (?:ich|man)|comment (?:faire|puis-je)|cómo (?:puedo|se)|"
            r"как (?:сделать|мне)|איך|怎么|如何",
        ),
        (
            Intent.TEMPORAL,
            r"latest|newest|most recent(?:ly)?|recent(?:ly)?|currently|current|right now|nowadays|today|yesterday|"
            r"th(?:is|ese) (?:week|month|morning|days)|last (?:week|time|night)|aktuell|zuletzt|neueste[nrs]?|heute|"
            r"gestern|récemment|actuellement|aujourd'hui|últimamente|actualmente|hoy|ayer|"
            r"сейчас|сегодня|вчера|недавно|עכשיו|כרגע|היום|אתמול|לאחרונה|最近|今天|昨天",
        ),
        (
            Intent.FACTUAL,
            r"who|whom|whose|what|which|when|where|how (?:many|much|long|old|often|far)|wer|was|welche[rsmn]?|wann|wo|"
            r"wie viele?|qui|quoi|quels?|quelles?|quand|où|combien|quién|qué|cuál|cuándo|dónde|cuántos?|cuántas?|"
            r"кто|что|какой|какая|какие|когда|где|сколько|מי|מה|איזה|איזו|מתי|איפה|היכן|כמה",
        ),
    )
)
_YES_NO = re.compile(
    r"^\W*(?:is|are|was|were|do|does|did|has|have|had|can|could|will|would|should|האם)\b", re.IGNORECASE
)
_SENTENCE_END = re.compile(r"[.!?\n](?=\s*\w)(?<!\b\w\.)|[。！？](?=.)")
_AUTHOR = re.compile(r"^[^\W\d_][\w .'\u2019-]{1,39}?(?=:\s)")
AUTHOR_KEYS = ("speaker", "author", "name", "user_name", "sender", "from")
_NAME = re.compile(r"\w+")


def intent_of(query: str) -> Intent:
    """Classify a query by its words; several sentences are a message, which is general."""
    text = unicodedata.normalize("NFKC", query).strip()
    if _SENTENCE_END.search(text):
        return Intent.GENERAL
    asks = text.endswith("?") or bool(_YES_NO.match(text))
    for intent, pattern in _RULES:
        found = pattern.search(text)
        if found and (intent is not Intent.FACTUAL or asks or found.start() == 0):
            return intent
    return Intent.FACTUAL if asks else Intent.GENERAL


def author_of(content: str, context: Mapping[str, str]) -> str | None:
    """Name who said a memory: a context value such as `speaker`, else the `Name: ` that its content begins with."""
    said_by = next(filter(None, map(context.get, AUTHOR_KEYS)), None) if context else None
    if said_by:
        return said_by
    opening = content[:48]
    prefix = _AUTHOR.match(opening) if ":" in opening else None
    return prefix.group() if prefix else None


def named_authors(query: str, authors: Sequence[str | None]) -> list[bool]:
    """Tell of each candidate's author whether the query names them, by a word of three letters or more.

    An author of fewer than `AUTHOR_MIN_MEMORIES` candidates is none: what stands before a colon may be a heading.
    """
    words = {word for word in _NAME.findall(unicodedata.normalize("NFKC", query).casefold()) if len(word) > 2}
    named = {
        author
        for author, count in Counter(author for author in authors if author).items()
        if count >= AUTHOR_MIN_MEMORIES and words.intersection(_NAME.findall(author.casefold()))
    }
    return [author in named for author in authors]
