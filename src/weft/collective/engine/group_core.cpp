#include "weft/collective/engine/group_core.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "weft/collective/engine/open_group_call.h"
#include "weft/collective/reduce/collective_form.h"

namespace weft {

// How many calls one member may be ahead of this one.
static constexpr std::size_t kEarlyFramesMax = 512;

GroupCore::GroupCore(GroupCoreOptions options, StateSink& sink)
    : options_(std::move(options)), sink_(sink) {}

GroupCore::~GroupCore() = default;

// --- Views.

void GroupCore::on_view(const View& view) {
  owner_.assert_here();
  leave_view();
  view_ = view;
  self_ = view.rank_of(options_.self);
  outboxes_ = std::vector<Outbox>(view.members.size());
  for (auto& [peer, messages] : early_) {
    std::erase_if(messages, [&](const Early& early) {
      const ViewId& named = early.ready.call.view;
      return named != view.id && named.number <= view.id.number;
    });
  }
}

void GroupCore::leave_view() {
  owner_.assert_here();
  std::vector<Key> keys;
  for (const auto& [key, call] : open_) keys.push_back(key);
  for (const Key& key : keys) end(key, aborted("the view has changed"));
  open_.clear();
  next_.clear();
  outboxes_.clear();
  view_ = {};
}

// --- Calls.

Status GroupCore::check_call(const GroupCall& call) const {
  if (open_.size() >= options_.calls_max) {
    return unavailable(fmt::format("group: {} calls are open already", open_.size()));
  }
  if (call.elements < 0) return invalid_argument("group: a negative number of elements");
  if (call.partner) {
    const int partner = call.partner->value();
    if (partner < 0 || partner >= view_.size() || Rank(partner) == self_) {
      return invalid_argument(fmt::format("group: there is no other member of rank {}", partner));
    }
  }
  if (call.root.value() < 0 || call.root.value() >= view_.size()) {
    return invalid_argument(fmt::format("group: there is no root of rank {}", call.root.value()));
  }
  if (!call.aggregator.is_mean()) {
    const bool sums =
        call.kind == CollectiveKind::kAllReduce || call.kind == CollectiveKind::kReduceScatter;
    if (call.partner || !sums) {
      return invalid_argument(
          fmt::format("group: {} combines what all send, as an all-reduce or a "
                      "reduce-scatter does; expected one of them",
                      call.aggregator.text()));
    }
    WEFT_TRY(call.aggregator.check(view_.size(), call.aggregate_round.liars));
  }
  std::int64_t wanted = call.elements;
  if (call.partner) {
    wanted = call.gives ? call.elements : 0;
  } else if (call.kind == CollectiveKind::kBroadcast && call.root != self_) {
    wanted = 0;
  } else if (call.kind == CollectiveKind::kAllGather) {
    wanted = call.elements / view_.size();
  }
  const bool parts = !call.partner && (call.kind == CollectiveKind::kAllGather ||
                                       call.kind == CollectiveKind::kReduceScatter);
  if (parts && call.elements % view_.size() != 0) {
    return invalid_argument(fmt::format("{}: {} elements cannot be split over {} members",
                                        to_string(call.kind), call.elements, view_.size()));
  }
  if (static_cast<std::int64_t>(call.input.size()) != wanted) {
    return invalid_argument(fmt::format("{}: expected an input of {} elements, got {}",
                                        to_string(call.kind), wanted, call.input.size()));
  }
  return {};
}

std::uint64_t GroupCore::begin(const ViewId& view, GroupCall call, TimePoint now) {
  owner_.assert_here();
  const std::uint64_t number = ++calls_;
  Status refused;
  if (view_.members.empty() || view != view_.id) refused = aborted("group: the view has changed");
  if (refused.ok()) refused = check_call(call);
  if (refused.ok() && call.deadline <= now) refused = timed_out("group: no time was given");
  if (!refused.ok()) {
    outcomes_.push_back({number, std::move(refused), nullptr});
    return number;
  }
  Row row{GroupScope::kAll, Rank(-1), call.channel};
  if (call.partner) {
    row.partner = *call.partner;
    row.scope = call.gives ? GroupScope::kGives : GroupScope::kTakes;
  }
  const Key key{row, next_[row]++};
  auto opened = std::make_shared<Open>(*this, number, key, call);
  CollectiveOptions options = options_.collective;
  options.link = profile_of(view_.links, options.link);
  options.id = {view_.id, Round(key.sequence)};
  options.kind = call.partner ? CollectiveKind::kBroadcast : call.kind;
  options.root = call.partner ? Rank(0) : call.root;
  options.algorithm = call.partner ? Algorithm::kRing : call.algorithm;
  options.precision = call.precision;
  options.aggregator = call.aggregator;
  options.aggregate_round = call.aggregate_round;
  options.start_open = false;
  if (call.partner) {
    opened->members = {call.gives ? self_ : *call.partner, call.gives ? *call.partner : self_};
  } else {
    for (int rank = 0; rank < view_.size(); ++rank) opened->members.push_back(Rank(rank));
  }
  options.size = static_cast<int>(opened->members.size());
  options.rank = opened->local(self_);
  opened->ready.resize(opened->members.size());
  opened->done.resize(opened->members.size());
  opened->form = form_of(options, choose_algorithm(options, call.elements));
  opened->core = make_collective(options, call.elements, *opened);
  open_[key] = opened;
  for (const Rank member : opened->members) {
    if (member != self_) send_ready(*opened, member);
  }
  const bool is_part = options.kind == CollectiveKind::kAllGather;
  const std::int64_t offset = is_part ? call.elements / options.size * options.rank.value() : 0;
  if (!call.input.empty()) opened->core->contribute(offset, call.input);
  take_early(*opened);
  settle(key);
  return number;
}

// Takes the messages of members that were ahead of this one.
void GroupCore::take_early(Open& call) {
  for (auto& [peer, messages] : early_) {
    const Rank rank = view_.rank_of(peer);
    if (rank.value() < 0) continue;
    const auto found = std::ranges::find_if(messages, [&](const Early& early) {
      return early.ready.call.view == view_.id && key_of(early.ready.call, rank) == call.key;
    });
    if (found == messages.end()) continue;
    const Early early = std::move(*found);
    messages.erase(found);
    if (early.done) call.done[static_cast<std::size_t>(call.local(rank).value())] = true;
    if (const Status taken = take_ready(call, rank, early.ready); !taken.ok()) {
      return end(call.key, taken);
    }
  }
}

std::vector<GroupOutcome> GroupCore::take_outcomes() {
  owner_.assert_here();
  return std::exchange(outcomes_, {});
}

void GroupCore::end(const Key& key, Status status) {
  const auto found = open_.find(key);
  if (found == open_.end()) return;
  const std::shared_ptr<Open> call = found->second;
  const bool failed = !status.ok();
  if (!std::exchange(call->ended, true)) {
    outcomes_.push_back({call->number, std::move(status), failed ? nullptr : call->core->result()});
  }
  if (failed) open_.erase(key);
}

// After anything that may have completed the call.
void GroupCore::settle(const Key& key) {
  const auto found = open_.find(key);
  if (found == open_.end()) return;
  const std::shared_ptr<Open> call = found->second;
  if (!call->ended && call->core->complete() && call->core->contributed()) {
    call->done[static_cast<std::size_t>(call->local(self_).value())] = true;
    for (const Rank member : call->members) {
      if (member != self_) send_done(key, member);
    }
    end(key, {});
  }
  if (call->ended && call->all_done()) open_.erase(key);
}

void GroupCore::on_timer(TimePoint now) {
  owner_.assert_here();
  std::vector<Key> late;
  for (const auto& [key, call] : open_) {
    if (!call->ended && call->deadline <= now) late.push_back(key);
  }
  for (const Key& key : late) {
    const Open& call = *open_.at(key);
    const Rank local = call.core->waits_for();
    const Rank member = call.members[static_cast<std::size_t>(local.value())];
    end(key,
        timed_out(member == self_ ? std::string("group: the call did not end in time")
                                  : fmt::format("group: the data of peer {} did not come in time",
                                                id_of(member).short_name())));
  }
}

TimePoint GroupCore::next_deadline() const {
  owner_.assert_here();
  TimePoint next = TimePoint::max();
  for (const auto& [key, call] : open_) {
    if (!call->ended) next = std::min(next, call->deadline);
  }
  return next;
}

// --- Names.

GroupCore::Key GroupCore::key_of(const GroupCallId& call, Rank from) const {
  Key key{{call.scope, Rank(-1), call.channel}, call.sequence};
  if (call.scope == GroupScope::kAll) return key;
  key.row.partner = from;
  key.row.scope = call.scope == GroupScope::kGives ? GroupScope::kTakes : GroupScope::kGives;
  return key;
}

GroupCallId GroupCore::name_of(const Key& key) const {
  return {view_.id, key.row.scope, key.row.channel, key.sequence};
}

bool GroupCore::closed(const Key& key) const {
  const auto row = next_.find(key.row);
  return row != next_.end() && key.sequence < row->second && !open_.contains(key);
}

// --- Sending.

void GroupCore::send_ready(const Open& call, Rank to) {
  GroupReadyMessage message;
  message.call = name_of(call.key);
  message.form = call.form;
  message.elements = static_cast<std::uint64_t>(call.core->elements());
  message.received = call.core->received_map(call.local(to));
  if (std::ranges::all_of(message.received, [](std::uint8_t has) { return has == 0; })) {
    message.received.clear();
  }
  sink_.send(id_of(to), Lane::kControl, {frame_type::kGroupReady, message.encode(), {}});
}

void GroupCore::send_done(const Key& key, Rank to) {
  const GroupDoneMessage message{name_of(key)};
  sink_.send(id_of(to), Lane::kControl, {frame_type::kGroupDone, message.encode(), {}});
}

void GroupCore::enqueue(Rank to, Priority priority, Frame frame) {
  const auto level = static_cast<std::size_t>(priority);
  Outbox& box = outbox(to);
  box.bytes[level] += frame.body.size();
  box.frames[level].push_back(std::move(frame));
  pump(to);
}

std::size_t GroupCore::queued(Rank to, Priority priority) const {
  const Outbox& box = outboxes_[static_cast<std::size_t>(to.value())];
  return box.bytes[static_cast<std::size_t>(priority)];
}

void GroupCore::pump(Rank to) {
  Outbox& box = outbox(to);
  for (std::size_t level = 0; level < kPriorities; ++level) {
    while (!box.frames[level].empty()) {
      if (sink_.queued_bytes(id_of(to)) >= options_.window_bytes) return;
      Frame frame = std::move(box.frames[level].front());
      box.frames[level].pop_front();
      box.bytes[level] -= frame.body.size();
      sink_.send(id_of(to), Lane::kBulk, std::move(frame));
    }
  }
}

void GroupCore::on_writable(const PeerId& peer) {
  owner_.assert_here();
  const Rank rank = view_.rank_of(peer);
  if (rank.value() < 0) return;
  pump(rank);
  // What the cores held back because their queue was long.
  std::vector<std::shared_ptr<Open>> calls;
  for (const auto& [key, call] : open_) {
    if (call->local(rank).value() >= 0) calls.push_back(call);
  }
  std::ranges::stable_sort(calls, {}, [](const auto& call) { return call->priority; });
  for (const auto& call : calls) call->core->on_writable(call->local(rank));
}

// --- Events.

void GroupCore::on_link_up(const PeerId& peer) {
  owner_.assert_here();
  const Rank rank = view_.rank_of(peer);
  if (rank.value() < 0 || rank == self_) return;
  for (const auto& [key, call] : open_) {
    if (call->local(rank).value() < 0) continue;
    send_ready(*call, rank);
    if (call->ended) send_done(key, rank);
  }
}

void GroupCore::on_link_down(const PeerId& peer) {
  owner_.assert_here();
  receiving_.erase(peer);
  early_.erase(peer);
  const Rank rank = view_.rank_of(peer);
  if (rank.value() < 0 || rank == self_) return;
  outbox(rank) = {};
  for (const auto& [key, call] : open_) {
    const Rank local = call->local(rank);
    if (local.value() < 0) continue;
    call->ready[static_cast<std::size_t>(local.value())] = false;
    call->core->on_link_down(local);
  }
}

MutableByteSpan GroupCore::body_destination(const PeerId& from, ByteSpan head_bytes,
                                            std::size_t body_bytes) {
  owner_.assert_here();
  const Rank rank = view_.rank_of(from);
  if (rank.value() < 0 || rank == self_) return {};
  const Result<GroupSegmentHead> head = GroupSegmentHead::decode(head_bytes);
  if (!head.ok() || head->segment.id.view != view_.id) return {};
  const auto found = open_.find(key_of(head->call(), rank));
  if (found == open_.end()) return {};
  const std::shared_ptr<Open>& call = found->second;
  const Rank local = call->local(rank);
  if (local.value() < 0) return {};
  const MutableByteSpan place = call->core->body_destination(
      local, head_bytes.subspan(GroupSegmentHead::kPrefixBytes), body_bytes);
  if (!place.empty()) receiving_[from] = call;
  return place;
}

Status GroupCore::on_frame(const PeerId& from, const FrameView& frame) {
  owner_.assert_here();
  const Rank rank = view_.rank_of(from);
  switch (frame.type) {
    case frame_type::kGroupSegment:
      if (rank.value() < 0 || rank == self_) return {};
      return on_segment(rank, frame);
    case frame_type::kGroupReady: {
      WEFT_TRY_ASSIGN(GroupReadyMessage message, GroupReadyMessage::decode(frame.head));
      // A member of the next view may send before that view is known here.
      if (message.call.view.number > view_.id.number) {
        keep_early(from, std::move(message));
        return {};
      }
      if (rank.value() < 0 || rank == self_ || message.call.view != view_.id) return {};
      return on_ready(rank, message);
    }
    case frame_type::kGroupDone: {
      WEFT_TRY_ASSIGN(const GroupDoneMessage message, GroupDoneMessage::decode(frame.head));
      if (rank.value() < 0 || rank == self_ || message.call.view != view_.id) return {};
      return on_done(rank, message);
    }
    default:
      return corrupt(fmt::format("group: unknown frame type {}", frame.type));
  }
}

Status GroupCore::on_segment(Rank from, const FrameView& frame) {
  const auto receiving = receiving_.extract(id_of(from));
  WEFT_TRY_ASSIGN(const GroupSegmentHead head, GroupSegmentHead::decode(frame.head));
  if (head.segment.id.view != view_.id) {
    if (head.segment.id.view.number < view_.id.number) return {};
    return corrupt("group: data of a view that is not here yet");
  }
  const Key key = key_of(head.call(), from);
  if (closed(key)) return {};
  const auto found = open_.find(key);
  if (found == open_.end()) {
    return corrupt(fmt::format("group: data of call {} that was not asked for", key.sequence));
  }
  const std::shared_ptr<Open> call = found->second;
  const FrameView inner{frame_type::kSegment, frame.head.subspan(GroupSegmentHead::kPrefixBytes),
                        frame.body};
  const Status status = call->core->on_frame(call->local(from), inner);
  if (status.code() == Code::kInvalidArgument) {
    end(key, status);
    return {};
  }
  WEFT_TRY(status);
  settle(key);
  return {};
}

void GroupCore::keep_early(const PeerId& from, GroupReadyMessage message) {
  // Nothing can have been sent from here for a call that is not begun here.
  if (!message.received.empty()) return;
  if (!early_.contains(from) && early_.size() >= kMembersMax) return;
  std::vector<Early>& kept = early_[from];
  if (kept.size() < kEarlyFramesMax) kept.push_back({std::move(message), false});
}

Status GroupCore::on_ready(Rank from, const GroupReadyMessage& message) {
  const Key key = key_of(message.call, from);
  if (closed(key)) {
    send_done(key, from);
    return {};
  }
  const auto found = open_.find(key);
  if (found == open_.end()) {
    if (early_.contains(id_of(from)) && early_[id_of(from)].size() >= kEarlyFramesMax) {
      return corrupt(fmt::format("group: more than {} calls ahead", kEarlyFramesMax));
    }
    keep_early(id_of(from), message);
    return {};
  }
  const std::shared_ptr<Open> call = found->second;
  const Status status = take_ready(*call, from, message);
  if (status.code() == Code::kInvalidArgument) {
    end(key, status);
    return {};
  }
  WEFT_TRY(status);
  settle(key);
  return {};
}

Status GroupCore::take_ready(Open& call, Rank from, const GroupReadyMessage& message) {
  const Rank local = call.local(from);
  SegmentHead said;
  said.id = {view_.id, Round(call.key.sequence)};
  said.form = message.form;
  said.elements = message.elements;
  WEFT_TRY(check_head(said, local, call.core->elements(), call.form));
  const auto place = static_cast<std::size_t>(local.value());
  if (call.ready[place]) return {};
  call.ready[place] = true;
  return call.core->resume(local, message.received);
}

Status GroupCore::on_done(Rank from, const GroupDoneMessage& message) {
  const Key key = key_of(message.call, from);
  const auto found = open_.find(key);
  if (found == open_.end()) {
    // The root of a broadcast is done at once.
    const auto kept = early_.find(id_of(from));
    if (kept == early_.end()) return {};
    for (Early& early : kept->second) early.done |= early.ready.call == message.call;
    return {};
  }
  Open& call = *found->second;
  if (!call.core->contributed() && kind_reduces(static_cast<CollectiveKind>(call.form & 7U))) {
    return corrupt("group: done with a call to which this member has not given its input");
  }
  call.done[static_cast<std::size_t>(call.local(from).value())] = true;
  settle(key);
  return {};
}

}  // namespace weft
