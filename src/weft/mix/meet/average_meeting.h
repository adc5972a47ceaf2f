// AverageMeeting: after each piece of work both move to the middle of their two models.
//
// IMPLEMENTATION: Lian, Zhang, Zhang and Liu, "Asynchronous decentralized parallel stochastic
// gradient descent", ICML 2018, algorithm 1. Work is computed from the model as it was when it
// began and is applied to the model as it is when it ends. Each moves half of the difference
// between what was sent and what was answered, so that the sum of both stays what it was.
//
// Where it stands: the plan "pairwise". Threads: one owner. Fails: never.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <utility>

#include "weft/mix/meet/mix_meeting.h"

namespace weft {

class AverageMeeting final : public MixMeeting {
 public:
  // Whom it meets after its work `version`, from 1; nothing where it is alone.
  using Partner = std::function<std::optional<std::uint32_t>(std::uint64_t version)>;

  AverageMeeting(const MixMeetingOptions& options, MixVector first, Partner partner)
      : MixMeeting(options, std::move(first)), partner_(std::move(partner)) {}

  void begin(TimePoint now) override;
  void worked(const MixWork& done, const MixReturned& result, TimePoint now) override;
  void asked(std::uint32_t from, const MixReturned& message, TimePoint now) override;
  void answered(std::uint32_t from, const MixGiven& message, TimePoint now) override;
  void lost(std::uint32_t member) override;

 private:
  void ask_partner();
  void move(std::span<const float> from, std::span<const float> to, float share);

  const Partner partner_;
  // Who has been sent which model of this member and has not answered.
  std::optional<std::pair<std::uint32_t, MixVector>> asked_;
};

}  // namespace weft
