"""Layers of `torch.nn` and functions of many families, for `check_decomposed.py`: name, module or function, arguments."""

import torch
import torch.nn.functional as F
from decomposable_programs import b, f, i, p

nn = torch.nn


class Autocast(nn.Module):
    """A layer in a region of lower precision."""

    def __init__(self, inner, dtype=torch.bfloat16):
        super().__init__()
        self.inner, self.dtype = inner, dtype

    def forward(self, *xs):
        with torch.autocast("cpu", self.dtype):
            return self.inner(*xs)


class Call(nn.Module):
    """A function in the place of a layer."""

    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *xs):
        return self.function(*xs)


def modules():
    torch.manual_seed(0)
    line, image, volume = f(4, 6, 12), f(4, 6, 8, 10), f(2, 3, 5, 6, 7)
    for group in (windows(image), samples(line, image, volume), pools(line, image, volume), layers(line, image), autocast(line, image),
                  numbers(), selected(), ordered(), linear_algebra(), shapes(image), statistics(), made_of_numbers(), elementwise(), losses()):
        yield from group


def windows(image):
    yield "unfold_image", lambda a: F.unfold(a, 3), (image,)
    yield "unfold_image_strided", lambda a: F.unfold(a, (3, 2), dilation=(1, 2), padding=(2, 1), stride=(2, 3)), (image,)
    yield "unfold_image_unbatched", lambda a: F.unfold(a, 2, stride=2), (image[0],)
    yield "fold_image", lambda a: F.fold(a, (8, 10), 3), (f(2, 18, 48),)
    yield "fold_image_strided", lambda a: F.fold(a, (8, 10), (3, 2), dilation=(1, 2), padding=(2, 1), stride=(2, 3)), (f(2, 18, 20),)
    yield "fold_image_unbatched", lambda a: F.fold(a, (4, 4), 2, stride=2), (f(12, 4),)
    yield "fold_of_unfold", lambda a: F.fold(F.unfold(a, 2, stride=2), (a.shape[2], a.shape[3]), 2, stride=2), (image,)
    yield "tensor_unfold", lambda a: a.unfold(2, 3, 2), (image,)
    yield "tensor_unfold_twice", lambda a: a.unfold(2, 2, 2).unfold(3, 5, 5).sum(-1), (image,)
    yield "as_strided", lambda a: a.as_strided((3, 4), (4, 1)), (f(20),)


def samples(line, image, volume):
    grid, cells = f(4, 5, 7, 2), f(2, 4, 5, 6, 3)
    for mode in ("bilinear", "nearest", "bicubic"):
        for padding in ("zeros", "border", "reflection"):
            yield f"grid_sample_{mode}_{padding}", lambda a, g, m=mode, q=padding: F.grid_sample(a, g, m, q, align_corners=False), (image, grid)
    yield "grid_sample_3d", lambda a, g: F.grid_sample(a, g, align_corners=True), (volume, cells)
    yield "affine_grid", lambda t: F.affine_grid(t, (4, 3, 5, 6), align_corners=False), (f(4, 2, 3),)
    yield "affine_grid_aligned", lambda t, a: F.affine_grid(t, a.shape, align_corners=True), (f(4, 2, 3), image)
    yield "affine_grid_3d", lambda t: F.affine_grid(t, (2, 3, 4, 5, 6), align_corners=False), (f(2, 3, 4),)
    for mode, a in (("nearest", line), ("nearest", image), ("nearest", volume), ("nearest-exact", line), ("nearest-exact", image),
                    ("nearest-exact", volume), ("area", image)):
        label = f"interpolate_{mode}_{a.dim() - 2}d".replace("-", "_")
        yield label, lambda a, m=mode: F.interpolate(a, scale_factor=2, mode=m), (a,)
        yield f"{label}_fraction", lambda a, m=mode: F.interpolate(a, scale_factor=1.5, mode=m, recompute_scale_factor=False), (a,)
        yield f"{label}_size", lambda a, m=mode: F.interpolate(a, size=(5, 6, 7)[: a.dim() - 2], mode=m), (a,)
    for mode, a in (("linear", line), ("bilinear", image), ("bicubic", image), ("trilinear", volume)):
        for aligned in (False, True):
            label = f"interpolate_{mode}{'_aligned' if aligned else ''}"
            yield label, lambda a, m=mode, c=aligned: F.interpolate(a, scale_factor=2, mode=m, align_corners=c), (a,)
            yield f"{label}_fraction", lambda a, m=mode, c=aligned: F.interpolate(a, scale_factor=0.7, mode=m, align_corners=c), (a,)
            yield f"{label}_size", lambda a, m=mode, c=aligned: F.interpolate(a, size=(9, 7, 5)[: a.dim() - 2], mode=m, align_corners=c), (a,)
    yield "interpolate_bilinear_antialias", lambda a: F.interpolate(a, size=(5, 6), mode="bilinear", antialias=True), (image,)
    yield "interpolate_bicubic_half", lambda a: F.interpolate(a, size=(5, 6), mode="bicubic"), (image.half(),)


def pools(line, image, volume):
    yield "adaptive_max_pool1d", nn.AdaptiveMaxPool1d(3), (line,)
    yield "adaptive_max_pool2d", nn.AdaptiveMaxPool2d((3, 4)), (image,)
    yield "adaptive_max_pool3d", nn.AdaptiveMaxPool3d((2, 3, 4)), (volume,)
    yield "adaptive_avg_pool3d", nn.AdaptiveAvgPool3d((2, 3, 4)), (volume,)
    yield "adaptive_avg_pool2d_uneven", nn.AdaptiveAvgPool2d((3, 7)), (image,)
    yield "avg_pool3d", nn.AvgPool3d(2), (volume,)
    yield "avg_pool2d_padding", nn.AvgPool2d(3, 2, 1, ceil_mode=True, count_include_pad=False), (image,)
    yield "lp_pool1d", nn.LPPool1d(2, 3), (line,)
    yield "lp_pool2d", nn.LPPool2d(3, 2), (image,)
    yield "max_pool2d_indices", nn.MaxPool2d(2, return_indices=True), (image,)
    yield "max_pool3d_indices", nn.MaxPool3d(2, return_indices=True), (volume,)
    yield "max_unpool2d", lambda a: F.max_unpool2d(*F.max_pool2d(a, 2, return_indices=True), 2), (image,)
    yield "max_unpool1d", lambda a: F.max_unpool1d(*F.max_pool1d(a, 2, return_indices=True), 2), (line,)
    yield "local_response_norm", nn.LocalResponseNorm(3), (image,)
    for name, layer in (("reflection", nn.ReflectionPad3d(1)), ("replication", nn.ReplicationPad3d(1)), ("circular", nn.CircularPad3d(1))):
        yield f"{name}_pad3d", layer, (volume,)
    yield "zero_pad2d", nn.ZeroPad2d((1, 2, 0, 1)), (image,)
    yield "zero_pad_negative", nn.ZeroPad2d((-1, 2, 0, -1)), (image,)


def layers(line, image):
    for name, layer in (("lstm", nn.LSTM), ("gru", nn.GRU), ("rnn", nn.RNN)):
        yield f"{name}_steps", layer(12, 6), (line,)
        yield f"{name}_batch_first", layer(12, 6, batch_first=True), (line,)
        yield f"{name}_bidirectional", layer(12, 6, num_layers=2, bidirectional=True), (line,)
        yield f"{name}_state", layer(12, 6, batch_first=True), (line, (f(1, 4, 6), f(1, 4, 6)) if layer is nn.LSTM else f(1, 4, 6))
    yield "lstm_packed", Call(packed(nn.LSTM(12, 6, batch_first=True))), (line, torch.tensor([6, 5, 3, 2]))
    yield "multihead_attention", Call(attention(nn.MultiheadAttention(12, 3, batch_first=True).eval())), (line,)
    yield "multihead_attention_weights", Call(attention(nn.MultiheadAttention(12, 3).eval(), True)), (line,)
    yield "encoder_layer", nn.TransformerEncoderLayer(12, 3, 24, batch_first=True).eval(), (line,)
    yield "encoder_layer_train", nn.TransformerEncoderLayer(12, 3, 24, dropout=0.0, batch_first=True), (line,)
    yield "decoder_layer", nn.TransformerDecoderLayer(12, 3, 24, batch_first=True).eval(), (line, f(4, 5, 12))
    yield "embedding", nn.Embedding(10, 4, padding_idx=0), (i(4, 5),)
    yield "embedding_max_norm", lambda n, w: F.embedding(n, w), (i(4, 5), f(10, 4))
    for mode in ("sum", "mean", "max"):
        yield f"embedding_bag_{mode}", nn.EmbeddingBag(10, 4, mode=mode), (i(4, 5),)
        yield f"embedding_bag_{mode}_offsets", nn.EmbeddingBag(10, 4, mode=mode), (i(8), torch.tensor([0, 3, 5]))
    yield "embedding_bag_weights", lambda n, w, v: F.embedding_bag(n, w, per_sample_weights=v, mode="sum"), (i(4, 5), f(10, 4), f(4, 5))
    yield "embedding_bag_padding", nn.EmbeddingBag(10, 4, mode="mean", padding_idx=1, include_last_offset=True), (i(8), torch.tensor([0, 3, 5, 8]))
    yield "bilinear", nn.Bilinear(12, 5, 7), (line, f(4, 6, 5))
    yield "adaptive_log_softmax", Call(nn.AdaptiveLogSoftmaxWithLoss(12, 20, [5, 10]).log_prob), (f(4, 12),)
    yield "batch_norm_train", nn.BatchNorm2d(6), (image,)
    yield "batch_norm_1d_eval", nn.BatchNorm1d(6).eval(), (line,)
    yield "instance_norm_stats", nn.InstanceNorm2d(6, affine=True, track_running_stats=True).eval(), (image,)
    yield "group_norm_layer", nn.GroupNorm(2, 6), (image,)
    yield "layer_norm_2", nn.LayerNorm((8, 10)), (image,)
    yield "rms_norm_layer", nn.RMSNorm(12), (line,)
    yield "weight_norm", nn.utils.parametrizations.weight_norm(nn.Linear(12, 5)), (line,)
    yield "spectral_norm", nn.utils.parametrizations.spectral_norm(nn.Linear(12, 5)).eval(), (line,)
    yield "conv_transpose3d", nn.ConvTranspose3d(3, 4, 2, stride=2, output_padding=1, dilation=2), (f(2, 3, 4, 5, 6),)
    yield "conv_reflect", nn.Conv2d(6, 4, 3, padding=1, padding_mode="reflect"), (image,)
    yield "conv_same", nn.Conv1d(6, 4, 4, padding="same"), (line,)
    yield "rrelu", nn.RReLU().eval(), (line,)
    yield "softmax2d", nn.Softmax2d(), (image,)
    yield "softmin", nn.Softmin(1), (line,)
    yield "gelu_tanh", nn.GELU("tanh"), (line,)
    yield "fractional_max_pool", nn.FractionalMaxPool2d(2, output_size=(4, 5)), (image,)
    yield "dropout_train", nn.Dropout(0.5), (line,)


def packed(layer):
    layer.requires_grad_(False)

    def run(x, lengths):
        sequence = nn.utils.rnn.pack_padded_sequence(x, lengths, batch_first=True)
        return nn.utils.rnn.pad_packed_sequence(layer(sequence)[0], batch_first=True)[0]

    return run


def attention(layer, weights=False):
    return lambda x: layer(x, x, x, need_weights=weights)


def autocast(line, image):
    yield "autocast_linear", Autocast(nn.Linear(12, 5)), (line,)
    yield "autocast_linear_f16", Autocast(nn.Linear(12, 5), torch.float16), (line,)
    yield "autocast_conv", Autocast(nn.Conv2d(6, 4, 3)), (image,)
    yield "autocast_matmul", Autocast(Call(lambda a, c: (a @ c).relu() + a.sum())), (f(4, 6), f(6, 3))
    yield "autocast_mlp", Autocast(nn.Sequential(nn.Linear(12, 8), nn.GELU(), nn.LayerNorm(8), nn.Linear(8, 3))), (line,)
    yield "autocast_attention", Autocast(nn.TransformerEncoderLayer(12, 3, 24, batch_first=True).eval()), (line,)
    yield "autocast_to_float", Autocast(Call(lambda a: F.mse_loss(a.half(), a.half() * 2) + F.softmax(a.bfloat16(), -1).sum())), (line,)
    yield "autocast_widest", Autocast(Call(lambda a: torch.cat([a.bfloat16(), a]) * torch.addcdiv(a, a.bfloat16(), a.bfloat16() + 9).sum())), (f(4, 6),)
    yield "autocast_around", Call(lambda a: Autocast(Call(torch.mm))(a, a.t()) * 2 + a.sum()), (f(4, 6),)
    yield "autocast_nested", Autocast(Call(lambda a: off(a) + torch.mm(a, a.t()))), (f(4, 6),)
    yield "autocast_lstm", Autocast(nn.LSTM(12, 6, batch_first=True)), (line,)


def off(a):
    with torch.autocast("cpu", enabled=False):
        return torch.mm(a, a.t())


def numbers():
    yield "item_product", lambda a, k: a * k.item(), (f(4, 6), torch.tensor(2))
    yield "item_float", lambda a: a * a.sum().item(), (f(4, 6),)
    yield "item_size", item_size, (f(4, 6), torch.tensor(2))
    yield "item_bool", lambda a, k: a + torch.sym_float(k.item()), (f(4, 6), torch.tensor(2))
    yield "tolist", lambda a, k: a[:, :1].expand(a.shape[0], *bounded(k.tolist())), (f(4, 6), torch.tensor([3]))


def item_size(a, k):
    n = k.item()
    torch._check(n >= 0)
    torch._check(n <= 6)
    return a[:, :1].expand(a.shape[0], n) + torch.ones(n)


def bounded(list):
    for size in list:
        torch._check(size >= 0)
        torch._check(size <= 9)
    return list


def selected():
    x = f(4, 6)
    yield "one_hot_classes", lambda n: F.one_hot(n, 7), (i(4, 5),)
    yield "take", torch.take, (x, i(3, 2))
    yield "take_dim", lambda a, n: a.take_along_dim(n), (x, i(3))
    yield "put", lambda a, n, s: torch.put(a, n, s), (x, torch.tensor([1, 5]), f(2))
    yield "put_accumulate", lambda a, n, s: a.put(n, s, accumulate=True), (x, torch.tensor([1, 1]), f(2))
    yield "index_fill_number", lambda a, n: a.index_fill(0, n, 2.5), (x, i(2))
    yield "index_fill_tensor", lambda a, n, v: a.index_fill(1, n, v), (x, i(2), f(()))
    yield "index_select_last", lambda a, n: a.index_select(-1, n), (x, i(3))
    yield "index_put_none", lambda a, n: a.index_put((n,), torch.tensor(1.0)), (x, i(2))
    yield "masked_fill_number", lambda a, m: a.masked_fill(m, 1.5), (x, b(4, 6))
    yield "masked_scatter", lambda a, m, s: a.masked_scatter(m, s), (x, b(4, 6), f(24))
    yield "masked_select", torch.masked_select, (x, b(4, 6))
    yield "nonzero", torch.nonzero, (b(4, 6),)
    yield "argwhere", torch.argwhere, (b(4, 6),)
    yield "scatter_value", lambda a, n: a.scatter(1, n, 2.0), (x, i(4, 3))
    yield "scatter_add", lambda a, n, s: a.scatter_add(1, n, s), (x, i(4, 3), f(4, 3))
    for reduce in ("sum", "prod", "mean", "amax", "amin"):
        for include in (True, False):
            label = f"scatter_reduce_{reduce}{'' if include else '_alone'}"
            yield label, lambda a, n, s, r=reduce, c=include: a.scatter_reduce(1, n, s, r, include_self=c), (x, i(4, 3), f(4, 3))
    yield "index_reduce", lambda a, n, s: a.index_reduce(0, n, s, "amax"), (x, i(3), f(3, 6))
    yield "index_add_alpha", lambda a, n, s: a.index_add(1, n, s, alpha=2), (x, i(3), f(4, 3))
    yield "diagonal_scatter", lambda a, s: torch.diagonal_scatter(a, s), (x, f(4))
    yield "slice_scatter", lambda a, s: torch.slice_scatter(a, s, 1, 1, 3), (x, f(4, 2))
    yield "gather_rows", lambda a, n: a.gather(1, n), (x, i(4, 3))
    yield "tensor_index", lambda a, n: a[n, :, n], (f(4, 6, 5), i(3))
    yield "tensor_mask", lambda a, m: a[m], (x, b(4))
    yield "repeat_interleave_tensor", lambda a, n: a.repeat_interleave(n, 0), (x, torch.tensor([1, 0, 2, 3]))


def ordered():
    x = f(4, 6)
    for name in ("cumsum", "cumprod", "logcumsumexp", "cummax", "cummin"):
        yield name, lambda a, g=getattr(torch, name): g(a, 1), (x,)
    yield "topk", lambda a: a.topk(3), (x,)
    yield "sort_stable", lambda a: a.sort(0, descending=True, stable=True), (x,)
    yield "msort", torch.msort, (x,)
    yield "kthvalue", lambda a: a.kthvalue(2), (x,)
    yield "median", torch.median, (x,)
    yield "median_dim", lambda a: a.median(1), (x,)
    yield "nanmedian", lambda a: a.nanmedian(1), (x,)
    yield "mode", lambda a: a.mode(1), (i(4, 6),)
    yield "quantile", lambda a: a.quantile(0.3, 1), (x,)
    yield "searchsorted", torch.searchsorted, (f(6).sort()[0], f(4))
    yield "bucketize", torch.bucketize, (f(4, 6), f(5).sort()[0])
    yield "histc", lambda a: torch.histc(a, 5), (x,)
    yield "bincount", lambda n: torch.bincount(n, minlength=4), (i(8),)
    yield "unique", torch.unique, (i(8),)
    yield "isin_tensors", torch.isin, (i(4, 2), i(12))
    yield "isin_few", torch.isin, (i(40), i(2))
    yield "isin_number", lambda n: torch.isin(n, 2), (i(4, 2),)
    yield "isin_invert", lambda n, m: torch.isin(n, m, invert=True), (i(4, 2), i(3))
    yield "max_dim", lambda a: a.max(1), (x,)
    yield "argmax_all", lambda a: a.argmax(), (x,)


def linear_algebra():
    x, square = f(4, 6), f(3, 5, 5)
    yield "cross_last", lambda a, c: torch.cross(a, c, -1), (f(4, 3), f(4, 3))
    yield "cross_first", lambda a, c: torch.cross(a, c, 0), (f(3, 4), f(3, 4))
    yield "cross_any", torch.cross, (f(4, 3), f(4, 3))
    yield "cross_broadcast", lambda a, c: torch.linalg.cross(a, c), (f(4, 3), f(1, 3))
    for power in (2.0, 1.0, 3.0, 0.0, float("inf")):
        yield f"cdist_{power}".replace(".0", ""), lambda a, c, q=power: torch.cdist(a, c, q), (f(2, 4, 6), f(2, 5, 6))
    yield "cdist_large", torch.cdist, (f(30, 6), f(28, 6))
    yield "cdist_products", lambda a, c: torch.cdist(a, c, compute_mode="use_mm_for_euclid_dist"), (f(2, 4, 6), f(5, 6))
    yield "pdist", F.pdist, (x,)
    yield "renorm", lambda a: a.renorm(2, 0, 1.0), (x,)
    yield "renorm_half", lambda a: a.renorm(1, 1, 0.5), (x.half(),)
    yield "dist", torch.dist, (x, f(4, 6))
    yield "norm_fro", lambda a: a.norm(), (x,)
    yield "norm_nuc", lambda a: torch.linalg.matrix_norm(a), (square,)
    yield "addr", torch.addr, (x, f(4), f(6))
    yield "addbmm", torch.addbmm, (f(5, 7), f(4, 5, 6), f(4, 6, 7))
    yield "addmm_scaled", lambda a, c, d: torch.addmm(a, c, d, beta=0.5, alpha=2.0), (f(4, 3), x, f(6, 3))
    yield "multi_dot", lambda a, c, d: torch.linalg.multi_dot([a, c, d]), (x, f(6, 3), f(3, 2))
    yield "chain_matmul", lambda a, c: torch.chain_matmul(a, c), (x, f(6, 3))
    yield "matrix_power", lambda a: torch.linalg.matrix_power(a, 3), (square,)
    yield "vecdot", torch.linalg.vecdot, (x, f(4, 6))
    yield "inner", torch.inner, (x, f(3, 6))
    yield "vdot", torch.vdot, (f(6), f(6))
    yield "trace", torch.trace, (f(4, 4),)
    yield "det", torch.det, (square,)
    yield "inverse", torch.inverse, (square,)
    yield "solve", torch.linalg.solve, (square, f(3, 5, 2))
    yield "cholesky", lambda a: torch.linalg.cholesky(a @ a.mT + torch.eye(5)), (square,)
    yield "vander", lambda a: torch.linalg.vander(a, N=4), (f(5),)
    yield "cov", torch.cov, (x,)
    yield "corrcoef", torch.corrcoef, (x,)
    yield "kron_batch", torch.kron, (f(2, 3), f(4, 3, 2))


def shapes(image):
    x = f(4, 6)
    yield "atleast_3d", torch.atleast_3d, (x,)
    yield "atleast_3d_vector", torch.atleast_3d, (f(4),)
    yield "atleast_3d_scalar", torch.atleast_3d, (f(()),)
    yield "atleast_3d_list", lambda a, c: torch.atleast_3d(a, c), (x, f(3))
    yield "atleast_2d_list", lambda a, c: torch.atleast_2d(a, c), (x, f(3))
    yield "column_stack_mixed", lambda a, c: torch.column_stack([a, c]), (x, f(4))
    yield "row_stack", lambda a, c: torch.row_stack([a, c]), (x, f(6))
    yield "dstack", lambda a, c: torch.dstack([a, c]), (x, f(4, 6))
    yield "hsplit", lambda a: torch.hsplit(a, 2), (x,)
    yield "vsplit", lambda a: torch.vsplit(a, (1, 3)), (x,)
    yield "dsplit", lambda a: torch.dsplit(a, 2), (image[..., 0],)
    yield "tensor_split_indices", lambda a: torch.tensor_split(a, (1, 4), 1), (x,)
    yield "tensor_split_open", lambda a: torch.tensor_split(a, 3, 0), (f(7, 3),)
    yield "chunk_static", lambda a: a.chunk(4, 1), (x,)
    yield "split_sizes", lambda a: a.split((1, 2, 3), 1), (x,)
    yield "unbind", lambda a: torch.unbind(a, 1), (x,)
    yield "diag_embed_offset", lambda a: torch.diag_embed(a, 1, 0, 2), (x,)
    yield "diag_embed_below", lambda a: torch.diag_embed(a, -2), (x,)
    yield "diag_make", torch.diag, (f(5),)
    yield "diag_take", torch.diag, (f(5, 6),)
    yield "diagflat", lambda a: torch.diagflat(a), (f(2, 3),)
    yield "diagonal", lambda a: a.diagonal(1), (x,)
    yield "block_diag", lambda a, c: torch.block_diag(a, c), (x, f(2, 3))
    yield "cartesian_prod", lambda a, c: torch.cartesian_prod(a, c), (f(3), f(4))
    yield "combinations", lambda a: torch.combinations(a), (f(4),)
    yield "fftshift", torch.fft.fftshift, (x,)
    yield "ifftshift", lambda a: torch.fft.ifftshift(a, 1), (f(5, 7),)
    yield "roll_all", lambda a: a.roll(3), (x,)
    yield "flip", lambda a: a.flip(0, 1), (x,)
    yield "rot90_two", lambda a: a.rot90(3, (1, 0)), (x,)
    yield "repeat", lambda a: a.repeat(2, 3), (x,)
    yield "tile_longer", lambda a: a.tile(2, 1, 3), (x,)
    yield "expand_front", lambda a: a.expand(3, -1, -1), (x,)
    yield "squeeze_all", lambda a: a[:, None].squeeze(), (x,)
    yield "swapdims", lambda a: a.swapdims(0, 1), (x,)
    yield "H", lambda a: a.H, (x,)
    yield "view_dtype", lambda a: a.view(torch.int32), (x,)
    yield "constant_pad", lambda a: F.pad(a, (1, 1), value=2.0), (x,)


def statistics():
    x = f(4, 6)
    hole = x.where(x > 0, torch.tensor(float("nan")))
    yield "nansum", torch.nansum, (hole,)
    yield "nansum_dim", lambda a: a.nansum(1, keepdim=True), (hole,)
    yield "nansum_half", lambda a: a.nansum(1), (hole.half(),)
    yield "nanmean", torch.nanmean, (hole,)
    yield "nanmean_dim", lambda a: a.nanmean(1), (hole,)
    yield "trapezoid_step", lambda a: torch.trapezoid(a, dx=0.5), (x,)
    yield "trapezoid_places", lambda a, c: torch.trapezoid(a, c), (x, f(6))
    yield "cumulative_trapezoid", lambda a: torch.cumulative_trapezoid(a), (x,)
    yield "prod_all", torch.prod, (x,)
    yield "prod_dim", lambda a: a.prod(1), (x,)
    yield "prod_int", lambda a: a.prod(1), (i(4, 6),)
    yield "count_nonzero_all", torch.count_nonzero, (i(4, 6),)
    yield "aminmax_all", torch.aminmax, (x,)
    yield "std_correction", lambda a: a.std(1, correction=0), (x,)
    yield "var_mean_all", lambda a: torch.var_mean(a), (x,)
    yield "mean_dtype", lambda a: a.mean(0, dtype=torch.float64), (x,)
    yield "any_all", torch.any, (b(4, 6),)
    yield "gradient", lambda a: torch.gradient(a)[0], (x,)
    yield "diff_twice", lambda a: a.diff(n=2, dim=0), (x,)
    yield "diff_prepend", lambda a, c: a.diff(prepend=c), (x, f(4, 1))
    yield "logsumexp_two", lambda a: a.logsumexp((0, 1)), (x,)
    yield "special_logsumexp", lambda a: torch.special.logsumexp(a, 1), (x,)
    yield "allclose", lambda a, c: torch.isclose(a, c, equal_nan=True), (hole, hole.clone())


def made_of_numbers():
    x = f(4, 6)
    yield "linspace_size", lambda a: torch.linspace(-1, 2, a.shape[1]) + a.sum(), (x,)
    yield "linspace_one", lambda a: torch.linspace(-1, 2, 1) + a.sum(), (x,)
    yield "linspace_int", lambda a: torch.linspace(-3, 9, 5, dtype=torch.int64) + a.sum(), (x,)
    yield "logspace", lambda a: torch.logspace(0, 2, 5) + a.sum(), (x,)
    for name in ("hann", "hamming", "blackman", "bartlett", "kaiser"):
        yield f"{name}_window_size", lambda a, g=getattr(torch, f"{name}_window"): g(a.shape[1]) + a, (x,)
        yield f"{name}_window_symmetric", lambda a, g=getattr(torch, f"{name}_window"): g(6, periodic=False) + a, (x,)
    yield "eye_size", lambda a: torch.eye(a.shape[0]) @ a, (x,)
    yield "arange_step", lambda a: torch.arange(0, a.shape[1], 2) + a.sum(), (x,)
    yield "tril_indices_size", lambda a: torch.tril_indices(4, 5, 1) + a.sum(), (x,)
    yield "triu_indices", lambda a: torch.triu_indices(4, 5, -1) + a.sum(), (x,)
    yield "full", lambda a: torch.full((a.shape[0], 2), 1.5) + a.sum(), (x,)
    yield "empty_filled", lambda a: torch.empty(a.shape[0], 2).fill_(3.0) + a.sum(), (x,)
    yield "scalar_tensor", lambda a: torch.tensor(2.5) * a, (x,)
    yield "maximum_out", lambda a, c: torch.maximum(a, c, out=torch.empty_like(a)), (x, f(4, 6))
    yield "add_out", lambda a, c: torch.add(a, c, out=torch.empty_like(c)), (x, f(4, 6))
    yield "matmul_out", lambda a, c: torch.mm(a, c, out=torch.empty(a.shape[0], c.shape[1])), (x, f(6, 3))
    yield "polar", lambda a, c: torch.view_as_real(torch.polar(a, c)), (x, f(4, 6))
    yield "complex_product", lambda a: torch.view_as_real(torch.view_as_complex(a) * torch.view_as_complex(a)), (f(4, 2),)
    yield "rfft", lambda a: torch.view_as_real(torch.fft.rfft(a)), (x,)
    yield "stft", lambda a: torch.view_as_real(torch.stft(a, 16, window=torch.hann_window(16), return_complex=True)), (f(2, 40),)


def elementwise():
    x, y = f(4, 6), f(4, 6)
    one = "digamma lgamma erfinv erfc i0 sinc exp2 log2 signbit isposinf isneginf isreal conj_physical angle rad2deg round trunc frac reciprocal rsqrt tan"
    for name in one.split():
        yield f"f_{name}", getattr(torch, name), (x,)
    for name in "i0e i1 i1e ndtr log_ndtr entr erfcx ndtri xlog1py_self".split():
        if function := getattr(torch.special, name, None):
            yield f"f_special_{name}", function, (p(4, 6),)
    for name in "hypot copysign fmod remainder logaddexp2 fmax fmin atan2 float_power xlogy nextafter ldexp heaviside".split():
        yield f"f_{name}", getattr(torch, name), (x, y)
    yield "f_xlog1py", torch.special.xlog1py, (x, p(4, 6))
    for name in "gcd lcm bitwise_left_shift bitwise_right_shift".split():
        yield f"f_{name}", getattr(torch, name), (i(4, 6), i(4, 6))
    yield "f_round_decimals", lambda a: a.round(decimals=2), (x,)
    yield "f_logit_eps", lambda a: a.logit(eps=0.2), (p(4, 6),)
    yield "f_clamp_tensors", lambda a, c: a.clamp(c - 1, c), (x, y)
    yield "f_where_numbers", lambda a: torch.where(a > 0, 1, 0), (x,)
    yield "f_div_trunc", lambda a, c: torch.div(a, c, rounding_mode="trunc"), (x, y)
    yield "f_pow_base", lambda a: 2 ** a, (x,)
    yield "f_polygamma", lambda a: torch.polygamma(1, a), (p(4, 6),)
    yield "f_mvlgamma", lambda a: torch.mvlgamma(a + 2, 2), (p(4, 6),)
    yield "f_lerp_half", lambda a, c: torch.lerp(a, c, 0.3), (x.half(), y.half())
    yield "f_nan_to_num_values", lambda a: a.nan_to_num(1.0, 2.0, 3.0), (x,)
    yield "f_cumsum_int", lambda a: a.cumsum(0), (i(4, 6),)
    yield "f_floor_divide_number", lambda a: a // 1.5, (x,)
    yield "f_logical", lambda a, c: a.logical_xor(c), (b(4, 6), b(4, 6))
    yield "f_celu", lambda a: F.celu(a, 0.7), (x,)
    yield "f_threshold_int", lambda a: F.threshold(a, 1, 5), (i(4, 6),)
    yield "f_hardtanh", lambda a: F.hardtanh(a, -0.5, 0.7), (x,)
    yield "f_gumbel", lambda a: F.gumbel_softmax(a, hard=True), (x,)


def losses():
    x, target = f(4, 6), i(4)
    yield "multi_margin_loss", F.multi_margin_loss, (x, target)
    yield "multilabel_margin_loss", F.multilabel_margin_loss, (x, i(4, 6))
    yield "multilabel_soft_margin_loss", F.multilabel_soft_margin_loss, (x, p(4, 6))
    yield "gaussian_nll_loss", F.gaussian_nll_loss, (x, f(4, 6), p(4, 6))
    yield "ctc_loss", lambda a, t: F.ctc_loss(a.log_softmax(-1), t, [8, 8], [3, 2]), (f(8, 2, 5), i(2, 3) + 1)
    yield "nll_loss_2d", lambda a, t: F.nll_loss(a, t), (f(2, 5, 4, 4), i(2, 4, 4))
    yield "nll_loss_none", lambda a, t: F.nll_loss(a, t, reduction="none", ignore_index=1), (x, target)
    yield "triplet_distance", nn.TripletMarginWithDistanceLoss(), (x, f(4, 6), f(4, 6))
    yield "huber_none", lambda a, c: F.huber_loss(a, c, reduction="none"), (x, f(4, 6))
    yield "linear_cross_entropy", lambda a, w, t: F.cross_entropy(F.linear(a, w), t, ignore_index=0), (x, f(5, 6), target)
