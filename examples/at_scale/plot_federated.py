"""
Three hospitals share sums, not rows
====================================

Three hospitals want one model, and none may hand out its patients' rows. With centres agreed upon
beforehand, all an LSPC needs to know of its rows are sums, and sums can be added. Each hospital
sends a :class:`~kinlearn.NormalEquations`; the model solved from their sum is the one that all
rows together would have given. Here each hospital sees another kind of patient, and no single one
could have learnt the whole picture.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons
from sklearn.metrics import log_loss

from kinlearn import LSPC, NormalEquations
from kinlearn.plots import subplots

# %%
# All patients lie on two moons; the hospitals see the left, the middle and the right of them.

X, y = make_moons(1800, noise=0.2, random_state=0)
X_test, y_test = make_moons(4000, noise=0.2, random_state=1)
lean = X[:, 0] + np.random.default_rng(0).normal(scale=0.3, size=len(y))
hospital = np.digitize(lean, np.quantile(lean, [1 / 3, 2 / 3]))
LOOK = {"cmap": "PuOr_r", "vmin": -0.4, "vmax": 1.4}  # pale enough for the rows to be seen
NAMES = ("hospital A", "hospital B", "hospital C")

# %%
# Centres and width are agreed upon. ``n_held_out=0`` and ``condense`` make sure that the sums hold
# no single row.

centers = np.stack(np.meshgrid(np.linspace(-2, 3, 16), np.linspace(-1.5, 2, 12)), -1).reshape(-1, 2)


def sums_of(rows, labels):
    return NormalEquations(centers, sigma=0.4, n_held_out=0).update(rows, labels).condense()


parts = [sums_of(X[hospital == k], y[hospital == k]) for k in range(3)]
models = [LSPC(posterior="rounded", reg=1e-4).fit_statistics(part) for part in parts]
merged = LSPC(posterior="rounded", reg=1e-4).fit_statistics(sum(parts))

# %%
# The probability of class 1 in the plane, by each hospital's own sums and by all of them. Dots are
# the rows that went into the sums.

across, up = np.meshgrid(np.linspace(-1.8, 2.8, 160), np.linspace(-1.3, 1.9, 120))
points = np.column_stack([across.ravel(), up.ravel()])
figure, axes = subplots(2, 2, panel_size=(3.6, 2.7), sharex=True, sharey=True)
for k, (ax, model) in enumerate(zip(axes.flat, [*models, merged], strict=True)):
    proba = model.predict_proba(points)[:, 1].reshape(across.shape)
    surface = ax.contourf(across, up, proba, levels=np.linspace(0, 1, 11), **LOOK)
    rows = (hospital == k) if k < 3 else np.ones(len(y), dtype=bool)
    for label, color in enumerate(("#35125C", "#6B3500")):
        ax.scatter(*X[rows & (y == label)].T, s=5, color=color, linewidth=0)
    ax.set_title([*NAMES, "their sums together"][k])
    ax.grid(False)
figure.supxlabel("First feature", size=10)
figure.supylabel("Second feature", size=10)
figure.colorbar(surface, ax=axes, label="P(class 1)", format="{x:.0%}", ticks=[0, 0.5, 1])
plt.show()

# %%
# The merged model beside one from all rows in one place, and how well each predicts patients of
# all three kinds:

together = LSPC(posterior="rounded", reg=1e-4).fit_statistics(sums_of(X, y))
gap = np.abs(merged.predict_proba(points) - together.predict_proba(points)).max()
print(f"largest difference between merged sums and pooled rows: {gap:.0e}")
for name, model in zip([*NAMES, "merged"], [*models, merged], strict=True):
    loss = log_loss(y_test, np.clip(model.predict_proba(X_test), 1e-3, 1 - 1e-3))
    print(f"{name:10} accuracy {model.score(X_test, y_test):.3f}, log-loss {loss:.3f}")

# %%
# Sums without rows cannot be calibrated. But a hospital can calibrate the merged model with its
# own rows, which stay where they are:

raw = merged.predict_proba(X_test)
merged.set_params(posterior="calibrated").calibrate(X[hospital == 1], y[hospital == 1])
for name, proba in {
    "rounded": raw,
    "calibrated by hospital B": merged.predict_proba(X_test),
}.items():
    loss = log_loss(y_test, np.clip(proba, 1e-3, 1 - 1e-3))
    print(f"merged, {name:24} log-loss {loss:.3f}")

# %%
# Each hospital alone is wrong about patients it does not see, and sure of it. The merged model is
# right everywhere, and it *is* the model of all rows: the difference is rounding error. No row
# left a hospital. That does not make the sums anonymous: those of a hospital with few patients say
# much about each of them, and there is no noise and no encryption here.
