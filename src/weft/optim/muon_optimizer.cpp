// muon: orthogonalised momentum for hidden matrices, AdamW for the rest.
//
// IMPLEMENTATION: Jordan et al., "Muon: an optimizer for hidden layers in neural networks", 2024.
// Hidden matrices are weights of two or more dimensions (a convolution's kernel is the matrix of
// its output channels) that are neither an embedding nor the last one of the model, its head. An
// update is scaled by sqrt(max(1, rows / columns)). The rest moves by AdamW at
// learning_rate * rest_rate_factor.
#include <algorithm>
#include <cmath>
#include <vector>

#include "weft/kernel/optimizer/optimizer_steps.h"
#include "weft/optim/optimizer.h"

namespace weft {
namespace {

bool is_matrix(const LayoutEntry& entry) {
  return entry.kind == ParameterKind::kWeight && entry.shape.size() >= 2 &&
         entry.shape.num_elements() > 0;
}

bool is_embedding_or_head(const std::string& name) {
  constexpr const char* kParts[] = {"embed", "wte", "wpe", "head", "classifier"};
  return std::any_of(std::begin(kParts), std::end(kParts),
                     [&](const char* part) { return name.find(part) != std::string::npos; });
}

std::vector<bool> hidden_matrices(const Layout& layout) {
  std::vector<bool> hidden(static_cast<std::size_t>(layout.size()));
  std::size_t last = hidden.size();
  for (std::size_t i = 0; i < hidden.size(); ++i) {
    const LayoutEntry& entry = layout[static_cast<int>(i)];
    if (!is_matrix(entry)) continue;
    last = i;
    hidden[i] = !is_embedding_or_head(entry.name);
  }
  if (last < hidden.size()) hidden[last] = false;
  return hidden;
}

// The second moments of what AdamW moves; entry i is empty for hidden matrices.
Layout variance_layout(const Layout& layout, const std::vector<bool>& hidden) {
  Layout result;
  for (std::size_t i = 0; i < hidden.size(); ++i) {
    const LayoutEntry& entry = layout[static_cast<int>(i)];
    const std::int64_t size = hidden[i] ? 0 : entry.shape.num_elements();
    result.add(entry.name, {size}, entry.kind);
  }
  return result;
}

class Muon : public Optimizer {
 public:
  Muon(const OptimizerOptions& options, ParameterArena& arena)
      : Optimizer(arena, options, RangeUnit::kParameter),
        hidden_(hidden_matrices(arena.layout())),
        variance_layout_(variance_layout(arena.layout(), hidden_)),
        momentum_(arena.add_state("momentum")),
        variance_(arena.add_state("variance", variance_layout_)) {
    count_steps();
  }

 private:
  void apply(const ArenaRange& range, const Array& gradients, Array& parameters) override {
    if (hidden_[static_cast<std::size_t>(range.entry)]) {
      apply_muon(range, gradients, parameters);
    } else {
      apply_adamw(range, gradients, parameters);
    }
  }

  void apply_muon(const ArenaRange& range, const Array& gradients, Array& parameters) {
    const Shape& shape = arena().layout()[range.entry].shape;
    const MatrixSize size = {shape[0], shape.num_elements() / shape[0]};
    const double aspect = static_cast<double>(size.rows) / static_cast<double>(size.columns);
    const double rate = rate_of(range);
    const MuonConstants constants = {
        .momentum = options().momentum,
        .nesterov = options().nesterov,
        .shrink = 1.0 - rate * range.weight_decay,
        .rate = rate * std::sqrt(std::max(1.0, aspect)),
    };
    muon_step(constants, size, gradients, range.of(momentum_), parameters);
  }

  void apply_adamw(const ArenaRange& range, const Array& gradients, Array& parameters) {
    const AdamConstants constants = {
        .learning_rate = rate_of(range) * options().rest_rate_factor,
        .beta1 = options().beta1,
        .beta2 = options().beta2,
        .epsilon = options().epsilon,
        .weight_decay = range.weight_decay,
        .decoupled_weight_decay = true,
        .step = range.steps + 1,
    };
    const std::int64_t begin = variance_layout_[range.entry].offset;
    adam_step(constants, gradients,
              {.mean = range.of(momentum_),
               .variance = variance_.slice(0, begin, begin + gradients.size())},
              parameters);
  }

  std::vector<bool> hidden_;  // by entry
  Layout variance_layout_;
  Array momentum_;
  Array variance_;
};

std::unique_ptr<Optimizer> make_muon(const OptimizerOptions& options, ParameterArena& arena) {
  return std::make_unique<Muon>(options, arena);
}

}  // namespace

extern const OptimizerDef muon_optimizer = {"muon", make_muon};

}  // namespace weft
