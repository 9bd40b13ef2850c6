"""What a training takes: peak memory, whatever ran before it, and CPU time, however often it is resumed."""

import itertools
import time

import numpy as np
import pytest

from stairs import peak_memory
from stairs.peak_memory import PeakMemory, status_megabytes

measurable = pytest.mark.skipif(status_megabytes("VmRSS") is None, reason="this system does not report the memory of a process")


def touch(megabytes):
    return np.ones(megabytes * 125_000).sum()


@measurable
@pytest.mark.parametrize("kernel_counts", [True, False])
def test_the_peak_of_work_that_releases_its_memory(monkeypatch, kernel_counts):
    if not kernel_counts:
        monkeypatch.setattr(peak_memory, "reset_peak", lambda: False)
    peaks = []
    for megabytes in (200, 40):  # the second could hide below the peak of the first
        with PeakMemory() as peak:
            for _ in range(3):
                touch(megabytes)
        peaks.append(peak.megabytes)
    assert peaks[0] == pytest.approx(200, abs=25) and peaks[1] == pytest.approx(40, abs=15)


def test_where_only_the_peak_of_the_process_is_known_smaller_work_has_no_number(monkeypatch):
    monkeypatch.setattr(peak_memory, "status_megabytes", lambda name: None)
    levels = iter([100.0, 100.0, 100.0, 150.0, 150.0])
    monkeypatch.setattr(peak_memory, "process_peak", lambda: next(levels))
    with PeakMemory() as smaller:
        pass
    with PeakMemory() as larger:
        pass
    assert smaller.megabytes is None and larger.megabytes == 50.0


def test_cpu_seconds_of_a_resumed_training_add_up(train, monkeypatch):
    monkeypatch.setattr(time, "process_time", itertools.count(0, 10).__next__)  # ten seconds between two readings
    first, second = (train("gpt", steps=steps)["cpu_seconds"] for steps in (4, 8))
    assert first > 0 and second > 1.5 * first
