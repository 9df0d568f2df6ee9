"""List words whose values exclude each other, opposites, and words that say the same.

The lists are closed classes and common words of English and Hebrew: what a person would name when asked for colours,
weekdays or opposites. They are used to compare two statements, never to search.
"""

NUMBER_WORDS = {
    word: str(number)
    for number, words in {
        0: "zero none אפס",
        1: "one single אחד אחת",
        2: "two both couple pair twice שניים שתיים שני שתי",
        3: "three thrice שלושה שלוש",
        4: "four ארבעה ארבע",
        5: "five חמישה חמש",
        6: "six שישה שש",
        7: "seven שבעה שבע",
        8: "eight שמונה",
        9: "nine תשעה תשע",
        10: "ten עשרה עשר",
        11: "eleven",
        12: "twelve dozen",
        13: "thirteen",
        14: "fourteen",
        15: "fifteen",
        16: "sixteen",
        17: "seventeen",
        18: "eighteen",
        19: "nineteen",
        20: "twenty עשרים",
        30: "thirty שלושים",
        40: "forty ארבעים",
        50: "fifty חמישים",
        60: "sixty שישים",
        70: "seventy שבעים",
        80: "eighty שמונים",
        90: "ninety תשעים",
        100: "hundred מאה",
        1000: "thousand אלף",
        1_000_000: "million מיליון",
        1_000_000_000: "billion מיליארד",
    }.items()
    for word in words.split()
}
_ORDINALS = (
    "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth fifteenth "
    "sixteenth seventeenth eighteenth nineteenth twentieth"
)
ORDINAL_WORDS = {word: f"{position}." for position, word in enumerate(_ORDINALS.split(), start=1)}

NEGATORS = (
    "not no never neither nor none without cannot nobody nothing nowhere hardly unable לא אין אינו אינה אינם בלי מעולם "
    "nicht kein keine nie pas jamais nunca"
)

# Words of grammar and of talk: they carry no value. Those of the next three lists carry none either, but a text with
# one is not the same as a text with another.
SMALL_WORDS = (
    "because a an the and or but so of at in on by for into onto to with about than then that this these those there "
    "here it its itself is isn am are aren was wasn were weren be been being do does doesn did didn don has hasn haven "
    "had hadn what when where which who whom whose why how let please just also too very any such still already "
    "currently now anymore longer instead rather really quite yes ok okay well oh hey hi hello yeah yep yup nah wow "
    "thanks thank congrats sorry haha lol ll ve re s t d m one's ones we us our ours ourselves they them their theirs "
    "themselves אנחנו שלנו שלהם הם הן עכשיו מעכשיו כעת כיום כבר את של על עם אל זה זו יש היה הייתה גם רק אבל כי"
)
SMALL_STANCES = (
    "if unless until as up from will won would wouldn shall should shouldn can could couldn may might must mustn"
)
STANCES = (
    "was were off out down over under against every all some any each same other another both either own only except "
    "almost nearly barely formerly former ex previously maybe perhaps probably possibly supposedly without "
    "אולי רק כנראה אם כמעט"
)
PLACES = "in on at by for with to into onto about of than ב על אל עם"
HEDGES = "may might could maybe perhaps possibly probably presumably apparently supposedly likely אולי כנראה"
LIMITS = "only exclusively solely רק"
PERSONS = {
    "I": "i me my mine myself אני שלי",
    "you": "you your yours yourself yourselves אתה שלך שלכם",
    "he": "he him his himself הוא שלו",
    "she": "she her hers herself היא שלה",
    "we": "we us our ours ourselves אנחנו שלנו",
    "they": "they them their theirs themselves הם הן שלהם",
}

# Members of one class exclude each other where they stand in the same place. Equal ones share a group: "mon/monday".
CLASSES = {
    "weekday": (
        "monday mon|tuesday tue tues|wednesday wed|thursday thu thur thurs|friday fri|saturday sat|sunday sun|"
        "weekday|weekend|ראשון|שני|שלישי|רביעי|חמישי|שישי|שבת"
    ),
    "month": (
        "january jan|february feb|march|april apr|june|july|august aug|september sep sept|october oct|"
        "november nov|december dec|ינואר|פברואר|מרץ|אפריל|מאי|יוני|יולי|אוגוסט|ספטמבר|אוקטובר|נובמבר|דצמבר"
    ),
    "season": "spring|summer|autumn fall|winter|אביב|קיץ|סתיו|חורף",
    "part of day": "morning|noon midday|afternoon|evening|night|midnight|dawn|dusk|בוקר|צהריים|ערב|לילה",
    "frequency": (
        "hourly|daily|nightly|weekly|fortnightly biweekly|monthly|quarterly|yearly annually annual|always|often|"
        "sometimes occasionally|seldom rarely|never|once"
    ),
    "colour": (
        "red|orange|yellow|green|blue|indigo|violet|purple|pink|brown|black|white|gray grey|silver|gold golden|beige|"
        "turquoise|cyan|magenta|maroon|crimson|navy|teal|אדום|כתום|צהוב|ירוק|כחול|סגול|ורוד|חום|שחור|לבן|אפור"
    ),
    "room": (
        "kitchen|bathroom|bedroom|hallway corridor|garage|attic|basement cellar|classroom|office|lobby|balcony|"
        "garden|dining|living|courtroom|ballroom|library|מטבח|סלון|מרפסת|משרד"
    ),
    "material": (
        "wood wooden|metal|plastic|glass|stone|sand|paper|leather|cotton|wool|silk|steel|iron|aluminum aluminium|"
        "concrete|brick|clay|rubber|copper|bronze|gold|silver|ceramic|linen|denim|marble"
    ),
    "drink": (
        "water|coffee|tea|milk|juice|lemonade|soda cola coke|beer|wine|cider|champagne|whisky whiskey|vodka|gin|rum|"
        "tequila|cocoa|smoothie|קפה|תה|מים|חלב|יין|בירה"
    ),
    "instrument": (
        "piano|guitar|violin|viola|cello|flute|clarinet|oboe|trumpet|trombone|saxophone|drums|harp|accordion|"
        "harmonica|banjo|ukulele|mandolin|tuba|organ|bass|horn"
    ),
    "vegetable": (
        "potato potatoes|carrot|onion|tomato tomatoes|cucumber|pepper|cabbage|lettuce|spinach|celery|pumpkin|eggplant "
        "aubergine|broccoli|garlic|zucchini courgette|bean|pea|corn|radish|beet"
    ),
    "fruit": (
        "apple|pear|banana|grape|orange|lemon|lime|cherry|peach|plum|strawberry|raspberry|blueberry|mango|pineapple|"
        "melon|watermelon|kiwi|apricot"
    ),
    "planet": "mercury|venus|earth|mars|jupiter|saturn|uranus|neptune|pluto",
    "pet": "dog|cat|bird|fish|rabbit|hamster|horse|cow|sheep|goat|pig|chicken|duck|parrot|turtle|snake",
    "marriage": "married|single unmarried|divorced|engaged|widowed|separated|נשוי|רווק|גרוש",
    "diet": "vegetarian|vegan|omnivore|carnivore|pescatarian|צמחוני|טבעוני",
    "kin": "mother mom mum|father dad|brother|sister|son|daughter|uncle|aunt|grandmother grandma|grandfather grandpa",
    "direction": "north northern|south southern|east eastern|west western|צפון|דרום|מזרח|מערב",
    "priority": "low|medium|high|critical|urgent",
    "vehicle": "car automobile|bus|train|tram|subway metro|bicycle bike|motorcycle motorbike|plane airplane|boat|ship",
    "sport": (
        "football soccer|basketball|baseball|tennis|golf|hockey|rugby|cricket|volleyball|swimming|cycling|boxing|"
        "badminton|judo|karate|skiing|surfing"
    ),
    "occupation": (
        "designer|developer programmer|author writer|dancer|actor actress|singer|doctor physician|nurse|teacher|"
        "lawyer attorney|engineer|architect|accountant|chef|dentist|pilot|plumber|electrician|"
        "carpenter|journalist|photographer|painter|sculptor|musician|violinist|pianist|biologist|chemist|"
        "physicist|geologist|astronomer|economist|librarian|pharmacist|surgeon|therapist|veterinarian"
    ),
    "field of study": (
        "biology|chemistry|physics|mathematics math maths|history|geography|economics|law|medicine|philosophy|"
        "psychology|sociology|linguistics|literature|engineering|architecture|astronomy|geology|journalism|statistics"
    ),
    "status": "planned|started begun|paused|blocked|done completed finished|cancelled canceled|rejected|"
    "approved|pending",
}

# Opposites exclude each other: any word left of the slash, any word right of it.
OPPOSITES = (
    "small little tiny short low short-term / big large huge giant tall high great",
    "near close nearby / far distant",
    "inside indoors within / outside outdoors",
    "above over up upstairs / below under beneath down downstairs",
    "hot warm / cold cool chilly",
    "old elderly senior ancient aged / young new modern youthful junior",
    "happy glad joyful cheerful pleased delighted / sad unhappy miserable upset depressed",
    "fast quick rapid / slow",
    "early / late",
    "long / short",
    "wet damp / dry",
    "open opened / closed shut",
    "enabled active activated / disabled inactive deactivated",
    "light bright / dark dim",
    "light lightweight / heavy",
    "rich wealthy / poor",
    "strong / weak",
    "good great excellent / bad terrible awful poor",
    "clean / dirty filthy",
    "empty / full",
    "loud noisy / quiet silent",
    "hard difficult / easy simple",
    "hard firm / soft",
    "thick fat / thin slim skinny",
    "wide broad / narrow",
    "deep / shallow",
    "true correct right valid / false wrong incorrect invalid",
    "left / right",
    "front / back rear",
    "top upper / bottom lower",
    "male man men boy boys husband king prince / female woman women girl girls wife queen princess",
    "alive living / dead deceased",
    "awake / asleep sleeping",
    "full-time / part-time",
    "first / last",
    "before / after",
    "more / less fewer",
    "most / least",
    "all every everyone everybody everything always / none nobody no-one nothing never",
    "many much / few",
    "public / private",
    "allow allowed permit permitted permits allows / forbid forbidden deny denied prohibit prohibited ban banned",
    "love loves like likes enjoy enjoys adore adores / hate hates dislike dislikes detest detests loathe loathes",
    "accept accepts accepted / reject rejects rejected refuse refuses refused decline declines declined",
    "start started begin began / stop stopped end ended finish finished",
    "increase increased rise rose raise raised grow grew / decrease decreased fall fell reduce reduced shrink shrank",
    "win won / lose lost",
    "buy bought / sell sold",
    "arrive arrives arrived come comes came / leave leaves left depart departs departed go goes went",
    "pass passed succeed succeeded / fail failed",
    "present attended / absent missed",
    "safe / dangerous unsafe",
    "healthy / sick ill",
    "possible / impossible",
    "required mandatory compulsory / optional voluntary",
    "online / offline",
    "remote remotely / onsite on-site in-person",
    "free / paid",
    "cheap inexpensive / expensive costly",
    "manual manually / automatic automatically automated",
    "synchronous / asynchronous async",
    "introvert introverted / extrovert extroverted",
    "optimistic / pessimistic",
    "advocate supporter proponent ally / opponent critic adversary",
    "guilty / innocent",
    "permanent / temporary",
    "domestic / foreign international",
    "urban / rural",
    "crowded / deserted",
    "smooth / rough",
    "sharp / blunt dull",
    "beautiful pretty / ugly",
    "brave / cowardly",
    "polite / rude",
    "sweet / sour bitter",
    "raw / cooked",
    "standing / sitting seated",
    "גדול גדולה / קטן קטנה",
    "חם חמה / קר קרה",
    "פתוח פתוחה / סגור סגורה",
    "אוהב אוהבת / שונא שונאת",
    "ישן ישנה / חדש חדשה",
    "יקר יקרה / זול זולה",
    "מותר מותרת / אסור אסורה",
)

# Words of one line say the same, or one says it more broadly.
SYNONYMS = (
    "favourite favorite",
    "colour color",
    "small little tiny miniature petite",
    "big large huge giant enormous great massive gigantic",
    "happy glad joyful cheerful pleased delighted content thrilled merry elated",
    "sad unhappy sorrowful upset miserable",
    "near close nearby beside next by",
    "far distant",
    "fast quick rapid swift speedy",
    "slow sluggish",
    "old elderly aged ancient senior",
    "young youthful",
    "begin start commence",
    "end finish conclude",
    "stop halt cease",
    "buy purchase",
    "car automobile vehicle",
    "street road avenue lane",
    "mother mom mum mommy mama",
    "father dad daddy papa",
    "child kid youngster",
    "child baby toddler infant",
    "man guy gentleman male",
    "woman lady female",
    "boy lad",
    "sofa couch",
    "home house",
    "shop store",
    "movie film",
    "photo picture photograph image",
    "phone telephone cellphone",
    "bike bicycle",
    "plane airplane aircraft",
    "shut close closed",
    "talk speak chat converse",
    "say tell state",
    "walk stroll",
    "run jog sprint",
    "jump leap hop",
    "look watch see view observe",
    "shout yell scream",
    "angry mad furious",
    "afraid scared frightened",
    "tired exhausted weary sleepy",
    "smart clever intelligent bright",
    "beautiful pretty lovely gorgeous attractive",
    "rich wealthy affluent",
    "hard difficult tough challenging",
    "easy simple",
    "important crucial essential significant vital",
    "make create produce build",
    "help assist aid support",
    "show display present",
    "need require",
    "want wish desire",
    "get receive obtain",
    "give provide offer",
    "choose select pick",
    "answer reply respond",
    "job position role",
    "work job employment",
    "boss manager supervisor",
    "colleague coworker teammate",
    "friend buddy pal",
    "doctor physician",
    "lawyer attorney",
    "sick ill unwell",
    "quiet silent",
    "loud noisy",
    "empty vacant",
    "correct right true accurate",
    "wrong incorrect false",
    "famous renowned known celebrated",
    "accomplished skilled talented gifted",
    "strange odd weird unusual",
    "funny humorous amusing",
    "brave courageous bold",
    "rock stone",
    "garbage trash rubbish",
    "hat cap",
    "coat jacket",
    "cup mug glass",
    "food meal",
    "ocean sea",
    "forest woods",
    "city town",
    "hill mountain",
    "snow ice",
    "rest relax",
    "damp wet moist",
    "cold chilly cool",
    "hot warm",
    "start launch",
    "fix repair mend",
    "error bug fault defect",
    "delete remove erase",
    "like prefer love enjoy",
    "often frequently",
    "sometimes occasionally",
    "big tall high",
    "ski skiing",
    "sing singing",
    "crowd group people",
)

# The first word of a line is broader than the others: "a room" does not exclude "a kitchen".
BROADER = (
    "vegetable potato carrot onion tomato cucumber pepper cabbage lettuce spinach celery pumpkin eggplant broccoli",
    "fruit apple pear banana grape orange lemon lime cherry peach plum strawberry mango pineapple melon",
    "room kitchen bathroom bedroom hallway garage attic basement classroom office lobby",
    "instrument piano guitar violin cello flute trumpet saxophone drums harp accordion harmonica banjo",
    "drink beverage water coffee tea milk juice lemonade soda beer wine cider champagne whisky vodka gin",
    "colour color red green blue yellow black white",
    "animal dog cat bird horse cow sheep goat pig",
    "weekend saturday sunday",
    "weekday monday tuesday wednesday thursday friday",
    "person man woman boy girl child somebody someone",
    "sport football basketball baseball tennis golf hockey rugby",
)

# A place one lives in is a place one moves to: verbs that state the same relation, before a change and by it.
RELATIONS = (
    "live lives lived living reside resides residing based move moved moving moves relocate relocated relocates "
    "גר גרה מתגורר מתגוררת עבר עברה עברנו עברתי",
    "work works worked working employed join joined joins",
    "use uses used using switch switched switches migrate migrated adopt adopted run runs running",
    "deploy deploys deployed release releases released ship ships shipped",
    "meet meets meeting meetings",
    "own owns have has drive drives",
)

# Verbs that many things can be said of at once: who likes one thing has not stopped to like another.
COLLECTING = (
    "like love enjoy adore want need visit see saw watch read eat ate drink drank try tried buy bought mention "
    "discuss talk speak spoke ask hear heard go went travel fail failed break broke crash "
    "אוהב אוהבת רוצה ביקר ביקרה"
)

# What a statement says of its subject begins with one of these, or with a verb that ends as in "retries", "moved".
PREDICATES = (
    "is are was were be been has have had does do did will would can could should must may might in on at to from by "
    "for with runs takes"
)
