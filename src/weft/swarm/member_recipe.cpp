#include "weft/swarm/member_recipe.h"

#include <charconv>
#include <cstdint>
#include <limits>
#include <optional>

#include <fmt/format.h>

namespace weft {
namespace {

constexpr std::string_view kFirstLine = "weft member 1";
// Beyond any use; keeps sums of times far from overflow.
constexpr std::uint64_t kMillisecondsMax = std::uint64_t{1} << 40U;

Status check_texts(const MemberRecipe& recipe) {
  const std::string& program = recipe.program;
  if (program.empty() || program.size() > kProgramBytesMax ||
      program.find('\n') != std::string::npos) {
    return invalid_argument(
        fmt::format("program: expected one line of 1 to {} bytes that names program and version, "
                    "got {} bytes",
                    kProgramBytesMax, program.size()));
  }
  if (recipe.settings.size() > kSettingsBytesMax) {
    return invalid_argument(fmt::format("settings: expected at most {} bytes, got {}",
                                        kSettingsBytesMax, recipe.settings.size()));
  }
  return {};
}

// Takes lines from the front of a text; once one is not as expected, nothing is.
class Lines {
 public:
  explicit Lines(std::string_view text) : rest_(text) {}

  bool ok() const { return ok_; }
  std::string_view rest() const { return rest_; }

  void expect(std::string_view line) {
    if (next() != line) ok_ = false;
  }
  std::string_view word(std::string_view name) {
    const std::string_view line = next();
    if (line.size() <= name.size() || !line.starts_with(name) || line[name.size()] != ' ') {
      ok_ = false;
      return {};
    }
    return line.substr(name.size() + 1);
  }
  std::uint64_t number(std::string_view name, std::uint64_t max) {
    const std::string_view digits = word(name);
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (error != std::errc() || end != digits.data() + digits.size() || value > max) ok_ = false;
    return ok_ ? value : 0;
  }
  std::chrono::milliseconds limit(std::string_view name) {
    return std::chrono::milliseconds(static_cast<std::int64_t>(number(name, kMillisecondsMax)));
  }

 private:
  std::string_view next() {
    const std::size_t end = rest_.find('\n');
    if (end == std::string_view::npos) {
      ok_ = false;
      return {};
    }
    const std::string_view line = rest_.substr(0, end);
    rest_.remove_prefix(end + 1);
    return line;
  }

  std::string_view rest_;
  bool ok_ = true;
};

}  // namespace

Result<std::string> format_member_recipe(const MemberRecipe& recipe) {
  WEFT_TRY(check_texts(recipe));
  const SwarmGroupOptions& group = recipe.group;
  return fmt::format(
      "{}\nprogram {}\nwire {}\nrounds {}\nstart_members {}\nstart_timeout_ms {}\n"
      "suspicion_timeout_ms {}\nlone_survivor {}\nsettings\n{}",
      kFirstLine, recipe.program, group.wire, group.rounds, group.start_members,
      group.start_timeout.count(), group.suspicion_timeout.count(), group.lone_survivor ? 1 : 0,
      recipe.settings);
}

Result<MemberRecipe> parse_member_recipe(std::string_view text) {
  Lines lines(text);
  MemberRecipe recipe;
  SwarmGroupOptions& group = recipe.group;
  lines.expect(kFirstLine);
  recipe.program = lines.word("program");
  group.wire = lines.word("wire");
  group.rounds = lines.number("rounds", std::numeric_limits<std::uint64_t>::max());
  group.start_members =
      static_cast<int>(lines.number("start_members", std::numeric_limits<int>::max()));
  group.start_timeout = lines.limit("start_timeout_ms");
  group.suspicion_timeout = lines.limit("suspicion_timeout_ms");
  group.lone_survivor = lines.number("lone_survivor", 1) == 1;
  lines.expect("settings");
  recipe.settings = lines.rest();
  if (!lines.ok() || !check_texts(recipe).ok()) {
    return invalid_argument(
        "join: expected the ticket of a group that a SwarmTrainer of this version has founded; "
        "runs of a recipe are joined by `weft join`, groups of Python by weft.swarm.join()");
  }
  return recipe;
}

}  // namespace weft
