#include "weft/net/discovery.h"

#include <algorithm>
#include <utility>

#include "weft/wire/codec.h"

namespace weft {

namespace {

constexpr std::size_t kNoncesMax = 8;

Bytes signed_text(const DiscoveryAnswer& answer) {
  return Writer().text("weft discovery answer").bytes(answer.signed_part()).take();
}

}  // namespace

Hash256 discovery_tag(const RunId& run) {
  return sha256(Writer().text("weft discovery tag").raw(run).written());
}

Hash256 discovery_query_proof(const RunId& run, const DiscoveryNonce& nonce) {
  return hmac_sha256(run, Writer().text("weft discovery query").raw(nonce).written());
}

Hash256 discovery_run_proof(const RunId& run, const DiscoveryNonce& nonce, const PublicKey& key) {
  return hmac_sha256(run, Writer().text("weft discovery proof").raw(nonce).raw(key).written());
}

// --- The member's side.

DiscoveryResponder::DiscoveryResponder(PeerIdentity identity, DiscoveryResponderLimits limits)
    : identity_(std::move(identity)), limits_(limits), all_{limits.all.burst, {}} {}

std::optional<Bytes> DiscoveryResponder::answer(const std::string& source, ByteSpan datagram,
                                                TimePoint now, std::int64_t unix_time_s) {
  if (!card_ || card_->endpoints.empty()) return std::nullopt;
  if (datagram.size() != kDiscoveryQueryBytes) return std::nullopt;
  const Result<DiscoveryQuery> query = DiscoveryQuery::decode(datagram);
  if (!query.ok()) return std::nullopt;
  const Hash256 tag = discovery_tag(card_->run);
  const bool knows_run =
      query->tag == tag &&
      equal_constant_time(query->proof, discovery_query_proof(card_->run, query->nonce));
  if (query->tag != Hash256{} && !knows_run) {
    const OfferedCode* const code = offered(*query, unix_time_s);
    if (code == nullptr || !allowed(source, now)) return std::nullopt;
    return answer_to_code(identity_, *code, query->nonce);
  }
  if (!chosen(query->nonce) || !allowed(source, now)) return std::nullopt;

  DiscoveryAnswer answer;
  answer.nonce = query->nonce;
  answer.tag = tag;
  answer.key = identity_.public_key();
  answer.unix_time_s = unix_time_s;
  answer.members = card_->members;
  answer.name = card_->name;
  answer.invite = card_->invite;
  answer.open = card_->open;
  // An open run without an invitation at hand is told as what it takes then.
  if (!answer.open && answer.invite == DiscoveryInvite::kOpen) {
    answer.invite = DiscoveryInvite::kTicket;
  }
  if (answer.invite != DiscoveryInvite::kOpen) answer.open.reset();
  if (knows_run || answer.open) answer.endpoints = card_->endpoints;
  answer.run_proof = discovery_run_proof(card_->run, query->nonce, answer.key);
  answer.signature = identity_.sign(signed_text(answer));
  return answer.encode();
}

void DiscoveryResponder::set_codes(std::vector<OfferedCode> codes) {
  if (codes.size() > kOfferedCodesMax) codes.resize(kOfferedCodesMax);
  codes_ = std::move(codes);
}

const OfferedCode* DiscoveryResponder::offered(const DiscoveryQuery& query,
                                               std::int64_t unix_time_s) const {
  const auto found = std::find_if(codes_.begin(), codes_.end(), [&](const OfferedCode& code) {
    return equal_constant_time(code_query_tag(code.key, query.nonce), query.tag);
  });
  return found == codes_.end() || unix_time_s >= found->expiry_unix_s ? nullptr : &*found;
}

bool DiscoveryResponder::chosen(const DiscoveryNonce& nonce) const {
  if (card_->members <= limits_.answers_wanted) return true;
  const Hash256 hash = sha256(Writer().raw(nonce).raw(identity_.public_key()).written());
  std::uint64_t draw = 0;
  for (std::size_t i = 0; i < sizeof draw; ++i) draw = draw << 8U | hash[i];
  return draw % card_->members < limits_.answers_wanted;
}

void DiscoveryResponder::fill(Bucket& bucket, const DiscoveryRate& rate, TimePoint now) {
  const double gained = to_seconds(now - bucket.filled) * rate.per_second;
  bucket.tokens = std::min(rate.burst, bucket.tokens + std::max(0.0, gained));
  bucket.filled = now;
}

bool DiscoveryResponder::allowed(const std::string& source, TimePoint now) {
  auto found = askers_.find(source);
  if (found == askers_.end()) {
    if (askers_.size() >= limits_.askers_max) {
      askers_.erase(std::min_element(askers_.begin(), askers_.end(), [](auto& a, auto& b) {
        return a.second.filled < b.second.filled;
      }));
    }
    found = askers_.emplace(source, Bucket{limits_.asker.burst, now}).first;
  }
  Bucket& asker = found->second;
  fill(asker, limits_.asker, now);
  fill(all_, limits_.all, now);
  if (asker.tokens < 1 || all_.tokens < 1) return false;
  asker.tokens -= 1;
  all_.tokens -= 1;
  return true;
}

// --- The side that looks.

std::uint32_t DiscoveredRun::members() const {
  std::uint32_t most = 0;
  for (const DiscoveredMember& member : answers) most = std::max(most, member.members);
  return most;
}

std::vector<PeerAddress> DiscoveredRun::addresses() const {
  std::vector<PeerAddress> out;
  for (const DiscoveredMember& member : answers) out.push_back({member.id, member.endpoints});
  return out;
}

DiscoverySearch::DiscoverySearch(std::optional<RunId> run, DiscoverySearchLimits limits)
    : run_(run), limits_(limits) {}

Bytes DiscoverySearch::query(const DiscoveryNonce& nonce) {
  if (nonces_.size() == kNoncesMax) nonces_.erase(nonces_.begin());
  nonces_.push_back(nonce);
  DiscoveryQuery query;
  query.nonce = nonce;
  if (run_) {
    query.tag = discovery_tag(*run_);
    query.proof = discovery_query_proof(*run_, nonce);
  }
  return query.encode();
}

Status DiscoverySearch::on_datagram(const std::string& source, ByteSpan datagram, TimePoint now,
                                    std::int64_t unix_time_s) {
  if (datagrams_ >= limits_.datagrams_max) return unavailable("discovery: too many datagrams");
  ++datagrams_;
  WEFT_TRY_ASSIGN(DiscoveryAnswer answer, DiscoveryAnswer::decode(datagram));
  WEFT_TRY(check(answer));
  Key key{answer.tag, answer.invite, {}, answer.name};
  if (answer.open) key.recipe_hash = answer.open->recipe_hash;
  DiscoveredMember member;
  member.id = peer_id_of(answer.key);
  member.endpoints = std::move(answer.endpoints);
  member.source = source;
  member.members = answer.members;
  // A stranger's number: the difference is taken where it cannot overflow.
  constexpr std::int64_t kFarFuture = std::int64_t{1} << 40;
  member.clock_ahead_s = std::clamp<std::int64_t>(answer.unix_time_s, 0, kFarFuture) - unix_time_s;
  member.open = answer.open;
  member.heard = now;
  return keep(key, std::move(member));
}

Status DiscoverySearch::check(const DiscoveryAnswer& answer) const {
  if (std::find(nonces_.begin(), nonces_.end(), answer.nonce) == nonces_.end()) {
    return corrupt("discovery: the answer is to no query of ours");
  }
  std::optional<RunId> run = run_;
  if (answer.open) {
    if (run && answer.open->run != *run) return corrupt("discovery: an answer of another run");
    run = answer.open->run;
  }
  if (run) {
    if (discovery_tag(*run) != answer.tag) return corrupt("discovery: the tag is another run's");
    const Hash256 proof = discovery_run_proof(*run, answer.nonce, answer.key);
    if (!equal_constant_time(proof, answer.run_proof)) {
      return corrupt("discovery: the sender does not know the run");
    }
  }
  if (!signature_valid(answer.key, signed_text(answer), answer.signature)) {
    return corrupt("discovery: the signature is not its sender's");
  }
  return {};
}

std::size_t DiscoverySearch::count_source(const std::string& source) const {
  std::size_t count = 0;
  for (const auto& [key, members] : found_) {
    for (const auto& [id, member] : members) count += member.source == source ? 1U : 0U;
  }
  return count;
}

Status DiscoverySearch::keep(const Key& key, DiscoveredMember member) {
  auto run = found_.find(key);
  const bool is_known = run != found_.end() && run->second.count(member.id) != 0;
  if (!is_known) {
    if (count_source(member.source) >= limits_.source_max) {
      return unavailable("discovery: too many answers from one address");
    }
    if (run == found_.end()) {
      if (found_.size() >= limits_.runs_max) return unavailable("discovery: too many runs");
      run = found_.emplace(key, Members()).first;
    }
    if (run->second.size() >= limits_.members_max) {
      return unavailable("discovery: enough members of this run");
    }
  }
  run->second.insert_or_assign(member.id, std::move(member));
  return {};
}

void DiscoverySearch::expire(TimePoint now) {
  for (auto run = found_.begin(); run != found_.end();) {
    std::erase_if(run->second,
                  [&](const auto& entry) { return now - entry.second.heard >= limits_.keep_for; });
    run = run->second.empty() ? found_.erase(run) : std::next(run);
  }
}

std::vector<DiscoveredRun> DiscoverySearch::runs() const {
  std::vector<DiscoveredRun> out;
  for (const auto& [key, members] : found_) {
    DiscoveredRun run;
    run.tag = key.tag;
    run.name = key.name;
    run.invite = key.invite;
    run.recipe_hash = key.recipe_hash;
    run.proved = run_.has_value() || key.invite == DiscoveryInvite::kOpen;
    for (const auto& [id, member] : members) run.answers.push_back(member);
    out.push_back(std::move(run));
  }
  std::stable_sort(out.begin(), out.end(), [](const DiscoveredRun& a, const DiscoveredRun& b) {
    return a.answers.size() > b.answers.size();
  });
  return out;
}

}  // namespace weft
