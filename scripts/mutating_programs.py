"""Programs that write tensors, for the check of functionalization: parameters, buffers and inputs, through views (`mutating_views.py`), in
every way that a training program does. Needs torch 2.15."""

import torch
from torch import nn
from torch.export import Dim

import mutating_views  # noqa: F401, its programs are among the cases
from mutation_cases import CASES, case, x

__all__ = ["CASES"]
F = nn.functional

batch = Dim("batch", min=2, max=64)


@case(x(3), buffers={"count": (3,)})
def buffer_add(self, a):
    self.count.add_(1)
    return a + self.count


@case(x(3), buffers={"count": (3,)})
def buffer_written_twice(self, a):
    self.count.add_(a)
    b = self.count * 2
    self.count.mul_(b)
    return b


@case(x(3), buffers={"one": (3,), "two": (3,)})
def two_buffers(self, a):
    self.two.copy_(self.one + a)
    self.one.zero_()
    return self.two - a


@case(x(3))
def input_written(self, a):
    a.add_(1)
    return a * 2


@case(x(3), x(3), buffers={"state": (3,)})
def input_and_buffer(self, a, b):
    b.mul_(a)
    self.state.add_(b)
    return a - b


@case(x(2, 3))
def input_returned(self, a):
    a.relu_()
    return a


@case(x(3, 4))
def masked(self, a):
    b = a.clone()
    b.masked_fill_(b > 0, -1)
    b[b < -0.5] = 3
    return b


@case(x(5, 3), torch.tensor([0, 2]))
def indexed(self, a, at):
    b = a.clone()
    b[at] = 0.5
    b.index_add_(0, at, a[:2])
    b.index_fill_(0, at, 2)
    return b


@case(x(3, 5), torch.tensor([[0, 1], [2, 0], [1, 1]]))
def scattered(self, a, at):
    b = a.clone()
    b.scatter_(1, at, 0.25)
    b.scatter_add_(1, at, a[:, :2])
    return b


@case(x(3))
def activations(self, a):
    b = a.clone()
    F.relu(b, inplace=True)
    c = F.hardtanh(a.clone(), inplace=True)
    d = F.leaky_relu(a.clone(), 0.1, inplace=True)
    e = F.silu(a.clone(), inplace=True)
    f = F.elu(a.clone(), inplace=True)
    return b, c, d, e, f


@case(x(3, 4))
def arithmetic(self, a):
    b = a.clone()
    b.add_(a, alpha=2).sub_(1).mul_(a).div_(3).pow_(2).neg_().clamp_(-2, 2).abs_().sqrt_()
    b += 1
    b *= a
    b -= 2
    b /= 3
    return b


@case(x(3))
def unary(self, a):
    b = a.clone()
    b.sin_().cos_().tanh_().exp_().sigmoid_().floor_().ceil_().round_().reciprocal_()
    return b


@case(x(3))
def filled(self, a):
    b = torch.empty(3)
    b.fill_(2)
    c = torch.zeros(3)
    c[1] = 4
    d = torch.ones_like(a).zero_()
    return b, c, d


@case(x(2, 3), x(3, 2), x(2, 2))
def products(self, a, b, c):
    d = c.clone()
    d.addmm_(a, b)
    e = c.clone()
    e.addcmul_(c, c, value=0.5).addcdiv_(c, c.abs() + 1).lerp_(c, 0.25)
    return d, e


@case(x(3), x(3))
def out_variant(self, a, b):
    out = torch.empty(3)
    torch.add(a, b, out=out)
    return out * 2


@case(x(4))
def size_changing(self, a):
    b = a.clone()
    b.unsqueeze_(0)
    b.add_(1)
    b.squeeze_(0)
    return b


@case(x(2, 3))
def transposed_in_place(self, a):
    b = a.clone()
    c = b[0]
    b.t_()
    b[1].add_(7)
    return b, c


@case(x(2, 3), buffers={"average": (3,)})
def no_grad_update(self, a):
    with torch.no_grad():
        self.average.mul_(0.9).add_(a.mean(0), alpha=0.1)
    return a - self.average


@case(x(2, 3), parameters={"weight": (3,)})
def parameter_under_no_grad(self, a):
    with torch.no_grad():
        self.weight.mul_(0.5)
    return a * self.weight


@case(x(2, 3, 4, 4), modules={"norm": lambda: nn.BatchNorm2d(3)})
def batch_norm_train(self, a):
    return self.norm(a)


@case(x(2, 3, 4, 4), modules={"norm": lambda: nn.BatchNorm2d(3)}, train=False)
def batch_norm_eval(self, a):
    return F.relu_(self.norm(a))


@case(x(4, 3), modules={"one": lambda: nn.BatchNorm1d(3), "two": lambda: nn.BatchNorm1d(3, momentum=0.3)})
def batch_norms_in_a_row(self, a):
    return self.two(F.relu(self.one(a), inplace=True))


@case(x(2, 3, 6, 6), modules={"net": lambda: nn.Sequential(
    nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(inplace=True), nn.Conv2d(4, 2, 1), nn.BatchNorm2d(2), nn.ReLU6(inplace=True))})
def convolutional(self, a):
    return self.net(a).mean((2, 3))


@case(x(3, 4), modules={"drop": lambda: nn.Dropout(0.5)})
def dropout_train(self, a):
    return F.relu_(self.drop(a) + 1)


@case(x(3, 4), modules={"drop": lambda: nn.Dropout(0.5, inplace=True)}, train=False)
def dropout_eval(self, a):
    return self.drop(a + 1).mul_(2)


@case(x(3, 4))
def random_in_place(self, a):
    b = a.clone().bernoulli_(0.5)
    c = torch.empty(3).normal_(1, 2)
    return b, c


@case(x(4, 3), buffers={"state": (3,)}, shapes=({0: batch},))
def dynamic_batch(self, a):
    self.state.copy_(a.sum(0))
    b = a * 2
    b[0].add_(self.state)
    b.view(-1).mul_(2)
    return b


@case(x(4, 3), shapes=({0: Dim("rows", min=3, max=64)},))
def dynamic_slices(self, a):
    b = a.clone()
    b[1:] = a[:-1]
    b[:, 0] = 0
    return b


@case(x(4, 3), shapes=({0: batch},))
def dynamic_input_written(self, a):
    a.reshape(-1).add_(1)
    a.t()[0].zero_()
    return a.sum(1)


@case(x(4, 3), shapes=({0: batch},))
def written_in_a_branch(self, a):
    def one(a):
        b = a.clone()
        b[0].add_(1)
        return b.sum()

    return torch.cond(a.sum() > 0, one, lambda a: a.sum() * 2, (a,))


@case(x(1, 2, 4), buffers={"cache": torch.zeros(1, 8, 4), "at": torch.zeros((), dtype=torch.int64)})
def cache_update(self, a):
    self.cache[:, 2:4] = a
    self.at.add_(2)
    return self.cache.sum(1) + self.at


@case(x(2, 3), buffers={"cache": torch.zeros(4, 3)})
def index_copy(self, a):
    self.cache.index_copy_(0, torch.tensor([1, 3]), a)
    return self.cache * 1


@case(x(3), buffers={"hidden": (3,)})
def detached(self, a):
    self.hidden.copy_((self.hidden + a).detach())
    b = a.detach()
    return b + self.hidden


@case([x(2), x(2)], {"k": x(2)})
def containers_written(self, items, named):
    items[1].add_(items[0])
    named["k"].mul_(2)
    return {"sum": items[1] + named["k"], "first": items[0]}


@case([x(2), x(2, 3)])
def for_each(self, items):
    made = [item.clone() for item in items]
    torch._foreach_add_(made, 1)
    torch._foreach_mul_(made, made)
    return made


@case(x(3, 3), buffers={"steps": torch.zeros((), dtype=torch.int64)})
def counter(self, a):
    self.steps += 1
    return a / self.steps
