"""Whose rows they are, where only the result of a query says it: `SELECT lower(mail) AS who, ...`.

The column of the result is followed back to the table: to one of its columns, or to an expression of its
rows. That is then declared as the person of the table, and the query is proven for it as any other. So a
mistake here can make a proof fail, but not a false one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from dpdistinct.queries.algebra import Table
from dpdistinct.queries.expressions import column_node
from dpdistinct.queries.refusals import PersonWiseError
from dpdistinct.queries.tree import Node, bare, changed, nodes_of, own_name, parse


class NobodyError(PersonWiseError):
    """A table has no column of the person's name."""


@dataclass(frozen=True)
class Origin:
    """Where a column of the result comes from: `column` of a table; or an expression of its rows, in the
    SELECT that computes it.
    """

    column: str
    expression: Node | None = None
    select: Node | None = None


def identified(
    tree: Node, person: Sequence[str], tables: Mapping[str, Table]
) -> tuple[Node, dict[str, Table]]:
    """The query, and the tables that it names, by their small letters, each with its person."""
    names = dict.fromkeys(name.lower() for name in _table_names(tree))
    named = {name: tables[name] for name in names if name in tables}
    if not named:
        raise PersonWiseError("it names no table that is there", f"use FROM {', '.join(tables)}")
    origins = [_origin(tree, name, {}) for name in person]
    if all(origin.expression is None for origin in origins):
        columns = tuple(origin.column for origin in origins)
        return tree, {name: _declared(name, table, columns) for name, table in named.items()}
    select = origins[0].select
    if select is None or any(o.select is not select for o in origins) or len(named) != 1:
        raise PersonWiseError(
            "the person is computed in a part of the query where this is not proven",
            "compute it in a SELECT over the table itself: FROM (SELECT lower(PERSON) AS PERSON, ... FROM t)",
        )
    ((name, table),) = named.items()
    parts = [o.expression or column_node(o.column) for o in origins]
    hidden = [_free_name(f"person_{i}", table) for i in range(1, len(parts) + 1)]
    named_so = select | {
        key: _with(select[key], parts, hidden)
        for key in ("select_list", "where_clause", "group_expressions", "having", "qualify", "modifiers")
    }
    return changed(tree, lambda node: named_so if node is select else None), {
        name: replace(table, who=tuple(zip(hidden, parts, strict=True)))
    }


def _declared(name: str, table: Table, columns: tuple[str, ...]) -> Table:
    there = {column.lower() for column in table.columns}
    missing = [column for column in columns if column.lower() not in there]
    if missing:
        raise NobodyError(
            f"the table {name!r} has no column {missing[0]!r}, so it is not known whose its rows are",
            "name the person's column in the SELECT as the table does, or write lower(x) AS who over the "
            "table itself; tables with other names for it, and public tables, are for `dpdistinct sql`",
        )
    return replace(table, person=columns)


def _origin(node: Node, name: str, steps: Mapping[str, Node]) -> Origin:
    steps = {**steps, **{entry["key"].lower(): entry["value"] for entry in node["cte_map"]["map"]}}
    if node["type"] == "SET_OPERATION_NODE":
        first = next(child for child in (node["left"], *node["children"]) if child)
        return _origin(first, name, steps)
    if node["type"] != "SELECT_NODE":
        return Origin(name)
    source, starred = node["from_table"], False
    for item in node["select_list"]:
        if item["class"] == "STAR":
            replaced = {entry["key"].lower(): entry["value"] for entry in item["replace_list"]}
            if name.lower() in replaced:
                return _computed(replaced[name.lower()], name, node, steps)
            starred = True
        elif item["class"] == "COLUMN_REF":
            if own_name(item).lower() == name.lower():
                return _followed(source, item["column_names"][-1], node, steps)
        elif item["alias"].lower() == name.lower():
            return _computed(item, name, node, steps)
    return _followed(source, name, node, steps) if starred else Origin(name)


def _computed(expression: Node, name: str, select: Node, steps: Mapping[str, Node]) -> Origin:
    source = select["from_table"]
    if source["type"] != "BASE_TABLE" or source["table_name"].lower() in steps:
        return Origin(name)
    return Origin(name, {**expression, "alias": ""}, select)


def _followed(source: Node, column: str, select: Node, steps: Mapping[str, Node]) -> Origin:
    if source["type"] == "SUBQUERY" and not source["column_name_alias"]:
        return _origin(source["subquery"]["node"], column, steps)
    if source["type"] == "BASE_TABLE":
        step = steps.get(source["table_name"].lower())
        if step is not None and not step["aliases"] and not source["column_name_alias"]:
            return _origin(step["query_node"], column, steps)
        return Origin(column, select=select)
    if source["type"] == "JOIN":
        of_left = _followed(source["left"], column, select, steps)
        return of_left if of_left.expression is not None else replace(of_left, select=None)
    return Origin(column)


def table_names(text: str) -> list[str]:
    """Of all tables in a query, also those of WITH."""
    return list(dict.fromkeys(_table_names(parse(text))))


def _table_names(tree: Node) -> Iterator[str]:
    for node in nodes_of(tree):
        if node.get("type") == "BASE_TABLE":
            parts = (node["catalog_name"], node["schema_name"], node["table_name"])
            yield ".".join(part for part in parts if part)


def _free_name(name: str, table: Table) -> str:
    taken = {column.lower() for column in table.columns}
    while name in taken:
        name += "_"
    return name


def _with(tree: Any, parts: Sequence[Node], names: Sequence[str]) -> Any:
    """With a name in the place of every part that is written like one of these."""
    wanted = [(bare(part), name) for part, name in zip(parts, names, strict=True)]

    def change(node: Node) -> Node | None:
        plain = bare({**node, "alias": ""}) if "class" in node else None
        for part, name in wanted:
            if plain == part:
                return {**column_node(name, node["alias"]), "query_location": node["query_location"]}
        return None

    return changed(tree, change)
