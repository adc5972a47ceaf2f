#include <cstdlib>
#include <new>
#include <utility>

#include <sys/mman.h>

#include "weft/base/check.h"
#include "weft/collective/reduce/collective.h"

namespace weft {

namespace {

constexpr std::size_t kCacheLineBytes = 64;
// As many as a processor of 47 address bits could hold; more would wrap the count of bytes.
constexpr std::int64_t kMaxElements = std::int64_t{1} << 45;
constexpr std::size_t kHugePageBytes = std::size_t{2} << 20;
// Below, the unused rest of the last page would weigh too much.
constexpr std::size_t kHugeFromBytes = 8 * kHugePageBytes;

// To copy a shorter vector takes less time than to announce it.
constexpr std::size_t kSharedFromBytes = 64 * 1024;
constexpr std::size_t kPageBytes = 4096;

std::size_t round_up(std::size_t size, std::size_t unit) { return (size + unit - 1) / unit * unit; }

}  // namespace

FloatBuffer::FloatBuffer(std::int64_t elements, Kind kind)
    : size_(static_cast<std::size_t>(elements)) {
  if (elements < 0 || elements > kMaxElements) throw std::bad_alloc();
  const std::size_t bytes = size_ * sizeof(float);
  if (kind == Kind::kShareable && bytes >= kSharedFromBytes) {
    shared_ = SharedMemory::make(round_up(bytes, kPageBytes));
    if (shared_) values_ = reinterpret_cast<float*>(shared_->bytes().data());
    if (shared_) return;
  }
  const bool huge = bytes >= kHugeFromBytes;
  const std::size_t unit = huge ? kHugePageBytes : kCacheLineBytes;
  const std::size_t rounded = round_up(bytes == 0 ? 1 : bytes, unit);
  void* memory = std::aligned_alloc(unit, rounded);
  if (memory == nullptr) throw std::bad_alloc();
  // A wish: without huge pages it only takes longer.
  if (huge) static_cast<void>(::madvise(memory, rounded, MADV_HUGEPAGE));
  own_.reset(static_cast<float*>(memory));
  values_ = own_.get();
}

FloatBuffer::FloatBuffer(std::shared_ptr<FloatBuffer> whole, std::int64_t offset,
                         std::int64_t elements)
    : whole_(std::move(whole)), size_(static_cast<std::size_t>(elements)) {
  const auto available = static_cast<std::int64_t>(whole_->size_);
  WEFT_CHECK(offset >= 0 && elements >= 0 && offset <= available && elements <= available - offset);
  values_ = whole_->values_ + offset;
}

void FloatBuffer::Free::operator()(float* values) const { std::free(values); }

}  // namespace weft
