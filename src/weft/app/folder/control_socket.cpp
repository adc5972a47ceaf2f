#include "weft/app/folder/control_socket.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "weft/base/thread.h"

namespace weft {
namespace {

constexpr const char* kName = "control.sock";
constexpr int kBacklog = 8;

// A descriptor with an owner.
class Handle {
 public:
  explicit Handle(int descriptor) : descriptor_(descriptor) {}
  ~Handle() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  Handle(Handle&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  Handle& operator=(Handle&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    return *this;
  }
  int get() const { return descriptor_; }
  bool valid() const { return descriptor_ >= 0; }

 private:
  int descriptor_;
};

Status socket_error(const std::string& what) {
  return unavailable(fmt::format("{}: {}", what, std::generic_category().message(errno)));
}

// A socket's name has room for 107 characters only; the folder's descriptor stands for any path.
sockaddr_un address_in(const Handle& folder) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  const std::string name = fmt::format("/proc/self/fd/{}/{}", folder.get(), kName);
  std::copy_n(name.c_str(), std::min(name.size(), sizeof address.sun_path - 1), address.sun_path);
  return address;
}

const sockaddr* generic(const sockaddr_un& address) {
  return reinterpret_cast<const sockaddr*>(&address);
}

// Until `descriptor` has one of `events`, or `deadline`; false for the latter.
bool wait_for(int descriptor, short events, TimePoint deadline) {
  const SystemClock clock;
  for (;;) {
    const Duration left = deadline - clock.now();
    if (left <= Duration::zero()) return false;
    const auto left_ms = std::chrono::duration_cast<std::chrono::milliseconds>(left).count() + 1;
    pollfd one = {descriptor, events, 0};
    const int ready = ::poll(&one, 1, static_cast<int>(std::min<std::int64_t>(left_ms, 60'000)));
    if (ready > 0) return true;
    if (ready < 0 && errno != EINTR) return false;
  }
}

// Up to the first line end.
Result<std::string> read_line(int socket, TimePoint deadline) {
  std::string line;
  std::array<char, 4096> piece{};
  while (wait_for(socket, POLLIN, deadline)) {
    const ssize_t got = ::recv(socket, piece.data(), piece.size(), 0);
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (got < 0) return socket_error("control socket");
    if (got == 0) return unavailable("control socket: the other side has ended before its line");
    line.append(piece.data(), static_cast<std::size_t>(got));
    const std::size_t end = line.find('\n');
    if (end != std::string::npos) return line.substr(0, end);
    if (line.size() > kControlLineMax) {
      return corrupt(fmt::format("control socket: expected at most {} bytes", kControlLineMax));
    }
  }
  return timed_out("control socket: no line in time");
}

Status write_line(int socket, const std::string& text, TimePoint deadline) {
  const std::string line = text + "\n";
  std::size_t sent = 0;
  while (sent < line.size()) {
    if (!wait_for(socket, POLLOUT, deadline)) return timed_out("control socket: nobody reads");
    const ssize_t done = ::send(socket, line.data() + sent, line.size() - sent, MSG_NOSIGNAL);
    if (done < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (done < 0) return socket_error("control socket");
    sent += static_cast<std::size_t>(done);
  }
  return {};
}

bool same_user(int socket) {
  ucred caller = {};
  socklen_t size = sizeof caller;
  if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &caller, &size) != 0) return false;
  return caller.uid == ::geteuid() || caller.uid == 0;
}

Handle open_folder(const std::string& folder) {
  return Handle(::open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
}

Status nobody_in(const std::string& folder) {
  return unavailable(folder + ": no peer runs there; give the --out of one that does");
}

}  // namespace

struct ControlSocket::Impl {
  Impl(Handle place, Handle listening, Handle wake, Answer answer_with, ControlOptions limits)
      : folder(std::move(place)),
        listener(std::move(listening)),
        stop(std::move(wake)),
        answer(std::move(answer_with)),
        options(limits) {}

  void serve() const {
    for (;;) {
      std::array<pollfd, 2> both = {{{listener.get(), POLLIN, 0}, {stop.get(), POLLIN, 0}}};
      if (::poll(both.data(), both.size(), -1) < 0 && errno != EINTR) return;
      if (both[1].revents != 0) return;
      if ((both[0].revents & POLLIN) == 0) continue;
      const Handle caller(
          ::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
      if (caller.valid() && same_user(caller.get())) serve_one(caller.get());
    }
  }

  void serve_one(int caller) const {
    const SystemClock clock;
    const Result<std::string> request = read_line(caller, clock.now() + options.caller_limit);
    if (!request.ok()) return;
    // Who does not take its answer has none.
    (void)write_line(caller, answer(*request), clock.now() + options.caller_limit);
  }

  Handle folder;
  Handle listener;
  Handle stop;
  Answer answer;
  ControlOptions options;
  Thread thread;
};

ControlSocket::ControlSocket(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {
  impl_->thread = Thread([served = impl_.get()] { served->serve(); });
}

ControlSocket::~ControlSocket() {
  const std::uint64_t one = 1;
  if (::write(impl_->stop.get(), &one, sizeof one) == sizeof one) impl_->thread.join();
  ::unlinkat(impl_->folder.get(), kName, 0);
}

Result<std::unique_ptr<ControlSocket>> ControlSocket::open(const std::string& folder, Answer answer,
                                                           const ControlOptions& options) {
  Handle place = open_folder(folder);
  if (!place.valid()) return socket_error(folder);
  ::unlinkat(place.get(), kName, 0);
  Handle listener(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  Handle stop(::eventfd(0, EFD_CLOEXEC));
  if (!listener.valid() || !stop.valid()) return socket_error("control socket");
  // Before bind(), so that the file never has another mode.
  const sockaddr_un address = address_in(place);
  if (::fchmod(listener.get(), 0600) != 0 ||
      ::bind(listener.get(), generic(address), sizeof address) != 0 ||
      ::fchmodat(place.get(), kName, 0600, 0) != 0 || ::listen(listener.get(), kBacklog) != 0) {
    return socket_error(folder + "/" + kName);
  }
  return std::make_unique<ControlSocket>(std::make_unique<Impl>(
      std::move(place), std::move(listener), std::move(stop), std::move(answer), options));
}

Result<std::string> ask_control(const std::string& folder, const std::string& request,
                                Duration limit) {
  const TimePoint deadline = SystemClock().now() + limit;
  const Handle place = open_folder(folder);
  if (!place.valid() && errno == ENOENT) return nobody_in(folder);
  if (!place.valid()) return socket_error(folder);
  const Handle socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!socket.valid()) return socket_error("control socket");
  const sockaddr_un address = address_in(place);
  if (::connect(socket.get(), generic(address), sizeof address) != 0) {
    const bool absent = errno == ENOENT || errno == ECONNREFUSED;
    if (absent) return nobody_in(folder);
    return socket_error(folder + "/" + kName);
  }
  WEFT_TRY(write_line(socket.get(), request, deadline));
  return read_line(socket.get(), deadline);
}

}  // namespace weft
