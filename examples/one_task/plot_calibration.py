"""
Calibration, before and after
=============================

Is a case that is predicted with 80 % confidence right 80 % of the time? Rounded least-squares
scores are not: they order the classes well but state the wrong confidence. kinlearn corrects this
by one number, fitted on leave-one-out scores of the very same fit. No rows are held back for it.
This example shows the reliability of both, on rows that neither has seen.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split

from kinlearn import LSPC
from kinlearn.metrics import expected_calibration_error
from kinlearn.plots import PALETTE, ReliabilityDisplay, subplots

# %%
# Handwritten digits, 200 labels to train on and all others to test on.

X, y = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(
    X / 16, y, train_size=200, random_state=0, stratify=y
)

# %%
# The two models have the same coefficients. Only the rule from scores to probabilities differs.

before = LSPC(posterior="rounded").fit(X_train, y_train)
after = LSPC(posterior="calibrated").fit(X_train, y_train)
print("same coefficients:", (before.coef_ == after.coef_).all())

figure, axes = subplots(1, 2, panel_size=(3.9, 4.4))
for ax, color, (name, model) in zip(
    axes[0],
    (PALETTE[1], PALETTE[0]),
    {"before: rounded scores": before, "after: calibrated": after}.items(),
    strict=True,
):
    ReliabilityDisplay.from_estimator(
        model, X_test, y_test, n_bins=10, ax=ax, name="LSPC", color=color
    )
    ax.set_title(name)
plt.show()

# %%
# In figures:

for name, model in {"before": before, "after": after}.items():
    proba = model.predict_proba(X_test)
    print(
        f"{name:7} accuracy {model.score(X_test, y_test):.3f}"
        f"  calibration error {expected_calibration_error(y_test, proba, n_bins=10):.3f}"
        f"  log-loss {log_loss(y_test, proba):.3f}"
    )
print(f"the one number: beta = {after.beta_:.1f}")

# %%
# The answers are the same, and so is the accuracy; what changed is what is said about them.
# Rounded scores are far too modest: cases given 60 % are nearly always right. After calibration
# the stated confidence is close to the share of right answers, and the log-loss, which punishes
# wrong confidence of either kind, is less than half.
