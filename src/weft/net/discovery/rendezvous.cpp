#include "weft/net/rendezvous.h"

#include <algorithm>
#include <utility>

#include "weft/net/identity/sealed.h"
#include "weft/wire/codec.h"

namespace weft {

namespace {

constexpr std::size_t kSealedBytesMax = kRendezvousRecordBytesMax + kSealBytes;

Hash256 seal_key(const RunId& run) {
  return hmac_sha256(run, as_bytes(std::string_view("weft rendezvous seal")));
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
  return seal(seal_key(run), {}, record.encode());
}

Result<RendezvousRecord> open_rendezvous_record(const RunId& run, ByteSpan sealed) {
  if (sealed.size() > kSealedBytesMax) return corrupt("rendezvous: a value of the wrong size");
  const Result<Bytes> plain = open_sealed(seal_key(run), {}, sealed);
  if (!plain.ok()) return corrupt("rendezvous: not sealed by anyone who knows the run");
  WEFT_TRY_ASSIGN(RendezvousRecord record, RendezvousRecord::decode(*plain));
  if (!signature_valid(record.key, record.signed_part(run), record.signature)) {
    return corrupt("rendezvous: the signature is not the writer's");
  }
  return record;
}

// --- When to write and look.

Rendezvous::Rendezvous(RendezvousOptions options, PeerIdentity identity, Rng rng)
    : options_(options), identity_(std::move(identity)), rng_(rng) {}

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
  out.reserve(found.size());
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
