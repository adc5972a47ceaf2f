#include "weft/sim/membership/toy_rounds.h"

#include <algorithm>

#include "weft/sim/membership/mixed_numbers.h"

namespace weft {
namespace {

constexpr std::uint8_t kToken = 0x30;
constexpr std::uint8_t kDone = 0x31;
constexpr std::uint8_t kFetch = 0x32;
constexpr std::uint8_t kState = 0x33;
constexpr std::uint8_t kFetchOffer = 0x34;
constexpr std::uint8_t kOffer = 0x35;
constexpr Duration kAskAgain = std::chrono::milliseconds(300);

}  // namespace

Bytes ToyState::encode() const {
  Writer out;
  out.u64(number).u64(samples).raw(branch).u32(static_cast<std::uint32_t>(absorbed.size()));
  for (const AbsorbedBranch& one : absorbed) out.raw(one.branch).u64(one.until);
  out.u32(static_cast<std::uint32_t>(learned.size()));
  for (const auto& [where, round] : learned) out.raw(where).u64(round);
  return out.take();
}

ToyState ToyState::decode(Reader& in) {
  ToyState state;
  state.number = in.u64("number");
  state.samples = in.u64("samples");
  state.branch = in.raw<32>("branch of the state");
  for (std::uint32_t i = in.count("absorbed", 1000); i > 0 && !in.failed(); --i) {
    const Hash256 one = in.raw<32>("branch");
    state.absorbed.push_back({one, in.u64("until")});
  }
  for (std::uint32_t i = in.count("learned", 1000); i > 0 && !in.failed(); --i) {
    const Hash256 where = in.raw<32>("branch");
    state.learned.emplace(where, in.u64("round"));
  }
  return state;
}

ToyRounds::ToyRounds(const PeerId& self, Duration interval, Outlet outlet, Rng rng)
    : self_(self), interval_(interval), outlet_(std::move(outlet)), rng_(rng) {}

RoundStatus ToyRounds::status() const { return {result_ ? applied_.next() : applied_, {}}; }

void ToyRounds::on_view(const View& view, bool caught_up, TimePoint now) {
  // A result of the view before counts if the new view's base covers it. After views that were
  // missed it may have been run again without this member.
  if (result_ && !caught_up && applied_ < view.base_round) commit(applied_.next(), *result_, now);
  result_.reset();
  told_ = false;
  held_.reset();
  sent_.reset();
  done_.clear();
  for (const Member& member : view.members) {
    if (member.id != self_) done_.emplace(member.id, Round());
  }
  done_count_ = 0;
  hops_seen_ = 0;
  // A member's branch is where its views lead; a joiner's state may be another branch's.
  if (rank_ >= 0) state_.branch = view.lineage.branch();
  view_ = view;
  rank_ = view.rank_of(self_).value();
  frozen_ = false;
  wanted_.reset();
  ask_at_ = begin_at_ = TimePoint::max();
  if (early_ && early_->first == view.id) held_ = early_->second;
  offer_.reset();
  // Whoever was in the view before, with the state of the base round, does the merge itself.
  if (view.merge && !caught_up && applied_ == view.base_round) {
    const auto other = offers_.find(view.merge->snapshot);
    if (other != offers_.end()) merge(other->second);
  }
  if (applied_ < view.base_round || !is_state_of(view.lineage)) {
    fetch(view, view.base_round, now);
  } else {
    begin_round(now);
  }
}

void ToyRounds::begin_round(TimePoint now) {
  if (view_.yields_to) {
    offer_ = state_.hash();
    offers_.insert_or_assign(*offer_, state_);
    return;
  }
  if (rank_ == 0) begin_at_ = now + from_seconds(to_seconds(interval_) * (0.5 + rng_.uniform()));
  if (!held_) return;
  const Token token = *held_;
  held_.reset();
  on_token(token, now);
}

void ToyRounds::on_link_up(const PeerId& peer, TimePoint /*now*/) {
  if (rank_ < 0 || frozen_ || !view_.contains(peer)) return;
  if (sent_ && at(rank_ + 1) == peer) outlet_.send(peer, kToken, encode(*sent_));
  if (result_ || applied_ > view_.base_round) say_done(peer);
}

// --- Rounds.

Bytes ToyRounds::encode(const Token& token) const {
  return Writer().view(view_.id).round(token.round).u32(token.hops).u64(token.number).take();
}

void ToyRounds::on_token(Token token, TimePoint now) {
  // Whoever starts a round has committed the one before.
  if (result_ && token.round > applied_.next()) commit(applied_.next(), *result_, now);
  if (view_.yields_to) return;
  if (token.round != applied_.next() || fetching()) {
    if (token.round > applied_) held_ = token;
    return;
  }
  const auto n = static_cast<std::uint32_t>(view_.size());
  const bool mine = token.hops % n == static_cast<std::uint32_t>(rank_);
  if (!mine || token.hops < hops_seen_) return;
  take(token, now);
}

// This member's turn with the token, once a lap.
void ToyRounds::take(const Token& token, TimePoint now) {
  const auto n = static_cast<std::uint32_t>(view_.size());
  Token next = token;
  hops_seen_ = ++next.hops;
  if (token.hops < n) {
    next.number =
        mixed_number(next.number, mixed_number(number_of_hash(self_.bytes), state_.number));
    if (next.hops < n) return pass(next, now);
    next.number = mixed_number(next.number, number_of_hash(view_.id.hash));
  }
  const bool last_lap = token.hops >= n;
  if (last_lap || n == 1) be_done(token.round, next.number, now);
  if (n > 1 && next.hops < 2 * n) pass(next, now);
}

void ToyRounds::pass(Token token, TimePoint /*now*/) {
  sent_ = token;
  outlet_.send(at(rank_ + 1), kToken, encode(token));
}

void ToyRounds::be_done(Round round, std::uint64_t result, TimePoint now) {
  if (round != applied_.next() || result_) return;
  result_ = result;
  if (frozen_) return;
  told_ = true;
  for (const Member& member : view_.members) {
    if (member.id != self_) say_done(member.id);
  }
  commit_if_all(now);
}

void ToyRounds::say_done(const PeerId& to) {
  outlet_.send(to, kDone, Writer().view(view_.id).round(status().done).take());
}

void ToyRounds::count_done() {
  done_count_ = 0;
  for (const auto& [peer, round] : done_) done_count_ += round > applied_ ? 1 : 0;
}

void ToyRounds::commit_if_all(TimePoint now) {
  if (!result_ || !told_ || done_count_ < view_.size() - 1) return;
  commit(applied_.next(), *result_, now);
}

void ToyRounds::commit(Round round, std::uint64_t result, TimePoint now) {
  applied_ = round;
  state_.number = mixed_number(state_.number, result);
  ++state_.samples;
  state_.learned[view_.lineage.branch()] = round.value();
  result_.reset();
  told_ = false;
  hops_seen_ = 0;
  count_done();
  outlet_.committed(applied_, state_);
  if (rank_ >= 0 && !frozen_) begin_round(now);
}

// --- Catching up.

void ToyRounds::fetch(const View& members, Round at_least, TimePoint now) {
  sources_ = members;
  wanted_ = at_least;
  if (state_.branch != members.lineage.branch()) {
    applied_ = Round();
    state_ = ToyState();
    state_.branch = members.lineage.branch();
  }
  ask(now);
}

void ToyRounds::ask(TimePoint now) {
  ask_at_ = now + kAskAgain;
  for (int i = 0; i < 3; ++i) {
    const PeerId& source = sources_.members[rng_.below(sources_.members.size())].id;
    if (source != self_) outlet_.send(source, kFetch, Writer().round(*wanted_).take());
  }
}

void ToyRounds::adopt(Round round, const ToyState& state, TimePoint now) {
  if (!wanted_ || round < *wanted_ || state.branch != sources_.lineage.branch() ||
      state.absorbed != sources_.lineage.absorbed) {
    return;
  }
  // Within a view nothing beyond its own commits may be taken over: a round is applied once.
  wanted_.reset();
  ask_at_ = TimePoint::max();
  if (round > applied_ || state.absorbed != state_.absorbed) {
    applied_ = round;
    state_ = state;
    result_.reset();
    told_ = false;
    hops_seen_ = 0;
    count_done();
    outlet_.committed(applied_, state_);
  }
  if (rank_ >= 0 && !frozen_) begin_round(now);
}

void ToyRounds::forget() {
  applied_ = Round();
  state_ = ToyState();
  result_.reset();
  wanted_.reset();
  told_ = false;
  rank_ = -1;
  view_ = View();
  begin_at_ = ask_at_ = TimePoint::max();
}

// --- Branches.

// Averages, so to say: every sample of either counts once.
void ToyRounds::merge(const ToyState& other) {
  state_.number = mixed_number(mixed_number(state_.number, other.number), view_.merge->samples);
  state_.samples += view_.merge->samples;
  state_.absorbed = view_.lineage.absorbed;
  for (const auto& [branch, round] : other.learned) {
    std::uint64_t& known = state_.learned[branch];
    known = std::max(known, round);
  }
  outlet_.committed(applied_, state_);
}

std::optional<Hash256> ToyRounds::take_offer() {
  std::optional<Hash256> offer;
  offer.swap(offer_);
  return offer;
}

std::optional<Hash256> ToyRounds::take_fetched() {
  if (fetched_.empty()) return std::nullopt;
  const Hash256 hash = fetched_.back();
  fetched_.pop_back();
  return hash;
}

void ToyRounds::fetch_offer(const View& members, const Hash256& snapshot, TimePoint now) {
  if (offers_.count(snapshot) != 0) {
    fetched_.push_back(snapshot);
    return;
  }
  wanted_offers_.insert_or_assign(snapshot, members);
  ask_offers(now);
}

void ToyRounds::ask_offers(TimePoint now) {
  ask_offers_at_ = now + kAskAgain;
  for (const auto& [hash, members] : wanted_offers_) {
    for (const Member& member : members.members) {
      outlet_.send(member.id, kFetchOffer, Writer().raw(hash).take());
    }
  }
}

// --- Events.

void ToyRounds::on_fetch(const PeerId& from, Reader& in) {
  const Round wanted = in.round("round");
  if (!in.finish().ok() || applied_ < wanted || fetching()) return;
  outlet_.send(from, kState, Writer().round(applied_).raw(state_.encode()).take());
}

void ToyRounds::on_state(Reader& in, TimePoint now) {
  const Round round = in.round("round");
  const ToyState state = ToyState::decode(in);
  if (in.finish().ok()) adopt(round, state, now);
}

void ToyRounds::on_done(const PeerId& from, Reader& in, TimePoint now) {
  const ViewId view = in.view("view");
  const Round round = in.round("round");
  if (!in.finish().ok() || rank_ < 0 || view != view_.id) return;
  const auto known = done_.find(from);
  if (known == done_.end() || round <= known->second) return;
  if (known->second <= applied_ && round > applied_) ++done_count_;
  known->second = round;
  commit_if_all(now);
}

void ToyRounds::on_frame(const PeerId& from, const FrameView& frame, TimePoint now) {
  Reader in("toy", frame.head);
  if (frame.type == kFetch) {
    on_fetch(from, in);
  } else if (frame.type == kState) {
    on_state(in, now);
  } else if (frame.type == kDone) {
    on_done(from, in, now);
  } else if (frame.type == kFetchOffer) {
    const Hash256 hash = in.raw<32>("hash");
    const auto known = offers_.find(hash);
    if (known != offers_.end()) outlet_.send(from, kOffer, known->second.encode());
  } else if (frame.type == kOffer) {
    const ToyState state = ToyState::decode(in);
    if (!in.finish().ok() || wanted_offers_.erase(state.hash()) == 0) return;
    offers_.insert_or_assign(state.hash(), state);
    fetched_.push_back(state.hash());
  } else if (frame.type == kToken) {
    const ViewId view = in.view("view");
    Token token;
    token.round = in.round("round");
    token.hops = in.u32("hops");
    token.number = in.u64("number");
    if (!in.finish().ok()) return;
    if (rank_ >= 0 && view == view_.id) {
      on_token(token, now);
    } else if (view.number > view_.id.number) {
      early_ = {view, token};
    }
  }
}

void ToyRounds::on_timer(TimePoint now) {
  if (now >= ask_at_) ask(now);
  if (now >= ask_offers_at_) {
    if (wanted_offers_.empty()) {
      ask_offers_at_ = TimePoint::max();
    } else {
      ask_offers(now);
    }
  }
  if (now < begin_at_) return;
  begin_at_ = TimePoint::max();
  if (rank_ != 0 || frozen_ || fetching() || result_) return;
  on_token(Token{applied_.next(), 0, 0}, now);
}

TimePoint ToyRounds::next_deadline() const {
  return std::min({begin_at_, ask_at_, ask_offers_at_});
}

}  // namespace weft
