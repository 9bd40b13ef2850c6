"""The rows of vector files, from a block of bytes: as text, a word and its numbers on a line, or in binary, a word and its numbers in float32.

A kernel takes the whole rows of a block and says how far it came; what it cannot read is a fault with a number, which formats/ puts into words.
"""

import numpy as np
from numba import njit

FINE, SHORT, LONG, NO_NUMBER, NOT_FINITE, NO_WORD, ENDLESS = range(7)
SPACE, TAB, NEWLINE, RETURN = 32, 9, 10, 13
LONGEST_WORD = 1 << 12  # bytes
POWERS = 10.0 ** np.arange(309)
FLOAT32_LIMIT = float(np.finfo(np.float32).max) + 2.0**103  # what is smaller is rounded to a float32


@njit(nogil=True, cache=True)
def number_at(block, at, end):
    """A decimal number that fills block[at:end]: its value, and FINE or the fault."""
    sign, begin = 1.0, at
    if block[at] == 45 or block[at] == 43:  # - +
        sign = -1.0 if block[at] == 45 else 1.0
        at += 1
    digits, scale, seen = np.uint64(0), 0, 0
    point = False
    while at < end:
        c = block[at]
        if 48 <= c <= 57:
            seen += 1
            if digits < np.uint64(100_000_000_000_000_000):  # what follows is beyond any float32
                digits = digits * np.uint64(10) + np.uint64(c - 48)
                scale -= point
            else:
                scale += not point
        elif c == 46 and not point:  # .
            point = True
        else:
            break
        at += 1
    if seen == 0:
        first_letter = block[begin] | 32
        second_letter = block[min(begin + 1, end - 1)] | 32
        is_nan_or_inf = first_letter == 110 or first_letter == 105 or second_letter == 110 or second_letter == 105  # nan, inf, -nan, -inf
        return 0.0, NOT_FINITE if is_nan_or_inf and end - begin >= 3 else NO_NUMBER
    if at < end and (block[at] | 32) == 101:  # e
        at += 1
        minus = at < end and block[at] == 45
        at += at < end and (block[at] == 45 or block[at] == 43)
        power, begin = 0, at
        while at < end and 48 <= block[at] <= 57:
            power = min(power * 10 + block[at] - 48, 10_000)
            at += 1
        if at == begin:
            return 0.0, NO_NUMBER
        scale += -power if minus else power
    if at < end:
        return 0.0, NO_NUMBER
    value = sign * float(digits)
    if value != 0 and scale > 0:
        value = value * POWERS[min(scale, 308)]
    elif scale < 0:
        value = value / POWERS[-scale] if scale >= -308 else 0.0
    return value, FINE if abs(value) < FLOAT32_LIMIT else NOT_FINITE


@njit(nogil=True, cache=True)
def text_rows(block, width, values, bounds):
    """Rows of `width` numbers from whole lines: how many, the bytes used up, and the fault of the row that follows, if any.

    `values` (rows, width) and `bounds` (rows, 2), where each word begins and ends, are filled; blanks at the end of a line do not count."""
    row, at, size = 0, 0, len(block)
    while at < size and row < len(values):
        stop = at
        while stop < size and block[stop] != NEWLINE:
            stop += 1
        end = stop
        while end > at and (block[end - 1] == SPACE or block[end - 1] == TAB or block[end - 1] == RETURN):
            end -= 1
        word = at
        while word < end and block[word] != SPACE and block[word] != TAB:
            word += 1
        if word == at:
            return row, at, NO_WORD
        bounds[row, 0], bounds[row, 1] = at, word
        position, count, fault = word, 0, FINE
        while position < end:
            while position < end and (block[position] == SPACE or block[position] == TAB):
                position += 1
            begin = position
            while position < end and block[position] != SPACE and block[position] != TAB:
                position += 1
            if count < width and fault == FINE:
                value, fault = number_at(block, begin, position)
                values[row, count] = value
            count += 1
        if count != width:
            return row, at, LONG if count > width else SHORT
        if fault != FINE:
            return row, at, fault
        row += 1
        at = stop + 1
    return row, min(at, size), FINE


@njit(nogil=True, cache=True)
def binary_rows(block, width, values, bounds):
    """The same of a block in binary, in which the last row may be incomplete; a newline may separate rows."""
    row, at, size = 0, 0, len(block)
    raw = values.view(np.uint8)
    while at < size and row < len(values):
        begin = at
        while begin < size and block[begin] == NEWLINE:
            begin += 1
        word = begin
        while word < size and block[word] != SPACE and word - begin <= LONGEST_WORD:
            word += 1
        if word - begin > LONGEST_WORD:
            return row, at, ENDLESS
        if word + 1 + 4 * width > size:
            break
        if word == begin:
            return row, at, NO_WORD
        bounds[row, 0], bounds[row, 1] = begin, word
        for i in range(4 * width):
            raw[row, i] = block[word + 1 + i]
        for column in range(width):
            if not np.isfinite(values[row, column]):
                return row, at, NOT_FINITE
        row += 1
        at = word + 1 + 4 * width
    return row, at, FINE
