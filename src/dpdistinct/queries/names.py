"""What the names in an expression mean: from a node of the parse tree to an expression of our own."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from dpdistinct.queries.algebra import UP_TO_NOW
from dpdistinct.queries.expressions import (
    COMPARISONS,
    OPERATORS,
    Column,
    Expression,
    call,
    cast,
    constant,
    kinds,
    reference,
)
from dpdistinct.queries.functions import AGGREGATES, CASTS, EXPLAINED, SCALARS, WINDOWS
from dpdistinct.queries.refusals import PersonWiseError, at
from dpdistinct.queries.tree import Node


@dataclass(frozen=True)
class Visible:
    """A column that can be named. table: its alias. column: None if its type is not known here. merged: it
    is the second one of a pair in USING, which needs its table's name. hidden: * does not show it.
    """

    table: str
    name: str
    column: Column | None
    merged: bool = False
    hidden: bool = False


@dataclass(frozen=True)
class Over:
    """What a window function is told besides columns. partitions: how many of its children, behind the
    argument, are keys of PARTITION BY; those behind them are of ORDER BY. numbers: constant arguments.
    """

    partitions: int
    directions: tuple[tuple[str, str], ...]
    argument: bool = False
    numbers: tuple[int, ...] = ()
    frame: tuple[str, str] = UP_TO_NOW
    offsets: tuple[int | None, int | None] = (None, None)
    ignore_nulls: bool = False


Scope = Sequence[Visible]


@dataclass(frozen=True)
class Meaning:
    """words: the text of a node. aliases: of the SELECT list, by their lower case; a column comes first.
    inside: aggregates and windows are allowed.
    """

    scope: Scope
    words: Callable[[Node], str]
    aliases: Mapping[str, Callable[[], Expression]]
    inside: bool = False

    def expression(self, node: Node) -> Expression:
        with at(self.words(node)):
            found = self._expression(node)
            if all(part.op not in ("aggregate", "window") for part in found.parts()):
                kinds([found])  # what DuckDB does not take is refused here, where the words are known
            return found

    def column(self, path: Sequence[str]) -> Expression:
        name = path[-1].lower()
        if len(path) == 1:
            found = [v for v in self.scope if v.name.lower() == name and not v.merged]
        else:
            table = path[0].lower()
            found = [v for v in self.scope if v.name.lower() == name and v.table.lower() == table]
        if len(found) > 1:
            raise PersonWiseError(f"{path[-1]!r} may be a column of two tables", "write table.column")
        if found and len(path) <= 2:
            if found[0].column is None:
                raise PersonWiseError(
                    f"the column {path[-1]!r} has a type that is not known here",
                    "convert it to text or a number before",
                )
            return reference(found[0].column)
        if len(path) == 1 and name in self.aliases:
            return self.aliases[name]()
        raise self._unknown(path)

    def _unknown(self, path: Sequence[str]) -> PersonWiseError:
        name = path[-1].lower()
        if name in EXPLAINED:
            reason, way_out = EXPLAINED[name]
            return PersonWiseError(f"{name} {reason}", way_out)
        tables = {v.table.lower() for v in self.scope}
        if len(path) == 1 and name in tables:
            return PersonWiseError("a whole row is not a value here", "name its columns")
        return PersonWiseError(
            f"there is no column {'.'.join(path)!r} here (parts of a struct, and columns outside of a "
            "subquery, are not known)",
            "name a column of a table in this FROM; instead of a correlated subquery, write a join",
        )

    def _all(self, nodes: Sequence[Node]) -> tuple[Expression, ...]:
        return tuple(map(self.expression, nodes))

    def _expression(self, node: Node) -> Expression:
        kind = node["type"]
        if kind == "COLUMN_REF":
            return self.column(node["column_names"])
        if kind == "VALUE_CONSTANT":
            return constant(node["literal"]["kind"], node["literal"].get("text", ""))
        if kind in SIMPLE:
            return Expression(SIMPLE[kind], self._all(node["children"]))
        if kind in COMPARISONS and node["class"] == "COMPARISON":
            return Expression("compare", self._all([node["left"], node["right"]]), kind)
        if kind == "COMPARE_BETWEEN":
            return Expression("between", self._all([node["input"], node["lower"], node["upper"]]))
        if kind == "CASE_EXPR":
            checks = [part for c in node["case_checks"] for part in (c["when_expr"], c["then_expr"])]
            return Expression("case", self._all([*checks, node["else_expr"]]))
        if kind == "OPERATOR_CAST":
            return cast(self.expression(node["child"]), _type_of(node["type_expr"]), or_null=node["try_cast"])
        if kind == "OPERATOR_TRY":  # everything is under TRY
            return self.expression(node["children"][0])
        if kind in ("ARRAY_EXTRACT", "ARRAY_SLICE"):
            return call(kind.lower(), *self._all(node["children"]))
        if kind == "ARRAY_CONSTRUCTOR":
            return call("list_value", *self._all(node["children"]))
        if kind == "COLLATE" and node["collation"].lower() in ("c", "posix", "binary"):
            return self.expression(node["child"])  # every text is compared by its bytes
        if kind == "FUNCTION":
            return self._function(node)
        if node["class"] == "WINDOW":
            return self._window(node)
        raise _refused(node)

    def _function(self, node: Node) -> Expression:
        name = node["function_name"].lower()
        if node["schema"] or node["catalog"]:
            raise PersonWiseError(
                "a function of a schema may be anybody's, and x.f() may be either",
                "write f(x), without a dot",
            )
        if any(argument["name"] for argument in node["arguments"]):
            raise PersonWiseError(f"{name} takes no named arguments here", "leave the names out")
        nodes = [argument["expression"] for argument in node["arguments"]]
        if name in AGGREGATES or name == "count_star":
            return self._aggregate(name, nodes, node)
        if node["filter"] or node["order_bys"]["orders"] or node["distinct"] or node["export_state"]:
            raise _not_listed(name)
        if name == "unnest":
            raise PersonWiseError("unnest stands inside of an expression", "write it as a column of its own")
        written_out = WRITTEN_OUT.get(name)
        if written_out is not None:
            return written_out(*self._all(nodes)) if len(nodes) == ARGUMENTS[name] else _too_few(name)
        if name not in SCALARS:
            raise _not_listed(name)
        return call(name, *self._all(nodes))

    def _aggregate(self, name: str, nodes: list[Node], node: Node) -> Expression:
        if not self.inside:
            raise PersonWiseError(
                f"the aggregate {name} cannot stand here",
                "put it into the SELECT list or into HAVING, and not as the person's column",
            )
        if node["order_bys"]["orders"] or node["export_state"]:
            raise PersonWiseError(f"{name} takes no ORDER BY here", "leave it out")
        if name == "count" and not nodes:
            name = "count_star"
        if len(nodes) != (name != "count_star"):
            raise PersonWiseError(
                f"{name} takes one argument here", "write one; of several columns count each"
            )
        row = Meaning(self.scope, self.words, self.aliases)
        condition = [] if node["filter"] is None else [row.expression(node["filter"])]
        return Expression(
            "aggregate",
            (*row._all(nodes), *condition),
            name,
            extra=(node["distinct"], bool(condition)),
            words=self.words(node),
        )

    def _window(self, node: Node) -> Expression:
        name = node["function_name"].lower()
        if not self.inside:
            raise PersonWiseError(
                "a window function cannot stand here",
                "put it into the SELECT list or QUALIFY, and not as the person's column",
            )
        if node["schema"] or node["catalog"]:
            raise PersonWiseError("a function of a schema may be anybody's", "write its name alone")
        if name not in WINDOWS and name not in AGGREGATES and name != "count_star":
            raise _not_listed(name)
        for field, words in UNPROVEN_IN_WINDOWS.items():
            if node[field] not in (None, [], False, "NO_OTHER"):
                raise PersonWiseError(f"{words} is not proven in a window", "leave it out")
        arguments = [a["expression"] for a in node["arguments"]]
        if any(a["name"] for a in node["arguments"]):
            raise PersonWiseError(f"{name} takes no named arguments", "leave the names out")
        if name == "count" and not arguments:
            name = "count_star"
        if name in WINDOWS and not WINDOWS[name].columns:
            columns, numbers = [], arguments
        else:
            columns, numbers = arguments[:1], arguments[1:]
        if any(node[end].startswith("EXPR_") and node[end].endswith("_RANGE") for end in ("start", "end")):
            raise PersonWiseError(
                "the frame reaches back by a value, which can fail for a single row",
                "count rows (ROWS BETWEEN 3 PRECEDING AND CURRENT ROW), or join and compare the dates",
            )
        orders = node["orders"]
        parts = [*columns, *node["partitions"], *(order["expression"] for order in orders)]
        return Expression(
            "window",
            self._all(parts),
            name,
            extra=(
                Over(
                    len(node["partitions"]),
                    tuple((order["type"], order["null_order"]) for order in orders),
                    bool(columns),
                    tuple(map(_integer, numbers)),
                    (node["start"], node["end"]),
                    (_offset(node["start_expr"]), _offset(node["end_expr"])),
                    bool(node["ignore_nulls"]),
                ),
            ),
            words=self.words(node),
        )


SIMPLE = {node: op for op, node in OPERATORS.items()} | {"CONJUNCTION_AND": "and", "CONJUNCTION_OR": "or"}
UNPROVEN_IN_WINDOWS = {
    "filter_expr": "FILTER",
    "exclude_clause": "EXCLUDE",
    "distinct": "DISTINCT",
    "arg_orders": "ORDER BY inside of the function",
    "offset_expr": "an offset",
    "default_expr": "a default",
}


def _too_few(name: str) -> Expression:
    raise PersonWiseError(f"{name} takes {ARGUMENTS[name]} arguments", "write as many")


def _if(test: Expression, then: Expression, other: Expression) -> Expression:
    return Expression("case", (test, then, other))


def _nullif(value: Expression, other: Expression) -> Expression:
    same = Expression("compare", (value, other), "COMPARE_EQUAL")
    return _if(same, constant("NULL_LITERAL"), value)


def _split_part(text: Expression, by: Expression, place: Expression) -> Expression:
    part = call("list_extract", call("string_split", text, by), place)
    missing = Expression("or", tuple(Expression("is null", (part,)) for part in (text, by, place)))
    return _if(missing, constant("NULL_LITERAL"), Expression("coalesce", (part, constant("STRING", ""))))


# DuckDB has these as macros, whose bodies name other functions: written out here, with full names.
WRITTEN_OUT: dict[str, Callable[..., Expression]] = {
    "if": _if,
    "nullif": _nullif,
    "split_part": _split_part,
    "date_add": lambda day, interval: call("+", day, interval),
}
ARGUMENTS = {"if": 3, "nullif": 2, "split_part": 3, "date_add": 2}


def _type_of(node: Node) -> str:
    """The name of a type, as functions.CASTS has it, with its size."""
    name = node["type_name"].upper()
    if node["schema"] or node["catalog"] or name not in CASTS:
        raise PersonWiseError(
            f"a value cannot be cast to {node['type_name']} here", "cast it to a number, a text or a date"
        )
    sizes = [] if name in ("VARCHAR", "TEXT", "STRING", "CHAR", "BPCHAR") else node["children"]
    numbers = [str(_integer(child)) for child in sizes]
    return CASTS[name] + (f"({','.join(numbers)})" if numbers else "")


def _integer(node: Node) -> int:
    if node["class"] == "CONSTANT" and node["literal"]["kind"] == "INTEGER":
        return int(node["literal"]["text"])
    raise PersonWiseError("here a number must be written", "write a constant such as 3")


def _offset(node: Node | None) -> int | None:
    return None if node is None else _integer(node)


def _not_listed(name: str) -> PersonWiseError:
    reason, way_out = EXPLAINED.get(
        name,
        ("is not on the list of functions that are proven", "write it with functions of docs/proofs/sql.md"),
    )
    return PersonWiseError(f"{name} {reason}", way_out)


def _refused(node: Node) -> PersonWiseError:
    kind = node["class"]
    if kind == "SUBQUERY":
        return PersonWiseError(
            "a subquery as a value is not proven: over people's rows it would show them to everybody",
            "join it: FROM ... JOIN (SELECT ...) USING (PERSON); or write IN (SELECT ...) in WHERE",
        )
    if kind == "STAR":
        return PersonWiseError(
            "COLUMNS(...) and * inside of an expression are not proven", "name the columns"
        )
    if kind == "LAMBDA":
        return PersonWiseError(
            "lambda functions and -> are not proven", "unnest the list, or use ->> for JSON"
        )
    if kind == "POSITIONAL_REFERENCE":
        return PersonWiseError("#1 is not proven", "name the column")
    if kind == "COLLATE":
        return PersonWiseError("COLLATE is not proven", "compare lower(x)")
    return PersonWiseError("this is not known here", "write it with functions of docs/proofs/sql.md")
