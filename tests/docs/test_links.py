"""Every link of the documents leads somewhere: files, and headings in them."""

import subprocess
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from tests.docs.markdown import ROOT, anchors_of, links_of

LISTED = subprocess.run(
    ["git", "ls-files", "-co", "--exclude-standard", "*.md"], cwd=ROOT, capture_output=True, text=True, check=True
)
DOCUMENTS = LISTED.stdout.split()


@pytest.mark.parametrize("document", DOCUMENTS)
def test_links_lead_to_files_and_headings_that_exist(document: str) -> None:
    assert [
        link for link in links_of((ROOT / document).read_text()) if not leads_somewhere(ROOT / document, link)
    ] == []


def leads_somewhere(document: Path, link: str) -> bool:
    """Tell whether a relative link of a document can be followed; others are not looked at."""
    parts = urlsplit(link)
    if parts.scheme or parts.netloc:
        return True
    target = (document.parent / unquote(parts.path)).resolve() if parts.path else document
    if not target.exists() or not target.is_relative_to(ROOT):
        return False
    return not parts.fragment or (target.suffix == ".md" and parts.fragment in anchors_of(target.read_text()))


def test_broken_links_are_noticed() -> None:
    readme = ROOT / "README.md"
    assert leads_somewhere(readme, "docs/rest.md#filters")
    assert not leads_somewhere(readme, "docs/rest.md#no-such-heading")
    assert not leads_somewhere(readme, "docs/none.md")
