// Event: one thing that happened in a run, as a kind and named fields; its text forms.
//
// As JSON it is one object per line: {"t": seconds, "kind": "...", fields...}; `t` is Unix time.
// One table (event_kinds) defines the kinds and their fields; docs/events.md is generated from it,
// and EventLog refuses all others.
//
// Where it stands: run loop -> EventLog -> OUT/events.jsonl, terminal, summary.
// Threads: values. Fails: parse_event with kCorrupt.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "weft/base/status.h"

namespace weft {

using EventValue = std::variant<bool, std::int64_t, double, std::string, std::vector<std::string>,
                                std::vector<double>>;

struct Event {
  double unix_time_s = 0;
  std::string kind;
  std::vector<std::pair<std::string, EventValue>> fields;

  Event() = default;
  explicit Event(std::string_view kind_name) : kind(kind_name) {}

  // Adds a field. Whole numbers of any type become integers, other values keep their types.
  template <class Value>
  Event& with(std::string_view name, Value value) {
    if constexpr (std::is_integral_v<Value> && !std::is_same_v<Value, bool>) {
      return add(name, EventValue(static_cast<std::int64_t>(value)));
    } else if constexpr (std::is_same_v<Value, const char*>) {
      return add(name, EventValue(std::string(value)));
    } else {
      return add(name, EventValue(std::move(value)));
    }
  }
  Event& add(std::string_view name, EventValue&& value);

  // The field, or a neutral value if there is none of that name and type; `number` also takes whole
  // numbers.
  std::string text(std::string_view name) const;
  std::int64_t integer(std::string_view name) const;
  double number(std::string_view name) const;
  bool flag(std::string_view name) const;
  std::vector<std::string> list(std::string_view name) const;
  std::vector<double> numbers(std::string_view name) const;
  const EventValue* find(std::string_view name) const;
};

// One line of JSON without the line's end.
std::string to_json(const Event& event);
// The fields alone, as one object.
std::string fields_to_json(const Event& event);
Result<Event> parse_event(std::string_view line);

// A sentence for people: what happened, why, and the reaction; "" for kinds that are not reported
// (round, summary). It is the field `text` if there is one.
std::string describe(const Event& event);

// "0.6931", "1.299e+18", "not a number": for people.
std::string loss_text(double loss);
// Two digits of a share, for people: 0.00123 is "0.12 %", 3.62 "362 %".
std::string percent_text(double share);

struct EventFieldDoc {
  std::string_view name;
  std::string_view type;  // integer, number, text, flag, list, numbers
  std::string_view help;
};
struct EventKindDoc {
  std::string_view kind;
  std::string_view help;
  std::span<const EventFieldDoc> fields;
};
std::span<const EventKindDoc> event_kinds();
// True if the table knows the kind and every field of `event`, with its type.
bool is_documented(const Event& event);
// The page docs/events.md.
std::string event_page();

}  // namespace weft
