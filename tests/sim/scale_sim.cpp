// scale_sim: what one member of a view of N sends and receives; a line of JSON for each N.
//
//   scale_sim 16 64 256 1024 4096
#include <cstdio>
#include <cstdlib>

#include "weft/sim/membership/scale.h"

namespace {

void print(const char* name, const weft::Traffic& traffic) {
  std::printf(
      ", \"%s\": {\"messages_sent\": %llu, \"bytes_sent\": %llu, \"messages_received\": "
      "%llu, \"bytes_received\": %llu}",
      name, static_cast<unsigned long long>(traffic.messages_sent),
      static_cast<unsigned long long>(traffic.bytes_sent),
      static_cast<unsigned long long>(traffic.messages_received),
      static_cast<unsigned long long>(traffic.bytes_received));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: scale_sim N...\n");
    return 2;
  }
  bool all_changed = true;
  for (int i = 1; i < argc; ++i) {
    const int members = std::atoi(argv[i]);
    if (members < 8 || members > 4096) {
      std::fprintf(stderr, "scale_sim: expected 8 to 4096 members\n");
      return 2;
    }
    const weft::ScaleResult result = weft::measure_scale(members, 8);
    std::printf("{\"members\": %d, \"notice_bytes\": %llu, \"calls\": %llu", members,
                static_cast<unsigned long long>(result.notice_bytes),
                static_cast<unsigned long long>(result.calls));
    print("quiet_minute", result.quiet);
    print("change_proposer", result.proposer);
    print("change_other", result.other);
    std::printf("}\n");
    all_changed = all_changed && result.changed;
  }
  return all_changed ? 0 : 1;
}
