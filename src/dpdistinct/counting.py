"""The main function: from data to one private answer."""

from __future__ import annotations

from typing import Any

from dpdistinct.asking import ask, check_payment
from dpdistinct.graph.contributions import Contributions
from dpdistinct.ledger.account import Ledger
from dpdistinct.question.layout import Format
from dpdistinct.question.machine import Path, check_resources
from dpdistinct.question.parameters import Aim, Mechanism, Method, Number, check_parameters
from dpdistinct.question.question import Columns, check_query, column_names
from dpdistinct.reading import refuse_for_contributions
from dpdistinct.release import Release
from dpdistinct.wording import warn_of_epsilon


def count_distinct(
    data: Any,
    *,
    person: Columns | None = None,
    element: Columns | None = None,
    epsilon: Number = 1.0,
    beta: Number = 0.05,
    method: Method = "matching",
    mechanism: Mechanism = "joint",
    max_bound: int | None = None,
    aim: Aim = "lower_bound",
    sql: str | None = None,
    columns: Columns | None = None,
    encoding: str = "utf-8",
    format: Format | None = None,
    delimiter: str | None = None,
    comment: str | None = None,
    header: bool = True,
    quotes: bool = True,
    memory_limit: str | None = None,
    temp_directory: Path | None = None,
    threads: int | None = None,
    ledger: Ledger | Path | None = None,
    dataset: str | None = None,
    request_id: str = "",
    data_name: str | None = None,
    series: str | None = None,
) -> Release:
    """How many distinct elements there are, with a proven limit on what the answer tells about any person.

    data, person, element, sql, columns, encoding, format, delimiter, comment, header, quotes,
    memory_limit, temp_directory, threads: as for `read`; person and element are not needed for
    Contributions.
    epsilon: what this answer may cost each person in privacy; smaller is safer and less exact. Above 5
    there is a PrivacyWarning.
    beta: the lower bound is at most the truth with probability 1 - beta.
    method: what is kept when each person may account for a limited number of elements: "matching" (the
    most), "greedy" (nearly as much, in linear time) or "sampling" (at random, as other tools do).
    mechanism: how the limit per person is chosen and the noise drawn; "fixed" takes max_bound as the limit.
    max_bound: the largest limit per person; public, never taken from the data.
    aim: what the limit is chosen for, the largest "lower_bound" or an "estimate" near the truth; the lower
    bound is one with both.
    ledger, dataset: epsilon is paid for from the budget of this data set before a row is read. The
    same question about the same input is one request: asked again, it gets the stored answer, and
    nothing is spent. request_id tells apart requests that are to be paid for each; data_name is the
    name of data that are no files. series: later answers of one series use the limit per person that the
    first one published, with all of epsilon for the count, so that they can be compared (docs/series.md).

    >>> visits = Contributions.from_pairs([i % 500 for i in range(5000)], [i % 2000 for i in range(5000)])
    >>> release = count_distinct(visits, epsilon=1, beta=1e-9)
    >>> release.lower_bound <= 2000  # the truth; false once in 1,000,000,000 answers at most
    True

    Guarantee: epsilon-differential privacy for adding, removing or changing one person with all
    their rows, and lower_bound <= truth with probability at least 1 - beta
    (docs/proofs/mechanisms.md). Someone who appears under d identities has d * epsilon.
    """
    parameters = check_parameters(
        epsilon=epsilon, beta=beta, method=method, mechanism=mechanism, max_bound=max_bound, aim=aim
    )
    machine = check_resources(memory_limit=memory_limit, temp_directory=temp_directory, threads=threads)
    payment = check_payment(
        ledger=ledger, dataset=dataset, request_id=request_id, data_name=data_name, series=series
    )
    if isinstance(data, Contributions):
        refuse_for_contributions(
            sql=sql, columns=columns, format=format, delimiter=delimiter, comment=comment
        )
        warn_of_epsilon(parameters.epsilon)
        sides = {"person": person, "element": element}  # they were read already; here they are names alone
        names = {
            side: None if name is None else list(column_names(side, name)) for side, name in sides.items()
        }
        return ask(data, names, parameters, machine, payment).release
    question = check_query(
        person=person,
        element=element,
        sql=sql,
        columns=columns,
        encoding=encoding,
        format=format,
        delimiter=delimiter,
        comment=comment,
        header=header,
        quotes=quotes,
    )
    warn_of_epsilon(parameters.epsilon)
    return ask(data, question, parameters, machine, payment).release
