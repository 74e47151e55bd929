"""The public face: the data said once (`table`), and one call for the simple case."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, overload

from dpdistinct.asking import ask, parameters_of, read_curve, refuse_for_contributions
from dpdistinct.cost import Number, exact
from dpdistinct.errors import ParameterError
from dpdistinct.graph.contributions import Contributions
from dpdistinct.graph.reading import contributions_of, with_min_bound
from dpdistinct.question.columns import Columns, column_names
from dpdistinct.question.group_lists import Every
from dpdistinct.question.machine import Engine, Machine, Path
from dpdistinct.question.option import with_arguments
from dpdistinct.question.parameters import Aim, Mechanism, Method
from dpdistinct.question.payment import Payment
from dpdistinct.question.question import Question, check_columns
from dpdistinct.question.reading import Format, Reading
from dpdistinct.sources.opening import open_source
from dpdistinct.wording import warn_of_epsilon, warn_of_no_ledger

if TYPE_CHECKING:
    from dpdistinct.answers.query_release import QueryRelease
    from dpdistinct.answers.release import GroupedRelease, Release
    from dpdistinct.answers.several import Releases
    from dpdistinct.graph.curves import Curve
    from dpdistinct.ledger.account import Ledger
    from dpdistinct.querying import Named
    from dpdistinct.sources.binding import Given
    from dpdistinct.trusted.check_result import Check
    from dpdistinct.trusted.explore import Exploration

DATA = (
    "A path or glob (CSV, TSV, JSON lines, Parquet, also .gz and .zst; DuckDB and SQLite files), a list of "
    "paths, a pandas or Polars frame, an Arrow table or stream, a DuckDB relation, a Spark DataFrame, a "
    "postgresql:// URL, or Contributions."
)
ELEMENT = "The column to count, or several that count together."
BY = "A column whose groups are counted each, or several."
GROUPS = (
    'The groups to report, which must be public and never taken from the data: a list, "2024-01..2024-12" '
    'with every="month", the path of a CSV file, or a mapping from each column to one of these for all '
    'combinations; or "unknown" with a delta, and then only groups with enough people show.'
)


@dataclass(frozen=True, repr=False)
class Table:
    """Data, whose rows are protected person by person. Made by `table`; it reads nothing yet.

    `count` gives an answer that may be published. `explore`, `check`, `read` and `curve`
    are NOT private: for trusted eyes only.
    """

    data: Any
    person: tuple[str, ...]
    rows: dict[str, Any]  # which of them: sql, trust_sql, table
    reading: Reading
    machine: Machine
    payment: Payment

    def __repr__(self) -> str:
        return f"<Table: person {', '.join(self.person) or '(read already)'}>"

    @overload
    def count(
        self,
        element: Columns | None = None,
        *,
        by: None = None,
        epsilon: Number = 1.0,
        beta: Number = 0.05,
        method: Method = "matching",
        mechanism: Mechanism | None = None,
        max_bound: int | None = None,
        min_bound: int | None = None,
        aim: Aim = "lower_bound",
        request_id: str = "",
        series: str | None = None,
    ) -> Release: ...

    @overload
    def count(
        self,
        element: Columns,
        *,
        by: Columns,
        groups: Any,
        every: Every | None = None,
        one_group_per_person: bool = False,
        epsilon: Number = 1.0,
        beta: Number = 0.05,
        delta: Number | None = None,
        method: Method = "matching",
        mechanism: Mechanism | None = None,
        max_bound: int | None = None,
        aim: Aim = "lower_bound",
        request_id: str = "",
    ) -> GroupedRelease: ...

    @with_arguments(Question, Payment, element=ELEMENT, by=BY, groups=GROUPS)
    def count(
        self,
        element: Columns | None = None,
        *,
        by: Columns | None = None,
        groups: Any = None,
        every: Every | None = None,
        one_group_per_person: bool = False,
        epsilon: Number = 1.0,
        beta: Number = 0.05,
        delta: Number | None = None,
        method: Method = "matching",
        mechanism: Mechanism | None = None,
        max_bound: int | None = None,
        min_bound: int | None = None,
        aim: Aim = "lower_bound",
        request_id: str = "",
        series: str | None = None,
    ) -> Release | GroupedRelease:
        """How many distinct elements there are, or how many in each group, for the price of one count.

        {arguments}

        >>> import duckdb
        >>> visits = table(
        ...     duckdb.sql("SELECT i % 500 AS who, i % 900 AS page, i % 2 AS odd FROM range(5000) t(i)"),
        ...     person="who",
        ... )
        >>> visits.count("page", epsilon=1, beta=1e-9).lower_bound <= 900  # the truth
        True
        >>> [row.group for row in visits.count("page", by="odd", groups=[0, 1]).rows]
        [0, 1]

        Guarantee: epsilon-differential privacy for adding, removing or changing one person with all
        their rows, and lower_bound <= truth with probability at least 1 - beta (docs/proofs/mechanisms.md).
        By group: for adding or removing one person, all lower bounds at once, and CHANGING one person's
        rows costs 2 epsilon. Unknown groups have (epsilon, delta), and those that are shown are selected:
        see `margin_together` of GroupedRelease (docs/proofs/groups.md). Someone who appears
        under d identities has d * epsilon.
        """
        question = Question.of(
            {
                **self.rows,
                "person": self.person,
                "element": element,
                "group_by": by,
                "groups": groups,
                "every": every,
                "one_group_per_person": one_group_per_person,
                "epsilon": epsilon,
                "beta": beta,
                "delta": delta,
                "method": method,
                "mechanism": mechanism,
                "max_bound": max_bound,
                "min_bound": min_bound,
                "aim": aim,
            }
        )
        payment = self._paying(request_id=request_id, series=series)
        warn_of_epsilon(parameters_of(question, payment).cost.epsilon)
        if payment.ledger is None:
            warn_of_no_ledger()
        return ask(self.data, question, self.reading, self.machine, payment).release

    @with_arguments(Question, Payment)
    def count_people(self, *, epsilon: Number = 1.0, beta: Number = 0.05, request_id: str = "") -> Release:
        """How many people there are: a noisy count without bias, and an interval with both ends.

        {arguments}

        >>> import duckdb
        >>> visits = table(duckdb.sql("SELECT i % 500 AS who FROM range(5000) t(i)"), person="who")
        >>> release = visits.count_people(epsilon=1, beta=1e-9)
        >>> release.lower_bound <= 500 <= release.upper_bound
        True

        Guarantee: epsilon-differential privacy for adding, removing or changing one person with all
        their rows, and lower_bound <= truth <= upper_bound with probability at least 1 - beta
        (docs/proofs/mechanisms.md).
        """
        return self.count(self.person, epsilon=epsilon, beta=beta, request_id=request_id)

    @with_arguments(
        Question,
        Payment,
        counts="For each count, by its name, its options: element (without one, people are counted), "
        "group_by, groups, every, delta, method, ..., and share: how many parts of epsilon it gets.",
    )
    def count_all(
        self,
        counts: Mapping[str, Mapping[str, Any]],
        *,
        epsilon: Number = 1.0,
        beta: Number = 0.05,
        request_id: str = "",
    ) -> Releases:
        """Several counts in one release, paid for together or not at all.

        {arguments}

        >>> import duckdb
        >>> rows = duckdb.sql("SELECT i % 500 AS who, i % 900 AS page, i % 2 AS odd FROM range(5000) t(i)")
        >>> counts = {"pages": {"element": "page"}}
        >>> counts["odd"] = {"element": "page", "group_by": "odd", "groups": [0, 1]}
        >>> answers = table(rows, person="who").count_all(counts, epsilon=1)
        >>> [row.group for row in answers["odd"].rows], answers["pages"].epsilon
        ([0, 1], 0.5)

        Guarantee: each count has the guarantee that `count` gives it at its share of epsilon, and all of them
        together cost the sum of these shares (basic composition).
        """
        from dpdistinct.releasing import ask_all, questions_of

        questions = questions_of(counts, person=list(self.person), rows=self.rows, epsilon=epsilon, beta=beta)
        payment = self._paying(request_id=request_id)
        warn_of_epsilon(exact("epsilon", epsilon, hint="try 1"))
        if payment.ledger is None:
            warn_of_no_ledger()
        return ask_all(self.data, questions, self.reading, self.machine, payment).releases

    def _paying(self, **given: Any) -> Payment:
        return Payment.of(vars(self.payment) | given)

    def _question(self, element: Columns | None) -> Question:
        return Question.of({**self.rows, "person": self.person, "element": element})

    def read(self, element: Columns | None = None) -> Contributions:
        """Who contributed what. NOT private.

        >>> import duckdb
        >>> visits = table(
        ...     duckdb.sql("SELECT i % 500 AS who, i % 900 AS page FROM range(5000) t(i)"), person="who"
        ... )
        >>> visits.read("page").elements  # exact: NOT private
        900
        """
        question = self._question(element)
        if isinstance(self.data, Contributions):
            refuse_for_contributions(question, self.reading)
            return self.data
        check_columns(question)
        with open_source(self.data, question, self.reading, self.machine) as source:
            source.check(question)
            return contributions_of(source, question, self.machine)

    def curve(
        self, element: Columns | None = None, *, method: Method = "matching", min_bound: int | None = None
    ) -> Curve:
        """What each limit per person keeps, from min_bound on. NOT private.

        With a memory_limit, or on Spark, the table need not fit into memory, and with method "matching"
        min_bound is 16, or 64, unless you say otherwise.
        """
        question = self._question(element)
        parameters = replace(question, method=method, min_bound=min_bound).parameters
        if isinstance(self.data, Contributions):
            return read_curve(self.data, question, self.machine, parameters)
        check_columns(question)
        with open_source(self.data, question, self.reading, self.machine) as source:
            source.check(question)
            parameters = with_min_bound(parameters, min_bound, source, self.machine)
            return read_curve(source, question, self.machine, parameters)

    def explore(
        self, element: Columns | None = None, *, epsilon: Number = 1.0, beta: Number = 0.05
    ) -> Exploration:
        """The exact curves, and how each mechanism would do. NOT private: for trusted eyes only."""
        from dpdistinct.trusted.explore import explore

        return explore(self.read(element), epsilon=epsilon, beta=beta)

    def check(
        self,
        element: Columns | None = None,
        *,
        by: Columns | None = None,
        groups: Any = None,
        every: Every | None = None,
    ) -> Check:
        """How the table is read, and what would be left out and why. NOT private: for trusted eyes only.

        by, groups, every: as for `count`; it shows which rows are in a listed group, and which nearly are.
        """
        from dpdistinct.trusted.check import check_table

        options = {"person": self.person, "element": element, "group_by": by, "groups": groups}
        question = Question.of(self.rows | options | {"every": every})
        return check_table(self.data, question, self.reading, self.machine)


@with_arguments(Question, Reading, Machine, Payment, data=DATA)
def table(
    data: Any,
    *,
    person: Columns | None = None,
    sql: str | None = None,
    trust_sql: bool = False,
    table: str | None = None,
    columns: Columns | None = None,
    encoding: str = "utf-8",
    format: Format | None = None,
    delimiter: str | None = None,
    comment: str | None = None,
    header: bool = True,
    quotes: bool = True,
    trim: bool = False,
    date_format: str | None = None,
    ledger: Ledger | Path | None = None,
    dataset: str | None = None,
    data_name: str | None = None,
    subscription: str | None = None,
    engine: Engine = "duckdb",
    memory_limit: str | None = None,
    temp_directory: Path | None = None,
    threads: int | None = None,
) -> Table:
    """A table, said once: its data, who is protected, how it is written, who pays, and with what means.

    {arguments}

    Questions follow: `count`; for trusted eyes `explore`, `check`, `read`, `curve`.

    >>> import duckdb
    >>> rows = duckdb.sql("SELECT i % 500 AS who, i % 900 AS page FROM range(5000) t(i)")
    >>> visits = table(rows, person="who")
    >>> visits
    <Table: person who>
    """
    reading: dict[str, Any] = {
        "columns": columns,
        "encoding": encoding,
        "format": format,
        "delimiter": delimiter,
    }
    reading |= {
        "comment": comment,
        "header": header,
        "quotes": quotes,
        "trim": trim,
        "date_format": date_format,
    }
    machine: dict[str, Any] = {"engine": engine, "memory_limit": memory_limit}
    machine |= {"temp_directory": temp_directory, "threads": threads}
    paying = {"ledger": ledger, "dataset": dataset, "data_name": data_name, "subscription": subscription}
    return Table(
        data=data,
        person=() if person is None else column_names("person", person),
        rows=Question(sql=sql, trust_sql=trust_sql, table=table).rows,
        reading=Reading.of(reading),
        machine=Machine.of(machine),
        payment=Payment.of(paying),
    )


@with_arguments(Question, Payment, data=DATA, person="As for table.", element=ELEMENT)
def count_distinct(
    data: Any,
    *,
    person: Columns | None = None,
    element: Columns | None = None,
    epsilon: Number = 1.0,
    beta: Number = 0.05,
    method: Method = "matching",
    mechanism: Mechanism | None = None,
    max_bound: int | None = None,
    aim: Aim = "lower_bound",
    sql: str | None = None,
    trust_sql: bool = False,
    ledger: Ledger | Path | None = None,
    dataset: str | None = None,
    data_name: str | None = None,
    request_id: str = "",
    series: str | None = None,
) -> Release:
    """How many distinct elements there are, with a proven limit on what the answer tells about any person.

    One call for the simple case. Where more must be said (how a file is written, memory, threads), say it
    once with `table`, and count there.

    {arguments}

    >>> visits = Contributions.from_pairs([i % 500 for i in range(5000)], [i % 2000 for i in range(5000)])
    >>> release = count_distinct(visits, epsilon=1, beta=1e-9)
    >>> release.lower_bound <= 2000  # the truth; false once in 1,000,000,000 answers at most
    True

    Guarantee: epsilon-differential privacy for adding, removing or changing one person with all
    their rows, and lower_bound <= truth with probability at least 1 - beta
    (docs/proofs/mechanisms.md). With mechanism "tent", changing one person costs 2 * epsilon
    (docs/proofs/tent.md). Someone who appears under d identities has d * epsilon.
    """
    paying: dict[str, Any] = {"ledger": ledger, "dataset": dataset, "data_name": data_name}
    asked = table(data, person=person, sql=sql, trust_sql=trust_sql, **paying)
    return asked.count(
        element,
        epsilon=epsilon,
        beta=beta,
        method=method,
        mechanism=mechanism,
        max_bound=max_bound,
        aim=aim,
        request_id=request_id,
        series=series,
    )


@with_arguments(
    Question, Payment, data=DATA, person="As for table.", element=ELEMENT, group_by=BY, groups=GROUPS
)
def count_distinct_by(
    data: Any,
    *,
    person: Columns,
    element: Columns,
    group_by: Columns,
    groups: Any,
    every: Every | None = None,
    one_group_per_person: bool = False,
    epsilon: Number = 1.0,
    beta: Number = 0.05,
    delta: Number | None = None,
    method: Method = "matching",
    mechanism: Mechanism | None = None,
    max_bound: int | None = None,
    aim: Aim = "lower_bound",
    ledger: Ledger | Path | None = None,
    dataset: str | None = None,
) -> GroupedRelease:
    """How many distinct elements there are in each group, for the price of one count.

    One call for the simple case. Where more must be said, say it once with `table`, and count there.

    {arguments}

    >>> import duckdb
    >>> visits = duckdb.sql(
    ...     "SELECT i % 500 AS who, i % 900 AS page, ['DE', 'FR'][i % 2 + 1] AS country FROM range(5000) t(i)"
    ... )
    >>> asked = {"person": "who", "element": "page", "group_by": "country"}
    >>> answer = count_distinct_by(visits, **asked, groups=["DE", "FR", "IT"])
    >>> [row.group for row in answer.rows]
    ['DE', 'FR', 'IT']

    Guarantee: epsilon-differential privacy for adding or removing one person with all their rows
    ((epsilon, delta) for unknown groups), and with probability at least 1 - beta all lower bounds of a list
    hold at once; unknown groups that are shown are selected, and `margin_together` of GroupedRelease says
    what holds for all of them. CHANGING one person's rows costs 2 epsilon here, except for a list of one
    group (docs/proofs/groups.md).
    """
    return table(data, person=person, ledger=ledger, dataset=dataset).count(
        element,
        by=group_by,
        groups=groups,
        every=every,
        one_group_per_person=one_group_per_person,
        epsilon=epsilon,
        beta=beta,
        delta=delta,
        method=method,
        mechanism=mechanism,
        max_bound=max_bound,
        aim=aim,
    )


@with_arguments(Question, data=DATA, person="As for table.", element=ELEMENT)
def read(
    data: Any, *, person: Columns, element: Columns, sql: str | None = None, trust_sql: bool = False
) -> Contributions:
    """Who contributed what, from any table. NOT private. Where more must be said: `table(...).read(...)`.

    {arguments}

    >>> import duckdb
    >>> visits = duckdb.sql("SELECT i % 500 AS who, i % 900 AS page FROM range(5000) t(i)")
    >>> read(visits, person="who", element="page").elements  # exact: NOT private
    900
    """
    return table(data, person=person, sql=sql, trust_sql=trust_sql).read(element)


@with_arguments(
    Question,
    Machine,
    Payment,
    text="One or several queries with SELECT WITH DIFFERENTIAL_PRIVACY, separated by semicolons.",
    tables="The private tables by the names that the queries have for them: data as for `table`, or tables.",
    public="Tables without people, the same way: they are not protected.",
    groups="For each column that is grouped by, the groups to report, as for Table.count.",
)
def sql(
    text: str,
    *,
    tables: Mapping[str, Any] | None = None,
    public: Mapping[str, Any] | None = None,
    groups: Mapping[str, Any] | None = None,
    beta: Number = 0.05,
    ledger: Ledger | Path | None = None,
    dataset: str | None = None,
    data_name: str | None = None,
    request_id: str = "",
    memory_limit: str | None = None,
    temp_directory: Path | None = None,
    threads: int | None = None,
) -> list[QueryRelease]:
    """Counts asked in SQL, in GoogleSQL's words: a table for each query, paid for together or not at all.

    {arguments}

    A file may also be named in the query: FROM 'visits.parquet'. Every query is proven to count each
    person's rows as that person's alone, or refused (docs/sql.md).

    >>> import duckdb
    >>> rows = duckdb.sql("SELECT i % 500 AS who, i % 900 AS page FROM range(5000) t(i)")
    >>> query = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1, privacy_unit_column = who) "
    >>> query += "COUNT(DISTINCT page) AS pages, COUNT(DISTINCT who) AS people FROM visits"
    >>> [answer] = sql(query, tables={"visits": rows})
    >>> answer.columns
    ('pages', 'people')

    Guarantee: each query is epsilon-differentially private, or (epsilon, delta), for adding or removing one
    person with all their rows in all private tables, with the epsilon and delta of its OPTIONS
    (docs/proofs/sql.md).
    """
    from dpdistinct.querying import ask_queries

    machine = {"memory_limit": memory_limit, "temp_directory": temp_directory, "threads": threads}
    paying = {"ledger": ledger, "dataset": dataset, "data_name": data_name, "request_id": request_id}
    answered = ask_queries(
        text,
        named_tables(tables or {}, public or {}),
        groups=groups or {},
        beta=beta,
        machine=Machine.of(machine),
        payment=Payment.of(paying),
    )
    for release in answered.releases:
        warn_of_epsilon(Fraction(repr(release.epsilon)))
    return list(answered.releases)


def named_tables(tables: Mapping[str, Any], public: Mapping[str, Any]) -> Named:
    """The tables of a query, each as data or as a `Table`."""
    from dpdistinct.querying import Named
    from dpdistinct.sources.binding import Given

    def given(data: Any) -> Given:
        if not isinstance(data, Table):
            return Given(data)
        if data.rows["sql"] is not None or data.rows["trust_sql"]:
            raise ParameterError("sql of a table does not apply here; write it as WITH name AS (...)")
        return Given(data.data, data.reading, data.rows["table"])

    persons = {name: data.person for name, data in tables.items() if isinstance(data, Table) and data.person}
    private = {name: given(data) for name, data in tables.items()}
    return Named(private, {name: given(data) for name, data in public.items()}, persons)
