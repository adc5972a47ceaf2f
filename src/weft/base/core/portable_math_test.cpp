#include "weft/base/portable_math.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

namespace weft::portable_math_test {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kUlp = std::numeric_limits<double>::epsilon();

TEST(PortableMath, ExpIsTheCLibrarysWithinAFewUnitsOfTheLastPlace) {
  for (double x = -700; x < 709; x += 0.0371) {
    EXPECT_NEAR(portable_exp(x) / std::exp(x), 1, 4 * kUlp) << x;
  }
  EXPECT_EQ(portable_exp(0), 1);
  EXPECT_EQ(portable_exp(1000), kInfinity);
  EXPECT_EQ(portable_exp(-1000), 0);
  EXPECT_TRUE(std::isnan(portable_exp(std::nan(""))));
}

TEST(PortableMath, LogIsTheCLibrarysWithinAFewUnitsOfTheLastPlace) {
  for (double x = 1e-300; x < 1e300; x *= 1.0173) {
    EXPECT_NEAR(portable_log(x), std::log(x), 2 * kUlp * std::fabs(std::log(x))) << x;
  }
  for (double x = 0.5; x < 2; x += 0.000731) {
    EXPECT_NEAR(portable_log(x), std::log(x), 4 * kUlp * std::fabs(std::log(x))) << x;
  }
  EXPECT_EQ(portable_log(1), 0);
  EXPECT_EQ(portable_log(0), -kInfinity);
  EXPECT_EQ(portable_log(kInfinity), kInfinity);
  EXPECT_TRUE(std::isnan(portable_log(-1)));
  EXPECT_NEAR(portable_log(5e-324), std::log(5e-324), 1e-12);
}

TEST(PortableMath, PowTakesWholeAndOtherExponents) {
  for (const double base : {0.5, 0.9, 0.999, 1.0, 1.7, 30.0}) {
    for (const double exponent : {-3.0, -0.8, 0.0, 0.5, 1.0, 1.7, 2.0, 100.0, 199.0}) {
      EXPECT_NEAR(portable_pow(base, exponent) / std::pow(base, exponent), 1, 1e-13)
          << base << " ^ " << exponent;
    }
  }
  EXPECT_NEAR(portable_pow(0.99999, 1e6) / std::pow(0.99999, 1e6), 1, 1e-9);
  EXPECT_EQ(portable_pow(0.9, 1), 0.9);
  EXPECT_EQ(portable_pow(0, 0), 1);
  EXPECT_EQ(portable_pow(0, 0.5), 0);
  EXPECT_EQ(portable_pow(0, 3), 0);
  EXPECT_EQ(portable_pow(0.5, 1e8), 0);
}

TEST(PortableMath, CosIsTheCLibrarysWithinAFewUnitsOfTheLastPlaceOfOne) {
  for (double x = -1000; x < 1000; x += 0.0137) {
    EXPECT_NEAR(portable_cos(x), std::cos(x), 4 * kUlp) << x;
  }
  EXPECT_EQ(portable_cos(0), 1);
}

}  // namespace
}  // namespace weft::portable_math_test
