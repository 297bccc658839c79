#include "engine/draft_inputs.h"

#include <algorithm>
#include <array>
#include <system_error>

#include "base/platform/files.h"
#include "base/poll.h"
#include "base/status.h"
#include "base/stopwatch.h"
#include "engine/engine_state.h"
#include "engine/prompt_reader.h"

namespace skipstone::engine {

namespace {

text::TokenType type_of(const text::Vocabulary& vocabulary, std::size_t token) {
  return vocabulary.types.empty() ? text::TokenType::normal : vocabulary.types[token];
}

/// Drafts are tokens of the target's vocabulary: both models must give a token the same number.
void check_vocabulary(const text::Vocabulary& own, std::uint32_t own_size, const text::Vocabulary& other, std::uint32_t other_size,
                      const std::string& file) {
  if (own_size != other_size || own.tokens.size() != other.tokens.size()) {
    fail(Code::invalid_argument, "'{}' has another vocabulary: {} tokens, and the model has {}; a draft model needs the same tokens", file,
         other_size == own_size ? other.tokens.size() : other_size, other_size == own_size ? own.tokens.size() : own_size);
  }
  for (std::size_t i = 0; i < own.tokens.size(); ++i) {
    if (own.tokens[i] == other.tokens[i] && type_of(own, i) == type_of(other, i)) continue;
    fail(Code::invalid_argument, "'{}' has another vocabulary: token {} is '{}' of type {} there, and '{}' of type {} in the model", file,
         i, gguf::escaped(other.tokens[i]), static_cast<int>(type_of(other, i)), gguf::escaped(own.tokens[i]),
         static_cast<int>(type_of(own, i)));
  }
}

/// Checks that are possible before anything is loaded.
void check_file(Engine& target, const std::string& path) {
  const gguf::File file = gguf::File::open(path);
  const model::Config config = model::Config::from(file);
  if (!target.has_tokenizer()) {
    fail(Code::invalid_argument, "{} has no tokenizer, so no draft model can be compared with it", target.config().name);
  }
  const text::Vocabulary own = text::Vocabulary::from(file, target.state().file.pre_tokenizer);
  check_vocabulary(target.tokenizer().vocabulary(), target.config().vocabulary, own, config.vocabulary, path);
  const std::uint32_t context = target.memory().context;
  if (config.context_trained > 0 && config.context_trained < context) {
    fail(Code::invalid_argument, "'{}' was trained for texts of {} tokens, and the context is {}; ask for a smaller one (--ctx {})", path,
         config.context_trained, context, config.context_trained);
  }
}

/// To a caller that asked for a drafter, "not found" and "unsupported" would refer to something else.
Code code_of(Code code) { return code == Code::not_found || code == Code::unsupported ? Code::bad_file : code; }

std::shared_ptr<Engine> load(Engine& target, const std::string& file, const Progress& progress) {
  check_file(target, file);
  EngineOptions options;
  options.model_path = file;
  options.context = target.memory().context;
  options.pre_tokenizer = target.state().file.pre_tokenizer;
  options.tuning = target.state().tuning;
  options.progress = progress;
  return Engine::load_beside(target, options);
}

}  // namespace

std::shared_ptr<Engine> load_draft_model(Engine& target, const std::string& file, const Progress& progress) {
  SharedDraftModel& shared = target.state().caches.draft_model;
  const auto lock = locked(shared.mutex, progress);
  if (auto loaded = shared.model.lock(); loaded && shared.file == file) return loaded;
  try {
    auto loaded = load(target, file, progress);
    shared.model = loaded;
    shared.file = file;
    return loaded;
  } catch (const Error& error) {
    fail(code_of(error.code()), "drafter model: {}", error.what());
  }
}

DraftModel::DraftModel(std::shared_ptr<Engine> model) : model_(std::move(model)), passes_(*model_->state().passes) {}

exec::Executor& DraftModel::follow(std::span<const speculation::Token> text, exec::Output output) {
  std::size_t done = std::ranges::mismatch(read_, text).in1 - read_.begin();
  done = std::min(done, text.size() - 1);
  passes_.pages().rollback(static_cast<std::uint32_t>(done));
  if (!passes_.pages().is_complete(static_cast<std::uint32_t>(done))) {
    passes_.pages().rollback(0);
    done = 0;
  }
  read_.resize(done);
  while (done < text.size()) {
    const std::uint32_t chunk = next_chunk(text.size() - done);
    const bool last = done + chunk == text.size();
    exec::PassSpec spec;
    spec.layers = exec::LayerPlan::full(model_->config().layer_count());
    spec.prompt = chunk > 1;
    spec.bucket = spec.prompt ? kernels::prompt_bucket_for(chunk) : 1;
    spec.output = last ? output : exec::Output::none;
    spec.last_row_only = last && spec.prompt;
    const std::span<const speculation::Token> rows = text.subspan(done, chunk);
    passes_.run(spec, {.tokens = rows, .base = static_cast<std::uint32_t>(done)});
    read_.insert(read_.end(), rows.begin(), rows.end());
    done += chunk;
  }
  return passes_;
}

namespace {

constexpr std::size_t piece_bytes = 65536;                 ///< of text per tokenizer call
constexpr std::size_t most_bytes = std::size_t{4} << 30U;  ///< size limit of one file

std::string read_text(const std::string& file, const std::string& what) {
  std::error_code error;
  const auto refuse = [&] { fail(Code::invalid_argument, "the {} '{}' cannot be read: {}", what, file, error.message()); };
  const platform::OpenFile stream = platform::open_stream(file, error);
  if (error) refuse();
  std::string text;
  std::array<char, 65536> buffer{};
  while (true) {
    const std::size_t got = platform::read_next(stream.handle(), buffer, error);
    if (error == std::errc::interrupted) continue;
    if (error) refuse();
    if (got == 0) return text;
    text.append(buffer.data(), got);
    poll(got / 16);
    if (text.size() > most_bytes) fail(Code::invalid_argument, "the {} '{}' is larger than {} GiB", what, file, most_bytes >> 30U);
  }
}

/// Pieces end at a line end if possible, so that few words are split. A piece's end changes the tokens there, as the start of any text
/// does.
std::size_t piece_end(const std::string& text, std::size_t start) {
  if (text.size() - start <= piece_bytes) return text.size();
  std::size_t end = text.rfind('\n', start + piece_bytes);
  if (end != std::string::npos && end >= start) return end + 1;
  for (end = start + piece_bytes; end > start + 1 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U;) --end;
  return end;
}

}  // namespace

std::vector<text::Token> read_text_tokens(const text::Tokenizer& tokenizer, const std::string& file, const std::string& what,
                                          const Progress& progress) {
  const std::string text = read_text(file, what);
  if (const std::size_t at = text::find_invalid_utf8(text); at != std::string::npos) {
    fail(Code::invalid_argument, "the {} '{}' is no text: byte {} is not UTF-8", what, file, at);
  }
  std::vector<text::Token> tokens;
  for (std::size_t start = 0; start < text.size();) {
    if (progress) progress("reading " + what, static_cast<double>(start) / static_cast<double>(text.size()));
    const std::size_t end = piece_end(text, start);
    const std::vector<text::Token> piece = tokenizer.encode(std::string_view(text).substr(start, end - start), false, false);
    tokens.insert(tokens.end(), piece.begin(), piece.end());
    start = end;
  }
  return tokens;
}

IndexedCorpus index_corpus(const text::Tokenizer& tokenizer, const std::vector<std::string>& files, const Progress& progress) {
  const Stopwatch watch;
  std::vector<text::Token> tokens;
  for (const std::string& file : files) {
    if (!tokens.empty()) tokens.push_back(-1);
    const std::vector<text::Token> more = read_text_tokens(tokenizer, file, "corpus", progress);
    tokens.insert(tokens.end(), more.begin(), more.end());
  }
  const std::size_t count = tokens.size();
  if (count <= files.size()) fail(Code::invalid_argument, "the corpus '{}' has no text in it", files.front());
  if (progress) progress("indexing corpus", 0.0);
  auto index = std::make_shared<const speculation::Corpus>(std::move(tokens));
  const std::uint64_t bytes = index->bytes();
  return {std::move(index), {count, bytes, watch.seconds()}};
}

}  // namespace skipstone::engine
