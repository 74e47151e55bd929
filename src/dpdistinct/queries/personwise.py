"""From the text of a query to a proof that it is person-wise, or a refusal that names the way out.

`prove` reads DuckDB's parse tree, finds out what its names mean and writes the query anew, step by step,
with the rules of algebra.py. What these rules refuse is refused; what is not mentioned here, too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from dpdistinct.errors import ParameterError
from dpdistinct.queries.algebra import (
    Aggregate,
    Algebra,
    Order,
    Proof,
    Relation,
    Table,
    WindowCall,
)
from dpdistinct.queries.expressions import Column, Expression, constant, kinds, reference, select_node
from dpdistinct.queries.functions import is_scalar
from dpdistinct.queries.names import Meaning, Over, Scope, Visible
from dpdistinct.queries.refusals import PersonWiseError, at, shortened
from dpdistinct.queries.tree import Node, conjuncts, kinds_of, own_name, parse, printed, words_of
from dpdistinct.queries.whose import identified


@dataclass(frozen=True)
class Proven:
    """sql: the query that runs. tree: why it is person-wise. columns: their types by name, in order.
    person: for each part of the person, the columns of the result that are copies of it.
    """

    sql: str
    tree: Proof
    columns: Mapping[str, str]
    person: tuple[frozenset[str], ...]


def prove(
    text: str,
    *,
    private: Mapping[str, Table],
    public: Mapping[str, Table] | None = None,
    person: Sequence[str] = (),
) -> Proven:
    """The query in a form that is proven person-wise, or a PersonWiseError.

    Guarantee: for every person x, the rows of x in the result of `sql` are a function of the rows of x in
    the private tables and of the public tables; and no row makes it fail
    (docs/proofs/sql.md; tests/queries/test_law.py).

    private: tables by the names that the query has for them, each with the columns that say who. public:
    tables without people. person: instead, the columns of the result that say who, for private tables that
    do not tell (whose.py).
    """
    shown = ", ".join(person or next(iter(private.values())).person)
    try:
        tree = parse(text)
        if person:
            lowered = {
                name.lower(): replace(table, path=table.path or (name,)) for name, table in private.items()
            }
            tree, private = identified(tree, person, lowered)
        tables = _declared(private, public or {})
        translation = _Translation(text, tables)
        relation, scope = translation.query(tree, {})
        names = [visible.name for visible in scope]
        _check_result(relation, names, person)
        sql = translation.algebra.text(relation, names)
    except PersonWiseError as refusal:
        way_out = refusal.way_out.replace("PERSON", shown)
        raise type(refusal)(refusal.reason, way_out, refusal.part) from None
    except RecursionError:
        raise ParameterError("sql is nested too deeply; write parts of it as WITH name AS (...)") from None
    columns = relation.columns
    return Proven(
        sql=sql,
        tree=relation.proof,
        columns=dict(zip(names, (column.kind for column in columns), strict=True)),
        person=tuple(
            frozenset(name for name, column in zip(names, columns, strict=True) if column.person == part)
            for part in range(relation.parts)
        ),
    )


def prove_public(text: str, public: Mapping[str, Table]) -> str:
    """A query over public tables alone, in the form that runs; so it may run before anything is paid for."""
    tables = {name.lower(): replace(table, path=table.path or (name,)) for name, table in public.items()}
    translation = _Translation(text, tables)
    relation, scope = translation.query(parse(text), {})
    assert not relation.private  # no private table is known here
    return translation.algebra.text(relation, [f"column_{i}" for i, _ in enumerate(scope)])


def _declared(private: Mapping[str, Table], public: Mapping[str, Table]) -> dict[str, Table]:
    """The tables by the lower case of their names. The persons of all private ones must be of one kind."""
    tables: dict[str, Table] = {}
    for name, table in (*private.items(), *public.items()):
        if name.lower() in tables:
            raise ParameterError(f"the table {name!r} is declared twice")
        if bool(table.person or table.who) != (name in private):
            raise ParameterError(
                f"the table {name!r} is private if it has a person, and public if it has none"
            )
        found = {column.lower(): column for column in table.columns}
        if len(found) < len(table.columns):
            raise ParameterError(f"the table {name!r} has two columns whose names differ in case alone")
        person = tuple(found.get(column.lower(), column) for column in table.person)
        if not set(person) <= set(table.columns) or len(set(person)) < len(person):
            raise ParameterError(f"the person of the table {name!r} must be columns of it, each named once")
        tables[name.lower()] = replace(table, person=person, path=table.path or (name,))
    persons = {tuple(t.columns[c] for c in t.person) for t in tables.values() if t.person}
    if len(persons) > 1 or not all(is_scalar(kind) for person in persons for kind in person):
        raise ParameterError(
            "the persons of all private tables must have as many columns, of the same plain types; "
            "convert them to one type"
        )
    return tables


def _check_result(relation: Relation, names: list[str], person: Sequence[str]) -> None:
    if not relation.private:
        raise PersonWiseError("it names no private table", "name the table that holds the people's rows")
    for part, name in enumerate(person):
        copies = [n.lower() for n, c in zip(names, relation.columns, strict=True) if c.person == part]
        if name.lower() not in copies:
            raise PersonWiseError(
                f"the column {name!r} of the result is not the person as it is", "keep it as it is"
            )
    lower = [name.lower() for name in names]
    for name in names:
        if lower.count(name.lower()) > 1:
            raise PersonWiseError(f"two columns of the result are called {name!r}", "rename one with AS")


Steps = Mapping[str, tuple[str, Relation, Sequence[str]]]  # of WITH: its own name, relation, names of columns
Named = tuple[Relation, Scope]


class _Translation:
    """Of one query. A relation comes with its scope: what names mean in it."""

    def __init__(self, text: str, tables: Mapping[str, Table]) -> None:
        self._text, self._tables = text, tables
        self.algebra = Algebra([name for table in tables.values() for name in table.path])

    def words(self, node: Node) -> str:
        return shortened(words_of(self._text, node))

    def meaning(
        self,
        scope: Scope,
        aliases: Mapping[str, Callable[[], Expression]] | None = None,
        *,
        inside: bool = False,
    ) -> Meaning:
        return Meaning(scope, self.words, aliases or {}, inside)

    def query(self, node: Node, steps: Steps) -> Named:
        """A SELECT, or several put together."""
        if node["type"] == "RECURSIVE_CTE_NODE":
            raise PersonWiseError("WITH RECURSIVE is not proven", "join the table with itself instead")
        if node["type"] not in ("SELECT_NODE", "SET_OPERATION_NODE"):
            raise PersonWiseError("only SELECT can be asked", "write a SELECT")
        for modifier in node["modifiers"]:
            if modifier["type"] == "LIMIT_MODIFIER":
                raise PersonWiseError(
                    "which rows are within a LIMIT, or behind an OFFSET, depends on the rows of everybody",
                    "leave it out, or keep some rows of each person: QUALIFY row_number() OVER (PARTITION BY "
                    "PERSON ORDER BY ...) <= 10",
                )
            if modifier["type"] not in ("ORDER_MODIFIER", "DISTINCT_MODIFIER"):
                raise PersonWiseError("this is not known here", "leave it out", modifier["type"])
        known = dict(steps)
        for entry in node["cte_map"]["map"]:
            name, value = entry["key"], entry["value"]
            if value["key_targets"] or value["payload_aggregates"]:
                raise PersonWiseError("USING KEY is not proven", "leave it out", name)
            with at(f"WITH {name}"):
                relation, scope = self.query(value["query_node"], known)
                names = _renamed([visible.name for visible in scope], value["aliases"])
            known[name.lower()] = (*self.algebra.named(relation), names)
        if node["type"] == "SET_OPERATION_NODE":
            return self._combined(node, known)
        if node["sample"]:
            raise _sampled()
        return _Selection(self, node, known, *self.source(node["from_table"], known)).result()

    def _combined(self, node: Node, steps: Steps) -> Named:
        kind = node["setop_type"]
        first, *others = [child for child in (node["left"], node["right"], *node["children"]) if child]
        if any(modifier["type"] == "DISTINCT_MODIFIER" for modifier in node["modifiers"]):
            raise PersonWiseError("DISTINCT of a set operation is not known here", "use UNION without ALL")
        relation, scope = self.query(first, steps)
        names = [visible.name for visible in scope]
        for child in others:
            other, other_scope = self.query(child, steps)
            if kind == "UNION_BY_NAME":
                places = {visible.name.lower(): i for i, visible in enumerate(other_scope)}
                if {name.lower() for name in names} != set(places) or len(names) != len(places):
                    raise PersonWiseError(
                        "BY NAME needs the same names on both sides", "name the same columns"
                    )
                order = [other.columns[places[name.lower()]] for name in names]
                other = self.algebra.projected(other, list(map(reference, order)))
            common = _common_kinds(relation, other)
            relation = self.algebra.combined(
                self.algebra.recast(relation, common),
                self.algebra.recast(other, common),
                kind.removesuffix("_BY_NAME"),
                every=node["setop_all"],
                about=kind.replace("_", " ") + (" ALL" if node["setop_all"] else ""),
            )
        return relation, _scope_of(relation, names)

    def source(self, node: Node, steps: Steps) -> Named:
        """What stands in FROM."""
        if node.get("sample"):
            raise _sampled()
        kind = node["type"]
        with at(self.words(node)):
            if kind == "BASE_TABLE":
                return self._table(node, steps)
            if kind == "SUBQUERY":
                relation, scope = self.query(node["subquery"]["node"], steps)
                names = _renamed([visible.name for visible in scope], node["column_name_alias"])
                return relation, _scope_of(relation, names, node["alias"])
            if kind == "JOIN":
                return self._join(node, steps)
            if kind == "EMPTY":
                return self.algebra.nothing(), []
            if kind == "EXPRESSION_LIST":
                rows = [[self.meaning([]).expression(cell) for cell in row] for row in node["values"]]
                relation = self.algebra.constants(rows, "VALUES")
                return relation, _scope_of(relation, [f"col{i}" for i in range(len(rows[0]))], node["alias"])
            if kind == "TABLE_FUNCTION":
                name = node["function"]["function_name"]
                raise PersonWiseError(
                    f"{name} is a table that is neither private nor public",
                    "write FROM table, unnest(table.column) AS name(element)"
                    if name == "unnest"
                    else "declare its rows as a private or a public table, and name that",
                )
            if kind == "SHOW_REF":
                raise PersonWiseError("only SELECT can be asked", "write a SELECT")
            raise PersonWiseError(f"{kind} is not proven", "write it with GROUP BY and CASE")

    def _table(self, node: Node, steps: Steps) -> Named:
        if node["at_clause"]:
            raise PersonWiseError("AT is not proven", "leave it out")
        path = [part for part in (node["catalog_name"], node["schema_name"], node["table_name"]) if part]
        name = ".".join(path)
        alias = node["alias"] or node["table_name"]
        if len(path) == 1 and name.lower() in steps:
            step, of, names = steps[name.lower()]
            relation = self.algebra.used(step, of, name)
            return relation, _scope_of(relation, _renamed(names, node["column_name_alias"]), alias)
        table = self._tables.get(name.lower())
        if table is None:
            raise PersonWiseError(
                f"{name!r} is neither a private nor a public table",
                f"use one of {', '.join(self._tables)}, or declare it",
            )
        usable = list(filter(table.knows, table.columns))
        names = _renamed(list(table.columns), node["column_name_alias"])

        def scope(columns: Sequence[Column]) -> list[Visible]:
            known = dict(zip(usable, columns, strict=False))
            pairs = zip(names, table.columns, strict=True)
            return [Visible(alias, shown, known.get(column)) for shown, column in pairs]

        if not table.who:
            relation = self.algebra.scanned(table, usable, name)
            return relation, scope(relation.columns)

        def who(columns: Sequence[Column]) -> list[Expression]:
            meaning = self.meaning(scope(columns))
            return [meaning.expression(part) for _, part in table.who]

        relation = self.algebra.scanned(table, usable, name, who)
        added = zip((hidden for hidden, _ in table.who), relation.columns[len(usable) :], strict=True)
        computed = [Visible(alias, hidden, column, hidden=True) for hidden, column in added]
        return relation, [*scope(relation.columns), *computed]

    def _join(self, node: Node, steps: Steps) -> Named:
        kind, how = node["join_type"], node["ref_type"]
        if how not in ("REGULAR", "NATURAL", "CROSS") or node["ranking_expression"]:
            raise PersonWiseError(f"{how} JOIN is not proven", "use JOIN ... USING (PERSON)")
        if kind not in ("INNER", "LEFT", "RIGHT", "SEMI", "ANTI"):
            raise PersonWiseError(
                f"a {kind} JOIN keeps rows of one side that depend on whether the other side has any",
                "use LEFT JOIN from the table whose rows are to be kept",
            )
        right = node["right"]
        if right["type"] == "TABLE_FUNCTION" and right["function"]["function_name"].lower() == "unnest":
            return self._unnest_join(node, steps)
        first, second = self.source(node["left"], steps), self.source(right, steps)
        using = list(node["using_columns"])
        if how == "NATURAL":
            there = {visible.name.lower() for visible in second[1] if not visible.merged}
            using = [v.name for v in first[1] if v.name.lower() in there and not v.merged]
            if not using:
                raise PersonWiseError("the tables have no column of the same name", "use JOIN ... ON")
        if kind != "RIGHT":
            return self._joined(kind, first, second, using, node)
        relation, scope = self._joined("LEFT", second, first, using, node)
        turn = len(second[1])
        return relation, _turned(scope[turn:], scope[:turn], using)

    def _joined(self, kind: str, first: Named, second: Named, using: list[str], node: Node) -> Named:
        """Equalities between the sides are handed over as pairs of columns, other conditions as they are."""
        (left, left_scope), (right, right_scope) = first, second
        tests = [
            Expression(
                "compare",
                (self.meaning(left_scope).column([name]), self.meaning(right_scope).column([name])),
                "COMPARE_EQUAL",
            )
            for name in using
        ]
        if node["condition"] is not None:
            meaning = self.meaning([*left_scope, *right_scope])
            tests += map(meaning.expression, conjuncts(node["condition"]))
        pairs, rest = [], []
        for test in tests:
            pair = _sides(test, left, right)
            if pair is None:
                rest.append(test)
            else:
                pairs.append(pair)
        left, left_scope, left_columns, moved = self.widened(left, left_scope, [a for a, _ in pairs])
        right, right_scope, right_columns, moved_too = self.widened(right, right_scope, [b for _, b in pairs])
        rest = [_replaced(test, moved | moved_too) for test in rest]
        relation = self.algebra.joined(
            left,
            right,
            kind,
            list(zip(left_columns, right_columns, strict=True)),
            _anded(rest),
            self.words(node),
        )
        known = dict(zip((*left.columns, *right.columns), relation.columns, strict=False))
        merged = {name.lower() for name in using}
        scope = _moved(left_scope, known)
        if kind not in ("SEMI", "ANTI"):
            scope += [
                replace(visible, merged=visible.merged or visible.name.lower() in merged)
                for visible in _moved(right_scope, known)
            ]
        return relation, scope

    def _unnest_join(self, node: Node, steps: Steps) -> Named:
        right = node["right"]
        if node["join_type"] != "INNER" or node["condition"] is not None or node["using_columns"]:
            raise PersonWiseError(
                "unnest is proven behind a comma only", "write FROM table, unnest(table.column)"
            )
        if right["with_ordinality"] != "WITHOUT_ORDINALITY":
            raise PersonWiseError("WITH ORDINALITY is not proven", "leave it out")
        relation, scope = self.source(node["left"], steps)
        relation, scope, column = self.unnested(relation, scope, self.meaning(scope), right["function"])
        name = (right["column_name_alias"] or ["unnest"])[0]
        return relation, [*scope, Visible(right["alias"] or "unnest", name, column)]

    def unnested(
        self, relation: Relation, scope: Scope, meaning: Meaning, node: Node
    ) -> tuple[Relation, Scope, Column]:
        """With a column for the elements of the list that unnest is called with."""
        arguments = node["arguments"]
        if len(arguments) != 1 or arguments[0]["name"] or node["schema"]:
            raise PersonWiseError("unnest takes one list here", "write unnest(column)", self.words(node))
        with at(self.words(node)):
            found = meaning.expression(arguments[0]["expression"])
            relation, scope, (column,), _ = self.widened(relation, scope, [found])
            longer = self.algebra.unnested(relation, column, self.words(node))
        return (
            longer,
            _moved(scope, dict(zip(relation.columns, longer.columns, strict=False))),
            longer.columns[-1],
        )

    def widened(
        self, relation: Relation, scope: Scope, expressions: Sequence[Expression]
    ) -> tuple[Relation, list[Visible], list[Column], dict[Column, Column]]:
        """With these expressions as columns; and where its own columns went."""
        new = list(dict.fromkeys(e for e in expressions if e.op != "column"))
        wider = relation
        if new:
            wider = self.algebra.projected(relation, [*map(reference, relation.columns), *new])
        moved = dict(zip(relation.columns, wider.columns, strict=False))
        made = dict(zip(new, wider.columns[len(relation.columns) :], strict=True))
        columns = [made[e] if e.column is None else moved[e.column] for e in expressions]
        return wider, _moved(scope, moved), columns, moved


class _Selection:
    """One SELECT, in the order in which SQL reads it: WHERE, GROUP BY, HAVING, windows, QUALIFY, DISTINCT ON,
    the list, DISTINCT.

    Expressions are about the columns behind WHERE. `_place` says in which column of the present relation
    each of those is, and `_made` in which one an aggregate, a key or a window function is.
    """

    def __init__(
        self, translation: _Translation, node: Node, steps: Steps, relation: Relation, scope: Scope
    ) -> None:
        self._in, self._node, self._steps = translation, node, steps
        self._algebra = translation.algebra
        self._relation, self._scope = relation, scope
        self._aliases = {
            item["alias"].lower(): self._alias(item)
            for item in reversed(node["select_list"])
            if item["alias"] and not _is_column(item, item["alias"])
        }
        self._resolving: set[str] = set()
        self._place: dict[Column, Column] = {}
        self._made: dict[Expression, Column] = {}
        self._grouped = False

    def result(self) -> Named:
        node = self._node
        if node["where_clause"] is not None:
            self._where(node["where_clause"])
        self._place = {column: column for column in self._relation.columns}
        items = [pair for item in node["select_list"] for pair in self._items(item)]
        having = None if node["having"] is None else self._expression(node["having"])
        qualify = None if node["qualify"] is None else self._expression(node["qualify"])
        first_of = self._distinct_on(items)
        after = [condition for condition in (qualify, first_of) if condition is not None]
        self._group(items, [*([] if having is None else [having]), *after])
        if having is not None:
            self._filter(having, "HAVING", node["having"])
        later = [*(expression for _, expression in items), *after]
        if any(part.op == "window" for e in later for part in e.parts()):
            self._keep_only({column for e in later for column in self._looked_at(e)})
        self._windows([*(expression for _, expression in items), *([] if qualify is None else [qualify])])
        if qualify is not None:
            self._filter(qualify, "QUALIFY", node["qualify"])
        if first_of is not None:
            self._windows([first_of])
            self._filter(
                Expression("compare", (first_of, constant("INTEGER", "1")), "COMPARE_EQUAL"), "DISTINCT ON"
            )
        return self._listed(items)

    # Names

    def _expression(self, node: Node) -> Expression:
        if _is_unnest(node):
            arguments = node["arguments"]
            if len(arguments) != 1 or arguments[0]["name"]:
                raise PersonWiseError(
                    "unnest takes one list here", "write unnest(column)", self._in.words(node)
                )
            return Expression("unnest", (self._expression(arguments[0]["expression"]),), self._in.words(node))
        return self._in.meaning(self._scope, self._aliases, inside=True).expression(node)

    def _alias(self, item: Node) -> Callable[[], Expression]:
        def resolve() -> Expression:
            name = item["alias"].lower()
            if name in self._resolving:
                raise PersonWiseError(f"{item['alias']!r} is defined by itself", "use another name")
            self._resolving.add(name)
            try:
                return self._expression(item)
            finally:
                self._resolving.discard(name)

        return resolve

    def _items(self, item: Node) -> list[tuple[str, Expression]]:
        """The columns of an item of the SELECT list."""
        if item["class"] == "STAR":
            with at(self._in.words(item) or "*"):
                return self._star(item)
        return [
            (own_name(item) or printed(select_node([item])).removeprefix("SELECT "), self._expression(item))
        ]

    def _star(self, item: Node) -> list[tuple[str, Expression]]:
        if item["columns"] or item["expr"]:
            raise PersonWiseError("COLUMNS(...) is not proven", "name the columns")
        table = item["relation_name"].lower()
        left_out = {name.lower() for name in item["exclude_list"]}
        left_out |= {entry["column"].lower() for entry in item["qualified_exclude_list"]}
        replaced = {entry["key"].lower(): entry["value"] for entry in item["replace_list"]}
        renamed = {entry["key"]["column"].lower(): entry["value"] for entry in item["rename_list"]}
        found = []
        shown = [
            v for v in self._scope if not v.hidden and (v.table.lower() == table if table else not v.merged)
        ]
        unknown = (left_out | set(replaced)) - {v.name.lower() for v in shown}
        if unknown:
            raise PersonWiseError(f"there is no column {min(unknown)!r} here", "name one of the table")
        for visible in shown:
            name = visible.name.lower()
            if name in left_out:
                continue
            if name in replaced:
                found.append((visible.name, self._expression(replaced[name])))
                continue
            if visible.column is None:
                raise PersonWiseError(
                    f"the column {visible.name!r} has a type that is not known here",
                    f"name the columns you need, or write * EXCLUDE ({visible.name})",
                )
            found.append((renamed.get(name, visible.name), reference(visible.column)))
        if not found:
            raise PersonWiseError("there are no columns", "name some")
        return found

    # WHERE

    def _where(self, node: Node) -> None:
        tests = []
        for part in conjuncts(node):
            if part["class"] == "SUBQUERY" and part["subquery_type"] == "ANY":
                self._member(part)
                continue
            if part["class"] == "SUBQUERY" or _is_negated_subquery(part):
                raise PersonWiseError(
                    "EXISTS and NOT IN are not proven",
                    "write FROM a SEMI JOIN b USING (PERSON), or ANTI JOIN",
                    self._in.words(part),
                )
            tests.append(part)
        if tests:
            meaning = self._in.meaning(self._scope, self._aliases)
            found = _anded([meaning.expression(part) for part in tests])
            assert found is not None
            self._place = {column: column for column in self._relation.columns}
            before = self._place
            self._filter(found, "WHERE", node)
            self._scope = _moved(self._scope, {column: self._place[column] for column in before})

    def _member(self, node: Node) -> None:
        """X IN (SELECT ...) is a semi join."""
        with at(self._in.words(node)):
            if node["comparison_type"] != "COMPARE_EQUAL":
                raise PersonWiseError("ANY and ALL are proven with = only", "use IN, or a join")
            value = self._in.meaning(self._scope, self._aliases).expression(node["child"])
            other, _ = self._in.query(node["subquery"]["node"], self._steps)
            if len(other.columns) != 1:
                raise PersonWiseError("IN needs one column", "select one")
            wider, scope, (column,), _ = self._in.widened(self._relation, self._scope, [value])
            if column.kind != other.columns[0].kind:
                raise PersonWiseError(
                    f"IN compares {column.kind} with {other.columns[0].kind}", "cast one of them"
                )
            pair = column, other.columns[0]
            self._relation = self._algebra.joined(wider, other, "SEMI", [pair], None, self._in.words(node))
        self._scope = _moved(scope, dict(zip(wider.columns, self._relation.columns, strict=True)))

    # From step to step

    def _now(self, expression: Expression) -> Expression:
        """The same about the columns of the present relation."""

        def change(part: Expression) -> Expression | None:
            if part in self._made:
                return reference(self._made[part])
            if part.column is None:
                return None
            if self._grouped:
                raise PersonWiseError(
                    "a column is neither a key of GROUP BY nor in an aggregate",
                    "add it to GROUP BY, or use min or max",
                )
            return reference(self._place[part.column])

        return expression.rebuilt(change)

    def _move(self, relation: Relation, kept: Sequence[Column] | None = None) -> None:
        """To a relation that begins with these columns of the present one; all of them, if none are named."""
        known = dict(zip(self._relation.columns if kept is None else kept, relation.columns, strict=False))
        self._relation = relation
        self._place = {key: known[column] for key, column in self._place.items() if column in known}
        self._made = {key: known[column] for key, column in self._made.items() if column in known}

    def _looked_at(self, expression: Expression) -> Iterator[Column]:
        """Which columns of the present relation it looks at."""
        if expression in self._made:
            yield self._made[expression]
            return
        if expression.column is not None and expression.column in self._place:
            yield self._place[expression.column]
        for child in expression.children:
            yield from self._looked_at(child)

    def _keep_only(self, columns: set[Column]) -> None:
        """These columns and the person. Rows that ORDER BY leaves equal are ordered by all columns there are
        when they are numbered: a text that nobody asks for, beside each word of it, would exhaust the memory.
        """
        kept = [column for column in self._relation.columns if column in columns or column.person is not None]
        self._move(self._algebra.projected(self._relation, list(map(reference, kept))), kept)

    def _filter(self, condition: Expression, clause: str, node: Node | None = None) -> None:
        words = "" if node is None else self._in.words(node)
        with at(words or clause):
            self._move(
                self._algebra.filtered(self._relation, self._now(condition), f"{clause} {words}".strip())
            )

    def _columns(self, expressions: Sequence[Expression]) -> list[Column]:
        """These expressions, which are about the present relation, as columns of the next one."""
        wider, _, columns, _ = self._in.widened(self._relation, [], expressions)
        self._move(wider)
        return columns

    # GROUP BY

    def _group(self, items: list[tuple[str, Expression]], others: list[Expression]) -> None:
        expressions = [*(expression for _, expression in items), *others]
        aggregates = list(dict.fromkeys(p for e in expressions for p in e.parts() if p.op == "aggregate"))
        node = self._node
        if not aggregates and not node["group_sets"] and node["aggregate_handling"] == "STANDARD_HANDLING":
            return
        with at(
            _about(self._in, node) if node["group_expressions"] or not aggregates else aggregates[0].words
        ):
            keys = self._keys(items)
            if any(part.op in ("aggregate", "window", "unnest") for key in keys for part in key.parts()):
                raise PersonWiseError("an aggregate is a key", "group by columns and expressions of the row")
            self._check_person_in(keys)
            children = list(dict.fromkeys(child for part in aggregates for child in part.children))
            step = self._algebra.projected(self._relation, [*keys, *children])
            known = dict(zip([*keys, *children], step.columns, strict=True))
            calls = [_aggregate(part, known) for part in aggregates]
            grouped = self._algebra.aggregated(step, step.columns[: len(keys)], calls, _about(self._in, node))
        self._relation, self._place, self._grouped = grouped, {}, True
        self._made = dict(zip([*keys, *aggregates], grouped.columns, strict=True))

    def _check_person_in(self, keys: list[Expression]) -> None:
        if not self._relation.keeps_person([key.column for key in keys if key.column is not None]):
            raise PersonWiseError(
                "rows of different people are put together",
                "add the person to the keys: GROUP BY PERSON, ...",
            )

    def _keys(self, items: list[tuple[str, Expression]]) -> list[Expression]:
        node = self._node
        if node["aggregate_handling"] != "STANDARD_HANDLING":  # GROUP BY ALL
            plain = [e for _, e in items if all(p.op not in ("aggregate", "window") for p in e.parts())]
            return list(dict.fromkeys(plain))
        if len(node["group_sets"]) > 1:
            raise PersonWiseError(
                "GROUPING SETS, CUBE and ROLLUP leave the person out of some groups",
                "write several SELECTs, each with GROUP BY PERSON, and UNION ALL",
            )
        keys = []
        for key in node["group_expressions"]:
            place = _position(key)
            if place is None:
                keys.append(self._expression(key))
            elif 1 <= place <= len(items):
                keys.append(items[place - 1][1])
            else:
                raise PersonWiseError(f"there is no column {place} in the SELECT", "name the column")
        return list(dict.fromkeys(keys))

    # Windows

    def _windows(self, expressions: list[Expression]) -> None:
        found = list(dict.fromkeys(p for e in expressions for p in e.parts() if p.op == "window"))
        for part in found:
            if any(inner.op in ("window", "unnest") for child in part.children for inner in child.parts()):
                raise PersonWiseError("a window function stands in another one", "use a subquery in FROM")
            columns = self._columns([self._now(child) for child in part.children])
            call = _window(part, columns)
            with at(part.words):
                wider = self._algebra.windowed(self._relation, [call], part.text)
            self._move(wider)
            self._made[part] = wider.columns[-1]

    def _distinct_on(self, items: list[tuple[str, Expression]]) -> Expression | None:
        """DISTINCT ON (keys) ... ORDER BY, as row_number() OVER (PARTITION BY keys ORDER BY ...)."""
        modifiers = {modifier["type"]: modifier for modifier in self._node["modifiers"]}
        targets = modifiers.get("DISTINCT_MODIFIER", {}).get("distinct_on_targets", [])
        if not targets:
            return None
        orders = modifiers.get("ORDER_MODIFIER", {}).get("orders", [])
        with at("DISTINCT ON"):
            if not orders:
                raise PersonWiseError(
                    "DISTINCT ON without ORDER BY keeps the row that comes first, which is up to chance",
                    "add ORDER BY",
                )
            nodes = [*targets, *(order["expression"] for order in orders)]
            places = [_position(node) for node in nodes]
            parts = [
                self._expression(node) if place is None else items[place - 1][1]
                for node, place in zip(nodes, places, strict=True)
                if place is None or 1 <= place <= len(items)
            ]
            if len(parts) != len(nodes) or any(
                p.op in ("window", "unnest") for e in parts for p in e.parts()
            ):
                raise PersonWiseError("this cannot be a key or an order here", "name a column")
            directions = tuple((order["type"], order["null_order"]) for order in orders)
            over = Over(len(targets), directions)
            return Expression("window", tuple(parts), "row_number", extra=(over,), words="DISTINCT ON")

    # The list

    def _listed(self, items: list[tuple[str, Expression]]) -> Named:
        unnested = [expression for _, expression in items if expression.op == "unnest"]
        if len(unnested) > 1:
            raise PersonWiseError("several unnest side by side are not proven", "use a subquery for each")
        for part in unnested:
            with at(part.text):
                (column,) = self._columns([self._now(part.children[0])])
                self._move(self._algebra.unnested(self._relation, column, part.text))
                self._made[part] = self._relation.columns[-1]
        names = [name for name, _ in items]
        about = ", ".join(names)
        with at(f"SELECT {about}"):
            relation = self._algebra.projected(
                self._relation, [self._now(expression) for _, expression in items], shortened(about)
            )
            if any(
                m["type"] == "DISTINCT_MODIFIER" and not m["distinct_on_targets"]
                for m in self._node["modifiers"]
            ):
                relation = self._algebra.distinct(relation, "DISTINCT")
        return relation, _scope_of(relation, names)


def _aggregate(part: Expression, known: Mapping[Expression, Column]) -> Aggregate:
    distinct, filtered = part.extra
    columns = [known[child] for child in part.children]
    condition = columns.pop() if filtered else None
    return Aggregate(part.text, columns[0] if columns else None, distinct, condition)


def _window(part: Expression, columns: list[Column]) -> WindowCall:
    (over,) = part.extra
    argument = columns.pop(0) if over.argument else None
    pairs = zip(columns[over.partitions :], over.directions, strict=True)
    return WindowCall(
        part.text,
        argument,
        over.numbers,
        tuple(columns[: over.partitions]),
        tuple(Order(column, direction, nulls) for column, (direction, nulls) in pairs),
        over.frame,
        over.offsets,
        over.ignore_nulls,
    )


def _about(translation: _Translation, node: Node) -> str:
    return shortened("GROUP BY " + (", ".join(map(translation.words, node["group_expressions"])) or "ALL"))


def _is_column(node: Node, name: str) -> bool:
    return node["class"] == "COLUMN_REF" and bool(node["column_names"][-1].lower() == name.lower())


def _is_unnest(node: Node) -> bool:
    return bool(
        node["class"] == "FUNCTION" and node["function_name"].lower() == "unnest" and not node["schema"]
    )


def _is_negated_subquery(node: Node) -> bool:
    return bool(node["type"] == "OPERATOR_NOT" and node["children"][0]["class"] == "SUBQUERY")


def _position(node: Node) -> int | None:
    """The number of a column, if that is what stands there."""
    if node["class"] == "CONSTANT" and node["literal"]["kind"] == "INTEGER":
        return int(node["literal"]["text"])
    return None


def _sampled() -> PersonWiseError:
    return PersonWiseError(
        "which rows are in a sample depends on the rows of everybody, and on chance",
        "leave it out, or keep some people by their id: WHERE md5(PERSON) < '4'",
    )


def _anded(tests: list[Expression]) -> Expression | None:
    return None if not tests else tests[0] if len(tests) == 1 else Expression("and", tuple(tests))


def _sides(test: Expression, left: Relation, right: Relation) -> tuple[Expression, Expression] | None:
    """Of an equality of something of the left and something of the right, of one type."""
    if (test.op, test.text) != ("compare", "COMPARE_EQUAL"):
        return None
    for a, b in (test.children, test.children[::-1]):
        of_left, of_right = set(a.columns()), set(b.columns())
        if of_left and of_right and of_left <= set(left.columns) and of_right <= set(right.columns):
            one, other = kinds([a, b])
            return (a, b) if one == other and is_scalar(one) else None
    return None


def _replaced(expression: Expression, known: Mapping[Column, Column]) -> Expression:
    return expression.rebuilt(lambda part: None if part.column is None else reference(known[part.column]))


def _scope_of(relation: Relation, names: Sequence[str], alias: str = "") -> list[Visible]:
    return [Visible(alias, name, column) for name, column in zip(names, relation.columns, strict=True)]


def _moved(scope: Scope, known: Mapping[Column, Column]) -> list[Visible]:
    return [replace(v, column=None if v.column is None else known[v.column]) for v in scope]


def _turned(left: Scope, right: Scope, using: Sequence[str]) -> list[Visible]:
    """The scope of a RIGHT JOIN. A column of USING stands where the left table has it, with the values of the
    right one; under its table's name each is still its own.
    """
    names = {name.lower() for name in using}
    merged = {v.name.lower(): replace(v, table="") for v in right if v.name.lower() in names and not v.merged}
    scope: list[Visible] = []
    for visible in left:
        of_both = merged.pop(visible.name.lower(), None)
        scope += [visible] if of_both is None else [of_both, visible]
    return scope + [replace(v, merged=v.merged or v.name.lower() in names) for v in right]


def _renamed(names: Sequence[str], aliases: Sequence[str]) -> list[str]:
    if len(aliases) > len(names):
        raise PersonWiseError("there are more names than columns", "name as many as there are")
    return [*aliases, *names[len(aliases) :]]


def _common_kinds(left: Relation, right: Relation) -> list[str]:
    """The types that both sides of a set operation get."""
    if len(left.columns) != len(right.columns):
        raise PersonWiseError("the two sides have different numbers of columns", "name as many on both")
    pairs = [(a.kind, b.kind) for a, b in zip(left.columns, right.columns, strict=True)]
    return [
        a if a == b else kinds_of(f"SELECT CAST(NULL AS {a}) AS c UNION ALL SELECT CAST(NULL AS {b})", ())[0]
        for a, b in pairs
    ]
