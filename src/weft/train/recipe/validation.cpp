#include "weft/train/recipe/validation.h"

#include <bit>
#include <charconv>
#include <cmath>

#include <fmt/format.h>

namespace weft {
namespace {

// How samples are split over members decides about the last digits of their summed loss.
constexpr double kImprovement = 1e-6;

// The next number of `text`, which ends at a blank or with the text.
template <class Number>
bool take_number(std::string_view& text, Number& number, int base) {
  const char* const end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, number, base);
  if (read.ec != std::errc()) return false;
  text.remove_prefix(static_cast<std::size_t>(read.ptr - text.data()));
  if (text.empty()) return true;
  if (text.front() != ' ') return false;
  text.remove_prefix(1);
  return true;
}

}  // namespace

bool Validation::hear(std::int64_t step, double loss) {
  ++since_best_;
  const double least = std::isinf(best_loss_) ? 0 : kImprovement * std::abs(best_loss_);
  if (!std::isfinite(loss) || !(loss < best_loss_ - least)) return false;
  best_loss_ = loss;
  best_step_ = step;
  since_best_ = 0;
  return true;
}

// The loss by its bits, so that what is read back is equal.
std::string Validation::encode() const {
  if (*this == Validation()) return "";
  return fmt::format("{:x} {} {}", std::bit_cast<std::uint64_t>(best_loss_), best_step_,
                     since_best_);
}

Status Validation::adopt(std::string_view text) {
  Validation read;
  std::uint64_t loss = 0;
  if (!text.empty()) {
    const bool whole = take_number(text, loss, 16) && take_number(text, read.best_step_, 10) &&
                       take_number(text, read.since_best_, 10) && text.empty();
    read.best_loss_ = std::bit_cast<double>(loss);
    if (!whole || std::isnan(read.best_loss_) || read.best_step_ < 0 || read.since_best_ < 0) {
      return corrupt("validation: expected a loss, a step and a count");
    }
  }
  *this = read;
  return {};
}

bool is_measured(const Recipe& recipe, std::int64_t step) {
  const std::int64_t every = recipe.run.evaluate_every_steps;
  return every > 0 && step > 0 && step < recipe.run.steps && step % every < recipe.local.steps;
}

Status check_validation(const Recipe& recipe) {
  const bool wanted = recipe.checkpoint.keep_best || recipe.run.early_stop_patience > 0;
  const char* const key =
      recipe.checkpoint.keep_best ? "checkpoint.keep_best" : "run.early_stop_patience";
  if (recipe.run.evaluate_every_steps == 0) {
    if (!wanted) return {};
    return invalid_argument(fmt::format(
        "{}: expected run.evaluate_every_steps above 0, since nothing is measured otherwise", key));
  }
  if (recipe.group.wait == "deadline") {
    return invalid_argument(
        "run.evaluate_every_steps: expected 0 with group.wait = \"deadline\", where parts of the "
        "test set would be missing");
  }
  if (recipe.local.overlap) {
    return invalid_argument(
        "run.evaluate_every_steps: expected 0 with local.overlap, where members hold different "
        "parameters at the start of a round");
  }
  return {};
}

}  // namespace weft
