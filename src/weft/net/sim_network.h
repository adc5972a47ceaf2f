// SimNetwork: simulated machines, links and time, all drawn from one seed.
//
// Virtual time jumps from event to event; frames are delayed, links break, machines crash, pause
// and start again, directions are blocked and unblocked, all in one thread and in the same order
// for the same seed. Each peer's SimTransport is an ordinary Transport: frames keep their order
// within a lane, but not between lanes and links.
//
// Loss appears as TCP shows it: a blocked direction holds its frames; if it stays blocked for
// `break_after`, the link goes down at both ends and frames on their way are lost. A relayed link
// depends on its two legs and on the relay's machine.
//
// Threads: one owner drives everything through step() or run_until().
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "weft/base/rng.h"
#include "weft/base/status.h"
#include "weft/base/time.h"
#include "weft/net/transport.h"

namespace weft {

struct SimNetworkOptions {
  std::uint64_t seed = 1;
  // One way; each frame draws delay_min plus an exponential delay with the rest as its mean, at
  // most 20 times that mean.
  Duration delay_min = std::chrono::microseconds(100);
  Duration delay_mean = std::chrono::microseconds(400);
  Duration connect_timeout = std::chrono::seconds(3);
  Duration break_after = std::chrono::milliseconds(1500);
  // The rate of each direction of a link; 0: unlimited. set_rate() overrides it for single
  // directions.
  std::uint64_t bytes_per_second = 0;
  // on_writable() is called when a lane's queue falls to this.
  std::size_t low_water_bytes = 256 * 1024;
  std::int64_t unix_time_s = 1'700'000'000;
};

// How a machine stops.
enum class SimCrash : std::uint8_t {
  kKilled,     // its system closes the connections: peers see it after one delay
  kPowerLoss,  // it falls silent: peers see it after break_after
};

// How a machine's router treats inbound connections.
enum class SimNat : std::uint8_t {
  kNone,
  kCone,  // accepts a peer that is dialled at the same time: a third peer must introduce the two
  kSymmetric,  // accepts nobody: a third peer relays links to others behind routers
};

class SimNetwork;

// One machine's transport. The network owns it; it does nothing after crash().
class SimTransport final : public Transport {
 public:
  const PeerId& self() const override;
  void set_handler(TransportHandler& handler) override;
  void connect(const PeerAddress& peer) override;
  Status send(const PeerId& to, Lane lane, Frame frame) override;
  std::size_t queued_bytes(const PeerId& to, Lane lane) const override;
  void cancel_bulk(const PeerId& to) override;
  void close(const PeerId& peer, const Status& why) override;
  bool linked(const PeerId& peer) const override;
  void set_trust(const PeerId& peer, LinkTrust trust) override;
  std::vector<std::string> endpoints() const override;
  TransportStats stats(const PeerId& peer) const override;
  TransportStats total_stats() const override;

  // For SimNetwork::start().
  SimTransport(SimNetwork& network, std::uint32_t index, std::uint64_t life)
      : network_(network), index_(index), life_(life) {}

 private:
  // False once its machine has crashed, even if the machine was started again.
  bool alive() const;

  SimNetwork& network_;
  std::uint32_t index_;
  std::uint64_t life_;
};

class SimNetwork {
 public:
  explicit SimNetwork(SimNetworkOptions options);
  ~SimNetwork();
  SimNetwork(const SimNetwork&) = delete;
  SimNetwork& operator=(const SimNetwork&) = delete;

  // --- Machines. A peer is started once, and again after each crash().
  SimTransport& start(const PeerId& id);
  // Drops the machine's timers; its handler is not called again.
  void crash(const PeerId& id, SimCrash how);
  bool running(const PeerId& id) const;
  // Like SIGSTOP and SIGCONT: events that occur during the pause are delivered at resume().
  void pause(const PeerId& id);
  void resume(const PeerId& id);
  // "sim:INDEX" for PeerAddress; dialling a wrong one fails like a refused connection.
  std::string endpoint(const PeerId& id) const;

  // Applies to links made from now on. A third peer that is linked to both helps, if all three are
  // proved to each other.
  void set_nat(const PeerId& id, SimNat nat);

  // --- Links.
  // Ends the link between the two, if there is one, like a broken connection.
  void break_link(const PeerId& a, const PeerId& b);
  // Blocks or unblocks frames from `from` to `to`, in this direction only.
  void block(const PeerId& from, const PeerId& to);
  void unblock(const PeerId& from, const PeerId& to);
  // Blocks both ways between peers of different groups; peers in no group keep all their links.
  void partition(const std::vector<std::vector<PeerId>>& groups);
  void unblock_all();
  // Multiplies the delays of all frames to and from `id`: a slow machine or network.
  void set_slowness(const PeerId& id, double factor);
  // Limits the rate of all bulk frames that `id` sends, and of all that it receives; 0: unlimited.
  void set_line(const PeerId& id, std::uint64_t bytes_per_second);
  // Limits the rate of frames from `from` to `to` from now on; 0: unlimited.
  void set_rate(const PeerId& from, const PeerId& to, std::uint64_t bytes_per_second);

  // --- Time.
  const Clock& clock() const;
  TimePoint now() const;
  // Runs `body` at `when` (or now, if that is past).
  void call_at(TimePoint when, std::function<void()> body);
  // Sets the one alarm of a running peer, which each call replaces: set_alarm_body() gives its
  // `body`. It never fires for a crashed peer, and waits while the peer is paused.
  void set_alarm_body(const PeerId& id, std::function<void()> body);
  void set_alarm(const PeerId& id, TimePoint when);
  // Handles the next event; false if there is none.
  bool step();
  // Handles all events up to `when`; the time is then `when`.
  void run_until(TimePoint when);

  // A hash over every event so far; equal seeds give equal hashes.
  std::uint64_t trace_hash() const;
  std::uint64_t events() const;

 private:
  friend class SimTransport;
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace weft
