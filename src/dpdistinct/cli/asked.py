"""From options as they are typed to a question."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

from dpdistinct.errors import ParameterError
from dpdistinct.question.question import Question

NEED_GROUP_BY = "--groups, --groups-file, --every, --delta and --one-group-per-person need --group-by COLUMN"


def question_of(given: dict[str, Any], groups_file: Path | None) -> Question:
    """The question that the options ask."""
    element = given["element"] or given["person"]  # without one, people are counted
    return Question.of(given | {"element": element, "groups": written_groups(given, groups_file)})


def written_groups(given: dict[str, Any], file: Path | None) -> Any:
    """The public list as it was written: --groups once for each column, or --groups-file."""
    written, names = given["groups"], given["group_by"]
    of_groups = [given.get(name) for name in ("groups", "every", "delta", "one_group_per_person")]
    if not names and (file is not None or any(of_groups)):
        raise ParameterError(NEED_GROUP_BY)
    if not names:
        return None
    if (written is None) == (file is None):
        raise ParameterError(
            "groups must be written down: --groups DE,FR,US, or --groups 2024-01..2024-12 --every month, "
            "or --groups-file FILE; once for each --group-by"
        )
    if file is not None:
        return file
    if written == ["unknown"]:
        return "unknown"
    if len(written) != len(names):
        raise ParameterError("--groups must be given once for each --group-by, in the same order")
    if not all(part for text in written for part in (group_list(text) or [""])):
        raise ParameterError("groups must not be empty: --groups DE,FR,US")
    return {name: group_list(text) for name, text in zip(names, written, strict=True)}


def group_list(text: str) -> str | list[str]:
    """A range, first..last; or labels as one line of CSV: one with a comma is quoted."""
    if ".." in text and not set(',"') & set(text):
        return text
    try:
        return [
            part.strip() for line in csv.reader([text], skipinitialspace=True, strict=True) for part in line
        ]
    except csv.Error:
        raise ParameterError(
            """groups must be one line of CSV, each quote closed: --groups '"Washington, DC",Boston'"""
        ) from None
