// RAII over the C API (skipstone.h). Header only; needs C++17. Failed calls throw skipstone::error.
#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "skipstone/skipstone.h"

namespace skipstone {

/// A failed call: its status, and one sentence that says what was wrong and what to do.
class error : public std::runtime_error {
 public:
  error(skipstone_status status, const std::string& message) : std::runtime_error(message), status_(status) {}
  skipstone_status status() const noexcept { return status_; }

 private:
  skipstone_status status_;
};

inline void check(skipstone_status status) {
  if (status != SKIPSTONE_OK) throw error(status, skipstone_last_error());
}

namespace detail {

/// Carries an exception of a caller's callback across the C frames.
template <typename Callback>
struct Relay {
  Callback callback;
  std::exception_ptr thrown;

  template <typename... Arguments>
  int call(Arguments&&... arguments) noexcept {
    try {
      return callback(std::forward<Arguments>(arguments)...) ? 0 : 1;
    } catch (...) {
      thrown = std::current_exception();
      return 1;
    }
  }

  void finish(skipstone_status status) {
    if (thrown) std::rethrow_exception(thrown);
    check(status);
  }
};

inline std::string take(char* text, std::size_t bytes) {
  const std::unique_ptr<char, void (*)(char*)> owner(text, skipstone_string_free);
  return std::string(text, bytes);
}

inline std::string take(char* text) {
  const std::unique_ptr<char, void (*)(char*)> owner(text, skipstone_string_free);
  return std::string(text);
}

}  // namespace detail

/// Called with a stage and how much of it is done (0 to 1); false stops.
using Progress = std::function<bool(const char* stage, double done)>;
/// Called for every token; false stops.
using OnChunk = std::function<bool(const skipstone_chunk& chunk)>;
/// Called while a skip set is searched; false stops.
using OnTuneStep = std::function<bool(const skipstone_tune_step& step)>;
/// Called for every case of the self-test; false stops.
using OnCheck = std::function<bool(const skipstone_check& result)>;

namespace detail {
template <typename Params>
void connect(Relay<Progress>& relay, Params& params) {
  if (!relay.callback) return;
  params.user_data = &relay;
  params.progress = [](const char* stage, double done, void* user_data) {
    return static_cast<Relay<Progress>*>(user_data)->call(stage, done);
  };
}
}  // namespace detail

/// A model on a device. Copies share it.
class Engine {
 public:
  explicit Engine(skipstone_engine_params params, Progress progress = {}) {
    detail::Relay<Progress> relay{std::move(progress), nullptr};
    detail::connect(relay, params);
    skipstone_engine* engine = nullptr;
    relay.finish(skipstone_engine_load(&params, &engine));
    handle_.reset(engine, skipstone_engine_free);
  }

  skipstone_engine* get() const noexcept { return handle_.get(); }

  /// Its strings live as long as the engine.
  skipstone_engine_info info() const {
    skipstone_engine_info info{};
    info.struct_size = sizeof(info);
    check(skipstone_engine_get_info(get(), &info));
    return info;
  }

  /// The report of skipstone_engine_costs().
  std::string costs(Progress progress = {}) const {
    detail::Relay<Progress> relay{std::move(progress), nullptr};
    skipstone_progress_fn callback = nullptr;
    if (relay.callback) {
      callback = [](const char* stage, double done, void* user_data) {
        return static_cast<detail::Relay<Progress>*>(user_data)->call(stage, done);
      };
    }
    char* json = nullptr;
    relay.finish(skipstone_engine_costs(get(), callback, &relay, &json));
    return detail::take(json);
  }

  /// The report of skipstone_cosines() over `prompts`.
  std::string cosines(const std::vector<std::string>& prompts, Progress progress = {}) const {
    std::vector<const char*> texts;
    for (const std::string& prompt : prompts) texts.push_back(prompt.c_str());
    skipstone_cosine_params params = skipstone_cosine_default_params();
    params.prompts = texts.data();
    params.prompt_count = texts.size();
    detail::Relay<Progress> relay{std::move(progress), nullptr};
    detail::connect(relay, params);
    char* json = nullptr;
    relay.finish(skipstone_cosines(get(), &params, &json));
    return detail::take(json);
  }

  /// Searches a skip set; the report of skipstone_tune().
  std::string tune(skipstone_tune_params params, OnTuneStep on_step = {}) const {
    detail::Relay<OnTuneStep> relay{std::move(on_step), nullptr};
    if (relay.callback) {
      params.user_data = &relay;
      params.progress = [](const skipstone_tune_step* step, void* user_data) {
        return static_cast<detail::Relay<OnTuneStep>*>(user_data)->call(*step);
      };
    }
    char* json = nullptr;
    relay.finish(skipstone_tune(get(), &params, &json));
    return detail::take(json);
  }

  std::vector<skipstone_token> tokenize(std::string_view text, bool add_special = true, bool parse_special = true) const {
    std::size_t count = 0;
    check(skipstone_tokenize(get(), text.data(), text.size(), add_special, parse_special, nullptr, 0, &count));
    std::vector<skipstone_token> tokens(count);
    if (count > 0) check(skipstone_tokenize(get(), text.data(), text.size(), add_special, parse_special, tokens.data(), count, &count));
    return tokens;
  }

  std::string detokenize(const std::vector<skipstone_token>& tokens) const {
    char* text = nullptr;
    std::size_t bytes = 0;
    check(skipstone_detokenize(get(), tokens.data(), tokens.size(), &text, &bytes));
    return detail::take(text, bytes);
  }

  std::string piece(skipstone_token token) const {
    char* text = nullptr;
    std::size_t bytes = 0;
    check(skipstone_token_piece(get(), token, &text, &bytes));
    return detail::take(text, bytes);
  }

 private:
  std::shared_ptr<skipstone_engine> handle_;
};

/// One conversation with an engine; moves, does not copy.
class Session {
 public:
  explicit Session(const Engine& engine, skipstone_session_params params = skipstone_session_default_params(), Progress progress = {}) {
    detail::Relay<Progress> relay{std::move(progress), nullptr};
    detail::connect(relay, params);
    skipstone_session* session = nullptr;
    relay.finish(skipstone_session_create(engine.get(), &params, &session));
    handle_.reset(session);
  }

  skipstone_session* get() const noexcept { return handle_.get(); }

  /// Appends `tokens` and continues them; returns the continuation's statistics.
  skipstone_stats generate(const std::vector<skipstone_token>& tokens, std::uint32_t max_tokens, OnChunk on_chunk = {}) {
    detail::Relay<OnChunk> relay{std::move(on_chunk), nullptr};
    skipstone_chunk_fn callback = nullptr;
    if (relay.callback) {
      callback = [](const skipstone_chunk* chunk, void* user_data) {
        return static_cast<detail::Relay<OnChunk>*>(user_data)->call(*chunk);
      };
    }
    relay.finish(skipstone_session_generate(get(), tokens.data(), tokens.size(), max_tokens, callback, &relay));
    return stats();
  }

  skipstone_stats stats() const {
    skipstone_stats stats{};
    stats.struct_size = sizeof(stats);
    check(skipstone_session_get_stats(get(), &stats));
    return stats;
  }

  std::vector<skipstone_token> tokens() const {
    std::size_t count = 0;
    const skipstone_token* first = skipstone_session_tokens(get(), &count);
    return std::vector<skipstone_token>(first, first + count);
  }

  std::vector<float> attention_cosine() const {
    std::size_t count = 0;
    const float* first = skipstone_session_attention_cosine(get(), &count);
    return std::vector<float>(first, first + count);
  }

  /// Drafts made and accepted, by position in the round.
  std::vector<std::pair<std::uint64_t, std::uint64_t>> draft_positions() const {
    std::vector<std::pair<std::uint64_t, std::uint64_t>> positions(stats().draft_positions);
    for (std::size_t i = 0; i < positions.size(); ++i) {
      check(skipstone_session_draft_position(get(), static_cast<std::uint32_t>(i), &positions[i].first, &positions[i].second));
    }
    return positions;
  }

  /// What each drafter of "A+B" proposed.
  std::vector<skipstone_drafter_share> drafter_shares() const {
    std::vector<skipstone_drafter_share> shares(stats().drafter_shares);
    for (std::size_t i = 0; i < shares.size(); ++i) {
      check(skipstone_session_drafter_share(get(), static_cast<std::uint32_t>(i), &shares[i]));
    }
    return shares;
  }

  /// What came of each source of a drafter's candidates.
  std::vector<skipstone_strategy> strategies() const {
    std::vector<skipstone_strategy> all(stats().strategies);
    for (std::size_t i = 0; i < all.size(); ++i) check(skipstone_session_strategy(get(), static_cast<std::uint32_t>(i), &all[i]));
    return all;
  }

  std::string drafter() const { return skipstone_session_drafter(get()); }
  std::string skip_set() const { return skipstone_session_skip_set(get()); }
  /// See skipstone_session_agreement().
  double agreement() {
    double share = 0;
    check(skipstone_session_agreement(get(), &share));
    return share;
  }
  std::vector<float> thresholds() const {
    std::size_t count = 0;
    const float* values = skipstone_session_thresholds(get(), &count);
    return {values, values + count};
  }
  std::string explanation() const { return skipstone_session_explanation(get()); }

  /// Seconds that `work` takes; see skipstone_session_measure().
  double measure(skipstone_work work) {
    double seconds = 0.0;
    check(skipstone_session_measure(get(), &work, &seconds));
    return seconds;
  }

  void cancel() noexcept { skipstone_session_cancel(get()); }
  void reset() { check(skipstone_session_reset(get())); }
  void read(const std::vector<skipstone_token>& tokens) { check(skipstone_session_read(get(), tokens.data(), tokens.size())); }
  void take_over(Session& from) { check(skipstone_session_take_over(get(), from.get())); }

 private:
  struct Free {
    void operator()(skipstone_session* session) const noexcept { skipstone_session_free(session); }
  };
  std::unique_ptr<skipstone_session, Free> handle_;
};

/// The reports, as JSON text. `wanted` as for skipstone_list_devices().
inline std::string list_devices(const char* wanted = nullptr) {
  char* json = nullptr;
  check(skipstone_list_devices(wanted, &json));
  return detail::take(json);
}

inline std::string inspect(const skipstone_inspect_params& params) {
  char* json = nullptr;
  check(skipstone_inspect(&params, &json));
  return detail::take(json);
}

inline std::string doctor(skipstone_doctor_params params, OnCheck on_check = {}) {
  detail::Relay<OnCheck> relay{std::move(on_check), nullptr};
  if (relay.callback) {
    params.user_data = &relay;
    params.check = [](const skipstone_check* result, void* user_data) {
      return static_cast<detail::Relay<OnCheck>*>(user_data)->call(*result);
    };
  }
  char* json = nullptr;
  relay.finish(skipstone_doctor(&params, &json));
  return detail::take(json);
}

/// The report of skipstone_tune_device().
inline std::string tune_device(skipstone_engine_params params, double seconds, Progress progress = {}) {
  detail::Relay<Progress> relay{std::move(progress), nullptr};
  detail::connect(relay, params);
  char* json = nullptr;
  relay.finish(skipstone_tune_device(&params, seconds, &json));
  return detail::take(json);
}

/// Writes a Hugging Face checkpoint as a GGUF file.
inline void convert(skipstone_convert_params params, Progress progress = {}) {
  detail::Relay<Progress> relay{std::move(progress), nullptr};
  detail::connect(relay, params);
  relay.finish(skipstone_convert(&params));
}

/// Writes a GGUF file anew with its matrices in another type; returns the report of skipstone_quantize().
inline std::string quantize(skipstone_quantize_params params, Progress progress = {}) {
  detail::Relay<Progress> relay{std::move(progress), nullptr};
  detail::connect(relay, params);
  char* json = nullptr;
  relay.finish(skipstone_quantize(&params, &json));
  return detail::take(json);
}

/// Bytes per second, read and written. `device` as for skipstone_list_devices().
inline double copy_bandwidth(const char* device = nullptr) {
  double bytes_per_second = 0.0;
  check(skipstone_copy_bandwidth(device, &bytes_per_second));
  return bytes_per_second;
}

inline std::vector<skipstone_drafter_info> drafters() {
  std::vector<skipstone_drafter_info> all(skipstone_drafter_count());
  for (std::size_t i = 0; i < all.size(); ++i) check(skipstone_get_drafter(i, &all[i]));
  return all;
}

}  // namespace skipstone
