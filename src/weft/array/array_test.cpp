#include "weft/array/array.h"

#include <limits>
#include <new>
#include <numeric>
#include <stdexcept>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weft/base/rng.h"
#include "weft/base/thread.h"

namespace weft::array_test {
namespace {

using ::testing::ElementsAre;

Array counting(const Shape& shape) {
  std::vector<std::int64_t> values(static_cast<std::size_t>(shape.num_elements()));
  std::iota(values.begin(), values.end(), 0);
  return Array::from(values, shape);
}

// The oracle of the view tests: the values in row-major order, rearranged by index arithmetic
// on whole index tuples, with no strides and no offsets.
struct Naive {
  Shape shape;
  std::vector<std::int64_t> values;

  std::int64_t at(const Dims& index) const {
    std::int64_t position = 0;
    for (int i = 0; i < shape.size(); ++i) position = position * shape[i] + index[i];
    return values[static_cast<std::size_t>(position)];
  }
};

template <class Pick>
Naive rearrange(const Naive& source, const Shape& shape, Pick pick) {
  Naive result{shape, {}};
  const std::int64_t count = shape.num_elements();
  for (std::int64_t n = 0; n < count; ++n) {
    Dims index = shape;
    std::int64_t rest = n;
    for (int i = shape.size() - 1; i >= 0; --i) {
      index[i] = rest % shape[i];
      rest /= shape[i];
    }
    result.values.push_back(source.at(pick(index)));
  }
  return result;
}

std::int64_t between(Rng& rng, std::int64_t low, std::int64_t high) {
  return low + static_cast<std::int64_t>(rng.below(static_cast<std::uint64_t>(high - low + 1)));
}

// The positions that Python's range(*slice(start, stop, step).indices(extent)) gives.
std::vector<std::int64_t> python_positions(std::int64_t extent, std::int64_t start,
                                           std::int64_t stop, std::int64_t step) {
  if (start < 0) start += extent;
  if (stop < 0) stop += extent;
  std::vector<std::int64_t> positions;
  if (step > 0) {
    for (std::int64_t i = std::max<std::int64_t>(start, 0); i < std::min(stop, extent); i += step) {
      positions.push_back(i);
    }
  } else {
    for (std::int64_t i = std::min(start, extent - 1); i > std::max<std::int64_t>(stop, -1);
         i += step) {
      positions.push_back(i);
    }
  }
  return positions;
}

void random_slice(Rng& rng, Array& array, Naive& naive) {
  const int axis = static_cast<int>(between(rng, 0, naive.shape.size() - 1));
  const std::int64_t extent = naive.shape[axis];
  const std::int64_t start = between(rng, -extent - 2, extent + 2);
  const std::int64_t stop = between(rng, -extent - 2, extent + 2);
  const std::int64_t step = rng.chance(0.5) ? between(rng, 1, 3) : -between(rng, 1, 3);
  const auto positions = python_positions(extent, start, stop, step);
  if (positions.empty() && !rng.chance(0.02)) return;
  array = array.slice(rng.chance(0.5) ? axis : axis - naive.shape.size(), start, stop, step);
  Shape shape = naive.shape;
  shape[axis] = static_cast<std::int64_t>(positions.size());
  naive = rearrange(naive, shape, [&](Dims index) {
    index[axis] = positions[static_cast<std::size_t>(index[axis])];
    return index;
  });
}

void random_permute(Rng& rng, Array& array, Naive& naive) {
  std::vector<int> axes(static_cast<std::size_t>(naive.shape.size()));
  std::iota(axes.begin(), axes.end(), 0);
  for (std::size_t i = axes.size(); i > 1; --i) std::swap(axes[i - 1], axes[rng.below(i)]);
  array = array.permute(axes);
  Shape shape;
  for (const int axis : axes) shape.push_back(naive.shape[axis]);
  naive = rearrange(naive, shape, [&](const Dims& index) {
    Dims source = index;
    for (std::size_t i = 0; i < axes.size(); ++i) source[axes[i]] = index[static_cast<int>(i)];
    return source;
  });
}

void random_expand(Rng& rng, Array& array, Naive& naive) {
  if (naive.shape.num_elements() > 500 || naive.shape.size() > 4) return;
  Shape shape = naive.shape;
  for (std::int64_t& extent : shape) {
    if (extent == 1) extent = between(rng, 1, 3);
  }
  const bool lead = rng.chance(0.3);
  if (lead) shape.insert(0, between(rng, 1, 2));
  array = array.expand(shape);
  const Shape old = naive.shape;
  naive = rearrange(naive, shape, [&](Dims index) {
    if (lead) index.erase(0);
    for (int i = 0; i < old.size(); ++i) {
      if (old[i] == 1) index[i] = 0;
    }
    return index;
  });
}

void random_reshape(Rng& rng, Array& array, Naive& naive) {
  Shape shape;
  std::int64_t rest = static_cast<std::int64_t>(naive.values.size());
  if (rest == 0) return;
  for (const std::int64_t factor : {2, 3, 5}) {
    if (rest % factor == 0 && rng.chance(0.7)) {
      shape.push_back(factor);
      rest /= factor;
    }
  }
  shape.insert(static_cast<int>(between(rng, 0, shape.size())), rng.chance(0.5) ? rest : -1);
  array = array.reshape(shape);
  for (std::int64_t& extent : shape) extent = extent == -1 ? rest : extent;
  naive.shape = shape;
}

void random_axis_change(Rng& rng, Array& array, Naive& naive) {
  const int axis = static_cast<int>(between(rng, 0, naive.shape.size() - 1));
  if (naive.shape[axis] == 1 && rng.chance(0.5) && naive.shape.size() > 1) {
    array = array.squeeze(axis);
    naive.shape.erase(axis);
  } else if (naive.shape.size() < 5 && rng.chance(0.5)) {
    array = array.unsqueeze(axis);
    naive.shape.insert(axis, 1);
  } else if (naive.shape.size() > 1 && naive.shape[axis] > 0 && rng.chance(0.4)) {
    const std::int64_t index = between(rng, 0, naive.shape[axis] - 1);
    array = array.select(axis, rng.chance(0.5) ? index : index - naive.shape[axis]);
    Shape shape = naive.shape;
    shape.erase(axis);
    naive = rearrange(naive, shape, [&](Dims position) {
      position.insert(axis, index);
      return position;
    });
  }
}

TEST(Array, FromBracesHasTheTypeOfTheValues) {
  EXPECT_EQ(Array::from({1.F, 2.F}, {2}).dtype(), DType::kF32);
  EXPECT_EQ(Array::from({1.0, 2.5}, {2}).to_vector<double>(), (std::vector<double>{1, 2.5}));
  EXPECT_EQ(Array::from({1, 2, 3}, {3}).dtype(), DType::kI32);
  EXPECT_EQ(Array::from<double>({1, 2}, {2}).dtype(), DType::kF64);
  EXPECT_EQ(Array::from<float>({}, {0}).size(), 0);
  const Array bits = Array::from({true, false}, {2});
  EXPECT_EQ(bits.dtype(), DType::kBool);
  EXPECT_EQ(bits.to_vector<bool>(), (std::vector<bool>{true, false}));
  EXPECT_EQ(Array::from(std::vector<bool>{false, true}, {2}).to_vector<bool>(),
            (std::vector<bool>{false, true}));
}

TEST(Array, chains_of_random_views_agree_with_index_arithmetic) {
  for (std::uint64_t seed = 0; seed < 1500; ++seed) {
    Rng rng(seed);
    Shape shape;
    const std::int64_t axes = between(rng, 1, 4);
    for (std::int64_t i = 0; i < axes; ++i) shape.push_back(between(rng, 1, 6));
    Array array = counting(shape);
    Naive naive{shape, array.to_vector<std::int64_t>()};
    for (int change = 0; change < 6; ++change) {
      switch (rng.below(5)) {
        case 0:
          random_permute(rng, array, naive);
          break;
        case 1:
          random_expand(rng, array, naive);
          break;
        case 2:
          random_reshape(rng, array, naive);
          break;
        case 3:
          random_axis_change(rng, array, naive);
          break;
        default:
          random_slice(rng, array, naive);
      }
      ASSERT_EQ(array.shape(), naive.shape) << "seed " << seed;
      ASSERT_EQ(array.to_vector<std::int64_t>(), naive.values) << "seed " << seed;
      ASSERT_EQ(array.contiguous().to_vector<std::int64_t>(), naive.values) << "seed " << seed;
    }
  }
}

TEST(Array, writing_through_a_view_changes_only_what_the_view_shows) {
  Array array = Array::zeros({4, 6}, DType::kI64);
  Array view = array.slice(0, 3, 0, -2).slice(1, 1, {}, 2).transpose(0, 1);
  view.copy_from(counting({3, 2}));
  EXPECT_THAT(array.select(0, 3).to_vector<std::int64_t>(), ElementsAre(0, 0, 0, 2, 0, 4));
  EXPECT_THAT(array.select(0, 1).to_vector<std::int64_t>(), ElementsAre(0, 1, 0, 3, 0, 5));
  view.fill(-1);
  EXPECT_THAT(array.select(0, 1).to_vector<std::int64_t>(), ElementsAre(0, -1, 0, -1, 0, -1));
  EXPECT_THAT(array.select(0, 2).to_vector<std::int64_t>(), ElementsAre(0, 0, 0, 0, 0, 0));
}

TEST(Array, a_view_of_a_view_keeps_the_offset) {
  const Array a = counting({4, 5});
  EXPECT_THAT(a.slice(0, 1, 3).slice(0, 1, 2).to_vector<std::int64_t>(),
              ElementsAre(10, 11, 12, 13, 14));
}

TEST(Array, permute_expand_and_copies_of_a_sliced_view_keep_the_offset) {
  const Array rows = counting({3, 4}).slice(0, 1, 3);
  EXPECT_THAT(rows.permute({1, 0}).to_vector<std::int64_t>(),
              ElementsAre(4, 8, 5, 9, 6, 10, 7, 11));
  EXPECT_THAT(rows.slice(1, 0, 1).expand({2, 2}).to_vector<std::int64_t>(),
              ElementsAre(4, 4, 8, 8));
  EXPECT_THAT(rows.clone().slice(1, 2, 3).to_vector<std::int64_t>(), ElementsAre(6, 10));
  const std::vector<std::int64_t> values = rows.to_vector<std::int64_t>();
  EXPECT_EQ(std::accumulate(values.begin(), values.begin() + 4, std::int64_t{0}), 22);
  EXPECT_EQ(std::accumulate(values.begin() + 4, values.end(), std::int64_t{0}), 38);
}

TEST(Array, a_negative_start_counts_from_the_end) {
  EXPECT_THAT(counting({4, 1}).slice(0, -2, {}).to_vector<std::int64_t>(), ElementsAre(2, 3));
  EXPECT_THAT(counting({5}).slice(0, {}, {}, -2).to_vector<std::int64_t>(), ElementsAre(4, 2, 0));
  EXPECT_EQ(counting({5}).slice(0, 4, 2).size(), 0);
}

TEST(Array, a_slice_takes_any_bounds_and_steps) {
  using Limits = std::numeric_limits<std::int64_t>;
  const Array five = counting({5});
  EXPECT_THAT(five.slice(0, {}, {}, Limits::min()).to_vector<std::int64_t>(), ElementsAre(4));
  EXPECT_THAT(five.slice(0, {}, {}, Limits::max()).to_vector<std::int64_t>(), ElementsAre(0));
  EXPECT_THAT(five.slice(0, Limits::max(), Limits::min(), -3).to_vector<std::int64_t>(),
              ElementsAre(4, 1));
  EXPECT_THAT(five.slice(0, Limits::min(), Limits::max(), 3).to_vector<std::int64_t>(),
              ElementsAre(0, 3));
}

TEST(Array, reshape_is_a_view_where_the_strides_allow_it) {
  const Array a = counting({2, 3, 4});
  EXPECT_EQ(a.reshape({6, -1}).storage(), a.storage());
  const Array part = a.slice(1, 0, 2);
  EXPECT_EQ(part.reshape({2, 2, 2, 2}).storage(), a.storage());
  EXPECT_NE(part.reshape({16}).storage(), a.storage());
  EXPECT_EQ(part.reshape({16}).to_vector<std::int64_t>(), part.to_vector<std::int64_t>());
  EXPECT_EQ(counting({0, 3}).reshape({3, 0, 7}).size(), 0);
}

TEST(Array, empty_and_scalar_arrays_work) {
  const Array none = Array::zeros({0, 4});
  EXPECT_TRUE(none.is_contiguous());
  EXPECT_TRUE(none.transpose(0, 1).contiguous().to_vector<float>().empty());
  const Array scalar = Array::full({}, 2.5);
  EXPECT_EQ(scalar.item(), 2.5);
  EXPECT_EQ(scalar.expand({2, 2}).to_vector<float>(), std::vector<float>(4, 2.5F));
  EXPECT_FALSE(Array().defined());
}

TEST(Array, more_bytes_than_can_be_counted_are_no_memory) {
  EXPECT_THROW(Array::empty({std::int64_t{1} << 62}), std::bad_alloc);
  EXPECT_THROW(Array::zeros({std::int64_t{1} << 31, std::int64_t{1} << 30}, DType::kF64),
               std::bad_alloc);
  EXPECT_THROW(Array::zeros({1}).expand({std::int64_t{1} << 62}).clone(), std::bad_alloc);
}

TEST(Array, conversion_keeps_values) {
  const Array a = counting({3}).to(DType::kF64);
  EXPECT_THAT(a.to_vector<double>(), ElementsAre(0.0, 1.0, 2.0));
  EXPECT_THAT(a.to(DType::kU8).to_vector<std::uint8_t>(), ElementsAre(0, 1, 2));
  EXPECT_EQ(a.to(DType::kF64).storage(), a.storage());
  Array wide = Array::empty({2, 3});
  wide.copy_from(a);
  EXPECT_THAT(wide.to_vector<float>(), ElementsAre(0.F, 1.F, 2.F, 0.F, 1.F, 2.F));
}

TEST(Array, mistakes_of_the_model_builder_are_named) {
  const Array a = counting({2, 3});
  EXPECT_THROW(a.reshape({4, 2}), std::invalid_argument);
  EXPECT_THROW(a.reshape({-1, -1}), std::invalid_argument);
  EXPECT_THROW(a.permute({0, 0}), std::invalid_argument);
  EXPECT_THROW(a.transpose(0, 2), std::invalid_argument);
  EXPECT_THROW(a.select(0, 2), std::invalid_argument);
  EXPECT_THROW(a.slice(0, 0, 2, 0), std::invalid_argument);
  EXPECT_THROW(a.expand({3, 3}), std::invalid_argument);
  EXPECT_THROW(a.as_strided({100, 100}, {100, 1}), std::invalid_argument);
  EXPECT_THROW(a.as_strided({2}, {-1}), std::invalid_argument);
  EXPECT_THROW((void)a.item(), std::invalid_argument);
  EXPECT_THROW(Array::empty({-1}), std::invalid_argument);
  EXPECT_THROW(Array::from(std::vector<float>{1.F}, {2}), std::invalid_argument);
  EXPECT_THROW((void)Dims::filled(9, 1), std::invalid_argument);
  EXPECT_THROW((void)broadcast_shapes({2, 3}, {2}), std::invalid_argument);
  const std::int64_t huge = std::int64_t{1} << 40;
  EXPECT_THROW(Array::empty({huge, huge}), std::invalid_argument);
}

TEST(Shape, broadcasts_as_numpy_does) {
  EXPECT_EQ(broadcast_shapes({3, 1}, {2, 1, 4}), (Shape{2, 3, 4}));
  EXPECT_EQ(broadcast_shapes({}, {0}), (Shape{0}));
  EXPECT_EQ(broadcast_shapes({1}, {0}), (Shape{0}));
}

TEST(Storage, is_aligned_and_reused) {
  Storage::trim_pool();
  const void* first = nullptr;
  for (const std::size_t bytes : {1U, 64U, 65U, 80U, 1000U, 100'000U}) {
    const auto block = Storage::allocate(bytes);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(block->data()) % Storage::kAlignment, 0U);
    EXPECT_GE(block->size_bytes(), bytes);
    EXPECT_LE(block->size_bytes(), std::max<std::size_t>(bytes + bytes / 4 + 64, 64));
    first = block->data();
  }
  EXPECT_EQ(Storage::allocate(100'000)->data(), first);
}

TEST(Storage, a_thread_gets_its_own_blocks_back) {
  constexpr std::size_t kBytes = 100'000;
  Storage::trim_pool();
  auto mine = Storage::allocate(kBytes);
  const void* const my_block = mine->data();
  const void* their_block = nullptr;
  const void* their_next = nullptr;
  Atomic<int> turn{0};
  Thread other([&] {
    auto theirs = Storage::allocate(kBytes);
    their_block = theirs->data();
    turn.store(1);
    turn.notify_all();
    turn.wait(1);
    // Given after this thread's block, and so the one that any other thread would get.
    theirs.reset();
    their_next = Storage::allocate(kBytes)->data();
    turn.store(3);
    turn.notify_all();
  });
  turn.wait(0);
  mine.reset();
  turn.store(2);
  turn.notify_all();
  turn.wait(2);
  EXPECT_EQ(their_next, their_block);
  EXPECT_EQ(Storage::allocate(kBytes)->data(), my_block);
  // Another thread's block is better than none.
  mine = Storage::allocate(kBytes);
  EXPECT_EQ(mine->data(), my_block);
  EXPECT_EQ(Storage::allocate(kBytes)->data(), their_block);
}

TEST(Storage, the_pool_keeps_no_more_than_was_in_use) {
  constexpr std::size_t kBlock = std::size_t{8} << 20;
  Storage::trim_pool();
  std::vector<std::shared_ptr<Storage>> blocks;
  blocks.reserve(40);
  for (int i = 0; i < 40; ++i) blocks.push_back(Storage::allocate(kBlock));
  blocks.clear();
  EXPECT_GT(Storage::pooled_bytes(), Storage::kPoolBytesMax);
  EXPECT_LE(Storage::pooled_bytes(), 40 * kBlock);
  // Blocks of another size push the old ones out.
  for (int i = 0; i < 10; ++i) blocks.push_back(Storage::allocate(2 * kBlock));
  EXPECT_LE(Storage::pooled_bytes(), 20 * kBlock);
  blocks.clear();
  EXPECT_LE(Storage::pooled_bytes(), 40 * kBlock);
  Storage::trim_pool();
  EXPECT_EQ(Storage::pooled_bytes(), 0U);
  // What was in use before is forgotten.
  for (int i = 0; i < 4; ++i) blocks.push_back(Storage::allocate(kBlock));
  blocks.clear();
  EXPECT_LE(Storage::pooled_bytes(), Storage::kPoolBytesMax);
}

TEST(Array, one_axis_needs_no_braces) {
  EXPECT_EQ(Array::zeros(3).shape(), Shape({3}));
  EXPECT_EQ(Array::zeros(std::size_t{2}, DType::kI64).dtype(), DType::kI64);
  EXPECT_EQ(Array::empty(0).size(), 0);
  EXPECT_THAT(Array::full(2, 1.5).to_vector<float>(), ElementsAre(1.5F, 1.5F));
  EXPECT_EQ(Array::zeros({}).ndim(), 0);
}

TEST(Array, at_reads_one_element_of_any_order) {
  const Array x = counting({2, 3, 4});
  const Array turned = x.transpose(0, 2).slice(0, 3, 0, -2);
  for (std::int64_t i = 0; i < 2; ++i) {
    EXPECT_EQ(x.at({i, 1, -1}), 12.0 * static_cast<double>(i) + 7);
    EXPECT_EQ(turned.at({1, 2, i}), 12.0 * static_cast<double>(i) + 9);
  }
  EXPECT_EQ(Array::full({}, 2.5).at({}), 2.5);
  EXPECT_THROW(x.at({0, 0}), std::invalid_argument);
  EXPECT_THROW(x.at({0, 3, 0}), std::invalid_argument);
  EXPECT_THROW(x.at({-3, 0, 0}), std::invalid_argument);
  EXPECT_THROW(Array().at({}), std::invalid_argument);
}

TEST(Storage, threads_share_the_pool) {
  std::vector<Thread> threads;
  threads.reserve(4);
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([t] {
      Rng rng(static_cast<std::uint64_t>(t));
      for (int i = 0; i < 2000; ++i) {
        Array array = Array::full({between(rng, 1, 400)}, t);
        for (const float value : array.flat<float>()) ASSERT_EQ(value, static_cast<float>(t));
      }
    });
  }
}

TEST(Storage, foreign_memory_lives_as_long_as_its_last_view) {
  auto owner = std::make_shared<std::vector<float>>(std::vector<float>{1, 2, 3, 4});
  const std::weak_ptr<std::vector<float>> watch = owner;
  Array view = Array::on(Storage::wrap(owner->data(), 16, owner), 1, {3}, {1}, DType::kF32);
  owner.reset();
  EXPECT_FALSE(watch.expired());
  EXPECT_THAT(view.to_vector<float>(), ElementsAre(2.F, 3.F, 4.F));
  view = Array();
  EXPECT_TRUE(watch.expired());
}

}  // namespace
}  // namespace weft::array_test
