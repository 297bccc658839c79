// The C API's way of saying how a model is loaded, as the engine takes it.
#pragma once

#include <functional>
#include <optional>

#include "engine/engine.h"
#include "skipstone/skipstone.h"
#include "skipstone/vulkan.h"
#include "vk/host_device.h"

namespace skipstone::api {

/// Throws invalid_argument for values that are none. Anything the parameters point to must outlive the options.
engine::EngineOptions engine_options(const skipstone_engine_params& params);

/// The types of a cache whose params are `both`, and `k` and `v` where these are not automatic. Throws invalid_argument for values that are
/// none.
engine::KvTypes kv_types(std::int32_t both, std::int32_t k, std::int32_t v);

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

/// The ranks of a job as an engine's stages. Nothing where the process is no part of a job. Throws invalid_argument in other ranks than the
/// first.
std::optional<engine::StageJob> stage_job();

/// A host's Vulkan device as the Vulkan layer takes it. Throws invalid_argument where the struct's size is not set or an array is missing.
vk::HostDevice host_device(const skipstone_vulkan_host* given);

}  // namespace skipstone::api
