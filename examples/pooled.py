batch = Dim("batch", min=1, max=64)
time = Dim("time", min=50, max=4096)

dynamic_shapes = {"x": (batch, None, time)}
