#include "convert/tensor_type.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <optional>

#include "base/log.h"
#include "base/number.h"
#include "base/status.h"
#include "gguf/gguf.h"
#include "model/tensor_roles.h"

namespace skipstone::convert {
namespace {

using gguf::Type;

constexpr FileTypeTraits file_type_traits[] = {
#define FILE_TYPE(id, number, name, matrices) {FileType::id, number, name, Type::matrices},
#include "convert/file_types.def"
};

/// A type of files that are read only, and what to write instead.
struct ReadType {
  std::string_view name, instead;
};
constexpr ReadType read_types[] = {
#define FILE_TYPE(...)
#define FILE_TYPE_READ(name, instead) {name, instead},
#include "convert/file_types.def"
};

bool equal_but_for_case(std::string_view a, std::string_view b) {
  return std::ranges::equal(
      a, b, [](char x, char y) { return std::toupper(static_cast<unsigned char>(x)) == std::toupper(static_cast<unsigned char>(y)); });
}

/// 7 for "blk.7.ffn_down.weight"; 0 for a name without a number.
std::uint32_t layer_of(std::string_view name) {
  constexpr std::string_view prefix = "blk.";
  if (!name.starts_with(prefix)) return 0;
  name.remove_prefix(prefix.size());
  return parse_number<std::uint32_t>(name.substr(0, name.find('.'))).value_or(0);
}

/// The role by a tensor's name; nothing for biases and for tensors of families that do not run here, which may be converted all the same.
std::optional<model::Role> role_of(std::string_view name) {
  const std::uint32_t layer = layer_of(name);
  for (const model::TensorRole& row : model::tensor_roles()) {
    if (model::tensor_name(row.role, layer) == name) return row.role;
  }
  return std::nullopt;
}

/// Matrices that are small, or no factors of products: llama.cpp does not quantise them either (tensor_allows_quantization in
/// llama-quant.cpp).
constexpr std::string_view kept_names[] = {"_norm.weight",
                                           "ffn_gate_inp.weight",
                                           "ffn_gate_tid2eid.weight",
                                           "altup",
                                           "laurel",
                                           "per_layer_model_proj",
                                           "ssm_conv1d",
                                           "shortconv.conv",
                                           "indexer.k_proj.weight",
                                           "indexer.q_proj.weight",
                                           "time_mix_first",
                                           "time_mix_w0",
                                           "time_mix_w1",
                                           "time_mix_w2",
                                           "time_mix_v0",
                                           "time_mix_v1",
                                           "time_mix_v2",
                                           "time_mix_a0",
                                           "time_mix_a1",
                                           "time_mix_a2",
                                           "time_mix_g1",
                                           "time_mix_g2",
                                           "time_mix_decay_w1",
                                           "time_mix_decay_w2",
                                           "time_mix_lerp_fused",
                                           "attn_rel_b.weight",
                                           "position_embd.weight",
                                           "token_types.weight"};

/// Whether a product with activations reads the tensor row by row.
bool is_weight_matrix(std::string_view name, const std::optional<model::Role>& role, std::size_t dimensions) {
  const bool kept = std::ranges::any_of(kept_names, [&](std::string_view part) { return name.find(part) != std::string_view::npos; });
  if (dimensions < 2 || kept) return false;
  return role ? !model::tensor_role(*role).vector() : name.ends_with(".weight");
}

/// What the mixes tell apart, by parts of names, so that the matrices of experts and of families that do not run here have their rules too.
enum class Part { other, embedding, output, values, keys, attention_output, down };

struct PartName {
  std::string_view name;
  Part part;
};
constexpr PartName part_names[] = {{"attn_qkv.weight", Part::values},
                                   {"attn_kv_b.weight", Part::values},
                                   {"attn_v.weight", Part::values},
                                   {"attn_k.weight", Part::keys},
                                   {"attn_output.weight", Part::attention_output},
                                   {"ffn_down", Part::down}};

Part part_of(std::string_view name) {
  if (name == "output.weight") return Part::output;
  if (name == "token_embd.weight" || name == "per_layer_token_embd.weight") return Part::embedding;
  for (const PartName& row : part_names) {
    if (name.find(row.name) != std::string_view::npos) return row.part;
  }
  return Part::other;
}

/// Which of how many.
struct Place {
  std::uint32_t index, count;

  bool in_first(std::uint32_t share) const { return index < count / share; }
  /// The layers whose values and down-projections get more bits in medium mixes: the first and last eighth, and every third between.
  bool deserves_more() const { return in_first(8) || index >= 7 * count / 8 || (index - count / 8) % 3 == 2; }
};

// The rules of llama_tensor_get_type_impl in llama-quant.cpp of https://github.com/ggml-org/llama.cpp. Values are the cheapest matrix to
// keep precise where several query heads share one KV head.
Type type_of_values(FileType file, const Place& place, const MixFacts& facts, Type usual) {
  const bool shared = facts.heads_per_kv >= 4;
  switch (file) {
    case FileType::q2_k:
      return shared ? Type::q4_k : Type::q3_k;
    case FileType::q2_k_s:
      return shared ? Type::q4_k : usual;
    case FileType::q3_k_m:
      return place.index < 2 ? Type::q5_k : Type::q4_k;
    case FileType::q3_k_l:
      return Type::q5_k;
    case FileType::q4_k_s:
      return place.index < 4 ? Type::q5_k : usual;
    case FileType::q4_k_m:
    case FileType::q5_k_m:
      return place.deserves_more() ? Type::q6_k : usual;
    case FileType::iq4_nl:
    case FileType::iq4_xs:
      return shared ? Type::q5_k : usual;
    default:
      return usual;
  }
}

Type type_of_down(FileType file, const Place& place, const MixFacts& facts, Type usual) {
  const bool first_eighth = place.in_first(8);
  switch (file) {
    case FileType::q2_k:
      return Type::q3_k;
    case FileType::q2_k_s:
      return first_eighth ? Type::q4_k : usual;
    case FileType::q3_k_m:
      if (place.in_first(16)) return Type::q5_k;
      return !facts.falcon || place.deserves_more() ? Type::q4_k : usual;
    case FileType::q3_k_l:
      return facts.falcon ? Type::q4_k : Type::q5_k;
    case FileType::q4_k_s:
      return first_eighth && !facts.falcon ? Type::q5_k : usual;
    case FileType::iq4_nl:
    case FileType::iq4_xs:
      return first_eighth && !facts.importance ? Type::q5_k : usual;
    case FileType::q4_k_m:
      if (facts.falcon) return place.in_first(16) ? Type::q6_k : place.deserves_more() ? Type::q5_k : usual;
      [[fallthrough]];
    case FileType::q5_k_m:
      return place.deserves_more() ? Type::q6_k : usual;
    case FileType::q4_0:  // the first of these have outliers that an importance matrix draws the scales to
      return first_eighth && facts.importance ? Type::q4_1 : usual;
    case FileType::q5_0:
      return first_eighth && facts.importance ? Type::q5_1 : usual;
    default:
      return usual;
  }
}

Type type_of_attention_output(FileType file, const MixFacts& facts, Type usual) {
  if (facts.falcon) return file == FileType::q3_k_l ? Type::q4_k : usual;
  const bool eight = facts.experts == 8;
  switch (file) {
    case FileType::q2_k:
      return eight ? Type::q5_k : Type::q3_k;
    case FileType::q3_k_m:
      return eight ? Type::q5_k : Type::q4_k;
    case FileType::q3_k_l:
      return eight ? usual : Type::q5_k;
    case FileType::q3_k_s:
    case FileType::q4_k_s:
    case FileType::q4_k_m:
    case FileType::iq4_nl:
    case FileType::iq4_xs:
      return eight ? Type::q5_k : usual;
    default:
      return usual;
  }
}

/// The values' number among those of the model.
Place place_of_values(std::uint32_t layer, const MixFacts& facts) {
  if (facts.value_layers.empty()) return {layer, facts.layers};
  const auto before = std::ranges::lower_bound(facts.value_layers, layer) - facts.value_layers.begin();
  return {static_cast<std::uint32_t>(before), static_cast<std::uint32_t>(facts.value_layers.size())};
}

Type mixed_type(std::string_view name, std::span<const std::uint64_t> shape, FileType file, const MixFacts& facts) {
  const Type usual = traits(file).matrices;
  if (gguf::traits(usual).block == 1) return usual;
  const Part part = part_of(name);
  const std::uint32_t layer = layer_of(name);
  // The output decides between tokens and is read in full for every token.
  if (part == Part::output || (part == Part::embedding && facts.tied)) {
    const bool fits = shape[0] % gguf::traits(Type::q6_k).block == 0;
    return usual == Type::q8_0 || file == FileType::mxfp4_moe || facts.falcon || !fits ? Type::q8_0 : Type::q6_k;
  }
  if (file == FileType::mxfp4_moe) return shape.size() > 2 && shape[2] > 1 ? usual : Type::q8_0;
  switch (part) {
    case Part::values: {
      if (facts.experts == 8) return Type::q8_0;
      const Type type = type_of_values(file, place_of_values(layer, facts), facts, usual);
      // Llama 70B is the one with 80 layers; eight query heads share its values.
      return facts.layers == 80 && facts.heads_per_kv > 1 && (type == Type::q3_k || type == Type::q4_k) ? Type::q5_k : type;
    }
    case Part::keys:
      return facts.experts == 8 ? Type::q8_0 : usual;
    case Part::down:
      return type_of_down(file, {layer, facts.layers}, facts, usual);
    case Part::attention_output:
      return type_of_attention_output(file, facts, usual);
    default:
      return usual;
  }
}

/// The replacement for rows that are no whole number of blocks, as in llama.cpp.
Type with_smaller_blocks(Type type) {
  switch (type) {
    case Type::iq4_xs:
    case Type::nvfp4:  // llama.cpp has no replacement for it
      return Type::iq4_nl;
    case Type::q2_k:
    case Type::q3_k:
      return Type::q4_0;
    case Type::q4_k:
      return Type::q5_0;
    case Type::q5_k:
      return Type::q5_1;
    case Type::q6_k:
      return Type::q8_0;
    default:
      return Type::f16;
  }
}

/// The type that holds two of four weights of a row; nothing where the row does not divide into blocks.
std::optional<Type> sparse_type(Type values, std::uint64_t row_length) {
  if (values == Type::q8_0 && row_length % gguf::traits(Type::sparse_q8_0).block == 0) return Type::sparse_q8_0;
  return row_length % gguf::traits(Type::sparse_f16).block == 0 ? std::optional(Type::sparse_f16) : std::nullopt;
}

}  // namespace

std::span<const FileTypeTraits> file_types() { return file_type_traits; }

const FileTypeTraits& traits(FileType type) {
  for (const FileTypeTraits& each : file_type_traits) {
    if (each.type == type) return each;
  }
  fail(Code::internal, "there is no file type {}", static_cast<std::uint32_t>(type));
}

FileType file_type_of(Type type) {
  for (const FileTypeTraits& each : file_type_traits) {
    if (each.matrices == type) return each.type;
  }
  fail(Code::internal, "there is no file type for tensors of type {}", gguf::traits(type).name);
}

FileType parse_file_type(std::string_view name) {
  std::string known;
  for (const ReadType& each : read_types) {
    if (!equal_but_for_case(name, each.name)) continue;
    fail(Code::invalid_argument, "{} is read, not written; {} is about as small", each.name, each.instead);
  }
  for (const FileTypeTraits& each : file_type_traits) {
    if (equal_but_for_case(name, each.name)) return each.type;
    // A K-quant's own name, without a size, means the usual mix.
    if (equal_but_for_case(name, gguf::traits(each.matrices).name)) return each.type;
    known.append(known.empty() ? "" : ", ").append(each.name);
  }
  constexpr std::size_t shown = 40;
  fail(Code::invalid_argument, "there is no type '{}' to convert to; there are {}", gguf::escaped(name.substr(0, shown)), known);
}

MixFacts MixFacts::of(const gguf::File& file) {
  const std::string architecture = file.string("general.architecture", "llama");
  // The first one of a list by layer.
  const auto integer = [&](const char* name, std::uint64_t fallback) -> std::uint32_t {
    const std::string key = architecture + name;
    const gguf::Value* value = file.find(key);
    std::uint64_t number = fallback;
    if (value != nullptr && std::holds_alternative<std::shared_ptr<const gguf::Array>>(*value)) {
      const std::vector<std::int32_t> items = file.integers(key);
      if (!items.empty()) number = static_cast<std::uint64_t>(std::max(0, items[0]));
    } else {
      number = file.integer(key, fallback);
    }
    constexpr std::uint64_t most = 1u << 20;  // keeps results computed with it small
    return static_cast<std::uint32_t>(std::min(number, most));
  };
  MixFacts facts;
  facts.layers = integer(".block_count", 0);
  const std::uint32_t heads = integer(".attention.head_count", 1), kv_heads = integer(".attention.head_count_kv", heads);
  if (kv_heads > 0) facts.heads_per_kv = heads / kv_heads;
  facts.tied = file.find_tensor(model::tensor_name(model::Role::output, 0)) == nullptr;
  facts.experts = integer(".expert_count", 0);
  facts.falcon = architecture == "falcon";
  for (const gguf::Tensor& tensor : file.tensors()) {
    if (part_of(tensor.name) == Part::values) facts.value_layers.push_back(layer_of(tensor.name));
  }
  std::ranges::sort(facts.value_layers);
  return facts;
}

TensorTypes::TensorTypes(FileType file, const MixFacts& facts, bool sparse) : file_(file), facts_(facts), sparse_(sparse) {
  if (sparse && file != FileType::f16 && file != FileType::q8_0) {
    fail(Code::invalid_argument, "the weights of a 2:4 sparse matrix are stored as F16 or Q8_0, not as {}", traits(file).name);
  }
}

gguf::Type TensorTypes::choose(std::string_view name, std::span<const std::uint64_t> shape) {
  const std::optional<model::Role> role = role_of(name);
  if (!is_weight_matrix(name, role, shape.size())) return Type::f32;
  if (sparse_ && role && *role >= model::first_layer_role && shape.size() == 2) {
    ++in_layers_;
    if (const std::optional<Type> type = sparse_type(traits(file_).matrices, shape[0])) return *type;
    ++dense_;
  }
  const Type wanted = mixed_type(name, shape, file_, facts_);
  Type type = wanted;
  while (shape[0] % gguf::traits(type).block != 0) type = with_smaller_blocks(type);
  ++matrices_;
  if (type != wanted) ++replaced_;
  return type;
}

void TensorTypes::warn(const std::string& output) const {
  if (dense_ > 0) {
    log::warning("{}: {} of {} matrices of layers have rows that do not divide into blocks of {} and stay dense", output, dense_,
                 in_layers_, gguf::traits(Type::sparse_f16).block);
  }
  if (replaced_ == 0) return;
  log::warning("{}: {} of {} matrices have rows that do not divide into the blocks of {} and got larger types instead", output, replaced_,
               matrices_, traits(file_).name);
}

void check_weights(std::span<const float> weights, gguf::Type type, std::string_view path, std::string_view tensor, std::uint64_t row) {
  const float most = gguf::traits(type).largest;
  const auto bad = std::ranges::find_if_not(weights, [most](float weight) { return std::fabs(weight) <= most; });  // finds a NaN too
  if (bad == weights.end()) return;
  if (!std::isfinite(*bad)) {
    fail(Code::bad_file, "{}: tensor '{}' has a weight in row {} that is not finite ({}); the file is damaged, or its training failed",
         path, gguf::escaped(tensor), row, *bad);
  }
  fail(Code::unsupported, "{}: tensor '{}' has a weight in row {} ({}) that is too large for {}; choose BF16 or F32", path,
       gguf::escaped(tensor), row, *bad, gguf::traits(type).name);
}

}  // namespace skipstone::convert
