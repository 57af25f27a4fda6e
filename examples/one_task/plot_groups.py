"""
Rows that vouch for each other
==============================

Ten measurements of one patient are not ten patients. A model that is tuned and calibrated by
leaving out single rows recognises the patient by the nine rows that stay, and believes that it is
better than it is. ``fit(..., groups=patient)`` leaves out all rows of a patient together, for
tuning, mixing and calibration alike. This example shows what both say about their errors, and what
is true for new patients.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.metrics import log_loss

from kinlearn import LSPCCV
from kinlearn.plots import PALETTE, ReliabilityDisplay, subplots

# %%
# Made-up patients, ten measurements each. Two features carry the disease; how patients differ from
# each other is larger than what the disease does.


def measure(n_patients, rng):
    sick = rng.integers(0, 2, size=n_patients)
    means = rng.normal(size=(n_patients, 5))
    means[:, :2] += 1.4 * sick[:, None]
    patient = np.repeat(np.arange(n_patients), 10)
    X = means[patient] + rng.normal(scale=0.3, size=(len(patient), 5))
    return X, sick[patient], patient


rng = np.random.default_rng(0)
X, y, patient = measure(40, rng)
X_new, y_new, _ = measure(400, rng)

# %%
# The same rows, the same grid; what differs is what is left out.

models = {
    "rows left out": LSPCCV().fit(X, y),
    "patients left out": LSPCCV().fit(X, y, groups=patient),
}
for name, model in models.items():
    believed = log_loss(y, model.held_out_proba())
    true = log_loss(y_new, model.predict_proba(X_new))
    print(
        f"{name:17} log-loss: believed {believed:.3f}, on new patients {true:.3f}; "
        f"accuracy on new patients {model.score(X_new, y_new):.3f}"
    )

# %%
# Reliability on new patients. Below the diagonal a model is too sure of itself.

figure, axes = subplots(1, 2, panel_size=(3.9, 4.4))
for ax, color, (name, model) in zip(axes[0], (PALETTE[1], PALETTE[0]), models.items(), strict=True):
    ReliabilityDisplay.from_estimator(
        model, X_new, y_new, n_bins=10, ax=ax, name="LSPC", color=color
    )
    ax.set_title(name)
plt.show()

# %%
# With single rows left out, the model believes that it hardly errs: it knows its patients by
# heart. On new patients it is as sure as before and wrong far more often. With patients left out
# it believes what is true, and because it was tuned for the right question, it is more accurate,
# too.
