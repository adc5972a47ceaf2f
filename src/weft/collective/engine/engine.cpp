#include "weft/collective/engine/engine.h"

#include <utility>

namespace weft {

namespace {

class EndedWork final : public Work {
 public:
  explicit EndedWork(Status status) : status_(std::move(status)) {}
  bool done() override { return true; }
  Status wait(Duration /*limit*/) override { return status_; }

 private:
  const Status status_;
};

}  // namespace

std::unique_ptr<Work> ended_work(Status status) {
  return std::make_unique<EndedWork>(std::move(status));
}

}  // namespace weft
