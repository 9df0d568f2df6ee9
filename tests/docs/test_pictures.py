"""The picture of a recall shows what a recall finds."""

import xml.etree.ElementTree as ET
from collections.abc import Iterator

import httpx
import pytest

from docs.pictures import recall
from server.app import create_app
from tests.docs.markdown import ROOT
from tests.live_server import open_people, serving, settings_for_tests

PICTURE = ROOT / "docs" / "pictures" / "recall.svg"
SVG = "{http://www.w3.org/2000/svg}"


def boxes(picture: str) -> list[tuple[int, str]]:
    """Read how far from the query each memory of a picture stands, and its text without spaces."""
    root = ET.fromstring(picture)  # noqa: S314 - our own file
    corners = [(float(box.attrib["x"]), float(box.attrib["y"])) for box in root.iter(f"{SVG}rect") if is_box(box)]
    return sorted(
        (
            round((x - recall.LEFT) / recall.COLUMN_WIDTH),
            "".join(words_in(root, x, y)).replace(" ", ""),
        )
        for x, y in corners
    )


def is_box(element: ET.Element) -> bool:
    return element.attrib.get("class") == "box"


def words_in(root: ET.Element, x: float, y: float) -> Iterator[str]:
    for text in root.iter(f"{SVG}text"):
        inside = float(text.attrib["x"]) == x + 12 and y < float(text.attrib["y"]) < y + recall.BOX_HEIGHT
        if inside and text.attrib.get("class") != "small":
            yield text.text or ""


@pytest.mark.anyio
async def test_the_picture_is_what_the_server_answers(
    postgres_url: str, redis_url: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    home = tmp_path_factory.mktemp("home")
    settings = settings_for_tests(postgres_url, redis_url, MEMORIA_EMBEDDER="minilm", MEMORIA_HOME=str(home))
    alice = (await open_people(postgres_url)).alice
    with serving(create_app(settings)) as url, httpx.Client(base_url=url, headers=alice.headers, timeout=60) as client:
        drawn = recall.draw(recall.ask(client))
    assert boxes(drawn) == boxes(PICTURE.read_text()), "draw it again: python -m docs.pictures.recall"


def test_the_picture_is_readable_on_light_and_dark_pages() -> None:
    text = PICTURE.read_text()
    assert "prefers-color-scheme: dark" in text
    assert text.count('class="page"') == 1
    assert ET.fromstring(text).find(f"{SVG}title") is not None  # noqa: S314 - our own file
