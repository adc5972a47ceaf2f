// Includes all layers; each family has its own header. Shapes, names of parameters and defaults are
// PyTorch's; images are [N, C, H, W], sequences [N, C, L].
//
// Constructors throw std::invalid_argument on sizes below 1.
#pragma once

#include "weft/nn/activation.h"
#include "weft/nn/conv.h"
#include "weft/nn/dropout.h"
#include "weft/nn/linear.h"
#include "weft/nn/norm.h"
#include "weft/nn/pool.h"
