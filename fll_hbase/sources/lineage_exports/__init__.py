"""Exports of other lineage systems, converted to OpenLineage events.

An event keeps the times and ids that the other system has, so converting an export again gives the same
events. docs/record/moving-in.md says what each system cannot tell.
"""
