"""What tries to break retrograd: each part is bounded and seeded, and prints what it finds as a small program.

`make fuzz` runs all parts, `make fuzz PART=programs COUNT=20000 SEED=1` one of them;
`test_fuzz.py` runs a little of each.
"""
