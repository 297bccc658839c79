// C++ over skipstone_experimental.h, and without promise as that is. Header only; needs C++17.
#pragma once

#include "skipstone/skipstone.hpp"
#include "skipstone/skipstone_experimental.h"

namespace skipstone {

inline skipstone_work work() { return detail::filled(skipstone_work_init); }

/// Seconds that `work` takes; see skipstone_session_measure().
inline double measure(Session& session, const skipstone_work& work) {
  double seconds = 0.0;
  check(skipstone_session_measure(session.get(), &work, &seconds));
  return seconds;
}

/// See skipstone_session_agreement().
inline double agreement(Session& session) {
  double share = 0;
  check(skipstone_session_agreement(session.get(), &share));
  return share;
}

/// The report of skipstone_engine_costs().
inline std::string costs(const Engine& engine, Progress progress = {}) {
  detail::Relay<Progress> relay{std::move(progress), nullptr};
  skipstone_progress_fn callback = nullptr;
  if (relay.callback) {
    callback = [](const char* stage, double done, void* user_data) {
      return static_cast<detail::Relay<Progress>*>(user_data)->call(stage, done);
    };
  }
  char* json = nullptr;
  relay.finish(skipstone_engine_costs(engine.get(), callback, &relay, &json));
  return detail::take(json);
}

/// The report of skipstone_cosines() over `prompts`.
inline std::string cosines(const Engine& engine, const std::vector<std::string>& prompts, Progress progress = {}) {
  std::vector<const char*> texts;
  texts.reserve(prompts.size());
  for (const std::string& prompt : prompts) texts.push_back(prompt.c_str());
  skipstone_cosine_params params;
  skipstone_cosine_params_init(&params, sizeof(params));
  params.prompts = texts.data();
  params.prompt_count = texts.size();
  detail::Relay<Progress> relay{std::move(progress), nullptr};
  detail::connect(relay, params);
  char* json = nullptr;
  relay.finish(skipstone_cosines(engine.get(), &params, &json));
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

/// Bytes per second, read and written. `device` as for skipstone_list_devices().
inline double copy_bandwidth(const char* device = nullptr) {
  double bytes_per_second = 0.0;
  check(skipstone_copy_bandwidth(device, &bytes_per_second));
  return bytes_per_second;
}

}  // namespace skipstone
