#include "weft/collective/way/tree_all_reduce.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include <fmt/format.h>

#include "weft/collective/reduce/collective_form.h"

namespace weft {

TreeAllReduce::TreeAllReduce(const CollectiveOptions& options, std::int64_t elements,
                             CollectiveSink& sink, std::shared_ptr<FloatBuffer> buffer)
    : options_(options),
      elements_(elements),
      form_(form_of(options, Algorithm::kTree)),
      sink_(sink),
      result_(buffer ? std::move(buffer) : std::make_shared<FloatBuffer>(elements)),
      input_(elements),
      open_(static_cast<std::size_t>(options.size), options.start_open) {
  WEFT_CHECK(static_cast<std::size_t>(elements) * sizeof(float) <= kFrameBodyBytesMax);
  const auto members = static_cast<unsigned>(options.size);
  const int paired = static_cast<int>(std::bit_floor(members));
  const int self = options.rank.value();
  const int exchanges = std::countr_zero(static_cast<unsigned>(paired));
  steps_.resize(static_cast<std::size_t>(exchanges) + 2);
  const bool extra = self >= paired;
  const bool has_extra = self + paired < options.size;
  Step& first = steps_.front();
  Step& last = steps_.back();
  first.partner = last.partner = Rank(extra ? self - paired : self + paired);
  first.sends = last.receives = extra;
  first.receives = last.sends = has_extra;
  for (int k = 0; k < exchanges && !extra; ++k) {
    Step& step = steps_[static_cast<std::size_t>(k) + 1];
    step.partner = Rank(self ^ (1 << k));
    step.sends = step.receives = true;
  }
  if (elements == 0) contribute(0, {});
}

std::shared_ptr<FloatBuffer>& TreeAllReduce::buffer(std::shared_ptr<FloatBuffer>& place) const {
  if (!place) place = std::make_shared<FloatBuffer>(elements_);
  return place;
}

void TreeAllReduce::contribute(std::int64_t offset, std::span<const float> values) {
  input_.add(offset, values);
  if (!input_.whole() || sum_) return;
  if (elements_ > 0) input_.copy(0, buffer(sum_)->span());
  buffer(sum_);
  advance();
}

bool TreeAllReduce::pass(Step& step) {
  if (step.sends) step.out = sum_;
  if (!step.receives) return true;
  if (!step.received) return false;
  const bool is_result = &step == &steps_.back();
  if (is_result) {
    sum_ = step.in;
    return true;
  }
  const bool lower = options_.rank < step.partner;
  const std::span<const float> first = std::as_const(*(lower ? sum_ : step.in)).span();
  const std::span<const float> second = std::as_const(*(lower ? step.in : sum_)).span();
  auto next = std::make_shared<FloatBuffer>(elements_);
  add_floats(reinterpret_cast<const std::uint8_t*>(first.data()), second.data(),
             next->span().data(), first.size());
  sum_ = std::move(next);
  return true;
}

void TreeAllReduce::advance() {
  if (!sum_ || complete_) return;
  while (at_ < steps_.size() && pass(steps_[at_])) ++at_;
  if (at_ == steps_.size()) {
    complete_ = true;
    if (elements_ > 0) {
      std::memcpy(result_->span().data(), sum_->span().data(), sum_->span().size_bytes());
    }
  }
  pump();
}

Result<std::uint32_t> TreeAllReduce::accept(Rank from, ByteSpan head_bytes,
                                            std::size_t body_bytes) const {
  WEFT_TRY_ASSIGN(const SegmentHead head, SegmentHead::decode(head_bytes));
  WEFT_TRY(check_head(head, from, elements_, form_));
  if (head.op != CollectiveOp::kTree || head.segment >= steps()) {
    return corrupt(fmt::format("tree: operation {} step {} from rank {}", static_cast<int>(head.op),
                               head.segment, from.value()));
  }
  const Step& step = steps_[head.segment];
  if (!step.receives || step.partner != from || step.received) {
    return corrupt(fmt::format("tree: step {} of rank {} came twice or to the wrong member",
                               head.segment, from.value()));
  }
  if (body_bytes != static_cast<std::size_t>(elements_) * sizeof(float)) {
    return corrupt(fmt::format("tree: expected {} bytes, got {}",
                               static_cast<std::size_t>(elements_) * sizeof(float), body_bytes));
  }
  return head.segment;
}

MutableByteSpan TreeAllReduce::body_destination(Rank from, ByteSpan head, std::size_t body_bytes) {
  const Result<std::uint32_t> index = accept(from, head, body_bytes);
  if (!index.ok()) return {};
  const std::span<float> out = buffer(steps_[*index].in)->span();
  return {reinterpret_cast<std::uint8_t*>(out.data()), out.size_bytes()};
}

Status TreeAllReduce::on_frame(Rank from, const FrameView& frame) {
  WEFT_TRY_ASSIGN(const std::uint32_t index, accept(from, frame.head, frame.body.size()));
  Step& step = steps_[index];
  const std::span<float> out = buffer(step.in)->span();
  if (!out.empty() && frame.body.data() != reinterpret_cast<const std::uint8_t*>(out.data())) {
    std::memcpy(out.data(), frame.body.data(), frame.body.size());
  }
  step.received = true;
  advance();
  return {};
}

void TreeAllReduce::pump() {
  for (std::uint32_t index = 0; index < steps(); ++index) {
    Step& step = steps_[index];
    if (!step.sends || !step.out || step.sent) continue;
    if (!open_[static_cast<std::size_t>(step.partner.value())]) continue;
    step.sent = true;
    const SegmentHead head{options_.id, CollectiveOp::kTree, form_,
                           static_cast<std::uint64_t>(elements_), index};
    const std::span<const float> values = std::as_const(*step.out).span();
    sink_.send(step.partner,
               {frame_type::kSegment, head.encode(), SharedBytes(step.out, as_bytes(values))});
  }
}

void TreeAllReduce::on_link_down(Rank to) { open_[static_cast<std::size_t>(to.value())] = false; }

Status TreeAllReduce::resume(Rank to, ByteSpan received) {
  if (to == options_.rank) return {};
  if (!received.empty() && received.size() != steps_.size()) {
    return corrupt(
        fmt::format("tree: map of {} steps, expected {}", received.size(), steps_.size()));
  }
  open_[static_cast<std::size_t>(to.value())] = true;
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    if (steps_[i].partner == to) steps_[i].sent = !received.empty() && received[i] != 0;
  }
  pump();
  return {};
}

Bytes TreeAllReduce::received_map(Rank from) const {
  Bytes map(steps_.size());
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    map[i] = steps_[i].partner == from && steps_[i].received ? 2 : 0;
  }
  return map;
}

bool TreeAllReduce::sent_all() const {
  return std::ranges::all_of(steps_, [](const Step& step) { return !step.sends || step.sent; });
}

Rank TreeAllReduce::waits_for() const {
  if (!input_.whole() || at_ >= steps_.size()) return options_.rank;
  const Step& step = steps_[at_];
  return step.receives && !step.received ? step.partner : options_.rank;
}

}  // namespace weft
