#include "engine/bigram_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <numeric>
#include <system_error>

#include "base/env.h"
#include "base/hash.h"
#include "base/input_file.h"
#include "base/log.h"
#include "base/output_file.h"
#include "base/platform/files.h"
#include "base/status.h"
#include "base/stopwatch.h"
#include "sample/candidates.h"
#include "speculation/bigrams.h"

namespace skipstone::engine {
namespace {

static_assert(std::endian::native == std::endian::little, "the file's numbers are little-endian");

constexpr std::uint32_t format_version = 2;

/// The tokens as 32-bit numbers follow, then the FNV-1a hash of everything before it.
struct Header {
  std::array<char, 8> magic = {'S', 'K', 'B', 'I', 'G', 'R', 'A', 'M'};
  std::uint32_t version = format_version, width = speculation::Bigrams::most_width, vocabulary = 0;
  std::uint32_t rows = 0;           ///< number of tokens in the table: the first ones of the vocabulary
  std::array<char, 16> model = {};  ///< the fingerprint
  bool operator==(const Header&) const = default;
};
static_assert(sizeof(Header) == 40);

Header header_of(const std::string& fingerprint, std::uint32_t vocabulary, std::uint32_t rows) {
  Header header;
  header.vocabulary = vocabulary;
  header.rows = rows;
  std::copy_n(fingerprint.begin(), std::min(fingerprint.size(), header.model.size()), header.model.begin());
  return header;
}

template <typename T>
void append(std::string& bytes, const T* values, std::size_t count) {
  bytes.append(reinterpret_cast<const char*>(values), count * sizeof(T));
}

}  // namespace

// A text is one row without a predecessor: row i of a pass has the same position as the others and attends to itself alone
// (exec::Rows::parents).
speculation::Bigrams make_bigrams(exec::Executor& passes, const model::Config& config, const BigramLimits& limits,
                                  const Progress& progress) {
  constexpr std::uint32_t width = speculation::Bigrams::most_width;
  const std::uint32_t rows = std::min(config.vocabulary, limits.tokens);
  const Stopwatch watch;
  std::vector<speculation::Token> next(std::size_t{rows} * width);
  const std::uint32_t most = std::min<std::uint32_t>(STEP_VERIFY_ROWS, passes.model().shape.context);
  std::vector<speculation::Token> tokens(most);
  std::vector<std::uint32_t> parents(most);
  std::iota(parents.begin(), parents.end(), 0u);
  exec::PassSpec spec;
  spec.layers = exec::LayerPlan::full(config.layer_count());
  spec.bucket = kernels::bucket_for(most);
  spec.output = exec::Output::logits;
  spec.tree = true;
  for (std::uint32_t first = 0; first < rows; first += most) {
    if (progress) progress("making bigram table", static_cast<double>(first) / rows);
    if (first > 0 && watch.elapsed() > limits.time) {
      log::warning("The bigram table was cut off after {} of {} tokens; n-grams start after these alone.", first, config.vocabulary);
      next.resize(std::size_t{first} * width);
      break;
    }
    const std::uint32_t count = std::min(most, rows - first);
    std::iota(tokens.begin(), tokens.end(), static_cast<speculation::Token>(first));
    passes.run(spec, {.tokens = std::span(tokens).first(count), .parents = std::span(parents).first(count)});
    for (std::uint32_t row = 0; row < count; ++row) {
      sample::top_k(passes.logits(row), std::span(next).subspan(std::size_t{first + row} * width, width));
    }
  }
  return {width, std::move(next)};
}

BigramFile::BigramFile(const std::string& directory, const std::string& fingerprint, std::uint32_t vocabulary)
    : fingerprint_(fingerprint), vocabulary_(vocabulary) {
  if (!directory.empty()) path_ = fmt::format("{}/{}.bigrams", directory, fingerprint);
}

std::shared_ptr<const speculation::Bigrams> BigramFile::read() const {
  if (path_.empty() || !platform::is_there(path_)) return nullptr;
  const auto ignored = [&](const char* why) {
    log::debug("'{}' is ignored: {}", path_, why);
    return nullptr;
  };
  constexpr std::uint32_t width = speculation::Bigrams::most_width;
  const auto size_of = [](std::size_t numbers) { return sizeof(Header) + 4 * numbers + sizeof(std::uint64_t); };
  std::string bytes;
  try {
    bytes = read_whole_file(path_, size_of(std::size_t{vocabulary_} * width));
  } catch (const Error& failure) {
    return ignored(failure.what());
  }
  if (bytes.size() < sizeof(Header)) return ignored("it ends within its header");
  Header header;
  std::memcpy(&header, bytes.data(), sizeof header);
  if (header.rows > vocabulary_ || header != header_of(fingerprint_, vocabulary_, header.rows))
    return ignored("it is of another model or version");
  const std::size_t numbers = std::size_t{header.rows} * width, size = size_of(numbers);
  if (bytes.size() != size) return ignored("it is not as long as its table");
  std::uint64_t checksum = 0;
  std::memcpy(&checksum, bytes.data() + size - sizeof checksum, sizeof checksum);
  if (checksum != fnv1a(std::string_view(bytes).substr(0, size - sizeof checksum))) return ignored("it is damaged");
  std::vector<speculation::Token> next(numbers);
  std::memcpy(next.data(), bytes.data() + sizeof header, 4 * numbers);
  return std::make_shared<const speculation::Bigrams>(width, std::move(next));
}

void BigramFile::write(const speculation::Bigrams& bigrams) const {
  if (path_.empty()) return;
  const Header header = header_of(fingerprint_, vocabulary_, bigrams.vocabulary());
  std::string bytes;
  append(bytes, &header, 1);
  append(bytes, bigrams.all().data(), bigrams.all().size());
  const std::uint64_t checksum = fnv1a(bytes);
  append(bytes, &checksum, 1);
  platform::create_folder_of(path_);
  try {
    write_whole_file(path_, std::as_bytes(std::span(bytes)));
  } catch (const Error& failure) {
    log::warning("the bigram table could not be saved: {}", failure.what());
  }
}

std::shared_ptr<const speculation::Bigrams> bigrams_of(Engine::State& state, const Progress& progress) {
  const auto lock = locked(state.caches.tokens.mutex, progress);
  if (state.caches.tokens.bigrams) return state.caches.tokens.bigrams;
  const BigramFile file(env::cache_directory(), state.file.fingerprint, state.model->config.vocabulary);
  state.caches.tokens.bigrams = file.read();
  if (state.caches.tokens.bigrams) return state.caches.tokens.bigrams;
  exec::Executor passes(*state.passes);
  state.make_pipelines({.verification = true, .logits = true, .trees = true}, progress);
  auto made = std::make_shared<const speculation::Bigrams>(make_bigrams(passes, state.model->config, {}, progress));
  file.write(*made);
  return state.caches.tokens.bigrams = std::move(made);
}

std::vector<speculation::Token> unigrams_of(Engine::State& state, const Progress& progress) {
  const auto lock = locked(state.caches.tokens.mutex, progress);
  if (!state.caches.tokens.unigrams.empty()) return state.caches.tokens.unigrams;
  const std::uint32_t most = std::min<std::uint32_t>(STEP_MAX_ROWS, state.model->shape.context);
  std::vector<float> rows;
  const auto read = [&](std::uint32_t first, std::uint32_t count) {
    rows.clear();
    for (std::uint32_t done = 0; done < count; done += most) {
      std::vector<speculation::Token> tokens(std::min(most, count - done));
      std::iota(tokens.begin(), tokens.end(), static_cast<speculation::Token>(first + done));
      const std::vector<float> some = state.passes->read_embeddings(tokens);
      rows.insert(rows.end(), some.begin(), some.end());
    }
    return std::span<const float>(rows);
  };
  const auto step = [&](double done) {
    if (progress) progress("ranking tokens", done);
  };
  const std::uint32_t ranked = std::min(state.model->config.vocabulary, BigramLimits{}.tokens);
  state.caches.tokens.unigrams =
      speculation::unigram_ranking(ranked, state.model->config.width, speculation::Bigrams::most_width, read, step);
  return state.caches.tokens.unigrams;
}

}  // namespace skipstone::engine
