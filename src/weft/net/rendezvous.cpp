#include "weft/net/rendezvous.h"

#include <algorithm>
#include <utility>

#include <openssl/evp.h>

#include "weft/net/identity_impl.h"
#include "weft/wire/codec.h"

namespace weft {

namespace {

constexpr std::size_t kNonceBytes = 12;
constexpr std::size_t kTagBytes = 16;
constexpr std::size_t kSealedBytesMax = kNonceBytes + kRendezvousRecordBytesMax + kTagBytes;

struct CipherFree {
  void operator()(EVP_CIPHER_CTX* context) const { EVP_CIPHER_CTX_free(context); }
};
using CipherContext = std::unique_ptr<EVP_CIPHER_CTX, CipherFree>;

Hash256 seal_key(const RunId& run) {
  return hmac_sha256(run, as_bytes(std::string_view("weft rendezvous seal")));
}

int int_size(ByteSpan bytes) { return static_cast<int>(bytes.size()); }

Bytes encrypt_record(const Hash256& key, ByteSpan plain) {
  Bytes out(kNonceBytes + plain.size() + kTagBytes);
  random_bytes(MutableByteSpan(out).first(kNonceBytes));
  const CipherContext context(EVP_CIPHER_CTX_new());
  int size = 0;
  std::uint8_t* body = out.data() + kNonceBytes;
  const bool good =
      EVP_EncryptInit_ex(context.get(), EVP_aes_256_gcm(), nullptr, key.data(), out.data()) == 1 &&
      EVP_EncryptUpdate(context.get(), body, &size, plain.data(), int_size(plain)) == 1 &&
      EVP_EncryptFinal_ex(context.get(), body + size, &size) == 1 &&
      EVP_CIPHER_CTX_ctrl(context.get(), EVP_CTRL_GCM_GET_TAG, static_cast<int>(kTagBytes),
                          body + plain.size()) == 1;
  WEFT_CHECK(good);
  return out;
}

Result<Bytes> decrypt(const Hash256& key, ByteSpan sealed) {
  if (sealed.size() < kNonceBytes + kTagBytes || sealed.size() > kSealedBytesMax) {
    return corrupt("rendezvous: a value of the wrong size");
  }
  const ByteSpan body = sealed.subspan(kNonceBytes, sealed.size() - kNonceBytes - kTagBytes);
  const ByteSpan end = sealed.last(kTagBytes);
  Bytes tag(end.begin(), end.end());
  Bytes out(body.size());
  const CipherContext context(EVP_CIPHER_CTX_new());
  int size = 0;
  const bool good =
      EVP_DecryptInit_ex(context.get(), EVP_aes_256_gcm(), nullptr, key.data(), sealed.data()) ==
          1 &&
      EVP_DecryptUpdate(context.get(), out.data(), &size, body.data(), int_size(body)) == 1 &&
      EVP_CIPHER_CTX_ctrl(context.get(), EVP_CTRL_GCM_SET_TAG, static_cast<int>(kTagBytes),
                          tag.data()) == 1 &&
      EVP_DecryptFinal_ex(context.get(), out.data() + size, &size) == 1;
  static_cast<void>(openssl_error());
  if (!good) return corrupt("rendezvous: not sealed by anyone who knows the run");
  return out;
}

}  // namespace

RendezvousKey rendezvous_key(const RunId& run) {
  const Hash256 hash = sha256(Writer().text("weft rendezvous key").raw(run).written());
  RendezvousKey key{};
  std::copy_n(hash.begin(), key.size(), key.begin());
  return key;
}

Bytes seal_rendezvous_record(const PeerIdentity& identity, const RunId& run,
                             const std::vector<std::string>& endpoints, std::int64_t unix_time_s) {
  RendezvousRecord record;
  record.key = identity.public_key();
  record.unix_time_s = unix_time_s;
  record.endpoints = endpoints;
  record.signature = identity.sign(record.signed_part(run));
  return encrypt_record(seal_key(run), record.encode());
}

Result<RendezvousRecord> open_rendezvous_record(const RunId& run, ByteSpan sealed) {
  WEFT_TRY_ASSIGN(const Bytes plain, decrypt(seal_key(run), sealed));
  WEFT_TRY_ASSIGN(RendezvousRecord record, RendezvousRecord::decode(plain));
  if (!signature_valid(record.key, record.signed_part(run), record.signature)) {
    return corrupt("rendezvous: the signature is not the writer's");
  }
  return record;
}

// --- When to write and look.

Rendezvous::Rendezvous(RendezvousOptions options, PeerIdentity identity, Rng rng)
    : options_(std::move(options)), identity_(std::move(identity)), rng_(rng) {}

void Rendezvous::set_endpoints(std::vector<std::string> endpoints, TimePoint now) {
  if (endpoints == endpoints_) return;
  endpoints_ = std::move(endpoints);
  write_pause_ = options_.write_gap_first;
  if (endpoints_.empty()) {
    write_at_ = TimePoint::max();
    return;
  }
  write_at_ = written_at_ ? std::max(now, *written_at_ + options_.write_gap) : now;
  if (look_at_ == TimePoint::max()) return;
  // What moved this peer may have moved the others, who write anew as well.
  look_gap_ = options_.look_gap_first;
  look_at_ = now;
}

void Rendezvous::set_looking(bool looking, TimePoint now) {
  const bool is_looking = look_at_ != TimePoint::max();
  if (looking == is_looking) return;
  look_gap_ = options_.look_gap_first;
  look_at_ = looking ? now : TimePoint::max();
}

Rendezvous::Actions Rendezvous::on_timer(TimePoint now, std::int64_t unix_time_s) {
  Actions actions;
  if (now >= write_at_) {
    actions.put = seal_rendezvous_record(identity_, options_.run, endpoints_, unix_time_s);
    written_at_ = now;
    // Members that began together do not write together for ever.
    const double jitter = 0.8 + 0.4 * rng_.uniform();
    write_at_ = now + from_seconds(to_seconds(write_pause_) * jitter);
    write_pause_ = std::min(2 * write_pause_, options_.write_interval);
  }
  if (now >= look_at_) {
    actions.get = true;
    look_at_ = now + look_gap_;
    look_gap_ = std::min(2 * look_gap_, options_.look_gap_last);
  }
  return actions;
}

TimePoint Rendezvous::next_deadline() const { return std::min(write_at_, look_at_); }

// --- What to believe.

bool Rendezvous::in_time(std::int64_t written, std::int64_t now) const {
  return written >= now - options_.age_max_s && written <= now + options_.ahead_max_s;
}

void Rendezvous::on_values(const std::vector<Bytes>& values, std::int64_t unix_time_s) {
  std::erase_if(known_,
                [&](const auto& entry) { return !in_time(entry.second.unix_time_s, unix_time_s); });
  std::size_t looked_at = 0;
  for (const Bytes& value : values) {
    if (looked_at++ == options_.values_max) return;
    const Result<RendezvousRecord> record = open_rendezvous_record(options_.run, value);
    if (!record.ok() || !in_time(record->unix_time_s, unix_time_s)) continue;
    const PeerId id = peer_id_of(record->key);
    if (id == identity_.id()) continue;
    const auto found = known_.find(id);
    if (found == known_.end() && known_.size() >= options_.peers_max) continue;
    if (found != known_.end() && found->second.unix_time_s >= record->unix_time_s) continue;
    known_.insert_or_assign(id, Known{record->unix_time_s, record->endpoints});
  }
}

std::vector<PeerAddress> Rendezvous::known(std::int64_t unix_time_s) const {
  std::vector<std::pair<std::int64_t, PeerAddress>> found;
  for (const auto& [id, entry] : known_) {
    if (in_time(entry.unix_time_s, unix_time_s)) {
      found.push_back({entry.unix_time_s, {id, entry.endpoints}});
    }
  }
  // Who wrote last is the likeliest to be there.
  std::stable_sort(found.begin(), found.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  std::vector<PeerAddress> out;
  for (auto& [time, address] : found) out.push_back(std::move(address));
  return out;
}

Result<std::vector<PeerAddress>> look_up_peers(const MakeRendezvousTable& make_table,
                                               const LookUpOptions& options) {
  EventLoop loop;
  WEFT_TRY_ASSIGN(const std::unique_ptr<RendezvousTable> table, make_table(loop));
  RendezvousOptions settings;
  settings.run = options.run;
  Rendezvous rendezvous(settings, PeerIdentity::generate(), Rng(0));
  rendezvous.set_looking(true, loop.now());
  const auto known = [&] { return rendezvous.known(loop.clock().unix_time_s()); };
  std::function<void()> look = [&] {
    if (rendezvous.on_timer(loop.now(), loop.clock().unix_time_s()).get) {
      table->get(rendezvous_key(options.run), [&](const std::vector<Bytes>& values) {
        rendezvous.on_values(values, loop.clock().unix_time_s());
      });
    }
    loop.call_at(rendezvous.next_deadline(), look);
  };
  loop.post(look);
  loop.run_until([&] { return !known().empty(); }, options.limit);
  std::vector<PeerAddress> found = known();
  if (found.empty()) {
    return unavailable("rendezvous: no member of the run has left an address in time");
  }
  return found;
}

}  // namespace weft
