#include "weft/array/storage/storage_budget.h"

#include <stdexcept>
#include <utility>

#include <fmt/format.h>

namespace weft {

// What one storage holds of an account and of those around it.
class StorageBudget::Charge {
 public:
  Charge(std::shared_ptr<Account> account, std::size_t bytes)
      : account_(std::move(account)), bytes_(bytes) {
    for (Account* at = account_.get(); at != nullptr; at = at->outer.get()) {
      at->bytes.fetch_add(bytes_, std::memory_order_relaxed);
    }
  }
  ~Charge() {
    for (Account* at = account_.get(); at != nullptr; at = at->outer.get()) {
      at->bytes.fetch_sub(bytes_, std::memory_order_relaxed);
    }
  }
  Charge(const Charge&) = delete;
  Charge& operator=(const Charge&) = delete;

 private:
  const std::shared_ptr<Account> account_;
  const std::size_t bytes_;
};

std::shared_ptr<StorageBudget::Account>& StorageBudget::current() {
  thread_local std::shared_ptr<Account> account;
  return account;
}

StorageBudget::StorageBudget(std::size_t bytes_max) {
  auto account = std::make_shared<Account>();
  account->bytes_max = bytes_max;
  account->outer = std::move(current());
  current() = std::move(account);
}

StorageBudget::~StorageBudget() { current() = std::shared_ptr<Account>(current()->outer); }

std::shared_ptr<const void> StorageBudget::charge(std::size_t bytes) {
  if (current() == nullptr) return nullptr;
  for (const Account* at = current().get(); at != nullptr; at = at->outer.get()) {
    const std::size_t held = at->bytes.load(std::memory_order_relaxed);
    if (bytes <= at->bytes_max && held <= at->bytes_max - bytes) continue;
    throw std::invalid_argument(fmt::format("[memory] expected at most {} bytes at once, got {}",
                                            at->bytes_max, held + bytes));
  }
  return std::make_shared<const Charge>(current(), bytes);
}

}  // namespace weft
