"""
Labels that help each other
===========================

When every row carries many yes/no labels, some of them say much the same. Learnt together, similar
labels can share what they learn; learnt one by one, each starts from nothing. This example uses
the toy of Nam et al. (2012), in which neighbouring labels overlap and opposite ones exclude each
other, and shows what sharing gains as the labels become more.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.metrics import log_loss
from sklearn.multiclass import OneVsRestClassifier

from kinlearn import LSPCCV, MultiLabelLSPCCV
from kinlearn.datasets import make_rotated_labels
from kinlearn.plots import LabelSimilarityDisplay, subplots

# %%
# Label t is on where a row lies on one side of a line, and the lines turn with t. Eighteen further
# features are noise. Left: the rows in the plane that matters, in colour where label 0 is on, and
# the directions of all labels. Right: the similarity that the model finds in the labels.

T = 12
X, Y = make_rotated_labels(600, n_labels=T, random_state=0)
model = MultiLabelLSPCCV(kernel="rbf").fit(X[:100], Y[:100])

figure, axes = subplots(1, 2, panel_size=(4.4, 3.9))
left, right = axes[0]
on = Y[:, 0] == 1
left.scatter(*X[on, :2].T, s=10, color="#0072B2", alpha=0.5, linewidth=0)
left.scatter(*X[~on, :2].T, s=10, color="#BBBBBB", linewidth=0)
for t in range(T):
    angle = 2 * np.pi * (t + 1) / T
    tip = 2.9 * np.array([np.cos(angle), np.sin(angle)])
    left.annotate("", tip, (0, 0), arrowprops={"arrowstyle": "-|>", "color": "#333333"})
    left.text(*(1.13 * tip), str(t), ha="center", va="center", fontsize=10)
left.set(xlim=(-3.6, 3.6), ylim=(-3.6, 3.6), xlabel="First feature", ylabel="Second feature")
left.set_aspect("equal")
LabelSimilarityDisplay.from_estimator(model, order=False, ax=right)
plt.show()

# %%
# The log-loss over all labels on new rows, learnt from 60 rows: labels together, divided by each
# label alone. Three draws of each number of labels; below one, learning together is better.

COUNTS = (2, 4, 8, 16)
ALONE = LSPCCV(kernel="rbf", metric=None)
MODELS = {"together": MultiLabelLSPCCV(kernel="rbf"), "alone": OneVsRestClassifier(ALONE)}
losses = {name: np.zeros((len(COUNTS), 3)) for name in MODELS}
for i, n_labels in enumerate(COUNTS):
    for seed in range(3):
        X, Y = make_rotated_labels(560, n_labels=n_labels, random_state=seed)
        for name, model in MODELS.items():
            proba = model.fit(X[:60], Y[:60]).predict_proba(X[60:])
            losses[name][i, seed] = log_loss(Y[60:].ravel(), proba.ravel())
ratio = losses["together"] / losses["alone"]
for n_labels, values in zip(COUNTS, ratio, strict=True):
    print(f"{n_labels:2} labels: together / alone {values.mean():.3f}")

figure, axes = subplots(panel_size=(5.0, 3.4))
ax = axes[0, 0]
ax.axhline(1, color="#333333", linewidth=1)
ax.plot(COUNTS, ratio, "o", color="#0072B2", alpha=0.4, markeredgewidth=0)
ax.plot(COUNTS, ratio.mean(axis=1), color="#0072B2", linewidth=2.2)
ax.set(xscale="log", xlabel="Number of labels", ylabel="Log-loss, together / alone")
ax.set_xticks(COUNTS, COUNTS)
ax.minorticks_off()
plt.show()

# %%
# Two labels of this toy are opposites: they have nothing to share, and nothing is lost either.
# With more labels, each has near neighbours, and learning them together is better; the gain is
# worth having, not dramatic. Where labels hardly overlap, learning them one by one does as well.
