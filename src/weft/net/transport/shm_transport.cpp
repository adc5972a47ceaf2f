#include "weft/net/shm_transport.h"

#include <array>
#include <cerrno>
#include <filesystem>

#include <asio/local/stream_protocol.hpp>
#include <fmt/format.h>
#include <openssl/rand.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "weft/net/shm/shm_stream.h"
#include "weft/net/stream/socket.h"
#include "weft/net/transport/link_transport.h"

namespace weft {

namespace {

constexpr std::string_view kScheme = "unix:";
constexpr std::size_t kControlRingBytes = 64 * 1024;
// In the caches of both sides, and more than a frame.
constexpr std::size_t kBulkRingBytes = 512 * 1024;

Result<asio::local::stream_protocol::endpoint> unix_address(const std::string& path) {
  if (path.empty() || path.size() >= sizeof(sockaddr_un::sun_path)) {
    return invalid_argument(fmt::format("unix socket: expected a path of 1 to {} bytes, got {}",
                                        sizeof(sockaddr_un::sun_path) - 1, path.size()));
  }
  return asio::local::stream_protocol::endpoint(path);
}

class ShmMedium final : public Medium {
 public:
  explicit ShmMedium(std::string path) : path_(std::move(path)) {}
  ~ShmMedium() override { ::unlink(path_.c_str()); }
  ShmMedium(const ShmMedium&) = delete;
  ShmMedium& operator=(const ShmMedium&) = delete;

  void resolve(const std::string& endpoint, Resolved done) override {
    if (endpoint.compare(0, kScheme.size(), kScheme) != 0) {
      return done(invalid_argument(fmt::format("endpoint: expected unix:PATH, got {}", endpoint)));
    }
    const auto address = unix_address(endpoint.substr(kScheme.size()));
    if (!address.ok()) return done(address.status());
    done(std::vector<SocketAddress>{*address});
  }
  std::unique_ptr<ByteStream> dial(int socket, Lane lane) override {
    return dial_shm_stream(socket, lane == Lane::kControl ? kControlRingBytes : kBulkRingBytes);
  }
  std::unique_ptr<ByteStream> accept(int socket) override { return accept_shm_stream(socket); }
  Status prepare(int socket) override {
    ucred other{};
    socklen_t size = sizeof other;
    if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &other, &size) != 0) {
      return system_status(errno);
    }
    if (other.uid != ::geteuid()) {
      return corrupt(fmt::format("unix socket: expected a process of user {}, got one of user {}",
                                 ::geteuid(), other.uid));
    }
    return {};
  }

 private:
  std::string path_;
};

Status open_folder(const std::string& folder) {
  if (::mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) {
    return system_status(errno).with_context(folder);
  }
  struct stat info {};
  if (::lstat(folder.c_str(), &info) != 0) return system_status(errno).with_context(folder);
  if (!S_ISDIR(info.st_mode) || info.st_uid != ::geteuid() || (info.st_mode & 077U) != 0) {
    return invalid_argument(
        fmt::format("{}: expected a folder of this user with mode 0700", folder));
  }
  return {};
}

}  // namespace

Result<std::unique_ptr<Transport>> make_shm_transport(EventLoop& loop, const PeerId& self,
                                                      const ShmOptions& options) {
  WEFT_TRY(open_folder(options.folder));
  std::array<std::uint8_t, 8> tag{};
  if (RAND_bytes(tag.data(), static_cast<int>(tag.size())) != 1) {
    return internal_error("no random numbers");
  }
  const std::string path =
      (std::filesystem::path(options.folder) / (self.short_name() + "-" + to_hex(tag))).string();
  WEFT_TRY_ASSIGN(const auto address, unix_address(path));
  Result<Socket> socket = listen_on(address);
  if (!socket.ok()) return socket.status().with_context("listen on " + path);
  const LinkOptions link_options{
      options.handshake_timeout, options.handshakes_max,       options.links_max,
      options.low_water_bytes,   options.bulk_queue_bytes_max, options.control_queue_bytes_max};
  auto transport =
      std::make_unique<LinkTransport>(loop, self, link_options, std::make_unique<ShmMedium>(path),
                                      [path] { return std::vector{std::string(kScheme) + path}; });
  transport->listen(std::move(socket).value());
  return std::unique_ptr<Transport>(std::move(transport));
}

}  // namespace weft
