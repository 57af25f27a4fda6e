"""
Rows that are taken back
========================

A patient withdraws consent, a batch of labels turns out to be wrong: some rows must go, and the
model must be as if they had never been there. With fixed centres an LSPC is solved from sums over
its rows, so that rows can be subtracted. This example adds a batch of wrong labels, sees the
damage, takes the batch out again, and compares the result with a model that never saw it.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons

from kinlearn import LSPC
from kinlearn.plots import subplots

LOOK = {"cmap": "PuOr_r", "vmin": -0.4, "vmax": 1.4}  # pale enough for the rows to be seen

# %%
# Good rows: two moons. The bad batch: rows around one place, all labelled 1 (black crosses below).
# The centres are a grid, nobody's rows, so that nothing of a forgotten row stays behind in them.

X, y = make_moons(1200, noise=0.2, random_state=0)
rng = np.random.default_rng(0)
X_bad = rng.normal(loc=(0.0, 0.9), scale=0.25, size=(300, 2))
y_bad = np.ones(300, dtype=int)

grid = np.stack(np.meshgrid(np.linspace(-2, 3, 16), np.linspace(-1.5, 2, 12)), -1).reshape(-1, 2)


def new_model():
    return LSPC(centers=grid, sigma=0.4, reg=1e-4)


across, up = np.meshgrid(np.linspace(-1.8, 2.8, 160), np.linspace(-1.3, 1.9, 120))
points = np.column_stack([across.ravel(), up.ravel()])

model = new_model().partial_fit(X, y)
maps = {"good rows": model.predict_proba(points)[:, 1]}
model.partial_fit(X_bad, y_bad)
maps["and a bad batch"] = model.predict_proba(points)[:, 1]
model.forget(X_bad, y_bad)
maps["bad batch forgotten"] = model.predict_proba(points)[:, 1]

figure, axes = subplots(1, 3, panel_size=(3.1, 3.0), sharex=True, sharey=True)
for ax, (title, proba) in zip(axes[0], maps.items(), strict=True):
    surface = ax.contourf(
        across, up, proba.reshape(across.shape), levels=np.linspace(0, 1, 11), **LOOK
    )
    ax.contour(across, up, proba.reshape(across.shape), levels=[0.5], colors="#333333")
    ax.set_title(title)
    ax.grid(False)
    for k, color in enumerate(("#35125C", "#6B3500")):
        ax.scatter(*X[y == k][:150].T, s=5, color=color, linewidth=0)
axes[0, 1].scatter(*X_bad[:150].T, s=9, color="black", marker="x", linewidth=0.7)
figure.supxlabel("First feature", size=10)
figure.supylabel("Second feature", size=10)
figure.colorbar(surface, ax=axes, label="P(class 1)", format="{x:.0%}", ticks=[0, 0.5, 1])
plt.show()

# %%
# The same as never having seen it?

never = new_model().fit(X, y)
gap = np.abs(model.predict_proba(points) - never.predict_proba(points)).max()
harm = np.abs(maps["and a bad batch"] - maps["good rows"]).max()
print(f"largest change by the bad batch: {harm:.2f}")
print(f"largest difference between forgetting and never having seen: {gap:.0e}")

# %%
# What was never added cannot be removed; the model says so and stays as it is.

try:
    model.forget(X_bad, y_bad)
except ValueError as error:
    print(error)

# %%
# The bad batch bends the border, and subtracting it takes that back entirely: what is left of it
# is rounding error. One thing to know: calibration uses a sample of at most 2,000 rows that the
# sums carry along. Beyond that many rows the scores after forgetting still are those of a model
# that never saw the rows, but the calibration may differ a little, because rows once left out of
# the sample do not come back.
