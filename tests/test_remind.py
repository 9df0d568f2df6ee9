"""An intention waits for its trigger, is told of once, and ends when it is done, cancelled or expired."""

import asyncio
from datetime import datetime, timedelta
from typing import Any

import pytest

from memoria.errors import ConflictError, ForbiddenError, InvalidInputError, NotFoundError
from memoria.intention_records import IntentionCheck, KeywordTrigger, NewIntention, SemanticTrigger, Trigger
from memoria.records import Replay
from memoria.vocabulary import IntentionStatus, Scope
from tests.reminding import RELEASE, at, check, complete, intend, on, patch, read
from tests.tenants import START, Tenant, once
from workers.tasks import ring_intentions

pytestmark = pytest.mark.anyio

READ_ONLY = frozenset({Scope.READ})
NINE = "2026-05-01T09:00:00+00:00"  # when the clock of the tests starts


async def ring(tenant: Tenant) -> None:
    """Let the worker do all there is to do."""
    while await ring_intentions.run(tenant.database, tenant.clock()):
        pass


async def list_contents(tenant: Tenant, *statuses: IntentionStatus, **options: Any) -> list[str]:
    page = await tenant.engine.intentions.list(tenant.principal, statuses=statuses, **options)
    return [intention.content for intention in page.items]


# Keywords, meanings and events


async def test_keywords_trigger_by_whole_words(tenant: Tenant) -> None:
    await intend(tenant, "Tell Nadia")
    assert await check(tenant, "the redeployment of artisans") == []
    assert await check(tenant, "We are deploying today") == ["Tell Nadia"]


async def test_all_keywords_and_one_of_any_must_be_there(tenant: Tenant) -> None:
    await intend(tenant, trigger=KeywordTrigger(any=("checkout", "shopping cart"), all=("release", "friday")))
    assert await check(tenant, "A release of the checkout") == []
    assert await check(tenant, "On Friday we release the docs") == []
    assert await check(tenant, "On Friday we release the shopping carts") == ["Tell Nadia"]


async def test_a_meaning_triggers_from_its_threshold_on(tenant: Tenant) -> None:
    await intend(tenant, trigger=SemanticTrigger("the release of the shop goes out", 0.8))
    assert await check(tenant, "bread is baked at night") == []
    assert await check(tenant, "the release of the shop goes out") == ["Tell Nadia"]


async def test_an_event_triggers_by_name_alone(tenant: Tenant) -> None:
    await intend(tenant, trigger=on("Deploy.Finished"))
    assert await check(tenant, "deploy.finished") == []
    assert await check(tenant, event="deploy") == []
    assert await check(tenant, event=" deploy.FINISHED") == ["Tell Nadia"]


async def test_what_was_told_is_not_told_again_until_it_is_armed_again(tenant: Tenant) -> None:
    made = await intend(tenant)
    assert await check(tenant, "release") == ["Tell Nadia"]
    assert await check(tenant, "release") == []
    stands = await read(tenant, made)
    assert (stands.status, stands.triggered_at, stands.triggered_count) == (IntentionStatus.TRIGGERED, START, 1)
    await patch(tenant, made, status="Pending")
    assert await check(tenant, "release") == ["Tell Nadia"]


async def test_the_highest_priority_comes_first_and_of_equal_ones_the_oldest(tenant: Tenant) -> None:
    for content, priority in (("b", 0.5), ("c", 0.5), ("d", 0), ("a", 1)):
        await intend(tenant, content, priority=priority)
        tenant.clock.advance(seconds=1)
    assert await check(tenant, "release") == ["a", "b", "c", "d"]


async def test_a_check_tells_no_more_than_its_limit_and_the_next_one_the_rest(
    tenant: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memoria.engine.intentions.CHECK_INTENTIONS", 2)
    for number in range(3):
        await intend(tenant, f"number {number}")
        tenant.clock.advance(seconds=1)
    assert await check(tenant, "release") == ["number 0", "number 1"]
    assert await check(tenant, "release") == ["number 2"]


async def test_a_namespace_keeps_its_intentions_to_itself(tenant: Tenant) -> None:
    await intend(tenant, "there", namespace="code/app")
    assert await check(tenant, "release") == []
    assert await check(tenant, "release", namespace="never-was") == []
    assert await check(tenant, "release", namespace="code/app") == ["there"]


# The clock


async def test_a_moment_is_due_from_its_second_on(tenant: Tenant) -> None:
    await intend(tenant, trigger=at("2026-05-01T12:00:00+02:00"))
    tenant.clock.now = START + timedelta(minutes=59, seconds=59)
    assert await check(tenant) == []
    tenant.clock.advance(seconds=1)
    assert await check(tenant) == ["Tell Nadia"]
    assert await check(tenant) == []


async def test_a_check_can_be_made_for_another_time(tenant: Tenant) -> None:
    await intend(tenant, trigger=at("2026-05-02T12:00:00+00:00"))
    assert await check(tenant, now=START + timedelta(days=1)) == []
    assert await check(tenant, now=START + timedelta(days=2)) == ["Tell Nadia"]
    with pytest.raises(InvalidInputError, match="366 days"):
        await check(tenant, now=START + timedelta(days=367))


async def test_the_worker_triggers_and_the_next_check_tells(tenant: Tenant) -> None:
    made = await intend(tenant, trigger=at("2026-05-01T10:00:00+00:00"))
    tenant.clock.advance(hours=1)
    await ring(tenant)
    assert (await read(tenant, made)).status is IntentionStatus.TRIGGERED
    tenant.clock.advance(hours=1)
    assert await check(tenant, "anything") == ["Tell Nadia"]
    stands = await read(tenant, made)
    assert (stands.triggered_at, stands.triggered_count) == (START + timedelta(hours=1), 1)
    assert await check(tenant) == []


async def test_a_recurrence_comes_again_whether_it_was_completed_or_not(tenant: Tenant) -> None:
    made = await intend(tenant, trigger=at(NINE, "P1D"))
    assert await check(tenant) == ["Tell Nadia"]
    done = await complete(tenant, made)
    assert (done.status, done.next_at) == (IntentionStatus.PENDING, START + timedelta(days=1))
    for _ in range(2):
        assert await check(tenant) == []
        tenant.clock.advance(days=1)
        assert await check(tenant) == ["Tell Nadia"]
    assert (await read(tenant, made)).status is IntentionStatus.TRIGGERED


async def test_missed_occurrences_are_told_once(tenant: Tenant) -> None:
    made = await intend(tenant, trigger=at(NINE, "PT1H"))
    tenant.clock.advance(days=3, minutes=30)
    assert await check(tenant) == ["Tell Nadia"]
    assert await check(tenant) == []
    assert (await read(tenant, made)).next_at == START + timedelta(days=3, hours=1)
    tenant.clock.advance(days=2)
    await ring(tenant)
    tenant.clock.advance(days=2)
    await ring(tenant)
    assert await check(tenant) == ["Tell Nadia"]
    assert (await read(tenant, made)).triggered_count == 3


async def test_completing_ahead_of_time_or_twice_skips_nothing(tenant: Tenant) -> None:
    made = await intend(tenant, trigger=at("2026-05-02T09:00:00+00:00", "P1D"))
    for _ in range(2):
        assert (await complete(tenant, made)).next_at == START + timedelta(days=1)


async def test_a_recurrence_that_ends_is_completed_for_good(tenant: Tenant) -> None:
    made = await intend(tenant, trigger=at(NINE, "FREQ=DAILY;COUNT=2"))
    assert await check(tenant) == ["Tell Nadia"]
    tenant.clock.advance(days=1)
    assert await check(tenant) == ["Tell Nadia"]
    assert (await complete(tenant, made)).status is IntentionStatus.COMPLETED
    tenant.clock.advance(days=9)
    assert await check(tenant) == []


async def test_a_recurrence_that_began_long_ago_waits_for_what_is_to_come(tenant: Tenant) -> None:
    made = await intend(tenant, trigger=at("2020-01-01T12:00:00+00:00", "P1D"))
    assert made.next_at == START + timedelta(hours=3)
    assert await check(tenant) == []


async def test_a_recurrence_keeps_its_time_of_day_when_clocks_change(tenant: Tenant) -> None:
    tenant.clock.now = datetime.fromisoformat("2026-10-24T06:00:00+00:00")
    made = await intend(tenant, trigger=at("2026-10-24T09:00:00+02:00", "P1D", "Europe/Berlin"))
    tenant.clock.now = datetime.fromisoformat("2026-10-24T07:00:00+00:00")
    assert await check(tenant) == ["Tell Nadia"]
    assert (await read(tenant, made)).next_at == datetime.fromisoformat("2026-10-25T08:00:00+00:00")


# Ends


async def test_what_has_expired_is_told_nowhere_from_that_second_on(tenant: Tenant) -> None:
    made = await intend(tenant, expires_at=START + timedelta(seconds=10))
    due = await intend(tenant, "due", at("2026-05-01T09:00:05+00:00"), expires_at=START + timedelta(seconds=10))
    tenant.clock.advance(seconds=9)
    assert (await read(tenant, made)).status is IntentionStatus.PENDING
    tenant.clock.advance(seconds=1)
    for _ in range(2):  # whether a worker has seen to it or not
        assert (await read(tenant, made)).status is IntentionStatus.EXPIRED
        assert await list_contents(tenant, IntentionStatus.EXPIRED) == ["due", "Tell Nadia"]
        assert await list_contents(tenant, IntentionStatus.PENDING, IntentionStatus.TRIGGERED) == []
        assert await check(tenant, "release") == []
        assert await check(tenant, "release", now=START) == [], "no earlier time revives it"
        assert (await tenant.recall("release")).intentions == ()
        await ring(tenant)
    assert (await read(tenant, due)).triggered_count == 0
    stored = await tenant.fetch("select distinct status from intentions")
    assert [row["status"] for row in stored] == ["expired"]


async def test_a_later_expiry_revives(tenant: Tenant) -> None:
    made = await intend(tenant, expires_at=START + timedelta(seconds=10))
    tenant.clock.advance(minutes=1)
    await ring(tenant)
    with pytest.raises(InvalidInputError, match="later"):
        await patch(tenant, made, status="Pending")
    revived = await patch(tenant, made, expires_at=tenant.clock() + timedelta(hours=1))
    assert revived.status is IntentionStatus.PENDING
    assert await check(tenant, "release") == ["Tell Nadia"]


async def test_what_is_completed_or_cancelled_is_not_told(tenant: Tenant) -> None:
    first, second = await intend(tenant), await intend(tenant, trigger=at(NINE, "P1D"))
    done = await complete(tenant, first)
    assert (done.status, done.completed_at) == (IntentionStatus.COMPLETED, START)
    assert (await patch(tenant, second, status="cancelled")).status is IntentionStatus.CANCELLED
    tenant.clock.advance(days=2)
    await ring(tenant)
    assert await check(tenant, "release") == []
    assert (await complete(tenant, first)).completed_at == START
    with pytest.raises(ConflictError):
        await complete(tenant, second)


async def test_a_new_trigger_arms_what_is_open_again(tenant: Tenant) -> None:
    made = await intend(tenant)
    await check(tenant, "release")
    later = await patch(tenant, made, trigger=at("2026-05-01T10:00:00+00:00"), content="Tell her", priority=0.9)
    assert (later.status, later.content, later.priority) == (IntentionStatus.PENDING, "Tell her", 0.9)
    assert await check(tenant, "release") == []
    tenant.clock.advance(hours=1)
    assert await check(tenant) == ["Tell her"]
    await complete(tenant, made)
    assert (await patch(tenant, made, trigger=RELEASE)).status is IntentionStatus.COMPLETED
    semantic = await patch(tenant, made, trigger=SemanticTrigger("the shop is closed"), status="Pending")
    assert semantic.next_at is None
    assert await check(tenant, "the shop is closed") == ["Tell her"]


async def test_a_deleted_intention_is_gone(tenant: Tenant) -> None:
    made = await intend(tenant)
    await tenant.engine.intentions.delete(tenant.principal, made.id)
    for call in (read, complete):
        with pytest.raises(NotFoundError):
            await call(tenant, made)
    assert await check(tenant, "release") == []


# Recall


async def test_a_recall_tells_what_its_query_triggers_and_what_is_due(tenant: Tenant) -> None:
    await intend(tenant, "by words")
    await intend(tenant, "by meaning", SemanticTrigger("when is the release of the shop?"))
    await intend(tenant, "by the clock", at(NINE))
    await intend(tenant, "by an event", on("release"))
    await intend(tenant, "not yet", at("2026-05-01T09:00:01+00:00"))
    told = (await tenant.recall("when is the release of the shop?")).intentions
    assert [intention.content for intention in told] == ["by words", "by meaning", "by the clock"]
    assert {intention.status for intention in told} == {IntentionStatus.TRIGGERED}
    assert (await tenant.recall("when is the release of the shop?")).intentions == ()


@pytest.mark.parametrize("by", ["learn", "scope"])
async def test_a_recall_that_may_leave_no_trace_tells_and_changes_nothing(tenant: Tenant, by: str) -> None:
    await intend(tenant)
    await intend(tenant, "by the clock", at(NINE))
    before = await tenant.fetch("select * from intentions order by intention_id")
    asking = tenant.as_principal(scopes=READ_ONLY) if by == "scope" else tenant
    for _ in range(2):
        told = (await asking.recall("the release", learn=by == "scope")).intentions
        assert [intention.content for intention in told] == ["Tell Nadia", "by the clock"]
        assert {intention.status for intention in told} == {IntentionStatus.PENDING}
    assert await tenant.fetch("select * from intentions order by intention_id") == before


async def test_a_recall_of_the_past_and_one_of_another_namespace_tell_nothing(tenant: Tenant) -> None:
    await intend(tenant)
    assert (await tenant.recall("release", at=tenant.clock())).intentions == ()
    assert (await tenant.recall("release", namespace="elsewhere")).intentions == ()
    assert (await tenant.recall(None, url="https://example.com")).intentions == ()


async def test_a_recall_where_nothing_waits_asks_nothing_more(tenant: Tenant, monkeypatch: pytest.MonkeyPatch) -> None:
    await intend(tenant, trigger=on("deploy"))
    await intend(tenant, trigger=at("2026-05-01T10:00:00+00:00"))
    await complete(tenant, await intend(tenant))

    async def never(*_: object, **__: object) -> None:
        raise AssertionError

    with monkeypatch.context() as patched:
        patched.setattr("memoria.engine.intentions.remind", never)
        assert (await tenant.recall("release")).intentions == ()
    await intend(tenant)
    assert len((await tenant.recall("release")).intentions) == 1


# Many at once, and bounds


async def test_checks_at_once_tell_of_an_intention_once(tenant: Tenant) -> None:
    for number in range(5):
        await intend(tenant, f"number {number}", trigger=at(NINE, "PT1H") if number % 2 else RELEASE)
    checks = [check(tenant, "release") for _ in range(6)]
    recalls = [tenant.recall("release") for _ in range(4)]
    told = await asyncio.gather(*checks, *recalls, ring(tenant))
    contents = [content for contents in told[:6] for content in contents]
    contents += [intention.content for recall in told[6:10] for intention in recall.intentions]
    assert sorted(contents) == [f"number {number}" for number in range(5)]
    counts = await tenant.fetch("select triggered_count from intentions")
    assert [row[0] for row in counts] == [1] * 5


async def test_a_repeated_check_with_the_same_key_gets_the_first_answer(tenant: Tenant) -> None:
    await intend(tenant)
    asked = IntentionCheck("release")
    first = await tenant.engine.intentions.check(tenant.principal, asked, once("a-check"))
    again = await tenant.engine.intentions.check(tenant.principal, asked, once("a-check"))
    assert len(first) == 1  # type: ignore[arg-type]
    assert isinstance(again, Replay)


async def test_too_many_open_intentions_are_refused_and_ended_ones_do_not_count(
    tenant: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memoria.engine.intentions.MAX_OPEN_INTENTIONS", 3)
    first = await intend(tenant)
    await intend(tenant, expires_at=START + timedelta(seconds=1))
    outcomes = await asyncio.gather(*(intend(tenant) for _ in range(4)), return_exceptions=True)
    assert [type(outcome) for outcome in outcomes].count(ConflictError) == 3
    await complete(tenant, first)
    tenant.clock.advance(seconds=1)
    for _ in range(2):
        await intend(tenant)
    with pytest.raises(ConflictError, match="3 open intentions"):
        await patch(tenant, first, status="Pending")


async def test_pages_go_on_where_they_ended(tenant: Tenant) -> None:
    made = []
    for number in range(5):
        made.append(await intend(tenant, f"number {number}", priority=0.1 if number == 2 else 0.3))
        tenant.clock.advance(seconds=1)
    contents: list[str] = []
    cursor, total = None, 0
    while cursor is not None or not contents:
        page = await tenant.engine.intentions.list(tenant.principal, limit=2, cursor=cursor)
        contents += [intention.content for intention in page.items]
        cursor, total = page.next_cursor, page.total
    assert contents == [f"number {number}" for number in (4, 3, 1, 0, 2)]
    assert total == 5
    assert await list_contents(tenant, namespace="never-was") == []
    await complete(tenant, made[0])
    assert await list_contents(tenant, IntentionStatus.COMPLETED) == ["number 0"]


LONG = "x" * 4001


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"content": " "}, "content"),
        ({"content": LONG}, "content"),
        ({"content": "a\x00b"}, "content"),
        ({"priority": 1.1}, "priority"),
        ({"priority": float("nan")}, "priority"),
        ({"expires_at": START}, "expires_at"),
        ({"trigger": KeywordTrigger()}, "trigger.any"),
        ({"trigger": KeywordTrigger(any=("?!",))}, "trigger.any"),
        ({"trigger": KeywordTrigger(all=("x" * 201,))}, "trigger.all"),
        ({"trigger": KeywordTrigger(all=("\ud800",))}, "trigger.all"),
        ({"trigger": KeywordTrigger(any=tuple(map(str, range(51))))}, "trigger.any"),
        ({"trigger": on("")}, "trigger.name"),
        ({"trigger": SemanticTrigger("x", 0.29)}, "trigger.threshold"),
        ({"trigger": SemanticTrigger("x", float("nan"))}, "trigger.threshold"),
        ({"trigger": SemanticTrigger(LONG)}, "trigger.text"),
        ({"trigger": at("2026-05-01T09:00:00")}, "trigger.at"),
        ({"trigger": at("2016-04-01T09:00:00+00:00")}, "trigger.at"),
        ({"trigger": at("2226-05-01T09:00:00+00:00")}, "trigger.at"),
        ({"trigger": at(NINE, "often")}, "trigger.every"),
        ({"trigger": at(NINE, None, "Mars")}, "trigger.time_zone"),
        ({"namespace": "two words"}, "namespace"),
    ],
)
async def test_what_cannot_be_kept_is_refused_by_name(tenant: Tenant, fields: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidInputError) as refused:
        await intend(tenant, **fields)
    assert refused.value.details["field"] == field


@pytest.mark.parametrize(
    "changes", [{"status": "Completed"}, {"status": "x"}, {"content": None}, {"trigger": None}, {"namespace": "n"}]
)
async def test_what_cannot_be_changed_is_refused(tenant: Tenant, changes: dict[str, Any]) -> None:
    made = await intend(tenant)
    with pytest.raises(InvalidInputError):
        await patch(tenant, made, **changes)


# Whose


async def test_another_organization_sees_and_changes_nothing(tenant: Tenant, other: Tenant) -> None:
    made = await intend(tenant, namespace="shared")
    await intend(other, "theirs", namespace="shared")
    for call in (read, complete):
        with pytest.raises(NotFoundError):
            await call(other, made)
    with pytest.raises(NotFoundError):
        await patch(other, made, status="Cancelled")
    with pytest.raises(NotFoundError):
        await other.engine.intentions.delete(other.principal, made.id)
    assert await check(other, "release", namespace="shared") == ["theirs"]
    assert (await read(tenant, made)).status is IntentionStatus.PENDING


async def test_a_key_is_confined_to_its_namespaces_and_scopes(tenant: Tenant) -> None:
    made = await intend(tenant, namespace="code/app")
    bound = tenant.as_principal(namespace_patterns=("support/*",), default_namespace="support/a")
    for call in (read, complete):
        with pytest.raises(NotFoundError):
            await call(bound, made)
    with pytest.raises(ForbiddenError):
        await check(bound, "release", namespace="code/app")
    with pytest.raises(ForbiddenError):
        await list_contents(bound, namespace="code/app")
    with pytest.raises(ForbiddenError):
        await intend(bound, namespace="code/app")
    reading = tenant.as_principal(scopes=READ_ONLY)
    assert (await read(reading, made)).content == "Tell Nadia"
    for writing in (check(reading, "x"), complete(reading, made), patch(reading, made, priority=1.0), intend(reading)):
        with pytest.raises(ForbiddenError):
            await writing


async def test_intentions_go_with_their_namespace(tenant: Tenant) -> None:
    made = await intend(tenant, namespace="doomed")
    erasure = await tenant.engine.transfer.erase(tenant.principal, "doomed")
    assert erasure.before["intentions"] == 1
    assert erasure.after is not None
    assert erasure.after["intentions"] == 0
    with pytest.raises(NotFoundError):
        await read(tenant, made)


async def test_the_worker_finds_what_is_due_in_every_organization(tenant: Tenant, other: Tenant) -> None:
    made = [await intend(each, trigger=at("2026-05-01T10:00:00+00:00")) for each in (tenant, other)]
    waiting = await intend(tenant, trigger=at("2026-05-01T11:00:00+00:00"))
    tenant.clock.advance(hours=1)
    await ring(tenant)
    for each, intention in zip((tenant, other), made, strict=True):
        assert (await read(each, intention)).status is IntentionStatus.TRIGGERED
    assert (await read(tenant, waiting)).status is IntentionStatus.PENDING


async def test_creating_with_the_same_key_makes_one(tenant: Tenant) -> None:
    new = NewIntention("Tell Nadia", RELEASE)
    await tenant.engine.intentions.create(tenant.principal, new, once("made"))
    assert isinstance(await tenant.engine.intentions.create(tenant.principal, new, once("made")), Replay)
    assert await list_contents(tenant) == ["Tell Nadia"]


def test_a_trigger_knows_its_type() -> None:
    triggers: list[Trigger] = [RELEASE, at(NINE), SemanticTrigger("x"), on("x")]
    assert [trigger.type for trigger in triggers] == ["Keyword", "Time", "Semantic", "Event"]
