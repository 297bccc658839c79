#include "convert/quantize.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <future>
#include <map>
#include <optional>
#include <string_view>
#include <thread>
#include <vector>

#include "base/log.h"
#include "base/status.h"
#include "convert/importance_matrix.h"
#include "convert/output_check.h"
#include "convert/tensor_type.h"
#include "gguf/gguf.h"
#include "gguf/sparse.h"

namespace skipstone::convert {
namespace {

constexpr std::string_view importance_keys = "quantize.imatrix.";
constexpr std::uint64_t least_weights_of_a_thread = 1u << 16;  // fewer take less time than starting a thread

unsigned threads_of(const QuantizeOptions& options) {
  return options.threads > 0 ? options.threads : std::max(1u, std::thread::hardware_concurrency());
}

/// What is known of the inputs that a tensor is multiplied with.
struct Inputs {
  std::vector<float> norms;       ///< for choosing a sparse type's weights; empty where their magnitudes decide
  std::vector<float> importance;  ///< mean squares, of stacked matrices one matrix after another; empty where all count alike
};

/// The importance matrix of a model that is quantised, or none.
class Importance {
 public:
  Importance(const QuantizeOptions& options, const gguf::File& model);

  /// Of a tensor that is rounded to `type`.
  std::vector<float> of(const gguf::Tensor& tensor, gguf::Type type);
  /// Names the matrix if a tensor was rounded by it.
  void write_metadata(gguf::Writer& writer) const;
  /// Logs a warning if matrices have no importance, or if nothing is rounded that it could be used for.
  void warn() const;

 private:
  const QuantizeOptions& options_;
  ImportanceMatrix matrix_;
  std::uint64_t layers_ = 0;  ///< the blocks from there on are heads for multi-token prediction
  std::size_t copied_ = 0, rounded_ = 0, used_ = 0, missing_ = 0;
};

/// Whether rounding to a type searches for scales.
bool has_search(gguf::Type type) { return gguf::traits(type).block > 1 && !gguf::is_sparse(type) && type != gguf::Type::q8_0; }

/// The block of a tensor; nothing for those that are in none.
std::optional<std::uint64_t> block_of(std::string_view tensor) {
  constexpr std::string_view prefix = "blk.";
  std::uint64_t block = 0;
  if (!tensor.starts_with(prefix)) return {};
  const auto [end, error] = std::from_chars(tensor.data() + prefix.size(), tensor.data() + tensor.size(), block);
  return error == std::errc() ? std::optional(block) : std::nullopt;
}

Importance::Importance(const QuantizeOptions& options, const gguf::File& model) : options_(options) {
  if (options.imatrix.empty()) return;
  if (options.sparse) {
    fail(Code::invalid_argument, "an importance matrix ({}) is for types with a search for scales, not for sparse weights",
         options.imatrix);
  }
  matrix_ = read_importance_matrix(options.imatrix);
  const std::string family = model.string("general.architecture", "");
  const std::uint64_t blocks = model.integer(family + ".block_count", UINT32_MAX),
                      heads = model.integer(family + ".nextn_predict_layers", 0);
  layers_ = blocks - std::min(blocks, heads);
  const auto known = [&](const auto& entry) { return model.find_tensor(entry.first) != nullptr; };
  if (std::ranges::none_of(matrix_.entries, known)) {
    fail(Code::bad_file, "{}: has the importance of '{}' and others, and {} has none of these tensors; it is of another model",
         options.imatrix, gguf::escaped(matrix_.entries.begin()->first), options.input);
  }
}

void Importance::write_metadata(gguf::Writer& writer) const {
  if (used_ == 0) return;
  const std::string keys(importance_keys);
  writer.set(keys + "file", gguf::escaped(options_.imatrix));  // GGUF strings are UTF-8, paths may be other bytes
  if (!matrix_.datasets.empty()) writer.set(keys + "dataset", gguf::escaped(matrix_.datasets.front()));
  writer.set(keys + "entries_count", static_cast<std::uint32_t>(matrix_.entries.size()));
  if (matrix_.chunks > 0) writer.set(keys + "chunks_count", matrix_.chunks);
}

std::vector<float> Importance::of(const gguf::Tensor& tensor, gguf::Type type) {
  if (matrix_.entries.empty() || !has_search(type)) return {};
  ++(type == tensor.type ? copied_ : rounded_);
  if (type == tensor.type) return {};
  const auto found = matrix_.entries.find(tensor.name);
  if (found == matrix_.entries.end()) {
    missing_ += block_of(tensor.name).value_or(layers_) < layers_ ? 1 : 0;  // llama.cpp measures nothing outside the layers
    return {};
  }
  const std::uint64_t inputs = tensor.row_length() * tensor.shape[2] * tensor.shape[3], measured = found->second.sums.size();
  if (measured != inputs) {
    fail(Code::bad_file, "{}: the importance of '{}' is of {} inputs and the tensor has {}; it is of another model", options_.imatrix,
         gguf::escaped(tensor.name), measured, inputs);
  }
  ++used_;
  return found->second.means();
}

void Importance::warn() const {
  if (matrix_.entries.empty()) return;
  if (rounded_ == 0 && copied_ > 0) {
    log::warning("{}: the matrices of {} are {} already and are copied; {} changes nothing", options_.output, options_.input,
                 traits(options_.type).name, options_.imatrix);
  } else if (rounded_ == 0) {
    log::warning("{}: {} is rounded without an importance matrix; {} changes nothing", options_.output, traits(options_.type).name,
                 options_.imatrix);
  }
  if (missing_ == 0) return;
  log::warning("{}: {} of {} matrices have no importance in {}; their weights count alike", options_.output, missing_, rounded_,
               options_.imatrix);
}

/// One tensor on its way from the input's type to the output's.
class Conversion {
 public:
  Conversion(const QuantizeOptions& options, const gguf::Tensor& tensor, gguf::Type type, Inputs inputs)
      : options_(options), tensor_(tensor), type_(type), inputs_(std::move(inputs)) {}

  /// A gguf::RowSource.
  void operator()(std::uint64_t first_row, std::span<std::byte> out) const;

 private:
  void rows(std::uint64_t first_row, std::span<std::byte> out) const;
  /// That of the matrix of a row; empty where all weights count alike.
  std::span<const float> importance_of(std::uint64_t row) const;

  const QuantizeOptions& options_;
  const gguf::Tensor& tensor_;
  gguf::Type type_;
  Inputs inputs_;
};

void Conversion::operator()(std::uint64_t first_row, std::span<std::byte> out) const {
  const std::uint64_t row = gguf::row_bytes(type_, tensor_.row_length()), count = out.size() / row;
  const std::uint64_t worthwhile = count * tensor_.row_length() / least_weights_of_a_thread;
  const std::uint64_t parts = std::clamp<std::uint64_t>(worthwhile, 1, std::min<std::uint64_t>(threads_of(options_), count));
  const std::uint64_t share = (count + parts - 1) / parts;
  std::vector<std::future<void>> others;
  for (std::uint64_t begin = share; begin < count; begin += share) {
    const auto part = out.subspan(begin * row, std::min(share, count - begin) * row);
    others.push_back(std::async(std::launch::async, [this, part, at = first_row + begin] { rows(at, part); }));
  }
  rows(first_row, out.first(share * row));
  for (std::future<void>& each : others) each.get();  // in order, so that the first bad row is the one that is named
}

void Conversion::rows(std::uint64_t first_row, std::span<std::byte> out) const {
  const std::uint64_t from = gguf::row_bytes(tensor_.type, tensor_.row_length()), to = gguf::row_bytes(type_, tensor_.row_length());
  std::vector<float> weights(tensor_.row_length());
  std::vector<std::byte> buffer;
  std::span<const std::byte> sources = tensor_.data.view(first_row * from, out.size() / to * from, buffer);
  for (std::uint64_t row = first_row; !out.empty(); ++row, out = out.subspan(to), sources = sources.subspan(from)) {
    const std::span<const std::byte> source = sources.first(from);
    gguf::dequantize(tensor_.type, source, weights);
    check_weights(weights, type_, options_.input, tensor_.name, row);
    if (tensor_.type == type_) {
      std::memcpy(out.data(), source.data(), to);
    } else {
      if (!inputs_.norms.empty()) prune_row(weights, inputs_.norms);
      gguf::quantize(type_, weights, out.first(to), importance_of(row));
    }
  }
}

std::span<const float> Conversion::importance_of(std::uint64_t row) const {
  if (inputs_.importance.empty()) return {};
  return std::span(inputs_.importance).subspan(row / tensor_.shape[1] * tensor_.row_length(), tensor_.row_length());
}

void copy_metadata(const gguf::File& file, FileType type, gguf::Writer& writer) {
  for (const gguf::Pair& pair : file.metadata()) {
    const auto begins_with = [&](std::string_view keys) { return pair.key.starts_with(keys); };
    if (!begins_with("split.") && !begins_with(gguf::sparse_keys) && !begins_with(importance_keys)) writer.set(pair.key, pair.value);
  }
  writer.set("general.file_type", traits(type).number);
  if (gguf::traits(traits(type).matrices).block > 1) writer.set("general.quantization_version", quantization_version);
}

void check_calibration(const QuantizeOptions& options) {
  const bool wanda = options.sparse == Scores::wanda;
  if (wanda && options.calibration.empty()) {
    fail(Code::invalid_argument, "Wanda's scores come from a calibration text; name one (--calibration)");
  }
  if (!wanda && !options.calibration.empty()) {
    fail(Code::invalid_argument, "a calibration text ({}) is for sparse weights with Wanda's scores (--sparse 2:4 --scores wanda)",
         options.calibration);
  }
}

}  // namespace

void quantize(const QuantizeOptions& options) {
  check_calibration(options);
  const gguf::File file = gguf::File::open(options.input);
  std::vector<std::string> inputs = parts_of(file);
  for (const std::string& input : {options.imatrix, options.calibration}) {
    if (!input.empty()) inputs.push_back(input);
  }
  check_output(options.output, inputs, options.overwrite);
  gguf::Writer writer;
  copy_metadata(file, options.type, writer);
  Importance importance(options, file);
  MixFacts facts = MixFacts::of(file);
  facts.importance = !options.imatrix.empty();
  TensorTypes types(options.type, facts, options.sparse.has_value());
  std::map<std::string, std::vector<float>> norms;
  if (options.sparse == Scores::wanda) norms = input_norms(file, options.calibration, threads_of(options), options.calibration_progress);
  bool again = false;
  for (const gguf::Tensor& tensor : file.tensors()) {
    const gguf::Traits& source = gguf::traits(tensor.type);
    if (!source.runnable) {
      fail(Code::unsupported, "{}: tensor '{}' is of type {}, which cannot be converted; types that can be are {}", options.input,
           gguf::escaped(tensor.name), source.name, gguf::runnable_names());
    }
    gguf::check_places(tensor, options.input);
    gguf::Type type = types.choose(tensor.name, std::span(tensor.shape).first(tensor.dimensions));
    // A tensor that already has the requested type gains nothing from a larger one.
    if (gguf::traits(type).block > 1 && !gguf::is_sparse(type) && tensor.type == traits(options.type).matrices) type = tensor.type;
    again = again || (source.block > 1 && type != tensor.type);
    writer.add_tensor(tensor.name, type, std::span(tensor.shape).first(tensor.dimensions),
                      Conversion(options, tensor, type,
                                 {.norms = gguf::is_sparse(type) ? norms[tensor.name] : std::vector<float>(),
                                  .importance = importance.of(tensor, type)}));
  }
  types.warn(options.output);
  importance.write_metadata(writer);
  importance.warn();
  if (again) {
    log::warning("{} is made from quantised weights ({}); its quality is that of the source at best", options.output, options.input);
  }
  writer.write(options.output, options.progress);
}

}  // namespace skipstone::convert
