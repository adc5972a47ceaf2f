#include "attacker.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "weft/base/time.h"
#include "weft/train/recipe/recipe.h"
#include "weft/train/run/trainer.h"
#include "weft/wire/collective_message.h"
#include "weft/wire/frame_type.h"
#include "weft/wire/join_message.h"
#include "weft/wire/value_difference.h"

namespace weft::hostile {
namespace {

using std::chrono::milliseconds;

constexpr Duration kLinkLimit = std::chrono::seconds(3);
constexpr Duration kWriteLimit = milliseconds(300);
// How long answers are waited for; a member of the same machine needs a millisecond.
constexpr Duration kAnswerLimit = milliseconds(15);
constexpr Duration kProofLimit = std::chrono::seconds(2);
// A joiner that was thrown out so often comes with another key.
constexpr int kLoginsMax = 4;

bool is_reach_type(std::uint8_t type) {
  return type >= frame_type::kIntroduce && type <= frame_type::kLastReachType;
}

void add_answers(const RawLink& link, const std::map<std::uint8_t, std::size_t>& before,
                 Outcome& outcome) {
  for (const auto& [type, count] : link.counts()) {
    const auto earlier = before.find(type);
    const std::size_t fresh = count - (earlier == before.end() ? 0 : earlier->second);
    if (fresh > 0 && type != frame_type::kGoodbye) outcome.answers[type] += fresh;
  }
}

}  // namespace

std::optional<Role> parse_role(std::string_view name) {
  constexpr std::array<std::string_view, 6> kNames = {"stranger", "revoked", "former",
                                                      "banned",   "joiner",  "member"};
  const auto* const found = std::find(kNames.begin(), kNames.end(), name);
  if (found == kNames.end()) return std::nullopt;
  return static_cast<Role>(std::distance(kNames.begin(), found));
}

std::string Attacker::draw_source(Rng& rng) const {
  if (targets_.empty() || targets_[0].endpoint.rfind("127.", 0) != 0) return "";
  return fmt::format("127.{}.{}.{}", 1 + rng.below(200), rng.below(250), 1 + rng.below(250));
}

Status Attacker::take_key(Role role, const std::string& path) {
  WEFT_TRY_ASSIGN(PeerIdentity identity, PeerIdentity::load_or_create(path));
  keys_.insert_or_assign(role, std::move(identity));
  if (role == Role::kMember) member_links_.clear();
  return {};
}

Result<std::unique_ptr<RawLink>> Attacker::open_link(const PeerIdentity& self, std::size_t target,
                                                     Rng& rng) {
  return RawLink::open(self, targets_[target], draw_source(rng), kLinkLimit);
}

// --- What is known.

void Attacker::learn_view(const ViewNoticeMessage& notice) {
  Facts& now = knowledge_.now;
  // Only members are heard here; what others say of views is of no interest.
  if (notice.view.number < now.current.view.number) return;
  now.current = notice;
  if (notice.key) now.invitation_key = notice.key->key;
}

void Attacker::absorb(const HeardFrame& frame) {
  Facts& now = knowledge_.now;
  knowledge_.recording.add(frame.type, frame.head, frame.body);
  if (frame.type == frame_type::kViewNotice) {
    if (auto notice = ViewNoticeMessage::decode(frame.head); notice.ok()) {
      if (notice->difference) {
        if (now.current.view != notice->previous) return;
        auto value = apply_difference(*notice->difference, now.current.value.members,
                                      now.current.value.lineage);
        if (!value.ok()) return;
        notice->value = std::move(value).value();
        notice->difference.reset();
      }
      learn_view(*notice);
    }
  } else if (frame.type == frame_type::kJoinAccepted) {
    if (const auto accepted = JoinAcceptedMessage::decode(frame.head); accepted.ok()) {
      learn_view(accepted->current);
    }
  } else if (frame.type == frame_type::kHeartbeat) {
    const auto heartbeat = HeartbeatMessage::decode(frame.head);
    if (heartbeat.ok() && now.current.view.number <= heartbeat->view.number) {
      now.current.view = heartbeat->view;
      now.round = std::max(now.round, heartbeat->done);
    }
  } else if (frame.type == frame_type::kDone) {
    if (const auto done = DoneMessage::decode(frame.head); done.ok()) {
      now.round = std::max(now.round, done->id.round);
      now.result_hash = done->result_hash;
    }
  } else if (frame.type == frame_type::kReady) {
    if (const auto ready = ReadyMessage::decode(frame.head); ready.ok()) {
      now.elements = ready->exchanges.front().elements;
      now.team = ready->exchanges.front().team;
    }
  } else if (frame.type == frame_type::kStateOffer) {
    const auto offer = StateOfferMessage::decode(frame.head);
    if (offer.ok() && offer->snapshot) now.snapshot = *offer->snapshot;
  }
}

void Attacker::absorb(RawLink& link) {
  for (const HeardFrame& frame : link.take_heard()) absorb(frame);
}

Status Attacker::prove(RawLink& link, const Ticket& ticket) {
  Facts facts = knowledge_.now;
  facts.ticket = ticket;
  facts.self = link.self();
  facts.peer = link.peer();
  facts.exporter = link.exporter();
  facts.incarnation = unix_time_us();
  knowledge_.now.incarnation = facts.incarnation;
  const auto found = std::find_if(kinds_.begin(), kinds_.end(), [](const FrameKind& kind) {
    return kind.type == frame_type::kJoinRequest;
  });
  Rng rng(seed_);
  const Bytes head = found->head(facts, rng);
  knowledge_.recording.add(frame_type::kJoinRequest, head, {});
  return link.write(Lane::kControl, framed(frame_type::kJoinRequest, head), kWriteLimit);
}

Status Attacker::learn() {
  Facts& now = knowledge_.now;
  Rng rng(seed_, 1);
  const PeerIdentity self = PeerIdentity::generate();
  WEFT_TRY_ASSIGN(const auto link, open_link(self, 0, rng));
  now.self = self.id();
  now.peer = link->peer();
  now.exporter = link->exporter();
  now.ticket = good_;
  const auto ask = [&](std::uint8_t type, std::uint8_t answer) -> Status {
    const auto kind = std::find_if(kinds_.begin(), kinds_.end(),
                                   [&](const FrameKind& one) { return one.type == type; });
    WEFT_TRY(link->write(Lane::kControl, framed(type, kind->head(now, rng)), kWriteLimit));
    link->hear(kProofLimit, answer, 1);
    if (link->counts().count(answer) == 0) {
      return unavailable(fmt::format("{}: no answer; {}", kind->name, link->farewell()));
    }
    return {};
  };
  WEFT_TRY(ask(frame_type::kRecipeRequest, frame_type::kRecipe));
  for (const HeardFrame& frame : link->take_heard()) {
    if (frame.type != frame_type::kRecipe) continue;
    WEFT_TRY_ASSIGN(const RecipeMessage message, RecipeMessage::decode(frame.head));
    now.recipe = message.text;
    WEFT_TRY_ASSIGN(const Recipe recipe, parse_recipe(message.text, "recipe of the run"));
    const SystemClock clock;
    WEFT_TRY_ASSIGN(const auto trainer, Trainer::make(recipe, DataPlaces{}, clock));
    now.layout_hash = trainer->layout().hash();
    absorb(frame);
  }
  WEFT_TRY(prove(*link, good_));
  link->hear(kProofLimit, frame_type::kJoinAccepted, 1);
  absorb(*link);
  if (now.current.value.members.empty()) {
    return unavailable("the good ticket is not taken; " + link->farewell());
  }
  WEFT_TRY(ask(frame_type::kStateQuery, frame_type::kStateOffer));
  absorb(*link);
  if (now.snapshot.bytes > 0) {
    static_cast<void>(ask(frame_type::kBlockRequest, frame_type::kBlock));
    static_cast<void>(ask(frame_type::kResultRequest, frame_type::kResult));
  }
  link->hear(milliseconds(300));
  absorb(*link);
  if (knowledge_.first.recipe.empty()) knowledge_.first = now;
  return {};
}

// --- Links that last.

void Attacker::send_heartbeat(RawLink& link) {
  HeartbeatMessage message;
  message.view = knowledge_.now.current.view;
  message.incarnation = knowledge_.now.incarnation;
  message.done = knowledge_.now.round;
  static_cast<void>(
      link.write(Lane::kControl, framed(frame_type::kHeartbeat, message.encode()), kWriteLimit));
}

void Attacker::keep_alive() {
  const auto tend = [&](RawLink& link) {
    link.hear(Duration::zero());
    absorb(link);
    if (!link.ended()) send_heartbeat(link);
  };
  if (joiner_ != nullptr) tend(*joiner_);
  for (const auto& link : member_links_) {
    if (link != nullptr) tend(*link);
  }
}

void Attacker::rest() {
  joiner_.reset();
  member_links_.clear();
}

Result<RawLink*> Attacker::joiner_link(Rng& rng) {
  if (joiner_ != nullptr) {
    joiner_->hear(Duration::zero());
    if (!joiner_->ended()) return joiner_.get();
  }
  joiner_.reset();
  if (!joiner_key_ || joiner_logins_ >= kLoginsMax) {
    joiner_key_ = PeerIdentity::generate();
    joiner_logins_ = 0;
  }
  ++joiner_logins_;
  Result<std::unique_ptr<RawLink>> link = open_link(*joiner_key_, rng.below(targets_.size()), rng);
  if (link.ok()) {
    WEFT_TRY(prove(**link, good_));
    (*link)->hear(kProofLimit, frame_type::kJoinAccepted, 1);
    absorb(**link);
    if ((*link)->counts().count(frame_type::kJoinAccepted) != 0) {
      joiner_ = std::move(link).value();
      return joiner_.get();
    }
    link = unavailable("not let in: " + (*link)->farewell());
  }
  joiner_key_.reset();
  return link.status();
}

Result<RawLink*> Attacker::member_link(Rng& rng) {
  const auto key = keys_.find(Role::kMember);
  if (key == keys_.end()) return invalid_argument("no key of a member");
  for (const Member& member : knowledge_.now.current.value.members) {
    if (member.id == key->second.id()) knowledge_.now.incarnation = member.incarnation;
  }
  member_links_.resize(targets_.size());
  for (std::size_t i = 0; i < targets_.size(); ++i) {
    if (member_links_[i] != nullptr && !member_links_[i]->ended()) continue;
    member_links_[i].reset();
    Result<std::unique_ptr<RawLink>> link = open_link(key->second, i, rng);
    // One may have had enough of this member already; the others may not.
    if (!link.ok()) continue;
    (*link)->hear(milliseconds(20), frame_type::kHeartbeat, 1);
    member_links_[i] = std::move(link).value();
  }
  keep_alive();
  RawLink* const chosen = member_links_[rng.below(targets_.size())].get();
  if (chosen == nullptr || chosen->ended()) return unavailable("the chosen member takes no link");
  return chosen;
}

Result<RawLink*> Attacker::link_for(Role role, std::unique_ptr<RawLink>& own, Rng& rng) {
  if (role == Role::kJoiner) return joiner_link(rng);
  if (role == Role::kMember) return member_link(rng);
  const auto key = keys_.find(role);
  if (key == keys_.end() && (role == Role::kFormer || role == Role::kBanned)) {
    return invalid_argument("no key for this role");
  }
  const PeerIdentity self = key == keys_.end() ? PeerIdentity::generate() : key->second;
  WEFT_TRY_ASSIGN(own, open_link(self, rng.below(targets_.size()), rng));
  if (role == Role::kRevoked) {
    WEFT_TRY(prove(*own, revoked_));
    own->hear(kAnswerLimit, frame_type::kJoinRefused, 1);
  }
  return own.get();
}

// --- Tries.

Ticket Attacker::ticket_for(Role role, Rng& rng) const {
  if (role == Role::kJoiner || role == Role::kMember || role == Role::kBanned) return good_;
  if (role != Role::kStranger) return revoked_;
  Ticket made_up = good_;
  made_up.secret = random_array<Hash256>(rng);
  return made_up;
}

void Attacker::prepare_facts(const RawLink& link, const Try& what, const RawLink* companion,
                             Rng& rng) {
  Facts& now = knowledge_.now;
  now.ticket = ticket_for(what.role, rng);
  now.spares_others = what.role == Role::kMember;
  now.self = link.self();
  now.peer = link.peer();
  now.exporter = link.exporter();
  const std::vector<Member>& members = now.current.value.members;
  if (companion != nullptr && is_reach_type(what.kind.type)) {
    now.other = companion->self();
  } else if (!members.empty() && rng.chance(0.8)) {
    now.other = members[rng.below(members.size())].id;
  } else {
    now.other = PeerId{random_array<Hash256>(rng)};
  }
}

const RawTarget& Attacker::target_of(const RawLink& link) const {
  return *std::find_if(targets_.begin(), targets_.end(),
                       [&](const RawTarget& one) { return one.peer == link.peer(); });
}

Outcome Attacker::attempt_early(const Try& what, Stage stage, Rng& rng) {
  Outcome outcome;
  outcome.stage = stage;
  const RawTarget& target = targets_[rng.below(targets_.size())];
  const PeerIdentity self = PeerIdentity::generate();
  knowledge_.now.spares_others = false;
  knowledge_.now.self = self.id();
  knowledge_.now.peer = target.peer;
  knowledge_.now.ticket = ticket_for(what.role, rng);
  const std::vector<Shot> shots = make_shots(what.kind, what.content, knowledge_, rng);
  outcome.frames_sent = shots.size();
  const SystemClock clock;
  const TimePoint deadline = clock.now() + kWriteLimit;
  const auto context = TlsContext::make(self);
  RawLane lane;
  Status status;
  if (stage == Stage::kHandshake) {
    status = lane.open(**context, target.endpoint, draw_source(rng), clock.now() + kLinkLimit);
    outcome.begun = status.ok();
    for (const Shot& shot : shots) {
      if (status.ok()) status = lane.write(shot.bytes, deadline);
    }
  } else {
    status = lane.open_plain(target.endpoint, draw_source(rng), clock.now() + kLinkLimit);
    outcome.begun = status.ok();
    if (status.ok() && rng.chance(0.3)) {
      // A preface, as to a relay, before what follows.
      Bytes preface(40);
      constexpr std::string_view kMark = "WEFTRLY1";
      std::copy(kMark.begin(), kMark.end(), preface.begin());
      status = lane.write(preface, deadline);
    }
    for (const Shot& shot : shots) {
      if (status.ok()) status = lane.write(shot.bytes, deadline);
    }
  }
  outcome.ended = lane.ended();
  outcome.error = status.ok() ? "" : status.message();
  return outcome;
}

Outcome Attacker::attempt_on_link(const Try& what, Rng& rng) {
  Outcome outcome;
  std::unique_ptr<RawLink> own;
  const Result<RawLink*> found = link_for(what.role, own, rng);
  if (!found.ok()) {
    outcome.error = found.status().message();
    return outcome;
  }
  RawLink& link = **found;
  outcome.begun = true;
  // A second peer of this attacker's with a link to the same member: the two could be brought
  // together.
  std::unique_ptr<RawLink> companion;
  if (is_reach_type(what.kind.type) && rng.chance(0.5)) {
    const auto target = std::find_if(targets_.begin(), targets_.end(),
                                     [&](const RawTarget& one) { return one.peer == link.peer(); });
    const auto at = static_cast<std::size_t>(std::distance(targets_.begin(), target));
    Result<std::unique_ptr<RawLink>> opened = open_link(PeerIdentity::generate(), at, rng);
    if (opened.ok()) companion = std::move(opened).value();
  }
  prepare_facts(link, what, companion.get(), rng);
  link.hear(Duration::zero());
  absorb(link);
  const std::map<std::uint8_t, std::size_t> before = link.counts();
  const std::size_t bytes_before = link.bytes_heard();
  Status status;
  for (const Shot& shot : make_shots(what.kind, what.content, knowledge_, rng)) {
    if (!status.ok()) break;
    status = link.write(shot.lane, shot.bytes, kWriteLimit);
    ++outcome.frames_sent;
  }
  if (!status.ok()) outcome.error = status.message();
  if (what.kind.type == frame_type::kConnections && what.role != Role::kMember) {
    for (std::uint8_t number = 2; number <= kBulkConnectionsMax; ++number) {
      outcome.widened += link.widen(number, target_of(link), draw_source(rng), kWriteLimit);
    }
  }
  link.hear(kAnswerLimit);
  absorb(link);
  add_answers(link, before, outcome);
  if (companion != nullptr) {
    companion->hear(milliseconds(1));
    add_answers(*companion, {}, outcome);
  }
  outcome.bytes_heard = link.bytes_heard() - bytes_before;
  outcome.ended = link.ended();
  outcome.farewell = link.farewell();
  // A frame that was cut short would take the next one's bytes.
  const bool cut = what.content == Content::kTruncated || what.content == Content::kHuge;
  if (what.role == Role::kJoiner && cut) joiner_.reset();
  if (what.role == Role::kMember && cut) {
    for (auto& one : member_links_) {
      if (one.get() == &link) one.reset();
    }
  }
  return outcome;
}

Outcome Attacker::attempt(const Try& what) {
  Rng rng(seed_, what.number + 2);
  const bool lasting = what.role != Role::kStranger;
  if (!lasting && rng.chance(0.25)) {
    return attempt_early(what, rng.chance(0.3) ? Stage::kPlain : Stage::kHandshake, rng);
  }
  return attempt_on_link(what, rng);
}

}  // namespace weft::hostile
