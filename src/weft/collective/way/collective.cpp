#include "weft/collective/reduce/collective.h"

#include <algorithm>
#include <bit>

#include <fmt/format.h>

#include "weft/collective/link/link_meter.h"
#include "weft/collective/reduce/collective_form.h"
#include "weft/collective/verify/verified_butterfly.h"
#include "weft/collective/way/butterfly_collective.h"
#include "weft/collective/way/delivery_collective.h"
#include "weft/collective/way/direct_all_reduce.h"
#include "weft/collective/way/hierarchical_all_reduce.h"
#include "weft/collective/way/payload_collective.h"
#include "weft/collective/way/ring_collective.h"
#include "weft/collective/way/tree_all_reduce.h"

namespace weft {

// A butterfly loads all links at once and comes to one receiver from many sides: its transfer is
// taken for so much slower, and it must win by so much.
static constexpr double kButterflyMargin = 1.25;

std::string_view to_string(CollectiveKind kind) {
  switch (kind) {
    case CollectiveKind::kAllReduce:
      return "all-reduce";
    case CollectiveKind::kReduceScatter:
      return "reduce-scatter";
    case CollectiveKind::kAllGather:
      return "all-gather";
    case CollectiveKind::kBroadcast:
      return "broadcast";
    case CollectiveKind::kReduce:
      return "reduce";
    case CollectiveKind::kBarrier:
      break;
  }
  return "barrier";
}

std::string_view to_string(Algorithm algorithm) {
  switch (algorithm) {
    case Algorithm::kAuto:
      return "auto";
    case Algorithm::kDirect:
      return "direct";
    case Algorithm::kTree:
      return "tree";
    case Algorithm::kButterfly:
      return "butterfly";
    case Algorithm::kHierarchical:
      return "hierarchical";
    case Algorithm::kPayload:
      return "payloads";
    case Algorithm::kVerified:
      return "verified butterfly";
    case Algorithm::kRing:
      break;
  }
  return "ring";
}

Result<Algorithm> parse_algorithm(std::string_view text) {
  for (const Algorithm each : {Algorithm::kAuto, Algorithm::kDirect, Algorithm::kTree,
                               Algorithm::kButterfly, Algorithm::kRing}) {
    if (to_string(each) == text) return each;
  }
  return invalid_argument(
      fmt::format("algorithm: expected auto, direct, tree, butterfly or ring, got '{}'", text));
}

static std::string describe(std::uint8_t form) {
  return fmt::format("{} by {}, {}", to_string(static_cast<CollectiveKind>(form & 7U)),
                     to_string(static_cast<Algorithm>(form >> 3U & 7U)),
                     to_string(static_cast<WirePrecision>(form >> 6U)));
}

std::uint8_t form_of(const CollectiveOptions& options, Algorithm algorithm) {
  const bool rounds = algorithm != Algorithm::kDirect && algorithm != Algorithm::kTree &&
                      algorithm != Algorithm::kPayload && algorithm != Algorithm::kVerified;
  const auto precision = static_cast<unsigned>(rounds ? options.precision : WirePrecision::kF32);
  return static_cast<std::uint8_t>(static_cast<unsigned>(options.kind) |
                                   static_cast<unsigned>(algorithm) << 3U | precision << 6U);
}

Status check_head(const SegmentHead& head, Rank from, std::int64_t elements, std::uint8_t form) {
  if (head.form != form) {
    return invalid_argument(fmt::format("round {}: rank {} exchanges {}, this member {}",
                                        head.id.round.value(), from.value(), describe(head.form),
                                        describe(form)));
  }
  if (head.elements != static_cast<std::uint64_t>(elements)) {
    return invalid_argument(
        fmt::format("{} of round {}: the vector of rank {} has {} elements, this member's has {}",
                    to_string(static_cast<CollectiveKind>(form & 7U)), head.id.round.value(),
                    from.value(), head.elements, elements));
  }
  return {};
}

namespace {

// Predicted seconds of each way; see choose_algorithm().
struct Costs {
  double direct = 0;
  double tree = 0;
  double butterfly = 0;
  double ring = 0;
};

Costs costs_of(const CollectiveOptions& options, std::int64_t elements) {
  const LinkProfile& link = options.link;
  const double others = options.size - 1;
  const auto size = static_cast<std::size_t>(elements);
  const double exact = static_cast<double>(size * sizeof(float)) / link.bytes_per_s;
  const double coded =
      static_cast<double>(encoded_bytes(options.precision, size)) / link.bytes_per_s;
  const auto members = static_cast<unsigned>(options.size);
  const double steps = std::bit_width(members) - 1 + (std::has_single_bit(members) ? 0 : 2);
  // Reduce-scatter, all-gather and broadcast are one half of it.
  const bool whole = kind_reduces(options.kind) && kind_gathers(options.kind);
  const double halves = whole ? 2 : 1;
  const double moved = halves * others / options.size * coded;
  const double ring_share =
      link.ring_bytes_per_s > 0 ? link.bytes_per_s / link.ring_bytes_per_s : 1;
  Costs costs;
  costs.direct = link.latency_s + others * (link.frame_s + exact);
  costs.tree = steps * (link.latency_s + link.frame_s + exact);
  costs.butterfly = kButterflyMargin * (halves * (link.latency_s + others * link.frame_s) + moved);
  costs.ring = halves * others * (link.latency_s + link.frame_s) + moved * ring_share;
  if (options.kind == CollectiveKind::kBroadcast || options.kind == CollectiveKind::kReduce) {
    costs.butterfly = kButterflyMargin * (link.latency_s + others * (link.frame_s + coded));
    costs.ring = others * (link.latency_s + link.frame_s) + coded * ring_share;
  }
  return costs;
}

}  // namespace

Algorithm choose_algorithm(const CollectiveOptions& options, std::int64_t elements) {
  const std::size_t bytes = static_cast<std::size_t>(elements) * sizeof(float);
  const bool sums =
      options.kind == CollectiveKind::kAllReduce || options.kind == CollectiveKind::kBarrier;
  const bool whole_fits = sums && options.aggregator.is_mean() && bytes <= kFrameBodyBytesMax;
  if (options.encoder) return Algorithm::kPayload;
  if (!options.aggregator.is_mean()) {
    // Alone, or without values, there is nothing to check.
    const bool verified = options.verification.verifiers > 0 && options.size > 1 && elements > 0 &&
                          options.kind == CollectiveKind::kAllReduce;
    return verified ? Algorithm::kVerified : Algorithm::kButterfly;
  }
  if (options.size == 1) return Algorithm::kRing;
  const Costs costs = costs_of(options, elements);
  // A tree's partners are a power of two apart, and a ring's are neighbours: so are the members
  // that keep connections in a large view.
  const bool sparse = options.size > options.mesh_members;
  const Algorithm whole =
      sparse || costs.tree < costs.direct ? Algorithm::kTree : Algorithm::kDirect;
  switch (options.algorithm) {
    case Algorithm::kDirect:
    case Algorithm::kTree:
      return whole_fits ? options.algorithm : Algorithm::kButterfly;
    case Algorithm::kHierarchical:
      if (!sums) return Algorithm::kButterfly;
      [[fallthrough]];
    case Algorithm::kButterfly:
    case Algorithm::kRing:
      // Without segments no member would wait for another.
      return sums && elements == 0 ? whole : options.algorithm;
    case Algorithm::kPayload:
    case Algorithm::kVerified:
    case Algorithm::kAuto:
      break;
  }
  if (whole_fits && bytes <= options.direct_bytes_max) return whole;
  return !sparse && costs.butterfly < costs.ring ? Algorithm::kButterfly : Algorithm::kRing;
}

double predicted_seconds(const CollectiveOptions& options, std::int64_t elements,
                         Algorithm algorithm) {
  const Costs costs = costs_of(options, elements);
  if (algorithm == Algorithm::kDirect) return costs.direct;
  if (algorithm == Algorithm::kTree) return costs.tree;
  return algorithm == Algorithm::kButterfly ? costs.butterfly : costs.ring;
}

LinkProfile profile_of(const LinkSummary& links, LinkProfile link) {
  static constexpr double kMicroseconds = 1e-6;
  if (!links.known()) return link;
  // Links faster than that are not distinguished.
  const auto rate_of = [](LinkCode code, double assumed) {
    static const LinkCode fastest = LinkCode::of(kLinkRateMax);
    return code.code() < fastest.code() ? code.value() : std::max(assumed, code.value());
  };
  link.ring_bytes_per_s = rate_of(links.ring_rate, link.bytes_per_s);
  link.bytes_per_s = rate_of(links.rate, link.bytes_per_s);
  if (links.delay.known()) link.latency_s = links.delay.value() * kMicroseconds;
  return link;
}

std::unique_ptr<Collective> make_collective(const CollectiveOptions& options, std::int64_t elements,
                                            CollectiveSink& sink,
                                            std::shared_ptr<FloatBuffer> buffer) {
  WEFT_CHECK(elements >= 0 && options.size > 0);
  if (options.receivers > 0 && !options.encoder) {
    return std::make_unique<DeliveryCollective>(options, elements, sink, std::move(buffer));
  }
  switch (choose_algorithm(options, elements)) {
    case Algorithm::kDirect:
      return std::make_unique<DirectAllReduce>(options, elements, sink, std::move(buffer));
    case Algorithm::kTree:
      return std::make_unique<TreeAllReduce>(options, elements, sink, std::move(buffer));
    case Algorithm::kHierarchical:
      return std::make_unique<HierarchicalAllReduce>(options, elements, sink, std::move(buffer));
    case Algorithm::kButterfly:
      return std::make_unique<ButterflyCollective>(options, elements, sink, std::move(buffer));
    case Algorithm::kPayload:
      return std::make_unique<PayloadCollective>(options, elements, sink, std::move(buffer));
    case Algorithm::kVerified:
      return std::make_unique<VerifiedButterfly>(options, elements, sink, std::move(buffer));
    case Algorithm::kAuto:
    case Algorithm::kRing:
      break;
  }
  return std::make_unique<RingCollective>(options, elements, sink, std::move(buffer));
}

}  // namespace weft
