// A rendezvous table in memory, for tests: several peers of one process share a RendezvousStore.
//
// It keeps everything that anybody stores, for ever. Threads: the store on any thread; a table on
// its loop. Fails: never.
#pragma once

#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "weft/base/thread.h"
#include "weft/net/rendezvous.h"

namespace weft {

using RendezvousStore = Guarded<std::map<RendezvousKey, std::vector<Bytes>>>;

class MemoryRendezvousTable final : public RendezvousTable {
 public:
  MemoryRendezvousTable(EventLoop& loop, std::shared_ptr<RendezvousStore> store)
      : loop_(loop), store_(std::move(store)) {}

  void put(const RendezvousKey& key, Bytes value) override {
    store_->with([&](auto& values) { values[key].push_back(std::move(value)); });
  }
  void get(const RendezvousKey& key, Found found) override {
    loop_.thread().assert_here();
    std::vector<Bytes> values = store_->with([&](auto& all) { return all[key]; });
    loop_.post([alive = std::weak_ptr(alive_), found = std::move(found), values]() {
      if (!alive.expired()) found(values);
    });
  }

 private:
  EventLoop& loop_;
  std::shared_ptr<RendezvousStore> store_;
  std::shared_ptr<bool> alive_ WEFT_GUARDED_BY(loop_.thread()) = std::make_shared<bool>(true);
};

}  // namespace weft
