#include "weft/collective/reduce/input_pieces.h"

#include <algorithm>
#include <iterator>

#include "weft/base/check.h"

namespace weft {

void InputPieces::add(std::int64_t offset, std::span<const float> values) {
  const auto size = static_cast<std::int64_t>(values.size());
  if (size == 0) return;
  WEFT_CHECK(offset >= 0 && size <= elements_ && offset <= elements_ - size);
  const auto after = pieces_.lower_bound(offset);
  WEFT_CHECK(after == pieces_.end() || after->first >= offset + size);
  if (after != pieces_.begin()) {
    const auto& [start, piece] = *std::prev(after);
    WEFT_CHECK(start + static_cast<std::int64_t>(piece.size()) <= offset);
  }
  pieces_.emplace_hint(after, offset, values);
  covered_ += size;
}

template <class Use>
void InputPieces::for_each_piece(std::int64_t offset, std::size_t size, Use&& use) const {
  std::size_t done = 0;
  auto piece = std::prev(pieces_.upper_bound(offset));
  while (done < size) {
    WEFT_CHECK(piece != pieces_.end());
    const auto skip =
        static_cast<std::size_t>(offset + static_cast<std::int64_t>(done) - piece->first);
    WEFT_CHECK(skip < piece->second.size());
    const std::size_t count = std::min(size - done, piece->second.size() - skip);
    use(done, piece->second.subspan(skip, count));
    done += count;
    ++piece;
  }
}

void InputPieces::copy(std::int64_t offset, std::span<float> out) const {
  for_each_piece(offset, out.size(), [&](std::size_t at, std::span<const float> values) {
    std::copy(values.begin(), values.end(), out.begin() + static_cast<std::ptrdiff_t>(at));
  });
}

void InputPieces::sum(std::int64_t offset, ByteSpan received, std::span<float> out) const {
  WEFT_CHECK(received.size() == out.size_bytes());
  for_each_piece(offset, out.size(), [&](std::size_t at, std::span<const float> values) {
    add_floats(received.data() + at * sizeof(float), values.data(), out.data() + at, values.size());
  });
}

}  // namespace weft
