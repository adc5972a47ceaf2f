"""Calls for every name: functions of one tensor over all types, of two, along axes, and so on."""

UNARY = """abs acos acosh asin asinh atan atanh ceil cos cosh deg2rad digamma erf erfc erfinv exp exp2
    expm1 floor frac lgamma log log10 log1p log2 logit neg positive rad2deg reciprocal relu round
    rsqrt sgn sigmoid sign sin sinc sinh sqrt square tan tanh trunc isnan isinf isfinite isposinf
    isneginf isreal signbit logical_not bitwise_not nan_to_num i0 absolute negative arctan fix
    """.split()
BINARY = """add sub mul div true_divide floor_divide remainder fmod pow maximum minimum fmax fmin atan2
    eq ne lt le gt ge logical_and logical_or logical_xor bitwise_and bitwise_or bitwise_xor hypot
    copysign logaddexp logaddexp2 xlogy multiply subtract divide greater less not_equal
    greater_equal less_equal float_power""".split()
ALONG = """sum mean prod amax amin logsumexp any all argmax argmin std var norm count_nonzero nansum
    nanmean median mode max min""".split()
RUNNING = "cumsum cumprod cummax cummin logcumsumexp sort argsort msort diff flip".split()
SHAPES = """flatten() t() squeeze() unsqueeze(1) reshape(4,3) view(2,6) permute(1,0) transpose(0,1)
    ravel() fliplr() flipud() rot90() roll(1) roll(1,0) tril() triu() diag() diagonal() trace()
    repeat(2,1) tile(2,2) expand(2,3,4) chunk(2) split(2) unbind() narrow(1,1,2) select(0,1)
    movedim(0,1) swapaxes(0,1) unfold(1,2,1) repeat_interleave(2) repeat_interleave(2,1)
    tensor_split(2) hsplit(2) vsplit(3) unflatten(1,(2,2)) diag_embed() diagflat() T mT
    nonzero() argwhere() numel() nelement() dim() ndim shape size() stride() is_contiguous()
    element_size() storage_offset() dtype is_cuda requires_grad is_leaf grad_fn itemsize nbytes
    type() is_floating_point() is_complex() is_signed() tolist() clone() contiguous() cpu()
    detach() double() half() float() long() int() bool() char() byte() bfloat16() numpy()
    unique() sum_to_size(1,4) softmax(1) log_softmax(0) topk(2) topk(2,0) kthvalue(1) aminmax()
    """.split()
LINALG = "inv det slogdet cholesky eigvalsh svdvals matrix_rank cond norm pinv".split()
FACTORIES = ["zeros(2,3)", "ones((2,3))", "full((2,),3)", "full((2,),3.5)", "arange(5)",
             "arange(1,2,0.25)", "linspace(0,1,5)", "logspace(0,2,3)", "eye(3)", "eye(2,3)",
             "zeros_like(x)", "ones_like(i)", "full_like(x,2)", "tensor([1,2])", "tensor(2.5)",
             "tensor([[True]])", "tril_indices(3,3)", "triu_indices(3,4,1)", "hann_window(6)",
             "hamming_window(6)", "vander(v)", "tensor([])", "empty(0)", "as_tensor([1.5])",
             "asarray([1,2])", "scalar_tensor(2)"]
KINDS = "x i u m d h s e".split()
DTYPES = "float32 float64 float16 bfloat16 int64 int32 int8 uint8 bool".split()
ACTIVATIONS = """relu(x) gelu(x) silu(x) elu(x) leaky_relu(x) softplus(x) tanh(x) sigmoid(x) mish(x)
    softsign(x) logsigmoid(x) hardtanh(x) softmax(x,dim=1) log_softmax(x,dim=0) normalize(x)
    pad(x,(1,2)) one_hot(iv) mse_loss(x,y) l1_loss(x,y) cosine_similarity(x,y) linear(x,sq)
    """.split()
IN_PLACE = """abs_() add_(y) sub_(y) mul_(y) div_(pos) exp_() sqrt_() neg_() clamp_(0,1) clamp_min_(0)
    fill_(2) zero_() floor_() round_() sigmoid_() tanh_() pow_(2) copy_(y) masked_fill_(m,0)
    t_() unsqueeze_(0) squeeze_() transpose_(0,1) addcmul_(x,y) lerp_(y,0.5) tril_() triu_()
    sin_() cos_() relu_() reciprocal_() cumsum_(1) fill_diagonal_(3) eq_(y) lt_(0) trunc_()
    """.split()


def generated():
    """The texts of all calls of these tables."""
    for name in UNARY:
        for kind in KINDS:
            yield f"torch.{name}({kind})"
    for name in BINARY:
        for pair in ("x, y", "x, 2", "i, 2", "x, i", "i, i + 1", "m, m"):
            yield f"torch.{name}({pair})"
    for name in ALONG:
        yield from (f"x.{name}()", f"b3.{name}(1)", f"torch.{name}(x, dim=1)", f"i.{name}(0)",
                    f"torch.{name}(x, 1, keepdim=True)" if name not in (
                        "std", "var", "norm", "count_nonzero") else f"x.{name}(dim=-1)")
    for name in RUNNING:
        yield from (f"torch.{name}(x, dim=1)" if name != "flip" else "torch.flip(x, [1])",
                    f"b3.{name}(0)" if name != "msort" else "b3.msort()")
    for call in SHAPES:
        yield f"x.{call}"
        yield f"i.{call}"
    for name in LINALG:
        yield f"torch.linalg.{name}(spd)"
    for call in FACTORIES:
        yield f"torch.{call}"
        yield f"torch.{call[:-1]}, dtype=torch.float64)" if "like" in call or "tensor" in call or (
            "indices" not in call and "vander" not in call) else f"torch.{call}"
    for source in DTYPES:
        yield from (f"x.to(torch.{source})", f"torch.ones(2, dtype=torch.{source}) + 1",
                    f"torch.ones(2, dtype=torch.{source}) * 1.5", f"str(x.abs().to(torch.{source}))")
    for call in ACTIVATIONS:
        yield f"F.{call}"
    for call in IN_PLACE:
        yield f"x.clone().{call}"
    for kind in KINDS + ["b3", "sq * 1e5", "pos * 1e-6", "v", "img", "x.requires_grad_()"]:
        yield f"repr({kind})"
