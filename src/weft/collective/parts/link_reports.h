// LinkReports: what people read about links and about refused strangers, and the order of the ring
// that follows from the links' rates.
//
// Threads: as SwarmCore. Fails: never.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "weft/base/fields.h"
#include "weft/base/status.h"
#include "weft/base/time.h"
#include "weft/collective/link/send_meter.h"
#include "weft/collective/parts/swarm_core_part.h"
#include "weft/collective/parts/swarm_types.h"
#include "weft/collective/round/round_core.h"
#include "weft/net/transport.h"
#include "weft/wire/ids.h"

namespace weft {

class LinkReports : public SwarmCorePart {
 public:
  using SwarmCorePart::SwarmCorePart;

  void on_link_up(const LinkInfo& link) { state_.untold.insert_or_assign(link.peer, link); }
  void on_link_down(const PeerId& peer) {
    state_.untold.erase(peer);
    state_.sending.erase(peer);
  }
  // The peer is found to belong to the run: its link is news.
  void on_proved(const PeerId& peer);
  void on_refused(const std::string& remote_endpoint, const Status& why);
  void on_refused(const PeerId& peer, const Status& why);
  // Strangers must not fill the log: beyond a few a second they are counted only.
  bool may_tell_refusal();

  // A round was committed: its data measures the links.
  void count_round(const RoundOutcome& outcome);
  // Bulk data is about to be queued, and is, while the queue to `to` has as many bytes.
  void before_send(const PeerId& to, std::size_t queued_bytes);
  void after_send(const PeerId& to, std::size_t queued_bytes);
  // Rates of links, as this member and the others have measured them.
  void add_to(SwarmStatus& status) const;
  // Between rounds, so that none has to be run again.
  void settle_ring();

  void fingerprint(Fingerprint& out) const;

 private:
  friend struct SwarmStateAccess;

  struct State {
    // Links that no event has named yet, since the peer is no member or joiner so far.
    std::map<PeerId, LinkInfo> untold;
    // Refused connections since the second that began then.
    TimePoint refusals_since{};
    std::uint64_t refusals = 0;
    // How fast links take what this member sends.
    std::map<PeerId, SendMeter> sending;

    WEFT_FIELDS((untold, refusals), (refusals_since, sending))
  };

  State state_;
};

}  // namespace weft
