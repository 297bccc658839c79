#include "kbench/workload.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/status.h"
#include "kbench/workload_parts.h"
#include "kernels/abi.h"

namespace kbench {

std::string heads_text(const Sizes& s) {
  return fmt::format("{}/{}x{} {} d{}", s.heads, s.kv_heads, s.head_dim, to_string(s.kv_format), s.depth);
}

Workload one(std::string shape, const Dispatch& dispatch, double bytes, double flops) {
  return {std::move(shape), {}, [dispatch](std::uint32_t) { return std::vector{dispatch}; }, bytes, flops, {}};
}

namespace {

using namespace skipstone;
using kernels::ResourceKind;

kernels::AttentionShape attention_of(const Request& r) {
  kernels::AttentionShape shape = exec::attention_shape(config_of(r.sizes), sequence_of(r.sizes));
  shape.output_gate = false;  // but for head_gate
  shape.softcap = r.sizes.softcap;
  return shape;
}

kernels::AttentionLayer layer_of(const Request& r) { return {.window = r.sizes.window}; }

/// Number of keys that row `row` attends to; hidden_of(): earlier keys that its sliding window excludes.
double keys_of(const Request& r, std::uint32_t row) {
  const std::uint32_t keys = r.sizes.depth + row + 1;
  return r.sizes.window > 0 ? std::min(keys, r.sizes.window) : keys;
}
double hidden_of(const Request& r, std::uint32_t row) { return r.sizes.depth + row + 1 - keys_of(r, row); }

/// Bytes of all keys and values of a token.
double kv_bytes(const Request& r) { return static_cast<double>(attention_of(r).kv_position_bytes()); }

/// Bytes of keys and values that rows after the depth read: counted once, since rows share them.
double cache_bytes(const Request& r) { return (r.sizes.depth + r.rows - hidden_of(r, 0)) * kv_bytes(r); }

/// Scores and weighted sums of values: a multiplication and an addition each for every query head, key and dimension.
double attention_flops(const Request& r) {
  double keys = 0.0;
  for (std::uint32_t row = 0; row < r.rows; ++row) keys += keys_of(r, row);
  return 4.0 * keys * r.sizes.heads * r.sizes.head_dim;
}

std::string attention_text(const Sizes& s) {
  return heads_text(s) + (s.window > 0 ? fmt::format(" w{}", s.window) : "") + (s.softcap > 0.0f ? fmt::format(" cap{}", s.softcap) : "");
}

kernels::Matrix tensor_of(kernels::Matrix matrix, std::uint32_t tensor) {
  matrix.tensor = tensor;
  return matrix;
}

using Multiply = std::function<std::vector<Dispatch>(const kernels::Matrix& weights)>;

/// A multiplication by n x k weights.
Workload multiplication(const kernels::Matrix& matrix, const Request& r, std::uint32_t outputs, const Multiply& multiply) {
  const double n = matrix.n, k = matrix.k;
  Workload work;
  work.shape = fmt::format("{}x{}", matrix.n, matrix.k);
  work.matrix = matrix;
  work.round = [=](std::uint32_t tensor) { return multiply(tensor_of(matrix, tensor)); };
  work.bytes = static_cast<double>(place_of(matrix, first_matrix).bytes()) + r.rows * (outputs + k) * word;
  work.flops = 2.0 * r.rows * n * k;
  work.check = {.format = matrix.format, .n = std::min(matrix.n, 40u), .k = matrix.k, .rows = r.rows};
  return work;
}

/// The skinny kernel, also for passes that the device's tuning gives to the tiled one.
Selector skinny(const Selector& select, const Request& r) {
  vk::Tuning tuning = r.tuning;
  tuning.tiled_prefill = false;
  return Selector(select.caps(), tuning);
}

Workload matvec(const Selector& select, const Request& r) {
  const kernels::Matrix matrix = matrix_of(select, r.format, r.sizes.n, r.sizes.k);
  return multiplication(matrix, r, r.sizes.n, [selector = skinny(select, r), rows = r.rows](const kernels::Matrix& weights) {
    return kernels::matvec(selector, weights, matrix_input, matrix_output, rows, {}, "matvec");
  });
}

/// Of latent attention: all heads read the same numbers here.
Workload head_product(const Selector& select, const Request& r) {
  const std::uint32_t n = r.sizes.head_dim, heads = r.sizes.heads, k = r.sizes.k;
  const kernels::Matrix stack = matrix_of(select, r.format, heads * n, k, n);
  Workload work = multiplication(stack, r, stack.n, [=, rows = r.rows](const kernels::Matrix& weights) {
    return kernels::head_product(select, weights, heads, {matrix_input, {0, 0, k}}, {matrix_output, {0, n, heads * n}}, rows,
                                 "head_product");
  });
  work.check.reset();
  return work;
}

Workload matvec_norm(const Selector& select, const Request& r) {
  const kernels::Matrix matrix = matrix_of(select, r.format, r.sizes.n, r.sizes.k);
  Workload work = multiplication(matrix, r, r.sizes.n, [selector = skinny(select, r), rows = r.rows](const kernels::Matrix& weights) {
    return kernels::matvec(selector, weights, matrix_input, matrix_output, rows, {.norm = kernels::MatvecNorm{vector_tensor, 1e-5f}},
                           "matvec_norm");
  });
  work.check->norm = true;
  return work;
}

Workload matvec_swiglu(const Selector& select, const Request& r) {
  const kernels::Matrix matrix = matrix_of(select, r.format, 2 * r.sizes.ffn, r.sizes.width);
  if (matrix.parts.size() > 1)
    fail(Code::invalid_argument, "gate and up are more than one binding takes; choose a smaller --ffn or --width");
  Workload work = multiplication(matrix, r, r.sizes.ffn, [selector = skinny(select, r), rows = r.rows](const kernels::Matrix& weights) {
    return kernels::matvec(selector, weights, matrix_input, matrix_output, rows,
                           {.norm = kernels::MatvecNorm{vector_tensor, 1e-5f}, .activation = kernels::Activation::gated_silu},
                           "matvec_swiglu");
  });
  work.check->norm = true;
  work.check->activation = kernels::Activation::gated_silu;
  return work;
}

Workload matmul(const Selector& select, const Request& r) {
  const kernels::Matrix matrix = matrix_of(select, r.format, r.sizes.n, r.sizes.k);
  return multiplication(matrix, r, r.sizes.n, [select, rows = r.rows](const kernels::Matrix& weights) {
    return kernels::matmul(select, weights, matrix_input, matrix_output, rows, {}, "matmul");
  });
}

Workload argmax(const Selector& select, const Request& r) {
  const kernels::Matrix matrix = matrix_of(select, r.format, r.sizes.vocabulary, r.sizes.width);
  Workload work = multiplication(matrix, r, 0, [selector = skinny(select, r), rows = r.rows](const kernels::Matrix& weights) {
    std::vector<Dispatch> dispatches = kernels::argmax(selector, weights, matrix_input, rows, {}, "argmax");
    dispatches.pop_back();  // the merge is a separate operation (argmax_merge)
    return dispatches;
  });
  work.check.reset();
  return work;
}

Workload argmax_merge(const Selector& select, const Request& r) {
  const kernels::Matrix matrix = matrix_of(select, gguf::Type::f16, r.sizes.vocabulary, r.sizes.width);
  const double partials = static_cast<double>(r.rows) * kernels::argmax_partials(select, r.sizes.vocabulary, r.sizes.width);
  return one(fmt::to_string(r.sizes.vocabulary), kernels::argmax(skinny(select, r), matrix, matrix_input, r.rows, {}, "argmax").back(),
             partials * sizeof(abi::ArgmaxPartial), 4 * partials);
}

/// Both kernels: the second one reads the first one's results.
Workload candidates(const Selector& select, const Request& r) {
  const auto round = [select, n = r.sizes.vocabulary, rows = r.rows](std::uint32_t) {
    return kernels::candidates(select, n, rows, "candidates");
  };
  return {fmt::to_string(r.sizes.vocabulary), {}, round, static_cast<double>(r.rows) * r.sizes.vocabulary * word, 0, {}};
}

Workload embed(const Selector& select, const Request& r) {
  const kernels::Matrix matrix = matrix_of(select, r.format, r.sizes.vocabulary, r.sizes.width);
  Workload work = multiplication(matrix, r, 0, [select, rows = r.rows](const kernels::Matrix& table) {
    return kernels::embed(select, table, rows, matrix_output, 1.0f, "embed");
  });
  work.bytes = r.rows * (static_cast<double>(place_of(matrix, first_matrix).bytes()) / matrix.n + matrix.k * word);
  work.flops = 0;
  work.check.reset();
  return work;
}

Workload rms_norm(const Selector& select, const Request& r) {
  const std::uint32_t n = r.sizes.width;
  return one(
      fmt::to_string(n),
      kernels::rms_norm(select, {ResourceKind::residual}, vector_tensor, {ResourceKind::normed}, n, r.rows, 1e-5f, false, "rms_norm"),
      (2.0 * r.rows + 1) * n * word, 4.0 * r.rows * n);
}

/// The norm after a sublayer: its output normalised, scaled and added to the residual stream.
Workload norm(const Selector& select, const Request& r) {
  const std::uint32_t n = r.sizes.width;
  kernels::Norm norm{.x = {ResourceKind::residual, 0},
                     .out = {ResourceKind::normed},
                     .weight = vector_tensor,
                     .bias = {},
                     .n = n,
                     .epsilon = 1e-5f,
                     .scale = 0.5f};
  norm.residual = kernels::Resource{ResourceKind::residual, 1};
  return one(fmt::to_string(n), kernels::norm(select, norm, r.rows, "norm"), (3.0 * r.rows + 1) * n * word, 6.0 * r.rows * n);
}

Workload head_norm(const Selector& select, const Request& r) {
  const Sizes& s = r.sizes;
  const std::uint32_t width = (s.heads + 2 * s.kv_heads) * s.head_dim;
  const double normed = (s.heads + s.kv_heads) * s.head_dim;
  const kernels::HeadNorm norm{vector_tensor, vector_tensor, s.heads, s.kv_heads, s.head_dim, s.head_dim, kernels::padded(width), 1e-6f};
  return one(heads_text(s), kernels::head_norm(select, norm, r.rows, "head_norm"), 2.0 * r.rows * normed * word, 4.0 * r.rows * normed);
}

constexpr std::uint32_t token_input = 256;  // of Gemma 4

Workload token_inputs(const Selector& select, const Request& r) {
  const std::uint32_t n = token_input, layers = config_of(r.sizes).layer_count();
  const double numbers = double{1} * r.rows * n * layers;
  const kernels::TokenInputs inputs{
      .projections = {ResourceKind::gate_up}, .weight = vector_tensor, .n = n, .layers = layers, .epsilon = 1e-6f};
  return one(fmt::format("{}x{}", layers, n), kernels::token_inputs(select, inputs, r.rows, "token_inputs"), 3 * numbers * word,
             6 * numbers);
}

Workload token_gate(const Selector& select, const Request& r) {
  const std::uint32_t n = token_input;
  const double numbers = double{1} * r.rows * n;
  return one(fmt::to_string(n),
             kernels::token_gate(select, {ResourceKind::activated}, {.n = n, .first = n, .width = 2 * n}, r.rows, "token_gate"),
             3 * numbers * word, 10 * numbers);
}

Workload rope_store(const Selector& select, const Request& r) {
  const Sizes& s = r.sizes;
  const double q = s.heads * s.head_dim, kv = s.kv_heads * s.head_dim;
  return one(heads_text(s), kernels::rope_store(select, attention_of(r), {}, r.rows, "rope_store"),
             r.rows * ((2 * q + 2 * kv + s.head_dim) * word + kv_bytes(r)), 3.0 * r.rows * (q + kv));
}

Workload head_gate(const Selector& select, const Request& r) {
  kernels::AttentionShape shape = attention_of(r);
  shape.output_gate = true;
  const double values = static_cast<double>(r.rows) * shape.heads * shape.head_dim;
  return one(heads_text(r.sizes), kernels::head_gate(select, shape, r.rows, "head_gate"), 3 * values * word, 4 * values);
}

/// The kernel that is split over the KV cache, also on devices that use another one.
Selector split(const Selector& select, const Request& r) {
  vk::Tuning tuning = r.tuning;
  tuning.texels = false;
  return Selector(select.caps(), tuning);
}

Workload attention(const Selector& select, const Request& r) {
  return one(attention_text(r.sizes), kernels::attention(select, attention_of(r), layer_of(r), r.rows, "attention").front(),
             cache_bytes(r) + r.rows * r.sizes.heads * r.sizes.head_dim * word, attention_flops(r));
}

Workload attention_split(const Selector& select, const Request& r) { return attention(split(select, r), r); }

Workload attention_merge(const Selector& select, const Request& r) {
  const Sizes& s = r.sizes;
  const kernels::AttentionShape shape = attention_of(r);
  double chunks = 0.0;
  for (std::uint32_t row = 0; row < r.rows; ++row) {
    const std::uint32_t first = static_cast<std::uint32_t>(hidden_of(r, row)) / shape.chunk, last = (s.depth + row) / shape.chunk;
    chunks += last + 1 - first;
  }
  const double partial = s.heads * chunks * (s.head_dim + ATTENTION_PARTIAL_EXTRA);
  return one(attention_text(s), kernels::attention(split(select, r), shape, layer_of(r), r.rows, "attention").back(),
             (partial + r.rows * s.heads * s.head_dim) * word, 2 * partial);
}

Workload attention_prefill(const Selector& select, const Request& r) {
  return one(attention_text(r.sizes), kernels::attention_prefill(select, attention_of(r), layer_of(r), r.rows, "attention_prefill"),
             cache_bytes(r) + 2.0 * r.rows * r.sizes.heads * r.sizes.head_dim * word, attention_flops(r));
}

Workload swiglu(const Selector& select, const Request& r) {
  const double values = static_cast<double>(r.rows) * r.sizes.ffn;
  return one(fmt::to_string(r.sizes.ffn), kernels::activate(select, kernels::Activation::gated_silu, r.sizes.ffn, r.rows, "swiglu"),
             3 * values * word, 4 * values);
}

Workload keep_rows(const Selector& select, const Request& r) {
  return one(fmt::to_string(r.sizes.width), kernels::keep_rows(select, {ResourceKind::residual}, r.sizes.width, r.rows, "keep_rows"),
             2.0 * r.rows * r.sizes.width * word, 0);
}

/// Moves the quants of a cache with separate scales: the larger part.
Workload move_kv(const Selector& select, const Request& r) {
  return one(heads_text(r.sizes), kernels::move_kv(select, attention_of(r), 0, "move_kv").front(), 2.0 * r.rows * kv_bytes(r), 0);
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

Workload random_fill(const Selector& select, const Request& r) {
  const std::uint32_t words = r.sizes.width * r.rows;
  return one(fmt::format("{} words", words),
             kernels::random_fill(select, {ResourceKind::residual}, words, {kernels::RandomPattern::Number::f32, 1, 1}, -1.0f, 1.0f, 1,
                                  "random_fill"),
             words * word, 2.0 * words);
}

constexpr Operation table[] = {
    {"matvec", "matvec", "y = W x for a few rows: decoding and verification", true, STEP_MAX_ROWS, 1, matvec},
    {"head_product", "head_product", "W x of the heads of latent attention, a matrix each", true, STEP_MAX_ROWS, 1, head_product},
    {"matvec_norm", "matvec", "the same of an x that is normalised on the way in", true, STEP_VERIFY_ROWS, 1, matvec_norm},
    {"matvec_swiglu", "matvec", "the same of gate and up, and silu(gate) * up", true, STEP_VERIFY_ROWS, 1, matvec_swiglu},
    {"argmax", "argmax", "the largest of W x by ranges of outputs, without writing W x", true, STEP_VERIFY_ROWS, 1, argmax},
    {"argmax_merge", "argmax_merge", "and of all", false, STEP_VERIFY_ROWS, 1, argmax_merge},
    {"candidates", "candidates", "what sampling looks at of rows of logits, with noise", false, STEP_VERIFY_ROWS, 1, candidates},
    {"matmul", "matmul", "y = W x in tiles: prompts", true, STEP_MAX_ROWS, 32, matmul},
    {"embed", "embed", "rows of the embedding, as floats", true, STEP_MAX_ROWS, 1, embed},
    {"rms_norm", "rms_norm", "root-mean-square norm", false, STEP_MAX_ROWS, 1, rms_norm},
    {"norm", "norm", "a sublayer's output normalised, scaled and added", false, STEP_MAX_ROWS, 1, norm},
    {"head_norm", "head_norm", "norm of each head of Q and K", false, STEP_MAX_ROWS, 1, head_norm},
    {"rope_store", "rope_store", "rotary embedding of Q and K; K and V into the cache", false, STEP_MAX_ROWS, 1, rope_store},
    {"attention", "attention", "attention of decoding and verification, as the device takes it", false, STEP_VERIFY_ROWS, 1, attention},
    {"attention_split", "attention", "the same split over the cache", false, STEP_VERIFY_ROWS, 1, attention_split},
    {"attention_merge", "attention_merge", "its chunks joined", false, STEP_VERIFY_ROWS, 1, attention_merge},
    {"attention_prefill", "attention_prefill", "attention of a prompt's rows", false, STEP_MAX_ROWS, 1, attention_prefill},
    {"short_conv", "short_conv", "convolution over the last positions; records into the cache", false, STEP_MAX_ROWS, 1, short_conv},
    {"recurrent_scan", "recurrent_scan", "gated delta rule; states read and written once", false, STEP_VERIFY_ROWS, 1, recurrent_scan},
    {"gated_norm", "gated_norm", "norm and gates of its heads", false, STEP_MAX_ROWS, 1, gated_norm},
    {"head_gate", "head_gate", "gates of attention's heads", false, STEP_MAX_ROWS, 1, head_gate},
    {"router", "router", "the experts of each row, and their weights", false, STEP_MAX_ROWS, 1, route},
    {"group_experts", "group_experts", "the rows of each expert", false, STEP_MAX_ROWS, 1, group_experts},
    {"experts", "experts", "W x of the experts of each row, each matrix read once", true, STEP_MAX_ROWS, 1, experts},
    {"combine_experts", "combine_experts", "and the weighted sums of their outputs", false, STEP_MAX_ROWS, 1, combine_experts},
    {"swiglu", "swiglu", "silu(gate) * up", false, STEP_MAX_ROWS, 1, swiglu},
    {"store_record", "store_record", "hidden states for a head", false, STEP_MAX_ROWS, 1, store_record},
    {"prediction_input", "prediction_input", "and what it starts from", false, STEP_MAX_ROWS, 1, prediction_input},
    {"token_inputs", "token_inputs", "per-layer embeddings of the rows", false, STEP_MAX_ROWS, 1, token_inputs},
    {"token_gate", "token_gate", "and a layer's gate", false, STEP_MAX_ROWS, 1, token_gate},
    {"keep_rows", "keep_rows", "a pass's residual stream put aside", false, STEP_VERIFY_ROWS, 1, keep_rows},
    {"move_kv", "move_kv", "K and V of an accepted branch moved up", false, STEP_VERIFY_ROWS, 1, move_kv},
    {"cosine", "cosine", "cosine of the residual stream around a sublayer", false, STEP_MAX_ROWS, 1, cosine},
    {"cosine_sum", "cosine_sum", "and its sum over rows", false, STEP_MAX_ROWS, 1, cosine_sum},
    {"random_fill", "random_fill", "random weights for benchmarks", false, STEP_MAX_ROWS, 1, random_fill},
};

}  // namespace

kernels::Matrix matrix_of(const Selector& select, gguf::Type format, std::uint32_t n, std::uint32_t k, std::uint32_t whole) {
  kernels::Matrix matrix{first_matrix, format, n, k, {{0, n}}, select.interleave()};
  const std::uint64_t row = place_of(matrix, first_matrix).quant_bytes(0) / kernels::padded_rows(n, matrix.interleave);
  if (row * kernels::padded_rows(n, matrix.interleave) <= select.caps().max_storage_range) return matrix;
  const auto most = static_cast<std::uint32_t>(select.caps().max_storage_range / row / whole * whole);
  if (most == 0) fail(Code::invalid_argument, "{} rows of {} weights are more than one binding takes; choose a smaller --shape", whole, k);
  matrix.parts.clear();
  for (std::uint32_t first = 0; first < n; first += most) matrix.parts.push_back({first, std::min(most, n - first)});
  return matrix;
}

model::Config config_of(const Sizes& s) {
  model::Config config;
  config.architecture = "llama";
  const model::Attention attention{.heads = s.heads, .kv_heads = s.kv_heads, .head_dim = s.head_dim, .output_gate = true};
  config.layers = {{.mixer = attention, .feedforward = model::Mlp{.width = s.ffn}, .token_input = token_input},
                   {.mixer = model::ShortConv{short_conv_kernel}, .feedforward = model::Mlp{.width = s.ffn}},
                   {.mixer = delta_net_of(s), .feedforward = experts_of(s)}};
  config.prediction_layers = {{.mixer = attention, .feedforward = model::Mlp{.width = s.ffn}, .predicts = true}};
  config.width = s.width, config.rope_dim = s.head_dim, config.vocabulary = s.vocabulary;
  return config;
}

exec::SequenceShape sequence_of(const Sizes& sizes) {
  exec::SequenceShape shape;
  shape.context = (sizes.depth + STEP_MAX_ROWS + 255) / 256 * 256;
  shape.kv_format = sizes.kv_format;
  shape.chunk = exec::SequenceShape::chunk_for(config_of(sizes), shape.context);
  return shape;
}

model::TensorPlace place_of(kernels::Matrix matrix, std::uint32_t tensor) {
  matrix.tensor = tensor;
  return {{}, "", false, std::move(matrix)};
}

std::span<const Operation> operations() { return table; }

const Operation* find_operation(std::string_view name) {
  const auto* const found = std::ranges::find(table, name, &Operation::name);
  return found == std::end(table) ? nullptr : found;
}

}  // namespace kbench
