"""Single operators and layers, for scripts/onnx/run_models.py."""

import torch
import torch.nn.functional as F
from torch import nn

f = lambda *s: torch.randn(*s)
pos = lambda *s: torch.rand(*s) + 0.1
i = lambda *s: torch.randint(-5, 6, s)
CASES = {}


def c(name, fn, mk, dim=0):
    """Adds a call of `fn` on what `mk` gives for a size, which is dimension `dim` of the inputs."""
    CASES[name] = (fn, mk, dim)


U = "abs neg exp sqrt rsqrt reciprocal sin cos tan sinh cosh tanh asinh atan sigmoid erf erfc floor ceil round trunc frac sign relu exp2 expm1 log1p square isnan isinf isfinite logical_not positive deg2rad rad2deg".split()
for u in U:
    g = getattr(torch, u)
    c(
        "u_" + u,
        (lambda g: lambda x: g(x))(g),
        lambda n: (pos(n, 4) * 3 - (0 if u in ("sqrt", "rsqrt", "log1p") else 1.5),),
    )
for u in "abs neg sign relu square logical_not bitwise_not exp sigmoid sqrt floor".split():
    g = getattr(torch, u)
    c("i_" + u, (lambda g: lambda x: g(x))(g), lambda n: (i(n, 4),))
for u in "log log2 log10 asin acos atanh acosh".split():
    g = getattr(torch, u)
    c(
        "p_" + u,
        (lambda g: lambda x: g(x))(g),
        (lambda u: lambda n: (pos(n, 4) * (0.8) + (1 if u == "acosh" else 0),))(u),
    )
for nm, g in dict(
    gelu=F.gelu,
    gelut=lambda x: F.gelu(x, approximate="tanh"),
    silu=F.silu,
    mish=F.mish,
    elu=lambda x: F.elu(x, 0.7),
    selu=F.selu,
    celu=lambda x: F.celu(x, 1.5),
    leaky=lambda x: F.leaky_relu(x, 0.2),
    hsig=F.hardsigmoid,
    hsw=F.hardswish,
    htanh=F.hardtanh,
    relu6=F.relu6,
    softplus=lambda x: F.softplus(x, 2.0, 3.0),
    logsig=F.logsigmoid,
    softsign=F.softsign,
    thr=lambda x: F.threshold(x, 0.1, 7.0),
    sm=lambda x: F.softmax(x, 0),
    lsm=lambda x: F.log_softmax(x, -1),
    smin=lambda x: F.softmin(x, 1),
    glu=lambda x: F.glu(x, 1),
    n2n=torch.nan_to_num,
    tanhshrink=F.tanhshrink,
    softshrink=F.softshrink,
    hardshrink=F.hardshrink,
).items():
    c("a_" + nm, (lambda g: lambda x: g(x))(g), lambda n: (f(n, 4),))
for nm, g in dict(
    add=lambda x, y: torch.add(x, y, alpha=2),
    sub=lambda x, y: torch.sub(x, y, alpha=3),
    rsub=lambda x, y: 3 - x * y,
    mul=torch.mul,
    div=torch.div,
    divf=lambda x, y: torch.div(x, y, rounding_mode="floor"),
    divt=lambda x, y: torch.div(x, y, rounding_mode="trunc"),
    fdiv=lambda x, y: x // y,
    rem=lambda x, y: x % y,
    fmod=torch.fmod,
    max=torch.maximum,
    min=torch.minimum,
    mx2=torch.max,
    atan2=torch.atan2,
    eq=lambda x, y: x == y,
    ne=lambda x, y: x != y,
    lt=lambda x, y: x < y,
    ge=lambda x, y: x >= y,
    gt1=lambda x, y: (x > 1) & (y < 2.5),
    le=lambda x, y: x <= y,
    lerp=lambda x, y: torch.lerp(x, y, 0.3),
    addcmul=lambda x, y: torch.addcmul(x, x, y, value=0.5),
    addcdiv=lambda x, y: torch.addcdiv(x, x, y.abs() + 1),
    where=lambda x, y: torch.where(x > y, x, 0.0),
    clampt=lambda x, y: torch.clamp(x, min=-y.abs(), max=y.abs()),
    land=torch.logical_and,
    lxor=torch.logical_xor,
).items():
    c("b_" + nm, (lambda g: lambda x, y: g(x, y))(g), lambda n: (f(n, 4), f(4) + 0.01))
    if nm not in ("lerp", "addcdiv", "where", "atan2"):
        c("bi_" + nm, (lambda g: lambda x, y: g(x, y))(g), lambda n: (i(n, 4), torch.tensor([1, -2, 3, -4])))
    if nm not in ("addcmul", "lerp", "addcdiv", "where", "atan2", "clampt"):
        c("bm_" + nm, (lambda g: lambda x, y: g(x, y))(g), lambda n: (f(n, 4), torch.tensor([1, -2, 3, -4])))
c("pow", lambda x: x.abs() ** 2.5 + x**2 + 2**x, lambda n: (f(n, 3),))
c("powi", lambda x: x**2, lambda n: (i(n, 3),))
c("clamp", lambda x: x.clamp(-0.5, 0.5) + x.clamp_min(0.1) + x.clamp_max(0.2), lambda n: (f(n, 3),))
c("clampi", lambda x: x.clamp(-2, 3), lambda n: (i(n, 3),))
c("bit", lambda x: (x & 3) | (x ^ 5), lambda n: (i(n, 3),))
c("mfill", lambda x: x.masked_fill(x > 0, -1.5), lambda n: (f(n, 3),))
for dt in (torch.float16, torch.bfloat16, torch.int8, torch.uint8, torch.int32, torch.int16, torch.float64, torch.bool):
    c(
        "arith_" + str(dt)[6:],
        lambda x: (x + x * 2 if x.dtype != torch.bool else x + x, x > 0, x.sum(0), x.float().mean()),
        (lambda dt: lambda n: ((torch.randn(n, 4) * 3).to(dt),))(dt),
    )
for dt in (torch.float16, torch.bfloat16, torch.float64):
    c(
        "lin_" + str(dt)[6:],
        lambda x, w: F.relu(F.linear(x, w)).softmax(-1),
        (lambda dt: lambda n: (f(n, 4).to(dt), f(5, 4).to(dt)))(dt),
    )
for nm, g in dict(
    sum=lambda x: x.sum(),
    sum0=lambda x: x.sum(0),
    sumk=lambda x: x.sum((0, -1), keepdim=True),
    mean=lambda x: x.mean(1),
    meank=lambda x: x.mean(),
    prod=lambda x: x.prod(1),
    amax=lambda x: x.amax(0),
    amin=lambda x: x.amin((0, 1)),
    max=lambda x: x.max(),
    maxd=lambda x: x.max(1),
    mind=lambda x: x.min(0, keepdim=True),
    argmax=lambda x: x.argmax(),
    argmaxd=lambda x: x.argmax(1),
    argmin=lambda x: x.argmin(0, keepdim=True),
    any=lambda x: (x > 0).any(),
    anyd=lambda x: (x > 0).any(1),
    all=lambda x: (x > -9).all(0),
    var=lambda x: x.var(1),
    var0=lambda x: x.var(0, unbiased=False),
    std=lambda x: x.std(),
    varm=lambda x: torch.var_mean(x, 1),
    norm=lambda x: x.norm(),
    norm1=lambda x: torch.linalg.vector_norm(x, 1, dim=1),
    norminf=lambda x: torch.linalg.vector_norm(x, float("inf")),
    norm3=lambda x: x.norm(3, 1),
    lse=lambda x: torch.logsumexp(x, 1),
    lsek=lambda x: torch.logsumexp(x, (0, 1), keepdim=True),
    cumsum=lambda x: x.cumsum(0),
    normalize=lambda x: F.normalize(x, dim=1),
    cnz=lambda x: torch.count_nonzero(x, 0),
    sumi=lambda x: (x > 0).sum(1),
    cos=lambda x: F.cosine_similarity(x, x + 1, dim=1),
    median=lambda x: x.median(),
    cumprod=lambda x: x.cumprod(1),
).items():
    c("r_" + nm, g, lambda n: (f(n, 4, 3),))
c("mm", lambda x, y: x @ y, lambda n: (f(n, 4), f(4, 5)))
c("bmm", lambda x, y: torch.bmm(x, y), lambda n: (f(n, 3, 4), f(n, 4, 5)))
c("mv", lambda x, y: x @ y, lambda n: (f(n, 4), f(4)))
c("dot", lambda x, y: torch.dot(x, y), lambda n: (f(n), f(n)))
c("mm4", lambda x, y: x @ y, lambda n: (f(n, 2, 3, 4), f(2, 4, 5)))
c("addmm", lambda x, y, z: torch.addmm(z, x, y, beta=0.5, alpha=2), lambda n: (f(n, 4), f(4, 5), f(5)))
c("baddbmm", lambda x, y, z: torch.baddbmm(z, x, y, beta=2, alpha=0.5), lambda n: (f(n, 3, 4), f(n, 4, 5), f(n, 3, 5)))
c("outer", lambda x, y: torch.outer(x, y), lambda n: (f(n), f(3)))
c("einsum", lambda x, y: torch.einsum("bij,bjk->bik", x, y), lambda n: (f(n, 3, 4), f(n, 4, 2)))
c(
    "sdpa",
    lambda q, k, v: F.scaled_dot_product_attention(q, k, v),
    lambda n: (f(n, 2, 5, 4), f(n, 2, 6, 4), f(n, 2, 6, 4)),
)
c("sdpac", lambda q: F.scaled_dot_product_attention(q, q, q, is_causal=True), lambda n: (f(2, 2, n, 4),), 2)
c(
    "sdpam",
    lambda q, m: F.scaled_dot_product_attention(q, q, q, attn_mask=m),
    lambda n: (f(n, 2, 5, 4), torch.rand(5, 5) > 0.3),
)
c(
    "sdpag",
    lambda q, k: F.scaled_dot_product_attention(q, k, k, enable_gqa=True),
    lambda n: (f(n, 4, 5, 4), f(n, 2, 6, 4)),
)
mods = dict(
    linear=(nn.Linear(4, 3), (4,)),
    conv1=(nn.Conv1d(3, 4, 3, padding=1, stride=2), (3, 9)),
    conv2=(nn.Conv2d(4, 6, 3, groups=2, dilation=2), (4, 9, 9)),
    conv3=(nn.Conv3d(2, 3, 2), (2, 4, 4, 4)),
    convs=(nn.Conv2d(3, 4, (3, 4), padding="same"), (3, 8, 8)),
    convt=(nn.ConvTranspose2d(3, 4, 3, stride=2, output_padding=1, padding=1), (3, 5, 5)),
    bn1=(nn.BatchNorm1d(4).eval(), (4,)),
    bn2=(nn.BatchNorm2d(4).eval(), (4, 5, 5)),
    ln=(nn.LayerNorm(6), (5, 6)),
    ln2=(nn.LayerNorm((5, 6), elementwise_affine=False), (5, 6)),
    rms=(nn.RMSNorm(6), (5, 6)),
    gn=(nn.GroupNorm(2, 4), (4, 5, 5)),
    inorm=(nn.InstanceNorm2d(4, affine=True), (4, 5, 5)),
    mp=(nn.MaxPool2d(2), (3, 8, 8)),
    mpi=(nn.MaxPool2d(3, 2, 1, return_indices=True), (3, 9, 9)),
    mpc=(nn.MaxPool2d(3, 2, 1, ceil_mode=True), (3, 8, 8)),
    ap=(nn.AvgPool2d(3, 2, 1), (3, 8, 8)),
    ap1=(nn.AvgPool1d(2), (3, 8)),
    apn=(nn.AvgPool2d(3, 2, 1, count_include_pad=False), (3, 8, 8)),
    aap=(nn.AdaptiveAvgPool2d(1), (3, 7, 7)),
    aap2=(nn.AdaptiveAvgPool2d((2, 4)), (3, 8, 8)),
    amp=(nn.AdaptiveMaxPool2d(1), (3, 8, 8)),
    emb=(nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.5).eval()), (4,)),
    up=(nn.Upsample(scale_factor=2), (3, 4, 4)),
    upb=(nn.Upsample(size=(7, 9), mode="bilinear"), (3, 4, 4)),
    upc=(nn.Upsample(scale_factor=2, mode="bilinear", align_corners=True), (3, 4, 4)),
    bic=(nn.Upsample(scale_factor=2, mode="bicubic"), (3, 6, 6)),
    ps=(nn.PixelShuffle(2), (8, 3, 3)),
    prelu=(nn.PReLU(3), (3, 4, 4)),
    zp=(nn.ZeroPad2d((1, 2, 0, 3)), (3, 4, 4)),
    rp=(nn.ReflectionPad2d(2), (3, 6, 6)),
    repp=(nn.ReplicationPad1d((1, 2)), (3, 6)),
    circ=(nn.CircularPad1d(2), (3, 6)),
    mha=(nn.TransformerEncoderLayer(8, 2, 16, batch_first=True).eval(), (5, 8)),
    lstm=(nn.LSTM(4, 5, batch_first=True), (3, 4)),
    gru=(nn.GRU(4, 5, batch_first=True), (3, 4)),
)


class W(nn.Module):
    def __init__(s, m):
        super().__init__()
        s.m = m

    def forward(s, x):
        return s.m(x)


for nm, (m, sh) in mods.items():
    CASES["m_" + nm] = (W(m.eval()), (lambda sh: lambda n: (f(n, *sh),))(sh), 0)
for nm, g in dict(
    view=lambda x: x.view(-1, 6),
    reshape=lambda x: x.reshape(x.shape[0], 12),
    viewd=lambda x: x.reshape(x.shape[0] * 3, 4),
    flat=lambda x: x.flatten(),
    flat1=lambda x: x.flatten(1),
    flat2=lambda x: x.flatten(0, 1),
    unfl=lambda x: x.unflatten(2, (2, -1)),
    unsq=lambda x: x.unsqueeze(-1).unsqueeze(1),
    sq=lambda x: x.unsqueeze(1).squeeze(1),
    sq0=lambda x: x[:, :1].squeeze(),
    perm=lambda x: x.permute(2, 0, 1),
    tr=lambda x: x.transpose(0, -1),
    mT=lambda x: x.mT,
    expand=lambda x: x.unsqueeze(1).expand(-1, 5, -1, -1),
    expd=lambda x: x[:1].expand(x.shape[0] + 1, -1, -1),
    expas=lambda x: x[:, :1].expand_as(x),
    rep=lambda x: x.repeat(2, 1, 1, 3),
    tile=lambda x: x.tile(2),
    mov=lambda x: x.movedim(0, 2),
    slice=lambda x: x[1:, ::2, -2:],
    sel=lambda x: x[0] + x[-1],
    seld=lambda x: x[:, x.shape[0] - 1 - x.shape[0]],
    cat=lambda x: torch.cat([x, x * 2], 1),
    catp=lambda x: torch.cat([x, x.int()], 0),
    stack=lambda x: torch.stack([x, x], -1),
    split=lambda x: x.split(2, 2),
    splits=lambda x: x.split([1, 3], 2),
    chunk=lambda x: x.chunk(3, 2),
    unbind=lambda x: x.unbind(1),
    narrow=lambda x: x.narrow(2, 1, 2),
    flip=lambda x: x.flip(0, 2),
    roll=lambda x: x.roll((1, -2), (0, 2)),
    rollf=lambda x: x.roll(3),
    tril=lambda x: x.tril(),
    triu=lambda x: x.triu(1),
    pad=lambda x: F.pad(x, (1, 2, 0, 1), value=3.0),
    diag=lambda x: x.diagonal(dim1=1, dim2=2),
    unfold=lambda x: x.unfold(2, 2, 1),
    meshg=lambda x: torch.meshgrid(x[:, 0, 0], x[0, 0], indexing="ij"),
    rint=lambda x: x.repeat_interleave(2, 1),
    hst=lambda x: torch.hstack([x, x]),
    T=lambda x: x[0].T,
    sdim=lambda x: x.new_zeros(x.shape[0], 2) + x.shape[0] / 2,
    arange=lambda x: torch.arange(x.shape[0]) + torch.arange(1, 2 * x.shape[0], 2),
    arangef=lambda x: torch.arange(0, 1, 0.25),
    full=lambda x: torch.full((x.shape[0], 2), 3.5),
    like=lambda x: torch.zeros_like(x) + torch.ones_like(x, dtype=torch.int64) + torch.full_like(x, 2),
    eye=lambda x: torch.eye(x.shape[0]),
    lin=lambda x: torch.linspace(0, 1, 5) + x[0, 0, 0],
    lift=lambda x: x + torch.tensor([1.0, 2.0, 3.0, 4.0]),
    to=lambda x: (x.to(torch.int32), x.double(), x.bool(), x.half().float()),
    size=lambda x: (x * x.shape[0], x.numel() // x.shape[0] + x.sum()),
    isel=lambda x: x.index_select(1, torch.tensor([2, 0])),
    idx=lambda x: x[:, torch.tensor([0, 2])],
    idx2=lambda x: x[torch.tensor([0, 1]), torch.tensor([2, 1])],
    idx3=lambda x: x[:, torch.tensor([[0], [2]]), torch.tensor([1, 3, 0])],
    idx4=lambda x: x[torch.tensor([0, 1]), :, torch.tensor([2, 1])],
    idxn=lambda x: x[torch.tensor([-1, 0])],
    mask=lambda x: x[x[:, 0, 0] > -9],
    mask2=lambda x: x[x > -9],
    msel=lambda x: torch.masked_select(x, x > 0),
    nz=lambda x: torch.nonzero(x > 0),
    gath=lambda x: x.gather(2, torch.tensor([[[0, 1]]]).expand(x.shape[0], 3, 2)),
    scat=lambda x: x.scatter(2, torch.tensor([[[0, 1]]]).expand(x.shape[0], 3, 2), 9.0),
    scata=lambda x: torch.zeros_like(x).scatter_add(2, torch.zeros(x.shape[0], 3, 4, dtype=torch.int64), x),
    ssc=lambda x: torch.slice_scatter(x, x[:, :2] * 2, 1, 1, 3),
    selsc=lambda x: torch.select_scatter(x, x[:, 0] * 2, 1, -1),
    iput=lambda x: x.index_put((torch.tensor([0, 1]), torch.tensor([2, 1])), torch.tensor(5.0)),
    iputa=lambda x: x.index_put((torch.tensor([0, 0]),), x[:2], accumulate=True),
    onehot=lambda x: F.one_hot(x[:, :, 0].long().abs() % 4, 4),
    topk=lambda x: x.topk(2, -1),
    sort=lambda x: x.sort(1, descending=True),
    argsort=lambda x: x.argsort(0),
    embed=lambda x: F.embedding((x[:, :, 0].abs() * 2).long() % 5, torch.arange(10.0).view(5, 2)),
    sorti=lambda x: x.long().sort(0, stable=True)[0],
    floorv=lambda x: x.reshape(-1, 2).sum(0),
    cumdiff=lambda x: x.diff(dim=1),
    take=lambda x: torch.take(x, torch.tensor([0, 3])),
    dist=lambda x: torch.cdist(x, x),
    iput2=lambda x: x.index_put((None, torch.tensor([0, 2])), torch.zeros(4)),
    bucket=lambda x: torch.bucketize(x, torch.tensor([-1.0, 0.0, 1.0])),
    ce=lambda x: F.cross_entropy(x[:, 0], torch.zeros(x.shape[0], dtype=torch.int64)),
    mse=lambda x: F.mse_loss(x, x * 2),
    l1=lambda x: F.l1_loss(x, x * 2),
    bce=lambda x: F.binary_cross_entropy_with_logits(x, x.sigmoid()),
    unf=lambda x: F.unfold(x.unsqueeze(1), 2),
    scr=lambda x: x.scatter_reduce(1, torch.zeros(x.shape[0], 3, 4, dtype=torch.int64), x, "amax"),
    item=lambda x: x * x.shape[1],
).items():
    c("v_" + nm, g, lambda n: (f(n, 3, 4),))

# Windows of images, samples at places, bags of rows, and elements that meet others.
image = lambda n: (f(2, 3, n, 8),)
c("unfold_image", lambda x: F.unfold(x, (3, 2), dilation=(1, 2), padding=(2, 1), stride=(1, 2)), image, 2)
c("fold_image", lambda x: F.fold(x, (8, 10), (3, 2), dilation=(1, 2), padding=(2, 1), stride=(2, 3)), lambda n: (f(n, 18, 20),))
c("fold_unbatched", lambda x: F.fold(x, (4, 4), 2, stride=2), lambda n: (f(12, 4),))
for mode in ("bilinear", "nearest", "bicubic"):
    for outside in ("zeros", "border", "reflection"):
        for aligned in (False, True):
            c(
                f"grid_{mode}_{outside}_{aligned}",
                (lambda m, o, a: lambda x, g: F.grid_sample(x, g, m, o, align_corners=a))(mode, outside, aligned),
                lambda n: (f(2, 3, n, 8), f(2, 4, 5, 2)),
                2,
            )
c("grid_3d", lambda x, g: F.grid_sample(x, g, align_corners=False), lambda n: (f(2, 3, n, 4, 5), f(2, 4, 5, 6, 3)), 2)
c("affine_grid", lambda x, t: F.grid_sample(x, F.affine_grid(t, (2, 3, 4, 5), align_corners=False), align_corners=False), lambda n: (f(2, 3, n, 8), f(2, 2, 3)), 2)
for mode in ("nearest", "nearest-exact", "bicubic", "bilinear"):
    c("resize_" + mode, (lambda m: lambda x: F.interpolate(x, size=(9, 5), mode=m))(mode), image, 2)
    c("resize_by_" + mode, (lambda m: lambda x: F.interpolate(x, scale_factor=1.5, mode=m))(mode), image, 2)
for mode in ("sum", "mean", "max"):
    table = nn.EmbeddingBag(10, 4, mode=mode)
    c("bag_" + mode, table, lambda n: (torch.randint(0, 10, (n, 5)),))
    c("bag_offsets_" + mode, table, lambda n: (torch.randint(0, 10, (n,)), torch.tensor([0, 1, 1, 3])))
    c(
        "bag_padding_" + mode,
        nn.EmbeddingBag(10, 4, mode=mode, padding_idx=1, include_last_offset=True),
        lambda n: (torch.randint(0, 3, (n,)), torch.tensor([0, 1, 1, n])),
    )
c(
    "bag_weights",
    lambda k, t, w: F.embedding_bag(k, t, per_sample_weights=w, mode="sum"),
    lambda n: (torch.randint(0, 10, (n, 5)), f(10, 4), f(n, 5)),
)
for reduce in ("sum", "prod", "mean", "amax", "amin"):
    for includes in (True, False):
        meets = (lambda r, s: lambda x, k, y: x.scatter_reduce(1, k, y, r, include_self=s))(reduce, includes)
        c(f"meets_{reduce}_{includes}", meets, lambda n: (f(n, 6), torch.randint(0, 6, (n, 4)), f(n, 4)))
        c(f"meets_int_{reduce}_{includes}", meets, lambda n: (i(n, 6), torch.randint(0, 6, (n, 4)), i(n, 4)))
        if reduce != "sum":
            slices = (lambda r, s: lambda x, k, y: x.index_reduce(1, k, y, r, include_self=s))(reduce, includes)
            c(f"slices_{reduce}_{includes}", slices, lambda n: (f(n, 6), torch.randint(0, 6, (4,)), f(n, 4)))
# What is made of other operators.
c("cdist", torch.cdist, lambda n: (f(n, 4), f(5, 4)))
c("renorm", lambda x: x.renorm(2, 0, 1.0), lambda n: (f(n, 4),))
c("diag_embed", lambda x: torch.diag_embed(x, 1), lambda n: (f(n, 4),))
c("isin", torch.isin, lambda n: (i(n, 4), i(3)))
c("nanmean", lambda x: torch.where(x > 0, x, torch.nan).nanmean(1), lambda n: (f(n, 4),))
c("linspace", lambda x: torch.linspace(-1, 2, 7) + x.sum(), lambda n: (f(n, 4),))
c("fftshift", torch.fft.fftshift, lambda n: (f(n, 4),))
c("cross", lambda x, y: torch.cross(x, y, -1), lambda n: (f(n, 3), f(n, 3)))
c("unpool", lambda x: F.max_unpool2d(*F.max_pool2d(x, 2, return_indices=True), 2, output_size=(12, 8)), lambda n: (f(n, 3, 12, 8),))
