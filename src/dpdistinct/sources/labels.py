r"""The label of a value: one rule for all engines, in DuckDB's SQL, in Spark's, and in core/text/periods.hpp.

    text            as it is; a byte that is no part of UTF-8 counts as the four characters \xNN
    integer         its digits
    boolean         true or false
    date            2024-03-05
    with every      the period that the day lies in, which is that of UTC: 2024-03-05, 2024-W10, 2024-03,
                    2024-Q1, 2024

With every, a text is a date if it is written like one of these, and nothing else is:

    2024-03-05                   a day
    2024-03-05 16:00             a time of that day, with seconds or without, and up to 9 decimals of them
    2024-03-05T16:00:00Z         in UTC, which is meant without a sign, too; also with UTC at the end
    2024-03-05 16:00:00+02:00    elsewhere: that is 14:00 in UTC; also +0200 or +02, and after a space
    2024-W10, 2024-03, 2024-Q1, 2024     the period itself, where every is week, month, quarter or year

What has another form, and whatever lies before the year 1000 or after 9999, has no label.
"""

from __future__ import annotations

from dpdistinct.errors import ParameterError
from dpdistinct.question.group_lists import INTEGERS, PERIODS, Every

OWN_LABELS: dict[Every, str] = {
    "week": "[1-9][0-9]{3}-W(0[1-9]|[1-4][0-9]|5[0-3])",
    "month": "[1-9][0-9]{3}-(0[1-9]|1[0-2])",
    "quarter": "[1-9][0-9]{3}-Q[1-4]",
    "year": "[1-9][0-9]{3}",
}
"""Texts that name a period and are no date; a day is named by its date."""

# A date, with a time in UTC or without one; and one with a time elsewhere.
_DATE, _TIME = (
    "[1-9][0-9]{3}-[0-9]{2}-[0-9]{2}",
    "([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9]([.][0-9]{1,9})?)?",
)
IN_UTC = f"{_DATE}([ T]{_TIME}( ?(Z|UTC))?)?"
ELSEWHERE = f"{_DATE}[ T]{_TIME} ?[+-](0[0-9]|1[0-4])(:?[0-5][0-9])?"
# The sign, the hours and the minutes of the latter's zone. 16 characters at least come before it.
PARTS_OF_ZONE = "^.{16}[0-9:. ]*([+-])([0-9]{2}):?([0-9]{2})?$"

TEXT = ("varchar", "enum", "uuid")
TIMES = (
    *("date", "timestamp", "timestamp_s", "timestamp_ms", "timestamp_ns"),
    *("timestamp with time zone", "timestamptz_ns"),
)
WITHOUT_LABELS = "group_by must name columns of text, integers, booleans or dates"
WITHOUT_PERIODS = "every needs a column of dates or timestamps"
WITH_EVERY = '; with every="day", "week", "month", "quarter" or "year" it can be a timestamp'

_TAIL = "[89AB][0-9A-F]"
# A character of UTF-8, in hexadecimal digits.
_CHARACTER = "|".join(
    (
        "[0-7][0-9A-F]",
        f"(?:C[2-9A-F]|D[0-9A-F]){_TAIL}",
        *(f"E0[AB][0-9A-F]{_TAIL}", f"E[1-9A-CEF](?:{_TAIL}){{2}}", f"ED[89][0-9A-F]{_TAIL}"),
        *(f"F0[9AB][0-9A-F](?:{_TAIL}){{2}}", f"F[1-3](?:{_TAIL}){{3}}", f"F48[0-9A-F](?:{_TAIL}){{2}}"),
    )
)


# DuckDB


def mended_sql(text: str) -> str:
    """DuckDB's SQL for what the core makes of a text."""
    cut = f"regexp_extract_all(hex(encode({text})), '(?:{_CHARACTER})+|..')"
    one = _piece("digits", "'\\x'", "decode(unhex(digits))")
    whole = f"array_to_string(list_transform({cut}, lambda digits: {one}), '')"
    # Not coalesce: DuckDB would work out the slow form for every text.
    valid = f"TRY(decode(encode({text})))"  # also without the column's collation, if it has one
    return f"CASE WHEN {valid} IS NULL THEN {whole} ELSE {valid} END"


def label_sql(column: str, kind: str, every: Every | None) -> str:
    """DuckDB's SQL for the label of a column (quoted) whose type has this id; both are public."""
    if every is None:
        if kind in TEXT or kind in INTEGERS or kind == "boolean":
            return f"{column}::VARCHAR"
        if kind != "date":
            raise ParameterError(WITHOUT_LABELS + (WITH_EVERY if kind in TIMES else ""))
    elif kind != "varchar" and kind not in TIMES:
        raise ParameterError(WITHOUT_PERIODS)
    day = _day_sql(column, kind)
    label = f"TRY(CASE WHEN {_has_label(day)} THEN {_period_sql(day, every or 'day')} END)"
    if kind != "varchar" or every not in OWN_LABELS:
        return label
    return f"CASE WHEN {_is_own(column, every)} THEN {column} ELSE {label} END"


def _period_sql(day: str, every: Every) -> str:
    if every == "quarter":
        return f"strftime({day}, '%Y-Q') || quarter({day})"
    return f"strftime({day}, '{PERIODS[every]}')"


def first_day_sql(column: str, kind: str, every: Every) -> str | None:
    """DuckDB's SQL for the first day of the period, as a DATE: what is faster to find in a list than a label.

    None for what has no such form.
    """
    # For weeks there is none: when DuckDB plans a query, it looks for that of the least date, and may fail.
    if every == "week" or kind not in ("varchar", "date", "timestamp", "timestamp with time zone"):
        return None
    if kind == "varchar" and every in OWN_LABELS:
        first = f"{column} || '{'-01' if every == 'month' else '-01-01'}'"
        if every == "quarter":
            first = f"{column}[:5] || ['01', '04', '07', '10'][TRY_CAST({column}[7] AS INT)] || '-01'"
        column = f"(CASE WHEN {_is_own(column, every)} THEN {first} ELSE {column} END)"
    day = _day_sql(column, kind)
    return f"TRY(CASE WHEN {_has_label(day)} THEN date_trunc('{every}', {day})::DATE END)"


def _day_sql(column: str, kind: str) -> str:
    """The day in UTC, as a DATE; NULL for a text that is none: its own row is left out."""
    if kind == "date":
        return column
    if kind == "varchar":
        date = f"TRY_CAST({column}[:10] AS DATE)"
        parts = (f"regexp_extract({column}, '{PARTS_OF_ZONE}', {i})" for i in (1, 2, 3))
        in_utc, elsewhere = (f"regexp_full_match({column}, '{form}')" for form in (IN_UTC, ELSEWHERE))
        return f"CASE WHEN {in_utc} THEN {date} WHEN {elsewhere} THEN {date} + {_shift(column, *parts)} END"
    if kind in ("timestamp_ns", "timestamptz_ns"):  # a cast would round the last moments of a day up
        return f"DATE '1970-01-01' + ({_days(f'epoch_ns({column})', 86_400 * 10**9, '//')})::INTEGER"
    if kind == "timestamp with time zone":
        column = f"make_timestamp(epoch_us({column}))"  # whatever the time zone of the session is
    return f"TRY_CAST({column} AS DATE)"


def _is_own(column: str, every: Every) -> str:
    return f"regexp_full_match({column}, '{OWN_LABELS[every]}')"


# Spark


def spark_label(column: str, kind: str, every: Every | None) -> str:
    """Spark's SQL for the label of a column (quoted) of this type, whatever the session's time zone is."""
    text = f"CAST({column} AS STRING)"  # without the collation that a column of text may have
    if every is None:
        if kind == "StringType":
            return mended_on_spark(text)
        if kind in ("BooleanType", "ByteType", "ShortType", "IntegerType", "LongType"):
            return text
        if kind != "DateType":
            raise ParameterError(WITHOUT_LABELS + (WITH_EVERY if kind.startswith("Timestamp") else ""))
    elif kind not in ("StringType", "DateType", "TimestampType", "TimestampNTZType"):
        raise ParameterError(WITHOUT_PERIODS)
    day = _day_on_spark(column, text, kind)
    label = f"CASE WHEN {_has_label(day)} THEN {_period_on_spark(day, every or 'day')} END"
    if kind != "StringType" or every not in OWN_LABELS:
        return label
    return f"CASE WHEN {text} RLIKE r'^(?:{OWN_LABELS[every]})\\z' THEN {text} ELSE {label} END"


def _day_on_spark(column: str, text: str, kind: str) -> str:
    if kind == "DateType":
        return column
    if kind == "TimestampNTZType":
        return f"CAST({column} AS DATE)"
    if kind == "TimestampType":
        days = _days(f"unix_micros({column})", 86_400 * 10**6, "DIV")
        return f"date_from_unix_date(CAST({days} AS INT))"
    parts = (f"regexp_extract({text}, r'{PARTS_OF_ZONE}', {i})" for i in (1, 2, 3))
    date = f"TRY_CAST(substr({text}, 1, 10) AS DATE)"
    in_utc, elsewhere = (f"{text} RLIKE r'^(?:{form})\\z'" for form in (IN_UTC, ELSEWHERE))
    return (
        f"CASE WHEN {in_utc} THEN {date} WHEN {elsewhere} THEN date_add({date}, {_shift(text, *parts)}) END"
    )


def _period_on_spark(day: str, every: Every) -> str:
    if every == "week":
        return f"concat(extract(YEAROFWEEK FROM {day}), '-W', lpad(weekofyear({day}), 2, '0'))"
    if every == "quarter":
        return f"concat(substr(CAST({day} AS STRING), 1, 4), '-Q', quarter({day}))"
    return f"substr(CAST({day} AS STRING), 1, { {'day': 10, 'month': 7, 'year': 4}[every] })"


def mended_on_spark(text: str) -> str:
    """Spark's SQL for what the core makes of a text."""
    # One character at a time: Java would overflow its stack at many of them.
    cut = f"regexp_extract_all(hex(CAST({text} AS BINARY)), '({_CHARACTER}|..)', 1)"
    one = _piece("digits", "r'\\x'", "decode(unhex(digits), 'UTF-8')")
    whole = f"array_join(transform({cut}, digits -> {one}), '')"
    return f"CASE WHEN is_valid_utf8({text}) THEN {text} ELSE {whole} END"


# Both


def _has_label(day: str) -> str:
    return f"{day} BETWEEN DATE '1000-01-01' AND DATE '9999-12-31'"


def _days(since: str, day: int, divided: str) -> str:
    """Days since 1970 from smaller units, rounded down; no unit is too far away."""
    return (
        f"CASE WHEN {since} >= 0 THEN {since} {divided} {day} ELSE -1 - (-(1 + {since}) {divided} {day}) END"
    )


def _shift(text: str, sign: str, hours: str, minutes: str) -> str:
    """How many days later it is in UTC when this text is written: -1, 0 or 1."""
    own = f"TRY_CAST(substr({text}, 12, 2) AS INT) * 60 + TRY_CAST(substr({text}, 15, 2) AS INT)"
    away = f"coalesce(TRY_CAST({hours} AS INT), 0) * 60 + coalesce(TRY_CAST({minutes} AS INT), 0)"
    utc = f"{own} - (CASE {sign} WHEN '-' THEN -1 ELSE 1 END) * ({away})"
    return f"(CASE WHEN {utc} < 0 THEN -1 WHEN {utc} >= 1440 THEN 1 ELSE 0 END)"


def _piece(digits: str, escape: str, decoded: str) -> str:
    alone = f"length({digits}) = 2 AND {digits} >= '80'"
    return f"CASE WHEN {alone} THEN {escape} || lower({digits}) ELSE {decoded} END"
