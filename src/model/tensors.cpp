// Which tensor is which, by the names that GGUF gives them.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/number.h"
#include "base/status.h"
#include "gguf/gguf.h"
#include "gguf/sparse.h"
#include "model/config_parts.h"

namespace skipstone::model {

namespace {

std::string shape_text(const gguf::Tensor& tensor) {
  std::string text;
  for (std::uint32_t d = 0; d < tensor.dimensions; ++d) text += fmt::format("{}{}", d == 0 ? "" : "x", tensor.shape[d]);
  return text;
}

/// Looks tensors up by name and checks type and shape.
class Lookup {
 public:
  explicit Lookup(const gguf::File& file) : file_(file) {}

  /// A matrix, or a stack of them; nullptr where it is absent and not required.
  const gguf::Tensor* matrix(const std::string& name, const TensorShape& shape, bool required = true) const {
    const gguf::Tensor* tensor = find(name, required);
    if (tensor == nullptr) return nullptr;
    const gguf::Traits& traits = gguf::traits(tensor->type);
    if (!traits.runnable) {
      fail(Code::unsupported, "Tensor '{}' has type {}, which this version cannot multiply with; it runs {}.", name, traits.name,
           gguf::runnable_names());
    }
    if (tensor->shape != std::array<std::uint64_t, 4>{shape.columns, shape.rows, shape.matrices, 1}) {
      fail(Code::bad_file, "Tensor '{}' has shape {}, expected {}x{}{} by the model's metadata.", name, shape_text(*tensor), shape.columns,
           shape.rows, shape.matrices == 1 ? "" : fmt::format("x{}", shape.matrices));
    }
    if (shape.columns % traits.block != 0) {
      fail(Code::bad_file, "Tensor '{}' has rows of {} weights, which do not divide into the blocks of {} of type {}.", name, shape.columns,
           traits.block, traits.name);
    }
    gguf::check_places(*tensor, file_.path());
    return tensor;
  }

  /// The factor of products with a matrix, or with each of a stack; nullptr where there is none.
  const gguf::Tensor* scale(const std::string& name, std::uint64_t matrices) const {
    const gguf::Tensor* tensor = vector(name, matrices, false);
    if (tensor == nullptr) return nullptr;
    std::vector<float> factors(matrices);
    gguf::dequantize(*tensor, factors);
    for (const float factor : factors) {
      if (!std::isfinite(factor)) fail(Code::bad_file, "Tensor '{}' holds {}, expected finite factors.", name, factor);
    }
    return tensor;
  }

  /// A norm's weight or a bias: n floats.
  const gguf::Tensor* vector(const std::string& name, std::uint64_t n, bool required) const {
    return floats(name, {.columns = n}, required, false);
  }

  /// Floats of any shape. `may_stand`: one row of them may also be stored as one column.
  const gguf::Tensor* floats(const std::string& name, const TensorShape& shape, bool required, bool may_stand = true) const {
    const gguf::Tensor* tensor = find(name, required);
    if (tensor == nullptr) return nullptr;
    if (!gguf::is_float(tensor->type)) {
      fail(Code::unsupported, "Tensor '{}' has type {}; norms, biases and factors must be F32, F16 or BF16.", name,
           gguf::traits(tensor->type).name);
    }
    const std::array<std::uint64_t, 4> wanted{shape.columns, shape.rows, 1, 1}, standing{1, shape.columns, 1, 1};
    if (tensor->shape != wanted && !(may_stand && shape.rows == 1 && tensor->shape == standing)) {
      fail(Code::bad_file, "Tensor '{}' has shape {}, expected {}{} by the model's metadata.", name, shape_text(*tensor), shape.columns,
           shape.rows == 1 ? "" : fmt::format("x{}", shape.rows));
    }
    return tensor;
  }

 private:
  const gguf::Tensor* find(const std::string& name, bool required) const {
    const gguf::Tensor* tensor = file_.find_tensor(name);
    if (tensor == nullptr && required) {
      fail(Code::bad_file, "Tensor '{}' is missing; the file is incomplete or was converted for another layout.", name);
    }
    return tensor;
  }

  const gguf::File& file_;
};

/// One role's tensors, checked; empty where the file has none and needs none. `layer` is any layer for roles of the model.
Parameter find_role(const Lookup& lookup, const Config& config, Role role, std::uint32_t layer) {
  const TensorRole& row = tensor_role(role);
  const std::string name = tensor_name(config, role, layer);
  const TensorShape shape = tensor_shape(role, config, layer);
  Parameter found;
  found.weight = !row.vector() ? lookup.matrix(name, shape, row.required) : lookup.floats(name, shape, row.required, row.floats);
  if (has_scale(config.block(layer), role)) found.scale = lookup.scale(scale_name(config, role, layer), shape.matrices);
  if (!has_bias(config.block(layer), role)) return found;
  // Those of a stack are as many vectors.
  const TensorShape biases = shape.matrices == 1 ? TensorShape{.columns = shape.outputs} : TensorShape{shape.rows, shape.matrices};
  found.bias = lookup.floats(tensor_name(config, role, layer, true), biases, needs_bias(*config.family, config.block(layer), role), false);
  return found;
}

/// Matrices that are multiplied together have their biases together.
void check_biases(const Parameters& layer, std::uint32_t index, std::initializer_list<Role> roles) {
  std::string names;
  std::size_t there = 0, all = 0;
  for (const Role role : roles) {
    if (!layer[role]) continue;
    ++all;
    there += layer[role].bias != nullptr ? 1 : 0;
    names += (names.empty() ? "" : ", ") + tensor_name(role, index, true);
  }
  if (there != 0 && there != all) {
    fail(Code::bad_file, "{}: some are there and some are not; a model has all of them or none", names);
  }
}

Parameters find_layer(const Lookup& lookup, const Config& config, std::uint32_t index) {
  Parameters layer;
  for (const TensorRole& row : tensor_roles()) {
    if (has_role(config.block(index), row.role)) layer[row.role] = find_role(lookup, config, row.role, index);
  }
  check_biases(layer, index, {Role::q, Role::k, Role::v});
  check_biases(layer, index, {Role::gate, Role::up});
  check_biases(layer, index, {Role::expert_gate, Role::expert_up});
  return layer;
}

/// True for the names that find_role() looks for, without their "blk.N.".
bool known_in_layer(std::string_view name, const Architecture& family, const LayerConfig& layer) {
  return std::ranges::any_of(tensor_roles(), [&](const TensorRole& row) {
    const std::string_view of_role = name_of(family, row.role, layer.predicts);
    if (!has_role(layer, row.role) || !name.starts_with(of_role)) return false;
    std::string_view rest = name.substr(of_role.size());
    if (rest.empty()) return row.suffix.empty();
    if (!rest.starts_with('.')) return false;
    rest.remove_prefix(1);
    return rest == row.suffix || (rest == "bias" && has_bias(layer, row.role)) ||
           (has_scale(layer, row.role) && (rest == "scale" || rest == "input_scale"));
  });
}

/// Whether the role is of per-layer embeddings.
bool is_token_role(Role role) { return role == Role::token_embedding || role == Role::token_projection || role == Role::token_norm; }

bool known_globally(std::string_view name, const Config& config) {
  return std::ranges::any_of(tensor_roles().first(static_cast<std::size_t>(first_layer_role)), [&](const TensorRole& row) {
    const bool two_sets = row.role == Role::rope_factors_short || row.role == Role::rope_factors_long;
    if (two_sets && (config.family->honours & honours_long_rope) == 0) return false;
    if (is_token_role(row.role) && config.token_input() == 0) return false;
    return name == tensor_name(*config.family, row.role, 0) ||
           (has_bias(config.layers.front(), row.role) && name == tensor_name(*config.family, row.role, 0, true)) ||
           (has_scale(config.layers.front(), row.role) &&
            (name == scale_name(config, row.role, 0) || name == scale_name(config, row.role, 0, true)));
  });
}

/// The layer of a name like "blk.12.attn_q.weight", and the text after its second dot; nullopt for other names.
std::optional<std::pair<std::uint32_t, std::string_view>> split_layer(std::string_view name) {
  constexpr std::string_view prefix = "blk.";
  const std::size_t dot = name.find('.', prefix.size());
  if (!name.starts_with(prefix) || dot == std::string_view::npos) return std::nullopt;
  const auto layer = parse_number<std::uint32_t>(name.substr(prefix.size(), dot - prefix.size()));
  if (!layer) return std::nullopt;
  return std::pair(*layer, name.substr(dot + 1));
}

/// The layer, if it had keys and values of its own.
LayerConfig with_own_keys(LayerConfig layer) {
  if (auto* attention = std::get_if<Attention>(&layer.mixer)) attention->kv_source.reset();
  return layer;
}

/// A model runs with all of its tensors or not at all: a tensor left over means that the metadata describes another model, or that the
/// model computes something unknown here. Exceptions: inverse rotary frequencies, which early converters stored and no program reads,
/// matrices of K and V of layers that read those of others, and encoders of other inputs than text.
void check_known(const gguf::Tensor& tensor, const gguf::File& file, const Config& config) {
  if (known_globally(tensor.name, config) || is_of_other_inputs(tensor.name)) return;
  if (const auto part = split_layer(tensor.name)) {
    const auto& [layer, rest] = *part;
    const std::size_t blocks = config.layers.size() + config.prediction_layers.size();
    if (layer >= blocks) {
      fail(Code::bad_file,
           "{}: tensor '{}' is of layer {}, but by its metadata the model has {} layers, numbered from 0; the file is damaged", file.path(),
           shortened(tensor.name), layer, blocks);
    }
    if (known_in_layer(rest, *config.family, with_own_keys(config.block(layer))) || rest == "attn_rot_embd.weight") return;
  }
  fail(Code::unsupported, "Tensor '{}' belongs to a computation that this version does not have for architecture '{}'.",
       shortened(tensor.name), shortened(config.architecture));
}

}  // namespace

bool is_of_other_inputs(std::string_view name) {
  // As llama.cpp's converters name them: encoders of images (v) and sound (a), and what projects their output (mm, mmproj, resampler).
  constexpr std::array<std::string_view, 5> prefixes{"v.", "a.", "mm.", "mmproj.", "resampler."};
  return std::ranges::any_of(prefixes, [&](std::string_view prefix) { return name.starts_with(prefix); });
}

ModelTensors find_tensors(const gguf::File& file, const Config& config) {
  // Unknown weights first: a fused attn_qkv says more about the file than the attn_q that is missing beside it.
  for (const gguf::Tensor& tensor : file.tensors()) check_known(tensor, file, config);
  const Lookup lookup(file);
  ModelTensors tensors;
  for (const TensorRole& row : tensor_roles().first(static_cast<std::size_t>(first_layer_role))) {
    if (is_token_role(row.role) && config.token_input() == 0) continue;
    tensors.model[row.role] = find_role(lookup, config, row.role, 0);
    if (is_token_role(row.role) && !tensors.model[row.role]) {
      fail(Code::bad_file, "Tensor '{}' is missing; the file is incomplete or was converted for another layout.",
           tensor_name(config, row.role, 0));
    }
  }
  Parameter& output = tensors.model[Role::output];
  if (!output) output.weight = tensors.model[Role::embedding].weight;
  const std::uint32_t layers = config.layer_count();
  for (std::uint32_t layer = 0; layer < layers; ++layer) tensors.layers.push_back(find_layer(lookup, config, layer));
  for (std::uint32_t head = 0; head < config.prediction_layers.size(); ++head) {
    tensors.prediction_layers.push_back(find_layer(lookup, config, layers + head));
  }
  return tensors;
}

void keep_heads(Config& config, ModelTensors& tensors, std::size_t most) {
  tensors.prediction_layers.resize(std::min(tensors.prediction_layers.size(), most));
  config.prediction_layers.resize(tensors.prediction_layers.size());
}

}  // namespace skipstone::model
