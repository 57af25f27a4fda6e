"""The watch's numbers as Prometheus reads them."""

from __future__ import annotations

from typing import Any

from kinlearn.watch.watching import SECONDS


def metrics_text(states: list[dict[str, Any]], requests: dict[str, Any]) -> str:
    """All metrics, in the text format of Prometheus.

    Parameters
    ----------
    states : list of dict
        As :meth:`kinlearn.watch.watching.Watch.state` makes them.
    requests : dict
        How often each address was asked, and how long it took.
    """
    found = _Metrics()
    for key, each in sorted(requests.items()):
        path, _, status = key.rpartition(" ")
        labels = {"path": path, "status": status}
        found.add("requests_total", "counter", "Requests answered.", labels, each["count"])
        total = 0
        for bound, n in zip([*SECONDS, "+Inf"], each["bins"], strict=True):
            total += n
            found.add("request_seconds", "histogram", "Seconds to answer a request.",
                      {**labels, "le": bound}, total, "_bucket")  # fmt: skip
        found.add("request_seconds", "histogram", "", labels, each["seconds"], "_sum")
        found.add("request_seconds", "histogram", "", labels, each["count"], "_count")
    for state in states:
        _model(found, state)
    return found.text()


def _model(found: _Metrics, state: dict[str, Any]) -> None:
    own = {"model": state["model"], "version": state["version"]}
    found.add("model_info", "gauge", "The models that answer.", own, 1)
    traffic = state["traffic"]
    if traffic is not None:
        found.add("rows_total", "counter", "Rows answered.", own, traffic["rows"])
        for reason, n in traffic["reasons"].items():
            found.add("decisions_total", "counter", "Answers given, or why they were handed over.",
                      {**own, "reason": reason}, n)  # fmt: skip
        for name, n in traffic["classes"].items():
            found.add("answers_total", "counter", "Answers of each class.",
                      {**own, "class": name}, n)  # fmt: skip
        for kind, what in (("unseen", "Categories never seen."), ("missing", "Missing cells.")):
            for name, n in traffic.get(kind, {}).items():
                found.add(f"{kind}_cells_total", "counter", what, {**own, "column": name}, n)
        familiar = traffic.get("familiar")
        if familiar:
            found.add("familiarity_mean", "gauge", "Familiarity of rows; a half is usual.", own,
                      familiar["sum"] / familiar["rows"])  # fmt: skip
    expected = state["expected"]
    if expected is not None:
        about = "Accuracy expected now, from probabilities alone."
        found.add("expected_accuracy", "gauge", about, own, expected["accuracy"])
        found.add("expected_accuracy_low", "gauge", "Lower end of its interval.", own,
                  expected["low"])  # fmt: skip
        found.add("expected_accuracy_high", "gauge", "Upper end of its interval.", own,
                  expected["high"])  # fmt: skip
    if state["windows"]:
        for task, one in state["windows"][-1]["tasks"].items():
            found.add("task_expected_accuracy", "gauge", "Accuracy expected, by task.",
                      {**own, "task": task}, one["accuracy"])  # fmt: skip
    feedback = state["feedback"]
    if feedback is not None:
        found.add("feedback_rows_total", "counter", "Labels taken.", own, feedback["rows"])
        found.add("observed_accuracy", "gauge", "Accuracy seen from labels.", own,
                  feedback["observed_accuracy"])  # fmt: skip
        found.add("calibration_error", "gauge", "Calibration error seen from labels.", own,
                  feedback["calibration_error"])  # fmt: skip
    kinds: dict[str, int] = {}
    for alarm in state["alarms"]:
        kinds[alarm["kind"]] = kinds.get(alarm["kind"], 0) + 1
    for kind, n in kinds.items():
        found.add("alarms", "gauge", "Alarms that are kept, by kind.", {**own, "kind": kind}, n)


class _Metrics:
    """Lines by metric, each metric described once."""

    def __init__(self) -> None:
        self._lines: dict[str, list[str]] = {}

    def add(
        self, name: str, kind: str, about: str, labels: dict[str, Any], value: Any, end: str = ""
    ) -> None:
        """Add a value."""
        name = f"kinlearn_{name}"
        lines = self._lines.setdefault(name, [f"# HELP {name} {about}", f"# TYPE {name} {kind}"])
        told = ",".join(f'{key}="{escaped(str(each))}"' for key, each in labels.items())
        lines.append(f"{name}{end}{{{told}}} {value}")

    def text(self) -> str:
        """All of it."""
        return "\n".join([line for lines in self._lines.values() for line in lines]) + "\n"


def escaped(text: str) -> str:
    r"""A label's value as the format wants it.

    Examples
    --------
    >>> print(escaped('a"b'))
    a\"b
    """
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
