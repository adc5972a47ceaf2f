#include "weft/collective/codec/residual_file.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "weft/base/file.h"
#include "weft/base/hash.h"

namespace weft {

namespace {

constexpr std::string_view kResidualMagic = "weft residual 1\n";
constexpr std::size_t kResidualHeadBytes = kResidualMagic.size() + 4 + 8 + 8 + 16;

Bytes residual_head(std::uint32_t codec, std::uint64_t round, std::span<const float> values) {
  Bytes head(kResidualMagic.begin(), kResidualMagic.end());
  const auto append = [&](const auto& value) {
    const auto* const bytes = reinterpret_cast<const std::uint8_t*>(&value);
    head.insert(head.end(), bytes, bytes + sizeof value);
  };
  append(codec);
  append(round);
  append(static_cast<std::uint64_t>(values.size()));
  Bytes hashed = head;
  const Hash128 hash_of_values = xxh3_128(as_bytes(values));
  hashed.insert(hashed.end(), hash_of_values.begin(), hash_of_values.end());
  append(xxh3_128(hashed));
  return head;
}

}  // namespace

Status write_residual_file(const std::string& path, const Codec& codec,
                           const ResidualState& state) {
  if (!state.residual) {
    std::error_code error;
    std::filesystem::remove(path, error);
    if (!error) return {};
    return unavailable(fmt::format("{}: cannot be removed ({})", path, error.message()));
  }
  const std::span<const float> values = *state.residual;
  const Bytes head = residual_head(codec.id(), state.round.value(), values);
  const std::array<ByteSpan, 2> parts = {ByteSpan(head), as_bytes(values)};
  return write_file_atomically(path, parts);
}

Result<ResidualState> read_residual_file(const std::string& path, const Codec& codec,
                                         std::uint64_t elements_max) {
  std::error_code error;
  if (!std::filesystem::exists(path, error)) return ResidualState{};
  const std::size_t bytes_max = kResidualHeadBytes + elements_max * sizeof(float);
  WEFT_TRY_ASSIGN(const Bytes bytes, read_file(path, bytes_max));
  const auto damaged = [&] {
    return corrupt(
        fmt::format("{}: is no residual, or a damaged one; remove it: the next round "
                    "begins without",
                    path));
  };
  if (bytes.size() < kResidualHeadBytes || (bytes.size() - kResidualHeadBytes) % sizeof(float)) {
    return damaged();
  }
  std::vector<float> values((bytes.size() - kResidualHeadBytes) / sizeof(float));
  if (!values.empty()) {
    std::memcpy(values.data(), bytes.data() + kResidualHeadBytes, values.size() * sizeof(float));
  }
  std::uint32_t id = 0;
  std::uint64_t round = 0;
  std::memcpy(&id, bytes.data() + kResidualMagic.size(), sizeof id);
  std::memcpy(&round, bytes.data() + kResidualMagic.size() + sizeof id, sizeof round);
  const Bytes head = residual_head(id, round, values);
  if (!std::equal(head.begin(), head.end(), bytes.begin())) return damaged();
  if (id != codec.id()) {
    return invalid_argument(
        fmt::format("{}: is of another codec than {}; remove it: the next "
                    "round begins without",
                    path, codec.text()));
  }
  return ResidualState{Round(round), std::make_shared<const std::vector<float>>(std::move(values))};
}

}  // namespace weft
