// Every operation.
#pragma once

#include "weft/op/activation.h"
#include "weft/op/arithmetic.h"
#include "weft/op/conv.h"
#include "weft/op/dropout.h"
#include "weft/op/linear.h"
#include "weft/op/loss.h"
#include "weft/op/matmul.h"
#include "weft/op/norm.h"
#include "weft/op/pool.h"
#include "weft/op/reduce.h"
#include "weft/op/shape.h"
#include "weft/op/softmax.h"
