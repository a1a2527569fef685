"""Do bytes sort as values do, parse one way only, and stand in docs/row-keys.md?"""
