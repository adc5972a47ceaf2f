"""Where Weft is another than PyTorch 1.13 on purpose: patterns in "call -> what", and why."""

# Other values, types or gradients.
DELIBERATE = [
    (r"int32 where int16 was expected", "Weft has no int16: int8 and uint8 give int32"),
    (r"^(any|all) of uint8.*bool where uint8", "a truth is bool, also of uint8"),
    (r"(==|!=|<|<=|>|>=) (1099511627776|300|-1)\b.*(True|False)",
     "a comparison with a number that the type does not hold is right; PyTorch wraps the number"),
    (r": (1099511627776|300|-1) (==|!=|<|<=|>|>=) x", "the same, the number first"),
    (r"^trace of .*off by", "PyTorch 1.13 takes a wrong stride for the slope of a tall trace"),
    (r"x = -?\d+ -> .*int64 where u?int\d+ was expected",
     "beside a value without axes, a number that its type does not hold makes int64 of it; "
     "PyTorch wraps the number"),
    (r"^sign\(.*nan", "the sign of NaN is NaN, as in the array API"),
    (r"^softsign\(.*inf", "the slope of softsign at infinity is 0; PyTorch gives NaN"),
    (r"^x \*\* -?0.5, .*inf", "the root of -infinity as a power is infinity, as in C and NumPy"),
    (r"^norm\(.*p=0\) -> 1 results", "a count of values takes no gradient"),
    (r"^(var|std)\(.*result 1: .*nan", "the variance of one value is NaN, and so is its slope"),
]

# Refusals, each with an error that says what was expected.
REFUSED = [
    (r"expected x \[N, C, H, W\]", "images come in batches"),
    (r"expected a kernel no larger than the padded image", "no window fits, not even one cut off"),
    (r"padding': '(same|valid)'.*TypeError", "of the layers, Conv2d alone takes these words"),
    (r"expected output_padding of at least 0 and below the stride", "more than the stride adds rows of zeros"),
    (r"\[pad\] expected padding in", "reflect and replicate do not cut off"),
    (r"expected a result of at least one pixel", "also where there are no images"),
    (r"x\([^)]*\b0[,)].*expected indexes in", "indexes count, also where nothing is read"),
    (r"expected classes, got none", "a loss of no classes is no number"),
    (r"expected a batch for batch_mean", "one number is no batch"),
    (r"expected at least one value", "nothing has no largest value and no median"),
    (r"\[cat\] expected parts like the first", "an empty vector is no exception"),
    (r"(movedim|squeeze|transpose|flip|roll|unbind|cumsum).* of \(\)|expected an axis in \[0, 0\)",
     "what has no axes has no axis 0"),
    (r"\[tri[ul]\] expected at least two axes", "a triangle has two axes"),
    (r"scatter.*expected an index and a source of one shape.*got \[.*0",
     "the source of an empty index is empty, too"),
    (r"expected a type that has this operation, got bool", "no products in place of truths"),
    (r"\[softmax\] expected f32", "softmax takes floats, also of no values"),
]
