// Lattice: positions 0 to n-1 in rows of equal length, the last of which may be shorter.
//
// Rows are about as many as columns, so that no way through the lattice is long for any n.
// Threads: pure.
#pragma once

#include <cstddef>

namespace weft {

struct Lattice {
  std::size_t size = 0;
  std::size_t columns = 1;  // the least whole number whose square is at least `size`

  explicit Lattice(std::size_t positions) : size(positions) {
    while (columns * columns < size) ++columns;
  }

  std::size_t row_length(std::size_t row) const {
    const std::size_t begin = row * columns;
    return size - begin < columns ? size - begin : columns;
  }
  // The number of rows that reach as far as this column.
  std::size_t column_height(std::size_t column) const {
    return (size - column + columns - 1) / columns;
  }
};

}  // namespace weft
