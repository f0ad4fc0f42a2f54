"""Programs that write tensors through views. Needs torch 2.15."""

import torch

from mutation_cases import case, x


@case(x(4, 4))
def row_written(self, a):
    b = a * 1
    b[0].add_(5)
    return b


@case(x(4, 4))
def row_of_input(self, a):
    a[1].mul_(3)
    return a.sum(0)


@case(x(4, 6))
def slice_written(self, a):
    b = a + 0
    b[:, 1:4].zero_()
    return b


@case(x(4, 6))
def strided_slice_written(self, a):
    b = a.clone()
    b[::2, 1::3] = 7.0
    return b


@case(x(4, 6))
def slice_assigned_tensor(self, a):
    b = a.clone()
    b[1:3] = a[0:2] * 2
    return b, b[2]


@case(x(4, 4))
def diagonal_written(self, a):
    b = a.clone()
    b.diagonal().fill_(0)
    return b


@case(x(2, 3, 4))
def view_of_view(self, a):
    b = a.clone()
    b[1].t()[2].add_(10)
    return b


@case(x(2, 3, 4))
def flattened(self, a):
    b = a.clone()
    b.view(-1)[3:9].mul_(2)
    return b


@case(x(2, 3, 4))
def reshaped_view(self, a):
    b = a * 2
    b.reshape(6, 4).add_(1)
    return b


@case(x(3, 4))
def reshaped_copy(self, a):
    b = a * 2
    c = b.t().reshape(-1)
    c.add_(1)
    return b, c


@case(x(3, 4))
def flatten_of_input(self, a):
    a.flatten().sub_(1)
    return a.sum()


@case(x(2, 3, 4))
def permuted(self, a):
    b = a + 1
    b.permute(2, 0, 1)[0].zero_()
    return b


@case(x(2, 3, 4))
def transposed(self, a):
    b = a + 1
    b.transpose(0, 2).mul_(2)
    return b


@case(x(2, 3, 4))
def movedim(self, a):
    b = a + 1
    b.movedim(0, 2)[1].add_(2)
    return b


@case(x(1, 3, 1))
def squeezed(self, a):
    b = a + 1
    b.squeeze()[0].add_(2)
    b.squeeze(0).mul_(3)
    return b


@case(x(3, 2))
def unsqueezed(self, a):
    b = a + 1
    b.unsqueeze(1)[0, 0].add_(2)
    return b


@case(x(5, 4))
def split_written(self, a):
    b = a + 1
    first, second, third = b.split(2)
    second.zero_()
    third.add_(first[0])
    return b, first


@case(x(6, 4))
def chunk_written(self, a):
    b = a + 1
    first, second = b.chunk(2, dim=1)
    first.copy_(second)
    return b


@case(x(3, 4))
def unbind_written(self, a):
    b = a + 1
    rows = b.unbind(0)
    rows[2].mul_(rows[0])
    rows[0].add_(1)
    return b, rows[1]


@case(x(6, 2))
def split_with_sizes_written(self, a):
    b = a + 1
    parts = torch.split(b, [1, 2, 3])
    parts[1].fill_(4)
    return b


@case(x(4, 5))
def narrowed(self, a):
    b = a + 1
    b.narrow(1, 1, 3).zero_()
    return b


@case(x(4, 5))
def strided(self, a):
    b = a + 1
    torch.as_strided(b, (2, 2), (5, 2), 1).fill_(9)
    return b


@case(x(3, 2))
def complex_parts(self, a):
    b = a + 1
    torch.view_as_complex(b).mul_(2)
    return b


@case(x(3))
def of_another_dtype(self, a):
    b = a.to(torch.float32)
    b.add_(1)
    c = a.to(torch.float64)
    c.add_(1)
    return b, c


@case(x(3), torch.arange(3))
def promoted(self, a, b):
    c = b + 1
    c.add_(2)
    d = a.clone()
    d.add_(b)
    d.mul_(torch.tensor([2.0, 3.0, 4.0], dtype=torch.float64))
    return c, d


@case(x(3, 4))
def contiguous_of_itself(self, a):
    b = a + 1
    b.contiguous().add_(1)
    c = b.t().contiguous()
    c.zero_()
    return b, c


@case(x(3, 4))
def alias_chain(self, a):
    b = a + 1
    c, d = b.view(12), b[1:]
    c.add_(1)
    d.mul_(2)
    c[0] = 100
    return b, c, d


@case(x(3, 4))
def view_read_after_write(self, a):
    b = a + 1
    row = b[0]
    before = row * 1
    b.add_(5)
    return row, before


@case(x(3, 4))
def returned_view_of_input(self, a):
    a.add_(1)
    return a[0], a.t()
