// SimNetwork: machines, links and time that exist only here, all drawn from one seed.
//
// Virtual time jumps from event to event; frames are delayed, links break, machines crash, stop
// for a while and start again, directions are blocked and healed, all in one thread and in the
// same order for the same seed. Each peer's SimTransport is an ordinary Transport: within a lane
// frames keep their order, between lanes and links they do not.
//
// Loss shows as TCP shows it: a blocked direction holds its frames; if it stays blocked for
// `break_after`, the link goes down at both ends and what was under way is lost. A relayed link
// lives on its two legs and on the relay's machine.
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
  // One way; each frame draws delay_min + exponential of the rest, at most 20 times the mean.
  Duration delay_min = std::chrono::microseconds(100);
  Duration delay_mean = std::chrono::microseconds(400);
  Duration connect_timeout = std::chrono::seconds(3);
  Duration break_after = std::chrono::milliseconds(1500);
  // Of each direction of a link; 0: unlimited. set_rate() says otherwise for single ones.
  std::uint64_t bytes_per_second = 0;
  // on_writable() is called when a lane's queue falls to this.
  std::size_t low_water_bytes = 256 * 1024;
  std::int64_t unix_time_s = 1'700'000'000;
};

// How a machine stops.
enum class SimCrash : std::uint8_t {
  kKilled,     // its system closes the connections: peers see it after one delay
  kPowerLoss,  // nothing is heard any more: peers see it after break_after
};

// What a machine's router does to those who dial it.
enum class SimNat : std::uint8_t {
  kNone,
  kCone,       // lets in who is dialled at the same time: a third peer must introduce the two
  kSymmetric,  // lets in nobody: links to others behind routers are relayed by a third peer
};

class SimNetwork;

// One machine's transport. Owned by the network; after crash() it does nothing any more.
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
  // False once its machine has crashed, even if that has been started again.
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
  // Its timers are forgotten, its handler is not called again.
  void crash(const PeerId& id, SimCrash how);
  bool running(const PeerId& id) const;
  // Like SIGSTOP and SIGCONT: what happens to it meanwhile is handed over at resume().
  void pause(const PeerId& id);
  void resume(const PeerId& id);
  // "sim:INDEX", what PeerAddress wants; a wrong one fails like a refused connection.
  std::string endpoint(const PeerId& id) const;

  // Holds for links made from now on. A third peer helps that is linked to both, if all three are
  // proved to each other.
  void set_nat(const PeerId& id, SimNat nat);

  // --- Links.
  // Ends the link between the two, if there is one, as a broken connection does.
  void break_link(const PeerId& a, const PeerId& b);
  // Frames from `from` to `to` stop, or flow again. One way only.
  void block(const PeerId& from, const PeerId& to);
  void unblock(const PeerId& from, const PeerId& to);
  // Blocks both ways between peers of different groups; peers in no group keep all their links.
  void partition(const std::vector<std::vector<PeerId>>& groups);
  void unblock_all();
  // Multiplies the delays of all frames to and from `id`: a slow machine or line.
  void set_slowness(const PeerId& id, double factor);
  // Of all bulk frames that `id` sends, and of all that it receives, together; 0: unlimited.
  void set_line(const PeerId& id, std::uint64_t bytes_per_second);
  // Of frames from `from` to `to`, from now on; 0: unlimited.
  void set_rate(const PeerId& from, const PeerId& to, std::uint64_t bytes_per_second);

  // --- Time.
  const Clock& clock() const;
  TimePoint now() const;
  // Runs `body` at `when` (or now, if that is past).
  void call_at(TimePoint when, std::function<void()> body);
  // The one alarm of a running peer, replaced by each call: `body` was given to set_alarm_body().
  // Never fires for a crashed peer, and waits while it is paused.
  void set_alarm_body(const PeerId& id, std::function<void()> body);
  void set_alarm(const PeerId& id, TimePoint when);
  // Does the next event; false if there is none.
  bool step();
  // Does all events up to `when`, then stands at `when`.
  void run_until(TimePoint when);

  // A hash over every event so far: equal for equal seeds.
  std::uint64_t trace_hash() const;
  std::uint64_t events() const;

 private:
  friend class SimTransport;
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace weft
