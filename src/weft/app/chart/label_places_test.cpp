#include "weft/app/chart/label_places.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weft::label_places_test {
namespace {

using testing::ElementsAre;

std::vector<double> placed(const std::vector<double>& wanted, LabelSide side) {
  return label_places(wanted, 10, side);
}

TEST(LabelPlaces, LabelsWithRoomStayWhereTheyAre) {
  EXPECT_THAT(placed({50, 10, 30}, {0, 100}), ElementsAre(50, 10, 30));
}

TEST(LabelPlaces, NearOnesMoveApartAndKeepTheirOrder) {
  EXPECT_THAT(placed({50, 52, 51}, {0, 100}), ElementsAre(50, 70, 60));
  EXPECT_THAT(placed({50, 50}, {0, 100}), ElementsAre(50, 60));
}

TEST(LabelPlaces, NoneLeavesTheSideUnlessItIsTooShort) {
  EXPECT_THAT(placed({99, 99, 99}, {0, 100}), ElementsAre(80, 90, 100));
  EXPECT_THAT(placed({-5, 200}, {0, 100}), ElementsAre(0, 100));
  EXPECT_THAT(placed({0, 0, 0}, {0, 15}), ElementsAre(0, 10, 20));
  EXPECT_TRUE(placed({}, {0, 100}).empty());
}

}  // namespace
}  // namespace weft::label_places_test
