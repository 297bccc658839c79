#include "model/synthetic.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>

#include "base/status.h"
#include "model/config_parts.h"

namespace skipstone::model {
namespace {

std::string lower(std::string_view text) {
  std::string result(text);
  std::transform(result.begin(), result.end(), result.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return result;
}

const SyntheticShape& find_shape(std::string_view name, const std::string& specification) {
  std::string known;
  for (const SyntheticShape& shape : synthetic_shapes()) {
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

std::vector<gguf::Pair> metadata_of(const SyntheticShape& shape, const std::string& name) {
  const Architecture& family = *find_architecture(shape.architecture);
  std::vector<gguf::Pair> metadata{{"general.architecture", std::string(shape.architecture)},
                                   {"general.name", fmt::format("synthetic {}", name)}};
  const auto set = [&](std::string_view key, gguf::Value value) {
    metadata.push_back({fmt::format("{}.{}", shape.architecture, key), std::move(value)});
  };
  const std::uint32_t head_dim = shape.head_dim != 0 ? shape.head_dim : shape.width / shape.heads;
  set("block_count", shape.layers + shape.prediction_layers);
  set("context_length", shape.context);
  set("embedding_length", shape.width);
  set("feed_forward_length", shape.ffn);
  set("attention.head_count", shape.heads);
  set("attention.head_count_kv", shape.kv_heads);
  set("attention.key_length", head_dim);
  set("attention.value_length", head_dim);
  set(family.epsilon_key(), 1e-5f);
  set("rope.freq_base", shape.rope_base);
  if (shape.prediction_layers > 0) set("nextn_predict_layers", shape.prediction_layers);
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
  return metadata;
}

/// The config that determines names and shapes of tensors, by the keys of a file.
Config config_of(const SyntheticShape& shape, const std::vector<gguf::Pair>& metadata) {
  const gguf::File keys = gguf::File::describe(std::string(shape.name), metadata, {});
  Config c;
  c.family = find_architecture(shape.architecture);
  c.architecture = shape.architecture;
  read_shape(Keys(keys, shape.architecture), c);
  c.vocabulary = shape.vocabulary;
  c.rope_dim = c.attention().head_dim;
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
    const TensorShape shape = tensor_shape(role, config_, layer);
    const std::string name = tensor_name(config_, role, layer);
    if (row.vector()) {
      floats(name, shape, std::move(data));
    } else {
      const bool routes = role == Role::router || role == Role::shared_router;  // converters leave these as they are
      const gguf::Type type = routes ? gguf::Type::f32 : shape.columns % gguf::traits(type_).block == 0 ? type_ : gguf::Type::f16;
      const std::uint32_t dimensions = shape.matrices == 1 ? 2 : 3;
      list_.push_back({name, type, dimensions, {shape.columns, shape.rows, shape.matrices, 1}, {}});
    }
    if (needs_bias(*config_.family, config_.block(layer), role)) {
      const bool stack = shape.matrices > 1;  // a vector for each of its matrices
      floats(tensor_name(config_, role, layer, true),
             stack ? TensorShape{shape.rows, shape.matrices} : TensorShape{.columns = shape.outputs});
    }
  }
  void add_layer(std::uint32_t layer) {
    for (const TensorRole& row : tensor_roles()) {
      if (row.role >= first_layer_role && row.required && has_role(config_.block(layer), row.role)) add(row.role, layer);
    }
  }
  std::vector<gguf::Tensor> take() { return std::move(list_); }

 private:
  void floats(std::string name, const TensorShape& shape, Bytes data = {}) {
    list_.push_back({std::move(name), gguf::Type::f32, shape.rows == 1 ? 1u : 2u, {shape.columns, shape.rows, 1, 1}, std::move(data)});
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
  for (std::uint32_t layer = 0; layer < s.layers + s.prediction_layers; ++layer) tensors.add_layer(layer);
  tensors.add(Role::output_norm);
  if (!s.tied) tensors.add(Role::output);
  return tensors.take();
}

}  // namespace

gguf::File synthetic_model(const std::string& specification) {
  const std::string text = lower(specification);
  const std::string_view view = text;
  const std::size_t colon = view.find(':');
  const SyntheticShape& shape = find_shape(view.substr(0, colon), specification);
  return synthetic_model(shape, find_type(colon == view.npos ? "" : view.substr(colon + 1), specification));
}

gguf::File synthetic_model(const SyntheticShape& shape, gguf::Type type) {
  const std::string name = fmt::format("{}:{}", shape.name, lower(gguf::traits(type).name));
  std::vector<gguf::Pair> metadata = metadata_of(shape, name);
  const Config config = config_of(shape, metadata);
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
