// What a file of the "llama" architecture has to have: keys and their types as llama.cpp's loader asks for them (llama-model.cpp,
// llama-vocab.cpp, llama-model-loader.cpp), tensors with the shapes that the metadata implies.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <optional>

#include "convert/tensor_type.h"
#include "gguf_layout.h"

namespace skipstone::tests {
namespace {

using Shape = std::vector<std::uint64_t>;

struct KnownKey {
  std::string_view key;
  std::uint32_t type;
  std::uint32_t element = 0;
  bool required = false;
};

constexpr bool is_required = true;

constexpr KnownKey known_keys[] = {
    {"general.architecture", type_string, 0, is_required},
    {"general.name", type_string},
    {"general.type", type_string},
    {"general.author", type_string},
    {"general.license", type_string},
    {"general.description", type_string},
    {"general.size_label", type_string},
    {"general.alignment", type_u32},
    {"general.file_type", type_u32},
    {"general.quantization_version", type_u32},
    {"llama.context_length", type_u32, 0, is_required},
    {"llama.embedding_length", type_u32, 0, is_required},
    {"llama.block_count", type_u32, 0, is_required},
    {"llama.feed_forward_length", type_u32, 0, is_required},
    {"llama.attention.head_count", type_u32, 0, is_required},
    {"llama.attention.head_count_kv", type_u32},
    {"llama.attention.key_length", type_u32},
    {"llama.attention.value_length", type_u32},
    {"llama.attention.layer_norm_rms_epsilon", type_f32, 0, is_required},
    {"llama.rope.dimension_count", type_u32},
    {"llama.rope.freq_base", type_f32},
    {"llama.rope.scaling.type", type_string},
    {"llama.rope.scaling.factor", type_f32},
    {"llama.rope.scaling.original_context_length", type_u32},
    {"llama.vocab_size", type_u32},
    {"skipstone.exit_layer", type_u32},
    {"tokenizer.chat_template", type_string},
    {"tokenizer.ggml.model", type_string, 0, is_required},
    {"tokenizer.ggml.pre", type_string},
    {"tokenizer.ggml.tokens", type_array, type_string, is_required},
    {"tokenizer.ggml.scores", type_array, type_f32},
    {"tokenizer.ggml.token_type", type_array, type_i32},
    {"tokenizer.ggml.merges", type_array, type_string},
    {"tokenizer.ggml.add_bos_token", type_bool},
    {"tokenizer.ggml.add_eos_token", type_bool},
    {"tokenizer.ggml.add_space_prefix", type_bool},
    {"tokenizer.ggml.remove_extra_whitespaces", type_bool},
};

class Llama {
 public:
  Llama(const Layout& layout, std::vector<std::string>& complaints) : layout_(layout), complaints_(complaints) {}

  void key_types();
  void vocabulary();
  void tensors();
  void file_type();

 private:
  template <typename... Args>
  void complain(fmt::format_string<Args...> format, Args&&... args) {
    complaints_.push_back(fmt::format(format, std::forward<Args>(args)...));
  }
  std::uint64_t integer(std::string_view key, std::uint64_t fallback = 0) const {
    const LayoutPair* pair = layout_.find(key);
    return pair == nullptr ? fallback : pair->integer;
  }
  std::map<std::string, Shape> required_tensors() const;
  std::map<std::string, Shape> optional_tensors() const;
  void tensor(const LayoutTensor& tensor, const Shape& expected);

  const Layout& layout_;
  std::vector<std::string>& complaints_;
};

void Llama::key_types() {
  for (const KnownKey& known : known_keys) {
    const LayoutPair* pair = layout_.find(known.key);
    if (pair == nullptr && known.required) complain("key '{}' is missing", known.key);
    if (pair != nullptr && (pair->type != known.type || pair->element != known.element)) {
      complain("key '{}' has the type {} of {}, not {} of {}", known.key, pair->type, pair->element, known.type, known.element);
    }
  }
  for (const LayoutPair& pair : layout_.pairs) {
    if (pair.key.ends_with("_token_id") && pair.type != type_u32) complain("key '{}' has the type {}, not uint32", pair.key, pair.type);
  }
  const std::uint64_t heads = std::max<std::uint64_t>(1, integer("llama.attention.head_count"));
  const std::uint64_t head_dim = integer("llama.attention.key_length", integer("llama.embedding_length") / heads);
  const std::uint64_t rotated = integer("llama.rope.dimension_count", head_dim);
  if (rotated != head_dim) complain("rope.dimension_count is {}, but a head has {} dimensions", rotated, head_dim);
  const LayoutPair* architecture = layout_.find("general.architecture");
  if (architecture != nullptr && architecture->text != "llama") complain("the architecture is '{}'", architecture->text);
}

void Llama::vocabulary() {
  const LayoutPair* tokens = layout_.find("tokenizer.ggml.tokens");
  const LayoutPair* model = layout_.find("tokenizer.ggml.model");
  if (tokens == nullptr || model == nullptr) return;
  const std::uint64_t count = tokens->count;
  if (integer("llama.vocab_size", count) != count)
    complain("vocab_size is {}, but there are {} tokens", integer("llama.vocab_size"), count);
  for (const char* key : {"tokenizer.ggml.scores", "tokenizer.ggml.token_type"}) {
    const LayoutPair* items = layout_.find(key);
    if (items == nullptr && model->text == "llama") complain("key '{}' is missing", key);
    if (items != nullptr && items->count != count) complain("'{}' has {} items for {} tokens", key, items->count, count);
  }
  if (model->text == "gpt2" && layout_.find("tokenizer.ggml.merges") == nullptr) complain("key 'tokenizer.ggml.merges' is missing");
  if (const LayoutPair* types = layout_.find("tokenizer.ggml.token_type")) {
    const bool sound = std::ranges::all_of(types->integers, [](std::int32_t type) { return type >= 1 && type <= 6; });
    if (!sound) complain("a token's type is none of 1 to 6");
  }
  for (const LayoutPair& pair : layout_.pairs) {
    if (pair.key.ends_with("_token_id") && pair.integer >= count) complain("'{}' is {} of {} tokens", pair.key, pair.integer, count);
  }
}

std::map<std::string, Shape> Llama::required_tensors() const {
  const std::uint64_t width = integer("llama.embedding_length"), ffn = integer("llama.feed_forward_length");
  const std::uint64_t heads = std::max<std::uint64_t>(1, integer("llama.attention.head_count"));
  const std::uint64_t kv_heads = integer("llama.attention.head_count_kv", heads);
  const std::uint64_t key = integer("llama.attention.key_length", width / heads), value = integer("llama.attention.value_length", key);
  const LayoutPair* tokens = layout_.find("tokenizer.ggml.tokens");
  std::map<std::string, Shape> all;
  all["token_embd.weight"] = {width, tokens == nullptr ? 0 : tokens->count};
  all["output_norm.weight"] = {width};
  for (std::uint64_t i = 0; i < std::min<std::uint64_t>(1000, integer("llama.block_count")); ++i) {
    const auto name = [i](std::string_view part) { return fmt::format("blk.{}.{}.weight", i, part); };
    all[name("attn_norm")] = {width};
    all[name("attn_q")] = {width, heads * key};
    all[name("attn_k")] = {width, kv_heads * key};
    all[name("attn_v")] = {width, kv_heads * value};
    all[name("attn_output")] = {heads * value, width};
    all[name("ffn_norm")] = {width};
    all[name("ffn_gate")] = {width, ffn};
    all[name("ffn_up")] = {width, ffn};
    all[name("ffn_down")] = {ffn, width};
  }
  return all;
}

/// What a Llama may have besides.
std::map<std::string, Shape> Llama::optional_tensors() const {
  const std::map<std::string, Shape> required = required_tensors();
  std::map<std::string, Shape> all;
  all["output.weight"] = required.at("token_embd.weight");
  const std::uint64_t heads = std::max<std::uint64_t>(1, integer("llama.attention.head_count"));
  const std::uint64_t rotated = integer("llama.rope.dimension_count", integer("llama.embedding_length") / heads);
  all["rope_freqs.weight"] = {rotated / 2};
  for (const auto& [name, shape] : required) {
    const std::string_view stem = std::string_view(name).substr(0, name.size() - std::string_view(".weight").size());
    if (name.starts_with("blk.") && shape.size() == 2) all[fmt::format("{}.bias", stem)] = {shape[1]};
  }
  return all;
}

void Llama::tensor(const LayoutTensor& found, const Shape& expected) {
  if (found.dimensions != expected) complain("tensor '{}' is {}, not {}", found.name, found.dimensions, expected);
  if (expected.size() == 1 && found.type != 0) complain("tensor '{}' has the type number {}, not F32", found.name, found.type);
}

void Llama::tensors() {
  const std::map<std::string, Shape> required = required_tensors(), optional = optional_tensors();
  for (const auto& [name, shape] : required) {
    if (layout_.tensor(name) == nullptr) complain("tensor '{}' is missing", name);
  }
  for (const LayoutTensor& each : layout_.tensors) {
    if (const auto wanted = required.find(each.name); wanted != required.end()) {
      tensor(each, wanted->second);
    } else if (const auto allowed = optional.find(each.name); allowed != optional.end()) {
      tensor(each, allowed->second);
    } else {
      complain("tensor '{}' is none that a Llama has", each.name);  // llama.cpp: "wrong number of tensors"
    }
  }
}

/// The file type, whose numbers tensor_type_test compares with llama_ftype of llama.h, against the type that most matrices have.
void Llama::file_type() {
  std::map<std::uint32_t, std::uint64_t> matrices;
  for (const LayoutTensor& tensor : layout_.tensors) {
    if (tensor.dimensions.size() >= 2) ++matrices[tensor.type];
  }
  if (matrices.empty()) return;
  const std::uint32_t most = std::ranges::max_element(matrices, {}, [](const auto& each) { return each.second; })->first;
  const LayoutPair* said = layout_.find("general.file_type");
  const auto expected = [&](const convert::FileTypeTraits& file) {
    return static_cast<std::uint32_t>(file.matrices) == most && file.number == said->integer;
  };
  if (said != nullptr && std::ranges::none_of(convert::file_types(), expected)) {
    complain("general.file_type is {}, but most matrices have the type number {}", said->integer, most);
  }
  const bool blocks = std::ranges::any_of(layout_.tensors, [](const LayoutTensor& each) { return each.type > 1 && each.type != 30; });
  if (blocks && integer("general.quantization_version") != 2) complain("a quantised file needs general.quantization_version 2");
}

}  // namespace

void complain_about_llama(const Layout& layout, std::vector<std::string>& complaints) {
  Llama llama(layout, complaints);
  llama.key_types();
  llama.vocabulary();
  llama.tensors();
  llama.file_type();
}

}  // namespace skipstone::tests
