"""Which axes the arrays of a fitted object have: equal letters, equal lengths.

Predictions combine these arrays with each other. Where numpy would stretch one along another, two
small arrays can make a very large one, so that the axes are compared when an object is read. Arrays
without an entry here are kept as they are: they report about a fit, and no prediction reads them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from kinlearn.archives.arrays import NUMBERS
from kinlearn.archives.errors import KinFileError
from kinlearn.archives.memory_budget import Budget

# d features, c classes, m centres, s widths, t tasks, k score columns, l labels; other letters only
# have to agree among themselves. "" is a number, "|" stands between ways to keep the same.
_KERNEL = {
    "centers_": "md",
    "n_centers_": "",
    "kept_sigmas_": "s",
    "coef_": "smc",
    "intercept_": "c",
    "class_scale_": "c",
    "prior_": "c",
    "beta_": "",
    "gamma_": "",
    "score_floor_": "",
    "prior_shift_": "c",
    "support_": "r",
    "held_out_scores_": "nc",
    "held_out_links_": "ni",
}
_TASKS = {
    **_KERNEL,
    "coef_": "stmc",
    "shared_coef_": "smc",
    "task_scale_": "t",
    "task_intercept_": "tc",
    "mix_shared_coef_": "umc",
    "mix_sigmas_": "u",
    "mix_sharings_": "u",
    "mix_regs_": "u",
    "mix_weights_": "u",
    "similarity_": "tt",
    "task_class_seen_": "tc",
}
_LABELS = {
    **_KERNEL,
    "coef_": "smk",
    "intercept_": "k",
    "held_out_scores_": "nh",  # before parameters are rounded, there may be fewer columns
    "prior_": "p",
    "class_scale_": "q",
    "class_scales_": "q",
    "label_names_": "l",
    "learnt_": "l",
    "betas_": "l",
    "gammas_": "l",
    "prior_shift_": "o",
    "thresholds_": "l",
}
_OTHER = {
    **dict.fromkeys(["mean_", "var_", "scale_", "min_", "center_", "max_abs_", "xbar_"], "d"),
    **dict.fromkeys(["data_min_", "data_max_", "data_range_", "lambdas_", "idf_"], "d"),
    **dict.fromkeys(["variances_", "statistics_"], "d"),
    "coef_": "rd|d",  # of two classes, scikit-learn may keep one row
    "intercept_": "r",
    "components_": "kd",
    "explained_variance_": "k",
    "scalings_": "dj",
    "means_": "cd",
    "theta_": "cd",
    **dict.fromkeys(["priors_", "class_prior_", "odds_", "training_prior_"], "c"),
    "miss_bounds_": "c",
    "quantiles_": "qd",
    "references_": "q",
    "task_thresholds_": "t",
    "first_days_": "d",
    "fills_": "f",
    "units_": "d",
    "marked_": "i",
    "cuts_": "u",
    "cut_columns_": "u",
}
_NAIVE_BAYES = {**_OTHER, "var_": "cd"}
_PER_TASK = {"means_": "d", "components_": "kd", "beta_": "", "maps": "d"}
# Entries that are not floating-point numbers.
_OTHER_TYPES = {
    "cut_columns_",
    "marked_",
    "statistics_",
    "task_class_seen_",
    "learnt_",
    "label_names_",
}
# How many columns a step gives, where it keeps that beside what they are made of.
_WIDTHS = ("_n_features_outs", "_n_out_full", "n_output_features_", "n_classes_", "n_outputs_")
MOST_JOBS = 1024


def check_shapes(made: Any, budget: Budget) -> None:
    """Refuse an object whose arrays do not belong together.

    Parameters
    ----------
    made : object
        Just read.
    budget : Budget
        What a row of its output must not exceed.
    """
    state = vars(made)
    lengths = _known_lengths(state)
    for name, axes in _axes_of(state).items():
        if name in state and state[name] is not None:
            _check(name, state[name], axes, lengths)
    for name in _WIDTHS:
        if name in state and 16 * _total(name, state[name]) > budget.left:
            raise KinFileError(f"its {name} is {state[name]!r}, more than its size explains")
    dtype = state.get("dtype")
    if isinstance(dtype, np.dtype) and dtype.kind not in NUMBERS:
        raise KinFileError(f"it holds the type {dtype.str!r} of numbers, which is not allowed")
    jobs = state.get("n_jobs")
    if jobs is not None and not (isinstance(jobs, int) and abs(jobs) <= MOST_JOBS):
        raise KinFileError(f"it holds n_jobs={jobs!r}, which is no number of processes")


def _axes_of(state: dict[str, Any]) -> dict[str, str]:
    if "centers_" in state:
        table = _TASKS if "shared_coef_" in state else _LABELS if "learnt_" in state else _KERNEL
        # the centres of a precomputed kernel are positions of columns
        return {**table, "centers_": "m"} if state.get("kernel") == "precomputed" else table
    if "_named" in state or "maps" in state:
        return _PER_TASK
    return _NAIVE_BAYES if "theta_" in state else _OTHER


def _known_lengths(state: dict[str, Any]) -> dict[str, int]:
    found = {}
    if type(state.get("n_features_in_")) is int:
        found["d"] = state["n_features_in_"]
    for letter, name in (("c", "classes_"), ("t", "tasks_")):
        if isinstance(state.get(name), np.ndarray):
            if state[name].ndim != 1:
                raise KinFileError(f"its {name} is of the shape {state[name].shape}")
            found[letter] = len(state[name])
    return found


def _check(name: str, value: Any, axes: str, lengths: dict[str, int]) -> None:
    if isinstance(value, (bool, int, float, np.number)):
        return  # stretched along anything, it takes no room
    if isinstance(value, (list, dict)):  # one for each task or label
        for each in value.values() if isinstance(value, dict) else value:
            if isinstance(each, tuple):  # a map: what is taken away, and what then multiplies
                _check(name, each[0], axes, {})
            elif each is not None:
                _check(name, each, axes, {})
        return
    if not isinstance(value, np.ndarray) and not sp.issparse(value):
        raise KinFileError(f"its {name} is a {type(value).__name__} and no array")
    positions = name == "centers_" and axes == "m"
    floats = value.dtype.kind == "f" and value.dtype.itemsize >= 4
    if not (value.dtype.kind in "iu" if positions else floats or name in _OTHER_TYPES):
        raise KinFileError(f"its {name} is of the type {value.dtype}")
    shape = value.shape
    wanted = next((each for each in axes.split("|") if len(each) == len(shape)), None)
    if wanted is None or any(
        lengths.setdefault(letter, length) != length
        for letter, length in zip(wanted, shape, strict=True)
    ):
        raise KinFileError(f"its {name} is of the shape {shape}, which does not fit the others")


def _total(name: str, value: Any) -> int:
    widths = value if isinstance(value, (list, np.ndarray)) else [value]
    if not all(isinstance(width, (int, np.integer)) for width in widths):
        raise KinFileError(f"its {name} is {value!r} and no number of columns")
    return sum(abs(int(width)) for width in widths)
