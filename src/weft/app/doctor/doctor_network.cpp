#include "weft/app/doctor/doctor_network.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "weft/app/doctor/doctor_checks.h"
#include "weft/app/terminal/environment.h"
#include "weft/base/printable.h"
#include "weft/collective/swarm/swarm.h"
#include "weft/net/discovery_probe.h"
#include "weft/net/discovery_socket.h"
#include "weft/net/port_map.h"
#include "weft/net/rendezvous_opendht.h"
#include "weft/net/tls_transport.h"
#include "weft/train/run/wiring.h"

namespace weft {
namespace {

constexpr Duration kDialLimit = std::chrono::seconds(3);
constexpr Duration kStunLimit = std::chrono::seconds(3);
constexpr Duration kHandshakeLimit = std::chrono::seconds(8);
constexpr Duration kRecipeLimit = std::chrono::seconds(10);
constexpr Duration kRendezvousLimit = std::chrono::seconds(20);

Finding skipped(std::string step, std::string text) {
  return {std::move(step), DoctorResult::kSkipped, std::move(text), ""};
}

// Waits for a link to one peer, and nothing else.
class Handshake final : public TransportHandler {
 public:
  void on_link_up(const LinkInfo& /*link*/) override { outcome_ = Status(); }
  void on_link_down(const PeerId& /*peer*/, const Status& why) override {
    if (!outcome_) outcome_ = why;
  }
  void on_frame(const PeerId& /*from*/, Lane /*lane*/, const FrameView& /*frame*/) override {}
  void on_writable(const PeerId& /*peer*/, Lane /*lane*/) override {}

  const std::optional<Status>& outcome() const { return outcome_; }

 private:
  std::optional<Status> outcome_;
};

Finding examine_handshake(const PeerAddress& member, const PeerIdentity& identity) {
  EventLoop loop;
  Handshake handshake;
  ListenOptions listen;
  listen.host = "127.0.0.1";
  auto transport = make_tls_transport(loop, identity, listen);
  if (!transport.ok()) {
    return {"handshake", DoctorResult::kFailed, transport.status().message(),
            "check this machine's network: not even 127.0.0.1 can be used"};
  }
  (*transport)->set_handler(handshake);
  const TimePoint begun = loop.now();
  (*transport)->connect(member);
  loop.run_until([&] { return handshake.outcome().has_value(); }, kHandshakeLimit);
  const double ms = 1e3 * to_seconds(loop.now() - begun);
  if (handshake.outcome() && handshake.outcome()->ok()) {
    return {"handshake", DoctorResult::kGood,
            fmt::format("{} proved its key in {:.0f} ms", member.id.short_name(), ms), ""};
  }
  const std::string why = handshake.outcome() ? handshake.outcome()->message() : "no answer";
  return {"handshake", DoctorResult::kFailed, why,
          "another peer or program may have the address by now: ask for a new ticket; both sides "
          "need the same version of Weft"};
}

Finding examine_recipe(const Ticket& ticket, const PeerIdentity& identity, std::string& text) {
  Result<std::string> recipe = Swarm::fetch_recipe(ticket, identity, kRecipeLimit);
  if (!recipe.ok()) {
    return {"admission", DoctorResult::kFailed, recipe.status().message(),
            "the members' answer shows whether the ticket is expired, revoked or for another run"};
  }
  text = std::move(recipe).value();
  return {"admission", DoctorResult::kGood, "the members accept the ticket", ""};
}

Finding examine_data(const std::string& text) {
  const Result<Recipe> recipe = parse_recipe(text, "recipe of the run");
  if (!recipe.ok()) {
    return {"recipe", DoctorResult::kFailed, recipe.status().message(),
            "both sides need the same version of Weft"};
  }
  const Result<Dataset> data = open_recipe_dataset(*recipe, Split::kTrain, foreign_data_places());
  if (!data.ok()) {
    return {"data", DoctorResult::kFailed, data.status().message(),
            fmt::format("weft data get {}", recipe->data.name)};
  }
  return {"data", DoctorResult::kGood,
          fmt::format("{}: {} samples for {}", data->name, data->size, recipe->model.name), ""};
}

// `bound`: what listening gave.
Finding examine_mapping(const DoctorRequest& request, const Result<std::string>& bound) {
  if (!request.map_port || !bound.ok()) {
    return skipped("mapping",
                   fmt::format("no --map-port to try; built with {}", port_map_methods()));
  }
  const Result<ListenOptions> local = parse_listen(*bound);
  if (!local.ok()) return judge_mapping(local.status(), "");
  const Result<std::unique_ptr<PortMap>> map = PortMap::open(local->port);
  if (!map.ok()) return judge_mapping(map.status(), "");
  return judge_mapping((*map)->endpoint(), (*map)->method());
}

}  // namespace

std::vector<Finding> examine_ports(const DoctorRequest& request) {
  std::vector<Finding> out;
  const Result<std::string> bound = probe_listen(request.listen);
  out.push_back(judge_listen(request.listen, bound));
  const std::vector<std::string> hosts = own_hosts();
  out.push_back(is_of_this_machine_only(request.listen) ? judge_own_address(request.listen)
                                                        : judge_addresses(hosts));
  out.push_back(examine_mapping(request, bound));
  if (request.stun.empty()) {
    out.push_back(skipped("nat", "no --stun HOST:PORT to ask"));
  } else {
    out.push_back(judge_nat(hosts, probe_stun(request.stun, kStunLimit)));
  }
  return out;
}

Result<std::vector<DiscoveredRun>> runs_on_lan() { return discover_runs({}); }

Finding examine_rendezvous(const DoctorRequest& request, const Ticket* ticket) {
  if (request.rendezvous.empty()) {
    return skipped("rendezvous", has_opendht() ? "no --rendezvous HOST:PORT to ask"
                                               : "this program was built without OpenDHT");
  }
  const RunId run = ticket == nullptr ? RunId{} : ticket->run;
  const Result<std::vector<PeerAddress>> found =
      look_up_peers(opendht_maker(request.rendezvous), {run, kRendezvousLimit});
  if (found.ok()) {
    return {"rendezvous", DoctorResult::kGood,
            fmt::format("addresses of {} found",
                        counted(static_cast<std::int64_t>(found->size()), "member")),
            ""};
  }
  return {"rendezvous", DoctorResult::kNote, found.status().message(),
          "members write there if the recipe has group.rendezvous; UDP must pass"};
}

std::vector<Finding> examine_members(const Ticket& ticket, const PeerIdentity& identity) {
  std::vector<Finding> out;
  int reached = 0;
  const PeerAddress* first = nullptr;
  for (const PeerAddress& member : ticket.members) {
    std::vector<EndpointReport> reports;
    for (const std::string& endpoint : member.endpoints) {
      reports.push_back({endpoint, probe_dial(endpoint, kDialLimit)});
      if (reports.back().dial.outcome == DialOutcome::kConnected) break;
    }
    out.push_back(judge_member(member.id, reports));
    if (out.back().result != DoctorResult::kGood) continue;
    ++reached;
    if (first == nullptr) first = &member;
  }
  out.push_back(judge_reach(static_cast<int>(ticket.members.size()), reached));
  if (first == nullptr) return out;
  out.push_back(examine_handshake(*first, identity));
  if (out.back().result != DoctorResult::kGood) return out;
  std::string text;
  out.push_back(examine_recipe(ticket, identity, text));
  if (out.back().result == DoctorResult::kGood) out.push_back(examine_data(text));
  return out;
}

}  // namespace weft
