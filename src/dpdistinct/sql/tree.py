"""DuckDB's parse tree: from the text of a query and back, and the types of expressions.

A DuckDB of our own without any table parses, prints and binds. It runs no query of the caller's, and is
not allowed to open files.
"""

from __future__ import annotations

import json
import threading
from functools import cache
from typing import Any

from dpdistinct.errors import ParameterError
from dpdistinct.sql.refusals import PersonWiseError

Node = dict[str, Any]
LONGEST = 200_000  # characters of a query
NOWHERE = 2**64 - 1

_lock = threading.Lock()


@cache
def _engine() -> Any:
    import duckdb

    settings: dict[str, str | bool | int | float | list[str]] = {
        "threads": "1",
        "enable_external_access": "false",
        "autoload_known_extensions": "false",
        "autoinstall_known_extensions": "false",
        "python_enable_replacements": "false",
        "lock_configuration": "true",
    }
    return duckdb.connect(config=settings)


def _value(sql: str, argument: str) -> Any:
    with _lock:
        return _engine().execute(sql, [argument]).fetchone()[0]


def parse(text: str) -> Node:
    """The tree of one SELECT."""
    if len(text) > LONGEST:
        raise ParameterError(f"sql must have at most {LONGEST} characters")
    try:
        parsed = json.loads(_value("SELECT json_serialize_sql(?)", text))
    except RecursionError:
        raise ParameterError("sql is nested too deeply; write parts of it as WITH name AS (...)") from None
    if parsed["error"]:
        if parsed["error_type"] == "not implemented":
            raise ParameterError("sql must be one SELECT: nothing else can be asked")
        raise ParameterError(f"sql: {parsed['error_message'].splitlines()[0].rstrip('!')}")
    statements = parsed["statements"]
    if len(statements) != 1:
        raise ParameterError("sql must be one SELECT")
    if statements[0]["named_param_map"]:
        raise PersonWiseError("it has parameters, and no values for them", "write the values themselves", "?")
    node: Node = statements[0]["node"]
    return node


def printed(node: Node) -> str:
    """The text of a SELECT, as DuckDB writes it."""
    wanted = json.dumps({"error": False, "statements": [{"node": node}]})
    text: str = _value("SELECT json_deserialize_sql(CAST(? AS JSON))", wanted)
    return text


def print_tree(node: Node) -> str:
    """The text of a SELECT, which DuckDB reads as this very tree."""
    text = printed(node)
    if _bare(parse(text)) != _bare(node):
        raise ParameterError("sql: DuckDB does not write this query as it reads it; write it more simply")
    return text


def _bare(node: Any) -> Any:
    """A tree without places in the text, and without what is empty."""
    if isinstance(node, dict):
        kept = {key: _bare(value) for key, value in node.items() if not key.startswith("query_location")}
        bare = {key: value for key, value in kept.items() if value not in ("", None, False, [], {})}
        inner = bare.get("subquery", {}).get("node", {}).get("from_table", {})
        # DuckDB reads its own (VALUES ...) AS name as SELECT * FROM (VALUES ...) AS name.
        return inner if inner.get("type") == "EXPRESSION_LIST" and bare["alias"] == inner["alias"] else bare
    return [_bare(child) for child in node] if isinstance(node, list) else node


def kinds_of(select: str, columns: tuple[tuple[str, str], ...]) -> tuple[str, ...]:
    """The types of a SELECT list over columns of these names and types. Nothing runs."""
    return _kinds_of(f"{select} FROM ({_typed(columns)})" if columns else select)


def _typed(columns: tuple[tuple[str, str], ...]) -> str:
    return "SELECT " + ", ".join(f"CAST(NULL AS {kind}) AS {name}" for name, kind in columns)


@cache
def _kinds_of(sql: str) -> tuple[str, ...]:
    import duckdb

    try:
        with _lock:
            return tuple(map(str, _engine().sql(sql).types))
    except duckdb.Error as error:
        message = str(error).splitlines()[0].rstrip("!")
    raise PersonWiseError(f"DuckDB says: {message}", "correct it")


@cache
def is_value(select: str) -> bool:
    """Whether a constant expression has a value, or fails."""
    import duckdb

    try:
        with _lock:
            _engine().execute(select).fetchall()
    except duckdb.Error:
        return False
    return True


def words_of(text: str, node: Node) -> str:
    """The words of the query that became this node, as they were typed."""
    start, length = node.get("query_location", NOWHERE), node.get("query_location_length", 0)
    return "" if start == NOWHERE else text.encode()[start : start + length].decode(errors="replace")
