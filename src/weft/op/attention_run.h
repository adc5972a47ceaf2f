// What attention and packed_attention share. For op/*attention_op.cpp.
#pragma once

#include "weft/kernel/attention.h"
#include "weft/op/attention.h"

namespace weft {

// Checks the options.
AttentionRun attention_run(const char* op, const AttentionOptions& options, std::int64_t width);
// Undefined without dropout.
Array attention_stream(const AttentionOptions& options);

// Of contiguous f64 arrays in the op's shapes; naive.
Array attention_reference(const Array& q, const Array& k, const Array& v,
                          const AttentionOptions& options);

}  // namespace weft
