"""What `dpdistinct plan` does with its options. Needs no data."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict
from fractions import Fraction
from typing import Any

import typer

from dpdistinct.cli.options import say
from dpdistinct.errors import ParameterError
from dpdistinct.mechanisms.choice import chosen_margin
from dpdistinct.mechanisms.margins import least_epsilon
from dpdistinct.question.parameters import check_parameters
from dpdistinct.show.terminal import print_group_plan, print_plan
from dpdistinct.trusted import explore as report


def run_plan(options: dict[str, Any]) -> None:
    """Noise and margin for each limit per person, or the epsilon that a margin needs."""
    bounds, groups = options["bound"] or report.BOUNDS, options["groups"]
    numbers = {"epsilon": options["epsilon"], "beta": options["beta"]}
    parameters = check_parameters(**numbers, method="matching", mechanism="joint", max_bound=None)
    by_group = [] if groups is None else report.plan_groups(groups=groups, bounds=bounds, **numbers)
    rows = report.plan(bounds=bounds, **numbers)
    if options["margin"] is not None:
        _print_epsilons(options, parameters.beta)
    elif options["as_json"]:
        typer.echo(json.dumps([asdict(row) for row in by_group or rows]))
    elif by_group:
        print_group_plan(by_group, parameters, groups)
    else:
        print_plan(rows, parameters)


def _print_epsilons(options: dict[str, Any], beta: Fraction) -> None:
    margin, bounds, groups = (options[name] for name in ("margin", "bound", "groups"))
    if margin < 0 or not bounds:
        raise ParameterError("margin must be at least 0 and needs a bound: --margin 100 --bound 20")
    if groups is None:
        needed = {b: report.epsilon_for(margin=margin, bound=b, beta=beta) for b in bounds}
    else:

        def margin_at(bound: int) -> Callable[[Fraction], int]:
            asked: dict[str, Any] = {"aim": "lower_bound", "bound": bound, "beta": beta, "groups": groups}
            return lambda epsilon: chosen_margin(epsilon=epsilon, **asked)

        needed = {b: least_epsilon(margin_at(b), size=margin + 1) for b in bounds}
    if options["as_json"]:
        epsilons = {b: None if e is None else float(e) for b, e in needed.items()}
        typer.echo(json.dumps({"margin": margin, "epsilon": epsilons}))
        return
    each = "" if groups is None else f" in each of {groups:,} groups"
    for b, e in needed.items():
        answer = "no epsilon up to 1000 does" if e is None else f"epsilon = {float(e):g}"
        say(f"For a margin of at most {margin:,}{each} at a limit of {b:,} for each person: {answer}.")
