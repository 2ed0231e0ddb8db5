"""`python -m condensation_audit` is `audit`."""

from condensation_audit import _audit

if __name__ == "__main__":
    _audit()
    from audit.cli import main

    main()
