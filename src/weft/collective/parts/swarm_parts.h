// SwarmParts: the parts of one peer's swarm, and the engines that they share.
//
// What a part knows is its own; the others reach it by its methods. The engines are cores with
// private state of their own; each calls the others through the parts alone.
//
//   trainer, round, late            the training side: its turns, its round, and what stands in
//   waits, slowness, complaints     waits for members, and what is held against them
//   giving, taking                  the state: given to newcomers, taken as one or to catch up
//   branches                        of which branch the state is, and what is averaged in
//   gathering, adoption, offer      the newest state after all have died
//   start, way, ending              the first round; the membership; the last round
//   news, links                     what people are shown
//   membership_news, outlet         from the membership to the parts; from all to the transport
//
// Threads: as SwarmCore. Fails: as its parts.
#pragma once

#include <set>
#include <tuple>

#include "weft/base/rng.h"
#include "weft/base/status.h"
#include "weft/base/time.h"
#include "weft/collective/engine/group_core.h"
#include "weft/collective/link/link_rates.h"
#include "weft/collective/parts/adoption.h"
#include "weft/collective/parts/branches.h"
#include "weft/collective/parts/complaints.h"
#include "weft/collective/parts/gathering.h"
#include "weft/collective/parts/held_offer.h"
#include "weft/collective/parts/last_round.h"
#include "weft/collective/parts/late_rounds.h"
#include "weft/collective/parts/link_reports.h"
#include "weft/collective/parts/membership_news.h"
#include "weft/collective/parts/open_round.h"
#include "weft/collective/parts/own_slowness.h"
#include "weft/collective/parts/round_waits.h"
#include "weft/collective/parts/run_start.h"
#include "weft/collective/parts/state_comparison.h"
#include "weft/collective/parts/state_giving.h"
#include "weft/collective/parts/state_taking.h"
#include "weft/collective/parts/swarm_core_settings.h"
#include "weft/collective/parts/swarm_news.h"
#include "weft/collective/parts/swarm_outlet.h"
#include "weft/collective/parts/trainer_side.h"
#include "weft/collective/parts/way_in.h"
#include "weft/collective/round/round_core.h"
#include "weft/collective/state/result_log.h"
#include "weft/collective/state/state_fetch.h"
#include "weft/collective/state/state_server.h"
#include "weft/net/parking_transport.h"
#include "weft/net/transport.h"
#include "weft/peer/membership.h"

namespace weft {

struct SwarmParts final : TransportHandler {
  SwarmParts(SwarmCoreOptions given, Transport& lines, const Clock& time, Rng random);
  SwarmParts(const SwarmParts&) = delete;
  SwarmParts& operator=(const SwarmParts&) = delete;

  // --- What happens (core/swarm_parts.cpp): events of links, whether or not they are parked.
  void on_link_up(const LinkInfo& link) override;
  void on_link_down(const PeerId& peer, const Status& why) override;
  void on_frame(const PeerId& from, Lane lane, const FrameView& frame) override;
  void on_writable(const PeerId& peer, Lane lane) override;
  void on_refused(const std::string& remote_endpoint, const Status& why) override;
  void on_twin(const PeerId& peer, const std::string& remote_endpoint) override;
  MutableByteSpan body_destination(const PeerId& from, std::uint8_t type, ByteSpan head,
                                   std::size_t body_bytes) override;
  void on_timer();
  TimePoint next_deadline() const;
  // After any event: what it has caused, part by part in one order.
  void settle();

  // --- What parts ask for.
  TimePoint now() const { return clock.now(); }
  const PeerId& self() const { return options.membership.self; }
  const View& view() const { return membership.view(); }
  bool is_member() const { return view().contains(self()) && !way.removed(); }
  bool merges() const { return options.membership.on_split == SplitPolicy::kMerge; }
  // The view that this peer is in, or that of the members that accepted it.
  const View& group() const { return is_member() ? view() : way.sync_view(); }
  // Those that this peer may have a link with: members, and newcomers that it knows of.
  std::set<PeerId> partners() const;
  // Which members of a new view keep connections with each other.
  void follow_ring(const View& installed);
  SwarmStatus status() const;
  Ticket ticket(Duration valid_for);

  // All parts that have state, in one order.
  auto parts() {
    return std::tie(trainer, round, late, waits, slowness, complaints, giving, taking, branches,
                    gathering, adoption, offer, start, way, ending, news, links);
  }
  auto parts() const {
    return std::tie(trainer, round, late, waits, slowness, complaints, giving, taking, branches,
                    gathering, adoption, offer, start, way, ending, news, links);
  }
  void fingerprint(Fingerprint& out) const;

  const SwarmCoreOptions options;
  ParkingTransport transport;
  const Clock& clock;
  Rng rng;

  SwarmOutlet outlet{*this};
  MembershipNews membership_news{*this};
  ResultLog log;
  StateServer server;
  StateFetch fetch;
  RoundCore rounds;
  GroupCore group_calls;
  LinkRates link_rates;
  StateComparison comparison;
  Membership membership;

  TrainerSide trainer{*this};
  OpenRound round{*this};
  LateRounds late{*this};
  RoundWaits waits;
  OwnSlowness slowness{*this};
  Complaints complaints{*this};
  StateGiving giving{*this};
  StateTaking taking{*this};
  Branches branches;
  Gathering gathering{*this};
  Adoption adoption{*this};
  HeldOffer offer{*this};
  RunStart start;
  WayIn way{*this};
  LastRound ending{*this};
  SwarmNews news{*this};
  LinkReports links{*this};

 private:
  Status on_collective_frame(const PeerId& from, const FrameView& frame);
  Status on_state_frame(const PeerId& from, const FrameView& frame);
};

}  // namespace weft
