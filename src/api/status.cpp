// The library's own state: versions, status codes, the sentence of each thread's last error, and where messages go, also those of
// libraries over this one, which have no such state of their own.
#include <algorithm>
#include <cstdlib>
#include <string>

#include "base/commit.h"
#include "base/log.h"
#include "skipstone/base.h"
#include "skipstone/skipstone_experimental.h"

namespace {

constexpr const char* no_memory = "the system has no memory left; close other programs or use a smaller context";

/// A thread's last sentence. Without memory to keep it, the sentence is that there is none.
struct LastError {
  std::string text, where;
  bool no_memory = false;
};

LastError& last_error() {
  thread_local LastError error;
  return error;
}

}  // namespace

extern "C" {

skipstone_status skipstone_set_last_error(skipstone_status status, const char* sentence) {
  LastError& error = last_error();
  error.where.clear();
  error.no_memory = sentence == nullptr;
  if (sentence == nullptr) return status;
  try {
    error.text = sentence;
  } catch (...) {
    error.no_memory = true;
  }
  return status;
}

const char* skipstone_last_error(void) {
  const LastError& error = last_error();
  return error.no_memory ? no_memory : error.text.c_str();
}

void skipstone_set_last_error_where(const char* where) {
  std::string& kept = last_error().where;
  try {
    kept = where == nullptr ? "" : where;
  } catch (...) {
    kept.clear();
  }
}

const char* skipstone_last_error_where(void) { return last_error().where.c_str(); }

void skipstone_string_free(char* text) { std::free(text); }

const char* skipstone_status_name(skipstone_status status) {
  switch (status) {
    case SKIPSTONE_OK:
      return "ok";
    case SKIPSTONE_INVALID_ARGUMENT:
      return "invalid_argument";
    case SKIPSTONE_NOT_FOUND:
      return "not_found";
    case SKIPSTONE_BAD_FILE:
      return "bad_file";
    case SKIPSTONE_UNSUPPORTED:
      return "unsupported";
    case SKIPSTONE_OUT_OF_MEMORY:
      return "out_of_memory";
    case SKIPSTONE_NO_DEVICE:
      return "no_device";
    case SKIPSTONE_DEVICE_LOST:
      return "device_lost";
    case SKIPSTONE_IO:
      return "io";
    case SKIPSTONE_CANCELLED:
      return "cancelled";
    case SKIPSTONE_INTERNAL:
      return "internal";
  }
  return "unknown";
}

// ---- messages ----

void skipstone_set_log(skipstone_log_fn log, void* user_data) {
  if (log == nullptr) {
    skipstone::log::set_sink({});
    return;
  }
  skipstone::log::set_sink([log, user_data](skipstone::log::Level level, std::string_view text) {
    log(static_cast<int>(level), std::string(text).c_str(), user_data);
  });
}

void skipstone_log_message(int level, const char* text) {
  if (text == nullptr) return;
  const int known = std::clamp(level, static_cast<int>(SKIPSTONE_LOG_DEBUG), static_cast<int>(SKIPSTONE_LOG_ERROR));
  skipstone::log::write(static_cast<skipstone::log::Level>(known), "{}", fmt::make_format_args(text));
}

// ---- versions ----

uint32_t skipstone_abi_version(void) { return SKIPSTONE_ABI_VERSION; }

const char* skipstone_version(void) { return SKIPSTONE_VERSION_STRING; }

const char* skipstone_commit(void) { return skipstone::commit(); }

}  // extern "C"
