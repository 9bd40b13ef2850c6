"""Splitting UTF-8 text into pre-tokens and numbering the distinct ones: the inner loop of every tokenizer.

The text is bytes in which SENTENCE_END and DOCUMENT_END, which no UTF-8 text holds, close sentences and documents. Each code point has a
class (`classes`, one byte per code point), and one of four rules says where a pre-token that starts here ends:

ISOLATE     runs of letters; an isolated character by itself; spaces dropped            (BERT)
CHARACTERS  every character by itself
GPT2        's|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+    (Radford 2019)
METASPACE   a pre-token begins at every space and keeps it                              (SentencePiece)

A rule looks only ahead, so splitting can stop at any pre-token and continue there when the table has grown.
The table is open addressing: a slot holds (upper half of the hash, number); `starts` and `spellings` hold the bytes of each number.
"""

import numpy as np
from numba import njit

SENTENCE_END, DOCUMENT_END = 0xFF, 0xFE  # bytes between the sentences of a document and after its last one
SENTENCE, DOCUMENT = -1, -2  # their numbers
ISOLATE, CHARACTERS, GPT2, METASPACE = 0, 1, 2, 3
UNSEEN, LETTER, SPACE, ISOLATED, DIGIT = 0, 1, 2, 3, 4  # ISOLATED is "other" to GPT2

PRIME = np.uint64(0x9E3779B97F4A7C15)
FIVE = np.uint64(5)
FAR = np.uint64(59)
HALF = np.uint64(32)
LOW = np.uint64(0xFFFFFFFF)


@njit(cache=True, nogil=True, inline="always")
def code_point(text, at):
    """The code point that starts at `at`, and how many bytes it has; the text is valid UTF-8."""
    lead = np.int64(text[at])
    if lead < 0x80:
        return lead, 1
    if lead < 0xE0:
        return (lead & 0x1F) << 6 | (np.int64(text[at + 1]) & 0x3F), 2
    if lead < 0xF0:
        return (lead & 0x0F) << 12 | (np.int64(text[at + 1]) & 0x3F) << 6 | (np.int64(text[at + 2]) & 0x3F), 3
    high = (lead & 0x07) << 18 | (np.int64(text[at + 1]) & 0x3F) << 12
    return high | (np.int64(text[at + 2]) & 0x3F) << 6 | (np.int64(text[at + 3]) & 0x3F), 4


@njit(cache=True, nogil=True)
def unseen_code_points(text, classes, found):
    """Write the code points that have no class yet into `found`, marking each; return how many, at most as many as fit."""
    count, at, size = 0, 0, text.shape[0]
    while at < size and count < found.shape[0]:
        if text[at] < 0x80 or text[at] >= DOCUMENT_END:
            at += 1
            continue
        point, width = code_point(text, at)
        if classes[point] == UNSEEN:
            classes[point] = LETTER
            found[count] = point
            count += 1
        at += width
    return count


@njit(cache=True, nogil=True)
def run_end(text, at, kind, classes):
    """Where the run of characters of class `kind` that starts at `at` ends."""
    size = text.shape[0]
    while at < size:
        byte = text[at]
        if byte < 0x80:
            if classes[byte] != kind:
                return at
            at += 1
        elif byte >= DOCUMENT_END:
            return at
        else:
            point, width = code_point(text, at)
            if classes[point] != kind:
                return at
            at += width
    return at


@njit(cache=True, nogil=True)
def gpt2_end(text, at, classes):
    """Where the GPT-2 pre-token that starts at `at` ends."""
    size = text.shape[0]
    point, width = code_point(text, at)
    kind = classes[point]
    if point == 39 and at + 1 < size:  # the apostrophe of 's 't 'm 'd 're 've 'll
        after = text[at + 1]
        if after == 115 or after == 116 or after == 109 or after == 100:
            return at + 2
        if at + 2 < size:
            last = text[at + 2]
            if (last == 101 and (after == 114 or after == 118)) or (last == 108 and after == 108):
                return at + 3
    if kind != SPACE:
        return run_end(text, at + width, kind, classes)
    following = at + width
    if point == 32 and following < size and text[following] < DOCUMENT_END:
        point, width = code_point(text, following)
        kind = classes[point]
        if kind != SPACE:
            return run_end(text, following + width, kind, classes)
    end, last = at, at
    while end < size and text[end] < DOCUMENT_END:
        point, width = code_point(text, end)
        if classes[point] != SPACE:
            return last if last > at else end  # the last space is left to the word that follows
        last = end
        end += width
    return end


@njit(cache=True, nogil=True)
def metaspace_end(text, at, classes):
    """Where the pre-token that starts at `at` ends: before the next space."""
    at += code_point(text, at)[1]
    while at < text.shape[0] and text[at] < DOCUMENT_END:
        point, width = code_point(text, at)
        if classes[point] == SPACE:
            break
        at += width
    return at


@njit(cache=True, nogil=True)
def spelled_alike(text, start, end, spellings, other):
    for at in range(end - start):  # noqa: SIM110  numba does not compile all()
        if text[start + at] != spellings[other + at]:
            return False
    return True


@njit(cache=True, nogil=True)
def number_pretokens(text, position, rule, classes, slots, starts, spellings, distinct, numbers):
    """Number the pre-tokens of `text` from `position` on; return (where it stopped, how many numbers, how many distinct).

    It stops at the end of the text, or at a pre-token for which the table, `starts`, `spellings` or `numbers` has no room.
    """
    size, filled, mask = text.shape[0], 0, np.uint64(slots.shape[0] - 1)
    limit = min(slots.shape[0] // 2, starts.shape[0] - 1)
    at = position
    while at < size and filled < numbers.shape[0]:
        if text[at] >= DOCUMENT_END:
            numbers[filled] = SENTENCE if text[at] == SENTENCE_END else DOCUMENT
            filled += 1
            at += 1
            continue
        if rule == GPT2:
            end = gpt2_end(text, at, classes)
        elif rule == METASPACE:
            end = metaspace_end(text, at, classes)
        else:
            point, width = code_point(text, at)
            end = at + width
            if rule == ISOLATE:
                kind = classes[point]
                if kind == SPACE:
                    at = end
                    continue
                if kind == LETTER:
                    end = run_end(text, end, LETTER, classes)
        hash_value = np.uint64(end - at)
        for byte in range(at, end):
            hash_value = ((hash_value << FIVE | hash_value >> FAR) ^ np.uint64(text[byte])) * PRIME
        hash_value ^= hash_value >> HALF
        tag, slot = hash_value >> HALF, hash_value & mask
        number = np.int64(-1)
        while slots[slot] != 0:
            entry = slots[slot]
            if entry >> HALF == tag:
                candidate = np.int64(entry & LOW) - 1
                start = starts[candidate]
                if starts[candidate + 1] - start == end - at and spelled_alike(text, at, end, spellings, start):
                    number = candidate
                    break
            slot = (slot + np.uint64(1)) & mask
        if number < 0:
            start = starts[distinct]
            if distinct >= limit or start + end - at > spellings.shape[0]:
                break
            number = np.int64(distinct)
            slots[slot] = tag << HALF | np.uint64(number + 1)
            for byte in range(end - at):
                spellings[start + byte] = text[at + byte]
            distinct += 1
            starts[distinct] = start + end - at
        numbers[filled] = number
        filled += 1
        at = end
    return at, filled, distinct


@njit(cache=True, nogil=True)
def rehash(slots, starts, spellings, distinct):
    """Fill the empty table `slots` with the numbers there are."""
    mask = np.uint64(slots.shape[0] - 1)
    for number in range(distinct):
        hash_value = np.uint64(starts[number + 1] - starts[number])
        for byte in range(starts[number], starts[number + 1]):
            hash_value = ((hash_value << FIVE | hash_value >> FAR) ^ np.uint64(spellings[byte])) * PRIME
        hash_value ^= hash_value >> HALF
        slot = hash_value & mask
        while slots[slot] != 0:
            slot = (slot + np.uint64(1)) & mask
        slots[slot] = hash_value >> HALF << HALF | np.uint64(number + 1)


@njit(cache=True, nogil=True)
def count_numbers(numbers, counts, order, seen):
    """Add the numbers to `counts`, and each one that is new to `order`, which holds `seen` of them; return how many it holds now."""
    for number in numbers:
        if number >= 0:
            if counts[number] == 0:
                order[seen] = number
                seen += 1
            counts[number] += 1
    return seen


@njit(cache=True, nogil=True)
def spliced_size(numbers, offsets):
    """How many ids the numbers become: a number is ids[offsets[n]:offsets[n + 1]], an end mark one id."""
    total = 0
    for number in numbers:
        total += offsets[number + 1] - offsets[number] if number >= 0 else 1
    return total


@njit(cache=True, nogil=True)
def splice(numbers, offsets, ids, end, begin, out):
    """Write the ids of the numbers into `out`, `end` for the end of a sentence, and for that of a document `begin`, which begins the next."""
    filled = 0
    for number in numbers:
        if number < 0:
            out[filled] = end if number == SENTENCE else begin
            filled += 1
        else:
            for at in range(offsets[number], offsets[number + 1]):
                out[filled] = ids[at]
                filled += 1


@njit(cache=True, nogil=True)
def unknown_totals(numbers, unknown, bits):
    """How many unknown words the numbers hold, and the bits it takes to spell them."""
    words, total = 0, 0.0
    for number in numbers:
        if number >= 0 and unknown[number] > 0:
            words += unknown[number]
            total += bits[number]
    return words, total
