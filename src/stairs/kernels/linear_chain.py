"""Linear-chain conditional random fields: forward-backward over a sentence, and training by AdaGrad over sparse features.

The features of all words lie in one array; those of word t are `features[words[t]:words[t + 1]]`, and the words of sentence s are
`sentences[s]:sentences[s + 1]`. Potentials are exponentials, scaled at every word, so that no logarithm is taken inside a loop.
`tasks/crf_tagger.py` has the equations; `tests/kernels/test_linear_chain.py` compares both functions with an enumeration of all sequences.
"""

import numpy as np
from numba import njit

TINY = 1e-300


@njit(nogil=True, cache=True)
def score_words(words, features, weights, first, last):
    """(words, labels): the sum of the weights of each word's features."""
    scores = np.zeros((last - first, weights.shape[1]))
    for word in range(first, last):
        for place in range(words[word], words[word + 1]):
            feature = features[place]
            for label in range(weights.shape[1]):
                scores[word - first, label] += weights[feature, label]
    return scores


@njit(nogil=True, cache=True)
def forward_backward(scores, transitions, pairs):
    """log Z and the marginals P(label of word t), (T, labels). Adds the expected number of each transition to `pairs`, (labels + 1, labels); the last
    row of `transitions` and `pairs` is the beginning of the sentence."""
    length, labels = scores.shape
    emissions, factors = np.empty((length, labels)), np.exp(transitions)
    forward, backward, scales = np.zeros((length, labels)), np.ones((length, labels)), np.empty(length)
    log_partition = 0.0
    for t in range(length):
        highest = scores[t].max()
        log_partition += highest
        emissions[t] = np.exp(scores[t] - highest)
        for label in range(labels):
            reached = factors[labels, label]
            if t > 0:
                reached = 0.0
                for before in range(labels):
                    reached += forward[t - 1, before] * factors[before, label]
            forward[t, label] = reached * emissions[t, label]
        scales[t] = forward[t].sum() + TINY
        forward[t] /= scales[t]
        log_partition += np.log(scales[t])
    for t in range(length - 2, -1, -1):
        for label in range(labels):
            backward[t, label] = 0.0
            for after in range(labels):
                share = factors[label, after] * emissions[t + 1, after] * backward[t + 1, after] / scales[t + 1]
                backward[t, label] += share
                pairs[label, after] += forward[t, label] * share
    marginals = forward * backward
    pairs[labels] += marginals[0]
    return log_partition, marginals


@njit(nogil=True, cache=True)
def train_epoch(order, sentences, words, features, tags, counts, weights, transitions, squares, transition_squares, is_allowed, rate, penalty):
    """One pass of AdaGrad, an update after each sentence; the loss summed over the sentences. `counts` says how often each feature occurs: each time
    it bears that share of its penalty."""
    labels, total = weights.shape[1], 0.0
    for sentence in order:
        first, last = sentences[sentence], sentences[sentence + 1]
        scores = score_words(words, features, weights, first, last)
        pairs = np.zeros((labels + 1, labels))
        loss, residuals = forward_backward(scores, transitions, pairs)
        before = labels
        for word in range(first, last):
            tag = tags[word]
            loss -= scores[word - first, tag] + transitions[before, tag]
            residuals[word - first, tag] -= 1.0
            pairs[before, tag] -= 1.0
            before = tag
        total += loss
        for word in range(first, last):
            for place in range(words[word], words[word + 1]):
                feature = features[place]
                share = penalty / counts[feature]
                for label in range(labels):
                    gradient = residuals[word - first, label] + share * weights[feature, label]
                    squares[feature, label] += gradient * gradient
                    weights[feature, label] -= rate * gradient / np.sqrt(squares[feature, label])
        share = penalty / len(order)
        for row in range(labels + 1):
            for column in range(labels):
                if is_allowed[row, column]:
                    gradient = pairs[row, column] + share * transitions[row, column]
                    transition_squares[row, column] += gradient * gradient
                    transitions[row, column] -= rate * gradient / np.sqrt(transition_squares[row, column])
    return total
