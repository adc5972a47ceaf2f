#include "weft/sim/membership/gossip_scale.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "weft/base/check.h"
#include "weft/base/hash.h"
#include "weft/base/rng.h"
#include "weft/gossip/gossip_core.h"
#include "weft/wire/codec.h"
#include "weft/wire/frame_type.h"
#include "weft/wire/gossip_message.h"

namespace weft {
namespace {

using std::chrono::milliseconds;

constexpr std::uint64_t kIdleFrameBytes = 6;
constexpr std::uint64_t kRenewalsInExpiry = 8;  // as the core renews them
constexpr int kBatchesInRound = 20;             // of 50 ms, as changes are collected

// Nobody is kept out by these; they repeat, and are as long as real ones.
RecordSignature idle_signature(const PublicKey& key, ByteSpan message) {
  Bytes all(key.begin(), key.end());
  all.insert(all.end(), message.begin(), message.end());
  const Hash128 mac = xxh3_128(all);
  RecordSignature signature{};
  std::ranges::copy(mac, signature.begin());
  return signature;
}

RecordSigner idle_signer(int member) {
  Writer name;
  name.text("idle").u64(static_cast<std::uint64_t>(member));
  const PublicKey key = sha256(name.written());
  return {key, [key](ByteSpan message) { return idle_signature(key, message); }};
}

std::vector<std::string> idle_endpoints(int member) {
  return {"192.0.2.101:" + std::to_string(20000 + member)};
}

class IdleGroup {
 public:
  explicit IdleGroup(const GossipScaleOptions& options)
      : options_(options), rng_(7, 0x1d1e), core_(core_options(), now_) {
    for (int i = 1; i < options.members; ++i) {
      const RecordSigner signer = idle_signer(i);
      MemberRecord record;
      record.key = signer.key;
      record.standing.counter = 1;
      record.standing.endpoints = idle_endpoints(i);
      sign_standing(signer, run_, record.standing);
      records_.push_back(record);
      signers_.push_back(signer);
      renew(records_.size() - 1, Round(1));
    }
    core_.link_up(owner_of(records_.front()), now_);
    take_actions();
    hand_over(owner_of(records_.front()), records_);
    advance_to(now_ + std::chrono::seconds(1));
  }

  GossipScaleResult measure() {
    const std::uint64_t period = options_.expiry_rounds / kRenewalsInExpiry;
    run_rounds(2 * period);
    traffic_ = {};
    const TimePoint begun = now_;
    run_rounds(4 * period);
    return {traffic_, to_seconds(now_ - begun), core_.book().size()};
  }

 private:
  GossipOptions core_options() const {
    GossipOptions own;
    own.run = run_;
    own.signer = idle_signer(0);
    own.endpoints = idle_endpoints(0);
    own.topology = *Topology::parse("random_regular:degree=" + std::to_string(options_.degree), 1);
    own.start_members = static_cast<std::size_t>(options_.members);
    own.book.expiry_rounds = options_.expiry_rounds;
    own.book.records_max = std::max(kBookRecordsMax, static_cast<std::size_t>(options_.members));
    own.book.check = [](const PublicKey& key, ByteSpan message, const RecordSignature& signature) {
      return idle_signature(key, message) == signature;
    };
    return own;
  }

  void renew(std::size_t record, Round round) {
    records_[record].presence.round = round;
    sign_presence(signers_[record], run_, records_[record].presence);
  }

  void count_received(std::size_t bytes) {
    ++traffic_.messages_received;
    traffic_.bytes_received += bytes + kIdleFrameBytes;
  }

  void hand_over(const PeerId& from, const std::vector<MemberRecord>& records) {
    for (std::size_t begin = 0; begin < records.size(); begin += kBookMessageRecordsMax) {
      const std::size_t end = std::min<std::size_t>(records.size(), begin + kBookMessageRecordsMax);
      const GossipBookMessage message{{records.begin() + static_cast<std::ptrdiff_t>(begin),
                                       records.begin() + static_cast<std::ptrdiff_t>(end)}};
      const Bytes head = message.encode();
      count_received(head.size());
      core_.receive(from, frame_type::kGossipBook, head, {}, now_);
    }
    take_actions();
  }

  // Whom the core dials has a link at once; what it sends is counted.
  void take_actions() {
    for (std::vector<GossipAction> actions = core_.take_actions(); !actions.empty();
         actions = core_.take_actions()) {
      for (const GossipAction& action : actions) {
        if (const auto* const send = std::get_if<GossipSend>(&action)) {
          ++traffic_.messages_sent;
          traffic_.bytes_sent +=
              send->frame.head.size() + send->frame.body.size() + kIdleFrameBytes;
        } else if (const auto* const dial = std::get_if<GossipDial>(&action)) {
          core_.link_up(dial->peer.id, now_);
        }
      }
    }
  }

  void advance_to(TimePoint when) {
    for (auto next = core_.next_deadline(); next && *next <= when; next = core_.next_deadline()) {
      now_ = std::max(now_ + std::chrono::microseconds(1), *next);
      core_.tick(now_);
      take_actions();
    }
    now_ = std::max(now_, when);
  }

  void send_parameters_of(const PeerId& neighbour) {
    const GossipParametersHead head{
        core_.round(), static_cast<std::uint32_t>(options_.degree), true, false, 1, 0, false};
    const Bytes bytes = head.encode();
    count_received(bytes.size() + sizeof(float));
    core_.receive(neighbour, frame_type::kGossipParameters, bytes, SharedBytes(value()), now_);
  }

  static Bytes value() { return Bytes(sizeof(float)); }

  // The members whose presence is due in this batch sign it; each neighbour but one passes it on.
  void pass_on_presences(Round round, int batch) {
    const std::vector<PeerId> neighbours(core_.neighbours().begin(), core_.neighbours().end());
    std::vector<std::vector<MemberRecord>> sent(neighbours.size());
    const std::uint64_t period = options_.expiry_rounds / kRenewalsInExpiry;
    for (std::size_t i = 0; i < records_.size(); ++i) {
      const bool due = (round.value() + i) % period == 0 &&
                       i / period % kBatchesInRound == static_cast<std::size_t>(batch);
      if (!due) continue;
      renew(i, round);
      const std::size_t silent = rng_.below(neighbours.size());
      for (std::size_t n = 0; n < neighbours.size(); ++n) {
        if (n != silent) sent[n].push_back(records_[i]);
      }
    }
    for (std::size_t n = 0; n < neighbours.size(); ++n) hand_over(neighbours[n], sent[n]);
  }

  void run_rounds(std::uint64_t rounds) {
    for (std::uint64_t i = 0; i < rounds; ++i) {
      WEFT_CHECK(core_.phase() == GossipPhase::kIdle);
      const TimePoint begun = now_;
      const Round round = core_.round();
      WEFT_CHECK(core_.begin(SharedBytes(value()), now_).ok());
      take_actions();
      for (const PeerId& neighbour : std::set(core_.neighbours())) send_parameters_of(neighbour);
      for (int batch = 0; batch < kBatchesInRound; ++batch) {
        pass_on_presences(round, batch);
        advance_to(begun + (batch + 1) * milliseconds(1000 / kBatchesInRound));
      }
      core_.await(now_);
      WEFT_CHECK(core_.ready());
      std::vector<float> mixed(1);
      core_.finish(mixed, now_);
      take_actions();
    }
  }

  const GossipScaleOptions options_;
  const RunId run_{};
  Rng rng_;
  TimePoint now_{};
  Traffic traffic_;
  GossipCore core_;
  std::vector<MemberRecord> records_;  // of the others
  std::vector<RecordSigner> signers_;
};

}  // namespace

GossipScaleResult measure_idle_gossip(const GossipScaleOptions& options) {
  WEFT_CHECK(options.degree > 0 && options.members > options.degree);
  return IdleGroup(options).measure();
}

}  // namespace weft
