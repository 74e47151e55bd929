"""What `dpdistinct plan` does with its options. Needs no data."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

import typer

from dpdistinct import report
from dpdistinct.errors import ParameterError
from dpdistinct.parameters import check_parameters
from dpdistinct.terminal import print_plan


def run_plan(options: dict[str, Any]) -> None:
    """Noise and margin for each limit per person, or the epsilon that a margin needs."""
    epsilon, beta, bounds, margin = (options[name] for name in ("epsilon", "beta", "bound", "margin"))
    rows = report.plan(epsilon=epsilon, beta=beta, bounds=bounds or report.BOUNDS)
    parameters = check_parameters(
        epsilon=epsilon, beta=beta, method="matching", mechanism="joint", max_bound=None
    )
    if margin is not None:
        if margin < 0 or not bounds:
            raise ParameterError("margin must be at least 0 and needs a bound: --margin 100 --bound 20")
        needed = {b: report.epsilon_for(margin=margin, bound=b, beta=parameters.beta) for b in bounds}
        if options["as_json"]:
            epsilons = {b: None if e is None else float(e) for b, e in needed.items()}
            typer.echo(json.dumps({"margin": margin, "epsilon": epsilons}))
            return
        for b, e in needed.items():
            answer = "no epsilon up to 1000 does" if e is None else f"epsilon = {float(e):g}"
            typer.echo(f"For a margin of at most {margin:,} at a limit of {b:,} for each person: {answer}.")
    elif options["as_json"]:
        typer.echo(json.dumps([asdict(row) for row in rows]))
    else:
        print_plan(rows, parameters)
