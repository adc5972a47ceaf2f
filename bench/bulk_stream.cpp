// A stream of bulk frames from one transport to another, over TLS: what one link carries.
//
// usage: bulk_stream receive HOST:PORT SECONDS        prints its id, then a line for each second
//        bulk_stream send ID HOST:PORT SECONDS [CONNECTIONS]
// CONNECTIONS as ListenOptions::connections: 0, each link decides by itself. Each line of the
// receiver is JSON: megabits that arrived in that second and the connections that carry them.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "weft/net/tls_transport.h"

namespace {

using weft::Lane;

constexpr std::uint8_t kType = 0x70;
constexpr std::size_t kBodyBytes = 256 * 1024;
constexpr std::size_t kQueuedBytes = 8 << 20;

struct Stream : weft::TransportHandler {
  weft::LinkTrust first_trust(const weft::LinkInfo& /*link*/) override {
    return weft::LinkTrust::kProved;
  }
  void on_link_up(const weft::LinkInfo& link) override { peer = link.peer; }
  void on_link_down(const weft::PeerId& /*peer*/, const weft::Status& why) override {
    std::fprintf(stderr, "%s\n", why.to_string().c_str());
    down = true;
  }
  void on_frame(const weft::PeerId& /*from*/, Lane /*lane*/,
                const weft::FrameView& frame) override {
    bytes += frame.body.size();
  }
  void on_writable(const weft::PeerId& /*peer*/, Lane /*lane*/) override { fill(); }
  void fill() {
    while (transport->linked(peer) && transport->queued_bytes(peer, Lane::kBulk) < kQueuedBytes) {
      if (!transport->send(peer, Lane::kBulk, {kType, {}, body}).ok()) return;
    }
  }

  weft::Transport* transport = nullptr;
  weft::PeerId peer;
  weft::SharedBytes body{weft::Bytes(kBodyBytes)};
  std::uint64_t bytes = 0;
  bool down = false;
};

weft::PeerId parse_id(const std::string& digits) {
  const weft::Bytes bytes = weft::from_hex(digits).value();
  weft::PeerId id;
  std::copy_n(bytes.begin(), std::min(bytes.size(), id.bytes.size()), id.bytes.begin());
  return id;
}

int run(const std::vector<std::string>& words) {
  const bool sends = words[0] == "send";
  weft::ListenOptions options = weft::parse_listen(sends ? std::string("*:0") : words[1]).value();
  options.shortcuts = false;
  if (sends && words.size() > 4) options.connections = std::stoul(words[4]);
  weft::EventLoop loop;
  Stream stream;
  const auto transport =
      weft::make_tls_transport(loop, weft::PeerIdentity::generate(), options).value();
  stream.transport = transport.get();
  transport->set_handler(stream);
  if (sends) {
    transport->connect({parse_id(words[1]), {words[2]}});
  } else {
    std::printf("%s\n", transport->self().to_string().c_str());
  }
  std::fflush(stdout);
  const bool up =
      loop.run_until([&] { return transport->linked(stream.peer); }, std::chrono::seconds(30));
  if (!up) return 1;
  if (sends) stream.fill();
  const int seconds = std::stoi(words[sends ? 3 : 2]);
  for (int second = 1; second <= seconds && !stream.down; ++second) {
    const std::uint64_t before = stream.bytes;
    const weft::TimePoint begun = loop.now();
    loop.run_for(std::chrono::seconds(1));
    const double passed = std::chrono::duration<double>(loop.now() - begun).count();
    if (sends) continue;
    std::printf("{\"second\": %d, \"mbit\": %.1f, \"connections\": %zu}\n", second,
                static_cast<double>(stream.bytes - before) * 8e-6 / passed,
                transport->stats(stream.peer).connections);
    std::fflush(stdout);
  }
  return 0;
}

}  // namespace

int main(int count, char** arguments) {
  const std::vector<std::string> words(arguments + 1, arguments + count);
  if (words.size() >= 4 && words[0] == "send") return run(words);
  if (words.size() == 3 && words[0] == "receive") return run(words);
  std::fprintf(stderr, "usage: see the top of bulk_stream.cpp\n");
  return 2;
}
