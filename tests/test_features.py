"""Features of sounds and images: against the formulas, and what is said of unusable files."""

from __future__ import annotations

import sys
import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.pipeline import make_pipeline

from kinlearn import LSPC
from kinlearn.features import CodebookHistogram, HiddenMarkovKernel, LocalDescriptors, MFCCFrames
from kinlearn.features._per_item import UnusableItem
from kinlearn.features.hidden_markov import MarkovModels, log_likelihoods
from kinlearn.features.mfcc import mel_bands, mfcc, slopes
from naive.sequences import naive_log_likelihood


@pytest.fixture
def sound(rng):
    return rng.normal(size=4000) * np.linspace(0.1, 1.0, 4000)


def test_mfcc_is_the_formula_window_by_window(sound):
    rate, length, n_mels = 8000.0, 184, 20
    found = mfcc(sound, rate, 13, n_mels, length, 0)
    bands = mel_bands(n_mels, length if found is None else 192, rate)
    window = 0.54 - 0.46 * np.cos(2 * np.pi * np.arange(length) / length)
    for i in (0, 7, len(found) - 1):
        frame = sound[i * (length // 2) :][:length] * window
        # next_fast_len(184) is 192: the transform is padded with zeros
        angles = np.exp(-2j * np.pi * np.outer(np.arange(97), np.arange(length)) / 192)
        energy = np.log(np.maximum(bands @ np.abs(angles @ frame) ** 2, 1e-10))
        k = np.arange(13)[:, None]
        basis = np.cos(np.pi * k * (2 * np.arange(n_mels) + 1) / (2 * n_mels))
        scale = np.where(k == 0, np.sqrt(1 / n_mels), np.sqrt(2 / n_mels))
        np.testing.assert_allclose(found[i], (scale * basis) @ energy, rtol=1e-8, atol=1e-8)


def test_frames_half_overlap_and_carry_two_derivatives(sound):
    frames = MFCCFrames(sample_rate=8000).fit_transform([sound])[0]
    assert frames.shape == ((4000 - 184) // 92 + 1, 39)
    np.testing.assert_allclose(frames[:, 13:26], slopes(frames[:, :13]))
    np.testing.assert_allclose(frames[:, 26:], slopes(frames[:, 13:26]))
    assert MFCCFrames(sample_rate=8000, derivatives=0).transform([sound])[0].shape[1] == 13


def test_slopes_are_those_of_fitted_lines(rng):
    values = rng.normal(size=(9, 2))
    for i in range(2, 7):
        line = np.polyfit(np.arange(-2, 3), values[i - 2 : i + 3], 1)[0]
        np.testing.assert_allclose(slopes(values)[i], line)


def test_a_louder_tone_band_peaks_at_its_frequency():
    bands = mel_bands(40, 512, 16000.0)
    tone = np.sin(2 * np.pi * 1000 * np.arange(512) / 16000)
    power = np.abs(np.fft.rfft(tone * np.hamming(512))) ** 2
    peak = bands[int((bands @ power).argmax())]
    assert abs(peak.argmax() * 16000 / 512 - 1000) < 100


def test_files_are_read_in_parallel_and_cached(tmp_path, sound):
    soundfile = pytest.importorskip("soundfile")
    paths = []
    for i in range(3):
        paths.append(tmp_path / f"{i}.wav")
        soundfile.write(paths[-1], np.column_stack([sound, sound]) / 10, 8000, subtype="DOUBLE")
    direct = MFCCFrames(sample_rate=8000).transform([sound / 10])[0]
    cached = MFCCFrames(memory=str(tmp_path / "cache"), n_jobs=2)
    for _ in range(2):
        for frames in cached.fit_transform(paths):
            np.testing.assert_allclose(frames, direct, atol=1e-6)
    soundfile.write(paths[0], sound[::-1] / 10, 8000, subtype="DOUBLE")
    assert not np.allclose(cached.transform(paths)[0], direct)


def make_unusable(folder, soundfile):
    names = ("empty.wav", "silent.wav", "short.wav", "broken.ogg", "absent.ogg", "nothing.wav")
    paths = {name: folder / name for name in names}
    soundfile.write(paths["empty.wav"], np.empty(0), 8000)
    soundfile.write(paths["silent.wav"], np.zeros(4000), 8000)
    soundfile.write(paths["short.wav"], np.ones(20), 8000)
    paths["broken.ogg"].write_bytes(b"OggS and then nothing of the kind")
    paths["nothing.wav"].touch()
    return paths


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("empty.wav", "is empty: it holds no samples"),
        ("silent.wav", "is silent"),
        ("short.wav", "is too short: 20 samples"),
        ("broken.ogg", "cannot be read as sound"),
        ("absent.ogg", "cannot be read as sound"),
        ("nothing.wav", "cannot be read as sound"),
    ],
)
def test_unusable_sounds_are_refused_by_name_or_skipped(name, words, tmp_path, sound):
    soundfile = pytest.importorskip("soundfile")
    paths = make_unusable(tmp_path, soundfile)
    good = tmp_path / "good.wav"
    soundfile.write(good, sound / 10, 8000)
    with pytest.raises(UnusableItem, match=words) as caught:
        MFCCFrames().transform([good, paths[name]])
    assert str(paths[name]) in str(caught.value)
    assert 'on_error="skip"' in str(caught.value)
    skipping = MFCCFrames(on_error="skip")
    with pytest.warns(UserWarning, match="Skipped") as warned:
        found = skipping.transform([good, paths[name]])
    assert str(paths[name]) in str(warned[0].message)
    assert found[1].shape == (0, 39)
    assert skipping.skipped_[0][0] == 1


def test_array_problems_are_named(sound):
    with pytest.raises(ValueError, match="sample_rate must be given"):
        MFCCFrames().transform([sound])
    with pytest.raises(UnusableItem, match="item 1 holds samples that are not finite"):
        MFCCFrames(sample_rate=8000).transform([sound, np.full(4000, np.nan)])
    with pytest.raises(UnusableItem, match="item 0 has 2 dimensions"):
        MFCCFrames(sample_rate=8000).transform([np.ones((3, 3))])
    with pytest.raises(ValueError, match="sequence of paths or arrays"):
        MFCCFrames().transform("one.wav")


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (MFCCFrames(n_mfcc=50), "n_mfcc must lie between 1 and n_mels=40"),
        (MFCCFrames(derivatives=3), "derivatives must be 0, 1 or 2"),
        (MFCCFrames(window=0.0), "window must be positive"),
        (MFCCFrames(on_error="ignore"), "on_error must be"),
        (LocalDescriptors(kind="surf"), "free builds of OpenCV come without SURF"),
        (LocalDescriptors(kind="hog"), "kind must be one of"),
        (LocalDescriptors(max_points=0), "max_points must be at least 1"),
        (CodebookHistogram(n_words=0), "n_words must be at least 1"),
        (HiddenMarkovKernel(sigma=-1.0), "sigma must be positive"),
        (HiddenMarkovKernel(sigma="mean"), "sigma must be positive"),
    ],
)
def test_bad_settings_are_sentences(model, words, rng):
    with pytest.raises(ValueError, match=words):
        clone(model).fit([rng.normal(size=(30, 2))])


@pytest.mark.parametrize(
    ("model", "item", "module", "extra"),
    [
        (MFCCFrames(), "a.wav", "soundfile", "audio"),
        (LocalDescriptors(), "a.png", "cv2", "image"),
        (HiddenMarkovKernel(), np.ones((9, 2)), "hmmlearn", "audio"),
    ],
)
def test_missing_extras_are_named(model, item, module, extra, monkeypatch):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(ImportError, match=rf"pip install \"kinlearn\[{extra}\]\""):
        model.fit_transform([item])


def checkerboard(size=128, cell=16):
    grid = np.add.outer(np.arange(size) // cell, np.arange(size) // cell) % 2
    return (grid * 255).astype(np.uint8)


@pytest.mark.parametrize(("kind", "width"), [("sift", 128), ("orb", 256)])
def test_descriptors_of_files_and_arrays_agree(kind, width, tmp_path, rng):
    cv2 = pytest.importorskip("cv2")
    image = cv2.GaussianBlur(checkerboard(), (5, 5), 0)
    path = tmp_path / "board.png"
    cv2.imwrite(str(path), image)
    model = LocalDescriptors(kind=kind, max_points=40)
    from_file, from_array, from_colour = model.transform([path, image, np.dstack([image] * 3)])
    assert from_file.shape[1] == width
    assert 1 <= len(from_file) <= 40
    np.testing.assert_array_equal(from_file, from_array)
    np.testing.assert_array_equal(from_file, from_colour)
    assert len(LocalDescriptors(kind=kind, max_side=100).transform([image])[0]) >= 1


@pytest.mark.parametrize(
    ("content", "words"),
    [(b"", "cannot be read as an image"), (b"\x89PNG cut short", "cannot be read as an image")],
)
def test_unreadable_images_are_named(content, words, tmp_path):
    pytest.importorskip("cv2")
    path = tmp_path / "broken.png"
    path.write_bytes(content)
    with pytest.raises(UnusableItem, match=words) as caught:
        LocalDescriptors().transform([path])
    assert str(path) in str(caught.value)
    with pytest.raises(UnusableItem, match="cannot be read"):
        LocalDescriptors().transform([tmp_path / "absent.png"])
    with pytest.raises(UnusableItem, match="no points of interest"):
        LocalDescriptors().transform([np.zeros((64, 64), np.uint8)])
    with pytest.raises(UnusableItem, match="which is no image"):
        LocalDescriptors().transform([np.zeros((4, 4, 2))])


def test_histograms_count_nearest_words(rng):
    items = [rng.normal(size=(n, 3)) for n in (40, 25, 60)]
    model = CodebookHistogram(n_words=8, random_state=0).fit(items)
    assert model.words_.shape == (8, 3)
    found = model.transform([*items, np.empty((0, 3))])
    for row, vectors in zip(found, items, strict=False):
        gaps = ((vectors[:, None] - model.words_) ** 2).sum(axis=2)
        expected = np.bincount(gaps.argmin(axis=1), minlength=8) / len(vectors)
        np.testing.assert_allclose(row, expected)
    np.testing.assert_array_equal(found[3], 0.0)
    counts = clone(model).set_params(normalize=False).fit(items).transform(items)
    np.testing.assert_array_equal(counts.sum(axis=1), [40, 25, 60])


def test_codebook_samples_a_bounded_number_of_vectors(rng):
    items = [np.full((500, 1), float(i)) for i in range(4)]
    model = CodebookHistogram(n_words=4, max_vectors=100, random_state=0).fit(items)
    np.testing.assert_allclose(np.sort(model.words_.ravel()), np.arange(4.0), atol=1e-6)
    with pytest.warns(UserWarning, match="only 4 distinct vectors"):
        assert CodebookHistogram(n_words=9, random_state=0).fit(items).n_words_ == 4


def test_codebook_problems_are_sentences(rng):
    model = CodebookHistogram(n_words=2, random_state=0).fit([rng.normal(size=(9, 3))])
    with pytest.raises(ValueError, match="words of length 3"):
        model.transform([np.zeros((2, 4))])
    with pytest.raises(ValueError, match="different lengths"):
        model.transform([np.zeros((2, 3)), np.zeros((2, 4))])
    with pytest.raises(ValueError, match="no item has any vectors"):
        model.fit([np.empty((0, 3))])
    with pytest.raises(ValueError, match="item 0 has 1 dimensions"):
        model.fit([np.zeros(3)])
    with pytest.raises(ValueError, match="NaN or infinite"):
        model.fit([np.full((2, 2), np.nan)])
    with pytest.raises(ValueError, match="no items"):
        model.fit([])


def test_likelihoods_are_those_of_the_recursion(rng):
    M, S, d = 3, 2, 4
    models = MarkovModels(
        rng.dirichlet(np.ones(S), size=M),
        rng.dirichlet(np.ones(S), size=(M, S)),
        rng.normal(size=(M, S, d)),
        rng.uniform(0.5, 2.0, size=(M, S, d)),
    )
    sequence = rng.normal(size=(12, d))
    expected = [
        naive_log_likelihood(
            sequence, models.start[i], models.transition[i], models.means[i], models.variances[i]
        )
        for i in range(M)
    ]
    np.testing.assert_allclose(log_likelihoods(sequence, models), expected)


@pytest.fixture
def two_kinds(rng):
    """Sequences that move slowly or jump, with equal means."""
    pytest.importorskip("hmmlearn")
    slow = [np.repeat(rng.normal(size=(8, 2)) * 2, 10, axis=0) for _ in range(8)]
    fast = [rng.normal(size=(80, 2)) * 2 for _ in range(8)]
    noise = rng.normal(size=(16, 80, 2)) * 0.3
    return [s + e for s, e in zip(slow + fast, noise, strict=True)], np.repeat([0, 1], 8)


def test_hidden_markov_kernel_is_psd_and_symmetric(two_kinds):
    sequences, _ = two_kinds
    kernel = HiddenMarkovKernel(n_states=3)
    K = kernel.fit_transform(sequences)
    np.testing.assert_array_equal(K, K.T)
    assert np.linalg.eigvalsh(K).min() > -1e-10
    assert 0.0 <= kernel.negative_share_ < 0.5
    assert kernel.sigma_ == pytest.approx(
        np.sqrt(np.median(kernel.divergence_[np.triu_indices(16, 1)]))
    )
    # sequences of the training set get their own rows back
    np.testing.assert_allclose(kernel.transform(sequences[:3]), K[:3], atol=1e-8)
    np.testing.assert_allclose(kernel.divergence(sequences[:3]), kernel.divergence_[:3], atol=1e-8)
    plain = HiddenMarkovKernel(n_states=3, psd=False, sigma=2.0).fit(sequences)
    np.testing.assert_allclose(
        plain.transform(sequences[:2]), np.exp(-plain.divergence_[:2] / 8.0), atol=1e-10
    )


def test_hidden_markov_kernel_feeds_a_classifier(two_kinds):
    sequences, y = two_kinds
    train, test = np.arange(0, 16, 2), np.arange(1, 16, 2)
    model = make_pipeline(HiddenMarkovKernel(n_states=3), LSPC(kernel="precomputed"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.fit([sequences[i] for i in train], y[train])
    assert model.score([sequences[i] for i in test], y[test]) >= 0.75


def test_hidden_markov_problems_are_sentences(rng):
    pytest.importorskip("hmmlearn")
    with pytest.raises(ValueError, match="Sequence 1 has 3 frames, fewer than n_states=4"):
        HiddenMarkovKernel().fit([rng.normal(size=(9, 2)), rng.normal(size=(3, 2))])
    with pytest.raises(ValueError, match="item 0 has no vectors"):
        HiddenMarkovKernel().fit([np.empty((0, 2))])
    kernel = HiddenMarkovKernel(n_states=2).fit([rng.normal(size=(9, 2)) for _ in range(3)])
    with pytest.raises(ValueError, match="frames of length 3"):
        kernel.transform([rng.normal(size=(9, 3))])
    # constant frames: models of one state in truth, and still finite
    flat = HiddenMarkovKernel(n_states=2).fit_transform([np.ones((9, 2)), np.zeros((9, 2))])
    assert np.isfinite(flat).all()
