// buffer: so many contributions, whatever versions they were trained from.
//
// A member gets the newest version as soon as it is idle. With size 1 each contribution is applied
// by itself (asynchronous SGD, FedAsync). With `lead` a member that is so many contributions ahead
// of the slowest waits (stale-synchronous). With `by_steps` a delta counts by its mean step, as
// methods ask for whose members choose their number of steps.
// IMPLEMENTATION: Nguyen, Malik, Zhan, Yousefpour, Rabbat, Malek and Huba, "Federated learning with
// buffered asynchronous aggregation", AISTATS 2022, algorithm 1; Xie, Koyejo and Gupta,
// "Asynchronous federated optimization", 2019 (staleness); Ho et al., "More effective distributed
// ML via a stale synchronous parallel parameter server", NeurIPS 2013 (lead); Yang, Zhang, Khanduri
// and Liu, "Anarchic federated learning", ICML 2022, AFA-CD (by_steps).
#include <algorithm>
#include <vector>

#include "weft/base/portable_math.h"
#include "weft/mix/trigger/mix_trigger_def.h"

namespace weft {
namespace {

constexpr Option kBufferOptions[] = {
    {.name = "size",
     .fallback = 10,
     .min = 1,
     .max = 4096,
     .whole = true,
     .help = "Contributions that are combined at a time."},
    {.name = "staleness",
     .fallback = 0.5,
     .min = 0,
     .max = 16,
     .help = "a of the weight (1 + s)^-a for a delta from s versions ago; 0: all alike."},
    {.name = "staleness_max",
     .fallback = 0,
     .min = 0,
     .max = 1e9,
     .whole = true,
     .help = "Versions; an older delta is dropped. 0: none is."},
    {.name = "lead",
     .fallback = 0,
     .min = 0,
     .max = 1e9,
     .whole = true,
     .help = "Contributions by which a member may be ahead of the slowest; 0: any number."},
    {.name = "by_steps",
     .fallback = 0,
     .min = 0,
     .max = 1,
     .whole = true,
     .help = "1: a delta of k local steps counts local.steps / k."},
};

class BufferTrigger final : public MixTriggerState {
 public:
  explicit BufferTrigger(MixTriggerInput input)
      : MixTriggerState(std::move(input)), done_(this->input().members, 0) {}

  bool full() const override { return arrivals().size() >= size(); }
  bool ready(TimePoint /*now*/) const override { return full(); }
  bool may_start(std::uint32_t member) const override {
    if (option(3) == 0) return true;
    const std::int64_t slowest = *std::ranges::min_element(done_);
    return static_cast<double>(done_[member] - slowest) <= option(3);
  }

 private:
  bool accepts(const MixArrival& arrival, TimePoint /*now*/) override {
    ++done_[arrival.from];
    const auto stale = static_cast<double>(version() - arrival.base);
    return option(2) == 0 || stale <= option(2);
  }
  // Nobody waits for it any more.
  void on_lost(std::uint32_t member, TimePoint /*now*/) override {
    done_[member] = *std::ranges::max_element(done_);
    lost_ = std::min<std::size_t>(lost_ + 1, input().members - 1);
  }
  double weight(const MixArrival& arrival) const override {
    const auto stale = static_cast<double>(version() - arrival.base);
    double share = portable_pow(1.0 + stale, -option(1)) / static_cast<double>(arrivals().size());
    if (option(4) != 0) share *= static_cast<double>(input().steps) / std::max(1U, arrival.steps);
    return share;
  }
  // Never more than there are members to fill it.
  std::size_t size() const {
    return std::min(static_cast<std::size_t>(option(0)), input().members - lost_);
  }

  std::vector<std::int64_t> done_;  // contributions of each member
  std::size_t lost_ = 0;
};

}  // namespace

extern const MixTriggerDef buffer_trigger = {
    .name = "buffer",
    .summary =
        "So many deltas, from whatever versions (Nguyen et al. 2022, FedBuff; size 1: Xie et "
        "al. 2019, FedAsync).",
    .options = kBufferOptions,
    .make = [](MixTriggerInput input) -> std::unique_ptr<MixTriggerState> {
      return std::make_unique<BufferTrigger>(std::move(input));
    },
};

}  // namespace weft
