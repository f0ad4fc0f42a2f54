"""Writes the programs of tests/users.rs: what users of torch.export run into, one small module each.

    python scripts/make_user_programs.py tests/data/users

needs torch (2.15 wrote the committed files). The tests need only the files. From the archives that torch.export.save writes, weights,
constants and sample inputs are left out, and stack traces name this file `model.py`.
"""
import io
import os
import re
import sys
import zipfile

import torch
from torch.export import Dim, export, save

AUTO, DYNAMIC = Dim.AUTO, Dim.DYNAMIC


PROGRAMS = {}


def program(dynamic_shapes, *inputs, **options):
    """Registers a module with its example inputs and the shapes under which torch exports it."""

    def register(cls):
        PROGRAMS[cls.__name__] = (cls, dynamic_shapes, inputs, options)
        return cls

    return register


def ones(*sizes):
    return torch.ones(*sizes)


@program({"x": [AUTO], "y": [AUTO]}, ones(12), ones(10))
class product_over_100(torch.nn.Module):
    def forward(self, x, y):
        if x.shape[0] * y.shape[0] > 100:
            return x + 1, y
        return x - 1, y


@program({"x": [AUTO], "y": [AUTO]}, ones(6), ones(10))
class sum_divisible_by_4(torch.nn.Module):
    def forward(self, x, y):
        if (x.shape[0] + y.shape[0]) % 4 == 0:
            return x + 1, y
        return x - 1, y


@program({"x": [AUTO], "y": [AUTO]}, ones(6), ones(10))
class sizes_differ(torch.nn.Module):
    def forward(self, x, y):
        if x.shape[0] != y.shape[0]:
            return x + 1, y
        return x - 1, y


@program({"x": [AUTO]}, ones(7))
class remainder_1_of_3(torch.nn.Module):
    def forward(self, x):
        if x.shape[0] % 3 == 1:
            return x + 1
        return x - 1


@program({"x": [AUTO], "y": [AUTO]}, ones(12), ones(20))
class sum_is_32(torch.nn.Module):
    def forward(self, x, y):
        if x.shape[0] + y.shape[0] == 32:
            return x + 1, y
        return x - 1, y


@program({"x": [AUTO, None]}, ones(6, 4))
class reshape_pairs(torch.nn.Module):
    def forward(self, x):
        return x.reshape(-1, 2, 4)


@program({"x": [AUTO], "y": [AUTO]}, ones(6), ones(10))
class less_than(torch.nn.Module):
    def forward(self, x, y):
        if x.shape[0] < y.shape[0]:
            return x + 1, y
        return x - 1, y


@program({"x": [AUTO]}, ones(4))
class odd_thirds(torch.nn.Module):
    def forward(self, x):
        if (x.shape[0] // 3) % 2 == 1:
            return x + 1
        return x - 1


@program({"x": [AUTO]}, ones(6))
class parity(torch.nn.Module):
    def forward(self, x):
        if x.shape[0] % 2 == 0:
            return x + 1
        return x - 1


@program({"x": [AUTO, None]}, ones(1, 4))
class batch_of_one(torch.nn.Module):
    def forward(self, x):
        return x * 2


@program({"x": [AUTO, None]}, ones(20, 4))
class fifths(torch.nn.Module):
    def forward(self, x):
        return x.narrow(0, 0, x.shape[0] // 5 * 5).reshape(5, x.shape[0] // 5, 4).sum(0)


@program({"x": [AUTO]}, ones(20))
class not_one_fifth(torch.nn.Module):
    def forward(self, x):
        if x.shape[0] // 5 != 1:
            return x + 1
        return x - 1


@program({"x": [AUTO]}, ones(6))
class parabola_not_negative(torch.nn.Module):
    def forward(self, x):
        n = x.shape[0]
        if n * (32 - n) >= 0:
            return x + 1
        return x - 1


@program({"x": [AUTO]}, ones(6))
class parabola_as_size(torch.nn.Module):
    def forward(self, x):
        n = x.shape[0]
        return torch.ones(n * (32 - n)) + x.sum()


@program({"x": [2 * Dim("half", min=1, max=32)], "y": [Dim("half", min=1, max=32)]}, ones(12), ones(6))
class twice(torch.nn.Module):
    def forward(self, x, y):
        return x.reshape(2, -1) + y


@program(None, torch.tensor(7), ones(128))
class item_with_checks(torch.nn.Module):
    def forward(self, x, y):
        u = x.item()
        torch._check(u >= 2)
        torch._check(u <= 100)
        return y[:u], torch.ones(u, 3)


@program({"x": None, "y": [AUTO]}, torch.tensor(3), ones(12))
class slice_by_item(torch.nn.Module):
    def forward(self, x, y):
        return y[: x.item()]


@program({"x": None, "y": [AUTO]}, torch.tensor(3), ones(12))
class slice_by_checked_item(torch.nn.Module):
    def forward(self, x, y):
        u = x.item()
        torch._check(u >= 0)
        torch._check(u <= y.shape[0])
        return y[:u]


@program({"x": [Dim("n", min=1, max=100)]}, ones(13))
class pad_to_8(torch.nn.Module):
    def forward(self, x):
        n = x.shape[0]
        return torch.nn.functional.pad(x, (0, (n + 7) // 8 * 8 - n))


@program({"x": [Dim("n", min=0, max=64)]}, ones(6), prefer_deferred_runtime_asserts_over_guards=True)
class deferred_parity(torch.nn.Module):
    def forward(self, x):
        if x.shape[0] % 2 == 0:
            return x + 1
        return x - 1


@program({"x": [AUTO], "y": [AUTO]}, ones(6), ones(6))
class equal_examples(torch.nn.Module):
    def forward(self, x, y):
        return x.sum() + y


@program({"x": [AUTO], "y": [AUTO]}, ones(6), ones(6))
class must_be_equal(torch.nn.Module):
    def forward(self, x, y):
        return x + y


@program({"x": [AUTO], "y": [AUTO]}, ones(7), ones(6))
class one_more(torch.nn.Module):
    def forward(self, x, y):
        return x[1:] + y


@program({"x": [AUTO]}, ones(6))
class made_constant(torch.nn.Module):
    def forward(self, x):
        return x + torch.ones(6)


@program({"x": [AUTO]}, ones(9))
class at_least_6(torch.nn.Module):
    def forward(self, x):
        if x.shape[0] >= 6:
            return x[:6]
        return x


@program({"x": [AUTO]}, ones(9))
class checked_size(torch.nn.Module):
    def forward(self, x):
        torch._check(x.shape[0] % 3 == 0)
        torch._check(x.shape[0] <= 30)
        return x.reshape(-1, 3) if x.shape[0] > 3 else x


@program({"tree": {"ids": [AUTO, AUTO], "masks": [[AUTO, None], (AUTO, None)]}, "scale": AUTO}, {"ids": ones(3, 5), "masks": [ones(3, 2), ones(5, 2)]}, 4)
class nested_inputs(torch.nn.Module):
    def forward(self, tree, scale):
        return tree["ids"] * scale, tree["masks"][0] + 1, tree["masks"][1]


@program({"x": [AUTO]}, ones(12))
class three_causes(torch.nn.Module):
    def forward(self, x):
        n = x.shape[0]
        if n % 4 == 0:
            x = x + 1
        if n >= 10:
            x = x * 2
        return x.reshape(-1, 3)


@program({"x": [AUTO, AUTO], "past": [AUTO, AUTO]}, ones(2, 3), ones(2, 5))
class fixed_batch(torch.nn.Module):
    def forward(self, x, past):
        rows = x.reshape(2, x.shape[1])
        return torch.cat([past, rows], 1)


@program({"x": [AUTO, AUTO, None], "past": [AUTO, AUTO, None], "mask": [AUTO, AUTO]}, ones(2, 3, 8), ones(2, 5, 8), ones(3, 8))
class attention_with_past(torch.nn.Module):
    def forward(self, x, past, mask):
        keys = torch.cat([past, x], 1)
        return torch.nn.functional.scaled_dot_product_attention(x, keys, keys, attn_mask=mask)


@program({"image": [AUTO, None, AUTO, AUTO]}, ones(2, 1, 33, 37))
class tiles(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first = torch.nn.Conv2d(1, 2, 3, stride=2, padding=1)
        self.second = torch.nn.Conv2d(2, 2, 5)

    def forward(self, image):
        x = self.second(self.first(image)).flatten(0, 1)
        batch, height, width = x.shape
        x = torch.nn.functional.pad(x, (0, -width % 4, 0, -height % 4))
        rows, columns = x.shape[1] // 4, x.shape[2] // 4
        return x.reshape(batch, rows, 4, columns, 4).permute(0, 1, 3, 2, 4).reshape(batch, rows * columns, 16)


@program({"x": [AUTO], "y": [AUTO]}, ones(5), ones(5))
class prefix_of(torch.nn.Module):
    def forward(self, x, y):
        return x + y[: x.shape[0]] if y.shape[0] >= x.shape[0] else x


@program({"x": [AUTO, AUTO, None], "mask": [AUTO, AUTO]}, ones(2, 32, 4), ones(2, 32))
class blocks_of_8(torch.nn.Module):
    def forward(self, x, mask):
        batch, length, channels = x.shape
        blocks = x.view(batch, length // 8, 8, channels)
        scores = blocks @ blocks.transpose(-1, -2) + mask.view(batch, length // 8, 1, 8)
        return (scores.softmax(-1) @ blocks).reshape(batch, length, channels)


@program({"x": [AUTO, AUTO, AUTO, None]}, ones(2, 8, 12, 4))
class patches_of_2(torch.nn.Module):
    def forward(self, x):
        batch, height, width, channels = x.shape
        x = x.view(batch, height // 2, 2, width // 2, 2, channels).permute(0, 1, 3, 2, 4, 5)
        return x.reshape(batch, (height // 2) * (width // 2), 4 * channels)


@program({"x": [AUTO, AUTO], "h": None, "w": None}, ones(2, 12), torch.tensor(3), torch.tensor(4))
class image_tokens(torch.nn.Module):
    def forward(self, x, h, w):
        height, width = h.item(), w.item()
        torch._check(height >= 2)
        torch._check(width >= 2)
        torch._check(height * width == x.shape[1])
        return x.view(x.shape[0], height, width)


@program({"x": [AUTO, AUTO], "y": [AUTO, AUTO]}, ones(4, 10), ones(4, 10))
class sum_of_two(torch.nn.Module):
    def forward(self, x, y):
        z = x + y
        return z * 2


@program({"x": [4 * Dim("k", min=1, max=20), None]}, ones(12, 3))
class quarters(torch.nn.Module):
    def forward(self, x):
        if x.shape[0] % 4 == 0:
            return x.reshape(4, -1)
        return x.reshape(-1)


@program({"x": [AUTO, None, AUTO]}, ones(2, 3, 512))
class pooled_thrice(torch.nn.Module):
    def forward(self, x):
        x = torch.nn.functional.avg_pool1d(x, 5, 5)
        x = torch.nn.functional.avg_pool1d(x, 5, 5)
        return torch.nn.functional.avg_pool1d(x, 2, 1)


@program({"x": [AUTO, AUTO]}, ones(5, 5))
class one_shape(torch.nn.Module):
    """Three guards that leave one shape."""

    def forward(self, x):
        rows, columns = x.shape
        if rows > columns:
            return x + 1
        if rows < columns:
            return x - 1
        return x * 2 if rows + columns != 10 else x * 3


@program({"x": [AUTO, AUTO]}, ones(10, 12))
class windows_of_2(torch.nn.Module):
    def forward(self, x):
        h, w = x.shape[0] // 2, x.shape[1] // 2
        y = x[: 2 * h, : 2 * w].reshape(-1, 4)
        return y + 1 if h * w != 16 else y - 1


@program({"x": {2: AUTO, 3: AUTO}, "z": {2: AUTO, 3: AUTO}, "y": [AUTO]}, ones(1, 3, 40, 60), ones(1, 3, 28, 42), ones(24))
class scaled_by_07(torch.nn.Module):
    def forward(self, x, z, y):
        return torch.nn.functional.interpolate(x, scale_factor=0.7) + z, y.view(-1, 8).sum(1)


@program({"x": [AUTO, AUTO], "y": [AUTO]}, ones(4, 3), ones(5))
class mapped(torch.nn.Module):
    def forward(self, x, y):
        return torch.vmap(lambda a, b: torch.outer(a, b).sum(0), in_dims=(0, None))(x, y)


@program({"x": {0: AUTO, 2: AUTO, 3: AUTO}}, ones(2, 4, 6, 8).to(memory_format=torch.channels_last))
class pixels_as_rows(torch.nn.Module):
    def forward(self, x):
        return x.permute(0, 2, 3, 1).view(-1, x.shape[1])


KEPT = re.compile(r"(^|/)(models/[^/]*\.json|archive_format|archive_version|byteorder|version|\.data/.*)$")
LEFT_OUT = re.compile(r"sample_inputs|weights|constants")


def strip(data, script=os.path.abspath(__file__)):
    """The archive without tensors, its stack traces naming model.py instead of the script that made it."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as source, zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as target:
        for name in source.namelist():
            inner = name.split("/", 1)[-1]
            if not KEPT.search(inner) or LEFT_OUT.search(inner):
                continue
            content = source.read(name)
            if name.endswith(".json"):
                text = content.decode()
                text = re.sub(r'File \\+"[^"\\]*make_(user|report|contract)_programs\.py\\+"', lambda m: 'File \\"model.py\\"', text)
                text = re.sub(r'File \\+"[^"\\]*/(site-packages|lib)/', lambda m: 'File \\"', text)
                text = text.replace(script, "model.py").replace(__file__, "model.py")
                content = text.encode()
            info = zipfile.ZipInfo(name, date_time=(2026, 1, 1, 0, 0, 0))
            info.compress_type = zipfile.ZIP_DEFLATED
            target.writestr(info, content)
    return out.getvalue()


def main():
    folder = sys.argv[1]
    os.makedirs(folder, exist_ok=True)
    for name, (cls, shapes, inputs, options) in PROGRAMS.items():
        exported = export(cls(), inputs, dynamic_shapes=shapes, **options)
        buffer = io.BytesIO()
        save(exported, buffer)
        with open(os.path.join(folder, name + ".pt2"), "wb") as file:
            file.write(strip(buffer.getvalue()))
        print(name, exported.range_constraints, getattr(exported, "_guards_code", ""))


if __name__ == "__main__":
    main()
