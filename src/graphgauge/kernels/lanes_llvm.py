"""The instructions of `lanes` as LLVM code. Imported only where loops are compiled."""

from __future__ import annotations

import operator
from collections.abc import Callable
from importlib import import_module
from typing import Any

from graphgauge.kernels.lanes import LANES

# Without types of their own: those of numba are incomplete.
_extending: Any = import_module("numba.extending")
_njit: Any = import_module("numba").njit
cgutils: Any = import_module("numba.core.cgutils")
ir: Any = import_module("llvmlite.ir")
types: Any = import_module("numba.core.types")
intrinsic: Callable[[Callable[..., Any]], Any] = _extending.intrinsic
_Type: Any = types.Type

_INT, _BYTE = ir.IntType(32), ir.IntType(8)


def _vector(element: Any) -> Any:
    return ir.VectorType(element, LANES)


class _Vector(_Type):  # type: ignore[misc]
    """Eight numbers of one kind."""

    def __init__(self, name: str, element: Any) -> None:
        super().__init__(name=f"Lanes({name})")
        self.element, self.llvm = element, _vector(element)


class _Model(_extending.models.PrimitiveModel):  # type: ignore[misc]
    def __init__(self, manager: Any, kind: _Vector) -> None:
        super().__init__(manager, kind, kind.llvm)


_extending.register_model(_Vector)(_Model)
FLOATS, INTS, FLAGS = (
    _Vector("float64", ir.DoubleType()),
    _Vector("int64", ir.IntType(64)),
    _Vector("flags", ir.IntType(1)),
)
_OF_ARRAY = {types.float32: FLOATS, types.float64: FLOATS, types.int64: INTS, types.boolean: FLAGS}
_STORED = {
    types.float32: ir.FloatType(),
    types.float64: ir.DoubleType(),
    types.int64: ir.IntType(64),
    types.boolean: _BYTE,
}
_OF_NUMBER = {FLOATS: types.float64, INTS: types.int64}


def _function(operation: Any, arguments: int) -> Any:
    """An intrinsic as a function of so many arguments, which other modules can refer to."""
    of: dict[int, Callable[..., Any]] = {
        1: lambda a: operation(a),
        2: lambda a, b: operation(a, b),
        3: lambda a, b, c: operation(a, b, c),
        4: lambda a, b, c, d: operation(a, b, c, d),
    }
    return _njit(of[arguments], forceinline=True)


@intrinsic
def _address(_: Any, array: Any) -> Any:
    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return context.make_array(array)(context, builder, args[0]).data

    return types.CPointer(array.dtype)(array), code


def _widened(builder: Any, found: Any, kind: Any) -> Any:
    if kind == types.float32:
        return builder.fpext(found, FLOATS.llvm)
    if kind == types.boolean:
        return builder.icmp_unsigned("!=", found, ir.Constant(found.type, [0] * LANES))
    return found


@intrinsic
def _load(_: Any, pointer: Any, at: Any) -> Any:
    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        kind = pointer.dtype
        place = builder.bitcast(builder.gep(args[0], [args[1]]), _vector(_STORED[kind]).as_pointer())
        return _widened(builder, builder.load(place, align=context.get_abi_alignment(_STORED[kind])), kind)

    return _OF_ARRAY[pointer.dtype](pointer, types.intp), code


@intrinsic
def _load_every(_: Any, pointer: Any, at: Any, step: Any, count: Any) -> Any:
    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        """The last number there is read in place of those that are not."""
        begin, last = builder.gep(args[0], [args[1]]), builder.sub(args[3], args[3].type(1))
        found = ir.Constant(_vector(_STORED[pointer.dtype]), ir.Undefined)
        for number in range(LANES):
            place = args[3].type(number)
            there = builder.icmp_signed("<=", place, last)
            cell = builder.load(builder.gep(begin, [builder.mul(builder.select(there, place, last), args[2])]))
            if pointer.dtype == types.boolean:
                cell = builder.zext(cell, _BYTE) if cell.type.width < _BYTE.width else cell
            cell = builder.select(there, cell, ir.Constant(cell.type, 0))
            found = builder.insert_element(found, cell, _INT(number))
        return _widened(builder, found, pointer.dtype)

    return _OF_ARRAY[pointer.dtype](pointer, types.intp, types.intp, types.intp), code


@intrinsic
def _store(_: Any, pointer: Any, at: Any, numbers: Any) -> Any:
    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        place = builder.bitcast(builder.gep(args[0], [args[1]]), numbers.llvm.as_pointer())
        builder.store(args[2], place, align=context.get_abi_alignment(numbers.element))
        return context.get_dummy_value()

    return types.void(pointer, types.intp, numbers), code


@intrinsic
def _store_some(_: Any, pointer: Any, at: Any, numbers: Any, count: Any) -> Any:
    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        """Numbers that have no place are written where nobody looks."""
        begin, nowhere = builder.gep(args[0], [args[1]]), cgutils.alloca_once(builder, numbers.element)
        for number in range(LANES):
            there = builder.icmp_signed("<", args[3].type(number), args[3])
            place = builder.select(there, builder.gep(begin, [args[3].type(number)]), nowhere)
            builder.store(builder.extract_element(args[2], _INT(number)), place)
        return context.get_dummy_value()

    return types.void(pointer, types.intp, numbers, types.intp), code


@intrinsic
def _fill(_: Any, number: Any) -> Any:
    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        kind = signature.return_type
        empty = ir.Constant(kind.llvm, ir.Undefined)
        one = builder.insert_element(empty, args[0], _INT(0))
        return builder.shuffle_vector(one, empty, ir.Constant(_vector(_INT), [0] * LANES))

    if isinstance(number, types.Float):
        return FLOATS(types.float64), code
    return INTS(types.int64), code


@intrinsic
def _first(_: Any, count: Any) -> Any:
    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        empty = ir.Constant(INTS.llvm, ir.Undefined)
        one = builder.insert_element(empty, args[0], _INT(0))
        limits = builder.shuffle_vector(one, empty, ir.Constant(_vector(_INT), [0] * LANES))
        return builder.icmp_signed("<", ir.Constant(INTS.llvm, list(range(LANES))), limits)

    return FLAGS(types.int64), code


@intrinsic
def _where(_: Any, flags: Any, numbers: Any, others: Any) -> Any:
    return FLOATS(FLAGS, FLOATS, FLOATS), lambda context, builder, signature, args: builder.select(*args)


@intrinsic
def _ones(_: Any, flags: Any) -> Any:
    return INTS(FLAGS), lambda context, builder, signature, args: builder.zext(args[0], INTS.llvm)


@intrinsic
def _lane(_: Any, numbers: Any, place: Any) -> Any:
    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.extract_element(args[0], builder.trunc(args[1], _INT))

    return _OF_NUMBER[numbers](numbers, types.intp), code


@intrinsic
def _larger_first(_: Any, one: Any, other: Any) -> Any:
    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        descending = builder.fcmp_ordered(">", *args)
        pair = builder.select(descending, *args), builder.select(descending, *args[::-1])
        return context.make_tuple(builder, signature.return_type, pair)

    kind = one if isinstance(one, _Vector) else types.float64
    return types.UniTuple(kind, 2)(kind, kind), code


@intrinsic
def _some(_: Any, flags: Any) -> Any:
    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        bits = builder.bitcast(args[0], ir.IntType(LANES))
        return builder.zext(builder.ctpop(bits), ir.IntType(64))

    return types.intp(FLAGS), code


@intrinsic
def _bits(_: Any, numbers: Any) -> Any:
    return INTS(FLOATS), lambda context, builder, signature, args: builder.bitcast(args[0], INTS.llvm)


@intrinsic
def _of_bits(_: Any, bits: Any) -> Any:
    return FLOATS(INTS), lambda context, builder, signature, args: builder.bitcast(args[0], FLOATS.llvm)


@intrinsic
def _ahead(_: Any, pointer: Any, at: Any) -> Any:
    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        """A reading access, whose data should be kept in the second cache."""
        place = builder.bitcast(builder.gep(args[0], [args[1]]), _BYTE.as_pointer())
        kind = ir.FunctionType(ir.VoidType(), [place.type, _INT, _INT, _INT])
        function = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
        builder.call(function, [place, _INT(0), _INT(2), _INT(1)])
        return context.get_dummy_value()

    return types.void(pointer, types.intp), code


ahead, load, lane, larger_first = (_function(operation, 2) for operation in (_ahead, _load, _lane, _larger_first))
store, where = (_function(operation, 3) for operation in (_store, _where))
address, fill, first, ones, some, bits, of_bits = (
    _function(operation, 1) for operation in (_address, _fill, _first, _ones, _some, _bits, _of_bits)
)
load_every, store_some = (_function(operation, 4) for operation in (_load_every, _store_some))
load_some = _njit(lambda pointer, at, count: _load_every(pointer, at, 1, count), forceinline=True)


def _operator(symbol: Any, emit: Callable[[Any, Any, Any], Any], kinds: tuple[Any, ...], answer: Any = None) -> None:
    """Apply an operator to vectors of these kinds, or to a vector and a number."""

    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return emit(builder, *args)

    @intrinsic
    def apply(_: Any, one: Any, other: Any) -> Any:
        return (answer or one)(one, one), code

    def operation(one: Any, other: Any) -> Any:
        if one in kinds and one == other:
            return lambda one, other: apply(one, other)
        if one in kinds and isinstance(other, types.Number):
            return lambda one, other: apply(one, _fill(other))
        if other in kinds and isinstance(one, types.Number):
            return lambda one, other: apply(_fill(one), other)
        return None

    _extending.overload(symbol, strict=False)(operation)


def _of_kinds(floats: str, ints: str | None = None) -> Callable[[Any, Any, Any], Any]:
    def emit(builder: Any, one: Any, other: Any) -> Any:
        name = floats if one.type == FLOATS.llvm else ints
        return getattr(builder, str(name))(one, other)

    return emit


_operator(operator.add, _of_kinds("fadd", "add"), (FLOATS, INTS))
_operator(operator.sub, _of_kinds("fsub", "sub"), (FLOATS, INTS))
_operator(operator.mul, _of_kinds("fmul"), (FLOATS,))
_operator(operator.truediv, _of_kinds("fdiv"), (FLOATS,))
_operator(operator.and_, lambda builder, one, other: builder.and_(one, other), (FLAGS, INTS))
_operator(operator.or_, lambda builder, one, other: builder.or_(one, other), (FLAGS, INTS))
_operator(operator.lshift, lambda builder, one, other: builder.shl(one, other), (INTS,))
_operator(operator.rshift, lambda builder, one, other: builder.ashr(one, other), (INTS,))


def _comparison(sign: str) -> Callable[[Any, Any, Any], Any]:
    return lambda builder, one, other: builder.fcmp_ordered(sign, one, other)


for _symbol, _sign in ((operator.lt, "<"), (operator.le, "<="), (operator.gt, ">"), (operator.ge, ">=")):
    _operator(_symbol, _comparison(_sign), (FLOATS,), FLAGS)


def _called(name: str) -> Callable[..., Any]:
    """A function of LLVM for floats."""

    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        kind = ir.FunctionType(FLOATS.llvm, [FLOATS.llvm])
        function = cgutils.get_or_insert_function(builder.module, kind, f"llvm.{name}.v{LANES}f64")
        return builder.call(function, args)

    return code


@intrinsic
def _magnitude(_: Any, numbers: Any) -> Any:
    return FLOATS(FLOATS), _called("fabs")


@intrinsic
def _root(_: Any, numbers: Any) -> Any:
    return FLOATS(FLOATS), _called("sqrt")


root = _function(_root, 1)


@intrinsic
def _opposite(_: Any, flags: Any) -> Any:
    return FLAGS(FLAGS), lambda context, builder, signature, args: builder.not_(args[0])


def _abs(numbers: Any) -> Any:
    return (lambda numbers: _magnitude(numbers)) if numbers == FLOATS else None


def _invert(flags: Any) -> Any:
    return (lambda flags: _opposite(flags)) if flags == FLAGS else None


_extending.overload(abs, strict=False)(_abs)
_extending.overload(operator.invert, strict=False)(_invert)
