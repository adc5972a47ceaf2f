// GossipCore: parameters that come and go.
#include <algorithm>

#include <fmt/format.h>

#include "weft/base/check.h"
#include "weft/gossip/gossip_core.h"
#include "weft/wire/frame_type.h"

namespace weft {

void GossipCore::send_parameters(const PeerId& to, const GossipParametersHead& head) {
  GossipParametersHead piece = head;
  std::size_t begin = 0;
  for (; piece.piece < piece.pieces(); ++piece.piece) {
    const std::size_t bytes = piece.piece_bytes();
    send(to, Lane::kBulk, frame_type::kGossipParameters, piece.encode(),
         latest_.slice(begin, bytes));
    begin += bytes;
  }
}

Status GossipCore::on_parameters(const PeerId& from, Link& link, ByteSpan bytes, SharedBytes body,
                                 TimePoint now) {
  WEFT_TRY_ASSIGN(const GossipParametersHead head, GossipParametersHead::decode(bytes));
  if (head.elements != options_.elements) {
    return corrupt(fmt::format("gossip parameters: expected {} values, got {}", options_.elements,
                               head.elements));
  }
  if (head.round > options_.last_round) {
    return corrupt(fmt::format("gossip parameters: expected rounds up to {}, got {}",
                               options_.last_round.value(), head.round.value()));
  }
  if (head.newcomer) return take_newcomer_piece(from, head, std::move(body), now);
  if (head.round == Round() || head.degree == 0) {
    return corrupt("gossip parameters: expected a round and a degree above 0, got 0");
  }
  if (head.round > link.newest && inbox_.find(from, head.round) != nullptr) {
    link.passed_over = head.round;
  }
  link.newest = std::max(link.newest, head.round);
  if (head.topology) link.asked_for = std::max(link.asked_for, head.round);
  if (dials_.is_doubted(from)) {
    dials_.link_up(from);
    topology_due_ = true;
  }
  if (head.round >= round_) {
    link.missed = 0;
    link.waited_from = Round();
  }
  if (phase_ == GossipPhase::kGathering) start_if_gathered(now);

  const bool knows = sent_to_.contains(from);
  if (!knows && head.piece == 0 && head.round <= latest_round_) {
    send(from, Lane::kBulk, frame_type::kGossipAbsent, GossipAbsentMessage{latest_round_}.encode());
  }
  const bool of_open_round = phase_ == GossipPhase::kOpen && head.round == round_;
  const bool no_use = phase_ == GossipPhase::kOver || phase_ == GossipPhase::kFetching ||
                      head.round < round_ || head.round == link.passed_over ||
                      (of_open_round && !knows);
  if (no_use) return {};
  return inbox_.add(from, head, std::move(body)).status();
}

Status GossipCore::take_newcomer_piece(const PeerId& from, const GossipParametersHead& head,
                                       SharedBytes body, TimePoint now) {
  // Parameters that arrive after another member was asked are no fault of the sender.
  if (phase_ != GossipPhase::kFetching || from != asked_) return {};
  if (!fetched_ || fetched_->head().round != head.round) fetched_.emplace(head);
  WEFT_TRY(fetched_->add(head, std::move(body)));
  fetch_until_ = now + options_.fetch_timeout;
  if (!fetched_->complete()) return {};
  round_ = std::min(head.round.next(), options_.last_round);
  latest_round_ = head.round;
  if (head.round >= options_.last_round) {
    phase_ = GossipPhase::kOver;
    return {};
  }
  phase_ = head.gathering ? GossipPhase::kGathering : GossipPhase::kIdle;
  publish_standing(false, now);
  start_if_gathered(now);
  return {};
}

Status GossipCore::on_absent(const PeerId& from, Link& link, ByteSpan head, TimePoint now) {
  WEFT_TRY_ASSIGN(const GossipAbsentMessage message, GossipAbsentMessage::decode(head));
  if (message.round > options_.last_round) {
    return corrupt(fmt::format("gossip absent: expected rounds up to {}, got {}",
                               options_.last_round.value(), message.round.value()));
  }
  link.absent = std::max(link.absent, message.round);
  const bool fetching = phase_ == GossipPhase::kFetching && from == asked_;
  if (!fetching || message.round != Round()) return {};
  // The run has not begun: the parameters of its start are the recipe's.
  fetched_.reset();
  phase_ = GossipPhase::kGathering;
  publish_standing(false, now);
  start_if_gathered(now);
  return {};
}

Status GossipCore::on_request(const PeerId& from, ByteSpan head, TimePoint now) {
  WEFT_TRY(GossipParametersRequestMessage::decode(head).status());
  Link& link = links_.at(from);
  link.used = now;
  if (phase_ == GossipPhase::kFetching) return {};
  if (latest_.empty()) {
    send(from, Lane::kBulk, frame_type::kGossipAbsent, GossipAbsentMessage{Round()}.encode());
    return {};
  }
  // Once a round: a request costs its sender nothing.
  if (link.answered == latest_round_) return {};
  link.answered = latest_round_;
  send_parameters(from, {latest_round_, 0, false, true, options_.elements, 0,
                         phase_ == GossipPhase::kGathering});
  return {};
}

}  // namespace weft
