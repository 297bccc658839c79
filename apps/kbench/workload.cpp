#include "kbench/workload.h"

#include <fmt/format.h>

#include "kernels/abi.h"
#include "model/weight_layout.h"

namespace kbench {
namespace {

using namespace skipstone;
using kernels::padded;
using kernels::ResourceKind;

constexpr double word = 4.0;

kernels::AttentionShape attention_of(const Request& r) {
  return exec::attention_shape(config_of(r.sizes), sequence_of(r.sizes, r.half_kv));
}

double kv_word(const Request& r) { return r.half_kv ? 2.0 : 4.0; }

/// The keys and values that rows behind the depth read: once, since rows share them.
double cache_bytes(const Request& r) { return 2.0 * (r.sizes.depth + r.rows) * r.sizes.kv_heads * r.sizes.head_dim * kv_word(r); }

/// Scores and sums of values: two products each for every query head, key and dimension.
double attention_flops(const Request& r) { return 4.0 * r.rows * (r.sizes.depth + (r.rows + 1) / 2.0) * r.sizes.heads * r.sizes.head_dim; }

std::string heads_text(const Sizes& s) { return fmt::format("{}/{}x{} d{}", s.heads, s.kv_heads, s.head_dim, s.depth); }

Workload one(std::string shape, Dispatch dispatch, double bytes, double flops) {
  return {std::move(shape), 0, [dispatch](std::uint32_t) { return std::vector{dispatch}; }, bytes, flops};
}

Workload matrix(const Request& r, bool tiled, const Selector& select) {
  const std::uint64_t bytes = model::TensorPlace{nullptr, false, matrix_of(r, first_matrix)}.bytes();
  const auto round = [=](std::uint32_t copy) {
    const kernels::Matrix weights = matrix_of(r, first_matrix + copy);
    return tiled ? kernels::matmul(select, weights, matrix_input, matrix_output, r.rows, {}, "matmul")
                 : kernels::matvec(select, weights, matrix_input, matrix_output, r.rows, {}, "matvec");
  };
  const double n = r.sizes.n, k = r.sizes.k;
  return {fmt::format("{}x{}", r.sizes.n, r.sizes.k), bytes, round, static_cast<double>(bytes) + r.rows * (n + k) * word,
          2.0 * r.rows * n * k};
}

// The skinny kernel, also for passes that the device's tuning gives to the tiled one.
Workload matvec(const Selector& select, const Request& r) {
  vk::Tuning tuning = r.tuning;
  tuning.tiled_prefill = false;
  return matrix(r, false, Selector(select.caps(), tuning));
}

Workload matmul(const Selector& select, const Request& r) { return matrix(r, true, select); }

Workload embed(const Selector& select, const Request& r) {
  const std::uint64_t table = model::TensorPlace{nullptr, false, matrix_of(r, first_matrix)}.bytes();
  const auto round = [=](std::uint32_t copy) {
    return kernels::embed(select, matrix_of(r, first_matrix + copy), r.rows, matrix_output, "embed");
  };
  return {fmt::format("{} of {}x{}", r.rows, r.sizes.n, r.sizes.k), table, round,
          r.rows * (static_cast<double>(table) / r.sizes.n + r.sizes.k * word), 0};
}

Workload rms_norm(const Selector& select, const Request& r) {
  const std::uint32_t n = r.sizes.width;
  return one(
      fmt::to_string(n),
      kernels::rms_norm(select, {ResourceKind::residual}, vector_tensor, {ResourceKind::normed}, n, r.rows, 1e-5f, false, "rms_norm"),
      (2.0 * r.rows + 1) * n * word, 4.0 * r.rows * n);
}

Workload rope_store(const Selector& select, const Request& r) {
  const Sizes& s = r.sizes;
  const double q = s.heads * s.head_dim, kv = s.kv_heads * s.head_dim;
  return one(heads_text(s), kernels::rope_store(select, attention_of(r), 0, r.rows, "rope_store"),
             r.rows * ((2 * q + 2 * kv + s.head_dim) * word + 2 * kv * kv_word(r)), 3.0 * r.rows * (q + kv));
}

Workload attention(const Selector& select, const Request& r) {
  const Sizes& s = r.sizes;
  return one(heads_text(s), kernels::attention(select, attention_of(r), 0, r.rows, "attention").front(),
             cache_bytes(r) + r.rows * s.heads * s.head_dim * word, attention_flops(r));
}

Workload attention_merge(const Selector& select, const Request& r) {
  const Sizes& s = r.sizes;
  const kernels::AttentionShape shape = attention_of(r);
  const double chunks = (s.depth + r.rows - 1) / shape.chunk + 1;
  const double partial = r.rows * s.heads * chunks * (s.head_dim + ATTENTION_PARTIAL_EXTRA);
  return one(heads_text(s), kernels::attention(select, shape, 0, r.rows, "attention").back(),
             (partial + r.rows * s.heads * s.head_dim) * word, 2 * partial);
}

Workload attention_prefill(const Selector& select, const Request& r) {
  return one(heads_text(r.sizes), kernels::attention_prefill(select, attention_of(r), 0, r.rows, "attention_prefill"),
             cache_bytes(r) + 2.0 * r.rows * r.sizes.heads * r.sizes.head_dim * word, attention_flops(r));
}

Workload swiglu(const Selector& select, const Request& r) {
  const double values = static_cast<double>(r.rows) * r.sizes.ffn;
  return one(fmt::to_string(r.sizes.ffn), kernels::swiglu(select, r.sizes.ffn, r.rows, "swiglu"), 3 * values * word, 4 * values);
}

Workload keep_rows(const Selector& select, const Request& r) {
  return one(fmt::to_string(r.sizes.width), kernels::keep_rows(select, {ResourceKind::residual}, r.sizes.width, r.rows, "keep_rows"),
             2.0 * r.rows * r.sizes.width * word, 0);
}

Workload cosine(const Selector& select, const Request& r) {
  const double values = static_cast<double>(r.rows) * r.sizes.width;
  return one(fmt::to_string(r.sizes.width),
             kernels::cosine(select, {ResourceKind::residual, 0}, {ResourceKind::residual, 1}, r.sizes.width, r.rows, 0, "cosine"),
             2 * values * word, 6 * values);
}

Workload cosine_sum(const Selector& select, const Request& r) {
  return one("1 layer", kernels::cosine_sum(select, 1, "cosine_sum"), (r.rows + 2) * word, r.rows);
}

Workload argmax(const Selector& select, const Request& r) {
  const double values = static_cast<double>(r.rows) * r.sizes.vocabulary;
  return one(fmt::to_string(r.sizes.vocabulary), kernels::argmax(select, r.sizes.vocabulary, r.rows, "argmax").front(), values * word,
             3 * values);
}

Workload argmax_merge(const Selector& select, const Request& r) {
  const double partials = static_cast<double>(r.rows) * ((r.sizes.vocabulary + ARGMAX_BLOCK - 1) / ARGMAX_BLOCK);
  return one(fmt::to_string(r.sizes.vocabulary), kernels::argmax(select, r.sizes.vocabulary, r.rows, "argmax").back(), partials * 4 * word,
             4 * partials);
}

Workload random_fill(const Selector& select, const Request& r) {
  const std::uint32_t words = r.sizes.width * r.rows;
  return one(fmt::format("{} words", words),
             kernels::random_fill(select, {ResourceKind::residual}, words, {kernels::RandomPattern::Number::f32, 1, 1}, -1.0f, 1.0f, 1,
                                  "random_fill"),
             words * word, 2.0 * words);
}

constexpr Operation table[] = {
    {"matvec", "y = W x for a few rows: decoding and verification", true, STEP_MAX_ROWS, matvec},
    {"matmul", "the same in tiles: prompts", true, STEP_MAX_ROWS, matmul},
    {"embed", "rows of the embedding, as floats", true, STEP_MAX_ROWS, embed},
    {"rms_norm", "root-mean-square norm", false, STEP_MAX_ROWS, rms_norm},
    {"rope_store", "rotary embedding of Q and K; K and V into the cache", false, STEP_MAX_ROWS, rope_store},
    {"attention", "attention split over the cache: decoding and verification", false, STEP_VERIFY_ROWS, attention},
    {"attention_merge", "its chunks joined", false, STEP_VERIFY_ROWS, attention_merge},
    {"attention_prefill", "attention of a prompt's rows", false, STEP_MAX_ROWS, attention_prefill},
    {"swiglu", "silu(gate) * up", false, STEP_MAX_ROWS, swiglu},
    {"keep_rows", "a pass's residual stream put aside", false, STEP_VERIFY_ROWS, keep_rows},
    {"cosine", "cosine of the residual stream around a sublayer", false, STEP_MAX_ROWS, cosine},
    {"cosine_sum", "and its sum over rows", false, STEP_MAX_ROWS, cosine_sum},
    {"argmax", "the largest logit of blocks", false, STEP_VERIFY_ROWS, argmax},
    {"argmax_merge", "and of a row", false, STEP_VERIFY_ROWS, argmax_merge},
    {"random_fill", "random weights for benchmarks", false, STEP_MAX_ROWS, random_fill},
};

}  // namespace

model::Config config_of(const Sizes& s) {
  model::Config config;
  config.architecture = "llama";
  config.layers = 1;
  config.width = s.width;
  config.heads = s.heads;
  config.kv_heads = s.kv_heads;
  config.head_dim = config.rope_dim = s.head_dim;
  config.ffn = s.ffn;
  config.vocabulary = s.vocabulary;
  return config;
}

exec::SequenceShape sequence_of(const Sizes& sizes, bool half_kv) {
  exec::SequenceShape shape;
  shape.context = (sizes.depth + STEP_MAX_ROWS + 255) / 256 * 256;
  shape.half_kv = half_kv;
  shape.chunk = exec::SequenceShape::chunk_for(config_of(sizes), shape.context);
  return shape;
}

kernels::Matrix matrix_of(const Request& r, std::uint32_t tensor) { return {tensor, r.format, r.sizes.n, r.sizes.k, {{0, r.sizes.n}}}; }

std::span<const Operation> operations() { return table; }

const Operation* find_operation(std::string_view name) {
  for (const Operation& operation : table) {
    if (operation.name == name) return &operation;
  }
  return nullptr;
}

}  // namespace kbench
