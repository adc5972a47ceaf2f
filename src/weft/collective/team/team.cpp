#include "weft/collective/team/team.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "weft/base/bytes.h"
#include "weft/base/check.h"
#include "weft/base/hash.h"
#include "weft/wire/codec.h"

namespace weft {
namespace {

// One of `parts` parts of a view: by remainders, or in blocks.
struct PartPurpose {
  bool blocks = false;
  int index = 0;
  int parts = 1;
};

// A decimal number without a sign or leading zeros.
std::optional<int> read_number(std::string_view text) {
  int number = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  const bool plain = !text.empty() && text.front() != '-' && (text.front() != '0' || number == 0);
  if (error != std::errc() || rest != end || !plain || number > kTeamPartsMax) return std::nullopt;
  if (number == 0 && text.size() > 1) return std::nullopt;
  return number;
}

std::optional<PartPurpose> parse_part(std::string_view purpose) {
  if (purpose == "even ranks") return PartPurpose{false, 0, 2};
  if (purpose == "odd ranks") return PartPurpose{false, 1, 2};
  static constexpr std::string_view kColumn = "column ";
  static constexpr std::string_view kStage = "stage ";
  static constexpr std::string_view kOf = " of ";
  const bool blocks = purpose.starts_with(kStage);
  if (!blocks && !purpose.starts_with(kColumn)) return std::nullopt;
  purpose.remove_prefix(blocks ? kStage.size() : kColumn.size());
  const std::size_t of = purpose.find(kOf);
  if (of == std::string_view::npos) return std::nullopt;
  const std::optional<int> index = read_number(purpose.substr(0, of));
  const std::optional<int> parts = read_number(purpose.substr(of + kOf.size()));
  if (!index || !parts || *index >= *parts) return std::nullopt;
  return PartPurpose{blocks, *index, *parts};
}

std::vector<Rank> ranks_of(const PartPurpose& part, int view_size) {
  std::vector<Rank> ranks;
  if (!part.blocks) {
    for (int rank = part.index; rank < view_size; rank += part.parts) ranks.emplace_back(rank);
    if (ranks.empty()) ranks.emplace_back(part.index % view_size);
    return ranks;
  }
  const int begin = part.index * view_size / part.parts;
  const int end = (part.index + 1) * view_size / part.parts;
  for (int rank = begin; rank < end; ++rank) ranks.emplace_back(rank);
  if (ranks.empty()) ranks.emplace_back(begin);
  return ranks;
}

TeamId team_id(const ViewId& view, std::string_view purpose, std::span<const Rank> members) {
  Writer out;
  out.text("weft team").view(view).text(purpose);
  for (const Rank rank : members) out.u32(static_cast<std::uint32_t>(rank.value()));
  return xxh3_128(out.written());
}

}  // namespace

TeamRank Team::rank_of(Rank member) const {
  const bool known = member.value() >= 0 && member.value() < view_size();
  return known ? ranks_[static_cast<std::size_t>(member.value())] : TeamRank(-1);
}

Result<Team> Team::make(const ViewId& view, int view_size, std::string_view purpose,
                        std::vector<Rank> members) {
  WEFT_CHECK(view_size > 0);
  if (purpose.empty() || purpose.size() > kPurposeBytesMax) {
    return invalid_argument(fmt::format("team: expected a purpose of 1 to {} characters, got {}",
                                        kPurposeBytesMax, purpose.size()));
  }
  if (members.empty()) return invalid_argument(fmt::format("team '{}': no members", purpose));
  Team team;
  team.ranks_.assign(static_cast<std::size_t>(view_size), TeamRank(-1));
  for (std::size_t i = 0; i < members.size(); ++i) {
    const int rank = members[i].value();
    if (rank < 0 || rank >= view_size) {
      return invalid_argument(
          fmt::format("team '{}': rank {} of a view of {}", purpose, rank, view_size));
    }
    TeamRank& place = team.ranks_[static_cast<std::size_t>(rank)];
    if (place.value() >= 0) {
      return invalid_argument(fmt::format("team '{}': rank {} twice", purpose, rank));
    }
    place = TeamRank(static_cast<std::int32_t>(i));
  }
  team.id_ = team_id(view, purpose, members);
  team.purpose_ = purpose;
  team.members_ = std::move(members);
  return team;
}

Result<Team> Team::derive(const ViewId& view, int view_size, std::string_view purpose) {
  WEFT_CHECK(view_size > 0);
  WEFT_TRY(check_purpose(purpose));
  const PartPurpose part = parse_part(purpose).value_or(PartPurpose{});
  return make(view, view_size, purpose, ranks_of(part, view_size));
}

Status check_purpose(std::string_view purpose) {
  if (purpose == "all" || parse_part(purpose)) return {};
  return invalid_argument(
      fmt::format("team: expected all, even ranks, odd ranks, column C of N or stage S of N (0 <= "
                  "C, S < N <= {}), got '{}'",
                  kTeamPartsMax, purpose.substr(0, kPurposeBytesMax)));
}

}  // namespace weft
