#include "weft/net/port_map.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include <arpa/inet.h>
#include <fmt/format.h>
#include <sys/select.h>

#include "weft/base/log.h"
#include "weft/base/thread.h"
#include "weft/base/thread_role.h"
#include "weft/net/stream/socket.h"

#ifdef WEFT_WITH_MINIUPNPC
#include <miniupnpc/miniupnpc.h>
#include <miniupnpc/upnpcommands.h>
#include <miniupnpc/upnperrors.h>
#endif
#ifdef WEFT_WITH_NATPMP
#include <natpmp.h>
#endif

namespace weft {

namespace {

constexpr std::uint32_t kLeaseSeconds = 3600;
// A router that takes no leases keeps the mapping until it is taken back.
constexpr std::uint32_t kForever = 0;

struct Lease {
  std::string host;
  std::uint16_t port = 0;
  std::uint32_t seconds = kLeaseSeconds;
};

// One protocol and one router, found or not.
class Router {
 public:
  virtual ~Router() = default;
  virtual std::string method() const = 0;
  // Asks, or asks again.
  virtual Result<Lease> map(std::uint16_t port) = 0;
  virtual void unmap(std::uint16_t port, const Lease& lease) = 0;
};

#ifdef WEFT_WITH_MINIUPNPC
class UpnpRouter final : public Router {
 public:
  ~UpnpRouter() override {
    if (found_) FreeUPNPUrls(&urls_);
  }
  UpnpRouter() = default;
  UpnpRouter(const UpnpRouter&) = delete;
  UpnpRouter& operator=(const UpnpRouter&) = delete;

  std::string method() const override { return "UPnP"; }

  Result<Lease> map(std::uint16_t port) override {
    WEFT_TRY(find());
    const std::string number = std::to_string(port);
    Lease lease;
    lease.port = port;
    int error = add(number, std::to_string(kLeaseSeconds));
    if (error == kOnlyPermanentLeases) {
      lease.seconds = kForever;
      error = add(number, "0");
    }
    if (error != UPNPCOMMAND_SUCCESS) return failed("AddPortMapping", error);
    std::array<char, 64> address{};
    error = UPNP_GetExternalIPAddress(urls_.controlURL, data_.first.servicetype, address.data());
    if (error != UPNPCOMMAND_SUCCESS) return failed("GetExternalIPAddress", error);
    lease.host = address.data();
    return lease;
  }

  void unmap(std::uint16_t /*port*/, const Lease& lease) override {
    if (!found_) return;
    UPNP_DeletePortMapping(urls_.controlURL, data_.first.servicetype,
                           std::to_string(lease.port).c_str(), "TCP", nullptr);
  }

 private:
  static constexpr int kDiscoveryMs = 1500;
  static constexpr int kOnlyPermanentLeases = 725;

  static Status failed(std::string_view what, int error) {
    const char* words = strupnperror(error);
    return unavailable(fmt::format("{}: {}", what, words == nullptr ? "failed" : words));
  }

  int add(const std::string& port, const std::string& lease) {
    return UPNP_AddPortMapping(urls_.controlURL, data_.first.servicetype, port.c_str(),
                               port.c_str(), own_.data(), "weft", "TCP", nullptr, lease.c_str());
  }

  Status find() {
    if (found_) return {};
    int error = 0;
    UPNPDev* devices = upnpDiscover(kDiscoveryMs, nullptr, nullptr, 0, 0, 2, &error);
    if (devices == nullptr) return unavailable("no router answers");
#if MINIUPNPC_API_VERSION >= 18
    const int kind = UPNP_GetValidIGD(devices, &urls_, &data_, own_.data(),
                                      static_cast<int>(own_.size()), nullptr, 0);
#else
    const int kind =
        UPNP_GetValidIGD(devices, &urls_, &data_, own_.data(), static_cast<int>(own_.size()));
#endif
    freeUPNPDevlist(devices);
    // 1 is a router that is connected; of the others only 0 leaves nothing to free.
    found_ = kind == 1;
    if (!found_ && kind != 0) FreeUPNPUrls(&urls_);
    return found_ ? Status() : unavailable("no router with a connection answers");
  }

  bool found_ = false;
  UPNPUrls urls_{};
  IGDdatas data_{};
  // This machine's address in the router's network.
  std::array<char, 64> own_{};
};
#endif

#ifdef WEFT_WITH_NATPMP
class NatPmpRouter final : public Router {
 public:
  NatPmpRouter() = default;
  ~NatPmpRouter() override {
    if (open_) closenatpmp(&state_);
  }
  NatPmpRouter(const NatPmpRouter&) = delete;
  NatPmpRouter& operator=(const NatPmpRouter&) = delete;

  std::string method() const override { return "NAT-PMP"; }

  Result<Lease> map(std::uint16_t port) override {
    if (!open_) {
      const int error = initnatpmp(&state_, 0, 0);
      if (error != 0) return unavailable("no router is known");
      open_ = true;
    }
    sendpublicaddressrequest(&state_);
    WEFT_TRY_ASSIGN(const natpmpresp_t address, answer());
    std::array<char, INET_ADDRSTRLEN> host{};
    ::inet_ntop(AF_INET, &address.pnu.publicaddress.addr, host.data(), host.size());
    sendnewportmappingrequest(&state_, NATPMP_PROTOCOL_TCP, port, port, kLeaseSeconds);
    WEFT_TRY_ASSIGN(const natpmpresp_t mapping, answer());
    return Lease{host.data(), mapping.pnu.newportmapping.mappedpublicport,
                 mapping.pnu.newportmapping.lifetime};
  }

  void unmap(std::uint16_t port, const Lease& /*lease*/) override {
    if (!open_) return;
    sendnewportmappingrequest(&state_, NATPMP_PROTOCOL_TCP, port, 0, 0);
  }

 private:
  // The protocol's own nine tries would take two minutes.
  static constexpr Duration kLimit = std::chrono::seconds(2);

  Result<natpmpresp_t> answer() {
    const SystemClock clock;
    const TimePoint deadline = clock.now() + kLimit;
    while (clock.now() < deadline) {
      timeval wait{};
      getnatpmprequesttimeout(&state_, &wait);
      fd_set sockets;
      FD_ZERO(&sockets);
      FD_SET(state_.s, &sockets);
      ::select(state_.s + 1, &sockets, nullptr, nullptr, &wait);
      natpmpresp_t response{};
      const int outcome = readnatpmpresponseorretry(&state_, &response);
      if (outcome == 0) return response;
      if (outcome != NATPMP_TRYAGAIN) {
        return unavailable(fmt::format("the router does not open ports (error {})", outcome));
      }
    }
    return timed_out("no router answers");
  }

  bool open_ = false;
  natpmp_t state_{};
};
#endif

std::vector<std::unique_ptr<Router>> routers() {
  std::vector<std::unique_ptr<Router>> all;
#ifdef WEFT_WITH_MINIUPNPC
  all.push_back(std::make_unique<UpnpRouter>());
#endif
#ifdef WEFT_WITH_NATPMP
  all.push_back(std::make_unique<NatPmpRouter>());
#endif
  return all;
}

class OpenPort final : public PortMap {
 public:
  OpenPort(std::unique_ptr<Router> router, std::uint16_t port, Lease lease)
      : router_(std::move(router)),
        port_(port),
        lease_(std::move(lease)),
        endpoint_(to_string(HostPort{lease_.host, lease_.port})),
        method_(router_->method()) {
    if (lease_.seconds != kForever)
      thread_ = Thread([this] {
        const RoleScope here(renewing_);
        renew();
      });
  }
  ~OpenPort() override {
    stopped_.with([](bool& stopped) { stopped = true; });
    thread_.join();
    router_->unmap(port_, lease_);
  }
  OpenPort(const OpenPort&) = delete;
  OpenPort& operator=(const OpenPort&) = delete;

  const std::string& endpoint() const override { return endpoint_; }
  const std::string& method() const override { return method_; }

 private:
  void renew() WEFT_REQUIRES(renewing_) {
    const SystemClock clock;
    std::uint32_t seconds = lease_.seconds;
    for (;;) {
      const TimePoint due = clock.now() + std::chrono::seconds(std::max(seconds / 2, 1U));
      if (stopped_.wait_until(due, [](bool stopped) { return stopped; })) return;
      const Result<Lease> again = router_->map(port_);
      if (!again.ok()) {
        log(LogLevel::kWarning, "{}: {} is not renewed: {}", method_, endpoint_,
            again.status().message());
      } else if (again->host != lease_.host || again->port != lease_.port) {
        log(LogLevel::kWarning, "{}: {} has become {}:{}", method_, endpoint_, again->host,
            again->port);
      }
      seconds = again.ok() ? again->seconds : seconds / 2;
    }
  }

  // Belongs to the thread inside while that lives; after it the destructor asks the router.
  ThreadRole renewing_;
  std::unique_ptr<Router> router_ WEFT_GUARDED_BY(renewing_);
  std::uint16_t port_;
  const Lease lease_;
  const std::string endpoint_;
  const std::string method_;
  Guarded<bool> stopped_;
  Thread thread_;
};

}  // namespace

Result<std::unique_ptr<PortMap>> PortMap::open(std::uint16_t port) {
  std::string failures;
  for (std::unique_ptr<Router>& router : routers()) {
    const std::string method = router->method();
    Result<Lease> lease = router->map(port);
    std::string why;
    if (!lease.ok()) {
      why = lease.status().message();
    } else {
      const auto address = numeric_address(to_string(HostPort{lease->host, lease->port}));
      if (address.ok() && !is_nearby(*address)) {
        return std::unique_ptr<PortMap>(
            std::make_unique<OpenPort>(std::move(router), port, std::move(lease).value()));
      }
      router->unmap(port, *lease);
      why = fmt::format("another router stands before this one, whose address is {}", lease->host);
    }
    failures += fmt::format("{}{}: {}", failures.empty() ? "" : "; ", method, why);
  }
  if (failures.empty()) failures = "this program was built without miniupnpc and libnatpmp";
  return unavailable(failures);
}

std::string port_map_methods() {
  std::string text;
  for (const std::unique_ptr<Router>& router : routers()) {
    text += (text.empty() ? "" : ", ") + router->method();
  }
  return text.empty() ? "neither" : text;
}

}  // namespace weft
