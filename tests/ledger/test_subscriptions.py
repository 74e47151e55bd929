"""Subscriptions: many answers paid for at once, and what an owner forbids."""

from __future__ import annotations

import decimal
import json
import math
import random
import sys
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import dpdistinct
from dpdistinct import BudgetError, ParameterError, RequestError
from dpdistinct.cli import main as cli
from dpdistinct.ledger.account import Cost, Ledger, LedgerError, Stored
from dpdistinct.ledger.composition import MOST_ANSWERS, delta_together, epsilon_each
from fields import Fields
from ledger_processes import draw

ROWS = "user,url,land\n" + "".join(f"{i % 40},{i % 90},{'DE' if i % 3 else 'FR'}\n" for i in range(400))

# --- the price


def delta_at_100_digits(answers: int, each: Fraction, epsilon: Fraction) -> Decimal:
    """The same in another form: of N bits, each told truly with probability p, those that tell too much."""
    with decimal.localcontext(decimal.Context(prec=100, Emin=-(10**8), Emax=10**8)):

        def exp(x: Fraction) -> Decimal:
            return (Decimal(x.numerator) / Decimal(x.denominator)).exp()

        p = exp(each) / (1 + exp(each))
        lies, factor, total = 1 - p, exp(epsilon), Decimal(0)
        for k in range(answers + 1):
            if (answers - 2 * k) * each > epsilon:
                here, there = p ** (answers - k) * lies**k, lies ** (answers - k) * p**k
                total += math.comb(answers, k) * (here - factor * there)
        return total


def test_delta_is_never_understated_and_hardly_overstated() -> None:
    chosen = random.Random(29)
    apart = []
    for _ in range(200):
        answers = round(math.exp(chosen.uniform(0, math.log(600))))
        epsilon = Fraction(chosen.randrange(1, 5000), 1000)
        most = min(epsilon, 12 * epsilon / Fraction(math.sqrt(answers)))
        each = most * Fraction(chosen.randrange(1, 1000), 1000)
        bound = delta_together(answers, each, epsilon)
        truth = Fraction(delta_at_100_digits(answers, each, epsilon))
        assert truth <= bound <= truth * (1 + Fraction(1, 10**40))
        apart.append(bound > 0)
    assert sum(apart) > 100  # the others are within the plain sum


def test_the_price_of_a_year_is_a_fraction_of_the_plain_sum() -> None:
    times = [float(epsilon_each(n, Cost(1, "1e-6")) * n) for n in (365, 104, 52, 12, 1)]
    assert [round(factor, 2) for factor in times] == [4.54, 2.45, 1.75, 1.0, 1.0]


@pytest.mark.parametrize("cost", [Cost(1, "1e-6"), Cost("0.25", "1e-9"), Cost(4, "0.01"), Cost(1)], ids=str)
@pytest.mark.parametrize("answers", [1, 2, 7, 52, 365])
def test_epsilon_each_is_the_largest_that_fits(answers: int, cost: Cost) -> None:
    each = epsilon_each(answers, cost)
    assert delta_together(answers, each, cost.epsilon) <= cost.delta
    assert each <= cost.epsilon
    assert each >= cost.epsilon / answers * Fraction(999, 1000)
    more = each + cost.epsilon / answers / 1000
    assert more > cost.epsilon or delta_together(answers, more, cost.epsilon) > cost.delta


def test_the_callers_decimal_context_changes_nothing() -> None:
    expected = delta_together(52, Fraction(1, 30), Fraction(1))
    with decimal.localcontext(decimal.Context(prec=3, rounding=decimal.ROUND_DOWN, Emax=5, Emin=-5)):
        assert delta_together(52, Fraction(1, 30), Fraction(1)) == expected


@pytest.mark.parametrize("answers", [0, -1, MOST_ANSWERS + 1, 2.5, "12", True, None])
def test_the_number_of_answers_is_checked(answers: Any) -> None:
    with pytest.raises(ParameterError, match="answers must be a number from 1 to 10,000"):
        epsilon_each(answers, Cost(1))


def test_an_epsilon_too_small_for_an_answer_is_refused() -> None:
    with pytest.raises(ParameterError, match="answers must be fewer, or epsilon larger"):
        epsilon_each(1000, Cost("0.0001"))


# --- the account


@pytest.fixture
def ledger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Ledger:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "visits.csv").write_text(ROWS)
    ledger = Ledger("budget.db")
    ledger.create("visits", 3, delta="1e-5", who="ann")
    return ledger


def never() -> Fields:
    pytest.fail("the data was read")


def pay(ledger: Ledger, compute: Callable[[], Any] | None = None, **changes: Any) -> Stored:
    each = ledger.subscription("visits", "daily").epsilon_each
    request: dict[str, Any] = {
        "dataset": "visits",
        "question": {"epsilon": each},
        "input": "",
        "cost": Cost(each),
        "compute": compute or (lambda: Fields("release", draw().to_dict() | {"epsilon": float(each)})),
        "subscription": "daily",
    }
    return ledger.pay(**request | changes)


def test_a_subscription_is_paid_for_once_and_its_answers_cost_nothing_more(ledger: Ledger) -> None:
    made = ledger.subscribe("visits", "daily", answers=4, epsilon=1, delta="1e-6", who="bob")
    assert (made.answers, made.used, made.left) == (4, 0, 4)
    spent = Cost(1, "1e-6")
    assert ledger.show()[0].spent == spent
    first = pay(ledger, request_id="1")
    assert (first.left, first.subscription and first.subscription.used) == (Cost(2, "9e-6"), 1)
    assert pay(ledger, never, request_id="1").answer == first.answer  # asked again: no other place
    for number in (2, 3, 4):
        assert not pay(ledger, request_id=str(number)).stored
    with pytest.raises(
        BudgetError, match="all 4 answers of subscription 'daily' are used; nothing was spent; to pay for"
    ):
        pay(ledger, never, request_id="5")
    assert ledger.show()[0].spent == spent
    assert [(entry.event, entry.place) for entry in ledger.history("visits")][1:] == [
        ("subscribe", None),
        *(("request", place) for place in (1, 2, 3, 4)),
    ]
    assert ledger.subscription("visits", "daily").left == 0


def test_a_place_that_was_paid_for_but_not_answered_is_kept_for_its_request(ledger: Ledger) -> None:
    ledger.subscribe("visits", "daily", answers=2, epsilon=1)

    def fail() -> Any:
        raise InterruptedError

    with pytest.raises(InterruptedError):
        pay(ledger, fail, request_id="1")
    pay(ledger, request_id="2")
    with pytest.raises(BudgetError, match="all 2 answers"):
        pay(ledger, never, request_id="3")
    assert not pay(ledger, request_id="1").stored
    assert [(entry.place, entry.answered) for entry in ledger.requests("visits")] == [(1, True), (2, True)]


def test_an_answer_of_a_subscription_has_its_epsilon_and_no_delta(ledger: Ledger) -> None:
    each = ledger.subscribe("visits", "daily", answers=4, epsilon=1, delta="1e-6").epsilon_each
    for cost in (Cost(each / 2), Cost(2 * each), Cost(each, "1e-9"), Cost(0, "1e-9")):
        with pytest.raises(
            RequestError, match=r"each answer of subscription 'daily' costs epsilon 0\.25 and no"
        ):
            pay(ledger, never, cost=cost)
    assert ledger.subscription("visits", "daily").used == 0


def test_what_cannot_be_subscribed_spends_nothing(ledger: Ledger) -> None:
    ledger.subscribe("visits", "daily", answers=4, epsilon=1)
    for wrong, refusal, said in (
        ({"name": "daily"}, LedgerError, "has a subscription 'daily' already, and it cannot be made longer"),
        ({"epsilon": 5}, BudgetError, "epsilon 5 is over the budget"),
        ({"delta": "0.1"}, BudgetError, "is over the budget"),
        ({"epsilon": 0}, ParameterError, "epsilon must be positive"),
        ({"delta": 1}, ParameterError, "delta must lie in"),
        ({"answers": 0}, ParameterError, "answers must be a number"),
        ({"name": ""}, ParameterError, "subscription must not be empty"),
        ({"dataset": "trips"}, LedgerError, "no data set 'trips'"),
    ):
        with pytest.raises(refusal, match=said):
            ledger.subscribe(**{"dataset": "visits", "name": "new", "answers": 9, "epsilon": 1} | wrong)
    ledger.close("visits")
    with pytest.raises(BudgetError, match="is closed"):
        ledger.subscribe("visits", "new", answers=9, epsilon=1)
    with pytest.raises(BudgetError, match="is closed"):
        pay(ledger, never)
    assert ledger.show()[0].spent == Cost(1)
    with pytest.raises(
        LedgerError, match="no subscription 'weekly'; to pay for one: dpdistinct ledger subscribe"
    ):
        ledger.subscription("visits", "weekly")


# --- through the doors


def visits(**options: Any) -> dpdistinct.Table:
    paid = {"ledger": "budget.db", "dataset": "visits", "subscription": "daily"}
    return dpdistinct.table("visits.csv", person="user", **paid | options)


def test_a_count_uses_an_answer_and_its_epsilon_in_a_series_too(ledger: Ledger) -> None:
    ledger.subscribe("visits", "daily", answers=6, epsilon=1, delta="1e-6")
    each = float(ledger.subscription("visits", "daily").epsilon_each)
    first = visits().count("url", series="daily", request_id="1")
    later = visits().count("url", series="daily", request_id="2", epsilon=each)
    assert (first.epsilon, later.epsilon) == (each, each)
    assert (first.mechanism, later.mechanism, later.bound) == ("joint", "fixed", first.bound)
    assert visits().count("url", by="land", groups=["DE", "FR"]).epsilon == each
    assert visits().count_people().epsilon == each
    assert ledger.subscription("visits", "daily").used == 4
    assert ledger.show()[0].spent == Cost(1, "1e-6")


def test_what_a_subscription_cannot_answer_is_refused_before_anything_is_used(ledger: Ledger) -> None:
    ledger.subscribe("visits", "daily", answers=6, epsilon=1, delta="1e-6")
    with pytest.raises(
        ParameterError, match="subscription needs answers without a delta, which unknown groups"
    ):
        visits().count("url", by="land", groups="unknown", delta="1e-6")
    with pytest.raises(
        ParameterError, match="epsilon does not apply with subscription 'daily', whose answers"
    ):
        visits().count("url", epsilon=0.5)
    with pytest.raises(LedgerError, match="has no subscription 'weekly'"):
        visits(subscription="weekly").count("url")
    with pytest.raises(ParameterError, match="subscription needs a ledger"):
        dpdistinct.table("visits.csv", person="user", subscription="daily")
    assert ledger.subscription("visits", "daily").used == 0


Run = Callable[..., Any]


@pytest.fixture
def run(ledger: Ledger, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    def run(*words: str, status: int = 0) -> str:
        of_ledger = ["--ledger", "budget.db"] if words[0] != "plan" else []
        monkeypatch.setattr(sys, "argv", ["dpdistinct", *words, *of_ledger])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        out, err = capsys.readouterr()
        assert ended.value.code == status, err
        return out if status == 0 else err

    return run


COUNT = ("count", "visits.csv", "--person", "user", "--element", "url", "--dataset", "visits")


def test_the_commands_subscribe_count_and_show(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = ("--answers", "365", "--epsilon", "1", "--delta", "1e-6")
    made = json.loads(run("ledger", "subscribe", "visits", "--name", "daily", *asked, "--json"))
    assert (made["epsilon_each"], made["epsilon"], made["delta"]) == ("0.012434", "1", "0.000001")
    assert "365 answers for epsilon 1, delta 0.000001 together" in (
        run("ledger", "subscribe", "visits", "--name", "again", *asked)
    )
    assert "What is not used is lost." in run("ledger", "subscribe", "visits", "--name", "more", *asked)
    monkeypatch.setenv("DPDISTINCT_EPSILON", "0.7")  # not meant: the subscription decides
    answer = json.loads(run(*COUNT, "--subscription", "daily", "--series", "daily", "--json"))
    assert answer["epsilon"] == 0.012434
    assert answer["subscription"] == {"name": "daily", "answers": 365, "used": 1, "epsilon_each": "0.012434"}
    refused = run(*COUNT, "--subscription", "daily", "--epsilon", "0.7", status=2)
    assert "epsilon does not apply with subscription 'daily', whose answers have epsilon 0.012434" in refused
    shown = run("ledger", "show")
    assert "visits: subscription daily: 1 of 365 answers used, epsilon 0.012434 each" in shown
    [account] = json.loads(run("ledger", "show", "--json"))
    assert account["subscriptions"][1] == {"name": "daily", "answers": 365, "used": 1} | {
        "epsilon_each": "0.012434"
    }


def test_the_price_is_shown_before(run: Run) -> None:
    asked = ("plan", "--answers", "365", "--epsilon", "1", "--delta", "1e-6", "--bound", "10")
    planned = json.loads(run(*asked, "--json"))
    assert (planned["epsilon_each"], planned["delta"]) == ("0.012434", "0.000001")
    assert planned["each"][0]["noise"] == pytest.approx(10 / 0.012434)
    assert "What is not used is lost. (dpdistinct ledger subscribe)" in run(*asked)
    refused = run("plan", "--delta", "1e-6", status=2)
    assert "delta needs a number of answers: --answers 365 --delta 1e-6" in refused


# --- limits


def test_an_owner_limits_what_one_answer_costs(ledger: Ledger) -> None:
    stored = visits(subscription=None).count("url", epsilon=1)
    ledger.limit("visits", largest_epsilon="0.5", who="ann")
    said = (
        "epsilon 1 is more than one answer about data set 'visits' may cost, which is epsilon 0.5, a limit "
    )
    with pytest.raises(BudgetError, match=f"{said}that ann set; nothing was spent"):
        visits(subscription=None).count("url", epsilon=1, request_id="new")
    assert visits(subscription=None).count("url", epsilon=1) == stored
    assert visits(subscription=None).count("url", epsilon="0.5").epsilon == 0.5
    with pytest.raises(BudgetError, match="epsilon 1 is more than one answer"):
        ledger.subscribe("visits", "daily", answers=1, epsilon=1)  # nobody could use it
    ledger.limit("visits", largest_epsilon=1, who="bob")
    ledger.subscribe("visits", "daily", answers=1, epsilon=1)
    ledger.limit("visits", largest_epsilon="0.5", who="ann")
    with pytest.raises(BudgetError, match="epsilon 1 is more than one answer"):
        visits().count("url", request_id="of the subscription")
    ledger.limit("visits", largest_epsilon=1, who="bob")
    assert visits().count("url", request_id="of the subscription").epsilon == 1
    assert [entry.terms for entry in ledger.history("visits") if entry.event == "limit"] == [
        {"largest_epsilon": largest} for largest in ("1/2", "1/1", "1/2", "1/1")
    ]


def test_an_owner_forbids_sql_that_is_not_proven(ledger: Ledger) -> None:
    cost = Cost("0.1")

    def trusted(**question: Any) -> Stored:
        answer = Fields("release", draw().to_dict())
        return ledger.pay("visits", question, "", cost, lambda: answer, request_id=str(question))

    trusted(trust_sql=True)
    ledger.limit("visits", trust_sql=False, who="ann")
    with pytest.raises(
        BudgetError, match=r"trust_sql is not allowed for data set 'visits'.*that ann set; nothing"
    ):
        trusted(trust_sql=True, sql="another")
    assert trusted(trust_sql=True).stored  # what was answered stays answered
    trusted(trust_sql=False)
    trusted(sql="proven")
    ledger.limit("visits", trust_sql=True)
    assert not trusted(trust_sql=True, sql="another").stored


UNPROVEN = "SELECT user, url FROM data LIMIT 100"
SQL = (
    "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = {}, privacy_unit_column = user) "
    "COUNT(DISTINCT url) AS sites, COUNT(DISTINCT user) AS people FROM 'visits.csv'"
)


def test_limits_hold_at_every_door(ledger: Ledger, run: Run) -> None:
    ledger.limit("visits", largest_epsilon="0.5", trust_sql=False, who="ann")
    trusting = visits(subscription=None, sql=UNPROVEN, trust_sql=True)
    with pytest.raises(
        BudgetError, match=r"trust_sql is not allowed.*a limit that ann set; nothing was spent"
    ):
        trusting.count("url", epsilon="0.1")
    refused = run(*COUNT, "--epsilon", "0.1", "--sql", UNPROVEN, "--trust-sql", status=4)
    assert "--trust-sql is not allowed for data set 'visits'" in refused
    refused = run("sql", SQL.format(1), "--dataset", "visits", status=4)
    assert "epsilon 1 is more than one answer about data set 'visits' may cost" in refused
    assert ledger.requests("visits") == []
    run("sql", SQL.format("0.5"), "--dataset", "visits")
    ledger.limit("visits", trust_sql=True)
    assert trusting.count("url", epsilon="0.1").trust_sql


def test_limits_are_checked(ledger: Ledger) -> None:
    for wrong in ({}, {"largest_epsilon": 0}, {"largest_epsilon": "much"}, {"trust_sql": "no"}):
        with pytest.raises(ParameterError, match=r"limit needs|largest_epsilon|trust_sql"):
            ledger.limit("visits", **wrong)  # type: ignore[arg-type]
    with pytest.raises(LedgerError, match="no data set 'trips'"):
        ledger.limit("trips", trust_sql=False)
    assert len(ledger.history("visits")) == 1


def test_the_commands_limit_and_say_who_did(run: Run) -> None:
    limits = ("--largest-epsilon", "0.5", "--no-trust-sql", "--as", "ann")
    assert run("ledger", "limit", "visits", *limits) == (
        "visits: one answer may cost at most epsilon 0.5, and sql that is not proven is not allowed, "
        "in budget.db.\n"
    )
    refused = run(*COUNT, "--epsilon", "1", status=4)
    assert "may cost, which is epsilon 0.5, a limit that ann set; nothing was spent" in refused
    assert "epsilon 0.5 (set by ann)" in run("ledger", "show")
    run(*COUNT, "--epsilon", "0.5")
    assert run("ledger", "limit", "visits", "--trust-sql").startswith(
        "visits: sql that is not proven is allowed"
    )


def test_python_says_when_a_configured_ledger_is_not_used(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DPDISTINCT_LEDGER", "budget.db")
    with pytest.warns(
        dpdistinct.PrivacyWarning, match="this answer is not paid for: DPDISTINCT_LEDGER names"
    ):
        dpdistinct.count_distinct("visits.csv", person="user", element="url")
    dpdistinct.count_distinct(
        "visits.csv", person="user", element="url", ledger=ledger, dataset="visits"
    )  # no warning, which would be an error
