#include "weft/data/cifar.h"

#include <algorithm>

#include <fmt/format.h>

namespace weft {
namespace {

constexpr std::size_t kImageBytes = std::size_t{3} * 32 * 32;
constexpr std::size_t kClassNameBytesMax = 64;

std::size_t label_bytes(CifarKind kind) { return kind == CifarKind::kCifar10 ? 1 : 2; }

// What the label bytes of one record must be below, in their order.
Status check_labels(ByteSpan labels, CifarKind kind, std::size_t record) {
  constexpr std::uint8_t kTen[] = {10};
  constexpr std::uint8_t kHundred[] = {20, 100};
  const std::uint8_t* limits = kind == CifarKind::kCifar10 ? kTen : kHundred;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    if (labels[i] >= limits[i]) {
      return corrupt(fmt::format("record {}: expected a label below {}, got {}", record, limits[i],
                                 labels[i]));
    }
  }
  return {};
}

}  // namespace

Status append_cifar(ByteSpan bytes, CifarKind kind, std::int64_t count, CifarRecords& out) {
  const std::size_t head = label_bytes(kind);
  const std::size_t record_bytes = head + kImageBytes;
  const std::size_t records = bytes.size() / record_bytes;
  const bool right_count = count == 0 ? records > 0 : records == static_cast<std::size_t>(count);
  if (bytes.size() % record_bytes != 0 || !right_count) {
    return corrupt(fmt::format("expected {} records of {} bytes, got {} bytes",
                               count == 0 ? "one or more" : std::to_string(count), record_bytes,
                               bytes.size()));
  }
  out.images.reserve(out.images.size() + records * kImageBytes);
  for (std::size_t i = 0; i < records; ++i) {
    const ByteSpan record = bytes.subspan(i * record_bytes, record_bytes);
    WEFT_TRY(check_labels(record.first(head), kind, i));
    out.labels.push_back(record[head - 1]);
    out.images.insert(out.images.end(), record.begin() + static_cast<std::ptrdiff_t>(head),
                      record.end());
  }
  return {};
}

Result<std::vector<std::string>> parse_class_names(std::string_view text, std::size_t classes) {
  std::vector<std::string> names;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view name = text.substr(0, end);
    text.remove_prefix(std::min(text.size(), end + 1));
    if (!name.empty() && name.back() == '\r') name.remove_suffix(1);
    if (name.empty()) continue;
    const bool printable =
        std::all_of(name.begin(), name.end(), [](char c) { return c > ' ' && c <= '~'; });
    if (!printable || name.size() > kClassNameBytesMax || names.size() == classes) {
      return corrupt(
          fmt::format("class names: expected {} of printable ASCII, got another line", classes));
    }
    names.emplace_back(name);
  }
  if (names.size() != classes) {
    return corrupt(fmt::format("class names: expected {}, got {}", classes, names.size()));
  }
  return names;
}

}  // namespace weft
