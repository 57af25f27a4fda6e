"""
A stream of a million rows
==========================

Rows that do not fit into memory, or that keep coming: :meth:`~kinlearn.LSPC.fit_stream` goes over
them once, batch by batch, and keeps nothing but sums. The model at the end is the one that all
rows at once would have given. This example streams a million generated rows, and looks at the
model on the way: after a thousand rows, ten thousand, and so on.
"""

from time import process_time

import matplotlib.pyplot as plt
import numpy as np
from scipy.special import expit
from sklearn.metrics import log_loss

from kinlearn import LSPC, LSPCCV
from kinlearn.plots import subplots

N_ROWS = 1_000_000
BATCH = 10_000

# %%
# Two arms of a spiral. The true probability is known, and with it the best log-loss that anything
# can reach. Rows are made batch by batch and thrown away.


def true_probability(X):
    radius, angle = np.hypot(*X.T), np.arctan2(X[:, 1], X[:, 0])
    return expit(2 * np.sin(angle - 3 * radius))


def make_rows(n, rng):
    X = rng.uniform(-3, 3, size=(n, 2))
    return X, (rng.uniform(size=n) < true_probability(X)).astype(int)


rng = np.random.default_rng(0)
X_test, y_test = make_rows(20_000, np.random.default_rng(1))
best = log_loss(y_test, true_probability(X_test))

# %%
# The kernel's width and the centres are part of the features, so that they must be known before
# the pass: the width is tuned on a thousand rows, the centres are chosen from the first ones. The
# regularisation could still be changed at the end, without the rows (``set_params`` and
# ``refit``).

sigma = LSPCCV(combine="best").fit(*make_rows(1000, rng)).sigma_
model = LSPC(n_centers=300, sigma=sigma, reg=1e-6, polish=None, random_state=0)

# %%
# One pass, in stretches: each goes on where the last one ended (``warm_start``). Rows that are
# gone cannot be polished with, so that the closed form is asked for (``polish=None``).

STOPS = [1000, 10_000, 100_000, N_ROWS]
across, up = np.meshgrid(np.linspace(-3, 3, 150), np.linspace(-3, 3, 150))
points = np.column_stack([across.ravel(), up.ravel()])
n_rows, excess, maps = 0, [], {}
started = process_time()
for stop in STOPS:
    stretch = (make_rows(min(BATCH, stop - at), rng) for at in range(n_rows, stop, BATCH))
    model.fit_stream(stretch, warm_start=n_rows > 0)
    n_rows = model.statistics_.n_rows
    excess.append(log_loss(y_test, model.predict_proba(X_test)) - best)
    maps[f"{n_rows:,} rows"] = model.predict_proba(points)[:, 1]
    print(f"{n_rows:10,} rows: log-loss {best + excess[-1]:.4f}, best possible {best:.4f}")
maps["the truth"] = true_probability(points)
seconds = process_time() - started
kept = model.statistics_.gram().nbytes / 1e6
print(f"{seconds:.0f} processor seconds; matrix of sums {kept:.1f} MB, however many rows")

# %%
# What is known after a thousand rows, after ten thousand, and at the end:

del maps["100,000 rows"]
figure, axes = subplots(2, 2, panel_size=(3.3, 2.75), sharex=True, sharey=True)
for ax, (title, proba) in zip(axes.flat, maps.items(), strict=True):
    image = ax.imshow(
        proba.reshape(across.shape),
        origin="lower",
        extent=(-3, 3, -3, 3),
        cmap="PuOr_r",
        vmin=0,
        vmax=1,
    )
    ax.set_title(title)
    ax.grid(False)
figure.supxlabel("First feature", size=10)
figure.supylabel("Second feature", size=10)
figure.colorbar(image, ax=axes, label="P(class 1)", format="{x:.0%}", ticks=[0, 0.5, 1], shrink=0.6)
plt.show()

# %%
# How far the log-loss is above the best that anything can reach:

figure, axes = subplots(panel_size=(5.2, 3.4))
ax = axes[0, 0]
ax.loglog(STOPS, excess, "o-", linewidth=2)
ax.set(xlabel="Rows", ylabel="Log-loss above the best possible")
plt.show()

# %%
# The gap to the best possible is several times smaller after ten thousand rows than after one
# thousand. It keeps falling to the end, but ever more slowly: 300 centres can draw the picture
# only so fine. The rows themselves were never in memory together.
