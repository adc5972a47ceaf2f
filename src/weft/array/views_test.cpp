// Thousands of random chains of views against NumPy: tests/golden/views.txt, whose writer
// make_views.py says what its lines mean.
#include <fstream>
#include <numeric>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "weft/array/array.h"

namespace weft::views_test {
namespace {

std::vector<std::string> fields_of(const std::string& text, char separator) {
  std::vector<std::string> fields;
  std::istringstream in(text);
  for (std::string field; std::getline(in, field, separator);) fields.push_back(field);
  return fields;
}

// "_" is no value.
std::vector<std::optional<std::int64_t>> numbers_of(const std::string& text) {
  std::vector<std::optional<std::int64_t>> numbers;
  for (const std::string& field : fields_of(text, ',')) {
    numbers.push_back(field == "_" ? std::nullopt : std::optional(std::stoll(field)));
  }
  return numbers;
}

Shape shape_of(const std::string& text) {
  Shape shape;
  for (const auto& number : numbers_of(text)) shape.push_back(number.value());
  return shape;
}

std::vector<int> axes_of(const std::string& text) {
  std::vector<int> axes;
  for (const auto& number : numbers_of(text)) axes.push_back(static_cast<int>(number.value()));
  return axes;
}

Array apply_step(const Array& view, const std::string& step) {
  const std::string rest = step.substr(1);
  const auto numbers = numbers_of(rest);
  const auto axis = [&](std::size_t i) { return static_cast<int>(numbers[i].value()); };
  switch (step[0]) {
    case 's':
      return view.slice(axis(0), numbers[1], numbers[2], numbers[3].value());
    case 'p':
      return view.permute(axes_of(rest));
    case 'r':
      return view.reshape(shape_of(rest));
    case 'F':
      return view.flatten(axis(0), axis(1));
    case 'u':
      return view.unfold(axis(0), numbers[1].value(), numbers[2].value());
    case 'd':
      return view.diagonal(numbers[0].value(), axis(1), axis(2));
    case 'x':
      return view.expand(shape_of(rest));
    case 'q':
      return view.squeeze(axis(0));
    case 'n':
      return view.unsqueeze(axis(0));
    case 'i':
      return view.select(axis(0), numbers[1].value());
    case 'm':
      return view.movedim(axis(0), axis(1));
    case 'f':
      return view.flip(axes_of(rest));
    default:
      throw std::invalid_argument("unknown step " + step);
  }
}

std::uint64_t hash_of(const Array& array) {
  std::uint64_t hash = 0;
  for (const std::int64_t value : array.to_vector<std::int64_t>()) {
    hash = hash * 6364136223846793005ULL + static_cast<std::uint64_t>(value) + 1;
  }
  return hash;
}

Array counting(const Shape& shape, std::int64_t start) {
  std::vector<std::int64_t> values(static_cast<std::size_t>(shape.num_elements()));
  std::iota(values.begin(), values.end(), start);
  return Array::from(values, shape);
}

TEST(Views, ChainsAgreeWithNumPy) {
  std::ifstream file(std::string(WEFT_GOLDEN_DIR) + "/views.txt");
  ASSERT_TRUE(file.is_open());
  int chains = 0;
  int written = 0;
  for (std::string line; std::getline(file, line); ++chains) {
    SCOPED_TRACE(line);
    const std::vector<std::string> fields = fields_of(line, '|');
    ASSERT_EQ(fields.size(), 5U);
    const Array base = counting(shape_of(fields[0]), 0);
    Array view = base;
    for (const std::string& step : fields_of(fields[1], ';')) view = apply_step(view, step);
    ASSERT_EQ(view.shape(), shape_of(fields[2]));
    ASSERT_EQ(hash_of(view), std::stoull(fields[3]));
    ASSERT_EQ(hash_of(view.clone()), std::stoull(fields[3]));
    // What NumPy shares with its base is a view here too.
    if (fields[4] == "-") continue;
    ASSERT_EQ(view.storage(), base.storage());
    view.copy_from(counting(view.shape(), 1000));
    ASSERT_EQ(hash_of(base), std::stoull(fields[4]));
    ++written;
  }
  EXPECT_GE(chains, 2000);
  EXPECT_GE(written, 1000);
}

}  // namespace
}  // namespace weft::views_test
