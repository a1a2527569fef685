"""Reports for people who answer for data: about a field, a policy, or the difference of two windows."""
