// RAII over tools.h: convert, quantize, imatrix, tune. Header only; needs C++17.
#pragma once

#include "skipstone/skipstone.hpp"
#include "skipstone/tools.h"

namespace skipstone {

/// Called while a skip set is searched; false stops.
using OnTuneStep = std::function<bool(const skipstone_tune_step& step)>;

inline skipstone_convert_params convert_params() { return detail::filled(skipstone_convert_params_init); }
inline skipstone_quantize_params quantize_params() { return detail::filled(skipstone_quantize_params_init); }
inline skipstone_imatrix_params imatrix_params() { return detail::filled(skipstone_imatrix_params_init); }
inline skipstone_tune_params tune_params() { return detail::filled(skipstone_tune_params_init); }

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
/// Measures an importance matrix; returns the report of skipstone_imatrix().
inline std::string imatrix(skipstone_imatrix_params params, Progress progress = {}) {
  detail::Relay<Progress> relay{std::move(progress), nullptr};
  detail::connect(relay, params);
  char* json = nullptr;
  relay.finish(skipstone_imatrix(&params, &json));
  return detail::take(json);
}

/// Searches a skip set; the report of skipstone_tune().
inline std::string tune(const Engine& engine, skipstone_tune_params params, OnTuneStep on_step = {}) {
  detail::Relay<OnTuneStep> relay{std::move(on_step), nullptr};
  if (relay.callback) {
    params.user_data = &relay;
    params.progress = [](const skipstone_tune_step* step, void* user_data) {
      return static_cast<detail::Relay<OnTuneStep>*>(user_data)->call(*step);
    };
  }
  char* json = nullptr;
  relay.finish(skipstone_tune(engine.get(), &params, &json));
  return detail::take(json);
}

}  // namespace skipstone
