#include "weft/array/arena/layout.h"

#include <stdexcept>

#include <fmt/format.h>

namespace weft {

std::string_view to_string(ParameterKind kind) {
  switch (kind) {
    case ParameterKind::kWeight:
      return "weight";
    case ParameterKind::kBias:
      return "bias";
    case ParameterKind::kNorm:
      return "norm";
    case ParameterKind::kBuffer:
      break;
  }
  return "buffer";
}

int Layout::add(std::string name, const Shape& shape, ParameterKind kind) {
  if (find(name) >= 0) {
    throw std::invalid_argument(
        fmt::format("[layout] expected a new name, got \"{}\" again", name));
  }
  entries_.push_back({std::move(name), num_elements_, shape, kind});
  num_elements_ += (shape.num_elements() + kAlignment - 1) / kAlignment * kAlignment;
  return size() - 1;
}

std::int64_t Layout::num_parameters() const {
  std::int64_t sum = 0;
  for (const LayoutEntry& entry : entries_) sum += entry.shape.num_elements();
  return sum;
}

int Layout::find(std::string_view name) const {
  for (int i = 0; i < size(); ++i) {
    if ((*this)[i].name == name) return i;
  }
  return -1;
}

int Layout::find_offset(std::int64_t offset) const {
  if (offset < 0 || offset >= num_elements_) return -1;
  int found = -1;
  for (int i = 0; i < size() && (*this)[i].offset <= offset; ++i) found = i;
  return found;
}

Hash256 Layout::hash() const {
  std::string text;
  for (const LayoutEntry& entry : entries_) {
    text += fmt::format("{} {} {} {}\n", entry.name, entry.offset, weft::to_string(entry.shape),
                        weft::to_string(entry.kind));
  }
  return sha256(as_bytes(text));
}

}  // namespace weft
