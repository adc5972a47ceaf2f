#include "weft/mix/mix_node.h"

#include <algorithm>
#include <cstring>
#include <span>
#include <variant>

#include <fmt/format.h>

#include "weft/base/check.h"
#include "weft/wire/frame_type.h"

namespace weft {
namespace {

SharedBytes model_bytes(const MixVector& model) {
  return {model, as_bytes(std::span<const float>(*model))};
}

MixMailOptions mail_options(const MixNodeOptions& options, const MixCore& core) {
  const std::uint64_t model = core.model()->size() * sizeof(float);
  const MixMethod& method = *options.core.method;
  MixMailOptions mail = {method.local.has_beside() ? 2 * model : model,
                         core.returned_max() * sizeof(float)};
  if (options.codec) mail.returned_bytes_max = options.codec->bytes_max(core.returned_max());
  if (method.local.gives_numbers()) mail.returned_bytes_max = core.returned_max();
  if (method.combine.tells_histories()) mail.returned_bytes_max += model + kMixHistoryBytes;
  return mail;
}

// A model, and behind it what is given beside it.
SharedBytes given_bytes(const MixGiven& given) {
  if (given.beside == nullptr) return model_bytes(given.model);
  const ByteSpan model = as_bytes(std::span<const float>(*given.model));
  const ByteSpan beside = as_bytes(std::span<const float>(*given.beside));
  Bytes both(model.begin(), model.end());
  both.insert(both.end(), beside.begin(), beside.end());
  return SharedBytes(std::move(both));
}

Result<MixVector> floats_of(ByteSpan bytes, std::size_t elements) {
  std::vector<float> values(elements);
  if (bytes.size() != elements * sizeof(float)) {
    return corrupt(fmt::format("mix: expected a vector of {} bytes, got {}",
                               elements * sizeof(float), bytes.size()));
  }
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return MixVector(std::make_shared<const std::vector<float>>(std::move(values)));
}

// A model, and behind it another member's, after a line on whose.
SharedBytes with_history(const std::vector<float>& values, const MixHistory& history) {
  const ByteSpan own = as_bytes(std::span<const float>(values));
  const Bytes head = MixHistoryMessage{history.origin, history.round, history.distance}.encode();
  const ByteSpan other = as_bytes(std::span<const float>(*history.model));
  Bytes all(own.begin(), own.end());
  all.insert(all.end(), head.begin(), head.end());
  all.insert(all.end(), other.begin(), other.end());
  return SharedBytes(std::move(all));
}

// Nothing of no bytes.
Result<std::optional<MixHistory>> history_of(ByteSpan bytes, std::size_t elements) {
  if (bytes.empty()) return std::optional<MixHistory>();
  const std::size_t head = std::min(bytes.size(), kMixHistoryBytes);
  WEFT_TRY_ASSIGN(const MixHistoryMessage message, MixHistoryMessage::decode(bytes.first(head)));
  WEFT_TRY_ASSIGN(MixVector model, floats_of(bytes.subspan(head), elements));
  return std::optional(
      MixHistory{message.origin, message.round, message.distance, std::move(model)});
}

}  // namespace

MixNode::MixNode(MixNodeOptions options, Transport& transport, MixVector first, TimePoint now)
    : options_(std::move(options)),
      transport_(transport),
      core_(options_.core, std::move(first), now),
      mail_(transport, mail_options(options_, core_)) {
  WEFT_CHECK(options_.members.size() == options_.core.members);
  for (std::uint32_t i = 0; i < options_.core.members; ++i) {
    numbers_.emplace(options_.members[i].id, i);
  }
  if (options_.codec) feedback_.emplace(*options_.codec);
  if (!options_.links_to_all) return;
  for (std::uint32_t i = 0; i < options_.core.members; ++i) {
    if (i != self()) want_link(i, now);
  }
}

bool MixNode::has_common_model() const {
  const MixStyle style = options_.core.method->plan.style();
  return style == MixStyle::kServer || style == MixStyle::kSampled;
}

// --- Who is there.

void MixNode::want_link(std::uint32_t member, TimePoint now) {
  const PeerId& peer = options_.members[member].id;
  if (transport_.linked(peer) || lost_.contains(member)) return;
  if (!dials_.emplace(member, Dial{now + options_.patience, std::nullopt}).second) return;
  dial(member);
}

void MixNode::link_up(const PeerId& peer, TimePoint /*now*/) {
  const auto member = numbers_.find(peer);
  if (member == numbers_.end()) return;
  if (options_.lost_may_return && lost_.erase(member->second) > 0) core_.came(member->second);
  if (lost_.contains(member->second)) return;
  dials_.erase(member->second);
  mail_.link_up(peer);
}

void MixNode::link_down(const PeerId& peer, const Status& why, TimePoint now) {
  const auto member = numbers_.find(peer);
  if (member == numbers_.end() || lost_.contains(member->second)) return;
  mail_.link_down(peer);
  const auto dialled = dials_.find(member->second);
  // Perhaps only the link is gone. A dial that fails says more.
  if (dialled == dials_.end()) return want_link(member->second, now);
  if (nobody_listens(why) || now + options_.redial > dialled->second.give_up) {
    return lose(member->second, why, now);
  }
  dialled->second.again = now + options_.redial;
}

void MixNode::lose(std::uint32_t member, const Status& why, TimePoint now) {
  if (!lost_.emplace(member, why).second) return;
  dials_.erase(member);
  mail_.forget(options_.members[member].id);
  lost_news_.push_back({options_.members[member].id, why});
  core_.lost(member, now);
  const bool served = options_.core.method->plan.style() == MixStyle::kServer;
  if (!served || member != 0 || result_ != nullptr) return;
  failure_ = unavailable(fmt::format(
      "mix: member 0 ({}), which combines what the others return, is gone ({}) at version {} of "
      "{}, and no other takes its place; a method without a server, such as modest or dpsgd, "
      "bears that",
      options_.members[0].id.short_name(), why.message(), core_.version(), options_.core.versions));
}

void MixNode::leave() {
  for (const PeerAddress& member : options_.members) {
    if (!transport_.linked(member.id)) continue;
    static_cast<void>(transport_.send(member.id, Lane::kControl,
                                      {frame_type::kMixLeaving, MixLeavingMessage{}.encode(), {}}));
  }
}

std::optional<TimePoint> MixNode::next_deadline() const {
  std::optional<TimePoint> first = core_.next_deadline();
  for (const auto& [member, dial] : dials_) {
    if (dial.again) first = first ? std::min(*first, *dial.again) : *dial.again;
  }
  return first;
}

void MixNode::settle(TimePoint now) {
  for (auto& [member, each] : dials_) {
    if (!each.again || *each.again > now) continue;
    each.again.reset();
    dial(member);
  }
  core_.settle(now);
}

// --- What goes out.

void MixNode::act(TimePoint now) {
  for (MixCombined& made : core_.take_combined()) {
    if (has_common_model() && made.version == options_.core.versions) announce(made, now);
    combined_.push_back(std::move(made));
  }
  if (failure_.ok()) failure_ = core_.failure();
  for (const std::uint32_t member : core_.awaited()) {
    if (member != self()) want_link(member, now);
  }
  for (const MixSend& each : core_.take_sends()) post(each, now);
  if (!has_common_model() && core_.over() && result_ == nullptr) result_ = core_.model();
}

// Whoever makes the last version gives it to all.
void MixNode::announce(const MixCombined& last, TimePoint now) {
  if (result_ != nullptr) return;
  result_ = last.model;
  for (std::uint32_t i = 0; i < options_.core.members; ++i) {
    if (i != self()) post({i, MixGiven{last.version, 0, last.model}}, now);
  }
}

void MixNode::post(const MixSend& send, TimePoint now) {
  if (lost_.contains(send.to)) return;
  if (!mail_.post(options_.members[send.to].id, letter_of(send))) {
    return lose(
        send.to,
        unavailable(fmt::format("{} letters wait for it, the most that may", kMixLettersMax)), now);
  }
  want_link(send.to, now);
}

MixLetter MixNode::letter_of(const MixSend& send) {
  if (const auto* const given = std::get_if<MixGiven>(&send.what)) {
    return {MixGivenMessage{{}, given->version, given->steps}, given_bytes(*given)};
  }
  const auto& returned = std::get<MixReturned>(send.what);
  const MixLoss& loss = returned.loss;
  return {MixReturnedMessage{{},
                             returned.base,
                             returned.steps,
                             returned.seconds,
                             loss.loss,
                             loss.correct,
                             loss.samples,
                             loss.labels},
          sent_bytes(returned)};
}

// What the codec drops goes with the next delta. A delta that is on its way is as good as there:
// where its combiner is lost, so is the delta.
SharedBytes MixNode::sent_bytes(const MixReturned& returned) {
  const MixVector values = forged(returned.values);
  const MixLocal& local = options_.core.method->local;
  if (local.gives_numbers()) return SharedBytes(local.pack(*values));
  if (returned.history) return with_history(*values, *returned.history);
  if (!feedback_) return model_bytes(values);
  const std::uint64_t seed = returned.base << 20U | self();
  Bytes payload = feedback_->encode(*values, seed);
  feedback_->commit();
  return SharedBytes(std::move(payload));
}

// The same to all.
MixVector MixNode::forged(const MixVector& values) {
  if (!options_.forge) return values;
  if (forged_.first != values) forged_ = {values, options_.forge(values)};
  return forged_.second;
}

// --- What comes in.

Status MixNode::receive(const PeerId& from, const FrameView& frame, TimePoint now) {
  const auto member = numbers_.find(from);
  if (member == numbers_.end() || lost_.contains(member->second)) return {};
  Status taken = take_frame(member->second, frame, now);
  if (!taken.ok()) lose(member->second, taken, now);
  return taken;
}

Status MixNode::take_frame(std::uint32_t member, const FrameView& frame, TimePoint now) {
  const PeerId& from = options_.members[member].id;
  switch (frame.type) {
    case frame_type::kMixReceived:
      return mail_.received(from, frame.head);
    case frame_type::kMixLeaving:
      WEFT_TRY(MixLeavingMessage::decode(frame.head).status());
      lose(member, unavailable("it has left"), now);
      return {};
    case frame_type::kMixGiven:
    case frame_type::kMixReturned: {
      WEFT_TRY_ASSIGN(const std::optional<MixLetter> letter, mail_.piece(from, frame));
      return letter ? take(member, *letter, now) : Status();
    }
    default:
      return corrupt(
          fmt::format("mix: expected a frame of a method of loose exchange, got type "
                      "{:#x}",
                      frame.type));
  }
}

// Who may have made the last version. Where each version has a combiner of its own, that is any
// member, as another one may be lost without this one's knowledge.
bool MixNode::may_end(std::uint32_t from) const {
  const MixStyle style = options_.core.method->plan.style();
  return style == MixStyle::kSampled || (style == MixStyle::kServer && from == 0);
}

Status MixNode::take(std::uint32_t from, const MixLetter& letter, TimePoint now) {
  if (const auto* const given = std::get_if<MixGivenMessage>(&letter.message)) {
    return take_given(from, *given, letter.bytes.span(), now);
  }
  const auto& returned = std::get<MixReturnedMessage>(letter.message);
  MixReturned result = {returned.base,
                        returned.steps,
                        returned.seconds,
                        {returned.loss, returned.correct, returned.samples, returned.labels}};
  ByteSpan bytes = letter.bytes.span();
  if (options_.core.method->combine.tells_histories()) {
    const std::size_t model = core_.model()->size() * sizeof(float);
    const std::size_t told = std::min(bytes.size(), model);
    WEFT_TRY_ASSIGN(result.history, history_of(bytes.subspan(told), core_.model()->size()));
    bytes = bytes.first(told);
  }
  WEFT_TRY_ASSIGN(result.values, returned_values(bytes));
  core_.returned(from, std::move(result), now);
  return {};
}

Status MixNode::take_given(std::uint32_t from, const MixGivenMessage& given, ByteSpan bytes,
                           TimePoint now) {
  const std::size_t elements = core_.model()->size();
  const bool is_last = given.version == options_.core.versions;
  MixVector beside;
  if (!is_last && options_.core.method->local.takes_beside(given.version, self())) {
    const std::size_t half = std::min(bytes.size(), elements * sizeof(float));
    WEFT_TRY_ASSIGN(beside, floats_of(bytes.subspan(half), elements));
    bytes = bytes.first(half);
  }
  WEFT_TRY_ASSIGN(const MixVector model, floats_of(bytes, elements));
  if (!is_last) {
    core_.given(from, {given.version, given.steps, model, beside}, now);
  } else if (may_end(from) && result_ == nullptr) {
    result_ = model;
  }
  return {};
}

Result<MixVector> MixNode::returned_values(ByteSpan bytes) const {
  const MixLocal& local = options_.core.method->local;
  if (!options_.codec && !local.gives_numbers()) return floats_of(bytes, core_.returned_max());
  std::vector<float> values(core_.returned_max());
  if (options_.codec) {
    WEFT_TRY(options_.codec->decode(bytes, values));
  } else {
    WEFT_TRY_ASSIGN(values, local.unpack(bytes));
  }
  return MixVector(std::make_shared<const std::vector<float>>(std::move(values)));
}

void MixNode::worked(std::uint64_t id, MixVector model, const MixLoss& loss, TimePoint now) {
  core_.worked(id, std::move(model), loss, now);
}

}  // namespace weft
