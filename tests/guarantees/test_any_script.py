"""Any query in any script and with any punctuation is answered, and finds what holds its words."""

from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memoria.embedding import Embedder
from memoria.engine import Engine
from memoria.errors import InvalidInputError
from memoria.records import SearchRequest
from memoria.vocabulary import Intervention
from tests.tenants import Tenant

pytestmark = pytest.mark.anyio

TEXTS = {
    "hyphen": "The x-forwarded-for header is trusted only behind the proxy",
    "slash": "Config lives in /etc/nginx/conf.d/site.conf on each host",
    "underscore": "Set max_wal_size to four gigabytes for imports",
    "uuid": "Order 3f2b8c1e-9d4a-4b7e-8f60-2a1c5d7e9b30 was refunded",
    "quotes": "She said \"it's a 'no-go'\" during standup",
    "emoji": "Ship it 🚀 with the release party 🎉",
    "chinese": "我们每周五下午部署新版本",
    "japanese": "毎週金曜日の午後にデプロイします",
    "korean": "매주 금요일 오후에 배포합니다",
    "hebrew": "אנחנו פורסים גרסה חדשה בכל יום שישי",
    "arabic": "نحن ننشر الإصدار الجديد كل يوم جمعة",
    "russian": "Мы выкатываем новую версию по пятницам",
    "german": "Wir veröffentlichen jeden Freitagnachmittag größere Änderungen",
    "thai": "เราปรับใช้ทุกวันศุกร์ตอนบ่าย",
    "hindi": "हम हर शुक्रवार को नया संस्करण जारी करते हैं",
    "email": "Write to ops+alerts@example.co.uk when paged",
    "c++": "The parser is written in C++ and C# on Windows",
}
QUERIES = [
    ("hyphen", "x-forwarded-for"),
    ("hyphen", "forwarded"),
    ("slash", "/etc/nginx/conf.d/site.conf"),
    ("slash", "nginx"),
    ("underscore", "max_wal_size"),
    ("underscore", "wal size"),
    ("uuid", "3f2b8c1e-9d4a-4b7e-8f60-2a1c5d7e9b30"),
    ("uuid", "3F2B8C1E"),
    ("quotes", "\"it's a 'no-go'\""),
    ("quotes", "'no-go'; drop table memories; --"),
    ("emoji", "🚀"),
    ("emoji", "party 🎉"),
    ("chinese", "部署"),
    ("chinese", "周五"),
    ("japanese", "金曜日"),
    ("japanese", "デプロイ"),
    ("korean", "금요일"),
    ("hebrew", "שישי"),
    ("hebrew", "גרסה"),
    ("arabic", "جمعة"),
    ("russian", "версия"),
    ("german", "GRÖSSERE Änderungen"),
    ("thai", "วันศุกร์"),
    ("hindi", "शुक्रवार"),
    ("email", "ops+alerts@example.co.uk"),
    ("c++", "C++"),
]


@pytest.fixture
async def library(tenant: Tenant) -> dict[str, int]:
    return {name: (await tenant.encode(text)).id for name, text in TEXTS.items()}


async def test_every_query_finds_its_text_among_the_first(tenant: Tenant, minilm_embedder: Embedder) -> None:
    tenant = replace(tenant, engine=Engine(tenant.database, minilm_embedder, tenant.clock))
    library = {name: (await tenant.encode(text)).id for name, text in TEXTS.items()}
    missed = []
    for name, query in QUERIES:
        hits = (await tenant.engine.search(tenant.principal, SearchRequest(query, limit=5))).items
        searched = [hit.memory.id for hit in hits if hit.matched_terms]
        if library[name] not in searched or library[name] not in await tenant.recalled(query, limit=5):
            missed.append((name, query))
    assert missed == []


async def test_matched_words_are_named_as_they_were_asked(tenant: Tenant, library: dict[str, int]) -> None:
    page = await tenant.engine.search(tenant.principal, SearchRequest("Trusted PROXY, zeppelin!", limit=1))
    assert page.items[0].memory.id == library["hyphen"]
    assert page.items[0].matched_terms == ("proxy", "trusted")


async def test_a_query_that_is_a_whole_memory_finds_it(tenant: Tenant, library: dict[str, int]) -> None:
    for name, text in TEXTS.items():
        assert await tenant.recalled(text, limit=1) == [library[name]], name


async def test_a_query_of_64_kib_is_answered(tenant: Tenant, library: dict[str, int]) -> None:
    query = ("the max_wal_size setting matters for imports " * 2000)[: 64 * 1024]
    assert await tenant.recalled(query, limit=1) == [library["underscore"]]
    with pytest.raises(InvalidInputError) as caught:
        await tenant.recall(" \n\t")
    assert caught.value.details["field"] == "query"


@pytest.mark.parametrize(
    "query", ["?!", "...", "-", "'", '"', "\\", "%", "_", "( ) [ ] { }", "&&& ||| !", "\u200b", "\ufffd"]
)
async def test_a_query_of_punctuation_alone_is_answered(tenant: Tenant, library: dict[str, int], query: str) -> None:
    recall = await tenant.recall(query)
    assert len(recall.hits) == 10 or recall.intervention is Intervention.EMPTY
    page = await tenant.engine.search(tenant.principal, SearchRequest(query))
    assert len(page.items) == page.total == len(TEXTS)
    for sort in ("recent", "salience"):
        await tenant.engine.search(tenant.principal, SearchRequest(query, sort=sort))


@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=40))
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
async def test_any_text_can_be_stored_and_then_is_its_own_best_match(tenant: Tenant, text: str) -> None:
    if not text.strip():
        with pytest.raises(InvalidInputError):
            await tenant.encode(text)
        return
    memory = await tenant.encode(text)
    answer = await tenant.engine.search(tenant.principal, SearchRequest(text, limit=1))
    assert answer.items[0].score == max(hit.score for hit in answer.items)
    assert memory.id in {
        hit.memory.id for hit in (await tenant.engine.search(tenant.principal, SearchRequest(text, limit=200))).items
    }
