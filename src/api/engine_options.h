// The C API's way of saying how a model is loaded, as the engine takes it.
#pragma once

#include <functional>

#include "engine/engine.h"
#include "skipstone/skipstone.h"

namespace skipstone::api {

/// Throws invalid_argument for values that are none. Anything the parameters point to must outlive the options.
engine::EngineOptions engine_options(const skipstone_engine_params& params);

/// Throws cancelled where the callback asks to stop `what` ("loading"). Empty for null.
engine::Progress progress_from(skipstone_progress_fn progress, void* user_data, const char* what);

/// The same for work with `engine`, and the function that a Poll calls meanwhile: the callback again, with the stage reported last.
struct PolledProgress {
  engine::Progress progress;
  std::function<void()> ask;
};
PolledProgress polled_progress_from(skipstone_progress_fn progress, void* user_data, const char* what, const engine::Engine* engine);

/// The function that a Poll calls: the callback, with `stage` ("tokenizing"), whose end is not known. Throws cancelled where it asks to
/// stop. Empty for null.
std::function<void()> poll_from(skipstone_progress_fn progress, void* user_data, const char* stage);

}  // namespace skipstone::api
