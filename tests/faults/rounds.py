"""`make faults`: the suite many times in a row, in its long form, with a table at the end.

FAULTS_ROUNDS: how many (10). What follows the command goes to pytest: `-k storage`.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from pathlib import Path

from tests.faults.report import COLUMNS, REPORT

LONG = {"DARKROOM_FAULTS_RACES": "1000", "DARKROOM_FAULTS_ROLLING": "20x60"}


def main() -> int:
    """Run the rounds; 1 if anything failed in any of them."""
    rounds = int(os.environ.get("FAULTS_ROUNDS", "10"))
    results: defaultdict[str, Counter[str]] = defaultdict(Counter)
    scenarios: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for number in range(1, rounds + 1):
        print(f"--- round {number} of {rounds}", flush=True)
        for line in _round(sys.argv[1:]):
            if "test" in line:
                results[str(line["test"])][str(line["outcome"])] += 1
            else:
                scenarios[str(line["scenario"])].update(
                    {name: int(line[name]) for name in COLUMNS} | {"rounds": 1}
                )
    _show(results, scenarios)
    failed = sum(count["failed"] for count in results.values())
    return 1 if failed or not results else 0


def _round(arguments: list[str]) -> list[dict[str, str | int]]:
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report"
        report.touch()
        subprocess.run(
            [sys.executable, "-m", "pytest", "tests/faults", "-q", *arguments],
            env={**LONG, **os.environ, REPORT: str(report)},
            check=False,
        )
        return [json.loads(line) for line in report.read_text().splitlines()]


def _show(results: dict[str, Counter[str]], scenarios: dict[str, Counter[str]]) -> None:
    print("\npassed failed  test")
    for name, count in sorted(results.items()):
        print(f"{count['passed']:6} {count['failed']:6}  {name}")
    titles = ("rounds", *COLUMNS)
    print("\n" + " ".join(f"{title:>8}" for title in titles) + "  scenario")
    for name, count in sorted(scenarios.items()):
        print(" ".join(f"{count[title]:8}" for title in titles) + f"  {name}")


if __name__ == "__main__":
    sys.exit(main())
