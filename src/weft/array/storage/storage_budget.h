// StorageBudget: while one lives, the storages that its thread makes may hold so many bytes at
// once.
//
//   const StorageBudget budget(std::size_t{1} << 30U);
//   ...  // allocations beyond it throw
//
// For what others decide, such as the operators of a model from a file. What was made before does
// not count; what is made counts until it is freed, wherever that is. One within another counts for
// both. Scratch memory of kernels that is no Storage does not count.
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

  // Counts `bytes` in those of this thread until what it returns is gone; null where there is none.
  // For Storage.
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
