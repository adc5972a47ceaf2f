// The transforms of minimal filtering, compiled once for each instruction set.
#include "weft/base/isa/loops_begin.inc"
#include "weft/kernel/conv/winograd/winograd_loops.h"

// On x86-64 these loops are used with AVX2 only (onednn::own_loops_are_faster()): without it they
// are what tests compare with, and unrolling them takes as long as all other sets together.
#if defined(__x86_64__) && !defined(WEFT_WITH_AVX2) && !defined(__clang__)
#pragma GCC optimize("O1")
#endif

namespace weft {
namespace {

#include "weft/kernel/conv/winograd/winograd_lines.inc"
#include "weft/kernel/conv/winograd/winograd_tiles.inc"

inline void clear_positions(float* to, std::int64_t step) {
  for (std::int64_t p = 0; p < kWinogradPositions; ++p) store(to + p * step, Block{});
}

// Both sides of a tile: line_of() of its columns, and of the rows of these.
template <class V, int kFrom, class Line>
inline void transform_to_panel(const V (&values)[kFrom][kFrom], float* to, std::int64_t step,
                               Line line_of) {
  V lines[6][kFrom];
  for (int j = 0; j < kFrom; ++j) {
    V column[kFrom];
    for (int i = 0; i < kFrom; ++i) column[i] = values[i][j];
    V t[6];
    line_of(column, t);
    for (int i = 0; i < 6; ++i) lines[i][j] = t[i];
  }
  for (int i = 0; i < 6; ++i) {
    V t[6];
    line_of(lines[i], t);
    for (int j = 0; j < 6; ++j) store(to + j * step, t[j]);
    to += 6 * step;
  }
}

// The columns alone, of a tile that lies in a panel.
template <class V, int kTo, class Line>
inline void columns_of_panel(const float* from, std::int64_t step, V (&lines)[kTo][6],
                             Line line_of) {
  for (int j = 0; j < 6; ++j) {
    V column[6];
    for (int i = 0; i < 6; ++i) column[i] = load<V>(from + (6 * i + j) * step);
    V t[kTo];
    line_of(column, t);
    for (int i = 0; i < kTo; ++i) lines[i][j] = t[i];
  }
}

void input(const WinogradImage& x, std::int64_t panel, const WinogradTiles& tiles,
           const WinogradPanel& out) {
  for_each_part(
      tiles, panel, x.blocks,
      [&](auto type, int, const Place& place) {
        using V = typename decltype(type)::Type;
        V d[6][6];
        read<6>(x, x.data + place.block * block_step(x), place.row - tiles.padding_top,
                place.column - tiles.padding_left, d);
        transform_to_panel(d, out.data + place.at, out.step,
                           [](const V(&line)[6], V(&t)[6]) { input_line(line, t); });
      },
      [&](std::int64_t at) { clear_positions(out.data + at, out.step); });
}

void output(const WinogradPanel& in, const WinogradTiles& tiles,
            const WinogradTransforms::Finish& finish, const WinogradImage& y, std::int64_t panel) {
  float bias[kWinogradPanel] = {};
  if (finish.bias != nullptr) __builtin_memcpy(bias, finish.bias, sizeof bias);
  const bool relu = finish.relu;
  const std::int64_t step = block_step(y);
  for_each_part(
      tiles, panel, y.blocks,
      [&](auto type, int half, const Place& place) {
        using V = typename decltype(type)::Type;
        const V zero = {};
        const V shift = load<V>(bias + half * kLanes);
        V lines[4][6];
        columns_of_panel(in.data + place.at, in.step, lines,
                         [](const V(&line)[6], V(&t)[4]) { output_line(line, t); });
        const std::int64_t rows = smaller(y.height - place.row, 4);
        const std::int64_t columns = smaller(y.width - place.column, 4);
        float* to = y.data + place.block * step + (place.row * y.width + place.column) * kLanes;
#pragma GCC unroll 4
        for (int i = 0; i < 4; ++i) {
          if (i >= rows) break;
          V t[4];
          output_line(lines[i], t);
#pragma GCC unroll 4
          for (int j = 0; j < 4; ++j) {
            V value = multiply_add(kOutputScale[i] * kOutputScale[j], t[j], shift);
            if (relu) value = value < zero ? zero : value;  // NaN stays NaN
            if (j < columns) store_pixel(to + j * kLanes, step, value);
          }
          to += y.width * kLanes;
        }
      },
      [](std::int64_t) {});
}

void output_gradient(const WinogradTransforms::Gradient& gradient, std::int64_t panel,
                     const WinogradTiles& tiles, const WinogradPanel& out) {
  const WinogradImage& dy = gradient.dy;
  const WinogradImage value{const_cast<float*>(gradient.y), dy.blocks, dy.height, dy.width};
  const std::int64_t step = block_step(dy);
  float sums[kWinogradPanel] = {};
  for_each_part(
      tiles, panel, dy.blocks,
      [&](auto type, int half, const Place& place) {
        using V = typename decltype(type)::Type;
        const V zero = {};
        V g[4][4];
        read<4>(dy, dy.data + place.block * step, place.row, place.column, g);
        if (gradient.y != nullptr) {
          V v[4][4];
          read<4>(value, value.data + place.block * step, place.row, place.column, v);
          for (int i = 0; i < 4; ++i) {
            for (int j = 0; j < 4; ++j) g[i][j] = v[i][j] > zero ? g[i][j] : zero;
          }
        }
        V sum = load<V>(sums + half * kLanes);
        for (int j = 0; j < 4; ++j) sum += (g[0][j] + g[1][j]) + (g[2][j] + g[3][j]);
        store(sums + half * kLanes, sum);
        transform_to_panel(g, out.data + place.at, out.step,
                           [](const V(&line)[4], V(&t)[6]) { output_line_gradient(line, t); });
      },
      [&](std::int64_t at) { clear_positions(out.data + at, out.step); });
  if (gradient.bias_sums == nullptr) return;
  for (std::int64_t i = 0; i < kWinogradPanel; ++i) gradient.bias_sums[i] += sums[i];
}

void input_gradient(const WinogradPanel& in, const WinogradTiles& tiles, const WinogradImage& dx,
                    std::int64_t panel) {
  const std::int64_t step = block_step(dx);
  if (tiles.first_row == 0) {
    float* const first = dx.data + panel * 2 * step;
    const std::int64_t size = smaller(dx.blocks - panel * 2, 2) * step;
    for (std::int64_t i = 0; i < size; i += kLanes) store(first + i, Block{});
  }
  for_each_part(
      tiles, panel, dx.blocks,
      [&](auto type, int, const Place& place) {
        using V = typename decltype(type)::Type;
        V lines[6][6];
        columns_of_panel(in.data + place.at, in.step, lines,
                         [](const V(&line)[6], V(&t)[6]) { input_line_gradient(line, t); });
        const std::int64_t row = place.row - tiles.padding_top;
        const std::int64_t column = place.column - tiles.padding_left;
        const bool whole = inside(column, 6, dx.width);
        float* to = dx.data + place.block * step + (row * dx.width + column) * kLanes;
        for (int i = 0; i < 6; ++i, to += dx.width * kLanes) {
          if (!inside(row + i, 1, dx.height)) continue;
          V t[6];
          input_line_gradient(lines[i], t);
          for (int j = 0; j < 6; ++j) {
            if (!whole && !inside(column + j, 1, dx.width)) continue;
            float* const pixel = to + j * kLanes;
            store_pixel(pixel, step, load_pixel<V>(pixel, step) + t[j]);
          }
        }
      },
      [](std::int64_t) {});
}

void weights(const WinogradFilters& filters, const WinogradPanel& out) {
  for (std::int64_t half = 0; half < 2; ++half) {
    float values[9][kLanes] = {};
    const std::int64_t count = smaller(filters.count - half * kLanes, kLanes);
    for (std::int64_t lane = 0; lane < count; ++lane) {
      const float* const filter = filters.data + (half * kLanes + lane) * filters.step;
      for (int e = 0; e < 9; ++e) values[e][lane] = filter[e];
    }
    Block lines[6][3];
    for (int j = 0; j < 3; ++j) {
      const Block column[3] = {load<Block>(values[j]), load<Block>(values[3 + j]),
                               load<Block>(values[6 + j])};
      Block t[6];
      weight_line(column, t);
      for (int i = 0; i < 6; ++i) lines[i][j] = t[i];
    }
    float* to = out.data + half * kLanes;
    for (int i = 0; i < 6; ++i) {
      Block t[6];
      weight_line(lines[i], t);
      for (int j = 0; j < 6; ++j) {
        store(to + j * out.step, kWeightScale[i] * kWeightScale[j] * t[j]);
      }
      to += 6 * out.step;
    }
  }
}

void weights_gradient(const WinogradPanel& in, const WinogradFilters& filters, bool accumulate) {
  for (std::int64_t half = 0; half < 2; ++half) {
    Block lines[3][6];
    columns_of_panel(in.data + half * kLanes, in.step, lines,
                     [](const Block(&line)[6], Block(&t)[3]) { weight_line_gradient(line, t); });
    float values[9][kLanes];
    for (int i = 0; i < 3; ++i) {
      Block t[3];
      weight_line_gradient(lines[i], t);
      for (int j = 0; j < 3; ++j) {
        store(values[3 * i + j], kWeightGradientScale[i] * kWeightGradientScale[j] * t[j]);
      }
    }
    const std::int64_t count = smaller(filters.count - half * kLanes, kLanes);
    for (std::int64_t lane = 0; lane < count; ++lane) {
      float* const filter = filters.data + (half * kLanes + lane) * filters.step;
      for (int e = 0; e < 9; ++e) {
        filter[e] = accumulate ? filter[e] + values[e][lane] : values[e][lane];
      }
    }
  }
}

}  // namespace

extern const WinogradTransforms WEFT_LOOPS_NAME(winograd_transforms) = {
    input, output, output_gradient, input_gradient, weights, weights_gradient};

}  // namespace weft

#include "weft/base/isa/loops_end.inc"
