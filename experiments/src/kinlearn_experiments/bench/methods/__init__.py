"""Methods of the suites: ours and their rivals, each tuned by its own best practice."""
