#include "weft/app/folder/control_commands.h"

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "weft/app/folder/control_socket.h"
#include "weft/app/terminal/exit_code.h"
#include "weft/app/terminal/standard_output.h"
#include "weft/app/terminal/status_block.h"
#include "weft/base/log.h"
#include "weft/base/printable.h"
#include "weft/net/identity.h"
#include "weft/peer/revocations.h"
#include "weft/peer/ticket.h"
#include "weft/train/event/event.h"

namespace weft {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::int64_t kValidMaxS = 366LL * 24 * 3600;
constexpr std::size_t kReasonMax = 160;
// The peer's own limit for its answers is 2 s.
constexpr Duration kAnswerLimit = std::chrono::seconds(10);
// A process that is stopped gives none, and there may be many.
constexpr Duration kWaitAnswerLimit = std::chrono::seconds(3);

std::string code_text(Code code) {
  switch (code) {
    case Code::kInvalidArgument:
      return "invalid_argument";
    case Code::kTimeout:
      return "timeout";
    case Code::kCorrupt:
      return "corrupt";
    default:
      return "unavailable";
  }
}

std::string failure_text(const Status& status) {
  const Json json = {
      {"ok", false}, {"code", code_text(status.code())}, {"error", status.message()}};
  return json.dump(-1, ' ', true, Json::error_handler_t::replace);
}

std::string success(const Json& fields) {
  Json json = {{"ok", true}};
  json.update(fields);
  return json.dump(-1, ' ', true, Json::error_handler_t::replace);
}

Result<std::string> text_field(const Json& request, const char* name, std::size_t limit) {
  const auto found = request.find(name);
  if (found == request.end() || !found->is_string()) {
    return invalid_argument(fmt::format("control: expected the text \"{}\"", name));
  }
  auto text = found->get<std::string>();
  if (text.size() > limit) {
    return invalid_argument(fmt::format("control: {}: expected at most {} bytes", name, limit));
  }
  return text;
}

// What a revocation does not take away.
constexpr const char* kRemainsOfOne =
    "remains: a peer that was admitted with it is a member, and has had the run's key, from which "
    "it can make tickets, until you run `weft revoke OUT all`; `weft expel` votes to expel a "
    "member";
constexpr const char* kRemainsOfAll =
    "every ticket so far is void, and so is the key of everybody who is not a member now; remains: "
    "the members, who have the new key (`weft expel` votes to expel one); a member that is away "
    "needs a new ticket to come back";

Result<InvitationId> invitation_of(const std::string& text) {
  if (text == "all") return kAllInvitations;
  if (text.find("weft") != std::string::npos) {  // no hexadecimal digit is a w
    WEFT_TRY_ASSIGN(const Ticket ticket, parse_ticket(text));
    return ticket.invitation;
  }
  InvitationId invitation{};
  const Result<Bytes> bytes = from_hex(text);
  if (!bytes.ok() || bytes->size() != invitation.size()) {
    return invalid_argument(
        "revoke: expected a ticket, the 32 hexadecimal digits that `weft ticket` shows with it, or "
        "all");
  }
  std::copy(bytes->begin(), bytes->end(), invitation.begin());
  return invitation;
}

// The one member whose short name or id begins with `text`.
Result<PeerId> member_named(const SwarmStatus& status, const std::string& text) {
  std::vector<PeerId> fitting;
  for (const PeerStatus& member : status.members) {
    const bool fits =
        member.id.short_name().rfind(text, 0) == 0 || member.id.to_string().rfind(text, 0) == 0;
    if (fits && !text.empty()) fitting.push_back(member.id);
  }
  if (fitting.size() == 1) return fitting.front();
  std::string names;
  for (const PeerStatus& member : status.members) {
    names += (names.empty() ? "" : ", ") + member.id.short_name();
  }
  return invalid_argument(fmt::format("expel: '{}' names {} of the members {}", text,
                                      fitting.empty() ? "none" : "several", names));
}

Json names_of(const std::vector<PeerId>& peers) {
  Json names = Json::array();
  for (const PeerId& peer : peers) names.push_back(peer.short_name());
  return names;
}

Result<std::string> answer_status(GroupAdministration& group, const ControlContext& context) {
  WEFT_TRY_ASSIGN(const SwarmStatus status, group.status());
  Json members = Json::array();
  for (const PeerStatus& member : status.members) {
    members.push_back({{"peer", member.id.short_name()},
                       {"id", member.id.to_string()},
                       {"rank", member.rank.value()},
                       {"self", member.self},
                       {"linked", member.linked},
                       {"rtt_ms", member.rtt_seconds * 1e3}});
  }
  return success({{"run_id", context.run_id},
                  {"state", status.state},
                  {"view", status.view.number.value()},
                  {"known_members", status.known_members},
                  {"round", status.committed.value()},
                  {"waits_for", names_of(status.waits_for)},
                  {"waits_s", status.waits_seconds},
                  {"waits_limit_s", status.waits_limit_seconds},
                  {"awaited_by", names_of(status.awaited_by)},
                  {"absent", names_of(status.absent)},
                  {"unsent", names_of(status.unsent)},
                  {"members", std::move(members)}});
}

Result<std::string> answer_ticket(GroupAdministration& group, const ControlContext& context,
                                  const Json& request) {
  std::int64_t valid_s = context.ticket_valid_s;
  if (const auto found = request.find("valid_s"); found != request.end()) {
    if (!found->is_number_integer()) return invalid_argument("control: valid_s: expected seconds");
    valid_s = found->get<std::int64_t>();
  }
  if (valid_s < 1 || valid_s > kValidMaxS) {
    return invalid_argument(fmt::format("control: valid_s: expected 1 to {}", kValidMaxS));
  }
  WEFT_TRY_ASSIGN(const std::string line, group.ticket(std::chrono::seconds(valid_s)));
  const Result<Ticket> ticket = parse_ticket(line);
  if (!ticket.ok()) return unavailable("this peer has no ticket at present");
  Json fields = {{"ticket", line},
                 {"invitation", to_hex(ticket->invitation)},
                 {"valid_s", valid_s},
                 {"expires_unix_s", ticket->expiry_unix_s}};
  // Members that agree on nothing cannot agree that it is void.
  if (const Result<SwarmStatus> status = group.status(); status.ok()) {
    fields["revocable"] = status->known_members == 0;
  }
  const Json code = request.value("code", Json(false));
  if (!code.is_boolean()) return invalid_argument("control: code: expected true or false");
  if (code.get<bool>()) {
    WEFT_TRY_ASSIGN(fields["code"], group.join_code(line));
  }
  return success(fields);
}

Result<std::string> answer_revoke(GroupAdministration& group, const Json& request) {
  WEFT_TRY_ASSIGN(const std::string text, text_field(request, "invitation", kTicketTextMax));
  WEFT_TRY_ASSIGN(const InvitationId invitation, invitation_of(text));
  WEFT_TRY(group.revoke(invitation));
  const bool all = invitation == kAllInvitations;
  return success({{"invitation", all ? std::string("all") : to_hex(invitation)},
                  {"remains", all ? kRemainsOfAll : kRemainsOfOne}});
}

Result<std::string> answer_expel(GroupAdministration& group, const Json& request) {
  WEFT_TRY_ASSIGN(const std::string text, text_field(request, "peer", 64));
  WEFT_TRY_ASSIGN(const std::string reason, text_field(request, "reason", kReasonMax));
  WEFT_TRY_ASSIGN(const SwarmStatus status, group.status());
  WEFT_TRY_ASSIGN(const PeerId peer, member_named(status, text));
  WEFT_TRY_ASSIGN(const std::string outcome, group.expel(peer, reason));
  return success({{"peer", peer.short_name()}, {"text", outcome}});
}

Result<std::string> answer_request(GroupAdministration& group, const ControlContext& context,
                                   std::string_view line) {
  const Json request = Json::parse(line, nullptr, false);
  if (!request.is_object()) return invalid_argument("control: expected a JSON object");
  WEFT_TRY_ASSIGN(const std::string command, text_field(request, "command", 32));
  if (command == "status") return answer_status(group, context);
  if (command == "ticket") return answer_ticket(group, context, request);
  if (command == "revoke") return answer_revoke(group, request);
  if (command == "expel") return answer_expel(group, request);
  return invalid_argument("control: expected the command status, ticket, revoke or expel");
}

// So that a Result never confuses it with a Status.
struct Fields {
  Json json;
};

// The answer's fields, or what the peer says against the request.
Result<Fields> ask_peer(const std::string& out, const Json& request,
                        Duration limit = kAnswerLimit) {
  WEFT_TRY_ASSIGN(const std::string line, ask_control(out, request.dump(), limit));
  Json answer = Json::parse(line, nullptr, false);
  if (!answer.is_object()) return corrupt(out + "/control.sock: the answer is not a JSON object");
  if (answer.value("ok", false)) return Fields{std::move(answer)};
  const std::string why = answer.value("error", std::string("no reason was given"));
  if (answer.value("code", std::string()) == "invalid_argument") return invalid_argument(why);
  return unavailable(why);
}

// Prints `text(answer)`, or the whole answer with --json.
template <class Text>
ExitCode show(const ControlRequest& request, const Result<Fields>& answer, Text text) {
  if (!answer.ok()) return report(answer.status());
  const std::string shown = request.json ? answer->json.dump() : text(answer->json);
  print_text(shown + "\n");
  return ExitCode::kOk;
}

double to_hours(std::int64_t seconds) { return static_cast<double>(seconds) / 3600.0; }

std::vector<std::string> list_in(const Json& answer, const char* field) {
  std::vector<std::string> names;
  const auto found = answer.find(field);
  if (found == answer.end() || !found->is_array()) return names;
  for (const Json& name : *found) {
    if (name.is_string()) names.push_back(name.get<std::string>());
  }
  return names;
}

std::string names_in(const Json& answer, const char* field) {
  return fmt::format("{}", fmt::join(list_in(answer, field), ", "));
}

// The log's newest round as a line, which says how far the run is and how well it learns; or "".
std::string newest_round(const std::string& out) {
  // Holds hundreds of rounds.
  constexpr std::streamoff kTailBytes = 256 * 1024;
  std::ifstream log(out + "/events.jsonl", std::ios::binary | std::ios::ate);
  log.seekg(std::max(std::streamoff{0}, static_cast<std::streamoff>(log.tellg()) - kTailBytes));
  std::string found;
  for (std::string line; std::getline(log, line);) {
    const Result<Event> event = parse_event(line);
    if (event.ok() && event->kind == "round") found = "\n" + round_line(*event);
  }
  return found;
}

std::string status_text(const Json& answer, const std::string& out) {
  // Members that agree on nothing have no view.
  const auto known = answer.value("known_members", std::uint64_t{0});
  const std::string group = known > 0
                                ? counted(static_cast<std::int64_t>(known), "member") + " known"
                                : fmt::format("view {}", answer.value("view", std::uint64_t{0}));
  std::string text = fmt::format("{}: {}, round {}", answer.value("state", std::string()), group,
                                 answer.value("round", std::uint64_t{0}));
  text += newest_round(out);
  for (const Json& member : answer.value("members", Json::array())) {
    std::string about = fmt::format("{:.1f} ms away", member.value("rtt_ms", 0.0));
    if (member.value("self", false)) {
      about = "this peer";
    } else if (!member.value("linked", false)) {
      about = "no link";
    }
    text += fmt::format("\n  {}  {}", member.value("peer", std::string()), about);
  }
  const std::uint64_t listed = answer.value("members", Json::array()).size();
  if (known > listed) text += fmt::format("\n  and {} more", known - listed);
  if (const std::string names = names_in(answer, "waits_for"); !names.empty()) {
    text += fmt::format("\nwaits for {} for {:.1f} s, at most {:.0f} s", names,
                        answer.value("waits_s", 0.0), answer.value("waits_limit_s", 0.0));
  }
  if (const std::string names = names_in(answer, "awaited_by"); !names.empty()) {
    text += fmt::format("\nthis peer's part is awaited by {}", names);
  }
  return text;
}

}  // namespace

std::string answer_control(GroupAdministration& group, const ControlContext& context,
                           std::string_view request) {
  const Result<std::string> answer = answer_request(group, context, request);
  return answer.ok() ? *answer : failure_text(answer.status());
}

ExitCode status_command(const ControlRequest& request) {
  return show(request, ask_peer(request.out, {{"command", "status"}}),
              [&request](const Json& answer) { return status_text(answer, request.out); });
}

Result<Event> present_wait(const std::string& out) {
  WEFT_TRY_ASSIGN(const Fields answer, ask_peer(out, {{"command", "status"}}, kWaitAnswerLimit));
  const auto number = [&](const char* field) {
    const auto found = answer.json.find(field);
    return found != answer.json.end() && found->is_number() ? found->get<double>() : 0.0;
  };
  return Event("waiting")
      .with("round", static_cast<std::int64_t>(number("round")) + 1)
      .with("peers", list_in(answer.json, "waits_for"))
      .with("seconds", number("waits_s"))
      .with("absent", list_in(answer.json, "absent"))
      .with("unsent", list_in(answer.json, "unsent"));
}

ExitCode ticket_command(const ControlRequest& request) {
  Json asked = {{"command", "ticket"}};
  if (request.code) asked["code"] = true;
  if (request.valid_h > 0) asked["valid_s"] = static_cast<std::int64_t>(request.valid_h * 3600.0);
  const Result<Fields> answer = ask_peer(request.out, asked);
  const ExitCode code = show(request, answer, [](const Json& fields) {
    const std::string short_code = fields.value("code", std::string());
    return fields.value("ticket", std::string()) + (short_code.empty() ? "" : "\n" + short_code);
  });
  if (code == ExitCode::kOk && !request.json) {
    const Json& fields = answer->json;
    const std::int64_t valid_s = fields.value("valid_s", std::int64_t{0});
    const std::string valid =
        valid_s < 3600 ? counted(valid_s, "second") : fmt::format("{:.1f} h", to_hours(valid_s));
    const std::string revoke = fields.value("revocable", true)
                                   ? fmt::format("to revoke it: weft revoke {} {}", request.out,
                                                 fields.value("invitation", std::string()))
                                   : std::string("it cannot be revoked");
    write_error(fmt::format("weft: valid for {}; {}\n", valid, revoke));
  }
  return code;
}

ExitCode revoke_command(const ControlRequest& request) {
  const Json asked = {{"command", "revoke"}, {"invitation", request.subject}};
  return show(request, ask_peer(request.out, asked), [](const Json& fields) {
    return "revoked for all members: " + fields.value("invitation", std::string()) + "\n" +
           fields.value("remains", std::string());
  });
}

ExitCode expel_command(const ControlRequest& request) {
  const Json asked = {{"command", "expel"}, {"peer", request.subject}, {"reason", request.reason}};
  return show(request, ask_peer(request.out, asked),
              [](const Json& fields) { return fields.value("text", std::string()); });
}

ExitCode id_command(const ControlRequest& request) {
  const Result<PeerIdentity> identity = PeerIdentity::load_or_create(request.out + "/identity");
  if (!identity.ok()) return report(identity.status());
  const std::string id = identity->id().to_string();
  print_text((request.json ? Json({{"id", id}}).dump() : id) + "\n");
  return ExitCode::kOk;
}

}  // namespace weft
