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
template <typename Params>
Params filled(void (*init)(Params*, std::size_t)) {
  Params params;
  init(&params, sizeof(params));
  return params;
}
}  // namespace detail

/// Parameters with their defaults.
inline skipstone_engine_params engine_params() { return detail::filled(skipstone_engine_params_init); }
/// Parameters for a model in memory, which has to stay as it is until the engine is made.
inline skipstone_engine_params engine_params(const void* model, std::size_t bytes) {
  skipstone_engine_params params = engine_params();
  params.model_data = model;
  params.model_bytes = bytes;
  return params;
}
inline skipstone_session_params session_params() { return detail::filled(skipstone_session_params_init); }
inline skipstone_inspect_params inspect_params() { return detail::filled(skipstone_inspect_params_init); }
inline skipstone_doctor_params doctor_params() { return detail::filled(skipstone_doctor_params_init); }

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

inline std::vector<skipstone_token> take(skipstone_token* tokens, std::size_t count) {
  const std::unique_ptr<skipstone_token, void (*)(skipstone_token*)> owner(tokens, skipstone_tokens_free);
  return std::vector<skipstone_token>(tokens, tokens + count);
}

}  // namespace detail

/// Asked every millisecond or so; false stops: the call throws an error with the status SKIPSTONE_CANCELLED.
using KeepGoing = std::function<bool()>;
/// Called with a stage and how much of it is done (0 to 1); false stops.
using Progress = std::function<bool(const char* stage, double done)>;
/// Called for every token; false stops.
using OnChunk = std::function<bool(const skipstone_chunk& chunk)>;
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

/// Null without a callback.
inline skipstone_progress_fn poll_of(const Relay<KeepGoing>& relay) {
  if (!relay.callback) return nullptr;
  return [](const char*, double, void* user_data) { return static_cast<Relay<KeepGoing>*>(user_data)->call(); };
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

  /// The document of skipstone_engine_report().
  std::string report() const {
    char* json = nullptr;
    check(skipstone_engine_report(get(), &json));
    return detail::take(json);
  }

  /// `keep_going`: see KeepGoing; by default the call cannot be stopped.
  std::vector<skipstone_token> tokenize(std::string_view text, bool add_special = true, bool parse_special = true,
                                        KeepGoing keep_going = {}) const {
    detail::Relay<KeepGoing> relay{std::move(keep_going), nullptr};
    skipstone_token* tokens = nullptr;
    std::size_t count = 0;
    relay.finish(skipstone_tokenize_polled(get(), text.data(), text.size(), add_special, parse_special, detail::poll_of(relay), &relay,
                                           &tokens, &count));
    return detail::take(tokens, count);
  }

  std::string detokenize(const std::vector<skipstone_token>& tokens, KeepGoing keep_going = {}) const {
    detail::Relay<KeepGoing> relay{std::move(keep_going), nullptr};
    char* text = nullptr;
    std::size_t bytes = 0;
    relay.finish(skipstone_detokenize_polled(get(), tokens.data(), tokens.size(), detail::poll_of(relay), &relay, &text, &bytes));
    return detail::take(text, bytes);
  }

  /// -1 where the model has none.
  skipstone_token special_token(skipstone_special_token kind) const noexcept { return skipstone_engine_special_token(get(), kind); }
  bool ends_generation(skipstone_token token) const noexcept { return skipstone_engine_ends_generation(get(), token) != 0; }

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
  explicit Session(const Engine& engine, skipstone_session_params params = session_params(), Progress progress = {}) {
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
    relay.finish(skipstone_session_generate(get(), tokens.data(), tokens.size(), max_tokens, callback_of(relay), &relay));
    return stats();
  }

  /// The log-probabilities of `tokens`, each after those before it: see skipstone_session_score().
  void score(const std::vector<skipstone_token>& tokens, OnChunk on_chunk) {
    detail::Relay<OnChunk> relay{std::move(on_chunk), nullptr};
    relay.finish(skipstone_session_score(get(), tokens.data(), tokens.size(), callback_of(relay), &relay));
  }

  /// As generate(), in steps: see skipstone_session_begin().
  void begin(const std::vector<skipstone_token>& tokens, std::uint32_t max_tokens, OnChunk on_chunk = {}) {
    auto relay = std::make_unique<detail::Relay<OnChunk>>(detail::Relay<OnChunk>{std::move(on_chunk), nullptr});
    check(skipstone_session_begin(get(), tokens.data(), tokens.size(), max_tokens, callback_of(*relay), relay.get()));
    stepped_ = std::move(relay);
  }

  /// True where the generation has ended.
  bool step(std::uint64_t microseconds, skipstone_step_mode mode = SKIPSTONE_STEP_WAIT) {
    std::int32_t done = 0;
    const skipstone_status status = skipstone_session_step(get(), microseconds, mode, &done);
    if (stepped_ && done != 0) stepped_->finish(status);
    check(status);
    return done != 0;
  }

  void set_stop(const std::vector<std::string>& strings) {
    std::vector<const char*> pointers;
    pointers.reserve(strings.size());
    for (const std::string& text : strings) pointers.push_back(text.c_str());
    check(skipstone_session_set_stop(get(), pointers.data(), pointers.size()));
  }

  std::size_t length() const noexcept { return skipstone_session_length(get()); }
  void rewind(std::size_t count) { check(skipstone_session_rewind(get(), count)); }
  std::vector<float> logits() { return floats(skipstone_session_logits); }
  std::vector<float> hidden_state() { return floats(skipstone_session_hidden_state); }

  skipstone_stats stats() const {
    skipstone_stats stats{};
    stats.struct_size = sizeof(stats);
    check(skipstone_session_stats(get(), &stats));
    return stats;
  }

  std::vector<skipstone_token> tokens() const {
    std::size_t count = 0;
    const skipstone_token* first = skipstone_session_tokens(get(), &count);
    return std::vector<skipstone_token>(first, first + count);
  }

  /// The report of skipstone_session_report().
  std::string report() const {
    char* json = nullptr;
    check(skipstone_session_report(get(), &json));
    return detail::take(json);
  }

  void cancel() noexcept { skipstone_session_cancel(get()); }
  void reset() { check(skipstone_session_reset(get())); }
  void prefill(const std::vector<skipstone_token>& tokens) { check(skipstone_session_prefill(get(), tokens.data(), tokens.size())); }
  void save(const std::string& path) { check(skipstone_session_save(get(), path.c_str())); }
  void load(const std::string& path) { check(skipstone_session_load(get(), path.c_str())); }
  Session fork() {
    skipstone_session* session = nullptr;
    check(skipstone_session_fork(get(), &session));
    return Session(session);
  }
  void copy_from(Session& from) { check(skipstone_session_copy_from(get(), from.get())); }

 private:
  explicit Session(skipstone_session* session) : handle_(session) {}

  static skipstone_chunk_fn callback_of(const detail::Relay<OnChunk>& relay) {
    if (!relay.callback) return nullptr;
    return [](const skipstone_chunk* chunk, void* user_data) { return static_cast<detail::Relay<OnChunk>*>(user_data)->call(*chunk); };
  }

  std::vector<float> floats(skipstone_status (*ask)(skipstone_session*, float*, std::size_t, std::size_t*)) {
    std::size_t count = 0;
    check(ask(get(), nullptr, 0, &count));
    std::vector<float> values(count);
    check(ask(get(), values.data(), values.size(), &count));
    return values;
  }

  struct Free {
    void operator()(skipstone_session* session) const noexcept { skipstone_session_free(session); }
  };
  std::unique_ptr<detail::Relay<OnChunk>> stepped_;  ///< callback of the generation that has begun
  std::unique_ptr<skipstone_session, Free> handle_;
};

/// The placement on devices, as JSON text: the document of skipstone_plan_devices().
inline std::string plan_devices(const skipstone_engine_params& params) {
  char* json = nullptr;
  check(skipstone_plan_devices(&params, &json));
  return detail::take(json);
}

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

inline std::vector<skipstone_drafter_info> drafters() {
  std::vector<skipstone_drafter_info> all(skipstone_drafter_count());
  for (std::size_t i = 0; i < all.size(); ++i) {
    all[i].struct_size = sizeof(skipstone_drafter_info);
    check(skipstone_drafter_get_info(i, &all[i]));
  }
  return all;
}

}  // namespace skipstone
