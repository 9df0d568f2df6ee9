"""Words that carry grammar rather than meaning: they tell a text's language, and are left out of lexical queries."""

STOP_WORDS: dict[str, frozenset[str]] = {
    language: frozenset(words.split())
    for language, words in {
        "english": (
            "a an the and or but if so as of at by for from in into on onto to up with within without about over "
            "under than then that this these those there here it its it's i i'm i've i'd i'll me my mine myself you "
            "you're you've your yours we we're our ours us he he's him his she she's her hers they they're them "
            "their theirs is isn't am are aren't was wasn't were weren't be been being do does doesn't did didn't "
            "don't doing done have has hasn't haven't had hadn't having can can't could couldn't will won't would "
            "wouldn't shall should shouldn't may might must not no nor what what's when when's where where's which "
            "who who's whom whose why how how's let let's please tell just also too very any some such ok okay "
            "yes hi hello"
        ),
        "german": (
            "der die das den dem des ein eine einen einem einer eines und oder aber nicht kein keine ich du er sie es "
            "wir ihr mich mir dich dir uns euch sich mein meine dein deine sein seine ist sind war waren bin bist hat "
            "habe haben hatte wird werden wurde kann können soll muss mit von zu zum zur bei nach aus auf für über "
            "unter im in am an als auch wie was wer wo wann warum welche welcher welches dass daß wenn noch nur schon "
            "sehr bitte hallo"
        ),
        "french": (
            "le la les l un une des du de d au aux et ou mais ne pas je j tu il elle on nous vous ils elles me m te t "
            "se s mon ma mes ton ta tes son sa ses notre votre leur est sont était suis es ai as a ont avoir être ce "
            "c cette ces qui que qu quoi quand où comment pourquoi quel quelle quels quelles dans sur sous avec sans "
            "pour par en y plus très aussi bonjour"
        ),
        "spanish": (
            "el la los las un una unos unas de del al y o u pero no yo tú él ella nosotros ellos ellas me te se nos mi "
            "mis tu tus su sus es son era fue soy eres está están estoy ha han he hay que qué quién quien cuándo "
            "cuando dónde donde cómo como cuál cuáles por para con sin en sobre lo le les este esta esto más muy "
            "también hola"
        ),
        "italian": (
            "il lo la i gli le l un uno una di del della dei delle dello a al alla ai alle da dal dalla in nel nella "
            "con su sul sulla per tra fra e ed o ma non io tu lui lei noi voi loro mi ti si ci vi mio mia tuo tua suo "
            "sua è sono era ho hai ha hanno che chi cosa quando dove come perché quale quali questo questa più molto "
            "anche ciao"
        ),
        "portuguese": (
            "o a os as um uma uns umas de do da dos das ao aos à e ou mas não eu tu ele ela nós eles elas me te se nos "
            "meu minha seu sua é são era foi sou está estão estou tem têm há que quem quando onde como qual quais por "
            "para com sem em no na nos nas sobre isto este esta mais muito também olá você"
        ),
        "dutch": (
            "de het een en of maar niet geen ik jij je hij zij ze wij we jullie hen mij me jou ons mijn jouw zijn haar "
            "is was waren ben bent heeft heb hebben had wordt worden kan kunnen moet zal met van naar bij uit op voor "
            "over onder in aan als ook hoe wat wie waar wanneer waarom welke dat dit die deze er nog zeer"
        ),
        "swedish": (
            "en ett och eller men inte jag du han hon den det vi ni de mig dig oss min mitt din ditt sin sitt är var "
            "har hade ska kan kommer att med av till från på för över under i om som hur vad vem var när varför vilken "
            "vilket vilka denna detta också mycket"
        ),
        "danish": (
            "en et og eller men ikke jeg du han hun den det vi i de mig dig os min mit din dit sin sit er var har "
            "havde skal kan at med af til fra på for over under om som hvordan hvad hvem hvor hvornår hvorfor hvilken "
            "denne dette også meget"
        ),
        "polish": (
            "i oraz lub ale nie ja ty on ona ono my wy oni mnie mi ciebie się mój moja twój jest są był była było "
            "jestem ma mam mają w we z ze na do od po za dla przez o u co kto kiedy gdzie jak dlaczego który która "
            "które ten ta to tym też bardzo"
        ),
        "turkish": (
            "ve veya ama değil ben sen o biz siz onlar beni bana benim senin bir bu şu ile için gibi daha çok en mi "
            "mı mu mü ne kim nerede nasıl neden hangi var yok olan olarak da de ki"
        ),
        "finnish": (
            "ja tai mutta ei en minä sinä hän me te he minun sinun se tämä ne on oli ovat olen olet että kun jos niin "
            "kuin mitä mikä kuka missä milloin miten miksi myös hyvin"
        ),
        "russian": (
            "и а но или не я ты он она оно мы вы они меня мне мой моя моё мои твой его её их нас нам вас вам это этот "
            "эта эти тот та те был была было были есть быть в во на с со к ко о об от до из за по для у что кто когда "
            "где как почему зачем какой какая какие который ли же бы"
        ),
        "arabic": (
            "في من على إلى عن مع هذا هذه ذلك تلك التي الذي هو هي هم أنا أنت نحن كان كانت ما ماذا متى أين كيف لماذا هل "
            "لا لم لن أو و ثم إن أن قد"
        ),
        "hebrew": (
            "של את על עם אל מן כי אם או לא כן אני אתה את הוא היא אנחנו אתם הם הן שלי שלך שלו שלה זה זאת זו אלה היה "
            "היתה הייתה היו יש אין מה מי מתי איפה היכן איך למה מדוע כמה איזה איזו האם גם רק עוד כל"
        ),
        "greek": (
            "ο η το οι τα του της των τον την και ή αλλά δεν μη με σε από για προς ως είναι ήταν έχει έχω μου σου του "
            "μας σας τους τι ποιος πότε πού πώς γιατί αυτό αυτός αυτή να θα που ότι"
        ),
        "hindi": (
            "का की के को में से पर और या लेकिन नहीं मैं तुम आप वह वे हम मेरा मेरी यह ये है हैं था थी थे क्या कौन कब "
            "कहाँ कैसे क्यों कौनसा भी ही तो"
        ),
    }.items()
}
"""Lower-case stop words by Snowball's name of the language (Hebrew, which Snowball lacks, by its own)."""

LATIN_LANGUAGES = (
    *("english", "german", "french", "spanish", "italian", "portuguese"),
    *("dutch", "swedish", "danish", "polish", "turkish", "finnish"),
)
"""Languages told apart by their stop words, English first: it wins a tie."""
