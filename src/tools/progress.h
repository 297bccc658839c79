// The progress callback of a tool's parameters.
#pragma once

#include <cstdint>
#include <functional>

namespace skipstone::api {

/// Reports the progress of `stage` to the caller, which says whether to continue; null if it wants no reports. `params` must outlive it.
template <typename Params>
std::function<bool(std::uint64_t, std::uint64_t)> progress_of(const Params& params, const char* stage) {
  if (params.progress == nullptr) return {};
  return [&params, stage](std::uint64_t done, std::uint64_t total) {
    return params.progress(stage, static_cast<double>(done) / static_cast<double>(total), params.user_data) == 0;
  };
}

}  // namespace skipstone::api
