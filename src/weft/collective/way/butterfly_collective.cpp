#include "weft/collective/way/butterfly_collective.h"

#include <algorithm>
#include <array>
#include <cstring>

#include <fmt/format.h>

#include "weft/collective/reduce/collective_form.h"

namespace weft {

ButterflyCollective::ButterflyCollective(const CollectiveOptions& options, std::int64_t elements,
                                         CollectiveSink& sink, std::shared_ptr<FloatBuffer> buffer)
    : options_(options),
      elements_(elements),
      form_(form_of(options, Algorithm::kButterfly)),
      reduces_(kind_reduces(options.kind)),
      gathers_(kind_gathers(options.kind)),
      measures_(reduces_ && options.size > 1 && options.aggregator.needs_distances()),
      sink_(sink),
      store_(options, elements, std::move(buffer)),
      slots_(store_.count()),
      peers_(static_cast<std::size_t>(options.size)),
      owners_(peers_.size()),
      tables_(measures_ ? peers_.size() : 0, Distances(options.size)),
      table_here_(peers_.size()) {
  for (Peer& each : peers_) each.open = options.start_open;
  if (!measures_)
    weights_ = options.aggregator.select(Distances(options.size), options.aggregate_round);
  for (std::uint32_t index = 0; index < store_.count(); ++index) {
    owners_[static_cast<std::size_t>(owner(index).value())] = true;
    if (needs_input(index)) ++inputs_due_;
    if (reduces_ && owns(index)) slots_[index].here.resize(peers_.size());
  }
}

void ButterflyCollective::contribute(std::int64_t offset, std::span<const float> values) {
  store_.contribute(offset, values, [this](std::uint32_t index) {
    if (needs_input(index)) take_input(index);
  });
  pump_all();
}

void ButterflyCollective::take_input(std::uint32_t index) {
  --inputs_due_;
  store_.read_input(index);
  slots_[index].state = State::kGiven;
  if (owns(index)) {
    if (reduces_) return reduce_if_whole(index);
    store_.round(index);
    return take_final(index);
  }
  store_.round(index);
  if (!gathers_) ++finished_;
  enqueue(owner(index), index, CollectiveOp::kReduce);
}

MutableByteSpan ButterflyCollective::inbox_of(std::uint32_t index, Rank from) {
  Slot& slot = slots_[index];
  const std::size_t bytes = store_.bytes_of(index);
  if (!slot.inbox) {
    // Rounded up, so that each input is aligned.
    const auto floats = static_cast<std::int64_t>((bytes + sizeof(float) - 1) / sizeof(float));
    slot.inbox = std::make_shared<FloatBuffer>(floats * options_.size);
  }
  const std::size_t step = slot.inbox->span().size_bytes() / peers_.size();
  auto* const base = reinterpret_cast<std::uint8_t*>(slot.inbox->span().data());
  return {base + step * static_cast<std::size_t>(from.value()), bytes};
}

void ButterflyCollective::reduce_if_whole(std::uint32_t index) {
  Slot& slot = slots_[index];
  if (slot.count + 1 < options_.size || !store_.input_ready(index)) return;
  if (measures_) return measure();
  if (options_.size > 1) {
    if (!options_.aggregator.is_mean()) return combine(index);
    add_in_rank_order(index);
  }
  slot.inbox.reset();
  if (gathers_) store_.round(index);
  take_final(index);
}

void ButterflyCollective::add_in_rank_order(std::uint32_t index) {
  const std::span<float> sum = store_.values(index);
  const WirePrecision precision = store_.segment(index).precision;
  if (precision == WirePrecision::kF32) return add_exact(index);
  const std::vector<float> own(sum.begin(), sum.end());
  std::vector<float> decoded(sum.size());
  for (int rank = 0; rank < options_.size; ++rank) {
    std::span<const float> values = own;
    if (Rank(rank) != options_.rank) {
      decode(precision, inbox_of(index, Rank(rank)), decoded);
      values = decoded;
    }
    if (rank == 0) {
      std::copy(values.begin(), values.end(), sum.begin());
    } else {
      add_floats(reinterpret_cast<const std::uint8_t*>(sum.data()), values.data(), sum.data(),
                 sum.size());
    }
  }
}

// Block by block, so that a block of the sum stays in the cache while the inputs pass.
void ButterflyCollective::add_exact(std::uint32_t index) {
  constexpr std::size_t kBlock = 2048;
  std::array<float, kBlock> own;
  const std::span<float> sum = store_.values(index);
  for (std::size_t at = 0; at < sum.size(); at += kBlock) {
    const std::span<float> out = sum.subspan(at, std::min(kBlock, sum.size() - at));
    std::copy(out.begin(), out.end(), own.begin());
    for (int rank = 0; rank < options_.size; ++rank) {
      const float* values = own.data();
      if (Rank(rank) != options_.rank) {
        values = reinterpret_cast<const float*>(inbox_of(index, Rank(rank)).data()) + at;
      }
      if (rank == 0) {
        std::memcpy(out.data(), values, out.size_bytes());
      } else {
        add_floats(reinterpret_cast<const std::uint8_t*>(out.data()), values, out.data(),
                   out.size());
      }
    }
  }
}

void ButterflyCollective::take_final(std::uint32_t index) {
  slots_[index].state = State::kFinal;
  ++finished_;
  if (!gathers_ || !owns(index)) return;
  // Each owner begins with its successor, so that no member gets everything at once.
  for (int step = 1; step < options_.size; ++step) {
    enqueue(Rank((options_.rank.value() + step) % options_.size), index, CollectiveOp::kGather);
  }
}

Result<std::uint32_t> ButterflyCollective::accept(Rank from, const SegmentHead& head,
                                                  std::size_t body_bytes) const {
  WEFT_TRY(check_head(head, from, elements_, form_));
  const bool known = from.value() >= 0 && from.value() < options_.size && from != options_.rank;
  if (!known || head.segment >= store_.count()) {
    return corrupt(fmt::format("butterfly: segment {} of {} from rank {} of {}", head.segment,
                               store_.count(), from.value(), options_.size));
  }
  const std::uint32_t index = head.segment;
  const Slot& slot = slots_[index];
  bool wanted = false;
  std::size_t bytes = store_.bytes_of(index);
  if (head.op == CollectiveOp::kReduce) {
    wanted = reduces_ && owns(index) && slot.state != State::kFinal &&
             !slot.here[static_cast<std::size_t>(from.value())];
  } else if (head.op == CollectiveOp::kGather) {
    const State before = reduces_ ? State::kGiven : State::kEmpty;
    wanted = gathers_ && owner(index) == from && slot.state == before;
  } else if (head.op == CollectiveOp::kDistances) {
    wanted = measures_ && index == 0 && owns_any(from) && owns_any(options_.rank) &&
             !table_here_[static_cast<std::size_t>(from.value())];
    bytes = wanted ? tables_.front().values().size_bytes() : 0;
  }
  if (!wanted) {
    return corrupt(
        fmt::format("butterfly segment {}: operation {} of rank {} came twice, before "
                    "its time or to the wrong member",
                    index, static_cast<int>(head.op), from.value()));
  }
  if (body_bytes != bytes) {
    return corrupt(
        fmt::format("butterfly segment {}: expected {} bytes, got {}", index, bytes, body_bytes));
  }
  return index;
}

MutableByteSpan ButterflyCollective::body_destination(Rank from, ByteSpan head_bytes,
                                                      std::size_t body_bytes) {
  const Result<SegmentHead> head = SegmentHead::decode(head_bytes);
  if (!head.ok()) return {};
  const Result<std::uint32_t> index = accept(from, *head, body_bytes);
  if (!index.ok()) return {};
  if (head->op == CollectiveOp::kDistances) return table_of(from);
  return head->op == CollectiveOp::kReduce ? inbox_of(*index, from) : store_.place(*index);
}

Status ButterflyCollective::on_frame(Rank from, const FrameView& frame) {
  WEFT_TRY_ASSIGN(const SegmentHead head, SegmentHead::decode(frame.head));
  WEFT_TRY_ASSIGN(const std::uint32_t index, accept(from, head, frame.body.size()));
  if (head.op == CollectiveOp::kReduce) {
    const MutableByteSpan out = inbox_of(index, from);
    if (out.data() != frame.body.data()) {
      std::memcpy(out.data(), frame.body.data(), frame.body.size());
    }
    Slot& slot = slots_[index];
    slot.here[static_cast<std::size_t>(from.value())] = true;
    ++slot.count;
    reduce_if_whole(index);
  } else if (head.op == CollectiveOp::kDistances) {
    WEFT_TRY(take_table(from, frame.body));
  } else {
    store_.keep(index, frame.body);
    store_.read_place(index);
    take_final(index);
  }
  pump_all();
  return {};
}

void ButterflyCollective::enqueue(Rank to, std::uint32_t index, CollectiveOp op) {
  // While closed, resume() finds what is to be sent from the states.
  if (peer(to).open) peer(to).queue.push_back({index, op});
}

void ButterflyCollective::pump(Rank to) {
  Peer& each = peer(to);
  while (each.open && !each.queue.empty() && sink_.queued_bytes(to) < options_.queue_bytes_max) {
    const Outgoing out = each.queue.front();
    each.queue.pop_front();
    const SegmentHead head{options_.id, out.op, form_, static_cast<std::uint64_t>(elements_),
                           out.segment};
    const bool table = out.op == CollectiveOp::kDistances;
    sink_.send(to, {frame_type::kSegment, head.encode(),
                    table ? shared_table() : store_.shared(out.segment)});
  }
}

void ButterflyCollective::pump_all() {
  for (int step = 1; step < options_.size; ++step) {
    pump(Rank((options_.rank.value() + step) % options_.size));
  }
}

void ButterflyCollective::on_link_down(Rank to) {
  peer(to).open = false;
  peer(to).queue.clear();
}

Status ButterflyCollective::resume(Rank to, ByteSpan received) {
  if (to == options_.rank) return {};
  if (!received.empty() && received.size() != map_size()) {
    return corrupt(
        fmt::format("butterfly: map of {} segments, expected {}", received.size(), map_size()));
  }
  peer(to).queue.clear();
  peer(to).open = true;
  for (std::uint32_t index = 0; index < store_.count(); ++index) {
    const int has = received.empty() ? 0 : received[index];
    const State state = slots_[index].state;
    // A finished segment of another owner: it had our input.
    const bool reduce = reduces_ && owner(index) == to && state == State::kGiven && has == 0;
    const bool gather = gathers_ && owns(index) && state == State::kFinal && has != 2;
    if (reduce) enqueue(to, index, CollectiveOp::kReduce);
    if (gather) enqueue(to, index, CollectiveOp::kGather);
  }
  const bool measured = table_here_[static_cast<std::size_t>(options_.rank.value())];
  if (measured && owns_any(to) && (received.empty() || received.back() == 0)) {
    enqueue(to, 0, CollectiveOp::kDistances);
  }
  pump(to);
  return {};
}

Bytes ButterflyCollective::received_map(Rank from) const {
  if (from == options_.rank) return {};
  Bytes map(map_size());
  if (measures_) map.back() = table_here_[static_cast<std::size_t>(from.value())] ? 1 : 0;
  for (std::uint32_t index = 0; index < store_.count(); ++index) {
    const Slot& slot = slots_[index];
    if (owns(index) && reduces_) {
      const bool here =
          slot.state == State::kFinal || slot.here[static_cast<std::size_t>(from.value())];
      map[index] = here ? 1 : 0;
    } else if (owner(index) == from && slot.state == State::kFinal) {
      map[index] = 2;
    }
  }
  return map;
}

bool ButterflyCollective::sent_all() const {
  for (int rank = 0; rank < options_.size; ++rank) {
    const Peer& each = peers_[static_cast<std::size_t>(rank)];
    if (Rank(rank) != options_.rank && (!each.open || !each.queue.empty())) return false;
  }
  return true;
}

Rank ButterflyCollective::waits_for() const {
  for (std::uint32_t index = 0; index < store_.count(); ++index) {
    const Slot& slot = slots_[index];
    if (slot.state == State::kFinal) continue;
    if (!owns(index)) {
      const State before = reduces_ ? State::kGiven : State::kEmpty;
      if (gathers_ && slot.state == before) return owner(index);
      continue;
    }
    for (std::size_t rank = 0; rank < slot.here.size(); ++rank) {
      const Rank other(static_cast<int>(rank));
      if (other != options_.rank && !slot.here[rank]) return other;
    }
  }
  // Every input is here, so what is missing are distances.
  if (measures_ && !complete() && owns_any(options_.rank)) {
    for (std::size_t rank = 0; rank < owners_.size(); ++rank) {
      if (owners_[rank] && !table_here_[rank]) return Rank(static_cast<int>(rank));
    }
  }
  return options_.rank;
}

}  // namespace weft
