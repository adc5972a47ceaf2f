#include "weft/app/flags/help_page.h"

#include <algorithm>
#include <sstream>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weft/app/flags/flag_checks.h"
#include "weft/app/flags/parse_error.h"

namespace weft::help_page_test {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(Wrapped, BreaksAtBlanksAndIndentsWhatGoesOn) {
  EXPECT_EQ(wrapped("one two three", 9, 2), "one two\n  three");
  EXPECT_EQ(wrapped("  indented words go on", 14, 2), "  indented\n    words go\n    on");
  EXPECT_EQ(wrapped("first\n\nsecond", 40, 2), "first\n\nsecond");
  EXPECT_EQ(wrapped("averyveryverylongword", 5, 2), "averyveryverylongword");
  EXPECT_EQ(wrapped("für Bücher", 10, 0), "für Bücher");
  EXPECT_EQ(wrapped("", 10, 2), "");
}

class HelpPageTest : public testing::Test {
 protected:
  HelpPageTest() : app_("It does things.", "weft") {
    use_help_pages(app_, 60);
    app_.require_subcommand(1);
    CLI::App* run = app_.add_subcommand("run", "Train a model, by a recipe that says how.");
    run->add_option("recipe", text_, "A recipe.")->required();
    run->add_option("--peers", number_, "Start this many peers on this machine, this one included.")
        ->check(whole_number(1, 64));
    run->add_option("--port", port_, "Where to listen.")->capture_default_str();
    run->add_option("--seconds", seconds_, "How long.")->check(any_number(0.001, 60));
    run->add_option("--engine", text_, "What carries it.")->check(CLI::IsMember({"swarm", "mpi"}));
    run->add_option("--ghost", text_, "Not for people.")->group("");
    run->footer("Examples:\n  weft run a.toml");
    CLI::App* data = app_.add_subcommand("data", "Datasets.");
    data->require_subcommand(1);
    data->add_subcommand("list", "All.");
  }

  // What the command line says against these arguments.
  std::string error_of(std::vector<std::string> arguments) {
    const std::vector<std::string> typed = arguments;
    std::reverse(arguments.begin(), arguments.end());
    try {
      app_.parse(arguments);
    } catch (const CLI::ParseError& error) {
      return parse_error_text(app_, error, typed);
    }
    return "";
  }

  CLI::App app_;
  std::string text_;
  int number_ = 0;
  double seconds_ = 0;
  std::uint16_t port_ = 8080;
};

TEST_F(HelpPageTest, PagesAreForPeople) {
  const std::string page = app_.get_subcommand("run")->help();
  EXPECT_THAT(page, HasSubstr("Usage: weft run RECIPE [FLAGS]\n\nTrain a model"));
  EXPECT_THAT(page, HasSubstr("  RECIPE                A recipe.\n"));
  EXPECT_THAT(page, HasSubstr("  --peers N             Start this many peers on this\n"
                              "                        machine, this one included.\n"
                              "                        (1 to 64)\n"));
  EXPECT_THAT(page, HasSubstr("(default 8080)"));
  EXPECT_THAT(page, HasSubstr("  --engine swarm|mpi    What carries it.\n"));
  EXPECT_THAT(page, HasSubstr("Examples:\n  weft run a.toml\n"));
  for (const char* raw : {"INT", "UINT", "FLOAT", "TEXT", "{", "ghost"}) {
    EXPECT_THAT(page, Not(HasSubstr(raw)));
  }
  std::istringstream lines(page);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 60U) << line;
}

TEST_F(HelpPageTest, TheFirstPageListsTheCommands) {
  const std::string page = app_.help();
  EXPECT_THAT(page, HasSubstr("Usage: weft COMMAND [FLAGS]\n\nIt does things.\n"));
  EXPECT_THAT(page, HasSubstr("  run                   Train a model, by a recipe that says\n"));
  EXPECT_THAT(page, HasSubstr("  data                  Datasets.\n"));
}

TEST_F(HelpPageTest, MistakesAreSaidAsTheyWereTyped) {
  const std::string help = "\n`weft run --help` shows what it takes.\n";
  EXPECT_EQ(error_of({"run", "a", "--peers", "0"}),
            "weft: --peers: expected a whole number, 1 to 64, got \"0\"" + help);
  EXPECT_EQ(error_of({"run", "a", "--peers", "99999999999999999999"}),
            "weft: --peers: expected a whole number, 1 to 64, got \"99999999999999999999\"" + help);
  EXPECT_EQ(error_of({"run", "a", "--seconds", "nan"}),
            "weft: --seconds: expected a number, 0.001 to 60, got \"nan\"" + help);
  EXPECT_EQ(error_of({"run", "a", "--port", "99999"}),
            "weft: --port: expected a number, got \"99999\"" + help);
  EXPECT_EQ(error_of({"run", "a", "--engine", "mpy"}),
            "weft: --engine: expected one of swarm, mpi, got \"mpy\"" + help);
  EXPECT_EQ(error_of({"run"}), "weft: RECIPE is missing" + help);
  EXPECT_EQ(error_of({"run", "a", "b"}), "weft: not expected: \"b\"" + help);
  EXPECT_EQ(error_of({"run", "a", "--port", "1", "--port", "2"}),
            "weft: --port: expected once" + help);
  EXPECT_EQ(error_of({"run", "a", "--port"}), "weft: --port: expected a value after it" + help);
  EXPECT_EQ(error_of({"data"}),
            "weft: expected a command: list\n`weft data --help` shows what it takes.\n");
  EXPECT_EQ(error_of({"ru\x1b"}),
            "weft: unknown command \"ru\\x1b\"; did you mean \"run\"?\n"
            "`weft --help` shows what it takes.\n");
  EXPECT_EQ(error_of({"run", "a", "--peers", "64", "--seconds", "0.5"}), "");
}

}  // namespace
}  // namespace weft::help_page_test
