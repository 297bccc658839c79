#include "engine/draft_model.h"

#include <algorithm>

#include "base/status.h"
#include "engine/engine_state.h"
#include "engine/prompt_chunks.h"

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
  const text::Vocabulary own = text::Vocabulary::from(file, target.state().pre_tokenizer);
  check_vocabulary(target.tokenizer().vocabulary(), target.config().vocabulary, own, config.vocabulary, path);
  const std::uint32_t context = target.memory().context;
  if (config.context_trained > 0 && config.context_trained < context) {
    fail(Code::invalid_argument, "'{}' was trained for texts of {} tokens, and the context is {}; ask for a smaller one (--ctx {})", path,
         config.context_trained, context, config.context_trained);
  }
}

/// To a caller that asked for a drafter, "not found" and "unsupported" would refer to something else; and if two models do not fit into
/// memory, the request for a second one is at fault, not the machine.
Code code_of(Code code) {
  if (code == Code::not_found || code == Code::unsupported) return Code::bad_file;
  return code == Code::out_of_memory ? Code::invalid_argument : code;
}

std::shared_ptr<Engine> load(Engine& target, const std::string& file, const Progress& progress) {
  check_file(target, file);
  EngineOptions options;
  options.model_path = file;
  options.context = target.memory().context;
  options.pre_tokenizer = target.state().pre_tokenizer;
  options.tuning = target.state().tuning;
  options.progress = progress;
  return Engine::load_beside(target, options);
}

}  // namespace

std::shared_ptr<Engine> load_draft_model(Engine& target, const std::string& file, const Progress& progress) {
  Engine::State& state = target.state();
  const auto lock = locked(state.draft_model_mutex, progress);
  if (auto loaded = state.draft_model.lock(); loaded && state.draft_model_file == file) return loaded;
  try {
    auto loaded = load(target, file, progress);
    state.draft_model = loaded;
    state.draft_model_file = file;
    return loaded;
  } catch (const Error& error) {
    fail(code_of(error.code()), "drafter model: {}", error.what());
  }
}

DraftModel::DraftModel(std::shared_ptr<Engine> model) : model_(std::move(model)), passes_(*model_->state().passes) {}

exec::Executor& DraftModel::follow(std::span<const speculation::Token> text, exec::Output output) {
  std::size_t done = std::ranges::mismatch(read_, text).in1 - read_.begin();
  done = std::min(done, text.size() - 1);
  passes_.truncate(static_cast<std::uint32_t>(done));
  if (!passes_.pages().is_complete(static_cast<std::uint32_t>(done))) {
    passes_.truncate(0);
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

}  // namespace skipstone::engine
