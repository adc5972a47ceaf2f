#include <algorithm>
#include <stdexcept>

#include <fmt/format.h>

#include "weft/io/onnx/onnx_operator.h"

namespace weft {

void OnnxCall::fail(const std::string& expected, const std::string& got) const {
  throw std::invalid_argument(fmt::format("[{}] expected {}, got {}", node_.op, expected, got));
}

bool OnnxCall::has(int index) const {
  return index >= 0 && index < size() && inputs_[static_cast<std::size_t>(index)].defined();
}

const Tensor& OnnxCall::in(int index) const {
  if (!has(index)) fail(fmt::format("input {}", index), "none");
  return inputs_[static_cast<std::size_t>(index)];
}

std::vector<std::int64_t> OnnxCall::integers_in(int index) const {
  const Array& array = in(index).array();
  if (!is_integer(array.dtype())) {
    fail(fmt::format("integers as input {}", index), std::string(to_string(array.dtype())));
  }
  return array.strided().to(DType::kI64).to_vector<std::int64_t>();
}

bool OnnxCall::wants(int index) const {
  const auto at = static_cast<std::size_t>(index);
  return at < node_.outputs.size() && !node_.outputs[at].empty();
}

const OnnxAttribute* OnnxCall::find(std::string_view name, OnnxAttributeKind kind) const {
  const OnnxAttribute* const attribute = node_.find(name);
  if (attribute != nullptr && attribute->kind != kind) {
    fail(fmt::format("attribute {} of kind {}", name, static_cast<int>(kind)),
         fmt::format("kind {}", static_cast<int>(attribute->kind)));
  }
  return attribute;
}

const OnnxAttribute& OnnxCall::required(std::string_view name, OnnxAttributeKind kind) const {
  const OnnxAttribute* const attribute = find(name, kind);
  if (attribute == nullptr) fail(fmt::format("attribute {}", name), "none");
  return *attribute;
}

std::int64_t OnnxCall::integer(std::string_view name, std::int64_t otherwise) const {
  const OnnxAttribute* const attribute = find(name, OnnxAttributeKind::kInteger);
  return attribute == nullptr ? otherwise : attribute->integer;
}

double OnnxCall::number(std::string_view name, double otherwise) const {
  const OnnxAttribute* const attribute = find(name, OnnxAttributeKind::kFloat);
  return attribute == nullptr ? otherwise : static_cast<double>(attribute->number);
}

std::string OnnxCall::text(std::string_view name, std::string_view otherwise) const {
  const OnnxAttribute* const attribute = find(name, OnnxAttributeKind::kText);
  return attribute == nullptr ? std::string(otherwise) : attribute->text;
}

std::optional<std::vector<std::int64_t>> OnnxCall::integers(std::string_view name) const {
  const OnnxAttribute* const attribute = find(name, OnnxAttributeKind::kIntegers);
  if (attribute == nullptr) return std::nullopt;
  return attribute->integers;
}

std::optional<std::vector<float>> OnnxCall::numbers(std::string_view name) const {
  const OnnxAttribute* const attribute = find(name, OnnxAttributeKind::kFloats);
  if (attribute == nullptr) return std::nullopt;
  return attribute->numbers;
}

std::optional<std::vector<std::int64_t>> OnnxCall::integers_of(std::string_view name,
                                                               int index) const {
  if (has(index)) return integers_in(index);
  return integers(name);
}

std::optional<std::vector<int>> OnnxCall::axes_of(std::string_view name, int index,
                                                  int ndim) const {
  const std::optional<std::vector<std::int64_t>> given = integers_of(name, index);
  if (!given) return std::nullopt;
  std::vector<int> axes;
  for (const std::int64_t number : *given) {
    const int own = axis(number, ndim);
    if (std::find(axes.begin(), axes.end(), own) != axes.end()) {
      fail("each axis once", fmt::format("{} again", number));
    }
    axes.push_back(own);
  }
  return axes;
}

Shape OnnxCall::bounded(std::span<const std::int64_t> shape) const {
  std::int64_t values = 1;
  for (const std::int64_t size : shape) {
    if (size < 0) fail("sizes of at least 0", fmt::format("{}", size));
    if (size > 0 && values > kOnnxValuesMax / size) {
      fail(fmt::format("a result of at most {} values", kOnnxValuesMax),
           fmt::format("[{}]", fmt::join(shape, ", ")));
    }
    values *= std::max<std::int64_t>(size, 1);
  }
  if (shape.size() > Dims::kDimsMax) {
    fail(fmt::format("at most {} axes", Dims::kDimsMax), fmt::format("{}", shape.size()));
  }
  return Shape(shape);
}

int OnnxCall::axis(std::int64_t axis, int ndim) const {
  if (axis < -ndim || axis >= ndim) {
    fail(fmt::format("an axis in [{}, {})", -ndim, ndim), fmt::format("{}", axis));
  }
  return static_cast<int>(axis < 0 ? axis + ndim : axis);
}

}  // namespace weft
