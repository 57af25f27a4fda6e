"""
A task that contradicts the others
==================================

Sharing pulls every task towards the mean of all. That helps tasks that are alike and hurts a task
that is not: a sensor mounted upside down, a site that codes its labels the other way round. This
example has one such task. The tuned model's own report and the similarity of the tasks' models
show it, before any test data do; a similarity matrix that leaves the task alone mends it.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.metrics import log_loss

from kinlearn import MultiTaskLSPCCV
from kinlearn.datasets import make_related_tasks
from kinlearn.plots import PALETTE, SharingDisplay, TaskSimilarityDisplay, subplots

# %%
# Eight tasks of 30 labels; the labels of the last one, number 7, are reversed.


def draw(seed):
    X, y, task = make_related_tasks(
        n_tasks=8, n_samples=330, n_features=3, n_reversed=1, random_state=seed
    )
    train = np.tile(np.arange(330), 8) < 30
    return (X[train], y[train], task[train]), (X[~train], y[~train], task[~train])


(X, y, task), _ = draw(seed=0)
model = MultiTaskLSPCCV().fit(X, y, task=task)

# %%
# What the model itself knows, from held-out scores of its training rows. Left: every task's score
# alone, pooled, and with sharing. Right: how alike the tasks' models are.

figure, axes = subplots(1, 2, panel_size=(4.9, 3.9))
SharingDisplay.from_estimator(model, ax=axes[0, 0])
TaskSimilarityDisplay.from_estimator(model, X, ax=axes[0, 1])
plt.show()

report = model.sharing_report_
gain = dict(zip(report["task"].tolist(), report["shared"] - report["independent"], strict=True))
worst = min(gain, key=gain.get)
print(f"loses most by sharing: task {worst}, {gain[worst]:.3f}")

# %%
# So task 7 gets a similarity of zero to all others, which are still all alike, and is learnt
# alone. The effect on new rows, on four draws of the tasks:

apart = np.ones((8, 8))
apart[7, :] = apart[:, 7] = 0
losses = {"seven tasks": [], "the reversed task": []}
for seed in range(4):
    train, (X_test, y_test, task_test) = draw(seed)
    reverse = task_test == 7
    pair = []
    for similarity in ("uniform", apart):
        model = MultiTaskLSPCCV(similarity=similarity).fit(train[0], train[1], task=train[2])
        proba = model.predict_proba(X_test, task=task_test)
        pair.append([log_loss(y_test[rows], proba[rows]) for rows in (~reverse, reverse)])
    losses["seven tasks"].append([pair[0][0], pair[1][0]])
    losses["the reversed task"].append([pair[0][1], pair[1][1]])

figure, axes = subplots(panel_size=(4.8, 3.8))
ax = axes[0, 0]
for (name, pairs), color, marker in zip(losses.items(), PALETTE, "os", strict=False):
    lines = ax.plot([0, 1], np.transpose(pairs), marker=marker, color=color, linewidth=1.6)
    lines[0].set_label(name)
    before, after = np.mean(pairs, axis=0)
    print(f"{name:18} mean log-loss {before:.3f} -> {after:.3f}")
ax.set_xticks([0, 1], ["all tasks alike", "task 7 left alone"])
ax.set(ylabel="Log-loss on new rows", xlim=(-0.2, 1.2))
ax.legend(frameon=False, fontsize=9)
plt.show()

# %%
# The report names the reversed task, and the map of similarities shows why: its scores run against
# those of all others. Left alone, it does better in every draw. The others lose nothing by it on
# average: they no longer have to make room for a task that contradicts them.
