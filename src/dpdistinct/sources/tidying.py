r"""Values as the caller says they are meant: `trim` and `date_format`, in DuckDB's SQL and in Spark's.

    trim           ASCII white space (space, \t, \n, \v, \f, \r) is taken off both ends of a text; one that is
                   then empty is NULL
    date_format    a text of a column that is grouped by period is a date if all of it is written like the
                   format, and NULL if not:

    %Y             a year from 1000 to 9999
    %y             a year of two digits: 69 to 99 are 1969 to 1999, and 00 to 68 are 2000 to 2068
    %m %d          month and day, of one digit or two
    %H %M %S       hour, minute and second, of one digit or two; they must be there, and change nothing
    else           itself

Directives that stand side by side, or beside a digit, have two digits each: nobody could tell where one ends.

Guarantee: what a value becomes depends on this value and on what the caller wrote alone, so trimming ids
makes fewer people of the same rows, and moves no row of anybody else
(tests/sources/test_tidying.py, tests/doors/doors_trimmed.py).
"""

from __future__ import annotations

import re

from dpdistinct.errors import ParameterError
from dpdistinct.question.group_lists import Every
from dpdistinct.question.reading import DIRECTIVES, Reading
from dpdistinct.sources.labels import mended_on_spark, mended_sql

WHITE_SPACE = " \t\n\v\f\r"
TEXTS = ("varchar", "enum")
NO_TEXT = "date_format is for columns of text that are grouped by period; a column of dates needs none"
NO_PERIOD = "date_format needs a column of text that is grouped by period: --every month"


def tidied(
    column: str, kind: str, reading: Reading, every: Every | None = None, *, utf8: bool
) -> tuple[str, str]:
    """DuckDB's SQL for a column (quoted) whose type has this id, and its type then. utf8: whether all of its
    text is UTF-8. every: the period that it is grouped by, if it is.
    """
    dates = reading.date_format is not None and every is not None
    if dates and kind != "varchar":
        raise ParameterError(NO_TEXT)
    if kind not in TEXTS or not (reading.trim or dates):
        return column, kind
    text = f"{column}::VARCHAR" if utf8 else mended_sql(f"{column}::VARCHAR")
    if reading.trim:
        text = f"nullif(trim({text}, '{WHITE_SPACE}'), '')"
    return (_date(text, str(reading.date_format)), "date") if dates else (text, "varchar")


def tidied_on_spark(column: str, kind: str, reading: Reading, every: Every | None = None) -> tuple[str, str]:
    """The same in Spark's SQL, for the names of its types."""
    dates = reading.date_format is not None and every is not None
    if dates and kind != "StringType":
        raise ParameterError(NO_TEXT)
    if kind != "StringType" or not (reading.trim or dates):
        return column, kind
    text = f"CAST({column} AS STRING)"  # without the collation that a column of text may have
    if reading.trim:
        # Spark's trim counts bytes ahead, so only in UTF-8 are all of them there.
        white_space = ", ".join(f"chr({ord(c)})" for c in WHITE_SPACE)
        text = f"nullif(trim(BOTH concat({white_space}) FROM {mended_on_spark(text)}), '')"
    return (_date_on_spark(text, str(reading.date_format)), "DateType") if dates else (text, kind)


def _date(text: str, form: str) -> str:
    """The date of a text; NULL if it has another form, or if there is no such day."""
    pattern, places = pattern_of(form)
    written = "'" + pattern.replace("'", "''") + "'"
    year, month, day = _parts(text, written, places)
    fits = f"regexp_full_match({text}, {written})"
    return f"CASE WHEN {fits} THEN TRY(make_date({year}, {month}, {day})) END"


def _date_on_spark(text: str, form: str) -> str:
    pattern, places = pattern_of(form)
    pattern = pattern.replace("'", "\\x27")  # what r'' cannot hold
    year, month, day = _parts(text, f"r'{pattern}'", places)
    date = f"TRY_CAST(concat_ws('-', {year}, {month}, {day}) AS DATE)"
    return f"CASE WHEN {text} RLIKE r'\\A(?:{pattern})\\z' THEN {date} END"


def _parts(text: str, written: str, places: dict[str, int]) -> tuple[str, str, str]:
    """Year, month and day of a text that fits the pattern."""
    parts = {
        name: f"TRY_CAST(regexp_extract({text}, {written}, {place}) AS INT)" for name, place in places.items()
    }
    year = parts.get("%Y") or f"({parts['%y']} + CASE WHEN {parts['%y']} < 69 THEN 2000 ELSE 1900 END)"
    return year, parts["%m"], parts["%d"]


def pattern_of(form: str) -> tuple[str, dict[str, int]]:
    """The regular expression of a format, and which of its groups is which directive."""
    words = re.findall("%.|[^%]", form, re.DOTALL)
    pattern = ""
    places: dict[str, int] = {}
    for i, word in enumerate(words):
        if word not in DIRECTIVES:
            pattern += re.escape(word)
            continue
        places[word] = len(places) + 1
        beside = [*words[max(i - 1, 0) : i], *words[i + 1 : i + 2]]
        close = any(other in DIRECTIVES or other.isdigit() for other in beside)
        one, two = DIRECTIVES[word]
        pattern += f"({two})" if close or not one else f"({two}|{one})"
    return pattern, places
