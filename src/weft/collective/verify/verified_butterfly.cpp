#include "weft/collective/verify/verified_butterfly.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "weft/base/check.h"
#include "weft/collective/reduce/collective_form.h"
#include "weft/wire/frame_type.h"

namespace weft {

// Values travel as they are, since an owner's rounding could not be repeated.
static CollectiveOptions exact(CollectiveOptions options) {
  options.precision = WirePrecision::kF32;
  options.residual.reset();
  return options;
}

VerifiedButterfly::VerifiedButterfly(const CollectiveOptions& options, std::int64_t elements,
                                     CollectiveSink& sink, std::shared_ptr<FloatBuffer> buffer)
    : options_(exact(options)),
      elements_(elements),
      form_(form_of(options_, Algorithm::kVerified)),
      measures_(options_.aggregator.needs_distances()),
      sink_(sink),
      table_(plan_collective(options_, elements), options_.size),
      book_(options_.id, options_.rank, options_.verification),
      inputs_(table_, options_.id, options_.verification.members),
      input_(std::make_shared<FloatBuffer>(elements)),
      result_(buffer ? std::move(buffer) : std::make_shared<FloatBuffer>(elements)),
      peers_(static_cast<std::size_t>(options_.size)),
      state_(peers_.size()),
      final_here_(table_.segment_count()) {
  WEFT_CHECK(options_.size > 1 && options_.kind == CollectiveKind::kAllReduce);
  WEFT_CHECK(options_.verification.members.size() == peers_.size());
  WEFT_CHECK(options_.verification.signer != nullptr);
  for (Peer& each : peers_) each.open = options_.start_open;
  for (Chunk& each : state_) {
    each.said_right.resize(peers_.size());
    each.said_false.resize(peers_.size());
  }
  if (!measures_) {
    weights_ = options_.aggregator.select(Distances(options_.size), options_.aggregate_round);
  }
}

void VerifiedButterfly::contribute(std::int64_t offset, std::span<const float> values) {
  const std::span<float> out =
      input_->span().subspan(static_cast<std::size_t>(offset), values.size());
  std::ranges::copy(values, out.begin());
  covered_ += static_cast<std::int64_t>(values.size());
  WEFT_CHECK(covered_ <= elements_);
  advance();
}

// --- Sending.

void VerifiedButterfly::enqueue(Rank to, Outgoing frame) {
  // While closed, resume() finds what is to be sent.
  if (peer(to).open) peer(to).queue.push_back(std::move(frame));
}

void VerifiedButterfly::enqueue_all(CollectiveOp op, std::uint32_t segment, const Bytes& body) {
  const SharedBytes shared{Bytes(body)};
  for_others([&](Rank to) { enqueue(to, {op, segment, shared}); });
}

static SharedBytes piece_of(const std::shared_ptr<FloatBuffer>& buffer, const Segment& segment) {
  return {buffer, as_bytes(std::as_const(*buffer).span().subspan(
                      static_cast<std::size_t>(segment.offset),
                      static_cast<std::size_t>(segment.elements)))};
}

SharedBytes VerifiedButterfly::own_piece(std::uint32_t segment) const {
  return piece_of(input_, table_.segment(segment));
}

SharedBytes VerifiedButterfly::finished_piece(std::uint32_t segment) const {
  return piece_of(result_, table_.segment(segment));
}

void VerifiedButterfly::enqueue_input(Rank to, Rank chunk_owner, Rank contributor) {
  const auto from = static_cast<std::uint32_t>(contributor.value());
  for (const std::uint32_t each : table_.segments_of(chunk_owner)) {
    enqueue(to,
            {CollectiveOp::kInput, from * table_.segment_count() + each,
             contributor == options_.rank ? own_piece(each) : inputs_.piece(each, contributor)});
  }
}

void VerifiedButterfly::serve_requests(Rank to) {
  if (!sending_) return;
  for (const std::uint32_t each : peer(to).requests) {
    enqueue_input(to, Rank(static_cast<int>(each)), options_.rank);
  }
}

void VerifiedButterfly::pump(Rank to) {
  Peer& each = peer(to);
  while (each.open && !each.queue.empty() && sink_.queued_bytes(to) < options_.queue_bytes_max) {
    Outgoing out = std::move(each.queue.front());
    each.queue.pop_front();
    if (!on_sending(to, out)) continue;
    const SegmentHead head{options_.id, out.op, form_, static_cast<std::uint64_t>(elements_),
                           out.segment};
    sink_.send(to, {frame_type::kSegment, head.encode(), std::move(out.body)});
  }
}

bool VerifiedButterfly::sent_all() const {
  bool all = true;
  for_others([&](Rank to) { all = all && peer(to).open && peer(to).queue.empty(); });
  return all;
}

// --- Links.

void VerifiedButterfly::on_link_down(Rank to) {
  peer(to).open = false;
  peer(to).queue.clear();
  peer(to).requests.clear();
}

Bytes VerifiedButterfly::received_map(Rank from) const {
  if (from == options_.rank) return {};
  Bytes map(map_size());
  for (std::uint32_t each = 0; each < table_.segment_count(); ++each) {
    if (owner(each) == options_.rank) {
      const bool here = inputs_.has(options_.rank, from) || inputs_.here({from, from}, each);
      map[each] = here ? 1 : 0;
    } else if (owner(each) == from && final_here_[each]) {
      map[each] = 2;
    }
  }
  return map;
}

// What is short is sent again as a whole; its receiver knows it perhaps.
Status VerifiedButterfly::resume(Rank to, ByteSpan received) {
  if (to == options_.rank) return {};
  if (!received.empty() && received.size() != map_size()) {
    return corrupt(fmt::format("verified butterfly: map of {} segments, expected {}",
                               received.size(), map_size()));
  }
  peer(to).queue.clear();
  peer(to).open = true;
  const auto has = [&](std::uint32_t each) { return received.empty() ? 0 : received[each]; };
  const auto again = [&](CollectiveOp op, const Bytes& body) {
    if (!body.empty()) enqueue(to, {op, 0, SharedBytes(Bytes(body))});
  };
  again(CollectiveOp::kCommitment, commitment_);
  if (sending_) {
    for (const std::uint32_t each : table_.segments_of(to)) {
      if (has(each) == 0) enqueue(to, {CollectiveOp::kReduce, each, own_piece(each)});
    }
  }
  again(CollectiveOp::kDistances, own_table_);
  if (!own_result_.empty()) {
    for (const std::uint32_t each : table_.segments_of(options_.rank)) {
      if (has(each) != 2) enqueue(to, {CollectiveOp::kGather, each, finished_piece(each)});
    }
    again(CollectiveOp::kStatements, own_result_);
  }
  again(CollectiveOp::kEcho, own_echo_);
  for (const Bytes& each : own_verdicts_) again(CollectiveOp::kStatements, each);
  for (const Bytes& each : spread_) again(CollectiveOp::kStatements, each);
  for (const auto& [chunk_number, contributor] : wanted_inputs_) {
    if (Rank(contributor) == to && !inputs_.has(Rank(chunk_number), to)) {
      enqueue(to, {CollectiveOp::kInputRequest, static_cast<std::uint32_t>(chunk_number), {}});
    }
  }
  serve_requests(to);
  for (const Statement& complaint : complaints_) {
    if (complaint.by == static_cast<std::uint32_t>(to.value())) hand_on(complaint);
  }
  for_others([this](Rank each) { pump(each); });
  return {};
}

// --- Waits.

Rank VerifiedButterfly::waits_for() const {
  if (complete_) return options_.rank;
  const auto first = [&](auto&& lacks) {
    for (int rank = 0; rank < options_.size; ++rank) {
      if (Rank(rank) != options_.rank && lacks(Rank(rank))) return Rank(rank);
    }
    return options_.rank;
  };
  const Rank repeats = repeat_waits_for();
  if (repeats != options_.rank) return repeats;
  const auto missing = [&](StatementKind kind) {
    return first(
        [&](Rank rank) { return table_.owns(rank) && !book_.first(kind, rank).has_value(); });
  };
  Rank waits = first([&](Rank rank) { return !peer(rank).commitment; });
  if (waits == options_.rank && table_.owns(options_.rank)) {
    waits = first([&](Rank rank) { return !inputs_.has(options_.rank, rank); });
  }
  if (waits == options_.rank && measures_) {
    waits = first([&](Rank rank) { return table_.owns(rank) && !peer(rank).table; });
  }
  if (waits == options_.rank) waits = missing(StatementKind::kResult);
  if (waits == options_.rank) {
    waits = first([&](Rank rank) { return !chunk(rank).whole && table_.owns(rank); });
  }
  if (waits == options_.rank) waits = first([&](Rank rank) { return !peer(rank).echo; });
  if (waits != options_.rank || verifiers_.empty()) return waits;
  for (std::size_t owned = 0; owned < verifiers_.size(); ++owned) {
    for (const Rank verifier : verifiers_[owned]) {
      const Chunk& each = state_[owned];
      const bool owes = !each.said_right[index(verifier)] && !each.said_false[index(verifier)];
      if (owes && verifier != options_.rank && table_.owns(Rank(static_cast<int>(owned)))) {
        return verifier;
      }
    }
  }
  return options_.rank;
}

}  // namespace weft
