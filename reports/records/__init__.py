"""The typed records that `report.json` holds, and what is computed from them alone."""
