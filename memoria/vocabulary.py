"""Name the engine's enums, limits and constants, each with one line on what it does.

Constants marked *fixed* are promised in the product's documentation; the others were chosen by measurement
(`benchmarks/`) and may move with it.
"""

from enum import StrEnum


class MemoryType(StrEnum):
    """Say what kind of thing a memory is."""

    EPISODIC = "Episodic"
    SEMANTIC = "Semantic"
    PROCEDURAL = "Procedural"
    PROSPECTIVE = "Prospective"
    CODE = "Code"


class Tier(StrEnum):
    """Say how long a memory is retained."""

    BUFFER = "Buffer"
    EPISODIC = "Episodic"
    SEMANTIC = "Semantic"
    CORE = "Core"


class MemoryState(StrEnum):
    """Say whether a memory takes part in recall."""

    ACTIVE = "active"
    QUARANTINED = "quarantined"
    ARCHIVED = "archived"
    SUPERSEDED = "superseded"


class Source(StrEnum):
    """Say where a memory came from; `system` is set by the service alone."""

    AGENT = "agent"
    HUMAN = "human"
    CRAWL = "crawl"
    SYSTEM = "system"


class EdgeType(StrEnum):
    """Say what ties two memories."""

    CAUSAL = "Causal"
    SEMANTIC = "Semantic"
    PART_OF = "PartOf"
    CO_RETRIEVAL = "CoRetrieval"
    TEMPORAL = "Temporal"
    SUPERSEDES = "Supersedes"
    CONTRADICTS = "Contradicts"


class Intent(StrEnum):
    """Say what a query asks for."""

    FACTUAL = "factual"
    TEMPORAL = "temporal"
    CAUSAL = "causal"
    PROCEDURAL = "procedural"
    GENERAL = "general"


class Granularity(StrEnum):
    """Say how exact a time is that a query names; an event is as exact as the memory of it."""

    HOUR = "hour"
    DAY = "day"
    WEEK = "week"
    MONTH = "month"
    SEASON = "season"
    YEAR = "year"
    EVENT = "event"


class Confidence(StrEnum):
    """Say how far the answer of a recall can be trusted; None is an empty answer."""

    HIGH = "High"
    MODERATE = "Moderate"
    LOW = "Low"
    NONE = "None"


class Intervention(StrEnum):
    """Say what a recall did about a query that found hardly anything, or too much."""

    NONE = "none"
    BROADENED = "broadened"
    NARROWED = "narrowed"
    EMPTY = "empty"


class ContextMode(StrEnum):
    """Say what kind of knowledge a namespace holds."""

    ORGANIZATIONAL = "organizational"
    SUPPORT = "support"
    RESEARCH = "research"
    PERSONAL = "personal"
    CODE = "code"
    GENERAL = "general"


class Scope(StrEnum):
    """Say what a key may do."""

    READ = "read"
    WRITE = "write"
    ADMIN = "admin"
    REVEAL = "reveal"


class JobKind(StrEnum):
    """Say what a background job does."""

    CONSOLIDATE = "consolidate"
    REEMBED = "reembed"
    DECAY = "decay"
    ERASE = "erase"
    ERASE_ORGANIZATION = "erase_organization"


class Detector(StrEnum):
    """Name what consolidation looks for."""

    REPETITION = "repetition"
    CO_ACCESS = "co_access"
    BURST = "burst"
    CONTRADICTION = "contradiction"


class JobState(StrEnum):
    """Say where a background job stands; the last three are final, until an operator retries a dead one."""

    QUEUED = "queued"
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    DEAD = "dead"
    CANCELLED = "cancelled"


class TriggerType(StrEnum):
    """Say what an intention waits for."""

    KEYWORD = "Keyword"
    TIME = "Time"
    SEMANTIC = "Semantic"
    EVENT = "Event"


class IntentionStatus(StrEnum):
    """Say where an intention stands; the first two are open."""

    PENDING = "pending"
    TRIGGERED = "triggered"
    COMPLETED = "completed"
    CANCELLED = "cancelled"
    EXPIRED = "expired"


# Limits of one memory: what does not fit is refused, never cut.
MAX_CONTENT_BYTES = 64 * 1024  # UTF-8 bytes of content
MAX_TITLE_CHARACTERS = 300
MAX_TAGS = 50
MAX_TAG_CHARACTERS = 50
MAX_CATEGORY_CHARACTERS = 100
MAX_METADATA_BYTES = 16 * 1024  # of its compact JSON
MAX_METADATA_DEPTH = 100  # objects and arrays inside each other: readers of JSON give up somewhere
MAX_URL_CHARACTERS = 2048
MAX_RELATED_URLS = 50
MAX_PROJECT_CHARACTERS = 200
MAX_CONTEXT_PAIRS = 32
MAX_CONTEXT_KEY_CHARACTERS = 100
MAX_CONTEXT_VALUE_CHARACTERS = 500
MAX_NAMESPACE_CHARACTERS = 200

# Limits of one call.
MAX_BATCH_MEMORIES = 500
MAX_BATCH_QUERIES = 50
MAX_RECALL_LIMIT = 100
MAX_PAGE_LIMIT = 200
MAX_FORGET_IDS = 1000
MAX_SEARCH_RANK = 1000  # how deep a search's cursor goes
MIN_CHUNK_TOKENS = 20  # a smaller chunk says nothing by itself
MAX_CHUNK_TOKENS = 8192
MIN_CONTEXT_TOKENS = 64  # the notice and one short memory
MAX_CONTEXT_TOKENS = 200_000
IDEMPOTENCY_HOURS = 24  # how long a repeated key gets the first answer

# Transfer.
TRANSFER_FORMAT = 1  # of the lines that an export writes and an import reads
EXPORT_PAGE = 100  # memories read at once
IMPORT_BATCH = 200  # lines stored in one transaction ...
IMPORT_BATCH_CHARACTERS = 1_000_000  # ... unless their texts are longer than this together
MAX_LINE_BYTES = 4 * 1024 * 1024  # of one line of an import
CLOCKS_APART_SECONDS = 300.0  # of the server that exported and the one that imports
MAX_REFUSALS_TOLD = 100  # refused lines, and mapped ids, that the answer of an import lists
INLINE_ERASURE = 2000  # memories of a namespace that are erased while the caller waits; more are left to a job

# Jobs.
JOB_DAYS = 30  # how long a job that has ended can be read
MAX_JOB_FAILURES = 10  # failed attempts before a job is given up: about three hours of trying
RETRY_SECONDS = 30.0  # pause after the first failure; twice as long after each further one
MAX_RETRY_SECONDS = 3600.0  # ... but never longer
HEARTBEAT_SECONDS = 8.0  # how often a worker says that a job is alive
SILENCE_SECONDS = 30.0  # after which another takes the job over

# Encoding.
DEFAULT_CONFIDENCE = 0.8
INITIAL_UTILITY = 0.5
DEFAULT_SALIENCE = 0.3  # fixed: with no signal
NOVELTY_MIN_MEMORIES = 20  # novelty is a signal only in a namespace that holds as many
NOVELTY_FLOOR = 0.7  # ... and only above this distance, rescaled from here to 1
CONSEQUENCE_SALIENCE = 0.9  # of a text that holds a high-stakes word
SALIENCE_NUDGE = 0.1  # how much the quieter signals lift the loudest
FIRST_TIER_SALIENCE = 0.5  # from here on a memory starts one tier higher
SEMANTIC_EDGE_COSINE = 0.60  # a neighbour nearer than this gets a Semantic edge
SEMANTIC_EDGE_LIMIT = 5  # ... and at most so many
STATED_CAUSE_WEIGHT = 0.8  # of the Causal edge where a text states its cause
TEMPORAL_EDGE_MINUTES = 30  # without a session, the previous memory within so long
CONTEXT_TOKENS = 4096  # default budget of a context
CHUNK_TOKENS = 400  # default size of a chunk

# Vectors.
EXACT_SCAN_ROWS = 5000  # up to so many vectors a scan beats the index, and loses nothing

# Recall: seeds.
BM25_K1 = 1.2  # fixed: how fast a repeated term saturates
BM25_B = 0.75  # fixed: how much the terms of a long memory count for less
LEXICAL_DISCOUNT = 0.8  # fixed: what the lexical score counts for beside the cosine
SEEDS_PER_LIST = 50  # best by cosine and best by BM25; a seed gets both scores

# Recall: spreading activation. An edge passes on weight x decay of its type.
MAX_HOPS = 3  # fixed: waves outward from the seeds
WAVE_NODES = 64  # the strongest nodes of a wave that light the next one
MAX_CANDIDATES = 256  # seeds and reached memories that are scored
EDGES_PER_NODE = 64  # heaviest edges of a memory that a wave crosses, a direction: a hub does not flood the graph
ACTIVATION_FLOOR = 0.05  # a weaker impulse is not passed on
EDGE_DECAY = {
    EdgeType.CAUSAL: 0.80,  # fixed
    EdgeType.SEMANTIC: 0.70,
    EdgeType.PART_OF: 0.65,
    EdgeType.CO_RETRIEVAL: 0.60,
    EdgeType.TEMPORAL: 0.50,
    EdgeType.SUPERSEDES: 0.40,
    EdgeType.CONTRADICTS: 0.30,  # fixed
}
SEMANTIC_GAIN = 0.5  # what all Semantic edges of a memory pass on together, shared among them: likeness floods
CO_RETRIEVAL_SHARE = 0.4  # most that all CoRetrieval edges of a memory weigh together: what is popular floods, too
INTENT_BOOST = 1.2  # for the edge type that answers the query's intent; an edge never passes on more than it got
INTENT_EDGE = {Intent.CAUSAL: EdgeType.CAUSAL, Intent.TEMPORAL: EdgeType.TEMPORAL}
CONVERSATION_MATCH_SHARE = 0.5  # a conversation whose best memories match fully lifts all its candidates by so much
CONVERSATION_BEST = 3  # how many of a conversation's best memories count, as their mean
CONVERSATION_TEXT_SHARE = 0.5  # ... and by so much the one that holds the query's words best, read as one text
CROWDED_FACTOR = 0.97  # for each better result of the same conversation, among the first results
DEEP_RANK = 20  # first results, by score ...
DEEP_CROWDED_FACTOR = 0.8  # ... and behind them
CROWDED_MOST = 10  # better results that count: a namespace of one conversation is not scored down to nothing

# Recall: factors of the score, as exponents or multipliers.
FACTOR_FLOOR = 1e-6  # no factor counts for less
SALIENCE_EXPONENT = 0.05  # of salience / default salience
UTILITY_EXPONENT = 0.2  # of utility / initial utility
SUBSTANCE_EXPONENT = 0.15  # of a turn's length in terms, between the two bounds: greetings match, but say little
SUBSTANCE_MIN_TERMS = 8
SUBSTANCE_MAX_TERMS = 40
TIME_BOOST = 2.0  # for what happened in the time that the query names; nothing counts for less than without it
TIME_FADE_DAYS = {  # so far outside of it half of the boost is left: things are told soon after they happened
    Granularity.HOUR: 0.1,
    Granularity.DAY: 0.5,
    Granularity.WEEK: 1.5,
    Granularity.MONTH: 3.0,
    Granularity.SEASON: 10.0,
    Granularity.YEAR: 30.0,
    Granularity.EVENT: 0.5,
}
TIME_ALONE_BOOST = 4.0  # ... where the query names nothing else: "what happened last week?"
TIME_ALONE_SEED = 0.5  # activation that what happened then starts with at the least, where nothing else is named
TIMED_SEEDS = 20  # nearest of what happened in that time, which are candidates however many others are nearer
TIMED_COMPARED = 2000  # latest memories of that time among which they are looked for: a longer time excludes little
EVENT_LEAD = 1.25  # times the next best score: only so clear a memory is the event of "before the migration" ...
EVENT_DAYS = 2  # ... unless what scores like it is of the same days
EVENT_RIVALS = 10  # more memories than this that score like it, and there is no clear one
UNNAMED_FACTOR = 0.8  # for what others said, where the query names the author of some candidate
AUTHOR_MIN_MEMORIES = 3  # candidates that must share an author, before a name in the query counts
RECENCY_EXPONENT = 0.1  # of freshness, times the intent's weight: days reorder equals, not good and bad matches
INTENT_RECENCY = {
    Intent.FACTUAL: 0.1,
    Intent.TEMPORAL: 1.5,
    Intent.CAUSAL: 0.3,
    Intent.PROCEDURAL: 0.1,
    Intent.GENERAL: 1.0,
}
TIER_HALF_LIFE_DAYS = {Tier.BUFFER: 7.0, Tier.EPISODIC: 30.0, Tier.SEMANTIC: 180.0, Tier.CORE: 365.0}
TIER_BOOST = {Tier.SEMANTIC: 1.1, Tier.CORE: 1.25}  # others 1
FACTUAL_TIER_BOOST = {Tier.SEMANTIC: 1.5, Tier.CORE: 2.0}  # fixed; others 1
ANTI_BIAS_RATE = 0.1  # how fast recalls that were not useful count against a memory
USEFUL_RECALLS = 3  # recalls that one useful mark makes up for
ANTI_BIAS_FLOOR = 0.7
SUPERSEDED_FACTOR = 0.05  # fixed
CONTRADICTED_FACTOR = 0.3  # fixed: contradicted by a newer memory

# Recall: how far to trust the answer (metacognition). Cosines are those of the bundled model.
KIN_COSINE = 0.35  # where likeness begins to speak for an answer ...
LIKE_COSINE = 0.75  # ... and where more of it says no more
BACKGROUND_RANK = 20  # seeds before the one whose cosine counts as what anything has with this query
BACKGROUND_COSINE = 0.35  # that of a namespace too small to have such a seed
WIDE_GAP = 0.3  # above the background: a match that stands out fully
MARGIN_RESULTS = 10  # results whose mean score the first one is compared with
CLEAR_MARGIN = 1.6  # times that mean: a first result that stands out fully
LOW_CONFIDENCE = 0.34  # evidence, 0-1, below which an answer is Low
HIGH_CONFIDENCE = 0.64  # ... and from which it is High
EMPTY_COSINE = 0.15  # below it nothing is like the query, and where no telling word matches either, nothing is answered
EMPTY_COVERAGE = 0.2  # share of the query's weight in words that one result must hold to be an answer all the same
STRONG_COSINE = 0.5  # a seed so like the query, or holding so much of its words, is a strong one
STRONG_COVERAGE = 0.5
FEW_SEEDS = 3  # with fewer matches among the seeds, spreading is broadened
MANY_SEEDS = 40  # with more strong ones it is narrowed
BROADENED_FLOOR = 0.5  # times the activation floor, and twice as many nodes a wave
NARROWED_FLOOR = 2.0  # times the activation floor
REQUERY_COSINE = 0.85  # a query so like an earlier one asks the same again
REQUERY_SECONDS = 120  # ... if it comes so soon after it

# Recall by page.
PAGE_BOOST = 2.0  # score of a memory bound to the very page that was asked for
SITE_BOOST = 1.4  # ... or to another page of its site
SITE_SEED = 0.5  # activation of the site's memories in a recall without a query; the page's own start at 1

# Learning from recalls.
CO_RETRIEVAL_RESULTS = 5  # the best results of a recall are joined in pairs
CO_RETRIEVAL_GAIN = 0.05  # of what their edge lacks to 1, each time
RECALL_KEPT_DAYS = 30  # how long feedback may refer to a recall
UTILITY_RATE = 0.2  # fixed: of the prediction error, that utility moves by
SURPRISE = 0.5  # fixed: a greater prediction error moves salience too
SALIENCE_RATE = 0.1  # fixed: ... by so much of it
EDGE_RATE = 0.1  # fixed: of the prediction error, that the last edge of the path moves by
EDGE_REWARD_DECAY = 0.5  # fixed: each edge further from the memory moves by so much of the one before
LEARNED_LEAST = 0.01  # feedback drives utility, salience and weights no lower ...
LEARNED_MOST = 0.99  # ... and utility and salience no higher: nothing becomes certain for good
SIMILAR_QUERY_COSINE = 0.85  # fixed: from here on two queries ask the same
DAMPENING_STEP = 0.5  # fixed: what a memory's score keeps per step, for queries like those it did not help with
DAMPENING_FLOOR = 0.1  # fixed: ... and at the least
DAMPENING_MARKS = 5  # most unhelpful marks that count: more would only make the way back longer
CLIENT_EDGE_TYPES = (EdgeType.CAUSAL, EdgeType.SEMANTIC, EdgeType.TEMPORAL, EdgeType.CONTRADICTS)

# Tiers: what a memory must have for the next tier, and what takes it to the one below.
RISE_SALIENCE = {
    Tier.BUFFER: 0.5,
    Tier.EPISODIC: 0.6,
    Tier.SEMANTIC: 0.85,
}  # at least; from Buffer this alone is enough
RISE_ACCESSES = {Tier.BUFFER: 2, Tier.EPISODIC: 5, Tier.SEMANTIC: 15}  # at least; from Buffer they alone are enough
RISE_UTILITY = {Tier.BUFFER: 0.0, Tier.EPISODIC: 0.0, Tier.SEMANTIC: 0.6}  # at least
FALL_IDLE_DAYS = {Tier.EPISODIC: 60.0, Tier.SEMANTIC: 365.0, Tier.CORE: 730.0}  # more than; in step with the half-life
FALL_SALIENCE = {Tier.EPISODIC: 0.3, Tier.SEMANTIC: 0.4, Tier.CORE: 0.5}  # less than
PRUNE_THRESHOLD = 0.05  # a memory in Buffer whose retention is less is archived, unless its policy says otherwise
EXEMPT_CONFIDENCE = 0.9  # from here on a memory never moves down or out
MOVE_REST_DAYS = 1  # how long a memory stays in a tier that it has moved into, before it moves down or out
EXPIRED_GRACE_DAYS = 30  # how long an expired memory is kept, hidden, before it is deleted

# Limits of a policy.
MIN_HALF_LIFE_DAYS = 0.01
MAX_POLICY_DAYS = 36_500  # a hundred years, for half-lives and for keeping what is archived
MAX_PRUNE_THRESHOLD = 0.99
MAX_POLICY_MEMORIES = 1_000_000_000

# Contradiction: chosen on `benchmarks/updates` and on what ordinary conversations would flag.
SUBJECT_COSINE = 0.45  # less alike than this, two statements are about different things
CONTRADICTION_CHARACTERS = 500  # a longer text is a document, not a statement
MERGED_CHARACTERS = 1_000  # longer texts are never merged, whatever they say
COMPARED_WORDS = 150  # of more words, or with one so often, or of so many clauses, a text is no statement
COMPARED_REPEATS = 12
COMPARED_CLAUSES = 12
OLDER_SENTENCES = 2  # of more sentences, one that no longer holds does not make the rest stale
NEWER_SENTENCES = 4
DENIED_SHARE = 0.3  # one denies what the other says
VALUE_SHARE = 0.3  # a value stands in the place of another
WIDE_VALUE_SHARE = 0.5  # ... also among many other words
NARROW_SLOT_WORDS = 3  # ... than so many
SUBJECT_SHARE = 0.4  # the same is said of another
SAME_EVENT_WORDS = 4  # words besides names that tell one event, which did not happen to both
SUPPOSED_COSINE = 0.6  # what is known takes the place of what was supposed of the same name
NAMES_SHARE = 0.5  # each names someone whom the other does not
FRAME_WORDS = 2  # words besides the name that two statements begin with, before they go on with something else
FRAME_COSINE = 0.6  # ... from which on one such word is enough
WORDING_SHARE = 0.6  # plain words differ in one place
NAMED_WORDING_SHARE = 0.4  # ... of two statements that begin with the same name
WORDING_COSINE = 0.7  # ... of texts so like each other

# Consolidation.
CONSOLIDATION_HOURS = 24  # default window, and how often a schedule consolidates
MAX_CONSOLIDATION_HOURS = 24 * 366 * 10
CONSOLIDATE_AT_ONCE = 2000  # a call may wait for a window of so many memories; a larger one is a job's
REPETITION_COSINE = 0.92  # fixed: every two members of a summary are at least as near as this
REPETITION_MEMBERS = 3  # fixed: fewer are no repetition
SUMMARY_MOST_MEMBERS = 200  # a summary that has so many takes no more
NEAR_IDENTICAL_COSINE = 0.85  # fixed: two memories as near as this whose values differ contradict each other
CONSOLIDATION_NEIGHBORS = 32  # nearest that each memory of the window is compared with
SUMMARY_CHARACTERS = 1200  # a summary grows no longer by what its members add to each other
SUMMARY_NEW_SHARE = 0.4  # of a sentence's words, that must be new for it to add something
CO_ACCESS_TIMES = 3  # fixed: pairs recalled together as often are joined more strongly
CO_ACCESS_GAIN = 0.15  # of what their edge lacks to 1, for each time
BURST_MINUTES = 10  # fixed: memories of one conversation within so long are an episode
BURST_MEMBERS = 3  # fixed: fewer are none
BURST_MOST_MEMBERS = 50  # a longer burst makes several episodes; without a conversation it is an import, and none
EPISODE_EDGE_WEIGHT = 0.1  # of the edges from members to their episode: heavier ones flood recall (benchmarks)
EPISODE_SENTENCES = 5  # most sentences that an episode quotes
EPISODE_CHARACTERS = 600  # ... and most characters
EPISODE_TITLE_CHARACTERS = 120

# Prospective memory.
DEFAULT_PRIORITY = 0.5
MAX_INTENTION_CHARACTERS = 4000  # of content
MAX_OPEN_INTENTIONS = 1000  # pending and triggered ones of a namespace: each recall there may have to look at them
MAX_KEYWORDS = 50  # in `any`, and in `all`
MAX_KEYWORD_CHARACTERS = 200
MAX_TRIGGER_TEXT_CHARACTERS = 2000
MAX_EVENT_CHARACTERS = 200
TRIGGER_THRESHOLD = 0.75  # fixed: cosine from which a text means what a trigger says, unless the trigger has its own
MIN_THRESHOLD = 0.3  # anything is as like as this
MAX_THRESHOLD = 0.99  # stored vectors are rounded: not even the same text is always nearer
MAX_EVERY_CHARACTERS = 300
MIN_EVERY_SECONDS = 60
MAX_EVERY_YEARS = 100
PAST_YEARS = 10  # how long ago a recurrence may have begun: its occurrences are counted from there
TRIGGER_YEARS = 100  # how far ahead a trigger may lie
MAX_CHECK_DAYS = 366  # how far from the engine's own clock the time of a check may be
CHECK_INTENTIONS = 100  # most that one check answers; the others stay for the next one
RECALL_INTENTIONS = 10  # most that one recall answers
