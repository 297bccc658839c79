#include "convert/checkpoint.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <filesystem>
#include <span>
#include <string_view>
#include <system_error>

#include "base/escape.h"
#include "base/log.h"
#include "base/platform/files.h"
#include "base/status.h"
#include "convert/json_file.h"
#include "gguf/gguf.h"
#include "json/json.h"
#include "json/parse_json.h"

namespace skipstone::convert {
namespace {

namespace fs = std::filesystem;

using model::Architecture;
using model::CheckpointClass;

/// A family and the class of its checkpoints.
struct Kind {
  const Architecture* family = nullptr;
  const CheckpointClass* row = nullptr;
};

/// The object with the model's numbers: config.json itself, or text_config of a multimodal model.
struct TextPart {
  const SortedJson* config;
  bool wrapped;
};

constexpr const char* text_key = "text_config";

TextPart text_part(const ConfigValues& values, const SortedJson& document, const std::string& name, const std::string& where) {
  const auto wraps = [&](const CheckpointClass& row) { return row.wrapper == name; };
  const bool wrapped = std::ranges::any_of(
      model::architectures(), [&](const Architecture& family) { return std::ranges::any_of(family.checkpoints.classes, wraps); });
  if (!wrapped) return {&document, false};
  const SortedJson* text = values.find(text_key);
  if (text == nullptr || !text->is_object())
    fail(Code::bad_file, "{}: a {} has no object '{}', which describes its language model", where, name, text_key);
  return {text, true};
}

/// The class of the checkpoint; of a wrapper's classes the one of the text part's "model_type", or the only one if it has none.
Kind find_kind(const SortedJson& listed, const std::string& name, const TextPart& part, const std::string& where) {
  std::string known;
  const ConfigValues values(*part.config, where);
  const std::string type = part.wrapped ? values.text("model_type", "") : "";
  for (const Architecture& family : model::architectures()) {
    for (const CheckpointClass& row : family.checkpoints.classes) {
      if (part.wrapped ? row.wrapper == name && row.model_type == type : row.name == name) return {&family, &row};
      known.append(known.empty() ? "" : ", ").append(row.name);
    }
  }
  if (part.wrapped) {
    fail(Code::unsupported, "{}: the language model in {} is of type '{}', which cannot be converted", where, shown(listed),
         shortened(type));
  }
  fail(Code::unsupported, "{}: the architecture is {}; {} can be converted", where, shown(listed), known);
}

/// Adds transformers' defaults for keys that config.json lacks.
SortedJson with_defaults(SortedJson config, const Architecture& family) {
  for (const model::ConfigDefault& each : family.checkpoints.defaults) {
    const std::string key(each.key);
    if (config.contains(key)) continue;
    if (each.value == std::floor(each.value)) {
      config[key] = static_cast<std::uint64_t>(each.value);
    } else {
      config[key] = each.value;
    }
  }
  return config;
}

void refuse_quantised(const ConfigValues& values, const std::string& where) {
  const SortedJson* quantization = values.find("quantization_config");
  if (quantization == nullptr) return;
  const std::string method = quantization->is_object() ? shown(quantization->value("quant_method", SortedJson("unknown"))) : "unknown";
  fail(Code::unsupported, "{}: the weights are quantised already ('quantization_config', method {}); convert the original checkpoint",
       where, method);
}

/// Names of the MLP's function; the first is transformers' default.
std::span<const std::string_view> activations(model::Activation activation) {
  static constexpr std::array<std::string_view, 2> silu{"silu", "swish"};
  static constexpr std::array<std::string_view, 2> gelu{"gelu_pytorch_tanh", "gelu_new"};
  static constexpr std::array<std::string_view, 1> squared_relu{"relu2"};
  switch (activation) {
    case model::Activation::gated_silu:
      return silu;
    case model::Activation::squared_relu:
      return squared_relu;
    default:
      return gelu;
  }
}

void check_activation(const ConfigValues& values, const Architecture& family, const std::string& where) {
  const auto* mlp = std::get_if<model::Mlp>(&family.layer.feedforward);
  if (mlp == nullptr) return;
  const std::span<const std::string_view> names = activations(mlp->activation);
  const char* key = values.has("hidden_activation") ? "hidden_activation" : values.has("mlp_hidden_act") ? "mlp_hidden_act" : "hidden_act";
  const std::string given = values.text(key, std::string(names.front()));
  if (std::ranges::find(names, given) != names.end()) return;
  fail(Code::unsupported, "{}: '{}' is '{}'; only {} can be converted", where, key, gguf::escaped(given), names.front());
}

/// The layers without rotation in config.json must be those of the family's files.
void check_unrotated(const ConfigValues& values, const model::Config& c, const std::string& where) {
  constexpr const char* key = "no_rope_layers";
  if (const SortedJson* turning = values.find(key)) {
    bool as_family = turning->is_array() && turning->size() == c.layers.size();
    for (std::uint32_t i = 0; as_family && i < c.layers.size(); ++i) {
      const auto* attention = std::get_if<model::Attention>(&c.layers[i].mixer);
      as_family = (*turning)[i] == (attention != nullptr && attention->rotates ? 1 : 0);
    }
    if (as_family) return;
    fail(Code::unsupported, "{}: '{}' is {}; a GGUF file of architecture {} means other layers", where, key, shown(*turning),
         c.architecture);
  }
  const std::uint32_t every = c.family->unrotated_every;
  if (const std::uint32_t said = values.count("no_rope_layer_interval", 1, UINT32_MAX, every == 0 ? 1 : every);
      every != 0 && said != every) {
    fail(Code::unsupported, "{}: 'no_rope_layer_interval' is {}; a GGUF file of architecture {} means {}", where, said, c.architecture,
         every);
  }
}

/// Features that change the computation under a supported name.
void refuse_other_computations(const ConfigValues& values, const Checkpoint& checkpoint, const std::string& where) {
  const Architecture& family = *checkpoint.config.family;
  refuse_quantised(values, where);
  check_activation(values, family, where);
  check_unrotated(values, checkpoint.config, where);
  if (family.biases == model::Biases::all && !values.flag("use_bias", true)) {
    fail(Code::unsupported, "{}: 'use_bias' is false; only checkpoints with biases can be converted", where);
  }
  if (values.flag("use_bidirectional_attention", false)) {
    fail(Code::unsupported, "{}: 'use_bidirectional_attention' is true, so the model cannot generate text", where);
  }
  if (values.has("clip_qkv")) fail(Code::unsupported, "{}: 'clip_qkv' is set; only null can be converted", where);
}

/// A snapshot in Hugging Face's cache is models--OWNER--NAME/snapshots/COMMIT.
std::string checkpoint_name(const std::string& folder) {
  fs::path path = fs::absolute(platform::path_of(folder)).lexically_normal();
  if (!path.has_filename()) path = path.parent_path();
  const std::string repository = platform::text_of(path.parent_path().parent_path().filename());
  if (path.parent_path().filename() == "snapshots" && repository.starts_with("models--")) {
    return repository.substr(repository.rfind("--") + 2);
  }
  return platform::text_of(path.filename());
}

bool speaks_of_layer_skip(std::string_view name) {
  std::string lower(name);
  std::ranges::transform(lower, lower.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return lower.find("layerskip") != std::string::npos;
}

/// The checkpoints that came with LayerSkip (Elhoushi et al. 2024, arXiv 2404.16710) do not say which exit they were trained for; these are
/// the ones that its authors draft with (github.com/facebookresearch/LayerSkip, README).
void find_exit(const ConfigValues& values, const std::string& where, Checkpoint& c) {
  if (values.has("skipstone_exit_layer")) {
    if (c.config.layer_count() < 2)
      fail(Code::bad_file, "{}: 'skipstone_exit_layer' is there, but a model of one layer has no earlier exit", where);
    c.exit_layer = values.count("skipstone_exit_layer", 1, c.config.layer_count() - 1);
    return;
  }
  const SortedJson* origin = values.find("_name_or_path");
  const bool named =
      speaks_of_layer_skip(c.name) || (origin != nullptr && origin->is_string() && speaks_of_layer_skip(origin->get<std::string>()));
  if (!named) return;
  struct Known {
    std::string_view name;
    std::uint32_t layers, width, vocabulary, exit;
  };
  constexpr std::array<Known, 5> known{{{"Llama 3.2 1B", 16, 2048, 128256, 3},
                                        {"Llama 3 8B", 32, 4096, 128256, 3},
                                        {"Llama 2 7B", 32, 4096, 32000, 7},
                                        {"Llama 2 13B", 40, 5120, 32000, 13},
                                        {"Llama 2 70B", 80, 8192, 32000, 9}}};
  for (const Known& row : known) {
    if (row.layers != c.config.layer_count() || row.width != c.config.width || row.vocabulary != c.config.vocabulary) continue;
    c.exit_layer = row.exit;
    log::warning(
        "By name and shape this is LayerSkip's {}, so the exit layer is set to {}, which its authors use; --exit-layer sets another.",
        row.name, row.exit);
    return;
  }
  log::warning("By its name this is a LayerSkip checkpoint, but its shape is not a known one; set its exit layer with --exit-layer.");
}

}  // namespace

Checkpoint read_checkpoint(const std::string& folder) {
  const std::string where = platform::text_of(platform::path_of(folder) / "config.json");
  const platform::FileKind there = platform::kind_of(folder);
  if (there == platform::FileKind::nothing)
    fail(Code::not_found, "{}: there is no such folder; name the folder of a Hugging Face checkpoint", folder);
  if (there != platform::FileKind::directory) {
    fail(Code::bad_file, "{}: is not a folder; name the folder of a Hugging Face checkpoint, which has config.json in it", folder);
  }
  if (!platform::is_there(where))
    fail(Code::not_found, "{}: has no config.json, so it is not the folder of a Hugging Face checkpoint", folder);
  const SortedJson document = read_json_object(where);
  const ConfigValues outer(document, where);
  const SortedJson* list = outer.find("architectures");
  if (list == nullptr || !list->is_array() || list->empty() || !list->front().is_string()) {
    fail(Code::bad_file, "{}: names no 'architectures', so what the weights are for is not known", where);
  }
  const auto name = list->front().get<std::string>();
  const TextPart part = text_part(outer, document, name, where);
  const std::string place = part.wrapped ? where + ": " + text_key : where;
  const Kind kind = find_kind(list->front(), name, part, place);
  if (part.wrapped) refuse_quantised(outer, where);
  const SortedJson config = with_defaults(*part.config, *kind.family);
  const ConfigValues values(config, place);
  Checkpoint checkpoint;
  checkpoint.folder = folder;
  checkpoint.name = checkpoint_name(folder);
  checkpoint.wrapped = part.wrapped;
  checkpoint.config.family = kind.family;
  checkpoint.config.architecture = kind.family->name;
  checkpoint.config.rope_pairs = kind.family->rope_pairs;
  read_shape(values, checkpoint);
  read_layers(values, checkpoint);
  read_windows(values, *kind.row, checkpoint);
  refuse_other_computations(values, checkpoint, place);
  read_rope(values, checkpoint);
  for (const ConfigValues* said : {&outer, &values}) {
    if (said->has("tie_word_embeddings")) checkpoint.tied_embeddings = said->flag("tie_word_embeddings", false);
  }
  checkpoint.attention_bias = values.flag("attention_bias", false);
  checkpoint.mlp_bias = values.flag("mlp_bias", false);
  find_exit(values, place, checkpoint);
  return checkpoint;
}

}  // namespace skipstone::convert
