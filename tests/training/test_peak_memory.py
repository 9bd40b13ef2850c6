"""What a training takes: peak memory, whatever came before it, and CPU time, in however many parts."""

import itertools
import time

import numpy as np
import pytest

from stairs.training import peak_memory
from stairs.training.peak_memory import PeakMemory, status_megabytes

told = pytest.mark.skipif(status_megabytes("VmRSS") is None, reason="this system does not tell the memory of a process")


def touch(megabytes):
    return np.ones(megabytes * 125_000).sum()


@told
@pytest.mark.parametrize("kernel_counts", [True, False])
def test_the_peak_of_work_that_gives_its_memory_back(monkeypatch, kernel_counts):
    if not kernel_counts:
        monkeypatch.setattr(peak_memory, "reset_peak", lambda: False)
    found = []
    for megabytes in (200, 40):  # the second could hide below the peak of the first
        with PeakMemory() as peak:
            for _ in range(3):
                touch(megabytes)
        found.append(peak.megabytes)
    assert found[0] == pytest.approx(200, abs=25) and found[1] == pytest.approx(40, abs=15)


def test_where_only_the_peak_of_the_process_is_known_smaller_work_has_no_number(monkeypatch):
    monkeypatch.setattr(peak_memory, "status_megabytes", lambda name: None)
    levels = iter([100.0, 100.0, 100.0, 150.0, 150.0])
    monkeypatch.setattr(peak_memory, "process_peak", lambda: next(levels))
    with PeakMemory() as nothing:
        pass
    with PeakMemory() as more:
        pass
    assert nothing.megabytes is None and more.megabytes == 50.0


def test_cpu_seconds_of_a_training_that_is_continued_add_up(train, monkeypatch):
    monkeypatch.setattr(time, "process_time", itertools.count(0, 10).__next__)  # ten seconds from one look at the clock to the next
    first, second = (train("gpt", steps=steps)["cpu_seconds"] for steps in (4, 8))
    assert first > 0 and second > 1.5 * first
