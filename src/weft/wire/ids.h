// The names of things that cross the network: peers, views, rounds.
//
// Each is a type of its own, so that a rank is not taken for a peer id or a round for a view
// number. See docs/GLOSSARY.md.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <string>

#include "weft/base/hash.h"
#include "weft/base/strong.h"

namespace weft {

// SHA-256 of a peer's Ed25519 public key; never changes.
struct PeerId {
  Hash256 bytes{};

  friend auto operator<=>(const PeerId&, const PeerId&) = default;
  // The first 8 characters of the base32 form, which people are shown.
  std::string short_name() const;
  // The whole id as 64 hexadecimal digits.
  std::string to_string() const;
};

using ViewNumber = Strong<struct ViewNumberTag, std::uint64_t>;

// Names one agreed membership. The hash covers the previous ViewId, so views form a chain.
struct ViewId {
  ViewNumber number;
  Hash256 hash{};
  friend auto operator<=>(const ViewId&, const ViewId&) = default;
};

// One exchange of gradients; the first is 1, and 0 means "none yet".
using Round = Strong<struct RoundTag, std::uint64_t>;

// A position in one view's ordered member list: 0 .. members - 1. It changes with the view.
using Rank = Strong<struct RankTag, std::int32_t>;

// Hash of the canonical recipe and a nonce: names one run.
using RunId = Hash256;

}  // namespace weft

template <>
struct std::hash<weft::PeerId> {
  std::size_t operator()(const weft::PeerId& id) const noexcept {
    std::size_t value = 0;
    for (std::size_t i = 0; i < sizeof value; ++i) value = value << 8U | id.bytes[i];
    return value;
  }
};
