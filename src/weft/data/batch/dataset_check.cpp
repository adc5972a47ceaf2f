// check_dataset(): the parts of a Dataset that a program fills by hand, against each other.
#include <limits>
#include <string>

#include <fmt/format.h>

#include "weft/data/dataset.h"

namespace weft {
namespace {

constexpr std::int64_t kOneByteClasses = 256;

// a * b, or nothing where that is beyond any memory.
std::int64_t product(std::int64_t a, std::int64_t b) {
  return b != 0 && a > std::numeric_limits<std::int64_t>::max() / b
             ? std::numeric_limits<std::int64_t>::max()
             : a * b;
}

Status expected(const Dataset& dataset, const std::string& what, const std::string& got) {
  return invalid_argument(fmt::format("dataset {}: expected {}, got {}",
                                      dataset.name.empty() ? "without a name" : dataset.name, what,
                                      got));
}

Status check_bytes(const Dataset& dataset, const char* what, const SharedBytes& bytes,
                   std::int64_t wanted) {
  if (static_cast<std::uint64_t>(wanted) <= bytes.size()) return {};
  return expected(dataset, fmt::format("{} bytes of {} for {} samples", wanted, what, dataset.size),
                  std::to_string(bytes.size()));
}

Status check_label_bytes(const Dataset& dataset) {
  const std::int64_t bytes_each = dataset.classes > kOneByteClasses ? 2 : 1;
  return check_bytes(dataset, "labels", dataset.labels, product(dataset.size, bytes_each));
}

Status check_images(const Dataset& dataset) {
  if (dataset.channels < 1 || dataset.height < 1 || dataset.width < 1) {
    return expected(dataset, "images of at least one pixel",
                    fmt::format("{}x{}x{}", dataset.channels, dataset.height, dataset.width));
  }
  if (!dataset.read_image) {
    const std::int64_t pixels = product(product(dataset.channels, dataset.height), dataset.width);
    WEFT_TRY(check_bytes(dataset, "images", dataset.images, product(dataset.size, pixels)));
  }
  return check_label_bytes(dataset);
}

Status check_tokens(const Dataset& dataset) {
  const std::int64_t bytes = dataset.tokens.token_bytes;
  if (bytes != 1 && bytes != 2 && bytes != 4) {
    return expected(dataset, "tokens of 1, 2 or 4 bytes", std::to_string(bytes));
  }
  if (dataset.context < 1 || product(dataset.size, dataset.context) >= dataset.tokens.size()) {
    return expected(dataset,
                    fmt::format("more than {} tokens, {} windows of at least 1",
                                product(dataset.size, dataset.context), dataset.size),
                    fmt::format("{} and a context of {}", dataset.tokens.size(), dataset.context));
  }
  return {};
}

Status check_matrix(const Dataset& dataset, const char* what, const Array& values) {
  const bool fits = values.defined() && values.dtype() == DType::kF32 && values.ndim() == 2 &&
                    values.is_contiguous() && values.dim(0) >= dataset.size;
  if (fits) return {};
  return expected(dataset, fmt::format("{} as contiguous f32 [{}, columns]", what, dataset.size),
                  values.defined()
                      ? fmt::format("{} {}", to_string(values.dtype()), to_string(values.shape()))
                      : "none");
}

Status check_rows(const Dataset& dataset) {
  WEFT_TRY(check_matrix(dataset, "rows", dataset.rows));
  return dataset.targets.defined() ? check_matrix(dataset, "targets", dataset.targets)
                                   : check_label_bytes(dataset);
}

}  // namespace

Status check_dataset(const Dataset& dataset) {
  if (dataset.size < 0) {
    return expected(dataset, "no negative size", std::to_string(dataset.size));
  }
  switch (dataset.kind) {
    case DatasetKind::kImages:
      return check_images(dataset);
    case DatasetKind::kTokens:
      return check_tokens(dataset);
    case DatasetKind::kRows:
      break;
  }
  return check_rows(dataset);
}

}  // namespace weft
