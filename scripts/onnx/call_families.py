"""Draws of calls for random_calls.py: mostly near what an operator takes, with each part wrong now and then."""

import dataclasses

import numpy

F = numpy.float32
I = numpy.int64


@dataclasses.dataclass
class Operand:
    value: numpy.ndarray
    constant: bool = False


@dataclasses.dataclass
class Call:
    op: str
    version: int
    operands: list
    attributes: dict = dataclasses.field(default_factory=dict)
    wanted: list = dataclasses.field(default_factory=lambda: [True])
    domain: str = ""


FAMILIES = []


def family(draw):
    FAMILIES.append((draw.__name__, draw))
    return draw


def rarely(rng, share=0.12):
    return rng.random() < share


def size(rng, most=8):
    """A size, now and then 0 or 1."""
    return rng.choice([0, 1]) if rarely(rng, 0.1) else rng.randint(1, most)


def data(rng, shape, dtype=F):
    return Operand(numpy.full(shape, 1 if numpy.dtype(dtype).kind in "iu" else 0.5, dtype))


def image(rng, spatial, most=8, dtype=F):
    return data(rng, [size(rng, 3), size(rng, 4), *(size(rng, most) for _ in range(spatial))], dtype)


def dims(rng, spatial):
    """The number of spatial dimensions of a list, now and then another."""
    return spatial + rng.choice([-1, 1]) if rarely(rng, 0.04) else spatial


def ints(rng, values, shape=None, constant=None):
    """Integers as an initializer or an input."""
    value = numpy.array(values, I)
    value = value if shape is None else value.reshape(shape)
    return Operand(value, rng.random() < 0.6 if constant is None else constant)


def floats(rng, values):
    return Operand(numpy.array(values, F), rng.random() < 0.6)


def scalar(rng, value):
    return ints(rng, value, [1]) if rarely(rng, 0.1) else ints(rng, value)


def given(rng, attributes, **draws):
    """Attributes, each drawn with its share or left out."""
    for name, (share, draw) in draws.items():
        if rng.random() < share:
            attributes[name] = draw()
    return attributes


def listed(rng, spatial, low, high, times=1):
    return [rng.randint(low, high) for _ in range(dims(rng, spatial) * times)]


@family
def resize(rng):
    version = rng.choice([10, 11, 13, 18, 19])
    rank = rng.choice([1, 2, 3, 4, 4, 4, 5])
    dtype = rng.choice([F, F, F, F, numpy.uint8, numpy.int32, numpy.int8, numpy.float64])
    shape = [size(rng) for _ in range(rank)]
    x = data(rng, shape, dtype)
    mode = rng.choice(["nearest", "linear", "cubic", "cubic"] if version > 10 else ["nearest", "linear"])
    attributes = {"mode": mode}
    if version > 10:
        places = ["half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel", "tf_crop_and_resize"]
        given(
            rng, attributes,
            coordinate_transformation_mode=(0.4, lambda: rng.choice(places)),
            exclude_outside=(0.15, lambda: rng.choice([0, 1])),
            extrapolation_value=(0.05, lambda: 0.5),
            cubic_coeff_a=(0.1, lambda: -0.5),
            nearest_mode=(0.1, lambda: rng.choice(["floor", "ceil", "simple", "round_prefer_ceil"])),
        )
    axes = list(range(rank))
    if version >= 18:
        given(rng, attributes, antialias=(0.25, lambda: rng.choice([0, 1])))
        if rng.random() < 0.3:
            axes = sorted(rng.sample(axes, rng.randint(1, rank)))
            attributes["axes"] = [axis - rank if rarely(rng) else axis for axis in axes]
        given(rng, attributes, keep_aspect_ratio_policy=(0.1, lambda: rng.choice(["stretch", "not_larger", "not_smaller"])))
    # The axes that are scaled: often the last two, or the middle ones.
    scaled = rng.choice([axes, axes[-2:], axes[1:-1], axes[:1], axes[-1:], axes[-3:]])
    scale = lambda axis: rng.choice([0.5, 2.0, 1.5, 0.75, 1.0]) if axis in scaled else 1.0
    scales = [scale(axis) for axis in axes]
    if rarely(rng, 0.04):
        scales = scales[:-1]
    sizes = [max(1 - rarely(rng, 0.05), int(shape[axis] * factor)) for axis, factor in zip(axes, scales)]
    roi = None
    if attributes.get("coordinate_transformation_mode") == "tf_crop_and_resize" and not rarely(rng):
        roi = floats(rng, [0.0] * len(axes) + [1.0] * len(axes))
    if version == 10:
        return Call("Resize", 10, [x, floats(rng, scales)], attributes)
    if rng.random() < 0.5:
        return Call("Resize", version, [x, roi, floats(rng, scales)], attributes)
    return Call("Resize", version, [x, roi, None, ints(rng, sizes)], attributes)


@family
def upsample(rng):
    rank = rng.choice([2, 3, 4, 4, 5])
    scales = [rng.choice([1.0, 1.0, 2.0, 1.5, 0.5 if rarely(rng) else 3.0]) for _ in range(rank)]
    x = data(rng, [size(rng) for _ in range(rank)], rng.choice([F, F, numpy.uint8, numpy.int32]))
    return Call("Upsample", 9, [x, floats(rng, scales)], {"mode": rng.choice(["nearest", "linear"])})


def recurrent(rng, op, gates):
    layout = rng.choice([0, 0, 0, 1])
    direction = rng.choice(["forward", "reverse", "bidirectional"])
    directions = 2 if direction == "bidirectional" else 1
    length, batch, features, hidden = size(rng, 5), size(rng, 3), size(rng, 4), rng.randint(1, 4)
    wrong = lambda value: value + 1 if rarely(rng, 0.03) else value
    first = [batch, length] if layout else [length, batch]
    of_state = [batch, directions] if layout else [directions, batch]
    attributes = {"direction": direction, "layout": layout, "hidden_size": wrong(hidden)}
    names = ["Tanh", "Sigmoid", "Relu", "Affine", "LeakyRelu", "HardSigmoid", "ScaledTanh", "Elu", "Softsign", "Softplus", "Other"]
    each = {"RNN": 1, "GRU": 2, "LSTM": 3}[op]
    given(
        rng, attributes,
        activations=(0.3, lambda: [rng.choice(names) for _ in range(rng.choice([each, each, 2]) * rng.choice([directions, 1]))]),
        activation_alpha=(0.1, lambda: [0.5] * rng.randint(1, 3)),
        clip=(0.1, lambda: rng.choice([0.0, 1.0, -1.0])),
    )
    if op == "GRU":
        given(rng, attributes, linear_before_reset=(0.3, lambda: rng.choice([0, 1, 2])))
    if op == "LSTM":
        given(rng, attributes, input_forget=(0.2, lambda: rng.choice([0, 1])))
    operands = [
        data(rng, [*first, features]),
        data(rng, [wrong(directions), gates * hidden, wrong(features)]),
        data(rng, [directions, gates * hidden, wrong(hidden)]),
    ]
    optional = lambda operand: operand if rng.random() < 0.5 else None
    lengths = Operand(numpy.full([wrong(batch)], rng.randint(0, length + rarely(rng)), numpy.int32), rarely(rng))
    operands += [optional(data(rng, [directions, 2 * gates * hidden])), optional(lengths), optional(data(rng, [*of_state, wrong(hidden)]))]
    if op == "LSTM":
        operands += [optional(data(rng, [*of_state, wrong(hidden)])), optional(data(rng, [directions, 3 * hidden]))]
    outputs = 3 if op == "LSTM" else 2
    wanted = [rng.random() < 0.7 for _ in range(outputs)]
    while len(wanted) > 1 and not wanted[-1]:
        wanted.pop()
    return Call(op, rng.choice([7, 14, 22]), operands, {k: v for k, v in attributes.items()}, wanted if any(wanted) else [True])


def before_layout(call):
    if call.version < 14:
        call.attributes.pop("layout")
    return call


@family
def rnn(rng):
    return before_layout(recurrent(rng, "RNN", 1))


@family
def gru(rng):
    return before_layout(recurrent(rng, "GRU", 3))


@family
def lstm(rng):
    return before_layout(recurrent(rng, "LSTM", 4))


@family
def einsum(rng):
    letters = "abcde"
    sizes = {letter: size(rng, 4) for letter in letters}
    terms, operands = [], []
    for _ in range(rng.choice([1, 2, 2, 2, 3])):
        term = "".join(rng.choice(letters) for _ in range(rng.randint(0, 3)))
        shape = [1 if rarely(rng, 0.08) else sizes[letter] + rarely(rng, 0.02) for letter in term]
        if rarely(rng):
            at = rng.randint(0, len(term))
            extra = [rng.choice([1, 2]) for _ in range(rng.randint(0, 2))]
            term, shape = term[:at] + "..." + term[at:], shape[:at] + extra + shape[at:]
        terms.append(term)
        operands.append(data(rng, shape, rng.choice([F, F, F, F, numpy.float64, I])))
    if not rarely(rng, 0.05):
        operands = [data(rng, x.value.shape, operands[0].value.dtype) for x in operands]
    equation = ",".join(terms)
    if rng.random() < 0.75:
        used = sorted({letter for term in terms for letter in term if letter != "."} | ({"f"} if rarely(rng, 0.03) else set()))
        result = rng.sample(used, rng.randint(0, len(used)))
        if rarely(rng, 0.03) and result:
            result.append(result[0])
        dots = "..." if any("." in term for term in terms) and not rarely(rng) else ""
        at = rng.choice([0, len(result)])
        equation += "->" + "".join(result[:at]) + dots + "".join(result[at:])
    if rarely(rng, 0.15):
        equation = equation.replace(",", " , ")
    return Call("Einsum", 12, operands, {"equation": equation})


def window(rng, spatial, attributes):
    pads = (0.5, lambda: listed(rng, spatial, -1 if rarely(rng, 0.05) else 0, 2, 2))
    return given(
        rng, attributes,
        strides=(0.6, lambda: listed(rng, spatial, 1 - rarely(rng, 0.02), 4)),
        dilations=(0.3, lambda: listed(rng, spatial, 1 - rarely(rng, 0.02), 3)),
        pads=pads,
        auto_pad=(0.2, lambda: rng.choice(["SAME_UPPER", "SAME_LOWER", "VALID", "NOTSET", "OTHER" if rarely(rng) else "VALID"])),
    )


@family
def pool(rng):
    op = rng.choice(["MaxPool", "AveragePool", "LpPool"])
    version = rng.choice({"MaxPool": [8, 10, 11, 12], "AveragePool": [7, 10, 11, 19, 22], "LpPool": [7, 11, 18, 22]}[op])
    spatial = rng.choice([1, 2, 2, 3])
    dtype = rng.choice([F, F, F, numpy.float64, numpy.uint8]) if op == "MaxPool" else F
    attributes = window(rng, spatial, {"kernel_shape": listed(rng, spatial, 1, 3)})
    if op != "LpPool" or version >= 18:
        given(rng, attributes, ceil_mode=(0.4, lambda: rng.choice([0, 1, 1, 2])))
    if op == "AveragePool":
        given(rng, attributes, count_include_pad=(0.2, lambda: 1))
    since = {"MaxPool": 10, "AveragePool": 19, "LpPool": 18}[op]
    if version < since:
        attributes.pop("dilations", None)
        if op != "LpPool" and version < 10:
            attributes.pop("ceil_mode", None)
    wanted = [True]
    if op == "MaxPool" and rng.random() < 0.3:
        wanted = [True, True]
        given(rng, attributes, storage_order=(0.3, lambda: 1))
    return Call(op, version, [image(rng, spatial, 8, dtype)], attributes, wanted)


@family
def global_pool(rng):
    op = rng.choice(["GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool"])
    return Call(op, rng.choice([7, 22]), [image(rng, rng.choice([0, 1, 2, 3]))])


@family
def stft(rng):
    batch, length = size(rng, 3), size(rng, 40)
    channels = rng.choice([[], [1], [1], [2], [3], [0], [1, 1]])
    frame = rng.choice([4, 8, 16, 1, 0 if rarely(rng) else 5])
    step = rng.choice([1, 2, 4, 0 if rarely(rng) else 3])
    operands = [data(rng, [batch, length, *channels], rng.choice([F, F, numpy.float64])), scalar(rng, step)]
    has_window = rng.random() < 0.5
    operands.append(data(rng, [frame + rarely(rng, 0.05)], operands[0].value.dtype) if has_window else None)
    operands.append(scalar(rng, frame) if not has_window or rng.random() < 0.6 else None)
    return Call("STFT", 17, operands, given(rng, {}, onesided=(0.5, lambda: rng.choice([0, 1]))))


@family
def dft(rng):
    version = rng.choice([17, 19, 20])
    shape = [size(rng, 6) for _ in range(rng.choice([1, 2, 2, 3]))] + [rng.choice([1, 1, 2, 2, 3])]
    axis = rng.choice([1, -2, 0, len(shape) - 1, -1])
    attributes = given(rng, {}, onesided=(0.4, lambda: rng.choice([0, 1])), inverse=(0.4, lambda: rng.choice([0, 1])))
    length = scalar(rng, rng.choice([1, 4, 5, 8, 0 if rarely(rng) else 3])) if rng.random() < 0.4 else None
    operands = [data(rng, shape), length]
    if version < 20:
        given(rng, attributes, axis=(0.6, lambda: axis))
    elif rng.random() < 0.6:
        operands.append(scalar(rng, axis))
    return Call("DFT", version, operands, attributes)


@family
def max_unpool(rng):
    spatial = rng.choice([1, 2, 2, 3])
    x = image(rng, spatial, 4)
    kernel = listed(rng, spatial, 1, 3)
    attributes = given(
        rng, {"kernel_shape": kernel},
        strides=(0.7, lambda: listed(rng, spatial, 1 - rarely(rng, 0.02), 3)),
        pads=(0.3, lambda: listed(rng, spatial, 0, 2, 2)),
    )
    indices = numpy.zeros([d + rarely(rng, 0.02) for d in x.value.shape], I)
    operands = [x, Operand(indices, rarely(rng))]
    if rng.random() < 0.5:
        strides = attributes.get("strides", [1] * spatial)
        made = [stride * (d - 1) + window for d, stride, window in zip(x.value.shape[2:], strides, kernel)]
        stated = [x.value.shape[0] + rarely(rng), x.value.shape[1] + rarely(rng), *(d + rng.choice([-1, 0, 0, 1, 3]) for d in made)]
        operands.append(ints(rng, [max(d, 0) for d in stated]))
    return Call("MaxUnpool", rng.choice([9, 11, 22]), operands, attributes)


@family
def conv(rng):
    spatial, group = rng.choice([1, 2, 2, 3]), rng.choice([1, 1, 1, 2])
    batch, channels, filters = size(rng, 3), group * rng.randint(1, 2), group * rng.randint(1, 2) + rarely(rng, 0.05)
    kernel = [rng.randint(1, 3) for _ in range(spatial)]
    x = data(rng, [batch, channels + rarely(rng, 0.03), *(size(rng) for _ in range(spatial))])
    weights = data(rng, [filters, channels // group, *kernel])
    weights.constant = rng.random() < 0.5
    attributes = window(rng, spatial, {"group": group} if group > 1 or rarely(rng) else {})
    given(rng, attributes, kernel_shape=(0.3, lambda: kernel if not rarely(rng) else listed(rng, spatial, 1, 3)))
    bias = data(rng, [filters + rarely(rng, 0.05)]) if rng.random() < 0.4 else None
    return Call("Conv", rng.choice([7, 11, 22]), [x, weights, bias], attributes)


@family
def conv_transpose(rng):
    spatial, group = rng.choice([1, 2, 2]), rng.choice([1, 1, 2])
    channels, kernel = group * rng.randint(1, 2), [rng.randint(1, 3) for _ in range(spatial)]
    x = data(rng, [size(rng, 3), channels, *(size(rng, 5) for _ in range(spatial))])
    weights = data(rng, [channels + rarely(rng, 0.03), rng.randint(1, 2), *kernel])
    weights.constant = rng.random() < 0.5
    attributes = window(rng, spatial, {"group": group})
    given(
        rng, attributes,
        output_padding=(0.3, lambda: listed(rng, spatial, 0, 2)),
        output_shape=(0.2, lambda: listed(rng, spatial, 1, 12)),
        kernel_shape=(0.2, lambda: kernel),
    )
    return Call("ConvTranspose", rng.choice([7, 11, 22]), [x, weights], attributes)


@family
def split(rng):
    version, rank = rng.choice([7, 11, 13, 18]), rng.randint(1, 3)
    axis, parts = rng.randint(-rank, rank - 1), rng.randint(1, 4)
    sizes = [size(rng, 3) for _ in range(parts)]
    shape = [size(rng, 5) for _ in range(rank)]
    shape[axis] = sum(sizes) + rarely(rng, 0.05) if rng.random() < 0.7 else size(rng, 9)
    attributes = given(rng, {}, axis=(0.9, lambda: axis))
    operands, is_stated = [data(rng, shape)], rng.random() < 0.5
    if is_stated and version < 13:
        attributes["split"] = sizes
    elif is_stated:
        operands.append(ints(rng, sizes))
    if version == 18 and rng.random() < (0.1 if is_stated else 0.8):
        attributes["num_outputs"] = parts + (rng.choice([-1, 1]) if rarely(rng, 0.05) else 0)
    return Call("Split", version, operands, attributes, [True] * (parts + rarely(rng, 0.05)))


@family
def center_crop_pad(rng):
    rank = rng.randint(1, 4)
    shape = [size(rng) for _ in range(rank)]
    attributes, count = {}, rank
    if rng.random() < 0.7:
        axes = rng.sample(range(rank), rng.randint(1, rank))
        attributes["axes"], count = [axis - rank if rarely(rng) else axis for axis in axes], len(axes)
        if rarely(rng, 0.03):
            attributes["axes"].append(attributes["axes"][0])
    count += rng.choice([-1, 1]) if rarely(rng) else 0
    return Call("CenterCropPad", 18, [data(rng, shape), ints(rng, [size(rng) for _ in range(max(count, 0))])], attributes)


@family
def slice_(rng):
    rank = rng.randint(1, 3)
    axes = rng.sample(range(rank), rng.randint(1, rank))
    far = [2**31 - 1, -(2**31), 2**63 - 1, -(2**63), -(2**63) + 1]
    end = lambda: rng.choice(far) if rarely(rng, 0.2) else rng.randint(-9, 9)
    starts, ends = [end() for _ in axes], [end() for _ in axes]
    operands = [data(rng, [size(rng) for _ in range(rank)]), ints(rng, starts), ints(rng, ends)]
    if rng.random() < 0.7:
        operands.append(ints(rng, [axis - rank if rarely(rng) else axis for axis in axes]))
        if rng.random() < 0.7:
            operands.append(ints(rng, [rng.choice([1, 1, 2, -1, -1, -3, 0 if rarely(rng) else 1]) for _ in axes]))
    return Call("Slice", rng.choice([10, 11, 13]), operands)


@family
def pad(rng):
    rank, version = rng.randint(1, 4), rng.choice([11, 13, 18, 19, 21])
    modes = ["constant", "reflect", "edge"] + (["wrap"] if version >= 19 else [])
    count, operands = rank, [data(rng, [size(rng) for _ in range(rank)])]
    axes = None
    if version >= 18 and rng.random() < 0.4:
        axes = rng.sample(range(rank), rng.randint(1, rank))
        count = len(axes)
    operands.append(ints(rng, [rng.randint(-1, 3) for _ in range(2 * count + rarely(rng, 0.03))]))
    operands.append(Operand(numpy.array(0.5, F)) if rng.random() < 0.3 else None)
    if axes is not None:
        operands.append(ints(rng, axes))
    return Call("Pad", version, operands, given(rng, {}, mode=(0.7, lambda: rng.choice(modes))))


@family
def reshape(rng):
    shape = [size(rng, 6) for _ in range(rng.randint(0, 4))]
    target = [rng.choice([0, -1, 1, 2, 3, 4, 6, -2 if rarely(rng) else 1]) for _ in range(rng.randint(0, 4))]
    if rng.random() < 0.5 and shape:
        target = shape[::-1] if rng.random() < 0.5 else [shape[0], -1]
    return Call("Reshape", rng.choice([7, 13, 14, 19, 21]), [data(rng, shape), ints(rng, target)])


@family
def expand_tile(rng):
    shape = [size(rng, 3) for _ in range(rng.randint(0, 3))]
    if rng.random() < 0.5:
        return Call("Expand", rng.choice([8, 13]), [data(rng, shape), ints(rng, [size(rng, 3) for _ in range(rng.randint(0, 4))])])
    count = len(shape) + (rng.choice([-1, 1]) if rarely(rng) else 0)
    return Call("Tile", rng.choice([7, 13]), [data(rng, shape), ints(rng, [size(rng, 3) for _ in range(max(count, 0))])])


@family
def squeeze(rng):
    shape = [rng.choice([1, 1, 2, 3]) for _ in range(rng.randint(0, 4))]
    op, version = rng.choice(["Squeeze", "Unsqueeze"]), rng.choice([11, 13, 21])
    axes = [rng.randint(-len(shape) - 1, len(shape)) for _ in range(rng.randint(0, 2))]
    if op == "Squeeze" and rng.random() < 0.3:
        return Call(op, version, [data(rng, shape)])
    if version < 13:
        return Call(op, version, [data(rng, shape)], {"axes": axes})
    return Call(op, version, [data(rng, shape), ints(rng, axes)])


@family
def reduce(rng):
    op = rng.choice(["ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceL2", "ReduceLogSumExp", "ArgMax", "ArgMin"])
    rank = rng.randint(0, 4)
    x = data(rng, [size(rng, 4) for _ in range(rank)])
    attributes = given(rng, {}, keepdims=(0.6, lambda: rng.choice([0, 1])))
    axes = [rng.randint(-rank, max(rank - 1, 0)) for _ in range(rng.randint(0, 2))]
    if op.startswith("Arg"):
        given(rng, attributes, axis=(0.7, lambda: rng.randint(-rank - rarely(rng, 0.05), max(rank - 1, 0))), select_last_index=(0.2, lambda: 1))
        return Call(op, rng.choice([12, 13]), [x], attributes)
    if op == "ReduceSum" or rng.random() < 0.5:
        given(rng, attributes, noop_with_empty_axes=(0.3, lambda: rng.choice([0, 1])))
        return Call(op, 18, [x, *([ints(rng, axes)] if rng.random() < 0.8 else [])], attributes)
    return Call(op, 13, [x], given(rng, attributes, axes=(0.7, lambda: axes)))


@family
def matmul(rng):
    m, k, n = size(rng, 4), size(rng, 4), size(rng, 4)
    batch = [size(rng, 3) for _ in range(rng.randint(0, 2))]
    other = [1 if rng.random() < 0.3 else d for d in batch][rng.choice([0, 0, 1]):]
    a = rng.choice([[*batch, m, k], [k], [*batch, m, k + rarely(rng)]])
    b = rng.choice([[*other, k, n], [k], [n] if rarely(rng) else [k, n]])
    if rng.random() < 0.6:
        return Call("MatMul", rng.choice([9, 13]), [data(rng, a), data(rng, b)])
    transposed = {"transA": rng.choice([0, 1]), "transB": rng.choice([0, 1])}
    a = [k, m] if transposed["transA"] else [m, k]
    b = [n, k + rarely(rng)] if transposed["transB"] else [k, n]
    c = rng.choice([None, [n], [m, n], [1, n], [m, 1], [], [n + 1], [1, 1, n]])
    return Call("Gemm", rng.choice([9, 11, 13]), [data(rng, a), data(rng, b), None if c is None else data(rng, c)], transposed)


@family
def concat_gather(rng):
    rank = rng.randint(1, 3)
    shape, axis = [size(rng, 4) for _ in range(rank)], rng.randint(-rank, rank - 1)
    which = rng.choice(["Concat", "Gather", "GatherElements", "GatherND", "TopK", "CumSum", "OneHot"])
    x = data(rng, shape)
    if which == "Concat":
        others = []
        for _ in range(rng.randint(0, 2)):
            other = [d + rarely(rng, 0.03) for d in shape]
            other[axis] = size(rng, 4)
            others.append(data(rng, other))
        return Call("Concat", rng.choice([7, 11, 13]), [x, *others], {"axis": axis})
    indices = [size(rng, 3) for _ in range(rng.randint(0, 2))]
    if which == "Gather":
        value = rng.randint(-shape[axis] - rarely(rng), max(shape[axis] - 1, 0))
        return Call("Gather", rng.choice([7, 11, 13]), [x, ints(rng, numpy.full(indices, value, I))], {"axis": axis})
    if which == "GatherElements":
        indices = [max(d - rarely(rng) + rarely(rng, 0.03), 0) for d in shape]
        return Call("GatherElements", 13, [x, ints(rng, numpy.zeros(indices, I))], {"axis": axis})
    if which == "GatherND":
        batch = rng.choice([0, 0, 1])
        return Call("GatherND", 13, [x, ints(rng, numpy.zeros([*shape[:batch], *indices, rng.randint(1, rank)], I))], {"batch_dims": batch})
    if which == "TopK":
        k = rng.randint(0, max(shape[axis], 0) + rarely(rng))
        return Call("TopK", 11, [x, ints(rng, k, [] if rarely(rng, 0.05) else [1])], {"axis": axis}, [True, True])
    if which == "CumSum":
        return Call("CumSum", rng.choice([11, 14]), [x, scalar(rng, axis)])
    depth = Operand(numpy.array(rng.choice([[3], 3, 0]) if rarely(rng) else 3, I), rng.random() < 0.6)
    return Call("OneHot", 11, [ints(rng, numpy.ones(shape, I)), depth, floats(rng, [0.0, 1.0])], {"axis": rng.randint(-rank - 1, rank)})


@family
def normalization(rng):
    shape = [size(rng, 3), 4, *(size(rng, 4) for _ in range(rng.choice([0, 1, 2])))]
    channels = shape[1] + rarely(rng, 0.04)
    x, weight = data(rng, shape), data(rng, [channels])
    which = rng.choice(["BatchNormalization", "InstanceNormalization", "GroupNormalization", "LayerNormalization", "RMSNormalization", "LRN", "LpNormalization"])
    if which == "BatchNormalization":
        return Call(which, rng.choice([9, 14, 15]), [x, weight, data(rng, [4]), data(rng, [4]), data(rng, [channels])])
    if which == "InstanceNormalization":
        return Call(which, rng.choice([7, 22]), [x, weight, data(rng, [4])])
    if which == "GroupNormalization":
        groups = rng.choice([1, 2, 4, 3 if rarely(rng) else 2])
        version = rng.choice([18, 21])
        length = channels if version == 21 else groups
        return Call(which, version, [x, data(rng, [length]), data(rng, [length])], {"num_groups": groups})
    if which in ("LayerNormalization", "RMSNormalization"):
        axis = rng.randint(-len(shape), len(shape) - 1)
        scale = data(rng, [d + rarely(rng, 0.03) for d in shape[axis:]])
        return Call(which, 23 if which[0] == "R" else 17, [x, scale], {"axis": axis})
    if which == "LRN":
        return Call(which, 13, [x], {"size": rng.choice([1, 2, 3, 0 if rarely(rng) else 5])})
    return Call(which, rng.choice([7, 22]), [x], given(rng, {}, axis=(0.7, lambda: rng.randint(-3, 2)), p=(0.5, lambda: rng.choice([1, 2, 3]))))


@family
def attention(rng):
    heads, batch, queries, keys, width = rng.choice([1, 2]), size(rng, 2), size(rng, 4), size(rng, 5), rng.choice([4, 8])
    of = rng.choice([1, heads])
    version = rng.choice([23, 24])
    wrong = lambda value: value + rarely(rng, 0.03)
    attributes = given(
        rng, {}, is_causal=(0.3, lambda: rng.choice([0, 1])), scale=(0.2, lambda: rng.choice([0.5, 0.0 if rarely(rng, 0.5) else 1.0])),
        softcap=(0.15, lambda: rng.choice([0.0, 2.0])), qk_matmul_output_mode=(0.1, lambda: rng.choice([0, 1, 2, 3])),
        softmax_precision=(0.15, lambda: rng.choice([1, 10, 11, 16, 0, 7])),
    )
    own = rng.choice([F, F, numpy.float16, numpy.float64])
    masked = rng.choice([own, own, bool, F, numpy.float16, numpy.float64, numpy.int64, numpy.uint8])
    if rng.random() < 0.5:
        attributes |= {"q_num_heads": heads, "kv_num_heads": of}
        operands = [data(rng, [batch, queries, heads * width], own), data(rng, [batch, keys, of * width], own), data(rng, [wrong(batch), keys, of * width], own)]
    else:
        operands = [data(rng, [batch, heads, queries, width], own), data(rng, [batch, of, keys, wrong(width)], own), data(rng, [batch, of, wrong(keys), width], own)]
    mask = rng.choice([None, [queries, keys], [batch, 1, queries, keys], [1, 1, queries, keys], [1, keys], [queries, max(keys - 1, 0)]])
    operands.append(None if mask is None else data(rng, mask, masked))
    wanted = [True]
    if rng.random() < 0.3:
        past = size(rng, 3)
        operands += [data(rng, [batch, of, past, width], own), data(rng, [batch, of, wrong(past), width], own)]
        wanted = rng.choice([[True], [True, True, True], [True, True, True, True]])
    return Call("Attention", version, operands, attributes, wanted)


@family
def sampling(rng):
    which = rng.choice(["GridSample", "Col2Im", "AffineGrid", "DepthToSpace", "SpaceToDepth", "RoiAlign", "MaxRoiPool", "ImageDecoder", "NonMaxSuppression"])
    if which == "GridSample":
        spatial, version = rng.choice([2, 2, 3]), rng.choice([16, 20, 22])
        modes = ["linear", "nearest", "cubic"] if version >= 20 else ["bilinear", "nearest", "bicubic"]
        x = image(rng, spatial)
        grid = data(rng, [x.value.shape[0] + rarely(rng, 0.03), *(size(rng, 4) for _ in range(spatial)), spatial + rarely(rng, 0.05)])
        return Call(which, version, [x, grid], given(rng, {}, mode=(0.7, lambda: rng.choice(modes)), align_corners=(0.2, lambda: 1)))
    if which == "Col2Im":
        block, picture = [rng.randint(1, 2), rng.randint(1, 2)], [rng.randint(1, 4), rng.randint(1, 4)]
        places = max((picture[0] - block[0] + 1) * (picture[1] - block[1] + 1), 0)
        columns = [size(rng, 2), 2 * block[0] * block[1] + rarely(rng, 0.05), places + rarely(rng, 0.05)]
        return Call(which, 18, [data(rng, columns), ints(rng, picture), ints(rng, block)])
    if which == "AffineGrid":
        spatial, batch = rng.choice([2, 3]), size(rng, 2)
        sizes = [batch + rarely(rng, 0.05), size(rng, 3), *(size(rng, 4) for _ in range(spatial))]
        return Call(which, 20, [data(rng, [batch, spatial, spatial + 1]), ints(rng, sizes)])
    if which in ("DepthToSpace", "SpaceToDepth"):
        block = rng.choice([1, 2, 3, 0 if rarely(rng) else 2])
        shape = [size(rng, 2), block * block if which[0] == "D" else 2, *(block * size(rng, 2) + rarely(rng, 0.05) for _ in range(2))]
        return Call(which, 13, [data(rng, shape)], {"blocksize": block})
    if which == "RoiAlign":
        rois = size(rng, 3)
        operands = [image(rng, 2), data(rng, [rois, 4 + rarely(rng, 0.05)]), ints(rng, numpy.zeros([rois + rarely(rng, 0.05)], I))]
        return Call(which, rng.choice([10, 16, 22]), operands, {"output_height": rng.randint(1, 3), "sampling_ratio": rng.choice([0, 2])})
    if which == "MaxRoiPool":
        regions = data(rng, [size(rng, 3), 5])
        regions.value[:] = 0
        return Call(which, rng.choice([7, 22]), [image(rng, 2), regions], {"pooled_shape": listed(rng, 2, 1, 3)})
    if which == "ImageDecoder":
        return Call(which, 20, [data(rng, [size(rng, 20)], numpy.uint8)], given(rng, {}, pixel_format=(0.5, lambda: "BGR")))
    batch, boxes = size(rng, 2), size(rng, 4)
    operands = [data(rng, [batch, boxes, 4]), data(rng, [batch + rarely(rng, 0.05), size(rng, 2), boxes])]
    operands += [scalar(rng, 2), floats(rng, [rng.choice([0.5, 1.5 if rarely(rng, 0.3) else 0.0])]), floats(rng, [0.0])]
    return Call(which, rng.choice([10, 11]), operands[: rng.randint(2, 5)])


@family
def drawn(rng):
    shape = [size(rng, 4) for _ in range(rng.randint(0, 3))]
    which = rng.choice(["Bernoulli", "RandomUniformLike", "RandomNormalLike", "Dropout", "Cast", "Multinomial", "EyeLike", "HannWindow", "Range", "ConstantOfShape"])
    version = rng.choice([15, 16, 21, 22])
    x = data(rng, shape)
    if which == "Cast":
        return Call(which, rng.choice([13, 19, 21, 23, 24, 25]), [x], {"to": rng.randint(1, 25)})
    if which == "Dropout":
        ratio = Operand(numpy.array(rng.choice([0.5, 0.0, 1.0]), F), rng.random() < 0.5)
        training = Operand(numpy.array(rng.random() < 0.5), rng.random() < 0.5)
        return Call(which, rng.choice([12, 13, 22]), [x, ratio, training][: rng.randint(1, 3)], {}, rng.choice([[True], [True, True]]))
    if which == "Multinomial":
        return Call(which, version, [data(rng, [size(rng, 3), size(rng, 3)])], {"sample_size": rng.choice([1, 3, 0])})
    if which == "HannWindow":
        return Call(which, 17, [scalar(rng, rng.choice([0, 1, 8, -1]))])
    if which == "Range":
        return Call(which, 11, [scalar(rng, rng.randint(-3, 3)) for _ in range(3)])
    if which == "ConstantOfShape":
        return Call(which, rng.choice([9, 21]), [ints(rng, [size(rng) for _ in range(rng.randint(0, 3))])])
    attributes = given(rng, {}, dtype=(0.4, lambda: rng.choice([1, 1, 10, 11, 7])))
    return Call(which, version, [x], attributes)
