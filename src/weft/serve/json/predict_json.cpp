#include "weft/serve/json/predict_json.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "weft/http/json_text.h"

namespace weft {
namespace {

constexpr std::size_t kModelNameBytesMax = 256;
// The body's object, "inputs", a row, and [channels][height][width] within it.
constexpr int kRowsDepthMax = 6;
constexpr int kRowsDepth = 2;  // within "inputs"
constexpr float kPixelMax = 255.0F;
constexpr float kMissing = std::numeric_limits<float>::quiet_NaN();

// Takes the parts of the body as nlohmann's parser finds them; false ends the parse.
class RowsReader : public nlohmann::json_sax<nlohmann::json> {
 public:
  RowsReader(const RowRule& rule, PredictRows& rows) : rule_(rule), rows_(rows) {}

  std::string fault;
  bool has_inputs = false;

  bool null() override {
    if (depth_ <= kRowsDepth || rule_.columns.empty()) return value("null");
    return place() && push(kMissing);
  }
  bool boolean(bool /*value*/) override { return value("true or false"); }
  bool number_integer(number_integer_t value) override {
    return number(static_cast<double>(value));
  }
  bool number_unsigned(number_unsigned_t value) override {
    return number(static_cast<double>(value));
  }
  bool number_float(number_float_t value, const string_t& /*text*/) override {
    return number(value);
  }
  bool string(string_t& text) override {
    if (depth_ > kRowsDepth && !rule_.columns.empty()) return word(text);
    if (depth_ != 1 || key_ != "model") return value("a text");
    if (text.size() > kModelNameBytesMax) return fail("model: expected the name of one");
    rows_.model = text;
    return true;
  }
  bool binary(binary_t& /*value*/) override { return value("bytes"); }
  bool start_object(std::size_t /*elements*/) override {
    if (depth_ != 0) return value("an object");
    ++depth_;
    return true;
  }
  bool end_object() override {
    --depth_;
    return true;
  }
  bool key(string_t& text) override {
    key_ = text;
    if (key_ != "inputs" && key_ != "model") {
      return fail(fmt::format("{}: expected the keys inputs and model alone", json_quoted(key_)));
    }
    if (key_ == "inputs" && has_inputs) return fail("inputs: expected once");
    if (key_ == "model" && std::exchange(has_model_, true)) return fail("model: expected once");
    return true;
  }
  bool start_array(std::size_t /*elements*/) override {
    if (depth_ == 0 || key_ != "inputs") return value("an array");
    if (depth_ == kRowsDepthMax) return fail("inputs: expected at most [channels][height][width]");
    if (depth_ == 1) has_inputs = true;
    if (depth_ == kRowsDepth) {
      if (rows_.rows == rule_.rows_max) {
        return fail(fmt::format("inputs: expected at most {} rows", rule_.rows_max));
      }
      ++rows_.rows;
      in_row_ = 0;
    }
    ++depth_;
    return true;
  }
  bool end_array() override {
    --depth_;
    return depth_ != kRowsDepth || in_row_ == rule_.features || wrong_count("");
  }
  bool parse_error(std::size_t at, const std::string& /*token*/,
                   const nlohmann::detail::exception& /*error*/) override {
    return fail(fmt::format("body: expected JSON, got something else at byte {}", at));
  }

 private:
  bool fail(std::string why) {
    if (fault.empty()) fault = std::move(why);
    return false;
  }
  bool value(const char* what) {
    if (depth_ == 0) return fail(fmt::format("body: expected an object, got {}", what));
    return fail(fmt::format("{}: expected {}, got {}", key_,
                            key_ == "model" ? "a text" : "rows of numbers", what));
  }
  bool wrong_count(const char* more) {
    return fail(fmt::format("inputs[{}]: expected {} numbers, got {}{}", rows_.rows - 1,
                            rule_.features, more, in_row_));
  }
  // The next place in the row.
  bool place() { return ++in_row_ <= rule_.features || wrong_count("at least "); }
  bool push(float value) {
    rows_.values.push_back(value);
    return true;
  }
  const WordNumbers& column() const { return rule_.columns[static_cast<std::size_t>(in_row_ - 1)]; }
  // A word that training did not have counts as a missing one.
  bool word(const std::string& text) {
    if (!place()) return false;
    if (column().empty()) {
      return fail(fmt::format("inputs[{}][{}]: expected a number, got a text", rows_.rows - 1,
                              in_row_ - 1));
    }
    const auto found = column().find(text);
    return push(found == column().end() ? kMissing : found->second);
  }
  bool number(double given) {
    if (depth_ <= kRowsDepth) return value("a number");
    if (!place()) return false;
    if (!rule_.columns.empty() && !column().empty()) {
      return fail(fmt::format("inputs[{}][{}]: expected a text, one of the column's words, got {}",
                              rows_.rows - 1, in_row_ - 1, given));
    }
    const auto narrow = static_cast<float>(given);
    const auto refuse = [&](const char* expected) {
      return fail(fmt::format("inputs[{}][{}]: expected {}, got {}", rows_.rows - 1, in_row_ - 1,
                              expected, given));
    };
    if (!std::isfinite(narrow)) return refuse("a number of 32 bits");
    if (rule_.pixels && !(narrow >= 0 && narrow <= kPixelMax && std::trunc(given) == given)) {
      return refuse("a pixel, a whole number from 0 to 255");
    }
    return push(narrow);
  }

  const RowRule& rule_;
  PredictRows& rows_;
  int depth_ = 0;
  std::int64_t in_row_ = 0;
  std::string key_;
  bool has_model_ = false;
};

void append_numbers(std::string& text, std::span<const float> values) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (i > 0) text += ',';
    if (std::isfinite(values[i])) {
      fmt::format_to(std::back_inserter(text), "{}", values[i]);
    } else {
      text += "null";
    }
  }
}

}  // namespace

Result<PredictRows> parse_predict(std::string_view body, const RowRule& rule) {
  PredictRows rows;
  RowsReader reader(rule, rows);
  if (!nlohmann::json::sax_parse(body, &reader)) return invalid_argument(reader.fault);
  if (rows.rows == 0) return invalid_argument("inputs: expected at least one row");
  return rows;
}

std::string predict_answer(const std::string& model, const PredictOutputs& outputs, bool classes,
                           std::span<const std::string> names) {
  // Thousands of numbers are written as they come, not gathered in a tree before.
  std::string text = "{" + json_quoted("model") + ":" + json_quoted(model);
  text += "," + json_quoted("outputs") + ":[";
  std::vector<std::size_t> best;
  const auto columns = static_cast<std::size_t>(outputs.columns);
  for (std::size_t row = 0; row < static_cast<std::size_t>(outputs.rows); ++row) {
    const std::span values = std::span(outputs.values).subspan(row * columns, columns);
    text += row > 0 ? ",[" : "[";
    append_numbers(text, values);
    text += ']';
    best.push_back(
        static_cast<std::size_t>(std::max_element(values.begin(), values.end()) - values.begin()));
  }
  text += ']';
  const auto add = [&text](std::string_view name, const nlohmann::json& value) {
    text += "," + json_quoted(name) + ":";
    text += value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  };
  if (classes) add("classes", best);
  if (classes && names.size() == columns) {
    std::vector<std::string> labels;
    labels.reserve(best.size());
    for (const std::size_t place : best) labels.push_back(names[place]);
    add("labels", labels);
  }
  return text + "}";
}

}  // namespace weft
