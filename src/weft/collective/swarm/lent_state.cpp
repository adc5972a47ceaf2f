#include "weft/collective/swarm/lent_state.h"

#include <utility>

#include "weft/base/check.h"

namespace weft {

// Copying a state of gigabytes takes some seconds.
static constexpr Duration kWaitSlice = std::chrono::minutes(1);

void LentState::lend(StateReader read) {
  WEFT_CHECK(!std::exchange(lent_, true));
  loan_.with([&](Loan& loan) { loan.read = std::move(read); });
}

bool LentState::take_back() {
  if (!std::exchange(lent_, false)) return false;
  loan_.with([](Loan& loan) { loan.read = nullptr; });
  while (!loan_.wait_until(clock_.now() + kWaitSlice,
                           [](const Loan& loan) { return !loan.reading; })) {
  }
  return true;
}

bool LentState::make_snapshot(const Turn& order, std::function<void(StateSnapshot)> made) {
  StateReader read = loan_.with([](Loan& loan) {
    loan.reading = loan.reading || loan.read != nullptr;
    return std::exchange(loan.read, nullptr);
  });
  if (!read) return false;
  reader_ = Thread([this, order, read = std::move(read), made = std::move(made)] {
    Bytes state = read();
    loan_.with([](Loan& loan) { loan.reading = false; });
    state.insert(state.begin(), order.state.span().begin(), order.state.span().end());
    made(make_state_snapshot(order.round, std::move(state)));
  });
  return true;
}

}  // namespace weft
