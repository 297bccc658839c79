#include "convert/checkpoint.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <filesystem>
#include <numbers>
#include <string_view>
#include <system_error>

#include "base/log.h"
#include "base/status.h"
#include "convert/config_values.h"
#include "convert/json_file.h"
#include "gguf/gguf.h"
#include "json/json.h"
#include "json/parse_json.h"

namespace skipstone::convert {
namespace {

namespace fs = std::filesystem;

// What model::Config takes from a GGUF file, so that every file written here runs there.
constexpr std::uint32_t kMostLayers = 256, kMostHeads = 1u << 16, kMostHeadDim = 256, kMostWidth = 1u << 20, kMostFfn = 1u << 22,
                        kMostVocabulary = 1u << 24, kMostContext = 1u << 30;

/// Names in config.json's "architectures" that stand for Llama's computation.
struct Architecture {
  std::string_view name;
  bool sliding_window;  ///< its attention honours the key of that name
};
constexpr std::array<Architecture, 3> kArchitectures{
    {{"LlamaForCausalLM", false}, {"LLaMAForCausalLM", false}, {"MistralForCausalLM", true}}};

const Architecture& find_architecture(const ConfigValues& values, const std::string& where) {
  const SortedJson* list = values.find("architectures");
  if (list == nullptr || !list->is_array() || list->empty() || !list->front().is_string()) {
    fail(Code::bad_file, "{}: names no 'architectures', so what the weights are for is not known", where);
  }
  const auto name = list->front().get<std::string>();
  const auto row = std::ranges::find(kArchitectures, name, &Architecture::name);
  if (row != kArchitectures.end()) return *row;
  fail(Code::unsupported, "{}: the architecture is {}; LlamaForCausalLM, and MistralForCausalLM without a sliding window, can be converted",
       where, shown(list->front()));
}

/// Features that change the computation under a supported name.
void refuse_other_computations(const ConfigValues& values, const Architecture& architecture, const std::string& where,
                               const Checkpoint& checkpoint) {
  if (const SortedJson* quantization = values.find("quantization_config")) {
    const std::string method = quantization->is_object() ? shown(quantization->value("quant_method", SortedJson("unknown"))) : "unknown";
    fail(Code::unsupported, "{}: the weights are quantised already ('quantization_config', method {}); convert the original checkpoint",
         where, method);
  }
  if (const std::string activation = values.text("hidden_act", "silu"); activation != "silu") {
    fail(Code::unsupported, "{}: 'hidden_act' is '{}'; only silu can be converted", where, gguf::escaped(activation));
  }
  for (const char* key : {"attention_bias", "mlp_bias"}) {
    if (values.flag(key, false)) {
      fail(Code::unsupported, "{}: '{}' is true; checkpoints with biases in these layers cannot be converted", where, key);
    }
  }
  if (const float part = values.positive("partial_rotary_factor", 1.0f); part != 1.0f) {
    fail(Code::unsupported, "{}: 'partial_rotary_factor' is {}; only heads that rotate as a whole can be converted", where, part);
  }
  if (!architecture.sliding_window || !values.flag("use_sliding_window", true)) return;
  const std::uint32_t window = values.count("sliding_window", 1, UINT32_MAX, UINT32_MAX);
  if (window < checkpoint.context) {
    fail(
        Code::unsupported,
        "{}: the attention slides over a window of {} tokens, which is not supported; with 'max_position_embeddings' lowered from {} to {} "
        "the model can be converted and used for so many tokens",
        where, window, checkpoint.context, window);
  }
}

void read_shape(const ConfigValues& values, const std::string& where, Checkpoint& c) {
  c.layers = values.count("num_hidden_layers", 1, kMostLayers);
  c.context = values.count("max_position_embeddings", 1, kMostContext);
  c.width = values.count("hidden_size", 1, kMostWidth);
  c.ffn = values.count("intermediate_size", 1, kMostFfn);
  c.heads = values.count("num_attention_heads", 1, kMostHeads);
  c.kv_heads = values.count("num_key_value_heads", 1, kMostHeads, c.heads);
  if (c.heads % c.kv_heads != 0) {
    fail(Code::bad_file, "{}: {} 'num_attention_heads' do not divide among {} 'num_key_value_heads'", where, c.heads, c.kv_heads);
  }
  if (!values.has("head_dim") && c.width % c.heads != 0) {
    fail(Code::bad_file, "{}: 'hidden_size' {} does not divide among {} 'num_attention_heads', and 'head_dim' is missing", where, c.width,
         c.heads);
  }
  c.head_dim = values.count("head_dim", 1, kMostHeadDim, c.width / c.heads);
  c.vocabulary = values.count("vocab_size", 1, kMostVocabulary);
  struct Length {
    const char* what;
    std::uint32_t value;
  };
  for (const Length& length : {Length{"hidden_size", c.width}, {"intermediate_size", c.ffn}, {"dimension of a head", c.head_dim}}) {
    if (length.value % 4 != 0) {
      fail(Code::unsupported, "{}: the {} is {}; Skipstone runs multiples of 4", where, length.what, length.value);
    }
  }
  if (c.head_dim > kMostHeadDim)
    fail(Code::unsupported, "{}: a head has {} dimensions; Skipstone runs 4 to {}", where, c.head_dim, kMostHeadDim);
  c.norm_epsilon = values.positive("rms_norm_eps", 1e-6f);  // transformers' default
  c.tied_embeddings = values.flag("tie_word_embeddings", false);
}

/// transformers 5 gathers in rope_parameters what were rope_theta and rope_scaling before; the kind's key was "type" once.
void read_rope(const ConfigValues& values, const std::string& where, Checkpoint& c) {
  const SortedJson* gathered = values.find("rope_parameters");
  const SortedJson* scaling = gathered != nullptr ? gathered : values.find("rope_scaling");
  c.rope_base = values.positive("rope_theta", 10000.0f);
  if (scaling == nullptr) return;
  if (!scaling->is_object()) fail(Code::bad_file, "{}: the scaling of positions is {}, expected an object", where, shown(*scaling));
  const std::string place = where + (gathered != nullptr ? ": rope_parameters" : ": rope_scaling");
  const ConfigValues rope(*scaling, place);
  c.rope_base = rope.positive("rope_theta", c.rope_base);
  const std::string kind = rope.text("rope_type", rope.text("type", "default"));
  if (kind == "default") return;
  if (kind == "linear") {
    c.rope_scale = rope.positive("factor");
  } else if (kind == "llama3") {
    const FrequencyScaling how{rope.positive("factor"), rope.positive("low_freq_factor"), rope.positive("high_freq_factor"),
                               rope.positive("original_max_position_embeddings")};
    if (how.high <= how.low) {
      fail(Code::bad_file, "{}: 'high_freq_factor' {} is not above 'low_freq_factor' {}", place, how.high, how.low);
    }
    c.rope_factors = rope_factors(how, c.head_dim, c.rope_base);
  } else {
    fail(Code::unsupported, "{}: positions are scaled by '{}'; default, linear and llama3 can be converted", place, gguf::escaped(kind));
  }
}

/// A snapshot in Hugging Face's cache is models--OWNER--NAME/snapshots/COMMIT.
std::string checkpoint_name(const std::string& folder) {
  fs::path path = fs::absolute(folder).lexically_normal();
  if (!path.has_filename()) path = path.parent_path();
  const std::string repository = path.parent_path().parent_path().filename().string();
  if (path.parent_path().filename() == "snapshots" && repository.starts_with("models--")) {
    return repository.substr(repository.rfind("--") + 2);
  }
  return path.filename().string();
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
    if (c.layers < 2) fail(Code::bad_file, "{}: 'skipstone_exit_layer' is there, but a model of one layer has no earlier exit", where);
    c.exit_layer = values.count("skipstone_exit_layer", 1, c.layers - 1);
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
    if (row.layers != c.layers || row.width != c.width || row.vocabulary != c.vocabulary) continue;
    c.exit_layer = row.exit;
    log::warning(
        "By name and shape this is LayerSkip's {}, so the exit layer is set to {}, which its authors use; --exit-layer sets another.",
        row.name, row.exit);
    return;
  }
  log::warning("By its name this is a LayerSkip checkpoint, but its shape is not a known one; set its exit layer with --exit-layer.");
}

}  // namespace

std::vector<float> rope_factors(const FrequencyScaling& scaling, std::uint32_t head_dim, float base) {
  const double longest = static_cast<double>(scaling.context) / scaling.low, shortest = static_cast<double>(scaling.context) / scaling.high;
  std::vector<float> factors(head_dim / 2);
  for (std::size_t i = 0; i < factors.size(); ++i) {
    const double wavelength = 2.0 * std::numbers::pi * std::pow(base, 2.0 * static_cast<double>(i) / head_dim);
    if (wavelength < shortest) {
      factors[i] = 1.0f;
    } else if (wavelength > longest) {
      factors[i] = scaling.factor;
    } else {
      const double share = (scaling.context / wavelength - scaling.low) / (scaling.high - scaling.low);  // of the unscaled frequency
      factors[i] = static_cast<float>(1.0 / ((1.0 - share) / scaling.factor + share));
    }
  }
  return factors;
}

Checkpoint read_checkpoint(const std::string& folder) {
  const fs::path file = fs::path(folder) / "config.json";
  std::error_code error;  // what cannot be looked at counts as absent
  if (!fs::exists(folder, error))
    fail(Code::not_found, "{}: there is no such folder; name the folder of a Hugging Face checkpoint", folder);
  if (!fs::is_directory(folder, error)) {
    fail(Code::bad_file, "{}: is not a folder; name the folder of a Hugging Face checkpoint, which has config.json in it", folder);
  }
  if (!fs::exists(file, error))
    fail(Code::not_found, "{}: has no config.json, so it is not the folder of a Hugging Face checkpoint", folder);
  const std::string where = file.string();
  const SortedJson document = read_json_object(where);
  const ConfigValues values(document, where);
  Checkpoint checkpoint;
  checkpoint.folder = folder;
  checkpoint.name = checkpoint_name(folder);
  const Architecture& architecture = find_architecture(values, where);
  read_shape(values, where, checkpoint);
  refuse_other_computations(values, architecture, where, checkpoint);
  read_rope(values, where, checkpoint);
  find_exit(values, where, checkpoint);
  return checkpoint;
}

}  // namespace skipstone::convert
