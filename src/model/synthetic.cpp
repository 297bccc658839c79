#include "model/synthetic.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>

#include "base/status.h"
#include "model/config.h"

namespace skipstone::model {
namespace {

using Key = SyntheticKey;

constexpr std::array mistral_7b_keys{Key{"attention.sliding_window", 4096u}};
constexpr std::array gemma_2_keys{Key{"attention.sliding_window", 4096u}, Key{"attn_logit_softcapping", 50.0f},
                                  Key{"final_logit_softcapping", 30.0f}};
constexpr std::array gemma_3_1b_keys{Key{"attention.sliding_window", 512u}};
constexpr std::array gemma_3_keys{Key{"attention.sliding_window", 1024u}, Key{"rope.scaling.type", "linear"},
                                  Key{"rope.scaling.factor", 8.0f}};
constexpr std::array phi_4_mini_keys{Key{"rope.dimension_count", 96u}, Key{"rope.scaling.original_context_length", 4096u},
                                     Key{"rope.scaling.attn_factor", 1.1902381f}, Key{"attention.sliding_window", 0u}};
constexpr std::array granite_keys{Key{"embedding_scale", 12.0f}, Key{"residual_scale", 0.22f}, Key{"attention.scale", 0.0078125f},
                                  Key{"logit_scale", 16.0f}};

// From the models' config.json on huggingface.co: meta-llama/Llama-2-{7b,13b,70b}-hf (and Touvron et al., arXiv 2307.09288),
// meta-llama/Llama-3.1-8B, Llama-3.2-{1B,3B} (arXiv 2407.21783), Qwen/Qwen2.5-7B (arXiv 2412.15115), Qwen/Qwen3-{0.6B,4B,8B} (arXiv
// 2505.09388), google/gemma-2-2b (arXiv 2408.00118), google/gemma-3-{1b,4b,12b}-pt (arXiv 2503.19786; the language model),
// microsoft/Phi-4-mini-instruct (arXiv 2503.01743), microsoft/phi-4 (arXiv 2412.08905), mistralai/Mistral-7B-v0.1 (Jiang et al., arXiv
// 2310.06825), mistralai/Mistral-Small-24B-Base-2501, ibm-granite/granite-3.1-8b-base, HuggingFaceTB/SmolLM3-3B-Base,
// allenai/OLMo-2-1124-7B (arXiv 2501.00656), microsoft/Phi-3-mini-4k-instruct (Abdin et al., arXiv 2404.14219; its fused QKV and gate+up
// are separate here), HuggingFaceTB/SmolLM2-135M, TinyLlama/TinyLlama-1.1B (Zhang et al., arXiv 2401.02385); stories-260k:
// karpathy/tinyllamas, for tests.
//   name, architecture, layers, width, heads, KV heads, head (0: width / heads), feed-forward, vocabulary, context, RoPE's base, tied
constexpr std::array shapes = {
    SyntheticShape{"llama-2-7b", "llama", 32, 4096, 32, 32, 0, 11008, 32000, 4096},
    SyntheticShape{"llama-2-13b", "llama", 40, 5120, 40, 40, 0, 13824, 32000, 4096},
    SyntheticShape{"llama-2-70b", "llama", 80, 8192, 64, 8, 0, 28672, 32000, 4096},
    SyntheticShape{"llama-3.1-8b", "llama", 32, 4096, 32, 8, 0, 14336, 128256, 131072, 5e5f, false, {}, 8.0f},
    SyntheticShape{"llama-3.2-1b", "llama", 16, 2048, 32, 8, 0, 8192, 128256, 131072, 5e5f, true, {}, 32.0f},
    SyntheticShape{"llama-3.2-3b", "llama", 28, 3072, 24, 8, 0, 8192, 128256, 131072, 5e5f, true, {}, 32.0f},
    SyntheticShape{"qwen2.5-7b", "qwen2", 28, 3584, 28, 4, 0, 18944, 152064, 131072, 1e6f},
    SyntheticShape{"qwen3-0.6b", "qwen3", 28, 1024, 16, 8, 128, 3072, 151936, 40960, 1e6f, true},
    SyntheticShape{"qwen3-4b", "qwen3", 36, 2560, 32, 8, 128, 9728, 151936, 40960, 1e6f, true},
    SyntheticShape{"qwen3-8b", "qwen3", 36, 4096, 32, 8, 128, 12288, 151936, 40960, 1e6f},
    SyntheticShape{"gemma-2-2b", "gemma2", 26, 2304, 8, 4, 256, 9216, 256000, 8192, 1e4f, true, gemma_2_keys},
    SyntheticShape{"gemma-3-1b", "gemma3", 26, 1152, 4, 1, 256, 6912, 262144, 32768, 1e6f, true, gemma_3_1b_keys},
    SyntheticShape{"gemma-3-4b", "gemma3", 34, 2560, 8, 4, 256, 10240, 262208, 131072, 1e6f, true, gemma_3_keys},
    SyntheticShape{"gemma-3-12b", "gemma3", 48, 3840, 16, 8, 256, 15360, 262208, 131072, 1e6f, true, gemma_3_keys},
    SyntheticShape{"phi-4-mini", "phi3", 32, 3072, 24, 8, 0, 8192, 200064, 131072, 1e4f, true, phi_4_mini_keys, 48.0f},
    SyntheticShape{"phi-4", "phi3", 40, 5120, 40, 10, 0, 17920, 100352, 16384, 250000.0f},
    SyntheticShape{"mistral-7b", "llama", 32, 4096, 32, 8, 0, 14336, 32000, 32768, 1e4f, false, mistral_7b_keys},
    SyntheticShape{"mistral-small-3", "llama", 40, 5120, 32, 8, 128, 32768, 131072, 32768, 1e8f},
    SyntheticShape{"granite-3-8b", "granite", 40, 4096, 32, 8, 0, 12800, 49155, 131072, 1e7f, true, granite_keys},
    SyntheticShape{"smollm3-3b", "smollm3", 36, 2048, 16, 4, 0, 11008, 128256, 65536, 5e6f, true},
    SyntheticShape{"olmo2-7b", "olmo2", 32, 4096, 32, 32, 0, 11008, 100352, 4096, 5e5f},
    SyntheticShape{"phi-3-mini", "llama", 32, 3072, 32, 32, 0, 8192, 32064, 4096},
    SyntheticShape{"smollm2-135m", "llama", 30, 576, 9, 3, 0, 1536, 49152, 8192, 1e5f, true},
    SyntheticShape{"tinyllama-1.1b", "llama", 22, 2048, 32, 4, 0, 5632, 32000, 2048},
    SyntheticShape{"stories-260k", "llama", 5, 64, 8, 4, 0, 172, 512, 512, 1e4f, true},
};

std::string lower(std::string_view text) {
  std::string result(text);
  std::transform(result.begin(), result.end(), result.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return result;
}

const SyntheticShape& find_shape(std::string_view name, const std::string& specification) {
  std::string known;
  for (const SyntheticShape& shape : shapes) {
    if (shape.name == name) return shape;
    known += fmt::format("{}{}", known.empty() ? "" : ", ", shape.name);
  }
  fail(Code::invalid_argument, "there is no synthetic model '{}' (in '{}'); there are {}", gguf::escaped(name),
       gguf::escaped(specification), known);
}

gguf::Type find_type(std::string_view name, const std::string& specification) {
  if (const gguf::Traits* found = gguf::find_runnable(name)) return found->type;
  std::string known;
  for (const std::span<const gguf::Traits> table : {gguf::all_traits(), gguf::sparse_traits()}) {
    for (const gguf::Traits& traits : table) {
      if (traits.runnable) known += fmt::format("{}{}", known.empty() ? "" : ", ", lower(traits.name));
    }
  }
  fail(Code::invalid_argument, "a synthetic model cannot have the type '{}' (in '{}'); say NAME:TYPE with one of {}", gguf::escaped(name),
       gguf::escaped(specification), known);
}

/// What names and shapes of tensors follow from.
Config config_of(const SyntheticShape& shape) {
  Config c;
  c.family = find_architecture(shape.architecture);
  c.architecture = shape.architecture;
  c.layers = shape.layers;
  c.width = shape.width;
  c.heads = shape.heads;
  c.kv_heads = shape.kv_heads;
  c.head_dim = shape.head_dim != 0 ? shape.head_dim : shape.width / shape.heads;
  c.ffn = shape.ffn;
  c.vocabulary = shape.vocabulary;
  c.rope_dim = c.head_dim;
  for (const SyntheticKey& key : shape.keys) {
    if (key.name == "rope.dimension_count") c.rope_dim = std::get<std::uint32_t>(key.value);
  }
  return c;
}

/// The tensors that a model of the shape has, by the table of roles.
class Tensors {
 public:
  Tensors(const Config& config, gguf::Type type) : config_(config), type_(type) {}

  void add(Role role, std::uint32_t layer = 0, Bytes data = {}) {
    const TensorRole& row = tensor_role(role);
    const std::uint64_t columns = length_of(row.columns, config_), rows = length_of(row.rows, config_);
    if (row.vector()) {
      vector(tensor_name(role, layer), columns, std::move(data));
    } else {
      const gguf::Type type = columns % gguf::traits(type_).block == 0 ? type_ : gguf::Type::f16;
      list_.push_back({tensor_name(role, layer), type, 2, {columns, rows, 1, 1}, {}});
    }
    if (biased(role)) vector(tensor_name(role, layer, true), row.vector() ? columns : rows);
  }
  void add_layer(std::uint32_t layer) {
    for (const TensorRole& row : tensor_roles()) {
      if (row.role >= first_layer_role && has_role(config_.family->layer, row.role)) add(row.role, layer);
    }
  }
  std::vector<gguf::Tensor> take() { return std::move(list_); }

 private:
  void vector(std::string name, std::uint64_t n, Bytes data = {}) {
    list_.push_back({std::move(name), gguf::Type::f32, 1, {n, 1, 1, 1}, std::move(data)});
  }
  /// Those that the family's files must have.
  bool biased(Role role) const {
    if (!has_bias(config_.family->layer, role) || role == Role::output) return false;
    const bool of_qkv = role == Role::q || role == Role::k || role == Role::v;
    return tensor_role(role).vector() || config_.family->biases == Biases::all || (config_.family->biases == Biases::qkv && of_qkv);
  }

  const Config& config_;
  gguf::Type type_;
  std::vector<gguf::Tensor> list_;
};

/// `factors`: rotary ones, empty for none.
std::vector<gguf::Tensor> tensors_of(const SyntheticShape& s, const Config& config, gguf::Type type, const std::vector<float>& factors) {
  Tensors tensors(config, type);
  const Bytes data(std::as_bytes(std::span(factors)));
  const bool two_sets = (config.family->honours & honours_long_rope) != 0;
  if (!factors.empty() && two_sets) tensors.add(Role::rope_factors_short, 0, data);
  if (!factors.empty()) tensors.add(two_sets ? Role::rope_factors_long : Role::rope_factors, 0, data);
  tensors.add(Role::embedding);
  for (std::uint32_t layer = 0; layer < s.layers; ++layer) tensors.add_layer(layer);
  tensors.add(Role::output_norm);
  if (!s.tied) tensors.add(Role::output);
  return tensors.take();
}

}  // namespace

std::span<const SyntheticShape> synthetic_shapes() { return shapes; }

gguf::File synthetic_model(const std::string& specification) {
  const std::string text = lower(specification);
  const std::string_view view = text;
  const std::size_t colon = view.find(':');
  const SyntheticShape& shape = find_shape(view.substr(0, colon), specification);
  return synthetic_model(shape, find_type(colon == view.npos ? "" : view.substr(colon + 1), specification));
}

gguf::File synthetic_model(const SyntheticShape& shape, gguf::Type type) {
  const std::string name = fmt::format("{}:{}", shape.name, lower(gguf::traits(type).name));
  const Config config = config_of(shape);
  std::vector<gguf::Pair> metadata = {{"general.architecture", config.architecture}, {"general.name", fmt::format("synthetic {}", name)}};
  const auto set = [&](std::string_view key, gguf::Value value) {
    metadata.push_back({fmt::format("{}.{}", config.architecture, key), std::move(value)});
  };
  set("block_count", shape.layers);
  set("context_length", shape.context);
  set("embedding_length", shape.width);
  set("feed_forward_length", shape.ffn);
  set("attention.head_count", shape.heads);
  set("attention.head_count_kv", shape.kv_heads);
  set("attention.key_length", config.head_dim);
  set("attention.value_length", config.head_dim);
  const bool layer_norm = config.family->layer.norm_before == Norm::layer;
  set(layer_norm ? "attention.layer_norm_epsilon" : "attention.layer_norm_rms_epsilon", 1e-5f);
  set("rope.freq_base", shape.rope_base);
  for (const SyntheticKey& key : shape.keys) {
    std::visit(
        [&](const auto& value) {
          if constexpr (std::is_same_v<std::decay_t<decltype(value)>, std::string_view>) {
            set(key.name, std::string(value));
          } else {
            set(key.name, value);
          }
        },
        key.value);
  }
  const auto factors = std::make_shared<std::vector<float>>(shape.rope_factor > 0.0f ? config.rope_dim / 2 : 0);
  const auto steps = static_cast<float>(factors->size()) - 1.0f;
  for (std::size_t i = 0; i < factors->size(); ++i) (*factors)[i] = 1.0f + (shape.rope_factor - 1.0f) * static_cast<float>(i) / steps;
  return gguf::File::describe(name, std::move(metadata), tensors_of(shape, config, type, *factors), factors);
}

ModelSize model_size(const gguf::File& file) {
  ModelSize size;
  std::map<gguf::Type, std::uint64_t> parameters;
  for (const gguf::Tensor& tensor : file.tensors()) {
    size.parameters += tensor.elements();
    size.bytes += gguf::row_bytes(tensor.type, tensor.row_length()) * tensor.rows();
    if ((parameters[tensor.type] += tensor.elements()) > parameters[size.type]) size.type = tensor.type;
  }
  return size;
}

}  // namespace skipstone::model
