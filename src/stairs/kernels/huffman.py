"""The Huffman tree of a vocabulary: frequent words have short paths from the root."""

import numpy as np
from numba import njit


@njit(nogil=True, cache=True)
def huffman_paths(counts, order):
    """The path from the root to each word: where it starts, its nodes, and the code at each node, 1 towards the rarer side, as in word2vec.c.

    `order` lists the words that are leaves, rarest first. Inner nodes are numbered from 0; the root is the last.
    """
    leaves = len(order)
    weight = np.zeros(2 * leaves, np.int64)
    for i in range(leaves):
        weight[i] = counts[order[i]]
    parent = np.zeros(2 * leaves, np.int64)
    rarer = np.zeros(2 * leaves, np.bool_)  # of the two children of a node
    leaf, inner = 0, leaves  # the rarest leaf and the rarest inner node that have no parent yet
    for node in range(leaves, 2 * leaves - 1):
        for side in range(2):
            if leaf < leaves and (inner >= node or weight[leaf] <= weight[inner]):
                child = leaf
                leaf += 1
            else:
                child = inner
                inner += 1
            weight[node] += weight[child]
            parent[child] = node
            rarer[child] = side == 0
    root = 2 * leaves - 2
    starts = np.zeros(len(counts) + 1, np.int64)
    for i in range(leaves):
        node = i
        while node != root:
            starts[order[i] + 1] += 1
            node = parent[node]
    for word in range(len(counts)):
        starts[word + 1] += starts[word]
    nodes = np.empty(starts[-1], np.int32)
    codes = np.empty(starts[-1], np.float32)
    for i in range(leaves):
        node, at = i, starts[order[i] + 1]
        while node != root:
            at -= 1
            nodes[at] = parent[node] - leaves
            codes[at] = rarer[node]
            node = parent[node]
    return starts, nodes, codes
