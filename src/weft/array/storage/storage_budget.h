// StorageBudget: while one exists, the storages that its thread makes may hold at most this many
// bytes at once.
//
//   const StorageBudget budget(std::size_t{1} << 30U);
//   ...  // allocations beyond it throw
//
// It is for work that others control, such as the operators of a model from a file. Earlier
// storages do not count; new ones count until they are freed, on any thread. Storages under a
// nested budget count for both. Scratch memory of kernels that is not a Storage does not count.
// Threads: belongs to the thread that made it; storages may go to others.
// Fails: allocation throws std::invalid_argument "[memory] expected at most N bytes at once, got
// M".
#pragma once

#include <cstddef>
#include <memory>

#include "weft/base/thread.h"

namespace weft {

class StorageBudget {
 public:
  explicit StorageBudget(std::size_t bytes_max);
  ~StorageBudget();
  StorageBudget(const StorageBudget&) = delete;
  StorageBudget& operator=(const StorageBudget&) = delete;

  // Counts `bytes` in the budgets of this thread until the returned object is destroyed; null if
  // there are none. For Storage.
  static std::shared_ptr<const void> charge(std::size_t bytes);

 private:
  struct Account {
    std::size_t bytes_max = 0;
    Atomic<std::size_t> bytes = 0;
    std::shared_ptr<Account> outer;
  };
  class Charge;
  static std::shared_ptr<Account>& current();
};

}  // namespace weft
