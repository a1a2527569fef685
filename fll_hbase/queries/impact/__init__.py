"""Impact of a change before it is merged: what it changes, and what is downstream in the recorded runs."""

PATH = "/v3/impact"
"""The path of impact: a POST that changes nothing."""
