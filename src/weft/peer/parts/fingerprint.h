// Fingerprint: what tells two memberships apart, for those who explore every order of events.
//
// Each part writes its state, by the lists of its fields (fields.h). For a point in time only
// counts whether it is set, not its value; texts, clocks and jitter are in no list.
//
// Threads: one owner. Fails: never.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <type_traits>
#include <vector>

#include "weft/base/hash.h"
#include "weft/peer/agreement.h"
#include "weft/peer/conduct.h"
#include "weft/peer/membership.h"
#include "weft/peer/revocations.h"
#include "weft/wire/branch_message.h"
#include "weft/wire/codec.h"

namespace weft {

class Fingerprint {
 public:
  Hash128 finish() const { return xxh3_128(out_.written()); }

  // A struct with a list of its fields.
  template <class T>
  requires requires(const T& value) { T::told(value); }
  void add(const T& value) {
    T::names_all(value);
    std::apply([this](const auto&... fields) { (add(fields), ...); }, T::told(value));
  }
  template <class T>
  requires std::is_integral_v<T> || std::is_enum_v<T>
  void add(const T& value) { out_.u64(static_cast<std::uint64_t>(value)); }
  template <class T>
  void add(const std::optional<T>& value) {
    out_.u8(value ? 1 : 0);
    if (value) add(*value);
  }
  template <class T>
  void add(const std::vector<T>& values) {
    each(values);
  }
  template <class T>
  void add(const std::set<T>& values) {
    each(values);
  }
  template <class Key, class Value>
  void add(const std::map<Key, Value>& values) {
    each(values);
  }
  template <class First, class Second>
  void add(const std::pair<First, Second>& value) {
    add(value.first);
    add(value.second);
  }
  template <std::size_t N>
  void add(const std::array<std::uint8_t, N>& value) {
    out_.raw(value);
  }
  void add(const TimePoint& value) { out_.u8(value == TimePoint::max() ? 0 : 1); }
  void add(const PeerId& value) { out_.peer(value); }
  void add(const ViewId& value) { out_.view(value); }
  void add(Round value) { out_.round(value); }
  void add(const Member& value) { out_.peer(value.id).u64(value.incarnation); }
  void add(const PeerAddress& value) { out_.peer(value.id); }
  void add(const Departure& value);
  // All else that a view is follows from its name.
  void add(const View& value) { add(value.id); }
  void add(const StandingMessage& value) { out_.raw(xxh3_128(value.encode())); }
  void add(const EarlierRun& value) { out_.raw(value.run).u64(value.generation); }
  void add(const Revocations& value);
  void add(const Accusations& value);
  void add(const Agreement& value) { value.write_state(out_); }
  // Whose link it is stands beside it.
  void add(const LinkInfo& /*value*/) {}

 private:
  template <class Values>
  void each(const Values& values) {
    out_.u64(values.size());
    for (const auto& value : values) add(value);
  }

  Writer out_;
};

}  // namespace weft
