#include <array>
#include <cmath>
#include <memory>
#include <vector>

#include "weft/array/launch.h"
#include "weft/autograd/node.h"
#include "weft/autograd/op_trace.h"
#include "weft/kernel/core/prepared_weights.h"
#include "weft/op/conv.h"
#include "weft/op/norm.h"

namespace weft {
namespace {

// Which values an array had.
struct Seen {
  std::uint64_t storage = 0;
  std::uint64_t version = 0;
  const void* data = nullptr;
  friend bool operator==(const Seen&, const Seen&) = default;
};
Seen seen(const Array& array) {
  if (!array.defined()) return {};
  return {array.storage()->id(), array.storage()->version(), array.raw_data()};
}

// What the filters are made of besides themselves.
struct Origin {
  std::array<Seen, 5> arrays;
  double eps = 0;
  friend bool operator==(const Origin&, const Origin&) = default;
};
Origin origin_of(const Tensor& bias, const EvaluatedNorm& norm) {
  return {{seen(bias.array()), seen(norm.weight.array()), seen(norm.bias.array()),
           seen(norm.running_mean), seen(norm.running_var)},
          norm.eps};
}

// Filters and bias that contain a normalisation, with the forms that kernels keep of them.
struct NormalizedFilters {
  Tensor weight;
  Tensor bias;
  Origin origin;
  std::unique_ptr<PreparedWeights> prepared;
};

double element_or(const Array& vector, std::int64_t index, double otherwise) {
  return vector.defined() ? double{vector.data<float>()[index]} : otherwise;
}

std::shared_ptr<const NormalizedFilters> normalized_filters(const Array& weight, const Tensor& bias,
                                                            const EvaluatedNorm& norm) {
  const std::int64_t outputs = weight.dim(0);
  const std::int64_t each = weight.size() / outputs;
  Array filters = Array::empty(weight.shape());
  Array shifts = Array::empty({outputs});
  for (std::int64_t o = 0; o < outputs; ++o) {
    const double scale = element_or(norm.weight.array(), o, 1.0) /
                         std::sqrt(double{norm.running_var.data<float>()[o]} + norm.eps);
    for (std::int64_t i = o * each; i < (o + 1) * each; ++i) {
      filters.data<float>()[i] = static_cast<float>(double{weight.data<float>()[i]} * scale);
    }
    const double centered =
        element_or(bias.array(), o, 0.0) - double{norm.running_mean.data<float>()[o]};
    shifts.data<float>()[o] =
        static_cast<float>(element_or(norm.bias.array(), o, 0.0) + centered * scale);
  }
  const std::vector<Array> kept = {filters};
  auto result = std::make_shared<NormalizedFilters>();
  result->weight = Tensor(filters);
  result->bias = Tensor(shifts);
  result->origin = origin_of(bias, norm);
  result->prepared = std::make_unique<PreparedWeights>(kept, PreparedWeights::precision());
  return result;
}

bool is_plain_vector(const Array& array, std::int64_t size, bool needed) {
  if (!array.defined()) return !needed;
  return array.shape() == Shape{size} && array.dtype() == DType::kF32 && array.is_contiguous();
}

// Anything else goes the way of the two operations, which say what is wrong. So does what a graph
// records: its replays read the arrays of the normalisation anew.
bool can_fold(const Tensor& x, const Tensor& weight, const Tensor& bias,
              const EvaluatedNorm& norm) {
  const auto is_f32 = [](const Tensor& tensor) { return tensor.dtype() == DType::kF32; };
  if (op_tracing() || current_recorder() != nullptr || !weight.array().device().is_cpu() ||
      !is_f32(x) || !is_f32(weight) || weight.ndim() != 4 || weight.size() == 0 ||
      !PreparedWeights::keeps(weight.array()) || recording({&x, &weight, &bias}) ||
      recording({&norm.weight, &norm.bias})) {
    return false;
  }
  const std::int64_t outputs = weight.dim(0);
  return is_plain_vector(bias.array(), outputs, false) &&
         is_plain_vector(norm.weight.array(), outputs, false) &&
         is_plain_vector(norm.bias.array(), outputs, false) &&
         is_plain_vector(norm.running_mean, outputs, true) &&
         is_plain_vector(norm.running_var, outputs, true);
}

std::shared_ptr<const NormalizedFilters> kept_filters(const Array& weight, const Tensor& bias,
                                                      const EvaluatedNorm& norm) {
  constexpr WeightForm kForm = WeightForm::kNormalizedFilters;
  auto filters = PreparedWeights::find<NormalizedFilters>(weight, kForm);
  if (filters == nullptr || filters->origin != origin_of(bias, norm)) {
    filters = normalized_filters(weight, bias, norm);
    PreparedWeights::keep(weight, kForm, filters);
  }
  return filters;
}

}  // namespace

Tensor conv2d_normalized(const Tensor& x, const Tensor& weight, const Tensor& bias,
                         const Conv2dOptions& options, const EvaluatedNorm& norm) {
  if (can_fold(x, weight, bias, norm)) {
    const auto filters = kept_filters(weight.array(), bias, norm);
    const PreparedWeights::Use use(filters->prepared.get());
    return conv2d(x, filters->weight, filters->bias, options);
  }
  Conv2dOptions plain = options;
  plain.activation = Activation::kNone;
  return batch_norm(conv2d(x, weight, bias, plain), norm.weight, norm.bias, norm.running_mean,
                    norm.running_var, {.eps = norm.eps, .activation = options.activation});
}

}  // namespace weft
