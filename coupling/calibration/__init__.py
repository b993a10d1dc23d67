"""Calibration: how jobs communicate, from what ports counted or from repeated runs."""
