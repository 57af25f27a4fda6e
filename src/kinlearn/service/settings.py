"""What a service is told when it starts; its workers are told the same by one text."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field

VARIABLE = "KINLEARN_SERVE"


@dataclass(frozen=True)
class Settings:
    """What is served, and within what bounds.

    Attributes
    ----------
    models : list of str
        Files, and folders of files.
    host, port : str and int
        Where to listen.
    workers : int
        Processes.
    token : str, optional
        What a client must say to be answered.
    max_mb : float
        Largest body, of CSV that is answered as CSV excepted.
    max_stream_mb : float
        Largest body of CSV that is answered as CSV.
    max_rows : int
        Most rows of one request, of such CSV excepted.
    max_seconds : float
        Most time for a request to arrive, and for its rows to be answered.
    max_waiting_rows : int
        Rows that may wait; requests beyond are asked to come again.
    batch_rows : int
        Most rows of one matrix product.
    poll_seconds : float
        How often files are looked at.
    nearest : int
        Known rows shown beside a row that is handed over; 0 shows none.
    watch : str, optional
        File of the watch's numbers; in memory when left out.
    keep_rows : bool
        Whether the watch keeps rows, too.
    window : int
        Rows that a window of the watch holds.
    learn : bool
        Whether feedback is learnt from.
    """

    models: list[str] = field(default_factory=list)
    host: str = "127.0.0.1"
    port: int = 8080
    workers: int = 1
    token: str | None = None
    max_mb: float = 16.0
    max_stream_mb: float = 4096.0
    max_rows: int = 100_000
    max_seconds: float = 30.0
    max_waiting_rows: int = 400_000
    batch_rows: int = 2048
    poll_seconds: float = 1.0
    nearest: int = 3
    watch: str | None = None
    keep_rows: bool = False
    window: int = 500
    learn: bool = False

    def as_text(self) -> str:
        """For an environment variable."""
        return json.dumps(asdict(self))

    @classmethod
    def from_text(cls, text: str) -> Settings:
        """What :meth:`as_text` wrote."""
        return cls(**json.loads(text))
