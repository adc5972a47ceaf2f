// Code shared by attention and packed_attention. For op/*attention_op.cpp.
#pragma once

#include "weft/kernel/attention/attention.h"
#include "weft/op/attention.h"
#include "weft/op/core/composed.h"

namespace weft {

// Whether the kernels take values of this type; others become f32 before. So does bf16 in a trace,
// since formats of files know attention in f32.
bool attention_takes(DType dtype);
// Checks the options.
AttentionRun attention_run(const char* op, const AttentionOptions& options, std::int64_t width);
// Undefined without dropout.
Array attention_stream(const AttentionOptions& options, Device device);

// Attention of q, k and v in the op's shapes out of smaller operations, with all pairs of tokens in
// memory. `mask` [B, heads, queries, keys] and `stream` may be undefined.
Composition attention_composition(const Array& mask, const Array& stream, const AttentionRun& run);

// A naive reference for contiguous f64 arrays in the op's shapes.
Array attention_reference(const Array& q, const Array& k, const Array& v,
                          const AttentionOptions& options);

}  // namespace weft
