"""HTTP without any lineage: paths, parameters, bodies, responses, problems and time budgets."""
