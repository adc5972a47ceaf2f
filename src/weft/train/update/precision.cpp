#include "weft/train/update/precision.h"

#include "weft/base/check.h"
#include "weft/op/arithmetic.h"

namespace weft {

bool is_precision(std::string_view name) {
  return name == "f32" || name == "bf16" || name == "f16";
}

DType precision_dtype(std::string_view name) {
  if (name == "bf16") return DType::kBF16;
  if (name == "f16") return DType::kF16;
  WEFT_CHECK(name == "f32");
  return DType::kF32;
}

LowPrecision::LowPrecision(Module& model, DType dtype) : model_(model), dtype_(dtype) {
  if (dtype == DType::kF32) return;
  masters_ = model.parameters();
  std::vector<Tensor> casts;
  casts.reserve(masters_.size());
  for (const Tensor& master : masters_) casts.push_back(cast(master, dtype));
  model.replace_parameters(casts);
}

LowPrecision::~LowPrecision() {
  if (!masters_.empty()) model_.replace_parameters(masters_);
}

Tensor LowPrecision::input(const Array& values) const {
  if (dtype_ == DType::kF32 || !is_floating(values.dtype())) return Tensor(values);
  return cast(Tensor(values), dtype_);
}

Tensor LowPrecision::output(const Tensor& values) {
  return values.dtype() == DType::kF32 ? values : cast(values, DType::kF32);
}

}  // namespace weft
