"""Named queries are found by name, and their parameters by theirs."""

import pytest

from memoria.statements import load_statements, parse_queries, parse_statement


def test_a_parameter_used_twice_keeps_one_number() -> None:
    statement = parse_statement("q", "select :a, :b::text, :a where x = ':not' -- :nor this\n and y = 'it''s :c';")
    assert statement.sql == "select $1, $2::text, $1 where x = ':not' -- :nor this\n and y = 'it''s :c'"
    assert statement.parameters == ("a", "b")


def test_values_are_put_in_order_by_name() -> None:
    statement = parse_statement("q", "select :b, :a")
    assert statement.arguments({"a": 1, "b": 2}) == [2, 1]


@pytest.mark.parametrize("values", [{}, {"a": 1}, {"a": 1, "b": 2, "c": 3}])
def test_a_missing_or_unknown_name_is_an_error(values: dict[str, object]) -> None:
    with pytest.raises(TypeError, match="q: missing"):
        parse_statement("q", "select :b, :a").arguments(values)


def test_a_file_is_cut_at_its_names() -> None:
    first, second = parse_queries("-- a comment\n\n-- name: one\n-- Say one.\nselect 1;\n\n-- name: two\nselect 2\n")
    assert (first.name, first.sql) == ("one", "-- Say one.\nselect 1")
    assert (second.name, second.sql) == ("two", "select 2")


def test_sql_before_the_first_name_is_an_error() -> None:
    with pytest.raises(ValueError, match="before the first name"):
        parse_queries("select 1;\n-- name: one\nselect 1;")


def test_every_query_of_the_dialect_is_loaded_once() -> None:
    assert load_statements("postgres") is load_statements("postgres")
    assert "insert_memories" in load_statements("postgres")
