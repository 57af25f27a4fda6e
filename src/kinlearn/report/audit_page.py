"""The page of an audit: records whose answer is likely wrong, most suspect first."""

from __future__ import annotations

from collections.abc import Sequence

from kinlearn.report.conclusions import percent
from kinlearn.report.html import Markup, document, meter, paragraph, section, table
from kinlearn.tables.label_audit import SuspectRecord

SUSPICION = (
    "Suspicion, from 0 to 100, orders the records and is no chance: hard cases are suspect, too."
)
# Records and cells shown; the table beside the page holds them all.
MOST_RECORDS, MOST_CELLS = 200, 6


def make_audit_page(file: str, n_rows: int, records: Sequence[SuspectRecord]) -> str:
    """Return the page.

    Parameters
    ----------
    file : str
        Name of the table.
    n_rows : int
        Records looked at.
    records : sequence of SuspectRecord
        Most suspect first.
    """
    title = f"Records to look at again: {file}"
    share = percent(len(records) / max(n_rows, 1), 1)
    said = [
        Markup("<h1>Records to look at again</h1>"),
        paragraph(
            f"Of {n_rows} records of {file}, {len(records)} ({share}) have another answer that is "
            "more probable than the one recorded, by models that have not seen the record. Which "
            "are wrong records, and which hard cases, is for a person to say."
        ),
    ]
    if not records:
        return document(title, [*said, paragraph("No record is contradicted.")])
    shown = records[:MOST_RECORDS]
    names = [name for name in shown[0].cells if name != shown[0].column][:MOST_CELLS]
    rows = [
        [
            record.row,
            *([record.column] if several(records) else []),
            record.recorded,
            percent(record.p_recorded, 1),
            record.likely,
            percent(record.p_likely, 1),
            Markup(f"{100 * record.suspicion:.0f} {meter(record.suspicion)}"),
            *(record.cells.get(name, "") for name in names),
        ]
        for record in shown
    ]
    header = [
        "row",
        *(["label"] if several(records) else []),
        "recorded",
        "its probability",
        "more likely",
        "its probability",
        "suspicion",
        *names,
    ]
    note = f"Rows are numbered from 1, below the line of names. {SUSPICION}"
    if len(records) > len(shown):
        note += f" The first {len(shown)} are shown."
    return document(
        title,
        [
            *said,
            section(
                "records", "Most suspect first", table(header, rows, numbers=[0]), paragraph(note)
            ),
        ],
    )


def several(records: Sequence[SuspectRecord]) -> bool:
    """Whether records are of several labels."""
    return len({record.column for record in records}) > 1
