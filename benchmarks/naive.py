"""The loop that one would write first: every line of LOG against every pattern of the same rules, with `re.search`.

naive.py LOG        prints how many lines matched
"""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

RULES = Path(__file__).parent.parent / "rules"


def patterns() -> tuple[list[re.Pattern[str]], list[re.Pattern[str]]]:
    """The headers and the rules of SGLang, and the general ones."""
    files = [path for folder in ("sglang", "common") for path in sorted((RULES / folder).glob("*.toml"))]
    documents = [tomllib.loads(path.read_text("utf-8")) for path in files]
    headers = [re.compile(header["pattern"]) for document in documents for header in document.get("header", [])]
    return headers, [re.compile(rule["pattern"]) for document in documents for rule in document.get("rule", [])]


def matches(log: Path) -> int:
    headers, rules = patterns()
    count = 0
    with log.open(encoding="utf-8", errors="replace") as lines:
        for line in lines:
            header = next(filter(None, (pattern.search(line) for pattern in headers)), None)
            message = line[header.end() :] if header else line
            count += any(pattern.search(message) for pattern in rules)
    return count


if __name__ == "__main__":
    print(matches(Path(sys.argv[1])))
