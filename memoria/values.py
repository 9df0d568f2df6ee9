"""List the words that carry values: numbers, days, colours, opposites, negations, synonyms, and phrases of change.

The lists are general vocabulary, one line a kind. A kind is a set of words that exclude each other.
"""

import re


def _words(text: str) -> list[str]:
    return text.split()


_UNITS = _words(
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
    "seventeen eighteen nineteen"
)
_TENS = _words("twenty thirty forty fifty sixty seventy eighty ninety")
_ORDINALS = _words(
    "zeroth first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth "
    "fourteenth fifteenth sixteenth seventeenth eighteenth nineteenth"
)
_ROUND_ORDINALS = _words("twentieth thirtieth fortieth fiftieth sixtieth seventieth eightieth ninetieth")

_NUMBERS = {
    **{word: str(value) for value, word in enumerate(_UNITS)},
    **{word: str(10 * value) for value, word in enumerate(_TENS, 2)},
    **{word: f"{value}." for value, word in enumerate(_ORDINALS)},
    **{word: f"{10 * value}." for value, word in enumerate(_ROUND_ORDINALS, 2)},
    "hundred": "100",
    "thousand": "1000",
    "million": "1000000",
    "billion": "1000000000",
    "dozen": "12",
    "once": "1x",
    "twice": "2x",
    "thrice": "3x",
    "half": "1/2",
}
_FIGURES = re.compile(r"[0-9][0-9.,:/-]*(?P<ordinal>st|nd|rd|th)?(?P<unit>[a-z]*)")

KINDS = {
    "weekday": "monday tuesday wednesday thursday friday saturday sunday",
    "month": "january february march april june july august september october november december",
    "season": "spring summer autumn fall winter",
    "time of day": "morning noon afternoon evening night midnight dawn dusk",
    "colour": "red blue green yellow orange purple violet pink brown black white grey gray beige cyan magenta "
    "turquoise gold silver maroon navy teal tan",
    "direction": "north south east west northern southern eastern western northeast northwest southeast southwest",
    "side": "left right",
    "frequency": "hourly daily weekly biweekly fortnightly monthly quarterly yearly annually",
    "quantity": "all none some both neither either only always never often seldom rarely sometimes usually",
    "degree": "minimum maximum",
    "state": "on off enabled disabled open closed allowed forbidden required optional up down in out inside outside "
    "above below over under before after with without here there",
    "distance": "near far",
    "weekday in hebrew": "ראשון שני שלישי רביעי חמישי שישי שבת",
    "month in hebrew": "ינואר פברואר מרץ אפריל מאי יוני יולי אוגוסט ספטמבר אוקטובר נובמבר דצמבר",
    "colour in hebrew": "אדום כחול ירוק צהוב שחור לבן סגול ורוד חום אפור כתום",
}
_KIND_OF = {word: kind for kind, words in KINDS.items() for word in words.split()}

NEGATIONS = frozenset(
    _words(
        "not no never none neither nor nobody nothing nowhere without cannot can't won't don't doesn't didn't "
        "isn't aren't wasn't weren't hasn't haven't hadn't shouldn't wouldn't couldn't unable לא אין אינו אינה "
        "בלי אף מעולם"
    )
)

OPPOSITES = frozenset(
    _words("not no never without only except instead almost nearly hardly barely before after until unless")
)
"""Words whose coming or going turns what a statement says."""

FILLERS = frozenset(
    _words(
        "a an the this that these those is are was were be been being am do does did has have had will would can "
        "could i you he she it we they me him her us them my your his its our their and or but of to at for by as "
        "so now currently today please really very just also too well actually basically quite then there's it's"
    )
)

ADDRESSES = frozenset(_words("you your yours you're you've you'll thanks thank hi hey hello okay yeah wow lol"))
"""Words of one who speaks to somebody."""

RESTRICTIONS = frozenset(_words("only exclusively solely instead rather never dislike dislikes avoid avoids avoiding"))
"""Words by which a statement narrows down or turns away what another says of the same person or thing."""

CONTRASTS = frozenset(_words("while whereas but however"))
"""Words that set one thing against another."""

HEDGES = frozenset(_words("may might could maybe perhaps possibly probably presumably apparently supposedly likely"))
"""Words of one who supposes: such a statement yields to a later one about the same."""

GENERAL_WORDS = frozenset(
    _words(
        "vegetable fruit room instrument animal person people thing place food drink vehicle tool colour color number"
    )
)
"""Kinds of things: in the place of one of the kind they contradict nothing."""

PREDICATES = frozenset(
    _words(
        "is are was were be been has have had does do did will would can could should must may might on in at to from "
        "by for with takes runs uses needs costs lasts says retries starts ends lives works"
    )
)
"""Words from which on a statement says something of its subject."""

CHANGE_PHRASES = (
    "now",
    "no longer",
    "not anymore",
    "anymore",
    "any more",
    "instead",
    "from now on",
    "as of",
    "used to",
    "moved to",
    "moved from",
    "switched to",
    "switched from",
    "changed to",
    "changed from",
    "migrated to",
    "migrated from",
    "replaced",
    "replaces",
    "was renamed",
    "stopped",
    "since changed",
    "has become",
    "עכשיו",
    "כעת",
    "כבר לא",
    "במקום",
    "עבר ל",
    "עברנו",
    "החלפנו",
)
"""What a statement says when it tells of a change; compared in small letters, as whole words."""

_SYNONYM_SETS = (
    "big large huge",
    "small little tiny",
    "begin start",
    "end finish",
    "buy purchase",
    "like enjoy love prefer",
    "happy glad pleased delighted joyful cheerful",
    "sad unhappy miserable",
    "quick fast rapid",
    "near close",
    "street road",
    "mother mom mum",
    "father dad",
    "sofa couch",
    "car automobile",
    "child kid",
    "picture photo photograph",
    "help assist",
    "fix repair",
    "error failure",
    "use utilize utilise",
    "show display",
    "delete remove",
    "job work",
    "movie film",
    "phone telephone",
    "bike bicycle",
    "doctor physician",
    "shop store",
    "gift present",
    "trip journey",
    "talk speak",
    "need require",
    "choose select",
    "build construct",
    "answer reply",
    "wrong incorrect",
    "right correct",
    "easy simple",
    "hard difficult",
    "user person",
)
SYNONYMS = {word: words.split()[0] for words in _SYNONYM_SETS for word in words.split()}


def number_of(word: str) -> str | None:
    """Write a number word or figures in one form; None for what is no number. `one` is taken for a pronoun."""
    if word == "one":
        return None
    if found := _NUMBERS.get(word):
        return found
    match = _FIGURES.fullmatch(word)
    if match is None:
        return None
    digits = word[: match.end() - len(match["unit"] or "") - len(match["ordinal"] or "")].rstrip(".,:/-")
    plain = digits.replace(",", "")
    return f"{plain}." if match["ordinal"] else plain + (match["unit"] or "")


def value_class(word: str) -> str | None:
    """Name the kind of exclusive values that a word is of, such as `weekday`; None for other words."""
    return _KIND_OF.get(word) or _KIND_OF.get(word.removesuffix("s"))
