// IMPLEMENTATION: the best order of contractions by dynamic programming over subsets of operands,
// as in Pfeifer, Haegeman, Verstraete, "Faster identification of optimal contraction sequences for
// tensor networks", Phys. Rev. E 90, 2014; 3^n steps for n operands.
#include "weft/op/linear/einsum_parse.h"

#include <algorithm>
#include <array>
#include <limits>
#include <string>

#include "weft/op/core/operands.h"
#include "weft/op/linalg.h"

namespace weft {
namespace {

constexpr int kLetters = 52;
// Axes of "..." have the labels behind the letters, counted from the last axis.
constexpr int kLabels = kLetters + Shape::kDimsMax;

int label_of(char letter) {
  if (letter >= 'A' && letter <= 'Z') return letter - 'A';
  if (letter >= 'a' && letter <= 'z') return letter - 'a' + 26;
  return -1;
}

[[noreturn]] void refuse(const std::string& expected, std::string_view got) {
  throw_operand("einsum", expected, "\"" + std::string(got) + "\"");
}

std::string without_spaces(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (c != ' ') result.push_back(c);
  }
  return result;
}

std::vector<std::string_view> split_terms(std::string_view text) {
  std::vector<std::string_view> terms;
  while (true) {
    const std::size_t comma = text.find(',');
    terms.push_back(text.substr(0, comma));
    if (comma == std::string_view::npos) return terms;
    text.remove_prefix(comma + 1);
  }
}

// The labels of one term; "..." becomes `hidden` axes, which it must not be without if it is -1.
Labels labels_of(std::string_view term, int hidden) {
  Labels labels;
  bool has_dots = false;
  for (std::size_t i = 0; i < term.size(); ++i) {
    if (term.substr(i, 3) == "..." && !has_dots) {
      has_dots = true;
      i += 2;
      for (int axis = hidden - 1; axis >= 0; --axis) labels.push_back(kLetters + axis);
      continue;
    }
    const int label = label_of(term[i]);
    if (label < 0) refuse("letters, \"...\", \",\" and \"->\"", term);
    labels.push_back(label);
  }
  return labels;
}

bool has_dots(std::string_view term) { return term.find("...") != std::string_view::npos; }

void add_operand(EinsumPlan& plan, std::string_view term, const Shape& shape) {
  const int letters = static_cast<int>(term.size()) - (has_dots(term) ? 3 : 0);
  const int hidden = shape.size() - letters;
  if (hidden < 0 || (hidden > 0 && !has_dots(term))) {
    refuse("as many letters as axes of " + to_string(shape), term);
  }
  const Labels labels = labels_of(term, hidden);
  for (int axis = 0; axis < shape.size(); ++axis) {
    const int label = labels[static_cast<std::size_t>(axis)];
    std::int64_t& length = plan.lengths[static_cast<std::size_t>(label)];
    if (length == 1) length = shape[axis];
    if (shape[axis] != length && shape[axis] != 1) {
      refuse("length " + std::to_string(length) + " of each axis of one letter, not " +
                 to_string(shape),
             term);
    }
  }
  plan.operands.push_back(labels);
}

Labels implied_result(const EinsumPlan& plan, int hidden) {
  std::array<int, kLabels> uses{};
  for (const Labels& labels : plan.operands) {
    for (const int label : labels) ++uses[static_cast<std::size_t>(label)];
  }
  Labels result;
  for (int axis = hidden - 1; axis >= 0; --axis) result.push_back(kLetters + axis);
  for (int label = 0; label < kLetters; ++label) {
    if (uses[static_cast<std::size_t>(label)] == 1) result.push_back(label);
  }
  return result;
}

void check_result(const EinsumPlan& plan, std::string_view term) {
  LabelSet known = 0;
  for (const Labels& labels : plan.operands) known |= set_of(labels);
  LabelSet seen = 0;
  for (const int label : plan.result) {
    const LabelSet bit = LabelSet{1} << label;
    if ((known & bit) == 0 || (seen & bit) != 0) {
      refuse("a result of letters of the operands, each once", term);
    }
    seen |= bit;
  }
}

}  // namespace

double EinsumPlan::product(LabelSet labels) const {
  double count = 1;
  for (std::size_t label = 0; label < lengths.size(); ++label) {
    if ((labels >> label & 1) != 0) count *= static_cast<double>(lengths[label]);
  }
  return count;
}

EinsumPlan parse_einsum(std::string_view equation, std::span<const Shape> shapes) {
  const std::string text = without_spaces(equation);
  const std::size_t arrow = text.find("->");
  const std::vector<std::string_view> terms =
      split_terms(std::string_view(text).substr(0, std::min(arrow, text.size())));
  if (terms.size() != shapes.size()) {
    refuse("a term for each of " + std::to_string(shapes.size()) + " operands", equation);
  }
  EinsumPlan plan;
  plan.lengths.assign(kLabels, 1);
  int hidden = 0;
  for (std::size_t i = 0; i < terms.size(); ++i) {
    add_operand(plan, terms[i], shapes[i]);
    if (!has_dots(terms[i])) continue;
    hidden = std::max(hidden, shapes[i].size() - static_cast<int>(terms[i].size()) + 3);
  }
  if (arrow == std::string::npos) {
    plan.result = implied_result(plan, hidden);
    return plan;
  }
  const std::string_view result = std::string_view(text).substr(arrow + 2);
  plan.result = labels_of(result, hidden);
  check_result(plan, result);
  return plan;
}

namespace {

// The best way to contract a subset of the operands, a bit for each.
struct Best {
  double cost = std::numeric_limits<double>::infinity();
  unsigned left = 0;  // one of the two subsets that meet last
};

class OrderSearch {
 public:
  explicit OrderSearch(const EinsumPlan& plan)
      : plan_(plan), count_(plan.operands.size()), best_(std::size_t{1} << count_) {
    for (std::size_t i = 0; i < count_; ++i) best_[std::size_t{1} << i].cost = 0;
    // A subset comes after all of its own subsets.
    for (unsigned set = 1; set < best_.size(); ++set) improve(set);
  }

  std::vector<EinsumStep> steps() {
    for (std::size_t i = 0; i < count_; ++i) list_.push_back(1U << i);
    emit(static_cast<unsigned>(best_.size() - 1));
    return std::move(steps_);
  }

 private:
  LabelSet labels(unsigned set) const {
    LabelSet result = 0;
    for (std::size_t i = 0; i < count_; ++i) {
      if ((set >> i & 1) != 0) result |= set_of(plan_.operands[i]);
    }
    return result;
  }
  // Those that something outside of the subset still needs.
  LabelSet kept(unsigned set) const {
    const auto all = static_cast<unsigned>(best_.size() - 1);
    return labels(set) & (labels(all & ~set) | set_of(plan_.result));
  }
  void improve(unsigned set) {
    for (unsigned left = (set - 1) & set; left != 0; left = (left - 1) & set) {
      const unsigned right = set & ~left;
      if (left < right) continue;
      const double cost =
          best_[left].cost + best_[right].cost + plan_.product(kept(left) | kept(right));
      if (cost < best_[set].cost) best_[set] = {cost, left};
    }
  }
  void emit(unsigned set) {
    const unsigned left = best_[set].left;
    if (left == 0) return;
    emit(left);
    emit(set & ~left);
    const auto position = [this](unsigned of) {
      return static_cast<std::size_t>(std::find(list_.begin(), list_.end(), of) - list_.begin());
    };
    std::size_t first = position(left);
    std::size_t second = position(set & ~left);
    if (first > second) std::swap(first, second);
    steps_.push_back({first, second});
    list_.erase(list_.begin() + static_cast<std::ptrdiff_t>(second));
    list_.erase(list_.begin() + static_cast<std::ptrdiff_t>(first));
    list_.push_back(set);
  }

  const EinsumPlan& plan_;
  std::size_t count_;
  std::vector<Best> best_;
  std::vector<unsigned> list_;
  std::vector<EinsumStep> steps_;
};

}  // namespace

std::vector<EinsumStep> einsum_order(const EinsumPlan& plan) { return OrderSearch(plan).steps(); }

}  // namespace weft
