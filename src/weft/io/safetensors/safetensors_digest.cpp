#include "weft/io/safetensors_digest.h"

#include <algorithm>
#include <optional>
#include <string_view>

#include <fmt/format.h>

#include "weft/base/hash.h"

namespace weft {
namespace {

constexpr std::string_view kHeaderKey = "header_sha256";
constexpr std::string_view kTensorPrefix = "xxh3_128/";
// As the writer puts it. Within a text of the header its quotes would be escaped, so it stands
// nowhere else.
constexpr std::string_view kHeaderField =
    "\"header_sha256\":\"";  // tidy: allow json: it is looked for, not written
constexpr std::size_t kDigits = 64;
constexpr std::size_t kSizeBytes = 8;

std::string tensor_key(std::string_view name) { return fmt::format("{}{}", kTensorPrefix, name); }

// What stands before the data; a file that was parsed is at least so long.
ByteSpan head_of(ByteSpan bytes) {
  std::uint64_t header_bytes = 0;
  for (std::size_t i = kSizeBytes; i > 0; --i) header_bytes = (header_bytes << 8U) | bytes[i - 1];
  return bytes.first(kSizeBytes + static_cast<std::size_t>(header_bytes));
}

// Where the digits of the header's digest begin.
std::optional<std::size_t> digits_in(ByteSpan head) {
  const auto found =
      std::search(head.begin(), head.end(), kHeaderField.begin(), kHeaderField.end());
  if (found == head.end()) return std::nullopt;
  const auto at = static_cast<std::size_t>(found - head.begin()) + kHeaderField.size();
  if (head.size() - at < kDigits) return std::nullopt;
  return at;
}

std::string header_digest(ByteSpan head, std::size_t digits_at) {
  static constexpr std::string_view kZeros =
      "0000000000000000000000000000000000000000000000000000000000000000";
  static_assert(kZeros.size() == kDigits);
  Sha256 hash;
  hash.update(head.first(digits_at)).update(as_bytes(kZeros));
  return to_hex(hash.update(head.subspan(digits_at + kDigits)).finish());
}

Status differs(std::string_view what, std::string_view expected, std::string_view got) {
  return corrupt(fmt::format(
      "safetensors: {}: expected the digest {}, got {}: the file was altered after it was written",
      what, expected, got));
}

}  // namespace

void add_digests(std::span<const SafetensorsTensor> tensors, SafetensorsMetadata& metadata) {
  for (const SafetensorsTensor& tensor : tensors) {
    metadata[tensor_key(tensor.name)] = to_hex(xxh3_128(tensor.values));
  }
  metadata[std::string(kHeaderKey)] = std::string(kDigits, '0');
}

void seal_header(MutableByteSpan bytes) {
  const ByteSpan head = head_of(bytes);
  const std::optional<std::size_t> at = digits_in(head);
  WEFT_CHECK(at.has_value());
  const std::string digest = header_digest(head, *at);
  std::copy(digest.begin(), digest.end(), bytes.begin() + static_cast<std::ptrdiff_t>(*at));
}

bool has_digests(const SafetensorsMetadata& metadata) {
  // Any of them: else a file in which the name of one is altered would pass for one without.
  return std::any_of(metadata.begin(), metadata.end(), [](const auto& item) {
    return item.first == kHeaderKey || item.first.starts_with(kTensorPrefix);
  });
}

Status check_header_digest(ByteSpan bytes, const SafetensorsView& view) {
  const auto told = view.metadata.find(kHeaderKey);
  if (told == view.metadata.end()) {
    return corrupt("safetensors: the header: expected a digest of it, got none");
  }
  const ByteSpan head = head_of(bytes);
  const std::optional<std::size_t> at = digits_in(head);
  const std::string digest = at.has_value() ? header_digest(head, *at) : std::string("none");
  if (digest != told->second) return differs("the header", told->second, digest);
  for (const SafetensorsEntry& entry : view.entries) {
    if (view.metadata.contains(tensor_key(entry.name))) continue;
    return corrupt(fmt::format("safetensors: {}: expected a digest of it, got none", entry.name));
  }
  return {};
}

Status check_tensor_digests(const SafetensorsView& view) {
  for (const SafetensorsEntry& entry : view.entries) {
    const auto told = view.metadata.find(tensor_key(entry.name));
    if (told == view.metadata.end()) continue;  // check_header_digest() has asked for it
    const std::string digest = to_hex(xxh3_128(entry.values));
    if (digest != told->second) return differs(entry.name, told->second, digest);
  }
  return {};
}

Status check_digests(ByteSpan bytes, const SafetensorsView& view) {
  if (!has_digests(view.metadata)) return {};
  WEFT_TRY(check_header_digest(bytes, view));
  return check_tensor_digests(view);
}

}  // namespace weft
