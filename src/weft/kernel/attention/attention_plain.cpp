// Attention in f64, query by query: for gradient checks.
#include <cmath>
#include <vector>

#include "weft/base/parallel.h"
#include "weft/kernel/attention/attention_problem.h"

namespace weft {
namespace {

using DoubleProblem = AttentionProblem<double>;

// A query and its head.
struct Query {
  std::int64_t b;
  std::int64_t head;
  std::int64_t i;
};

// The scaled and masked scores of the keys that the query may read.
std::vector<double> scores_of(const DoubleProblem& p, const Query& query) {
  std::vector<double> scores(static_cast<std::size_t>(p.key_limit(query.i)));
  const double* const q = p.q.at(query.b, query.head, query.i);
  for (std::size_t j = 0; j < scores.size(); ++j) {
    const auto key = static_cast<std::int64_t>(j);
    const double* const k = p.k.at(query.b, query.head / p.group(), key);
    double sum = 0;
    for (std::int64_t d = 0; d < p.width; ++d) sum += q[d] * k[d];
    scores[j] = sum * p.run.scale;
    if (p.mask.defined()) scores[j] += p.mask.at({query.b, query.head, query.i, key});
  }
  return scores;
}

std::vector<double> dropout_of(const DoubleProblem& p, const Query& query, std::size_t count) {
  std::vector<double> factors(count, 1.0);
  if (p.run.dropout > 0 && count > 0) {
    attention_dropout(p.dropout, p.row(query.b, query.head, query.i), 0,
                      static_cast<std::int64_t>(count), factors.data());
  }
  return factors;
}

double log_sum_of(const std::vector<double>& scores) {
  double largest = -std::numeric_limits<double>::infinity();
  for (const double score : scores) largest = std::max(largest, score);
  if (std::isinf(largest) && largest < 0) return std::numeric_limits<double>::infinity();
  double sum = 0;
  for (const double score : scores) sum += std::exp(score - largest);
  return largest + std::log(sum);
}

void forward_query(const DoubleProblem& p, const AttentionOutputs<double>& out,
                   const Query& query) {
  const std::vector<double> scores = scores_of(p, query);
  const std::vector<double> factors = dropout_of(p, query, scores.size());
  const double log_sum = log_sum_of(scores);
  out.log_sums[p.row(query.b, query.head, query.i)] = log_sum;
  double* const y = out.output.at(query.b, query.head, query.i);
  std::fill_n(y, p.width, 0.0);
  for (std::size_t j = 0; j < scores.size(); ++j) {
    const double share = std::exp(scores[j] - log_sum) * factors[j];
    const double* const v = p.v.at(query.b, query.head / p.group(), static_cast<std::int64_t>(j));
    for (std::int64_t d = 0; d < p.width; ++d) y[d] += share * v[d];
  }
}

double dot(const double* a, const double* b, std::int64_t count) {
  double sum = 0;
  for (std::int64_t d = 0; d < count; ++d) sum += a[d] * b[d];
  return sum;
}

void backward_query(const DoubleProblem& p, const AttentionGradients<double>& out,
                    const Query& query) {
  const std::int64_t kv_head = query.head / p.group();
  const std::vector<double> scores = scores_of(p, query);
  const std::vector<double> factors = dropout_of(p, query, scores.size());
  const double log_sum = out.log_sums[p.row(query.b, query.head, query.i)];
  const double* const dy = out.dy.at(query.b, query.head, query.i);
  const double all = dot(dy, out.output.at(query.b, query.head, query.i), p.width);
  const double* const q = p.q.at(query.b, query.head, query.i);
  double* const dq = out.dq.at(query.b, query.head, query.i);
  std::fill_n(dq, p.width, 0.0);
  for (std::size_t index = 0; index < scores.size(); ++index) {
    const auto j = static_cast<std::int64_t>(index);
    const double share = std::exp(scores[index] - log_sum);
    const double* const k = p.k.at(query.b, kv_head, j);
    const double dp = dot(dy, p.v.at(query.b, kv_head, j), p.width) * factors[index];
    const double ds = share * (dp - all) * p.run.scale;
    double* const dk = out.dk.at(query.b, kv_head, j);
    double* const dv = out.dv.at(query.b, kv_head, j);
    for (std::int64_t d = 0; d < p.width; ++d) {
      dq[d] += ds * k[d];
      dk[d] += ds * q[d];
      dv[d] += share * factors[index] * dy[d];
    }
  }
}

template <class Body>
void each_query_of_kv_head(const DoubleProblem& p, std::int64_t b, std::int64_t kv_head,
                           const Body& body) {
  for (std::int64_t g = 0; g < p.group(); ++g) {
    for (std::int64_t i = 0; i < p.queries; ++i) body(Query{b, kv_head * p.group() + g, i});
  }
}

}  // namespace

void solve_attention(const AttentionProblem<double>& p, const AttentionOutputs<double>& out) {
  parallel_for(p.batch * p.kv_heads, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t item = begin; item < end; ++item) {
      each_query_of_kv_head(p, item / p.kv_heads, item % p.kv_heads,
                            [&](const Query& query) { forward_query(p, out, query); });
    }
  });
}

void solve_attention_gradient(const AttentionProblem<double>& p,
                              const AttentionGradients<double>& out) {
  parallel_for(p.batch * p.kv_heads, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t item = begin; item < end; ++item) {
      const std::int64_t b = item / p.kv_heads;
      const std::int64_t kv_head = item % p.kv_heads;
      for (std::int64_t j = 0; j < p.keys; ++j) {
        std::fill_n(out.dk.at(b, kv_head, j), p.width, 0.0);
        std::fill_n(out.dv.at(b, kv_head, j), p.width, 0.0);
      }
      each_query_of_kv_head(p, b, kv_head,
                            [&](const Query& query) { backward_query(p, out, query); });
    }
  });
}

}  // namespace weft
