#include "weft/kernel/conv/windows/windows.h"

#include <algorithm>

namespace weft::windows {
namespace {

// Results that are gathered together: their pixels lie side by side, and their rows stay in the
// first-level cache.
constexpr std::int64_t kResultsAtOnce = 12;

}  // namespace

WindowGrid windows_of_results(const Shape& y, const Shape& weight, const Conv2dGeometry& geometry) {
  WindowGrid grid{y[2], y[3], geometry.stride, {}};
  for (std::int64_t i = 0; i < weight[2]; ++i) {
    for (std::int64_t j = 0; j < weight[3]; ++j) {
      grid.taps.emplace_back(i * geometry.dilation[0] - geometry.padding[0],
                             j * geometry.dilation[1] - geometry.padding[1]);
    }
  }
  return grid;
}

template <class From, class To>
void gather_group(const BlockedImages<From>& x, const WindowGrid& grid,
                  const WindowGroup<From>& group, const Run& run, To* to, std::int64_t apart) {
  if (From* from = inside(x, grid, group, run)) {
    const std::int64_t step = grid.step[1] * kLanes;
    for (std::int64_t i = 0; i < run.count; ++i) {
      __builtin_prefetch(from + run.count * step);
      copy_group(from, to);
      from += step;
      to += apart;
    }
    return;
  }
  const std::int64_t r = run.row * grid.step[0] + group.tap[0];
  std::int64_t c = run.column * grid.step[1] + group.tap[1];
  for (std::int64_t i = 0; i < run.count; ++i) {
    if (r >= 0 && r < x.height && c >= 0 && c < x.width) {
      copy_group(group.plane + (r * x.width + c) * kLanes, to);
    } else {
      std::fill_n(to, kLanes, To{});
    }
    c += grid.step[1];
    to += apart;
  }
}

template <class From, class To>
void gather(const BlockedImages<From>& x, const WindowGrid& grid, const Range& results,
            const Range& groups, const GroupRows<To>& rows) {
  To* to = rows.data;
  for_each_run(grid.rows, grid.columns, results, kResultsAtOnce, [&](const Run& run) {
    for_each_group(x, grid, run.image, groups, [&](std::int64_t i, const WindowGroup<From>& group) {
      gather_group(x, grid, group, run, to + i * rows.group_step, rows.row_step);
    });
    to += run.count * rows.row_step;
  });
}

#define WEFT_GATHER(FROM, TO)                                                                \
  template void gather_group(const BlockedImages<const FROM>&, const WindowGrid&,            \
                             const WindowGroup<const FROM>&, const Run&, TO*, std::int64_t); \
  template void gather(const BlockedImages<const FROM>&, const WindowGrid&, const Range&,    \
                       const Range&, const GroupRows<TO>&)

WEFT_GATHER(float, float);
WEFT_GATHER(std::uint16_t, float);
WEFT_GATHER(std::uint16_t, std::uint16_t);

}  // namespace weft::windows
