"""Tables for Hypothesis: lists of (person, element) rows whose numbers are the 64-bit keys."""

from __future__ import annotations

from hypothesis import strategies as st

Row = tuple[int, int]

TOP = 2**64 - 1

# Hashes are spread over 64 bits; keys that share their top bytes, and the two ends, are where a
# sort or a table of prefixes could go wrong.
keys = st.one_of(
    st.integers(0, TOP),
    st.integers(0, 3),
    st.integers(TOP - 3, TOP),
    st.builds(lambda top, low: top << 56 | low, st.sampled_from([0, 1, 0x7F, 0x80]), st.integers(0, 5)),
)


def _rows(people: list[int], elements: list[int], most: int) -> st.SearchStrategy[list[Row]]:
    return st.lists(st.tuples(st.sampled_from(people), st.sampled_from(elements)), max_size=most)


def _tables(people: int, elements: int, rows: int) -> st.SearchStrategy[list[Row]]:
    return st.tuples(
        st.lists(keys, min_size=1, max_size=people, unique=True),
        st.lists(keys, min_size=1, max_size=elements, unique=True),
    ).flatmap(lambda sides: _rows(*sides, rows))


@st.composite
def _paths(draw: st.DrawFn) -> list[Row]:
    """A chain in which each element is shared by two neighbours, and a few private elements."""
    people = draw(st.lists(keys, min_size=2, max_size=30, unique=True))
    rows = [(people[i + d], 100 + i) for i in range(len(people) - 1) for d in (0, 1)]
    private = draw(st.lists(st.sampled_from(people), max_size=20))
    return draw(st.permutations(rows + [(person, 1000 + i) for i, person in enumerate(private)]))


@st.composite
def _skewed(draw: st.DrawFn) -> list[Row]:
    """One person with nearly everything, one element with nearly everybody, and noise."""
    size = draw(st.integers(1, 25))
    rows = [(0, e) for e in range(size)] + [(p, 0) for p in range(size)]
    return rows + draw(_rows(list(range(size)), list(range(size)), 20))


tables = st.one_of(
    _tables(4, 5, 14),
    _tables(12, 12, 60),  # dense
    _tables(40, 40, 60),  # sparse: many small components
    _tables(3, 40, 80),  # few people with much
    _tables(40, 3, 80),  # many people with little
    _paths(),
    _skewed(),
)
