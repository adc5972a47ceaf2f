#include "weft/mix/meet/average_meeting.h"

namespace weft {

void AverageMeeting::begin(TimePoint /*now*/) { work_on(model(), options().steps); }

// model += share (to - from)
void AverageMeeting::move(std::span<const float> from, std::span<const float> to, float share) {
  std::vector<float> moved(*model());
  for (std::size_t i = 0; i < moved.size(); ++i) moved[i] += share * (to[i] - from[i]);
  set_model(std::move(moved));
}

void AverageMeeting::worked(const MixWork& done, const MixReturned& result, TimePoint /*now*/) {
  move(*done.model, *result.values, 1);
  count_work(result.loss);
  if (over()) return;
  ask_partner();
  work_on(model(), options().steps);
}

// A partner that is slow to answer is not asked again, and nobody else meanwhile.
void AverageMeeting::ask_partner() {
  const std::optional<std::uint32_t> partner = partner_(version());
  if (!partner || asked_ || !alive(*partner)) return;
  asked_.emplace(*partner, model());
  ask(*partner, model());
}

void AverageMeeting::asked(std::uint32_t from, const MixReturned& message, TimePoint /*now*/) {
  answer(from, message.base, model());
  move(*model(), *message.values, 0.5F);
}

void AverageMeeting::answered(std::uint32_t from, const MixGiven& message, TimePoint /*now*/) {
  if (!asked_ || asked_->first != from) return;
  move(*asked_->second, *message.model, 0.5F);
  asked_.reset();
}

void AverageMeeting::lost(std::uint32_t member) {
  MixMeeting::lost(member);
  if (asked_ && asked_->first == member) asked_.reset();
}

}  // namespace weft
