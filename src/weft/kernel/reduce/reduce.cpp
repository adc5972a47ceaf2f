// Splits a reduction into work items of fixed size, whatever the number of threads: an item is a
// tile of outputs times a part of what each reduces. Parts of one output are joined in order.
#include "weft/kernel/reduce/reduce.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <stdexcept>
#include <string>
#include <vector>

#include "weft/array/launch.h"
#include "weft/base/parallel.h"
#include "weft/kernel/core/rows.h"

namespace weft {
namespace {

// Values that one part of one output reduces, at most.
constexpr std::int64_t kPartValues = 65'536;
// Outputs side by side where they lie side by side in memory: at least, and at most. A processor
// fetches ahead along a row, so wide tiles read memory much faster than narrow ones.
constexpr std::int64_t kTile = 64;
constexpr std::int64_t kTileMax = 2'048;

struct Axes {
  int count = 0;
  std::array<std::int64_t, Dims::kDimsMax> sizes{};
  std::array<std::int64_t, Dims::kDimsMax> strides{};

  // After the others; merged with the last where memory allows.
  void push(std::int64_t size, std::int64_t stride) {
    if (size == 1) return;
    if (count > 0 && strides[last()] == size * stride) {
      sizes[last()] *= size;
      strides[last()] = stride;
      return;
    }
    sizes[static_cast<std::size_t>(count)] = size;
    strides[static_cast<std::size_t>(count)] = stride;
    ++count;
  }
  std::size_t last() const { return static_cast<std::size_t>(count - 1); }
  std::int64_t total() const {
    std::int64_t product = 1;
    for (int i = 0; i < count; ++i) product *= sizes[static_cast<std::size_t>(i)];
    return product;
  }
  // The memory offset of the element with this row-major index.
  std::int64_t offset(std::int64_t index) const {
    std::int64_t result = 0;
    for (int i = count - 1; i >= 0; --i) {
      const auto axis = static_cast<std::size_t>(i);
      result += index % sizes[axis] * strides[axis];
      index /= sizes[axis];
    }
    return result;
  }
  // Takes the last axis off; {1, 0} if there is none.
  std::pair<std::int64_t, std::int64_t> pop() {
    if (count == 0) return {1, 0};
    --count;
    return {sizes[static_cast<std::size_t>(count)], strides[static_cast<std::size_t>(count)]};
  }
};

struct ReduceProblem {
  Axes kept;
  Axes reduced;
  std::size_t op;
  std::size_t type;
  std::int64_t item_bytes;
  const std::uint8_t* data;
  // For sums of deviations: a value for each output.
  const double* shifts;
};

// The partial results of one part for all outputs.
struct Part {
  std::int64_t begin;
  std::int64_t end;
  double* state;
};

double join(std::size_t op, double a, double b) {
  switch (static_cast<ReduceOp>(op)) {
    case ReduceOp::kSum:
      return a + b;
    case ReduceOp::kProduct:
      return a * b;
    case ReduceOp::kMin:
      return b < a || b != b ? b : a;
    case ReduceOp::kMax:
      break;
  }
  return b > a || b != b ? b : a;
}

double reduce_start(std::size_t op) {
  switch (static_cast<ReduceOp>(op)) {
    case ReduceOp::kSum:
      return 0.0;
    case ReduceOp::kProduct:
      return 1.0;
    case ReduceOp::kMin:
      return __builtin_inf();
    case ReduceOp::kMax:
      break;
  }
  return -__builtin_inf();
}

double reduce_one(const ReduceProblem& problem, const void* x, std::int64_t step,
                  std::int64_t count, std::int64_t output) {
  const RowKernels& kernels = row_kernels();
  if (problem.shifts == nullptr)
    return kernels.reduce_row[problem.op][problem.type](x, step, count);
  return kernels.deviation_row[problem.type](x, step, problem.shifts[output], count);
}

// Each output reduces its own runs along the last reduced axis.
void reduce_rows(const ReduceProblem& problem, std::int64_t first, std::int64_t last,
                 const Part& part) {
  Axes outer = problem.reduced;
  const auto [run_reduce, step] = outer.pop();
  for (std::int64_t output = first; output < last; ++output) {
    const std::uint8_t* const base =
        problem.data + problem.kept.offset(output) * problem.item_bytes;
    double state = reduce_start(problem.op);
    for (std::int64_t at = part.begin; at < part.end;) {
      const std::int64_t inside = at % run_reduce;
      const std::int64_t count = std::min(run_reduce - inside, part.end - at);
      const std::int64_t offset = outer.offset(at / run_reduce) + inside * step;
      state = join(problem.op, state,
                   reduce_one(problem, base + offset * problem.item_bytes, step, count, output));
      at += count;
    }
    part.state[output] = state;
  }
}

// Neighbouring outputs reduce side by side, one reduced index after the other.
void reduce_tiles(const ReduceProblem& problem, std::int64_t first, std::int64_t last,
                  const Part& part) {
  const ReduceColumns columns = row_kernels().reduce_columns[problem.op][problem.type];
  const DeviationColumns deviations = row_kernels().deviation_columns[problem.type];
  Axes outer = problem.kept;
  const auto [run_reduce, step] = outer.pop();
  for (std::int64_t output = first; output < last;) {
    const std::int64_t inside = output % run_reduce;
    const std::int64_t count = std::min(run_reduce - inside, last - output);
    const std::int64_t offset = outer.offset(output / run_reduce) + inside * step;
    double* const state = part.state + output;
    std::fill_n(state, count, reduce_start(problem.op));
    Axes rows = problem.reduced;
    const auto [length, stride] = rows.pop();
    for (std::int64_t at = part.begin; at < part.end;) {
      const std::int64_t begin = at % length;
      const std::int64_t stop = std::min(length, begin + part.end - at);
      const std::int64_t base = offset + rows.offset(at / length) + begin * stride;
      const StridedRows lines{problem.data + base * problem.item_bytes, step, stride, stop - begin};
      if (problem.shifts == nullptr) {
        columns(lines, state, count);
      } else {
        deviations(lines, problem.shifts + output, state, count);
      }
      at += stop - begin;
    }
    output += count;
  }
}

// About as many tiles as threads. The width changes no result: each output has a sum of its own.
std::int64_t tile_width(std::int64_t outputs) {
  const std::int64_t share = (outputs + thread_count() - 1) / thread_count();
  return std::min(outputs, std::clamp((share + kTile - 1) / kTile * kTile, kTile, kTileMax));
}

// All partial results, then joined into the first `outputs` values.
std::vector<double> run_reduce(const ReduceProblem& problem, std::int64_t outputs,
                               std::int64_t values) {
  // Few outputs with long runs are split into parts; else one part each is enough.
  const std::int64_t parts =
      outputs >= kTile ? 1 : std::max<std::int64_t>(1, (values + kPartValues - 1) / kPartValues);
  const std::int64_t part_values = (values + parts - 1) / std::max<std::int64_t>(parts, 1);
  std::vector<double> states(static_cast<std::size_t>(parts * outputs));
  if (values == 0) return states;
  const bool side_by_side =
      problem.kept.count > 0 && problem.kept.strides[problem.kept.last()] == 1 &&
      (problem.reduced.count == 0 || problem.reduced.strides[problem.reduced.last()] != 1);
  const std::int64_t tile = side_by_side ? tile_width(outputs) : 1;
  const std::int64_t tiles = (outputs + tile - 1) / tile;
  const std::int64_t item_values = std::max<std::int64_t>(1, part_values * tile);
  const std::int64_t grain = std::max<std::int64_t>(1, 32'768 / item_values);
  parallel_for(parts * tiles, grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t item = begin; item < end; ++item) {
      const std::int64_t p = item / tiles;
      const Part part{p * part_values, std::min(values, (p + 1) * part_values),
                      states.data() + p * outputs};
      const std::int64_t first = item % tiles * tile;
      const std::int64_t last = std::min(outputs, first + tile);
      if (side_by_side) {
        reduce_tiles(problem, first, last, part);
      } else {
        reduce_rows(problem, first, last, part);
      }
    }
  });
  for (std::int64_t p = 1; p < parts; ++p) {
    for (std::int64_t i = 0; i < outputs; ++i) {
      double& state = states[static_cast<std::size_t>(i)];
      state = join(problem.op, state, states[static_cast<std::size_t>(p * outputs + i)]);
    }
  }
  return states;
}

ReduceProblem reduce_problem_of(ReduceOp op, const Array& source, AxisMask axes) {
  ReduceProblem problem{{},
                        {},
                        static_cast<std::size_t>(op),
                        stored_index(source.dtype()),
                        static_cast<std::int64_t>(size_of(source.dtype())),
                        static_cast<const std::uint8_t*>(source.raw_data()),
                        nullptr};
  for (int axis = 0; axis < source.ndim(); ++axis) {
    Axes& group = (axes >> axis & 1U) != 0 ? problem.reduced : problem.kept;
    group.push(source.shape()[axis], source.strides()[axis]);
  }
  return problem;
}

std::int64_t reduced_count(const Shape& shape, AxisMask axes) {
  std::int64_t values = 1;
  for (int axis = 0; axis < shape.size(); ++axis) {
    if ((axes >> axis & 1U) != 0) values *= shape[axis];
  }
  return values;
}

void store(const std::vector<double>& states, double scale, Array& out) {
  with_floating_dtype(out.dtype(), [&](auto zero) {
    using T = decltype(zero);
    T* const to = out.data<T>();
    for (std::int64_t i = 0; i < out.size(); ++i) {
      to[i] = static_cast<T>(states[static_cast<std::size_t>(i)] * scale);
    }
  });
}

// The rounding of their mean gives equal values a deviation from it. Where `deviations` are that
// small, values that are all equal get 0, which is what their variance is.
void drop_rounding_of_equal_values(ReduceProblem problem, std::int64_t values,
                                   const std::vector<double>& means,
                                   std::vector<double>& deviations) {
  constexpr double kSmall = 1e-9;  // beside the mean; beyond what long sums round
  const auto is_small = [&](std::size_t i) {
    const double bound = kSmall * means[i];
    return deviations[i] > 0 && deviations[i] <= static_cast<double>(values) * bound * bound;
  };
  bool any = false;
  for (std::size_t i = 0; i < means.size(); ++i) any = any || is_small(i);
  if (!any) return;
  const auto outputs = static_cast<std::int64_t>(means.size());
  problem.shifts = nullptr;
  problem.op = static_cast<std::size_t>(ReduceOp::kMin);
  const std::vector<double> least = run_reduce(problem, outputs, values);
  problem.op = static_cast<std::size_t>(ReduceOp::kMax);
  const std::vector<double> largest = run_reduce(problem, outputs, values);
  for (std::size_t i = 0; i < means.size(); ++i) {
    if (is_small(i) && least[i] == largest[i]) deviations[i] = 0.0;
  }
}

std::int64_t join_integers(ReduceOp op, std::int64_t a, std::int64_t b) {
  const auto left = static_cast<std::uint64_t>(a);
  const auto right = static_cast<std::uint64_t>(b);
  switch (op) {
    case ReduceOp::kSum:
      return static_cast<std::int64_t>(left + right);
    case ReduceOp::kProduct:
      return static_cast<std::int64_t>(left * right);
    case ReduceOp::kMin:
      return std::min(a, b);
    case ReduceOp::kMax:
      break;
  }
  return std::max(a, b);
}

void check_floating_values(const char* name, const Array& x) {
  if (is_floating(x.dtype())) return;
  throw std::invalid_argument(std::string("[") + name + "] expected floating values, got " +
                              std::string(to_string(x.dtype())));
}

// Integers and bool, as i64 rows.
void reduce_integers(ReduceOp op, const Array& source, AxisMask axes, Array& out) {
  std::vector<int> order;
  for (const bool reduced : {false, true}) {
    for (int axis = 0; axis < source.ndim(); ++axis) {
      if (((axes >> axis & 1U) != 0) == reduced) order.push_back(axis);
    }
  }
  const Array rows = source.permute(order).to(DType::kI64).contiguous();
  Array states = Array::empty({out.size()}, DType::kI64);
  const std::int64_t values = rows.size() / out.size();
  const std::int64_t* const from = rows.data<std::int64_t>();
  std::int64_t* const to = states.data<std::int64_t>();
  const std::int64_t grain = std::max<std::int64_t>(1, 32'768 / values);
  parallel_for(out.size(), grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      std::int64_t state = from[i * values];
      for (std::int64_t j = 1; j < values; ++j) {
        state = join_integers(op, state, from[i * values + j]);
      }
      to[i] = state;
    }
  });
  out.copy_from(states.reshape(out.shape()));
}

}  // namespace

Shape reduced_shape(const Shape& shape, AxisMask axes, bool keepdims) {
  Shape result;
  for (int axis = 0; axis < shape.size(); ++axis) {
    const bool is_reduced = (axes >> axis & 1U) != 0;
    if (!is_reduced) {
      result.push_back(shape[axis]);
    } else if (keepdims) {
      result.push_back(1);
    }
  }
  return result;
}

Array reduce(ReduceOp op, const Array& x, AxisMask axes, bool keepdims, double scale) {
  const Array source = x.strided();
  const bool extreme = op == ReduceOp::kMax || op == ReduceOp::kMin;
  const DType dtype = is_floating(x.dtype()) || extreme ? x.dtype() : DType::kI64;
  Array out = Array::empty(reduced_shape(source.shape(), axes, keepdims), dtype, x.device());
  if (out.size() == 0) return out;
  if (reduced_count(source.shape(), axes) == 0) {
    if (extreme) {
      throw std::invalid_argument(std::string(op == ReduceOp::kMax ? "[max]" : "[min]") +
                                  " expected at least one value to reduce, got shape " +
                                  to_string(x.shape()));
    }
    out.fill(op == ReduceOp::kSum ? 0.0 * scale : 1.0);
    return out;
  }
  launch("reduce", {&source}, {&out}, [op, axes, scale](LaunchArrays in, LaunchArrays outputs) {
    Array& result = outputs[0];
    if (!is_floating(in[0].dtype())) {
      reduce_integers(op, in[0], axes, result);
      return;
    }
    store(run_reduce(reduce_problem_of(op, in[0], axes), result.size(),
                     reduced_count(in[0].shape(), axes)),
          scale, result);
  });
  return out;
}

Array variance(const Array& x, AxisMask axes, bool keepdims, double correction) {
  check_floating_values("var", x);
  const Array source = x.strided();
  Array out = Array::empty(reduced_shape(source.shape(), axes, keepdims), x.dtype(), x.device());
  if (out.size() == 0) return out;
  launch("var", {&source}, {&out}, [axes, correction](LaunchArrays in, LaunchArrays outputs) {
    ReduceProblem problem = reduce_problem_of(ReduceOp::kSum, in[0], axes);
    const std::int64_t values = reduced_count(in[0].shape(), axes);
    const auto count = static_cast<double>(values);
    std::vector<double> means = run_reduce(problem, outputs[0].size(), values);
    for (double& mean : means) mean /= count;
    problem.shifts = means.data();
    std::vector<double> deviations = run_reduce(problem, outputs[0].size(), values);
    drop_rounding_of_equal_values(problem, values, means, deviations);
    store(deviations, 1.0 / std::max(0.0, count - correction), outputs[0]);
  });
  return out;
}

Array euclidean_norm(const Array& x, AxisMask axes, bool keepdims) {
  check_floating_values("norm", x);
  const Array source = x.strided();
  Array out = Array::empty(reduced_shape(source.shape(), axes, keepdims), x.dtype(), x.device());
  if (out.size() == 0) return out;
  launch("norm", {&source}, {&out}, [axes](LaunchArrays in, LaunchArrays outputs) {
    ReduceProblem problem = reduce_problem_of(ReduceOp::kSum, in[0], axes);
    const std::int64_t values = reduced_count(in[0].shape(), axes);
    const std::vector<double> zeros(static_cast<std::size_t>(outputs[0].size()), 0.0);
    problem.shifts = zeros.data();
    std::vector<double> squares = run_reduce(problem, outputs[0].size(), values);
    for (double& square : squares) square = std::sqrt(square);
    store(squares, 1.0, outputs[0]);
  });
  return out;
}

Array sum_to_shape(const Array& x, const Shape& shape) {
  if (x.shape() == shape) return x;
  AxisMask axes = 0;
  const int added = x.ndim() - shape.size();
  for (int axis = 0; axis < x.ndim(); ++axis) {
    const bool broadcast = axis < added || (shape[axis - added] == 1 && x.shape()[axis] != 1);
    if (broadcast) axes |= AxisMask{1} << axis;
  }
  return reduce(ReduceOp::kSum, x, axes, false).reshape(shape);
}

}  // namespace weft
