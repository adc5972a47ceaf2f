#include "weft/base/printable.h"

#include <string>

#include <gtest/gtest.h>

namespace weft::printable_test {
namespace {

TEST(Printable, NamesInAnyScriptStayAsTheyAre) {
  for (const char* text :
       {"", "plain", "/srv/jürgen/Bücher", "ünï 世界 𝕏", "café", "👩‍💻", "عربي"}) {
    EXPECT_EQ(printable(text), text);
    EXPECT_TRUE(is_printable_text(text)) << text;
  }
}

TEST(Printable, WhatATerminalObeysIsEscaped) {
  EXPECT_EQ(printable("a\x1b[31mred"), "a\\x1b[31mred");
  EXPECT_EQ(printable("bell\x07 del\x7f"), "bell\\x07 del\\x7f");
  EXPECT_EQ(printable("two\nlines\tand\r"), "two\\nlines\\tand\\x0d");
  EXPECT_EQ(printable("\xc2\x9b"
                      "31m"),
            "\\x9b31m");  // C1: CSI in one character
  EXPECT_EQ(printable("evil\xe2\x80\xaegnp.exe"), "evil\\u202egnp.exe");  // right to left override
  EXPECT_EQ(printable("a\xe2\x81\xa6"
                      "b\xe2\x80\xa8"
                      "c"),
            "a\\u2066b\\u2028c");
  EXPECT_EQ(printable(std::string("nul\0!", 5)), "nul\\x00!");
}

TEST(Printable, BytesThatAreNoTextAreShownAsBytes) {
  EXPECT_EQ(printable("caf\xe9"), "caf\\xe9");
  EXPECT_EQ(printable("cut \xe2\x82"), "cut \\xe2\\x82");
  EXPECT_EQ(printable("\xed\xa0\x80"), "\\xed\\xa0\\x80");  // a surrogate
  EXPECT_FALSE(is_printable_text("\xff"));
  EXPECT_FALSE(is_printable_text("a\nb"));
}

TEST(Printable, IsCutAtACharacter) {
  EXPECT_EQ(printable("äöü", 2), "äö...");
  EXPECT_EQ(printable("äöü", 3), "äöü");
  EXPECT_EQ(printable("\x1b[31m", 2), "\\x1b[...");
}

TEST(Printable, PagesKeepTheirLines) {
  EXPECT_EQ(printable_lines("one\n\ttwo\x1b]0;title\x07\r\n"),
            "one\n\ttwo\\x1b]0;title\\x07\\x0d\n");
}

TEST(Counted, OneIsOne) {
  EXPECT_EQ(counted(1, "member"), "1 member");
  EXPECT_EQ(counted(0, "member"), "0 members");
  EXPECT_EQ(counted(2, "thread"), "2 threads");
}

}  // namespace
}  // namespace weft::printable_test
