"""Mel-frequency cepstral coefficients of sounds, frame by frame."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.fft import dct, next_fast_len, rfft
from scipy.signal import get_window

from kinlearn.features._per_item import PerItemTransformer, UnusableItem
from kinlearn.optional import require

Floats = NDArray[np.float64]
LEAST_POWER = 1e-10
SILENCE = 1e-6
DELTA_REACH = 2


class MFCCFrames(PerItemTransformer):
    """MFCC of half-overlapping windows with their first and second derivatives.

    For every window the logarithm of the power in triangular bands evenly spaced in mel
    (2595 log10(1 + f/700)), its orthonormal discrete cosine transform cut to ``n_mfcc``, and the
    slopes of these over five windows, once and twice: 13 · 3 = 39 numbers, as in the multi-label
    paper [1]_, section 5.

    Parameters
    ----------
    n_mfcc : int, default=13
        Coefficients kept.
    n_mels : int, default=40
        Bands.
    window : float, default=0.023
        Length of a window in seconds; the next begins half of it later.
    derivatives : {0, 1, 2}, default=2
        How many derivatives to add.
    sample_rate : float, optional
        Samples a second of items that are arrays; files know theirs.
    on_error : {"raise", "skip"}, default="raise"
        What to do about an empty, silent, too short or unreadable sound: refuse it by name, or warn
        and give it no frames.
    n_jobs : int, optional
        Items worked on at one time.
    memory : str or joblib.Memory, optional
        Folder that keeps results; a file that changes is done again.
    verbose : int, default=0
        Whether to show progress (as joblib's ``verbose``).

    Attributes
    ----------
    skipped_ : list of (int, str)
        Position and problem of the items skipped by the last ``transform``.

    References
    ----------
    .. [1] Nam, Hachiya, Sugiyama: Computationally efficient multi-label classification by
       least-squares probabilistic classifier, 2012.

    Examples
    --------
    >>> import numpy as np
    >>> from kinlearn.features import MFCCFrames
    >>> tone = np.sin(2 * np.pi * 440 * np.arange(8000) / 8000)
    >>> MFCCFrames(sample_rate=8000).fit_transform([tone])[0].shape
    (85, 39)
    """

    def __init__(
        self,
        *,
        n_mfcc: int = 13,
        n_mels: int = 40,
        window: float = 0.023,
        derivatives: int = 2,
        sample_rate: float | None = None,
        on_error: str = "raise",
        n_jobs: int | None = None,
        memory: Any = None,
        verbose: int = 0,
    ) -> None:
        self.n_mfcc = n_mfcc
        self.n_mels = n_mels
        self.window = window
        self.derivatives = derivatives
        self.sample_rate = sample_rate
        self.on_error = on_error
        self.n_jobs = n_jobs
        self.memory = memory
        self.verbose = verbose

    def _work(self) -> tuple[Any, dict[str, Any]]:
        if not 1 <= self.n_mfcc <= self.n_mels:
            raise ValueError(
                f"n_mfcc must lie between 1 and n_mels={self.n_mels}, but it is {self.n_mfcc}."
            )
        if self.derivatives not in (0, 1, 2):
            raise ValueError(f"derivatives must be 0, 1 or 2, but it is {self.derivatives!r}.")
        if not self.window > 0:
            raise ValueError(f"window must be positive seconds, but it is {self.window!r}.")
        names = ("n_mfcc", "n_mels", "window", "derivatives", "sample_rate")
        return mfcc_of_item, {name: getattr(self, name) for name in names}


def mfcc_of_item(item: Any, version: Any, name: str, settings: dict[str, Any]) -> Floats:
    """Frames of one file or array."""
    signal, rate = _read(item, name, settings["sample_rate"])
    length = round(settings["window"] * rate)
    if signal.size == 0:
        raise UnusableItem(f"{name} is empty: it holds no samples.")
    if not np.isfinite(signal).all():
        raise UnusableItem(f"{name} holds samples that are not finite.")
    if np.abs(signal).max() < SILENCE:
        raise UnusableItem(f"{name} is silent: no sample is above {SILENCE}.")
    if signal.size < length or length < 4:
        raise UnusableItem(
            f"{name} is too short: {signal.size} samples where a window has {length}."
        )
    return mfcc(
        signal, rate, settings["n_mfcc"], settings["n_mels"], length, settings["derivatives"]
    )


def mfcc(
    signal: Floats, rate: float, n_mfcc: int, n_mels: int, length: int, derivatives: int
) -> Floats:
    """MFCC of windows of ``length`` samples, with derivatives; shape (frames, n_mfcc·(1+d))."""
    frames = np.lib.stride_tricks.sliding_window_view(signal, length)[:: max(1, length // 2)]
    size = next_fast_len(length, real=True)
    power = np.abs(rfft(frames * get_window("hamming", length), size, axis=1)) ** 2
    bands = power @ mel_bands(n_mels, size, rate).T
    parts = [dct(np.log(np.maximum(bands, LEAST_POWER)), norm="ortho", axis=1)[:, :n_mfcc]]
    for _ in range(derivatives):
        parts.append(slopes(parts[-1]))
    return np.hstack(parts)


@lru_cache(maxsize=16)
def mel_bands(n_mels: int, size: int, rate: float) -> Floats:
    """Triangles over the frequencies of a transform of ``size`` samples; (n_mels, size//2 + 1)."""
    edges = 700.0 * (10.0 ** (np.linspace(0.0, _mel(rate / 2), n_mels + 2) / 2595.0) - 1.0)
    frequencies = np.arange(size // 2 + 1) * rate / size
    rising = (frequencies - edges[:-2, None]) / np.diff(edges)[:-1, None]
    falling = (edges[2:, None] - frequencies) / np.diff(edges)[1:, None]
    return np.maximum(0.0, np.minimum(rising, falling))


def _mel(frequency: float) -> float:
    return float(2595.0 * np.log10(1.0 + frequency / 700.0))


def slopes(values: Floats) -> Floats:
    """Slope of a straight line through five frames around each; the ends are repeated.

    Examples
    --------
    >>> import numpy as np
    >>> from kinlearn.features.mfcc import slopes
    >>> slopes(3.0 * np.arange(7.0)[:, None])[2:5, 0]
    array([3., 3., 3.])
    """
    reach = DELTA_REACH
    padded = np.pad(values, ((reach, reach), (0, 0)), mode="edge")
    n = len(values)
    total = np.zeros_like(values)
    for step in range(1, reach + 1):
        total += step * (padded[reach + step : reach + step + n] - padded[reach - step :][:n])
    return total / (2.0 * sum(step**2 for step in range(1, reach + 1)))


def _read(item: Any, name: str, sample_rate: float | None) -> tuple[Floats, float]:
    if isinstance(item, np.ndarray | list | tuple):
        signal = np.asarray(item, dtype=np.float64)
        if signal.ndim != 1:
            raise UnusableItem(f"{name} has {signal.ndim} dimensions; a sound has one.")
        if sample_rate is None:
            raise ValueError("sample_rate must be given for sounds that are arrays, not files.")
        return signal, float(sample_rate)
    soundfile = require("soundfile", "MFCCFrames", "audio")
    try:
        samples, rate = soundfile.read(str(item), dtype="float64", always_2d=True)
    except (RuntimeError, OSError, TypeError) as error:
        raise UnusableItem(f"{name} cannot be read as sound ({error}).") from error
    return samples.mean(axis=1) if samples.size else np.empty(0), float(rate)
