"""Expressions of one row: built from the closed lists, and put under TRY.

An expression is a value of our own, made from what is known of a node and nothing else, so that no part
of a parse tree gets into the query that runs without having been looked at. Functions are written with
their full name, system.main.lower, because a macro of a database may be called lower, or even +.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import cache, lru_cache
from typing import Any

from dpdistinct.queries.functions import CASTS, JSON_PATHS, SCALARS, TOTAL, is_widening, limits
from dpdistinct.queries.refusals import PersonWiseError
from dpdistinct.queries.tree import Node, casts_of, is_value, kinds_of, printed


@dataclass(frozen=True)
class Column:
    """A column of a relation. name: in the query that runs, and nowhere else in it. kind: DuckDB's type.
    person: which part of the person it is a copy of, if it is one.
    """

    name: str
    kind: str
    person: int | None = None


@dataclass(frozen=True)
class Expression:
    """op: what it is, as `_build` knows it; or an aggregate, a window function or an unnest, which become
    columns before. text: a name, a type or a constant. words: as typed, for messages.
    """

    op: str
    children: tuple[Expression, ...] = ()
    text: str = ""
    column: Column | None = None
    extra: tuple[Any, ...] = ()
    words: str = field(default="", compare=False)

    def columns(self) -> Iterator[Column]:
        """Every column that it looks at."""
        if self.column is not None:
            yield self.column
        for child in self.children:
            yield from child.columns()

    def parts(self) -> Iterator[Expression]:
        """Itself, and everything inside of it."""
        yield self
        for child in self.children:
            yield from child.parts()

    def rebuilt(self, change: Callable[[Expression], Expression | None]) -> Expression:
        """With every part, from the outside in, that `change` has another one for."""
        other = change(self)
        if other is not None:
            return other
        return replace(self, children=tuple(child.rebuilt(change) for child in self.children))


def reference(column: Column) -> Expression:
    return Expression("column", column=column)


def call(name: str, *arguments: Expression) -> Expression:
    """A function of the closed list."""
    rule = SCALARS[name]
    if len(arguments) < rule.fewest or (rule.most is not None and len(arguments) > rule.most):
        most = "" if rule.most == rule.fewest else " or more" if rule.most is None else f" to {rule.most}"
        raise PersonWiseError(
            f"{name} takes {rule.fewest}{most} arguments here, not {len(arguments)}", "write it out"
        )
    if rule.fixed == (-1,):
        bad = all(map(_depends, arguments))
    else:
        bad = any(_depends(arguments[place]) for place in rule.fixed if place < len(arguments))
    if bad:
        raise PersonWiseError(
            f"a pattern, format, unit, length or replacement of {name} is taken from a column, so one "
            "person's value could exhaust the memory or the time",
            "write a constant",
        )
    if rule.limit is not None and not _at_most(arguments[rule.fixed[0]], rule.limit):
        raise PersonWiseError(
            f"the length in {name} must be a number of at most {rule.limit}", "write a smaller one"
        )
    if name in JSON_PATHS and not _is_plain_path(arguments[1]):
        raise PersonWiseError(
            f"the path in {name} must be written as it is, and without .., which hands out a text once for "
            "each level that it lies in, so one person's value could exhaust the memory",
            "name each step: '$.a.b'",
        )
    return Expression("call", arguments, name)


def _is_plain_path(path: Expression) -> bool:
    return path.op == "constant" and ".." not in path.text


def _depends(expression: Expression) -> bool:
    return next(expression.columns(), None) is not None


def _at_most(expression: Expression, limit: int) -> bool:
    return (expression.op, expression.extra) == ("constant", ("INTEGER",)) and int(expression.text) <= limit


def constant(kind: str, text: str = "") -> Expression:
    if kind not in ("INTEGER", "NUMERIC", "STRING", "BOOLEAN", "NULL_LITERAL"):
        raise PersonWiseError("it is a kind of constant that is not known here", "write a number or a text")
    return Expression("constant", text=text, extra=(kind,))


_TYPE = re.compile(r"(?P<name>[^(]+)(?:\((?P<size>\d+(?:,\d+)*)\))?")


def cast(child: Expression, kind: str, *, or_null: bool = False) -> Expression:
    """To a type on the list; a constant must be one of the type, unless it may become NULL."""
    found = _TYPE.fullmatch(kind)
    if found is None or CASTS.get(found["name"]) != found["name"]:
        raise PersonWiseError(
            f"a value cannot be cast to {kind} here", "cast it to a number, a text or a date"
        )
    size = tuple(map(int, found["size"].split(","))) if found["size"] else ()
    expression = Expression("cast", (child,), found["name"], extra=size)
    if child.op == "constant" and not is_value(printed(select_node([_plain(expression)]))):
        if or_null:
            return replace(expression, children=(constant("NULL_LITERAL"),))
        raise PersonWiseError(f"{child.text!r} is not a value of the type {kind}", "correct it")
    return expression


def select_node(items: list[Node], source: Node | None = None, **more: Any) -> Node:
    """A SELECT in DuckDB's tree."""
    empty = {"type": "EMPTY", "alias": "", "sample": None}
    return {
        "type": "SELECT_NODE",
        "modifiers": [],
        "cte_map": {"map": []},
        "select_list": items,
        "from_table": source or empty,
        "where_clause": None,
        "group_expressions": [],
        "group_sets": [],
        "aggregate_handling": "STANDARD_HANDLING",
        "having": None,
        "sample": None,
        "qualify": None,
    } | more


def table_node(path: tuple[str, ...]) -> Node:
    catalog, schema, name = (*[""] * (3 - len(path)), *path)
    return {
        "type": "BASE_TABLE", "alias": "", "sample": None,
        "table_name": name, "schema_name": schema, "catalog_name": catalog,
        "column_name_alias": [], "at_clause": None, "qualified_name": {"path": list(path)},
    }  # fmt: skip


def column_node(name: str, alias: str = "") -> Node:
    return {"class": "COLUMN_REF", "type": "COLUMN_REF", "alias": alias, "column_names": [name]}


def function_node(name: str, arguments: list[Node], **more: Any) -> Node:
    return {
        "class": "FUNCTION",
        "type": "FUNCTION",
        "alias": "",
        "function_name": name,
        "schema": "main",
        "catalog": "system",
        "filter": None,
        "order_bys": {"type": "ORDER_MODIFIER", "orders": []},
        "distinct": False,
        "is_operator": False,
        "export_state": False,
        "arguments": [{"name": "", "expression": argument} for argument in arguments],
        "qualified_name": {"path": ["system", "main", name]},
    } | more


def operator_node(kind: str, *children: Node) -> Node:
    return {"class": "OPERATOR", "type": kind, "alias": "", "children": list(children)}


def and_node(conditions: list[Node], kind: str = "CONJUNCTION_AND") -> Node:
    """All of these; as DuckDB reads a AND (b AND c), which is a AND b AND c."""
    if len(conditions) == 1:
        return conditions[0]
    flat = [part for c in conditions for part in (c["children"] if c["type"] == kind else [c])]
    return {"class": "CONJUNCTION", "type": kind, "alias": "", "children": flat}


COMPARISONS = {
    "COMPARE_EQUAL",
    "COMPARE_NOTEQUAL",
    "COMPARE_LESSTHAN",
    "COMPARE_LESSTHANOREQUALTO",
    "COMPARE_GREATERTHAN",
    "COMPARE_GREATERTHANOREQUALTO",
    "COMPARE_DISTINCT_FROM",
    "COMPARE_NOT_DISTINCT_FROM",
}


def comparison_node(kind: str, left: Node, right: Node) -> Node:
    return {"class": "COMPARISON", "type": kind, "alias": "", "left": left, "right": right}


def safe(expression: Expression) -> Node:
    """The tree of an expression that cannot fail: NULL takes the place of every part that does.

    Each function and each cast stands under a TRY of its own, and casts that DuckDB would add by itself
    are written out, each under its own TRY, too. One TRY around the whole would not do: DuckDB moves parts
    that occur twice out of it, to be computed once, and there they fail
    (tests/queries/test_try.py::test_a_single_try_is_not_enough).
    """
    return _analysed(expression)[0]


def kinds(expressions: list[Expression]) -> list[str]:
    """The types of these expressions, as DuckDB finds them from the types of their columns."""
    return [_analysed(expression)[1] for expression in expressions]


# Of a constant that DuckDB finds to be NULL they are a DOUBLE, whatever the part is.
DATE_PARTS = ("date_part", "datepart")


@lru_cache(maxsize=1 << 14)
def _analysed(expression: Expression) -> tuple[Node, str]:
    """The tree and the type. It is found part by part: of each part, by the types of its children."""
    if expression.column is not None:
        return column_node(expression.column.name), expression.column.kind
    fixed = SCALARS[expression.text].fixed if expression.op == "call" else ()
    places = [
        child
        if _is_literal(child) or (place in fixed and not _depends(child))
        else reference(Column(f"a{place}", _analysed(child)[1]))
        for place, child in enumerate(expression.children)
    ]
    kind, casts = _signature(replace(expression, children=tuple(places), words=""))
    children = []
    for child, place in zip(expression.children, places, strict=True):
        name = "" if place.column is None else place.column.name
        part, part_kind = _analysed(cast(child, casts[name]) if name in casts else child)
        computed = name in casts or child.op in ("call", "cast", "constant")
        looked_at = expression.op in ("call", "cast") and not computed
        children.append(_within_limits(part, part_kind) if looked_at else part)
    node = _build(expression, children)
    needed = expression.op in ("call", "cast") and not _is_literal(expression) and not _is_total(expression)
    node = operator_node("OPERATOR_TRY", node) if needed else node
    if expression.text in DATE_PARTS and not _depends(expression):
        node = _cast_node(node, kind, (), True)
    return node, kind


@cache
def _signature(part: Expression) -> tuple[str, dict[str, str]]:
    """The type of a part whose children are columns and constants; and to which types DuckDB would cast these
    columns by itself, if that can fail. Constants for which it always fails are refused.
    """
    columns = tuple((column.name, column.kind) for column in dict.fromkeys(part.columns()))
    plain = printed(select_node([_build(part, [safe(child) for child in part.children])]))
    casts = {}
    for name, value, source, target in casts_of(plain, columns):
        if value:
            if not is_value(f"SELECT CAST({value} AS {target})"):
                raise PersonWiseError(f"{value} is not a value of the type {target}", "correct it")
        elif not is_widening(source, target):
            if not name:
                raise PersonWiseError(f"{source} is taken for {target}", "write a CAST")
            casts[name] = target
        elif name and limits(source):
            casts[name] = target
    children = [
        safe(
            child
            if child.column is None or child.column.name not in casts
            else cast(child, casts[child.column.name])
        )
        for child in part.children
    ]
    tried = select_node([operator_node("OPERATOR_TRY", _build(part, children))])
    (kind,) = kinds_of(printed(tried), columns)
    return kind, casts


def _is_total(expression: Expression) -> bool:
    """Whether it has a value for every row, so that it needs no TRY, which would slow it down."""
    found = [_analysed(child)[1] for child in expression.children]
    if expression.op == "cast":
        return not expression.extra and is_widening(found[0], expression.text)
    return expression.text in TOTAL and all(kind == "VARCHAR" for kind in found)


def _within_limits(node: Node, kind: str) -> Node:
    """The value, or NULL if it is none of its type's: functions of DuckDB's fail on it even under TRY."""
    found = limits(kind)
    if found is None:
        return node
    first, last, *infinite = (
        safe(cast(constant("STRING", text), kind))
        for text in (*found, *(("-infinity", "infinity") if kind.startswith("TIMESTAMP") else ()))
    )
    between = {
        "class": "BETWEEN", "type": "COMPARE_BETWEEN", "alias": "", "input": node, "lower": first,
        "upper": last,
    }  # fmt: skip
    same = [comparison_node("COMPARE_EQUAL", node, value) for value in infinite]
    return {
        "class": "CASE", "type": "CASE_EXPR", "alias": "",
        "case_checks": [{"when_expr": and_node([between, *same], "CONJUNCTION_OR"), "then_expr": node}],
        "else_expr": _constant_node("NULL_LITERAL"),
    }  # fmt: skip


def _is_literal(expression: Expression) -> bool:
    """A constant, or a cast of one, which has been tried when it was made."""
    return expression.op == "constant" or (
        expression.op == "cast" and expression.children[0].op == "constant"
    )


def _plain(expression: Expression) -> Node:
    return _build(expression, [_plain(child) for child in expression.children], try_cast=False)


def _build(expression: Expression, children: list[Node], *, try_cast: bool = True) -> Node:
    op, text = expression.op, expression.text
    if op == "column":
        assert expression.column is not None
        return column_node(expression.column.name)
    if op == "constant":
        return _constant_node(expression.extra[0], text)
    if op == "call":
        return function_node(text, children)
    if op == "cast":
        return _cast_node(children[0], text, expression.extra, try_cast and not _is_literal(expression))
    if op == "compare":
        assert text in COMPARISONS
        return comparison_node(text, *children)
    if op in ("and", "or"):
        return and_node(children, f"CONJUNCTION_{op.upper()}")
    if op == "between":
        value, lower, upper = children
        return {
            "class": "BETWEEN", "type": "COMPARE_BETWEEN", "alias": "",
            "input": value, "lower": lower, "upper": upper,
        }  # fmt: skip
    if op == "case":
        *checks, other = children
        pairs = zip(checks[::2], checks[1::2], strict=True)
        return {
            "class": "CASE", "type": "CASE_EXPR", "alias": "",
            "case_checks": [{"when_expr": when, "then_expr": then} for when, then in pairs],
            "else_expr": other,
        }  # fmt: skip
    if op not in OPERATORS:
        raise PersonWiseError("this cannot stand inside of an expression", "use a subquery in FROM")
    return operator_node(OPERATORS[op], *children)


OPERATORS = {
    "not": "OPERATOR_NOT",
    "is null": "OPERATOR_IS_NULL",
    "is not null": "OPERATOR_IS_NOT_NULL",
    "in": "COMPARE_IN",
    "coalesce": "OPERATOR_COALESCE",
}


def _constant_node(kind: str, text: str = "") -> Node:
    literal = {"kind": kind} if kind == "NULL_LITERAL" else {"kind": kind, "text": text}
    return {"class": "CONSTANT", "type": "VALUE_CONSTANT", "alias": "", "literal": literal}


def _cast_node(child: Node, kind: str, size: tuple[int, ...], try_cast: bool) -> Node:
    named = {
        "class": "TYPE", "type": "TYPE", "alias": "", "catalog": "", "schema": "", "type_name": kind,
        "children": [_constant_node("INTEGER", str(number)) for number in size],
        "qualified_name": {"path": [kind]},
    }  # fmt: skip
    return {
        "class": "CAST", "type": "OPERATOR_CAST", "alias": "",
        "child": child, "try_cast": try_cast, "type_expr": named,
    }  # fmt: skip
