"""Tuned estimators of one kernel in the plain metric, which the formulas of a fit are about."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

import kinlearn
from kinlearn.tables import training

ONE_KERNEL = {"kernel": "rbf", "metric": None}


def LSPCCV(**options: Any) -> kinlearn.LSPCCV:
    """LSPCCV of the Gaussian kernel alone, unless another is given."""
    return kinlearn.LSPCCV(**{**ONE_KERNEL, **options})


def MultiLabelLSPCCV(**options: Any) -> kinlearn.MultiLabelLSPCCV:
    """MultiLabelLSPCCV of the Gaussian kernel alone, unless another is given."""
    return kinlearn.MultiLabelLSPCCV(**{**ONE_KERNEL, **options})


def MultiTaskLSPCCV(**options: Any) -> kinlearn.MultiTaskLSPCCV:
    """MultiTaskLSPCCV of the Gaussian kernel alone, unless another is given."""
    return kinlearn.MultiTaskLSPCCV(**{**ONE_KERNEL, **options})


def one_kernel_in(module: Any, patch: pytest.MonkeyPatch) -> None:
    """Let the tuned estimators that a module makes be these."""
    for make in (LSPCCV, MultiLabelLSPCCV, MultiTaskLSPCCV):
        if make.__name__ in vars(module):
            patch.setattr(module, make.__name__, make)


@contextmanager
def tables_with_one_kernel() -> Iterator[None]:
    """Within, what the command line trains has one kernel in the plain metric, and is quick."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(training, "TABLE_KERNELS", ONE_KERNEL["kernel"])
        one_kernel_in(training, patch)
        yield
