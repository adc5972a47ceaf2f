// hostile_crowd: many strangers at once, each of whom comes again whenever it is thrown out.
//
//   hostile_crowd --target HOST:PORT --peer PEER_ID --kind silent|garbage|half|frames|mixed
//                 --count N [--from A.B.C.D --addresses N]
//
// Stranger number i comes from the address i mod `addresses` after A.B.C.D. Says "ready" once all
// have come for the first time, then a line of figures a second, until standard input ends.
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <arpa/inet.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "frame_makers.h"
#include "raw_link.h"
#include "weft/base/time.h"
#include "weft/wire/frame_type.h"

namespace weft::hostile {
namespace {

using std::chrono::milliseconds;

// A stranger that was thrown out comes again after this.
constexpr Duration kPause = std::chrono::seconds(1);
// Between two frames of one stranger that has a link.
constexpr Duration kFrameGap = milliseconds(200);

enum class Kind : std::uint8_t {
  kSilent,   // connects and says nothing
  kGarbage,  // says random bytes
  kHalf,     // begins the handshake and does not go on with it
  kFrames,   // has a link in good order, and says frames of all types over it
};

struct Settings {
  RawTarget target;
  std::optional<Kind> kind;  // nothing: all of them
  std::size_t count = 32;
  std::string from;
  std::size_t addresses = 1;
};

struct Figures {
  std::size_t connected = 0;
  std::size_t failed = 0;
  std::size_t thrown_out = 0;
  std::size_t links = 0;
  std::size_t frames = 0;
};

// The first words of a handshake.
Bytes client_hello(TlsContext& context) {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends.data()) != 0) return {};
  const Socket ours(ends[0]);
  const Socket theirs(ends[1]);
  static_cast<void>(context.dial(ours.get())->handshake());
  Bytes bytes(4096);
  const ssize_t got = ::recv(theirs.get(), bytes.data(), bytes.size(), 0);
  bytes.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  return bytes;
}

// What all strangers share.
struct Crowd {
  Settings settings;
  Figures figures;
  std::vector<FrameKind> kinds = frame_kinds();
  std::unique_ptr<TlsContext> hello_context;
  Bytes hello;
  int poller = -1;
  Rng rng{1};
};

class Stranger {
 public:
  Stranger(Crowd& crowd, std::size_t number, Kind kind)
      : crowd_(crowd), number_(number), kind_(kind), identity_(PeerIdentity::generate()) {}

  bool came() const { return came_; }
  TimePoint due() const { return due_; }

  // Something happened to one of its connections, or its time has come.
  void step(TimePoint now) {
    if (lanes_[0] == nullptr && now >= due_) come();
    for (std::size_t at = 0; at < lanes_.size() && lanes_[at] != nullptr; ++at) {
      if (!go_on(at, now)) return leave(now);
    }
    if (ready_[1] && now >= due_ && lanes_[1] != nullptr) speak(now);
  }

 private:
  std::string source() const {
    const Settings& settings = crowd_.settings;
    if (settings.from.empty()) return "";
    in_addr address{};
    inet_pton(AF_INET, settings.from.c_str(), &address);
    const auto shift = static_cast<std::uint32_t>(number_ % settings.addresses);
    address.s_addr = htonl(ntohl(address.s_addr) + shift);
    std::array<char, INET_ADDRSTRLEN> text{};
    inet_ntop(AF_INET, &address, text.data(), text.size());
    return text.data();
  }

  void come() {
    came_ = true;
    context_.reset();
    if (kind_ == Kind::kFrames) context_ = TlsContext::make(identity_).value();
    for (std::uint8_t& byte : link_) byte = static_cast<std::uint8_t>(crowd_.rng.next_u32());
    open_lane(0);
  }

  void open_lane(std::size_t at) {
    auto lane = std::make_unique<RawLane>();
    const Status begun = lane->begin(context_.get(), crowd_.settings.target.endpoint, source());
    ready_[at] = false;
    greeted_[at] = false;
    if (!begun.ok()) {
      failed_ = true;
      return;
    }
    epoll_event event{};
    event.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET;
    event.data.u64 = number_;
    ::epoll_ctl(crowd_.poller, EPOLL_CTL_ADD, lane->descriptor(), &event);
    lanes_[at] = std::move(lane);
  }

  // False once the connection is over.
  bool go_on(std::size_t at, TimePoint now) {
    RawLane& lane = *lanes_[at];
    if (failed_) return false;
    if (!ready_[at]) {
      const IoState state = lane.advance();
      if (state == IoState::kWantRead || state == IoState::kWantWrite) return true;
      if (state != IoState::kMore) return false;
      ready_[at] = true;
      ++crowd_.figures.connected;
      if (!say_first(at)) return false;
      due_ = now + kFrameGap;
    }
    const bool open = lane.read_some();
    for (const HeardFrame& frame : lane.take_heard()) {
      if (frame.type == frame_type::kGoodbye) return false;
      if (frame.type == frame_type::kHelloReply && !greeted_[at]) {
        greeted_[at] = true;
        if (at == 0) open_lane(1);
        if (at == 1) ++crowd_.figures.links;
      }
    }
    return open;
  }

  // A connection of each kind says at most this before it listens.
  bool say_first(std::size_t at) {
    const SystemClock clock;
    if (kind_ == Kind::kSilent) return true;
    Bytes words;
    if (kind_ == Kind::kGarbage) {
      words.resize(1 + crowd_.rng.below(2000));
      for (std::uint8_t& byte : words) byte = static_cast<std::uint8_t>(crowd_.rng.next_u32());
    } else if (kind_ == Kind::kHalf) {
      words = crowd_.hello;
      // Some say all of it, so that the other side has to sign its answer.
      if (number_ % 2 == 0) words.resize(words.size() / 2);
    } else {
      const Lane lane = at == 0 ? Lane::kControl : Lane::kBulk;
      words = framed(frame_type::kHello,
                     hello_of(identity_.id(), crowd_.settings.target.peer, lane, link_).encode());
    }
    return lanes_[at]->write(words, clock.now()).ok();
  }

  void speak(TimePoint now) {
    if (!greeted_[1]) return;
    due_ = now + kFrameGap;
    const FrameKind& kind = crowd_.kinds[crowd_.rng.below(crowd_.kinds.size())];
    if (kind.type == frame_type::kHello || kind.type == frame_type::kGoodbye) return;
    Facts facts;
    facts.self = identity_.id();
    facts.peer = crowd_.settings.target.peer;
    const Bytes frame = framed(kind.type, kind.head(facts, crowd_.rng), Bytes(kind.body_bytes));
    ++crowd_.figures.frames;
    if (!lanes_[lane_index(kind.lane)]->write(frame, now).ok()) leave(now);
  }

  void leave(TimePoint now) {
    ++(ready_[0] ? crowd_.figures.thrown_out : crowd_.figures.failed);
    for (auto& lane : lanes_) lane.reset();
    ready_ = {};
    failed_ = false;
    due_ = now + kPause + milliseconds(crowd_.rng.below(200));
  }

  Crowd& crowd_;
  std::size_t number_;
  Kind kind_;
  PeerIdentity identity_;
  std::unique_ptr<TlsContext> context_;
  LinkId link_{};
  std::array<std::unique_ptr<RawLane>, 2> lanes_;
  std::array<bool, 2> ready_{};
  std::array<bool, 2> greeted_{};
  bool came_ = false;
  bool failed_ = false;
  TimePoint due_{};
};

bool input_ended() {
  pollfd input{STDIN_FILENO, POLLIN, 0};
  std::array<char, 64> piece{};
  return ::poll(&input, 1, 0) > 0 && ::read(STDIN_FILENO, piece.data(), piece.size()) <= 0;
}

void tell(const std::string& line) {
  std::fputs((line + "\n").c_str(), stdout);
  std::fflush(stdout);
}

void run_crowd(Crowd& crowd) {
  const SystemClock clock;
  std::vector<std::unique_ptr<Stranger>> strangers;
  for (std::size_t i = 0; i < crowd.settings.count; ++i) {
    const Kind kind = crowd.settings.kind.value_or(static_cast<Kind>(i % 4));
    strangers.push_back(std::make_unique<Stranger>(crowd, i, kind));
  }
  bool told = false;
  TimePoint report_at = clock.now();
  TimePoint sweep_at = clock.now();
  std::array<epoll_event, 256> events{};
  while (!input_ended()) {
    const int count =
        ::epoll_wait(crowd.poller, events.data(), static_cast<int>(events.size()), 10);
    const TimePoint now = clock.now();
    for (int i = 0; i < count; ++i) {
      strangers[events[static_cast<std::size_t>(i)].data.u64]->step(now);
    }
    if (now >= sweep_at) {
      sweep_at = now + milliseconds(10);
      for (const auto& stranger : strangers) {
        if (now >= stranger->due()) stranger->step(now);
      }
    }
    const auto came = [](const auto& stranger) { return stranger->came(); };
    if (!told && std::all_of(strangers.begin(), strangers.end(), came)) {
      told = true;
      tell("ready");
    }
    if (told && now >= report_at) {
      report_at = now + std::chrono::seconds(1);
      const Figures& f = crowd.figures;
      tell(fmt::format(R"({{"connected":{},"failed":{},"thrown_out":{},"links":{},"frames":{}}})",
                       f.connected, f.failed, f.thrown_out, f.links, f.frames));
    }
  }
}

std::optional<Settings> parse_settings(int argc, char** argv) {
  std::map<std::string, std::string> values;
  for (int i = 1; i + 1 < argc; i += 2) values[argv[i]] = argv[i + 1];
  Settings settings;
  settings.target.endpoint = values["--target"];
  const Result<Bytes> peer = from_hex(values["--peer"]);
  if (!peer.ok() || peer->size() != settings.target.peer.bytes.size()) return std::nullopt;
  std::copy(peer->begin(), peer->end(), settings.target.peer.bytes.begin());
  const std::map<std::string, Kind> kinds = {{"silent", Kind::kSilent},
                                             {"garbage", Kind::kGarbage},
                                             {"half", Kind::kHalf},
                                             {"frames", Kind::kFrames}};
  const auto kind = kinds.find(values["--kind"]);
  if (kind != kinds.end()) settings.kind = kind->second;
  if (kind == kinds.end() && values["--kind"] != "mixed") return std::nullopt;
  settings.count = std::strtoull(values["--count"].c_str(), nullptr, 10);
  settings.from = values["--from"];
  settings.addresses = std::max(1ULL, std::strtoull(values["--addresses"].c_str(), nullptr, 10));
  return settings;
}

int crowd_main(int argc, char** argv) {
  const std::optional<Settings> settings = parse_settings(argc, argv);
  if (!settings) {
    std::fputs(
        "usage: hostile_crowd --target HOST:PORT --peer ID --count N "
        "--kind silent|garbage|half|frames|mixed [--from ADDRESS --addresses N]\n",
        stderr);
    return 2;
  }
  rlimit files{};
  ::getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = files.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &files);
  Crowd crowd;
  crowd.settings = *settings;
  const PeerIdentity somebody = PeerIdentity::generate();
  crowd.hello_context = TlsContext::make(somebody).value();
  crowd.hello = client_hello(*crowd.hello_context);
  const Socket poller(::epoll_create1(EPOLL_CLOEXEC));
  crowd.poller = poller.get();
  run_crowd(crowd);
  return 0;
}

}  // namespace
}  // namespace weft::hostile

int main(int argc, char** argv) { return weft::hostile::crowd_main(argc, argv); }
