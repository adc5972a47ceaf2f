// adafactor: second moments of a matrix as one value a row and one a column; no first moment.
//
// IMPLEMENTATION: Shazeer, Stern, "Adafactor", ICML 2018, algorithm 6, without momentum. With
// relative_step the rate is min(learning_rate, 1 / sqrt(step)), with scale_parameter it is times
// max(1e-3, root mean square of the parameter). A parameter of more than two dimensions counts as
// the matrix of its first dimension against the others.
#include <algorithm>
#include <cmath>

#include "weft/base/portable_math.h"
#include "weft/kernel/optimizer/optimizer_steps.h"
#include "weft/optim/optimizer.h"

namespace weft {
namespace {

constexpr double kDecayPower = 0.8;
constexpr double kSmallestSquare = 1e-30;
constexpr double kSmallestScale = 1e-3;

bool is_factored(const LayoutEntry& entry) { return entry.shape.size() >= 2; }

MatrixSize matrix_of(const Shape& shape) {
  const std::int64_t rows = shape[0];
  return {rows, rows > 0 ? shape.num_elements() / rows : 0};
}

// Entry i holds the state of parameter i; what has none there holds nothing.
enum class Part : std::uint8_t { kRows, kColumns, kWhole };
Layout state_layout(const Layout& layout, Part part) {
  Layout result;
  for (const LayoutEntry& entry : layout.entries()) {
    const bool factored = is_factored(entry);
    std::int64_t size = 0;
    if (part == Part::kRows && factored) size = matrix_of(entry.shape).rows;
    if (part == Part::kColumns && factored) size = matrix_of(entry.shape).columns;
    const bool trained = entry.kind != ParameterKind::kBuffer;
    if (part == Part::kWhole && !factored && trained) size = entry.shape.num_elements();
    result.add(entry.name, {size}, entry.kind);
  }
  return result;
}

class Adafactor : public Optimizer {
 public:
  Adafactor(const OptimizerOptions& options, ParameterArena& arena)
      : Optimizer(arena, options, RangeUnit::kParameter),
        rows_(add(arena, "variance_rows", Part::kRows)),
        columns_(add(arena, "variance_columns", Part::kColumns)),
        whole_(add(arena, "variance", Part::kWhole)) {
    count_steps();
  }

 private:
  // A buffer with one entry a parameter.
  struct State {
    Array buffer;
    Layout layout;
    Array of(int entry) const {
      const LayoutEntry& part = layout[entry];
      return buffer.slice(0, part.offset, part.offset + part.shape.num_elements());
    }
  };

  static State add(ParameterArena& arena, const char* name, Part part) {
    Layout layout = state_layout(arena.layout(), part);
    return {arena.add_state(name, layout), layout};
  }

  void apply(const ArenaRange& range, const Array& gradients, Array& parameters) override {
    const auto step = static_cast<double>(range.steps + 1);
    double rate = rate_of(range);
    if (options().relative_step) rate = std::min(rate, range.rate_factor / std::sqrt(step));
    const AdafactorConstants constants = {
        .learning_rate = rate,
        .decay = 1.0 - portable_pow(step, -kDecayPower),
        .epsilon = kSmallestSquare,
        .clip_threshold = options().clip_threshold,
        .weight_decay = range.weight_decay,
    };
    const LayoutEntry& entry = arena().layout()[range.entry];
    const double scale_least = options().scale_parameter ? kSmallestScale : 0.0;
    if (is_factored(entry)) {
      adafactor_step(constants, scale_least, matrix_of(entry.shape), gradients,
                     {.rows = rows_.of(range.entry), .columns = columns_.of(range.entry)},
                     parameters);
    } else {
      adafactor_step(constants, scale_least, {}, gradients, {.whole = whole_.of(range.entry)},
                     parameters);
    }
  }

  State rows_;
  State columns_;
  State whole_;
};

std::unique_ptr<Optimizer> make_adafactor(const OptimizerOptions& options, ParameterArena& arena) {
  return std::make_unique<Adafactor>(options, arena);
}

}  // namespace

extern const OptimizerDef adafactor_optimizer = {"adafactor", make_adafactor};

}  // namespace weft
