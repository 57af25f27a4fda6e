"""What part a data set has played: was a default chosen on it, or is it kept to check with?"""

from __future__ import annotations

HELD_OUT = "held-out"
CHOSEN_ON = "chosen-on"
DEVELOPMENT = "development"
# In the order they are shown: what nothing was chosen on comes first.
ROLES = {
    HELD_OUT: "held-out tables",
    CHOSEN_ON: "tables to choose by",
    DEVELOPMENT: "development sets",
}
MEANING = {
    HELD_OUT: "These tables are for checking: of our defaults, the kernels and the metric alone "
    "were chosen with them in sight.",
    CHOSEN_ON: "Defaults may be chosen on these tables; the held-out ones are of the same kind.",
    DEVELOPMENT: "Defaults of ours were chosen on sets among these.",
}
