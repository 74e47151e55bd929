"""Expressions of one row: built from the closed lists, and put under TRY.

An expression is a value of our own, made from what is known of a node and nothing else, so that no part
of a parse tree gets into the query that runs without having been looked at. Functions are written with
their full name, system.main.lower, because a macro of a database may be called lower, or even +.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from dpdistinct.sql.functions import CASTS, INTEGERS, SCALARS
from dpdistinct.sql.refusals import PersonWiseError
from dpdistinct.sql.tree import Node, is_value, kinds_of, printed


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
    """op: one of the keys of the builders below. text: a name, a type or a constant."""

    op: str
    children: tuple[Expression, ...] = ()
    text: str = ""
    column: Column | None = None
    extra: tuple[Any, ...] = ()

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
    return Expression("call", arguments, name)


def _depends(expression: Expression) -> bool:
    return next(expression.columns(), None) is not None


def _at_most(expression: Expression, limit: int) -> bool:
    return (expression.op, expression.extra) == ("constant", ("INTEGER",)) and int(expression.text) <= limit


def constant(kind: str, text: str = "") -> Expression:
    if kind not in ("INTEGER", "NUMERIC", "STRING", "BOOLEAN", "NULL_LITERAL"):
        raise PersonWiseError("it is a kind of constant that is not known here", "write a number or a text")
    return Expression("constant", text=text, extra=(kind,))


def cast(child: Expression, kind: str) -> Expression:
    """To a type on the list; a constant must be one of the type."""
    name, _, size = kind.partition("(")
    if CASTS.get(name) != name:
        raise PersonWiseError(
            f"a value cannot be cast to {kind} here", "cast it to a number, a text or a date"
        )
    expression = Expression("cast", (child,), name, extra=tuple(int(n) for n in size[:-1].split(",") if n))
    if child.op == "constant" and not is_value(printed(select_node([_plain(expression)]))):
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


def and_node(conditions: list[Node]) -> Node:
    if len(conditions) == 1:
        return conditions[0]
    return {"class": "CONJUNCTION", "type": "CONJUNCTION_AND", "alias": "", "children": conditions}


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
CONDITIONS = {"compare", "and", "or", "not", "is null", "is not null", "between", "in"}
CONDITION_CALLS = {
    *("~~", "!~~", "~~*", "!~~*", "~~~", "^@", "starts_with", "prefix", "ends_with", "suffix", "contains"),
    *("regexp_matches", "regexp_full_match", "list_contains", "isnan", "isinf", "isfinite"),
}


def comparison_node(kind: str, left: Node, right: Node) -> Node:
    return {"class": "COMPARISON", "type": kind, "alias": "", "left": left, "right": right}


def safe(expression: Expression) -> Node:
    """The tree of an expression that cannot fail: NULL takes the place of every part that does.

    Each part stands under a TRY of its own. One around the whole would not do: DuckDB moves parts that
    occur twice out of it, to be computed once, and then they fail outside of it
    (tests/sql/test_try.py::test_a_single_try_is_not_enough).
    """
    node = _build(expression, [safe(child) for child in expression.children])
    return node if _never_fails(expression) else operator_node("OPERATOR_TRY", node)


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
        return _cast_node(children[0], text, expression.extra, try_cast and not _is_checked(expression))
    if op == "compare":
        assert text in COMPARISONS
        return comparison_node(text, *children)
    if op in ("and", "or"):
        kind = f"CONJUNCTION_{op.upper()}"
        return {"class": "CONJUNCTION", "type": kind, "alias": "", "children": children}
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


def _is_checked(expression: Expression) -> bool:
    """A cast of a constant has been tried when it was made."""
    return expression.op == "cast" and expression.children[0].op == "constant"


def _never_fails(expression: Expression) -> bool:
    """Whether it can do without a TRY around it, if its parts cannot fail. When in doubt: no.

    A comparison that needs none can be handed on to whoever reads the file.
    """
    op, children = expression.op, expression.children
    if op in ("column", "constant", "is null", "is not null") or _is_checked(expression):
        return True
    if op in ("and", "or", "not"):
        return all(map(_is_condition, children))
    return op in ("compare", "between", "in") and all(_compares_alike(children[0], c) for c in children[1:])


def _is_condition(expression: Expression) -> bool:
    if expression.op == "call":
        return expression.text in CONDITION_CALLS
    return expression.op in CONDITIONS or _simple_kind(expression) == "BOOLEAN"


def _compares_alike(left: Expression, right: Expression) -> bool:
    """Whether two columns, or a column and a constant, are compared without a cast of a column."""
    if right.op == "column":
        left, right = right, left
    kind = _simple_kind(left)
    if kind is None or left.op != "column":
        return False
    if right.op == "constant" and right.extra == ("INTEGER",):
        return kind in INTEGERS and (kind[0] != "U" or right.text[0] != "-") and abs(int(right.text)) < 2**63
    if right.op == "constant" and right.extra == ("STRING",):
        return kind == "VARCHAR"
    return kind == _simple_kind(right)


def _simple_kind(expression: Expression) -> str | None:
    """The type of a column, or of a constant that has one; None for all else."""
    if expression.column is not None:
        return expression.column.kind
    if expression.op == "constant" and expression.extra == ("BOOLEAN",):
        return "BOOLEAN"
    return expression.text if _is_checked(expression) and not expression.extra else None


def kinds(expressions: list[Expression]) -> list[str]:
    """The types of these expressions, as DuckDB finds them from the types of their columns."""
    unknown = [expression for expression in expressions if expression.op != "column"]
    found: Iterator[str] = iter(())
    if unknown:
        names = {column.name: column.kind for expression in unknown for column in expression.columns()}
        select = printed(select_node([safe(expression) for expression in unknown]))
        found = iter(kinds_of(select, tuple(sorted(names.items()))))
    return [next(found) if e.column is None else e.column.kind for e in expressions]
