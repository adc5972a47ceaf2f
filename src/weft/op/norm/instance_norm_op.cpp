// The table entry of instance_norm, which group_norm_op.cpp defines: one channel a group.
//
// IMPLEMENTATION: Ulyanov, Vedaldi, Lempitsky, "Instance normalization", 2016, equation 3.
#include "weft/op/core/sample.h"
#include "weft/op/norm.h"
#include "weft/op/norm/normalizing.h"

namespace weft {

static std::vector<OpSample> instance_norm_samples() {
  const auto sample = [](const char* name, const Shape& shape, bool affine) {
    std::vector<Array> inputs = {sample_values(shape, 70, -2.0, 3.0)};
    if (affine) {
      inputs.push_back(sample_values({shape[1]}, 71, 0.5, 1.5));
      inputs.push_back(sample_values({shape[1]}, 72));
    }
    std::int64_t inside = 1;
    for (int axis = 2; axis < shape.size(); ++axis) inside *= shape[axis];
    const std::int64_t channels = shape[1];
    return OpSample{name, std::move(inputs),
                    [](std::span<const Tensor> in) {
                      const Tensor none;
                      const bool scaled = in.size() > 1;
                      return instance_norm(in[0], scaled ? in[1] : none, scaled ? in[2] : none);
                    },
                    [=](std::span<const Array> in) {
                      return norm_reference(
                          in, {[inside](std::int64_t i) { return i / inside; },
                               [=](std::int64_t i) { return i / inside % channels; }});
                    }};
  };
  return {sample("images", {2, 3, 4, 5}, true), sample("sequences, no weight", {3, 2, 7}, false),
          sample("one element", {1, 1, 1}, true), sample("no images", {0, 2, 3}, true)};
}
extern const OpDef instance_norm_op = {"instance_norm", instance_norm_samples};

}  // namespace weft
