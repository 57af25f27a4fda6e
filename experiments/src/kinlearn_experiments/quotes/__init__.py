"""Figures quoted in pages, each tied to a results file; ``marks`` tells how a page says so."""

from __future__ import annotations

from importlib import import_module

TOPICS = (
    "klr",
    "multitask",
    "multilabel",
    "faces",
    "mtda",
    "deployment",
    "large",
    "polish",
    "streaming",
    "bench",
    "reproduction",
    "serving",
    "trust",
    "kernels",
    "suspects",
    "prediction_sets",
    "labelling",
)


def load_all() -> None:
    """Import every topic, which registers its quotes."""
    for topic in TOPICS:
        import_module(f"kinlearn_experiments.quotes.{topic}")
