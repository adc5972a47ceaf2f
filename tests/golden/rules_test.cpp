// Types of results, and values at the edges (NaN, infinities, ties, overflow), against PyTorch's:
// rules.txt, which make_rules.py writes and explains.
#include <cmath>
#include <limits>
#include <map>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "weft/base/file.h"
#include "weft/op/ops.h"

namespace weft::rules_test {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr const char* kLetters = "fdlubhci?";
constexpr DType kTypes[] = {DType::kF32, DType::kF64, DType::kI64, DType::kU8,  DType::kBF16,
                            DType::kF16, DType::kI8,  DType::kI32, DType::kBool};

DType type_of(char letter) {
  // Weft has no i16, of which PyTorch makes u8 and i8 together.
  if (letter == 's') return DType::kI32;
  return kTypes[std::string(kLetters).find(letter)];
}

// The lines that begin with `kind`, without it.
std::vector<std::string> lines_of(const std::string& kind) {
  const Result<Bytes> bytes = read_file(std::string(WEFT_GOLDEN_DIR) + "/rules.txt", 1 << 20);
  WEFT_CHECK(bytes.ok());
  std::istringstream all(std::string(bytes.value().begin(), bytes.value().end()));
  std::vector<std::string> found;
  for (std::string line; std::getline(all, line);) {
    if (line.rfind(kind + " ", 0) == 0) found.push_back(line.substr(kind.size() + 1));
  }
  return found;
}

Tensor ones_of(DType dtype, int axes) {
  return Tensor(Array::full(axes == 0 ? Shape{} : Shape{2}, 1.0, dtype));
}

TEST(Rules, TypesOfTwoOperands) {
  using Op = Tensor (*)(const Tensor&, const Tensor&);
  const std::map<std::string, Op> ops = {
      {"add", add},
      {"sub", sub},
      {"mul", mul},
      {"div", div},
      {"pow", pow},
      {"atan2", atan2},
      {"remainder", remainder},
      {"floor_divide", floor_divide},
      {"maximum", maximum},
      {"minimum", minimum},
      {"where", [](const Tensor& a, const Tensor& b) {
         return where(Tensor(Array::from(std::vector<bool>{true, false}, {2})), a, b);
       }}};
  const std::vector<std::string> lines = lines_of("types");
  ASSERT_EQ(lines.size(), ops.size());
  for (const std::string& line : lines) {
    std::istringstream words(line);
    std::string name;
    std::string codes;
    words >> name >> codes;
    ASSERT_EQ(codes.size(), 9U * 9U * 4U);
    for (std::size_t i = 0; i < codes.size(); ++i) {
      // What PyTorch refuses (sub of bool, functions of f16) Weft may compute.
      if (codes[i] == '-') continue;
      const Tensor a = ones_of(kTypes[i / 36], i / 2 % 2 == 0 ? 0 : 1);
      const Tensor b = ones_of(kTypes[i / 4 % 9], i % 2 == 0 ? 0 : 1);
      EXPECT_EQ(to_string(ops.at(name)(a, b).dtype()), to_string(type_of(codes[i])))
          << name << " of " << to_string(a.dtype()) << to_string(a.shape()) << " and "
          << to_string(b.dtype()) << to_string(b.shape());
    }
  }
}

struct UnaryCase {
  const char* name;
  Tensor (*run)(const Tensor& x);
};

constexpr UnaryCase kNumbers[] = {
    {"add_2", [](const Tensor& x) { return x + 2; }},
    {"add_half", [](const Tensor& x) { return x + 0.5; }},
    {"mul_half", [](const Tensor& x) { return x * 0.5; }},
    {"div_1", [](const Tensor& x) { return x / 1; }},
    {"div_half", [](const Tensor& x) { return x / 0.5; }},
    {"divide_2", [](const Tensor& x) { return 2 / x; }},
    {"add_inf", [](const Tensor& x) { return x + kInf; }},
    {"mul_nan", [](const Tensor& x) { return x * kNan; }},
    {"pow_2", [](const Tensor& x) { return pow(x, 2.0); }},
    {"pow_half", [](const Tensor& x) { return pow(x, 0.5); }},
    {"clamp_whole", [](const Tensor& x) { return clamp(x, 1, 2); }},
    {"clamp_half", [](const Tensor& x) { return clamp(x, 0.5, 1.5); }},
    {"square", [](const Tensor& x) { return square(x); }},
    {"relu", [](const Tensor& x) { return relu(x); }},
    {"logsumexp", [](const Tensor& x) { return logsumexp(x); }},
};

TEST(Rules, TypesBesidePlainNumbers) {
  const std::vector<std::string> lines = lines_of("numbers");
  ASSERT_EQ(lines.size(), std::size(kNumbers));
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const std::string name = kNumbers[i].name;
    ASSERT_EQ(lines[i].substr(0, name.size()), name);
    for (std::size_t k = 0; k < std::size(kTypes); ++k) {
      const char code = lines[i][name.size() + 1 + k];
      if (code == '-') continue;
      EXPECT_EQ(to_string(kNumbers[i].run(ones_of(kTypes[k], 1)).dtype()), to_string(type_of(code)))
          << name << " of " << to_string(kTypes[k]);
    }
  }
}

Tensor values(const std::vector<double>& list, DType dtype) {
  return Tensor(Array::from(list, {static_cast<std::int64_t>(list.size())}).to(dtype));
}
Tensor first(DType d) {
  return values({7, -7, 7, -7, 5.5, -5.5, 0, kInf, kNan, 1, -1, 0, -0.0}, d);
}
Tensor second(DType d) { return values({3, 3, -3, -3, 2, 2, 5, 2, 2, kInf, kInf, 0, 3}, d); }
Tensor ends(DType d) { return values({-kInf, kInf, kNan, 0, 1, -1}, d); }
Tensor mixed(DType d) { return values({2, kNan, 1, kInf, 2, -kInf, kNan, 1, 0}, d); }

struct FloatCase {
  const char* name;
  Tensor (*run)(DType d);
};

constexpr FloatCase kFloats[] = {
    {"remainder", [](DType d) { return remainder(first(d), second(d)); }},
    {"floor_divide", [](DType d) { return floor_divide(first(d), second(d)); }},
    {"maximum", [](DType d) { return maximum(first(d), second(d)); }},
    {"minimum", [](DType d) { return minimum(first(d), second(d)); }},
    {"eq", [](DType d) { return eq(first(d), second(d)); }},
    {"ne", [](DType d) { return ne(first(d), second(d)); }},
    {"lt", [](DType d) { return lt(first(d), second(d)); }},
    {"ge", [](DType d) { return ge(first(d), second(d)); }},
    {"relu", [](DType d) { return relu(first(d)); }},
    {"abs", [](DType d) { return abs(first(d)); }},
    {"clamp", [](DType d) { return clamp(first(d), -2, 2); }},
    {"sigmoid", [](DType d) { return sigmoid(ends(d)); }},
    {"softplus", [](DType d) { return softplus(ends(d)); }},
    {"silu", [](DType d) { return silu(ends(d)); }},
    {"tanh", [](DType d) { return tanh(ends(d)); }},
    {"exp", [](DType d) { return exp(ends(d)); }},
    {"log", [](DType d) { return log(ends(d)); }},
    {"sqrt", [](DType d) { return sqrt(ends(d)); }},
    {"round",
     [](DType d) {
       return round(values({0.5, 1.5, 2.5, -0.5, -1.5, kNan, kInf}, d));
     }},
    {"softmax",
     [](DType d) {
       return softmax(values({-kInf, 0, 0, -kInf}, d), 0);
     }},
    {"softmax_of_nothing",
     [](DType d) {
       return softmax(values({-kInf, -kInf}, d), 0);
     }},
    {"logsumexp",
     [](DType d) {
       return logsumexp(values({-kInf, -kInf}, d));
     }},
    {"max", [](DType d) { return max(mixed(d)); }},
    {"argmax", [](DType d) { return argmax(mixed(d)); }},
    {"argmin", [](DType d) { return argmin(mixed(d)); }},
    {"argmax_ties",
     [](DType d) {
       return argmax(values({1, 3, 3, 2}, d));
     }},
    {"sort", [](DType d) { return sort(mixed(d)).values; }},
    {"sort_places", [](DType d) { return sort(mixed(d)).indices; }},
    {"sort_down", [](DType d) { return sort(mixed(d), -1, true).values; }},
    {"sort_down_places", [](DType d) { return sort(mixed(d), -1, true).indices; }},
    {"topk", [](DType d) { return topk(mixed(d), 4).values; }},
    {"kthvalue", [](DType d) { return kthvalue(mixed(d), 3).values; }},
    {"median", [](DType d) { return median(mixed(d)).values; }},
    {"cumsum", [](DType d) { return cumsum(mixed(d), 0); }},
    {"divided",
     [](DType d) {
       return values({49, 9, 1, 10}, d) / 49;
     }},
};

Tensor left(DType d) {
  return d == DType::kU8 ? values({7, 7, 0, 255}, d) : values({7, -7, 7, -7, 0, -128}, d);
}
Tensor right(DType d) {
  return d == DType::kU8 ? values({3, 2, 5, 16}, d) : values({3, 3, -3, -3, -5, -1}, d);
}

constexpr FloatCase kWhole[] = {
    {"quotient", [](DType d) { return left(d) / right(d); }},
    {"floor_divide", [](DType d) { return floor_divide(left(d), right(d)); }},
    {"remainder", [](DType d) { return remainder(left(d), right(d)); }},
    {"power", [](DType d) { return pow(left(d), right(d)); }},
    {"cube", [](DType d) { return pow(left(d), 3.0); }},
    {"product", [](DType d) { return left(d) * left(d) * left(d); }},
    {"negative", [](DType d) { return -left(d); }},
    {"less_2", [](DType d) { return left(d) - 2; }},
    {"from_2", [](DType d) { return 2 - left(d); }},
    {"times_-1", [](DType d) { return left(d) * -1; }},
    {"add_1000", [](DType d) { return left(d) + 1000; }},
    {"sum", [](DType d) { return sum(left(d)); }},
    {"prod", [](DType d) { return prod(left(d)); }},
    {"cumsum", [](DType d) { return cumsum(left(d), 0); }},
    {"clamp_half", [](DType d) { return clamp(left(d), -1.5, 5.5); }},
    {"relu", [](DType d) { return relu(left(d)); }},
};

// The result of a line "CASE TYPE RESULT-TYPE VALUES"; `tolerance` is relative.
void check_line(const FloatCase& rule, const std::string& line, double tolerance) {
  std::istringstream words(line);
  std::string name;
  char type = 0;
  char result_type = 0;
  words >> name >> type >> result_type;
  ASSERT_EQ(name, rule.name);
  SCOPED_TRACE(line);
  const Tensor result = rule.run(type_of(type));
  EXPECT_EQ(to_string(result.dtype()), to_string(type_of(result_type)));
  const std::vector<double> got = result.array().to(DType::kF64).to_vector<double>();
  std::size_t count = 0;
  for (std::string word; words >> word; ++count) {
    ASSERT_LT(count, got.size());
    const double want = std::stod(word);
    if (std::isnan(want) || std::isinf(want)) {
      EXPECT_TRUE(got[count] == want || (std::isnan(want) && std::isnan(got[count]))) << count;
    } else {
      EXPECT_NEAR(got[count], want, tolerance * std::abs(want)) << count;
    }
  }
  EXPECT_EQ(count, got.size());
}

TEST(Rules, FloatsAtTheEdges) {
  const std::vector<std::string> lines = lines_of("floats");
  ASSERT_EQ(lines.size(), 2 * std::size(kFloats));
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const bool is_f32 = i < std::size(kFloats);
    check_line(kFloats[i % std::size(kFloats)], lines[i], is_f32 ? 4e-7 : 1e-14);
  }
}

TEST(Rules, IntegersWrapAroundAndRoundDown) {
  const std::vector<std::string> lines = lines_of("whole");
  ASSERT_EQ(lines.size(), 4 * std::size(kWhole));
  for (std::size_t i = 0; i < lines.size(); ++i) {
    check_line(kWhole[i % std::size(kWhole)], lines[i], 0.0);
  }
}

}  // namespace
}  // namespace weft::rules_test
