#include "weft/collective/codec/residual_file.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "weft/base/check.h"
#include "weft/base/file.h"
#include "weft/base/hash.h"
#include "weft/wire/collective_message.h"

namespace weft {

namespace {

constexpr std::string_view kResidualMagic = "weft residual 2\n";
// Before the lengths.
constexpr std::size_t kResidualFixedBytes = kResidualMagic.size() + 4 + 8 + 4;

std::size_t head_bytes(std::size_t exchanges) {
  return kResidualFixedBytes + exchanges * sizeof(std::uint64_t) + sizeof(Hash128);
}

template <class T>
void append(Bytes& out, const T& value) {
  const auto* const bytes = reinterpret_cast<const std::uint8_t*>(&value);
  out.insert(out.end(), bytes, bytes + sizeof value);
}

template <class T>
T value_at(const Bytes& bytes, std::size_t offset) {
  T value{};
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

struct ResidualHead {
  std::uint32_t codec = 0;
  std::uint64_t round = 0;
  std::vector<std::uint64_t> lengths;
};

Bytes encode_head(const ResidualHead& head, std::span<const float> values) {
  Bytes out(kResidualMagic.begin(), kResidualMagic.end());
  append(out, head.codec);
  append(out, head.round);
  append(out, static_cast<std::uint32_t>(head.lengths.size()));
  for (const std::uint64_t length : head.lengths) append(out, length);
  Bytes hashed = out;
  const Hash128 hash_of_values = xxh3_128(as_bytes(values));
  hashed.insert(hashed.end(), hash_of_values.begin(), hash_of_values.end());
  append(out, xxh3_128(hashed));
  return out;
}

// Unchecked but for what is needed to read it.
std::optional<ResidualHead> decode_head(const Bytes& bytes, std::uint64_t elements_max) {
  if (bytes.size() < kResidualFixedBytes) return std::nullopt;
  ResidualHead head;
  head.codec = value_at<std::uint32_t>(bytes, kResidualMagic.size());
  head.round = value_at<std::uint64_t>(bytes, kResidualMagic.size() + 4);
  const auto count = value_at<std::uint32_t>(bytes, kResidualMagic.size() + 12);
  if (count == 0 || count > kExchangesMax || bytes.size() < head_bytes(count)) return std::nullopt;
  std::uint64_t left = elements_max;
  for (std::uint32_t i = 0; i < count; ++i) {
    const auto length = value_at<std::uint64_t>(bytes, kResidualFixedBytes + 8 * i);
    if (length > left) return std::nullopt;
    left -= length;
    head.lengths.push_back(length);
  }
  if (bytes.size() != head_bytes(count) + (elements_max - left) * sizeof(float)) {
    return std::nullopt;
  }
  return head;
}

}  // namespace

Status write_residual_file(const std::string& path, const Codec& codec,
                           const ResidualState& state) {
  if (state.empty()) {
    std::error_code error;
    std::filesystem::remove(path, error);
    if (!error) return {};
    return unavailable(fmt::format("{}: cannot be removed ({})", path, error.message()));
  }
  WEFT_CHECK(state.residuals.size() <= kExchangesMax);
  ResidualHead head{codec.id(), state.round.value(), {}};
  std::vector<float> joined;
  for (const ResidualValues& each : state.residuals) {
    head.lengths.push_back(each ? each->size() : 0);
    if (state.residuals.size() > 1 && each) joined.insert(joined.end(), each->begin(), each->end());
  }
  const std::span<const float> values =
      state.residuals.size() == 1 ? std::span<const float>(*state.residuals.front()) : joined;
  const Bytes front = encode_head(head, values);
  const std::array<ByteSpan, 2> parts = {ByteSpan(front), as_bytes(values)};
  return write_file_atomically(path, parts);
}

Result<ResidualState> read_residual_file(const std::string& path, const Codec& codec,
                                         std::uint64_t elements_max) {
  std::error_code error;
  if (!std::filesystem::exists(path, error)) return ResidualState{};
  const std::size_t bytes_max = head_bytes(kExchangesMax) + elements_max * sizeof(float);
  WEFT_TRY_ASSIGN(const Bytes bytes, read_file(path, bytes_max));
  const auto damaged = [&] {
    return corrupt(
        fmt::format("{}: is no residual, or a damaged one; remove it: the next round "
                    "begins without",
                    path));
  };
  const std::optional<ResidualHead> head = decode_head(bytes, elements_max);
  if (!head) return damaged();
  const std::size_t begin = head_bytes(head->lengths.size());
  std::vector<float> values((bytes.size() - begin) / sizeof(float));
  if (!values.empty()) {
    std::memcpy(values.data(), bytes.data() + begin, values.size() * sizeof(float));
  }
  const Bytes expected = encode_head(*head, values);
  if (!std::equal(expected.begin(), expected.end(), bytes.begin())) return damaged();
  if (head->codec != codec.id()) {
    return invalid_argument(
        fmt::format("{}: is of another codec than {}; remove it: the next "
                    "round begins without",
                    path, codec.text()));
  }
  ResidualState state{Round(head->round), {}};
  auto from = values.begin();
  for (const std::uint64_t length : head->lengths) {
    const auto to = from + static_cast<std::ptrdiff_t>(length);
    state.residuals.push_back(length == 0 ? nullptr
                                          : std::make_shared<const std::vector<float>>(from, to));
    from = to;
  }
  return state;
}

}  // namespace weft
