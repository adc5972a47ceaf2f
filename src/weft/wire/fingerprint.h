// Fingerprint: what tells two states of a core apart, for those who explore every order of events
// and for tests that no field is forgotten.
//
// Each part of a core writes its state, by the lists of its fields (base/fields.h). For a point in
// time only counts whether it is set, not its value; texts, clocks and jitter are in no list. For a
// type that has no list of its own a function beside its users says what counts:
//
//   void write_fingerprint(Fingerprint& out, const Departure& value) { out.add(value.id); ... }
//
// Threads: one owner. Fails: never.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "weft/base/hash.h"
#include "weft/base/time.h"
#include "weft/wire/codec.h"

namespace weft {

class Fingerprint {
 public:
  Hash128 finish() const { return xxh3_128(out_.written()); }
  // For what says itself what counts of it.
  Writer& out() { return out_; }

  // A struct with a list of its fields.
  template <class T>
  requires requires(const T& value) { T::told(value); }
  void add(const T& value) {
    T::names_all(value);
    std::apply([this](const auto&... fields) { (add(fields), ...); }, T::told(value));
  }
  // Any other type for which there is a function.
  template <class T>
  requires requires(Fingerprint& out, const T& value) { write_fingerprint(out, value); }
  void add(const T& value) { write_fingerprint(*this, value); }
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
  void add(const std::deque<T>& values) {
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

 private:
  template <class Values>
  void each(const Values& values) {
    out_.u64(values.size());
    for (const auto& value : values) add(value);
  }

  Writer out_;
};

}  // namespace weft
