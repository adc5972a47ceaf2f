#include "weft/train/report/confusion.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <string>

#include <fmt/format.h>

#include "weft/base/check.h"
#include "weft/base/printable.h"

namespace weft {
namespace {

constexpr std::int64_t kMatrixClassesMax = 12;
constexpr std::size_t kLinesMax = 20;
constexpr std::size_t kMistakesShown = 3;
constexpr std::size_t kNameCharactersMax = 15;

std::string class_text(std::int64_t label, const std::vector<std::string>& names) {
  const auto at = static_cast<std::size_t>(label);
  return at < names.size() ? printable(names[at], kNameCharactersMax - 3)
                           : fmt::format("class {}", label);
}

double share_right(const Confusion& confusion, std::int64_t label) {
  const std::int64_t samples = confusion.samples(label);
  if (samples == 0) return std::numeric_limits<double>::infinity();
  return static_cast<double>(confusion.correct(label)) / static_cast<double>(samples);
}

std::string right_text(const Confusion& confusion, std::int64_t label) {
  const double share = share_right(confusion, label);
  return share <= 1 ? fmt::format("{:.1f} %", 100 * share) : "-";
}

// What samples of `label` were wrongly taken for, the most frequent first.
std::string mistakes_text(const Confusion& confusion, std::int64_t label,
                          const std::vector<std::string>& names) {
  std::vector<std::int64_t> others(static_cast<std::size_t>(confusion.classes()));
  std::iota(others.begin(), others.end(), std::int64_t{0});
  std::erase_if(others, [&](std::int64_t said) {
    return said == label || confusion.count(label, said) == 0;
  });
  std::stable_sort(others.begin(), others.end(), [&](std::int64_t a, std::int64_t b) {
    return confusion.count(label, a) > confusion.count(label, b);
  });
  if (others.size() > kMistakesShown) others.resize(kMistakesShown);
  std::string text;
  for (const std::int64_t said : others) {
    text += fmt::format("{}{} ({})", text.empty() ? "" : ", ", class_text(said, names),
                        confusion.count(label, said));
  }
  return text;
}

// Ten classes of up to 9,999 samples fit into 80 columns.
std::string matrix_text(const Confusion& confusion, const std::vector<std::string>& names) {
  std::int64_t largest = 10;
  for (std::int64_t label = 0; label < confusion.classes(); ++label) {
    largest = std::max(largest, confusion.samples(label));
  }
  const std::size_t width = std::to_string(largest).size() + 1;
  std::string text = fmt::format("   {:<{}} {:>7} ", "class", kNameCharactersMax, "right");
  for (std::int64_t said = 0; said < confusion.classes(); ++said) {
    text += fmt::format("{:>{}}", said, width);
  }
  text += "  taken for\n";
  for (std::int64_t label = 0; label < confusion.classes(); ++label) {
    text += fmt::format("{:>2} {:<{}} {:>7} ", label, class_text(label, names), kNameCharactersMax,
                        right_text(confusion, label));
    for (std::int64_t said = 0; said < confusion.classes(); ++said) {
      text += fmt::format("{:>{}}", confusion.count(label, said), width);
    }
    text += "\n";
  }
  return text;
}

// The classes of which most samples are wrong.
std::string mistakes_table(const Confusion& confusion, const std::vector<std::string>& names) {
  std::vector<std::int64_t> shown(static_cast<std::size_t>(confusion.classes()));
  std::iota(shown.begin(), shown.end(), std::int64_t{0});
  if (shown.size() > kLinesMax) {
    std::stable_sort(shown.begin(), shown.end(), [&](std::int64_t a, std::int64_t b) {
      return share_right(confusion, a) < share_right(confusion, b);
    });
    shown.resize(kLinesMax);
  }
  std::string text = fmt::format("{:<{}} {:>7} {:>7}  most often taken for\n", "class",
                                 kNameCharactersMax, "samples", "right");
  for (const std::int64_t label : shown) {
    text += fmt::format("{:<{}} {:>7} {:>7}  {}\n", class_text(label, names), kNameCharactersMax,
                        confusion.samples(label), right_text(confusion, label),
                        mistakes_text(confusion, label, names));
  }
  if (static_cast<std::int64_t>(shown.size()) < confusion.classes()) {
    text += fmt::format("the {} worst of {} classes; --json has all\n", shown.size(),
                        confusion.classes());
  }
  return text;
}

}  // namespace

void Confusion::add(const Array& logits, const Array& labels) {
  const Array rows = logits.contiguous().to(Device::cpu());
  const Array wanted = labels.contiguous().to(Device::cpu());
  if (classes_ == 0) {
    classes_ = rows.dim(-1);
    counts_.assign(static_cast<std::size_t>(classes_ * classes_), 0);
  }
  WEFT_CHECK(rows.dim(-1) == classes_);
  const auto values = std::span<const float>(rows.flat<float>());
  const auto classes = static_cast<std::size_t>(classes_);
  std::size_t row = 0;
  for (const std::int64_t label : std::span<const std::int64_t>(wanted.flat<std::int64_t>())) {
    const std::int64_t said = likeliest(values.subspan(row * classes, classes));
    ++counts_[static_cast<std::size_t>(label * classes_ + said)];
    ++row;
  }
}

std::int64_t Confusion::count(std::int64_t label, std::int64_t said) const {
  return counts_[static_cast<std::size_t>(label * classes_ + said)];
}

std::int64_t Confusion::samples(std::int64_t label) const {
  const auto begin = counts_.begin() + static_cast<std::ptrdiff_t>(label * classes_);
  return std::accumulate(begin, begin + static_cast<std::ptrdiff_t>(classes_), std::int64_t{0});
}

std::int64_t likeliest(std::span<const float> logits) {
  return std::max_element(logits.begin(), logits.end()) - logits.begin();
}

std::string confusion_text(const Confusion& confusion, const std::vector<std::string>& names) {
  return confusion.classes() <= kMatrixClassesMax ? matrix_text(confusion, names)
                                                  : mistakes_table(confusion, names);
}

}  // namespace weft
