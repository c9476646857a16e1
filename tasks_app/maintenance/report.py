"""What one pass of maintenance did: counts per kind, and what could not be repaired."""

from collections import Counter
from dataclasses import dataclass, field


@dataclass(slots=True)
class Report:
    """Counts by kind of repair; ``troubles`` are sentences about what could not be repaired."""

    counts: Counter[str] = field(default_factory=Counter)
    troubles: list[str] = field(default_factory=list)

    def add(self, kind: str, number: int = 1) -> None:
        """Count repairs of one kind."""
        self.counts[kind] += number

    def lines(self) -> list[str]:
        """Return one line per kind, then one per trouble."""
        return [f"{kind}: {number}" for kind, number in sorted(self.counts.items())] + [
            f"could not repair: {trouble}" for trouble in self.troubles
        ]
