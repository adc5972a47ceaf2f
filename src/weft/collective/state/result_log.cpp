#include "weft/collective/state/result_log.h"

#include <algorithm>

#include "weft/base/check.h"

namespace weft {

static constexpr std::size_t kAlwaysKept = 2;

void ResultLog::add(Entry entry) {
  WEFT_CHECK(entry.values != nullptr);
  WEFT_CHECK(empty() || entry.round.value() == newest().value() + 1);
  bytes_ += entry.bytes();
  entries_.push_back(std::move(entry));
  const auto too_many = [this] {
    const bool spare = entries_.front().round < needed_from_;
    return bytes_ > (spare ? std::min(kSpareBytes, bytes_max_) : bytes_max_);
  };
  while (entries_.size() > kAlwaysKept && too_many()) {
    bytes_ -= entries_.front().bytes();
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
