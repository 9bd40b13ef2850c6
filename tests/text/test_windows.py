"""Which part of a text is read that is too long."""

import pytest

from stairs.text.windows import kept_positions, owned_spans, window_around, window_spans


@pytest.mark.parametrize(
    ("length", "rule", "head", "tail"),
    [(600, "head", 510, 0), (600, "tail", 0, 510), (800, "head+tail", 128, 382), (801, "head+tail", 256, 254), (10_000, "head+tail", 256, 254)],
)
def test_head_and_tail(length, rule, head, tail):
    assert kept_positions(length, 510, rule) == [*range(head), *range(length - tail, length)]


def test_other_contexts_scale_the_numbers():
    assert kept_positions(190, 126, "head+tail")[31:33] == [31, 96]  # 128 of 510, of 126 tokens
    assert len(kept_positions(190, 126, "head+tail")) == len(kept_positions(5000, 126, "head+tail")) == 126
    assert kept_positions(100, 126, "tail") == list(range(100))


@pytest.mark.parametrize("length", [1, 126, 127, 200, 1000])
def test_windows_reach_everything_and_each_token_belongs_to_one(length):
    spans, mine = window_spans(length, 126), owned_spans(length, 126)
    assert all(stop - start <= 126 for start, stop in spans)
    assert [position for start, stop in mine for position in range(start, stop)] == list(range(length))
    assert all(start <= a <= b <= stop for (start, stop), (a, b) in zip(spans, mine, strict=True))


def test_a_window_around_a_place():
    assert window_around([500], 1000, 100) == (450, 550)
    assert window_around([3], 1000, 100) == (0, 100) and window_around([999], 1000, 100) == (900, 1000) and window_around([2], 10, 100) == (0, 10)
