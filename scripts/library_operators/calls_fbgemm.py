"""Calls of fbgemm's operators on jagged tensors and sparse features. An extension built for another torch may miss symbols; FBGEMM_PRELOAD
names a library that has them."""
import ctypes
import os
from importlib.metadata import version

import torch

if "FBGEMM_PRELOAD" in os.environ:
    ctypes.CDLL(os.environ["FBGEMM_PRELOAD"], mode=ctypes.RTLD_GLOBAL)
import fbgemm_gpu  # noqa: E402
from tensors import b8, f16, f32, f64, i32, i64, of  # noqa: E402

LIBRARY = f"fbgemm-gpu-cpu {version('fbgemm-gpu-cpu')}"
X = of(0, 2, 5)
LENGTHS = of(2, 3, 1, 4, 2, 2)


def fb(name, *args, **kwargs):
    return (f"fbgemm.{name}.default", *args, kwargs)


def two(name, *more):
    """The calls of an operator of a jagged and dense tensors."""
    dense = lambda *sizes: tuple(f32(*sizes) for _ in more)
    return [
        fb(name, f32(5, 4), [X], *dense(2, 3, 4)),
        fb(name, f64(5, 4), [X], *(d.double() for d in dense(2, 3, 4))),
        fb(name, f32(5, 4), [X], *dense(3, 3, 4)),
        fb(name, f32(5, 4), [X], *dense(2, 3, 5)),
        fb(name, f32(5, 4), [X], *dense(2, 3)),
        fb(name, f32(5), [X], *dense(2, 3, 4)),
        fb(name, f32(5, 4), [X, X], *dense(2, 3, 4)),
    ]


CALLS = [
    *(call for name in ("jagged_to_padded_dense", "jagged_to_padded_dense_forward") for call in (
        fb(name, f32(5, 4), [X], [3], 0.0),
        fb(name, f32(5, 4), [X], [3]),
        fb(name, f16(5), [X], [2], 1.0),
        fb(name, i64(5), [X.to(torch.int32)], [3], 0.0),
        fb(name, f32(5, 4), [of(0, 1, 2), X], [2, 3]),
        fb(name, f32(5, 4), [X, X], [3]),
        fb(name, f32(5, 4), [X], [3, 3]),
        fb(name, f32(5, 4, 2), [X], [3]),
        fb(name, f32(5, 4), [], []),
        fb(name, f32(5, 4), [X], [-1]),
    )),
    fb("jagged_to_padded_dense_backward", f32(2, 3, 4), [X], 5),
    fb("jagged_to_padded_dense_backward", f32(2, 3), [X], 5),
    fb("jagged_to_padded_dense_backward", f32(2, 2, 3, 4), [X], 5),
    fb("jagged_to_padded_dense_backward", f32(3, 3, 4), [X], 5),
    fb("dense_to_jagged", f32(2, 3, 4), [X]),
    fb("dense_to_jagged", f32(2, 3, 4), [X], 5),
    fb("dense_to_jagged", f32(3, 3, 4), [X], 5),
    fb("dense_to_jagged", f32(2, 3), [X], 5),
    fb("dense_to_jagged_forward", f32(2, 3, 4), [X]),
    fb("dense_to_jagged_forward", f32(2, 3, 4), [X], 5),
    fb("dense_to_jagged_forward", f32(3, 3, 4), [X], 5),
    fb("dense_to_jagged_forward", f32(2, 3), [X], 5),
    fb("dense_to_jagged_forward", f32(2, 3, 4), [X, X], 5),
    fb("jagged_1d_to_dense", f32(5), X, 3, 0),
    fb("jagged_1d_to_dense", i64(5), X, 3, 0),
    fb("jagged_1d_to_dense", f32(5, 4), X, 3, 0),
    fb("jagged_1d_to_dense", f32(5), X.view(3, 1), 3, 0),
    fb("jagged_1d_to_dense", f32(5), X, 0, 0),
    fb("jagged_1d_to_dense", f32(5), X, -1, 0),
    fb("jagged_2d_to_dense", f32(5, 4), X, 3),
    fb("jagged_2d_to_dense", f16(5, 4), X, 2),
    fb("jagged_2d_to_dense", f32(5), X, 3),
    fb("jagged_2d_to_dense", f32(5, 4), X.view(3, 1), 3),
    fb("jagged_2d_to_dense", f32(5, 4), X, 0),
    fb("jagged_2d_to_dense", f32(5, 4), X, -1),
    *two("jagged_dense_elementwise_add", 1),
    *two("jagged_dense_elementwise_add_jagged_output", 1),
    *two("jagged_dense_elementwise_mul", 1),
    *two("jagged_dense_elementwise_mul_forward", 1),
    *two("jagged_dense_dense_elementwise_add_jagged_output", 1, 2),
    *two("jagged_dense_dense_elementwise_add_jagged_output_forward", 1, 2),
    fb("jagged_dense_elementwise_mul_backward", f32(5, 4), [X], f32(2, 3, 4), f32(5, 4)),
    fb("jagged_dense_elementwise_mul_backward", f32(5, 4), [X], f32(2, 3, 5), f32(5, 4)),
    *(call for name in ("batched_dense_vec_jagged_2d_mul", "batched_dense_vec_jagged_2d_mul_forward") for call in (
        fb(name, f32(2, 3), f32(5, 4), X),
        fb(name, f32(6, 3), f32(5, 12), X),
        fb(name, f32(3, 3), f32(5, 4), X),
        fb(name, f32(2, 3, 1), f32(5, 4), X),
        fb(name, f32(2, 3), f32(5), X),
    )),
    fb("batched_dense_vec_jagged_2d_mul_backward", f32(2, 4), f32(2, 3), f32(5, 4), X),
    *(call for name in ("jagged_dense_bmm", "jagged_dense_bmm_forward") for call in (
        fb(name, f32(5, 4), X, f32(2, 4, 6), 3),
        fb(name, f64(5, 4), X, f64(2, 4, 6), 3),
        fb(name, f32(5), X, f32(2, 4, 6), 3),
    )),
    *(call for name in ("jagged_jagged_bmm", "jagged_jagged_bmm_forward") for call in (
        fb(name, f32(5, 4), f32(5, 6), X, 3),
        fb(name, f64(5, 4), f64(5, 6), X, 3),
        fb(name, f32(5), f32(5, 6), X, 3),
    )),
    *(call for name in ("jagged_softmax", "jagged_softmax_forward") for call in (
        fb(name, f32(5, 4), X, 3),
        fb(name, f64(5, 4), X, 3),
        fb(name, f32(5), X, 3),
        fb(name, i64(5, 4), X, 3),
    )),
    fb("jagged_softmax_backward", f32(5, 4), f32(5, 4), X, 3),
    fb("jagged_index_select", f32(5, 4), of(2, 3), of(1, 0)),
    fb("jagged_index_select", f32(5, 4), of(2, 3), of(1, 0, 0), 7),
    fb("jagged_index_select", f32(5), of(2, 3), of(1, 0), 5),
    fb("jagged_index_select_2d_forward", f32(5, 4), of(1, 0), of(2, 5), of(3, 5), 5),
    fb("jagged_index_select_2d_forward_v2", f32(5, 4), of(1, 0), of(2, 5), of(3, 5), 5),
    fb("jagged_index_select_2d_forward_v2", f32(5, 4), of(1, 0), of(2, 5), of(3, 5)),
    fb("jagged_index_add_2d_forward", f32(5, 4), of(1, 0), of(2, 5), of(3, 5), 5, 5),
    fb("jagged_index_add_2d_forward_v2", f32(5, 4), of(1, 0), of(2, 5), of(3, 5), 5, 5),
    fb("masked_select_jagged_1d", f32(5), of(2, 3), b8(5)),
    fb("masked_select_jagged_1d", i64(5), of(2, 3), b8(5), True),
    fb("masked_select_jagged_1d", f32(5, 1), of(2, 3), b8(5)),
    fb("masked_select_jagged_1d", f32(5), of(2, 3).view(2, 1), b8(5)),
    fb("keyed_jagged_index_select_dim1", f32(14), LENGTHS, of(0, 2, 5, 6, 10, 12, 14), of(1, 0), 3),
    fb("keyed_jagged_index_select_dim1", f32(14), LENGTHS, of(0, 2, 5, 6, 10, 12, 14), of(1, 0), 3, f32(14), 11),
    fb("keyed_jagged_index_select_dim1", f32(14), LENGTHS, of(0, 2, 5, 6, 10, 12, 14), of(1, 0), 3, None, 11),
    fb("keyed_jagged_index_select_dim1", f32(14), LENGTHS, of(0, 2, 5, 6, 10, 12), of(1, 0), 3, None, 11),
    fb("keyed_jagged_index_select_dim1", f32(14), LENGTHS, of(0, 2, 5, 6, 10, 12, 14), of(1, 0), 4, None, 11),
    fb("keyed_jagged_index_select_dim1", f32(14), LENGTHS, of(0, 2, 5, 6, 10, 12, 14), of(1, 0), 3, f32(13), 11),
    fb("asynchronous_complete_cumsum", i64(4)),
    fb("asynchronous_complete_cumsum", i32(2, 4)),
    fb("asynchronous_complete_cumsum", i64(2, 2, 4)),
    fb("asynchronous_complete_cumsum", i64(0)),
    fb("asynchronous_complete_cumsum", f32(4)),
    fb("asynchronous_inclusive_cumsum", i64(4)),
    fb("asynchronous_inclusive_cumsum", i64(2, 4)),
    fb("asynchronous_exclusive_cumsum", i64(4)),
    fb("asynchronous_exclusive_cumsum", i64(2, 4)),
    fb("asynchronous_batched_complete_cumsum", i64(2, 4)),
    fb("asynchronous_batched_complete_cumsum", i64(4)),
    fb("permute_1D_sparse_data", of(1, 0, dtype=torch.int32), of(2, 3), i64(5)),
    fb("permute_1D_sparse_data", of(1, 0, dtype=torch.int32), of(2, 3), i64(5), f32(5)),
    fb("permute_1D_sparse_data", of(1, 0, dtype=torch.int32), of(2, 3), i64(5), f32(5), 5),
    fb("permute_1D_sparse_data", of(1, 0, dtype=torch.int32), of(2, 3), i64(5), f32(5, 3), 5),
    fb("permute_2D_sparse_data", of(2, 0, 1, dtype=torch.int32), LENGTHS.view(3, 2), i64(14)),
    fb("permute_2D_sparse_data", of(2, 0, 1, dtype=torch.int32), LENGTHS.view(3, 2), i64(14), f32(14)),
    fb("permute_2D_sparse_data", of(2, 0, 1, dtype=torch.int32), LENGTHS.view(3, 2), i64(14), f32(14), 14),
    fb("permute_2D_sparse_data", of(2, 0, dtype=torch.int32), LENGTHS.view(3, 2), i64(14), None, 9),
    fb("permute_2D_sparse_data", of(2, 0, 1, dtype=torch.int32), LENGTHS, i64(14)),
    fb("permute_2D_sparse_data_input1D", of(2, 0, 1, dtype=torch.int32), LENGTHS, i64(14), 2),
    fb("permute_2D_sparse_data_input1D", of(2, 0, 1, dtype=torch.int32), LENGTHS, i64(14), 2, f32(14), 14),
    fb("permute_2D_sparse_data_input1D", of(2, 0, 1, dtype=torch.int32), LENGTHS.view(3, 2), i64(14), 2),
    fb("permute_sparse_features", of(2, 0, 1, dtype=torch.int32), LENGTHS.view(3, 2), i64(14)),
    fb("permute_sparse_features", of(2, 0, 1, dtype=torch.int32), LENGTHS.view(3, 2), i64(14), f32(14)),
    fb("permute_sparse_features", of(2, 0, 1, dtype=torch.int32), LENGTHS.view(3, 2), i32(14)),
    fb("invert_permute", of(2, 0, 1, dtype=torch.int32)),
    fb("expand_into_jagged_permute", of(1, 0, dtype=torch.int32), of(0, 2, 5, dtype=torch.int32), of(0, 3, 5, dtype=torch.int32), 5),
    fb("expand_into_jagged_permute", of(1, 0, dtype=torch.int32), of(0, 2, dtype=torch.int32), of(0, 3, 5, dtype=torch.int32), 5),
    fb("segment_sum_csr", 1, of(0, 2, 5), f32(5)),
    fb("segment_sum_csr", 2, of(0, 1, 2), f32(4)),
    fb("offsets_range", of(0, 2, 5), 8),
    fb("offsets_range", of(0, 2, 5).view(3, 1), 8),
    fb("repeat_arange", of(2, 3)),
    fb("pack_segments", f32(5, 4), of(2, 3), 3),
    fb("pack_segments", f32(5), of(2, 3), 3),
    fb("pack_segments", f32(5, 4), of(2, 3), 0),
    fb("pack_segments", f32(5, 4), of(2, 3).view(2, 1), 3),
    fb("pack_segments_backward", f32(2, 3, 4), of(2, 3), 5, 3),
    fb("pack_segments_backward", f32(2, 2, 4), of(2, 3), 5, 3),
    fb("batched_unary_embeddings", f32(2, 10), of(0, 4, 10), of(0, 1, 2, 3, 4), i64(4)),
    fb("permute_pooled_embs", f32(3, 8), of(0, 2, 8), of(1, 0), of(0, 6, 8), of(1, 0)),
    fb("permute_pooled_embs_auto_grad", f32(3, 8), of(0, 2, 8), of(1, 0), of(0, 6, 8), of(1, 0)),
    fb("permute_pooled_embs_split", f32(3, 8), of(0, 2, 8), of(1, 0), of(0, 6, 8), of(1, 0)),
]
