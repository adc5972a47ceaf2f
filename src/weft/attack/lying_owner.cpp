#include "weft/attack/lying_owner.h"

#include <bit>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "weft/base/hash.h"
#include "weft/collective/verify/verified_butterfly.h"

namespace weft {
namespace {

constexpr float kConstant = 1000;

void flip_lowest_bit(float& value) {
  value = std::bit_cast<float>(std::bit_cast<std::uint32_t>(value) ^ 1U);
}

SharedBytes spoilt(const SharedBytes& body) {
  Bytes bytes(body.span().begin(), body.span().end());
  bytes.at(0) ^= 1U;
  return SharedBytes(std::move(bytes));
}

class LyingOwner final : public VerifiedButterfly {
 public:
  LyingOwner(OwnerLie lie, const CollectiveOptions& options, std::int64_t elements,
             CollectiveSink& sink, std::shared_ptr<FloatBuffer> buffer)
      : VerifiedButterfly(options, elements, sink, std::move(buffer)),
        lie_(lie),
        self_(options.rank),
        size_(options.size) {}

 protected:
  void on_measured(Distances& table) override {
    if (lie_ != OwnerLie::kFalseDistances) return;
    // Those of the first member with the others, and so on: all of them.
    for (double& distance : table.values()) distance = 0;
  }

  void on_combined(std::span<float> chunk) override {
    if (lie_ == OwnerLie::kFlipsBit) flip_lowest_bit(chunk.front());
    if (lie_ != OwnerLie::kAddsConstant) return;
    for (float& value : chunk) value += kConstant;
  }

  bool judges(Rank /*owner*/, bool right) override {
    return lie_ != OwnerLie::kFalseAccusation && right;
  }

  bool on_sending(Rank to, Outgoing& frame) override {
    if (lie_ == OwnerLie::kEquivocates && to.value() % 2 == 1) return equivocate(frame);
    if (lie_ == OwnerLie::kSpoilsOnTheWay && to.value() % 2 == 1 &&
        frame.op == CollectiveOp::kGather) {
      frame.body = spoilt(frame.body);
    }
    const bool victim = lie_ == OwnerLie::kFalseInput || (lie_ == OwnerLie::kFalseInputToOne &&
                                                          to == Rank((self_.value() + 1) % size_));
    if (victim && is_own_input(frame)) frame.body = spoilt(frame.body);
    return lie_ != OwnerLie::kNoVerdict || kind_of(frame) != StatementKind::kRight;
  }

 private:
  bool is_own_input(const Outgoing& frame) const {
    const std::uint32_t own = static_cast<std::uint32_t>(self_.value());
    return frame.op == CollectiveOp::kReduce ||
           (frame.op == CollectiveOp::kInput && frame.segment / chunks().segment_count() == own);
  }

  static std::optional<StatementKind> kind_of(const Outgoing& frame) {
    if (frame.op != CollectiveOp::kStatements) return std::nullopt;
    const auto message = StatementsMessage::decode(frame.body.span());
    if (!message.ok() || message->statements.size() != 1) return std::nullopt;
    return message->statements.front().kind;
  }

  // The other chunk has the lowest bit of each segment's first value turned over.
  bool equivocate(Outgoing& frame) {
    if (frame.op == CollectiveOp::kGather) frame.body = spoilt(frame.body);
    if (kind_of(frame) != StatementKind::kResult) return true;
    std::vector<float> other = chunks().taken_from(std::as_const(*result()).span(), self_);
    for (const std::uint32_t segment : chunks().segments_of(self_)) {
      flip_lowest_bit(other[chunks().place(segment)]);
    }
    const Hash256 digest = sha256(as_bytes(std::span<const float>(other)));
    frame.body =
        SharedBytes(StatementsMessage{{book().make(StatementKind::kResult, digest)}}.encode());
    return true;
  }

  const OwnerLie lie_;
  const Rank self_;
  const int size_;
};

}  // namespace

CollectiveMaker make_lying_owner(const OwnerLieOptions& lie) {
  return [lie](const CollectiveOptions& options, std::int64_t elements, CollectiveSink& sink,
               std::shared_ptr<FloatBuffer> buffer) -> std::unique_ptr<Collective> {
    const bool lies = choose_algorithm(options, elements) == Algorithm::kVerified &&
                      options.id.round >= lie.from_round;
    if (!lies) return make_collective(options, elements, sink, std::move(buffer));
    return std::make_unique<LyingOwner>(lie.lie, options, elements, sink, std::move(buffer));
  };
}

}  // namespace weft
