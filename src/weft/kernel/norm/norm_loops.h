// The loops of layer, root-mean-square, group and batch normalisation, one build for each
// instruction set and type. All give the same bits in each build: nothing is contracted, and sums
// have a fixed number of lanes whose parts are added in f64.
//
// For this folder. Data pointers are of the loops' type, f32 or f64; planes of bf16 are computed
// with as f32.
#pragma once

#include <cstddef>
#include <cstdint>

#include "weft/array/dtype/dtype.h"
#include "weft/base/isa/isa_loops.h"

namespace weft {

// Rows of `n` values, one after another; each has its own mean and inverse deviation.
struct NormRows {
  const void* x = nullptr;
  const void* weight = nullptr;  // [n] or null: 1
  const void* bias = nullptr;    // [n] or null: 0
  void* y = nullptr;
  double* mean = nullptr;  // [rows]; only if centered; null where not wanted, as inverse
  double* inverse = nullptr;
  std::int64_t n = 0;
  double eps = 0;
  bool centered = true;  // false: x / sqrt(mean(x^2) + eps)
};

// `weight_sums` and `bias_sums` [n] are added to; null where not wanted, as dx.
struct NormRowsGradient {
  const void* dy = nullptr;
  const void* x = nullptr;
  const void* weight = nullptr;
  const double* mean = nullptr;
  const double* inverse = nullptr;
  void* dx = nullptr;
  void* weight_sums = nullptr;
  void* bias_sums = nullptr;
  std::int64_t n = 0;
  bool centered = true;
};

// Values of `lanes` channels (1 or 8): `images` times `pixels` groups of lanes; a lane is a
// channel. With one lane the pixels are dense.
struct NormPlanes {
  std::int64_t images = 0;
  std::int64_t image_step = 0;  // elements
  std::int64_t pixels = 0;
  std::int64_t pixel_step = 0;  // elements; 8 or more with 8 lanes
};

// The sums of each lane.
struct NormSums {
  double first[8];
  double second[8];
};

// y = (x - origin) scale + shift, then ReLU if asked; each of a lane.
struct NormAffine {
  const double* origin;
  const double* scale;
  const double* shift;
  bool relu;
};

struct NormLoops {
  void (*rows)(const NormRows& work, std::int64_t begin, std::int64_t end);
  void (*rows_gradient)(const NormRowsGradient& work, std::int64_t begin, std::int64_t end);

  // Functions of planes come for 1 and for 8 lanes.
  struct Planes {
    // Sums of x - origin[lane] and of its square.
    void (*moments)(const void* x, const NormPlanes& planes, const double* origin, NormSums& sums);
    void (*apply)(const void* x, void* y, const NormPlanes& planes, const NormAffine& affine);
    // Sums of g and of g (x - origin), where g = dy, or dy where y > 0 with ReLU.
    void (*products)(const void* dy, const void* x, const NormPlanes& planes,
                     const NormAffine& affine, NormSums& sums);
    // dx = a g + b (x - origin) + c, each of a lane.
    struct Mix {
      const double* a;
      const double* b;
      const double* c;
    };
    void (*gradient)(const void* dy, const void* x, void* dx, const NormPlanes& planes,
                     const NormAffine& affine, const Mix& mix);
  };
  Planes one;
  Planes eight;
};

// One instruction set's.
struct NormBuild {
  NormLoops f32;
  NormLoops f64;
  NormLoops bf16;  // of planes only
};
WEFT_MEMORY_LOOPS(NormBuild, norm_build)

// The loops for f32, f64 or bf16 on this processor.
inline const NormLoops& norm_loops(DType dtype) {
  const NormBuild& build = norm_build();
  if (dtype == DType::kBF16) return build.bf16;
  return dtype == DType::kF32 ? build.f32 : build.f64;
}

}  // namespace weft
