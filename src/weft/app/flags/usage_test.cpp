#include "weft/app/flags/usage.h"

#include <sstream>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <gtest/gtest.h>

namespace weft::usage_test {
namespace {

class MisspeltTest : public testing::Test {
 protected:
  MisspeltTest() {
    CLI::App* run = app_.add_subcommand("run", "");
    run->add_option("recipe", text_);
    run->add_option("--steps", text_);
    run->add_option("--set", text_);
    app_.add_flag("-v,--verbose");
    CLI::App* data = app_.add_subcommand("data", "");
    data->add_subcommand("list", "");
    data->add_subcommand("check", "");
  }
  std::string of(const std::vector<std::string>& arguments) { return misspelt(app_, arguments); }

  CLI::App app_;
  std::string text_;
};

TEST_F(MisspeltTest, CommandsAtAnyDepthAreNamedWithTheNearest) {
  EXPECT_EQ(of({"runn"}), "unknown command \"runn\"; did you mean \"run\"?");
  EXPECT_EQ(of({"-v", "data", "chekc"}), "unknown command \"chekc\"; did you mean \"check\"?");
  EXPECT_EQ(of({"xylophone"}), "unknown command \"xylophone\"");
}

TEST_F(MisspeltTest, FlagsAreThoseOfTheCommand) {
  EXPECT_EQ(of({"run", "a.toml", "--stesp", "3"}),
            "unknown flag --stesp; did you mean \"--steps\"?");
  EXPECT_EQ(of({"run", "-v", "a.toml", "--verbose"}), "");
  EXPECT_EQ(of({"run", "a.toml", "--lr", "0.1"}),
            "unknown flag --lr; did you mean --set optimizer.learning_rate=...?");
  EXPECT_EQ(of({"run", "--learning-rate=0.1"}),
            "unknown flag --learning-rate; did you mean --set optimizer.learning_rate=...?");
  EXPECT_EQ(of({"data", "--lr", "3"}), "unknown flag --lr");
  EXPECT_EQ(of({"run", "--stpes=3"}), "unknown flag --stpes; did you mean \"--steps\"?");
  EXPECT_EQ(of({"data", "--steps", "3"}), "unknown flag --steps");
}

TEST_F(MisspeltTest, NothingIsSaidOfWhatIsKnown) {
  EXPECT_EQ(of({}), "");
  EXPECT_EQ(of({"run", "list", "--steps", "3", "--help"}), "");
  EXPECT_EQ(of({"data", "list"}), "");
}

TEST(ShortHelp, FitsAWindowAndShowsWhatToType) {
  EXPECT_NE(short_help().find("  weft demo "), std::string::npos);
  EXPECT_NE(short_help().find("  weft run recipes/"), std::string::npos);
  std::istringstream lines(short_help());
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 80U) << line;
}

TEST(Footers, EachPageHasItsOwn) {
  EXPECT_NE(command_footer("run").find("--peers"), std::string::npos);
  EXPECT_EQ(command_footer("join").find("--peers"), std::string::npos);
  EXPECT_EQ(command_footer("xylophone"), "");
  EXPECT_NE(main_footer().find("Exit codes"), std::string::npos);
}

}  // namespace
}  // namespace weft::usage_test
