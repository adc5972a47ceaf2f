#include "swarm/swarm_peer.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "swarm/status_error.h"
#include "weft/base/time.h"
#include "weft/collective/report/weighted_part.h"
#include "weft/collective/swarm/member_start.h"

namespace weft::python {

namespace py = pybind11;

// What must outlive the network's thread. The swarm goes first.
struct SwarmPeer::Session {
  explicit Session(std::unique_ptr<Swarm> owned) : swarm(std::move(owned)) {}
  ~Session() {
    const py::gil_scoped_release unlocked;
    swarm.reset();
  }
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  // Lent to the open round.
  std::vector<ArrayBytes> borrowed;
  std::vector<std::vector<float>> scaled;
  std::optional<float> own_weight;
  // Where each array of the open round begins, and the end of the last; how many of the first are
  // exchanges of their own; which are not here yet.
  std::vector<std::int64_t> part_begins;
  std::size_t apart = 0;
  std::vector<bool> missing_parts;
  // The sums of the last finished round or "apply" turn; `weight` is the weight of all members.
  std::span<const float> sums;
  float weight = 0;
  bool training = false;
  std::unique_ptr<Swarm> swarm;
};

// The session in the hands of the one thread that trains.
class SwarmPeer::Training {
 public:
  explicit Training(std::shared_ptr<Session> session) : session_(std::move(session)) {
    if (session_->training) {
      throw_status(invalid_argument("swarm: another thread is in the middle of a round"));
    }
    session_->training = true;
  }
  ~Training() { session_->training = false; }
  Training(const Training&) = delete;
  Training& operator=(const Training&) = delete;
  Session* operator->() const { return session_.get(); }

 private:
  std::shared_ptr<Session> session_;
};

namespace {

// Years at most: what is no number, or beyond, is no reason to wait for ever.
Duration limit(double seconds) {
  constexpr double kSecondsMax = 1e8;
  return from_seconds(seconds > 0 ? std::min(seconds, kSecondsMax) : 0.0);
}

std::chrono::milliseconds milliseconds(double seconds) {
  return std::chrono::ceil<std::chrono::milliseconds>(limit(seconds));
}

Result<SwarmOptions> swarm_options(const PeerOptions& given) {
  WEFT_TRY_ASSIGN(
      SwarmOptions options,
      member_swarm_options(
          {given.wire, given.rounds, given.start_members, milliseconds(given.start_timeout),
           milliseconds(given.suspicion_timeout), given.lone_survivor},
          {given.listen, given.advertise, given.map_port, given.identity},
          {given.recipe, sha256(as_bytes(std::string_view(given.layout)))}));
  options.reports = true;  // the weights
  // Python waits with round_ended(), in which it hears Ctrl-C; finish() then only gives up.
  options.finish_limit = std::chrono::milliseconds(1);
  return options;
}

std::unique_ptr<Swarm> owned(Result<std::unique_ptr<Swarm>> swarm) {
  if (!swarm.ok()) throw_status(swarm.status());
  return std::move(swarm).value();
}

Ticket ticket_of(const std::string& text) {
  Result<Ticket> ticket = parse_ticket(text);
  if (!ticket.ok()) throw_status(ticket.status());
  return std::move(ticket).value();
}

// A copy times `weight`; zeros where that is 0, whatever the array holds.
std::vector<float> scaled_copy(std::span<const float> values, float weight) {
  std::vector<float> copy(values.size());
  if (weight == 0) return copy;
  std::ranges::transform(values, copy.begin(), [weight](float value) { return value * weight; });
  return copy;
}

// A round has at least one element: who exchanges none sends a zero.
std::size_t vector_length(std::size_t elements) { return std::max<std::size_t>(elements, 1); }

void check_weight(float weight) {
  if (!(weight >= 0) || !std::isfinite(weight)) {
    throw_status(invalid_argument(
        fmt::format("all_reduce: expected a weight of at least 0, got {}", weight)));
  }
}

PeerTurn owned_turn(const Turn& turn) {
  PeerTurn out;
  out.kind = to_string(turn.kind);
  out.round = turn.round.value();
  out.rank = turn.rank.value();
  for (const PeerId& peer : turn.peers) out.peers.push_back(peer.to_string());
  if (turn.kind == TurnKind::kLoadState) {
    const ByteSpan state = turn.state.span();
    out.state = py::bytes(reinterpret_cast<const char*>(state.data()), state.size());
  }
  return out;
}

}  // namespace

std::unique_ptr<SwarmPeer> SwarmPeer::start(const PeerOptions& options) {
  Result<SwarmOptions> made = swarm_options(options);
  if (!made.ok()) throw_status(made.status());
  return std::make_unique<SwarmPeer>(owned([&] {
    const py::gil_scoped_release unlocked;
    return Swarm::found(std::move(made).value());
  }()));
}

std::unique_ptr<SwarmPeer> SwarmPeer::join(const PeerOptions& options, const std::string& ticket) {
  const Ticket parsed = ticket_of(ticket);
  Result<SwarmOptions> made = swarm_options(options);
  if (!made.ok()) throw_status(made.status());
  return std::make_unique<SwarmPeer>(owned([&] {
    const py::gil_scoped_release unlocked;
    return Swarm::join(std::move(made).value(), parsed);
  }()));
}

SwarmPeer::SwarmPeer(std::unique_ptr<Swarm> swarm) : id_(swarm->self().to_string()) {
  session_ = std::make_shared<Session>(std::move(swarm));
}

SwarmPeer::~SwarmPeer() = default;

std::shared_ptr<SwarmPeer::Session> SwarmPeer::open() const {
  if (session_ == nullptr) {
    throw_status(invalid_argument("swarm: this peer has left; start or join another one"));
  }
  return session_;
}

PeerTurn SwarmPeer::next() {
  const Training training(open());
  training->sums = {};
  Result<Turn> turn = [&] {
    const py::gil_scoped_release unlocked;
    return training->swarm->next();
  }();
  if (!turn.ok()) throw_status(turn.status());
  training->sums = turn->reduced;
  training->weight = static_cast<float>(sum_of_parts(turn->reports).weight);
  return owned_turn(*turn);
}

void SwarmPeer::open_round(Session& session, const std::vector<std::int64_t>& sizes,
                           std::size_t apart) {
  constexpr std::int64_t kElementsMax = std::int64_t{1} << 40U;
  if (apart > sizes.size()) {
    throw_status(invalid_argument(
        fmt::format("swarm: expected apart to be at most the number of arrays, {}, got {}",
                    sizes.size(), apart)));
  }
  std::vector<std::int64_t> begins = {0};
  for (const std::int64_t size : sizes) {
    if (size < 0 || size > kElementsMax - begins.back()) {
      throw_status(invalid_argument(
          fmt::format("swarm: expected sizes of arrays, at most 2^40 elements, got {}", size)));
    }
    begins.push_back(begins.back() + size);
  }
  RoundPlan plan(std::vector<ExchangePlan>{});
  for (std::size_t i = 0; i < apart; ++i) plan.exchanges.push_back({"all", sizes[i]});
  const std::int64_t together = begins.back() - begins[apart];
  // A round has at least one element: who exchanges none sends a zero.
  const bool pads = begins.back() == 0;
  if (together > 0 || pads) plan.exchanges.push_back({"all", pads ? 1 : together});
  const Status begun = session.swarm->begin(plan);
  if (!begun.ok()) throw_status(begun);
  session.borrowed.clear();
  session.scaled.clear();
  session.part_begins = std::move(begins);
  session.apart = apart;
  session.missing_parts.assign(sizes.size(), true);
  session.own_weight.reset();
  static constexpr float kPadding = 0;
  if (pads) session.swarm->contribute(plan.exchanges.size() - 1, 0, std::span(&kPadding, 1));
}

void SwarmPeer::set_weight(Session& session, float weight) {
  check_weight(weight);
  const Status reported = session.swarm->report(WeightedPart{weight, 0}.encode());
  if (!reported.ok()) throw_status(reported);
  session.own_weight = weight;
}

void SwarmPeer::contribute_part(Session& session, std::size_t index, std::span<const float> values,
                                bool weighted) {
  session.missing_parts[index] = false;
  if (values.empty()) return;
  const float weight = weighted ? *session.own_weight : 1;
  if (weight != 1) values = session.scaled.emplace_back(scaled_copy(values, weight));
  const bool own = index < session.apart;
  const std::int64_t offset =
      own ? 0 : session.part_begins[index] - session.part_begins[session.apart];
  session.swarm->contribute(own ? index : session.apart, offset, values);
}

void SwarmPeer::begin(const py::sequence& arrays, float weight, std::size_t apart) {
  const Training training(open());
  std::vector<ArrayBytes> borrowed;
  std::vector<std::int64_t> sizes;
  for (const py::object array : arrays) {
    borrowed.emplace_back(array, Access::kWrite);  // as read() will
    sizes.push_back(static_cast<std::int64_t>(borrowed.back().floats().size()));
  }
  Session& session = *training.operator->();
  check_weight(weight);  // before the round is open
  open_round(session, sizes, apart);
  set_weight(session, weight);
  session.borrowed = std::move(borrowed);
  for (std::size_t i = 0; i < session.borrowed.size(); ++i) {
    contribute_part(session, i, session.borrowed[i].floats(), true);
  }
}

void SwarmPeer::open_parts(const std::vector<std::int64_t>& sizes, std::size_t apart) {
  const Training training(open());
  open_round(*training.operator->(), sizes, apart);
}

void SwarmPeer::weigh(float weight) {
  const Training training(open());
  set_weight(*training.operator->(), weight);
}

void SwarmPeer::contribute(std::size_t index, const py::object& array, bool weighted) {
  const Training training(open());
  if (index >= training->missing_parts.size() || !training->missing_parts[index]) {
    throw_status(invalid_argument(fmt::format(
        "swarm: expected an array of the open round that is not here yet, got number {}", index)));
  }
  if (weighted && !training->own_weight) {
    throw_status(invalid_argument("swarm: expected weigh() before an array times the weight"));
  }
  ArrayBytes given(array, Access::kWrite);  // as read() will
  const std::int64_t size = training->part_begins[index + 1] - training->part_begins[index];
  if (static_cast<std::int64_t>(given.floats().size()) != size) {
    throw_status(invalid_argument(fmt::format("swarm: expected {} elements as number {}, got {}",
                                              size, index, given.floats().size())));
  }
  training->borrowed.push_back(std::move(given));
  contribute_part(*training.operator->(), index, training->borrowed.back().floats(), weighted);
}

bool SwarmPeer::early_sums(std::size_t index, const py::object& array, double seconds) {
  const Training training(open());
  if (index >= training->apart) {
    throw_status(invalid_argument(fmt::format(
        "swarm: expected one of the first {} arrays, which are exchanges of their own, got number "
        "{}",
        training->apart, index)));
  }
  const ArrayBytes target(array, Access::kWrite);
  const Result<bool> here = [&] {
    const py::gil_scoped_release unlocked;
    return training->swarm->early_sums(index, target.writable_floats(), limit(seconds));
  }();
  if (!here.ok()) throw_status(here.status());
  return *here;
}

bool SwarmPeer::round_ended(double seconds) {
  const Training training(open());
  const py::gil_scoped_release unlocked;
  return training->swarm->round_ended(limit(seconds));
}

void SwarmPeer::finish() {
  const Training training(open());
  const auto missing = std::ranges::find(training->missing_parts, true);
  if (missing != training->missing_parts.end()) {
    throw_status(
        invalid_argument(fmt::format("swarm: expected all arrays of the round, number {} "
                                     "is missing",
                                     missing - training->missing_parts.begin())));
  }
  if (!training->own_weight)
    throw_status(invalid_argument("swarm: expected weigh() before the end"));
  const Result<std::span<const float>> sums = [&] {
    const py::gil_scoped_release unlocked;
    return training->swarm->finish();
  }();
  training->borrowed.clear();
  training->scaled.clear();
  if (!sums.ok()) throw_status(sums.status());
  training->sums = *sums;
  training->weight = static_cast<float>(sum_of_parts(training->swarm->reports()).weight);
}

std::size_t SwarmPeer::elements() {
  const Training training(open());
  return training->sums.size();
}

float SwarmPeer::read(const py::sequence& arrays, bool mean) {
  const Training training(open());
  std::vector<ArrayBytes> targets;
  std::size_t elements = 0;
  for (const py::object array : arrays) {
    targets.emplace_back(array, Access::kWrite);
    elements += targets.back().writable_floats().size();
  }
  const std::span<const float> sums = training->sums;
  if (sums.size() != vector_length(elements)) {
    throw_status(corrupt("all_reduce: expected " + std::to_string(elements) +
                         " elements as the other members have, got " +
                         std::to_string(sums.size())));
  }
  const float weight = training->weight;
  const py::gil_scoped_release unlocked;
  const float* next = sums.data();
  for (const ArrayBytes& target : targets) {
    const std::span<float> values = target.writable_floats();
    if (mean) {
      std::transform(next, next + values.size(), values.begin(),
                     [weight](float sum) { return weight == 0 ? 0.0F : sum / weight; });
    } else {
      std::copy(next, next + values.size(), values.begin());
    }
    next += values.size();
  }
  return weight;
}

void SwarmPeer::applied(std::uint64_t round, const std::vector<std::string>& names,
                        const py::sequence& arrays) {
  const Training training(open());
  training->swarm->applied(Round(round), hash_arrays(names, arrays));
}

void SwarmPeer::publish_state(std::uint64_t round, const py::bytes& state) {
  const Training training(open());
  const std::string_view view = state;
  const auto* data = reinterpret_cast<const std::uint8_t*>(view.data());
  training->swarm->publish_state(Round(round), Bytes(data, data + view.size()));
}

void SwarmPeer::leave(double seconds) {
  const Training training(open());
  const Status left = [&] {
    const py::gil_scoped_release unlocked;
    return training->swarm->leave(limit(seconds));
  }();
  if (!left.ok()) throw_status(left);
}

std::string SwarmPeer::ticket(double valid_seconds) {
  const auto session = open();
  const Result<Ticket> ticket = [&] {
    const py::gil_scoped_release unlocked;
    return session->swarm->ticket(limit(valid_seconds));
  }();
  if (!ticket.ok()) throw_status(ticket.status());
  return format_ticket(*ticket);
}

py::dict SwarmPeer::status() {
  const auto session = open();
  const Result<SwarmStatus> asked = [&] {
    const py::gil_scoped_release unlocked;
    return session->swarm->status();
  }();
  if (!asked.ok()) throw_status(asked.status());
  const SwarmStatus& status = *asked;
  py::list members;
  for (const PeerStatus& member : status.members) members.append(member.id.to_string());
  py::dict out;
  out["state"] = status.state;
  out["members"] = members;
  out["round"] = status.applied.value();
  out["view_changes"] = status.view_changes;
  out["rounds_rerun"] = status.rounds_rerun;
  out["seconds_lost"] = status.seconds_lost;
  out["wait_seconds"] = status.wait_seconds;
  out["bytes_sent"] = status.bytes_sent;
  out["bytes_received"] = status.bytes_received;
  return out;
}

std::vector<std::string> SwarmPeer::take_events() {
  const auto session = open();
  std::vector<std::string> sentences;
  for (const SwarmEvent& event : session->swarm->take_events()) {
    sentences.push_back(sentence_of(event));
  }
  return sentences;
}

std::string SwarmPeer::id() const { return id_; }

void SwarmPeer::close() { session_.reset(); }

std::string fetch_recipe(const std::string& ticket, double seconds) {
  const Ticket parsed = ticket_of(ticket);
  const Result<std::string> recipe = [&] {
    const py::gil_scoped_release unlocked;
    return Swarm::fetch_recipe(parsed, PeerIdentity::generate(), limit(seconds));
  }();
  if (!recipe.ok()) throw_status(recipe.status());
  return *recipe;
}

StateHash hash_arrays(const std::vector<std::string>& names, const py::sequence& arrays) {
  if (names.size() != arrays.size()) {
    throw py::value_error("state: expected " + std::to_string(arrays.size()) + " names, got " +
                          std::to_string(names.size()));
  }
  std::vector<ArrayBytes> borrowed;
  for (const py::object array : arrays) borrowed.emplace_back(array, Access::kRead);
  const py::gil_scoped_release unlocked;
  StateHash hash;
  Bytes all;
  for (std::size_t i = 0; i < borrowed.size(); ++i) {
    const Hash128 part = xxh3_128(borrowed[i].bytes());
    hash.tensors.push_back({names[i], part});
    all.insert(all.end(), part.begin(), part.end());
  }
  hash.total = xxh3_128(all);
  return hash;
}

}  // namespace weft::python
