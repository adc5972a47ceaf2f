// Reading and writing elements or whole rows at positions from an index array.
//
// Any dtype; bf16 and f16 sums are computed in f32 and rounded once. Positions are contiguous i64
// and count from 0; the work is split over lanes that do not share an output, and within a lane
// sums
// go in the order of the index: the same bits for any thread count.
// Fails: a position outside its axis throws std::invalid_argument "[name] expected ...".
// IMPLEMENTATION: lanes instead of sorting the index: repeated positions (the gradient of an
// embedding) add up in order because every thread traverses the whole index for its part of the
// row.
#pragma once

#include "weft/array/array.h"

namespace weft {

enum class ScatterMode : std::uint8_t { kAssign, kAdd };

// y[.., j, ..] = x[.., index[.., j, ..], ..]: `index` has x's number of axes and is nowhere longer
// than x but along `axis`. Contiguous, of the index's shape.
Array gather(const char* name, const Array& x, int axis, const Array& index);

// A copy of x with source[.., j, ..] written or added at [.., index[.., j, ..], ..]; `source` has
// the index's shape and x's type. For equal positions the last one wins.
Array scatter(const char* name, const Array& x, int axis, const Array& index, const Array& source,
              ScatterMode mode);

// source[.., j, ..] added up at [.., index[.., j, ..], ..] of zeros of `shape`.
Array scatter_sum(const char* name, const Shape& shape, int axis, const Array& index,
                  const Array& source);

// y = x with the slices index[0], index[1], ... along `axis`; index [K].
Array select_rows(const char* name, const Array& x, int axis, const Array& index);
// Throws as the others do unless all of the contiguous i64 `index` is in [0, extent).
void check_positions(const char* name, const Array& index, std::int64_t extent);

// A copy of x with slice j of `source` along `axis` written or added at slice index[j].
Array put_rows(const char* name, const Array& x, int axis, const Array& index, const Array& source,
               ScatterMode mode);

// Slice j of `source` along `axis` added up at slice index[j] of zeros of `shape`.
Array sum_rows(const char* name, const Shape& shape, int axis, const Array& index,
               const Array& source);

// out += source at the rows `index` of axis 0: put_rows in place. Both contiguous, one type,
// neither bf16 nor f16.
void add_rows_into(const char* name, Array& out, const Array& index, const Array& source);

// positions[i] = sum_k wrap(indexes[k][i]) * strides of the axes of `sizes`: row numbers of an
// array of shape `sizes` for index arrays of one shape; negative positions count from the end.
Array row_numbers(const char* name, const Shape& sizes, std::span<const Array> indexes);

}  // namespace weft
