#include "convert/quantize.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <future>
#include <map>
#include <string_view>
#include <thread>
#include <vector>

#include "base/log.h"
#include "base/platform/files.h"
#include "base/status.h"
#include "convert/tensor_type.h"
#include "gguf/gguf.h"
#include "gguf/parts.h"
#include "gguf/sparse.h"

namespace skipstone::convert {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t least_weights_of_a_thread = 1u << 16;  // fewer take less time than starting a thread

unsigned threads_of(const QuantizeOptions& options) {
  return options.threads > 0 ? options.threads : std::max(1u, std::thread::hardware_concurrency());
}

/// One tensor on its way from the input's type to the output's.
class Conversion {
 public:
  /// `norms`: of the inputs, for choosing a sparse type's weights; empty where their magnitudes decide.
  Conversion(const QuantizeOptions& options, const gguf::Tensor& tensor, gguf::Type type, std::vector<float> norms)
      : options_(options), tensor_(tensor), type_(type), norms_(std::move(norms)) {}

  /// A gguf::RowSource.
  void operator()(std::uint64_t first_row, std::span<std::byte> out) const;

 private:
  void rows(std::uint64_t first_row, std::span<std::byte> out) const;

  const QuantizeOptions& options_;
  const gguf::Tensor& tensor_;
  gguf::Type type_;
  std::vector<float> norms_;
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
      if (!norms_.empty()) prune_row(weights, norms_);
      gguf::quantize(type_, weights, out.first(to));
    }
  }
}

/// The files that the input consists of, the one that was opened among them.
std::vector<std::string> parts_of(const gguf::File& input) {
  std::vector<std::string> files{input.path()};
  if (input.integer("split.count", 1) <= 1) return files;
  const auto split = gguf::parse_split_name(input.path());
  for (std::uint32_t part = 1; split && part <= split->count; ++part) files.push_back(gguf::split_name(split->prefix, part, split->count));
  return files;
}

void check_output(const QuantizeOptions& options, const gguf::File& input) {
  if (options.output.empty()) fail(Code::invalid_argument, "the file to write has no name");
  const platform::FileKind there = platform::kind_of(options.output);
  if (there == platform::FileKind::directory) {
    fail(Code::invalid_argument, "{}: is a folder; name the file to write", options.output);
  }
  for (const std::string& file : parts_of(input)) {
    if (platform::are_same(file, options.output)) {
      fail(Code::invalid_argument, "{}: is the input ({}) itself; choose another name for the output", options.output, file);
    }
  }
  std::error_code ignored;
  const bool link = fs::is_symlink(platform::path_of(options.output), ignored);  // possibly a dangling one
  if (!options.overwrite && (link || there != platform::FileKind::nothing)) {
    fail(Code::invalid_argument, "{}: is there already; choose another name, or allow it to be replaced (--force)", options.output);
  }
}

void copy_metadata(const gguf::File& file, FileType type, gguf::Writer& writer) {
  for (const gguf::Pair& pair : file.metadata()) {
    if (!pair.key.starts_with("split.") && !pair.key.starts_with(gguf::sparse_keys)) writer.set(pair.key, pair.value);
  }
  writer.set("general.file_type", static_cast<std::uint32_t>(type));
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
  check_output(options, file);
  gguf::Writer writer;
  copy_metadata(file, options.type, writer);
  TensorTypes types(options.type, MixFacts::of(file), options.sparse.has_value());
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
                      Conversion(options, tensor, type, gguf::is_sparse(type) ? norms[tensor.name] : std::vector<float>()));
  }
  types.warn(options.output);
  if (again) {
    log::warning("{} is made from quantised weights ({}); its quality is that of the source at best", options.output, options.input);
  }
  writer.write(options.output, options.progress);
}

}  // namespace skipstone::convert
