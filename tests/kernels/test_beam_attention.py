"""The attention of beam search gives the same bits in the process that compiles it and in one that finds it compiled."""

import os
import subprocess
import sys

PROGRAM = """
import hashlib
import numpy as np
from stairs.kernels.beam_attention import attend_ancestry, attend_source
dice, digest = np.random.default_rng(0), hashlib.sha256()
for width, heads in ((16, 2), (64, 4), (24, 3)):
    query, out = dice.normal(size=(3, 4, width)).astype(np.float32), np.empty((3, 4, width), np.float32)
    keys, values = (dice.normal(size=(3, 24, width)).astype(np.float32) for _ in range(2))
    attend_source(query, keys, values, np.array([24, 5, 7]), heads, out)
    digest.update(out.tobytes())
    attend_ancestry(query, keys, values, dice.integers(0, 4, (3, 4, 6)), heads, out)
    digest.update(out.tobytes())
print(digest.hexdigest(), sum(attend_source.stats.cache_hits.values()))
"""


def test_a_process_that_compiles_gives_the_same_bits(tmp_path):
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    runs = [subprocess.run([sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True, check=True) for _ in range(2)]
    (compiled, misses), (found, hits) = (run.stdout.split() for run in runs)
    assert (misses, hits) == ("0", "1")
    assert compiled == found
