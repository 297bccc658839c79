// Measures an importance matrix.
#include <algorithm>
#include <cmath>

#include "base/status.h"
#include "convert/importance_matrix.h"
#include "convert/output_check.h"
#include "gguf/gguf.h"
#include "model/config.h"
#include "ref/model.h"

namespace skipstone::convert {
namespace {

using text::Token;

/// The whole chunks of the text.
std::vector<std::vector<Token>> chunks_of(const ImportanceOptions& options, const gguf::File& model, std::size_t length) {
  auto [tokens, bos] = tokens_of(model, options.text);
  if (bos) tokens.insert(tokens.begin(), *bos);
  if (tokens.size() < length) {
    fail(Code::invalid_argument, "{}: the text has {} tokens and a chunk {}; take a longer text, or smaller chunks (--chunk-tokens)",
         options.text, tokens.size(), length);
  }
  std::size_t count = tokens.size() / length;
  if (options.chunks > 0) count = std::min<std::size_t>(count, options.chunks);
  std::vector<std::vector<Token>> chunks;
  for (std::size_t i = 0; i < count; ++i) {
    const auto from = tokens.begin() + static_cast<std::ptrdiff_t>(i * length);
    chunks.emplace_back(from, from + static_cast<std::ptrdiff_t>(length));
    if (bos) chunks.back().front() = *bos;
  }
  return chunks;
}

ImportanceMatrix::Entry entry_of(const InputSquares& squares, const std::string& tensor, const std::string& model) {
  ImportanceMatrix::Entry entry;
  entry.counts.push_back(static_cast<float>(squares.rows));
  entry.sums.reserve(squares.sums.size());
  for (const double sum : squares.sums) {
    entry.sums.push_back(static_cast<float>(sum));
    if (!std::isfinite(entry.sums.back())) {
      fail(Code::unsupported, "{}: the inputs of '{}' are not finite while the model reads the text; it has no importance matrix", model,
           tensor);
    }
  }
  return entry;
}

}  // namespace

ImportanceMatrix measure_importance_matrix(const ImportanceOptions& options) {
  const gguf::File file = gguf::File::open(options.model);
  std::vector<std::string> inputs = parts_of(file);
  inputs.push_back(options.text);
  check_output(options.output, inputs, options.overwrite);
  if (options.chunk_tokens < 2) fail(Code::invalid_argument, "a chunk has at least 2 tokens, not {}", options.chunk_tokens);
  const std::uint32_t length = std::min(options.chunk_tokens, model::Config::from(file).context_trained);
  const auto chunks = chunks_of(options, file, length);
  const ref::Model reference(file, KvFormat::f32);
  ImportanceMatrix matrix;
  matrix.datasets.push_back(gguf::escaped(options.text));  // GGUF strings are UTF-8, paths may be other bytes
  matrix.chunks = static_cast<std::uint32_t>(chunks.size());
  matrix.chunk_tokens = length;
  for (const auto& [tensor, squares] : input_squares(reference, file, chunks, options.threads, options.progress)) {
    matrix.entries[tensor] = entry_of(squares, tensor, options.model);
  }
  write_importance_matrix(matrix, options.output);
  return matrix;
}

}  // namespace skipstone::convert
