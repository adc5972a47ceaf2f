// RoundMesh: the RoundCores of one view in one thread, joined by queues whose order between links
// is drawn from a seed; and what one place computes of the same inputs. For tests.
//
// Threads: one owner.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "weft/base/rng.h"
#include "weft/base/status.h"
#include "weft/collective/round/round_core.h"
#include "weft/wire/frame_type.h"

namespace weft {

inline PeerId mesh_peer_id(std::size_t number) {
  PeerId id;
  id.bytes[0] = static_cast<std::uint8_t>(number + 1);
  return id;
}

inline View mesh_view(std::uint64_t number, const std::vector<std::size_t>& members, Round base) {
  View view;
  view.id.number = ViewNumber(number);
  view.id.hash[0] = static_cast<std::uint8_t>(number);
  for (const std::size_t member : members) view.members.push_back({mesh_peer_id(member), 1, {}});
  view.base_round = base;
  return view;
}

// How the members exchange.
struct MeshKind {
  std::string name;
  Algorithm algorithm = Algorithm::kAuto;
  WirePrecision precision = WirePrecision::kF32;
  std::string codec = "f32";
  bool hosts = false;
};

// Cores of one view in one thread, and the frames between them.
class RoundMesh {
 public:
  RoundMesh(const MeshKind& kind, std::size_t members, std::uint64_t seed) : rng_(seed) {
    for (std::size_t i = 0; i < members; ++i) alive_.push_back(i);
    for (std::size_t i = 0; i < members; ++i) {
      RoundCoreOptions options;
      options.self = mesh_peer_id(i);
      options.reports = true;
      options.by_host = kind.hosts;
      options.codec = *Codec::parse(kind.codec);
      options.all_reduce.algorithm = kind.algorithm;
      options.all_reduce.precision = kind.precision;
      options.all_reduce.segment_bytes = 512;
      options.all_reduce.bucket_bytes = 4096;
      options.all_reduce.direct_bytes_max = 256;
      sinks_.push_back(std::make_unique<Sink>(*this, i));
      cores_.push_back(std::make_unique<RoundCore>(options, *sinks_.back()));
    }
    kind_ = kind;
  }

  RoundCore& core(std::size_t member) { return *cores_[member]; }
  const View& view() const { return view_; }
  const std::vector<std::size_t>& alive() const { return alive_; }
  std::uint64_t below(std::uint64_t bound) { return rng_.below(bound); }

  void install(Round base) {
    view_ = mesh_view(view_.id.number.value() + 1, alive_, base);
    if (kind_.hosts) {
      for (std::size_t i = 0; i < view_.members.size(); ++i) {
        view_.members[i].endpoints = {"10.0.0." + std::to_string(alive_[i] / 2) + ":1"};
      }
    }
    queues_.clear();
    for (const std::size_t member : alive_) {
      ASSERT_TRUE(core(member).on_view(view_, TimePoint()).ok());
    }
  }

  // The input of a member for one exchange of a round: whole numbers, whose sums are exact.
  static std::vector<float> input(std::size_t member, std::uint64_t round, std::size_t exchange,
                                  std::int64_t elements) {
    Rng rng(member * 1000003 + round * 1009 + exchange);
    std::vector<float> values(static_cast<std::size_t>(elements));
    for (float& value : values) value = static_cast<float>(rng.below(200)) - 100.0F;
    return values;
  }

  void begin(std::uint64_t round, const RoundPlan& plan) {
    offers_.clear();
    for (const std::size_t member : alive_) offers_.emplace_back().member = member;
    for (Offer& offer : offers_) {
      for (std::size_t i = 0; i < plan.exchanges.size(); ++i) {
        const Result<Team> team = Team::derive(view_.id, view_.size(), plan.exchanges[i].purpose);
        if (!team->contains(view_.rank_of(mesh_peer_id(offer.member)))) continue;
        offer.pieces.emplace_back(i, input(offer.member, round, i, plan.exchanges[i].elements));
      }
      offer.plan = plan;
      offer.round = Round(round);
    }
  }

  // Begins or contributes somewhere, or delivers one frame; false when nothing is left to do.
  bool step() {
    std::vector<std::pair<std::size_t, std::size_t>> links;
    for (const auto& [link, queue] : queues_) {
      if (!queue.empty()) links.push_back(link);
    }
    std::vector<Offer*> offers;
    for (Offer& offer : offers_) {
      if (offer.next <= offer.pieces.size()) offers.push_back(&offer);
    }
    const std::size_t choices = links.size() + offers.size();
    if (choices == 0) return false;
    const std::size_t choice = rng_.below(choices);
    if (choice < offers.size()) {
      offer(*offers[choice]);
    } else {
      deliver(links[choice - offers.size()]);
    }
    return true;
  }
  void run() {
    while (step()) {
    }
  }

  void break_link(std::size_t a, std::size_t b) {
    queues_[{a, b}].clear();
    queues_[{b, a}].clear();
    core(a).on_link_down(mesh_peer_id(b));
    core(b).on_link_down(mesh_peer_id(a));
  }
  void restore_link(std::size_t a, std::size_t b) {
    core(a).on_link_up(mesh_peer_id(b));
    core(b).on_link_up(mesh_peer_id(a));
  }
  std::size_t other_than(std::size_t member) {
    std::size_t other = member;
    while (other == member) other = alive_[rng_.below(alive_.size())];
    return other;
  }
  void kill(std::size_t member) { std::erase(alive_, member); }

 private:
  struct Message {
    std::uint8_t type = 0;
    Bytes head;
    Bytes body;
  };
  struct Offer {
    std::size_t member = 0;
    // By exchange; each is handed over whole. They stay alive as long as the round.
    std::vector<std::pair<std::size_t, std::vector<float>>> pieces;
    RoundPlan plan;
    Round round;
    std::size_t next = 0;
    bool begun = false;
  };
  struct Sink final : StateSink {
    Sink(RoundMesh& owner, std::size_t member) : mesh(owner), self(member) {}
    void send(const PeerId& to, Lane /*lane*/, Frame frame) override {
      const ByteSpan body = frame.body.span();
      mesh.queues_[{self, number_of(to)}].push_back(
          {frame.type, std::move(frame.head), Bytes(body.begin(), body.end())});
    }
    std::size_t queued_bytes(const PeerId& /*to*/) const override { return 0; }
    RoundMesh& mesh;
    std::size_t self;
  };
  static std::size_t number_of(const PeerId& id) { return id.bytes[0] - 1U; }

  void offer(Offer& offer) {
    RoundCore& core = *cores_[offer.member];
    if (!std::exchange(offer.begun, true)) {
      core.begin({view_.id, offer.round}, offer.plan, TimePoint());
      return;
    }
    if (offer.next < offer.pieces.size()) {
      const auto& [exchange, values] = offer.pieces[offer.next];
      core.contribute(exchange, 0, values, TimePoint());
    } else {
      core.report({static_cast<std::uint8_t>(offer.member)}, TimePoint());
    }
    ++offer.next;
  }

  void deliver(const std::pair<std::size_t, std::size_t>& link) {
    std::deque<Message>& queue = queues_[link];
    Message message = std::move(queue.front());
    queue.pop_front();
    const PeerId from = mesh_peer_id(link.first);
    RoundCore& to = core(link.second);
    FrameView view{message.type, message.head, message.body};
    if (message.type == frame_type::kSegment && rng_.below(2) == 0) {
      const MutableByteSpan out = to.body_destination(from, message.head, message.body.size());
      if (out.size() == message.body.size()) {
        std::ranges::copy(message.body, out.begin());
        view.body = out;
      }
    }
    const Status status = to.on_frame(from, view, TimePoint());
    ASSERT_TRUE(status.ok()) << status.to_string();
  }

  Rng rng_;
  MeshKind kind_;
  View view_;
  std::vector<std::size_t> alive_;
  std::vector<std::unique_ptr<Sink>> sinks_;
  std::vector<std::unique_ptr<RoundCore>> cores_;
  std::vector<Offer> offers_;
  std::map<std::pair<std::size_t, std::size_t>, std::deque<Message>> queues_;
};

// What one place computes: exact sums, or what each member's encoder sends of its input, by team
// rank. Inputs of members outside of a team count nothing.
class MeshInOnePlace {
 public:
  explicit MeshInOnePlace(const Codec& codec) : codec_(codec) {}

  std::vector<float> round(const RoundMesh& mesh, std::uint64_t number, const RoundPlan& plan) {
    std::vector<float> result;
    for (std::size_t i = 0; i < plan.exchanges.size(); ++i) {
      const ExchangePlan& each = plan.exchanges[i];
      const Result<Team> team = Team::derive(mesh.view().id, mesh.view().size(), each.purpose);
      std::vector<float> sum(static_cast<std::size_t>(each.elements));
      for (const Rank rank : team->members()) {
        const std::size_t member = mesh.alive()[static_cast<std::size_t>(rank.value())];
        std::vector<float> given = RoundMesh::input(member, number, i, each.elements);
        if (!codec_.is_exact()) {
          auto& encoder = encoders_.try_emplace({member, i}, codec_).first->second;
          const Bytes payload = encoder.encode(given);
          encoder.commit();
          EXPECT_TRUE(codec_.decode(payload, given).ok());
        }
        for (std::size_t k = 0; k < sum.size(); ++k) sum[k] += given[k];
      }
      result.insert(result.end(), sum.begin(), sum.end());
    }
    return result;
  }
  ResidualValues residual(std::size_t member, std::size_t exchange) const {
    const auto found = encoders_.find({member, exchange});
    return found == encoders_.end() ? nullptr : found->second.residual();
  }

 private:
  const Codec codec_;
  std::map<std::pair<std::size_t, std::size_t>, ErrorFeedback> encoders_;
};

}  // namespace weft
