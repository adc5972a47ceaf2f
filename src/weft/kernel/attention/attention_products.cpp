#include "weft/kernel/attention/attention_products.h"

#include <algorithm>
#include <cstring>

namespace weft::attention_blocks {

static_assert(sizeof(BFloat16) == sizeof(std::uint16_t) && std::is_trivially_copyable_v<BFloat16>);

static const std::uint16_t* half_bits(const BFloat16* values) {
  return reinterpret_cast<const std::uint16_t*>(values);
}
static std::uint16_t* half_bits(BFloat16* values) {
  return reinterpret_cast<std::uint16_t*>(values);
}

// --- ProductRows.

template <>
void ProductRows<float>::copy(const Rows<float>& rows, std::int64_t count, float by, float* to,
                              std::int64_t to_step) const {
  loops_.copy(rows.data, {rows.step, to_step, count, width_, to_step, &by, 0}, to);
}
template <>
void ProductRows<BFloat16>::copy(const Rows<BFloat16>& rows, std::int64_t count, float by,
                                 float* to, std::int64_t to_step) const {
  loops_.widen(half_bits(rows.data), {rows.step, to_step, count, width_, to_step, &by, 0}, to);
}

template <>
void ProductRows<float>::write(const Rows<float>& rows, std::int64_t count, const Factors& by,
                               const Target& to) const {
  loops_.copy(rows.data, {rows.step, to.step, count, width_, width_, by.values, by.step}, to.data);
}
template <>
void ProductRows<BFloat16>::write(const Rows<float>& rows, std::int64_t count, const Factors& by,
                                  const Target& to) const {
  loops_.narrow(rows.data, {rows.step, to.step, count, width_, width_, by.values, by.step},
                half_bits(to.data));
}

template <>
const float* ProductRows<float>::widened(const float* row, std::int64_t /*place*/) const {
  return row;
}
template <>
const float* ProductRows<BFloat16>::widened(const BFloat16* row, std::int64_t place) const {
  float* const to = scratch_ + place * row_floats(width_);
  copy({row, width_}, 1, 1.0F, to, width_);
  return to;
}

template <class T>
float ProductRows<T>::dot(const T* a, const T* b) const {
  return loops_.dot(widened(a, 0), widened(b, 1), width_);
}

// --- FloatProducts.

template <class T>
void FloatProducts<T>::pack_panels(const Rows<T>& rows, std::int64_t count, float* to) const {
  for (std::int64_t j = 0; j < count; j += kPanel) {
    const std::int64_t columns = std::min(kPanel, count - j);
    GemmOperand panel{nullptr, 1, rows.step};
    if constexpr (kInPlace) {
      panel.data = rows.data + j * rows.step;
    } else {
      const std::int64_t step = row_floats(this->width_);
      this->copy({rows.data + j * rows.step, rows.step}, columns, 1.0F, this->scratch_, step);
      panel = {this->scratch_, 1, step};
    }
    gemm_.pack(panel, this->width_, columns, to + j * this->width_);
  }
}

template <class T>
float FloatProducts<T>::soften(const AttentionScores& row, AttentionSoftmax& softmax,
                               float* shares) const {
  const float kept = this->loops_.soften(shares, row.count, softmax);
  for (std::int64_t j = 0; row.factors != nullptr && j < row.count; ++j)
    shares[j] *= row.factors[j];
  return kept;
}

template <class T>
void FloatProducts<T>::gradient(const AttentionGradientRow (&rows)[kDepth],
                                const ShareTargets<float>& to) const {
  const AttentionScores& row = rows[0].row;
  if (row.count == 0) {
    std::fill_n(to.shares, kTile, 0.0F);
    std::fill_n(to.gradients, kTile, 0.0F);
    return;
  }
  this->loops_.gradient({to.shares, to.gradients, rows[0].log_sum, rows[0].dot}, row.count);
  for (std::int64_t j = 0; row.factors != nullptr && j < row.count; ++j) {
    to.shares[j] *= row.factors[j];
  }
}

template class ProductRows<float>;
template class ProductRows<BFloat16>;
template class FloatProducts<float>;
template class FloatProducts<BFloat16>;

// --- PairProducts.

void PairProducts::copy_rows(const Rows<BFloat16>& rows, std::int64_t count, Element* to) const {
  const std::int64_t step = row_step(width_);
  for (std::int64_t i = 0; i < count; ++i) {
    fetch_row(rows, i, count, width_);
    std::fill(to + width_ / 2, to + step, Element{0});
    std::memcpy(to, rows.data + i * rows.step, static_cast<std::size_t>(width_) * sizeof(BFloat16));
    to += step;
  }
}

void PairProducts::copy_depth(const Rows<BFloat16>& rows, std::int64_t count, Element* to) const {
  const std::int64_t step = row_floats(width_);
  for (std::int64_t i = 0; i < count; i += kDepth) {
    const BFloat16* const first = rows.data + i * rows.step;
    fetch_row(rows, i, count, width_);
    fetch_row(rows, i + 1, count, width_);
    pairs_.interleave(half_bits(first), i + 1 < count ? half_bits(first + rows.step) : nullptr,
                      width_, to);
    std::fill(to + width_, to + step, Element{0});
    to += step;
  }
}

void PairProducts::pack_panels(const Rows<BFloat16>& rows, std::int64_t count, Element* to) const {
  for (std::int64_t j = 0; j < count; j += kPanel) {
    gemm_.pack({half_bits(rows.data + j * rows.step), 1, rows.step}, width_,
               std::min(kPanel, count - j), to + j * depth(width_));
  }
}

float PairProducts::soften(const AttentionScores& row, AttentionSoftmax& softmax,
                           Element* shares) const {
  return pairs_.soften(row, softmax, reinterpret_cast<std::uint16_t*>(shares));
}

void PairProducts::gradient(const AttentionGradientRow (&rows)[kDepth],
                            const ShareTargets<Element>& to) const {
  pairs_.gradient(rows, {to.shares, to.gradients, reinterpret_cast<std::uint16_t*>(to.rows),
                         reinterpret_cast<std::uint16_t*>(to.rows + to.row_step)});
}

}  // namespace weft::attention_blocks
