"""Tuned estimators of one kernel in the plain metric, which the formulas of a fit are about."""

from __future__ import annotations

from typing import Any

import kinlearn

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
