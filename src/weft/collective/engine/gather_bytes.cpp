#include "weft/collective/engine/gather_bytes.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

#include <fmt/format.h>

namespace weft {

// Size of one member's part in the first exchange, its length included.
static constexpr std::size_t kSlotBytes = 256;
static constexpr std::size_t kInSlot = kSlotBytes - sizeof(std::uint32_t);

// `slot_bytes` of every member, by rank; of floats, whose bits an all-gather does not touch.
static Result<std::vector<float>> gather_slots(Engine& engine, ByteSpan own, std::size_t slot_bytes,
                                               const CallOptions& options) {
  std::vector<float> sent((slot_bytes + sizeof(float) - 1) / sizeof(float));
  if (!own.empty()) std::memcpy(sent.data(), own.data(), own.size());
  std::vector<float> all(sent.size() * static_cast<std::size_t>(engine.size()));
  WEFT_TRY(engine.all_gather(sent, all, options)->wait(options.limit));
  return all;
}

static ByteSpan slot_of(const std::vector<float>& all, int rank, int size) {
  const ByteSpan bytes = as_bytes(std::span<const float>(all));
  const std::size_t slot = bytes.size() / static_cast<std::size_t>(size);
  return bytes.subspan(slot * static_cast<std::size_t>(rank), slot);
}

Result<std::vector<Bytes>> gather_bytes(Engine& engine, ByteSpan own, std::size_t bytes_max,
                                        const CallOptions& options) {
  if (own.size() > bytes_max) {
    return invalid_argument(
        fmt::format("gather: expected at most {} bytes, got {}", bytes_max, own.size()));
  }
  const int size = engine.size();
  const auto length = static_cast<std::uint32_t>(own.size());
  Bytes first(sizeof length);
  std::memcpy(first.data(), &length, sizeof length);
  const ByteSpan begin = own.first(std::min(own.size(), kInSlot));
  first.insert(first.end(), begin.begin(), begin.end());
  WEFT_TRY_ASSIGN(const std::vector<float> slots, gather_slots(engine, first, kSlotBytes, options));

  std::vector<Bytes> out;
  std::vector<std::size_t> rest;
  for (int rank = 0; rank < size; ++rank) {
    const ByteSpan slot = slot_of(slots, rank, size);
    std::uint32_t bytes = 0;
    std::memcpy(&bytes, slot.data(), sizeof bytes);
    if (bytes > bytes_max) {
      return corrupt(fmt::format("gather: rank {} says {} bytes, at most {} are taken", rank, bytes,
                                 bytes_max));
    }
    const ByteSpan here = slot.subspan(sizeof bytes, std::min<std::size_t>(bytes, kInSlot));
    out.emplace_back(here.begin(), here.end());
    rest.push_back(bytes - here.size());
  }
  const std::size_t longest = *std::ranges::max_element(rest);
  if (longest == 0) return out;
  WEFT_TRY_ASSIGN(const std::vector<float> more,
                  gather_slots(engine, own.subspan(begin.size()), longest, options));
  for (int rank = 0; rank < size; ++rank) {
    const ByteSpan tail = slot_of(more, rank, size).first(rest[static_cast<std::size_t>(rank)]);
    Bytes& into = out[static_cast<std::size_t>(rank)];
    into.insert(into.end(), tail.begin(), tail.end());
  }
  return out;
}

}  // namespace weft
