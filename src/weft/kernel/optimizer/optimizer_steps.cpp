#include "weft/kernel/optimizer/optimizer_steps.h"

#include <algorithm>
#include <span>
#include <vector>

#include "weft/array/launch.h"

namespace weft {
namespace {

std::span<const float> step_input(const Array& array) { return array.flat<float>(); }

// Nothing for a state that the step has not.
std::span<float> step_output(Array& array) {
  return array.defined() ? array.flat<float>() : std::span<float>();
}

// What is written is read before.
void count_step_bytes(LaunchArrays in, LaunchArrays out) {
  double bytes = bytes_of(in[0]);
  for (int i = 0; i < out.size(); ++i) bytes += 2.0 * bytes_of(out[i]);
  launch_bytes(bytes);
}

}  // namespace

void sgd_step(const SgdConstants& constants, const Array& gradients, Array momentum_state,
              Array parameters) {
  launch("sgd_step", {&gradients}, {&momentum_state, &parameters},
         [constants](LaunchArrays in, LaunchArrays out) {
           count_step_bytes(in, out);
           sgd_step(constants, step_input(in[0]), step_output(out[0]), step_output(out[1]));
         });
}

void adam_step(const AdamConstants& constants, const Array& gradients, AdamArrays state,
               Array parameters) {
  launch("adam_step", {&gradients},
         {&state.mean, &state.variance, &state.variance_max, &parameters},
         [constants](LaunchArrays in, LaunchArrays out) {
           count_step_bytes(in, out);
           const AdamState spans{step_output(out[0]), step_output(out[1]), step_output(out[2])};
           adam_step(constants, step_input(in[0]), spans, step_output(out[3]));
         });
}

void adagrad_step(const AdagradConstants& constants, const Array& gradients, Array square_sum,
                  Array parameters) {
  launch("adagrad_step", {&gradients}, {&square_sum, &parameters},
         [constants](LaunchArrays in, LaunchArrays out) {
           count_step_bytes(in, out);
           adagrad_step(constants, step_input(in[0]), step_output(out[0]), step_output(out[1]));
         });
}

void rms_prop_step(const RmsPropConstants& constants, const Array& gradients, RmsPropArrays state,
                   Array parameters) {
  launch("rms_prop_step", {&gradients},
         {&state.square_mean, &state.mean, &state.momentum, &parameters},
         [constants](LaunchArrays in, LaunchArrays out) {
           count_step_bytes(in, out);
           const RmsPropState spans{step_output(out[0]), step_output(out[1]), step_output(out[2])};
           rms_prop_step(constants, step_input(in[0]), spans, step_output(out[3]));
         });
}

void adadelta_step(const AdadeltaConstants& constants, const Array& gradients, AdadeltaArrays state,
                   Array parameters) {
  launch("adadelta_step", {&gradients}, {&state.square_mean, &state.delta_square_mean, &parameters},
         [constants](LaunchArrays in, LaunchArrays out) {
           count_step_bytes(in, out);
           const AdadeltaState spans{step_output(out[0]), step_output(out[1])};
           adadelta_step(constants, step_input(in[0]), spans, step_output(out[2]));
         });
}

void lion_step(const LionConstants& constants, const Array& gradients, Array mean,
               Array parameters) {
  launch("lion_step", {&gradients}, {&mean, &parameters},
         [constants](LaunchArrays in, LaunchArrays out) {
           count_step_bytes(in, out);
           lion_step(constants, step_input(in[0]), step_output(out[0]), step_output(out[1]));
         });
}

void adafactor_step(const AdafactorConstants& constants, double scale_least, const MatrixSize& size,
                    const Array& gradients, AdafactorArrays moments, Array parameters) {
  launch("adafactor_step", {&gradients},
         {&moments.rows, &moments.columns, &moments.whole, &parameters},
         [constants, scale_least, size](LaunchArrays in, LaunchArrays out) {
           count_step_bytes(in, out);
           const std::span<float> values = step_output(out[3]);
           AdafactorConstants own = constants;
           if (scale_least > 0) {
             own.learning_rate *= std::max(scale_least, root_mean_square(values));
           }
           if (out[2].defined()) {
             adafactor_vector_step(own, step_input(in[0]), step_output(out[2]), values);
           } else {
             adafactor_matrix_step(own, size, step_input(in[0]),
                                   {step_output(out[0]), step_output(out[1])}, values);
           }
         });
}

void muon_step(const MuonConstants& constants, const MatrixSize& size, const Array& gradients,
               Array momentum_state, Array parameters) {
  launch("muon_step", {&gradients}, {&momentum_state, &parameters},
         [constants, size](LaunchArrays in, LaunchArrays out) {
           count_step_bytes(in, out);
           const std::span<const float> g = step_input(in[0]);
           const std::span<float> momentum = step_output(out[0]);
           const std::span<float> values = step_output(out[1]);
           blend(momentum, constants.momentum, g, 1.0, momentum);
           std::vector<float> update(momentum.begin(), momentum.end());
           if (constants.nesterov) blend(g, 1.0, momentum, constants.momentum, update);
           orthogonalize(size, update);
           blend(values, constants.shrink, update, -constants.rate, values);
         });
}

}  // namespace weft
