"""Join memories in time: which one came before which, within a conversation or within half an hour."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta


@dataclass(frozen=True, slots=True)
class Moment:
    """Place a memory in time: the conversation it belongs to (None: none) and when it happened."""

    memory_id: int
    session: str | None
    occurred_at: datetime


@dataclass(frozen=True, slots=True)
class StoredAround:
    """Hold the stored memories just before and just after a new one, where there are any."""

    before: Moment | None = None
    after: Moment | None = None


def link_in_time(moments: Sequence[Moment], stored: Mapping[int, StoredAround], minutes: int) -> list[tuple[int, int]]:
    """Return (earlier id, later id) for each new memory and what stands next to it in its conversation.

    `moments` are new memories in the order sent, `stored` what was there before, by new id. Without a session, two
    memories more than `minutes` apart are not joined.
    """
    conversations: dict[str | None, list[Moment]] = defaultdict(list)
    for moment in moments:
        conversations[moment.session].append(moment)
    links: list[tuple[int, int]] = []
    for session, members in conversations.items():
        ordered = sorted(members, key=lambda moment: moment.occurred_at)  # stable: the order sent breaks ties
        for position, moment in enumerate(ordered):
            around = stored.get(moment.memory_id, StoredAround())
            before = _latest(around.before, ordered[position - 1] if position else None)
            if before and (session is not None or _near(before, moment, minutes)):
                links.append((before.memory_id, moment.memory_id))
            following = ordered[position + 1] if position + 1 < len(ordered) else None
            if around.after and (following is None or around.after.occurred_at < following.occurred_at):
                links.append((moment.memory_id, around.after.memory_id))
    return links


def _latest(stored: Moment | None, new: Moment | None) -> Moment | None:
    if stored is None or new is None:
        return stored or new
    return stored if stored.occurred_at > new.occurred_at else new


def _near(earlier: Moment, later: Moment, minutes: int) -> bool:
    return later.occurred_at - earlier.occurred_at <= timedelta(minutes=minutes)
