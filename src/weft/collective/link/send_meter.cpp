#include "weft/collective/link/send_meter.h"

namespace weft {

// Less is the noise of a busy machine.
static constexpr double kSecondsLeast = 0.02;
// Older times fade by half then.
static constexpr double kSecondsKept = 2;

void SendMeter::on_send(std::size_t queued, TimePoint now) {
  if (queued > 0 && queued <= queued_) {
    bytes_ += static_cast<double>(queued_ - queued);
    seconds_ += to_seconds(now - looked_);
    if (seconds_ > kSecondsKept) {
      bytes_ /= 2;
      seconds_ /= 2;
    }
  }
  looked_ = now;
}

double SendMeter::bytes_per_s() const { return seconds_ >= kSecondsLeast ? bytes_ / seconds_ : 0; }

}  // namespace weft
