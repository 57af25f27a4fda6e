"""A made-up clinic's table: several sites, numbers and categories, missing cells, a known truth."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit
from sklearn.utils import check_random_state

SITES = ("Aspen", "Birch", "Cedar", "Elm", "Hazel", "Larch")
_SITE_SHARES = np.array([0.34, 0.24, 0.17, 0.12, 0.08, 0.05])
# What each site adds: to the level, to the slope of CRP and to that of age. They are kin, not
# copies: in Larch, the smallest, CRP says the opposite (its sickest patients are moved elsewhere).
_SITE_LEVELS = np.array([0.0, 0.5, -0.5, 0.3, -0.3, 0.2])
_SITE_CRP = np.array([0.0, 0.2, -0.2, 0.3, -0.1, -1.9])
_SITE_AGE = np.array([0.0, -0.2, 0.3, 0.0, 0.2, 0.1])
_REFERRALS = ("family doctor", "emergency", "self", "other hospital")
_SMOKING = ("never", "former", "current")
# How much of the outcome the measurements tell: here about one visit in twelve stays a surprise.
_SHARPNESS = 3.0
# Share of cells lost, by column; a patient in a hurry is measured less.
_MISSING = {"bmi": 0.08, "crp": 0.12, "glucose": 0.06, "smoking": 0.05, "referral": 0.02}


def make_clinic_table(
    n_rows: int = 900,
    *,
    return_probability: bool = False,
    random_state: int | np.random.RandomState | None = None,
) -> Any:
    """Draw a table of visits, to be used where a real one would be.

    p(readmitted | visit) = 1 / (1 + exp(-f)), with f three times a sum of smooth effects of
    age, CRP, blood pressure, glucose and days of symptoms, an effect of smoking that depends on
    age, and effects of the site on level and slopes. Patients come up to three times, with the same
    age, sex and habits. Three further yes/no columns (``diabetes``, ``hypertension``, ``anaemia``)
    depend on one another and on the measurements.

    Parameters
    ----------
    n_rows : int, default=900
        Number of visits.
    return_probability : bool, default=False
        Whether to return the true probability of readmission too.
    random_state : int, RandomState or None
        Seed of the draws; the rule itself is always the same.

    Returns
    -------
    columns : dict of str to ndarray
        Texts, empty where missing, whole numbers, and floats with NaN where missing.
    probability : ndarray of shape (n_rows,)
        Only with ``return_probability=True``.

    Examples
    --------
    >>> from kinlearn.datasets import make_clinic_table
    >>> columns = make_clinic_table(200, random_state=0)
    >>> sorted(set(columns["site"].tolist()))
    ['Aspen', 'Birch', 'Cedar', 'Elm', 'Hazel', 'Larch']
    >>> sorted(set(columns["readmitted"].tolist()))
    ['no', 'yes']
    """
    if n_rows < 1:
        raise ValueError(f"n_rows must be at least 1, got {n_rows}.")
    random = check_random_state(random_state)
    patient = _patients(random, n_rows)
    n_patients = int(patient[-1]) + 1
    site = random.choice(len(SITES), size=n_patients, p=_SITE_SHARES)[patient]
    age = np.clip(random.gamma(9.0, 6.5, size=n_patients), 18, 97)[patient].round()
    sex = random.choice(["female", "male"], size=n_patients)[patient]
    smoking = random.choice(3, size=n_patients, p=[0.5, 0.3, 0.2])[patient]
    bmi = np.clip(random.normal(27, 4.5, size=n_patients)[patient], 15, 55)
    crp = np.exp(random.normal(2.0, 1.1, size=n_rows))
    systolic = random.normal(118 + 0.35 * (age - 50), 15)
    glucose = np.exp(random.normal(1.75 + 0.012 * (bmi - 27), 0.22))
    days = 1 + random.geometric(0.16, size=n_rows)
    referral = random.choice(4, size=n_rows, p=[0.5, 0.28, 0.14, 0.08])
    score = _score(site, age, smoking, crp, systolic, glucose, days, referral)
    probability = expit(score)
    columns: dict[str, NDArray] = {
        "visit": np.array([f"V{i:07d}" for i in _numbers(random, n_rows)], dtype=object),
        "patient": np.array([f"P{i:06d}" for i in patient], dtype=object),
        "date": _dates(random, n_rows),
        "site": np.array(SITES, dtype=object)[site],
        "age": age.astype(np.int64),
        "sex": sex.astype(object),
        "smoking": np.array(_SMOKING, dtype=object)[smoking],
        "bmi": bmi.round(1),
        "systolic": systolic.round().astype(np.int64),
        "glucose": glucose.round(1),
        "crp": crp.round(1),
        "symptom_days": days.astype(np.int64),
        "referral": np.array(_REFERRALS, dtype=object)[referral],
        "country": np.full(n_rows, "Arcadia", dtype=object),
        **_diagnoses(random, age, bmi, glucose, systolic, crp),
        "readmitted": _yes_no(random, probability),
    }
    for name, share in _MISSING.items():
        lost = random.uniform(size=n_rows) < share
        columns[name][lost] = np.nan if columns[name].dtype == np.float64 else ""
    return (columns, probability) if return_probability else columns


def _score(
    site: NDArray,
    age: NDArray,
    smoking: NDArray,
    crp: NDArray,
    systolic: NDArray,
    glucose: NDArray,
    days: NDArray,
    referral: NDArray,
) -> NDArray[np.float64]:
    years = (age - 58.0) / 18.0
    inflamed = np.log(crp) - 2.0
    pressure = (systolic - 122.0) / 16.0
    return _SHARPNESS * (
        -0.4
        + _SITE_LEVELS[site]
        + (0.9 + _SITE_AGE[site]) * years
        + (1.2 + _SITE_CRP[site]) * inflamed
        # Pressure is bad at both ends.
        + 0.7 * (np.square(pressure) - 1.0)
        + 0.8 * np.tanh(2.0 * (np.log(glucose) - 1.8))
        + 0.5 * np.log(days / 5.0)
        + np.array([0.0, 0.2, 0.5])[smoking] * (1.0 + years)
        + np.array([0.0, 0.7, -0.3, 0.4])[referral]
    )


def _patients(random: np.random.RandomState, n_rows: int) -> NDArray[np.intp]:
    """Number the patient of every visit; each comes one to three times, in a row."""
    visits = random.choice([1, 2, 3], size=n_rows, p=[0.7, 0.2, 0.1])
    return np.repeat(np.arange(n_rows), visits)[:n_rows]


def _numbers(random: np.random.RandomState, n_rows: int) -> NDArray[np.intp]:
    """Distinct numbers without an order, as ids have."""
    start = int(random.randint(1_000_000))
    return start + random.permutation(n_rows)


def _dates(random: np.random.RandomState, n_rows: int) -> NDArray[np.object_]:
    days = np.datetime64("2023-01-01") + np.sort(random.randint(0, 700, size=n_rows))
    return days.astype(str).astype(object)


def _yes_no(random: np.random.RandomState, probability: NDArray) -> NDArray[np.object_]:
    return np.where(random.uniform(size=len(probability)) < probability, "yes", "no").astype(object)


def _diagnoses(
    random: np.random.RandomState,
    age: NDArray,
    bmi: NDArray,
    glucose: NDArray,
    systolic: NDArray,
    crp: NDArray,
) -> dict[str, NDArray[np.object_]]:
    # One frailty behind all three is what lets labels learn from one another.
    frail = (age - 58.0) / 18.0 + 0.8 * random.normal(size=len(age))
    diabetes = expit(-1.2 + 4.0 * (np.log(glucose) - 1.8) + 0.08 * (bmi - 27) + 0.6 * frail)
    pressure = expit(-0.4 + 0.09 * (systolic - 122.0) + 0.7 * frail)
    anaemia = expit(-1.4 + 0.7 * (np.log(crp) - 2.0) + 0.8 * frail)
    return {
        "diabetes": _yes_no(random, diabetes),
        "hypertension": _yes_no(random, pressure),
        "anaemia": _yes_no(random, anaemia),
    }
