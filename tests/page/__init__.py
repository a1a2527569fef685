"""The page in a real browser, served by `fll serve`: `make tests-page`."""
