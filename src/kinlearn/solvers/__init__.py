"""Pure solvers: functions on arrays, no estimators, no data frames."""
