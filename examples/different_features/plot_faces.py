"""
Faces at three resolutions in one space
=======================================

Three cameras watch the same people: one at 32 by 32 pixels, one at 20 by 20, one at 10 by 10.
Their pictures cannot even be put into one table, as each camera has its own features. Multi-task
discriminant analysis (Zhang and Yeung 2011) projects all of them into one common space of few
dimensions. This example draws that space, and asks what it gains, most of all for the camera with
the fewest pictures.

The faces are made up: no picture of a real person is used. Each person is a set of random measures
(eyes, brows, nose, mouth, hair), drawn under random light and slightly moved.
"""

import matplotlib.pyplot as plt
import numpy as np

from kinlearn import LSPCCV, MTDA, HeterogeneousLSPC, RatioTraceLDA
from kinlearn.plots import PALETTE, EmbeddingDisplay, subplots

# %%
# A face is drawn on a plane from -1 to 1 by soft ellipses, so that any resolution can be had.

MEASURES = {
    "eye_apart": (0.26, 0.40),
    "eye_height": (0.08, 0.24),
    "eye_size": (0.10, 0.16),
    "eye_open": (0.05, 0.09),
    "brow_height": (0.13, 0.24),
    "brow_dark": (0.0, 0.28),
    "nose_width": (0.06, 0.12),
    "nose_length": (0.14, 0.26),
    "mouth_height": (-0.56, -0.42),
    "mouth_width": (0.16, 0.32),
    "mouth_open": (0.04, 0.09),
    "head_width": (0.62, 0.78),
    "head_length": (0.82, 0.95),
    "skin": (0.45, 0.80),
    "hair_dark": (0.1, 0.9),
    "hair_line": (0.50, 0.72),
}


def make_person(rng):
    return {name: rng.uniform(*ends) for name, ends in MEASURES.items()}


def spot(x, y, size):
    """A soft ellipse around the origin: 1 in the middle, 0 outside."""
    return np.exp(-(((x / size[0]) ** 2 + (y / size[1]) ** 2) ** 2))


def draw_face(p, n_pixels, rng):
    shift, light = rng.normal(scale=0.03, size=2), rng.normal(scale=0.28, size=2)
    axis = np.linspace(-1, 1, n_pixels)
    x, y = np.meshgrid(axis + shift[0], -axis + shift[1])
    head = spot(x, y, (p["head_width"], p["head_length"]))
    face = p["skin"] * head * (1 - p["hair_dark"] * head * (y > p["hair_line"] - 0.35 * x**2))
    for side in (-1, 1):
        eye_x, eye_y = x - side * p["eye_apart"], y - p["eye_height"]
        face -= 0.45 * spot(eye_x, eye_y, (p["eye_size"], p["eye_open"]))
        face -= p["brow_dark"] * spot(eye_x, eye_y - p["brow_height"], (1.3 * p["eye_size"], 0.04))
    face -= 0.15 * spot(x, y + 0.12, (p["nose_width"], p["nose_length"]))
    face -= 0.35 * spot(x, y - p["mouth_height"], (p["mouth_width"], p["mouth_open"]))
    face = face * (1 + light[0] * x + light[1] * y)
    return np.clip(face + rng.normal(scale=0.03, size=face.shape), 0, 1)


# %%
# Seven people, as each camera sees them.

CAMERAS = {"32 x 32": 32, "20 x 20": 20, "10 x 10": 10}
rng = np.random.default_rng(0)
people = [make_person(rng) for _ in range(7)]

figure, axes = subplots(3, 7, panel_size=(0.95, 0.97))
for row, n_pixels in zip(axes, CAMERAS.values(), strict=True):
    for ax, person in zip(row, people, strict=True):
        ax.imshow(draw_face(person, n_pixels, rng), cmap="gray", vmin=0, vmax=1)
        ax.set_axis_off()
plt.show()

# %%
# The cameras are not equally old: ten pictures of each person from the first, five from the
# second, two from the third. MTDA finds a projection for each camera. Here are *new* pictures in
# the first two dimensions of the common space.

PICTURES = {"32 x 32": 10, "20 x 20": 5, "10 x 10": 2}


def photograph(people, camera, n_each, rng):
    faces = [draw_face(p, CAMERAS[camera], rng).ravel() for p in people for _ in range(n_each)]
    return np.array(faces), np.repeat(np.arange(len(people)), n_each)


def photograph_all(seed):
    rng = np.random.default_rng(seed)
    people = [make_person(rng) for _ in range(7)]
    train = {c: photograph(people, c, PICTURES[c], rng) for c in CAMERAS}
    test = {c: photograph(people, c, 20, rng) for c in CAMERAS}
    Xs, ys = ({c: pair[k] for c, pair in train.items()} for k in (0, 1))
    return Xs, ys, test


Xs, ys, test = photograph_all(seed=0)
mtda = MTDA(n_components=2, shrinkage="auto").fit(Xs, ys)
X_new, y_new = ({c: pair[k] for c, pair in test.items()} for k in (0, 1))
EmbeddingDisplay.from_estimator(mtda, X_new, y_new)
plt.show()

# %%
# Who is on a new picture? A classifier for each camera on its pixels;
# :class:`~kinlearn.HeterogeneousLSPC`, that is MTDA and a classifier in the common space; and the
# same with an ordinary discriminant analysis for each camera, which knows nothing of the other
# cameras. Three draws of seven people.

accuracy = {"pixels": [], "common space (MTDA)": [], "LDA of each camera": []}
for seed in range(3):
    Xs, ys, test = photograph_all(seed)
    accuracy["pixels"].append([LSPCCV().fit(Xs[c], ys[c]).score(*test[c]) for c in CAMERAS])
    for name, reducer in (("common space (MTDA)", None), ("LDA of each camera", RatioTraceLDA())):
        model = HeterogeneousLSPC(reducer=reducer, random_state=0).fit(Xs, ys)
        accuracy[name].append([model.score(*test[c], task=c) for c in CAMERAS])

figure, axes = subplots(panel_size=(5.8, 3.6))
ax = axes[0, 0]
for k, (name, values) in enumerate(accuracy.items()):
    places = np.arange(3) + 0.2 * (k - 1)
    for value in values:
        ax.plot(places, value, "o", color=PALETTE[k], alpha=0.35, markeredgewidth=0, markersize=5)
    mean = np.mean(values, axis=0)
    ax.plot(places, mean, "_", color=PALETTE[k], markersize=20, markeredgewidth=3, label=name)
    print(f"{name:20}", ", ".join(f"{c}: {m:.3f}" for c, m in zip(CAMERAS, mean, strict=True)))
ax.set_xticks(range(3), [f"{c}\n{n} pictures each" for c, n in PICTURES.items()])
ax.set(ylabel="Accuracy on new pictures", ylim=(0.5, 1.02))
ax.legend(frameon=False, fontsize=9, loc="lower left")
plt.show()

# %%
# The camera with two pictures of each person gains most from the common space: a few directions
# that tell people apart take the place of a hundred pixels. But it is the discriminant analysis
# that gains, more than the company of the other cameras: a separate analysis of each camera does
# nearly as well. The common space is worth having where cameras are to be compared or drawn side
# by side; for accuracy alone, try the separate one, too.
