#include "weft/kernel/index/gather.h"

#include <array>
#include <optional>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#include "weft/array/launch.h"
#include "weft/base/parallel.h"
#include "weft/kernel/core/flat_loops.h"

namespace weft {
namespace {

constexpr std::int64_t kGatherGrain = 8'192;

const std::int64_t* positions(const Array& array) {
  return static_cast<const std::int64_t*>(array.raw_data());
}

// Calls body(T{}) with an unsigned integer of the size of an element: what only moves needs no
// more.
template <class Body>
void with_bits(DType dtype, const Body& body) {
  switch (size_of(dtype)) {
    case 1:
      return body(std::uint8_t{});
    case 2:
      return body(std::uint16_t{});
    case 4:
      return body(std::uint32_t{});
    default:
      return body(std::uint64_t{});
  }
}

// Assignment of any type, or addition of one that adds.
template <class Body>
void with_mode(ScatterMode mode, DType dtype, const Body& body) {
  if (mode == ScatterMode::kAssign) {
    with_bits(dtype, [&](auto zero) { body(zero, [](auto& to, auto from) { to = from; }); });
    return;
  }
  with_dtype(dtype, [&](auto zero) {
    using T = decltype(zero);
    body(zero, [](T& to, T from) {
      if constexpr (std::is_same_v<T, bool>) {
        to = to || from;
      } else {
        to = static_cast<T>(to + from);
      }
    });
  });
}

// Neighbouring lanes along `axis`: what is left of an index of `shape` without that axis.
struct LaneRun {
  std::array<std::int64_t, 3> offsets{};  // of the run's first lane in each array
  std::array<std::int64_t, 3> steps{};    // from lane to lane
  std::int64_t count = 0;
};

// Calls body(run) so that every lane is in one run; `strides` are of up to three arrays.
template <class Body>
void each_lane_run(const Shape& shape, int axis, const std::array<Strides, 3>& strides,
                   const Body& body) {
  Shape lanes = shape;
  lanes.erase(axis);
  std::array<Strides, 3> steps = strides;
  for (Strides& of_array : steps) of_array.erase(axis);
  const std::int64_t grain = 1 + kGatherGrain / std::max<std::int64_t>(1, shape[axis]);
  parallel_for(lanes.num_elements(), grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t lane = begin; lane < end;) {
      LaneRun run;
      std::int64_t rest = lane;
      run.count = 1;
      for (int i = lanes.size() - 1; i >= 0; --i) {
        const std::int64_t position = rest % lanes[i];
        rest /= lanes[i];
        for (std::size_t k = 0; k < 3; ++k) run.offsets[k] += position * steps[k][i];
        if (i != lanes.size() - 1) continue;
        run.count = std::min(end - lane, lanes[i] - position);
        for (std::size_t k = 0; k < 3; ++k) run.steps[k] = steps[k][i];
      }
      body(run);
      lane += run.count;
    }
  });
}

// Rows of an array of axes [outer, length, inner] around `axis`.
struct GatherRows {
  GatherRows(const Shape& shape, int axis) {
    for (int i = 0; i < axis; ++i) outer *= shape[i];
    for (int i = axis + 1; i < shape.size(); ++i) inner *= shape[i];
    length = shape[axis];
  }
  std::int64_t outer = 1;
  std::int64_t length = 0;
  std::int64_t inner = 1;
};

// Rows that an index names lie anywhere in memory, so that a processor cannot foresee them: the
// next one is fetched while this one is used, at most a page of it.
void fetch_row(const void* row, std::int64_t bytes) {
  constexpr std::int64_t kLineBytes = 64;
  constexpr std::int64_t kPageBytes = 4'096;
  const auto* const from = static_cast<const std::uint8_t*>(row);
  for (std::int64_t at = 0; at < std::min(bytes, kPageBytes); at += kLineBytes) {
    __builtin_prefetch(from + at);
  }
}

// y = x, or y += x.
template <class T, class Assign>
void assign_row(const T* x, T* y, std::int64_t width, ScatterMode mode, const Assign& assign) {
  if (mode == ScatterMode::kAssign) {
    std::copy_n(x, width, y);
    return;
  }
  if constexpr (std::is_same_v<T, float>) {
    flat_loops().add(x, y, 0, width);
  } else {
    for (std::int64_t i = 0; i < width; ++i) assign(y[i], x[i]);
  }
}

void put_rows_body(ScatterMode mode, const GatherRows& rows, LaunchArrays in, LaunchArrays out) {
  // in: index, source.
  const std::int64_t count = in[0].size();
  const std::int64_t* const index = positions(in[0]);
  with_mode(mode, out[0].dtype(), [&](auto zero, auto assign) {
    using T = decltype(zero);
    T* const to = static_cast<T*>(out[0].raw_data());
    const T* const from = static_cast<const T*>(in[1].raw_data());
    const std::int64_t grain = 1 + kGatherGrain / std::max<std::int64_t>(1, count);
    parallel_for(rows.outer * rows.inner, grain, [&](std::int64_t begin, std::int64_t end) {
      while (begin < end) {
        const std::int64_t block = begin / rows.inner;
        const std::int64_t column = begin % rows.inner;
        const std::int64_t width = std::min(end - begin, rows.inner - column);
        T* const first = to + block * rows.length * rows.inner + column;
        for (std::int64_t j = 0; j < count; ++j) {
          if (j + 1 < count) {
            fetch_row(first + index[j + 1] * rows.inner,
                      width * static_cast<std::int64_t>(sizeof(T)));
          }
          assign_row(from + (block * count + j) * rows.inner + column,
                     first + index[j] * rows.inner, width, mode, assign);
        }
        begin += width;
      }
    });
  });
}

void scatter_into(const char* name, Array& y, int axis, const Array& index, const Array& source,
                  ScatterMode mode) {
  const Array from = source.strided();
  launch(
      "scatter", {&y, &index, &from}, {&y}, [name, axis, mode](LaunchArrays in, LaunchArrays out) {
        launch_bytes(bytes_of(in[1]) + 3.0 * bytes_of(in[2]));
        check_positions(name, in[1], out[0].shape()[axis]);
        const std::int64_t count = in[1].shape()[axis];
        const std::int64_t stride = out[0].strides()[axis];
        const std::int64_t index_stride = in[1].strides()[axis];
        const std::int64_t source_stride = in[2].strides()[axis];
        with_mode(mode, out[0].dtype(), [&](auto zero, auto assign) {
          using T = decltype(zero);
          const T* const values = static_cast<const T*>(in[2].raw_data());
          T* const to = static_cast<T*>(out[0].raw_data());
          each_lane_run(in[1].shape(), axis, {out[0].strides(), in[1].strides(), in[2].strides()},
                        [&](const LaneRun& run) {
                          for (std::int64_t j = 0; j < count; ++j) {
                            for (std::int64_t i = 0; i < run.count; ++i) {
                              const std::int64_t position = positions(
                                  in[1])[run.offsets[1] + j * index_stride + i * run.steps[1]];
                              assign(to[run.offsets[0] + i * run.steps[0] + position * stride],
                                     values[run.offsets[2] + j * source_stride + i * run.steps[2]]);
                            }
                          }
                        });
        });
      });
}

void put_rows_into(const char* name, Array& y, int axis, const Array& index, const Array& source,
                   ScatterMode mode) {
  const Array from = source.contiguous();
  launch("put_rows", {&index, &from, &y}, {&y},
         [name, axis, mode](LaunchArrays in, LaunchArrays out) {
           const GatherRows rows(out[0].shape(), axis);
           launch_bytes(bytes_of(in[0]) + 3.0 * bytes_of(in[1]));
           check_positions(name, in[0], rows.length);
           put_rows_body(mode, rows, in, out);
         });
}

// What sums of `dtype` are taken in.
DType sum_type(DType dtype) { return is_half(dtype) ? DType::kF32 : dtype; }

// A copy to write to.
Array scatter_start(const Array& x, ScatterMode mode) {
  return mode == ScatterMode::kAdd && is_half(x.dtype()) ? x.to(DType::kF32) : x.clone();
}

}  // namespace

void check_positions(const char* name, const Array& index, std::int64_t extent) {
  const std::int64_t* const values = positions(index);
  for (std::int64_t i = 0; i < index.size(); ++i) {
    if (values[i] >= 0 && values[i] < extent) continue;
    throw std::invalid_argument("[" + std::string(name) + "] expected indexes in [0, " +
                                std::to_string(extent) + "), got " + std::to_string(values[i]));
  }
}

Array gather(const char* name, const Array& x, int axis, const Array& index) {
  const Array from = x.strided();
  Array y = Array::empty(index.shape(), x.dtype(), x.device());
  launch("gather", {&from, &index}, {&y}, [name, axis](LaunchArrays in, LaunchArrays out) {
    launch_bytes(bytes_of(in[1]) + 2.0 * bytes_of(out[0]));
    check_positions(name, in[1], in[0].shape()[axis]);
    const std::int64_t count = in[1].shape()[axis];
    const std::int64_t stride = in[0].strides()[axis];
    const std::int64_t index_stride = in[1].strides()[axis];
    with_bits(in[0].dtype(), [&](auto zero) {
      using T = decltype(zero);
      const T* const source = static_cast<const T*>(in[0].raw_data());
      T* const to = static_cast<T*>(out[0].raw_data());
      each_lane_run(
          in[1].shape(), axis, {in[0].strides(), in[1].strides(), in[1].strides()},
          [&](const LaneRun& run) {
            for (std::int64_t j = 0; j < count; ++j) {
              const std::int64_t at = run.offsets[1] + j * index_stride;
              for (std::int64_t i = 0; i < run.count; ++i) {
                const std::int64_t place = at + i * run.steps[1];
                to[place] =
                    source[run.offsets[0] + i * run.steps[0] + positions(in[1])[place] * stride];
              }
            }
          });
    });
  });
  return y;
}

Array scatter(const char* name, const Array& x, int axis, const Array& index, const Array& source,
              ScatterMode mode) {
  Array y = scatter_start(x, mode);
  scatter_into(name, y, axis, index, source.to(y.dtype()), mode);
  return y.to(x.dtype());
}

Array scatter_sum(const char* name, const Shape& shape, int axis, const Array& index,
                  const Array& source) {
  Array y = Array::zeros(shape, sum_type(source.dtype()), source.device());
  scatter_into(name, y, axis, index, source.to(y.dtype()), ScatterMode::kAdd);
  return y.to(source.dtype());
}

Array select_rows(const char* name, const Array& x, int axis, const Array& index) {
  std::optional<Array> copy;
  const Array& from = contiguous_in(x, copy);
  Shape shape = x.shape();
  shape[axis] = index.size();
  Array y = Array::empty(shape, x.dtype(), x.device());
  launch("select_rows", {&from, &index}, {&y}, [name, axis](LaunchArrays in, LaunchArrays out) {
    const GatherRows rows(in[0].shape(), axis);
    launch_bytes(bytes_of(in[1]) + 2.0 * bytes_of(out[0]));
    check_positions(name, in[1], rows.length);
    const std::int64_t count = in[1].size();
    const std::int64_t* const at = positions(in[1]);
    const std::int64_t grain = 1 + kGatherGrain / std::max<std::int64_t>(1, rows.inner);
    with_bits(in[0].dtype(), [&](auto zero) {
      using T = decltype(zero);
      const T* const source = static_cast<const T*>(in[0].raw_data());
      T* const to = static_cast<T*>(out[0].raw_data());
      parallel_for(rows.outer * count, grain, [&](std::int64_t begin, std::int64_t end) {
        const auto row_of = [&](std::int64_t i) {
          return source + (i / count * rows.length + at[i % count]) * rows.inner;
        };
        for (std::int64_t i = begin; i < end; ++i) {
          if (i + 1 < end) {
            fetch_row(row_of(i + 1), rows.inner * static_cast<std::int64_t>(sizeof(T)));
          }
          std::copy_n(row_of(i), rows.inner, to + i * rows.inner);
        }
      });
    });
  });
  return y;
}

Array put_rows(const char* name, const Array& x, int axis, const Array& index, const Array& source,
               ScatterMode mode) {
  Array y = scatter_start(x, mode);
  put_rows_into(name, y, axis, index, source.to(y.dtype()), mode);
  return y.to(x.dtype());
}

Array sum_rows(const char* name, const Shape& shape, int axis, const Array& index,
               const Array& source) {
  Array y = Array::zeros(shape, sum_type(source.dtype()), source.device());
  put_rows_into(name, y, axis, index, source.to(y.dtype()), ScatterMode::kAdd);
  return y.to(source.dtype());
}

void add_rows_into(const char* name, Array& out, const Array& index, const Array& source) {
  WEFT_CHECK(out.is_contiguous() && source.dtype() == out.dtype() && !is_half(out.dtype()));
  put_rows_into(name, out, 0, index, source, ScatterMode::kAdd);
}

Array row_numbers(const char* name, const Shape& sizes, std::span<const Array> indexes) {
  std::vector<Array> dense;
  std::vector<const Array*> inputs;
  dense.reserve(indexes.size());
  inputs.reserve(indexes.size());
  for (const Array& index : indexes) dense.push_back(index.contiguous());
  for (const Array& index : dense) inputs.push_back(&index);
  Array y = Array::empty(dense[0].shape(), DType::kI64, dense[0].device());
  Array* const outputs[] = {&y};
  launch("row_numbers", std::span<const Array* const>(inputs), std::span<Array* const>(outputs),
         [name, sizes](LaunchArrays in, LaunchArrays out) {
           std::int64_t* const rows = static_cast<std::int64_t*>(out[0].raw_data());
           for (std::int64_t i = 0; i < out[0].size(); ++i) {
             std::int64_t row = 0;
             for (int k = 0; k < in.size(); ++k) {
               const std::int64_t at = positions(in[k])[i];
               if (at < -sizes[k] || at >= sizes[k]) {
                 throw std::invalid_argument("[" + std::string(name) + "] expected indexes in [" +
                                             std::to_string(-sizes[k]) + ", " +
                                             std::to_string(sizes[k]) + "), got " +
                                             std::to_string(at));
               }
               row = row * sizes[k] + (at < 0 ? at + sizes[k] : at);
             }
             rows[i] = row;
           }
         });
  return y;
}

}  // namespace weft
