// MembershipNews: passes the membership's calls on to the parts of a swarm.
//
// It has no state of its own.
// Threads: as SwarmCore. Fails: never.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "weft/base/bytes.h"
#include "weft/base/status.h"
#include "weft/collective/parts/swarm_core_part.h"
#include "weft/net/transport.h"
#include "weft/peer/membership.h"

namespace weft {

class MembershipNews final : public SwarmCorePart, public MembershipSink {
 public:
  using SwarmCorePart::SwarmCorePart;

  void send(const PeerId& to, Frame frame) override;
  void connect(const PeerAddress& peer) override;
  void close(const PeerId& peer, const Status& why) override;
  void set_trust(const PeerId& peer, LinkTrust trust) override;
  std::int64_t unix_time_s() const override;
  bool keeps_records() const override;
  bool keep_record(ByteSpan record, bool durable) override;
  std::uint64_t sync_progress() const override;
  RoundStatus round_status() const override;
  Round committed_round() const override;
  std::uint64_t samples_after(Round round) const override;
  std::vector<Member> arrange(std::vector<Member> members) const override;
  LinkSummary links_of(const std::vector<Member>& members) const override;
  bool may_admit() const override;

  void on_freeze() override;
  void on_view(const View& view, const ViewChange& change) override;
  void on_isolated(const IsolatedReport& report) override;
  void on_quorum_back() override;
  void on_removed(const Status& why) override;
  void on_left() override;
  void on_joiner(const Member& joiner) override;
  void on_joiner_gone(const PeerId& joiner, const Status& why) override;
  void on_refused(const PeerId& peer, const Status& why) override;
  void on_second_process(const PeerId& peer, const std::string& text) override;
  void on_misconduct(const Misconduct& report) override;
  void on_revoked(const InvitationId& invitation, const PeerId& by) override;
  void on_join_accepted(const View& view, const PeerId& sponsor) override;
  void on_join_waiting(const std::string& text) override;
  void on_view_ahead(const View& view) override;
  void on_unreached(const std::vector<Member>& members, const std::string& text) override;
  void on_join_failed(const Status& why) override;
  void on_run_over(Round round) override;
  void on_run_gone(const std::optional<Round>& ended_with) override;
  void on_merge_offer(const MergeOffer& offer) override;

 private:
  void meet(const std::vector<Member>& joined);
  void report_view(const View& view, const ViewChange& change);
};

}  // namespace weft
