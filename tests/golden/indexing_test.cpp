// Joining, indexing, sorting, products and losses against the values that PyTorch computed.
#include "golden_file.h"
#include "weft/op/ops.h"

namespace weft::indexing_test {
namespace {

using In = GoldenInputs;

Array mask(const Tensor& x) { return x.array().to(DType::kBool); }

CrossEntropyOptions class_weights() {
  CrossEntropyOptions options;
  options.class_weights = Array::from(std::vector<double>{0.5, 2, 1, 0.25, 3}, {5});
  return options;
}

Tensor smooth(const In& in) {
  CrossEntropyOptions options;
  options.label_smoothing = 0.1;
  return cross_entropy(in[0], in[1], options);
}

Tensor ignoring(const In& in) {
  CrossEntropyOptions options;
  options.ignore_index = 2;
  return cross_entropy(in[0], in[1], options);
}

Tensor weighted(const In& in) {
  CrossEntropyOptions options = class_weights();
  options.label_smoothing = 0.2;
  options.ignore_index = 1;
  return cross_entropy(in[0], in[1], options);
}

Tensor pixels(const In& in) {
  CrossEntropyOptions options = class_weights();
  options.reduction = Reduction::kNone;
  return cross_entropy(in[0], in[1], options);
}

Tensor ctc(const In& in, Reduction reduction) {
  return ctc_loss(log_softmax(in[0], 2), in[1], in[2], in[3], {.reduction = reduction});
}

Tensor product(const char* equation, const In& in) { return einsum(equation, in); }

// Every case of make_indexing.py.
constexpr GoldenCase kJoining[] = {
    {"stack",
     [](const In& in) {
       return stack({in[0], in[1], in[0]}, 1);
     }},
    {"split",
     [](const In& in) {
       return split(in[0], {1, 2, 1}, 2)[1];
     }},
    {"chunk", [](const In& in) { return chunk(in[0], 3, 2)[1]; }},
    {"repeat",
     [](const In& in) {
       return repeat(in[0], {2, 1, 3});
     }},
    {"repeat_interleave", [](const In& in) { return repeat_interleave(in[0], 3, 0); }},
    {"roll",
     [](const In& in) {
       return roll(in[0], {1, -2}, {0, 2});
     }},
    {"flip",
     [](const In& in) {
       return flip(in[0], {0, 2});
     }},
    {"pad_constant",
     [](const In& in) {
       return pad(in[0], {{0, 3}, {1, 2}}, PadMode::kConstant, 0.5);
     }},
    {"pad_reflect",
     [](const In& in) {
       return pad(in[0], {{3, 2}}, PadMode::kReflect);
     }},
    {"pad_replicate",
     [](const In& in) {
       return pad(in[0], {{3, 2}}, PadMode::kReplicate);
     }},
    {"movedim",
     [](const In& in) {
       return movedim(in[0], {0, 2}, {2, 1});
     }},
    {"diagonal", [](const In& in) { return diagonal(in[0], 1, 1, 2); }},
    {"diag_embed", [](const In& in) { return diag_embed(in[0], -1); }},
    {"triu", [](const In& in) { return triu(in[0], 1); }},
    {"tril", [](const In& in) { return tril(in[0], -1); }},
    {"unfold", [](const In& in) { return unfold(in[0], 2, 3, 1); }},
};

constexpr GoldenCase kIndexing[] = {
    {"gather", [](const In& in) { return gather(in[0], 1, in[1]); }},
    {"gather_smaller", [](const In& in) { return gather(in[0], 0, in[1]); }},
    {"scatter", [](const In& in) { return scatter(in[0], 0, in[1], in[2]); }},
    {"scatter_add", [](const In& in) { return scatter_add(in[0], 0, in[1], in[2]); }},
    {"index_select", [](const In& in) { return index_select(in[0], 1, in[1]); }},
    {"index_add", [](const In& in) { return index_add(in[0], 1, in[1], in[2]); }},
    {"masked_fill", [](const In& in) { return masked_fill(in[0], mask(in[1]), -1.5); }},
    {"masked_select", [](const In& in) { return masked_select(in[0], mask(in[1])); }},
    {"index_apart",
     [](const In& in) {
       return index(in[0], {in[1].array(), {}, in[2].array()});
     }},
    {"index_together",
     [](const In& in) {
       return index(in[0], {{}, in[1].array(), in[2].array()});
     }},
    {"index_mask",
     [](const In& in) {
       return index(in[0], {{}, {}, mask(in[1])});
     }},
    {"index_put", [](const In& in) { return index_put(in[0], {in[1].array()}, in[2]); }},
    {"index_put_accumulate",
     [](const In& in) {
       return index_put(in[0], {in[1].array(), in[2].array()}, in[3], true);
     }},
    {"embedding", [](const In& in) { return embedding(in[0], in[1]); }},
    {"embedding_padding",
     [](const In& in) { return embedding(in[0], in[1], {.padding_index = 2}); }},
    {"sort", [](const In& in) { return sort(in[0], 1).values; }},
    {"sort_descending", [](const In& in) { return sort(in[0], -1, true).values; }},
    {"topk", [](const In& in) { return topk(in[0], 2, 0).values; }},
    {"topk_smallest", [](const In& in) { return topk(in[0], 3, 2, false).values; }},
    {"kthvalue", [](const In& in) { return kthvalue(in[0], 3, 0).values; }},
    {"median", [](const In& in) { return median(in[0], 1).values; }},
};

constexpr GoldenCase kProducts[] = {
    {"matmul_vector_vector", [](const In& in) { return matmul(in[0], in[1]); }},
    {"matmul_matrix_vector", [](const In& in) { return matmul(in[0], in[1]); }},
    {"matmul_vector_matrix", [](const In& in) { return matmul(in[0], in[1]); }},
    {"matmul_vector_batch", [](const In& in) { return matmul(in[0], in[1]); }},
    {"matmul_batch_vector", [](const In& in) { return matmul(in[0], in[1]); }},
    {"matmul_broadcast", [](const In& in) { return matmul(in[0], in[1]); }},
    {"bmm", [](const In& in) { return bmm(in[0], in[1]); }},
    {"dot", [](const In& in) { return dot(in[0], in[1]); }},
    {"outer", [](const In& in) { return outer(in[0], in[1]); }},
    {"tensordot",
     [](const In& in) {
       return tensordot(in[0], in[1], {1, 0}, {2, 1});
     }},
    {"einsum_matmul", [](const In& in) { return product("ij,jk->ik", in); }},
    {"einsum_implicit", [](const In& in) { return product("ij,kj", in); }},
    {"einsum_attention", [](const In& in) { return product("bhid,bhjd->bhij", in); }},
    {"einsum_diagonal", [](const In& in) { return product("...ii->...i", in); }},
    {"einsum_ellipsis", [](const In& in) { return product("...ij,jk...->...ik", in); }},
    {"einsum_bilinear", [](const In& in) { return product("bn,anm,bm->ba", in); }},
    {"einsum_chain", [](const In& in) { return product("ab,bc,cd,d->a", in); }},
    {"einsum_sum", [](const In& in) { return product("ijk->j", in); }},
};

constexpr GoldenCase kLosses[] = {
    {"cross_entropy_smooth", smooth},
    {"cross_entropy_ignore", ignoring},
    {"cross_entropy_weight", weighted},
    {"cross_entropy_pixels", pixels},
    {"cross_entropy_tokens",
     [](const In& in) { return cross_entropy(in[0], in[1], Reduction::kSum); }},
    {"nll_loss",
     [](const In& in) {
       NllOptions options;
       options.class_weights = class_weights().class_weights;
       options.ignore_index = 3;
       return nll_loss(in[0], in[1], options);
     }},
    {"mse_loss", [](const In& in) { return mse_loss(in[0], in[1]); }},
    {"l1_loss", [](const In& in) { return l1_loss(in[0], in[1]); }},
    {"huber_loss", [](const In& in) { return huber_loss(in[0], in[1], 1.5); }},
    {"smooth_l1_loss",
     [](const In& in) { return smooth_l1_loss(in[0], in[1], 0.75, Reduction::kSum); }},
    {"bce_with_logits",
     [](const In& in) {
       BceOptions options;
       options.positive_weight = Array::from(std::vector<double>{2, 0.5, 1}, {3});
       return bce_with_logits(in[0], in[1], options);
     }},
    {"bce_loss",
     [](const In& in) { return bce_loss(in[0], in[1], {.reduction = Reduction::kNone}); }},
    {"kl_div", [](const In& in) { return kl_div(in[0], in[1], {.batch_mean = true}); }},
    {"kl_div_log",
     [](const In& in) {
       return kl_div(in[0], in[1], {.reduction = Reduction::kSum, .log_target = true});
     }},
    {"cosine_similarity", [](const In& in) { return cosine_similarity(in[0], in[1], 1); }},
    {"ctc_loss", [](const In& in) { return ctc(in, Reduction::kNone); }},
    {"ctc_loss_mean", [](const In& in) { return ctc(in, Reduction::kMean); }},
};

class GoldenIndexing : public testing::TestWithParam<DType> {
 protected:
  void check_all(std::span<const GoldenCase> cases) {
    for (const GoldenCase& op : cases) {
      SCOPED_TRACE(op.name);
      check_case(file_, op, GetParam());
    }
  }
  const GoldenFile file_{"indexing.safetensors"};
};

TEST_P(GoldenIndexing, JoiningAgrees) { check_all(kJoining); }
TEST_P(GoldenIndexing, IndexingAndSortingAgree) { check_all(kIndexing); }
TEST_P(GoldenIndexing, ProductsAgree) { check_all(kProducts); }
TEST_P(GoldenIndexing, LossesAgree) { check_all(kLosses); }

TEST_P(GoldenIndexing, EveryCaseOfTheFileIsChecked) {
  std::set<std::string> names;
  for (const std::span<const GoldenCase> cases :
       {std::span<const GoldenCase>(kJoining), std::span<const GoldenCase>(kIndexing),
        std::span<const GoldenCase>(kProducts), std::span<const GoldenCase>(kLosses)}) {
    for (const GoldenCase& op : cases) names.insert(op.name);
  }
  EXPECT_EQ(names, file_.cases());
}

// x is 0, 1, 2, ... of the case's shape.
void check_random_index(const GoldenFile& file, const std::string& name) {
  Shape shape;
  for (const std::int64_t length : file.get(name + "/shape").to_vector<std::int64_t>()) {
    shape.push_back(length);
  }
  const Tensor x = reshape(arange(shape.num_elements()), shape);
  AdvancedIndex at;
  for (int axis = 0; axis < shape.size(); ++axis) {
    const std::string of_axis = name + "/at" + std::to_string(axis);
    if (file.has(of_axis)) {
      at.emplace_back(file.get(of_axis));
    } else {
      at.emplace_back();
    }
  }
  expect_close(index(x, at).array(), file.get(name + "/output"), 0);
  const Tensor one(Array::full({}, 1, DType::kI64));
  expect_close(index_put(x, at, one, true).array(), file.get(name + "/added"), 0);
}

TEST(GoldenRandom, AdvancedIndexesAgree) {
  const GoldenFile file("indexing_random.safetensors");
  int count = 0;
  for (const std::string& name : file.cases()) {
    if (name.rfind("index", 0) != 0) continue;
    SCOPED_TRACE(name);
    check_random_index(file, name);
    ++count;
  }
  EXPECT_EQ(count, 160);
}

TEST(GoldenRandom, EinsumEquationsAgree) {
  const GoldenFile file("indexing_random.safetensors");
  int count = 0;
  for (const std::string& name : file.cases()) {
    const std::size_t colon = name.find(':');
    if (colon == std::string::npos) continue;
    SCOPED_TRACE(name);
    std::vector<Tensor> operands;
    for (int i = 0; file.has(name + "/input" + std::to_string(i)); ++i) {
      operands.emplace_back(file.get(name + "/input" + std::to_string(i)));
    }
    const Tensor y = einsum(name.substr(colon + 1), operands);
    expect_close(y.array(), file.get(name + "/output"), 1e-13);
    ++count;
  }
  EXPECT_EQ(count, 120);
}

std::string type_name(const testing::TestParamInfo<DType>& entry) {
  return std::string(to_string(entry.param));
}

INSTANTIATE_TEST_SUITE_P(Types, GoldenIndexing, testing::Values(DType::kF32, DType::kF64),
                         type_name);

}  // namespace
}  // namespace weft::indexing_test
