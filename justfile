# Everything that CI runs, in a fresh environment
default:
    bash .ci/run

# Lint and test in the environment you have
check: lint test

lint:
    bash .ci/lint

test *args:
    pytest {{args}}

# Rewrite the expectations of the sample logs: read the diff before you commit it
accept:
    pytest --accept tests/test_samples.py

# Compare with ripgrep, wc and a plain loop; writes docs/performance.md
bench *args:
    python benchmarks/speed.py --date "$(date +%F)" {{args}}

# Branch coverage of the core
coverage:
    coverage run -m pytest
    coverage report

# Do the pages say what is so?
docs:
    pytest tests/test_docs.py

wheel:
    python -m build
