"""The tables of the guides say what the code does."""

import re

import pytest

import workers.settings
from memoria import vocabulary
from memoria.revise import PATCHABLE
from memoria.vocabulary import EDGE_DECAY, FACTUAL_TIER_BOOST, TIER_BOOST, TIER_HALF_LIFE_DAYS, EdgeType, Tier
from server import admin
from server.metrics import Metrics
from server.problems import STATUS_OF
from server.public import public_routes
from server.routes import OPERATIONS
from server.settings import describe_settings
from server.wire.filters import FiltersBody
from server.wire.requests import PatchBody
from server.wire.responses import MemoryOut
from tests.docs.markdown import ROOT
from tests.workers.job_rig import filled_job_metrics

CONCEPTS = (ROOT / "docs" / "concepts.md").read_text()
REST = (ROOT / "docs" / "rest.md").read_text()
OPERATING = (ROOT / "docs" / "operating.md").read_text()


def rows(text: str, heading: str) -> list[list[str]]:
    """Read the cells of the first table after a heading, without its head."""
    after = text.split(f"\n{heading}\n", 1)[1]
    lines = re.search(r"(?:^\|.*\n)+", after, re.MULTILINE)
    assert lines is not None
    return [[cell.strip() for cell in line.strip("|\n").split("|")] for line in lines[0].splitlines(keepends=True)[2:]]


def names(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell)


def test_every_endpoint_has_a_section_and_no_other() -> None:
    told = re.findall(r"^`((?:GET|POST|PATCH|PUT|DELETE) /v1/\S+)`", REST, re.MULTILINE)
    known = {f"{operation.method} {operation.path}" for operation in OPERATIONS} | {"GET /v1/health"}
    assert len(told) == len(set(told))
    assert set(told) == known


def test_every_open_path_is_named() -> None:
    paths = {route.path for route in public_routes({})}
    assert {path for path in paths if "." not in path.rsplit("/", 1)[-1] and path not in REST} == set()


def test_every_section_has_an_example_of_its_own_call() -> None:
    for operation in OPERATIONS:
        section = REST.split(f"`{operation.method} {operation.path}`", 1)[1].split("\n#", 1)[0]
        path = operation.path.replace("{id}", "$ID").replace("{name}", "code%2Fshop")
        call = re.search(rf"\$MEMORIA_URL{re.escape(path)}(?![\w/])", section)
        assert call is not None, operation.path
        if operation.method != "GET":
            assert f"curl -X {operation.method} $MEMORIA_URL{path} " in section


def test_every_field_of_every_body_is_named() -> None:
    storing = {name for row in rows(REST, "### Store a memory") for name in names(row[0])}
    for operation in OPERATIONS:
        section = REST.split(f"`{operation.method} {operation.path}`", 1)[1].split("\n### ", 1)[0]
        told = set(re.findall(r"[`\"](\w+)[`\"]", section))
        if operation.method == "PATCH":
            told |= storing  # "Fields as in storing"
        fields: set[str] = set(operation.body.model_fields) if operation.body else set()
        assert fields <= told, operation.path


def test_a_patch_offers_what_can_be_changed_and_no_more() -> None:
    assert set(PatchBody.model_fields) == PATCHABLE


def test_every_filter_is_named() -> None:
    told = {name for row in rows(REST, "## Filters") for name in names(row[0])}
    assert told == set(FiltersBody.model_fields)


def test_the_memory_that_is_shown_has_every_field() -> None:
    section = REST.split("### Read a memory\n", 1)[1].split("\n### ", 1)[0]
    assert set(re.findall(r'^  "(\w+)":', section, re.MULTILINE)) == set(MemoryOut.model_fields)


def test_errors_are_those_of_the_code() -> None:
    told = [(int(row[0]), names(row[1])[0]) for row in rows(REST, "## Errors")]
    assert told == sorted((status, kind.code) for kind, status in STATUS_OF.items())


@pytest.mark.parametrize(
    ("what", "limit"),
    [
        ("content, query", f"{vocabulary.MAX_CONTENT_BYTES // 1024} KiB"),
        ("title", f"{vocabulary.MAX_TITLE_CHARACTERS} characters"),
        ("tags", f"{vocabulary.MAX_TAGS} of {vocabulary.MAX_TAG_CHARACTERS} characters"),
        ("category", f"{vocabulary.MAX_CATEGORY_CHARACTERS} characters"),
        ("project", f"{vocabulary.MAX_PROJECT_CHARACTERS} characters"),
        ("url", f"{vocabulary.MAX_URL_CHARACTERS:,} characters; {vocabulary.MAX_RELATED_URLS} related ones"),
        (
            "context",
            f"{vocabulary.MAX_CONTEXT_PAIRS} pairs; keys of {vocabulary.MAX_CONTEXT_KEY_CHARACTERS}, "
            f"values of {vocabulary.MAX_CONTEXT_VALUE_CHARACTERS} characters",
        ),
        ("metadata", f"{vocabulary.MAX_METADATA_BYTES // 1024} KiB"),
        (
            "memories in a batch, queries in a batch",
            f"{vocabulary.MAX_BATCH_MEMORIES}, {vocabulary.MAX_BATCH_QUERIES}",
        ),
        ("ids to forget", f"{vocabulary.MAX_FORGET_IDS:,}"),
        ("results of a recall", f"{vocabulary.MAX_RECALL_LIMIT}"),
        ("items of a page", f"{vocabulary.MAX_PAGE_LIMIT}"),
    ],
)
def test_limits_are_those_of_the_code(what: str, limit: str) -> None:
    assert dict(rows(REST, "## Limits"))[what] == limit


def test_settings_are_those_of_the_server() -> None:
    told = [(names(row[0])[0], names(row[1])[0] if row[1] else None) for row in rows(OPERATING, "## Settings")]
    lines = re.findall(r"^\s+(\w+) .*?(?: \[([^\]]+)\])?$", describe_settings(), re.MULTILINE)
    assert told == [(name, default or None) for name, default in lines]


def test_options_of_keys_are_those_of_the_command() -> None:
    told = {name for row in rows(OPERATING, "## Keys") for name in names(row[0])}
    parser = admin.make_parser()
    (commands,) = (action for action in parser._actions if action.dest == "command")
    options = {name for action in commands.choices["create-key"]._actions for name in action.option_strings}
    assert told == options - {"-h", "--help", "--email", "--name"}


def test_metrics_are_those_of_the_server() -> None:
    told = {names(row[0])[0]: set(names(row[1])) for row in rows(OPERATING, "## Metrics")}
    metrics = Metrics()
    metrics.observe("GET", "/", 200, 0.1)
    known = {
        family.name + ("_total" if family.type == "counter" else ""): set(family.samples[0].labels) - {"le"}
        for family in metrics.registry.collect()
    }
    assert told == known


def test_settings_of_workers_are_those_of_the_code() -> None:
    told = [(names(row[0])[0], names(row[1])[0] if row[1] else None) for row in rows(OPERATING, "## Workers")]
    lines = re.findall(r"^\s+(\w+) .*?(?: \[([^\]]+)\])?$", workers.settings.describe_settings(), re.MULTILINE)
    known = [(name, default or None) for name, default in lines if not re.match("MEMORIA_(?:EMBEDDER|LANGUAGE)_", name)]
    assert [(name, None if name == "MEMORIA_EMBEDDER" else default) for name, default in known] == told


def test_metrics_of_workers_are_those_of_the_code() -> None:
    told = {names(row[0])[0]: set(names(row[1])) for row in rows(OPERATING, "### Metrics of a worker")}
    known = {
        family.name + ("_total" if family.type == "counter" else ""): set(family.samples[0].labels) - {"le"}
        for family in filled_job_metrics().registry.collect()
    }
    assert told == known


def test_states_of_jobs_are_those_of_the_code() -> None:
    told = [names(row[0])[0].lower() for row in rows(REST, "### Read a background job")]
    assert told == list(vocabulary.JobState)


def test_decay_of_edges_is_that_of_the_code() -> None:
    told = {EdgeType(names(row[0])[0]): float(row[1]) for row in rows(CONCEPTS, "## Edges")}
    assert told == {kind: EDGE_DECAY[kind] for kind in told}
    assert EdgeType.TEMPORAL in told


def test_tiers_are_those_of_the_code() -> None:
    for row in rows(CONCEPTS, "## Tiers"):
        tier = Tier(names(row[0])[0])
        assert row[1] == f"{TIER_HALF_LIFE_DAYS[tier]:g} days"
        assert (float(row[3]), float(row[4])) == (FACTUAL_TIER_BOOST.get(tier, 1.0), TIER_BOOST.get(tier, 1.0))


def test_what_moves_a_memory_is_that_of_the_code() -> None:
    told = {Tier(names(row[0])[0]): (row[1], row[2]) for row in rows(CONCEPTS, "## Forgetting")}
    assert list(told) == list(Tier)
    for tier in tuple(Tier)[:-1]:
        up = f"salience ≥ {vocabulary.RISE_SALIENCE[tier]:g} "
        assert told[tier][0].startswith(up)
        assert f"{vocabulary.RISE_ACCESSES[tier]} recalls" in told[tier][0]
        assert (f"utility ≥ {vocabulary.RISE_UTILITY[tier]:g}" in told[tier][0]) == (vocabulary.RISE_UTILITY[tier] > 0)
    for tier, days in vocabulary.FALL_IDLE_DAYS.items():
        below = f"salience < {vocabulary.FALL_SALIENCE[tier]:g}"
        assert told[tier][1].startswith(f"more than {days:g} days idle and {below}")
    assert told[Tier.BUFFER][1].startswith(f"retention < {vocabulary.PRUNE_THRESHOLD:g}")
    assert f"confidence from {vocabulary.EXEMPT_CONFIDENCE:g}" in CONCEPTS
    assert f"{vocabulary.EXPIRED_GRACE_DAYS} days" in CONCEPTS


def test_types_are_those_of_the_code() -> None:
    assert [names(row[0])[0] for row in rows(CONCEPTS, "## Types")] == [str(kind) for kind in vocabulary.MemoryType]
