"""Devices that only tests have, registered as a third party would: `retrograd.backends.register`."""
