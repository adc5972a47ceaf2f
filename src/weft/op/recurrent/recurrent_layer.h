// Code shared by rnn, lstm and gru: checks, the record and the samples with their reference.
//
// For op/*_op.cpp.
#pragma once

#include <vector>

#include "weft/kernel/recurrent/recurrent.h"
#include "weft/op/core/composed.h"
#include "weft/op/core/op_def.h"
#include "weft/op/recurrent.h"

namespace weft {

Tensor recurrent_layer(const char* op, RecurrentCell cell, const Tensor& x,
                       const RecurrentParameters& parameters, const RecurrentState& first,
                       const RecurrentOptions& options);

// The same out of smaller operations, of x, the weights, the biases, the first state and cell.
Composition recurrent_composition(const RecurrentRun& run, bool with_state, const Array& lengths);

// With and without biases, first states, lengths; both directions; odd, one and no element.
std::vector<OpSample> recurrent_samples(const char* op, RecurrentCell cell);

}  // namespace weft
