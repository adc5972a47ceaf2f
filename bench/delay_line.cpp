// A line with a long delay between two network namespaces, for kernels without netem.
//
// usage (root): delay_line NAMESPACE_A NAMESPACE_B DELAY_MS RATE_MBIT QUEUE_MS
// Makes a TUN device `line` in each namespace and passes packets between them: each is held back
// until the line has sent it at its rate and the delay (one way) has passed. Packets that would
// wait longer than QUEUE_MS for the line are dropped. Prints "ready"; the addresses are set by who
// started it. Runs until it is killed, and prints what it passed and dropped then.
#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <string>
#include <vector>

#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <unistd.h>

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kPacketBytesMax = 2048;
constexpr int kPacketsPerTurn = 64;

volatile std::sig_atomic_t stopped = 0;

void fail(const std::string& what) {
  std::fprintf(stderr, "delay_line: %s: %s\n", what.c_str(), std::strerror(errno));
  std::_Exit(1);
}

int open_device(const std::string& name) {
  const int space = ::open(("/run/netns/" + name).c_str(), O_RDONLY | O_CLOEXEC);
  if (space < 0 || ::setns(space, CLONE_NEWNET) != 0) fail("namespace " + name);
  ::close(space);
  const int device = ::open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
  ifreq request{};
  std::strncpy(request.ifr_name, "line", IFNAMSIZ - 1);
  request.ifr_flags = IFF_TUN | IFF_NO_PI;
  if (device < 0 || ::ioctl(device, TUNSETIFF, &request) != 0) fail("device in " + name);
  return device;
}

struct Packet {
  Clock::time_point due;
  std::vector<char> bytes;
};

// What goes one way.
struct Direction {
  int from = -1;
  int to = -1;
  Clock::time_point free{};
  std::deque<Packet> packets;
  std::uint64_t passed = 0;
  std::uint64_t dropped = 0;
};

struct Rules {
  Clock::duration delay;
  Clock::duration queue;
  double nanoseconds_per_byte;
};

void take_in(Direction& way, const Rules& rules) {
  std::array<char, kPacketBytesMax> buffer;
  for (int i = 0; i < kPacketsPerTurn; ++i) {
    const ssize_t size = ::read(way.from, buffer.data(), buffer.size());
    if (size <= 0) return;
    const Clock::time_point now = Clock::now();
    const Clock::time_point begin = std::max(now, way.free);
    if (begin - now > rules.queue) {
      ++way.dropped;
      continue;
    }
    way.free = begin + std::chrono::nanoseconds(static_cast<std::int64_t>(
                           static_cast<double>(size) * rules.nanoseconds_per_byte));
    way.packets.push_back({way.free + rules.delay, {buffer.data(), buffer.data() + size}});
  }
}

void give_out(Direction& way) {
  const Clock::time_point now = Clock::now();
  while (!way.packets.empty() && way.packets.front().due <= now) {
    const std::vector<char>& bytes = way.packets.front().bytes;
    // The device takes it or drops it, as a network card would.
    if (::write(way.to, bytes.data(), bytes.size()) > 0) ++way.passed;
    way.packets.pop_front();
  }
}

void pass(int a, int b, const Rules& rules) {
  std::array<Direction, 2> ways;
  ways[0] = {a, b, {}, {}, 0, 0};
  ways[1] = {b, a, {}, {}, 0, 0};
  std::array<pollfd, 2> polled{pollfd{a, POLLIN, 0}, pollfd{b, POLLIN, 0}};
  while (stopped == 0) {
    Clock::time_point next = Clock::now() + std::chrono::milliseconds(100);
    for (const Direction& way : ways) {
      if (!way.packets.empty()) next = std::min(next, way.packets.front().due);
    }
    const auto wait = std::max(next - Clock::now(), Clock::duration::zero());
    const auto nanoseconds = std::chrono::duration_cast<std::chrono::nanoseconds>(wait).count();
    const timespec limit{0, nanoseconds};
    ::ppoll(polled.data(), polled.size(), &limit, nullptr);
    for (Direction& way : ways) {
      take_in(way, rules);
      give_out(way);
    }
  }
  for (const Direction& way : ways) {
    std::printf("passed %llu, dropped %llu\n", static_cast<unsigned long long>(way.passed),
                static_cast<unsigned long long>(way.dropped));
  }
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 6) {
    std::fprintf(stderr, "usage: see the top of delay_line.cpp\n");
    return 2;
  }
  std::signal(SIGTERM, [](int) { stopped = 1; });
  const int a = open_device(arguments[1]);
  const int b = open_device(arguments[2]);
  Rules rules{};
  rules.delay = std::chrono::microseconds(static_cast<int>(1000 * std::atof(arguments[3])));
  rules.nanoseconds_per_byte = 8000.0 / std::atof(arguments[4]);
  rules.queue = std::chrono::microseconds(static_cast<int>(1000 * std::atof(arguments[5])));
  std::printf("ready\n");
  std::fflush(stdout);
  pass(a, b, rules);
  return 0;
}
