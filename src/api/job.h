// The ranks of a job as an engine's stages.
#pragma once

#include <optional>

#include "engine/engine.h"

namespace skipstone::api {

/// Nothing where the process is no part of a job. Throws invalid_argument in other ranks than the first.
std::optional<engine::StageJob> stage_job();

}  // namespace skipstone::api
