#include "convert/convert.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <functional>
#include <numeric>
#include <system_error>
#include <utility>
#include <vector>

#include "base/log.h"
#include "base/platform/files.h"
#include "base/status.h"
#include "convert/checkpoint.h"
#include "convert/safetensors.h"
#include "convert/tensor_type.h"
#include "convert/tensors.h"
#include "convert/tokenizer.h"
#include "gguf/gguf.h"

namespace skipstone::convert {
namespace {

namespace fs = std::filesystem;

void check_output(const ConvertOptions& options) {
  const platform::FileKind there = platform::kind_of(options.output);
  if (options.output.empty()) fail(Code::invalid_argument, "the output has no name; name the .gguf file to be written");
  if (there == platform::FileKind::directory) {
    fail(Code::invalid_argument, "{}: is a folder; name the .gguf file to be written", options.output);
  }
  if (there != platform::FileKind::nothing && !options.overwrite) {
    fail(Code::invalid_argument, "{}: is there already; name another file, or allow overwriting it (--force)", options.output);
  }
  const fs::path output = platform::path_of(options.output);
  const std::string folder = output.has_parent_path() ? platform::text_of(output.parent_path()) : ".";
  if (platform::kind_of(folder) != platform::FileKind::directory)
    fail(Code::not_found, "{}: the folder for the output does not exist", folder);
}

/// Refuses an output that would replace a file of the checkpoint.
void check_output_is_not_input(const ConvertOptions& options, const Safetensors& weights) {
  std::vector<std::string> inputs(weights.files().begin(), weights.files().end());
  for (const char* name : {"config.json", "tokenizer.model", "tokenizer.json", "tokenizer_config.json", "model.safetensors.index.json"}) {
    inputs.push_back(platform::text_of(platform::path_of(options.folder) / name));
  }
  for (const std::string& input : inputs) {
    if (platform::are_same(input, options.output)) {
      fail(Code::invalid_argument, "{}: is a file of the checkpoint itself; name another output", options.output);
    }
  }
}

/// "759K", "1.2M", "8.0B": as gguf-py writes general.size_label, with at least two digits.
std::string size_label(std::uint64_t parameters) {
  struct Unit {
    double of;
    char letter;
  };
  constexpr std::array<Unit, 4> units{{{1e12, 'T'}, {1e9, 'B'}, {1e6, 'M'}, {1e3, 'K'}}};
  const auto count = static_cast<double>(parameters);
  const auto unit = std::ranges::find_if(units, [&](const Unit& each) { return count > each.of || each.letter == units.back().letter; });
  const double scaled = count / unit->of;
  return fmt::format("{:.{}f}{}", scaled, std::round(scaled) < 10 ? 1 : 0, unit->letter);
}

std::uint64_t parameters_of(const Checkpoint& c, const std::vector<MappedTensor>& tensors) {
  std::uint64_t count = 0;
  for (const MappedTensor& tensor : tensors) {
    const std::vector<std::uint64_t>& shape = tensor.shape;
    count += std::accumulate(shape.begin(), shape.end(), std::uint64_t{1}, std::multiplies<>());
  }
  for (const auto& [role, factors] : c.rope_factors) count += factors.size();
  return count;
}

/// Names and types as llama.cpp's convert_hf_to_gguf.py writes them.
void write_metadata(const Checkpoint& c, FileType type, std::uint32_t exit_layer, std::uint64_t parameters, gguf::Writer& writer) {
  writer.set("general.architecture", c.config.architecture);
  writer.set("general.type", std::string("model"));
  writer.set("general.name", gguf::escaped(c.name));  // GGUF strings are UTF-8, folders may be named otherwise
  writer.set("general.size_label", size_label(parameters));
  for (const gguf::Pair& pair : c.metadata) writer.set(pair.key, pair.value);
  writer.set("general.file_type", traits(type).number);
  if (exit_layer != 0) writer.set("skipstone.exit_layer", exit_layer);
  writer.set("general.quantization_version", quantization_version);
}

/// A tensor's rows from the checkpoint's type to the file's; a gguf::RowSource.
class Rows {
 public:
  Rows(const std::string& folder, MappedTensor tensor, gguf::Type type) : folder_(folder), tensor_(std::move(tensor)), type_(type) {}

  void operator()(std::uint64_t first_row, std::span<std::byte> out) const {
    const SourceTensor& source = *tensor_.source;
    const gguf::Type from = weight_type(source);
    const std::uint64_t length = tensor_.shape.front(), in_bytes = gguf::row_bytes(from, length),
                        out_bytes = gguf::row_bytes(type_, length);
    const std::uint64_t count = out.size() / out_bytes;
    std::vector<float> weights(length);
    std::vector<std::byte> buffer;
    // Rows in another order are read one by one.
    const std::uint64_t at_once = tensor_.rows ? 1 : count;
    std::span<const std::byte> rows;
    for (std::uint64_t i = 0; i < count; ++i) {
      const std::uint64_t row = tensor_.first_row + (tensor_.rows ? tensor_.rows(first_row + i) : first_row + i);
      if (i % at_once == 0) rows = source.data.view(row * in_bytes, at_once * in_bytes, buffer);
      gguf::dequantize(from, rows.subspan(i % at_once * in_bytes, in_bytes), weights);
      if (tensor_.change != nullptr) std::ranges::transform(weights, weights.begin(), tensor_.change);
      if (tensor_.columns) reorder(weights);
      check_weights(weights, type_, folder_, source.name, row);
      gguf::quantize(type_, weights, out.subspan(i * out_bytes, out_bytes));
    }
  }

 private:
  void reorder(std::vector<float>& numbers) const {
    const std::vector<float> before = numbers;
    for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = before[tensor_.columns(i)];
  }

  const std::string& folder_;
  MappedTensor tensor_;
  gguf::Type type_;
};

/// Checkpoints may come without the heads for multi-token prediction that config.json counts.
void drop_missing_heads(Checkpoint& checkpoint, const Safetensors& weights) {
  std::vector<model::LayerConfig>& heads = checkpoint.config.prediction_layers;
  const auto is_head = [](const SourceTensor& tensor) { return tensor.name.starts_with(prediction_prefix); };
  if (heads.empty() || std::ranges::any_of(weights.tensors(), is_head)) return;
  log::warning("config.json speaks of a head for multi-token prediction, whose tensors ('{}...') are not there.", prediction_prefix);
  heads.clear();
  set_layer_keys(checkpoint);
}

std::uint32_t checked_exit(const ConvertOptions& options, const Checkpoint& checkpoint) {
  if (options.exit_layer == 0) return checkpoint.exit_layer;
  if (options.exit_layer >= checkpoint.config.layer_count()) {
    fail(Code::invalid_argument, "the exit layer is {}, but an early exit comes before the last of the model's {} layers",
         options.exit_layer, checkpoint.config.layer_count());
  }
  return options.exit_layer;
}

}  // namespace

void convert(const ConvertOptions& options) {
  Checkpoint checkpoint = read_checkpoint(options.folder);
  const std::uint32_t exit_layer = checked_exit(options, checkpoint);
  check_output(options);
  const Safetensors weights = Safetensors::open(options.folder);
  check_output_is_not_input(options, weights);
  drop_missing_heads(checkpoint, weights);
  const std::vector<MappedTensor> tensors = map_tensors(checkpoint, weights);
  gguf::Writer writer;
  write_metadata(checkpoint, options.type, exit_layer, parameters_of(checkpoint, tensors), writer);
  write_tokenizer(options.folder, checkpoint.config.vocabulary, writer, checkpoint.traits().tokenizer, options.pre_tokenizer);
  for (const auto& [role, factors] : checkpoint.rope_factors) {
    const std::vector<std::uint64_t> shape{factors.size()};
    writer.add_tensor(model::tensor_name(role, 0), gguf::Type::f32, shape, std::span<const float>(factors));
  }
  const std::string head = model::tensor_name(model::Role::output, 0);
  const bool tied = std::ranges::find(tensors, head, &MappedTensor::target) == tensors.end();
  TensorTypes types(options.type, {checkpoint.config.layer_count(), checkpoint.config.attention().group(), tied});
  for (const MappedTensor& tensor : tensors) {
    const gguf::Type type = types.choose(tensor.target, tensor.shape);
    writer.add_tensor(tensor.target, type, tensor.shape, Rows(options.folder, tensor, type));
  }
  types.warn(options.output);
  writer.write(options.output, options.progress);
}

}  // namespace skipstone::convert
