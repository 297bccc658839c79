// What all functions of the C API share, the runtime's and the tools': parameter structs of any age in, exceptions of any kind stopped,
// copies for the caller, reports.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "gguf/gguf.h"
#include "json/json_fwd.h"
#include "skipstone/skipstone.h"

namespace skipstone::api {

/// Turns the exception that is being handled into its status and keeps its sentence for skipstone_last_error() and its place for
/// skipstone_last_error_where().
skipstone_status from_exception() noexcept;

/// Runs `body` and says how it went; nothing is thrown.
template <typename Body>
skipstone_status guard(Body&& body) noexcept {
  try {
    std::forward<Body>(body)();
    return SKIPSTONE_OK;
  } catch (...) {
    return from_exception();
  }
}

/// Throws invalid_argument where `pointer` is null; `what` names it.
void require(const void* pointer, const char* what);

/// No struct of this API will be larger; a larger number is one that was never set.
constexpr std::size_t most_struct_bytes = 1 << 16;

/// The most that an array of the API can have: a larger count is one that was never set, or a negative number.
constexpr std::size_t most_text_bytes = std::size_t{1} << 30;
constexpr std::size_t most_tokens = std::size_t{1} << 28;
constexpr std::size_t most_files = std::size_t{1} << 16;  ///< and texts, and names

/// Throws invalid_argument where `count` is above `most`, or `array` is null though it has some; `what` names its elements.
void require_array(const void* array, std::size_t count, std::size_t most, const char* what);

/// A parameter struct's defaults; specialised beside the function that takes the struct. struct_size does not matter.
template <typename Params>
Params defaults();

/// Copies what a struct of `size` bytes holds over `target`, whichever of the two is larger; what only `given` has must be zero.
void copy_params(void* target, std::size_t target_size, const void* given, std::size_t size);

/// Fills the caller's struct, of `size` bytes, with as many of the defaults as it has room for; the rest of it becomes zero.
void init_params(void* target, std::size_t size, const void* defaults, std::size_t defaults_size) noexcept;

template <typename Params>
void init(Params* params, std::size_t struct_size) noexcept {
  const Params filled = defaults<Params>();
  init_params(params, struct_size, &filled, sizeof(filled));
}

/// The caller's struct over the defaults: as much of it as the caller's header knew. Null gives the defaults. Throws invalid_argument where
/// the size is not set, unsupported where a newer header's field has a value.
template <typename Params>
Params read_params(const Params* given) {
  Params params = defaults<Params>();
  if (given != nullptr) copy_params(&params, sizeof(Params), given, given->struct_size);
  params.struct_size = sizeof(Params);
  return params;
}

/// The other direction: writes as much of `filled` as the caller's struct has room for.
template <typename Info>
void give(const Info& filled, Info* target) {
  require(target, "the struct to fill");
  const std::size_t size = target->struct_size;
  if (size < sizeof(std::size_t) || size > most_struct_bytes)
    fail(Code::invalid_argument, "struct_size of the struct to fill is not set; set it to the struct's sizeof");
  std::memcpy(target, &filled, size < sizeof(Info) ? size : sizeof(Info));
  target->struct_size = size;
}

/// A copy that skipstone_string_free() frees, NUL-terminated.
char* copy_string(const std::string& text);

/// A copy that skipstone_tokens_free() frees.
skipstone_token* copy_tokens(const std::vector<skipstone_token>& tokens);

/// "" for null.
inline std::string text_or_empty(const char* text) { return text == nullptr ? std::string() : std::string(text); }

/// The device that a parameter names, or that SKIPSTONE_DEVICE names where the parameter is empty.
std::string wanted_device(const char* device);

/// The default of `validation` in parameter structs.
int validation_by_default();

// ---- reports ----

/// The document as text, indented; bytes that are no UTF-8 become U+FFFD.
std::string print(const Json& document);

/// [{"type", "runnable", "tensors", "weights", "bytes"}], in the order of the types' numbers.
Json tensor_types_json(const gguf::File& file);

/// Reports the progress of `stage` to the caller, which says whether to continue; null if it wants no reports. `params` must outlive it.
template <typename Params>
std::function<bool(std::uint64_t, std::uint64_t)> progress_of(const Params& params, const char* stage) {
  if (params.progress == nullptr) return {};
  return [&params, stage](std::uint64_t done, std::uint64_t total) {
    return params.progress(stage, static_cast<double>(done) / static_cast<double>(total), params.user_data) == 0;
  };
}

}  // namespace skipstone::api
