// The commands that send a request to a running peer: ticket, revoke, expel, status; and id.
//
// Requests and answers are JSON objects of one line each:
//
//   {"command":"status"}
//   {"command":"ticket","valid_s":86400,"code":true}
//   {"command":"revoke","invitation":"32 hexadecimal digits, a ticket, or all"}
//   {"command":"expel","peer":"name or id, or its beginning","reason":"for the log"}
//   {"ok":true, ...} or {"ok":false,"code":"invalid_argument","error":"..."}
//
// Threads: answer_control() on the control socket's; the commands on the main thread.
// Fails: bad requests are answered with what was expected.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "weft/app/terminal/exit_code.h"
#include "weft/base/status.h"
#include "weft/train/event/event.h"
#include "weft/train/exchange/group_administration.h"

namespace weft {

struct ControlContext {
  std::string run_id;
  // For tickets that are requested without a time.
  std::int64_t ticket_valid_s = 24 * 3600;
};

std::string answer_control(GroupAdministration& group, const ControlContext& context,
                           std::string_view request);

struct ControlRequest {
  // The folder of the running peer.
  std::string out;
  double valid_h = 0;  // 0: the recipe's value
  bool code = false;   // ticket: also a code for the local network
  // revoke: a ticket or its id. expel: a member.
  std::string subject;
  std::string reason = "a person asked for it";
  bool json = false;
};
ExitCode status_command(const ControlRequest& request);
ExitCode ticket_command(const ControlRequest& request);
ExitCode revoke_command(const ControlRequest& request);
ExitCode expel_command(const ControlRequest& request);
// The wait of a running peer as an event "waiting", of 0 seconds where it does not wait. Fails:
// kUnavailable where none runs in the folder `out`, kTimeout where it does not answer soon.
Result<Event> present_wait(const std::string& out);
// The id of the peer whose folder is `out`, which need not run; its key is made where it has none.
ExitCode id_command(const ControlRequest& request);

}  // namespace weft
