"""Edit distance of words: characters substituted, deleted, inserted or transposed with their neighbour (Damerau 1964)."""

import numpy as np
from numba import njit

FAR = 1 << 20


@njit(nogil=True, cache=True)
def edit_distances(characters, starts, word, limit):
    """Of each of the words characters[starts[i]:starts[i + 1]] from `word`, all as code points; FAR where it exceeds `limit`."""
    length = len(word)
    result = np.full(len(starts) - 1, FAR, np.int32)
    two_above, above, row = np.empty(length + 1, np.int32), np.empty(length + 1, np.int32), np.empty(length + 1, np.int32)
    for i in range(len(result)):
        begin, size = starts[i], starts[i + 1] - starts[i]
        if abs(size - length) > limit:
            continue
        for j in range(length + 1):
            above[j] = j
        for k in range(size):
            row[0] = least = k + 1
            for j in range(length):
                same = characters[begin + k] == word[j]
                row[j + 1] = min(min(row[j], above[j + 1]) + 1, above[j] + (not same))
                if k and j and characters[begin + k] == word[j - 1] and characters[begin + k - 1] == word[j]:
                    row[j + 1] = min(row[j + 1], two_above[j - 1] + 1)
                least = min(least, row[j + 1])
            if least > limit:
                break
            two_above, above, row = above, row, two_above
        else:
            if above[length] <= limit:
                result[i] = above[length]
    return result
