"""Calls of torchvision's operators."""
import torch
import torchvision
from tensors import f16, f32, f64, i32, i64

LIBRARY = f"torchvision {torchvision.__version__.split('+')[0]}"


def rois(count, columns=5, make=f32):
    return make(count, columns) * 0


def deform(x=(2, 4, 8, 10), w=(6, 4, 3, 3), offset=(2, 18, 8, 10), mask=(2, 9, 8, 10), bias=(6,), stride=(1, 1), pad=(1, 1), dilation=(1, 1), groups=1, offset_groups=1, use_mask=True, make=f32, more=()):
    name = "torchvision.deform_conv2d.default" if not more else "torchvision._deform_conv2d_backward.default"
    return (name, *(f32(*size) for size in more), make(*x), make(*w), make(*offset), make(*mask), make(*bias), *stride, *pad, *dilation, groups, offset_groups, use_mask)


NMS, ALIGN, POOL = "torchvision.nms.default", "torchvision.roi_align.default", "torchvision.roi_pool.default"
PS_ALIGN, PS_POOL = "torchvision.ps_roi_align.default", "torchvision.ps_roi_pool.default"
X = (2, 8, 16, 16)
CALLS = [
    (NMS, f32(6, 4), f32(6), 0.5),
    (NMS, f64(6, 4), f64(6), 0.5),
    (NMS, f16(6, 4), f16(6), 0.5),
    (NMS, f32(0, 4), f32(0), 0.5),
    (NMS, f32(6, 5), f32(6), 0.5),
    (NMS, f32(6, 4), f32(5), 0.5),
    (NMS, f32(6, 4), f32(6, 1), 0.5),
    (NMS, f32(6), f32(6), 0.5),
    (NMS, f32(6, 4), f64(6), 0.5),
    (NMS, i64(6, 4), i64(6), 0.5),
    (ALIGN, f32(*X), rois(3), 1.0, 4, 5, 2, True),
    (ALIGN, f64(*X), rois(3, make=f64), 1.0, 4, 5, 2, True),
    (ALIGN, f32(*X), rois(0), 1.0, 4, 5, 2, False),
    (ALIGN, f32(*X).to(memory_format=torch.channels_last), rois(3), 1.0, 4, 5, -1, False),
    (ALIGN, f32(*X), rois(3, 4), 1.0, 4, 5, 2, False),
    (ALIGN, f32(*X), rois(3, make=f64), 1.0, 4, 5, 2, False),
    (ALIGN, f32(8, 16, 16), rois(3), 1.0, 4, 5, 2, False),
    (ALIGN, f32(*X), f32(3), 1.0, 4, 5, 2, False),
    (ALIGN, f32(*X), f32(3, 5, 1) * 0, 1.0, 4, 5, 2, False),
    (ALIGN, f32(*X), rois(3), 1.0, -4, 5, 2, False),
    (ALIGN, i64(*X), rois(3, make=i64), 1.0, 4, 5, 2, False),
    (ALIGN, f32(2, 0, 16, 16), rois(3), 1.0, 4, 5, 2, False),
    (POOL, f32(*X), rois(3), 1.0, 4, 5),
    (POOL, f64(*X), rois(0, make=f64), 1.0, 4, 5),
    (POOL, f32(*X), rois(3, 4), 1.0, 4, 5),
    (POOL, f32(*X), rois(3, make=f64), 1.0, 4, 5),
    (POOL, f32(8, 16, 16), rois(3), 1.0, 4, 5),
    (POOL, f32(*X), f32(3), 1.0, 4, 5),
    (PS_ALIGN, f32(*X), rois(3), 1.0, 2, 2, 2),
    (PS_ALIGN, f32(2, 12, 9, 9), rois(3), 1.0, 2, 3, -1),
    (PS_ALIGN, f32(*X), rois(3), 1.0, 3, 1, 2),
    (PS_ALIGN, f32(*X), rois(3, 4), 1.0, 2, 2, 2),
    (PS_ALIGN, f32(*X), rois(3, make=f64), 1.0, 2, 2, 2),
    (PS_ALIGN, f32(8, 16, 16), rois(3), 1.0, 2, 2, 2),
    (PS_ALIGN, f32(*X), rois(3), 1.0, 0, 2, 2),
    (PS_POOL, f32(*X), rois(3), 1.0, 2, 2),
    (PS_POOL, f32(2, 12, 9, 9), rois(0), 1.0, 2, 3),
    (PS_POOL, f32(*X), rois(3), 1.0, 3, 1),
    (PS_POOL, f32(*X), rois(3, 4), 1.0, 2, 2),
    (PS_POOL, f32(*X), rois(3, make=f64), 1.0, 2, 2),
    ("torchvision._roi_align_backward.default", f32(3, 8, 4, 5), rois(3), 1.0, 4, 5, 2, 8, 16, 16, 2, True),
    ("torchvision._roi_align_backward.default", f32(3, 8, 4, 5), rois(3, make=f64), 1.0, 4, 5, 2, 8, 16, 16, 2, True),
    ("torchvision._roi_align_backward.default", f32(3, 8, 4, 5), rois(3, 4), 1.0, 4, 5, 2, 8, 16, 16, 2, True),
    ("torchvision._roi_pool_backward.default", f32(3, 8, 4, 5), rois(3), i32(3, 8, 4, 5), 1.0, 4, 5, 2, 8, 16, 16),
    ("torchvision._roi_pool_backward.default", f32(3, 8, 4, 5), rois(3, make=f64), i32(3, 8, 4, 5), 1.0, 4, 5, 2, 8, 16, 16),
    ("torchvision._ps_roi_align_backward.default", f32(3, 2, 2, 2), rois(3), i32(3, 2, 2, 2), 1.0, 2, 2, 2, 2, 8, 16, 16),
    ("torchvision._ps_roi_align_backward.default", f32(3, 2, 2, 2), rois(3, make=f64), i32(3, 2, 2, 2), 1.0, 2, 2, 2, 2, 8, 16, 16),
    ("torchvision._ps_roi_pool_backward.default", f32(3, 2, 2, 2), rois(3), i32(3, 2, 2, 2), 1.0, 2, 2, 2, 8, 16, 16),
    ("torchvision._ps_roi_pool_backward.default", f32(3, 2, 2, 2), rois(3, make=f64), i32(3, 2, 2, 2), 1.0, 2, 2, 2, 8, 16, 16),
    deform(),
    deform(make=f64),
    deform(mask=(1,), use_mask=False),
    deform(x=(2, 4, 9, 11), offset=(2, 18, 4, 6), mask=(2, 9, 4, 6), stride=(2, 2), pad=(0, 1)),
    deform(w=(6, 2, 3, 3), groups=2),
    deform(offset=(2, 36, 8, 10), mask=(2, 18, 8, 10), offset_groups=2),
    deform(x=(2, 4, 12, 14), dilation=(2, 2), pad=(2, 2), offset=(2, 18, 12, 14), mask=(2, 9, 12, 14)),
    deform(x=(4, 8, 10)),
    deform(w=(6, 3, 3, 3)),
    deform(offset=(2, 16, 8, 10)),
    deform(offset=(1, 18, 8, 10)),
    deform(offset=(2, 18, 7, 10)),
    deform(mask=(2, 8, 8, 10)),
    deform(mask=(2, 9, 7, 10)),
    deform(mask=(1, 9, 8, 10)),
    deform(bias=(5,)),
    deform(stride=(0, 1)),
    deform(pad=(-1, 1)),
    deform(dilation=(0, 1)),
    deform(groups=3),
    deform(groups=0),
    deform(x=(2, 4, 2, 2), pad=(0, 0), offset=(2, 18, 0, 0), mask=(2, 9, 0, 0)),
    deform(w=(5, 2, 3, 3), groups=2, bias=(5,)),
    deform(offset=(2, 54, 8, 10), mask=(2, 27, 8, 10), offset_groups=3),
    deform(x=(0, 4, 8, 10), offset=(0, 18, 8, 10), mask=(0, 9, 8, 10)),
    deform(more=((2, 6, 8, 10),)),
    ("torchvision.box_iou_rotated.default", f32(3, 5), f32(4, 5)),
    ("torchvision.box_iou_rotated.default", f32(0, 5), f32(4, 5)),
    ("torchvision.box_iou_rotated.default", f32(3, 4), f32(4, 4)),
    ("torchvision.box_iou_rotated.default", f32(3, 5), f64(4, 5)),
    ("torchvision.box_iou_rotated.default", f64(3, 5), f64(4, 5)),
    ("torchvision.box_iou_rotated.default", f32(3), f32(4, 5)),
]
