// MixMeeting: a member without rounds, which meets one other member at a time.
//
// It works on its own model and never waits. Whom it meets when, what the two exchange and what
// each makes of it is the implementation's: AverageMeeting after each piece of work,
// AcceleratedMeeting at the ticks of clocks. One who asks sends a MixReturned; the other answers
// with a MixGiven. Messages between two members come in the order in which they were sent.
//
// Where it stands: a plan of the style kPairwise makes one for each MixCore, which checks messages
// before they come here. It has no thread, no connection and no clock. Threads: one owner.
// Fails: failure() says why it makes no sense to go on.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "weft/base/status.h"
#include "weft/base/time.h"
#include "weft/mix/meet/mix_traffic.h"

namespace weft {

struct MixMeetingOptions {
  std::uint32_t self = 0;
  std::uint32_t members = 1;
  std::uint64_t versions = 1;  // after so many pieces of work it is over
  std::uint32_t steps = 1;     // local steps of one piece
  std::uint64_t seed = 1;      // the same at all members
};

class MixMeeting {
 public:
  MixMeeting(const MixMeetingOptions& options, MixVector first)
      : options_(options), alive_(options.members, true), model_(std::move(first)) {}
  virtual ~MixMeeting() = default;
  MixMeeting(const MixMeeting&) = delete;
  MixMeeting& operator=(const MixMeeting&) = delete;

  // --- Events.
  virtual void begin(TimePoint now) = 0;
  // `result.values` is what the local update made of `done.model`.
  virtual void worked(const MixWork& done, const MixReturned& result, TimePoint now) = 0;
  virtual void asked(std::uint32_t from, const MixReturned& message, TimePoint now) = 0;
  virtual void answered(std::uint32_t from, const MixGiven& message, TimePoint now) = 0;
  virtual void lost(std::uint32_t member) { alive_[member] = false; }
  virtual void settle(TimePoint /*now*/) {}
  virtual std::optional<TimePoint> next_deadline() const { return std::nullopt; }

  // --- What it has, and what it wants done since it was last asked.
  const MixVector& model() const { return model_; }
  std::uint64_t version() const { return version_; }  // pieces of work that it has applied
  const Status& failure() const { return failure_; }
  std::optional<MixGiven> take_work() { return std::exchange(work_, std::nullopt); }
  std::vector<MixSend> take_sends() { return std::exchange(sends_, {}); }
  std::vector<MixCombined> take_combined() { return std::exchange(combined_, {}); }

 protected:
  const MixMeetingOptions& options() const { return options_; }
  bool alive(std::uint32_t member) const { return alive_[member]; }
  bool over() const { return version_ >= options_.versions; }
  void set_model(std::vector<float> model) {
    model_ = std::make_shared<const std::vector<float>>(std::move(model));
  }
  // One more piece of work is in the model.
  void count_work(const MixLoss& loss) {
    ++version_;
    combined_.push_back({version_, model_, loss, 1, 0});
  }
  void work_on(MixVector model, std::uint32_t steps) {
    work_ = MixGiven{version_, steps, std::move(model)};
  }
  void ask(std::uint32_t member, MixVector values) {
    sends_.push_back({member, MixReturned{.base = version_, .values = std::move(values)}});
  }
  void answer(std::uint32_t member, std::uint64_t version, MixVector values) {
    sends_.push_back({member, MixGiven{version, 0, std::move(values)}});
  }
  void fail(Status why) {
    if (failure_.ok()) failure_ = std::move(why);
  }

 private:
  const MixMeetingOptions options_;
  std::vector<bool> alive_;
  MixVector model_;
  std::uint64_t version_ = 0;
  Status failure_;
  std::optional<MixGiven> work_;
  std::vector<MixSend> sends_;
  std::vector<MixCombined> combined_;
};

}  // namespace weft
