#include "weft/app/folder/find_run.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <utility>

#include <fmt/format.h>
#include <unistd.h>

#include "weft/base/printable.h"

namespace weft {

namespace {

constexpr std::size_t kAnswerBytesMax = kTicketTextMax + 2;
constexpr std::size_t kTagCharacters = 8;

std::string tag_text(const DiscoveredRun& run) { return to_hex(run.tag).substr(0, kTagCharacters); }

std::string invite_text(DiscoveryInvite invite) {
  switch (invite) {
    case DiscoveryInvite::kOpen:
      return "open";
    case DiscoveryInvite::kTicket:
      return "ticket";
    case DiscoveryInvite::kAllowlist:
      return "listed peers";
  }
  return "";
}

Result<const DiscoveredRun*> run_named(const std::vector<DiscoveredRun>& runs,
                                       const std::string& wanted) {
  const DiscoveredRun* found = nullptr;
  for (const DiscoveredRun& run : runs) {
    if (run.name.rfind(wanted, 0) != 0 && to_hex(run.tag).rfind(wanted, 0) != 0) continue;
    if (found != nullptr) {
      return invalid_argument(
          fmt::format("--run {}: several runs begin with that; name one by its tag", wanted));
    }
    found = &run;
  }
  if (found == nullptr) {
    return unavailable(fmt::format("--run {}: no such run answered:\n{}", wanted, run_list(runs)));
  }
  return found;
}

Result<const DiscoveredRun*> run_asked(const std::vector<DiscoveredRun>& runs,
                                       const AskPerson& ask) {
  const std::optional<std::string> line = ask(fmt::format("Which one? [1-{}] ", runs.size()));
  if (!line) return invalid_argument("join: choose one with --run NAME, or give a ticket");
  std::size_t number = 0;
  const char* end = line->data() + line->size();
  const auto parsed = std::from_chars(line->data(), end, number);
  if (parsed.ec != std::errc() || parsed.ptr != end || number < 1 || number > runs.size()) {
    return invalid_argument(fmt::format("join: expected a number of 1 to {}", runs.size()));
  }
  return &runs[number - 1];
}

// The invitation of the first answer; every member of the run takes every other's.
Ticket open_ticket(const DiscoveredRun& run) {
  const OpenInvitation& open = *run.answers.front().open;
  Ticket ticket;
  ticket.run = open.run;
  ticket.recipe = recipe_check(open.run, open.invitation, open.recipe_hash);
  ticket.invitation = open.invitation;
  ticket.expiry_unix_s = open.expiry_unix_s;
  ticket.secret = open.secret;
  return with_members(std::move(ticket), run.addresses());
}

std::string trimmed(const std::string& text) {
  const std::size_t begin = text.find_first_not_of(" \t\r\n");
  if (begin == std::string::npos) return "";
  return text.substr(begin, text.find_last_not_of(" \t\r\n") - begin + 1);
}

}  // namespace

std::string run_list(const std::vector<DiscoveredRun>& runs) {
  std::string out;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const DiscoveredRun& run = runs[i];
    // Where it listens, which need not be where its answer came from.
    const DiscoveredMember& first = run.answers.front();
    out += fmt::format("{:>3}  {:<32} {:>11}  {:<12}  {}  at {}\n", i + 1, printable(run.name),
                       counted(run.members(), "member"), invite_text(run.invite), tag_text(run),
                       first.endpoints.empty() ? first.source : first.endpoints.front());
  }
  return out;
}

Result<Ticket> choose_run(const std::vector<DiscoveredRun>& runs, const std::string& wanted,
                          const AskPerson& ask) {
  if (runs.empty()) {
    return unavailable(
        "join: no run answers on this network; paste the ticket that a member prints: weft join "
        "weft2-... (`weft doctor` shows whether this network passes the query on)");
  }
  WEFT_TRY_ASSIGN(const DiscoveredRun* run,
                  wanted.empty() ? run_asked(runs, ask) : run_named(runs, wanted));
  if (run->answers.front().open) return open_ticket(*run);
  const std::optional<std::string> line =
      ask("This run needs a ticket; paste the one that a member printed: ");
  if (!line) return invalid_argument("join: this run needs a ticket: weft join weft2-...");
  WEFT_TRY_ASSIGN(Ticket ticket, parse_ticket(*line));
  if (discovery_tag(ticket.run) != run->tag) {
    return invalid_argument("join: the ticket is for another run than the one chosen");
  }
  return ticket;
}

Result<Ticket> find_run(const FindRunOptions& options, const AskPerson& ask,
                        const std::function<void(const std::string&)>& show) {
  DiscoverOptions search;
  search.limit = options.limit;
  search.place = options.place;
  WEFT_TRY_ASSIGN(const std::vector<DiscoveredRun> runs, discover_runs(search));
  if (!runs.empty() && options.wanted.empty()) {
    show("runs on this network:\n" + run_list(runs));
  }
  return choose_run(runs, options.wanted, ask);
}

Result<Ticket> ticket_or_code(const std::string& text, const FindRunOptions& options) {
  if (!looks_like_join_code(text)) return parse_ticket(text);
  WEFT_TRY_ASSIGN(const JoinCode code, parse_join_code(text));
  const Result<std::string> line = discover_ticket(code, options.place, options.code_limit);
  if (line.ok()) return parse_ticket(*line);
  return unavailable(fmt::format(
      "{} ({}). A code is valid on the network of the member that printed it, while that member "
      "takes part and until its ticket expires. Ask for another code (weft ticket OUT --code), or "
      "for the ticket, which is valid anywhere; `weft doctor` shows whether this network passes "
      "the question",
      line.status().message(), format_join_code(code)));
}

Ticket with_members(Ticket ticket, const std::vector<PeerAddress>& found) {
  std::vector<PeerAddress> members;
  const auto add = [&](const PeerAddress& address) {
    auto same = std::find_if(members.begin(), members.end(),
                             [&](const auto& known) { return known.id == address.id; });
    if (same == members.end()) {
      if (members.size() == kTicketAddressesMax) return;
      same = members.insert(same, PeerAddress{address.id, {}});
    }
    PeerAddress& member = *same;
    for (const std::string& endpoint : address.endpoints) {
      const auto& known = member.endpoints;
      if (known.size() == kEndpointsMax) return;
      if (std::find(known.begin(), known.end(), endpoint) == known.end()) {
        member.endpoints.push_back(endpoint);
      }
    }
  };
  for (const PeerAddress& address : found) add(address);
  for (const PeerAddress& address : ticket.members) add(address);
  ticket.members = std::move(members);
  return ticket;
}

Result<Ticket> refresh_ticket(const Ticket& ticket, const FindRunOptions& options) {
  DiscoverOptions search;
  search.run = ticket.run;
  search.limit = options.limit;
  search.place = options.place;
  const Result<std::vector<DiscoveredRun>> runs = discover_runs(search);
  std::vector<PeerAddress> found;
  if (runs.ok()) {
    for (const DiscoveredRun& run : *runs) {
      const std::vector<PeerAddress> more = run.addresses();
      found.insert(found.end(), more.begin(), more.end());
    }
  }
  if (found.empty() && options.make_table) {
    const LookUpOptions look{ticket.run, options.rendezvous_limit};
    const Result<std::vector<PeerAddress>> left = look_up_peers(options.make_table, look);
    if (!left.ok()) return left.status();
    found = *left;
  }
  if (found.empty()) return unavailable("no member of the run answers on this network either");
  return with_members(ticket, found);
}

bool is_terminal_there() { return ::isatty(STDIN_FILENO) == 1 && ::isatty(STDERR_FILENO) == 1; }

std::optional<std::string> ask_on_terminal(const std::string& question) {
  // Standard output may be read by a program.
  std::fputs(question.c_str(), stderr);
  std::string line;
  for (int letter = std::getchar(); letter != EOF; letter = std::getchar()) {
    if (letter == '\n' || line.size() >= kAnswerBytesMax) return trimmed(line);
    line.push_back(static_cast<char>(letter));
  }
  if (line.empty()) return std::nullopt;
  return trimmed(line);
}

}  // namespace weft
