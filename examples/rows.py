from torch.fx.experimental.dynamic_spec import ParamsSpec, ShapesSpec, ShapeVar, TensorSpec

b = ShapeVar("b", min=2, max=128)
n = ShapeVar("n")

dynamic_shapes = ShapesSpec(
    params=ParamsSpec({
        "x": TensorSpec([b, 3]),
        "y": TensorSpec([n, 3]),
    }),
)
