"""Basics for all packages: errors, settings, time, retries, metrics. They import no other package of ours."""
