// A node of an OpenDHT network of its own, for tests of the rendezvous: prints its UDP port, and
// ends with its standard input. Exit code 77 where this build has no OpenDHT.
#include <cstdio>
#include <cstring>

#include <unistd.h>

#include "weft/net/event_loop.h"
#include "weft/net/rendezvous_opendht.h"

int main(int argc, char** argv) {
  if (!weft::has_opendht()) return 77;
  weft::EventLoop loop;
  weft::OpenDhtOptions options;
  options.local = argc < 2 || std::strcmp(argv[1], "--all-addresses") != 0;
  const auto node = weft::make_opendht_table(loop, options);
  if (!node.ok()) {
    std::fprintf(stderr, "%s\n", node.status().to_string().c_str());
    return 1;
  }
  std::printf("%d\n", (*node)->port());
  std::fflush(stdout);
  // The node has threads of its own; this one only waits.
  char byte = 0;
  while (::read(STDIN_FILENO, &byte, 1) > 0) {
  }
  return 0;
}
