from importlib import import_module

import numpy as np
import pytest


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.fixture
def measure(monkeypatch):
    """A module of measures by its name, without real data."""
    monkeypatch.delenv("KINLEARN_DATA", raising=False)
    return lambda name: import_module(f"kinlearn_experiments.measures.{name}")
