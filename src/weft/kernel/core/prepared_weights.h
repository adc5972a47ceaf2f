// PreparedWeights: the forms in which kernels read a model's weights, kept between forward passes.
//
// Where it stands: a loaded model owns one (io/model_file.h); a matrix product packs its weights, a
// convolution transforms or reorders its filters. A pass with few rows spends most of its time on
// that unless the result is kept, which costs about the memory of the weights once more.
// A kept form is used only if the weights' storage has reported no write since (Storage::version);
// code that writes through a pointer reports that, or makes a new PreparedWeights. Results have the
// same bits with and without kept forms, but for two: a convolution before a batch normalisation
// becomes one with it (conv2d_normalized() in op/conv.h), which rounds differently, and matrix
// products use weights of 8 bits (gemm/int8.h), which are not as exact, where it asks for these.
// Threads: one at a time, which calls the kernels. Fails: never.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "weft/array/array.h"

namespace weft {

enum class WeightForm : std::uint8_t {
  kPackedPanels,  // kernel/gemm
  kInt8Rows,
  kWinogradFilters,  // kernel/conv
  kOnednnOrder,
  kWindowPanels,
  kFirstLayerPanels,
  kNormalizedFilters,  // op/conv
};

// The type of a matrix in products; the weights themselves stay as they are.
enum class WeightPrecision : std::uint8_t { kF32, kInt8 };

class PreparedWeights {
 public:
  // While one lives, kernels that this thread calls keep and find forms in `weights`; null:
  // nowhere.
  class Use {
   public:
    explicit Use(PreparedWeights* weights);
    ~Use();
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;

   private:
    PreparedWeights* before_;
  };

  // Forms of other arrays than these are not kept.
  explicit PreparedWeights(std::span<const Array> weights,
                           WeightPrecision precision = WeightPrecision::kF32);

  // The kept form of this weight, of the type that keep() was given; null if there is none.
  template <class Form>
  static std::shared_ptr<const Form> find(const Array& weight, WeightForm form) {
    return std::static_pointer_cast<const Form>(find_form(weight, form));
  }
  // Does nothing outside a Use.
  static void keep(const Array& weight, WeightForm form, std::shared_ptr<const void> value);
  // That of the present one; outside a Use kF32.
  static WeightPrecision precision();
  // Whether keep() would keep a form of this weight.
  static bool keeps(const Array& weight);
  // The kept form, or the one that make() returns, which is kept; null where nothing is kept.
  template <class Form, class Make>
  static std::shared_ptr<const Form> get(const Array& weight, WeightForm form, const Make& make) {
    std::shared_ptr<const Form> found = find<Form>(weight, form);
    if (found != nullptr || !keeps(weight)) return found;
    found = make();
    keep(weight, form, found);
    return found;
  }

 private:
  struct Entry {
    WeightForm form;
    Shape shape;
    std::uint64_t storage;  // its id
    std::uint64_t version;
    std::shared_ptr<const void> value;
  };
  static std::shared_ptr<const void> find_form(const Array& weight, WeightForm form);

  WeightPrecision precision_;
  std::vector<Array> weights_;  // keep the storages, so that nothing else gets their places
  std::unordered_set<std::uint64_t> storages_;
  std::unordered_map<const void*, std::vector<Entry>> entries_;  // by the weight's first byte
};

}  // namespace weft
