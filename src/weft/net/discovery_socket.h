// The datagrams of discovery on real sockets: a listener for members, an asker, and a search that
// blocks.
//
// Queries go to a multicast group on every interface, with a hop limit of one; answers go to the
// asker alone. A listener answers addresses of its own networks only, so that nobody uses it to
// send to others. Several peers of one machine listen side by side.
//
// Threads: DiscoveryListener and DiscoveryAsker on their loop; discover_runs() blocks its caller
// and has a loop of its own. Fails: kUnavailable where the system has no multicast.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "weft/base/status.h"
#include "weft/base/time.h"
#include "weft/net/discovery.h"
#include "weft/net/event_loop.h"

namespace weft {

inline constexpr std::uint16_t kDiscoveryPort = 47863;

// The destination of queries.
struct DiscoveryPlace {
  std::string group_v4 = "239.255.119.102";
  // A group of link-local scope.
  std::string group_v6 = "ff12::7765:6674";
  // 0 in a listener: the system chooses; see DiscoveryListener::port().
  std::uint16_t port = kDiscoveryPort;
};

// Whose queries a listener answers.
enum class DiscoveryAudience : std::uint8_t {
  kNetwork,      // those from addresses of its own networks
  kThisMachine,  // those from addresses of its own: nobody else could reach it
};

class DiscoveryListener {
 public:
  // Borrows `loop`, which must outlive this.
  static Result<std::unique_ptr<DiscoveryListener>> open(
      EventLoop& loop, const PeerIdentity& identity, const DiscoveryPlace& place = {},
      DiscoveryAudience audience = DiscoveryAudience::kNetwork);
  ~DiscoveryListener();
  DiscoveryListener(const DiscoveryListener&) = delete;
  DiscoveryListener& operator=(const DiscoveryListener&) = delete;

  // Also looks whether there are new interfaces to listen on.
  void set_card(std::optional<DiscoveryCard> card);
  void set_codes(std::vector<OfferedCode> codes);
  std::uint16_t port() const;

  struct Impl;
  explicit DiscoveryListener(std::unique_ptr<Impl> impl);

 private:
  std::unique_ptr<Impl> impl_;
};

// A search that runs beside other work. The bounds of DiscoverySearch hold for each asker.
class DiscoveryAsker {
 public:
  // Searches for `run`, or for any run. Borrows `loop`, which must outlive this; calls `on_answer`
  // on it after each accepted answer.
  static Result<std::unique_ptr<DiscoveryAsker>> open(EventLoop& loop, std::optional<RunId> run,
                                                      const DiscoveryPlace& place,
                                                      std::function<void()> on_answer);
  ~DiscoveryAsker();
  DiscoveryAsker(const DiscoveryAsker&) = delete;
  DiscoveryAsker& operator=(const DiscoveryAsker&) = delete;

  // Sends a query on every interface; false if no interface accepted it.
  bool ask();
  std::vector<DiscoveredRun> runs() const;

  struct Impl;
  explicit DiscoveryAsker(std::unique_ptr<Impl> impl);

 private:
  std::unique_ptr<Impl> impl_;
};

struct DiscoverOptions {
  // Restricts the search to this run.
  std::optional<RunId> run;
  Duration limit = std::chrono::milliseconds(1500);
  // Ends the search before the limit if it returns true; called after each answer.
  std::function<bool(const std::vector<DiscoveredRun>&)> enough;
  DiscoveryPlace place;
};

// Returns what answered within the limit; the search sends three queries during that time.
Result<std::vector<DiscoveredRun>> discover_runs(const DiscoverOptions& options);

// Returns the ticket line of the member that issued `code`; kUnavailable if nobody answers within
// the limit. Blocks its caller, also for slow hashes (net/join_code.h).
Result<std::string> discover_ticket(const JoinCode& code, const DiscoveryPlace& place,
                                    Duration limit);

}  // namespace weft
