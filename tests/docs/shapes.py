"""Compare the answer that a guide shows with the one that came: the same names and kinds and, where stable, values.

What changes from run to run (ids, times, scores) has to be of the same kind only. `"…"` in a text stands for anything,
a member or an element `"…"` for others that are not shown.
"""

import re
from collections.abc import Iterator, Mapping, Sequence

# Texts that differ from run to run: equal in kind when both match.
KINDS = tuple(
    re.compile(form)
    for form in (
        r"(?P<prefix>mem|rec|key|job|int)_[0-9a-z]{10,}",
        r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)",
        r"org:[a-z0-9-]+-[0-9a-f]{6}",
        r"[0-9a-f]{64}",
        r"[0-9a-f]{32}",
        r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}",
        r"mem_dev_[A-Za-z0-9_-]{43}",
    )
)
ELLIPSIS = "…"
# Numbers that differ from run to run: accesses are counted after the answer, and ids in a text are not equally long.
VARYING = {"access_count", "tokens_used"}


def differences(shown: object, came: object, place: str = "answer") -> Iterator[str]:
    """Say in words where the two differ."""
    if shown == ELLIPSIS:
        return
    if isinstance(shown, Mapping) and isinstance(came, Mapping):
        yield from _differing_members(shown, came, place)
    elif isinstance(shown, list) and isinstance(came, list):
        yield from _differing_elements(shown, came, place)
    elif isinstance(shown, str) and isinstance(came, str):
        if not alike(shown, came):
            yield f"{place}: shown {shown!r}, came {came!r}"
    elif isinstance(shown, float) and isinstance(came, float):
        return
    elif shown != came or type(shown) is not type(came):
        yield f"{place}: shown {shown!r}, came {came!r}"


def alike(shown: str, came: str) -> bool:
    """Tell whether two texts are equal, or of a kind that differs from run to run."""
    if ELLIPSIS in shown:
        pattern = ".*".join(re.escape(part) for part in shown.split(ELLIPSIS))
        return re.fullmatch(pattern, came, re.DOTALL) is not None
    return shown == came or any(kind.fullmatch(shown) and kind.fullmatch(came) for kind in KINDS)


def _differing_members(shown: Mapping[str, object], came: Mapping[str, object], place: str) -> Iterator[str]:
    for name in shown.keys() - {ELLIPSIS}:
        if name not in came:
            yield f"{place}: {name} is shown and did not come"
        elif name not in VARYING or type(came[name]) is not int:
            yield from differences(shown[name], came[name], f"{place}.{name}")
    if ELLIPSIS not in shown:
        yield from (f"{place}: {name} came and is not shown" for name in came.keys() - shown.keys())


def _differing_elements(shown: Sequence[object], came: Sequence[object], place: str) -> Iterator[str]:
    elements = [element for element in shown if element != ELLIPSIS]
    if len(came) < len(elements) or (len(elements) == len(shown) and len(came) != len(shown)):
        yield f"{place}: {len(shown)} elements are shown, {len(came)} came"
        return
    for number, element in enumerate(elements):
        yield from differences(element, came[number], f"{place}[{number}]")
