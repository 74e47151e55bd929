"""The closed lists: which functions, aggregates, window functions and types a proof knows.

A scalar function is on the list if DuckDB calls it CONSISTENT (no clock, no randomness, no state) and its
result is not longer than its arguments times a constant of the query. So whatever decides how long a
result is, or how hard it is to find (a length, a pattern, a replacement), must be a constant: `fixed`
has the places of these arguments. An error of a scalar function is no matter: it runs under TRY.

An aggregate is on the list if, for arguments of the types given, it cannot fail and does not depend on
the order of rows. tests/queries/test_functions.py tries every entry.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

INTEGERS = {
    *("TINYINT", "SMALLINT", "INTEGER", "BIGINT"),
    *("UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT"),
}
FLOATS = {"FLOAT", "DOUBLE"}
OTHERS = {
    *("HUGEINT", "UHUGEINT", "BOOLEAN", "VARCHAR", "BLOB", "UUID", "DATE", "TIME", "TIME_NS"),
    *("TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS", "TIMESTAMP WITH TIME ZONE"),
}
_DECIMAL = re.compile(r"DECIMAL\((\d+),(\d+)\)")


def is_scalar(kind: str) -> bool:
    """Whether equal values of this type are the same value: in text with the collation "binary", and in
    floats where -0.0 and NaN have been made one (algebra.py).

    Not so: intervals ('1 month' equals '30 days'), times with a zone, documents. And not enums, whose type
    may hold values of rows: tables hand them out as text.
    """
    return kind in INTEGERS | FLOATS | OTHERS or bool(_DECIMAL.fullmatch(kind))


def is_list(kind: str) -> bool:
    """A list of scalars, but not of floats, of which two lists may be equal and yet differ; nor of values
    that have limits, which are looked at one by one.
    """
    element = kind[:-2]
    return kind.endswith("[]") and is_scalar(element) and element not in FLOATS and not limits(element)


_EARLIEST, _LATEST = "290309-12-22 (BC) 00:00:00", "294247-01-10 04:00:54"
_LIMITS = {
    "TIME": ("00:00:00", "24:00:00"),
    "TIME_NS": ("00:00:00", "24:00:00"),
    "TIMESTAMP": (_EARLIEST, "infinity"),
    "TIMESTAMP_S": (_EARLIEST, _LATEST),
    "TIMESTAMP_MS": (_EARLIEST, f"{_LATEST}.775"),
    "TIMESTAMP WITH TIME ZONE": (f"{_EARLIEST}+00", "infinity"),
}


def limits(kind: str) -> tuple[str, str] | None:
    """The first and the last value of a type (but for infinity) of which DuckDB keeps a number that may lie
    outside: a file or a frame can hold a time of 25 o'clock, and a function of DuckDB's then fails in a way
    that TRY does not catch.
    """
    decimal = _DECIMAL.fullmatch(kind)
    if decimal is None:
        return _LIMITS.get(kind)
    width, scale = map(int, decimal.groups())
    largest = f"{'9' * (width - scale)}.{'9' * scale}"
    return f"-{largest}", largest


def is_exact(kind: str) -> bool:
    """Whether sums of this type neither round nor overflow: they have 64 bits or 20 digits more."""
    decimal = _DECIMAL.fullmatch(kind)
    return kind in INTEGERS or (decimal is not None and int(decimal[1]) <= 18)


_BITS = {"TINYINT": 7, "SMALLINT": 15, "INTEGER": 31, "BIGINT": 63, "HUGEINT": 127}
_BITS_OF_UNSIGNED = {"UTINYINT": 8, "USMALLINT": 16, "UINTEGER": 32, "UBIGINT": 64, "UHUGEINT": 128}


def is_widening(source: str, target: str) -> bool:
    """Whether every value of the one type is one of the other, so that a cast cannot fail."""
    if source == target or source == '"NULL"' or target == "VARCHAR":
        return is_scalar(source) or source in (target, '"NULL"')
    if target in FLOATS:
        return source in INTEGERS or (source, target) == ("FLOAT", "DOUBLE")
    bits = _BITS | _BITS_OF_UNSIGNED
    if source in bits and target in bits:
        signed = source in _BITS
        return bits[source] <= bits[target] and (not signed or target in _BITS)
    return False


# What a value may be cast to, by the names that DuckDB knows the type by.
_CASTS = {
    "BOOLEAN": "BOOLEAN BOOL LOGICAL",
    "TINYINT": "TINYINT INT1",
    "SMALLINT": "SMALLINT INT2 INT16 SHORT",
    "INTEGER": "INTEGER INT INT4 INT32 SIGNED",
    "BIGINT": "BIGINT INT8 INT64 LONG OID",
    "HUGEINT": "HUGEINT INT128",
    "UTINYINT": "UTINYINT UINT8",
    "USMALLINT": "USMALLINT UINT16",
    "UINTEGER": "UINTEGER UINT32",
    "UBIGINT": "UBIGINT UINT64",
    "UHUGEINT": "UHUGEINT UINT128",
    "FLOAT": "FLOAT FLOAT4 REAL",
    "DOUBLE": "DOUBLE FLOAT8",
    "DECIMAL": "DECIMAL NUMERIC DEC",
    "VARCHAR": "VARCHAR TEXT STRING CHAR BPCHAR NVARCHAR",
    "BLOB": "BLOB BYTEA BINARY VARBINARY",
    "UUID": "UUID GUID",
    "DATE": "DATE",
    "TIME": "TIME",
    "TIME_NS": "TIME_NS",
    "TIMESTAMP": "TIMESTAMP DATETIME TIMESTAMP_US",
    "TIMESTAMP_S": "TIMESTAMP_S",
    "TIMESTAMP_MS": "TIMESTAMP_MS",
    "TIMESTAMP_NS": "TIMESTAMP_NS",
    "TIMESTAMP WITH TIME ZONE": "TIMESTAMPTZ",
    "INTERVAL": "INTERVAL",
}
CASTS = {alias: kind for kind, aliases in _CASTS.items() for alias in aliases.split()} | {
    "TIMESTAMP WITH TIME ZONE": "TIMESTAMP WITH TIME ZONE",
}


@dataclass(frozen=True)
class Scalar:
    """fewest, most: arguments (None: any number). fixed: places that must hold a constant, from 0 on.
    limit: the largest integer in a fixed place.
    """

    fewest: int
    most: int | None
    fixed: tuple[int, ...] = ()
    limit: int | None = None


def _scalars() -> dict[str, Scalar]:
    lists: dict[tuple[int, int | None, tuple[int, ...]], str] = {
        (1, 2, ()): "- + round trunc trim ltrim rtrim log",
        (
            2,
            2,
            (),
        ): "* / // % ^ ** & | xor << >> || pow power mod ^@ starts_with prefix ends_with suffix contains "
        "instr strpos position age string_split str_split list_contains array_contains list_has list_extract "
        "array_extract left right",
        (1, None, ()): "concat concat_ws greatest least list_value",
        (
            1,
            1,
            (),
        ): "~ abs ceil ceiling floor sign sqrt exp ln log2 log10 isnan isinf isfinite lower upper lcase "
        "ucase length len strlen reverse strip_accents nfc_normalize ascii chr md5 sha256 year month day "
        "hour minute second quarter week weekofyear isoyear isodow dayofweek weekday dayofmonth dayofyear "
        "dayname monthname last_day epoch epoch_ms to_timestamp to_years to_months to_weeks to_days to_hours "
        "to_minutes to_seconds",
        (2, 3, ()): "substring substr",
        (3, 3, ()): "translate array_slice make_date",
        (3, 3, (2,)): "replace",
        (2, 2, (1,)): "~~ !~~ ~~* !~~* ~~~ strptime try_strptime json_extract_string ->>",
        (2, 3, (1, 2)): "regexp_matches regexp_full_match",
        (2, 4, (1, 2, 3)): "regexp_extract",
        (3, 4, (1, 2, 3)): "regexp_replace",
        (3, 3, (1, 2)): "like_escape not_like_escape ilike_escape not_ilike_escape",
        (2, 2, (0,)): "date_trunc datetrunc date_part datepart timezone",
        (3, 3, (0,)): "date_diff datediff date_sub datesub",
        (2, 3, (0, 2)): "time_bucket",
    }
    table = {
        name: Scalar(fewest, most, fixed)
        for (fewest, most, fixed), names in lists.items()
        for name in names.split()
    }
    # The format of strftime may stand on either side, so one of the two is a constant.
    table["strftime"] = Scalar(2, 2, (-1,))
    table["lpad"] = table["rpad"] = Scalar(3, 3, (1, 2), limit=1000)
    return table


SCALARS = _scalars()
JSON_PATHS = ("json_extract_string", "->>")  # whose second argument is a path

# Functions that have a value for all texts in UTF-8: they look at characters, and make no value that is
# longer than a few times the text. All others run under TRY.
TOTAL = {
    *("lower", "lcase", "upper", "ucase", "length", "len", "strlen", "trim", "ltrim", "rtrim", "md5"),
    *("contains", "starts_with", "^@", "prefix", "ends_with", "suffix", "instr", "strpos", "position"),
    *("~~", "!~~"),
}

# Why some functions that people will try are not on the list, and what to write instead.
CLOCK = (
    "looks at the clock, so its result is not a function of the row",
    "write the day itself: DATE '2025-01-31'",
)
CHANCE = ("is random, so its result is not a function of the row", "leave it out")
STATE = ("looks at the state of the program, not at the row", "write the value itself")
LENGTH = (
    "makes a value of any length out of a short one, so one person's value could exhaust the memory",
    "leave it out, or prepare the column before",
)
ORDER = (
    "depends on the order of rows, which other people's rows can change",
    "number the rows instead: QUALIFY row_number() OVER (PARTITION BY PERSON ORDER BY ...) = 1",
)
ROUNDING = (
    "adds up floats, so its last digits depend on the order of rows, which other people's rows can change",
    "cast to a decimal and use sum or avg: sum(CAST(x AS DECIMAL(18, 3)))",
)
FAILS = ("fails on purpose, for everybody", "leave it out")
_WHY = {
    "now today current_date current_time current_timestamp current_localtime current_localtimestamp "
    "get_current_timestamp get_current_time transaction_timestamp localtime localtimestamp": CLOCK,
    "random setseed uuid gen_random_uuid uuidv4 uuidv7 nextval currval": CHANCE,
    "getvariable getenv current_setting current_user user session_user current_schema current_schemas "
    "current_database current_catalog current_query version txid_current rowid in_search_path current_role "
    "current_connection_id current_query_id current_transaction_id": STATE,
    "repeat range generate_series list_resize array_resize format printf bar list_transform list_apply apply "
    "array_apply array_transform list_reduce reduce list_filter filter": LENGTH,
    "first last arbitrary list array_agg string_agg group_concat listagg arg_min arg_max argmin argmax "
    "min_by max_by arg_min_null arg_max_null mode histogram approx_top_k reservoir_quantile approx_quantile "
    "json_group_array json_group_object": ORDER,
    "fsum sumkahan kahan_sum favg product geomean geometric_mean stddev stddev_samp stddev_pop variance "
    "var_samp var_pop corr covar_pop covar_samp regr_slope regr_intercept regr_r2 skewness kurtosis "
    "kurtosis_pop entropy sem mad": ROUNDING,
    "any_value": ("hands out any row's value, and which one may depend on other people", "use min or max"),
    "approx_count_distinct": ("is not exact", "use count(DISTINCT ...)"),
    "median quantile quantile_cont quantile_disc": (
        "is not on the list of aggregates",
        "use min, max, count, sum or avg",
    ),
    "error": ("fails on purpose, for everybody", "leave it out"),
}
EXPLAINED = {name: why for names, why in _WHY.items() for name in names.split()}

COUNTABLE = "any"
ORDERED = "a plain column"
EXACT = "an integer, or a decimal of at most 18 digits"
TRUTH = "a condition"
BITS = "an integer"

# An aggregate, and what its argument must be.
AGGREGATES = {
    "count": COUNTABLE,
    "min": ORDERED,
    "max": ORDERED,
    "sum": EXACT,
    "avg": EXACT,
    "mean": EXACT,
    "bool_and": TRUTH,
    "bool_or": TRUTH,
    "count_if": TRUTH,
    "countif": TRUTH,
    "bit_and": BITS,
    "bit_or": BITS,
    "bit_xor": BITS,
}


def fits(rule: str, kind: str) -> bool:
    """Whether a column of this type may be the argument of an aggregate with this rule."""
    return {
        COUNTABLE: True,
        ORDERED: is_scalar(kind),
        EXACT: is_exact(kind),
        TRUTH: kind == "BOOLEAN",
        BITS: kind in INTEGERS,
    }[rule]


@dataclass(frozen=True)
class Window:
    """node: DuckDB's name of it. columns: how many arguments are columns. fixed: how many more may be
    constants. ties: whether rows that ORDER BY leaves equal may get different results.
    """

    node: str
    columns: int
    fixed: int
    ties: bool


WINDOWS = {
    "row_number": Window("WINDOW_ROW_NUMBER", 0, 0, ties=True),
    "ntile": Window("WINDOW_NTILE", 0, 1, ties=True),
    "rank": Window("WINDOW_RANK", 0, 0, ties=False),
    "dense_rank": Window("WINDOW_RANK_DENSE", 0, 0, ties=False),
    "percent_rank": Window("WINDOW_PERCENT_RANK", 0, 0, ties=False),
    "cume_dist": Window("WINDOW_CUME_DIST", 0, 0, ties=False),
    "lag": Window("WINDOW_LAG", 1, 1, ties=True),
    "lead": Window("WINDOW_LEAD", 1, 1, ties=True),
    "first_value": Window("WINDOW_FIRST_VALUE", 1, 0, ties=True),
    "last_value": Window("WINDOW_LAST_VALUE", 1, 0, ties=True),
    "nth_value": Window("WINDOW_NTH_VALUE", 1, 1, ties=True),
}
