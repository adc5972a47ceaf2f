// VerifiedButterfly: what arrives.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "weft/collective/reduce/collective_form.h"
#include "weft/collective/verify/verified_butterfly.h"

namespace weft {

// Data whose place depends on its state: an input for this member's chunk, or a finished segment.
Status VerifiedButterfly::check_segment(Rank from, const SegmentHead& head,
                                        std::size_t body_bytes) const {
  WEFT_TRY(check_head(head, from, elements_, form_));
  if (from.value() < 0 || from.value() >= options_.size || from == options_.rank) {
    return corrupt(fmt::format("verified butterfly: rank {} of {}", from.value(), options_.size));
  }
  const bool reduce = head.op == CollectiveOp::kReduce;
  if (!reduce && head.op != CollectiveOp::kGather) return {};
  const std::uint32_t each = head.segment;
  bool wanted = each < table_.segment_count();
  if (wanted && reduce) {
    wanted = owner(each) == options_.rank && inputs_.committed(from) &&
             !inputs_.has(options_.rank, from) && !inputs_.here({from, from}, each);
  } else if (wanted) {
    wanted = owner(each) == from && !final_here_[each] && contributed();
  }
  if (!wanted || body_bytes != table_.bytes_of(each)) {
    return corrupt(fmt::format(
        "verified butterfly: segment {} with operation {} and {} bytes from rank {} came twice, "
        "before its time or to the wrong member",
        each, static_cast<int>(head.op), body_bytes, from.value()));
  }
  return {};
}

MutableByteSpan VerifiedButterfly::body_destination(Rank from, ByteSpan head_bytes,
                                                    std::size_t body_bytes) {
  const Result<SegmentHead> head = SegmentHead::decode(head_bytes);
  if (!head.ok() || !check_segment(from, *head, body_bytes).ok()) return {};
  if (head->op == CollectiveOp::kReduce) return inputs_.place({from, from}, head->segment);
  if (head->op != CollectiveOp::kGather) return {};
  const Segment& segment = table_.segment(head->segment);
  const std::span<float> values = result_->span().subspan(
      static_cast<std::size_t>(segment.offset), static_cast<std::size_t>(segment.elements));
  return {reinterpret_cast<std::uint8_t*>(values.data()), values.size_bytes()};
}

Status VerifiedButterfly::on_frame(Rank from, const FrameView& frame) {
  WEFT_TRY_ASSIGN(const SegmentHead head, SegmentHead::decode(frame.head));
  WEFT_TRY(check_segment(from, head, frame.body.size()));
  WEFT_TRY(take_frame(from, head, frame.body));
  advance();
  return {};
}

Status VerifiedButterfly::take_frame(Rank from, const SegmentHead& head, ByteSpan body) {
  switch (head.op) {
    case CollectiveOp::kCommitment:
      return take_commitment(from, body);
    case CollectiveOp::kReduce:
      return take_input(from, head.segment, body);
    case CollectiveOp::kDistances:
      return take_table(from, body);
    case CollectiveOp::kGather:
      return take_final(head.segment, body);
    case CollectiveOp::kStatements:
      return take_statements(from, body);
    case CollectiveOp::kEcho:
      return take_echo(from, body);
    case CollectiveOp::kInputRequest:
      return take_request(from, head.segment);
    case CollectiveOp::kInput:
      return take_handed_on(from, head.segment, body);
    case CollectiveOp::kDirect:
    case CollectiveOp::kTree:
    case CollectiveOp::kPayload:
    case CollectiveOp::kDelivery:
      break;
  }
  return corrupt(fmt::format("verified butterfly: operation {}", static_cast<int>(head.op)));
}

static bool is_by(const Statement& statement, StatementKind kind, Rank from) {
  return statement.kind == kind && statement.by == static_cast<std::uint32_t>(from.value());
}

Status VerifiedButterfly::take_commitment(Rank from, ByteSpan body) {
  WEFT_TRY_ASSIGN(CommitmentMessage message, CommitmentMessage::decode(body));
  const bool sound = is_by(message.statement, StatementKind::kCommitment, from) &&
                     message.inputs.size() == peers_.size() &&
                     message.digest() == message.statement.digest && book_.valid(message.statement);
  if (!sound) return corrupt(fmt::format("commitment of rank {} is not sound", from.value()));
  if (const auto first = book_.keep(message.statement)) {
    contradict(*first, message.statement);
  } else if (!peer(from).commitment) {
    inputs_.commit(from, message.inputs);
    peer(from).commitment = std::move(message);
  }
  return {};
}

Status VerifiedButterfly::take_input(Rank from, std::uint32_t segment, ByteSpan body) {
  const ChunkInputs::From whose{from, from};
  const MutableByteSpan out = inputs_.place(whose, segment);
  if (out.data() != body.data()) std::memcpy(out.data(), body.data(), body.size());
  const ChunkInputs::Arrival arrival = inputs_.arrived(whose, segment);
  if (arrival == ChunkInputs::Arrival::kMatches) on_input(options_.rank, from);
  if (arrival == ChunkInputs::Arrival::kDiffers) on_false_input(options_.rank, from);
  return {};
}

Status VerifiedButterfly::take_table(Rank from, ByteSpan body) {
  WEFT_TRY_ASSIGN(const TableMessage message, TableMessage::decode(body));
  Distances table(options_.size);
  const bool sound =
      measures_ && table_.owns(from) && is_by(message.statement, StatementKind::kTable, from) &&
      message.values.size() == table.values().size_bytes() &&
      sha256(message.values) == message.statement.digest && book_.valid(message.statement);
  if (!sound) return corrupt(fmt::format("distances of rank {} are not sound", from.value()));
  if (const auto first = book_.keep(message.statement)) {
    contradict(*first, message.statement);
    return {};
  }
  std::memcpy(table.values().data(), message.values.data(), message.values.size());
  // What no measuring gives would have no order to sort by.
  const bool measured = std::ranges::none_of(
      table.values(), [](double value) { return std::isnan(value) || std::signbit(value); });
  if (!measured) return corrupt(fmt::format("distances of rank {} below zero", from.value()));
  if (!peer(from).table) peer(from).table = std::move(table);
  return {};
}

Status VerifiedButterfly::take_final(std::uint32_t segment, ByteSpan body) {
  const SharedBytes place = finished_piece(segment);
  if (place.span().data() != body.data()) {
    const Segment& at = table_.segment(segment);
    std::memcpy(result_->span().data() + at.offset, body.data(), body.size());
  }
  final_here_[segment] = true;
  ++chunk(owner(segment)).here;
  check_result(owner(segment));
  return {};
}

Status VerifiedButterfly::take_statements(Rank from, ByteSpan body) {
  WEFT_TRY_ASSIGN(const StatementsMessage message, StatementsMessage::decode(body));
  for (const Statement& statement : message.statements) {
    if (!book_.valid(statement)) {
      return corrupt(fmt::format("a statement from rank {} is not sound", from.value()));
    }
    WEFT_TRY(take_statement(from, statement));
  }
  return {};
}

Status VerifiedButterfly::take_statement(Rank from, const Statement& statement) {
  const Rank by(static_cast<int>(statement.by));
  switch (statement.kind) {
    case StatementKind::kCommitment:
    case StatementKind::kTable:
    case StatementKind::kResult:
      if (by == options_.rank) return {};
      if (const auto first = book_.keep(statement)) contradict(*first, statement);
      check_result(by);
      return {};
    case StatementKind::kRight:
      // Another member's statement about this one's is not needed.
      if (by == from) state_[statement.chunk].said_right[index(by)] = true;
      return {};
    case StatementKind::kFalse:
      take_false(statement);
      return {};
    case StatementKind::kComplaint:
      take_complaint(statement);
      return {};
  }
  return {};
}

Status VerifiedButterfly::take_echo(Rank from, ByteSpan body) {
  WEFT_TRY_ASSIGN(EchoMessage message, EchoMessage::decode(body));
  if (!peer(from).echo) peer(from).echo = std::move(message);
  return {};
}

Status VerifiedButterfly::take_request(Rank from, std::uint32_t chunk_number) {
  if (chunk_number >= peers_.size()) {
    return corrupt(fmt::format("request for chunk {} of {}", chunk_number, peers_.size()));
  }
  // Once while a link lasts.
  const bool is_new = peer(from).requests.insert(chunk_number).second;
  if (is_new && sending_) {
    enqueue_input(from, Rank(static_cast<int>(chunk_number)), options_.rank);
  }
  return {};
}

Status VerifiedButterfly::take_handed_on(Rank source, std::uint32_t number, ByteSpan body) {
  const std::uint32_t segment = number % table_.segment_count();
  const std::uint32_t from = number / table_.segment_count();
  if (from >= peers_.size() || body.size() != table_.bytes_of(segment)) {
    return corrupt(fmt::format("input {} with {} bytes", number, body.size()));
  }
  const Rank contributor(static_cast<int>(from));
  const Rank chunk_owner = owner(segment);
  const ChunkInputs::From whose{contributor, source};
  const bool wanted = wanted_inputs_.contains({chunk_owner.value(), contributor.value()}) &&
                      !inputs_.has(chunk_owner, contributor) && !inputs_.here(whose, segment);
  // It may have come from another member meanwhile.
  if (!wanted) return {};
  const MutableByteSpan out = inputs_.place(whose, segment);
  std::memcpy(out.data(), body.data(), body.size());
  const ChunkInputs::Arrival arrival = inputs_.arrived(whose, segment);
  if (arrival == ChunkInputs::Arrival::kMatches) on_input(chunk_owner, contributor);
  if (arrival == ChunkInputs::Arrival::kDiffers && source == contributor) {
    on_false_input(chunk_owner, contributor);
  }
  return {};
}

}  // namespace weft
