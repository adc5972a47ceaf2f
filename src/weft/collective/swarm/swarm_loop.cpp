// The loop thread's part of Swarm: commands, timers and what the transport reports.
#include <algorithm>
#include <utility>

#include "weft/collective/parts/event_box.h"
#include "weft/collective/swarm/swarm_driver.h"

namespace weft {

static constexpr std::size_t kEventsKeptMax = 4096;

void Swarm::Impl::run_commands() {
  const std::vector<Command> commands = box_.with([](Box& box) {
    box.posted = false;
    return std::exchange(box.commands, {});
  });
  for (const Command& command : commands) command();
  deliver();
}

void Swarm::Impl::deliver_early_sums() {
  if (!wanted_exchange_) return;
  const auto sums = core_->early_sums(*wanted_exchange_);
  if (!sums) return;
  std::pair found(*wanted_exchange_, std::vector<float>(sums->begin(), sums->end()));
  wanted_exchange_.reset();
  box_.with([&](Box& box) { box.early_sums = std::move(found); });
}

void Swarm::Impl::deliver() {
  deliver_early_sums();
  std::optional<RoundOutcome> outcome = core_->take_outcome();
  std::optional<Result<Turn>> turn = core_->take_turn();
  std::vector<SwarmEvent> events = core_->take_events();
  const bool left = core_->left();
  if (outcome || turn || !events.empty() || left) {
    box_.with([&](Box& box) {
      if (outcome) box.outcome = std::move(outcome);
      if (turn) box.turn = std::move(turn);
      for (SwarmEvent& event : events) {
        keep_event(box.events, std::move(event), kEventsKeptMax);
      }
      box.left = left;
    });
  }
  for (const GroupOutcome& group : core_->take_group_outcomes()) {
    const auto call = group_calls_.extract(group.call);
    if (!call.empty()) call.mapped()(group);
  }
  if (const auto order = core_->take_snapshot_order()) read_lent_state(*order);
  arm_timer();
}

void Swarm::Impl::read_lent_state(const Turn& order) {
  const bool lent = lent_state_.make_snapshot(order, [this](StateSnapshot made) {
    submit([this, made = std::move(made)]()
               WEFT_REQUIRES(loop_.thread()) { core_->publish_state(made); });
  });
  // The training thread has taken the state back, and the core does not know of that yet.
  if (!lent) core_->snapshot_missed();
}

void Swarm::Impl::arm_timer() {
  // A timer that fires too early costs less than setting it anew after each frame.
  const TimePoint due = core_->next_deadline();
  if (ended_ || due >= timer_at_) return;
  loop_.cancel(timer_);
  timer_at_ = due;
  timer_ = loop_.call_at(due, [this]() WEFT_REQUIRES(loop_.thread()) {
    timer_at_ = TimePoint::max();
    if (ended_) return;
    core_->on_timer();
    deliver();
  });
}

void Swarm::Impl::close_links() {
  ended_ = true;
  bool linked = false;
  for (const PeerId& peer : core_->partners()) {
    if (!transport_->linked(peer)) continue;
    linked = true;
    transport_->close(peer, unavailable("the peer has left"));
  }
  if (!linked) box_.with([](Box& box) { box.closed = true; });
}

void Swarm::Impl::on_link_up(const LinkInfo& link) {
  loop_.thread().assert_here();
  if (ended_) return;
  core_->on_link_up(link);
  deliver();
}

void Swarm::Impl::on_link_down(const PeerId& peer, const Status& why) {
  loop_.thread().assert_here();
  if (ended_) {
    const bool linked = std::ranges::any_of(
        core_->partners(), [&](const PeerId& other)
                               WEFT_REQUIRES(loop_.thread()) { return transport_->linked(other); });
    if (!linked) box_.with([](Box& box) { box.closed = true; });
    return;
  }
  core_->on_link_down(peer, why);
  deliver();
}

void Swarm::Impl::on_frame(const PeerId& from, Lane lane, const FrameView& frame) {
  loop_.thread().assert_here();
  if (ended_) return;
  core_->on_frame(from, lane, frame);
  deliver();
}

void Swarm::Impl::on_writable(const PeerId& peer, Lane lane) {
  loop_.thread().assert_here();
  if (!ended_) core_->on_writable(peer, lane);
}

void Swarm::Impl::on_refused(const std::string& remote_endpoint, const Status& why) {
  loop_.thread().assert_here();
  if (ended_) return;
  core_->on_refused(remote_endpoint, why);
  deliver();
}

void Swarm::Impl::on_twin(const PeerId& peer, const std::string& remote_endpoint) {
  loop_.thread().assert_here();
  if (ended_) return;
  core_->on_twin(peer, remote_endpoint);
  deliver();
}

MutableByteSpan Swarm::Impl::body_destination(const PeerId& from, std::uint8_t type, ByteSpan head,
                                              std::size_t body_bytes) {
  loop_.thread().assert_here();
  if (ended_) return {};
  return core_->body_destination(from, type, head, body_bytes);
}

}  // namespace weft
