"""Lines of the report: one figure each, with its target."""

from __future__ import annotations


def print_figure(label: str, value: float, unit: str, *, target: str = "") -> None:
    """Print one line: the label, the value with three decimals, the unit, and the target if there is one."""
    suffix = f"(target: {target})" if target else ""
    print(f"{label:66} {value:>12,.3f} {unit:7} {suffix}".rstrip(), flush=True)
