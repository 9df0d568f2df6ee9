"""Ask the same in other words, by rule: no model is involved, and nothing of the answer gets in."""

import re

# Question words by what says the same; the first that a question begins with is replaced.
OPENINGS = (
    ("how many times", "how often"),
    ("how long", "for what length of time"),
    ("how often", "how many times"),
    ("how many", "what number of"),
    ("how did", "in what way did"),
    ("how does", "in what way does"),
    ("what kind of", "which sort of"),
    ("what type of", "which kind of"),
    ("what did", "which thing did"),
    ("what does", "which thing does"),
    ("what is", "tell me what is"),
    ("what are", "tell me what are"),
    ("what", "which"),
    ("which", "what"),
    ("when", "at what time"),
    ("where", "in which place"),
    ("who", "which person"),
    ("why", "for what reason"),
)
SMALL_WORDS = (
    ("'s been", " has been"),
    (" during ", " in the course of "),
    (" after ", " following "),
    (" the ", " that "),
)
TAIL = re.compile(r"^(?P<head>.+?) (?P<tail>(?:in|on|at|during|after|before|from|for|with|about) [^?]+)\?$")


def paraphrase(question: str) -> str:
    """Replace the question word, move a last phrase to the front, and change one small word."""
    text = question.strip()
    lowered = text[:1].lower() + text[1:]
    for opening, other in OPENINGS:
        if lowered.lower().startswith(opening + " "):
            lowered = other + lowered[len(opening) :]
            break
    for word, other in SMALL_WORDS:
        if word in lowered:
            lowered = lowered.replace(word, other, 1)
            break
    if match := TAIL.match(lowered):
        lowered = f"{match['tail']}, {match['head']}?"
    return lowered[:1].upper() + lowered[1:]
