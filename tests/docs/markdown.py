"""Read the guides: their code blocks, headings and links; and run their examples as one shell session."""

import itertools
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from markdown_it import MarkdownIt
from markdown_it.token import Token

ROOT = Path(__file__).resolve().parents[2]
# Before a block that is not run: why not.
NOT_RUN = re.compile(r"<!-- not run: \S.*-->")
PARSER = MarkdownIt("commonmark").enable("table")


@dataclass(frozen=True, slots=True)
class Block:
    """Be one fenced block. `reason` says why it is not run, where a comment before it does."""

    language: str
    text: str
    line: int
    reason: str | None = None


@dataclass(slots=True)
class Example:
    """Be a block of commands, with the blocks that show its answer."""

    block: Block
    shown: list[Block] = field(default_factory=list)


def blocks_of(text: str) -> Iterator[Block]:
    """Find the fenced blocks, in order."""
    comment: str | None = None
    for token in PARSER.parse(text):
        if token.type == "fence" and token.map:
            yield Block(token.info.strip(), token.content, token.map[0] + 1, comment)
        if token.type == "html_block" and NOT_RUN.match(token.content):
            comment = token.content
        elif token.level == 0:
            comment = None


def examples_of(text: str) -> list[Example]:
    """Find the blocks of commands that are run; what follows each before the next shows its answer."""
    examples: list[Example] = []
    is_open = False
    for block in blocks_of(text):
        if block.language == "bash":
            is_open = block.reason is None
            if is_open:
                examples.append(Example(block))
        elif is_open and block.reason is None:
            examples[-1].shown.append(block)
    return examples


def run_session(examples: Sequence[Example], environment: Mapping[str, str], folder: Path) -> list[str]:
    """Run all blocks in one bash, each with its own output, which is returned; a failing command raises."""
    parts = ["set -euo pipefail"]
    for number, example in enumerate(examples):
        parts.append(f"exec >{folder}/{number}.out\n{example.block.text}")
    script = folder / "session.sh"
    script.write_text("\n".join(parts))
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    result = subprocess.run(
        ["bash", script],
        cwd=folder,
        env={"PATH": path, "PYTHONPATH": str(ROOT), "HOME": str(folder), **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    outputs = [path.read_text() for number in range(len(examples)) if (path := folder / f"{number}.out").exists()]
    if result.returncode:
        failed = examples[len(outputs) - 1].block
        raise AssertionError(f"line {failed.line} ended with {result.returncode}: {outputs[-1]}\n{result.stderr}")
    return outputs


def answers_in(output: str) -> list[object]:
    """Read the JSON documents that stand one after the other in an output; other text is passed over."""
    decoder, answers, place = json.JSONDecoder(), [], 0
    while place < len(output):
        if output[place] in "{[":
            try:
                answer, place = decoder.raw_decode(output, place)
            except json.JSONDecodeError:
                place += 1
                continue
            answers.append(answer)
        else:
            place += 1
    return answers


def anchors_of(text: str) -> set[str]:
    """List the anchors that GitHub makes of the headings."""
    tokens = PARSER.parse(text)
    anchors: set[str] = set()
    for heading, inline in itertools.pairwise(tokens):
        if heading.type == "heading_open":
            words = re.sub(r"[^\w\- ]", "", _plain(inline).lower()).replace(" ", "-")
            number = 0
            while (anchor := f"{words}-{number}" if number else words) in anchors:
                number += 1
            anchors.add(anchor)
    return anchors


def links_of(text: str) -> Iterator[str]:
    """List where the links and pictures of a text point to."""
    for token in PARSER.parse(text):
        for child in token.children or []:
            target = child.attrs.get("href") or child.attrs.get("src")
            if target:
                yield str(target)
        if token.type == "html_block":
            yield from re.findall(r'(?:href|src|srcset)="([^"]+)"', token.content)


def _plain(inline: Token) -> str:
    return "".join(child.content for child in inline.children or [] if child.type in {"text", "code_inline"})
