// The elementwise operations by name: each X(Name) becomes an enumerator kName (elementwise.h) and
// a row of loops (rows_math.inc defines Name). a is the first operand, b the second,
// s and t are the scalars of the call.
#pragma once

// One group per line.
// clang-format off

// One operand.
#define WEFT_UNARY_OPS(X)                                                                     \
  X(Neg) X(Abs) X(Sign) X(Square) X(Sqrt) X(Rsqrt) X(Reciprocal)                              \
  X(Exp) X(Exp2) X(Expm1) X(Log) X(Log2) X(Log1p) X(Sin) X(Cos) X(Tanh) X(Sigmoid) X(Erf)     \
  X(Floor) X(Ceil) X(Round) X(Trunc)                                                          \
  X(Gelu) X(GeluTanh) X(Silu) X(LogSigmoid) X(Mish) X(Softsign)                               \
  X(Clamp)      /* to [s, t] */                                                               \
  X(LeakyRelu)  /* a, or a s below 0 */                                                       \
  X(Elu)        /* a, or s (e^a - 1) below 0 */                                               \
  X(Softplus)   /* log(1 + e^(a s)) / s, a where a s > t */                                   \
  X(IsNan) X(IsInf) X(IsFinite) X(LogicalNot) /* give bool */

// Two operands of one type. In gradients a is that of the output y; b is y or the input x.
#define WEFT_BINARY_OPS(X)                                                                    \
  X(Add) X(Sub) X(Mul) X(Div) X(Pow) X(Maximum) X(Minimum)                                    \
  X(Remainder)    /* sign of b, as Python's % */                                              \
  X(FloorDivide)  /* as Python's // */                                                        \
  X(Atan2)                                                                                    \
  X(TanhGradient)       /* a (1 - y y) */                                                     \
  X(SigmoidGradient)    /* a y (1 - y) */                                                     \
  X(SqrtGradient)       /* a / (2 y) */                                                       \
  X(RsqrtGradient)      /* -a y y y / 2 */                                                    \
  X(ReciprocalGradient) /* -a y y */                                                          \
  X(Expm1Gradient)      /* a (y + 1) */                                                       \
  X(SquareGradient)     /* 2 a x */                                                           \
  X(Exp2Gradient)       /* a y log 2 */                                                       \
  X(Log2Gradient)       /* a / (x log 2) */                                                   \
  X(ZeroGradient)       /* 0 */                                                               \
  X(AbsGradient)        /* a sign(x), 0 at 0 */                                               \
  X(ReluGradient)       /* a where y > 0, else 0 */                                           \
  X(SinGradient) X(CosGradient) X(ErfGradient) X(Log1pGradient)                               \
  X(GeluGradient) X(GeluTanhGradient) X(SiluGradient) X(LogSigmoidGradient)                   \
  X(MishGradient) X(SoftsignGradient)                                                         \
  X(ClampGradient)      /* a where s <= x <= t, else 0 */                                     \
  X(HardtanhGradient)   /* a where s < x < t, else 0 */                                       \
  X(LeakyReluGradient) X(EluGradient) X(SoftplusGradient)                                     \
  X(Equal)              /* 1 where a = b, else 0, in the operands' type */                    \
  X(MaximumShare)       /* 1 where a > b, 1/2 where a = b, else 0 */                          \
  X(Eq) X(Ne) X(Lt) X(Le) X(Gt) X(Ge) /* these give bool */                                   \
  X(LogicalAnd) X(LogicalOr) X(LogicalXor)

// clang-format on
