"""What one has said so far, as the address carries it: the address holds all of it, and no server does.

From it follow the values that everything else is asked with (Question, Reading, Payment), and the command
that asks the same. Numbers and dates are also understood as they are written in German.
"""

from __future__ import annotations

import datetime as dt
import os
import re
import shlex
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, urlencode

from dpdistinct.app.folder import Folder
from dpdistinct.errors import ParameterError
from dpdistinct.question.group_lists import label_of
from dpdistinct.question.payment import Payment
from dpdistinct.question.question import Question
from dpdistinct.question.reading import WHITESPACE, Reading
from dpdistinct.wording import over_lines

LONGEST = 30_000  # characters of an address

# What belongs to each step, by the names of its fields.
OF_DATA = (
    *("file", "table", "format", "delimiter", "encoding", "header", "quotes", "trim", "comment"),
    *("date_format", "columns"),
)
OF_QUESTION = (
    *("person", "person_names", "counted", "element", "element_names", "sql"),
    *("by", "listing", "groups", "first", "last", "every", "groups_file", "one_group"),
)
OF_GUIDE = ("audience", "harm", "releases", "people", "elements")
OF_PRIVACY = (*OF_GUIDE, "epsilon", "delta", "aim", "dataset", "subscription", "request_id")
KNOWN = (*OF_DATA, *OF_QUESTION, *OF_PRIVACY, "id", "in")

DELIMITERS = {
    "": "as the first line tells",
    ",": "comma  ,",
    ";": "semicolon  ;",
    "tab": "tab",
    "|": "bar  |",
    WHITESPACE: "spaces and tabs",
}
DATE_FORMATS = {
    "": "2024-03-31",
    "%d.%m.%Y": "31.03.2024 (German)",
    "%d.%m.%y": "31.03.24",
    "%m/%d/%Y": "03/31/2024 (US)",
    "%d/%m/%Y": "31/03/2024",
    "%d.%m.%Y %H:%M": "31.03.2024 14:05",
    "%d.%m.%Y %H:%M:%S": "31.03.2024 14:05:09",
}


@dataclass(frozen=True)
class Asked:
    """The fields of an address: texts, of which a few may be there several times."""

    fields: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @classmethod
    def of(cls, query: str | bytes) -> Asked:
        """From the part of an address after the question mark, or from a form."""
        text = query if isinstance(query, str) else query.decode("utf-8", "replace")
        if len(text) > LONGEST:
            raise ParameterError("the address is too long; write a list of many groups into a CSV file")
        found: dict[str, tuple[str, ...]] = {}
        try:
            pairs = parse_qsl(text, keep_blank_values=False, max_num_fields=2000)
        except ValueError:
            raise ParameterError("the address has too many parts") from None
        for name, value in pairs:
            if name in KNOWN:
                found[name] = (*found.get(name, ()), value)
        return cls(found)

    def one(self, name: str, default: str = "") -> str:
        """The field, without spaces around it."""
        return self.fields.get(name, (default,))[-1].strip()

    def several(self, name: str) -> tuple[str, ...]:
        """All values of the field."""
        return self.fields.get(name, ())

    def with_(self, **changes: str | Iterable[str] | None) -> Asked:
        """The same with other values; None takes a field away."""
        found = dict(self.fields)
        for name, value in changes.items():
            if value is None:
                found.pop(name, None)
            else:
                found[name] = (value,) if isinstance(value, str) else tuple(value)
        return Asked(found)

    def only(self, *names: str) -> Asked:
        """These fields alone."""
        return Asked({name: self.fields[name] for name in names if name in self.fields})

    def pairs(self, without: Iterable[str] = ()) -> list[tuple[str, str]]:
        """All fields for a form or an address."""
        left_out = set(without)
        return [(n, value) for n, values in self.fields.items() if n not in left_out for value in values]

    def link(self, page: str, **changes: str | Iterable[str] | None) -> str:
        """The address of a page with all that was said."""
        query = urlencode(self.with_(**changes).pairs())
        return f"/{page}?{query}" if query else f"/{page}"

    # --- what follows

    @property
    def has_periods(self) -> bool:
        """Whether the question is by groups of dates: else it does not matter how dates are written."""
        unknown = self.one("listing") == "unknown" and bool(self.one("every"))
        return bool(self.one("by")) and (self.one("listing") == "dates" or unknown)

    def reading_options(self) -> dict[str, Any]:
        """How the file is written, as options of a Reading, in JSON values."""
        given: dict[str, Any] = {}
        for name in ("format", "delimiter", "encoding", "comment"):
            if self.one(name):
                given[name] = self.one(name)
        if self.one("date_format") and self.has_periods:
            given["date_format"] = self.one("date_format")
        given |= {"header": False} if self.one("header") == "no" else {}
        given |= {"quotes": False} if self.one("quotes") == "no" else {}
        given |= {"trim": True} if self.one("trim") else {}
        if self.one("columns"):
            given["columns"] = [part.strip() for part in self.one("columns").split(",") if part.strip()]
        return given

    def reading(self) -> Reading:
        """How the file is written."""
        return Reading.of(self.reading_options())

    def columns(self, side: str) -> tuple[str, ...]:
        """The columns of the person or of the element: those that were typed, or ticked."""
        typed = tuple(part.strip() for part in self.one(f"{side}_names").split(",") if part.strip())
        return typed or self.several(side)

    def rows(self) -> dict[str, Any]:
        """Which rows, as options of a Question."""
        return {"table": self.one("table") or None, "sql": self.one("sql") or None}

    def question_options(self, folder: Folder) -> dict[str, Any]:
        """What is asked, as options of a Question, in JSON values."""
        person, element = self.columns("person"), self.columns("element")
        if not person:
            raise ParameterError("person: choose the column that says who")
        people = self.one("counted", "elements") == "people"
        if not people and not element:
            raise ParameterError("element: choose what is counted, or count people")
        options = self.rows() | {"person": list(person), "element": list(person if people else element)}
        options |= {"epsilon": decimal(self.one("epsilon") or "1")}
        if self.one("aim") == "estimate" and not (people and not self.one("by")):
            options["aim"] = "estimate"
        if self.one("by"):
            options |= self._groups(folder)
            options |= {"one_group_per_person": True} if self.one("one_group") else {}
        return options

    def _groups(self, folder: Folder) -> dict[str, Any]:
        by, kind = self.one("by"), self.one("listing", "list")
        options: dict[str, Any] = {"group_by": [by]}
        if kind == "dates":
            every: Any = self.one("every", "month")
            first, last = (period(self.one(name), every) for name in ("first", "last"))
            return options | {"groups": f"{first}..{last}", "every": every}
        if kind == "file":
            return options | {"groups": _csv(folder.file(self.one("groups_file")))}
        if kind == "unknown":
            options |= {"groups": "unknown", "delta": decimal(self.one("delta") or "1e-6")}
            return options | ({"every": self.one("every")} if self.one("every") else {})
        listed = [part.strip() for part in re.split(r"[\r\n;,]+", self.one("groups")) if part.strip()]
        if not listed:
            raise ParameterError("groups: write down the groups to report, one in a line")
        return options | {"groups": listed}

    def question(self, folder: Folder) -> Question:
        """What is asked."""
        return Question.of(self.question_options(folder))

    def payment_options(self, ledger: str | None) -> dict[str, Any]:
        """Who pays."""
        if ledger is None:
            return {}
        if not self.one("dataset"):
            raise ParameterError("dataset: choose the budget that pays")
        options: dict[str, Any] = {"ledger": ledger, "dataset": self.one("dataset")}
        options |= {name: self.one(name) for name in ("request_id", "subscription") if self.one(name)}
        return options

    def payment(self, ledger: str | None) -> Payment:
        """Who pays."""
        return Payment.of(self.payment_options(ledger))

    def command(self, folder: Folder, ledger: str | None) -> str:
        """The command that asks the same."""
        question, reading = self.question_options(folder), self.reading()
        words = ["dpdistinct", "count", short_path(folder.file(self.one("file")))]
        for name, value in reading.changed().items():
            flag = f"--{name.replace('_', '-')}"
            if name == "columns":
                words += [word for column in value for word in ("--column", column)]
            elif isinstance(value, bool):
                words.append(flag if value else f"--no-{name}")
            else:
                words += [flag, "tab" if value == "\t" else str(value)]
        words += ["--sql", question["sql"]] if question["sql"] else []
        words += ["--table", question["table"]] if question["table"] else []
        words += [word for name in question["person"] for word in ("--person", name)]
        if question["element"] != question["person"]:
            words += [word for name in question["element"] for word in ("--element", name)]
        if "group_by" in question:
            words += ["--group-by", question["group_by"][0], *_listed(question["groups"])]
            words += ["--every", question["every"]] if "every" in question else []
            words += ["--delta", question["delta"]] if "delta" in question else []
            words += ["--one-group-per-person"] if question.get("one_group_per_person") else []
        payment = self.payment_options(ledger)
        if "subscription" not in payment:
            words += ["--epsilon", question["epsilon"]]
        words += ["--aim", question["aim"]] if "aim" in question else []
        for name, value in payment.items():
            words += [f"--{name.replace('_', '-')}", short_path(value) if name == "ledger" else value]
        return over_lines(shlex.join(words))


def _listed(groups: Any) -> list[str]:
    if isinstance(groups, str):
        return ["--groups-file", short_path(groups)] if groups.endswith(".csv") else ["--groups", groups]
    quoted = (f'"{part.replace(chr(34), chr(34) * 2)}"' if set(part) & set(',"') else part for part in groups)
    text = ",".join(quoted)
    return ["--groups", f'"{text}"' if ".." in text and len(groups) == 1 else text]


def _csv(path: str) -> str:
    if not path.endswith(".csv"):
        raise ParameterError("groups: the file with the groups must be a CSV file, named .csv")
    return path


def short_path(path: str) -> str:
    """A path as one would type it in the working folder."""
    near = os.path.relpath(path)
    return path if near.startswith("..") else near


def decimal(text: str) -> str:
    """A number as the rest of the package takes it: 0,5 is 0.5.

    >>> decimal("0,5"), decimal(" 1 "), decimal("1e-6")
    ('0.5', '1', '1e-6')
    """
    text = text.strip()
    return text.replace(",", ".") if re.fullmatch(r"[+-]?\d*,\d+([eE][+-]?\d+)?", text) else text


def whole(text: str) -> str:
    """A whole number without the signs between its thousands, whichever they are.

    >>> whole("10.000"), whole("1 234 567"), whole("50,000"), whole("1,5")
    ('10000', '1234567', '50000', '1,5')
    """
    text = text.strip()
    return (
        re.sub(r"[., '\u00a0\u202f]", "", text)
        if re.fullmatch(r"\d{1,3}([., '\u00a0\u202f]\d{3})+", text)
        else text
    )


DAY = re.compile(r"(\d{1,2})\.\s?(\d{1,2})\.\s?(\d{4})")
MONTH = re.compile(r"(\d{1,2})[./](\d{4})")


def period(text: str, every: Any) -> str:
    """The label of the period that was written, also as a day or a month in German.

    >>> period("31.12.2024", "month"), period("2024-12", "month"), period("1.2.2024", "week")
    ('2024-12', '2024-12', '2024-W05')
    """
    text = text.strip()
    day = DAY.fullmatch(text)
    written = f"{day[3]}-{int(day[2]):02}-{int(day[1]):02}" if day else text
    month = MONTH.fullmatch(text)
    if month and every == "month":
        return f"{month[2]}-{int(month[1]):02}"
    if re.fullmatch(r"\d{4}-\d\d-\d\d", written):
        try:
            return label_of(dt.date.fromisoformat(written), every)
        except ValueError:
            raise ParameterError("first and last must be dates that exist") from None
    if not written:
        raise ParameterError("first and last: say from when to when, such as 01.01.2024 and 31.12.2024")
    return written
