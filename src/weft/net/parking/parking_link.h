// ParkingTransport::Link: one link as its handler sees it, with or without connections. Inside this
// folder.
//
//   session  out  in   connections   the link is
//   none                   yes       open
//   yes      no   no       yes       asked to be parked, or about to be open again
//   yes      yes  yes      yes       parked but for its connections: the way is probed, or resumed
//   yes      yes  yes      no        parked
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <utility>

#include "weft/base/status.h"
#include "weft/net/parking/mesh_ring.h"
#include "weft/net/parking/parked_session.h"
#include "weft/net/parking_transport.h"

namespace weft {

struct ParkingTransport::Link {
  explicit Link(const PeerId& id) : peer(id) {}

  // Frames go by the connections, and none of them is about to be closed.
  bool direct() const { return connected && !hanging && !closing && !awaits_first; }
  bool parked() const { return session && out && in && !connected; }

  const PeerId peer;
  // What the handler knows.
  bool up = false;
  std::optional<Status> down_later;
  LinkTrust trust = LinkTrust::kStranger;
  // The present connections', or the last ones'.
  LinkInfo info;
  bool connected = false;
  // The latest bulk frame, either way.
  TimePoint bulk_at{};

  std::unique_ptr<ParkedSession> session;
  // Own frames go by the session; the other end's come by it.
  bool out = false;
  bool in = false;
  // This side has asked, with this nonce; no bulk frames are sent until the answer.
  std::optional<ParkNonce> asked;
  // The other end's bulk frames have all arrived.
  bool drained = false;
  // The way through others is probed until then.
  TimePoint probe_until = TimePoint::max();
  TimePoint probe_at = TimePoint::max();
  // A packet has come back by it.
  bool proved = false;
  // This side has allowed the other end to close the connections; the other end has allowed it to
  // this side; this side closes them.
  bool hanging = false;
  bool may_close = false;
  bool closing = false;
  // The connections are new, and their first frame will say what they are.
  bool awaits_first = false;
  TimePoint first_limit = TimePoint::max();
  // This side has answered, on these connections, that the link which the other end continues is
  // unknown here.
  bool resume_answered = false;
  // Bulk frames that arrived before it.
  std::deque<Frame> early;
  std::size_t early_bytes = 0;

  // Frames that wait for the connections, in order.
  std::deque<std::pair<Lane, Frame>> held;
  std::array<std::size_t, 2> held_bytes{};
  TimePoint dial_at = TimePoint::max();
  Duration dial_gap{};

  TimePoint park_at = TimePoint::max();
  // Ways that failed, for the pause before the next attempt.
  int failures = 0;
  TimePoint refuse_until{};
  TimePoint parked_since{};
  TimePoint due = TimePoint::max();
};

}  // namespace weft
