"""A product of unsigned and signed bytes for processors with AVX2 and without VNNI, where the library's is slower than float32 for a few rows.

The weights stand in panels of sixteen outputs: four bytes of each, then the next four. A tile of four rows and one panel stays in eight registers:
VPMADDUBSW multiplies four bytes of a row with those of eight outputs and adds them in pairs, in 16 bits, VPMADDWD adds the pairs in 32. No pair of
weights of one sign may exceed 128 together (see `fast/int8_matmul.py`), or the first would saturate. Exact: tests/fast/test_int8_matmul.py.
"""

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.core import cgutils
from numba.extending import intrinsic, models, register_model

OUTPUTS, LANES, BYTES = 16, 8, 4  # of a panel, of a register, of a word
ROWS = 4  # of a tile
TOGETHER = 64  # rows that are multiplied with all panels before the next ones, so that they stay in the cache
WORD = ir.IntType(32)
WORDS = ir.VectorType(WORD, LANES)
HALVES = ir.VectorType(ir.IntType(16), 2 * LANES)
SINGLES = ir.VectorType(ir.IntType(8), 4 * LANES)
FLOATS = ir.VectorType(ir.FloatType(), LANES)


class WordsType(types.Type):
    def __init__(self):
        super().__init__("Words")


words = WordsType()


@register_model(WordsType)
class WordsModel(models.PrimitiveModel):
    def __init__(self, manager, kind):
        super().__init__(manager, kind, WORDS)


def address(context, builder, kind, array, position, as_kind):
    data = context.make_array(kind)(context, builder, array).data
    return builder.bitcast(builder.gep(data, [position], inbounds=True), as_kind.as_pointer())


@intrinsic
def load(typing, array, position):
    """Eight words of a flat array of int32."""

    def code(context, builder, signature, values):
        return builder.load(address(context, builder, signature.args[0], values[0], values[1], WORDS), align=4)

    return words(array, types.intp), code


@intrinsic
def broadcast(typing, number):
    """One word in every lane."""

    def code(context, builder, signature, values):
        first = builder.insert_element(ir.Constant(WORDS, ir.Undefined), values[0], WORD(0))
        return builder.shuffle_vector(first, first, ir.Constant(WORDS, [0] * LANES))

    return words(types.int32), code


@intrinsic
def broadcast_from(typing, array, position):
    """The word at a position of a flat array in every lane, without the check of a Python index for negative numbers."""

    def code(context, builder, signature, values):
        word = builder.load(address(context, builder, signature.args[0], values[0], values[1], WORD), align=4)
        first = builder.insert_element(ir.Constant(WORDS, ir.Undefined), word, WORD(0))
        return builder.shuffle_vector(first, first, ir.Constant(WORDS, [0] * LANES))

    return words(array, types.intp), code


@intrinsic
def subtract(typing, some, others):
    return words(words, words), lambda context, builder, signature, values: builder.sub(*values)


@intrinsic
def multiply(typing, some, others):
    return words(words, words), lambda context, builder, signature, values: builder.mul(*values)


@intrinsic
def add_product(typing, total, x, weight):
    """Lane by lane the total and four unsigned bytes of x times four signed bytes of the weight."""

    def code(context, builder, signature, values):
        total, x, weight = values
        multiply = ir.FunctionType(HALVES, [SINGLES, SINGLES])
        pairs = builder.call(
            cgutils.get_or_insert_function(builder.module, multiply, "llvm.x86.avx2.pmadd.ub.sw"),
            [builder.bitcast(x, SINGLES), builder.bitcast(weight, SINGLES)],
        )
        add = cgutils.get_or_insert_function(builder.module, ir.FunctionType(WORDS, [HALVES, HALVES]), "llvm.x86.avx2.pmadd.wd")
        return builder.add(total, builder.call(add, [pairs, ir.Constant(HALVES, [1] * 2 * LANES)]))

    return words(words, words, words), code


@intrinsic
def store_scaled(typing, out, position, total, scales, first):
    """out[position ...] = total * scales[first ...], eight float32."""

    def code(context, builder, signature, values):
        out, position, total, scales, first = values
        factors = builder.load(address(context, builder, signature.args[3], scales, first, FLOATS), align=4)
        where = address(context, builder, signature.args[0], out, position, FLOATS)
        builder.store(builder.fmul(builder.sitofp(total, FLOATS), factors), where, align=4)
        return context.get_dummy_value()

    return types.void(out, types.intp, words, scales, types.intp), code


def panels_of(weight: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(O, D) int8 as panels, flat, and the sum of each output's weights, both filled up with zeros."""
    outputs, width = (-(-size // step) * step for size, step in zip(weight.shape, (OUTPUTS, BYTES), strict=True))
    padded = np.zeros((outputs, width), np.int8)
    padded[: weight.shape[0], : weight.shape[1]] = weight
    panels = padded.reshape(outputs // OUTPUTS, OUTPUTS, width // BYTES, BYTES).swapaxes(1, 2)
    return np.ascontiguousarray(panels).reshape(-1).view(np.int32), padded.sum(1, dtype=np.int32)


@njit(nogil=True, cache=True)
def times_panels(inputs, panels, sums, middle, scales, out, first, stop):
    """out[:, of the panels first to stop] = scales * (weight (inputs - middle)): rows of int32 words (N, D/4), each of four bytes."""
    count, depth = inputs.shape
    flat, out_flat, width = inputs.reshape(-1), out.reshape(-1), out.shape[1]
    rest = np.empty(ROWS * OUTPUTS, np.float32)  # of a panel that is wider than what is left
    zero = broadcast(np.int32(middle))
    for begin in range(0, count, TOGETHER):
        end = min(begin + TOGETHER, count)
        for panel in range(first, stop):
            base, column = panel * depth * OUTPUTS, panel * OUTPUTS
            low, high = multiply(load(sums, column), zero), multiply(load(sums, column + LANES), zero)
            fits = column + OUTPUTS <= width
            into = out_flat if fits else rest
            for row in range(begin, end, ROWS):
                r0, r1, r2, r3 = row, min(row + 1, end - 1), min(row + 2, end - 1), min(row + 3, end - 1)
                x0, x1, x2, x3 = r0 * depth, r1 * depth, r2 * depth, r3 * depth
                a0 = a1 = b0 = b1 = c0 = c1 = d0 = d1 = broadcast(np.int32(0))
                for word in range(depth):
                    w0, w1 = load(panels, base + word * OUTPUTS), load(panels, base + word * OUTPUTS + LANES)
                    x = broadcast_from(flat, x0 + word)
                    a0, a1 = add_product(a0, x, w0), add_product(a1, x, w1)
                    x = broadcast_from(flat, x1 + word)
                    b0, b1 = add_product(b0, x, w0), add_product(b1, x, w1)
                    x = broadcast_from(flat, x2 + word)
                    c0, c1 = add_product(c0, x, w0), add_product(c1, x, w1)
                    x = broadcast_from(flat, x3 + word)
                    d0, d1 = add_product(d0, x, w0), add_product(d1, x, w1)
                p0, p1, p2, p3 = r0 * width + column, r1 * width + column, r2 * width + column, r3 * width + column
                if not fits:
                    p0, p1, p2, p3 = 0, OUTPUTS, 2 * OUTPUTS, 3 * OUTPUTS
                store_scaled(into, p0, subtract(a0, low), scales, column)
                store_scaled(into, p0 + LANES, subtract(a1, high), scales, column + LANES)
                store_scaled(into, p1, subtract(b0, low), scales, column)
                store_scaled(into, p1 + LANES, subtract(b1, high), scales, column + LANES)
                store_scaled(into, p2, subtract(c0, low), scales, column)
                store_scaled(into, p2 + LANES, subtract(c1, high), scales, column + LANES)
                store_scaled(into, p3, subtract(d0, low), scales, column)
                store_scaled(into, p3 + LANES, subtract(d1, high), scales, column + LANES)
                if not fits:
                    for number in range(row, min(row + ROWS, end)):
                        out[number, column:] = rest[(number - row) * OUTPUTS : (number - row) * OUTPUTS + width - column]
