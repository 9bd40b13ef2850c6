"""Lookups in the n-gram trie. Nodes are ordered by length, then context, then last word, so that the continuations of a node are
the neighbours `first[node] : first[node + 1]`, ascending by word. The node of a single word is the word's own id; -1 is the empty context.

words[node], log10s[node], suffixes[node] (the node without its first word) exist for all; backoffs and first for all but the longest.
"""

import numpy as np
from numba import njit, prange


@njit(nogil=True, cache=True)
def find(words, low, high, word):
    """The index of `word` in the ascending `words[low:high]`, or -1."""
    end = high
    while low < high:
        middle = (low + high) >> 1
        if words[middle] < word:
            low = middle + 1
        else:
            high = middle
    return low if low < end and words[low] == word else -1


@njit(nogil=True, cache=True)
def step(words, log10s, suffixes, backoffs, first, context, word):
    """log10 P(word | context), the node that supplied it, and the context of the next word."""
    backoff = 0.0
    node = context
    while node >= 0:
        if first[node] < first[node + 1]:
            child = find(words, first[node], first[node + 1], word)
            if child >= 0:
                return backoff + log10s[child], child, child if child < len(backoffs) else suffixes[child]
        backoff += backoffs[node]
        node = suffixes[node]
    return backoff + log10s[word], np.int64(word), np.int64(word) if word < len(backoffs) else np.int64(-1)


@njit(nogil=True, cache=True, parallel=True)
def score(words, log10s, suffixes, backoffs, first, ids, targets, ignore, scores, nodes):
    """log10 P(targets[row, i] | ids[row, : i + 1]) and the node that supplied it, for every target that is not `ignore`."""
    for row in prange(len(ids)):
        context = np.int64(-1)
        has_context = False  # the target before was the id that follows, so its context is already there
        for i in range(ids.shape[1]):
            if targets[row, i] == ignore and not targets[row, i:].max() > ignore:
                break
            if not has_context:
                _, _, context = step(words, log10s, suffixes, backoffs, first, context, ids[row, i])
            has_context = False
            if targets[row, i] != ignore:
                scores[row, i], nodes[row, i], after = step(words, log10s, suffixes, backoffs, first, context, targets[row, i])
                if i + 1 < ids.shape[1] and ids[row, i + 1] == targets[row, i]:
                    context, has_context = after, True


@njit(nogil=True, cache=True)
def distribution(words, log10s, suffixes, backoffs, first, vocab_size, context, probabilities, nodes):
    """P(word | context) of every word, and the node that supplied each: the shorter contexts first, the longer ones overwrite."""
    chain = np.empty(64, np.int64)
    length = 0
    node = context
    while node >= 0:
        chain[length] = node
        length += 1
        node = suffixes[node]
    for word in range(vocab_size):
        probabilities[word] = 10.0 ** log10s[word]
        nodes[word] = word
    for i in range(length - 1, -1, -1):
        node = chain[i]
        backoff_weight = 10.0 ** backoffs[node]
        if backoff_weight != 1.0:
            for word in range(vocab_size):
                probabilities[word] *= backoff_weight
        for child in range(first[node], first[node + 1]):
            probabilities[words[child]] = 10.0 ** log10s[child]
            nodes[words[child]] = child


@njit(nogil=True, cache=True)
def find_contexts(words, first, grams):
    """The node of all but the last word of each row of `grams`, or -1; `first` may still lack the longest order."""
    nodes = np.empty(len(grams), np.int32)
    for row in range(len(grams)):
        node = np.int64(grams[row, 0])
        for column in range(1, grams.shape[1] - 1):
            high = first[node + 1] if node + 1 < len(first) else len(words)
            node = find(words, first[node], high, grams[row, column])
            if node < 0:
                break
        nodes[row] = node
    return nodes


@njit(nogil=True, cache=True)
def find_suffixes(words, first, suffixes, contexts, last):
    """The longest known suffix of each n-gram, given by its context and last word."""
    links = np.empty(len(last), np.int32)
    for i in range(len(last)):
        node = np.int64(suffixes[contexts[i]])
        links[i] = last[i]
        while node >= 0:
            high = first[node + 1] if node + 1 < len(first) else len(words)
            child = find(words, first[node], high, last[i])
            if child >= 0:
                links[i] = child
                break
            node = suffixes[node]
    return links
