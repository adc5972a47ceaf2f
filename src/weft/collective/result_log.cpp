#include "weft/collective/result_log.h"

#include <algorithm>

#include "weft/base/check.h"

namespace weft {

static constexpr std::size_t kAlwaysKept = 2;

void ResultLog::add(Round round, const Hash128& hash, std::shared_ptr<FloatBuffer> values) {
  WEFT_CHECK(values != nullptr);
  WEFT_CHECK(empty() || round.value() == newest().value() + 1);
  bytes_ += values->span().size_bytes();
  entries_.push_back({round, hash, std::move(values)});
  const auto too_many = [this] {
    const bool spare = entries_.front().round < needed_from_;
    return bytes_ > (spare ? std::min(kSpareBytes, bytes_max_) : bytes_max_);
  };
  while (entries_.size() > kAlwaysKept && too_many()) {
    bytes_ -= entries_.front().values->span().size_bytes();
    entries_.pop_front();
  }
}

const ResultLog::Entry* ResultLog::find(Round round) const {
  if (empty() || round < oldest() || round > newest()) return nullptr;
  return &entries_[static_cast<std::size_t>(round.value() - oldest().value())];
}

void ResultLog::clear() {
  entries_.clear();
  bytes_ = 0;
}

}  // namespace weft
