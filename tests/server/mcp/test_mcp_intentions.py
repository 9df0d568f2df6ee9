"""A model stores what to be reminded of, is reminded once, and says that it is done."""

import pytest

from tests.server.mcp.calling import Caller, ToolRefusedError

pytestmark = pytest.mark.anyio

RELEASE = {"type": "keyword", "any": ["release"]}


async def test_what_was_intended_comes_back_with_a_check_and_is_done(as_alice: Caller) -> None:
    made = await as_alice.call("create_intention", {"content": "Tell Nadia", "trigger": RELEASE, "priority": 0.9})
    assert (made["status"], made["trigger"]) == ("pending", RELEASE)
    assert (await as_alice.call("check_intentions", {"text": "lunch"}))["triggered"] == []
    (told,) = (await as_alice.call("check_intentions", {"text": "We release today"}))["triggered"]
    assert (told["id"], told["content"], told["status"]) == (made["id"], "Tell Nadia", "triggered")
    assert (await as_alice.call("complete_intention", {"id": made["id"]}))["status"] == "completed"


async def test_a_recall_brings_what_it_triggers_and_says_nothing_otherwise(as_alice: Caller) -> None:
    await as_alice.call("create_intention", {"content": "Tell Nadia", "trigger": RELEASE})
    assert "intentions" not in await as_alice.call("recall_memories", {"query": "lunch"})
    recalled = await as_alice.call("recall_memories", {"query": "when is the release?"})
    assert [told["content"] for told in recalled["intentions"]] == ["Tell Nadia"]
    assert "intentions" not in await as_alice.call("recall_memories", {"query": "when is the release?"})


async def test_what_recurs_comes_back_until_it_is_cancelled(as_alice: Caller) -> None:
    daily = {"type": "time", "at": "2026-03-01T09:00:00+01:00", "every": "FREQ=DAILY", "time_zone": "Europe/Berlin"}
    made = await as_alice.call("create_intention", {"content": "Water the plants", "trigger": daily})
    assert made["trigger"] == daily | {"at": "2026-03-01T08:00:00Z"}
    assert made["next_at"]
    assert (await as_alice.call("complete_intention", {"id": made["id"]}))["status"] == "pending"
    ended = await as_alice.call("complete_intention", {"id": made["id"], "cancel": True})
    assert (ended["status"], ended.get("next_at")) == ("cancelled", None)


async def test_the_namespace_of_the_header_counts(as_alice: Caller) -> None:
    header = {"x-memoria-namespace": "code/myapp"}
    for trigger in ({"type": "event", "name": "deploy"}, {"type": "semantic", "text": "the shop is closed"}):
        await as_alice.call("create_intention", {"content": str(trigger), "trigger": trigger}, **header)
    asked = {"event": "Deploy", "text": "the shop is closed"}
    assert (await as_alice.call("check_intentions", asked))["triggered"] == []
    assert len((await as_alice.call("check_intentions", asked, **header))["triggered"]) == 2


@pytest.mark.parametrize(
    ("trigger", "field"),
    [
        ("tomorrow", "trigger"),
        ({"any": ["x"]}, "trigger"),
        ({"type": "keyword"}, "trigger.any"),
        ({"type": "time", "at": "tomorrow"}, "trigger.at"),
        ({"type": "semantic", "text": "x", "threshold": 2}, "trigger.threshold"),
        ({"type": "event", "name": "x", "at": "y"}, "trigger.at"),
    ],
)
async def test_a_wrong_trigger_is_refused_by_name(as_alice: Caller, trigger: object, field: str) -> None:
    with pytest.raises(ToolRefusedError) as refused:
        await as_alice.call("create_intention", {"content": "x", "trigger": trigger})
    assert refused.value.body["code"] == "INVALID_INPUT"
    assert refused.value.body["details"]["field"] == field
