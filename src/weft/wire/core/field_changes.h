// FieldChanges: changes each field that WEFT_FIELDS (base/fields.h) lists as told, one after the
// other, and puts it back, for tests that a core's fingerprint tells them all.
//
// A new field that nobody lists does not compile; one that is listed and that no fingerprint has is
// found by such a test. For a type that has no list of its own a function beside the test says how
// it changes:
//
//   void vary_field(FieldChanges& changes, Departure& value, const std::string& what);
//
// and a FieldSample how one is made that differs from a fresh one.
//
// Threads: one owner. Fails: never.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
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
#include "weft/wire/ids.h"

namespace weft {

template <class T>
struct FieldSample {
  static T make() { return T{}; }
};

class FieldChanges {
 public:
  // `changed` is called after each change, with the name of what was changed.
  explicit FieldChanges(std::function<void(const std::string& what)> changed)
      : changed_(std::move(changed)) {}

  static PeerId somebody() { return {Hash256{77}}; }
  static PeerId somebody_else() { return {Hash256{78}}; }
  static ViewId some_view() { return {ViewNumber(3), Hash256{7}}; }

  // The core looks like never before.
  void changed(const std::string& what) { changed_(what); }

  // Changes `value` in each way that counts, and puts it back.
  template <class T>
  requires requires(T& value) { T::told(value); }
  void vary(T& value, const std::string& what) {
    const auto fields = T::told(value);
    const std::string names = what + " " + std::string(T::kTold) + " no. ";
    int number = 0;
    std::apply([&](auto&... field) { (vary(field, names + std::to_string(++number)), ...); },
               fields);
  }
  template <class T>
  requires requires(FieldChanges& changes, T& value) { vary_field(changes, value, std::string()); }
  void vary(T& value, const std::string& what) { vary_field(*this, value, what); }
  template <class T>
  void vary(std::optional<T>& value, const std::string& what) {
    const std::optional<T> before = std::exchange(value, FieldSample<T>::make());
    changed(what);
    vary(*value, what);
    value.reset();
    if (before) value.emplace(*before);
  }
  template <class Key, class Value>
  void vary(std::map<Key, Value>& value, const std::string& what) {
    const std::map<Key, Value> before = std::exchange(value, {});
    for (const Key& key : keys<Key>()) {
      value.clear();
      value.emplace(key, FieldSample<Value>::make());
      changed(what);
    }
    vary(value.begin()->second, what);
    value = before;
  }
  template <class T>
  void vary(std::set<T>& value, const std::string& what) {
    for (const T& key : keys<T>()) vary_by(value, what, [&](std::set<T>& it) { it.insert(key); });
  }
  template <class T>
  void vary(std::vector<T>& value, const std::string& what) {
    vary_row(value, what);
  }
  template <class T>
  void vary(std::deque<T>& value, const std::string& what) {
    vary_row(value, what);
  }
  template <class First, class Second>
  void vary(std::pair<First, Second>& value, const std::string& what) {
    vary(value.first, what);
    vary(value.second, what);
  }
  template <class T>
  requires std::is_integral_v<T> || std::is_enum_v<T>
  void vary(T& value, const std::string& what) {
    vary_by(value, what, [](T& it) {
      if constexpr (std::is_same_v<T, bool>) {
        it = !it;
      } else {
        it = static_cast<T>(static_cast<std::uint64_t>(it) + 1);
      }
    });
  }
  template <std::size_t N>
  void vary(std::array<std::uint8_t, N>& value, const std::string& what) {
    vary_by(value, what, [](auto& it) { it[0] = static_cast<std::uint8_t>(it[0] + 1); });
  }
  void vary(PeerId& value, const std::string& what) {
    vary_by(value, what, [](PeerId& it) { it = somebody(); });
  }
  void vary(ViewId& value, const std::string& what) {
    vary_by(value, what, [](ViewId& it) { it.hash[3] = 9; });
  }
  void vary(Round& value, const std::string& what) {
    vary_by(value, what, [](Round& it) { it = it.next(); });
  }
  // Whether it is set.
  void vary(TimePoint& value, const std::string& what) {
    vary_by(value, what,
            [](TimePoint& it) { it = it == TimePoint::max() ? TimePoint{} : TimePoint::max(); });
  }

  template <class T, class Change>
  void vary_by(T& value, const std::string& what, const Change& change) {
    const T before = value;
    change(value);
    changed(what);
    value = before;
  }

 private:
  template <class Row>
  void vary_row(Row& value, const std::string& what) {
    const Row before = std::exchange(value, Row{FieldSample<typename Row::value_type>::make()});
    changed(what);
    vary(value.front(), what);
    value = before;
  }
  // Two that differ.
  template <class T>
  static std::array<T, 2> keys() {
    if constexpr (std::is_same_v<T, PeerId>) {
      return {somebody(), somebody_else()};
    } else if constexpr (std::is_same_v<T, ViewId>) {
      return {ViewId{}, some_view()};
    } else {
      return {T{}, T{1}};
    }
  }

  const std::function<void(const std::string& what)> changed_;
};

}  // namespace weft
