"""The rules: what may be made of relations that are person-wise, so that the result is, too.

A `Relation` is a query together with the proof that it is person-wise, and the functions of this module
are the only ones that make one. Each is a rule (a lemma of docs/proofs/sql.md): it looks at the
condition of the lemma and refuses, or hands out the next relation. So whoever reads this module,
expressions.py and functions.py has read everything that the promise rests on: a mistake anywhere else,
such as a name that was understood in another way than DuckDB does, makes another query, but not one that
breaks the promise.

Person-wise means, for tables D_1, D_2, ... of one person each (and public tables, which never change):

    Q(D_1 + D_2 + ...) = Q(D_1) + Q(D_2) + ...   as multisets, each Q(D_x) with the person x in all rows.

Every relation is one SELECT over others, in which keys and arguments are columns; expressions stand in
`projected`, `filtered` and `joined` alone, under TRY.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count

from dpdistinct.queries.expressions import (
    Column,
    Expression,
    and_node,
    column_node,
    comparison_node,
    function_node,
    kinds,
    reference,
    safe,
    select_node,
    table_node,
)
from dpdistinct.queries.expressions import cast as cast_to
from dpdistinct.queries.expressions import constant as constant_of
from dpdistinct.queries.functions import AGGREGATES, FLOATS, WINDOWS, fits, is_list, is_scalar
from dpdistinct.queries.refusals import PersonWiseError
from dpdistinct.queries.tree import Node, is_value, kinds_of, print_tree, printed


@dataclass(frozen=True)
class Proof:
    """Why a relation is person-wise. rule: the lemma, with its number in docs/proofs/sql.md. about: the words
    of the query. premises: the relations it is made of.
    """

    rule: str
    about: str = ""
    premises: tuple[Proof, ...] = ()

    def lines(self, depth: int = 0) -> Iterator[str]:
        """The tree as text, a line for each rule."""
        yield f"{'  ' * depth}{self.rule}{': ' if self.about else ''}{self.about}"
        for premise in self.premises:
            yield from premise.lines(depth + 1)

    def __str__(self) -> str:
        return "\n".join(self.lines())


@dataclass(frozen=True)
class Table:
    """A table that a query may name. columns: their types by name, as DuckDB writes them. person: the columns
    that say who, or none if the table is public. path: its name for the connection that runs the query.
    who: instead of `person`, names and expressions of the row that say who, as a parse tree has them.

    All its text must be UTF-8: on other text DuckDB's functions fail in a way that TRY does not catch. And
    no column may have a collation of its own, which EXCEPT of DuckDB would use whatever the query says.
    """

    columns: Mapping[str, str]
    person: tuple[str, ...] = ()
    path: tuple[str, ...] = ()
    who: tuple[tuple[str, Node], ...] = ()

    def knows(self, column: str) -> bool:
        """Whether a query may name this column."""
        return is_scalar(self.columns[column]) or is_list(self.columns[column])


@dataclass(frozen=True)
class Relation:
    """A query that is person-wise, or public. Made by the rules of this module only."""

    node: Node = field(repr=False)
    columns: tuple[Column, ...]
    parts: int  # of the person: 0 for a public relation
    proof: Proof
    shared: tuple[tuple[str, Node], ...] = field(default=(), repr=False)  # what it refers to by name

    @property
    def private(self) -> bool:
        return self.parts > 0

    def person(self) -> list[Column]:
        """A copy of each part of the person."""
        return [next(c for c in self.columns if c.person == part) for part in range(self.parts)]

    def keeps_person(self, columns: Sequence[Column]) -> bool:
        return {c.person for c in columns if c.person is not None} == set(range(self.parts))


@dataclass(frozen=True)
class Aggregate:
    """name: of the closed list; or count_star, without an argument."""

    name: str
    argument: Column | None = None
    distinct: bool = False
    condition: Column | None = None


@dataclass(frozen=True)
class Order:
    column: Column
    direction: str = "ORDER_DEFAULT"
    nulls: str = "ORDER_DEFAULT"


UP_TO_NOW = ("UNBOUNDED_PRECEDING", "CURRENT_ROW_RANGE")


@dataclass(frozen=True)
class WindowCall:
    """numbers: constant arguments after the column. frame: DuckDB's names of its ends; offsets: how far."""

    name: str
    argument: Column | None
    numbers: tuple[int, ...]
    partition: tuple[Column, ...]
    order: tuple[Order, ...]
    frame: tuple[str, str] = UP_TO_NOW
    offsets: tuple[int | None, int | None] = (None, None)
    ignore_nulls: bool = False


class Algebra:
    """The rules, with names for columns and steps that occur nowhere else in the query."""

    def __init__(self, taken: Sequence[str] = ()) -> None:
        """taken: names of tables, which no step may have."""
        self._columns, self._steps = count(1), count(1)
        self._taken = {name.lower() for name in taken}

    def _column(self, kind: str, person: int | None = None) -> Column:
        return Column(f"c{next(self._columns)}", kind, person)

    def _copies(self, columns: Sequence[Column]) -> tuple[tuple[Column, ...], list[Node]]:
        """The same columns for the next relation, and the SELECT list that hands them on."""
        new = tuple(self._column(c.kind, c.person) for c in columns)
        return new, [_alias(column_node(a.name), b.name) for a, b in zip(columns, new, strict=True)]

    def _step(self) -> str:
        return next(name for i in self._steps if (name := f"step_{i}") not in self._taken)

    # S1, S2: tables

    def scanned(
        self,
        table: Table,
        names: Sequence[str],
        about: str,
        who: Callable[[Sequence[Column]], Sequence[Expression]] | None = None,
    ) -> Relation:
        """Rule S1 and S2: the rows of a table. who: the person as expressions of its columns, which are added
        as its last columns; without them, the person is the table's.

        Text is compared by its bytes whatever collation the column has, and -0.0 and NaN are made one, so
        that equal values are the same value.
        """
        items, columns = [], []
        for name in names:
            kind = table.columns[name]
            if not table.knows(name):
                raise PersonWiseError(
                    f"the column {name!r} has a type that is not known here",
                    "name the columns you need, or convert it to text or a number before",
                )
            column = self._column(kind, table.person.index(name) if name in table.person else None)
            items.append(_named(_canonical(column_node(name), kind), column))
            columns.append(column)
        source = table_node(table.path)
        if who is not None:
            return self._whose(Relation(select_node(items, source), tuple(columns), 0, Proof("")), who, about)
        rule = "S1 private table" if table.person else "S2 public table"
        scan = Relation(select_node(items, source), tuple(columns), len(table.person), Proof(rule, about))
        if not scan.keeps_person(scan.columns):
            raise PersonWiseError("the person's columns are not all there", "name them")
        return scan

    def _whose(
        self, rows: Relation, who: Callable[[Sequence[Column]], Sequence[Expression]], about: str
    ) -> Relation:
        """Rule S1, where the person is computed from the row."""
        found = who(rows.columns)
        step = self.projected(rows, [*map(reference, rows.columns), *found])
        kept, added = step.columns[: len(rows.columns)], step.columns[len(rows.columns) :]
        if not all(is_scalar(column.kind) for column in added):
            raise PersonWiseError("a list says who", "make it a text or a number")
        person = tuple(replace(column, person=part) for part, column in enumerate(added))
        return Relation(step.node, (*kept, *person), len(person), Proof("S1 private table", about))

    def constants(self, rows: Sequence[Sequence[Expression]], about: str) -> Relation:
        """Rule S2: rows that are written in the query."""
        if any(next(cell.columns(), None) for row in rows for cell in row):
            raise PersonWiseError("VALUES may hold constants only", "write a SELECT")
        values = self._subquery(
            select_node(
                [{"class": "STAR", "type": "STAR", "alias": "", "relation_name": ""}],
                {
                    "type": "EXPRESSION_LIST", "alias": "valueslist", "sample": None,
                    "expected_names": [], "expected_types": [],
                    "values": [[safe(cell) for cell in row] for row in rows],
                },
            )
        )  # fmt: skip
        names = [f"col{i}" for i in range(len(rows[0]))]
        text = printed(select_node([column_node(name) for name in names], values))
        if not is_value(text):
            raise PersonWiseError(
                "the rows of VALUES do not go together", "give them the same number and types"
            )
        columns = tuple(map(self._column, kinds_of(text, ())))
        if not all(is_scalar(column.kind) for column in columns):
            raise PersonWiseError(
                "VALUES has a type that is not known here", "cast it to a number, a text or a date"
            )
        items = [_named(_canonical(column_node(n), c.kind), c) for n, c in zip(names, columns, strict=True)]
        return Relation(select_node(items, values), columns, 0, Proof("S2 constants", about))

    def nothing(self) -> Relation:
        """Rule S2: the one row of a SELECT without FROM."""
        column = self._column("INTEGER")
        node = select_node([_alias(_number(1), column.name)])
        return Relation(node, (column,), 0, Proof("S2 constants", "one row"))

    # S3, S4: one row at a time

    def projected(self, of: Relation, items: Sequence[Expression], about: str = "") -> Relation:
        """Rule S3: expressions of each row, with the person among them as it is."""
        self._known(of, *items)
        kept = [item.column for item in items if item.op == "column" and item.column is not None]
        if not of.keeps_person(kept):
            raise PersonWiseError(
                "the person is lost here",
                "keep the person's column in the SELECT, as it is (not excluded, replaced or computed)",
            )
        found = kinds(list(items))
        columns = []
        for item, kind in zip(items, found, strict=True):
            if not is_scalar(kind) and not is_list(kind):
                raise PersonWiseError(
                    f"this has the type {kind}, of which equal values may differ",
                    "cast it to a number, a text or a date",
                )
            columns.append(self._column(kind, None if item.column is None else item.column.person))
        computed = [
            self._column(c.kind) if item.op != "column" and c.kind in FLOATS else c
            for item, c in zip(items, columns, strict=True)
        ]
        forms = [
            _named(_binary(safe(item)) if item.op != "column" and c.kind == "VARCHAR" else safe(item), c)
            for item, c in zip(items, computed, strict=True)
        ]
        node = select_node(forms, self._source(of))
        if computed != columns:  # a step of its own, so that nothing is computed twice
            pairs = zip(computed, columns, strict=True)
            again = [
                _named(column_node(a.name) if a is b else _canonical(column_node(a.name), a.kind), b)
                for a, b in pairs
            ]
            node = select_node(again, self._subquery(node))
        return Relation(node, tuple(columns), of.parts, Proof("S3 columns", about, (of.proof,)), of.shared)

    def filtered(self, of: Relation, condition: Expression, about: str = "") -> Relation:
        """Rule S4: the rows for which a condition of the row holds."""
        self._known(of, condition)
        self._known_conditions([condition])
        columns, items = self._copies(of.columns)
        node = select_node(items, self._source(of), where_clause=safe(condition))
        return Relation(node, columns, of.parts, Proof("S4 condition", about, (of.proof,)), of.shared)

    # S5: joins

    def joined(
        self,
        left: Relation,
        right: Relation,
        kind: str,
        equal: Sequence[tuple[Column, Column]] = (),
        condition: Expression | None = None,
        about: str = "",
    ) -> Relation:
        """Rule S5: rows of two relations. equal: columns of one type that must be equal.

        Private with private: every part of the person must be equal. With a public side: the private
        one must be the one whose rows are kept.
        """
        if kind not in ("INNER", "LEFT", "SEMI", "ANTI"):
            raise PersonWiseError(
                "this kind of join is not known here", "use JOIN, LEFT JOIN, SEMI JOIN or ANTI JOIN"
            )
        for a, b in equal:
            if a not in left.columns or b not in right.columns or a.kind != b.kind or not is_scalar(a.kind):
                raise PersonWiseError("columns of different types are compared", "cast one of them")
        self._known_columns((*left.columns, *right.columns), () if condition is None else (condition,))
        if left.private and right.private:
            same = {a.person for a, b in equal if a.person is not None and a.person == b.person}
            if left.parts != right.parts or same != set(range(left.parts)):
                raise PersonWiseError(
                    "rows of different people are joined",
                    "add the equality of the persons: JOIN ... USING (PERSON), or ON a.PERSON = b.PERSON",
                )
            rule = "S5 join on the person"
        elif right.private and kind != "INNER":
            raise PersonWiseError(
                "a public table's rows are kept or dropped by what people did",
                "start from the private table: FROM private LEFT JOIN public, or use an inner JOIN",
            )
        else:
            rule = "S5 join with a public table" if left.private or right.private else "S2 public join"
        if condition is not None:
            self._known_conditions([condition])
        tests = [comparison_node("COMPARE_EQUAL", column_node(a.name), column_node(b.name)) for a, b in equal]
        tests += [] if condition is None else [safe(condition)]
        lost = [replace(c, person=None) for c in right.columns] if kind == "LEFT" else list(right.columns)
        old = [*left.columns, *([] if kind in ("SEMI", "ANTI") else lost)]
        columns, items = self._copies(old)
        source: Node = {
            "type": "JOIN", "alias": "", "sample": None,
            "left": self._source(left), "right": self._source(right),
            "condition": and_node(tests) if tests else _true(),
            "join_type": kind, "ref_type": "REGULAR", "using_columns": [], "delim_flipped": False,
            "duplicate_eliminated_columns": [], "is_implicit": False, "ranking_expression": None,
            "nearest_count": 1, "nearest_order_type": "ASCENDING", "nearest_approx": False,
        }  # fmt: skip
        return Relation(
            select_node(items, source),
            columns,
            left.parts or right.parts,
            Proof(rule, about, (left.proof, right.proof)),
            _merged(left, right),
        )

    # S6, S7, S8: groups of rows

    def aggregated(
        self, of: Relation, keys: Sequence[Column], aggregates: Sequence[Aggregate], about: str = ""
    ) -> Relation:
        """Rule S6: one row for each group of rows; with the person among the keys."""
        self._known_columns(of.columns, (), *keys)
        if not of.keeps_person(keys):
            raise PersonWiseError(
                "rows of different people are put together",
                "add the person to the keys: GROUP BY PERSON, ...",
            )
        if not all(is_scalar(key.kind) for key in keys):
            raise PersonWiseError("a list is a key", "group by its elements: unnest it first")
        columns, items = self._copies(keys)
        for aggregate in aggregates:
            column = self._column(_kind_of_aggregate(aggregate))
            columns += (column,)
            items.append(_named(self._aggregate_node(of, aggregate), column))
        groups = {"group_expressions": [column_node(key.name) for key in keys]}
        node = select_node(
            items, self._source(of), **groups, group_sets=[list(range(len(keys)))] if keys else []
        )
        return Relation(node, columns, of.parts, Proof("S6 groups", about, (of.proof,)), of.shared)

    def _aggregate_node(self, of: Relation, aggregate: Aggregate) -> Node:
        named = [c for c in (aggregate.argument, aggregate.condition) if c is not None]
        self._known_columns(of.columns, (), *named)
        condition = aggregate.condition
        if condition is not None and condition.kind != "BOOLEAN":
            raise PersonWiseError("FILTER needs a condition", "write a comparison")
        filtered = {} if condition is None else {"filter": column_node(condition.name)}
        if aggregate.argument is None:
            if aggregate.name != "count_star" or aggregate.distinct:
                raise PersonWiseError(f"{aggregate.name} needs an argument", "name a column")
            return function_node("count_star", [], **filtered)
        _check_argument(aggregate.name, aggregate.argument.kind)
        arguments = [column_node(aggregate.argument.name)]
        return function_node(aggregate.name, arguments, distinct=aggregate.distinct, **filtered)

    def distinct(self, of: Relation, about: str = "") -> Relation:
        """Rule S7: every row once."""
        if not all(is_scalar(column.kind) for column in of.columns):
            raise PersonWiseError("a list is among the columns", "unnest it first, or leave it out")
        columns, items = self._copies(of.columns)
        node = select_node(items, self._source(of), modifiers=[_distinct()])
        return Relation(node, columns, of.parts, Proof("S7 distinct rows", about, (of.proof,)), of.shared)

    def windowed(self, of: Relation, calls: Sequence[WindowCall], about: str = "") -> Relation:
        """Rule S8: a column computed from the rows of each partition; with the person in PARTITION BY.

        Where rows that ORDER BY leaves equal may get different results, all other columns come after it,
        so that rows are then interchangeable.
        """
        columns, items = self._copies(of.columns)
        for window in calls:
            column = self._column(_kind_of_window(window))
            columns += (column,)
            items.append(_named(self._window_node(of, window), column))
        node = select_node(items, self._source(of))
        return Relation(node, columns, of.parts, Proof("S8 window", about, (of.proof,)), of.shared)

    def _window_node(self, of: Relation, window: WindowCall) -> Node:
        ordered = [order.column for order in window.order]
        named = [*window.partition, *ordered, *([] if window.argument is None else [window.argument])]
        self._known_columns(of.columns, (), *named)
        if not of.keeps_person(window.partition):
            raise PersonWiseError(
                "a window function looks at rows of different people",
                "add the person: OVER (PARTITION BY PERSON ...)",
            )
        if not all(is_scalar(column.kind) for column in (*window.partition, *ordered)):
            raise PersonWiseError(
                "a list is in PARTITION BY or ORDER BY", "use its elements: unnest it first"
            )
        rule = WINDOWS.get(window.name)
        frame, rows = window.frame, any(end.endswith("_ROWS") for end in window.frame)
        if rule is None:
            _check_window_aggregate(window)
            ties = rows
        else:
            _check_window_function(window)
            ties = rule.ties
        orders = list(window.order)
        if ties:
            orders += [Order(column) for column in of.columns if column not in ordered]
        starred = window.name == "count_star"
        arguments = [] if window.argument is None else [column_node(window.argument.name)]
        arguments += [_number(number) for number in window.numbers]
        start, end = (None if offset is None else _number(offset) for offset in window.offsets)
        name = "count" if starred else window.name
        return {
            "class": "WINDOW", "type": "WINDOW_AGGREGATE" if rule is None else rule.node, "alias": "",
            "function_name": name, "schema": "main", "catalog": "system",
            "partitions": [column_node(column.name) for column in window.partition],
            "orders": [
                {"type": o.direction, "null_order": o.nulls, "expression": column_node(o.column.name)}
                for o in orders
            ],
            "start": frame[0], "end": frame[1], "start_expr": start, "end_expr": end,
            "offset_expr": None, "default_expr": None, "filter_expr": None,
            "ignore_nulls": window.ignore_nulls,
            "exclude_clause": "NO_OTHER", "distinct": False, "arg_orders": [],
            "has_ignore_nulls": window.ignore_nulls,
            "arguments": [{"name": "", "expression": argument} for argument in arguments],
            "qualified_name": {"path": ["system", "main", name]},
        }  # fmt: skip

    # S9, S10, S11

    def combined(
        self, left: Relation, right: Relation, kind: str, *, every: bool = False, about: str = ""
    ) -> Relation:
        """Rule S9: UNION, INTERSECT, EXCEPT: columns of the same types, the person in the same place."""
        if kind not in ("UNION", "INTERSECT", "EXCEPT"):
            raise PersonWiseError("this set operation is not known here", "use UNION, INTERSECT or EXCEPT")
        if left.private != right.private:
            raise PersonWiseError(
                "rows of people and public rows are put together, and a public row has no person",
                "join the public table instead",
            )
        if [c.kind for c in left.columns] != [c.kind for c in right.columns]:
            raise PersonWiseError(
                "the columns of both sides have different types", "cast them to the same types"
            )
        if not every and not all(is_scalar(c.kind) for c in left.columns):
            raise PersonWiseError("a list is among the columns", "unnest it first, or leave it out")
        columns = tuple(
            self._column(a.kind, a.person if a.person == b.person else None)
            for a, b in zip(left.columns, right.columns, strict=True)
        )
        sides = [
            select_node(
                [_alias(column_node(a.name), b.name) for a, b in zip(side.columns, columns, strict=True)],
                self._source(side),
            )
            for side in (left, right)
        ]
        node = {
            "type": "SET_OPERATION_NODE", "modifiers": [], "cte_map": {"map": []}, "setop_type": kind,
            "setop_all": every, "left": None, "right": None, "children": sides,
        }  # fmt: skip
        wrapped = select_node([column_node(c.name) for c in columns], self._subquery(node))
        proof = Proof(f"S9 {kind.lower()}", about, (left.proof, right.proof))
        result = Relation(wrapped, columns, left.parts, proof, _merged(left, right))
        if not result.keeps_person(columns) or left.parts != right.parts:
            raise PersonWiseError(
                "the person is not in the same column on both sides",
                "put the person's column in the same place",
            )
        return result

    def recast(self, of: Relation, kinds: Sequence[str]) -> Relation:
        """Rule S3: the same columns, of other types where these differ."""
        if len(kinds) != len(of.columns):
            raise PersonWiseError("the two sides have different numbers of columns", "name as many on both")
        if list(kinds) == [c.kind for c in of.columns]:
            return of
        pairs = zip(of.columns, kinds, strict=True)
        return self.projected(
            of, [reference(c) if c.kind == k else cast_to(reference(c), k) for c, k in pairs]
        )

    def unnested(self, of: Relation, column: Column, about: str = "") -> Relation:
        """Rule S10: a row for each element of a list of the row."""
        self._known_columns(of.columns, (), column)
        if not is_list(column.kind):
            raise PersonWiseError(
                "only a list of plain values can be unnested", "make a list, e.g. with string_split"
            )
        columns, items = self._copies(of.columns)
        element, computed = self._column(column.kind[:-2]), self._column(column.kind[:-2])
        items.append(_named(function_node("unnest", [column_node(column.name)]), computed))
        inner = select_node(items, self._source(of))
        outer = [column_node(c.name) for c in columns]
        outer.append(_named(_canonical(column_node(computed.name), computed.kind), element))
        node = select_node(outer, self._subquery(inner))
        return Relation(
            node, (*columns, element), of.parts, Proof("S10 unnest", about, (of.proof,)), of.shared
        )

    def named(self, of: Relation) -> tuple[str, Relation]:
        """Rule S11: a relation that is used several times, as WITH writes it; and its name."""
        name = self._step()
        return name, replace(of, shared=(*of.shared, (name, of.node)))

    def used(self, name: str, of: Relation, about: str) -> Relation:
        """Rule S11: one use of it."""
        columns, items = self._copies(of.columns)
        source = table_node((name,))
        proof = Proof("S11 WITH", about, (of.proof,))
        return Relation(select_node(items, source), columns, of.parts, proof, of.shared)

    # What the rules share

    def text(self, of: Relation, names: Sequence[str]) -> str:
        """The query, with these names for its columns."""
        items = [_alias(column_node(c.name), name) for c, name in zip(of.columns, names, strict=True)]
        steps = [
            {
                "key": name,
                "value": {
                    "aliases": [], "materialized": "CTE_MATERIALIZE_DEFAULT", "key_targets": [],
                    "payload_aggregates": [], "query_node": node,
                },
            }
            for name, node in of.shared
        ]  # fmt: skip
        return print_tree(select_node(items, self._source(of), cte_map={"map": steps}))

    def _source(self, of: Relation) -> Node:
        return self._subquery(of.node)

    def _subquery(self, node: Node) -> Node:
        return {
            "type": "SUBQUERY", "alias": f"r{next(self._columns)}", "sample": None,
            "subquery": {"node": node, "named_param_map": []}, "column_name_alias": [],
        }  # fmt: skip

    def _known(self, of: Relation, *expressions: Expression) -> None:
        self._known_columns(of.columns, expressions)

    def _known_columns(
        self, columns: Sequence[Column], expressions: Sequence[Expression], *named: Column
    ) -> None:
        """No rule looks at a column of another relation."""
        seen = {*named, *(column for expression in expressions for column in expression.columns())}
        if not seen <= set(columns):
            raise PersonWiseError("a column of another part of the query is used", "join that part")

    def _known_conditions(self, conditions: list[Expression]) -> None:
        if kinds(conditions) != ["BOOLEAN"]:
            raise PersonWiseError("a condition must be true or false", "write a comparison")


def _merged(left: Relation, right: Relation) -> tuple[tuple[str, Node], ...]:
    return tuple(dict((*left.shared, *right.shared)).items())


def _alias(node: Node, name: str) -> Node:
    return {**node, "alias": name}


def _named(node: Node, column: Column) -> Node:
    return _alias(node, column.name)


def _number(value: int) -> Node:
    return safe(constant_of("INTEGER", str(value)))


def _true() -> Node:
    return safe(constant_of("BOOLEAN", "true"))


def _distinct() -> Node:
    return {"type": "DISTINCT_MODIFIER", "distinct_on_targets": []}


def _binary(node: Node) -> Node:
    return {"class": "COLLATE", "type": "COLLATE", "alias": "", "child": node, "collation": "binary"}


def _canonical(node: Node, kind: str) -> Node:
    """The same value; of those that are equal and yet differ, always the same one."""
    if kind == "VARCHAR":
        return _binary(node)
    if kind not in FLOATS:
        return node
    zero, nan = (safe(cast_to(constant_of("STRING", text), kind)) for text in ("0", "nan"))
    return {
        "class": "CASE", "type": "CASE_EXPR", "alias": "",
        "case_checks": [
            {"when_expr": comparison_node("COMPARE_EQUAL", node, zero), "then_expr": zero},
            {"when_expr": comparison_node("COMPARE_EQUAL", node, nan), "then_expr": nan},
        ],
        "else_expr": node,
    }  # fmt: skip


def _check_argument(name: str, kind: str) -> None:
    rule = AGGREGATES.get(name)
    if rule is None:
        raise PersonWiseError(
            f"{name} is not on the list of aggregates", f"use one of {', '.join(sorted(AGGREGATES))}"
        )
    if not fits(rule, kind):
        raise PersonWiseError(
            f"{name} needs {rule}, and this is {kind}: it could fail, or depend on the order of rows",
            "cast it: CAST(x AS BIGINT) or CAST(x AS DECIMAL(18, 3))",
        )


def _kind_of_aggregate(aggregate: Aggregate) -> str:
    if aggregate.argument is None:
        return "BIGINT"
    _check_argument(aggregate.name, aggregate.argument.kind)
    column = aggregate.argument
    call = f"SELECT system.main.{aggregate.name}({column.name})"
    (kind,) = kinds_of(call, ((column.name, column.kind),))
    return kind


def _kind_of_window(window: WindowCall) -> str:
    if window.name in ("count_star", "row_number", "rank", "dense_rank", "ntile"):
        return "BIGINT"
    if window.name in ("percent_rank", "cume_dist"):
        return "DOUBLE"
    if window.argument is None:
        raise PersonWiseError(f"{window.name} needs an argument", "name a column")
    if window.name in WINDOWS:
        return window.argument.kind
    return _kind_of_aggregate(Aggregate(window.name, window.argument))


FRAME_ENDS = {
    *("UNBOUNDED_PRECEDING", "UNBOUNDED_FOLLOWING"),
    *("CURRENT_ROW_RANGE", "CURRENT_ROW_ROWS", "CURRENT_ROW_GROUPS"),
    *("EXPR_PRECEDING_ROWS", "EXPR_FOLLOWING_ROWS", "EXPR_PRECEDING_GROUPS", "EXPR_FOLLOWING_GROUPS"),
}


def _check_window_aggregate(window: WindowCall) -> None:
    if window.name != "count_star":
        if window.argument is None:
            raise PersonWiseError(f"{window.name} needs an argument", "name a column")
        _check_argument(window.name, window.argument.kind)
    if window.numbers or window.ignore_nulls:
        raise PersonWiseError(f"{window.name} takes one column in a window", "leave the rest out")
    _check_frame(window)


def _check_frame(window: WindowCall) -> None:
    for end, offset in zip(window.frame, window.offsets, strict=True):
        if end not in FRAME_ENDS:
            raise PersonWiseError("this frame is not known here", "use ROWS BETWEEN ... AND ...")
        if end.startswith("EXPR_") != (offset is not None) or (
            offset is not None and not 0 <= offset < 2**31
        ):
            raise PersonWiseError("the frame needs a number of rows from 0 on", "write a constant")


def _check_window_function(window: WindowCall) -> None:
    rule = WINDOWS[window.name]
    if (window.argument is not None) != bool(rule.columns):
        raise PersonWiseError(f"{window.name} takes {rule.columns} columns", "write it so")
    if len(window.numbers) > rule.fixed or not all(0 < number < 2**31 for number in window.numbers):
        raise PersonWiseError(
            f"{window.name} takes at most {rule.fixed} number from 1 on, and no default",
            "use coalesce around it for a default",
        )
    if window.name in ("ntile", "nth_value") and len(window.numbers) != 1:
        raise PersonWiseError(f"{window.name} needs a number", "write a constant")
    if window.ignore_nulls and not rule.columns:
        raise PersonWiseError(f"{window.name} has no NULLs to ignore", "leave IGNORE NULLS out")
    if not window.order:
        raise PersonWiseError(
            f"{window.name} without ORDER BY depends on the order in which rows arrive",
            "add ORDER BY to the window",
        )
    _check_frame(window)
    rows = all(e.endswith("_ROWS") or e.startswith("UNBOUNDED") for e in window.frame)
    first = window.name == "first_value" and window.frame == UP_TO_NOW and not window.ignore_nulls
    if window.name in ("first_value", "last_value", "nth_value") and not rows and not first:
        raise PersonWiseError(
            f"what {window.name} finds in this frame depends on the order of rows that ORDER BY leaves equal",
            "add ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING",
        )
    if window.name not in ("first_value", "last_value", "nth_value") and window.frame != UP_TO_NOW:
        raise PersonWiseError(f"{window.name} takes no frame", "leave the frame out")
