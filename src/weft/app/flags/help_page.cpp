#include "weft/app/flags/help_page.h"

#include <algorithm>
#include <charconv>
#include <memory>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "weft/app/terminal/environment.h"
#include "weft/base/utf8.h"

namespace weft {
namespace {

constexpr std::size_t kWidthMin = 40;
constexpr std::size_t kWidthMax = 100;
constexpr std::size_t kWidthUsual = 80;
// Where texts begin beside names; in a narrow window they stand below them.
constexpr std::size_t kNameColumns = 24;
constexpr std::size_t kNameColumnsNarrow = 6;
constexpr std::size_t kNarrow = 60;
// Stands for a blank at which no line is broken.
constexpr char kFixedBlank = '\x01';

std::size_t columns(std::string_view text) {
  return static_cast<std::size_t>(count_characters(text));
}

// One line of `text`, which has none of its own ends, in lines of at most `width`.
std::string wrapped_line(std::string_view text, std::size_t width, std::size_t indent) {
  const std::size_t begin = std::min(text.find_first_not_of(' '), text.size());
  std::string out(text.substr(0, begin));
  const std::string blanks = out + std::string(indent, ' ');
  std::size_t used = begin;
  bool first = true;
  for (std::size_t at = begin; at < text.size();) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    const std::string_view word = text.substr(at, end - at);
    // Several blanks are a column of its own and stay.
    const std::size_t next = std::min(text.find_first_not_of(' ', end), text.size());
    if (!first && used + columns(word) > width) {
      out.erase(out.find_last_not_of(' ') + 1);
      out += "\n" + blanks;
      used = blanks.size();
    }
    out += word;
    out.append(next - end, ' ');
    used += columns(word) + (next - end);
    first = false;
    at = next;
  }
  out.erase(out.find_last_not_of(' ') + 1);
  return out;
}

// A flag or command and what it is, side by side where there is room.
std::string entry(const std::string& name, const std::string& text, std::size_t width) {
  const std::string left = "  " + name;
  const std::size_t begin = width < kNarrow ? kNameColumnsNarrow : kNameColumns;
  const bool beside = columns(left) + 2 <= begin;
  const std::string room(begin, ' ');
  std::string lines = wrapped(room + text, width, 0);
  std::replace(lines.begin(), lines.end(), kFixedBlank, ' ');
  if (!beside) return left + "\n" + lines + "\n";
  return left + lines.substr(columns(left)) + "\n";
}

// "INT:1 to 64" apart: the type, and what of it is taken.
std::pair<std::string, std::string> type_of(const CLI::Option& option) {
  const std::string full = option.get_type_name();
  const std::size_t colon = full.find(':');
  if (colon == std::string::npos) return {full, ""};
  return {full.substr(0, colon), full.substr(colon + 1)};
}

// "{a,b}" as "a|b"; "" for what is no list.
std::string choices_of(const std::string& taken) {
  if (taken.size() < 2 || taken.front() != '{' || taken.back() != '}') return "";
  std::string out = taken.substr(1, taken.size() - 2);
  std::replace(out.begin(), out.end(), ',', '|');
  return out;
}

// What stands behind a flag: N for a number, the choices, or what the option calls it.
std::string value_name(const CLI::Option& option) {
  if (!option.get_option_text().empty()) return option.get_option_text();
  const auto [type, taken] = type_of(option);
  if (std::string choices = choices_of(taken); !choices.empty()) return choices;
  const bool counts = type == "INT" || type == "UINT" || type == "FLOAT";
  return counts ? "N" : type;
}

std::string flag_name(const CLI::Option& option) {
  std::string out;
  for (const std::string& name : option.get_snames()) out += (out.empty() ? "-" : ", -") + name;
  for (const std::string& name : option.get_lnames()) out += (out.empty() ? "--" : ", --") + name;
  if (option.get_items_expected_max() == 0) return out;
  return fmt::format("{} {}", out, value_name(option));
}

// The description and, in brackets, what is taken, the default and the variable for it.
std::string flag_text(const CLI::Option& option) {
  std::vector<std::string> facts;
  const std::string taken = type_of(option).second;
  if (!taken.empty() && taken.front() != '{') facts.push_back(taken);
  if (!option.get_default_str().empty()) facts.push_back("default " + option.get_default_str());
  if (!option.get_envname().empty()) facts.push_back("or in " + option.get_envname());
  if (facts.empty()) return option.get_description();
  for (std::string& fact : facts) std::replace(fact.begin(), fact.end(), ' ', kFixedBlank);
  return fmt::format("{} ({})", option.get_description(), fmt::join(facts, "; "));
}

class HelpPages : public CLI::FormatterBase {
 public:
  explicit HelpPages(std::size_t width) : width_(width) {}

  std::string make_help(const CLI::App* app, std::string /*name*/,
                        CLI::AppFormatMode /*mode*/) const override {
    std::string out = wrapped(usage(*app), width_, 7) + "\n\n";
    out += wrapped(app->get_description(), width_, 0) + "\n";
    out += group("Arguments", positionals(*app)) + group("Commands", commands(*app)) +
           group("Flags", flags(*app));
    if (!app->get_footer().empty()) out += "\n" + wrapped(app->get_footer(), width_, 2) + "\n";
    return out;
  }

 private:
  static std::string usage(const CLI::App& app) {
    std::string out = "Usage: " + command_words(app);
    if (!app.get_subcommands({}).empty()) out += " COMMAND";
    for (const CLI::Option* option : app.get_options()) {
      if (!option->get_positional()) continue;
      const std::string name = argument_name(option->get_single_name());
      out += option->get_required() ? " " + name : " [" + name + "]";
    }
    return out + " [FLAGS]";
  }

  std::string positionals(const CLI::App& app) const {
    std::string out;
    for (const CLI::Option* option : app.get_options()) {
      if (!option->get_positional() || option->get_group().empty()) continue;
      out += entry(argument_name(option->get_single_name()), flag_text(*option), width_);
    }
    return out;
  }

  std::string flags(const CLI::App& app) const {
    std::string out;
    for (const CLI::Option* option : app.get_options()) {
      if (option->get_positional() || option->get_group().empty()) continue;
      out += entry(flag_name(*option), flag_text(*option), width_);
    }
    return out;
  }

  std::string commands(const CLI::App& app) const {
    std::string out;
    for (const CLI::App* command : app.get_subcommands({})) {
      if (command->get_group().empty()) continue;
      out += entry(command->get_name(), command->get_description(), width_);
    }
    return out;
  }

  static std::string group(const char* title, const std::string& entries) {
    return entries.empty() ? std::string() : fmt::format("\n{}:\n{}", title, entries);
  }

  std::size_t width_;
};

}  // namespace

std::size_t help_width() {
  const std::string given = environment_variable("COLUMNS");
  std::size_t width = 0;
  std::from_chars(given.data(), given.data() + given.size(), width);
  struct winsize size = {};
  if (width == 0 && ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0) width = size.ws_col;
  return width == 0 ? kWidthUsual : std::clamp(width, kWidthMin, kWidthMax);
}

std::string command_words(const CLI::App& app) {
  if (app.get_parent() == nullptr) return app.get_name();
  return command_words(*app.get_parent()) + " " + app.get_name();
}

std::string argument_name(std::string name) {
  std::transform(name.begin(), name.end(), name.begin(), [](char letter) {
    return letter >= 'a' && letter <= 'z' ? static_cast<char>(letter - 32) : letter;
  });
  return name;
}

std::string wrapped(std::string_view text, std::size_t width, std::size_t indent) {
  std::string out;
  while (true) {
    const std::size_t end = text.find('\n');
    out += wrapped_line(text.substr(0, end), width, indent);
    if (end == std::string_view::npos) return out;
    out += '\n';
    text.remove_prefix(end + 1);
  }
}

void use_help_pages(CLI::App& app, std::size_t width) {
  app.formatter(std::make_shared<HelpPages>(width));
  app.set_help_flag("-h,--help", "Show this page.");
}

}  // namespace weft
