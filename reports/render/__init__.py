"""Documents on paper and on the screen: these modules know blocks, not audits."""
