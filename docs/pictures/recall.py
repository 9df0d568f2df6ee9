"""Draw a real recall: store a small story on a running server, ask it one question, and draw the answer's paths.

set -a; . .memoria/dev.env; set +a
python -m docs.pictures.recall > docs/pictures/recall.svg
"""

import os
import sys
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from html import escape
from typing import Any
from uuid import uuid4

import httpx

QUERY = "why did card payments fail?"
# (conversation, what was said): within a conversation, each memory is joined to the one before it.
STORY = (
    ("planning", "Checkout talks to the payment provider through the pay-gateway service"),
    ("planning", "Ana owns pay-gateway; Tom is her deputy"),
    ("friday", "We deploy on Fridays after 2pm"),
    ("friday", "The deploy on 14 March set the pay-gateway timeout to 2 seconds"),
    ("friday", "Card payments began to fail: the provider needs up to 5 seconds to answer"),
    ("friday", "Tom rolled it back at 15:20 and the queue drained by itself"),
    ("lunch", "The new coffee machine takes oat milk"),
    ("lunch", "Lunch on Thursday is at the Thai place"),
)
LIMIT = 6

COLUMN_WIDTH, ROW_HEIGHT, BOX_WIDTH, BOX_HEIGHT = 300, 118, 232, 84
LEFT, TOP, MARGIN, LINE_HEIGHT = 236, 66, 20, 17
STYLE = """
  .page { fill: #ffffff; stroke: #d0d7de; }
  .box { fill: #f6f8fa; stroke: #8c959f; }
  .asked { fill: #ddf4ff; stroke: #0969da; }
  .path { fill: none; stroke: #0969da; }
  text { fill: #1f2328; font: 13px -apple-system, "Segoe UI", "Noto Sans", Helvetica, Arial, sans-serif; }
  .small { fill: #59636e; font-size: 11.5px; }
  .head { font-weight: 600; }
  @media (prefers-color-scheme: dark) {
    .page { fill: #0d1117; stroke: #30363d; }
    .box { fill: #161b22; stroke: #6e7681; }
    .asked { fill: #0c2d4d; stroke: #58a6ff; }
    .path { stroke: #58a6ff; }
    text { fill: #e6edf3; }
    .small { fill: #9198a1; }
  }
"""


@dataclass(frozen=True, slots=True)
class Node:
    """Be one result: its text and numbers, the result it was reached from (None: by the query), and its row."""

    id: str
    content: str
    rank: int
    score: float
    hops: int
    parent: str | None
    edge: str
    row: float = 0.0

    @property
    def x(self) -> int:
        """Left side of its box, in pixels."""
        return LEFT + self.hops * COLUMN_WIDTH

    @property
    def y(self) -> float:
        """Top of its box, in pixels."""
        return TOP + self.row * ROW_HEIGHT


def main() -> int:
    """Ask the server of MEMORIA_URL and write the picture to standard output."""
    headers = {"Authorization": f"Bearer {os.environ['MEMORIA_KEY']}"}
    with httpx.Client(base_url=os.environ["MEMORIA_URL"], headers=headers, timeout=30) as client:
        sys.stdout.write(draw(ask(client)))
    return 0


def ask(client: httpx.Client) -> list[Node]:
    """Store the story in a namespace of its own and recall."""
    namespace = f"pictures/{uuid4().hex}"
    for conversation, content in STORY:
        memory = {"content": content, "namespace": namespace, "context": {"session_id": conversation}}
        client.post("/v1/memories", json=memory).raise_for_status()
    answer = client.post("/v1/memories/recall", json={"query": QUERY, "namespace": namespace, "limit": LIMIT})
    return lay_out([_read(rank, result) for rank, result in enumerate(answer.raise_for_status().json()["results"], 1)])


def _read(rank: int, result: Mapping[str, Any]) -> Node:
    path = result["path"]
    parent = path[-2]["id"] if len(path) > 1 else None
    edge = path[-1]["edge"] or ""
    return Node(result["id"], result["content"], rank, result["score"], result["hops"], parent, edge)


def lay_out(nodes: Sequence[Node]) -> list[Node]:
    """Give each node its row: what was reached from a node stands to the right of it."""
    children: dict[str | None, list[Node]] = {}
    for node in nodes:
        children.setdefault(node.parent, []).append(node)
    placed: list[Node] = []
    next_row = 0

    def place(node: Node) -> float:
        nonlocal next_row
        rows = [place(child) for child in children.get(node.id, [])]
        if not rows:
            rows, next_row = [float(next_row)], next_row + 1
        placed.append(replace(node, row=(rows[0] + rows[-1]) / 2))
        return placed[-1].row

    for seed in children.get(None, []):
        place(seed)
    return placed


def draw(nodes: Sequence[Node]) -> str:
    """Write the picture as SVG."""
    width = max(node.x for node in nodes) + BOX_WIDTH + MARGIN
    height = round(max(node.y for node in nodes)) + BOX_HEIGHT + MARGIN
    middle = TOP + (max(node.row for node in nodes) * ROW_HEIGHT + BOX_HEIGHT) / 2
    by_id = {node.id: node for node in nodes}
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}"',
        '  role="img" aria-labelledby="title">',
        f'<title id="title">A recall of "{escape(QUERY)}": {len(nodes)} memories and the paths to them</title>',
        f"<style>{STYLE}</style>",
        f'<rect class="page" x="0.5" y="0.5" width="{width - 1}" height="{height - 1}" rx="10"/>',
        *_headings(max(node.hops for node in nodes)),
    ]
    for node in nodes:
        source = by_id.get(node.parent or "")
        start = (source.x + BOX_WIDTH, source.y + BOX_HEIGHT / 2) if source else (MARGIN + 176, middle)
        parts += _path(start, (node.x, node.y + BOX_HEIGHT / 2), node.edge)
    parts += _query_box(middle)
    parts += [line for node in nodes for line in _box(node)]
    return "\n".join([*parts, "</svg>", ""])


def _headings(most_hops: int) -> Iterator[str]:
    names = [
        "found by the query itself",
        *(f"{hops} hop{'s' if hops > 1 else ''} on" for hops in range(1, most_hops + 1)),
    ]
    yield f'<text class="small head" x="{MARGIN}" y="36">the query</text>'
    for hops, name in enumerate(names):
        yield f'<text class="small head" x="{LEFT + hops * COLUMN_WIDTH}" y="36">{name}</text>'


def _query_box(middle: float) -> Iterator[str]:
    yield f'<rect class="asked" x="{MARGIN}" y="{middle - 32:g}" width="176" height="64" rx="8"/>'
    for number, line in enumerate(textwrap.wrap(QUERY, 20)):
        yield f'<text class="head" x="{MARGIN + 12}" y="{middle - 5 + number * LINE_HEIGHT:g}">{escape(line)}</text>'


def _path(start: tuple[float, float], end: tuple[float, float], edge: str) -> Iterator[str]:
    bend = (start[0] + end[0]) / 2
    curve = f"M{start[0]:g} {start[1]:g} C{bend:g} {start[1]:g} {bend:g} {end[1]:g} {end[0]:g} {end[1]:g}"
    yield f'<path class="path" d="{curve}"/>'
    if edge:
        # On the outer side of the bend, where the curve does not run through it.
        y = end[1] + (15 if end[1] > start[1] else -7)
        yield f'<text class="small" x="{bend:g}" y="{y:g}" text-anchor="middle">{escape(edge)}</text>'


def _box(node: Node) -> Iterator[str]:
    yield f'<rect class="box" x="{node.x}" y="{node.y:g}" width="{BOX_WIDTH}" height="{BOX_HEIGHT}" rx="8"/>'
    lines = textwrap.wrap(node.content, 29)
    for number, line in enumerate(lines):
        yield f'<text x="{node.x + 12}" y="{node.y + 20 + number * LINE_HEIGHT:g}">{escape(line)}</text>'
    note = f"result {node.rank}, score {node.score:.2f}"
    yield f'<text class="small" x="{node.x + 12}" y="{node.y + BOX_HEIGHT - 8:g}">{note}</text>'


if __name__ == "__main__":
    sys.exit(main())
