"""The screens of the five steps, made from what the address says; nothing here reads a row or spends."""

from __future__ import annotations

import os
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, get_args

from dpdistinct.advice.questions import QUESTIONS
from dpdistinct.answers.release import GroupedRelease, Release, release_of
from dpdistinct.app import charts
from dpdistinct.app.asked import (
    DATE_FORMATS,
    DELIMITERS,
    OF_DATA,
    OF_QUESTION,
    Asked,
    decimal,
    whole,
)
from dpdistinct.app.folder import Folder
from dpdistinct.app.jobs import Job
from dpdistinct.app.layout import (
    area,
    choice,
    command,
    facts,
    form,
    hidden,
    radios,
    screen,
    slider,
    text_field,
    tick,
    ticks,
    trouble,
)
from dpdistinct.app.markup import Html, h
from dpdistinct.app.preview import MOST_GROUPS, Preview
from dpdistinct.app.schema import Schema
from dpdistinct.cost import Cost, exact
from dpdistinct.question.group_lists import Every, GroupList
from dpdistinct.question.question import Question
from dpdistinct.question.reading import ENCODINGS, Format
from dpdistinct.show.answers import words_of
from dpdistinct.show.bill import read_in_words
from dpdistinct.show.marks import Mark
from dpdistinct.wording import confidence, epsilon_warning, group_name, minute, odds, size, surest

EPSILONS = (
    *("0.01", "0.012", "0.015", "0.02", "0.025", "0.03", "0.04", "0.05", "0.06", "0.08"),
    *("0.1", "0.12", "0.15", "0.2", "0.25", "0.3", "0.4", "0.5", "0.6", "0.8"),
    *("1", "1.2", "1.5", "2", "2.5", "3", "4", "5", "6", "8", "10"),
)
"""Where the slider stops. Any other number can be typed."""

PEOPLE, ELEMENTS = "10000", "50000"  # of the made-up table, unless one says otherwise

DOWNLOADS = {  # the endings, and what they are
    "csv": "CSV, for spreadsheets",
    "png": "PNG, a picture",
    "svg": "SVG, a picture",
    "html": "HTML, a page",
    "json": "JSON, for programs",
}


@dataclass(frozen=True)
class Place:
    """Where this page stands: its folder, and the ledger that pays, if there is one."""

    folder: Folder
    ledger: str | None = None

    def screen(self, title: str, *parts: Any, **more: Any) -> Html:
        """A whole page."""
        return screen(title, *parts, ledger=self.ledger is not None, **more)


# --- the data


def file_screen(place: Place, within: str, error: str = "") -> Html:
    """Which file."""
    rows = []
    if within:
        above = within.rpartition("/")[0]
        rows.append(
            h("li", h("a", "↑ back", href=Asked({"in": (above,)}).link("file") if above else "/file"))
        )
    for entry in place.folder.entries(within):
        if place.ledger == os.path.join(place.folder.root, entry.name):
            continue  # nothing is to be counted in it
        name = entry.name.rpartition("/")[2]
        if entry.is_folder:
            link = h("a", f"{name}/", href=Asked({"in": (entry.name,)}).link("file"))
        else:
            link = h("a", name, href=Asked({"file": (entry.name,)}).link("data"))
        kind = "folder" if entry.is_folder else size(entry.size)
        about = None if entry.is_read else " (say its format in the next step)"
        rows.append(h("li", link, h("small", f" {kind}", about), class_=None if entry.is_read else "later"))
    return place.screen(
        "Which data?",
        trouble(error) if error else None,
        h(
            "p",
            "Choose the file with the rows: CSV, TSV, JSON lines, Parquet, or a DuckDB or SQLite database. "
            "Opening it reads its first line or its schema, and no row.",
        ),
        h("p", "Folder: ", h("code", place.folder.root, f"/{within}" if within else ""), class_="soft"),
        h("ul", rows, class_="files") if rows else h("p", "There is no file in this folder."),
        step="file",
    )


def data_screen(
    place: Place, asked: Asked, schema: Schema | None, tables: Sequence[str] | None, error: str = ""
) -> Html:
    """How it is read."""
    parts: list[Any] = [
        h("p", "File: ", h("code", asked.one("file")), " ", h("a", "another one", href="/file"))
    ]
    parts.append(trouble(error) if error else None)
    ready = schema is not None
    if tables is not None:
        listed = dict.fromkeys(tables, "")
        chosen = {name: name for name in listed}
        fields = [choice("table", "Table", {"": "choose one", **chosen}, asked.one("table"))]
    else:
        fields = _layout_fields(asked)
    if schema is not None:
        parts += [
            _columns(schema),
            h("p", "Read as: ", read_in_words(schema.read), _dates(asked), class_="soft"),
        ]
    change = form("data", asked, OF_DATA_BUT_FILE, *fields, button="Read it so")
    if ready and not (tables and not asked.one("table")):
        parts.append(h("p", h("a", "Next: the question", href=asked.link("question"), class_="main")))
        parts.append(h("details", h("summary", "It is written in another way"), change))
    else:
        parts.append(change)
    if schema is not None:
        parts.append(_look(asked))
    return place.screen("How is it read?", parts, step="file", asked=asked)


OF_DATA_BUT_FILE = tuple(name for name in OF_DATA if name != "file")


def _layout_fields(asked: Asked) -> list[Html]:
    formats = {"": "as the name says"} | {name: name for name in get_args(Format)}
    return [
        choice("delimiter", "What stands between the fields", DELIMITERS, asked.one("delimiter")),
        choice(
            "encoding",
            "Encoding",
            {"": "utf-8"} | {x: x for x in ENCODINGS[1:]},
            asked.one("encoding"),
            help="Older files from Windows are often cp1252.",
        ),
        choice(
            "date_format",
            "How dates are written",
            DATE_FORMATS,
            asked.one("date_format"),
            help="Only for groups of dates; else leave it.",
        ),
        choice(
            "header",
            "The first line",
            {"": "has the names of the columns", "no": "is a row already"},
            asked.one("header"),
        ),
        choice("quotes", "Quotes", {"": "may surround fields", "no": "mean nothing"}, asked.one("quotes")),
        text_field("comment", "Rows that begin with this are left out", asked.one("comment"), maxlength=8),
        text_field(
            "columns",
            "Names of the columns, where no first line has them",
            asked.one("columns"),
            help="In their order, with commas between.",
        ),
        choice("format", "Format", formats, asked.one("format")),
        tick("trim", "Leave out spaces around values", bool(asked.one("trim"))),
    ]


def _columns(schema: Schema) -> Html | None:
    if not schema.columns:
        return h("p", "The names of the columns are not in a first line; you will type them.")
    items = [
        h("li", h("b", name), h("small", f" {kind}") if kind else None)
        for name, kind in schema.columns.items()
    ]
    return h("section", h("h2", f"{len(items)} columns"), h("ul", items, class_="columns"))


def _dates(asked: Asked) -> str:
    written = asked.one("date_format")
    return f", dates as {DATE_FORMATS.get(written, written)}" if written else ""


def trusted_form(page: str, asked: Asked, button: str) -> Html:
    """Leads to what is not private, once the owner has ticked the box."""
    may_see = h(
        "div",
        h("input", type="checkbox", id="may-see", name="may_see", value="yes", required=True),
        h("label", "I may see this data", for_="may-see"),
        class_="option",
    )
    return form(page, asked.with_(id=new_id()), (), may_see, button=button, post=True)


def _look(asked: Asked) -> Html:
    return h(
        "details",
        h("summary", "Look into the data (for trusted eyes)"),
        h(
            "p",
            "This shows rows and exact numbers: what would be left out, and how the file may be written. "
            "It is not private: who looks must be allowed to, and nothing of it may be published.",
        ),
        trusted_form("look", asked, "Show it"),
        class_="danger-box",
    )


# --- the question


def question_screen(
    place: Place, asked: Asked, schema: Schema, *, error: str = "", proof: Any = None
) -> Html:
    """Who is a person, what is counted, by which groups."""
    names = list(schema.columns)
    by_sql = bool(asked.one("sql"))
    typed = [
        text_field("person_names", "Who: the column that says who somebody is", asked.one("person_names")),
        text_field("element_names", "What is counted: the different values of", asked.one("element_names")),
    ]
    if schema.by_name or not names:
        who, what = typed
        by = text_field("by", "Groups of this column", asked.one("by"))
        typed = []
    else:
        columns = {name: name for name in names}
        who = ticks("person", "Who: the column that says who somebody is", names, asked.several("person"))
        what = ticks("element", "What is counted: the different values of", names, asked.several("element"))
        by = choice("by", "Groups of this column", {"": "none: one number", **columns}, asked.one("by"))
        names_of_result = "Where its result has other names than the file:"
        typed = [h("p", names_of_result), *typed]
    counted = radios(
        "counted",
        "What is counted?",
        {"elements": "different things (values of a column)", "people": "people"},
        asked.one("counted", "elements"),
    )
    sql = h(
        "details",
        h("summary", "Prepare the rows with SQL"),
        area(
            "sql",
            "One SELECT",
            asked.one("sql"),
            rows=4,
            help="The file is the table data; a database has its own names. Each person's rows of the "
            "result must come from that person's rows alone, which is proven, or the query is refused.",
        ),
        typed,
        _proof(proof),
        open=by_sql,
    )
    return place.screen(
        "What do you ask?",
        trouble(error) if error else None,
        form(
            "privacy",
            asked.with_(id=None),
            OF_QUESTION,
            h("p", "Each person is protected with all of their rows.", class_="soft"),
            who,
            counted,
            h("div", what, class_="for-elements"),
            h("fieldset", h("legend", "By groups?"), by, _groups(asked), class_="groups"),
            sql,
            button="Next: how private",
        ),
        step="question",
        asked=asked,
    )


def _groups(asked: Asked) -> Html:
    kinds = {
        "list": "a list that I write down",
        "dates": "periods from one date to another",
        "file": "a CSV file of this folder with the list",
        "unknown": "I do not know them: show those that are large enough (costs a delta)",
    }
    every = {name: name for name in get_args(Every)}
    return h(
        "div",
        h(
            "p",
            "Which groups there are is private, too. So they are written down, and not taken from the data.",
        ),
        radios("listing", "Which groups?", kinds, asked.one("listing", "list")),
        h(
            "div",
            area("groups", "The groups, one in a line, or with commas or semicolons", asked.one("groups")),
            class_="for-list",
        ),
        h(
            "div",
            text_field("first", "From", asked.one("first"), help="01.01.2024, 2024-01-01 or 2024-01"),
            text_field("last", "To", asked.one("last"), help="31.12.2024, 2024-12-31 or 2024-12"),
            class_="for-dates row",
        ),
        h(
            "div",
            choice("every", "Periods", {"": "not of dates", **every}, asked.one("every", "month")),
            class_="for-dates for-unknown",
        ),
        h(
            "div",
            text_field(
                "groups_file",
                "The file",
                asked.one("groups_file"),
                help="Its first line has the name of the column.",
            ),
            class_="for-file",
        ),
        tick("one_group", "Everybody counts in their first listed group only", bool(asked.one("one_group"))),
        class_="listing",
    )


def _proof(proof: Any) -> Html | None:
    if proof is None:
        return None
    return h("section", h("h2", "Why each person's rows stay apart"), h("ul", _branch(proof), class_="tree"))


def _branch(proof: Any) -> Html:
    below = h("ul", [_branch(premise) for premise in proof.premises]) if proof.premises else None
    about = f": {proof.about}" if proof.about else ""
    return h("li", h("b", proof.rule), about, below)


# --- how private


@dataclass(frozen=True)
class Payers:
    """Which data sets of the ledger could pay, and which subscriptions."""

    left: dict[str, Cost]
    subscriptions: dict[str, str]  # name, and its words


def privacy_screen(
    place: Place, asked: Asked, payers: Payers | None, shown: Preview, *, error: str = ""
) -> Html:
    """Epsilon: a proposal, its odds in words, a preview, and who pays."""
    epsilon = decimal(asked.one("epsilon")) or "1"
    return place.screen(
        "How private?",
        trouble(error) if error else None,
        _guide(asked),
        form(
            "release",
            asked.with_(id=None),
            ("epsilon", "delta", "aim", "dataset", "subscription", "request_id"),
            _slider(epsilon),
            h("section", preview_part(epsilon, shown), id="preview", aria_label="Preview on made-up data"),
            _delta(asked),
            _aim(asked),
            _payer(asked, payers),
            button="Next: the bill",
        ),
        step="privacy",
        asked=asked,
    )


def _guide(asked: Asked) -> Html:
    fields: list[Html] = []
    for question in QUESTIONS:
        value = asked.one(question.name)
        if question.choices:
            options = {word: f"{word}: {meaning}" for word, meaning in question.choices.items()}
            fields.append(choice(question.name, question.text, options, value or next(iter(options))))
        else:
            default = {"people": PEOPLE, "elements": ELEMENTS, "releases": "once"}[question.name]
            fields.append(text_field(question.name, question.text, value or default))
    found = proposal(asked)
    said = None
    if found is not None:
        each, together = found
        said = h(
            "p",
            f"Proposed: epsilon {each} for each answer, {together} for all of a year. After all of them, "
            f"{odds(float(together))}. It is one proposal; the choice is one of policy.",
            class_="proposal",
        )
    form_ = form("privacy", asked.with_(id=None, epsilon=None), OF_GUIDE_FIELDS, *fields, button="Propose")
    summary = h("summary", "Five questions that lead to an epsilon")
    return h("section", said, h("details", summary, form_))


OF_GUIDE_FIELDS = tuple(question.name for question in QUESTIONS)


def proposal(asked: Asked) -> tuple[str, str] | None:
    """The epsilon of one answer and of all answers of a year, if the questions were answered."""
    if not asked.one("audience"):
        return None
    from dpdistinct.advice.guide import check_choice, check_number, propose

    audience: Any = asked.one("audience")
    harm: Any = asked.one("harm")
    check_choice("audience", audience, ("team", "organisation", "public"))
    check_choice("harm", harm, ("low", "medium", "high"))
    _, each, together = propose(
        audience, harm, check_number("releases", whole(asked.one("releases", "once")))
    )
    return f"{each.normalize():f}", f"{together.normalize():f}"


def sizes_of(asked: Asked) -> tuple[int, int]:
    """How large the made-up table shall be."""
    from dpdistinct.advice.guide import check_number

    people = check_number("people", whole(asked.one("people") or PEOPLE))
    return people, check_number("elements", whole(asked.one("elements") or ELEMENTS))


def groups_of(question: Question) -> int | None:
    """How many groups the made-up table shall have."""
    if not question.group_by:
        return None
    return min(len(question.groups), MOST_GROUPS) if isinstance(question.groups, GroupList) else 12


def _slider(epsilon: str) -> Html:
    value = float(exact("epsilon", epsilon, hint="try 1"))
    place = min(range(len(EPSILONS)), key=lambda i: abs(float(EPSILONS[i]) - value) / float(EPSILONS[i]))
    return h(
        "div",
        text_field(
            "epsilon",
            "Epsilon: what this answer may cost each person",
            epsilon,
            inputmode="decimal",
            help="Less is safer and less exact. 0,5 and 0.5 are the same.",
        ),
        slider(
            "slider",
            "More private",
            len(EPSILONS) - 1,
            place,
            h("span", "more exact", aria_hidden="true"),
            data_values=" ".join(EPSILONS),
            aria_label="Epsilon, from more private to more exact",
            aria_valuetext=f"epsilon {EPSILONS[place]}",
        ),
    )


def preview_part(epsilon: str, shown: Preview) -> Html:
    """The odds in words and a made-up answer; what the slider exchanges."""
    value = exact("epsilon", epsilon, hint="try 1")
    warning = epsilon_warning(value)
    rows = [Mark(bar.name, bar.lower_bound, bar.estimate, bar.ends, bar.truth) for bar in shown.bars]
    limit = f", limit for each person {shown.bound:,}" if shown.bound is not None else ""
    caption = (
        f"One such answer about a made-up table of {shown.people:,} people and {shown.elements:,} things "
        f"at epsilon {epsilon}{limit}"
    )
    return h(
        "div",
        h("p", f"With epsilon {epsilon}, {odds(float(value))}.", class_="odds", aria_live="polite"),
        _odds_bar(float(value)),
        h("p", h("strong", "Warning: "), warning, class_="trouble") if warning else None,
        h("h2", "What an answer would look like"),
        charts.bars("made up", rows, caption=caption),
        h(
            "p",
            "Bar: at least so many. Line: the range of the noise. Mark: the truth, which may be shown "
            "because the table is made up: nothing here comes from your data.",
            class_="soft",
        ),
    )


def _odds_bar(epsilon: float) -> Html:
    sure = surest(epsilon)
    bar = h("rect", x=0, y=0, width=f"{1000 * sure:.1f}", height=24, class_="bar")
    half = h("line", x1=500, x2=500, y1=0, y2=24, class_="truth")
    svg = h("svg", bar, half, viewBox="0 0 1000 24", preserveAspectRatio="none", aria_hidden="true")
    return h(
        "div",
        svg,
        h("p", h("span", "0%"), h("span", "50%"), h("span", "100% sure"), class_="ends soft"),
        class_="odds-bar",
    )


def _delta(asked: Asked) -> Html | None:
    if asked.one("listing") != "unknown" or not asked.one("by"):
        return None
    return text_field("delta", "Delta, for groups that are not listed", asked.one("delta") or "1e-6")


def _aim(asked: Asked) -> Html | None:
    if asked.one("counted") == "people" and not asked.one("by"):
        return None
    return choice(
        "aim",
        "What should be best?",
        {"": "a number that is not too high (lower bound)", "estimate": "a number near the truth (estimate)"},
        asked.one("aim"),
    )


def _payer(asked: Asked, payers: Payers | None) -> Html:
    if payers is None:
        return h(
            "p",
            h("strong", "No ledger: "),
            "nobody keeps account of what is spent. Start the page with --ledger budget.db to have a budget.",
            class_="note",
        )
    if not payers.left:
        return h(
            "p",
            "The ledger has no budget yet. ",
            h("a", "Make one in the account", href="/account"),
            ".",
            class_="note",
        )
    listed = {name: f"{name}: {left} left" for name, left in payers.left.items()}
    chosen = asked.one("dataset") or next(iter(listed))
    fields = [choice("dataset", "Which budget pays?", listed, chosen)]
    if payers.subscriptions:
        names = {"": "no: the budget pays", **payers.subscriptions}
        fields.append(
            choice(
                "subscription",
                "From a subscription?",
                names,
                asked.one("subscription"),
                help="It decides epsilon.",
            )
        )
    fields.append(
        text_field(
            "request_id",
            "Name of this answer, such as 2024-03",
            asked.one("request_id"),
            help="One name, one answer: asked again, it costs nothing. Another name: a new answer, "
            "which is paid for. It may stay empty.",
        )
    )
    return h("fieldset", h("legend", "Who pays?"), fields)


# --- release


def release_screen(
    place: Place,
    asked: Asked,
    foreseen: Any,
    question: Question,
    neighbours: str,
    dataset: str | None,
    proof: Any,
) -> Html:
    """The bill and the one button."""
    quote = foreseen.quote
    free = quote is not None and (quote.stored or quote.paid)
    rows: dict[str, Any] = {
        "Data": asked.one("file") + (f", table {asked.one('table')}" if asked.one("table") else ""),
        "Question": _in_words(question),
        "Columns": ", ".join(foreseen.columns),
        "Cost": str(foreseen.cost),
        "In words": f"{odds(float(foreseen.cost.epsilon)).capitalize()}.",
    }
    if neighbours == "add or remove":
        rows["In words"] += (
            " That is for adding or removing a person; changing what one did costs twice as much."
        )
    if foreseen.groups is not None:
        rows["Groups"] = (
            foreseen.groups if isinstance(foreseen.groups, str) else f"{foreseen.groups:,} listed"
        )
    if quote is None:
        rows["Paid by"] = "nobody: there is no ledger"
    elif quote.stored:
        rows["Paid by"] = "the answer is there already: it costs nothing"
    elif quote.paid:
        rows["Paid by"] = "paid for already, and not answered yet: it costs nothing more"
    else:
        rows["Paid by"] = f"{dataset}, which has {quote.left} left, and {quote.left_after} afterwards"
    button = (
        "Show the answer" if quote is not None and quote.stored else "Release" if not free else "Answer now"
    )
    warning = epsilon_warning(foreseen.cost.epsilon)
    return place.screen(
        "The bill",
        h("p", "Nothing was read and nothing was spent. This is what the button does:"),
        facts(rows),
        h("p", h("strong", "Warning: "), warning, class_="trouble") if warning else None,
        h(
            "form",
            hidden(asked),
            h("p", h("button", button, type="submit", class_="main release")),
            action="/release",
            method="post",
        ),
        h(
            "p",
            "Twice pressed, reloaded or gone back to: it is one answer, and it is paid for once.",
            class_="soft",
        ),
        _proof(proof),
        h("h2", "The command that does the same"),
        command(asked.command(place.folder, place.ledger)),
        step="release",
        asked=asked,
    )


def _in_words(question: Question) -> str:
    what = "people" if question.counts_people else f"distinct {question.counted}"
    by = f" in each group of {', '.join(question.group_by)}" if question.group_by else ""
    return f"How many {what} are there{by}? Protected: {', '.join(question.person)}."


def refused_screen(place: Place, asked: Asked, error: str) -> Html:
    """What the bill would have refused, with the way back."""
    back = [
        h("li", h("a", "change how it is read", href=asked.with_(id=None).link("data"))),
        h("li", h("a", "change the question", href=asked.with_(id=None).link("question"))),
        h("li", h("a", "change how private, or who pays", href=asked.with_(id=None).link("privacy"))),
    ]
    return place.screen(
        "This cannot be asked",
        trouble(error),
        h("p", "Nothing was read and nothing was spent. You can"),
        h("ul", back),
        step="release",
        asked=asked,
    )


# --- the answer


def progress_screen(
    place: Place, asked: Asked, job: Job, *, step: str = "answer", private: bool = False
) -> Html:
    """A count that runs."""
    percent = None if job.share is None else f"{job.share:.0%}"
    bar = h("progress", percent or "", id="bar", max=1, value=job.share, aria_label="Progress")
    return place.screen(
        "It is being counted" if step == "answer" else "It is being read",
        h("noscript", h("meta", http_equiv="refresh", content="1")),
        h("div", h("p", job.step, id="step", role="status"), bar, data_job=job.id, id="progress"),
        h(
            "form",
            h("input", type="hidden", name="id", value=job.id),
            hidden(asked, ("id",)),
            h("p", h("button", "Cancel", type="submit")),
            action="/cancel",
            method="post",
        ),
        h(
            "p",
            "After a cancel nothing is published. What a ledger has debited stays debited, and asking again "
            "costs nothing more.",
            class_="soft",
        )
        if step == "answer" and place.ledger
        else None,
        step=step,
        asked=asked,
        private=private,
    )


def ended_screen(place: Place, asked: Asked, job: Job | None, page: str = "release") -> Html:
    """A count without an answer."""
    if job is None:
        title, text = (
            "This answer is not here",
            (
                "The page was started anew since, and keeps nothing itself. What a ledger has paid for is "
                "there: ask again, and it costs nothing."
            ),
        )
    elif job.state == "cancelled":
        title, text = "Cancelled", "It was cancelled, and nothing was published."
    else:
        title, text = "No answer", job.error
    again = h("p", h("a", "Ask again", href=asked.with_(id=None).link(page), class_="main"))
    return place.screen(
        title, h("p", text, class_="trouble", role="alert"), again, step="answer", asked=asked
    )


def answer_screen(place: Place, asked: Asked, job: Job) -> Html:
    """The answer of a count."""
    answer = job.answer or {}
    release = release_of(answer["release"])
    paid = None
    if "left" in answer:
        before = f"It was there since {minute(answer['time'])} UTC: nothing was spent. "
        paid = h(
            "p",
            before if answer["stored"] else "",
            f"{asked.one('dataset')} has {answer['left']} left. ",
            f"{answer['subscription'].capitalize()}. " if answer.get("subscription") else None,
            h("a", "The account", href=Asked({"dataset": (asked.one("dataset"),)}).link("account")),
        )
    return place.screen(
        "The answer",
        release_part(release),
        paid,
        downloads(f"id={job.id}"),
        h("h2", "The command that does the same"),
        command(asked.command(place.folder, place.ledger)),
        h("p", h("a", "Another question about this file", href=asked.only(*OF_DATA).link("question"))),
        step="answer",
        asked=asked,
    )


def release_part(release: Release | GroupedRelease) -> Html:
    """Number, picture, and the sentence to publish."""
    if isinstance(release, GroupedRelease):
        shown: list[Any] = [_grouped(release)]
    else:
        words = words_of(release)
        shown = [
            h("p", words.number, class_="number"),
            h("p", words.meaning),
            _single(release),
            h("p", words.behind) if words.behind else None,
            h("p", words.price, class_="soft"),
        ]
    sentence = release.sentence()
    return h(
        "div",
        shown,
        h("h2", "To publish"),
        h("blockquote", sentence),
        h("p", h("button", "Copy the sentence", type="button", class_="copy", data_copy=sentence)),
    )


def _single(release: Release) -> Html | None:
    """One bar; of people with both ends."""
    if not release.lower_bound or release.estimate is None:
        return None
    ends = None if release.upper_bound is None else (release.lower_bound, release.upper_bound)
    row = Mark(release.element or "elements", release.lower_bound, release.estimate, ends)
    return charts.bars("counted", [row], caption=f"With {confidence(release.beta)} confidence")


MOST_BARS = 400


def _grouped(release: GroupedRelease) -> Html:
    from dpdistinct.show.group_answers import range_of_noise  # needs NumPy

    rows = [
        Mark(group_name(row.group), row.lower_bound, row.estimate, range_of_noise(release, row))
        for row in release.rows[:MOST_BARS]
    ]
    total = release.total_lower_bound
    sure = confidence(release.beta)
    together = f"{total:,} or more in all groups together, with {sure} confidence." if total else None
    more = len(release.rows) - MOST_BARS
    caption, marks = f"At least so many, with {sure} confidence", " Line: the range of the noise."
    if total is None:  # unknown groups: those that are shown are selected, of which the sentence below tells
        caption, marks = "At least so many, but see the sentence below", ""
    return h(
        "div",
        h("p", f"{total:,}", class_="number") if total else None,
        h("p", together) if together else None,
        charts.bars(", ".join(release.heads), rows, caption=caption),
        h("p", f"... and {more:,} more, which the downloads have.") if more > 0 else None,
        h("p", f"Bar: at least so many. Short mark: the noisy count.{marks}", class_="soft"),
    )


def downloads(which: str) -> Html:
    """Links to the answer as files."""
    items = [
        h("li", h("a", text, href=f"/download?{which}&form={form}", download=f"answer.{form}"))
        for form, text in DOWNLOADS.items()
    ]
    return h("section", h("h2", "Download"), h("ul", items, class_="downloads"))


def new_id() -> str:
    """An id that nobody guesses."""
    return secrets.token_urlsafe(16)
