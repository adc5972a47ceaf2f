// matrix_layout: which of a model's parameters are matrices, for codecs that send factors of them.
//
// A parameter of two or more dimensions is one: its first dimension counts the rows, all others
// together the columns, so that a kernel of a convolution has a row for each channel that it makes.
// Vectors, buffers and the gaps between parameters are no part of it.
//
// Where it stands: train and SwarmTrainer give it to their codec. Threads: pure. Fails: never.
#pragma once

#include <memory>

#include "weft/array/arena/layout.h"
#include "weft/codec/shared_factors.h"

namespace weft {

std::shared_ptr<const MatrixLayout> matrix_layout(const Layout& layout);

}  // namespace weft
