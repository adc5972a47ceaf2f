// DemoProcess: one peer of the demo: its process, and its events so far.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "weft/app/demo/demo_report.h"
#include "weft/app/member/child_process.h"
#include "weft/base/status.h"

namespace weft {

class DemoProcess {
 public:
  // Starts this program with `arguments` and --out `folder` --json.
  static Result<DemoProcess> start(std::vector<std::string> arguments, const std::string& folder,
                                   int number);

  // Reads the new events of the process and returns them.
  std::vector<Event> listen();
  bool has_ended() { return child_.has_ended(); }
  void kill();
  ChildProcess& child() { return child_; }

  int number() const { return number_; }
  const std::string& peer_id() const { return peer_id_; }
  // As events write it.
  const std::string& name() const { return name_; }
  const std::string& ticket() const { return ticket_; }
  std::int64_t round() const { return round_; }
  bool killed() const { return killed_; }
  // The end of its output on standard error.
  std::string errors() const;
  DemoPeer report() const;

 private:
  DemoProcess(ChildProcess child, std::string folder, int number)
      : child_(std::move(child)), folder_(std::move(folder)), number_(number) {}

  ChildProcess child_;
  std::string folder_;
  int number_;
  std::string peer_id_;
  std::string name_;
  std::string ticket_;
  std::int64_t round_ = 0;
  bool killed_ = false;
  std::optional<Event> summary_;
};

}  // namespace weft
