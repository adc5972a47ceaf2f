#include "weft/net/rendezvous_opendht.h"

#include <utility>

#include "weft/net/stream/socket.h"

#ifdef WEFT_WITH_OPENDHT

#include <exception>

#include <fmt/format.h>
#include <opendht/dhtrunner.h>

#include "weft/base/thread.h"

namespace weft {

namespace {

constexpr std::size_t kValuesMax = 256;
// What one value of a stranger may take before it is looked at.
constexpr std::size_t kValueBytesMax = 4096;

class Table final : public OpenDhtTable {
 public:
  explicit Table(EventLoop& loop) : loop_(loop) {}
  ~Table() override {
    // No callback comes after this.
    node_.join();
  }

  Status start(const OpenDhtOptions& options, const HostPort& bootstrap) {
    try {
      dht::DhtRunner::Config config;
      config.bind4.setFamily(AF_INET);
      config.bind4.setPort(options.port);
      if (options.local) {
        config.bind4.setAddress("127.0.0.1");
      } else {
        config.bind6.setFamily(AF_INET6);
        config.bind6.setPort(options.port);
      }
      node_.run(config, dht::DhtRunner::Context());
      if (!options.bootstrap.empty()) {
        node_.bootstrap(bootstrap.host, std::to_string(bootstrap.port));
      }
    } catch (const std::exception& failure) {
      return unavailable(fmt::format("rendezvous: {}", failure.what()));
    }
    return {};
  }

  void put(const RendezvousKey& key, Bytes value) override {
    loop_.thread().assert_here();
    node_.put(hash_of(key), dht::Value(std::move(value)));
  }

  void get(const RendezvousKey& key, Found found) override {
    loop_.thread().assert_here();
    // The library calls both from threads of its own, which may touch what is captured here, and no
    // other member than the loop.
    auto values = std::make_shared<Guarded<std::vector<Bytes>>>();
    const auto take = [values](const std::vector<std::shared_ptr<dht::Value>>& arrived) {
      return values->with([&](std::vector<Bytes>& all) {
        for (const auto& value : arrived) {
          if (all.size() >= kValuesMax) return false;
          if (value->data.size() <= kValueBytesMax) all.push_back(value->data);
        }
        return true;
      });
    };
    const auto done = [this, values, alive = std::weak_ptr(alive_),
                       found = std::move(found)](bool /*success*/) {
      loop_.post([values, alive, found] {
        if (!alive.expired()) found(values->with([](auto& all) { return all; }));
      });
    };
    node_.get(hash_of(key), dht::GetCallback(take), dht::DoneCallbackSimple(done));
  }

  std::uint16_t port() const override { return node_.getBoundPort(); }

 private:
  static dht::InfoHash hash_of(const RendezvousKey& key) { return {key.data(), key.size()}; }

  EventLoop& loop_;
  std::shared_ptr<bool> alive_ WEFT_GUARDED_BY(loop_.thread()) = std::make_shared<bool>(true);
  dht::DhtRunner node_;  // has locks of its own
};

}  // namespace

bool has_opendht() { return true; }

Result<std::unique_ptr<OpenDhtTable>> make_opendht_table(EventLoop& loop,
                                                         const OpenDhtOptions& options) {
  HostPort bootstrap;
  if (!options.bootstrap.empty()) {
    WEFT_TRY_ASSIGN(bootstrap, parse_host_port(options.bootstrap));
  }
  auto table = std::make_unique<Table>(loop);
  WEFT_TRY(table->start(options, bootstrap));
  return std::unique_ptr<OpenDhtTable>(std::move(table));
}

}  // namespace weft

#else

namespace weft {

bool has_opendht() { return false; }

Result<std::unique_ptr<OpenDhtTable>> make_opendht_table(EventLoop& /*loop*/,
                                                         const OpenDhtOptions& options) {
  if (!options.bootstrap.empty()) WEFT_TRY(parse_host_port(options.bootstrap));
  return unavailable("rendezvous: this program was built without OpenDHT (docs/discovery.md)");
}

}  // namespace weft

#endif

namespace weft {

MakeRendezvousTable opendht_maker(const std::string& bootstrap) {
  return [bootstrap](EventLoop& loop) -> Result<std::unique_ptr<RendezvousTable>> {
    OpenDhtOptions options;
    options.bootstrap = bootstrap;
    WEFT_TRY_ASSIGN(std::unique_ptr<OpenDhtTable> table, make_opendht_table(loop, options));
    return std::unique_ptr<RendezvousTable>(std::move(table));
  };
}

}  // namespace weft
