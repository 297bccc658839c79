#include "model/synthetic.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <map>

#include "base/status.h"

namespace skipstone::model {
namespace {

// From the models' config.json on huggingface.co: meta-llama/Llama-2-{7b,13b,70b}-hf (and Touvron et al., arXiv 2307.09288),
// mistralai/Mistral-7B-v0.1 (Jiang et al., arXiv 2310.06825; its sliding window is left out), microsoft/Phi-3-mini-4k-instruct (Abdin et
// al., arXiv 2404.14219; its fused QKV and gate+up are separate here), HuggingFaceTB/SmolLM2-135M, TinyLlama/TinyLlama-1.1B (Zhang et al.,
// arXiv 2401.02385); stories-260k: karpathy/tinyllamas, for tests.
constexpr std::array shapes = {
    SyntheticShape{"llama-2-7b", 32, 4096, 32, 32, 11008, 32000, 4096},
    SyntheticShape{"llama-2-13b", 40, 5120, 40, 40, 13824, 32000, 4096},
    SyntheticShape{"llama-2-70b", 80, 8192, 64, 8, 28672, 32000, 4096},
    SyntheticShape{"mistral-7b", 32, 4096, 32, 8, 14336, 32000, 32768},
    SyntheticShape{"phi-3-mini", 32, 3072, 32, 32, 8192, 32064, 4096},
    SyntheticShape{"smollm2-135m", 30, 576, 9, 3, 1536, 49152, 8192, 100000.0f, true},
    SyntheticShape{"tinyllama-1.1b", 22, 2048, 32, 4, 5632, 32000, 2048},
    SyntheticShape{"stories-260k", 5, 64, 8, 4, 172, 512, 512, 10000.0f, true},
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

class Tensors {
 public:
  explicit Tensors(gguf::Type type) : type_(type) {}

  void vector(std::string name, std::uint32_t n) { list_.push_back({std::move(name), gguf::Type::f32, 1, {n, 1, 1, 1}, {}}); }
  void matrix(std::string name, std::uint32_t k, std::uint32_t n) {
    const gguf::Type type = k % gguf::traits(type_).block == 0 ? type_ : gguf::Type::f16;
    list_.push_back({std::move(name), type, 2, {k, n, 1, 1}, {}});
  }
  std::vector<gguf::Tensor> take() { return std::move(list_); }

 private:
  gguf::Type type_;
  std::vector<gguf::Tensor> list_;
};

std::vector<gguf::Tensor> tensors_of(const SyntheticShape& s, gguf::Type type) {
  const std::uint32_t kv_width = s.width / s.heads * s.kv_heads;
  Tensors tensors(type);
  tensors.matrix("token_embd.weight", s.width, s.vocabulary);
  for (std::uint32_t layer = 0; layer < s.layers; ++layer) {
    const std::string blk = fmt::format("blk.{}.", layer);
    tensors.vector(blk + "attn_norm.weight", s.width);
    tensors.matrix(blk + "attn_q.weight", s.width, s.width);
    tensors.matrix(blk + "attn_k.weight", s.width, kv_width);
    tensors.matrix(blk + "attn_v.weight", s.width, kv_width);
    tensors.matrix(blk + "attn_output.weight", s.width, s.width);
    tensors.vector(blk + "ffn_norm.weight", s.width);
    tensors.matrix(blk + "ffn_gate.weight", s.width, s.ffn);
    tensors.matrix(blk + "ffn_up.weight", s.width, s.ffn);
    tensors.matrix(blk + "ffn_down.weight", s.ffn, s.width);
  }
  tensors.vector("output_norm.weight", s.width);
  if (!s.tied) tensors.matrix("output.weight", s.width, s.vocabulary);
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
  std::vector<gguf::Pair> metadata = {{"general.architecture", std::string("llama")},
                                      {"general.name", fmt::format("synthetic {}", name)},
                                      {"llama.block_count", shape.layers},
                                      {"llama.context_length", shape.context},
                                      {"llama.embedding_length", shape.width},
                                      {"llama.feed_forward_length", shape.ffn},
                                      {"llama.attention.head_count", shape.heads},
                                      {"llama.attention.head_count_kv", shape.kv_heads},
                                      {"llama.attention.layer_norm_rms_epsilon", 1e-5f},
                                      {"llama.rope.freq_base", shape.rope_base}};
  return gguf::File::describe(name, std::move(metadata), tensors_of(shape, type));
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
