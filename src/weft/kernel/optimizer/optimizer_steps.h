// The optimizers' steps over Arrays: a launch each, so that they run where the arrays are.
//
// Arrays of a step are f32, dense and of one axis, of equal lengths, on one device, and do not
// overlap; a state that the constants do not ask for is undefined. What is computed, and its order,
// is said in optimizer.h and matrix_optimizer.h, whose loops over spans are the CPU's bodies.
// Threads: the calling thread and the compute threads.
#pragma once

#include "weft/array/array.h"
#include "weft/kernel/optimizer/matrix_optimizer.h"
#include "weft/kernel/optimizer/optimizer.h"

namespace weft {

void sgd_step(const SgdConstants& constants, const Array& gradients, Array momentum_state,
              Array parameters);

struct AdamArrays {
  Array mean;
  Array variance;
  Array variance_max = {};  // with AMSGrad
};
void adam_step(const AdamConstants& constants, const Array& gradients, AdamArrays state,
               Array parameters);

void adagrad_step(const AdagradConstants& constants, const Array& gradients, Array square_sum,
                  Array parameters);

struct RmsPropArrays {
  Array square_mean;
  Array mean = {};      // centred
  Array momentum = {};  // with momentum
};
void rms_prop_step(const RmsPropConstants& constants, const Array& gradients, RmsPropArrays state,
                   Array parameters);

struct AdadeltaArrays {
  Array square_mean;
  Array delta_square_mean;
};
void adadelta_step(const AdadeltaConstants& constants, const Array& gradients, AdadeltaArrays state,
                   Array parameters);

void lion_step(const LionConstants& constants, const Array& gradients, Array mean,
               Array parameters);

// The moments of a matrix, or those of anything else.
struct AdafactorArrays {
  Array rows = {};
  Array columns = {};
  Array whole = {};
};
// `scale_least` > 0: the learning rate is times the root mean square of the parameters, or times
// this if that is more. `size` is of a matrix.
void adafactor_step(const AdafactorConstants& constants, double scale_least, const MatrixSize& size,
                    const Array& gradients, AdafactorArrays moments, Array parameters);

struct MuonConstants {
  double momentum = 0.95;
  bool nesterov = false;
  double shrink = 1.0;  // parameters are multiplied by it first
  double rate = 0.02;   // of the orthogonal update
};
// m = momentum * m + g;  p = shrink * p - rate * orthogonal(m), or with Nesterov that of
// g + momentum * m.
void muon_step(const MuonConstants& constants, const MatrixSize& size, const Array& gradients,
               Array momentum_state, Array parameters);

}  // namespace weft
