"""Every number that the paper prints, with the settings it belongs to.

Knop and Steinke, "Counting Distinct Elements Under Person-Level Differential Privacy", NeurIPS 2023.
Figures 1 and 2 print no numbers; what the text says about them is in CLAIMS.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal

Selection = Literal["Max Contrib", "90th PC Contrib", "Max Utility", "DP Max Utility"]
Counting = Literal["Sampling", "Greedy", "Matching"]
Spread = tuple[float | None, float | None, float | None]  # 10th percentile, median, 90th percentile

REPETITIONS = 100  # runs behind each percentile, and behind each mean of the TPC-H table
TRIMMED = 20  # of the largest and of the smallest errors, before that mean


@dataclass(frozen=True)
class DataSet:
    """One line of the table "Data sets details"."""

    name: str
    title: str
    people: int
    records: int
    least: int
    median: float
    most: int
    vocabulary: int


@dataclass(frozen=True)
class Row:
    """One line of an appendix table: how the bound was chosen, how the elements were counted."""

    data: str
    selection: Selection
    counting: Counting
    noisy: bool  # "DP Matching" is noisy, "Matching" is not
    bound: Spread
    count: Spread

    @property
    def key(self) -> str:
        """A name for files."""
        noisy = "DP " if self.noisy else ""
        return f"{self.data} {self.selection} {noisy}{self.counting}".replace(" ", "_").lower()

    @property
    def title(self) -> str:
        """As the paper writes it."""
        return f"{self.selection} / {'DP ' if self.noisy else ''}{self.counting}"


DATA_SETS = [
    DataSet("amazon_fashion", "Amazon Fashion", 404, 8533, 1, 14.0, 139, 1450),
    DataSet("amazon_industrial", "Amazon Industrial and Scientific", 11041, 1446031, 0, 86, 2059, 36665),
    DataSet("reddit", "Reddit", 223388, 7117494, 0, 18.0, 1724, 102835),
    DataSet("imdb", "IMDB", 50000, 6688844, 5, 110.0, 925, 98726),
]

# The captions of the appendix tables.
MAX_BOUND = {"amazon_fashion": 100, "amazon_industrial": 100, "reddit": 100, "imdb": 30}

# "Comparisons": epsilon 1 for the choice, epsilon 1 for the count, beta 0.001.
TABLE_EPSILON = Fraction(2)
TABLE_BETA = Fraction(1, 1000)

# The caption of the summary table, and of Figure 2 (for epsilon from 1 to 29).
SUMMARY_EPSILON = Fraction(1)
SUMMARY_BETA = Fraction(1, 20)
SUMMARY_MAX_BOUND = 100
FIGURE_EPSILONS = range(1, 30)

# The summary table: vocabulary, then the percentiles of the estimate.
SUMMARY: dict[str, tuple[int, float, float, float]] = {
    "amazon_fashion": (1450, 1220.6, 1319.1, 1394.2),
    "amazon_industrial": (36665, 35970.5, 36198.9, 36326.7),
    "reddit": (102835, 102379.7, 102512.6, 102643.9),
    "imdb": (98726, 98555.6, 98670.4, 98726.8),
}

# One line for each row: selection | counting | bound | count.
TABLES = {
    "amazon_fashion": """
        Max Contrib     | DP Sampling | 139             | 1196.8 1407.5 1649.1
        Max Contrib     | DP Greedy   | 139             | 1174.2 1439.2 1646.5
        Max Contrib     | DP Matching | 139             | 1222.2 1460.9 1631.0
        90th PC Contrib | DP Sampling | 48              | 1225.4 1296.2 1377.9
        90th PC Contrib | DP Greedy   | 48              | 1367.0 1432.6 1516.3
        90th PC Contrib | DP Matching | 48              | 1365.3 1444.7 1524.8
        Max Utility     | Sampling    | 41              | 1247.0 1259.0 1270.0
        Max Utility     | Greedy      | 20              | 1376
        Max Utility     | Matching    | 17              | 1428
        DP Max Utility  | Sampling    | 8.9 16.0 28.0   | 661.6 892.5 1124.5
        DP Max Utility  | Greedy      | 8.0 11.0 17.0   | 1148.0 1241.0 1348.0
        DP Max Utility  | Matching    | 7.0 9.0 14.0    | 1252.0 1317.0 1400.0
        DP Max Utility  | DP Sampling | 9.0 16.0 27.1   | 702.4 899.1 1145.1
        DP Max Utility  | DP Greedy   | 8.0 10.0 19.0   | 1128.5 1224.4 1370.8
        DP Max Utility  | DP Matching | 6.9 9.0 13.1    | 1220.6 1319.1 1394.2""",
    "amazon_industrial": """
        90th PC Contrib | DP Sampling | 297             | 32458.1 32943.8 33452.6
        90th PC Contrib | DP Greedy   | 297             | 36270.3 36669.5 37019.0
        90th PC Contrib | DP Matching | 297             | 36236.2 36651.7 37102.7
        Max Utility     | Sampling    | 99              | 24967.0 25039.0 25121.2
        Max Utility     | Greedy      | 79              | 36246
        Max Utility     | Matching    | 42              | 36364
        DP Max Utility  | Sampling    | 85.9 96.0 99.0  | 23852.8 24739.0 25049.8
        DP Max Utility  | Greedy      | 34.0 49.0 66.1  | 35393.0 35839.0 36116.9
        DP Max Utility  | Matching    | 22.9 30.5 43.2  | 36026.8 36243.5 36371.2
        DP Max Utility  | DP Sampling | 87.0 95.0 99.0  | 23997.6 24701.1 25067.7
        DP Max Utility  | DP Greedy   | 32.9 47.5 68.0  | 35336.6 35776.2 36136.6
        DP Max Utility  | DP Matching | 22.0 28.0 38.0  | 35970.5 36198.9 36326.7""",
    "reddit": """
        90th PC Contrib | DP Sampling | 75              | 92480.7 92654.8 92812.1
        90th PC Contrib | DP Greedy   | 75              | 102544.8 102665.7 102817.7
        90th PC Contrib | DP Matching | 75              | 102651.1 102784.1 102907.8
        Max Utility     | Sampling    | 99              | 95606.9 95692.0 95750.3
        Max Utility     | Greedy      | 52              | 102543
        Max Utility     | Matching    | 32              | 102685
        DP Max Utility  | Sampling    | 89.0 96.0 99.0  | 94549.9 95394.5 95656.5
        DP Max Utility  | Greedy      | 26.0 33.0 50.0  | 102015.0 102253.0 102527.0
        DP Max Utility  | Matching    | 14.0 18.5 30.0  | 102357.0 102501.5 102671.0
        DP Max Utility  | DP Sampling | 88.8 96.0 99.0  | 94665.2 95375.5 95693.5
        DP Max Utility  | DP Greedy   | 27.0 34.0 53.0  | 102053.2 102289.6 102531.2
        DP Max Utility  | DP Matching | 14.9 18.5 28.0  | 102379.7 102512.6 102643.9""",
    "imdb": """
        90th PC Contrib | DP Sampling | 238             | 95264.5 95593.5 95966.1
        90th PC Contrib | DP Greedy   | 238             | 98411.0 98734.0 99120.0
        90th PC Contrib | DP Matching | 238             | 98354.2 98729.4 99164.2
        Max Utility     | Sampling    | 29              | 49907.8 50036.5 50195.3
        Max Utility     | Greedy      | 29              | 98459
        Max Utility     | Matching    | 19              | 98712
        DP Max Utility  | Sampling    | 29.0 29.0 29.0  | 49899.6 50070.5 50220.9
        DP Max Utility  | Greedy      | 22.0 25.0 29.0  | 98244.0 98364.0 98459.0
        DP Max Utility  | Matching    | 13.0 16.0 21.0  | 98586.0 98674.0 98721.0
        DP Max Utility  | DP Sampling | 29.0 29.0 29.0  | 49924.2 50053.7 50211.9
        DP Max Utility  | DP Greedy   | 20.0 26.0 29.0  | 98126.7 98369.6 98451.8
        DP Max Utility  | DP Matching | 12.0 16.0 21.0  | 98555.6 98670.4 98726.8""",
}

# The TPC-H table: mean of |error| / truth. Its tasks, with the true counts that the paper leaves out.
TPCH_TRUTH = {"ps_aq": 9566, "l_ep": 194159, "o_od": 2406, "l_rd": 2539}
TPCH = {
    "R2T": {"ps_aq": 0.0658, "l_ep": 0.1759, "o_od": 0.0061, "l_rd": 0.150},
    "(Approx)ShiftedInverse": {"ps_aq": 0.0553, "l_ep": 0.0584, "o_od": 0.005, "l_rd": 0.0061},
    "DPApproxDistinctCount": {"ps_aq": 0.0140, "l_ep": 0.0110, "o_od": 0.0008, "l_rd": 0.0037},
    "DPDistinctCount": {"ps_aq": 0.0100, "l_ep": 0.0096, "o_od": 0.0008, "l_rd": 0.0001},
}
TPCH_DIGITS = {("R2T", "l_rd"): 3, ("(Approx)ShiftedInverse", "o_od"): 3}  # all others have 4

# What the text says about the figures and tables: name, sentence.
CLAIMS = {
    "matching and greedy over sampling": "It is clear that matching and greedy algorithms vastly "
    "outperform the sampling approach that is currently used in practice.",
    "greedy within 10%": "The greedy approach performs worse than the matching-based approach, but the "
    "difference is about 10% for Amazon Fashion and is almost negligible for other data sets.",
    "lower bound": "nu-hat is at most the truth with probability at least 1 - beta.",
}


def _spread(text: str) -> Spread:
    numbers = [float(x) for x in text.split()]
    return (numbers[0], numbers[1], numbers[2]) if len(numbers) == 3 else (None, numbers[0], None)


def _row(data: str, line: str) -> Row:
    selection, counting, bound, count = (part.strip() for part in line.split("|"))
    return Row(
        data=data,
        selection=selection,  # type: ignore[arg-type]
        counting=counting.removeprefix("DP "),  # type: ignore[arg-type]
        noisy=counting.startswith("DP "),
        bound=_spread(bound),
        count=_spread(count),
    )


ROWS = [_row(data, line) for data, table in TABLES.items() for line in table.strip().splitlines()]


def rows_like(like: str, data: str) -> list[Row]:
    """The rows of a table for other data, about which the paper says nothing."""
    nothing = None, None, None
    return [replace(row, data=data, bound=nothing, count=nothing) for row in ROWS if row.data == like]
