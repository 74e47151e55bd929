"""GoogleSQL's SELECT WITH DIFFERENTIAL_PRIVACY: from its text to what is to be counted, at which cost.

The clause is found by DuckDB's tokenizer, read here and cut out; DuckDB parses the rest. What comes out is
a plain value: one inner query, which has no aggregates and is for `prove`; the counts with their shares
of epsilon; the groups; and a query over the released table for what is left (HAVING, ORDER BY, LIMIT,
expressions of counts). That one sees released numbers only, so it is free.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Literal

from dpdistinct.errors import ParameterError
from dpdistinct.queries.expressions import column_node, select_node, table_node
from dpdistinct.queries.refusals import shortened
from dpdistinct.queries.tree import (
    Node,
    changed,
    conjuncts,
    in_bytes,
    nodes_of,
    own_name,
    parse,
    printed,
    words_of,
)

Method = Literal["matching", "greedy", "sampling"]
Period = Literal["day", "week", "month", "quarter", "year"]
METHODS: dict[str, Method] = {"matching": "matching", "greedy": "greedy", "sampling": "sampling"}
RELEASED = "released"  # the name of the released table in the query over it
POSSIBLE = "possible are COUNT(DISTINCT column) and APPROX_COUNT_DISTINCT(column), also of the privacy unit"


class ClauseError(ParameterError):
    """A query with the clause is not what can be answered. Known from its text alone."""


@dataclass(frozen=True)
class Count:
    """One count. column: its name in the released table. name: as the result calls it. elements: the columns
    of the inner query that are counted together; none if it counts people. epsilon, delta: its share of the
    release.
    """

    column: str
    name: str
    elements: tuple[str, ...]
    epsilon: Fraction
    delta: Fraction | None = None
    method: Method | None = None


@dataclass(frozen=True)
class Group:
    """column: its name in the inner query. name: as the result calls it; in the released table it is called
    group_1 and so on. every: grouped by this period.
    """

    column: str
    name: str
    every: Period | None = None


@dataclass(frozen=True)
class PublicGroups:
    """The groups are the rows of this query over public tables, in the order of the grouping columns."""

    sql: str


@dataclass(frozen=True)
class ReleaseQuery:
    """What one query asks for.

    inner: a SELECT of the person, the groups and the elements, to be proven person-wise. person: the
    column of it that is the privacy unit. unit: that column in the private tables. listed: where the groups
    come from: a public table, "unknown" (found in the data, with delta), or None (a list of the caller's, or
    no groups). after: a SELECT over
    the table `released`, whose columns are those of groups and counts. table: the one table that the inner
    query only chooses columns of, if it is so simple; then these have the names that they have there.
    """

    inner: str
    table: str | None
    person: str
    unit: tuple[str, ...]
    epsilon: Fraction
    delta: Fraction | None
    counts: tuple[Count, ...]
    groups: tuple[Group, ...]
    listed: PublicGroups | Literal["unknown"] | None
    after: str

    @property
    def public_groups(self) -> str | None:
        """The query that lists the groups."""
        return self.listed.sql if isinstance(self.listed, PublicGroups) else None

    @property
    def unknown_groups(self) -> bool:
        """Whether the groups are found in the data."""
        return self.listed == "unknown"


def parse_releases(text: str) -> list[ReleaseQuery]:
    """The same of several queries, with semicolons between them."""
    raw, found, start = in_bytes(text), [], 0
    for token in [*_tokens(text), _Token(len(raw), len(raw), ";")]:
        if token.text == ";":
            part = raw[start : token.start].decode()
            start = token.end
            if _tokens(part):
                found.append(parse_release(part))
    if not found:
        raise ClauseError("sql: there is no query; write SELECT WITH DIFFERENTIAL_PRIVACY ...")
    return found


def parse_release(text: str) -> ReleaseQuery:
    """What a query with the clause asks for, or a ClauseError that says what to write instead."""
    options, rest = _cut(text)
    return _Release(options, rest).query()


# The clause


@dataclass(frozen=True)
class _Options:
    epsilon: Fraction
    delta: Fraction | None
    person: tuple[str, ...]
    strategy: str | None


@dataclass(frozen=True)
class _Token:
    start: int
    end: int
    text: str

    @property
    def word(self) -> str:
        return self.text.upper()

    @property
    def name(self) -> str:
        """A name, without its quotes, of which DuckDB takes GoogleSQL's, too."""
        quote = self.text[0]
        return self.text[1:-1].replace(quote * 2, quote) if quote in '"`' else self.text


def _tokens(text: str) -> list[_Token]:
    import duckdb

    raw, found = in_bytes(text), duckdb.tokenize(text)
    ends = [*(start for start, _ in found[1:]), len(raw)] if found else []
    return [
        _Token(start, end, raw[start:end].decode().strip())
        for (start, kind), end in zip(found, ends, strict=True)
        if kind != duckdb.token_type.comment
    ]


def _cut(text: str) -> tuple[_Options, str]:
    """The options, and the query without the clause."""
    tokens = _tokens(text)
    found = [
        i
        for i in range(len(tokens) - 2)
        if [token.word for token in tokens[i : i + 3]] == ["SELECT", "WITH", "DIFFERENTIAL_PRIVACY"]
    ]
    if not found:
        raise ClauseError(
            "sql: the query needs SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = ..., "
            "privacy_unit_column = ...)"
        )
    if len(found) > 1:
        raise ClauseError("sql: WITH DIFFERENTIAL_PRIVACY may stand once in a query; write several queries")
    depth = sum((token.text == "(") - (token.text == ")") for token in tokens[: found[0]])
    if depth:
        raise ClauseError("sql: WITH DIFFERENTIAL_PRIVACY must belong to the outermost SELECT")
    start = found[0] + 3
    if [token.word for token in tokens[start : start + 2]] != ["OPTIONS", "("]:
        raise ClauseError("sql: OPTIONS (epsilon = ..., privacy_unit_column = ...) must follow the clause")
    values, end = _assignments(tokens, start + 2)
    raw = text.encode()
    kept = raw[: tokens[found[0] + 1].start] + raw[tokens[end].end :]
    return _options(values), kept.decode()


def _assignments(tokens: list[_Token], at: int) -> tuple[dict[str, list[_Token]], int]:
    """The values of OPTIONS by name, and the place of its closing bracket."""
    values: dict[str, list[_Token]] = {}
    while True:
        if at + 2 >= len(tokens) or tokens[at + 1].text != "=":
            raise ClauseError("sql: OPTIONS must be a list of name = value, ended by a bracket")
        name = tokens[at].name.lower()
        if name in values:
            raise ClauseError(f"sql: the option {name} is given twice")
        at += 2
        value = []
        while at < len(tokens) and tokens[at].text not in (",", ")"):
            value.append(tokens[at])
            at += 1
        if at == len(tokens) or not value:
            raise ClauseError(f"sql: the option {name} has no value, or OPTIONS no closing bracket")
        values[name] = value
        if tokens[at].text == ")":
            return values, at
        at += 1


NOT_OURS = {
    "max_groups_contributed": "here the limit for each person is chosen privately, over all groups together",
    "max_rows_contributed": "here the limit for each person is chosen privately, over all groups together",
    "min_privacy_units_per_group": "unknown groups have a threshold that follows from epsilon and delta",
    "contribution_bounding_strategy": "it belongs into APPROX_COUNT_DISTINCT(column, ... => 'MATCHING')",
}
STRATEGIES = ("PUBLIC_GROUPS", "LAPLACE_THRESHOLD")


def _options(values: dict[str, list[_Token]]) -> _Options:
    known = ("epsilon", "delta", "privacy_unit_column", "group_selection_strategy")
    for name in values:
        if name in NOT_OURS:
            raise ClauseError(f"sql: leave the option {name} out; {NOT_OURS[name]}")
        if name not in known:
            raise ClauseError(f"sql: there is no option {name}; there are {', '.join(known)}")
    for name in ("epsilon", "privacy_unit_column"):
        if name not in values:
            raise ClauseError(f"sql: OPTIONS needs {name} = ...")
    strategy = None
    if "group_selection_strategy" in values:
        strategy = "".join(token.word for token in values["group_selection_strategy"])
        if strategy not in STRATEGIES:
            raise ClauseError(f"sql: group_selection_strategy must be one of {', '.join(STRATEGIES)}")
    path = values["privacy_unit_column"]
    names, dots = path[::2], path[1::2]
    if any(token.text[0] in "'$0123456789(" for token in names) or any(dot.text != "." for dot in dots):
        raise ClauseError("sql: privacy_unit_column must be a column: user_id, or table.user_id")
    delta = _number("delta", values["delta"]) if "delta" in values else None
    if delta is not None and delta >= 1:
        raise ClauseError("sql: delta must lie between 0 and 1")
    if strategy == "LAPLACE_THRESHOLD" and delta is None:
        raise ClauseError("sql: group_selection_strategy = LAPLACE_THRESHOLD needs delta = ..., such as 1e-6")
    if strategy != "LAPLACE_THRESHOLD" and delta is not None:
        raise ClauseError(
            "sql: delta is needed with group_selection_strategy = LAPLACE_THRESHOLD only; leave it out"
        )
    return _Options(
        _number("epsilon", values["epsilon"]), delta, tuple(token.name for token in names), strategy
    )


def _number(name: str, value: list[_Token]) -> Fraction:
    """A positive number, exactly as it is written."""
    text = "".join(token.text for token in value)
    plain = re.fullmatch(r"(?=\.?\d)\d{0,40}\.?\d{0,40}(?:e[+-]?\d{1,3})?", text, re.IGNORECASE)
    number = Fraction(text) if plain else Fraction(0)
    if number <= 0:
        raise ClauseError(f"sql: {name} must be a positive number, such as 0.5")
    return number


# The query


class _Release:
    def __init__(self, options: _Options, text: str) -> None:
        self._options, self._text = options, text
        node = parse(text)
        if node["type"] != "SELECT_NODE":
            raise ClauseError(
                "sql: the clause belongs to one SELECT, not to a UNION; put that into FROM (...)"
            )
        self._node = node
        self._elements: dict[str, str] = {}  # the columns of the inner query, by their text
        self._columns: list[Node] = []
        self._counts: list[tuple[tuple[Any, ...], Count, bool]] = []
        self._names: dict[str, str] = {}  # of counts, as the result calls them

    def query(self) -> ReleaseQuery:
        node = self._node
        for part, words in (("qualify", "QUALIFY"), ("sample", "SAMPLE")):
            if node[part] is not None:
                raise ClauseError(f"sql: {words} cannot act on released counts; put it into FROM (...)")
        if any(modifier["type"] == "DISTINCT_MODIFIER" for modifier in node["modifiers"]):
            raise ClauseError("sql: SELECT DISTINCT is not needed: every group occurs once; leave it out")
        if any(item["class"] == "STAR" for item in node["select_list"]):
            raise ClauseError("sql: name the columns instead of *")
        source, listed = self._source()
        node = self._node
        self._optional = {name.lower() for name in _optional(source)}
        self._unit = {**column_node(""), "column_names": list(self._options.person)}
        self._person = self._inner_column(self._unit, "person")
        self._keys = self._group_keys()
        if listed is None and self._options.strategy == "LAPLACE_THRESHOLD":
            listed = "unknown"
        if self._options.strategy is not None and not self._keys:
            raise ClauseError("sql: group_selection_strategy needs GROUP BY")
        after = self._after()
        if not self._counts:
            raise ClauseError(f"sql: nothing is counted; {POSSIBLE}")
        inner = select_node(self._columns, source, where_clause=node["where_clause"], cte_map=node["cte_map"])
        return ReleaseQuery(
            inner=printed(inner),
            table=self._only_table(source),
            person=self._person,
            unit=(self._options.person[-1],),
            epsilon=self._options.epsilon,
            delta=self._options.delta,
            counts=self._shared(),
            groups=tuple(group for _, group in self._keys),
            listed=listed,
            after=printed(after),
        )

    def _words(self, node: Node) -> str:
        return shortened(words_of(self._text, node))

    def _inner_column(self, node: Node, stem: str) -> str:
        """The column of the inner query that holds this, named as it is written."""
        text = _text(node)
        if text not in self._elements:
            taken = {name.lower() for name in self._elements.values()}
            own = node["column_names"][-1] if node["class"] == "COLUMN_REF" else self._words(node) or stem
            number = 1
            while (name := own if number == 1 else f"{own}_{number}").lower() in taken:
                number += 1
            self._elements[text] = name
            self._columns.append({**node, "alias": name})
        return self._elements[text]

    def _only_table(self, source: Node) -> str | None:
        """The table in FROM, where the inner query does nothing but choose columns of it."""
        node = self._node
        plain = all(
            column["class"] == "COLUMN_REF" and column["alias"] == column["column_names"][-1]
            for column in self._columns
        )
        if source["type"] != "BASE_TABLE" or source["sample"] or source["column_name_alias"] or not plain:
            return None
        if node["where_clause"] is not None or node["cte_map"]["map"] or source["at_clause"]:
            return None
        return ".".join(
            part for part in (source["catalog_name"], source["schema_name"], source["table_name"]) if part
        )

    # Groups

    def _group_keys(self) -> list[tuple[Node, Group]]:
        """The grouping items, as they stand in the query, each with its group."""
        node = self._node
        if len(node["group_sets"]) > 1:
            raise ClauseError("sql: GROUPING SETS, CUBE and ROLLUP cannot be released; write several queries")
        items = node["select_list"]
        if node["aggregate_handling"] != "STANDARD_HANDLING":  # GROUP BY ALL
            nodes = [item for item in items if not any(map(_is_aggregate, _inside(item)))]
        else:
            nodes = [self._meant(key, items) for key in node["group_expressions"]]
        keys: list[tuple[Node, Group]] = []
        for key in nodes:
            if any(_same(key, other) for other, _ in keys):
                continue
            if any(part["class"] in ("SUBQUERY", "WINDOW") or _is_aggregate(part) for part in _inside(key)):
                raise ClauseError(f"sql at `{self._words(key)}`: this cannot be a group")
            value, every = _period(key)
            column = self._inner_column(value, "group")
            if column == self._person:
                raise ClauseError(
                    "sql: a group for each person would be about one person; group by something else"
                )
            if any(group.column == column for _, group in keys):
                raise ClauseError("sql: a column is grouped by twice, in two periods; choose one")
            keys.append((key, Group(column, self._name_of(key, column), every)))
        return keys

    def _name_of(self, key: Node, column: str) -> str:
        """What the result calls a group."""
        names = [item["alias"] for item in self._node["select_list"] if _same(item, key) and item["alias"]]
        return names[0] if names else column

    def _meant(self, key: Node, items: list[Node]) -> Node:
        """A grouping item: an expression, or the number or the alias of an item of the SELECT list."""
        if key["class"] == "CONSTANT":
            place = key["literal"].get("text", "")
            if not place.isdecimal() or not 1 <= int(place) <= len(items):
                raise ClauseError(f"sql at `{self._words(key)}`: this is the number of no column")
            return items[int(place) - 1]
        if key["class"] == "COLUMN_REF" and len(key["column_names"]) == 1:
            name = key["column_names"][0].lower()
            for item in items:
                if item["alias"].lower() == name and not _same(item, key):
                    return item
        return key

    # FROM

    def _source(self) -> tuple[Node, PublicGroups | Literal["unknown"] | None]:
        """What the rows come from; and the public groups that it is joined with."""
        source = self._node["from_table"]
        if self._options.strategy != "PUBLIC_GROUPS":
            return source, None
        how = (
            "sql: PUBLIC_GROUPS needs FROM rows RIGHT JOIN (SELECT DISTINCT column FROM public_table) "
            "USING (column), or the same with LEFT JOIN, on every grouping column"
        )
        if (
            source["type"] != "JOIN"
            or source["join_type"] not in ("LEFT", "RIGHT")
            or source["ref_type"] != "REGULAR"
        ):
            raise ClauseError(how)
        public, rows = source["left"], source["right"]
        if source["join_type"] == "RIGHT":
            public, rows = rows, public
        if public["type"] != "SUBQUERY" or public["column_name_alias"]:
            raise ClauseError(how)
        select = public["subquery"]["node"]
        if select["type"] != "SELECT_NODE" or not any(
            modifier["type"] == "DISTINCT_MODIFIER" and not modifier["distinct_on_targets"]
            for modifier in select["modifiers"]
        ):
            raise ClauseError(how)
        names = [own_name(item).lower() for item in select["select_list"]]
        if self._node["where_clause"] is not None:
            raise ClauseError(
                "sql: with PUBLIC_GROUPS a WHERE comes after the join, where it could drop groups to be "
                "reported; put it into the rows: (SELECT ... FROM rows WHERE ...) RIGHT JOIN ..."
            )
        pairs = self._joined_on(source, public["alias"], how)
        if sorted(names) != sorted(pairs) or not all(names):
            raise ClauseError(how)
        self._redirect(pairs, public["alias"])
        keys = [self._meant(key, self._node["select_list"]) for key in self._node["group_expressions"]]
        wanted = [_text(key) for key in keys]
        offered = {_text(row): name for name, row in pairs.items()}
        if sorted(wanted) != sorted(offered):
            raise ClauseError(how)
        order = [names.index(offered[text]) for text in wanted]
        listed = {
            **select,
            "select_list": [select["select_list"][place] for place in order],
            "cte_map": self._node["cte_map"] if not select["cte_map"]["map"] else select["cte_map"],
        }
        return rows, PublicGroups(printed(listed))

    def _joined_on(self, source: Node, alias: str, how: str) -> dict[str, Node]:
        """For each column of the public groups, the column of the rows that it is joined with."""
        if source["using_columns"]:
            return {name.lower(): column_node(name) for name in source["using_columns"]}
        pairs: dict[str, Node] = {}
        for test in conjuncts(source["condition"]):
            if test["type"] != "COMPARE_EQUAL":
                raise ClauseError(how)
            sides = [test["left"], test["right"]]
            if any(side["class"] != "COLUMN_REF" or len(side["column_names"]) != 2 for side in sides):
                raise ClauseError(how)
            of_public = [side["column_names"][0].lower() == alias.lower() for side in sides]
            if sum(of_public) != 1:
                raise ClauseError(how)
            public, row = (sides[0], sides[1]) if of_public[0] else (sides[1], sides[0])
            pairs[public["column_names"][1].lower()] = {**row, "alias": ""}
        return pairs

    def _redirect(self, pairs: dict[str, Node], alias: str) -> None:
        """The columns of the public groups are the columns of the rows that they equal."""

        def change(part: Node) -> Node | None:
            if part.get("class") != "COLUMN_REF":
                return None
            path = [name.lower() for name in part["column_names"]]
            if len(path) == 2 and path[0] == alias.lower() and path[1] in pairs:
                return {**pairs[path[1]], "alias": part["alias"] or part["column_names"][1]}
            if len(path) == 1 and path[0] in pairs:
                return {**pairs[path[0]], "alias": part["alias"] or part["column_names"][0]}
            return None

        fields = ("select_list", "group_expressions", "having", "modifiers")
        self._node = {**self._node, **{name: changed(self._node[name], change) for name in fields}}
        self._node["group_expressions"] = [{**key, "alias": ""} for key in self._node["group_expressions"]]

    # Counts

    def _count(self, node: Node) -> Count:
        """The count that an aggregate asks for."""
        at = f"sql at `{self._words(node)}`: "
        name = node["function_name"].lower()
        approximate = name == "approx_count_distinct"
        if not approximate and not (name == "count" and node["distinct"]):
            raise ClauseError(
                f"{at}{name.upper().replace('COUNT_STAR', 'COUNT(*)')} cannot be released; {POSSIBLE}"
            )
        if node["filter"] is not None or node["order_bys"]["orders"] or node["schema"]:
            raise ClauseError(
                f"{at}FILTER and ORDER BY do not belong here; count CASE WHEN condition THEN column END"
            )
        named = {a["name"].lower(): a["expression"] for a in node["arguments"] if a["name"]}
        values = [a["expression"] for a in node["arguments"] if not a["name"]]
        if len(named) + len(values) < len(node["arguments"]):
            raise ClauseError(f"{at}an argument is given twice")
        for key in named:
            if key not in ("epsilon", "contribution_bounding_strategy"):
                raise ClauseError(f"{at}there is no argument {key}; leave it out")
        if (
            len(values) == 1
            and values[0]["class"] == "FUNCTION"
            and values[0]["function_name"].lower() == "row"
        ):
            values = [a["expression"] for a in values[0]["arguments"]]
        if not values:
            raise ClauseError(f"{at}name the column to be counted")
        for part in (part for value in values for part in _inside(value)):
            if part["class"] in ("SUBQUERY", "WINDOW", "STAR") or _is_aggregate(part):
                raise ClauseError(
                    f"{at}only expressions of a row can be counted; put the rest into FROM (...)"
                )
        if len(values) == 1 and self._is_unit(values[0]):
            values = [self._unit]
        columns = tuple(dict.fromkeys(self._inner_column(value, "element") for value in values))
        method = self._method(named.get("contribution_bounding_strategy"), at)
        people = columns == (self._person,)
        if people and method is not None:
            raise ClauseError(f"{at}people are counted without a bounding strategy: everybody counts once")
        own = named.get("epsilon")
        epsilon = Fraction(0) if own is None else _number("epsilon", [_Token(0, 0, self._words(own))])
        key = (columns, method, epsilon)
        for other, count, _ in self._counts:
            if other == key:
                return count
        column = f"count_{len(self._counts) + 1}"
        count = Count(column, column, () if people else columns, epsilon, None, method)
        self._counts.append((key, count, own is not None))
        return count

    def _is_unit(self, value: Node) -> bool:
        """Whether it is the privacy unit, also with another table's name, unless an outer join makes that
        table's column NULL where the privacy unit is not.
        """
        path = value.get("column_names", [])
        of_optional = len(path) > 1 and path[0].lower() in self._optional
        return _same(value, self._unit) and not of_optional

    def _method(self, node: Node | None, at: str) -> Method | None:
        if node is None:
            return None
        text = node["literal"].get("text", "").lower() if node["class"] == "CONSTANT" else ""
        if text in METHODS:
            return METHODS[text]
        raise ClauseError(f"{at}contribution_bounding_strategy must be 'MATCHING', 'GREEDY' or 'SAMPLING'")

    def _shared(self) -> tuple[Count, ...]:
        """The counts with their shares: their own epsilon, or an equal part of what is left, exactly."""
        total = self._options.epsilon
        left = total - sum(count.epsilon for _, count, own in self._counts if own)
        equal = sum(not own for _, _, own in self._counts)
        if left < 0 or (equal and left == 0):
            raise ClauseError(
                "sql: the epsilons of the counts must not exceed that of OPTIONS, nor leave others nothing"
            )
        delta = None if self._options.delta is None else self._options.delta / len(self._counts)
        return tuple(
            replace(
                count,
                name=self._names.get(count.column, count.column),
                epsilon=count.epsilon if own else left / equal,
                delta=delta,
            )
            for _, count, own in self._counts
        )

    # What is left

    def _after(self) -> Node:
        """The SELECT over the released table."""
        node = self._node
        items = []
        for item in node["select_list"]:
            name = own_name(item)
            if not name and _is_aggregate(item):
                name = self._words(item)
            made = self._on_released(item)
            items.append({**made, "alias": name or self._words(item)})
            if made["class"] == "COLUMN_REF":
                self._names.setdefault(made["column_names"][0], items[-1]["alias"])
        aliases = {item["alias"].lower(): item for item in items}
        having = None if node["having"] is None else self._on_released(node["having"], aliases)
        modifiers = [self._modifier(modifier, aliases) for modifier in node["modifiers"]]
        source = table_node((RELEASED,))
        return select_node(items, source, where_clause=having, modifiers=modifiers)

    def _modifier(self, modifier: Node, aliases: dict[str, Node]) -> Node:
        if modifier["type"] == "LIMIT_MODIFIER":
            for part in (modifier["limit"], modifier["offset"]):
                if part is not None and part["class"] != "CONSTANT":
                    raise ClauseError("sql: LIMIT and OFFSET must be numbers")
            return modifier
        if modifier["type"] != "ORDER_MODIFIER":
            raise ClauseError("sql: only ORDER BY, LIMIT and OFFSET can follow")
        orders = []
        for order in modifier["orders"]:
            expression = order["expression"]
            if expression["class"] != "CONSTANT" and expression["class"] != "STAR":
                expression = self._on_released(expression, aliases)
            orders.append({**order, "expression": expression})
        return {**modifier, "orders": orders}

    def _on_released(self, node: Node, aliases: dict[str, Node] | None = None) -> Node:
        """The same about the columns of the released table."""

        def change(part: Node) -> Node | None:
            if "class" not in part:
                return None
            for number, (key, _) in enumerate(self._keys, start=1):
                if _same(part, key):
                    return column_node(f"group_{number}", part["alias"])
            if _is_aggregate(part):
                return column_node(self._count(part).column, part["alias"])
            if part["class"] == "COLUMN_REF":
                name = part["column_names"][-1].lower()
                if aliases is not None and len(part["column_names"]) == 1 and name in aliases:
                    return {**aliases[name], "alias": ""}
                raise ClauseError(
                    f"sql at `{self._words(part)}`: neither grouped by nor counted; add it to GROUP BY"
                )
            if part["class"] in ("SUBQUERY", "WINDOW", "STAR", "LAMBDA", "PARAMETER"):
                raise ClauseError(
                    f"sql at `{self._words(part)}`: it cannot act on released counts; put it into FROM (...)"
                )
            return None

        released: Node = changed(node, change)
        return released


def _inside(tree: Any) -> Iterator[Node]:
    """Every expression in a node, itself included; not those of its subqueries."""
    return (node for node in nodes_of(tree, lambda node: node.get("class") == "SUBQUERY") if "class" in node)


_AGGREGATES = (
    "count count_star approx_count_distinct sum avg mean min max any_value first last list array_agg "
    "string_agg median mode stddev variance var_samp var_pop stddev_samp stddev_pop quantile quantile_cont "
    "quantile_disc percentile_cont count_if countif bool_and bool_or logical_and logical_or approx_quantile "
    "approx_quantiles arg_min arg_max product histogram bit_and bit_or bit_xor"
)
AGGREGATED = set(_AGGREGATES.split())


def _is_aggregate(node: Node) -> bool:
    return node.get("class") == "FUNCTION" and (
        node["function_name"].lower() in AGGREGATED or node["distinct"] or node["filter"] is not None
    )


def _same(one: Node, other: Node) -> bool:
    """Whether two expressions are written alike, but for their alias, case and the names of tables."""
    if one["class"] == other["class"] == "COLUMN_REF":
        a, b = ([name.lower() for name in node["column_names"]] for node in (one, other))
        return a == b or (len(a) != len(b) and a[-1] == b[-1])
    return one["class"] == other["class"] and _text(one) == _text(other)


def _text(node: Node) -> str:
    """The same text for expressions that differ in the case of names alone."""
    return printed(select_node([_in_small_letters({**node, "alias": ""})]))


def _in_small_letters(tree: Any) -> Any:
    """A tree with its names of columns and functions in small letters; constants stay as they are."""
    if isinstance(tree, list):
        return [_in_small_letters(child) for child in tree]
    if not isinstance(tree, dict):
        return tree
    names = {"column_names": [name.lower() for name in tree.get("column_names", [])]}
    if "function_name" in tree:
        names["function_name"] = tree["function_name"].lower()
    return {key: names[key] if key in names else _in_small_letters(value) for key, value in tree.items()}


def _optional(source: Node, optional: bool = False) -> Iterator[str]:
    """The names of tables in FROM of which a row of the result may have none."""
    if source["type"] == "JOIN":
        kind = source["join_type"]
        yield from _optional(source["left"], optional or kind in ("RIGHT", "OUTER"))
        yield from _optional(source["right"], optional or kind in ("LEFT", "OUTER"))
    elif optional:
        yield source["alias"] or source.get("table_name", "")


PERIODS: dict[str, Period] = {
    "day": "day", "week": "week", "isoweek": "week", "month": "month", "quarter": "quarter", "year": "year",
}  # fmt: skip


def _period(node: Node) -> tuple[Node, Period | None]:
    """The column and the period of date_trunc('month', day), or of GoogleSQL's DATE_TRUNC(day, MONTH)."""
    names = ("date_trunc", "datetrunc", "timestamp_trunc", "datetime_trunc")
    if node["class"] != "FUNCTION" or node["function_name"].lower() not in names:
        return {**node, "alias": ""}, None
    arguments = [argument["expression"] for argument in node["arguments"]]
    if len(arguments) == 2:
        first, second = arguments
        value, unit = (second, first) if first["class"] == "CONSTANT" else (first, second)
        text = unit["literal"].get("text", "") if unit["class"] == "CONSTANT" else ""
        if unit is second and unit["class"] == "COLUMN_REF":
            text = unit["column_names"][-1]
        if unit is second and text.lower() == "week":  # there it begins on Sunday
            raise ClauseError("sql: weeks begin on Monday here: write ISOWEEK, or date_trunc('week', column)")
        if text.lower() in PERIODS:
            return {**value, "alias": ""}, PERIODS[text.lower()]
    raise ClauseError("sql: a period must be date_trunc('day', 'week', 'month', 'quarter' or 'year', column)")
