"""SIMD: sixteen float32 that a compiled loop holds in one register, or in several on machines with narrower ones.

A compiler given plain loops keeps the sums of a small matrix product in memory; with `Lanes` they stay in registers:

    sums = nothing()
    for i in range(0, width, LANES):
        sums += load(x, i) * load(y, i)

Only what `kernels/word2vec.py` and `kernels/fp32_panels.py` need is here. Arrays are flat, and positions in them count numbers, not bytes.
"""

import operator

from llvmlite import ir
from numba import njit, types
from numba.core import cgutils
from numba.extending import intrinsic, models, overload, register_model

LANES = 16
FLOATS = ir.VectorType(ir.FloatType(), LANES)
INTEGERS = ir.VectorType(ir.IntType(32), LANES)
ONE_EXPONENT = 127 << 23  # the bits of 1.0: exponent 127, mantissa 0
MANTISSA_BITS = (1 << 23) - 1


class LanesType(types.Type):
    def __init__(self):
        super().__init__("Lanes")


lanes = LanesType()


@register_model(LanesType)
class LanesModel(models.PrimitiveModel):
    def __init__(self, manager, kind):
        super().__init__(manager, kind, FLOATS)


def constant(kind, number):
    return ir.Constant(kind, [number] * LANES)


def address(context, builder, kind, array, position):
    """The address of a number of a flat array."""
    data = context.make_array(kind)(context, builder, array).data
    return builder.gep(data, [position], inbounds=True)


@intrinsic
def load(typing, array, position):
    def code(context, builder, signature, values):
        where = address(context, builder, signature.args[0], *values)
        return builder.load(builder.bitcast(where, FLOATS.as_pointer()), align=4)

    return lanes(array, types.intp), code


@intrinsic
def store(typing, array, position, value):
    def code(context, builder, signature, values):
        where = address(context, builder, signature.args[0], *values[:2])
        builder.store(values[2], builder.bitcast(where, FLOATS.as_pointer()), align=4)
        return context.get_dummy_value()

    return types.void(array, types.intp, lanes), code


@intrinsic
def prefetch(typing, array, position):
    """Prefetch the memory at a position that will be read and written soon."""

    def code(context, builder, signature, values):
        where = builder.bitcast(address(context, builder, signature.args[0], *values), cgutils.voidptr_t)
        number = ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [cgutils.voidptr_t, number, number, number])
        ask = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0i8" if not where.type.is_opaque else "llvm.prefetch.p0")
        builder.call(ask, [where, number(1), number(3), number(1)])
        return context.get_dummy_value()

    return types.void(array, types.intp), code


@intrinsic
def broadcast(typing, number):
    """One number in every lane."""

    def code(context, builder, signature, values):
        first = builder.insert_element(ir.Constant(FLOATS, ir.Undefined), values[0], ir.IntType(32)(0))
        return builder.shuffle_vector(first, first, constant(INTEGERS, 0))

    return lanes(types.float32), code


@intrinsic
def broadcast_from(typing, array, position):
    """The number at a position in every lane, without the check of a Python index for negative numbers."""

    def code(context, builder, signature, values):
        number = builder.load(address(context, builder, signature.args[0], *values), align=4)
        first = builder.insert_element(ir.Constant(FLOATS, ir.Undefined), number, ir.IntType(32)(0))
        return builder.shuffle_vector(first, first, constant(INTEGERS, 0))

    return lanes(array, types.intp), code


@intrinsic
def zeros(typing):
    return lanes(), lambda context, builder, signature, values: constant(FLOATS, 0.0)


def arithmetic(operation, instruction):
    """`operation` on two Lanes; a product and a sum may become one instruction."""

    @intrinsic
    def lanewise(typing, one, other):
        def code(context, builder, signature, values):
            return getattr(builder, instruction)(*values, flags=("contract", "reassoc", "nsz"))

        return lanes(lanes, lanes), code

    @overload(operation, inline="always")
    def overloaded(one, other):
        if one is lanes and other is lanes:
            return lambda one, other: lanewise(one, other)


arithmetic(operator.add, "fadd")
arithmetic(operator.iadd, "fadd")
arithmetic(operator.sub, "fsub")
arithmetic(operator.mul, "fmul")
arithmetic(operator.truediv, "fdiv")


def call_llvm(builder, name, *values):
    """A function of LLVM's own on Lanes."""
    kind = ir.FunctionType(FLOATS, [FLOATS] * len(values))
    return builder.call(cgutils.get_or_insert_function(builder.module, kind, f"llvm.{name}.v{LANES}f32"), values)


@intrinsic
def absolute(typing, one):
    return lanes(lanes), lambda context, builder, signature, values: call_llvm(builder, "fabs", *values)


@intrinsic
def round_lanes(typing, one):
    return lanes(lanes), lambda context, builder, signature, values: call_llvm(builder, "rint", *values)


@intrinsic
def clamp(typing, low, one, high):
    def code(context, builder, signature, values):
        return call_llvm(builder, "minnum", call_llvm(builder, "maxnum", values[1], values[0]), values[2])

    return lanes(lanes, lanes, lanes), code


@intrinsic
def power_of_two(typing, integer):
    """2 to the power of whole numbers."""

    def code(context, builder, signature, values):
        integer = builder.fptosi(values[0], INTEGERS)
        return builder.bitcast(builder.add(builder.shl(integer, constant(INTEGERS, 23)), constant(INTEGERS, ONE_EXPONENT)), FLOATS)

    return lanes(lanes), code


@intrinsic
def exponent(typing, one):
    """n of m 2^n with m between 1 and 2."""

    def code(context, builder, signature, values):
        bits = builder.sub(builder.bitcast(values[0], INTEGERS), constant(INTEGERS, ONE_EXPONENT))
        return builder.sitofp(builder.ashr(bits, constant(INTEGERS, 23)), FLOATS)

    return lanes(lanes), code


@intrinsic
def mantissa(typing, one):
    """m of m 2^n with m between 1 and 2."""

    def code(context, builder, signature, values):
        fraction = builder.and_(builder.bitcast(values[0], INTEGERS), constant(INTEGERS, MANTISSA_BITS))
        return builder.bitcast(builder.or_(fraction, constant(INTEGERS, ONE_EXPONENT)), FLOATS)

    return lanes(lanes), code


def pick(builder, one, other, positions):
    return builder.shuffle_vector(one, other, ir.Constant(ir.VectorType(ir.IntType(32), len(positions)), positions))


def eight_sums(builder, values):
    """The sum over the lanes of each of eight, in eight lanes: pairs are interleaved and added, again and again."""
    quarters = range(0, LANES, 4)

    def interleaved(one, other, first, second):
        """From every four lanes of both, the lanes `first` and the lanes `second`, added."""
        halves = [[q + lane if lane < 4 else LANES + q + lane - 4 for q in quarters for lane in chosen] for chosen in (first, second)]
        return builder.fadd(pick(builder, one, other, halves[0]), pick(builder, one, other, halves[1]))

    twos = [interleaved(values[i], values[i + 1], (0, 4, 1, 5), (2, 6, 3, 7)) for i in (0, 2, 4, 6)]  # abab of each quarter, and so on
    fours = [interleaved(twos[i], twos[i + 1], (0, 1, 4, 5), (2, 3, 6, 7)) for i in (0, 2)]  # abcd of each quarter, and efgh
    low = pick(builder, fours[0], fours[1], [0, 1, 2, 3, 16, 17, 18, 19, 4, 5, 6, 7, 20, 21, 22, 23])  # abcdefgh of the first two quarters
    high = pick(builder, fours[0], fours[1], [8, 9, 10, 11, 24, 25, 26, 27, 12, 13, 14, 15, 28, 29, 30, 31])
    both = builder.fadd(low, high)
    return builder.fadd(pick(builder, both, both, list(range(8))), pick(builder, both, both, list(range(8, 16))))


@intrinsic
def sums(typing, a, b, c, d, e, f):
    """The sum over the lanes of each, in the first six lanes."""

    def code(context, builder, signature, values):
        eight = eight_sums(builder, [*values, values[5], values[5]])
        return pick(builder, eight, eight, list(range(LANES)))

    return lanes(lanes, lanes, lanes, lanes, lanes, lanes), code


@intrinsic
def sums_of_two(typing, a, b, c, d, e, f, g, aa, bb, cc, dd, ee, ff, gg):
    """The same for twice seven, in the first seven lanes of either half."""

    def code(context, builder, signature, values):
        halves = [eight_sums(builder, [*half, half[6]]) for half in (values[:7], values[7:])]
        return pick(builder, halves[0], halves[1], list(range(LANES)))

    return lanes(*[lanes] * 14), code


@intrinsic
def first_half(typing, one):
    """The first eight lanes, and zeros."""

    def code(context, builder, signature, values):
        return pick(builder, values[0], constant(FLOATS, 0.0), [*range(LANES // 2), *range(LANES, LANES + LANES // 2)])

    return lanes(lanes), code


@njit(inline="always")
def exponential(x):
    """e^x to the last bits of a float32, for x between -87 and 87: 2^n times a polynomial (Cephes' expf)."""
    integer = round_lanes(x * broadcast(1.44269504))
    remainder = x - integer * broadcast(0.693359375) + integer * broadcast(2.12194440e-4)
    series = broadcast(1.9875691500e-4)
    for factor in (1.3981999507e-3, 8.3334519073e-3, 4.1665795894e-2, 1.6666665459e-1, 5.0000001201e-1, 1.0, 1.0):
        series = series * remainder + broadcast(factor)
    return series * power_of_two(integer)


@njit(inline="always")
def sigmoid(x):
    return broadcast(1.0) / (broadcast(1.0) + exponential(broadcast(0.0) - x))
