"""Impact of a change before it is merged: what it changes, and what is downstream in the recorded runs."""
