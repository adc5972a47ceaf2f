#include "weft/collective/way/hierarchical_all_reduce.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "weft/collective/reduce/collective_form.h"

namespace weft {

// A segment's number: its stage above, its place in the stage below.
static constexpr std::uint32_t kStageShift = 16;
static constexpr std::uint32_t kInStage = (1U << kStageShift) - 1;
static constexpr std::uint32_t kStagesMax = 1U << (32 - kStageShift);

// A collective among some of the members, whose ranks it counts anew.
class HierarchicalAllReduce::Stage final : public CollectiveSink {
 public:
  Stage(HierarchicalAllReduce& whole, std::uint32_t stage_number, std::vector<Rank> stage_members)
      : owner(whole), number(stage_number), members(std::move(stage_members)) {}

  void send(Rank to, Frame frame) override {
    // Its own core made this head.
    Result<SegmentHead> head = SegmentHead::decode(frame.head);
    WEFT_CHECK(head.ok() && head->segment <= kInStage);
    inner_form = head->form;
    head->segment |= number << kStageShift;
    head->form = owner.form_;
    head->elements = static_cast<std::uint64_t>(owner.elements_);
    frame.head = head->encode();
    owner.sink_.send(members[static_cast<std::size_t>(to.value())], std::move(frame));
  }
  std::size_t queued_bytes(Rank to) const override {
    return owner.sink_.queued_bytes(members[static_cast<std::size_t>(to.value())]);
  }
  Rank local(Rank member) const {
    const auto found = std::ranges::find(members, member);
    return found == members.end() ? Rank(-1) : Rank(static_cast<int>(found - members.begin()));
  }

  HierarchicalAllReduce& owner;
  const std::uint32_t number;
  const std::vector<Rank> members;
  std::uint8_t inner_form = 0;
  std::unique_ptr<Collective> core;
  // Its result was handed on.
  bool passed = false;
};

HierarchicalAllReduce::HierarchicalAllReduce(const CollectiveOptions& options,
                                             std::int64_t elements, CollectiveSink& sink,
                                             std::shared_ptr<FloatBuffer> buffer)
    : options_(options),
      elements_(elements),
      form_(form_of(options, Algorithm::kHierarchical)),
      sink_(sink),
      result_(buffer ? std::move(buffer) : std::make_shared<FloatBuffer>(elements)) {
  WEFT_CHECK(options.hosts.size() == static_cast<std::size_t>(options.size));
  const int own = options.hosts[static_cast<std::size_t>(options.rank.value())];
  for (int rank = 0; rank < options.size; ++rank) {
    const int host = options.hosts[static_cast<std::size_t>(rank)];
    if (host == own) host_.push_back(Rank(rank));
    const auto begin = options.hosts.begin();
    if (std::find(begin, begin + rank, host) == begin + rank) firsts_.push_back(Rank(rank));
  }
  const auto wanted = static_cast<std::int64_t>(options.bucket_bytes / sizeof(float));
  const std::int64_t least = (elements + kStagesMax / 3 - 1) / (kStagesMax / 3);
  bucket_elements_ = std::max<std::int64_t>({wanted, least, 16});
  buckets_ = static_cast<std::uint32_t>((elements + bucket_elements_ - 1) / bucket_elements_);
  for (std::uint32_t number = 0; number < 3 * buckets_; ++number) {
    stages_.push_back(make_stage(number));
  }
}

HierarchicalAllReduce::~HierarchicalAllReduce() = default;

std::int64_t HierarchicalAllReduce::bucket_end(std::uint32_t bucket) const {
  return std::min(elements_, bucket_begin(bucket) + bucket_elements_);
}

std::unique_ptr<HierarchicalAllReduce::Stage> HierarchicalAllReduce::make_stage(
    std::uint32_t number) {
  const std::uint32_t bucket = number / 3;
  const bool is_across = number % 3 == 1;
  if (is_across && host_.front() != options_.rank) return nullptr;
  auto stage = std::make_unique<Stage>(*this, number, is_across ? firsts_ : host_);
  const std::int64_t size = bucket_end(bucket) - bucket_begin(bucket);
  CollectiveOptions options = options_;
  options.hosts.clear();
  options.rank = stage->local(options_.rank);
  options.size = static_cast<int>(stage->members.size());
  options.root = Rank(0);
  options.algorithm = is_across ? Algorithm::kRing : Algorithm::kButterfly;
  if (is_across) {
    options.residual_offset = bucket_begin(bucket);
  } else {
    options.kind = number % 3 == 0 ? CollectiveKind::kReduce : CollectiveKind::kBroadcast;
    options.precision = WirePrecision::kF32;
    options.residual = nullptr;
  }
  stage->inner_form = form_of(options, options.algorithm);
  stage->core = make_collective(options, size, *stage);
  return stage;
}

void HierarchicalAllReduce::contribute(std::int64_t offset, std::span<const float> values) {
  const std::int64_t end = offset + static_cast<std::int64_t>(values.size());
  for (std::int64_t at = offset; at < end;) {
    const auto bucket = static_cast<std::uint32_t>(at / bucket_elements_);
    const std::int64_t piece_end = std::min(end, bucket_end(bucket));
    const auto begin = static_cast<std::size_t>(at - offset);
    up(bucket)->core->contribute(at - bucket_begin(bucket),
                                 values.subspan(begin, static_cast<std::size_t>(piece_end - at)));
    at = piece_end;
    advance(bucket);
  }
}

void HierarchicalAllReduce::advance(std::uint32_t bucket) {
  Stage* const mine = across(bucket);
  // Not before all input is here: a member that only gives is complete as soon as it has sent.
  if (mine != nullptr) {
    if (!up(bucket)->passed && up(bucket)->core->complete()) {
      up(bucket)->passed = true;
      mine->core->contribute(0, std::as_const(*up(bucket)->core->result()).span());
    }
    if (!mine->passed && mine->core->complete()) {
      mine->passed = true;
      down(bucket)->core->contribute(0, std::as_const(*mine->core->result()).span());
    }
  }
  Stage* const last = down(bucket);
  if (last->passed || !last->core->complete()) return;
  if (mine == nullptr && !up(bucket)->core->complete()) return;
  last->passed = true;
  const std::span<const float> sum = std::as_const(*last->core->result()).span();
  std::ranges::copy(sum, result_->span().begin() + bucket_begin(bucket));
  ++finished_;
}

Result<HierarchicalAllReduce::Target> HierarchicalAllReduce::find(Rank from,
                                                                  ByteSpan head_bytes) const {
  WEFT_TRY_ASSIGN(SegmentHead head, SegmentHead::decode(head_bytes));
  WEFT_TRY(check_head(head, from, elements_, form_));
  const std::uint32_t number = head.segment >> kStageShift;
  Stage* const stage = number < stages_.size() ? stages_[number].get() : nullptr;
  const Rank local = stage == nullptr ? Rank(-1) : stage->local(from);
  if (local.value() < 0) {
    return corrupt(fmt::format("hierarchy: rank {} has no part in stage {} of {}", from.value(),
                               number, stages_.size()));
  }
  head.segment &= kInStage;
  head.form = stage->inner_form;
  head.elements = static_cast<std::uint64_t>(stage->core->elements());
  return Target{stage, head.encode(), local};
}

MutableByteSpan HierarchicalAllReduce::body_destination(Rank from, ByteSpan head,
                                                        std::size_t body_bytes) {
  const Result<Target> target = find(from, head);
  if (!target.ok()) return {};
  return target->stage->core->body_destination(target->from, target->head, body_bytes);
}

Status HierarchicalAllReduce::on_frame(Rank from, const FrameView& frame) {
  WEFT_TRY_ASSIGN(const Target target, find(from, frame.head));
  WEFT_TRY(target.stage->core->on_frame(target.from, {frame.type, target.head, frame.body}));
  advance(target.stage->number / 3);
  return {};
}

void HierarchicalAllReduce::on_writable(Rank to) {
  for (const auto& stage : stages_) {
    if (stage && stage->local(to).value() >= 0) stage->core->on_writable(stage->local(to));
  }
}

void HierarchicalAllReduce::on_link_down(Rank to) {
  for (const auto& stage : stages_) {
    if (stage && stage->local(to).value() >= 0) stage->core->on_link_down(stage->local(to));
  }
}

// The maps of all stages that both have a part in, one after the other.
Status HierarchicalAllReduce::resume(Rank to, ByteSpan received) {
  if (to == options_.rank) return {};
  const bool nothing = received.empty();
  for (const auto& stage : stages_) {
    if (!stage || stage->local(to).value() < 0) continue;
    const std::size_t size = stage->core->map_size();
    if (!nothing && received.size() < size) return corrupt("hierarchy: a map that is too short");
    WEFT_TRY(stage->core->resume(stage->local(to), received.first(nothing ? 0 : size)));
    if (!nothing) received = received.subspan(size);
  }
  return received.empty() ? Status() : corrupt("hierarchy: a map that is too long");
}

Bytes HierarchicalAllReduce::received_map(Rank from) const {
  Bytes map;
  for (const auto& stage : stages_) {
    if (!stage || stage->local(from).value() < 0) continue;
    Bytes part = stage->core->received_map(stage->local(from));
    part.resize(stage->core->map_size());
    map.insert(map.end(), part.begin(), part.end());
  }
  return map;
}

std::size_t HierarchicalAllReduce::map_size() const {
  std::size_t size = 0;
  for (const auto& stage : stages_) size += stage ? stage->core->map_size() : 0;
  return size;
}

bool HierarchicalAllReduce::contributed() const {
  for (std::uint32_t bucket = 0; bucket < buckets_; ++bucket) {
    if (!up(bucket)->core->contributed()) return false;
  }
  return true;
}

bool HierarchicalAllReduce::sent_all() const {
  return std::ranges::all_of(stages_,
                             [](const auto& stage) { return !stage || stage->core->sent_all(); });
}

Rank HierarchicalAllReduce::waits_for() const {
  for (const auto& stage : stages_) {
    if (!stage || stage->core->complete()) continue;
    const Rank local = stage->core->waits_for();
    const Rank member = stage->members[static_cast<std::size_t>(local.value())];
    if (member != options_.rank) return member;
  }
  return options_.rank;
}

}  // namespace weft
