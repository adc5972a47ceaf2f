// SwarmPeer: one peer's part in a swarm, as Python drives it: weft/swarm/group.py has the loop.
//
// A round's vector is the given arrays, one after the other; the weight of this peer's part is what
// it reports (collective/weighted_part.h). read() divides the sums by the sum of the weights where
// the mean is asked for.
// Threads: called under the interpreter's lock, which is let go while something waits. One thread
// at a time trains (next() to publish_state()); ticket(), status() and close() are for any.
// Fails: throws the Python exception of the Status' code (status_error.h); misuse is
// kInvalidArgument. After close() everything is.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <pybind11/pybind11.h>

#include "swarm/array_bytes.h"
#include "weft/collective/swarm/swarm.h"

namespace weft::python {

// What a peer decides for itself and what its group has agreed on; see weft/swarm/group.py.
struct PeerOptions {
  std::string recipe;  // of the group; joiners fetch it
  std::string layout;  // names, types and shapes of the state, the same at all members
  std::string listen = "*:0";
  std::vector<std::string> advertise;
  bool map_port = false;
  std::string identity;  // path of the key; empty: a new one in memory
  std::string wire = "f32";
  std::uint64_t rounds = 0;  // the last one; 0: none is
  int start_members = swarm_defaults::kStartMembers;
  double start_timeout = to_seconds(swarm_defaults::kStartTimeout);
  double suspicion_timeout = to_seconds(membership_defaults::kSuspicionTimeout);
  bool lone_survivor = false;
};

// A Turn that owns what it says.
struct PeerTurn {
  std::string kind;
  std::uint64_t round = 0;
  int rank = 0;
  std::vector<std::string> peers;
  pybind11::bytes state;
};

class SwarmPeer {
 public:
  static std::unique_ptr<SwarmPeer> start(const PeerOptions& options);
  static std::unique_ptr<SwarmPeer> join(const PeerOptions& options, const std::string& ticket);
  explicit SwarmPeer(std::unique_ptr<Swarm> swarm);
  ~SwarmPeer();

  PeerTurn next();
  // Opens the round of the last "train" turn with `arrays` times `weight`. Without a copy where
  // the weight is 1; nobody may write to them until finish(). The first `apart` arrays are
  // exchanges of their own: see early_sums().
  void begin(const pybind11::sequence& arrays, float weight, std::size_t apart);
  // Opens that round with arrays of so many elements, which come one by one, in any order: each
  // travels while the others are computed. finish() fails with kInvalidArgument while one, or the
  // weight, is missing.
  void open_parts(const std::vector<std::int64_t>& sizes, std::size_t apart);
  // The weight of this peer's part, once: before its arrays, unless they are not to be multiplied.
  void weigh(float weight);
  // Array number `index` of them, once, as in begin(); `weighted`: times the weight.
  void contribute(std::size_t index, const pybind11::object& array, bool weighted);
  // The sums of array number `index`, one of the first `apart`, into `array` as soon as all members
  // have given theirs. False if they have not after `seconds`. Throws kAborted where the round has
  // ended.
  bool early_sums(std::size_t index, const pybind11::object& array, double seconds);
  // Waits at most `seconds`.
  bool round_ended(double seconds);
  // Throws kAborted where the round is to be run again, kTimeout where it has not ended: the peer
  // has then given it up.
  void finish();
  // Elements of the finished round or of an "apply" turn; 0 if there is none.
  std::size_t elements();
  // The sums of the finished round or of an "apply" turn into `arrays`, or their mean (zeros
  // where nobody's part had a weight). Gives the sum of the weights. kCorrupt where their vector
  // has another length.
  float read(const pybind11::sequence& arrays, bool mean);
  void applied(std::uint64_t round, const std::vector<std::string>& names,
               const pybind11::sequence& arrays);
  void publish_state(std::uint64_t round, const pybind11::bytes& state);
  void leave(double seconds);

  std::string ticket(double valid_seconds);
  // state, members, round, bytes_sent, ...: plain values.
  pybind11::dict status();
  // The sentences for people since the last call.
  std::vector<std::string> take_events();
  std::string id() const;
  // At once, without a word to the others.
  void close();

 private:
  struct Session;
  class Training;
  std::shared_ptr<Session> open() const;
  static void open_round(Session& session, const std::vector<std::int64_t>& sizes,
                         std::size_t apart);
  static void set_weight(Session& session, float weight);
  static void contribute_part(Session& session, std::size_t index, std::span<const float> values,
                              bool weighted);

  std::shared_ptr<Session> session_;
  std::string id_;
};

// The recipe of the group of `ticket`, from any of its members.
std::string fetch_recipe(const std::string& ticket, double seconds);
// The digits of the hash of all bytes and of each array's; parts are compared by name.
StateHash hash_arrays(const std::vector<std::string>& names, const pybind11::sequence& arrays);

}  // namespace weft::python
