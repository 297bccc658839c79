// Makes Dispatches: one function per operation, grouped in one file per family. Shapes are in elements; every activation row has a stride
// of padded(length) floats, and the padding is zero.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "abi/kv_cache.h"
#include "base/kv_format.h"
#include "gguf/block_code.h"
#include "gguf/traits.h"
#include "kernels/dispatch.h"
#include "kernels/selector.h"

namespace skipstone::kernels {

/// Rows are padded to whole blocks of 32, in weights and activations alike; rows of super-blocks are whole ones anyway.
constexpr std::uint32_t padded(std::uint32_t length) { return (length + 31u) / 32u * 32u; }

/// Rows of a part are padded to whole groups of interleaved ones.
constexpr std::uint64_t padded_rows(std::uint64_t rows, std::uint32_t interleave) {
  return (rows + interleave - 1) / interleave * interleave;
}

/// A range of a matrix's output rows in buffers of its own: matrices larger than a binding may be are split.
struct MatrixPart {
  std::uint32_t first = 0, rows = 0;
};

/// A matrix on the device, by shape and name only.
struct Matrix {
  std::uint32_t tensor = 0;  ///< Resource index
  gguf::Type format = gguf::Type::f32;
  std::uint32_t n = 0, k = 0;  ///< output rows, inputs
  std::vector<MatrixPart> parts;
  std::uint32_t interleave = 1;               ///< rows whose blocks alternate in memory; a part's rows are padded to a multiple of it
  std::optional<std::uint32_t> factors = {};  ///< tensor of n floats, which products with the rows are multiplied by
};

/// out[row] = scale * embedding of the state's token `row`. One dispatch per part.
std::vector<Dispatch> embed(const Selector& select, const Matrix& table, std::uint32_t rows, Resource out, float scale,
                            const std::string& label);

/// `last_row`: only the last real row, into row 0.
Dispatch rms_norm(const Selector& select, Resource x, std::uint32_t weight_tensor, Resource out, std::uint32_t n, std::uint32_t rows,
                  float epsilon, bool last_row, const std::string& label);

/// A norm that does more than RMS: out = residual + scale * (norm(x) * weight + bias) for `rows` rows of n floats.
struct Norm {
  Resource x, out;
  std::uint32_t weight = 0;                ///< tensor
  std::optional<std::uint32_t> bias = {};  ///< tensor, of centred norms
  bool centred = false;                    ///< the mean is subtracted (layer norm)
  std::optional<Resource> residual{};      ///< may not be `out`
  std::uint32_t n = 0;
  float epsilon = 0.0f, scale = 1.0f;
  bool last_row = false;                           ///< as of rms_norm
  std::optional<std::uint32_t> output_scale = {};  ///< tensor of one number, which multiplies all of it; not beside a bias
};
Dispatch norm(const Selector& select, const Norm& norm, std::uint32_t rows, const std::string& label);

/// Q and K in qkv, RMS-normalised in place by parts (heads, or all of Q and all of K): q_parts of q_length floats, then k_parts of
/// k_length; `stride` floats from row to row.
/// V, after K: as it is, k_parts parts of its own normalised without a weight, or what that makes of K.
enum class ValueNorm : std::uint32_t { none, own, keys };
struct HeadNorm {
  std::uint32_t q_weight = 0, k_weight = 0;  ///< tensors
  std::uint32_t q_parts = 0, k_parts = 0, q_length = 0, k_length = 0, stride = 0;
  float epsilon = 0.0f;
  std::uint32_t q_step = 0;  ///< floats from a part of Q to the next one; 0: q_length
  ValueNorm values = ValueNorm::none;
};
Dispatch head_norm(const Selector& select, const HeadNorm& norm, std::uint32_t rows, const std::string& label);

struct MatvecNorm {
  std::uint32_t weight_tensor = 0;
  float epsilon = 0.0f;
};

/// Activation after a matrix: none; silu or gelu of one half of its outputs times the other half; gelu; and two that matrices do not do
/// themselves: max(x, 0)^2, and a clamped silu times the other half, clamped, + 1.
enum class Activation : std::uint32_t { none, gated_silu, gated_gelu, gelu, squared_relu, clamped_silu };
constexpr bool is_gated(Activation activation) {
  return activation == Activation::gated_silu || activation == Activation::gated_gelu || activation == Activation::clamped_silu;
}
/// Whether the skinny kernels do it themselves.
constexpr bool is_epilogue(Activation activation) {
  return activation != Activation::squared_relu && activation != Activation::clamped_silu;
}

/// Additional operations of a multiplication.
struct MatvecFusion {
  std::optional<MatvecNorm> norm = {};  ///< x is RMS-normalised on the way in; the skinny kernels only
  std::optional<std::uint32_t> bias_tensor = {};
  std::optional<Resource> residual = {};  ///< added; may not be the output
  /// Gated: W is gate above up, n / 2 outputs; unsplit weights, no bias. The skinny kernels only.
  Activation activation = Activation::none;
  float scale = 1.0f;         ///< of W x + bias
  float softcap = 0.0f;       ///< y is kept below it: cap * tanh(y / cap); 0: not. The skinny kernels only
  std::uint32_t y_first = 0;  ///< where the outputs start in a row of y (and in the bias)
  std::uint32_t y_width = 0;  ///< floats of a row of y; 0: as many as there are outputs
};
/// y = activation(scale * (factors * W x + bias)) + residual for `rows` rows (a bucket), by the skinny kernel. One dispatch per part.
std::vector<Dispatch> matvec(const Selector& select, const Matrix& weights, Resource x, Resource y, std::uint32_t rows,
                             const MatvecFusion& fusion, const std::string& label);
/// The parts of rows that heads of attention multiply: of x and y where the first head's begins, floats to the next head's, and of a row
/// without padding.
struct HeadParts {
  std::uint32_t first = 0, step = 0, width = 0;
};
/// y = factors * W x by the skinny kernel, where W is each head's matrix in a stack of `heads`. Whole blocks of 32 are read of x: past a
/// head's K inputs numbers of the same row must follow, which meet weights of 0. One dispatch per part, of whole matrices.
std::vector<Dispatch> head_product(const Selector& select, const Matrix& stack, std::uint32_t heads, std::pair<Resource, HeadParts> x,
                                   std::pair<Resource, HeadParts> y, std::uint32_t rows, const std::string& label);
/// As matvec for rows of a prompt: by the tiled kernel where the selector says so. A row's bits depend neither on the bucket nor on the
/// other rows.
std::vector<Dispatch> prompt_matmul(const Selector& select, const Matrix& weights, Resource x, Resource y, std::uint32_t rows,
                                    const MatvecFusion& fusion, const std::string& label);
/// By the tiled kernel, whatever the selector says. x and y have whole tiles of rows.
std::vector<Dispatch> matmul(const Selector& select, const Matrix& weights, Resource x, Resource y, std::uint32_t rows,
                             const MatvecFusion& fusion, const std::string& label);
/// The same for rows of decoding, on matrix units (Selector::on_matrices): one tile whatever `rows` is. y has room for whole tiles of 16
/// rows; the contents of those past `rows` are undefined.
std::vector<Dispatch> matrix_product(const Selector& select, const Matrix& weights, Resource x, Resource y, std::uint32_t rows,
                                     const MatvecFusion& fusion, const std::string& label);
/// As `argmax`, for `n` logits that a product wrote.
std::vector<Dispatch> argmax_of_logits(const Selector& select, std::uint32_t n, std::uint32_t rows, const std::string& label);
/// The largest of W x (+ bias) per row, without writing W x: partial results by ranges of outputs, and their merge into `result`: token,
/// probability, margin. `rows` at most STEP_VERIFY_ROWS.
std::vector<Dispatch> argmax(const Selector& select, const Matrix& weights, Resource x, std::uint32_t rows, const MatvecFusion& fusion,
                             const std::string& label);
/// Partial results per row that `argmax` of an n x k matrix has.
std::uint32_t argmax_partials(const Selector& select, std::uint32_t n, std::uint32_t k);

/// Reduces `rows` rows of logits over a vocabulary of `n` to what the state's requests name (shaders/abi/candidates.h), into `candidates`.
std::vector<Dispatch> candidates(const Selector& select, std::uint32_t n, std::uint32_t rows, const std::string& label);

/// Pages of the KV cache that hold `positions` positions.
constexpr std::uint32_t pages_for(std::uint32_t positions) { return (positions + KV_PAGE - 1) / KV_PAGE; }

/// The keys, or the values, of one layer in a cache (shaders/lib/kv_blocks.glsl): for each KV head a plane of codes [slots] and, if they
/// are in blocks, a plane of scales [slots].
struct KvLayout {
  KvFormat format = KvFormat::f16;
  std::uint32_t kv_heads = 0, head_dim = 0, slots = 0;
  std::uint32_t code_bytes() const { return head_dim * traits(format).code_bits / 8; }  ///< of one head's vector
  std::uint32_t scale_bytes() const;                                                    ///< of one head's vector, whole words
  std::uint64_t scales_at() const { return std::uint64_t{slots} * code_bytes(); }       ///< where a head's plane of scales begins
  std::uint64_t head_bytes() const { return scales_at() + (std::uint64_t{slots} * scale_bytes() + 15) / 16 * 16; }
  std::uint64_t bytes() const { return kv_heads * head_bytes(); }
  std::uint64_t position_bytes() const { return std::uint64_t{kv_heads} * (code_bytes() + scale_bytes()); }  ///< all heads' vectors
};

struct AttentionShape {
  std::uint32_t heads = 0, kv_heads = 0, head_dim = 0, rope_dim = 0, context = 0;
  std::uint32_t chunk = 64;  ///< keys per split, at fixed positions
  std::uint32_t slots = 0;   ///< positions that the cache has room for; 0: as many as the context
  std::uint32_t tables = 0;  ///< first entry of the layer's page tables
  KvFormats kv_format = KvFormat::f16;
  bool rope_halves = false;
  bool output_gate = false;    ///< in qkv each head of Q is followed by as many gates of its output
  bool queries_alone = false;  ///< qkv has no K and V: the cache is another layer's, and nothing is stored
  /// Not 0: one KV head, whose keys are its values too; in qkv the key, whose last dimensions rotate, and then heads of Q of this length,
  /// whose last dimensions do. The others of Q's are not rope_store's.
  std::uint32_t latent_query = 0;
  float scale = 0.0f;    ///< of scores; 0: 1 / sqrt(head_dim)
  float softcap = 0.0f;  ///< that scores are kept below; 0: none
  std::uint32_t group() const { return heads / kv_heads; }
  bool has_latents() const { return latent_query != 0; }
  std::uint32_t q_step() const {  ///< from a head of Q to the next one in qkv
    return has_latents() ? latent_query : output_gate ? 2 * head_dim : head_dim;
  }
  std::uint32_t qkv_width() const { return heads * q_step() + (has_latents() ? head_dim : queries_alone ? 0 : 2 * kv_heads * head_dim); }
  /// What a layer has of them: without latents both.
  ResourceKind value_cache() const { return has_latents() ? ResourceKind::k_cache : ResourceKind::v_cache; }
  bool texel_aligned() const { return head_dim % 8 == 0; }  ///< K and V vectors are whole 16-byte words
  std::uint32_t max_chunks() const { return (context + chunk - 1) / chunk; }
  std::uint32_t cache_slots() const { return slots != 0 ? slots : context; }
  /// Of ResourceKind::k_cache or v_cache.
  KvLayout cache(ResourceKind kind) const {
    return {kind == ResourceKind::v_cache && !has_latents() ? kv_format.v : kv_format.k, kv_heads, head_dim, cache_slots()};
  }
  std::uint64_t kv_position_bytes() const {  ///< K and V of one position of one layer
    return cache(ResourceKind::k_cache).position_bytes() + (has_latents() ? 0 : cache(ResourceKind::v_cache).position_bytes());
  }
  std::uint64_t partial_bytes(std::uint32_t rows) const;
};
/// Keys that the rows of a pass attend to (shaders/lib/keys.glsl): the text up to each row; their parents instead of the rows before them;
/// the part of the text in the state's window.
enum class Keys : std::uint32_t { text, tree, window };
/// Attention parameters that differ between layers.
struct AttentionLayer {
  std::uint32_t index = 0;
  bool rotates = true;                   ///< false: Q and K are not rotated
  std::uint32_t k_row = 0, q_row = 0;    ///< of the rotary table, for position 0
  std::uint32_t window = 0;              ///< keys that a row sees; 0: all
  bool without_first = false;            ///< the text's first position has no keys
  std::optional<std::uint32_t> sinks{};  ///< tensor: of each head a logit that joins its softmax and has no value
};
/// `tree`: rows follow their parents, not each other.
Dispatch rope_store(const Selector& select, const AttentionShape& shape, const AttentionLayer& layer, std::uint32_t rows,
                    const std::string& label, bool tree = false);
/// Moves K and V of the rows that the state names up to its base (shaders/move_kv.comp).
std::vector<Dispatch> move_kv(const Selector& select, const AttentionShape& shape, std::uint32_t layer, const std::string& label);
/// q_rotated and caches -> attended: split attention and its merge, or on CPU devices one dispatch.
std::vector<Dispatch> attention(const Selector& select, const AttentionShape& shape, const AttentionLayer& layer, std::uint32_t rows,
                                const std::string& label, Keys keys = Keys::text);
/// attended *= sigmoid(gates in qkv), of a shape with gates.
Dispatch head_gate(const Selector& select, const AttentionShape& shape, std::uint32_t rows, const std::string& label);
Dispatch attention_prefill(const Selector& select, const AttentionShape& shape, const AttentionLayer& layer, std::uint32_t rows,
                           const std::string& label);

/// What a recurrent layer keeps of each position: `width` floats.
struct Records {
  std::uint32_t layer = 0;
  std::uint32_t width = 0;
  std::uint32_t tables = 0;  ///< first entry of the layer's page tables
};
/// Moves the records of the rows that the state names up to its base (shaders/move_kv.comp).
Dispatch move_records(const Selector& select, const Records& records, const std::string& label);
/// A gated convolution over the last `kernel` positions: qkv (rows of B, C, x) and records of B * x -> recurrent. The rows' records are
/// stored.
struct ShortConv {
  Records records;
  std::uint32_t kernel = 0;
  std::uint32_t taps = 0;  ///< tensor: `kernel` floats of each channel, that of the oldest position first
};
/// `tree`: rows follow their parents, not each other.
Dispatch short_conv(const Selector& select, const ShortConv& conv, std::uint32_t rows, const std::string& label, bool tree = false);

/// A recurrent layer with states (shaders/recurrent_scan.comp). Records begin at `record_first` of a row of qkv; q, k, v and rates at these
/// floats of a record.
struct RecurrentScan {
  Records records;
  bool delta = true;  ///< the gated delta rule; else Mamba-2
  std::uint32_t heads = 0, key_heads = 0, key_dim = 0, value_dim = 0;
  bool tiled_heads = true;  ///< value head h has key head h % key_heads; else neighbours share one
  std::uint32_t kernel = 0;
  std::uint32_t input = 0, record_first = 0;  ///< floats of a row of qkv
  std::uint32_t q = 0, k = 0, v = 0, rates = 0;
  std::uint32_t taps = 0, dt_bias = 0, decay_rate = 0;     ///< tensors
  std::optional<std::uint32_t> taps_bias = {}, skip = {};  ///< tensors; of Mamba-2
  std::uint32_t scans = 0;                                 ///< first entry of the sequences' slots among the page tables

  std::uint32_t width() const { return heads * value_dim; }  ///< of a row of outputs
};
/// Floats of a slot with the state of a layer, which are whole pages of a cache of records.
constexpr std::uint32_t state_floats(std::uint32_t heads, std::uint32_t key_dim, std::uint32_t value_dim) {
  return (heads * key_dim * value_dim + 4 * KV_PAGE - 1) / (4 * KV_PAGE) * (4 * KV_PAGE);
}
/// What a scan does: it replays, and computes rows of decoding or of a prompt; it replays alone; it computes rows of a draft, and writes no
/// state; it replays, and stores the records of rows without computing them (shaders/abi/recurrent_scan.h).
enum class ScanExtent : std::uint32_t { rows, prompt, advance, draft, store };
/// qkv, records and states -> recurrent, records and states.
Dispatch recurrent_scan(const Selector& select, const RecurrentScan& scan, ScanExtent extent, std::uint32_t rows, const std::string& label,
                        bool tree = false);
/// recurrent, normalised by parts of `part` floats and gated by the first floats of the rows of qkv (shaders/gated_norm.comp).
struct GatedNorm {
  bool gate_first = false;
  std::uint32_t part = 0, width = 0, input = 0;  ///< floats of a part, of a row, of a row of qkv
  std::uint32_t weight = 0;                      ///< tensor
  float epsilon = 0.0f;
};
Dispatch gated_norm(const Selector& select, const GatedNorm& norm, std::uint32_t rows, const std::string& label);

/// gate_up -> activated, n outputs a row; of experts a row is a slot.
Dispatch activate(const Selector& select, Activation activation, std::uint32_t n, std::uint32_t rows, const std::string& label,
                  bool of_experts = false);

/// The experts that a pass of `rows` rows chooses from.
struct ExpertRows {
  std::uint32_t experts = 0, used = 0;  ///< of all, of each row
  std::uint32_t rows = 0;
  std::uint32_t slots() const { return rows * used; }
};
enum class Gating : std::uint32_t { softmax, sigmoid, softmax_of_chosen };
/// router_logits -> expert_choices: of each row its experts, by their logits, and their weights.
struct Router {
  Gating gating = Gating::softmax;
  bool renormalised = false;                  ///< weights are divided by their sum
  std::optional<std::uint32_t> correction{};  ///< tensor, added to the scores for the choice
  std::uint32_t groups = 1, groups_used = 1;
  std::uint32_t logits = 0;  ///< of a row
  float scale = 1.0f;        ///< of the weights
};
Dispatch route(const Selector& select, const Router& router, const ExpertRows& rows, const std::string& label);
/// expert_choices -> expert_groups: of each expert its rows; and expert_use of the layer.
Dispatch group_experts(const Selector& select, const ExpertRows& rows, std::uint32_t layer, const std::string& label);
/// y[slot] = scale * (factors * W x + bias) by the skinny kernel, where W is the matrix of the slot's expert in a stack. Each matrix is
/// read once for all rows that chose it. A row of x is a row of the pass (`by_row`) or a slot. One dispatch per part, of whole matrices.
std::vector<Dispatch> expert_product(const Selector& select, const Matrix& stack, const ExpertRows& rows, Resource x, bool by_row,
                                     Resource y, const MatvecFusion& fusion, const std::string& label);
/// out = residual + scale * (expert_outputs times their weights, in the order of a row's choice, + a shared expert's output), n floats a
/// row.
struct ExpertSum {
  std::uint32_t n = 0;
  std::optional<Resource> shared{}, residual{};
  std::optional<std::uint32_t> shared_logit{};  ///< in a row of router_logits, the gate of `shared`
  std::uint32_t logits = 0;                     ///< of a row
  float scale = 1.0f;
};
Dispatch combine_experts(const Selector& select, const ExpertSum& sum, const ExpertRows& rows, Resource out, const std::string& label);

/// The pass's real rows of `x` (n floats each) become the records of their positions.
Dispatch store_record(const Selector& select, Resource x, std::uint32_t n, const Records& records, std::uint32_t rows,
                      const std::string& label);
/// embeddings (n floats a row) and the records of the positions before the rows -> gate_up: rows of 2 n floats, both normalised.
struct PredictionInput {
  Resource embeddings;
  Records records;
  std::uint32_t embedding_norm = 0, hidden_norm = 0;  ///< tensors
  std::uint32_t n = 0;
  float epsilon = 0.0f;
};
/// `tree`: rows follow their parents, not each other.
Dispatch prediction_input(const Selector& select, const PredictionInput& input, std::uint32_t rows, const std::string& label, bool tree);

/// What each token gives the layers, in token_inputs: (norm(projections) + what is there) / sqrt(2), by parts of n floats for each layer.
struct TokenInputs {
  Resource projections;
  std::uint32_t weight = 0;  ///< tensor
  std::uint32_t n = 0, layers = 0;
  float epsilon = 0.0f;
};
Dispatch token_inputs(const Selector& select, const TokenInputs& inputs, std::uint32_t rows, const std::string& label);
/// rows = gelu(rows) * a layer's token_inputs: n floats from `first` on, of `width`.
struct TokenGate {
  std::uint32_t n = 0, first = 0, width = 0;
};
Dispatch token_gate(const Selector& select, Resource x, const TokenGate& gate, std::uint32_t rows, const std::string& label);

/// Copies the pass's real rows of `x` (n floats each) to the saved hidden states, from the state's `kept` on.
Dispatch keep_rows(const Selector& select, Resource x, std::uint32_t n, std::uint32_t rows, const std::string& label);

/// Row cosines of the residual stream before and after a sublayer (attention of layer l: l, its MLP: layers + l), and their sums over a
/// pass's rows, of the first `sublayers`.
Dispatch cosine(const Selector& select, Resource before, Resource after, std::uint32_t n, std::uint32_t rows, std::uint32_t sublayer,
                const std::string& label);
Dispatch cosine_sum(const Selector& select, std::uint32_t sublayers, const std::string& label);

/// Runs between two passes of a round in one submission (shaders/advance.comp). `draft`: the pass before made a draft, and `keeps`: it
/// saved its row; else it was the one over the row that no draft has read. `chunk`: AttentionShape::chunk.
Dispatch advance(std::uint32_t chunk, bool draft, bool keeps, const std::string& label);
/// Counts the accepted drafts, after the verification of at most `rows` rows.
Dispatch accept(std::uint32_t rows, const std::string& label);
using gguf::RandomPattern;
/// Fills `words` 32-bit words of `target`; each is a function of `key` and its index alone, on every device.
Dispatch random_fill(const Selector& select, Resource target, std::uint32_t words, const RandomPattern& pattern, float low, float high,
                     std::uint64_t key, const std::string& label);

}  // namespace skipstone::kernels
