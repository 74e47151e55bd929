"""DuckDB's parse tree: from the text of a query and back, and the types of expressions.

A DuckDB of our own without any table parses, prints and binds. It runs no query of the caller's, and is
not allowed to open files.
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Iterator
from decimal import Decimal
from functools import cache
from typing import Any

from dpdistinct.errors import ParameterError
from dpdistinct.queries.refusals import PersonWiseError

Node = dict[str, Any]
LONGEST = 200_000  # characters of a query
NOWHERE = 2**64 - 1

_lock = threading.Lock()


def new_engine() -> Any:
    """A DuckDB without any table, which may not open files."""
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


@cache
def _engine() -> Any:
    return new_engine()


def _value(sql: str, argument: str) -> Any:
    with _lock:
        return _engine().execute(sql, [argument]).fetchone()[0]


def in_bytes(text: str) -> bytes:
    """The text of a query as DuckDB counts its places; a command's argument need not be UTF-8."""
    if len(text) > LONGEST:
        raise ParameterError(f"sql must have at most {LONGEST} characters")
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise ParameterError("sql must be a text in UTF-8") from None


def parse(text: str) -> Node:
    """The tree of one SELECT."""
    in_bytes(text)
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
    if bare(parse(text)) != bare(node):
        raise ParameterError("sql: DuckDB does not write this query as it reads it; write it more simply")
    return text


def bare(node: Any) -> Any:
    """A tree without places in the text, and without what is empty."""
    if isinstance(node, dict):
        kept = {key: bare(value) for key, value in node.items() if not key.startswith("query_location")}
        found = {key: value for key, value in kept.items() if value not in ("", None, False, [], {})}
        inner = found.get("subquery", {}).get("node", {}).get("from_table", {})
        # DuckDB reads its own (VALUES ...) AS name as SELECT * FROM (VALUES ...) AS name.
        return inner if inner.get("type") == "EXPRESSION_LIST" and found["alias"] == inner["alias"] else found
    return [bare(child) for child in node] if isinstance(node, list) else node


def kinds_of(select: str, columns: tuple[tuple[str, str], ...]) -> tuple[str, ...]:
    """The types of a SELECT list over columns of these names and types, or a refusal.

    It is also run on a few rows of our own. TRY catches what goes wrong with a value of a row, but not a
    constant that is wrong for any row (the pattern '(', the time zone 'nowhere'). That would fail as soon
    as there is a row, so it is found here, where no row is anybody's.
    """
    return _kinds_of(f"{select} FROM ({_sample(columns)})" if columns else select)


def _sample(columns: tuple[tuple[str, str], ...]) -> str:
    rows = [
        "SELECT " + ", ".join(f"CAST({_values(kind)[row]} AS {kind}) AS {name}" for name, kind in columns)
        for row in range(SAMPLED)
    ]
    return " UNION ALL ".join(rows)


SAMPLED = 3


def _values(kind: str) -> tuple[str, ...]:
    """A few values of a type, as SQL writes them."""
    if kind.endswith("[]"):
        return tuple("NULL" if value == "NULL" else f"[{value}]" for value in _values(kind[:-2]))
    if kind in ("VARCHAR", "BLOB"):
        return ("NULL", "'a'", "'2020-01-31'")
    if kind.startswith(("DATE", "TIMESTAMP")):
        return ("NULL", "'2020-01-31'", "'1999-12-31'")
    if kind.startswith("TIME"):
        return ("NULL", "'12:00:00'", "'00:00:00'")
    if kind == "INTERVAL":
        return ("NULL", "'1 day'", "'1 month'")
    if kind == "UUID":
        return ("NULL", "'00000000-0000-0000-0000-000000000001'", "NULL")
    return ("NULL", "1", "0")


@cache
def _kinds_of(sql: str) -> tuple[str, ...]:
    import duckdb

    try:
        with _lock:
            kinds = tuple(map(str, _engine().sql(sql).types))
            _engine().execute(f"SELECT count(DISTINCT hash(s)) FROM ({sql}) AS s").fetchall()
            return kinds
    except duckdb.Error as error:
        message = str(error).splitlines()[0].rstrip("!")
        if isinstance(error, (duckdb.InternalException, duckdb.FatalException)):
            _engine.cache_clear()  # it does not answer any more
    raise PersonWiseError(f"DuckDB says: {message}", "correct it")


_NO_JSON = re.compile(r'"value":(-?(?:nan|inf(?:inity)?))\b', re.IGNORECASE)  # how DuckDB writes these


def casts_of(select: str, columns: tuple[tuple[str, str], ...]) -> list[tuple[str, str, str, str]]:
    """The casts that DuckDB adds to a SELECT list: of which column, or of which constant, from which type and
    to which. Casts that are written as TRY_CAST are no matter.
    """
    nulls = ", ".join(f"CAST(NULL AS {kind}) AS {name}" for name, kind in columns)
    sql = f"{select} FROM (SELECT {nulls})" if columns else select
    try:
        text = _value("SELECT json_serialize_plan(?, optimize := false)", sql)
        plan = json.loads(_NO_JSON.sub(r'"value":"\1"', text))
    except json.JSONDecodeError:
        plan = {"error": True, "error_message": "this has no plan"}
    if plan["error"]:
        message = plan["error_message"].splitlines()[0].rstrip("!")
        raise PersonWiseError(f"DuckDB says: {message}", "correct it")
    found = []
    for node in nodes_of(plan["plans"][0]["expressions"]):
        if node.get("type") != "OPERATOR_CAST" or node["function_data"]["try_cast"]:
            continue
        (child,) = node["children"]
        target, constant = _type_name(node["return_type"]), _constant(child)
        if constant is not None:
            found.append(("", constant, "", target))
        elif child["expression_class"] != "BOUND_CONSTANT":
            name = child["alias"] if child["expression_class"] == "BOUND_REF" else ""
            found.append((name, "", _type_name(child["return_type"]), target))
    return found


def _type_name(kind: Node) -> str:
    """A type of a plan, as SQL writes it."""
    info = kind["type_info"] or {}
    if kind["id"] == "DECIMAL":
        return f"DECIMAL({info['width']},{info['scale']})"
    if kind["id"] == "LIST":
        return f"{_type_name(info['child_type'])}[]"
    return str(kind["id"])


def _constant(node: Node) -> str | None:
    """A constant of a plan that is not NULL, or a cast of one, as SQL writes it."""
    if node["type"] == "OPERATOR_CAST":
        inner = _constant(node["children"][0])
        return None if inner is None else f"CAST({inner} AS {_type_name(node['return_type'])})"
    if node["expression_class"] != "BOUND_CONSTANT" or node["value"]["is_null"]:
        return None
    value, kind = node["value"]["value"], node["value"]["type"]
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    if isinstance(value, dict):  # an integer of 128 bits
        value = (value["upper"] << 64) + value["lower"]
    if kind["id"] == "DECIMAL" and isinstance(value, int):
        return str(Decimal(value).scaleb(-kind["type_info"]["scale"]))
    return str(value)


@cache
def is_value(select: str) -> bool:
    """Whether a constant expression has a value, or fails. Python need not have such a value."""
    import duckdb

    try:
        with _lock:
            _engine().execute(f"SELECT hash(s) FROM ({select}) AS s").fetchall()
    except duckdb.Error:
        return False
    return True


def nodes_of(tree: Any, leaf: Callable[[Node], bool] = lambda node: False) -> Iterator[Node]:
    """Every node of a tree, from the outside in; of a leaf, not what is inside of it."""
    if isinstance(tree, dict):
        yield tree
        if leaf(tree):
            return
    for child in tree.values() if isinstance(tree, dict) else tree if isinstance(tree, list) else ():
        yield from nodes_of(child, leaf)


def changed(tree: Any, change: Callable[[Node], Node | None]) -> Any:
    """A tree with every node, from the outside in, that `change` has another one for."""
    if isinstance(tree, list):
        return [changed(child, change) for child in tree]
    if not isinstance(tree, dict):
        return tree
    other = change(tree)
    return {key: changed(value, change) for key, value in tree.items()} if other is None else other


def conjuncts(node: Node) -> list[Node]:
    """The conditions that AND puts together."""
    if node["type"] == "CONJUNCTION_AND":
        return [part for child in node["children"] for part in conjuncts(child)]
    return [node]


def own_name(item: Node) -> str:
    """What an item of a SELECT list is called without being asked: by its alias, or as the column it is."""
    return str(item["alias"] or (item["column_names"][-1] if item["class"] == "COLUMN_REF" else ""))


def words_of(text: str, node: Node) -> str:
    """The words of the query that became this node, as they were typed."""
    start, length = node.get("query_location", NOWHERE), node.get("query_location_length", 0)
    return "" if start == NOWHERE else text.encode()[start : start + length].decode(errors="replace")
