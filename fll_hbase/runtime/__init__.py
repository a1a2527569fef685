"""Basics that every room uses: errors, settings, time, retries, metrics. They import nothing of ours."""
