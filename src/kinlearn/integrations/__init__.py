"""Models as other tools take them; each module needs the tool it is named after."""
