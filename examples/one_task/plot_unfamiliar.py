"""
Sure, unsure, and never seen
============================

A probability says how sure a classifier is between the classes it knows. It says nothing about a
case that looks like none of them: far from all training rows, a classifier may be as sure as can
be. So kernel estimators also measure *familiarity*, and :class:`~kinlearn.HandOver` hands over
what is unfamiliar, however sure the score looks. This example draws both in the plane.
"""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import ListedColormap
from matplotlib.patches import Patch
from sklearn.datasets import make_moons

from kinlearn import LSPCCV, HandOver
from kinlearn.plots import PALETTE, subplots

# %%
# Two classes, 400 rows, and a fine grid of points to ask about, most of them far from every row.

X, y = make_moons(400, noise=0.25, random_state=0)
model = HandOver(LSPCCV(), max_error=0.05, min_familiarity=0.01).fit(X, y)

across, up = np.meshgrid(np.linspace(-2.7, 3.7, 240), np.linspace(-2.1, 2.9, 180))
points = np.column_stack([across.ravel(), up.ravel()])
found = model.assess(points)

# %%
# Left: the probability of the more probable class. It is high far beyond the rows. Right: what
# becomes of each point.

FATES = {
    "answer: class 0": ("#A9CFE8", found.answered & (found.predicted == 0)),
    "answer: class 1": ("#F4BFA0", found.answered & (found.predicted == 1)),
    "hand over: unsure": ("#FFFFFF", found.reason == "unsure"),
    "hand over: unfamiliar": ("#D0D0D0", found.reason == "unfamiliar"),
}
figure, axes = subplots(1, 2, panel_size=(4.7, 3.9), sharex=True, sharey=True)
left, right = axes[0]
surface = left.contourf(
    across,
    up,
    found.confidence.reshape(across.shape),
    levels=np.linspace(0.5, 1, 11),
    cmap="cividis",
)
figure.colorbar(surface, ax=left, label="Confidence", format="{x:.0%}", ticks=[0.5, 0.75, 1])
left.set(title="How sure the classifier is", ylabel="Second feature")

fate = np.zeros(len(points), dtype=int)
for number, (_, mask) in enumerate(FATES.values()):
    fate[mask] = number
colors = ListedColormap([color for color, _ in FATES.values()])
right.pcolormesh(across, up, fate.reshape(across.shape), cmap=colors, vmin=-0.5, vmax=3.5)
handles = [Patch(facecolor=c, edgecolor="#8A8A8A", label=name) for name, (c, _) in FATES.items()]
right.legend(handles=handles, loc="upper center", ncols=2, frameon=False, fontsize=9)
right.set_title("What HandOver does")
for ax in (left, right):
    ax.grid(False)
    ax.set_xlabel("First feature")
    for k in (0, 1):
        ax.scatter(*X[y == k].T, s=9, color=PALETTE[k], edgecolor="white", linewidth=0.4)
plt.show()

# %%
# How sure is it about points that look like no training row?

far = found.reason == "unfamiliar"
share = (found.confidence[far] > model.threshold_).mean()
print(f"answers where confidence exceeds {model.threshold_:.2f}")
print(f"unfamiliar points that exceed it all the same: {share:.0%}")

rows = model.assess(make_moons(4000, noise=0.25, random_state=1)[0])
for reason in ("answer", "unsure", "unfamiliar"):
    print(f"new rows of the same kind, {reason:10} {(rows.reason == reason).mean():.1%}")

# %%
# A good part of the plane would be answered with confidence although nothing is known there. The
# familiarity takes these answers away. Of rows like the training rows it takes about as many as
# ``min_familiarity`` says. It is no cure for everything: a new kind of case that lies *among* the
# known ones looks familiar.
