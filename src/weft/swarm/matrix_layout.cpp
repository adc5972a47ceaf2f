#include "weft/swarm/matrix_layout.h"

namespace weft {

std::shared_ptr<const MatrixLayout> matrix_layout(const Layout& layout) {
  auto made = std::make_shared<MatrixLayout>();
  made->elements = static_cast<std::size_t>(layout.num_elements());
  for (const LayoutEntry& entry : layout.entries()) {
    const std::int64_t values = entry.shape.num_elements();
    if (entry.kind == ParameterKind::kBuffer || entry.shape.size() < 2 || values == 0) continue;
    const auto rows = static_cast<std::size_t>(entry.shape[0]);
    made->matrices.push_back({.offset = static_cast<std::size_t>(entry.offset),
                              .rows = rows,
                              .cols = static_cast<std::size_t>(values) / rows});
  }
  return made;
}

}  // namespace weft
