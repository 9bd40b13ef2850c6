"""How often labelled examples are gone over: as often as is usual where they are many, more often where they are few.

Weights are moved by updates, and a few epochs over few examples are too few of them; early stopping on validation examples ends what needs fewer.
"""

MIN_UPDATES = 200  # 500 tagged sentences and MiniLM: accuracy 0.772 after 45 updates, 0.921 after 150, 0.932 after 300, 0.929 after 345


def epochs_for_updates(updates: int, default: float = 3.0, minimum: int = MIN_UPDATES) -> float:
    """Epochs over examples that make so many updates each."""
    return max(default, round(minimum / max(updates, 1), 1))
